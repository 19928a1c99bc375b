/* A scan in memory whose image is known: golden-angle spokes of the Shepp-Logan phantom. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "tests/support/difference.h"

enum { N = 32, COILS = 4, SPOKES = 60, SAMPLES = 2 * N, MOST_IMAGES = 12 };

typedef struct scan {
    larmor_phantom *phantom;
    larmor_array *truth, *maps;
    larmor_readouts image[MOST_IMAGES];
    larmor_scan_arrays arrays;
} scan;

/* Of a scan that is what it is said to be: no delays are looked for, and with a limit of memory no other descriptions
 * of it are tried, which takes most of the time of an image so small. Samples are not kept between stages then: laws
 * of what is the default have OPTS. */
#define KNOWN(...) OPTS(.delays = LARMOR_DELAYS_OFF, .memory = INT64_C(1) << 30, ##__VA_ARGS__)

/* Repetitions of one slice, angles going on; sigma: of the noise. */
static inline scan scan_of(int coils, int images, double sigma)
{
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "goldenangle", .images = images}};
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, coils, &s.maps));
    for (int i = 0; i < images; i++) {
        const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = SPOKES, .samples = SAMPLES, .first = i * SPOKES};
        larmor_readouts *r = &s.image[i];
        assert_ok(larmor_traj_create(dev, "golden", &opts, &r->traj));
        assert_ok(larmor_phantom_kspace(s.phantom, r->traj, coils, LARMOR_C64, &r->kspace));
        if (sigma > 0) assert_ok(larmor_phantom_noise(r->kspace, sigma, 1 + (uint64_t)i));
        r->meta.repetition = i;
    }
    return s;
}

static inline void end_scan(scan *s)
{
    for (int i = 0; i < s->arrays.images; i++) {
        LMR_FREE(s->image[i].kspace, s->image[i].traj, s->image[i].density, s->image[i].calibration);
        LMR_FREE(s->image[i].calibration_traj);
    }
    LMR_FREE(s->truth, s->maps, s->arrays.noise);
    larmor_phantom_free(s->phantom);
}

static inline larmor_status try_recon(const scan *s, const larmor_recon_opts *opts, larmor_recon **recon)
{
    larmor_scan_arrays arrays = s->arrays;
    OWNED(larmor_source) *source;
    arrays.image = s->image;
    *recon = NULL;
    larmor_status st = larmor_source_of_arrays(&arrays, &source);
    if (!st) st = larmor_recon_create(source, dev, opts, recon);
    return st;
}

static inline larmor_recon *recon_of(const scan *s, const larmor_recon_opts *opts)
{
    return MADE(larmor_recon, try_recon(s, opts, &made));
}

/* One whose first series is there. */
static inline larmor_recon *run_of(const scan *s, const larmor_recon_opts *opts, larmor_recon_result *result)
{
    larmor_recon *recon = recon_of(s, opts);
    assert_ok(larmor_recon_run(recon, 0, result));
    return recon;
}

/* The first series. */
static inline larmor_recon_result result_of(const scan *s, const larmor_recon_opts *opts)
{
    larmor_recon_result result;
    larmor_recon_free(run_of(s, opts, &result));
    assert_true(result.count > 0);
    return result;
}

/* Sums on a GPU are taken in any order. */
static inline int is_cpu(void)
{
    return !strncmp(larmor_device_spec(dev), "cpu", 3);
}

static inline int has_warning(const larmor_recon_report *report, const char *text)
{
    char line[512];
    for (int i = 0; larmor_recon_warning(report, i, line, sizeof line); i++)
        if (strstr(line, text)) return 1;
    return 0;
}

/* How far the image of these options is from the phantom. */
static inline double error_of(const scan *s, const larmor_recon_opts *opts)
{
    OWNED(larmor_recon_result) result = result_of(s, opts);
    return difference(result.image[0].data, s->truth);
}

/* How far the images of two sets of options are from each other. */
static inline double apart(const scan *a, const larmor_recon_opts *opts, const scan *b,
                           const larmor_recon_opts *other)
{
    OWNED(larmor_recon_result) x = result_of(a, opts), y = result_of(b, other);
    return difference(x.image[0].data, y.image[0].data);
}

/* The scan's image as a file of one channel more, which has no signal. */
static inline void write_file(const scan *s, const char *path)
{
    larmor_scan header = {.coils = COILS + 1, .readouts = SPOKES};
    larmor_encoding *e = &header.encoding;
    *e = (larmor_encoding){.trajectory = "goldenangle", .ndim = 2};
    for (int d = 0; d < 3; d++) {
        e->matrix[d] = e->recon_matrix[d] = d < 2 ? N : 1;
        e->fov_mm[d] = e->recon_fov_mm[d] = d < 2 ? N : 1;
    }
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    OWN(larmor_raw_writer, *writer, larmor_raw_create(out, &header, &writer));
    float *all = host_of(s->image[0].kspace), data[2 * SAMPLES * (COILS + 1)] = {0}, traj[2 * SAMPLES];
    HEAP double *k = (double *)host_of(s->image[0].traj);
    for (int i = 0; i < SPOKES; i++) {
        for (int c = 0; c < COILS; c++)
            memcpy(data + 2 * SAMPLES * c, all + 2 * SAMPLES * (i + SPOKES * c), 2 * SAMPLES * sizeof *data);
        for (int j = 0; j < 2 * SAMPLES; j++) traj[j] = (float)k[2 * SAMPLES * i + j];
        const larmor_acquisition a = {.samples = SAMPLES,
                                      .coils = COILS + 1,
                                      .traj_dims = 2,
                                      .center_sample = SAMPLES / 2,
                                      .step1 = i,
                                      .dwell_us = 4,
                                      .data = data,
                                      .traj = traj};
        assert_ok(larmor_raw_append(writer, &a));
    }
    assert_ok(larmor_raw_finish(writer));
    free(all);
}

/* What a listener has been told. */
typedef struct notes {
    char text[16384]; /* "kind:stage or text\n" of all but steps */
    int steps, stop_at_step;
    const char *stop_at; /* a stage */
    double fraction;     /* of the last step */
    int resumed;         /* 1: what a checkpoint had says nothing of the time that remains */
    int series;
} notes;

static inline int take_note(void *user, const larmor_event *e)
{
    static const char kinds[] = "SNLW";
    notes *n = user;
    const size_t used = strlen(n->text);
    n->series = e->series;
    if (e->fraction > 0 ? !n->resumed && !(e->remaining >= 0) : e->remaining >= 0)
        fail_msg("%g s remain after %g", e->remaining, e->fraction);
    if (e->kind == LARMOR_EVENT_STEP) {
        n->steps++;
        if (e->fraction < n->fraction || e->fraction > 1) fail_msg("fraction %g after %g", e->fraction, n->fraction);
        n->fraction = e->fraction;
        return n->stop_at_step && n->steps >= n->stop_at_step;
    }
    snprintf(n->text + used, sizeof n->text - used, "%c:%s\n", kinds[e->kind],
             e->kind == LARMOR_EVENT_STAGE ? e->stage : e->text);
    return e->kind == LARMOR_EVENT_STAGE && n->stop_at && !strcmp(n->stop_at, e->stage);
}

#define assert_noted(notes_, text_)                                                                                  \
    do {                                                                                                             \
        if (!strstr((notes_).text, text_)) fail_msg("expected %s in:\n%s", text_, (notes_).text);                    \
    } while (0)
