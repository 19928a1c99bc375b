/* Images do not depend on the unit of the samples, and zeros are no image. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

/* The ends of what single precision holds first; in between squares already leave its range. */
static const double factors[] = {3e33, 1e-34, 1e17, 1e-30};
enum { ENDS = 2, FACTORS = sizeof factors / sizeof *factors };

static void multiply(larmor_array *x, double factor)
{
    if (x) assert_ok(larmor_axpby(factor, x, 0, x));
}

/* The same scan in another unit. */
static scan scan_in(double factor, int images, int whitened, int calibrated)
{
    scan s = scan_of(COILS, images, 1e-3);
    if (whitened) {
        assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(512, COILS), &s.arrays.noise));
        assert_ok(larmor_zero(s.arrays.noise));
        assert_ok(larmor_phantom_noise(s.arrays.noise, 1e-3, 99));
    }
    for (int i = 0; i < images; i++) {
        if (calibrated) {
            s.image[i].calibration = larmor_array_ref(s.image[0].kspace);
            s.image[i].calibration_traj = larmor_array_ref(s.image[0].traj);
        }
    }
    multiply(s.arrays.noise, factor);
    for (int i = 0; i < images; i++) multiply(s.image[i].kspace, factor);
    return s;
}

/* |image / factor - expected| relative to |expected|, at a scale that single precision holds. */
static double off_by(const larmor_array *image, double factor, const larmor_array *expected)
{
    HEAP float *x = host_of(image), *y = host_of(expected);
    double difference = 0, size = 0;
    for (int64_t i = 0; i < 2 * larmor_array_count(image); i++) {
        const double d = x[i] / factor - y[i];
        difference += d * d;
        size += (double)y[i] * y[i];
    }
    return sqrt(difference / size);
}

/* The chosen weight is where a few misfits in single precision have their least. */
static void near(double got, double expected)
{
    assert_at_most(fabs(got - expected), 3e-3 * fabs(expected));
}

/* In the first so many of the units. */
static void same_in_units(int units, larmor_recon_opts opts, int images, int whitened, int calibrated)
{
    OWNED(scan) plain = scan_in(1, images, whitened, calibrated);
    opts.maps = opts.maps ? plain.maps : NULL;
    OWNED(larmor_recon_result) expected = result_of(&plain, &opts);
    for (int f = 0; f < units; f++) {
        scan s = scan_in(factors[f], images, whitened, calibrated);
        const double factor = factors[f];
        opts.maps = opts.maps ? s.maps : NULL;
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(result.count, images);
        const double a_step = 0.05 * expected.report.image_noise; /* rounding may move where cg stops */
        for (int i = 0; i < images; i++)
            assert_at_most(off_by(result.image[i].data, factor, expected.image[i].data), fmax(1e-4, a_step));
        near(result.report.lambda, expected.report.lambda);
        near(result.report.noise, expected.report.noise * (whitened ? 1 : factors[f]));
        end_scan(&s);
        opts.maps = opts.maps ? plain.maps : NULL;
    }
}

static larmor_array *given(void)
{
    static int any;
    return (larmor_array *)&any; /* stands for the scan's own */
}

TEST(gridding_does_not_depend_on_the_unit)
{
    const int one = of_all(1, ENDS);
    same_in_units(one, KNOWN(.method = "grid", .no_maps = 1), 1, 0, 0);
    same_in_units(FACTORS, KNOWN(.method = "grid"), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "grid", .maps = given()), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "grid", .no_maps = 1), 1, 1, 0);
}

TEST(conjugate_gradients_do_not_depend_on_the_unit)
{
    const int one = of_all(1, ENDS);
    same_in_units(FACTORS, KNOWN(.method = "cg"), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "cg"), 1, 0, 1);
    same_in_units(one, KNOWN(.method = "cg", .maps = given()), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "cg"), 1, 1, 1);
    same_in_units(one, KNOWN(.method = "cg", .maps = given()), 1, 1, 0);
    same_in_units(one, KNOWN(.method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-2), 1, 0, 0);
}

TEST(penalties_do_not_depend_on_the_unit)
{
    const int one = of_all(1, ENDS);
    same_in_units(of_all(ENDS, FACTORS), KNOWN(.method = "tv"), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "wavelet", .maps = given()), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "tv", .maps = given()), 1, 1, 0);
    same_in_units(one, KNOWN(.method = "tv", .lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 2), 1, 0, 0);
    same_in_units(one, KNOWN(.method = "llr"), 3, 0, 0);
}

/* With maps from the data and without any, by gridding and by a solver: with the noise readouts, when they are not
 * used, and without them the image has one unit, and so has the image of the maps that come out. */
TEST(whitening_does_not_change_the_unit_of_the_image)
{
    const larmor_recon_opts opts[] = {KNOWN(.method = "cg"), KNOWN(.method = "grid", .no_maps = 1),
                                      KNOWN(.method = "grid")};
    OWNED(scan) plain = scan_in(1, 1, 0, 0), noted = scan_in(1, 1, 1, 0);
    for (size_t i = 0; i < sizeof opts / sizeof *opts; i++) {
        larmor_recon_opts unused = opts[i];
        unused.no_whitening = 1;
        OWNED(larmor_recon_result) without = result_of(&plain, &opts[i]), whitened = result_of(&noted, &opts[i]),
                                   off = result_of(&noted, &unused);
        const double length = norm_of(without.image[0].data);
        assert_at_most(fabs(norm_of(whitened.image[0].data) / length - 1), 0.03);
        assert_at_most(fabs(norm_of(off.image[0].data) / length - 1), 0.03);
    }
}

/* The numbers with a unit are in that of the samples: weight and objective of a penalty, the weight of cg. */
TEST(reports_are_in_the_unit_of_the_samples)
{
    for (int whitened = 0; whitened < 2; whitened++)
        for (int method = 0; method < 2; method++) {
            OWNED(scan) plain = scan_in(1, 1, whitened, 0), s = scan_in(1e-14, 1, whitened, 0);
            larmor_recon_opts opts = KNOWN(.method = method ? "tv" : "cg", .maps = plain.maps);
            OWNED(larmor_recon_result) a = result_of(&plain, &opts);
            opts.maps = s.maps;
            OWNED(larmor_recon_result) b = result_of(&s, &opts);
            /* whitening by noise of 1e-14 multiplies A by 1e14, which scales what is in A^H A and in A^H b */
            const double normal = whitened ? 1e28 : 1;
            const double of_penalty = whitened ? 1e14 : 1e-14;
            const double weight = method ? of_penalty : normal;
            near(b.report.weight, weight * a.report.weight);
            near(b.report.largest, normal * a.report.largest);
            if (method) near(b.report.solver.objective, (whitened ? 1 : 1e-28) * a.report.solver.objective);
        }
}

TEST(images_of_any_magnitude_share_a_scan)
{
    static const double factor[] = {1, 1e20, 1e-25};
    OWNED(scan) plain = scan_in(1, 3, 0, 0), s = scan_in(1, 3, 0, 0);
    for (int i = 0; i < 3; i++) multiply(s.image[i].kspace, factor[i]);
    for (int grid = 0; grid < 2; grid++) {
        const larmor_recon_opts opts = KNOWN(.method = grid ? "grid" : "cg", .maps = plain.maps);
        OWNED(larmor_recon) *of_plain = recon_of(&plain, &opts), *recon = recon_of(&s, &opts);
        for (int i = 0; i < 3; i++) {
            OWN(larmor_recon_result, expected, larmor_recon_run(of_plain, i, &expected));
            OWN(larmor_recon_result, result, larmor_recon_run(recon, i, &result));
            assert_int_equal(result.count, 1);
            /* each chooses its own weight, where the others of an ordinary scan take that of the first */
            assert_at_most(off_by(result.image[0].data, factor[i], expected.image[0].data), grid ? 1e-5 : 0.05);
        }
    }
}

TEST(an_image_of_samples_of_zeros_is_zeros_beside_the_others)
{
    static const char *const methods[] = {"grid", "cg", "tv", "auto"};
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    assert_ok(larmor_zero(s.image[0].kspace));
    for (int m = 0; m < 4; m++) {
        const larmor_recon_opts opts = KNOWN(.method = methods[m]);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        for (int i = 0; i < 3; i++) {
            OWN(larmor_recon_result, result, larmor_recon_run(recon, i, &result));
            assert_int_equal(result.count, 1);
            assert_int_equal(result.report.status, LARMOR_OK);
            assert_true(larmor_shape_equal(larmor_array_shape(result.image[0].data), LARMOR_SHAPE(N, N)));
            assert_true((norm_of(result.image[0].data) == 0) == (i == 0));
        }
    }
}

/* Lines of a slice of air: there is no space of signal to find maps by. */
TEST(noise_alone_is_an_image_by_whatever_maps)
{
    static const char *const maps[] = {"auto", "espirit", "walsh", "nlinv"};
    const larmor_traj_opts lines = {.matrix = {N, N}, .acceleration = {2}, .calibration = {12}};
    OWNED(scan) s = {.arrays = {.matrix = {N, N}, .trajectory = "cartesian", .images = 1}};
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &s.image[0].traj));
    const larmor_shape traj = larmor_array_shape(s.image[0].traj);
    const larmor_shape shape = LARMOR_SHAPE(traj.dim[1], traj.dim[2], COILS);
    assert_ok(larmor_array_create(dev, LARMOR_C64, shape, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, 1, 3));
    for (int m = 0; m < 4; m++) {
        notes n = {.text = ""};
        const larmor_recon_opts opts =
            KNOWN(.method = "cg", .maps_method = maps[m], .listener = take_note, .user = &n);
        OWNED(larmor_recon_result) result = result_of(&s, &opts);
        assert_int_equal(result.report.status, LARMOR_OK);
        assert_true(norm_of(result.image[0].data) > 0);
        if (!strcmp(maps[m], "espirit"))
            assert_noted(n,
                         "L:coil maps: by Walsh's method, as the calibration region has no signal above its noise");
    }
}
