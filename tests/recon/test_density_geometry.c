/* recon/density/voronoi.c, density_spiral.c and density_auto.c: weights from geometry, and the choice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static const larmor_shape image = {2, {32, 32}};

typedef larmor_status (*density)(const larmor_array *traj, larmor_shape image, larmor_array **w);

/* The weights of points [2, n, readouts], to be freed. */
static double *weights_of(density make, const double *k, int64_t n, int64_t readouts)
{
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, n, readouts), k), *w;
    NEW(double, values, n *readouts);
    assert_ok(make(traj, image, &w));
    assert_true(larmor_shape_equal(larmor_array_shape(w), LARMOR_SHAPE(n, readouts)));
    assert_ok(larmor_array_read(w, values, larmor_array_bytes(w)));
    return values;
}

static double sum_of(const double *w, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += w[i];
    return sum;
}

static double worst_difference(const double *a, const double *b, int64_t count)
{
    double worst = 0;
    for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    return worst;
}

/* Arms from the centre to radius 16, rotated copies: [2, n, arms] */
static double *spiral_points(int64_t n, int64_t arms, double growth)
{
    NEW(double, k, 2 * n * arms);
    for (int64_t j = 0; j < n * arms; j++) {
        const double t = (double)(j % n) / (double)(n - 1), radius = 16 * pow(t, growth);
        const double angle = 2 * M_PI * (radius + (double)(j / n)) / (double)arms;
        k[2 * j] = radius * cos(angle);
        k[2 * j + 1] = radius * sin(angle);
    }
    return k;
}

/* ---- Voronoi ---- */

TEST(cells_of_a_lattice_have_its_area_at_the_rim_as_well)
{
    enum { NX = 24, NY = 17 };
    const double dx = 0.7, dy = 1.3, turn = 0.3;
    double k[2 * NX * NY];
    for (int j = 0; j < NX * NY; j++) {
        const double x = dx * (j % NX - NX / 2), y = dy * (j / NX - 3); /* partial Fourier along y */
        k[2 * j] = cos(turn) * x - sin(turn) * y;
        k[2 * j + 1] = sin(turn) * x + cos(turn) * y;
    }
    HEAP double *w = weights_of(larmor_density_voronoi, k, NX, NY);
    for (int j = 0; j < NX * NY; j++) assert_at_most(fabs(w[j] - dx * dy), 1e-6);
}

/* Samples where a spoke has a neighbour on both sides have the ramp's cells, but straight where those are round. */
TEST(cells_of_spokes_agree_with_the_ramp)
{
    enum { SPOKES = 60, N = 65 };
    HEAP double *k = malloc(2 * SPOKES * N * sizeof *k);
    for (int j = 0; j < SPOKES * N; j++) {
        const double t = 0.5 * (j % N - N / 2), angle = M_PI * (j / N) / SPOKES;
        k[2 * j] = t * cos(angle);
        k[2 * j + 1] = t * sin(angle);
    }
    HEAP double *w = weights_of(larmor_density_voronoi, k, N, SPOKES),
                *ramp = weights_of(larmor_density_ramp, k, N, SPOKES);
    for (int j = 0; j < SPOKES * N; j++) assert_at_most(fabs(w[j] / ramp[j] - 1), 0.01);
    /* the rim is a polygon about a circle of 16.25 */
    const double circle = M_PI * 16.25 * 16.25, polygon = 2 * SPOKES * 16.25 * 16.25 * tan(M_PI / (2 * SPOKES));
    assert_at_most(fabs(sum_of(w, SPOKES * N) / polygon - 1), 1e-6);
    assert_at_most(fabs(sum_of(ramp, SPOKES * N) / circle - 1), 1e-6);
}

TEST(cells_of_golden_spokes_fill_the_disc)
{
    enum { N = 64 };
    for (int spokes = 5; spokes <= 89; spokes += 21) {
        HEAP double *k = radial_points(32, N, spokes);
        for (int j = 0; j < spokes * N; j++) {
            const double t = 0.5 * (j % N - N / 2), angle = M_PI / 1.618033988749895 * (j / N);
            k[2 * j] = t * cos(angle);
            k[2 * j + 1] = t * sin(angle);
        }
        HEAP double *w = weights_of(larmor_density_voronoi, k, N, spokes);
        for (int j = 0; j < spokes * N; j++) assert_true(w[j] >= 0);
        /* one end of a spoke is at 16, the other at 15.5; few spokes make corners beyond the circle */
        const double sum = sum_of(w, spokes * N) / (M_PI * 16 * 16);
        assert_at_most(fabs(sum - 1), spokes < 20 ? 0.15 : 0.04);
    }
}

TEST(samples_that_coincide_share_their_cell)
{
    enum { M = 300 };
    double *once = random_points(image, M, 7), thrice[6 * M];
    for (int copy = 0; copy < 3; copy++) memcpy(thrice + copy * 2 * M, once, 2 * M * sizeof *once);
    HEAP double *w = weights_of(larmor_density_voronoi, once, M, 1),
                *third = weights_of(larmor_density_voronoi, thrice, M, 3);
    for (int i = 0; i < 3 * M; i++) assert_at_most(fabs(3 * third[i] - w[i % M]), 1e-9);
    free(once);
}

/* The share of a fine lattice of places that is nearest to each sample, for samples whose cells are within the
 * lattice. */
TEST(cells_are_what_is_nearest)
{
    enum { M = 60, FINE = 700 };
    double *k = random_points(image, M, 11), counted[M] = {0};
    HEAP double *w = weights_of(larmor_density_voronoi, k, M, 1);
    unsigned char open[M] = {0};
    const double step = 48. / FINE;
    for (int i = 0; i < FINE * FINE; i++) {
        const double x = step * (i % FINE - FINE / 2), y = step * (i / FINE - FINE / 2);
        int nearest = 0;
        for (int j = 1; j < M; j++)
            if (hypot(k[2 * j] - x, k[2 * j + 1] - y) < hypot(k[2 * nearest] - x, k[2 * nearest + 1] - y))
                nearest = j;
        counted[nearest] += step * step;
        if (fmax(fabs(x), fabs(y)) > 14) open[nearest] = 1; /* perhaps of the rim */
    }
    int closed = 0;
    for (int j = 0; j < M; j++) {
        if (open[j]) continue;
        closed++;
        assert_at_most(fabs(w[j] - counted[j]), 0.03 * counted[j] + 0.05);
    }
    assert_true(closed > 20);
    free(k);
}

TEST(partitions_have_the_cells_of_their_plane_times_their_length)
{
    enum { M = 80, PLANES = 3 };
    const double z[PLANES] = {-2, 0, 1}, length[PLANES] = {2, 1.5, 1};
    double *plane = random_points(image, M, 3), k[3 * M * PLANES];
    for (int j = 0; j < M * PLANES; j++) {
        k[3 * j] = plane[2 * (j % M)];
        k[3 * j + 1] = plane[2 * (j % M) + 1];
        k[3 * j + 2] = z[j / M];
    }
    HEAP double *flat = weights_of(larmor_density_voronoi, plane, M, 1);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(3, M, PLANES), k), *w;
    assert_ok(larmor_density_voronoi(traj, LARMOR_SHAPE(32, 32, 4), &w));
    HEAP cplx *values = values_of(w);
    for (int j = 0; j < M * PLANES; j++)
        assert_at_most(fabs(creal(values[j]) - length[j / M] * flat[j % M]), 1e-9 + 1e-9 * flat[j % M]);
    free(plane);
}

TEST(samples_without_a_plane_are_refused)
{
    double line[2 * 50], same[2 * 50] = {0}, *scattered = random_points(LARMOR_SHAPE(8, 8, 8), 100, 5);
    for (int i = 0; i < 50; i++) {
        line[2 * i] = i - 25;
        line[2 * i + 1] = 0.3 * i;
    }
    larmor_array *w, *traj = real_array(LARMOR_SHAPE(2, 50, 1), line),
                     *one = real_array(LARMOR_SHAPE(2, 50, 1), same);
    OWNED(larmor_array) *cloud = real_array(LARMOR_SHAPE(3, 100, 1), scattered);
    assert_refused(larmor_density_voronoi(traj, image, &w), LARMOR_ERR_ARG, "all 50 points are on one line");
    assert_refused(larmor_density_voronoi(one, image, &w), LARMOR_ERR_ARG, "1 different points, expected 3");
    assert_refused(larmor_density_voronoi(cloud, LARMOR_SHAPE(8, 8, 8), &w), LARMOR_ERR_ARG,
                   "use larmor_density_pipe");
    assert_null(w);
    LMR_FREE(one, traj, scattered);
}

/* ---- spirals ---- */

TEST(rings_of_a_spiral_sum_to_the_disc)
{
    const double growth[] = {0.6, 1, 2};
    for (int g = 0; g < 3; g++)
        for (int arms = 1; arms <= 9; arms += 4) {
            enum { N = 500 };
            HEAP double *k = spiral_points(N, arms, growth[g]), *w = weights_of(larmor_density_spiral, k, N, arms);
            const double last = 16 + (16 - hypot(k[2 * (N - 2)], k[2 * (N - 2) + 1])) / 2;
            assert_at_most(fabs(sum_of(w, N * arms) / (M_PI * last * last) - 1), 1e-9);
        }
}

TEST(a_spiral_weighs_alike_inwards_and_outwards)
{
    enum { N = 300, ARMS = 4 };
    double *k = spiral_points(N, ARMS, 1), in[2 * N * ARMS], both[4 * N * ARMS];
    for (int j = 0; j < N * ARMS; j++)
        for (int d = 0; d < 2; d++) in[2 * j + d] = k[2 * (j / N * N + N - 1 - j % N) + d];
    for (int j = 0; j < 2 * N * ARMS; j++) {
        const int arm = j / (2 * N), i = j % (2 * N);
        memcpy(both + 2 * j, (i < N ? in : k) + 2 * (arm * N + i % N), 2 * sizeof *both);
    }
    HEAP double *w = weights_of(larmor_density_spiral, k, N, ARMS),
                *v = weights_of(larmor_density_spiral, in, N, ARMS);
    HEAP double *u = weights_of(larmor_density_spiral, both, 2 * N, ARMS);
    for (int j = 0; j < N * ARMS; j++) assert_at_most(fabs(v[j / N * N + N - 1 - j % N] - w[j]), 1e-9);
    assert_at_most(fabs(sum_of(u, 2 * N * ARMS) - sum_of(w, N * ARMS)), 1e-6); /* twice as many arms share the disc */
    for (int i = 1; i < N; i++) assert_at_most(fabs(2 * u[N + i] - w[i]), 1e-9);
    free(k);
}

/* Where turns are 1/FOV apart and samples near each other, a cell is what is nearest. */
TEST(rings_of_a_spiral_agree_with_its_cells)
{
    enum { N = 1500, ARMS = 4 };
    HEAP double *k = spiral_points(N, ARMS, 0.5), *rings = weights_of(larmor_density_spiral, k, N, ARMS);
    HEAP double *cells = weights_of(larmor_density_voronoi, k, N, ARMS);
    for (int j = 0; j < N * ARMS; j++) {
        const double radius = hypot(k[2 * j], k[2 * j + 1]);
        if (radius > 4 && radius < 15) assert_at_most(fabs(cells[j] / rings[j] - 1), 0.05);
    }
    assert_at_most(fabs(sum_of(cells, N * ARMS) / sum_of(rings, N * ARMS) - 1), 0.05);
}

TEST(readouts_that_are_no_arms_are_refused)
{
    enum { N = 40 };
    double circle[2 * N], flower[2 * N], point[2 * N] = {0};
    for (int i = 0; i < N; i++) {
        circle[2 * i] = 10 * cos(0.1 * i);
        circle[2 * i + 1] = 10 * sin(0.1 * i);
        flower[2 * i] = 10 * sin(0.6 * i);
        flower[2 * i + 1] = 0;
    }
    const double *const k[] = {circle, flower, point};
    const char *const why[] = {"keeps away from the centre", "turns back", "has no extent"};
    for (int i = 0; i < 3; i++) {
        larmor_array *traj = real_array(LARMOR_SHAPE(2, N, 1), k[i]), *w;
        assert_refused(larmor_density_spiral(traj, image, &w), LARMOR_ERR_ARG, why[i]);
        assert_null(w);
        larmor_array_free(traj);
    }
}

/* ---- the choice ---- */

static const char *taken_for(const double *k, int64_t n, int64_t readouts, density same)
{
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, n, readouts), k), *w, *v;
    const char *taken;
    assert_ok(larmor_density_auto(traj, image, &taken, &w));
    assert_ok(same(traj, image, &v));
    HEAP cplx *a = values_of(w), *b = values_of(v);
    assert_at_most(difference(a, b, n * readouts), 1e-6); /* atomics of a GPU add in any order */
    return taken;
}

static larmor_status pipe_by_default(const larmor_array *traj, larmor_shape shape, larmor_array **w)
{
    return larmor_density_pipe(traj, shape, 0, w);
}

/* Of 25 spokes, half as many as Nyquist asks for, the ramp gave the better images of three phantoms; of the other two
 * Pipe-Menon did (docs/records/density.md). */
TEST(the_choice_follows_the_point_spread_function)
{
    enum { N = 64 };
    HEAP double *even = radial_points(32, N, 25), *all = radial_points(32, N, 52), *oval = radial_points(32, N, 52);
    for (int j = 0; j < 52 * N; j++) oval[2 * j + 1] *= 0.6; /* a wider field of view along x */
    HEAP double *arms = spiral_points(600, 8, 0.7);
    assert_string_equal(taken_for(even, N, 25, larmor_density_ramp), "ramp");
    assert_string_equal(taken_for(oval, N, 52, pipe_by_default), "pipe");
    assert_string_equal(taken_for(all, N, 52, pipe_by_default), "pipe");
    assert_string_equal(taken_for(arms, 600, 8, pipe_by_default), "pipe");
}

TEST(weights_have_the_precision_of_the_trajectory)
{
    HEAP double *k = radial_points(32, 64, 12);
    OWNED(larmor_array) *in_single = zeros(LARMOR_F32, LARMOR_SHAPE(2, 64, 12));
    float singles[2 * 64 * 12];
    for (int i = 0; i < 2 * 64 * 12; i++) singles[i] = (float)k[i];
    assert_ok(larmor_array_write(in_single, singles, sizeof singles));
    const density each[] = {larmor_density_voronoi, larmor_density_spiral};
    for (int i = 0; i < 2; i++) {
        HEAP double *w = weights_of(each[i], k, 64, 12), *v;
        OWN(larmor_array, *single, each[i](in_single, image, &single));
        assert_int_equal(larmor_array_dtype(single), LARMOR_F32);
        assert_ok(larmor_array_download(single, LARMOR_F64, &v));
        assert_at_most(worst_difference(v, w, 64 * 12), 1e-4);
    }
}
