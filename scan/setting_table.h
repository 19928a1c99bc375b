/* Every member of larmor_recon_opts in one table: bounds, fingerprint, text and help come from it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/settings.h"

typedef enum lmr_setting_type {
    LMR_SETTING_INT, /* or an enumeration */
    LMR_SETTING_INT64,
    LMR_SETTING_REAL,
    LMR_SETTING_REAL_AT,  /* const double *, or NULL */
    LMR_SETTING_TEXT,     /* const char * */
    LMR_SETTING_ARRAY,    /* larmor_array *, hashed when the options are read */
    LMR_SETTING_PLACE,    /* larmor_image_meta, its geometry */
    LMR_SETTING_PLACE_AT, /* const larmor_image_meta *, or NULL */
    LMR_SETTING_COUNTERS, /* const larmor_counters * */
    LMR_SETTING_OTHER     /* no option: where results and events go, and how the caller names things */
} lmr_setting_type;

typedef struct lmr_setting {
    const char *name;
    size_t at, bytes; /* in larmor_recon_opts */
    lmr_setting_type type;
    double low, high;    /* of numbers, both included; NAN is never inside */
    int is_of_image;     /* 1: images depend on it, and so does what a checkpoint belongs to */
    larmor_setting text; /* without name and place */
} lmr_setting;

/* Setting i, or NULL past the last; in the order of the members. */
const lmr_setting *lmr_setting_at(int i);

/* 1 if both are one name, where - and _ are the same; b may be NULL. */
int lmr_same_setting(const char *a, const char *b);

/* LARMOR_ERR_ARG with its name, value and bounds for the first number outside its bounds. */
larmor_status lmr_settings_check_bounds(const larmor_recon_opts *opts);

/* *hash <- that of what gave *hash and then of all settings that images depend on, without arrays. The options are
 * those of lmr_settings, whose texts and counters are not NULL. */
void lmr_settings_hash(const larmor_recon_opts *opts, uint64_t *hash);

/* LARMOR_ERR_ARG with all names there are, unless `text` is one for opts.maps_method. */
larmor_status lmr_check_maps_method(const char *text);
