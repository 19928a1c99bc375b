/* Whether a scan that is sent ends before the last readout that its header announces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "stream/announced.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

enum { LINE }; /* of the names */
static const char *const names[LMR_ANNOUNCED] = {"kspace_encode_step_1", "slice", "contrast", "phase", "repetition"};

static void read_limits(lmr_announced *all, const char *xml, int64_t bytes, const larmor_acquisition *readout)
{
    const larmor_raw_opts only = {.as_stored = 1}; /* whatever kind of readout it is */
    larmor_raw *raw = NULL;
    all->is_known = 1;
    for (int i = 0; i < LMR_ANNOUNCED; i++) all->limit[i] = -1;
    if (larmor_raw_of_acquisitions(xml, bytes, readout, 1, &only, &raw)) return; /* who reconstructs says why */
    const larmor_raw_info info = larmor_raw_describe(raw);
    for (int i = 0; i < LMR_ANNOUNCED; i++) all->limit[i] = info.announced[i];
    larmor_raw_free(raw);
}

void lmr_announced_add(lmr_announced *all, const char *xml, int64_t bytes, const larmor_acquisition *readout)
{
    const int value[LMR_ANNOUNCED] = {readout->step1, readout->slice, readout->contrast, readout->phase,
                                      readout->repetition};
    if (readout->flags & LARMOR_ACQ_LAST_IN_MEASUREMENT) all->is_whole = 1;
    if (readout->encoding || readout->flags & LARMOR_ACQ_NOISE) return;
    if (!all->is_known) read_limits(all, xml, bytes, readout);
    for (int i = 0; i < LMR_ANNOUNCED; i++)
        if (value[i] > all->seen[i]) all->seen[i] = value[i];
    if (value[LINE] >= 0 && value[LINE] < LMR_ANNOUNCED_LINES)
        all->line[value[LINE] / 8] |= (unsigned char)(1 << value[LINE] % 8);
}

/* From one line to the next: of undersampled scans the last that is announced need not be there. */
static int longest_gap(const lmr_announced *all)
{
    int longest = 1, last = -1;
    for (int i = 0; i < LMR_ANNOUNCED_LINES; i++) {
        if (!(all->line[i / 8] >> i % 8 & 1)) continue;
        if (last >= 0 && i - last > longest) longest = i - last;
        last = i;
    }
    return longest;
}

int lmr_announced_is_cut(const lmr_announced *all, char *line, size_t room)
{
    int is_cut = 0;
    if (!all->is_known || all->is_whole) return 0;
    snprintf(line, room, "the scan ends before the last readout that its header announces: ");
    for (int i = 0; i < LMR_ANNOUNCED; i++) {
        if (all->limit[i] - all->seen[i] < (i == LINE ? longest_gap(all) : 1)) continue;
        lmr_append(line, room, "%s%s came to %d of %d", is_cut ? ", " : "", names[i], all->seen[i], all->limit[i]);
        is_cut = 1;
    }
    lmr_append(line, room, ", and no readout is flagged as the last. Images are made of what came.");
    return is_cut;
}
