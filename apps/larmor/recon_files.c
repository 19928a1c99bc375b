/* The files of each --output: which images go to which of them. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recon.h"

void recon_free_files(recon_files *files)
{
    for (int i = 0; i < files->count && files->out; i++) larmor_output_free(files->out[i]);
    free(files->out);
    free(files->file);
    *files = (recon_files){.count = 0};
}

static larmor_status make_room(recon_files *files, int count)
{
    *files = (recon_files){.out = calloc((size_t)count, sizeof *files->out), .count = count};
    return files->out ? LARMOR_OK : NO_MEMORY();
}

int recon_open_files(recon_run *r, int i)
{
    if (r->s->bids_dir) return APP_DONE; /* its name follows from the images */
    APP_TRY(APP_RUN, make_room(&r->output[i], 1));
    APP_TRY(APP_RUN, app_output_open(r->s->outputs.text[i], r->s->force, r->output[i].out));
    APP_TRY(APP_RUN, app_add_files(r->s->bids, r->s->dicom_phase, r->output[i].out[0]));
    return APP_DONE;
}

/* ---- what is planned ---- */

typedef struct planned { /* all images, series after series */
    larmor_image_place *place;
    int *group, *file; /* of the source; of the files */
    int count, groups;
} planned;

static larmor_status plan_images(const recon_run *r, planned *e)
{
    const int series = larmor_recon_series(r->recon);
    larmor_recon_plan plan;
    larmor_status st = LARMOR_OK;
    int all = 0;
    for (int s = 0; s < series && !st; s++) {
        st = larmor_recon_describe(r->recon, s, &plan);
        all += plan.images;
    }
    *e = (planned){.place = calloc((size_t)all + 1, sizeof *e->place),
                   .group = calloc((size_t)all + 1, sizeof *e->group),
                   .file = calloc((size_t)all + 1, sizeof *e->file),
                   .groups = larmor_source_describe(r->source).groups};
    if (!e->place || !e->group || !e->file) st = NO_MEMORY();
    for (int s = 0; s < series && !st; s++) {
        st = larmor_recon_describe(r->recon, s, &plan);
        if (!st) st = larmor_recon_expect(r->recon, s, e->place + e->count, e->group + e->count);
        e->count += plan.images;
    }
    return st;
}

static void free_planned(planned *e)
{
    free(e->place);
    free(e->group);
    free(e->file);
}

/* ---- several files ---- */

static larmor_status open_several(const recon_run *r, const char *path, recon_files *files)
{
    enum { ROOM = PATH_MAX };
    const int count = files->count;
    APP_HEAP char *name = malloc((size_t)count * ROOM);
    APP_HEAP const char **names = calloc((size_t)count, sizeof *names);
    if (!name || !names) return NO_MEMORY();
    for (int f = 0; f < count; f++) {
        names[f] = name + (size_t)f * ROOM;
        TRY(larmor_divided_name(path, f, name + (size_t)f * ROOM, ROOM));
    }
    TRY(app_outputs_open(names, count, r->s->force, files->out));
    for (int f = 0; f < count; f++) TRY(app_add_files(r->s->bids, r->s->dicom_phase, files->out[f]));
    app_log("%s: one file cannot hold all images: %s to %s are written%s", path, names[0], names[count - 1],
            access(path, F_OK) ? "" : "; the file of that name is an earlier one, and is left as it is");
    return LARMOR_OK;
}

static larmor_status reserve(const recon_run *r, const recon_files *files, const planned *e)
{
    for (int f = 0; f < files->count; f++) {
        larmor_shape shape = {.ndim = 0};
        int64_t images = 0;
        for (int i = 0; i < e->count; i++) {
            if (e->file[i] != f) continue;
            shape = e->place[i].shape;
            images++;
        }
        TRY(larmor_output_reserve(files->out[f], LARMOR_C64, larmor_shape_append(shape, images), r->s->magnitude));
    }
    return LARMOR_OK;
}

/* ---- a data set of BIDS ---- */

/* A file for each contrast, which are echoes: their numbers, from 1, and how many there are. */
static int divide_echoes(const recon_run *r, const planned *e, int echo[])
{
    int count = 0;
    for (int i = 0; i < e->count; i++) {
        int f = 0;
        while (f < count && echo[f] != e->place[i].meta.contrast + 1) f++;
        if (f == count) echo[count++] = e->place[i].meta.contrast + 1;
        e->file[i] = f;
    }
    if (count == 1 && larmor_raw_describe(r->raw).echoes < 2 && echo[0] == 1) echo[0] = 0;
    return count;
}

static larmor_status open_bids(const recon_run *r, const char *name, const int *echo, recon_files *files)
{
    TRY(larmor_bids_part(name, &files->part));
    for (int f = 0; f < files->count; f++) {
        const int said = files->count == 1 && strstr(name, "_echo-");
        TRY(larmor_bids_open(r->s->bids_dir, name, said ? 0 : echo[f], r->s->force, &files->out[f]));
    }
    return LARMOR_OK;
}

static larmor_status divide_bids(recon_run *r, int number, planned *e)
{
    recon_files *files = &r->output[number];
    const char *name = r->s->outputs.text[number];
    APP_HEAP int *echo = calloc((size_t)e->count, sizeof *echo);
    int count;
    if (!echo) return NO_MEMORY();
    TRY(larmor_images_divide(name, e->place, e->count, e->file, &count));
    if (count > 1)
        return larmor_fail(LARMOR_ERR_ARG,
                           "%s: one file cannot hold all images, and BIDS has one name for it; choose images by "
                           "--slice or --encoding.",
                           name);
    TRY(make_room(files, divide_echoes(r, e, echo)));
    files->file = calloc((size_t)e->groups + 1, sizeof *files->file);
    if (!files->file) return NO_MEMORY();
    for (int i = 0; i < e->count; i++) files->file[e->group[i]] = e->file[i];
    TRY(open_bids(r, name, echo, files));
    return reserve(r, files, e);
}

/* ---- for each output ---- */

static larmor_status divide(recon_run *r, int number, planned *e)
{
    if (r->s->bids_dir) return divide_bids(r, number, e);
    recon_files *files = &r->output[number];
    const char *path = r->s->outputs.text[number];
    int count;
    larmor_status st = larmor_images_divide(path, e->place, e->count, e->file, &count);
    if (!st && count > 1) {
        recon_free_files(files);
        st = make_room(files, count);
        if (!st) files->file = calloc((size_t)e->groups + 1, sizeof *files->file);
        if (!st && !files->file) st = NO_MEMORY();
        for (int i = 0; i < e->count && !st; i++) files->file[e->group[i]] = e->file[i];
        if (!st) st = open_several(r, path, files);
    }
    return st ? st : reserve(r, files, e);
}

int recon_divide_files(recon_run *r)
{
    APP_FREED_BY(free_planned) planned e;
    APP_TRY(APP_RUN, plan_images(r, &e));
    for (int i = 0; i < r->s->outputs.count && e.count; i++) APP_TRY(APP_RUN, divide(r, i, &e));
    return APP_DONE;
}
