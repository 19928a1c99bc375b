/* Small linear algebra of gating: eigenvectors by Jacobi's rotations, and fits that are removed from channels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

enum { SWEEPS = 40 };

/* Rows and columns p and q of a, and rows p and q of v, are turned so that a(p, q) is zero. */
static void turn(int n, double *a, double *v, int p, int q)
{
    const double off = a[p * n + q];
    if (off == 0) return;
    const double apart = a[q * n + q] - a[p * n + p];
    const double sign = apart < 0 ? -1 : 1; /* the smaller of two angles */
    const double angle = 0.5 * atan2(sign * 2 * off, sign * apart), c = cos(angle), s = sin(angle);
    for (int k = 0; k < n; k++) {
        const double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        const double x = a[p * n + k], y = a[q * n + k], e = v[p * n + k], f = v[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
        v[p * n + k] = c * e - s * f;
        v[q * n + k] = s * e + c * f;
    }
}

static double off_diagonal(int n, const double *a)
{
    double sum = 0;
    for (int p = 0; p < n; p++)
        for (int q = 0; q < n; q++) sum += p == q ? 0 : a[p * n + q] * a[p * n + q];
    return sum;
}

static void sort(int n, double *value, double *v)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (value[j] > value[best]) best = j;
        const double one = value[i];
        value[i] = value[best];
        value[best] = one;
        for (int k = 0; k < n && best != i; k++) {
            const double entry = v[i * n + k];
            v[i * n + k] = v[best * n + k];
            v[best * n + k] = entry;
        }
    }
}

void lmr_gating_eigen(int n, double *a, double *value, double *v)
{
    double trace = 0;
    memset(v, 0, (size_t)n * (size_t)n * sizeof *v);
    for (int i = 0; i < n; i++) {
        v[i * n + i] = 1;
        trace += fabs(a[i * n + i]);
    }
    for (int sweep = 0; sweep < SWEEPS && off_diagonal(n, a) > 1e-28 * trace * trace; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) turn(n, a, v, p, q);
    for (int i = 0; i < n; i++) value[i] = a[i * n + i];
    sort(n, value, v);
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void take(double *from, const double *unit, int64_t count)
{
    const double part = dot(from, unit, count);
    for (int64_t i = 0; i < count; i++) from[i] -= part * unit[i];
}

void lmr_gating_remove(lmr_channels *all, double *column, int64_t columns)
{
    const int64_t count = all->count;
    for (int64_t j = 0; j < columns; j++) {
        double *one = column + j * count;
        const double before = sqrt(dot(one, one, count));
        for (int twice = 0; twice < 2; twice++) /* once would leave what rounding makes of columns that are alike */
            for (int64_t k = 0; k < j; k++) take(one, column + k * count, count);
        const double norm = sqrt(dot(one, one, count));
        const double scale = norm > 1e-7 * before ? 1 / norm : 0;
        for (int64_t i = 0; i < count; i++) one[i] *= scale;
    }
    for (int64_t c = 0; c < all->channels; c++)
        for (int64_t j = 0; j < columns; j++) take(all->x + c * count, column + j * count, count);
}

static int is_flat(const double *direction, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (fabs(direction[3 * i + 2]) > 1e-6) return 0;
    return 1;
}

/* All products of the direction's entries of this degree; those of two degrees span the harmonics of all lower ones.
 * Returns the columns used. */
static int64_t add_products(const double *direction, int64_t count, int degree, int flat, double *column)
{
    int64_t used = 0;
    for (int z = 0; z <= (flat ? 0 : degree); z++)
        for (int y = 0; y + z <= degree; y++) {
            for (int64_t i = 0; i < count; i++) {
                const double *d = direction + 3 * i;
                column[used * count + i] = pow(d[0], degree - y - z) * pow(d[1], y) * pow(d[2], z);
            }
            used++;
        }
    return used;
}

larmor_status lmr_gating_detrend(lmr_channels *all, const double *direction, const double *seconds)
{
    enum { TREND = 3, MOST = TREND + 49 };
    const int64_t count = all->count;
    int64_t used = TREND;
    LMR_HEAP LMR_NEW_ZEROS(double, column, MOST *count);
    double first = seconds[0], last = seconds[0];
    for (int64_t i = 0; i < count; i++) {
        first = fmin(first, seconds[i]);
        last = fmax(last, seconds[i]);
    }
    for (int64_t i = 0; i < count; i++) {
        const double t = 2 * (seconds[i] - first) / (last - first) - 1;
        column[i] = 1;
        column[count + i] = t;
        column[2 * count + i] = t * t;
    }
    if (direction) {
        const int flat = is_flat(direction, count);
        const int degree = flat ? 8 : 6;
        used += add_products(direction, count, degree, flat, column + used * count);
        used += add_products(direction, count, degree - 1, flat, column + used * count);
    }
    lmr_gating_remove(all, column, used);
    return LARMOR_OK;
}
