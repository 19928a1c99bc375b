/* Readouts of an object that breathes and whose heart beats: each sees it in a state of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

int lmr_simulation_beats(const larmor_simulation *s)
{
    return (s->o.breath.rate > 0 && s->o.breath.size != 0) || (s->o.heart.rate > 0 && s->o.heart.size != 0);
}

larmor_status lmr_simulation_object_at(const larmor_simulation *s, const larmor_phantom *object, double seconds,
                                       larmor_phantom **now)
{
    larmor_phantom_state state = {0};
    larmor_phantom_cycle breath = s->o.breath;
    breath.size /= s->encoding.recon_fov_mm[1];
    larmor_phantom_beat(&breath, &s->o.heart, seconds, &state);
    return larmor_phantom_change(object, &state, now);
}

static larmor_status one_readout(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                                 int64_t readout, double seconds, float *to)
{
    const int64_t all = larmor_array_shape(traj).dim[2], samples = s->info.samples;
    LMR_OWN(larmor_phantom, now, lmr_simulation_object_at(s, object, seconds, &now));
    LMR_OWN(larmor_array, line, larmor_array_slice(traj, readout, 1, &line));
    LMR_OWN(larmor_array, made, larmor_phantom_kspace(now, line, s->o.coils, LARMOR_C64, &made));
    LMR_OWN_MEMORY(float, host, larmor_array_download(made, LARMOR_C64, &host));
    for (int64_t c = 0; c < s->info.coils; c++)
        memcpy(to + 2 * samples * (readout + all * c), host + 2 * samples * c, 2 * sizeof *to * (size_t)samples);
    return LARMOR_OK;
}

larmor_status lmr_simulation_beating(const larmor_simulation *s, const larmor_phantom *object,
                                     const larmor_array *traj, int repetition, larmor_array **kspace)
{
    const int64_t readouts = larmor_array_shape(traj).dim[2];
    const larmor_shape shape = LARMOR_SHAPE(s->info.samples, readouts, s->info.coils);
    LMR_HEAP LMR_NEW(float, host, 2 * larmor_shape_count(shape));
    for (int64_t r = 0; r < readouts; r++) {
        LMR_TRY(lmr_go_on());
        const double seconds = 1e-3 * s->o.tr_ms * (double)(repetition * s->info.readouts + r);
        LMR_TRY(one_readout(s, object, traj, r, seconds, host));
    }
    return larmor_array_upload(s->dev, LARMOR_C64, shape, LARMOR_C64, host, kspace);
}
