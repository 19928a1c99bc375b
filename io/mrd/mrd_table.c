/* What each readout of a raw file is for, whether its numbers are sane, and which coils have signal and noise.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"
#include "io/parts.h"

_Static_assert(LMR_MRD_MAX_CHANNELS <= LMR_MOST_CHANNELS, "of as many channels as a file may have");

/* Readouts that are left out, by the first of their flags. */
static const struct {
    uint64_t flag;
    const char *name;
} left_out[] = {
    {LARMOR_ACQ_NAVIGATION, "navigation"},
    {LARMOR_ACQ_PHASE_CORRECTION, "phase correction"},
    {LARMOR_ACQ_HP_FEEDBACK, "HP feedback"},
    {LARMOR_ACQ_DUMMY, "dummy"},
    {LARMOR_ACQ_RT_FEEDBACK, "RT feedback"},
    {LARMOR_ACQ_SURFACE_COIL_CORRECTION, "surface coil correction"},
    {LARMOR_ACQ_PHASE_STABILISATION_REFERENCE, "phase stabilisation reference"},
    {LARMOR_ACQ_PHASE_STABILISATION, "phase stabilisation"},
};
enum { KINDS = sizeof left_out / sizeof *left_out };

/* The kind of a readout that is left out, KINDS of one that is not. Scanners flag noise readouts as something
 * else, too. */
static int kind_of(uint64_t flags)
{
    int kind = flags & LARMOR_ACQ_NOISE ? KINDS : 0;
    while (kind < KINDS && !(flags & left_out[kind].flag)) kind++;
    return kind;
}

static int use_of(uint64_t flags)
{
    if (kind_of(flags) < KINDS) return 0;
    if (flags & LARMOR_ACQ_NOISE) return LMR_NOISE;
    if (flags & LARMOR_ACQ_CALIBRATION_AND_IMAGING) return LMR_IMAGING | LMR_CALIBRATION;
    return flags & LARMOR_ACQ_CALIBRATION ? LMR_CALIBRATION : LMR_IMAGING;
}

/* Converters leave heads of coils without samples for readouts that were not acquired; a head without coils was never
 * filled in. */
static int has_no_samples(const lmr_mrd_head *h)
{
    return !h->unwritten && !h->samples && h->channels;
}

/* ---- heads ---- */

/* largest: samples of the longest readout. A short dummy may carry the center of the others. */
static larmor_status check_head(const larmor_raw *raw, int64_t i, int largest)
{
    const lmr_mrd_head *h = &raw->head[i];
    const long long n = (long long)i;
    LMR_REFUSE(!h->samples, LARMOR_ERR_FORMAT, "acquisition %lld: 0 samples.", n);
    LMR_REFUSE(!h->channels || h->channels > LMR_MRD_MAX_CHANNELS, LARMOR_ERR_FORMAT,
               "acquisition %lld: %d channels, 1 to %d expected.", n, h->channels, LMR_MRD_MAX_CHANNELS);
    LMR_REFUSE(h->discard_pre + h->discard_post >= h->samples, LARMOR_ERR_FORMAT,
               "acquisition %lld: discard %d+%d of %d samples.", n, h->discard_pre, h->discard_post, h->samples);
    if (raw->readout[i].use == LMR_NOISE) return LARMOR_OK;
    LMR_REFUSE(h->encoding >= raw->header.encodings, LARMOR_ERR_FORMAT,
               "acquisition %lld: encoding space %d, header has %d.", n, h->encoding, raw->header.encodings);
    LMR_REFUSE(h->center_sample > (h->traj_dims ? largest : h->samples), LARMOR_ERR_FORMAT,
               "acquisition %lld: center sample %d of %d.", n, h->center_sample, h->samples);
    return LARMOR_OK;
}

/* The number of channels that most samples have: of images; of calibration if there are none. */
static int most_channels(const larmor_raw *raw)
{
    int64_t samples[LMR_MRD_MAX_CHANNELS + 1] = {0};
    int best = 0;
    for (int use = LMR_IMAGING; use <= LMR_CALIBRATION && !samples[best]; use *= 2)
        for (int64_t i = 0; i < raw->info.acquisitions; i++)
            if (raw->readout[i].use & use) {
                const int channels = raw->head[i].channels;
                samples[channels] += raw->head[i].samples;
                if (samples[channels] > samples[best]) best = channels;
            }
    return best;
}

/* Readouts with another number of channels than most samples have are left out. */
static void check_channels(larmor_raw *raw)
{
    int64_t others = 0, noise = 0, first = -1, first_noise = -1;
    raw->channels = most_channels(raw);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        lmr_mrd_readout *r = &raw->readout[i];
        if (!r->use) continue;
        if (!raw->channels) raw->channels = raw->head[i].channels; /* of noise alone */
        if (raw->head[i].channels == raw->channels) continue;
        if (r->use == LMR_NOISE) {
            if (!noise++) first_noise = i;
        } else if (!others++)
            first = i;
        r->use = 0;
    }
    if (others)
        LMR_MRD_WARN(raw,
                     "%lld readouts are left out, as they have another number of channels than the others: "
                     "acquisition %lld has %d, the others %d.",
                     (long long)others, (long long)first, raw->head[first].channels, raw->channels);
    if (noise)
        LMR_MRD_WARN(
            raw,
            "%lld noise readouts are left out, as they have another number of channels than the others: acquisition "
            "%lld has %d, the others %d.",
            (long long)noise, (long long)first_noise, raw->head[first_noise].channels, raw->channels);
}

static void add_dropped(larmor_raw_info *info, int64_t count, const char *name)
{
    if (!count) return;
    lmr_append_item(info->dropped_report, sizeof info->dropped_report, ", ", "%lld %s", (long long)count, name);
    info->dropped += count;
}

/* Echoes of EPI, or lines that are acquired like them. */
static int goes_both_ways(const larmor_raw *raw)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & LMR_IMAGING)) continue;
        if (!strcmp(raw->header.encoding[h->encoding].space.trajectory, "epi")) return 1;
        if (h->flags & LARMOR_ACQ_REVERSE) return 1;
    }
    return 0;
}

/* Whether images of an encoding have lines without a stored trajectory. */
static int has_lines(const larmor_raw *raw, int encoding)
{
    const char *type = raw->header.encoding[encoding].space.trajectory;
    if (strcmp(type, "epi") != 0 && strcmp(type, "cartesian") != 0) return 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use & LMR_IMAGING && raw->head[i].encoding == encoding) return !raw->head[i].traj_dims;
    return 0;
}

/* Lines for phase correction become navigators where image lines go both ways, without a stored trajectory, and
 * their heads are sane; others stay left out. */
static void find_navigators(larmor_raw *raw)
{
    const int both = goes_both_ways(raw), channels = most_channels(raw);
    int lines[LMR_MRD_MAX_ENCODINGS] = {0};
    for (int e = 0; e < raw->header.encodings; e++) lines[e] = has_lines(raw, e);
    for (int64_t i = 0; i < raw->info.acquisitions && both; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        const uint64_t others = h->flags & ~LARMOR_ACQ_PHASE_CORRECTION;
        if (h->unwritten || !(h->flags & LARMOR_ACQ_PHASE_CORRECTION) || (h->flags & LARMOR_ACQ_NOISE)) continue;
        if (kind_of(others) < KINDS || h->traj_dims || h->channels != channels) continue;
        if (!h->samples || h->discard_pre + h->discard_post >= h->samples || h->encoding >= raw->header.encodings)
            continue;
        if (h->center_sample > h->samples || !lines[h->encoding]) continue;
        raw->readout[i].use = LMR_NAVIGATOR;
        raw->info.navigators++;
    }
}

/* Which readouts are left out, and what that means. */
static void report_dropped(larmor_raw *raw)
{
    int64_t count[KINDS + 1] = {0}, corrections = 0, unwritten = 0, empty = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (raw->readout[i].use & LMR_NAVIGATOR) continue;
        empty += has_no_samples(&raw->head[i]);
        if (has_no_samples(&raw->head[i])) continue;
        count[kind_of(raw->head[i].flags)]++;
        unwritten += raw->head[i].unwritten != 0;
        corrections +=
            (raw->head[i].flags & (LARMOR_ACQ_PHASE_CORRECTION | LARMOR_ACQ_NOISE)) == LARMOR_ACQ_PHASE_CORRECTION;
    }
    add_dropped(&raw->info, unwritten, "never written");
    add_dropped(&raw->info, empty, "without samples");
    for (int kind = 0; kind < KINDS; kind++) add_dropped(&raw->info, count[kind], left_out[kind].name);
    if (corrections && goes_both_ways(raw))
        LMR_MRD_WARN(raw,
                     "%lld phase correction readouts are left out, as they are no lines like those of the image.",
                     (long long)corrections);
}

/* ---- scans for the coil maps of slices that were excited together ---- */

enum { SLICES = 65536 }; /* as a counter has them */

static int is_reference(const larmor_raw *raw, int64_t i, int encoding)
{
    return raw->head[i].encoding == encoding && raw->readout[i].use & LMR_CALIBRATION;
}

static void make_images(larmor_raw *raw, int encoding)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (is_reference(raw, i, encoding)) raw->readout[i].use = LMR_IMAGING;
}

/* Of readouts for calibration: those of slices that were excited together all have one counter. */
static int count_slices(const larmor_raw *raw, int encoding)
{
    unsigned char seen[SLICES / 8] = {0};
    int count = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const unsigned slice = raw->head[i].counter[LMR_SLICE];
        if (!is_reference(raw, i, encoding) || seen[slice / 8] >> slice % 8 & 1) continue;
        seen[slice / 8] |= (unsigned char)(1U << slice % 8);
        count++;
    }
    return count;
}

/* The readouts for calibration of an encoding become another one behind the others. */
static larmor_status split(larmor_raw *raw, int encoding)
{
    lmr_mrd_header *h = &raw->header;
    const int own = h->encodings;
    lmr_mrd_encoding *more = realloc(h->encoding, ((size_t)own + 1) * sizeof *more);
    if (!more) return LMR_NO_MEMORY();
    h->encoding = more;
    more[own] = more[encoding];
    more[own].space.multiband = (larmor_multiband_header){.factor = 0};
    more[encoding].space.multiband.calibration_encoding = own;
    raw->info.encodings = ++h->encodings;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_reference(raw, i, encoding)) continue;
        raw->head[i].encoding = (uint16_t)own;
        raw->readout[i].use = LMR_IMAGING;
    }
    return LARMOR_OK;
}

static void leave_out(larmor_raw *raw, int encoding)
{
    int64_t count = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_reference(raw, i, encoding)) continue;
        raw->readout[i].use = 0;
        count++;
    }
    add_dropped(&raw->info, count, "of each slice for calibration");
}

static larmor_status route_references(larmor_raw *raw)
{
    const int encodings = raw->header.encodings, leaves_out = raw->info.multiband_left_out == 2;
    for (int e = 0; e < encodings; e++) {
        const larmor_encoding *space = &raw->header.encoding[e].space;
        const larmor_multiband_header *m = &space->multiband;
        const int own = m->calibration_encoding, flat = !strcmp(m->calibration, "separable2D");
        if (m->factor < 2 || own < 0 || (!flat && strcmp(m->calibration, "full3D") != 0)) continue;
        if (leaves_out && (own != e || (flat && space->matrix[2] <= 1 && count_slices(raw, e) >= m->factor)))
            leave_out(raw, own);
        if (leaves_out) continue;
        if (own != e) make_images(raw, own);
        if (own != e || !flat || space->matrix[2] > 1 || raw->header.encodings == LMR_MRD_MAX_ENCODINGS) continue;
        if (count_slices(raw, e) >= m->factor) LMR_TRY(split(raw, e));
    }
    return LARMOR_OK;
}

larmor_status lmr_mrd_route(larmor_raw *raw)
{
    larmor_raw_info *info = &raw->info;
    int largest = 0;
    for (int64_t i = 0; i < info->acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        raw->readout[i].use = h->unwritten || has_no_samples(h) ? 0 : use_of(h->flags);
        if (h->samples > largest) largest = h->samples;
    }
    LMR_TRY(route_references(raw));
    for (int64_t i = 0; i < info->acquisitions; i++)
        if (raw->readout[i].use) LMR_TRY(check_head(raw, i, largest));
    check_channels(raw);
    find_navigators(raw);
    report_dropped(raw);
    for (int64_t i = 0; i < info->acquisitions; i++) {
        const float us = raw->head[i].dwell_us;
        const double dwell = isfinite(us) && us > 0 ? (double)us : 0;
        if (raw->readout[i].use & LMR_IMAGING && info->dwell_us == 0) info->dwell_us = dwell;
        if (raw->readout[i].use & LMR_NOISE && info->noise_dwell_us == 0) info->noise_dwell_us = dwell;
    }
    return LARMOR_OK;
}

/* ---- samples ---- */

typedef struct findings {
    int64_t values, acquisition, channel, sample; /* non-finite: how many, and the first */
    int64_t traj_values, traj_acquisition, traj_component, traj_sample;
    int64_t nonfinite; /* readouts */
    float peak, imaging_peak;
    unsigned char alive[LMR_MRD_MAX_CHANNELS];
    double noise[LMR_MRD_MAX_CHANNELS]; /* energy of the noise scans */
} findings;

/* The largest finite magnitude of n numbers; *bad is raised by how many are not finite. Without their sign, floats
 * order like integers, which the compiler can compare many at a time. */
static float peak_of(const float *x, int64_t n, int64_t *bad)
{
    int32_t peak = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7fffffff;
        peak = bits > peak ? bits : peak;
    }
    float largest;
    memcpy(&largest, &peak, sizeof largest);
    if (isfinite(largest)) return largest;
    largest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            ++*bad;
        else
            largest = fmaxf(largest, fabsf(x[i]));
    }
    return largest;
}

static double energy_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* 1 if a readout's kept samples and trajectory are all finite. */
static int look_at(const larmor_raw *raw, int64_t i, findings *f)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_readout *r = &raw->readout[i];
    const int64_t kept = lmr_head_kept(h);
    int64_t bad = 0;
    for (int c = 0; c < h->channels; c++) {
        const float *x = raw->data + r->data + 2 * ((int64_t)c * h->samples + h->discard_pre);
        int64_t here = 0;
        const float peak = peak_of(x, 2 * kept, &here);
        if (here && !f->values && !bad) {
            int64_t s = 0;
            while (isfinite(x[s])) s++;
            f->acquisition = i;
            f->channel = c;
            f->sample = h->discard_pre + s / 2;
        }
        bad += here;
        if (peak > f->peak) f->peak = peak;
        if (r->use == LMR_NOISE) f->noise[c] += here ? 0 : energy_of(x, 2 * kept);
        if (!(r->use & LMR_IMAGING)) continue;
        if (peak > 0) f->alive[c] = 1;
        if (peak > f->imaging_peak) f->imaging_peak = peak;
    }
    const float *k = raw->traj + r->traj + (int64_t)h->discard_pre * h->traj_dims;
    int64_t bad_k = 0;
    peak_of(k, kept * h->traj_dims, &bad_k);
    if (bad_k && !f->traj_values) {
        int64_t s = 0;
        while (isfinite(k[s])) s++;
        f->traj_acquisition = i;
        f->traj_component = s % h->traj_dims;
        f->traj_sample = h->discard_pre + s / h->traj_dims;
    }
    f->values += bad;
    f->traj_values += bad_k;
    return !bad && !bad_k;
}

static larmor_status refuse_nonfinite(const findings *f)
{
    LMR_REFUSE(f->values, LARMOR_ERR_FORMAT,
               "%lld non-finite values, first in acquisition %lld, channel %lld, sample %lld. Use "
               "opts.drop_nonfinite to leave those acquisitions out.",
               (long long)f->values, (long long)f->acquisition, (long long)f->channel, (long long)f->sample);
    LMR_REFUSE(f->traj_values, LARMOR_ERR_FORMAT,
               "%lld non-finite trajectory values, first in acquisition %lld, component %lld, sample %lld. Use "
               "opts.drop_nonfinite to leave those acquisitions out.",
               (long long)f->traj_values, (long long)f->traj_acquisition, (long long)f->traj_component,
               (long long)f->traj_sample);
    return LARMOR_OK;
}

/* Counts of what is used, after all has been left out that must be. */
static larmor_status count_uses(larmor_raw *raw)
{
    larmor_raw_info *info = &raw->info;
    int64_t calibration_only = 0;
    for (int64_t i = 0; i < info->acquisitions; i++) {
        const int use = raw->readout[i].use;
        info->imaging += !!(use & LMR_IMAGING);
        info->calibration += !!(use & LMR_CALIBRATION);
        info->noise += use == LMR_NOISE;
        calibration_only += use == LMR_CALIBRATION;
        if (use == LMR_NOISE) info->noise_samples += lmr_head_kept(&raw->head[i]);
    }
    if (info->imaging) return LARMOR_OK;
    char more[sizeof info->dropped_report + 96] = "";
    int n = 0;
    if (info->dropped) n = snprintf(more, sizeof more, ", %s", info->dropped_report);
    if (calibration_only)
        n += snprintf(more + n, sizeof more - (size_t)n, ", %lld calibration", (long long)calibration_only);
    if (info->nonfinite) snprintf(more + n, sizeof more - (size_t)n, ", %lld non-finite", (long long)info->nonfinite);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "no acquisitions left after flags (%lld read, %lld noise%s).",
                    (long long)info->acquisitions, (long long)info->noise, more);
}

/* ---- coils ---- */

static void give_up_noise(larmor_raw *raw)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use == LMR_NOISE) raw->readout[i].use = 0;
    add_dropped(&raw->info, raw->info.noise, "noise without noise");
    raw->info.noise = raw->info.noise_samples = 0;
    LMR_MRD_WARN(raw, LMR_NO_NOISE_TEXT);
}

static void choose_coils(larmor_raw *raw, const findings *f)
{
    larmor_raw_info *info = &raw->info;
    if (info->noise && !lmr_have_noise(raw->channels, f->alive, f->noise)) give_up_noise(raw);
    info->coils = lmr_choose_coils(raw->channels, f->alive, info->noise ? f->noise : NULL, raw->kept, info->warnings,
                                   sizeof info->warnings);
    info->dead_coils = raw->channels - info->coils;
}

/* 1 if all imaging samples are real: receivers give complex numbers. */
static int is_real(const larmor_raw *raw)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & LMR_IMAGING)) continue;
        const float *x = raw->data + raw->readout[i].data;
        for (int64_t s = 0; s < (int64_t)h->samples * h->channels; s++)
            if (x[2 * s + 1] != 0) return 0;
    }
    return 1;
}

/* The first kept channel that has the samples of channel c in readout i, or c itself. */
static int first_like(const larmor_raw *raw, int64_t i, const unsigned char *alive, int c)
{
    const lmr_mrd_head *h = &raw->head[i];
    const size_t numbers = 2 * (size_t)h->samples;
    const float *x = raw->data + raw->readout[i].data;
    int like = 0;
    while (like < c &&
           (!alive[like] || memcmp(x + numbers * (size_t)like, x + numbers * (size_t)c, numbers * sizeof *x) != 0))
        like++;
    return like;
}

/* Of one coil nothing is said: its samples are real where the object is symmetric. */
static void judge_channels(larmor_raw *raw, const unsigned char *alive)
{
    int copies = 0, copy = 0, of = 0;
    int64_t i = 0;
    while (i < raw->info.acquisitions && !(raw->readout[i].use & LMR_IMAGING)) i++;
    if (raw->info.coils < 2 || i == raw->info.acquisitions) return;
    if (is_real(raw))
        LMR_MRD_WARN(raw,
                     "all samples of %d channels are real numbers, which no receiver gives: the imaginary parts, or "
                     "the phase, are lost, and so is the image.",
                     raw->channels);
    for (int c = raw->channels - 1; c > 0; c--) {
        const int like = alive[c] ? first_like(raw, i, alive, c) : c;
        if (like == c) continue;
        copies++;
        copy = c;
        of = like;
    }
    if (copies)
        LMR_MRD_WARN(raw,
                     "%d of %d channels have the samples of another one, channel %d those of channel %d: they are no "
                     "coils of their own.",
                     copies, raw->channels, copy, of);
}

typedef struct looking {
    larmor_raw *raw;
    int drop_nonfinite;
    findings *found; /* of each part */
} looking;

static larmor_status look_at_part(void *user, int part, int64_t first, int64_t end)
{
    const looking *l = user;
    findings *f = &l->found[part];
    for (int64_t i = first; i < end; i++) {
        LMR_TRY(lmr_go_on());
        if (!l->raw->readout[i].use) continue;
        lmr_mrd_count_zeros(l->raw, i);
        if (l->raw->head[i].traj_dims < 3) l->raw->readout[i].energy = lmr_mrd_energy(l->raw, i);
        if (look_at(l->raw, i, f)) continue;
        f->nonfinite++;
        if (l->drop_nonfinite) l->raw->readout[i].use = 0;
    }
    return LARMOR_OK;
}

/* What is found in readouts behind those of f. */
static void add_findings(const findings *later, int channels, findings *f)
{
    if (!f->values && later->values) {
        f->acquisition = later->acquisition;
        f->channel = later->channel;
        f->sample = later->sample;
    }
    if (!f->traj_values && later->traj_values) {
        f->traj_acquisition = later->traj_acquisition;
        f->traj_component = later->traj_component;
        f->traj_sample = later->traj_sample;
    }
    f->nonfinite += later->nonfinite;
    f->values += later->values;
    f->traj_values += later->traj_values;
    f->peak = fmaxf(f->peak, later->peak);
    f->imaging_peak = fmaxf(f->imaging_peak, later->imaging_peak);
    for (int c = 0; c < channels; c++) {
        f->alive[c] |= later->alive[c];
        f->noise[c] += later->noise[c];
    }
}

static larmor_status look_at_all(larmor_raw *raw, int drop_nonfinite, findings *f)
{
    int64_t numbers = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use) numbers += 2 * (int64_t)raw->head[i].samples * raw->head[i].channels;
    const int parts = lmr_parts_for(numbers * (int64_t)sizeof(float));
    looking l = {raw, drop_nonfinite, calloc((size_t)parts, sizeof *l.found)};
    if (!l.found) return LMR_NO_MEMORY();
    const larmor_status st = lmr_in_parts(raw->info.acquisitions, parts, look_at_part, &l);
    for (int p = 0; p < parts; p++) add_findings(&l.found[p], raw->channels, f);
    free(l.found);
    raw->info.nonfinite += f->nonfinite;
    return st;
}

larmor_status lmr_mrd_check_samples(larmor_raw *raw, int drop_nonfinite)
{
    findings f = {0};
    LMR_TRY(look_at_all(raw, drop_nonfinite, &f));
    if (!drop_nonfinite) LMR_TRY(refuse_nonfinite(&f));
    if (f.imaging_peak > 0) {
        LMR_TRY(lmr_mrd_leave_out_zeros(raw));
        LMR_TRY(lmr_mrd_name_gaps(raw));
    }
    LMR_TRY(count_uses(raw));
    LMR_REFUSE((double)f.peak > LARMOR_LARGEST_SAMPLE, LARMOR_ERR_FORMAT,
               "values up to %.1e: uninitialised or overflowing data.", (double)f.peak);
    LMR_REFUSE(!(f.imaging_peak > 0), LARMOR_ERR_FORMAT, "all data is zero.");
    raw->info.channels = raw->channels;
    raw->info.magnitude = f.imaging_peak;
    choose_coils(raw, &f);
    judge_channels(raw, f.alive);
    return LARMOR_OK;
}
