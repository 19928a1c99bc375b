/* Images of states by penalties along heart and breath (Feng et al., Magn. Reson. Med. 75, 775 (2016)).
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/gating/states.h"

enum { N = 32, COILS = 4, READOUTS = 960, HEART = 4, BREATH = 6, BINS = HEART * BREATH };

static const motion subject = {{14, 40, .03, 5}, {66, .5, .03, 6}, .02};

typedef struct scan {
    larmor_array *kspace, *traj, *maps, *phase, *shift;
    double beats[READOUTS], breaths[READOUTS]; /* in cycles, and the shift */
} scan;

LMR_FREES(end_scan, scan, kspace, traj, maps, phase, shift)

static scan scan_of(void)
{
    scan s = {0};
    OWNED(larmor_simulation) *made = NULL;
    const larmor_simulation_opts opts = {.traj = {.matrix = {N, N}, .readouts = READOUTS},
                                         .coils = COILS,
                                         .object_size = SIZE,
                                         .snr = 30,
                                         .seed = 3,
                                         .tr_ms = 1e3 * subject.tr,
                                         .breath = subject.breath,
                                         .heart = subject.heart};
    assert_ok(larmor_simulation_create(dev, &opts, &made));
    assert_ok(larmor_simulation_samples(made, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s.maps));
    for (int i = 0; i < READOUTS; i++) {
        s.beats[i] = larmor_phantom_cycles(&subject.heart, subject.tr * i);
        s.breaths[i] = state_at(&subject, i).shift[1];
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(READOUTS), LARMOR_F64, s.beats, &s.phase));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(READOUTS), LARMOR_F64, s.breaths, &s.shift));
    return s;
}

static larmor_source *source_of(const scan *s)
{
    const larmor_readouts image = {.kspace = s->kspace, .traj = s->traj};
    const larmor_scan_arrays arrays = {
        .matrix = {N, N}, .fov_mm = {256, 256, 5}, .trajectory = "goldenangle", .image = &image, .images = 1};
    return MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
}

static larmor_source *bins_of(const scan *s, int of_heart, int of_breath)
{
    OWNED(larmor_source) *whole = source_of(s);
    larmor_bins_found found;
    const larmor_bins_opts opts = {.heart = of_heart,
                                   .breath = of_breath,
                                   .heart_phase = of_heart ? s->phase : NULL,
                                   .breath_signal = of_breath ? s->shift : NULL};
    larmor_source *bins = MADE(larmor_source, larmor_source_of_bins(whole, dev, &opts, &found, &made));
    assert_int_equal(found.empty, 0);
    return bins;
}

static larmor_status begin(larmor_source *source, const scan *s, const char *method, larmor_recon **recon)
{
    const larmor_recon_opts opts = OPTS(.method = method, .joint = strcmp(method, "cg") != 0, .maps = s->maps);
    return larmor_recon_create(source, dev, &opts, recon);
}

/* All images of a source, [images], by one series or by one each. */
static void images_of(larmor_source *source, const scan *s, const char *method, larmor_array **image)
{
    OWNED(larmor_recon) *recon = NULL;
    assert_ok(begin(source, s, method, &recon));
    for (int i = 0, series = 0; series < larmor_recon_series(recon); series++) {
        OWN(larmor_recon_result, r, larmor_recon_run(recon, series, &r));
        for (int k = 0; k < r.count; k++) image[i++] = larmor_array_ref(r.image[k].data);
    }
}

/* Which of equally many by rank. */
static int rank_bin(const scan *s, int readout)
{
    int below = 0;
    for (int i = 0; i < READOUTS; i++)
        below += s->breaths[i] < s->breaths[readout] || (s->breaths[i] == s->breaths[readout] && i < readout);
    return below * BREATH / READOUTS;
}

/* The object on average over some of a bin's readouts. */
static larmor_array *truth_of(const scan *s, int bin)
{
    int members[READOUTS], count = 0;
    for (int i = 0; i < READOUTS; i++) {
        const int phase = (int)((s->beats[i] - floor(s->beats[i])) * HEART);
        if (phase + HEART * rank_bin(s, i) == bin) members[count++] = i;
    }
    return object_over(&subject, LARMOR_SHAPE(N, N), members, count);
}

TEST(states_by_penalties_along_heart_and_breath_are_twice_as_near_as_the_static_image_and_nearer_than_each_alone)
{
    OWNED(scan) s = scan_of();
    OWNED(larmor_source) *bins = bins_of(&s, HEART, BREATH), *whole = source_of(&s);
    larmor_array *joint[BINS] = {NULL}, *alone[BINS] = {NULL}, *all[1] = {NULL};
    images_of(bins, &s, "tv:h+tv:b", joint);
    images_of(bins, &s, "cg", alone);
    images_of(whole, &s, "cg", all);
    for (int i = 0; i < BINS; i++) {
        OWNED(larmor_array) *truth = truth_of(&s, i);
        const double own = difference(joint[i], truth), single = difference(alone[i], truth),
                     still = difference(all[0], truth);
        if (getenv("SHOW"))
            printf("heart %d breath %d: %.3f; alone %.3f; static %.3f\n", i % HEART, i / HEART, own, single, still);
        else if (2 * own > still || own > single)
            fail_msg("bin %d: %g; alone %g, static %g", i, own, single, still);
        LMR_FREE(joint[i], alone[i]);
    }
    larmor_array_free(all[0]);
}

TEST(penalties_along_dimensions_that_the_series_lacks_are_refused_in_a_line)
{
    static const struct {
        int heart, breath;
        const char *method, *message;
    } cases[] = {
        {2, 2, "tv:t", "opts.method tv:t: the series of arrays has no dimension t;"},
        {2, 0, "tv:h+tv:b", "opts.method tv:h+tv:b: the series of arrays has no dimension b;"},
        {0, 2, "fft:h", "opts.method fft:h: the series of arrays has no dimension h;"},
    };
    OWNED(scan) s = scan_of();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(larmor_source) *bins = bins_of(&s, cases[i].heart, cases[i].breath);
        larmor_recon *recon;
        assert_refused(begin(bins, &s, cases[i].method, &recon), LARMOR_ERR_ARG, cases[i].message);
    }
}

TEST(penalties_along_bins_of_which_one_is_empty_are_refused_in_a_line)
{
    OWNED(scan) s = scan_of();
    OWNED(larmor_source) *whole = source_of(&s);
    OWNED(larmor_source) *bins = NULL;
    larmor_bins_found found;
    larmor_recon *recon;
    for (int i = 0; i < READOUTS; i++) s.beats[i] = i % 2 ? .1 : .9; /* nothing in the second of three */
    OWNED(larmor_array) *gap = NULL;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(READOUTS), LARMOR_F64, s.beats, &gap));
    const larmor_bins_opts opts = {.heart = 3, .breath = 2, .heart_phase = gap, .breath_signal = s.shift};
    assert_ok(larmor_source_of_bins(whole, dev, &opts, &found, &bins));
    assert_int_equal(found.empty, 2);
    assert_refused(begin(bins, &s, "tv:h", &recon), LARMOR_ERR_ARG,
                   "opts.method tv:h: a series of arrays lacks some of its 3 x 2 bins; ask for fewer.");
}

/* Half of the phases of two repetitions are as many images as all of one. */
TEST(penalties_along_bins_of_some_phases_are_refused_in_a_line)
{
    OWNED(scan) s = scan_of();
    OWNED(larmor_source) *whole = NULL, *bins = NULL;
    larmor_bins_found found;
    larmor_recon *recon;
    double beats[2 * READOUTS];
    for (int i = 0; i < 2 * READOUTS; i++) beats[i] = i % 2 ? .1 : .6;
    OWN(larmor_array, *phase,
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2 * READOUTS), LARMOR_F64, beats, &phase));
    const larmor_readouts image[] = {{.kspace = s.kspace, .traj = s.traj},
                                     {.kspace = s.kspace, .traj = s.traj, .meta = {.repetition = 1}}};
    const larmor_scan_arrays arrays = {
        .matrix = {N, N}, .fov_mm = {256, 256, 5}, .trajectory = "goldenangle", .image = image, .images = 2};
    assert_ok(larmor_source_of_arrays(&arrays, &whole));
    const larmor_bins_opts opts = {.heart = 2, .heart_phase = phase};
    assert_ok(larmor_source_of_bins(whole, dev, &opts, &found, &bins));
    assert_true(found.bins == 4 && found.empty == 0);
    const larmor_counters only = {.slice = -1, .contrast = -1, .repetition = -1, .set = -1}; /* phase 0 */
    const larmor_recon_opts part = OPTS(.method = "tv:h", .joint = 1, .maps = s.maps, .only = &only);
    assert_refused(larmor_recon_create(bins, dev, &part, &recon), LARMOR_ERR_ARG,
                   "opts.method tv:h: a series of arrays lacks some of its 2 x 1 bins; ask for fewer.");
}

TEST(a_strong_penalty_along_the_heart_makes_its_phases_alike_and_leaves_the_breath)
{
    OWNED(scan) s = scan_of();
    OWNED(larmor_source) *bins = bins_of(&s, 3, 2);
    const larmor_recon_opts opts =
        OPTS(.method = "tv:h", .joint = 1, .maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1);
    OWN(larmor_recon, *recon, larmor_recon_create(bins, dev, &opts, &recon));
    OWN(larmor_recon_result, r, larmor_recon_run(recon, 0, &r));
    assert_int_equal(r.count, 6);
    const double heart_apart = difference(r.image[1].data, r.image[0].data);
    const double breath_apart = difference(r.image[3].data, r.image[0].data);
    if (getenv("SHOW")) printf("apart: heart %g, breath %g\n", heart_apart, breath_apart);
    assert_true(10 * heart_apart < breath_apart);
}

typedef struct told { /* of two lines */
    int limit, open;
} told;

static int listen_to(void *user, const larmor_event *e)
{
    told *t = user;
    if (e->kind != LARMOR_EVENT_LOG) return 0;
    t->limit += strstr(e->text, "the limit of iterations was reached first;") != NULL;
    t->open += strstr(e->text, ": no penalty acts within the images, as tv:xy does: what no frame has sampled stays "
                               "open") != NULL;
    return 0;
}

/* The value of the functional after so many iterations. */
static double objective_after(larmor_source *bins, const scan *s, const char *method, int iters, told *t)
{
    const larmor_recon_opts opts =
        OPTS(.method = method, .joint = 1, .maps = s->maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 5e-3,
             .iters = iters, .tol = 1e-9, .listener = listen_to, .user = t);
    OWN(larmor_recon, *recon, larmor_recon_create(bins, dev, &opts, &recon));
    OWN(larmor_recon_result, r, larmor_recon_run(recon, 0, &r));
    return r.report.solver.objective;
}

/* More iterations change images along what no bin has sampled, which the functional hardly sees. */
TEST(the_functional_of_tv_along_bins_is_nearly_the_least_after_60_iterations_and_the_log_says_what_stays_open)
{
    OWNED(scan) s = scan_of();
    OWNED(larmor_source) *bins = bins_of(&s, 3, 2);
    told along = {0}, within = {0};
    const double early = objective_after(bins, &s, "tv:h=1+tv:b=1", 60, &along);
    const double late = objective_after(bins, &s, "tv:h=1+tv:b=1", 240, &along);
    if (getenv("SHOW")) printf("%g %g\n", early, late);
    assert_true(late <= early * (1 + 1e-5) && early <= 1.01 * late);
    assert_true(along.limit == 2 && along.open == 2);
    objective_after(bins, &s, "tv:xy+tv:h=1+tv:b=1", 3, &within);
    assert_true(within.limit == 1 && within.open == 0);
}
