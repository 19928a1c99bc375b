/* What a reconstruction makes of a small change of the object: the height that a point keeps, and its width.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "noise/repeat.h"
#include "pipeline/problem.h"
#include "schedule/state.h"

enum {
    DEFAULT_PROBES = 4,
    SPACING = 8,            /* voxels from a point to the next one along each axis */
    REACH = SPACING / 2 - 1 /* voxels around a point that its width is found from */
};
#define DEFAULT_CONTRAST 0.1
/* Where a point keeps less of its height there is no width to speak of. */
#define LEAST_HEIGHT 0.05

typedef struct probing {
    const lmr_noisy *n;
    lmr_repeat repeat;
    larmor_array **more; /* [frames], what is added to their samples; NULL: nothing yet */
    double *intensity;   /* [images], of the object */
    double contrast;
    int probes, probe;
    double **base;                   /* [images], complex: the image without a change */
    const float *changed;            /* the image of a probe */
    double **height, **sum, **count; /* [images], of the points there */
} probing;

/* ---- points ---- */

/* Of image i. */
static void sizes_of(const lmr_noisy *n, int i, int64_t size[3])
{
    for (int d = 0; d < 3; d++) size[d] = d < n->frames[i].grid.ndim ? n->frames[i].grid.crop[d] : 1;
}

/* The points of a probe lie on a lattice; those of further probes are between them. Source of the steps: the roots of
 * x^(d + 1) = x + 1, whose multiples fill a cube of d dimensions evenly (Roberts, The unreasonable effectiveness of
 * quasirandom sequences, 2018). */
static int64_t offset_of(int probe, int axis, int ndim)
{
    static const double root[3] = {1.6180339887, 1.3247179572, 1.2207440846};
    const double step = pow(root[ndim - 1], -(axis + 1.0));
    return (int64_t)fmod(SPACING * (0.5 + step * probe), SPACING);
}

/* Neighbours of either sign do not add up. */
static double sign_of(int64_t voxel, int probe)
{
    uint64_t x = (uint64_t)voxel * 0x9e3779b97f4a7c15u + (uint64_t)(probe + 1) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x >> 63 ? 1 : -1;
}

typedef void (*at_point)(probing *p, int image, const int64_t at[3], int64_t voxel, void *user);

static void each_point(probing *p, int image, at_point call, void *user)
{
    const int ndim = p->n->frames[image].grid.ndim;
    int64_t size[3], first[3] = {0}, at[3];
    sizes_of(p->n, image, size);
    for (int d = 0; d < ndim; d++) first[d] = offset_of(p->probe, d, ndim);
    for (at[2] = first[2]; at[2] < size[2]; at[2] += SPACING)
        for (at[1] = first[1]; at[1] < size[1]; at[1] += SPACING)
            for (at[0] = first[0]; at[0] < size[0]; at[0] += SPACING)
                call(p, image, at, at[0] + size[0] * (at[1] + size[1] * at[2]), user);
}

/* The image's phase at a voxel, 1 where it is zero. */
static void phase_at(const probing *p, int image, int64_t voxel, double phase[2])
{
    const double *x = p->base[image] + 2 * voxel, size = hypot(x[0], x[1]);
    phase[0] = size > 0 ? x[0] / size : 1;
    phase[1] = size > 0 ? x[1] / size : 0;
}

/* ---- what is added to the samples ---- */

/* user: of the job's grid. */
static void put_point(probing *p, int image, const int64_t at[3], int64_t voxel, void *user)
{
    const lmr_frame *frame = &p->n->frames[image];
    const larmor_grid *grid = &frame->grid;
    const double factor = lmr_image_factor(p->n->job, &frame->encoding, grid);
    const double size = p->contrast * p->intensity[image] / factor * sign_of(voxel, p->probe);
    double *change = user, phase[2];
    int64_t place = 0, stride = 1;
    for (int d = 0; d < grid->ndim; d++) {
        place += stride * (at[d] - grid->crop[d] / 2 + grid->matrix[d] / 2);
        stride *= grid->matrix[d];
    }
    phase_at(p, image, voxel, phase);
    change[2 * place] = size * phase[0];
    change[2 * place + 1] = size * phase[1];
}

/* What the change of all images is in the samples of their frames. */
static larmor_status model_change(probing *p, larmor_array **samples)
{
    const lmr_noisy *n = p->n;
    lmr_scan_facts facts = *n->job->facts;
    lmr_job job = *n->job;
    LMR_HEAP lmr_frame *frames = calloc((size_t)n->count, sizeof *frames);
    LMR_OWNED(larmor_array) *change = NULL;
    int toeplitz;
    if (!frames) return LMR_NO_MEMORY();
    facts.toeplitz = -1; /* the normal map is not needed */
    job.facts = &facts;
    for (int i = 0; i < n->count; i++) {
        frames[i] = n->frames[i];
        frames[i].weights = NULL; /* of the data term, not of the samples */
        frames[i].phase = NULL;
        frames[i].has_phase = 0;
        frames[i].cached = NULL;
    }
    LMR_OWN(larmor_op, A, lmr_problem_operator(&job, frames, n->count, &A, &toeplitz));
    const int64_t count = larmor_shape_count(larmor_op_in_shape(A)), each = count / n->count;
    LMR_HEAP LMR_NEW_ZEROS(double, value, 2 * (count + 1));
    for (int i = 0; i < n->images; i++) each_point(p, i, put_point, value + 2 * each * i);
    LMR_TRY(larmor_array_upload(facts.dev, larmor_op_dtype(A), larmor_op_in_shape(A), LARMOR_C128, value, &change));
    LMR_TRY(larmor_array_create(facts.dev, larmor_op_dtype(A), larmor_op_out_shape(A), samples));
    return larmor_op_forward(A, change, *samples);
}

static larmor_status make_more(probing *p, int frame)
{
    const larmor_array *like = p->n->frames[frame].samples.kspace;
    LMR_TRY(larmor_array_create(p->n->job->facts->dev, larmor_array_dtype(like), larmor_array_shape(like),
                                &p->more[frame]));
    return larmor_zero(p->more[frame]);
}

/* Without a probe nothing is added. */
static larmor_status fill_more(probing *p)
{
    int64_t first = 0;
    for (int f = 0; f < p->n->count; f++) LMR_TRY(make_more(p, f));
    if (p->probe < 0) return LARMOR_OK;
    LMR_OWN(larmor_array, samples, model_change(p, &samples));
    LMR_OWN(larmor_array, line, larmor_array_reshape(samples, LARMOR_SHAPE(larmor_array_count(samples)), &line));
    for (int f = 0; f < p->n->count; f++) {
        const int64_t count = larmor_array_count(p->more[f]);
        LMR_OWN(larmor_array, part, larmor_array_slice(line, first, count, &part));
        LMR_OWN(larmor_array, to, larmor_array_reshape(p->more[f], LARMOR_SHAPE(count), &to));
        LMR_OWN(larmor_array, same, larmor_array_convert(part, larmor_array_dtype(to), &same));
        LMR_TRY(larmor_copy(same, to));
        first += count;
    }
    return LARMOR_OK;
}

/* ---- what becomes of the points ---- */

static void measure_point(probing *p, int image, const int64_t at[3], int64_t voxel, void *user)
{
    const float *changed = p->changed;
    const double *base = p->base[image], size = p->contrast * p->intensity[image] * sign_of(voxel, p->probe);
    double phase[2], sum = 0;
    (void)user;
    int64_t all[3], low[3], high[3];
    sizes_of(p->n, image, all);
    phase_at(p, image, voxel, phase);
    for (int d = 0; d < 3; d++) {
        low[d] = at[d] > REACH ? at[d] - REACH : 0;
        high[d] = at[d] + REACH < all[d] ? at[d] + REACH : all[d] - 1;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t x = low[0]; x <= high[0]; x++) {
                const int64_t v = x + all[0] * (y + all[1] * z);
                const double re = changed[2 * v] - base[2 * v], im = changed[2 * v + 1] - base[2 * v + 1];
                const double along = (re * phase[0] + im * phase[1]) / size;
                sum += along;
                if (v == voxel) p->height[image][voxel] += along;
            }
    p->sum[image][voxel] += sum;
    p->count[image][voxel] += 1;
}

static larmor_status take_image(void *user, int image, const float *value)
{
    probing *p = user;
    if (p->probe < 0) {
        for (int64_t i = 0; i < 2 * p->n->voxels[image]; i++) p->base[image][i] = value[i];
        return LARMOR_OK;
    }
    p->changed = value;
    each_point(p, image, measure_point, NULL);
    return LARMOR_OK;
}

static larmor_status solve_probe(probing *p)
{
    larmor_status st = lmr_noise_step(p->n, p->probe + 1, p->probes + 1);
    if (!st) st = fill_more(p);
    if (!st) st = lmr_repeat_solve(p->n, &p->repeat, p->more, take_image, p);
    for (int f = 0; f < p->n->count; f++) LMR_CLEAR(p->more[f]);
    return st;
}

/* ---- maps ---- */

/* x <- its convolution along an axis, of `stride` numbers from one to the next, with exp(-t^2 / (2 sigma^2)). */
static void blur_axis(double *x, int64_t voxels, int64_t size, int64_t stride, double sigma, double *line)
{
    const int64_t reach = (int64_t)ceil(3 * sigma);
    for (int64_t v = 0; v < voxels; v++) {
        if (v / stride % size) continue;
        for (int64_t i = 0; i < size; i++) line[i] = x[v + i * stride];
        for (int64_t i = 0; i < size; i++) {
            double sum = 0;
            for (int64_t j = i > reach ? i - reach : 0; j < size && j <= i + reach; j++)
                sum += line[j] * exp(-(double)((i - j) * (i - j)) / (2 * sigma * sigma));
            x[v + i * stride] = sum;
        }
    }
}

/* Means of the points around each voxel, nearer ones counting more. */
static larmor_status blur(const probing *p, int image, double *x)
{
    const int ndim = p->n->frames[image].grid.ndim;
    const double sigma = fmax(1, SPACING / 2. * pow(p->probes, -1. / ndim));
    int64_t size[3], stride = 1, longest = 0;
    sizes_of(p->n, image, size);
    for (int d = 0; d < 3; d++) longest = size[d] > longest ? size[d] : longest;
    LMR_HEAP LMR_NEW(double, line, longest);
    for (int d = 0; d < ndim; stride *= size[d++]) blur_axis(x, p->n->voxels[image], size[d], stride, sigma, line);
    return LARMOR_OK;
}

/* height and sum become the height and the width. */
static larmor_status finish_image(const probing *p, int image)
{
    double *height = p->height[image], *width = p->sum[image], *count = p->count[image];
    LMR_TRY(blur(p, image, height));
    LMR_TRY(blur(p, image, width));
    LMR_TRY(blur(p, image, count));
    for (int64_t v = 0; v < p->n->voxels[image]; v++) {
        const double area = fmax(0, width[v] / height[v]);
        height[v] = count[v] > 0 ? height[v] / count[v] : 0;
        width[v] = height[v] > LEAST_HEIGHT ? pow(area, 1. / p->n->frames[image].grid.ndim) : 0;
    }
    return LARMOR_OK;
}

static double median_in_object(const probing *p, const double *map)
{
    const lmr_noisy *n = p->n;
    const double least = lmr_noisy_object(n, 0);
    LMR_HEAP double *value = malloc(((size_t)n->voxels[0] + 1) * sizeof *value);
    int64_t count = 0;
    for (int64_t v = 0; v < n->voxels[0] && value; v++)
        if (lmr_noisy_size(n, 0, v) > least) value[count++] = map[v];
    return count ? lmr_median_f64(value, count) : 0;
}

static larmor_status find_intensities(probing *p)
{
    const lmr_noisy *n = p->n;
    for (int i = 0; i < n->images; i++) {
        const double least = lmr_noisy_object(n, i);
        LMR_HEAP double *size = malloc(((size_t)n->voxels[i] + 1) * sizeof *size);
        int64_t count = 0;
        if (!size) return LMR_NO_MEMORY();
        for (int64_t v = 0; v < n->voxels[i]; v++)
            if (lmr_noisy_size(n, i, v) > least) size[count++] = lmr_noisy_size(n, i, v);
        p->intensity[i] = count ? lmr_median_f64(size, count) : 0;
        LMR_REFUSE(!(p->intensity[i] > 0), LARMOR_ERR_NUMERIC, "response: image %d is zero", i);
    }
    return LARMOR_OK;
}

static void free_probing(probing *p)
{
    lmr_free_each((void **)p->base, p->n->images);
    lmr_free_each((void **)p->height, p->n->images);
    lmr_free_each((void **)p->sum, p->n->images);
    lmr_free_each((void **)p->count, p->n->images);
    LMR_FREE(p->intensity, p->more);
    lmr_repeat_free(&p->repeat);
}

static larmor_status find_responses(probing *p)
{
    const lmr_noisy *n = p->n;
    p->intensity = calloc((size_t)n->images, sizeof *p->intensity);
    p->more = calloc((size_t)n->count, sizeof(larmor_array *));
    if (!p->intensity || !p->more) return LMR_NO_MEMORY();
    LMR_TRY(lmr_noisy_room(n, 2, &p->base));
    LMR_TRY(lmr_noisy_room(n, 1, &p->height));
    LMR_TRY(lmr_noisy_room(n, 1, &p->sum));
    LMR_TRY(lmr_noisy_room(n, 1, &p->count));
    LMR_TRY(find_intensities(p));
    LMR_TRY(lmr_repeat_begin(n, &p->repeat));
    for (p->probe = -1; p->probe < p->probes; p->probe++) LMR_TRY(solve_probe(p));
    for (int i = 0; i < n->images; i++) LMR_TRY(finish_image(p, i));
    return LARMOR_OK;
}

static larmor_status take_maps(const probing *p, const larmor_recon_result *result, larmor_response_maps *maps)
{
    const lmr_noisy *n = p->n;
    LMR_ALLOCATE_ZEROS(maps->map, n->images);
    maps->count = n->images;
    for (int i = 0; i < n->images; i++) {
        LMR_TRY(lmr_noisy_upload(&result->image[i], p->height[i], &maps->map[i].height));
        LMR_TRY(lmr_noisy_upload(&result->image[i], p->sum[i], &maps->map[i].width));
    }
    maps->height = median_in_object(p, p->height[0]);
    maps->width = median_in_object(p, p->sum[0]);
    return LARMOR_OK;
}

static larmor_status make_maps(const lmr_noisy *n, const larmor_recon_result *result, int probes, double contrast,
                               larmor_response_maps *maps)
{
    const double began = lmr_seconds();
    LMR_FREED_BY(free_probing) probing p = {.n = n, .probes = probes, .contrast = contrast};
    LMR_TRY(find_responses(&p));
    LMR_TRY(take_maps(&p, result, maps));
    lmr_log(n->job->events,
            "point response: of points of %.3g %% of the object's intensity the image shows %.3g %% of the height, "
            "%.3g voxels wide, in the median over the object (%d probes, %.3g s)",
            100 * contrast, 100 * maps->height, maps->width, probes, lmr_seconds() - began);
    return LARMOR_OK;
}

static larmor_status check_opts(const larmor_recon *recon, int probes, double contrast)
{
    LMR_REFUSE(probes < 1 || probes > LARMOR_MOST_PROBES, LARMOR_ERR_ARG, "response.probes: %d is not from 1 to %d",
               probes, LARMOR_MOST_PROBES);
    LMR_REFUSE(!(contrast > 0) || isinf(contrast), LARMOR_ERR_ARG,
               "response.contrast: %g, expected a finite number above 0", contrast);
    LMR_REFUSE(recon->facts.basis || recon->facts.sets, LARMOR_ERR_ARG, "response: images by %s have no such maps",
               recon->facts.basis ? "coefficients of a basis" : "several sets of coil maps");
    return LARMOR_OK;
}

larmor_status larmor_recon_response(larmor_recon *recon, int series, const larmor_recon_result *result,
                                    const larmor_response_opts *opts, larmor_response_maps *maps)
{
    LMR_NEED(maps);
    *maps = (larmor_response_maps){.count = 0};
    LMR_NEED(recon && result);
    const int probes = opts && opts->probes ? opts->probes : DEFAULT_PROBES;
    const double contrast = opts && opts->contrast != 0 ? opts->contrast : DEFAULT_CONTRAST;
    LMR_TRY(check_opts(recon, probes, contrast));
    LMR_TRY(lmr_noisy_check("response", recon, series, result));
    lmr_job job = lmr_noisy_job(recon, result);
    lmr_noisy n;
    larmor_status st = lmr_noisy_open(&job, recon, series, result, &n);
    if (!st) st = make_maps(&n, result, probes, contrast, maps);
    lmr_noisy_close(&n);
    if (st) larmor_response_maps_free(maps);
    return st;
}

void larmor_response_maps_free(larmor_response_maps *maps)
{
    if (!maps) return;
    for (int i = 0; i < maps->count; i++) LMR_FREE(maps->map[i].height, maps->map[i].width);
    free(maps->map);
    *maps = (larmor_response_maps){.count = 0};
}
