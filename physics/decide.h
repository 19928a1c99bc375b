/* Terms of the model that the samples decide on. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/series.h"

/* Whether concomitant fields matter, by the trajectory, the magnet and the images' places; until samples are there
 * they are in the model at low field alone. Once the grids are there. */
larmor_status lmr_concomitant_expect(lmr_job *job, lmr_scan_facts *facts);

/* One image is solved for with and without them, by a few steps: they are in the model of all images, or not, as its
 * samples are explained better. A map of the caller's that another sign or unit makes better is a warning. Once it is
 * known how maps are found.
 *
 * list    the images that are wanted.
 * Errors  LARMOR_STOPPED; what cannot be compared is in the log. */
larmor_status lmr_model_compare(lmr_job *job, lmr_scan_facts *facts, const lmr_series *list);
