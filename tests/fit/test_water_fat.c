/* fit/water_fat.c and fit/choice.c against signals of known water, fat and field.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/fit/support.h"

enum { N = 64, VOXELS = N * N, MOST_TIMES = 6, REGIONS = 5 };

static const double parts_of_fat[REGIONS] = {1, 0.02, 0.1, 0.3, 0.6};

/* A body with a rim of fat and parts of other fractions, in a smooth field. */
typedef struct scene {
    double tesla, ms[MOST_TIMES];
    int times;
    double snr, most_hz;
    uint64_t seed;
    int fat_above;
} scene;

static double x_of(int i)
{
    return 2. * (i % N) / (N - 1) - 1;
}

static double y_of(int i)
{
    return 2. * (i / N) / (N - 1) - 1;
}

/* -1: air. */
static int region_of(int i)
{
    const double x = x_of(i), y = y_of(i), r = hypot(x / 0.95, y / 0.85);
    if (r > 1) return -1;
    if (r > 0.85) return 0;
    if (hypot(x - 0.35, y) < 0.25) return 2;
    if (hypot(x + 0.35, y - 0.2) < 0.2) return 3;
    return hypot(x + 0.3, y + 0.35) < 0.2 ? 4 : 1;
}

static double field_of(const scene *s, int i)
{
    const double turn = (double)(s->seed % 7);
    return s->most_hz * sin(2.1 * x_of(i) + turn) * cos(1.7 * y_of(i) - turn);
}

static double rate_of(int i)
{
    return 20 + 15 * (1 + region_of(i) % 3);
}

/* As fit/water_fat.c has it, written anew. */
static cplx fat_at(double tesla, double seconds)
{
    static const double peak[][2] = {{-3.8, 87}, {-3.4, 693}, {-2.6, 128}, {-1.94, 4}, {-0.39, 39}, {0.6, 48}};
    cplx sum = 0;
    for (int n = 0; n < 6; n++)
        sum += peak[n][1] / 999 * cexp(2 * M_PI * I * 42.577478518 * tesla * peak[n][0] * seconds);
    return sum;
}

static larmor_array *make_images(const scene *s)
{
    HEAP cplx *x = calloc((size_t)VOXELS * MOST_TIMES, sizeof *x);
    uint64_t seed = s->seed;
    assert_non_null(x);
    for (int j = 0; j < s->times; j++) {
        const double t = s->ms[j] / 1000;
        const cplx c = s->fat_above ? conj(fat_at(s->tesla, t)) : fat_at(s->tesla, t);
        for (int i = 0; i < VOXELS; i++) {
            const int region = region_of(i);
            const double fat = region < 0 ? 0 : parts_of_fat[region];
            const double re = gauss(&seed);
            if (region >= 0)
                x[i + VOXELS * j] =
                    (1 - fat + fat * c) * cexp((2 * M_PI * I * field_of(s, i) - rate_of(i)) * t + I * (1 + x_of(i)));
            x[i + VOXELS * j] += (re + I * gauss(&seed)) / s->snr;
        }
    }
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N, 1, s->times), LARMOR_C128, x, &made));
}

static larmor_array *body(void)
{
    float inside[VOXELS];
    for (int i = 0; i < VOXELS; i++) inside[i] = (float)(region_of(i) >= 0);
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(N, N), LARMOR_F32, inside, &made));
}

static larmor_fit_maps fit(const scene *s, int fat_above, const larmor_array *field)
{
    OWNED(larmor_array) *images = make_images(s), *mask = body();
    larmor_fit_maps maps;
    const larmor_fit_opts opts = {
        .noise = 1 / s->snr, .mask = mask, .field_strength = s->tesla, .fat_above = fat_above, .field_map = field};
    assert_ok(larmor_fit(images, LARMOR_FIT_WATER_FAT, s->ms, &opts, &maps));
    return maps;
}

/* The largest distance of a region's median fraction from the truth. */
static double median_error(const larmor_fit_maps *maps)
{
    HEAP double *fraction = numbers(maps->map[2].value);
    double worst = 0;
    for (int region = 0; region < REGIONS; region++) {
        double sorted[VOXELS];
        int count = 0;
        for (int i = 0; i < VOXELS; i++)
            if (region_of(i) == region) sorted[count++] = fraction[i];
        worst = fmax(worst, fabs(median(sorted, count) - parts_of_fat[region]));
    }
    return worst;
}

/* The part of the body whose field is half of the distance of fat from water or more away. */
static double swaps(const scene *s, const larmor_fit_maps *maps)
{
    HEAP double *field = numbers(maps->map[4].value);
    int count = 0, wrong = 0;
    for (int i = 0; i < VOXELS; i++) {
        if (region_of(i) < 0) continue;
        count++;
        wrong += fabs(field[i] - field_of(s, i)) > 1.7 * 42.577 * s->tesla;
    }
    return (double)wrong / count;
}

/* The root mean square of errors over deviations of a map, without swaps. */
static double relative_error(const scene *s, const larmor_fit_maps *maps, int map)
{
    HEAP double *value = numbers(maps->map[map].value), *deviation = numbers(maps->map[map].deviation);
    double sum = 0;
    int count = 0;
    for (int i = 0; i < VOXELS; i++) {
        if (region_of(i) < 0 || !(deviation[i] > 0)) continue;
        const double fat = parts_of_fat[region_of(i)];
        const double truth[] = {1 - fat, fat, fat, rate_of(i), field_of(s, i)};
        const double ratio = (value[i] - truth[map]) / deviation[i];
        if (fabs(ratio) > 6) continue;
        sum += ratio * ratio;
        count++;
    }
    return sqrt(sum / count);
}

static const scene scenes[] = {
    {3, {1.1, 1.9, 2.9}, 3, 50, 200, 1, 0},
    {3, {1.15, 2.3, 3.45}, 3, 50, 200, 2, 0},
    {3, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, 6, 50, 200, 3, 0},
    {3, {1.2, 2.1, 3.3, 4.2, 5.4, 6.3}, 6, 50, 200, 4, 0},
    {1.5, {1.6, 3.2, 5.0}, 3, 50, 100, 5, 0},
    {1.5, {1.2, 2.8, 4.4}, 3, 50, 100, 6, 0},
    {1.5, {1.2, 2.8, 4.4, 6.0, 7.6, 9.2}, 6, 50, 100, 7, 0},
    {1.5, {1.2, 2.4, 4.4, 5.6, 7.6, 8.8}, 6, 50, 100, 8, 0},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

TEST(fractions_of_fat_are_within_a_point_at_a_signal_of_fifty)
{
    for (int n = 0; n < SCENES; n++) {
        OWNED(larmor_fit_maps) maps = fit(&scenes[n], 0, NULL);
        assert_int_equal(maps.failed, 0);
        assert_at_most(median_error(&maps), 0.01);
    }
}

TEST(water_and_fat_are_swapped_nearly_nowhere)
{
    static const double snr[] = {20, 35, 100}, part[] = {1, 0.2, 1};
    for (int n = 0; n < SCENES; n++)
        for (int k = of_all(n % 3, 0); k <= of_all(n % 3, 2); k++) {
            scene s = scenes[n];
            s.snr = snr[k];
            s.most_hz *= part[k];
            s.seed += (uint64_t)(10 * k);
            OWNED(larmor_fit_maps) maps = fit(&s, 0, NULL);
            assert_at_most(swaps(&s, &maps), 0.005);
            assert_at_most((double)maps.failed / (double)maps.inside, 0.005);
        }
}

TEST(errors_are_what_their_deviations_say)
{
    for (int n = 0; n < SCENES; n += of_all(3, 1)) {
        scene s = scenes[n];
        s.snr = 100;
        OWNED(larmor_fit_maps) maps = fit(&s, 0, NULL);
        for (int m = 0; m < maps.count; m++) assert_at_most(fabs(relative_error(&s, &maps, m) - 1), 0.1);
    }
}

TEST(phases_that_turn_the_other_way_have_the_same_fractions_and_the_residual_says_so)
{
    for (int n = 0; n < SCENES; n += of_all(3, 1)) {
        scene s = scenes[n];
        s.fat_above = 1;
        OWNED(larmor_fit_maps) maps = fit(&s, 1, NULL), wrong = fit(&s, 0, NULL);
        assert_at_most(median_error(&maps), 0.01);
        assert_at_most(swaps(&s, &maps), 0.005);
        if (s.times == 3) {
            assert_true(maps.other_sign == 0);
            continue;
        }
        assert_at_most(1 / maps.other_sign, 1 / 1.05);
        assert_at_most(wrong.other_sign, 1 / 1.05);
    }
}

TEST(a_given_map_says_which_of_the_fields_that_regular_echoes_cannot_tell_apart_is_meant)
{
    const scene s = scenes[2];
    const double turn = 1000 / (s.ms[1] - s.ms[0]);
    float start[VOXELS];
    for (int i = 0; i < VOXELS; i++) start[i] = (float)(field_of(&s, i) + turn + 30);
    OWNED(larmor_array) *map = NULL;
    assert_ok(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(N, N), LARMOR_F32, start, &map));
    OWNED(larmor_fit_maps) maps = fit(&s, 0, map);
    HEAP double *field = numbers(maps.map[4].value);
    for (int i = 0; i < VOXELS; i++)
        if (region_of(i) >= 0) assert_at_most(fabs(field[i] - field_of(&s, i) - turn), 60);
}

TEST(what_water_and_fat_cannot_be_told_from_is_refused)
{
    const float real[] = {1, 1, 1, 1, 1, 1};
    const double ms[] = {1, 2, 3};
    OWNED(larmor_array) *images = NULL, *magnitude = NULL;
    larmor_fit_maps maps;
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(1, 3), LARMOR_C64, real, &images));
    assert_ok(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(2, 3), LARMOR_F32, real, &magnitude));
    const larmor_fit_opts at_3_t = {.field_strength = 3}, mapped = {.field_strength = 3, .field_map = images};
    assert_refused(larmor_fit(magnitude, LARMOR_FIT_WATER_FAT, ms, &at_3_t, &maps), LARMOR_ERR_SHAPE,
                   "expected complex ones: water and fat differ by phase");
    assert_refused(larmor_fit(images, LARMOR_FIT_WATER_FAT, ms, NULL, &maps), LARMOR_ERR_ARG,
                   "opts.field_strength: got 0");
    assert_refused(larmor_fit(images, LARMOR_FIT_WATER_FAT, ms, &mapped, &maps), LARMOR_ERR_SHAPE,
                   "opts.field_map: got");
}
