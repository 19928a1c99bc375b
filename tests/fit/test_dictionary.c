/* fit/dictionary.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/fit/support.h"

enum { ENTRIES = 5000, VOXELS = 3000, TIMES = 12, COEFFICIENTS = 4 }; /* more than a block of each */

static cplx *random_values(int64_t count, uint64_t seed)
{
    NEW(cplx, values, count);
    for (int64_t i = 0; i < count; i++) {
        const double re = test_random(&seed);
        values[i] = re + I * test_random(&seed);
    }
    return values;
}

/* Entries that are no multiples of each other, one for each voxel, and its complex factor. */
static int64_t entry_of(int64_t voxel)
{
    return voxel * 1663 % ENTRIES;
}

static cplx factor_of(int64_t voxel)
{
    return (0.5 + (double)(voxel % 7)) * cexp(I * (double)voxel);
}

/* Columns of the discrete Fourier transform: orthonormal. */
static cplx basis_at(int64_t t, int64_t k)
{
    return cexp(2 * M_PI * I * (double)(t * k) / TIMES) / sqrt(TIMES);
}

static void assert_found(larmor_array *entry, larmor_array *m0, larmor_array *match, double tol)
{
    OWN_MEMORY(int64_t, *e, larmor_array_download(entry, LARMOR_I64, &e));
    OWN_MEMORY(cplx, *m, larmor_array_download(m0, LARMOR_C128, &m));
    OWN_MEMORY(double, *c, larmor_array_download(match, LARMOR_F64, &c));
    for (int64_t i = 0; i < VOXELS; i++) {
        assert_int_equal(e[i], entry_of(i));
        assert_at_most(cabs(m[i] - factor_of(i)), tol * cabs(factor_of(i)));
        assert_at_most(fabs(c[i] - 1), tol);
    }
}

TEST(each_voxel_gets_its_entry_and_its_complex_factor)
{
    HEAP cplx *d = random_values(ENTRIES * TIMES, 1), *x = random_values(VOXELS * TIMES, 2);
    for (int64_t i = 0; i < VOXELS * TIMES; i++)
        x[i] = factor_of(i % VOXELS) * d[entry_of(i % VOXELS) + ENTRIES * (i / VOXELS)];
    OWNED(larmor_array) *images = array_of(x, LARMOR_SHAPE(VOXELS / 10, 10, TIMES));
    OWNED(larmor_array) *dictionary = array_of(d, LARMOR_SHAPE(ENTRIES, TIMES));
    OWNED(larmor_array) *entry = NULL, *m0 = NULL, *match = NULL;
    assert_ok(larmor_fit_dictionary(images, dictionary, NULL, NULL, &entry, &m0, &match));
    assert_int_equal(larmor_array_shape(entry).ndim, 2);
    assert_found(entry, m0, match, 1e-5);
}

TEST(coefficients_of_a_basis_are_matched_as_the_frames_are)
{
    HEAP cplx *c = random_values(ENTRIES * COEFFICIENTS, 3), *d = random_values(ENTRIES * TIMES, 4);
    HEAP cplx *b = random_values(TIMES * COEFFICIENTS, 5), *x = random_values(VOXELS * COEFFICIENTS, 6);
    for (int64_t i = 0; i < TIMES * COEFFICIENTS; i++) b[i] = basis_at(i % TIMES, i / TIMES);
    for (int64_t i = 0; i < ENTRIES * TIMES; i++) {
        d[i] = 0;
        for (int64_t k = 0; k < COEFFICIENTS; k++) d[i] += c[i % ENTRIES + ENTRIES * k] * basis_at(i / ENTRIES, k);
    }
    for (int64_t i = 0; i < VOXELS * COEFFICIENTS; i++)
        x[i] = factor_of(i % VOXELS) * c[entry_of(i % VOXELS) + ENTRIES * (i / VOXELS)];
    OWNED(larmor_array) *images = array_of(x, LARMOR_SHAPE(VOXELS, COEFFICIENTS));
    OWNED(larmor_array) *dictionary = array_of(d, LARMOR_SHAPE(ENTRIES, TIMES));
    OWNED(larmor_array) *basis = array_of(b, LARMOR_SHAPE(TIMES, COEFFICIENTS));
    OWNED(larmor_array) *entry = NULL, *m0 = NULL, *match = NULL;
    assert_ok(larmor_fit_dictionary(images, dictionary, basis, NULL, &entry, &m0, &match));
    assert_found(entry, m0, match, 1e-4);
}

TEST(voxels_without_signal_have_no_entry)
{
    const cplx x[] = {0, 1, 0, 2}, d[] = {1, 1, 0, 2};
    OWNED(larmor_array) *images = array_of(x, LARMOR_SHAPE(2, 2)), *dictionary = array_of(d, LARMOR_SHAPE(2, 2));
    OWNED(larmor_array) *entry = NULL, *m0 = NULL, *match = NULL;
    assert_ok(larmor_fit_dictionary(images, dictionary, NULL, NULL, &entry, &m0, &match));
    OWN_MEMORY(int64_t, *e, larmor_array_download(entry, LARMOR_I64, &e));
    assert_int_equal(e[0], -1);
    assert_int_equal(e[1], 1);
}

TEST(what_does_not_fit_is_refused)
{
    const cplx x[] = {1, 1, 1, 1, 1, 1}, zero[] = {1, 0, 1, 0, 1, 0};
    OWNED(larmor_array) *images = array_of(x, LARMOR_SHAPE(3, 2)), *long_one = array_of(x, LARMOR_SHAPE(2, 3));
    OWNED(larmor_array) *empty = array_of(zero, LARMOR_SHAPE(2, 3));
    larmor_array *entry, *m0, *match;
    assert_refused(larmor_fit_dictionary(images, long_one, NULL, NULL, &entry, &m0, &match), LARMOR_ERR_SHAPE,
                   "dictionary: got 3 times, expected 2 as of the images");
    assert_refused(larmor_fit_dictionary(images, long_one, long_one, NULL, &entry, &m0, &match), LARMOR_ERR_SHAPE,
                   "expected [3, 2]: times of the dictionary, images");
    assert_refused(larmor_fit_dictionary(long_one, empty, NULL, NULL, &entry, &m0, &match), LARMOR_ERR_NUMERIC,
                   "dictionary: entry 1 is 0, expected a signal");
    assert_refused(larmor_fit_dictionary(images, long_one, NULL, long_one, &entry, &m0, &match), LARMOR_ERR_SHAPE,
                   "dictionary: got 3 times");
}
