/* Waveforms that a file has beside its readouts: electrocardiograms, pulse, respiration. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_WAVEFORM_H
#define LARMOR_WAVEFORM_H

#include <stdint.h>

#include "larmor/status.h"

LARMOR_C_BEGIN

typedef struct larmor_raw larmor_raw;               /* an opened and checked file; immutable (larmor/io.h) */
typedef struct larmor_raw_writer larmor_raw_writer; /* one thread at a time (larmor/io.h) */

typedef enum larmor_waveform_kind {
    LARMOR_WAVEFORM_OTHER,
    LARMOR_WAVEFORM_ECG,
    LARMOR_WAVEFORM_PULSE,
    LARMOR_WAVEFORM_RESPIRATION
} larmor_waveform_kind;

typedef struct larmor_waveform { /* a block of one, as ISMRMRD stores it */
    int id;                      /* of ISMRMRD: 0 ECG, 1 pulse, 2 respiration, from 1024 on what the header says */
    larmor_waveform_kind kind;   /* by the header's waveformInformation, else by the id */
    int trigger;                 /* the channel with the triggers that the scanner found, as the header says; or -1 */
    int channels, samples;       /* 1 to 65535 */
    uint32_t time_stamp;         /* of the first sample, in the ticks of the readouts */
    double sample_us;            /* from one sample to the next */
    const uint32_t *data;        /* [samples, channels], the samples of a channel follow each other */
} larmor_waveform;

enum { LARMOR_MOST_WAVEFORM_INFOS = 16 };
typedef struct larmor_waveform_info { /* waveformInformation of a header */
    int id;
    larmor_waveform_kind kind;
    int trigger; /* or -1 */
} larmor_waveform_info;

/* The blocks of an open file; 0 of NULL, of arrays, and of other formats than ISMRMRD. If one is damaged all are left
 * out, with a warning. */
LARMOR_API int64_t larmor_raw_waveforms(const larmor_raw *raw);

/* Block i in the file's order; its data are valid as long as raw. Errors: LARMOR_ERR_ARG where there is none. */
LARMOR_API larmor_status larmor_raw_waveform(const larmor_raw *raw, int64_t i, larmor_waveform *out);

/* Add blocks to a scan, behind those that it has: what comes beside acquisitions in memory
 * (larmor_raw_of_acquisitions). Their numbers are copied; kind and trigger are not read, but follow from the id and
 * the scan's header, as in files.
 *
 * Errors  LARMOR_ERR_ARG for a block without samples, more than 2^22 blocks, or samples less than 1 us or more than
 *         10 s apart: then none is added; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_raw_add_waveforms(larmor_raw *raw, const larmor_waveform *blocks, int64_t count);

/* Append a block to a file; kind and trigger are those of larmor_scan.waveform.
 *
 * Errors  those of larmor_raw_append. */
LARMOR_API larmor_status larmor_raw_append_waveform(larmor_raw_writer *writer, const larmor_waveform *waveform);

LARMOR_C_END
#endif
