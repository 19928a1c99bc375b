/* Phase factors by vectors, of each instruction set, against exponential, sine and cosine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_REAL
#define LMR_REAL 64
#endif

#include "nufft/cpu/type3.h"
#include "tests/support/test.h"

static const long double two_pi = 6.28318530717958647692528676655900577L;

typedef struct problem {
    lmr_nufft_phases phases;
    double x[3][PHASE_BLOCK];
} problem;

static problem make_problem(int ndim, int terms, double from, double by)
{
    uint64_t state = 5;
    problem p = {.phases = {.ndim = ndim, .terms = terms}};
    for (int k = 0; k < terms; k++) p.phases.series[k] = 2 * pow(-0.4, k);
    for (int d = 0; d < ndim; d++) {
        p.phases.from[d] = from * (d + 1);
        p.phases.by[d] = by / (d + 1);
        p.phases.scale[d] = 0.25;
        for (int i = 0; i < PHASE_BLOCK; i++) p.x[d][i] = p.phases.from[d] + 4 * test_random(&state);
    }
    return p;
}

/* The real and the imaginary part of wave i, by the definition. */
static void expect_phase(const problem *p, int i, long double out[2])
{
    long double cycles = 0, log_size = 0;
    for (int d = 0; d < p->phases.ndim; d++) {
        const long double e = p->x[d][i] - p->phases.from[d], v = e * p->phases.scale[d], whole = e * p->phases.by[d];
        cycles += whole - rintl(whole);
        for (int k = 0; k < p->phases.terms; k++) log_size += p->phases.series[k] * cosl(k * acosl(2 * v * v - 1));
    }
    out[0] = expl(log_size) * cosl(two_pi * cycles);
    out[1] = expl(log_size) * sinl(two_pi * cycles);
}

static void check(lmr_phases phases, const problem *given)
{
    static const int counts[] = {1, 7, PHASE_BLOCK - 1, PHASE_BLOCK};
    const double limit = LMR_REAL == 64 ? 4e-15 : 3e-7;
    for (int c = 0; c < 4; c++) {
        problem p = *given;
        real out[2 * PHASE_BLOCK + 2];
        for (int i = 0; i < 2 * PHASE_BLOCK + 2; i++) out[i] = 77;
        phases(&p.phases, counts[c], p.x, out);
        for (int i = 0; i < counts[c]; i++) {
            long double wanted[2];
            expect_phase(given, i, wanted);
            const long double size = hypotl(wanted[0], wanted[1]);
            assert_at_most((double)(hypotl(out[2 * i] - wanted[0], out[2 * i + 1] - wanted[1]) / size), limit);
        }
        assert_true(out[2 * counts[c]] == 77);
    }
}

static void check_everywhere(const problem *p)
{
    check(R(lmr_phases_base), p);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) check(R(lmr_phases_avx2), p);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        check(R(lmr_phases_avx512), p);
#endif
}

TEST(phase_factors_have_the_modulus_of_the_series_and_the_phase_of_the_product)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        const problem p = make_problem(ndim, 11, 0.5, 3.7);
        check_everywhere(&p);
    }
}

TEST(without_a_series_phase_factors_have_modulus_one)
{
    const problem p = make_problem(2, 0, 0, -1.3);
    check_everywhere(&p);
}

TEST(many_whole_turns_cost_nothing)
{
    problem p = make_problem(1, 0, 0, 0x1p40 + 1.25);
    for (int i = 0; i < PHASE_BLOCK; i++) p.x[0][i] = 1024 + i; /* products of 51 bits, in quarters of a cycle */
    check_everywhere(&p);
}
