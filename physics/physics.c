/* The sum of products for all that samples see beside the Fourier transform. SPDX-License-Identifier: Apache-2.0 */
#include "physics/physics.h"

#include "core/core.h"
#include "physics/multiband_phases.h"
#include "physics/terms.h"

#define BANDS_ERROR 1e-6 /* of phases of slices, whose sum has as many products as slices at most */

static larmor_status (*const kinds[])(const lmr_scene *scene, lmr_term_list *list) = {
    lmr_add_off_resonance, lmr_add_decay, lmr_add_camera, lmr_add_concomitant, lmr_add_bands};

void lmr_physics_free(lmr_physics *p)
{
    if (!p) return;
    for (int i = 0; i < LMR_KEPT_SUMS; i++) larmor_segments_free(p->known[i].segments);
    LMR_FREE(p->b0.value, p->t2star.value, p->phase);
    lmr_displaced_free(p);
    free(p);
}

static larmor_status begin(const larmor_recon_opts *o, lmr_scan_facts *facts)
{
    lmr_physics *p = facts->physics;
    if (p) return LARMOR_OK;
    LMR_ALLOCATE_ZEROS(p, 1);
    facts->physics = p;
    p->b0_factor = p->camera_factor = 1;
    p->opts = (larmor_off_resonance_opts){.segments = o->segments, .error = o->b0_error};
    p->has_start = o->readout_start_ms || facts->info.has_readout_start;
    p->start_s = 1e-3 * (o->readout_start_ms ? *o->readout_start_ms : facts->info.readout_start_ms);
    p->tesla = o->field_tesla > 0 ? o->field_tesla : facts->info.field_tesla;
    return LARMOR_OK;
}

larmor_status lmr_physics_open(const larmor_recon_opts *o, lmr_scan_facts *facts)
{
    const int concomitant = o->concomitant == LARMOR_CONCOMITANT_ON;
    const int displaced = o->gradient_field || o->displacement || o->motion_fields;
    const int camera = o->phase_terms || facts->info.phase_terms;
    if (!o->b0 && !o->t2star && !camera && !concomitant && !displaced) return LARMOR_OK;
    LMR_TRY(begin(o, facts));
    lmr_physics *p = facts->physics;
    LMR_REFUSE(concomitant && !(p->tesla > 0), LARMOR_ERR_UNSUPPORTED,
               "opts.concomitant: the scan does not say the magnet's field strength; give opts.field_tesla.");
    p->concomitant = concomitant;
    LMR_TRY(lmr_map_open(o->b0, "b0", o->b0_name, o->b0_place, &p->b0));
    LMR_TRY(lmr_map_open(o->t2star, "t2star", o->t2star_name, o->t2star_place, &p->t2star));
    LMR_TRY(lmr_displaced_open(o, facts, p));
    return lmr_camera_open(o, &facts->info, p);
}

/* Phases of slices that kz does not have. They are jumps, which maps from the samples do not follow. */
larmor_status lmr_physics_decide(const lmr_job *job, lmr_scan_facts *facts)
{
    const larmor_recon_opts *o = &job->settings->opts;
    int bands = 0;
    for (int i = 0; i < facts->info.groups; i++) bands |= facts->grid[i].apart[2] & LMR_APART_BY_PHASES;
    if (!bands) return LARMOR_OK;
    LMR_REFUSE(!o->maps && !facts->info.calibration && facts->info.coils > 1, LARMOR_ERR_UNSUPPORTED,
               "multiband: phases that grow unevenly from slice to slice need coil maps, which samples with "
               "them do not give; give maps by opts.maps, or scans of each slice alone.");
    LMR_TRY(begin(o, facts));
    facts->physics->bands = 1;
    if (!(facts->physics->opts.error > 0)) facts->physics->opts.error = BANDS_ERROR;
    return LARMOR_OK;
}

static int has_terms(const lmr_physics *p)
{
    return p->b0.value || p->t2star.value || p->terms || p->concomitant || p->bands;
}

larmor_status lmr_physics_set_concomitant(const larmor_recon_opts *o, lmr_scan_facts *facts, int on)
{
    if (!facts->physics && !on) return LARMOR_OK;
    LMR_TRY(begin(o, facts));
    lmr_physics *p = facts->physics;
    p->concomitant = on;
    if (has_terms(p) || p->gradient_field || p->moves || p->motion) return LARMOR_OK;
    lmr_physics_free(p); /* what it is NULL for is quicker */
    facts->physics = NULL;
    return LARMOR_OK;
}

larmor_status lmr_physics_follow(const lmr_scan_facts *decided, const larmor_recon_opts *opts, lmr_scan_facts *facts)
{
    const lmr_physics *p = decided->physics;
    if (!p || (!p->concomitant && !p->bands)) return LARMOR_OK;
    LMR_TRY(begin(opts, facts));
    facts->physics->concomitant = p->concomitant;
    facts->physics->bands = p->bands;
    facts->physics->opts = p->opts;
    return LARMOR_OK;
}

/* ---- sums ---- */

static void report(const lmr_job *job, uint64_t key, larmor_segments *segments, const lmr_term_list *list)
{
    lmr_physics *p = job->facts->physics;
    larmor_segments_info info;
    if (p->reported == key || larmor_segments_describe(segments, &info)) return;
    p->reported = key;
    if (list)
        lmr_log(job->events, "model: %d term%s beside the Fourier transform, %d product%s, error %.1e", list->count,
                list->count == 1 ? "" : "s", info.segments, info.segments == 1 ? "" : "s", info.error);
    else
        lmr_log(job->events, "off-resonance: %.0f .. %.0f Hz, readouts from %.3g to %.3g ms: %d segment%s",
                info.low_hz, info.high_hz, 1e3 * info.first_s, 1e3 * info.last_s, info.segments,
                info.segments == 1 ? "" : "s");
}

static larmor_status upload(const lmr_job *job, larmor_shape shape, const double *value, larmor_array **x)
{
    return larmor_array_upload(job->facts->dev, LARMOR_F64, shape, LARMOR_F64, value, x);
}

/* A field alone has its own way, whose normal map is a sum of Toeplitz operators. */
static int is_field_alone(const lmr_physics *p)
{
    return p->b0.value && !p->t2star.value && !p->terms && !p->concomitant && !p->bands;
}

/* Phases of slices need no times. */
static int needs_times(const lmr_physics *p)
{
    return p->b0.value || p->t2star.value || p->terms || p->concomitant;
}

static larmor_status make_sum(const lmr_scene *scene, const lmr_term_list *list, larmor_segments **segments)
{
    const lmr_job *job = scene->job;
    const lmr_physics *p = job->facts->physics;
    const larmor_shape image = lmr_grid_shape(scene->grid);
    larmor_array *space[32] = {NULL}, *time[32] = {NULL};
    larmor_model_term terms[32];
    larmor_status st = LARMOR_OK;
    for (int l = 0; l < list->count && !st; l++) {
        st = upload(job, image, is_field_alone(p) ? scene->hz : list->term[l].space, &space[l]);
        if (!st) st = upload(job, scene->samples, list->term[l].time, &time[l]);
        terms[l] = (larmor_model_term){space[l], time[l], list->term[l].is_decay};
    }
    if (!st && is_field_alone(p))
        st = larmor_segments_create(space[0], time[0], &p->opts, segments);
    else if (!st)
        st = larmor_segments_of_terms(terms, list->count, &p->opts, segments);
    for (int l = 0; l < list->count; l++) LMR_FREE(space[l], time[l]);
    return st;
}

static uint64_t key_of(const lmr_scene *scene, const lmr_term_list *list)
{
    uint64_t key = lmr_hash(0, scene->samples.dim, sizeof *scene->samples.dim * (size_t)scene->samples.ndim);
    for (int l = 0; l < list->count; l++) {
        key = lmr_hash(key, list->term[l].space, sizeof(double) * (size_t)scene->voxels);
        key = lmr_hash(key, list->term[l].time, sizeof(double) * (size_t)scene->count);
    }
    return key;
}

/* Known sums are found again by the terms themselves. */
static larmor_status find_sum(lmr_physics *p, const lmr_scene *scene, const lmr_term_list *list, uint64_t key,
                              larmor_segments **segments)
{
    for (int i = 0; i < LMR_KEPT_SUMS && !*segments; i++)
        if (p->known[i].segments && p->known[i].key == key) *segments = larmor_segments_ref(p->known[i].segments);
    if (*segments) return LARMOR_OK;
    LMR_TRY(make_sum(scene, list, segments));
    larmor_segments_free(p->known[p->next].segments);
    p->known[p->next].segments = larmor_segments_ref(*segments);
    p->known[p->next].key = key;
    p->next = (p->next + 1) % LMR_KEPT_SUMS;
    return LARMOR_OK;
}

/* A scene, and what it holds. */
typedef struct scene_data {
    lmr_scene scene;
    larmor_samples planned; /* of a plan: the first group's trajectory stands for that of all */
    double *times, *hz;
} scene_data;

static void close_scene(scene_data *d)
{
    larmor_samples_free(&d->planned);
    LMR_FREE(d->times, d->hz);
}

/* Of samples whose times do not matter. */
static larmor_status shape_of(const lmr_job *job, const int *index, const larmor_array *traj, larmor_shape *shape)
{
    larmor_group g;
    LMR_TRY(lmr_source_group(job->facts->source, index[0], &g));
    *shape = LARMOR_SHAPE(g.samples, g.readouts);
    if (traj) *shape = larmor_shape_of(2, larmor_array_shape(traj).dim + 1);
    return LARMOR_OK;
}

static larmor_status open_scene(const lmr_job *job, const int *index, int count, const larmor_array *traj,
                                scene_data *d)
{
    lmr_physics *p = job->facts->physics;
    lmr_scene *scene = &d->scene;
    *scene = (lmr_scene){.job = job, .index = index[0], .grid = &job->facts->grid[index[0]], .traj = traj};
    scene->voxels = larmor_shape_count(lmr_grid_shape(scene->grid));
    LMR_TRY(lmr_source_meta(job->facts->source, index[0], &scene->image));
    if (p->b0.value) { /* a map that does not fit is refused before times are asked for */
        LMR_ALLOCATE(d->hz, scene->voxels);
        LMR_TRY(lmr_map_on_grid(job, &p->b0, index[0], d->hz));
        for (int64_t i = 0; i < scene->voxels && p->b0_factor != 1; i++) d->hz[i] *= p->b0_factor;
        scene->hz = d->hz;
    }
    if (!traj && p->concomitant) {
        LMR_TRY(lmr_source_samples(job->facts->source, index[0], scene->grid, 0, job->facts->info.coils,
                                   job->facts->dev, &d->planned));
        scene->traj = d->planned.traj;
        count = 1;
    }
    LMR_TRY(needs_times(p) ? lmr_times_of(job, index, count, traj, &scene->samples, &d->times)
                           : shape_of(job, index, traj, &scene->samples));
    scene->times = d->times;
    scene->group = index;
    scene->groups = count;
    scene->count = larmor_shape_count(scene->samples);
    return LARMOR_OK;
}

static larmor_status add_kinds(const lmr_scene *scene, lmr_term_list *list)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) LMR_TRY(kinds[k](scene, list));
    return LARMOR_OK;
}

larmor_status lmr_find_segments(const lmr_job *job, const int *index, int count, const larmor_array *traj,
                                larmor_segments **segments)
{
    lmr_physics *p = job->facts->physics;
    LMR_FREED_BY(lmr_term_list_free) lmr_term_list list = {.count = 0};
    LMR_FREED_BY(close_scene) scene_data d = {.times = NULL};
    *segments = NULL;
    if (!p || !has_terms(p)) return LARMOR_OK;
    LMR_TRY(open_scene(job, index, count, traj, &d));
    LMR_TRY(add_kinds(&d.scene, &list));
    const uint64_t key = key_of(&d.scene, &list);
    LMR_TRY(find_sum(p, &d.scene, &list, key, segments));
    if (traj) report(job, key, *segments, is_field_alone(p) ? NULL : &list);
    return LARMOR_OK;
}

/* ---- an object that moves ---- */

int lmr_physics_has_camera(const lmr_job *job)
{
    return job->facts->physics && job->facts->physics->terms;
}

int lmr_physics_stays(const lmr_job *job)
{
    const lmr_physics *p = job->facts->physics;
    return p && (p->terms || p->concomitant);
}

const char *lmr_physics_moves_by(const lmr_job *job)
{
    const lmr_physics *p = job->facts->physics;
    const int moves = p->b0.value || p->t2star.value;
    if (!lmr_physics_stays(job)) return "off-resonance and decay are taken to move with the object";
    if (!moves) return "phases of a field camera and of concomitant fields stay where they are";
    return "off-resonance and decay are taken to move with the object, phases of a field camera and of concomitant "
           "fields to stay";
}

/* Of some readouts, in ascending order: in place. */
static void take_readouts(lmr_term_list *list, int64_t samples, const int64_t *readout, int64_t count)
{
    for (int l = 0; l < list->count; l++)
        for (int64_t j = 0; j < count; j++)
            memmove(list->term[l].time + samples * j, list->term[l].time + samples * readout[j],
                    (size_t)samples * sizeof(double));
}

static larmor_status sum_of_state(const scene_data *d, const double *pose, const int64_t *readout, int64_t count,
                                  larmor_segments **segments)
{
    LMR_FREED_BY(lmr_term_list_free) lmr_term_list list = {.count = 0};
    lmr_scene scene = d->scene;
    scene.pose = pose;
    LMR_TRY(add_kinds(&scene, &list));
    take_readouts(&list, scene.samples.dim[0], readout, count);
    scene.samples = LARMOR_SHAPE(scene.samples.dim[0], count);
    return make_sum(&scene, &list, segments);
}

larmor_status lmr_find_state_segments(const lmr_job *job, int index, const larmor_array *traj, larmor_segments *all,
                                      const larmor_motion_states *states, larmor_segments **segments)
{
    LMR_FREED_BY(close_scene) scene_data d = {.times = NULL};
    LMR_HEAP LMR_NEW(int64_t, readout, states->readouts);
    if (lmr_physics_stays(job)) LMR_TRY(open_scene(job, &index, 1, traj, &d));
    for (int m = 0; m < states->count; m++) {
        int64_t count = 0;
        for (int64_t j = 0; j < states->readouts; j++)
            if (states->state[j] == m) readout[count++] = j;
        if (lmr_physics_stays(job))
            LMR_TRY(sum_of_state(&d, states->pose + LARMOR_POSE * m, readout, count, &segments[m]));
        else
            LMR_TRY(larmor_segments_readouts(all, readout, count, &segments[m]));
    }
    return LARMOR_OK;
}
