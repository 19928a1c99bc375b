/* scan/trajectory.c: spokes whose angles follow from counters. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

enum { MOST = 400, PLANES = 4 };

/* A source of spokes of the phantom without their trajectory. */
typedef struct spokes {
    int nd, readouts, step1[MOST], step2[MOST];
    double angle;     /* the true one, in degrees from a spoke to the next */
    double header;    /* as the header has it; 0: not */
    const char *kind; /* of the header */
    double *k;        /* [nd, SAMPLES, readouts] */
} spokes;

static larmor_raw_info describe(void *self LMR_UNUSED)
{
    return (larmor_raw_info){.channels = 2, .coils = 2, .encodings = 1, .groups = 1, .magnitude = 1};
}

static larmor_status encoding(void *self, int index LMR_UNUSED, larmor_encoding *out)
{
    const spokes *s = self;
    const int64_t z = s->nd == 3 ? PLANES : 1;
    *out = (larmor_encoding){.matrix = {N, N, z},
                             .recon_matrix = {N, N, z},
                             .fov_mm = {N, N, (double)z},
                             .recon_fov_mm = {N, N, (double)z},
                             .ndim = s->nd,
                             .angle_deg = s->header};
    snprintf(out->trajectory, sizeof out->trajectory, "%s", s->kind);
    return LARMOR_OK;
}

static larmor_status group(void *self, int index LMR_UNUSED, larmor_group *out)
{
    const spokes *s = self;
    *out = (larmor_group){
        .readouts = s->readouts, .samples = SAMPLES, .total = SAMPLES * (int64_t)s->readouts, .regular = 1};
    return LARMOR_OK;
}

static larmor_status samples(void *self, int index LMR_UNUSED, const larmor_grid *grid LMR_UNUSED, int calibration,
                             larmor_device *on, larmor_samples *out)
{
    const spokes *s = self;
    *out = (larmor_samples){0};
    if (calibration) return LARMOR_OK;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", s->nd, &phantom));
    OWN(larmor_array, *traj,
        larmor_array_upload(on, LARMOR_F64, LARMOR_SHAPE(s->nd, SAMPLES, s->readouts), LARMOR_F64, s->k, &traj));
    assert_ok(larmor_phantom_kspace(phantom, traj, 2, LARMOR_C64, &out->kspace));
    assert_ok(larmor_phantom_noise(out->kspace, 2e-4, 1));
    out->step1 = calloc((size_t)s->readouts, sizeof(int));
    out->step2 = calloc((size_t)s->readouts, sizeof(int));
    memcpy(out->step1, s->step1, (size_t)s->readouts * sizeof(int));
    memcpy(out->step2, s->step2, (size_t)s->readouts * sizeof(int));
    return LARMOR_OK;
}

static larmor_status meta(void *self LMR_UNUSED, int index LMR_UNUSED, larmor_image_meta *out)
{
    *out = (larmor_image_meta){.slice = 0};
    return LARMOR_OK;
}

/* Spokes in another order than their counters, of every partition in 3D. */
static spokes spokes_of(int nd, const char *kind, double angle, int count)
{
    spokes s = {.nd = nd, .kind = kind, .angle = angle, .readouts = nd == 3 ? PLANES * count : count};
    assert_true(s.readouts <= MOST);
    s.k = malloc((size_t)(nd * SAMPLES * s.readouts) * sizeof *s.k);
    for (int r = 0; r < s.readouts; r++) {
        s.step1[r] = (r / (nd == 3 ? PLANES : 1)) * 7 % count; /* 7 and count have no common divisor */
        s.step2[r] = nd == 3 ? r * 3 % PLANES : 0;
        for (int i = 0; i < SAMPLES; i++) {
            double *k = s.k + nd * (i + SAMPLES * r);
            const double t = .5 * (i - SAMPLES / 2), turn = M_PI / 180 * angle * s.step1[r];
            k[0] = t * cos(turn);
            k[1] = t * sin(turn);
            if (nd == 3) k[2] = s.step2[r] - PLANES / 2;
        }
    }
    return s;
}

static larmor_status try_samples(spokes *s, larmor_samples *x)
{
    static const larmor_source_impl impl = {
        .describe = describe, .encoding = encoding, .group = group, .samples = samples, .meta = meta};
    larmor_grid grid;
    OWN(larmor_source, *source, larmor_source_create("spokes", &impl, s, &source));
    return larmor_source_samples(source, 0, NULL, dev, &grid, x);
}

static void expect_the_true_one(spokes s)
{
    double worst = 0;
    OWN(larmor_samples, x, try_samples(&s, &x));
    OWN_MEMORY(double, *k, larmor_array_download(x.traj, LARMOR_F64, &k));
    assert_int_equal(larmor_array_count(x.traj), s.nd * SAMPLES * s.readouts);
    for (int i = 0; i < s.nd * SAMPLES * s.readouts; i++) worst = fmax(worst, fabs(k[i] - s.k[i]));
    assert_at_most(worst, 1e-3); /* angles are given with few digits here */
    LMR_FREE(s.k);
}

TEST(data_tell_which_usual_angle_it_is)
{
    const double usual[] = {180. / 45, 360. / 45, 111.2461180, 137.5077641, 68.7538820, 23.6281443, 32.0396956};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        for (int golden = 0; golden < 2; golden++)
            expect_the_true_one(spokes_of(2, golden ? "goldenangle" : "radial", usual[i], 45));
}

TEST(the_header_decides_where_data_do_not)
{
    expect_the_true_one(spokes_of(2, "goldenangle", 111.2461180, 5));
    expect_the_true_one(spokes_of(2, "radial", 180. / 5, 5));
    spokes odd = spokes_of(2, "radial", 77.7, 45); /* which is on no list */
    odd.header = 77.7;
    expect_the_true_one(odd);
}

TEST(partitions_of_spokes_become_a_volume)
{
    expect_the_true_one(spokes_of(3, "goldenangle", 111.2461180, 23));
    expect_the_true_one(spokes_of(3, "radial", 180. / 23, 23));
    expect_the_true_one(spokes_of(3, "radial", 68.7538820, 23));
}

TEST(what_counters_do_not_define_is_refused)
{
    spokes s = spokes_of(3, "radial", 4, 23);
    larmor_samples x;
    for (int r = 0; r < s.readouts; r++) s.step2[r] = 0; /* no partitions: perhaps a kooshball */
    assert_refused(try_samples(&s, &x), LARMOR_ERR_FORMAT, "counters alone do not define a 3D radial one");
    s.kind = "spiral";
    assert_refused(try_samples(&s, &x), LARMOR_ERR_FORMAT, "counters alone do not define a 3D spiral one");
    free(s.k);
}

TEST(a_trajectory_that_is_not_the_datas_leaves_a_residual)
{
    spokes s = spokes_of(2, "radial", 111.2461180, 45), other = spokes_of(2, "radial", 112, 45);
    OWNED(larmor_array) *wrong;
    double own, another;
    OWN(larmor_samples, x, try_samples(&s, &x));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, 45), LARMOR_F64, other.k, &wrong));
    assert_ok(larmor_traj_consistency(x.kspace, x.traj, &own));
    assert_ok(larmor_traj_consistency(x.kspace, wrong, &another));
    assert_at_most(own, 0.05);
    assert_at_most(0.2, another);
    LMR_FREE(other.k, s.k);
}

/* ---- readouts of different lengths ---- */

enum { LENGTHS = 12, LONG = 96 };

/* Spokes of LONG samples that lose some at their end, one after the other. */
static void cut(larmor_array *traj, larmor_array *kspace, larmor_samples *s)
{
    int64_t total = 0;
    OWN_MEMORY(double, *k, larmor_array_download(traj, LARMOR_F64, &k));
    OWN_MEMORY(double, *y, larmor_array_download(kspace, LARMOR_C128, &y));
    *s = (larmor_samples){.readouts = LENGTHS, .first = malloc((LENGTHS + 1) * sizeof *s->first)};
    assert_non_null(s->first);
    for (int64_t r = 0; r < LENGTHS; r++) {
        const int64_t count = LONG - 5 * (r % 4);
        s->first[r] = total;
        memmove(k + 2 * total, k + 2 * LONG * r, sizeof *k * (size_t)(2 * count));
        memmove(y + 2 * total, y + 2 * LONG * r, sizeof *y * (size_t)(2 * count));
        total += count;
    }
    s->first[LENGTHS] = total;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, total, 1), LARMOR_F64, k, &s->traj));
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(total, 1, 1), LARMOR_C128, y, &s->kspace));
}

TEST(readouts_of_different_lengths_are_delayed_and_searched_one_by_one)
{
    const double delay[6] = {1.4, -0.6, 0, 0.3};
    const larmor_traj_opts opts = {.matrix = {48, 48, 1}, .readouts = LENGTHS, .samples = LONG};
    OWNED(larmor_array) *traj, *late, *kspace, *own, *aligned, *beside;
    OWNED(larmor_samples) s;
    larmor_delays found;
    assert_ok(larmor_traj_create(dev, "golden", &opts, &traj));
    assert_ok(larmor_traj_delay(traj, delay, NULL, &late));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, late, 1, LARMOR_C64, &kspace));
    cut(traj, kspace, &s);
    assert_ok(larmor_samples_delay(&s, delay, NULL, &own));
    OWN_MEMORY(double, *whole, larmor_array_download(late, LARMOR_F64, &whole));
    OWN_MEMORY(double, *each, larmor_array_download(own, LARMOR_F64, &each));
    for (int64_t r = 0; r < LENGTHS; r++)
        for (int64_t i = 0; i < 2 * (s.first[r + 1] - s.first[r]); i++)
            assert_at_most(fabs(each[2 * s.first[r] + i] - whole[2 * LONG * r + i]), 1e-9);
    assert_ok(larmor_samples_align(&s, &beside, &aligned));
    assert_int_equal(larmor_array_shape(aligned).dim[1], LONG);
    assert_int_equal(larmor_array_shape(aligned).dim[2], LENGTHS);
    assert_ok(larmor_delays_estimate(beside, aligned, NULL, &found));
    assert_int_equal(found.significant, 1);
    for (int e = 0; e < 6; e++) assert_at_most(fabs(found.delay[e] - delay[e]), 0.01);
}

/* Spokes of so many samples, which were taken `by` samples later than the trajectory says; 1 if that is warned of,
 * 2 if it is not corrected, too. */
static int warns_of_delay(int samples, double by)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    notes n = {.text = ""};
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "cg", .listener = take_note, .user = &n);
    const larmor_traj_opts finer = {.matrix = {N, N}, .readouts = SPOKES, .samples = samples};
    LMR_FREE(s.image[0].traj, s.image[0].kspace);
    assert_ok(larmor_traj_create(dev, "golden", &finer, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    OWN_MEMORY(double, *k, larmor_array_download(s.image[0].traj, LARMOR_F64, &k));
    for (int64_t r = 0; r < SPOKES; r++) {
        double *line = k + 2 * samples * r, step[2] = {line[2] - line[0], line[3] - line[1]};
        for (int64_t i = 0; i < 2 * samples; i++) line[i] += by * step[i % 2];
    }
    assert_ok(larmor_array_write(s.image[0].traj, k, larmor_array_bytes(s.image[0].traj)));
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    const int corrects = strstr(n.text, "delays: the gradients are late by") != NULL;
    assert_true(corrects != (strstr(n.text, "Nothing is corrected") != NULL));
    return (strstr(n.text, "no gradients are early by") != NULL) + !corrects;
}

TEST(delays_that_no_gradients_have_are_a_warning)
{
    assert_int_equal(warns_of_delay(SAMPLES, 2), 0);
    assert_int_equal(warns_of_delay(SAMPLES, -1), 0);
    assert_int_equal(warns_of_delay(SAMPLES, -5), 1);
    assert_int_equal(warns_of_delay(16 * N, -17), 2);
}
