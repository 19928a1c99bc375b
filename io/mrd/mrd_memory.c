/* A scan that is in memory already: its header is parsed as that of a file, its acquisitions are copied.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

typedef struct given_text {
    const char *text;
    int64_t bytes;
} given_text;

static void fill(void *memory, int64_t bytes, const void *user)
{
    const given_text *given = user;
    memcpy(memory, given->text, (size_t)(bytes < given->bytes ? bytes : given->bytes));
}

static larmor_status read_header(given_text xml, larmor_raw *raw)
{
    const lmr_reader_answer *answer;
    lmr_reader *reader;
    const lmr_reader_request request = {.ask = LMR_ASK_XML, .bytes = xml.bytes};
    const int64_t most = LMR_MRD_MAX_ENCODINGS * (int64_t)sizeof(lmr_mrd_encoding) + LMR_MRD_MAX_HEADER;
    LMR_TRY(lmr_reader_start_composing("header", xml.bytes, &reader));
    lmr_reader_prepare(reader, fill, &xml);
    larmor_status st = lmr_reader_ask_with(reader, request, most, &answer);
    if (!st) st = lmr_mrd_take_header(reader, &answer->scan, raw);
    lmr_reader_end(reader);
    return st;
}

static int fits(int value)
{
    return value >= 0 && value <= UINT16_MAX;
}

static larmor_status check_acquisition(const larmor_acquisition *a, int64_t i)
{
    const int values[] = {a->samples,  a->coils, a->traj_dims, a->discard_pre, a->discard_post, a->center_sample,
                          a->encoding, a->step1, a->step2,     a->average,     a->slice,        a->contrast,
                          a->phase,    a->set,   a->segment,   a->repetition};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        LMR_REFUSE(!fits(values[k]), LARMOR_ERR_ARG, "acquisition %lld: a number is %d; 0 to 65535 expected.",
                   (long long)i, values[k]);
    LMR_REFUSE((!a->data && a->samples && a->coils) || (!a->traj && a->samples && a->traj_dims), LARMOR_ERR_ARG,
               "acquisition %lld: no %s given.", (long long)i, a->data ? "trajectory" : "data");
    return LARMOR_OK;
}

static void to_floats(float to[3], const double from[3])
{
    for (int d = 0; d < 3; d++) to[d] = (float)from[d];
}

static lmr_mrd_head head_of(const larmor_acquisition *a)
{
    lmr_mrd_head h = {.flags = a->flags,
                      .measurement_uid = a->measurement_uid,
                      .time_stamp = a->time_stamp,
                      .samples = a->samples,
                      .stored = (uint16_t)a->samples,
                      .channels = (uint16_t)a->coils,
                      .discard_pre = (uint16_t)a->discard_pre,
                      .discard_post = (uint16_t)a->discard_post,
                      .center_sample = (uint16_t)a->center_sample,
                      .encoding = (uint16_t)a->encoding,
                      .traj_dims = (uint16_t)a->traj_dims,
                      .counter = {[LMR_STEP1] = (uint16_t)a->step1,
                                  [LMR_STEP2] = (uint16_t)a->step2,
                                  [LMR_AVERAGE] = (uint16_t)a->average,
                                  [LMR_SLICE] = (uint16_t)a->slice,
                                  [LMR_CONTRAST] = (uint16_t)a->contrast,
                                  [LMR_PHASE] = (uint16_t)a->phase,
                                  [LMR_REPETITION] = (uint16_t)a->repetition,
                                  [LMR_SET] = (uint16_t)a->set,
                                  [LMR_SEGMENT] = (uint16_t)a->segment},
                      .dwell_us = (float)a->dwell_us};
    memcpy(h.physiology_stamp, a->physiology_stamp, sizeof h.physiology_stamp);
    for (int k = 0; k < 8; k++) h.user[k] = (uint16_t)a->user[k];
    memcpy(h.user_int, a->user_int, sizeof h.user_int);
    memcpy(h.user_float, a->user_float, sizeof h.user_float);
    to_floats(h.position, a->position_mm);
    to_floats(h.read_dir, a->read_dir);
    to_floats(h.phase_dir, a->phase_dir);
    to_floats(h.slice_dir, a->slice_dir);
    to_floats(h.table, a->table_mm);
    return h;
}

static larmor_status copy_acquisitions(const larmor_acquisition *acquisitions, int64_t count, int as_stored,
                                       larmor_raw *raw)
{
    raw->info.acquisitions = raw->claimed = count;
    LMR_ALLOCATE_ZEROS(raw->head, count);
    LMR_ALLOCATE_ZEROS(raw->readout, count);
    for (int64_t i = 0; i < count; i++) {
        LMR_TRY(check_acquisition(&acquisitions[i], i));
        raw->head[i] = head_of(&acquisitions[i]);
    }
    for (int64_t i = 0; as_stored && i < count; i++) raw->readout[i].use = LMR_IMAGING;
    if (!as_stored) LMR_TRY(lmr_mrd_route(raw));
    LMR_TRY(lmr_mrd_make_pools(raw));
    for (int64_t i = 0; i < count; i++) {
        const lmr_mrd_readout *r = &raw->readout[i];
        const size_t samples = (size_t)acquisitions[i].samples;
        if (!r->use) continue;
        const size_t numbers = 2 * samples * (size_t)acquisitions[i].coils;
        const size_t points = samples * (size_t)acquisitions[i].traj_dims;
        memcpy(raw->data + r->data, acquisitions[i].data, numbers * sizeof *raw->data);
        if (points) memcpy(raw->traj + r->traj, acquisitions[i].traj, points * sizeof *raw->traj);
    }
    return LARMOR_OK;
}

/* xml: the header's text, or NULL: the header of `like`. */
static larmor_status make_raw(const given_text *xml, const larmor_raw *like, const larmor_acquisition *acquisitions,
                              int64_t count, const larmor_raw_opts *opts, larmor_raw **out)
{
    static const larmor_raw_opts defaults;
    larmor_raw *raw;
    if (!opts) opts = &defaults;
    LMR_REFUSE(count < 1 || count > LMR_MRD_MAX_ACQUISITIONS, LARMOR_ERR_FORMAT,
               "%lld acquisitions; 1 to %lld expected.", (long long)count, (long long)LMR_MRD_MAX_ACQUISITIONS);
    LMR_TRY(lmr_mrd_new(opts, &raw));
    larmor_status st = xml ? read_header(*xml, raw) : lmr_mrd_copy_header(like, raw);
    if (!st && xml) st = lmr_mrd_check_grids(raw);
    if (!st) st = copy_acquisitions(acquisitions, count, opts->as_stored, raw);
    if (!st && !opts->as_stored) st = lmr_mrd_understand(opts, raw);
    return LMR_GIVE(out, raw, larmor_raw_free, st);
}

larmor_status larmor_raw_of_acquisitions(const char *xml, int64_t bytes, const larmor_acquisition *acquisitions,
                                         int64_t count, const larmor_raw_opts *opts, larmor_raw **out)
{
    const given_text text = {xml, bytes};
    LMR_NEED_OUT(out, xml, acquisitions);
    LMR_REFUSE(bytes < 1 || bytes > LMR_MRD_MAX_HEADER, LARMOR_ERR_FORMAT,
               "header of %lld bytes; 1 to %lld expected.", (long long)bytes, (long long)LMR_MRD_MAX_HEADER);
    return make_raw(&text, NULL, acquisitions, count, opts, out);
}

larmor_status larmor_raw_with_acquisitions(const larmor_raw *like, const larmor_acquisition *acquisitions,
                                           int64_t count, const larmor_raw_opts *opts, larmor_raw **out)
{
    LMR_NEED_OUT(out, like, acquisitions);
    return make_raw(NULL, like, acquisitions, count, opts, out);
}
