/* A backend's FFT, and the convolution by it, against sums. SPDX-License-Identifier: Apache-2.0 */
#include "tests/backend/buffers.h"

#define PI 3.14159265358979323846

/* ---- FFT ---- */

static void naive_dft(int ndim, const int64_t dim[3], int64_t batch, int sign, const cx *x, cx *y)
{
    int64_t full[3] = {1, 1, 1};
    for (int d = 0; d < ndim; d++) full[d] = dim[d];
    const int64_t n = full[0] * full[1] * full[2];
    memset(y, 0, (size_t)(n * batch) * sizeof *y);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) {
            double cycles = 0;
            for (int64_t d = 0, at = i, to = k; d < 3; at /= full[d], to /= full[d], d++)
                cycles += (double)(at % full[d] * (to % full[d]) % full[d]) / (double)full[d];
            const cx turn = cexp(sign * 2 * PI * I * cycles);
            for (int64_t b = 0; b < batch; b++) y[b * n + k] += x[b * n + i] * turn;
        }
}

TEST(fft_is_the_dft_for_any_size_batch_and_sign)
{
    static const struct {
        int ndim;
        int64_t dim[3], batch;
    } cases[] = {
        {1, {1, 0, 0}, 1},   {1, {2, 0, 0}, 3},   {1, {17, 0, 0}, 5}, {1, {64, 0, 0}, 2},
        {1, {251, 0, 0}, 1}, {1, {100, 0, 0}, 0}, {2, {8, 6, 0}, 1},  {2, {13, 7, 0}, 4},
        {2, {1, 12, 0}, 2},  {3, {4, 3, 5}, 2},   {3, {11, 1, 7}, 3}, {3, {16, 8, 4}, 1},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < (int)(sizeof cases / sizeof *cases) * 2; s++) {
            const int sign = s & 1 ? 1 : -1;
            const int ndim = cases[s / 2].ndim;
            const int64_t *dim = cases[s / 2].dim, batch = cases[s / 2].batch;
            int64_t n = batch;
            for (int d = 0; d < ndim; d++) n *= dim[d];
            HEAP cx *x = random_values(n, 16), *y = random_values(n, 17);
            void *dx = upload(p, x, n), *plan;
            naive_dft(ndim, dim, batch, sign, x, y);
            assert_ok(dev->be->fft[p]->plan(dev->ctx, ndim, dim, batch, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            assert_close(p, dx, y, n, 30);
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, -sign, dx)); /* and back, unscaled */
            for (int64_t i = 0; i < n; i++) x[i] *= (double)(n / batch);
            assert_close(p, dx, x, n, 30);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx);
        }
    dev->be->fft[0]->destroy(dev->ctx, NULL);
}

/* Of three numbers that are not zero the transform is known at any length. */
TEST(fft_of_a_long_line_is_the_dft)
{
    static const int64_t lengths[] = {65536, 65537, 65539 * 2, 75000, 80000, 98304, 110592, 131072, 262144 + 4096};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
            const int64_t n = lengths[i], at[3] = {0, n / 3 + 1, n - 1};
            const int sign = (i + p) % 2 ? 1 : -1;
            const cx value[3] = {1, 0.5 - 2 * I, -1.5 * I};
            HEAP cx *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
            for (int j = 0; j < 3; j++) {
                x[at[j]] = value[j];
                for (int64_t k = 0; k < n; k++)
                    y[k] += value[j] * cexp(sign * 2 * PI * I * (double)(at[j] * k % n) / (double)n);
            }
            void *dx = upload(p, x, n), *plan;
            assert_ok(dev->be->fft[p]->plan(dev->ctx, 1, (int64_t[]){n}, 1, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            assert_close(p, dx, y, n, 30);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx);
        }
}

static void *transform_with(int threads, int p, int ndim, const int64_t dim[3], int64_t batch, const cx *x, int64_t n)
{
    void *ctx, *plan, *data = upload(p, x, n);
    assert_ok(dev->be->open(0, threads, &ctx));
    assert_ok(dev->be->fft[p]->plan(ctx, ndim, dim, batch, &plan));
    assert_ok(dev->be->fft[p]->exec(ctx, plan, -1, data));
    dev->be->fft[p]->destroy(ctx, plan);
    dev->be->close(ctx);
    return data;
}

TEST(fft_is_the_same_to_the_bit_with_any_number_of_threads)
{
    static const struct {
        int ndim;
        int64_t dim[3], batch;
    } cases[] = {{1, {1000}, 1},   {1, {1000}, 7},   {1, {4096}, 8},      {1, {5001}, 5},      {1, {30000}, 3},
                 {1, {40000}, 1},  {1, {50000}, 4},  {1, {65537}, 1},     {1, {75000}, 1},     {1, {80000}, 3},
                 {1, {131072}, 1}, {1, {196608}, 2}, {2, {131200, 3}, 1}, {2, {2, 140000}, 1}, {2, {300, 280}, 3}};
    if (!dev->be->threads(dev->ctx)) skip(); /* a GPU has none */
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
            const size_t size = p == LMR_F64 ? 16 : 8;
            int64_t n = cases[i].batch;
            for (int d = 0; d < cases[i].ndim; d++) n *= cases[i].dim[d];
            HEAP cx *x = random_values(n, 19);
            OWNED(void) *one = transform_with(1, p, cases[i].ndim, cases[i].dim, cases[i].batch, x, n);
            for (int threads = 2; threads <= 3; threads++) {
                OWNED(void) *more = transform_with(threads, p, cases[i].ndim, cases[i].dim, cases[i].batch, x, n);
                assert_memory_equal(one, more, (size_t)n * size);
            }
        }
}

/* Whether cell i of an array lies in the band of the lowest keep frequencies. */
static int in_band(int ndim, const int64_t dim[3], const int64_t keep[3], int64_t i)
{
    int inside = 1;
    for (int d = 0; d < ndim; i /= dim[d], d++) {
        const int64_t at = i % dim[d];
        const int64_t frequency = at < dim[d] - keep[d] / 2 ? at : at - dim[d];
        inside &= frequency >= -(keep[d] / 2) && frequency < keep[d] - keep[d] / 2;
    }
    return inside;
}

/* The band's numbers of y are the expected ones; what else there is goes. */
static void assert_close_in_band(int precision, int ndim, const int64_t dim[3], const int64_t keep[3], void *y,
                                 cx *expected, int64_t n, int64_t each)
{
    HEAP cx *got = download(precision, y, n);
    for (int64_t i = 0; i < n; i++)
        if (!in_band(ndim, dim, keep, i % each)) got[i] = expected[i] = 0;
    OWNED(void) *rest = upload(precision, got, n);
    assert_close(precision, rest, expected, n, 30);
}

TEST(a_band_of_the_fft_is_the_fft_of_zeros_around_it_or_a_part_of_its_result)
{
    static const struct {
        int ndim;
        int64_t dim[3], keep[3], batch;
    } cases[] = {
        {1, {1, 0, 0}, {1, 0, 0}, 2},     {1, {12, 0, 0}, {5, 0, 0}, 3},        {1, {40, 0, 0}, {39, 0, 0}, 1},
        {2, {8, 6, 0}, {8, 6, 0}, 2},     {2, {20, 12, 0}, {9, 7, 0}, 1},       {2, {18, 40, 0}, {10, 20, 0}, 3},
        {2, {11, 9, 0}, {1, 2, 0}, 9},    {2, {37, 30, 0}, {18, 1, 0}, 0},      {2, {1, 12, 0}, {1, 7, 0}, 1},
        {3, {8, 10, 6}, {4, 5, 3}, 1},    {3, {9, 1, 14}, {3, 1, 7}, 2},        {3, {6, 10, 12}, {6, 10, 12}, 1},
        {3, {16, 12, 10}, {8, 6, 1}, 3},  {3, {5, 22, 18}, {2, 11, 9}, 9},      {3, {24, 20, 18}, {16, 13, 12}, 1},
        {1, {65540, 0, 0}, {3, 0, 0}, 1}, {1, {80000, 0, 0}, {53333, 0, 0}, 2}, {1, {98304, 0, 0}, {98303, 0, 0}, 1},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < (int)(sizeof cases / sizeof *cases) * 4; s++) {
            const int sign = s & 1 ? 1 : -1;
            const int inward = s >> 1 & 1;
            const int ndim = cases[s / 4].ndim;
            const int64_t *dim = cases[s / 4].dim, *keep = cases[s / 4].keep, batch = cases[s / 4].batch;
            const int unread = !inward && dev->be->threads(dev->ctx); /* by a processor, beyond the band */
            int64_t each = 1;
            for (int d = 0; d < ndim; d++) each *= dim[d];
            const int64_t n = each * batch;
            HEAP cx *x = random_values(n, 18);
            for (int64_t i = 0; i < n; i++)
                if (!inward && !in_band(ndim, dim, keep, i % each)) x[i] = 0;
            void *dx = upload(p, x, n), *plan;
            assert_ok(dev->be->fft[p]->plan(dev->ctx, ndim, dim, batch, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            HEAP cx *expected = download(p, dx, n);
            for (int64_t i = 0; i < n; i++)
                if (unread && !in_band(ndim, dim, keep, i % each)) x[i] = NAN;
            OWNED(void) *banded = upload(p, x, n);
            assert_ok(dev->be->fft[p]->band(dev->ctx, plan, sign, inward, keep, banded));
            if (inward)
                assert_close_in_band(p, ndim, dim, keep, banded, expected, n, each);
            else
                assert_close(p, banded, expected, n, 30);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx);
        }
}

/* The transform of one frequency of amplitude 1 is one cell, and back; lengths around the limits of every way that a
 * processor has. */
TEST(fft_of_long_lines_puts_a_frequency_into_its_cell_and_back)
{
    static const struct {
        int ndim;
        int64_t dim[3], batch;
    } cases[] = {{1, {32769, 0, 0}, 1},   {1, {65537, 0, 0}, 2}, {1, {98304, 0, 0}, 1}, {1, {600000, 0, 0}, 2},
                 {1, {1 << 20, 0, 0}, 1}, {1, {40000, 0, 0}, 9}, {2, {40000, 3, 0}, 3}, {1, {2 * 300007, 0, 0}, 1}};
    for (int s = 0; s < (int)(sizeof cases / sizeof *cases); s++) {
        const int sign = s & 1 ? 1 : -1;
        const int64_t *dim = cases[s].dim, batch = cases[s].batch, n = dim[0];
        const int64_t rows = cases[s].ndim > 1 ? dim[1] : 1;
        const int64_t total = n * rows * batch;
        HEAP cx *x = malloc((size_t)total * sizeof *x), *y = calloc((size_t)total, sizeof *y),
                *back = malloc((size_t)total * sizeof *back);
        assert_true(x && y && back);
        for (int64_t i = 0; i < total; i++) { /* the same number in all rows of array b, along axis 0 frequency f */
            const int64_t f = (n / 3 + 7 * (i / (n * rows))) % n;
            back[i] = cexp(-sign * 2 * PI * I * ((double)(i % n * f % n) / (double)n));
            x[i] = back[i] / (double)(n * rows);
            if (i % n == f && i / n % rows == 0) y[i] = 1;
        }
        for (int p = 0; p < LMR_PRECISIONS; p++) {
            void *dx = upload(p, x, total), *plan;
            assert_ok(dev->be->fft[p]->plan(dev->ctx, cases[s].ndim, dim, batch, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            assert_close(p, dx, y, total, 60);
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, -sign, dx));
            assert_close(p, dx, back, total, 60);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx);
        }
    }
}

TEST(fft_does_not_depend_on_the_number_of_threads)
{
    static const struct {
        int ndim;
        int64_t dim[3], batch;
    } cases[] = {{1, {10, 0, 0}, 1000},  {1, {96, 0, 0}, 50},   {1, {1250, 0, 0}, 5},  {1, {20000, 0, 0}, 7},
                 {1, {30000, 0, 0}, 1},  {1, {50000, 0, 0}, 3}, {1, {65537, 0, 0}, 2}, {1, {100000, 0, 0}, 1},
                 {1, {262144, 0, 0}, 1}, {2, {120, 75, 0}, 3},  {3, {20, 24, 18}, 2},  {2, {40000, 3, 0}, 2}};
    if (!dev->be->threads(dev->ctx)) skip();
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < (int)(sizeof cases / sizeof *cases); s++) {
            int64_t n = cases[s].batch;
            for (int d = 0; d < cases[s].ndim; d++) n *= cases[s].dim[d];
            HEAP cx *x = random_values(n, 21), *first = NULL;
            for (int threads = 1; threads <= 5; threads++) {
                void *ctx, *dx = upload(p, x, n), *plan;
                assert_ok(dev->be->open(0, threads, &ctx));
                assert_ok(dev->be->fft[p]->plan(ctx, cases[s].ndim, cases[s].dim, cases[s].batch, &plan));
                assert_ok(dev->be->fft[p]->exec(ctx, plan, -1, dx));
                dev->be->fft[p]->destroy(ctx, plan);
                dev->be->close(ctx);
                cx *y = download(p, dx, n);
                if (first)
                    assert_memory_equal(first, y, (size_t)n * sizeof *y);
                else
                    first = y;
                if (first != y) free(y);
                release(dx);
            }
        }
}

TEST(fft_refuses_impossible_dimensions)
{
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        void *plan = &plan;
        assert_int_equal(dev->be->fft[p]->plan(dev->ctx, 4, (int64_t[]){2, 2, 2}, 1, &plan), LARMOR_ERR_ARG);
        assert_null(plan);
        assert_int_equal(dev->be->fft[p]->plan(dev->ctx, 1, (int64_t[]){2, 0, 0}, -1, &plan), LARMOR_ERR_ARG);
        assert_int_equal(dev->be->fft[p]->plan(dev->ctx, 3, (int64_t[]){1 << 30, 1 << 30, 1 << 30}, 1, &plan),
                         LARMOR_ERR_SHAPE);
    }
}

/* ---- convolution ---- */

static int64_t product(int ndim, const int64_t *n)
{
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) count *= n[d];
    return count;
}

/* Between an array [keep...] and the corner of a grid [dim...]. */
static void corner(const lmr_conv_shape *c, cx *array, cx *grid, int back)
{
    for (int64_t i = 0; i < product(c->ndim, c->keep); i++) {
        int64_t cell = 0, rest = i, step = 1;
        for (int d = 0; d < c->ndim; d++) {
            cell += rest % c->keep[d] * step;
            rest /= c->keep[d];
            step *= c->dim[d];
        }
        if (back)
            array[i] = grid[cell];
        else
            grid[cell] = array[i];
    }
}

/* Element (row, column) of the matrices at all frequencies, from random numbers for its planes. */
static cx matrix_element(const lmr_conv_shape *c, const cx *s, int row, int column, int64_t cell)
{
    const int low = row < column ? row : column;
    const int high = row < column ? column : row;
    const int64_t cells = product(c->ndim, c->dim);
    const double re = creal(s[lmr_conv_plane(c, low, high, 0) * cells + cell]);
    if (low == high || !c->is_complex) return re;
    const double im = creal(s[lmr_conv_plane(c, low, high, 1) * cells + cell]);
    return row < column ? CMPLX(re, im) : CMPLX(re, -im);
}

/* y <- the corners of F^H (0.25 s . F x), arrays [keep..., batch, mixed], by transforms of the whole grid. */
static void naive_conv(const lmr_conv_shape *c, const cx *s, cx *x, cx *y)
{
    const int64_t cells = product(c->ndim, c->dim), kept = product(c->ndim, c->keep);
    const int64_t n = c->mixed, batch = c->batch, all = cells * n * batch;
    HEAP cx *grid = calloc((size_t)all + 1, sizeof *grid), *spectrum = calloc((size_t)all + 1, sizeof *spectrum);
    assert_true(grid && spectrum);
    for (int64_t j = 0; j < n * batch; j++) corner(c, x + j * kept, grid + j * cells, 0);
    naive_dft(c->ndim, c->dim, n * batch, -1, grid, spectrum);
    memset(grid, 0, (size_t)all * sizeof *grid);
    for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++)
            for (int64_t i = 0; i < cells; i++)
                for (int64_t b = 0; b < batch; b++)
                    grid[(k * batch + b) * cells + i] +=
                        0.25 * matrix_element(c, s, k, l, i) * spectrum[(l * batch + b) * cells + i];
    naive_dft(c->ndim, c->dim, n * batch, 1, grid, spectrum);
    for (int64_t j = 0; j < n * batch; j++) corner(c, y + j * kept, spectrum + j * cells, 1);
}

TEST(convolution_is_that_of_the_padded_arrays)
{
    static const lmr_conv_shape cases[] = {
        {1, {1, 0, 0}, {1, 0, 0}, 1, 1, 0, 1},     {1, {17, 0, 0}, {9, 0, 0}, 5, 1, 0, 3},
        {1, {30, 0, 0}, {30, 0, 0}, 2, 1, 1, 1},   {2, {8, 6, 0}, {4, 3, 0}, 1, 1, 0, 3},
        {2, {13, 20, 0}, {6, 10, 0}, 4, 1, 0, 1},  {2, {22, 3, 0}, {9, 3, 0}, 11, 1, 0, 3},
        {2, {40, 34, 0}, {19, 17, 0}, 0, 1, 0, 1}, {3, {4, 3, 5}, {2, 2, 2}, 2, 1, 0, 3},
        {3, {11, 1, 7}, {5, 1, 3}, 3, 1, 0, 1},    {3, {10, 12, 8}, {5, 6, 4}, 9, 1, 0, 3},
        {1, {480, 0, 0}, {240, 0, 0}, 2, 1, 0, 1}, {1, {640, 0, 0}, {301, 0, 0}, 1, 1, 0, 1},
        {1, {16, 0, 0}, {8, 0, 0}, 7, 1, 0, 1},    {1, {504, 0, 0}, {504, 0, 0}, 1, 1, 0, 1},
        {2, {60, 16, 0}, {30, 7, 0}, 3, 1, 0, 3},  {2, {18, 40, 0}, {9, 20, 0}, 2, 1, 0, 1},
        {3, {20, 6, 8}, {9, 3, 4}, 3, 1, 0, 3},    {3, {28, 5, 6}, {14, 3, 3}, 2, 1, 0, 1},
        {1, {17, 0, 0}, {9, 0, 0}, 3, 2, 1, 1},    {1, {8, 0, 0}, {4, 0, 0}, 1, 32, 0, 3},
        {2, {13, 20, 0}, {6, 10, 0}, 4, 2, 0, 1},  {2, {13, 21, 0}, {6, 10, 0}, 1, 3, 1, 3},
        {2, {16, 14, 0}, {8, 7, 0}, 3, 4, 0, 1},   {2, {12, 10, 0}, {6, 5, 0}, 9, 9, 1, 3},
        {3, {4, 6, 8}, {2, 3, 4}, 2, 4, 0, 1},     {3, {6, 5, 9}, {3, 2, 5}, 3, 3, 1, 3},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        const lmr_conv_shape *c = &cases[i];
        const int planes = lmr_conv_planes(c), which = c->spectra / 2; /* of one, or the middle one of three */
        const int64_t cells = product(c->ndim, c->dim), many = product(c->ndim, c->keep) * c->batch * c->mixed;
        HEAP cx *s = random_values(cells * planes, 18), *x = random_values(many, 19), *y = random_values(many, 20);
        naive_conv(c, s, x, y);
        for (int p = 0; p < LMR_PRECISIONS; p++) {
            const lmr_conv *conv = dev->be->conv[p];
            OWNED(void) *dx = upload(p, x, many), *dy = upload(p, x, many);
            void *plan;
            const double bytes = conv->bytes(dev->ctx, c);
            assert_ok(conv->plan(dev->ctx, c, &plan));
            for (int plane = 0; plane < planes; plane++) { /* from real and from imaginary parts in turn */
                cx *values = s + plane * cells, *turned = random_values(cells, 21);
                for (int64_t j = 0; j < cells; j++)
                    turned[j] = plane % 2 ? CMPLX(cimag(values[j]), creal(values[j])) : values[j];
                OWNED(void) *dt = upload(p, turned, cells);
                assert_ok(conv->set(dev->ctx, plan, which * planes + plane, 0.25, plane % 2, dt));
                for (int other = 0; other < c->spectra; other++)
                    if (other != which)
                        assert_ok(conv->set(dev->ctx, plan, other * planes + plane, 3.5 + other, plane % 2, dt));
                free(turned);
            }
            assert_ok(conv->exec(dev->ctx, plan, which, dx, dy));
            assert_close(p, dy, y, many, 40);
            assert_ok(conv->exec(dev->ctx, plan, which, dx, dx)); /* in place */
            assert_close(p, dx, y, many, 40);
            assert_true(bytes >= (double)(cells * planes * c->spectra) * (p == LMR_F64 ? 8 : 4));
            conv->destroy(dev->ctx, plan);
        }
    }
    dev->be->conv[0]->destroy(dev->ctx, NULL);
}

/* To the bit, for all arrays of the plan and for fewer, more than there are threads and fewer, large and small. */
TEST(convolution_between_coils_is_that_of_each_coil)
{
    static const struct {
        lmr_conv_shape shape;
        int64_t count;
    } cases[] = {
        {{1, {480, 0, 0}, {240, 0, 0}, 5, 1, 0, 1}, 5},       {{2, {13, 20, 0}, {6, 10, 0}, 7, 1, 0, 1}, 7},
        {{2, {180, 200, 0}, {90, 99, 0}, 5, 1, 0, 1}, 5},     {{2, {13, 20, 0}, {6, 10, 0}, 7, 1, 0, 1}, 2},
        {{2, {13, 20, 0}, {6, 10, 0}, 6, 1, 0, 1}, 5},        {{2, {13, 20, 0}, {6, 10, 0}, 6, 1, 0, 1}, 1},
        {{2, {1000, 1024, 0}, {500, 512, 0}, 2, 1, 0, 1}, 2}, {{2, {13, 20, 0}, {6, 10, 0}, 1, 1, 0, 1}, 1},
        {{3, {20, 6, 8}, {9, 3, 4}, 4, 1, 0, 1}, 4},          {{3, {20, 6, 8}, {9, 3, 4}, 4, 1, 0, 1}, 0},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
            const lmr_conv *conv = dev->be->conv[p];
            const lmr_vec *vec = dev->be->vec[p];
            const lmr_conv_shape *c = &cases[i].shape;
            if (!conv->coils) continue;
            const int64_t cells = product(c->ndim, c->dim), one = product(c->ndim, c->keep), count = cases[i].count;
            HEAP cx *s = random_values(cells, 31), *x = random_values(one, 32),
                    *m = random_values(one * c->batch, 33);
            OWNED(void) *ds = upload(p, s, cells), *dx = upload(p, x, one), *dm = upload(p, m, one * c->batch);
            void *plan;
            for (int64_t j = count * one; j < one * c->batch; j++) m[j] = 0;
            OWNED(void) *room = upload(p, m, one * c->batch), *dy = upload(p, x, one), *expected = upload(p, x, one);
            assert_ok(conv->plan(dev->ctx, c, &plan));
            assert_ok(conv->set(dev->ctx, plan, 0, 0.25, 0, ds));
            assert_ok(vec->expand(dev->ctx, one, count, dm, dx, room));
            assert_ok(conv->exec(dev->ctx, plan, 0, room, room));
            assert_ok(vec->combine(dev->ctx, one, count, dm, room, expected));
            assert_ok(conv->coils(dev->ctx, plan, count, dm, dx, room, dy));
            HEAP cx *got = download(p, dy, one), *wanted = download(p, expected, one);
            assert_memory_equal(got, wanted, sizeof *got * (size_t)one);
            conv->destroy(dev->ctx, plan);
        }
}

TEST(convolution_refuses_impossible_dimensions)
{
    static const struct {
        lmr_conv_shape shape;
        larmor_status status;
    } refused[] = {
        {{0, {8, 8, 8}, {8, 8, 8}, 1, 1, 0, 1}, LARMOR_ERR_ARG},
        {{1, {4, 0, 0}, {5, 0, 0}, 1, 1, 0, 1}, LARMOR_ERR_ARG},
        {{1, {4, 0, 0}, {0, 0, 0}, 1, 1, 0, 1}, LARMOR_ERR_ARG},
        {{1, {4, 0, 0}, {4, 0, 0}, 1, 0, 0, 1}, LARMOR_ERR_ARG},
        {{1, {4, 0, 0}, {4, 0, 0}, 1, LMR_CONV_MOST_MIXED + 1, 0, 1}, LARMOR_ERR_ARG},
        {{3, {1 << 30, 1 << 30, 1 << 30}, {1 << 30, 1 << 30, 1 << 30}, 1, 1, 0, 1}, LARMOR_ERR_SHAPE},
        {{1, {4, 0, 0}, {4, 0, 0}, 1, 1, 0, 0}, LARMOR_ERR_ARG},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
            void *plan = &plan;
            assert_int_equal(dev->be->conv[p]->plan(dev->ctx, &refused[i].shape, &plan), refused[i].status);
            assert_null(plan);
            assert_true(dev->be->conv[p]->bytes(dev->ctx, &refused[i].shape) >= 0x1p60);
        }
}
