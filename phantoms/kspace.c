/* Exact k-space of a phantom seen by coils: shifted copies of the density's transform. SPDX-License-Identifier:
 * Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>
#include <stdlib.h>

larmor_status lmr_spectrum_make(const larmor_phantom *phantom, const lmr_coils *coils, lmr_spectrum *s)
{
    s->phantom = phantom, s->coils = coils, s->blob_waves = NULL;
    for (int i = 0; i < phantom->parts; i++) {
        const lmr_ellipsoid *e = &phantom->part[i];
        s->amplitude[i] = e->density * lmr_ellipsoid_volume(e, phantom->ndim);
        for (int m = 0; m < coils->modes; m++) {
            const double *f = coils->frequency[m];
            const double angle = 2 * M_PI * (f[0] * e->centre[0] + f[1] * e->centre[1] + f[2] * e->centre[2]);
            lmr_ellipsoid_frequency(e, phantom->ndim, f, s->shift[i][m]);
            s->phase[i][m][0] = cos(angle), s->phase[i][m][1] = sin(angle);
        }
    }
    return lmr_blob_waves(phantom, coils, &s->blob_waves);
}

void lmr_spectrum_free(lmr_spectrum *s)
{
    free(s->blob_waves);
    s->blob_waves = NULL;
}

void lmr_spectrum_at(const lmr_spectrum *s, const double k[3], double out[LMR_COIL_MODES][2])
{
    const int ndim = s->phantom->ndim, modes = s->coils->modes;
    for (int m = 0; m < modes; m++) out[m][0] = out[m][1] = 0;
    for (int i = 0; i < s->phantom->parts; i++) {
        const lmr_ellipsoid *e = &s->phantom->part[i];
        double q[3];
        lmr_ellipsoid_frequency(e, ndim, k, q);
        const double angle = -2 * M_PI * (k[0] * e->centre[0] + k[1] * e->centre[1] + k[2] * e->centre[2]);
        const double re = s->amplitude[i] * cos(angle), im = s->amplitude[i] * sin(angle);
        for (int m = 0; m < modes; m++) {
            const double *b = s->shift[i][m], *p = s->phase[i][m];
            const double x = q[0] - b[0], y = q[1] - b[1], z = q[2] - b[2];
            const double f = lmr_ball_transform(ndim, 2 * M_PI * sqrt(x * x + y * y + z * z));
            out[m][0] += f * (re * p[0] - im * p[1]);
            out[m][1] += f * (re * p[1] + im * p[0]);
        }
    }
    lmr_blobs_add_transform(s, k, out);
}

/* A host copy of traj in double. */
static larmor_status read_points(const larmor_array *traj, double **points)
{
    larmor_array *wide;
    LMR_TRY(larmor_array_convert((larmor_array *)traj, LARMOR_F64, &wide)); /* it only counts traj's references */
    *points = malloc(larmor_array_bytes(wide) + 1);
    const larmor_status st = *points ? larmor_array_read(wide, *points, larmor_array_bytes(wide)) : LMR_NO_MEMORY();
    larmor_array_free(wide);
    return st;
}

static void sample(const lmr_spectrum *spectrum, const lmr_coils *coils, int64_t count, const double *points,
                   int threads, larmor_dtype dtype, void *host)
{
    const int64_t nd = spectrum->phantom->ndim;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (int64_t j = 0; j < count; j++) {
        const double k[3] = {points[nd * j], points[nd * j + 1], nd == 3 ? points[nd * j + 2] : 0};
        double mode[LMR_COIL_MODES][2];
        lmr_spectrum_at(spectrum, k, mode);
        for (int64_t c = 0; c < coils->count; c++) {
            const double *w = coils->weight + 2 * c * coils->modes;
            double re = 0, im = 0;
            for (int m = 0; m < coils->modes; m++) {
                re += w[2 * m] * mode[m][0] - w[2 * m + 1] * mode[m][1];
                im += w[2 * m] * mode[m][1] + w[2 * m + 1] * mode[m][0];
            }
            lmr_put(host, dtype, j + count * c, re, im);
        }
    }
}

static larmor_status kspace_shape(const larmor_phantom *phantom, const larmor_array *traj, int coils,
                                  larmor_dtype dtype, larmor_shape *shape)
{
    const larmor_shape t = larmor_array_shape(traj);
    if (lmr_is_complex(larmor_array_dtype(traj)) || t.ndim != 3 || t.dim[0] != phantom->ndim)
        return LMR_FAIL(LARMOR_ERR_SHAPE,
                        "phantom kspace: trajectory is %s, expected f32 or f64 [%d, samples, readouts]",
                        lmr_describe(traj).s, phantom->ndim);
    if (!lmr_is_complex(dtype))
        return LMR_FAIL(LARMOR_ERR_ARG, "phantom kspace: got %s, expected c64 or c128", larmor_dtype_name(dtype));
    *shape = larmor_shape_of(2, t.dim + 1);
    if (coils) *shape = larmor_shape_append(*shape, coils);
    return LARMOR_OK;
}

larmor_status larmor_phantom_kspace(const larmor_phantom *phantom, const larmor_array *traj, int coils,
                                    larmor_dtype dtype, larmor_array **kspace)
{
    *kspace = NULL;
    larmor_shape shape;
    LMR_TRY(kspace_shape(phantom, traj, coils, dtype, &shape));
    lmr_coils set;
    lmr_spectrum spectrum = {0};
    larmor_array *out = NULL;
    double *points = NULL;
    void *host = NULL;
    larmor_device *dev = larmor_array_device(traj);
    larmor_status st;
    LMR_OR(done, lmr_coils_create(phantom->ndim, coils, &set));
    LMR_OR(done, larmor_array_create(dev, dtype, shape, &out));
    LMR_OR(done, read_points(traj, &points));
    host = malloc(larmor_array_bytes(out) + 1);
    if (!host) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    LMR_OR(done, lmr_spectrum_make(phantom, &set, &spectrum));
    sample(&spectrum, &set, shape.dim[0] * shape.dim[1], points, lmr_device_threads(dev), dtype, host);
    LMR_OR(done, larmor_array_write(out, host, larmor_array_bytes(out)));
    *kspace = out, out = NULL;
done:
    free(host), free(points);
    lmr_spectrum_free(&spectrum);
    lmr_coils_free(&set);
    larmor_array_free(out);
    return st;
}
