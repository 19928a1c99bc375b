/* What a process may do while it parses a file that nobody vouches for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The kernel ends this process when the thread that started it ends. Returns 1, or 0 if `parent` is gone already. */
int lmr_sandbox_follow(int parent);

/* Close the descriptors from `first` on, which a host program left open. */
void lmr_sandbox_close_from(int first);

/* Limits of this process, for good: `memory` bytes, addresses for `room` more, `seconds` of processor time, no new
 * files, no growing files, no processes, no core dump. Under the address sanitizer, which needs terabytes of
 * addresses, memory is not limited.
 *
 * Returns 1, or 0 if a limit cannot be set. */
int lmr_sandbox_limit(int64_t memory, int64_t room, int64_t seconds);

/* From here on the kernel grants reading, memory and the end of the process, and refuses all else with EPERM:
 * opening, executing, network, other processes. Not under the address sanitizer.
 *
 * Returns 1, or 0 where the kernel has no filters of system calls. */
int lmr_sandbox_filter(void);
