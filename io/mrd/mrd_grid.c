/* Where to reconstruct: the grid of an encoding, as the header has it or as the caller asks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

static larmor_status check_matrix(int64_t memory, const int64_t n[3])
{
    const double bytes = 8. * (double)n[0] * (double)n[1] * (double)n[2];
    if (bytes <= (double)memory) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "matrix %lld x %lld x %lld needs %s per image; limit is %s (opts.memory).",
                    (long long)n[0], (long long)n[1], (long long)n[2], lmr_bytes_text(bytes).s,
                    lmr_bytes_text((double)memory).s);
}

static larmor_status check_opts(const larmor_encoding *e, const larmor_grid_opts *o)
{
    LMR_TRY(lmr_check_axes_given("opts.matrix", (double)o->matrix[2], 1, e->ndim));
    LMR_TRY(lmr_check_axes_given("opts.fov_mm", o->fov_mm[2], e->recon_fov_mm[2], e->ndim));
    LMR_TRY(lmr_check_axes_given("opts.oversample", o->oversample[2], 1, e->ndim));
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(
            o->matrix[d] < 0 || o->matrix[d] > LMR_MRD_MAX_MATRIX || !(o->fov_mm[d] >= 0) ||
                !isfinite(o->fov_mm[d]) ||
                (o->oversample[d] != 0 && !(o->oversample[d] >= 1 && o->oversample[d] <= LARMOR_MAX_OVERSAMPLE)),
            LARMOR_ERR_ARG,
            "raw: grid: matrix %lld, field of view %g mm, oversample %g along axis %d, expected at most "
            "%d, at least 0, and 1 to %d",
            (long long)o->matrix[d], o->fov_mm[d], o->oversample[d], d, LMR_MRD_MAX_MATRIX, LARMOR_MAX_OVERSAMPLE);
    return LARMOR_OK;
}

/* 1 if an FFT of n points is quick. */
static int is_smooth(int64_t n)
{
    for (int64_t prime = 2; prime <= 7; prime++)
        while (n % prime == 0) n /= prime;
    return n == 1;
}

/* The voxels of an axis of the grid that is `oversample` times n voxels long. */
static int64_t enlarged(double n, double oversample)
{
    int64_t side = (int64_t)ceil(fmin(n * oversample, 1e9) - 1e-6);
    side += side % 2;
    while (!is_smooth(side) && side < LMR_MRD_MAX_MATRIX) side += 2;
    return side;
}

static void choose_axis(const larmor_encoding *e, const larmor_grid_opts *o, int d, larmor_grid *grid)
{
    const double fov = o->fov_mm[d] > 0 ? o->fov_mm[d] : e->recon_fov_mm[d];
    const int64_t crop = o->matrix[d] ? o->matrix[d] : e->recon_matrix[d];
    const double voxel = fov / (double)crop, n = round(fmax(e->fov_mm[d], fov) / voxel);
    int64_t side = n < 1e9 ? (int64_t)n : (int64_t)1e9;
    if (o->oversample[d] > 1) side = enlarged(n, o->oversample[d]);
    if (side < crop) side = crop;
    if (side > crop) side += side % 2;
    grid->crop[d] = crop;
    grid->matrix[d] = side;
    grid->fov_mm[d] = (double)side * voxel;
}

static larmor_status choose(const larmor_encoding *e, const larmor_grid_opts *opts, int64_t memory, larmor_grid *out)
{
    const larmor_grid_opts o = opts ? *opts : (larmor_grid_opts){0};
    LMR_TRY(check_opts(e, &o));
    *out = (larmor_grid){.ndim = e->ndim};
    for (int d = 0; d < 3; d++) {
        out->crop[d] = out->matrix[d] = 1;
        out->fov_mm[d] = e->recon_fov_mm[d];
        out->apart[d] = e->apart[d];
        if (d < e->ndim) choose_axis(e, &o, d, out);
    }
    LMR_TRY(check_matrix(memory, e->matrix));
    LMR_TRY(check_matrix(memory, e->recon_matrix));
    LMR_TRY(check_matrix(memory, out->matrix));
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(out->matrix[d] > LMR_MRD_MAX_MATRIX, LARMOR_ERR_FORMAT,
                   "field of view %g mm with voxels of %g mm needs matrix %lld; at most %d expected.", out->fov_mm[d],
                   out->fov_mm[d] / (double)out->matrix[d], (long long)out->matrix[d], LMR_MRD_MAX_MATRIX);
    return LARMOR_OK;
}

larmor_status larmor_encoding_grid(const larmor_encoding *encoding, const larmor_grid_opts *opts, larmor_grid *out)
{
    LMR_NEED(encoding, out);
    return choose(encoding, opts, LMR_MRD_MEMORY, out);
}

larmor_status lmr_mrd_grid(const larmor_raw *raw, int encoding, const larmor_grid_opts *opts, larmor_grid *out)
{
    char place[48];
    const larmor_status st = choose(&raw->header.encoding[encoding].space, opts, raw->memory, out);
    if (st != LARMOR_ERR_FORMAT) return st;
    snprintf(place, sizeof place, "header: encoding %d", encoding + 1);
    return lmr_fail_in(st, place);
}

larmor_status larmor_raw_grid(const larmor_raw *raw, int encoding, const larmor_grid_opts *opts, larmor_grid *out)
{
    LMR_NEED(raw, out);
    LMR_REFUSE(encoding < 0 || encoding >= raw->header.encodings, LARMOR_ERR_ARG,
               "raw: grid: encoding %d, the file has %d", encoding, raw->header.encodings);
    return lmr_mrd_grid(raw, encoding, opts, out);
}
