/* What a function owns alone is freed where its name ends, on every way out, so that it may return early by LMR_TRY:
 * `LMR_OWNED(larmor_array) *x = NULL;`. Names end in reverse order. What a function hands on it sets to NULL; what
 * has no value yet is NULL or {0} from the start. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "larmor/array.h"
#include "larmor/device.h"
#include "larmor/op.h"

/* A structure that `function` empties. */
#define LMR_FREED_BY(function) __attribute__((cleanup(function)))

/* Pointers to memory of malloc: `LMR_HEAP double *x = NULL;`. */
#define LMR_HEAP LMR_FREED_BY(lmr_drop_memory)

/* What a constructor fills: `LMR_MAKE(moved, s, moved_destroy);` declares s as zeros that moved_destroy gets on every
 * way out but `return lmr_hand_on(&s_made, larmor_op_create(...));`, where that has taken s. */
#define LMR_MAKE(type, name, destroy)                                                                                \
    LMR_NEW_ZEROS(type, name, 1);                                                                                    \
    LMR_FREED_BY(lmr_drop_made) __attribute__((unused)) lmr_made name##_made = {name, destroy}

typedef struct lmr_made {
    void *self; /* NULL once another has it */
    void (*destroy)(void *self);
} lmr_made;

static inline void lmr_drop_made(lmr_made *made)
{
    if (made->self) made->destroy(made->self);
}

static inline larmor_status lmr_hand_on(lmr_made *made, larmor_status taken)
{
    if (!taken) made->self = NULL;
    return taken;
}

/* Free up to eight pointers, each by its type: objects as below, all others as memory of malloc. An object whose
 * members are not known here has a function of its own to free it, and is refused by the compiler. */
#define LMR_FREE(...) LMR_FREE_EIGHT(__VA_ARGS__, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
#define LMR_FREE_EIGHT(a, b, c, d, e, f, g, h, ninth, ...)                                                           \
    do {                                                                                                             \
        _Static_assert(_Generic((ninth), void * : 1, default : 0), "LMR_FREE takes up to eight pointers");           \
        LMR_FREE_BY_TYPE(a);                                                                                         \
        LMR_FREE_BY_TYPE(b);                                                                                         \
        LMR_FREE_BY_TYPE(c);                                                                                         \
        LMR_FREE_BY_TYPE(d);                                                                                         \
        LMR_FREE_BY_TYPE(e);                                                                                         \
        LMR_FREE_BY_TYPE(f);                                                                                         \
        LMR_FREE_BY_TYPE(g);                                                                                         \
        LMR_FREE_BY_TYPE(h);                                                                                         \
    } while (0)
#define LMR_FREE_BY_TYPE(x)                                                                                          \
    _Static_assert(sizeof *LMR_BY_TYPE(x, "", "", "", "", x) > 0, "LMR_FREE cannot free this object");               \
    LMR_BY_TYPE(x, larmor_array_free, larmor_op_free, larmor_device_free, free, free)(x)
#define LMR_BY_TYPE(x, array, op, device, memory, other)                                                             \
    _Generic((x),                                                                                                    \
             larmor_array *: array,                                                                                  \
             const larmor_array *: array,                                                                            \
             larmor_op *: op,                                                                                        \
             larmor_device *: device,                                                                                \
             void *: memory,                                                                                         \
             default: other)

/* Free one, by its type as above, and leave NULL there. */
#define LMR_CLEAR(pointer)                                                                                           \
    do {                                                                                                             \
        LMR_FREE_BY_TYPE(pointer);                                                                                   \
        (pointer) = NULL;                                                                                            \
    } while (0)

/* Define `function`, which frees these members of a structure, eight at most, each by its type as above:
 * `LMR_FREES(free_sums, sums, gram, rhs)` is `static void free_sums(sums *)`, and `LMR_DESTROYS(destroy, turn,
 * factor)` is `static void destroy(void *)`, which frees the structure, too. */
#define LMR_FREES(function, type, ...)                                                                               \
    static void function(type *of)                                                                                   \
    {                                                                                                                \
        LMR_FREE_MEMBERS(of, __VA_ARGS__);                                                                           \
    }
#define LMR_DESTROYS(function, type, ...)                                                                            \
    static void function(void *self)                                                                                 \
    {                                                                                                                \
        type *of = self;                                                                                             \
        LMR_FREE_MEMBERS(of, __VA_ARGS__), free(of);                                                                 \
    }
#define LMR_FREE_MEMBERS(of, ...)                                                                                    \
    LMR_FREE_PICK(__VA_ARGS__, LMR_FREE_8, LMR_FREE_7, LMR_FREE_6, LMR_FREE_5, LMR_FREE_4, LMR_FREE_3, LMR_FREE_2,   \
                  LMR_FREE_1)                                                                                        \
    (of, __VA_ARGS__)
#define LMR_FREE_PICK(a, b, c, d, e, f, g, h, chosen, ...) chosen
#define LMR_FREE_1(of, member)                                                                                       \
    (void)sizeof *LMR_BY_TYPE((of)->member, "", "", "", "", (of)->member),                                           \
        LMR_BY_TYPE((of)->member, larmor_array_free, larmor_op_free, larmor_device_free, free, free)((of)->member)
#define LMR_FREE_2(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_1(of, __VA_ARGS__)
#define LMR_FREE_3(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_2(of, __VA_ARGS__)
#define LMR_FREE_4(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_3(of, __VA_ARGS__)
#define LMR_FREE_5(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_4(of, __VA_ARGS__)
#define LMR_FREE_6(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_5(of, __VA_ARGS__)
#define LMR_FREE_7(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_6(of, __VA_ARGS__)
#define LMR_FREE_8(of, member, ...) LMR_FREE_1(of, member), LMR_FREE_7(of, __VA_ARGS__)

/* What `pointer` owns is another's from now on, which is a success: `return LMR_HAND_ON(*image, x);`. */
#define LMR_HAND_ON(to, pointer) ((to) = (pointer), (pointer) = NULL, lmr_handed_on())
static inline larmor_status lmr_handed_on(void)
{
    return LARMOR_OK;
}

/* Pointers to objects: larmor_array, larmor_op, larmor_device, and others behind `LMR_OWNS(larmor_prox,
 * larmor_prox_free)`. */
#define LMR_OWNED(type) LMR_FREED_BY(lmr_drop_##type) type
#define LMR_OWNS(type, end)                                                                                          \
    static inline void lmr_drop_##type(type **x)                                                                     \
    {                                                                                                                \
        end(*x);                                                                                                     \
    }

/* Declare `name` where the call makes it, or return: `LMR_OWN(larmor_array, x, larmor_array_create(dev, dtype, shape,
 * &x));`, and the same of memory: `LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));`. */
#define LMR_OWN(type, name, call)                                                                                    \
    LMR_OWNED(type) *name = NULL;                                                                                    \
    LMR_TRY(call)
#define LMR_OWN_MEMORY(type, name, call)                                                                             \
    LMR_HEAP type *name = NULL;                                                                                      \
    LMR_TRY(call)

static inline void lmr_drop_memory(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory); /* whatever its type is */
    free(memory);
}

LMR_OWNS(larmor_array, larmor_array_free)
LMR_OWNS(larmor_device, larmor_device_free)
LMR_OWNS(larmor_op, larmor_op_free)
