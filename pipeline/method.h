/* The method of --method auto: what it is taken for, and how it is chosen from the data. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "pipeline/weight.h"

/* The job's method becomes the one of this name: "cg", "grid", or a regulariser's. */
void lmr_method_take(lmr_job *job, const char *name);

/* The preparation settles the method that images would choose, in the job's facts; nothing where it was asked for or
 * is settled. */
void lmr_method_settle(lmr_job *job, lmr_scan_facts *facts, const char *name, larmor_method_from from);

/* Its name, a constant, as larmor_recon_opts has it; "auto" where the first image will choose it. */
const char *lmr_method_name(const lmr_job *job);

/* Before an image: a method that an earlier one chose becomes the job's. result->method is the job's. */
void lmr_method_begin(lmr_job *job, larmor_recon_report *result);

/* 1 if this image chooses the method. */
int lmr_method_is_open(const lmr_job *job, const larmor_recon_report *result);

/* 0 if all penalties of a method's name act along frames and bins alone: tv:h+tv:b. */
int lmr_method_acts_in_images(const char *name);

/* The open method is conjugate gradients, for this reason; a reason that holds for the whole scan is kept. */
void lmr_method_is_linear(lmr_job *job, larmor_method_from from, larmor_recon_report *result);

/* The same of all of a grid with little noise, of which one FFT of each coil makes the image: later images with as
 * many samples are known to be such, and others choose a method of their own. */
void lmr_method_is_fft(lmr_job *job, const lmr_frame *frame, larmor_recon_report *result);
int lmr_method_is_known_fft(const lmr_job *job, const lmr_frame *frame, const larmor_coverage *coverage);

/* Search the weight of tv; of cg, too, where the image of tv hardly predicts what is held out, and take it where it
 * predicts more; or of tgv where that image has no edges, and take it where it predicts more:
 * result->method and result->choice, the search of its weight. The job's method is that one then. */
larmor_status lmr_method_choose(lmr_job *job, const lmr_searched *p, larmor_recon_report *result);

/* The method and the weight of images whose samples predict no others. What was not sampled is zero by cg,
 * whatever the weight, and what fits the rest best by a penalty; half of k-space is filled by the phase of the
 * image. */
void lmr_method_of_unpredicted(lmr_job *job, larmor_recon_report *result);
