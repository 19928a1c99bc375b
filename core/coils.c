/* Which channels of a scan are coils. SPDX-License-Identifier: Apache-2.0 */
#include "core/coils.h"

#include <stdio.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/select.h"
#include "core/status.h"
#include "core/text.h"

/* Of the median: less is a channel whose amplifier is off. */
#define LEAST_NOISE 1e-6

/* The energy up to which a channel has no noise, 0 if none has any. */
static double noise_floor(int channels, const unsigned char *alive, const double *noise)
{
    double energy[LMR_MOST_CHANNELS];
    int count = 0;
    for (int c = 0; c < channels; c++)
        if (alive[c] && noise[c] > 0) energy[count++] = noise[c];
    return LEAST_NOISE * LEAST_NOISE * lmr_median_f64(energy, count);
}

int lmr_have_noise(int channels, const unsigned char *alive, const double *noise)
{
    return noise_floor(channels, alive, noise) > 0;
}

int lmr_choose_coils(int channels, const unsigned char *alive, const double *noise, int *kept, char *lines,
                     size_t size)
{
    const double floor_energy = noise ? noise_floor(channels, alive, noise) : -1;
    int coils = 0;
    for (int c = 0; c < channels; c++) {
        const int quiet = noise && noise[c] <= floor_energy;
        if (alive[c] && !quiet)
            kept[coils++] = c;
        else
            lmr_append_line(lines, size, "channel %d has no %s; left out.", c, alive[c] ? "noise" : "signal");
    }
    return coils;
}

/* ---- arrays of channels, and of coils ---- */

/* Dimension `axis` of an array as the middle one of three. */
static larmor_status as_middle(larmor_array *x, int axis, larmor_array **view)
{
    const larmor_shape shape = larmor_array_shape(x);
    int64_t dim[3] = {1, 1, 1};
    for (int d = 0; d < shape.ndim; d++) dim[(d >= axis) + (d > axis)] *= shape.dim[d];
    return larmor_array_reshape(x, larmor_shape_of(3, dim), view);
}

/* Of x [a, n, b], element `outer` of the last dimension and `middle` of the one before. */
static larmor_status pick(larmor_array *x, int64_t middle, int64_t outer, larmor_array **one)
{
    const larmor_shape shape = larmor_array_shape(x);
    LMR_OWN(larmor_array, flat, larmor_array_part(x, outer, 1, larmor_shape_of(2, shape.dim), &flat));
    return larmor_array_slice(flat, middle, 1, one);
}

/* Between arrays of all channels and of the coils that are kept, along dimension `axis`; back: from the coils. */
static larmor_status move_coils(const lmr_coil_list *list, larmor_array *all, larmor_array *kept, int axis, int back)
{
    LMR_OWN(larmor_array, channels, as_middle(all, axis, &channels));
    LMR_OWN(larmor_array, coils, as_middle(kept, axis, &coils));
    for (int64_t i = 0; i < larmor_array_shape(coils).dim[2] * list->coils; i++) {
        const int64_t c = i % list->coils, o = i / list->coils;
        LMR_OWN(larmor_array, stored, pick(channels, list->kept[c], o, &stored));
        LMR_OWN(larmor_array, coil, pick(coils, c, o, &coil));
        LMR_TRY(back ? larmor_copy(coil, stored) : larmor_copy(stored, coil));
    }
    return LARMOR_OK;
}

/* x has, along the axis, as many elements as there are channels or coils. */
static larmor_status check_coils(const lmr_coil_list *list, const larmor_array *x, int axis)
{
    const larmor_shape shape = larmor_array_shape(x);
    if (axis >= 0 && axis < shape.ndim && (shape.dim[axis] == list->channels || shape.dim[axis] == list->coils))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "coils: array is %s, expected %d channels in dimension %d, or the %d coils that are kept",
                    lmr_describe(x).s, list->channels, axis, list->coils);
}

larmor_status lmr_convert_coils(const lmr_coil_list *list, larmor_array *x, int axis, int back, larmor_array **result)
{
    *result = NULL;
    LMR_TRY(check_coils(list, x, axis));
    larmor_shape shape = larmor_array_shape(x);
    const int64_t wanted = back ? list->channels : list->coils;
    if (shape.dim[axis] == wanted) {
        *result = larmor_array_ref(x);
        return LARMOR_OK;
    }
    shape.dim[axis] = wanted;
    LMR_TRY(larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), shape, result));
    larmor_status st = back ? larmor_zero(*result) : LARMOR_OK;
    if (!st) st = back ? move_coils(list, *result, x, axis, 1) : move_coils(list, x, *result, axis, 0);
    if (st) LMR_CLEAR(*result);
    return st;
}
