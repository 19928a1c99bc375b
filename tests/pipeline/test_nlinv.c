/* pipeline/maps.c: maps by nonlinear inversion. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

/* How far the image is from the truth with the shading that maps of unit energy leave. */
static double shaded_error(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_array) *shaded;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N), &shaded));
    assert_ok(larmor_root_sum_of_squares(s->maps, shaded));
    OWNED(larmor_recon_result) result = result_of(s, opts);
    if (opts->maps) assert_ok(larmor_mul(shaded, 0, result.image[0].data));
    assert_ok(larmor_mul(s->truth, 0, shaded));
    assert_ok(larmor_abs(shaded, shaded));
    assert_ok(larmor_abs(result.image[0].data, result.image[0].data));
    const double error = difference(result.image[0].data, shaded);
    return error;
}

TEST(its_maps_are_nearly_as_good_as_the_true_ones)
{
    notes n = {.text = ""};
    OWNED(scan) s = scan_of(COILS, 1, 2e-4);
    const larmor_recon_opts given = OPTS(.maps = s.maps);
    const larmor_recon_opts opts = OPTS(.maps_method = "nlinv", .listener = take_note, .user = &n);
    const double best = shaded_error(&s, &given), own = shaded_error(&s, &opts);
    print_message("%.4f with the true maps, %.4f with these\n", best, own);
    assert_at_most(own, 1.1 * best);
    assert_noted(n, "L:coil maps: nonlinear inversion, ");
}

TEST(the_listener_stops_it)
{
    notes n = {.text = "", .stop_at_step = 2};
    OWNED(scan) s = scan_of(COILS, 1, 2e-4);
    const larmor_recon_opts opts = OPTS(.maps_method = "nlinv", .listener = take_note, .user = &n);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_int_equal(larmor_recon_run(recon, 0, &result), LARMOR_STOPPED);
    assert_int_equal(n.steps, 2);
}
