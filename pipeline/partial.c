/* Partial Fourier: whether an image has the smooth phase that fills in what was not sampled, and which method
 * takes it. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/partial.h"

#include <complex.h>

#include "core/core.h"
#include "pipeline/cache.h"
#include "pipeline/problem.h"

#define ROUGH                                                                                                        \
    0.25 /* of the signal in the centre, what no image of the phase explains, beyond noise: above it nothing is
          * filled in */
/* Constants were tuned on the 675 scenes of scripts/measure/partial_fourier.py with the seeds 1 to 3. */
#define MAX_MISFIT_OVER_NOISE 2. /* of the phase, in the samples, above which projections are better than homodyne */
#define MIN_LINES_ON_SHORTER_SIDE 1.5 /* with less there is no phase to go by */
#define MIN_WINDOW_LINES 3.5          /* lines on both sides of the centre that the window has at least */
#define GRID_TOLERANCE 1e-4           /* of 1/FOV, from a line of the grid, as for samples on the grid */
#define LOW_RESOLUTION_WEIGHT                                                                                        \
    1e-3                     /* of the largest eigenvalue, for images that are looked at in low resolution alone */
#define MAX_PHASE_WIDTH 0.25 /* of the matrix: with more of k-space a phase follows edges */
#define WIDTH_ALONG_OTHER_AXES 2 /* the other axes' part of k-space, in units of the partial one's */
#define STEP_OVER_RELAXATION 1.7 /* than the phases differ, as each step finds a part of that */
#define MAX_PHASE_CHANGE 5e-3    /* radians from one step to the next, on average over the image */
enum { STEPS = 12, FEW_STEPS = 5, POWER_STEPS = 4, REFINEMENTS = 16 };

int lmr_is_partial(const larmor_coverage *c)
{
    return c->partial[0] || c->partial[1] || c->partial[2];
}

/* The part of k-space that the phase is from: as far as both sides of the partial axes go. */
static double find_reach(const lmr_frame *frame, const larmor_coverage *c, double reach[3])
{
    double finest = INFINITY, shortest = INFINITY;
    for (int d = 0; d < frame->grid.ndim; d++) {
        if (!c->partial[d]) continue;
        reach[d] = fmin(-c->low[d], c->high[d]);
        shortest = fmin(shortest, reach[d]);
        finest = fmin(finest, reach[d] / frame->grid.fov_mm[d]);
    }
    for (int d = 0; d < frame->grid.ndim; d++) {
        const double most = MAX_PHASE_WIDTH * (double)frame->grid.matrix[d];
        if (!c->partial[d]) reach[d] = WIDTH_ALONG_OTHER_AXES * finest * frame->grid.fov_mm[d];
        reach[d] = fmax(MIN_WINDOW_LINES, fmin(reach[d], most));
        if (reach[d] >= (double)(frame->grid.matrix[d] / 2)) reach[d] = 0;
    }
    return shortest;
}

/* ---- finer voxels ---- */

/* A phase moves k-space: on the image's own grid what it moves across the edge would come back at the other side. */
static int64_t finer_voxels(int64_t n)
{
    int64_t margin = n / 8;
    if (margin < 16) margin = 16;
    if (margin > (n + 1) / 2) margin = (n + 1) / 2;
    for (int64_t finer = n + margin;; finer++) {
        int64_t rest = finer;
        for (int p = 2; p <= 5; p++)
            while (rest % p == 0) rest /= p;
        if (rest == 1 && (finer - n) % 2 == 0) return finer;
    }
}

static void take_voxels(larmor_shape image, lmr_frame *frames, int count)
{
    for (int i = 0; i < count; i++) memcpy(frames[i].grid.matrix, image.dim, sizeof *image.dim * (size_t)image.ndim);
}

static larmor_shape voxels_of(const lmr_job *job)
{
    const larmor_shape maps = larmor_array_shape(job->found.maps.array);
    return larmor_shape_of(maps.ndim - 1, maps.dim);
}

larmor_shape lmr_partial_voxels(larmor_shape image)
{
    for (int d = 0; d < image.ndim; d++) image.dim[d] = finer_voxels(image.dim[d]);
    return image;
}

static larmor_status make_finer(lmr_job *finer, lmr_frame *frames, int count)
{
    const larmor_shape image = lmr_partial_voxels(voxels_of(finer));
    larmor_array *maps;
    LMR_TRY(larmor_resize(finer->found.maps.array, image, &maps));
    larmor_array_free(finer->found.maps.array);
    finer->found.maps.array = maps;
    take_voxels(image, frames, count);
    for (int i = 0; i < count; i++) { /* which is for the voxels as they were */
        lmr_cached_free(frames[i].cached);
        frames[i].cached = NULL;
    }
    return LARMOR_OK;
}

/* Of a series the image, which alone has no dimension for their number. */
static larmor_status one_of(larmor_array *x, int i, int count, larmor_array **one)
{
    if (count > 1) return lmr_one_of(x, i, one);
    *one = larmor_array_ref(x);
    return LARMOR_OK;
}

/* The job's voxels again: of the frames, and of the solution *x [image..., count] unless that is NULL. */
static larmor_status make_coarse(const lmr_job *job, lmr_frame *frames, int count, larmor_array **x)
{
    const larmor_shape image = voxels_of(job);
    LMR_OWNED(larmor_array) *all = NULL, *one = NULL, *fewer = NULL, *to = NULL;
    take_voxels(image, frames, count);
    if (!x) return LARMOR_OK;
    const larmor_shape shape = count > 1 ? larmor_shape_append(image, count) : image;
    const double voxels = (double)larmor_array_count(*x) / (double)larmor_shape_count(shape);
    LMR_TRY(larmor_array_create(larmor_array_device(*x), larmor_array_dtype(*x), shape, &all));
    for (int i = 0; i < count; i++) {
        LMR_FREE(one, fewer, to);
        one = fewer = to = NULL;
        LMR_TRY(one_of(*x, i, count, &one));
        LMR_TRY(one_of(all, i, count, &to));
        LMR_TRY(larmor_resize_band(one, image, &fewer));
        LMR_TRY(larmor_axpby(voxels, fewer, 0, to)); /* samples are sums over voxels */
    }
    larmor_array_free(*x);
    return LMR_HAND_ON(*x, all);
}

/* ---- an image to look at ---- */

/* From x on, which may hold an image that is about it. */
static larmor_status quick_image(larmor_op *A, const larmor_array *b, double weight, int steps, larmor_array *x)
{
    const larmor_solve_opts opts = {.max_iter = steps, .lambda = weight, .tol = 1e-3};
    return larmor_cg(A, b, x, &opts, NULL);
}

static larmor_status create_image(larmor_op *A, larmor_array **x)
{
    return larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), x);
}

/* image <- the one of just this phase that explains the data best; x: without its phase, from where on. */
static larmor_status image_of_phase(larmor_op *A, const larmor_array *b, double weight, int steps,
                                    larmor_array *phase, larmor_array *x, larmor_array *image)
{
    LMR_OWN(larmor_op, P, larmor_op_phase(phase, 0, &P));
    LMR_OWN(larmor_op, all, larmor_op_chain(A, P, &all));
    LMR_TRY(quick_image(all, b, weight, steps, x));
    return larmor_op_forward(P, x, image);
}

/* phase <- phase times a power of seen over expected. *moved: by how many radians, as the image's energy has it. */
static larmor_status move_phase(const larmor_array *seen, const larmor_array *expected, const larmor_array *image,
                                larmor_array *phase, double *moved)
{
    double sum = 0, energy = 0;
    LMR_OWN_MEMORY(double _Complex, from, larmor_array_download(expected, LARMOR_C128, &from));
    LMR_OWN_MEMORY(double _Complex, to, larmor_array_download(seen, LARMOR_C128, &to));
    LMR_OWN_MEMORY(double _Complex, x, larmor_array_download(image, LARMOR_C128, &x));
    LMR_OWN_MEMORY(double _Complex, p, larmor_array_download(phase, LARMOR_C128, &p));
    for (int64_t i = 0; i < larmor_array_count(phase); i++) {
        const double angle = carg(to[i] * conj(from[i])), power = creal(x[i] * conj(x[i]));
        p[i] *= CMPLX(cos(STEP_OVER_RELAXATION * angle), sin(STEP_OVER_RELAXATION * angle));
        sum += power * angle * angle;
        energy += power;
    }
    LMR_OWN(larmor_array, next,
            larmor_array_upload(larmor_array_device(phase), larmor_array_dtype(phase), larmor_array_shape(phase),
                                LARMOR_C128, p, &next));
    LMR_TRY(larmor_copy(next, phase));
    *moved = energy > 0 ? sqrt(sum / energy) : 0;
    return LARMOR_OK;
}

/* The phase of the centre of what the samples of an image give, which begins to be sought at z. */
static larmor_status phase_of_samples(larmor_op *A, const larmor_array *image, double weight, const double reach[3],
                                      larmor_array *z, larmor_array *y, larmor_array **phase)
{
    *phase = NULL;
    LMR_TRY(larmor_op_forward(A, image, y));
    LMR_TRY(quick_image(A, y, weight, FEW_STEPS, z));
    return larmor_centre_phase(z, reach, phase);
}

/* At low resolution an edge has the phase of what is beside it, and so have lines that are missing, in x and in
 * what the samples of an image of the phase that is sought give alike: so that phase is moved until the two agree.
 * model <- the last such image. */
static larmor_status refine(larmor_op *A, const larmor_array *b, double weight, const larmor_array *x,
                            const double reach[3], larmor_array *phase, larmor_array **model)
{
    LMR_OWNED(larmor_array) *seen = NULL, *expected = NULL, *image = NULL, *real = NULL, *z = NULL, *y = NULL;
    double moved = INFINITY;
    *model = NULL;
    LMR_TRY(larmor_centre_phase(x, reach, &seen));
    LMR_TRY(create_image(A, &image));
    LMR_TRY(create_image(A, &real));
    LMR_TRY(create_image(A, &z));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &y));
    LMR_TRY(larmor_copy(x, z));
    for (int i = 0;; i++) {
        LMR_TRY(image_of_phase(A, b, weight, i ? FEW_STEPS : STEPS, phase, real, image));
        if (i == REFINEMENTS || moved < MAX_PHASE_CHANGE) break;
        LMR_CLEAR(expected);
        LMR_TRY(phase_of_samples(A, image, weight, reach, z, y, &expected));
        LMR_TRY(move_phase(seen, expected, image, phase, &moved));
    }
    return LMR_HAND_ON(*model, image);
}

/* Of the centre of k-space what the model has not, beyond noise, relative to all of it. x is overwritten. */
static larmor_status compare(larmor_array *x, const larmor_array *model, const larmor_array *noise,
                             const double reach[3], const larmor_array *phase, double *off)
{
    double all, left, by_noise, unused;
    LMR_TRY(larmor_off_phase(x, reach, phase, &unused, &all));
    LMR_TRY(larmor_off_phase(noise, reach, phase, &by_noise, &unused));
    LMR_TRY(larmor_axpby(-1, model, 1, x));
    LMR_TRY(larmor_off_phase(x, reach, phase, &unused, &left));
    *off = all > 0 ? sqrt(fmax(0, left * left - by_noise * by_noise)) / all : 1;
    return LARMOR_OK;
}

/* What is known of the phase of an image; the numbers are those of larmor_recon_report. */
typedef struct finding {
    double off, misfit, misfit_noise;
} finding;

/* y <- A x - b, and its squared norm. */
static larmor_status square_left(larmor_op *A, const larmor_array *x, const larmor_array *b, larmor_array *y,
                                 double *square)
{
    double norm;
    LMR_TRY(larmor_op_forward(A, x, y));
    LMR_TRY(larmor_axpby(-1, b, 1, y));
    LMR_TRY(larmor_nrm2(y, &norm));
    *square = norm * norm;
    return LARMOR_OK;
}

/* How much more of the samples an image of any phase explains than one of this phase does, and how much more it
 * would be of noise alone, whose level is what is left by the image of any phase.
 *
 * x, model  of the samples b, of any phase and of this one; noise: samples, of_noise: their image of any phase. */
static larmor_status weigh_phase(larmor_op *A, const larmor_array *b, double weight, larmor_array *phase,
                                 const larmor_array *x, const larmor_array *model, const larmor_array *noise,
                                 const larmor_array *of_noise, finding *f)
{
    LMR_OWNED(larmor_array) *real = NULL, *image = NULL, *y = NULL;
    double any, own, any_noise, own_noise, all;
    LMR_TRY(create_image(A, &real));
    LMR_TRY(create_image(A, &image));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &y));
    LMR_TRY(image_of_phase(A, noise, weight, STEPS, phase, real, image));
    LMR_TRY(square_left(A, of_noise, noise, y, &any_noise));
    LMR_TRY(square_left(A, image, noise, y, &own_noise));
    LMR_TRY(square_left(A, x, b, y, &any));
    LMR_TRY(square_left(A, model, b, y, &own));
    LMR_TRY(larmor_nrm2(b, &all));
    if (!(all > 0)) return LARMOR_OK;
    f->misfit = sqrt(fmax(0, own - any)) / all;
    if (any_noise > 0) f->misfit_noise = sqrt(fmax(0, own_noise - any_noise) * any / any_noise) / all;
    return LARMOR_OK;
}

/* The phase of one frame, and how far it holds. */
static larmor_status phase_of(const lmr_job *job, lmr_frame *frame, const double reach[3], double noise,
                              larmor_array **phase, finding *f)
{
    LMR_OWNED(larmor_op) *A = NULL;
    LMR_OWNED(larmor_array) *b = NULL, *sample = NULL, *x = NULL, *of_noise = NULL, *model = NULL;
    double largest;
    int toeplitz;
    larmor_status st;
    *phase = NULL;
    LMR_OR(done, lmr_problem_operator(job, frame, 1, &A, &toeplitz));
    LMR_OR(done, lmr_problem_data(job, frame, 1, A, &b));
    LMR_OR(done, larmor_opnorm(A, POWER_STEPS, &largest));
    LMR_OR(done, create_image(A, &x));
    LMR_OR(done, create_image(A, &of_noise));
    LMR_OR(done, quick_image(A, b, LOW_RESOLUTION_WEIGHT * largest, STEPS, x));
    LMR_OR(done, larmor_centre_phase(x, reach, phase));
    LMR_OR(done, refine(A, b, LOW_RESOLUTION_WEIGHT * largest, x, reach, *phase, &model));
    LMR_OR(done, lmr_sample_noise(job, frame, 1, b, noise, LMR_NOISE_SEED, &sample));
    LMR_OR(done, quick_image(A, sample, LOW_RESOLUTION_WEIGHT * largest, STEPS, of_noise));
    LMR_OR(done, weigh_phase(A, b, LOW_RESOLUTION_WEIGHT * largest, *phase, x, model, sample, of_noise, f));
    st = compare(x, model, of_noise, reach, *phase, &f->off);
done:
    if (st) LMR_CLEAR(*phase);
    return st;
}

/* Homodyne averages noise, and its error is what the phase does not explain; projections keep what was measured,
 * with all of its noise. With one coil nothing that was measured contradicts a wrong phase, and projections are
 * the safer ones. */
static larmor_partial_fourier method_of(const lmr_job *job, double shortest, const finding *f)
{
    const int projects = job->found.method.kind == LMR_METHOD_CG;
    if (job->settings->opts.partial_fourier != LARMOR_PARTIAL_AUTO) return job->settings->opts.partial_fourier;
    if (shortest < MIN_LINES_ON_SHORTER_SIDE || f->off > ROUGH) return LARMOR_PARTIAL_ZERO;
    if (projects &&
        ((job->facts->coils == 1 && !job->facts->automatic) || f->misfit > MAX_MISFIT_OVER_NOISE * f->misfit_noise))
        return LARMOR_PARTIAL_POCS;
    return LARMOR_PARTIAL_HOMODYNE;
}

/* 1 if the coordinates along partial axes are whole numbers, as those of lines are: the others, of readouts that
 *   are sampled on
 * ramps, may be anywhere. */
static larmor_status are_lines(const lmr_job *job, const lmr_frame *frame, const larmor_coverage *c, int *lines)
{
    const larmor_array *traj = frame->samples.traj;
    *lines = 1;
    if (frame->cartesian.on_grid) return LARMOR_OK;
    *lines = !job->facts->physics && !job->facts->slabs;
    if (!*lines) return LARMOR_OK;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0, nd = larmor_array_shape(traj).dim[0]; i < larmor_array_count(traj); i++)
        if (c->partial[i % nd] && fabs(k[i] - nearbyint(k[i])) > GRID_TOLERANCE) *lines = 0;
    return LARMOR_OK;
}

/* fills: 1 if there is anything that a phase may fill in. */
static larmor_status may_fill(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *c,
                              int *fills)
{
    *fills = lmr_may_fill(job);
    for (int i = 0; i < count && *fills; i++) LMR_TRY(are_lines(job, &frames[i], c, fills));
    return LARMOR_OK;
}

larmor_status lmr_partial_begin(const lmr_job *job, lmr_frame *frames, int count, double noise, lmr_job *finer,
                                larmor_recon_report *result)
{
    double reach[3] = {0};
    int fills;
    *finer = *job;
    larmor_array_ref(finer->found.maps.array);
    if (!lmr_is_partial(&result->coverage)) return LARMOR_OK;
    result->partial_fourier = LARMOR_PARTIAL_ZERO;
    result->off_phase = 1;
    LMR_TRY(may_fill(job, frames, count, &result->coverage, &fills));
    if (!fills) return LARMOR_OK;
    LMR_TRY(lmr_enter(job->events, "phase"));
    const double shortest = find_reach(&frames[0], &result->coverage, reach);
    LMR_TRY(make_finer(finer, frames, count));
    for (int i = 0; i < count; i++) {
        finding f = {.off = 1};
        LMR_TRY(phase_of(finer, &frames[i], reach, noise, &frames[i].phase, &f));
        if (i) continue;
        result->off_phase = f.off;
        result->phase_misfit = f.misfit;
        result->phase_misfit_noise = f.misfit_noise;
        result->partial_fourier = method_of(job, shortest, &f);
    }
    for (int i = 0; i < count; i++) {
        frames[i].has_phase = result->partial_fourier == LARMOR_PARTIAL_HOMODYNE;
        frames[i].off_phase = fmin(1, result->off_phase);
        if (result->partial_fourier != LARMOR_PARTIAL_ZERO) continue;
        LMR_CLEAR(frames[i].phase);
    }
    if (result->partial_fourier != LARMOR_PARTIAL_ZERO) return LARMOR_OK;
    larmor_array_free(finer->found.maps.array);
    finer->found.maps.array = larmor_array_ref(job->found.maps.array);
    return make_coarse(job, frames, count, NULL);
}

/* ---- what is filled in, beside what lies opposite ---- */

/* Of energies that are compared: that of a smooth phase moves k-space a little, and twice as much is no sign. */
#define MOST_OVER_OPPOSITE 2
enum { SHELL = 2, SHELLS = 64 }; /* across the partial axis, in cycles per field of view; the last one has the rest */

/* Adds the energy in the planes of k-space along axis d that are not sampled, and in those opposite, which are. */
static void add_energies(const double _Complex *y, larmor_shape shape, int d, const larmor_coverage *c,
                         double missing[SHELLS], double opposite[SHELLS], double *all)
{
    const double near = fmin(-c->low[d], c->high[d]), far = fmax(-c->low[d], c->high[d]);
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
        const double power = creal(y[i] * conj(y[i]));
        double along = 0, across = 0;
        int64_t rest = i;
        for (int e = 0; e < shape.ndim; e++) {
            const double k = (double)(rest % shape.dim[e] - shape.dim[e] / 2);
            if (e == d) along = k;
            if (e != d) across += k * k;
            rest /= shape.dim[e];
        }
        *all += power;
        if (fabs(along) <= near || fabs(along) > far) continue;
        const int shell = (int)fmin(SHELLS - 1, sqrt(across) / SHELL);
        *((along < 0) == (-c->low[d] < c->high[d]) ? &missing[shell] : &opposite[shell]) += power;
    }
}

larmor_status lmr_partial_excess(const larmor_array *x, const larmor_coverage *c, double *excess)
{
    const larmor_shape shape = larmor_array_shape(x);
    LMR_OWNED(larmor_array) *spectrum = NULL;
    *excess = 0;
    LMR_OWN(larmor_op, F,
            larmor_op_fft(larmor_array_device(x), larmor_array_dtype(x), shape, (1u << shape.ndim) - 1,
                          &(larmor_fft_opts){.centred = 1}, &F));
    LMR_TRY(larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), shape, &spectrum));
    LMR_TRY(larmor_op_forward(F, x, spectrum));
    LMR_OWN_MEMORY(double _Complex, y, larmor_array_download(spectrum, LARMOR_C128, &y));
    for (int d = 0; d < shape.ndim; d++) {
        double missing[SHELLS] = {0}, opposite[SHELLS] = {0}, all = 0, over = 0;
        if (!c->partial[d]) continue;
        add_energies(y, shape, d, c, missing, opposite, &all);
        for (int i = 0; i < SHELLS; i++) over += fmax(0, missing[i] - MOST_OVER_OPPOSITE * opposite[i]);
        if (all > 0) *excess = fmax(*excess, over / all);
    }
    return LARMOR_OK;
}

/* ---- the image ---- */

static larmor_status project(const lmr_job *job, const lmr_frame *frame, larmor_array *x, larmor_recon_report *result)
{
    const larmor_solve_opts opts = {.lambda = result->weight};
    int toeplitz;
    LMR_TRY(lmr_enter(job->events, "projections"));
    LMR_OWN(larmor_op, A, lmr_problem_operator(job, frame, 1, &A, &toeplitz));
    LMR_OWN(larmor_array, b, lmr_problem_data(job, frame, 1, A, &b));
    return larmor_pocs(A, b, frame->phase, x, &opts, NULL);
}

/* Frame i of x becomes the image. */
static larmor_status turn(const lmr_frame *frame, int i, int count, larmor_array *x)
{
    LMR_OWNED(larmor_array) *one = NULL, *image = NULL;
    LMR_TRY(one_of(x, i, count, &one));
    LMR_OWN(larmor_op, P, larmor_op_phase(frame->phase, frame->off_phase, &P));
    LMR_TRY(larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), larmor_array_shape(one), &image));
    LMR_TRY(larmor_op_forward(P, one, image));
    return larmor_copy(image, one);
}

larmor_status lmr_partial_end(const lmr_job *job, const lmr_job *finer, lmr_frame *frames, int count,
                              larmor_array **x, larmor_recon_report *result)
{
    if (!frames[0].phase) return LARMOR_OK;
    if (!frames[0].has_phase) LMR_TRY(project(finer, frames, *x, result));
    for (int i = 0; i < count && frames[0].has_phase; i++) LMR_TRY(turn(&frames[i], i, count, *x));
    return make_coarse(job, frames, count, x);
}

void lmr_partial_close(lmr_job *job, lmr_job *finer)
{
    job->found.decided.chosen = finer->found.decided.chosen;
    job->found.method = finer->found.method;
    LMR_CLEAR(finer->found.maps.array);
}

void lmr_partial_report(const lmr_job *job, const char *name, const larmor_recon_report *now)
{
    const double percent = 100;
    const int automatic = job->settings->opts.partial_fourier == LARMOR_PARTIAL_AUTO;
    const int is_asked = !automatic && job->settings->opts.partial_fourier != LARMOR_PARTIAL_ZERO;
    const int is_zero = now->partial_fourier == LARMOR_PARTIAL_ZERO;
    const char *way = "homodyne, the image has the phase of its centre", *why = "";
    if (is_asked && (is_zero || now->partial_fourier == LARMOR_PARTIAL_AUTO))
        lmr_log(job->events,
                "%s: partial Fourier: nothing is filled in: k-space reaches as far on both sides, or is not of lines "
                "of a grid, or the model has more than coils",
                name);
    if (now->partial_fourier == LARMOR_PARTIAL_AUTO || (is_asked && is_zero)) return;
    if (now->partial_fourier == LARMOR_PARTIAL_POCS) way = "POCS, what is missing gets the phase of the centre";
    if (is_zero) way = "not filled in";
    if (is_zero && (!automatic || now->off_phase >= 1)) return;
    if (automatic && now->partial_fourier == LARMOR_PARTIAL_POCS)
        why = job->facts->coils == 1 ? ", as there is one coil" : ", as the phase explains less of the samples";
    if (automatic && now->partial_fourier == LARMOR_PARTIAL_HOMODYNE && job->found.method.kind == LMR_METHOD_CG)
        why = ", as noise hides what the phase does not explain";
    lmr_log(
        job->events,
        "%s: partial Fourier: %s%s: %.2g %% of the centre is off it; of the samples it leaves %.2g %% more than any "
        "phase does, and %.2g %% would be noise",
        name, way, why, percent * now->off_phase, percent * now->phase_misfit, percent * now->phase_misfit_noise);
}
