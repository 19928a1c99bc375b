/* A source whose scan changes. SPDX-License-Identifier: Apache-2.0 */
#include "live/source.h"

#include "core/status.h"
#include "scan/source.h"

static larmor_status samples_of_present(void *self, int group, const larmor_grid *grid, int calibration,
                                        larmor_device *dev, larmor_samples *out)
{
    const lmr_live_source *s = self;
    const int coils = larmor_source_describe(s->present).coils;
    return lmr_source_samples(s->present, group, grid, calibration, coils, dev, out);
}

/* A few readouts do not say the units of their trajectory, which the first ones did. */
static larmor_status open_next(const larmor_raw *before, const larmor_acquisition *each, int64_t count,
                               const larmor_raw_opts *opts, larmor_raw **raw)
{
    const larmor_raw_info info = larmor_raw_describe(before);
    larmor_raw_opts of_first = *opts;
    of_first.traj_units = info.traj_units;
    return larmor_raw_with_acquisitions(before, each, count, &of_first, raw);
}

larmor_status lmr_live_source_set(lmr_live_source *s, const char *xml, int64_t bytes, const larmor_acquisition *each,
                                  int64_t count, const larmor_raw_opts *opts)
{
    static const larmor_source_impl impl = {.samples = samples_of_present};
    larmor_raw *raw;
    larmor_source *present;
    if (s->raw)
        LMR_TRY(open_next(s->raw, each, count, opts, &raw));
    else
        LMR_TRY(larmor_raw_of_acquisitions(xml, bytes, each, count, opts, &raw));
    larmor_status st = larmor_source_of_raw(raw, "scan", &present);
    if (!st && larmor_source_describe(present).bands) {
        larmor_source_free(present);
        st =
            LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                     "live: the slices were excited together, with phases that are counted from the first readout of "
                     "an image; reconstruct the finished scan.");
    }
    if (st) {
        larmor_raw_free(raw);
        return st;
    }
    larmor_source_free(s->present);
    larmor_raw_free(s->raw);
    s->present = present;
    s->raw = raw;
    return s->source ? LARMOR_OK : lmr_source_create_before(&s->present, &impl, s, &s->source);
}

void lmr_live_source_free(lmr_live_source *s)
{
    larmor_source_free(s->source);
    larmor_source_free(s->present);
    larmor_raw_free(s->raw);
    *s = (lmr_live_source){0};
}
