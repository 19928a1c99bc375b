/* Reading ISMRMRD raw data: from a path to checked samples in memory. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/mrd.h"
#include "io/mrd_file.h"


void lmr_mrd_warn(larmor_raw *raw, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    const size_t length = strlen(line), used = strlen(raw->info.warnings);
    if (used + length + 2 > sizeof raw->info.warnings) return;
    memcpy(raw->info.warnings + used, line, length);
    memcpy(raw->info.warnings + used + length, "\n", 2);
}

lmr_text lmr_bytes_text(double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof *units; u++) bytes /= 1024;
    lmr_text text;
    snprintf(text.s, sizeof text.s, bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return text;
}

/* ---- from the descriptor into memory ---- */

static larmor_status check_memory(const larmor_raw *raw, int64_t bytes)
{
    if (bytes <= raw->memory) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "samples need %s; limit is %s (--memory).", lmr_bytes_text((double)bytes).s,
                    lmr_bytes_text((double)raw->memory).s);
}

static int is_complete(const larmor_encoding *e)
{
    int complete = 1;
    for (int d = 0; d < 3; d++)
        complete &= e->matrix[d] && e->recon_matrix[d] && e->fov_mm[d] > 0 && e->recon_fov_mm[d] > 0;
    return complete;
}

static larmor_status read_header(lmr_mrd_file *file, larmor_raw *raw)
{
    int64_t bytes;
    LMR_TRY(lmr_mrd_file_header_bytes(file, &bytes));
    raw->xml = calloc((size_t)bytes + 1, 1);
    if (!raw->xml) return LMR_NO_MEMORY();
    LMR_TRY(lmr_mrd_file_header(file, raw->xml));
    LMR_TRY(lmr_mrd_header_parse(raw->xml, bytes, &raw->header));
    raw->info.encodings = raw->header.encodings, raw->info.noise_bandwidth = raw->header.noise_bandwidth;
    lmr_mrd_metres_to_mm(raw);
    larmor_grid grid;
    for (int e = 0; e < raw->header.encodings; e++) /* before anything large is read */
        if (is_complete(&raw->header.encoding[e].space)) LMR_TRY(lmr_mrd_grid(raw, e, NULL, &grid));
    return LARMOR_OK;
}

/* Room for the numbers of all readouts that are used. */
static larmor_status make_pools(larmor_raw *raw)
{
    int64_t data = 0, traj = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!raw->readout[i].use) continue;
        raw->readout[i].data = data, raw->readout[i].traj = traj;
        data += INT64_C(2) * h->samples * h->channels, traj += (int64_t)h->samples * h->traj_dims;
    }
    LMR_TRY(check_memory(raw, (data + traj) * (int64_t)sizeof(float)));
    raw->data = malloc((size_t)data * sizeof(float) + 1), raw->traj = malloc((size_t)traj * sizeof(float) + 1);
    return raw->data && raw->traj ? LARMOR_OK : LMR_NO_MEMORY();
}

/* Data and trajectories are read alternately, from different collections of the heap; each has its own cache. */
static larmor_status fill_pools(const larmor_raw *raw, const lmr_source *source, const lmr_mrd_refs *refs)
{
    lmr_heap *data = lmr_heap_create(source), *traj = lmr_heap_create(source);
    const char *wrong = NULL;
    int64_t i = -1;
    while (data && traj && !wrong && ++i < raw->info.acquisitions) {
        if (!raw->readout[i].use) continue;
        wrong = lmr_heap_fetch(data, refs[i].data, sizeof(float), raw->data + raw->readout[i].data);
        if (!wrong) wrong = lmr_heap_fetch(traj, refs[i].traj, sizeof(float), raw->traj + raw->readout[i].traj);
    }
    const int created = data && traj;
    lmr_heap_free(data), lmr_heap_free(traj);
    if (!created) return LMR_NO_MEMORY();
    if (!wrong) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (acquisition %lld: %s). Copy it again.", (long long)i,
                    wrong);
}

static larmor_status read_acquisitions(const lmr_source *source, lmr_mrd_file *file, larmor_raw *raw)
{
    const int64_t n = raw->info.acquisitions = lmr_mrd_file_count(file);
    LMR_TRY(check_memory(raw, n * (int64_t)(sizeof *raw->head + sizeof *raw->readout + sizeof(lmr_mrd_refs))));
    raw->head = calloc((size_t)n, sizeof *raw->head);
    raw->readout = calloc((size_t)n, sizeof *raw->readout);
    lmr_mrd_refs *refs = calloc((size_t)n, sizeof *refs);
    larmor_status st = raw->head && raw->readout && refs ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = lmr_mrd_file_heads(file, raw->head, refs);
    if (!st) st = lmr_mrd_route(raw);
    if (!st) st = make_pools(raw);
    if (!st) st = fill_pools(raw, source, refs);
    free(refs);
    return st;
}

static larmor_status read_file(const lmr_source *source, const larmor_raw_opts *opts, larmor_raw *raw)
{
    lmr_mrd_file *file;
    LMR_TRY(lmr_mrd_file_open(source, opts->group ? opts->group : "dataset", &file));
    larmor_status st = read_header(file, raw);
    if (!st) st = read_acquisitions(source, file, raw);
    lmr_mrd_file_close(file);
    LMR_TRY(st);
    LMR_TRY(lmr_mrd_check_samples(raw, opts->drop_nonfinite));
    LMR_TRY(lmr_mrd_complete(raw, opts->traj_units));
    LMR_TRY(lmr_mrd_find_trajectory(raw, opts->traj_units));
    LMR_TRY(lmr_mrd_join(raw, opts->join));
    LMR_TRY(lmr_mrd_complete_images(raw));
    return lmr_mrd_group(raw);
}

larmor_status larmor_raw_open(const char *path, const larmor_raw_opts *opts, larmor_raw **out)
{
    static const larmor_raw_opts defaults;
    if (!opts) opts = &defaults;
    LMR_NEED(out);
    *out = NULL;
    larmor_raw *raw = calloc(1, sizeof *raw);
    if (!raw) return LMR_NO_MEMORY();
    raw->conjugate = opts->conjugate, raw->memory = opts->memory > 0 ? opts->memory : LMR_MRD_MEMORY;
    lmr_source source;
    larmor_status st = lmr_source_open(path, "an MRD file", &source);
    if (!st) {
        st = read_file(&source, opts, raw);
        if (!st) st = lmr_source_unchanged(&source);
        if (st) lmr_fail_in(st, path);
        lmr_source_close(&source);
    }
    if (st)
        larmor_raw_free(raw);
    else
        *out = raw;
    return st;
}

void larmor_raw_free(larmor_raw *raw)
{
    if (!raw) return;
    lmr_mrd_header_free(&raw->header);
    free(raw->xml), free(raw->head), free(raw->readout), free(raw->data), free(raw->traj);
    free(raw->order), free(raw->first_in_order), free(raw->group);
    free(raw);
}

/* ---- what is in it ---- */

larmor_raw_info larmor_raw_describe(const larmor_raw *raw)
{
    return raw ? raw->info : (larmor_raw_info){0};
}

const char *larmor_raw_xml(const larmor_raw *raw)
{
    return raw ? raw->xml : "";
}

larmor_status larmor_raw_encoding(const larmor_raw *raw, int encoding, larmor_encoding *out)
{
    LMR_NEED(raw);
    LMR_NEED(out);
    if (encoding < 0 || encoding >= raw->header.encodings)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: encoding %d, the file has %d", encoding, raw->header.encodings);
    *out = raw->header.encoding[encoding].space;
    return LARMOR_OK;
}

larmor_status larmor_raw_group(const larmor_raw *raw, int group, larmor_group *out)
{
    LMR_NEED(raw);
    LMR_NEED(out);
    if (group < 0 || group >= raw->info.groups)
        return LMR_FAIL(LARMOR_ERR_ARG, "raw: group %d, the file has %d", group, raw->info.groups);
    *out = raw->group[group];
    return LARMOR_OK;
}
