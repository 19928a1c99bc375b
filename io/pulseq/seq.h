/* A Pulseq sequence as the reader has it: the tables of a file, text or binary, in the columns of version 1.5, and
 * what they give, k-space of each sample. Kelvin Layton et al., Magn. Reson. Med. 77, 1544 (2017); the format by
 * pulseq's doc/specification.tex, 1.5.2. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/parsers.h"

/* Tables. Times are in s, amplitudes in Hz/m or Hz, phases in rad. */
enum {
    SEQ_BLOCKS,
    SEQ_RF,
    SEQ_GRADIENTS,
    SEQ_TRAPS,
    SEQ_ADC,
    SEQ_DELAYS,
    SEQ_EXTENSIONS,
    SEQ_SETS,
    SEQ_INCS,
    SEQ_SOFT,
    SEQ_ROTATIONS,
    SEQ_TABLES
};

/* Columns behind the number of a row. */
enum { BLOCK_DURATION, BLOCK_RF, BLOCK_GX, BLOCK_ADC = 5, BLOCK_EXTENSION, BLOCK_COLUMNS };
enum {
    RF_AMPLITUDE,
    RF_MAGNITUDE,
    RF_PHASE_SHAPE,
    RF_TIME,
    RF_CENTER,
    RF_DELAY,
    RF_PPM,
    RF_PHASE_PPM,
    RF_FREQUENCY,
    RF_PHASE,
    RF_USE,
    RF_COLUMNS
};
enum {
    GRADIENT_AMPLITUDE,
    GRADIENT_FIRST,
    GRADIENT_LAST,
    GRADIENT_SHAPE,
    GRADIENT_TIME,
    GRADIENT_DELAY,
    GRADIENT_COLUMNS
};
enum { TRAP_AMPLITUDE, TRAP_RISE, TRAP_FLAT, TRAP_FALL, TRAP_DELAY, TRAP_COLUMNS };
enum { ADC_SAMPLES, ADC_DWELL, ADC_DELAY, ADC_PPM, ADC_PHASE_PPM, ADC_FREQUENCY, ADC_PHASE, ADC_SHAPE, ADC_COLUMNS };
enum { EXTENSION_TYPE, EXTENSION_REF, EXTENSION_NEXT, EXTENSION_COLUMNS };
enum { LABEL_VALUE, LABEL_NAME, LABEL_COLUMNS };
enum { SOFT_NUMBER, SOFT_OFFSET, SOFT_FACTOR, SOFT_HINT, SOFT_COLUMNS };
enum { ROTATION_COLUMNS = 4, SEQ_MOST_COLUMNS = RF_COLUMNS };

typedef struct seq_table { /* rows of a number and its columns */
    int columns;
    int64_t count, room;
    double *rows; /* [count][1 + columns] */
} seq_table;

typedef struct seq_shape {
    int64_t id, samples, packed;
    int64_t at;     /* of its first packed number in the pool */
    double *values; /* [samples], once it was asked for */
} seq_shape;

enum { SEQ_HINTS = 32, SEQ_HINT = 32, SEQ_TYPES = 16 };

typedef struct seq {
    const char *path; /* for messages */
    int64_t size;     /* of the file */
    int version[3];
    double gradient_raster, rf_raster, block_raster, fov_m[3];
    char name[64];
    seq_table table[SEQ_TABLES];
    seq_shape *shape; /* [shapes] */
    int64_t shapes, shapes_room;
    double *pool;
    int64_t packed, packed_room;
    int64_t points; /* of shapes and gradients that were made */
    char hint[SEQ_HINTS][SEQ_HINT];
    int hints;
    int type[SEQ_TABLES]; /* the extension's number of these tables; 0: not there */
    char unknown[64];     /* an extension that is not known and not required; "": none */
} seq;

static inline int seq_before(const seq *s, int minor)
{
    return s->version[1] < minor;
}

/* seq_table.c: add a row, undefined but for its number; *row gets its columns. */
larmor_status seq_add(seq *s, int table, double id, double **row);
/* Sort the tables that are looked into, and refuse numbers that are there twice. */
larmor_status seq_sort(seq *s);
/* The columns of row `id`, or NULL. */
double *seq_find(const seq *s, int table, double id);
/* The number of the row that seq_find found, from 0. */
int64_t seq_index(const seq *s, int table, const double *row);
larmor_status seq_add_shape(seq *s, double id, double samples);
larmor_status seq_add_number(seq *s, double value); /* to the last shape */
/* Which of the labels that Pulseq knows; -1: none. NULL past the last. */
int seq_label(const char *name);
/* Which table an extension's name means; SEQ_TABLES: one that k-space does not depend on; -1: not known. */
int seq_extension(const char *name);
/* A hint of soft delays by its number; -1: there are too many. */
int seq_hint(seq *s, const char *text, size_t length);
larmor_status seq_define(seq *s, const char *key, const double *values, int count, const char *text);
larmor_status seq_check_version(const seq *s);
void seq_free(seq *s);

/* seq_text.c, seq_binary.c: the tables of a file; it is binary if it begins with 1, "pulseq", 2. */
larmor_status seq_read_text(seq *s, char *text, int64_t bytes);
larmor_status seq_read_binary(seq *s, const unsigned char *data, int64_t bytes);

/* seq_shape.c: the numbers of a shape. */
larmor_status seq_values(seq *s, double id, const double **values, int64_t *count);

typedef struct seq_wave { /* a gradient from the beginning of its block, linear between its points and 0 elsewhere */
    int64_t count;
    double *t, *g, *moment; /* [count] s, Hz/m, and the integral up to there */
} seq_wave;

/* A gradient of either table, by the row that was found. */
larmor_status seq_make_wave(seq *s, int table, const double *row, seq_wave *out);
/* The integral up to t. first: the value at its beginning instead; NAN: its own. */
double seq_moment(const seq_wave *w, double first, double t);
/* When a pulse is at its centre, from the beginning of its block; what it does to k: 'e', 'r' or 0. */
larmor_status seq_pulse(seq *s, const double *rf, double *center, double *duration, char *use);

/* seq_kspace.c: all samples. delays: "TE=0.01,TR=1" in s, for soft delays; NULL or "": those of the file. */
typedef struct seq_result {
    lmr_reader_sequence about;
    larmor_pulseq_readout *readout; /* [about.readouts] */
    double *numbers; /* k [3, samples], times [samples], phases of shapes [samples], of frequencies [samples] */
} seq_result;
larmor_status seq_evaluate(seq *s, const char *delays, seq_result *out);
