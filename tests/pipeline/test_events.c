/* scan/events.c and pipeline/report.c. SPDX-License-Identifier: Apache-2.0 */
#include "scan/events.h"
#include "tests/pipeline/scan.h"

TEST(stages_are_told_in_their_order)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    notes n = {.text = ""};
    const larmor_recon_opts opts = KNOWN(.weighted = 1, .listener = take_note, .user = &n);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    static const char *const stages[] = {"S:field of view\n", "S:samples\n",  "S:coil maps\n",
                                         "S:density\n",       "S:operator\n", "S:choosing lambda\n"};
    const char *at = n.text;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const char *next = strstr(at, stages[i]);
        if (!next) fail_msg("no %s in its place in:\n%s", stages[i], n.text);
        at = next;
    }
    assert_true(n.steps > 0);
}

TEST(the_log_says_what_is_done)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    notes n = {.text = ""};
    larmor_recon_opts opts = KNOWN(.method = "cg", .listener = take_note, .user = &n);
    larmor_recon_result result = result_of(&s, &opts);
    larmor_recon_result_free(&result);
    static const char *const lines[] = {
        "L:arrays: 60 goldenangle readouts x 64, 4 coils, 1 image\n",
        "L:trajectory: 1/FOV, as given\n",
        "L:image: 32x32x1, 1x1x1 mm; grid 32x32x1\n",
        "L:cg-sense on ",
        ": lambda from the data; maps from the data's centre (ESPIRiT)\n",
        "L:memory: ",
        "L:image 1 of 1: noise ",
        ", chosen from the samples, in ",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_noted(n, lines[i]);

    n.text[0] = 0;
    n.fraction = 0;
    opts.method = "tv";
    opts.maps = s.maps;
    opts.maps_name = "m.cfl";
    opts.lambda_mode = LARMOR_LAMBDA_NOISE;
    opts.lambda = 0.5;
    result = result_of(&s, &opts);
    larmor_recon_result_free(&result);
    assert_noted(n, ": lambda noise:0.5; m.cfl\n");
    assert_noted(n, "lambda ");
    assert_noted(n, " absolute, ");

    n.text[0] = 0;
    n.fraction = 0;
    opts = KNOWN(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_PIPE, .listener = take_note, .user = &n);
    result = result_of(&s, &opts);
    larmor_recon_result_free(&result);
    assert_noted(n, "density pipe; root sum of squares\n");
}

TEST(steps_count_towards_all_series)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-4);
    notes n = {.text = ""};
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .iters = 5, .tol = -1,
                                         .listener = take_note, .user = &n);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_int_equal(n.series, 0);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(n.series, 1);
    assert_true(n.fraction > 0 && n.fraction <= 0.5);
    larmor_recon_result_free(&result);
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(n.series, 2);
    assert_true(n.fraction > 0.5);
    larmor_recon_result_free(&result);
}

TEST(what_is_solved_once_more_takes_back_no_progress)
{
    notes n = {.text = ""};
    lmr_events e = {.listener = take_note, .user = &n, .energy = 1};
    lmr_begin_series(&e, 1, 2);
    lmr_monitor(&e, &(larmor_progress){.iter = 8, .max_iter = 10});
    assert_at_most(fabs(n.fraction - 0.4), 1e-12);
    lmr_monitor(&e, &(larmor_progress){.iter = 1, .max_iter = 10});
    assert_at_most(fabs(n.fraction - 0.4), 1e-12);
    lmr_end_series(&e);
    lmr_begin_series(&e, 2, 2);
    lmr_monitor(&e, &(larmor_progress){.iter = 1, .max_iter = 10});
    assert_at_most(fabs(n.fraction - 0.55), 1e-12);
}

TEST(before_there_is_an_iterate_a_stop_leaves_nothing)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-4);
    static const char *const stages[] = {"samples", "coil maps", "density", "operator", "choosing lambda"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        notes n = {.text = "", .stop_at = stages[i]};
        const larmor_recon_opts opts =
            KNOWN(.weighted = 1, .maps_method = "walsh", .listener = take_note, .user = &n);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        OWNED(larmor_recon_result) result;
        assert_refused(larmor_recon_run(recon, 0, &result), LARMOR_STOPPED, stages[i]);
        assert_int_equal(result.count, 0);
        n.stop_at = NULL; /* it may go on */
        n.fraction = 0;
        assert_ok(larmor_recon_run(recon, 0, &result));
        assert_int_equal(result.count, 1);
    }
    static const char *const of_preparation[] = {"coil maps", "field of view"};
    for (size_t i = 0; i < sizeof of_preparation / sizeof *of_preparation; i++) {
        notes n = {.text = "", .stop_at = of_preparation[i]};
        const larmor_recon_opts opts = KNOWN(.listener = take_note, .user = &n);
        larmor_recon *recon;
        assert_refused(try_recon(&s, &opts, &recon), LARMOR_STOPPED, "stopped by the caller before this stage: ");
        assert_refused(try_recon(&s, &opts, &recon), LARMOR_STOPPED, of_preparation[i]);
        assert_null(recon);
    }
}

TEST(a_stop_at_a_step_gives_the_iterate)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    notes n = {.text = "", .stop_at_step = 3};
    const larmor_recon_opts stopped =
        KNOWN(.maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-4, .iters = 50, .tol = -1,
              .precondition = -1, .listener = take_note, .user = &n);
    larmor_recon_opts three = stopped;
    three.iters = 3;
    three.listener = NULL;
    OWNED(larmor_recon_result) a = result_of(&s, &stopped), b = result_of(&s, &three);
    assert_true(a.report.interrupted && !b.report.interrupted);
    assert_int_equal(n.steps, 3);
    assert_at_most(difference(a.image[0].data, b.image[0].data), 1e-6);
}

/* How often it was asked whether to stop, and from which time on the answer is yes; 0: never. */
typedef struct asked {
    int count, yes_from;
} asked;

static int ask(void *user)
{
    asked *a = user;
    a->count++;
    return a->yes_from && a->count >= a->yes_from;
}

/* All of a reconstruction. What came of it is a whole image, or an iterate, or nothing. */
static larmor_status reconstruct(const scan *s, const larmor_recon_opts *opts, int *interrupted)
{
    OWNED(larmor_recon) *recon;
    larmor_recon_result result;
    double norm;
    *interrupted = 0;
    larmor_status st = try_recon(s, opts, &recon);
    if (st) {
        assert_null(recon);
        return st;
    }
    st = larmor_recon_run(recon, 0, &result);
    if (!st) {
        assert_int_equal(result.count, 1);
        assert_ok(larmor_nrm2(result.image[0].data, &norm));
        assert_true(norm > 0 && isfinite(norm));
        *interrupted = result.report.interrupted;
    } else {
        assert_int_equal(result.count, 0);
    }
    larmor_recon_result_free(&result);
    return st;
}

TEST(every_answer_may_stop_a_reconstruction)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    /* the last one alone searches for delays, as most answers would else be asked for there */
    const larmor_recon_opts methods[] = {
        KNOWN(.maps = s.maps, .iters = 20, .tol = -1, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3),
        KNOWN(.method = "tgv", .maps = s.maps, .iters = 4, .lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1),
        KNOWN(.method = "grid", .density = LARMOR_DENSITY_PIPE),
        OPTS(.iters = 4),
    };
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        asked a = {0, 0};
        int interrupted, nothing = 0, iterates = 0;
        larmor_stop_when(ask, &a);
        assert_ok(reconstruct(&s, &methods[m], &interrupted));
        assert_false(interrupted);
        enum { PARTS = 8 };
        const int all = a.count;
        assert_true(all > 20);
        for (int part = 0; part <= PARTS; part++) {
            const int n = 1 + part * (all - 1) / PARTS; /* the last answer among them */
            a = (asked){0, n};
            const larmor_status st = reconstruct(&s, &methods[m], &interrupted);
            if (st) assert_int_equal(st, LARMOR_STOPPED);
            /* a GPU's rounding may need fewer steps than the run that counted */
            if (!st && !interrupted && a.count >= n) fail_msg("method %zu went on after answer %d of %d", m, n, all);
            if (st && a.count > n + 20) fail_msg("method %zu asked %d times more", m, a.count - n);
            nothing += st != LARMOR_OK;
            iterates += interrupted;
        }
        assert_true(nothing > 0);
        if (m < 2) assert_true(iterates > 0);
        larmor_stop_when(NULL, NULL);
        assert_ok(reconstruct(&s, &methods[m], &interrupted));
    }
}

/* Half of k-space is missing along y. */
TEST(partial_fourier_that_is_not_filled_in_gets_a_warning)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_traj_opts lines = {.matrix = {N, N}, .partial_fourier = 0.6};
    larmor_readouts *r = &s.image[0];
    LMR_FREE(r->traj, r->kspace);
    assert_ok(larmor_traj_create(dev, "cartesian", &lines, &r->traj));
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    s.arrays.trajectory = "cartesian";
    const larmor_recon_opts opts = KNOWN(.maps = s.maps, .partial_fourier = LARMOR_PARTIAL_ZERO);
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    char line[512], all[8];
    assert_true(larmor_recon_warning(&result.report, 0, line, sizeof line) > 0);
    if (!strstr(line, "partial Fourier along y: k-space reaches to 15/FOV on one side")) fail_msg("%s", line);
    assert_true(larmor_recon_warning(&result.report, 0, all, sizeof all) > 0);
    assert_string_equal(all, "partial");
    assert_int_equal(larmor_recon_warning(&result.report, 1, line, sizeof line), 0);
}
