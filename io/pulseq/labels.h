/* Pulseq's labels. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PULSEQ_LABELS_H
#define LMR_PULSEQ_LABELS_H

/* As larmor_pulseq_label, for the reader too. */
const char *lmr_pulseq_label(int i);

#endif
