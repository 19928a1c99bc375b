/* A simulated scan: its options, object and geometry. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/scan/simulation.h"

#include "core/core.h"

enum { EPI_NAVIGATORS = 3 }; /* before the lines of each shot, as scanners acquire them */

static const double fov_mm = 256, slice_mm = 5, slice_step_mm = 6;

/* ---- options ---- */

static larmor_status check_noise(const larmor_simulation_opts *o)
{
    LMR_REFUSE(!(o->noise >= 0 && o->noise <= 1e300) || !(o->snr >= 0 && o->snr <= 1e300), LARMOR_ERR_ARG,
               "simulation: got noise %g and snr %g, expected numbers >= 0", o->noise, o->snr);
    LMR_REFUSE(o->noise > 0 && o->snr > 0, LARMOR_ERR_ARG,
               "simulation: got noise %g and snr %g, expected one of them", o->noise, o->snr);
    LMR_REFUSE(o->noise_samples < 0 || o->noise_samples > 65535, LARMOR_ERR_ARG,
               "simulation: got a noise scan of %lld samples, expected up to 65535", (long long)o->noise_samples);
    LMR_REFUSE(o->noise_samples && !(o->noise > 0 || o->snr > 0), LARMOR_ERR_ARG,
               "simulation: got a noise scan of %lld samples, but there is no noise", (long long)o->noise_samples);
    LMR_REFUSE(!(o->dwell_us > 0 && o->dwell_us <= 1e9) || !(o->noise_dwell_us > 0 && o->noise_dwell_us <= 1e9),
               LARMOR_ERR_ARG, "simulation: got dwell times of %g and %g us, expected numbers above 0", o->dwell_us,
               o->noise_dwell_us);
    return LARMOR_OK;
}

static larmor_status check_coils(const larmor_simulation_opts *o)
{
    LMR_REFUSE(o->coils < 0 || o->coils > LMR_SIMULATION_COILS, LARMOR_ERR_ARG,
               "simulation: got %d coils, expected 0 to %d", o->coils, LMR_SIMULATION_COILS);
    int alive = !o->dead || !o->coils;
    for (int c = 0; !alive && c < o->coils; c++) alive = !o->dead[c];
    LMR_REFUSE(!alive, LARMOR_ERR_ARG, "simulation: all %d coils are dead, expected one with signal", o->coils);
    return LARMOR_OK;
}

static int is_cycle(const larmor_phantom_cycle *c)
{
    return c->rate >= 0 && c->rate <= 6000 && fabs(c->size) <= 1e4 && c->variation >= 0 && c->variation <= 0.3;
}

/* How the object changes: finite, and over repetitions. */
static larmor_status check_course(const larmor_simulation *s)
{
    const larmor_simulation_opts *o = &s->o;
    LMR_REFUSE(o->slices < 1 || o->slices > 65536 || o->repetitions < 1 || o->repetitions > 65536, LARMOR_ERR_ARG,
               "simulation: got %lld slices and %lld repetitions, expected 1 to 65536", (long long)o->slices,
               (long long)o->repetitions);
    LMR_REFUSE(o->slices * o->repetitions * LARMOR_MAX_ECHOES > INT32_MAX, LARMOR_ERR_ARG,
               "simulation: got %lld slices x %lld repetitions, expected fewer", (long long)o->slices,
               (long long)o->repetitions);
    LMR_REFUSE(!(o->breathing_period > 0 && o->breathing_period <= 1e9) || !(o->tr_ms >= 0 && o->tr_ms <= 1e9),
               LARMOR_ERR_ARG, "simulation: got %g repetitions of a breath and %g ms between readouts, expected more",
               o->breathing_period, o->tr_ms);
    LMR_REFUSE(lmr_simulation_moves(s) && o->repetitions < 2, LARMOR_ERR_ARG,
               "simulation: got one repetition of an object that changes, expected several");
    LMR_REFUSE(o->echoes < 0 || o->echoes > LARMOR_MAX_ECHOES || (o->echoes && !o->echo_ms), LARMOR_ERR_ARG,
               "simulation: got %d echoes, expected 0 to %d and their times", o->echoes, LARMOR_MAX_ECHOES);
    LMR_REFUSE(lmr_simulation_beats(s) && (o->field || o->phase || o->epi || o->slices > 1 || !(o->tr_ms > 0)),
               LARMOR_ERR_ARG,
               "simulation: got breath or heart, expected a tr_ms and one slice without field, phase and epi");
    LMR_REFUSE((int)o->waveforms < LARMOR_WAVEFORMS_NONE || o->waveforms > LARMOR_WAVEFORMS_SIGNALS ||
                   (o->waveforms && !(o->breath.rate > 0) && !(o->heart.rate > 0)),
               LARMOR_ERR_ARG, "simulation: got waveforms %d, expected 0 to 2, with breath or heart",
               (int)o->waveforms);
    LMR_REFUSE(!is_cycle(&o->breath) || !is_cycle(&o->heart) || !(o->heart.size < 1), LARMOR_ERR_ARG,
               "simulation: got %g breaths of size %g and %g beats of size %g a minute, expected rates up to "
               "6000, variations of 0 to 0.3, and beats below 1",
               o->breath.rate, o->breath.size, o->heart.rate, o->heart.size);
    LMR_REFUSE(!(o->tesla > 0 && o->tesla <= 100), LARMOR_ERR_ARG,
               "simulation: got a magnet of %g T, expected up to 100", o->tesla);
    LMR_REFUSE(lmr_simulation_sees_more(s) && (o->phase || o->epi || o->slices > 1 || lmr_simulation_beats(s)),
               LARMOR_ERR_ARG,
               "simulation: got concomitant fields, phase_terms or displaced voxels, "
               "expected one slice without phase, epi, breath and heart");
    LMR_REFUSE(o->phase_rows && !o->phase_terms, LARMOR_ERR_ARG,
               "simulation: got phase_rows, expected phase_terms with them");
    LMR_REFUSE(o->motion && (o->phase || o->epi || o->bands || lmr_simulation_beats(s) || o->gradient_field ||
                             o->displacement || o->motion_fields),
               LARMOR_ERR_ARG,
               "simulation: got motion, expected no phase, epi, breath, heart, bands and "
               "displaced voxels beside it");
    LMR_REFUSE(o->field && o->phase, LARMOR_ERR_ARG,
               "simulation: got a phase of the image and off-resonance, expected one of them");
    return LARMOR_OK;
}

static double or_default(double given, double otherwise)
{
    return given != 0 ? given : otherwise;
}

/* Slices that are excited together. */
static larmor_status check_bands(const larmor_simulation *s)
{
    const larmor_simulation_opts *o = &s->o;
    LMR_REFUSE(!o->bands && (o->band_mm != 0 || o->band_shifts), LARMOR_ERR_ARG,
               "simulation: got band_mm or band_shifts, expected bands with them");
    if (!o->bands) return LARMOR_OK;
    LMR_REFUSE(o->bands < 1 || o->bands > LARMOR_MOST_BANDS || !(o->band_mm > 0 && o->band_mm <= 1e4) ||
                   o->band_shifts < 1 || o->band_shifts > 1024,
               LARMOR_ERR_ARG,
               "simulation: got %d bands, %g mm apart, of %d shifts, expected 1 to %d, a length and 1 to 1024",
               o->bands, o->band_mm, o->band_shifts, LARMOR_MOST_BANDS);
    LMR_REFUSE(o->field || o->phase || o->epi || o->slices > 1 || lmr_simulation_sees_more(s) ||
                   lmr_simulation_beats(s),
               LARMOR_ERR_ARG,
               "simulation: got several bands, expected one slice without field, phase, epi, concomitant "
               "fields, phase_terms, breath and heart");
    return LARMOR_OK;
}

static void fill_defaults(larmor_simulation_opts *o)
{
    if (!o->trajectory) o->trajectory = "golden";
    if (!o->phantom) o->phantom = "shepp-logan";
    if (!o->traj.matrix[0]) o->traj.matrix[0] = 128;
    o->tesla = or_default(o->tesla, 3);
    o->object_size = or_default(o->object_size, 1);
    o->dwell_us = or_default(o->dwell_us, 4);
    o->noise_dwell_us = or_default(o->noise_dwell_us, 20);
    o->breathing_period = or_default(o->breathing_period, 8);
    o->traj.samples = lmr_epi_samples(o);
    if (!o->slices) o->slices = 1;
    if (!o->repetitions) o->repetitions = 1;
    if (o->bands) o->band_mm = or_default(o->band_mm, 40);
    if (o->bands && !o->band_shifts) o->band_shifts = o->bands;
}

/* What the options point at lives as long as the simulation. */
static void keep(larmor_simulation *s)
{
    larmor_simulation_opts *o = &s->o;
    if (o->dead) memcpy(s->dead, o->dead, (size_t)o->coils);
    if (o->noiseless) memcpy(s->noiseless, o->noiseless, (size_t)o->coils);
    if (o->echoes) memcpy(s->echo_ms, o->echo_ms, (size_t)o->echoes * sizeof *s->echo_ms);
    if (o->t2stars) memcpy(s->t2star_ms, o->t2star_ms, (size_t)o->t2stars * sizeof *s->t2star_ms);
    if (o->readout_start_ms) s->readout_start_ms = *o->readout_start_ms;
    if (o->epi) s->epi = *o->epi;
    s->is_epi = o->epi != NULL;
    if (!s->epi.shots) s->epi.shots = 1;
    if (!s->epi.navigators) s->epi.navigators = EPI_NAVIGATORS;
    if (o->field) s->field = *o->field;
    if (o->phase) s->phase = *o->phase;
    o->dead = s->dead;
    o->noiseless = s->noiseless;
    o->echo_ms = s->echo_ms;
    o->t2star_ms = s->t2star_ms;
    if (o->readout_start_ms) o->readout_start_ms = &s->readout_start_ms;
    if (o->epi) o->epi = &s->epi;
    if (o->field) o->field = &s->field;
    if (o->phase) o->phase = &s->phase;
    for (int i = 0; i < 6; i++) s->is_delayed |= o->delay[i] != 0;
}

static const char *traj_at(int i)
{
    return larmor_traj_entry(i).name;
}

static const char *phantom_at(int i)
{
    return larmor_phantom_entry(i).name;
}

static const char *unit_at(int i)
{
    return larmor_traj_unit_entry(i).name;
}

/* Names become those of the tables, which last. */
static larmor_status find_names(larmor_simulation *s, larmor_traj_info *info)
{
    int entry;
    LMR_TRY(lmr_find_name("traj", s->o.trajectory, traj_at, &entry));
    *info = larmor_traj_entry(entry);
    s->o.trajectory = info->name;
    LMR_TRY(lmr_find_name("phantom", s->o.phantom, phantom_at, &entry));
    s->o.phantom = phantom_at(entry);
    if (s->o.units) LMR_TRY(lmr_find_name("trajectory units", s->o.units, unit_at, &entry));
    s->o.units = unit_at(s->o.units ? entry : 0);
    return LARMOR_OK;
}

/* ---- the object ---- */

int lmr_simulation_sees_more(const larmor_simulation *s)
{
    return s->o.concomitant || s->o.phase_terms || s->o.gradient_field || s->o.displacement || s->o.motion_fields;
}

int lmr_simulation_moves(const larmor_simulation *s)
{
    const larmor_simulation_opts *o = &s->o;
    int drifts = 0;
    for (int d = 0; d < 3; d++) drifts |= o->drift_mm[d] != 0;
    return s->fisp || drifts || o->rotation_deg != 0 || o->breathing_mm != 0 || o->contrast != 0;
}

larmor_status lmr_simulation_object_in(const larmor_simulation *s, const larmor_phantom *beginning, int repetition,
                                       larmor_phantom **object)
{
    const larmor_simulation_opts *o = &s->o;
    const double intervals = o->repetitions > 1 ? (double)(o->repetitions - 1) : 1;
    const double *fov = s->encoding.recon_fov_mm;
    larmor_phantom_course course = {.degrees = o->rotation_deg,
                                    .breathing = {0, o->breathing_mm / fov[1], 0},
                                    .breaths = intervals / o->breathing_period,
                                    .contrast = o->contrast};
    for (int d = 0; d < s->info.ndim; d++) course.drift[d] = o->drift_mm[d] / fov[d];
    larmor_phantom_state state = {0};
    larmor_phantom_at(&course, repetition / intervals, &state);
    return larmor_phantom_change(beginning, &state, object);
}

larmor_status lmr_simulation_object(const larmor_simulation *s, int repetition, larmor_phantom **object)
{
    if (s->fisp) return lmr_signals_object(s, repetition, object);
    return lmr_simulation_object_in(s, s->phantom, repetition, object);
}

/* Slices that are excited together are planes of a solid object. */
static larmor_status create_phantom(larmor_simulation *s)
{
    const int ndim = s->o.bands ? 3 : (int)s->info.ndim;
    LMR_OWN(larmor_phantom, plain, larmor_phantom_create(s->o.phantom, ndim, &plain));
    return larmor_phantom_change(plain, &(larmor_phantom_state){.size = s->o.object_size}, &s->phantom);
}

/* ---- geometry ---- */

/* As larmor_source_of_multiband reads it: kz falls where phases grow from slice to slice. */
static void fill_multiband(const larmor_simulation *s, larmor_multiband_header *m)
{
    if (s->o.bands < 2) return;
    *m = (larmor_multiband_header){.factor = s->o.bands,
                                   .offsets = s->o.bands,
                                   .spacings = 1,
                                   .delta_kz = -(double)s->o.bands / s->o.band_shifts,
                                   .calibration = "other"};
    for (int b = 0; b < s->o.bands; b++) m->offset_mm[b] = lmr_simulation_band_mm(s, b);
}

/* Matrix, field of view and the trajectory's name as the header will have them. */
static void fill_encoding(larmor_simulation *s, const char *header)
{
    larmor_encoding *e = &s->encoding;
    const int64_t *matrix = s->info.matrix;
    for (int d = 0; d < 3; d++) {
        e->matrix[d] = e->recon_matrix[d] = matrix[d];
        const double voxel = fov_mm / (double)matrix[0];
        e->fov_mm[d] = e->recon_fov_mm[d] = d < s->info.ndim ? voxel * (double)matrix[d] : slice_mm;
    }
    if (s->info.is_cartesian &&
        !lmr_epi_has_ramps(s)) { /* lines that are sampled more densely see a longer field of view */
        e->matrix[0] = s->info.samples;
        e->fov_mm[0] *= (double)s->info.samples / (double)matrix[0];
    }
    if (lmr_epi_has_ramps(s)) e->ramp = s->epi.ramp;
    if (s->is_epi) header = "epi";
    snprintf(e->trajectory, sizeof e->trajectory, "%s", header ? header : "other");
    e->ndim = s->info.ndim;
    fill_multiband(s, &e->multiband);
}

static void fill_geometry(larmor_simulation *s)
{
    const double a = 20 * M_PI / 180, b = 35 * M_PI / 180; /* about x, then about z */
    const larmor_image_meta straight = {.read_dir = {1, 0, 0}, .phase_dir = {0, 1, 0}, .slice_dir = {0, 0, 1}};
    const larmor_image_meta rotated = {.read_dir = {cos(b), sin(b), 0},
                                       .phase_dir = {-sin(b) * cos(a), cos(b) * cos(a), sin(a)},
                                       .slice_dir = {sin(b) * sin(a), -cos(b) * sin(a), cos(a)},
                                       .position_mm = {12.5, -20, 31.25}};
    s->geometry = s->o.oblique ? rotated : straight;
    for (int d = 0; d < 3; d++) s->geometry.position_mm[d] += s->o.position_mm[d];
    memcpy(s->geometry.fov_mm, s->encoding.recon_fov_mm, sizeof s->geometry.fov_mm);
}

larmor_image_meta lmr_simulation_meta(const larmor_simulation *s, int slice, int repetition)
{
    larmor_image_meta meta = s->geometry;
    const double offset = slice_step_mm * (slice - 0.5 * (double)(s->o.slices - 1));
    for (int d = 0; d < 3; d++) meta.position_mm[d] += offset * s->geometry.slice_dir[d];
    meta.slice = slice;
    meta.repetition = repetition;
    return meta;
}

double lmr_simulation_density(const larmor_simulation *s, int slice)
{
    return 1 - 0.5 * slice / (double)s->o.slices;
}

/* The sample of a readout, here of the first, that is nearest to the centre of k-space. */
static larmor_status find_centre(larmor_simulation *s)
{
    const int ndim = s->info.ndim;
    const double tie = 1e-6; /* two samples that are as near */
    double *k, least = INFINITY;
    LMR_TRY(larmor_array_download(s->traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < s->info.samples; i++) {
        double square = 0;
        for (int d = 0; d < ndim; d++) square += k[ndim * i + d] * k[ndim * i + d];
        if (square < least - tie) {
            least = square;
            s->centre = i;
        }
    }
    free(k);
    return LARMOR_OK;
}

/* ---- the whole ---- */

/* What is given along z is for a trajectory that has this axis. */
static larmor_status check_axes(const larmor_simulation *s)
{
    const larmor_simulation_opts *o = &s->o;
    const struct {
        const char *member;
        double z;
    } given[] = {
        {"opts.drift_mm", o->drift_mm[2]},
        {"opts.field.gradient", o->field ? o->field->gradient[2] : 0},
        {"opts.field.dipole_at", o->field ? o->field->dipole_at[2] : 0},
        {"opts.phase.cycles", o->phase ? o->phase->cycles[2] : 0},
        {"opts.traj.acceleration", o->traj.acceleration[1] > 1 ? (double)o->traj.acceleration[1] : 0},
        {"opts.traj.calibration", (double)o->traj.calibration[1]},
        {"opts.delay", o->delay[2]},
        {"opts.delay", o->delay[4]},
        {"opts.delay", o->delay[5]},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        LMR_TRY(lmr_check_axes_given(given[i].member, given[i].z, 0, s->info.ndim));
    return LARMOR_OK;
}

static larmor_status fill_info(larmor_simulation *s, const larmor_traj_info *kind)
{
    larmor_simulation_info *info = &s->info;
    const larmor_simulation_opts *o = &s->o;
    LMR_TRY(larmor_traj_create(s->dev, o->trajectory, &o->traj, &s->traj));
    const larmor_shape shape = larmor_array_shape(s->traj);
    *info = (larmor_simulation_info){.trajectory = o->trajectory,
                                     .phantom = o->phantom,
                                     .ndim = (int)shape.dim[0],
                                     .coils = o->coils ? o->coils : 1,
                                     .contrasts = o->echoes ? o->echoes : 1,
                                     .samples = shape.dim[1],
                                     .readouts = shape.dim[2],
                                     .slices = o->slices,
                                     .repetitions = o->repetitions,
                                     .is_cartesian = kind->lines,
                                     .noise = o->noise};
    memcpy(info->matrix, o->traj.matrix, sizeof info->matrix);
    if (!info->matrix[1]) info->matrix[1] = info->matrix[0];
    if (!info->matrix[2]) info->matrix[2] = kind->solid ? info->matrix[0] : 1;
    LMR_REFUSE(info->ndim == 3 && o->slices > 1, LARMOR_ERR_ARG,
               "simulation: got %lld slices, expected 1, because the trajectory is 3D", (long long)o->slices);
    LMR_REFUSE(info->ndim == 3 && o->bands, LARMOR_ERR_ARG,
               "simulation: got %d bands, expected none, because the trajectory is 3D", o->bands);
    return LARMOR_OK;
}

/* Of several bands that of an image of the middle one alone. */
static larmor_status find_noise(larmor_simulation *s)
{
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    const double z = lmr_simulation_band_mm(s, s->o.bands / 2) / s->encoding.recon_fov_mm[0];
    LMR_OWNED(larmor_phantom) *plane = NULL;
    if (s->o.bands) LMR_TRY(larmor_phantom_plane(s->phantom, z, &plane));
    return larmor_phantom_noise_level(plane ? plane : s->phantom, s->dev, shape, s->o.coils, s->o.snr,
                                      &s->info.noise);
}

static larmor_status prepare(larmor_simulation *s)
{
    larmor_traj_info kind;
    fill_defaults(&s->o);
    LMR_TRY(find_names(s, &kind));
    LMR_TRY(check_noise(&s->o));
    LMR_TRY(check_coils(&s->o));
    LMR_TRY(check_course(s));
    LMR_TRY(check_bands(s));
    LMR_TRY(lmr_decay_check(&s->o));
    keep(s);
    LMR_TRY(fill_info(s, &kind));
    LMR_TRY(check_axes(s));
    if (s->is_epi) LMR_TRY(lmr_epi_arrange(s));
    LMR_TRY(find_centre(s));
    fill_encoding(s, kind.header);
    fill_geometry(s);
    LMR_TRY(create_phantom(s));
    LMR_TRY(lmr_signals_prepare(s, lmr_simulation_sees_more(s)));
    return s->o.snr > 0 ? find_noise(s) : LARMOR_OK;
}

larmor_status larmor_simulation_create(larmor_device *dev, const larmor_simulation_opts *opts,
                                       larmor_simulation **simulation)
{
    LMR_NEED_OUT(simulation, dev, opts);
    LMR_NEW_ZEROS(larmor_simulation, s, 1);
    lmr_gate_init(&s->gate);
    s->o = *opts;
    s->o.phase_terms = larmor_array_ref(opts->phase_terms);
    s->o.gradient_field = larmor_array_ref(opts->gradient_field);
    s->o.displacement = larmor_array_ref(opts->displacement);
    s->o.motion = larmor_array_ref(opts->motion);
    s->o.motion_fields = larmor_array_ref(opts->motion_fields);
    s->dev = lmr_device_ref(dev);
    s->contrast = -1; /* no samples yet */
    const larmor_status st = prepare(s);
    return LMR_GIVE(simulation, s, larmor_simulation_free, st);
}

larmor_simulation_info larmor_simulation_describe(const larmor_simulation *simulation)
{
    return simulation ? simulation->info : (larmor_simulation_info){.ndim = 0};
}

void larmor_simulation_free(larmor_simulation *simulation)
{
    if (!simulation) return;
    LMR_FREE(simulation->fisp, simulation->backward, simulation->shot, simulation->exact, simulation->o.phase_terms,
             simulation->o.gradient_field, simulation->o.displacement, simulation->o.motion);
    LMR_FREE(simulation->o.motion_fields, simulation->traj);
    larmor_phantom_free(simulation->phantom);
    larmor_device_free(simulation->dev);
    lmr_gate_destroy(&simulation->gate);
    free(simulation);
}
