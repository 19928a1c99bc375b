/* Writing ISMRMRD raw data: acquisitions in batches, the XML header at the end. The file grows in memory (h5.c says
 * why), so that the peak of memory is the file's size. SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"
#include "io/h5_write.h"
#include "io/mrd_xml.h"
#include "io/reader/mrd_types.h"

#define BATCH 64
#define DATA "/dataset/data"

struct larmor_raw_writer {
    larmor_output *out; /* the caller's */
    larmor_scan scan;
    char *xml;
    hid_t file, type, data;
    lmr_mrd_acquisition batch[BATCH];
    int waiting; /* acquisitions in batch */
    int64_t written;
};

static larmor_status hdf5_failed(const larmor_raw_writer *w)
{
    return lmr_h5_failed(w->out->path, "compose the acquisitions");
}

static larmor_status create_file(larmor_raw_writer *w)
{
    LMR_TRY(lmr_h5_create(w->out, &w->file));
    const hsize_t none = 0, most = H5S_UNLIMITED, chunk = BATCH;
    const hid_t group = H5Gcreate2(w->file, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(1, &none, &most), plan = lmr_h5_dataset_plan();
    w->type = lmr_mrd_acquisition_type();
    const hid_t packed = w->type < 0 ? -1 : H5Tcopy(w->type);
    if (group >= 0 && space >= 0 && plan >= 0 && packed >= 0 && H5Tpack(packed) >= 0 &&
        H5Pset_chunk(plan, 1, &chunk) >= 0)
        w->data = H5Dcreate2(w->file, DATA, packed, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    lmr_h5_close(packed);
    lmr_h5_close(plan);
    lmr_h5_close(space);
    lmr_h5_close(group);
    return w->data < 0 ? hdf5_failed(w) : LARMOR_OK;
}

larmor_status larmor_raw_create(larmor_output *out, const larmor_scan *scan, larmor_raw_writer **writer)
{
    if (!writer) return LMR_FAIL(LARMOR_ERR_ARG, "raw data: no place for the writer");
    *writer = NULL;
    LMR_TRY(lmr_output_ready(out));
    if (!scan) return LMR_FAIL(LARMOR_ERR_ARG, "%s: no scan described", out->path);
    if (strcmp(out->format->suffix, ".h5"))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: raw data go to .h5 files, not %s", out->path, out->format->suffix);
    if (scan->coils < 1 || scan->coils > LMR_MRD_MAX_CHANNELS)
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: coils: got %d, expected 1 to %d", out->path, scan->coils,
                        LMR_MRD_MAX_CHANNELS);
    larmor_raw_writer *w = calloc(1, sizeof *w);
    if (!w) return LMR_NO_MEMORY();
    w->out = out;
    w->scan = *scan;
    w->file = w->type = w->data = -1;
    larmor_status st = lmr_mrd_make_xml(out->path, scan, &w->xml);
    if (!st) {
        const lmr_h5_print before = lmr_h5_quiet();
        st = create_file(w);
        lmr_h5_loud(before);
    }
    if (st)
        larmor_raw_writer_free(w);
    else
        *writer = w;
    return st;
}

static void clear_batch(larmor_raw_writer *w)
{
    for (int i = 0; i < w->waiting; i++) {
        free(w->batch[i].data.p);
        free(w->batch[i].traj.p);
    }
    w->waiting = 0;
}

static larmor_status write_batch(larmor_raw_writer *w)
{
    if (!w->waiting) return LARMOR_OK;
    const hsize_t first = (hsize_t)w->written, count = (hsize_t)w->waiting, total = first + count;
    const lmr_h5_print before = lmr_h5_quiet();
    int good = H5Dset_extent(w->data, &total) >= 0;
    const hid_t space = good ? H5Dget_space(w->data) : -1, memory = H5Screate_simple(1, &count, NULL);
    good = space >= 0 && memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) >= 0 &&
           H5Dwrite(w->data, w->type, memory, space, H5P_DEFAULT, w->batch) >= 0;
    lmr_h5_close(memory);
    lmr_h5_close(space);
    lmr_h5_loud(before);
    if (!good) return hdf5_failed(w);
    w->written += w->waiting;
    clear_batch(w);
    return LARMOR_OK;
}

static larmor_status check(const larmor_raw_writer *w, const larmor_acquisition *a)
{
    const char *path = w->out->path;
    const int64_t number = w->written + w->waiting;
    if (!a) return LMR_FAIL(LARMOR_ERR_ARG, "%s: no acquisition given", path);
    const struct {
        const char *name;
        int value, least, most;
    } range[] = {{"samples", a->samples, 1, LMR_MRD_MAX_COUNTER},
                 {"coils", a->coils, 1, LMR_MRD_MAX_CHANNELS},
                 {"traj_dims", a->traj_dims, 0, 3},
                 {"discard_pre", a->discard_pre, 0, a->samples},
                 {"discard_post", a->discard_post, 0, a->samples - 1 - a->discard_pre},
                 {"center_sample", a->center_sample, 0, a->samples},
                 {"encoding", a->encoding, 0, 0},
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
        if (range[i].value < range[i].least || range[i].value > range[i].most)
            return LMR_FAIL(LARMOR_ERR_ARG, "%s: acquisition %" PRId64 ": %s: got %d, expected %d to %d", path,
                            number, range[i].name, range[i].value, range[i].least, range[i].most);
    if (!a->data || (a->traj_dims && !a->traj))
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: acquisition %" PRId64 ": no %s given", path, number,
                        a->data ? "trajectory" : "data");
    return LARMOR_OK;
}

static lmr_mrd_readout_head head_of(const larmor_raw_writer *w, const larmor_acquisition *a)
{
    lmr_mrd_readout_head h = {.version = LMR_MRD_VERSION,
                              .flags = a->flags,
                              .scan_counter = (uint32_t)(w->written + w->waiting),
                              .number_of_samples = (uint16_t)a->samples,
                              .available_channels = (uint16_t)(a->coils > w->scan.coils ? a->coils : w->scan.coils),
                              .active_channels = (uint16_t)a->coils,
                              .discard_pre = (uint16_t)a->discard_pre,
                              .discard_post = (uint16_t)a->discard_post,
                              .center_sample = (uint16_t)a->center_sample,
                              .encoding_space_ref = (uint16_t)a->encoding,
                              .trajectory_dimensions = (uint16_t)a->traj_dims,
                              .sample_time_us = (float)a->dwell_us,
                              .acquisition_time_stamp = a->time_stamp,
                              .idx = {.kspace_encode_step_1 = (uint16_t)a->step1,
                                      .kspace_encode_step_2 = (uint16_t)a->step2,
                                      .average = (uint16_t)a->average,
                                      .slice = (uint16_t)a->slice,
                                      .contrast = (uint16_t)a->contrast,
                                      .phase = (uint16_t)a->phase,
                                      .repetition = (uint16_t)a->repetition,
                                      .set = (uint16_t)a->set,
                                      .segment = (uint16_t)a->segment}};
    for (int c = 0; c < a->coils; c++) h.channel_mask[c / 64] |= UINT64_C(1) << (c % 64);
    memcpy(h.physiology_time_stamp, a->physiology_stamp, sizeof h.physiology_time_stamp);
    lmr_mrd_set_floats(h.position, a->position_mm);
    lmr_mrd_set_floats(h.read_dir, a->read_dir);
    lmr_mrd_set_floats(h.phase_dir, a->phase_dir);
    lmr_mrd_set_floats(h.slice_dir, a->slice_dir);
    return h;
}

static float *copy_of(const float *numbers, size_t count)
{
    float *copy = malloc((count ? count : 1) * sizeof *copy);
    if (copy && count) memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

larmor_status larmor_raw_append(larmor_raw_writer *writer, const larmor_acquisition *acquisition)
{
    if (!writer) return LMR_FAIL(LARMOR_ERR_ARG, "raw data: no writer given");
    LMR_TRY(lmr_output_ready(writer->out));
    LMR_TRY(check(writer, acquisition));
    const larmor_acquisition *a = acquisition;
    const size_t numbers = 2 * (size_t)a->samples * (size_t)a->coils,
                 points = (size_t)a->samples * (size_t)a->traj_dims;
    lmr_mrd_acquisition *record = &writer->batch[writer->waiting];
    *record = (lmr_mrd_acquisition){.head = head_of(writer, a),
                                    .traj = {points, copy_of(a->traj, points)},
                                    .data = {numbers, copy_of(a->data, numbers)}};
    if (!record->traj.p || !record->data.p) {
        free(record->traj.p);
        free(record->data.p);
        return LMR_NO_MEMORY();
    }
    writer->waiting++;
    const larmor_status st = writer->waiting == BATCH ? write_batch(writer) : LARMOR_OK;
    if (st) lmr_output_give_up(writer->out); /* so that nothing is appended to a full batch */
    return st;
}

static larmor_status complete(larmor_raw_writer *w)
{
    if (w->written + w->waiting == 0) return LMR_FAIL(LARMOR_ERR_ARG, "%s: no acquisitions to write", w->out->path);
    LMR_TRY(write_batch(w));
    LMR_TRY(lmr_h5_write_string(w->file, "/dataset/xml", w->xml));
    LMR_TRY(lmr_h5_save(w->file, w->out, DATA, 0));
    return lmr_output_commit(w->out);
}

larmor_status larmor_raw_finish(larmor_raw_writer *writer)
{
    if (!writer) return LMR_FAIL(LARMOR_ERR_ARG, "raw data: no writer given");
    LMR_TRY(lmr_output_ready(writer->out));
    const lmr_h5_print before = lmr_h5_quiet();
    const larmor_status st = complete(writer);
    lmr_h5_loud(before);
    lmr_output_give_up(writer->out);
    return st;
}

void larmor_raw_writer_free(larmor_raw_writer *writer)
{
    if (!writer) return;
    const lmr_h5_print before = lmr_h5_quiet();
    clear_batch(writer);
    lmr_h5_close(writer->data);
    lmr_h5_close(writer->type);
    if (writer->file >= 0) H5Fclose(writer->file);
    lmr_h5_loud(before);
    free(writer->xml);
    free(writer);
}
