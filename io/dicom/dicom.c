/* DICOM, 16 bits with a rescale slope: a folder with a file of MR Image Storage for each slice, where magnitudes (or
 * real values) make one series, phases another; or one file of Enhanced MR Image Storage for all slices,
 * and one for all of their phases.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/dicom/dicom.h"

#include <inttypes.h>

#include "core/core.h"
#include "io/images/volume.h"

#define PI 3.14159265358979323846
#define LARGEST 32767.0 /* that is stored: what readers take for signed stays right */
#define EVEN 0.01       /* of a gap */
#define SAME_MM 0.01    /* between positions that are one */

enum {
    MOST_SIDE = 65535,
    MOST_FILES = 999999,
    MOST_PIXELS = INT32_MAX - 1,
    MOST_WINDOW = 1 << 26 /* voxels that the window is found from */
};

/* ---- values ---- */

typedef struct plan { /* of a write */
    const lmr_images *images;
    larmor_output *out;
    int part; /* of the output, that is being written */
    lmr_volumes order;
    float *values; /* [voxels] of one image */
    uint16_t *pixels;
    double low, high; /* of all values */
} plan;

static lmr_as kind_of(const lmr_images *images)
{
    return images->is_complex || images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_REAL;
}

static int has_phase(const lmr_images *images)
{
    return images->opts->phase && images->is_complex;
}

static larmor_status take_values(plan *p, int i, lmr_as as)
{
    LMR_TRY(lmr_values(p->images->image[i].data, as, p->values));
    return lmr_finite(p->out, LARMOR_F32, p->values, p->images->voxels);
}

/* The range of all values, and their part in the identity where the caller gives none. */
static larmor_status look_at_values(plan *p, lmr_identity *identity)
{
    const lmr_images *images = p->images;
    for (int k = 0; k < images->count; k++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(take_values(p, p->order.order[k], kind_of(images)));
        for (int64_t v = 0; v < images->voxels; v++) {
            p->low = fmin(p->low, (double)p->values[v]);
            p->high = fmax(p->high, (double)p->values[v]);
        }
        if (!images->opts->identity)
            lmr_identity_mix(identity, p->values, (size_t)images->voxels * sizeof *p->values);
    }
    return LARMOR_OK;
}

/* The window of some of the images, evenly taken, if all are too many. */
static larmor_status find_window(const plan *p, double window[2])
{
    const lmr_images *images = p->images;
    const int64_t most = MOST_WINDOW / images->voxels > 1 ? MOST_WINDOW / images->voxels : 1;
    const int count = images->count < most ? images->count : (int)most;
    if (images->opts->window[0] != 0 || images->opts->window[1] != 0) {
        memcpy(window, images->opts->window, 2 * sizeof *window);
        return LARMOR_OK;
    }
    window[0] = p->low;
    window[1] = p->high;
    if (p->low < 0) return LARMOR_OK;
    LMR_HEAP LMR_NEW(larmor_image, some, count);
    for (int k = 0; k < count; k++) some[k] = images->image[(int64_t)k * images->count / count];
    return larmor_image_window(some, count, window);
}

/* A slope that is stored in 16 characters, and by which the largest value is stored. */
static double slope_of(double most)
{
    const double slope = most > 0 ? most / LARGEST : 1;
    const double stored = strtod(lmr_dicom_numbers(&slope, 1).s, NULL);
    return stored > 0 ? stored : slope;
}

/* ---- the series ---- */

static double along_slice(const lmr_images *images, int i)
{
    double affine[3][4], length = 0, along = 0;
    lmr_image_affine(&images->image[i].meta, images->dim, affine);
    for (int k = 0; k < 3; k++) {
        length += affine[k][2] * affine[k][2];
        along += affine[k][2] * images->image[i].meta.position_mm[k];
    }
    return along / sqrt(length);
}

/* From slice to slice of the first volume, if all are as far apart; else 0. */
static double gap_of(const plan *p)
{
    double gap = 0;
    for (int s = 1; s < p->order.slices; s++) {
        const double here = along_slice(p->images, p->order.order[s]) - along_slice(p->images, p->order.order[s - 1]);
        if (s == 1) gap = here;
        if (!(fabs(here - gap) <= EVEN * gap)) return 0;
    }
    return gap;
}

/* 1 if slices of the first volume, one after another in the order of their places, have one position. */
static int are_stacked(const plan *p)
{
    int stacked = 0;
    for (int s = 1; s < p->order.slices; s++) {
        const double *here = p->images->image[p->order.order[s]].meta.position_mm;
        const double *before = p->images->image[p->order.order[s - 1]].meta.position_mm;
        double square = 0;
        for (int k = 0; k < 3; k++) square += (here[k] - before[k]) * (here[k] - before[k]);
        stacked |= square <= SAME_MM * SAME_MM;
    }
    return stacked;
}

/* "PROTOCOL, larmor tv, phase" */
static lmr_dicom_value describe_series(const lmr_dicom_series *series, const larmor_write_opts *opts)
{
    const lmr_study *y = &series->study;
    const char *scan =
        *y->text[LMR_SERIES_DESCRIPTION] ? y->text[LMR_SERIES_DESCRIPTION] : y->text[LMR_PROTOCOL_NAME];
    const char *by = "larmor";
    lmr_dicom_value v;
    for (int i = 0; i < opts->notes.count; i++)
        if (opts->notes.keys[i] && opts->notes.values[i] && !strcmp(opts->notes.keys[i], "SeriesDescription"))
            by = opts->notes.values[i];
    snprintf(v.s, sizeof v.s, "%.170s%s%.40s%s", lmr_dicom_text(scan, 40).s, *scan ? ", " : "", by,
             series->is_phase ? ", phase" : "");
    return v;
}

/* What the images follow from, and which ones they are. */
static lmr_identity identify(const plan *p, const char *header)
{
    const larmor_write_opts *opts = p->images->opts;
    const int64_t whole[] = {p->images->dim[0], p->images->dim[1], p->images->dim[2],
                             p->images->count,  opts->anonymous,   opts->magnitude};
    lmr_identity identity = lmr_identity_new();
    lmr_identity_mix(&identity, header, strlen(header));
    lmr_identity_mix(&identity, LARMOR_VERSION, strlen(LARMOR_VERSION));
    lmr_identity_mix(&identity, &opts->identity, sizeof opts->identity);
    lmr_identity_mix(&identity, opts->window, sizeof opts->window);
    lmr_identity_mix(&identity, whole, sizeof whole);
    for (int k = 0; k < p->images->count; k++) {
        const larmor_image_meta *m = &p->images->image[p->order.order[k]].meta;
        const int64_t counters[] = {m->encoding, m->slice, m->contrast, m->phase, m->repetition, m->set, m->average};
        double affine[3][4];
        lmr_image_affine(m, p->images->dim, affine);
        lmr_identity_mix(&identity, counters, sizeof counters);
        lmr_identity_mix(&identity, affine, sizeof affine);
    }
    return identity;
}

/* A UID of the header, as it is or, without names, as a hash; one of `name` where it has none. */
static lmr_dicom_value uid_of(const char *stated, int anonymous, lmr_identity otherwise, const char *name)
{
    lmr_identity of_stated = lmr_identity_new();
    if (!lmr_is_uid(stated)) return lmr_dicom_uid(otherwise, name, 0);
    if (!anonymous) return lmr_dicom_text(stated, 64);
    lmr_identity_mix(&of_stated, stated, strlen(stated));
    return lmr_dicom_uid(of_stated, name, 0);
}

static larmor_status begin_series(plan *p, const lmr_dicom *plugin, lmr_dicom_series *series)
{
    const larmor_write_opts *opts = p->images->opts;
    const char *header = opts->header ? opts->header : "";
    *series = (lmr_dicom_series){
        .plugin = plugin, .anonymous = opts->anonymous, .gap_mm = gap_of(p), .is_stacked = are_stacked(p)};
    memcpy(series->dim, p->images->dim, sizeof series->dim);
    for (int i = 0; i < p->images->count; i++)
        series->repetitions = (int)fmax(series->repetitions, p->images->image[i].meta.repetition + 1);
    LMR_TRY(lmr_study_read(p->out->path, opts->header, &series->study));
    lmr_identity scan = lmr_identity_new();
    series->identity = identify(p, header);
    LMR_TRY(look_at_values(p, &series->identity));
    LMR_TRY(find_window(p, series->window));
    lmr_identity_mix(&scan, header, strlen(header));
    if (!*header) scan = series->identity;
    series->is_signed = p->low < 0;
    series->component = kind_of(p->images) == LMR_AS_MAGNITUDE ? "MAGNITUDE" : "REAL";
    series->slope = slope_of(fmax(-p->low, p->high));
    const lmr_study *y = &series->study;
    series->study_uid = uid_of(y->text[LMR_STUDY_UID], opts->anonymous, scan, "study");
    series->frame_uid = uid_of(y->text[LMR_FRAME_OF_REFERENCE_UID], opts->anonymous, scan, "frame of reference");
    if (opts->anonymous) lmr_study_anonymise(&series->study);
    return LARMOR_OK;
}

/* ---- files ---- */

static larmor_status put(void *user, const void *data, size_t bytes)
{
    const plan *p = user;
    return lmr_output_put(p->out, p->part, data, bytes);
}

static void store(const plan *p, const lmr_dicom_series *series, int64_t z, uint16_t *pixels)
{
    const int64_t plane = series->dim[0] * series->dim[1];
    for (int64_t v = 0; v < plane; v++) {
        const double stored = rint((double)p->values[z * plane + v] / series->slope);
        pixels[v] = (uint16_t)(int16_t)fmax(-LARGEST, fmin(LARGEST, stored));
    }
}

static larmor_status write_file(plan *p, const lmr_dicom_series *series, const larmor_image_meta *meta, int64_t z,
                                int64_t number)
{
    const int64_t plane = series->dim[0] * series->dim[1];
    char name[32];
    void *file;
    store(p, series, z, p->pixels);
    snprintf(name, sizeof name, "%s_%06" PRId64 ".dcm", series->is_phase ? "PH" : "IM", number);
    LMR_TRY(lmr_output_next(p->out, name));
    LMR_TRY(series->plugin->begin(&file));
    larmor_status st = lmr_dicom_describe(series, file, meta, z, number);
    if (!st) st = series->plugin->set_pixels(file, p->pixels, plane);
    if (!st) st = series->plugin->write(file, put, p);
    series->plugin->end(file);
    return st;
}

static larmor_status write_series(plan *p, lmr_dicom_series *series)
{
    const lmr_images *images = p->images;
    int64_t number = 0;
    series->description = describe_series(series, images->opts);
    series->series_uid = lmr_dicom_uid(series->identity, "series", 0);
    for (int k = 0; k < images->count; k++) {
        const int i = p->order.order[k];
        LMR_TRY(take_values(p, i, series->is_phase ? LMR_AS_PHASE : kind_of(images)));
        for (int64_t z = 0; z < images->dim[2]; z++) {
            LMR_TRY(lmr_go_on());
            LMR_TRY(write_file(p, series, &images->image[i].meta, z, ++number));
        }
    }
    return LARMOR_OK;
}

static void become_phase(lmr_dicom_series *series)
{
    series->is_phase = series->is_signed = 1;
    series->component = "PHASE";
    series->slope = slope_of(PI);
    series->window[0] = -PI;
    series->window[1] = PI;
    lmr_identity_mix(&series->identity, "phase", strlen("phase"));
}

static larmor_status write_both(plan *p, const lmr_dicom *plugin)
{
    LMR_HEAP LMR_NEW(lmr_dicom_series, series, 1);
    LMR_TRY(begin_series(p, plugin, series));
    LMR_TRY(write_series(p, series));
    if (!has_phase(p->images)) return LARMOR_OK;
    become_phase(series);
    return write_series(p, series);
}

/* All slices into one file, which is part `part` of the output. */
static larmor_status write_frames(plan *p, lmr_dicom_series *series, int part)
{
    const lmr_images *images = p->images;
    const int64_t plane = images->dim[0] * images->dim[1];
    void *file;
    series->description = describe_series(series, images->opts);
    series->series_uid = lmr_dicom_uid(series->identity, "series", 0);
    p->part = part;
    uint16_t *pixels = p->pixels;
    for (int k = 0; k < images->count; k++) {
        LMR_TRY(take_values(p, p->order.order[k], series->is_phase ? LMR_AS_PHASE : kind_of(images)));
        for (int64_t z = 0; z < images->dim[2]; z++, pixels += plane) store(p, series, z, pixels);
    }
    LMR_TRY(series->plugin->begin(&file));
    larmor_status st = lmr_dicom_describe_frames(series, file, images, &p->order);
    if (!st) st = series->plugin->set_pixels(file, p->pixels, images->voxels * images->count);
    if (!st) st = series->plugin->write(file, put, p);
    series->plugin->end(file);
    return st;
}

/* The second file has the phases. */
static larmor_status write_one_or_two(plan *p, const lmr_dicom *plugin)
{
    LMR_HEAP LMR_NEW(lmr_dicom_series, series, 1);
    LMR_TRY(begin_series(p, plugin, series));
    series->is_enhanced = 1;
    lmr_identity_mix(&series->identity, "enhanced", strlen("enhanced"));
    LMR_TRY(write_frames(p, series, 0));
    if (p->out->parts < 2) return LARMOR_OK;
    LMR_REFUSE(!p->images->is_complex, LARMOR_ERR_ARG, "%s: images are real, expected complex ones for their phase",
               p->out->path);
    become_phase(series);
    return write_frames(p, series, 1);
}

static larmor_status check_sides(const char *path, const lmr_images *images)
{
    for (int d = 0; d < 2; d++)
        LMR_REFUSE(images->dim[d] > MOST_SIDE, LARMOR_ERR_ARG,
                   "%s: DICOM holds at most %d rows and columns, got %" PRId64 "; use .h5", path, MOST_SIDE,
                   images->dim[d]);
    return LARMOR_OK;
}

static larmor_status check(const char *path, const lmr_images *images)
{
    const int series = 1 + has_phase(images);
    LMR_TRY(check_sides(path, images));
    LMR_REFUSE(images->dim[2] > MOST_FILES / images->count / series, LARMOR_ERR_ARG,
               "%s: at most %d slices are written to a folder; use .h5", path, MOST_FILES);
    return LARMOR_OK;
}

/* A value of 4 bytes has the length of the pixels, and a frame a number in as many. */
static larmor_status check_frames(const char *path, const lmr_images *images)
{
    LMR_TRY(check_sides(path, images));
    if (images->voxels <= MOST_PIXELS / images->count) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: one file of DICOM holds at most 4 GB; use .dcm/", path);
}

static void free_plan(plan *p)
{
    LMR_FREE(p->order.order, p->values, p->pixels);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const lmr_dicom *plugin;
    const int in_folder = out->format->inside != NULL;
    LMR_FREED_BY(free_plan) plan p = {.images = images, .out = out};
    LMR_TRY(lmr_dicom_find(out->path, &plugin));
    LMR_TRY(in_folder ? check(out->path, images) : check_frames(out->path, images));
    p.values = lmr_new(images->voxels, sizeof *p.values);
    const int64_t stored = in_folder ? images->dim[0] * images->dim[1] : images->voxels * images->count;
    p.pixels = lmr_new(stored, sizeof *p.pixels);
    if (!p.values || !p.pixels) return LMR_NO_MEMORY();
    LMR_TRY(in_folder ? lmr_order(images, &p.order) : lmr_arrange(out->path, images, &p.order));
    return in_folder ? write_both(&p, plugin) : write_one_or_two(&p, plugin);
}

static larmor_status ready(const char *path)
{
    const lmr_dicom *plugin;
    return lmr_dicom_find(path, &plugin);
}

const lmr_format lmr_format_dcm = {
    .suffix = ".dcm/",
    .name = "DICOM",
    .inside = ".dcm",
    .ready = ready,
    .bytes = sizeof(uint16_t),
    .write = write_images,
    .check = check,
};

const lmr_format lmr_format_dcm_file = {
    .suffix = ".dcm",
    .name = "DICOM",
    .ready = ready,
    .phase = "_phase.dcm",
    .bytes = sizeof(uint16_t),
    .write = write_images,
    .check = check_frames,
    .divide = lmr_divide,
    .can = LMR_CAN_READ_META | LMR_CAN_DESCRIBE,
};
