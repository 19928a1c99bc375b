/* scan/virtual_coils.c and compress.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

enum { MANY = 16 };

static larmor_recon_plan plan_of(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon) *recon = recon_of(s, opts);
    larmor_recon_plan plan;
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    return plan;
}

/* Magnitudes, because maps of other coils have another phase. */
static double magnitudes_apart(const scan *s, const larmor_recon_opts *a, const larmor_recon_opts *b)
{
    OWNED(larmor_recon_result) x = result_of(s, a), y = result_of(s, b);
    assert_ok(larmor_abs(x.image[0].data, x.image[0].data));
    assert_ok(larmor_abs(y.image[0].data, y.image[0].data));
    return difference(x.image[0].data, y.image[0].data);
}

TEST(many_coils_are_compressed_and_few_are_not)
{
    notes n = {.text = ""};
    OWNED(scan) many = scan_of(MANY, 1, 1e-5), few = scan_of(12, 1, 1e-5);
    const larmor_recon_opts opts = KNOWN(.listener = take_note, .user = &n);
    const larmor_recon_opts off = KNOWN(.compress = -1), three = KNOWN(.compress = 3), half = KNOWN(.compress = 0.5);
    larmor_recon_plan plan = plan_of(&many, &opts), whole = plan_of(&many, &off);
    assert_in_range(plan.coils, 4, MANY - 4);
    assert_int_equal(plan.compressed_from, MANY);
    assert_true(plan.compressed_energy >= 0.999999 && plan.compressed_energy <= 1);
    assert_noted(n, "S:coil compression\n");
    assert_noted(n, "L:coils: 16 compressed to ");
    assert_int_equal(whole.coils, MANY);
    assert_int_equal(whole.compressed_from, 0);
    assert_true(plan.bytes < whole.bytes); /* the plan of memory sees the virtual coils */
    assert_int_equal(plan_of(&few, NULL).coils, 12);
    assert_int_equal(plan_of(&few, &three).coils, 3);
    plan = plan_of(&few, &half);
    assert_in_range(plan.coils, 1, 3);
    assert_true(plan.compressed_energy >= 0.5);
}

TEST(images_of_virtual_coils_are_those_of_all)
{
    OWNED(scan) s = scan_of(MANY, 1, 1e-5);
    larmor_recon_opts opts = KNOWN(.lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3), off = opts;
    off.compress = -1;
    assert_at_most(magnitudes_apart(&s, &opts, &off), 0.01);
    opts.maps = off.maps = s.maps;
    assert_at_most(magnitudes_apart(&s, &opts, &off), 0.01);
    opts.compress = 1; /* without much of the signal it is another image */
    assert_true(magnitudes_apart(&s, &opts, &off) > 0.03);
}

TEST(saved_maps_give_the_same_image)
{
    OWNED(scan) s = scan_of(MANY, 1, 1e-4);
    larmor_array *noise = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2000, MANY), &made));
    assert_ok(larmor_phantom_noise(noise, 1e-4, 5));
    s.arrays.noise = noise;
    const larmor_recon_opts opts = KNOWN(.method = "grid");
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWNED(larmor_recon_result) result, again;
    assert_ok(larmor_recon_run(recon, 0, &result));
    OWN(larmor_array, *maps, larmor_recon_maps(recon, &maps, NULL));
    assert_int_equal(larmor_array_shape(maps).dim[2], MANY);
    larmor_recon_opts given = opts;
    given.maps = maps;
    again = result_of(&s, &given);
    assert_at_most(difference(again.image[0].data, result.image[0].data), 1e-5);
}

/* Two equal sets share the signal; each is compressed and expanded by itself. */
TEST(sets_of_maps_are_compressed_one_by_one)
{
    OWNED(scan) s = scan_of(MANY, 1, 1e-4);
    larmor_array *part;
    OWN(larmor_array, *both, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, 1, MANY, 2), &both));
    for (int m = 0; m < 2; m++) {
        assert_ok(larmor_array_part(both, m, 1, LARMOR_SHAPE(N, N, MANY), &part));
        assert_ok(larmor_axpby(m ? 0.3 : 1, s.maps, 0, part));
        larmor_array_free(part);
    }
    const larmor_recon_opts opts = KNOWN(.maps = both, .method = "grid"),
                            off = KNOWN(.maps = both, .method = "grid", .compress = -1);
    assert_at_most(magnitudes_apart(&s, &opts, &off), 0.01);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    OWN(larmor_array, *maps, larmor_recon_maps(recon, &maps, NULL));
    assert_int_equal(larmor_array_shape(maps).dim[2], MANY);
    OWN(larmor_array, *first, larmor_array_part(maps, 0, 1, LARMOR_SHAPE(N, N, MANY), &first));
    OWN(larmor_array, *second, larmor_array_part(maps, 1, 1, LARMOR_SHAPE(N, N, MANY), &second));
    assert_at_most(difference(first, s.maps), 0.15); /* beyond the object virtual coils hold less */
    assert_ok(larmor_axpby(1 / 0.3, second, 0, second));
    assert_at_most(difference(second, first), 1e-5);
}

TEST(all_images_of_a_scan_share_the_matrix)
{
    OWNED(scan) s = scan_of(MANY, 3, 1e-5);
    const larmor_counters last = {-1, -1, -1, 2, -1, 0};
    const larmor_recon_opts opts = KNOWN(.method = "grid"), one = KNOWN(.method = "grid", .only = &last);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result all[3], alone = result_of(&s, &one);
    for (int i = 0; i < 3; i++) assert_ok(larmor_recon_run(recon, i, &all[i]));
    assert_ok(larmor_abs(all[2].image[0].data, all[2].image[0].data)); /* maps are those of the first image */
    assert_ok(larmor_abs(alone.image[0].data, alone.image[0].data));
    assert_at_most(difference(alone.image[0].data, all[2].image[0].data), 0.02);
    assert_int_equal(plan_of(&s, &opts).coils, plan_of(&s, &one).coils);
    assert_true(plan_of(&s, &opts).compressed_energy == plan_of(&s, &one).compressed_energy);
    for (int i = 0; i < 3; i++) larmor_recon_result_free(&all[i]);
    larmor_recon_result_free(&alone);
}
