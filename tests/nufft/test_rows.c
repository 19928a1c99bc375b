/* The inner loops of each instruction set against plain ones. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_REAL
#define LMR_REAL 64
#endif
#include <math.h>

#include "nufft/cpu/points.h"
#include "tests/support/test.h"

enum { POINTS = 5, BATCH = 3, SIDE = 20, CELLS = SIDE * SIDE * SIDE };

typedef struct problem {
    lmr_rows_job job;
    int64_t index[POINTS];
    int32_t at[POINTS];
    real t[3][POINTS], doubled[DEGREES * DOUBLED_PITCH], plain[DEGREES * PLAIN_PITCH];
    real values[2 * BATCH * POINTS], cells[BATCH * (2 * CELLS + DOUBLED_PITCH)];
} problem;

static problem *make_problem(int ndim, int width, int degree)
{
    uint64_t state = 7;
    problem *p = calloc(1, sizeof *p);
    p->job = (lmr_rows_job){.ndim = ndim,
                            .width = width,
                            .degree = degree,
                            .doubled = p->doubled,
                            .plain = p->plain,
                            .count = POINTS,
                            .index = p->index,
                            .at = p->at,
                            .t = {p->t[0], ndim > 1 ? p->t[1] : NULL, ndim > 2 ? p->t[2] : NULL},
                            .row = 2 * SIDE,
                            .plane = 2 * SIDE * SIDE,
                            .batch = BATCH,
                            .tile = p->cells,
                            .tile_pitch = 2 * CELLS + DOUBLED_PITCH,
                            .from = p->values,
                            .to = p->values,
                            .value_pitch = 2 * POINTS};
    for (int i = 0; i < POINTS; i++) {
        p->index[i] = (3 * i + 1) % POINTS;
        for (int d = 0, stride = 1; d < ndim; d++, stride *= SIDE) {
            p->t[d][i] = (real)test_random(&state);
            p->at[i] += (int)((test_random(&state) + 1) * 0.5 * (SIDE - width + 1)) * stride;
        }
    }
    for (int k = 0; k <= degree; k++)
        for (int l = 0; l < width; l++)
            p->plain[k * PLAIN_PITCH + l] = p->doubled[k * DOUBLED_PITCH + 2 * l] =
                p->doubled[k * DOUBLED_PITCH + 2 * l + 1] = (real)test_random(&state);
    for (int i = 0; i < 2 * BATCH * POINTS; i++) p->values[i] = (real)test_random(&state);
    for (size_t i = 0; i < sizeof p->cells / sizeof *p->cells; i++) p->cells[i] = (real)test_random(&state);
    return p;
}

static double window_value(const problem *p, int d, int i, int l)
{
    if (d >= p->job.ndim) return 1;
    double value = 0;
    for (int k = p->job.degree; k >= 0; k--) value = value * p->t[d][i] + p->plain[k * PLAIN_PITCH + l];
    return value;
}

/* cells += values (adjoint 0) or values = cells, in doubles, by the definition. */
static void plain_rows(const problem *p, int interp, double *values, double *cells)
{
    const int ndim = p->job.ndim, w = p->job.width;
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < POINTS; i++) {
            double *value = values + 2 * (b * POINTS + p->index[i]), sum[2] = {0};
            for (int z = 0; z < (ndim > 2 ? w : 1); z++)
                for (int y = 0; y < (ndim > 1 ? w : 1); y++)
                    for (int x = 0; x < w; x++)
                        for (int part = 0; part < 2; part++) {
                            const double k =
                                window_value(p, 0, i, x) * window_value(p, 1, i, y) * window_value(p, 2, i, z);
                            double *cell =
                                cells + b * p->job.tile_pitch + 2 * (p->at[i] + x + SIDE * (y + SIDE * z)) + part;
                            if (interp)
                                sum[part] += k * *cell;
                            else
                                *cell += k * value[part];
                        }
            if (interp) value[0] = sum[0], value[1] = sum[1];
        }
}

static void check_rows(const lmr_rows *rows, int interp)
{
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int width = 2; width <= 16; width++) {
            problem *p = make_problem(ndim, width, width < 12 ? width + 2 : 5);
            const size_t value_count = sizeof p->values / sizeof *p->values;
            const size_t cell_count = sizeof p->cells / sizeof *p->cells;
            double *values = malloc(value_count * sizeof *values), *cells = malloc(cell_count * sizeof *cells);
            for (size_t i = 0; i < value_count; i++) values[i] = p->values[i];
            for (size_t i = 0; i < cell_count; i++) cells[i] = p->cells[i];
            plain_rows(p, interp, values, cells);
            (interp ? rows->interp : rows->spread)(&p->job);
            const double limit = LMR_REAL == 32 ? 1e-3 : 1e-12;
            for (size_t i = 0; i < value_count; i++)
                assert_at_most(fabs(values[i] - p->values[i]), limit * (1 + fabs(values[i])));
            for (size_t i = 0; i < cell_count; i++)
                assert_at_most(fabs(cells[i] - p->cells[i]), limit * (1 + fabs(cells[i])));
            free(values), free(cells), free(p);
        }
}

static void check_both(const lmr_rows *rows)
{
    check_rows(rows, 0);
    check_rows(rows, 1);
}

static void the_portable_rows_are_the_definition(void **state)
{
    (void)state;
    check_both(&R(lmr_rows_base));
}

static void the_avx2_rows_are_the_definition(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        check_both(&R(lmr_rows_avx2));
        return;
    }
#endif
    skip();
}

static void the_avx512_rows_are_the_definition(void **state)
{
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        check_both(&R(lmr_rows_avx512));
        return;
    }
#endif
    skip();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_portable_rows_are_the_definition),
    cmocka_unit_test(the_avx2_rows_are_the_definition),
    cmocka_unit_test(the_avx512_rows_are_the_definition),
};

int main(void)
{
    RUN_TESTS(tests);
}
