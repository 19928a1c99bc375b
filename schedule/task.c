/* The queue of series that several devices take from. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/task.h"

#include "core/core.h"
#include "schedule/checkpoint.h"

void lmr_clear_task(lmr_task *t)
{
    while (t->lines) {
        lmr_line *next = t->lines->next;
        LMR_FREE(t->lines->text, t->lines);
        t->lines = next;
    }
    for (int i = 0; t->values && i < t->result.count; i++) free(t->values[i]);
    free(t->values);
    larmor_recon_result_free(&t->result);
    lmr_found_free(&t->found);
    *t = (lmr_task){.series = t->series, .maps_from = t->maps_from, .state = LMR_TASK_WAITS};
    t->last_line = &t->lines;
}

void lmr_add_line(lmr_task *t, int warning, const char *text)
{
    lmr_line *l = malloc(sizeof *l);
    if (!l) return;
    *l = (lmr_line){.warning = warning, .text = strdup(text)};
    *t->last_line = l;
    t->last_line = &l->next;
}

/* The series goes through the groups of its list: maps stay those of a slice's first group until another slice
 * comes. */
void lmr_map_source_group(const lmr_devices *d, int series, int *from)
{
    const lmr_series *list = &d->recon->list;
    for (int i = list->first[series]; i < list->first[series + 1]; i++) {
        const larmor_group *now = &d->group[list->group[i]];
        const larmor_group *before = *from < 0 ? NULL : &d->group[*from];
        if (!before || now->encoding != before->encoding || now->slice != before->slice) *from = list->group[i];
    }
}

void lmr_fill_queue(lmr_devices *d)
{
    const larmor_recon *r = d->recon;
    for (; d->end < r->list.series && d->end < d->first + d->room; d->end++) {
        lmr_task *t = lmr_task_of(d, d->end);
        *t = (lmr_task){.series = d->end, .maps_from = d->maps_next, .state = LMR_TASK_WAITS};
        t->last_line = &t->lines;
        if (lmr_keep_has(r, d->end))
            t->state = LMR_TASK_KEPT;
        else
            lmr_map_source_group(d, d->end, &d->maps_next);
    }
}

void lmr_empty_queue(lmr_devices *d)
{
    for (int s = d->first; s < d->end; s++) lmr_clear_task(lmr_task_of(d, s));
    d->first = d->end = 0;
}

int lmr_count_tasks(const lmr_devices *d, lmr_task_state state)
{
    int count = 0;
    for (int s = d->first; s < d->end; s++) count += lmr_task_of(d, s)->state == state;
    return count;
}

/* Before anything is decided by a first image, later ones would have to be computed twice. */
static int is_open(const lmr_devices *d)
{
    const lmr_job *job = &d->recon->job;
    const int weight = lmr_chooses(job) && d->known.chosen.weight == 0;
    const int density = (job->found.method.kind == LMR_METHOD_GRID || job->settings->opts.weighted) &&
                        job->settings->opts.density == LARMOR_DENSITY_AUTO && d->known.density == LARMOR_DENSITY_AUTO;
    return !d->handed_out && (weight || density);
}

lmr_task *lmr_next_task(const lmr_devices *d)
{
    if (d->stop) return NULL;
    for (int s = d->first; s < d->end; s++) {
        lmr_task *t = lmr_task_of(d, s);
        if (t->state == LMR_TASK_WAITS) return s > d->first && is_open(d) ? NULL : t;
        if (t->state == LMR_TASK_RUNS && is_open(d)) return NULL;
    }
    return NULL;
}
