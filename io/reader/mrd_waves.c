/* The waveforms of an ISMRMRD file. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_waves.h"

#include "core/core.h"
#include "io/reader/h5_dataset.h"
#include "io/reader/mrd_types.h"

void lmr_mrd_waves_free(lmr_mrd_waves *waves)
{
    LMR_FREE(waves->wave, waves->value);
    *waves = (lmr_mrd_waves){.count = 0};
}

static larmor_status check_wave(int64_t i, const lmr_mrd_wave *w, uint32_t length)
{
    LMR_REFUSE(length != (uint64_t)w->samples * w->channels, LARMOR_ERR_FORMAT,
               "waveforms: block %lld: header says %d samples x %d channels, %u numbers stored.", (long long)i,
               w->samples, w->channels, length);
    const double us = (double)w->sample_us;
    if (isfinite(us) && us >= 1 && us <= 1e7) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "waveforms: block %lld: %g us from sample to sample, expected 1 to 1e7.",
                    (long long)i, us);
}

static larmor_status open_waves(lmr_mrd_file *f, lmr_dataset *d, lmr_mrd_wave_places *places)
{
    char path[288];
    snprintf(path, sizeof path, "%s/waveforms", f->group);
    LMR_TRY(lmr_dataset_open(f->source, f->id, path, "waveforms", d));
    if (!d->id || !d->count) return LARMOR_OK;
    LMR_REFUSE(d->rank != 1 || H5Tget_class(d->type) != H5T_COMPOUND, LARMOR_ERR_FORMAT,
               "waveforms: %s is %s, not MRD waveforms.", path, lmr_dataset_describe(d).s);
    LMR_TRY(lmr_mrd_find_wave_members(d->type, places));
    LMR_TRY(lmr_dataset_prepare(d, "waveforms"));
    if (d->count <= LMR_MRD_MAX_WAVEFORMS) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "waveforms: %lld blocks, limit %d.", (long long)d->count,
                    LMR_MRD_MAX_WAVEFORMS);
}

static larmor_status read_heads(lmr_mrd_file *f, const lmr_mrd_header *header, lmr_dataset *d,
                                const lmr_mrd_wave_places *places, lmr_mrd_waves *w)
{
    const unsigned char *block = NULL;
    const int64_t most = f->source->size;
    LMR_ALLOCATE(w->wave, d->count);
    LMR_ALLOCATE(w->value, d->count);
    for (int64_t i = 0; i < d->count; i++) {
        if (i % d->per_block == 0) LMR_TRY(lmr_dataset_find_block(d, i / d->per_block, &block));
        if (!block) continue;
        const unsigned char *element = block + (size_t)(i % d->per_block) * d->bytes;
        lmr_mrd_wave one = {.trigger = -1};
        lmr_mrd_decode_wave(element, places, &one);
        const lmr_heap_ref ref = lmr_heap_ref_decode(element + places->data);
        if (!one.samples && !one.channels && !ref.length) continue; /* never written */
        LMR_TRY(check_wave(i, &one, ref.length));
        if (!ref.length) continue;
        lmr_mrd_wave_name(header->waveform, header->waveforms, &one);
        w->wave[w->count] = one;
        w->value[w->count++] = (lmr_heap_value){.ref = ref};
        w->bytes += 4 * (int64_t)ref.length;
        LMR_REFUSE(w->bytes > most, LARMOR_ERR_FORMAT, "waveforms: more numbers than the file's %lld bytes hold.",
                   (long long)most);
    }
    return LARMOR_OK;
}

static larmor_status read_header(lmr_mrd_file *f, lmr_mrd_header *header)
{
    LMR_OWN_MEMORY(char, xml, lmr_mrd_file_header(f, &xml));
    return lmr_mrd_header_parse(xml, f->xml_bytes, header);
}

larmor_status lmr_mrd_waves_find(lmr_mrd_file *f, lmr_mrd_waves *w)
{
    LMR_FREED_BY(lmr_mrd_header_free) lmr_mrd_header header = {0};
    LMR_FREED_BY(lmr_dataset_close) lmr_dataset d = {0};
    lmr_mrd_wave_places places;
    *w = (lmr_mrd_waves){.count = 0};
    LMR_TRY(open_waves(f, &d, &places));
    if (!d.id || !d.count) return LARMOR_OK;
    LMR_TRY(read_header(f, &header));
    LMR_TRY(read_heads(f, &header, &d, &places, w));
    LMR_TRY(lmr_heap_find(f->source, w->value, w->count, sizeof(uint32_t)));
    for (int64_t i = 0; i < w->count; i++)
        LMR_REFUSE(w->value[i].wrong, LARMOR_ERR_FORMAT, "waveforms: damaged HDF5 structure (block %lld: %s).",
                   (long long)i, w->value[i].wrong);
    return LARMOR_OK;
}

larmor_status lmr_mrd_waves_copy(const lmr_mrd_file *f, const lmr_mrd_waves *w, void *to)
{
    unsigned char *next = to;
    for (int64_t i = 0; i < w->count; i++) {
        const int64_t bytes = 4 * (int64_t)w->value[i].ref.length;
        LMR_REFUSE(lmr_source_get(f->source, w->value[i].at, next, (size_t)bytes) != bytes, LARMOR_ERR_FORMAT,
                   "waveforms: block %lld cannot be read.", (long long)i);
        next += bytes;
    }
    return LARMOR_OK;
}
