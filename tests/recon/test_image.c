/* recon/ops/image.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { COILS = 5 };

TEST(root_sum_of_squares_is_that)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-6, 1e-15};
    for (int p = 0; p < 2; p++) {
        const larmor_shape image = LARMOR_SHAPE(9, 7);
        cplx *coils = random_values(63 * COILS, 1), expected[63] = {0};
        for (int i = 0; i < 63 * COILS; i++) expected[i % 63] += pow(cabs(coils[i]), 2);
        for (int i = 0; i < 63; i++) expected[i] = csqrt(expected[i]);
        OWNED(larmor_array) *c = complex_array(dtype[p], larmor_shape_append(image, COILS), coils),
                            *x = zeros(dtype[p], image);
        assert_ok(larmor_root_sum_of_squares(c, x));
        assert_at_most(away(x, expected, 63), limit[p]);
        free(coils);
    }
}

TEST(division_by_energy_undoes_the_combination_of_coils_and_clears_what_no_coil_sees)
{
    const larmor_shape image = LARMOR_SHAPE(6, 5, 4);
    HEAP cplx *maps = random_values(120 * COILS, 2), *truth = random_values(120, 3), *sum = calloc(120, sizeof *sum);
    assert_non_null(sum);
    for (int c = 0; c < COILS; c++) {
        maps[7 + 120 * c] = 0;
        maps[8 + 120 * c] *= 1e-4; /* energy 1e-8 of the others' */
        for (int i = 0; i < 120; i++) sum[i] += conj(maps[i + 120 * c]) * maps[i + 120 * c] * truth[i];
    }
    truth[7] = truth[8] = 0;
    OWNED(larmor_array) *s = complex_array(LARMOR_C128, larmor_shape_append(image, COILS), maps);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, image, sum);
    assert_ok(larmor_divide_by_energy(s, x));
    assert_at_most(away(x, truth, 120), 1e-14);
}

/* Two coils and two sets, of which the second has the other coil's energy alone: e_m in coil m. */
TEST(images_of_several_sets_are_joined_as_the_coils_see_them_however_they_share)
{
    enum { VOXELS = 3, PAIR = 2, SETS = 2 };
    const larmor_shape shape = LARMOR_SHAPE(VOXELS);
    /* one orthogonal pair of the same energy, one whose second set is weak, one of a set twice */
    const cplx map[SETS][PAIR][VOXELS] = {{{2, 1, 1}, {0, 0, 0}}, {{0, 0, 1}, {2 * I, 0.1, 0}}};
    const cplx x[SETS][VOXELS] = {{3, 2 * I, 1}, {4, 1, 2}};
    const double expected[VOXELS] = {5, sqrt(4 + 0.01), 3};
    OWNED(larmor_array) *maps = complex_array(LARMOR_C128, LARMOR_SHAPE(VOXELS, PAIR, SETS), &map[0][0][0]);
    OWNED(larmor_array) *images = complex_array(LARMOR_C128, LARMOR_SHAPE(VOXELS, SETS), &x[0][0]);
    OWN(larmor_array, *joined, larmor_array_create(dev, LARMOR_C128, shape, &joined));
    assert_ok(larmor_sets_join(maps, images, joined));
    HEAP cplx *got = values_of(joined);
    for (int i = 0; i < VOXELS; i++) assert_at_most(cabs(got[i] - expected[i]), 1e-12);
    assert_ok(larmor_sets_normalise(maps));
    assert_ok(larmor_sets_join(maps, images, joined));
    HEAP cplx *same = values_of(joined);
    for (int i = 0; i < VOXELS; i++) assert_at_most(cabs(same[i] - expected[i]), 1e-12);
    assert_ok(larmor_divide_by_energy_above(maps, SETS, 1e-6, images)); /* of the energy 1 now */
    HEAP cplx *kept = values_of(images);
    for (int i = 0; i < VOXELS * SETS; i++) assert_at_most(cabs(kept[i] - (&x[0][0])[i]), 1e-12);
    assert_refused(larmor_sets_join(maps, joined, joined), LARMOR_ERR_SHAPE, "join sets: images");
}

TEST(what_no_coil_sees_is_cleared_and_nothing_else)
{
    const larmor_shape image = LARMOR_SHAPE(6, 5, 4);
    HEAP cplx *maps = random_values(120 * COILS, 2), *values = random_values(120, 3);
    for (int c = 0; c < COILS; c++) {
        maps[7 + 120 * c] = maps[119 + 120 * c] = 0;
        maps[8 + 120 * c] *= 1e-9;
        if (c) maps[9 + 120 * c] = 0; /* one coil is enough */
    }
    OWNED(larmor_array) *s = complex_array(LARMOR_C128, larmor_shape_append(image, COILS), maps);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, image, values),
                        *other = zeros(LARMOR_C128, LARMOR_SHAPE(6, 5));
    assert_ok(larmor_clear_unseen(s, x));
    values[7] = values[119] = 0;
    HEAP cplx *got = values_of(x);
    assert_true(got[7] == 0 && got[119] == 0);
    assert_at_most(difference(got, values, 120), 1e-15);
    assert_refused(larmor_clear_unseen(s, other), LARMOR_ERR_SHAPE, "clear unseen: ");
}

static int64_t source(int64_t i, int64_t from, int64_t to)
{
    const int64_t at = i - to / 2 + from / 2;
    return at < 0 || at >= from ? -1 : at;
}

TEST(crop_keeps_the_centre_and_surrounds_it_with_zeros)
{
    const int64_t sizes[][6] = {{8, 6, 4, 4, 4, 2}, {7, 5, 3, 4, 8, 3}, {4, 5, 1, 9, 2, 1},
                                {6, 3, 2, 6, 3, 2}, {8, 5, 4, 3, 8, 1}, {5, 8, 3, 8, 5, 4}};
    for (int t = 0; t < 6 * 3; t++) {
        const int64_t *from = sizes[t / 3], *to = sizes[t / 3] + 3;
        const int nd = t % 3 + 1;
        const larmor_shape in = larmor_shape_of(nd, from), out = larmor_shape_of(nd, to);
        const int64_t n = larmor_shape_count(out);
        HEAP cplx *values = random_values(larmor_shape_count(in), 4);
        OWNED(larmor_array) *x = complex_array(LARMOR_C128, in, values), *y;
        assert_ok(larmor_crop(x, out, 2.5, &y));
        assert_true(larmor_shape_equal(larmor_array_shape(y), out));
        HEAP cplx *got = values_of(y);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = i, at = 0, step = 1;
            for (int d = 0; d < nd; d++) {
                const int64_t s = source(rest % to[d], from[d], to[d]);
                at = s < 0 || at < 0 ? -1 : at + step * s;
                rest /= to[d];
                step *= from[d];
            }
            assert_true(got[i] == (at < 0 ? 0 : 2.5 * values[at]));
        }
    }
}

/* What the image is at voxel i of n of an axis: one frequency and its opposite, with two phases. */
static cplx wave(int64_t i, int64_t n)
{
    const double r = (double)(i - n / 2) / (double)n;
    return cexp(2 * M_PI * I * 2 * r) + 0.5 * cexp(-2 * M_PI * I * 3 * r);
}

/* [nx, ny] of the product of two waves. */
static cplx *waves(int64_t nx, int64_t ny)
{
    NEW(cplx, x, nx * ny);
    for (int64_t i = 0; i < nx * ny; i++) x[i] = wave(i % nx, nx) * wave(i / nx, ny);
    return x;
}

TEST(other_voxels_of_a_band_are_the_same_image)
{
    static const int64_t sizes[][2] = {{12, 15}, {20, 18}, {9, 8}};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            const larmor_shape a = LARMOR_SHAPE(sizes[from][0], sizes[from][1]);
            const larmor_shape b = LARMOR_SHAPE(sizes[to][0], sizes[to][1]);
            HEAP cplx *x = waves(a.dim[0], a.dim[1]), *expected = waves(b.dim[0], b.dim[1]);
            OWNED(larmor_array) *in = complex_array(LARMOR_C128, a, x), *out;
            assert_ok(larmor_resize_band(in, b, &out));
            assert_at_most(away(out, expected, larmor_shape_count(b)), 1e-12);
        }
}

TEST(maps_with_other_voxels_are_about_the_same_in_every_coil)
{
    enum { FROM = 40, TO = 56 };
    HEAP cplx *x = malloc(sizeof *x * FROM * FROM * 2);
    assert_non_null(x);
    for (int64_t i = 0; i < FROM * FROM * 2; i++)
        x[i] = (double)(1 + i / (FROM * FROM)) * wave(i % FROM, FROM) * wave(i / FROM % FROM, FROM);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, LARMOR_SHAPE(FROM, FROM, 2), x), *out;
    assert_ok(larmor_resize(in, LARMOR_SHAPE(TO, TO), &out));
    HEAP cplx *got = values_of(out);
    for (int64_t i = 0; i < TO * TO * 2; i++) {
        const int64_t u = i % TO, v = i / TO % TO, edge = 3;
        const cplx expected = (double)(1 + i / (TO * TO)) * wave(u, TO) * wave(v, TO);
        if (u < edge || v < edge || u >= TO - edge || v >= TO - edge) continue;
        assert_at_most(cabs(got[i] - expected), 0.03);
    }
}

TEST(arrays_that_do_not_fit_are_named)
{
    OWNED(larmor_array) *coils = zeros(LARMOR_C64, LARMOR_SHAPE(4, 4, 2)), *x = zeros(LARMOR_C64, LARMOR_SHAPE(4, 3));
    assert_refused(larmor_root_sum_of_squares(coils, x), LARMOR_ERR_SHAPE,
                   "root sum of squares: coil images is c64 [4, 4, 2]");
    assert_refused(larmor_divide_by_energy(NULL, x), LARMOR_ERR_SHAPE, "divide by energy: maps are NULL");
    assert_none_made(larmor_array, larmor_crop(x, LARMOR_SHAPE(2), 1, &made), LARMOR_ERR_SHAPE,
                     "crop: got c64 [4, 3]");
    assert_none_made(larmor_array, larmor_resize_band(x, LARMOR_SHAPE(2), &made), LARMOR_ERR_SHAPE,
                     "resize: got c64 [4, 3]");
    OWN(larmor_array, *none, larmor_array_create(larmor_array_device(x), LARMOR_C64, LARMOR_SHAPE(4, 0), &none));
    assert_none_made(larmor_array, larmor_resize(none, LARMOR_SHAPE(2, 2), &made), LARMOR_ERR_SHAPE,
                     "expected voxels in dimension 1");
    assert_none_made(larmor_array, larmor_resize_band(none, LARMOR_SHAPE(2, 2), &made), LARMOR_ERR_SHAPE,
                     "expected voxels in dimension 1");
    assert_none_made(larmor_array, larmor_resize(x, LARMOR_SHAPE(2, 2, 2), &made), LARMOR_ERR_SHAPE,
                     "resize: got c64 [4, 3]");
}
