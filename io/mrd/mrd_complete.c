/* What the header of a raw file leaves out, or gives as 0, and a stored trajectory does not need: it is taken from
 * the rest of the header or from the data, with a warning each. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/mrd/mrd.h"

#define EXTENDED 8    /* an axis of a larger matrix has an extent; others are a slice */
#define METRES_UP 1.5 /* no scanner sees more metres, no image of a larger matrix fewer millimetres */
/* Both fields of view and both voxels of encodedSpace and reconSpace differ by this factor, the same way, only by a
 * mistake: oversampling is of one of them, and so is interpolation. */
#define MIN_CONTRADICTION 4.0
#define MAX_FROM_TEN 0.2 /* of the decimal logarithm of that factor from a power of ten, for another unit */

/* "encoding 2: " if there are several. */
static lmr_text of_encoding(const larmor_raw *raw, int encoding)
{
    lmr_text text = {""};
    if (raw->header.encodings > 1) snprintf(text.s, sizeof text.s, "encoding %d: ", encoding + 1);
    return text;
}

static lmr_text matrix_text(const int64_t n[3])
{
    lmr_text text;
    snprintf(text.s, sizeof text.s, "%lld x %lld x %lld", (long long)n[0], (long long)n[1], (long long)n[2]);
    return text;
}

static lmr_text fov_text(const double mm[3])
{
    lmr_text text;
    snprintf(text.s, sizeof text.s, "%.4g x %.4g x %.4g", mm[0], mm[1], mm[2]);
    return text;
}

/* ---- metres ---- */

/* 1 if fov, stated for this matrix, was in metres; it is in mm then. Of a slice, which has no extent to tell, a
 *   number
 * that is no larger than those of the image is in metres as well. */
static int from_metres(const int64_t matrix[3], double fov[3])
{
    double largest = 0;
    for (int d = 0; d < 3; d++) {
        if (matrix[d] <= EXTENDED || fov[d] == 0) continue;
        if (fov[d] >= METRES_UP) return 0;
        largest = fmax(largest, fov[d]);
    }
    for (int d = 0; d < 3; d++)
        if (fov[d] <= largest) fov[d] *= 1e3;
    return largest > 0;
}

static void take_metres(larmor_raw *raw, int encoding)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    const int64_t *recon_matrix = e->recon_matrix[0] ? e->recon_matrix : e->matrix;
    const lmr_text said = fov_text(e->fov_mm), recon_said = fov_text(e->recon_fov_mm);
    const int encoded = from_metres(e->matrix, e->fov_mm), recon = from_metres(recon_matrix, e->recon_fov_mm);
    if (encoded || recon)
        LMR_MRD_WARN(raw, "%s%sfield of view %s is taken to be in metres: %s mm.", of_encoding(raw, encoding).s,
                     encoded ? "" : "reconSpace ", encoded ? said.s : recon_said.s,
                     fov_text(encoded ? e->fov_mm : e->recon_fov_mm).s);
}

/* ---- units that differ between the spaces ---- */

/* The decimal logarithm of how many times larger encodedSpace's numbers are along axis d, 0 unless that is a mistake;
 * oversampling and interpolation may be in it. */
static double tens_between(const larmor_encoding *e, int d)
{
    if (e->matrix[d] <= EXTENDED || e->recon_matrix[d] <= EXTENDED || !(e->fov_mm[d] > 0 && e->recon_fov_mm[d] > 0))
        return 0;
    const double fov = log10(e->fov_mm[d] / e->recon_fov_mm[d]);
    const double voxel = fov + log10((double)e->recon_matrix[d] / (double)e->matrix[d]);
    if (fov * voxel < 0 || fmin(fabs(fov), fabs(voxel)) < log10(MIN_CONTRADICTION)) return 0;
    return (fov + voxel) / 2;
}

/* The larger number is wrong where no scanner sees so much, else the smaller one. A slice is in the unit of the
 * axes. */
static void reconcile(larmor_raw *raw, int encoding)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    const lmr_text said = fov_text(e->fov_mm), recon_said = fov_text(e->recon_fov_mm);
    double tens = 0;
    int is_unit = 1;
    for (int d = 0; d < 3; d++) {
        const double along = tens_between(e, d);
        is_unit &= along == 0 || fabs(along - round(along)) <= MAX_FROM_TEN;
        is_unit &= along == 0 || tens == 0 || round(along) == round(tens);
        if (along != 0) tens = along;
    }
    if (tens == 0) return;
    if (!is_unit) {
        LMR_MRD_WARN(raw, "%sfields of view of encodedSpace, %s mm, and of reconSpace, %s mm, contradict each other.",
                     of_encoding(raw, encoding).s, said.s, recon_said.s);
        return;
    }
    double *large = tens > 0 ? e->fov_mm : e->recon_fov_mm;
    double *small = tens > 0 ? e->recon_fov_mm : e->fov_mm;
    const int is_large = fmax(large[0], large[1]) > 1e3 * METRES_UP;
    double *wrong = is_large ? large : small;
    const double factor = pow(10, is_large ? -fabs(round(tens)) : fabs(round(tens)));
    for (int d = 0; d < 3; d++) {
        const int is_extended = e->matrix[d] > EXTENDED && e->recon_matrix[d] > EXTENDED;
        if (is_extended ? tens_between(e, d) != 0 : round(log10(large[d] / small[d])) == fabs(round(tens)))
            wrong[d] *= factor;
    }
    LMR_MRD_WARN(raw,
                 "%sfields of view of encodedSpace, %s mm, and of reconSpace, %s mm, contradict each other: %s is "
                 "taken to be in another unit, %s mm.",
                 of_encoding(raw, encoding).s, said.s, recon_said.s,
                 wrong == e->fov_mm ? "encodedSpace" : "reconSpace", fov_text(wrong).s);
}

static void judge_size(larmor_raw *raw, int encoding)
{
    const larmor_encoding *e = &raw->header.encoding[encoding].space;
    int is_large = 0;
    for (int d = 0; d < 3; d++) is_large |= e->recon_matrix[d] > EXTENDED && e->recon_fov_mm[d] > 1e3 * METRES_UP;
    if (is_large)
        LMR_MRD_WARN(
            raw,
            "%sreconSpace field of view %s mm is more than a scanner sees: in another unit, voxels and places "
            "of the images are wrong by its factor.",
            of_encoding(raw, encoding).s, fov_text(e->recon_fov_mm).s);
}

void lmr_mrd_fov_to_mm(larmor_raw *raw)
{
    for (int i = 0; i < raw->header.encodings; i++) {
        take_metres(raw, i);
        reconcile(raw, i);
        judge_size(raw, i);
    }
}

/* ---- what the data say ---- */

typedef struct content { /* of the readouts of an encoding */
    int used, stored;    /* 1: there are some; they have a trajectory */
    int partitions;      /* that kspace_encode_step_2 counts */
} content;

static content look(const larmor_raw *raw, int encoding)
{
    content c = {.partitions = 1};
    for (int use = LMR_IMAGING; use <= LMR_CALIBRATION; use *= 2) {
        for (int64_t i = 0; i < raw->info.acquisitions; i++) {
            const lmr_mrd_head *h = &raw->head[i];
            if (!(raw->readout[i].use & use) || h->encoding != encoding) continue;
            if (!c.used) c.stored = h->traj_dims >= 2;
            c.used = 1;
            if (h->counter[LMR_STEP2] >= c.partitions) c.partitions = h->counter[LMR_STEP2] + 1;
        }
    }
    return c;
}

static larmor_status complete_type(larmor_raw *raw, int encoding, const content *c)
{
    lmr_mrd_encoding *e = &raw->header.encoding[encoding];
    if (*e->space.trajectory) return LARMOR_OK;
    LMR_REFUSE(c->used && !c->stored && *e->unknown, LARMOR_ERR_FORMAT,
               "header: encoding %d trajectory \"%s\" unknown; cartesian, epi, radial, goldenangle, spiral "
               "or other.",
               encoding + 1, e->unknown);
    LMR_REFUSE(c->used && !c->stored, LARMOR_ERR_FORMAT, "header: trajectory missing in encoding %d.", encoding + 1);
    snprintf(e->space.trajectory, sizeof e->space.trajectory, "other");
    if (c->used && *e->unknown)
        LMR_MRD_WARN(raw, "%strajectory type \"%s\" unknown; the stored trajectory says all.",
                     of_encoding(raw, encoding).s, e->unknown);
    else if (c->used)
        LMR_MRD_WARN(raw, "%strajectory type missing; the stored trajectory says all.", of_encoding(raw, encoding).s);
    return LARMOR_OK;
}

/* Voxels of encodedSpace along axis d, from what is known otherwise; 0 if nothing is. */
static int64_t voxels_from_elsewhere(const larmor_encoding *e, const content *c, const int64_t guess[3], int d)
{
    if (e->recon_matrix[d]) return e->recon_matrix[d];
    if (!c->used) return 1;
    if (c->stored && guess[d] > 1) return guess[d];
    return d == 2 ? c->partitions : 0;
}

static larmor_status complete_matrix(larmor_raw *raw, int encoding, const content *c, const char *units)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    int64_t guess[3] = {0, 0, 0};
    int missing = 0, from_data = 0;
    for (int d = 0; d < 3; d++) {
        missing |= !e->matrix[d];
        from_data |= !e->matrix[d] && !e->recon_matrix[d];
    }
    if (!missing) return LARMOR_OK;
    if (c->stored) lmr_mrd_guess_matrix(raw, encoding, units, guess);
    for (int d = 0; d < 3; d++) {
        if (!e->matrix[d]) e->matrix[d] = voxels_from_elsewhere(e, c, guess, d);
        if (e->matrix[d]) continue;
        LMR_REFUSE(!raw->header.encoding[encoding].has_space[0], LARMOR_ERR_FORMAT,
                   "header: encodedSpace missing in encoding %d.", encoding + 1);
        return LMR_FAIL(LARMOR_ERR_FORMAT, "header: encoding %d matrix %c missing.", encoding + 1, "xyz"[d]);
    }
    if (c->used)
        LMR_MRD_WARN(raw, "%sencoded matrix missing: %s is taken from the %s.", of_encoding(raw, encoding).s,
                     matrix_text(e->matrix).s, from_data ? "data" : "reconSpace");
    return LARMOR_OK;
}

static double voxel_of(const double fov[3], const int64_t matrix[3], int d)
{
    return fov[d] > 0 && matrix[d] > 0 ? fov[d] / (double)matrix[d] : 0;
}

/* The voxel of reconSpace, or that of another axis whose size is known, or 1 mm. */
static double voxel_from_elsewhere(const larmor_encoding *e, int d)
{
    double voxel = voxel_of(e->recon_fov_mm, e->recon_matrix, d);
    for (int a = 0; a < 3 && voxel == 0; a++) voxel = voxel_of(e->fov_mm, e->matrix, a);
    for (int a = 0; a < 3 && voxel == 0; a++) voxel = voxel_of(e->recon_fov_mm, e->recon_matrix, a);
    return voxel > 0 ? voxel : 1;
}

static void complete_fov(larmor_raw *raw, int encoding, const content *c)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    double voxel[3];
    int missing = 0, known = 0;
    for (int d = 0; d < 3; d++) {
        voxel[d] = voxel_from_elsewhere(e, d);
        missing |= e->fov_mm[d] == 0;
        known |= e->fov_mm[d] > 0 || e->recon_fov_mm[d] > 0;
    }
    for (int d = 0; d < 3; d++)
        if (e->fov_mm[d] == 0) e->fov_mm[d] = voxel[d] * (double)e->matrix[d];
    if (missing && c->used)
        LMR_MRD_WARN(raw, "%sfield of view missing: %s mm is taken, voxels %s.", of_encoding(raw, encoding).s,
                     fov_text(e->fov_mm).s, known ? "as along the other axes" : "of 1 mm");
}

static void complete_recon(larmor_raw *raw, int encoding, const content *c)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    int missing = 0;
    for (int d = 0; d < 3; d++) {
        const double voxel = e->fov_mm[d] / (double)e->matrix[d];
        missing |= !e->recon_matrix[d] || e->recon_fov_mm[d] == 0;
        if (!e->recon_matrix[d])
            e->recon_matrix[d] = e->recon_fov_mm[d] > 0
                                     ? (int64_t)fmax(1, fmin(1e9, round(e->recon_fov_mm[d] / voxel)))
                                     : e->matrix[d];
        if (e->recon_fov_mm[d] == 0) e->recon_fov_mm[d] = voxel * (double)e->recon_matrix[d];
    }
    if (missing && c->used)
        LMR_MRD_WARN(raw, "%sreconSpace missing: %s voxels, %s mm are taken from encodedSpace.",
                     of_encoding(raw, encoding).s, matrix_text(e->recon_matrix).s, fov_text(e->recon_fov_mm).s);
}

/* Lines of several times as many samples as the encoded matrix has: encodedSpace is without their oversampling. The
 * times that all readouts without a trajectory have; else 1. */
static int64_t oversampling(const larmor_raw *raw, int encoding)
{
    const int64_t n = raw->header.encoding[encoding].space.matrix[0];
    int64_t samples = 0;
    if (strcmp(raw->header.encoding[encoding].space.trajectory, "cartesian") != 0) return 1;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION)) || h->encoding != encoding) continue;
        if (h->traj_dims || h->discard_pre || h->discard_post || (samples && h->samples != samples)) return 1;
        samples = h->samples;
    }
    return n && samples > n && samples % n == 0 ? samples / n : 1;
}

static void take_oversampling(larmor_raw *raw, int encoding)
{
    larmor_encoding *e = &raw->header.encoding[encoding].space;
    const int64_t times = oversampling(raw, encoding);
    if (times == 1) return;
    e->matrix[0] *= times;
    e->fov_mm[0] *= (double)times;
    LMR_MRD_WARN(
        raw,
        "%slines have %lld samples where encodedSpace has %lld: it is taken to be without their oversampling, "
        "which makes it %lld samples over %.4g mm.",
        of_encoding(raw, encoding).s, (long long)e->matrix[0], (long long)(e->matrix[0] / times),
        (long long)e->matrix[0], e->fov_mm[0]);
}

larmor_status lmr_mrd_complete(larmor_raw *raw, const char *units)
{
    for (int i = 0; i < raw->header.encodings; i++) {
        lmr_mrd_encoding *e = &raw->header.encoding[i];
        const content c = look(raw, i);
        larmor_grid grid;
        LMR_TRY(complete_type(raw, i, &c));
        LMR_TRY(complete_matrix(raw, i, &c, units));
        complete_fov(raw, i, &c);
        complete_recon(raw, i, &c);
        take_oversampling(raw, i);
        e->space.ndim = e->space.matrix[2] > 1 ? 3 : 2;
        if (c.used && !e->has_limits)
            LMR_MRD_WARN(raw, "%sencodingLimits missing; the counters are taken as they are.", of_encoding(raw, i).s);
        LMR_TRY(lmr_mrd_grid(raw, i, NULL, &grid));
    }
    return LARMOR_OK;
}
