/* Samples that are spoiled, on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "recon/cpu/recon.h"

#include "core/core.h"
#include "core/cpu/cpu.h"
#include "recon/math_faults.h"

enum { PIECES = 64, BLOCK = 2048 }; /* of readouts; of points, whose energies stay in a cache */

/* ---- survey ---- */

static void look(const lmr_survey_of *of, const real *x, int64_t c, int64_t i, lmr_survey *found)
{
    const int ring = lmr_ring_of(of->radius[i - of->n * of->first], of->rings);
    if (ring < of->from || !lmr_is_spike(x, of, of->level[ring + of->rings * c], i)) return;
    const double size = lmr_size_at(x, i);
    found->spikes++;
    if (size <= found->largest) return;
    found->largest = size;
    found->at = (double)i;
}

/* Points from first to end of a coil. least: the least energy that a spike in any ring has. */
static void survey_block(const lmr_survey_of *of, const real *x, int64_t c, int64_t first, int64_t end, double least,
                         double *energy, lmr_survey *found)
{
    float most = 0;
    for (int64_t i = first; i < end; i++) {
        const double own = lmr_energy_at(x, i);
        energy[i - of->n * of->first] += own;
        most = fmaxf(most, lmr_larger_part(x, i));
        if (own > least) look(of, x, c, i, found);
    }
    found->most = fmax(found->most, (double)most);
}

/* A little less than the limit, whose square is rounded. */
static double least_energy(const lmr_survey_of *of, int64_t c)
{
    double least = INFINITY;
    for (int ring = of->from; ring < of->rings; ring++) least = fmin(least, of->level[ring + of->rings * c]);
    return 0.999 * pow(of->ratio * least, 2);
}

static int is_same(const lmr_survey_of *of, const real *x, int64_t readout)
{
    const int64_t n = of->n, points = n * of->readouts;
    for (int64_t c = 0; c < of->coils; c++)
        for (int64_t i = 2 * (n * readout + points * c); i < 2 * (n * (readout + 1) + points * c); i++)
            if ((float)x[i] != (float)x[i - 2 * n]) return 0;
    return 1;
}

static int64_t first_of(const lmr_survey_of *of, int piece)
{
    return of->first + of->count / PIECES * piece + of->count % PIECES * piece / PIECES;
}

static void survey_piece(const lmr_survey_of *of, const real *x, int piece, double *energy, unsigned char *repeats,
                         lmr_survey *found)
{
    const int64_t readout = first_of(of, piece), last = first_of(of, piece + 1), end = of->n * last;
    for (int64_t first = of->n * readout; first < end; first += BLOCK) {
        const int64_t next = first + BLOCK < end ? first + BLOCK : end;
        memset(energy + first - of->n * of->first, 0, (size_t)(next - first) * sizeof *energy);
        for (int64_t c = 0; c < of->coils; c++)
            survey_block(of, x + 2 * of->n * of->readouts * c, c, first, next, least_energy(of, c), energy,
                         &found[c]);
    }
    for (int64_t r = readout; r < last; r++) repeats[r] = r && repeats[r] && is_same(of, x, r);
}

larmor_status R(lmr_cpu_recon_survey)(void *ctx, const lmr_survey_of *of, const void *x, double *energy,
                                      unsigned char *repeats, lmr_survey *found)
{
    LMR_HEAP LMR_NEW_ZEROS(lmr_survey, piece, PIECES * of->coils);
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int p = 0; p < PIECES; p++) survey_piece(of, x, p, energy, repeats, piece + p * of->coils);
    memset(found, 0, (size_t)of->coils * sizeof *found);
    for (int64_t i = 0; i < PIECES * of->coils; i++) {
        lmr_survey *all = &found[i % of->coils];
        all->most = fmax(all->most, piece[i].most);
        all->spikes += piece[i].spikes;
        if (piece[i].largest <= all->largest) continue;
        all->largest = piece[i].largest;
        all->at = piece[i].at;
    }
    return LARMOR_OK;
}

/* ---- ceiling ---- */

static int64_t parts_of(const real *x, int64_t points, float limit, int64_t room, lmr_part *part)
{
    int64_t count = 0;
    for (int64_t i = 0; i < 2 * points; i++) {
        if (!(fabsf((float)x[i]) >= limit)) continue;
        if (count < room)
            part[count] = (lmr_part){.at = (double)i, .own = (double)(float)x[i], .other = (double)(float)x[i ^ 1]};
        count++;
    }
    return count;
}

larmor_status R(lmr_cpu_recon_ceiling)(void *ctx, int64_t points, int64_t coils, int64_t room, const float *limit,
                                       const void *x, lmr_part *part, int64_t *count)
{
    const real *own = x;
#pragma omp parallel for schedule(dynamic) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t c = 0; c < coils; c++)
        count[c] = parts_of(own + 2 * points * c, points, limit[c], room, part + room * c);
    return LARMOR_OK;
}

/* ---- energies by ring ---- */

larmor_status R(lmr_cpu_recon_energies)(void *ctx, int64_t n, int64_t readouts, int64_t coils, int rings,
                                        const unsigned char *ring, const void *x_, double *sum)
{
    const real *x = x_;
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads)
    for (int64_t r = 0; r < readouts * coils; r++) {
        double *to = sum + rings * r;
        const unsigned char *of = ring + r % readouts * n;
        for (int j = 0; j < rings; j++) to[j] = 0;
        for (int64_t i = 0; i < n; i++) to[of[i]] += lmr_energy_at(x, n * r + i);
    }
    return LARMOR_OK;
}
