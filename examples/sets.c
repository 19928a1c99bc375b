/* What is known of an object beside its samples, as sets and distances, by one solver. Usage: sets.
 * SPDX-License-Identifier: Apache-2.0
 *
 * 24 spokes are too few for 64 x 64 voxels. What else may be known: that voxels are real and not negative, what their
 * sum or their largest magnitude is, that there is nothing outside of an ellipse, or that the object is near to one
 * that was seen before. Each is a function g with
 * a simple proximal map, for min 1/2 |A x - b|^2 + g(x) by larmor_fista. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 64, SPOKES = 24, ITERATIONS = 150 };

typedef struct scene {
    larmor_device *dev;
    larmor_op *A;
    larmor_array *truth, *kspace, *before; /* before: the object a little darker */
} scene;

static larmor_status make_scene(scene *s)
{
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES};
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {N, N}, .dtype = LARMOR_C64};
    larmor_phantom *object = NULL;
    larmor_array *traj = NULL;
    larmor_status st = larmor_device_open("auto", &s->dev);
    if (!st) st = larmor_phantom_create("shepp-logan", 2, &object);
    if (!st) st = larmor_phantom_bandlimited(object, s->dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s->truth);
    if (!st) st = larmor_traj_create(s->dev, "golden", &opts, &traj);
    if (!st) st = larmor_phantom_kspace(object, traj, 0, LARMOR_C64, &s->kspace);
    if (!st) st = larmor_axpby(0, s->kspace, (double)N * N, s->kspace); /* a sum over voxels */
    if (!st) st = larmor_phantom_noise(s->kspace, 1, 1);
    if (!st) st = larmor_op_nufft(s->dev, &nufft, traj, &s->A);
    if (!st) st = larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s->before);
    if (!st) st = larmor_axpby(0.9, s->truth, 0, s->before);
    larmor_array_free(traj);
    larmor_phantom_free(object);
    return st;
}

static larmor_status solve(const scene *s, const char *name, larmor_prox *g)
{
    const larmor_solve_opts opts = {.max_iter = ITERATIONS, .tol = -1};
    larmor_array *x = NULL;
    double whole = 0, difference = 0;
    larmor_status st = larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(N, N), &x);
    if (!st) st = larmor_fista(s->A, s->kspace, g, x, &opts, NULL);
    if (!st) st = larmor_nrm2(s->truth, &whole);
    if (!st) st = larmor_axpby(-1, s->truth, 1, x);
    if (!st) st = larmor_nrm2(x, &difference);
    if (!st) printf("%s NRMSE %.4f\n", name, difference / whole);
    larmor_array_free(x);
    return st;
}

/* An ellipse of half axes .36 and .47 of the field of view around the object. */
static larmor_status inside(const scene *s, larmor_prox **g)
{
    static float mask[N][N];
    larmor_array *m = NULL;
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) mask[y][x] = hypot((x - N / 2) / (0.36 * N), (y - N / 2) / (0.47 * N)) < 1;
    larmor_status st = larmor_array_upload(s->dev, LARMOR_F32, LARMOR_SHAPE(N, N), LARMOR_F32, mask, &m);
    if (!st) st = larmor_prox_support(m, LARMOR_C64, LARMOR_SHAPE(N, N), g);
    larmor_array_free(m);
    return st;
}

static larmor_status near(const scene *s, larmor_prox *distance, larmor_prox **g)
{
    return larmor_prox_translate(distance, s->before, g);
}

/* Not negative, with the sum of the truth. */
static larmor_status total(const scene *s, larmor_prox **g)
{
    double sum[2];
    larmor_array *ones = NULL;
    larmor_status st = larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(N, N), &ones);
    if (!st) st = larmor_fill(ones, 1);
    if (!st) st = larmor_dot(ones, s->truth, sum);
    if (!st) st = larmor_prox_simplex(s->dev, sum[0], LARMOR_C64, LARMOR_SHAPE(N, N), g);
    larmor_array_free(ones);
    return st;
}

int main(void)
{
    enum { LEAST, POSITIVE, TOTAL, SUM, BOUNDED, WITHIN, SQUARE, NEAR, DISTANCE, BESIDE, MAPS };
    static const char *const name[MAPS] = {"real",   "not negative", "with their sum", NULL, "up to 1",
                                           "within", NULL,           "near, squared",  NULL, "near"};
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    larmor_prox *g[MAPS] = {NULL};
    scene s = {0};
    larmor_status st = make_scene(&s);
    if (!st) st = larmor_prox_box(s.dev, -INFINITY, INFINITY, LARMOR_C64, shape, &g[LEAST]);
    if (!st) st = larmor_prox_box(s.dev, 0, INFINITY, LARMOR_C64, shape, &g[POSITIVE]);
    if (!st) st = total(&s, &g[TOTAL]);
    if (!st) st = larmor_prox_l1(s.dev, 1, LARMOR_C64, shape, &g[SUM]);
    if (!st) st = larmor_prox_conjugate(g[SUM], &g[BOUNDED]);
    if (!st) st = inside(&s, &g[WITHIN]);
    if (!st) st = larmor_prox_square(s.dev, 300, LARMOR_C64, shape, &g[SQUARE]);
    if (!st) st = near(&s, g[SQUARE], &g[NEAR]);
    if (!st) st = larmor_prox_l2(s.dev, 300, LARMOR_C64, shape, &g[DISTANCE]);
    if (!st) st = near(&s, g[DISTANCE], &g[BESIDE]);
    for (int i = 0; i < MAPS && !st; i++)
        if (name[i]) st = solve(&s, name[i], g[i]);
    if (st) fprintf(stderr, "sets: %s\n", larmor_last_error());
    for (int i = 0; i < MAPS; i++) larmor_prox_free(g[i]);
    larmor_array_free(s.before);
    larmor_array_free(s.kspace);
    larmor_array_free(s.truth);
    larmor_op_free(s.A);
    larmor_device_free(s.dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
