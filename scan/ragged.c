/* Readouts that differ in length, or of which some samples are left out: side by side where what is done with them
 * needs each by itself. SPDX-License-Identifier: Apache-2.0 */
#include "scan/ragged.h"

#include "core/core.h"

/* Side by side readouts may take so many times what they take one after the other, beside so many samples. */
enum { MOST_TIMES = 4, FEW_SAMPLES = 65536 };

/* Shorter readouts are made so long, as delays are to be less than a readout. */
enum { SHORTEST = 64 };

static int64_t length_of(const larmor_samples *s, int64_t r)
{
    return s->first[r + 1] - s->first[r];
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t longest(const larmor_samples *s, int64_t begin, int64_t end)
{
    int64_t most = SHORTEST;
    for (int64_t r = begin; r < end; r++) most = larger(most, length_of(s, r));
    return most;
}

static int fits(const larmor_samples *s, int64_t begin, int64_t end, int64_t n)
{
    return n * (end - begin) <= MOST_TIMES * (s->first[end] - s->first[begin]) + FEW_SAMPLES;
}

/* 0: k[nd] goes on as from the sample before the last; 1: it is far away. */
static void follow(double *k, int64_t nd, int64_t i, int away)
{
    for (int64_t d = 0; d < nd; d++) {
        const double before = i > 0 ? k[nd * (i - 1) + d] : 0;
        const double step = i > 1 ? before - k[nd * (i - 2) + d] : 0;
        k[nd * i + d] = away ? LARMOR_NO_SAMPLE : before + step;
    }
}

/* Readouts begin .. end - 1 of a trajectory `from` as [nd, longest, end - begin]. */
static larmor_status align_traj(const larmor_samples *s, const double *from, int64_t begin, int64_t end, int away,
                                larmor_array **traj)
{
    const int64_t nd = larmor_array_shape(s->traj).dim[0], n = longest(s, begin, end);
    LMR_HEAP LMR_NEW(double, to, nd *n *(end - begin));
    for (int64_t r = begin; r < end; r++) {
        const int64_t count = length_of(s, r);
        double *k = to + nd * n * (r - begin);
        memcpy(k, from + nd * s->first[r], sizeof *k * (size_t)(nd * count));
        for (int64_t i = count; i < n; i++) follow(k, nd, i, away);
    }
    return larmor_array_upload(larmor_array_device(s->traj), LARMOR_F64, LARMOR_SHAPE(nd, n, end - begin), LARMOR_F64,
                               to, traj);
}

static larmor_status align_kspace(const larmor_samples *s, larmor_array **kspace)
{
    const larmor_shape shape = larmor_array_shape(s->kspace);
    const larmor_dtype dtype = larmor_array_dtype(s->kspace);
    const int64_t n = longest(s, 0, s->readouts);
    const int64_t coils = shape.ndim > 2 ? shape.dim[2] : 1;
    const size_t size = larmor_dtype_size(dtype);
    LMR_HEAP unsigned char *to = lmr_new(n * s->readouts * coils, size);
    if (!to) return LMR_NO_MEMORY();
    memset(to, 0, (size_t)(n * s->readouts * coils) * size);
    LMR_OWN_MEMORY(unsigned char, from, larmor_array_download(s->kspace, dtype, (void **)&from));
    for (int64_t r = 0; r < s->readouts * coils; r++) {
        const int64_t at = s->first[r % s->readouts], count = length_of(s, r % s->readouts);
        memcpy(to + size * (size_t)(n * r), from + size * (size_t)(shape.dim[0] * (r / s->readouts) + at),
               size * (size_t)count);
    }
    return larmor_array_upload(larmor_array_device(s->kspace), dtype, LARMOR_SHAPE(n, s->readouts, coils), dtype, to,
                               kspace);
}

static larmor_status expect_trajectory(const larmor_samples *samples)
{
    if (samples->kspace && samples->traj) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "samples: without a trajectory, or without k-space");
}

larmor_status larmor_samples_align(const larmor_samples *samples, larmor_array **kspace, larmor_array **traj)
{
    LMR_NEED_OUT(kspace);
    LMR_NEED_OUT(traj, samples);
    LMR_TRY(expect_trajectory(samples));
    if (!samples->first) {
        *kspace = larmor_array_ref(samples->kspace);
        *traj = larmor_array_ref(samples->traj);
        return LARMOR_OK;
    }
    LMR_REFUSE(!fits(samples, 0, samples->readouts, longest(samples, 0, samples->readouts)), LARMOR_ERR_UNSUPPORTED,
               "the lengths of readouts differ too much, %lld samples at most, %lld "
               "samples in %lld readouts",
               (long long)longest(samples, 0, samples->readouts), (long long)samples->first[samples->readouts],
               (long long)samples->readouts);
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    larmor_status st = align_traj(samples, k, 0, samples->readouts, 1, traj);
    if (!st) st = align_kspace(samples, kspace);
    if (st) LMR_CLEAR(*traj);
    return st;
}

/* Readouts begin .. end - 1 of k, to [rows, total]. */
static larmor_status correct_some(const larmor_samples *s, const double *k, int64_t begin, int64_t end,
                                  lmr_correction correct, const void *self, int64_t rows, double *to)
{
    LMR_OWN(larmor_array, aligned, align_traj(s, k, begin, end, 0, &aligned));
    LMR_OWN(larmor_array, corrected, correct(self, aligned, &corrected));
    LMR_OWN_MEMORY(double, from, larmor_array_download(corrected, LARMOR_F64, &from));
    const larmor_shape shape = larmor_array_shape(aligned);
    for (int64_t r = begin; r < end; r++)
        memcpy(to + rows * s->first[r], from + rows * shape.dim[1] * (r - begin),
               sizeof *to * (size_t)(rows * length_of(s, r)));
    return LARMOR_OK;
}

/* As many readouts at a time as are of about the same length. */
larmor_status lmr_each_readout(const larmor_samples *samples, lmr_correction correct, const void *self, int64_t rows,
                               larmor_array **made)
{
    *made = NULL;
    if (!samples->first) return correct(self, samples->traj, made);
    larmor_shape shape = larmor_array_shape(samples->traj);
    LMR_HEAP double *k = NULL, *to = lmr_new(rows * samples->first[samples->readouts] + 1, sizeof *to);
    if (!to) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(samples->traj, LARMOR_F64, &k));
    for (int64_t begin = 0, end; begin < samples->readouts; begin = end) {
        int64_t n = length_of(samples, begin);
        end = begin + 1;
        while (end < samples->readouts && fits(samples, begin, end + 1, larger(n, length_of(samples, end)))) {
            n = larger(n, length_of(samples, end));
            end++;
        }
        LMR_TRY(correct_some(samples, k, begin, end, correct, self, rows, to));
    }
    shape.dim[0] = rows;
    return larmor_array_upload(larmor_array_device(samples->traj), LARMOR_F64, shape, LARMOR_F64, to, made);
}

typedef struct late {
    const double *delay, *fov;
} late;

static larmor_status delay_readouts(const void *self, const larmor_array *traj, larmor_array **delayed)
{
    const late *l = self;
    return larmor_traj_delay(traj, l->delay, l->fov, delayed);
}

larmor_status larmor_samples_delay(const larmor_samples *samples, const double delay[6], const double *fov,
                                   larmor_array **traj)
{
    LMR_NEED_OUT(traj, samples, delay);
    LMR_TRY(expect_trajectory(samples));
    const late l = {delay, fov};
    return lmr_each_readout(samples, delay_readouts, &l, larmor_array_shape(samples->traj).dim[0], traj);
}

/* ---- samples that are left out ---- */

int64_t lmr_find_inside(const larmor_grid *grid, const double *k, int64_t samples, unsigned char *inside)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < samples; i++) {
        inside[i] = 1;
        for (int d = 0; d < grid->ndim; d++)
            inside[i] &= fabs(k[i * grid->ndim + d]) <= (double)grid->matrix[d] / 2 + .5;
        kept += inside[i];
    }
    return kept;
}

larmor_status lmr_keep_inside(larmor_array **x, int axis, const unsigned char *inside, int64_t samples, int64_t kept)
{
    larmor_shape shape = larmor_array_shape(*x);
    const larmor_dtype dtype = larmor_array_dtype(*x);
    const size_t size = larmor_dtype_size(dtype) * (size_t)(axis ? shape.dim[0] : 1);
    const int64_t after = !axis && shape.ndim > 2 ? shape.dim[2] : 1;
    LMR_OWN_MEMORY(unsigned char, values, larmor_array_download(*x, dtype, (void **)&values));
    unsigned char *to = values;
    for (int64_t i = 0; i < samples * after; i++) {
        if (!inside[i % samples]) continue;
        memmove(to, values + (size_t)i * size, size);
        to += size;
    }
    shape.dim[axis] = kept;
    shape.dim[axis + 1] = 1;
    LMR_OWN(larmor_array, left, larmor_array_upload(larmor_array_device(*x), dtype, shape, dtype, values, &left));
    larmor_array_free(*x);
    return LMR_HAND_ON(*x, left);
}

larmor_status lmr_samples_unalign(larmor_samples *samples, larmor_array *kspace, larmor_array *traj)
{
    if (!samples->first) return LARMOR_OK;
    const int64_t n = larmor_array_shape(traj).dim[1], all = n * samples->readouts;
    const int64_t kept = samples->first[samples->readouts];
    LMR_OWNED(larmor_array) *own_kspace = larmor_array_ref(kspace), *own_traj = larmor_array_ref(traj);
    LMR_HEAP LMR_NEW(unsigned char, inside, all + 1);
    for (int64_t i = 0; i < all; i++) inside[i] = i % n < length_of(samples, i / n);
    LMR_TRY(lmr_keep_inside(&own_kspace, 0, inside, all, kept));
    LMR_TRY(lmr_keep_inside(&own_traj, 1, inside, all, kept));
    LMR_FREE(samples->kspace, samples->traj);
    samples->kspace = own_kspace;
    samples->traj = own_traj;
    own_kspace = own_traj = NULL;
    return LARMOR_OK;
}

/* Where each readout begins among the samples that are left. */
static larmor_status find_first(larmor_samples *x, const unsigned char *inside, int64_t samples, int64_t readouts)
{
    int64_t *first = lmr_new(readouts + 1, sizeof *first), kept = 0;
    if (!first) return LMR_NO_MEMORY();
    for (int64_t r = 0, i = 0; r < readouts; r++) {
        const int64_t end = x->first ? x->first[r + 1] : samples / readouts * (r + 1);
        first[r] = kept;
        for (; i < end; i++) kept += inside[i];
    }
    first[readouts] = kept;
    free(x->first);
    x->first = first;
    x->readouts = readouts;
    return LARMOR_OK;
}

larmor_status lmr_samples_cut(larmor_samples *samples, const double *k, const larmor_grid *grid)
{
    const larmor_shape shape = larmor_array_shape(samples->traj);
    const int64_t count = shape.dim[1] * shape.dim[2];
    LMR_HEAP LMR_NEW(unsigned char, inside, count + 1);
    const int64_t kept = lmr_find_inside(grid, k, count, inside);
    if (kept == count) return LARMOR_OK;
    LMR_REFUSE(!kept, LARMOR_ERR_FORMAT, "no sample lies within the k-space of matrix %lld x %lld x %lld",
               (long long)grid->matrix[0], (long long)grid->matrix[1], (long long)grid->matrix[2]);
    LMR_TRY(find_first(samples, inside, count, samples->first ? samples->readouts : shape.dim[2]));
    samples->outside += count - kept;
    LMR_TRY(lmr_keep_inside(&samples->traj, 1, inside, count, kept));
    if (samples->density) LMR_TRY(lmr_keep_inside(&samples->density, 0, inside, count, kept));
    return lmr_keep_inside(&samples->kspace, 0, inside, count, kept);
}
