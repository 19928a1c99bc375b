/* Several processes that share a reconstruction, on one machine or on many: the ranks of MPI. SPDX-License-Identifier:
 * Apache-2.0
 *
 * mpirun starts them, and all run the same program with the same arguments. larmor is linked to no MPI: the plugin
 * larmor_mpi.so is, which is looked for as larmor_cuda.so is (larmor_device_open). */
#ifndef LARMOR_RANKS_H
#define LARMOR_RANKS_H

#include "larmor/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larmor_ranks larmor_ranks; /* one thread at a time; once in a process */

/* How many ranks mpirun has started, by the environment of Open MPI and of those with its PMI; 1 without it. */
LARMOR_API int larmor_ranks_started(void);

/* Begin MPI, once in a process.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED without the plugin or with one that does not fit; LARMOR_ERR_BACKEND where MPI fails;
 *         LARMOR_ERR_MEMORY. *ranks is NULL on error. */
LARMOR_API larmor_status larmor_ranks_open(larmor_ranks **ranks);

/* End MPI, and on rank 0 all ranks that wait in larmor_recon_share; NULL is fine. */
LARMOR_API void larmor_ranks_free(larmor_ranks *ranks);

/* This process's number from 0, and how many there are; the same among those on its machine. */
LARMOR_API int larmor_ranks_number(const larmor_ranks *ranks);
LARMOR_API int larmor_ranks_count(const larmor_ranks *ranks);
LARMOR_API int larmor_ranks_local(const larmor_ranks *ranks);
LARMOR_API int larmor_ranks_local_count(const larmor_ranks *ranks);

/* Called by all ranks at the same place: whether all are well.
 *
 * own    how it went here; the thread's message goes with an error.
 * least  a number of this rank, such as its free memory; becomes the least of all that are not 0; may be NULL.
 * Errors on rank 0 that of the first rank that is not well, as "rank 2: its message"; elsewhere LARMOR_STOPPED, so that only
 *        one speaks. */
LARMOR_API larmor_status larmor_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least);

/* Share a reconstruction, which every rank has made from the same scan and options, with opts.memory the same and not 0. A
 * rank that could not calls larmor_ranks_agree with its error in this place.
 *
 * On rank 0 it returns at once, and larmor_recon_run hands out series as with a group of devices (larmor/pipeline.h), of
 * which every rank is one. On the others it computes what rank 0 asks for, and returns when rank 0 frees its ranks.
 * A rank that fails is left like a device; one that dies ends all, as MPI has it.
 *
 * recon  on a single device; of rank 0 to be freed before ranks.
 * Errors LARMOR_ERR_ARG for a group of devices; LARMOR_ERR_FORMAT if a rank has another scan, other options or another plan;
 *        those of larmor_ranks_agree. */
LARMOR_API larmor_status larmor_recon_share(larmor_recon *recon, larmor_ranks *ranks);

#ifdef __cplusplus
}
#endif
#endif
