/* The noise of images by conjugate gradients: images of samples of noise alone. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "noise/noise.h"
#include "pipeline/cache.h"
#include "pipeline/problem.h"

/* What further steps change an image of noise by, relative to it. The error of a deviation is of second order in it:
 * in the median .1 % on golden-angle spokes, R = 3, and .8 % with 0.2. */
#define MAX_REL_CHANGE 0.1
/* The same of a quick map: on nine scenes the median of the map is 0 to 4 % off that with .02, by half of the
 * steps. */
#define MAX_REL_CHANGE_QUICK 0.14
/* Of the logarithm of the weight: images whose weights are as near share a map. The sum of N / (N + lambda)^2 over
 * the eigenvalues N falls by at most twice that, so that a deviation is off by at most 5 %, and by far less where the
 * samples outweigh the penalty; 64 samples leave 6 % in a voxel. */
#define SAME_LOG_WEIGHT 0.05
enum {
    MOST_STEPS = 1000,
    TOGETHER = 16,           /* samples that are solved for at once on a processor, whose threads take one each, */
    MOST_TOGETHER = 1 << 20, /* of images of so many voxels and coils, which leave room for as many operators */
};

/* The least squares problem of all frames, or of one frame as many times as samples are solved for at once. */
typedef struct problem {
    lmr_frame *frames;
    int count, copies; /* copies: of the frame; 1: count is that of the frames */
    larmor_op *A, *M;
    larmor_circulant *C;
    larmor_array *like, *x; /* like: the samples' shape */
} problem;

static void close_problem(problem *p)
{
    LMR_FREE(p->frames, p->M);
    larmor_circulant_free(p->C);
    LMR_FREE(p->like, p->x, p->A);
}

/* How many samples are solved for at once: depends on the problem alone, so that maps do not depend on threads. */
static int count_together(const lmr_noisy *n, int samples)
{
    const lmr_scan_facts *facts = n->job->facts;
    const double size = (double)larmor_shape_count(lmr_grid_shape(&n->frames->grid)) * facts->coils;
    const int is_whole = !facts->block || facts->block >= facts->coils; /* else there is no memory for that, either */
    const int is_small = n->count == 1 && !facts->basis && is_whole && size <= MOST_TOGETHER;
    if (!is_small || !lmr_device_is_processor(facts->dev)) return 1;
    return samples < TOGETHER ? samples : TOGETHER;
}

static larmor_status open_problem(const lmr_noisy *n, double weight, int copies, problem *p)
{
    const lmr_job *job = n->job;
    const int image_ndim = lmr_grid_shape(&n->frames->grid).ndim;
    int toeplitz;
    *p = (problem){.copies = copies, .count = copies > 1 ? copies : n->count};
    LMR_ALLOCATE_ZEROS(p->frames, p->count);
    for (int i = 0; i < p->count; i++) p->frames[i] = n->frames[copies > 1 ? 0 : i];
    LMR_TRY(lmr_problem_circulant(job, n->frames, n->count, LARMOR_LAMBDA_FROM_CALLER, &p->C));
    LMR_TRY(lmr_problem_operator(job, p->frames, p->count, &p->A, &toeplitz));
    const larmor_shape in = larmor_op_in_shape(p->A);
    if (p->C) LMR_TRY(lmr_problem_inverse(p->C, weight, image_ndim, in, &p->M));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), in, &p->x));
    return larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), larmor_op_out_shape(p->A), &p->like);
}

/* Without memory for copies one sample is solved for after the other. */
static larmor_status open_any(const lmr_noisy *n, double weight, int samples, problem *p)
{
    const int copies = count_together(n, samples);
    const larmor_status st = open_problem(n, weight, copies, p);
    if (st != LARMOR_ERR_MEMORY || copies == 1) return st;
    close_problem(p);
    return open_problem(n, weight, 1, p);
}

typedef struct of_sample {
    const lmr_noisy *n;
    double **square, **real; /* real: squares of real parts alone; NULL: not needed */
} of_sample;

static larmor_status add_square(void *user, int image, const float *value)
{
    const of_sample *s = user;
    double *square = s->square[image];
    for (int64_t v = 0; v < s->n->voxels[image]; v++) {
        const double re = value[2 * v], im = value[2 * v + 1];
        square[v] += re * re + im * im;
        if (s->real) s->real[image][v] += re * re;
    }
    return LARMOR_OK;
}

/* ---- images that share a map ---- */

/* What a deviation is found by, beside trajectory and maps. */
static void key_of(const lmr_noisy *n, double weight, const lmr_noise_samples *how, double by[2])
{
    by[0] = weight > 0 ? floor(log(weight) / SAME_LOG_WEIGHT) : -INFINITY;
    by[1] = how->count + (how->averages ? 0.5 : 0) + (double)n->voxels[0] * LARMOR_MOST_NOISE_SAMPLES * 2;
}

/* A deviation in the unit of the samples' noise and of the image. */
static double unit_of(const lmr_noisy *n)
{
    return n->deviation * lmr_image_factor(n->job, &n->frames->encoding, &n->frames->grid);
}

static larmor_status take_shared(const lmr_noisy *n, const double by[2], double *deviation, int *shared)
{
    larmor_device *dev = n->job->facts->dev;
    lmr_cached *of = n->frames->cached;
    *shared = 0;
    if (n->count > 1 || n->images > 1 || !of) return LARMOR_OK;
    LMR_OWN(larmor_array, maps, lmr_cached_take(of, LMR_CACHED_MAPS, by, dev, &maps));
    LMR_OWN(larmor_array, kept, lmr_cached_take(of, LMR_CACHED_DEVIATION, by, dev, &kept));
    if (!kept || !maps || maps != n->job->found.maps.array || larmor_array_count(kept) != n->voxels[0])
        return LARMOR_OK;
    LMR_OWN_MEMORY(double, value, larmor_array_download(kept, LARMOR_F64, &value));
    for (int64_t v = 0; v < n->voxels[0]; v++) deviation[v] = value[v] * unit_of(n);
    *shared = 1;
    return LARMOR_OK;
}

static larmor_status share(const lmr_noisy *n, const double by[2], const double *deviation)
{
    LMR_HEAP double *value = NULL;
    lmr_cached *of = n->frames->cached;
    if (n->count > 1 || n->images > 1 || !of) return LARMOR_OK;
    value = malloc(((size_t)n->voxels[0] + 1) * sizeof *value);
    if (!value) return LMR_NO_MEMORY();
    for (int64_t v = 0; v < n->voxels[0]; v++) value[v] = deviation[v] / unit_of(n);
    LMR_OWN(
        larmor_array, kept,
        larmor_array_upload(n->job->facts->dev, LARMOR_F64, LARMOR_SHAPE(n->voxels[0]), LARMOR_F64, value, &kept));
    lmr_cached_put(of, LMR_CACHED_DEVIATION, by, kept);
    lmr_cached_put(of, LMR_CACHED_MAPS, by, n->job->found.maps.array);
    return LARMOR_OK;
}

/* ---- samples of noise ---- */

static larmor_status add_samples(const lmr_noisy *n, double weight, lmr_noise_samples *how, of_sample *each)
{
    const int samples = how->count;
    const double change = each->real ? MAX_REL_CHANGE_QUICK : MAX_REL_CHANGE;
    const larmor_solve_opts plain = {.max_iter = MOST_STEPS, .tol = -1, .lambda = weight, .relative = change};
    LMR_FREED_BY(close_problem) problem p = {.A = NULL};
    LMR_TRY(open_any(n, weight, samples, &p));
    LMR_HEAP LMR_NEW_ZEROS(larmor_array *, weights, p.count);
    for (int f = 0; f < p.count; f++) weights[f] = p.frames[f].weights;
    for (int i = 0; i < samples; i += p.copies) {
        const int count = samples - i < p.copies ? samples - i : p.copies;
        larmor_solve_opts opts = plain;
        larmor_report report;
        opts.precondition = p.M;
        LMR_TRY(lmr_noise_step(n, i, samples));
        LMR_OWN(larmor_array, e,
                lmr_like_data(n->job, p.frames, weights, p.count, p.like, LMR_SCAN_NOISE, n->deviation,
                              LMR_NOISE_SEED + (uint64_t)(i + 1) * (uint64_t)n->count, &e));
        LMR_TRY(larmor_zero(p.x));
        LMR_TRY(larmor_cg(p.A, e, p.x, &opts, &report));
        how->steps += report.iters;
        for (int c = 0; c < count; c++) {
            LMR_OWNED(larmor_array) *one = p.copies > 1 ? NULL : larmor_array_ref(p.x);
            if (!one) LMR_TRY(lmr_one_of(p.x, c, &one));
            LMR_TRY(lmr_noise_each_image(n, n->frames, one, add_square, each));
        }
    }
    return LARMOR_OK;
}

static larmor_status average_all(const lmr_noisy *n, double *const *unit, double *const *real, double **square,
                                 double *width)
{
    for (int i = 0; i < n->images; i++)
        LMR_TRY(lmr_noise_average(n, i, unit ? unit[i] : NULL, real[i], square[i], i ? NULL : width));
    return LARMOR_OK;
}

larmor_status lmr_noise_linear(const lmr_noisy *n, lmr_noise_samples *how, double *const *unit, double **deviation)
{
    const double weight = lmr_scaled_weight(n->job, n->report);
    of_sample each = {n, deviation, NULL};
    double by[2];
    key_of(n, weight, how, by);
    LMR_TRY(take_shared(n, by, deviation[0], &how->shared));
    how->left_out = !how->shared && !how->may_take;
    if (how->shared || how->left_out) return LARMOR_OK;
    larmor_status st = how->averages ? lmr_noisy_room(n, 1, &each.real) : LARMOR_OK;
    if (!st) st = add_samples(n, weight, how, &each);
    if (!st && how->averages) st = average_all(n, unit, each.real, deviation, &how->width);
    lmr_free_each((void **)each.real, n->images);
    LMR_TRY(st);
    for (int i = 0; i < n->images; i++)
        for (int64_t v = 0; v < n->voxels[i]; v++) deviation[i][v] = sqrt(deviation[i][v] / (2. * how->count));
    return share(n, by, deviation[0]);
}
