/* The terms of off-resonance, decay and a field camera. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/terms.h"

#define SHORTEST_T2STAR_MS                                                                                           \
    0.1 /* shorter ones, and those that are not above 0, count as this: nothing is seen of them */

void lmr_term_list_free(lmr_term_list *list)
{
    for (int l = 0; l < list->count; l++) LMR_FREE(list->term[l].space, list->term[l].time);
    list->count = 0;
}

larmor_status lmr_term_add(const lmr_scene *scene, lmr_term_list *list, int is_decay, double **space, double **time)
{
    LMR_REFUSE(list->count == (int)(sizeof list->term / sizeof *list->term), LARMOR_ERR_UNSUPPORTED,
               "more than %d terms beside the Fourier transform", list->count);
    *space = calloc((size_t)scene->voxels, sizeof **space);
    *time = calloc((size_t)scene->count + 1, sizeof **time);
    list->term[list->count].space = *space;
    list->term[list->count].time = *time;
    list->term[list->count++].is_decay = is_decay;
    return *space && *time ? LARMOR_OK : LMR_NO_MEMORY();
}

larmor_status lmr_add_off_resonance(const lmr_scene *scene, lmr_term_list *list)
{
    double *space, *time;
    if (!scene->hz) return LARMOR_OK;
    LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
    for (int64_t i = 0; i < scene->voxels; i++) space[i] = 2 * M_PI * scene->hz[i];
    for (int64_t j = 0; j < scene->count; j++) time[j] = scene->times[j];
    return LARMOR_OK;
}

larmor_status lmr_add_decay(const lmr_scene *scene, lmr_term_list *list)
{
    lmr_physics *p = scene->job->facts->physics;
    double *space, *time;
    if (!p->t2star.value) return LARMOR_OK;
    LMR_TRY(lmr_term_add(scene, list, 1, &space, &time));
    LMR_TRY(lmr_map_on_grid(scene->job, &p->t2star, scene->index, space));
    for (int64_t i = 0; i < scene->voxels; i++) space[i] = 1e3 / fmax(space[i], SHORTEST_T2STAR_MS);
    for (int64_t j = 0; j < scene->count; j++) time[j] = scene->times[j];
    return LARMOR_OK;
}

/* ---- a field camera ---- */

static larmor_status open_rows(const larmor_recon_opts *opts, int rows, lmr_physics *physics)
{
    LMR_REFUSE(opts->phase_terms, LARMOR_ERR_ARG,
               "opts.phase_terms: the scan was opened with phases of its own; leave one of them out.");
    physics->terms = rows;
    return LARMOR_OK;
}

larmor_status lmr_camera_open(const larmor_recon_opts *opts, const larmor_raw_info *scan, lmr_physics *physics)
{
    const larmor_array *phase = opts->phase_terms;
    if (scan->phase_terms) return open_rows(opts, scan->phase_terms, physics);
    if (!phase) return LARMOR_OK;
    const larmor_shape s = larmor_array_shape(phase);
    const int64_t terms = s.ndim == 3 ? s.dim[2] : 0;
    LMR_REFUSE(terms != 9 && terms != 16, LARMOR_ERR_SHAPE,
               "opts.phase_terms: the array is %s, expected [samples, readouts, 9 or 16 solid harmonics].",
               lmr_describe(phase).s);
    LMR_REFUSE(lmr_is_complex(larmor_array_dtype(phase)), LARMOR_ERR_ARG,
               "opts.phase_terms: the array is complex; phases in rad expected.");
    physics->samples = s.dim[0];
    physics->readouts = s.dim[1];
    physics->terms = (int)terms;
    return larmor_array_download(phase, LARMOR_F64, &physics->phase);
}

/* Of x, y and z, which the trajectory has. */
static int is_linear(int l)
{
    return l >= 1 && l <= 3;
}

static larmor_status refuse_phases(const lmr_scene *scene, int64_t samples, int64_t readouts)
{
    const lmr_physics *p = scene->job->facts->physics;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "opts.phase_terms: %lld samples of %lld readouts, but image %d has %lld of %lld; give its, or "
                    "those of one readout for all.",
                    (long long)p->samples, (long long)p->readouts, scene->index + 1, (long long)samples,
                    (long long)readouts);
}

static double least_step(const double *time, int64_t count)
{
    double least = INFINITY;
    for (int64_t j = 1; j < count; j++)
        if (time[j] > time[j - 1]) least = fmin(least, time[j] - time[j - 1]);
    return least;
}

/* Samples of a readout are told by their times, of which a readout has none twice. */
static larmor_status find_rows(const lmr_scene *scene, const double *time, int64_t readouts, int64_t *row)
{
    const lmr_physics *p = scene->job->facts->physics;
    const double step = least_step(time, scene->count);
    int64_t readout = 0, most = 0;
    int even = isfinite(step);
    for (int64_t j = 0; j < scene->count && even; j++) {
        const double at = time[j] / step;
        if (j && time[j] <= time[j - 1]) readout++;
        even = fabs(at - nearbyint(at)) < 1e-3 && at > -0.5 && at < 1e9;
        const int64_t sample = even ? llround(at) : 0;
        most = sample >= most ? sample + 1 : most;
        row[j] = sample + (p->readouts > 1 ? p->samples * readout : 0);
    }
    LMR_REFUSE(!even || readout + 1 != readouts, LARMOR_ERR_UNSUPPORTED,
               "opts.phase_terms: the readouts of image %d differ in length, and the times of their samples "
               "do not tell which phases are theirs; give [%lld, 1, terms], of all samples in their order.",
               scene->index + 1, (long long)scene->count);
    const int is_other = readouts == 1 ? most != p->samples : most > p->samples;
    if (is_other || (p->readouts != 1 && p->readouts != readouts)) return refuse_phases(scene, most, readouts);
    return LARMOR_OK;
}

/* row[j] <- that of sample j among the phases [samples, readouts]. Where readouts differ in length, or samples are
 * left out, phases are those of all samples that a readout stores. */
static larmor_status rows_of_phases(const lmr_scene *scene, int64_t *row)
{
    const lmr_physics *p = scene->job->facts->physics;
    const int64_t own = p->samples * p->readouts;
    const int is_ragged = scene->samples.dim[0] == 1 || scene->samples.dim[1] == 1;
    const int fits =
        scene->samples.dim[0] == p->samples && (p->readouts == 1 || scene->samples.dim[1] == p->readouts);
    larmor_group group;
    for (int64_t j = 0; j < scene->count; j++) row[j] = j % own;
    if (fits || (is_ragged && p->readouts == 1 && own == scene->count)) return LARMOR_OK;
    if (!is_ragged) return refuse_phases(scene, scene->samples.dim[0], scene->samples.dim[1]);
    LMR_TRY(lmr_source_group(scene->job->facts->source, scene->index, &group));
    LMR_OWN(larmor_array, times,
            lmr_source_times(scene->job->facts->source, scene->index, NULL, 0, scene->grid, scene->job->facts->dev,
                             &times));
    if (larmor_array_count(times) != scene->count) return refuse_phases(scene, scene->count, 1);
    LMR_OWN_MEMORY(double, time, larmor_array_download(times, LARMOR_F64, &time));
    return find_rows(scene, time, group.readouts, row);
}

/* phase <- [samples, terms] of a file. */
static larmor_status phases_of_file(const lmr_scene *scene, double *phase)
{
    const lmr_physics *p = scene->job->facts->physics;
    const int64_t own = p->samples * p->readouts;
    LMR_HEAP LMR_NEW(int64_t, row, scene->count);
    LMR_TRY(rows_of_phases(scene, row));
    for (int l = 0; l < p->terms; l++)
        for (int64_t j = 0; j < scene->count; j++)
            phase[j + scene->count * l] = is_linear(l) ? 0 : p->phase[row[j] + own * l];
    return LARMOR_OK;
}

/* phase <- [samples, terms] of the scan, group after group. */
static larmor_status phases_of_scan(const lmr_scene *scene, double *phase)
{
    const lmr_scan_facts *facts = scene->job->facts;
    const int terms = facts->physics->terms;
    int64_t at = 0;
    for (int g = 0; g < scene->groups; g++) {
        LMR_OWN(larmor_array, array,
                lmr_source_phases(facts->source, scene->group[g], NULL, 0, &facts->grid[scene->group[g]], facts->dev,
                                  &array));
        const int64_t count = larmor_array_count(array) / terms;
        if (count * terms != larmor_array_count(array) || count > scene->count - at) break;
        LMR_OWN_MEMORY(double, own, larmor_array_download(array, LARMOR_F64, &own));
        for (int l = 0; l < terms; l++)
            memcpy(phase + at + scene->count * l, own + count * l, (size_t)count * sizeof *phase);
        at += count;
    }
    if (at == scene->count) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: phases of %lld samples, expected %lld", lmr_source_name(facts->source),
                    (long long)at, (long long)scene->count);
}

static int has_numbers(const double *x, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        if (x[j] != 0) return 1;
    return 0;
}

larmor_status lmr_add_camera(const lmr_scene *scene, lmr_term_list *list)
{
    const lmr_physics *p = scene->job->facts->physics;
    LMR_OWNED(larmor_array) *places = NULL, *harmonics = NULL;
    double *space, *time;
    if (!p->terms) return LARMOR_OK;
    LMR_HEAP LMR_NEW(double, phase, scene->count * p->terms);
    LMR_TRY(p->phase ? phases_of_file(scene, phase) : phases_of_scan(scene, phase));
    LMR_REFUSE(scene->image.place_unknown, LARMOR_ERR_UNSUPPORTED,
               "opts.phase_terms: the scan does not say where the image lies, which the harmonics need.");
    LMR_OWN_MEMORY(double, position, lmr_positions_of(scene, &position));
    larmor_device *dev = scene->job->facts->dev;
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, scene->voxels), LARMOR_F64, position, &places));
    LMR_TRY(larmor_solid_harmonics(places, (int)lround(sqrt(p->terms)) - 1, &harmonics));
    LMR_OWN_MEMORY(double, h, larmor_array_download(harmonics, LARMOR_F64, &h));
    for (int l = 0; l < p->terms; l++) {
        const double *own = phase + scene->count * l;
        if (is_linear(l) && !has_numbers(own, scene->count)) continue;
        LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
        for (int64_t i = 0; i < scene->voxels; i++) space[i] = h[i + scene->voxels * l];
        for (int64_t j = 0; j < scene->count; j++) time[j] = -p->camera_factor * own[j];
    }
    return LARMOR_OK;
}
