/* The processor's order of points: tiles, places, colours. SPDX-License-Identifier: Apache-2.0 */
#define LMR_REAL 64
#include <math.h>

#include "core/device.h"
#include "nufft/cpu/points.h"
#include "tests/support/test.h"

static const double no_window[DEGREES * 16];

static lmr_nufft_geometry geometry(int ndim, int width, const int64_t cells[3])
{
    lmr_nufft_geometry g = {.ndim = ndim, .width = width, .degree = 3, .batch = 1, .window = no_window};
    for (int d = 0; d < 3; d++) g.cells[d] = d < ndim ? cells[d] : 1, g.modes[d] = d < ndim ? cells[d] / 2 : 1;
    return g;
}

/* Points everywhere, the first half of them also in a small cluster if asked for. */
static double *make_points(const lmr_nufft_geometry *g, int64_t m, int clustered)
{
    uint64_t state = 41;
    double *points = malloc((size_t)(m * g->ndim) * sizeof *points);
    for (int64_t i = 0; i < m * g->ndim; i++)
        points[i] = test_random(&state) * (double)g->modes[i % g->ndim] / (clustered && i < m * g->ndim / 2 ? 40 : 2);
    return points;
}

static lmr_points *sort_points(const lmr_nufft_geometry *g, int64_t m, const double *points)
{
    void *sorted;
    int64_t bad;
    assert_ok(lmr_cpu_nufft_f64.sort(dev->ctx, g, m, 1, points, &bad, &sorted));
    assert_int_equal(bad, -1);
    return sorted;
}

static const lmr_point *point(const lmr_nufft_geometry *g, const lmr_points *p, int64_t k)
{
    return lmr_point_of(p->points, g->ndim, k);
}

static const struct {
    int ndim, width;
    int64_t cells[3];
} cases[] = {{1, 2, {2048}},        {1, 16, {2 * 2048}},   {1, 7, {3 * 2048 + 40}}, {1, 7, {5 * 2048}},
             {2, 2, {32, 100}},     {2, 16, {96, 128}},    {2, 5, {160, 64}},       {3, 16, {48, 48, 32}},
             {3, 15, {80, 30, 54}}, {3, 4, {48, 64, 112}}, {3, 16, {32, 32, 32}}};
enum { CASES = sizeof cases / sizeof *cases };

/* Marks the cells of a tile's box with `mark`; returns 1 if one of them had it already, other than by the box's own
 * wrapping. */
static int mark_box(const lmr_nufft_geometry *g, const lmr_points *p, int64_t tile, int mark, int *cells)
{
    int64_t origin[3], size[3];
    int twice = 0;
    lmr_tile_box(g, p, tile, origin, size);
    for (int64_t z = 0; z < size[2]; z++)
        for (int64_t y = 0; y < size[1]; y++)
            for (int64_t x = 0; x < size[0]; x++) {
                int *cell =
                    cells +
                    ((origin[2] + z) % g->cells[2] * g->cells[1] + (origin[1] + y) % g->cells[1]) * g->cells[0] +
                    (origin[0] + x) % g->cells[0];
                const int64_t wraps = x / g->cells[0] + y / g->cells[1] + z / g->cells[2];
                if (*cell == mark && !wraps) twice = 1;
                *cell = mark;
            }
    return twice;
}

static void tiles_of_one_colour_touch_no_cell_twice(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        double *points = make_points(&g, 3000, 0);
        lmr_points *p = sort_points(&g, 3000, points);
        int *cells = calloc((size_t)(g.cells[0] * g.cells[1] * g.cells[2]), sizeof *cells);
        for (int c = 0; c < COLOURS; c++)
            for (int64_t k = p->light_first[c]; k < p->light_first[c + 1]; k++)
                assert_int_equal(mark_box(&g, p, p->light[k], c + 1, cells), 0);
        free(cells), free(points), lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

static void every_point_is_in_its_tile_in_its_old_order_and_at_its_place(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 5000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        double *points = make_points(&g, m, 1);
        lmr_points *p = sort_points(&g, m, points);
        int *seen = calloc((size_t)m, sizeof *seen);
        assert_int_equal(p->first[p->tile_count], m);
        for (int64_t tile = 0; tile < p->tile_count; tile++)
            for (int64_t k = p->first[tile]; k < p->first[tile + 1]; k++) {
                int64_t origin[3], size[3], at = point(&g, p, k)->at;
                const int64_t index = point(&g, p, k)->index;
                if (k > p->first[tile]) assert_true(index > point(&g, p, k - 1)->index);
                seen[index]++;
                lmr_tile_box(&g, p, tile, origin, size);
                for (int d = 0; d < g.ndim; d++, at /= p->extent[d - 1]) {
                    const int64_t local = at % p->extent[d], n = g.cells[d];
                    assert_in_range(local, 0, size[d] - g.width);
                    assert_true(fabs(point(&g, p, k)->t[d]) <= 1 + 1e-12);
                    /* t = 2 (first cell - x + width / 2) - 1, solved for x */
                    const double x = (double)(origin[d] + local) + 0.5 * g.width - 0.5 * (point(&g, p, k)->t[d] + 1);
                    const double k_cycles = points[index * g.ndim + d];
                    const double wanted = k_cycles * (double)n / (double)g.modes[d];
                    assert_at_most(fabs(remainder(x - wanted, (double)n)), 1e-12 * (double)n);
                }
            }
        for (int64_t j = 0; j < m; j++) assert_int_equal(seen[j], 1);
        free(seen), free(points), lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

static void the_work_covers_every_point_once(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 20000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        double *points = make_points(&g, m, 1);
        lmr_points *p = sort_points(&g, m, points);
        int *spread = calloc((size_t)m, sizeof *spread), *interp = calloc((size_t)m, sizeof *interp);
        for (int64_t k = 0; k < p->light_first[COLOURS]; k++)
            for (int64_t j = p->first[p->light[k]]; j < p->first[p->light[k] + 1]; j++) spread[j]++;
        for (int64_t k = 0; k < p->heavies; k++)
            for (int64_t j = 0; j < p->heavy[k].count; j++) spread[p->heavy[k].first + j]++;
        for (int64_t k = 0; k < p->chunk_count; k++)
            for (int64_t j = 0; j < p->chunks[k].count; j++) interp[p->chunks[k].first + j]++;
        for (int64_t j = 0; j < m; j++) assert_int_equal(spread[j] + 2 * interp[j], 3);
        assert_true(p->heavies > 0);
        free(spread), free(interp), free(points), lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tiles_of_one_colour_touch_no_cell_twice),
    cmocka_unit_test(every_point_is_in_its_tile_in_its_old_order_and_at_its_place),
    cmocka_unit_test(the_work_covers_every_point_once),
};

int main(void)
{
    /* the tables are the processor's, whatever device is under test */
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    if (spec && strncmp(spec, "cpu", 3) != 0) return 77;
    RUN_TESTS(tests);
}
