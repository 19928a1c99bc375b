/* Segments of a model in time, which operators share. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/gate.h"
#include "core/refs.h"
#include "recon/field/sum.h"

void larmor_segments_free(larmor_segments *s)
{
    if (!s || !lmr_refs_drop(&s->refs)) return;
    LMR_FREE(s->field, s->place, s->terms, s->space, s->time, s->voxel);
    lmr_fit_free(&s->fit);
    LMR_FREE(s->forward.b, s->normal.b, s->dev);
    lmr_gate_destroy(&s->gate);
    free(s);
}

larmor_segments *larmor_segments_ref(larmor_segments *s)
{
    if (s) lmr_refs_add(&s->refs);
    return s;
}

larmor_segments *lmr_segments_new(larmor_device *dev, larmor_shape image, larmor_shape samples)
{
    larmor_segments *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->refs, 1);
    lmr_gate_init(&s->gate);
    s->dev = lmr_device_ref(dev);
    s->image = image;
    s->samples = samples;
    return s;
}
