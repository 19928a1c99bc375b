/* schedule/predict.c, with the plugin of tests/faults, for which the processor passes for a GPU.
 * SPDX-License-Identifier: Apache-2.0 */
#include "schedule/predict.h"

#include "tests/pipeline/scan.h"

/* Processor time of one thread as it was measured on an Intel Xeon (Sapphire Rapids), without the .07 s of the
 * process. */
static const struct {
    lmr_workload work;
    double seconds;
} measured[] = {
    {{LMR_WORK_CG, 2, 1, 0, 1, 1, 8, 128 * 128, 25600}, 0.26},
    {{LMR_WORK_CG, 2, 1, 0, 1, 1, 8, 256 * 256, 102400}, 1.01},
    {{LMR_WORK_CG, 2, 1, 0, 1, 1, 8, 256 * 256, 204800}, 1.06},
    {{LMR_WORK_CG, 2, 1, 0, 1, 1, 32, 256 * 256, 102400}, 0.96},
    {{LMR_WORK_CG, 2, 1, 0, 1, 8, 8, 128 * 128, 25600}, 0.77},
    {{LMR_WORK_CG, 2, 1, 0, 1, 16, 16, 128 * 128, 8704}, 1.08},
    {{LMR_WORK_CG, 3, 1, 0, 1, 1, 8, 48 * 48 * 48, 144000}, 7.74},
    {{LMR_WORK_CG, 3, 1, 0, 1, 1, 8, 64 * 64 * 64, 384000}, 19.2},
    {{LMR_WORK_CG, 2, 1, 1, 1, 1, 8, 192 * 192, 20000}, 0.31},
    {{LMR_WORK_CG, 2, 1, 0, 1, 1, 16, 384 * 384, 230400}, 2.97},
    {{LMR_WORK_GRID, 2, 0, 0, 1, 1, 8, 256 * 256, 102400}, 0.19},
    {{LMR_WORK_CG, 2, 0, 0, 1, 1, 8, 256 * 256, 102400}, 0.34},
    {{LMR_WORK_CG, 3, 0, 0, 1, 1, 8, 64 * 64 * 64, 384000}, 5.11},
    {{LMR_WORK_PENALTY, 2, 1, 0, 1, 1, 8, 256 * 256, 102400}, 2.42},
    {{LMR_WORK_PENALTY, 2, 1, 0, 1, 16, 16, 128 * 128, 8704}, 9.95},
    {{LMR_WORK_PENALTY, 3, 1, 0, 1, 1, 8, 48 * 48 * 48, 144000}, 19.5},
};

TEST(the_time_of_one_thread_is_that_of_scans_that_were_measured)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double ratio = lmr_predict_seconds(&measured[i].work, 1) / measured[i].seconds;
        if (!(ratio > 0.45 && ratio < 2.2)) print_error("scan %zu: ratio %g\n", i, ratio);
        assert_true(ratio > 0.45 && ratio < 2.2);
    }
}

TEST(more_work_takes_longer_and_more_threads_less)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        for (int threads = 1; threads <= 64; threads *= 2) {
            const lmr_workload w = measured[i].work;
            const double seconds = lmr_predict_seconds(&w, threads);
            lmr_workload more[4] = {w, w, w, w};
            more[0].images *= 4;
            more[1].coils *= 2;
            more[2].cells *= 2;
            more[3].samples *= 2;
            for (int j = 0; j < 4; j++) {
                const double longer = lmr_predict_seconds(&more[j], threads);
                assert_true(longer >= seconds && longer <= 4.001 * seconds);
            }
            assert_true(lmr_predict_seconds(&w, 2 * threads) < seconds);
        }
    lmr_workload huge = measured[0].work;
    huge.cells = huge.images = 1e200;
    assert_true(lmr_predict_seconds(&huge, 16) == INFINITY);
}

static larmor_source *source_of(scan *s, int images)
{
    larmor_scan_arrays arrays;
    *s = scan_of(COILS, images, 1e-4);
    arrays = s->arrays;
    arrays.image = s->image;
    return MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
}

TEST(what_there_is_to_do_is_read_from_scan_and_options)
{
    OWNED(scan) s;
    OWNED(larmor_source) *source = source_of(&s, 3);
    lmr_workload w;
    larmor_recon_opts opts = OPTS(.method = "cg");
    assert_ok(lmr_predict_workload(source, &opts, &w));
    assert_true(w.kind == LMR_WORK_CG && w.ndim == 2 && w.chooses && !w.on_grid);
    assert_true(w.images == 3 && w.coils == COILS && w.cells == N * N);
    assert_true(w.samples == (double)larmor_array_count(s.image[0].kspace) / COILS);
    const larmor_counters one = {-1, -1, -1, 1, -1, 0};
    opts = (larmor_recon_opts)OPTS(.method = "grid", .only = &one, .matrix = {2 * N});
    assert_ok(lmr_predict_workload(source, &opts, &w));
    assert_true(w.kind == LMR_WORK_GRID && !w.chooses && w.images == 1 && w.cells == 4 * N * N);
    opts = (larmor_recon_opts)OPTS(.maps_method = "nlinv");
    assert_int_equal(lmr_predict_workload(source, &opts, &w), LARMOR_ERR_UNSUPPORTED);
}

static void expect_device(larmor_source *source, const char *spec, larmor_recon_opts opts, const char *start,
                          const char *device, const char *reason)
{
    assert_int_equal(start ? setenv("LARMOR_GPU_START", start, 1) : unsetenv("LARMOR_GPU_START"), 0);
    OWN(larmor_device, *on, larmor_recon_open_device(spec, source, &opts, &on));
    if (strncmp(larmor_device_spec(on), device, strlen(device)) != 0)
        print_error("%s: %s\n", larmor_device_spec(on), larmor_device_reason(on));
    assert_int_equal(strncmp(larmor_device_spec(on), device, strlen(device)), 0);
    assert_non_null(strstr(larmor_device_reason(on), reason));
}

TEST(auto_takes_the_processor_where_it_is_done_before_a_gpu_begins)
{
    OWNED(scan) s;
    OWNED(larmor_source) *source = source_of(&s, 1);
    const char *why = "in which a GPU begins and ends";
    expect_device(source, "auto", OPTS(.method = "cg"), NULL, "cpu:", why);
    expect_device(source, NULL, OPTS(.method = "cg"), NULL, "cpu:", why);
    expect_device(source, "auto", OPTS(.method = "cg"), "0", "cuda", "");
    expect_device(source, "auto", OPTS(.method = "cg"), "1e-9", "cuda", "");
    expect_device(source, "auto", OPTS(.method = "cg"), "nonsense", "cpu:", why);
    expect_device(source, "auto", OPTS(.method = "cg", .matrix = {4096}), NULL, "cuda", "");
    expect_device(source, "auto", OPTS(.method = "cg", .maps_method = "nlinv"), NULL, "cuda", "");
    expect_device(source, "cuda", OPTS(.method = "cg"), NULL, "cuda", "");
    expect_device(source, "cpu:1", OPTS(.method = "cg", .matrix = {4096}), NULL, "cpu:1", "");
}
