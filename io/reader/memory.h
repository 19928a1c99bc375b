/* Whether larmor-reader has asked for memory in vain. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From here on a crash of the process ends it with LMR_READER_NO_MEMORY, if memory was refused before. */
void lmr_memory_watch(void);
