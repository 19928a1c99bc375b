/* schedule/recon.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

TEST(series_may_be_run_in_any_order_and_again)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-4);
    const larmor_recon_opts opts = OPTS(.maps = s.maps, .method = "grid");
    larmor_recon *recon = recon_of(&s, &opts);
    static const int order[] = {2, 0, 1, 2, 0};
    larmor_recon_result result[5];
    for (int i = 0; i < 5; i++) {
        assert_ok(larmor_recon_run(recon, order[i], &result[i]));
        assert_int_equal(result[i].image[0].meta.repetition, order[i]);
    }
    const double apart = difference(result[0].image[0].data, result[3].image[0].data);
    assert_true(is_cpu() ? apart == 0 : apart < 1e-5);
    larmor_recon_free(recon); /* results are the caller's */
    assert_at_most(difference(result[1].image[0].data, result[4].image[0].data), is_cpu() ? 1e-7 : 1e-5);
    for (int i = 0; i < 5; i++) larmor_recon_result_free(&result[i]);
}

TEST(an_image_that_fails_does_not_stop_the_others)
{
    OWNED(scan) s = scan_of(COILS, 3, 0);
    HEAP float *huge = host_of(s.image[1].kspace);
    for (size_t i = 0; i < larmor_array_bytes(s.image[1].kspace) / sizeof *huge; i++)
        huge[i] = 3e38F; /* a point whose density is N^2 times as much */
    assert_ok(larmor_array_write(s.image[1].kspace, huge, larmor_array_bytes(s.image[1].kspace)));
    notes n = {.text = ""};
    const larmor_recon_opts opts = OPTS(.method = "grid", .no_maps = 1, .listener = take_note, .user = &n);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    for (int i = 0; i < 3; i++) {
        assert_ok(larmor_recon_run(recon, i, &result));
        assert_int_equal(result.count, i != 1);
        assert_int_equal(result.report.status, i == 1 ? LARMOR_ERR_NUMERIC : LARMOR_OK);
        if (i == 1)
            assert_non_null(strstr(result.report.message,
                                   "the image of slice 0, contrast 0, phase 0, repetition 1, set 0 is not finite"));
        larmor_recon_result_free(&result);
        assert_int_equal(result.count, 0);
        assert_null(result.image);
    }
    assert_noted(n, "W:image 2 of 3: the image of slice 0");
    assert_noted(n, "it is left out\n");
}

TEST(what_is_not_there_is_refused)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    const larmor_recon_opts opts = OPTS(.method = "grid");
    larmor_recon *recon = recon_of(&s, &opts), *other;
    larmor_recon_result result;
    larmor_recon_plan plan;
    larmor_array *x;
    for (int i = -1; i < 2; i += 2) {
        assert_refused(larmor_recon_run(recon, i, &result), LARMOR_ERR_ARG, "expected 0 to 0");
        assert_refused(larmor_recon_describe(recon, i, &plan), LARMOR_ERR_ARG, "expected 0 to 0");
    }
    assert_refused(larmor_recon_run(NULL, 0, &result), LARMOR_ERR_ARG, "no reconstruction");
    assert_refused(larmor_recon_maps(NULL, &x, NULL), LARMOR_ERR_ARG, "no coil maps");
    assert_refused(larmor_recon_density(NULL, &x), LARMOR_ERR_ARG, "no density weights");
    assert_int_equal(larmor_recon_series(NULL), 0);
    assert_refused(larmor_recon_create(NULL, dev, NULL, &other), LARMOR_ERR_ARG, "a source and a device expected");
    assert_null(other);
    assert_refused(larmor_recon_create(NULL, dev, NULL, NULL), LARMOR_ERR_ARG, "nowhere to put it");
    larmor_recon_free(recon);
    larmor_recon_free(NULL);
    larmor_recon_result_free(NULL);
}
