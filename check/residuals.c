/* Sums of squares of what an image leaves of its samples. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "core/core.h"
#include "core/ranks/ranks.h"

void lmr_residuals_free(lmr_residuals *r)
{
    LMR_FREE(r->readout, r->readout_data, r->coil, r->coil_data, r->coil_ring, r->ring_of_readout, r->count,
             r->at_edge);
    *r = (lmr_residuals){.readouts = 0};
}

static void *zeros(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}

static larmor_status allocate(int64_t readouts, int coils, lmr_residuals *out)
{
    out->readouts = readouts;
    out->coils = coils;
    out->readout = zeros(readouts, sizeof *out->readout);
    out->readout_data = zeros(readouts, sizeof *out->readout_data);
    out->coil = zeros(coils, sizeof *out->coil);
    out->coil_data = zeros(coils, sizeof *out->coil_data);
    out->coil_ring = zeros(LMR_RINGS * (int64_t)coils, sizeof *out->coil_ring);
    out->ring_of_readout = zeros(LMR_RINGS * readouts, sizeof *out->ring_of_readout);
    out->count = zeros(LMR_RINGS * readouts, sizeof *out->count);
    out->at_edge = zeros(readouts, sizeof *out->at_edge);
    const int complete = out->readout && out->readout_data && out->coil && out->coil_data && out->coil_ring &&
                         out->ring_of_readout && out->count && out->at_edge;
    return complete ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- one frame ---- */

typedef struct pass {
    const double *k; /* [nd, samples, readouts] */
    int nd;
    double scale[3];                  /* of k, so that the matrix ends at 1 */
    double edge[3];                   /* of 1, from which on it is the edge */
    int64_t samples, readouts, first; /* first: the frame's first readout among all */
    unsigned char *ring;              /* [samples, readouts] */
    double *residual, *data;          /* [LMR_RINGS, readouts, coils] of those that follow each other */
    lmr_residuals *out;
} pass;

#define EDGE 2 /* 1/FOV of the image, whose grid may be larger */

static void find_rings(void *self, int64_t readout)
{
    const pass *p = self;
    int along[3] = {1, 1, 1}; /* the edge of this axis */
    for (int64_t i = readout * p->samples; i < (readout + 1) * p->samples; i++) {
        double square = 0;
        for (int d = 0; d < p->nd; d++) {
            const double k = p->scale[d] * p->k[i * p->nd + d];
            square += k * k;
            along[d] &= fabs(k) > p->edge[d];
        }
        const int ring = (int)fmin(LMR_RINGS - 1, sqrt(square) * LMR_RINGS);
        p->ring[i] = (unsigned char)ring;
        p->out->count[LMR_RINGS * (p->first + readout) + ring]++;
    }
    for (int d = 0; d < p->nd; d++) p->out->at_edge[p->first + readout] |= (unsigned char)along[d];
}

/* The sums over rings of a coil's samples: of |A x - b|^2 and of |b|^2. */
static void add_coil(const pass *p, const double *residual, const double *power, int coil)
{
    lmr_residuals *out = p->out;
    for (int64_t i = 0; i < p->readouts; i++) {
        double all = 0, data = 0;
        for (int j = 0; j < LMR_RINGS; j++) {
            const int64_t at = LMR_RINGS * i + j;
            out->ring_of_readout[LMR_RINGS * p->first + at] += (float)residual[at];
            out->ring_data[j] += power[at];
            out->coil_ring[LMR_RINGS * coil + j] += residual[at];
            all += residual[at];
            data += power[at];
        }
        out->readout[p->first + i] += all;
        out->readout_data[p->first + i] += data;
        out->coil[coil] += all;
        out->coil_data[coil] += data;
    }
}

/* Of some coils' samples, which begin there. */
static larmor_status sum_part(const pass *p, larmor_array *line, int64_t first, int coils, double *sum)
{
    LMR_OWN(larmor_array, part,
            larmor_array_part(line, first, p->samples * p->readouts * coils,
                              LARMOR_SHAPE(p->samples, p->readouts, coils), &part));
    return larmor_ring_energies(part, LMR_RINGS, p->ring, sum);
}

/* Frame after frame, or, with a basis, coil after coil. all: samples of a coil of all frames, `before` of them of
 * those before this one. */
static larmor_status sum_coils(const lmr_job *job, larmor_array *r, larmor_array *b, int64_t before, int64_t all,
                               const pass *p)
{
    const int coils = job->facts->coils;
    const int together = job->facts->basis ? 1 : coils;
    for (int c = 0; c < coils; c += together) {
        const int64_t at = job->facts->basis ? c * all + before : before * coils;
        LMR_TRY(sum_part(p, r, at, together, p->residual));
        LMR_TRY(sum_part(p, b, at, together, p->data));
        for (int i = 0; i < together; i++) {
            const int64_t own = LMR_RINGS * p->readouts * i;
            add_coil(p, p->residual + own, p->data + own, c + i);
        }
    }
    return LARMOR_OK;
}

static larmor_status sum_frame(const lmr_job *job, const lmr_frame *frame, larmor_array *r, larmor_array *b,
                               int64_t before, pass *p)
{
    const larmor_shape shape = larmor_array_shape(frame->samples.kspace);
    const int64_t coils = job->facts->coils, all = larmor_array_count(r) / coils;
    p->samples = shape.dim[0];
    p->readouts = shape.dim[1];
    p->nd = frame->grid.ndim;
    for (int d = 0; d < p->nd; d++) {
        p->scale[d] = 2 / (double)frame->grid.matrix[d];
        p->edge[d] = 1 - EDGE * 2 / (double)frame->grid.crop[d];
    }
    LMR_HEAP LMR_NEW(unsigned char, ring, shape.dim[0] * shape.dim[1]);
    LMR_HEAP LMR_NEW(double, residual, LMR_RINGS * p->readouts * coils);
    LMR_HEAP LMR_NEW(double, data, LMR_RINGS * p->readouts * coils);
    LMR_OWN_MEMORY(double, k, larmor_array_download(frame->samples.traj, LARMOR_F64, &k));
    p->k = k;
    p->ring = ring;
    p->residual = residual;
    p->data = data;
    LMR_TRY(lmr_parallel(lmr_device_threads(job->facts->dev), p->readouts, find_rings, p));
    return sum_coils(job, r, b, before, all, p);
}

/* ---- all ---- */

/* Sums of all ranks, which call it at the same place. own: how it went here. */
static larmor_status add_ranks(const lmr_job *job, larmor_status own, lmr_residuals *out)
{
    if (!job->facts->slabs) return own;
    LMR_TRY(lmr_ranks_agree(job->facts->slabs, own, NULL, NULL));
    LMR_TRY(lmr_ranks_before(job->facts->slabs, out->readouts, &out->before));
    for (int c = 0; c < out->coils; c++) {
        double sum[2] = {out->coil[c], out->coil_data[c]};
        LMR_TRY(lmr_ranks_total(job->facts->slabs, LARMOR_OK, sum));
        out->coil[c] = sum[0];
        out->coil_data[c] = sum[1];
    }
    for (int j = 0; j < LMR_RINGS; j++) {
        double sum[2] = {out->ring[j], out->ring_data[j]};
        LMR_TRY(lmr_ranks_total(job->facts->slabs, LARMOR_OK, sum));
        out->ring[j] = sum[0];
        out->ring_data[j] = sum[1];
    }
    return LARMOR_OK;
}

static larmor_status sum_all(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *r,
                             const larmor_array *b, lmr_residuals *out)
{
    int64_t readouts = 0, before = 0;
    for (int i = 0; i < count; i++) readouts += larmor_array_shape(frames[i].samples.kspace).dim[1];
    LMR_TRY(allocate(readouts, job->facts->coils, out));
    LMR_OWN(larmor_array, left, larmor_array_reshape(r, LARMOR_SHAPE(larmor_array_count(r)), &left));
    LMR_OWN(larmor_array, data, larmor_array_reshape(b, LARMOR_SHAPE(larmor_array_count(b)), &data));
    pass p = {.out = out};
    for (int i = 0; i < count; i++) {
        LMR_TRY(sum_frame(job, &frames[i], left, data, before, &p));
        before += p.samples * p.readouts;
        p.first += p.readouts;
    }
    for (int64_t i = 0; i < readouts; i++)
        for (int j = 0; j < LMR_RINGS; j++) out->ring[j] += (double)out->ring_of_readout[LMR_RINGS * i + j];
    return LARMOR_OK;
}

larmor_status lmr_residuals_sum(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *r,
                                const larmor_array *b, lmr_residuals *out)
{
    *out = (lmr_residuals){.readouts = 0};
    const larmor_status st = sum_all(job, frames, count, r, b, out);
    return add_ranks(job, st, out);
}

/* ---- what stands out ---- */

/* Measured on right scans (docs/misfit.md): of a readout that is bad |A x - b|^2 is so many times that of the
 * others at its radii, and relative to its samples of that of the others; |A x - b| is this part of its own
 * samples, and of all. */
#define MIN_READOUT_RATIO 10
/* The same ratio of lines along the edge of the grid: coil maps carry them over to the other edge. Up to 20 in right
 * scans. */
#define MIN_EDGE_RATIO 100
#define MIN_READOUT_MISFIT 0.3
#define MIN_READOUT_PART 0.01
/* Of a coil that is bad the misfit, its multiple of that of the others, and its part of all samples' energy
 * (docs/misfit.md). No record has the scans. */
#define MIN_COIL_MISFIT 0.5
#define MIN_COIL_RATIO 3
#define MIN_COIL_PART 0.01
enum { FEWEST_READOUTS = 8 };

/* The median over readouts of |A x - b|^2 a sample, in each ring. */
static larmor_status usual_rings(const lmr_residuals *r, double usual[LMR_RINGS])
{
    LMR_NEW(double, values, r->readouts);
    for (int j = 0; j < LMR_RINGS; j++) {
        int64_t count = 0;
        for (int64_t i = 0; i < r->readouts; i++) {
            const int64_t at = LMR_RINGS * i + j;
            if (r->count[at]) values[count++] = (double)r->ring_of_readout[at] / r->count[at];
        }
        usual[j] = lmr_median_f64(values, count);
    }
    free(values);
    return LARMOR_OK;
}

/* 1 if |A x - b|^2 of readout i is not that of the others at its radii. *ratio: of the two. */
static int stands_out(const lmr_residuals *r, int64_t i, const double usual[LMR_RINGS], double data, double *ratio)
{
    double expected = 0;
    for (int j = 0; j < LMR_RINGS; j++) expected += usual[j] * r->count[LMR_RINGS * i + j];
    *ratio = expected > 0 ? r->readout[i] / expected : 0;
    const double least = pow(MIN_READOUT_MISFIT, 2) * r->readout_data[i], part = pow(MIN_READOUT_PART, 2) * data;
    return *ratio > (r->at_edge[i] ? MIN_EDGE_RATIO : MIN_READOUT_RATIO) && r->readout[i] > least &&
           r->readout[i] > part;
}

/* Errors of the model are proportional to the signal, so that the misfit relative to it is compared, too. */
static void judge_readouts(const lmr_residuals *r, const double usual[LMR_RINGS], larmor_misfit *out)
{
    double data = 0, others = 0, of_others = 0, ratio;
    for (int c = 0; c < r->coils; c++) data += r->coil_data[c];
    for (int64_t i = 0; i < r->readouts; i++) {
        if (stands_out(r, i, usual, data, &ratio)) continue;
        others += r->readout[i];
        of_others += r->readout_data[i];
    }
    for (int64_t i = 0; i < r->readouts; i++) {
        if (!stands_out(r, i, usual, data, &ratio)) continue;
        if (r->readout[i] * of_others < MIN_READOUT_RATIO * others * r->readout_data[i]) continue;
        out->bad_readouts++;
        if (ratio <= out->worst_readout_ratio) continue;
        out->worst_readout_ratio = ratio;
        out->worst_readout = r->before + i;
    }
}

/* Of all ranks. */
static larmor_status join_readouts(const lmr_job *job, larmor_misfit *out)
{
    double bad[2] = {(double)out->bad_readouts, 0}, most = out->worst_readout_ratio;
    if (!job->facts->slabs) return LARMOR_OK;
    LMR_TRY(lmr_ranks_total(job->facts->slabs, LARMOR_OK, bad));
    LMR_TRY(lmr_ranks_most(job->facts->slabs, &most));
    double worst = most > 0 && out->worst_readout_ratio == most ? (double)out->worst_readout : -1;
    LMR_TRY(lmr_ranks_most(job->facts->slabs, &worst));
    out->bad_readouts = (int64_t)bad[0];
    out->worst_readout_ratio = most;
    out->worst_readout = (int64_t)worst;
    return LARMOR_OK;
}

/* noise: what it leaves of |A x - b|^2 in each coil, which is no misfit. */
static void judge_coils(const lmr_residuals *r, double noise, larmor_misfit *out)
{
    double left = 0, data = 0;
    for (int c = 0; c < r->coils; c++) {
        left += r->coil[c];
        data += r->coil_data[c];
    }
    for (int c = 0; c < r->coils && r->coils > 1; c++) {
        const double others = data > r->coil_data[c] ? sqrt((left - r->coil[c]) / (data - r->coil_data[c])) : 0;
        const double own = r->coil_data[c] > 0 ? sqrt(fmax(0, r->coil[c] - noise) / r->coil_data[c]) : 0;
        if (own < MIN_COIL_MISFIT || own < MIN_COIL_RATIO * others || r->coil_data[c] < MIN_COIL_PART * data)
            continue;
        out->bad_coils++;
        if (own <= out->worst_coil_misfit) continue;
        out->worst_coil_misfit = own;
        out->worst_coil = c;
    }
}

larmor_status lmr_residuals_judge(const lmr_job *job, const lmr_residuals *r, double noise, larmor_misfit *out)
{
    double usual[LMR_RINGS];
    out->worst_readout = out->worst_coil = -1;
    judge_coils(r, noise / r->coils, out);
    const larmor_status st = r->readouts >= FEWEST_READOUTS ? usual_rings(r, usual) : LARMOR_OK;
    if (!st && r->readouts >= FEWEST_READOUTS) judge_readouts(r, usual, out);
    if (job->facts->slabs) LMR_TRY(lmr_ranks_agree(job->facts->slabs, st, NULL, NULL));
    return st ? st : join_readouts(job, out);
}
