/* Reasons why an image may be wrong. SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "check/check.h"
#include "check/sample_faults.h"
#include "core/core.h"

static void describe_maps(const larmor_coils_report *maps, char *line, size_t room)
{
    if (maps->warning == LARMOR_MAPS_UNDERSAMPLED)
        snprintf(
            line, room,
            "coil maps cannot be trusted: only %.0f %% of the centre of k-space that maps need is "
            "sampled, so the image may be aliased. Give maps by opts.maps FILE, or a scan with calibration lines.",
            100 * maps->sampled);
    else
        snprintf(line, room,
                 "coil maps cannot be trusted: they explain only %.0f %% of the centre of k-space, which is mostly "
                 "noise or has signal folded in. Give maps by opts.maps FILE, or try a smaller opts.calibration.",
                 100 * maps->dominance);
}

static void describe_fold(int axes, char *line, size_t room)
{
    char names[16] = "";
    for (int d = 0; d < 3; d++)
        if (axes >> d & 1) lmr_append(names, sizeof names, "%s%c", *names ? ", " : "", "xyz"[d]);
    snprintf(
        line, room,
        "the object reaches beyond the field of view along %s: the image goes on from one edge at the other, where "
        "what is outside is folded in. Scan a larger field of view.",
        names);
}

/* Kinds, which stay what they are. Those below are larmor_maps_warning. */
enum {
    WARNING_PARTIAL = LARMOR_MAPS_AMBIGUOUS + 1, /* and the next two: along x, y, z */
    WARNING_UNPREDICTED = WARNING_PARTIAL + 3,
    WARNING_MISFIT,
    WARNING_READOUTS,
    WARNING_COILS,
    WARNING_CLIPPED,
    WARNING_SPIKES,
    WARNING_ECHO,
    WARNING_EMPTY,
    WARNING_CONSTANT,
    WARNING_FOLDED,
    WARNING_COPIED,
    WARNING_ZEROS,
    WARNING_CARRIER,
    WARNING_NOISY,
    WARNING_IMAGINARY,
    WARNING_CONTRADICTED,
    WARNING_NOISE_SCAN,
    WARNING_GRIDDED,
    WARNING_BEYOND_MAPS,
    WARNING_NOISIER,
};

/* Noise alone is .02 at SNR 5, as half of it is imaginary. */
#define MAX_IMAGINARY 0.05

/* Part left of the samples by an image that is next to nothing, where the model would explain them. Not measured: an
 * empty one leaves 1, good ones of real scans up to .28 (check/misfit.h). */
#define EMPTY_IMAGE 0.90
/* Of the image's energy, beyond the given maps. */
#define MAX_BEYOND_MAPS 0.02
/* Where it is known, above which it is not the noise alone whose smoothing leaves so much: at SNR 3 that is up to
 * 1.1. */
#define MAX_CHI2 1.25
/* Of the noise of a noise scan, below which that is not the noise of the samples. Right simulated scans have .88 and
 * more, down to an SNR of 3 and to 64 samples of noise. */
#define MIN_CHI2 0.40
/* Of the samples, beyond noise, that a gridded image leaves: an image of zeros leaves 1. Weights that fit the
 * trajectory leave at most .75, but of next to no readouts for many coils. */
#define MAX_GRIDDED 1.00

/* The warning that is looked for: those before it are counted down. */
typedef struct wanted {
    int before, kind; /* kind: once it is found */
    char *line;
    size_t room;
} wanted;

/* 1 if the warning that comes now is the one. */
static int is_it(wanted *w, int kind)
{
    if (w->kind || w->before-- != 0) return 0;
    w->kind = kind;
    return 1;
}

/* The text of a warning that holds, where it is the one. */
static __attribute__((format(printf, 4, 5))) void warn(wanted *w, int kind, int holds, const char *format, ...)
{
    va_list numbers;
    if (!holds || !is_it(w, kind)) return;
    va_start(numbers, format);
    vsnprintf(w->line, w->room, format, numbers);
    va_end(numbers);
}

static void find_partial(const larmor_recon_report *report, wanted *w)
{
    const larmor_coverage *c = &report->coverage;
    const int filled =
        report->partial_fourier == LARMOR_PARTIAL_HOMODYNE || report->partial_fourier == LARMOR_PARTIAL_POCS;
    for (int d = 0; d < 3 && !filled; d++)
        warn(
            w, WARNING_PARTIAL + d, c->partial[d],
            "partial Fourier along %c: k-space reaches to %.3g/FOV on one side and to %.3g/FOV on the other. What is "
            "missing is not filled in, so the image is less sharp along %c.",
            "xyz"[d], fmax(-c->low[d], c->high[d]), fmin(-c->low[d], c->high[d]), "xyz"[d]);
}

/* A constant image that explains its samples is one of a constant object. */
static int is_erased(const larmor_recon_report *report)
{
    const larmor_misfit *m = &report->misfit;
    return report->constant && !(m->measured && m->beyond_noise <= LMR_MAX_BEYOND_NOISE);
}

/* 1 if the noise scan has far more noise than the samples. Gridding leaves less than the noise of one coil, too. */
static int is_noise_too_large(const larmor_misfit *m)
{
    return m->measured && m->fitted && m->by_noise_scan && m->chi2 > 0 && m->chi2 < MIN_CHI2;
}

/* 1 if the image leaves nearly all of the samples, as noise: a penalty has smoothed it until its edges are alike. */
static int is_smoothed_away(const larmor_misfit *m)
{
    return m->measured && m->fitted && m->relative > EMPTY_IMAGE;
}

static void find_gridded(const larmor_recon_report *report, wanted *w)
{
    const larmor_misfit *m = &report->misfit;
    if (!m->measured || m->fitted || strcmp(report->method.name, "grid")) return;
    warn(w, WARNING_GRIDDED, m->beyond_noise > MAX_GRIDDED && (m->chi2 == 0 || m->chi2 > MAX_CHI2),
         "the gridded image does not explain its samples: %.0f %% of them beyond noise is left over, where an "
         "empty image leaves 100 %%. The density weights do not suit the trajectory, or its readouts are too few. "
         "Take opts.density pipe, or opts.method cg.",
         100 * m->beyond_noise);
}

static void find_misfit(const larmor_misfit *m, wanted *w)
{
    if (!m->measured || !m->fitted) return;
    warn(w, WARNING_NOISE_SCAN, is_noise_too_large(m),
         "the noise scan does not fit the samples: its noise is %.3g times as large as theirs can be, as chi "
         "squared is %.2g instead of 1. The weight, and what noise maps show, are wrong. It holds signal, or "
         "had another gain: leave it out by opts.no_whitening.",
         1 / sqrt(m->chi2), m->chi2);
    warn(w, WARNING_NOISIER, m->noisier_coils,
         "the samples of %d coil%s have up to %.3g times the noise that the noise scan predicts: its time per "
         "sample, its bandwidth ratio or its amplification differs. What noise maps show is too small by "
         "that, and the signal-to-noise ratio too large. opts.no_whitening leaves it out.",
         m->noisier_coils, m->noisier_coils == 1 ? "" : "s", m->noise_ratio);
    const double chi2 = m->noisier_coils ? m->chi2 / (m->noise_ratio * m->noise_ratio) : m->chi2;
    const int unexplained = m->beyond_model > LMR_MAX_BEYOND_NOISE && (m->chi2 == 0 || chi2 > MAX_CHI2);
    warn(w, WARNING_MISFIT, unexplained,
         "the image does not explain its samples: %.0f %% of them beyond noise is left over. Trajectory, its "
         "units, coil maps, noise scan or the samples themselves are not what they are taken for; larmor check "
         "looks at each.",
         100 * m->beyond_model);
    warn(w, WARNING_EMPTY, m->beyond_model <= LMR_MAX_BEYOND_NOISE && m->beyond_noise > EMPTY_IMAGE,
         "the image explains next to nothing of its samples, %.0f %% of them are left over: the weight is too "
         "large. Take a smaller one by opts.lambda, such as noise:1.",
         100 * m->beyond_noise);
    warn(w, WARNING_READOUTS, m->bad_readouts > 0,
         "%lld readout%s far worse than the others, the worst number %lld (from 0, in the order of the image) by "
         "a factor of %.3g: spikes, a moved object, or a readout of another place in k-space. Leave %s out.",
         (long long)m->bad_readouts, m->bad_readouts == 1 ? " fits" : "s fit", (long long)m->worst_readout,
         sqrt(m->worst_readout_ratio), m->bad_readouts == 1 ? "it" : "them");
    warn(w, WARNING_COILS, m->bad_coils,
         "%d coil%s far worse than the others, the worst number %d (from 0): %.0f %% of its samples is left over. "
         "Its map is not that of its samples, or it is broken.",
         m->bad_coils, m->bad_coils == 1 ? " fits" : "s fit", m->worst_coil, 100 * m->worst_coil_misfit);
}

int larmor_recon_warning(const larmor_recon_report *report, int i, char *line, size_t room)
{
    if (!report || !line || i < 0) return 0;
    wanted w = {.before = i, .line = line, .room = room};
    if (report->maps.warning != LARMOR_MAPS_TRUSTED && is_it(&w, (int)report->maps.warning))
        describe_maps(&report->maps, line, room);
    find_partial(report, &w);
    warn(&w, WARNING_IMAGINARY, report->imaginary > MAX_IMAGINARY,
         "images are held to be real, and %.0f %% of the energy of one that is not lies in its imaginary part: "
         "the object has a phase, or the coil maps have another one.",
         100 * report->imaginary);
    warn(&w, WARNING_CONTRADICTED, report->contradicted > 0,
         "the samples contradict opts.constraint: images that are held to it leave %.2g %% more of the "
         "samples held out than free ones. An image without it is likely nearer to the object.",
         100 * report->contradicted);
    warn(&w, WARNING_UNPREDICTED, report->lambda_from == LARMOR_LAMBDA_UNPREDICTED,
         "no image predicts samples that were held out better than zeros do: the data are noise, or basis, "
         "maps or trajectory do not describe them. The weight is the one expected from the noise; "
         "state another by opts.lambda.");
    warn(&w, WARNING_CONSTANT, is_erased(report),
         "the penalty has left nothing but a constant: every voxel has the same value. The weight is too large; "
         "take a smaller one by opts.lambda, such as noise:1.");
    if (report->folded && !is_noise_too_large(&report->misfit) && !is_smoothed_away(&report->misfit) &&
        is_it(&w, WARNING_FOLDED))
        describe_fold(report->folded, line, room);
    warn(&w, WARNING_BEYOND_MAPS, report->beyond_maps > MAX_BEYOND_MAPS,
         "%.0f %% of the image's energy is beyond what the given maps cover, where they go on as at their "
         "edge: it may be shaded, and aliased. Give maps of the whole object, or what they cover by "
         "opts.maps_place X,Y,Z in mm.",
         100 * report->beyond_maps);
    find_gridded(report, &w);
    find_misfit(&report->misfit, &w);
    const larmor_sample_faults *f = &report->faults;
    if (f->clipped && is_it(&w, WARNING_CLIPPED)) lmr_describe_clipping(f, line, room);
    if (f->spikes && is_it(&w, WARNING_SPIKES)) lmr_describe_spikes(f, line, room);
    if (f->echo_distance > 0 && is_it(&w, WARNING_ECHO)) lmr_describe_echo(f, line, room);
    if (f->copied && is_it(&w, WARNING_COPIED)) lmr_describe_copied(f, line, room);
    if (f->zeros && is_it(&w, WARNING_ZEROS)) lmr_describe_zeros(f, line, room);
    if (f->carrier > 0 && is_it(&w, WARNING_CARRIER)) lmr_describe_carrier(f, line, room);
    if (f->noisy && is_it(&w, WARNING_NOISY)) lmr_describe_noisy(f, line, room);
    return w.kind;
}
