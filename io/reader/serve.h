/* The reader's side of the protocol. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/protocol.h"

/* Say that this is larmor-reader. Returns 0 if there is nobody to say it to. */
int lmr_greet(void);

/* Answer requests until the other side closes its socket. is_written: another program has locked the file, to write.
 * is_filtered: system calls are. Returns the exit status of the process. */
int lmr_serve(const lmr_reader_setup *setup, int is_written, int is_filtered);

/* 1: this process has asked for memory in vain, so that what HDF5 calls damaged may be none. */
extern volatile int lmr_memory_refused;

/* Take a packet of at most `bytes`. Returns its length; 0 if the other side is gone. */
int64_t lmr_take_packet(void *packet, size_t bytes);
