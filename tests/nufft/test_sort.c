/* The processor's order of points: tiles, places, colours. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#define LMR_REAL 64

#include "core/device.h"
#include "nufft/choose/cost.h"
#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"
#include "tests/support/test.h"

static const double no_window[DEGREES * 16];

static lmr_nufft_geometry geometry(int ndim, int width, const int64_t cells[3])
{
    lmr_nufft_geometry g = {.ndim = ndim, .width = width, .degree = 3, .batch = 1, .window = no_window};
    for (int d = 0; d < 3; d++) {
        g.cells[d] = d < ndim ? cells[d] : 1;
        g.modes[d] = d < ndim ? cells[d] / 2 : 1;
    }
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

static const lmr_point *point(const lmr_points *p, int64_t k)
{
    return lmr_point_of(p->points, p->point_size, k);
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

TEST(tiles_of_one_colour_touch_no_cell_twice)
{
    for (int i = 0; i < CASES; i++) {
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *points = make_points(&g, 3000, 0);
        lmr_points *p = sort_points(&g, 3000, points);
        HEAP int *cells = calloc((size_t)(g.cells[0] * g.cells[1] * g.cells[2]), sizeof *cells);
        for (int c = 0; c < COLOURS; c++)
            for (int64_t k = p->light_first[c]; k < p->light_first[c + 1]; k++)
                assert_int_equal(mark_box(&g, p, p->light[k], c + 1, cells), 0);
        lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

TEST(every_point_is_in_its_tile_and_at_its_place)
{
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 5000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *points = make_points(&g, m, 1);
        lmr_points *p = sort_points(&g, m, points);
        HEAP int *seen = calloc((size_t)m, sizeof *seen);
        assert_int_equal(p->first[p->tile_count], m);
        for (int64_t tile = 0; tile < p->tile_count; tile++)
            for (int64_t k = p->first[tile]; k < p->first[tile + 1]; k++) {
                int64_t origin[3], size[3], at = point(p, k)->at;
                const int64_t index = lmr_index_of(p, k);
                seen[index]++;
                lmr_tile_box(&g, p, tile, origin, size);
                for (int d = 0; d < g.ndim; d++, at /= p->extent[d - 1]) {
                    const int64_t local = at % p->extent[d], n = g.cells[d];
                    assert_in_range(local, 0, size[d] - g.width);
                    assert_true(fabs(point(p, k)->t[d]) <= 1 + 1e-12);
                    /* t = 2 (first cell - x + width / 2) - 1, solved for x */
                    const double x = (double)(origin[d] + local) + 0.5 * g.width - 0.5 * (point(p, k)->t[d] + 1);
                    const double k_cycles = points[index * g.ndim + d];
                    const double wanted = k_cycles * (double)n / (double)g.modes[d];
                    assert_at_most(fabs(remainder(x - wanted, (double)n)), 1e-12 * (double)n);
                }
            }
        for (int64_t j = 0; j < m; j++) assert_int_equal(seen[j], 1);
        lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

/* The bin of a point, or 0 if tiles have none. */
static int64_t bin_of(const lmr_nufft_geometry *g, const lmr_points *p, int64_t k)
{
    int64_t at = point(p, k)->at, bin = 0, weight = 1;
    for (int d = 0; p->binned && d < g->ndim; d++, at /= p->extent[d - 1], weight *= 1000)
        bin += weight * (at % p->extent[d] / BIN_SIDE);
    return bin;
}

TEST(the_points_of_a_tile_are_by_bins_and_else_in_their_old_order)
{
    int binned = 0;
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 30000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *points = make_points(&g, m, 1);
        lmr_points *p = sort_points(&g, m, points);
        binned += p->binned;
        for (int64_t tile = 0; tile < p->tile_count; tile++)
            for (int64_t k = p->first[tile] + 1; k < p->first[tile + 1]; k++) {
                const int64_t before = bin_of(&g, p, k - 1), bin = bin_of(&g, p, k);
                if (p->binned && (k - p->first[tile]) % BIN_POINTS == 0) continue;
                assert_true(before < bin || (before == bin && lmr_index_of(p, k - 1) < lmr_index_of(p, k)));
            }
        lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
    assert_true(binned > 0 && binned < CASES);
}

/* Values of a type, in cells or points, of a line in tiles of a shape on some threads. */
static double *line_of(int shape, const char *spec, int64_t m, const double *points, int spread, int *in_order)
{
    enum { BATCH = 2 };
    const int64_t cells[3] = {5000, 1, 1};
    const int64_t from_count = 2 * BATCH * (spread ? m : 5000);
    const int64_t to_count = 2 * BATCH * (spread ? 5000 : m);
    static double window[4 * 7];
    for (int k = 0; k < 4 * 7; k++) window[k] = sin(k + 1);
    lmr_nufft_geometry g = geometry(1, 7, cells);
    g.window = window;
    g.batch = BATCH;
    g.tiles = shape;
    OWN(larmor_device, *on, larmor_device_open(spec, &on));
    void *sorted;
    int64_t bad;
    assert_ok(lmr_cpu_nufft_f64.sort(on->ctx, &g, m, 1, points, &bad, &sorted));
    double *from = malloc((size_t)from_count * sizeof *from), *to = malloc((size_t)to_count * sizeof *to);
    for (int64_t i = 0; i < from_count; i++) from[i] = cos((double)i);
    if (spread)
        assert_ok(lmr_cpu_nufft_f64.spread(on->ctx, &g, sorted, BATCH, from, to));
    else
        assert_ok(lmr_cpu_nufft_f64.interp(on->ctx, &g, sorted, BATCH, from, to));
    *in_order = ((lmr_points *)sorted)->in_order;
    lmr_cpu_nufft_f64.release(on->ctx, sorted);
    free(from);
    return to;
}

TEST(a_short_line_is_not_sorted_and_gives_the_same_as_tiles_on_any_number_of_threads)
{
    const int64_t m = 20000, cells[3] = {5000, 1, 1};
    const lmr_nufft_geometry g = geometry(1, 7, cells);
    HEAP double *points = make_points(&g, m, 0);
    for (int spread = 0; spread < 2; spread++) {
        const size_t count = 2 * 2 * (size_t)(spread ? 5000 : m);
        int in_order, sorted;
        HEAP double *one = line_of(0, "cpu:1", m, points, spread, &in_order);
        HEAP double *three = line_of(0, "cpu:3", m, points, spread, &in_order);
        HEAP double *tiled = line_of(1, "cpu:3", m, points, spread, &sorted);
        assert_true(in_order && !sorted);
        assert_memory_equal(one, three, count * sizeof *one);
        for (size_t i = 0; i < count; i++) assert_at_most(fabs(one[i] - tiled[i]), 1e-12 * (1 + fabs(tiled[i])) * 30);
    }
}

TEST(the_first_point_that_is_not_finite_is_found_without_sorting)
{
    const int64_t m = 20000, cells[3] = {5000, 1, 1};
    const lmr_nufft_geometry g = geometry(1, 7, cells);
    HEAP double *points = make_points(&g, m, 0);
    void *sorted;
    int64_t bad;
    points[17001] = NAN;
    points[12345] = INFINITY;
    assert_ok(lmr_cpu_nufft_f64.sort(dev->ctx, &g, m, 1, points, &bad, &sorted));
    assert_int_equal(bad, 12345);
    assert_null(sorted);
}

/* Coordinates that lie apart, times a factor that is to have no effect but on them. */
static larmor_status sort_apart(const lmr_nufft_geometry *g, int64_t m, const double *apart, double factor,
                                void *previous, int64_t *bad, void **sorted)
{
    lmr_nufft_source from = {.is_double = 1, .stride = 1};
    for (int d = 0; d < g->ndim; d++) {
        from.first[d] = apart + d * m;
        from.factor[d] = factor;
    }
    return lmr_cpu_nufft_f64.sort_from(dev->ctx, g, m, &from, previous, bad, sorted);
}

/* Bytes of all records of points. */
static size_t bytes_of(const lmr_points *p)
{
    return (size_t)p->m * p->point_size;
}

TEST(coordinates_that_lie_apart_are_sorted_as_points_are)
{
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 5000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *points = make_points(&g, m, 1), *apart = malloc((size_t)(m * g.ndim) * sizeof *apart);
        for (int64_t j = 0; j < m * g.ndim; j++) apart[j % g.ndim * m + j / g.ndim] = points[j] / 4;
        lmr_points *p = sort_points(&g, m, points);
        void *q;
        int64_t bad;
        assert_ok(sort_apart(&g, m, apart, 4, NULL, &bad, &q));
        assert_int_equal(p->point_size, ((lmr_points *)q)->point_size);
        for (int64_t j = 0; j < m; j++) {
            assert_int_equal(lmr_index_of(p, j), lmr_index_of(q, j));
            assert_int_equal(point(p, j)->at, point(q, j)->at);
            assert_memory_equal(point(p, j)->t, point(q, j)->t, (size_t)g.ndim * sizeof(double));
        }
        lmr_cpu_nufft_f64.release(dev->ctx, p);
        lmr_cpu_nufft_f64.release(dev->ctx, q);
    }
}

TEST(points_take_the_memory_of_the_previous_ones_unless_one_is_not_finite)
{
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 5000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *apart = make_points(&g, m, 1);
        lmr_points *first, *next, *none;
        int64_t bad;
        assert_ok(sort_apart(&g, m, apart, 1, NULL, &bad, (void **)&first));
        HEAP char *before = malloc(bytes_of(first));
        const void *memory = first->points, *buffer = first->buffer;
        memcpy(before, memory, bytes_of(first));
        apart[m - 3] = NAN;
        assert_ok(sort_apart(&g, m, apart, 1, first, &bad, (void **)&none));
        assert_null(none);
        assert_int_equal(bad, m - 3);
        assert_ptr_equal(first->points, memory);
        assert_memory_equal(memory, before, bytes_of(first));
        apart[m - 3] = 0;
        assert_ok(sort_apart(&g, m, apart, 1, first, &bad, (void **)&next));
        assert_ptr_equal(next->points, memory);
        assert_null(first->points);
        assert_true(next->buffer == buffer || next->buffer_bytes > first->buffer_bytes);
        lmr_cpu_nufft_f64.release(dev->ctx, first);
        assert_ok(sort_apart(&g, m / 5, apart, 1, next, &bad, (void **)&first));
        assert_ptr_not_equal(first->points, memory); /* a fifth of the points does not hold five times its memory */
        lmr_cpu_nufft_f64.release(dev->ctx, first);
        lmr_cpu_nufft_f64.release(dev->ctx, next);
    }
}

TEST(the_work_covers_every_point_once)
{
    for (int i = 0; i < CASES; i++) {
        const int64_t m = 20000;
        const lmr_nufft_geometry g = geometry(cases[i].ndim, cases[i].width, cases[i].cells);
        HEAP double *points = make_points(&g, m, 1);
        lmr_points *p = sort_points(&g, m, points);
        HEAP int *spread = calloc((size_t)m, sizeof *spread), *interp = calloc((size_t)m, sizeof *interp);
        for (int64_t k = 0; k < p->light_first[COLOURS]; k++)
            for (int64_t j = p->first[p->light[k]]; j < p->first[p->light[k] + 1]; j++) spread[j]++;
        for (int64_t k = 0; k < p->heavies; k++)
            for (int64_t j = 0; j < p->heavy[k].count; j++) spread[p->heavy[k].first + j]++;
        for (int64_t k = 0; k < p->chunk_count; k++)
            for (int64_t j = 0; j < p->chunks[k].count; j++) interp[p->chunks[k].first + j]++;
        for (int64_t j = 0; j < m; j++) assert_int_equal(spread[j] + 2 * interp[j], p->in_order ? 2 : 3);
        assert_true(p->in_order || p->heavies > 0);
        lmr_cpu_nufft_f64.release(dev->ctx, p);
    }
}

TEST(the_model_of_cost_has_the_tiles_of_the_kernels)
{
    for (int precision = 0; precision < LMR_PRECISIONS; precision++) {
        const lmr_nufft_tiling t = lmr_nufft_builtin_rates(LMR_NUFFT_PROCESSOR, precision, 1).tiling;
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int d = 0; d < ndim; d++) assert_true(t.side[ndim - 1] == (double)tile_sides[0][ndim - 1][d]);
        assert_true(t.chunk == CHUNK_POINTS && t.most_chunks == MOST_CHUNKS && t.few == FEW_TILES);
    }
}

int main(void)
{
    /* the tables are the processor's, whatever device is under test */
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    if (spec && strncmp(spec, "cpu", 3) != 0) return 77;
    return run_on_device();
}
