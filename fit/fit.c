/* Fits of all voxels: which are fitted, their series, and the maps. On the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit/fit.h"
#include "core/core.h"

#define DEFAULT_THRESHOLD 0.1 /* of the brightest: as of field maps */
#define BRIGHTEST 0.98        /* the quantile of root mean squares that stands for the brightest part */
#define LEAST_T 0.2           /* of the smallest distance of times */
#define MOST_T 20.            /* of the largest time */

typedef struct model_row {
    const char *name, *help;
    int least; /* times that differ */
    int maps;
    const char *map[LARMOR_FIT_MAX_MAPS], *unit[LARMOR_FIT_MAX_MAPS];
} model_row;

static const model_row models[] = {
    [LARMOR_FIT_T2] = {"t2", "decay of spin echoes", 2, 2, {"T2", "M0"}, {"ms", ""}},
    [LARMOR_FIT_T2_STAR] = {"t2star", "decay of gradient echoes", 2, 2, {"T2star", "M0"}, {"ms", ""}},
    [LARMOR_FIT_T1_IR] = {"t1-ir", "inversion recovery", 3, 3, {"T1", "M0", "INV"}, {"ms", "", ""}},
    [LARMOR_FIT_T1_LL] = {"t1-ll", "Look-Locker", 3, 3, {"T1", "M0", "T1star"}, {"ms", "", "ms"}},
    [LARMOR_FIT_WATER_FAT] = {"water-fat",
                              "water, fat and R2* of gradient echoes",
                              3,
                              5,
                              {"water", "fat", "FF", "R2star", "field"},
                              {"", "", "", "1/s", "Hz"}},
};
enum { MODELS = sizeof models / sizeof *models };

const char *larmor_fit_model_name(int entry, const char **help)
{
    if (entry < 0 || entry >= MODELS) return NULL;
    if (help) *help = models[entry].help;
    return models[entry].name;
}

const char *larmor_fit_map_name(int entry, int m)
{
    return entry >= 0 && entry < MODELS && m >= 0 && m < models[entry].maps ? models[entry].map[m] : NULL;
}

void larmor_fit_maps_free(larmor_fit_maps *maps)
{
    if (!maps) return;
    for (int m = 0; m < LARMOR_FIT_MAX_MAPS; m++) LMR_FREE(maps->map[m].value, maps->map[m].deviation);
    larmor_array_free(maps->residual);
    *maps = (larmor_fit_maps){.count = 0};
}

static void free_work(lmr_fit_work *w)
{
    LMR_FREE(w->images, w->noise, w->state);
    for (int m = 0; m < LARMOR_FIT_MAX_MAPS; m++) LMR_FREE(w->value[m], w->deviation[m]);
    free(w->residual);
}

/* ---- times ---- */

static larmor_status sort_times(const double *ms, int least, lmr_fit_work *w)
{
    lmr_fit_series *s = &w->series;
    double distance = 0;
    int different = 1;
    for (int j = 0; j < s->times; j++) {
        int at = j;
        LMR_REFUSE(!isfinite(ms[j]) || ms[j] < 0, LARMOR_ERR_ARG,
                   "ms[%d]: got %g, expected a time in ms, finite and not negative", j, ms[j]);
        for (; at > 0 && s->t[at - 1] > ms[j]; at--) {
            s->t[at] = s->t[at - 1];
            w->order[at] = w->order[at - 1];
        }
        s->t[at] = ms[j];
        w->order[at] = j;
    }
    if (s->times && s->t[0] > 0) distance = s->t[0];
    for (int j = 1; j < s->times; j++) {
        const double step = s->t[j] - s->t[j - 1];
        if (!(step > 0)) continue;
        different++;
        if (!(distance > 0) || step < distance) distance = step;
    }
    LMR_REFUSE(different < least, LARMOR_ERR_ARG, "ms: got %d different time%s, expected at least %d for %s",
               different, different == 1 ? "" : "s", least, models[s->model].name);
    s->low = log(LEAST_T * distance);
    s->high = log(MOST_T * s->t[s->times - 1]);
    return LARMOR_OK;
}

/* ---- voxels ---- */

static larmor_status check_voxels(const char *name, const larmor_array *x, const lmr_fit_work *w)
{
    LMR_REFUSE(!lmr_is_real(x->dtype) || larmor_array_count(x) != w->voxels, LARMOR_ERR_SHAPE,
               "%s: got %s, expected real numbers for %lld voxels", name, lmr_describe(x).s, (long long)w->voxels);
    return larmor_array_expect_finite(x, name);
}

static larmor_status take_mask(const larmor_array *mask, lmr_fit_work *w)
{
    LMR_TRY(check_voxels("opts.mask", mask, w));
    LMR_OWN_MEMORY(float, inside, larmor_array_download(mask, LARMOR_F32, &inside));
    for (int64_t i = 0; i < w->voxels; i++) w->state[i] = inside[i] != 0 ? LMR_FIT_INSIDE : LMR_FIT_OUTSIDE;
    return LARMOR_OK;
}

static larmor_status find_object(double threshold, lmr_fit_work *w, double *level)
{
    LMR_HEAP double *size = lmr_new(w->voxels, sizeof *size), *sorted = lmr_new(w->voxels, sizeof *sorted);
    if (!size || !sorted) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < w->voxels; i++) {
        double sum = 0;
        for (int j = 0; j < w->series.times; j++)
            for (int p = 0; p < w->series.parts; p++) sum += lmr_fit_at(w, i, j, p) * lmr_fit_at(w, i, j, p);
        sorted[i] = size[i] = sqrt(sum / w->series.times);
    }
    *level = threshold * lmr_select_f64(sorted, w->voxels, (int64_t)(BRIGHTEST * (double)(w->voxels - 1)));
    for (int64_t i = 0; i < w->voxels; i++) w->state[i] = size[i] > *level ? LMR_FIT_INSIDE : LMR_FIT_OUTSIDE;
    return LARMOR_OK;
}

static larmor_status take_options(const larmor_fit_opts *opts, lmr_fit_work *w, larmor_fit_maps *maps)
{
    const double threshold = opts->threshold > 0 ? opts->threshold : DEFAULT_THRESHOLD;
    LMR_REFUSE(!isfinite(opts->noise) || opts->noise < 0, LARMOR_ERR_ARG,
               "opts.noise: got %g, expected a deviation, 0 or more", opts->noise);
    LMR_REFUSE(!(opts->threshold >= 0 && opts->threshold < 1), LARMOR_ERR_ARG,
               "opts.threshold: got %g, expected 0 to below 1", opts->threshold);
    w->any = opts->noise;
    if (opts->noise_map) {
        LMR_TRY(check_voxels("opts.noise_map", opts->noise_map, w));
        LMR_TRY(larmor_array_download(opts->noise_map, LARMOR_F32, &w->noise));
    }
    LMR_TRY(opts->mask ? take_mask(opts->mask, w) : find_object(threshold, w, &maps->threshold));
    for (int64_t i = 0; i < w->voxels; i++) maps->inside += w->state[i] == LMR_FIT_INSIDE;
    if (maps->inside) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "fit: got no voxel %s, expected at least one; are the images zero?",
                    opts->mask ? "in opts.mask" : "above the threshold");
}

/* Spin echoes may have any phase each, by stimulated echoes or imperfect pulses: their magnitudes are fitted. */
static void take_magnitudes(lmr_fit_work *w)
{
    for (int64_t i = 0; i < w->voxels * w->series.times; i++)
        w->images[i] = hypotf(w->images[2 * i], w->images[2 * i + 1]);
}

static larmor_status take_images(const larmor_array *images, lmr_fit_work *w)
{
    const int is_complex = lmr_is_complex(images->dtype);
    LMR_TRY(larmor_array_expect_finite(images, "images"));
    LMR_TRY(larmor_array_download(images, is_complex ? LARMOR_C64 : LARMOR_F32, &w->images));
    if (is_complex && w->series.model == LARMOR_FIT_T2) take_magnitudes(w);
    w->series.parts = is_complex && w->series.model != LARMOR_FIT_T2 ? 2 : 1;
    w->series.turns = w->series.parts == 2 && w->series.model == LARMOR_FIT_T2_STAR;
    w->series.positive = w->series.parts == 1;
    for (int64_t i = 0; i < w->voxels * w->series.times && w->series.positive; i++)
        w->series.positive = w->images[i] >= 0;
    w->state = calloc((size_t)w->voxels + 1, 1);
    w->residual = calloc((size_t)w->voxels + 1, sizeof *w->residual);
    if (!w->state || !w->residual) return LMR_NO_MEMORY();
    for (int m = 0; m < models[w->series.model].maps; m++) {
        LMR_ALLOCATE_ZEROS(w->value[m], w->voxels + 1);
        LMR_ALLOCATE_ZEROS(w->deviation[m], w->voxels + 1);
    }
    return LARMOR_OK;
}

static int fit_series(const lmr_fit_series *s, double *y, double noise, lmr_fit_voxel *out)
{
    lmr_fit_curve curve;
    const int has_minimum =
        s->turns ? lmr_fit_turning(s, y, noise, &curve) : lmr_fit_exponential(s, y, noise, &curve);
    const int has_level = noise > 0 || (s->times > 2 && curve.squares > 0);
    if (s->positive && has_level && !lmr_fit_has_constant(s->model)) return lmr_fit_rician(s, y, noise, &curve, out);
    return has_minimum && lmr_fit_parameters(s, &curve, noise, out);
}

static void fit_voxel(void *self, int64_t i)
{
    lmr_fit_work *w = self;
    double y[2 * LMR_FIT_TIMES];
    lmr_fit_voxel out = {.residual = 0};
    if (w->state[i] != LMR_FIT_INSIDE) return;
    lmr_fit_read(w, i, y);
    const int is_fitted = fit_series(&w->series, y, w->noise ? w->noise[i] : w->any, &out);
    lmr_fit_keep(w, i, models[w->series.model].maps, is_fitted, &out);
}

/* ---- maps ---- */

static larmor_status put_maps(const lmr_fit_work *w, const larmor_array *images, int has_deviation,
                              larmor_fit_maps *maps)
{
    const model_row *m = &models[w->series.model];
    const larmor_shape shape = larmor_shape_of(images->shape.ndim - 1, images->shape.dim);
    for (int64_t i = 0; i < w->voxels; i++) maps->failed += w->state[i] == LMR_FIT_FAILED;
    for (maps->count = 0; maps->count < m->maps; maps->count++) {
        larmor_fit_map *map = &maps->map[maps->count];
        map->name = m->map[maps->count];
        map->unit = m->unit[maps->count];
        LMR_TRY(larmor_array_upload(images->dev, LARMOR_F32, shape, LARMOR_F32, w->value[maps->count], &map->value));
        if (has_deviation)
            LMR_TRY(larmor_array_upload(images->dev, LARMOR_F32, shape, LARMOR_F32, w->deviation[maps->count],
                                        &map->deviation));
    }
    return larmor_array_upload(images->dev, LARMOR_F32, shape, LARMOR_F32, w->residual, &maps->residual);
}

static larmor_status fit_all(const larmor_array *images, const double *ms, const larmor_fit_opts *opts,
                             lmr_fit_work *w, larmor_fit_maps *maps)
{
    const model_row *m = &models[w->series.model];
    LMR_TRY(sort_times(ms, m->least, w));
    LMR_TRY(take_images(images, w));
    LMR_TRY(take_options(opts, w, maps));
    if (w->series.model == LARMOR_FIT_WATER_FAT)
        LMR_TRY(lmr_fit_water_fat(w, images, opts, &maps->other_sign));
    else
        LMR_TRY(lmr_parallel(lmr_device_threads(images->dev), w->voxels, fit_voxel, w));
    const int parameters = 1 + w->series.turns + w->series.parts * (m->least - 1);
    maps->polarity = w->series.positive && lmr_fit_has_constant(w->series.model);
    if (w->series.positive) maps->lowered = w->noise || w->any > 0 ? 1 : 2 + (w->series.times < 3);
    return put_maps(w, images, w->noise || w->any > 0 || w->series.parts * w->series.times > parameters, maps);
}

larmor_status larmor_fit(const larmor_array *images, larmor_fit_model model, const double *ms,
                         const larmor_fit_opts *opts, larmor_fit_maps *maps)
{
    static const larmor_fit_opts none = {.noise = 0};
    LMR_NEED(maps);
    *maps = (larmor_fit_maps){.count = 0};
    LMR_NEED(images, ms);
    LMR_REFUSE((int)model < 0 || (int)model >= MODELS, LARMOR_ERR_ARG, "model: got %d, expected 0 to %d", (int)model,
               MODELS - 1);
    const int last = images->shape.ndim - 1;
    const int64_t times = last >= 0 ? images->shape.dim[last] : 0;
    LMR_REFUSE(last < 0 || images->dtype == LARMOR_I64 || times < 1 || times > LMR_FIT_TIMES ||
                   !larmor_array_count(images),
               LARMOR_ERR_SHAPE, "images: got %s, expected real or complex [..., times] with 1 to %d times",
               lmr_describe(images).s, LMR_FIT_TIMES);
    LMR_FREED_BY(free_work) lmr_fit_work w = {.series = {.model = model, .times = (int)times}};
    w.voxels = larmor_array_count(images) / times;
    const larmor_status st = fit_all(images, ms, opts ? opts : &none, &w, maps);
    if (st) larmor_fit_maps_free(maps);
    return st;
}
