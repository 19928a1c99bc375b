/* The likelihood of samples that are a Gaussian process: covariance, its Cholesky factor, inverse and derivatives.
 *
 * An object within a field of view makes k-space smooth, so that neighbouring samples predict each other. With
 * voxels of variance exp(-r^2 / (2 s^2)) the covariance of two samples is exp(-2 pi^2 s^2 |k_i - k_j|^2).
 *
 * Source: Rasmussen, Williams, Gaussian Processes for Machine Learning (2006), chapter 5 for the derivatives.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/likelihood.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };

static double dot(const double *x, const double *y, int64_t n)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) lane[l] += x[i + l] * y[i + l];
    for (; i < n; i++) sum += x[i] * y[i];
    for (int l = 0; l < LANES; l++) sum += lane[l];
    return sum;
}

/* y <- y - sum over r of scale[r] x[r stride + ...], four rows at a time. */
static void subtract_rows(double *restrict y, int64_t n, const double *scale, int64_t scale_stride, const double *x,
                          int64_t stride, int64_t rows)
{
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const double a = scale[r * scale_stride], b = scale[(r + 1) * scale_stride];
        const double c = scale[(r + 2) * scale_stride], d = scale[(r + 3) * scale_stride];
        const double *restrict x0 = x + r * stride, *restrict x1 = x0 + stride;
        const double *restrict x2 = x1 + stride, *restrict x3 = x2 + stride;
        for (int64_t i = 0; i < n; i++) y[i] -= a * x0[i] + b * x1[i] + c * x2[i] + d * x3[i];
    }
    for (; r < rows; r++)
        for (int64_t i = 0; i < n; i++) y[i] -= scale[r * scale_stride] * x[r * stride + i];
}

/* K, upper half by rows, becomes U with K = U^T U, and zeros below. */
static larmor_status factorise(double *K, int64_t m, double *log_determinant)
{
    *log_determinant = 0;
    for (int64_t i = 0; i < m; i++) {
        double *row = K + m * i;
        subtract_rows(row + i, m - i, K + i, m, K + i, m, i);
        LMR_REFUSE(!(row[i] > 0), LARMOR_ERR_NUMERIC, "delays: the covariance of samples is singular");
        const double root = sqrt(row[i]);
        for (int64_t j = i; j < m; j++) row[j] /= root;
        memset(row, 0, sizeof *row * (size_t)i);
        *log_determinant += 2 * log(root);
    }
    return LARMOR_OK;
}

/* Y <- inv(K) Y, Y [columns] to a row. */
static void solve(const double *U, int64_t m, double *Y, int64_t columns)
{
    for (int64_t i = 0; i < m; i++) {
        subtract_rows(Y + columns * i, columns, U + i, m, Y, columns, i);
        for (int64_t c = 0; c < columns; c++) Y[columns * i + c] /= U[m * i + i];
    }
    for (int64_t i = m - 1; i >= 0; i--) {
        subtract_rows(Y + columns * i, columns, U + m * i + i + 1, 1, Y + columns * (i + 1), columns, m - 1 - i);
        for (int64_t c = 0; c < columns; c++) Y[columns * i + c] /= U[m * i + i];
    }
}

/* U <- inv(U), upper triangular; row: [m] of work. */
static void invert(double *U, int64_t m, double *row)
{
    for (int64_t i = m - 1; i >= 0; i--) {
        memset(row, 0, sizeof *row * (size_t)m);
        row[i] = 1;
        subtract_rows(row + i + 1, m - i - 1, U + m * i + i + 1, 1, U + m * (i + 1) + i + 1, m, m - i - 1);
        const double diagonal = U[m * i + i];
        for (int64_t j = i; j < m; j++) U[m * i + j] = row[j] / diagonal;
    }
}

int64_t lmr_likelihood_work(int64_t m, int64_t columns)
{
    return 2 * m * m + m * columns + m;
}

static double distance(const lmr_sampled *s, int64_t i, int64_t j)
{
    double square = 0;
    for (int d = 0; d < s->nd; d++) {
        const double apart = s->place[s->nd * i + d] - s->place[s->nd * j + d];
        square += apart * apart;
    }
    return square;
}

/* How the value changes with each place and with the size: the sum over i, j of M_ij dK_ij, where M is the change
 * with the covariance. */
static void differentiate(const lmr_sampled *s, double size, double noise, const double *K, const double *V,
                          const double *A, double misfit, lmr_likelihood *out)
{
    const double rate = 4 * M_PI * M_PI * size * size, coils = (double)s->columns / 2;
    const int64_t m = s->m;
    memset(out->by_place, 0, sizeof *out->by_place * (size_t)(s->nd * m));
    out->by_size = 0;
    out->by_noise = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i; j < m; j++) {
            const double inverse = dot(V + m * i + j, V + m * j + j, m - j);
            const double both = dot(A + s->columns * i, A + s->columns * j, s->columns);
            const double change = coils * inverse - (double)m * coils / misfit * both;
            if (i == j) {
                out->by_noise += noise * change;
                continue;
            }
            const double scaled = 2 * change * rate * K[m * i + j];
            out->by_size -= scaled * distance(s, i, j);
            for (int d = 0; d < s->nd; d++) {
                const double apart = s->place[s->nd * i + d] - s->place[s->nd * j + d];
                out->by_place[s->nd * i + d] -= scaled * apart;
                out->by_place[s->nd * j + d] += scaled * apart;
            }
        }
}

larmor_status lmr_likelihood_of(const lmr_sampled *s, double size, double noise, double *work, lmr_likelihood *out)
{
    const int64_t m = s->m;
    const double rate = 2 * M_PI * M_PI * size * size, coils = (double)s->columns / 2;
    double *K = work, *U = K + m * m, *A = U + m * m, *row = A + m * s->columns, log_determinant;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i; j < m; j++) K[m * i + j] = exp(-rate * distance(s, i, j));
    memcpy(U, K, sizeof *K * (size_t)(m * m));
    for (int64_t i = 0; i < m; i++) U[m * i + i] += noise;
    LMR_TRY(factorise(U, m, &log_determinant));
    memcpy(A, s->value, sizeof *A * (size_t)(m * s->columns));
    solve(U, m, A, s->columns);
    const double misfit = dot(s->value, A, m * s->columns);
    LMR_REFUSE(!(misfit > 0), LARMOR_ERR_NUMERIC, "delays: the samples are zero or not finite");
    out->value = (double)m * coils * log(misfit) + coils * log_determinant;
    if (!out->by_place) return LARMOR_OK;
    invert(U, m, row);
    differentiate(s, size, noise, K, U, A, misfit, out);
    return LARMOR_OK;
}
