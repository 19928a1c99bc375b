/* pipeline/cache.c: images with one trajectory share what depends on it alone, and are the images that each would
 * be by itself. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/cache.h"
#include "schedule/state.h"
#include "schedule/task.h"
#include "tests/pipeline/scan.h"

enum { IMAGES = 4, VALUES = 2 * N * N };

/* Without the search for delays, which takes longest of all and shares nothing. */
#define SHARE_OPTS(...) OPTS(.delays = LARMOR_DELAYS_OFF, ##__VA_ARGS__)

/* ---- scans ---- */

/* Images of other noise with the same trajectory: golden angles, or these lines. */
static scan alike_on(const larmor_traj_opts *lines, int images)
{
    scan s = scan_of(COILS, images, 0);
    if (lines) s.arrays.trajectory = "cartesian";
    for (int i = 0; i < images; i++) {
        larmor_readouts *r = &s.image[i];
        larmor_array_free(r->kspace);
        if (i || lines) larmor_array_free(r->traj);
        if (i)
            r->traj = larmor_array_ref(s.image[0].traj);
        else if (lines)
            assert_ok(larmor_traj_create(dev, "cartesian", lines, &r->traj));
        assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
        assert_ok(larmor_phantom_noise(r->kspace, 1e-3 * (1 + i), 1 + (uint64_t)i));
        r->meta.slice = i;
    }
    return s;
}

static scan alike(int images)
{
    return alike_on(NULL, images);
}

static void change(scan *s, int image, void (*how)(double *k, int number), int number)
{
    larmor_readouts *r = &s->image[image];
    OWN_MEMORY(double, *k, larmor_array_download(r->traj, LARMOR_F64, &k));
    how(k, number);
    const larmor_shape shape = larmor_array_shape(r->traj);
    larmor_array_free(r->traj);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &r->traj));
}

/* The first zeros get another sign: the same places, in other bits. */
static void sign_zeros(double *k, int number)
{
    int64_t at = 0;
    for (int bit = 0; bit < 3; bit++) {
        while (k[at] != 0) at++;
        k[at++] = number & 1 << bit ? -0.0 : 0.0;
    }
}

/* The same images as of alike_on, none of which has the trajectory of another to the bit. */
static scan apart_in_bits_on(const larmor_traj_opts *lines, int images)
{
    scan s = alike_on(lines, images);
    for (int i = 0; i < images; i++) change(&s, i, sign_zeros, i + 1);
    return s;
}

static scan apart_in_bits(int images)
{
    return apart_in_bits_on(NULL, images);
}

/* ---- runs ---- */

typedef struct outcome {
    float image[IMAGES][VALUES];
    larmor_recon_report report[IMAGES];
    int images;         /* those that could not be made are there, and empty */
    int64_t hits, used; /* of all devices */
} outcome;

static void count_use(const lmr_job *job, outcome *o)
{
    o->hits += lmr_trajectory_cache_hits(job->caches->trajectories);
    if (job->caches->last_operator) o->used += job->caches->last_operator->used;
}

static void run(const char *spec, const scan *s, const larmor_recon_opts *opts, outcome *o)
{
    larmor_scan_arrays arrays = s->arrays;
    larmor_recon_result result;
    arrays.image = s->image;
    *o = (outcome){.hits = 0};
    OWN(larmor_source, *source, larmor_source_of_arrays(&arrays, &source));
    OWN(larmor_device, *on, larmor_device_open(spec, &on));
    OWN(larmor_recon, *recon, larmor_recon_create(source, on, opts, &recon));
    for (int i = 0; i < larmor_recon_series(recon); i++) {
        assert_ok(larmor_recon_run(recon, i, &result));
        o->report[i] = result.report;
        for (int j = 0; j < result.count; j++)
            assert_ok(larmor_array_read(result.image[j].data, o->image[o->images++], sizeof o->image[0]));
        if (!result.count) o->images++;
        larmor_recon_result_free(&result);
    }
    count_use(&recon->job, o);
    for (int w = 0; recon->devices && w < recon->devices->workers; w++) {
        const lmr_job *job = &recon->devices->worker[w].job;
        if (job->caches->trajectories == recon->caches.trajectories)
            o->hits -= lmr_trajectory_cache_hits(job->caches->trajectories); /* are counted */
        count_use(job, o);
    }
}

static double apart_by(const float *x, const float *y)
{
    double d = 0, whole = 1e-30;
    for (int i = 0; i < VALUES; i++) {
        d += (double)(x[i] - y[i]) * (x[i] - y[i]);
        whole += (double)y[i] * y[i];
    }
    return sqrt(d / whole);
}

/* To the bit; on a GPU, where sums are taken in any order, to rounding. */
static void expect_images(const outcome *got, const outcome *expected, int images)
{
    assert_int_equal(got->images, images);
    assert_int_equal(expected->images, images);
    for (int i = 0; i < images; i++) {
        assert_int_equal(got->report[i].status, expected->report[i].status);
        if (is_cpu())
            assert_memory_equal(got->image[i], expected->image[i], sizeof got->image[i]);
        else
            assert_at_most(apart_by(got->image[i], expected->image[i]), 1e-2);
    }
}

static const char *const specs[2][3] = {{"cpu:1", "cpu:3", "cpu:1,1"}, {"cuda:0", "cuda:0", "cuda:0,0"}};

/* The spec after this one: of some options all, of the others beside the first by turns that of threads or of
 * devices. */
static int next_way(int way, size_t option, int all)
{
    if (all) return way + 1;
    return way ? 3 : 1 + (int)(option % 2);
}

/* ---- laws ---- */

TEST(images_with_one_trajectory_are_those_without_sharing)
{
    const larmor_recon_opts opts[] = {
        SHARE_OPTS(.method = "cg", .iters = 6),
        SHARE_OPTS(.method = "cg", .weighted = 1),
        OPTS(.iters = 4),
        SHARE_OPTS(.method = "grid"),
        SHARE_OPTS(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_PIPE),
        SHARE_OPTS(.method = "tv", .iters = 6),
        SHARE_OPTS(.method = "cg", .iters = 6, .eps = 1e-7),
        SHARE_OPTS(.method = "cg", .iters = 6, .precondition = -1),
        SHARE_OPTS(.method = "cg", .iters = 6, .toeplitz = -1),
        SHARE_OPTS(.method = "cg", .iters = 6, .compress = 3),
        SHARE_OPTS(.method = "cg", .iters = 4, .maps_method = "espirit", .map_sets = 2),
        SHARE_OPTS(.lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1, .density = LARMOR_DENSITY_RAMP, .weighted = 1),
    };
    static outcome shared, each;
    OWNED(scan) same = alike(IMAGES), others = apart_in_bits(IMAGES);
    for (size_t i = 0; i < sizeof opts / sizeof *opts; i++)
        for (int d = 0; d < 3; d = next_way(d, i, i < 3)) {
            larmor_recon_opts o = opts[i];
            o.at_once = d ? 0 : 1;
            run(specs[!is_cpu()][d], &same, &o, &shared);
            run(specs[!is_cpu()][d], &others, &o, &each);
            expect_images(&shared, &each, IMAGES);
            /* The misfit of a gridded image is measured by the operator that it was gridded with. */
            const int own = o.method && !strcmp(o.method, "grid") && !o.no_maps ? IMAGES : 0;
            assert_int_equal(each.hits + each.used, own);
            const int one_each = d == 1 && (o.precondition < 0 || o.map_sets); /* and nothing but operators is kept */
            const int beside = d > 0 && !is_cpu(); /* images beside each other on a GPU share nothing */
            assert_true(one_each || beside || shared.hits + shared.used > 0);
            if (d == 0 && !o.no_maps) assert_int_equal(shared.used, IMAGES - 1 + own);
        }
}

/* Where other voxels, phases, or terms of a field map are between, little is shared or nothing. */
TEST(scans_of_all_kinds_are_those_without_sharing)
{
    const larmor_traj_opts half = {.matrix = {N, N}, .partial_fourier = .7},
                           fewer = {.matrix = {N, N}, .acceleration = {2, 1}};
    const double basis[IMAGES / 2] = {.6, .8}, start = 0;
    double hz[N * N * IMAGES], t[SAMPLES * SPOKES];
    for (int i = 0; i < N * N * IMAGES; i++) hz[i] = 100.0 * (i % N) / N * (1 + i / (N * N));
    for (int i = 0; i < SAMPLES * SPOKES; i++) t[i] = 8e-3 * (i % SAMPLES) / SAMPLES;
    OWNED(larmor_array) *b0, *times, *one;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(N, N, IMAGES), LARMOR_F64, hz, &b0));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES, SPOKES), LARMOR_F64, t, &times));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(IMAGES / 2, 1), LARMOR_F64, basis, &one));
    const struct {
        const larmor_traj_opts *lines;
        larmor_recon_opts opts;
        int series; /* of several images; 0: of one each */
    } kinds[] = {
        {&half, SHARE_OPTS(.method = "cg", .iters = 6), 0},
        {&half, SHARE_OPTS(.method = "cg", .iters = 6, .partial_fourier = LARMOR_PARTIAL_POCS), 0},
        {&half, SHARE_OPTS(.method = "cg", .iters = 6, .partial_fourier = LARMOR_PARTIAL_ZERO), 0},
        {&fewer, SHARE_OPTS(.method = "cg", .iters = 6), 0},
        {NULL, SHARE_OPTS(.method = "cg", .iters = 6, .b0 = b0, .readout_start_ms = &start), 0},
        {NULL, SHARE_OPTS(.method = "tv", .joint = 1, .iters = 5), 2},
        {NULL, SHARE_OPTS(.method = "cg", .iters = 5, .basis = one), 2},
    };
    static outcome shared, each;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        OWNED(scan) same = alike_on(kinds[i].lines, IMAGES), others = apart_in_bits_on(kinds[i].lines, IMAGES);
        for (int j = 0; j < IMAGES; j++) {
            if (kinds[i].opts.b0) same.image[j].times = others.image[j].times = times;
            if (!kinds[i].series) continue;
            same.image[j].meta = (larmor_image_meta){.slice = j / 2, .repetition = j % 2};
            others.image[j].meta = same.image[j].meta;
        }
        for (int d = 0; d < 3; d = next_way(d, i, 0)) {
            run(specs[!is_cpu()][d], &same, &kinds[i].opts, &shared);
            run(specs[!is_cpu()][d], &others, &kinds[i].opts, &each);
            expect_images(&shared, &each, kinds[i].opts.basis ? IMAGES / 2 : IMAGES);
            assert_int_equal(each.hits + each.used,
                             kinds[i].opts.partial_fourier == LARMOR_PARTIAL_ZERO ? IMAGES : 0);
        }
    }
}

/* In a scan of its own there is nothing to share. To the bit; on a GPU, where sums are taken in any order and the
 * solver may stop a step earlier or later, to a tenth of the image's noise. */
TEST(an_image_is_the_one_of_a_scan_of_its_own)
{
    const larmor_recon_opts opts = SHARE_OPTS(.at_once = 1, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3);
    static outcome together, alone;
    OWNED(scan) s = alike(IMAGES);
    run(specs[!is_cpu()][0], &s, &opts, &together);
    assert_int_equal(together.used, IMAGES - 1);
    for (int i = 0; i < IMAGES; i++) {
        scan one = s;
        one.image[0] = s.image[i];
        one.arrays.images = 1;
        run(specs[!is_cpu()][0], &one, &opts, &alone);
        assert_int_equal(alone.hits + alone.used, 0);
        if (is_cpu())
            assert_memory_equal(alone.image[0], together.image[i], sizeof alone.image[0]);
        else
            assert_at_most(apart_by(alone.image[0], together.image[i]), 0.1 * alone.report[0].image_noise);
    }
}

static void move_by_a_bit(double *k, int number)
{
    k[number] = nextafter(k[number], 1e3);
}

static void spoil(double *k, int number)
{
    k[number] = NAN;
}

static void exchange_readouts(double *k, int number)
{
    for (int i = 0; i < 2 * SAMPLES; i++) {
        const double first = k[i];
        k[i] = k[i + 2 * SAMPLES * number];
        k[i + 2 * SAMPLES * number] = first;
    }
}

/* The third image has another trajectory, and the fourth that of the first. */
TEST(another_trajectory_among_them_is_taken_as_it_is)
{
    void (*const how[])(double *k, int number) = {move_by_a_bit, exchange_readouts, spoil};
    const larmor_recon_opts opts =
        SHARE_OPTS(.at_once = 1, .maps_method = "walsh", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3);
    static outcome together, alone;
    for (size_t h = 0; h < sizeof how / sizeof *how; h++) {
        OWNED(scan) s = alike(IMAGES);
        change(&s, 2, how[h], 7);
        run(specs[!is_cpu()][0], &s, &opts, &together);
        assert_int_equal(together.used,
                         how[h] == spoil ? 2 : 1); /* where another was in between the fourth has none */
        assert_int_equal(together.hits, 2 * 2); /* point spread function and centre, by the second and the fourth */
        for (int i = 0; i < IMAGES; i++) {
            scan one = s;
            one.image[0] = s.image[i];
            one.arrays.images = 1;
            run(specs[!is_cpu()][0], &one, &opts, &alone);
            assert_int_equal(alone.report[0].status, together.report[i].status);
            assert_int_equal(alone.report[0].status != LARMOR_OK, how[h] == spoil && i == 2);
            if (is_cpu()) assert_memory_equal(alone.image[0], together.image[i], sizeof alone.image[0]);
        }
    }
}

/* Repetitions have the maps of the first; the angles of every second go on. */
TEST(trajectories_that_take_turns_are_both_kept)
{
    static outcome together, each;
    OWNED(scan) s = alike(IMAGES), others = apart_in_bits(IMAGES);
    for (int i = 0; i < IMAGES; i++) {
        s.image[i].meta = others.image[i].meta = (larmor_image_meta){.repetition = i};
        if (i % 2) change(&s, i, exchange_readouts, 9);
        if (i % 2) change(&others, i, exchange_readouts, 9);
    }
    for (int d = 0; d < 3; d++) {
        const larmor_recon_opts opts = SHARE_OPTS(.method = "cg", .at_once = d ? 0 : 1, .iters = 5);
        run(specs[!is_cpu()][d], &s, &opts, &together);
        run(specs[!is_cpu()][d], &others, &opts, &each);
        expect_images(&together, &each, IMAGES);
        if (!d) assert_true(together.hits >= 2);
        assert_int_equal(each.hits + each.used, 0);
    }
}

TEST(weights_that_a_caller_changes_are_his_own)
{
    static float first[VALUES], second[VALUES];
    const larmor_recon_opts opts = SHARE_OPTS(.method = "grid", .keep_density = 1, .at_once = 1);
    OWNED(scan) s = alike(2);
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        larmor_recon_result result;
        assert_ok(larmor_recon_run(recon, 0, &result));
        larmor_recon_result_free(&result);
        OWN(larmor_array, *weights, larmor_recon_density(recon, &weights));
        if (spoilt) assert_ok(larmor_fill(weights, 3));
        assert_ok(larmor_recon_run(recon, 1, &result));
        assert_ok(larmor_array_read(result.image[0].data, spoilt ? second : first, sizeof first));
        larmor_recon_result_free(&result);
    }
    assert_at_most(apart_by(second, first), is_cpu() ? 0 : 1e-4);
}

/* ---- the plan ---- */

/* Nothing else is left out for it, and with less memory it goes first. */
TEST(what_is_kept_is_planned_and_the_first_to_be_left_out)
{
    OWNED(scan) s = alike(IMAGES);
    larmor_recon *recon = recon_of(&s, &SHARE_OPTS(.method = "cg", .at_once = 1));
    const int64_t with = recon->plan.planned;
    assert_int_equal(recon->plan.share, LMR_MAX_CACHED_TRAJECTORIES);
    larmor_recon_free(recon);
    int64_t before = with;
    static const int shares[] = {LMR_MAX_CACHED_TRAJECTORIES, 1, 0};
    int seen[3] = {0};
    for (int64_t limit = with; limit > with / 4; limit -= with / 64) {
        larmor_recon_plan plan;
        if (try_recon(&s, &SHARE_OPTS(.method = "cg", .at_once = 1, .memory = limit), &recon)) break;
        assert_ok(larmor_recon_describe(recon, 0, &plan));
        assert_true(recon->plan.planned <= limit && recon->plan.planned <= before);
        before = recon->plan.planned;
        for (int i = 0; i < 3; i++) seen[i] += recon->plan.share == shares[i];
        if (recon->plan.share) assert_int_equal(plan.block, COILS);
        assert_int_equal(!recon->caches.trajectories, !recon->plan.share);
        larmor_recon_free(recon);
    }
    for (int i = 0; i < 3; i++) assert_true(seen[i] > 0);
    s.arrays.images = 1; /* has none to share with */
    recon = recon_of(&s, &SHARE_OPTS(.method = "cg", .at_once = 1));
    assert_int_equal(recon->plan.share, 0);
    larmor_recon_free(recon);
    s.arrays.images = IMAGES;
}

/* ---- the share itself ---- */

static lmr_cached *find(const lmr_job *job, const lmr_frame *frame)
{
    lmr_cached *c = MADE(lmr_cached, lmr_trajectory_cache_find(job, frame, &made));
    assert_non_null(c);
    lmr_cached_free(c); /* the share has it, or its address is that of no other, as none is made meanwhile */
    return c;
}

TEST(samples_of_another_layout_have_nothing_in_common)
{
    OWNED(scan) s = alike(1);
    const lmr_settings settings = {.eps = 1e-5};
    const lmr_scan_facts facts = {.dev = dev};
    lmr_caches caches = {.trajectories = NULL};
    lmr_job job = {.settings = &settings, .facts = &facts, .caches = &caches};
    lmr_frame frame = {.samples = {.kspace = s.image[0].kspace, .traj = s.image[0].traj},
                       .grid = {.ndim = 2, .matrix = {N, N, 1}, .fov_mm = {1, 1, 1}, .crop = {N, N, 1}}};
    assert_ok(lmr_caches_open(LMR_MAX_CACHED_TRAJECTORIES, &caches));
    lmr_cached *const first = find(&job, &frame);
    assert_ptr_equal(find(&job, &frame), first);
    lmr_frame other = frame;
    other.group.slice = 3;
    other.grid.fov_mm[2] = 7; /* of an axis that there is not */
    assert_ptr_equal(find(&job, &other), first);
    other = frame;
    other.group.encoding = 1;
    assert_ptr_not_equal(find(&job, &other), first);
    other = frame;
    other.grid.matrix[1]++;
    assert_ptr_not_equal(find(&job, &other), first);
    other = frame;
    other.grid.fov_mm[0] = 2;
    assert_ptr_not_equal(find(&job, &other), first);
    assert_ptr_equal(find(&job, &frame), first);
    OWN(larmor_array, *line, larmor_array_reshape(s.image[0].traj, LARMOR_SHAPE(2, SAMPLES * SPOKES, 1), &line));
    other = frame;
    other.samples.traj = line; /* the same numbers */
    assert_ptr_not_equal(find(&job, &other), first);
    OWN(larmor_array, *more, larmor_array_slice(s.image[0].kspace, 0, 2, &more));
    other = frame;
    other.samples.kspace = more;
    assert_ptr_not_equal(find(&job, &other), first);
    assert_ptr_equal(find(&job, &frame), first); /* was asked for in between, so that it stayed */
    lmr_caches_close(&caches);
}

TEST(a_part_is_taken_as_it_was_found_by_these_numbers)
{
    OWNED(scan) s = alike(1);
    const lmr_settings settings = {.eps = 1e-5};
    const lmr_scan_facts facts = {.dev = dev};
    lmr_caches caches = {.trajectories = NULL};
    lmr_job job = {.settings = &settings, .facts = &facts, .caches = &caches};
    const lmr_frame frame = {.samples = {.kspace = s.image[0].kspace, .traj = s.image[0].traj}};
    const double by[2] = {1, 2}, other[2] = {1, 3}, never[2] = {NAN, 2};
    assert_ok(lmr_caches_open(1, &caches));
    lmr_cached *c = MADE(lmr_cached, lmr_trajectory_cache_find(&job, &frame, &made));
    lmr_cached_put(c, LMR_CACHED_NOISE, by, s.truth);
    larmor_array *x = MADE(larmor_array, lmr_cached_take(c, LMR_CACHED_NOISE, by, dev, &made));
    assert_ptr_equal(x, s.truth);
    larmor_array_free(x);
    assert_ok(lmr_cached_take(c, LMR_CACHED_SPREAD, by, dev, &x));
    assert_null(x);
    assert_ok(lmr_cached_take(c, LMR_CACHED_NOISE, other, dev, &x));
    assert_null(x);
    lmr_cached_put(c, LMR_CACHED_NOISE, never, s.truth);
    assert_ok(lmr_cached_take(c, LMR_CACHED_NOISE, never, dev, &x));
    assert_null(x);
    assert_int_equal(lmr_trajectory_cache_hits(job.caches->trajectories), 1);
    lmr_caches_close(&caches); /* before what was had from it */
    lmr_cached_free(c);
    job.caches->trajectories = NULL;
    assert_ok(lmr_trajectory_cache_find(&job, &frame, &c));
    assert_null(c);
}
