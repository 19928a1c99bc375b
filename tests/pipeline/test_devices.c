/* schedule/devices.c: the series of a reconstruction on a group of devices, or beside each other on one processor.
 * On a GPU the group is that GPU twice, that GPU with several queues, and all GPUs where there are several.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "pipeline/weight.h"
#include "scan/source.h"
#include "schedule/task.h"
#include "tests/pipeline/scan.h"

enum { MOST_RUNS = 8 };

/* Without the search for delays, which a group leaves to its first device and which takes longest. */
#define QUICK(...) OPTS(.delays = LARMOR_DELAYS_OFF, ##__VA_ARGS__)

/* The results of some runs, and what the listener heard. */
typedef struct outcome {
    float *image[MOST_RUNS];
    larmor_recon_report report[MOST_RUNS];
    larmor_status status[MOST_RUNS];
    int runs;
    char lines[16384];
    pthread_t caller;
    int stop_in; /* the series, from 1, whose first step asks to stop */
    double fraction;
} outcome;

static void end_outcome(outcome *o)
{
    for (int i = 0; i < o->runs; i++) free(o->image[i]);
}

/* A line of the log without the seconds at its end. */
static void note_line(outcome *o, const larmor_event *e)
{
    const size_t used = strlen(o->lines), length = strlen(e->text);
    const char *last = strrchr(e->text, ',');
    const int timed = last && length > 2 && !strcmp(e->text + length - 2, " s");
    if (strstr(e->text, " on c") || strstr(e->text, "planned of")) return; /* names the device */
    snprintf(o->lines + used, sizeof o->lines - used, "%c:%.*s\n", e->kind == LARMOR_EVENT_LOG ? 'L' : 'W',
             timed ? (int)(last - e->text) : (int)length, e->text);
}

static int listen(void *user, const larmor_event *e)
{
    outcome *o = user;
    assert_true(pthread_equal(pthread_self(), o->caller));
    if (e->kind == LARMOR_EVENT_LOG || e->kind == LARMOR_EVENT_WARNING) note_line(o, e);
    if (e->fraction > 0) o->fraction = e->fraction;
    assert_true(e->fraction >= 0 && e->fraction <= 1);
    return e->kind == LARMOR_EVENT_STEP && e->series == o->stop_in;
}

static larmor_recon *open_on(const char *spec, const scan *s, larmor_recon_opts opts, outcome *o)
{
    larmor_scan_arrays arrays = s->arrays;
    arrays.image = s->image;
    opts.listener = listen;
    opts.user = o;
    o->caller = pthread_self();
    OWN(larmor_source, *source, larmor_source_of_arrays(&arrays, &source));
    OWN(larmor_device, *on, larmor_device_open(spec, &on));
    return MADE(larmor_recon, larmor_recon_create(source, on, &opts, &made));
}

static void run_one(larmor_recon *recon, int series, outcome *o)
{
    OWNED(larmor_recon_result) result;
    const int i = o->runs++;
    o->status[i] = larmor_recon_run(recon, series, &result);
    o->report[i] = result.report;
    if (result.count) o->image[i] = host_of(result.image[0].data);
}

/* These series in this order; -1 ends them. */
static outcome run_on(const char *spec, const scan *s, larmor_recon_opts opts, const int *order)
{
    outcome o = {.runs = 0};
    OWNED(larmor_recon) *recon = open_on(spec, s, opts, &o);
    for (int i = 0; order[i] >= 0; i++) run_one(recon, order[i], &o);
    return o;
}

static const char *alone(void)
{
    return is_cpu() ? "cpu:1" : "cuda:0";
}

/* Group number i to be tried, or one device that computes several series at the same time; NULL past the last. */
static const char *group(int i)
{
    static const char *const cpu[] = {"cpu:1,1", "cpu:3", NULL}, *const gpu[] = {"cuda:0,0", "cuda:0", NULL};
    if (is_cpu()) return cpu[i];
    larmor_device *all;
    assert_ok(larmor_device_open("cuda:all", &all));
    const int more = larmor_device_members(all) > 1;
    larmor_device_free(all);
    if (i == 2 && more) return "cuda:all";
    return i < 3 ? gpu[i] : NULL;
}

static double apart_by(const float *x, const float *y)
{
    double d = 0, whole = 0;
    for (int i = 0; i < 2 * N * N; i++) {
        d += (double)(x[i] - y[i]) * (x[i] - y[i]);
        whole += (double)y[i] * y[i];
    }
    return sqrt(d / whole);
}

/* Bit for bit, and line by line in the log; on a GPU to rounding, where sums are taken in any order. */
static void expect_same(const scan *s, larmor_recon_opts opts, const int *order, double tolerance)
{
    larmor_recon_opts in_turn = opts;
    in_turn.at_once = 1;
    OWNED(outcome) one = run_on(alone(), s, in_turn, order);
    for (int g = 0; group(g); g++) {
        OWNED(outcome) all = run_on(group(g), s, opts, order);
        assert_int_equal(all.runs, one.runs);
        for (int i = 0; i < one.runs; i++) {
            assert_int_equal(all.status[i], one.status[i]);
            assert_int_equal(all.report[i].status, one.report[i].status);
            assert_int_equal(!all.image[i], !one.image[i]);
            assert_int_equal(all.report[i].lambda_from, one.report[i].lambda_from);
            if (one.image[i]) assert_at_most(apart_by(all.image[i], one.image[i]), is_cpu() ? 0 : tolerance);
            if (is_cpu()) assert_true(all.report[i].weight == one.report[i].weight);
            if (one.image[i] && !strcmp(group(g), "cpu:3")) assert_string_equal(all.report[i].device, "cpu:3");
        }
        if (is_cpu()) assert_string_equal(all.lines, one.lines);
    }
}

/* A scan whose readouts are counted as they are read. */
typedef struct counted {
    larmor_source *inner;
    int64_t readouts;
} counted;

static larmor_status count_samples(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *on,
                                   larmor_samples *out)
{
    counted *c = self;
    const int64_t coils = larmor_source_describe(c->inner).coils;
    const larmor_status st = lmr_source_samples(c->inner, group, grid, calibration, coils, on, out);
    if (!st && out->kspace) c->readouts += larmor_array_shape(out->kspace).dim[1];
    return st;
}

static larmor_status count_readouts(void *self, int group, const int64_t *readout, int64_t count,
                                    const larmor_grid *grid, larmor_device *on, larmor_samples *out)
{
    counted *c = self;
    c->readouts += count;
    return lmr_source_readouts(c->inner, group, readout, count, grid, on, out);
}

/* Readouts that are read before the first image of one device or several, and in all; spokes: of a frame, 0: of one
 * image. */
static void count_on(const char *spec, const scan *s, int spokes, int64_t *before, int64_t *all)
{
    static const larmor_source_impl counts = {.samples = count_samples, .readouts = count_readouts};
    larmor_scan_arrays arrays = s->arrays;
    counted c = {.inner = NULL};
    const larmor_frames_opts frames = {.spokes = spokes};
    OWNED(larmor_source) *scanned = NULL, *counting = NULL, *cut = NULL;
    OWNED(larmor_recon) *recon = NULL;
    arrays.image = s->image;
    assert_ok(larmor_source_of_arrays(&arrays, &scanned));
    c.inner = scanned;
    assert_ok(lmr_source_create_before(&c.inner, &counts, &c, &counting));
    if (spokes) assert_ok(larmor_source_of_frames(counting, &frames, &cut));
    larmor_device *on = MADE(larmor_device, larmor_device_open(spec, &made));
    assert_ok(larmor_recon_create(spokes ? cut : counting, on, &OPTS(.method = "cg", .iters = 2), &recon));
    larmor_device_free(on);
    *before = c.readouts;
    for (int i = 0; i < larmor_recon_series(recon); i++) {
        OWNED(larmor_recon_result) result;
        assert_ok(larmor_recon_run(recon, i, &result));
    }
    *all = c.readouts;
}

/* Some are looked at by themselves before that. */
enum { ALONE = 8 };

TEST(readouts_are_read_once_for_all_that_is_looked_at_on_several_devices_as_on_one)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    int64_t before, all;
    for (int several = 0; several < 2; several++) {
        count_on(several ? group(0) : alone(), &s, 0, &before, &all);
        assert_in_range(before, SPOKES, SPOKES + ALONE);
        assert_int_equal(all, before);
    }
    count_on(alone(), &s, SPOKES / 3, &before, &all);
    assert_in_range(before, SPOKES, 2 * SPOKES - 1);
    assert_int_equal(all - before, SPOKES); /* frames; their maps have what was read before */
}

static const int in_order[] = {0, 1, 2, 3, -1};

TEST(the_images_of_a_group_are_those_of_one_device)
{
    static const char *const methods[] = {"grid", "cg", "tv", "wavelet"};
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    for (int i = 0; i < 4; i++)
        expect_same(&s,
                    OPTS(.method = methods[i], .iters = 6, .delays = i == 1 ? LARMOR_DELAYS_AUTO : LARMOR_DELAYS_OFF),
                    in_order, 1e-2);
    expect_same(&s, QUICK(.iters = 6, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3), in_order, 1e-4);
    expect_same(&s, QUICK(.iters = 6, .maps = s.maps, .compress = 3), in_order, 1e-2);
    expect_same(&s, QUICK(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_PIPE), in_order, 1e-4);
}

TEST(maps_that_slices_share_or_do_not_are_those_of_one_device)
{
    for (int together = 0; together < 2; together++) {
        OWNED(scan) s = scan_of(COILS, 4, 1e-3);
        for (int i = 0; i < 4; i++) s.image[i].meta.slice = together ? i / 2 : i % 2;
        expect_same(&s, QUICK(.iters = 4), in_order, 1e-2);
    }
}

static double apart_from(const outcome *x, const outcome *y)
{
    double most = 0;
    assert_int_equal(x->runs, y->runs);
    for (int i = 0; i < x->runs; i++) {
        const double own = apart_by(x->image[i], y->image[i]);
        if (own > most) most = own;
    }
    return most;
}

/* A single series, and fewer series than devices. The sum over coils is taken in another order than on one device,
 * but always in the same. */
TEST(devices_without_a_series_of_their_own_share_the_coils)
{
    static const struct {
        larmor_recon_opts opts;
        int images, series;
    } jobs[] = {
        {{.method = "cg", .iters = 8, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3}, 1, 1},
        {{.method = "cg", .iters = 8, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3, .weighted = 1}, 1, 1},
        {{.method = "cg", .iters = 8, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3, .eps = 1e-8}, 1, 1},
        {{.method = "tv", .iters = 6, .joint = 1, .lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1}, 3, 1},
        {{.method = "grid"}, 2, 2}};
    const char *devices = is_cpu() ? "cpu:1,1,1" : "cuda:0,0,0";
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        const int order[] = {0, jobs[j].series - 1, -1};
        OWNED(scan) s = scan_of(COILS, jobs[j].images, 1e-3);
        larmor_recon_opts opts = jobs[j].opts;
        opts.size = sizeof opts;
        opts.delays = LARMOR_DELAYS_OFF;
        OWNED(outcome) one = run_on(alone(), &s, opts, order), all = run_on(devices, &s, opts, order);
        assert_at_most(apart_from(&all, &one), is_cpu() ? 2e-5 : 1e-4);
        assert_string_equal(all.report[0].device, devices);
        if (is_cpu()) {
            OWNED(outcome) again = run_on(devices, &s, opts, order);
            assert_at_most(apart_from(&again, &all), 0);
        }
    }
}

/* The third image is in other units, so that the weight of the first does not hold for it and for the fourth. */
TEST(a_weight_that_later_images_cannot_share_is_that_of_one_device)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    assert_ok(larmor_axpby(1e18, s.image[2].kspace, 0, s.image[2].kspace));
    expect_same(&s, QUICK(.iters = 6), in_order, 1e-2);
}

static lmr_weight weight_of(const double w[6], int encoding, const char *method)
{
    lmr_weight chosen = {w[0], w[1], w[2], w[3], w[4], .largest = w[5], .encoding = encoding};
    strcpy(chosen.method.name, method);
    return chosen;
}

/* A series of data of size 100 that began with the weight {2, 1, 1, 100, 1, 3}; and what is known once it is next. */
TEST(a_series_that_guessed_what_is_not_so_is_computed_again)
{
    static const double guess[6] = {2, 1, 1, 100, 1, 3};
    static const struct {
        const char *what;
        int holds;
        double weight[6]; /* weight, noise, unit, data, scale, largest */
        int encoding;
        const char *method;
        double angle, turn; /* of spokes; 0: not decided */
        larmor_density density;
        double data; /* of the series */
    } cases[] = {
        {"nothing else", 1, {2, 1, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another weight", 0, {2.5, 1, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another noise", 0, {2, 1.5, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another unit", 0, {2, 1, 1.5, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"a weight of data still alike", 0, {2, 1, 1, 110, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"a weight of data not alike", 0, {2, 1, 1, 1000, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another scale", 0, {2, 1, 1, 100, 2, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another largest", 0, {2, 1, 1, 100, 1, 4}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another encoding", 0, {2, 1, 1, 100, 1, 3}, 1, "cg", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another method", 0, {2, 1, 1, 100, 1, 3}, 0, "tv", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"no weight at all", 0, {0}, 0, "", 0, 0, LARMOR_DENSITY_AUTO, 100},
        {"another weight, its own taken", 1, {2.5, 1, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_AUTO, 1000},
        {"other angles", 0, {2, 1, 1, 100, 1, 3}, 0, "cg", 23, 360, LARMOR_DENSITY_AUTO, 100},
        {"another turn", 0, {2, 1, 1, 100, 1, 3}, 0, "cg", 111, 180, LARMOR_DENSITY_AUTO, 100},
        {"the same angles", 1, {2, 1, 1, 100, 1, 3}, 0, "cg", 111, 360, LARMOR_DENSITY_AUTO, 100},
        {"another density", 0, {2, 1, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_PIPE, 100},
        {"the same density", 1, {2, 1, 1, 100, 1, 3}, 0, "cg", 0, 0, LARMOR_DENSITY_RAMP, 100},
    };
    const lmr_settings settings = {.opts = {.lambda_mode = LARMOR_LAMBDA_AUTO}};
    const lmr_scan_facts facts = {.automatic = 1};
    const lmr_job job = {.settings = &settings, .facts = &facts, .found.method.kind = LMR_METHOD_CG};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lmr_series_state known = {weight_of(cases[i].weight, cases[i].encoding, cases[i].method),
                                        {cases[i].angle > 0, cases[i].angle, cases[i].turn, ""},
                                        cases[i].density};
        lmr_task t = {.before = {.chosen = weight_of(guess, 0, "cg")}};
        t.found.weight_conditions = (lmr_weight_conditions){.known = 1, .data = cases[i].data, .scale = 1};
        t.found.decided = (lmr_series_state){t.before.chosen, {1, 111, 360, ""}, LARMOR_DENSITY_RAMP};
        if (lmr_guess_holds(&job, &known, &t) != cases[i].holds) fail_msg("%s", cases[i].what);
    }
}

/* Slice 1, whose weight was chosen beside a guess of slice 0: that guess was right, or wrong. */
TEST(an_image_that_chose_beside_a_guess_depends_on_what_it_was_held_to)
{
    static const struct {
        const char *what;
        int holds;
        double size, part;
        int contrast;
        larmor_lambda_from from;
    } cases[] = {
        {"a slice of another size", 1, 10, 0, 0, LARMOR_LAMBDA_FROM_DATA},
        {"the same without a prediction", 0, 10, 0, 0, LARMOR_LAMBDA_FROM_SCAN},
        {"a slice of this size", 0, 1, 0, 0, LARMOR_LAMBDA_FROM_SCAN},
        {"an echo that was held to it", 0, 10, 0, 1, LARMOR_LAMBDA_FROM_DATA},
        {"an echo that shared it", 0, 1, 0.5, 1, LARMOR_LAMBDA_FROM_SCAN},
    };
    const lmr_settings settings = {.opts = {.lambda_mode = LARMOR_LAMBDA_AUTO}};
    const lmr_scan_facts facts = {.automatic = 0};
    const lmr_job job = {.settings = &settings, .facts = &facts, .found.method.kind = LMR_METHOD_CG};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lmr_weight guess = {.weight = 2, .unit = 1, .data = 100, .scale = 1, .size = 1, .part = {0, cases[i].part}};
        lmr_weight known = guess;
        const lmr_weight_conditions now = {1, 100, 1, 0, 1, cases[i].contrast, cases[i].size};
        assert_true(lmr_weight_guess_holds(&job, &known, &guess, &now, cases[i].from));
        known.weight = 3;
        if (lmr_weight_guess_holds(&job, &known, &guess, &now, cases[i].from) != cases[i].holds)
            fail_msg("%s", cases[i].what);
        known = guess;
        known.part[1] = 0.25;
        assert_int_equal(lmr_weight_guess_holds(&job, &known, &guess, &now, cases[i].from), cases[i].contrast == 0);
    }
}

TEST(parts_that_two_devices_found_are_both_kept)
{
    lmr_weight before = {.weight = 2}, first = before, second = before, known = before;
    first.part[1] = 0.5;
    second.part[2] = 0.25;
    lmr_weight_take(&before, &first, &known);
    lmr_weight_take(&before, &second, &known);
    assert_true(known.weight == 2 && known.part[1] == 0.5 && known.part[2] == 0.25);
}

TEST(series_in_any_order_and_again_are_those_of_one_device)
{
    static const int mixed[] = {2, 3, 0, 0, 3, 1, -1};
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    expect_same(&s, QUICK(.iters = 5), mixed, 1e-2);
}

TEST(an_image_that_cannot_be_made_leaves_the_others)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    assert_ok(larmor_fill(s.image[1].traj, N / 2 - 1)); /* none of its samples is where maps come from */
    s.image[1].meta.slice = 1;
    expect_same(&s, QUICK(.iters = 5, .maps_method = "walsh"), in_order, 1e-2);
    OWNED(outcome) o = run_on(group(0), &s, OPTS(.iters = 5, .maps_method = "walsh"), in_order);
    assert_int_equal(o.report[1].status, LARMOR_ERR_NUMERIC);
}

TEST(all_devices_of_a_group_take_part_and_say_so)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    OWNED(outcome) o = run_on(group(0), &s, OPTS(.iters = 30, .tol = -1), in_order);
    for (int i = 0; i < 4; i++) assert_string_equal(o.report[i].device, alone());
    assert_at_most(fabs(1 - o.fraction), 1e-9);
}

TEST(the_maps_of_the_last_series_can_be_had)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    for (int i = 0; i < 3; i++) s.image[i].meta.slice = i;
    float *maps[2];
    for (int g = 0; g < 2; g++) {
        OWNED(outcome) o = {.runs = 0};
        OWNED(larmor_recon) *recon =
            open_on(g ? group(0) : alone(), &s, OPTS(.method = "grid", .keep_density = 1), &o);
        run_one(recon, 0, &o);
        run_one(recon, 1, &o);
        OWN(larmor_array, *x, larmor_recon_maps(recon, &x, NULL));
        OWN(larmor_array, *weights, larmor_recon_density(recon, &weights));
        assert_int_equal(larmor_array_count(weights), SAMPLES * SPOKES);
        maps[g] = host_of(x);
    }
    assert_at_most(apart_by(maps[1], maps[0]), is_cpu() ? 0 : 1e-3);
    LMR_FREE(maps[0], maps[1]);
}

TEST(a_listener_that_stops_gets_the_iterate_and_can_go_on)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    const larmor_recon_opts opts = OPTS(.iters = 400, .tol = -1);
    OWNED(outcome) o = {.stop_in = 1}, expected = run_on(alone(), &s, opts, in_order);
    OWNED(larmor_recon) *recon = open_on(group(0), &s, opts, &o);
    run_one(recon, 0, &o);
    assert_true(o.status[0] == LARMOR_STOPPED || o.report[0].interrupted);
    o.stop_in = 0;
    for (int i = 0; i < 4; i++) run_one(recon, i, &o);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(o.status[i + 1], LARMOR_OK);
        assert_false(o.report[i + 1].interrupted);
        assert_at_most(apart_by(o.image[i + 1], expected.image[i]), is_cpu() ? 0 : 1e-2);
    }
}

static int asked;

static int stop_asked(void *user LMR_UNUSED)
{
    return asked++ > 0;
}

TEST(a_thread_that_is_to_stop_stops_all)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    outcome o = {.runs = 0};
    OWNED(larmor_recon) *recon =
        open_on(group(0), &s, OPTS(.iters = 100000, .tol = -1, .lambda_mode = LARMOR_LAMBDA_NOISE), &o);
    OWNED(larmor_recon_result) result;
    larmor_stop_when(stop_asked, NULL);
    const larmor_status st = larmor_recon_run(recon, 0, &result);
    larmor_stop_when(NULL, NULL);
    assert_true(st == LARMOR_STOPPED || result.report.interrupted);
}

/* Freed while others compute ahead, before the first series, and where there are fewer series than devices. */
TEST(a_reconstruction_can_be_left_at_any_time)
{
    for (int images = 1; images < 4; images++)
        for (int runs = 0; runs < 2; runs++) {
            OWNED(scan) s = scan_of(COILS, images, 1e-3);
            OWNED(outcome) o = {.runs = 0};
            OWNED(larmor_recon) *recon = open_on(is_cpu() ? "cpu:1,1,1" : "cuda:0,0,0", &s, OPTS(.iters = 20), &o);
            for (int i = 0; i < runs; i++) run_one(recon, i, &o);
        }
}

TEST(images_of_a_group_are_in_the_processors_memory)
{
    for (int images = 1; images < 3; images++) {
        OWNED(scan) s = scan_of(COILS, images, 1e-3);
        outcome o = {.runs = 0};
        OWNED(larmor_recon) *recon = open_on(group(0), &s, OPTS(.method = "grid"), &o);
        OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
        assert_string_equal(larmor_device_spec(larmor_array_device(result.image[0].data)), "cpu:1");
    }
}

/* Members that take whole series need the memory of one device, those that share coils less. */
TEST(whole_series_are_planned_as_for_one_device)
{
    const int images[] = {3, 1};
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = scan_of(COILS, images[i], 0);
        const larmor_recon_opts opts = OPTS(.maps = s.maps, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3,
                                            .precondition = -1, .compress = -1, .memory = INT64_C(1) << 40);
        const char *const specs[] = {"cpu:1", "cpu:1,1"};
        larmor_recon_plan plan[2];
        for (int d = 0; d < 2; d++) {
            outcome o = {.runs = 0};
            OWNED(larmor_recon) *recon = open_on(specs[d], &s, opts, &o);
            assert_ok(larmor_recon_describe(recon, 0, &plan[d]));
        }
        if (images[i] > 1) assert_int_equal(plan[1].bytes, plan[0].bytes);
        if (images[i] == 1) assert_int_not_equal(plan[1].bytes, plan[0].bytes);
    }
}

static void keep_plan(outcome *o, const char *text)
{
    if (strstr(text, "planned of")) snprintf(o->lines, sizeof o->lines, "%s", text);
}

static int listen_for_plan(void *user, const larmor_event *e)
{
    if (e->kind == LARMOR_EVENT_LOG) keep_plan(user, e->text);
    return 0;
}

/* Images that are computed at the same time on three threads, as the log says; 1: it says nothing of it. */
static int at_once(const scan *s, larmor_recon_opts opts)
{
    outcome o = {.runs = 0};
    larmor_scan_arrays arrays = s->arrays;
    int count = 1, threads = 3;
    arrays.image = s->image;
    opts.listener = listen_for_plan;
    opts.user = &o;
    OWN(larmor_source, *source, larmor_source_of_arrays(&arrays, &source));
    OWN(larmor_device, *on, larmor_device_open("cpu:3", &on));
    OWN(larmor_recon, *recon, larmor_recon_create(source, on, &opts, &recon));
    const char *said = strstr(o.lines, "; ");
    if (said) assert_int_equal(sscanf(said, "; %d images at the same time, %d thread", &count, &threads), 2);
    assert_int_equal(threads, 3 / count);
    return count;
}

TEST(a_processor_computes_as_many_images_at_the_same_time_as_help_and_fit)
{
    const int64_t much = INT64_C(1) << 40;
    OWNED(scan) two = scan_of(COILS, 2, 1e-3), s = scan_of(COILS, 4, 1e-3);
    assert_int_equal(at_once(&s, OPTS(.memory = much)), 3);
    assert_int_equal(at_once(&two, OPTS(.memory = much)), 1); /* the second one has all threads */
    assert_int_equal(at_once(&s, OPTS(.memory = much, .at_once = 1)), 1);
    assert_int_equal(at_once(&s, OPTS(.memory = much, .at_once = 2)), 2);
    assert_int_equal(at_once(&s, OPTS(.memory = much, .at_once = 100)), 3);
    assert_int_equal(at_once(&s, OPTS(.memory = much, .effort = LARMOR_PLAN_MEASURE)), 1);
    outcome o = {.runs = 0};
    larmor_recon_plan plan;
    larmor_recon *recon = open_on("cpu:3", &s, OPTS(.memory = much), &o);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    larmor_recon_free(recon);
    assert_int_equal(at_once(&s, OPTS(.memory = plan.bytes)), 1);
    assert_int_equal(at_once(&s, OPTS(.memory = 2 * plan.bytes, .at_once = 3)), 2);
    assert_int_equal(at_once(&s, OPTS(.memory = 3 * plan.bytes)), 3);
}

TEST(images_beside_each_other_can_be_stopped_and_go_on)
{
    OWNED(scan) s = scan_of(COILS, 4, 1e-3);
    const larmor_recon_opts opts = OPTS(.iters = 400, .tol = -1);
    OWNED(outcome) o = {.stop_in = 3}, expected = run_on("cpu:1", &s, opts, in_order);
    OWNED(larmor_recon) *recon = open_on("cpu:3", &s, opts, &o);
    for (int i = 0; i < 4; i++) run_one(recon, i, &o);
    o.stop_in = 0;
    for (int i = 0; i < 4; i++) run_one(recon, i, &o);
    for (int i = 0; i < 4; i++) assert_at_most(apart_by(o.image[i + 4], expected.image[i]), 0);
}
