/* Scans that `larmor phantom` does not make: make_scan WAY SCAN.h5 TRUTH.h5, by larmor's own writer.
 *
 * integrated  two repetitions of a Cartesian scan, every third line; in the centre of the first the other lines,
 *             too, for calibration (flag 20), and the image's lines there are for both (flag 21)
 * unflagged   the same with one repetition, and without flag 21
 * contrast    the same, but the calibration is a block of its own with another contrast
 * spokes      a radial scan that counts each spoke as a slice
 * planes      three slices, of which each lies in another plane
 * sequence    a radial scan without a trajectory, of which a Pulseq file SCAN.seq says where its samples are;
 *             sequenceN: the header says a matrix of N
 * gaps        four parallel slices at 0, 7, 14 and 22 mm
 * ascending   SCAN.h5 is a scan of three slices with several contrasts, each of which has 20 Hz more off-resonance
 *             times 1 ms of echo time than the slice before it in TRUTH.h5
 * shuffled    the same, and slices 0, 1, 2 are counted as 2, 0, 1; descending: as 2, 1, 0
 * ragged      SCAN.h5 is a scan, whose readouts lose samples at their ends, each as many as no neighbour does; it is
 *             written to TRUTH.h5
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/larmor.h"

enum { N = 64, COILS = 8, EVERY = 3, FIRST = 20, LAST = 43, SPOKES = 100 };

static larmor_device *dev;
static larmor_raw_writer *writer;
static float *data; /* [samples, readouts, coils], re and im */
static double k[2 * N * SPOKES];
static int readouts, planes;

static void check(larmor_status st)
{
    if (!st) return;
    fprintf(stderr, "make_scan: %s\n", larmor_last_error());
    exit(1);
}

static void place_lines(void)
{
    readouts = N;
    for (int r = 0; r < N; r++)
        for (int n = 0; n < N; n++) {
            k[2 * (n + N * r)] = n - N / 2;
            k[2 * (n + N * r) + 1] = r - N / 2;
        }
}

static void place_spokes(void)
{
    readouts = SPOKES;
    for (int r = 0; r < SPOKES; r++)
        for (int n = 0; n < N; n++) {
            const double at = n - N / 2, angle = 3.14159265358979323846 * r / SPOKES;
            k[2 * (n + N * r)] = at * cos(angle);
            k[2 * (n + N * r) + 1] = at * sin(angle);
        }
}

static void simulate(const char *truth)
{
    larmor_phantom *phantom;
    larmor_array *traj, *kspace;
    larmor_image image = {
        .meta = {.fov_mm = {N, N, 5}, .read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}}};
    larmor_array *expected;
    larmor_output *out;
    check(larmor_phantom_create("shepp-logan", 2, &phantom));
    check(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, N, readouts), &traj));
    check(larmor_array_write(traj, k, larmor_array_bytes(traj)));
    check(larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
    data = malloc(larmor_array_bytes(kspace));
    if (!data) exit(1);
    check(larmor_array_read(kspace, data, larmor_array_bytes(kspace)));
    check(larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &expected));
    image.data = expected;
    check(larmor_output_open(truth, 1, &out));
    check(larmor_image_write(out, &image, 1, NULL));
    larmor_output_free(out);
    larmor_array_free(expected);
    larmor_array_free(kspace);
    larmor_array_free(traj);
    larmor_phantom_free(phantom);
}

/* Spokes by trapezoids, with a pulse before each. The samples of a spoke begin 32 steps before k = 0. */
static void write_sequence(const char *scan)
{
    enum { DWELL_NS = 10000, RAMP_US = 100, FLAT_US = 640, BEFORE_US = 275 };
    char path[512];
    snprintf(path, sizeof path, "%.*s.seq", (int)strlen(scan) - 3, scan);
    FILE *f = fopen(path, "w");
    if (!f) exit(1);
    const double strength = 1e3 / N / (1e-9 * DWELL_NS); /* Hz/m; 1/FOV in a sample, the field of view has N mm */
    fprintf(f, "[VERSION]\nmajor 1\nminor 5\nrevision 1\n\n[DEFINITIONS]\nFOV %g %g 0.005\n", 1e-3 * N, 1e-3 * N);
    fprintf(f, "GradientRasterTime 1e-05\nRadiofrequencyRasterTime 1e-06\nBlockDurationRaster 1e-05\n\n[BLOCKS]\n");
    for (int r = 0; r < SPOKES; r++) {
        fprintf(f, "%d 20 1 0 0 0 0 0\n", 3 * r + 1);
        fprintf(f, "%d 48 0 %d %d 0 0 0\n", 3 * r + 2, 4 * r + 1, 4 * r + 2);
        fprintf(f, "%d 84 0 %d %d 0 1 0\n", 3 * r + 3, 4 * r + 3, 4 * r + 4);
    }
    fprintf(f, "\n[RF]\n1 2500 1 2 0 50 20 0 0 0 0 e\n\n[TRAP]\n");
    for (int r = 0; r < SPOKES; r++) {
        const double angle = 3.14159265358979323846 * r / SPOKES;
        const double along[2] = {strength * cos(angle), strength * sin(angle)};
        for (int d = 0; d < 2; d++)
            fprintf(f, "%d %.9g %d %d %d 0\n", 4 * r + 1 + d, -along[d], RAMP_US, BEFORE_US, RAMP_US);
        for (int d = 0; d < 2; d++)
            fprintf(f, "%d %.9g %d %d %d 0\n", 4 * r + 3 + d, along[d], RAMP_US, FLAT_US, RAMP_US);
    }
    fprintf(f, "\n[ADC]\n1 %d %d %d 0 0 0 0 0\n\n[SHAPES]\n\nshape_id 1\nnum_samples 100\n1\n0\n0\n97\n", N, DWELL_NS,
            RAMP_US);
    fprintf(f, "\nshape_id 2\nnum_samples 100\n0\n0\n98\n");
    if (fclose(f)) exit(1);
}

/* Readout r of the simulation, its values times scale. */
static void append(int r, larmor_acquisition a, double scale)
{
    float values[2 * N * COILS], traj[2 * N];
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < 2 * N; i++)
            values[2 * N * c + i] = (float)(scale * (double)data[2 * N * (r + readouts * c) + i]);
    for (int i = 0; i < 2 * N; i++) traj[i] = (float)k[2 * N * r + i];
    a.samples = N;
    a.coils = COILS;
    a.center_sample = N / 2;
    a.dwell_us = 4;
    a.data = values;
    a.traj = traj;
    for (int d = 0; d < 3; d++) {
        const int turned = (d + (planes ? a.slice : 0)) % 3;
        a.read_dir[turned] = d == 0;
        a.phase_dir[turned] = d == 1;
        a.slice_dir[turned] = d == 2;
    }
    check(larmor_raw_append(writer, &a));
}

static void append_image(int repetition, int flagged, int with_centre)
{
    for (int r = 0; r < N; r++) {
        const int centre = flagged && r >= FIRST && r <= LAST, own = r % EVERY == 0;
        if (!own && !(centre && with_centre)) continue;
        const int use = own ? LARMOR_ACQ_CALIBRATION_AND_IMAGING : LARMOR_ACQ_CALIBRATION;
        append(r, (larmor_acquisition){.step1 = r, .repetition = repetition, .flags = centre ? use : 0}, 1);
    }
}

static void append_centre(int all, double scale)
{
    for (int r = FIRST; r <= LAST; r++)
        if (all || r % EVERY) append(r, (larmor_acquisition){.step1 = r, .flags = LARMOR_ACQ_CALIBRATION}, scale);
}

static void append_slice(int slice, double place_mm)
{
    for (int r = 0; r < N; r++)
        append(r, (larmor_acquisition){.step1 = r, .slice = slice, .position_mm = {0, 0, place_mm}}, 1 + slice);
}

static int append_all(const char *way)
{
    static const double gaps[] = {0, 7, 14, 22};
    planes = !strcmp(way, "planes");
    if (!strcmp(way, "integrated")) {
        append_image(0, 1, 1);
        append_image(1, 1, 0);
    } else if (!strcmp(way, "unflagged")) {
        append_centre(0, 1);
        append_image(0, 0, 0);
    } else if (!strcmp(way, "contrast")) {
        append_centre(1, .3);
        append_image(0, 0, 0);
    } else if (planes) {
        for (int s = 0; s < 3; s++) append_slice(s, 0);
    } else if (!strcmp(way, "gaps")) {
        for (int s = 0; s < 4; s++) append_slice(s, gaps[s]);
    } else if (!strncmp(way, "sequence", 8)) {
        for (int r = 0; r < SPOKES; r++) append(r, (larmor_acquisition){.step1 = r}, 1);
    } else if (!strcmp(way, "spokes"))
        for (int r = 0; r < SPOKES; r++) append(r, (larmor_acquisition){.slice = r, .traj_dims = 2}, 1);
    else
        return 0;
    return 1;
}

/* The values of a readout, turned by a phase; to be freed. */
static float *turn(const larmor_acquisition *a, double phase)
{
    const int count = a->samples * a->coils;
    float *values = malloc(2 * sizeof *values * (size_t)count);
    if (!values) exit(1);
    for (int i = 0; i < count; i++) {
        const double re = (double)a->data[2 * i], im = (double)a->data[2 * i + 1];
        values[2 * i] = (float)(re * cos(phase) - im * sin(phase));
        values[2 * i + 1] = (float)(re * sin(phase) + im * cos(phase));
    }
    return values;
}

static void copy_scan(const char *way, const char *from, const char *to)
{
    static const int shuffled[] = {2, 0, 1}, descending[] = {2, 1, 0};
    larmor_raw *raw;
    larmor_output *out;
    larmor_acquisition a;
    check(larmor_raw_open(from, NULL, &raw));
    const larmor_raw_info info = larmor_raw_describe(raw);
    check(larmor_output_open(to, 1, &out));
    check(larmor_raw_create(out, &(larmor_scan){.header = larmor_raw_xml(raw), .coils = info.coils}, &writer));
    for (int64_t i = 0; i < info.acquisitions; i++) {
        check(larmor_raw_acquisition(raw, i, &a));
        if (!strcmp(way, "ragged")) a.discard_post = (int)(a.samples / 16 * (i * 2 % 5) / 4);
        const int turns = strcmp(way, "ragged") != 0;
        float *values = turn(&a, turns ? 0.126 * a.slice * a.contrast : 0);
        a.data = values;
        if (!strcmp(way, "shuffled")) a.slice = shuffled[a.slice];
        if (!strcmp(way, "descending")) a.slice = descending[a.slice];
        check(larmor_raw_append(writer, &a));
        free(values);
    }
    check(larmor_raw_finish(writer));
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    larmor_raw_free(raw);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strstr("ragged ascending shuffled descending", argv[1])) {
        copy_scan(argv[1], argv[2], argv[3]);
        return 0;
    }
    if (argc != 4) {
        fprintf(stderr, "usage: make_scan WAY SCAN.h5 TRUTH.h5\n");
        return 1;
    }
    const int bare = !strncmp(argv[1], "sequence", 8);
    const int matrix = bare && argv[1][8] ? atoi(argv[1] + 8) : N;
    const int radial = bare || !strcmp(argv[1], "spokes");
    larmor_scan scan = {.encoding = {.matrix = {matrix, matrix, 1},
                                     .recon_matrix = {matrix, matrix, 1},
                                     .fov_mm = {N, N, 5},
                                     .recon_fov_mm = {N, N, 5},
                                     .ndim = 2},
                        .coils = COILS,
                        .readouts = N,
                        .slices = 4,
                        .repetitions = 2};
    larmor_output *out;
    snprintf(scan.encoding.trajectory, sizeof scan.encoding.trajectory, "%s", radial ? "radial" : "cartesian");
    if (bare) snprintf(scan.encoding.trajectory, sizeof scan.encoding.trajectory, "other");
    if (bare) write_sequence(argv[2]);
    check(larmor_device_open("cpu:1", &dev));
    if (radial)
        place_spokes();
    else
        place_lines();
    simulate(argv[3]);
    check(larmor_output_open(argv[2], 1, &out));
    check(larmor_raw_create(out, &scan, &writer));
    if (!append_all(argv[1])) {
        fprintf(stderr, "make_scan: unknown way %s\n", argv[1]);
        return 1;
    }
    check(larmor_raw_finish(writer));
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    larmor_device_free(dev);
    free(data);
    return 0;
}
