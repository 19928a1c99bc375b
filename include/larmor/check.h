/* What is wrong with a scan, and what a reconstruction would do with it: as in `larmor check`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_CHECK_H
#define LARMOR_CHECK_H

#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef enum larmor_severity {
    LARMOR_NOTE,    /* good to know */
    LARMOR_WARNING, /* images may be wrong or worse than need be */
    LARMOR_ERROR    /* with the same options it cannot be reconstructed */
} larmor_severity;

typedef struct larmor_finding {
    larmor_severity severity;
    char code[24];  /* what kind of finding, e.g. "spikes"; docs/checking.md lists them */
    char text[488]; /* one line: what was found, where, what to do */
} larmor_finding;

typedef struct larmor_findings {
    larmor_finding *list; /* [count], errors first, then warnings, then notes */
    int count, errors, warnings;
} larmor_findings;

/* "error", "warning", "note" */
LARMOR_API const char *larmor_severity_name(larmor_severity severity);

/* Look at a scan: whether it can be read and planned; noise scans, coils and their noise, discards, images that
 * lack readouts, geometry; the trajectory's unit, reach and centre, undersampling; objects beyond the field of
 * view, values that were cut off, spikes; and what larmor_recon_run would do by default. Samples are looked at in
 * up to three images.
 *
 * opts     how the file is opened, and by its memory what recon may take; drop_nonfinite is taken for the rest of
 *          the search, but values that are not finite are an error all the same unless it is set. May be NULL.
 * dev      where samples are looked at.
 * out      to be freed by larmor_findings_free. A scan that cannot be read is one finding, and no error of this
 *          function.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_MEMORY; LARMOR_STOPPED; those of the device. */
LARMOR_API larmor_status larmor_check(const char *path, const larmor_raw_opts *opts, larmor_device *dev,
                                      larmor_findings *out);
LARMOR_API void larmor_findings_free(larmor_findings *findings); /* NULL is fine; also sets all to zero */

LARMOR_C_END
#endif
