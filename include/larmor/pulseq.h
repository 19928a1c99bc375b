/* Pulseq sequences: where their samples are. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_PULSEQ_H
#define LARMOR_PULSEQ_H

#include "larmor/trajectory.h"

LARMOR_C_BEGIN

typedef struct larmor_pulseq larmor_pulseq; /* a sequence and the k-space of its samples; immutable */

/* Which of the phases that an ADC event states are turned back in the samples. The scanner's receiver applies its
 * frequency and its phase; those of a shape (1.5) are left to the reconstruction. */
typedef enum larmor_pulseq_phases { LARMOR_PHASES_SHAPE, LARMOR_PHASES_NONE, LARMOR_PHASES_ALL } larmor_pulseq_phases;

#define LARMOR_PULSEQ_LABELS 23

typedef struct larmor_pulseq_info {
    int version[3]; /* major, minor, revision */
    int64_t blocks, readouts, samples, excitations, refocusings;
    double duration_s;
    double fov_mm[3];    /* of its definition; 0: not stated */
    double kmax[3];      /* largest |k| of the samples along x, y and z, in cycles per metre */
    double shift_mm[3];  /* along x, y and z: where frequencies of ADC events move the field of view; 0: nowhere */
    char name[64];       /* of its definition */
    char warnings[1024]; /* lines for the user, each ending in '\n'; "" if none */
} larmor_pulseq_info;

typedef struct larmor_pulseq_readout { /* an ADC event of a block */
    int64_t block;                     /* from 1, in the order of the file */
    int64_t first, samples;            /* of all samples of the sequence */
    double start_s, dwell_s; /* from the beginning of the sequence to that of the first sample, of one sample */
    double since_s;          /* to the beginning of the first sample from the centre of the last excitation, else as
                              * start_s */
    double frequency_hz, phase_rad;      /* of the receiver, those in ppm left out */
    int32_t label[LARMOR_PULSEQ_LABELS]; /* counters and flags, as larmor_pulseq_label counts them */
} larmor_pulseq_readout;

/* The name of label i: SLC, SEG, REP, AVG, SET, ECO, PHS, LIN, PAR, ACQ, TRID, NAV, REV, SMS, REF, IMA, OFF, NOISE,
 * PMC, NOROT, NOPOS, NOSCL, ONCE. Past the last NULL. */
LARMOR_API const char *larmor_pulseq_label(int i);

typedef struct larmor_pulseq_opts {  /* zero means default */
    const char *soft_delays;         /* their values in s by their names, "TE=0.01,TR=0.5"; default: the file's */
    larmor_pulseq_phases adc_phases; /* that larmor_pulseq_trajectory gives */
} larmor_pulseq_opts;

/* Read a Pulseq file, text or binary, of version 1.2 to 1.5, and compute k of each sample of its ADC events: the
 * integral of the gradients since the centre of the last excitation, negated at the centre of each refocusing
 * pulse. The use of pulses is stated from version 1.5 on; before, those of up to 90 degrees excite and others
 * refocus. It is parsed in a process of its own, as all files are.
 *
 * opts    may be NULL.
 * Errors  LARMOR_ERR_IO; LARMOR_ERR_FORMAT: damaged, or not a sequence; LARMOR_ERR_UNSUPPORTED: another version, or
 *         an extension that it requires is not known; LARMOR_ERR_ARG: a soft delay that is not in the file;
 *         LARMOR_ERR_MEMORY; those of the reader, as for larmor_raw_open. */
LARMOR_API larmor_status larmor_pulseq_read(const char *path, const larmor_pulseq_opts *opts, larmor_pulseq **out);
LARMOR_API void larmor_pulseq_free(larmor_pulseq *sequence); /* NULL is fine */

/* What is in the file; of NULL nothing. */
LARMOR_API larmor_pulseq_info larmor_pulseq_describe(const larmor_pulseq *sequence);

/* Errors  LARMOR_ERR_ARG for a readout that is not there. */
LARMOR_API larmor_status larmor_pulseq_readout_at(const larmor_pulseq *sequence, int64_t readout,
                                                  larmor_pulseq_readout *out);

/* All readouts in cycles per metre, [3, samples]; two components where kz is the same everywhere to a thousandth of
 * the others. Times are since the last excitation.
 *
 * Errors  LARMOR_ERR_FORMAT for a sequence without samples; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_pulseq_trajectory(const larmor_pulseq *sequence, larmor_trajectory *out);

LARMOR_C_END
#endif
