/* recon/compress/compress.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { COILS = 6, SAMPLES = 40, READOUTS = 7, M = SAMPLES * READOUTS };

/* Signals of `rank` sources in all coils, the sources less and less strong: [SAMPLES, READOUTS, COILS]. */
static cplx *dependent(int rank, double noise, uint64_t seed)
{
    HEAP cplx *mix = random_values(COILS * COILS, seed), *source = random_values(COILS * M, seed + 1);
    cplx *y = random_values(COILS * M, seed + 2);
    for (int c = 0; c < COILS; c++)
        for (int t = 0; t < M; t++) {
            y[t + M * c] *= noise;
            for (int i = 0; i < rank; i++) y[t + M * c] += pow(0.3, i) * mix[c + COILS * i] * source[t + M * i];
        }
    return y;
}

static larmor_array *covariance_of(const larmor_array *y)
{
    larmor_array *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS));
    assert_ok(larmor_coils_covariance(y, NULL, 0, 1, R, NULL));
    return R;
}

TEST(the_covariance_is_the_sum_of_products_of_coils)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-5, 1e-13};
    cplx *y = dependent(COILS, 0, 3), expected[COILS * COILS] = {0};
    for (int i = 0; i < COILS; i++)
        for (int j = 0; j < COILS; j++)
            for (int t = 0; t < M; t++) expected[i + COILS * j] += 2.5 * y[t + M * i] * conj(y[t + M * j]);
    for (int p = 0; p < 2; p++) {
        OWNED(larmor_array) *x = complex_array(dtype[p], LARMOR_SHAPE(SAMPLES, READOUTS, COILS), y);
        OWNED(larmor_array) *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS));
        int64_t count;
        assert_ok(larmor_coils_covariance(x, NULL, 0, 1, R, NULL)); /* it adds */
        assert_ok(larmor_coils_covariance(x, NULL, 0, 1.5, R, &count));
        assert_int_equal(count, M);
        assert_at_most(away(R, expected, COILS * COILS), limit[p]);
    }
    free(y);
}

/* Which are summed in blocks, the last of which is smaller. */
TEST(the_covariance_of_many_samples_is_that_sum_too)
{
    enum { MANY = 40000, FEW_COILS = 2 };
    HEAP cplx *y = random_values(MANY * FEW_COILS, 3);
    cplx expected[FEW_COILS * FEW_COILS] = {0};
    for (int i = 0; i < FEW_COILS * FEW_COILS; i++)
        for (int t = 0; t < MANY; t++) expected[i] += y[t + MANY * (i % 2)] * conj(y[t + MANY * (i / 2)]);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(MANY, 1, FEW_COILS), y);
    OWNED(larmor_array) *R = zeros(LARMOR_C128, LARMOR_SHAPE(FEW_COILS, FEW_COILS));
    assert_ok(larmor_coils_covariance(x, NULL, 0, 1, R, NULL));
    assert_at_most(away(R, expected, FEW_COILS * FEW_COILS), 1e-12);
}

TEST(with_a_trajectory_only_the_centre_counts)
{
    HEAP cplx *y = dependent(COILS, 0, 3);
    double k[2 * M], out[2 * M];
    int inside = 0;
    for (int t = 0; t < M; t++) {
        k[2 * t] = (t % SAMPLES - SAMPLES / 2) * 0.9;
        k[2 * t + 1] = 0;
        const int in = fabs(k[2 * t]) < 8;
        inside += in;
        for (int c = 0; c < COILS && !in; c++) y[t + M * c] = NAN; /* it is not even read */
        out[2 * t] = out[2 * t + 1] = 100;
    }
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), y);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), k);
    OWNED(larmor_array) *far = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS), out);
    OWNED(larmor_array) *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS));
    int64_t count;
    assert_ok(larmor_coils_covariance(x, traj, 8, 1, R, &count));
    assert_int_equal(count, inside);
    HEAP cplx *got = values_of(R);
    for (int i = 0; i < COILS * COILS; i++) assert_true(isfinite(cabs(got[i])));
    assert_ok(larmor_coils_covariance(x, far, 8, 0, R, &count)); /* none there: all */
    assert_int_equal(count, M);
}

TEST(as_many_virtual_coils_as_sources_hold_everything)
{
    for (int rank = 1; rank <= COILS; rank++) {
        HEAP cplx *y = dependent(rank, 0, 5);
        OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), y),
                            *R = covariance_of(x);
        const larmor_compression_opts opts = {.energy = 1 - 1e-12};
        larmor_compression_report report;
        OWN(larmor_array, *C, larmor_compression(R, &opts, &C, &report));
        assert_int_equal(report.coils, rank);
        assert_true(report.energy > 1 - 1e-12);
        OWN(larmor_array, *few, larmor_compress_coils(C, x, &few));
        assert_int_equal(larmor_array_shape(few).dim[2], rank);
        OWN(larmor_array, *back, larmor_expand_coils(C, few, &back));
        assert_at_most(away(back, y, M * COILS), 1e-12);
    }
}

TEST(the_rows_are_orthonormal_and_the_kept_energy_is_what_is_said)
{
    HEAP cplx *y = dependent(COILS, 0, 7);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), y),
                        *R = covariance_of(x);
    double all, before = 0, kept;
    assert_ok(larmor_nrm2(x, &all));
    for (int coils = 1; coils <= COILS; coils++) {
        const larmor_compression_opts opts = {.coils = coils};
        larmor_compression_report report;
        OWN(larmor_array, *C, larmor_compression(R, &opts, &C, &report));
        HEAP cplx *c = values_of(C);
        for (int i = 0; i < coils; i++)
            for (int j = 0; j < coils; j++) {
                cplx sum = 0;
                for (int l = 0; l < COILS; l++) sum += c[i + coils * l] * conj(c[j + coils * l]);
                assert_at_most(cabs(sum - (i == j)), 1e-13);
            }
        OWN(larmor_array, *few, larmor_compress_coils(C, x, &few));
        assert_ok(larmor_nrm2(few, &kept));
        assert_at_most(fabs(report.energy - kept * kept / (all * all)), 1e-12);
        assert_true(report.energy > before);
        before = report.energy;
    }
}

TEST(noise_is_not_taken_for_signal)
{
    HEAP cplx *y = dependent(2, 0.05, 9);
    larmor_array *x = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), y), *R = covariance_of(x),
                 *C;
    const double variance = 0.05 * 0.05 * 2 / 3; /* uniform in both parts */
    larmor_compression_opts opts = {.energy = 0.999, .noise = variance * M, .samples = M};
    larmor_compression_report report;
    assert_ok(larmor_compression(R, &opts, &C, &report));
    assert_int_equal(report.coils, 2);
    larmor_array_free(C);
    opts = (larmor_compression_opts){.energy = 0.99999};
    assert_ok(larmor_compression(R, &opts, &C, &report)); /* who does not know of it keeps it */
    assert_int_equal(report.coils, COILS);
    LMR_FREE(C, R, x);
}

TEST(what_makes_no_sense_is_refused)
{
    OWNED(larmor_array) *R = zeros(LARMOR_C128, LARMOR_SHAPE(COILS, COILS)),
                        *x = zeros(LARMOR_C64, LARMOR_SHAPE(4, 3, COILS));
    larmor_array *other = zeros(LARMOR_C64, LARMOR_SHAPE(4, 3, COILS + 1)), *C, *y;
    OWNED(larmor_array) *traj = zeros(LARMOR_F64, LARMOR_SHAPE(2, 3, 4));
    larmor_compression_opts opts = {.coils = COILS + 1};
    assert_refused(larmor_compression(R, NULL, &C, NULL), LARMOR_ERR_NUMERIC, "the coils' energy is 0");
    assert_null(C);
    assert_refused(larmor_compression(R, &opts, &C, NULL), LARMOR_ERR_ARG, "7 virtual coils from 6, expected 1 to 6");
    opts = (larmor_compression_opts){.energy = 1.5};
    assert_refused(larmor_compression(R, &opts, &C, NULL), LARMOR_ERR_ARG, "energy is 1.5");
    assert_refused(larmor_compression(x, NULL, &C, NULL), LARMOR_ERR_SHAPE, "expected c128 [coils, coils]");
    assert_refused(larmor_coils_covariance(x, NULL, 0, NAN, R, NULL), LARMOR_ERR_ARG, "scale is nan");
    assert_refused(larmor_coils_covariance(x, traj, 8, 1, R, NULL), LARMOR_ERR_SHAPE, "traj is f64 [2, 3, 4]");
    assert_refused(larmor_coils_covariance(other, NULL, 0, 1, R, NULL), LARMOR_ERR_SHAPE, "R is c128 [6, 6]");
    assert_refused(larmor_compress_coils(R, other, &y), LARMOR_ERR_SHAPE, "expected complex [..., 6]");
    assert_refused(larmor_expand_coils(R, other, &y), LARMOR_ERR_SHAPE, "expected complex [..., 6]");
    assert_null(y);
    larmor_array_free(other);
}
