/* The terms of a model, copied to the host; times at which all terms are alike count once. SPDX-License-Identifier:
 * Apache-2.0 */
#include "recon/field/model.h"

#include "core/core.h"
#include "recon/inputs.h"

void lmr_model_free(lmr_model *t)
{
    LMR_FREE(t->place, t->space, t->time);
    *t = (lmr_model){.place = NULL};
}

static larmor_status check(const larmor_model_term *terms, int count)
{
    LMR_REFUSE(count < 1 || count > LMR_MOST_TERMS, LARMOR_ERR_ARG, "model: got %d terms, expected 1 to %d", count,
               LMR_MOST_TERMS);
    for (int l = 0; l < count; l++) {
        const larmor_array *space = terms[l].space, *time = terms[l].time;
        LMR_REFUSE(!space || !time, LARMOR_ERR_ARG, "model: term %d has no array of places or of times", l);
        LMR_REFUSE(space->dev != terms[0].space->dev || time->dev != space->dev, LARMOR_ERR_SHAPE,
                   "model: the arrays of term %d are on another device", l);
        LMR_REFUSE(!larmor_shape_equal(space->shape, terms[0].space->shape) ||
                       !larmor_shape_equal(time->shape, terms[0].time->shape),
                   LARMOR_ERR_SHAPE, "model: term %d is %s at %s, the first %s at %s", l, lmr_describe(space).s,
                   lmr_describe(time).s, lmr_describe(terms[0].space).s, lmr_describe(terms[0].time).s);
        LMR_REFUSE(larmor_array_count(space) < 1 || larmor_array_count(time) < 1, LARMOR_ERR_SHAPE,
                   "model: an array of term %d is empty", l);
    }
    return LARMOR_OK;
}

static larmor_status read_one(const char *what, const larmor_array *x, double *to)
{
    LMR_OWN(larmor_array, real, lmr_input_real("model", what, x, &real));
    LMR_OWN_MEMORY(double, value, larmor_array_download(real, LARMOR_F64, &value));
    memcpy(to, value, sizeof *to * (size_t)larmor_array_count(x));
    return LARMOR_OK;
}

static uint64_t hash_of(const double *time, int64_t samples, int terms, int64_t j)
{
    uint64_t hash = 0;
    for (int l = 0; l < terms; l++) hash = lmr_hash(hash, &time[j + samples * l], sizeof *time);
    return hash;
}

static int is_alike(const double *time, int64_t samples, int terms, int64_t i, int64_t j)
{
    for (int l = 0; l < terms; l++)
        if (time[i + samples * l] != time[j + samples * l]) return 0;
    return 1;
}

/* place[j] <- the number of the distinct time of sample j, and first[n] <- the first sample at distinct time n. */
static larmor_status find_distinct(const double *time, int64_t samples, int terms, int64_t *place, int64_t *first,
                                   int64_t *distinct)
{
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)samples) slots *= 2;
    LMR_HEAP LMR_NEW(int64_t, slot, (int64_t)slots);
    for (uint64_t i = 0; i < slots; i++) slot[i] = -1;
    *distinct = 0;
    for (int64_t j = 0; j < samples; j++) {
        uint64_t at = hash_of(time, samples, terms, j) & (slots - 1);
        while (slot[at] >= 0 && !is_alike(time, samples, terms, first[slot[at]], j)) at = (at + 1) & (slots - 1);
        if (slot[at] < 0) {
            slot[at] = *distinct;
            first[(*distinct)++] = j;
        }
        place[j] = slot[at];
    }
    return LARMOR_OK;
}

larmor_status lmr_model_read(const larmor_model_term *terms, int count, lmr_model *t)
{
    *t = (lmr_model){.place = NULL};
    LMR_TRY(check(terms, count));
    const int64_t voxels = larmor_array_count(terms[0].space), samples = larmor_array_count(terms[0].time);
    int64_t distinct = 0;
    LMR_HEAP LMR_NEW(double, time, samples *count);
    LMR_HEAP LMR_NEW(int64_t, first, samples);
    LMR_ALLOCATE(t->space, voxels * count);
    LMR_ALLOCATE(t->place, samples);
    for (int l = 0; l < count; l++) {
        LMR_TRY(read_one("a term's array of places", terms[l].space, t->space + voxels * l));
        LMR_TRY(read_one("a term's array of times", terms[l].time, time + samples * l));
    }
    LMR_TRY(find_distinct(time, samples, count, t->place, first, &distinct));
    LMR_ALLOCATE(t->time, distinct * count);
    t->e = (lmr_exponential){.terms = count,
                             .voxels = voxels,
                             .times = distinct,
                             .threads = lmr_device_threads(larmor_array_device(terms[0].space))};
    for (int l = 0; l < count; l++) {
        for (int64_t n = 0; n < distinct; n++) t->time[n + distinct * l] = time[first[n] + samples * l];
        t->e.space[l] = t->space + voxels * l;
        t->e.time[l] = t->time + distinct * l;
        t->e.is_decay[l] = terms[l].is_decay != 0;
    }
    return LARMOR_OK;
}
