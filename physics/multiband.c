/* Slices that are excited together as volumes: phases that grow evenly from slice to slice are those of a place along
 * kz, in cycles per distance of the slices times their number (Yutzy et al., Magn. Reson. Med. 65, 1630 (2011)).
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/multiband.h"

#include "core/core.h"
#include "physics/multiband_header.h"
#include "physics/multiband_phases.h"
#include "physics/multiband_reference.h"
#include "scan/source.h"

#define MAX_OFF_REFERENCE 0.25 /* of the distance between slices, of a scan of a slice alone */
#define MAX_DISTANCE_MM 1e4    /* of slices */
#define MAX_OFF_PARTITION 1e-6 /* of a partition */

enum { MOST_SHIFTS = 1024 };

#define ADD_LINE(m, ...) lmr_append((m)->info.warnings, sizeof(m)->info.warnings, __VA_ARGS__)

typedef struct multiband {
    larmor_source *inner;
    int bands, shifts, turns;
    int solid;                /* 1: the inner images are volumes of the slices, so that kz is theirs */
    int by_header;            /* 1: the options are the header's */
    int groups, *group;       /* images of such slices: their numbers in the inner source */
    int images;               /* of the inner source */
    larmor_raw_info info;     /* what is said of the scan */
    larmor_source *reference; /* of each slice alone, or NULL: */
    int reference_encoding, reference_solid;
    double offset[LARMOR_MOST_BANDS];
    double first_mm, step_mm; /* offsets of the slices, on average where they are */
    int is_uneven;            /* 1: not equally far apart */
    lmr_band_phases phase;    /* of an array; even NULL: by shifts */
} multiband;

/* ---- places along kz ---- */

static double within(double x, double period)
{
    return x - period * floor(x / period + 0.5);
}

/* Where readout j of an image is, in 1/(bands times their distance), and the phase of the middle slice. */
static double kz_of(const multiband *m, int group, int64_t j, double *middle)
{
    const int centre = m->bands / 2;
    if (m->phase.even) {
        const double *row = m->phase.even + 2 * (m->phase.begin[group] + j);
        *middle = row[0];
        return within(-row[1] * m->bands / (2 * M_PI), m->bands);
    }
    const int64_t step = j % m->shifts * m->turns % m->shifts;
    *middle = 2 * M_PI * (double)(step * centre % m->shifts) / m->shifts;
    return within(-(double)(step * m->bands) / m->shifts, m->bands);
}

/* ---- what the pipeline asks ---- */

static larmor_raw_info describe(void *self)
{
    return ((const multiband *)self)->info;
}

static larmor_status inner_of(const multiband *m, int group, int *inner)
{
    LMR_REFUSE(group < 0 || group >= m->groups, LARMOR_ERR_ARG, "multiband: group %d, the scan has %d", group,
               m->groups);
    *inner = m->group[group];
    return LARMOR_OK;
}

static larmor_status group_of(void *self, int group, larmor_group *out)
{
    const multiband *m = self;
    int inner = 0;
    LMR_TRY(inner_of(m, group, &inner));
    return lmr_source_group(m->inner, inner, out);
}

static larmor_status encoding_of(void *self, int encoding, larmor_encoding *out)
{
    const multiband *m = self;
    LMR_TRY(lmr_source_encoding(m->inner, encoding, out));
    out->ndim = 3;
    out->matrix[2] = out->recon_matrix[2] = m->bands;
    out->fov_mm[2] = out->recon_fov_mm[2] = m->step_mm * m->bands;
    out->apart[2] = 1 | (m->phase.rest ? LMR_APART_BY_PHASES : 0) | (m->is_uneven ? LMR_APART_UNEVENLY : 0);
    return LARMOR_OK;
}

static larmor_status meta_of(void *self, int group, larmor_image_meta *meta)
{
    const multiband *m = self;
    const double offset = m->first_mm + m->step_mm * (m->bands / 2);
    int inner = 0;
    LMR_TRY(inner_of(m, group, &inner));
    LMR_TRY(lmr_source_meta(m->inner, inner, meta));
    for (int d = 0; d < 3; d++) meta->position_mm[d] += offset * meta->slice_dir[d];
    meta->fov_mm[2] = m->step_mm * m->bands;
    meta->place_unknown |= m->is_uneven;
    return LARMOR_OK;
}

static larmor_status stamps_of(void *self, int group, larmor_stamp *stamps)
{
    const multiband *m = self;
    int inner = 0;
    LMR_TRY(inner_of(m, group, &inner));
    return lmr_source_stamps(m->inner, inner, stamps);
}

/* The inner source's grid, and cycles per field of view of the outer one's along z for one partition. */
static larmor_status flat_grid(const multiband *m, int group, const larmor_grid *grid, larmor_grid *flat,
                               double *scale)
{
    larmor_encoding e;
    larmor_group g;
    LMR_TRY(lmr_source_group(m->inner, group, &g));
    LMR_TRY(lmr_source_encoding(m->inner, g.encoding, &e));
    *flat = *grid;
    *scale = 1;
    flat->apart[2] = 0;
    if (m->solid) return LARMOR_OK;
    flat->ndim = 2;
    flat->matrix[2] = flat->crop[2] = 1;
    flat->fov_mm[2] = e.fov_mm[2];
    *scale = grid->fov_mm[2] / (m->step_mm * m->bands);
    return LARMOR_OK;
}

/* The middle slice gets the phase 0 in every readout. of: [readouts] their numbers in the image. */
static larmor_status turn_back(const multiband *m, int group, const int64_t *of, const larmor_samples *s)
{
    const larmor_shape shape = larmor_shape_of(2, larmor_array_shape(s->kspace).dim);
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP LMR_NEW(double, turn, 2 * count);
    for (int64_t i = 0, r = 0; i < count; i++) {
        double angle;
        while (s->first && i >= s->first[r + 1]) r++;
        kz_of(m, group, of[s->first ? r : i / shape.dim[0]], &angle);
        turn[2 * i] = cos(angle);
        turn[2 * i + 1] = -sin(angle);
    }
    LMR_OWN(larmor_array, factor,
            larmor_array_upload(larmor_array_device(s->kspace), larmor_array_dtype(s->kspace), shape, LARMOR_C128,
                                turn, &factor));
    return larmor_mul(factor, 0, s->kspace);
}

static larmor_status add_kz(const multiband *m, int group, const int64_t *of, double scale, larmor_samples *s)
{
    const larmor_shape shape = larmor_array_shape(s->traj);
    const int64_t count = shape.dim[1] * shape.dim[2];
    LMR_HEAP double *k = lmr_new(count, 3 * sizeof *k);
    larmor_array *made;
    if (!k) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(double, flat, larmor_array_download(s->traj, LARMOR_F64, &flat));
    for (int64_t i = 0, r = 0; i < count; i++) {
        double unused;
        while (s->first && i >= s->first[r + 1]) r++;
        k[3 * i] = flat[2 * i];
        k[3 * i + 1] = flat[2 * i + 1];
        k[3 * i + 2] = scale * kz_of(m, group, of[s->first ? r : i / shape.dim[1]], &unused);
    }
    LMR_TRY(larmor_array_upload(larmor_array_device(s->traj), LARMOR_F64, LARMOR_SHAPE(3, shape.dim[1], shape.dim[2]),
                                LARMOR_F64, k, &made));
    larmor_array_free(s->traj);
    s->traj = made;
    return LARMOR_OK;
}

/* Without a trajectory the counters say the partition. */
static larmor_status count_partitions(const multiband *m, int group, const int64_t *of, int64_t readouts, int *step2)
{
    for (int64_t r = 0; r < readouts; r++) {
        double unused;
        const double kz = kz_of(m, group, of[r], &unused);
        LMR_REFUSE(fabs(kz - nearbyint(kz)) > MAX_OFF_PARTITION, LARMOR_ERR_UNSUPPORTED,
                   "multiband: the scan stores no trajectory, and readout %lld has phases that are no "
                   "multiples of 2 pi / %d; store the trajectory, or give it.",
                   (long long)of[r], m->bands);
        step2[r] = (int)nearbyint(kz) + m->bands / 2;
        if (step2[r] >= m->bands) step2[r] -= m->bands;
    }
    return LARMOR_OK;
}

/* Samples of the inner source become those of volumes. readout [count] or NULL, of all readouts. */
static larmor_status encode(const multiband *m, int group, const int64_t *readout, double scale, larmor_samples *s)
{
    const larmor_shape shape = larmor_array_shape(s->kspace);
    const int64_t readouts = s->first ? s->readouts : shape.dim[1];
    if (m->solid) return LARMOR_OK;
    LMR_HEAP LMR_NEW(int64_t, of, readouts);
    for (int64_t r = 0; r < readouts; r++) of[r] = readout ? readout[r] : r;
    LMR_TRY(turn_back(m, group, of, s));
    return s->traj ? add_kz(m, group, of, scale, s) : count_partitions(m, group, of, readouts, s->step2);
}

static double nearest_distance(const multiband *m)
{
    double least = m->step_mm;
    for (int s = 1; s < m->bands; s++) least = fmin(least, m->offset[s] - m->offset[s - 1]);
    return least;
}

static lmr_slice_scans scans_of(const multiband *m)
{
    return (lmr_slice_scans){.source = m->reference,
                             .encoding = m->reference_encoding,
                             .solid = m->reference_solid,
                             .bands = m->bands,
                             .offset_mm = m->offset,
                             .reach_mm = MAX_OFF_REFERENCE * nearest_distance(m)};
}

/* Of an image of the inner source. */
static larmor_status reference_of(const multiband *m, int inner, const larmor_grid *flat, double scale,
                                  larmor_device *dev, larmor_samples *out)
{
    lmr_slice_scans scans = scans_of(m);
    int group[LARMOR_MOST_BANDS];
    larmor_image_meta meta;
    larmor_grid slice = *flat;
    scans.scan = &meta;
    slice.ndim = 2;
    slice.matrix[2] = slice.crop[2] = 1;
    LMR_TRY(lmr_source_meta(m->inner, inner, &meta));
    LMR_TRY(lmr_reference_find(&scans, &meta, group));
    return lmr_reference_samples(&scans, group, &slice, scale, m->info.coils, dev, out);
}

static larmor_status samples_of(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *dev,
                                larmor_samples *out)
{
    const multiband *m = self;
    larmor_grid flat;
    double scale;
    int inner = 0;
    *out = (larmor_samples){0};
    if (calibration && !m->reference) return LARMOR_OK;
    LMR_TRY(inner_of(m, group, &inner));
    LMR_TRY(flat_grid(m, inner, grid, &flat, &scale));
    if (calibration) return reference_of(m, inner, &flat, scale, dev, out);
    LMR_TRY(lmr_source_samples(m->inner, inner, &flat, 0, m->info.coils, dev, out));
    const larmor_status st = encode(m, inner, NULL, scale, out);
    if (st) larmor_samples_free(out);
    return st;
}

static larmor_status readouts_of(void *self, int group, const int64_t *readout, int64_t count,
                                 const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    const multiband *m = self;
    larmor_grid flat;
    double scale;
    int inner = 0;
    *out = (larmor_samples){0};
    LMR_TRY(inner_of(m, group, &inner));
    LMR_TRY(flat_grid(m, inner, grid, &flat, &scale));
    LMR_TRY(lmr_source_readouts(m->inner, inner, readout, count, &flat, dev, out));
    const larmor_status st = encode(m, inner, readout, scale, out);
    if (st) larmor_samples_free(out);
    return st;
}

typedef larmor_status ask(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                          const larmor_grid *grid, larmor_device *dev, larmor_array **x);

static larmor_status ask_inner(const multiband *m, ask *of_inner, int group, const int64_t *readout, int64_t count,
                               const larmor_grid *grid, larmor_device *dev, larmor_array **x)
{
    larmor_grid flat;
    double scale;
    int inner = 0;
    LMR_TRY(inner_of(m, group, &inner));
    LMR_TRY(flat_grid(m, inner, grid, &flat, &scale));
    return of_inner(m->inner, inner, readout, count, &flat, dev, x);
}

static larmor_status times_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                              larmor_device *dev, larmor_array **times)
{
    return ask_inner(self, lmr_source_times, group, readout, count, grid, dev, times);
}

static larmor_status phases_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                               larmor_device *dev, larmor_array **phases)
{
    return ask_inner(self, lmr_source_phases, group, readout, count, grid, dev, phases);
}

static larmor_status fingerprint_of(void *self, uint64_t *fingerprint)
{
    const multiband *m = self;
    const double numbers[] = {m->bands, m->shifts, m->first_mm, m->step_mm, m->turns};
    LMR_TRY(lmr_source_fingerprint(m->inner, fingerprint));
    if (m->reference) {
        uint64_t own;
        LMR_TRY(lmr_source_fingerprint(m->reference, &own));
        *fingerprint = lmr_hash(*fingerprint, &own, sizeof own);
    }
    *fingerprint = lmr_hash(*fingerprint, numbers, sizeof numbers);
    *fingerprint = lmr_hash(*fingerprint, m->offset, sizeof *m->offset * (size_t)m->bands);
    *fingerprint = lmr_band_phases_hash(&m->phase, *fingerprint);
    return LARMOR_OK;
}

static void destroy(void *self)
{
    multiband *m = self;
    larmor_source_free(m->inner);
    larmor_source_free(m->reference);
    lmr_band_phases_free(&m->phase);
    LMR_FREE(m->group, m);
}

/* ---- options ---- */

static larmor_status take_offsets(const larmor_multiband_opts *o, multiband *m)
{
    LMR_REFUSE(o->bands < 2 || o->bands > LARMOR_MOST_BANDS || !o->offset_mm, LARMOR_ERR_ARG,
               "multiband: got %d bands, expected 2 to %d and their offsets", o->bands, LARMOR_MOST_BANDS);
    m->bands = o->bands;
    memcpy(m->offset, o->offset_mm, sizeof *m->offset * (size_t)o->bands);
    m->first_mm = o->offset_mm[0];
    m->step_mm = (o->offset_mm[o->bands - 1] - o->offset_mm[0]) / (o->bands - 1);
    m->is_uneven = !lmr_multiband_is_even(o->offset_mm, o->bands);
    int good = isfinite(o->offset_mm[0]) && fabs(m->step_mm) < MAX_DISTANCE_MM;
    for (int s = 1; s < o->bands; s++) good &= o->offset_mm[s] > o->offset_mm[s - 1];
    if (good && !(m->is_uneven && m->solid)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "multiband: slices from %g to %g mm, expected ascending offsets%s",
                    o->offset_mm[0], o->offset_mm[o->bands - 1],
                    m->solid ? " that are equally far apart, as partitions are" : "");
}

static larmor_status take_phases(const larmor_multiband_opts *o, multiband *m)
{
    m->shifts = o->shifts;
    m->turns = o->turns ? o->turns : 1;
    if (m->solid && !o->shifts && !o->phase) return LARMOR_OK;
    LMR_REFUSE(m->solid, LARMOR_ERR_ARG,
               "multiband: %s is a volume of the slices, whose kz its readouts have: no phases "
               "are to be given with it",
               lmr_source_name(m->inner));
    LMR_REFUSE((o->shifts > 0) == (o->phase != NULL) || o->shifts < 0 || o->shifts > MOST_SHIFTS ||
                   abs(m->turns) > MOST_SHIFTS,
               LARMOR_ERR_ARG, "multiband: got %d shifts%s, expected 1 to %d, or phases", o->shifts,
               o->phase ? " and phases" : "", MOST_SHIFTS);
    m->turns = m->shifts ? (m->turns % m->shifts + m->shifts) % m->shifts : 0;
    if (!o->phase) return LARMOR_OK;
    return lmr_band_phases_take(&(lmr_banded){m->inner, m->group, m->groups}, o->phase, m->bands, &m->phase);
}

/* ---- the inner source ---- */

/* Of the images that have such slices: all, or by the header those of encodings with this factor. */
static larmor_status find_groups(multiband *m, int factor)
{
    m->images = larmor_source_describe(m->inner).groups;
    LMR_ALLOCATE_ZEROS(m->group, m->images + 1);
    for (int i = 0; i < m->images; i++) {
        larmor_group g;
        larmor_encoding e;
        LMR_TRY(lmr_source_group(m->inner, i, &g));
        LMR_TRY(lmr_source_encoding(m->inner, g.encoding, &e));
        if (!factor || e.multiband.factor == factor) m->group[m->groups++] = i;
    }
    if (m->groups || !m->images) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no image has the %d slices of the header's multiband",
                    lmr_source_name(m->inner), factor);
}

static larmor_status check_encoding(const multiband *m, const larmor_encoding *e, int bands)
{
    const char *name = lmr_source_name(m->inner);
    LMR_REFUSE(e->ndim != 2 && e->matrix[2] != bands, LARMOR_ERR_ARG,
               "multiband: %s has images in %dD, expected 2D slices, or volumes of %d partitions", name, e->ndim,
               bands);
    LMR_REFUSE((e->ndim > 2) != m->solid, LARMOR_ERR_ARG,
               "multiband: %s has slices and volumes, expected one of them", name);
    if (strcmp(e->trajectory, "epi") != 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "multiband: %s is echo-planar, whose ghosts are not corrected between slices that are excited "
                    "together%s.",
                    name, m->by_header ? "; leave the header's multiband out for images of their sum" : "");
}

static larmor_status check_inner(multiband *m, int bands)
{
    for (int i = 0; i < m->groups; i++) {
        larmor_group g;
        larmor_encoding e;
        LMR_TRY(lmr_source_group(m->inner, m->group[i], &g));
        LMR_TRY(lmr_source_encoding(m->inner, g.encoding, &e));
        if (!i) m->solid = e.ndim > 2;
        LMR_TRY(check_encoding(m, &e, bands));
    }
    return LARMOR_OK;
}

/* ---- scans of each slice alone ---- */

static larmor_status count_reference(multiband *m)
{
    const lmr_slice_scans scans = scans_of(m);
    for (int i = 0; i < m->groups; i++) {
        int64_t readouts;
        int group[LARMOR_MOST_BANDS];
        larmor_image_meta meta;
        LMR_TRY(lmr_source_meta(m->inner, m->group[i], &meta));
        LMR_TRY(lmr_reference_find(&scans, &meta, group));
        LMR_TRY(lmr_reference_count(&scans, group, &readouts));
        if (readouts > m->info.calibration) m->info.calibration = readouts;
    }
    return LARMOR_OK;
}

/* Why a calibration that the header names gives no maps. "other" by the scan's own encoding names none. */
static void note_unused(multiband *m, const larmor_multiband_header *h)
{
    const int is_other = !strcmp(h->calibration, "other");
    larmor_encoding named;
    const int own = lmr_source_encoding(m->inner, h->calibration_encoding, &named) || named.multiband.factor;
    if (!h->calibration[0] || (is_other && own)) return;
    ADD_LINE(m, "multiband: the header's calibration %s by encoding %d is %s: it is not used.\n", h->calibration,
             h->calibration_encoding,
             is_other ? "of a kind that the header does not name"
                      : "no scan of each slice alone, and no volume of them");
}

/* Where a slice has none, maps come from the data. */
static larmor_status take_reference(multiband *m, const larmor_encoding *e)
{
    m->reference_encoding = -1;
    if (!lmr_multiband_has_reference(m->inner, &e->multiband)) {
        note_unused(m, &e->multiband);
        return LARMOR_OK;
    }
    m->reference_solid = !strcmp(e->multiband.calibration, "full3D");
    m->reference = larmor_source_ref(m->inner);
    m->reference_encoding = e->multiband.calibration_encoding;
    const larmor_status st = count_reference(m);
    if (!st || st != LARMOR_ERR_ARG) return st;
    ADD_LINE(m, "%s; coil maps are found from the data.\n", larmor_last_error());
    larmor_source_free(m->reference);
    m->reference = NULL;
    return LARMOR_OK;
}

static void warn(multiband *m, const larmor_multiband_header *h, const larmor_multiband_opts *o)
{
    char line[256];
    int other = 0;
    for (int i = 0; i < m->images; i++) {
        larmor_group g = {.encoding = 0};
        other += !lmr_source_group(m->inner, i, &g) && m->reference && g.encoding == m->reference_encoding;
    }
    other = m->images - m->groups - other;
    if (m->by_header && h->differs)
        ADD_LINE(m, "%s", "multiband: the header's lists of dZ differ: the first one is taken for all images.\n");
    if (other) ADD_LINE(m, "multiband: images without such slices are left out: %d.\n", other);
    if (m->is_uneven)
        ADD_LINE(
            m,
            "multiband: slices are not equally far apart: images have the mean distance of %.4g mm, and do not say "
            "where they lie.\n",
            m->step_mm);
    if (m->by_header) return;
    const lmr_banded images = {m->inner, m->group, m->groups};
    lmr_multiband_compare(h, o, &images, &m->phase, line, sizeof line);
    ADD_LINE(m, "%s", line);
}

/* ---- the source ---- */

static larmor_status take_options(multiband *m, const larmor_multiband_opts *opts)
{
    larmor_encoding e = {.ndim = 0};
    double offset[LARMOR_MOST_BANDS];
    larmor_multiband_opts own;
    LMR_TRY(lmr_multiband_find(m->inner, &e));
    m->by_header = !opts;
    LMR_REFUSE(m->by_header && !e.multiband.factor, LARMOR_ERR_FORMAT,
               "multiband: the header of %s has no slices that were excited together", lmr_source_name(m->inner));
    if (m->by_header) {
        LMR_TRY(lmr_multiband_of_header(lmr_source_name(m->inner), &e.multiband, e.ndim > 2, offset, &own));
        opts = &own;
    }
    LMR_TRY(find_groups(m, e.multiband.factor));
    LMR_TRY(check_inner(m, opts->bands));
    LMR_TRY(take_offsets(opts, m));
    LMR_TRY(take_phases(opts, m));
    m->info = larmor_source_describe(m->inner);
    m->info.bands = m->bands;
    m->info.groups = m->groups;
    m->info.calibration = 0;
    LMR_TRY(take_reference(m, &e));
    lmr_multiband_report(opts, m->solid, m->by_header, m->reference ? 1 + m->reference_solid : 0, &m->info);
    if (m->phase.rest)
        lmr_append(m->info.bands_report, sizeof m->info.bands_report, ", unevenly from slice to slice");
    warn(m, &e.multiband, opts);
    return LARMOR_OK;
}

static const larmor_source_impl own_describe = {.describe = describe};

larmor_status lmr_multiband_phases(const larmor_source *source, int group, lmr_band_phases *phases, int64_t *first)
{
    const multiband *m = lmr_source_self(source, &own_describe);
    int inner = 0;
    LMR_REFUSE(!m || !m->phase.rest, LARMOR_ERR_UNSUPPORTED,
               "multiband: frames and bins of %s: phases that grow unevenly from slice to slice are for "
               "whole images alone",
               lmr_source_name(source));
    LMR_TRY(inner_of(m, group, &inner));
    *phases = m->phase;
    *first = m->phase.begin[inner];
    return LARMOR_OK;
}

larmor_status larmor_source_of_multiband(larmor_source *inner, const larmor_multiband_opts *opts,
                                         larmor_source **source)
{
    LMR_NEED(source);
    *source = NULL;
    LMR_NEED(inner);
    const multiband *before = lmr_source_self(inner, &own_describe);
    if (before) inner = before->inner;
    larmor_source_impl impl = {.describe = describe,
                               .encoding = encoding_of,
                               .group = group_of,
                               .meta = meta_of,
                               .samples = samples_of,
                               .stamps = stamps_of,
                               .times = times_of,
                               .phases = phases_of,
                               .fingerprint = fingerprint_of,
                               .destroy = destroy};
    if (lmr_source_has_readouts(inner)) impl.readouts = readouts_of;
    LMR_NEW_ZEROS(multiband, m, 1);
    m->inner = larmor_source_ref(inner);
    larmor_status st = take_options(m, opts);
    if (!st) st = lmr_source_create_before(&m->inner, &impl, m, source);
    if (st)
        destroy(m);
    else if (lmr_source_any_thread(inner))
        lmr_source_set_any_thread(*source);
    return st;
}
