/* Geometric coil compression: for each place along fully sampled readouts a matrix of its own.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where readouts are fully sampled, each place along them is a problem of its own, in which coils differ in the
 * other directions alone, so that fewer virtual coils hold the signal. The best ones of a place are determined up
 * to a unitary factor, which is chosen so that they are as near as possible to those of the place before: the
 * sensitivities of virtual coils are smooth then.
 *
 * Few lines give few samples at a place, and of many coils those would tell noise. So the coils are first
 * compressed by one matrix, to what holds a little more than is asked for, and covariances are averaged over
 * neighbouring places. Over how many is what predicts best: virtual coils from half of the lines are to hold the
 * other half.
 *
 * Source  Zhang, Pauly, Vasanawala, Lustig, Magn. Reson. Med. 69, 571 (2013). */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"
#include "recon/lapack.h"
#include "recon/maps/maps.h"

static const double pi = 3.14159265358979323846;

/* ---- covariances ---- */

enum { PARTS = LARMOR_GEOMETRIC_PARTS };

/* The samples of the centre on the host, those of a readout after each other as they are in the scan. */
typedef struct centre_samples {
    int64_t m, coils;
    double *k, *weight;     /* [m]: along the readout; Hann's window */
    int64_t *readout;       /* [m] */
    double complex *values; /* [m, coils] */
} centre_samples;

LMR_FREES(centre_samples_free, centre_samples, k, weight, readout, values)

static larmor_status read_centre(const larmor_array *kspace, const larmor_array *traj, double radius,
                                 centre_samples *s)
{
    const int64_t nd = traj->shape.dim[0], coils = kspace->shape.dim[2];
    const larmor_shape image = {.ndim = (int)nd, .dim = {1, 1, 1}};
    const double radii[3] = {radius, radius, radius};
    LMR_FREED_BY(lmr_centre_free) lmr_centre centre = {0};
    *s = (centre_samples){.coils = coils};
    LMR_OWN(larmor_array, points, lmr_input_traj("coils", traj, image, &points));
    LMR_TRY(lmr_centre_select(points, kspace->dtype, radii, &centre));
    if (!centre.m) return LARMOR_OK;
    LMR_OWN(larmor_array, ones, larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(centre.m), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(centre.kernels->taper(kspace->dev->ctx, (int)nd, centre.m, centre.points->data, radii, ones->data));
    LMR_OWN(larmor_array, values, lmr_centre_gather(&centre, ones, kspace, coils, &values));
    LMR_TRY(larmor_array_download(values, LARMOR_C128, &s->values));
    LMR_TRY(larmor_array_download(ones, LARMOR_F64, &s->weight));
    LMR_OWN(larmor_array, chosen, larmor_array_slice(centre.index, 0, centre.m, &chosen));
    LMR_TRY(larmor_array_download(chosen, LARMOR_I64, &s->readout));
    LMR_OWN_MEMORY(double, k, larmor_array_download(centre.points, LARMOR_F64, &k));
    s->m = centre.m;
    LMR_ALLOCATE(s->k, s->m);
    for (int64_t j = 0; j < s->m; j++) {
        s->k[j] = k[nd * j];
        s->readout[j] /= traj->shape.dim[1];
    }
    return LARMOR_OK;
}

/* line [places, coils] <- the transform of samples first .. last - 1, of one readout; its norm is theirs. */
static void transform(const centre_samples *s, int64_t first, int64_t last, int64_t places, double complex *line)
{
    memset(line, 0, (size_t)(places * s->coils) * sizeof *line);
    for (int64_t j = first; j < last; j++)
        for (int64_t p = 0; p < places; p++) {
            const double r = (double)(p - places / 2) / (double)places;
            const double complex turn = cexp(2 * pi * I * s->k[j] * r) / sqrt((double)places);
            for (int64_t c = 0; c < s->coils; c++) line[c + s->coils * p] += turn * s->values[j + s->m * c];
        }
}

/* R [coils, coils, places] <- R + scale y y^H of each place of a line. */
static void add_line(const double complex *line, int64_t coils, int64_t places, double scale, double complex *R)
{
    for (int64_t p = 0; p < places; p++, R += coils * coils, line += coils)
        for (int64_t j = 0; j < coils; j++)
            for (int64_t i = 0; i < coils; i++) R[i + coils * j] += scale * line[i] * conj(line[j]);
}

static larmor_status check_along(const larmor_array *kspace, const larmor_array *traj, double radius, double scale,
                                 const larmor_array *R)
{
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "coils: kspace is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    LMR_REFUSE(!traj || traj->shape.ndim != 3 || traj->shape.dim[0] < 1 || traj->shape.dim[0] > 3 ||
                   traj->shape.dim[1] != kspace->shape.dim[0] || traj->shape.dim[2] != kspace->shape.dim[1],
               LARMOR_ERR_SHAPE, "coils: traj is %s, expected [nd, samples, readouts] of kspace %s",
               traj ? lmr_describe(traj).s : "missing", lmr_describe(kspace).s);
    LMR_REFUSE(!(radius > 0 && radius < 1e6) || !isfinite(scale), LARMOR_ERR_ARG,
               "coils: radius %g and scale %g, expected finite numbers, radius > 0", radius, scale);
    const int64_t coils = kspace->shape.dim[2];
    LMR_REFUSE(!R || R->dtype != LARMOR_C128 || R->dev != kspace->dev || R->shape.ndim != 4 ||
                   R->shape.dim[0] != coils || R->shape.dim[1] != coils || (double)R->shape.dim[2] < 2 * radius ||
                   R->shape.dim[3] != PARTS,
               LARMOR_ERR_SHAPE, "coils: R is %s, expected c128 [%lld, %lld, at least %g places, %d]",
               R ? lmr_describe(R).s : "missing", (long long)coils, (long long)coils, 2 * radius, PARTS);
    return LARMOR_OK;
}

larmor_status larmor_coils_covariance_along(const larmor_array *kspace, const larmor_array *traj, double radius,
                                            double scale, larmor_array *R, double *count)
{
    LMR_FREED_BY(centre_samples_free) centre_samples s = {0};
    if (count) *count = 0;
    LMR_TRY(check_along(kspace, traj, radius, scale, R));
    const int64_t coils = kspace->shape.dim[2], places = R->shape.dim[2], size = coils * coils * places;
    LMR_TRY(read_centre(kspace, traj, radius, &s));
    LMR_OWN_MEMORY(double complex, sum, larmor_array_download(R, LARMOR_C128, &sum));
    LMR_HEAP LMR_NEW(double complex, line, places *coils);
    int64_t lines = 0;
    double energy = 0;
    for (int64_t first = 0, last; first < s.m; first = last, lines++) {
        LMR_TRY(lmr_go_on());
        for (last = first; last < s.m && s.readout[last] == s.readout[first]; last++)
            energy += s.weight[last] * s.weight[last];
        transform(&s, first, last, places, line);
        add_line(line, coils, places, scale, sum + size * (lines % PARTS));
    }
    if (count) *count = energy;
    return larmor_array_write(R, sum, larmor_array_bytes(R));
}

/* ---- the matrices ---- */

/* Averages over neighbouring places, in parts of all of them; the last is one matrix for all. */
static const double widths[] = {0, 1. / 16, 1. / 8, 1. / 4, 1. / 2, INFINITY};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* A little of all places: where there is no signal the coils are those of the whole. */
static const double whole_part = 1e-3;

/* Of the part that may be left out, that of the first compression. Not measured: most is left to the second one. */
static const double first_part_left_out = 0.25;

typedef struct work {
    int64_t coils, places;       /* after the first compression */
    double complex *part[PARTS]; /* [coils, coils, places] */
    double complex *whole;       /* their sum */
    double complex *others;      /* all parts but one */
    double complex *smooth;      /* [coils, coils, places], averages of neighbours */
    double complex *vector;      /* their eigenvectors, that of the largest eigenvalue last */
    double complex *product;     /* [coils, coils] */
    double *value;               /* [coils] */
    double *left; /* [WIDTHS][coils + 1]: energy of each part that so many coils from the others leave out */
} work;

static void work_free(work *w)
{
    for (int i = 0; i < PARTS; i++) free(w->part[i]);
    LMR_FREE(w->whole, w->others, w->smooth, w->vector, w->product, w->value, w->left);
}

static larmor_status work_create(int64_t coils, int64_t places, work *w)
{
    const int64_t all = coils * coils * places;
    *w = (work){.coils = coils, .places = places};
    int missing = 0;
    for (int i = 0; i < PARTS; i++) {
        w->part[i] = lmr_new(all, sizeof *w->part[i]);
        missing |= !w->part[i];
    }
    w->whole = calloc((size_t)all, sizeof *w->whole);
    w->others = lmr_new(all, sizeof *w->others);
    w->smooth = lmr_new(all, sizeof *w->smooth);
    w->vector = lmr_new(all, sizeof *w->vector);
    w->product = lmr_new(coils * coils, sizeof *w->product);
    w->value = lmr_new(coils, sizeof *w->value);
    w->left = calloc((size_t)(WIDTHS * (coils + 1)), sizeof *w->left);
    if (!missing && w->whole && w->others && w->smooth && w->vector && w->product && w->value && w->left)
        return LARMOR_OK;
    work_free(w);
    return LMR_NO_MEMORY();
}

/* out [rows, rows] <- C R C^H, C [rows, columns] */
static void project(const double complex *C, int64_t rows, int64_t columns, const double complex *R,
                    double complex *between, double complex *out)
{
    memset(between, 0, (size_t)(rows * columns) * sizeof *between);
    memset(out, 0, (size_t)(rows * rows) * sizeof *out);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < columns; k++)
            for (int64_t i = 0; i < rows; i++) between[i + rows * j] += C[i + rows * k] * R[k + columns * j];
    for (int64_t j = 0; j < rows; j++)
        for (int64_t k = 0; k < columns; k++)
            for (int64_t i = 0; i < rows; i++) out[i + rows * j] += between[i + rows * k] * conj(C[j + rows * k]);
}

/* smooth <- averages of R over neighbours, by Hann's window, and a little of all. */
static void average(work *w, const double complex *R, double width)
{
    const int64_t n = w->coils * w->coils;
    const int64_t reach = isinf(width) ? w->places : (int64_t)(width * (double)w->places);
    double complex *all = w->product;
    memset(all, 0, (size_t)n * sizeof *all);
    for (int64_t p = 0; p < w->places; p++)
        for (int64_t i = 0; i < n; i++) all[i] += R[i + n * p] / (double)w->places;
    for (int64_t p = 0; p < w->places; p++) {
        double complex *sum = w->smooth + n * p;
        double total = 0;
        for (int64_t i = 0; i < n; i++) sum[i] = 0;
        for (int64_t q = p - reach; q <= p + reach; q++) {
            if (q < 0 || q >= w->places) continue;
            const double near = cos(pi / 2 * (double)(q - p) / (double)(reach + 1));
            const double weight = isinf(width) ? 1 : near * near;
            for (int64_t i = 0; i < n; i++) sum[i] += weight * R[i + n * q];
            total += weight;
        }
        for (int64_t i = 0; i < n; i++) sum[i] = sum[i] / total + whole_part * all[i];
    }
}

/* vector <- the eigenvectors of smooth */
static larmor_status decompose(work *w)
{
    const int64_t n = w->coils * w->coils;
    int solved;
    memcpy(w->vector, w->smooth, (size_t)(n * w->places) * sizeof *w->vector);
    for (int64_t p = 0; p < w->places; p++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(lmr_lapack_eigen(w->coils, w->vector + n * p, w->value, &solved));
        LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "compression: no eigenvectors of the coils' covariance at a place");
    }
    return LARMOR_OK;
}

/* Re v^H R v */
static double energy_along(const double complex *v, const double complex *R, int64_t coils)
{
    double sum = 0;
    for (int64_t j = 0; j < coils; j++) {
        double complex column = 0;
        for (int64_t i = 0; i < coils; i++) column += conj(v[i]) * R[i + coils * j];
        sum += creal(column * v[j]);
    }
    return sum;
}

/* left[v] <- left[v] + what v virtual coils by the eigenvectors leave out of R. */
static void add_left(const work *w, const double complex *R, double *left)
{
    const int64_t n = w->coils * w->coils;
    for (int64_t p = 0; p < w->places; p++) {
        double sum = 0;
        for (int64_t v = w->coils - 1; v >= 0; v--) { /* eigenvalues ascend */
            const double complex *last = w->vector + n * p + w->coils * (w->coils - 1 - v);
            sum += energy_along(last, R + n * p, w->coils);
            left[v] += sum;
        }
    }
}

/* How much of each part the coils from the others leave out, for each width. */
static larmor_status predict(work *w)
{
    const int64_t count = w->coils * w->coils * w->places;
    for (int h = 0; h < PARTS; h++) {
        for (int64_t i = 0; i < count; i++) w->others[i] = w->whole[i] - w->part[h][i];
        for (int i = 0; i < WIDTHS; i++) {
            average(w, w->others, widths[i]);
            LMR_TRY(decompose(w));
            add_left(w, w->part[h], w->left + i * (w->coils + 1));
        }
    }
    return LARMOR_OK;
}

/* The part of the signal that v coils leave out, with the best of the widths. */
static double least_left(const work *w, const larmor_compression_opts *o, double signal, int64_t v, int *width)
{
    const double others = (double)(w->coils - v);
    const double uncertainty = o->samples > 0 ? 2 * sqrt(others / o->samples) : 0;
    double least = INFINITY;
    for (int i = 0; i < WIDTHS; i++) {
        const double left = w->left[v + i * (w->coils + 1)];
        if (left >= least) continue;
        least = left;
        *width = i;
    }
    return fmax(0, least - o->noise * (others - uncertainty)) / signal;
}

/* U <- the unitary factor that is nearest to M, both [n, n]; M is lost. */
static larmor_status nearest_unitary(int64_t n, double complex *M, double complex *U)
{
    LMR_HEAP LMR_NEW(double complex, left, 2 * n * n);
    LMR_HEAP LMR_NEW(double, value, 2 * n);
    int solved = 0;
    LMR_TRY(lmr_lapack_svd(n, M, value, left, left + n * n, value + n, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "compression: virtual coils of neighbouring places cannot be aligned");
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            U[i + n * j] = 0;
            for (int64_t k = 0; k < n; k++) U[i + n * j] += left[i + n * k] * left[n * n + k + n * j];
        }
    return LARMOR_OK;
}

/* out [rows, rows] <- A B^H of [rows, columns] */
static void outer(const double complex *A, const double complex *B, int64_t rows, int64_t columns,
                  double complex *out)
{
    for (int64_t j = 0; j < rows; j++)
        for (int64_t i = 0; i < rows; i++) {
            double complex sum = 0;
            for (int64_t c = 0; c < columns; c++) sum += A[i + rows * c] * conj(B[j + rows * c]);
            out[i + rows * j] = sum;
        }
}

/* A [rows, columns] <- U A */
static void turn(const double complex *U, int64_t rows, int64_t columns, double complex *A, double complex *copy)
{
    memcpy(copy, A, (size_t)(rows * columns) * sizeof *copy);
    for (int64_t c = 0; c < columns; c++)
        for (int64_t i = 0; i < rows; i++) {
            A[i + rows * c] = 0;
            for (int64_t k = 0; k < rows; k++) A[i + rows * c] += U[i + rows * k] * copy[k + rows * c];
        }
}

/* Each place's coils as near as they can be to those of the place before, from the strongest place on. */
static larmor_status align(const work *w, int64_t rows, double complex *A)
{
    const int64_t n = rows * w->coils;
    LMR_HEAP double complex *M = lmr_new(2 * rows * rows + n, sizeof *M);
    double complex *U = M + rows * rows, *copy = U + rows * rows;
    int64_t strongest = 0;
    double most = -1;
    if (!M) return LMR_NO_MEMORY();
    for (int64_t p = 0; p < w->places; p++) {
        double trace = 0;
        for (int64_t i = 0; i < w->coils; i++) trace += creal(w->smooth[i + w->coils * i + w->coils * w->coils * p]);
        if (trace > most) strongest = p;
        if (trace > most) most = trace;
    }
    for (int way = -1; way <= 1; way += 2)
        for (int64_t p = strongest + way; p >= 0 && p < w->places; p += way) {
            outer(A + n * (p - way), A + n * p, rows, w->coils, M);
            LMR_TRY(nearest_unitary(rows, M, U));
            turn(U, rows, w->coils, A + n * p, copy);
        }
    return LARMOR_OK;
}

/* The rows of A [rows, columns], made orthonormal with as little change as can be: (A A^H)^(-1/2) A. */
static larmor_status orthonormal(int64_t rows, int64_t columns, double complex *A)
{
    LMR_HEAP double complex *M = lmr_new(2 * rows * rows + rows * columns, sizeof *M);
    LMR_HEAP double *value = lmr_new(rows, sizeof *value);
    int solved;
    if (!M || !value) return LMR_NO_MEMORY();
    outer(A, A, rows, columns, M);
    LMR_TRY(lmr_lapack_eigen(rows, M, value, &solved));
    LMR_REFUSE(!solved || !(value[0] > 0), LARMOR_ERR_NUMERIC,
               "compression: virtual coils of neighbouring places are too different");
    double complex *root = M + rows * rows;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            root[i + rows * j] = 0;
            for (int64_t k = 0; k < rows; k++)
                root[i + rows * j] += M[i + rows * k] * conj(M[j + rows * k]) / sqrt(value[k]);
        }
    turn(root, rows, columns, A, root + rows * rows);
    return LARMOR_OK;
}

/* C [rows, all, n] <- the coils of n places between those of A [rows, coils, places], times first [coils, all]. */
static larmor_status interpolate(const work *w, int64_t rows, const double complex *A, const double complex *first,
                                 int64_t all, int64_t n, double complex *C)
{
    const int64_t size = rows * w->coils;
    LMR_HEAP LMR_NEW(double complex, here, size);
    for (int64_t i = 0; i < n; i++, C += rows * all) {
        const double at = ((double)(i - n / 2) / (double)n) * (double)w->places + (double)(w->places / 2);
        const double inside = fmin(fmax(at, 0), (double)(w->places - 1));
        const int64_t low = inside >= (double)(w->places - 1) ? w->places - 2 : (int64_t)inside;
        const double part = inside - (double)low;
        for (int64_t j = 0; j < size; j++) here[j] = (1 - part) * A[j + size * low] + part * A[j + size * (low + 1)];
        LMR_TRY(orthonormal(rows, w->coils, here));
        for (int64_t c = 0; c < all; c++)
            for (int64_t r = 0; r < rows; r++) {
                C[r + rows * c] = 0;
                for (int64_t k = 0; k < w->coils; k++)
                    C[r + rows * c] += here[r + rows * k] * first[k + w->coils * c];
            }
    }
    return LARMOR_OK;
}

/* The sum over all places and parts, on R's device. */
static larmor_status whole_of(const larmor_array *R, const double complex *values, larmor_array **whole)
{
    const int64_t coils = R->shape.dim[0], n = coils * coils, count = R->shape.dim[2] * R->shape.dim[3];
    LMR_HEAP LMR_NEW_ZEROS(double complex, sum, n);
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < n; i++) sum[i] += values[i + n * p];
    return larmor_array_upload(R->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), LARMOR_C128, sum, whole);
}

/* The covariances of the coils after the first compression. */
static larmor_status begin(const larmor_array *R, const double complex *values, const double complex *first,
                           int64_t coils, work *w)
{
    const int64_t all = R->shape.dim[0], places = R->shape.dim[2];
    LMR_TRY(work_create(coils, places, w));
    LMR_HEAP double complex *between = lmr_new(coils * all, sizeof *between);
    if (!between) {
        work_free(w);
        return LMR_NO_MEMORY();
    }
    for (int64_t p = 0; p < PARTS * places; p++)
        project(first, coils, all, values + all * all * p, between,
                w->part[p / places] + coils * coils * (p % places));
    for (int h = 0; h < PARTS; h++)
        for (int64_t i = 0; i < coils * coils * places; i++) w->whole[i] += w->part[h][i];
    return LARMOR_OK;
}

/* Real traces of all the matrices. */
static double trace_of(const double complex *R, int64_t coils, int64_t count)
{
    double sum = 0;
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < coils; i++) sum += creal(R[i + coils * i + coils * coils * p]);
    return sum;
}

/* How many coils, and the width for them. missing: the part that the first compression leaves out. */
static larmor_compression_report choose(const work *w, const larmor_compression_opts *o, double signal,
                                        double missing, int *width)
{
    const double allowed = 1 - (o->energy > 0 ? o->energy : LARMOR_COMPRESSION_ENERGY);
    larmor_compression_report report = {.coils = o->coils ? o->coils : 1};
    double left = least_left(w, o, signal, report.coils, width);
    while (!o->coils && report.coils < w->coils && missing + left > allowed)
        left = least_left(w, o, signal, ++report.coils, width);
    report.energy = fmin(1, fmax(0, 1 - missing - left));
    return report;
}

/* C [coils, all, n] from what is known. */
static larmor_status make(work *w, const larmor_array *R, int64_t rows, int width, const double complex *first,
                          int64_t n, larmor_array **C)
{
    const int64_t all = R->shape.dim[0];
    LMR_HEAP LMR_NEW(double complex, A, rows * w->coils * w->places);
    LMR_HEAP LMR_NEW(double complex, out, rows *all *n);
    average(w, w->whole, widths[width]);
    LMR_TRY(decompose(w));
    for (int64_t p = 0; p < w->places; p++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < w->coils; c++)
                A[r + rows * (c + w->coils * p)] = conj(w->vector[c + w->coils * (w->coils - 1 - r + w->coils * p)]);
    LMR_TRY(align(w, rows, A));
    LMR_TRY(interpolate(w, rows, A, first, all, n, out));
    return larmor_array_upload(R->dev, LARMOR_C128, LARMOR_SHAPE(rows, all, n), LARMOR_C128, out, C);
}

static larmor_status check(const larmor_array *R, int64_t n, const larmor_compression_opts *o)
{
    LMR_REFUSE(!R || R->dtype != LARMOR_C128 || R->shape.ndim != 4 || R->shape.dim[0] != R->shape.dim[1] ||
                   R->shape.dim[2] < 2 || R->shape.dim[3] != PARTS,
               LARMOR_ERR_SHAPE, "compression: R is %s, expected c128 [coils, coils, places, %d]",
               R ? lmr_describe(R).s : "missing", PARTS);
    int64_t count;
    LMR_REFUSE(n < 1 || !lmr_mul(R->shape.dim[0] * R->shape.dim[0], n, &count), LARMOR_ERR_ARG,
               "compression: %lld places, expected 1 or more", (long long)n);
    LMR_REFUSE(!(o->noise >= 0 && isfinite(o->noise)) || !(o->samples >= 0), LARMOR_ERR_ARG,
               "compression: noise is %g and samples %g, expected numbers of at least 0", o->noise, o->samples);
    return LARMOR_OK;
}

larmor_status larmor_geometric_compression(const larmor_array *R, int64_t n, const larmor_compression_opts *opts,
                                           larmor_array **C, larmor_compression_report *report)
{
    larmor_compression_opts o = opts ? *opts : (larmor_compression_opts){0};
    LMR_NEED_OUT(C);
    if (report) *report = (larmor_compression_report){0};
    LMR_TRY(check(R, n, &o));
    const double energy = o.energy > 0 ? o.energy : LARMOR_COMPRESSION_ENERGY;
    larmor_compression_report before, found;
    larmor_compression_opts more = o;
    LMR_FREED_BY(work_free) work w = {0};
    int width = 0;
    more.energy = 1 - first_part_left_out * (1 - energy);
    more.coils = 0;
    LMR_OWN_MEMORY(double complex, values, larmor_array_download(R, LARMOR_C128, &values));
    LMR_OWN(larmor_array, whole, whole_of(R, values, &whole));
    LMR_OWN(larmor_array, one, larmor_compression(whole, &more, &one, &before));
    if (o.coils > before.coils) {
        LMR_CLEAR(one);
        more.coils = o.coils;
        LMR_TRY(larmor_compression(whole, &more, &one, &before));
    }
    LMR_OWN_MEMORY(double complex, first, larmor_array_download(one, LARMOR_C128, &first));
    LMR_TRY(begin(R, values, first, before.coils, &w));
    LMR_TRY(predict(&w));
    const double all = trace_of(values, R->shape.dim[0], PARTS * R->shape.dim[2]);
    const double signal = fmax(all - o.noise * (double)R->shape.dim[0], 1e-12 * all);
    found = choose(&w, &o, signal, 1 - before.energy, &width);
    LMR_TRY(make(&w, R, found.coils, width, first, n, C));
    if (report) *report = found;
    return LARMOR_OK;
}
