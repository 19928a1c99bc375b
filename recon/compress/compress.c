/* Coil compression by the singular value decomposition over coils (Buehrer et al. 2007, Huang et al. 2008).
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/compress.h"

#include <complex.h>

#include "core/core.h"
#include "recon/compress/compress_along_readout.h"
#include "recon/inputs.h"
#include "recon/lapack.h"
#include "recon/maps/maps.h"

/* Coils of an array, its last dimension; 0 if it has none. */
static int64_t coils_of(const larmor_array *x)
{
    return x && lmr_is_complex(x->dtype) && x->shape.ndim > 0 ? x->shape.dim[x->shape.ndim - 1] : 0;
}

/* ---- covariance ---- */

/* Sums of single precision are short, the sum of these is in double. */
enum { ROWS = 1 << 14 };

/* R <- R + scale G^T of the Gram matrix G = x^H x of some rows: R_ij = sum x_i conj(x_j) = G_ji. */
static void add_transposed(int64_t coils, double scale, const double complex *gram, double complex *sum)
{
    for (int64_t j = 0; j < coils; j++)
        for (int64_t i = 0; i < coils; i++) sum[i + coils * j] += scale * gram[j + coils * i];
}

static larmor_status covariance(const larmor_array *x, int64_t coils, double scale, double complex *sum)
{
    const int64_t samples = larmor_shape_count(larmor_shape_of(x->shape.ndim - 1, x->shape.dim));
    const size_t size = larmor_dtype_size(x->dtype);
    LMR_OWNED(larmor_array) *gram = NULL, *total = NULL, *piece = NULL;
    LMR_TRY(larmor_array_create(x->dev, x->dtype, LARMOR_SHAPE(coils, coils), &gram));
    LMR_TRY(larmor_array_create(x->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &total));
    for (int64_t first = 0; first < samples; first += ROWS) {
        const int64_t rows = samples - first < ROWS ? samples - first : ROWS;
        const char *at = (const char *)x->data + (size_t)first * size;
        LMR_TRY(lmr_go_on());
        LMR_TRY(lmr_la_of(x)->gemm(x->dev->ctx, 'C', 'N', coils, coils, rows, at, samples, at, samples, gram->data,
                                   coils));
        LMR_TRY(larmor_array_convert(gram, LARMOR_C128, &piece));
        LMR_TRY(larmor_axpby(1, piece, 1, total));
        LMR_CLEAR(piece);
    }
    LMR_OWN_MEMORY(double complex, host, larmor_array_download(total, LARMOR_C128, &host));
    add_transposed(coils, scale, host, sum);
    return LARMOR_OK;
}

enum { LEAST = 8 }; /* samples for each coil */

/* The points of the samples, checked. */
static larmor_status points_of(const larmor_array *kspace, const larmor_array *traj, larmor_array **points)
{
    const int64_t nd = traj->shape.ndim == 3 ? traj->shape.dim[0] : 0;
    const larmor_shape image = {.ndim = (int)nd, .dim = {1, 1, 1}};
    const larmor_shape samples = larmor_shape_of(kspace->shape.ndim - 1, kspace->shape.dim);
    LMR_REFUSE(nd < 1 || nd > 3 || !larmor_shape_equal(lmr_weights_shape(traj), samples), LARMOR_ERR_SHAPE,
               "coils: traj is %s, expected [nd, samples, readouts] of kspace %s", lmr_describe(traj).s,
               lmr_describe(kspace).s);
    return lmr_input_traj("coils", traj, image, points);
}

/* values [m, coils] of the samples in the centre; NULL where those are too few. */
static larmor_status centre_of(const larmor_array *kspace, const larmor_array *traj, double radius, int64_t coils,
                               larmor_array **values)
{
    const double radii[3] = {radius, radius, radius};
    LMR_FREED_BY(lmr_centre_free) lmr_centre centre = {0};
    LMR_OWN(larmor_array, points, points_of(kspace, traj, &points));
    LMR_TRY(lmr_centre_select(points, kspace->dtype, radii, &centre));
    if (centre.m < LEAST * coils) return LARMOR_OK;
    LMR_OWN(larmor_array, ones, larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(centre.m), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    return lmr_centre_gather(&centre, ones, kspace, coils, values);
}

larmor_status larmor_coils_covariance(const larmor_array *kspace, const larmor_array *traj, double radius,
                                      double scale, larmor_array *R, int64_t *count)
{
    const int64_t coils = coils_of(kspace);
    LMR_OWNED(larmor_array) *centre = NULL;
    if (count) *count = 0;
    LMR_REFUSE(coils < 1, LARMOR_ERR_SHAPE, "coils: kspace is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    LMR_TRY(lmr_expect("coils", "R", R, kspace->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils)));
    LMR_REFUSE(!isfinite(scale), LARMOR_ERR_ARG, "coils: scale is %g, expected a finite number", scale);
    LMR_REFUSE(traj && !(radius > 0 && isfinite(radius)), LARMOR_ERR_ARG,
               "coils: radius is %g, expected a finite number > 0", radius);
    if (traj) LMR_TRY(centre_of(kspace, traj, radius, coils, &centre));
    const larmor_array *taken = centre ? centre : kspace;
    LMR_OWN_MEMORY(double complex, sum, larmor_array_download(R, LARMOR_C128, &sum));
    LMR_TRY(covariance(taken, coils, scale, sum));
    LMR_TRY(larmor_array_write(R, sum, larmor_array_bytes(R)));
    if (count) *count = larmor_array_count(taken) / coils;
    return LARMOR_OK;
}

/* ---- the matrix ---- */

static larmor_status check(const larmor_array *R, const larmor_compression_opts *o)
{
    const int64_t coils = coils_of(R);
    LMR_REFUSE(coils < 1 || R->dtype != LARMOR_C128 || R->shape.ndim != 2 || R->shape.dim[0] != coils,
               LARMOR_ERR_SHAPE, "compression: R is %s, expected c128 [coils, coils]",
               R ? lmr_describe(R).s : "missing");
    LMR_REFUSE(o->coils < 0 || o->coils > coils, LARMOR_ERR_ARG,
               "compression: %lld virtual coils from %lld, expected 1 to %lld", (long long)o->coils, (long long)coils,
               (long long)coils);
    LMR_REFUSE(!(o->energy >= 0 && o->energy <= 1), LARMOR_ERR_ARG,
               "compression: energy is %g, expected a part between 0 and 1", o->energy);
    LMR_REFUSE(!(o->noise >= 0 && isfinite(o->noise)) || !(o->samples >= 0), LARMOR_ERR_ARG,
               "compression: noise is %g and samples %g, expected numbers of at least 0", o->noise, o->samples);
    return LARMOR_OK;
}

/* left[v]: energy of the signal that v virtual coils leave out, which is what exceeds the noise of the others;
 * twice the deviation of that noise's own energy is added, so that weak signals are not taken for noise. */
static void signal_left(int64_t coils, const double *eigenvalue, const larmor_compression_opts *o, double *left)
{
    double sum = 0;
    for (int64_t v = coils; v >= 0; v--) { /* eigenvalues ascend */
        const double others = (double)(coils - v);
        const double uncertainty = o->samples > 0 ? 2 * sqrt(others / o->samples) : 0;
        left[v] = fmax(0, sum - o->noise * (others - uncertainty));
        if (v > 0) sum += fmax(0, eigenvalue[coils - v]);
    }
}

/* How many coils, and which part of the signal they keep. */
static larmor_compression_report choose(int64_t coils, const double *left, const larmor_compression_opts *o)
{
    const double part = o->energy > 0 ? o->energy : LARMOR_COMPRESSION_ENERGY;
    larmor_compression_report report = {.coils = o->coils ? o->coils : 1};
    while (!o->coils && report.coils < coils && left[report.coils] > (1 - part) * left[0]) report.coils++;
    report.energy = left[0] > 0 ? fmax(0, 1 - left[report.coils] / left[0]) : 1;
    return report;
}

larmor_status larmor_compression(const larmor_array *R, const larmor_compression_opts *opts, larmor_array **C,
                                 larmor_compression_report *report)
{
    const larmor_compression_opts o = opts ? *opts : (larmor_compression_opts){0};
    LMR_NEED_OUT(C);
    if (report) *report = (larmor_compression_report){0};
    LMR_TRY(check(R, &o));
    const int64_t coils = R->shape.dim[0];
    double trace = 0;
    LMR_HEAP LMR_NEW_ZEROS(double, value, 2 * coils + 1);
    LMR_OWN_MEMORY(double complex, vector, larmor_array_download(R, LARMOR_C128, &vector));
    for (int64_t i = 0; i < coils; i++) trace += creal(vector[i + coils * i]);
    int solved = trace > 0 && isfinite(trace);
    if (solved) LMR_TRY(lmr_lapack_eigen(coils, vector, value, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "compression: the coils' energy is %g, expected a finite number > 0",
               trace);
    signal_left(coils, value, &o, value + coils);
    const larmor_compression_report found = choose(coils, value + coils, &o);
    LMR_HEAP LMR_NEW_ZEROS(double complex, row, found.coils *coils);
    for (int64_t i = 0; i < found.coils; i++) /* eigenvalues ascend */
        for (int64_t j = 0; j < coils; j++) row[i + found.coils * j] = conj(vector[j + coils * (coils - 1 - i)]);
    LMR_TRY(larmor_array_upload(R->dev, LARMOR_C128, LARMOR_SHAPE(found.coils, coils), LARMOR_C128, row, C));
    if (report) *report = found;
    return LARMOR_OK;
}

/* ---- to virtual coils and back ---- */

enum { AT_A_TIME = 1 << 20 }; /* samples, so that a stop is heard */

/* y [..., rows] <- M x over the last dimension, M [rows, columns] */
static larmor_status mix(const larmor_array *M, const larmor_array *x, larmor_array **y)
{
    const int last = x->shape.ndim - 1;
    const int64_t rows = M->shape.dim[0], columns = M->shape.dim[1];
    const int64_t samples = larmor_shape_count(larmor_shape_of(last, x->shape.dim));
    const size_t size = larmor_dtype_size(x->dtype);
    const larmor_shape shape = larmor_shape_append(larmor_shape_of(last, x->shape.dim), rows);
    LMR_OWN(larmor_array, matrix, larmor_array_convert(M, x->dtype, &matrix));
    LMR_OWN(larmor_array, mixed, larmor_array_create(x->dev, x->dtype, shape, &mixed));
    for (int64_t first = 0; first < samples; first += AT_A_TIME) {
        const int64_t count = samples - first < AT_A_TIME ? samples - first : AT_A_TIME;
        const size_t at = (size_t)first * size;
        LMR_TRY(lmr_go_on());
        LMR_TRY(lmr_la_of(x)->gemm(x->dev->ctx, 'N', 'T', count, rows, columns, (const char *)x->data + at, samples,
                                   matrix->data, rows, (char *)mixed->data + at, samples));
    }
    return LMR_HAND_ON(*y, mixed);
}

/* C and x fit, x having as many coils as C has in this dimension, and a place for each of C's matrices. */
static larmor_status expect_coils(const larmor_array *C, int dimension, const larmor_array *x)
{
    const int kinds = C && lmr_is_complex(C->dtype) && (C->shape.ndim == 2 || C->shape.ndim == 3);
    LMR_REFUSE(!kinds || C->shape.dim[0] < 1 || C->shape.dim[1] < 1, LARMOR_ERR_SHAPE,
               "compression: C is %s, expected complex [virtual coils, coils(, places)]",
               C ? lmr_describe(C).s : "missing");
    const int64_t coils = C->shape.dim[dimension];
    LMR_REFUSE(coils_of(x) != coils || x->dev != C->dev, LARMOR_ERR_SHAPE,
               "compression: x is %s, expected complex [..., %lld] on %s", x ? lmr_describe(x).s : "missing",
               (long long)coils, larmor_device_spec(C->dev));
    LMR_REFUSE(C->shape.ndim > 2 && (x->shape.ndim < 2 || x->shape.dim[0] != C->shape.dim[2]), LARMOR_ERR_SHAPE,
               "compression: x is %s, expected complex [%lld, ..., %lld] for C %s", lmr_describe(x).s,
               (long long)C->shape.dim[2], (long long)coils, lmr_describe(C).s);
    return LARMOR_OK;
}

/* All of C's matrices turned round: [coils, virtual coils(, places)] with C^H of each. */
static larmor_status adjoint_of(const larmor_array *C, larmor_array **back)
{
    const int64_t rows = C->shape.dim[0], columns = C->shape.dim[1], count = larmor_array_count(C);
    larmor_shape shape = C->shape;
    LMR_HEAP double complex *matrix = NULL, *adjoint = lmr_new(count, sizeof *adjoint);
    if (!adjoint) return LMR_NO_MEMORY();
    shape.dim[0] = columns;
    shape.dim[1] = rows;
    LMR_TRY(larmor_array_download(C, LARMOR_C128, &matrix));
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = i / (rows * columns), row = i % rows, column = i / rows % columns;
        adjoint[place * rows * columns + column + columns * row] = conj(matrix[i]);
    }
    return larmor_array_upload(C->dev, LARMOR_C128, shape, LARMOR_C128, adjoint, back);
}

larmor_status larmor_compress_coils(const larmor_array *C, const larmor_array *x, larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_TRY(expect_coils(C, 1, x));
    return C->shape.ndim > 2 ? lmr_mix_places(C, x, y) : mix(C, x, y);
}

larmor_status larmor_expand_coils(const larmor_array *C, const larmor_array *x, larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_TRY(expect_coils(C, 0, x));
    LMR_OWN(larmor_array, back, adjoint_of(C, &back));
    return C->shape.ndim > 2 ? lmr_mix_places(back, x, y) : mix(back, x, y);
}
