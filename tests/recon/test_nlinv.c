/* recon/maps/nlinv.c and nlinv_model.c. SPDX-License-Identifier: Apache-2.0 */
#include "recon/maps/maps.h"
#include "tests/recon/support.h"

ENDS_ITSELF_BY(lmr_nlinv_free, lmr_nlinv)

enum { N = 24, COILS = 4, SPOKES = 40, SAMPLES = 2 * N, VOXELS = N * N };

static const larmor_nlinv_opts defaults = {
    .steps = 1, .smoothness = 0.0134, .order = 16, .sets = 1, .nufft_tol = 1e-6};

/* An object of two discs within the field of view, and coils of low spatial frequencies around it. */
typedef struct scene {
    larmor_array *traj, *kspace;
    cplx object[VOXELS], maps[VOXELS * COILS];
} scene;

static double distance(double x, double y, double to_x, double to_y)
{
    return hypot(x - to_x, y - to_y);
}

static void draw(scene *s)
{
    for (int i = 0; i < VOXELS; i++) {
        const double x = (i % N - N / 2) / (double)N, y = (i / N - N / 2) / (double)N;
        s->object[i] = (distance(x, y, 0, 0) < 0.36) + 0.8 * (distance(x, y, 0.1, -0.05) < 0.12);
        for (int c = 0; c < COILS; c++) {
            const double angle = 2 * M_PI * c / COILS, d = distance(x, y, 0.6 * cos(angle), 0.6 * sin(angle));
            s->maps[i + VOXELS * c] = exp(-2 * d * d) * cexp(I * (angle + 1.5 * x * sin(angle) - y * cos(angle)));
        }
    }
}

static scene scene_of(larmor_dtype dtype, int spokes)
{
    scene s;
    draw(&s);
    HEAP double *k = radial_points(N, SAMPLES, spokes);
    s.traj = real_array(LARMOR_SHAPE(2, SAMPLES, spokes), k);
    OWNED(larmor_array) *maps = complex_array(dtype, LARMOR_SHAPE(N, N, COILS), s.maps);
    OWNED(larmor_array) *x = complex_array(dtype, LARMOR_SHAPE(N, N), s.object);
    const larmor_sense_opts opts = {.traj = s.traj, .nufft_tol = 1e-6};
    s.kspace = zeros(dtype, LARMOR_SHAPE(SAMPLES, spokes, COILS));
    OWN(larmor_op, *A, larmor_op_sense(maps, &opts, &A));
    assert_ok(larmor_op_forward(A, x, s.kspace));
    return s;
}

LMR_FREES(end_scene, scene, traj, kspace)

/* How far the coil images x_m s_cm, summed over sets, are from those of the scene, where the object is. */
static double products_apart(const scene *s, const larmor_array *x, const larmor_array *maps, int sets)
{
    HEAP cplx *image = values_of(x), *map = values_of(maps), *got = calloc(VOXELS * COILS, sizeof *got),
              *expected = calloc(VOXELS * COILS, sizeof *expected);
    assert_true(got && expected);
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < VOXELS; i++) {
            expected[i + VOXELS * c] = s->object[i] * s->maps[i + VOXELS * c];
            for (int m = 0; m < sets; m++)
                got[i + VOXELS * c] += image[i + VOXELS * m] * map[i + VOXELS * (c + COILS * m)];
        }
    return difference(got, expected, VOXELS * COILS);
}

/* ---- the model ---- */

static lmr_nlinv model_of(const scene *s, larmor_dtype dtype, int sets)
{
    const larmor_problem problem = {
        .image = LARMOR_SHAPE(N, N), .samples = SAMPLES * SPOKES, .coils = COILS, .dtype = dtype};
    larmor_nlinv_opts opts = defaults;
    lmr_nlinv n;
    opts.sets = sets;
    assert_ok(lmr_nlinv_create(dev, &problem, &opts, s->traj, &n));
    return n;
}

static larmor_array *unknowns_of(const lmr_nlinv *n, uint64_t seed)
{
    const int64_t count = lmr_nlinv_unknowns(n);
    HEAP cplx *values = random_values(count, seed);
    larmor_array *x = complex_array(n->dtype, LARMOR_SHAPE(count), values);
    return x;
}

TEST(the_derivative_is_the_limit_of_differences)
{
    OWNED(scene) s = scene_of(LARMOR_C128, SPOKES);
    for (int sets = 1; sets <= 2; sets++) {
        OWNED(lmr_nlinv) n = model_of(&s, LARMOR_C128, sets);
        OWNED(larmor_array) *x = unknowns_of(&n, 1), *d = unknowns_of(&n, 2), *z = unknowns_of(&n, 3);
        const double h = 1e-5;
        assert_ok(lmr_nlinv_at(&n, x));
        HEAP cplx *here = values_of(n.sum);
        assert_ok(lmr_nlinv_normal(&n, d, z)); /* the derivative along d stays in sum */
        HEAP cplx *along = values_of(n.sum);
        assert_ok(larmor_axpby(h, d, 1, x));
        assert_ok(lmr_nlinv_at(&n, x));
        HEAP cplx *there = values_of(n.sum);
        for (int i = 0; i < VOXELS * COILS; i++) there[i] = (there[i] - here[i]) / h;
        assert_at_most(difference(there, along, VOXELS * COILS), 1e-4);
    }
}

TEST(the_adjoint_belongs_to_the_derivative)
{
    OWNED(scene) s = scene_of(LARMOR_C128, SPOKES);
    for (int sets = 1; sets <= 2; sets++) {
        OWNED(lmr_nlinv) n = model_of(&s, LARMOR_C128, sets);
        OWNED(larmor_array) *x = unknowns_of(&n, 1), *d = unknowns_of(&n, 2), *z = unknowns_of(&n, 3);
        OWNED(larmor_array) *y = drawn(LARMOR_C128, LARMOR_SHAPE(N, N, COILS), 4);
        double left[2], right[2];
        assert_ok(lmr_nlinv_at(&n, x));
        assert_ok(lmr_nlinv_normal(&n, d, z));
        assert_ok(larmor_dot(y, n.sum, left)); /* <y, D d> */
        assert_ok(lmr_nlinv_adjoint(&n, y, z));
        assert_ok(larmor_dot(z, d, right));
        assert_at_most(hypot(left[0] - right[0], left[1] - right[1]), 1e-10 * hypot(left[0], left[1]));
    }
}

static double size_of_set(larmor_array *maps, int64_t set)
{
    double size;
    OWN(larmor_array, *one, larmor_array_part(maps, set, 1, LARMOR_SHAPE(N, N, COILS), &one));
    assert_ok(larmor_nrm2(one, &size));
    return size;
}

TEST(the_first_set_is_the_strongest_whatever_the_unknowns)
{
    OWNED(scene) s = scene_of(LARMOR_C128, SPOKES);
    OWNED(lmr_nlinv) n = model_of(&s, LARMOR_C128, 2);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        OWNED(larmor_array) *unknowns = unknowns_of(&n, seed), *x, *maps;
        assert_ok(lmr_nlinv_at(&n, unknowns));
        assert_ok(lmr_nlinv_result(&n, 1, &x, &maps));
        assert_true(size_of_set(maps, 0) > size_of_set(maps, 1));
    }
}

/* ---- inversion ---- */

TEST(image_and_maps_explain_undersampled_data)
{
    static const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int i = 0; i < 2; i++) {
        OWNED(scene) s = scene_of(dtype[i], SPOKES / 2); /* about half of what the Nyquist criterion asks for */
        OWNED(larmor_array) *x, *maps;
        larmor_nlinv_report report;
        assert_ok(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), NULL, &x, &maps, &report));
        assert_at_most(report.residual, 0.03);
        assert_at_most(products_apart(&s, x, maps, 1), 0.12);
        HEAP cplx *map = values_of(maps);
        for (int v = 0; v < VOXELS; v++) {
            double energy = 0;
            for (int c = 0; c < COILS; c++) energy += pow(cabs(map[v + VOXELS * c]), 2);
            assert_at_most(fabs(energy - 1), 1e-4);
        }
    }
}

TEST(maps_are_those_of_the_coils_where_the_object_is)
{
    OWNED(scene) s = scene_of(LARMOR_C64, SPOKES);
    OWN(larmor_array, *maps, larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), NULL, NULL, &maps, NULL));
    HEAP cplx *map = values_of(maps);
    double apart = 0, all = 0;
    for (int v = 0; v < VOXELS; v++) {
        cplx along = 0;
        double energy = 0;
        if (cabs(s.object[v]) == 0) continue;
        for (int c = 0; c < COILS; c++) {
            along += conj(map[v + VOXELS * c]) * s.maps[v + VOXELS * c];
            energy += pow(cabs(s.maps[v + VOXELS * c]), 2);
        }
        apart += energy - pow(cabs(along), 2); /* what the map does not explain */
        all += energy;
    }
    assert_at_most(sqrt(apart / all), 0.03);
}

/* Of maps of unit norm: sqrt(1 - mean |a^H b|^2) over the object. */
static double directions_apart(const scene *s, const cplx *a, const cplx *b)
{
    double apart = 0;
    int inside = 0;
    for (int v = 0; v < VOXELS; v++) {
        cplx along = 0;
        if (cabs(s->object[v]) == 0) continue;
        for (int c = 0; c < COILS; c++) along += conj(a[v + VOXELS * c]) * b[v + VOXELS * c];
        apart += 1 - pow(cabs(along), 2);
        inside++;
    }
    return sqrt(fmax(0, apart) / inside);
}

TEST(maps_of_less_resolution_are_nearly_those_of_all)
{
    OWNED(scene) s = scene_of(LARMOR_C64, SPOKES);
    const larmor_nlinv_opts low = {.side = 16};
    larmor_array *x, *few;
    OWN(larmor_array, *maps, larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), NULL, NULL, &maps, NULL));
    assert_ok(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &low, NULL, &few, NULL));
    HEAP cplx *a = values_of(maps), *b = values_of(few);
    assert_at_most(directions_apart(&s, a, b), 0.05);
    larmor_array_free(few);
    assert_refused(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &low, &x, &few, NULL), LARMOR_ERR_ARG,
                   "nlinv: side 16, expected at least as many as the image has");
}

TEST(the_unit_of_the_samples_does_not_matter)
{
    OWNED(scene) s = scene_of(LARMOR_C128, SPOKES); /* rounding grows from step to step */
    OWNED(larmor_array) *x, *maps, *other, *same;
    const larmor_nlinv_opts opts = {.steps = 8};
    assert_ok(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &opts, &x, &maps, NULL));
    assert_ok(larmor_axpby(1e6, s.kspace, 0, s.kspace));
    assert_ok(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &opts, &other, &same, NULL));
    assert_ok(larmor_axpby(1e6, x, 0, x));
    assert_at_most(apart(x, other), 1e-3);
}

/* What lies outside is folded into the field of view by Cartesian samples: the coils there are others. */
TEST(two_sets_explain_what_folds_and_one_does_not)
{
    OWNED(scene) s;
    draw(&s);
    double k[2 * VOXELS];
    for (int i = 0; i < VOXELS; i++) {
        k[2 * i] = i % N - N / 2;
        k[2 * i + 1] = i / N - N / 2;
    }
    HEAP NEW_ZEROS(cplx, folded, VOXELS * COILS);
    for (int c = 0; c < COILS; c++) /* a second object, through the maps of half a field of view away */
        for (int i = 0; i < VOXELS; i++) {
            const int far = (i + N * (N / 2)) % VOXELS;
            folded[i + VOXELS * c] =
                s.object[i] * s.maps[i + VOXELS * c] + 0.7 * s.object[far] * s.maps[far + VOXELS * c];
        }
    OWNED(larmor_array) *images = complex_array(LARMOR_C64, LARMOR_SHAPE(N, N, COILS), folded);
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {N, N}, .batch = COILS, .tol = 1e-5, .dtype = LARMOR_C64};
    s.traj = real_array(LARMOR_SHAPE(2, N, N), k);
    s.kspace = zeros(LARMOR_C64, LARMOR_SHAPE(N, N, COILS));
    OWN(larmor_op, *F, larmor_op_nufft(dev, &nufft, s.traj, &F));
    assert_ok(larmor_op_forward(F, images, s.kspace));
    double residual[2];
    for (int sets = 1; sets <= 2; sets++) {
        const larmor_nlinv_opts opts = {.sets = sets};
        larmor_nlinv_report report;
        OWNED(larmor_array) *x, *maps;
        assert_ok(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &opts, &x, &maps, &report));
        assert_int_equal(larmor_array_shape(maps).ndim, sets == 1 ? 3 : 4);
        assert_int_equal(larmor_array_shape(x).ndim, sets == 1 ? 2 : 3);
        residual[sets - 1] = report.residual;
    }
    print_message("residuals %.3g with one set, %.3g with two\n", residual[0], residual[1]);
    assert_at_most(residual[1], 0.5 * residual[0]);
}

static int stop_at_two(void *user, const larmor_progress *p)
{
    int *seen = user;
    *seen = p->iter;
    assert_int_equal(p->max_iter, 5);
    assert_true(p->residual >= 0);
    return p->iter == 2;
}

TEST(a_monitor_stops_it)
{
    OWNED(scene) s = scene_of(LARMOR_C64, SPOKES);
    int seen = 0;
    const larmor_nlinv_opts opts = {.steps = 5, .monitor = stop_at_two, .user = &seen};
    larmor_array *x, *maps;
    assert_int_equal(larmor_nlinv(s.kspace, s.traj, LARMOR_SHAPE(N, N), &opts, &x, &maps, NULL), LARMOR_STOPPED);
    assert_int_equal(seen, 2);
    assert_null(x);
    assert_null(maps);
}

TEST(what_makes_no_sense_is_refused)
{
    OWNED(scene) s = scene_of(LARMOR_C64, SPOKES);
    const larmor_shape image = LARMOR_SHAPE(N, N);
    larmor_array *maps, *few = zeros(LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, SPOKES - 1));
    OWNED(larmor_array) *weights = zeros(LARMOR_F64, LARMOR_SHAPE(SAMPLES, SPOKES));
    larmor_nlinv_opts opts = {.reduction = 0.5};
    assert_refused(larmor_nlinv(s.kspace, s.traj, image, &opts, NULL, &maps, NULL), LARMOR_ERR_ARG,
                   "nlinv: reduction is 0.5, expected 1 to");
    opts = (larmor_nlinv_opts){.sets = 99};
    assert_refused(larmor_nlinv(s.kspace, s.traj, image, &opts, NULL, &maps, NULL), LARMOR_ERR_ARG, "sets is 99");
    opts = (larmor_nlinv_opts){.weights = weights};
    assert_refused(larmor_nlinv(s.kspace, s.traj, image, &opts, NULL, &maps, NULL), LARMOR_ERR_NUMERIC,
                   "the weights' sum is 0");
    assert_refused(larmor_nlinv(s.kspace, few, image, NULL, NULL, &maps, NULL), LARMOR_ERR_SHAPE, "traj is f64");
    assert_refused(larmor_nlinv(s.kspace, NULL, image, NULL, NULL, &maps, NULL), LARMOR_ERR_SHAPE, "traj is missing");
    assert_refused(larmor_nlinv(s.traj, s.traj, image, NULL, NULL, &maps, NULL), LARMOR_ERR_SHAPE, "kspace is f64");
    assert_ok(larmor_zero(s.kspace));
    assert_refused(larmor_nlinv(s.kspace, s.traj, image, NULL, NULL, &maps, NULL), LARMOR_ERR_NUMERIC,
                   "the samples' energy is 0");
    assert_null(maps);
    larmor_array_free(few);
}
