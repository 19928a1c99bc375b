/* The inner loops of each instruction set against plain ones. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_REAL
#define LMR_REAL 64
#endif

#include "nufft/cpu/points.h"
#include "nufft/cpu/tiles.h"
#include "tests/support/test.h"

/* SIDE: rows are whole vectors, as those of tiles are. */
enum { POINTS = 5, VALUES = POINTS + 1, BATCH = 3, SIDE = 24, CELLS = SIDE * SIDE * SIDE };

typedef struct problem {
    lmr_rows_job job;
    lmr_point point[POINTS];
    int64_t packed[(POINTS + 1) * sizeof(lmr_point) / sizeof(int64_t)]; /* the same as the inner loops see them */
    real doubled[DEGREES * DOUBLED_PITCH], plain[DEGREES * PLAIN_PITCH];
    real values[2 * BATCH * VALUES];
    _Alignas(64) real cells[BATCH * (2 * CELLS + DOUBLED_PITCH)];
} problem;

static problem *make_problem(int ndim, int width, int degree, int in_order)
{
    uint64_t state = 7;
    const size_t size = lmr_point_size(ndim, in_order, 0);
    const size_t left_out = in_order ? sizeof(uint32_t) : 0;
    problem *p = aligned_alloc(64, sizeof *p);
    memset(p, 0, sizeof *p);
    p->job = (lmr_rows_job){.ndim = ndim,
                            .width = width,
                            .degree = degree,
                            .doubled = p->doubled,
                            .plain = p->plain,
                            .count = POINTS,
                            .points = p->packed,
                            .point_size = size,
                            .in_order = in_order,
                            .first_value = 1,
                            .row = 2 * SIDE,
                            .plane = 2 * SIDE * SIDE,
                            .batch = BATCH,
                            .tile = p->cells,
                            .tile_pitch = 2 * CELLS + DOUBLED_PITCH,
                            .from = p->values,
                            .to = p->values,
                            .value_pitch = 2 * VALUES};
    for (int i = 0; i < POINTS; i++) {
        lmr_point *point = &p->point[i];
        point->index = (uint32_t)(in_order ? 1 + i : (3 * i + 1) % POINTS);
        for (int d = 0, stride = 1; d < ndim; d++, stride *= SIDE) {
            point->t[d] = (real)test_random(&state);
            point->at += (int)((test_random(&state) + 1) * 0.5 * (SIDE - width + 1)) * stride;
        }
        memcpy((char *)p->packed + (size_t)i * size + left_out, (char *)point + left_out, size);
    }
    for (int k = 0; k <= degree; k++)
        for (int l = 0; l < width; l++)
            p->plain[k * PLAIN_PITCH + l] = p->doubled[k * DOUBLED_PITCH + 2 * l] =
                p->doubled[k * DOUBLED_PITCH + 2 * l + 1] = (real)test_random(&state);
    for (int i = 0; i < 2 * BATCH * VALUES; i++) p->values[i] = (real)test_random(&state);
    for (size_t i = 0; i < sizeof p->cells / sizeof *p->cells; i++) p->cells[i] = (real)test_random(&state);
    return p;
}

static double window_value(const problem *p, int d, int i, int l)
{
    if (d >= p->job.ndim) return 1;
    double value = 0;
    for (int k = p->job.degree; k >= 0; k--) value = value * p->point[i].t[d] + p->plain[k * PLAIN_PITCH + l];
    return value;
}

/* cells += values (adjoint 0) or values = cells, in doubles, by the definition. */
static void plain_rows(const problem *p, int interp, double *values, double *cells)
{
    const int ndim = p->job.ndim, w = p->job.width;
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < POINTS; i++) {
            double *value = values + 2 * (b * VALUES + p->point[i].index), sum[2] = {0};
            for (int z = 0; z < (ndim > 2 ? w : 1); z++)
                for (int y = 0; y < (ndim > 1 ? w : 1); y++)
                    for (int x = 0; x < w; x++)
                        for (int part = 0; part < 2; part++) {
                            const double k =
                                window_value(p, 0, i, x) * window_value(p, 1, i, y) * window_value(p, 2, i, z);
                            double *cell = cells + b * p->job.tile_pitch +
                                           2 * (p->point[i].at + x + SIDE * (y + SIDE * z)) + part;
                            if (interp)
                                sum[part] += k * *cell;
                            else
                                *cell += k * value[part];
                        }
            if (interp) {
                value[0] = sum[0];
                value[1] = sum[1];
            }
        }
}

static void check_rows(const lmr_rows *rows, int interp, int in_order)
{
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int width = 2; width <= 16; width++) {
            HEAP problem *p = make_problem(ndim, width, width < 12 ? width + 2 : 5, in_order);
            const size_t value_count = sizeof p->values / sizeof *p->values;
            const size_t cell_count = sizeof p->cells / sizeof *p->cells;
            HEAP double *values = malloc(value_count * sizeof *values), *cells = malloc(cell_count * sizeof *cells);
            for (size_t i = 0; i < value_count; i++) values[i] = p->values[i];
            for (size_t i = 0; i < cell_count; i++) cells[i] = p->cells[i];
            plain_rows(p, interp, values, cells);
            (interp ? rows->interp : rows->spread)(&p->job);
            const double limit = LMR_REAL == 32 ? 1e-3 : 1e-12;
            for (size_t i = 0; i < value_count; i++)
                assert_at_most(fabs(values[i] - p->values[i]), limit * (1 + fabs(values[i])));
            for (size_t i = 0; i < cell_count; i++)
                assert_at_most(fabs(cells[i] - p->cells[i]), limit * (1 + fabs(cells[i])));
        }
}

/* Positions with all their bits: at and next to the edges of cells and tiles, and anywhere. */
static double position(int i, int64_t cells, int64_t modes, int width, uint64_t *state)
{
    const double half = 0.5 * (double)modes;
    if (i % 3 == 0) return test_random(state) * half;
    const double edge = (double)(i - 200) + 0.5 * width,
                 k = fmin(half, fmax(-half, edge * (double)modes / (double)cells));
    return i % 3 == 1 ? k : fmin(half, nextafter(k, 1e300));
}

/* A point's first cell c is the least with c >= x - w / 2, up to the rounding of x to a double; t says where it lies.
 */
static void check_place(const lmr_rows *rows, int64_t cells, int64_t modes, int64_t tiles, int width)
{
    uint64_t state = 3;
    HEAP lmr_place_job *job = calloc(1, sizeof *job);
    const long double scale = (long double)cells / (long double)modes, half = 0.5L * width;
    job->ndim = 1;
    job->count = PLACE_BLOCK;
    job->axis[0] = (lmr_axis){.scale = (double)scale,
                              .scale_rest = (double)(scale - (long double)(double)scale),
                              .half_modes = 0.5 * (double)modes,
                              .half_width = 0.5 * width,
                              .cells = (double)cells,
                              .tiles = (double)tiles,
                              .per_cells = 1 / (double)cells,
                              .per_tiles = 1 / (double)tiles,
                              .stride = 1,
                              .tile_stride = 1};
    double k[PLACE_BLOCK];
    job->is_double = 1;
    job->stride = 1;
    job->first[0] = k;
    job->factor[0] = 1;
    for (int i = 0; i < PLACE_BLOCK; i++) k[i] = position(i, cells, modes, width, &state);
    assert_int_equal(rows->place(job), -1);
    for (int i = 0; i < PLACE_BLOCK; i++) {
        const int64_t start = lmr_tile_start(cells, tiles, job->tile[i]), cell = start + job->at[i];
        assert_in_range(job->tile[i], 0, tiles - 1);
        assert_in_range(cell, start, lmr_tile_start(cells, tiles, job->tile[i] + 1) - 1);
        long double away = (long double)cell - (long double)k[i] * scale + half; /* 0 .. 1, modulo the grid */
        away -= (long double)cells * roundl((away - 0.5L) / (long double)cells);
        const double unit = LMR_REAL == 32 ? 0x1p-24 : 0x1p-53;
        assert_at_most(fabs((double)(away - 0.5L)), 0.5 + (double)cells * 0x1p-53);
        assert_at_most(fabs((double)(2 * away - 1 - (long double)job->t[0][i])),
                       4 * unit + (double)cells * 0x1p-62); /* the last: of long double here */
    }
}

/* Places of some points of a line, in turn near and far from the grid, at and next to its ends. */
static void place_line(const lmr_rows *rows, const double *k, lmr_place_job *job)
{
    const int64_t cells = 162, modes = 101;
    job->ndim = 1;
    job->count = PLACE_BLOCK;
    job->is_double = 1;
    job->stride = 1;
    job->first[0] = k;
    job->factor[0] = 1;
    job->axis[0] = (lmr_axis){.scale = (double)cells / (double)modes,
                              .half_modes = 0.5 * (double)modes,
                              .half_width = 2,
                              .cells = (double)cells,
                              .tiles = 5,
                              .per_cells = 1 / (double)cells,
                              .per_tiles = 1 / 5.0,
                              .stride = 1,
                              .tile_stride = 1};
    assert_int_equal(rows->place(job), -1);
}

/* Half of the blocks have a point beyond 2^52, where they are folded one by one. */
static void check_fold(const lmr_rows *rows)
{
    HEAP lmr_place_job *far = calloc(1, sizeof *far), *near = calloc(1, sizeof *near);
    uint64_t state = 11;
    for (int round = 0; round < 40; round++) {
        double k[PLACE_BLOCK], folded[PLACE_BLOCK];
        for (int i = 0; i < PLACE_BLOCK; i++) {
            const double half = 50.5, periods = rint(ldexp(test_random(&state), round));
            k[i] = (i % 4 ? half * (2 * periods + i % 4 - 2) : ldexp(test_random(&state), round + 5));
            if (i % 3 == 1) k[i] = nextafter(k[i], INFINITY);
            if (i % 3 == 2) k[i] = nextafter(k[i], -INFINITY);
            if (i == 7 && round % 2) k[i] = 0x1.8p53;
            folded[i] = fabs(k[i]) > half ? remainder(k[i], 101) : k[i];
        }
        place_line(rows, k, far);
        place_line(rows, folded, near);
        assert_memory_equal(far->tile, near->tile, sizeof far->tile);
        assert_memory_equal(far->at, near->at, sizeof far->at);
        assert_memory_equal(far->t[0], near->t[0], sizeof far->t[0]);
    }
}

/* Tiles that are counted before points are moved are those where they go, on the edges of cells, too. */
static void check_tiles_alone(const lmr_rows *rows)
{
    HEAP lmr_place_job *all = calloc(1, sizeof *all), *tiles = calloc(1, sizeof *tiles);
    uint64_t state = 12;
    double k[PLACE_BLOCK];
    for (int i = 0; i < PLACE_BLOCK; i++) k[i] = position(i, 162, 101, 4, &state);
    tiles->what = PLACE_TILES;
    tiles->at[3] = 77;
    place_line(rows, k, all);
    place_line(rows, k, tiles);
    assert_memory_equal(all->tile, tiles->tile, sizeof all->tile);
    assert_int_equal(tiles->at[3], 77);
}

static void check_all(const lmr_rows *rows)
{
    check_fold(rows);
    check_tiles_alone(rows);
    for (int in_order = 0; in_order < 2; in_order++) {
        check_rows(rows, 0, in_order);
        check_rows(rows, 1, in_order);
    }
    for (int width = 2; width <= 16; width++) {
        check_place(rows, 400, 320, 12, width);
        check_place(rows, 162, 101, 5, width);
        check_place(rows, 1 << 21, 1000003, 1023, width);
    }
}

TEST(the_portable_rows_are_the_definition)
{
    check_all(&R(lmr_rows_base));
}

TEST(the_avx2_rows_are_the_definition)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        check_all(&R(lmr_rows_avx2));
        return;
    }
#endif
    skip();
}

TEST(the_avx512_rows_are_the_definition)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        check_all(&R(lmr_rows_avx512));
        return;
    }
#endif
    skip();
}

#if defined(__x86_64__)
static void check_same_bits(int ndim, int width, int interp)
{
    HEAP problem *a = make_problem(ndim, width, width + 2, 0), *b = make_problem(ndim, width, width + 2, 0);
    (interp ? R(lmr_rows_avx2).interp : R(lmr_rows_avx2).spread)(&a->job);
    (interp ? R(lmr_rows_avx512).interp : R(lmr_rows_avx512).spread)(&b->job);
    assert_memory_equal(a->values, b->values, sizeof a->values);
    assert_memory_equal(a->cells, b->cells, sizeof a->cells);
}
#endif

TEST(narrow_windows_have_the_same_bits_in_vectors_of_32_and_of_64_bytes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int width = 2; 2 * width * (int)sizeof(real) <= NARROW_BYTES; width++)
                for (int interp = 0; interp < 2; interp++) check_same_bits(ndim, width, interp);
        return;
    }
#endif
    skip();
}
