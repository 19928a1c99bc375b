/* Images, and the files that they are written to and read from. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_IMAGE_H
#define LARMOR_IMAGE_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* ---- outputs ---- */

typedef struct larmor_output larmor_output; /* a file being made: a temporary one beside the target */

typedef struct larmor_format_info {
    const char *suffix, *name; /* ".nii.gz", "NIfTI-1"; NULL if there is no such format */
    int reads;                 /* 1: larmor_image_read knows it; every format can be written */
    int saves;                 /* 1: larmor_array_save writes any array to it, not images alone */
    int is_picture;            /* 1: grey values, which larmor_write_opts.window chooses */
    int is_folder;             /* 1: a folder with a file for each slice, of which the window is said */
    int has_sidecar;           /* 1: larmor_output_add_sidecar adds a file */
} larmor_format_info;

/* Format i of those that outputs may have, and the format of a path by its suffix. */
LARMOR_API larmor_format_info larmor_format_entry(int i);
LARMOR_API larmor_format_info larmor_format_of(const char *path);

/* What keeps the process that parses files from all else: "seccomp", a filter of system calls and limits, or
 * "limits" alone where the kernel grants no filter; as a reader that is started for that says. With
 * LARMOR_SANDBOX=require in the environment no file is read without the filter.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED: no reader, or no filter where it is required; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_reader_sandbox(const char **name);

/* Begin an output file. Refused here, before anything is computed: a missing or read-only folder, an existing file
 * without force, a symbolic link, a name that is too long, an unknown suffix, a file that another run is writing.
 *
 * Errors  LARMOR_ERR_ARG for a suffix (the message lists the known ones); LARMOR_ERR_EXISTS for an existing file, and
 *         with force, too, for a folder, link or device of that name; LARMOR_ERR_IO for the rest. */
LARMOR_API larmor_status larmor_output_open(const char *path, int force, larmor_output **out);
LARMOR_API const char *larmor_output_path(const larmor_output *out);
LARMOR_API void larmor_output_free(larmor_output *out); /* without a finished write: the target stays as it was */

/* Beside an output of .nii or .nii.gz that is open, a .json of the same name with what BIDS says of its volumes, from
 * larmor_write_opts.header: echo, repetition and inversion times, flip angle, field strength, scanner. Both appear
 * together.
 *
 * Errors  LARMOR_ERR_ARG for other formats; LARMOR_ERR_EXISTS; LARMOR_ERR_IO; the output is as it was. */
LARMOR_API larmor_status larmor_output_add_sidecar(larmor_output *out);

/* Beside an output of .dcm that is open, a file for the phases of complex images, which have the component PHASE:
 * "x_phase.dcm" beside "x.dcm". Both appear together.
 *
 * Errors  LARMOR_ERR_ARG for other formats, and of larmor_image_write for real images; LARMOR_ERR_EXISTS;
 *         LARMOR_ERR_IO; the output is as it was. */
LARMOR_API larmor_status larmor_output_add_phase(larmor_output *out);

/* Reserve the space that an array of this shape will take, so that a full disk is found before the work. What is not
 * used is given back. Nothing is reserved where the size is not known before, as of compressed files.
 *
 * magnitude  1: of complex values the magnitude will be written.
 * Errors     LARMOR_ERR_IO with what is needed and what is free; LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_output_reserve(larmor_output *out, larmor_dtype dtype, larmor_shape shape,
                                               int magnitude);

/* No file that is to be written is also read, or written twice, whatever names it goes by: other spellings and
 * links count, as do the .hdr of a .cfl and the file of FILE.h5:/group. Files that are there are compared by
 * device and inode, others by folder and name.
 *
 * Errors  LARMOR_ERR_ARG, which names both. */
LARMOR_API larmor_status larmor_files_check(const char *const *read, int reads, const char *const *written,
                                            int writes);

/* Where the image of a scan goes, of several that share a folder: FOLDER/STEM.nii, with the scan's name without
 * folders and its last suffix. larmor_files_check says whether two scans have one name.
 *
 * suffix  with its dot: ".nii", ".dcm/".
 * name    [room] becomes the path.
 * Errors  LARMOR_ERR_ARG: it is longer. */
LARMOR_API larmor_status larmor_output_name(const char *folder, const char *scan, const char *suffix, char *name,
                                            size_t room);

/* Remove the temporary files of all outputs of this process that are not complete, from then on complete none, and
 * return 1. For a program that ends itself in a handler of signals: it calls nothing but functions that are safe
 * there, and then larmor is good for nothing but _exit. Returns 0, having done nothing, while some thread is
 * giving a file its name: call it again a few milliseconds later, after the handler has returned. */
LARMOR_API int larmor_outputs_abandon(void);

/* ---- images ---- */

typedef struct larmor_image_meta { /* geometry of ISMRMRD: patient coordinates LPS, mm */
    double fov_mm[3];
    double position_mm[3]; /* of voxel (nx/2, ny/2, nz/2) */
    double read_dir[3], phase_dir[3], slice_dir[3];
    double table_mm[3];
    int encoding, slice, contrast, phase, repetition, set, average;
    int place_unknown; /* 1: the scan has no directions or no position; x, y, z and 0 stand for them */
    uint32_t measurement_uid, time_stamp, physiology_stamp[3];
} larmor_image_meta;

typedef struct larmor_image {
    const larmor_array *data; /* complex or real, [nx, ny] or [nx, ny, nz] */
    larmor_image_meta meta;
} larmor_image;

typedef struct larmor_notes { /* provenance: `count` pairs of keys and values */
    const char *const *keys;
    const char *const *values;
    int count;
} larmor_notes;

typedef enum larmor_part { /* of complex images */
                           LARMOR_PART_MAGNITUDE,
                           LARMOR_PART_PHASE, /* rad, from -pi to pi */
                           LARMOR_PART_REAL,
                           LARMOR_PART_IMAGINARY
} larmor_part;

typedef struct larmor_write_opts { /* zero means default */
    int magnitude;                 /* 1: magnitude where the format could be complex */
    larmor_part part;              /* .nii, .nii.gz: what is written of complex images */
    const char *header;            /* XML header to copy into an ISMRMRD image file, and to fill a .dcm/ from */
    larmor_notes notes;            /* of all images of an ISMRMRD image file */
    const larmor_notes *each;      /* one for each image, written after those of all; or NULL */
    double window[2]; /* .png, .gif, .dcm, .dcm/: what is black and what is white, in the image's unit; both 0:
                         larmor_image_window */
    int phase;        /* .dcm/: 1: also the phase of complex images, as a series of its own */
    int anonymous;    /* .dcm, .dcm/: 1: nothing of the header that points to a person */
    uint64_t
        identity; /* DICOM: UIDs follow from it, the header and the images' places, so that they are the same when
                        * it is; 0: from the values of the images in its place */
    int planes;   /* .png, .gif: 1: three planes through the middle of each volume, in its proportions */
    int colour;   /* .png, .gif: 1: hue for the phase, brightness for the magnitude */
    double frames_per_s; /* .gif; 0: 10, or that of repetitions whose time stamps give 1 to 50 */
} larmor_write_opts;

/* The default window for pictures: from 0 to the 99.5th percentile of the object's magnitudes, but at most to three
 * times their median, so that a bright rim does not hide the rest. The object is where the magnitude is at least a
 * tenth of the 99.8th percentile of all voxels.
 *
 * images  as for larmor_image_write; voxels that are not finite do not count.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_image_window(const larmor_image *images, int count, double window[2]);

typedef struct larmor_image_place { /* an image without its voxels */
    larmor_shape shape;             /* [nx, ny] or [nx, ny, nz] */
    larmor_image_meta meta;
} larmor_image_place;

/* Before images are made: how many files of a path's format hold them, and which of them each goes to. Images of
 * one size go into one file, and into one .nii or .nii.gz those that are parallel, with one size of voxels, evenly
 * spaced slices and the same of them in each volume.
 *
 * file    [count] the number of each image's file, from 0, in the order of their first images.
 * Errors  LARMOR_ERR_ARG for a suffix, and for images that no file of the format holds; LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_images_divide(const char *path, const larmor_image_place *places, int count,
                                              int *file, int *files);

/* The name of such a file: "a.nii.gz" and file 0 give "a_1.nii.gz". room: bytes of name. Errors: LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_divided_name(const char *path, int file, char *name, size_t room);

/* Write images in the format of the output's suffix, see larmor_format_entry, and put the file in place.
 *
 * .nii, .nii.gz  float: opts->part of complex images; real ones keep their sign unless opts->magnitude is set.
 * .dcm/          a folder with a file for each slice, 16 bits with a slope; signed as .nii. It needs DCMTK's plugin.
 * .dcm           one file for all slices, evenly spaced parallel ones; 16 bits, signed and by the plugin as .dcm/.
 * .png           slices and images are tiled, each with the numbers that distinguish it above it, in pictures of
 *                several tiles with voxels of as many pixels as the names need.
 * .gif           a frame for each volume, or for each slice of a single one. It needs giflib in the build.
 *
 * images  of one shape; voxels are written in the order of the array, x fastest.
 * opts    may be NULL.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_IO: disk full and the like; LARMOR_ERR_ARG: NIfTI of uneven slices;
 *         LARMOR_ERR_NUMERIC for values that are not finite, or would not be in the format's precision. */
LARMOR_API larmor_status larmor_image_write(larmor_output *out, const larmor_image *images, int count,
                                            const larmor_write_opts *opts);

/* Write any complex or real array of up to 8 dimensions to .cfl or .npy.
 *
 * Errors  LARMOR_ERR_ARG for another suffix; LARMOR_ERR_IO; LARMOR_ERR_NUMERIC for values that are not finite. */
LARMOR_API larmor_status larmor_array_save(larmor_output *out, const larmor_array *x);

/* Write coil maps [nx, ny(, nz), coils], or several sets of them [nx, ny, nz, coils, sets], and put the file in
 * place: .cfl as BART has them, coils always in dimension 3 and sets in 4; .npy as they are; .h5, .nii an image of
 * each coil of one set.
 *
 * meta    where the images of an .h5 are; may be NULL.
 * Errors  LARMOR_ERR_SHAPE for another number of dimensions; LARMOR_ERR_ARG for another suffix; those of
 *         larmor_image_write. */
LARMOR_API larmor_status larmor_maps_save(larmor_output *out, const larmor_array *maps,
                                          const larmor_image_meta *meta);

/* Write a trajectory [nd, samples, readouts] to .cfl or .npy as BART has it, [3, samples, readouts] in double
 * precision, zeros where there are fewer components, and put the file in place.
 *
 * Errors  LARMOR_ERR_SHAPE for other dimensions; those of larmor_array_save. */
LARMOR_API larmor_status larmor_traj_save(larmor_output *out, const larmor_array *traj);

/* Read such a file: the first ndim components of [3 or ndim, samples, readouts...], real parts, as f64 [ndim,
 * samples, readouts]; further dimensions are readouts.
 *
 * Errors  LARMOR_ERR_SHAPE for another first dimension or no samples; LARMOR_ERR_ARG for an ndim that is not 1 to 3;
 *         those of larmor_image_read. */
LARMOR_API larmor_status larmor_traj_read(const char *path, int ndim, larmor_device *dev, larmor_array **traj);

/* Read an image or any array: .h5 (all images of group /dataset or of the only group with images, stacked last),
 * .nii, .nii.gz, .cfl, .npy. `FILE.h5:/group` or `FILE.h5:/group/series` names the images of an .h5 with several.
 * Trailing dimensions of 1 are dropped.
 *
 * dtype    c64 on return, or the file's own real or double precision type for .npy and .nii.
 * Errors   LARMOR_ERR_IO, LARMOR_ERR_FORMAT, LARMOR_ERR_ARG (suffix), LARMOR_ERR_MEMORY, LARMOR_ERR_UNSUPPORTED, as
 *          for larmor_raw_open. */
LARMOR_API larmor_status larmor_image_read(const char *path, larmor_device *dev, larmor_array **image);

/* As larmor_image_read: the geometry of the first image of an .h5 or a .nii file; other formats: unit voxels. */
LARMOR_API larmor_status larmor_image_read_meta(const char *path, larmor_image_meta *meta);

typedef struct larmor_image_set { /* free with larmor_images_free */
    larmor_image *image;          /* [count] of one shape, parts of `all` */
    int count;                    /* 0 of an array without a geometry that would be more than 2^20 images */
    int has_geometry;  /* 1: the file says where its images lie; else voxels are 1 mm and directions 0, which is
                       * unknown */
    int has_counters;  /* 1: it says which images they are: all but .npy, and a .cfl with other axes than those
                       * below */
    char *header;      /* the XML header of the scan that an .h5 has with its images; NULL: none */
    larmor_array *all; /* as larmor_image_read gives it, but real where the file is */
} larmor_image_set;

/* The images of a file one by one, each with its own geometry and counters: of .h5 those of a series; of .nii and
 * .nii.gz each volume, as a repetition; of .npy and .cfl what follows the first three axes, in .cfl with the
 * counters of BART's axes: echoes 5, repetitions 10, phases 11, slices 13, averages 14, sets 15.
 *
 * Errors  those of larmor_image_read. */
LARMOR_API larmor_status larmor_images_read(const char *path, larmor_device *dev, larmor_image_set *set);
LARMOR_API void larmor_images_free(larmor_image_set *set); /* also sets all to NULL */

/* Images as NIfTI has them, [nx, ny, slices or nz, volumes]: the slices that have the other counters alike are a
 * volume, sorted by position, and volumes are sorted by their counters. Images of other kinds are volumes in their
 * order. Dimensions of 1 at the end are dropped.
 *
 * images  of one shape and type, as for larmor_image_write.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_images_stack(const larmor_image *images, int count, larmor_array **volumes);

/* The order in which files of all formats have the slices of a volume, that of their places along the first one's
 * direction: order[i] is the index of slice i of the file. Slices that are not parallel, or at one place, are in the
 * order of their counters. Other counters do not count.
 *
 * Errors  LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_slices_order(const larmor_image_meta *slice, int count, int *order);

typedef struct larmor_image_info {
    char format[24];        /* "ISMRMRD images", "NIfTI-1", "PNG", "BART", "NumPy" or "DICOM" */
    char type[24];          /* of its numbers, e.g. "c64", "magnitude", "8 bit grey" */
    char inside[256];       /* .h5: the series in it, e.g. "/dataset/image_0"; DICOM: its UID; else "" */
    larmor_shape shape;     /* as larmor_image_read gives it; of a PNG [width, height] */
    int64_t images;         /* .h5, DICOM: how many of the series; else 1 */
    int64_t nonfinite;      /* how many of its numbers are NaN or Inf */
    double lowest, highest; /* of the finite ones, of complex ones the magnitude; 0 if there are none, or of a PNG */
    int has_range, is_complex;      /* 1: lowest and highest are known; of magnitudes */
    int has_geometry, has_counters; /* 1: meta has the first image's geometry; slice, contrast and so on as well */
    larmor_image_meta meta;
    char notes[4096]; /* provenance, lines "key: value\n" of the first image; cut to the space */
} larmor_image_info;

/* What an image file is: of every format that larmor writes, .h5 as for larmor_image_read.
 *
 * dev     where it is read to for its range; any will do.
 * Errors  those of larmor_image_read. */
LARMOR_API larmor_status larmor_image_describe(const char *path, larmor_device *dev, larmor_image_info *out);

LARMOR_C_END
#endif
