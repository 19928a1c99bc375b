/* pipeline/source.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

/* A source that gives one image of two coils, in the shapes that it is told to. */
typedef struct fake {
    larmor_shape kspace, traj, density;
    larmor_dtype dtype;
    int destroyed, empty;
} fake;

static larmor_raw_info describe(void *self)
{
    (void)self;
    return (larmor_raw_info){.channels = 2, .coils = 2, .encodings = 1, .groups = 1};
}

static larmor_status encoding(void *self, int encoding, larmor_encoding *out)
{
    (void)self, (void)encoding;
    *out = (larmor_encoding){.matrix = {8, 8, 1},
                             .recon_matrix = {8, 8, 1},
                             .fov_mm = {8, 8, 1},
                             .recon_fov_mm = {8, 8, 1},
                             .trajectory = "other",
                             .ndim = 2};
    return LARMOR_OK;
}

static larmor_status group(void *self, int group, larmor_group *out)
{
    (void)self, (void)group;
    *out = (larmor_group){.readouts = 4, .samples = 8, .total = 32, .regular = 1};
    return LARMOR_OK;
}

static larmor_status samples(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *on,
                             larmor_samples *out)
{
    const fake *f = self;
    (void)group, (void)grid;
    *out = (larmor_samples){0};
    if (calibration || f->empty) return LARMOR_OK;
    assert_ok(larmor_array_create(on, f->dtype, f->kspace, &out->kspace));
    assert_ok(larmor_array_create(on, LARMOR_F64, f->traj, &out->traj));
    if (f->density.ndim) assert_ok(larmor_array_create(on, LARMOR_F64, f->density, &out->density));
    return LARMOR_OK;
}

static larmor_status meta(void *self, int group, larmor_image_meta *out)
{
    (void)self, (void)group;
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
    larmor_source *source;
    larmor_recon *recon;
    larmor_recon_result result;
    const larmor_recon_opts opts = OPTS(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_NONE);
    assert_ok(larmor_source_create("fake.dat", &whole, f, &source));
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    larmor_source_free(source);
    assert_int_equal(f->destroyed, 0); /* the reconstruction keeps it */
    const larmor_status st = larmor_recon_run(recon, 0, &result);
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
    assert_int_equal(f->destroyed, 1);
    return st;
}

static fake good(void)
{
    return (fake){.kspace = {3, {8, 4, 2}}, .traj = {3, {2, 8, 4}}, .dtype = LARMOR_C64};
}

static void a_source_of_ones_own_is_reconstructed(void **state)
{
    (void)state;
    fake f = good();
    assert_ok(run_fake(&f));
}

static void what_a_source_gives_is_checked(void **state)
{
    (void)state;
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

static void incomplete_sources_are_refused(void **state)
{
    (void)state;
    larmor_source *source;
    for (int missing = 0; missing < 5; missing++) {
        larmor_source_impl impl = whole;
        if (missing == 0) impl.describe = NULL;
        if (missing == 1) impl.encoding = NULL;
        if (missing == 2) impl.group = NULL;
        if (missing == 3) impl.samples = NULL;
        if (missing == 4) impl.meta = NULL;
        assert_refused(larmor_source_create("fake.dat", &impl, NULL, &source), LARMOR_ERR_ARG,
                       "samples and meta expected");
        assert_null(source);
    }
    assert_refused(larmor_source_create(NULL, &whole, NULL, &source), LARMOR_ERR_ARG, "a name");
    assert_refused(larmor_source_create("fake.dat", &whole, NULL, NULL), LARMOR_ERR_ARG, "nowhere to put it");
    assert_refused(larmor_source_of_raw(NULL, "scan.h5", &source), LARMOR_ERR_ARG, "a file that was opened");
}

static void references_keep_a_source(void **state)
{
    (void)state;
    fake f = good();
    larmor_source *source;
    assert_ok(larmor_source_create("fake.dat", &whole, &f, &source));
    assert_ptr_equal(larmor_source_ref(source), source);
    larmor_source_free(source);
    assert_int_equal(f.destroyed, 0);
    larmor_source_free(source);
    assert_int_equal(f.destroyed, 1);
    larmor_source_free(NULL);
    assert_null(larmor_source_ref(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_of_ones_own_is_reconstructed),
        cmocka_unit_test(what_a_source_gives_is_checked),
        cmocka_unit_test(incomplete_sources_are_refused),
        cmocka_unit_test(references_keep_a_source),
    };
    RUN_TESTS(tests);
}
