/* A field camera's log as phases of solid harmonics, and as a trajectory: Barmet, De Zanche, Pruessmann, Magn. Reson.
 * Med. 60, 187 (2008). SPDX-License-Identifier: Apache-2.0 */
#include "larmor/camera.h"

#include "core/core.h"
#include "recon/lapack.h"

#define MAX_CONDITION 1e4 /* of harmonics at probes: more is a place that is missing, and not noise */

enum { MOST_TERMS = LARMOR_HARMONICS };

/* ---- harmonics at the probes ---- */

typedef struct fit {
    int terms;
    int64_t probes;
    double scale[MOST_TERMS]; /* of each harmonic, its root mean square over the probes */
    double *inverse;          /* [terms, probes]: coefficients of phases */
} fit;

LMR_FREES(free_fit, fit, inverse)

static void scale_columns(double *h, fit *f)
{
    for (int l = 0; l < f->terms; l++) {
        double sum = 0;
        for (int64_t p = 0; p < f->probes; p++) sum += pow(h[p + f->probes * l], 2);
        f->scale[l] = sqrt(sum / (double)f->probes);
        for (int64_t p = 0; p < f->probes && sum > 0; p++) h[p + f->probes * l] /= f->scale[l];
    }
}

/* The inverse of H^T H by its eigenvectors, whose least one says whether the probes determine the terms. */
static larmor_status invert(const double *h, const fit *f, double inverse[MOST_TERMS][MOST_TERMS], double *condition)
{
    const int n = f->terms;
    double complex gram[MOST_TERMS * MOST_TERMS];
    double value[MOST_TERMS];
    int solved;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            double sum = 0;
            for (int64_t p = 0; p < f->probes; p++) sum += h[p + f->probes * a] * h[p + f->probes * b];
            gram[b + n * a] = sum;
        }
    LMR_TRY(lmr_lapack_eigen(n, gram, value, &solved));
    *condition = solved && value[0] > 0 ? sqrt(value[n - 1] / value[0]) : INFINITY;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            inverse[a][b] = 0;
            for (int i = 0; i < n && *condition <= MAX_CONDITION; i++)
                inverse[a][b] += creal(gram[a + n * i] * conj(gram[b + n * i])) / value[i];
        }
    return LARMOR_OK;
}

/* Of an order; condition above MAX_CONDITION: the probes do not determine it. */
static larmor_status make_fit(const larmor_array *position, int order, fit *f, larmor_camera_report *report)
{
    double inverse[MOST_TERMS][MOST_TERMS];
    *f = (fit){.terms = (order + 1) * (order + 1), .probes = larmor_array_shape(position).dim[1]};
    *report = (larmor_camera_report){.order = order, .condition = INFINITY};
    if (f->probes < f->terms) return LARMOR_OK;
    LMR_OWN(larmor_array, harmonics, larmor_solid_harmonics(position, order, &harmonics));
    LMR_OWN_MEMORY(double, h, larmor_array_download(harmonics, LARMOR_F64, &h));
    scale_columns(h, f);
    LMR_TRY(invert(h, f, inverse, &report->condition));
    if (!(report->condition <= MAX_CONDITION)) return LARMOR_OK;
    LMR_ALLOCATE(f->inverse, f->terms * f->probes);
    for (int a = 0; a < f->terms; a++) {
        report->deviation[a] = sqrt(inverse[a][a]) / f->scale[a];
        for (int64_t p = 0; p < f->probes; p++) {
            double sum = 0;
            for (int b = 0; b < f->terms; b++) sum += inverse[a][b] * h[p + f->probes * b];
            f->inverse[a + f->terms * p] = sum / f->scale[a];
        }
    }
    return LARMOR_OK;
}

static larmor_status choose_fit(const larmor_array *position, int order, fit *f, larmor_camera_report *report)
{
    for (int o = order ? order : 3; o >= 1; o--) {
        LMR_TRY(make_fit(position, o, f, report));
        if (f->inverse || order) break;
    }
    if (f->inverse) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "camera: %lld probes do not determine %d solid harmonics (condition %.2g); expected as many, at "
                    "places that tell them apart.",
                    (long long)f->probes, f->terms, report->condition);
}

/* ---- phases ---- */

/* What each sample's phase is expected to be near, so that its whole turns follow. */
typedef enum expected { AS_BEFORE, AS_FAR_AS_BEFORE } expected;

/* Without whole turns; relative: from the first one on. */
static void unwrap(double *phase, int64_t samples, int relative, expected near)
{
    const double first = relative ? phase[0] : 0;
    double before = phase[0], step = 0;
    for (int64_t i = 0; i < samples; i++) {
        const double likely = before + (near == AS_FAR_AS_BEFORE ? step : 0);
        const double now = phase[i] - 2 * M_PI * nearbyint((phase[i] - likely) / (2 * M_PI));
        step = now - before;
        before = now;
        phase[i] = now - first;
    }
}

/* [samples, readouts, probes] in rad */
static larmor_status read_phases(const larmor_array *x, double **phase)
{
    const larmor_shape shape = larmor_array_shape(x);
    const int64_t count = larmor_array_count(x), samples = shape.dim[0];
    if (lmr_is_complex(larmor_array_dtype(x))) {
        LMR_OWN_MEMORY(double complex, signal, larmor_array_download(x, LARMOR_C128, &signal));
        LMR_ALLOCATE(*phase, count);
        for (int64_t i = 0; i < count; i++) (*phase)[i] = -carg(signal[i]);
    } else {
        LMR_TRY(larmor_array_download(x, LARMOR_F64, phase));
    }
    for (int64_t i = 0; i < count; i++)
        LMR_REFUSE(!isfinite((*phase)[i]), LARMOR_ERR_NUMERIC,
                   "camera: the phase of sample %lld of probe %lld is not finite", (long long)(i % samples),
                   (long long)(i / samples / shape.dim[1]));
    return LARMOR_OK;
}

/* Samples `first` and the following of phases [all, probes]: terms [all, columns] <- their least squares
 * coefficients; returns the squared misfit. */
static double apply(const fit *f, const double *h, const double *phase, int64_t all, int64_t first, int64_t count,
                    double *terms)
{
    double misfit = 0;
    for (int64_t j = first; j < first + count; j++) {
        double c[MOST_TERMS] = {0};
        for (int64_t p = 0; p < f->probes; p++)
            for (int a = 0; a < f->terms; a++) c[a] += f->inverse[a + f->terms * p] * phase[j + all * p];
        for (int64_t p = 0; p < f->probes; p++) {
            double rest = phase[j + all * p];
            for (int a = 0; a < f->terms; a++) rest -= c[a] * h[p + f->probes * a];
            misfit += rest * rest;
        }
        for (int a = 0; a < f->terms; a++) terms[j + all * a] = c[a];
    }
    return misfit;
}

/* A readout's terms by phases without turns as these are expected; returns the squared misfit. shape: of the
 * phases. */
static double fit_readout(const fit *f, const double *h, larmor_shape shape, int64_t readout, int relative,
                          expected near, double *phase, double *terms)
{
    const int64_t samples = shape.dim[0], all = samples * shape.dim[1], first = readout * samples;
    for (int64_t p = 0; p < f->probes; p++) unwrap(phase + first + all * p, samples, relative, near);
    return apply(f, h, phase, all, first, samples, terms);
}

/* Readout by readout: phases move by less than half a turn from a sample to the next; where these do not fit, their
 * steps change by less, if that fits better. */
static void fit_readouts(const fit *f, const double *h, larmor_shape shape, int relative, double *phase,
                         double *terms, larmor_camera_report *report)
{
    const double each = (double)(shape.dim[0] * f->probes);
    double sum = 0;
    for (int64_t r = 0; r < shape.dim[1]; r++) {
        double misfit = fit_readout(f, h, shape, r, relative, AS_BEFORE, phase, terms);
        if (sqrt(misfit / each) > LARMOR_CAMERA_RESIDUAL) {
            const double by_steps = fit_readout(f, h, shape, r, relative, AS_FAR_AS_BEFORE, phase, terms);
            if (by_steps > misfit) misfit = fit_readout(f, h, shape, r, relative, AS_BEFORE, phase, terms);
            misfit = fmin(misfit, by_steps);
        }
        sum += misfit;
        report->largest = fmax(report->largest, sqrt(misfit / each));
    }
    report->residual = sqrt(sum / (each * (double)shape.dim[1]));
}

static larmor_status check(const larmor_array *phase, const larmor_array *position, const larmor_camera_opts *o)
{
    const larmor_shape s = larmor_array_shape(phase), p = larmor_array_shape(position);
    LMR_REFUSE(s.ndim != 3 || larmor_shape_count(s) < 1 || p.ndim != 2 || p.dim[0] != 3 || p.dim[1] != s.dim[2] ||
                   lmr_is_complex(larmor_array_dtype(position)),
               LARMOR_ERR_SHAPE,
               "camera: phases are %s and positions %s, expected [samples, readouts, probes] and real [3, "
               "probes]",
               lmr_describe(phase).s, lmr_describe(position).s);
    LMR_REFUSE(o->order < 0 || o->order > 3, LARMOR_ERR_ARG, "camera: order %d, expected 1 to 3", o->order);
    return LARMOR_OK;
}

larmor_status larmor_field_camera(const larmor_array *phase, const larmor_array *position,
                                  const larmor_camera_opts *opts, larmor_array **terms, larmor_camera_report *report)
{
    const larmor_camera_opts o = opts ? *opts : (larmor_camera_opts){0};
    larmor_camera_report found;
    LMR_FREED_BY(free_fit) fit f = {0};
    LMR_HEAP double *angle = NULL, *h = NULL, *all = NULL;
    LMR_NEED_OUT(terms, phase, position);
    LMR_TRY(check(phase, position, &o));
    LMR_TRY(choose_fit(position, o.order, &f, &found));
    LMR_TRY(read_phases(phase, &angle));
    LMR_OWN(larmor_array, harmonics, larmor_solid_harmonics(position, found.order, &harmonics));
    LMR_TRY(larmor_array_download(harmonics, LARMOR_F64, &h));
    const larmor_shape s = larmor_array_shape(phase);
    const int64_t count = s.dim[0] * s.dim[1];
    const int64_t columns = found.order == 3 ? 16 : 9;
    int64_t numbers;
    if (lmr_mul(count, columns, &numbers)) all = calloc((size_t)numbers, sizeof *all);
    if (!all) return LMR_NO_MEMORY();
    fit_readouts(&f, h, s, o.relative, angle, all, &found);
    if (report) *report = found;
    return larmor_array_upload(larmor_array_device(phase), LARMOR_F64, LARMOR_SHAPE(s.dim[0], s.dim[1], columns),
                               LARMOR_F64, all, terms);
}

larmor_status larmor_camera_traj(const larmor_array *terms, const double (*direction)[3], const double *fov_m, int nd,
                                 larmor_array **traj)
{
    LMR_NEED_OUT(traj, terms, fov_m);
    const larmor_shape s = larmor_array_shape(terms);
    LMR_REFUSE(s.ndim != 3 || s.dim[2] < 4 || lmr_is_complex(larmor_array_dtype(terms)) || larmor_shape_count(s) < 1,
               LARMOR_ERR_SHAPE, "camera: terms are %s, expected real [samples, readouts, 4 or more]",
               lmr_describe(terms).s);
    LMR_REFUSE(nd < 2 || nd > 3, LARMOR_ERR_ARG, "camera: a trajectory in %dD, expected 2D or 3D", nd);
    for (int d = 0; d < nd; d++)
        LMR_REFUSE(!(fov_m[d] > 0 && isfinite(fov_m[d])), LARMOR_ERR_ARG,
                   "camera: a field of view of %g m, expected a length", fov_m[d]);
    const int64_t count = s.dim[0] * s.dim[1];
    LMR_HEAP double *k = lmr_new(count, (size_t)nd * sizeof *k);
    if (!k) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(double, phase, larmor_array_download(terms, LARMOR_F64, &phase));
    for (int64_t j = 0; j < count; j++)
        for (int d = 0; d < nd; d++) {
            k[nd * j + d] = 0;
            for (int a = 0; a < 3; a++) {
                const double along = direction ? direction[d][a] : (double)(a == d);
                k[nd * j + d] += along * phase[j + count * (1 + a)] / (2 * M_PI) * fov_m[d];
            }
        }
    return larmor_array_upload(larmor_array_device(terms), LARMOR_F64, LARMOR_SHAPE(nd, s.dim[0], s.dim[1]),
                               LARMOR_F64, k, traj);
}
