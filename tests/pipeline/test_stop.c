/* Where conjugate gradients stop by default (pipeline/solve.c). SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

#define NOTHING_MORE 1e-9 /* a relative residual below what single precision reaches */
/* A GPU takes sums in any order, so that A^H A differs by this part of its largest eigenvalue, and images by that
 * over the relative lambda at most. With noise of 3e-7 of |A^H A p| in every product images differ by 1.4e-7 over
 * lambda. */
#define ANY_ORDER 3e-7

typedef struct scene {
    const char *traj;
    int ndim;
    int64_t n, readouts, samples;
    int coils;
    double snr;    /* 0: no noise */
    double lambda; /* relative; 0: from the data */
    int plain;     /* 1: without a preconditioner */
    int of_three;  /* 1: on a grid, every third line and the middle */
    int sets;      /* of maps, from the data; 0: the maps are given */
} scene;

static scan scan_of_scene(const scene *c)
{
    const larmor_shape shape = c->ndim == 2 ? LARMOR_SHAPE(c->n, c->n) : LARMOR_SHAPE(c->n, c->n, c->n);
    scan s = {.arrays = {.matrix = {c->n, c->n, c->ndim == 2 ? 0 : c->n}, .trajectory = "other", .images = 1}};
    larmor_readouts *r = &s.image[0];
    larmor_traj_opts opts = {
        .matrix = {c->n, c->n, c->ndim == 2 ? 0 : c->n}, .readouts = c->readouts, .samples = c->samples};
    double sigma;
    if (c->of_three) opts.acceleration[0] = 3;
    if (c->of_three) opts.calibration[0] = c->n / 4;
    if (c->of_three) s.arrays.trajectory = "cartesian";
    assert_ok(larmor_phantom_create("shepp-logan", c->ndim, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, shape, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, c->coils, &s.maps));
    assert_ok(larmor_traj_create(dev, c->traj, &opts, &r->traj));
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, c->coils, LARMOR_C64, &r->kspace));
    if (c->snr > 0) {
        assert_ok(larmor_phantom_noise_level(s.phantom, dev, shape, c->coils, c->snr, &sigma));
        assert_ok(larmor_phantom_noise(r->kspace, sigma, 1));
    }
    return s;
}

static larmor_recon_opts opts_of(const scene *c, const scan *s)
{
    return OPTS(.method = "cg", .maps = c->sets ? NULL : s->maps, .map_sets = c->sets, .oversample = {1},
                .delays = LARMOR_DELAYS_OFF, .compress = -1, .precondition = c->plain ? -1 : 0,
                .lambda_mode = c->lambda > 0 ? LARMOR_LAMBDA_RELATIVE : LARMOR_LAMBDA_AUTO, .lambda = c->lambda);
}

static const scene scenes[] = {
    {"golden", 2, 48, 60, 96, 4, 30, 0, 0, 0, 0},    {"golden", 2, 48, 24, 96, 8, 10, 0, 0, 0, 0},
    {"golden", 2, 48, 60, 96, 4, 30, 1e-5, 0, 0, 0}, {"golden", 2, 48, 60, 96, 1, 100, 0, 0, 0, 0},
    {"spiral", 2, 48, 12, 600, 4, 30, 0, 0, 0, 0},   {"golden", 2, 48, 60, 96, 4, 0, 0, 0, 0, 0},
    {"golden", 2, 48, 60, 96, 4, 0, 1e-3, 0, 0, 0},  {"koosh", 3, 16, 300, 32, 4, 30, 0, 0, 0, 0},
    {"golden", 2, 48, 60, 96, 4, 30, 1e-3, 1, 0, 0}, {"koosh", 3, 16, 300, 32, 4, 30, 1e-3, 1, 0, 0},
    {"golden", 2, 48, 30, 96, 8, 10, 1e-4, 1, 0, 0}, {"koosh", 3, 16, 100, 32, 8, 30, 1e-5, 1, 0, 0}, /* slow tails */
    {"spiral", 2, 48, 6, 600, 8, 5, 1e-2, 1, 0, 0},  {"cartesian", 2, 48, 0, 0, 8, 30, 3e-5, 1, 1, 0},
    {"radial", 2, 48, 38, 96, 1, 10, 0, 1, 0, 0},    {"koosh", 3, 16, 200, 32, 8, 30, 1e-3, 0, 0, 2},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* A tenth of the noise, or 3e-4 of the image, where there is none; and more where a GPU's sums matter more. */
static double bound_of(const larmor_recon_report *r)
{
    const double bound = fmax(0.1 * r->image_noise, 3e-4);
    return is_cpu() ? bound : fmax(bound, ANY_ORDER / r->lambda);
}

/* A tenth of the noise, or 3e-4 of the image, where there is none; and its error to the truth within 1 %. */
TEST(further_iterations_change_the_image_by_a_tenth_of_its_noise_at_most)
{
    for (int i = 0; i < SCENES; i++) {
        OWNED(scan) s = scan_of_scene(&scenes[i]);
        notes n = {.text = ""};
        larmor_recon_opts opts = opts_of(&scenes[i], &s);
        opts.listener = take_note;
        opts.user = &n;
        OWNED(larmor_recon_result) stopped = result_of(&s, &opts);
        const larmor_recon_report *r = &stopped.report;
        assert_int_equal(r->solver.end, LARMOR_END_TOLERANCE);
        assert_true(r->solver.left > 0 && r->solver.left <= fmax(0.05 * r->image_noise, 1.01e-4));
        assert_non_null(strstr(n.text, "L:image 1 of 1: stopped after "));

        opts = opts_of(&scenes[i], &s);
        opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
        opts.lambda = r->lambda;
        opts.tol = NOTHING_MORE;
        opts.iters = 1000;
        OWNED(larmor_recon_result) all = result_of(&s, &opts);
        assert_true(all.report.solver.iters > r->solver.iters);
        assert_at_most(difference(stopped.image[0].data, all.image[0].data), bound_of(r));
        if (!scenes[i].sets)
            assert_at_most(difference(stopped.image[0].data, s.truth), 1.01 * difference(all.image[0].data, s.truth));
    }
}

/* With the same weight given it begins at zeros. */
TEST(an_image_that_begins_where_its_weight_was_found_takes_fewer_steps_to_the_same)
{
    static const scene noisy[] = {{"golden", 2, 48, 60, 96, 4, 30, 0, 0, 0, 0},
                                  {"golden", 2, 48, 24, 96, 8, 10, 0, 0, 0, 0},
                                  {"spiral", 2, 48, 12, 600, 4, 30, 0, 0, 0, 0},
                                  {"koosh", 3, 16, 300, 32, 4, 30, 0, 0, 0, 0}};
    int begun = 0, from_zeros = 0;
    for (size_t i = 0; i < sizeof noisy / sizeof *noisy; i++) {
        OWNED(scan) s = scan_of_scene(&noisy[i]);
        larmor_recon_opts opts = opts_of(&noisy[i], &s);
        OWNED(larmor_recon_result) found = result_of(&s, &opts);
        opts.lambda_mode = LARMOR_LAMBDA_RELATIVE;
        opts.lambda = found.report.lambda;
        OWNED(larmor_recon_result) given = result_of(&s, &opts);
        assert_at_most(difference(found.image[0].data, given.image[0].data), 0.1 * given.report.image_noise);
        begun += found.report.solver.iters;
        from_zeros += given.report.solver.iters;
    }
    assert_true(begun < 0.8 * from_zeros);
}

/* The order of readouts is that of all sums over samples; a weight is given, as others would be held out. */
TEST(sums_in_another_order_change_the_image_by_a_tenth_of_its_noise_at_most)
{
    for (int i = 0; i < SCENES; i++) {
        scene c = scenes[i];
        c.lambda = c.lambda > 0 ? c.lambda : 1e-3;
        OWNED(scan) s = scan_of_scene(&c);
        const larmor_recon_opts opts = opts_of(&c, &s);
        OWNED(larmor_recon_result) one = result_of(&s, &opts);
        larmor_readouts *r = &s.image[0];
        HEAP float *samples = host_of(r->kspace), *mixed = host_of(r->kspace);
        HEAP double *points = (double *)host_of(r->traj), *moved = (double *)host_of(r->traj);
        const int64_t of_traj = c.ndim * c.samples, of_data = 2 * c.samples;
        for (int64_t j = 0; j < c.readouts; j++) { /* backwards */
            const int64_t to = c.readouts - 1 - j;
            memcpy(moved + to * of_traj, points + j * of_traj, (size_t)of_traj * sizeof *moved);
            for (int64_t k = 0; k < c.coils; k++)
                memcpy(mixed + (to + k * c.readouts) * of_data, samples + (j + k * c.readouts) * of_data,
                       (size_t)of_data * sizeof *mixed);
        }
        assert_ok(larmor_array_write(r->kspace, mixed, larmor_array_bytes(r->kspace)));
        assert_ok(larmor_array_write(r->traj, moved, larmor_array_bytes(r->traj)));
        OWNED(larmor_recon_result) other = result_of(&s, &opts);
        assert_at_most(difference(one.image[0].data, other.image[0].data), bound_of(&one.report));
    }
}

/* As many bits as there are, of maps, weight, delays and image; threads are others, too, where there are any. */
TEST(a_repeatable_image_has_the_same_bits_again)
{
    static const struct {
        scene of;
        const char *method;
        double compress;
    } cases[] = {
        {{"koosh", 3, 16, 300, 32, 4, 30, 0, 0, 0, 0}, "cg", 3},
        {{"golden", 2, 48, 30, 64, 4, 20, 0, 0, 0, 0}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(scan) s = scan_of_scene(&cases[i].of);
        const larmor_recon_opts opts =
            OPTS(.repeatable = 1, .method = cases[i].method, .compress = cases[i].compress);
        OWNED(larmor_recon_result) first = result_of(&s, &opts);
        HEAP float *expected = host_of(first.image[0].data);
        for (int run = 0; run < 3; run++) {
            OWNED(larmor_recon_result) again = result_of(&s, &opts);
            HEAP float *got = host_of(again.image[0].data);
            assert_memory_equal(got, expected, larmor_array_bytes(first.image[0].data));
            assert_true(again.report.lambda == first.report.lambda);
            assert_int_equal(again.report.solver.iters, first.report.solver.iters);
        }
    }
}

TEST(times_that_choose_a_grid_are_not_repeatable)
{
    const scene c = {"koosh", 3, 16, 300, 32, 4, 30, 0, 0, 0, 0};
    OWNED(scan) s = scan_of_scene(&c);
    larmor_recon *recon;
    const larmor_recon_opts timed = OPTS(.repeatable = 1, .effort = LARMOR_PLAN_MEASURE);
    assert_refused(try_recon(&s, &timed, &recon), LARMOR_ERR_ARG,
                   "opts.repeatable: is not for opts.effort; grids that are chosen by times");
}
