/* A solver of one's own: radial SENSE by gradient descent with Nesterov's momentum, without a penalty and with one.
 * Usage: momentum [IMAGE.png]. SPDX-License-Identifier: Apache-2.0
 *
 * minimises 1/2 |A x - y|^2 + weight |W x|_1, where A takes an image to the samples of 8 coils along 64 spokes and
 * W is an orthonormal wavelet transform, by
 *   x_{k+1} = W^H shrink(W (z_k - A^H (A z_k - y) / L), weight / L),   z_{k+1} = x_{k+1} + k / (k + 3) (x_{k+1} -
 *   x_k)
 * with L the largest eigenvalue of A^H A (Nesterov, Soviet Math. Dokl. 27, 372 (1983); Beck and Teboulle, SIAM J.
 * Imaging Sci. 2, 183 (2009)). Without a weight it prints the residual of the normal equations, |A^H (A z - y)| /
 * |A^H y|. */
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 128, COILS = 8, SPOKES = 64, ITERATIONS = 80 };

typedef struct scan {
    larmor_array *kspace, *truth;
    larmor_op *A;
} scan;

/* The Shepp-Logan phantom with a little noise. Its k-space is exact: nothing here was computed by A. */
static larmor_status simulate(larmor_device *dev, scan *s)
{
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES};
    larmor_phantom *phantom = NULL;
    larmor_array *traj = NULL, *maps = NULL;
    larmor_status st = larmor_phantom_create("shepp-logan", 2, &phantom);
    if (!st) st = larmor_traj_create(dev, "golden", &opts, &traj);
    if (!st) st = larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &s->kspace);
    if (!st) st = larmor_phantom_noise(s->kspace, 2e-5, 1);
    if (!st) st = larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, COILS, &maps);
    if (!st) st = larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, shape, &s->truth);
    if (!st) st = larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj}, &s->A);
    larmor_array_free(maps); /* A keeps what it needs */
    larmor_array_free(traj);
    larmor_phantom_free(phantom);
    return st;
}

/* What the iterations work with. */
enum { RHS, PREVIOUS, Z, GRADIENT, COEFFICIENTS, ARRAYS };
typedef struct loop {
    larmor_op *A, *W; /* W: NULL without a weight */
    larmor_prox *l1;
    larmor_array *x, *work[ARRAYS];
    double step, threshold;
    larmor_graph *recorded; /* on a device that can record */
} loop;

/* From z to the new x; it is the same in every iteration. */
static larmor_status descend(loop *l)
{
    larmor_array *gradient = l->work[GRADIENT], *coefficients = l->work[COEFFICIENTS];
    larmor_status st = larmor_op_normal(l->A, l->work[Z], gradient);
    if (!st) st = larmor_axpby(-1, l->work[RHS], 1, gradient);
    if (!st) st = larmor_copy(l->x, l->work[PREVIOUS]);
    if (!st) st = larmor_copy(l->work[Z], l->x);
    if (!st) st = larmor_axpby(-l->step, gradient, 1, l->x);
    if (st || !l->W) return st;
    st = larmor_op_forward(l->W, l->x, coefficients);
    if (!st) st = larmor_prox_apply(l->l1, l->threshold, coefficients, coefficients);
    return st ? st : larmor_op_adjoint(l->W, coefficients, l->x);
}

/* A GPU computes so small an image in less time than its dozens of calls take to be queued. There the step is
 * recorded after it ran once, and from then on launched by a single call. */
static larmor_status record(loop *l)
{
    larmor_device *dev = larmor_op_device(l->A);
    larmor_status st = larmor_graph_begin(dev), ended;
    if (st == LARMOR_ERR_UNSUPPORTED) return LARMOR_OK; /* a processor runs every call at once */
    if (st) return st;
    st = descend(l);
    ended = larmor_graph_end(dev, &l->recorded);
    return st ? st : ended;
}

/* z <- x + momentum (x - previous) */
static larmor_status extrapolate(loop *l, double momentum)
{
    larmor_status st = larmor_copy(l->x, l->work[Z]);
    if (!st) st = larmor_axpby(1 + momentum, l->x, 0, l->work[Z]);
    return st ? st : larmor_axpby(-momentum, l->work[PREVIOUS], 1, l->work[Z]);
}

static larmor_status iterate(loop *l)
{
    double start = 0, residual = 0;
    larmor_status st = larmor_nrm2(l->work[RHS], &start);
    for (int k = 0; k < ITERATIONS && !st; k++) {
        if (k == 1) st = record(l);
        if (!st) st = l->recorded ? larmor_graph_launch(l->recorded) : descend(l);
        if (!st) st = extrapolate(l, (double)k / (k + 3));
        if (st || l->W || (k + 1) % 10) continue;
        st = larmor_nrm2(l->work[GRADIENT], &residual);
        printf("iteration %2d  residual %.2e\n", k + 1, residual / start);
    }
    return st;
}

/* relative: the weight over the typical number of A^H y; 0 for none. */
static larmor_status solve(const scan *s, double relative, larmor_array *x)
{
    loop l = {.A = s->A, .x = x};
    const larmor_shape shape = larmor_op_in_shape(s->A);
    double largest = 0, unit = 0;
    larmor_status st = larmor_zero(x);
    for (int i = 0; i < ARRAYS && !st; i++)
        st = larmor_array_create(larmor_op_device(s->A), LARMOR_C64, shape, &l.work[i]);
    if (!st) st = larmor_opnorm(s->A, 20, &largest);
    if (!st) st = larmor_op_adjoint(s->A, s->kspace, l.work[RHS]);
    /* k-space of a phantom is an integral, A is a sum over N^2 voxels */
    if (!st) st = larmor_axpby((double)N * N, l.work[RHS], 0, l.work[RHS]);
    if (!st && relative > 0) st = larmor_op_wavelet(larmor_op_device(s->A), LARMOR_C64, shape, NULL, &l.W);
    if (!st && relative > 0) st = larmor_prox_l1(larmor_op_device(s->A), 1, LARMOR_C64, shape, &l.l1);
    if (!st && relative > 0) st = larmor_nrm2(l.work[RHS], &unit);
    l.step = 1 / (1.05 * largest);
    l.threshold = relative * unit / N * l.step;
    if (!st) st = iterate(&l);
    larmor_graph_free(l.recorded);
    larmor_prox_free(l.l1);
    larmor_op_free(l.W);
    for (int i = 0; i < ARRAYS; i++) larmor_array_free(l.work[i]);
    return st;
}

/* |x - truth| / |truth| */
static larmor_status compare(const char *name, const larmor_array *x, const larmor_array *truth)
{
    double whole = 0, off = 0;
    larmor_array *difference = NULL;
    larmor_status st = larmor_array_create(larmor_array_device(x), LARMOR_C64, larmor_array_shape(x), &difference);
    if (!st) st = larmor_copy(x, difference);
    if (!st) st = larmor_axpby(-1, truth, 1, difference);
    if (!st) st = larmor_nrm2(difference, &off);
    if (!st) st = larmor_nrm2(truth, &whole);
    if (!st) printf("%s %.4f\n", name, off / whole);
    larmor_array_free(difference);
    return st;
}

static larmor_status write_png(const char *path, const larmor_array *x)
{
    larmor_output *out;
    larmor_status st = larmor_output_open(path, 1, &out);
    if (!st) st = larmor_image_write(out, &(larmor_image){.data = x}, 1, NULL);
    larmor_output_free(out);
    return st;
}

int main(int argc, char **argv)
{
    larmor_device *dev = NULL;
    larmor_array *x = NULL;
    scan s = {0};
    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = simulate(dev, &s);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, larmor_op_in_shape(s.A), &x);
    if (!st) st = solve(&s, 0, x);
    if (!st) st = compare("NRMSE", x, s.truth);
    if (!st) st = solve(&s, 1e-3, x);
    if (!st) st = compare("sparse NRMSE", x, s.truth);
    if (!st && argc > 1) st = write_png(argv[1], x);
    if (st) fprintf(stderr, "momentum: %s\n", larmor_last_error());
    larmor_array_free(x);
    larmor_op_free(s.A);
    larmor_array_free(s.kspace);
    larmor_array_free(s.truth);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
