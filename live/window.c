/* The last readouts of a scan. SPDX-License-Identifier: Apache-2.0 */
#include "live/window.h"

#include <string.h>

#include "core/status.h"

enum { FEW = 64 };

/* A copy of so many numbers; NULL of none. */
static float *copy_of(const float *numbers, size_t count)
{
    float *copy = numbers && count ? malloc(count * sizeof *copy) : NULL;
    if (copy) memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

/* C's const of what an acquisition points to is the borrower's; here it is the owner's. */
static void free_numbers(larmor_acquisition *a)
{
    union {
        const float *lent;
        float *own;
    } data = {a->data}, traj = {a->traj};
    free(data.own);
    free(traj.own);
}

static larmor_status make_room(lmr_window *w)
{
    if (w->count < w->room) return LARMOR_OK;
    const int64_t room = w->room ? 2 * w->room : FEW;
    larmor_acquisition *more = realloc(w->each, (size_t)room * sizeof *more);
    if (!more) return LMR_NO_MEMORY();
    w->each = more;
    w->room = room;
    return LARMOR_OK;
}

larmor_status lmr_window_add(lmr_window *w, const larmor_acquisition *a)
{
    const size_t numbers = 2 * (size_t)a->samples * (size_t)a->coils;
    const size_t points = (size_t)a->samples * (size_t)a->traj_dims;
    LMR_TRY(make_room(w));
    larmor_acquisition copy = *a;
    copy.data = copy_of(a->data, numbers);
    copy.traj = copy_of(a->traj, points);
    copy.repetition = copy.phase = copy.set = copy.average = 0;
    if ((a->data && numbers && !copy.data) || (a->traj && points && !copy.traj)) {
        free_numbers(&copy);
        return LMR_NO_MEMORY();
    }
    w->each[w->count++] = copy;
    return LARMOR_OK;
}

void lmr_window_keep(lmr_window *w, int64_t last)
{
    const int64_t gone = w->count > last ? w->count - last : 0;
    for (int64_t i = 0; i < gone; i++) free_numbers(&w->each[i]);
    if (gone) memmove(w->each, w->each + gone, (size_t)(w->count - gone) * sizeof *w->each);
    w->count -= gone;
}

void lmr_window_free(lmr_window *w)
{
    lmr_window_keep(w, 0);
    free(w->each);
    *w = (lmr_window){0};
}
