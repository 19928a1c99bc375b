/* The readouts that a session holds, and which of them belong together. SPDX-License-Identifier: Apache-2.0 */
#include "stream/readouts.h"
#include "core/owned.h"

#define LAST_IN_SLICE LARMOR_ACQ_FLAG(8)
#define LAST_IN_REPETITION LARMOR_ACQ_FLAG(14)

/* Of these none is part of an image. */
#define LEFT_OUT                                                                                                     \
    (LARMOR_ACQ_NOISE | LARMOR_ACQ_NAVIGATION | LARMOR_ACQ_PHASE_CORRECTION | LARMOR_ACQ_HP_FEEDBACK |               \
     LARMOR_ACQ_DUMMY | LARMOR_ACQ_RT_FEEDBACK | LARMOR_ACQ_SURFACE_COIL_CORRECTION |                                \
     LARMOR_ACQ_PHASE_STABILISATION_REFERENCE | LARMOR_ACQ_PHASE_STABILISATION)

static int is_calibration_alone(const larmor_acquisition *a)
{
    return (a->flags & LARMOR_ACQ_CALIBRATION) && !(a->flags & LARMOR_ACQ_CALIBRATION_AND_IMAGING);
}

static int makes_image(const larmor_acquisition *a)
{
    return !(a->flags & LEFT_OUT) && !is_calibration_alone(a);
}

/* What later parts need as well. */
static int is_shared(const larmor_acquisition *a)
{
    return (a->flags & LARMOR_ACQ_NOISE) || is_calibration_alone(a);
}

static int belongs(const larmor_acquisition *a, lmr_readouts_part part)
{
    if (part.by == LARMOR_IMAGES_MEASUREMENT || (a->flags & LARMOR_ACQ_NOISE)) return 1;
    if (part.by == LARMOR_IMAGES_SLICE) return a->slice == part.slice;
    return a->repetition == part.repetition || is_calibration_alone(a);
}

int lmr_readouts_ends(const larmor_acquisition *a, larmor_session_images by)
{
    if (a->flags & LARMOR_ACQ_NOISE) return 0; /* scanners end the noise scan by such flags, too */
    if (by == LARMOR_IMAGES_SLICE) return (a->flags & LAST_IN_SLICE) != 0;
    return by == LARMOR_IMAGES_REPETITION && (a->flags & LAST_IN_REPETITION);
}

static larmor_status grow(lmr_readouts *r)
{
    int64_t each = r->room, payload = r->room;
    LMR_TRY(lmr_grow(&r->each, r->count, &each, sizeof *r->each));
    LMR_TRY(lmr_grow(&r->payload, r->count, &payload, sizeof *r->payload));
    return lmr_grow(&r->size, r->count, &r->room, sizeof *r->size);
}

larmor_status lmr_readouts_add(lmr_readouts *r, const larmor_acquisition *a, int64_t bytes, void *payload)
{
    const larmor_status st = grow(r);
    if (st) {
        free(payload);
        return st;
    }
    r->each[r->count] = *a;
    r->payload[r->count] = payload;
    r->size[r->count] = bytes + (int64_t)(sizeof *r->each + sizeof *r->payload + sizeof *r->size);
    r->bytes += r->size[r->count++];
    return LARMOR_OK;
}

larmor_status lmr_readouts_choose(const lmr_readouts *r, lmr_readouts_part part, larmor_acquisition **chosen,
                                  int64_t *count)
{
    int64_t images = 0, n = 0;
    *chosen = NULL;
    *count = 0;
    for (int64_t i = 0; i < r->count; i++) images += belongs(&r->each[i], part) && makes_image(&r->each[i]);
    if (!images) return LARMOR_OK;
    LMR_ALLOCATE(*chosen, r->count);
    for (int64_t i = 0; i < r->count; i++)
        if (belongs(&r->each[i], part)) (*chosen)[n++] = r->each[i];
    *count = n;
    return LARMOR_OK;
}

void lmr_readouts_drop(lmr_readouts *r, lmr_readouts_part part)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->count; i++) {
        const int stays = part.by != LARMOR_IMAGES_MEASUREMENT && is_shared(&r->each[i]);
        if (belongs(&r->each[i], part) && !stays) {
            r->bytes -= r->size[i];
            free(r->payload[i]);
            continue;
        }
        r->each[n] = r->each[i];
        r->payload[n] = r->payload[i];
        r->size[n++] = r->size[i];
    }
    r->count = n;
}

void lmr_readouts_free(lmr_readouts *r)
{
    for (int64_t i = 0; i < r->count; i++) free(r->payload[i]);
    LMR_FREE(r->each, r->payload, r->size);
    *r = (lmr_readouts){0};
}
