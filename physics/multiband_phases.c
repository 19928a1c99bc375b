/* Phases of slices that were excited together: what grows evenly from slice to slice is a place along kz, the rest is
 * left to the model (physics/multiband_term.c). SPDX-License-Identifier: Apache-2.0 */
#include "physics/multiband_phases.h"

#include <complex.h>

#include "core/core.h"
#include "scan/source.h"

#define MAX_UNEVEN_PHASE 1e-3 /* rad, of steps from slice to slice, as rounding in files leaves them */

void lmr_band_phases_free(lmr_band_phases *p)
{
    LMR_FREE(p->even, p->rest, p->begin);
    *p = (lmr_band_phases){.even = NULL};
}

uint64_t lmr_band_phases_hash(const lmr_band_phases *p, uint64_t hash)
{
    if (p->even) hash = lmr_hash(hash, p->even, 2 * sizeof *p->even * (size_t)p->rows);
    if (p->rest) hash = lmr_hash(hash, p->rest, sizeof *p->rest * (size_t)(p->bands * p->rows));
    return hash;
}

static double within(double x)
{
    return x - 2 * M_PI * floor(x / (2 * M_PI) + 0.5);
}

/* At which row of the array each image begins: the rows are the readouts of all images that have such slices, or of
 * each one. */
static larmor_status find_rows(const lmr_banded *images, int64_t rows, int64_t bands, lmr_band_phases *p)
{
    const int groups = larmor_source_describe(images->inner).groups;
    int64_t all = 0;
    int each = 1;
    LMR_ALLOCATE_ZEROS(p->begin, groups + 1);
    for (int i = 0; i < images->count; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(images->inner, images->group[i], &g));
        p->begin[images->group[i]] = all;
        all += g.readouts;
        each &= g.readouts == rows;
    }
    p->rows = rows;
    if (bands == p->bands && each) memset(p->begin, 0, (size_t)groups * sizeof *p->begin);
    if (bands == p->bands && (each || rows == all)) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_SHAPE,
        "multiband: phases of %lld readouts and %lld slices, expected those of the %lld readouts%s and %d slices",
        (long long)rows, (long long)bands, (long long)all, images->count > 1 ? " of all images, or of each one," : "",
        p->bands);
}

/* 1 if the steps of a row are alike. */
static int is_even(const lmr_band_phases *p, const double *phase, int64_t row)
{
    const double step = phase[row + p->rows] - phase[row];
    int even = 1;
    for (int s = 0; s < p->bands; s++)
        even &= fabs(within(phase[row + p->rows * s] - phase[row] - step * s)) <= MAX_UNEVEN_PHASE;
    return even;
}

/* The mean step as a multiple of 2 pi / bands. */
static double nearest_step(const lmr_band_phases *p, const double *phase, int64_t row)
{
    const double unit = 2 * M_PI / p->bands;
    double complex sum = 0;
    for (int s = 1; s < p->bands; s++) sum += cexp(I * (phase[row + p->rows * s] - phase[row + p->rows * (s - 1)]));
    return unit * nearbyint(carg(sum) / unit);
}

static void take_row(lmr_band_phases *p, const double *phase, int64_t row)
{
    const int middle = p->bands / 2;
    const double nearest = nearest_step(p, phase, row), own = phase[row + p->rows] - phase[row];
    const double step = p->rest || fabs(within(own - nearest)) <= MAX_UNEVEN_PHASE ? nearest : own;
    p->even[2 * row] = phase[row + p->rows * middle];
    p->even[2 * row + 1] = step;
    for (int s = 0; s < p->bands && p->rest; s++)
        p->rest[s + p->bands * row] = within(phase[row + p->rows * s] - p->even[2 * row] - step * (s - middle));
}

static larmor_status take_rows(const double *phase, lmr_band_phases *p)
{
    int even = 1;
    for (int64_t row = 0; row < p->rows; row++) {
        for (int s = 0; s < p->bands; s++)
            LMR_REFUSE(!isfinite(phase[row + p->rows * s]), LARMOR_ERR_NUMERIC,
                       "multiband: the phase of readout %lld is not finite", (long long)row);
        even &= is_even(p, phase, row);
    }
    p->even = lmr_new(p->rows, 2 * sizeof *p->even);
    if (!even) p->rest = lmr_new(p->rows, p->bands * (int64_t)sizeof *p->rest);
    if (!p->even || (!even && !p->rest)) return LMR_NO_MEMORY();
    for (int64_t row = 0; row < p->rows; row++) take_row(p, phase, row);
    return LARMOR_OK;
}

int lmr_band_phases_are(const lmr_banded *images, const lmr_band_phases *p, int turns, int shifts)
{
    if (!p->even || p->rest) return 0;
    for (int i = 0; i < images->count; i++) {
        const int64_t begin = p->begin[images->group[i]];
        const int64_t next = i + 1 < images->count ? p->begin[images->group[i + 1]] : begin;
        for (int64_t row = begin; row < (next > begin ? next : p->rows); row++) {
            const double step = 2 * M_PI * turns / shifts * (double)(row - begin);
            const double off = fabs(within(p->even[2 * row] - step * (p->bands / 2)));
            if (fmax(off, fabs(within(p->even[2 * row + 1] - step))) > MAX_UNEVEN_PHASE) return 0;
        }
    }
    return 1;
}

larmor_status lmr_band_phases_take(const lmr_banded *images, const larmor_array *phase, int bands,
                                   lmr_band_phases *out)
{
    const larmor_shape shape = larmor_array_shape(phase);
    *out = (lmr_band_phases){.bands = bands};
    LMR_REFUSE(shape.ndim != 2 || lmr_is_complex(larmor_array_dtype(phase)), LARMOR_ERR_SHAPE,
               "multiband: phases are %s, expected real [readouts, %d slices]", lmr_describe(phase).s, bands);
    LMR_TRY(find_rows(images, shape.dim[0], shape.dim[1], out));
    LMR_OWN_MEMORY(double, values, larmor_array_download(phase, LARMOR_F64, &values));
    return take_rows(values, out);
}
