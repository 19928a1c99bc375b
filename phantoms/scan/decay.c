/* Samples that decay: T2* of the whole object, or of each tissue. Tissues are exact sums of ellipses, so that their
 * signals, each with its own decay, are exact, too. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

/* ---- objects ---- */

/* Part i of the object is that of all tissues with the T2* of tissue i; 0: it is part of an earlier one. */
static int is_first(const larmor_simulation *s, int i)
{
    for (int other = 0; other < i; other++)
        if (s->o.t2star_ms[other] == s->o.t2star_ms[i]) return 0;
    return 1;
}

/* The tissues of one T2*, as large as the object, in a repetition. */
static larmor_status object_of(const larmor_simulation *s, int part, int repetition, larmor_phantom **object)
{
    double density[LARMOR_TISSUES];
    LMR_OWNED(larmor_phantom) *plain = NULL, *large = NULL;
    if (s->o.t2stars == 1) return lmr_simulation_object(s, repetition, object);
    for (int i = 0; i < LARMOR_TISSUES; i++)
        density[i] = s->o.t2star_ms[i] == s->o.t2star_ms[part] ? larmor_phantom_tissue(i).density : 0;
    LMR_TRY(larmor_phantom_of_tissues(s->info.ndim, density, &plain));
    LMR_TRY(larmor_phantom_change(plain, &(larmor_phantom_state){.size = s->o.object_size}, &large));
    return lmr_simulation_object_in(s, large, repetition, object);
}

/* ---- samples ---- */

/* Before the echo the signal is larger by exp(t / T2*): beyond this exponent nothing else is left of a scan. */
#define MOST_BEFORE_ECHO 10

static larmor_status check_growth(const larmor_simulation *s, const double *seconds)
{
    double before = 0, least = s->o.t2star_ms[0];
    for (int64_t i = 0; i < s->info.samples; i++) before = fmax(before, -1e3 * seconds[i]);
    for (int part = 1; part < s->o.t2stars; part++) least = fmin(least, s->o.t2star_ms[part]);
    if (before <= MOST_BEFORE_ECHO * least) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "simulation: got a T2* of %g ms, expected at least %g: samples begin %g ms before the echo",
                    least, before / MOST_BEFORE_ECHO, before);
}

/* sum [samples, all] += part exp(-t / T2*) */
static void add_decayed(const float *part, const double *seconds, double t2star_ms, int64_t samples, int64_t all,
                        float *sum)
{
    for (int64_t i = 0; i < samples; i++) {
        const double decay = exp(-1e3 * seconds[i] / t2star_ms);
        for (int64_t j = 0; j < all; j++) {
            const int64_t at = 2 * (i + samples * j);
            sum[at] += (float)(decay * (double)part[at]);
            sum[at + 1] += (float)(decay * (double)part[at + 1]);
        }
    }
}

larmor_status lmr_simulation_decaying(const larmor_simulation *s, const larmor_array *traj, const double *seconds,
                                      int repetition, int contrast, lmr_see *see, larmor_array **kspace)
{
    const int64_t samples = s->info.samples, all = larmor_array_shape(traj).dim[2] * s->info.coils;
    LMR_HEAP LMR_NEW_ZEROS(float, sum, 2 * samples * all);
    LMR_TRY(check_growth(s, seconds));
    for (int part = 0; part < s->o.t2stars; part++) {
        if (!is_first(s, part)) continue;
        LMR_OWN(larmor_phantom, object, object_of(s, part, repetition, &object));
        LMR_OWN(larmor_array, made, see(s, object, traj, repetition, contrast, &made));
        LMR_OWN_MEMORY(float, host, larmor_array_download(made, LARMOR_C64, &host));
        add_decayed(host, seconds, s->o.t2star_ms[part], samples, all, sum);
    }
    const larmor_shape shape = LARMOR_SHAPE(samples, larmor_array_shape(traj).dim[2], s->info.coils);
    return larmor_array_upload(s->dev, LARMOR_C64, shape, LARMOR_C64, sum, kspace);
}

/* ---- the map ---- */

/* The object's density in each voxel, or that times the rate of decay. */
static larmor_status add_picture(const larmor_simulation *s, int part, double *density, double *rate)
{
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    LMR_OWN(larmor_phantom, object, object_of(s, part, 0, &object));
    LMR_OWN(larmor_array, image, larmor_phantom_image(object, s->dev, LARMOR_C128, shape, &image));
    LMR_OWN_MEMORY(double, both, larmor_array_download(image, LARMOR_C128, &both));
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
        density[i] += both[2 * i];
        rate[i] += both[2 * i] / s->o.t2star_ms[part];
    }
    return LARMOR_OK;
}

larmor_status larmor_simulation_t2star(const larmor_simulation *simulation, larmor_array **ms,
                                       larmor_image_meta *meta)
{
    LMR_NEED_OUT(ms, meta);
    const larmor_simulation *s = simulation;
    LMR_NEED(simulation);
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    const int64_t voxels = larmor_shape_count(shape);
    LMR_REFUSE(!s->o.t2stars, LARMOR_ERR_ARG, "simulation: got no T2*, expected opts.t2star_ms");
    LMR_HEAP double *density = calloc((size_t)voxels, sizeof *density), *rate = calloc((size_t)voxels, sizeof *rate);
    if (!density || !rate) return LMR_NO_MEMORY();
    for (int part = 0; part < s->o.t2stars && s->o.t2stars > 1; part++)
        if (is_first(s, part)) LMR_TRY(add_picture(s, part, density, rate));
    for (int64_t i = 0; i < voxels; i++) rate[i] = density[i] > 0 ? density[i] / rate[i] : s->o.t2star_ms[0];
    *meta = s->geometry;
    return larmor_array_upload(s->dev, LARMOR_F32, shape, LARMOR_F64, rate, ms);
}
