/* Exact k-space of a phantom seen by coils: shifted copies of the density's transform. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "phantoms/field.h"

typedef struct sampling {
    const lmr_spectrum *spectrum;
    int64_t count;
    const double *points; /* [nd, count] */
    const double *cycles; /* [count] of each sample's phase, or NULL */
    larmor_dtype dtype;
    void *host;
    int64_t first; /* of the samples to be made */
} sampling;

/* One sample of all coils. */
static void sample_at(void *self, int64_t j)
{
    const sampling *p = self;
    const int64_t nd = p->spectrum->phantom->ndim;
    const lmr_coils *coils = p->spectrum->coils;
    const double k[3] = {p->points[nd * j], p->points[nd * j + 1], nd == 3 ? p->points[nd * j + 2] : 0};
    const double cycles = p->cycles ? p->cycles[j] : 0;
    const double cosine = cos(2 * M_PI * cycles);
    const double sine = sin(2 * M_PI * cycles);
    double mode[LMR_COIL_MODES][2];
    lmr_spectrum_at(p->spectrum, k, mode);
    for (int64_t c = 0; c < coils->count; c++) {
        const double *w = coils->weight + 2 * c * coils->modes;
        double re = 0, im = 0;
        for (int m = 0; m < coils->modes; m++) {
            re += w[2 * m] * mode[m][0] - w[2 * m + 1] * mode[m][1];
            im += w[2 * m] * mode[m][1] + w[2 * m + 1] * mode[m][0];
        }
        lmr_put(p->host, p->dtype, j + p->count * c, re * cosine - im * sine, re * sine + im * cosine);
    }
}

static larmor_status kspace_shape(const larmor_phantom *phantom, const larmor_array *traj, int coils,
                                  larmor_dtype dtype, larmor_shape *shape)
{
    const larmor_shape t = larmor_array_shape(traj);
    LMR_REFUSE(!lmr_is_real(larmor_array_dtype(traj)) || t.ndim != 3 || t.dim[0] != phantom->ndim, LARMOR_ERR_SHAPE,
               "phantom kspace: trajectory is %s, expected f32 or f64 [%d, samples, readouts]", lmr_describe(traj).s,
               phantom->ndim);
    LMR_REFUSE(!lmr_is_complex(dtype), LARMOR_ERR_ARG, "phantom kspace: got %s, expected c64 or c128",
               larmor_dtype_name(dtype));
    *shape = larmor_shape_of(2, t.dim + 1);
    if (coils) *shape = larmor_shape_append(*shape, coils);
    return LARMOR_OK;
}

/* The samples at the points, which may have been moved from traj, the phase of each moved by `cycles`, if any. */
static larmor_status make_kspace(const larmor_phantom *phantom, larmor_device *dev, const double *points,
                                 const double *cycles, int coils, larmor_dtype dtype, larmor_shape shape,
                                 larmor_array **kspace)
{
    LMR_FREED_BY(lmr_coils_free) lmr_coils set = {0};
    LMR_FREED_BY(lmr_spectrum_free) lmr_spectrum spectrum = {0};
    LMR_HEAP void *host = NULL;
    LMR_TRY(lmr_coils_around(phantom, coils, &set));
    host = lmr_new(larmor_shape_count(shape), larmor_dtype_size(dtype));
    if (!host) return LMR_NO_MEMORY();
    LMR_TRY(lmr_spectrum_make(phantom, &set, &spectrum));
    sampling all = {&spectrum, shape.dim[0] * shape.dim[1], points, cycles, dtype, host, 0};
    LMR_TRY(lmr_parallel(lmr_device_threads(dev), all.count, sample_at, &all));
    return larmor_array_upload(dev, dtype, shape, dtype, host, kspace);
}

larmor_status larmor_phantom_kspace(const larmor_phantom *phantom, const larmor_array *traj, int coils,
                                    larmor_dtype dtype, larmor_array **kspace)
{
    LMR_NEED_OUT(kspace, phantom, traj);
    larmor_shape shape;
    LMR_TRY(kspace_shape(phantom, traj, coils, dtype, &shape));
    LMR_OWN_MEMORY(double, points, larmor_array_download(traj, LARMOR_F64, &points));
    return make_kspace(phantom, larmor_array_device(traj), points, NULL, coils, dtype, shape, kspace);
}

/* points [nd, count] <- points - gradient times, cycles [count] <- hz times; times [each] are repeated. */
static void add_field(const larmor_phantom_field *field, int nd, int64_t count, const double *times, int64_t each,
                      double *points, double *cycles)
{
    for (int64_t j = 0; j < count; j++) {
        const double t = times[j % each];
        for (int d = 0; d < nd; d++) points[nd * j + d] -= field->gradient[d] * t;
        cycles[j] = field->hz * t;
    }
}

larmor_status larmor_phantom_kspace_off_resonance(const larmor_phantom *phantom, const larmor_array *traj,
                                                  const larmor_phantom_field *field, const larmor_array *times,
                                                  int coils, larmor_dtype dtype, larmor_array **kspace)
{
    LMR_NEED_OUT(kspace, phantom, traj, field, times);
    larmor_shape shape;
    LMR_TRY(kspace_shape(phantom, traj, coils, dtype, &shape));
    const larmor_shape t = larmor_array_shape(times);
    const int64_t count = shape.dim[0] * shape.dim[1], each = larmor_array_count(times);
    LMR_REFUSE(!lmr_is_real(larmor_array_dtype(times)) || t.ndim < 1 || t.ndim > 2 || t.dim[0] != shape.dim[0] ||
                   (t.ndim == 2 && t.dim[1] != shape.dim[1]),
               LARMOR_ERR_SHAPE, "phantom kspace: times are %s, expected f32 or f64 [%lld] or [%lld, %lld]",
               lmr_describe(times).s, (long long)shape.dim[0], (long long)shape.dim[0], (long long)shape.dim[1]);
    LMR_HEAP LMR_NEW_ZEROS(double, cycles, count + 1);
    LMR_OWN_MEMORY(double, points, larmor_array_download(traj, LARMOR_F64, &points));
    LMR_OWN_MEMORY(double, seconds, larmor_array_download(times, LARMOR_F64, &seconds));
    add_field(field, phantom->ndim, count, seconds, each, points, cycles);
    larmor_device *dev = larmor_array_device(traj);
    const lmr_field_samples samples = {points, cycles, seconds, count, each};
    if (lmr_field_is_linear(field)) return make_kspace(phantom, dev, points, cycles, coils, dtype, shape, kspace);
    return lmr_field_kspace(phantom, dev, field, &samples, coils, dtype, shape, kspace);
}

/* ---- an object that moves ---- */

static void sample_of_run(void *self, int64_t j)
{
    const sampling *p = self;
    sample_at(self, p->first + j);
}

/* The coils as the object sees them: s(turn u + shift). */
static void move_coils(const lmr_coils *coils, const lmr_moved *by, lmr_coils *seen)
{
    for (int m = 0; m < coils->modes; m++) {
        const double *f = coils->frequency[m];
        const double angle = 2 * M_PI * (f[0] * by->shift[0] + f[1] * by->shift[1] + f[2] * by->shift[2]);
        const double cosine = cos(angle), sine = sin(angle);
        for (int b = 0; b < 3; b++)
            seen->frequency[m][b] = by->turn[b] * f[0] + by->turn[3 + b] * f[1] + by->turn[6 + b] * f[2];
        for (int64_t c = 0; c < coils->count; c++) {
            const double *from = coils->weight + 2 * (m + coils->modes * c);
            double *to = seen->weight + 2 * (m + coils->modes * c);
            to[0] = from[0] * cosine - from[1] * sine;
            to[1] = from[0] * sine + from[1] * cosine;
        }
    }
}

/* points <- turn^T points, cycles <- -k.shift */
static void move_points(const lmr_moved *by, int nd, int64_t count, double *points, double *cycles)
{
    for (int64_t j = 0; j < count; j++) {
        double *k = points + nd * j, moved[3] = {0, 0, 0};
        cycles[j] = 0;
        for (int a = 0; a < nd; a++) {
            cycles[j] -= k[a] * by->shift[a];
            for (int b = 0; b < nd; b++) moved[b] += by->turn[3 * a + b] * k[a];
        }
        for (int b = 0; b < nd; b++) k[b] = moved[b];
    }
}

/* Readouts that follow each other in one pose. */
static larmor_status sample_run(const lmr_coils *coils, const lmr_moved *by, int threads, int64_t count,
                                double *points, double *cycles, lmr_coils *seen, sampling *all)
{
    LMR_FREED_BY(lmr_spectrum_free) lmr_spectrum spectrum = {0};
    const int nd = all->spectrum->phantom->ndim;
    move_coils(coils, by, seen);
    move_points(by, nd, count, points + nd * all->first, cycles + all->first);
    LMR_TRY(lmr_spectrum_make(all->spectrum->phantom, seen, &spectrum));
    sampling run = *all;
    run.spectrum = &spectrum;
    return lmr_parallel(threads, count, sample_of_run, &run);
}

larmor_status lmr_phantom_kspace_moving(const larmor_phantom *phantom, const larmor_array *traj,
                                        const lmr_moved *moved, int coils, larmor_dtype dtype, larmor_array **kspace)
{
    LMR_FREED_BY(lmr_coils_free) lmr_coils set = {0}, seen = {0};
    LMR_HEAP double *points = NULL, *cycles = NULL;
    LMR_HEAP void *host = NULL;
    larmor_shape shape;
    *kspace = NULL;
    LMR_TRY(kspace_shape(phantom, traj, coils, dtype, &shape));
    const int64_t samples = shape.dim[0], readouts = shape.dim[1], count = samples * readouts;
    const int threads = lmr_device_threads(larmor_array_device(traj));
    LMR_TRY(lmr_coils_create(phantom->ndim, coils, phantom->reach, &set));
    LMR_TRY(lmr_coils_create(phantom->ndim, coils, phantom->reach, &seen));
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &points));
    host = lmr_new(larmor_shape_count(shape), larmor_dtype_size(dtype));
    cycles = lmr_new(count, sizeof *cycles);
    if (!host || !cycles) return LMR_NO_MEMORY();
    const lmr_spectrum of = {.phantom = phantom, .coils = &seen};
    for (int64_t j = 0, next; j < readouts; j = next) {
        for (next = j + 1; next < readouts && !memcmp(&moved[next], &moved[j], sizeof *moved);) next++;
        sampling all = {&of, count, points, cycles, dtype, host, samples * j};
        LMR_TRY(sample_run(&set, &moved[j], threads, samples * (next - j), points, cycles, &seen, &all));
    }
    return larmor_array_upload(larmor_array_device(traj), dtype, shape, dtype, host, kspace);
}
