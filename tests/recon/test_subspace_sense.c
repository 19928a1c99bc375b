/* recon/ops/subspace_sense.c and recon/samples/basis.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { SAMPLES = 24, READOUTS = 10, FRAMES = 4, RANK = 3, COILS = 3, M = SAMPLES * READOUTS };

static const int frame[READOUTS] = {0, 2, 1, 3, 0, 1, 1, 3, 2, 0};

typedef struct scan {
    larmor_shape image, images;
    larmor_array *maps, *traj, *weights, *basis, *factors;
} scan;

static scan scan_of(larmor_dtype dtype, larmor_shape image, int is_complex)
{
    scan s = {.image = image, .images = larmor_shape_append(image, RANK)};
    const larmor_shape maps = larmor_shape_append(image, COILS);
    double *k = random_points(image, M, 3), weight[M];
    HEAP cplx *basis = random_values(FRAMES * RANK, 2);
    uint64_t seed = 4;
    for (int j = 0; j < M; j++) weight[j] = 1.5 + test_random(&seed);
    for (int i = 0; i < FRAMES * RANK && !is_complex; i++) basis[i] = creal(basis[i]);
    s.maps = drawn(dtype, maps, 1);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, SAMPLES, READOUTS), k);
    s.weights = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), weight);
    s.basis = complex_array(LARMOR_C128, LARMOR_SHAPE(FRAMES, RANK), basis);
    assert_ok(larmor_basis_factors(s.basis, frame, READOUTS, SAMPLES, dev, dtype, &s.factors));
    assert_int_equal(larmor_array_dtype(s.factors) == dtype, is_complex);
    free(k);
    return s;
}

LMR_FREES(end_scan, scan, maps, traj, weights, basis, factors)

static larmor_op *op_of(const scan *s, int weighted, int toeplitz, int64_t block, double tol)
{
    const larmor_sense_opts opts = {.traj = s->traj,
                                    .weights = weighted ? s->weights : NULL,
                                    .toeplitz = toeplitz,
                                    .block = block,
                                    .nufft_tol = tol};
    larmor_op *A = MADE(larmor_op, larmor_op_subspace_sense(s->maps, s->factors, &opts, &made));
    assert_int_equal(larmor_subspace_uses_toeplitz(A), toeplitz > 0);
    return A;
}

/* x, random */
static larmor_array *random_array(larmor_dtype dtype, larmor_shape shape, uint64_t seed)
{
    HEAP cplx *values = random_values(larmor_shape_count(shape), seed);
    larmor_array *x = complex_array(dtype, shape, values);
    return x;
}

/* y(:, r, :) of each readout is that of SENSE of its frame, sum_k basis(frame, k) x_k. */
TEST(each_readout_measures_its_frame)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        OWNED(scan) s = scan_of(LARMOR_C128, LARMOR_SHAPE(8, 7), is_complex);
        const larmor_sense_opts opts = {.traj = s.traj, .weights = s.weights, .nufft_tol = 1e-10, .toeplitz = -1};
        OWNED(larmor_op) *A = op_of(&s, 1, -1, 0, 1e-10), *B, *one;
        OWNED(larmor_array) *x = random_array(LARMOR_C128, s.images, 5);
        OWNED(larmor_array) *frames = zeros(LARMOR_C128, larmor_shape_append(s.image, FRAMES));
        OWNED(larmor_array) *y = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
        assert_ok(larmor_op_subspace(dev, LARMOR_C128, s.image, s.basis, &B));
        assert_ok(larmor_op_sense(s.maps, &opts, &one));
        assert_ok(larmor_op_forward(B, x, frames));
        assert_ok(larmor_op_forward(A, x, y));
        cplx *got = values_of(y), expected[M * COILS];
        for (int t = 0; t < FRAMES; t++) {
            OWN(larmor_array, *image, larmor_array_part(frames, t, 1, s.image, &image));
            assert_ok(larmor_op_forward(one, image, y));
            HEAP cplx *values = values_of(y);
            for (int c = 0; c < COILS; c++)
                for (int r = 0; r < READOUTS; r++)
                    for (int i = 0; i < SAMPLES && frame[r] == t; i++)
                        expected[(c * READOUTS + r) * SAMPLES + i] = values[(c * READOUTS + r) * SAMPLES + i];
        }
        assert_at_most(difference(got, expected, M * COILS), 1e-9);
        free(got);
    }
}

TEST(the_adjoint_is_exact_and_the_normal_map_is_that_after_the_forward_map)
{
    for (int c = 0; c < 32; c++) {
        const int in_double = c & 1, is_complex = c >> 1 & 1, weighted = c >> 2 & 1, solid = c >> 3 & 1;
        const int64_t block = c >> 4 & 1 ? 2 : 0;
        const larmor_dtype dtype = in_double ? LARMOR_C128 : LARMOR_C64;
        const double tol = in_double ? 1e-9 : 1e-5;
        OWNED(scan) s = scan_of(dtype, solid ? LARMOR_SHAPE(5, 6, 4) : LARMOR_SHAPE(9, 8), is_complex);
        OWNED(larmor_op) *A = op_of(&s, weighted, 1, block, tol);
        OWNED(larmor_array) *x = random_array(dtype, s.images, 6), *z = zeros(dtype, s.images),
                            *w = zeros(dtype, s.images);
        OWNED(larmor_array) *y = zeros(dtype, larmor_op_out_shape(A));
        assert_at_most(adjoint_error(A, 7), in_double ? 1e-13 : 2e-6);
        assert_ok(larmor_op_normal(A, x, z));
        assert_ok(larmor_op_forward(A, x, y));
        assert_ok(larmor_op_adjoint(A, y, w));
        if (!(apart(z, w) <= 3 * tol)) fail_msg("case %d: %.2e", c, apart(z, w));
    }
}

/* ---- off-resonance ---- */

typedef struct field {
    double hz[400], times[M];
    larmor_segments *segments;
} field;

/* -120 .. 280 Hz, and readouts of 8 ms some of which begin later. */
static field field_of(const scan *s, double error)
{
    field f;
    uint64_t seed = 8;
    const int64_t voxels = larmor_shape_count(s->image);
    for (int64_t i = 0; i < voxels; i++) f.hz[i] = (i % 3 ? -100 : 260) + 20 * test_random(&seed);
    for (int j = 0; j < M; j++) f.times[j] = 8e-3 * (j % SAMPLES) / SAMPLES + 1e-3 * (j / SAMPLES % 2);
    OWNED(larmor_array) *map = real_array(s->image, f.hz);
    OWNED(larmor_array) *when = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), f.times);
    const larmor_off_resonance_opts opts = {.error = error, .normal_error = error};
    assert_ok(larmor_segments_create(map, when, &opts, &f.segments));
    return f;
}

/* y_c(j) = sum_k factors(j, k) sum_r s_c(r) x_k(r) exp(-2 pi i k_j r / N) exp(2 pi i f(r) t_j), the sums written
 * out. */
TEST(with_off_resonance_it_is_the_sum_with_the_phase_of_the_field)
{
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        OWNED(scan) s = scan_of(LARMOR_C128, LARMOR_SHAPE(8, 7), is_complex);
        field f = field_of(&s, 1e-5);
        const larmor_sense_opts opts = {.traj = s.traj, .nufft_tol = 1e-9, .off_resonance = f.segments};
        OWN(larmor_op, *A, larmor_op_subspace_sense(s.maps, s.factors, &opts, &A));
        OWNED(larmor_array) *x = random_array(LARMOR_C128, s.images, 5),
                            *y = zeros(LARMOR_C128, larmor_op_out_shape(A));
        HEAP cplx *maps = values_of(s.maps), *basis = values_of(s.basis), *k = values_of(s.traj), *in = values_of(x);
        cplx expected[M * COILS] = {0};
        const int voxels = (int)larmor_shape_count(s.image);
        for (int j = 0; j < M; j++) {
            const double point[2] = {creal(k[2 * j]), creal(k[2 * j + 1])};
            for (int i = 0; i < voxels; i++) {
                const cplx wave = cexp(2 * M_PI * I * (f.hz[i] * f.times[j] - cycles(point, s.image, i)));
                cplx value = 0;
                for (int l = 0; l < RANK; l++) value += basis[frame[j / SAMPLES] + FRAMES * l] * in[i + voxels * l];
                for (int c = 0; c < COILS; c++) expected[j + M * c] += maps[i + voxels * c] * value * wave;
            }
        }
        assert_ok(larmor_op_forward(A, x, y));
        assert_at_most(away(y, expected, M * COILS), 2e-5);
        larmor_segments_free(f.segments);
    }
}

TEST(with_off_resonance_the_normal_map_is_the_adjoint_after_the_forward_map)
{
    for (int c = 0; c < 32; c++) {
        const int in_double = c & 1, is_complex = c >> 1 & 1, weighted = c >> 2 & 1, solid = c >> 3 & 1;
        const larmor_dtype dtype = in_double ? LARMOR_C128 : LARMOR_C64;
        OWNED(scan) s = scan_of(dtype, solid ? LARMOR_SHAPE(5, 6, 4) : LARMOR_SHAPE(9, 8), is_complex);
        field f = field_of(&s, 1e-4);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = weighted ? s.weights : NULL,
                                        .toeplitz = 1,
                                        .block = c >> 4 & 1 ? 2 : 0,
                                        .nufft_tol = 1e-5,
                                        .off_resonance = f.segments};
        OWN(larmor_op, *A, larmor_op_subspace_sense(s.maps, s.factors, &opts, &A));
        assert_true(larmor_subspace_uses_toeplitz(A));
        assert_at_most(adjoint_error(A, 7), in_double ? 1e-13 : 4e-6);
        if (!(normal_apart(A) <= 5e-4)) fail_msg("case %d: %.2e", c, normal_apart(A));
        larmor_segments_free(f.segments);
    }
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(scan) s = scan_of(LARMOR_C64, LARMOR_SHAPE(8, 7), 0);
    const larmor_sense_opts opts = {.traj = s.traj};
    OWNED(larmor_array) *other = zeros(LARMOR_F32, LARMOR_SHAPE(SAMPLES, READOUTS + 1, RANK));
    larmor_array *many = zeros(LARMOR_F32, LARMOR_SHAPE(SAMPLES, READOUTS, 33)), *factors;
    assert_none_made(larmor_op, larmor_op_subspace_sense(s.maps, other, &opts, &made), LARMOR_ERR_SHAPE, "factors");
    assert_none_made(larmor_op, larmor_op_subspace_sense(s.maps, many, &opts, &made), LARMOR_ERR_ARG,
                     "33 coefficients");
    assert_none_made(larmor_op, larmor_op_subspace_sense(s.maps, NULL, &opts, &made), LARMOR_ERR_ARG, "are needed");
    const int wrong[2] = {0, FRAMES};
    assert_refused(larmor_basis_factors(s.basis, wrong, 2, 1, dev, LARMOR_C64, &factors), LARMOR_ERR_ARG,
                   "readout 1 is of frame 4, the basis has 4");
    larmor_array_free(many);
}

/* ---- bases of curves ---- */

/* [frames, curves] sums of two functions of time and a weak third one. */
static larmor_array *curves_of(int frames, int curves, int is_complex)
{
    HEAP cplx *values = malloc(sizeof *values * (size_t)(frames * curves));
    assert_non_null(values);
    for (int c = 0; c < curves; c++)
        for (int t = 0; t < frames; t++) {
            const double u = t / (double)frames;
            values[t + frames * c] = (1 + c) * exp(-u) + cos(c) * sin(6 * u) + 1e-3 * sin(c) * cos(12 * u);
            if (is_complex) values[t + frames * c] *= cexp(I * u * c);
        }
    larmor_array *x = complex_array(LARMOR_C128, LARMOR_SHAPE(frames, curves), values);
    return x;
}

TEST(a_basis_is_orthonormal_and_holds_the_energy_that_it_says)
{
    static const int sizes[][2] = {{40, 7}, {9, 60}, {12, 12}};
    for (int i = 0; i < 3; i++)
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            const int frames = sizes[i][0], count = sizes[i][1], rank = 2;
            OWNED(larmor_array) *curves = curves_of(frames, count, is_complex), *basis;
            double kept, all = 0, held = 0;
            assert_ok(larmor_basis_of_curves(curves, rank, 0, &basis, &kept));
            assert_int_equal(larmor_array_dtype(basis), is_complex ? LARMOR_C128 : LARMOR_F64);
            HEAP cplx *d = values_of(curves), *b = values_of(basis);
            for (int k = 0; k < rank; k++)
                for (int l = 0; l < rank; l++) {
                    cplx sum = 0;
                    for (int t = 0; t < frames; t++) sum += conj(b[t + frames * k]) * b[t + frames * l];
                    assert_at_most(cabs(sum - (k == l)), 1e-8);
                }
            for (int c = 0; c < count; c++) {
                for (int t = 0; t < frames; t++) all += pow(cabs(d[t + frames * c]), 2);
                for (int k = 0; k < rank; k++) {
                    cplx sum = 0;
                    for (int t = 0; t < frames; t++) sum += conj(b[t + frames * k]) * d[t + frames * c];
                    held += pow(cabs(sum), 2);
                }
            }
            assert_at_most(fabs(held / all - kept), 1e-9);
        }
}

TEST(the_rank_is_the_least_that_holds_the_energy)
{
    larmor_array *curves = curves_of(30, 20, 0), *basis;
    const struct {
        double energy;
        int64_t rank;
    } cases[] = {{0, 2}, {.99, 1}, {1 - 1e-9, 3}};
    for (int i = 0; i < 3; i++) {
        double kept;
        assert_ok(larmor_basis_of_curves(curves, 0, cases[i].energy, &basis, &kept));
        assert_int_equal(larmor_array_shape(basis).dim[1], cases[i].rank);
        assert_true(kept >= cases[i].energy);
        larmor_array_free(basis);
    }
    assert_refused(larmor_basis_of_curves(curves, 21, 0, &basis, NULL), LARMOR_ERR_ARG, "expected 1 to 20");
    assert_refused(larmor_basis_of_curves(curves, 0, 1.5, &basis, NULL), LARMOR_ERR_ARG, "a part of 1");
    assert_ok(larmor_zero(curves));
    assert_refused(larmor_basis_of_curves(curves, 1, 0, &basis, NULL), LARMOR_ERR_NUMERIC, "all zero");
    larmor_array_free(curves);
}
