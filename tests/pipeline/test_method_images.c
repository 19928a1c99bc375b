/* Images of the default method where readouts are no golden-angle spokes of a plane, beside the object's: volumes,
 * spirals, Poisson discs. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

enum { POISSON_EDGE = 12 };

typedef struct scene {
    const char *trajectory, *phantom;
    larmor_traj_opts traj;
    double spread; /* Poisson disc in phase encoding: least distance at the edge of k-space, in lines; 0: none */
    int coils;
    double noise;
    double bound; /* of the error, which cg is above */
} scene;

/* Of all lines those that are apart by a distance that grows from 1 in the centre to `spread` at the
 * edge. */
static larmor_array *poisson_disc(const larmor_array *lines, double spread)
{
    const larmor_shape all = larmor_array_shape(lines);
    const int ndim = (int)all.dim[0];
    const int64_t line = ndim * all.dim[1];
    HEAP double *k = (double *)host_of(lines);
    int64_t *order = malloc((size_t)all.dim[2] * sizeof *order), taken = 0;
    uint64_t state = 1;
    assert_non_null(order);
    for (int64_t i = 0; i < all.dim[2]; i++) order[i] = i;
    for (int64_t i = all.dim[2] - 1; i > 0; i--) {
        const int64_t j = (int64_t)((test_random(&state) + 1) / 2 * (double)i), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    HEAP NEW(double, chosen, line *all.dim[2]);
    for (int64_t i = 0; i < all.dim[2]; i++) {
        const double *at = k + line * order[i];
        const double z = ndim > 2 ? at[2] : 0;
        const double distance = 1 + (spread - 1) * hypot(at[1], z) / POISSON_EDGE;
        int64_t near = 0;
        for (; near < taken; near++) {
            const double *other = chosen + line * near;
            if (hypot(at[1] - other[1], ndim > 2 ? z - other[2] : 0) < distance) break;
        }
        if (near == taken) memcpy(chosen + line * taken++, at, (size_t)line * sizeof *at);
    }
    larmor_array *some =
        MADE(larmor_array,
             larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ndim, all.dim[1], taken), LARMOR_F64, chosen, &made));
    free(order);
    return some;
}

static scan scan_in(const scene *of)
{
    larmor_traj_opts opts = of->traj;
    const int ndim = opts.matrix[2] > 1 ? 3 : 2;
    const larmor_shape shape = larmor_shape_of(ndim, opts.matrix);
    scan s = {.arrays = {.images = 1, .trajectory = strcmp(of->trajectory, "cartesian") ? "other" : "cartesian"}};
    for (int d = 0; d < 3; d++) s.arrays.matrix[d] = opts.matrix[d];
    assert_ok(larmor_phantom_create(of->phantom, ndim, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, shape, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, of->coils, &s.maps));
    assert_ok(larmor_traj_create(dev, of->trajectory, &opts, &s.image[0].traj));
    if (of->spread > 0) {
        larmor_array *some = poisson_disc(s.image[0].traj, of->spread);
        larmor_array_free(s.image[0].traj);
        s.image[0].traj = some;
    }
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, of->coils, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, of->noise, 1));
    return s;
}

static void compare(const scene *of)
{
    scan s = scan_in(of);
    larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    const double chosen = error_of(&s, &opts);
    opts.method = "cg";
    const double cg = error_of(&s, &opts);
    print_message("%s: error %.3f, bound %.3f, cg %.3f\n", of->trajectory, chosen, of->bound, cg);
    end_scan(&s);
    assert_at_most(chosen, of->bound);
    assert_true(cg > of->bound);
}

TEST(a_kooshball_is_nearer_to_the_object_than_cg_is)
{
    compare(&(scene){"koosh", "shepp-logan", {.matrix = {24, 24, 24}, .undersampling = 4}, 0, 2, 1e-4, 0.24});
}

TEST(a_stack_of_stars_is_nearer_to_the_object_than_cg_is)
{
    if (!of_all(0, 1)) skip();
    compare(&(scene){"stars", "shepp-logan", {.matrix = {32, 32, 24}, .undersampling = 3}, 0, 2, 1e-4, 0.24});
}

TEST(a_spiral_is_nearer_to_the_object_than_cg_is)
{
    compare(&(scene){"spiral", "shepp-logan", {.matrix = {64, 64}, .undersampling = 3}, 0, 4, 3e-4, 0.16});
}

/* Fewer than 200 numbers are held out, real and imaginary parts of all coils. */
/* By tgv, whose field no sample sees, the iterations once ended far from the solution. */
TEST(a_spiral_by_tgv_ends_near_the_solution)
{
    const scene of = {"spiral", "shepp-logan", {.matrix = {64, 64}, .undersampling = 1.3}, 0, 1, 1e-4, 0};
    OWNED(scan) s = scan_in(&of);
    larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1}, .method = "tgv",
                                   .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3);
    OWNED(larmor_recon_result) usual = result_of(&s, &opts);
    opts.iters = 600;
    opts.tol = 1e-9;
    OWNED(larmor_recon_result) solution = result_of(&s, &opts);
    const double error = difference(usual.image[0].data, s.truth),
                 least = difference(solution.image[0].data, s.truth);
    const double over = usual.report.solver.objective / solution.report.solver.objective;
    print_message("tgv: error %.4f, of the solution %.4f; objective %.4f of its\n", error, least, over);
    assert_at_most(over, 1.03);
    assert_at_most(error, 1.15 * least);
}

/* 0 beyond the ellipse, or ellipsoid, that the field of view holds. */
static void mask_maps(const scene *of, const scan *s)
{
    HEAP float *maps = host_of(s->maps);
    const int64_t *n = of->traj.matrix;
    const int64_t nz = n[2] > 1 ? n[2] : 1;
    for (int64_t i = 0; i < n[0] * n[1] * nz * of->coils; i++) {
        const double x = 2. * (double)(i % n[0]) / (double)n[0] - 1,
                     y = 2. * (double)(i / n[0] % n[1]) / (double)n[1] - 1;
        const double z = nz > 1 ? 2. * (double)(i / n[0] / n[1] % nz) / (double)nz - 1 : 0;
        if (x * x + y * y + z * z >= 1) maps[2 * i] = maps[2 * i + 1] = 0;
    }
    assert_ok(larmor_array_write(s->maps, maps, larmor_array_bytes(s->maps)));
}

/* As other programs mask them. */
TEST(maps_of_zeros_outside_of_the_object_leave_the_image_as_it_is)
{
    const scene scenes[] = {{"golden", "shepp-logan", {.matrix = {64, 64}, .undersampling = 2}, 0, 6, 2e-4, 0},
                            {"koosh", "shepp-logan", {.matrix = {20, 20, 20}, .undersampling = 2}, 0, 4, 1e-4, 0}};
    for (int i = 0; i < 4; i++) {
        OWNED(scan) s = scan_in(&scenes[i / 2]);
        const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1}, .method = i % 2 ? "wavelet" : NULL);
        const double whole = error_of(&s, &opts);
        mask_maps(&scenes[i / 2], &s);
        const double cut = error_of(&s, &opts);
        print_message("%s: error %.4f, by masked maps %.4f\n", scenes[i / 2].trajectory, whole, cut);
        assert_at_most(cut, 1.15 * whole);
    }
}

TEST(images_of_few_samples_are_nearer_to_the_object_than_by_cg_too)
{
    compare(&(scene){"spiral", "texture", {.matrix = {24, 24}, .readouts = 3, .samples = 80}, 0, 2, 1e-4, 0.1});
    compare(&(scene){"golden", "shepp-logan", {.matrix = {24, 24}, .readouts = 9}, 0, 1, 1e-4, 0.3});
    compare(&(scene){"koosh", "shepp-logan", {.matrix = {12, 12, 12}, .readouts = 20}, 0, 2, 1e-4, 0.32});
}

TEST(lines_of_a_poisson_disc_are_nearer_to_the_object_than_cg_is)
{
    if (!of_all(0, 1)) skip();
    compare(&(scene){"cartesian", "shepp-logan", {.matrix = {24, 24, 24}}, 2.2, 3, 7e-5, 0.32});
}

TEST(a_poisson_disc_of_one_coil_is_nearer_to_the_object_than_cg_is)
{
    const scene of = {"cartesian", "shepp-logan", {.matrix = {24, 24, 24}}, 1.4, 1, 7e-5, 0.45};
    compare(&of);
    OWNED(scan) s = scan_in(&of);
    const larmor_recon_opts opts = KNOWN(.oversample = {1});
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    assert_string_equal(result.report.method.name, "tv");
    assert_int_equal(result.report.method.from, LARMOR_METHOD_FROM_ONE_COIL);
    assert_int_equal(result.report.lambda_from, LARMOR_LAMBDA_OF_ONE_COIL);
}

TEST(lines_of_one_coil_in_a_plane_are_nearer_to_the_object_than_by_cg)
{
    const double noise[] = {0, 1e-4, 1e-3}, bound[] = {0.5, 0.5, 0.7};
    for (int i = of_all(2, 0); i < 3; i++)
        compare(&(scene){"cartesian", "shepp-logan", {.matrix = {64, 64}}, 1.4, 1, noise[i], bound[i]});
}

/* Partitions from the first one to two beyond the centre. */
static void leave_out_partitions(scan *s, int coils)
{
    enum { MOST = 2 };
    larmor_array *all = s->image[0].traj;
    const larmor_shape shape = larmor_array_shape(all);
    const int64_t line = 3 * shape.dim[1];
    HEAP double *k = NULL;
    int64_t taken = 0;
    assert_ok(larmor_array_download(all, LARMOR_F64, &k));
    for (int64_t r = 0; r < shape.dim[2]; r++)
        if (k[line * r + 2] <= MOST) memmove(k + line * taken++, k + line * r, (size_t)line * sizeof *k);
    assert_ok(
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, shape.dim[1], taken), LARMOR_F64, k, &s->image[0].traj));
    LMR_FREE(all, s->image[0].kspace);
    assert_ok(larmor_phantom_kspace(s->phantom, s->image[0].traj, coils, LARMOR_C64, &s->image[0].kspace));
}

/* SNR of about 100: the object that the outer samples have is no noise, by which tv would weigh. */
TEST(all_lines_of_one_coil_are_as_near_to_the_object_as_by_one_transform)
{
    static const char *const phantom[] = {"shepp-logan", "texture", "disc"};
    for (int i = 0; i < 3; i++) {
        const scene of = {.trajectory = "cartesian",
                          .phantom = phantom[i],
                          .traj = {.matrix = {48, 48}},
                          .coils = 1,
                          .noise = 6e-5};
        OWNED(scan) s = scan_in(&of);
        larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1}, .method = "cg");
        const double cg = error_of(&s, &opts);
        opts.method = "auto";
        const double chosen = error_of(&s, &opts);
        opts.method = "tv";
        const double tv = error_of(&s, &opts);
        print_message("%s: cg %.4f, chosen %.4f, tv %.4f\n", phantom[i], cg, chosen, tv);
        assert_at_most(chosen, 1.02 * cg);
        assert_at_most(tv, 1.05 * cg);
    }
}

TEST(what_is_filled_in_of_partial_stars_is_no_more_than_what_lies_opposite)
{
    enum { FEW = 4 };
    OWNED(scan) s = scan_in(&(scene){"stars", "shepp-logan", {.matrix = {16, 16, 12}, .readouts = 24}, 0, FEW, 0, 0});
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .oversample = {1});
    leave_out_partitions(&s, FEW);
    OWNED(larmor_recon_result) x = result_of(&s, &opts);
    assert_string_equal(x.report.method.name, "cg");
    assert_int_equal(x.report.method.from, LARMOR_METHOD_FROM_MODEL);
    assert_at_most(difference(x.image[0].data, s.truth), 0.16);
}
