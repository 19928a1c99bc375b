/* An operator of one's own: water and fat from the spokes of three echoes. SPDX-License-Identifier: Apache-2.0
 *
 * The image of the echo at time t is  (w + f exp(2 pi i d t)) exp(2 pi i psi t),  with water w, fat f, which is off
 * by d = -434 Hz at 3 T, and the field psi in Hz (Dixon, Radiology 153, 189 (1984)). That is the operator E of this
 * file. larmor's NUFFT F takes the echoes to k-space, and larmor_cg solves  min |F E [w, f] - y|^2. */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 96, ECHOES = 3, SPOKES = 160, SAMPLES = 2 * N };
static const double two_pi = 6.283185307179586, fat_hz = -434;
static const double field_hz = 60; /* the field rises by so much from edge to edge along x */

/* Fat is opposed to water, then in phase, then opposed again. */
static double echo_s(int j)
{
    return (j + 1) / (2 * -fat_hz);
}

/* Plane i of [a, b, planes] as [a, b]; x is changed only if the caller writes to the plane. */
static larmor_status view(const larmor_array *x, int i, larmor_array **plane)
{
    return larmor_array_part(x, i, 1, larmor_shape_of(2, larmor_array_shape(x).dim), plane);
}

/* ---- the operator: E [w, f] = E_0 w + E_1 f ---- */

typedef struct separation {
    larmor_op *species[2]; /* water's and fat's image times the factors of all echoes, as if those were coils */
    larmor_array *echoes;
} separation;

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    separation *s = self;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < 2 && !st; i++) {
        larmor_array *plane;
        st = view(x, i, &plane);
        if (!st) st = larmor_op_forward(s->species[i], plane, s->echoes);
        if (!st) st = larmor_axpby(1, s->echoes, i, y); /* i = 0 overwrites y */
        larmor_array_free(plane);
    }
    return st;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    separation *s = self;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < 2 && !st; i++) {
        larmor_array *plane;
        st = view(x, i, &plane);
        if (!st) st = larmor_op_adjoint(s->species[i], y, plane);
        larmor_array_free(plane);
    }
    return st;
}

static void destroy(void *self)
{
    separation *s = self;
    for (int i = 0; i < 2; i++) larmor_op_free(s->species[i]);
    larmor_array_free(s->echoes);
    free(s);
}

static larmor_status create_species(larmor_device *dev, double hz, larmor_op **E)
{
    static float complex factor[ECHOES][N][N];
    for (int j = 0; j < ECHOES; j++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                factor[j][y][x] = (float complex)cexp(I * two_pi * (hz + field_hz * (x - N / 2) / N) * echo_s(j));
    larmor_array *factors;
    larmor_status st = larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N, ECHOES), LARMOR_C64, factor, &factors);
    if (!st) st = larmor_op_coils(factors, E);
    larmor_array_free(factors);
    return st;
}

static larmor_status create_separation(larmor_device *dev, larmor_op **E)
{
    static const larmor_op_impl impl = {"water and fat", forward, adjoint, NULL, destroy};
    const larmor_shape in = LARMOR_SHAPE(N, N, 2), out = LARMOR_SHAPE(N, N, ECHOES);
    separation *s = calloc(1, sizeof *s);
    larmor_status st = s ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of memory");
    if (!st) st = create_species(dev, 0, &s->species[0]);
    if (!st) st = create_species(dev, fat_hz, &s->species[1]);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, out, &s->echoes);
    if (!st) st = larmor_op_create(dev, &impl, s, LARMOR_C64, in, out, E);
    if (st && s) destroy(s);
    return st;
}

/* ---- the scan: exact k-space, which a field that is linear in space does no more than shift ---- */

static larmor_status measure(larmor_phantom *const object[2], larmor_array *traj, int j, larmor_array *kspace)
{
    static double k[SPOKES][SAMPLES][2];
    larmor_array *shifted = NULL, *y[2] = {NULL}, *echo = NULL;
    larmor_status st = larmor_array_read(traj, k, sizeof k);
    for (int i = 0; i < SPOKES * SAMPLES && !st; i++) k[i / SAMPLES][i % SAMPLES][0] -= field_hz * echo_s(j);
    const larmor_shape shape = larmor_array_shape(traj);
    if (!st) st = larmor_array_upload(larmor_array_device(traj), LARMOR_F64, shape, LARMOR_F64, k, &shifted);
    for (int i = 0; i < 2 && !st; i++) st = larmor_phantom_kspace(object[i], shifted, 0, LARMOR_C64, &y[i]);
    if (!st) st = view(kspace, j, &echo);
    /* the integral over the field of view as a sum over voxels */
    if (!st) st = larmor_axpby((double)N * N, y[0], 0, echo);
    if (!st) st = larmor_axpby(j % 2 ? (double)N * N : -(double)N * N, y[1], 1, echo);
    larmor_array_free(echo);
    larmor_array_free(shifted);
    larmor_array_free(y[0]);
    larmor_array_free(y[1]);
    return st;
}

static larmor_status compare(const char *name, const larmor_phantom *object, larmor_array *x, int i)
{
    larmor_array *truth = NULL, *image = NULL;
    double whole = 0, difference = 0;
    larmor_status st =
        larmor_phantom_bandlimited(object, larmor_array_device(x), LARMOR_C64, LARMOR_SHAPE(N, N), &truth);
    if (!st) st = view(x, i, &image);
    if (!st) st = larmor_nrm2(truth, &whole);
    if (!st) st = larmor_axpby(1, image, -1, truth);
    if (!st) st = larmor_nrm2(truth, &difference);
    if (!st) printf("%s NRMSE %.4f\n", name, difference / whole);
    larmor_array_free(image);
    larmor_array_free(truth);
    return st;
}

int main(void)
{
    larmor_device *dev = NULL;
    larmor_phantom *object[2] = {NULL}; /* water, fat */
    larmor_array *traj = NULL, *kspace = NULL, *x = NULL;
    larmor_op *E = NULL, *F = NULL, *FE = NULL;
    double error = 0;
    const larmor_traj_opts spokes = {.matrix = {N, N}, .readouts = SPOKES, .samples = SAMPLES};
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {N, N}, .batch = ECHOES};
    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = larmor_phantom_create("shepp-logan", 2, &object[0]);
    if (!st) st = larmor_phantom_create("disc", 2, &object[1]);
    if (!st) st = larmor_traj_create(dev, "golden", &spokes, &traj);
    if (!st) st = create_separation(dev, &E);
    if (!st) st = larmor_op_nufft(dev, &nufft, traj, &F);
    if (!st) st = larmor_op_chain(F, E, &FE);
    if (!st) st = larmor_op_adjoint_error(FE, 1, &error);
    if (!st) printf("adjoint error %.1e\n", error);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(FE), &kspace);
    for (int j = 0; j < ECHOES && !st; j++) st = measure(object, traj, j, kspace);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, larmor_op_in_shape(FE), &x);
    if (!st) st = larmor_cg(FE, kspace, x, &(larmor_solve_opts){.max_iter = 25, .tol = 1e-5}, NULL);
    if (!st) st = compare("water", object[0], x, 0);
    if (!st) st = compare("fat", object[1], x, 1);
    if (st) fprintf(stderr, "echoes: %s\n", larmor_last_error());
    larmor_op_free(FE);
    larmor_op_free(F);
    larmor_op_free(E);
    larmor_array_free(x);
    larmor_array_free(kspace);
    larmor_array_free(traj);
    larmor_phantom_free(object[1]);
    larmor_phantom_free(object[0]);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
