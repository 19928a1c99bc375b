/* schedule/slab_threads.c: a volume that no device of a group holds, in slabs of its devices, through the C
 * interface. On a GPU the group is that GPU twice, or thrice, and the volume is larger, so that what is shared is
 * most of it. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "scan/source.h"
#include "tests/pipeline/scan.h"

enum { CHANNELS = 20 };

static int64_t side(void)
{
    return is_cpu() ? 16 : 64;
}

static int64_t readouts(void)
{
    return is_cpu() ? 1200 : 12000;
}

/* A source that asks another one, and fails for threads other than the first where it is told to. */
typedef struct shy {
    larmor_source *inner;
    pthread_t first;
    atomic_int fails;
} shy;

static larmor_status samples_of(void *self, int i, const larmor_grid *grid, int calibration, larmor_device *on,
                                larmor_samples *out)
{
    return lmr_source_samples(((shy *)self)->inner, i, grid, calibration, CHANNELS, on, out);
}

/* What it computes is of its own samples, whatever the ranks sum. */
static larmor_status readouts_of(void *self, int i, const int64_t *readout, int64_t count, const larmor_grid *grid,
                                 larmor_device *on, larmor_samples *out)
{
    shy *s = self;
    double size;
    if (s->fails && !pthread_equal(pthread_self(), s->first))
        return larmor_fail(LARMOR_ERR_IO, "these readouts cannot be read");
    const larmor_status st = lmr_source_readouts(s->inner, i, readout, count, grid, on, out);
    return st || !out->kspace ? st : larmor_nrm2(out->kspace, &size);
}

static const larmor_source_impl impl = {.samples = samples_of, .readouts = readouts_of};

/* ---- the scan ---- */

typedef struct volume {
    larmor_readouts image[2];
    shy shy;
    larmor_source *source;
} volume;

static void make_volume(volume *v)
{
    const int64_t n = side();
    const larmor_scan_arrays arrays = {.matrix = {n, n, n}, .image = v->image, .images = 2};
    *v = (volume){.shy = {.first = pthread_self()}};
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 3, &phantom));
    for (int i = 0; i < 2; i++) {
        const larmor_traj_opts opts = {.matrix = {n, n, n}, .readouts = readouts(), .samples = 2 * n, .first = i};
        larmor_readouts *r = &v->image[i];
        assert_ok(larmor_traj_create(dev, "koosh", &opts, &r->traj));
        assert_ok(larmor_phantom_kspace(phantom, r->traj, CHANNELS, LARMOR_C64, &r->kspace));
        assert_ok(larmor_phantom_noise(r->kspace, 1e-3, 1 + (uint64_t)i));
        r->meta.repetition = i;
    }
    assert_ok(larmor_source_of_arrays(&arrays, &v->shy.inner));
    assert_ok(lmr_source_create_before(&v->shy.inner, &impl, &v->shy, &v->source));
}

static void end_volume(volume *v)
{
    larmor_source_free(v->source);
    larmor_source_free(v->shy.inner);
    for (int i = 0; i < 2; i++) LMR_FREE(v->image[i].kspace, v->image[i].traj);
}

/* ---- reconstructions ---- */

typedef struct heard {
    char lines[8192];
    pthread_t caller;
    int steps, stop_at;  /* stop_at: the step that asks to stop; 0: none */
    const char *stop_in; /* a stage in which it is asked to stop, or NULL */
    int stage_passes;    /* so often it does not */
} heard;

static int listen(void *user, const larmor_event *e)
{
    heard *h = user;
    const size_t used = strlen(h->lines);
    assert_true(pthread_equal(pthread_self(), h->caller));
    if (e->kind == LARMOR_EVENT_LOG || e->kind == LARMOR_EVENT_WARNING)
        snprintf(h->lines + used, sizeof h->lines - used, "%s\n", e->text);
    if (e->kind == LARMOR_EVENT_STAGE && h->stop_in && !strcmp(e->stage, h->stop_in)) return h->stage_passes-- <= 0;
    return e->kind == LARMOR_EVENT_STEP && ++h->steps == h->stop_at;
}

#define VOLUME_OPTS(...)                                                                                             \
    OPTS(.maps_method = "walsh", .iters = 2, .tol = -1, .eps = 1e-7, .lambda_mode = LARMOR_LAMBDA_RELATIVE,          \
         .lambda = 0, .calibration = 8, .precondition = -1, .compress = -1, .delays = LARMOR_DELAYS_OFF,             \
         .oversample = {1, 1, 1}, ##__VA_ARGS__)

static larmor_status try_on(const char *spec, const volume *v, larmor_recon_opts opts, heard *h, larmor_recon **recon)
{
    h->caller = pthread_self();
    opts.listener = listen;
    opts.user = h;
    OWN(larmor_device, *on, larmor_device_open(spec, &on));
    return larmor_recon_create(v->source, on, &opts, recon);
}

static const char *devices(int count)
{
    static const char *const cpu[] = {"cpu:1", "cpu:1,1", "cpu:1,1,1"};
    static const char *const gpu[] = {"cuda:0", "cuda:0,0", "cuda:0,0,0"};
    return is_cpu() ? cpu[count - 1] : gpu[count - 1];
}

/* Slabs with so much memory; -1: it is not enough for them. */
static int slabs_with(const volume *v, int count, int64_t memory)
{
    heard h = {.steps = 0};
    OWNED(larmor_recon) *recon;
    larmor_recon_plan plan;
    const larmor_status st = try_on(devices(count), v, VOLUME_OPTS(.memory = memory), &h, &recon);
    if (st == LARMOR_ERR_MEMORY) return -1;
    assert_ok(st);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    return plan.slabs;
}

/* The most memory with which so many devices take the volume in slabs, to 3 %; all volumes are alike. */
static int64_t scarce(const volume *v, int count)
{
    static int64_t found[4];
    if (found[count]) return found[count];
    heard h = {.steps = 0};
    larmor_recon_plan plan;
    larmor_recon *recon = MADE(larmor_recon, try_on(devices(count), v, VOLUME_OPTS(), &h, &made));
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    larmor_recon_free(recon);
    assert_int_equal(plan.slabs, 0);
    double less = (double)plan.bytes / 3, more = (double)plan.bytes;
    while (less < 0.97 * more) {
        const double memory = sqrt(less * more);
        if (slabs_with(v, count, (int64_t)memory) == 0)
            more = memory;
        else
            less = memory;
    }
    if (slabs_with(v, count, (int64_t)less) > 0) return found[count] = (int64_t)less;
    print_message("no limit of memory makes slabs of %s\n", devices(count));
    assert_false(is_cpu());
    skip();
    return 0;
}

static float *run(larmor_recon *recon, int series, larmor_recon_report *report)
{
    OWN(larmor_recon_result, result, larmor_recon_run(recon, series, &result));
    assert_int_equal(result.count, 1);
    float *values = host_of(result.image[0].data);
    if (report) *report = result.report;
    if (report) assert_string_equal(larmor_device_spec(larmor_array_device(result.image[0].data)), "cpu:1");
    return values;
}

static double apart_by(const float *x, const float *y)
{
    double d = 0, whole = 0;
    for (int64_t i = 0; i < 2 * side() * side() * side(); i++) {
        d += (double)(x[i] - y[i]) * (x[i] - y[i]);
        whole += (double)y[i] * y[i];
    }
    return sqrt(d / whole);
}

TEST(the_image_of_devices_that_hold_slabs_is_that_of_one_that_holds_all)
{
    OWNED(volume) v;
    make_volume(&v);
    heard h = {.steps = 0};
    larmor_recon_report report;
    larmor_recon_plan plan;
    larmor_array *maps;
    float *whole[2];
    larmor_recon *recon = MADE(larmor_recon, try_on(devices(1), &v, VOLUME_OPTS(), &h, &made));
    for (int s = 0; s < 2; s++) whole[s] = run(recon, s, NULL);
    larmor_recon_free(recon);
    for (int count = 2; count < 4; count++) {
        const int64_t memory = scarce(&v, count);
        HEAP float *first = NULL;
        for (int round = 0; round < 4 - count; round++) { /* the second round is of the first image alone */
            h = (heard){.steps = 0};
            assert_ok(try_on(devices(count), &v, VOLUME_OPTS(.memory = memory), &h, &recon));
            assert_ok(larmor_recon_describe(recon, 0, &plan));
            assert_int_equal(plan.slabs, count);
            assert_true(plan.bytes <= memory);
            float *values = run(recon, 0, &report);
            HEAP float *second = round ? NULL : run(recon, 1, NULL); /* by the first one's maps */
            assert_refused(larmor_recon_maps(recon, &maps, NULL), LARMOR_ERR_UNSUPPORTED,
                           "each device has those of its planes");
            assert_string_equal(report.device, devices(count));
            assert_at_most(apart_by(values, whole[0]), 1e-5);
            if (second) assert_at_most(apart_by(second, whole[1]), 1e-5);
            assert_non_null(strstr(h.lines, "slabs: the volume does not fit into one device"));
            const char *source = strstr(h.lines, "arrays: ");
            assert_non_null(source);
            assert_null(strstr(source + 1, "arrays: ")); /* each line once */
            if (round) assert_at_most(apart_by(values, first), is_cpu() ? 0 : 1e-5);
            larmor_recon_free(recon);
            if (round)
                free(values);
            else
                first = values;
        }
    }
    LMR_FREE(whole[0], whole[1]);
}

TEST(the_error_of_a_device_is_one_of_the_call_and_the_next_one_works)
{
    OWNED(volume) v;
    make_volume(&v);
    heard h = {.steps = 0};
    OWNED(larmor_recon) *recon;
    larmor_recon_result result;
    const int64_t memory = scarce(&v, 3);
    v.shy.fails = 1;
    assert_refused(try_on(devices(3), &v, VOLUME_OPTS(.memory = memory), &h, &recon), LARMOR_ERR_IO,
                   "rank 1: these readouts cannot be read");
    assert_null(recon);
    v.shy.fails = 0;
    assert_ok(try_on(devices(3), &v, VOLUME_OPTS(.memory = memory), &h, &recon));
    HEAP float *whole = run(recon, 0, NULL);
    v.shy.fails = 1;
    assert_refused(larmor_recon_run(recon, 1, &result), LARMOR_ERR_IO, "rank 1: these readouts cannot be read");
    v.shy.fails = 0;
    HEAP float *again = run(recon, 0, NULL);
    assert_at_most(apart_by(again, whole), is_cpu() ? 0 : 1e-5);
}

TEST(a_listener_that_stops_stops_all_and_can_go_on)
{
    static const char *const stages[] = {"samples", "coil maps", "operator"};
    OWNED(volume) v;
    make_volume(&v);
    heard h = {.steps = 0};
    larmor_recon_result result;
    const int64_t memory = scarce(&v, 2);
    larmor_recon *recon = MADE(larmor_recon, try_on(devices(2), &v, VOLUME_OPTS(.memory = memory), &h, &made));
    const pthread_t caller = h.caller;
    for (int i = 0; i < 3; i++) { /* maps are kept once they are there */
        h = (heard){.caller = caller, .stop_in = stages[i]};
        assert_int_equal(larmor_recon_run(recon, i % 2, &result), LARMOR_STOPPED);
        larmor_recon_result_free(&result);
    }
    h = (heard){.caller = caller, .stop_at = 1};
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_true(result.report.interrupted);
    assert_int_equal(result.report.solver.iters, 1);
    larmor_recon_result_free(&result);
    h = (heard){.caller = caller};
    larmor_recon_report report;
    free(run(recon, 0, &report));
    assert_false(report.interrupted);
    assert_int_equal(report.solver.iters, 2);
    larmor_recon_free(recon);
    for (int passes = 0; passes < 2; passes++) { /* before and after the restart, if the stage is there twice */
        h = (heard){.stop_in = "field of view", .stage_passes = passes};
        const larmor_status st = try_on(devices(2), &v, VOLUME_OPTS(.memory = memory), &h, &recon);
        assert_true(st == LARMOR_STOPPED || passes);
        larmor_recon_free(recon);
    }
}

TEST(what_is_not_for_slabs_and_what_does_not_fit_either_is_refused_in_a_line)
{
    OWNED(volume) v;
    make_volume(&v);
    heard h = {.steps = 0};
    larmor_recon *recon;
    larmor_source_impl no_readouts = impl;
    larmor_source *with = v.source;
    const char *two = devices(2);
    const int64_t memory = 1 << 20;
    assert_refused(try_on(two, &v, VOLUME_OPTS(.memory = memory), &h, &recon), LARMOR_ERR_MEMORY,
                   "for a slab of the volume on each of 2 devices");
    assert_non_null(strstr(larmor_last_error(), "Raise opts.memory, or name more devices."));
    assert_refused(try_on(two, &v, VOLUME_OPTS(.memory = memory, .method = "tv"), &h, &recon), LARMOR_ERR_MEMORY,
                   "the devices cannot share the volume in slabs, as the method is not cg.");
    assert_refused(try_on(two, &v, VOLUME_OPTS(.memory = memory, .weighted = 1), &h, &recon), LARMOR_ERR_MEMORY,
                   "in slabs, as samples are weighted by density.");
    no_readouts.readouts = NULL;
    assert_ok(lmr_source_create_before(&v.shy.inner, &no_readouts, &v.shy, &v.source));
    assert_refused(try_on(two, &v, VOLUME_OPTS(.memory = memory), &h, &recon), LARMOR_ERR_MEMORY,
                   "in slabs, as the source gives no single readouts.");
    larmor_source_free(v.source);
    v.source = with;
}
