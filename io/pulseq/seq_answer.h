/* What the reader answers about a Pulseq file. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/parsers.h"

/* The readouts and the numbers of their samples go to one piece of input->room, as protocol.h says, if there are any.
 *
 * delays  of larmor_pulseq_opts. */
larmor_status lmr_pulseq_answer(const lmr_input *input, const char *delays, lmr_reader_sequence *out);
