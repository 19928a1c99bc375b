/* A reconstruction by several processes, which mpirun has started. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Begin MPI where mpirun has started several; all but the first are silent from then on, and what they would say
 * the first one says. This and the others return an exit code. */
int recon_open_ranks(recon_run *r);

/* 1 in the process that writes. */
int recon_is_first(const recon_run *r);

/* The device of this process: what was asked for or, where that was any GPU, one by its number on its machine.
 * Without other processes it is opened while the scan is read, between the two calls. */
larmor_status recon_begin_device(recon_run *r);
larmor_status recon_open_device(recon_run *r, const larmor_recon_opts *opts);

/* All go on, or none; code: how it went here. What each may take of its memory is then the same. */
int recon_agree(recon_run *r, int code, larmor_recon_opts *opts);

/* The reconstruction is there, or not. The first one goes on; in the others everything is done when this returns. */
int recon_share(recon_run *r, int code);
