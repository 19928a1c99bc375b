/* Readouts sorted by breath and heart, as the images of a source. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"
#include "gating/waves.h"
#include "scan/source.h"

#define TICK_MS 2.5  /* of the stamps of Siemens */
#define FARTHEST 1.0 /* cycles per field of view: of the sample that stands for the centre */

enum { LEAST_CYCLES = 3 /* of stamps that are those of a heart or breath */ };
enum { MOST_BINS = 65535, AHEAD = 4 /* samples from the centre, towards which a readout goes */ };

typedef struct view { /* what one image's readouts say */
    int64_t readouts;
    larmor_array *centre;
    double *direction, *seconds;
    larmor_stamp *stamp;
} view;

LMR_FREES(free_view, view, centre, direction, seconds, stamp)

/* Where readouts go, and which of their samples are nearest to the centre of k-space. */
static larmor_status aim(const char *name, const double *k, larmor_shape shape, double *direction, int64_t *nearest)
{
    const int64_t nd = shape.dim[0], samples = shape.dim[1], readouts = shape.dim[2];
    for (int64_t r = 0; r < readouts; r++) {
        const double *line = k + r * samples * nd;
        double least = INFINITY, length = 0, towards[3] = {0};
        for (int64_t i = 0; i < samples; i++) {
            double square = 0;
            for (int64_t d = 0; d < nd; d++) square += line[i * nd + d] * line[i * nd + d];
            if (square >= least) continue;
            least = square;
            nearest[r] = i;
        }
        LMR_REFUSE(!(least <= FARTHEST * FARTHEST), LARMOR_ERR_ARG,
                   "bins: readout %lld of %s does not pass the centre of k-space; give signals, or use "
                   "stamps.",
                   (long long)r, name);
        const int64_t ahead = nearest[r] + AHEAD;
        const int64_t other = ahead < samples ? ahead : (samples - 1) / 2;
        for (int64_t d = 0; d < nd; d++) {
            towards[d] = (other < nearest[r] ? -1 : 1) * (line[other * nd + d] - line[nearest[r] * nd + d]);
            length += towards[d] * towards[d];
        }
        for (int64_t d = 0; d < 3; d++) direction[3 * r + d] = length > 0 ? towards[d] / sqrt(length) : 0;
    }
    return LARMOR_OK;
}

static larmor_status look_at_centre(larmor_source *inner, int image, larmor_device *dev, view *v)
{
    larmor_grid grid;
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_TRY(larmor_source_samples(inner, image, NULL, dev, &grid, &samples));
    LMR_TRY(larmor_samples_align(&samples, &kspace, &traj));
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t readouts = shape.dim[1];
    const int64_t coils = shape.ndim > 2 ? shape.dim[2] : 1;
    LMR_REFUSE(readouts != v->readouts, LARMOR_ERR_SHAPE,
               "bins: %s has %lld readouts with samples and %lld with stamps", lmr_source_name(inner),
               (long long)readouts, (long long)v->readouts);
    LMR_HEAP LMR_NEW_ZEROS(int64_t, nearest, readouts + 1);
    LMR_HEAP LMR_NEW_ZEROS(double, centre, 2 * readouts * coils + 1);
    LMR_ALLOCATE_ZEROS(v->direction, 3 * readouts + 1);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(aim(lmr_source_name(inner), k, larmor_array_shape(traj), v->direction, nearest));
    LMR_OWN_MEMORY(double, y, larmor_array_download(kspace, LARMOR_C128, &y));
    for (int64_t c = 0; c < coils; c++)
        for (int64_t r = 0; r < readouts; r++) {
            const int64_t from = nearest[r] + shape.dim[0] * (r + c * readouts), to = r + c * readouts;
            centre[2 * to] = y[2 * from];
            centre[2 * to + 1] = y[2 * from + 1];
        }
    return larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(readouts, coils), LARMOR_C128, centre, &v->centre);
}

/* Seconds are those since the stamp `begin`. */
static larmor_status read_stamps(larmor_source *inner, int image, uint32_t begin, double tick_ms, view *v)
{
    larmor_group group;
    LMR_TRY(lmr_source_group(inner, image, &group));
    v->readouts = group.readouts;
    LMR_ALLOCATE_ZEROS(v->stamp, group.readouts + 1);
    LMR_ALLOCATE_ZEROS(v->seconds, group.readouts + 1);
    LMR_TRY(lmr_source_stamps(inner, image, v->stamp));
    for (int64_t i = 0; i < group.readouts; i++) v->seconds[i] = lmr_clock_s(v->stamp[i].time, begin, tick_ms);
    return LARMOR_OK;
}

/* When cycles begin, by the time since the last trigger of the readouts in the order of time. */
static larmor_status read_triggers(const char *name, const view *v, int gate, double tick_ms, double *begin,
                                   int64_t *cycles)
{
    uint32_t before = 0;
    LMR_HEAP LMR_NEW(lmr_ranked, list, v->readouts + 1);
    *cycles = 0;
    for (int64_t i = 0; i < v->readouts; i++) list[i] = (lmr_ranked){v->seconds[i], i};
    lmr_sort_ranked(list, v->readouts);
    for (int64_t i = 0; i < v->readouts; i++) {
        const uint32_t now = v->stamp[list[i].index].physiology[gate];
        *cycles += now < before;
        begin[*cycles] = list[i].value - 1e-3 * tick_ms * now; /* of ticks, the last one stands for all */
        before = now;
    }
    if (++*cycles > 1) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "bins: physiology stamp %d of the readouts of %s never restarts", gate, name);
}

/* Bins of equally many readouts by the signal, -1 where it is NAN. */
static larmor_status by_rank(const double *signal, int64_t n, int bins, int *bin)
{
    LMR_HEAP lmr_ranked *list = calloc((size_t)n + 1, sizeof *list);
    int64_t known = 0;
    if (!list) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        bin[i] = -1;
        if (!isnan(signal[i])) list[known++] = (lmr_ranked){signal[i], i};
    }
    lmr_sort_ranked(list, known);
    for (int64_t i = 0; i < known; i++) bin[list[i].index] = (int)(i * bins / known);
    return LARMOR_OK;
}

static void by_phase(const double *phase, int64_t n, int bins, int *bin)
{
    const double rounding = 1e-9; /* ticks often begin a bin exactly */
    for (int64_t i = 0; i < n; i++)
        bin[i] = isnan(phase[i]) ? -1 : (int)((phase[i] - floor(phase[i])) * bins + rounding) % bins;
}

/* One image: its bins, and what they rest on. */
typedef struct sorting {
    larmor_source *inner;
    larmor_device *dev;
    const larmor_bins_opts *o;
    const lmr_given *given;
    const lmr_wave_rhythm *wave; /* of heart and breath */
    int *bin;                    /* of the image's readouts */
    int image;                   /* of inner */
    int64_t offset;              /* readouts of the images before */
    uint32_t begin;              /* the clock at the first readout of all */
    double tick_ms;
    larmor_bins_found *found;
} sorting;

typedef struct rhythms { /* of an image's readouts */
    double *heart, *breath;
    int breath_is_phase;
    larmor_gating_signal of_heart, of_breath; /* what they rest on */
} rhythms;

static void free_rhythms(rhythms *c)
{
    LMR_FREE(c->heart, c->breath);
    larmor_gating_signal_free(&c->of_heart);
    larmor_gating_signal_free(&c->of_breath);
}

static larmor_status sort_breath(const sorting *s, const rhythms *c, int64_t n, int *bin)
{
    if (!c->breath_is_phase) return by_rank(c->breath, n, s->o->breath, bin);
    by_phase(c->breath, n, s->o->breath, bin);
    return LARMOR_OK;
}

/* bin <- bin + all * other, or -1 where either is. */
static void add_dimension(int *bin, int all, const int *other, int64_t n)
{
    for (int64_t i = 0; i < n; i++) bin[i] = bin[i] < 0 || other[i] < 0 ? -1 : bin[i] + all * other[i];
}

/* In the order of counters: the heart, the breath, time. */
static larmor_status join(const sorting *s, const view *v, const rhythms *c)
{
    const int64_t n = v->readouts;
    int all = 1;
    LMR_HEAP LMR_NEW_ZEROS(int, other, n + 1);
    if (s->o->heart) by_phase(c->heart, n, s->o->heart, s->bin);
    if (s->o->heart) all = s->o->heart;
    if (s->o->breath) {
        LMR_TRY(sort_breath(s, c, n, other));
        add_dimension(s->bin, all, other, n);
        all *= s->o->breath;
    }
    if (!s->o->time) return LARMOR_OK;
    LMR_TRY(by_rank(v->seconds, n, s->o->time, other));
    add_dimension(s->bin, all, other, n);
    return LARMOR_OK;
}

/* The phase by stamps; it stays NULL where `must` is 0 and they do not restart as the band has it. */
static larmor_status read_stamped(const sorting *s, const view *v, int gate, const lmr_band *band, int must,
                                  double **phase, larmor_gating_signal *signal)
{
    int64_t cycles;
    LMR_HEAP LMR_NEW_ZEROS(double, begin, v->readouts + 1);
    const larmor_status st = read_triggers(lmr_source_name(s->inner), v, gate, s->tick_ms, begin, &cycles);
    if (st) return must ? st : LARMOR_OK;
    const double hz = (double)(cycles - 1) / (begin[cycles - 1] - begin[0]);
    if (!must && (cycles < LEAST_CYCLES || !(hz >= band->low && hz <= band->high))) return LARMOR_OK;
    LMR_ALLOCATE_ZEROS(*phase, v->readouts + 1);
    LMR_TRY(lmr_gating_phase(begin, cycles, 0, v->seconds, v->readouts, *phase));
    *signal = (larmor_gating_signal){
        .from = LARMOR_GATED_BY_STAMPS, .trigger = begin, .triggers = cycles, .rate = 60 * hz, .reliability = 1};
    begin = NULL;
    snprintf(signal->report, sizeof signal->report, "physiology stamp %d of the readouts", gate);
    return LARMOR_OK;
}

static larmor_status read_samples(const sorting *s, view *v, rhythms *c)
{
    LMR_FREED_BY(larmor_gating_free) larmor_gating g = {.readouts = 0};
    LMR_TRY(look_at_centre(s->inner, s->image, s->dev, v));
    LMR_TRY(larmor_gating_find(v->centre, v->direction, v->seconds, &g));
    if (s->o->breath && !c->breath) {
        LMR_TRY(lmr_trace_rhythm(&g.breath, v->seconds, v->readouts, 0, &c->of_breath));
        c->breath = g.breath.signal;
        g.breath.signal = NULL;
    }
    if (s->o->heart && !c->heart) {
        LMR_TRY(lmr_trace_rhythm(&g.heart, v->seconds, v->readouts, 1, &c->of_heart));
        c->heart = g.heart.phase;
        g.heart.phase = NULL;
    }
    return LARMOR_OK;
}

/* What was given is by the caller, or by a waveform. */
static larmor_status report_given(const sorting *s, rhythms *c)
{
    larmor_gating_signal *const to[] = {&c->of_heart, &c->of_breath};
    const double *const have[] = {c->heart, c->breath};
    for (int i = 0; i < 2; i++) {
        if (!have[i]) continue;
        if (s->wave[i].shown.from) {
            LMR_TRY(lmr_trace_copy(&s->wave[i].shown, to[i]));
            continue;
        }
        to[i]->from = LARMOR_GATED_BY_CALLER;
        to[i]->reliability = 1;
        snprintf(to[i]->report, sizeof to[i]->report, "%s that were given",
                 s->given[i].is_times ? "times" : "numbers");
    }
    return LARMOR_OK;
}

/* By stamps, else by samples. */
static larmor_status read_missing(const sorting *s, view *v, rhythms *c)
{
    const int must = s->o->way == LARMOR_GATING_HEADER, may = must || s->o->way == LARMOR_GATING_AUTO;
    if (may && s->o->heart && !c->heart)
        LMR_TRY(read_stamped(s, v, 0, &lmr_heart_band, must, &c->heart, &c->of_heart));
    if (may && s->o->breath && !c->breath) {
        LMR_TRY(read_stamped(s, v, 1, &lmr_breath_band, must, &c->breath, &c->of_breath));
        c->breath_is_phase = c->breath != NULL;
    }
    if ((s->o->heart && !c->heart) || (s->o->breath && !c->breath)) LMR_TRY(read_samples(s, v, c));
    return LARMOR_OK;
}

#define MOST_COMPARED 3e7 /* samples of all coils: more take memory and time that nobody asked for */

/* A signal of each readout against the samples' own, where these have one. */
static larmor_status compare_breath(const sorting *s, view *v, const rhythms *c)
{
    LMR_FREED_BY(larmor_gating_free) larmor_gating g = {.readouts = 0};
    larmor_group group;
    double late = 0;
    if (!c->breath || c->breath_is_phase || c->of_breath.from == LARMOR_GATED_BY_SAMPLES) return LARMOR_OK;
    LMR_TRY(lmr_source_group(s->inner, s->image, &group));
    if ((double)group.total * larmor_source_describe(s->inner).coils > MOST_COMPARED) return LARMOR_OK;
    larmor_status st = v->centre ? LARMOR_OK : look_at_centre(s->inner, s->image, s->dev, v);
    if (!st) st = larmor_gating_find(v->centre, v->direction, v->seconds, &g);
    if (st == LARMOR_ERR_ARG || st == LARMOR_ERR_NUMERIC || st == LARMOR_ERR_MEMORY) return LARMOR_OK; /* unknown */
    LMR_TRY(st);
    LMR_TRY(lmr_gating_lateness(&g.breath, c->breath, v->seconds, v->readouts, &late));
    if (fabs(late) > fabs(s->found->breath_late)) s->found->breath_late = late;
    return LARMOR_OK;
}

static int64_t count_unknown(const double *numbers, int64_t n)
{
    int64_t unknown = 0;
    for (int64_t i = 0; i < n; i++) unknown += isnan(numbers[i]);
    return unknown;
}

static void note_found(const sorting *s, const rhythms *c, int64_t n)
{
    larmor_bins_found *f = s->found;
    f->readouts += n;
    if (s->o->heart) {
        f->heart_unknown += count_unknown(c->heart, n);
        f->heart_from = c->of_heart.from;
        f->heart_rate = c->of_heart.rate;
        f->heart_reliable = fmin(f->heart_reliable, c->of_heart.reliability);
        memcpy(f->heart_report, c->of_heart.report, sizeof f->heart_report);
    }
    if (!s->o->breath) return;
    f->breath_unknown += count_unknown(c->breath, n);
    f->breath_from = c->of_breath.from;
    f->breath_rate = c->of_breath.rate;
    f->breath_reliable = fmin(f->breath_reliable, c->of_breath.reliability);
    memcpy(f->breath_report, c->of_breath.report, sizeof f->breath_report);
}

static larmor_status sort_image(sorting *s, int image)
{
    LMR_FREED_BY(free_view) view v = {0};
    LMR_FREED_BY(free_rhythms) rhythms c = {.heart = NULL};
    s->image = image;
    LMR_TRY(read_stamps(s->inner, image, s->begin, s->tick_ms, &v));
    if (s->o->heart) LMR_TRY(lmr_gating_given(&s->given[0], v.seconds, v.readouts, s->offset, &c.heart));
    if (s->o->breath) LMR_TRY(lmr_gating_given(&s->given[1], v.seconds, v.readouts, s->offset, &c.breath));
    c.breath_is_phase = c.breath && s->given[1].is_times;
    LMR_TRY(report_given(s, &c));
    LMR_TRY(read_missing(s, &v, &c));
    LMR_TRY(compare_breath(s, &v, &c));
    LMR_TRY(join(s, &v, &c));
    note_found(s, &c, v.readouts);
    if (image || !s->o->trace) return LARMOR_OK;
    return lmr_trace_take(s->o, v.seconds, s->bin, v.readouts, &c.of_heart, &c.of_breath);
}

static larmor_status check(const larmor_bins_opts *o)
{
    const int kinds = (o->heart != 0) + (o->breath != 0) + (o->time != 0);
    const int64_t heart = o->heart ? o->heart : 1;
    const int64_t breath = o->breath ? o->breath : 1;
    const int64_t time = o->time ? o->time : 1;
    const int counts = heart > 0 && breath > 0 && time > 0 && heart <= MOST_BINS && breath <= MOST_BINS &&
                       time <= MOST_BINS && kinds > 0 && kinds < 3 && heart * breath * time <= MOST_BINS;
    LMR_REFUSE(!counts, LARMOR_ERR_ARG,
               "bins: got %d of the heart, %d of the breath and %d of time, expected one or two of them and "
               "1 to %d together",
               o->heart, o->breath, o->time, MOST_BINS);
    LMR_REFUSE(!(o->tick_ms >= 0 && o->tick_ms <= 1e6), LARMOR_ERR_ARG,
               "bins: tick_ms is %g, expected a time above 0", o->tick_ms);
    return LARMOR_OK;
}

static larmor_status check_reliability(const larmor_bins_opts *o, const larmor_bins_found *f)
{
    const int poor_breath = o->breath && f->breath_reliable < LARMOR_RELIABLE;
    if (!poor_breath && !(o->heart && f->heart_reliable < LARMOR_RELIABLE)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "bins: the %s that was found in the samples has a reliability of %.2f",
                    poor_breath ? "breath" : "heartbeat", poor_breath ? f->breath_reliable : f->heart_reliable);
}

/* How many readouts each bin has. */
static larmor_status count_bins(const larmor_source *source, larmor_bins_found *f, int bins)
{
    const int images = larmor_source_describe(source).groups;
    f->bins = bins;
    f->empty = bins - images;
    for (int i = 0; i < images; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(source, i, &g));
        if (!i || g.readouts < f->fewest) f->fewest = g.readouts;
        if (g.readouts > f->most) f->most = g.readouts;
    }
    return LARMOR_OK;
}

/* Which of heart, breath and time the phases and the repetitions are. */
static lmr_bins dimensions_of(const larmor_bins_opts *o, const int *bin)
{
    const int behind = o->time ? o->breath : 0;
    const int inner = o->heart ? o->heart : behind;
    const int outer = o->time ? o->time : o->breath;
    lmr_bins bins = {inner ? inner : 1, outer ? outer : 1, {0, 0}, bin};
    if (inner) bins.letter[0] = o->heart ? 'h' : 'b';
    if (outer) bins.letter[1] = o->time ? 't' : 'b';
    return bins;
}

typedef struct given_signals {
    lmr_given of[2];         /* heart, breath */
    lmr_wave_rhythm wave[2]; /* what of it is by waveforms; the numbers are in `of` */
    int64_t readouts;
} given_signals;

static void free_given(given_signals *g)
{
    for (int i = 0; i < 2; i++) {
        lmr_given_free(&g->of[i]);
        lmr_wave_rhythm_free(&g->wave[i]);
    }
}

/* Times of all readouts since the first one. */
static larmor_status read_seconds(larmor_source *inner, int images, double tick_ms, uint32_t begin, double *seconds)
{
    for (int i = 0; i < images; i++) {
        LMR_FREED_BY(free_view) view v = {0};
        LMR_TRY(read_stamps(inner, i, begin, tick_ms, &v));
        for (int64_t j = 0; j < v.readouts; j++) *seconds++ = v.seconds[j];
    }
    return LARMOR_OK;
}

/* Waveforms take the place of what the caller has not given. */
static larmor_status read_waves(larmor_source *inner, const larmor_bins_opts *o, int images, double tick_ms,
                                uint32_t begin, given_signals *g)
{
    const int must = o->way == LARMOR_GATING_WAVEFORMS;
    const int wanted[2] = {o->heart && !g->of[0].number, o->breath && !g->of[1].number};
    if (!must && o->way != LARMOR_GATING_AUTO) return LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(double, seconds, g->readouts + 1);
    if (o->waveforms) LMR_TRY(read_seconds(inner, images, tick_ms, begin, seconds));
    for (int i = 0; i < 2; i++) {
        if (!wanted[i]) continue;
        lmr_wave_rhythm *w = &g->wave[i];
        if (o->waveforms)
            LMR_TRY((i ? lmr_breath_of_waves : lmr_heart_of_waves)(o->waveforms, begin, tick_ms, seconds, g->readouts,
                                                                   w));
        LMR_REFUSE(must && !w->shown.from, LARMOR_ERR_ARG, "bins: no waveform of %s; %s.",
                   i ? "the breath" : "the heart", *w->shown.report ? w->shown.report : "the file has none");
        g->of[i] = w->given;
        w->given = (lmr_given){.number = NULL};
    }
    return LARMOR_OK;
}

/* What the caller has of heart and breath for all readouts, and the clock at the first one in the order of time. */
static larmor_status read_given(larmor_source *inner, const larmor_bins_opts *o, int images, given_signals *given,
                                uint32_t *begin)
{
    for (int i = 0; i < images; i++) {
        LMR_FREED_BY(free_view) view v = {0};
        LMR_TRY(read_stamps(inner, i, *begin, TICK_MS, &v));
        if (!i) *begin = v.stamp[0].time;
        for (int64_t j = 0; j < v.readouts; j++)
            if (lmr_clock_s(v.stamp[j].time, *begin, TICK_MS) < 0) *begin = v.stamp[j].time;
        given->readouts += v.readouts;
    }
    LMR_TRY(lmr_given_read("heart", o->heart_times, o->heart_phase, given->readouts, &given->of[0]));
    return lmr_given_read("breath", o->breath_times, o->breath_signal, given->readouts, &given->of[1]);
}

larmor_status larmor_source_of_bins(larmor_source *inner, larmor_device *dev, const larmor_bins_opts *opts,
                                    larmor_bins_found *found, larmor_source **source)
{
    larmor_bins_found own = {.breath_reliable = 1, .heart_reliable = 1};
    LMR_NEED(source);
    *source = NULL;
    if (found) *found = own;
    LMR_NEED(inner, dev, opts);
    LMR_TRY(check(opts));
    LMR_FREED_BY(free_given) given_signals given = {.readouts = 0};
    const int images = larmor_source_describe(inner).groups;
    uint32_t begin = 0;
    LMR_TRY(read_given(inner, opts, images, &given, &begin));
    LMR_HEAP LMR_NEW_ZEROS(int, bin, given.readouts + 1);
    const double tick_ms = opts->tick_ms > 0 ? opts->tick_ms : TICK_MS;
    LMR_TRY(read_waves(inner, opts, images, tick_ms, begin, &given));
    for (int i = 0; i < 2; i++)
        if (!given.wave[i].shown.from) memcpy(own.unused[i], given.wave[i].shown.report, sizeof own.unused[i]);
    sorting s = {inner, dev, opts, given.of, given.wave, bin, 0, 0, begin, tick_ms, &own};
    for (int i = 0; i < images; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(inner, i, &g));
        s.bin = bin + s.offset;
        LMR_TRY(sort_image(&s, i));
        s.offset += g.readouts;
    }
    if (!found) LMR_TRY(check_reliability(opts, &own));
    const lmr_bins bins = dimensions_of(opts, bin);
    LMR_TRY(lmr_source_of_bins(inner, &bins, source));
    LMR_TRY(count_bins(*source, &own, images * bins.phases * bins.repetitions));
    if (found) *found = own;
    return LARMOR_OK;
}
