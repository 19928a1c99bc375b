/* Simulated readouts: exact k-space, noise, and the file around them. SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "progress.h"
#include "try.h"

#define PI 3.14159265358979323846
#define FOV_MM 256.0
#define SLICE_MM 5.0
#define SLICE_STEP_MM 6.0
#define NOISE_BANDWIDTH 0.793

/* ---- geometry ---- */

/* Matrix, field of view, trajectory's name and units as the header will have them. */
static void fill_encoding(simulation *m)
{
    larmor_encoding *e = &m->encoding;
    for (int d = 0; d < 3; d++) {
        e->matrix[d] = e->recon_matrix[d] = m->grid[d];
        const double voxel = FOV_MM / (double)m->grid[0];
        e->fov_mm[d] = e->recon_fov_mm[d] = d < m->ndim ? voxel * (double)m->grid[d] : SLICE_MM;
    }
    if (m->cartesian) { /* lines that are sampled more densely see a longer field of view */
        e->matrix[0] = m->samples;
        e->fov_mm[0] *= (double)m->samples / (double)m->grid[0];
    }
    const char *header = scan_trajectory_info(m->s->trajectory.name).header;
    snprintf(e->trajectory, sizeof e->trajectory, "%s", header ? header : "other");
    e->ndim = m->ndim;
    for (int d = 0; d < 3; d++) m->unit[d] = scan_unit(m->s->units, (double)m->grid[d], e->fov_mm[d]);
}

static void fill_geometry(simulation *m)
{
    larmor_image_meta *g = &m->geometry;
    *g = (larmor_image_meta){.read_dir = {1, 0, 0}, .phase_dir = {0, 1, 0}, .slice_dir = {0, 0, 1}};
    memcpy(g->fov_mm, m->encoding.recon_fov_mm, sizeof g->fov_mm);
    if (m->s->oblique) {
        const double a = 20 * PI / 180, b = 35 * PI / 180; /* about x, then about z */
        const larmor_image_meta rotated = {.read_dir = {cos(b), sin(b), 0},
                                           .phase_dir = {-sin(b) * cos(a), cos(b) * cos(a), sin(a)},
                                           .slice_dir = {sin(b) * sin(a), -cos(b) * sin(a), cos(a)},
                                           .position_mm = {12.5, -20, 31.25}};
        memcpy(g->read_dir, rotated.read_dir, sizeof g->read_dir);
        memcpy(g->phase_dir, rotated.phase_dir, sizeof g->phase_dir);
        memcpy(g->slice_dir, rotated.slice_dir, sizeof g->slice_dir);
        memcpy(g->position_mm, rotated.position_mm, sizeof g->position_mm);
    }
    m->slice_step = SLICE_STEP_MM;
}

static void slice_position(const simulation *m, int slice, double position[3])
{
    const double offset = m->slice_step * (slice - 0.5 * (double)(m->s->slices - 1));
    for (int d = 0; d < 3; d++) position[d] = m->geometry.position_mm[d] + offset * m->geometry.slice_dir[d];
}

static double slice_density(const simulation *m, int slice)
{
    return 1 - 0.5 * slice / (double)m->s->slices;
}

/* ---- the object ---- */

int simulation_moves(const simulation *m)
{
    const simulation_settings *s = m->s;
    int drifts = 0;
    for (int d = 0; d < s->drift.count; d++) drifts |= s->drift.value[d] != 0;
    return drifts || s->rotation != 0 || s->breathing != 0 || s->contrast != 0;
}

/* The object in a repetition. */
static larmor_status object_at(const simulation *m, int repetition, larmor_phantom **object)
{
    const simulation_settings *s = m->s;
    const double intervals = s->repetitions > 1 ? (double)(s->repetitions - 1) : 1;
    const double *fov = m->encoding.recon_fov_mm;
    larmor_phantom_course course = {.degrees = s->rotation,
                                    .breathing = {0, s->breathing / fov[1], 0},
                                    .breaths = intervals / s->breathing_period,
                                    .contrast = s->contrast};
    for (int d = 0; d < s->drift.count && d < m->ndim; d++) course.drift[d] = s->drift.value[d] / fov[d];
    larmor_phantom_state state = {0};
    larmor_phantom_at(&course, repetition / intervals, &state);
    return larmor_phantom_change(m->phantom, &state, object);
}

static larmor_status create_phantom(simulation *m)
{
    larmor_phantom *plain;
    TRY(larmor_phantom_create(m->s->phantom, m->ndim, &plain));
    const larmor_status st =
        larmor_phantom_change(plain, &(larmor_phantom_state){.size = m->s->object_size}, &m->phantom);
    larmor_phantom_free(plain);
    return st;
}

static larmor_status create_trajectory(simulation *m, int repetition)
{
    const int64_t before = m->s->same_angles ? 0 : repetition;
    larmor_array_free(m->traj);
    return scan_trajectory_create(&m->s->trajectory, m->dev, before, m->grid, &m->traj);
}

/* The sample of a readout, here of the first, that is nearest to the centre of k-space. */
static larmor_status find_centre(simulation *m)
{
    double *k, least = INFINITY;
    TRY(larmor_array_download(m->traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < m->samples; i++) {
        double square = 0;
        for (int d = 0; d < m->ndim; d++) square += k[m->ndim * i + d] * k[m->ndim * i + d];
        if (square < least) {
            least = square;
            m->centre = i;
        }
    }
    free(k);
    return LARMOR_OK;
}

larmor_status simulation_prepare(simulation *m)
{
    const simulation_settings *s = m->s;
    TRY(create_trajectory(m, 0));
    const larmor_shape shape = larmor_array_shape(m->traj);
    m->ndim = (int)shape.dim[0];
    m->samples = shape.dim[1];
    m->readouts = shape.dim[2];
    m->coils = s->coils ? (int)s->coils : 1;
    m->cartesian = scan_trajectory_info(s->trajectory.name).lines;
    TRY(find_centre(m));
    fill_encoding(m);
    fill_geometry(m);
    TRY(create_phantom(m));
    m->sigma = s->noise;
    if (!(s->snr > 0)) return LARMOR_OK;
    return larmor_phantom_noise_level(m->phantom, m->dev, larmor_shape_of(m->ndim, m->grid), (int)s->coils, s->snr,
                                      &m->sigma);
}

void simulation_free(simulation *m)
{
    larmor_raw_writer_free(m->writer);
    larmor_phantom_free(m->phantom);
    larmor_array_free(m->traj);
    larmor_device_free(m->dev);
}

/* ---- k-space ---- */

static larmor_phantom_field field_of(const simulation *m)
{
    larmor_phantom_field field = {.hz = m->s->off_resonance};
    for (int d = 0; d < m->s->gradient.count && d < m->ndim; d++) field.gradient[d] = m->s->gradient.value[d];
    for (int i = 0; i < m->s->shim.count && i < 3; i++) field.shim[i] = m->s->shim.value[i];
    if (m->s->dipole.count) field.dipole = m->s->dipole.value[0];
    for (int d = 0; d + 1 < m->s->dipole.count && d < m->ndim; d++) field.dipole_at[d] = m->s->dipole.value[d + 1];
    return field;
}

int simulation_is_off_resonant(const simulation *m)
{
    return m->s->off_resonance != 0 || m->s->gradient.count || m->s->shim.count || m->s->dipole.count;
}

/* From the excitation to the centre of k-space, in s; 0 where no echo times are asked for. */
static double echo_time(const simulation *m, int contrast)
{
    return contrast < m->s->echo_times.count ? 1e-3 * m->s->echo_times.value[contrast] : 0;
}

static int contrasts_of(const simulation *m)
{
    return m->s->echo_times.count ? m->s->echo_times.count : 1;
}

/* Of the first sample, from the time at which the image has its phase. */
static double first_time(const simulation *m)
{
    return isnan(m->s->readout_start) ? -1e-6 * m->s->dwell * (double)m->centre : 1e-3 * m->s->readout_start;
}

static larmor_status off_resonant_kspace(const simulation *m, const larmor_phantom *object, const larmor_array *traj,
                                         int contrast, larmor_array **kspace)
{
    const larmor_phantom_field field = field_of(m);
    larmor_array *times = NULL;
    double *seconds = malloc((size_t)m->samples * sizeof *seconds);
    larmor_status st = seconds ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t i = 0; !st && i < m->samples; i++)
        seconds[i] = echo_time(m, contrast) + first_time(m) + 1e-6 * m->s->dwell * (double)i;
    if (!st) st = larmor_array_upload(m->dev, LARMOR_F64, LARMOR_SHAPE(m->samples), LARMOR_F64, seconds, &times);
    if (!st)
        st = larmor_phantom_kspace_off_resonance(object, traj, &field, times, (int)m->s->coils, LARMOR_C64, kspace);
    larmor_array_free(times);
    free(seconds);
    return st;
}

static larmor_phantom_phase phase_of(const simulation *m)
{
    const app_list *cycles = &m->s->phase_cycles;
    larmor_phantom_phase phase = {.radians = m->s->image_phase, .cycles = {0.5, 0.5, 0}};
    for (int d = 0; cycles->count && d < 3; d++) phase.cycles[d] = d < cycles->count ? cycles->value[d] : 0;
    return phase;
}

/* Coils, the last dimension of x, become zero where they are listed. */
static larmor_status silence(const simulation *m, const unsigned char *listed, larmor_array *x)
{
    larmor_status st = LARMOR_OK;
    for (int c = 0; !st && c < m->coils; c++) {
        larmor_array *coil;
        if (!listed[c]) continue;
        st = larmor_array_slice(x, c, 1, &coil);
        if (!st) st = larmor_zero(coil);
        larmor_array_free(coil);
    }
    return st;
}

/* Exact k-space of a repetition and an echo, [samples, readouts, coils], as late gradients and the field make it. */
static larmor_status exact_kspace(simulation *m, int repetition, int contrast, larmor_array **kspace)
{
    const simulation_settings *s = m->s;
    const int field = simulation_is_off_resonant(m);
    larmor_phantom *object = NULL;
    larmor_array *delayed = NULL;
    *kspace = NULL;
    if (repetition) TRY(create_trajectory(m, repetition));
    larmor_status st = object_at(m, repetition, &object);
    double delay[6];
    if (!st && s->delays.count) {
        scan_delays(m->ndim, &s->delays, delay);
        st = larmor_traj_delay(m->traj, delay, m->encoding.recon_fov_mm, &delayed);
    }
    const larmor_array *traj = delayed ? delayed : m->traj;
    if (!st && field) st = off_resonant_kspace(m, object, traj, contrast, kspace);
    const larmor_phantom_phase phase = phase_of(m);
    if (!st && !field && phase.radians != 0)
        st = larmor_phantom_kspace_phase(object, traj, &phase, (int)s->coils, LARMOR_C64, kspace);
    if (!st && !field && phase.radians == 0)
        st = larmor_phantom_kspace(object, traj, (int)s->coils, LARMOR_C64, kspace);
    if (!st && s->coils) st = silence(m, m->dead, *kspace);
    larmor_array_free(delayed);
    larmor_phantom_free(object);
    if (st) {
        larmor_array_free(*kspace);
        *kspace = NULL;
    }
    return st;
}

/* The samples of one group: exact ones of this density, and noise in the coils that have any. */
static larmor_status noisy_kspace(const simulation *m, larmor_array *exact, double density, int64_t seed,
                                  larmor_array **kspace)
{
    larmor_status st;
    OR(done, larmor_array_create(m->dev, LARMOR_C64, larmor_array_shape(exact), kspace));
    OR(done, larmor_axpby(density, exact, 0, *kspace));
    if (m->sigma > 0) OR(done, larmor_phantom_noise(*kspace, m->sigma, (uint64_t)seed));
    for (int c = 0; c < m->coils; c++) {
        if (!m->noiseless[c]) continue;
        larmor_array *from = NULL, *to = NULL;
        st = larmor_array_slice(exact, c, 1, &from);
        if (!st) st = larmor_array_slice(*kspace, c, 1, &to);
        if (!st) st = larmor_axpby(density, from, 0, to);
        larmor_array_free(to);
        larmor_array_free(from);
        if (st) goto done;
    }
done:
    if (st) {
        larmor_array_free(*kspace);
        *kspace = NULL;
    }
    return st;
}

/* ---- the file ---- */

static larmor_status start_file(simulation *m, larmor_output *out)
{
    const simulation_settings *s = m->s;
    larmor_scan scan = {.encoding = m->encoding,
                        .coils = m->coils,
                        .readouts = m->cartesian ? m->grid[1] : m->readouts,
                        .partitions = m->cartesian ? m->grid[2] : 1,
                        .slices = s->slices,
                        .repetitions = s->repetitions,
                        .contrasts = contrasts_of(m),
                        .echoes = s->echo_times.count,
                        .echo_ms = s->echo_times.value,
                        .readout_start_ms = isnan(s->readout_start) ? NULL : &s->readout_start,
                        .noise_bandwidth = s->noise_samples ? NOISE_BANDWIDTH : 0,
                        .description = s->phantom};
    const app_list *acceleration = &s->trajectory.acceleration;
    for (int d = 0; d < 2 && acceleration->count; d++)
        scan.acceleration[d] = d < acceleration->count ? (int64_t)acceleration->value[d] : 1;
    if (s->trajectory.calibration.count) scan.calibration = s->calibration;
    return larmor_raw_create(out, &scan, &m->writer);
}

/* Noise whose power is that of the readouts' noise, seen through another dwell time and the receiver's filter. */
static larmor_status append_noise_scan(simulation *m)
{
    const simulation_settings *s = m->s;
    if (!s->noise_samples) return LARMOR_OK;
    larmor_array *noise = NULL;
    float *host = NULL;
    larmor_status st = larmor_array_create(m->dev, LARMOR_C64, LARMOR_SHAPE(s->noise_samples, m->coils), &noise);
    if (!st)
        st = larmor_phantom_noise(noise, m->sigma * sqrt(s->dwell / s->noise_dwell * NOISE_BANDWIDTH),
                                  (uint64_t)s->seed + UINT64_C(0x6e6f697365));
    if (!st) st = silence(m, m->noiseless, noise);
    if (!st) st = larmor_array_download(noise, LARMOR_C64, &host);
    larmor_acquisition a = {.flags = LARMOR_ACQ_NOISE,
                            .samples = (int)s->noise_samples,
                            .coils = m->coils,
                            .dwell_us = s->noise_dwell,
                            .data = host};
    memcpy(a.read_dir, m->geometry.read_dir, sizeof a.read_dir);
    memcpy(a.phase_dir, m->geometry.phase_dir, sizeof a.phase_dir);
    memcpy(a.slice_dir, m->geometry.slice_dir, sizeof a.slice_dir);
    if (!st) st = larmor_raw_append(m->writer, &a);
    free(host);
    larmor_array_free(noise);
    return st;
}

typedef enum pass { ALL_LINES, CALIBRATION_LINES, IMAGING_LINES } pass;

/* The flags of each readout of a Cartesian scan; SCAN_LEFT_OUT for those that are not of the pass. */
static larmor_status line_flags(const simulation *m, const double *traj, pass which, uint64_t **flags)
{
    const larmor_traj_opts opts = scan_trajectory_opts(&m->s->trajectory, m->grid);
    *flags = malloc((size_t)m->readouts * sizeof **flags);
    if (!*flags) return NO_MEMORY();
    for (int64_t j = 0; j < m->readouts; j++) {
        const double *k = traj + m->ndim * m->samples * j;
        const int role = larmor_traj_line_role(&opts, lround(k[1]), m->ndim == 3 ? lround(k[2]) : 0);
        const int imaging = role & LARMOR_LINE_IMAGING, calibration = role & LARMOR_LINE_CALIBRATION;
        (*flags)[j] = 0;
        if (which == CALIBRATION_LINES)
            (*flags)[j] = calibration ? LARMOR_ACQ_CALIBRATION : SCAN_LEFT_OUT;
        else if (which == IMAGING_LINES)
            (*flags)[j] = imaging ? 0 : SCAN_LEFT_OUT;
        else if (calibration)
            (*flags)[j] = imaging ? LARMOR_ACQ_CALIBRATION_AND_IMAGING : LARMOR_ACQ_CALIBRATION;
    }
    return LARMOR_OK;
}

/* The readouts of one slice in one repetition, those of a pass. */
static larmor_status append_group(simulation *m, larmor_array *exact, int slice, int repetition, int contrast,
                                  pass which)
{
    const simulation_settings *s = m->s;
    const int64_t separate = which == CALIBRATION_LINES ? INT64_C(1) << 32 : 0; /* another seed */
    larmor_array *kspace = NULL;
    float *host = NULL;
    double *traj = NULL;
    uint64_t *flags = NULL;
    larmor_status st =
        noisy_kspace(m, exact, slice_density(m, slice),
                     s->seed + 1 + (repetition + contrast * s->repetitions) * s->slices + slice + separate, &kspace);
    if (!st) st = larmor_array_download(kspace, LARMOR_C64, &host);
    if (!st) st = larmor_array_download(m->traj, LARMOR_F64, &traj);
    if (!st && s->trajectory.calibration.count) st = line_flags(m, traj, which, &flags);
    scan_source source = {.data = host,
                          .traj = traj,
                          .flags = flags,
                          .ndim = m->ndim,
                          .samples = m->samples,
                          .centre = m->centre,
                          .readouts = m->readouts,
                          .coils = m->coils,
                          .unit = m->unit,
                          .dwell_us = s->dwell,
                          .geometry = m->geometry};
    const double group_ms = s->tr * (double)m->readouts; /* slices of a repetition one after the other */
    source.tr_ms = s->tr;
    source.start_ms = group_ms * (double)(repetition * s->slices + slice);
    if (s->breathing != 0) source.cycle_ms = group_ms * (double)s->slices * s->breathing_period;
    source.geometry.slice = slice;
    source.geometry.repetition = repetition;
    source.geometry.contrast = contrast;
    slice_position(m, slice, source.geometry.position_mm);
    if (m->cartesian) source.lines = m->grid;
    source.last = which != CALIBRATION_LINES && slice + 1 == s->slices && repetition + 1 == s->repetitions &&
                  contrast + 1 == contrasts_of(m);
    if (!st) st = scan_append(m->writer, &source);
    free(flags);
    free(traj);
    free(host);
    larmor_array_free(kspace);
    return st;
}

/* One slice in one repetition, calibration first if it is separate. */
static larmor_status append_slice(simulation *m, larmor_array *exact, int slice, int repetition, int contrast)
{
    const int separate = m->s->trajectory.calibration.count && !strcmp(m->s->calibration, "separate");
    if (separate) TRY(append_group(m, exact, slice, repetition, contrast, CALIBRATION_LINES));
    return append_group(m, exact, slice, repetition, contrast, separate ? IMAGING_LINES : ALL_LINES);
}

static larmor_status append_groups(simulation *m)
{
    const simulation_settings *s = m->s;
    const int repeats = !simulation_moves(m) && (s->same_angles || m->cartesian); /* all repetitions are alike */
    const int contrasts = contrasts_of(m), groups = (int)(s->slices * s->repetitions) * contrasts;
    larmor_array *exact = NULL;
    larmor_status st = LARMOR_OK;
    app_progress progress;
    app_progress_begin(&progress, "phantom");
    for (int i = 0; !st && i < groups; i++) {
        const int slice = (int)(i % s->slices), contrast = (int)(i / s->slices) % contrasts;
        const int repetition = (int)(i / s->slices) / contrasts;
        if (!exact || (!slice && (!repeats || contrasts > 1))) {
            larmor_array_free(exact);
            st = exact_kspace(m, repetition, contrast, &exact);
        }
        if (!st) st = append_slice(m, exact, slice, repetition, contrast);
        app_progress_step(&progress, i + 1, groups, -1, NAN);
        if (!st && app_stopped()) st = LARMOR_STOPPED;
    }
    app_progress_end(&progress);
    larmor_array_free(exact);
    return st;
}

larmor_status simulation_write_scan(simulation *m, larmor_output *out)
{
    TRY(start_file(m, out));
    TRY(append_noise_scan(m));
    TRY(append_groups(m));
    return larmor_raw_finish(m->writer);
}

/* ---- what to expect ---- */

/* The image of each repetition, or a single one if they are alike. */
static larmor_status create_images(const simulation *m, int count, larmor_array **images)
{
    const larmor_phantom_phase phase = phase_of(m);
    const larmor_shape shape = larmor_shape_of(m->ndim, m->grid);
    larmor_status st = LARMOR_OK;
    for (int r = 0; !st && r < count; r++) {
        larmor_phantom *object = NULL;
        st = object_at(m, r, &object);
        if (!st) st = larmor_phantom_bandlimited_phase(object, &phase, m->dev, LARMOR_C64, shape, &images[r]);
        larmor_phantom_free(object);
        if (!st && app_stopped()) st = LARMOR_STOPPED;
    }
    return st;
}

larmor_status simulation_write_truth(const simulation *m, larmor_output *out)
{
    const simulation_settings *s = m->s;
    const int repetitions = (int)s->repetitions;
    const int distinct = simulation_moves(m) ? repetitions : 1;
    const int slices = (int)s->slices, groups = slices * repetitions;
    larmor_image *images = calloc((size_t)groups, sizeof *images);
    larmor_array **objects = calloc((size_t)distinct, sizeof *objects);
    larmor_array **scaled = calloc((size_t)(slices * distinct), sizeof *scaled);
    larmor_status st = images && objects && scaled ? create_images(m, distinct, objects) : NO_MEMORY();
    for (int i = 0; !st && i < slices * distinct; i++) {
        const larmor_array *object = objects[i % distinct];
        st = larmor_array_create(m->dev, LARMOR_C64, larmor_array_shape(object), &scaled[i]);
        if (!st) st = larmor_axpby(slice_density(m, i / distinct), object, 0, scaled[i]);
    }
    for (int i = 0; !st && i < groups; i++) {
        const int slice = i / repetitions, repetition = i % repetitions;
        images[i] = (larmor_image){scaled[slice * distinct + repetition % distinct], m->geometry};
        images[i].meta.slice = slice;
        images[i].meta.repetition = repetition;
        slice_position(m, slice, images[i].meta.position_mm);
    }
    if (!st) st = larmor_image_write(out, images, groups, NULL);
    for (int i = 0; scaled && i < slices * distinct; i++) larmor_array_free(scaled[i]);
    for (int i = 0; objects && i < distinct; i++) larmor_array_free(objects[i]);
    free(scaled);
    free(objects);
    free(images);
    return st;
}

larmor_status simulation_write_maps(const simulation *m, larmor_output *out)
{
    const app_list *asked = &m->s->maps_matrix;
    larmor_array *maps;
    larmor_shape shape = larmor_shape_of(m->ndim, m->grid);
    larmor_image_meta meta = m->geometry;
    double extent[3] = {1, 1, 1}; /* of the same voxels */
    for (int d = 0; d < m->ndim && d < asked->count; d++) {
        shape.dim[d] = (int64_t)asked->value[d];
        extent[d] = asked->value[d] / (double)m->grid[d];
        meta.fov_mm[d] *= extent[d];
    }
    larmor_status st = larmor_phantom_coils_around(m->phantom, m->dev, LARMOR_C64, shape, extent, m->coils, &maps);
    if (!st) st = silence(m, m->dead, maps);
    if (!st) st = larmor_maps_save(out, maps, &meta);
    larmor_array_free(maps);
    return st;
}

larmor_status simulation_write_field(const simulation *m, larmor_output *out)
{
    const larmor_phantom_field field = field_of(m);
    const larmor_shape shape = larmor_shape_of(m->ndim, m->grid);
    larmor_array *map;
    larmor_status st = larmor_phantom_field_map(&field, m->dev, LARMOR_F32, shape, &map);
    const larmor_image image = {map, m->geometry};
    if (!st) st = larmor_image_write(out, &image, 1, NULL);
    larmor_array_free(map);
    return st;
}
