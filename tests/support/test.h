/* What every test file includes: its list of tests, the device under test, assert_ok and, unless the file defines
 * OWN_MAIN, main. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>

#include "tests/support/claims.h"
#include "tests/support/own.h"

/* Fails with larmor's own message. */
#define assert_ok(call)                                                                                              \
    do {                                                                                                             \
        const larmor_status ok_st_ = (call);                                                                         \
        if (ok_st_) fail_msg("%s: %s: %s", #call, larmor_status_name(ok_st_), larmor_last_error());                  \
    } while (0)

/* Declare what is owned by the line that makes it: OWN(larmor_raw, *raw, larmor_raw_open(path, NULL, &raw)); */
#define OWN(type, name, call)                                                                                        \
    OWNED(type) name;                                                                                                \
    assert_ok(call)
#define OWN_MEMORY(type, name, call)                                                                                 \
    HEAP type name;                                                                                                  \
    assert_ok(call)

/* What a call makes, for others to end: return MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made)); */
#define MADE(type, call)                                                                                             \
    ({                                                                                                               \
        type *made;                                                                                                  \
        assert_ok(call);                                                                                             \
        made;                                                                                                        \
    })

/* Memory for so many: HEAP NEW(double, values, count); */
#define NEW(type, name, count)                                                                                       \
    type *name = malloc((size_t)(count) * sizeof *(name) + 1);                                                       \
    assert_non_null(name)
#define NEW_ZEROS(type, name, count)                                                                                 \
    type *name = calloc((size_t)(count) + 1, sizeof *(name));                                                        \
    assert_non_null(name)

/* The call fails with this status and its message contains this text. */
#define assert_refused(call, status, text)                                                                           \
    do {                                                                                                             \
        const larmor_status got_st_ = (call);                                                                        \
        if (got_st_ != (status)) fail_msg("%s: got %s, expected %s", #call, larmor_status_name(got_st_), #status);   \
        if (!strstr(larmor_last_error(), text))                                                                      \
            fail_msg("%s: message is\n  %s\nexpected in it\n  %s", #call, larmor_last_error(), text);                \
    } while (0)

/* The same of a call that makes something else, &made, which is NULL then whatever it was. */
#define assert_none_made(type, call, status, text)                                                                   \
    do {                                                                                                             \
        type *made = (type *)1;                                                                                      \
        assert_refused(call, status, text);                                                                          \
        assert_null(made);                                                                                           \
    } while (0)

/* value <= limit, both printed when not; false for NaN. */
#define assert_at_most(value, limit)                                                                                 \
    do {                                                                                                             \
        const double am_v_ = (value), am_l_ = (limit);                                                               \
        if (!(am_v_ <= am_l_)) fail_msg("%s = %.3e, expected at most %.3e", #value, am_v_, am_l_);                   \
    } while (0)

static larmor_device *dev; /* the device under test, named by LARMOR_TEST_DEVICE */

/* Opens dev; returns the program's exit status if the tests cannot run (77: skipped, said as such), else 0. */
static inline int open_test_device(void)
{
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    const larmor_status st = larmor_device_open(spec ? spec : "cpu", &dev);
    if (!st) return 0;
    fprintf(stderr, "%s: %s\n", st == LARMOR_ERR_UNSUPPORTED ? "skipped" : "failed", larmor_last_error());
    return st == LARMOR_ERR_UNSUPPORTED ? 77 : 1;
}

static inline int close_after(int failures)
{
    larmor_device_free(dev);
    return failures ? 1 : 0;
}

/* All tests of the file on dev, which is closed after them; returns the program's exit status. */
static inline int run_on_device(void)
{
    const int cannot_run = open_test_device();
    return cannot_run ? cannot_run : close_after(run_claims(NULL, NULL));
}

#ifndef OWN_MAIN
int main(void)
{
    return run_on_device();
}
#endif

/* Options of a reconstruction: OPTS(.method = "cg", .iters = 3) */
#define OPTS(...) ((larmor_recon_opts){.size = sizeof(larmor_recon_opts), ##__VA_ARGS__})

/* The numbers of an array in its own type, to be freed. */
static inline void *host_of(const larmor_array *x)
{
    void *host = malloc(larmor_array_bytes(x) + 1);
    assert_non_null(host);
    assert_ok(larmor_array_read(x, host, larmor_array_bytes(x)));
    return host;
}

static inline double norm_of(const larmor_array *x)
{
    double norm;
    assert_ok(larmor_nrm2(x, &norm));
    return norm;
}

static inline double adjoint_error(larmor_op *A, uint64_t seed)
{
    double error;
    assert_ok(larmor_op_adjoint_error(A, seed, &error));
    return error;
}

/* Of many cases of a law a few; all of them in NAME_all of tests/long.txt, which has LARMOR_TEST_ALL. */
static inline int of_all(int few, int all)
{
    return getenv("LARMOR_TEST_ALL") ? all : few;
}

/* A small seeded generator, the same numbers everywhere: xorshift64*. In [-1, 1). */
static inline double test_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)((*state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-52 - 1;
}
