/* Signals of tissues: water and fat, and FISP for fingerprinting. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

#define TR_MS 12.0
#define TE_MS 3.0
#define INVERSION_MS 20.0
#define LEAST_DEGREES 10.0
#define MORE_DEGREES 50.0
#define HALF_PERIOD 120.0 /* pulses */

/* ---- fingerprinting ---- */

static larmor_status make_fisp(larmor_simulation *s)
{
    const int64_t pulses = s->o.repetitions;
    double t[2 * LARMOR_TISSUES];
    LMR_OWNED(larmor_array) *table = NULL, *signals = NULL;
    LMR_HEAP LMR_NEW(double, degrees, pulses);
    LMR_HEAP LMR_NEW(double, tr, pulses);
    for (int64_t n = 0; n < pulses; n++) {
        degrees[n] = LEAST_DEGREES + MORE_DEGREES * fabs(sin(M_PI * (double)n / HALF_PERIOD));
        tr[n] = TR_MS;
    }
    for (int i = 0; i < LARMOR_TISSUES; i++) {
        t[i] = larmor_phantom_tissue(i).t1_ms;
        t[LARMOR_TISSUES + i] = larmor_phantom_tissue(i).t2_ms;
    }
    const larmor_fisp sequence = {pulses, degrees, tr, TE_MS, INVERSION_MS};
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(LARMOR_TISSUES, 2), LARMOR_F64, t, &table));
    LMR_TRY(larmor_epg_fisp(table, &sequence, &signals));
    return larmor_array_download(signals, LARMOR_F64, &s->fisp);
}

/* ---- all ---- */

static larmor_status check(const larmor_simulation *s, int sees_more)
{
    const larmor_simulation_opts *o = &s->o;
    LMR_REFUSE(
        (int)o->signal < LARMOR_SIGNAL_DENSITY || o->signal > LARMOR_SIGNAL_FISP || strcmp(o->phantom, "tissues"),
        LARMOR_ERR_ARG, "simulation: got signal %d of %s, expected 0 to 2, of tissues", (int)o->signal, o->phantom);
    LMR_REFUSE(o->phase || o->epi || o->bands || o->motion || o->slices > 1 || lmr_simulation_beats(s) || sees_more,
               LARMOR_ERR_ARG,
               "simulation: got signals of tissues, expected one slice without phase, epi, bands, motion, "
               "breath, heart, concomitant fields, phase_terms and displaced voxels");
    if (o->r2star >= 0 && o->r2star <= 1e4) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "simulation: got an R2* of %g / s, expected 0 to 10000", o->r2star);
}

larmor_status lmr_signals_prepare(larmor_simulation *s, int sees_more)
{
    if (!s->o.signal && s->o.r2star == 0) return LARMOR_OK;
    LMR_TRY(check(s, sees_more));
    return s->o.signal == LARMOR_SIGNAL_FISP ? make_fisp(s) : LARMOR_OK;
}

/* The object with these densities, as large as it is asked for. */
static larmor_status object_of(const larmor_simulation *s, const double *density, larmor_phantom **object)
{
    LMR_OWN(larmor_phantom, plain, larmor_phantom_of_tissues(s->info.ndim, density, &plain));
    return larmor_phantom_change(plain, &(larmor_phantom_state){.size = s->o.object_size}, object);
}

larmor_status lmr_signals_object(const larmor_simulation *s, int repetition, larmor_phantom **object)
{
    double density[LARMOR_TISSUES];
    for (int i = 0; i < LARMOR_TISSUES; i++)
        density[i] = larmor_phantom_tissue(i).density * s->fisp[(int64_t)i + LARMOR_TISSUES * (int64_t)repetition];
    return object_of(s, density, object);
}

/* ---- water and fat ---- */

static void fill_densities(int fat, double *density)
{
    for (int i = 0; i < LARMOR_TISSUES; i++) {
        const larmor_tissue t = larmor_phantom_tissue(i);
        density[i] = t.density * (fat ? t.fat : 1 - t.fat);
    }
}

/* Exact k-space of water or of fat, in the field. */
static larmor_status species(const larmor_simulation *s, int fat, const larmor_array *traj, const larmor_array *times,
                             float **host)
{
    double density[LARMOR_TISSUES];
    LMR_OWNED(larmor_array) *made = NULL;
    fill_densities(fat, density);
    LMR_OWN(larmor_phantom, object, object_of(s, density, &object));
    if (s->o.field)
        LMR_TRY(larmor_phantom_kspace_off_resonance(object, traj, &s->field, times, s->o.coils, LARMOR_C64, &made));
    else
        LMR_TRY(larmor_phantom_kspace(object, traj, s->o.coils, LARMOR_C64, &made));
    return larmor_array_download(made, LARMOR_C64, host);
}

larmor_status lmr_signals_water_fat(const larmor_simulation *s, const larmor_array *traj, const double *seconds,
                                    larmor_array **kspace)
{
    const int64_t samples = s->info.samples, all = larmor_array_shape(traj).dim[2] * s->info.coils;
    LMR_OWNED(larmor_array) *times = NULL;
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(samples), LARMOR_F64, seconds, &times));
    LMR_OWN_MEMORY(float, water, species(s, 0, traj, times, &water));
    LMR_OWN_MEMORY(float, fat, species(s, 1, traj, times, &fat));
    for (int64_t i = 0; i < samples; i++) {
        double c[2];
        LMR_TRY(larmor_fat_signal(s->o.tesla, 1e3 * seconds[i], c));
        const double decay = exp(-s->o.r2star * seconds[i]);
        for (int64_t j = 0; j < all; j++) {
            float *w = water + 2 * (i + samples * j);
            const float *f = fat + 2 * (i + samples * j);
            const double re = (double)w[0] + c[0] * (double)f[0] - c[1] * (double)f[1];
            const double im = (double)w[1] + c[0] * (double)f[1] + c[1] * (double)f[0];
            w[0] = (float)(decay * re);
            w[1] = (float)(decay * im);
        }
    }
    const larmor_shape shape = LARMOR_SHAPE(samples, larmor_array_shape(traj).dim[2], s->info.coils);
    return larmor_array_upload(s->dev, LARMOR_C64, shape, LARMOR_C64, water, kspace);
}

/* ---- the truth ---- */

/* An object of such densities, averaged over each voxel. */
static larmor_status picture_of(const larmor_simulation *s, const double *density, double **values)
{
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    const int64_t voxels = larmor_shape_count(shape);
    *values = NULL;
    LMR_OWN(larmor_phantom, object, object_of(s, density, &object));
    LMR_OWN(larmor_array, image, larmor_phantom_image(object, s->dev, LARMOR_C128, shape, &image));
    LMR_OWN_MEMORY(double, both, larmor_array_download(image, LARMOR_C128, &both));
    LMR_ALLOCATE(*values, voxels);
    for (int64_t i = 0; i < voxels; i++) (*values)[i] = both[2 * i];
    return LARMOR_OK;
}

/* A voxel's label and those beside it are one tissue alone: their number has no variance. */
static int is_alone(const double *label, const double *square, int64_t i)
{
    return label[i] > 0.5 && fabs(square[i] - label[i] * label[i]) < 1e-6;
}

static int has_like_neighbours(const larmor_simulation *s, const double *label, const double *square, int64_t i)
{
    int64_t step = 1;
    for (int d = 0; d < s->info.ndim; d++) {
        const int64_t n = s->info.matrix[d], at = i / step % n;
        for (int64_t e = -1; e <= 1; e += 2)
            if (at + e < 0 || at + e >= n || !is_alone(label, square, i + e * step) ||
                fabs(label[i + e * step] - label[i]) > 0.5)
                return 0;
        step *= n;
    }
    return 1;
}

static larmor_status find_tissue(const larmor_simulation *s, double *to)
{
    const int64_t voxels = larmor_shape_count(larmor_shape_of(s->info.ndim, s->info.matrix));
    double density[LARMOR_TISSUES], squared[LARMOR_TISSUES];
    for (int i = 0; i < LARMOR_TISSUES; i++) {
        density[i] = i + 1;
        squared[i] = (i + 1) * (i + 1);
    }
    LMR_OWN_MEMORY(double, label, picture_of(s, density, &label));
    LMR_OWN_MEMORY(double, square, picture_of(s, squared, &square));
    for (int64_t i = 0; i < voxels; i++)
        to[i] = is_alone(label, square, i) && has_like_neighbours(s, label, square, i) ? round(label[i]) : 0;
    return LARMOR_OK;
}

static larmor_status add(const larmor_simulation *s, const char *name, const double *values, larmor_truth *truth)
{
    larmor_array *map;
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F32, shape, LARMOR_F64, values, &map));
    truth->name[truth->count] = name;
    truth->map[truth->count++] = (larmor_image){map, s->geometry};
    return LARMOR_OK;
}

static larmor_status find_water_fat(const larmor_simulation *s, int64_t voxels, larmor_truth *truth)
{
    double density[LARMOR_TISSUES];
    LMR_HEAP double *water = NULL, *fat = NULL, *part = lmr_new(voxels, sizeof *part);
    LMR_HEAP double *rate = lmr_new(voxels, sizeof *rate);
    if (!part || !rate) return LMR_NO_MEMORY();
    fill_densities(0, density);
    LMR_TRY(picture_of(s, density, &water));
    fill_densities(1, density);
    LMR_TRY(picture_of(s, density, &fat));
    for (int64_t i = 0; i < voxels; i++) {
        const double all = water[i] + fat[i];
        part[i] = all > 0 ? fat[i] / all : 0;
        rate[i] = all > 0 ? s->o.r2star : 0;
    }
    LMR_TRY(add(s, "water", water, truth));
    LMR_TRY(add(s, "fat", fat, truth));
    LMR_TRY(add(s, "FF", part, truth));
    return add(s, "R2star", rate, truth);
}

static larmor_status find_times(const larmor_simulation *s, larmor_truth *truth)
{
    static const char *const names[] = {"T1", "T2", "M0"};
    for (int m = 0; m < 3; m++) {
        double density[LARMOR_TISSUES];
        for (int i = 0; i < LARMOR_TISSUES; i++) {
            const larmor_tissue t = larmor_phantom_tissue(i);
            const double of[] = {t.t1_ms, t.t2_ms, t.density};
            density[i] = of[m];
        }
        LMR_OWN_MEMORY(double, values, picture_of(s, density, &values));
        LMR_TRY(add(s, names[m], values, truth));
    }
    return LARMOR_OK;
}

static larmor_status find_truth(const larmor_simulation *s, larmor_truth *truth)
{
    const int64_t voxels = larmor_shape_count(larmor_shape_of(s->info.ndim, s->info.matrix));
    LMR_HEAP LMR_NEW(double, tissue, voxels);
    if (s->o.signal == LARMOR_SIGNAL_WATER_FAT)
        LMR_TRY(find_water_fat(s, voxels, truth));
    else
        LMR_TRY(find_times(s, truth));
    LMR_TRY(find_tissue(s, tissue));
    return add(s, "tissue", tissue, truth);
}

larmor_status larmor_simulation_truth(const larmor_simulation *simulation, larmor_truth *truth)
{
    LMR_NEED(truth);
    *truth = (larmor_truth){.count = 0};
    LMR_NEED(simulation);
    LMR_REFUSE(strcmp(simulation->o.phantom, "tissues"), LARMOR_ERR_ARG,
               "simulation: got maps of %s, expected those of tissues", simulation->o.phantom);
    const larmor_status st = find_truth(simulation, truth);
    if (st) larmor_truth_free(truth);
    return st;
}

void larmor_truth_free(larmor_truth *truth)
{
    if (!truth) return;
    for (int i = 0; i < truth->count; i++) larmor_array_free(truth->map[i].data);
    *truth = (larmor_truth){.count = 0};
}
