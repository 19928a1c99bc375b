/* fit/table.c against signals whose properties lie between the entries of a coarse dictionary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/fit/support.h"

enum { ONES = 14, TWOS = 12, ENTRIES = ONES * TWOS, TIMES = 60, TRUTHS = 8, DRAWS = 1500, VOXELS = TRUTHS * DRAWS };

/* An inversion recovery, then a decay that both times and their product take part in. */
static double signal_of(double t1, double t2, int t)
{
    if (t < TIMES / 2) return 1 - 2 * exp(-100. * (t + 1) / t1);
    return (1 - exp(-1000 / t1)) * exp(-10. * (t + 1 - TIMES / 2) / t2);
}

static double one_of(int64_t e)
{
    return 300 * pow(10, (double)(e % ONES) / (ONES - 1));
}

static double two_of(int64_t e)
{
    return 20 * pow(15, (double)(e / ONES) / (TWOS - 1));
}

static double truth_one(int64_t i)
{
    return 400 * pow(6, (double)(i / DRAWS) / (TRUTHS - 1));
}

static double truth_two(int64_t i)
{
    return 30 * pow(8, (double)(3 * (i / DRAWS) % TRUTHS) / (TRUTHS - 1));
}

static larmor_array *make_dictionary(void)
{
    HEAP NEW(cplx, d, (size_t)ENTRIES * TIMES);
    for (int64_t i = 0; i < ENTRIES * TIMES; i++)
        d[i] = signal_of(one_of(i % ENTRIES), two_of(i % ENTRIES), (int)(i / ENTRIES));
    return array_of(d, LARMOR_SHAPE(ENTRIES, TIMES));
}

static larmor_array *make_table(void)
{
    double values[2 * ENTRIES];
    for (int64_t e = 0; e < ENTRIES; e++) {
        values[e] = one_of(e);
        values[e + ENTRIES] = two_of(e);
    }
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ENTRIES, 2), LARMOR_F64, values, &made));
}

static larmor_array *make_images(double noise)
{
    HEAP cplx *x = malloc((size_t)VOXELS * TIMES * sizeof *x);
    uint64_t seed = 5;
    assert_non_null(x);
    for (int64_t i = 0; i < VOXELS * TIMES; i++) {
        const double re = gauss(&seed), im = gauss(&seed);
        x[i] = cexp(0.3 * I) * signal_of(truth_one(i % VOXELS), truth_two(i % VOXELS), (int)(i / VOXELS)) +
               noise * (re + I * im);
    }
    return array_of(x, LARMOR_SHAPE(DRAWS, TRUTHS, TIMES));
}

typedef struct found {
    double *value, *deviation;
    cplx *m0;
} found;

LMR_FREES(end_found, found, value, deviation, m0)

static found fit(double noise, double said)
{
    OWNED(larmor_array) *images = make_images(noise), *dictionary = make_dictionary(), *table = make_table();
    OWNED(larmor_array) *entry = NULL, *rough = NULL, *match = NULL;
    OWNED(larmor_array) *value = NULL, *deviation = NULL, *m0 = NULL;
    found f;
    assert_ok(larmor_fit_dictionary(images, dictionary, NULL, NULL, &entry, &rough, &match));
    assert_ok(larmor_fit_table(images, dictionary, NULL, table, entry, said, NULL, &value, &deviation, &m0));
    assert_int_equal(larmor_array_shape(value).dim[2], 2);
    assert_ok(larmor_array_download(value, LARMOR_F64, &f.value));
    assert_ok(larmor_array_download(deviation, LARMOR_F64, &f.deviation));
    assert_ok(larmor_array_download(m0, LARMOR_C128, &f.m0));
    return f;
}

TEST(values_between_the_entries_of_a_coarse_table_are_within_a_hundredth_at_a_signal_of_fifty)
{
    OWNED(found) f = fit(0.02, 0.02);
    for (int64_t i = 0; i < VOXELS; i += DRAWS) {
        assert_at_most(fabs(median(f.value + i, DRAWS) / truth_one(i) - 1), 0.01);
        assert_at_most(fabs(median(f.value + VOXELS + i, DRAWS) / truth_two(i) - 1), 0.01);
    }
}

TEST(without_noise_what_the_expansion_leaves_is_small_and_m0_is_the_factor)
{
    OWNED(found) f = fit(0, 0.01);
    for (int64_t i = 0; i < VOXELS; i += DRAWS) {
        assert_at_most(fabs(f.value[i] / truth_one(i) - 1), 0.003);
        assert_at_most(fabs(f.value[i + VOXELS] / truth_two(i) - 1), 0.005);
        assert_at_most(cabs(f.m0[i] - cexp(0.3 * I)), 0.003);
    }
}

TEST(error_bars_cover_the_truth_as_often_as_a_deviation_does)
{
    for (int known = 0; known < 2; known++) {
        OWNED(found) f = fit(0.02, known ? 0.02 : 0);
        int inside[2] = {0, 0};
        for (int64_t i = 0; i < VOXELS; i++) {
            inside[0] += fabs(f.value[i] - truth_one(i)) <= f.deviation[i];
            inside[1] += fabs(f.value[i + VOXELS] - truth_two(i)) <= f.deviation[i + VOXELS];
        }
        for (int c = 0; c < 2; c++) assert_at_most(fabs((double)inside[c] / VOXELS - 0.68), 0.05);
    }
}

TEST(along_a_column_without_neighbours_the_value_is_the_entrys_and_the_table_is_not_left)
{
    /* the second column has one value; the signal lies beyond the last entry of the first */
    const cplx d[] = {1, 1, 1, 0, 1, 2}, x[] = {1, 3};
    const double values[] = {10, 20, 30, 7, 7, 7};
    const int64_t last = 2;
    OWNED(larmor_array) *images = array_of(x, LARMOR_SHAPE(1, 2)), *dictionary = array_of(d, LARMOR_SHAPE(3, 2));
    OWNED(larmor_array) *table = NULL, *entry = NULL, *value = NULL, *deviation = NULL, *m0 = NULL;
    HEAP double *v = NULL, *s = NULL;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, 2), LARMOR_F64, values, &table));
    assert_ok(larmor_array_upload(dev, LARMOR_I64, LARMOR_SHAPE(1), LARMOR_I64, &last, &entry));
    assert_ok(larmor_fit_table(images, dictionary, NULL, table, entry, 0.1, NULL, &value, &deviation, &m0));
    assert_ok(larmor_array_download(value, LARMOR_F64, &v));
    assert_ok(larmor_array_download(deviation, LARMOR_F64, &s));
    assert_at_most(fabs(v[0] - 30), 1e-6);
    assert_true(v[1] == 7 && s[1] == 0);
}

TEST(tables_that_do_not_fit_are_refused)
{
    OWNED(larmor_array) *images = make_images(0), *dictionary = make_dictionary(), *table = make_table();
    OWNED(larmor_array) *entry = NULL, *rough = NULL, *match = NULL;
    larmor_array *value, *deviation, *m0;
    assert_ok(larmor_fit_dictionary(images, dictionary, NULL, NULL, &entry, &rough, &match));
    assert_refused(larmor_fit_table(images, dictionary, NULL, match, entry, 0, NULL, &value, &deviation, &m0),
                   LARMOR_ERR_SHAPE, "expected real numbers [168 entries, 1 to 8 columns]");
    assert_refused(larmor_fit_table(images, dictionary, NULL, table, match, 0, NULL, &value, &deviation, &m0),
                   LARMOR_ERR_SHAPE, "entry: got");
    assert_refused(larmor_fit_table(images, dictionary, NULL, table, entry, -1, NULL, &value, &deviation, &m0),
                   LARMOR_ERR_ARG, "noise: got -1");
    assert_refused(larmor_fit_table(images, dictionary, NULL, table, entry, 0, table, &value, &deviation, &m0),
                   LARMOR_ERR_SHAPE, "noise_map: got");
}
