/* The options of a reconstruction by their names: one table says what each is, takes it from text and writes it as
 * text, so that a program, a server and other languages need no table of their own. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_SETTINGS_H
#define LARMOR_SETTINGS_H

#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef enum larmor_setting_type {
    LARMOR_SETTING_NONE,    /* has no text: arrays, listeners and what depends on the scan */
    LARMOR_SETTING_FLAG,    /* true or false */
    LARMOR_SETTING_CHOICE,  /* one of the choices */
    LARMOR_SETTING_FORM,    /* what `expected` says */
    LARMOR_SETTING_INTEGER, /* a whole number from low to high */
    LARMOR_SETTING_NUMBER,  /* a number from low to high */
    LARMOR_SETTING_BYTES,   /* "512M": bytes, or with K, M, G or T thousands, millions ... of them */
    LARMOR_SETTING_SIZES,   /* one to three whole numbers for x, y and z, with commas between */
    LARMOR_SETTING_NUMBERS, /* the same of any numbers */
    LARMOR_SETTING_LIST     /* what `expected` says, or several of them with + between; set again, it gets one more */
} larmor_setting_type;

typedef struct larmor_setting {
    const char *name;   /* the member of larmor_recon_opts */
    const char *option; /* what users write, as options of the program and in files: "partial-fourier"; or NULL */
    larmor_setting_type type;
    const char *metavar;  /* stands for the value: "N" */
    const char *choices;  /* "auto|homodyne|pocs|zero"; NULL: not of CHOICE, or names of a table of the library */
    const char *expected; /* of FORM, LIST and of such names: what a text must be */
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

/* Check options as larmor_recon_create does, before what they need is read: values, and which go together. One that
 * would have no effect with the others is refused, where a reconstruction may warn of it and go on.
 *
 * opts    NULL: the defaults.
 * later   members that will be set by then, with blanks between, such as "b0 maps"; or NULL.
 * Errors  LARMOR_ERR_ARG or LARMOR_ERR_UNSUPPORTED, with other members as "opts.NAME". */
LARMOR_API larmor_status larmor_settings_check(const larmor_recon_opts *opts, const char *later);

/* Takes a value of an option in a file: value i of a list of strings, else i is 0. The texts are valid during the
 * call; what it returns but LARMOR_OK ends the reading, with its message (larmor_fail). */
typedef larmor_status (*larmor_option_listener)(void *user, const char *name, const char *value, int i);

/* Set options from a file, a subset of TOML.
 *
 * The file is lines `name = value`, below [recon] or without it, or a line `recon = {name = value, ...}`.
 * A value is a string in quotes, a number, true, false, or a list of strings or numbers in brackets, of which the
 * numbers are one value, "1,2,3"; `#` begins a comment. At most 1 MiB, and 256 options.
 *
 * opts    as of larmor_setting_set, which sets them; NULL: all options go to `other`.
 * other   gets options that are no settings with a text, such as files; NULL: they are refused.
 * Errors  LARMOR_ERR_ARG or LARMOR_ERR_UNSUPPORTED with "FILE:LINE: " before what is wrong, and what stands
 *         before it is set; LARMOR_ERR_IO; LARMOR_ERR_FORMAT of a file that is too long or no text;
 *         LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_settings_read(const char *path, larmor_recon_opts *opts, larmor_option_listener other,
                                              void *user);

/* Write options as one line that is such a file: those that are not the default, by the program's names.
 *
 * opts    NULL: none of them.
 * other   further options, written as they are; NULL: none.
 * text    [size] becomes the line. 8192 are enough for opts.
 * Errors  LARMOR_ERR_ARG: it is longer, which the message says; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_settings_write(const larmor_recon_opts *opts, const larmor_notes *other, char *text,
                                               size_t size);

LARMOR_C_END
#endif
