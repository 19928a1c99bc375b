/* What the parts of larmor that read ISMRMRD raw data share: the opened file.
 *
 * Acquisitions, channels and samples are counted from 0 in messages, as in the file; encodings from 1.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <string.h>

#include "core/array.h"
#include "core/status.h"
#include "core/text.h"
#include "io/process/reader_process.h"
#include "io/reader/mrd_head.h"
#include "io/reader/mrd_header.h"
#include "larmor/io.h"

/* What a readout is for: bits, 0 for those that are left out. */
enum { LMR_IMAGING = 1, LMR_CALIBRATION = 2, LMR_NOISE = 4, LMR_NAVIGATOR = 8 };

typedef struct lmr_mrd_place { /* of the centre of k-space along a readout without a trajectory */
    int32_t sample;            /* in the order of the line; 0: was not filled in */
    int32_t is_echo;           /* 1: the data say so */
} lmr_mrd_place;

typedef struct lmr_mrd_readout { /* where its numbers are, and what it is for */
    int64_t data, traj; /* first number in the pools; data is [samples, channels], traj [traj_dims, samples] */
    int64_t phase;      /* likewise, [info.phase_terms, samples] */
    int use;
    int zeros_first, zeros_last; /* samples of those kept that are 0 in all coils, from either end */
    double energy;               /* of the samples that are kept */
    lmr_mrd_place centre;
} lmr_mrd_readout;

typedef struct lmr_mrd_traj { /* how to read the trajectories of one encoding */
    int dims;                 /* components that are stored; 0: none */
    int spatial;              /* of these, how many are k-space coordinates */
    int density;              /* 1: the third component holds density weights */
    double scale[3];          /* stored value to cycles per encoded field of view */
    double step, offset; /* of a third component that counts partitions: from one to the next, else 0; at kz = 0 */
    double center[3];    /* without a trajectory: the counter (1, 2) at k = 0 */
    double echo; /* sample, in the order of time, of the echoes of lines in both directions, on average; or NAN */
} lmr_mrd_traj;

/* The key of an image: encoding, slice, contrast, phase, repetition, set; 0 for counters that are joined. */
enum { LMR_KEY = 6 };
typedef struct lmr_mrd_keyed { /* a readout with its key */
    uint16_t key[LMR_KEY];
    int64_t i;
} lmr_mrd_keyed;

struct larmor_raw {
    char *xml;
    lmr_mrd_header header;
    lmr_mrd_traj traj_of[LMR_MRD_MAX_ENCODINGS];
    int64_t claimed;          /* acquisitions, with those at the end that were never written */
    lmr_mrd_head *head;       /* [info.acquisitions] */
    lmr_mrd_readout *readout; /* [info.acquisitions] */
    float *data, *traj;       /* the pools */
    float *phase;             /* that of opts.phase_terms, or NULL */
    /* Of a given trajectory, or NULL: pools in which a readout's samples begin at readout.traj / head.traj_dims. */
    double *time_s, *weight;
    int channels;                   /* of a readout as it is stored */
    int kept[LMR_MRD_MAX_CHANNELS]; /* the info.coils channels with signal and noise */
    int conjugate;
    double shift_mm[3]; /* of the field of view, along read, phase and slice direction */
    int64_t memory;
    unsigned joined[LMR_MRD_MAX_ENCODINGS]; /* bits: counters that make no separate images */
    int64_t *order;                         /* imaging readouts, sorted by group and within a group as in the file */
    int64_t *first_in_order;                /* [groups + 1] */
    int has_hole; /* 1: all images together have none of the samples around the centre of k-space */
    larmor_group *group;
    lmr_mrd_wave *wave; /* [waves] blocks of waveforms, */
    int64_t waves;
    uint32_t *wave_data; /* and their numbers, one after the other */
    int64_t *wave_at;    /* [waves] where those of each begin */
    larmor_raw_info info;
};

static inline int64_t lmr_head_kept(const lmr_mrd_head *h) /* samples after discards */
{
    return (int64_t)h->samples - h->discard_pre - h->discard_post;
}

/* A line more of info.warnings; what does not fit is left out. */
#define LMR_MRD_WARN(raw, ...) lmr_append_line((raw)->info.warnings, sizeof(raw)->info.warnings, __VA_ARGS__)

/* mrd_read.c: the steps from a header and heads to what is asked of a scan, for files and for acquisitions in memory.
 * lmr_mrd_new checks the options; lmr_mrd_take_header copies what the reader says of the header, lmr_mrd_copy_header
 * that of a scan whose grids were looked at, lmr_mrd_check_grids looks at its grids; lmr_mrd_make_pools allocates the
 * numbers of the readouts that are used; lmr_mrd_understand does what comes after these are there. */
larmor_status lmr_mrd_new(const larmor_raw_opts *opts, larmor_raw **out);
larmor_status lmr_mrd_take_header(lmr_reader *reader, const lmr_reader_scan *scan, larmor_raw *raw);
larmor_status lmr_mrd_copy_header(const larmor_raw *from, larmor_raw *raw);
larmor_status lmr_mrd_check_grids(larmor_raw *raw);
larmor_status lmr_mrd_make_pools(larmor_raw *raw);
larmor_status lmr_mrd_understand(const larmor_raw_opts *opts, larmor_raw *raw);

/* mrd_entries.c: the waveforms of a file that is being read; what is damaged is left out with a warning. */
larmor_status lmr_mrd_read_waves(lmr_reader *reader, const lmr_source *source, larmor_raw *raw);

/* mrd_group.c: the key of a readout; an order of keyed ones, by key and then as in the file; a new sorted list of
 * those with one of the uses; the end of the run of equal keys that begins at `first`. */
void lmr_mrd_key(const larmor_raw *raw, int64_t i, uint16_t key[LMR_KEY]);
int lmr_mrd_by_key(const void *a, const void *b);
larmor_status lmr_mrd_sort(const larmor_raw *raw, int use, lmr_mrd_keyed **list, int64_t *count);
int64_t lmr_mrd_run(const lmr_mrd_keyed *list, int64_t first, int64_t count);
/* Which counters make no separate images, by larmor_raw_opts or from the data. */
larmor_status lmr_mrd_join(larmor_raw *raw, const char *join);
/* Sort the imaging readouts into groups. */
larmor_status lmr_mrd_group(larmor_raw *raw);

/* traj_given.c: put a trajectory in the place of what the acquisitions have; NULL: nothing is done. */
larmor_status lmr_mrd_give_trajectory(larmor_raw *raw, const larmor_trajectory *given);

/* mrd_terms.c: opts.phase_terms, where it is given: trajectories become k in rad/m, their other rows raw->phase. */
larmor_status lmr_mrd_take_terms(larmor_raw *raw, const larmor_raw_opts *opts);

/* mrd_segments.c: acquisitions that are the consecutive segments of one long readout become the first of them.
 * asked: 1: by their counters alone; 0: where their trajectory goes on and no time stamps contradict. */
larmor_status lmr_mrd_join_segments(larmor_raw *raw, int asked);

/* mrd_calibration.c: readouts for calibration alone that an image lacks and that match its readouts become imaging
 * ones, too. The others are named in a warning. */
larmor_status lmr_mrd_complete_images(larmor_raw *raw);
/* The readouts that give the coil maps of a group's slice, as in the file. *list, to be freed, is NULL if *count
 * is 0. */
larmor_status lmr_mrd_calibration(const larmor_raw *raw, int group, int64_t **list, int64_t *count);

/* mrd_table.c: decide what each readout is for and check its head; fills readout[].use, channels, counts, dwell
 * times. */
larmor_status lmr_mrd_route(larmor_raw *raw);
/* Look at all samples: finite, of sane size, not all zero; takes out non-finite acquisitions if asked, and coils
 * without signal or noise. */
larmor_status lmr_mrd_check_samples(larmor_raw *raw, int drop_nonfinite);

/* mrd_zeros.c: fill zeros_first and zeros_last of a readout; leave out what is exactly 0 in all coils, with a
 * warning: samples at the ends of readouts become discarded ones, readouts are not used. */
void lmr_mrd_count_zeros(larmor_raw *raw, int64_t i);
larmor_status lmr_mrd_leave_out_zeros(larmor_raw *raw);

/* Name a coil that is exactly 0 between samples of its own where others have signal, with a warning. */
larmor_status lmr_mrd_name_gaps(larmor_raw *raw);

/* mrd_complete.c: fields of view that the header states in metres, or encodedSpace in another unit than reconSpace,
 * become mm, with a warning; so is one that no scanner has. */
void lmr_mrd_fov_to_mm(larmor_raw *raw);
/* Fill in what the header leaves out, with a warning each, and check the grids; units as for lmr_mrd_find_trajectory.
 * Fails with LARMOR_ERR_FORMAT where readouts without a trajectory need what is missing. */
larmor_status lmr_mrd_complete(larmor_raw *raw, const char *units);

/* mrd_units.c: what the trajectory's components and units are. units is NULL or "auto", or as in larmor_raw_opts. */
larmor_status lmr_mrd_find_trajectory(larmor_raw *raw, const char *units);
/* The matrix that an encoding's stored trajectory asks for, by its unit and its extent or sample distance; 0 or 1
 * along axes that it does not tell. */
void lmr_mrd_guess_matrix(const larmor_raw *raw, int encoding, const char *units, int64_t matrix[3]);

/* The matrix of a scan whose trajectory is that of its sequence; given: NULL is fine. */
larmor_status lmr_mrd_match_sequence(larmor_raw *raw, const larmor_trajectory *given);

/* mrd_third.c: what the third component is; plane: the largest value of the first two. A matrix of one partition
 * becomes that of a volume where it is kz. */
larmor_status lmr_mrd_third_component(larmor_raw *raw, int encoding, int use, double plane, lmr_mrd_traj *t);
/* How many evenly spaced values a component has, where each readout has one of them, and their distance; else 0. */
int lmr_mrd_levels(const larmor_raw *raw, int encoding, int use, int dims, int component, double *step);

typedef struct lmr_mrd_line { /* in cycles per encoded field of view */
    double first, step;       /* of sample 0, discarded or not, and from a sample to the next */
} lmr_mrd_line;

/* mrd_line.c: where the samples of a readout without a trajectory are along it, whose centre is there. spans: 1:
 * it covers the matrix, 0: it does unless it has fewer samples. */
lmr_mrd_line lmr_mrd_line_of(const lmr_mrd_head *h, lmr_mrd_place centre, int64_t matrix, int spans);

/* mrd_ramp.c: lines that are sampled on ramps of the gradient, by their header or as in larmor_raw_opts;
 * LARMOR_ERR_ARG for what is none of these. An encoding's ramp stays all 0 where samples are equally far apart,
 * and is complete otherwise. */
larmor_status lmr_mrd_find_ramps(larmor_raw *raw, const char *asked);
/* k along a line of sample s in the order of time, in cycles per encoded field of view, of an encoding with a
 * ramp. */
double lmr_mrd_ramp_k(const larmor_encoding *encoding, const lmr_mrd_head *h, lmr_mrd_place centre, double s);

/* mrd_echo.c: the energy of a readout's samples; the centre of all readouts of an encoding that have no
 * trajectory, by their heads and by the echo, with a warning where these differ. */
double lmr_mrd_energy(const larmor_raw *raw, int64_t i);
larmor_status lmr_mrd_find_echoes(larmor_raw *raw, int encoding);

/* Ways of counting center_sample of readouts in reverse. */
enum { LMR_COUNTED_IN_TIME, LMR_COUNTED_FROM_1, LMR_COUNTED_ALONG_LINE, LMR_COUNTINGS };

typedef struct lmr_mrd_match { /* of lines in reverse and their neighbours in the other direction */
    int counting;              /* what is preset, unless another way makes them clearly more alike */
    int shows;                 /* 1: they are most alike in this way, or clearly in another one */
    int is_apart;              /* 1: they are more alike some samples beside, or too few were compared */
} lmr_mrd_match;

/* mrd_counting.c: a centre in the order of the line; the way of counting by lines in both directions. */
int lmr_mrd_counted(int counting, const lmr_mrd_head *h);
larmor_status lmr_mrd_match_directions(const larmor_raw *raw, int encoding, int preset, lmr_mrd_match *out);

typedef struct lmr_mrd_strongest { /* of the lines or partitions of an encoding */
    int64_t line; /* -1: none stands out, or the one that was said to be the centre is about as strong */
    int64_t gap;  /* to the farther one of its neighbours */
} lmr_mrd_strongest;
/* The counter of axis 1 or 2 at which images have most energy. said: the counter that should be the centre. */
larmor_status lmr_mrd_strongest_line(const larmor_raw *raw, int encoding, int axis, int64_t said,
                                     lmr_mrd_strongest *out);

/* mrd_hole.c: a warning of a centre of k-space without samples. lines: 1: readouts without a trajectory are
 * Cartesian. */
larmor_status lmr_mrd_check_centre(larmor_raw *raw, int encoding, int lines);

/* The same of each image, where that of all of them has none: after lmr_mrd_group. */
larmor_status lmr_mrd_check_centres(larmor_raw *raw);

/* 1 if a trajectory of this name comes from counters of lines. */
static inline int lmr_mrd_made_from_counters(const char *trajectory)
{
    return !strcmp(trajectory, "cartesian") || !strcmp(trajectory, "epi");
}

/* mrd_geometry.c: 1 if a head has directions; warnings of images whose place is not known. */
int lmr_mrd_is_oriented(const lmr_mrd_head *h);
larmor_status lmr_mrd_check_geometry(larmor_raw *raw);
/* 1 if the field of view of nd axes was moved. */
int lmr_mrd_is_shifted(const larmor_raw *raw, int nd);

/* mrd_grid.c: the reconstruction grid of an encoding; opts may be NULL. Fails if it is larger than raw->memory
 * allows. */
larmor_status lmr_mrd_grid(const larmor_raw *raw, int encoding, const larmor_grid_opts *opts, larmor_grid *out);

/* bytes_text.c: "64 GiB", "2.0 PiB". */
lmr_text lmr_bytes_text(double bytes);
