/* Long loops over the readouts of a file by a few threads. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

enum { LMR_MOST_PARTS = 8 };

/* Work on items first <= i < end, which are part number `part`. May fail, and asks lmr_go_on now and then. */
typedef larmor_status (*lmr_part_work)(void *user, int part, int64_t first, int64_t end);

/* How many parts pay for so many bytes on the cores that the process may use: 1 to LMR_MOST_PARTS. */
int lmr_parts_for(int64_t bytes);

/* Items 0 to count - 1 in so many parts of consecutive ones, part 0 in the caller's thread, which is asked whether
 * to stop for all. A part whose thread cannot be started is the caller's, too.
 *
 * Errors  that of the first part that failed, with its message; LARMOR_STOPPED. */
larmor_status lmr_in_parts(int64_t count, int parts, lmr_part_work work, void *user);
