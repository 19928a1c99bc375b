/* An object in the states that breath and heart bring it to. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/difference.h"

#define SIZE .75 /* of the object, which stays in the field of view */

/* Cycles of breath, in mm, and heart, and the time from one readout to the next. */
typedef struct motion {
    larmor_phantom_cycle breath, heart;
    double tr;
} motion;

static inline larmor_phantom_state state_at(const motion *m, int readout)
{
    larmor_phantom_state state = {.size = SIZE};
    larmor_phantom_cycle of_field = m->breath;
    of_field.size /= 256;
    larmor_phantom_beat(&of_field, &m->heart, m->tr * readout, &state);
    return state;
}

/* The object on average over eight of these readouts. */
static inline larmor_array *object_over(const motion *m, larmor_shape shape, const int *readout, int count)
{
    enum { SAMPLED = 8 };
    larmor_array *sum = NULL;
    OWNED(larmor_phantom) *still = NULL;
    assert_true(count >= SAMPLED);
    assert_ok(larmor_phantom_create("shepp-logan", shape.ndim, &still));
    for (int i = 0; i < SAMPLED; i++) {
        OWNED(larmor_phantom) *now = NULL;
        const larmor_phantom_state state = state_at(m, readout[i * count / SAMPLED]);
        assert_ok(larmor_phantom_change(still, &state, &now));
        OWN(larmor_array, *image, larmor_phantom_bandlimited(now, dev, LARMOR_C64, shape, &image));
        if (sum)
            assert_ok(larmor_axpby(1, image, 1, sum));
        else
            sum = larmor_array_ref(image);
    }
    assert_ok(larmor_axpby(1. / SAMPLED, sum, 0, sum));
    return sum;
}
