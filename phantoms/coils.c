/* Coil sensitivities that are low-order trigonometric polynomials, so that a phantom's k-space seen by them is exact:
 * for the idea see Guerquin-Kern, Lejeune, Pruessmann, Unser, IEEE Trans. Med. Imaging 31, 626 (2012).
 *
 * Coil c sits at r_c, around the object, with the direction t_c along the surface:
 *   s_c(r) = gain exp(i theta_c) (1 + i kappa t_c . grad) g(r - r_c),   g(r) = prod_d cos(pi step r_d)^(2 order).
 * g falls off like a loop's field; the derivative changes the phase with the distance from the coil's axis as the
 * fanning of a loop's field lines does; theta_c is the coil's orientation. In Fourier space each of them is a factor.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/phantom.h"

static const double step = 0.5; /* of the frequencies, in 1/FOV: the maps have period 2, not 1, so they do not wrap */
static const double kappa = 0.2, gain = 1.25;

/* Binomial coefficients over 4^order: cos(x)^(2 order) as a sum of exp(2 i n x), n = -order..order. */
static const double cosine_power[3][5] = {{1}, {0.25, 0.5, 0.25}, {0.0625, 0.25, 0.375, 0.25, 0.0625}};

typedef struct place {
    double at[3], along[3], theta;
} place;

/* A ring in the plane, a spiral of equal areas on the sphere. Fewer coils sit closer, so that they cover the object.
 */
static place place_of(int ndim, int c, int count)
{
    const double radius = (ndim == 3 ? 0.7 : 0.65) * (1 - 1.0 / count);
    const double z = ndim == 3 ? 1 - (2 * c + 1.0) / count : 0;
    const double rim = sqrt(1 - z * z);
    const double theta = ndim == 3 ? c * M_PI * (3 - sqrt(5)) : 2 * M_PI * (c + 0.5) / count;
    return (place){.at = {radius * rim * cos(theta), radius * rim * sin(theta), radius * z},
                   .along = {-rim * sin(theta), rim * cos(theta), 0},
                   .theta = theta};
}

static void weigh(const lmr_coils *coils, int c, double *weight)
{
    const place p = place_of(coils->ndim, c, coils->count);
    for (int m = 0; m < coils->modes; m++) {
        const double *f = coils->frequency[m];
        double size = gain, slope = 1, angle = p.theta;
        for (int d = 0, rest = m; d < coils->ndim; d++, rest /= 2 * coils->order + 1) {
            size *= cosine_power[coils->order][rest % (2 * coils->order + 1)];
            slope -= 2 * M_PI * kappa * f[d] * p.along[d];
            angle -= 2 * M_PI * f[d] * p.at[d];
        }
        weight[2 * m] = size * slope * cos(angle);
        weight[2 * m + 1] = size * slope * sin(angle);
    }
}

larmor_status lmr_coils_create(int ndim, int count, double reach, lmr_coils *coils)
{
    memset(coils, 0, sizeof *coils);
    LMR_REFUSE(count < 0 || count > 1024, LARMOR_ERR_ARG, "phantom: got %d coils, expected 0 to 1024", count);
    coils->ndim = ndim;
    coils->count = count ? count : 1;
    coils->order = ndim == 3 ? 1 : 2;
    if (!count) coils->order = 0;
    coils->modes = 1;
    const int side = 2 * coils->order + 1;
    for (int d = 0; d < ndim; d++) coils->modes *= side;
    for (int m = 0; m < coils->modes; m++)
        for (int d = 0, rest = m; d < ndim; d++, rest /= side)
            coils->frequency[m][d] = step * (rest % side - coils->order);
    coils->weight = calloc((size_t)coils->modes * (size_t)coils->count, 2 * sizeof(double));
    if (!coils->weight) return LMR_NO_MEMORY();
    if (!count) coils->weight[0] = 1;
    for (int c = 0; c < count; c++) weigh(coils, c, coils->weight + 2 * (int64_t)c * coils->modes);
    for (int m = 0; m < coils->modes; m++)
        for (int d = 0; d < ndim; d++) coils->frequency[m][d] /= reach;
    return LARMOR_OK;
}

/* What the modes along z are at one z: waves in the plane alone. */
static void cut_modes(lmr_coils *coils, double z)
{
    const int flat = coils->modes / (2 * coils->order + 1), all = coils->modes;
    double *weight = coils->weight;
    for (int c = 0; c < coils->count; c++)
        for (int m = 0; m < flat; m++) {
            double re = 0, im = 0;
            for (int i = m; i < all; i += flat) {
                const double *w = weight + 2 * (i + (int64_t)all * c);
                const double angle = 2 * M_PI * coils->frequency[i][2] * z;
                re += w[0] * cos(angle) - w[1] * sin(angle);
                im += w[0] * sin(angle) + w[1] * cos(angle);
            }
            weight[2 * (m + (int64_t)flat * c)] = re; /* never behind what is still read */
            weight[2 * (m + (int64_t)flat * c) + 1] = im;
        }
    for (int m = 0; m < flat; m++) coils->frequency[m][2] = 0;
    coils->modes = flat;
    coils->ndim = 2;
}

larmor_status lmr_coils_around(const larmor_phantom *phantom, int count, lmr_coils *coils)
{
    LMR_TRY(lmr_coils_create(phantom->is_plane ? 3 : phantom->ndim, count, phantom->reach, coils));
    if (phantom->is_plane) cut_modes(coils, phantom->plane);
    return LARMOR_OK;
}

void lmr_coils_free(lmr_coils *coils)
{
    LMR_CLEAR(coils->weight);
}

/* sum over the modes of one line along x: what is left of them once y and z are fixed. line [re, im] of side modes.
 */
static void along_x(const lmr_coils *coils, int c, const double r[3], double line[5][2])
{
    const int side = 2 * coils->order + 1;
    memset(line, 0, 5 * sizeof *line);
    for (int m = 0; m < coils->modes; m++) {
        const double *f = coils->frequency[m], *w = coils->weight + 2 * (m + (int64_t)coils->modes * c);
        const double angle = 2 * M_PI * (f[1] * r[1] + f[2] * r[2]), re = cos(angle), im = sin(angle);
        line[m % side][0] += w[0] * re - w[1] * im;
        line[m % side][1] += w[0] * im + w[1] * re;
    }
}

static void fill_line(const lmr_coils *coils, int c, int64_t nx, const double r[3], const double *wave,
                      larmor_dtype dtype, void *host, int64_t first)
{
    const int side = 2 * coils->order + 1;
    double line[5][2];
    along_x(coils, c, r, line);
    for (int64_t x = 0; x < nx; x++) {
        double re = 0, im = 0;
        for (int n = 0; n < side; n++) {
            const double *e = wave + 2 * (n + side * x);
            re += line[n][0] * e[0] - line[n][1] * e[1];
            im += line[n][0] * e[1] + line[n][1] * e[0];
        }
        lmr_put(host, dtype, first + x, re, im);
    }
}

typedef struct maps_job {
    const lmr_coils *coils;
    int64_t n[3];
    const double *extent, *wave;
    larmor_dtype dtype;
    void *host;
} maps_job;

static void fill_line_at(void *self, int64_t i)
{
    const maps_job *p = self;
    const int64_t nx = p->n[0], ny = p->n[1], nz = p->n[2], z = i / ny % nz;
    const double r[3] = {0, p->extent[1] * lmr_voxel(i % ny, ny), p->extent[2] * lmr_voxel(z, nz)};
    fill_line(p->coils, (int)(i / (ny * nz)), nx, r, p->wave, p->dtype, p->host, i * nx);
}

static larmor_status make_maps(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const double extent[3],
                               int coils, const larmor_phantom *around, larmor_array **maps)
{
    LMR_REFUSE(coils < 1, LARMOR_ERR_ARG, "phantom: got %d coils, expected 1 to 1024", coils);
    LMR_FREED_BY(lmr_coils_free) lmr_coils set = {0};
    const larmor_shape whole = larmor_shape_append(shape, coils);
    LMR_HEAP double *wave = NULL;
    LMR_HEAP void *host = NULL;
    LMR_TRY(lmr_coils_around(around, coils, &set));
    if (larmor_shape_count(whole) < 1) {
        return LMR_FAIL(LARMOR_ERR_SHAPE, "phantom: got %d maps of %lld voxels along x, which are too many to count",
                        coils, (long long)shape.dim[0]);
    }
    const int64_t nx = shape.dim[0];
    const int64_t ny = shape.dim[1];
    const int64_t nz = shape.ndim == 3 ? shape.dim[2] : 1;
    const int side = 2 * set.order + 1;
    wave = lmr_new(side * nx, 2 * sizeof *wave);
    host = lmr_new(larmor_shape_count(whole), larmor_dtype_size(dtype));
    if (!wave || !host) return LMR_NO_MEMORY();
    for (int64_t x = 0; x < nx; x++)
        for (int n = 0; n < side; n++) {
            const double angle = 2 * M_PI * set.frequency[n][0] * extent[0] * lmr_voxel(x, nx);
            wave[2 * (n + side * x)] = cos(angle);
            wave[2 * (n + side * x) + 1] = sin(angle);
        }
    LMR_TRY(lmr_parallel(lmr_device_threads(dev), ny * nz * coils, fill_line_at,
                         &(maps_job){&set, {nx, ny, nz}, extent, wave, dtype, host}));
    return larmor_array_upload(dev, dtype, whole, dtype, host, maps);
}

larmor_status lmr_image_check(const char *who, int ndim, larmor_dtype dtype, larmor_shape shape)
{
    int fits = shape.ndim == ndim;
    for (int d = 0; fits && d < ndim; d++) fits = shape.dim[d] >= 1;
    LMR_REFUSE(!fits, LARMOR_ERR_SHAPE, "%s: got an image of %d dimensions, expected %d, none of them empty", who,
               shape.ndim, ndim);
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "%s: got %s, expected c64 or c128", who,
               larmor_dtype_name(dtype));
    return LARMOR_OK;
}

larmor_status larmor_phantom_coils_around(const larmor_phantom *phantom, larmor_device *dev, larmor_dtype dtype,
                                          larmor_shape shape, const double *extent, int coils, larmor_array **maps)
{
    LMR_NEED_OUT(maps, dev);
    int ndim = shape.ndim == 3 ? 3 : 2;
    if (phantom) ndim = phantom->ndim;
    LMR_TRY(lmr_image_check("phantom coils", ndim, dtype, shape));
    for (int d = 0; extent && d < ndim; d++)
        LMR_REFUSE(!(extent[d] > 0 && extent[d] <= 100), LARMOR_ERR_ARG,
                   "phantom coils: got an extent of %g, expected more than 0, at most 100", extent[d]);
    const double given[3] = {extent ? extent[0] : 1, extent ? extent[1] : 1, extent && ndim == 3 ? extent[2] : 1};
    if (phantom) return make_maps(dev, dtype, shape, given, coils, phantom, maps);
    LMR_HEAP LMR_NEW_ZEROS(larmor_phantom, nothing, 1);
    nothing->ndim = ndim;
    nothing->reach = 1;
    return make_maps(dev, dtype, shape, given, coils, nothing, maps);
}
