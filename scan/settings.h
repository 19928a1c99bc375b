/* What a reconstruction was asked for. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

#define LMR_METHOD_AUTO "auto"
#define LMR_METHOD_NLINV_NAME "nlinv"

/* The caller's options, checked, and what follows from them alone. Constant once they are read; nothing else holds
 * a copy of an option. */
typedef struct lmr_settings {
    larmor_recon_opts opts; /* in this version's size; its texts and records are the members below, its arrays
                             * and checkpoint references, for a restart and for other devices */
    larmor_counters only;
    char *method, *maps_name, *maps_method, *b0_name, *t2star_name, *constraint;
    larmor_image_meta b0_place, t2star_place;
    double readout_start_ms;
    int joint;       /* 1: frames are solved together, by option, basis or method */
    int is_split;    /* 1: those of one repetition, where bins are joint and all of them do not fit into memory */
    double eps;      /* of the NUFFT */
    char idle[1024]; /* a line for each option that has no effect with the others */
} lmr_settings;

/* *opts <- what was given, in this version's size: members that this version does not know must be zero, those
 * that the caller does not know are. Pointers stay the caller's. */
larmor_status lmr_options_copy(const larmor_recon_opts *given, larmor_recon_opts *opts);

/* Where array number i of the options is, of those that settings have references to and images depend on; NULL past
 * the last. */
larmor_array **lmr_settings_array(larmor_recon_opts *opts, int i);

/* The regulariser of that name, or several with + between, without help; or one without a name. */
larmor_regulariser_info lmr_regulariser_named(const char *name);

/* The method that is asked for, by its name or by options that are of one method; NULL: the data choose it. */
const char *lmr_settings_method(const larmor_recon_opts *opts);

/* Read the options, a copy with references to their arrays. NULL: the defaults. scan: what some of them are of.
 *
 * Errors  LARMOR_ERR_ARG or LARMOR_ERR_UNSUPPORTED: what an option is and what it may be. */
larmor_status lmr_settings_read(const larmor_recon_opts *opts, const larmor_raw_info *scan, lmr_settings *settings);

void lmr_settings_free(lmr_settings *settings);
