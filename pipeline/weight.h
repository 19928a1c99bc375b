/* Where the weight of the penalty comes from, and how a scan's images share it. SPDX-License-Identifier: Apache-2.0
 * */
#pragma once

#include "scan/job.h"

/* The less of both levels of noise, where that of lines can be known (docs/records/noise.md). */
larmor_status lmr_noise_or_of_lines(const lmr_job *job, const lmr_frame *frame, double *deviation);

/* Where these frames' weight comes from. */
larmor_lambda_from lmr_weight_origin(const lmr_job *job, const lmr_frame *frames, int count);

/* The same of frames that are not at hand, beside a weight that is known. */
lmr_weight_conditions lmr_weight_conditions_of(const lmr_job *job, const lmr_frame *frames, int count);

/* Keep the weight of these frames for those of the scan that follow. */
larmor_status lmr_weight_keep(lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                              const larmor_array *noise, const larmor_recon_report *result);

/* The kept weight, of some of these frames, is that of all of them. */
void lmr_weight_extend(lmr_job *job, const lmr_frame *frames, int count);

/* 1 if the kept weight is that of these frames as it is, since they have as many samples. */
int lmr_weight_holds(const lmr_job *job, const lmr_frame *frames, int count);

/* The kept weight for these frames; those with as many samples have the very same, and need no noise. */
larmor_status lmr_weight_kept(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                              const larmor_array *noise, larmor_recon_report *result);

/* What a weight that the image chooses for itself is held to. */
typedef struct lmr_weight_bounds {
    double weight; /* kept, of images with as many samples; 0: there is none */
    int is_most;   /* 1: of another contrast of such an image, which takes no larger one; 0: of another slice, for
                    * images that predict nothing */
} lmr_weight_bounds;

larmor_status lmr_weight_bound(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                               const larmor_array *noise, lmr_weight_bounds *bound);

/* Keep the weight of a contrast beside the one that it was held to. */
void lmr_weight_keep_part(lmr_job *job, const lmr_frame *frame, const lmr_weight_bounds *bound, double weight);

/* 1 if the image's weight is the kept one as it is. */
int lmr_weight_is_base(const lmr_job *job, const larmor_recon_report *result);

/* 1 if an image's weight, which came from there, is the same beside the known weight as beside the guess. */
int lmr_weight_guess_holds(const lmr_job *job, const lmr_weight *known, const lmr_weight *guess,
                           const lmr_weight_conditions *now, larmor_lambda_from from);

/* What an image has changed of the kept weight becomes known. */
void lmr_weight_take(const lmr_weight *before, const lmr_weight *after, lmr_weight *known);

/* What weights and methods are compared on. */
typedef struct lmr_searched {
    larmor_op *A;
    const larmor_array *b;
    const larmor_held_out *held;
    const larmor_circulant *C;
    const larmor_solve_opts *solve;
    const larmor_grid *grid; /* of an image */
    int frames;
    int is_determined; /* 1: all of a grid was sampled, and noise is compared in place of samples held out */
    int on_grid;       /* 1: samples are on the grid */
} lmr_searched;

/* Search the weight of the regulariser of this name, NULL: of |x|^2; with a weight in time, 0: the regulariser's. */
larmor_status lmr_weight_search(const lmr_job *job, const lmr_searched *p, const char *name, double time,
                                larmor_choice *choice);

/* The samples that are held out to choose a weight by, and the operator of the others; noise is not set. To be freed
 * in either case. */
larmor_status lmr_hold_out_frames(const lmr_job *job, const lmr_frame *frames, int count, const larmor_circulant *C,
                                  const larmor_array *b, larmor_held_out *held);
void lmr_held_out_free(larmor_held_out *held);

/* held gets the samples held out by themselves; nothing of several frames, and where samples are more than points of
 * k-space. held: with its noise. */
larmor_status lmr_hold_part(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                            larmor_held_out *held);

/* What `next` has less misfit than `best` over the standard error of that, from the parts of both. */
larmor_status lmr_weight_significance(const lmr_job *job, const larmor_choice *best, const larmor_choice *next,
                                      double *over);

/* 1 if the regulariser of so many frames takes a weight in time, and the caller has not given it. */
int lmr_time_weight_is_open(const lmr_job *job, int frames);

/* Search the weight for one weight in time, and for one ratio of penalties, after the other, where they are open, and
 * take those whose images predict best what is held out: choice, with time_weight and ratios. chosen: 0 where none is
 * open, and nothing was searched. */
larmor_status lmr_weights_choose(const lmr_job *job, const lmr_searched *p, larmor_choice *choice, int *chosen);

/* The method's name with the ratios that were chosen. */
void lmr_method_weighed(const lmr_job *job, const larmor_choice *choice, char text[96]);
