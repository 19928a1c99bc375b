/* schedule/checkpoint.c, archive.c and fingerprint.c: a reconstruction goes on from what was kept, in a place that is
 * memory. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

/* ---- a place in memory ---- */

typedef struct place {
    unsigned char *kept, *next;
    int64_t bytes, room, at;
    int saves, most; /* most: as if killed after so many; 0: never */
    int fails;       /* 1: nothing can be saved */
} place;

static larmor_status open_place(void *self, int64_t *bytes)
{
    *bytes = ((place *)self)->bytes;
    return LARMOR_OK;
}

static larmor_status get(void *self, int64_t first, void *to, size_t bytes)
{
    const place *p = self;
    assert_true(first >= 0 && first + (int64_t)bytes <= p->bytes);
    memcpy(to, p->kept + first, bytes);
    return LARMOR_OK;
}

static larmor_status begin(void *self, int64_t bytes)
{
    place *p = self;
    if (p->fails) return larmor_fail(LARMOR_ERR_IO, "the disk is full");
    free(p->next);
    p->next = malloc((size_t)bytes + 1);
    assert_non_null(p->next);
    p->room = bytes;
    p->at = 0;
    return LARMOR_OK;
}

static larmor_status put(void *self, const void *from, size_t bytes)
{
    place *p = self;
    assert_true(p->at + (int64_t)bytes <= p->room);
    memcpy(p->next + p->at, from, bytes);
    p->at += (int64_t)bytes;
    return LARMOR_OK;
}

static larmor_status commit(void *self)
{
    place *p = self;
    assert_int_equal(p->at, p->room);
    if (p->most && p->saves >= p->most) return LARMOR_OK;
    free(p->kept);
    p->kept = p->next;
    p->bytes = p->room;
    p->next = NULL;
    p->saves++;
    return LARMOR_OK;
}

static larmor_status clear_place(void *self)
{
    place *p = self;
    LMR_FREE(p->kept, p->next);
    p->kept = p->next = NULL;
    p->bytes = 0;
    return LARMOR_OK;
}

static larmor_checkpoint *checkpoint_of(place *p)
{
    static const larmor_checkpoint_impl impl = {open_place, get, begin, put, commit, clear_place, NULL};
    return MADE(larmor_checkpoint, larmor_checkpoint_create("memory", &impl, p, &made));
}

/* Without what takes most of the time of a preparation, and is not what a test is about. */
#define SHORT .delays = LARMOR_DELAYS_OFF

/* ---- whole scans ---- */

typedef struct outcome {
    larmor_recon_result series[MOST_IMAGES];
    int count;
} outcome;

static void end_outcome(outcome *o)
{
    for (int i = 0; i < o->count; i++) larmor_recon_result_free(&o->series[i]);
}

/* As if the process had ended there. */
static int is_killed(void *user, const larmor_event *e LMR_UNUSED)
{
    const place *p = user;
    return p->most && p->saves >= p->most;
}

/* All series, or those before the one that the listener stops. */
static outcome run_at(const scan *s, larmor_recon_opts opts, place *p, notes *n)
{
    outcome o = {.count = 0};
    larmor_checkpoint *c = p ? checkpoint_of(p) : NULL;
    opts.checkpoint = c;
    if (p) {
        opts.listener = is_killed;
        opts.user = p;
    }
    if (n) {
        opts.listener = take_note;
        opts.user = n;
    }
    OWNED(larmor_recon) *recon = recon_of(s, &opts);
    larmor_checkpoint_free(c);
    for (; o.count < larmor_recon_series(recon); o.count++) {
        larmor_recon_result *r = &o.series[o.count];
        const larmor_status st = larmor_recon_run(recon, o.count, r);
        if (st == LARMOR_STOPPED) break;
        assert_ok(st);
        if (!r->report.interrupted) continue;
        larmor_recon_result_free(r);
        break;
    }
    return o;
}

static void same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->count, b->count);
    for (int s = 0; s < a->count; s++) {
        const larmor_recon_result *x = &a->series[s], *y = &b->series[s];
        assert_int_equal(x->count, y->count);
        for (int i = 0; i < x->count; i++) {
            assert_int_equal(x->image[i].group, y->image[i].group);
            assert_int_equal(x->image[i].meta.repetition, y->image[i].meta.repetition);
            assert_true(x->image[i].meta.fov_mm[0] == y->image[i].meta.fov_mm[0]);
            assert_at_most(difference(x->image[i].data, y->image[i].data), is_cpu() ? 0 : 1e-2);
        }
        if (!is_cpu()) continue;
        assert_int_equal(x->report.solver.iters, y->report.solver.iters);
        assert_int_equal(x->report.lambda_from, y->report.lambda_from);
        assert_true(x->report.weight == y->report.weight && x->report.lambda == y->report.lambda);
        assert_true(x->report.noise == y->report.noise && x->report.largest == y->report.largest);
        assert_int_equal(x->report.choice.tried, y->report.choice.tried);
        assert_int_equal(x->report.toeplitz, y->report.toeplitz);
        assert_int_equal(x->report.preconditioned, y->report.preconditioned);
        assert_memory_equal(x->report.grid, y->report.grid, sizeof x->report.grid);
        assert_memory_equal(&x->report.coverage, &y->report.coverage, sizeof x->report.coverage);
        assert_true(x->report.maps.sampled == y->report.maps.sampled);
        assert_true(x->report.maps.dominance == y->report.maps.dominance);
        assert_true(x->report.image_noise == y->report.image_noise);
        assert_true(x->report.solver.left == y->report.solver.left);
        assert_string_equal(x->report.device, y->report.device);
    }
}

/* Killed after one save and after the last, and evenly in between; of two points in the midst of them: what was
 * kept then leads to the same images. */
static void killed_anywhere(const scan *s, larmor_recon_opts opts, int points)
{
    const int inner = points == 2; /* of three intervals */
    opts.checkpoint_every = -1;
    place whole = {.saves = 0};
    outcome expected = run_at(s, opts, NULL, NULL), kept = run_at(s, opts, &whole, NULL);
    same(&kept, &expected); /* keeping changes nothing */
    end_outcome(&kept);
    assert_true(whole.saves > 1);
    for (int i = 0; i < points; i++) {
        place p = {.most = 1 + (i + inner) * (whole.saves - 1) / (inner ? 3 : points - 1)};
        outcome first = run_at(s, opts, &p, NULL);
        end_outcome(&first);
        p.most = 0;
        OWNED(outcome) again = run_at(s, opts, &p, NULL);
        same(&again, &expected);
        clear_place(&p);
    }
    clear_place(&whole);
    end_outcome(&expected);
}

TEST(a_run_that_is_killed_anywhere_gives_the_same_images_when_it_goes_on)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    killed_anywhere(&s, OPTS(.method = "cg"), 5);
    /* what is prepared has been kept by then, and the rest is without the search for delays */
    killed_anywhere(&s, OPTS(.method = "grid", SHORT), 3);
    killed_anywhere(&s, OPTS(.method = "cg", .weighted = 1, .keep_density = 1, .precondition = -1, SHORT), 2);
    killed_anywhere(&s, OPTS(.method = "tv", .iters = 12, SHORT), 3);
    killed_anywhere(&s, OPTS(.method = "tv", .joint = 1, .iters = 12, .maps = s.maps, SHORT), 2);
    killed_anywhere(&s, OPTS(.method = "tgv", .iters = 8, .maps = s.maps, SHORT), 2);
    killed_anywhere(&s, OPTS(.method = "wavelet", .iters = 8, SHORT), 2);
    killed_anywhere(&s, OPTS(.method = "llr", .iters = 12, SHORT), 2);
    killed_anywhere(&s, OPTS(.method = "cg", .eps = 1e-8, .iters = 8, SHORT), 2);
}

/* The weight of several sets is chosen by the first. */
TEST(so_does_one_with_several_sets_of_maps)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    larmor_array *part;
    OWN(larmor_array, *sets, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, COILS, 2), &sets));
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_array_part(sets, i, 1, LARMOR_SHAPE(N, N, COILS), &part));
        assert_ok(larmor_axpby(i ? 0.1 : 1, s.maps, 0, part));
        larmor_array_free(part);
    }
    killed_anywhere(&s, OPTS(.method = "cg", .maps = sets, .iters = 10, SHORT), 3);
}

TEST(a_listener_that_stops_a_solver_loses_no_step)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    const larmor_recon_opts opts = OPTS(.method = "cg", .lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1, .tol = -1,
                                        .iters = 8, .maps = s.maps, SHORT);
    OWNED(outcome) expected = run_at(&s, opts, NULL, NULL);
    for (int at = 1; at <= 16; at += 3) {
        place p = {.saves = 0};
        notes first = {.stop_at_step = at}, again = {.resumed = 1};
        OWNED(outcome) stopped = run_at(&s, opts, &p, &first);
        assert_int_equal(stopped.count, at > 8);
        assert_int_equal(p.saves, 1); /* the time for one is not come */
        assert_noted(first, "checkpoint memory: saved; the same command goes on from there");
        OWNED(outcome) rest = run_at(&s, opts, &p, &again);
        same(&rest, &expected);
        assert_int_equal(first.steps + again.steps, 16);
        clear_place(&p);
    }
}

TEST(a_weight_that_was_chosen_is_not_chosen_again)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    const char *const methods[] = {"cg", "tv"};
    for (int m = 0; m < 2; m++) {
        larmor_recon_opts opts = OPTS(.method = methods[m], .iters = 6, .tol = -1, .checkpoint_every = -1);
        place p = {.most = 1};
        notes first = {.steps = 0}, again = {.steps = 0};
        outcome o = run_at(&s, opts, &p, &first);
        end_outcome(&o);
        assert_noted(first, "S:choosing lambda");
        p.most = 0;
        o = run_at(&s, opts, &p, &again);
        assert_noted(again, "checkpoint memory: 0 of 1 series done, one begun: image 1 of 1");
        assert_null(strstr(again.text, "S:choosing lambda"));
        assert_int_equal(again.steps, 5);
        assert_true(o.series[0].report.choice.tried > 1);
        end_outcome(&o);
        clear_place(&p);
    }
}

/* Also where no series is run after it. */
TEST(maps_and_density_are_those_of_the_last_series)
{
    OWNED(scan) s = scan_of(COILS, 3, 1e-3);
    larmor_array *maps[2], *density[2];
    place p = {.saves = 0};
    for (int again = 0; again < 2; again++) {
        OWNED(larmor_checkpoint) *c = checkpoint_of(&p);
        const larmor_recon_opts opts =
            OPTS(.method = "grid", .keep_density = 1, .checkpoint = c, .checkpoint_every = -1);
        OWNED(larmor_recon) *recon = recon_of(&s, &opts);
        larmor_recon_result result;
        for (int i = 0; i < 3; i++) {
            assert_ok(larmor_recon_run(recon, i, &result));
            larmor_recon_result_free(&result);
        }
        assert_ok(larmor_recon_maps(recon, &maps[again], NULL));
        assert_ok(larmor_recon_density(recon, &density[again]));
    }
    assert_at_most(difference(maps[0], maps[1]), is_cpu() ? 0 : 1e-4);
    assert_int_equal(larmor_array_count(density[0]), larmor_array_count(density[1]));
    HEAP float *x = host_of(density[0]), *y = host_of(density[1]);
    if (is_cpu()) assert_memory_equal(x, y, larmor_array_bytes(density[0]));
    for (int i = 0; i < 2; i++) LMR_FREE(maps[i], density[i]);
    clear_place(&p);
}

TEST(a_series_that_is_run_again_is_computed)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    place p = {.saves = 0};
    larmor_recon_opts opts = OPTS(.method = "cg", .iters = 5, .tol = -1, .maps = s.maps, .checkpoint_every = -1);
    OWNED(outcome) o = run_at(&s, opts, &p, NULL);
    notes n = {.resumed = 1};
    larmor_recon_result result;
    larmor_checkpoint *c = checkpoint_of(&p);
    opts.checkpoint = c;
    opts.listener = take_note;
    opts.user = &n;
    larmor_recon *recon = recon_of(&s, &opts);
    for (int again = 0; again < 2; again++) {
        assert_ok(larmor_recon_run(recon, 0, &result));
        assert_true(again ? n.steps >= 5 : n.steps == 0);
        assert_at_most(difference(result.image[0].data, o.series[0].image[0].data), is_cpu() ? 0 : 1e-3);
        larmor_recon_result_free(&result);
    }
    larmor_recon_free(recon);
    larmor_checkpoint_free(c);
    clear_place(&p);
}

TEST(what_is_done_is_saved_when_it_is_asked_for)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    place p = {.saves = 0};
    larmor_checkpoint *c = checkpoint_of(&p);
    const larmor_recon_opts opts = OPTS(.method = "grid", .checkpoint = c);
    larmor_recon *recon = recon_of(&s, &opts);
    larmor_recon_result result;
    assert_ok(larmor_recon_save(recon));
    assert_int_equal(p.saves, 0);
    assert_ok(larmor_recon_run(recon, 1, &result));
    assert_int_equal(p.saves, 0);
    assert_ok(larmor_recon_save(recon));
    assert_ok(larmor_recon_save(recon));
    assert_int_equal(p.saves, 1);
    p.fails = 1;
    larmor_recon_result_free(&result);
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_refused(larmor_recon_save(recon), LARMOR_ERR_IO, "the disk is full");
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
    larmor_checkpoint_free(c);
    clear_place(&p);
}

TEST(what_cannot_be_kept_is_a_warning)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    const larmor_recon_opts opts = OPTS(.method = "cg", .iters = 5, .maps = s.maps, .checkpoint_every = -1);
    place p = {.fails = 1};
    notes n = {.steps = 0};
    OWNED(outcome) expected = run_at(&s, opts, NULL, NULL), got = run_at(&s, opts, &p, &n);
    same(&got, &expected);
    const char *said = strstr(n.text, "W:no checkpoint: the disk is full");
    assert_non_null(said);
    assert_null(strstr(said + 1, "W:no checkpoint"));
}

/* ---- what is refused ---- */

static larmor_status try_with(const scan *s, larmor_recon_opts opts, place *p)
{
    OWNED(larmor_checkpoint) *c = checkpoint_of(p);
    OWNED(larmor_recon) *recon;
    opts.checkpoint = c;
    return try_recon(s, &opts, &recon);
}

TEST(a_checkpoint_of_another_scan_is_refused)
{
    const larmor_recon_opts opts = OPTS(.method = "cg", .iters = 3, .checkpoint_every = -1);
    place p = {.saves = 0};
    OWNED(scan) s = scan_of(COILS, 2, 1e-3), other = scan_of(COILS, 2, 1.001e-3);
    OWNED(outcome) o = run_at(&s, opts, &p, NULL);
    assert_ok(try_with(&s, opts, &p));
    assert_refused(
        try_with(&other, opts, &p), LARMOR_ERR_FORMAT,
        "opts.checkpoint memory: belongs to another scan, or to one that was changed since. Choose another "
        "name, or delete it to start again.");
    larmor_array *traj = s.image[1].traj;
    OWN_MEMORY(double, *values, larmor_array_download(traj, LARMOR_F64, &values));
    values[77] += 1e-9;
    assert_ok(larmor_array_write(traj, values, larmor_array_bytes(traj)));
    assert_refused(try_with(&s, opts, &p), LARMOR_ERR_FORMAT, "another scan");
    clear_place(&p);
}

TEST(a_checkpoint_of_other_options_is_refused)
{
    place p = {.saves = 0};
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    const larmor_counters first = {-1, -1, -1, 0, -1, 0};
    const larmor_recon_opts base = OPTS(.method = "cg", .iters = 3, .checkpoint_every = -1, SHORT);
    const larmor_recon_opts others[] = {
        OPTS(.method = "tv", .iters = 3),
        OPTS(.method = "cg", .iters = 4),
        OPTS(.method = "cg", .iters = 3, .tol = 1e-3),
        OPTS(.method = "cg", .iters = 3, .lambda_mode = LARMOR_LAMBDA_NOISE, .lambda = 1),
        OPTS(.method = "cg", .iters = 3, .matrix = {16, 16}),
        OPTS(.method = "cg", .iters = 3, .fov_mm = {40, 40}),
        OPTS(.method = "cg", .iters = 3, .oversample = {1.5}),
        OPTS(.method = "cg", .iters = 3, .maps = s.maps),
        OPTS(.method = "cg", .iters = 3, .calibration = 16),
        OPTS(.method = "cg", .iters = 3, .no_whitening = 1),
        OPTS(.method = "cg", .iters = 3, .weighted = 1),
        OPTS(.method = "cg", .iters = 3, .weighted = 1, .density = LARMOR_DENSITY_PIPE),
        OPTS(.method = "cg", .iters = 3, .eps = 1e-4),
        OPTS(.method = "cg", .iters = 3, .effort = LARMOR_PLAN_MEASURE),
        OPTS(.method = "cg", .iters = 3, .toeplitz = -1),
        OPTS(.method = "cg", .iters = 3, .precondition = -1),
        OPTS(.method = "cg", .iters = 3, .only = &first),
        OPTS(.method = "cg", .iters = 3, .delays = LARMOR_DELAYS_GIVEN, .delay = {0.1}),
        OPTS(.method = "cg", .iters = 3),
    };
    const size_t count = sizeof others / sizeof *others;
    OWNED(outcome) o = run_at(&s, base, &p, NULL);
    for (size_t i = 0; i < count; i++) {
        larmor_recon_opts other = others[i];
        if (i < count - 2) other.delays = LARMOR_DELAYS_OFF; /* as of base */
        assert_refused(
            try_with(&s, other, &p), LARMOR_ERR_FORMAT,
            "opts.checkpoint memory: belongs to a reconstruction with other options. Choose another name, or "
            "delete it to start again.");
    }
    const larmor_recon_opts alike[] = {
        OPTS(.method = "cg", .iters = 3, .checkpoint_every = 1, SHORT),
        OPTS(.method = "cg", .iters = 3, .maps_name = "a.npy", SHORT),
        OPTS(.method = "cg", .iters = 3, .memory = INT64_C(1) << 33, SHORT),
        OPTS(.method = "cg", .iters = 3, .keep_density = 1, SHORT),
    };
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) assert_ok(try_with(&s, alike[i], &p));
    clear_place(&p);
}

/* Records are kept as they lie in memory: the bytes of one of another size are not read as those of one's own. */
TEST(a_checkpoint_of_records_of_another_size_is_refused)
{
    enum { HEAD = 64 };
    const int64_t size = sizeof(larmor_recon_report);
    const larmor_recon_opts opts = OPTS(.method = "grid", .checkpoint_every = -1, SHORT);
    place p = {.saves = 0};
    OWNED(scan) s = scan_of(1, 1, 1e-3);
    outcome o = run_at(&s, opts, &p, NULL);
    int64_t *kept = NULL;
    for (int i = 0; i < HEAD / 8 && !kept; i++)
        if (((int64_t *)p.kept)[i] == size) kept = (int64_t *)p.kept + i;
    assert_non_null(kept);
    *kept = size + 8;
    assert_refused(try_with(&s, opts, &p), LARMOR_ERR_FORMAT,
                   "opts.checkpoint memory: was written by another build of this version, whose records have other "
                   "sizes. Choose another name, or delete it to start again.");
    *kept = size;
    assert_ok(try_with(&s, opts, &p));
    end_outcome(&o);
    clear_place(&p);
}

/* With little memory fewer coils are done at a time. */
TEST(a_checkpoint_of_another_plan_is_refused)
{
    place p = {.saves = 0};
    OWNED(scan) s = scan_of(COILS, 1, 1e-3);
    larmor_recon_opts opts = OPTS(.method = "cg", .iters = 3, .maps = s.maps, .checkpoint_every = -1, SHORT);
    OWNED(outcome) o = run_at(&s, opts, &p, NULL);
    larmor_recon_plan plan = {.block = 0}, little;
    larmor_recon *recon = MADE(larmor_recon, try_recon(&s, &opts, &made));
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    larmor_recon_free(recon);
    for (opts.memory = plan.bytes; opts.memory > plan.bytes / 8; opts.memory -= plan.bytes / 64) {
        if (try_recon(&s, &opts, &recon)) break;
        assert_ok(larmor_recon_describe(recon, 0, &little));
        larmor_recon_free(recon);
        if (little.block != plan.block || little.precondition != plan.precondition || little.chooses != plan.chooses)
            break;
    }
    assert_refused(try_with(&s, opts, &p), LARMOR_ERR_FORMAT, "another amount of memory was free");
    clear_place(&p);
}

/* ---- hostile ones: a place of one's own has no checksum ---- */

/* Refused, or taken with a wrong value in it: nothing else. */
static void try_all(const scan *s, larmor_recon_opts opts, place *p)
{
    OWNED(larmor_checkpoint) *c = checkpoint_of(p);
    OWNED(larmor_recon) *recon;
    opts.checkpoint = c;
    opts.checkpoint_every = 1000;
    larmor_status st = try_recon(s, &opts, &recon);
    if (st) assert_int_equal(st, LARMOR_ERR_FORMAT);
    if (st) assert_non_null(strstr(larmor_last_error(), "opts.checkpoint memory: "));
    for (int i = 0; !st && i < larmor_recon_series(recon); i++) {
        OWNED(larmor_recon_result) result;
        char line[512];
        st = larmor_recon_run(recon, i, &result);
        for (int d = 0; !st && larmor_recon_warning(&result.report, d, line, sizeof line); d++) assert_true(line[0]);
    }
}

TEST(no_content_is_worse_than_an_error)
{
    OWNED(scan) s = scan_of(1, 2, 1e-3);
    const char *const methods[] = {"cg", "tv"};
    for (int m = 0; m < 2; m++) {
        const larmor_recon_opts opts =
            OPTS(.method = methods[m], .iters = 4, .tol = -1, .oversample = {1}, .lambda_mode = LARMOR_LAMBDA_NOISE,
                 .lambda = 1, .checkpoint_every = -1, .delays = m ? LARMOR_DELAYS_OFF : LARMOR_DELAYS_AUTO);
        place p = {.most = 6};
        outcome o = run_at(&s, opts, &p, NULL);
        end_outcome(&o);
        const int64_t bytes = p.bytes;
        const int step = 82;
        /* the second checkpoint at the places between those of the first; most of it is arrays */
        for (int64_t i = m * step / 2; i < bytes; i += i < 3072 ? step : 9973) {
            const unsigned char was = p.kept[i];
            for (int how = 0; how < 2; how++) {
                p.kept[i] = how ? 0xff : (unsigned char)~was;
                try_all(&s, opts, &p);
            }
            p.kept[i] = was;
        }
        for (p.bytes = 1; p.bytes < bytes; p.bytes += p.bytes < 2048 ? 127 : 9973) try_all(&s, opts, &p);
        p.bytes = bytes;
        try_all(&s, opts, &p);
        clear_place(&p);
    }
}
