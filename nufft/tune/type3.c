/* Timing the pairs of grids of a type 3 on its points and targets. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/tune/race.h"
#include "nufft/tune/tune.h"

typedef struct trial {
    const lmr_type3_job *job;
    larmor_array *in, *out;
    larmor_timer *timer, *clock; /* of a run, and of the whole search */
    lmr_type3 *best;
    double seconds; /* of the best; INFINITY before */
    int tried;
} trial;

/* An execute of one of them. */
typedef struct runner {
    const trial *t;
    lmr_type3 *type3;
} runner;

static larmor_status execute(void *self)
{
    const runner *r = self;
    LMR_TRY(lmr_type3_execute(r->type3, 0, r->t->in, r->t->out));
    return r->t->job->opts->both_directions ? lmr_type3_execute(r->type3, 1, r->t->out, r->t->in) : LARMOR_OK;
}

/* The seconds of another one, and the best's beside it where it comes near. */
static larmor_status time_beside_best(trial *t, lmr_type3 *other, double *seconds)
{
    runner best = {t, t->best}, mine = {t, other};
    const lmr_run runs[2] = {{execute, &best}, {execute, &mine}};
    LMR_TRY(lmr_race_time(t->timer, runs[1], t->seconds, seconds));
    if (*seconds > lmr_race_close * t->seconds || isinf(t->seconds)) return LARMOR_OK;
    double both[2] = {t->seconds, *seconds};
    LMR_TRY(lmr_race_compare(t->timer, runs, both));
    t->seconds = both[0];
    *seconds = both[1];
    return LARMOR_OK;
}

/* What there is no room for is left out, as long as something is in. */
static larmor_status try_choice(trial *t, const lmr_type3_choice *choice)
{
    lmr_type3 *other;
    double seconds, spent;
    LMR_TRY(larmor_timer_stop(t->clock, &spent));
    if (t->tried && spent * (t->tried + 1) / t->tried > lmr_race_budget((int)t->job->opts->effort)) return LARMOR_OK;
    larmor_status st = lmr_type3_make(t->job, choice, &other);
    if (st) return st == LARMOR_ERR_MEMORY && t->best ? LARMOR_OK : st;
    st = time_beside_best(t, other, &seconds);
    t->tried++;
    if (st || seconds >= t->seconds) {
        lmr_type3_free(other);
        return st;
    }
    lmr_type3_free(t->best);
    t->best = other;
    t->seconds = seconds;
    return LARMOR_OK;
}

static larmor_status search(trial *t, const lmr_type3_choice *list, int count)
{
    const lmr_type3_job *j = t->job;
    larmor_device *dev = j->on->dev;
    const larmor_dtype dtype = j->opts->dtype;
    const int64_t batch = j->opts->batch;
    LMR_TRY(larmor_timer_create(dev, &t->timer));
    LMR_TRY(larmor_timer_create(dev, &t->clock));
    LMR_TRY(larmor_array_create(dev, dtype, LARMOR_SHAPE(j->m, batch), &t->in));
    LMR_TRY(larmor_array_create(dev, dtype, LARMOR_SHAPE(j->n, batch), &t->out));
    LMR_TRY(dev->be->vec[j->on->precision]->random(dev->ctx, j->m * batch, 1, t->in->data));
    LMR_TRY(larmor_timer_start(t->clock));
    for (int i = 0; i < count; i++) LMR_TRY(try_choice(t, &list[i]));
    return LARMOR_OK;
}

/* MEASURE takes the model's first few. */
static larmor_status quickest(const lmr_type3_job *j, const lmr_type3_choice *list, int count, lmr_type3_tuned *best)
{
    enum { PROMISING = 6 };
    trial t = {.job = j, .seconds = INFINITY};
    if (j->opts->effort == LARMOR_PLAN_MEASURE && count > PROMISING) count = PROMISING;
    const larmor_status st = search(&t, list, count);
    larmor_timer_free(t.timer);
    larmor_timer_free(t.clock);
    LMR_FREE(t.in, t.out);
    if (st)
        lmr_type3_free(t.best);
    else
        *best = (lmr_type3_tuned){t.best, LARMOR_PLAN_BY_MEASUREMENT, t.seconds, t.tried};
    return st;
}

/* All pairs that keep the tolerance, at least one; *list is to be freed, also after an error. */
static larmor_status list_choices(const lmr_nufft_request *r, const double product[3], double targets,
                                  lmr_type3_choice **list, int *count)
{
    *list = malloc(LMR_NUFFT_CANDIDATES * sizeof **list);
    if (!*list) return LMR_NO_MEMORY();
    LMR_TRY(lmr_type3_choose(r, product, targets, *list));
    return lmr_type3_list(r, product, targets, *list, count);
}

larmor_status lmr_tune_type3(const lmr_type3_job *j, const lmr_nufft_request *r, lmr_type3_tuned *best)
{
    int count;
    *best = (lmr_type3_tuned){.source = LARMOR_PLAN_BY_MODEL};
    LMR_OWN_MEMORY(lmr_type3_choice, list, list_choices(r, j->product, (double)j->n, &list, &count));
    return count > 1 ? quickest(j, list, count, best) : lmr_type3_make(j, list, &best->type3);
}

/* Two are there at a time, with an input and an output of their own. */
larmor_status lmr_tune_type3_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *o, const lmr_nufft_request *r,
                                   const double product[3], double *most)
{
    lmr_type3_choice *list;
    int count = 0;
    double bytes;
    *most = 0;
    larmor_status st = list_choices(r, product, r->points, &list, &count);
    for (int i = 0; i < count && !st; i++) {
        st = lmr_type3_bytes(on, o, &list[i], r->points, &bytes);
        *most = fmax(*most, bytes);
    }
    free(list);
    *most = 2 * *most + (double)larmor_dtype_size(o->dtype) * (double)o->batch * r->points;
    return st;
}
