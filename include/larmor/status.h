/* Status codes and the message of the last failure. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_STATUS_H
#define LARMOR_STATUS_H

#if defined(__GNUC__)
#define LARMOR_API __attribute__((visibility("default")))
#else
#define LARMOR_API
#endif

/* What C++ is told of C's functions. */
#ifdef __cplusplus
#define LARMOR_C_BEGIN extern "C" {
#define LARMOR_C_END }
#else
#define LARMOR_C_BEGIN
#define LARMOR_C_END
#endif

LARMOR_C_BEGIN

/* One code per reaction a caller can have; everything else is in larmor_last_error(). */
typedef enum larmor_status {
    LARMOR_OK,
    LARMOR_ERR_ARG,         /* a value makes no sense: fix the call */
    LARMOR_ERR_SHAPE,       /* shapes, types or devices do not fit together */
    LARMOR_ERR_MEMORY,      /* host or device memory, descriptors or processes are not enough: use less */
    LARMOR_ERR_IO,          /* the operating system refused: path, permission, disk */
    LARMOR_ERR_FORMAT,      /* a file's content is damaged or not what it should be */
    LARMOR_ERR_UNSUPPORTED, /* correct, but not possible with this build or device */
    LARMOR_ERR_BACKEND,     /* a device or its library failed */
    LARMOR_ERR_NUMERIC,     /* divergence, non-finite values, tolerance out of reach */
    LARMOR_STOPPED,         /* the caller asked to stop, by larmor_stop_when, a monitor or a listener */
    LARMOR_ERR_EXISTS       /* a file is there that was not to be replaced, or a folder, link or device */
} larmor_status;

/* The constant's name, e.g. "LARMOR_ERR_SHAPE", for logs: larmor_last_error does not hold it (examples/host.c).
 * "unknown status" for anything else. Never NULL. */
LARMOR_API const char *larmor_status_name(larmor_status status);

/* The last failure in this thread, one line: `subject: got ..., expected ...; remedy`. Valid until the next failure
 * in the same thread; "" if there was none. With LARMOR_DEBUG=1 in the environment it ends in [function:line].
 * Messages, warnings and lines of logs name what a caller gives as members of the library's structs of options, or as
 * arguments of that name: "opts.traj_units", "opts.force". A program puts its own names in their place. */
LARMOR_API const char *larmor_last_error(void);

/* Set the message of this thread, printf-like, and return status: for operators and monitors of your own, so that
 * their failures read like larmor's. */
LARMOR_API larmor_status larmor_fail(larmor_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* ---- stopping ---- */

/* Returns 0 to go on, any other number to stop. */
typedef int (*larmor_stop_asked)(void *user);

/* Let the long calls of this thread ask whether to stop: reading the atomics that another thread or a signal
 * handler sets, for example. What runs on the device is awaited; then the call returns LARMOR_STOPPED and leaves
 * its outputs as after an error, but for solvers, whose x is the last whole iterate.
 *
 * asked  called in this thread, many times a second, so it has to be quick; it may not call larmor, and says the same
 *        until a call has stopped. NULL: no call is asked to stop, as before the first call of this function. */
LARMOR_API void larmor_stop_when(larmor_stop_asked asked, void *user);

LARMOR_C_END
#endif
