/* larmor phantom: simulate a scan whose k-space is exact. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "progress.h"
#include "scan.h"

#define PI 3.14159265358979323846
#define FOV_MM 256.0
#define SLICE_MM 5.0
#define SLICE_STEP_MM 6.0
#define NOISE_BANDWIDTH 0.793

typedef struct settings {
    scan_trajectory trajectory;
    const char *output, *truth, *maps, *phantom, *units, *device;
    int64_t coils, seed, slices, repetitions, noise_samples, threads;
    double noise, snr, dwell, noise_dwell;
    int oblique, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_TEXT, output, 'o', "output", "SCAN.h5", "the ISMRMRD file to write", .needed = 1),
    OPTION(APP_TEXT, truth, 0, "truth", "FILE", "also write the image to expect; the format follows the suffix"),
    OPTION(APP_TEXT, maps, 0, "maps", "FILE", "also write the coils' sensitivities; .cfl or .npy"),
    SCAN_TRAJECTORY_OPTIONS(settings),
    OPTION(APP_INTEGER, coils, 0, "coils", "C", "receive coils; 0: a single one without any profile", .preset = "8",
           .low = 0, .high = 1024),
    OPTION(
        APP_NUMBER, noise, 0, "noise", "SIGMA",
        "standard deviation of the real and of the imaginary part of a sample; the sample at the centre of k-space "
        "is the mean density over the field of view, about 0.1",
        .preset = "0", .low = 0, .high = INFINITY),
    OPTION(APP_NUMBER, snr, 0, "snr", "X",
           "the noise by the image's signal-to-noise ratio, instead of --noise: mean signal of the object over the "
           "noise of a fully sampled Cartesian image at this matrix, coils combined",
           .low = 1e-6, .high = 1e12),
    OPTION(APP_INTEGER, seed, 0, "seed", "S", "of the noise", .preset = "1", .low = 0, .high = 0x1p53),
    OPTION(APP_INTEGER, noise_samples, 0, "noise-scan", "N", "begin with a noise scan of N samples", .preset = "0",
           .low = 0, .high = 65535),
    OPTION(APP_NUMBER, dwell, 0, "dwell", "US", "time per sample of the readouts in us", .preset = "4", .low = 1e-3,
           .high = 1e6),
    OPTION(APP_NUMBER, noise_dwell, 0, "noise-dwell", "US", "time per sample of the noise scan in us", .preset = "20",
           .low = 1e-3, .high = 1e6),
    OPTION(APP_TEXT, phantom, 0, "phantom", "NAME", "phantom", .preset = "shepp-logan",
           .choices = "shepp-logan|texture|disc"),
    OPTION(APP_INTEGER, slices, 0, "slices", "N", "of a 2D scan, 6 mm apart; slice s has density 1 - s / (2 N)",
           .preset = "1", .low = 1, .high = 1000),
    OPTION(APP_INTEGER, repetitions, 0, "repetitions", "N", "the same with fresh noise", .preset = "1", .low = 1,
           .high = 1000),
    OPTION(APP_FLAG, oblique, 0, "oblique", "", "turn and shift the volume, as an oblique scan has it"),
    OPTION(APP_TEXT, units, 0, "units", "U", "units of the stored trajectory", .preset = "1/fov",
           .choices = "1/fov|norm|pm1|rad|1/m|rad/m|1/mm"),
    OPTION(APP_FLAG, force, 0, "force", "", "replace files that exist"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

typedef struct simulation {
    const settings *s;
    larmor_device *dev;
    larmor_array *traj, *image;
    larmor_phantom *phantom;
    larmor_encoding encoding;
    larmor_image_meta geometry; /* of slice 0 */
    int64_t grid[3];            /* of the image, 1 in dimensions that it has not */
    int ndim;
    int64_t samples, readouts;
    int coils;      /* channels in the file */
    double unit[3]; /* stored trajectory / (1/FOV) */
    double slice_step;
    double sigma; /* of the noise */
    larmor_raw_writer *writer;
} simulation;

/* Matrix, field of view, trajectory's name and units as the header will have them. */
static void fill_encoding(simulation *m)
{
    larmor_encoding *e = &m->encoding;
    const int cartesian = !strcmp(m->s->trajectory.name, "cartesian");
    for (int d = 0; d < 3; d++) {
        e->matrix[d] = e->recon_matrix[d] = m->grid[d];
        const double voxel = FOV_MM / (double)m->grid[0];
        e->fov_mm[d] = e->recon_fov_mm[d] = d < m->ndim ? voxel * (double)m->grid[d] : SLICE_MM;
    }
    if (cartesian) { /* lines that are sampled more densely see a longer field of view */
        e->matrix[0] = m->samples;
        e->fov_mm[0] *= (double)m->samples / (double)m->grid[0];
    }
    const char *name = m->s->trajectory.name;
    const int golden = !strcmp(name, "golden") || !strcmp(name, "stars");
    snprintf(e->trajectory, sizeof e->trajectory, "%s",
             golden                   ? "goldenangle"
             : !strcmp(name, "koosh") ? "radial"
                                      : name);
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
        const larmor_image_meta turned = {.read_dir = {cos(b), sin(b), 0},
                                          .phase_dir = {-sin(b) * cos(a), cos(b) * cos(a), sin(a)},
                                          .slice_dir = {sin(b) * sin(a), -cos(b) * sin(a), cos(a)},
                                          .position_mm = {12.5, -20, 31.25}};
        memcpy(g->read_dir, turned.read_dir, sizeof g->read_dir);
        memcpy(g->phase_dir, turned.phase_dir, sizeof g->phase_dir);
        memcpy(g->slice_dir, turned.slice_dir, sizeof g->slice_dir);
        memcpy(g->position_mm, turned.position_mm, sizeof g->position_mm);
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

static larmor_status prepare(simulation *m)
{
    const settings *s = m->s;
    larmor_status st = scan_trajectory_create(&s->trajectory, m->dev, m->grid, &m->traj);
    if (st) return st;
    const larmor_shape shape = larmor_array_shape(m->traj);
    m->ndim = (int)shape.dim[0], m->samples = shape.dim[1], m->readouts = shape.dim[2];
    m->coils = s->coils ? (int)s->coils : 1;
    fill_encoding(m);
    fill_geometry(m);
    const larmor_shape image = larmor_shape_of(m->ndim, m->grid);
    st = larmor_phantom_create(s->phantom, m->ndim, &m->phantom);
    m->sigma = s->noise;
    if (!st && s->snr > 0)
        st = larmor_phantom_noise_level(m->phantom, m->dev, image, (int)s->coils, s->snr, &m->sigma);
    if (st || !s->truth) return st;
    return larmor_phantom_bandlimited(m->phantom, m->dev, LARMOR_C64, image, &m->image);
}

static larmor_status start_file(simulation *m, larmor_output *out)
{
    const settings *s = m->s;
    const int cartesian = !strcmp(s->trajectory.name, "cartesian");
    const larmor_scan scan = {.encoding = m->encoding,
                              .coils = m->coils,
                              .readouts = cartesian ? m->grid[1] : m->readouts,
                              .partitions = cartesian ? m->grid[2] : 1,
                              .slices = s->slices,
                              .repetitions = s->repetitions,
                              .noise_bandwidth = s->noise_samples ? NOISE_BANDWIDTH : 0,
                              .description = s->phantom};
    return larmor_raw_create(out, &scan, &m->writer);
}

/* Noise whose power is that of the readouts' noise, seen through another dwell time and the receiver's filter. */
static larmor_status append_noise_scan(simulation *m)
{
    const settings *s = m->s;
    if (!s->noise_samples) return LARMOR_OK;
    larmor_array *noise = NULL;
    float *host = NULL;
    larmor_status st = larmor_array_create(m->dev, LARMOR_C64, LARMOR_SHAPE(s->noise_samples, m->coils), &noise);
    if (!st)
        st = larmor_phantom_noise(noise, m->sigma * sqrt(s->dwell / s->noise_dwell * NOISE_BANDWIDTH),
                                  (uint64_t)s->seed + UINT64_C(0x6e6f697365));
    if (!st) st = scan_to_host(noise, &host);
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

/* Exact k-space on the host, [samples, readouts, coils] and without noise. */
static larmor_status append_group(simulation *m, const larmor_array *exact, const double *traj, int slice,
                                  int repetition)
{
    const settings *s = m->s;
    larmor_array *kspace = NULL;
    float *host = NULL;
    larmor_status st = larmor_array_create(m->dev, LARMOR_C64, larmor_array_shape(exact), &kspace);
    if (!st) st = larmor_axpby(slice_density(m, slice), exact, 0, kspace);
    if (!st && m->sigma > 0)
        st = larmor_phantom_noise(kspace, m->sigma, (uint64_t)(s->seed + 1 + repetition * s->slices + slice));
    if (!st) st = scan_to_host(kspace, &host);
    scan_source source = {.data = host,
                          .traj = traj,
                          .ndim = m->ndim,
                          .samples = m->samples,
                          .readouts = m->readouts,
                          .coils = m->coils,
                          .unit = m->unit,
                          .dwell_us = s->dwell,
                          .geometry = m->geometry};
    source.geometry.slice = slice, source.geometry.repetition = repetition;
    slice_position(m, slice, source.geometry.position_mm);
    if (!strcmp(s->trajectory.name, "cartesian")) source.lines = m->grid;
    source.last = slice + 1 == s->slices && repetition + 1 == s->repetitions;
    if (!st) st = scan_append(m->writer, &source);
    free(host);
    larmor_array_free(kspace);
    return st;
}

static larmor_status append_groups(simulation *m)
{
    const settings *s = m->s;
    larmor_array *exact = NULL;
    double *traj = NULL;
    app_progress progress;
    app_progress_begin(&progress, "phantom");
    larmor_status st = larmor_phantom_kspace(m->phantom, m->traj, (int)s->coils, LARMOR_C64, &exact);
    if (!st) st = scan_to_host_f64(m->traj, &traj);
    const int groups = (int)(s->slices * s->repetitions);
    for (int i = 0; !st && i < groups; i++) {
        st = append_group(m, exact, traj, (int)(i % s->slices), (int)(i / s->slices));
        app_progress_step(&progress, i + 1, groups, -1, NAN);
        if (!st && app_stopped()) st = LARMOR_STOPPED;
    }
    app_progress_end(&progress);
    free(traj);
    larmor_array_free(exact);
    return st;
}

/* One image for each group of the scan, in the order of recon: repetitions within slices. */
static larmor_status write_truth(const simulation *m, larmor_output *out)
{
    const settings *s = m->s;
    const int groups = (int)(s->slices * s->repetitions);
    larmor_image *images = calloc((size_t)groups, sizeof *images);
    larmor_array **slices = calloc((size_t)s->slices, sizeof *slices);
    larmor_status st = images && slices ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int i = 0; !st && i < s->slices; i++) {
        st = larmor_array_create(m->dev, LARMOR_C64, larmor_array_shape(m->image), &slices[i]);
        if (!st) st = larmor_axpby(slice_density(m, i), m->image, 0, slices[i]);
    }
    for (int i = 0; !st && i < groups; i++) {
        const int slice = (int)(i / s->repetitions);
        images[i] = (larmor_image){slices[slice], m->geometry};
        images[i].meta.slice = slice, images[i].meta.repetition = (int)(i % s->repetitions);
        slice_position(m, slice, images[i].meta.position_mm);
    }
    if (!st) st = larmor_image_write(out, images, groups, NULL);
    for (int i = 0; slices && i < s->slices; i++) larmor_array_free(slices[i]);
    free(slices);
    free(images);
    return st;
}

/* [image..., coils], shaped as recon takes them. */
static larmor_status write_maps(const simulation *m, larmor_output *out)
{
    larmor_array *maps;
    larmor_status st = larmor_phantom_coils(m->dev, LARMOR_C64, larmor_shape_of(m->ndim, m->grid), m->coils, &maps);
    if (!st) st = larmor_array_save(out, maps);
    larmor_array_free(maps);
    return st;
}

/* Mistakes that the options' table cannot see. */
static int check(const settings *s)
{
    if (s->truth && app_same_file(s->truth, s->output)) {
        app_error("%s: is also the scan; choose another name.", s->truth);
        return APP_USAGE;
    }
    if (s->snr > 0 && s->noise > 0) {
        app_error("--snr \"%g\": --noise states the noise already; give one of them.", s->snr);
        return APP_USAGE;
    }
    if (s->maps && !s->coils) {
        app_error("--coils \"0\": a whole number >= 1 expected, because --maps asks for maps.");
        return APP_USAGE;
    }
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    (void)files;
    simulation m = {.s = given};
    larmor_output *out = NULL, *truth = NULL, *maps = NULL;
    int code = check(m.s);
    if (code) return code;
    APP_OR(done, APP_RUN, larmor_output_open(m.s->output, m.s->force, &out));
    if (m.s->truth) APP_OR(done, APP_RUN, larmor_output_open(m.s->truth, m.s->force, &truth));
    if (m.s->maps) APP_OR(done, APP_RUN, larmor_output_open(m.s->maps, m.s->force, &maps));
    APP_OR(done, APP_INPUT, app_open_device(m.s->device, m.s->threads, &m.dev));
    APP_OR(done, APP_INPUT, prepare(&m));
    if (m.ndim == 3 && m.s->slices > 1) {
        app_error("--slices \"%lld\": 1 expected, because the trajectory is 3D.", (long long)m.s->slices);
        code = APP_USAGE;
        goto done;
    }
    APP_OR(done, APP_RUN, start_file(&m, out));
    APP_OR(done, APP_RUN, append_noise_scan(&m));
    APP_OR(done, APP_RUN, append_groups(&m));
    APP_OR(done, APP_RUN, larmor_raw_finish(m.writer));
    app_log("wrote %s: %s, %s, %lld readouts x %lld samples, %d coil%s, %lld x %lld x %lld voxels", m.s->output,
            m.s->phantom, m.s->trajectory.name, (long long)m.readouts, (long long)m.samples, m.coils,
            m.coils == 1 ? "" : "s", (long long)m.grid[0], (long long)m.grid[1], (long long)m.grid[2]);
    if (truth) {
        APP_OR(done, APP_RUN, write_truth(&m, truth));
        app_log("wrote %s: the image at this resolution", m.s->truth);
    }
    if (maps) {
        APP_OR(done, APP_RUN, write_maps(&m, maps));
        app_log("wrote %s: the sensitivities of %d coil%s", m.s->maps, m.coils, m.coils == 1 ? "" : "s");
    }
done:
    larmor_raw_writer_free(m.writer);
    larmor_phantom_free(m.phantom);
    larmor_array_free(m.image);
    larmor_array_free(m.traj);
    larmor_device_free(m.dev);
    larmor_output_free(maps);
    larmor_output_free(truth);
    larmor_output_free(out);
    return code;
}

const app_command cmd_phantom = {
    .name = "phantom",
    .usage = "-o SCAN.h5 [options]",
    .summary = "simulate a scan of a phantom, exactly in k-space",
    .details =
        "The field of view is 256 mm along x, with square voxels; 2D slices are 5 mm thick.\n"
        "Nothing is rasterised: each sample is the phantom's Fourier integral over the field of view, times the\n"
        "coil's profile. A Cartesian scan stores counters instead of a trajectory.\n"
        "The truth is the phantom's Fourier series cut at the matrix, one image for each slice and repetition.",
    .options = options,
    .computes = 1,
    .settings = sizeof(settings),
    .run = run,
};
