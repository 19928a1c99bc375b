/* recon/ops/sense_ranks.c, by mpirun: SENSE whose coils the ranks share against that of one process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/device.h"
#include "core/random.h"
#include "tests/support/ranks.h"

enum { N = 24, COILS = 5, SAMPLES = 40, READOUTS = 30 };

typedef struct scene {
    larmor_device *alone;                         /* another handle, which shares nothing */
    larmor_array *maps[2], *traj[2], *weights[2]; /* on dev, and on the other */
} scene;

static larmor_array *copy_of(const larmor_array *x, larmor_device *to)
{
    return MADE(larmor_array, larmor_array_to(x, to, &made));
}

static scene make_scene(int64_t coils)
{
    static double k[2 * SAMPLES * READOUTS], w[SAMPLES * READOUTS];
    uint64_t seed = 5;
    scene s;
    assert_ok(larmor_device_open("cpu:1", &s.alone));
    for (int i = 0; i < 2 * SAMPLES * READOUTS; i++) k[i] = N / 2.0 * test_random(&seed);
    for (int i = 0; i < SAMPLES * READOUTS; i++) w[i] = 1.5 + test_random(&seed);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, coils), &s.maps[0]));
    assert_ok(lmr_random_fill(s.maps[0], 3));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, READOUTS), LARMOR_F64, k, &s.traj[0]));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES, READOUTS), LARMOR_F64, w, &s.weights[0]));
    s.maps[1] = copy_of(s.maps[0], s.alone);
    s.traj[1] = copy_of(s.traj[0], s.alone);
    s.weights[1] = copy_of(s.weights[0], s.alone);
    return s;
}

static void end_scene(scene *s)
{
    for (int i = 0; i < 2; i++) LMR_FREE(s->maps[i], s->traj[i], s->weights[i]);
    larmor_device_free(s->alone);
}

static larmor_op *sense_of(const scene *s, int which, larmor_sense_opts opts, int weighted)
{
    opts.traj = s->traj[which];
    opts.weights = weighted ? s->weights[which] : NULL;
    return MADE(larmor_op, larmor_op_sense(s->maps[which], &opts, &made));
}

typedef larmor_status (*map)(larmor_op *A, const larmor_array *x, larmor_array *y);

/* What comes out for x of that seed, to be freed. */
static float *apply(larmor_op *A, map what, larmor_shape in, larmor_shape out, int64_t *count)
{
    OWN(larmor_array, *x, larmor_array_create(larmor_op_device(A), LARMOR_C64, in, &x));
    OWN(larmor_array, *y, larmor_array_create(larmor_op_device(A), LARMOR_C64, out, &y));
    assert_ok(lmr_random_fill(x, 17));
    assert_ok(what(A, x, y));
    float *values = MADE(float, larmor_array_download(y, LARMOR_C64, &made));
    *count = 2 * larmor_array_count(y);
    return values;
}

static void expect_close(larmor_op *shared, larmor_op *alone, map what, larmor_shape in, larmor_shape out)
{
    int64_t count;
    HEAP float *a = apply(alone, what, in, out, &count), *b = apply(shared, what, in, out, &count);
    HEAP float *again = apply(shared, what, in, out, &count);
    double error = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)a[i] * a[i];
    }
    assert_at_most(error, 1e-12 * size);
    assert_memory_equal(b, again, (size_t)count * sizeof *b);
}

TEST(sense_on_ranks_is_that_of_one_process_and_the_same_each_time)
{
    OWNED(scene) s = make_scene(COILS);
    const larmor_sense_opts kinds[] = {{.toeplitz = -1}, {.toeplitz = 1}, {.toeplitz = 1, .block = 1}};
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_op) *shared = sense_of(&s, 0, kinds[i], i == 1), *alone = sense_of(&s, 1, kinds[i], i == 1);
        const larmor_shape in = larmor_op_in_shape(alone), out = larmor_op_out_shape(alone);
        assert_true(larmor_shape_equal(out, larmor_op_out_shape(shared)));
        assert_int_equal(larmor_sense_uses_toeplitz(shared), kinds[i].toeplitz > 0);
        expect_close(shared, alone, larmor_op_forward, in, out);
        expect_close(shared, alone, larmor_op_adjoint, out, in);
        expect_close(shared, alone, larmor_op_normal, in, in);
        assert_at_most(adjoint_error(shared, 3), 1e-6);
    }
}

/* Of rank 0, or of the rank that has most. */
static int64_t own_coils(int64_t all)
{
    const int count = larmor_ranks_count(ranks);
    return (all + count - 1) / count;
}

/* A rank computes the rows of its coils alone: the memory of less than all is planned. */
TEST(less_memory_is_planned_for_the_coils_of_a_rank)
{
    const larmor_problem p = {.image = LARMOR_SHAPE(64, 64), .samples = 4096, .coils = 32, .dtype = LARMOR_C64};
    int64_t here, apart;
    OWN(larmor_device, *alone, larmor_device_open("cpu:1", &alone));
    assert_ok(larmor_sense_memory(alone, &p, NULL, &here));
    assert_ok(larmor_sense_memory(dev, &p, NULL, &apart));
    assert_true(apart < here);
    const larmor_problem own = {
        .image = p.image, .samples = p.samples, .coils = own_coils(p.coils), .dtype = p.dtype};
    assert_ok(larmor_sense_memory(alone, &own, NULL, &here));
    assert_int_equal(apart, here); /* rank 0 copies neither maps nor points */
}

TEST(too_few_coils_are_not_shared)
{
    OWNED(scene) s = make_scene(1);
    OWNED(larmor_op) *one = sense_of(&s, 0, (larmor_sense_opts){0}, 0),
                     *alone = sense_of(&s, 1, (larmor_sense_opts){0}, 0);
    expect_close(one, alone, larmor_op_normal, larmor_op_in_shape(alone), larmor_op_in_shape(alone));
}

TEST(what_is_wrong_on_all_is_said_once_and_the_next_operator_is_made)
{
    OWNED(scene) s = make_scene(COILS);
    larmor_op *A;
    const larmor_sense_opts opts = {.traj = s.traj[0], .nufft_tol = 1e-30};
    assert_int_not_equal(larmor_op_sense(s.maps[0], &opts, &A), LARMOR_OK);
    assert_null(strstr(larmor_last_error(), "rank"));
    OWNED(larmor_op) *works = sense_of(&s, 0, (larmor_sense_opts){0}, 0);
}

TEST(a_group_of_devices_is_refused)
{
    OWN(larmor_device, *group, larmor_device_open("cpu:1,1", &group));
    assert_refused(larmor_sense_share(group, ranks), LARMOR_ERR_ARG, "one device for each rank");
}

int main(void)
{
    if (open_ranks()) return 1;
    const larmor_status st = larmor_sense_share(dev, ranks);
    int failed = st != LARMOR_OK;
    if (!failed && larmor_ranks_number(ranks) == 0) failed = run_claims(NULL, NULL);
    return close_ranks(failed);
}
