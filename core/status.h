/* How functions fail: a code, a message, and the early return. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/status.h"

/* Behind a parameter that the function has for the sake of its type. */
#define LMR_UNUSED __attribute__((unused))

/* Set the thread's message and return status. */
larmor_status lmr_fail(larmor_status status, const char *function, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Put "prefix: " before the thread's message; returns status. */
larmor_status lmr_fail_in(larmor_status status, const char *prefix);

#ifndef __clang_analyzer__
#define LMR_FAIL(status, ...) lmr_fail(status, __func__, __LINE__, __VA_ARGS__)
#else /* a static analyser sees one file at a time and does not know that lmr_fail never returns LARMOR_OK */
#define LMR_FAIL(status, ...) (lmr_fail(status, __func__, __LINE__, __VA_ARGS__), (status))
#endif
#define LMR_NO_MEMORY() LMR_FAIL(LARMOR_ERR_MEMORY, "out of host memory")

/* What a failed call of the system means, by its errno: LARMOR_ERR_MEMORY where memory or descriptors of files
 * have run out, else LARMOR_ERR_IO; and its text, which says what limits them. */
larmor_status lmr_system_status(int error);
const char *lmr_system_text(int error);

/* Not 0 if the caller has asked this thread to stop (larmor_stop_when); lmr_stopped sets the message for that. */
int lmr_stop_asked(void);
larmor_status lmr_stopped(void);

/* Asked in every loop whose passes may take long: LARMOR_STOPPED if the caller has asked this thread to stop. */
static inline larmor_status lmr_go_on(void)
{
    return lmr_stop_asked() ? lmr_stopped() : LARMOR_OK;
}

/* Refuse NULL for any of up to six pointers, in the first lines of a public function. */
#define LMR_NEED(...) LMR_NEED_SIX(__VA_ARGS__, 1, 1, 1, 1, 1, 1)
#define LMR_NEED_SIX(a, b, c, d, e, f, ...)                                                                          \
    do {                                                                                                             \
        LMR_NEED_ONE(a);                                                                                             \
        LMR_NEED_ONE(b);                                                                                             \
        LMR_NEED_ONE(c);                                                                                             \
        LMR_NEED_ONE(d);                                                                                             \
        LMR_NEED_ONE(e);                                                                                             \
        LMR_NEED_ONE(f);                                                                                             \
    } while (0)
#define LMR_NEED_ONE(pointer)                                                                                        \
    if (!(pointer)) return LMR_FAIL(LARMOR_ERR_ARG, "%s: %s is NULL", __func__, #pointer)

/* The same of up to seven, the first of which is where something is to be put: NULL is there until then. */
#define LMR_NEED_OUT(...) LMR_NEED_OUT_SEVEN(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1)
#define LMR_NEED_OUT_SEVEN(out, a, b, c, d, e, f, ...)                                                               \
    do {                                                                                                             \
        LMR_NEED_ONE(out);                                                                                           \
        *(out) = NULL;                                                                                               \
        LMR_NEED_SIX(a, b, c, d, e, f, 1);                                                                           \
    } while (0)

/* Return from the function if call fails. */
#define LMR_TRY(call)                                                                                                \
    do {                                                                                                             \
        const larmor_status try_st_ = (call);                                                                        \
        if (try_st_) return try_st_;                                                                                 \
    } while (0)

/* Return from the function by LMR_FAIL where something cannot be taken: `LMR_REFUSE(n < 1, LARMOR_ERR_ARG, "n: %d,
 * expected 1 or more", n);`. */
#define LMR_REFUSE(when, ...)                                                                                        \
    do {                                                                                                             \
        if (when) return LMR_FAIL(__VA_ARGS__);                                                                      \
    } while (0)

/* Store call's status in the local `st` and jump if it failed. */
#define LMR_OR(label, call)                                                                                          \
    do {                                                                                                             \
        st = (call);                                                                                                 \
        if (st) goto label;                                                                                          \
    } while (0)

/* 1 and *out = a b, or 0 if a or b is negative or the product does not fit. */
static inline int lmr_mul(int64_t a, int64_t b, int64_t *out)
{
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

/* Host memory for count elements, to be freed by free(). NULL if there is too little; a count of 0 is never NULL. */
static inline void *lmr_new(int64_t count, size_t size)
{
    int64_t bytes;
    return lmr_mul(count, (int64_t)size, &bytes) ? malloc(bytes ? (size_t)bytes : 1) : NULL;
}

/* The same, all 0. */
static inline void *lmr_new_zeros(int64_t count, size_t size)
{
    return count < 0 ? NULL : calloc(count ? (size_t)count : 1, size);
}

/* Declare `type *name` as memory for count of them, or return: `LMR_HEAP LMR_NEW(double, x, n);`. */
#define LMR_NEW(type, name, count)                                                                                   \
    type *name = lmr_new(count, sizeof *(name));                                                                     \
    if (!(name)) return LMR_NO_MEMORY()
#define LMR_NEW_ZEROS(type, name, count)                                                                             \
    type *name = lmr_new_zeros(count, sizeof *(name));                                                               \
    if (!(name)) return LMR_NO_MEMORY()

/* Set a pointer that is declared already, which another frees, or return. */
#define LMR_ALLOCATE(pointer, count)                                                                                 \
    do {                                                                                                             \
        (pointer) = lmr_new(count, sizeof *(pointer));                                                               \
        if (!(pointer)) return LMR_NO_MEMORY();                                                                      \
    } while (0)
#define LMR_ALLOCATE_ZEROS(pointer, count)                                                                           \
    do {                                                                                                             \
        (pointer) = lmr_new_zeros(count, sizeof *(pointer));                                                         \
        if (!(pointer)) return LMR_NO_MEMORY();                                                                      \
    } while (0)

/* Room for one more behind the first `used` elements of the memory that the pointer at `list` points to, or NULL. */
static inline larmor_status lmr_grow(void *list, int64_t used, int64_t *room, size_t size)
{
    if (used < *room) return LARMOR_OK;
    const int64_t more = *room ? 2 * *room : 64;
    void *memory;
    memcpy(&memory, list, sizeof memory); /* whatever its type is */
    memory = realloc(memory, (size_t)more * size);
    if (!memory) return LMR_NO_MEMORY();
    memcpy(list, &memory, sizeof memory);
    *room = more;
    return LARMOR_OK;
}
