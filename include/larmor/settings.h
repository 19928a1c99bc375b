/* The options of a reconstruction by their names: one table says what each is, takes it from text and writes it as
 * text, so that a program, a server and other languages need no table of their own. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_SETTINGS_H
#define LARMOR_SETTINGS_H

#include "larmor/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum larmor_setting_type {
    LARMOR_SETTING_NONE,    /* has no text: arrays, listeners and what depends on the scan */
    LARMOR_SETTING_FLAG,    /* true or false */
    LARMOR_SETTING_CHOICE,  /* one of the choices */
    LARMOR_SETTING_FORM,    /* what `expected` says */
    LARMOR_SETTING_INTEGER, /* a whole number from low to high */
    LARMOR_SETTING_NUMBER,  /* a number from low to high */
    LARMOR_SETTING_BYTES,   /* "512M": bytes, or with K, M, G or T thousands, millions ... of them */
    LARMOR_SETTING_SIZES,   /* one to three whole numbers for x, y and z, with commas between */
    LARMOR_SETTING_NUMBERS  /* the same of any numbers */
} larmor_setting_type;

typedef struct larmor_setting {
    const char *name;   /* the member of larmor_recon_opts */
    const char *option; /* what users write, as options of the program and in files: "partial-fourier"; or NULL */
    larmor_setting_type type;
    const char *metavar;  /* stands for the value: "N" */
    const char *choices;  /* "auto|homodyne|pocs|zero"; NULL: not of CHOICE, or names of a table of the library */
    const char *expected; /* of FORM and of such names: what a text must be */
    const char *standard; /* the default as text; NULL: help says what it is */
    double low, high;     /* of a number as text, both included */
    const char *unit;     /* "mm"; "" of what has none */
    const char *help;     /* a line; other options are "opts.name" in it */
    const char *page;     /* of the documentation, "cartesian": docs/cartesian.md */
    size_t at;            /* offset in larmor_recon_opts */
} larmor_setting;

/* Setting i, in the order of the members of larmor_recon_opts; past the last its name is NULL. */
LARMOR_API larmor_setting larmor_setting_entry(int i);

/* Set an option from text.
 *
 * opts    its size must be set; nothing in it points to the text afterwards.
 * name    of the member, or the option; - and _ are the same.
 * Errors  LARMOR_ERR_UNSUPPORTED: no setting has that name; LARMOR_ERR_ARG: it has no text, is beyond opts->size, or
 *         the text is not what it may be, which the message says. */
LARMOR_API larmor_status larmor_setting_set(larmor_recon_opts *opts, const char *name, const char *text);

/* Write an option as text that larmor_setting_set takes for the same value; "" for a default that has no text.
 *
 * text    [size] becomes the text, cut where it is longer; 128 are enough.
 * Errors  those of larmor_setting_set. */
LARMOR_API larmor_status larmor_setting_text(const larmor_recon_opts *opts, const char *name, char *text,
                                             size_t size);

#ifdef __cplusplus
}
#endif
#endif
