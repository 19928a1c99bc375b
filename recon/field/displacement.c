/* Images whose voxels are displaced: resampling, the Jacobian, the inverse of a displacement.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

/* Of the inverse: steps, and the change in voxels that ends them. Displacements shrink by their derivative a step. */
enum { MOST_STEPS = 200 };
#define SETTLED_VOXELS 1e-10

/* ---- interpolation on the host ---- */

typedef struct box {
    int nd;
    int64_t dim[3], voxels;
} box;

static box box_of(larmor_shape image)
{
    box b = {.nd = image.ndim, .dim = {1, 1, 1}, .voxels = larmor_shape_count(image)};
    for (int d = 0; d < image.ndim; d++) b.dim[d] = image.dim[d];
    return b;
}

/* Where voxel i of the image is, in indices. */
static void place_of(const box *b, int64_t i, double at[3])
{
    for (int d = 0; d < 3; d++) {
        at[d] = (double)(i % b->dim[d]);
        i /= b->dim[d];
    }
}

/* The four weights of cubic convolution and their indices along an axis; beyond the image that of its edge. */
static void cubic(double at, int64_t n, double weight[4], int64_t index[4])
{
    const double inside = fmin(fmax(at, 0), (double)(n - 1)), low = floor(inside), u = inside - low;
    weight[0] = ((-0.5 * u + 1) * u - 0.5) * u;
    weight[1] = (1.5 * u - 2.5) * u * u + 1;
    weight[2] = ((-1.5 * u + 2) * u + 0.5) * u;
    weight[3] = (0.5 * u - 0.5) * u * u;
    for (int64_t j = 0; j < 4; j++) {
        const int64_t i = (int64_t)low + j - 1;
        const int64_t below = i < n ? i : n - 1;
        index[j] = i < 0 ? 0 : below;
    }
}

/* sum[c] of `count` arrays of `voxels` numbers at a place: `parts` of them are a number. */
static void sample(const box *b, const double *x, int64_t parts, int64_t count, const double at[3], double *sum)
{
    double w[3][4] = {{1}, {1}, {1}};
    int64_t i[3][4] = {{0}, {0}, {0}}, taps[3] = {1, 1, 1};
    for (int d = 0; d < b->nd; d++) {
        if (b->dim[d] == 1) continue;
        cubic(at[d], b->dim[d], w[d], i[d]);
        taps[d] = 4;
    }
    memset(sum, 0, sizeof *sum * (size_t)(count * parts));
    for (int64_t c = 0; c < taps[2]; c++)
        for (int64_t e = 0; e < taps[1]; e++)
            for (int64_t a = 0; a < taps[0]; a++) {
                const double weight = w[0][a] * w[1][e] * w[2][c];
                const int64_t voxel = i[0][a] + b->dim[0] * (i[1][e] + b->dim[1] * i[2][c]);
                for (int64_t m = 0; m < count; m++)
                    for (int64_t p = 0; p < parts; p++)
                        sum[m * parts + p] += weight * x[(voxel + m * b->voxels) * parts + p];
            }
}

/* ---- displacements ---- */

/* Of an image [image...] or arrays with more behind that; d on the host. */
static larmor_status read_displacement(const char *who, const larmor_array *displacement, larmor_shape *image,
                                       double **d)
{
    *d = NULL;
    LMR_OWN(larmor_array, real, lmr_input_real(who, "the displacement", displacement, &real));
    const larmor_shape s = larmor_array_shape(displacement);
    LMR_REFUSE(s.ndim < 2 || s.ndim > 4 || s.dim[s.ndim - 1] != s.ndim - 1 || larmor_shape_count(s) < 1,
               LARMOR_ERR_SHAPE, "%s: the displacement is %s, expected [image..., as many as dimensions]", who,
               lmr_describe(displacement).s);
    *image = larmor_shape_of(s.ndim - 1, s.dim);
    return larmor_array_download(real, LARMOR_F64, d);
}

/* d d_a / d r_e at voxel i, by central differences, one-sided ones at the edges. */
static double derivative(const box *b, const double *d, int64_t i, int a, int e)
{
    double at[3];
    int64_t stride = 1;
    place_of(b, i, at);
    if (b->dim[e] == 1) return 0;
    for (int k = 0; k < e; k++) stride *= b->dim[k];
    const int64_t back = at[e] > 0 ? stride : 0;
    const int64_t ahead = at[e] + 1 < (double)b->dim[e] ? stride : 0;
    const double *one = d + b->voxels * a;
    return (one[i + ahead] - one[i - back]) / (double)((back + ahead) / stride);
}

static double determinant(const box *b, const double *d, int64_t i)
{
    double m[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int a = 0; a < b->nd; a++)
        for (int e = 0; e < b->nd; e++) m[a][e] += derivative(b, d, i, a, e);
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

larmor_status larmor_displacement_jacobian(const larmor_array *displacement, larmor_array **jacobian)
{
    LMR_NEED_OUT(jacobian);
    larmor_shape image;
    LMR_OWN_MEMORY(double, d, read_displacement("jacobian", displacement, &image, &d));
    const box b = box_of(image);
    LMR_HEAP LMR_NEW(double, j, b.voxels);
    for (int64_t i = 0; i < b.voxels; i++) j[i] = determinant(&b, d, i);
    return larmor_array_upload(larmor_array_device(displacement), LARMOR_F64, image, LARMOR_F64, j, jacobian);
}

/* e with e = -d(r + e), from 0; 0 where it does not settle: there the displacement folds space. */
static int invert_at(const box *b, const double *d, int64_t i, double e[3])
{
    double at[3], from[3], moved[3];
    place_of(b, i, at);
    for (int a = 0; a < 3; a++) e[a] = 0;
    for (int step = 0; step < MOST_STEPS; step++) {
        double change = 0;
        for (int a = 0; a < 3; a++) from[a] = at[a] + e[a];
        sample(b, d, 1, b->nd, from, moved);
        for (int a = 0; a < b->nd; a++) {
            change = fmax(change, fabs(-moved[a] - e[a]));
            e[a] = -moved[a];
        }
        if (change < SETTLED_VOXELS) return 1;
    }
    return 0;
}

larmor_status larmor_displacement_inverse(const larmor_array *displacement, larmor_array **inverse)
{
    LMR_NEED_OUT(inverse);
    larmor_shape image;
    LMR_OWN_MEMORY(double, d, read_displacement("inverse", displacement, &image, &d));
    const box b = box_of(image);
    LMR_HEAP LMR_NEW(double, out, b.voxels *b.nd);
    for (int64_t i = 0; i < b.voxels; i++) {
        double e[3];
        LMR_REFUSE(!invert_at(&b, d, i, e), LARMOR_ERR_NUMERIC,
                   "inverse: the displacement about voxel %lld has none: it folds space, or is not smooth.",
                   (long long)i);
        for (int a = 0; a < b.nd; a++) out[i + b.voxels * a] = e[a];
    }
    return larmor_array_upload(larmor_array_device(displacement), LARMOR_F64, larmor_array_shape(displacement),
                               LARMOR_F64, out, inverse);
}

/* ---- images ---- */

/* x [image..., more] at r + d(r), by cubic convolution. */
static larmor_status warp_cubic(const larmor_array *x, const box *b, const double *d, double *y)
{
    const int64_t count = larmor_array_count(x) / b->voxels;
    LMR_HEAP LMR_NEW(double, sum, 2 * count);
    LMR_OWN_MEMORY(double, value, larmor_array_download(x, LARMOR_C128, &value));
    for (int64_t i = 0; i < b->voxels; i++) {
        double at[3];
        place_of(b, i, at);
        for (int a = 0; a < b->nd; a++) at[a] += d[i + b->voxels * a];
        sample(b, value, 2, count, at, sum);
        for (int64_t c = 0; c < count; c++) memcpy(y + 2 * (i + c * b->voxels), sum + 2 * c, 2 * sizeof *y);
    }
    return LARMOR_OK;
}

/* The same of images that are sums of the frequencies of their own grid: a Fourier transform, and a type 2 at the
 * displaced voxels, which is exact for them. */
static larmor_status warp_band(const larmor_array *x, const box *b, larmor_shape image, const double *d, double *y)
{
    larmor_device *dev = larmor_array_device(x);
    const int64_t nd = b->nd, count = larmor_array_count(x) / b->voxels;
    const larmor_shape flat = larmor_shape_append(image, count);
    larmor_nufft_opts opts = {.ndim = b->nd, .batch = count, .sign = 1, .tol = 1e-10, .dtype = LARMOR_C128};
    LMR_HEAP double *points = lmr_new(nd * b->voxels, sizeof *points);
    LMR_OWNED(larmor_array) *at = NULL, *one = NULL, *shaped = NULL, *spectrum = NULL, *made = NULL;
    LMR_OWNED(larmor_op) *F = NULL, *N = NULL;
    if (!points) return LMR_NO_MEMORY();
    for (int a = 0; a < b->nd; a++) opts.modes[a] = b->dim[a];
    for (int64_t i = 0; i < b->voxels; i++) {
        double r[3];
        place_of(b, i, r);
        for (int64_t a = 0; a < nd; a++) points[a + nd * i] = r[a] - (double)(b->dim[a] / 2) + d[i + b->voxels * a];
    }
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, b->voxels), LARMOR_F64, points, &at));
    LMR_TRY(larmor_array_convert(x, LARMOR_C128, &one));
    LMR_TRY(larmor_array_reshape(one, flat, &shaped));
    LMR_TRY(larmor_op_fft(dev, LARMOR_C128, flat, (1u << nd) - 1, &(larmor_fft_opts){.centred = 1}, &F));
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, flat, &spectrum));
    LMR_TRY(larmor_op_forward(F, shaped, spectrum));
    LMR_TRY(larmor_op_nufft(dev, &opts, at, &N));
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, larmor_op_out_shape(N), &made));
    LMR_TRY(larmor_op_forward(N, spectrum, made));
    LMR_TRY(larmor_axpby(1 / (double)b->voxels, made, 0, made));
    return larmor_array_read(made, y, larmor_array_bytes(made));
}

/* Nothing is known of places beyond the image: 0. Elsewhere times the Jacobian, if that is asked for. */
static void finish(const box *b, const double *d, int64_t count, int jacobian, double *y)
{
    for (int64_t i = 0; i < b->voxels; i++) {
        double at[3];
        double factor = jacobian ? determinant(b, d, i) : 1;
        place_of(b, i, at);
        for (int a = 0; a < b->nd; a++) {
            const double r = at[a] + d[i + b->voxels * a];
            if (r < -0.5 || r > (double)b->dim[a] - 0.5) factor = 0;
        }
        for (int64_t c = 0; c < 2 * count; c++) y[2 * (i + c / 2 * b->voxels) + c % 2] *= factor;
    }
}

static larmor_status expect_image(const larmor_array *x, larmor_shape image)
{
    const larmor_shape s = larmor_array_shape(x);
    if (s.ndim >= image.ndim && !memcmp(s.dim, image.dim, sizeof *s.dim * (size_t)image.ndim) &&
        larmor_array_count(x))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "warp: the image is %s, expected [image..., more] as the displacement has it",
                    lmr_describe(x).s);
}

larmor_status larmor_warp(const larmor_array *x, const larmor_array *displacement, const larmor_warp_opts *opts,
                          larmor_array **y)
{
    static const larmor_warp_opts standard = {0};
    LMR_NEED_OUT(y, x);
    larmor_shape image;
    if (!opts) opts = &standard;
    LMR_REFUSE((unsigned)opts->by > LARMOR_WARP_CUBIC, LARMOR_ERR_ARG,
               "warp: by is %d, expected LARMOR_WARP_BAND or LARMOR_WARP_CUBIC", (int)opts->by);
    LMR_OWN_MEMORY(double, d, read_displacement("warp", displacement, &image, &d));
    LMR_TRY(expect_image(x, image));
    const box b = box_of(image);
    const int64_t all = larmor_array_count(x);
    LMR_HEAP LMR_NEW(double, out, 2 * all);
    if (opts->by == LARMOR_WARP_CUBIC)
        LMR_TRY(warp_cubic(x, &b, d, out));
    else
        LMR_TRY(warp_band(x, &b, image, d, out));
    finish(&b, d, all / b.voxels, opts->jacobian, out);
    if (!lmr_is_complex(larmor_array_dtype(x)))
        for (int64_t i = 0; i < all; i++) out[i] = out[2 * i];
    const larmor_dtype held = lmr_is_complex(larmor_array_dtype(x)) ? LARMOR_C128 : LARMOR_F64;
    return larmor_array_upload(larmor_array_device(x), larmor_array_dtype(x), larmor_array_shape(x), held, out, y);
}
