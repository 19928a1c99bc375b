/* The samples of a simulated scan: exact k-space along the gradients as they are, and noise. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/owned.h"
#include "phantoms/scan/simulation.h"

/* From the excitation to the centre of k-space, in s; 0 where no echo times are asked for. */
static double echo_time(const larmor_simulation *s, int contrast)
{
    return contrast < s->o.echoes ? 1e-3 * s->echo_ms[contrast] : 0;
}

/* Of the first sample, from the time at which the image has its phase. */
static double first_time(const larmor_simulation *s)
{
    return s->o.readout_start_ms ? 1e-3 * s->readout_start_ms : -1e-6 * s->o.dwell_us * (double)s->centre;
}

/* [samples], free() it. */
static larmor_status times_of(const larmor_simulation *s, int contrast, double **seconds)
{
    LMR_ALLOCATE(*seconds, s->info.samples);
    for (int64_t i = 0; i < s->info.samples; i++)
        (*seconds)[i] = echo_time(s, contrast) + first_time(s) + 1e-6 * s->o.dwell_us * (double)i;
    return LARMOR_OK;
}

static larmor_status kspace_in_time(const larmor_simulation *s, const larmor_phantom *object,
                                    const larmor_array *traj, int repetition, int contrast, larmor_array **kspace)
{
    const int64_t samples = s->info.samples;
    LMR_OWNED(larmor_array) *times = NULL;
    LMR_OWN_MEMORY(double, seconds, times_of(s, contrast, &seconds));
    if (s->o.motion && s->o.signal != LARMOR_SIGNAL_WATER_FAT)
        return lmr_simulation_moving_seen(s, object, traj, seconds, kspace);
    if (s->o.signal == LARMOR_SIGNAL_WATER_FAT) return lmr_signals_water_fat(s, traj, seconds, kspace);
    if (lmr_simulation_sees_more(s)) return lmr_simulation_seen(s, object, traj, repetition, seconds, NULL, kspace);
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(samples), LARMOR_F64, seconds, &times));
    return larmor_phantom_kspace_off_resonance(object, traj, &s->field, times, s->o.coils, LARMOR_C64, kspace);
}

larmor_status lmr_simulation_silence(const larmor_simulation *s, const unsigned char *listed, larmor_array *x)
{
    for (int c = 0; c < s->info.coils; c++) {
        if (!listed[c]) continue;
        LMR_OWN(larmor_array, coil, larmor_array_slice(x, c, 1, &coil));
        LMR_TRY(larmor_zero(coil));
    }
    return LARMOR_OK;
}

/* Exact k-space of an object that does not decay, along the gradients as they are. */
static larmor_status see(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                         int repetition, int contrast, larmor_array **kspace)
{
    const larmor_simulation_opts *o = &s->o;
    if (lmr_simulation_beats(s)) return lmr_simulation_beating(s, object, traj, repetition, kspace);
    if (o->bands) return lmr_simulation_bands(s, object, traj, kspace);
    if (o->motion && !o->field && !lmr_simulation_sees_more(s)) return lmr_simulation_moving(s, object, traj, kspace);
    if (o->field || o->signal == LARMOR_SIGNAL_WATER_FAT || lmr_simulation_sees_more(s))
        return kspace_in_time(s, object, traj, repetition, contrast, kspace);
    if (o->phase) return larmor_phantom_kspace_phase(object, traj, &s->phase, o->coils, LARMOR_C64, kspace);
    return larmor_phantom_kspace(object, traj, o->coils, LARMOR_C64, kspace);
}

static larmor_status see_decay(const larmor_simulation *s, const larmor_array *traj, int repetition, int contrast,
                               larmor_array **kspace)
{
    LMR_OWN_MEMORY(double, seconds, times_of(s, contrast, &seconds));
    return lmr_simulation_decaying(s, traj, seconds, repetition, contrast, see, kspace);
}

/* Exact k-space of a repetition and a contrast, [samples, readouts, coils], as late gradients and the field make it.
 *
 * backward  of an echo-planar scan, the directions of the readouts; else NULL. */
static larmor_status exact_kspace(const larmor_simulation *s, const larmor_array *nominal,
                                  const unsigned char *backward, int repetition, int contrast, larmor_array **kspace)
{
    const larmor_simulation_opts *o = &s->o;
    const larmor_shape shape = LARMOR_SHAPE(s->info.samples, larmor_array_shape(nominal).dim[2], s->info.coils);
    LMR_OWNED(larmor_array) *delayed = NULL, *shifted = NULL, *made = NULL;
    LMR_OWN(larmor_phantom, object, lmr_simulation_object(s, repetition, &object));
    if (s->is_delayed) LMR_TRY(larmor_traj_delay(nominal, o->delay, s->encoding.recon_fov_mm, &delayed));
    const larmor_array *traj = delayed ? delayed : nominal;
    if (backward) LMR_TRY(lmr_epi_shift(s, backward, traj, &shifted));
    if (shifted) traj = shifted;
    LMR_TRY(o->t2stars ? see_decay(s, traj, repetition, contrast, &made)
                       : see(s, object, traj, repetition, contrast, &made));
    LMR_TRY(larmor_array_reshape(made, shape, kspace));
    return o->coils ? lmr_simulation_silence(s, s->dead, *kspace) : LARMOR_OK;
}

/* Trajectory and exact k-space become those of a repetition and a contrast, unless they are alike. */
static larmor_status find_exact(larmor_simulation *s, int repetition, int contrast)
{
    const int is_other = !s->o.same_angles && !s->info.is_cartesian && repetition != s->repetition;
    const int moves = lmr_simulation_moves(s) || lmr_simulation_beats(s) || s->o.motion_fields;
    const int changes = is_other || (moves && repetition != s->repetition);
    LMR_OWNED(larmor_array) *traj = NULL, *exact = NULL;
    larmor_traj_opts opts = s->o.traj;
    if (!changes && contrast == s->contrast) return LARMOR_OK;
    opts.repetition += repetition;
    if (is_other) LMR_TRY(larmor_traj_create(s->dev, s->o.trajectory, &opts, &traj));
    LMR_TRY(exact_kspace(s, traj ? traj : s->traj, s->backward, repetition, contrast, &exact));
    if (traj) {
        larmor_array_free(s->traj);
        LMR_HAND_ON(s->traj, traj);
    }
    larmor_array_free(s->exact);
    LMR_HAND_ON(s->exact, exact);
    s->repetition = repetition;
    s->contrast = contrast;
    return LARMOR_OK;
}

/* The exact samples times a density, and noise in the coils that have any. */
static larmor_status add_noise(const larmor_simulation *s, const larmor_array *exact, double density, uint64_t seed,
                               larmor_array *kspace)
{
    LMR_TRY(larmor_axpby(density, exact, 0, kspace));
    if (s->info.noise > 0) LMR_TRY(larmor_phantom_noise(kspace, s->info.noise, seed));
    for (int c = 0; c < s->info.coils; c++) {
        if (!s->noiseless[c]) continue;
        LMR_OWN(larmor_array, from, larmor_array_slice(exact, c, 1, &from));
        LMR_OWN(larmor_array, to, larmor_array_slice(kspace, c, 1, &to));
        LMR_TRY(larmor_axpby(density, from, 0, to));
    }
    return LARMOR_OK;
}

static int64_t image_of(const larmor_simulation *s, int slice, int repetition, int contrast)
{
    return (repetition + contrast * s->info.repetitions) * s->info.slices + slice;
}

larmor_status lmr_simulation_navigators(larmor_simulation *s, int slice, int repetition, int contrast, int64_t shot,
                                        larmor_array **kspace, larmor_array **traj)
{
    const int64_t count = s->epi.navigators, image = image_of(s, slice, repetition, contrast);
    const uint64_t seed = s->o.seed + 1 + (uint64_t)(image * s->epi.shots + shot) + (UINT64_C(1) << 33);
    LMR_OWNED(larmor_array) *lines = NULL, *exact = NULL, *samples = NULL;
    *kspace = *traj = NULL;
    LMR_HEAP LMR_NEW(unsigned char, backward, count);
    LMR_HEAP LMR_NEW(int64_t, shots, count);
    for (int64_t i = 0; i < count; i++) {
        backward[i] = i % 2 == 1;
        shots[i] = shot;
    }
    LMR_TRY(lmr_epi_navigator_lines(s, &lines));
    LMR_TRY(exact_kspace(s, lines, backward, repetition, contrast, &exact));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(s->info.samples, count, s->info.coils), &samples));
    LMR_TRY(add_noise(s, exact, lmr_simulation_density(s, slice), seed, samples));
    LMR_TRY(lmr_epi_turn(s, image, shots, backward, samples));
    LMR_HAND_ON(*kspace, samples);
    return LMR_HAND_ON(*traj, lines);
}

larmor_status lmr_simulation_samples(larmor_simulation *s, int slice, int repetition, int contrast, int calibration,
                                     larmor_array **kspace, const larmor_array **traj)
{
    const larmor_simulation_info *i = &s->info;
    const int64_t image = image_of(s, slice, repetition, contrast);
    const uint64_t other = calibration ? UINT64_C(1) << 32 : 0;
    *kspace = NULL;
    LMR_TRY(find_exact(s, repetition, contrast));
    *traj = s->traj;
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(i->samples, i->readouts, i->coils), kspace));
    larmor_status st =
        add_noise(s, s->exact, lmr_simulation_density(s, slice), s->o.seed + 1 + (uint64_t)image + other, *kspace);
    if (!st && s->is_epi) st = lmr_epi_turn(s, image, s->shot, s->backward, *kspace);
    if (st) LMR_CLEAR(*kspace);
    return st;
}

larmor_status larmor_simulation_samples(larmor_simulation *simulation, int slice, int repetition, int contrast,
                                        larmor_array **kspace, larmor_array **traj)
{
    LMR_NEED(kspace, traj);
    *kspace = NULL;
    *traj = NULL;
    LMR_NEED(simulation);
    const larmor_simulation_info *i = &simulation->info;
    const larmor_array *nominal;
    LMR_REFUSE(slice < 0 || slice >= i->slices || repetition < 0 || repetition >= i->repetitions || contrast < 0 ||
                   contrast >= i->contrasts,
               LARMOR_ERR_ARG,
               "simulation: got slice %d, repetition %d, contrast %d, expected less than %lld, %lld, %d", slice,
               repetition, contrast, (long long)i->slices, (long long)i->repetitions, i->contrasts);
    LMR_TRY(lmr_gate_enter(&simulation->gate));
    const larmor_status st = lmr_simulation_samples(simulation, slice, repetition, contrast, 0, kspace, &nominal);
    if (!st) *traj = larmor_array_ref(nominal);
    lmr_gate_leave(&simulation->gate);
    return st;
}
