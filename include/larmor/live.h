/* Images while a scan runs: of the last readouts, each begun at the one before, with the coil maps of the first ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_LIVE_H
#define LARMOR_LIVE_H

#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef struct larmor_live larmor_live; /* one thread at a time */

typedef struct larmor_live_opts { /* zero means default, but of recon.size */
    larmor_raw_opts raw;
    /* Another method than cg and nlinv, lambda, iters and tol, joined frames and a checkpoint are refused. */
    larmor_recon_opts recon;
    int window; /* readouts of an image; default 21 */
    int every;  /* readouts from one image to the next; default: window, so that each readout is in one image */
    int first;  /* readouts that coil maps, delays and virtual coils are found from; default 5 windows */
    int iters;  /* steps of conjugate gradients of an image, default 5; of nlinv Newton steps, default 6 */
    double
        hold; /* of cg: the weight of |x - the image before|^2, over the largest eigenvalue of A^H A; default 0.003 */
} larmor_live_opts;

/* Begin a scan.
 *
 * xml      [bytes] the header, as for larmor_raw_of_acquisitions; copied.
 * dev      that computes; it has to stay as long as what is made here.
 * opts     its strings, arrays and listener have to stay; NULL: all default.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_live_create(const char *xml, int64_t bytes, larmor_device *dev,
                                            const larmor_live_opts *opts, larmor_live **live);
LARMOR_API void larmor_live_free(larmor_live *live); /* NULL is fine */

/* The next readout of the scan, in the order of acquisition.
 *
 *   x_n = argmin |A_n x - y_n|^2 + hold max(A^H A) |x - x_(n-1)|^2,
 *
 * where y_n are the samples of the last `window` readouts, by `iters` steps of preconditioned conjugate
 * gradients from x_(n-1). The first image is that of the `first` readouts, by cg alone. Noise readouts that come
 * before it whiten all samples. By nlinv image and coil maps of the last readouts are found together, held to
 * those of the image before (larmor_nlinv_series_add), so that the maps follow the object. Readouts need
 * their trajectory, and are of one slice. The listener hears what is found for the first image, and of those that
 * follow the steps and the warnings.
 *
 * a        copied.
 * result   count 1 where this readout completes an image, else 0; free with larmor_recon_result_free.
 * Errors   those of larmor_raw_of_acquisitions, larmor_recon_create and larmor_recon_run; LARMOR_ERR_UNSUPPORTED for
 *          a readout without a trajectory or of another slice, contrast or encoding. After an error the readouts are
 *          kept, and the next ones may follow.
 * Source   the regularisation in time: Uecker et al., NMR Biomed. 23, 986 (2010), where it damps NLINV. */
LARMOR_API larmor_status larmor_live_add(larmor_live *live, const larmor_acquisition *a, larmor_recon_result *result);

LARMOR_C_END
#endif
