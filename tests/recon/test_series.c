/* The solver of a series of frames that have few samples, each others: normal maps, counted, and the solution.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 16, FRAMES = 12, SPOKES = 3, SAMPLES = 32, COILS = 3, POINTS = SPOKES * SAMPLES };

#define GOLDEN_ANGLE 1.9416110387 /* radians, of spokes */

typedef struct series {
    larmor_array *traj[FRAMES], *all, *share, *maps, *b;
    larmor_op *frames, *A; /* A counts the normal maps of frames */
    larmor_regulariser *r;
    double weight;
    int normals;
} series;

static larmor_status counted_forward(void *self, const larmor_array *x, larmor_array *y)
{
    return larmor_op_forward(((series *)self)->frames, x, y);
}

static larmor_status counted_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    return larmor_op_adjoint(((series *)self)->frames, y, x);
}

static larmor_status counted_normal(void *self, const larmor_array *x, larmor_array *z)
{
    series *s = self;
    s->normals++;
    return larmor_op_normal(s->frames, x, z);
}

static void make_points(series *s)
{
    double k[FRAMES][POINTS][2], share[FRAMES * POINTS];
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < POINTS; j++) {
            const double angle = GOLDEN_ANGLE * (f * SPOKES + j / SAMPLES);
            const double radius = (j % SAMPLES - SAMPLES / 2) * (double)N / SAMPLES;
            k[f][j][0] = radius * cos(angle);
            k[f][j][1] = radius * sin(angle);
            share[f * POINTS + j] = 1. / FRAMES;
        }
    for (int f = 0; f < FRAMES; f++) s->traj[f] = real_array(LARMOR_SHAPE(2, SAMPLES, SPOKES), k[f][0]);
    s->all = real_array(LARMOR_SHAPE(2, SAMPLES, SPOKES * FRAMES), k[0][0]);
    s->share = real_array(LARMOR_SHAPE(SAMPLES, SPOKES * FRAMES), share);
}

/* A block that moves to and fro, beside one that does not. */
static larmor_array *moving_image(void)
{
    HEAP cplx *x = calloc(N * N * FRAMES, sizeof *x);
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < N * N; i++) {
            const double u = i % N, v = (double)(i / N) - 2 * sin(2 * M_PI * f / FRAMES);
            x[f * N * N + i] =
                (u > 2 && u < 8 && v > 4 && v < 11) + .5 * (u > 9 && u < 13 && i / N > 3 && i / N < 12);
        }
    return complex_array(LARMOR_C64, LARMOR_SHAPE(N, N, FRAMES), x);
}

static void begin(series *s, double noise, uint64_t seed)
{
    static const larmor_op_impl impl = {"counted", counted_forward, counted_adjoint, counted_normal, NULL};
    larmor_op *one[FRAMES];
    const larmor_regulariser_opts opts = {.series = 1};
    double unit;
    *s = (series){.normals = 0};
    make_points(s);
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, COILS, &s->maps));
    for (int f = 0; f < FRAMES; f++)
        assert_ok(larmor_op_sense(s->maps, &(larmor_sense_opts){.traj = s->traj[f]}, &one[f]));
    assert_ok(larmor_op_frames(one, FRAMES, &s->frames));
    for (int f = 0; f < FRAMES; f++) larmor_op_free(one[f]);
    const larmor_shape shape = larmor_op_in_shape(s->frames), data = larmor_op_out_shape(s->frames);
    assert_ok(larmor_op_create(dev, &impl, s, LARMOR_C64, shape, data, &s->A));
    OWNED(larmor_array) *x = moving_image(), *e = zeros(LARMOR_C64, data);
    s->b = zeros(LARMOR_C64, data);
    assert_ok(larmor_op_forward(s->frames, x, s->b));
    assert_ok(larmor_noise_fill(e, noise, seed));
    assert_ok(larmor_axpby(1, e, 1, s->b));
    assert_ok(larmor_regulariser_create(dev, "tv", &opts, LARMOR_C64, shape, &s->r));
    assert_ok(larmor_lambda_unit(s->A, s->b, &unit));
    s->weight = 2e-3 * unit;
    assert_ok(larmor_regulariser_set_weight(s->r, s->weight));
}

static void end(series *s)
{
    for (int f = 0; f < FRAMES; f++) larmor_array_free(s->traj[f]);
    LMR_FREE(s->all, s->share, s->maps, s->b, s->A, s->frames);
    larmor_regulariser_free(s->r);
}

/* The image by C, which is freed, and the normal maps that it took. */
static larmor_array *solve(series *s, larmor_circulant *C, int iters, larmor_report *report, int *normals)
{
    larmor_array *x = zeros(LARMOR_C64, larmor_op_in_shape(s->A));
    const larmor_solve_opts opts = {.circulant = C, .max_iter = iters, .tol = iters ? 1e-6 : 0};
    s->normals = 0;
    assert_ok(larmor_regularised(s->A, s->b, s->r, x, &opts, report));
    *normals = s->normals;
    larmor_circulant_free(C);
    return x;
}

static larmor_circulant *circulant_of_all(const series *s)
{
    return MADE(larmor_circulant,
                larmor_circulant_create(s->maps, s->all, s->share, LARMOR_SHAPE(N, N), LARMOR_C64, &made));
}

static larmor_circulant *of_each(series *s)
{
    return MADE(larmor_circulant, larmor_circulant_create_frames(s->maps, s->traj, NULL, FRAMES, LARMOR_SHAPE(N, N),
                                                                 LARMOR_C64, &made));
}

TEST(a_circulant_of_each_frame_takes_fewer_normal_maps_to_the_same_solution)
{
    for (int i = 0; i < 3; i++) {
        series s;
        larmor_report mean, each, exact;
        int of_mean, own, many;
        begin(&s, i == 0 ? .3 : 1, (uint64_t)i + 1);
        OWNED(larmor_array) *solution = solve(&s, of_each(&s), 300, &exact, &many);
        OWNED(larmor_array) *x = solve(&s, circulant_of_all(&s), 0, &mean, &of_mean);
        OWNED(larmor_array) *y = solve(&s, of_each(&s), 0, &each, &own);
        assert_true(own <= .9 * of_mean);
        assert_at_most(apart(x, solution), .01);
        assert_at_most(apart(y, solution), .01);
        assert_at_most(fabs(each.objective / mean.objective - 1), 2e-3);
        assert_at_most(fabs(each.objective / exact.objective - 1), 3e-3);
        end(&s);
    }
}
