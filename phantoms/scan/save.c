/* A simulated scan as an ISMRMRD file. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

LMR_OWNS(larmor_raw_writer, larmor_raw_writer_free)

static larmor_status start_file(const larmor_simulation *s, larmor_output *out, larmor_raw_writer **writer)
{
    const larmor_simulation_opts *o = &s->o;
    const larmor_simulation_info *i = &s->info;
    larmor_scan scan = {.encoding = s->encoding,
                        .coils = i->coils,
                        .readouts = i->is_cartesian ? i->matrix[1] : i->readouts,
                        .partitions = i->is_cartesian ? i->matrix[2] : 1,
                        .slices = i->slices,
                        .repetitions = i->repetitions,
                        .contrasts = i->contrasts,
                        .echoes = o->echoes,
                        .echo_ms = s->echo_ms,
                        .readout_start_ms = o->readout_start_ms,
                        .noise_bandwidth = o->noise_samples ? LMR_NOISE_BANDWIDTH : 0,
                        .field_tesla = o->tesla,
                        .description = o->phantom};
    larmor_waveform_info waveform[2];
    scan.waveforms = lmr_simulation_waveforms(s, waveform);
    scan.waveform = waveform;
    const int64_t *acceleration = o->traj.acceleration;
    for (int d = 0; d < 2 && acceleration[0]; d++) scan.acceleration[d] = acceleration[d] ? acceleration[d] : 1;
    if (o->traj.calibration[0]) scan.calibration = o->separate_calibration ? "separate" : "embedded";
    return larmor_raw_create(out, &scan, writer);
}

/* Noise whose power is that of the readouts' noise, seen through another dwell time and the receiver's filter. */
static larmor_status append_noise_scan(const larmor_simulation *s, larmor_raw_writer *writer)
{
    const larmor_simulation_opts *o = &s->o;
    LMR_OWNED(larmor_array) *noise = NULL;
    if (!o->noise_samples) return LARMOR_OK;
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(o->noise_samples, s->info.coils), &noise));
    const double seen = sqrt(o->dwell_us / o->noise_dwell_us * LMR_NOISE_BANDWIDTH);
    LMR_TRY(larmor_phantom_noise(noise, s->info.noise * seen, o->seed + UINT64_C(0x6e6f697365)));
    LMR_TRY(lmr_simulation_silence(s, s->noiseless, noise));
    LMR_OWN_MEMORY(float, host, larmor_array_download(noise, LARMOR_C64, &host));
    larmor_acquisition a = {.flags = LARMOR_ACQ_NOISE,
                            .samples = (int)o->noise_samples,
                            .coils = s->info.coils,
                            .dwell_us = o->noise_dwell_us,
                            .data = host};
    memcpy(a.read_dir, s->geometry.read_dir, sizeof a.read_dir);
    memcpy(a.phase_dir, s->geometry.phase_dir, sizeof a.phase_dir);
    memcpy(a.slice_dir, s->geometry.slice_dir, sizeof a.slice_dir);
    return larmor_raw_append(writer, &a);
}

typedef enum pass { ALL_LINES, CALIBRATION_LINES, IMAGING_LINES } pass;

static uint64_t flags_of(pass which, int is_imaging, int is_calibration)
{
    if (which == CALIBRATION_LINES) return is_calibration ? LARMOR_ACQ_CALIBRATION : LARMOR_READOUT_LEFT_OUT;
    if (which == IMAGING_LINES) return is_imaging ? 0 : LARMOR_READOUT_LEFT_OUT;
    if (!is_calibration) return 0;
    return is_imaging ? LARMOR_ACQ_CALIBRATION_AND_IMAGING : LARMOR_ACQ_CALIBRATION;
}

typedef struct line_set { /* the readouts of an image */
    int64_t *step2;       /* [readouts] of Cartesian scans in 3D, their partitions; else zeros */
    uint64_t *flags;      /* [readouts] */
} line_set;

LMR_FREES(free_lines, line_set, step2, flags)

/* What each readout is for, and its partition. */
static larmor_status find_lines(const larmor_simulation *s, const larmor_array *traj, pass which, line_set *l)
{
    const larmor_simulation_info *i = &s->info;
    larmor_traj_opts opts = s->o.traj;
    memcpy(opts.matrix, i->matrix, sizeof opts.matrix);
    *l = (line_set){calloc((size_t)i->readouts, sizeof *l->step2), calloc((size_t)i->readouts, sizeof *l->flags)};
    if (!l->step2 || !l->flags) return LMR_NO_MEMORY();
    if (!i->is_cartesian) return LARMOR_OK;
    LMR_OWN_MEMORY(double, points, larmor_array_download(traj, LARMOR_F64, &points));
    for (int64_t j = 0; j < i->readouts; j++) {
        const double *k = points + i->ndim * i->samples * j;
        l->step2[j] = i->ndim == 3 ? lround(k[2]) : 0;
        if (!opts.calibration[0]) continue;
        const int role = larmor_traj_line_role(&opts, lround(k[1]), l->step2[j]);
        l->flags[j] = flags_of(which, role & LARMOR_LINE_IMAGING, role & LARMOR_LINE_CALIBRATION);
    }
    return LARMOR_OK;
}

/* ---- where loops begin and end ---- */

/* ISMRMRD's flag for the first readout of a loop; that for the last one is the next. */
enum { IN_STEP1 = 1, IN_STEP2 = 3, IN_SLICE = 7, IN_CONTRAST = 9, IN_REPETITION = 13 };

typedef enum edge { FIRST, LAST } edge;

/* Of the first or the last readout of an image: repetitions hold contrasts, and these slices. */
static uint64_t flags_at(const larmor_simulation *s, const larmor_image_meta *m, edge e)
{
    const larmor_simulation_info *i = &s->info;
    uint64_t flags = LARMOR_ACQ_FLAG(IN_STEP1 + e) | LARMOR_ACQ_FLAG(IN_SLICE + e);
    if (i->ndim == 3) flags |= LARMOR_ACQ_FLAG(IN_STEP2 + e);
    if (m->slice != (e == LAST ? i->slices - 1 : 0)) return flags;
    flags |= LARMOR_ACQ_FLAG(IN_CONTRAST + e);
    if (m->contrast != (e == LAST ? i->contrasts - 1 : 0)) return flags;
    return flags | LARMOR_ACQ_FLAG(IN_REPETITION + e);
}

/* Of the readouts that are not left out: edges of the image, where it begins or ends with them, and of partitions. */
static void mark_edges(const larmor_simulation *s, const larmor_image_meta *m, int begins, int ends, line_set *l)
{
    int64_t before = -1;
    for (int64_t j = 0; j < s->info.readouts; j++) {
        if (l->flags[j] == LARMOR_READOUT_LEFT_OUT) continue;
        if (before < 0 && begins) l->flags[j] |= flags_at(s, m, FIRST);
        if (before >= 0 && l->step2[j] != l->step2[before]) {
            l->flags[before] |= LARMOR_ACQ_FLAG(IN_STEP1 + LAST);
            l->flags[j] |= LARMOR_ACQ_FLAG(IN_STEP1 + FIRST);
        }
        before = j;
    }
    if (before >= 0 && ends) l->flags[before] |= flags_at(s, m, LAST);
}

/* What the readouts of an image have in common, without its samples. */
static larmor_acquisitions common_to(const larmor_simulation *s, int slice, int repetition, int contrast)
{
    const larmor_simulation_info *i = &s->info;
    const larmor_simulation_opts *o = &s->o;
    const double image_ms = o->tr_ms * (double)i->readouts; /* slices of a repetition one after the other */
    larmor_acquisitions a = {.units = o->units,
                             .phase_terms = o->phase_rows ? o->phase_terms : NULL,
                             .lines = i->is_cartesian,
                             .centre = s->centre,
                             .dwell_us = o->dwell_us,
                             .start_ms = image_ms * (double)(repetition * i->slices + slice),
                             .tr_ms = o->tr_ms,
                             .cycle_ms =
                                 o->breathing_mm != 0 ? image_ms * (double)i->slices * o->breathing_period : 0,
                             .meta = lmr_simulation_meta(s, slice, repetition)};
    a.meta.contrast = contrast;
    return a;
}

static int is_last(const larmor_simulation *s, int slice, int repetition, int contrast)
{
    return slice + 1 == s->info.slices && repetition + 1 == s->info.repetitions && contrast + 1 == s->info.contrasts;
}

/* The readouts of one image, those of a pass. */
static larmor_status append_image(larmor_simulation *s, larmor_raw_writer *writer, int slice, int repetition,
                                  int contrast, pass which)
{
    larmor_acquisitions readouts = common_to(s, slice, repetition, contrast);
    LMR_FREED_BY(free_lines) line_set l = {NULL, NULL};
    LMR_OWN(
        larmor_array, kspace,
        lmr_simulation_samples(s, slice, repetition, contrast, which == CALIBRATION_LINES, &kspace, &readouts.traj));
    LMR_TRY(find_lines(s, readouts.traj, which, &l));
    if (which != CALIBRATION_LINES) mark_edges(s, &readouts.meta, 1, 1, &l);
    readouts.kspace = kspace;
    readouts.flags = l.flags;
    readouts.last = which != CALIBRATION_LINES && is_last(s, slice, repetition, contrast);
    return larmor_raw_append_arrays(writer, &readouts);
}

/* ---- echo-planar scans ---- */

static larmor_status append_navigators(larmor_simulation *s, larmor_raw_writer *writer, int slice, int repetition,
                                       int contrast, int64_t shot)
{
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    larmor_acquisitions lines = common_to(s, slice, repetition, contrast);
    if (s->epi.navigators < 1) return LARMOR_OK;
    LMR_HEAP LMR_NEW(uint64_t, flags, s->epi.navigators);
    for (int64_t i = 0; i < s->epi.navigators; i++)
        flags[i] = LARMOR_ACQ_PHASE_CORRECTION | (i % 2 ? LARMOR_ACQ_REVERSE : 0);
    LMR_TRY(lmr_simulation_navigators(s, slice, repetition, contrast, shot, &kspace, &traj));
    lines.kspace = kspace;
    lines.traj = traj;
    lines.flags = flags;
    return larmor_raw_append_arrays(writer, &lines);
}

/* The lines of one image, shot by shot, each after its navigators. */
static larmor_status append_shots(larmor_simulation *s, larmor_raw_writer *writer, int slice, int repetition,
                                  int contrast)
{
    const int64_t count = s->info.readouts;
    larmor_acquisitions readouts = common_to(s, slice, repetition, contrast);
    LMR_FREED_BY(free_lines) line_set l = {NULL, NULL};
    LMR_HEAP LMR_NEW(uint64_t, roles, count);
    LMR_OWN(larmor_array, kspace, lmr_simulation_samples(s, slice, repetition, contrast, 0, &kspace, &readouts.traj));
    LMR_TRY(find_lines(s, readouts.traj, ALL_LINES, &l));
    memcpy(roles, l.flags, (size_t)count * sizeof *roles);
    readouts.kspace = kspace;
    readouts.flags = l.flags;
    for (int64_t shot = 0; shot < s->epi.shots; shot++) {
        LMR_TRY(append_navigators(s, writer, slice, repetition, contrast, shot));
        for (int64_t j = 0; j < count; j++) {
            l.flags[j] = roles[j] | (s->backward[j] ? LARMOR_ACQ_REVERSE : 0);
            if (s->shot[j] != shot) l.flags[j] = LARMOR_READOUT_LEFT_OUT;
        }
        mark_edges(s, &readouts.meta, !shot, shot + 1 == s->epi.shots, &l);
        readouts.last = shot + 1 == s->epi.shots && is_last(s, slice, repetition, contrast);
        LMR_TRY(larmor_raw_append_arrays(writer, &readouts));
    }
    return LARMOR_OK;
}

/* ---- the whole ---- */

/* Calibration first if it is separate. */
static larmor_status append_passes(larmor_simulation *s, larmor_raw_writer *writer, int slice, int repetition,
                                   int contrast)
{
    if (s->is_epi) return append_shots(s, writer, slice, repetition, contrast);
    const int separate = s->o.traj.calibration[0] && s->o.separate_calibration;
    if (separate) LMR_TRY(append_image(s, writer, slice, repetition, contrast, CALIBRATION_LINES));
    return append_image(s, writer, slice, repetition, contrast, separate ? IMAGING_LINES : ALL_LINES);
}

static larmor_status append_all(larmor_simulation *s, larmor_raw_writer *writer)
{
    const larmor_simulation_info *info = &s->info;
    const int slices = (int)info->slices, images = slices * (int)info->repetitions * info->contrasts;
    for (int i = 0; i < images; i++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(append_passes(s, writer, i % slices, i / slices / info->contrasts, i / slices % info->contrasts));
        const larmor_progress done = {.iter = i + 1, .max_iter = images, .residual = -1, .objective = NAN};
        if (s->o.monitor && s->o.monitor(s->o.user, &done)) return lmr_stopped();
    }
    return LARMOR_OK;
}

static larmor_status save(larmor_simulation *simulation, larmor_output *out)
{
    LMR_OWN(larmor_raw_writer, writer, start_file(simulation, out, &writer));
    LMR_TRY(append_noise_scan(simulation, writer));
    LMR_TRY(append_all(simulation, writer));
    LMR_TRY(lmr_simulation_append_waves(simulation, writer));
    return larmor_raw_finish(writer);
}

larmor_status larmor_simulation_save(larmor_simulation *simulation, larmor_output *out)
{
    LMR_NEED(simulation, out);
    LMR_TRY(lmr_gate_enter(&simulation->gate));
    const larmor_status st = save(simulation, out);
    lmr_gate_leave(&simulation->gate);
    return st;
}
