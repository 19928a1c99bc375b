/* What solvers, their preconditioners and the choice of the weight say of their bytes, against what is really
 * allocated. SPDX-License-Identifier: Apache-2.0 */
#include "core/mutable.h"
#include "tests/recon/allocated.h"
#include "tests/recon/memory_scan.h"

/* An operator that has allocated all that its maps need. */
static larmor_op *warm_operator(larmor_dtype dtype, larmor_shape shape, larmor_array *x, larmor_array *b)
{
    larmor_op *F = MADE(larmor_op, larmor_op_fft(dev, dtype, shape, 3, NULL, &made));
    assert_ok(larmor_noise_fill(x, 1, 1));
    assert_ok(larmor_op_forward(F, x, b));
    assert_ok(larmor_op_adjoint(F, b, x));
    assert_ok(larmor_op_normal(F, b, x));
    return F;
}

/* What a solver of 300 x 200 gets, large beside what is no array. */
typedef struct vectors {
    larmor_array *x, *b, *start;
    larmor_op *A;
} vectors;

static vectors warm_vectors(larmor_shape shape)
{
    vectors v = {.x = zeros(LARMOR_C64, shape), .b = zeros(LARMOR_C64, shape), .start = zeros(LARMOR_C64, shape)};
    v.A = warm_operator(LARMOR_C64, shape, v.x, v.b);
    return v;
}

LMR_FREES(end_vectors, vectors, A, x, b, start)

/* SENSE of the scan with weights or without, whose maps have run. */
static larmor_op *warm_sense(const scan *s, const larmor_array *weights, larmor_array *x)
{
    larmor_op *A =
        MADE(larmor_op, larmor_op_sense(s->maps, &(larmor_sense_opts){.traj = s->traj, .weights = weights}, &made));
    OWNED(larmor_array) *b = zeros(s->problem.dtype, larmor_op_out_shape(A)),
                        *z = zeros(s->problem.dtype, s->problem.image);
    assert_ok(larmor_op_forward(A, x, b));
    assert_ok(larmor_op_adjoint(A, b, z));
    assert_ok(larmor_op_normal(A, x, z));
    return A;
}

TEST(the_circulant_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        OWNED(scan) s = scan_case(c);
        OWNED(larmor_circulant) *C;
        int64_t estimate;
        assert_ok(larmor_circulant_memory(dev, &s.problem, &estimate));
        begin();
        assert_ok(larmor_circulant_create(s.maps, s.traj, s.weights, s.problem.image, s.problem.dtype, &C));
        expect_estimate(cases[c].name, estimate, 0, 2.7);
    }
}

static void regulariser_is_estimated(const char *name, int series)
{
    for (int c = 0; c < 8; c += of_all(3, 1)) {
        const larmor_dtype dtype = c / 2 % 2 ? LARMOR_C128 : LARMOR_C64;
        const larmor_shape image = c / 4 ? LARMOR_SHAPE(24, 20, 18) : LARMOR_SHAPE(100, 60);
        const larmor_shape shape = series ? larmor_shape_append(image, 5) : image;
        const larmor_regulariser_opts opts = {.series = series};
        OWNED(larmor_array) *x = zeros(dtype, shape), *b = zeros(dtype, shape);
        OWNED(larmor_op) *A = warm_operator(dtype, shape, x, b);
        OWNED(scan) s = scan_of(image, 128, 60, 1, dtype, 0);
        larmor_solve_opts solve = {.max_iter = 4, .tol = -1};
        OWNED(larmor_circulant) *C = NULL;
        int64_t estimate;
        if (c % 2) assert_ok(larmor_circulant_create(s.maps, s.traj, NULL, image, dtype, &C));
        solve.circulant = C;
        assert_ok(larmor_regularised_memory(name, &opts, dtype, shape, &estimate));
        begin();
        OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name, &opts, dtype, shape, &r));
        assert_ok(larmor_regularised(A, b, r, x, &solve, NULL));
        expect_estimate(name, estimate, 0, C ? 1.15 : 1.6);
    }
}

TEST(each_regulariser_and_its_solver_take_no_more_than_estimated)
{
    only_for_processors();
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name; i++)
        regulariser_is_estimated(info.name, (info.takes & LARMOR_NEEDS_SERIES) != 0);
}

TEST(each_sum_of_penalties_takes_no_more_than_estimated)
{
    static const char *const sums[] = {"tv+l1", "tv:xy+tv:t+l1", "tgv+wavelet+l1", "llr+fft:t+tv:xy"};
    only_for_processors();
    for (int i = 0; i < 4; i++) regulariser_is_estimated(sums[i], strstr(sums[i], ":t") != NULL);
}

TEST(conjugate_gradients_take_no_more_than_estimated)
{
    only_for_processors();
    const larmor_shape shape = LARMOR_SHAPE(300, 200);
    for (int preconditioned = 0; preconditioned < 2; preconditioned++) {
        OWNED(vectors) v = warm_vectors(shape);
        assert_ok(larmor_fill(v.x, 1));
        OWN(larmor_op, *M, larmor_op_diag(v.x, &M));
        const larmor_solve_opts opts = {.max_iter = 3, .tol = -1, .precondition = preconditioned ? M : NULL};
        int64_t estimate;
        assert_ok(larmor_cg_memory(LARMOR_C64, shape, &estimate));
        begin();
        assert_ok(larmor_cg(v.A, v.b, v.start, &opts, NULL));
        expect_estimate("cg", estimate, SMALL, 1.3);
    }
}

TEST(the_choice_of_the_weight_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < 2; c++) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(64, 48), 128, 60, 4, LARMOR_C64, 0);
        const larmor_shape image = s.problem.image;
        OWNED(larmor_array) *x = zeros(LARMOR_C64, image), *kept, *factors, *all;
        larmor_held_out out = {.noise = zeros(LARMOR_C64, larmor_array_shape(s.kspace))};
        larmor_regulariser *r = NULL;
        larmor_choice choice;
        int64_t solver, beside;
        assert_ok(larmor_noise_fill(x, 1, 1));
        OWNED(larmor_op) *A = warm_sense(&s, NULL, x);
        assert_ok(larmor_op_forward(A, x, s.kspace));
        assert_ok(larmor_noise_fill(lmr_mutable(out.noise), 0.1, 2));
        assert_ok(larmor_axpby(1, out.noise, 1, s.kspace));
        OWN(larmor_circulant, *C, larmor_circulant_create(s.maps, s.traj, NULL, image, LARMOR_C64, &C));
        assert_ok(larmor_hold_out(s.traj, NULL, C, 3, &kept, &factors));
        out.A = warm_sense(&s, kept, x);
        assert_ok(larmor_choose_memory(LARMOR_C64, image, larmor_array_shape(s.kspace), &beside));
        assert_ok(larmor_cg_memory(LARMOR_C64, image, &solver));
        if (c) {
            assert_ok(larmor_regularised_memory("tv", NULL, LARMOR_C64, image, &solver));
            assert_ok(larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, image, &r));
        }
        begin();
        all = zeros(LARMOR_C64, larmor_array_shape(s.kspace));
        assert_ok(larmor_fill(all, 1));
        assert_ok(larmor_sense_weigh(factors, all));
        out.factors = all;
        assert_ok(larmor_choose_weight(A, s.kspace, &out, C, r, NULL, &choice));
        assert_true(choice.tried > 1);
        expect_estimate(c ? "choice for tv" : "choice for cg", solver + beside,
                        -(int64_t)(larmor_array_bytes(kept) + larmor_array_bytes(factors)), 1.5);
        larmor_regulariser_free(r);
        LMR_FREE(out.A, out.noise);
    }
}

/* As schedule/plan.c counts: of the images of a choice two are not made, and two take the place of the solver's. */
TEST(the_choice_for_a_series_takes_four_images_less)
{
    enum { FRAMES = 6 };
    only_for_processors();
    OWNED(scan) s = scan_of(LARMOR_SHAPE(64, 48), 96, 12, 2, LARMOR_C64, 0);
    const larmor_shape images = larmor_shape_append(s.problem.image, FRAMES);
    const larmor_regulariser_opts opts = {.series = 1, .frames = {3, 2, 1}, .letter = {'h', 'b', 't'}};
    larmor_op *ops[FRAMES], *kept[FRAMES];
    OWNED(larmor_array) *weights, *factors;
    larmor_held_out out = {.A = NULL};
    int64_t solver, beside;
    OWNED(larmor_array) *x = zeros(LARMOR_C64, images), *one = zeros(LARMOR_C64, s.problem.image);
    larmor_choice choice;
    OWN(larmor_circulant, *C, larmor_circulant_create(s.maps, s.traj, NULL, s.problem.image, LARMOR_C64, &C));
    assert_ok(larmor_hold_out(s.traj, NULL, C, 3, &weights, &factors));
    for (int t = 0; t < FRAMES; t++) {
        ops[t] = warm_sense(&s, NULL, one);
        kept[t] = warm_sense(&s, weights, one);
    }
    OWN(larmor_op, *A, larmor_op_frames(ops, FRAMES, &A));
    assert_ok(larmor_op_frames(kept, FRAMES, &out.A));
    OWNED(larmor_array) *b = zeros(LARMOR_C64, larmor_op_out_shape(A)),
                        *all = zeros(LARMOR_C64, larmor_op_out_shape(A)),
                        *noise = zeros(LARMOR_C64, larmor_op_out_shape(A));
    assert_ok(larmor_noise_fill(x, 1, 1));
    assert_ok(larmor_op_forward(A, x, b));
    assert_ok(larmor_noise_fill(noise, 0.1, 2));
    assert_ok(larmor_axpby(1, noise, 1, b));
    assert_ok(larmor_noise_fill(all, 0.3, 4));
    out.factors = all;
    out.noise = noise;
    assert_ok(larmor_regularised_memory("tv:xy+tv:h+tv:b", &opts, LARMOR_C64, images, &solver));
    assert_ok(larmor_choose_memory(LARMOR_C64, images, larmor_array_shape(b), &beside));
    begin();
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "tv:xy+tv:h+tv:b", &opts, LARMOR_C64, images, &r));
    assert_ok(larmor_choose_weight(A, b, &out, C, r, NULL, &choice));
    assert_true(choice.tried > 1);
    expect_estimate("choice for a series", solver + beside - 4 * (int64_t)larmor_array_bytes(x), 0, 1.5);
    for (int t = 0; t < FRAMES; t++) LMR_FREE(ops[t], kept[t]);
    larmor_op_free(out.A);
}

TEST(impossible_sizes_are_refused)
{
    int64_t bytes;
    larmor_problem p = {.image = LARMOR_SHAPE(128, 128), .samples = 1000, .dtype = LARMOR_C64};
    assert_refused(larmor_sense_memory(dev, &p, NULL, &bytes), LARMOR_ERR_ARG, "memory: a device, an image");
    p.coils = 1;
    p.samples = INT64_MAX;
    assert_refused(larmor_sense_memory(dev, &p, NULL, &bytes), LARMOR_ERR_ARG, "nufft: the modes are too many");
    assert_int_equal(bytes, 0);
}
