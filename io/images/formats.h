/* What a file format is, a row of the table in formats.c, and what their files share. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "core/array.h"
#include "core/atomic.h"
#include "larmor/io.h"

enum { LMR_MOST_IMAGES = 1 << 20 }; /* of a file */

typedef struct lmr_images { /* checked: of one shape and type */
    const larmor_image *image;
    int count;
    int64_t dim[3], voxels;        /* of one image */
    int is_complex, is_coils;      /* is_coils: an image is the map of a coil */
    const larmor_write_opts *opts; /* never NULL */
} lmr_images;

/* LIST: a geometry of each image; PLACE: the file says where images lie. */
enum { LMR_CAN_READ = 1, LMR_CAN_READ_META = 2, LMR_CAN_DESCRIBE = 4, LMR_CAN_LIST = 8, LMR_CAN_PLACE = 16 };

typedef struct lmr_format {
    const char *suffix, *name;
    const char *second;  /* the suffix of a file that belongs to it, or NULL */
    const char *sidecar; /* the suffix of a file that larmor_output_add_sidecar adds; NULL: none */
    const char *phase;   /* that of the file that larmor_output_add_phase adds; NULL: none */
    const char *inside;  /* of a folder of files: their suffix; else NULL */
    larmor_status (*ready)(const char *path); /* what is needed to write it is there; NULL: nothing is */
    int is_picture;                           /* 1: grey values, which larmor_write_opts.window chooses */
    int bytes; /* of a value in the file; 0: as many as `element` says, or they are not known before */
    int (*element)(larmor_dtype dtype, int magnitude);
    larmor_status (*write)(larmor_output *out, const lmr_images *images);
    larmor_status (*save)(larmor_output *out, const larmor_array *x); /* or NULL */
    /* Whether a file can hold the images, whose data are not looked at; NULL: any. And which of them go into which of
     * several files; NULL: all into one. */
    larmor_status (*check)(const char *path, const lmr_images *images);
    larmor_status (*divide)(const char *path, const lmr_images *images, int *class);
    unsigned can; /* what the reader's parser of this suffix can do */
} lmr_format;

/* The format of a path by its suffix, or NULL. */
const lmr_format *lmr_format_of(const char *path);

/* Fails with LARMOR_ERR_ARG and lists the suffixes that can be read or written. */
larmor_status lmr_unknown_suffix(const char *path, int reading);

/* ---- for all of them (values.c) ---- */

/* The ":" of FILE.h5:/group, unless a file has the whole name; else NULL. */
const char *lmr_inside(const char *path);

typedef enum lmr_as { LMR_AS_COMPLEX, LMR_AS_MAGNITUDE, LMR_AS_REAL, LMR_AS_IMAGINARY, LMR_AS_PHASE } lmr_as;

/* Checks for all writers; what: begins the message. Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE. */
larmor_status lmr_images_check(const char *what, const larmor_image *images, int count, const larmor_write_opts *opts,
                               lmr_images *set);

/* The values of x on the host as float, [count] or, complex, [2, count]. Of numbers that are
 * not finite the phase is NaN. */
larmor_status lmr_values(const larmor_array *x, lmr_as as, float *out);

/* Refuse to write values [count] of this type if one is Inf or NaN. Errors: LARMOR_ERR_NUMERIC. */
larmor_status lmr_finite(const larmor_output *out, larmor_dtype dtype, const void *host, int64_t count);

/* A shape of n sizes: trailing ones dropped, and, if they are still too many, all ones past the second dimension.
 * Errors  LARMOR_ERR_FORMAT if more than LARMOR_MAX_DIMS are left. */
larmor_status lmr_shape_from(const char *path, int n, const int64_t *dims, larmor_shape *shape);
