/* An offset of the receiver: a constant in all samples. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/offset.h"

#include <complex.h>

#include "core/core.h"

#define MIN_DOT 3    /* in units of the root mean square of the image: the dot that the constant makes */
#define MIN_POWER 10 /* of the constant over that of how rings differ from it */
#define MIN_FLAT .75 /* of the constant in the inner half of the rings: that in the outer half; of a thin line 0.64 */
enum { RINGS = 10, FIRST = 4, MIDDLE = (FIRST + RINGS) / 2, SAMPLES = 1 << 15, FEWEST = 16 };

typedef struct rings {
    int64_t count[RINGS];
    double energy[RINGS]; /* of all coils */
    double complex *sum;  /* [RINGS, coils] */
    int64_t coils;
} rings;

static int64_t choose(const float *radius, int64_t points, int64_t *index)
{
    const int64_t apart = points / SAMPLES + 1;
    int64_t chosen = 0;
    for (int64_t i = 0; i < points; i += apart | 1)
        if (radius[i] <= 1) index[chosen++] = i;
    return chosen;
}

static void add_up(const float *radius, const int64_t *index, int64_t chosen, const float *x, rings *r)
{
    for (int64_t j = 0; j < chosen; j++) {
        const int ring = (int)fminf(RINGS - 1, radius[index[j]] * RINGS);
        r->count[ring]++;
        for (int64_t c = 0; c < r->coils; c++) {
            const double re = (double)x[2 * (j + chosen * c)], im = (double)x[2 * (j + chosen * c) + 1];
            r->sum[ring + RINGS * c] += re + I * im;
            r->energy[ring] += re * re + im * im;
        }
    }
}

/* The mean energy of samples that are evenly spread over k-space. */
static double mean_energy(const rings *r, int nd)
{
    double sum = 0;
    for (int i = 0; i < RINGS; i++)
        if (r->count[i])
            sum += r->energy[i] / (double)r->count[i] * (pow((i + 1.) / RINGS, nd) - pow((double)i / RINGS, nd));
    return sum;
}

/* What an object has in the middle is less in the outer rings, and of another sign in some. */
static double judge(const rings *r, int nd, double voxels)
{
    double constant = 0, all = 0, inner = 0, outer = 0;
    for (int64_t c = 0; c < r->coils; c++) {
        double complex mean = 0;
        for (int i = FIRST; i < RINGS; i++) mean += r->sum[i + RINGS * c] / (double)r->count[i] / (RINGS - FIRST);
        constant += creal(mean * conj(mean));
        for (int i = FIRST; i < RINGS; i++) {
            const double complex one = r->sum[i + RINGS * c] / (double)r->count[i];
            *(i < MIDDLE ? &inner : &outer) += creal(one * conj(mean));
            all += creal(one * conj(one)) / (RINGS - FIRST);
        }
    }
    const double dot = sqrt(constant * voxels / fmax(mean_energy(r, nd), 1e-300));
    const double power = constant / fmax(all - constant, 1e-12 * all + 1e-300);
    return dot > MIN_DOT && power > MIN_POWER && outer > MIN_FLAT * inner ? power : 0;
}

larmor_status lmr_offset_find(const larmor_array *kspace, const float *radius, int nd, double voxels, double *offset)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    LMR_HEAP LMR_NEW(int64_t, index, SAMPLES + 1);
    LMR_HEAP LMR_NEW_ZEROS(double complex, sum, RINGS *shape.dim[2]);
    rings r = {.sum = sum, .coils = shape.dim[2]};
    const int64_t chosen = choose(radius, shape.dim[0] * shape.dim[1], index);
    *offset = 0;
    if (!chosen) return LARMOR_OK;
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, index, chosen, &x));
    add_up(radius, index, chosen, x, &r);
    for (int i = FIRST; i < RINGS; i++)
        if (r.count[i] < FEWEST) return LARMOR_OK;
    *offset = judge(&r, nd, voxels);
    return LARMOR_OK;
}
