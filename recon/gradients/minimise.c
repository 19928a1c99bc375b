/* The least value of a smooth function of a few numbers. SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/minimise.h"

#include <math.h>
#include <string.h>

typedef struct search {
    int n;
    double x[LMR_MINIMISE_MOST], gradient[LMR_MINIMISE_MOST], value; /* in units of the scale */
    double inverse[LMR_MINIMISE_MOST][LMR_MINIMISE_MOST];            /* of the Hessian, about */
    int learned;                                                     /* steps in its memory */
} search;

static void forget(search *s)
{
    s->learned = 0;
    memset(s->inverse, 0, sizeof s->inverse);
    const double size = sqrt(lmr_dot(s->n, s->gradient, s->gradient));
    for (int i = 0; i < s->n; i++) s->inverse[i][i] = size > 0 ? 1 / size : 1;
}

/* The step and the change of the gradient give the curvature along the step. */
static void learn(search *s, const double *step, const double *change)
{
    const double curvature = lmr_dot(s->n, step, change);
    double moved[LMR_MINIMISE_MOST];
    if (!(curvature > 1e-12 * sqrt(lmr_dot(s->n, step, step) * lmr_dot(s->n, change, change)))) return;
    if (!s->learned++)
        for (int i = 0; i < s->n; i++) s->inverse[i][i] = curvature / lmr_dot(s->n, change, change);
    for (int i = 0; i < s->n; i++) moved[i] = lmr_dot(s->n, s->inverse[i], change);
    const double size = lmr_dot(s->n, change, moved);
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++)
            s->inverse[i][j] += (1 + size / curvature) * step[i] * step[j] / curvature -
                                (moved[i] * step[j] + step[i] * moved[j]) / curvature;
}

static larmor_status evaluate(const lmr_minimise *how, lmr_function f, void *self, search *s)
{
    double x[LMR_MINIMISE_MOST];
    for (int i = 0; i < s->n; i++) x[i] = s->x[i] * how->scale[i];
    LMR_TRY(f(self, x, &s->value, s->gradient));
    for (int i = 0; i < s->n; i++) s->gradient[i] *= how->scale[i];
    return LARMOR_OK;
}

/* One step downhill; *length is how far it went, 0 if no way led down. */
static larmor_status descend(const lmr_minimise *how, lmr_function f, void *self, search *s, int *left,
                             double *length)
{
    double step[LMR_MINIMISE_MOST], change[LMR_MINIMISE_MOST];
    for (int i = 0; i < s->n; i++) step[i] = -lmr_dot(s->n, s->inverse[i], s->gradient);
    double slope = lmr_dot(s->n, step, s->gradient);
    const double size = sqrt(lmr_dot(s->n, step, step));
    *length = 0;
    if (!(slope < 0) || !isfinite(size)) return LARMOR_OK;
    const double longest = 3; /* further the quadratic model is not believed */
    double factor = size > longest ? longest / size : 1;
    for (int tries = 0; tries < 12 && *left > 0; tries++) {
        search next = *s;
        for (int i = 0; i < s->n; i++) next.x[i] += factor * step[i];
        const larmor_status st = evaluate(how, f, self, &next);
        --*left;
        if (st && st != LARMOR_ERR_NUMERIC) return st;
        if (!st && next.value <= s->value + 1e-4 * factor * slope) {
            for (int i = 0; i < s->n; i++) {
                change[i] = next.gradient[i] - s->gradient[i];
                step[i] *= factor;
            }
            learn(&next, step, change);
            *s = next;
            *length = factor * size;
            return LARMOR_OK;
        }
        const double vertex = st ? 0 : -slope * factor / (2 * (next.value - s->value - slope * factor));
        factor *= vertex > 0.1 && vertex < 0.5 ? vertex : 0.25;
    }
    return LARMOR_OK;
}

larmor_status lmr_minimise_by_bfgs(const lmr_minimise *how, lmr_function f, void *self, double *x, double *value,
                                   double *gradient)
{
    search s = {.n = how->n};
    int left = how->most;
    for (int i = 0; i < s.n; i++) s.x[i] = x[i] / how->scale[i];
    LMR_TRY(evaluate(how, f, self, &s));
    forget(&s);
    int still = 0;
    while (left > 0 && still < 2) {
        double length;
        LMR_TRY(descend(how, f, self, &s, &left, &length));
        if (length == 0 && !s.learned) break;
        if (length == 0) forget(&s);
        still = length > how->tol ? 0 : still + 1;
    }
    for (int i = 0; i < s.n; i++) {
        x[i] = s.x[i] * how->scale[i];
        gradient[i] = s.gradient[i] / how->scale[i];
    }
    *value = s.value;
    return LARMOR_OK;
}

void lmr_eliminate(int n, double *matrix, double *right, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const double factor = matrix[n * j + i] / matrix[n * i + i];
            for (int l = i; l < n; l++) matrix[n * j + l] -= factor * matrix[n * i + l];
            right[j] -= factor * right[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        x[i] = right[i];
        for (int l = i + 1; l < n; l++) x[i] -= matrix[n * i + l] * x[l];
        x[i] /= matrix[n * i + i];
    }
}
