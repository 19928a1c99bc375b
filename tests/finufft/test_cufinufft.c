/* cuFINUFFT's interface against the sums that its documentation defines, its error codes and its options. Compiled
 * twice: with the library, whose transforms need a GPU, and with ON_HOST and the library's objects on a processor
 * in the GPU's place. SPDX-License-Identifier: Apache-2.0 */
#include "finufft/cufinufft.h"

#include <complex.h>

#include "tests/support/test.h"

typedef double complex cx;

enum { M = 70, TARGETS = 45, BATCH = 3, MOST = 12 * 10 * 8 };

/* cudaStreamPerThread: a stream that is not the default one */
static void *const own_stream = (void *)2;

/* Whether the library's transforms run on the device under test. */
static void need_transforms(void)
{
#ifndef ON_HOST
    if (!strncmp(larmor_device_spec(dev), "cpu", 3)) skip();
#endif
}

typedef struct problem {
    int type, dim, sign, ntrans, is_double;
    int64_t modes[3];
    double tol;
    const cufinufft_opts *opts;
    double x[3][M], s[3][TARGETS];
    cx at_points[BATCH * M], at_modes[BATCH * MOST];
} problem;

static uint64_t seed = 7;

static void fill(double *x, int count, double scale)
{
    for (int i = 0; i < count; i++) x[i] = scale * test_random(&seed);
}

static problem make_problem(int type, int dim)
{
    problem p = {.type = type,
                 .dim = dim,
                 .sign = type == 2 ? -1 : 1,
                 .ntrans = 1,
                 .is_double = 1,
                 .modes = {12, dim > 1 ? 10 : 1, dim > 2 ? 7 : 1},
                 .tol = 1e-9};
    for (int d = 0; d < 3; d++) {
        fill(p.x[d], M, type == 3 ? 3 : 9); /* any real number is legal */
        fill(p.s[d], TARGETS, 6);
    }
    fill((double *)p.at_points, 2 * BATCH * M, 1);
    fill((double *)p.at_modes, 2 * BATCH * MOST, 1);
    return p;
}

static int count_of_modes(const problem *p)
{
    return p->type == 3 ? TARGETS : (int)(p->modes[0] * p->modes[1] * p->modes[2]);
}

/* The frequencies of mode i, or target i. */
static void frequency(const problem *p, int i, double k[3])
{
    for (int d = 0; d < 3; d++) {
        const int n = (int)p->modes[d];
        const int at = i % n;
        const int in_order = p->opts && p->opts->modeord;
        k[d] = p->type == 3 ? p->s[d][i] : at - n / 2;
        if (p->type != 3 && in_order) k[d] = at < (n + 1) / 2 ? at : at - n;
        if (p->type != 3) i /= n;
    }
}

static cx wave(const problem *p, const double k[3], int j)
{
    double angle = 0;
    for (int d = 0; d < p->dim; d++) angle += k[d] * p->x[d][j];
    return cexp(I * (p->sign * angle));
}

/* By definition: sums over points, or of type 2 over modes. */
static void sum(const problem *p, cx *out)
{
    const int n = count_of_modes(p);
    const int outputs = p->ntrans * (p->type == 2 ? M : n);
    for (int i = 0; i < outputs; i++) out[i] = 0;
    for (int i = 0; i < n; i++) {
        double k[3];
        frequency(p, i, k);
        for (int j = 0; j < M; j++) {
            const cx w = wave(p, k, j);
            for (int b = 0; b < p->ntrans; b++)
                if (p->type == 2)
                    out[b * M + j] += p->at_modes[b * n + i] * w;
                else
                    out[b * n + i] += p->at_points[b * M + j] * w;
        }
    }
}

static larmor_array *upload(int is_double, int is_complex, int64_t count, const void *host)
{
    const larmor_dtype real_type = is_double ? LARMOR_F64 : LARMOR_F32;
    const larmor_dtype complex_type = is_double ? LARMOR_C128 : LARMOR_C64;
    return MADE(larmor_array, larmor_array_upload(dev, is_complex ? complex_type : real_type, LARMOR_SHAPE(count),
                                                  is_complex ? LARMOR_C128 : LARMOR_F64, host, &made));
}

typedef struct memory {
    larmor_array *x[3], *s[3], *at_points, *at_modes;
} memory;

static memory place(const problem *p)
{
    memory m = {.at_points = upload(p->is_double, 1, p->ntrans * M, p->at_points),
                .at_modes = upload(p->is_double, 1, p->ntrans * count_of_modes(p), p->at_modes)};
    for (int d = 0; d < 3; d++) {
        m.x[d] = upload(p->is_double, 0, M, p->x[d]);
        m.s[d] = upload(p->is_double, 0, TARGETS, p->s[d]);
    }
    assert_ok(larmor_device_sync(dev)); /* the plan's stream does not wait for this device's */
    return m;
}

static void discard(const memory *m)
{
    for (int d = 0; d < 3; d++) LMR_FREE(m->x[d], m->s[d]);
    LMR_FREE(m->at_points, m->at_modes);
}

/* The addresses of a problem's arrays; NULL beyond its dimensions. */
typedef struct addresses {
    void *x[3], *s[3], *c, *f;
} addresses;

static addresses addresses_of(const problem *p, const memory *m)
{
    addresses a = {.c = larmor_array_data(m->at_points), .f = larmor_array_data(m->at_modes)};
    for (int d = 0; d < p->dim; d++) {
        a.x[d] = larmor_array_data(m->x[d]);
        if (p->type == 3) a.s[d] = larmor_array_data(m->s[d]);
    }
    return a;
}

static int run_double(const problem *p, const addresses *a)
{
    cufinufft_plan plan = NULL;
    int code = cufinufft_makeplan(p->type, p->dim, p->modes, p->sign, p->ntrans, p->tol, &plan, p->opts);
    if (!code) code = cufinufft_setpts(plan, M, a->x[0], a->x[1], a->x[2], TARGETS, a->s[0], a->s[1], a->s[2]);
    if (!code) code = cufinufft_execute(plan, a->c, a->f);
    if (plan) assert_int_equal(cufinufft_destroy(plan), 0);
    return code;
}

static int run_float(const problem *p, const addresses *a)
{
    cufinufftf_plan plan = NULL;
    int code = cufinufftf_makeplan(p->type, p->dim, p->modes, p->sign, p->ntrans, (float)p->tol, &plan, p->opts);
    if (!code) code = cufinufftf_setpts(plan, M, a->x[0], a->x[1], a->x[2], TARGETS, a->s[0], a->s[1], a->s[2]);
    if (!code) code = cufinufftf_execute(plan, a->c, a->f);
    if (plan) assert_int_equal(cufinufftf_destroy(plan), 0);
    return code;
}

/* What lies at the outputs, against the sums. */
static double error_of(const problem *p, const memory *m)
{
    const int outputs = p->ntrans * (p->type == 2 ? M : count_of_modes(p));
    HEAP cx *found, *expected = malloc((size_t)outputs * sizeof *expected);
    double difference = 0, size = 0;
    assert_non_null(expected);
    sum(p, expected);
    assert_ok(larmor_array_download(p->type == 2 ? m->at_points : m->at_modes, LARMOR_C128, &found));
    for (int i = 0; i < outputs; i++) {
        difference += pow(cabs(found[i] - expected[i]), 2);
        size += pow(cabs(expected[i]), 2);
    }
    return sqrt(difference / size);
}

/* The error of plan, points and execution. */
static double solve(const problem *p)
{
    const memory m = place(p);
    const addresses a = addresses_of(p, &m);
    assert_int_equal(p->is_double ? run_double(p, &a) : run_float(p, &a), 0);
    const double e = error_of(p, &m); /* destroying the plan has waited for its stream */
    discard(&m);
    return e;
}

static cufinufft_opts defaults(void)
{
    cufinufft_opts o;
    memset(&o, 0xa5, sizeof o);
    cufinufft_default_opts(&o);
    return o;
}

/* ---- without transforms ---- */

TEST(options_lie_where_cufinuffts_programs_write_them)
{
    const cufinufft_opts o = defaults();
    assert_int_equal(sizeof o, 88);
    assert_int_equal(offsetof(cufinufft_opts, gpu_method), 8);
    assert_int_equal(offsetof(cufinufft_opts, gpu_maxsubprobsize), 40);
    assert_int_equal(offsetof(cufinufft_opts, gpu_device_id), 56);
    assert_int_equal(offsetof(cufinufft_opts, gpu_stream), 64);
    assert_int_equal(offsetof(cufinufft_opts, modeord), 72);
    assert_int_equal(offsetof(cufinufft_opts, debug), 80);
    assert_true(o.upsampfac == 0);
    assert_int_equal(o.gpu_sort, 1);
    assert_int_equal(o.gpu_kerevalmeth, 1);
    assert_int_equal(o.gpu_maxsubprobsize, 1024);
    assert_null(o.gpu_stream);
    assert_int_equal(o.gpu_method | o.modeord | o.gpu_device_id | o.gpu_spreadinterponly | o.gpu_maxbatchsize, 0);
}

static int refusal(int type, int dim, int64_t first_mode, int ntrans, const cufinufft_opts *o)
{
    const int64_t modes[3] = {first_mode, 8, 8};
    cufinufft_plan p = (cufinufft_plan)&seed;
    cufinufftf_plan pf = (cufinufftf_plan)&seed;
    const int code = cufinufft_makeplan(type, dim, modes, 1, ntrans, 1e-6, &p, o);
    assert_int_equal(cufinufftf_makeplan(type, dim, modes, 1, ntrans, 1e-4F, &pf, o), code);
    assert_true(code);
    assert_null(p);
    assert_null(pf);
    return code;
}

TEST(requests_that_make_no_sense_have_cufinuffts_codes)
{
    assert_int_equal(refusal(0, 1, 8, 1, NULL), FINUFFT_ERR_TYPE_NOTVALID);
    assert_int_equal(refusal(4, 3, 8, 1, NULL), FINUFFT_ERR_TYPE_NOTVALID);
    assert_int_equal(refusal(1, 0, 8, 1, NULL), FINUFFT_ERR_DIM_NOTVALID);
    assert_int_equal(refusal(1, 4, 8, 1, NULL), FINUFFT_ERR_DIM_NOTVALID);
    assert_int_equal(refusal(2, 2, 8, 0, NULL), FINUFFT_ERR_NTRANS_NOTVALID);
    assert_int_equal(refusal(2, 2, 0, 1, NULL), FINUFFT_ERR_NDATA_NOTVALID);
    assert_int_equal(refusal(2, 2, -8, 1, NULL), FINUFFT_ERR_NDATA_NOTVALID);
    assert_int_equal(refusal(1, 1, INT64_C(1) << 31, 1, NULL), FINUFFT_ERR_NDATA_NOTVALID);
    assert_int_equal(refusal(1, 2, INT64_C(1) << 28, 1, NULL), FINUFFT_ERR_NDATA_NOTVALID);
    assert_int_equal(cufinufft_makeplan(1, 1, (int64_t[]){8}, 1, 1, 1e-6, NULL, NULL), FINUFFT_ERR_PLAN_NOTVALID);
    assert_int_equal(cufinufft_destroy(NULL), FINUFFT_ERR_PLAN_NOTVALID);
    assert_int_equal(cufinufftf_execute(NULL, NULL, NULL), FINUFFT_ERR_PLAN_NOTVALID);
    assert_int_equal(cufinufft_setpts(NULL, 1, NULL, NULL, NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_PLAN_NOTVALID);
}

TEST(options_that_make_no_sense_have_cufinuffts_codes)
{
    cufinufft_opts o = defaults();
    o.upsampfac = 0.9;
    assert_int_equal(refusal(1, 2, 8, 1, &o), FINUFFT_ERR_HORNER_WRONG_BETA);
    o.gpu_kerevalmeth = 0;
    assert_int_equal(refusal(1, 2, 8, 1, &o), FINUFFT_ERR_UPSAMPFAC_TOO_SMALL);
    o = defaults();
    o.gpu_method = 5;
    assert_int_equal(refusal(1, 3, 8, 1, &o), FINUFFT_ERR_METHOD_NOTVALID);
    o.gpu_method = 4;
    assert_int_equal(refusal(1, 2, 8, 1, &o), FINUFFT_ERR_METHOD_NOTVALID);
    o.gpu_method = 2;
    o.gpu_binsizex = o.gpu_binsizey = o.gpu_binsizez = 1024;
    assert_int_equal(refusal(1, 3, 8, 1, &o), FINUFFT_ERR_INSUFFICIENT_SHMEM);
}

TEST(a_gpu_that_is_not_there_is_a_failure_of_cuda)
{
    cufinufft_opts o = defaults();
    o.gpu_device_id = 1000;
    assert_int_equal(refusal(1, 2, 8, 1, &o), FINUFFT_ERR_CUDA_FAILURE);
    o.gpu_device_id = -1;
    assert_int_equal(refusal(3, 1, 8, 1, &o), FINUFFT_ERR_CUDA_FAILURE);
}

/* ---- transforms ---- */

TEST(every_type_and_dimension_sums_in_both_precisions)
{
    need_transforms();
    for (int type = 1; type <= 3; type++)
        for (int dim = 1; dim <= 3; dim++) {
            problem p = make_problem(type, dim);
            assert_at_most(solve(&p), 1e-8);
            p.is_double = 0;
            p.tol = 1e-4;
            assert_at_most(solve(&p), 2e-3);
        }
}

TEST(vectors_lie_one_after_the_other)
{
    need_transforms();
    cufinufft_opts o = defaults();
    o.gpu_maxbatchsize = 2;
    for (int type = 1; type <= 3; type++) {
        problem p = make_problem(type, 2);
        p.ntrans = BATCH;
        assert_at_most(solve(&p), 1e-8);
        p.opts = &o;
        assert_at_most(solve(&p), 1e-8);
    }
}

TEST(signs_and_orders_of_modes_are_the_callers)
{
    need_transforms();
    cufinufft_opts o = defaults();
    o.modeord = 1;
    for (int type = 1; type <= 2; type++) {
        problem p = make_problem(type, 3);
        p.opts = &o;
        p.sign = -p.sign;
        assert_at_most(solve(&p), 1e-8);
    }
}

TEST(options_for_speed_leave_the_sums_as_they_are)
{
    need_transforms();
    for (int method = 0; method <= 3; method++)
        for (int type = 1; type <= 2; type++) {
            cufinufft_opts o = defaults();
            problem p = make_problem(type, 2);
            o.gpu_method = method;
            o.gpu_sort = type - 1;
            o.upsampfac = method ? 1.25 : 4.5;
            o.gpu_kerevalmeth = 0;
            p.opts = &o;
            p.tol = 1e-6;
            assert_at_most(solve(&p), 1e-5);
        }
}

TEST(work_runs_in_the_callers_stream)
{
    need_transforms();
    cufinufft_opts o = defaults();
    o.gpu_stream = own_stream;
    problem p = make_problem(1, 2);
    const memory m = place(&p);
    const addresses a = addresses_of(&p, &m);
    cufinufft_plan plan = NULL;
    assert_int_equal(cufinufft_makeplan(1, 2, p.modes, p.sign, 1, p.tol, &plan, &o), 0);
    assert_int_equal(cufinufft_setpts(plan, M, a.x[0], a.x[1], NULL, 0, NULL, NULL, NULL), 0);
    assert_int_equal(cufinufft_execute(plan, a.c, a.f), 0);
#ifndef ON_HOST
    assert_ok(larmor_device_set_stream(dev, own_stream)); /* what reads the sums is queued behind them */
#endif
    assert_at_most(error_of(&p, &m), 1e-8);
#ifndef ON_HOST
    assert_ok(larmor_device_set_stream(dev, NULL));
#endif
    assert_int_equal(cufinufft_destroy(plan), 0);
    discard(&m);
}

TEST(the_simple_functions_are_plan_points_and_execution)
{
    need_transforms();
    for (int type = 1; type <= 3; type++) {
        problem p = make_problem(type, 3);
        p.ntrans = BATCH;
        const memory m = place(&p);
        const addresses a = addresses_of(&p, &m);
        const int64_t *n = p.modes;
        int code = -1;
        if (type == 1)
            code =
                cufinufft3d1many(BATCH, M, a.x[0], a.x[1], a.x[2], a.c, p.sign, p.tol, n[0], n[1], n[2], a.f, NULL);
        if (type == 2)
            code =
                cufinufft3d2many(BATCH, M, a.x[0], a.x[1], a.x[2], a.c, p.sign, p.tol, n[0], n[1], n[2], a.f, NULL);
        if (type == 3)
            code = cufinufft3d3many(BATCH, M, a.x[0], a.x[1], a.x[2], a.c, p.sign, p.tol, TARGETS, a.s[0], a.s[1],
                                    a.s[2], a.f, NULL);
        assert_int_equal(code, 0);
        assert_at_most(error_of(&p, &m), 1e-8);
        discard(&m);
    }
}

TEST(a_tolerance_out_of_reach_becomes_the_least)
{
    need_transforms();
    problem p = make_problem(1, 1);
    p.is_double = 0;
    p.tol = 1e-20;
    assert_at_most(solve(&p), 1e-4);
    p.tol = 3;
    assert_true(solve(&p) < 1);
}

TEST(points_and_values_that_make_no_sense_have_codes_and_the_plan_goes_on)
{
    need_transforms();
    for (int type = 1; type <= 3; type += 2) {
        problem p = make_problem(type, 1);
        const memory m = place(&p);
        const addresses a = addresses_of(&p, &m);
        double bad[M] = {[5] = NAN};
        OWNED(larmor_array) *not_finite = upload(1, 0, M, bad);
        cufinufft_plan plan = NULL;
        assert_ok(larmor_device_sync(dev));
        assert_int_equal(cufinufft_makeplan(type, 1, p.modes, p.sign, 1, p.tol, &plan, NULL), 0);
        assert_int_equal(cufinufft_execute(plan, a.c, a.f), FINUFFT_ERR_INVALID_ARGUMENT);
        assert_int_equal(cufinufft_setpts(plan, -1, a.x[0], NULL, NULL, TARGETS, a.s[0], NULL, NULL),
                         FINUFFT_ERR_NUM_NU_PTS_INVALID);
        assert_int_equal(cufinufft_setpts(plan, M, NULL, NULL, NULL, TARGETS, a.s[0], NULL, NULL),
                         FINUFFT_ERR_INVALID_ARGUMENT);
        if (type == 3)
            assert_int_equal(cufinufft_setpts(plan, M, a.x[0], NULL, NULL, -1, a.s[0], NULL, NULL),
                             FINUFFT_ERR_NUM_NU_PTS_INVALID);
        assert_int_equal(
            cufinufft_setpts(plan, M, larmor_array_data(not_finite), NULL, NULL, TARGETS, a.s[0], NULL, NULL),
            FINUFFT_ERR_INVALID_ARGUMENT);
        assert_int_equal(cufinufft_setpts(plan, M, a.x[0], NULL, NULL, TARGETS, a.s[0], NULL, NULL), 0);
        assert_int_equal(cufinufft_execute(plan, NULL, a.f), FINUFFT_ERR_INVALID_ARGUMENT);
        assert_int_equal(cufinufft_execute(plan, a.c, a.f), 0);
        assert_int_equal(cufinufft_destroy(plan), 0);
        assert_at_most(error_of(&p, &m), 1e-8);
        discard(&m);
    }
}

TEST(memory_of_the_host_is_refused)
{
    if (!strncmp(larmor_device_spec(dev), "cpu", 3)) skip();
    const double x[4] = {0, 1, 2, 3};
    cufinufft_plan plan = NULL;
    assert_int_equal(cufinufft_makeplan(1, 1, (int64_t[]){8}, 1, 1, 1e-6, &plan, NULL), 0);
    assert_int_equal(cufinufft_setpts(plan, 4, x, NULL, NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_INVALID_ARGUMENT);
    assert_int_equal(cufinufft_destroy(plan), 0);
}
