/* Samples that see more than the Fourier transform: concomitant fields, and phases that a field camera would measure,
 * beside off-resonance. The object's coil images, as fine as twice the image's matrix, go through the model's own sum
 * of products; tests compare that sum with its definition. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

enum { FINER = 2, MOST_TERMS = 32 };
#define MODEL_ERROR 1e-5
#define NUFFT_ERROR 1e-6

typedef struct list {
    int count;
    larmor_model_term term[MOST_TERMS];
} list;

static void free_list(list *l)
{
    for (int i = 0; i < l->count; i++) LMR_FREE(l->term[i].space, l->term[i].time);
}

LMR_OWNS(larmor_segments, larmor_segments_free)

/* Coil images [fine..., coils] whose Fourier series up to the fine matrix is exact. */
static larmor_status fine_images(const larmor_simulation *s, const larmor_phantom *object, larmor_shape fine,
                                 int profiles, larmor_array **images)
{
    const int nd = fine.ndim;
    const int64_t count = larmor_shape_count(fine);
    const int64_t coils = profiles ? profiles : 1;
    const larmor_shape all = larmor_shape_append(fine, coils);
    LMR_HEAP double *k = lmr_new(nd * count, sizeof *k);
    LMR_OWNED(larmor_array) *traj = NULL, *line = NULL, *spectrum = NULL, *made = NULL;
    LMR_OWNED(larmor_op) *F = NULL;
    if (!k) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++)
        for (int64_t d = 0, rest = i; d < nd; rest /= fine.dim[d++])
            k[nd * i + d] = (double)(rest % fine.dim[d] - fine.dim[d] / 2);
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(nd, count, 1), LARMOR_F64, k, &traj));
    LMR_TRY(larmor_phantom_kspace(object, traj, profiles, LARMOR_C64, &line));
    LMR_TRY(larmor_array_reshape(line, all, &spectrum));
    LMR_TRY(larmor_op_fft(s->dev, LARMOR_C64, all, (1u << nd) - 1, &(larmor_fft_opts){.centred = 1}, &F));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, all, &made));
    LMR_TRY(larmor_op_adjoint(F, spectrum, made));
    LMR_TRY(larmor_axpby(1 / (double)count, made, 0, made));
    return LMR_HAND_ON(*images, made);
}

/* [3, fine...] in m from the isocentre, along the patient's axes, of what is at the voxels in the pose of zeros. */
static larmor_status positions(const larmor_simulation *s, larmor_shape fine, const double *pose,
                               larmor_array **position)
{
    double turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3] = {0, 0, 0};
    const larmor_image_meta image = lmr_simulation_meta(s, 0, 0);
    const double *const along[3] = {image.read_dir, image.phase_dir, image.slice_dir};
    const int64_t count = larmor_shape_count(fine);
    LMR_HEAP LMR_NEW(double, r, 3 * count);
    if (pose) LMR_TRY(larmor_pose_map(pose, fine.ndim, s->encoding.recon_fov_mm, turn, shift));
    for (int64_t i = 0; i < count; i++) {
        double u[3] = {0, 0, 0};
        for (int64_t d = 0, rest = i; d < fine.ndim; rest /= fine.dim[d++])
            u[d] = (double)(rest % fine.dim[d] - fine.dim[d] / 2) / (double)fine.dim[d];
        for (int a = 0; a < 3; a++) {
            double mm = image.position_mm[a];
            for (int d = 0; d < fine.ndim; d++)
                mm += along[d][a] * s->encoding.recon_fov_mm[d] *
                      (shift[d] + turn[3 * d] * u[0] + turn[3 * d + 1] * u[1] + turn[3 * d + 2] * u[2]);
            r[3 * i + a] = 1e-3 * mm;
        }
    }
    larmor_shape shape = {.ndim = fine.ndim + 1, .dim = {3}};
    for (int d = 0; d < fine.ndim; d++) shape.dim[d + 1] = fine.dim[d];
    return larmor_array_upload(s->dev, LARMOR_F64, shape, LARMOR_F64, r, position);
}

static larmor_status scaled(const larmor_array *x, double factor, larmor_array **y)
{
    LMR_OWN_MEMORY(double, value, larmor_array_download(x, LARMOR_F64, &value));
    for (int64_t i = 0; i < larmor_array_count(x); i++) value[i] *= factor;
    return larmor_array_upload(larmor_array_device(x), LARMOR_F64, larmor_array_shape(x), LARMOR_F64, value, y);
}

/* Column l of h [fine..., many] with the negative of column l of phase [samples..., many] */
static larmor_status add_column(list *l, const larmor_array *h, const larmor_array *phase, int64_t column)
{
    LMR_OWNED(larmor_array) *time = NULL, *negative = NULL, *space = NULL;
    LMR_TRY(lmr_one_of(h, column, &space));
    LMR_TRY(lmr_one_of(phase, column, &time));
    LMR_TRY(scaled(time, -1, &negative));
    l->term[l->count++] = (larmor_model_term){space, negative, 0};
    space = negative = NULL;
    return LARMOR_OK;
}

static larmor_status add_concomitant(const larmor_simulation *s, const larmor_array *traj,
                                     const larmor_array *position, list *l)
{
    const larmor_image_meta image = lmr_simulation_meta(s, 0, 0);
    const double *const along[3] = {image.read_dir, image.phase_dir, image.slice_dir};
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t count = shape.dim[1] * shape.dim[2], nd = shape.dim[0];
    LMR_HEAP LMR_NEW(double, turned, 3 * count);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t j = 0; j < count; j++)
        for (int a = 0; a < 3; a++) {
            turned[3 * j + a] = 0;
            for (int64_t d = 0; d < nd; d++)
                turned[3 * j + a] += along[d][a] * k[nd * j + d] / (1e-3 * s->encoding.recon_fov_mm[d]);
        }
    LMR_OWN(larmor_array, in_m,
            larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(3, shape.dim[1], shape.dim[2]), LARMOR_F64, turned,
                                &in_m));
    LMR_OWN(larmor_array, phase, larmor_concomitant_phase(in_m, 1e-6 * s->o.dwell_us, s->o.tesla, 0, &phase));
    LMR_OWN(larmor_array, h, larmor_concomitant_places(position, &h));
    for (int64_t c = 0; c < LARMOR_CONCOMITANT_PLACES; c++) LMR_TRY(add_column(l, h, phase, c));
    return LARMOR_OK;
}

/* readout: which of the scan's those of the trajectory are; NULL: all. */
static larmor_status add_camera(const larmor_simulation *s, const larmor_array *traj, const int64_t *readout,
                                const larmor_array *position, list *l)
{
    const larmor_shape have = larmor_array_shape(s->o.phase_terms), need = larmor_array_shape(traj);
    const int64_t count = need.dim[1] * need.dim[2];
    const int64_t terms = have.ndim == 3 ? have.dim[2] : 0;
    LMR_REFUSE((terms != 9 && terms != LARMOR_HARMONICS) || have.dim[0] != need.dim[1] ||
                   (have.dim[1] != 1 && have.dim[1] != (readout ? s->info.readouts : need.dim[2])),
               LARMOR_ERR_SHAPE,
               "simulation: phase_terms are %s, expected [%lld, %lld or 1, 9 or 16] as the scan has samples and "
               "readouts",
               lmr_describe(s->o.phase_terms).s, (long long)need.dim[1], (long long)need.dim[2]);
    LMR_HEAP LMR_NEW(double, full, count *terms);
    LMR_OWN_MEMORY(double, given, larmor_array_download(s->o.phase_terms, LARMOR_F64, &given));
    const int64_t own = have.dim[0] * have.dim[1];
    for (int64_t c = 0; c < terms; c++)
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = readout ? j % have.dim[0] + have.dim[0] * readout[j / have.dim[0]] : j;
            full[j + count * c] = given[at % own + own * c];
        }
    LMR_OWN(larmor_array, phase,
            larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(need.dim[1], need.dim[2], terms), LARMOR_F64, full,
                                &phase));
    LMR_OWN(larmor_array, h, larmor_solid_harmonics(position, terms == 9 ? 2 : 3, &h));
    for (int64_t c = 0; c < terms; c++)
        if (c < 1 || c > 3) LMR_TRY(add_column(l, h, phase, c)); /* the linear ones are the trajectory's */
    return LARMOR_OK;
}

static larmor_status add_field(const larmor_simulation *s, const larmor_array *traj, larmor_shape fine,
                               const double *seconds, list *l)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t samples = shape.dim[1], count = samples * shape.dim[2];
    LMR_HEAP double *time = lmr_new(count, sizeof *time);
    if (!s->o.field) return LARMOR_OK;
    if (!time) return LMR_NO_MEMORY();
    LMR_OWN(larmor_array, hz, larmor_phantom_field_map(&s->field, s->dev, LARMOR_F64, fine, &hz));
    LMR_OWN(larmor_array, space, scaled(hz, 2 * M_PI, &space));
    for (int64_t j = 0; j < count; j++) time[j] = seconds[j % samples];
    larmor_model_term *term = &l->term[l->count];
    larmor_array *when;
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(samples, shape.dim[2]), LARMOR_F64, time, &when));
    *term = (larmor_model_term){space, when, 0};
    space = NULL;
    l->count++;
    return LARMOR_OK;
}

/* The displacement that was given, of motion that of a repetition; or NULL. */
static larmor_status given_of(const larmor_simulation *s, int repetition, larmor_array **mine)
{
    *mine = larmor_array_ref(s->o.displacement);
    if (!s->o.motion_fields) return LARMOR_OK;
    const larmor_shape have = larmor_array_shape(s->o.motion_fields);
    LMR_REFUSE(have.ndim < 2 || have.dim[have.ndim - 1] != s->info.repetitions, LARMOR_ERR_SHAPE,
               "simulation: motion_fields are %s, expected [matrix..., axes, %lld]",
               lmr_describe(s->o.motion_fields).s, (long long)s->info.repetitions);
    return lmr_one_of(s->o.motion_fields, repetition, mine);
}

/* Of the fine voxels, where samples see them; NULL: where they are. */
static larmor_status displacement_of(const larmor_simulation *s, int repetition, larmor_shape fine, larmor_array **d)
{
    const larmor_image_meta image = lmr_simulation_meta(s, 0, 0);
    const int nd = fine.ndim;
    const int64_t voxels = larmor_shape_count(fine);
    if (s->o.gradient_field) return larmor_gradient_displacement(s->o.gradient_field, &image, fine, d);
    LMR_OWN(larmor_array, mine, given_of(s, repetition, &mine));
    if (!mine) return LARMOR_OK;
    const larmor_shape have = larmor_array_shape(mine);
    int fits = have.ndim == nd + 1 && have.dim[nd] >= nd && have.dim[nd] <= 3;
    for (int a = 0; a < nd && fits; a++) fits = have.dim[a] == s->info.matrix[a];
    LMR_REFUSE(!fits, LARMOR_ERR_SHAPE, "simulation: the displacement is %s, expected [matrix..., %d]",
               lmr_describe(mine).s, nd);
    LMR_OWN(larmor_array, complex, larmor_array_convert(mine, LARMOR_C128, &complex));
    LMR_OWN(larmor_array, made, larmor_resize(complex, fine, &made));
    LMR_OWN_MEMORY(double, mm, larmor_array_download(made, LARMOR_C128, &mm));
    for (int64_t i = 0; i < voxels * nd; i++) /* in place: a number lies at or before where its real part was */
        mm[i] = mm[2 * i] * (double)fine.dim[i / voxels] / image.fov_mm[i / voxels];
    return larmor_array_upload(s->dev, LARMOR_F64, larmor_shape_append(fine, nd), LARMOR_F64, mm, d);
}

/* Coils stay where they are while the object is displaced, or in a pose. */
static larmor_status moved_images(const larmor_simulation *s, const larmor_phantom *object, larmor_shape fine,
                                  const larmor_array *d, const double *pose, larmor_array **images)
{
    LMR_OWNED(larmor_array) *one = NULL, *flat = NULL, *maps = NULL, *there = NULL;
    if (!s->o.coils) return fine_images(s, object, fine, 0, images);
    LMR_TRY(fine_images(s, object, fine, 0, &one));
    LMR_TRY(larmor_array_reshape(one, fine, &flat));
    LMR_TRY(larmor_phantom_coils_around(object, s->dev, LARMOR_C64, fine, NULL, s->o.coils, &maps));
    LMR_TRY(pose ? larmor_maps_move(maps, pose, s->encoding.recon_fov_mm, &there)
                 : larmor_warp(maps, d, &(larmor_warp_opts){.by = LARMOR_WARP_CUBIC}, &there));
    LMR_OWN(larmor_op, S, larmor_op_coils(there, &S));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, larmor_op_out_shape(S), images));
    return larmor_op_forward(S, flat, *images);
}

static larmor_status transform_of(const larmor_simulation *s, const larmor_array *traj, larmor_shape fine,
                                  const larmor_array *d, larmor_op **F)
{
    larmor_nufft_opts nufft = {.ndim = fine.ndim, .batch = s->info.coils, .tol = NUFFT_ERROR, .dtype = LARMOR_C64};
    for (int a = 0; a < fine.ndim; a++) nufft.modes[a] = fine.dim[a];
    if (d) return larmor_op_nufft_displaced(s->dev, &nufft, traj, d, F);
    return larmor_op_nufft(s->dev, &nufft, traj, F);
}

larmor_status lmr_simulation_seen(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                                  int repetition, const double *seconds, const lmr_seen_state *state,
                                  larmor_array **kspace)
{
    const int nd = s->info.ndim;
    const larmor_shape shape = larmor_array_shape(traj);
    const double *pose = state ? state->pose : NULL;
    larmor_shape fine = {.ndim = nd};
    LMR_FREED_BY(free_list) list terms = {.count = 0};
    LMR_OWNED(larmor_array) *images = NULL, *position = NULL, *made = NULL, *d = NULL;
    LMR_OWNED(larmor_op) *F = NULL, *A = NULL;
    LMR_OWNED(larmor_segments) *sum = NULL;
    for (int a = 0; a < nd; a++) fine.dim[a] = FINER * s->info.matrix[a];
    LMR_TRY(positions(s, fine, pose, &position));
    LMR_TRY(add_field(s, traj, fine, seconds, &terms));
    if (s->o.concomitant) LMR_TRY(add_concomitant(s, traj, position, &terms));
    if (s->o.phase_terms) LMR_TRY(add_camera(s, traj, state ? state->readout : NULL, position, &terms));
    LMR_TRY(displacement_of(s, repetition, fine, &d));
    LMR_TRY(transform_of(s, state ? state->traj : traj, fine, d, &F));
    if (terms.count)
        LMR_TRY(larmor_segments_of_terms(terms.term, terms.count, &(larmor_off_resonance_opts){.error = MODEL_ERROR},
                                         &sum));
    LMR_TRY(pose || s->o.motion_fields ? moved_images(s, object, fine, d, pose, &images)
                                       : fine_images(s, object, fine, s->o.coils, &images));
    if (terms.count)
        LMR_TRY(larmor_op_segments(F, sum, &A));
    else
        A = larmor_op_ref(F);
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(shape.dim[1], shape.dim[2], s->info.coils), &made));
    LMR_TRY(larmor_op_forward(A, images, made));
    return LMR_HAND_ON(*kspace, made);
}
