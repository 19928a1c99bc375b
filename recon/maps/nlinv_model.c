/* The model of nonlinear inversion and its derivative (Uecker et al. 2008; sets: Holme et al. 2019), on the device by
 * operators and by arithmetic of vectors. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* Coefficients whose weight is below this part of the largest are left out: about
 * the rounding of single precision. */
static const double min_coefficient_weight = 1e-7;

/* Numbers on the doubled grid that are transformed at a time. */
enum { TOGETHER = 1 << 22 };

/* ---- sizes ---- */

static int64_t longest_of(larmor_shape image)
{
    int64_t longest = 1;
    for (int d = 0; d < image.ndim; d++)
        if (image.dim[d] > longest) longest = image.dim[d];
    return longest;
}

/* Cycles per longest side that coefficient i of the doubled field of view of n voxels has. */
static double cycles(int64_t n, int64_t longest, int64_t i)
{
    return (double)i * (double)longest / (double)(2 * n);
}

static double weight_at(const larmor_nlinv_opts *o, double square)
{
    return pow(1 + o->smoothness * square, -o->order / 2);
}

/* Coefficients along an axis of n voxels, the longest of `longest`; odd, so that they are as many on both sides. */
static int64_t box_of(const larmor_nlinv_opts *o, int64_t n, int64_t longest)
{
    int64_t side = 0;
    if (n == 1) return 1;
    while (side + 1 < n && weight_at(o, pow(cycles(n, longest, side + 1), 2)) > min_coefficient_weight) side++;
    return 2 * side + 1;
}

static void sizes_of(const larmor_problem *p, const larmor_nlinv_opts *o, lmr_nlinv *n)
{
    n->dtype = p->dtype;
    n->image = n->fine = n->box = p->image;
    n->coils = p->coils;
    n->sets = o->sets > 0 ? o->sets : 1;
    for (int d = 0; d < p->image.ndim; d++) n->fine.dim[d] = p->image.dim[d] > 1 ? 2 * p->image.dim[d] : 1;
    for (int d = 0; d < p->image.ndim; d++) n->box.dim[d] = box_of(o, p->image.dim[d], longest_of(p->image));
    n->voxels = larmor_shape_count(n->image);
    n->modes = larmor_shape_count(n->box);
    n->block = TOGETHER / larmor_shape_count(n->fine);
    if (n->block > n->coils) n->block = n->coils;
    if (n->block < 1) n->block = 1;
}

/* The transform of all coils. */
static larmor_nufft_opts nufft_of(const larmor_problem *p, const larmor_nlinv_opts *o)
{
    larmor_nufft_opts nufft = {.ndim = p->image.ndim, .batch = p->coils, .tol = o->nufft_tol, .dtype = p->dtype};
    for (int d = 0; d < p->image.ndim; d++) nufft.modes[d] = p->image.dim[d];
    return nufft;
}

static larmor_status make_weights(const larmor_nlinv_opts *o, lmr_nlinv *n)
{
    const int64_t longest = longest_of(n->image);
    LMR_HEAP LMR_NEW(double, w, 2 * n->modes);
    for (int64_t i = 0; i < n->modes; i++) {
        double square = 0;
        int64_t rest = i;
        for (int d = 0; d < n->box.ndim; d++) {
            const double k = cycles(n->image.dim[d], longest, rest % n->box.dim[d] - n->box.dim[d] / 2);
            square += k * k;
            rest /= n->box.dim[d];
        }
        w[2 * i] = weight_at(o, square);
        w[2 * i + 1] = 0;
    }
    return larmor_array_upload(n->dev, n->dtype, n->box, LARMOR_C128, w, &n->weight);
}

int64_t lmr_nlinv_unknowns(const lmr_nlinv *n)
{
    return n->sets * (n->voxels + n->coils * n->modes);
}

void lmr_nlinv_free(lmr_nlinv *n)
{
    larmor_array *const arrays[] = {n->weight, n->wide, n->spectrum,      n->part, n->at,
                                    n->maps,   n->sum,  n->backprojected, n->one};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) larmor_array_free(arrays[i]);
    LMR_FREE(n->T, n->F);
    *n = (lmr_nlinv){.dev = NULL};
}

/* The sum of the weights of all samples: the mean eigenvalue of F^H W F. */
static larmor_status sum_of(const larmor_array *weights, int64_t samples, double *sum)
{
    double *w = NULL;
    *sum = (double)samples;
    if (!weights) return LARMOR_OK;
    LMR_TRY(larmor_array_download(weights, LARMOR_F64, &w));
    *sum = 0;
    for (int64_t i = 0; i < samples; i++) *sum += w[i];
    free(w);
    if (*sum > 0 && isfinite(*sum)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "nlinv: the weights' sum is %g, expected a finite number > 0", *sum);
}

larmor_status lmr_nlinv_sample(lmr_nlinv *n, const larmor_nlinv_opts *o, const larmor_array *traj)
{
    const larmor_problem p = {.image = n->image, .coils = n->coils, .dtype = n->dtype};
    const larmor_nufft_opts nufft = nufft_of(&p, o);
    double sum;
    larmor_op_free(n->T); /* first, as there may be no memory for two */
    n->T = NULL;
    LMR_TRY(sum_of(o->weights, larmor_array_count(traj) / n->image.ndim, &sum));
    n->scale = 1 / sum;
    return larmor_op_toeplitz(n->dev, &nufft, traj, o->weights, &n->T);
}

larmor_status lmr_nlinv_create(larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *o,
                               const larmor_array *traj, lmr_nlinv *n)
{
    *n = (lmr_nlinv){.dev = dev};
    sizes_of(p, o, n);
    const larmor_shape images = larmor_shape_append(n->image, n->coils),
                       wide = larmor_shape_append(n->fine, n->block);
    larmor_status st;
    LMR_OR(fail, lmr_recon_kernels_of(dev, n->dtype, &n->kernels));
    LMR_OR(fail, lmr_nlinv_sample(n, o, traj));
    const larmor_fft_opts unitary = {.unitary = 1};
    LMR_OR(fail, larmor_op_fft(dev, n->dtype, wide, (1U << p->image.ndim) - 1, &unitary, &n->F));
    LMR_OR(fail, make_weights(o, n));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, wide, &n->wide));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, wide, &n->spectrum));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, larmor_shape_append(n->box, n->block), &n->part));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, LARMOR_SHAPE(lmr_nlinv_unknowns(n)), &n->at));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, larmor_shape_append(images, n->sets), &n->maps));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, images, &n->sum));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, images, &n->backprojected));
    LMR_OR(fail, larmor_array_create(dev, n->dtype, images, &n->one));
    return LARMOR_OK;
fail:
    lmr_nlinv_free(n);
    return st;
}

/* ---- parts of the unknowns ---- */

static char *numbers_from(const larmor_array *x, int64_t first)
{
    return (char *)x->data + (size_t)first * larmor_dtype_size(x->dtype);
}

/* The image of a set within a line of unknowns, and the coefficients of its maps. */
static larmor_status image_in(const lmr_nlinv *n, const larmor_array *line, int64_t set, larmor_array **x)
{
    return larmor_array_part(line, set * n->voxels, n->voxels, n->image, x);
}

static char *coefficients_in(const lmr_nlinv *n, const larmor_array *line, int64_t set)
{
    return numbers_from(line, n->sets * n->voxels + set * n->coils * n->modes);
}

static void *maps_of_set(const lmr_nlinv *n, int64_t set)
{
    return numbers_from(n->maps, set * n->coils * n->voxels);
}

/* ---- maps from coefficients, and the adjoint ---- */

/* to <- from, centre on centre, one coil after the other. */
static larmor_status centre(const lmr_nlinv *n, larmor_shape a, larmor_shape b, int64_t coils, const void *from,
                            void *to)
{
    const size_t size = larmor_dtype_size(n->dtype);
    const size_t step = (size_t)larmor_shape_count(a) * size, stride = (size_t)larmor_shape_count(b) * size;
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
    for (int d = 0; d < a.ndim; d++) {
        in[d] = a.dim[d];
        out[d] = b.dim[d];
    }
    if (a.ndim < 3) { /* all of them as one volume */
        in[2] = out[2] = coils;
        return n->kernels->crop(n->dev->ctx, in, out, 1, from, to);
    }
    for (int64_t c = 0; c < coils; c++)
        LMR_TRY(n->kernels->crop(n->dev->ctx, in, out, 1, (const char *)from + (size_t)c * step,
                                 (char *)to + (size_t)c * stride));
    return LARMOR_OK;
}

/* maps [image..., coils] <- those of the coefficients [box..., coils]. */
static larmor_status synthesise(lmr_nlinv *n, const char *coefficients, char *maps)
{
    const size_t size = larmor_dtype_size(n->dtype);
    for (int64_t c = 0; c < n->coils; c += n->block) {
        const int64_t count = n->coils - c < n->block ? n->coils - c : n->block;
        LMR_TRY(lmr_go_on());
        LMR_TRY(n->dev->be->copy(n->dev->ctx, LMR_ON_DEVICE, n->part->data,
                                 coefficients + (size_t)(c * n->modes) * size, (size_t)(count * n->modes) * size));
        LMR_TRY(larmor_mul(n->weight, 0, n->part));
        LMR_TRY(centre(n, n->box, n->fine, n->block, n->part->data, n->spectrum->data));
        LMR_TRY(larmor_op_adjoint(n->F, n->spectrum, n->wide));
        LMR_TRY(centre(n, n->fine, n->image, count, n->wide->data, maps + (size_t)(c * n->voxels) * size));
    }
    return LARMOR_OK;
}

static larmor_status analyse(lmr_nlinv *n, const char *maps, char *coefficients)
{
    const size_t size = larmor_dtype_size(n->dtype);
    for (int64_t c = 0; c < n->coils; c += n->block) {
        const int64_t count = n->coils - c < n->block ? n->coils - c : n->block;
        LMR_TRY(lmr_go_on());
        LMR_TRY(centre(n, n->image, n->fine, count, maps + (size_t)(c * n->voxels) * size, n->wide->data));
        LMR_TRY(larmor_op_forward(n->F, n->wide, n->spectrum));
        LMR_TRY(centre(n, n->fine, n->box, n->block, n->spectrum->data, n->part->data));
        LMR_TRY(larmor_mul(n->weight, 0, n->part));
        LMR_TRY(n->dev->be->copy(n->dev->ctx, LMR_ON_DEVICE, coefficients + (size_t)(c * n->modes) * size,
                                 n->part->data, (size_t)(count * n->modes) * size));
    }
    return LARMOR_OK;
}

/* ---- the model ---- */

/* y (+)= s_m x, s_m the maps of set m; the first set overwrites. */
static larmor_status add_product(lmr_nlinv *n, int64_t set, const larmor_array *x, larmor_array *y)
{
    larmor_array *to = set ? n->one : y;
    LMR_TRY(lmr_vec_of(y)->expand(n->dev->ctx, n->voxels, n->coils, maps_of_set(n, set), x->data, to->data));
    return set ? larmor_axpby(1, n->one, 1, y) : LARMOR_OK;
}

larmor_status lmr_nlinv_at(lmr_nlinv *n, const larmor_array *unknowns)
{
    LMR_TRY(larmor_copy(unknowns, n->at));
    for (int64_t m = 0; m < n->sets; m++) {
        LMR_TRY(synthesise(n, coefficients_in(n, n->at, m), maps_of_set(n, m)));
        LMR_OWN(larmor_array, x, image_in(n, n->at, m, &x));
        LMR_TRY(add_product(n, m, x, n->sum));
    }
    return LARMOR_OK;
}

/* n->sum <- sum_m s_m dx_m + x_m ds_m */
static larmor_status derivative(lmr_nlinv *n, const larmor_array *d)
{
    for (int64_t m = 0; m < n->sets; m++) {
        LMR_OWN(larmor_array, dx, image_in(n, d, m, &dx));
        LMR_OWN(larmor_array, x, image_in(n, n->at, m, &x));
        LMR_TRY(add_product(n, m, dx, n->sum));
        LMR_TRY(synthesise(n, coefficients_in(n, d, m), n->one->data));
        LMR_TRY(larmor_mul(x, 0, n->one));
        LMR_TRY(larmor_axpby(1, n->one, 1, n->sum));
    }
    return LARMOR_OK;
}

larmor_status lmr_nlinv_adjoint(lmr_nlinv *n, const larmor_array *y, larmor_array *z)
{
    for (int64_t m = 0; m < n->sets; m++) {
        LMR_OWN(larmor_array, x, image_in(n, n->at, m, &x));
        LMR_OWN(larmor_array, zx, image_in(n, z, m, &zx));
        LMR_TRY(lmr_vec_of(y)->combine(n->dev->ctx, n->voxels, n->coils, maps_of_set(n, m), y->data, zx->data));
        LMR_TRY(larmor_copy(y, n->one));
        LMR_TRY(larmor_mul(x, 1, n->one));
        LMR_TRY(analyse(n, n->one->data, coefficients_in(n, z, m)));
    }
    return LARMOR_OK;
}

larmor_status lmr_nlinv_normal(lmr_nlinv *n, const larmor_array *d, larmor_array *z)
{
    LMR_TRY(derivative(n, d));
    LMR_TRY(larmor_op_forward(n->T, n->sum, n->backprojected));
    LMR_TRY(larmor_axpby(n->scale, n->backprojected, 0, n->backprojected));
    return lmr_nlinv_adjoint(n, n->backprojected, z);
}

/* ---- the result ---- */

/* signs [image...], (-1)^i along each axis. */
static larmor_status make_signs(const lmr_nlinv *n, larmor_array **signs)
{
    LMR_HEAP LMR_NEW(double, s, 2 * n->voxels);
    for (int64_t i = 0; i < n->voxels; i++) {
        int64_t odd = 0, rest = i;
        for (int d = 0; d < n->image.ndim; d++) {
            odd += n->image.dim[d] > 1 ? rest % n->image.dim[d] - n->image.dim[d] / 2 : 0;
            rest /= n->image.dim[d];
        }
        s[2 * i] = odd % 2 ? -1 : 1;
        s[2 * i + 1] = 0;
    }
    return larmor_array_upload(n->dev, n->dtype, n->image, LARMOR_C128, s, signs);
}

/* factor <- (sum_cm |s_cm|^2)^(halves / 2) */
static larmor_status energy_power(const lmr_nlinv *n, int halves, larmor_array *factor)
{
    void *maps = n->maps->data;
    LMR_TRY(lmr_vec_of(factor)->combine(n->dev->ctx, n->voxels, n->coils * n->sets, maps, maps, factor->data));
    return n->kernels->power(n->dev->ctx, n->voxels, halves, 0, factor->data);
}

/* Image and maps of a set, into views of the results; x may be NULL. */
static larmor_status finish(lmr_nlinv *n, int64_t set, const larmor_array *signs, double scale, larmor_array *factor,
                            larmor_array *x, larmor_array *maps)
{
    if (x) {
        LMR_TRY(energy_power(n, 1, factor));
        LMR_OWN(larmor_array, image, image_in(n, n->at, set, &image));
        LMR_TRY(larmor_axpby(scale, image, 0, x));
        LMR_TRY(larmor_mul(signs, 0, x));
        LMR_TRY(larmor_mul(factor, 0, x));
    }
    LMR_TRY(energy_power(n, -1, factor));
    const size_t bytes = larmor_array_bytes(maps);
    LMR_TRY(n->dev->be->copy(n->dev->ctx, LMR_ON_DEVICE, maps->data, maps_of_set(n, set), bytes));
    LMR_TRY(larmor_mul(signs, 0, maps));
    return larmor_mul(factor, 0, maps);
}

/* A view of a set's part of a result; without sets all of it. */
static larmor_status of_set(const lmr_nlinv *n, larmor_array *all, int64_t set, larmor_shape shape,
                            larmor_array **one)
{
    if (n->sets > 1) return larmor_array_part(all, set, 1, shape, one);
    *one = larmor_array_ref(all);
    return LARMOR_OK;
}

/* a <-> b */
static larmor_status exchange(larmor_array *a, larmor_array *b)
{
    LMR_OWN(larmor_array, kept, larmor_array_create(a->dev, a->dtype, a->shape, &kept));
    LMR_TRY(larmor_copy(a, kept));
    LMR_TRY(larmor_copy(b, a));
    return larmor_copy(kept, b);
}

/* Which set takes most is left to chance: the strongest becomes the first, by which weights are chosen. */
static larmor_status put_strongest_first(const lmr_nlinv *n, larmor_array *x, larmor_array *maps)
{
    const larmor_shape coils = larmor_shape_append(n->image, n->coils);
    LMR_OWN(larmor_array, first, larmor_array_part(maps, 0, 1, coils, &first));
    for (int64_t m = 1; m < n->sets; m++) {
        double of_first, of_this;
        LMR_OWN(larmor_array, set, larmor_array_part(maps, m, 1, coils, &set));
        LMR_TRY(larmor_nrm2(first, &of_first));
        LMR_TRY(larmor_nrm2(set, &of_this));
        if (of_this <= of_first) continue;
        LMR_TRY(exchange(first, set));
        if (!x) continue;
        LMR_OWN(larmor_array, image, larmor_array_part(x, 0, 1, n->image, &image));
        LMR_OWN(larmor_array, other, larmor_array_part(x, m, 1, n->image, &other));
        LMR_TRY(exchange(image, other));
    }
    return LARMOR_OK;
}

larmor_status lmr_nlinv_result(lmr_nlinv *n, double scale, larmor_array **x, larmor_array **maps)
{
    const larmor_shape images = n->sets > 1 ? larmor_shape_append(n->image, n->sets) : n->image;
    larmor_shape all = larmor_shape_append(n->image, n->coils);
    const larmor_shape one = all;
    LMR_OWNED(larmor_array) *factor = NULL, *made = NULL, *image = NULL;
    if (n->sets > 1) all = larmor_shape_append(all, n->sets);
    LMR_OWN(larmor_array, signs, make_signs(n, &signs));
    LMR_TRY(larmor_array_create(n->dev, n->dtype, n->image, &factor));
    if (x) LMR_TRY(larmor_array_create(n->dev, n->dtype, images, &image));
    LMR_TRY(larmor_array_create(n->dev, n->dtype, all, &made));
    for (int64_t m = 0; m < n->sets; m++) {
        LMR_OWNED(larmor_array) *of_x = NULL, *of_maps = NULL;
        if (x) LMR_TRY(of_set(n, image, m, n->image, &of_x));
        LMR_TRY(of_set(n, made, m, one, &of_maps));
        LMR_TRY(finish(n, m, signs, scale, factor, of_x, of_maps));
    }
    if (n->sets > 1) LMR_TRY(put_strongest_first(n, image, made));
    if (x) LMR_HAND_ON(*x, image);
    return LMR_HAND_ON(*maps, made);
}

/* ---- memory ---- */

larmor_status lmr_nlinv_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *o,
                              int lines, int64_t *bytes)
{
    lmr_nlinv n = {.block = 0};
    sizes_of(p, o, &n);
    larmor_nufft_opts nufft = nufft_of(p, o);
    const double size = (double)larmor_dtype_size(p->dtype), voxels = (double)n.voxels, coils = (double)n.coils;
    const double fine = (double)larmor_shape_count(n.fine) * (double)n.block;
    const double unknowns = (double)n.sets * (voxels + coils * (double)n.modes);
    double making, held, gridding = size * (double)p->samples * coils;
    LMR_TRY(lmr_toeplitz_bytes(dev, &nufft, p->samples, 1, &making, &held));
    nufft.type = 1;
    LMR_TRY(lmr_bytes_add_nufft(dev, &nufft, p->samples, &gridding));
    double model = held + dev->be->fft[lmr_precision(p->dtype)]->bytes(dev->ctx, n.fine.ndim, n.fine.dim, n.block);
    model += size * (2 * fine + (double)(n.modes * (n.block + 1))); /* transforms of maps */
    model += size * ((6.0 + lines) * unknowns +
                     voxels * coils * ((double)n.sets + 4)); /* Newton's method; maps, coil images */
    model += size * 2 * voxels;
    const double points = 8.0 * (double)p->image.ndim * (double)p->samples + 16 * (double)p->samples;
    return lmr_bytes_store(points + model + (making > gridding ? making : gridding), bytes);
}
