/* Which sample of a readout without a trajectory, and which line and partition, are at the centre of k-space.
 * Headers say so, but for readouts that are stored backwards they count in several ways, and often they are not
 * filled in. The energy of the data says where the echo is. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

/* Tuned on tests/io/test_mrd_echo.c and the Cartesian scans of larmor phantom. */
#define MIN_ECHO_OVER_MEDIAN 4. /* energy of an echo over the median of its profile, else it is no evidence */
#define MOST_OVER_NEIGHBOUR 10. /* energy of a sample or line over that of the larger neighbour that counts */
#define STRONG_READOUT .02      /* energy over that of the strongest readout, of one that shows the echo */
#define MIN_GAIN 2.             /* samples by which another way of counting must be nearer to the echo */
#define MAX_OFF_FRACTION .33    /* and its distance from the echo, over that of what is preset */
#define MIN_DIFFERENCE_EPI                                                                                           \
    2 /* samples between two ways of counting; delays of half a sample do as much to echo-planar lines */
#define MAX_SHIFT 1.5 /* samples or lines between header and echo without a word */
#define MAX_SHIFT_EPI                                                                                                \
    .08                /* of the samples of an echo-planar readout, which delays and gradients of the field shift */
#define MIN_MOVE 2.5   /* samples from which on the data are taken and not the header */
#define MAX_APART 1.   /* samples between the echoes of both directions, which a ghost shows */
#define WEAK_CENTRE .5 /* energy at the header's centre over the echo's, above which it stays */
enum { MOST_CLASSES = 64, COUNTER_VALUES = 65536 };

typedef struct class
{                  /* of readouts whose heads are alike */
    int64_t first; /* acquisition */
    int64_t readouts;
    int reversed;
    double strongest; /* energy of a readout */
    double *profile;  /* [samples] energy, in the order of the line */
    double echo;      /* place in the order of the line; NAN: the data do not say */
    double peak;      /* energy there */
} class;

typedef struct classes {
    int count;
    class of[MOST_CLASSES];
} classes;

/* ---- energy ---- */

double lmr_mrd_energy(const larmor_raw *raw, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    double sum = 0;
    for (int c = 0; c < h->channels; c++) {
        const float *x = raw->data + raw->readout[i].data + 2 * ((int64_t)c * h->samples + h->discard_pre);
        for (int64_t n = 0; n < 2 * lmr_head_kept(h); n++) sum += (double)x[n] * (double)x[n];
    }
    return sum;
}

/* The median of n values that are at least 0; below 0 if there is no memory. */
static double median_of(const double *x, int64_t n)
{
    LMR_HEAP double *sorted = lmr_new(n, sizeof *sorted);
    if (!sorted) return -1;
    memcpy(sorted, x, (size_t)n * sizeof *sorted);
    return lmr_median_f64(sorted, n);
}

/* An object has its energy in neighbours, too: a spike, or a line that is loud, counts as so many times theirs. */
static double among_neighbours(const double *energy, int64_t n, int64_t i)
{
    const double before = i > 0 ? energy[i - 1] : 0;
    const double after = i + 1 < n ? energy[i + 1] : 0;
    return fmin(energy[i], MOST_OVER_NEIGHBOUR * fmax(before, after));
}

/* The place of the largest energy, between samples; NAN where it does not stand out. */
static double find_peak(const double *energy, int64_t n, double *peak)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (among_neighbours(energy, n, i) > among_neighbours(energy, n, at)) at = i;
    *peak = among_neighbours(energy, n, at);
    const double median = n > 2 ? median_of(energy, n) : -1;
    if (median < 0 || !(*peak >= MIN_ECHO_OVER_MEDIAN * median)) return NAN;
    const double before = at > 0 ? energy[at - 1] : 0;
    const double after = at + 1 < n ? energy[at + 1] : 0;
    return (double)at + (after - before) / (before + energy[at] + after);
}

/* ---- along readouts ---- */

static int alike_but_contrast(const lmr_mrd_head *x, const lmr_mrd_head *y)
{
    return x->encoding == y->encoding && x->samples == y->samples && x->discard_pre == y->discard_pre &&
           x->discard_post == y->discard_post && x->center_sample == y->center_sample &&
           !((x->flags ^ y->flags) & LARMOR_ACQ_REVERSE);
}

static int alike(const larmor_raw *raw, int64_t a, int64_t b)
{
    const lmr_mrd_head *x = &raw->head[a], *y = &raw->head[b];
    return alike_but_contrast(x, y) && x->counter[LMR_CONTRAST] == y->counter[LMR_CONTRAST];
}

static int is_line(const larmor_raw *raw, int64_t i, int encoding)
{
    const lmr_mrd_head *h = &raw->head[i];
    return raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION) && h->encoding == encoding && !h->traj_dims;
}

/* The class of a readout; MOST_CLASSES if there are more. */
static int class_of(const larmor_raw *raw, const classes *all, int64_t i)
{
    int c = 0;
    while (c < all->count && !alike(raw, all->of[c].first, i)) c++;
    return c;
}

static larmor_status find_classes(const larmor_raw *raw, int encoding, classes *all)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_line(raw, i, encoding)) continue;
        const int c = class_of(raw, all, i);
        if (c == MOST_CLASSES) return LARMOR_OK;
        class *of = &all->of[c];
        if (c == all->count) {
            *of = (class){.first = i, .reversed = (raw->head[i].flags & LARMOR_ACQ_REVERSE) != 0, .echo = NAN};
            LMR_ALLOCATE(of->profile, raw->head[i].samples);
            memset(of->profile, 0, (size_t)raw->head[i].samples * sizeof *of->profile);
            all->count++;
        }
        of->readouts++;
        of->strongest = fmax(of->strongest, raw->readout[i].energy);
    }
    return LARMOR_OK;
}

static void add_to_profile(const larmor_raw *raw, int64_t i, class *of)
{
    const lmr_mrd_head *h = &raw->head[i];
    for (int c = 0; c < h->channels; c++) {
        const float *x = raw->data + raw->readout[i].data + 2 * (int64_t)c * h->samples;
        for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++) {
            const double energy = (double)x[2 * s] * (double)x[2 * s] + (double)x[2 * s + 1] * (double)x[2 * s + 1];
            of->profile[of->reversed ? h->samples - 1 - s : s] += energy;
        }
    }
}

static larmor_status find_echoes(const larmor_raw *raw, int encoding, classes *all)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_line(raw, i, encoding)) continue;
        const int c = class_of(raw, all, i);
        LMR_TRY(lmr_go_on());
        if (c < all->count && raw->readout[i].energy >= STRONG_READOUT * all->of[c].strongest)
            add_to_profile(raw, i, &all->of[c]);
    }
    for (int c = 0; c < all->count; c++) {
        class *of = &all->of[c];
        const lmr_mrd_head *h = &raw->head[of->first];
        const int64_t low = of->reversed ? h->discard_post : h->discard_pre;
        of->echo = (double)low + find_peak(of->profile + low, lmr_head_kept(h), &of->peak);
    }
    return LARMOR_OK;
}

/* The way of counting by the echoes alone: the preset unless another one is nearer to them by MIN_GAIN; a delay
 * shifts the echoes of lines in the other direction as much. */
static int count_by_echoes(const larmor_raw *raw, const classes *all, int preset)
{
    double off[LMR_COUNTINGS] = {0}, shift = 0;
    int known = 0, best = 0;
    for (int c = 0; c < all->count; c++) {
        const double delay = all->of[c].echo - raw->head[all->of[c].first].center_sample;
        if (!all->of[c].reversed && fabs(delay) < 3) shift = delay;
    }
    for (int c = 0; c < all->count; c++) {
        if (!all->of[c].reversed || isnan(all->of[c].echo)) continue;
        known = 1;
        for (int k = 0; k < LMR_COUNTINGS; k++) {
            const double miss = all->of[c].echo - lmr_mrd_counted(k, &raw->head[all->of[c].first]);
            off[k] += fmin(fabs(miss - shift), fabs(miss + shift));
        }
    }
    for (int k = 1; k < LMR_COUNTINGS; k++)
        if (off[k] < off[best]) best = k;
    return known && off[best] <= fmin(off[preset] - MIN_GAIN, MAX_OFF_FRACTION * off[preset]) ? best : preset;
}

/* Samples by which two ways of counting differ, at most. */
static int difference(const larmor_raw *raw, const classes *all, int a, int b)
{
    int most = 0;
    for (int c = 0; c < all->count; c++) {
        const lmr_mrd_head *h = &raw->head[all->of[c].first];
        const int apart = abs(lmr_mrd_counted(a, h) - lmr_mrd_counted(b, h));
        if (all->of[c].reversed && apart > most) most = apart;
    }
    return most;
}

/* How center_sample of readouts in reverse is counted: as ISMRMRD says, or, where it is that of the middle of the
 * line and was filled in, in the order of the line, unless the data show another way. is_matched: 1: lines of both
 * directions are most alike so, and a ghost has another cause. */
static larmor_status choose_counting(const larmor_raw *raw, int encoding, int epi, const classes *all, int *counting,
                                     int *is_matched)
{
    int reversed = 0, middle = 1;
    lmr_mrd_match match;
    for (int c = 0; c < all->count; c++) {
        const lmr_mrd_head *h = &raw->head[all->of[c].first];
        if (!all->of[c].reversed) continue;
        reversed = 1;
        middle &= h->center_sample == h->samples / 2;
    }
    const int preset = middle ? LMR_COUNTED_ALONG_LINE : LMR_COUNTED_IN_TIME;
    *counting = preset;
    *is_matched = 0;
    if (!reversed) return LARMOR_OK;
    LMR_TRY(lmr_mrd_match_directions(raw, encoding, preset, &match));
    const int found = match.shows ? match.counting : count_by_echoes(raw, all, preset);
    if (!epi || difference(raw, all, found, preset) >= MIN_DIFFERENCE_EPI) *counting = found;
    *is_matched = match.shows ? *counting == match.counting : !match.is_apart;
    return LARMOR_OK;
}

static const char *of_encoding(const larmor_raw *raw, int encoding, lmr_text *text)
{
    *text->s = '\0';
    if (raw->header.encodings > 1) snprintf(text->s, sizeof text->s, "encoding %d: ", encoding + 1);
    return text->s;
}

/* Take the header's centre of a class or the echo, whose places are in the order of the line. gradient: 1: samples
 * are where it says. */
static lmr_mrd_place place_centre(larmor_raw *raw, int encoding, const class *of, int center, int epi, int spans,
                                  int gradient)
{
    const lmr_mrd_head *h = &raw->head[of->first];
    const int64_t matrix = raw->header.encoding[encoding].space.matrix[0];
    const lmr_mrd_place said = {center, 0};
    const lmr_mrd_line line = lmr_mrd_line_of(h, said, matrix, spans);
    const double stored = -line.first / line.step;
    const double used = of->reversed ? h->samples - 1 - stored : stored;
    const double shift = fabs(of->echo - used);
    const double limit = fmax(MAX_SHIFT, epi ? MAX_SHIFT_EPI * h->samples : 0);
    const int64_t nearest = llround(used);
    lmr_text in;
    if (isnan(of->echo) || shift <= limit || (gradient && fabs(of->echo - center) <= limit)) return said;
    const int weak = nearest < 0 || nearest >= h->samples || of->profile[nearest] <= WEAK_CENTRE * of->peak;
    const int moves = weak && shift >= MIN_MOVE;
    LMR_MRD_WARN(raw,
                 "%scenter_sample is %d in %lld readouts of %d samples%s, k = 0 at sample %.0f of the line, but the "
                 "echo is at %.1f; %s is taken.",
                 of_encoding(raw, encoding, &in), h->center_sample, (long long)of->readouts, h->samples,
                 of->reversed ? " in reverse" : "", used, of->echo, moves ? "the echo" : "the header");
    return moves ? (lmr_mrd_place){(int32_t)lround(of->echo), 1} : said;
}

static void free_classes(classes *all)
{
    for (int c = 0; all && c < all->count; c++) free(all->of[c].profile);
    free(all);
}

LMR_OWNS(classes, free_classes)

/* How centres are counted is said where it is not as the standard says and matters. */
static void warn_of_counting(larmor_raw *raw, int encoding, const classes *all, int counting)
{
    static const char *const names[LMR_COUNTINGS] = {"", "from 1", "from the other end"};
    int64_t readouts = 0, matters = 0;
    lmr_text in;
    for (int c = 0; c < all->count; c++) {
        const lmr_mrd_head *h = &raw->head[all->of[c].first];
        if (!all->of[c].reversed) continue;
        readouts += all->of[c].readouts;
        matters |= h->center_sample != h->samples / 2 &&
                   lmr_mrd_counted(counting, h) != lmr_mrd_counted(LMR_COUNTED_IN_TIME, h);
    }
    if (matters)
        LMR_MRD_WARN(raw, "%scenter_sample of %lld readouts in reverse counts samples %s: so the echo says.",
                     of_encoding(raw, encoding, &in), (long long)readouts, names[counting]);
}

/* The first contrast of those whose heads are alike: its centre is that of all of them. A gradient of the field moves
 * later echoes along the line, which is the phase between the contrasts' images and no other centre. */
static int lead_of(const larmor_raw *raw, const classes *all, int c)
{
    const lmr_mrd_head *h = &raw->head[all->of[c].first];
    int lead = c;
    for (int i = 0; i < all->count; i++) {
        const lmr_mrd_head *other = &raw->head[all->of[i].first], *best = &raw->head[all->of[lead].first];
        if (alike_but_contrast(h, other) && other->counter[LMR_CONTRAST] < best->counter[LMR_CONTRAST]) lead = i;
    }
    return lead;
}

/* Echoes that lie at different places of the line in lines of both directions make a ghost. */
static void warn_of_ghost(larmor_raw *raw, int encoding, const classes *all, const lmr_mrd_place *place)
{
    double forward = NAN, backward = NAN;
    lmr_text in;
    for (int c = 0; c < all->count; c++) {
        const double off = all->of[c].echo - place[c].sample;
        if (isnan(off) || place[c].is_echo || lead_of(raw, all, c) != c) continue;
        if (all->of[c].reversed)
            backward = off;
        else
            forward = off;
    }
    if (fabs(forward - backward) > MAX_APART)
        LMR_MRD_WARN(
            raw,
            "%sechoes of lines in reverse are %.1f samples away from those of the others: a delay, which shows as a "
            "ghost half a field of view away where recon does not correct it (opts.no_ghost).",
            of_encoding(raw, encoding, &in), fabs(forward - backward));
}

/* Where echoes are in the order of time, on average over both directions: phases of the object shift them to and
 * fro. */
static double middle_echo(const larmor_raw *raw, const classes *all)
{
    double sum[2] = {0};
    int64_t readouts[2] = {0};
    for (int c = 0; c < all->count; c++) {
        const class *of = &all->of[c];
        const lmr_mrd_head *h = &raw->head[of->first];
        if (isnan(of->echo) || h->samples != raw->head[all->of[0].first].samples) continue;
        sum[of->reversed] += (double)of->readouts * (of->reversed ? h->samples - 1 - of->echo : of->echo);
        readouts[of->reversed] += of->readouts;
    }
    if (!readouts[0] || !readouts[1]) return NAN;
    return (sum[0] / (double)readouts[0] + sum[1] / (double)readouts[1]) / 2;
}

/* 1 if a gradient is described under which whole readouts are sampled: it tells where k = 0 is, and not
 *   center_sample. */
static int has_gradient(const larmor_raw *raw, int encoding, const classes *all)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    const larmor_ramp *r = &space->ramp;
    int whole = !strcmp(space->trajectory, "epi") && r->flat_us > 0 && (r->up_us > 0 || r->down_us > 0);
    for (int c = 0; c < all->count; c++) whole &= !r->samples || raw->head[all->of[c].first].samples == r->samples;
    return whole;
}

larmor_status lmr_mrd_find_echoes(larmor_raw *raw, int encoding)
{
    const char *type = raw->header.encoding[encoding].space.trajectory;
    const int epi = !strcmp(type, "epi"), spans = !epi && strcmp(type, "cartesian") != 0;
    LMR_FREED_BY(lmr_drop_classes) LMR_NEW_ZEROS(classes, all, 1);
    lmr_mrd_place place[MOST_CLASSES];
    int counting = LMR_COUNTED_IN_TIME, is_matched = 0;
    LMR_TRY(find_classes(raw, encoding, all));
    LMR_TRY(find_echoes(raw, encoding, all));
    const int gradient = has_gradient(raw, encoding, all);
    if (!gradient) LMR_TRY(choose_counting(raw, encoding, epi, all, &counting, &is_matched));
    warn_of_counting(raw, encoding, all, counting);
    for (int c = 0; c < all->count; c++) {
        const lmr_mrd_head *h = &raw->head[all->of[c].first];
        if (lead_of(raw, all, c) != c) continue;
        const int said = all->of[c].reversed && h->center_sample ? lmr_mrd_counted(counting, h) : h->center_sample;
        place[c] = place_centre(raw, encoding, &all->of[c], said, epi, spans, gradient);
    }
    for (int c = 0; c < all->count; c++) place[c] = place[lead_of(raw, all, c)];
    if (!is_matched) warn_of_ghost(raw, encoding, all, place);
    raw->traj_of[encoding].echo = middle_echo(raw, all);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_line(raw, i, encoding)) continue;
        const int c = class_of(raw, all, i);
        const lmr_mrd_head *h = &raw->head[i];
        const int reversed = (h->flags & LARMOR_ACQ_REVERSE) && h->center_sample;
        raw->readout[i].centre = c < all->count
                                     ? place[c]
                                     : (lmr_mrd_place){reversed ? lmr_mrd_counted(counting, h) : h->center_sample, 0};
    }
    return LARMOR_OK;
}

/* ---- across readouts ---- */

larmor_status lmr_mrd_strongest_line(const larmor_raw *raw, int encoding, int axis, int64_t said,
                                     lmr_mrd_strongest *out)
{
    double *energy = lmr_new(COUNTER_VALUES, sizeof *energy);
    int64_t *line = lmr_new(COUNTER_VALUES, sizeof *line), lines = 0;
    const int created = energy && line;
    *out = (lmr_mrd_strongest){.line = -1, .gap = 1};
    for (int64_t l = 0; created && l < COUNTER_VALUES; l++) energy[l] = -1;
    for (int64_t i = 0; created && i < raw->info.acquisitions; i++) {
        const int64_t l = raw->head[i].counter[axis - 1];
        if (!(raw->readout[i].use & LMR_IMAGING) || raw->head[i].encoding != encoding) continue;
        energy[l] = fmax(energy[l], 0) + raw->readout[i].energy;
    }
    for (int64_t l = 0; created && l < COUNTER_VALUES; l++) {
        if (energy[l] < 0) continue;
        line[lines] = l;
        energy[lines++] = energy[l];
    }
    double most;
    const double at = created && lines > 2 ? find_peak(energy, lines, &most) : NAN;
    if (!isnan(at)) {
        const int64_t peak = llround(at);
        out->line = line[peak];
        if (peak > 0) out->gap = line[peak] - line[peak - 1];
        if (peak + 1 < lines && line[peak + 1] - line[peak] > out->gap) out->gap = line[peak + 1] - line[peak];
        for (int64_t l = 0; l < lines; l++)
            if (line[l] == said && energy[l] > WEAK_CENTRE * most) out->line = -1;
    }
    LMR_FREE(energy, line);
    return created ? LARMOR_OK : LMR_NO_MEMORY();
}
