/* A file as a source, whose slices that were excited together are volumes. SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "larmor/multiband.h"
#include "scan/source.h"

LMR_OWNS(larmor_source, larmor_source_free)

static larmor_raw_info describe_raw(void *self)
{
    return larmor_raw_describe(self);
}

static larmor_status encoding_of_raw(void *self, int encoding, larmor_encoding *out)
{
    return larmor_raw_encoding(self, encoding, out);
}

static larmor_status group_of_raw(void *self, int group, larmor_group *out)
{
    return larmor_raw_group(self, group, out);
}

static larmor_status samples_of_raw(void *self, int group, const larmor_grid *grid, int calibration,
                                    larmor_device *dev, larmor_samples *out)
{
    return larmor_raw_samples(self, group, grid, calibration, dev, out);
}

static larmor_status times_of_raw(void *self, int group, const int64_t *readout, int64_t count,
                                  const larmor_grid *grid, larmor_device *dev, larmor_array **times)
{
    return larmor_raw_times(self, group, readout, count, grid, dev, times);
}

static larmor_status phases_of_raw(void *self, int group, const int64_t *readout, int64_t count,
                                   const larmor_grid *grid, larmor_device *dev, larmor_array **phases)
{
    return larmor_raw_phase_terms(self, group, readout, count, grid, dev, phases);
}

static larmor_status meta_of_raw(void *self, int group, larmor_image_meta *meta)
{
    return larmor_raw_image_meta(self, group, meta);
}

static larmor_status noise_of_raw(void *self, larmor_device *dev, larmor_array **noise)
{
    return larmor_raw_noise(self, dev, noise);
}

static larmor_status keep_coils_of_raw(void *self, larmor_array *all, int axis, larmor_array **kept)
{
    return larmor_raw_keep_coils(self, all, axis, kept);
}

static larmor_status restore_coils_of_raw(void *self, larmor_array *kept, int axis, larmor_array **all)
{
    return larmor_raw_restore_coils(self, kept, axis, all);
}

static larmor_status fingerprint_of_raw(void *self, uint64_t *fingerprint)
{
    *fingerprint = larmor_raw_fingerprint(self);
    return LARMOR_OK;
}

static larmor_status stamps_of_raw(void *self, int group, larmor_stamp *stamps)
{
    return larmor_raw_stamps(self, group, stamps);
}

static larmor_status readouts_of_raw(void *self, int group, const int64_t *readout, int64_t count,
                                     const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    return larmor_raw_readouts(self, group, readout, count, grid, dev, out);
}

static larmor_status navigators_of_raw(void *self, int group, const larmor_grid *grid, larmor_device *dev,
                                       larmor_navigators *out)
{
    return larmor_raw_navigators(self, group, grid, dev, out);
}

/* Slices that were excited together become volumes, if the header has them. */
static larmor_status add_multiband(const larmor_raw *raw, larmor_source **source)
{
    const larmor_raw_info info = larmor_raw_describe(raw);
    int has = 0;
    for (int i = 0; i < info.encodings && !info.multiband_left_out; i++) {
        larmor_encoding e;
        LMR_TRY(larmor_raw_encoding(raw, i, &e));
        has |= e.multiband.factor && e.multiband.factor != 1;
    }
    if (!has) return LARMOR_OK;
    LMR_OWNED(larmor_source) *plain = *source;
    return larmor_source_of_multiband(plain, NULL, source);
}

larmor_status larmor_source_of_raw(larmor_raw *raw, const char *name, larmor_source **source)
{
    static const larmor_source_impl impl = {.describe = describe_raw,
                                            .encoding = encoding_of_raw,
                                            .group = group_of_raw,
                                            .samples = samples_of_raw,
                                            .times = times_of_raw,
                                            .phases = phases_of_raw,
                                            .meta = meta_of_raw,
                                            .noise = noise_of_raw,
                                            .keep_coils = keep_coils_of_raw,
                                            .restore_coils = restore_coils_of_raw,
                                            .fingerprint = fingerprint_of_raw,
                                            .stamps = stamps_of_raw,
                                            .readouts = readouts_of_raw,
                                            .navigators = navigators_of_raw};
    if (source) *source = NULL;
    LMR_REFUSE(!raw, LARMOR_ERR_ARG, "source: a file that was opened expected");
    LMR_TRY(larmor_source_create(name, &impl, raw, source));
    lmr_source_set_parallel(*source); /* the scan is in memory, and nothing changes it */
    return add_multiband(raw, source);
}
