/* Every entry of a backend's table against a naive double loop, in both precisions: what a new backend must pass.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>

#include "core/device.h"
#include "tests/support/test.h"

#define PI 3.14159265358979323846
typedef double _Complex cx;

static const double epsilon[LMR_PRECISIONS] = {6e-8, 1.2e-16};
static const int64_t sizes[] = {0, 1, 2, 3, 17, 1000, 40001}; /* the last one is past the serial limit */
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- buffers: doubles here, the tested precision there ---- */

static size_t element(int precision)
{
    return precision == LMR_F64 ? 16 : 8;
}

/* n complex numbers in [-1, 1)^2 that both precisions hold exactly. */
static cx *random_values(int64_t n, uint64_t seed)
{
    cx *v = malloc((size_t)n * sizeof *v + 1);
    assert_non_null(v);
    uint64_t state = seed * 7919 + 1;
    for (int64_t i = 0; i < n; i++) {
        const double re = (float)test_random(&state);
        v[i] = re + I * (double)(float)test_random(&state);
    }
    return v;
}

static void *upload(int precision, const cx *values, int64_t n)
{
    void *ptr;
    const size_t bytes = (size_t)n * element(precision);
    assert_ok(dev->be->alloc(dev->ctx, bytes, &ptr));
    float *narrow = malloc((size_t)n * 8 + 1);
    assert_non_null(narrow);
    for (int64_t i = 0; i < n; i++)
        narrow[2 * i] = (float)creal(values[i]), narrow[2 * i + 1] = (float)cimag(values[i]);
    assert_ok(
        dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, precision == LMR_F64 ? (const void *)values : narrow, bytes));
    free(narrow);
    return ptr;
}

static cx *download(int precision, const void *ptr, int64_t n)
{
    cx *values = malloc((size_t)n * sizeof *values + 1);
    assert_non_null(values);
    const size_t bytes = (size_t)n * element(precision);
    if (precision == LMR_F64) {
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, values, ptr, bytes));
        return values;
    }
    float *narrow = malloc(bytes + 1);
    assert_non_null(narrow);
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, narrow, ptr, bytes));
    for (int64_t i = 0; i < n; i++) values[i] = (double)narrow[2 * i] + I * (double)narrow[2 * i + 1];
    free(narrow);
    return values;
}

static void release(void *ptr)
{
    dev->be->release(dev->ctx, ptr);
}

/* The device's values are the expected ones, to `roundings` roundings of the largest. */
static void assert_close(int precision, const void *ptr, const cx *expected, int64_t n, double roundings)
{
    cx *got = download(precision, ptr, n);
    double scale = 0, error = 0;
    for (int64_t i = 0; i < n; i++) scale = fmax(scale, cabs(expected[i]));
    for (int64_t i = 0; i < n; i++) {
        const double e = cabs(got[i] - expected[i]);
        error = isnan(e) ? INFINITY : fmax(error, e);
    }
    free(got);
    assert_at_most(error, roundings * epsilon[precision] * scale);
}

/* ---- memory ---- */

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    const size_t bytes[] = {0, 1, 63, 4097};
    unsigned char host[4097];
    for (int i = 0; i < 8; i++) { /* the second time after blocks of that size were dirtied and released */
        const size_t n = bytes[i % 4];
        void *ptr;
        assert_ok(dev->be->alloc(dev->ctx, n, &ptr));
        assert_int_equal((uintptr_t)ptr % 64, 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, n));
        for (size_t b = 0; b < n; b++) assert_int_equal(host[b], 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, n));
        release(ptr);
    }
    release(NULL);
}

static void zero_clears_the_asked_bytes_and_no_more(void **state)
{
    (void)state;
    unsigned char host[100];
    void *ptr;
    assert_ok(dev->be->alloc(dev->ctx, sizeof host, &ptr));
    memset(host, 0xa5, sizeof host);
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, sizeof host));
    assert_ok(dev->be->zero(dev->ctx, ptr, 37));
    assert_ok(dev->be->zero(dev->ctx, ptr, 0));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, sizeof host));
    for (size_t b = 0; b < sizeof host; b++) assert_int_equal(host[b], b < 37 ? 0 : 0xa5);
    release(ptr);
}

static void copies_go_to_the_device_and_within_it_and_back(void **state)
{
    (void)state;
    unsigned char there[333], back[333] = {0};
    void *a, *b;
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)(7 * i + 3);
    assert_ok(dev->be->alloc(dev->ctx, sizeof there, &a));
    assert_ok(dev->be->alloc(dev->ctx, sizeof there, &b));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, there, sizeof there));
    assert_ok(dev->be->copy(dev->ctx, LMR_ON_DEVICE, b, a, sizeof there));
    assert_ok(dev->be->sync(dev->ctx));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back, b, sizeof there));
    assert_memory_equal(there, back, sizeof there);
    release(a), release(b);
}

static void impossible_memory_is_refused_without_a_crash(void **state)
{
    (void)state;
    void *ptr = &ptr;
    assert_int_equal(dev->be->alloc(dev->ctx, SIZE_MAX - 8, &ptr), LARMOR_ERR_MEMORY);
    assert_null(ptr);
    assert_int_equal(dev->be->alloc(dev->ctx, (size_t)1 << 60, &ptr), LARMOR_ERR_MEMORY);
}

static void the_table_says_what_it_is(void **state)
{
    (void)state;
    int64_t available, total;
    assert_int_equal(dev->be->abi, LMR_BACKEND_ABI);
    assert_true(dev->be->device_count() > 0);
    assert_ok(dev->be->memory(dev->ctx, &available, &total));
    assert_true(available >= 0 && available <= total);
    assert_null(dev->be->table("no such layer", 1, LMR_F32));
}

/* ---- marks and graphs ---- */

static void times_between_marks_in_the_queue_are_positive_and_add_up(void **state)
{
    (void)state;
    const lmr_mark *m = dev->be->mark;
    const int64_t n = 1 << 17;
    const lmr_vec *vec = dev->be->vec[LMR_F64];
    void *x, *mark[3];
    double whole, first, second, nothing;
    assert_ok(dev->be->alloc(dev->ctx, (size_t)n * 16, &x));
    for (int i = 0; i < 3; i++) assert_ok(m->create(dev->ctx, &mark[i]));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 10 && i; k++) assert_ok(vec->axpby(dev->ctx, n, 1, x, 1, x));
        assert_ok(m->put(dev->ctx, mark[i]));
    }
    assert_ok(m->seconds(dev->ctx, mark[0], mark[2], &whole));
    assert_ok(m->seconds(dev->ctx, mark[0], mark[1], &first));
    assert_ok(m->seconds(dev->ctx, mark[1], mark[2], &second));
    assert_ok(m->seconds(dev->ctx, mark[1], mark[1], &nothing));
    assert_true(first > 0 && second > 0 && nothing == 0);
    assert_at_most(fabs(whole - first - second), 2e-6); /* a GPU's clock ticks in half microseconds */
    assert_ok(m->put(dev->ctx, mark[0]));               /* a second time: it is here now */
    assert_ok(m->put(dev->ctx, mark[1]));
    assert_ok(m->seconds(dev->ctx, mark[0], mark[1], &nothing));
    assert_true(nothing >= 0);
    for (int i = 0; i < 3; i++) m->destroy(dev->ctx, mark[i]);
    m->destroy(dev->ctx, NULL);
    release(x);
}

/* On a device that can record. */
static void a_graph_records_without_running_and_runs_at_each_launch(void **state)
{
    (void)state;
    const lmr_graph *g = dev->be->graph;
    const lmr_vec *vec = dev->be->vec[LMR_F32];
    if (!g) skip();
    enum { N = 1000 };
    cx *x = random_values(N, 31), *y = random_values(N, 32);
    void *dx = upload(LMR_F32, x, N), *dy = upload(LMR_F32, y, N), *graph, *refused;
    assert_ok(vec->axpby(dev->ctx, N, 0, dx, 1, dy)); /* so that its code is loaded */
    assert_ok(g->begin(dev->ctx));
    assert_ok(vec->axpby(dev->ctx, N, 0.5, dx, 1, dy));
    assert_int_equal(dev->be->alloc(dev->ctx, 100, &refused), LARMOR_ERR_UNSUPPORTED);
    assert_null(refused);
    assert_int_equal(g->end(dev->ctx, &graph), LARMOR_ERR_UNSUPPORTED); /* for the memory that was asked for */
    assert_null(graph);
    assert_close(LMR_F32, dy, y, N, 0);
    assert_ok(g->begin(dev->ctx));
    assert_ok(vec->axpby(dev->ctx, N, 0.5, dx, 1, dy));
    assert_ok(g->end(dev->ctx, &graph));
    assert_close(LMR_F32, dy, y, N, 0);
    for (int launches = 1; launches <= 3; launches++) {
        for (int i = 0; i < N; i++) y[i] += 0.5 * x[i];
        assert_ok(g->launch(dev->ctx, graph));
        assert_close(LMR_F32, dy, y, N, 4);
    }
    assert_ok(dev->be->zero(dev->ctx, dx, N * 8)); /* what is read is what is there then */
    assert_ok(g->launch(dev->ctx, graph));
    assert_close(LMR_F32, dy, y, N, 4);
    g->destroy(dev->ctx, graph);
    g->destroy(dev->ctx, NULL);
    release(dx), release(dy), free(x), free(y);
}

/* ---- vectors ---- */

static void axpby_is_a_x_plus_b_y(void **state)
{
    (void)state;
    const double factors[][2] = {{1, 0}, {-0.5, 1}, {0.25, -2}, {0, 3}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 4; s++) {
            const int64_t n = sizes[s / 4];
            const double a = factors[s % 4][0], b = factors[s % 4][1];
            cx *x = random_values(n, 1), *y = random_values(n, 2);
            void *dx = upload(p, x, n), *dy = upload(p, y, n);
            for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + b * y[i];
            assert_ok(dev->be->vec[p]->axpby(dev->ctx, n, a, dx, b, dy));
            assert_close(p, dy, y, n, 4);
            release(dx), release(dy), free(x), free(y);
        }
}

static void axpby_may_work_in_place(void **state)
{
    (void)state;
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const int64_t n = 40001;
        cx *x = random_values(n, 3);
        void *dx = upload(p, x, n);
        for (int64_t i = 0; i < n; i++) x[i] *= 0.5 - 2;
        assert_ok(dev->be->vec[p]->axpby(dev->ctx, n, 0.5, dx, -2, dx));
        assert_close(p, dx, x, n, 4);
        release(dx), free(x);
    }
}

static void axpby_with_b_zero_ignores_nan_in_y(void **state)
{
    (void)state;
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        cx x[3] = {1, I, -2}, y[3] = {NAN, INFINITY, NAN * I};
        void *dx = upload(p, x, 3), *dy = upload(p, y, 3);
        assert_ok(dev->be->vec[p]->axpby(dev->ctx, 3, 1, dx, 0, dy));
        assert_close(p, dy, x, 3, 0);
        release(dx), release(dy);
    }
}

static void mul_multiplies_by_d_or_its_conjugate_also_in_place(void **state)
{
    (void)state;
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 4; s++) {
            const int64_t n = sizes[s / 4];
            const int conjugate = s & 1, in_place = s & 2;
            cx *d = random_values(n, 4), *x = random_values(n, 5);
            void *dd = upload(p, d, n), *dx = upload(p, x, n), *dy = in_place ? dx : upload(p, d, n);
            for (int64_t i = 0; i < n; i++) x[i] *= conjugate ? conj(d[i]) : d[i];
            assert_ok(dev->be->vec[p]->mul(dev->ctx, n, dd, dx, conjugate, dy));
            assert_close(p, dy, x, n, 4);
            release(dd), release(dx), free(d), free(x);
            if (!in_place) release(dy);
        }
}

static void expand_multiplies_each_channel_and_combine_is_its_adjoint(void **state)
{
    (void)state;
    const int64_t channels[] = {0, 1, 5};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 3; s++) {
            const int64_t n = sizes[s / 3], nc = channels[s % 3];
            cx *d = random_values(n * nc, 6), *x = random_values(n, 7), *y = random_values(n * nc, 8);
            void *dd = upload(p, d, n * nc), *dx = upload(p, x, n), *dy = upload(p, y, n * nc);
            cx *sum = calloc((size_t)n + 1, sizeof *sum);
            assert_non_null(sum);
            for (int64_t i = 0; i < n * nc; i++) sum[i % n] += conj(d[i]) * y[i];
            assert_ok(dev->be->vec[p]->expand(dev->ctx, n, nc, dd, dx, dy));
            for (int64_t i = 0; i < n * nc; i++) {
                const cx was = y[i];
                y[i] = d[i] * x[i % n];
                d[i] = was; /* kept for the second half */
            }
            assert_close(p, dy, y, n * nc, 4);
            release(dy), dy = upload(p, d, n * nc);
            assert_ok(dev->be->vec[p]->combine(dev->ctx, n, nc, dd, dy, dx));
            assert_close(p, dx, sum, n, 12);
            release(dd), release(dx), release(dy), free(d), free(x), free(y), free(sum);
        }
}

static void dot_conjugates_its_first_vector_and_sums_in_double(void **state)
{
    (void)state;
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES; s++) {
            const int64_t n = sizes[s];
            cx *x = random_values(n, 9), *y = random_values(n, 10);
            void *dx = upload(p, x, n), *dy = upload(p, y, n);
            long double re = 0, im = 0, size = 0;
            for (int64_t i = 0; i < n; i++) {
                const cx v = conj(x[i]) * y[i];
                re += creal(v), im += cimag(v), size += cabs(v);
            }
            double out[2] = {NAN, NAN};
            assert_ok(dev->be->vec[p]->dot(dev->ctx, n, dx, dy, out));
            assert_at_most(hypot(out[0] - (double)re, out[1] - (double)im), 1e-15 * (double)size);
            release(dx), release(dy), free(x), free(y);
        }
}

static void dot_does_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    if (!dev->be->threads(dev->ctx)) skip();
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const int64_t n = 1000003;
        cx *x = random_values(n, 11), *y = random_values(n, 12);
        void *dx = upload(p, x, n), *dy = upload(p, y, n);
        double first[2], out[2];
        for (int threads = 1; threads <= 7; threads += 2) {
            void *ctx;
            assert_ok(dev->be->open(0, threads, &ctx));
            assert_ok(dev->be->vec[p]->dot(ctx, n, dx, dy, threads == 1 ? first : out));
            if (threads > 1) assert_memory_equal(first, out, sizeof out);
            dev->be->close(ctx);
        }
        release(dx), release(dy), free(x), free(y);
    }
}

static void shrink_shortens_by_t_and_kills_what_is_shorter(void **state)
{
    (void)state;
    const double t = 0.625;
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SIZES * 2; s++) {
            const int64_t n = sizes[s / 2];
            cx *x = random_values(n, 13);
            if (n > 1) x[0] = 0, x[1] = 3 * t - 4 * t * I;
            void *dx = upload(p, x, n), *dy = s & 1 ? dx : upload(p, x, n);
            for (int64_t i = 0; i < n; i++) {
                const double size = cabs(x[i]);
                x[i] = size > t ? x[i] * (1 - t / size) : 0;
            }
            if (n > 1) assert_true(cabs(x[1]) == 4 * t);
            assert_ok(dev->be->vec[p]->shrink(dev->ctx, n, t, dx, dy));
            assert_close(p, dy, x, n, 4);
            if (!(s & 1)) release(dy);
            release(dx), free(x);
        }
}

/* y = D x by its definition, and D's adjoint from the same definition: x[j] += conj of the coefficient of y[i]. */
static void naive_diff(const int64_t dim[3], int axis, int adjoint, const cx *x, cx *y)
{
    const int64_t n = dim[0] * dim[1] * dim[2], step[3] = {1, dim[0], dim[0] * dim[1]};
    for (int64_t i = 0; i < n; i++) y[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i / step[axis] % dim[axis] + 1 == dim[axis]) continue;
        const int64_t next = i + step[axis];
        if (!adjoint)
            y[i] = x[next] - x[i];
        else
            y[next] += x[i], y[i] -= x[i];
    }
}

static void diff_is_the_forward_difference_and_its_adjoint(void **state)
{
    (void)state;
    const int64_t dims[][3] = {{1, 1, 1}, {7, 1, 1}, {5, 4, 3}, {2, 1, 9}, {33, 41, 29}, {0, 3, 2}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < 6 * 3 * 2; s++) {
            const int64_t *dim = dims[s / 6], n = dim[0] * dim[1] * dim[2];
            const int axis = s % 3, adjoint = s / 3 % 2;
            cx *x = random_values(n, 14), *y = random_values(n, 15);
            void *dx = upload(p, x, n), *dy = upload(p, y, n);
            naive_diff(dim, axis, adjoint, x, y);
            assert_ok(dev->be->vec[p]->diff(dev->ctx, dim, axis, adjoint, dx, dy));
            assert_close(p, dy, y, n, 4);
            release(dx), release(dy), free(x), free(y);
        }
}

/* ---- FFT ---- */

static void naive_dft(int ndim, const int64_t dim[3], int64_t batch, int sign, const cx *x, cx *y)
{
    int64_t full[3] = {1, 1, 1};
    for (int d = 0; d < ndim; d++) full[d] = dim[d];
    const int64_t n = full[0] * full[1] * full[2];
    for (int64_t b = 0; b < batch; b++)
        for (int64_t k = 0; k < n; k++) {
            cx sum = 0;
            for (int64_t i = 0; i < n; i++) {
                double turns = 0;
                for (int64_t d = 0, at = i, to = k; d < 3; at /= full[d], to /= full[d], d++)
                    turns += (double)(at % full[d] * (to % full[d]) % full[d]) / (double)full[d];
                sum += x[b * n + i] * cexp(sign * 2 * PI * I * turns);
            }
            y[b * n + k] = sum;
        }
}

static void fft_is_the_dft_for_any_size_batch_and_sign(void **state)
{
    (void)state;
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
            const int sign = s & 1 ? 1 : -1, ndim = cases[s / 2].ndim;
            const int64_t *dim = cases[s / 2].dim, batch = cases[s / 2].batch;
            int64_t n = batch;
            for (int d = 0; d < ndim; d++) n *= dim[d];
            cx *x = random_values(n, 16), *y = random_values(n, 17);
            void *dx = upload(p, x, n), *plan;
            naive_dft(ndim, dim, batch, sign, x, y);
            assert_ok(dev->be->fft[p]->plan(dev->ctx, ndim, dim, batch, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            assert_close(p, dx, y, n, 30);
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, -sign, dx)); /* and back, unscaled */
            for (int64_t i = 0; i < n; i++) x[i] *= (double)(n / batch);
            assert_close(p, dx, x, n, 30);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx), free(x), free(y);
        }
    dev->be->fft[0]->destroy(dev->ctx, NULL);
}

/* Whether cell i of an array lies in the band of the lowest keep frequencies. */
static int in_band(int ndim, const int64_t dim[3], const int64_t keep[3], int64_t i)
{
    int inside = 1;
    for (int d = 0; d < ndim; i /= dim[d], d++) {
        const int64_t at = i % dim[d], frequency = at < dim[d] - keep[d] / 2 ? at : at - dim[d];
        inside &= frequency >= -(keep[d] / 2) && frequency < keep[d] - keep[d] / 2;
    }
    return inside;
}

/* The band's numbers of y are the expected ones; what else there is goes. */
static void assert_close_in_band(int precision, int ndim, const int64_t dim[3], const int64_t keep[3], void *y,
                                 cx *expected, int64_t n, int64_t each)
{
    cx *got = download(precision, y, n);
    for (int64_t i = 0; i < n; i++)
        if (!in_band(ndim, dim, keep, i % each)) got[i] = expected[i] = 0;
    void *rest = upload(precision, got, n);
    assert_close(precision, rest, expected, n, 30);
    release(rest), free(got);
}

static void a_band_of_the_fft_is_the_fft_of_zeros_around_it_or_a_part_of_its_result(void **state)
{
    (void)state;
    static const struct {
        int ndim;
        int64_t dim[3], keep[3], batch;
    } cases[] = {
        {1, {1, 0, 0}, {1, 0, 0}, 2},    {1, {12, 0, 0}, {5, 0, 0}, 3},   {1, {40, 0, 0}, {39, 0, 0}, 1},
        {2, {8, 6, 0}, {8, 6, 0}, 2},    {2, {20, 12, 0}, {9, 7, 0}, 1},  {2, {18, 40, 0}, {10, 20, 0}, 3},
        {2, {11, 9, 0}, {1, 2, 0}, 9},   {2, {37, 30, 0}, {18, 1, 0}, 0}, {2, {1, 12, 0}, {1, 7, 0}, 1},
        {3, {8, 10, 6}, {4, 5, 3}, 1},   {3, {9, 1, 14}, {3, 1, 7}, 2},   {3, {6, 10, 12}, {6, 10, 12}, 1},
        {3, {16, 12, 10}, {8, 6, 1}, 3}, {3, {5, 22, 18}, {2, 11, 9}, 9}, {3, {24, 20, 18}, {16, 13, 12}, 1},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < (int)(sizeof cases / sizeof *cases) * 4; s++) {
            const int sign = s & 1 ? 1 : -1, inward = s >> 1 & 1, ndim = cases[s / 4].ndim;
            const int64_t *dim = cases[s / 4].dim, *keep = cases[s / 4].keep, batch = cases[s / 4].batch;
            const int unread = !inward && dev->be->threads(dev->ctx); /* by a processor, beyond the band */
            int64_t each = 1;
            for (int d = 0; d < ndim; d++) each *= dim[d];
            const int64_t n = each * batch;
            cx *x = random_values(n, 18);
            for (int64_t i = 0; i < n; i++)
                if (!inward && !in_band(ndim, dim, keep, i % each)) x[i] = 0;
            void *dx = upload(p, x, n), *plan;
            assert_ok(dev->be->fft[p]->plan(dev->ctx, ndim, dim, batch, &plan));
            assert_ok(dev->be->fft[p]->exec(dev->ctx, plan, sign, dx));
            cx *expected = download(p, dx, n);
            for (int64_t i = 0; i < n; i++)
                if (unread && !in_band(ndim, dim, keep, i % each)) x[i] = NAN;
            void *banded = upload(p, x, n);
            assert_ok(dev->be->fft[p]->band(dev->ctx, plan, sign, inward, keep, banded));
            if (inward)
                assert_close_in_band(p, ndim, dim, keep, banded, expected, n, each);
            else
                assert_close(p, banded, expected, n, 30);
            dev->be->fft[p]->destroy(dev->ctx, plan);
            release(dx), release(banded), free(x), free(expected);
        }
}

static void fft_refuses_impossible_dimensions(void **state)
{
    (void)state;
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

/* y <- the corner of the circular convolution of x in the corner of a grid of zeros with the inverse transform of s,
 * by transforms of the whole grid. */
static void naive_conv(int ndim, const int64_t dim[3], const int64_t keep[3], const cx *s, const cx *x, cx *y)
{
    int64_t n[3] = {1, 1, 1}, k[3] = {1, 1, 1};
    for (int d = 0; d < ndim; d++) n[d] = dim[d], k[d] = keep[d];
    const int64_t cells = n[0] * n[1] * n[2];
    cx *grid = calloc((size_t)cells, sizeof *grid), *turned = calloc((size_t)cells, sizeof *turned);
    assert_true(grid && turned);
    for (int64_t i = 0; i < k[0] * k[1] * k[2]; i++)
        grid[(i / (k[0] * k[1]) * n[1] + i / k[0] % k[1]) * n[0] + i % k[0]] = x[i];
    naive_dft(ndim, dim, 1, -1, grid, turned);
    for (int64_t i = 0; i < cells; i++) turned[i] *= 0.25 * creal(s[i]);
    naive_dft(ndim, dim, 1, 1, turned, grid);
    for (int64_t i = 0; i < k[0] * k[1] * k[2]; i++)
        y[i] = grid[(i / (k[0] * k[1]) * n[1] + i / k[0] % k[1]) * n[0] + i % k[0]];
    free(grid), free(turned);
}

static void convolution_is_that_of_the_padded_arrays(void **state)
{
    (void)state;
    static const struct {
        int ndim;
        int64_t dim[3], keep[3], batch;
    } cases[] = {
        {1, {1, 0, 0}, {1, 0, 0}, 1},     {1, {17, 0, 0}, {9, 0, 0}, 5},   {1, {30, 0, 0}, {30, 0, 0}, 2},
        {2, {8, 6, 0}, {4, 3, 0}, 1},     {2, {13, 20, 0}, {6, 10, 0}, 4}, {2, {22, 3, 0}, {9, 3, 0}, 11},
        {2, {40, 34, 0}, {19, 17, 0}, 0}, {3, {4, 3, 5}, {2, 2, 2}, 2},    {3, {11, 1, 7}, {5, 1, 3}, 3},
        {3, {10, 12, 8}, {5, 6, 4}, 9},
    };
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
            const int ndim = cases[c].ndim;
            const int64_t *dim = cases[c].dim, *keep = cases[c].keep, batch = cases[c].batch;
            int64_t cells = 1, kept = 1;
            for (int d = 0; d < ndim; d++) cells *= dim[d], kept *= keep[d];
            cx *s = random_values(cells, 18), *x = random_values(kept * batch, 19),
               *y = random_values(kept * batch, 20);
            void *ds = upload(p, s, cells), *dx = upload(p, x, kept * batch), *dy = upload(p, y, kept * batch), *plan;
            for (int64_t b = 0; b < batch; b++) naive_conv(ndim, dim, keep, s, x + b * kept, y + b * kept);
            const lmr_conv *conv = dev->be->conv[p];
            assert_ok(conv->plan(dev->ctx, ndim, dim, keep, batch, &plan));
            assert_ok(conv->set(dev->ctx, plan, 0.25, ds));
            assert_ok(conv->exec(dev->ctx, plan, dx, dy));
            assert_close(p, dy, y, kept * batch, 40);
            assert_ok(conv->exec(dev->ctx, plan, dx, dx)); /* in place */
            assert_close(p, dx, y, kept * batch, 40);
            assert_true(conv->bytes(dev->ctx, ndim, dim, keep, batch) >= (double)cells * (p == LMR_F64 ? 8 : 4));
            conv->destroy(dev->ctx, plan);
            release(ds), release(dx), release(dy), free(s), free(x), free(y);
        }
    dev->be->conv[0]->destroy(dev->ctx, NULL);
}

static void convolution_refuses_impossible_dimensions(void **state)
{
    (void)state;
    const int64_t large[3] = {1 << 30, 1 << 30, 1 << 30};
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const lmr_conv *conv = dev->be->conv[p];
        void *plan = &plan;
        assert_int_equal(conv->plan(dev->ctx, 0, large, large, 1, &plan), LARMOR_ERR_ARG);
        assert_null(plan);
        assert_int_equal(conv->plan(dev->ctx, 1, (int64_t[]){4, 0, 0}, (int64_t[]){5, 0, 0}, 1, &plan),
                         LARMOR_ERR_ARG);
        assert_int_equal(conv->plan(dev->ctx, 1, (int64_t[]){4, 0, 0}, (int64_t[]){0, 0, 0}, 1, &plan),
                         LARMOR_ERR_ARG);
        assert_int_equal(conv->plan(dev->ctx, 3, large, large, 1, &plan), LARMOR_ERR_SHAPE);
    }
}

/* ---- linear algebra ---- */

static cx entry(char op, const cx *a, int64_t lda, int64_t row, int64_t column)
{
    return op == 'N' ? a[row + column * lda] : op == 'T' ? a[column + row * lda] : conj(a[column + row * lda]);
}

static void gemm_multiplies_with_every_operation_and_leading_dimension(void **state)
{
    (void)state;
    const char ops[] = "NTC";
    const int64_t shapes[][3] = {{1, 1, 1}, {3, 2, 5}, {7, 4, 1}, {17, 13, 19}, {2, 3, 0}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < 5 * 9; s++) {
            const char opa = ops[s % 3], opb = ops[s / 3 % 3];
            const int64_t m = shapes[s / 9][0], n = shapes[s / 9][1], k = shapes[s / 9][2], pad = 3;
            const int64_t lda = (opa == 'N' ? m : k) + pad, ldb = (opb == 'N' ? k : n) + pad, ldc = m + pad;
            const int64_t na = lda * (opa == 'N' ? k : m), nb = ldb * (opb == 'N' ? n : k), nc = ldc * n;
            cx *a = random_values(na, 18), *b = random_values(nb, 19), *c = random_values(nc, 20);
            void *da = upload(p, a, na), *db = upload(p, b, nb), *dc = upload(p, c, nc);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    cx sum = 0;
                    for (int64_t l = 0; l < k; l++) sum += entry(opa, a, lda, i, l) * entry(opb, b, ldb, l, j);
                    c[i + j * ldc] = sum;
                }
            assert_ok(dev->be->la[p]->gemm(dev->ctx, opa, opb, m, n, k, da, lda, db, ldb, dc, ldc));
            assert_close(p, dc, c, nc, 40); /* the padding must be untouched */
            release(da), release(db), release(dc), free(a), free(b), free(c);
        }
    assert_int_equal(dev->be->la[0]->gemm(dev->ctx, 'X', 'N', 1, 1, 1, NULL, 1, NULL, 1, NULL, 1), LARMOR_ERR_ARG);
}

/* max |A v - w v| and |v^H v' - delta| of one matrix. */
static double eigen_error(int64_t n, const cx *a, const cx *v, const double *w)
{
    double error = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            cx av = 0, vv = 0;
            for (int64_t l = 0; l < n; l++)
                av += a[i + l * n] * v[l + j * n], vv += conj(v[l + i * n]) * v[l + j * n];
            error = fmax(error, cabs(av - w[j] * v[i + j * n]));
            error = fmax(error, cabs(vv - (i == j)));
        }
    return error;
}

static void heev_gives_orthonormal_vectors_with_ascending_values(void **state)
{
    (void)state;
    const int64_t orders[] = {1, 2, 5, 16}, batches[] = {1, 3, 700, 2};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < 4; s++) {
            const int64_t n = orders[s], batch = batches[s], total = n * n * batch;
            cx *a = random_values(total, 21);
            for (int64_t m = 0; m < batch; m++)
                for (int64_t i = 0; i < n; i++) {
                    cx *matrix = a + m * n * n;
                    matrix[i + i * n] = creal(matrix[i + i * n]);
                    for (int64_t j = 0; j < i; j++) matrix[i + j * n] = conj(matrix[j + i * n]);
                }
            void *dw = upload(p, a, n * batch);
            cx *upper = random_values(total, 22);
            for (int64_t i = 0; i < total; i++)
                if (i % n <= i / n % n) upper[i] = a[i];
            void *da = upload(p, upper, total);
            free(upper);
            assert_ok(dev->be->la[p]->heev(dev->ctx, n, batch, da, dw));
            cx *v = download(p, da, total), *raw = download(p, dw, n * batch);
            double *w = malloc((size_t)(n * batch) * sizeof *w);
            assert_non_null(w);
            for (int64_t i = 0; i < n * batch; i++) /* w is real: two values in each complex number */
                w[i] = i & 1 ? cimag(raw[i / 2]) : creal(raw[i / 2]);
            for (int64_t m = 0; m < batch; m++) {
                for (int64_t i = 1; i < n; i++) assert_true(w[m * n + i] >= w[m * n + i - 1]);
                assert_at_most(eigen_error(n, a + m * n * n, v + m * n * n, w + m * n), 40 * (double)n * epsilon[p]);
            }
            release(da), release(dw), free(a), free(v), free(raw), free(w);
        }
    assert_ok(dev->be->la[0]->heev(dev->ctx, 3, 0, NULL, NULL));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(zero_clears_the_asked_bytes_and_no_more),
        cmocka_unit_test(copies_go_to_the_device_and_within_it_and_back),
        cmocka_unit_test(impossible_memory_is_refused_without_a_crash),
        cmocka_unit_test(the_table_says_what_it_is),
        cmocka_unit_test(times_between_marks_in_the_queue_are_positive_and_add_up),
        cmocka_unit_test(a_graph_records_without_running_and_runs_at_each_launch),
        cmocka_unit_test(axpby_is_a_x_plus_b_y),
        cmocka_unit_test(axpby_may_work_in_place),
        cmocka_unit_test(axpby_with_b_zero_ignores_nan_in_y),
        cmocka_unit_test(mul_multiplies_by_d_or_its_conjugate_also_in_place),
        cmocka_unit_test(expand_multiplies_each_channel_and_combine_is_its_adjoint),
        cmocka_unit_test(dot_conjugates_its_first_vector_and_sums_in_double),
        cmocka_unit_test(dot_does_not_depend_on_the_number_of_threads),
        cmocka_unit_test(shrink_shortens_by_t_and_kills_what_is_shorter),
        cmocka_unit_test(diff_is_the_forward_difference_and_its_adjoint),
        cmocka_unit_test(fft_is_the_dft_for_any_size_batch_and_sign),
        cmocka_unit_test(a_band_of_the_fft_is_the_fft_of_zeros_around_it_or_a_part_of_its_result),
        cmocka_unit_test(fft_refuses_impossible_dimensions),
        cmocka_unit_test(convolution_is_that_of_the_padded_arrays),
        cmocka_unit_test(convolution_refuses_impossible_dimensions),
        cmocka_unit_test(gemm_multiplies_with_every_operation_and_leading_dimension),
        cmocka_unit_test(heev_gives_orthonormal_vectors_with_ascending_values),
    };
    RUN_TESTS(tests);
}
