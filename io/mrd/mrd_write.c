/* Writing ISMRMRD raw data: acquisitions in batches, the XML header at the end. The file grows in the memory of
 * the process that composes it. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/images/formats.h"
#include "io/mrd/mrd.h"
#include "io/mrd/mrd_write.h"
#include "io/mrd/mrd_xml.h"
#include "io/process/h5_write.h"

#define BATCH 64
#define LMR_MOST_OF_BLOCK (1 << 24)   /* numbers of a waveform */
#define MOST_BYTES (INT64_C(1) << 40) /* of a scan: not known before */

struct larmor_raw_writer {
    larmor_output *out; /* the caller's */
    larmor_scan scan;
    char *xml;
    lmr_h5_new file;
    lmr_bytes batch; /* acquisitions that the reader has not got yet, as an lmr_reader_readout and its numbers each */
    int waiting;     /* how many */
    int64_t written;
};

larmor_status larmor_raw_create(larmor_output *out, const larmor_scan *scan, larmor_raw_writer **writer)
{
    LMR_REFUSE(!writer, LARMOR_ERR_ARG, "raw data: no place for the writer");
    *writer = NULL;
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(!scan, LARMOR_ERR_ARG, "%s: no scan described", out->path);
    LMR_REFUSE(strcmp(out->format->suffix, ".h5"), LARMOR_ERR_ARG, "%s: raw data go to .h5 files, not %s", out->path,
               out->format->suffix);
    LMR_REFUSE(scan->coils < 1 || scan->coils > LMR_MRD_MAX_CHANNELS, LARMOR_ERR_ARG,
               "%s: coils: got %d, expected 1 to %d", out->path, scan->coils, LMR_MRD_MAX_CHANNELS);
    LMR_NEW_ZEROS(larmor_raw_writer, w, 1);
    w->out = out;
    w->scan = *scan;
    larmor_status st = LARMOR_OK;
    if (!scan->header) st = lmr_mrd_make_xml(out->path, scan, &w->xml);
    if (scan->header && !(w->xml = strdup(scan->header))) st = LMR_NO_MEMORY();
    if (!st) st = lmr_h5_begin(out, MOST_BYTES, &w->file);
    return LMR_GIVE(writer, w, larmor_raw_writer_free, st);
}

const larmor_encoding *lmr_raw_writer_encoding(const larmor_raw_writer *writer)
{
    return &writer->scan.encoding;
}

static larmor_status write_batch(larmor_raw_writer *w)
{
    if (!w->waiting) return LARMOR_OK;
    LMR_TRY(lmr_go_on());
    LMR_TRY(lmr_bytes_end(&w->batch));
    LMR_TRY(lmr_h5_give(&w->file, LMR_ASK_SAMPLES, &w->batch));
    w->written += w->waiting;
    w->waiting = 0;
    w->batch.size = 0;
    return LARMOR_OK;
}

/* Of a scan with its own header nothing is left out that was left out before. */
static int most_discarded(const larmor_raw_writer *w, const larmor_acquisition *a)
{
    return a->samples - a->discard_pre - (w->scan.header ? 0 : 1);
}

static larmor_status check(const larmor_raw_writer *w, const larmor_acquisition *a)
{
    const char *path = w->out->path;
    const int64_t number = w->written + w->waiting;
    LMR_REFUSE(!a, LARMOR_ERR_ARG, "%s: no acquisition given", path);
    const struct {
        const char *name;
        int value, least, most;
    } range[] = {{"samples", a->samples, 1, LMR_MRD_MAX_COUNTER},
                 {"coils", a->coils, 1, LMR_MRD_MAX_CHANNELS},
                 {"traj_dims", a->traj_dims, 0, 16},
                 {"discard_pre", a->discard_pre, 0, a->samples},
                 {"discard_post", a->discard_post, 0, most_discarded(w, a)},
                 {"center_sample", a->center_sample, 0, a->samples},
                 {"encoding", a->encoding, 0, w->scan.header ? LMR_MRD_MAX_ENCODINGS - 1 : 0},
                 {"step1", a->step1, 0, LMR_MRD_MAX_COUNTER},
                 {"step2", a->step2, 0, LMR_MRD_MAX_COUNTER},
                 {"average", a->average, 0, LMR_MRD_MAX_COUNTER},
                 {"slice", a->slice, 0, LMR_MRD_MAX_COUNTER},
                 {"contrast", a->contrast, 0, LMR_MRD_MAX_COUNTER},
                 {"phase", a->phase, 0, LMR_MRD_MAX_COUNTER},
                 {"repetition", a->repetition, 0, LMR_MRD_MAX_COUNTER},
                 {"set", a->set, 0, LMR_MRD_MAX_COUNTER},
                 {"segment", a->segment, 0, LMR_MRD_MAX_COUNTER}};
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
        LMR_REFUSE(range[i].value < range[i].least || range[i].value > range[i].most, LARMOR_ERR_ARG,
                   "%s: acquisition %" PRId64 ": %s: got %d, expected %d to %d", path, number, range[i].name,
                   range[i].value, range[i].least, range[i].most);
    LMR_REFUSE(!a->data || (a->traj_dims && !a->traj), LARMOR_ERR_ARG, "%s: acquisition %" PRId64 ": no %s given",
               path, number, a->data ? "trajectory" : "data");
    return LARMOR_OK;
}

static lmr_mrd_readout_head head_of(const larmor_raw_writer *w, const larmor_acquisition *a)
{
    lmr_mrd_readout_head h = lmr_mrd_head_of(a, (uint32_t)(w->written + w->waiting));
    if (a->coils < w->scan.coils) h.available_channels = (uint16_t)w->scan.coils;
    return h;
}

larmor_status larmor_raw_append(larmor_raw_writer *writer, const larmor_acquisition *acquisition)
{
    LMR_REFUSE(!writer, LARMOR_ERR_ARG, "raw data: no writer given");
    LMR_TRY(lmr_output_ready(writer->out));
    LMR_TRY(check(writer, acquisition));
    const larmor_acquisition *a = acquisition;
    const size_t numbers = 2 * (size_t)a->samples * (size_t)a->coils,
                 points = (size_t)a->samples * (size_t)a->traj_dims;
    const lmr_reader_readout readout = {
        .head = head_of(writer, a), .traj = (int32_t)points, .data = (int32_t)numbers};
    lmr_bytes_add(&writer->batch, &readout, sizeof readout);
    lmr_bytes_add(&writer->batch, a->traj, points * sizeof *a->traj);
    lmr_bytes_add(&writer->batch, a->data, numbers * sizeof *a->data);
    if (writer->batch.failed) return LMR_NO_MEMORY();
    writer->waiting++;
    const larmor_status st = writer->waiting == BATCH ? write_batch(writer) : LARMOR_OK;
    if (st) lmr_output_give_up(writer->out); /* so that nothing is appended to a full batch */
    return st;
}

static larmor_status check_waveform(const larmor_raw_writer *w, const larmor_waveform *wave)
{
    const char *path = w->out->path;
    LMR_REFUSE(!wave || !wave->data, LARMOR_ERR_ARG, "%s: no waveform given", path);
    const struct {
        const char *name;
        int value, least;
    } range[] = {{"id", wave->id, 0}, {"channels", wave->channels, 1}, {"samples", wave->samples, 1}};
    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++)
        LMR_REFUSE(range[i].value < range[i].least || range[i].value > LMR_MRD_MAX_COUNTER, LARMOR_ERR_ARG,
                   "%s: waveform: %s: got %d, expected %d to %d", path, range[i].name, range[i].value, range[i].least,
                   LMR_MRD_MAX_COUNTER);
    LMR_REFUSE((int64_t)wave->channels * wave->samples > LMR_MOST_OF_BLOCK, LARMOR_ERR_ARG,
               "%s: waveform: %d samples x %d channels, expected %d numbers at most", path, wave->samples,
               wave->channels, LMR_MOST_OF_BLOCK);
    if (wave->sample_us >= 1 && wave->sample_us <= 1e7) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: waveform: got %g us from sample to sample, expected 1 to 1e7", path,
                    wave->sample_us);
}

larmor_status larmor_raw_append_waveform(larmor_raw_writer *writer, const larmor_waveform *waveform)
{
    LMR_NEED(writer);
    LMR_TRY(lmr_output_ready(writer->out));
    LMR_TRY(check_waveform(writer, waveform));
    const larmor_waveform *v = waveform;
    const int32_t numbers = v->channels * v->samples;
    const lmr_reader_block block = {.head = {.version = LMR_MRD_VERSION,
                                             .scan_counter = (uint32_t)(writer->written + writer->waiting),
                                             .time_stamp = v->time_stamp,
                                             .number_of_samples = (uint16_t)v->samples,
                                             .channels = (uint16_t)v->channels,
                                             .sample_time_us = (float)v->sample_us,
                                             .waveform_id = (uint16_t)v->id},
                                    .data = numbers};
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes bytes = {0};
    lmr_bytes_add(&bytes, &block, sizeof block);
    lmr_bytes_add(&bytes, v->data, (size_t)numbers * sizeof *v->data);
    LMR_TRY(lmr_bytes_end(&bytes));
    const larmor_status st = lmr_h5_give(&writer->file, LMR_ASK_BLOCKS, &bytes);
    if (st) lmr_output_give_up(writer->out);
    return st;
}

/* The number of acquisitions that a reader finds in the file. */
static larmor_status read_back(const larmor_raw_writer *w)
{
    const lmr_part *part = &w->out->part[0];
    const lmr_source source = {.path = w->out->path, .fd = part->fd, .size = part->written};
    const lmr_reader_answer *answer;
    lmr_reader *reader;
    LMR_TRY(lmr_reader_start(&source, NULL, NULL, NULL, &reader));
    const larmor_status st = lmr_reader_ask_for(reader, LMR_ASK_SCAN, "dataset", INT64_MAX, &answer);
    const int same = !st && answer->scan.acquisitions == w->written;
    lmr_reader_end(reader);
    if (same || (st && st != LARMOR_ERR_FORMAT)) return st ? lmr_fail_in(st, w->out->path) : st;
    return LMR_FAIL(LARMOR_ERR_IO, "%s: what was written cannot be read back; nothing written.", w->out->path);
}

static larmor_status complete(larmor_raw_writer *w)
{
    LMR_REFUSE(w->written + w->waiting == 0, LARMOR_ERR_ARG, "%s: no acquisitions to write", w->out->path);
    LMR_TRY(write_batch(w));
    lmr_bytes_add(&w->batch, w->xml, strlen(w->xml) + 1);
    LMR_TRY(lmr_bytes_end(&w->batch));
    LMR_TRY(lmr_h5_give(&w->file, LMR_ASK_HEADER, &w->batch));
    LMR_TRY(lmr_h5_put_structure(&w->file, 0));
    LMR_TRY(read_back(w));
    return lmr_output_commit(w->out);
}

larmor_status larmor_raw_finish(larmor_raw_writer *writer)
{
    LMR_REFUSE(!writer, LARMOR_ERR_ARG, "raw data: no writer given");
    LMR_TRY(lmr_output_ready(writer->out));
    const larmor_status st = complete(writer);
    lmr_output_give_up(writer->out);
    return st;
}

LMR_OWNS(larmor_raw_writer, larmor_raw_writer_free)

larmor_status larmor_raw_copy(const larmor_raw *raw, int anonymous, larmor_output *out)
{
    larmor_acquisition a;
    LMR_NEED(raw);
    LMR_HEAP char *xml = strdup(raw->xml);
    if (!xml) return LMR_NO_MEMORY();
    if (anonymous) LMR_TRY(lmr_mrd_remove_person(xml));
    larmor_scan scan = {.header = xml};
    const larmor_raw_info info = larmor_raw_describe(raw);
    LMR_REFUSE(info.groups || info.channels, LARMOR_ERR_ARG,
               "raw: opened to be reconstructed; a scan that is opened as it is stored expected");
    for (int64_t i = 0; i < info.acquisitions; i++) {
        LMR_TRY(larmor_raw_acquisition(raw, i, &a));
        if (a.coils > scan.coils) scan.coils = a.coils;
    }
    LMR_OWN(larmor_raw_writer, w, larmor_raw_create(out, &scan, &w));
    for (int64_t i = 0; i < info.acquisitions; i++) {
        LMR_TRY(larmor_raw_acquisition(raw, i, &a));
        if (a.data) LMR_TRY(larmor_raw_append(w, &a));
    }
    for (int64_t i = 0; i < larmor_raw_waveforms(raw); i++) {
        larmor_waveform wave;
        LMR_TRY(larmor_raw_waveform(raw, i, &wave));
        LMR_TRY(larmor_raw_append_waveform(w, &wave));
    }
    return larmor_raw_finish(w);
}

void larmor_raw_writer_free(larmor_raw_writer *writer)
{
    if (!writer) return;
    lmr_h5_end(&writer->file);
    lmr_bytes_free(&writer->batch);
    LMR_FREE(writer->xml, writer);
}
