/* The segments of some readouts, of those that see one state of an object that moves for example.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/field/sum.h"

/* The distinct times of some readouts: place[i] becomes theirs, which[] are those of all. */
static larmor_status times_of(const larmor_segments *all, const int64_t *readout, int64_t count, int64_t *place,
                              int64_t *which, int64_t *distinct)
{
    const int64_t samples = all->samples.dim[0], times = all->fit.times;
    LMR_HEAP int64_t *of_all = NULL, *own = lmr_new(times, sizeof *own);
    if (!own) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(all->place, LARMOR_I64, &of_all));
    for (int64_t t = 0; t < times; t++) own[t] = -1;
    *distinct = 0;
    for (int64_t i = 0; i < samples * count; i++) {
        const int64_t t = of_all[i % samples + samples * readout[i / samples]];
        if (own[t] < 0) {
            own[t] = *distinct;
            which[(*distinct)++] = t;
        }
        place[i] = own[t];
    }
    return LARMOR_OK;
}

/* Segments are spread over all readouts' times, as they were: the reach stays. */
static larmor_status copy_fit(const larmor_segments *all, const int64_t *which, int64_t times, larmor_segments *s)
{
    const lmr_fit *p = &all->fit;
    s->f0 = all->f0;
    s->t0 = all->t0;
    s->normal_bound = all->normal_bound;
    s->fit = (lmr_fit){.threads = p->threads, .nodes = p->nodes, .room = p->nodes, .times = times, .reach = p->reach};
    s->forward = (lmr_interpolators){.segments = all->forward.segments, .error = all->forward.error};
    s->field = larmor_array_ref(all->field);
    s->space = larmor_array_ref(all->space);
    s->voxel = larmor_array_ref(all->voxel);
    if (all->space) return LARMOR_OK;
    LMR_ALLOCATE(s->fit.f, p->nodes);
    LMR_ALLOCATE(s->fit.t, times);
    LMR_ALLOCATE(s->forward.b, times * s->forward.segments);
    memcpy(s->fit.f, p->f, (size_t)p->nodes * sizeof *p->f);
    for (int64_t t = 0; t < times; t++) {
        s->fit.t[t] = p->t[which[t]];
        for (int l = 0; l < s->forward.segments; l++)
            s->forward.b[t + times * l] = all->forward.b[which[t] + p->times * l];
    }
    return LARMOR_OK;
}

/* The factor of time of a model. */
static larmor_status copy_time(const larmor_segments *all, const int64_t *which, larmor_segments *s)
{
    const int64_t times = s->fit.times;
    LMR_HEAP float complex *of_all = NULL, *own = lmr_new(times * s->forward.segments, sizeof *own);
    if (!own) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(all->time, LARMOR_C64, &of_all));
    for (int l = 0; l < s->forward.segments; l++)
        for (int64_t t = 0; t < times; t++) own[t + times * l] = of_all[which[t] + all->fit.times * l];
    return larmor_array_upload(s->dev, LARMOR_C64, LARMOR_SHAPE(times, s->forward.segments), LARMOR_C64, own,
                               &s->time);
}

larmor_status larmor_segments_readouts(const larmor_segments *all, const int64_t *readout, int64_t count,
                                       larmor_segments **segments)
{
    LMR_NEED_OUT(segments, all, readout);
    LMR_REFUSE(all->samples.ndim != 2 || count < 1, LARMOR_ERR_SHAPE,
               "off-resonance: times are %s and %lld readouts are asked for, expected "
               "[samples, readouts] and at least 1",
               lmr_describe_as(all->dev, LARMOR_F64, all->samples).s, (long long)count);
    for (int64_t j = 0; j < count; j++)
        LMR_REFUSE(readout[j] < 0 || readout[j] >= all->samples.dim[1], LARMOR_ERR_ARG,
                   "off-resonance: readout %lld asked for, expected 0 to %lld", (long long)readout[j],
                   (long long)all->samples.dim[1] - 1);
    LMR_HEAP int64_t *which = lmr_new(all->fit.times, sizeof *which),
                     *place = lmr_new(all->samples.dim[0] * count, sizeof *place);
    int64_t times = 0;
    if (!which || !place) return LMR_NO_MEMORY();
    LMR_TRY(times_of(all, readout, count, place, which, &times));
    larmor_segments *s = lmr_segments_new(all->dev, all->image, LARMOR_SHAPE(all->samples.dim[0], count));
    if (!s) return LMR_NO_MEMORY();
    larmor_status st = copy_fit(all, which, times, s);
    if (!st && all->time) st = copy_time(all, which, s);
    if (!st)
        st = larmor_array_upload(s->dev, LARMOR_I64, LARMOR_SHAPE(larmor_shape_count(s->samples)), LARMOR_I64, place,
                                 &s->place);
    return LMR_GIVE(segments, s, larmor_segments_free, st);
}
