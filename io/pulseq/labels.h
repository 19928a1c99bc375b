/* Pulseq's labels. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* As larmor_pulseq_label, for the reader too. */
const char *lmr_pulseq_label(int i);
