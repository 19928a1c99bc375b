/* The solution of one problem by an iterative method. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "pipeline/weight.h"

/* One problem, and what its solution by an iterative method needs; members belong to their maker. */
typedef struct lmr_solution {
    const lmr_job *job;
    const lmr_frame *frames;
    int count;
    larmor_op *A;
    larmor_array *b, *noise; /* noise: a sample of it, made where it is needed: */
    double deviation;        /* of its numbers */
    larmor_circulant *C;     /* or NULL */
    larmor_held_out held;    /* where the weight is chosen */
    larmor_array *folded;    /* A^H noise, where it is known */
    int is_searched;         /* 1: the weight has been chosen with the method or the weight in time */
    larmor_prox *set;        /* what x is held to, or NULL */
    larmor_array *x;
    lmr_weight_bounds bound; /* of the weight that is chosen */
    int is_begun;            /* 1: x is the best image of the search for the weight */
} lmr_solution;

/* p->noise is there afterwards. */
larmor_status lmr_solution_noise(const lmr_job *job, lmr_solution *p);

/* folded <- A^H noise, with a reference; of one image it is kept for the next who asks. */
larmor_status lmr_solution_folded(const lmr_job *job, lmr_solution *p, larmor_array **folded);

/* The limits of the options, and the listener; p has to outlive them. */
larmor_solve_opts lmr_solution_opts(lmr_solution *p);

/* What a weight is searched with. */
lmr_searched lmr_solution_searched(const lmr_solution *p, int frames, const larmor_solve_opts *solve);

/* 1 if no image predicts the samples better than zeros do; unit: of lambda. */
int lmr_solution_is_unpredicted(const lmr_solution *p, const larmor_choice *choice, double unit);

/* 1 if the samples of one coil predict none of those held out. */
int lmr_solution_predicts_none(const lmr_job *job, const larmor_choice *choice);

/* p->x <- the image by the job's method, at the weight that result->lambda_from says. */
larmor_status lmr_solution_iterate(const lmr_job *job, lmr_solution *p, larmor_recon_report *result);
