/* Off-resonance: the caller's map on a group's grid, and the times of its samples. SPDX-License-Identifier:
 * Apache-2.0 */
#include "pipeline/off_resonance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/hash.h"
#include "core/owned.h"
#include "core/status.h"

enum { REMEMBERED = 2 }; /* segments: those of the plan and those of the last group */
/* Of a warning, and of files; neither was measured. */
#define MAX_UNCOVERED_PART 0.05 /* part of the grid's voxels beyond the map that is worth a warning */
#define MAX_IMAGINARY_PART 1e-3 /* imaginary parts of a map, relative to the largest value */

struct lmr_field {
    double *hz;
    int64_t dim[3];
    int placed; /* 1: where it is in space is known: */
    larmor_image_meta place;
    const char *name;
    int has_start; /* 1: the first sample's time was given */
    double start_s;
    larmor_off_resonance_opts opts;
    struct {
        uint64_t key;
        larmor_segments *segments;
    } known[REMEMBERED];
    int next;       /* of those, the one to replace */
    int has_warned; /* that the map is too small */
    uint64_t said;  /* the segments that the log has */
};

void lmr_field_free(lmr_field *f)
{
    if (!f) return;
    for (int i = 0; i < REMEMBERED; i++) larmor_segments_free(f->known[i].segments);
    free(f->hz);
    free(f);
}

/* ---- the map ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int is_oriented(const larmor_image_meta *m)
{
    return dot(m->read_dir, m->read_dir) > 0 && dot(m->phase_dir, m->phase_dir) > 0 &&
           dot(m->slice_dir, m->slice_dir) > 0;
}

/* hz <- the real parts; imaginary ones are a mistake. */
static larmor_status take_values(const larmor_array *b0, const char *name, int64_t count, double *hz)
{
    double *values, most = 0, imaginary = 0;
    LMR_TRY(larmor_array_download(b0, LARMOR_C128, &values));
    larmor_status st = LARMOR_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        hz[i] = values[2 * i];
        most = fmax(most, fabs(hz[i]));
        imaginary = fmax(imaginary, fabs(values[2 * i + 1]));
        if (!isfinite(hz[i]) || !isfinite(values[2 * i + 1]))
            st = LMR_FAIL(LARMOR_ERR_NUMERIC, "opts.b0 %s: voxel %lld is not finite; give it a frequency.", name,
                          (long long)i);
    }
    free(values);
    if (!st && imaginary > MAX_IMAGINARY_PART * most)
        st =
            LMR_FAIL(LARMOR_ERR_NUMERIC,
                     "opts.b0 %s: the values have imaginary parts, up to %g; a map in Hz, of real numbers, expected.",
                     name, imaginary);
    return st;
}

larmor_status lmr_field_open(const larmor_recon_opts *o, lmr_scan_facts *facts)
{
    if (!o->b0) return LARMOR_OK;
    const larmor_shape shape = larmor_array_shape(o->b0);
    const int64_t count = larmor_shape_count(shape);
    if (shape.ndim < 2 || shape.ndim > 3 || count < 1)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "opts.b0 %s: the map is %s, expected [x, y] or [x, y, z].", o->b0_name,
                        lmr_describe(o->b0).s);
    lmr_field *f = calloc(1, sizeof *f);
    if (!f) return LMR_NO_MEMORY();
    facts->field = f;
    f->name = o->b0_name;
    f->opts = (larmor_off_resonance_opts){.segments = o->segments, .error = o->b0_error};
    for (int d = 0; d < 3; d++) f->dim[d] = d < shape.ndim ? shape.dim[d] : 1;
    f->placed = o->b0_place && is_oriented(o->b0_place);
    if (f->placed) f->place = *o->b0_place;
    for (int d = 0; d < 3; d++) f->placed &= !f->placed || f->place.fov_mm[d] > 0;
    f->has_start = o->readout_start_ms || facts->info.has_readout_start;
    f->start_s = 1e-3 * (o->readout_start_ms ? *o->readout_start_ms : facts->info.readout_start_ms);
    f->hz = malloc((size_t)count * sizeof *f->hz);
    return f->hz ? take_values(o->b0, o->b0_name, count, f->hz) : LMR_NO_MEMORY();
}

/* ---- on a grid ---- */

/* The way from a voxel of the grid to the map's indices: index_a = first_a + sum_d step_a[d] i_d. */
typedef struct way {
    double first[3], step[3][3];
} way;

static int64_t middle(int64_t n)
{
    return n / 2;
}

/* By the geometries of both. */
static void find_way(const lmr_field *f, const larmor_grid *grid, const larmor_image_meta *image, way *w)
{
    const double *const to[3] = {f->place.read_dir, f->place.phase_dir, f->place.slice_dir};
    const double *const from[3] = {image->read_dir, image->phase_dir, image->slice_dir};
    for (int a = 0; a < 3; a++) {
        const double voxel = f->place.fov_mm[a] / (double)f->dim[a];
        w->first[a] = (double)middle(f->dim[a]);
        for (int d = 0; d < 3; d++) {
            w->first[a] += (image->position_mm[d] - f->place.position_mm[d]) * to[a][d] / voxel;
            w->step[a][d] = 0;
        }
        for (int d = 0; d < grid->ndim; d++) {
            w->step[a][d] = dot(from[d], to[a]) * grid->fov_mm[d] / (double)grid->matrix[d] / voxel;
            w->first[a] -= w->step[a][d] * (double)middle(grid->matrix[d]);
        }
    }
}

/* The map covers the image's field of view; slices of 2D images are counted. */
static larmor_status assume_way(const lmr_field *f, const larmor_grid *grid, int slice, int slices, way *w)
{
    *w = (way){.first = {0}};
    if (grid->ndim == 2 && f->dim[2] != 1 && f->dim[2] != slices)
        return LMR_FAIL(LARMOR_ERR_SHAPE,
                        "opts.b0 %s: %lldx%lldx%lld voxels, expected 1 or %d slices, as the scan has.", f->name,
                        (long long)f->dim[0], (long long)f->dim[1], (long long)f->dim[2], slices);
    if (grid->ndim == 3 && f->dim[2] == 1)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "opts.b0 %s: %lldx%lld voxels, expected a volume, as the scan is.", f->name,
                        (long long)f->dim[0], (long long)f->dim[1]);
    for (int d = 0; d < grid->ndim; d++) {
        w->step[d][d] = (double)f->dim[d] / (double)grid->crop[d];
        w->first[d] = (double)middle(f->dim[d]) - w->step[d][d] * (double)middle(grid->matrix[d]);
    }
    if (grid->ndim == 2) w->first[2] = f->dim[2] > 1 ? slice : 0;
    return LARMOR_OK;
}

/* Linear between voxels, constant beyond them. *outside: 1 if that is more than half a voxel. */
static double value_at(const lmr_field *f, const double at[3], int *outside)
{
    int64_t low[3], high[3];
    double part[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        const double last = (double)(f->dim[a] - 1);
        if (f->dim[a] > 1) *outside |= at[a] < -1 || at[a] > last + 1;
        const double inside = fmin(fmax(at[a], 0), last);
        low[a] = (int64_t)inside;
        high[a] = low[a] + 1 < f->dim[a] ? low[a] + 1 : low[a];
        part[a] = inside - (double)low[a];
    }
    for (int c = 0; c < 8; c++) {
        double weight = 1;
        int64_t i[3];
        for (int a = 0; a < 3; a++) {
            const int upper = c >> a & 1;
            i[a] = upper ? high[a] : low[a];
            weight *= upper ? part[a] : 1 - part[a];
        }
        if (weight > 0) sum += weight * f->hz[i[0] + f->dim[0] * (i[1] + f->dim[1] * i[2])];
    }
    return sum;
}

/* The number of the group's slice among those of its encoding, and how many there are. */
static larmor_status count_slices(const lmr_job *job, const larmor_group *group, int *slices)
{
    *slices = 1;
    for (int i = 0; i < job->facts->info.groups; i++) {
        larmor_group other;
        LMR_TRY(lmr_source_group(job->facts->source, i, &other));
        if (other.encoding == group->encoding && other.slice >= *slices) *slices = other.slice + 1;
    }
    return LARMOR_OK;
}

static larmor_status map_on_grid(const lmr_job *job, int index, double **hz)
{
    lmr_field *f = job->facts->field;
    const larmor_grid *grid = &job->facts->grid[index];
    const int64_t count = larmor_shape_count(lmr_grid_shape(grid));
    larmor_group group;
    larmor_image_meta image;
    way w;
    int slices;
    int64_t outside = 0;
    *hz = NULL;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(lmr_source_meta(job->facts->source, index, &image));
    LMR_TRY(count_slices(job, &group, &slices));
    if (f->placed && is_oriented(&image))
        find_way(f, grid, &image, &w);
    else
        LMR_TRY(assume_way(f, grid, group.slice, slices, &w));
    *hz = malloc((size_t)count * sizeof **hz);
    if (!*hz) return LMR_NO_MEMORY();
    const int64_t *n = grid->matrix;
    for (int64_t i = 0; i < count; i++) {
        const int64_t place[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double at[3];
        int beyond = 0, in_image = 1;
        for (int a = 0; a < 3; a++) {
            at[a] = w.first[a];
            for (int d = 0; d < grid->ndim; d++) at[a] += w.step[a][d] * (double)place[d];
        }
        for (int d = 0; d < grid->ndim; d++) {
            const int64_t from_middle = place[d] - middle(n[d]) + middle(grid->crop[d]);
            in_image &= from_middle >= 0 && from_middle < grid->crop[d];
        }
        (*hz)[i] = value_at(f, at, &beyond);
        outside += beyond && in_image;
    }
    const double part = (double)outside / (double)larmor_shape_count(larmor_shape_of(grid->ndim, grid->crop));
    if (part > MAX_UNCOVERED_PART && !f->has_warned) {
        f->has_warned = 1;
        lmr_warn(job->events,
                 "opts.b0 %s: %.0f %% of the image are beyond the map, where it is continued as at its edge", f->name,
                 100 * part);
    }
    return LARMOR_OK;
}

/* ---- times ---- */

/* times <- times - that of the sample nearest to k = 0: there the image has its phase, whatever its echo time. */
static larmor_status begin_at_centre(const larmor_array *traj, int64_t count, double *times)
{
    double *k, least = INFINITY, zero = 0;
    const int64_t nd = larmor_array_shape(traj).dim[0];
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < count; i++) {
        double square = 0;
        for (int64_t d = 0; d < nd; d++) square += k[nd * i + d] * k[nd * i + d];
        if (square < least * (1 - 1e-9)) {
            least = square;
            zero = times[i];
        }
    }
    for (int64_t i = 0; i < count; i++) times[i] -= zero;
    free(k);
    return LARMOR_OK;
}

/* As the source has them, one group after the other; *times NULL after errors. */
static larmor_status stored_times(const lmr_job *job, const int *index, int count, larmor_shape *shape,
                                  double **times)
{
    int64_t total = 0, readouts = 0, samples = 0;
    int regular = 1;
    larmor_status st = LARMOR_OK;
    *times = NULL;
    for (int i = 0; i < count && !st; i++) {
        larmor_array *stored;
        double *own = NULL, *all = NULL;
        st = lmr_source_times(job->facts->source, index[i], NULL, 0, &job->facts->grid[index[i]], job->facts->dev,
                              &stored);
        if (st) break;
        const larmor_shape one = larmor_array_shape(stored);
        const int64_t more = larmor_shape_count(one);
        st = larmor_array_download(stored, LARMOR_F64, &own);
        larmor_array_free(stored);
        if (!st) all = realloc(*times, (size_t)(total + more + 1) * sizeof *all);
        if (!st && !all) st = LMR_NO_MEMORY();
        if (all) {
            memcpy(all + total, own, (size_t)more * sizeof *all);
            *times = all;
        }
        free(own);
        if (!i) samples = one.dim[0];
        regular &= one.dim[0] == samples;
        total += more;
        readouts += one.ndim > 1 ? one.dim[1] : 1;
    }
    *shape = regular ? LARMOR_SHAPE(samples, readouts) : LARMOR_SHAPE(total, 1);
    if (st) {
        free(*times);
        *times = NULL;
    }
    return st;
}

static larmor_status times_of(const lmr_job *job, const int *index, int groups, const larmor_array *traj,
                              larmor_shape *shape, double **times)
{
    const lmr_field *f = job->facts->field;
    larmor_status st = LARMOR_OK;
    LMR_TRY(stored_times(job, index, groups, shape, times));
    const int64_t count = larmor_shape_count(*shape);
    if (traj && count * larmor_array_shape(traj).dim[0] != larmor_array_count(traj))
        st = LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %lld times of %lld samples", lmr_source_name(job->facts->source),
                      (long long)count, (long long)(larmor_array_count(traj) / larmor_array_shape(traj).dim[0]));
    for (int64_t i = 0; i < count && !st && f->has_start; i++) (*times)[i] += f->start_s;
    if (!st && traj && !f->has_start) st = begin_at_centre(traj, count, *times);
    return st;
}

/* ---- segments ---- */

static void report(const lmr_job *job, uint64_t key, larmor_segments *segments)
{
    larmor_segments_info info;
    if (job->facts->field->said == key || larmor_segments_describe(segments, &info)) return;
    job->facts->field->said = key;
    lmr_log(job->events, "off-resonance: %.0f .. %.0f Hz, readouts from %.3g to %.3g ms: %d segment%s", info.low_hz,
            info.high_hz, 1e3 * info.first_s, 1e3 * info.last_s, info.segments, info.segments == 1 ? "" : "s");
}

static larmor_status make_segments(const lmr_job *job, int index, const double *hz, const double *times,
                                   larmor_shape samples, larmor_segments **segments)
{
    LMR_OWNED(larmor_array) *field = NULL, *when = NULL;
    const larmor_shape image = lmr_grid_shape(&job->facts->grid[index]);
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_F64, image, LARMOR_F64, hz, &field));
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_F64, samples, LARMOR_F64, times, &when));
    return larmor_segments_create(field, when, &job->facts->field->opts, segments);
}

larmor_status lmr_find_segments(const lmr_job *job, const int *index, int count, const larmor_array *traj,
                                larmor_segments **segments)
{
    lmr_field *f = job->facts->field;
    double *hz = NULL, *times = NULL;
    larmor_shape samples;
    larmor_status st;
    *segments = NULL;
    if (!f) return LARMOR_OK;
    LMR_OR(done, map_on_grid(job, index[0], &hz));
    LMR_OR(done, times_of(job, index, count, traj, &samples, &times));
    uint64_t key =
        lmr_hash(0, hz, sizeof *hz * (size_t)larmor_shape_count(lmr_grid_shape(&job->facts->grid[index[0]])));
    key = lmr_hash(key, times, sizeof *times * (size_t)larmor_shape_count(samples));
    key = lmr_hash(key, samples.dim, sizeof *samples.dim * (size_t)samples.ndim);
    for (int i = 0; i < REMEMBERED && !*segments; i++)
        if (f->known[i].segments && f->known[i].key == key) *segments = larmor_segments_ref(f->known[i].segments);
    if (!*segments) {
        LMR_OR(done, make_segments(job, index[0], hz, times, samples, segments));
        larmor_segments_free(f->known[f->next].segments);
        f->known[f->next].segments = larmor_segments_ref(*segments);
        f->known[f->next].key = key;
        f->next = (f->next + 1) % REMEMBERED;
    }
    st = LARMOR_OK;
    if (traj) report(job, key, *segments);
done:
    free(times);
    free(hz);
    return st;
}
