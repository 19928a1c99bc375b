/* Images of several times and their times, from one file or several. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

enum { FIT_TIMES = 256 };

typedef enum fit_made_of {                /* a volume of three dimensions */
                           FIT_AS_STORED, /* what the array is: partitions, or slices that are images */
                           FIT_OF_SLICES, /* slices, stacked in the file */
                           FIT_NOT_SAID   /* taken for partitions */
} fit_made_of;

typedef struct fit_inputs {
    larmor_image_set first; /* of the first file, for the place of the maps */
    larmor_array *images;   /* [nx, ny(, nz), times] */
    double ms[FIT_TIMES];
    int times; /* 0: neither given nor in a header */
    fit_made_of made_of;
    const char *name; /* of the first file */
} fit_inputs;

void fit_inputs_free(fit_inputs *in);

/* Read all files, and from their headers or sidecars what `element` has there, "TE" or "TI". Returns an exit code. */
int fit_inputs_read(const app_files *files, const char *element, larmor_device *dev, fit_inputs *in);

/* Of the magnet, from the header of MRD images, in T; 0: it says none. */
double fit_field_strength(const fit_inputs *in);

/* "10,20,40" or the numbers of a text file, with blanks, commas or lines between them, in ms: their count, or -1. */
int fit_read_times(const char *text, double ms[FIT_TIMES]);
int fit_read_times_file(const char *path, double ms[FIT_TIMES]);

/* "x_T2.nii" of "x.nii", "out/T2.nii" of "out/". */
larmor_status fit_name_map(const char *prefix, const char *map, const char *more, char *name, size_t room);

/* Files of some formats are complex with an imaginary part of 0: the real part of such arrays, NULL stays. */
larmor_status fit_make_real(larmor_array **x, larmor_device *dev);

/* Noise maps of all images, as larmor recon --noise-map writes them, become one: their root mean square. A map alone,
 * and NULL, stay. */
larmor_status fit_join_noise(larmor_array **noise, const larmor_array *images, larmor_device *dev);

/* Says how much neighbours of a map differ beyond its error bars, and with `edges` adds it to them. Neighbours of a
 * voxel lie in its slice, if slices are images of their own or were it before they were stacked. ratio: that in units
 * of the bars, a median. */
larmor_status fit_judge_bars(const fit_inputs *in, const char *name, int edges, const larmor_array *value,
                             larmor_array **deviation, double *ratio);

/* Write a map in the place of the images. */
larmor_status fit_write_map(const fit_inputs *in, const larmor_array *map, larmor_output *out);
