/* Samples that are held out of the data, to assess images. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "recon/choose/choose.h"
#include "recon/inputs.h"

#define THIN 0.03 /* of the mean density of samples: where they are thinner they count no more than there */

/* Of a readout, samples within this distance belong together, in 1 / FOV: nearer ones tell each other. */
#define CELL 0.6

/* One of RUN in a row is held out; whole readouts where there are so many that the others cover k-space without it. */
enum { RUN = 10, MANY_READOUTS = 24 };

typedef struct points {
    const double *k; /* [nd, samples, readouts] */
    int nd;
    int64_t samples, readouts;
} points;

static int on_the_grid(const points *p)
{
    const double near = 1e-3;
    for (int64_t i = 0; i < p->samples * p->readouts * p->nd; i++)
        if (fabs(p->k[i] - nearbyint(p->k[i])) > near) return 0;
    return 1;
}

static int is_held(int64_t index, uint64_t seed)
{
    return index % RUN == (int64_t)(lmr_random_bits(seed, (uint64_t)(index / RUN)) % RUN);
}

/* The cell of k-space that a point is in, in the FFT's order. */
static int64_t cell_of(const double *k, int nd, larmor_shape image)
{
    int64_t cell = 0;
    for (int d = nd - 1; d >= 0; d--) {
        const int64_t n = image.dim[d], at = (int64_t)nearbyint(k[d]) % n;
        cell = cell * n + (at < 0 ? at + n : at);
    }
    return cell;
}

/* The way from sample i - 1 to i. */
static double step_to(const points *p, int64_t i)
{
    double square = 0;
    for (int d = 0; d < p->nd; d++) square += pow(p->k[i * p->nd + d] - p->k[(i - 1) * p->nd + d], 2);
    return sqrt(square);
}

static void hold_out(const points *p, const larmor_circulant *c, const double *density, uint64_t seed, double *kept,
                     double *factors)
{
    const double near = 1e-3;
    const double least = c->mean > 0 ? THIN * c->mean : 1;
    const int whole = p->readouts >= MANY_READOUTS && !on_the_grid(p);
    int64_t part = -1; /* a readout, or a few samples of one */
    double way = 0;
    for (int64_t i = 0; i < p->samples * p->readouts; i++) {
        const int first = i % p->samples == 0;
        way = first ? 0 : way + step_to(p, i);
        if (first || (!whole && way > CELL - near)) {
            part++;
            way = 0;
        }
        factors[i] = 0;
        if (!is_held(part, seed)) continue;
        kept[i] = 0;
        factors[i] = 1 / fmax(least, density[2 * cell_of(p->k + i * p->nd, p->nd, c->eigenvalues->shape)]);
    }
}

larmor_status larmor_hold_out(const larmor_array *traj, const larmor_array *weights, const larmor_circulant *C,
                              uint64_t seed, larmor_array **kept, larmor_array **factors)
{
    LMR_NEED(kept);
    LMR_NEED(factors);
    *kept = *factors = NULL;
    if (!C) return LMR_FAIL(LARMOR_ERR_ARG, "hold out: a circulant is needed");
    larmor_array *points_array = NULL, *own = NULL;
    double *k = NULL, *density = NULL, *keep = NULL, *count = NULL;
    larmor_status st;
    LMR_OR(done, lmr_input_traj("hold out", traj, C->eigenvalues->shape, &points_array));
    const larmor_shape shape = lmr_weights_shape(points_array);
    LMR_OR(done, larmor_array_create(traj->dev, LARMOR_F64, shape, kept));
    LMR_OR(done, larmor_array_create(traj->dev, LARMOR_F64, shape, factors));
    if (weights) {
        LMR_OR(done, lmr_expect("hold out", "weights", weights, traj->dev, weights->dtype, shape));
        LMR_OR(done, lmr_input_real("hold out", "weights", weights, &own));
    } else {
        LMR_OR(done, larmor_fill(*kept, 1));
    }
    LMR_OR(done, larmor_array_download(points_array, LARMOR_F64, &k));
    LMR_OR(done, larmor_array_download(C->eigenvalues, LARMOR_C128, &density));
    LMR_OR(done, larmor_array_download(own ? own : *kept, LARMOR_F64, &keep));
    LMR_OR(done, larmor_array_download(*factors, LARMOR_F64, &count));
    const points p = {k, (int)traj->shape.dim[0], shape.dim[0], shape.ndim > 1 ? shape.dim[1] : 1};
    hold_out(&p, C, density, seed, keep, count);
    LMR_OR(done, larmor_array_write(*kept, keep, larmor_array_bytes(*kept)));
    st = larmor_array_write(*factors, count, larmor_array_bytes(*factors));
done:
    free(k);
    free(density);
    free(keep);
    free(count);
    larmor_array_free(points_array);
    larmor_array_free(own);
    if (st) {
        larmor_array_free(*kept);
        larmor_array_free(*factors);
        *kept = *factors = NULL;
    }
    return st;
}
