/* recon/maps/nlinv_series.c: frames of a moving phantom, each of a few golden-angle spokes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

ENDS_BY(larmor_nlinv_series_free, larmor_nlinv_series)

enum { N = 48, VOXELS = N * N, FRAMES = 6, BEGIN = 5, MOST_COILS = 12 };

typedef enum motion { REST, BREATHING, TURNING, SHIFTING } motion;

typedef struct scene {
    int spokes, coils;
    double snr;
    motion how;
    int coils_turn; /* coils that the coils move on by, from the first frame to the last, around an object at rest */
} scene;

typedef struct frame {
    larmor_array *kspace, *traj;
    double truth[VOXELS]; /* magnitudes, with the shading of the coils' root sum of squares */
} frame;

static void free_frames(frame *f)
{
    for (int i = 0; i < FRAMES; i++) larmor_array_free(f[i].kspace);
    for (int i = 0; i < FRAMES; i++) larmor_array_free(f[i].traj);
    free(f);
}

ENDS_BY(free_frames, frame)

/* A period has 64 frames. */
static larmor_phantom_state state_at(const scene *s, int i)
{
    const double swing = sin(2 * M_PI * i / 64);
    larmor_phantom_state state = {.size = 0.85};
    if (s->how == BREATHING) state = (larmor_phantom_state){.size = 0.9 + 0.06 * swing, .shift = {0, 0.02 * swing}};
    if (s->how == TURNING) state.degrees = 25 * swing;
    if (s->how == SHIFTING) state.shift[1] = 0.04 * swing;
    return state;
}

static double coil_angle(const scene *s, int i)
{
    return 360. * s->coils_turn / s->coils * i / (FRAMES - 1);
}

/* k turned by so many degrees. */
static larmor_array *turned(const larmor_array *traj, double degrees)
{
    HEAP double *k = NULL;
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    assert_ok(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < larmor_array_count(traj); i += 2) {
        const double x = k[i], y = k[i + 1];
        k[i] = c * x - s * y;
        k[i + 1] = s * x + c * y;
    }
    return real_array(larmor_array_shape(traj), k);
}

static double root_sum_of_squares(const cplx *maps, int coils, int i)
{
    double energy = 0;
    for (int c = 0; c < coils; c++) energy += pow(cabs(maps[i + VOXELS * c]), 2);
    return sqrt(energy);
}

static void shoot(const scene *s, int i, larmor_array *all, const cplx *maps, frame *f)
{
    OWNED(larmor_array) *at = NULL, *seen = NULL, *truth = NULL;
    larmor_phantom_state state = state_at(s, i);
    double sigma;
    assert_ok(larmor_array_slice(all, (int64_t)i * s->spokes, s->spokes, &at));
    f->traj = turned(at, 0);
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    OWN(larmor_phantom, *now, larmor_phantom_change(phantom, &state, &now));
    /* An object that is turned, seen by spokes that are turned as much, is at rest, and the coils turn back. */
    state.degrees += coil_angle(s, i);
    OWN(larmor_phantom, *before_coils, larmor_phantom_change(phantom, &state, &before_coils));
    seen = turned(at, coil_angle(s, i));
    assert_ok(larmor_phantom_kspace(before_coils, seen, s->coils, LARMOR_C64, &f->kspace));
    assert_ok(larmor_phantom_noise_level(phantom, dev, LARMOR_SHAPE(N, N), s->coils, s->snr, &sigma));
    assert_ok(larmor_phantom_noise(f->kspace, sigma, 1 + (uint64_t)i));
    assert_ok(larmor_phantom_bandlimited(now, dev, LARMOR_C128, LARMOR_SHAPE(N, N), &truth));
    HEAP cplx *values = values_of(truth);
    for (int v = 0; v < VOXELS; v++) f->truth[v] = cabs(values[v]) * root_sum_of_squares(maps, s->coils, v);
}

static cplx *coils_of(const scene *s)
{
    OWNED(larmor_array) *maps = NULL;
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C128, LARMOR_SHAPE(N, N), NULL, s->coils, &maps));
    return values_of(maps);
}

static frame *frames_of(const scene *s)
{
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = (int64_t)s->spokes * FRAMES};
    OWNED(larmor_array) *all = NULL;
    HEAP cplx *maps = coils_of(s);
    NEW_ZEROS(frame, f, FRAMES);
    assert_ok(larmor_traj_create(dev, "golden", &opts, &all));
    for (int i = 0; i < FRAMES; i++) shoot(s, i, all, maps, &f[i]);
    return f;
}

/* Of magnitudes at the best scale; each is first multiplied by `shading`, or NULL. */
static double error_of(const larmor_array *image, const double *shading, const double *truth)
{
    HEAP cplx *x = values_of(image);
    double xx = 0, xt = 0, tt = 0;
    for (int i = 0; i < VOXELS; i++) {
        const double a = cabs(x[i]) * (shading ? shading[i] : 1);
        xx += a * a;
        xt += a * truth[i];
        tt += truth[i] * truth[i];
    }
    return sqrt(fmax(0, 1 - xt * xt / (xx * tt)));
}

/* ---- frames by themselves ---- */

static double alone_by_nlinv(const frame *f)
{
    OWNED(larmor_array) *x = NULL, *maps = NULL;
    assert_ok(larmor_nlinv(f->kspace, f->traj, LARMOR_SHAPE(N, N), NULL, &x, &maps, NULL));
    return error_of(x, NULL, f->truth);
}

/* With the true maps, and after the number of steps that is best. */
static double alone_by_cg(const scene *s, const frame *f)
{
    HEAP cplx *values = coils_of(s);
    OWNED(larmor_array) *maps = complex_array(LARMOR_C64, LARMOR_SHAPE(N, N, s->coils), values);
    OWNED(larmor_op) *A = NULL;
    const larmor_sense_opts opts = {.traj = f->traj, .nufft_tol = 1e-5};
    double shading[VOXELS], best = 1;
    for (int i = 0; i < VOXELS; i++) shading[i] = root_sum_of_squares(values, s->coils, i);
    assert_ok(larmor_op_sense(maps, &opts, &A));
    for (int steps = 4; steps <= 12; steps += 4) {
        OWNED(larmor_array) *x = zeros(LARMOR_C64, LARMOR_SHAPE(N, N));
        const larmor_solve_opts solve = {.max_iter = steps, .tol = -1};
        assert_ok(larmor_cg(A, f->kspace, x, &solve, NULL));
        best = fmin(best, error_of(x, shading, f->truth));
    }
    return best;
}

/* ---- a series ---- */

/* The readouts of the first frames as one. */
static void add_beginning(larmor_nlinv_series *series, const frame *f, int coils)
{
    const larmor_shape one = larmor_array_shape(f->kspace);
    const int64_t samples = one.dim[0] * one.dim[1], points = BEGIN * samples;
    HEAP cplx *all = malloc(sizeof *all * (size_t)(points * coils));
    HEAP double *k = malloc(sizeof *k * (size_t)(2 * points));
    assert_true(all && k);
    for (int i = 0; i < BEGIN; i++) {
        HEAP cplx *y = values_of(f[i].kspace);
        HEAP double *at = NULL;
        assert_ok(larmor_array_download(f[i].traj, LARMOR_F64, &at));
        memcpy(k + 2 * i * samples, at, sizeof *k * (size_t)(2 * samples));
        for (int c = 0; c < coils; c++)
            memcpy(all + c * points + i * samples, y + c * samples, sizeof *all * (size_t)samples);
    }
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(points, 1, coils), all);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, points, 1), k);
    assert_ok(larmor_nlinv_series_add(series, kspace, traj, NULL, NULL, NULL));
}

static larmor_nlinv_series *begun(const larmor_nlinv_series_opts *opts, const scene *s, const frame *f)
{
    larmor_nlinv_series *series =
        MADE(larmor_nlinv_series, larmor_nlinv_series_create(LARMOR_SHAPE(N, N), opts, &made));
    add_beginning(series, f, s->coils);
    return series;
}

static void frames_have_less_error(const scene *s)
{
    OWNED(frame) *f = frames_of(s);
    OWNED(larmor_nlinv_series) *series = begun(NULL, s, f);
    for (int i = 0; i < FRAMES; i++) {
        OWNED(larmor_array) *x = NULL;
        larmor_nlinv_report report;
        assert_ok(larmor_nlinv_series_add(series, f[i].kspace, f[i].traj, &x, NULL, &report));
        assert_int_equal(report.steps, 6);
        assert_at_most(report.inner, 6 * 6);
        if (i != 1 && i != FRAMES - 1) continue; /* as those by themselves take long */
        assert_at_most(error_of(x, NULL, f[i].truth), 0.82 * fmin(alone_by_nlinv(&f[i]), alone_by_cg(s, &f[i])));
    }
}

TEST(each_frame_of_a_moving_object_is_nearer_to_the_truth_than_by_itself)
{
    static const scene scenes[] = {{13, 8, 30, BREATHING, 0}, {15, 8, 15, TURNING, 0},   {15, 8, 60, SHIFTING, 0},
                                   {13, 8, 15, SHIFTING, 0},  {15, 6, 30, BREATHING, 0}, {17, 12, 30, TURNING, 0}};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) frames_have_less_error(&scenes[i]);
}

/* Unknowns are then the frame before's times the damping, and the image is their product with the maps' energy. */
TEST(a_frame_of_a_large_weight_is_the_one_before_damped_in_image_and_maps)
{
    const scene s = {13, 8, 30, SHIFTING, 0};
    OWNED(frame) *f = frames_of(&s);
    const larmor_nlinv_series_opts opts = {.steps = 1, .alpha = 1e6, .damping = 0.7};
    OWNED(larmor_nlinv_series) *series = begun(&opts, &s, f);
    OWNED(larmor_array) *x = NULL, *y = NULL, *maps = NULL, *same = NULL;
    assert_ok(larmor_nlinv_series_add(series, f[1].kspace, f[1].traj, &x, &maps, NULL));
    assert_ok(larmor_nlinv_series_add(series, f[2].kspace, f[2].traj, &y, &same, NULL));
    HEAP cplx *before = values_of(x), *after = values_of(y), *maps_before = values_of(maps),
              *maps_after = values_of(same);
    for (int i = 0; i < VOXELS; i++) before[i] *= 0.7 * 0.7;
    assert_at_most(difference(after, before, VOXELS), 1e-4);
    assert_at_most(difference(maps_after, maps_before, (int64_t)VOXELS * s.coils), 1e-4);
}

/* |<|a|, |b|>| / (|a| |b|) of a coil of maps and of one of others. */
static double alike(const cplx *a, const cplx *b)
{
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < VOXELS; i++) {
        if (hypot(i % N - N / 2, i / N - N / 2) > 0.3 * N) continue; /* where there is no object maps are not known */
        ab += cabs(a[i]) * cabs(b[i]);
        aa += pow(cabs(a[i]), 2);
        bb += pow(cabs(b[i]), 2);
    }
    return ab / sqrt(aa * bb);
}

TEST(coils_that_turn_by_one_have_the_maps_of_their_neighbours_at_the_end)
{
    const scene s = {17, 8, 60, REST, 1};
    OWNED(frame) *f = frames_of(&s);
    OWNED(larmor_nlinv_series) *series = begun(NULL, &s, f);
    HEAP cplx *first = NULL, *last = NULL;
    for (int i = 0; i < FRAMES; i++) {
        OWNED(larmor_array) *x = NULL, *maps = NULL;
        assert_ok(larmor_nlinv_series_add(series, f[i].kspace, f[i].traj, &x, &maps, NULL));
        if (i == 0) first = values_of(maps);
        if (i == FRAMES - 1) last = values_of(maps);
    }
    HEAP cplx *true_maps = coils_of(&s);
    double same = 0, next = 0, previous = 0;
    for (int c = 0; c < s.coils; c++) {
        same += alike(last + VOXELS * c, first + VOXELS * c) / s.coils;
        next += alike(last + VOXELS * c, first + VOXELS * ((c + 1) % s.coils)) / s.coils;
        previous += alike(last + VOXELS * c, first + VOXELS * ((c + s.coils - 1) % s.coils)) / s.coils;
    }
    assert_true(previous > 0.99 && previous > same && same > next);
}

/* ---- the median ---- */

static int by_magnitude(const void *a, const void *b)
{
    const double difference = cabs(*(const cplx *)a) - cabs(*(const cplx *)b);
    return (difference > 0) - (difference < 0);
}

/* Sums on a GPU are taken in any order. */
static int is_cpu(void)
{
    return !strncmp(larmor_device_spec(dev), "cpu", 3);
}

TEST(a_voxel_of_a_median_has_the_median_magnitude_of_the_last_frames_of_an_even_number_the_lower)
{
    enum { MEDIAN = 3 };
    const scene s = {13, 8, 30, SHIFTING, 0};
    OWNED(frame) *f = frames_of(&s);
    const larmor_nlinv_series_opts opts = {.steps = 1, .inner = 2},
                                   filtered = {.steps = 1, .inner = 2, .median = MEDIAN};
    OWNED(larmor_nlinv_series) *plain = begun(&opts, &s, f), *median = begun(&filtered, &s, f);
    cplx *last[FRAMES];
    double most = 0, off = 0;
    for (int i = 0; i < FRAMES; i++) {
        OWNED(larmor_array) *x = NULL, *y = NULL;
        assert_ok(larmor_nlinv_series_add(plain, f[i].kspace, f[i].traj, &x, NULL, NULL));
        assert_ok(larmor_nlinv_series_add(median, f[i].kspace, f[i].traj, &y, NULL, NULL));
        last[i] = values_of(x);
        HEAP cplx *got = values_of(y);
        const int count = i + 1 < MEDIAN ? i + 1 : MEDIAN;
        for (int v = 0; v < VOXELS; v++) {
            cplx sorted[MEDIAN];
            for (int j = 0; j < count; j++) sorted[j] = last[i - j][v];
            qsort(sorted, (size_t)count, sizeof *sorted, by_magnitude);
            if (is_cpu()) assert_true(got[v] == sorted[(count - 1) / 2]);
            most = fmax(most, cabs(sorted[(count - 1) / 2]));
            off = fmax(off, fabs(cabs(got[v]) - cabs(sorted[(count - 1) / 2])));
        }
    }
    assert_at_most(off, 1e-2 * most);
    for (int i = 0; i < FRAMES; i++) free(last[i]);
}

/* ---- what is refused ---- */

TEST(a_frame_that_fails_leaves_the_series_as_it_was)
{
    const scene s = {13, 8, 30, BREATHING, 0};
    OWNED(frame) *f = frames_of(&s);
    OWNED(larmor_nlinv_series) *straight = begun(NULL, &s, f), *stumbling;
    OWNED(larmor_array) *nothing = zeros(LARMOR_C64, larmor_array_shape(f->kspace)), *x = NULL, *y = NULL,
                        *fewer = NULL;
    assert_ok(larmor_nlinv_series_create(LARMOR_SHAPE(N, N), NULL, &stumbling));
    assert_refused(larmor_nlinv_series_add(stumbling, nothing, f->traj, &y, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "nlinv: the samples' energy is 0");
    add_beginning(stumbling, f, s.coils);
    assert_refused(larmor_nlinv_series_add(stumbling, nothing, f->traj, &y, NULL, NULL), LARMOR_ERR_NUMERIC,
                   "nlinv: the samples' energy is 0");
    assert_null(y);
    assert_ok(larmor_array_slice(f->kspace, 0, s.coils - 1, &fewer));
    assert_refused(larmor_nlinv_series_add(stumbling, fewer, f->traj, &y, NULL, NULL), LARMOR_ERR_SHAPE,
                   "expected 8 coils, type and device of the first frame");
    assert_ok(larmor_nlinv_series_add(stumbling, f->kspace, f->traj, &y, NULL, NULL));
    assert_ok(larmor_nlinv_series_add(straight, f->kspace, f->traj, &x, NULL, NULL));
    HEAP cplx *got = values_of(y), *expected = values_of(x);
    if (is_cpu()) assert_memory_equal(got, expected, VOXELS * sizeof *got);
    for (int v = 0; v < VOXELS; v++) assert_true(cabs(got[v] - expected[v]) < 1e-2 * cabs(expected[v]) + 1e-3);
}

TEST(options_that_make_no_sense_are_refused)
{
    larmor_nlinv_series *series;
    const larmor_shape image = LARMOR_SHAPE(N, N);
    assert_refused(larmor_nlinv_series_create(image, &(larmor_nlinv_series_opts){.damping = 1.5}, &series),
                   LARMOR_ERR_ARG, "nlinv: damping is 1.5, expected at most 1");
    assert_refused(larmor_nlinv_series_create(image, &(larmor_nlinv_series_opts){.median = 65}, &series),
                   LARMOR_ERR_ARG, "nlinv: median is 65, expected 1 to 64");
    assert_refused(larmor_nlinv_series_create(image, &(larmor_nlinv_series_opts){.all = {.side = 8}}, &series),
                   LARMOR_ERR_ARG, "nlinv: side and weights are not for frames");
    assert_refused(larmor_nlinv_series_create(image, &(larmor_nlinv_series_opts){.steps = -1}, &series),
                   LARMOR_ERR_ARG, "nlinv: steps is -1, expected 1 to 1000");
    assert_refused(larmor_nlinv_series_create(LARMOR_SHAPE(N), NULL, &series), LARMOR_ERR_SHAPE,
                   "nlinv: image has 1 dimensions, expected 2 or 3");
}
