/* Early returns of functions that call the library. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_TRY_H
#define APP_TRY_H

#include "larmor/status.h"

#define TRY(call)                                                                                                    \
    do {                                                                                                             \
        const larmor_status st_ = (call);                                                                            \
        if (st_) return st_;                                                                                         \
    } while (0)

/* Store call's status in the local `st` and jump if it failed. */
#define OR(label, call)                                                                                              \
    do {                                                                                                             \
        st = (call);                                                                                                 \
        if (st) goto label;                                                                                          \
    } while (0)

#define NO_MEMORY() larmor_fail(LARMOR_ERR_MEMORY, "out of host memory")

#endif
