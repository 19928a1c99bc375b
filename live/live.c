/* Images while a scan runs: one reconstruction, whose source is the last readouts. SPDX-License-Identifier:
 * Apache-2.0 */
#include "larmor/live.h"

#include "core/core.h"
#include "live/source.h"
#include "live/window.h"
#include "scan/sample_cache.h"
#include "schedule/state.h"

enum { WINDOW = 21, FIRST_WINDOWS = 5, ITERS = 5, FIRST_ITERS = 12, MOST_READOUTS = 1 << 20 };

/* A moving phantom (128 x 128, 8 coils, 13 spokes an image, one period in 31 images) is nearest to the truth with it
 * among 0.001, 0.003 and 0.01: docs/records/live.md. */
#define HOLD 0.003

#define LEFT_OUT                                                                                                     \
    (LARMOR_ACQ_NAVIGATION | LARMOR_ACQ_PHASE_CORRECTION | LARMOR_ACQ_HP_FEEDBACK | LARMOR_ACQ_DUMMY |               \
     LARMOR_ACQ_RT_FEEDBACK | LARMOR_ACQ_SURFACE_COIL_CORRECTION | LARMOR_ACQ_PHASE_STABILISATION_REFERENCE |        \
     LARMOR_ACQ_PHASE_STABILISATION)

struct larmor_live {
    larmor_live_opts opts;
    larmor_listener listener; /* the caller's, or NULL */
    void *user;
    larmor_device *dev;
    char *xml;
    int64_t bytes;
    lmr_window noise, last;
    int64_t since; /* readouts since the last image */
    lmr_live_source scan;
    larmor_recon *recon; /* NULL: before the first image */
};

static larmor_status refuse(const char *what)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "live: %s, which live images have not.", what);
}

static int inverts(const larmor_live_opts *o)
{
    return o->recon.method && !strcmp(o->recon.method, "nlinv");
}

static larmor_status check(const larmor_live_opts *o)
{
    const larmor_recon_opts *r = &o->recon;
    const int counts[] = {o->window, o->every, o->first, o->iters};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        LMR_REFUSE(counts[i] < 0 || counts[i] > MOST_READOUTS, LARMOR_ERR_ARG,
                   "live: window, every, first or iters is %d; 0 to %d expected.", counts[i], MOST_READOUTS);
    LMR_REFUSE(!(o->hold >= 0) || !isfinite(o->hold), LARMOR_ERR_ARG, "live: hold is %g; a number from 0 expected.",
               o->hold);
    if (r->reg || (r->method && strcmp(r->method, "auto") != 0 && strcmp(r->method, "cg") != 0 && !inverts(o)))
        return refuse("a method other than cg and nlinv");
    LMR_REFUSE(inverts(o) && o->hold > 0, LARMOR_ERR_ARG, "live: hold is of cg; nlinv has opts.damping.");
    if (r->lambda_mode != LARMOR_LAMBDA_AUTO || r->iters || r->tol != 0) return refuse("lambda, iters or tol");
    if (r->joint || r->basis) return refuse("a series of frames");
    if (r->constraint || r->support) return refuse("a constraint");
    if (r->prior) return refuse("a prior");
    if (r->checkpoint || r->ranks) return refuse("a checkpoint or ranks");
    if (o->raw.trajectory || o->raw.as_stored) return refuse("a trajectory that is given, or acquisitions as stored");
    return LARMOR_OK;
}

static void set_defaults(larmor_live_opts *o)
{
    if (!o->window) o->window = WINDOW;
    if (!o->every) o->every = o->window;
    if (!o->first) o->first = FIRST_WINDOWS * o->window;
    if (o->first < o->window) o->first = o->window;
    larmor_recon_opts *r = &o->recon;
    if (!r->size) r->size = sizeof *r;
    r->at_once = 1;
    if (inverts(o)) {
        r->iters = o->iters;
        return;
    }
    if (!o->iters) o->iters = ITERS;
    if (o->hold == 0) o->hold = HOLD;
    r->method = "cg";
    r->lambda_mode = LARMOR_LAMBDA_RELATIVE;
    r->lambda = o->hold;
    r->iters = FIRST_ITERS > o->iters ? FIRST_ITERS : o->iters;
    r->tol = -1;
}

/* What is said of the first image holds for those that follow, but for warnings. */
static int hear(void *user, const larmor_event *e)
{
    const larmor_live *l = user;
    const int is_said = l->recon && l->recon->run && e->kind == LARMOR_EVENT_LOG;
    return l->listener && !is_said ? l->listener(l->user, e) : 0;
}

larmor_status larmor_live_create(const char *xml, int64_t bytes, larmor_device *dev, const larmor_live_opts *opts,
                                 larmor_live **live)
{
    static const larmor_live_opts defaults;
    LMR_NEED_OUT(live, xml, dev);
    if (!opts) opts = &defaults;
    LMR_REFUSE(bytes < 1, LARMOR_ERR_ARG, "live: a header of %lld bytes.", (long long)bytes);
    LMR_TRY(check(opts));
    larmor_live *l = calloc(1, sizeof *l);
    if (l) l->xml = malloc((size_t)bytes);
    if (!l || !l->xml) {
        free(l);
        return LMR_NO_MEMORY();
    }
    memcpy(l->xml, xml, (size_t)bytes);
    l->bytes = bytes;
    l->opts = *opts;
    l->listener = opts->recon.listener;
    l->user = opts->recon.user;
    l->opts.recon.listener = hear;
    l->opts.recon.user = l;
    l->dev = dev;
    set_defaults(&l->opts);
    *live = l;
    return LARMOR_OK;
}

void larmor_live_free(larmor_live *l)
{
    if (!l) return;
    larmor_recon_free(l->recon);
    lmr_live_source_free(&l->scan);
    lmr_window_free(&l->noise);
    lmr_window_free(&l->last);
    LMR_FREE(l->xml, l);
}

/* ---- the first image ---- */

/* Of noise and first readouts; both windows stay. */
static larmor_status open_scan(larmor_live *l)
{
    const int64_t count = l->noise.count + l->last.count;
    LMR_HEAP LMR_NEW(larmor_acquisition, all, count);
    for (int64_t i = 0; i < count; i++)
        all[i] = i < l->noise.count ? l->noise.each[i] : l->last.each[i - l->noise.count];
    return lmr_live_source_set(&l->scan, l->xml, l->bytes, all, count, &l->opts.raw);
}

static larmor_status run(larmor_live *l, larmor_recon_result *result)
{
    LMR_TRY(larmor_recon_run(l->recon, 0, result));
    if (!result->report.status) return LARMOR_OK;
    const larmor_status st = larmor_fail(result->report.status, "%s", result->report.message);
    larmor_recon_result_free(result);
    return st;
}

static larmor_status make_first(larmor_live *l, larmor_recon_result *result)
{
    LMR_TRY(open_scan(l));
    LMR_TRY(larmor_recon_create(l->scan.source, l->dev, &l->opts.recon, &l->recon));
    l->recon->job.found.follow.on = 1;
    const larmor_status st = run(l, result);
    if (st) {
        larmor_recon_free(l->recon);
        l->recon = NULL;
        return st;
    }
    l->recon->settings.opts.iters = l->opts.iters;
    return LARMOR_OK;
}

/* ---- those that follow ---- */

static larmor_status make_next(larmor_live *l, larmor_recon_result *result)
{
    const lmr_window *w = &l->last;
    LMR_TRY(lmr_live_source_set(&l->scan, NULL, 0, w->each, w->count, &l->opts.raw));
    lmr_sample_cache_clear(&l->recon->caches);
    return run(l, result);
}

static larmor_status fits(const larmor_live *l, const larmor_acquisition *a)
{
    LMR_REFUSE(!a->traj_dims, LARMOR_ERR_UNSUPPORTED, "live: a readout without a trajectory.");
    if (!l->last.count) return LARMOR_OK;
    const larmor_acquisition *b = &l->last.each[0];
    if (a->slice == b->slice && a->contrast == b->contrast && a->encoding == b->encoding) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_UNSUPPORTED,
        "live: a readout of slice %d, contrast %d, encoding %d after those of %d, %d, %d; live images are of one.",
        a->slice, a->contrast, a->encoding, b->slice, b->contrast, b->encoding);
}

larmor_status larmor_live_add(larmor_live *l, const larmor_acquisition *a, larmor_recon_result *result)
{
    LMR_NEED(result);
    *result = (larmor_recon_result){.count = 0};
    LMR_NEED(l, a);
    if (a->flags & LEFT_OUT) return LARMOR_OK;
    if (a->flags & LARMOR_ACQ_NOISE) return l->recon ? LARMOR_OK : lmr_window_add(&l->noise, a);
    LMR_TRY(fits(l, a));
    LMR_TRY(lmr_window_add(&l->last, a));
    if (!l->recon && l->last.count < l->opts.first) return LARMOR_OK;
    if (l->recon && ++l->since < l->opts.every) return LARMOR_OK;
    const int is_first = !l->recon;
    if (!is_first) lmr_window_keep(&l->last, l->opts.window);
    const larmor_status st = is_first ? make_first(l, result) : make_next(l, result);
    lmr_window_keep(&l->last, l->opts.window);
    l->since = 0;
    return st;
}
