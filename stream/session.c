/* The server's side of a connection: a scan in, its images out. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "stream/announced.h"
#include "stream/message.h"
#include "stream/parameters.h"
#include "stream/pixels.h"
#include "stream/readouts.h"
#include "stream/waves.h"

LMR_OWNS(larmor_source, larmor_source_free)
LMR_OWNS(larmor_raw, larmor_raw_free)
LMR_OWNS(larmor_recon, larmor_recon_free)

#define SESSION_MEMORY (INT64_C(4) << 30)
#define BETWEEN_STEPS_S 1.
enum { MAX_WARNINGS = 32, LINE = 1024, LEAST_BITS = 8, BITS = 12, MOST_BITS = 15, MOST_READOUTS = 100000 };

/* A configuration by which the readouts are thrown away, and one that asks what a scan depends on, which is
 * nothing. */
static const char no_images[] = "null", dependencies[] = "default_measurement_dependencies.xml";

typedef struct session {
    larmor_stream *stream;
    const larmor_session_opts *opts;
    larmor_session_job job;
    larmor_session_report report;
    char *xml;
    int64_t xml_bytes;
    lmr_readouts readouts;
    lmr_announced announced;
    lmr_waves waves;
    larmor_live *live; /* of LARMOR_IMAGES_READOUTS */
    lmr_pixels pixels;
    int64_t memory;
    larmor_recon_image *waiting; /* [waits] for the scale of the whole measurement */
    int waits;
    int makes_images, is_configured, said_unused;
    double reported;    /* when a step was */
    larmor_status sent; /* the first failure to send from a listener, and its message */
    char sent_why[LINE];
} session;

/* ---- what is reported ---- */

static void note(const session *s, larmor_event_kind kind, const char *line)
{
    char shown[LINE];
    if (!s->opts->log) return;
    snprintf(shown, sizeof shown, "%s", line);
    lmr_make_printable(shown);
    s->opts->log(s->opts->user, kind, shown);
}

static larmor_status report_line(session *s, larmor_event_kind kind, const char *line)
{
    const int is_warning = kind == LARMOR_EVENT_WARNING;
    s->report.warnings += is_warning;
    note(s, kind, line);
    return lmr_stream_text(s->stream, is_warning ? "WRN " : "INF ", line);
}

static larmor_status warn(session *s, const char *line)
{
    return report_line(s, LARMOR_EVENT_WARNING, line);
}

/* Lines that end in '\n'. */
static larmor_status warn_lines(session *s, const char *lines)
{
    char line[LINE];
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(lines, "\n"), lines);
        LMR_TRY(warn(s, line));
    }
    return LARMOR_OK;
}

/* A step of a solver, now and then. */
static larmor_status report_step(session *s, const larmor_event *e)
{
    char line[LINE];
    const double now = lmr_seconds();
    if (now < s->reported + BETWEEN_STEPS_S) return LARMOR_OK;
    s->reported = now;
    snprintf(line, sizeof line, "series %d of %d: step %d", e->series, e->count, e->step);
    return lmr_stream_text(s->stream, "DBG ", line);
}

/* What is reported also shows whether somebody listens: only what cannot be delivered tells over TCP that a client
 * has gone, which ends the reconstruction. */
static int on_event(void *user, const larmor_event *e)
{
    session *s = user;
    char line[LINE];
    larmor_status st = LARMOR_OK;
    if (s->sent) return 1;
    if (e->kind == LARMOR_EVENT_STEP) st = report_step(s, e);
    if (e->kind == LARMOR_EVENT_LOG || e->kind == LARMOR_EVENT_WARNING) st = report_line(s, e->kind, e->text);
    if (e->kind == LARMOR_EVENT_STAGE && *e->stage) {
        if (e->series)
            snprintf(line, sizeof line, "series %d of %d: %s", e->series, e->count, e->stage);
        else
            snprintf(line, sizeof line, "%s", e->stage);
        st = lmr_stream_text(s->stream, "DBG ", line);
    }
    if (!st && lmr_wire_is_gone(&s->stream->wire))
        st = LMR_FAIL(LARMOR_ERR_IO, "%s: the other side has gone.", s->stream->name);
    s->sent = st;
    if (st) snprintf(s->sent_why, sizeof s->sent_why, "%s", larmor_last_error());
    return st != LARMOR_OK;
}

/* Why a reconstruction has stopped, where its listener knows that. */
static larmor_status after(const session *s, larmor_status st)
{
    return s->sent ? larmor_fail(s->sent, "%s", s->sent_why) : st;
}

/* ---- parameters ---- */

static larmor_status expected(const char *name, const char *value, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "parameter %s \"%s\": %s expected.", name, value, what);
}

/* One of names, which end in NULL; -1: none. */
static int index_of(const char *value, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) return i;
    return -1;
}

/* A whole number in its range; LARMOR_ERR_ARG for any other text. */
static larmor_status set_number(const char *name, const char *value, int least, int most, int *number)
{
    char what[64];
    const int is_number = strlen(value) <= 6 && strspn(value, "0123456789") == strlen(value);
    *number = is_number ? atoi(value) : -1;
    snprintf(what, sizeof what, "%d to %d", least, most);
    return *number < least || *number > most ? expected(name, value, what) : LARMOR_OK;
}

static larmor_status set_own(session *s, const char *name, const char *value, int *is_own)
{
    static const char *const images[] = {"measurement", "repetition", "slice", "readouts", NULL};
    static const char *const pixels[] = {"int16", "float", "complex", NULL};
    static const char *const left_alone[] = {"config", "customconfig", "version"};
    int chosen = 0;
    *is_own = 1;
    for (size_t i = 0; i < sizeof left_alone / sizeof *left_alone; i++)
        if (lmr_parameter_is(name, left_alone[i])) return LARMOR_OK;
    if (lmr_parameter_is(name, "images")) {
        chosen = index_of(value, images);
        s->job.images = (larmor_session_images)chosen;
        return chosen < 0 ? expected(name, value, "measurement, repetition, slice or readouts") : LARMOR_OK;
    }
    if (lmr_parameter_is(name, "pixels")) {
        chosen = index_of(value, pixels);
        s->job.pixels = (larmor_session_pixels)chosen;
        return chosen < 0 ? expected(name, value, "int16, float or complex") : LARMOR_OK;
    }
    if (lmr_parameter_is(name, "bits")) return set_number(name, value, LEAST_BITS, MOST_BITS, &s->job.bits);
    if (lmr_parameter_is(name, "window")) return set_number(name, value, 1, MOST_READOUTS, &s->job.window);
    if (lmr_parameter_is(name, "every")) return set_number(name, value, 1, MOST_READOUTS, &s->job.every);
    if (lmr_parameter_is(name, "first")) return set_number(name, value, 1, MOST_READOUTS, &s->job.first);
    *is_own = 0;
    return LARMOR_OK;
}

static larmor_status set_parameter(session *s, const lmr_parameter *p)
{
    char line[LINE];
    int is_own;
    LMR_TRY(set_own(s, p->name, p->value, &is_own));
    if (is_own) return LARMOR_OK;
    const larmor_status st = s->opts->set ? s->opts->set(s->opts->user, p->name, p->value) : LARMOR_ERR_UNSUPPORTED;
    if (st != LARMOR_ERR_UNSUPPORTED) return st;
    snprintf(line, sizeof line, "parameter %.64s is not known; it has no effect.", p->name);
    return warn(s, line);
}

static larmor_status set_parameters(session *s, const larmor_message *m)
{
    LMR_FREED_BY(lmr_parameters_free) lmr_parameters all = {0};
    LMR_TRY(lmr_parameters_read(m->text, m->bytes, &all));
    for (int i = 0; i < all.count; i++) LMR_TRY(set_parameter(s, &all.each[i]));
    return LARMOR_OK;
}

static larmor_status take_config(session *s, const larmor_message *m)
{
    char line[LINE];
    if (lmr_parameters_begin(m->text)) return set_parameters(s, m);
    s->makes_images = strcmp(m->text, no_images) != 0 && strcmp(m->text, dependencies) != 0;
    snprintf(line, sizeof line, "configuration %.200s", m->bytes > 200 ? "of its own" : m->text);
    note(s, LARMOR_EVENT_LOG, line);
    return LARMOR_OK;
}

static int has_bins(const session *s)
{
    return s->job.bins.heart || s->job.bins.breath || s->job.bins.time;
}

static int has_frames(const session *s)
{
    return s->job.frames.spokes || s->job.frames.ms > 0 || s->job.frames.phases;
}

/* Before the first readout. */
static larmor_status configure(session *s)
{
    s->is_configured = 1;
    if (s->opts->configure) LMR_TRY(s->opts->configure(s->opts->user, &s->job));
    larmor_session_job *job = &s->job;
    LMR_REFUSE(!job->dev, LARMOR_ERR_ARG, "session: job.dev is NULL");
    LMR_REFUSE(has_bins(s) && (has_frames(s) || job->images == LARMOR_IMAGES_READOUTS), LARMOR_ERR_ARG,
               "session: bins of heart and breath, and %s; one of them expected",
               has_frames(s) ? "frames" : "images of the last readouts");
    if (!has_bins(s)) lmr_waves_free(&s->waves);
    job->recon.listener = on_event;
    job->recon.user = s;
    s->pixels = (lmr_pixels){.as = job->pixels,
                             .most = (1 << (job->bits ? job->bits : BITS)) - 1,
                             .description = job->description ? job->description : "larmor"};
    return LARMOR_OK;
}

/* ---- images ---- */

static larmor_status send_image(session *s, const larmor_recon_image *image)
{
    LMR_TRY(lmr_pixels_send(&s->pixels, s->stream, image));
    s->report.images++;
    return LARMOR_OK;
}

static larmor_status keep_image(session *s, const larmor_recon_image *image)
{
    larmor_recon_image *more = realloc(s->waiting, (size_t)(s->waits + 1) * sizeof *more);
    if (!more) return LMR_NO_MEMORY();
    s->waiting = more;
    more[s->waits] = *image;
    more[s->waits++].data = larmor_array_ref(image->data);
    return LARMOR_OK;
}

/* head: of the largest number, the part that the largest magnitude becomes. */
static larmor_status find_scale(session *s, const larmor_recon_image *image, int count, double head)
{
    double largest = 0;
    for (int i = 0; i < count; i++) {
        double peak;
        LMR_TRY(lmr_pixels_peak(image[i].data, &peak));
        largest = fmax(largest, peak);
    }
    s->pixels.scale = largest > 0 && isfinite(largest) ? head * s->pixels.most / largest : 1;
    return LARMOR_OK;
}

static larmor_status take_images(session *s, const larmor_recon_result *result)
{
    const int in_numbers = s->pixels.as == LARMOR_PIXELS_INT16,
              one_scale = s->job.images == LARMOR_IMAGES_MEASUREMENT;
    if (in_numbers && !one_scale && s->pixels.scale == 0 && result->count)
        LMR_TRY(find_scale(s, result->image, result->count, 0.5));
    for (int i = 0; i < result->count; i++)
        LMR_TRY(in_numbers && one_scale ? keep_image(s, &result->image[i]) : send_image(s, &result->image[i]));
    return LARMOR_OK;
}

static larmor_status send_waiting(session *s)
{
    char line[LINE];
    if (s->waits) LMR_TRY(find_scale(s, s->waiting, s->waits, 1));
    for (int i = 0; i < s->waits; i++) LMR_TRY(send_image(s, &s->waiting[i]));
    if (!s->pixels.cut) return LARMOR_OK;
    snprintf(line, sizeof line, "%lld pixels are brighter than %d at the scale of the first image and were cut off.",
             (long long)s->pixels.cut, s->pixels.most);
    return warn(s, line);
}

/* ---- reconstruction ---- */

static larmor_status take_result(session *s, const larmor_recon_result *result)
{
    char line[LINE];
    if (result->report.status) LMR_TRY(warn(s, result->report.message));
    for (int i = 0; i < MAX_WARNINGS && larmor_recon_warning(&result->report, i, line, sizeof line); i++)
        LMR_TRY(warn(s, line));
    return take_images(s, result);
}

static larmor_status run_series(session *s, larmor_recon *recon, int series)
{
    LMR_FREED_BY(larmor_recon_result_free) larmor_recon_result result = {0};
    LMR_TRY(after(s, larmor_recon_run(recon, series, &result)));
    return result.report.interrupted ? lmr_stopped() : take_result(s, &result);
}

static larmor_status run_recon(session *s, larmor_source *source)
{
    LMR_OWN(larmor_recon, recon, after(s, larmor_recon_create(source, s->job.dev, &s->job.recon, &recon)));
    const int count = larmor_recon_series(recon);
    for (int i = 0; i < count; i++) LMR_TRY(run_series(s, recon, i));
    return LARMOR_OK;
}

static larmor_status report_bins(session *s, const larmor_bins_found *found)
{
    char line[LINE];
    int is_warning;
    for (int i = 0; larmor_gating_line(found, i, line, sizeof line, &is_warning); i++)
        LMR_TRY(report_line(s, is_warning ? LARMOR_EVENT_WARNING : LARMOR_EVENT_LOG, line));
    return LARMOR_OK;
}

/* By what has come of waveforms so far. */
static larmor_status sort_bins(session *s, larmor_raw *raw, larmor_source *whole, larmor_source **source)
{
    larmor_bins_opts opts = s->job.bins;
    larmor_bins_found found;
    int damaged;
    LMR_TRY(lmr_waves_give(&s->waves, raw, &damaged));
    if (damaged) LMR_TRY(warn(s, "waveforms without samples at even steps; they are left out."));
    LMR_OWN(larmor_device, dev, larmor_device_open("cpu", &dev));
    opts.waveforms = raw;
    opts.trace = NULL;
    LMR_TRY(larmor_source_of_bins(whole, dev, &opts, &found, source));
    return report_bins(s, &found);
}

static larmor_status open_source(session *s, larmor_raw *raw, larmor_source **source)
{
    LMR_TRY(larmor_source_of_raw(raw, "scan", source));
    if (!has_frames(s) && !has_bins(s)) return LARMOR_OK;
    LMR_OWNED(larmor_source) *whole = *source;
    *source = NULL;
    return has_bins(s) ? sort_bins(s, raw, whole, source) : larmor_source_of_frames(whole, &s->job.frames, source);
}

/* The bits of whole numbers that have a sign, by what a header says. */
static int bits_of_host(int stored)
{
    if (!stored) return BITS;
    if (stored < LEAST_BITS) return LEAST_BITS;
    return stored > MOST_BITS ? MOST_BITS : stored;
}

static larmor_status reconstruct_raw(session *s, larmor_raw *raw)
{
    const larmor_raw_info info = larmor_raw_describe(raw);
    if (!s->job.bits) s->pixels.most = (1 << bits_of_host(info.bits_stored)) - 1;
    LMR_TRY(warn_lines(s, info.warnings));
    LMR_OWN(larmor_source, source, open_source(s, raw, &source));
    LMR_TRY(s->opts->prepare ? s->opts->prepare(s->opts->user, raw, source, &s->job) : LARMOR_OK);
    return run_recon(s, source);
}

/* The readouts of an image, or all; those that are done with are let go before the work begins. */
static larmor_status reconstruct(session *s, lmr_readouts_part part)
{
    LMR_HEAP larmor_acquisition *chosen = NULL;
    int64_t count;
    LMR_OWNED(larmor_raw) *raw = NULL;
    LMR_TRY(lmr_readouts_choose(&s->readouts, part, &chosen, &count));
    if (!count) return LARMOR_OK;
    const larmor_status st = larmor_raw_of_acquisitions(s->xml, s->xml_bytes, chosen, count, &s->job.raw, &raw);
    lmr_readouts_drop(&s->readouts, part);
    free(chosen);
    chosen = NULL;
    return st ? st : reconstruct_raw(s, raw);
}

/* ---- images of the last readouts ---- */

static larmor_status begin_live(session *s)
{
    const larmor_session_job *job = &s->job;
    const larmor_live_opts opts = {
        .raw = job->raw, .recon = job->recon, .window = job->window, .every = job->every, .first = job->first};
    return larmor_live_create(s->xml, s->xml_bytes, job->dev, &opts, &s->live);
}

/* Where the scan has ended before the first image. */
static larmor_status warn_of_no_image(session *s)
{
    char line[LINE];
    if (!s->live || s->report.images) return LARMOR_OK;
    snprintf(
        line, sizeof line,
        "images=readouts: the scan has ended after %lld readouts, before its first image, which takes as many as "
        "the parameter first says (by default 5 windows): send a smaller first, or a smaller window.",
        (long long)s->report.acquisitions);
    return warn(s, line);
}

static larmor_status take_live(session *s, const larmor_acquisition *a)
{
    LMR_FREED_BY(larmor_recon_result_free) larmor_recon_result result = {0};
    if (!s->live) LMR_TRY(begin_live(s));
    LMR_TRY(after(s, larmor_live_add(s->live, a, &result)));
    if (result.report.interrupted) LMR_TRY(lmr_stopped());
    return take_images(s, &result);
}

/* ---- what comes ---- */

static larmor_status take_header(session *s, const larmor_message *m)
{
    LMR_REFUSE(s->xml, LARMOR_ERR_FORMAT, "%s: a second header; one expected.", s->stream->name);
    s->xml = malloc((size_t)m->bytes + 1);
    if (!s->xml) return LMR_NO_MEMORY();
    memcpy(s->xml, m->text, (size_t)m->bytes + 1);
    s->xml_bytes = m->bytes;
    return LARMOR_OK;
}

static larmor_status take_text(session *s, const larmor_message *m)
{
    if (!s->is_configured && lmr_parameters_begin(m->text)) return set_parameters(s, m);
    note(s, LARMOR_EVENT_LOG, m->text);
    return LARMOR_OK;
}

static larmor_status take_acquisition(session *s, const larmor_message *m)
{
    const larmor_acquisition *a = &m->acquisition;
    LMR_REFUSE(!s->xml, LARMOR_ERR_FORMAT, "%s: an acquisition before the header.", s->stream->name);
    s->report.acquisitions++;
    if (!s->makes_images) return LARMOR_OK;
    if (!s->is_configured) LMR_TRY(configure(s));
    lmr_announced_add(&s->announced, s->xml, s->xml_bytes, a);
    if (s->job.images == LARMOR_IMAGES_READOUTS) return take_live(s, a);
    LMR_TRY(lmr_readouts_add(&s->readouts, a, m->bytes, lmr_stream_take(s->stream)));
    const lmr_readouts_part part = {.by = s->job.images, .slice = a->slice, .repetition = a->repetition};
    return lmr_readouts_ends(a, part.by) ? reconstruct(s, part) : LARMOR_OK;
}

static larmor_status pass_over(session *s)
{
    if (s->said_unused++) return LARMOR_OK;
    return warn(s, "images and arrays of the client are not used.");
}

/* They are kept for bins, and before the first readout, when it is not known whether there are any. */
static larmor_status take_waveform(session *s, const larmor_message *m)
{
    if (!s->makes_images || (s->is_configured && !has_bins(s))) return LARMOR_OK;
    return lmr_waves_add(&s->waves, &m->waveform, m->bytes, lmr_stream_take(s->stream));
}

/* Of what has come. */
static larmor_status finish(session *s)
{
    char line[LINE];
    if (lmr_announced_is_cut(&s->announced, line, sizeof line)) LMR_TRY(warn(s, line));
    LMR_TRY(warn_of_no_image(s));
    if (s->is_configured) LMR_TRY(reconstruct(s, (lmr_readouts_part){.by = LARMOR_IMAGES_MEASUREMENT}));
    return send_waiting(s);
}

/* Returns LARMOR_OK with *over where the client wants no more. */
static larmor_status take_message(session *s, const larmor_message *m, int *over)
{
    switch (m->kind) {
    case LARMOR_MESSAGE_END:
        *over = 1;
        if (!s->report.acquisitions) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_IO, "%s: the client has gone before it said that all was sent.", s->stream->name);
    case LARMOR_MESSAGE_CLOSE:
        *over = s->report.closed = 1;
        return finish(s);
    case LARMOR_MESSAGE_CONFIG_FILE:
    case LARMOR_MESSAGE_CONFIG_TEXT:
        return take_config(s, m);
    case LARMOR_MESSAGE_HEADER:
        return take_header(s, m);
    case LARMOR_MESSAGE_TEXT:
        return take_text(s, m);
    case LARMOR_MESSAGE_ACQUISITION:
        return take_acquisition(s, m);
    case LARMOR_MESSAGE_WAVEFORM:
        return take_waveform(s, m);
    default:
        return pass_over(s);
    }
}

static larmor_status converse(session *s)
{
    larmor_message m;
    int over = 0;
    while (!over) {
        const int64_t left = s->memory - s->readouts.bytes - s->waves.bytes;
        s->stream->memory = left > 0 ? left : 0;
        LMR_TRY(larmor_stream_receive(s->stream, &m));
        LMR_TRY(take_message(s, &m, &over));
    }
    return LARMOR_OK;
}

static void clear(session *s)
{
    for (int i = 0; i < s->waits; i++) larmor_array_free(s->waiting[i].data);
    free(s->waiting);
    larmor_live_free(s->live);
    lmr_readouts_free(&s->readouts);
    lmr_waves_free(&s->waves);
    free(s->xml);
}

larmor_status larmor_session_run(larmor_stream *stream, const larmor_session_opts *opts,
                                 larmor_session_report *report)
{
    LMR_NEED(stream, opts);
    session s = {.stream = stream,
                 .opts = opts,
                 .job = opts->job,
                 .makes_images = 1,
                 .memory = opts->memory > 0 ? opts->memory : SESSION_MEMORY};
    if (!s.job.recon.size) s.job.recon.size = sizeof s.job.recon;
    const int64_t message = stream->memory;
    char why[LINE] = "";
    const larmor_status st = converse(&s);
    if (st) snprintf(why, sizeof why, "%s", larmor_last_error());
    lmr_make_printable(why);
    clear(&s);
    if (st) lmr_stream_text(stream, "ERR ", why);
    larmor_stream_send(stream,
                       &(larmor_message){.kind = LARMOR_MESSAGE_CLOSE}); /* one who has gone does not get it */
    stream->memory = message;
    if (report) *report = s.report;
    return st ? larmor_fail(st, "%s", why) : LARMOR_OK;
}
