/* The thread's last message. SPDX-License-Identifier: Apache-2.0 */
#include "core/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char message[1024];

static int debugging(void)
{
    const char *value = getenv("LARMOR_DEBUG");
    return value && *value && strcmp(value, "0") != 0;
}

/* A message is one line whatever a file name holds. */
static void keep_one_line(void)
{
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
}

static int print_message(const char *format, va_list arguments)
{
    const int used = vsnprintf(message, sizeof message, format ? format : "", arguments);
    if (used < 0) message[0] = 0;
    keep_one_line();
    return (int)strlen(message);
}

larmor_status larmor_fail(larmor_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return status;
}

larmor_status lmr_fail(larmor_status status, const char *function, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t used = (size_t)print_message(format, arguments);
    va_end(arguments);
    if (debugging() && used < sizeof message)
        snprintf(message + used, sizeof message - used, " [%s:%d]", function, line);
    return status;
}

larmor_status lmr_fail_in(larmor_status status, const char *prefix)
{
    char inner[sizeof message];
    memcpy(inner, message, sizeof inner);
    const int used = snprintf(message, sizeof message, "%s: ", prefix);
    if (used >= 0 && (size_t)used < sizeof message)
        snprintf(message + used, sizeof message - (size_t)used, "%s", inner);
    keep_one_line();
    return status;
}

larmor_status lmr_system_status(int error)
{
    switch (error) {
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return LARMOR_ERR_MEMORY;
    default:
        return LARMOR_ERR_IO;
    }
}

const char *lmr_system_text(int error)
{
    switch (error) {
    case EMFILE:
        return "too few descriptors of open files are left; 'ulimit -n' sets how many there may be";
    case ENFILE:
        return "too few descriptors of open files are left on this machine";
    default:
        return strerror(error);
    }
}

const char *larmor_last_error(void)
{
    return message;
}

const char *larmor_status_name(larmor_status status)
{
    static const char *const names[] = {
        [LARMOR_OK] = "LARMOR_OK",
        [LARMOR_ERR_ARG] = "LARMOR_ERR_ARG",
        [LARMOR_ERR_SHAPE] = "LARMOR_ERR_SHAPE",
        [LARMOR_ERR_MEMORY] = "LARMOR_ERR_MEMORY",
        [LARMOR_ERR_IO] = "LARMOR_ERR_IO",
        [LARMOR_ERR_FORMAT] = "LARMOR_ERR_FORMAT",
        [LARMOR_ERR_UNSUPPORTED] = "LARMOR_ERR_UNSUPPORTED",
        [LARMOR_ERR_BACKEND] = "LARMOR_ERR_BACKEND",
        [LARMOR_ERR_NUMERIC] = "LARMOR_ERR_NUMERIC",
        [LARMOR_STOPPED] = "LARMOR_STOPPED",
        [LARMOR_ERR_EXISTS] = "LARMOR_ERR_EXISTS",
    };
    const unsigned i = (unsigned)status;
    return i < sizeof names / sizeof *names ? names[i] : "unknown status";
}
