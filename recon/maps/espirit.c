/* Coil maps as eigenvectors of the projection onto the space of a calibration region's windows (Uecker et al., Magn.
 * Reson. Med. 71, 990 (2014)). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* Samples, 6 as BART's ecalib has; in 3D 5 give maps as good in a third of the time (docs/records/maps.md). */
enum { DEFAULT_KERNEL = 6, DEFAULT_KERNEL_3D = 5, LEAST_KERNEL = 2 };

/* The eigenvalue problem of the windows takes memory by the square and time by the third power of its rows. In 3D,
 * 10 mixtures of 12 coils gave errors of images within 0.4 % of those of all, 8 up to 1.7 % more
 * (docs/records/maps.md, "Volumes"). */
enum { MOST_ROWS = 2600, MOST_ROWS_3D = 1250 };

/* Eigenvectors are found on a grid with so many voxels along an axis at least, where the image has more. */
enum { LEAST_GRID = 64, LEAST_GRID_3D = 24 };

static const double default_threshold = 1e-3, default_crop = 0.8;

/* Coils^3 times voxels, as long as which eigenvectors are found at every voxel of the image. */
static const double max_work = 2.5e6;

/* Matrices of one block of voxels take so many bytes at most: 32 MB of scratch; not measured. */
static const double max_block_bytes = 1 << 25;

/* ---- sizes ---- */

typedef struct sizes {
    larmor_shape image, part;                                  /* of which there are maps */
    int64_t first;                                             /* of its planes along the last axis */
    int64_t all, coils;                                        /* coils, mixtures of them that are used */
    int64_t side[3], kernel[3], n[3], grid[3], voxels, pixels; /* image and coarse grid */
    int64_t block;                                             /* rows of the grid at a time */
    int sets;
} sizes;

static int64_t product(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

/* The same along all axes, but no more than half of the region, so that windows can move. */
static void choose_kernel(const larmor_espirit_opts *o, sizes *s)
{
    const int64_t kernel = s->image.ndim > 2 ? DEFAULT_KERNEL_3D : DEFAULT_KERNEL;
    for (int d = 0; d < s->image.ndim; d++) {
        const int64_t most = s->side[d] > 2 ? (s->side[d] + 1) / 2 : s->side[d];
        s->kernel[d] = lmr_clamp(o->kernel[d] > 0 ? o->kernel[d] : kernel, 1, most);
    }
    s->coils = lmr_clamp((s->image.ndim > 2 ? MOST_ROWS_3D : MOST_ROWS) / product(s->kernel), 1, s->all);
    if (o->coils > 0 && s->coils > o->coils) s->coils = o->coils;
    if (s->coils < s->sets) s->coils = s->sets;
}

static void choose_grid(sizes *s)
{
    const double work = pow((double)s->coils, 3) * (double)s->voxels;
    const double finer = s->sets > 1 || work <= max_work ? 1 : pow(max_work / work, 1. / s->image.ndim);
    const int64_t least = s->image.ndim > 2 ? LEAST_GRID_3D : LEAST_GRID;
    for (int d = 0; d < s->image.ndim; d++) {
        s->grid[d] = s->n[d];
        if (finer < 1) s->grid[d] = lmr_clamp((int64_t)ceil(finer * (double)s->n[d]), least, s->n[d]);
        if (s->grid[d] > s->n[d]) s->grid[d] = s->n[d];
    }
    s->pixels = product(s->grid);
    const double row = 16 * (double)(s->coils * s->coils * s->grid[0]);
    s->block = lmr_clamp((int64_t)(max_block_bytes / row), 1, s->grid[1]);
}

static sizes sizes_of(const int64_t side[3], int64_t coils, larmor_shape image, const larmor_espirit_opts *o)
{
    sizes s = {.image = image, .all = coils, .sets = o->sets ? o->sets : 1};
    for (int d = 0; d < 3; d++) {
        s.side[d] = d < image.ndim ? side[d] : 1;
        s.n[d] = d < image.ndim ? image.dim[d] : 1;
        s.kernel[d] = s.grid[d] = 1;
    }
    s.part = image;
    s.first = o->first;
    if (o->planes) s.part.dim[image.ndim - 1] = o->planes;
    s.voxels = product(s.n);
    choose_kernel(o, &s);
    choose_grid(&s);
    return s;
}

/* ---- the data ---- */

/* The region scaled to unit energy, c128 [samples, coils], of mixtures where there are too many coils, and so its
 * noise; mixing [all, all] or NULL, its last columns the mixtures' conjugated factors. */
static larmor_status take_region(const larmor_array *region, const sizes *s, larmor_array **data,
                                 larmor_array **mixing, double *noise)
{
    double size, part;
    LMR_OWN(larmor_array, in_double, larmor_array_create(region->dev, LARMOR_C128, region->shape, &in_double));
    LMR_TRY(region->dev->be->convert(region->dev->ctx, larmor_array_count(region), region->dtype, region->data,
                                     LARMOR_C128, in_double->data));
    LMR_TRY(larmor_nrm2(in_double, &size));
    LMR_REFUSE(!(size > 0 && isfinite(size)), LARMOR_ERR_NUMERIC,
               "espirit: the calibration region has energy %g, expected a finite number > 0", size);
    LMR_TRY(larmor_axpby(1 / size, in_double, 0, in_double));
    *noise /= size * size;
    LMR_OWN(larmor_array, flat, larmor_array_reshape(in_double, LARMOR_SHAPE(product(s->side), s->all), &flat));
    if (s->coils == s->all) {
        LMR_HAND_ON(*data, flat);
    } else {
        LMR_TRY(lmr_mix_coils(flat, product(s->side), s->all, s->coils, mixing, data, &part));
    }
    return LARMOR_OK;
}

/* The eigenvectors of the coils' covariance [coils, coils], the dominant one last: references of the phase. */
static larmor_status make_reference(const larmor_array *data, const sizes *s, larmor_array **reference)
{
    const lmr_recon_kernels *kernels;
    larmor_device *dev = data->dev;
    LMR_TRY(lmr_recon_kernels_of(dev, LARMOR_C128, &kernels));
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(s->coils, s->coils), reference));
    LMR_OWN(larmor_array, values, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(s->coils), &values));
    LMR_TRY(kernels->covariance(dev->ctx, product(s->side), s->coils, data->data, (*reference)->data));
    return lmr_la_of(*reference)->heev(dev->ctx, s->coils, 1, 1, (*reference)->data, values->data);
}

/* ---- eigenvectors at every voxel of the grid ---- */

typedef struct finder {
    const sizes *s;
    larmor_device *dev;
    const lmr_recon_kernels *kernels;
    larmor_array *lags, *reference;
    larmor_array *wave[3];                   /* [lags, grid] along each axis */
    larmor_array *plane[2];                  /* [coils^2, lags_x, lags_y] at a z; [coils^2, lags_x, grid_y] */
    larmor_array *matrix, *values, *aligned; /* of a block */
    larmor_array *low;                       /* [pixels, coils, sets] */
    double *value;                           /* [pixels, sets], the largest first */
    unsigned char *shown;                    /* [pixels] or NULL */
} finder;

static void finder_free(finder *f)
{
    larmor_array *const arrays[] = {f->lags,     f->reference, f->wave[0], f->wave[1], f->wave[2], f->plane[0],
                                    f->plane[1], f->matrix,    f->values,  f->aligned, f->low};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) larmor_array_free(arrays[i]);
    free(f->value);
    free(f->shown);
}

/* exp(2 pi i l r) of all differences of places and all positions r along an axis. */
static larmor_status make_waves(const finder *f, const double fov[3], int d, larmor_array **wave)
{
    const int64_t kernel = f->s->kernel[d], lags = 2 * kernel - 1, n = f->s->grid[d];
    LMR_HEAP LMR_NEW(double complex, e, lags *n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < lags; l++) {
            const double at = (double)(i - n / 2) / (double)n / (fov[d] > 0 ? fov[d] : 1);
            e[l + lags * i] = cexp(2 * M_PI * I * (double)(l - kernel + 1) * at);
        }
    return larmor_array_upload(f->dev, LARMOR_C128, LARMOR_SHAPE(lags, n), LARMOR_C128, e, wave);
}

static larmor_status finder_create(finder *f, const double fov[3])
{
    const sizes *s = f->s;
    const int64_t pairs = s->coils * s->coils, block = s->block * s->grid[0], lags_x = 2 * s->kernel[0] - 1;
    LMR_TRY(lmr_recon_kernels_of(f->dev, LARMOR_C128, &f->kernels));
    for (int d = 0; d < 3; d++) LMR_TRY(make_waves(f, fov, d, &f->wave[d]));
    LMR_TRY(
        larmor_array_create(f->dev, LARMOR_C128, LARMOR_SHAPE(pairs * lags_x, 2 * s->kernel[1] - 1), &f->plane[0]));
    LMR_TRY(larmor_array_create(f->dev, LARMOR_C128, LARMOR_SHAPE(pairs * lags_x, s->grid[1]), &f->plane[1]));
    /* one column in front, so that the second set can be aligned as the first, one column on */
    LMR_TRY(larmor_array_create(f->dev, LARMOR_C128, LARMOR_SHAPE(s->coils + pairs * (block + 1)), &f->matrix));
    LMR_TRY(larmor_array_create(f->dev, LARMOR_F64, LARMOR_SHAPE(s->coils, block), &f->values));
    LMR_TRY(larmor_array_create(f->dev, LARMOR_C128, LARMOR_SHAPE(block, s->coils), &f->aligned));
    LMR_TRY(larmor_array_create(f->dev, LARMOR_C128, LARMOR_SHAPE(s->pixels, s->coils, s->sets), &f->low));
    f->value = malloc((size_t)(2 * s->pixels) * sizeof *f->value);
    return f->value ? LARMOR_OK : LMR_NO_MEMORY();
}

/* c [m, n] <- a [m, k] b [k, n], all c128. */
static larmor_status multiply(const finder *f, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    return f->dev->be->la[LMR_F64]->gemm(f->dev->ctx, 'N', 'N', m, n, k, a, m, b, k, c, m);
}

/* The block's eigenvalues to value[., first ...], its vectors to low. */
static larmor_status keep_block(finder *f, int64_t first, int64_t count)
{
    const sizes *s = f->s;
    const int64_t coils = s->coils, pairs = coils * coils;
    const lmr_backend *be = f->dev->be;
    double complex *matrix = (double complex *)f->matrix->data + coils, *low = f->low->data;
    double *value;
    LMR_TRY(be->la[LMR_F64]->heev(f->dev->ctx, coils, count, 1, matrix, f->values->data));
    LMR_TRY(larmor_array_download(f->values, LARMOR_F64, &value));
    for (int64_t p = 0; p < count; p++) {
        f->value[first + p] = value[coils - 1 + coils * p];
        f->value[first + p + s->pixels] = coils > 1 ? value[coils - 2 + coils * p] : 0;
    }
    free(value);
    LMR_TRY(be->copy(f->dev->ctx, LMR_ON_DEVICE, matrix + pairs * count, f->reference->data,
                     (size_t)pairs * sizeof *matrix));
    for (int set = 0; set < s->sets; set++) {
        double complex *aligned = f->aligned->data;
        LMR_TRY(f->kernels->align(f->dev->ctx, count, coils, matrix - coils * set, aligned));
        for (int64_t c = 0; c < coils; c++)
            LMR_TRY(be->copy(f->dev->ctx, LMR_ON_DEVICE, low + first + s->pixels * (c + coils * set),
                             aligned + count * c, (size_t)count * sizeof *low));
    }
    return LARMOR_OK;
}

static larmor_status find_plane(finder *f, int64_t z)
{
    const sizes *s = f->s;
    const int64_t pairs = s->coils * s->coils, lags_x = 2 * s->kernel[0] - 1, lags_y = 2 * s->kernel[1] - 1;
    const int64_t lags_z = 2 * s->kernel[2] - 1, nx = s->grid[0], ny = s->grid[1];
    double complex *matrix = (double complex *)f->matrix->data + s->coils;
    LMR_TRY(multiply(f, pairs * lags_x * lags_y, 1, lags_z, f->lags->data,
                     (double complex *)f->wave[2]->data + lags_z * z, f->plane[0]->data));
    LMR_TRY(multiply(f, pairs * lags_x, ny, lags_y, f->plane[0]->data, f->wave[1]->data, f->plane[1]->data));
    for (int64_t y = 0; y < ny; y += s->block) {
        const int64_t rows = ny - y < s->block ? ny - y : s->block;
        LMR_TRY(lmr_go_on());
        for (int64_t r = 0; r < rows; r++)
            LMR_TRY(multiply(f, pairs, nx, lags_x, (double complex *)f->plane[1]->data + pairs * lags_x * (y + r),
                             f->wave[0]->data, matrix + pairs * nx * r));
        LMR_TRY(keep_block(f, nx * (y + ny * z), nx * rows));
    }
    return LARMOR_OK;
}

/* The maps of mixtures as those of the coils. */
static larmor_status unmix(finder *f, const larmor_array *mixing)
{
    const sizes *s = f->s;
    if (!mixing) return LARMOR_OK;
    const double complex *last = (const double complex *)mixing->data + s->all * (s->all - s->coils);
    const larmor_shape shape = LARMOR_SHAPE(s->pixels, s->all, s->sets);
    LMR_OWN(larmor_array, all, larmor_array_create(f->dev, LARMOR_C128, shape, &all));
    for (int set = 0; set < s->sets; set++)
        LMR_TRY(lmr_la_of(all)->gemm(f->dev->ctx, 'N', 'C', s->pixels, s->all, s->coils,
                                     (double complex *)f->low->data + s->pixels * s->coils * set, s->pixels, last,
                                     s->all, (double complex *)all->data + s->pixels * s->all * set, s->pixels));
    larmor_array_free(f->low);
    return LMR_HAND_ON(f->low, all);
}

/* ---- the image's grid ---- */

/* Eigenvalues of a set on the image's grid, [part...] on the host. */
static larmor_status interpolate_values(const finder *f, int set, double complex **value)
{
    const sizes *s = f->s;
    LMR_OWN(larmor_array, low,
            larmor_array_upload(f->dev, LARMOR_C128, LARMOR_SHAPE(s->pixels), LARMOR_F64, f->value + s->pixels * set,
                                &low));
    LMR_OWN(larmor_array, high, larmor_array_create(f->dev, LARMOR_C128, larmor_shape_append(s->part, 1), &high));
    LMR_TRY(lmr_maps_resize(low, s->grid, s->first, s->image.dim[s->image.ndim - 1], high));
    LMR_TRY(larmor_array_download(high, LARMOR_C128, value));
    for (int64_t p = 0; p < larmor_shape_count(s->part); p++) (*value)[p] = fmin(fmax(creal((*value)[p]), 0), 1);
    return LARMOR_OK;
}

/* 1 where the eigenvalue is 1, 1/2 where its root is at the threshold, 0 below. */
static double soft_step(double value, double threshold)
{
    const double x = (sqrt(value) - threshold) / (1 - threshold);
    if (x <= -1) return 0;
    return x >= 1 ? 1 : 0.5 + x / (1 + x * x);
}

static int is_cropped(const larmor_espirit_opts *o)
{
    return o->crop == LARMOR_CROP_SOFT || o->crop == LARMOR_CROP_HARD || o->crop == LARMOR_CROP_NOISE;
}

static double weight_of(const larmor_espirit_opts *o, double value)
{
    const double threshold = o->cropped_below > 0 ? o->cropped_below : default_crop;
    if (o->crop == LARMOR_CROP_SOFT) return soft_step(value, threshold);
    return is_cropped(o) ? value > threshold : 1;
}

/* maps of a set, [part..., coils], <- its vectors on the image's grid, with unit norm; of cropped ones times the
 * weights of the values. */
static larmor_status finish_set(const finder *f, const larmor_espirit_opts *o, int set, double complex *value,
                                larmor_array *maps)
{
    const sizes *s = f->s;
    LMR_OWN(larmor_array, low, larmor_array_part(f->low, set, 1, LARMOR_SHAPE(s->pixels, s->all), &low));
    LMR_TRY(lmr_maps_interpolate_planes(low, s->grid, s->first, s->image.dim[s->image.ndim - 1], maps));
    if (!is_cropped(o)) return LARMOR_OK;
    for (int64_t p = 0; p < larmor_shape_count(s->part); p++) value[p] = weight_of(o, creal(value[p]));
    LMR_OWN(larmor_array, weight, larmor_array_upload(f->dev, maps->dtype, s->part, LARMOR_C128, value, &weight));
    return larmor_mul(weight, 0, maps);
}

static void judge(const finder *f, const larmor_espirit_opts *o, larmor_espirit_report *report)
{
    const sizes *s = f->s;
    const double threshold = o->cropped_below > 0 ? o->cropped_below : default_crop;
    int64_t object = 0, folded = 0;
    for (int64_t p = 0; p < s->pixels; p++) {
        const int inside = f->value[p] > threshold;
        object += inside;
        folded += inside && f->value[p + s->pixels] > threshold;
    }
    memcpy(report->kernel, s->kernel, sizeof report->kernel);
    memcpy(report->grid, s->grid, sizeof report->grid);
    report->rows = product(s->kernel) * s->coils;
    report->coils = s->coils;
    report->object = (double)object / (double)s->pixels;
    report->folded = object ? (double)folded / (double)object : 0;
}

/* ---- the whole ---- */

static larmor_status check(const larmor_array *region, larmor_shape image, const larmor_espirit_opts *o)
{
    LMR_REFUSE(image.ndim < 1 || image.ndim > 3, LARMOR_ERR_SHAPE,
               "espirit: image has %d dimensions, expected 1 to 3", image.ndim);
    LMR_REFUSE(!region || !lmr_is_complex(region->dtype) || region->shape.ndim != image.ndim + 1, LARMOR_ERR_SHAPE,
               "espirit: the region is %s, expected complex, %d dimensions and coils", lmr_describe(region).s,
               image.ndim);
    LMR_REFUSE(region->shape.dim[image.ndim] < 1, LARMOR_ERR_SHAPE,
               "espirit: the region has no coils, expected at least 1");
    for (int d = 0; d < image.ndim; d++) {
        LMR_REFUSE(image.dim[d] < 1 || region->shape.dim[d] < 1, LARMOR_ERR_SHAPE,
                   "espirit: %lld voxels and %lld samples along axis %d, expected some", (long long)image.dim[d],
                   (long long)region->shape.dim[d], d);
        LMR_REFUSE(image.dim[d] > 1 && region->shape.dim[d] <= LEAST_KERNEL, LARMOR_ERR_NUMERIC,
                   "espirit: the calibration region has %lld samples along axis %d, expected at least "
                   "%d; maps by nlinv need no region",
                   (long long)region->shape.dim[d], d, LEAST_KERNEL + 1);
        LMR_REFUSE(!(o->kernel[d] >= 0 && o->kernel[d] <= 32), LARMOR_ERR_ARG,
                   "espirit: kernel %lld along axis %d, expected 0 to 32", (long long)o->kernel[d], d);
        LMR_REFUSE(!(o->fov[d] >= 0 && o->fov[d] < 1e3), LARMOR_ERR_ARG,
                   "espirit: field of view %g along axis %d, expected 0 to 1000", o->fov[d], d);
    }
    LMR_REFUSE(!(o->threshold >= 0 && o->threshold < 1), LARMOR_ERR_ARG, "espirit: threshold %g, expected 0 to 1",
               o->threshold);
    LMR_REFUSE(!(o->noise >= 0 && isfinite(o->noise)), LARMOR_ERR_ARG,
               "espirit: noise %g, expected a finite number of at least 0", o->noise);
    LMR_REFUSE(!(o->cropped_below >= 0 && o->cropped_below < 1), LARMOR_ERR_ARG,
               "espirit: cropped below %g, expected 0 to 1", o->cropped_below);
    const int64_t last = image.dim[image.ndim - 1];
    LMR_REFUSE(o->first < 0 || o->planes < 0 || o->first > last || o->planes > last - o->first ||
                   (o->first && !o->planes),
               LARMOR_ERR_ARG, "espirit: %lld planes from %lld on, expected some of %lld", (long long)o->planes,
               (long long)o->first, (long long)last);
    LMR_REFUSE(o->coils < 0, LARMOR_ERR_ARG, "espirit: %lld mixtures of coils, expected at least 0",
               (long long)o->coils);
    LMR_REFUSE(o->sets < 0 || o->sets > 2 || o->sets > region->shape.dim[image.ndim], LARMOR_ERR_ARG,
               "espirit: %d sets of maps of %lld coils, expected 1 or 2, and no more than coils", o->sets,
               (long long)region->shape.dim[image.ndim]);
    LMR_REFUSE(o->crop < LARMOR_CROP_DEFAULT || o->crop > LARMOR_CROP_NOISE, LARMOR_ERR_ARG,
               "espirit: crop %d is unknown", (int)o->crop);
    return LARMOR_OK;
}

/* The lags' sums and the reference, from the region. */
static larmor_status find_space(finder *f, const larmor_array *region, const larmor_espirit_opts *o,
                                larmor_array **mixing, int64_t *signal)
{
    const sizes *s = f->s;
    lmr_windows w = {.coils = s->coils, .noise = o->noise};
    double noise;
    memcpy(w.side, s->side, sizeof w.side);
    memcpy(w.kernel, s->kernel, sizeof w.kernel);
    LMR_OWN(larmor_array, data, take_region(region, s, &data, mixing, &w.noise));
    LMR_TRY(make_reference(data, s, &f->reference));
    LMR_OWN_MEMORY(void, host, larmor_array_download(data, LARMOR_C128, &host));
    w.data = host;
    LMR_TRY(
        lmr_windows_space(f->dev, &w, o->threshold > 0 ? o->threshold : default_threshold, &f->lags, signal, &noise));
    if (o->crop != LARMOR_CROP_NOISE) return LARMOR_OK;
    LMR_ALLOCATE(f->shown, s->pixels);
    return lmr_region_shown(&w, noise, o->fov, s->grid, f->shown);
}

/* All sets of maps, and their eigenvalues. */
static larmor_status finish(const finder *f, const larmor_espirit_opts *o, larmor_array *maps, larmor_array *values)
{
    const sizes *s = f->s;
    LMR_OWNED(larmor_array) *sets = NULL;
    LMR_TRY(larmor_array_reshape(maps, LARMOR_SHAPE(larmor_array_count(maps) / s->sets, s->sets), &sets));
    for (int set = 0; set < s->sets; set++) {
        LMR_HEAP double complex *value = NULL;
        LMR_OWNED(larmor_array) *own = NULL, *part = NULL, *one = NULL;
        if (values || is_cropped(o)) LMR_TRY(interpolate_values(f, set, &value));
        if (values) {
            LMR_TRY(larmor_array_upload(f->dev, values->dtype, s->part, LARMOR_C128, value, &one));
            LMR_TRY(larmor_array_part(values, set, 1, s->part, &part));
            LMR_TRY(larmor_copy(one, part));
        }
        if (f->shown && !set) {
            free(value);
            value = NULL;
            for (int64_t p = 0; p < s->pixels; p++) f->value[p] = f->shown[p] ? 1 : f->value[p];
            LMR_TRY(interpolate_values(f, set, &value));
        }
        LMR_TRY(larmor_array_part(sets, set, 1, larmor_shape_append(s->part, s->all), &own));
        LMR_TRY(finish_set(f, o, set, value, own));
    }
    return LARMOR_OK;
}

larmor_status larmor_espirit(const larmor_array *region, larmor_shape image, const larmor_espirit_opts *opts,
                             larmor_array **maps, larmor_array **eigenvalues, larmor_espirit_report *report)
{
    LMR_NEED_OUT(maps);
    if (eigenvalues) *eigenvalues = NULL;
    if (report) *report = (larmor_espirit_report){.rows = 0};
    const larmor_espirit_opts o = opts ? *opts : (larmor_espirit_opts){.sets = 1};
    LMR_TRY(check(region, image, &o));
    larmor_espirit_report judged = {.rows = 0};
    const sizes s = sizes_of(region->shape.dim, region->shape.dim[image.ndim], image, &o);
    LMR_FREED_BY(finder_free) finder f = {.s = &s, .dev = region->dev};
    LMR_OWNED(larmor_array) *mixing = NULL, *out = NULL, *values = NULL;
    larmor_shape shape = larmor_shape_append(s.part, s.all);
    if (s.sets > 1) shape = larmor_shape_append(shape, s.sets);
    const larmor_status st = find_space(&f, region, &o, &mixing, &judged.signal);
    if (report) report->rows = product(s.kernel) * s.coils;
    LMR_TRY(st);
    LMR_TRY(finder_create(&f, o.fov));
    for (int64_t z = 0; z < s.grid[2]; z++) LMR_TRY(find_plane(&f, z));
    judge(&f, &o, &judged);
    LMR_TRY(unmix(&f, mixing));
    LMR_TRY(larmor_array_create(f.dev, region->dtype, shape, &out));
    if (eigenvalues) LMR_TRY(larmor_array_create(f.dev, region->dtype, larmor_shape_append(s.part, s.sets), &values));
    LMR_TRY(finish(&f, &o, out, values));
    if (report) *report = judged;
    if (eigenvalues) *eigenvalues = values;
    *maps = out;
    out = values = NULL;
    return LARMOR_OK;
}

/* ---- memory ---- */

larmor_status larmor_espirit_memory(const larmor_device *dev, const larmor_problem *p,
                                    const larmor_region_opts *region, const larmor_espirit_opts *opts, int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    const larmor_espirit_opts o = opts ? *opts : (larmor_espirit_opts){.sets = 1};
    int64_t most[3];
    double before;
    lmr_region_most(region, p->image, most);
    LMR_TRY(lmr_region_bytes(dev, p, region, &before));
    const sizes s = sizes_of(most, p->coils, p->image, &o);
    lmr_windows w = {.coils = s.coils};
    memcpy(w.side, s.side, sizeof w.side);
    memcpy(w.kernel, s.kernel, sizeof w.kernel);
    const double samples = (double)product(s.side) * (double)s.all, pairs = (double)s.coils * (double)s.coils;
    const double lags = (double)lmr_windows_lags(&w), lags_x = (double)(2 * s.kernel[0] - 1);
    const double held = 16 * (3 * samples + pairs + (double)s.all * (double)s.all);
    const double planes = pairs * lags_x * (double)(2 * s.kernel[1] - 1 + s.grid[1]);
    const double block = (pairs + 2 * (double)s.coils) * (double)(s.block * s.grid[0] + 1);
    const int on_gpu = !dev->be->threads(dev->ctx);
    const double low = (double)s.pixels * (double)(s.all + (s.all > s.coils ? s.coils : 0)) * s.sets;
    const double search = 16 * (pairs * lags + planes + block * (on_gpu ? 2 : 1) + low) + 32 * (double)s.pixels +
                          lmr_bytes_for_eigenvectors(dev, s.coils);
    const double image = 16 * 3 * (double)larmor_shape_count(s.part) +
                         lmr_maps_interpolate_planes_bytes(p->dtype, s.grid, p->image, s.part.dim[p->image.ndim - 1]);
    const double found = 16 * ((double)s.pixels * (double)s.all * s.sets + pairs * lags) + image;
    return lmr_bytes_store(fmax(before, held + fmax(lmr_windows_bytes(&w), fmax(search, found))), bytes);
}
