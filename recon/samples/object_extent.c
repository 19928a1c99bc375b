/* How far beyond the field of view the object in the data reaches.
 *
 * The centre of k-space is sampled densely enough to tell. An image of low resolution on the field of view is
 * fitted to it, each coil by itself; what an object inside leaves over is noise, while an object outside leaves
 * signal, which appears where it comes from when it is gridded onto a larger field of view. Sampling that cannot
 * tell outside from inside, such as Cartesian lines along the phase encoding or too few spokes, lets the fit
 * explain everything. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

enum {
    COILS = 6,  /* virtual coils at most */
    NOISES = 3, /* channels of noise alone beside them */
    MOST = 2    /* the largest factor by default */
};

enum {
    LEAST_SIDE = 8,    /* voxels of an axis */
    DENSITY_ITERS = 5, /* by which the fit weighs samples; rough weights do, as fits are compared with each other */
    FIT_ITERS = 12,
    STEPS = 12, /* factors that are tried, from the smallest */
};

static const double off_lattice = 1e-3; /* in 1/FOV: places of partitions are equal but for rounding */
static const double slab = 0.125,       /* of the field of view: noise is measured in slabs of this width */
    sure_of_any = 5, sure_of_more = 2,  /* standard deviations of noise */
    least_excess = 0.5, /* over noise, or over what is spread like noise: errors of the trajectory, motion */
    least_step = 0.05, largest_step = 0.2, /* of a factor */
    margin = 0.5,  /* of the larger field of view: beyond what is looked for, so that noise shows */
    finer = 1.5,   /* voxels than the samples ask for, so that the edges of k-space fit, too */
    as_much = 0.5, /* of the signal beyond the axis that has most: axes with more are enlarged in one step */
    most_of_it = 0.8, rest = 0.5; /* of signal outside that one step takes in; of what may be left at the end */

/* Of the squared misfit beyond noise, what a larger field of view may leave: .015 at most of 10 spokes and spirals
 * of objects that are wider, .2 to 1.1 of delays, off-resonance and motion that appear outside, as well; and of
 * the noise, which is known about so well. */
static const double most_left = 0.15, noise_left = 0.1;
/* Of the squared misfit two steps before: objects that are too wide leave .05 to .55 of it, others .85 and more. */
static const double most_left_by_two = 0.8;

typedef struct search {
    larmor_extent_opts opts;
    lmr_centre centre;
    int64_t coils, channels;      /* virtual ones; with NOISES more of noise alone */
    int along[3];                 /* 1: to look along this axis */
    double *k, *root;             /* host: [nd, m] points; [m] roots of the weights */
    larmor_array *weights, *data; /* f64 [m]; c64 [m, coils], times the root of the weights */
    larmor_array *left, *image;   /* what a fit leaves over; on the larger field of view */
    larmor_op *root_weights, *gridding;
    double reach;              /* of the larger field of view, in units of the field of view */
    int64_t side[3];           /* its voxels */
    double *row[3], *noise[3]; /* energy of its rows along each axis, and what it would be of noise */
    double unexplained;        /* part of pure noise that the last fit left over */
    double misfit;             /* |left| / |data| of the coils, of the last fit */
    double noise_part;         /* energy of the noise over that of the data */
    double inside;             /* energy of the data's own gridding within the field of view */
} search;

static void search_free(search *s)
{
    lmr_centre_free(&s->centre);
    LMR_FREE(s->root_weights, s->gridding, s->weights, s->data, s->left, s->image, s->k, s->root);
    for (int d = 0; d < 3; d++) LMR_FREE(s->row[d], s->noise[d]);
}

/* ---- sizes ---- */

static int64_t coils_kept(int64_t coils)
{
    return coils < COILS ? coils : COILS;
}

/* Of the centre of k-space that is looked at, along an axis. */
static double radius_along(larmor_shape image, int d)
{
    return fmin(image.ndim > 2 ? 10 : 20, (double)image.dim[d] / 2);
}

/* The image that has the resolution of this centre. */
static larmor_shape image_of(int nd, const double radius[3])
{
    larmor_shape image = {.ndim = nd};
    for (int d = 0; d < nd; d++) image.dim[d] = (int64_t)ceil(2 * radius[d]);
    return image;
}

/* Onto factor times the field of view: an odd number of voxels, as much on one side of the centre as on the other. */
static larmor_nufft_opts nufft_opts(int nd, const double radius[3], const double factor[3], int64_t channels)
{
    larmor_nufft_opts opts = {.type = 2, .ndim = nd, .batch = channels, .tol = 1e-4, .dtype = LARMOR_C64};
    for (int d = 0; d < nd; d++) opts.modes[d] = 2 * (int64_t)ceil(finer * radius[d] * factor[d]) + 1;
    return opts;
}

/* ---- the data ---- */

/* Points, weights and their roots on the host. */
static larmor_status weigh(search *s)
{
    lmr_centre *c = &s->centre;
    LMR_TRY(larmor_density_pipe(c->points, image_of(c->nd, c->radius), DENSITY_ITERS, &s->weights));
    LMR_TRY(larmor_array_download(c->points, LARMOR_F64, &s->k));
    LMR_TRY(larmor_array_download(s->weights, LARMOR_F64, &s->root));
    for (int64_t j = 0; j < c->m; j++) s->root[j] = sqrt(s->root[j]);
    return LARMOR_OK;
}

/* Mix the coils so that the first few hold nearly all energy, as the eigenvectors of their covariance say. */
static larmor_status compress(search *s, int64_t coils, larmor_array *all)
{
    const lmr_centre *c = &s->centre;
    const size_t bytes = (size_t)(coils * coils) * sizeof(double complex);
    LMR_HEAP double complex *v = malloc(2 * bytes);
    if (!v) return LMR_NO_MEMORY();
    double complex *W = v + coils * coils;
    LMR_OWN(larmor_array, vectors, larmor_array_create(c->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &vectors));
    LMR_OWN(larmor_array, values, larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(coils), &values));
    LMR_TRY(c->kernels->covariance(c->dev->ctx, c->m, coils, all->data, vectors->data));
    LMR_TRY(lmr_la_of(vectors)->heev(c->dev->ctx, coils, 1, 1, vectors->data, values->data));
    LMR_TRY(larmor_array_read(vectors, v, bytes));
    for (int64_t i = 0; i < coils; i++) /* the largest eigenvalue is the last */
        for (int64_t j = 0; j < coils; j++) W[i + j * coils] = conj(v[j + (coils - 1 - i) * coils]);
    LMR_TRY(larmor_array_write(vectors, W, bytes));
    LMR_OWN(larmor_array, mix, larmor_array_convert(vectors, all->dtype, &mix));
    return larmor_whiten(mix, all);
}

/* [m] times the root of the weights: white noise with this energy. */
static void fill_noise(const search *s, double energy, uint64_t *state, float complex *noise)
{
    double sum = 0;
    for (int64_t j = 0; j < s->centre.m; j++) {
        double part[2];
        for (int i = 0; i < 2; i++) { /* xorshift64* */
            *state ^= *state >> 12;
            *state ^= *state << 25;
            *state ^= *state >> 27;
            part[i] = (double)((*state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-52 - 1;
        }
        noise[j] = (float complex)(s->root[j] * (part[0] + I * part[1]));
        sum += pow(s->root[j], 2) * (part[0] * part[0] + part[1] * part[1]);
    }
    const float scale = sum > 0 ? (float)sqrt(energy / sum) : 0;
    for (int64_t j = 0; j < s->centre.m; j++) noise[j] *= scale;
}

/* The last channels of the data: noise alone, each as strong as a coil. */
static larmor_status add_noise(const search *s)
{
    double size = 0;
    uint64_t state = 1;
    LMR_HEAP LMR_NEW(float complex, noise, s->centre.m);
    LMR_TRY(larmor_nrm2(s->data, &size));
    for (int64_t c = s->coils; c < s->channels; c++) {
        fill_noise(s, size * size / (double)s->coils, &state, noise);
        LMR_OWN(larmor_array, to, larmor_array_slice(s->data, c, 1, &to));
        LMR_TRY(larmor_array_write(to, noise, (size_t)s->centre.m * sizeof *noise));
    }
    return LARMOR_OK;
}

static larmor_status gather(search *s, const larmor_array *kspace, int64_t coils)
{
    LMR_OWNED(larmor_array) *root = NULL, *all = NULL, *first = NULL, *in_single = NULL, *to = NULL;
    s->coils = coils_kept(coils);
    s->channels = s->coils + NOISES;
    LMR_TRY(larmor_array_upload(s->centre.dev, LARMOR_F64, LARMOR_SHAPE(s->centre.m), LARMOR_F64, s->root, &root));
    LMR_TRY(larmor_op_weights(root, LARMOR_C64, s->channels, &s->root_weights));
    LMR_TRY(lmr_centre_gather(&s->centre, root, kspace, coils, &all));
    if (coils > s->coils) LMR_TRY(compress(s, coils, all));
    LMR_TRY(larmor_array_slice(all, 0, s->coils, &first));
    LMR_TRY(larmor_array_convert(first, LARMOR_C64, &in_single));
    LMR_TRY(larmor_array_create(s->centre.dev, LARMOR_C64, LARMOR_SHAPE(s->centre.m, s->channels), &s->data));
    LMR_TRY(larmor_array_slice(s->data, 0, s->coils, &to));
    LMR_TRY(larmor_copy(in_single, to));
    return add_noise(s);
}

/* ---- grids ---- */

static larmor_status scaled_points(const search *s, const double factor[3], larmor_array **points)
{
    const int64_t nd = s->centre.nd, m = s->centre.m;
    LMR_HEAP LMR_NEW(double, scaled, nd *m);
    for (int64_t i = 0; i < nd * m; i++) scaled[i] = s->k[i] * factor[i % nd];
    return larmor_array_upload(s->centre.dev, LARMOR_F64, LARMOR_SHAPE(nd, m), LARMOR_F64, scaled, points);
}

static larmor_status nufft_of(const search *s, const double factor[3], larmor_op **F, larmor_op **normal)
{
    const larmor_nufft_opts opts = nufft_opts(s->centre.nd, s->centre.radius, factor, s->channels);
    LMR_OWN(larmor_array, points, scaled_points(s, factor, &points));
    LMR_TRY(larmor_op_nufft(s->centre.dev, &opts, points, F));
    if (normal) LMR_TRY(larmor_op_toeplitz(s->centre.dev, &opts, points, s->weights, normal));
    return LARMOR_OK;
}

/* ---- the larger field of view ---- */

/* Gridding with Hann's window against ringing. */
static larmor_status open_larger(search *s)
{
    const lmr_centre *c = &s->centre;
    const double larger[3] = {s->reach, s->reach, s->reach};
    LMR_OWNED(larmor_array) *taper = NULL;
    LMR_TRY(larmor_array_upload(c->dev, LARMOR_F64, LARMOR_SHAPE(c->m), LARMOR_F64, s->root, &taper));
    LMR_TRY(c->kernels->taper(c->dev->ctx, c->nd, c->m, c->points->data, c->radius, taper->data));
    LMR_OWN(larmor_op, F, nufft_of(s, larger, &F, NULL));
    LMR_OWN(larmor_op, W, larmor_op_weights(taper, LARMOR_C64, s->channels, &W));
    LMR_TRY(larmor_op_chain(W, F, &s->gridding));
    LMR_TRY(larmor_array_create(c->dev, LARMOR_C64, larmor_op_in_shape(F), &s->image));
    for (int d = 0; d < 3; d++) {
        s->side[d] = d < c->nd ? s->image->shape.dim[d] : 1;
        LMR_ALLOCATE_ZEROS(s->row[d], s->side[d]);
        LMR_ALLOCATE_ZEROS(s->noise[d], s->side[d]);
    }
    return LARMOR_OK;
}

/* Distance of a row from the centre, in units of the field of view. */
static double distance(const search *s, int d, int64_t row)
{
    return fabs((double)(row - s->side[d] / 2)) * s->reach / (double)s->side[d];
}

/* Add the energy of one channel's voxels to its rows along each axis, and to that within the field of view (NULL: not
 * asked), each in the order of the voxels. */
static void add_rows(const search *s, const float complex *x, double *const row[3], double *inside)
{
    double within = inside ? *inside : 0;
    for (int64_t k = 0; k < s->side[2]; k++) {
        double plane = row[2][k];
        for (int64_t j = 0; j < s->side[1]; j++, x += s->side[0]) {
            const int near = inside && distance(s, 1, j) <= .5 && distance(s, 2, k) <= .5;
            double line = row[1][j];
            for (int64_t i = 0; i < s->side[0]; i++) {
                const double energy = (double)(crealf(x[i]) * crealf(x[i]) + cimagf(x[i]) * cimagf(x[i]));
                row[0][i] += energy;
                line += energy;
                plane += energy;
                if (near && distance(s, 0, i) <= .5) within += energy;
            }
            row[1][j] = line;
        }
        row[2][k] = plane;
    }
    if (inside) *inside = within;
}

/* Energy of values, c64 [m, coils], when gridded: of every row, and within the field of view (NULL: not asked). */
static larmor_status grid(search *s, const larmor_array *values, double *inside)
{
    LMR_TRY(larmor_op_adjoint(s->gridding, values, s->image));
    LMR_OWN_MEMORY(float complex, x, larmor_array_download(s->image, LARMOR_C64, &x));
    double within = 0;
    for (int d = 0; d < 3; d++) {
        memset(s->row[d], 0, (size_t)s->side[d] * sizeof *s->row[d]);
        memset(s->noise[d], 0, (size_t)s->side[d] * sizeof *s->noise[d]);
    }
    for (int64_t c = 0; c < s->channels; c++) {
        const float complex *channel = x + c * s->side[0] * s->side[1] * s->side[2];
        if (c < s->coils)
            add_rows(s, channel, s->row, &within);
        else
            add_rows(s, channel, s->noise, NULL);
    }
    if (inside) *inside = within;
    return LARMOR_OK;
}

/* ---- fits ---- */

/* left <- what the best image on factor times the field of view leaves of the data. */
static larmor_status fit(search *s, const double factor[3])
{
    LMR_OWNED(larmor_op) *F = NULL, *WF = NULL, *normal = NULL, *A = NULL;
    const larmor_solve_opts solve = {.max_iter = FIT_ITERS, .tol = 1e-3};
    LMR_TRY(nufft_of(s, factor, &F, &normal));
    LMR_TRY(larmor_op_chain(s->root_weights, F, &WF));
    LMR_TRY(larmor_op_with_normal(WF, normal, &A));
    LMR_OWN(larmor_array, x, larmor_array_create(s->centre.dev, LARMOR_C64, larmor_op_in_shape(A), &x));
    const larmor_status solved = larmor_cg(A, s->data, x, &solve, NULL);
    if (solved != LARMOR_ERR_NUMERIC) LMR_TRY(solved); /* then x is the best there was */
    LMR_TRY(larmor_op_forward(A, x, s->left));
    return larmor_axpby(1, s->data, -1, s->left);
}

enum { MOST_SLABS = 128 };

/* The power of noise, or of whatever is spread like noise, in units of that of the channels of noise: the lower
 * quartile of all slabs outside the fit's field of view. */
static double noise_level(const search *s, const double factor[3])
{
    double level[MOST_SLABS];
    size_t slabs = 0;
    for (int d = 0; d < s->centre.nd; d++)
        for (double from = factor[d] / 2; from + slab <= s->reach / 2 && slabs < MOST_SLABS; from += slab) {
            double energy = 0, unit = 0;
            for (int64_t i = 0; i < s->side[d]; i++) {
                const double r = distance(s, d, i);
                if (r > from && r <= from + slab) {
                    energy += s->row[d][i];
                    unit += s->noise[d][i];
                }
            }
            if (unit > 0) level[slabs++] = energy / unit;
        }
    if (!slabs) return 0;
    return lmr_select_f64(level, (int64_t)slabs, (int64_t)slabs / 4);
}

/* Signal along an axis beyond the fit's field of view. */
typedef struct beyond {
    double signal; /* relative to that inside, as amplitudes; at least so much, noise considered */
    double to;     /* most of it is within this distance from the centre */
} beyond;

static beyond look(const search *s, int d, const double factor[3], double level, double sure)
{
    double cells = s->unexplained; /* independent numbers in a unit of distance */
    for (int e = 0; e < s->centre.nd; e++) cells *= s->centre.radius[e] * (e == d ? 1 : s->reach);
    double best = 0, goal = 0, sum = 0, noise = 0, rows = 0;
    beyond b = {0, factor[d] / 2};
    for (int64_t i = s->side[d] / 2; i >= 0; i--) {
        const double r = distance(s, d, i);
        if (r <= factor[d] / 2 || r > s->opts.most / 2) continue;
        const int64_t twin = s->side[d] - 1 - i;
        sum += s->row[d][i] + s->row[d][twin];
        noise += level * (s->noise[d][i] + s->noise[d][twin]);
        rows += 2;
        const double numbers = cells * rows * s->reach / (double)s->side[d];
        const double spread = sure * sqrt((1. / (double)s->coils + 1. / NOISES) / numbers);
        const double certain = sum - noise * (1 + fmax(spread, least_excess));
        if (certain > best) {
            best = certain;
            goal = most_of_it * (sum - noise);
        }
    }
    sum = 0;
    for (int64_t i = s->side[d] / 2; i >= 0 && sum < goal; i--) {
        const double r = distance(s, d, i);
        if (r <= factor[d] / 2) continue;
        const int64_t twin = s->side[d] - 1 - i;
        sum += s->row[d][i] + s->row[d][twin] - level * (s->noise[d][i] + s->noise[d][twin]);
        b.to = r;
    }
    b.signal = sqrt(best / s->inside);
    return b;
}

/* ---- search ---- */

/* Of channels of `left` over those of the data: sums of squares. */
static larmor_status part_left(const search *s, int64_t first, int64_t count, double *part)
{
    double size = 0, after_size = 0;
    LMR_OWN(larmor_array, before, larmor_array_slice(s->data, first, count, &before));
    LMR_OWN(larmor_array, after, larmor_array_slice(s->left, first, count, &after));
    LMR_TRY(larmor_nrm2(before, &size));
    LMR_TRY(larmor_nrm2(after, &after_size));
    *part = size > 0 ? after_size * after_size / (size * size) : 0;
    return LARMOR_OK;
}

static larmor_status unexplained(search *s)
{
    double part = 0;
    LMR_TRY(part_left(s, s->coils, NOISES, &s->unexplained));
    LMR_TRY(part_left(s, 0, s->coils, &part));
    s->misfit = sqrt(part);
    return LARMOR_OK;
}

/* The signal beyond factor along each axis, and the most of them. */
static larmor_status find_beyond(search *s, const double factor[3], double sure, beyond along[3], double *most)
{
    LMR_TRY(fit(s, factor));
    LMR_TRY(grid(s, s->left, NULL));
    LMR_TRY(unexplained(s));
    const double noise = noise_level(s, factor);
    *most = 0;
    for (int d = 0; d < s->centre.nd; d++) {
        along[d] = (beyond){0, 0};
        if (s->along[d] && factor[d] < s->opts.most) along[d] = look(s, d, factor, noise, sure);
        *most = fmax(*most, along[d].signal);
    }
    return LARMOR_OK;
}

/* Enlarge the field of view along the axes that have most of the signal: what lies at its corner is beyond it along
 * several. 1 if more than one step is needed to where the signal is. */
static int step_towards(const search *s, const beyond along[3], double most, double factor[3])
{
    int is_far = 0;
    for (int d = 0; d < s->centre.nd; d++) {
        if (!(along[d].signal > 0) || along[d].signal < as_much * most) continue;
        const double most_to = factor[d] + largest_step, to = fmax(2 * along[d].to, factor[d] + least_step);
        factor[d] = fmin(fmin(to, most_to), s->opts.most);
        is_far |= to > most_to && factor[d] < s->opts.most;
    }
    return is_far;
}

/* Squared misfit of the last fit in units of the data's energy, beyond noise; what it leaves of pure noise is what
 * any other data without order leave, as it has so many unknowns. */
static double beyond_noise(const search *s)
{
    return s->unexplained > 0 ? s->misfit * s->misfit / s->unexplained - s->noise_part : 0;
}

static larmor_status enlarge(search *s, larmor_extent *extent)
{
    double factor[3] = {1, 1, 1}, before[2] = {INFINITY, INFINITY}, most = 0;
    beyond along[3] = {{0, 0}};
    int gains = 1, is_far = 0;
    for (int step = 0; step <= STEPS; step++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(find_beyond(s, factor, step ? sure_of_more : sure_of_any, along, &most));
        extent->enlarged = beyond_noise(s);
        if (!step) extent->outside = most;
        if (!step) extent->misfit = extent->enlarged;
        gains = is_far || extent->enlarged <= most_left_by_two * before[1];
        before[1] = before[0];
        before[0] = extent->enlarged;
        if (!gains) break;
        if (most < (step ? rest : 1) * s->opts.threshold || step == STEPS) break;
        is_far = step_towards(s, along, most, factor);
    }
    const double explained = most_left * extent->misfit + noise_left * s->noise_part;
    const int worse = !gains || most > rest * extent->outside || extent->enlarged > explained;
    extent->misfit = sqrt(fmax(0, extent->misfit));
    extent->enlarged = sqrt(fmax(0, extent->enlarged));
    if (worse) return LARMOR_OK; /* not an object that is too wide */
    for (int d = 0; d < 3; d++) extent->factor[d] = factor[d];
    return LARMOR_OK;
}

/* The noise as at the rim of k-space, where there is least signal. */
static larmor_status find_noise(search *s, const larmor_array *kspace, const larmor_array *traj)
{
    double deviation = 0, size = 0, weights = 0;
    if (kspace->shape.ndim != 3) return LARMOR_OK; /* no readouts */
    LMR_OWN(larmor_array, single, larmor_array_convert(kspace, LARMOR_C64, &single));
    LMR_TRY(larmor_noise_level(single, traj, &deviation));
    LMR_OWN(larmor_array, first, larmor_array_slice(s->data, 0, s->coils, &first));
    LMR_TRY(larmor_nrm2(first, &size));
    for (int64_t j = 0; j < s->centre.m; j++) weights += s->root[j] * s->root[j];
    if (size > 0) s->noise_part = 2 * deviation * deviation * weights * (double)s->coils / (size * size);
    return LARMOR_OK;
}

/* 1 if all samples lie at steps of 1/FOV along an axis, as the partitions of a stack: then what is beyond the field
 * of view folds exactly onto what is within, and copies of either appear in the place of the other. */
static int folds_exactly(const search *s, int d)
{
    const int nd = s->centre.nd;
    for (int64_t j = 0; j < s->centre.m; j++) {
        const double steps = s->k[d + nd * j] - s->k[d];
        if (fabs(steps - nearbyint(steps)) > off_lattice) return 0;
    }
    return 1;
}

static larmor_status prepare(search *s, const larmor_array *kspace, const larmor_array *traj, const larmor_array *k,
                             larmor_shape image, int64_t coils)
{
    double radius[3] = {.5, .5, .5};
    for (int d = 0; d < image.ndim; d++) {
        radius[d] = radius_along(image, d);
        s->along[d] = image.dim[d] >= LEAST_SIDE;
    }
    s->reach = s->opts.most + margin;
    LMR_TRY(lmr_centre_select(k, kspace->dtype, radius, &s->centre));
    if (!s->centre.m) return LARMOR_OK;
    LMR_TRY(weigh(s));
    for (int d = 0; d < image.ndim; d++) s->along[d] &= !folds_exactly(s, d);
    LMR_TRY(gather(s, kspace, coils));
    LMR_TRY(find_noise(s, kspace, traj));
    LMR_TRY(open_larger(s));
    LMR_TRY(larmor_array_create(s->centre.dev, LARMOR_C64, s->data->shape, &s->left));
    return grid(s, s->data, &s->inside);
}

larmor_status larmor_field_of_view_extent(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                                          const larmor_extent_opts *opts, larmor_extent *extent)
{
    LMR_NEED(extent);
    *extent = (larmor_extent){.factor = {1, 1, 1}};
    LMR_FREED_BY(search_free) search s = {0};
    if (opts) s.opts = *opts;
    if (s.opts.most == 0) s.opts.most = MOST;
    if (s.opts.threshold == 0) s.opts.threshold = 0.03;
    LMR_REFUSE(!(s.opts.most > 1 && s.opts.most <= 4) || !(s.opts.threshold > 0), LARMOR_ERR_ARG,
               "extent: most %g and threshold %g, expected 1 < most <= 4 and threshold > 0", s.opts.most,
               s.opts.threshold);
    LMR_OWN(larmor_array, k, lmr_input_traj("extent", traj, image, &k));
    const larmor_shape shape = lmr_weights_shape(traj);
    const int64_t coils = kspace->shape.ndim > shape.ndim ? kspace->shape.dim[shape.ndim] : 1;
    LMR_TRY(lmr_expect("extent", "k-space", kspace, traj->dev, kspace->dtype, larmor_shape_append(shape, coils)));
    LMR_TRY(prepare(&s, kspace, traj, k, image, coils));
    if (s.centre.m && s.inside > 0) LMR_TRY(enlarge(&s, extent));
    return LARMOR_OK;
}

larmor_status larmor_extent_memory(const larmor_device *dev, const larmor_problem *p, const larmor_extent_opts *opts,
                                   int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    const int nd = p->image.ndim;
    const double most = opts && opts->most > 0 ? opts->most : MOST;
    const double reach = most + margin;
    const double samples = (double)p->samples, coils = (double)p->coils;
    const int64_t channels = coils_kept(p->coils) + NOISES;
    double radius[3], making, normal;
    for (int d = 0; d < nd; d++) radius[d] = radius_along(p->image, d);
    const larmor_nufft_opts large = nufft_opts(nd, radius, (double[]){reach, reach, reach}, channels);
    const larmor_nufft_opts fitted = nufft_opts(nd, radius, (double[]){most, most, most}, channels);
    larmor_problem low = *p;
    low.image = image_of(nd, radius);
    int64_t weights;
    LMR_TRY(larmor_density_memory(dev, &low, &weights));
    const double values = 8 * (double)channels;
    const double image = values * (double)larmor_shape_count(larmor_shape_of(nd, large.modes));
    double gridding = image, fitting = 5 * values * (double)larmor_shape_count(larmor_shape_of(nd, fitted.modes));
    LMR_TRY(lmr_bytes_add_nufft(dev, &large, p->samples, &gridding));
    LMR_TRY(lmr_bytes_add_nufft(dev, &fitted, p->samples, &fitting));
    LMR_TRY(lmr_toeplitz_bytes(dev, &fitted, p->samples, 1, &making, &normal));
    fitting += fmax(making, normal) + (values + 8.0 * nd) * samples;
    /* indices, points, weights and their roots; data and what a fit leaves; while they are made, all coils twice */
    const double chosen = (8 + 24.0 * nd + 32 + 2 * values) * samples;
    return lmr_bytes_store(chosen + fmax((double)weights + 32 * coils * samples, gridding + fmax(image, fitting)),
                           bytes);
}
