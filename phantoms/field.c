/* Off-resonance as shims and susceptibility leave it: second-order harmonics and a dipole, beside what is linear
 * in space.
 *
 * All of it is periodic in a room of twice the field of view, so that exp(2 pi i f(r) t) is a Fourier series whose
 * waves shift k-space, which is exact. Sources: Romeo and Hoult, Magn. Reson. Med. 1, 44 (1984) for the harmonics;
 * Marques and Bowtell, Concepts Magn. Reson. B 25, 65 (2005) for the dipole. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/field.h"

#include <complex.h>
#include <stdatomic.h>

#include "core/core.h"

#define ROOM 1           /* half of what is periodic, in fields of view */
#define DIPOLE_SIGMA .08 /* of the magnetised region, in fields of view */
#define NEGLIGIBLE 1e-6  /* of a wave, beside the sum of all */
#define MOST_HZ 1e6

enum {
    DIPOLE_WAVES = 24, /* beyond, a Gaussian of that width has 1e-8 */
    DIPOLE_SIDE = 2 * DIPOLE_WAVES + 1,
    LEAST_GRID = 32,
    MOST_GRID_2D = 256,
    MOST_GRID_3D = 128
};

static int64_t power(int64_t n, int exponent)
{
    int64_t result = 1;
    for (int d = 0; d < exponent; d++) result *= n;
    return result;
}

/* ---- the field ---- */

int lmr_field_is_linear(const larmor_phantom_field *f)
{
    return f->shim[0] == 0 && f->shim[1] == 0 && f->shim[2] == 0 && f->dipole == 0;
}

static larmor_status check(const larmor_phantom_field *f)
{
    int good = fabs(f->hz) <= MOST_HZ && fabs(f->dipole) <= MOST_HZ;
    for (int d = 0; d < 3; d++)
        good &= fabs(f->gradient[d]) <= MOST_HZ && fabs(f->shim[d]) <= MOST_HZ && fabs(f->dipole_at[d]) <= ROOM;
    if (good) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_ARG,
        "phantom field: got %g Hz in the centre, gradients %g, %g, %g, shims %g, %g, %g and a dipole of %g Hz at "
        "%g, %g, %g, expected numbers up to %g, and a place up to %d",
        f->hz, f->gradient[0], f->gradient[1], f->gradient[2], f->shim[0], f->shim[1], f->shim[2], f->dipole,
        f->dipole_at[0], f->dipole_at[1], f->dipole_at[2], MOST_HZ, ROOM);
}

/* Nearly x, and periodic: the first terms of the sawtooth's series, weighted so that powers up to the sixth
 * cancel. */
static double periodic(double x)
{
    const double angle = M_PI * x / ROOM;
    return ROOM / M_PI * (1.5 * sin(angle) - .3 * sin(2 * angle) + sin(3 * angle) / 30);
}

static double shims_at(const larmor_phantom_field *f, const double r[3])
{
    const double x = periodic(r[0]), y = periodic(r[1]), z = periodic(r[2]);
    return 4 * (f->shim[0] * (x * x - y * y) + 2 * f->shim[1] * x * y + f->shim[2] * (z * z - (x * x + y * y) / 2));
}

/* Wave l of the field of a Gaussian region around 0, magnetised along the last axis. */
static double dipole_wave(int ndim, const int l[3])
{
    double square = 0;
    for (int d = 0; d < ndim; d++) square += (double)l[d] * l[d];
    if (square == 0) return 0;
    const double along = (double)l[ndim - 1] * l[ndim - 1] / square;
    const double k = M_PI * DIPOLE_SIGMA / ROOM;
    return (1.0 / ndim - along) * exp(-k * k * square / 2);
}

static void wave_of(int ndim, int64_t i, int l[3])
{
    l[0] = l[1] = l[2] = 0;
    for (int d = 0; d < ndim; d++, i /= DIPOLE_SIDE) l[d] = (int)(i % DIPOLE_SIDE) - DIPOLE_WAVES;
}

/* Its largest value, which is on the axis. */
static double dipole_peak(int ndim)
{
    double along[DIPOLE_SIDE] = {0}, peak = 0;
    for (int64_t i = 0; i < power(DIPOLE_SIDE, ndim); i++) {
        int l[3];
        wave_of(ndim, i, l);
        along[l[ndim - 1] + DIPOLE_WAVES] += dipole_wave(ndim, l);
    }
    for (int step = 0; step <= 200; step++) {
        double sum = 0;
        for (int l = -DIPOLE_WAVES; l <= DIPOLE_WAVES; l++)
            sum += along[l + DIPOLE_WAVES] * cos(M_PI * l * step / 200. / ROOM);
        peak = fmax(peak, sum);
    }
    return peak;
}

/* to [n, rows] <- sum over the waves along the first axis of from [waves, rows], at the places; transposed to
 * [rows, n]. */
static void sum_axis(int64_t rows, const double complex *from, int64_t n, const double *place, double shift,
                     double complex *to)
{
    for (int64_t i = 0; i < n; i++) {
        double complex turn[DIPOLE_SIDE];
        for (int l = -DIPOLE_WAVES; l <= DIPOLE_WAVES; l++)
            turn[l + DIPOLE_WAVES] = cexp(I * (M_PI * l * (place[i] - shift) / ROOM));
        for (int64_t row = 0; row < rows; row++) {
            double complex sum = 0;
            for (int l = 0; l < DIPOLE_SIDE; l++) sum += from[l + DIPOLE_SIDE * row] * turn[l];
            to[row + rows * i] = sum;
        }
    }
}

/* hz [n...] += the dipole's field at the places of each axis. */
static larmor_status add_dipole(const larmor_phantom_field *f, int ndim, const int64_t n[3], double *const place[3],
                                double *hz)
{
    int64_t room = power(DIPOLE_SIDE, ndim), rows = room;
    if (f->dipole == 0) return LARMOR_OK;
    for (int d = 0, left = ndim; d < ndim; d++) {
        int64_t count = power(DIPOLE_SIDE, --left);
        for (int e = 0; e <= d; e++) count *= n[e];
        if (count > room) room = count;
    }
    LMR_HEAP double complex *a = lmr_new(room, sizeof *a), *b = lmr_new(room, sizeof *b);
    const int created = a && b;
    const double scale = f->dipole / dipole_peak(ndim);
    for (int64_t i = 0; created && i < power(DIPOLE_SIDE, ndim); i++) {
        int l[3];
        wave_of(ndim, i, l);
        a[i] = scale * dipole_wave(ndim, l);
    }
    for (int d = 0; created && d < ndim; d++) {
        rows /= DIPOLE_SIDE;
        sum_axis(rows, a, n[d], place[d], f->dipole_at[d], b);
        rows *= n[d];
        double complex *const spare = a;
        a = b;
        b = spare;
    }
    for (int64_t i = 0; created && i < rows; i++) hz[i] += creal(a[i]);
    return created ? LARMOR_OK : LMR_NO_MEMORY();
}

static larmor_status add_curved(const larmor_phantom_field *f, int ndim, const int64_t n[3], double *const place[3],
                                double *hz)
{
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) count *= n[d];
    for (int64_t i = 0; i < count; i++) {
        double r[3] = {0};
        int64_t rest = i;
        for (int d = 0; d < ndim; d++, rest /= n[d - 1]) r[d] = place[d][rest % n[d]];
        hz[i] += shims_at(f, r);
    }
    return add_dipole(f, ndim, n, place, hz);
}

typedef double *places[3];

/* Where the voxels of each axis of a field of view of this extent are; to be freed. */
static larmor_status find_places(int ndim, const int64_t n[3], double extent, places place)
{
    for (int d = 0; d < ndim; d++) {
        LMR_ALLOCATE(place[d], n[d]);
        for (int64_t i = 0; i < n[d]; i++) place[d][i] = extent * lmr_voxel(i, n[d]);
    }
    return LARMOR_OK;
}

static void free_places(places *place)
{
    for (int d = 0; d < 3; d++) free((*place)[d]);
}

larmor_status larmor_phantom_field_map(const larmor_phantom_field *field, larmor_device *dev, larmor_dtype dtype,
                                       larmor_shape shape, larmor_array **map)
{
    LMR_NEED_OUT(map, field, dev);
    LMR_REFUSE(!lmr_is_real(dtype), LARMOR_ERR_ARG, "phantom field: got %s, expected f32 or f64",
               larmor_dtype_name(dtype));
    LMR_TRY(lmr_image_check("phantom field", shape.ndim == 3 ? 3 : 2, LARMOR_C64, shape));
    LMR_TRY(check(field));
    LMR_FREED_BY(free_places) places place = {NULL};
    LMR_HEAP LMR_NEW(double, host, larmor_shape_count(shape));
    LMR_TRY(find_places(shape.ndim, shape.dim, 1, place));
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) {
        int64_t rest = i;
        host[i] = field->hz;
        for (int d = 0; d < shape.ndim; rest /= shape.dim[d], d++)
            host[i] += field->gradient[d] * place[d][rest % shape.dim[d]];
    }
    LMR_TRY(add_curved(field, shape.ndim, shape.dim, place, host));
    return larmor_array_upload(dev, dtype, shape, LARMOR_F64, host, map);
}

/* ---- its waves ---- */

typedef struct expansion {
    int ndim, n;       /* points of the room along each axis */
    int most;          /* waves from -most to most along each axis */
    double *hz;        /* [n^ndim] */
    double (*turn)[2]; /* [n] exp(-2 pi i j / n) */
} expansion;

/* to [2 most + 1, rows] <- the transform along the first axis of from [n, rows], transposed to [rows, 2 most + 1]. */
static void transform(const expansion *e, int most, int64_t rows, const double (*from)[2], double (*to)[2])
{
    for (int64_t row = 0; row < rows; row++) {
        const double(*x)[2] = from + e->n * row;
        for (int l = -most; l <= most; l++) {
            double re = 0, im = 0;
            const int step = (l + e->n) % e->n;
            int at = (int)((int64_t)step * (e->n - e->n / 2) % e->n); /* point 0 is at -n / 2 */
            for (int i = 0; i < e->n; i++) {
                const double c = e->turn[at][0], s = e->turn[at][1];
                re += x[i][0] * c - x[i][1] * s;
                im += x[i][0] * s + x[i][1] * c;
                at += step;
                if (at >= e->n) at -= e->n;
            }
            to[row + rows * (l + most)][0] = re / e->n;
            to[row + rows * (l + most)][1] = im / e->n;
        }
    }
}

/* wave [(2 most + 1)^ndim] <- the parts of the waves of exp(2 pi i f t), the first axis fastest; both have room for
 * max(n, 2 most + 1)^ndim. */
static void find_waves(const expansion *e, int most, double t, double (*wave)[2], double (*spare)[2])
{
    const int64_t points = power(e->n, e->ndim);
    int64_t count = points;
    for (int64_t i = 0; i < points; i++) {
        wave[i][0] = cos(2 * M_PI * e->hz[i] * t);
        wave[i][1] = sin(2 * M_PI * e->hz[i] * t);
    }
    for (int d = 0; d < e->ndim; d++) { /* each turns the axes by one */
        const int64_t rows = count / e->n;
        transform(e, most, rows, wave, spare);
        count = rows * (2 * most + 1);
        memcpy(wave, spare, (size_t)count * sizeof *wave);
    }
}

/* The least box of waves outside which there is nothing. */
static int reach_of(const expansion *e, int most, const double (*wave)[2])
{
    const int side = 2 * most + 1;
    int reach = 0;
    for (int64_t i = 0; i < power(side, e->ndim); i++) {
        if (hypot(wave[i][0], wave[i][1]) < NEGLIGIBLE) continue;
        int64_t rest = i;
        for (int d = 0; d < e->ndim; d++, rest /= side) {
            const int l = abs((int)(rest % side) - most);
            if (l > reach) reach = l;
        }
    }
    return reach;
}

static void free_expansion(expansion *e)
{
    LMR_FREE(e->hz, e->turn);
    e->hz = NULL;
    e->turn = NULL;
}

/* With n points along each axis; e->most is n / 2 - 1 or nearly that where these are not enough. */
static larmor_status try_grid(const larmor_phantom_field *f, double longest, int n, expansion *e)
{
    const int64_t points = power(n, e->ndim), sides[3] = {n, n, n};
    const int all = n / 2 - 1;
    LMR_FREED_BY(free_places) places place = {NULL};
    e->n = n;
    LMR_ALLOCATE_ZEROS(e->hz, points);
    LMR_ALLOCATE(e->turn, n);
    LMR_HEAP double(*wave)[2] = lmr_new(points, sizeof *wave);
    LMR_HEAP double(*spare)[2] = lmr_new(points, sizeof *spare);
    if (!wave || !spare) return LMR_NO_MEMORY();
    LMR_TRY(find_places(e->ndim, sides, 2 * ROOM, place));
    LMR_TRY(add_curved(f, e->ndim, sides, place, e->hz));
    for (int j = 0; j < n; j++) {
        e->turn[j][0] = cos(2 * M_PI * j / n);
        e->turn[j][1] = -sin(2 * M_PI * j / n);
    }
    find_waves(e, all, longest, wave, spare);
    e->most = reach_of(e, all, (const double(*)[2])wave);
    return LARMOR_OK;
}

/* longest: the largest |t|. Free e in any case. */
static larmor_status expand(const larmor_phantom_field *f, double longest, expansion *e)
{
    const int most = e->ndim == 3 ? MOST_GRID_3D : MOST_GRID_2D;
    for (int n = LEAST_GRID; n <= most; n *= 2) {
        free_expansion(e);
        LMR_TRY(try_grid(f, longest, n, e));
        if (e->most < 3 * n / 8) return LARMOR_OK;
    }
    return LMR_FAIL(
        LARMOR_ERR_ARG,
        "phantom field: it varies too much over %g s for a series of %d waves along an axis; fewer Hz expected",
        longest, most);
}

/* ---- k-space ---- */

typedef struct sampling {
    const expansion *e;
    const lmr_coils *coils, *tile; /* tile: a coil whose frequencies are waves of the series */
    const lmr_spectrum *spectrum;  /* seen by the tile */
    const double *points, *cycles, *times;
    int64_t count, each;
    larmor_dtype dtype;
    void *host;
    atomic_int no_memory;
} sampling;

typedef struct box { /* the object's transform at the waves -reach .. reach of the series around a point of k-space */
    int reach;
    double (*value)[2];
} box;

static int64_t index_in(int ndim, int reach, const int l[3])
{
    int64_t index = 0;
    for (int d = ndim - 1; d >= 0; d--) index = index * (2 * reach + 1) + l[d] + reach;
    return index;
}

static void fill_box(const sampling *p, const double k[3], const box *b)
{
    const int ndim = p->e->ndim, order = p->tile->order, side = 2 * order + 1;
    const int tiles = (2 * b->reach + side) / side;
    for (int64_t i = 0; i < power(tiles, ndim); i++) {
        double at[3] = {k[0], k[1], k[2]}, out[LMR_COIL_MODES][2];
        int first[3] = {0};
        int64_t rest = i;
        for (int d = 0; d < ndim; d++, rest /= tiles) {
            first[d] = (int)(rest % tiles) * side - b->reach; /* the tile has first .. first + 2 order */
            at[d] -= (first[d] + order) / (2.0 * ROOM);
        }
        lmr_spectrum_at(p->spectrum, at, out);
        for (int m = 0; m < p->tile->modes; m++) {
            int l[3] = {0}, in = 1;
            for (int d = 0, of = m; d < ndim; d++, of /= side) {
                l[d] = first[d] + of % side;
                in &= l[d] <= b->reach;
            }
            if (!in) continue;
            const int64_t to = index_in(ndim, b->reach, l);
            b->value[to][0] = out[m][0];
            b->value[to][1] = out[m][1];
        }
    }
}

/* sum over the waves of their part times the transform that they and frequency m of the coils shift to. */
static void sum_waves(const sampling *p, const double (*wave)[2], int reach, const box *b, int m, double sum[2])
{
    const int ndim = p->e->ndim, side = 2 * p->e->most + 1, order = p->coils->order, modes = 2 * order + 1;
    int shift[3] = {0}, l[3] = {0};
    for (int d = 0, rest = m; d < ndim; d++, rest /= modes) shift[d] = rest % modes - order;
    sum[0] = sum[1] = 0;
    const int ends[3] = {reach, reach, ndim == 3 ? reach : 0};
    for (l[2] = -ends[2]; l[2] <= ends[2]; l[2]++)
        for (l[1] = -ends[1]; l[1] <= ends[1]; l[1]++) {
            const int start[3] = {shift[0] - reach, shift[1] + l[1], shift[2] + l[2]};
            const int64_t z = ndim == 3 ? l[2] + p->e->most : 0;
            const double(*w)[2] = wave + (z * side + l[1] + p->e->most) * side + p->e->most - reach;
            const double(*x)[2] = (const double(*)[2])(b->value + index_in(ndim, b->reach, start));
            for (int i = 0; i <= 2 * reach; i++) {
                sum[0] += w[i][0] * x[i][0] - w[i][1] * x[i][1];
                sum[1] += w[i][0] * x[i][1] + w[i][1] * x[i][0];
            }
        }
}

static void put_coils(const sampling *p, int64_t j, const double (*mode)[2])
{
    const double cosine = cos(2 * M_PI * p->cycles[j]);
    const double sine = sin(2 * M_PI * p->cycles[j]);
    for (int64_t c = 0; c < p->coils->count; c++) {
        const double *w = p->coils->weight + 2 * c * p->coils->modes;
        double re = 0, im = 0;
        for (int m = 0; m < p->coils->modes; m++) {
            re += w[2 * m] * mode[m][0] - w[2 * m + 1] * mode[m][1];
            im += w[2 * m] * mode[m][1] + w[2 * m + 1] * mode[m][0];
        }
        lmr_put(p->host, p->dtype, j + p->count * c, re * cosine - im * sine, re * sine + im * cosine);
    }
}

/* All samples that are taken at one time. */
static void sample_time(void *self, int64_t i)
{
    sampling *p = self;
    const expansion *e = p->e;
    const int ndim = e->ndim;
    const int64_t points = power(e->n, ndim);
    const int margin = p->coils->order;
    double(*wave)[2] = lmr_new(points, sizeof *wave), (*spare)[2] = lmr_new(points, sizeof *spare);
    box b = {.value = lmr_new(power(2 * (e->most + margin) + 1, ndim), sizeof *b.value)};
    if (wave && spare && b.value) {
        find_waves(e, e->most, p->times[i], wave, spare);
        const int reach = reach_of(e, e->most, (const double(*)[2])wave);
        b.reach = reach + margin;
        for (int64_t j = i; j < p->count; j += p->each) {
            const double *at = p->points + ndim * j;
            const double k[3] = {at[0], at[1], ndim == 3 ? at[2] : 0};
            double mode[LMR_COIL_MODES][2];
            fill_box(p, k, &b);
            for (int m = 0; m < p->coils->modes; m++) sum_waves(p, (const double(*)[2])wave, reach, &b, m, mode[m]);
            put_coils(p, j, (const double(*)[2])mode);
        }
    } else {
        atomic_store(&p->no_memory, 1);
    }
    LMR_FREE(b.value, spare, wave);
}

static larmor_status sample_all(larmor_device *dev, sampling *p)
{
    LMR_TRY(lmr_parallel(lmr_device_threads(dev), p->each, sample_time, p));
    return atomic_load(&p->no_memory) ? LMR_NO_MEMORY() : LARMOR_OK;
}

larmor_status lmr_field_kspace(const larmor_phantom *phantom, larmor_device *dev, const larmor_phantom_field *field,
                               const lmr_field_samples *samples, int coils, larmor_dtype dtype, larmor_shape shape,
                               larmor_array **kspace)
{
    LMR_FREED_BY(free_expansion) expansion e = {.ndim = phantom->ndim};
    LMR_FREED_BY(lmr_coils_free) lmr_coils set = {0}, tile = {0};
    LMR_FREED_BY(lmr_spectrum_free) lmr_spectrum spectrum = {0};
    double longest = 0;
    LMR_HEAP void *host = NULL;
    LMR_TRY(check(field));
    LMR_REFUSE(phantom->reach > ROOM, LARMOR_ERR_ARG,
               "phantom field: shims and dipoles are for objects within the field of view, got one that "
               "is enlarged %g times",
               phantom->reach);
    for (int64_t i = 0; i < samples->each; i++) longest = fmax(longest, fabs(samples->times[i]));
    LMR_REFUSE(phantom->is_plane, LARMOR_ERR_ARG,
               "phantom field: is for solid and for flat phantoms, got a plane of a solid one");
    LMR_TRY(expand(field, longest, &e));
    LMR_TRY(lmr_coils_create(phantom->ndim, coils, ROOM, &set));
    LMR_TRY(lmr_coils_create(phantom->ndim, 1, ROOM, &tile)); /* whose frequencies are waves of the series */
    LMR_TRY(lmr_spectrum_make(phantom, &tile, &spectrum));
    host = lmr_new(larmor_shape_count(shape), larmor_dtype_size(dtype));
    if (!host) return LMR_NO_MEMORY();
    sampling all = {.e = &e,
                    .coils = &set,
                    .tile = &tile,
                    .spectrum = &spectrum,
                    .points = samples->points,
                    .cycles = samples->cycles,
                    .times = samples->times,
                    .count = samples->count,
                    .each = samples->each,
                    .dtype = dtype,
                    .host = host};
    LMR_TRY(sample_all(dev, &all));
    return larmor_array_upload(dev, dtype, shape, dtype, host, kspace);
}
