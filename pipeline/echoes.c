/* Field maps from the echoes of a scan: the pipeline makes the images, recon/field/field_map.c the maps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "scan/events.h"
#include "scan/settings.h"
#include "scan/source.h"

enum { ROUNDS = 2, MOST_ROUNDS = 10 };

LMR_OWNS(larmor_recon, larmor_recon_free)

typedef struct echoes {
    larmor_source *source;
    larmor_device *dev;
    larmor_recon_opts opts;
    larmor_counters only;
    int by_set;            /* 1: echoes are sets */
    int count, slices;     /* of the echoes; one more than the largest number of a slice */
    const double *echo_ms; /* [count] */
    double from_source[LARMOR_MAX_ECHOES];
    larmor_field_map_opts map;
    lmr_events events;
    larmor_recon_image *image; /* [images] of a round */
    int images;
    int64_t room;
} echoes;

static void free_images(echoes *s)
{
    for (int i = 0; i < s->images; i++) larmor_array_free(s->image[i].data);
    s->images = 0;
}

void larmor_field_maps_free(larmor_field_maps *maps)
{
    if (!maps) return;
    for (int i = 0; maps->image && i < maps->count; i++) larmor_array_free(maps->image[i].data);
    LMR_FREE(maps->all, maps->image, maps->report);
    *maps = (larmor_field_maps){.count = 0};
}

/* ---- which images ---- */

static int wanted(int only, int value)
{
    return only < 0 || only == value;
}

static int is_wanted(const larmor_counters *only, const larmor_group *g)
{
    return (only->encoding < 1 || only->encoding == g->encoding + 1) && wanted(only->slice, g->slice) &&
           wanted(only->contrast, g->contrast) && wanted(only->phase, g->phase) &&
           wanted(only->repetition, g->repetition) && wanted(only->set, g->set);
}

/* Of phases and repetitions those of the first wanted image; and which counter numbers the echoes. */
static larmor_status look_at_groups(echoes *s)
{
    const larmor_raw_info info = larmor_source_describe(s->source);
    larmor_group first = {.encoding = 0}, g;
    int contrasts = 0, sets = 0, found = 0;
    for (int i = 0; i < info.groups; i++) {
        LMR_TRY(lmr_source_group(s->source, i, &g));
        if (!is_wanted(&s->only, &g)) continue;
        if (!found) first = g;
        found = 1;
        if (g.encoding != first.encoding) continue;
        contrasts |= g.contrast != first.contrast;
        sets |= g.set != first.set;
        if (g.slice >= s->slices) s->slices = g.slice + 1;
    }
    LMR_REFUSE(!found || (!contrasts && !sets), LARMOR_ERR_ARG,
               "%s: there is one echo; two contrasts at least expected, from which to find the field map.",
               lmr_source_name(s->source));
    s->by_set = !contrasts;
    s->only.phase = first.phase;
    s->only.repetition = first.repetition;
    if (!s->by_set) s->only.set = first.set;
    return LARMOR_OK;
}

static void find_times(echoes *s, const larmor_echo_opts *o)
{
    const larmor_raw_info info = larmor_source_describe(s->source);
    s->echo_ms = o->echo_ms;
    s->count = o->echoes;
    if (o->echo_ms && o->echoes > 0) return;
    memcpy(s->from_source, info.echo_ms, sizeof s->from_source);
    s->echo_ms = s->from_source;
    s->count = info.echoes;
}

/* ---- images ---- */

static larmor_status keep(echoes *s, larmor_recon_result *result)
{
    const char *name = lmr_source_name(s->source);
    LMR_REFUSE(!result->count, LARMOR_ERR_NUMERIC, "%s: %s", name, result->report.message);
    LMR_REFUSE(result->report.interrupted, LARMOR_STOPPED, "stopped by the caller between echoes");
    for (int i = 0; i < result->count; i++) {
        LMR_TRY(lmr_grow(&s->image, s->images, &s->room, sizeof *s->image));
        s->image[s->images] = result->image[i];
        LMR_TRY(larmor_array_to(result->image[i].data, s->dev, &s->image[s->images].data));
        s->images++;
    }
    return LARMOR_OK;
}

static larmor_status make_images(echoes *s, larmor_array *b0)
{
    s->opts.b0 = b0;
    free_images(s);
    LMR_OWN(larmor_recon, recon, larmor_recon_create(s->source, s->dev, &s->opts, &recon));
    for (int i = 0; i < larmor_recon_series(recon); i++) {
        LMR_FREED_BY(larmor_recon_result_free) larmor_recon_result result = {.count = 0};
        LMR_TRY(larmor_recon_run(recon, i, &result));
        LMR_TRY(keep(s, &result));
    }
    return LARMOR_OK;
}

/* ---- maps ---- */

/* The images of a slice next to each other, and their times; *echoes of them. */
static larmor_status stack_echoes(const echoes *s, int slice, larmor_array **stack, double *seconds, int *count,
                                  larmor_image_meta *meta)
{
    larmor_shape shape = {0};
    *count = 0;
    *stack = NULL;
    for (int i = 0; i < s->images; i++) {
        const larmor_recon_image *image = &s->image[i];
        if (image->meta.slice != slice) continue;
        const int echo = s->by_set ? image->meta.set : image->meta.contrast;
        if (!*count) {
            shape = larmor_array_shape(image->data);
            *meta = image->meta;
        }
        LMR_REFUSE(echo >= s->count, LARMOR_ERR_ARG,
                   "%s: echo %d has no echo time, %d are known; state them all by opts.echo_ms.",
                   lmr_source_name(s->source), echo, s->count);
        LMR_REFUSE(*count == LARMOR_MAX_ECHOES || !larmor_shape_equal(shape, larmor_array_shape(image->data)),
                   LARMOR_ERR_FORMAT, "%s: the echoes of slice %d are more than %d or differ in size",
                   lmr_source_name(s->source), slice, LARMOR_MAX_ECHOES);
        seconds[(*count)++] = 1e-3 * s->echo_ms[echo];
    }
    if (!*count) return LARMOR_OK;
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, larmor_shape_append(shape, *count), stack));
    int to = 0;
    for (int i = 0; i < s->images; i++) {
        if (s->image[i].meta.slice != slice) continue;
        LMR_OWN(larmor_array, part, larmor_array_part(*stack, to++, 1, shape, &part));
        LMR_TRY(larmor_copy(s->image[i].data, part));
    }
    return LARMOR_OK;
}

static larmor_status map_of_slice(echoes *s, int slice, larmor_field_maps *maps)
{
    double seconds[LARMOR_MAX_ECHOES];
    int count;
    larmor_recon_image *image = &maps->image[maps->count];
    larmor_field_map_report *report = &maps->report[maps->count];
    LMR_OWN(larmor_array, stack, stack_echoes(s, slice, &stack, seconds, &count, &image->meta));
    if (!count) return LARMOR_OK;
    const int ndim = larmor_array_shape(stack).ndim - 1;
    larmor_field_map_opts opts = s->map;
    for (int d = 0; d < ndim && !(s->map.spacing[0] > 0); d++)
        opts.spacing[d] = image->meta.fov_mm[d] / (double)larmor_array_shape(stack).dim[d];
    const larmor_status st = larmor_field_map(stack, ndim, seconds, &opts, &image->data, report);
    if (st) return lmr_fail_in(st, lmr_source_name(s->source));
    image->meta.contrast = image->meta.set = 0;
    maps->count++;
    lmr_log(&s->events,
            "field map of slice %d: %.0f .. %.0f Hz in the object, %.0f %% of the voxels in %d region%s; %d echoes, "
            "unambiguous up to multiples of %.0f Hz; measured values are %.1f Hz off the smooth map",
            slice, report->low, report->high, 100 * report->object, report->regions, report->regions == 1 ? "" : "s",
            count, report->unambiguous, report->residual);
    return LARMOR_OK;
}

/* All slices by their numbers; zero where there is none. */
static larmor_status stack_maps(const echoes *s, larmor_field_maps *maps)
{
    const larmor_shape shape = larmor_array_shape(maps->image[0].data);
    const larmor_shape all = shape.ndim < 3 ? larmor_shape_append(shape, s->slices) : shape;
    LMR_REFUSE(shape.ndim == 3 && s->slices > 1 && maps->count > 1, LARMOR_ERR_UNSUPPORTED,
               "%s: field maps of several volumes at once; choose one by opts.only.slice.",
               lmr_source_name(s->source));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_F32, all, &maps->all));
    for (int i = 0; i < maps->count; i++) {
        const int slice = shape.ndim < 3 ? maps->image[i].meta.slice : 0;
        LMR_OWN(larmor_array, part, larmor_array_part(maps->all, slice, 1, shape, &part));
        LMR_TRY(larmor_copy(maps->image[i].data, part));
    }
    return LARMOR_OK;
}

static larmor_status make_maps(echoes *s, larmor_field_maps *maps)
{
    LMR_ALLOCATE_ZEROS(maps->image, s->slices);
    LMR_ALLOCATE_ZEROS(maps->report, s->slices);
    for (int slice = 0; slice < s->slices; slice++) LMR_TRY(map_of_slice(s, slice, maps));
    LMR_REFUSE(!maps->count, LARMOR_ERR_ARG, "%s: no slice has two echoes", lmr_source_name(s->source));
    return stack_maps(s, maps);
}

larmor_status larmor_recon_field_maps(larmor_source *source, larmor_device *dev, const larmor_recon_opts *opts,
                                      const larmor_echo_opts *echo, larmor_field_maps *maps)
{
    LMR_NEED(maps);
    *maps = (larmor_field_maps){.count = 0};
    LMR_REFUSE(!source || !dev, LARMOR_ERR_ARG, "field maps: a source and a device expected");
    const larmor_echo_opts o = echo ? *echo : (larmor_echo_opts){.rounds = 0};
    const int rounds = o.rounds ? o.rounds : ROUNDS;
    LMR_REFUSE(rounds < 1 || rounds > MOST_ROUNDS || o.echoes < 0 || (o.echoes && !o.echo_ms), LARMOR_ERR_ARG,
               "field maps: %d rounds, expected 1 .. %d, and the times of all echoes", rounds, MOST_ROUNDS);
    echoes s = {.source = source, .dev = dev, .map = o.map};
    LMR_TRY(lmr_options_copy(opts, &s.opts));
    s.events.listener = s.opts.listener;
    s.events.user = s.opts.user;
    s.only = s.opts.only ? *s.opts.only : (larmor_counters){-1, -1, -1, -1, -1, 0};
    s.opts.only = &s.only;
    s.opts.joint = 0;
    s.opts.checkpoint = NULL;
    s.opts.b0_place = NULL;
    find_times(&s, &o);
    larmor_status st = look_at_groups(&s);
    for (int round = 0; round < rounds && !st; round++) {
        larmor_array *before = maps->all;
        maps->all = NULL;
        larmor_field_maps_free(maps);
        st = make_images(&s, before);
        larmor_array_free(before);
        if (!st) st = make_maps(&s, maps);
    }
    free_images(&s);
    free(s.image);
    if (st) larmor_field_maps_free(maps);
    return st;
}
