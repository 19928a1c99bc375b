/* Whether the functions of a basis have the course of the signal in the centre of k-space.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an image leaves there, summed over the samples of each frame, is a course of every coil. A part of it that
 * is a sum of the basis' functions is of the trajectory, the maps or the weight, and is taken out: the rest is what
 * no image of the basis has. */
#include <complex.h>

#include "check/check.h"
#include "core/core.h"
#include "pipeline/subspace.h"

enum { LEAST_FREE_FRAMES = 2 /* beyond the functions of the basis */ };

/* Right and wrong bases: docs/records/validation.md, "The course of the signal and a basis". */
static const double max_radius = 0.5; /* 1/FOV */
static const double max_left = 0.05;  /* of the signal there, beyond noise */
static const double min_chi2 = 4;
static const double least_length = 1e-6; /* of a function, beyond those before it */

/* Sums over the samples of each frame, divided by the root of their number; the basis times that root. */
typedef struct courses {
    int frames, coils, rank;
    int *frame;                   /* of each sample in the centre */
    int64_t *chosen, count;       /* samples in the centre */
    double *samples;              /* [frames] how many */
    double complex *left, *basis; /* [frames, coils], [frames, rank], orthonormal once it is used */
    double signal;                /* sum of squares, of the samples */
} courses;

LMR_FREES(free_courses, courses, frame, chosen, samples, left, basis)

/* The samples of all frames, in the order of the operator. */
static larmor_status choose_samples(const lmr_job *job, const lmr_frame *frames, courses *c)
{
    const int nd = frames[0].grid.ndim;
    int64_t at = 0;
    LMR_OWN(larmor_array, traj, lmr_frames_points(job, frames, c->frames, &traj));
    const int64_t all = larmor_array_count(traj) / nd;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    c->frame = lmr_new(all, sizeof *c->frame);
    c->chosen = lmr_new(all, sizeof *c->chosen);
    if (!c->frame || !c->chosen) return LMR_NO_MEMORY();
    for (int f = 0; f < c->frames; f++) {
        const int64_t end = at + larmor_array_count(frames[f].samples.traj) / nd;
        for (; at < end; at++) {
            double square = 0;
            for (int d = 0; d < nd; d++) square += k[d + nd * at] * k[d + nd * at];
            if (square > max_radius * max_radius) continue;
            c->frame[c->count] = f;
            c->chosen[c->count++] = at;
            c->samples[f]++;
        }
    }
    return LARMOR_OK;
}

/* sums [frames, coils] of samples [count, coils]; returns their sum of squares. */
static double sum_frames(const courses *c, const float *x, double complex *sums)
{
    double square = 0;
    memset(sums, 0, sizeof *sums * (size_t)(c->frames * c->coils));
    for (int coil = 0; coil < c->coils; coil++) {
        double complex *sum = sums + (int64_t)c->frames * coil;
        for (int64_t i = 0; i < c->count; i++) {
            const float *z = x + 2 * (i + c->count * coil);
            sum[c->frame[i]] += (z[0] + I * (double)z[1]) / sqrt(c->samples[c->frame[i]]);
        }
        for (int f = 0; f < c->frames; f++) square += creal(sum[f] * conj(sum[f]));
    }
    return square;
}

static larmor_status open_courses(const lmr_job *job, const lmr_solved *s, const larmor_array *r, courses *c)
{
    const int64_t rank = larmor_array_shape(job->facts->basis).dim[1];
    *c = (courses){.frames = s->count, .coils = job->facts->coils, .rank = (int)rank};
    c->samples = lmr_new_zeros(c->frames, sizeof *c->samples);
    c->left = lmr_new((int64_t)c->frames * c->coils, sizeof *c->left);
    if (!c->samples || !c->left) return LMR_NO_MEMORY();
    LMR_TRY(choose_samples(job, s->frames, c));
    if (!c->count) return LARMOR_OK;
    LMR_OWN_MEMORY(float, data, larmor_pick_samples(s->b, c->chosen, c->count, &data));
    LMR_OWN_MEMORY(float, left, larmor_pick_samples(r, c->chosen, c->count, &left));
    c->signal = sum_frames(c, data, c->left);
    sum_frames(c, left, c->left);
    LMR_TRY(larmor_array_download(job->facts->basis, LARMOR_C128, &c->basis));
    for (int64_t i = 0; i < c->frames * rank; i++) c->basis[i] *= sqrt(c->samples[i % c->frames]);
    return LARMOR_OK;
}

/* y -= (e^H y) e; returns |e^H y|^2. */
static double take_out(const double complex *e, int count, double complex *y)
{
    double complex sum = 0;
    for (int i = 0; i < count; i++) sum += conj(e[i]) * y[i];
    for (int i = 0; i < count; i++) y[i] -= sum * e[i];
    return creal(sum * conj(sum));
}

static double square_of(const double complex *y, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += creal(y[i] * conj(y[i]));
    return sum;
}

/* Takes the basis' functions out of what is left; returns how many there are of length in frames of the centre. */
static int take_basis_out(courses *c)
{
    int used = 0;
    for (int k = 0; k < c->rank; k++) {
        double complex *e = c->basis + (int64_t)c->frames * k;
        const double all = square_of(e, c->frames);
        for (int j = 0; j < used; j++) take_out(c->basis + (int64_t)c->frames * j, c->frames, e);
        const double own = square_of(e, c->frames);
        if (!(own > least_length * all)) continue;
        for (int i = 0; i < c->frames; i++) c->basis[i + (int64_t)c->frames * used] = e[i] / sqrt(own);
        used++;
        for (int coil = 0; coil < c->coils; coil++)
            take_out(c->basis + (int64_t)c->frames * (used - 1), c->frames, c->left + (int64_t)c->frames * coil);
    }
    return used;
}

static void report(const lmr_job *job, const courses *c, double left, double chi2)
{
    lmr_log(job->events, "basis: its functions leave %.2g of the signal in the centre of k-space, beyond noise",
            left);
    if (left <= max_left || (chi2 > 0 && chi2 < min_chi2)) return;
    lmr_warn(
        job->events,
        "the basis does not have the course of the signal: %.2g %% of it in the centre of k-space, beyond noise, "
        "is no sum of the %d function%s, so that images of the frames where it changes may be wrong. Take more "
        "functions, or check the order and number of frames and the parameters of the dictionary.",
        100 * left, c->rank, c->rank == 1 ? "" : "s");
}

larmor_status lmr_basis_course_check(const lmr_job *job, const lmr_solved *s, const larmor_array *r)
{
    LMR_FREED_BY(free_courses) courses c = {.frames = 0};
    int sampled = 0;
    if (!job->facts->basis || job->settings->opts.motion_fields || s->frames[0].weights || job->facts->slabs)
        return LARMOR_OK;
    LMR_TRY(open_courses(job, s, r, &c));
    for (int f = 0; f < c.frames; f++) sampled += c.samples[f] > 0;
    if (!(c.signal > 0)) return LARMOR_OK;
    const int free_frames = sampled - take_basis_out(&c);
    if (free_frames < LEAST_FREE_FRAMES) return LARMOR_OK;
    const double expected = 2 * s->deviation * s->deviation * c.coils * free_frames;
    const double left = square_of(c.left, c.frames * c.coils);
    report(job, &c, sqrt(fmax(0, left - expected) / c.signal), expected > 0 ? left / expected : 0);
    return LARMOR_OK;
}
