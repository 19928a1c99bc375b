/* scan/source.c. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include "scan/source.h"
#include "tests/pipeline/scan.h"

/* A source that gives images of two coils, in the shapes that it is told to. */
typedef struct fake {
    larmor_shape kspace, traj, density;
    larmor_dtype dtype;
    int images; /* 0: one */
    int destroyed, empty;
    pthread_t caller;
    int elsewhere; /* images that another thread asked for */
} fake;

static larmor_raw_info describe(void *self)
{
    const fake *f = self;
    return (larmor_raw_info){.channels = 2, .coils = 2, .encodings = 1, .groups = f->images ? f->images : 1};
}

static larmor_status encoding(void *self LMR_UNUSED, int encoding LMR_UNUSED, larmor_encoding *out)
{
    *out = (larmor_encoding){.matrix = {8, 8, 1},
                             .recon_matrix = {8, 8, 1},
                             .fov_mm = {8, 8, 1},
                             .recon_fov_mm = {8, 8, 1},
                             .trajectory = "other",
                             .ndim = 2};
    return LARMOR_OK;
}

static larmor_status group(void *self LMR_UNUSED, int group, larmor_group *out)
{
    *out = (larmor_group){.repetition = group, .readouts = 4, .samples = 8, .total = 32, .regular = 1};
    return LARMOR_OK;
}

static larmor_status samples(void *self, int group LMR_UNUSED, const larmor_grid *grid LMR_UNUSED, int calibration,
                             larmor_device *on, larmor_samples *out)
{
    fake *f = self;
    f->elsewhere += !pthread_equal(pthread_self(), f->caller);
    *out = (larmor_samples){0};
    if (calibration || f->empty) return LARMOR_OK;
    assert_ok(larmor_array_create(on, f->dtype, f->kspace, &out->kspace));
    assert_ok(larmor_array_create(on, LARMOR_F64, f->traj, &out->traj));
    if (f->density.ndim) assert_ok(larmor_array_create(on, LARMOR_F64, f->density, &out->density));
    return LARMOR_OK;
}

static larmor_status meta(void *self LMR_UNUSED, int group LMR_UNUSED, larmor_image_meta *out)
{
    *out = (larmor_image_meta){.slice = 0};
    return LARMOR_OK;
}

static void destroy(void *self)
{
    ((fake *)self)->destroyed++;
}

static const larmor_source_impl whole = {
    .describe = describe, .encoding = encoding, .group = group, .samples = samples, .meta = meta, .destroy = destroy};

static larmor_status run_fake(fake *f)
{
    OWNED(larmor_recon_result) result;
    const larmor_recon_opts opts = KNOWN(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_NONE);
    larmor_source *source = MADE(larmor_source, larmor_source_create("fake.dat", &whole, f, &made));
    larmor_recon *recon = MADE(larmor_recon, larmor_recon_create(source, dev, &opts, &made));
    larmor_source_free(source);
    assert_int_equal(f->destroyed, 0); /* the reconstruction keeps it */
    const larmor_status st = larmor_recon_run(recon, 0, &result);
    larmor_recon_free(recon);
    assert_int_equal(f->destroyed, 1);
    return st;
}

static fake good(void)
{
    return (fake){.kspace = {3, {8, 4, 2}}, .traj = {3, {2, 8, 4}}, .dtype = LARMOR_C64};
}

TEST(a_source_of_ones_own_is_reconstructed)
{
    fake f = good();
    assert_ok(run_fake(&f));
}

TEST(what_a_source_gives_is_checked)
{
    fake f = good();
    f.kspace = LARMOR_SHAPE(8, 4, 3);
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "source gives samples c64 [8, 4, 3]");
    f = good();
    f.kspace = LARMOR_SHAPE(32, 2);
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "expected [samples, readouts, 2]");
    f = good();
    f.dtype = LARMOR_C128;
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "fake.dat: kspace is c128");
    f = good();
    f.traj = LARMOR_SHAPE(3, 8, 4);
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "fake.dat: traj is f64 [3, 8, 4]");
    f = good();
    f.density = LARMOR_SHAPE(8, 5);
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "fake.dat: density is f64 [8, 5]");
    f = good();
    f.empty = 1;
    assert_refused(run_fake(&f), LARMOR_ERR_SHAPE, "fake.dat: source gives no samples of group 0");
}

static int images_from_other_threads(const larmor_recon_opts *opts)
{
    fake f = good();
    f.images = 5;
    f.caller = pthread_self();
    OWN(larmor_device, *processor, larmor_device_open("cpu:2", &processor));
    OWN(larmor_source, *source, larmor_source_create("fake.dat", &whole, &f, &source));
    OWN(larmor_recon, *recon, larmor_recon_create(source, processor, opts, &recon));
    for (int i = 0; i < 5; i++) {
        OWN(larmor_recon_result, result, larmor_recon_run(recon, i, &result));
    }
    return f.elsewhere;
}

TEST(other_threads_call_a_source_of_ones_own_only_where_that_was_asked_for)
{
    larmor_recon_opts opts = KNOWN(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_NONE);
    assert_int_equal(images_from_other_threads(&opts), 0);
    opts.at_once = 2;
    assert_int_equal(images_from_other_threads(&opts), 4);
}

TEST(incomplete_sources_are_refused)
{
    for (int missing = 0; missing < 5; missing++) {
        larmor_source_impl impl = whole;
        if (missing == 0) impl.describe = NULL;
        if (missing == 1) impl.encoding = NULL;
        if (missing == 2) impl.group = NULL;
        if (missing == 3) impl.samples = NULL;
        if (missing == 4) impl.meta = NULL;
        assert_none_made(larmor_source, larmor_source_create("fake.dat", &impl, NULL, &made), LARMOR_ERR_ARG,
                         "samples and meta expected");
    }
    assert_none_made(larmor_source, larmor_source_create(NULL, &whole, NULL, &made), LARMOR_ERR_ARG, "a name");
    assert_refused(larmor_source_create("fake.dat", &whole, NULL, NULL), LARMOR_ERR_ARG, "nowhere to put it");
    assert_none_made(larmor_source, larmor_source_of_raw(NULL, "scan.h5", &made), LARMOR_ERR_ARG,
                     "a file that was opened");
}

TEST(references_keep_a_source)
{
    fake f = good();
    larmor_source *source = MADE(larmor_source, larmor_source_create("fake.dat", &whole, &f, &made));
    assert_ptr_equal(larmor_source_ref(source), source);
    larmor_source_free(source);
    assert_int_equal(f.destroyed, 0);
    larmor_source_free(source);
    assert_int_equal(f.destroyed, 1);
    larmor_source_free(NULL);
    assert_null(larmor_source_ref(NULL));
}

/* ---- a file ---- */

/* The trajectory as a file has it. */
static void to_single(larmor_array **traj)
{
    larmor_array *single = MADE(larmor_array, larmor_array_create(dev, LARMOR_F32, larmor_array_shape(*traj), &made));
    HEAP double *k = (double *)host_of(*traj);
    HEAP float *rounded = host_of(single);
    for (int i = 0; i < 2 * SAMPLES * SPOKES; i++) rounded[i] = (float)k[i];
    assert_ok(larmor_array_write(single, rounded, larmor_array_bytes(single)));
    larmor_array_free(*traj);
    *traj = single;
}

TEST(a_file_and_its_arrays_give_the_same_image)
{
    char folder[] = "/tmp/larmor-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    OWNED(larmor_recon_result) result;
    OWNED(larmor_array) *wide, *some, *maps;
    notes n = {.text = ""};
    write_file(&s, path);
    to_single(&s.image[0].traj);
    OWN(larmor_raw, *raw, larmor_raw_open(path, NULL, &raw));
    OWN(larmor_source, *source, larmor_source_of_raw(raw, path, &source));
    /* maps of all channels, of which the last is left out */
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, COILS + 1), &wide));
    assert_ok(larmor_fill(wide, 1));
    assert_ok(larmor_array_slice(wide, 0, COILS, &some));
    assert_ok(larmor_copy(s.maps, some));
    const larmor_recon_opts of_file = KNOWN(.maps = wide, .listener = take_note, .user = &n),
                            of_arrays = KNOWN(.maps = s.maps);
    OWN(larmor_recon, *recon, larmor_recon_create(source, dev, &of_file, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    OWNED(larmor_recon_result) expected = result_of(&s, &of_arrays);
    const double apart = difference(result.image[0].data, expected.image[0].data);
    assert_true(is_cpu() ? apart == 0 : apart < 1e-3);
    assert_noted(n, "W:channel 4 has no signal");

    /* and are given out as they came, with zeros for it */
    assert_ok(larmor_recon_maps(recon, &maps, NULL));
    assert_int_equal(larmor_array_shape(maps).dim[2], COILS + 1);
    HEAP float *got = host_of(maps), *given = host_of(s.maps);
    assert_memory_equal(got, given, larmor_array_bytes(s.maps));
    for (int i = 0; i < 2 * N * N; i++) assert_true(got[2 * N * N * COILS + i] == 0);
    remove(path);
    rmdir(folder);
}

/* The image of a file of this scan. */
static larmor_recon_result result_of_file(const scan *s, const char *path, int conjugate)
{
    larmor_recon_result result;
    write_file(s, path);
    OWN(larmor_raw, *raw, larmor_raw_open(path, &(larmor_raw_opts){.conjugate = conjugate}, &raw));
    OWN(larmor_source, *source, larmor_source_of_raw(raw, path, &source));
    OWN(larmor_recon, *recon, larmor_recon_create(source, dev, &KNOWN(.method = "grid"), &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.count, 1);
    return result;
}

TEST(samples_conjugated_in_the_file_and_while_it_is_read_give_the_image)
{
    char folder[] = "/tmp/larmor-test-XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    snprintf(other, sizeof other, "%s/conjugated.h5", folder);
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    OWNED(larmor_recon_result) plain = result_of_file(&s, path, 0);
    HEAP float *values = host_of(s.image[0].kspace);
    for (int64_t i = 1; i < 2 * larmor_array_count(s.image[0].kspace); i += 2) values[i] = -values[i];
    assert_ok(larmor_array_write(s.image[0].kspace, values, larmor_array_bytes(s.image[0].kspace)));
    OWNED(larmor_recon_result) back = result_of_file(&s, other, 1);
    assert_at_most(difference(back.image[0].data, plain.image[0].data), is_cpu() ? 0 : 1e-5);
    remove(other);
    OWNED(larmor_recon_result) mirrored = result_of_file(&s, other, 0);
    assert_true(difference(mirrored.image[0].data, plain.image[0].data) > 0.3);
    remove(path);
    remove(other);
    rmdir(folder);
}

/* ---- samples that are wanted again ---- */

/* A scan that counts how often it is read. */
typedef struct counted {
    larmor_source *inner;
    int read;
} counted;

static larmor_status inner_samples(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *on,
                                   larmor_samples *out)
{
    counted *c = self;
    c->read += !calibration;
    return lmr_source_samples(c->inner, group, grid, calibration, COILS, on, out);
}

/* How often all images of a scan are read. */
static int reads_of(const scan *s, const larmor_recon_opts *opts, larmor_recon_result *result)
{
    static const larmor_source_impl impl = {.samples = inner_samples};
    counted c = {.read = 0};
    assert_ok(larmor_source_of_arrays(&s->arrays, &c.inner));
    OWN(larmor_source, *source, lmr_source_create_before(&c.inner, &impl, &c, &source));
    OWN(larmor_recon, *recon, larmor_recon_create(source, dev, opts, &recon));
    for (int i = 0; i < s->arrays.images; i++) {
        if (i) larmor_recon_result_free(result);
        assert_ok(larmor_recon_run(recon, i, result));
    }
    larmor_source_free(c.inner);
    return c.read;
}

/* With a limit of memory nothing stays, and all is read anew. late: the trajectory is off by this delay. */
static void expect_same(int images, double late, larmor_recon_opts opts, int most)
{
    OWNED(scan) s = scan_of(COILS, images, 1e-4);
    OWNED(larmor_recon_result) kept, anew;
    s.arrays.image = s.image;
    for (int i = 0; i < images && late != 0; i++) {
        larmor_array *traj;
        assert_ok(larmor_traj_delay(s.image[i].traj, (double[6]){late, late}, NULL, &traj));
        larmor_array_free(s.image[i].traj);
        s.image[i].traj = traj;
    }
    const int few = reads_of(&s, &opts, &kept);
    opts.memory = INT64_C(1) << 40;
    const int many = reads_of(&s, &opts, &anew);
    const double apart = difference(kept.image[0].data, anew.image[0].data);
    assert_true(is_cpu() ? apart == 0 : apart < 1e-3);
    assert_int_equal(few, most);
    assert_true(many > few);
}

TEST(samples_that_stay_give_the_image_of_those_read_anew)
{
    expect_same(1, 0, OPTS(.iters = 5), 1);
    expect_same(1, 0, OPTS(.iters = 5, .compress = 3), 1); /* of all coils, which are compressed then */
    expect_same(1, .4, OPTS(.iters = 5), 2);               /* and with the delays that were found */
    expect_same(1, 0, OPTS(.method = "tv", .iters = 5, .weighted = 1), 1);
    expect_same(3, 0, OPTS(.iters = 5, .at_once = 1), 3);
}
