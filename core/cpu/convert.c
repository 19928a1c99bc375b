/* From one type of numbers to another on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu/cpu.h"

enum { SERIAL = 16384 }; /* below this many numbers a second thread costs more than it brings */

static int parts_of(larmor_dtype type)
{
    return type == LARMOR_C64 || type == LARMOR_C128 ? 2 : 1;
}

static int is_double(larmor_dtype type)
{
    return type == LARMOR_F64 || type == LARMOR_C128;
}

larmor_status lmr_cpu_convert(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y)
{
    const float *floats = x;
    const double *doubles = x;
    const int64_t *whole = from == LARMOR_I64 ? x : NULL;
    const int double_in = is_double(from), double_out = is_double(to), parts = parts_of(from), stride = parts_of(to);
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < stride; p++) {
            double value = 0;
            if (p < parts && whole)
                value = (double)whole[i];
            else if (p < parts)
                value = double_in ? doubles[parts * i + p] : (double)floats[parts * i + p];
            if (double_out)
                ((double *)y)[stride * i + p] = value;
            else
                ((float *)y)[stride * i + p] = (float)value;
        }
    return LARMOR_OK;
}

larmor_status lmr_cpu_fill(void *ctx, int64_t n, larmor_dtype type, double value, void *x)
{
    const int doubles = is_double(type), parts = parts_of(type);
#pragma omp parallel for schedule(static) num_threads(((lmr_cpu *)ctx)->threads) if (n > SERIAL)
    for (int64_t i = 0; i < parts * n; i++) {
        const double v = i % parts ? 0 : value;
        if (type == LARMOR_I64)
            ((int64_t *)x)[i] = (int64_t)value;
        else if (doubles)
            ((double *)x)[i] = v;
        else
            ((float *)x)[i] = (float)v;
    }
    return LARMOR_OK;
}
