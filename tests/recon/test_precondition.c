/* recon/precond, against dense matrices. SPDX-License-Identifier: Apache-2.0 */
#include "recon/precond/circulant.h"
#include "tests/recon/support.h"

enum { COILS = 3, SAMPLES = 40 };

/* A small SENSE problem, dense: a [samples coils, voxels]. */
typedef struct sense {
    larmor_shape image;
    int64_t voxels;
    double *k, *w;
    cplx *s, *a;
    larmor_array *traj, *weights, *maps;
} sense;

/* M for the normal equations with lambda. */
static larmor_status precondition_circulant(larmor_array *maps, const larmor_array *traj, const larmor_array *weights,
                                            larmor_shape image, larmor_dtype dtype, double lambda, larmor_op **M)
{
    OWNED(larmor_circulant) *C;
    *M = NULL;
    larmor_status st = larmor_circulant_create(maps, traj, weights, image, dtype, &C);
    if (!st) st = larmor_circulant_inverse(C, lambda, NULL, 0, M);
    return st;
}

static sense make(larmor_shape image, int coils, int weighted)
{
    sense p = {.image = image, .voxels = larmor_shape_count(image)};
    p.k = random_points(image, SAMPLES, 3);
    p.w = malloc(SAMPLES * sizeof *p.w);
    p.s = random_values(p.voxels * COILS, 4);
    if (!coils)
        for (int64_t i = 0; i < p.voxels; i++) p.s[i] = 1;
    for (int j = 0; j < SAMPLES; j++) p.w[j] = weighted ? 0.1 + j % 5 : 1;
    if (p.voxels > 64) /* maps are smooth, as those of coils */
        for (int64_t i = 0; i < p.voxels * COILS; i++) {
            const double angle = (double)(i % p.voxels) / (double)p.voxels, c = (double)(i / p.voxels);
            p.s[i] = (1 + 0.5 * cos(3 * angle + c)) * cexp(I * (2 * angle + c));
        }
    const int channels = coils ? coils : 1;
    p.a = malloc((size_t)(SAMPLES * channels * p.voxels) * sizeof *p.a);
    for (int64_t i = 0; i < p.voxels; i++)
        for (int c = 0; c < channels; c++)
            for (int j = 0; j < SAMPLES; j++)
                p.a[j + SAMPLES * (c + channels * i)] = sqrt(p.w[j]) * p.s[i + c * p.voxels] *
                                                        cexp(-2 * M_PI * I * cycles(p.k + j * image.ndim, image, i));
    p.traj = real_array(LARMOR_SHAPE(image.ndim, SAMPLES), p.k);
    p.weights = weighted ? real_array(LARMOR_SHAPE(SAMPLES), p.w) : NULL;
    p.maps = coils ? complex_array(LARMOR_C128, larmor_shape_append(image, coils), p.s) : NULL;
    return p;
}

LMR_FREES(end_sense, sense, traj, weights, maps, k, w, s, a)

/* exp(2 pi i m . x / N) of frequency number m at voxel x */
static cplx wave(larmor_shape image, int64_t m, int64_t x)
{
    double sum = 0;
    for (int d = 0; d < image.ndim; d++) {
        sum += (double)(m % image.dim[d]) * (double)(x % image.dim[d]) / (double)image.dim[d];
        m /= image.dim[d];
        x /= image.dim[d];
    }
    return cexp(2 * M_PI * I * sum);
}

/* E: one over the root of the coils' energy and 2 % of the largest, 0 where that is 0; 1 without maps. */
static double *object_support(const sense *p)
{
    double *e = calloc((size_t)p->voxels, sizeof *e), most = 0;
    for (int64_t i = 0; i < p->voxels; i++) {
        for (int c = 0; c < COILS && p->maps; c++) e[i] += pow(cabs(p->s[i + c * p->voxels]), 2);
        most = fmax(most, e[i]);
    }
    for (int64_t i = 0; i < p->voxels; i++) {
        const double all = p->maps ? e[i] + 0.02 * most : 1;
        e[i] = p->maps && e[i] == 0 ? 0 : 1 / sqrt(all);
    }
    return e;
}

static double mean_of(const double *d, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += d[i];
    return n > 0 ? sum / (double)n : 0;
}

/* The mean of E^2 over the voxels of the support, and how many they are. */
static double mean_square(const double *e, int64_t n, int64_t *in_support)
{
    double sum = 0;
    *in_support = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += e[i] * e[i];
        *in_support += e[i] > 0;
    }
    return sum / (double)*in_support;
}

/* The eigenvalues of the circulant nearest to E A^H A E over the voxels of the support: f^H E A^H A E f over their
 * number, f the waves. */
static double *nearest(const sense *p, int channels, const double *e)
{
    double *d = calloc((size_t)p->voxels, sizeof *d);
    int64_t in_support;
    mean_square(e, p->voxels, &in_support);
    for (int64_t m = 0; m < p->voxels; m++)
        for (int r = 0; r < SAMPLES * channels; r++) {
            cplx sum = 0;
            for (int64_t i = 0; i < p->voxels; i++)
                sum += p->a[r + SAMPLES * channels * i] * e[i] * wave(p->image, m, i);
            d[m] += pow(cabs(sum), 2) / (double)in_support;
        }
    return d;
}

/* M of E^-1 times wave m is E times that wave over this factor: the worst deviation of its numbers. */
static double wave_error(larmor_op *M, const sense *p, const double *e, int64_t m, double factor)
{
    const size_t bytes = (size_t)p->voxels * sizeof(cplx);
    HEAP cplx *in = malloc(bytes), *expected = malloc(bytes);
    for (int64_t i = 0; i < p->voxels; i++) {
        in[i] = e[i] > 0 ? wave(p->image, m, i) / e[i] : 1;
        expected[i] = e[i] * wave(p->image, m, i) / factor;
    }
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, p->image, in), *y = zeros(LARMOR_C128, p->image);
    assert_ok(larmor_op_forward(M, x, y));
    return away(y, expected, p->voxels);
}

TEST(the_circulant_is_the_nearest_one_to_what_coils_see)
{
    const larmor_shape image[] = {{1, {9}}, {2, {6, 5}}, {3, {3, 4, 3}}};
    for (int c = 0; c < 12; c++) {
        const int coils = c % 2 ? COILS : 0;
        const int weighted = c / 6;
        OWNED(sense) p = make(image[c / 2 % 3], coils, weighted);
        int64_t in_support;
        HEAP double *e = object_support(&p);
        HEAP double *d = nearest(&p, coils ? coils : 1, e);
        const double mean = mean_of(d, p.voxels), lambda = 0.2 * mean, square = mean_square(e, p.voxels, &in_support);
        OWN(larmor_op, *M, precondition_circulant(p.maps, p.traj, p.weights, p.image, LARMOR_C128, lambda, &M));
        for (int64_t m = 0; m < p.voxels; m += 3) /* waves times E are what it is known by */
            assert_at_most(wave_error(M, &p, e, m, d[m] + square * lambda + 0.1 * mean), 1e-3);
    }
}

TEST(smooth_maps_on_a_coarse_grid_are_enough)
{
    OWNED(sense) p = make((larmor_shape){1, {150}}, COILS, 0);
    HEAP double *e = object_support(&p), *d = nearest(&p, COILS, e);
    const double mean = mean_of(d, p.voxels);
    OWN(larmor_op, *M, precondition_circulant(p.maps, p.traj, NULL, p.image, LARMOR_C128, 0, &M));
    for (int64_t m = 0; m < p.voxels; m++) assert_at_most(wave_error(M, &p, e, m, d[m] + 0.1 * mean), 0.05);
}

TEST(the_preconditioner_is_self_adjoint_and_positive)
{
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, COILS, 1);
    OWN(larmor_op, *M, precondition_circulant(p.maps, p.traj, p.weights, p.image, LARMOR_C128, 0, &M));
    assert_at_most(adjoint_error(M, 1), 1e-12);
    for (uint64_t seed = 1; seed < 9; seed++) {
        HEAP cplx *values = random_values(p.voxels, seed);
        OWNED(larmor_array) *x = complex_array(LARMOR_C128, p.image, values), *y = zeros(LARMOR_C128, p.image);
        double product[2];
        assert_ok(larmor_op_forward(M, x, y));
        assert_ok(larmor_dot(x, y, product));
        assert_true(product[0] > 0);
        assert_at_most(fabs(product[1]), 1e-6 * product[0]);
    }
}

/* Periodic differences along the first axis: a circulant itself. */
static larmor_status around_forward(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    const int64_t n = larmor_array_shape(x).dim[0], count = larmor_array_count(x);
    HEAP cplx *in = values_of(x), *out = malloc((size_t)count * sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = in[i / n * n + (i + 1) % n] - in[i];
    return larmor_array_write(y, out, larmor_array_bytes(y));
}

static larmor_status around_adjoint(void *self LMR_UNUSED, const larmor_array *y, larmor_array *x)
{
    const int64_t n = larmor_array_shape(x).dim[0], count = larmor_array_count(x);
    HEAP cplx *in = values_of(y), *out = malloc((size_t)count * sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = in[i / n * n + (i + n - 1) % n] - in[i];
    return larmor_array_write(x, out, larmor_array_bytes(x));
}

TEST(a_penalty_adds_the_symbol_of_its_operator)
{
    static const larmor_op_impl impl = {"around", around_forward, around_adjoint, NULL, NULL};
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, COILS, 0);
    int64_t in_support;
    HEAP double *e = object_support(&p), *d = nearest(&p, COILS, e);
    const double mean = mean_of(d, p.voxels), penalty = 3 * mean, square = mean_square(e, p.voxels, &in_support);
    larmor_op *M;
    OWN(larmor_op, *K, larmor_op_create(dev, &impl, NULL, LARMOR_C128, p.image, p.image, &K));
    OWN(larmor_circulant, *C, larmor_circulant_create(p.maps, p.traj, NULL, p.image, LARMOR_C128, &C));
    for (int with = 0; with < 2; with++) {
        assert_ok(larmor_circulant_inverse(C, 0, with ? K : NULL, penalty, &M));
        for (int64_t m = 0; m < p.voxels; m += 7) {
            const double symbol = with ? pow(2 * sin(M_PI * (double)(m % 6) / 6), 2) : 1;
            assert_at_most(wave_error(M, &p, e, m, d[m] + square * penalty * symbol + 0.1 * mean), 1e-3);
        }
        larmor_op_free(M);
    }
}

/* [x, v] to [D x - v, D^H v], D the differences above; and its adjoint [D^H a, D b - a]. */
static larmor_status beside(const larmor_array *x, int adjoint, larmor_array *y)
{
    const larmor_shape both = larmor_array_shape(x);
    const larmor_shape one = {.ndim = 2, .dim = {both.dim[0], both.dim[1]}};
    OWN(larmor_array, *first, larmor_array_part(x, 0, 1, one, &first));
    OWN(larmor_array, *second, larmor_array_part(x, 1, 1, one, &second));
    OWN(larmor_array, *to_first, larmor_array_part(y, 0, 1, one, &to_first));
    OWN(larmor_array, *to_second, larmor_array_part(y, 1, 1, one, &to_second));
    assert_ok((adjoint ? around_adjoint : around_forward)(NULL, first, to_first));
    assert_ok((adjoint ? around_forward : around_adjoint)(NULL, second, to_second));
    return adjoint ? larmor_axpby(-1, first, 1, to_second) : larmor_axpby(-1, second, 1, to_first);
}

static larmor_status beside_forward(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return beside(x, 0, y);
}

static larmor_status beside_adjoint(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return beside(x, 1, y);
}

/* At frequency m of the first axis K^H K is [|g|^2, -g'; -g, 1 + |g|^2], g = exp(2 pi i m / 6) - 1 and g' its
 * conjugate, by which a wave in x and another one in v go to their sums. */
TEST(an_image_beside_a_field_is_inverted_at_each_frequency)
{
    static const larmor_op_impl impl = {"beside", beside_forward, beside_adjoint, NULL, NULL};
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, 0, 0);
    const larmor_shape both = {.ndim = 3, .dim = {6, 5, 2}};
    HEAP double *e = object_support(&p), *d = nearest(&p, 1, e);
    const double mean = mean_of(d, p.voxels), penalty = 3 * mean;
    OWN(larmor_circulant, *C, larmor_circulant_create(NULL, p.traj, NULL, p.image, LARMOR_C128, &C));
    OWN(larmor_op, *K, larmor_op_create(dev, &impl, NULL, LARMOR_C128, both, both, &K));
    lmr_block *block = MADE(lmr_block, lmr_block_create(C, K, &made));
    OWN(larmor_op, *M, lmr_block_inverse(C, block, 0, penalty, &M));
    lmr_block_free(block);
    for (int64_t m = 0; m < p.voxels; m += 7) {
        const cplx g = cexp(2 * M_PI * I * (double)(m % 6) / 6) - 1, x = 1 - 2 * I, v = 0.5 + I;
        const double square = pow(cabs(g), 2);
        HEAP NEW(cplx, in, 2 * p.voxels);
        HEAP NEW(cplx, expected, 2 * p.voxels);
        for (int64_t i = 0; i < p.voxels; i++) {
            const cplx w = wave(p.image, m, i);
            expected[i] = x * w;
            expected[i + p.voxels] = v * w;
            in[i] = ((d[m] + 0.1 * mean + penalty * square) * x - penalty * conj(g) * v) * w;
            in[i + p.voxels] = penalty * (-g * x + (1 + square) * v) * w;
        }
        OWNED(larmor_array) *from = complex_array(LARMOR_C128, both, in), *to = zeros(LARMOR_C128, both);
        assert_ok(larmor_op_forward(M, from, to));
        assert_at_most(away(to, expected, 2 * p.voxels), 1e-3);
    }
}

/* Points of another frame. */
static larmor_array *other_points(const sense *p)
{
    HEAP double *k = random_points(p->image, SAMPLES, 17);
    return real_array(LARMOR_SHAPE(p->image.ndim, SAMPLES), k);
}

/* How far the inverse of a series is from that of one of its frames, or of what stands for it, in that frame. */
static double frame_error(larmor_op *of_series, larmor_op *of_frame, larmor_shape image, int frame)
{
    const int64_t voxels = larmor_shape_count(image);
    const larmor_shape series = larmor_shape_append(image, 2), one = larmor_shape_append(image, 1);
    HEAP cplx *values = random_values(2 * voxels, 5);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, series, values), *y = zeros(LARMOR_C128, series);
    OWNED(larmor_array) *own = complex_array(LARMOR_C128, one, values + frame * voxels);
    OWNED(larmor_array) *image_of = zeros(LARMOR_C128, one);
    assert_ok(larmor_op_forward(of_series, x, y));
    assert_ok(larmor_op_forward(of_frame, own, image_of));
    HEAP cplx *all = values_of(y), *expected = values_of(image_of);
    return difference(all + frame * voxels, expected, voxels);
}

TEST(with_a_penalty_each_frame_has_its_own_circulant_and_without_one_their_mean)
{
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, COILS, 0);
    OWNED(larmor_array) *other = other_points(&p);
    larmor_array *traj[2] = {p.traj, other};
    larmor_circulant *series, *own[2];
    larmor_op *one;
    assert_ok(larmor_circulant_create_frames(p.maps, traj, NULL, 2, p.image, LARMOR_C128, &series));
    for (int i = 0; i < 2; i++)
        assert_ok(larmor_circulant_create(p.maps, traj[i], NULL, p.image, LARMOR_C128, &own[i]));
    OWN(larmor_op, *M, larmor_circulant_inverse_frames(series, .3, 2, 2, &M));
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_circulant_inverse_frames(own[i], .3, 2, 1, &one));
        assert_at_most(frame_error(M, one, p.image, i), 1e-6);
        assert_true(frame_error(M, one, p.image, !i) > 1e-2);
        larmor_op_free(one);
    }
    for (int i = 0; i < 2; i++) larmor_circulant_free(own[i]);
    larmor_circulant_free(series);
}

TEST(the_circulant_of_a_series_stands_for_the_mean_of_its_frames)
{
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, COILS, 0);
    OWNED(larmor_array) *other = other_points(&p);
    HEAP double *k = malloc(sizeof *k * 4 * SAMPLES), *half = malloc(sizeof *half * 2 * SAMPLES);
    HEAP double *rest = random_points(p.image, SAMPLES, 17);
    larmor_array *traj[2] = {p.traj, other};
    for (int j = 0; j < 4 * SAMPLES; j++) k[j] = j < 2 * SAMPLES ? p.k[j] : rest[j - 2 * SAMPLES];
    for (int j = 0; j < 2 * SAMPLES; j++) half[j] = .5;
    OWNED(larmor_array) *both = real_array(LARMOR_SHAPE(2, 2 * SAMPLES), k);
    OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(2 * SAMPLES), half);
    larmor_circulant *series =
        MADE(larmor_circulant, larmor_circulant_create_frames(p.maps, traj, NULL, 2, p.image, LARMOR_C128, &made));
    OWN(larmor_circulant, *joined, larmor_circulant_create(p.maps, both, weights, p.image, LARMOR_C128, &joined));
    OWN(larmor_op, *M, larmor_circulant_inverse_frames(series, .3, 0, 2, &M));
    OWN(larmor_op, *one, larmor_circulant_inverse_frames(joined, .3, 0, 1, &one));
    for (int i = 0; i < 2; i++) assert_at_most(frame_error(M, one, p.image, i), 1e-6);
    larmor_circulant_free(series);
    assert_refused(larmor_circulant_create_frames(p.maps, traj, NULL, 0, p.image, LARMOR_C128, &series),
                   LARMOR_ERR_ARG, "circulant: 0 frames, expected at least 1 with a trajectory each");
}

/* |P (G + lambda) - I|^2 in row r, G = A A^H */
static double row_error(const sense *p, int rows, int r, double lambda, double weight)
{
    double sum = 0;
    for (int q = 0; q < rows; q++) {
        cplx g = q == r ? lambda : 0;
        for (int64_t i = 0; i < p->voxels; i++) g += p->a[r + rows * i] * conj(p->a[q + rows * i]);
        sum += pow(cabs(weight * g - (q == r)), 2);
    }
    return sum;
}

TEST(the_weights_in_kspace_minimise_the_frobenius_norm)
{
    const larmor_shape image[] = {{1, {9}}, {2, {6, 5}}, {3, {3, 4, 3}}};
    for (int c = 0; c < 12; c++) {
        const int coils = c % 2 ? COILS : 0;
        const int rows = SAMPLES * (coils ? coils : 1);
        const double lambda = c / 6 ? 5 : 0;
        OWNED(sense) p = make(image[c / 2 % 3], coils, 0);
        OWN(larmor_array, *weights,
            larmor_precondition_kspace(p.maps, p.traj, p.image, LARMOR_C128, lambda, &weights));
        const larmor_shape expected = coils ? LARMOR_SHAPE(SAMPLES, COILS) : LARMOR_SHAPE(SAMPLES);
        assert_true(larmor_shape_equal(larmor_array_shape(weights), expected));
        HEAP cplx *got = values_of(weights);
        for (int r = 0; r < rows; r += 7) {
            /* a parabola: its lowest point is found from three values */
            const double e0 = row_error(&p, rows, r, lambda, 0), e1 = row_error(&p, rows, r, lambda, 1),
                         e2 = row_error(&p, rows, r, lambda, 2);
            const double bend = (e2 - 2 * e1 + e0) / 2, slope = e1 - e0 - bend;
            assert_at_most(fabs(creal(got[r]) / (-slope / (2 * bend)) - 1), 1e-3);
        }
    }
}

/* 64 x 64 voxels, 3 coils, radial: what the preconditioners are for. */
typedef struct scan {
    larmor_array *traj, *maps, *truth, *kspace;
    larmor_op *A;
    double largest;
} scan;

static scan radial_scan(larmor_dtype dtype)
{
    enum { N = 64, SPOKES = 40 };
    scan s;
    const larmor_shape image = {2, {N, N}};
    HEAP double *k = radial_points(N, 2 * N, SPOKES);
    s.traj = real_array(LARMOR_SHAPE(2, 2 * N, SPOKES), k);
    HEAP cplx *x = calloc(N * N, sizeof *x), *maps = malloc(N * N * COILS * sizeof *maps);
    for (int i = 0; i < N * N; i++) {
        const double u = position(image, i, 0), v = position(image, i, 1);
        x[i] = (hypot(u, v) < 0.4) + (hypot(u - 0.1, v) < 0.1);
        for (int c = 0; c < COILS; c++) {
            const double angle = 2 * M_PI * c / COILS;
            maps[i + c * N * N] =
                exp(-2 * (pow(u - cos(angle) / 2, 2) + pow(v - sin(angle) / 2, 2))) * cexp(I * (u + c));
        }
    }
    s.maps = complex_array(dtype, LARMOR_SHAPE(N, N, COILS), maps);
    s.truth = complex_array(dtype, image, x);
    assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj}, &s.A));
    s.kspace = zeros(dtype, larmor_op_out_shape(s.A));
    assert_ok(larmor_op_forward(s.A, s.truth, s.kspace));
    assert_ok(larmor_opnorm(s.A, 20, &s.largest));
    return s;
}

LMR_FREES(end_scan, scan, traj, maps, truth, kspace, A)

TEST(preconditioned_conjugate_gradients_need_a_third_fewer_iterations)
{
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int t = 0; t < 2; t++) {
        OWNED(scan) s = radial_scan(dtype[t]);
        const larmor_shape image = larmor_op_in_shape(s.A);
        larmor_array *x[2] = {zeros(dtype[t], image), zeros(dtype[t], image)};
        larmor_op *M;
        larmor_report plain, fast;
        larmor_solve_opts opts = {.max_iter = 200, .tol = 1e-4, .lambda = 1e-3 * s.largest};
        assert_ok(precondition_circulant(s.maps, s.traj, NULL, image, dtype[t], opts.lambda, &M));
        assert_ok(larmor_cg(s.A, s.kspace, x[0], &opts, &plain));
        opts.precondition = M;
        assert_ok(larmor_cg(s.A, s.kspace, x[1], &opts, &fast));
        assert_true(3 * fast.iters <= 2 * plain.iters);
        assert_at_most(fabs(fast.objective / plain.objective - 1), 1e-2);
        HEAP cplx *a = values_of(x[0]), *b = values_of(x[1]);
        assert_at_most(difference(b, a, larmor_shape_count(image)), 0.02);
        LMR_FREE(M, x[0], x[1]);
    }
}

TEST(weights_in_kspace_bring_lsmr_closer_to_the_truth_in_as_many_iterations)
{
    OWNED(scan) s = radial_scan(LARMOR_C64);
    const larmor_shape image = larmor_op_in_shape(s.A);
    double error[2];
    HEAP cplx *truth = values_of(s.truth);
    OWN(larmor_array, *p, larmor_precondition_kspace(s.maps, s.traj, image, LARMOR_C64, 0, &p));
    for (int with = 0; with < 2; with++) {
        OWNED(larmor_array) *x = zeros(LARMOR_C64, image);
        const larmor_solve_opts opts = {.max_iter = 6, .tol = -1, .weights = with ? p : NULL};
        assert_ok(larmor_lsmr(s.A, s.kspace, x, &opts, NULL));
        error[with] = away(x, truth, larmor_shape_count(image));
    }
    assert_at_most(error[1], 0.6 * error[0]);
}

TEST(a_circulant_saves_steps_of_admm)
{
    OWNED(scan) s = radial_scan(LARMOR_C64);
    const larmor_shape image = larmor_op_in_shape(s.A);
    OWNED(larmor_array) *x = zeros(LARMOR_C64, image);
    larmor_report plain, fast;
    larmor_solve_opts opts = {.max_iter = 12, .tol = -1, .inner = 1, .largest = s.largest};
    OWN(larmor_circulant, *C, larmor_circulant_create(s.maps, s.traj, NULL, image, LARMOR_C64, &C));
    OWN(larmor_op, *K, larmor_op_gradient(dev, LARMOR_C64, image, 3, NULL, &K));
    OWN(larmor_prox, *g, larmor_prox_group_l1(dev, 1e-5 * s.largest, LARMOR_C64, larmor_op_out_shape(K), &g));
    assert_ok(larmor_admm(s.A, s.kspace, K, g, x, &opts, &plain));
    assert_ok(larmor_zero(x));
    opts.circulant = C;
    assert_ok(larmor_admm(s.A, s.kspace, K, g, x, &opts, &fast));
    assert_true(fast.objective < plain.objective / 2);
}

static cplx *inverse_of_ones(larmor_circulant *C, const sense *p)
{
    OWN(larmor_op, *M, larmor_circulant_inverse(C, 0.1, NULL, 0, &M));
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C128, p->image, &x));
    OWN(larmor_array, *y, larmor_array_create(dev, LARMOR_C128, p->image, &y));
    assert_ok(larmor_fill(x, 1));
    assert_ok(larmor_op_forward(M, x, y));
    cplx *values = values_of(y);
    return values;
}

/* Used for several maps, and for one coil. */
TEST(a_circulant_is_that_of_its_point_spread_function)
{
    OWNED(sense) p = make((larmor_shape){2, {16, 15}}, COILS, 1), q = make((larmor_shape){2, {16, 15}}, COILS, 1);
    for (int64_t i = 0; i < q.voxels * COILS; i++) q.s[i] *= i % 7 ? I : 0.5;
    OWNED(larmor_array) *more = complex_array(LARMOR_C128, larmor_shape_append(q.image, COILS), q.s);
    larmor_array *const maps[] = {p.maps, more, NULL, p.maps};
    OWN(larmor_array, *spread, larmor_circulant_spread(p.traj, p.weights, p.image, LARMOR_C128, &spread));
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        OWN(larmor_circulant, *C, larmor_circulant_of_spread(maps[i], spread, &C));
        OWN(larmor_circulant, *own, larmor_circulant_create(maps[i], p.traj, p.weights, p.image, LARMOR_C128, &own));
        HEAP cplx *got = inverse_of_ones(C, &p), *expected = inverse_of_ones(own, &p);
        if (!strncmp(larmor_device_spec(dev), "cpu", 3))
            assert_memory_equal(got, expected, sizeof *got * (size_t)p.voxels);
        assert_at_most(difference(got, expected, p.voxels), 1e-12);
    }
    larmor_circulant *C;
    assert_refused(larmor_circulant_of_spread(p.maps, p.maps, &C), LARMOR_ERR_SHAPE,
                   "circulant: the point spread function is c128 [16, 15, 3] on");
    assert_refused(larmor_circulant_of_spread(spread, spread, &C), LARMOR_ERR_SHAPE,
                   "circulant: maps is c128 [32, 30]");
}

/* All points of the grid as often as eigenvalues need: A^H A is V times the identity. */
TEST(the_noise_of_an_image_is_that_of_its_solution)
{
    enum { NX = 6, NY = 5, V = NX * NY };
    const double lambda = 7;
    double k[2 * V];
    for (int i = 0; i < V; i++) {
        k[2 * i] = i % NX - NX / 2;
        k[2 * i + 1] = i / NX - NY / 2;
    }
    const larmor_shape image = {2, {NX, NY}}, series = {3, {NX, NY, 3}};
    OWNED(larmor_array) *traj = real_array((larmor_shape){3, {2, V, 1}}, k);
    HEAP cplx *noise = random_values(3 * V, 4);
    OWNED(larmor_array) *one = complex_array(LARMOR_C128, image, noise),
                        *three = complex_array(LARMOR_C128, series, noise);
    double norm, size;
    OWN(larmor_circulant, *C, larmor_circulant_create(NULL, traj, NULL, image, LARMOR_C128, &C));
    assert_ok(larmor_circulant_noise(C, lambda, one, &norm));
    assert_ok(larmor_nrm2(one, &size));
    assert_at_most(fabs(norm * (1.01 * V + lambda) / size - 1), 1e-3);
    assert_ok(larmor_circulant_noise(C, lambda, three, &norm));
    assert_ok(larmor_nrm2(three, &size));
    assert_at_most(fabs(norm * (1.01 * V + lambda) / size - 1), 1e-3);
    assert_refused(larmor_circulant_noise(C, -1, one, &norm), LARMOR_ERR_ARG, "circulant: lambda is -1");
    assert_refused(larmor_circulant_noise(NULL, 0, one, &norm), LARMOR_ERR_ARG, "circulant noise: a circulant and");
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(sense) p = make((larmor_shape){2, {6, 5}}, COILS, 1);
    larmor_array *w;
    const larmor_shape other = {2, {5, 6}}, line = {1, {6}};
    assert_none_made(larmor_op, precondition_circulant(p.maps, p.traj, NULL, other, LARMOR_C128, 0, &made),
                     LARMOR_ERR_SHAPE, "circulant: maps is c128 [6, 5, 3]");
    assert_none_made(larmor_op, precondition_circulant(p.maps, p.traj, NULL, line, LARMOR_C128, 0, &made),
                     LARMOR_ERR_SHAPE, "circulant: trajectory is");
    assert_none_made(larmor_op, precondition_circulant(p.maps, p.traj, NULL, p.image, LARMOR_C128, -1, &made),
                     LARMOR_ERR_ARG, "circulant: lambda is -1");
    assert_refused(larmor_precondition_kspace(p.maps, p.traj, p.image, LARMOR_C64, 0, &w), LARMOR_ERR_SHAPE,
                   "k-space preconditioner: maps is c128");
    assert_refused(larmor_precondition_kspace(NULL, p.traj, p.image, LARMOR_F64, 0, &w), LARMOR_ERR_ARG,
                   "k-space preconditioner: dtype is f64");
    p.w[4] = -1;
    OWNED(larmor_array) *negative = real_array(LARMOR_SHAPE(SAMPLES), p.w);
    assert_none_made(larmor_op, precondition_circulant(p.maps, p.traj, negative, p.image, LARMOR_C128, 0, &made),
                     LARMOR_ERR_ARG, "circulant: weight 4 is -1");
}
