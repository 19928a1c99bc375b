/* What a file format is, a row of the table in formats.c, and what their files share. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LMR_FORMATS_H
#define LMR_FORMATS_H

#include "core/array.h"
#include "core/atomic.h"
#include "io/source.h"
#include "larmor/io.h"

typedef struct lmr_images { /* checked: of one shape and type */
    const larmor_image *image;
    int count;
    int64_t dim[3], voxels; /* of one image */
    int is_complex;
    const larmor_write_opts *opts; /* never NULL */
} lmr_images;

typedef struct lmr_format {
    const char *suffix, *name;
    const char *second; /* the suffix of a file that belongs to it, or NULL */
    int is_picture;     /* 1: grey values, which larmor_write_opts.window chooses */
    int (*element)(larmor_dtype dtype,
                   int magnitude); /* bytes of a value in the file; NULL where they are not known before */
    larmor_status (*write)(larmor_output *out, const lmr_images *images);
    larmor_status (*save)(larmor_output *out, const larmor_array *x);                      /* or NULL */
    larmor_status (*read)(const lmr_source *source, larmor_device *dev, larmor_array **x); /* or NULL */
    larmor_status (*read_meta)(const lmr_source *source, larmor_image_meta *meta);         /* or NULL */
    larmor_status (*describe)(const lmr_source *source,
                              larmor_image_info *info); /* what the array does not contain, or NULL */
} lmr_format;

/* The suffix of the path's format, and that of the file that belongs to it: "" and NULL if there is none. */
const char *lmr_suffix(const char *path);
const char *lmr_second_suffix(const char *path);

/* The ":" of FILE.h5:/group, unless a file has the whole name; else NULL. */
const char *lmr_inside(const char *path);

/* Open a file of a known format; FILE.h5:/group opens FILE.h5, unless a file has the whole name. read: 1 if it must be
 * one that can be read. Errors: LARMOR_ERR_ARG, LARMOR_ERR_IO, LARMOR_ERR_MEMORY. */
larmor_status lmr_format_open(const char *path, int read, lmr_source *source, const lmr_format **format);

typedef enum lmr_as { LMR_AS_COMPLEX, LMR_AS_MAGNITUDE, LMR_AS_REAL } lmr_as;

/* Checks for all writers; what: begins the message. Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE. */
larmor_status lmr_images_check(const char *what, const larmor_image *images, int count, const larmor_write_opts *opts,
                               lmr_images *set);

/* The values of x on the host as float, [count] or, complex, [2, count]. LMR_AS_REAL takes real arrays only. */
larmor_status lmr_values(const larmor_array *x, lmr_as as, float *out);

/* Refuse to write values [count] of this type if one is Inf or NaN. Errors: LARMOR_ERR_NUMERIC. */
larmor_status lmr_finite(const larmor_output *out, larmor_dtype dtype, const void *host, int64_t count);

/* A shape of n sizes: trailing ones dropped, and, if they are still too many, all ones past the second dimension.
 * Errors  LARMOR_ERR_FORMAT if more than LARMOR_MAX_DIMS are left. */
larmor_status lmr_shape_from(const char *path, int n, const int64_t *dims, larmor_shape *shape);

/* Functions of formats whose code is in several files. */
larmor_status lmr_read_mrd_images(const lmr_source *source, larmor_device *dev, larmor_array **x);
larmor_status lmr_read_mrd_meta(const lmr_source *source, larmor_image_meta *meta);
larmor_status lmr_describe_mrd(const lmr_source *source, larmor_image_info *info);
larmor_status lmr_describe_png(const lmr_source *source, larmor_image_info *info);

#endif
