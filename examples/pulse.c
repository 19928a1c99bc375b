/* A series in the span of two courses in time, and a proximal map of one's own: what rests, and what pulsates.
 * Usage: pulse. SPDX-License-Identifier: Apache-2.0
 *
 * Every frame has 5 spokes of its own, far too few for an image. All frames together are
 *   y_t = F_t sum_k basis(t, k) x_k,   basis(t, 0) = 1,   basis(t, 1) = cos(2 pi t / 8),
 * and the two images x_k are found at once (subspace reconstruction: Petzschner et al., Magn. Reson. Med. 66, 706
 * (2011); Tamir et al., Magn. Reson. Med. 77, 180 (2017)). Both are real and not negative: a set whose proximal
 * map is the projection, for primal-dual splitting. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 64, FRAMES = 16, SPOKES = 5, KINDS = 2, ITERATIONS = 120 };

static const char *const name[KINDS] = {"shepp-logan", "disc"};

static double course(int frame, int kind)
{
    return kind ? cos(2 * 3.14159265358979323846 * frame / 8) : 1;
}

/* ---- the set of real numbers that are not negative ---- */

/* (Re x + |Re x|) / 2, the same for every step t; self: an array like x. */
static larmor_status project(void *self, double t, const larmor_array *x, larmor_array *z)
{
    (void)t;
    larmor_status st = larmor_real(x, z);
    if (!st) st = larmor_abs(z, self);
    return st ? st : larmor_axpby(0.5, self, 0.5, z);
}

static larmor_status nothing(void *self, const larmor_array *x, double *g)
{
    (void)self;
    (void)x;
    *g = 0; /* inside the set; the solver's iterates end there */
    return LARMOR_OK;
}

/* ---- the scan: exact k-space of both objects, with their courses and some noise ---- */

typedef struct scan {
    larmor_phantom *object[KINDS];
    larmor_array *kspace; /* [samples, spokes, frames] */
    larmor_op *A;         /* of both images */
} scan;

static larmor_status measure(larmor_device *dev, scan *s, int frame, larmor_op **F)
{
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES, .first = (int64_t)frame * SPOKES};
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {N, N}, .dtype = LARMOR_C64};
    larmor_array *traj = NULL, *slice = NULL, *part = NULL;
    larmor_status st = larmor_traj_create(dev, "golden", &opts, &traj);
    const larmor_shape k = st ? LARMOR_SHAPE(1) : larmor_array_shape(traj);
    if (!st && !s->kspace)
        st = larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(k.dim[1], k.dim[2], FRAMES), &s->kspace);
    if (!st) st = larmor_array_slice(s->kspace, frame, 1, &slice);
    if (!st) st = larmor_array_reshape(slice, LARMOR_SHAPE(k.dim[1], k.dim[2]), &part);
    for (int i = 0; i < KINDS && !st; i++) {
        larmor_array *exact;
        st = larmor_phantom_kspace(s->object[i], traj, 0, LARMOR_C64, &exact);
        /* the integral over the field of view as a sum over voxels */
        if (!st) st = larmor_axpby((double)N * N * course(frame, i), exact, i, part);
        larmor_array_free(exact);
    }
    if (!st) st = larmor_phantom_noise(part, 3, 1 + (uint64_t)frame);
    if (!st) st = larmor_op_nufft(dev, &nufft, traj, F);
    larmor_array_free(part);
    larmor_array_free(slice);
    larmor_array_free(traj);
    return st;
}

static larmor_status simulate(larmor_device *dev, scan *s)
{
    static float basis[KINDS][FRAMES][2];
    larmor_op *F[FRAMES] = {NULL}, *all = NULL, *B = NULL;
    larmor_array *courses = NULL;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < KINDS && !st; i++) st = larmor_phantom_create(name[i], 2, &s->object[i]);
    for (int j = 0; j < FRAMES && !st; j++) st = measure(dev, s, j, &F[j]);
    for (int i = 0; i < KINDS * FRAMES; i++) basis[i / FRAMES][i % FRAMES][0] = (float)course(i % FRAMES, i / FRAMES);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(FRAMES, KINDS), &courses);
    if (!st) st = larmor_array_write(courses, basis, sizeof basis);
    if (!st) st = larmor_op_subspace(dev, LARMOR_C64, LARMOR_SHAPE(N, N), courses, &B);
    if (!st) st = larmor_op_frames(F, FRAMES, &all);
    if (!st) st = larmor_op_chain(all, B, &s->A);
    for (int j = 0; j < FRAMES; j++) larmor_op_free(F[j]);
    larmor_op_free(all);
    larmor_op_free(B);
    larmor_array_free(courses);
    return st;
}

static larmor_status compare(const char *solver, const scan *s, larmor_array *x, int i)
{
    larmor_array *truth = NULL, *slice = NULL, *image = NULL;
    double whole = 0, difference = 0;
    larmor_status st =
        larmor_phantom_bandlimited(s->object[i], larmor_array_device(x), LARMOR_C64, LARMOR_SHAPE(N, N), &truth);
    if (!st) st = larmor_array_slice(x, i, 1, &slice);
    if (!st) st = larmor_array_reshape(slice, LARMOR_SHAPE(N, N), &image);
    if (!st) st = larmor_nrm2(truth, &whole);
    if (!st) st = larmor_axpby(1, image, -1, truth);
    if (!st) st = larmor_nrm2(truth, &difference);
    if (!st) printf("%s, %s NRMSE %.4f\n", solver, name[i], difference / whole);
    larmor_array_free(image);
    larmor_array_free(slice);
    larmor_array_free(truth);
    return st;
}

int main(void)
{
    static const larmor_prox_impl impl = {"not negative", project, nothing, NULL};
    const larmor_solve_opts opts = {.max_iter = ITERATIONS, .tol = -1};
    const larmor_shape both = LARMOR_SHAPE(N, N, KINDS);
    larmor_device *dev = NULL;
    larmor_array *x = NULL, *magnitude = NULL;
    larmor_prox *g = NULL;
    scan s = {0};
    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = simulate(dev, &s);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, both, &x);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, both, &magnitude);
    if (!st) st = larmor_prox_create(dev, &impl, magnitude, LARMOR_C64, both, &g);
    if (!st) st = larmor_cg(s.A, s.kspace, x, &opts, NULL);
    for (int i = 0; i < KINDS && !st; i++) st = compare("conjugate gradients", &s, x, i);
    if (!st) st = larmor_zero(x);
    if (!st) st = larmor_pdhg(s.A, s.kspace, NULL, g, x, &opts, NULL);
    for (int i = 0; i < KINDS && !st; i++) st = compare("not negative", &s, x, i);
    if (st) fprintf(stderr, "pulse: %s\n", larmor_last_error());
    larmor_prox_free(g);
    larmor_array_free(magnitude);
    larmor_array_free(x);
    larmor_array_free(s.kspace);
    larmor_op_free(s.A);
    for (int i = 0; i < KINDS; i++) larmor_phantom_free(s.object[i]);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
