/* What a reconstruction keeps in a checkpoint: which scan and options it belongs to, the series that are done, and
 * the weight and the solver's state of the one that is not. One sequence of calls says what is in it, for saving
 * and for loading. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/checkpoint.h"

#include <limits.h>

#include "core/core.h"
#include "schedule/archive.h"

#define SAVE_INTERVAL_S 60.            /* seconds */
#define SAVE_INTERVAL_OVER_DURATION 9. /* times as long as saving took until it is done again: a tenth of the time */

/* Of what follows, so that no other version reads it. The number tells the order of bytes, too. */
enum { FORMAT = 0x1000c };

enum { MOST_STEPS = 1000000000 }; /* of a solver, as of larmor_recon_opts */

typedef struct done {
    int there, given; /* given: the caller has it */
    larmor_recon_result result;
} done;

struct lmr_kept {
    larmor_checkpoint *place;
    larmor_recon *recon;
    lmr_fingerprints ours;
    double every, saved, took; /* seconds; when the last was saved, and how long that took */
    int failed;                /* 1: it was said that saving failed */
    int unsaved;               /* 1: a series was done since */
    done *series;              /* [recon->list.series] */
    int last, maps_from;       /* the last series that was done; the group whose data gave the maps; -1: none */
    int running;               /* -1: none */
    lmr_weight chosen;         /* when it began */
    double began;
    const larmor_recon_report *report; /* of the one that runs; NULL until its weight is known */
    lmr_unfinished resume;             /* from the checkpoint */
    int64_t end;                       /* of what is in it */
};

/* ---- what is in it ---- */

static larmor_status within(lmr_archive *a, int x, int low, int high)
{
    return a->way != LMR_GET || (x >= low && x <= high) ? LARMOR_OK
                                                        : lmr_archive_damaged(a, "a number is out of range");
}

static larmor_status ends(lmr_archive *a, const char *text, size_t room)
{
    return memchr(text, 0, room) ? LARMOR_OK : lmr_archive_damaged(a, "a text has no end");
}

static larmor_status check_method(lmr_archive *a, const larmor_method_choice *m)
{
    LMR_TRY(ends(a, m->name, sizeof m->name));
    LMR_TRY(within(a, (int)m->from, LARMOR_METHOD_FROM_CALLER, LARMOR_METHOD_FROM_MODEL));
    LMR_TRY(within(a, m->compared, 0, LARMOR_METHODS_COMPARED));
    for (int i = 0; i < m->compared; i++) LMR_TRY(ends(a, m->trial[i].name, sizeof m->trial[i].name));
    if (m->name[0] && strcmp(m->name, "cg") != 0 && strcmp(m->name, "grid") != 0 &&
        !lmr_regulariser_named(m->name).name)
        return lmr_archive_damaged(a, "a method has no known name");
    return LARMOR_OK;
}

/* Of what is kept as it lies in memory the rest relies on the texts' ends and on numbers that index or choose. */
static larmor_status weight_of(lmr_archive *a, lmr_weight *w)
{
    LMR_TRY(lmr_archive_bytes(a, w, sizeof *w));
    LMR_TRY(within(a, w->choice.points, 0, LARMOR_CHOICE_POINTS));
    LMR_TRY(within(a, w->encoding, 0, INT_MAX));
    return check_method(a, &w->method);
}

static larmor_status report_of(lmr_archive *a, larmor_recon_report *r)
{
    LMR_TRY(lmr_archive_bytes(a, r, sizeof *r));
    LMR_TRY(ends(a, r->message, sizeof r->message));
    LMR_TRY(ends(a, r->device, sizeof r->device));
    LMR_TRY(check_method(a, &r->method));
    LMR_TRY(within(a, (int)r->status, LARMOR_OK, LARMOR_STOPPED));
    LMR_TRY(within(a, (int)r->solver.end, LARMOR_END_TOLERANCE, LARMOR_END_PRECISION));
    LMR_TRY(within(a, (int)r->lambda_from, LARMOR_LAMBDA_FROM_CALLER, LARMOR_LAMBDA_OF_ONE_COIL));
    LMR_TRY(within(a, (int)r->maps.warning, LARMOR_MAPS_TRUSTED, LARMOR_MAPS_AMBIGUOUS));
    LMR_TRY(within(a, (int)r->partial_fourier, LARMOR_PARTIAL_AUTO, LARMOR_PARTIAL_ZERO));
    LMR_TRY(within(a, r->folded, 0, 7));
    LMR_TRY(within(a, r->motion_rows, 0, LARMOR_MOST_MOTION_STATES));
    return within(a, r->choice.points, 0, LARMOR_CHOICE_POINTS);
}

/* Room for the images of a series, with all but their values. */
static larmor_status make_images(const larmor_recon *r, int series, larmor_recon_result *result)
{
    const int *group = r->list.group + r->list.first[series];
    const int count = lmr_outputs(&r->job, r->list.first[series + 1] - r->list.first[series]);
    LMR_ALLOCATE_ZEROS(result->image, count);
    result->count = count;
    for (int i = 0; i < count; i++) {
        const larmor_grid *grid = &r->facts.grid[group[i]];
        larmor_recon_image *image = &result->image[i];
        image->group = group[i];
        LMR_TRY(larmor_array_create(lmr_home(r), LARMOR_C64, larmor_shape_of(grid->ndim, grid->crop), &image->data));
        LMR_TRY(lmr_describe_image(&r->job, group[0], i, image));
    }
    return LARMOR_OK;
}

static larmor_status series_of(lmr_archive *a, const lmr_kept *k, int series)
{
    done *d = &k->series[series];
    LMR_TRY(lmr_archive_integer(a, &d->there, 0, 1));
    if (!d->there) return LARMOR_OK;
    int images = d->result.count > 0;
    LMR_TRY(report_of(a, &d->result.report));
    LMR_TRY(lmr_archive_integer(a, &images, 0, 1));
    if (images && a->way == LMR_GET) LMR_TRY(make_images(k->recon, series, &d->result));
    for (int i = 0; i < d->result.count; i++) LMR_TRY(lmr_archive_array(a, d->result.image[i].data));
    return LARMOR_OK;
}

/* Its arrays are there: the solver's own. */
static larmor_status state_of(lmr_archive *a, const larmor_solver_state *s)
{
    char solver[16] = "";
    int sizes[] = {s->arrays, s->numbers, s->counts};
    snprintf(solver, sizeof solver, "%s", s->solver);
    LMR_TRY(lmr_archive_text(a, solver, sizeof solver));
    if (strcmp(solver, s->solver) != 0) return lmr_archive_damaged(a, "its state is that of another solver");
    for (int i = 0; i < 3; i++) LMR_TRY(lmr_archive_integer(a, &sizes[i], sizes[i], sizes[i]));
    for (int i = 0; i < s->numbers; i++) LMR_TRY(lmr_archive_number(a, s->number[i]));
    for (int i = 0; i < s->counts; i++) LMR_TRY(lmr_archive_integer(a, s->count[i], 0, MOST_STEPS));
    for (int i = 0; i < s->arrays; i++) LMR_TRY(lmr_archive_array(a, s->array[i]));
    return LARMOR_OK;
}

/* All but the solver's state. */
static larmor_status all_of(lmr_archive *a, lmr_kept *k, lmr_unfinished *u)
{
    const int series = k->recon->list.series;
    LMR_TRY(weight_of(a, &k->chosen));
    LMR_TRY(lmr_archive_integer(a, &k->last, -1, series - 1));
    LMR_TRY(lmr_archive_integer(a, &k->maps_from, -1, k->recon->facts.info.groups - 1));
    for (int s = 0; s < series; s++) LMR_TRY(series_of(a, k, s));
    LMR_TRY(lmr_archive_integer(a, &u->series, -1, series - 1));
    if (u->series < 0) return LARMOR_OK;
    LMR_TRY(weight_of(a, &u->chosen));
    LMR_TRY(report_of(a, &u->report));
    LMR_TRY(lmr_archive_number(a, &u->seconds));
    u->state = a->at;
    return LARMOR_OK;
}

/* ---- which scan and options it belongs to ---- */

static larmor_status refuse(const lmr_kept *k, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "opts.checkpoint %s: %s Choose another name, or delete it to start again.",
                    lmr_checkpoint_name(k->place), what);
}

static larmor_status head_of(lmr_archive *a, const lmr_kept *k)
{
    int64_t format = FORMAT;
    const int64_t ours[] = {sizeof(lmr_weight), sizeof(larmor_recon_report)}; /* which lie there as in memory */
    int64_t sizes[] = {ours[0], ours[1]};
    char version[16] = "", text[128];
    lmr_fingerprints f = k->ours;
    snprintf(version, sizeof version, "%s", LARMOR_VERSION);
    LMR_TRY(lmr_archive_bytes(a, &format, sizeof format));
    LMR_TRY(lmr_archive_text(a, version, sizeof version));
    LMR_TRY(lmr_archive_bytes(a, sizes, sizeof sizes));
    LMR_TRY(lmr_archive_bytes(a, &f, sizeof f));
    if (a->way != LMR_GET) return LARMOR_OK;
    snprintf(text, sizeof text, "was written by another version of larmor, this is %s.", LARMOR_VERSION);
    if (format != FORMAT || strcmp(version, LARMOR_VERSION) != 0) return refuse(k, text);
    if (memcmp(sizes, ours, sizeof ours) != 0)
        return refuse(k, "was written by another build of this version, whose records have other sizes.");
    if (f.scan != k->ours.scan) return refuse(k, "belongs to another scan, or to one that was changed since.");
    if (f.options != k->ours.options) return refuse(k, "belongs to a reconstruction with other options.");
    if (f.plan != k->ours.plan)
        return refuse(k, "was written where another amount of memory was free, and the image would be another; "
                         "opts.memory sets the amount.");
    return LARMOR_OK;
}

/* ---- saving ---- */

/* The parts with the way that they go; state: NULL where no series is to be continued. */
static larmor_status put_all(lmr_archive *a, lmr_kept *k, lmr_unfinished *u, const larmor_solver_state *state)
{
    LMR_TRY(head_of(a, k));
    LMR_TRY(all_of(a, k, u));
    return state ? state_of(a, state) : LARMOR_OK;
}

static larmor_status save(lmr_kept *k, const larmor_solver_state *state)
{
    const lmr_job *job = &k->recon->job;
    const double began = lmr_seconds();
    lmr_unfinished u = {.series = -1};
    lmr_archive a = {.place = k->place, .way = LMR_COUNT};
    if (k->running < 0) k->chosen = job->found.decided.chosen;
    k->maps_from = lmr_maps_group(job);
    if (state) {
        u = (lmr_unfinished){.series = k->running, .chosen = job->found.decided.chosen, .report = *k->report};
        u.seconds = began - k->began;
    }
    LMR_TRY(put_all(&a, k, &u, state));
    LMR_TRY(lmr_checkpoint_begin(k->place, a.at));
    a = (lmr_archive){.place = k->place, .way = LMR_PUT};
    LMR_TRY(put_all(&a, k, &u, state));
    LMR_TRY(lmr_checkpoint_commit(k->place));
    k->saved = lmr_seconds();
    k->took = k->saved - began;
    k->unsaved = k->failed = 0;
    return LARMOR_OK;
}

/* What cannot be kept ends no reconstruction. */
static void try_to_save(lmr_kept *k, const larmor_solver_state *state)
{
    if (!save(k, state)) return;
    if (!k->failed) lmr_warn(&k->recon->events, "no checkpoint: %s", larmor_last_error());
    k->failed = 1;
    k->saved = lmr_seconds();
}

static int is_time(const lmr_kept *k)
{
    return k->every < 0 || lmr_seconds() - k->saved >= fmax(k->every, SAVE_INTERVAL_OVER_DURATION * k->took);
}

/* ---- loading ---- */

static larmor_status load(lmr_kept *k, int64_t bytes)
{
    lmr_archive a = {.place = k->place, .way = LMR_GET, .end = bytes};
    LMR_TRY(head_of(&a, k));
    LMR_TRY(all_of(&a, k, &k->resume));
    if (k->resume.series < 0 && a.at != a.end) return lmr_archive_damaged(&a, "it is longer than what is in it");
    if (k->last >= 0 && !k->series[k->last].there) return lmr_archive_damaged(&a, "a series is missing");
    if (k->resume.series >= 0 && k->series[k->resume.series].there)
        return lmr_archive_damaged(&a, "a series is there twice");
    k->end = bytes;
    return LARMOR_OK;
}

static void report_loaded(const lmr_kept *k)
{
    char name[64] = "", more[96] = "";
    int count = 0;
    for (int s = 0; s < k->recon->list.series; s++) count += k->series[s].there;
    if (k->resume.series >= 0) {
        lmr_series_name(&k->recon->list, k->resume.series, name);
        snprintf(more, sizeof more, ", one begun: %s", name);
    }
    lmr_log(&k->recon->events, "checkpoint %s: %d of %d series done%s", lmr_checkpoint_name(k->place), count,
            k->recon->list.series, more);
}

larmor_status lmr_keep_open(larmor_recon *r, int *maps_from, int *weights_from)
{
    const larmor_recon_opts *o = &r->settings.opts;
    int64_t bytes = 0;
    *maps_from = -1;
    *weights_from = -1;
    if (!o->checkpoint) return LARMOR_OK;
    LMR_NEW_ZEROS(lmr_kept, k, 1);
    r->job.checkpoint = k;
    *k = (lmr_kept){.place = larmor_checkpoint_ref(o->checkpoint), .recon = r, .running = -1, .last = -1};
    k->maps_from = k->resume.series = -1;
    k->every = o->checkpoint_every != 0 ? o->checkpoint_every : SAVE_INTERVAL_S;
    LMR_ALLOCATE_ZEROS(k->series, r->list.series);
    LMR_TRY(lmr_fingerprints_of(r, &k->ours));
    LMR_TRY(lmr_checkpoint_open(k->place, &bytes));
    k->saved = lmr_seconds();
    if (bytes == 0) return LARMOR_OK;
    LMR_TRY(load(k, bytes));
    report_loaded(k);
    r->job.found.decided.chosen = k->chosen;
    *maps_from = k->maps_from;
    if (k->last >= 0) *weights_from = r->list.group[r->list.first[k->last]];
    return LARMOR_OK;
}

/* With a checkpoint, of the arrays as they were when it was opened. */
larmor_status larmor_recon_fingerprint(const larmor_recon *recon, uint64_t *fingerprint)
{
    lmr_fingerprints f = {0};
    LMR_NEED(fingerprint);
    *fingerprint = 0;
    LMR_NEED(recon);
    if (recon->job.checkpoint)
        f = recon->job.checkpoint->ours;
    else
        LMR_TRY(lmr_fingerprints_of(recon, &f));
    *fingerprint = lmr_hash(f.scan, &f.options, sizeof f.options);
    return LARMOR_OK;
}

void lmr_keep_close(larmor_recon *r)
{
    lmr_kept *k = r->job.checkpoint;
    if (!k) return;
    for (int s = 0; k->series && s < r->list.series; s++) larmor_recon_result_free(&k->series[s].result);
    larmor_checkpoint_free(k->place);
    LMR_FREE(k->series, k);
    r->job.checkpoint = NULL;
}

/* ---- the series ---- */

/* The same images with references of their own. */
static larmor_status share(const larmor_recon_result *from, larmor_recon_result *to)
{
    *to = *from;
    if (!from->count) return LARMOR_OK;
    to->image = malloc((size_t)from->count * sizeof *to->image);
    if (!to->image) {
        *to = (larmor_recon_result){.count = 0};
        return LMR_NO_MEMORY();
    }
    memcpy(to->image, from->image, (size_t)from->count * sizeof *to->image);
    for (int i = 0; i < to->count; i++) larmor_array_ref(to->image[i].data);
    return LARMOR_OK;
}

int lmr_keep_has(const larmor_recon *r, int series)
{
    const lmr_kept *k = r->job.checkpoint;
    return k && k->series[series].there && !k->series[series].given;
}

int lmr_keep_begin(larmor_recon *r, int series, larmor_recon_result *result)
{
    lmr_kept *k = r->job.checkpoint;
    if (!k) return 0;
    done *d = &k->series[series];
    k->report = NULL;
    if (d->there && !d->given && !share(&d->result, result)) return d->given = 1;
    k->running = series;
    k->chosen = r->job.found.decided.chosen;
    k->began = lmr_seconds() - (k->resume.series == series ? k->resume.seconds : 0);
    return 0;
}

double lmr_keep_seconds(const larmor_recon *r)
{
    const lmr_kept *k = r->job.checkpoint;
    return k && k->resume.series >= 0 && k->resume.series == k->running ? k->resume.seconds : 0;
}

void lmr_keep_done(larmor_recon *r, int series, const larmor_recon_result *result)
{
    lmr_kept *k = r->job.checkpoint;
    if (!k) return;
    done *d = &k->series[series];
    larmor_recon_result_free(&d->result);
    d->there = d->given = !share(result, &d->result);
    if (k->resume.series == series) k->resume.series = -1;
    k->last = series;
    k->unsaved = 1;
    k->running = -1;
    k->report = NULL;
    if (is_time(k)) try_to_save(k, NULL);
}

void lmr_keep_stopped(larmor_recon *r)
{
    lmr_kept *k = r->job.checkpoint;
    if (!k) return;
    k->report = NULL;
    if (k->unsaved) try_to_save(k, NULL);
    k->running = -1;
}

larmor_status larmor_recon_save(larmor_recon *recon)
{
    LMR_NEED(recon);
    lmr_kept *k = recon->job.checkpoint;
    return k && k->unsaved ? save(k, NULL) : LARMOR_OK;
}

/* ---- the solver ---- */

const lmr_unfinished *lmr_keep_unfinished(const lmr_job *job)
{
    const lmr_kept *k = job->checkpoint;
    return k && k->resume.series >= 0 && k->resume.series == k->running ? &k->resume : NULL;
}

void lmr_keep_report(const lmr_job *job, const larmor_recon_report *report)
{
    if (job->checkpoint) job->checkpoint->report = report;
}

void lmr_keep_step(const lmr_job *job, const larmor_solver_state *state, int stop)
{
    lmr_kept *k = job->checkpoint;
    if (!k || !k->report || !state || (!stop && !is_time(k))) return;
    try_to_save(k, state);
    if (stop && !k->failed)
        lmr_log(&k->recon->events, "checkpoint %s: saved; the same command goes on from there",
                lmr_checkpoint_name(k->place));
}

larmor_status lmr_keep_resume(void *user, const larmor_solver_state *state, int *resumed)
{
    const lmr_job *job = *(const lmr_job **)user;
    const lmr_kept *k = job->checkpoint;
    const lmr_unfinished *u = lmr_keep_unfinished(job);
    if (!u) return LARMOR_OK;
    lmr_archive a = {.place = k->place, .way = LMR_GET, .at = u->state, .end = k->end};
    LMR_TRY(state_of(&a, state));
    *resumed = 1;
    return a.at == a.end ? LARMOR_OK : lmr_archive_damaged(&a, "it is longer than what is in it");
}
