/* What a job knows of its scan, and values that follow from its options. SPDX-License-Identifier: Apache-2.0 */
#include "scan/job.h"

#include "core/core.h"
#include "core/ranks/ranks.h"

/* Exponents of two. Within the first the sums of squares of any scan stay well inside single precision; beyond the
 * second the factor itself would not be a normal number of it. */
enum { HARMLESS = 30, MOST = 120 };

static int is_harmless(double magnitude)
{
    return magnitude > 0 && isfinite(magnitude) && abs(ilogb(magnitude)) <= HARMLESS;
}

void lmr_scale_begin(lmr_job *job)
{
    if (!job->found.follow.image) lmr_scale_take(job, job->facts->noise_scale);
}

/* The energies of whitened samples are in units of the noise's. */
void lmr_scale_take(lmr_job *job, double scale)
{
    job->found.scale = scale;
    job->events->energy = job->facts->noise_scale > 0 || !(scale > 0) ? 1 : 1 / (scale * scale);
}

/* By the root mean square of the samples, and of noise, before it whitens. */
static larmor_status choose_scale(lmr_job *job, const larmor_array *samples)
{
    double size, count;
    lmr_scale_take(job, 1);
    if (is_harmless(job->facts->info.magnitude)) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(samples, &size));
    LMR_TRY(lmr_count_all(samples, &count));
    const double magnitude = size / sqrt(count);
    if (!(magnitude > 0) || !isfinite(magnitude) || is_harmless(magnitude)) return LARMOR_OK;
    const int exponent = ilogb(magnitude);
    lmr_scale_take(job, ldexp(1, -(exponent > 0 ? (int)fmin(exponent, MOST) : (int)fmax(exponent, -MOST))));
    return LARMOR_OK;
}

larmor_status lmr_scale_samples(lmr_job *job, larmor_array *samples)
{
    if (job->found.scale == 0) LMR_TRY(choose_scale(job, samples));
    return job->found.scale == 1 ? LARMOR_OK : larmor_axpby(job->found.scale, samples, 0, samples);
}

/* Samples that are whitened by a noise scan are in units of its noise, which was scaled like them; given maps are
 * whitened like samples, and take that unit out again. */
double lmr_unscaled_image(const lmr_job *job)
{
    return (job->facts->whitening && !job->facts->given ? job->facts->noise_unit : 1) / job->found.scale;
}

/* With A of whitened given maps, which are 1 / scale of what they would be, the data are the same and the image is
 * scaled; without whitening the data and the image are. */
void lmr_unscale_report(const lmr_job *job, larmor_recon_report *report)
{
    const double scale = job->found.scale;
    const int penalty = job->found.method.kind == LMR_METHOD_REGULARISED; /* of degree 1 */
    double weight = 1;
    if (scale == 1 || (job->facts->whitening && !job->facts->given)) return;
    if (job->facts->whitening) {
        weight = penalty ? scale : scale * scale;
        report->largest *= scale * scale;
    } else {
        weight = penalty ? 1 / scale : 1;
        report->noise /= scale;
        report->solver.objective /= scale * scale;
    }
    report->weight *= weight;
    report->choice.weight *= weight;
}

double lmr_scaled_weight(const lmr_job *job, const larmor_recon_report *report)
{
    larmor_recon_report one = {.weight = 1};
    lmr_unscale_report(job, &one);
    return report->weight / one.weight;
}

double lmr_scaled_noise(const lmr_job *job, const lmr_frame *frame, const larmor_recon_report *report)
{
    larmor_recon_report one = {.noise = 1};
    lmr_unscale_report(job, &one);
    return report->noise / one.noise * frame->cartesian.deviation;
}

int lmr_chooses(const lmr_job *job)
{
    const lmr_method_kind kind = job->found.method.kind;
    return kind != LMR_METHOD_GRID && kind != LMR_METHOD_NLINV &&
           job->settings->opts.lambda_mode == LARMOR_LAMBDA_AUTO && !job->facts->no_choice;
}

larmor_shape lmr_grid_shape(const larmor_grid *grid)
{
    return larmor_shape_of(grid->ndim, grid->matrix);
}

int lmr_job_resolves_lambda(const lmr_job *job)
{
    const larmor_recon_opts *o = &job->settings->opts;
    return job->found.method.kind != LMR_METHOD_CG || o->lambda_mode != LARMOR_LAMBDA_RELATIVE ||
           !(o->lambda > 0 && o->lambda < LMR_SINGLE_LAMBDA);
}

larmor_dtype lmr_job_precision(const lmr_job *job)
{
    const double eps = job->settings->eps;
    return (eps > 0 && eps < 1e-6) || !lmr_job_resolves_lambda(job) ? LARMOR_C128 : LARMOR_C64;
}

int64_t lmr_normals(const lmr_job *job)
{
    const int64_t usual = 30;
    const int64_t iters = job->settings->opts.iters ? job->settings->opts.iters : usual;
    const int64_t searched = lmr_chooses(job) ? 2 * iters : iters;
    return job->found.method.kind == LMR_METHOD_REGULARISED ? 3 * searched : searched;
}

/* Where it is not chosen: frames resemble each other more than voxels do (docs/dynamics.md). */
#define DEFAULT_TIME_WEIGHT 4

/* Voxels that are no neighbours: a difference between them costs next to nothing. */
#define DISTANCE_APART 1e6
/* Of the sides of a voxel: more is a field of view that does not belong to the matrix rather than a thick slice. */
#define MAX_SIDES_RATIO 8

int lmr_voxel_sides(const larmor_grid *grid, double side[3])
{
    double shortest = INFINITY, longest = 0;
    for (int d = 0; d < grid->ndim; d++) {
        side[d] = grid->fov_mm[d] / (double)grid->matrix[d];
        if (grid->apart[d]) continue;
        shortest = fmin(shortest, side[d]);
        longest = fmax(longest, side[d]);
    }
    const int believed = longest <= MAX_SIDES_RATIO * shortest;
    for (int d = 0; d < grid->ndim; d++) {
        if (!believed) side[d] = 1;
        if (grid->apart[d]) side[d] = DISTANCE_APART * (believed ? shortest : 1);
    }
    return believed;
}

larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames, const larmor_grid *grid)
{
    /* the images of several sets of maps or of coils, and coefficients, are frames that nothing couples in time */
    const int apart = job->facts->sets || job->facts->basis || lmr_solves_coils(job);
    larmor_regulariser_opts opts = {.series = frames > 1 || apart,
                                    .time = apart ? -1 : job->settings->opts.time_weight};
    if (opts.time == 0) opts.time = DEFAULT_TIME_WEIGHT;
    if (job->settings->opts.lambda_mode == LARMOR_LAMBDA_RELATIVE)
        opts.lambda = job->settings->opts.lambda > 0 ? job->settings->opts.lambda : -1;
    for (int d = 0; d < 3; d++) opts.block[d] = job->settings->opts.llr_block;
    const larmor_raw_info *info = &job->facts->info;
    const int dims[2] = {info->bins[0], job->settings->is_split ? 1 : info->bins[1]};
    const int bins = dims[0] * dims[1];
    for (int d = 0; d < 2 && bins && frames % bins == 0 && !apart; d++) {
        opts.frames[d] = dims[d];
        opts.letter[d] = info->bins_letter[d];
    }
    if (opts.frames[0]) opts.frames[2] = frames / bins;
    lmr_voxel_sides(grid, opts.voxel);
    return opts;
}

larmor_status lmr_each_set(const lmr_job *job, larmor_array *x,
                           larmor_status (*change)(const larmor_array *maps, larmor_array *x))
{
    if (!job->facts->sets) return change(job->found.maps.array, x);
    for (int m = 0; m < job->facts->sets; m++) {
        LMR_OWN(larmor_array, maps, lmr_one_of(job->found.maps.array, m, &maps));
        LMR_OWN(larmor_array, image, lmr_one_of(x, m, &image));
        LMR_TRY(change(maps, image));
    }
    return LARMOR_OK;
}

int lmr_joint(const lmr_job *job, const larmor_group *a, const larmor_group *b)
{
    return job->settings->joint && a->encoding == b->encoding && a->slice == b->slice && a->set == b->set &&
           (!job->settings->is_split || a->repetition == b->repetition);
}

int lmr_solves_coils(const lmr_job *job)
{
    return job->found.method.kind == LMR_METHOD_REGULARISED && job->found.method.takes & LARMOR_OF_COILS;
}

int lmr_unknowns(const lmr_job *job, int frames)
{
    if (lmr_solves_coils(job)) return job->facts->coils;
    return job->facts->basis ? (int)larmor_array_shape(job->facts->basis).dim[1] : frames;
}

int lmr_outputs(const lmr_job *job, int frames)
{
    return job->settings->opts.basis_frames || lmr_solves_coils(job) ? frames : lmr_unknowns(job, frames);
}

larmor_status lmr_describe_image(const lmr_job *job, int first, int i, larmor_recon_image *image)
{
    const larmor_grid *grid = &job->facts->grid[image->group];
    const int coefficient = job->facts->basis && !job->settings->opts.basis_frames;
    LMR_TRY(lmr_source_meta(job->facts->source, coefficient ? first : image->group, &image->meta));
    if (coefficient) image->meta.contrast = i;
    for (int d = 0; d < grid->ndim; d++)
        image->meta.fov_mm[d] = grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
    return LARMOR_OK;
}

int lmr_shares_coils(const lmr_job *job, int devices)
{
    return job->facts->coils >= devices && !job->facts->sets && !job->facts->physics && !job->facts->basis &&
           !job->settings->opts.no_maps && !job->settings->opts.motion && !job->settings->opts.motion_states;
}

int lmr_spreads_series(const lmr_job *job, int series)
{
    const int members = larmor_device_members(job->facts->dev);
    return members > 1 && series > 1 && (series >= members || !lmr_shares_coils(job, members));
}

int lmr_maps_group(const lmr_job *job)
{
    return job->found.maps.array || job->found.maps.elsewhere ? job->found.maps.from : -1;
}

/* ---- what was found ---- */

lmr_found lmr_found_ref(const lmr_found *found)
{
    larmor_array_ref(found->maps.array);
    larmor_array_ref(found->maps.eigenvalues);
    larmor_array_ref(found->density.weights);
    larmor_array_ref(found->follow.image);
    lmr_found same = *found;
    same.follow.series = NULL;
    return same;
}

lmr_found lmr_found_without_arrays(const lmr_found *found)
{
    lmr_found without = *found;
    without.maps.array = without.maps.eigenvalues = without.density.weights = without.follow.image = NULL;
    without.follow.series = NULL;
    return without;
}

larmor_status lmr_found_copy(const lmr_found *found, larmor_device *dev, lmr_found *copy)
{
    const lmr_found_maps *maps = &found->maps;
    *copy = lmr_found_without_arrays(found);
    if (maps->array) LMR_TRY(larmor_array_to(maps->array, dev, &copy->maps.array));
    return maps->eigenvalues ? larmor_array_to(maps->eigenvalues, dev, &copy->maps.eigenvalues) : LARMOR_OK;
}

void lmr_found_free(lmr_found *found)
{
    LMR_FREE(found->maps.array, found->maps.eigenvalues, found->density.weights, found->follow.image);
    larmor_nlinv_series_free(found->follow.series);
    *found = (lmr_found){.weight_conditions = {.known = 0}};
}

int lmr_may_fill(const lmr_job *job)
{
    return job->settings->opts.partial_fourier != LARMOR_PARTIAL_ZERO && !job->settings->constraint &&
           !job->settings->opts.prior && !job->facts->sets && !job->facts->basis && !job->settings->opts.motion &&
           !job->settings->opts.motion_states && !lmr_solves_coils(job);
}

/* y = A x counts voxels; the density in the unit of the encoded field of view does not depend on the matrix. */
double lmr_image_factor(const lmr_job *job, const larmor_encoding *enc, const larmor_grid *grid)
{
    double scale = lmr_unscaled_image(job);
    if (job->settings->opts.scale == LARMOR_SCALE_SUM) return scale;
    for (int d = 0; d < grid->ndim; d++)
        if (!grid->apart[d]) scale *= enc->fov_mm[d] * (double)grid->matrix[d] / grid->fov_mm[d];
    return scale;
}

/* ---- what is known of the scan ---- */

static larmor_status copy_array(const larmor_array *from, larmor_device *dev, larmor_array **to)
{
    return from ? larmor_array_to(from, dev, to) : LARMOR_OK;
}

larmor_status lmr_scan_facts_copy(const lmr_scan_facts *facts, larmor_device *dev, lmr_scan_facts *copy)
{
    *copy = *facts;
    copy->is_copy = 1;
    copy->source = larmor_source_ref(facts->source);
    copy->dev = lmr_device_ref(dev);
    copy->physics = NULL;
    copy->whitening = copy->colouring = copy->compression = copy->given = copy->basis = NULL;
    LMR_TRY(copy_array(facts->whitening, dev, &copy->whitening));
    LMR_TRY(copy_array(facts->colouring, dev, &copy->colouring));
    LMR_TRY(copy_array(facts->compression, dev, &copy->compression));
    LMR_TRY(copy_array(facts->given, dev, &copy->given));
    return copy_array(facts->basis, dev, &copy->basis);
}

void lmr_scan_facts_free(lmr_scan_facts *facts)
{
    LMR_FREE(facts->whitening, facts->colouring, facts->compression, facts->given, facts->basis);
    larmor_source_free(facts->source);
    larmor_device_free(facts->dev);
    if (!facts->is_copy) free(facts->grid);
    if (!facts->is_copy) free(facts->delays);
    *facts = (lmr_scan_facts){.source = NULL};
}
