/* The true images of bins of heart and breath. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

enum { MOST_BINS = 65535, SAMPLED = 8 /* readouts of a bin, over which the object is averaged */ };

static double seconds_of(const larmor_simulation *s, int64_t readout)
{
    return 1e-3 * s->o.tr_ms * (double)readout;
}

/* bin [readouts]: heart + hearts * breath. */
static larmor_status sort(const larmor_simulation *s, int hearts, int breaths, int *bin)
{
    const int64_t n = s->info.readouts;
    LMR_HEAP LMR_NEW(lmr_ranked, list, n);
    for (int64_t i = 0; i < n; i++) {
        const double beats = larmor_phantom_cycles(&s->o.heart, seconds_of(s, i));
        const double breath = larmor_phantom_cycles(&s->o.breath, seconds_of(s, i));
        bin[i] = (int)((beats - floor(beats)) * hearts) % hearts;
        list[i] = (lmr_ranked){pow(sin(M_PI * breath), 4), i};
    }
    lmr_sort_ranked(list, n);
    for (int64_t i = 0; i < n; i++) bin[list[i].index] += hearts * (int)(i * breaths / n);
    return LARMOR_OK;
}

/* The mean of the object over some of `count` readouts. */
static larmor_status average(const larmor_simulation *s, const larmor_phantom *object, const int64_t *member,
                             int64_t count, larmor_array **image)
{
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    const int64_t used = count < SAMPLED ? count : SAMPLED;
    LMR_OWN(larmor_array, sum, larmor_array_create(s->dev, LARMOR_C64, shape, &sum));
    LMR_TRY(larmor_zero(sum));
    for (int64_t i = 0; i < used; i++) {
        const double seconds = seconds_of(s, member[(2 * i + 1) * count / (2 * used)]);
        LMR_TRY(lmr_go_on());
        LMR_OWN(larmor_phantom, now, lmr_simulation_object_at(s, object, seconds, &now));
        LMR_OWN(larmor_array, one, larmor_phantom_bandlimited(now, s->dev, LARMOR_C64, shape, &one));
        LMR_TRY(larmor_axpby(1 / (double)used, one, 1, sum));
    }
    return LMR_HAND_ON(*image, sum);
}

static larmor_status fill(const larmor_simulation *s, int hearts, int breaths, larmor_expected *e)
{
    const int64_t n = s->info.readouts;
    LMR_HEAP LMR_NEW(int, bin, n);
    LMR_HEAP LMR_NEW(int64_t, member, n);
    LMR_OWN(larmor_phantom, object, lmr_simulation_object(s, 0, &object));
    LMR_TRY(sort(s, hearts, breaths, bin));
    for (int b = 0; b < hearts * breaths; b++) {
        larmor_array *image;
        int64_t count = 0;
        for (int64_t i = 0; i < n; i++)
            if (bin[i] == b) member[count++] = i;
        if (!count) continue;
        LMR_TRY(average(s, object, member, count, &image));
        e->image[e->count] = (larmor_image){image, lmr_simulation_meta(s, 0, b / hearts)};
        e->image[e->count++].meta.phase = b % hearts;
    }
    return LARMOR_OK;
}

larmor_status larmor_simulation_states(const larmor_simulation *simulation, int heart, int breath,
                                       larmor_expected *expected)
{
    LMR_NEED(expected);
    *expected = (larmor_expected){NULL, 0};
    LMR_NEED(simulation);
    const larmor_simulation *s = simulation;
    const int64_t hearts = heart ? heart : 1;
    const int64_t breaths = breath ? breath : 1;
    LMR_REFUSE(hearts < 1 || breaths < 1 || (!heart && !breath) || hearts > MOST_BINS || breaths > MOST_BINS ||
                   hearts * breaths > MOST_BINS,
               LARMOR_ERR_ARG, "simulation: got %d bins of the heart and %d of the breath, expected 1 to %d", heart,
               breath, MOST_BINS);
    LMR_REFUSE(!lmr_simulation_beats(s) || s->info.repetitions > 1, LARMOR_ERR_ARG,
               "simulation: got bins of %s, expected one repetition with breath or heart",
               lmr_simulation_beats(s) ? "several repetitions" : "an object without breath and heart");
    LMR_NEW_ZEROS(larmor_image, image, hearts * breaths);
    expected->image = image;
    const larmor_status st = fill(s, (int)hearts, (int)breaths, expected);
    if (st) larmor_expected_free(expected);
    return st;
}
