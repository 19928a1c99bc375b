/* Bases of signals in time: from a dictionary by its singular vectors, and at the samples. SPDX-License-Identifier:
 * Apache-2.0 */
#include <complex.h>

#include "core/core.h"

#define MIN_ENERGY_PART 0.9999 /* of the curves: what is left out is then 1 % of their norm */

enum { MOST = 1 << 14 }; /* frames or curves, whichever are fewer: a matrix of so many is diagonalised */

typedef double _Complex number;

/* ---- from curves ---- */

/* The part of the energy that the first `rank` of the ascending eigenvalues' largest hold. */
static double part_of(const double *value, int64_t count, int64_t rank)
{
    double all = 0, held = 0;
    for (int64_t i = 0; i < count; i++) {
        const double v = fmax(value[i], 0);
        all += v;
        if (i >= count - rank) held += v;
    }
    return all > 0 ? held / all : 0;
}

/* The least rank that holds this part. */
static int64_t enough(const double *value, int64_t count, double energy)
{
    int64_t rank = 1;
    while (rank < count && part_of(value, count, rank) < energy) rank++;
    return rank;
}

/* Largest first, each of length 1: the columns of `vectors` themselves, or the curves times them. */
static void take_vectors(const number *curves, int64_t frames, int64_t count, int by_frames, const number *vectors,
                         int64_t size, int64_t rank, number *basis)
{
    for (int64_t k = 0; k < rank; k++) {
        const number *v = vectors + (size - 1 - k) * size;
        number *to = basis + k * frames;
        double square = 0;
        for (int64_t t = 0; t < frames; t++) {
            to[t] = by_frames ? v[t] : 0;
            for (int64_t c = 0; !by_frames && c < count; c++) to[t] += curves[t + frames * c] * v[c];
            square += creal(to[t] * conj(to[t]));
        }
        for (int64_t t = 0; t < frames; t++) to[t] /= sqrt(square);
    }
}

static larmor_status check_curves(const number *curves, int64_t count, double *largest)
{
    *largest = 0;
    for (int64_t i = 0; i < count; i++) {
        LMR_REFUSE(!isfinite(creal(curves[i])) || !isfinite(cimag(curves[i])), LARMOR_ERR_NUMERIC,
                   "basis: number %lld of the curves is not finite", (long long)i);
        *largest = fmax(*largest, cabs(curves[i]));
    }
    if (*largest > 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "basis: the curves are all zero");
}

/* gram <- D D^H, or D^H D if there are fewer curves than frames, diagonalised on the processor. */
static larmor_status diagonalise(number *curves, int64_t frames, int64_t count, int by_frames, number *vectors,
                                 double *values)
{
    const int64_t size = by_frames ? frames : count;
    const int64_t inner = by_frames ? count : frames;
    const lmr_la *la = lmr_cpu_backend.la[LMR_F64];
    void *ctx;
    LMR_TRY(lmr_cpu_backend.open(0, 0, &ctx));
    larmor_status st = la->gemm(ctx, by_frames ? 'N' : 'C', by_frames ? 'C' : 'N', size, size, inner, curves, frames,
                                curves, frames, vectors, size);
    if (!st) st = la->heev(ctx, size, 1, 1, vectors, values);
    lmr_cpu_backend.close(ctx);
    return st;
}

/* Real if no number has an imaginary part. */
static larmor_status upload(const number *x, larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                            larmor_array **out)
{
    const int64_t count = larmor_shape_count(shape);
    int is_complex = 0;
    for (int64_t i = 0; i < count && !is_complex; i++) is_complex = cimag(x[i]) != 0;
    if (is_complex) return larmor_array_upload(dev, dtype, shape, LARMOR_C128, x, out);
    LMR_HEAP LMR_NEW(double, real, count);
    for (int64_t i = 0; i < count; i++) real[i] = creal(x[i]);
    return larmor_array_upload(dev, lmr_real_of(dtype), shape, LARMOR_F64, real, out);
}

larmor_status larmor_basis_of_curves(larmor_array *curves, int64_t rank, double energy, larmor_array **basis,
                                     double *kept)
{
    LMR_NEED_OUT(basis, curves);
    LMR_REFUSE(curves->shape.ndim != 2 || larmor_array_count(curves) < 1, LARMOR_ERR_SHAPE,
               "basis: curves are %s, expected [frames, curves]", lmr_describe(curves).s);
    const int64_t frames = curves->shape.dim[0], count = curves->shape.dim[1];
    const int by_frames = frames <= count;
    const int64_t size = by_frames ? frames : count;
    LMR_REFUSE(rank < 0 || rank > size, LARMOR_ERR_ARG, "basis: rank is %lld, expected 1 to %lld for curves %s",
               (long long)rank, (long long)size, lmr_describe(curves).s);
    LMR_REFUSE(!(energy >= 0 && energy <= 1), LARMOR_ERR_ARG, "basis: energy is %g, expected a part of 1", energy);
    LMR_REFUSE(size > MOST, LARMOR_ERR_SHAPE, "basis: curves are %s, expected at most %d frames or %d curves",
               lmr_describe(curves).s, MOST, MOST);
    LMR_HEAP number *host = NULL, *vectors = calloc((size_t)(size * size), sizeof *vectors), *out = NULL;
    LMR_HEAP double *values = calloc((size_t)size, sizeof *values);
    double largest;
    if (!vectors || !values) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(curves, LARMOR_C128, &host));
    LMR_TRY(check_curves(host, frames * count, &largest));
    for (int64_t i = 0; i < frames * count; i++) host[i] /= largest; /* so that squares are no trouble */
    LMR_TRY(diagonalise(host, frames, count, by_frames, vectors, values));
    if (!rank) rank = enough(values, size, energy > 0 ? energy : MIN_ENERGY_PART);
    LMR_ALLOCATE_ZEROS(out, frames * rank);
    take_vectors(host, frames, count, by_frames, vectors, size, rank, out);
    if (kept) *kept = part_of(values, size, rank);
    return upload(out, curves->dev, LARMOR_C128, LARMOR_SHAPE(frames, rank), basis);
}

/* ---- at the samples ---- */

static larmor_status check_basis(const number *basis, int64_t frames, int64_t rank, const int *frame,
                                 int64_t readouts, int *is_complex)
{
    *is_complex = 0;
    for (int64_t i = 0; i < frames * rank; i++) {
        *is_complex |= cimag(basis[i]) != 0;
        LMR_REFUSE(!isfinite(creal(basis[i])) || !isfinite(cimag(basis[i])), LARMOR_ERR_NUMERIC,
                   "basis: coefficient %lld of frame %lld is not finite", (long long)(i / frames),
                   (long long)(i % frames));
    }
    for (int64_t r = 0; r < readouts; r++)
        LMR_REFUSE(frame[r] < 0 || frame[r] >= frames, LARMOR_ERR_ARG,
                   "basis: readout %lld is of frame %d, the basis has %lld", (long long)r, frame[r],
                   (long long)frames);
    return LARMOR_OK;
}

/* One column at a time, so that the host holds no more. */
static larmor_status spread(const number *basis, int64_t frames, const int *frame, larmor_array *factors)
{
    const int64_t samples = factors->shape.dim[0], readouts = factors->shape.dim[1];
    const int is_complex = lmr_is_complex(factors->dtype);
    LMR_HEAP double *column =
        malloc((size_t)(samples * readouts) * (is_complex ? sizeof(number) : sizeof(double)) + 1);
    if (!column) return LMR_NO_MEMORY();
    for (int64_t k = 0; k < factors->shape.dim[2]; k++) {
        for (int64_t i = 0; i < samples * readouts; i++) {
            const number b = basis[frame[i / samples] + frames * k];
            if (is_complex)
                ((number *)column)[i] = b;
            else
                column[i] = creal(b);
        }
        LMR_OWN(larmor_array, to, larmor_array_slice(factors, k, 1, &to));
        LMR_OWN(larmor_array, from,
                larmor_array_upload(factors->dev, factors->dtype, to->shape, is_complex ? LARMOR_C128 : LARMOR_F64,
                                    column, &from));
        LMR_TRY(
            factors->dev->be->copy(factors->dev->ctx, LMR_ON_DEVICE, to->data, from->data, larmor_array_bytes(to)));
    }
    return LARMOR_OK;
}

larmor_status larmor_basis_factors(larmor_array *basis, const int *frame, int64_t readouts, int64_t samples,
                                   larmor_device *dev, larmor_dtype dtype, larmor_array **factors)
{
    LMR_NEED_OUT(factors, basis, frame, dev);
    LMR_REFUSE(basis->shape.ndim != 2 || larmor_array_count(basis) < 1 || readouts < 1 || samples < 1,
               LARMOR_ERR_SHAPE, "basis: is %s for %lld readouts of %lld samples, expected [frames, coefficients]",
               lmr_describe(basis).s, (long long)readouts, (long long)samples);
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "basis: a complex type is needed");
    const int64_t frames = basis->shape.dim[0], rank = basis->shape.dim[1];
    int64_t count;
    LMR_REFUSE(!lmr_mul(samples, readouts, &count) || !lmr_mul(count, rank, &count) || count > INT64_C(1) << 48,
               LARMOR_ERR_SHAPE, "basis: too many samples");
    int is_complex;
    LMR_OWN_MEMORY(number, host, larmor_array_download(basis, LARMOR_C128, &host));
    LMR_TRY(check_basis(host, frames, rank, frame, readouts, &is_complex));
    LMR_TRY(larmor_array_create(dev, is_complex ? dtype : lmr_real_of(dtype), LARMOR_SHAPE(samples, readouts, rank),
                                factors));
    const larmor_status st = spread(host, frames, frame, *factors);
    if (st) LMR_CLEAR(*factors);
    return st;
}
