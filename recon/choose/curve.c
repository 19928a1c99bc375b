/* Points of a curve, and the lowest between them. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/choose/choose.h"

int lmr_curve_add(lmr_curve *c, double at, double value)
{
    const int room = (int)(sizeof c->at / sizeof *c->at);
    if (!isfinite(value) || !isfinite(at)) return 0;
    for (int i = 0; i < c->count; i++) {
        if (c->at[i] != at) continue;
        c->value[i] = value;
        return 1;
    }
    if (c->count == room) return 0;
    int i = c->count++;
    for (; i > 0 && c->at[i - 1] > at; i--) {
        c->at[i] = c->at[i - 1];
        c->value[i] = c->value[i - 1];
    }
    c->at[i] = at;
    c->value[i] = value;
    return 1;
}

int lmr_curve_index(const lmr_curve *c)
{
    int lowest = 0;
    for (int i = 1; i < c->count; i++)
        if (c->value[i] < c->value[lowest]) lowest = i;
    return lowest;
}

double lmr_curve_lowest(const lmr_curve *c)
{
    const int i = lmr_curve_index(c);
    if (i == 0 || i == c->count - 1) return c->at[i];
    const double left = c->at[i - 1] - c->at[i], right = c->at[i + 1] - c->at[i];
    const double rise_left = c->value[i - 1] - c->value[i], rise_right = c->value[i + 1] - c->value[i];
    const double bend = rise_left * right - rise_right * left; /* times what cancels */
    if (!(bend > 0)) return c->at[i];
    return c->at[i] + 0.5 * (rise_left * right * right - rise_right * left * left) / bend;
}

double lmr_curve_value(const lmr_curve *c, double at)
{
    int i = 0;
    while (i < c->count - 1 && c->at[i + 1] < at) i++;
    if (i == c->count - 1 || at <= c->at[i]) return c->value[i];
    const double part = (at - c->at[i]) / (c->at[i + 1] - c->at[i]);
    return c->value[i] + part * (c->value[i + 1] - c->value[i]);
}

double lmr_curve_within(const lmr_curve *c, double rise)
{
    const double lowest = lmr_curve_lowest(c);
    int i = lmr_curve_index(c);
    const double most = c->value[i] + rise;
    while (i + 1 < c->count && c->value[i + 1] <= most) i++;
    if (i + 1 == c->count) return fmax(lowest, c->at[i]);
    const double part = (most - c->value[i]) / (c->value[i + 1] - c->value[i]);
    return fmax(lowest, c->at[i] + part * (c->at[i + 1] - c->at[i]));
}
