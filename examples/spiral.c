/* A spiral with long arms in an uneven field: off-resonance as part of the operator, and LSMR with weights in
 * k-space. Usage: spiral. SPDX-License-Identifier: Apache-2.0
 *
 * The field is off by 30 Hz in the middle and rises by 80 Hz across the image, while an arm takes 16 ms. Without a
 * word of it in the operator the image is blurred. With it conjugate directions converge slowly, as the centre of
 * k-space is sampled far more densely than its rim; weights that know both make them quick (Ong, Uecker and
 * Lustig, IEEE Trans. Med. Imaging 39, 1646 (2020)). */
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 96, COILS = 4, ARMS = 12, SAMPLES = 1600, ITERATIONS = 4 };

static const double dwell_s = 1e-5;
static const larmor_phantom_field field_of_b0 = {.hz = 30, .gradient = {80, 0, 0}};

typedef struct scan {
    larmor_array *kspace, *truth, *weights;
    larmor_op *without_field, *with_field;
} scan;

static larmor_status sample_times(larmor_device *dev, larmor_array **times)
{
    static double seconds[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) seconds[i] = dwell_s * i;
    larmor_status st = larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES), times);
    return st ? st : larmor_array_write(*times, seconds, sizeof seconds);
}

/* Exact k-space of the phantom with the field, and the operators: nothing here was computed by them. */
static larmor_status simulate(larmor_device *dev, scan *s)
{
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = ARMS, .samples = SAMPLES, .density = 3};
    larmor_phantom *phantom = NULL;
    larmor_array *traj = NULL, *maps = NULL, *field = NULL, *times = NULL, *exact = NULL;
    larmor_status st = larmor_phantom_create("shepp-logan", 2, &phantom);
    if (!st) st = larmor_traj_create(dev, "spiral", &opts, &traj);
    if (!st) st = sample_times(dev, &times);
    if (!st) st = larmor_phantom_kspace_off_resonance(phantom, traj, &field_of_b0, times, COILS, LARMOR_C64, &exact);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, larmor_array_shape(exact), &s->kspace);
    /* k-space of a phantom is an integral, the operators are sums over N^2 voxels */
    if (!st) st = larmor_axpby((double)N * N, exact, 0, s->kspace);
    if (!st) st = larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, shape, &s->truth);
    if (!st) st = larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, COILS, &maps);
    if (!st) st = larmor_phantom_field_map(&field_of_b0, dev, LARMOR_F32, shape, &field);
    if (!st) st = larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj}, &s->without_field);
    if (!st) st = larmor_op_off_resonance(s->without_field, field, times, NULL, &s->with_field);
    if (!st) st = larmor_precondition_kspace(maps, traj, shape, LARMOR_C64, 0, &s->weights);
    larmor_array_free(exact);
    larmor_array_free(times);
    larmor_array_free(field);
    larmor_array_free(maps);
    larmor_array_free(traj);
    larmor_phantom_free(phantom);
    return st;
}

/* Prints |x - truth| / |truth| after a few iterations. */
static larmor_status solve(const char *name, const scan *s, larmor_op *A, const larmor_array *weights)
{
    const larmor_solve_opts opts = {.max_iter = ITERATIONS, .tol = -1, .weights = weights};
    larmor_array *x = NULL;
    double whole = 0, difference = 0;
    larmor_status st = larmor_array_create(larmor_op_device(A), LARMOR_C64, larmor_op_in_shape(A), &x);
    if (!st) st = larmor_lsmr(A, s->kspace, x, &opts, NULL);
    if (!st) st = larmor_nrm2(s->truth, &whole);
    if (!st) st = larmor_axpby(-1, s->truth, 1, x);
    if (!st) st = larmor_nrm2(x, &difference);
    if (!st) printf("%s NRMSE %.4f\n", name, difference / whole);
    larmor_array_free(x);
    return st;
}

int main(void)
{
    larmor_device *dev = NULL;
    scan s = {0};
    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = simulate(dev, &s);
    if (!st) st = solve("without the field", &s, s.without_field, s.weights);
    if (!st) st = solve("with the field", &s, s.with_field, NULL);
    if (!st) st = solve("with field and weights", &s, s.with_field, s.weights);
    if (st) fprintf(stderr, "spiral: %s\n", larmor_last_error());
    larmor_op_free(s.with_field);
    larmor_op_free(s.without_field);
    larmor_array_free(s.weights);
    larmor_array_free(s.truth);
    larmor_array_free(s.kspace);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
