/* A solver of one's own: radial SENSE by gradient descent with Nesterov's momentum.
 * Usage: momentum [IMAGE.png]. SPDX-License-Identifier: Apache-2.0
 *
 * minimises |A x - y|^2, where A takes an image to the samples of 8 coils along 64 spokes, by
 *   x_{k+1} = z_k - A^H (A z_k - y) / L,   z_{k+1} = x_{k+1} + k / (k + 3) (x_{k+1} - x_k)
 * with L the largest eigenvalue of A^H A (Nesterov, Soviet Math. Dokl. 27, 372 (1983)), and prints the residual of
 * the normal equations, |A^H (A z - y)| / |A^H y|. */
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
    if (!st) st = larmor_phantom_coils(dev, LARMOR_C64, shape, COILS, &maps);
    if (!st) st = larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, shape, &s->truth);
    if (!st) st = larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj}, &s->A);
    larmor_array_free(maps); /* A keeps what it needs */
    larmor_array_free(traj);
    larmor_phantom_free(phantom);
    return st;
}

/* One step from z; gradient and z are overwritten, x takes the new iterate, previous the old one. */
static larmor_status step(larmor_op *A, const larmor_array *rhs, double largest, int k, larmor_array *x,
                          larmor_array *previous, larmor_array *z, larmor_array *gradient)
{
    const double momentum = (double)k / (k + 3);
    larmor_status st = larmor_op_normal(A, z, gradient);
    if (!st) st = larmor_axpby(-1, rhs, 1, gradient);
    if (!st) st = larmor_copy(x, previous);
    if (!st) st = larmor_copy(z, x);
    if (!st) st = larmor_axpby(-1 / largest, gradient, 1, x);
    if (!st) st = larmor_copy(x, z);
    if (!st) st = larmor_axpby(1 + momentum, x, 0, z);
    if (!st) st = larmor_axpby(-momentum, previous, 1, z);
    return st;
}

static larmor_status descend(const scan *s, larmor_array *x)
{
    larmor_array *work[4] = {NULL}; /* right-hand side, previous iterate, extrapolated point, gradient */
    double largest = 0, start = 0, residual = 0;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < 4 && !st; i++)
        st = larmor_array_create(larmor_op_device(s->A), larmor_op_dtype(s->A), larmor_op_in_shape(s->A), &work[i]);
    if (!st) st = larmor_opnorm(s->A, 20, &largest);
    if (!st) st = larmor_op_adjoint(s->A, s->kspace, work[3]);
    /* k-space of a phantom is an integral, A is a sum over N^2 voxels */
    if (!st) st = larmor_axpby((double)N * N, work[3], 0, work[0]);
    if (!st) st = larmor_nrm2(work[0], &start);
    for (int k = 0; k < ITERATIONS && !st; k++) {
        st = step(s->A, work[0], 1.05 * largest, k, x, work[1], work[2], work[3]);
        if (!st && (k + 1) % 10 == 0) {
            st = larmor_nrm2(work[3], &residual);
            printf("iteration %2d  residual %.2e\n", k + 1, residual / start);
        }
    }
    for (int i = 0; i < 4; i++) larmor_array_free(work[i]);
    return st;
}

/* |x - truth| / |truth|; truth is overwritten by the difference. */
static larmor_status compare(const larmor_array *x, larmor_array *truth)
{
    double whole, difference;
    larmor_status st = larmor_nrm2(truth, &whole);
    if (!st) st = larmor_axpby(1, x, -1, truth);
    if (!st) st = larmor_nrm2(truth, &difference);
    if (!st) printf("NRMSE %.4f\n", difference / whole);
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
    if (!st) st = descend(&s, x);
    if (!st) st = compare(x, s.truth);
    if (!st && argc > 1) st = write_png(argv[1], x);
    if (st) fprintf(stderr, "momentum: %s\n", larmor_last_error());
    larmor_array_free(x);
    larmor_op_free(s.A);
    larmor_array_free(s.kspace);
    larmor_array_free(s.truth);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
