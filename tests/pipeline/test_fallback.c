/* schedule/fallback.c, with the plugin of tests/faults, for which the processor passes for a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

typedef struct failing_gpu {
    notes notes;
    const char *when; /* the stage from whose beginning on the GPU fails; "step": from a solver's first step */
    int count;        /* how often the moment has come; it fails at the first */
} failing_gpu;

static void let_fail(int yes)
{
    assert_int_equal(setenv("FAULTY_ENTRY", "all", 1), 0);
    assert_int_equal(setenv("FAULTY_MORE", "1", 1), 0);
    assert_int_equal(setenv("FAULTY_AT", yes ? "1" : "0", 1), 0);
}

static int listen(void *user, const larmor_event *e)
{
    failing_gpu *g = user;
    const int is_step = e->kind == LARMOR_EVENT_STEP && !strcmp(g->when, "step");
    const int is_stage = e->kind == LARMOR_EVENT_STAGE && !strcmp(g->when, e->stage);
    if ((is_step || is_stage) && g->count++ == 0) let_fail(1);
    return take_note(&g->notes, e);
}

/* The first series, on the device of that name; maps are in the processor's memory. */
static larmor_status run_on(const char *spec, failing_gpu *g, larmor_recon_opts opts, int images,
                            larmor_recon_result *result, char *image)
{
    scan s = scan_of(COILS, images, 1e-4);
    larmor_scan_arrays arrays = s.arrays;
    larmor_recon *recon = NULL;
    larmor_array *maps = opts.maps ? larmor_array_ref(s.maps) : NULL;
    arrays.image = s.image;
    opts.maps = maps;
    opts.listener = listen;
    opts.user = g;
    *result = (larmor_recon_result){.count = 0};
    let_fail(0);
    larmor_source *source = MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
    larmor_device *on = MADE(larmor_device, larmor_device_open(spec, &made));
    larmor_status st = larmor_recon_create(source, on, &opts, &recon);
    larmor_array_free(maps); /* the caller's no more */
    for (int i = 0; i < images && !st; i++) {
        larmor_recon_result_free(result);
        st = larmor_recon_run(recon, i, result);
    }
    if (!st) assert_ok(larmor_array_read(result->image[0].data, image, N * N * 8));
    larmor_recon_free(recon);
    larmor_source_free(source);
    larmor_device_free(on);
    end_scan(&s);
    let_fail(0);
    return st;
}

TEST(an_image_of_a_gpu_that_fails_is_the_processors)
{
    static const char *const moments[] = {"field of view", "samples", "operator", "step"};
    static char image[N * N * 8], expected[sizeof image];
    for (int given = 0; given < 2; given++) {
        const larmor_recon_opts opts = OPTS(.maps = given ? (larmor_array *)1 : NULL, .iters = 5);
        failing_gpu none = {.when = "never"};
        larmor_recon_result result;
        assert_ok(run_on("cpu", &none, opts, 1, &result, expected));
        larmor_recon_result_free(&result);
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
            failing_gpu g = {.when = moments[i]};
            assert_ok(run_on("auto", &g, opts, 1, &result, image));
            assert_true(g.count > 1);
            assert_memory_equal(image, expected, sizeof image);
            assert_noted(g.notes, "W:cuda:0 failed before anything was computed, the processor takes over: cuda:0: ");
            assert_memory_equal(result.report.device, "cpu:", 4);
            larmor_recon_result_free(&result);
        }
    }
}

TEST(a_gpu_that_does_not_fail_is_not_left)
{
    static char image[N * N * 8];
    failing_gpu g = {.when = "never"};
    OWN(larmor_recon_result, result, run_on("auto", &g, OPTS(.method = "grid"), 1, &result, image));
    assert_string_equal(result.report.device, "cuda:0");
    assert_null(strstr(g.notes.text, "takes over"));
}

TEST(a_gpu_that_was_asked_for_is_not_left)
{
    failing_gpu g = {.when = "operator"};
    OWNED(larmor_recon_result) result;
    static char image[N * N * 8];
    assert_int_equal(run_on("cuda", &g, OPTS(.iters = 3), 1, &result, image), LARMOR_ERR_BACKEND);
    assert_non_null(strstr(larmor_last_error(), "cuda:0"));
}

TEST(a_gpu_is_not_left_once_an_image_was_given_away)
{
    failing_gpu g = {.when = "samples", .count = -1}; /* those of the second image */
    OWNED(larmor_recon_result) result;
    static char image[N * N * 8];
    assert_int_equal(run_on("auto", &g, OPTS(.method = "grid", .no_maps = 1), 2, &result, image), LARMOR_ERR_MEMORY);
    assert_non_null(strstr(larmor_last_error(), "cuda:0: device.alloc failed"));
    assert_int_equal(g.count, 1);
}

/* Where one device of a group fails while the second image begins. one: 1: in one thread */
static larmor_status run_on_two(int one, failing_gpu *g, larmor_recon_result *result, char *image)
{
    assert_int_equal(setenv("FAULTY_ONE", one ? "1" : "0", 1), 0);
    const larmor_status st = run_on("cuda:0,0", g, OPTS(.iters = 5), 4, result, image);
    assert_int_equal(setenv("FAULTY_ONE", "0", 1), 0);
    return st;
}

TEST(a_device_of_a_group_that_fails_hands_its_series_to_another)
{
    static char image[N * N * 8], expected[sizeof image];
    failing_gpu none = {.when = "never"}, g = {.when = "step"};
    larmor_recon_result result;
    assert_ok(run_on("cpu", &none, OPTS(.iters = 5), 4, &result, expected));
    larmor_recon_result_free(&result);
    assert_ok(run_on_two(1, &g, &result, image));
    assert_true(g.count > 0);
    assert_memory_equal(image, expected, sizeof image);
    assert_noted(g.notes, "; 2 images at the same time on each");
    assert_noted(g.notes, "W:cuda:0 failed, other devices take over its series: cuda:0: ");
    larmor_recon_result_free(&result);
}

TEST(the_error_of_the_last_device_of_a_group_is_returned)
{
    static char image[N * N * 8];
    failing_gpu g = {.when = "step"};
    OWNED(larmor_recon_result) result;
    const larmor_status st = run_on_two(0, &g, &result, image);
    assert_true(st == LARMOR_ERR_BACKEND || st == LARMOR_ERR_MEMORY);
    assert_non_null(strstr(larmor_last_error(), "cuda:0: "));
}
