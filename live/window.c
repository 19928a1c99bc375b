/* The last readouts of a scan. SPDX-License-Identifier: Apache-2.0 */
#include "live/window.h"

#include "core/core.h"

static larmor_status make_room(lmr_window *w)
{
    int64_t room = w->room;
    LMR_TRY(lmr_grow(&w->each, w->count, &room, sizeof *w->each));
    return lmr_grow(&w->numbers, w->count, &w->room, sizeof *w->numbers);
}

larmor_status lmr_window_add(lmr_window *w, const larmor_acquisition *a)
{
    const size_t data = a->data ? 2 * (size_t)a->samples * (size_t)a->coils : 0;
    const size_t traj = a->traj ? (size_t)a->samples * (size_t)a->traj_dims : 0;
    LMR_TRY(make_room(w));
    float *numbers = malloc((data + traj + 1) * sizeof *numbers);
    if (!numbers) return LMR_NO_MEMORY();
    if (data) memcpy(numbers, a->data, data * sizeof *numbers);
    if (traj) memcpy(numbers + data, a->traj, traj * sizeof *numbers);
    larmor_acquisition copy = *a;
    copy.data = a->data ? numbers : NULL;
    copy.traj = a->traj ? numbers + data : NULL;
    copy.repetition = copy.phase = copy.set = copy.average = 0;
    w->numbers[w->count] = numbers;
    w->each[w->count++] = copy;
    return LARMOR_OK;
}

void lmr_window_keep(lmr_window *w, int64_t last)
{
    const int64_t gone = w->count > last ? w->count - last : 0;
    for (int64_t i = 0; i < gone; i++) free(w->numbers[i]);
    if (gone) {
        memmove(w->each, w->each + gone, (size_t)(w->count - gone) * sizeof *w->each);
        memmove(w->numbers, w->numbers + gone, (size_t)(w->count - gone) * sizeof *w->numbers);
    }
    w->count -= gone;
}

void lmr_window_free(lmr_window *w)
{
    lmr_window_keep(w, 0);
    free(w->each);
    free(w->numbers);
    *w = (lmr_window){0};
}
