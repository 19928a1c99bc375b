/* Maps of the noise in the images of a reconstruction: made after each series, written after all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "recon.h"

typedef struct wanted {
    const char *option, *role; /* role: DataRole of the file's images */
    const char *path;
} wanted;

static wanted wanted_of(const recon_settings *s, int i)
{
    const wanted all[RECON_NOISE_MAPS] = {
        [RECON_DEVIATION] = {"noise-map", "NoiseDeviation", s->noise_map},
        [RECON_SNR] = {"snr-map", "SignalToNoise", s->snr_map},
        [RECON_G] = {"g-map", "GeometryFactor", s->g_map},
        [RECON_HEIGHT] = {"height-map", "PointHeight", s->height_map},
        [RECON_WIDTH] = {"width-map", "PointWidth", s->width_map},
        [RECON_POSTERIOR] = {"posterior-map", "PosteriorDeviation", s->posterior_map},
        [RECON_MEAN] = {"posterior-mean", "PosteriorMean", s->posterior_mean},
    };
    return all[i];
}

static int wants_noise(const recon_run *r)
{
    return r->s->noise_map || r->s->snr_map || r->s->g_map;
}

static int wants_points(const recon_run *r)
{
    return r->s->height_map || r->s->width_map;
}

static int wants_posterior(const recon_run *r)
{
    return r->s->posterior_map || r->s->posterior_mean;
}

int recon_noise_open(recon_run *r)
{
    for (int i = 0; i < RECON_NOISE_MAPS; i++) {
        const wanted w = wanted_of(r->s, i);
        if (w.path) APP_TRY(APP_RUN, app_output_open(w.path, r->s->force, &r->noise.output[i]));
    }
    return APP_DONE;
}

int recon_noise_check(const recon_run *r)
{
    larmor_recon_plan plan;
    if (!recon_made_maps(r->s)) return APP_DONE;
    APP_TRY(APP_RUN, larmor_recon_describe(r->recon, 0, &plan));
    if (r->ranks || plan.slabs)
        return app_refuse(APP_REFUSED, "%s: one process makes them, of volumes that are not in slabs.",
                          recon_made_maps(r->s));
    if (!wants_noise(r) && (plan.sets > 1 || r->s->basis || r->s->dictionary))
        return app_refuse(APP_REFUSED, "%s: images by %s have none.", recon_made_maps(r->s),
                          plan.sets > 1 ? "several sets of maps" : "coefficients of a basis");
    if (r->s->g_map && (plan.sets > 1 || r->s->basis || r->s->dictionary))
        return app_refuse(APP_REFUSED, "--g-map: %s no geometry factor; use --noise-map or --snr-map.",
                          plan.sets > 1 ? "images by several sets of maps have" : "coefficients of a basis have");
    return APP_DONE;
}

static void put(recon_run *r, const larmor_recon_image *image, int kind, larmor_array *map)
{
    r->noise.map[kind][image->group] = (larmor_image){.data = map, .meta = image->meta};
}

/* The maps of image i of the series go to the place of its group. */
static larmor_status keep(recon_run *r, const larmor_recon_image *image, const larmor_noise_map *map)
{
    larmor_array *snr;
    TRY(larmor_snr_map(image->data, map->deviation, &snr));
    put(r, image, RECON_DEVIATION, larmor_array_ref(map->deviation));
    put(r, image, RECON_SNR, snr);
    put(r, image, RECON_G, larmor_array_ref(map->g));
    return LARMOR_OK;
}

static larmor_status make_room(recon_run *r)
{
    r->noise.groups = larmor_source_describe(r->source).groups;
    for (int i = 0; i < RECON_NOISE_MAPS; i++) {
        if (!r->noise.map[i]) r->noise.map[i] = calloc((size_t)r->noise.groups, sizeof *r->noise.map[i]);
        if (!r->noise.map[i]) return NO_MEMORY();
    }
    if (!r->noise.snr) r->noise.snr = calloc((size_t)r->noise.groups, sizeof *r->noise.snr);
    return r->noise.snr ? LARMOR_OK : NO_MEMORY();
}

/* What the report has of the noise of a series' images. */
static void note_snr(recon_run *r, const larmor_recon_result *result, const larmor_noise_maps *maps)
{
    const recon_snr found = {.median = maps->snr, .width = maps->width, .samples = maps->samples};
    for (int i = 0; i < maps->count; i++) r->noise.snr[result->image[i].group] = found;
}

static int shows_noise(const recon_run *r)
{
    return (r->s->report || r->s->json) && strcmp(r->s->report_noise, "off") != 0;
}

static larmor_status take_noise(recon_run *r, int series, const larmor_recon_result *result)
{
    const int quick = !wants_noise(r);
    const int how = strcmp(r->s->report_noise, "quick") != 0 ? LARMOR_QUICK_IF_CHEAP : 1;
    const larmor_noise_opts opts = {.samples = quick ? 0 : (int)r->s->noise_samples, .quick = quick ? how : 0};
    APP_FREED_BY(larmor_noise_maps_free) larmor_noise_maps maps = {0};
    if (quick && !shows_noise(r)) return LARMOR_OK;
    larmor_status st = larmor_recon_noise(r->recon, series, result, &opts, &maps);
    if (st && st != LARMOR_STOPPED && quick) return LARMOR_OK; /* nobody asked for it */
    if (!st) st = make_room(r);
    if (!st) note_snr(r, result, &maps);
    if (!st && maps.left_out > 0)
        app_log(
            "noise map: left out, as it would take about %.0f %% of the image's iterations, and maps of all images "
            "are to take less than a tenth; --report-noise quick makes it",
            100 * maps.left_out);
    for (int i = 0; i < maps.count && !st; i++) st = keep(r, &result->image[i], &maps.map[i]);
    return st;
}

static larmor_status take_points(recon_run *r, int series, const larmor_recon_result *result)
{
    const larmor_response_opts opts = {.probes = (int)r->s->probes, .contrast = r->s->point_contrast};
    APP_FREED_BY(larmor_response_maps_free) larmor_response_maps maps = {0};
    if (!wants_points(r)) return LARMOR_OK;
    TRY(larmor_recon_response(r->recon, series, result, &opts, &maps));
    TRY(make_room(r));
    for (int i = 0; i < maps.count; i++) {
        put(r, &result->image[i], RECON_HEIGHT, larmor_array_ref(maps.map[i].height));
        put(r, &result->image[i], RECON_WIDTH, larmor_array_ref(maps.map[i].width));
    }
    return LARMOR_OK;
}

static larmor_status take_posterior(recon_run *r, int series, const larmor_recon_result *result)
{
    APP_FREED_BY(larmor_posterior_maps_free) larmor_posterior_maps maps = {0};
    if (!wants_posterior(r)) return LARMOR_OK;
    TRY(larmor_recon_posterior(r->recon, series, result, (int)r->s->posterior_samples, &maps));
    TRY(make_room(r));
    for (int i = 0; i < maps.count; i++) {
        put(r, &result->image[i], RECON_POSTERIOR, larmor_array_ref(maps.map[i].deviation));
        put(r, &result->image[i], RECON_MEAN, larmor_array_ref(maps.map[i].mean));
    }
    return LARMOR_OK;
}

int recon_noise_take(recon_run *r, int series, const larmor_recon_result *result)
{
    if (result->count < 1 || r->ranks) return APP_DONE;
    larmor_status st = take_noise(r, series, result);
    if (!st) st = take_points(r, series, result);
    if (!st) st = take_posterior(r, series, result);
    if (st == LARMOR_STOPPED) r->interrupted = 1;
    return st && st != LARMOR_STOPPED ? app_fail(APP_RUN, st) : APP_DONE;
}

/* The maps of kind i that are there; NULL: none, or no memory. */
static larmor_image *list_maps(const recon_run *r, int i, int *count)
{
    larmor_image *image = r->noise.groups ? calloc((size_t)r->noise.groups, sizeof *image) : NULL;
    *count = 0;
    for (int g = 0; g < r->noise.groups && image; g++)
        if (r->noise.map[i][g].data) image[(*count)++] = r->noise.map[i][g];
    return image;
}

larmor_image *recon_noise_snr(const recon_run *r, int *count)
{
    return list_maps(r, RECON_SNR, count);
}

static int write_map(const recon_run *r, int i)
{
    const wanted w = wanted_of(r->s, i);
    const char *const keys[] = {"DataRole"}, *const values[] = {w.role};
    const larmor_write_opts opts = {.header = larmor_raw_xml(r->raw),
                                    .identity = r->identity,
                                    .anonymous = r->s->anonymous,
                                    .notes = {keys, values, 1}};
    int count;
    APP_HEAP larmor_image *image = list_maps(r, i, &count);
    if (!image) return app_fail(APP_RUN, NO_MEMORY());
    if (!count) return APP_DONE;
    const larmor_status st = larmor_image_write(r->noise.output[i], image, count, &opts);
    if (st) return app_fail(APP_RUN, st);
    app_log("wrote %s (%d map%s)", w.path, count, app_s(count));
    return APP_DONE;
}

int recon_noise_write(const recon_run *r)
{
    int code = APP_DONE;
    for (int i = 0; i < RECON_NOISE_MAPS && !code; i++)
        if (r->noise.output[i] && r->noise.groups) code = write_map(r, i);
    return code;
}

void recon_noise_free(recon_run *r)
{
    for (int i = 0; i < RECON_NOISE_MAPS; i++) {
        for (int g = 0; g < r->noise.groups && r->noise.map[i]; g++) larmor_array_free(r->noise.map[i][g].data);
        free(r->noise.map[i]);
        larmor_output_free(r->noise.output[i]);
    }
    free(r->noise.snr);
}
