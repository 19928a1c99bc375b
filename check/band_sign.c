/* The sign of the phases of slices that were excited together: a header can have the other one, whose images are
 * wrong, and whose coil maps are those of other slices. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "core/core.h"
#include "physics/multiband_phases.h"
#include "pipeline/problem.h"

/* Partitions: places along kz so near those of the other sign are the same. */
#define MAX_SAME_SIGN 1e-6
#define STEPS_WEIGHT 1e-3 /* of the largest eigenvalue: next to no weight */
/* What the other sign leaves of the samples over what the taken one does: simulated scans of 2 to 4 slices by spokes,
 * arms and lines, at SNR 5 to 50, had 1.04 and more where the taken sign is right, and .98 and less where it is
 * not. */
#define MAX_RATIO 0.99
/* The same of what is beyond noise: if neither sign is right, both leave about as much. */
#define MAX_BEYOND_RATIO 0.8
/* Of the image's energy: scans of one slice that were taken for 2 or 3, by spokes and arms at SNR 10 to 50, had 0.996
 * and more in the largest one; of slices that are there it had 0.57 at most. */
#define MIN_ENERGY_OF_ONE 0.99
enum { POWER_STEPS = 4, STEPS = 8 };

static double within(double x, double period)
{
    return x - period * floor(x / period + 0.5);
}

/* *k: the trajectory with kz of the other sign, *turn [2, samples]: what samples are multiplied by, as their phases
 * count from the first slice and volumes from the middle one. Returns how far places are from what they were. */
static double mirror(const lmr_frame *frame, int64_t count, double *k, double *turn)
{
    const int64_t bands = frame->grid.matrix[2], middle = bands / 2;
    const double scale = frame->grid.fov_mm[2] / frame->encoding.fov_mm[2];
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double kz = k[3 * i + 2] / scale, other = within(-kz, (double)bands);
        const double angle = -4 * M_PI * (double)middle * kz / (double)bands;
        turn[2 * i] = cos(angle);
        turn[2 * i + 1] = sin(angle);
        k[3 * i + 2] = scale * other;
        most = fmax(most, fabs(within(other - kz, (double)bands)));
    }
    return most;
}

/* other: the frame by the other sign, with samples of its own; *differs: 0 if that is the same one. */
static larmor_status open_other(const lmr_frame *frame, lmr_frame *other, int *differs)
{
    const larmor_shape shape = larmor_array_shape(frame->samples.traj), samples = larmor_shape_of(2, shape.dim + 1);
    larmor_device *dev = larmor_array_device(frame->samples.traj);
    LMR_OWNED(larmor_array) *factor = NULL;
    LMR_HEAP double *k = NULL, *turn = lmr_new(larmor_shape_count(samples), 2 * sizeof *turn);
    if (!turn) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(frame->samples.traj, LARMOR_F64, &k));
    *differs = mirror(frame, larmor_shape_count(samples), k, turn) > MAX_SAME_SIGN;
    if (!*differs) return LARMOR_OK;
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &other->samples.traj));
    LMR_TRY(larmor_array_create(dev, larmor_array_dtype(frame->samples.kspace),
                                larmor_array_shape(frame->samples.kspace), &other->samples.kspace));
    LMR_TRY(larmor_copy(frame->samples.kspace, other->samples.kspace));
    LMR_TRY(larmor_array_upload(dev, larmor_array_dtype(frame->samples.kspace), samples, LARMOR_C128, turn, &factor));
    return larmor_mul(factor, 0, other->samples.kspace);
}

/* *left: of the samples' norm, by a few steps. */
static larmor_status find_left(const lmr_job *job, const lmr_frame *frame, double *left)
{
    larmor_solve_opts o = {.max_iter = STEPS, .tol = 1e-9};
    int toeplitz;
    double data;
    LMR_OWN(larmor_op, A, lmr_problem_operator(job, frame, 1, &A, &toeplitz));
    LMR_OWN(larmor_array, b, lmr_problem_data(job, frame, 1, A, &b));
    LMR_OWN(larmor_array, x, larmor_array_create(job->facts->dev, larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_OWN(larmor_array, r, larmor_array_create(job->facts->dev, larmor_op_dtype(A), larmor_op_out_shape(A), &r));
    LMR_TRY(larmor_opnorm(A, POWER_STEPS, &o.lambda));
    o.lambda *= STEPS_WEIGHT;
    LMR_TRY(larmor_cg(A, b, x, &o, NULL));
    LMR_TRY(larmor_op_forward(A, x, r));
    LMR_TRY(larmor_axpby(-1, b, 1, r));
    LMR_TRY(larmor_nrm2(b, &data));
    LMR_TRY(larmor_nrm2(r, left));
    *left = data > 0 ? *left / data : 0;
    return LARMOR_OK;
}

/* of: the misfit of the image, which says how much is noise. */
static int is_better(double by_other, double left, const larmor_misfit *of)
{
    const double noise = of->relative * of->relative - of->beyond_noise * of->beyond_noise;
    const double other_beyond = sqrt(fmax(0, by_other * by_other - noise)),
                 beyond = sqrt(fmax(0, left * left - noise));
    return by_other < MAX_RATIO * left && other_beyond < MAX_BEYOND_RATIO * beyond;
}

static larmor_status compare(const lmr_job *job, const lmr_frame *frame, const larmor_misfit *misfit,
                             lmr_frame *other)
{
    lmr_scan_facts facts = *job->facts;
    lmr_job plain = *job;
    lmr_frame taken = *frame;
    double left, by_other;
    int differs = 0;
    facts.toeplitz = -1;
    plain.facts = &facts;
    taken.cached = other->cached = NULL;
    LMR_TRY(open_other(frame, other, &differs));
    if (!differs) return LARMOR_OK;
    LMR_TRY(find_left(&plain, &taken, &left));
    LMR_TRY(find_left(&plain, other, &by_other));
    if (is_better(by_other, left, misfit))
        lmr_warn(
            job->events,
            "multiband: phases of the other sign explain the samples better: %.3g of them are left over by a few "
            "steps instead of %.3g. Check the sign of the header's deltaKz, or of the phases that were given, "
            "and the order of the maps' slices.",
            by_other, left);
    else
        lmr_log(job->events,
                "multiband: the phases leave %.3g of the samples after a few steps, those of the other sign %.3g",
                left, by_other);
    return LARMOR_OK;
}

larmor_status lmr_band_sign_check(const lmr_job *job, const lmr_frame *frame, const larmor_misfit *misfit)
{
    const lmr_scan_facts *facts = job->facts;
    lmr_frame other = *frame;
    const int apart = frame->grid.apart[2];
    if (!apart || apart & LMR_APART_BY_PHASES || facts->coils < 2 || facts->basis || facts->slabs) return LARMOR_OK;
    if (!facts->given && !facts->info.calibration) {
        lmr_log(job->events,
                "multiband: the sign of the phases is not checked, as coil maps from the samples fit either one");
        return LARMOR_OK;
    }
    other.samples.traj = other.samples.kspace = NULL;
    const larmor_status st = compare(job, frame, misfit, &other);
    LMR_FREE(other.samples.traj, other.samples.kspace);
    if (!st || st == LARMOR_STOPPED) return st;
    lmr_log(job->events, "multiband: the sign of the phases is not checked: %s", larmor_last_error());
    return LARMOR_OK;
}

larmor_status lmr_bands_check(const lmr_job *job, const lmr_frame *frame, const larmor_array *x)
{
    const int64_t bands = frame->grid.matrix[2], plane = frame->grid.matrix[0] * frame->grid.matrix[1];
    if (!frame->grid.apart[2] || job->facts->basis || job->facts->slabs) return LARMOR_OK;
    double all = 0, largest = 0;
    LMR_OWN_MEMORY(double, value, larmor_array_download(x, LARMOR_C128, &value));
    const int64_t planes = larmor_array_count(x) / plane;
    for (int64_t z = 0; z < bands; z++) {
        double energy = 0;
        for (int64_t p = z; p < planes; p += bands)
            for (int64_t i = 2 * plane * p; i < 2 * plane * (p + 1); i++) energy += value[i] * value[i];
        largest = fmax(largest, energy);
        all += energy;
    }
    if (largest > MIN_ENERGY_OF_ONE * all)
        lmr_warn(job->events,
                 "multiband: one of %lld slices has %.4g %% of the image's energy, as if it alone had been excited. "
                 "Check that slices were excited together, and their phases.",
                 (long long)bands, 100 * largest / all);
    return LARMOR_OK;
}
