/* Several processes that share a reconstruction, on one machine or on many: the ranks of MPI.
 * SPDX-License-Identifier: Apache-2.0
 *
 * mpirun starts them, and all run the same program with the same arguments. larmor is linked to no MPI: the plugin
 * larmor_mpi.so is, which is looked for as larmor_cuda.so is (larmor_device_open). */
#ifndef LARMOR_RANKS_H
#define LARMOR_RANKS_H

#include "larmor/nufft.h"
#include "larmor/pipeline.h"
#include "larmor/solve.h"

LARMOR_C_BEGIN

/* How many ranks mpirun has started, by the environment of Open MPI and of those with its PMI; 1 without it. */
LARMOR_API int larmor_ranks_started(void);

/* Begin MPI, once in a process.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED without the plugin or with one that does not fit; LARMOR_ERR_BACKEND where MPI
 *         fails; LARMOR_ERR_MEMORY. *ranks is NULL on error. */
LARMOR_API larmor_status larmor_ranks_open(larmor_ranks **ranks);

/* End MPI, and on rank 0 all ranks that wait in larmor_recon_share or larmor_sense_share; NULL is fine. */
LARMOR_API void larmor_ranks_free(larmor_ranks *ranks);

/* This process's number from 0, and how many there are; its number among those on its machine. */
LARMOR_API int larmor_ranks_number(const larmor_ranks *ranks);
LARMOR_API int larmor_ranks_count(const larmor_ranks *ranks);
LARMOR_API int larmor_ranks_local(const larmor_ranks *ranks);

/* The device that this rank is to open where all are asked for the same one: "auto", "cuda", "" and NULL become
 * one of its machine's GPUs, dealt out in turn; any other spec, and "auto" or "cuda" where there are none, stay.
 * ranks may be NULL.
 *
 * own     gets the spec, of at most room bytes, its end included.
 * Errors  LARMOR_ERR_ARG for a spec that does not fit. */
LARMOR_API larmor_status larmor_ranks_spec(const larmor_ranks *ranks, const char *spec, char *own, size_t room);

/* What this rank may take of dev, for larmor_ranks_agree to find the least of all: the memory that is free, over
 * the processes of its machine that share the processor or, dealt out by larmor_ranks_spec, the GPU.
 *
 * Errors  those of larmor_device_memory. */
LARMOR_API larmor_status larmor_ranks_memory(const larmor_ranks *ranks, larmor_device *dev, int64_t *bytes);

/* Called by all ranks at the same place: whether all are well.
 *
 * own    how it went here; the thread's message goes with an error.
 * least  a number of this rank, such as its free memory; becomes the least of all that are not 0; may be NULL.
 * Errors on rank 0 that of the first rank that is not well, as "rank 2: its message"; elsewhere LARMOR_STOPPED, so
 * that only
 *        one speaks. */
LARMOR_API larmor_status larmor_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least);

/* Share the coils of SENSE operators: called by all ranks.
 *
 * On rank 0 it returns at once. Until the ranks are freed larmor_op_sense on dev, with at least as many coils as
 * there are ranks, without off_resonance and for one set of maps, has some of the coils on each: rank 0 sends
 * their maps, the trajectory and the weights, and for each map what goes in; the images that come back are summed
 * in the order of the ranks, so that on processors as many ranks give the same bits. These operators are to be
 * freed before the ranks. On the other ranks it computes what rank 0 asks for, on dev, and returns when rank 0
 * frees its ranks. What fails on one is the error of the operator's call on rank 0, "rank 2: its message".
 *
 * dev     a single device; its memory is that of larmor_sense_memory for this number of ranks.
 * Errors  LARMOR_ERR_ARG for a group of devices; elsewhere than on rank 0 LARMOR_ERR_BACKEND where messages fail. */
LARMOR_API larmor_status larmor_sense_share(larmor_device *dev, larmor_ranks *ranks);

/* ---- volumes that no rank holds by itself ----
 *
 * This rank's part of so many planes, points or the like: first .. first + count - 1; the parts of all ranks
 * follow each other. ranks NULL: all.
 *
 * Errors  LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_ranks_part(const larmor_ranks *ranks, int64_t all, int64_t *first, int64_t *count);

/* Arrays on dev are parts of arrays that the ranks have together, those of one rank after those of the one before
 * it: larmor_dot and larmor_nrm2 of them are those of the whole, added in the order of the ranks, the same bits on
 * all of them, and random starts are those of the whole. So larmor_cg and larmor_opnorm solve for a volume in
 * slabs with operators of below. All ranks make these calls, and apply operators of below, at the same place. A
 * rank where one of them fails, or anything else, calls larmor_ranks_agree with its error in the place of its next
 * one, and all of them get it.
 *
 * ranks   NULL: arrays are whole again. It is to be called so before ranks are freed.
 * Errors  LARMOR_ERR_ARG for a group of devices. */
LARMOR_API larmor_status larmor_ranks_sum_over(larmor_device *dev, larmor_ranks *ranks);

/* larmor_op_nufft of a volume in slabs of planes (larmor_ranks_part), of which each rank has some of the points as
 * well. All ranks make it and apply it at the same place, each to its own slab and its own samples. Samples stay
 * where they are: each rank applies NUFFTs of its points to the box of one slab after the other, whose modes are
 * those of the volume moved by a phase at each point, and what all find for a slab is summed on the rank that has
 * it. A rank takes no grid larger than a slab's.
 *
 * opts     ndim 3, modes of the whole volume, batch, tol, sign (-1 by default) and dtype.
 * traj     f32 or f64 [3, samples, readouts] or [3, points]: this rank's points, also none.
 * F        [n0, n1, own planes(, batch)] to [samples, readouts(, batch)] of this rank.
 * Errors   as for larmor_op_toeplitz_slabs. */
LARMOR_API larmor_status larmor_op_nufft_slabs(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                               const larmor_array *traj, larmor_op **F);

/* larmor_op_sense of a volume in slabs, from coil maps of this rank's planes, one coil at a time. Its normal map is
 * larmor_op_toeplitz_slabs between the coils.
 *
 * maps     complex [n0, n1, own planes, coils].
 * planes   of the whole volume, at least one for each rank.
 * opts     traj: this rank's points, and weights of them; nufft_tol, and toeplitz: -1 without it. off_resonance is
 *          not for slabs.
 * A        [n0, n1, own planes] to [samples, readouts, coils] of this rank.
 * Errors   as for larmor_op_toeplitz_slabs; LARMOR_ERR_UNSUPPORTED for what is not for slabs. */
LARMOR_API larmor_status larmor_op_sense_slabs(larmor_ranks *ranks, larmor_array *maps, int64_t planes,
                                               const larmor_sense_opts *opts, larmor_op **A);

/* Bytes of device memory that it takes of a rank at most, from its making to its maps, beyond maps, points and the
 * arrays that it maps; and beyond 16 MiB of the host's memory, through which ranks pass numbers.
 *
 * p       of the whole volume, with this rank's samples.
 * held    of them those that it keeps between its maps, which another one has to do with; may be NULL.
 * Errors  as for larmor_sense_memory. */
LARMOR_API larmor_status larmor_sense_slabs_memory(const larmor_device *dev, int ranks, const larmor_problem *p,
                                                   const larmor_sense_opts *opts, int64_t *bytes, int64_t *held);

/* larmor_op_toeplitz of a volume in slabs of planes (larmor_ranks_part). All ranks make it, apply it and its
 * adjoint, at the same place, each to its own slab; the same number of ranks gives the same bits on processors. Of
 * the memory of larmor_op_toeplitz each rank takes about its part, with buffers for one volume of the batch at a
 * time; up to four ranks hold all planes of one, and more than four their lines.
 *
 * opts     ndim 3, modes of the whole volume, batch, tol, sign and dtype.
 * traj     f32 or f64 [3, samples, readouts] or [3, points]: some of the points, also none; those of all ranks
 *          together count, each once.
 * weights  real, of these points; NULL for 1.
 * N        on [n0, n1, own planes(, batch)].
 * Errors   on rank 0 those of the first rank that fails, as larmor_ranks_agree has them, and elsewhere
 *          LARMOR_STOPPED: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC for points that are not finite,
 *          LARMOR_ERR_MEMORY, LARMOR_ERR_UNSUPPORTED. */
LARMOR_API larmor_status larmor_op_toeplitz_slabs(larmor_device *dev, larmor_ranks *ranks,
                                                  const larmor_nufft_opts *opts, const larmor_array *traj,
                                                  const larmor_array *weights, larmor_op **N);

/* larmor_circulant_create for A^H A of larmor_op_sense_slabs without weights, after larmor_ranks_sum_over. Its
 * inverse (larmor_circulant_inverse, without a penalty) maps slabs, and larmor_hold_out and larmor_choose_weight
 * take it: all ranks make these calls, and apply it, at the same place. Of the ranks each finds the
 * autocorrelation of some of the maps.
 *
 * maps     complex [n0, n1, own planes, coils].
 * planes   of the whole volume, at least one for each rank.
 * traj     f32 or f64 [3, samples, readouts] or [3, points]: this rank's points.
 * C        to be freed before ranks.
 * Errors   as for larmor_op_toeplitz_slabs. */
LARMOR_API larmor_status larmor_circulant_slabs(larmor_ranks *ranks, larmor_array *maps, int64_t planes,
                                                const larmor_array *traj, larmor_circulant **C);

/* Bytes of device memory that it takes of a rank at most, from its making on, beyond maps and points.
 *
 * p       of the whole volume, with this rank's samples.
 * Errors  as for larmor_sense_memory. */
LARMOR_API larmor_status larmor_circulant_slabs_memory(const larmor_device *dev, int ranks, const larmor_problem *p,
                                                       int64_t *bytes);

/* ---- reconstructions ----
 *
 * Share a reconstruction, which every rank has made from the same scan and options, with opts.ranks these, and
 * opts.memory the same and not 0. A rank that could not calls larmor_ranks_agree with its error in this place.
 *
 * On rank 0 it returns at once, and larmor_recon_run hands out series as with a group of devices
 * (larmor/pipeline.h), of which every rank is one. On the others it computes what rank 0 asks for, and returns
 * when rank 0 frees its ranks. A rank that fails is left like a device; one that dies ends all, as MPI has it.
 *
 * Where there are fewer series than ranks, and at least as many coils, all ranks share the coils of one series
 * after the other (larmor_sense_share): rank 0 decides and solves. The images agree with those of one process to
 * rounding, and what fails on a rank is an error of the series. Not shared are the coils with off-resonance,
 * several sets of maps or a basis.
 *
 * recon  on a single device; of rank 0 to be freed before ranks.
 * Errors LARMOR_ERR_ARG for a group of devices; LARMOR_ERR_FORMAT if a rank has another scan, other options or
 * another plan;
 *        those of larmor_ranks_agree. */
LARMOR_API larmor_status larmor_recon_share(larmor_recon *recon, larmor_ranks *ranks);

LARMOR_C_END
#endif
