/* A backend's FFT between a grid and its low frequencies, against its FFT of the whole grid in double precision.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/backend/buffers.h"

static int64_t product(int ndim, const int64_t n[3])
{
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) count *= n[d];
    return count;
}

/* The cell of a mode's frequency, and the mode's factor, by dimension. */
static int64_t cell_of(const lmr_modes_shape *s, double *const factor[3], int64_t mode, double *times)
{
    int64_t cell = 0, step = 1;
    *times = 1;
    for (int d = 0; d < s->ndim; d++) {
        const int64_t n = s->cells[d], m = s->modes[d], place = mode % m;
        const int64_t centred = s->fft_order ? (place + m / 2) % m : place;
        cell += (centred - m / 2 + n) % n * step;
        *times *= factor[d][centred];
        step *= n;
        mode /= m;
    }
    return cell;
}

/* y <- x by the whole grid's FFT, modes [modes..., batch] and cells [cells..., batch]. */
static void by_whole_grids(const lmr_modes_shape *s, int to_modes, int sign, double *const factor[3], const cx *x,
                           cx *y)
{
    const int64_t cells = product(s->ndim, s->cells), modes = product(s->ndim, s->modes);
    const lmr_fft *fft = dev->be->fft[LMR_F64];
    cx *grid = calloc((size_t)(cells * s->batch), sizeof *grid);
    void *plan;
    double times;
    assert_non_null(grid);
    if (to_modes) memcpy(grid, x, (size_t)(cells * s->batch) * sizeof *grid);
    for (int64_t i = 0; i < modes * s->batch && !to_modes; i++) {
        const int64_t cell = cell_of(s, factor, i % modes, &times);
        grid[i / modes * cells + cell] = x[i] * times;
    }
    void *on_device = upload(LMR_F64, grid, cells * s->batch);
    free(grid);
    assert_ok(fft->plan(dev->ctx, s->ndim, s->cells, s->batch, &plan));
    assert_ok(fft->exec(dev->ctx, plan, sign, on_device));
    fft->destroy(dev->ctx, plan);
    grid = download(LMR_F64, on_device, cells * s->batch);
    release(on_device);
    if (!to_modes) memcpy(y, grid, (size_t)(cells * s->batch) * sizeof *grid);
    for (int64_t i = 0; i < modes * s->batch && to_modes; i++) {
        const int64_t cell = cell_of(s, factor, i % modes, &times);
        y[i] = grid[i / modes * cells + cell] * times;
    }
    free(grid);
}

static void *upload_real(int precision, const double *x, int64_t n)
{
    void *ptr;
    HEAP float *single = malloc((size_t)n * sizeof *single);
    const size_t bytes = (size_t)n * element(precision) / 2;
    assert_non_null(single);
    for (int64_t i = 0; i < n; i++) single[i] = (float)x[i];
    assert_ok(dev->be->alloc(dev->ctx, bytes, &ptr));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, precision == LMR_F64 ? (const void *)x : single, bytes));
    return ptr;
}

static cx *not_a_number(int64_t n)
{
    NEW(cx, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = CMPLX(NAN, NAN);
    return x;
}

static void check(int p, const lmr_modes_shape *s, int64_t planned, int to_modes, int sign)
{
    const lmr_modes *table = dev->be->modes[p];
    const int64_t cells = product(s->ndim, s->cells) * s->batch, modes = product(s->ndim, s->modes) * s->batch;
    const int64_t from = to_modes ? cells : modes;
    const int64_t to = to_modes ? modes : cells;
    HEAP cx *x = random_values(from, 31), *y = not_a_number(to);
    OWNED(void) *dx = upload(p, x, from), *dy = upload(p, y, to);
    void *plan;
    double *factor[3];
    void *on_device[3] = {NULL, NULL, NULL};
    uint64_t state = 77;
    for (int d = 0; d < s->ndim; d++) {
        factor[d] = malloc((size_t)s->modes[d] * sizeof(double));
        for (int64_t i = 0; i < s->modes[d]; i++) factor[d][i] = (float)(1.5 + test_random(&state));
        on_device[d] = upload_real(p, factor[d], s->modes[d]);
    }
    lmr_modes_shape shape = *s;
    shape.batch = planned;
    assert_true(table->bytes(dev->ctx, &shape) >= 0);
    assert_ok(table->plan(dev->ctx, &shape, &plan));
    const void *const factors[3] = {on_device[0], on_device[1], on_device[2]};
    if (to_modes)
        assert_ok(table->crop(dev->ctx, plan, sign, s->batch, factors, dx, dy));
    else
        assert_ok(table->pad(dev->ctx, plan, sign, s->batch, factors, dx, dy));
    by_whole_grids(s, to_modes, sign, factor, x, y);
    assert_close(p, dy, y, to, 30);
    table->destroy(dev->ctx, plan);
    for (int d = 0; d < s->ndim; d++) {
        free(factor[d]);
        release(on_device[d]);
    }
}

TEST(modes_are_the_low_frequencies_of_the_whole_grid_times_their_factors)
{
    static const struct {
        lmr_modes_shape shape;
        int64_t planned;
    } cases[] = {
        {{2, {8, 6, 0}, {5, 3, 0}, 3, 0}, 3},           {{2, {16, 20, 0}, {1, 2, 0}, 2, 1}, 5},
        {{2, {80, 72, 0}, {53, 48, 0}, 7, 0}, 7},       {{2, {320, 384, 0}, {256, 255, 0}, 3, 0}, 4},
        {{2, {256, 300, 0}, {129, 200, 0}, 40, 1}, 40}, {{2, {1260, 20, 0}, {1001, 10, 0}, 1, 0}, 1},
        {{2, {14, 1680, 0}, {9, 839, 0}, 1, 1}, 1},     {{3, {6, 10, 4}, {3, 6, 2}, 2, 0}, 2},
        {{3, {20, 16, 28}, {17, 9, 22}, 3, 1}, 3},      {{3, {36, 100, 48}, {25, 61, 32}, 2, 0}, 3},
        {{3, {72, 80, 60}, {48, 51, 45}, 4, 0}, 4},     {{3, {96, 64, 140}, {63, 48, 91}, 1, 1}, 1},
        {{3, {20, 16, 28}, {17, 9, 22}, 0, 1}, 3},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        if (!dev->be->modes[p]) skip();
        for (int i = 0; i < 4 * (int)(sizeof cases / sizeof *cases); i++)
            check(p, &cases[i / 4].shape, cases[i / 4].planned, i & 1, i & 2 ? 1 : -1);
        dev->be->modes[p]->destroy(dev->ctx, NULL);
    }
}

TEST(grids_that_are_not_for_passes_say_so)
{
    static const lmr_modes_shape cases[] = {{1, {64, 0, 0}, {32, 0, 0}, 1, 0},
                                            {2, {64, 22, 0}, {32, 11, 0}, 1, 0},
                                            {2, {64, 1 << 20, 0}, {32, 1 << 19, 0}, 1, 0},
                                            {3, {64, 64, 26}, {32, 32, 13}, 1, 0},
                                            {2, {64, 64, 0}, {65, 64, 0}, 1, 0}};
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        if (!dev->be->modes[p]) skip();
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            void *plan = &plan;
            assert_true(dev->be->modes[p]->bytes(dev->ctx, &cases[i]) < 0);
            assert_int_equal(dev->be->modes[p]->plan(dev->ctx, &cases[i], &plan), LARMOR_ERR_UNSUPPORTED);
            assert_null(plan);
        }
    }
}
