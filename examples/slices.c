/* Slices that were excited together with any phases, by conjugate gradients: larmor_op_multiband. larmor recon
 * --multiband is for phases that grow evenly from slice to slice. Usage: slices [DEVICE].
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 64, BANDS = 2, COILS = 8, SPOKES = 100 };

/* A slice of the phantom, its operator, and its image into its part of x. */
static larmor_status make_slice(larmor_device *dev, const larmor_phantom *solid, const larmor_array *traj, int band,
                                larmor_array *x, larmor_op **A)
{
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    larmor_phantom *plane = NULL;
    larmor_array *maps = NULL, *image = NULL, *part = NULL;
    larmor_status st = larmor_phantom_plane(solid, 0.3 * band - 0.15, &plane);
    if (!st) st = larmor_phantom_coils_around(plane, dev, LARMOR_C64, shape, NULL, COILS, &maps);
    if (!st) st = larmor_phantom_image(plane, dev, LARMOR_C64, shape, &image);
    if (!st) st = larmor_array_part(x, band, 1, shape, &part);
    if (!st) st = larmor_copy(image, part);
    const larmor_sense_opts opts = {.traj = traj};
    if (!st) st = larmor_op_sense(maps, &opts, A);
    larmor_array_free(part);
    larmor_array_free(image);
    larmor_array_free(maps);
    larmor_phantom_free(plane);
    return st;
}

/* Of no order, in rad. */
static larmor_status make_phases(larmor_device *dev, larmor_array **phase)
{
    double value[SPOKES * BANDS];
    for (int i = 0; i < SPOKES * BANDS; i++) value[i] = i * 17 % 101 * 0.0622;
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(SPOKES, BANDS), LARMOR_F64, value, phase);
}

static larmor_status separate(larmor_device *dev, const larmor_phantom *solid, double *error)
{
    const larmor_traj_opts lines = {.matrix = {N, N}, .readouts = SPOKES};
    const larmor_shape volume = LARMOR_SHAPE(N, N, BANDS);
    larmor_array *traj = NULL, *phase = NULL, *x = NULL, *y = NULL, *found = NULL;
    larmor_op *slice[BANDS] = {NULL}, *A = NULL;
    larmor_comparison c = {.nrmse = 1};
    larmor_status st = larmor_traj_create(dev, "golden", &lines, &traj);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, volume, &x);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, volume, &found);
    for (int b = 0; b < BANDS && !st; b++) st = make_slice(dev, solid, traj, b, x, &slice[b]);
    if (!st) st = make_phases(dev, &phase);
    if (!st) st = larmor_op_multiband(slice, BANDS, phase, &A);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, larmor_op_out_shape(A), &y);
    if (!st) st = larmor_op_forward(A, x, y);
    const larmor_solve_opts opts = {.max_iter = 60, .tol = 1e-5};
    if (!st) st = larmor_cg(A, y, found, &opts, NULL);
    const larmor_compare_opts inside = {.inside = 2};
    if (!st) st = larmor_compare(found, x, &inside, &c);
    *error = c.nrmse;
    for (int b = 0; b < BANDS; b++) larmor_op_free(slice[b]);
    larmor_op_free(A);
    larmor_array_free(found);
    larmor_array_free(y);
    larmor_array_free(x);
    larmor_array_free(phase);
    larmor_array_free(traj);
    return st;
}

int main(int argc, char **argv)
{
    larmor_device *dev = NULL;
    larmor_phantom *solid = NULL;
    double error = 1;
    larmor_status st = larmor_device_open(argc > 1 ? argv[1] : "cpu", &dev);
    if (!st) st = larmor_phantom_create("texture", 3, &solid);
    if (!st) st = separate(dev, solid, &error);
    if (st)
        fprintf(stderr, "slices: %s\n", larmor_last_error());
    else
        printf("%d slices from %d spokes: error %.3f\n", BANDS, SPOKES, error);
    larmor_phantom_free(solid);
    larmor_device_free(dev);
    return st || error > 0.05 ? EXIT_FAILURE : EXIT_SUCCESS;
}
