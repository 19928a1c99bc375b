/* What every public operator keeps to. SPDX-License-Identifier: Apache-2.0 */

#include "core/device.h"
#include "tests/recon/support.h"

enum { MOST = 24, N = 8, SPOKES = 4 };

typedef struct operators {
    int count;
    larmor_op *op[MOST];
} operators;

static larmor_op **next(operators *all)
{
    assert_true(all->count < MOST);
    return &all->op[all->count++];
}

static larmor_array *ones(larmor_dtype dtype, larmor_shape shape)
{
    larmor_array *x = zeros(dtype, shape);
    assert_ok(larmor_fill(x, 1));
    return x;
}

static larmor_array *trajectory(const char *name, int64_t nz)
{
    const larmor_traj_opts opts = {.matrix = {N, N, nz}, .readouts = SPOKES};
    return MADE(larmor_array, larmor_traj_create(dev, name, &opts, &made));
}

static void make_fourier(operators *all)
{
    OWNED(larmor_array) *maps = ones(LARMOR_C64, LARMOR_SHAPE(N, N, 2)), *traj = trajectory("radial", 0);
    OWNED(larmor_array) *stars = trajectory("stars", 4);
    const larmor_shape t = larmor_array_shape(traj);
    OWNED(larmor_array) *field = zeros(LARMOR_F64, LARMOR_SHAPE(N, N)),
                        *times = zeros(LARMOR_F64, LARMOR_SHAPE(t.dim[1]));
    const larmor_nufft_opts flat = {.ndim = 2, .modes = {N, N}, .tol = 1e-4};
    const larmor_nufft_opts thick = {.ndim = 3, .modes = {N, N, 4}, .tol = 1e-4};
    assert_ok(larmor_op_coils(maps, next(all)));
    assert_ok(larmor_op_nufft(dev, &flat, traj, next(all)));
    assert_ok(larmor_op_toeplitz(dev, &flat, traj, NULL, next(all)));
    assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj}, next(all)));
    larmor_array *weights = ones(LARMOR_F32, larmor_shape_of(t.ndim - 1, t.dim + 1));
    larmor_array *sets = ones(LARMOR_C64, LARMOR_SHAPE(N, N, 3, 2));
    const larmor_sense_opts block = {.traj = traj, .weights = weights, .block = 2, .toeplitz = -1};
    for (int toeplitz = -1; toeplitz < 2; toeplitz += 2)
        assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .toeplitz = toeplitz}, next(all)));
    assert_ok(larmor_op_sense(sets, &block, next(all)));
    LMR_FREE(sets, weights);
    assert_ok(larmor_op_stack_of_stars(dev, &thick, stars, next(all)));
    assert_ok(larmor_op_off_resonance(all->op[1], field, times, NULL, next(all)));
}

static void make_others(operators *all)
{
    const larmor_shape image = LARMOR_SHAPE(N, N);
    OWNED(larmor_array) *real = ones(LARMOR_F32, image), *diagonal = ones(LARMOR_C64, image);
    OWNED(larmor_array) *basis = ones(LARMOR_C64, LARMOR_SHAPE(3, 2));
    larmor_op *F = MADE(larmor_op, larmor_op_fft(dev, LARMOR_C64, image, 3, NULL, &made));
    *next(all) = F;
    assert_ok(larmor_op_mask(real, LARMOR_C64, next(all)));
    assert_ok(larmor_op_weights(real, LARMOR_C64, 2, next(all)));
    assert_ok(larmor_op_gradient(dev, LARMOR_C64, image, 3, NULL, next(all)));
    assert_ok(larmor_op_symmetrised_gradient(dev, LARMOR_C64, image, 3, NULL, next(all)));
    assert_ok(larmor_op_wavelet(dev, LARMOR_C64, image, NULL, next(all)));
    assert_ok(larmor_op_frames((larmor_op *[]){F, F}, 2, next(all)));
    assert_ok(larmor_op_subspace(dev, LARMOR_C64, image, basis, next(all)));
    assert_ok(larmor_op_casorati(dev, LARMOR_C64, LARMOR_SHAPE(N, N, 3), NULL, next(all)));
    assert_ok(larmor_op_diag(diagonal, next(all)));
}

static void end_operators(operators *all)
{
    while (all->count) larmor_op_free(all->op[--all->count]);
}

typedef larmor_status map(larmor_op *, const larmor_array *, larmor_array *);

TEST(none_works_in_place_and_each_says_so)
{
    OWNED(operators) all = {0};
    make_fourier(&all);
    make_others(&all);
    int square = 0;
    for (int i = 0; i < all.count; i++) {
        larmor_op *A = all.op[i];
        OWNED(larmor_array) *x = zeros(larmor_op_dtype(A), larmor_op_in_shape(A));
        char text[128];
        snprintf(text, sizeof text, "%s: input and output share memory", larmor_op_name(A));
        assert_refused(larmor_op_normal(A, x, x), LARMOR_ERR_ARG, text);
        if (larmor_shape_equal(larmor_op_in_shape(A), larmor_op_out_shape(A))) {
            square++;
            assert_refused(larmor_op_forward(A, x, x), LARMOR_ERR_ARG, text);
            assert_refused(larmor_op_adjoint(A, x, x), LARMOR_ERR_ARG, text);
        }
    }
    assert_true(square >= 6);
}

static const char *running;

static larmor_status no_memory_left(void *ctx LMR_UNUSED, size_t bytes, void **ptr)
{
    *ptr = NULL;
    return larmor_fail(LARMOR_ERR_MEMORY, "%s asks for %zu bytes", running, bytes);
}

/* So that graphs can record them. */
TEST(none_allocates_from_its_second_call_on)
{
    OWNED(operators) all = {0};
    make_fourier(&all);
    make_others(&all);
    const lmr_backend *real = dev->be;
    lmr_backend full = *real;
    full.alloc = no_memory_left;
    for (int i = 0; i < all.count; i++) {
        larmor_op *A = all.op[i];
        OWNED(larmor_array) *x = zeros(larmor_op_dtype(A), larmor_op_in_shape(A)),
                            *z = zeros(larmor_op_dtype(A), larmor_op_in_shape(A));
        OWNED(larmor_array) *y = zeros(larmor_op_dtype(A), larmor_op_out_shape(A));
        running = larmor_op_name(A);
        for (int call = 0; call < 2; call++) {
            if (call) dev->be = &full;
            assert_ok(larmor_op_forward(A, x, y));
            assert_ok(larmor_op_adjoint(A, y, z));
            assert_ok(larmor_op_normal(A, x, z));
        }
        dev->be = real;
    }
}
