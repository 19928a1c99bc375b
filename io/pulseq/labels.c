/* Pulseq's labels, in the order in which binary files number them. SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "io/pulseq/labels.h"
#include "larmor/pulseq.h"

const char *lmr_pulseq_label(int i)
{
    static const char *const names[LARMOR_PULSEQ_LABELS] = {
        "SLC", "SEG", "REP", "AVG", "SET", "ECO",   "PHS", "LIN",   "PAR",   "ACQ",   "TRID", "NAV",
        "REV", "SMS", "REF", "IMA", "OFF", "NOISE", "PMC", "NOROT", "NOPOS", "NOSCL", "ONCE"};
    return i >= 0 && i < LARMOR_PULSEQ_LABELS ? names[i] : NULL;
}
