/* The Toeplitz normal operator: against the operator it stands for, the direct sum, and the laws of a normal map.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/toeplitz.h"

#include <time.h>

#include "core/array.h"
#include "tests/nufft/direct.h"

typedef double _Complex cplx;

typedef struct scan {
    larmor_nufft_opts opts;
    int64_t count, m; /* voxels with batch; samples */
    double *points, *weight;
    larmor_array *traj, *weights;
    uint64_t seed;
} scan;

/* Samples dense in the centre, as spokes are, all over k-space and a little beyond; weights |k|, and a zero. */
static scan make_scan(larmor_nufft_opts o, int64_t samples, int64_t readouts)
{
    scan s = {.opts = o, .count = o.batch ? o.batch : 1, .m = samples * readouts, .seed = 77};
    s.points = malloc((size_t)(o.ndim * s.m) * sizeof *s.points);
    s.weight = malloc((size_t)s.m * sizeof *s.weight);
    for (int d = 0; d < o.ndim; d++) s.count *= o.modes[d];
    for (int64_t j = 0; j < s.m; j++) {
        const double radius = test_random(&s.seed);
        s.weight[j] = 0;
        for (int d = 0; d < o.ndim; d++) {
            const double k = 0.55 * radius * test_random(&s.seed);
            s.points[j * o.ndim + d] = k * (double)o.modes[d];
            s.weight[j] += k * k;
        }
        s.weight[j] = j == 5 ? 0 : sqrt(s.weight[j]);
    }
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(o.ndim, samples, readouts), &s.traj));
    assert_ok(larmor_array_write(s.traj, s.points, larmor_array_bytes(s.traj)));
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(samples, readouts), &s.weights));
    assert_ok(larmor_array_write(s.weights, s.weight, larmor_array_bytes(s.weights)));
    return s;
}

LMR_FREES(end_scan, scan, traj, weights, points, weight)

static larmor_array *zeros(larmor_dtype dtype, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
}

static larmor_array *shaped(larmor_op *A, const cplx *x)
{
    larmor_array *flat = to_device(larmor_op_dtype(A), larmor_shape_count(larmor_op_in_shape(A)), x), *out;
    assert_ok(larmor_array_reshape(flat, larmor_op_in_shape(A), &out));
    larmor_array_free(flat);
    return out;
}

/* out <- A x on the host. */
static void apply(larmor_op *A, const cplx *x, cplx *out)
{
    OWNED(larmor_array) *in = shaped(A, x), *z = zeros(larmor_op_dtype(A), larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, z));
    to_host(z, out);
}

/* out <- F^H W F x on the host, of the operator larmor_op_nufft. */
static void adjoint_of_forward(const scan *s, int weighted, const cplx *x, cplx *out)
{
    OWNED(larmor_array) *w = NULL;
    OWN(larmor_op, *F, larmor_op_nufft(dev, &s->opts, s->traj, &F));
    OWNED(larmor_array) *in = shaped(F, x), *y = zeros(larmor_op_dtype(F), larmor_op_out_shape(F));
    assert_ok(larmor_op_forward(F, in, y));
    for (int64_t b = 0; weighted && b < (s->opts.batch ? s->opts.batch : 1); b++) {
        OWNED(larmor_array) *coil = NULL;
        if (!w) assert_ok(larmor_array_convert(s->weights, larmor_op_dtype(F), &w));
        if (s->opts.batch)
            assert_ok(larmor_array_slice(y, b, 1, &coil));
        else
            coil = larmor_array_ref(y);
        OWN(larmor_array, *flat, larmor_array_reshape(coil, LARMOR_SHAPE(s->m), &flat));
        OWN(larmor_array, *flat_w, larmor_array_reshape(w, LARMOR_SHAPE(s->m), &flat_w));
        assert_ok(larmor_mul(flat_w, 0, flat));
    }
    assert_ok(larmor_op_adjoint(F, y, in));
    to_host(in, out);
}

static const int64_t sizes[][3] = {{16, 1, 1},  {17, 1, 1}, {1, 1, 1},  {200, 1, 1}, {15, 15, 1}, {16, 16, 1},
                                   {17, 12, 1}, {9, 40, 1}, {1, 13, 1}, {7, 8, 9},   {6, 11, 4},  {12, 1, 5}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static larmor_nufft_opts opts_of(int i, int batch, double tol, larmor_dtype dtype)
{
    larmor_nufft_opts o = {.ndim = 1 + (i >= 4) + (i >= 9), .batch = batch, .tol = tol, .dtype = dtype};
    memcpy(o.modes, sizes[i], sizeof o.modes);
    return o;
}

TEST(it_is_adjoint_of_forward_within_twice_the_tolerance)
{
    static const double tolerances[2][3] = {{1e-2, 1e-4, 1e-5}, {1e-3, 1e-8, 1e-12}};
    for (int i = 0; i < SIZES; i++)
        for (int c = 0; c < 12; c++) {
            const double tol = tolerances[c / 6][c % 3];
            const int weighted = c / 3 % 2;
            OWNED(scan) s = make_scan(opts_of(i, 2, tol, c / 6 ? LARMOR_C128 : LARMOR_C64), 60, 31);
            HEAP cplx *x = random_values(s.count, s.opts.dtype, &s.seed),
                      *expected = malloc((size_t)s.count * sizeof *x), *got = malloc((size_t)s.count * sizeof *x);
            OWN(larmor_op, *N, larmor_op_toeplitz(dev, &s.opts, s.traj, weighted ? s.weights : NULL, &N));
            apply(N, x, got);
            adjoint_of_forward(&s, weighted, x, expected);
            const double error = relative_l2(s.count, got, expected);
            if (!(error <= 2 * tol))
                fail_msg("%lld x %lld x %lld, tolerance %g, weighted %d: %.2e", (long long)sizes[i][0],
                         (long long)sizes[i][1], (long long)sizes[i][2], tol, weighted, error);
        }
}

/* F^H W F x by its definition. */
static void direct_normal(const scan *s, const cplx *x, cplx *out)
{
    const larmor_nufft_opts *o = &s->opts;
    HEAP cplx *y = malloc((size_t)s->m * sizeof *y);
    const int sign = o->sign ? o->sign : -1;
    direct_nufft(2, sign, o->ndim, o->modes, s->m, s->points, x, y);
    for (int64_t j = 0; j < s->m; j++) y[j] *= s->weight[j];
    direct_nufft(1, -sign, o->ndim, o->modes, s->m, s->points, y, out);
}

TEST(it_is_the_direct_sum_to_near_rounding_for_either_sign)
{
    for (int i = 0; i < SIZES; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            OWNED(scan) s = make_scan(opts_of(i, 0, 1e-12, LARMOR_C128), 10, 7);
            s.opts.sign = sign;
            HEAP cplx *x = random_values(s.count, LARMOR_C128, &s.seed),
                      *expected = malloc((size_t)s.count * sizeof *x), *got = malloc((size_t)s.count * sizeof *x);
            OWN(larmor_op, *N, larmor_op_toeplitz(dev, &s.opts, s.traj, s.weights, &N));
            direct_normal(&s, x, expected);
            apply(N, x, got);
            assert_at_most(relative_l2(s.count, got, expected), 1e-12);
        }
}

TEST(it_is_self_adjoint_to_rounding)
{
    for (int i = 0; i < SIZES; i++)
        for (int p = 0; p < 2; p++) {
            OWNED(scan) s = make_scan(opts_of(i, 3, p ? 1e-6 : 1e-3, p ? LARMOR_C128 : LARMOR_C64), 40, 5);
            OWN(larmor_op, *N, larmor_op_toeplitz(dev, &s.opts, s.traj, s.weights, &N));
            assert_at_most(adjoint_error(N, 3), p ? 1e-15 : 1e-6);
        }
}

/* All eigenvalues, of a trajectory with fewer samples than voxels, so that most of them should be zero. */
TEST(it_is_positive_semidefinite_to_the_tolerance)
{
    enum { VOXELS = 63 };
    OWNED(scan) s =
        make_scan((larmor_nufft_opts){.ndim = 2, .modes = {9, 7}, .tol = 1e-12, .dtype = LARMOR_C128}, 10, 2);
    cplx x[VOXELS], column[VOXELS * VOXELS];
    double value[VOXELS];
    OWN(larmor_op, *N, larmor_op_toeplitz(dev, &s.opts, s.traj, s.weights, &N));
    for (int k = 0; k < VOXELS; k++) {
        memset(x, 0, sizeof x);
        x[k] = 1;
        apply(N, x, column + VOXELS * k);
        assert_at_most(fabs(cimag(column[VOXELS * k + k])), 1e-13 * creal(column[VOXELS * k + k]));
    }
    OWNED(larmor_array) *matrix = to_device(LARMOR_C128, (int64_t)VOXELS * VOXELS, column);
    OWNED(larmor_array) *values = zeros(LARMOR_F64, LARMOR_SHAPE(VOXELS));
    assert_ok(dev->be->la[LMR_F64]->heev(dev->ctx, VOXELS, 1, 1, matrix->data, values->data));
    assert_ok(larmor_array_read(values, value, sizeof value));
    assert_true(value[VOXELS - 1] > 0);
    assert_at_most(-value[0], 1e-12 * value[VOXELS - 1]);
}

TEST(a_batch_is_a_loop_of_single_ones)
{
    for (int i = 0; i < SIZES; i++)
        for (int batch = 1; batch <= 11; batch += 5) {
            scan s = make_scan(opts_of(i, batch, 1e-4, LARMOR_C64), 20, 3), one = s;
            one.opts.batch = 0;
            const int64_t each = s.count / batch;
            HEAP cplx *x = random_values(s.count, LARMOR_C64, &s.seed), *all = malloc((size_t)s.count * sizeof *x),
                      *single = malloc((size_t)each * sizeof *x);
            OWN(larmor_op, *N, larmor_op_toeplitz(dev, &s.opts, s.traj, NULL, &N));
            OWN(larmor_op, *N1, larmor_op_toeplitz(dev, &one.opts, s.traj, NULL, &N1));
            apply(N, x, all);
            for (int b = 0; b < batch; b++) {
                apply(N1, x + b * each, single);
                assert_at_most(relative_l2(each, all + b * each, single), 1e-6);
            }
            end_scan(&s);
        }
}

TEST(shapes_and_types_are_those_of_the_image)
{
    OWNED(scan) s = make_scan((larmor_nufft_opts){.ndim = 2, .modes = {12, 10}, .dtype = LARMOR_F64}, 7, 5);
    larmor_op *N = MADE(larmor_op, larmor_op_toeplitz(dev, &s.opts, s.traj, NULL, &made));
    assert_true(larmor_shape_equal(larmor_op_in_shape(N), LARMOR_SHAPE(12, 10)));
    assert_true(larmor_shape_equal(larmor_op_out_shape(N), LARMOR_SHAPE(12, 10)));
    assert_int_equal(larmor_op_dtype(N), LARMOR_C128);
    larmor_op_free(N);
    s.opts.batch = 3;
    assert_ok(larmor_op_toeplitz(dev, &s.opts, s.traj, NULL, &N));
    assert_true(larmor_shape_equal(larmor_op_in_shape(N), LARMOR_SHAPE(12, 10, 3)));
    assert_string_equal(larmor_op_name(N), "toeplitz");
    larmor_op_free(N);
}

TEST(inputs_that_do_not_fit_are_refused)
{
    OWNED(scan) s = make_scan((larmor_nufft_opts){.ndim = 2, .modes = {12, 10}}, 7, 5);
    larmor_nufft_opts o = s.opts;
    OWNED(larmor_array) *few = zeros(LARMOR_F32, LARMOR_SHAPE(7, 4)), *pairs = zeros(LARMOR_C64, LARMOR_SHAPE(7, 5));
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, s.traj, few, &made), LARMOR_ERR_SHAPE,
                     "toeplitz: weight array is f32 [7, 4] on ");
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, s.traj, pairs, &made), LARMOR_ERR_ARG,
                     "expected real ones");
    o.ndim = 3;
    o.modes[2] = 4;
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, s.traj, NULL, &made), LARMOR_ERR_SHAPE,
                     "toeplitz: traj is f64 [2, 7, 5] on ");
    o.modes[2] = 0;
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, s.traj, NULL, &made), LARMOR_ERR_ARG,
                     "toeplitz: modes[2]: got 0");
    o.ndim = 4;
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, s.traj, NULL, &made), LARMOR_ERR_ARG,
                     "toeplitz: ndim: got 4");
    o = s.opts;
    o.tol = 1e-9;
    assert_none_made(larmor_op, larmor_op_toeplitz(dev, &o, NULL, NULL, &made), LARMOR_ERR_ARG,
                     "a device, options and traj");
}

/* ---- the choice ---- */

static larmor_status at_once(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return larmor_copy(x, y);
}

static larmor_status after_a_while(void *self, const larmor_array *x, larmor_array *y)
{
    nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
    return at_once(self, x, y);
}

TEST(the_race_is_won_by_what_takes_no_time)
{
    OWNED(larmor_array) *x = zeros(LARMOR_C64, LARMOR_SHAPE(8)), *y = zeros(LARMOR_C64, LARMOR_SHAPE(8));
    int quicker;
    OWN(larmor_op, *quick,
        larmor_op_create(dev, &(larmor_op_impl){"quick", at_once, at_once, at_once, NULL}, NULL, LARMOR_C64,
                         LARMOR_SHAPE(8), LARMOR_SHAPE(8), &quick));
    OWN(larmor_op, *slow,
        larmor_op_create(dev, &(larmor_op_impl){"slow", after_a_while, after_a_while, after_a_while, NULL}, NULL,
                         LARMOR_C64, LARMOR_SHAPE(8), LARMOR_SHAPE(8), &slow));
    assert_ok(lmr_toeplitz_race(quick, slow, x, y, &quicker));
    assert_int_equal(quicker, 1);
    assert_ok(lmr_toeplitz_race(slow, quick, x, y, &quicker));
    assert_int_equal(quicker, 0);
}

/* ---- images that are mixed ---- */

enum { MIXED = 3 };

/* z_k <- F^H diag(w conj(b_k)) sum_l b_l .* F x_l by its definition; x [voxels, batch, MIXED]. */
static void direct_mixed(const scan *s, const cplx *factors, const cplx *x, cplx *out)
{
    const larmor_nufft_opts *o = &s->opts;
    const int64_t batch = o->batch ? o->batch : 1;
    const int64_t voxels = s->count / batch;
    const int64_t m = s->m;
    HEAP cplx *y = malloc((size_t)m * sizeof *y), *one = malloc((size_t)m * sizeof *one);
    assert_true(y && one);
    for (int64_t b = 0; b < batch; b++) {
        memset(y, 0, (size_t)m * sizeof *y);
        for (int k = 0; k < MIXED; k++) {
            direct_nufft(2, -1, o->ndim, o->modes, m, s->points, x + (k * batch + b) * voxels, one);
            for (int64_t j = 0; j < m; j++) y[j] += s->weight[j] * factors[k * m + j] * one[j];
        }
        for (int k = 0; k < MIXED; k++) {
            for (int64_t j = 0; j < m; j++) one[j] = conj(factors[k * m + j]) * y[j];
            direct_nufft(1, 1, o->ndim, o->modes, m, s->points, one, out + (k * batch + b) * voxels);
        }
    }
}

TEST(mixed_images_have_the_normal_map_of_their_weighted_sums)
{
    for (int i = 3; i < SIZES; i++)
        for (int c = 0; c < 4; c++) {
            const int in_double = c % 2, is_complex = c / 2;
            const double tol = in_double ? 1e-9 : 1e-5;
            larmor_nufft_opts o = opts_of(i, c == 1 ? 0 : 2, tol, in_double ? LARMOR_C128 : LARMOR_C64);
            OWNED(scan) s = make_scan(o, 20, 11);
            const int64_t many = s.count * MIXED;
            HEAP cplx *x = random_values(many, o.dtype, &s.seed),
                      *factors = random_values(s.m * MIXED, o.dtype, &s.seed);
            HEAP cplx *expected = malloc((size_t)many * sizeof *x), *got = malloc((size_t)many * sizeof *x);
            HEAP double *real = malloc((size_t)(s.m * MIXED) * sizeof *real);
            assert_true(expected && got && real);
            for (int64_t j = 0; j < s.m * MIXED; j++) {
                real[j] = creal(factors[j]);
                if (!is_complex) factors[j] = real[j];
            }
            OWN(larmor_array, *b,
                larmor_array_upload(dev, is_complex ? LARMOR_C128 : LARMOR_F64, LARMOR_SHAPE(20, 11, MIXED),
                                    is_complex ? LARMOR_C128 : LARMOR_F64,
                                    is_complex ? (void *)factors : (void *)real, &b));
            OWN(larmor_op, *N, larmor_op_toeplitz_mixed(dev, &o, s.traj, s.weights, b, &N));
            apply(N, x, got);
            direct_mixed(&s, factors, x, expected);
            const double error = relative_l2(many, got, expected);
            if (!(error <= 2 * tol))
                fail_msg("size %d, complex %d, double %d: %.2e", i, is_complex, in_double, error);
        }
}

TEST(factors_that_do_not_fit_are_refused)
{
    OWNED(scan) s = make_scan(opts_of(5, 2, 1e-4, LARMOR_C64), 20, 11);
    larmor_op *N;
    const struct {
        larmor_shape shape;
        larmor_status status;
    } refused[] = {{LARMOR_SHAPE(20, 11), LARMOR_ERR_SHAPE},
                   {LARMOR_SHAPE(20, 12, 2), LARMOR_ERR_SHAPE},
                   {LARMOR_SHAPE(20, 11, 33), LARMOR_ERR_ARG}};
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_array) *b = zeros(LARMOR_F32, refused[i].shape);
        assert_int_equal(larmor_op_toeplitz_mixed(dev, &s.opts, s.traj, NULL, b, &N), refused[i].status);
        assert_null(N);
    }
    assert_refused(larmor_op_toeplitz_mixed(dev, &s.opts, s.traj, NULL, NULL, &N), LARMOR_ERR_ARG, "factors");
}
