/* Clipped samples, spikes, and the place of the echo. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/describe.h"

#include "core/core.h"
#include "recon/describe/carrier.h"
#include "recon/describe/fit.h"
#include "recon/describe/offset.h"
#include "recon/inputs.h"

/* Rules of thumb, silent on right simulated scans and on the real ones at hand (docs/checking.md). */
#define MIN_BESIDE_RATIO 4      /* to the samples at its place in the readouts before and after */
#define REL_ROUNDING 1e-6       /* relative: values that are the same */
#define MIN_OTHER_VALUE 1e-4    /* of the largest: values that are not */
#define MIN_OTHER_DISTANCE 1e-3 /* cycles per field of view */
#define MIN_ECHO_DISTANCE 3     /* cycles per field of view */
#define MAX_CENTRE_DISTANCE 0.6 /* cycles per field of view: readouts that pass it at most so far away */
#define ABOVE_NOISE 2      /* of the mean energy: what an echo has beyond the largest of n samples of noise, log(n) */
#define CENTRE_RADIUS 0.25 /* of what the trajectory reaches */
#define MAX_FLAT_RATIO                                                                                               \
    2 /* magnitude in the centre over that in the outermost part: of noise, 1; of coils, 10 and more */
#define MIN_LOUD_RATIO 5    /* of the usual magnitude of coils in the outermost part */
#define MIN_NOISY_RATIO 3.5 /* of that of a coil with signal, there and over its magnitude in the centre */
#define MAX_UNEVEN 1.5      /* of magnitudes in the outermost part, where noise is the same and signal falls */
enum { MIN_ZEROS = 6 };
enum {
    RINGS = 24,
    FIRST_SPIKE_RING = 6,
    FEWEST_OF_RING = 16,
    OF_RING = 512,
    MIN_CLIPPED = 6,
    MIN_ECHOES = 4,
    MOST_PLACES = 32
};
enum { INNER_RINGS = 3, OUTER_RINGS = 6, FEWEST_COILS = 3, MIN_CLIPPED_COILS = 3 };

enum { PIECES = 64, PART = 4 << 20, ROOM = 1024 }; /* of the readouts; points at a time; parts of a coil at first */

/* The largest part of all coils, and those that have it. */
typedef struct ceiling {
    int coils, varies;                /* varies: 1 if the parts beside those that have it differ */
    int64_t count, most, first, coil; /* values; those of the coil with most of them, and its first one */
    double value, beside;             /* beside: of the first value */
} ceiling;

typedef struct view {
    int nd;
    int64_t n, readouts, points, coils; /* points = n readouts */
    const int64_t *matrix;              /* [3] */
    double reach;                       /* of |2 k / N|, at most 1 */
    const double *k;                    /* [nd, points] */
    int threads;
    float *radius;          /* [points] |2 k / N|, 1 at the farthest within the matrix */
    double *energy;         /* [points] of all coils; samples of 1e-30 have one, too */
    unsigned char *repeats; /* [readouts] 1: the samples of the readout before, in all coils */
    double *inner, *outer;  /* [coils] the magnitude in the centre and in the outermost part */
    float *peak;            /* [readouts] how far from the centre a readout is largest; < 0: beside it */
    double *level;          /* [RINGS, coils] the magnitude that nine tenths of some of its samples have at most */
    float *limit;           /* [coils] the largest part, then what is just as large */
    int64_t *spike;         /* [coils] the largest one's sample */
    ceiling ceiling;
    double reach_of[PIECES];
} view;

static int64_t first_readout(const view *v, int64_t p)
{
    return v->readouts / PIECES * p + v->readouts % PIECES * p / PIECES;
}

static int64_t first_point(const view *v, int64_t p)
{
    return v->n * first_readout(v, p);
}

/* ---- geometry ---- */

static void find_radii_of(void *self, int64_t p)
{
    view *v = self;
    v->reach_of[p] = 0;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) {
        double square = 0;
        for (int d = 0; d < v->nd; d++) {
            const double part = 2 * v->k[i * v->nd + d] / (double)v->matrix[d];
            square += part * part;
        }
        v->radius[i] = (float)sqrt(square);
        v->reach_of[p] = fmax(v->reach_of[p], (double)v->radius[i]);
    }
}

static void scale_radii_of(void *self, int64_t p)
{
    view *v = self;
    for (int64_t i = first_point(v, p); i < first_point(v, p + 1); i++) v->radius[i] /= (float)v->reach;
}

static larmor_status find_radii(view *v)
{
    double reach = 0;
    LMR_TRY(lmr_parallel(v->threads, PIECES, find_radii_of, v));
    for (int p = 0; p < PIECES; p++) reach = fmax(reach, v->reach_of[p]);
    v->reach = fmax(fmin(reach, 1), 1e-9);
    return lmr_parallel(v->threads, PIECES, scale_radii_of, v);
}

static double distance(const view *v, int64_t i, int64_t j)
{
    double square = 0;
    for (int d = 0; d < v->nd; d++) square += pow(v->k[i * v->nd + d] - v->k[j * v->nd + d], 2);
    return sqrt(square);
}

static double from_centre(const view *v, int64_t i)
{
    double square = 0;
    for (int d = 0; d < v->nd; d++) square += pow(v->k[i * v->nd + d], 2);
    return sqrt(square);
}

/* ---- levels ---- */

typedef struct levels {
    int64_t chosen, coils;
    const float *x;   /* complex [chosen, coils] */
    const char *ring; /* [chosen], ascending */
    double *level;    /* [RINGS, coils] */
    float *values;    /* [OF_RING, coils] scratch */
} levels;

static void find_levels_of(void *self, int64_t coil)
{
    const levels *l = self;
    const float *x = l->x + 2 * l->chosen * coil;
    float *values = l->values + OF_RING * coil;
    for (int64_t ring = 0, i = 0; ring < RINGS; ring++) {
        int64_t count = 0;
        for (; i < l->chosen && l->ring[i] == ring; i++) {
            const double re = (double)x[2 * i], im = (double)x[2 * i + 1];
            values[count++] = (float)sqrt(re * re + im * im);
        }
        l->level[ring + RINGS * coil] =
            count < FEWEST_OF_RING ? INFINITY
                                   : (double)lmr_select_f32(values, count, (int64_t)(0.9 * (double)(count - 1)));
    }
}

/* Points that are far apart, up to OF_RING of each ring, ring after ring. */
static int64_t choose_points(const view *v, int64_t *index, char *of)
{
    int64_t count[RINGS] = {0}, chosen = 0;
    const int64_t apart = (v->points / (RINGS * OF_RING)) | 1;
    for (int64_t i = 0; i < v->points; i += apart) {
        const int ring = (int)fminf(RINGS - 1, v->radius[i] * RINGS);
        if (count[ring] < OF_RING) index[ring * OF_RING + count[ring]++] = i;
    }
    for (int ring = 0; ring < RINGS; ring++)
        for (int64_t i = 0; i < count[ring]; i++) {
            of[chosen] = (char)ring;
            index[chosen++] = index[ring * OF_RING + i];
        }
    return chosen;
}

static larmor_status find_levels(view *v, const larmor_array *kspace)
{
    LMR_HEAP LMR_NEW(int64_t, index, RINGS * OF_RING);
    LMR_HEAP LMR_NEW(char, ring, RINGS *OF_RING);
    LMR_HEAP LMR_NEW(float, values, OF_RING * v->coils);
    levels l = {.coils = v->coils, .ring = ring, .level = v->level, .values = values};
    l.chosen = choose_points(v, index, ring);
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, index, l.chosen, &x));
    l.x = x;
    return lmr_parallel(v->threads, v->coils, find_levels_of, &l);
}

/* ---- spikes ---- */

static void count_spikes(const view *v, const lmr_survey *found, double *largest, larmor_sample_faults *out)
{
    for (int64_t c = 0; c < v->coils; c++) {
        out->spikes += (int64_t)found[c].spikes;
        v->limit[c] = fmaxf(v->limit[c], (float)found[c].most);
        if (found[c].largest <= largest[c]) continue;
        largest[c] = found[c].largest;
        v->spike[c] = (int64_t)found[c].at;
    }
}

/* The largest of all coils, the first of those that are as large. */
static void place_spike(const view *v, const double *largest, larmor_sample_faults *out)
{
    double most = 0;
    for (int64_t c = 0; c < v->coils; c++) {
        if (largest[c] <= most) continue;
        most = largest[c];
        out->spike_readout = v->spike[c] / v->n;
        out->spike_sample = v->spike[c] % v->n;
        out->spike_coil = (int)c;
    }
}

/* In parts, for the memory that it takes. */
static larmor_status survey(view *v, const larmor_array *kspace, larmor_sample_faults *out)
{
    const int64_t most = PART / v->n + 1;
    const lmr_recon_kernels *kernels;
    LMR_HEAP LMR_NEW(lmr_survey, found, v->coils);
    LMR_HEAP LMR_NEW_ZEROS(double, largest, v->coils);
    lmr_survey_of of = {.n = v->n,
                        .readouts = v->readouts,
                        .coils = v->coils,
                        .rings = RINGS,
                        .from = FIRST_SPIKE_RING,
                        .ratio = LARMOR_SPIKE_RATIO,
                        .beside = MIN_BESIDE_RATIO,
                        .level = v->level};
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    for (; of.first < v->readouts; of.first += of.count) {
        of.count = v->readouts - of.first < most ? v->readouts - of.first : most;
        of.radius = v->radius + v->n * of.first;
        LMR_TRY(kernels->survey(kspace->dev->ctx, &of, kspace->data, v->energy + v->n * of.first, v->repeats, found));
        count_spikes(v, found, largest, out);
        LMR_TRY(lmr_go_on());
    }
    place_spike(v, largest, out);
    return LARMOR_OK;
}

/* ---- coils of far more noise than others ---- */

static void note_levels(const view *v, int64_t coil)
{
    const double *level = v->level + RINGS * coil;
    double inner = 0, outer = INFINITY;
    /* small spirals have few samples in the innermost ones */
    for (int ring = 0, used = 0; ring < RINGS - OUTER_RINGS && used < INNER_RINGS; ring++) {
        if (!isfinite(level[ring])) continue;
        inner = fmax(inner, level[ring]);
        used++;
    }
    for (int ring = RINGS - OUTER_RINGS; ring < RINGS; ring++) outer = fmin(outer, level[ring]);
    v->inner[coil] = inner;
    v->outer[coil] = isfinite(outer) ? outer : 0;
}

/* 1 if a coil has as much in all of the outermost part, as noise has and signal seldom. */
static int is_even(const view *v, int64_t coil)
{
    double most = 0;
    for (int ring = RINGS - OUTER_RINGS; ring < RINGS; ring++)
        if (isfinite(v->level[ring + RINGS * coil])) most = fmax(most, v->level[ring + RINGS * coil]);
    return most <= MAX_UNEVEN * v->outer[coil];
}

/* A coil without signal is as loud at the edge of k-space as in the centre. It is no harm where it is as quiet as
 * others there. One with signal is louder there than others, and relative to its centre. */
static larmor_status count_noisy(const view *v, larmor_sample_faults *out)
{
    double most = 0;
    if (v->coils < FEWEST_COILS) return LARMOR_OK;
    const int64_t middle = (v->coils - 1) / 2;
    LMR_HEAP LMR_NEW(double, sorted, v->coils);
    memcpy(sorted, v->outer, (size_t)v->coils * sizeof *sorted);
    const double usual = lmr_select_f64(sorted, v->coils, middle);
    for (int64_t c = 0; c < v->coils; c++) sorted[c] = v->inner[c] > 0 ? v->outer[c] / v->inner[c] : 0;
    const double usual_part = lmr_select_f64(sorted, v->coils, middle);
    for (int64_t c = 0; c < v->coils; c++) {
        const double part = v->inner[c] > 0 ? v->outer[c] / v->inner[c] : 0;
        const int is_flat = part * MAX_FLAT_RATIO >= 1 && v->outer[c] > MIN_LOUD_RATIO * usual;
        const int is_noisy = v->outer[c] > MIN_NOISY_RATIO * usual && part > MIN_NOISY_RATIO * usual_part;
        if (!is_flat && !(is_noisy && is_even(v, c))) continue;
        out->noisy++;
        if (v->outer[c] <= most) continue;
        most = v->outer[c];
        out->noisy_coil = (int)c;
    }
    return LARMOR_OK;
}

/* ---- clipping ---- */

/* Coils of a symmetric object have one largest part, too, but then all have the same one beside it. */
static void add_to_ceiling(view *v, int64_t coil, int64_t count, const lmr_part *first, int varies)
{
    ceiling *c = &v->ceiling;
    const double value = fabs(first->own), beside = fabs(first->other);
    if (value < c->value * (1 - REL_ROUNDING)) return;
    if (value > c->value * (1 + REL_ROUNDING)) *c = (ceiling){.value = value, .beside = beside};
    c->coils++;
    c->count += count;
    c->varies |= varies || fabs(beside - c->beside) > MIN_OTHER_VALUE * value;
    if (count <= c->most) return;
    c->most = count;
    c->first = (int64_t)first->at;
    c->coil = coil;
}

/* Real and imaginary parts that are just the largest one of their coil: a converter that is full gives many of
 * them, with other parts that are not. Samples at one place of k-space, such as its centre, are alike without
 * noise, and count once. */
static void count_clipped(view *v, int64_t coil, const lmr_part *part, int64_t parts, double most,
                          larmor_sample_faults *out)
{
    int64_t place[MOST_PLACES], count = 0;
    int places = 0, varies = 0;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t sample = (int64_t)part[i].at / 2;
        int known = 0;
        for (int j = 0; j < places && !known; j++) known = distance(v, sample, place[j]) < MIN_OTHER_DISTANCE;
        varies |= fabs(fabs(part[i].other) - fabs(part->other)) > MIN_OTHER_VALUE * most;
        if (known) continue;
        if (places < MOST_PLACES) place[places++] = sample;
        count++;
    }
    if (parts) add_to_ceiling(v, coil, count, part, varies);
    if (count < MIN_CLIPPED || !varies || count <= out->clipped) return;
    out->clipped = count;
    out->clipped_coil = (int)coil;
    out->clipped_value = most;
    out->clipped_readout = (int64_t)part->at / 2 / v->n;
    out->clipped_sample = (int64_t)part->at / 2 % v->n;
}

/* Of one coil that has more than there was room for. */
static larmor_status count_many(view *v, const larmor_array *kspace, int64_t coil, int64_t parts, double most,
                                larmor_sample_faults *out)
{
    const lmr_recon_kernels *kernels;
    int64_t count;
    LMR_HEAP LMR_NEW(lmr_part, part, parts);
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    LMR_OWN(larmor_array, one, larmor_array_part(kspace, coil, 1, LARMOR_SHAPE(v->points), &one));
    LMR_TRY(kernels->ceiling(kspace->dev->ctx, v->points, 1, parts, &v->limit[coil], one->data, part, &count));
    count_clipped(v, coil, part, count, most, out);
    return LARMOR_OK;
}

static larmor_status find_clipped(view *v, const larmor_array *kspace, larmor_sample_faults *out)
{
    const lmr_recon_kernels *kernels;
    LMR_HEAP LMR_NEW(lmr_part, part, ROOM * v->coils);
    LMR_HEAP LMR_NEW(int64_t, count, v->coils);
    LMR_HEAP LMR_NEW(double, most, v->coils);
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    for (int64_t c = 0; c < v->coils; c++) {
        most[c] = (double)v->limit[c];
        v->limit[c] = most[c] > 0 ? v->limit[c] * (1 - (float)REL_ROUNDING) : INFINITY;
    }
    LMR_TRY(kernels->ceiling(kspace->dev->ctx, v->points, v->coils, ROOM, v->limit, kspace->data, part, count));
    for (int64_t c = 0; c < v->coils; c++)
        if (count[c] > ROOM)
            LMR_TRY(count_many(v, kspace, c, count[c], most[c], out));
        else
            count_clipped(v, c, part + ROOM * c, count[c], most[c], out);
    return lmr_go_on();
}

/* Lines that pass the centre once give few such values in each coil, but the same one in many. */
static void find_ceiling(const view *v, larmor_sample_faults *out)
{
    const ceiling *c = &v->ceiling;
    if (out->clipped || c->coils < MIN_CLIPPED_COILS || c->count < MIN_CLIPPED || !c->varies) return;
    out->clipped = c->most;
    out->clipped_coil = (int)c->coil;
    out->clipped_value = c->value;
    out->clipped_readout = c->first / 2 / v->n;
    out->clipped_sample = c->first / 2 % v->n;
}

/* ---- the echo ---- */

static void find_peaks(void *self, int64_t p)
{
    view *v = self;
    for (int64_t r = first_readout(v, p); r < first_readout(v, p + 1); r++) {
        int64_t at = r * v->n;
        double least = INFINITY, energy = 0;
        for (int64_t i = r * v->n; i < (r + 1) * v->n; i++) {
            if (v->energy[i] > v->energy[at]) at = i;
            least = fmin(least, from_centre(v, i));
            energy += v->energy[i];
        }
        const int flat = v->energy[at] * (double)v->n <= (log((double)v->n) + ABOVE_NOISE) * energy;
        v->peak[r] = flat ? 0 : (float)from_centre(v, at);
        if (least >= MAX_CENTRE_DISTANCE) v->peak[r] = -1;
    }
}

/* How far from k = 0 the signal of readouts that pass it is largest: the median. A coil of noise alone that is far
 * louder than others has its largest sample anywhere. */
static larmor_status find_echo(view *v, larmor_sample_faults *out)
{
    int64_t count = 0;
    LMR_TRY(lmr_parallel(v->threads, PIECES, find_peaks, v));
    for (int64_t r = 0; r < v->readouts; r++)
        if (v->peak[r] >= 0) v->peak[count++] = v->peak[r];
    const double usual = count ? (double)lmr_select_f32(v->peak, count, (count - 1) / 2) : 0;
    if (count >= MIN_ECHOES && usual > MIN_ECHO_DISTANCE && !out->noisy) out->echo_distance = usual;
    return LARMOR_OK;
}

/* ---- readouts that repeat others, and zeros ---- */

/* Readouts at one place are alike without noise. */
static void count_copied(const view *v, larmor_sample_faults *out)
{
    for (int64_t r = 1; r < v->readouts; r++) {
        double energy = 0, away = 0;
        if (!v->repeats[r]) continue;
        for (int64_t i = r * v->n; i < (r + 1) * v->n; i++) {
            energy += v->energy[i];
            away = fmax(away, distance(v, i, i - v->n));
        }
        if (!(energy > 0) || away < MIN_OTHER_DISTANCE) continue;
        if (!out->copied) out->copied_readout = r;
        out->copied++;
    }
}

static void count_zeros(const view *v, larmor_sample_faults *out)
{
    int64_t count = 0, first = -1;
    for (int64_t r = 0; r < v->readouts; r++) {
        int64_t low = r * v->n, high = (r + 1) * v->n - 1;
        while (low < high && v->energy[low] == 0) low++;
        while (low < high && v->energy[high] == 0) high--;
        for (int64_t i = low; i < high; i++) {
            if (v->energy[i] != 0 || v->radius[i] > (float)CENTRE_RADIUS) continue;
            if (first < 0) first = r;
            count++;
        }
    }
    if (count < MIN_ZEROS) return;
    out->zeros = count;
    out->zeros_readout = first;
}

/* ---- all of it ---- */

static larmor_status find_all(view *v, const larmor_array *kspace, larmor_sample_faults *out)
{
    double voxels = 1;
    for (int d = 0; d < v->nd; d++) voxels *= (double)v->matrix[d];
    LMR_TRY(find_radii(v));
    LMR_TRY(find_levels(v, kspace));
    LMR_TRY(survey(v, kspace, out));
    LMR_TRY(find_clipped(v, kspace, out));
    LMR_TRY(lmr_carrier_find(kspace, v->radius, v->k, v->nd, &out->carrier, &out->carrier_frequency));
    if (out->carrier == 0) LMR_TRY(lmr_offset_find(kspace, v->radius, v->nd, voxels, &out->carrier));
    for (int64_t c = 0; c < v->coils; c++) note_levels(v, c);
    find_ceiling(v, out);
    count_copied(v, out);
    count_zeros(v, out);
    LMR_TRY(count_noisy(v, out));
    return find_echo(v, out);
}

larmor_status larmor_sample_faults_find(const larmor_array *kspace, const larmor_array *traj, const int64_t matrix[3],
                                        larmor_sample_faults *out)
{
    LMR_NEED(kspace, traj, matrix, out);
    *out = (larmor_sample_faults){0};
    LMR_TRY(lmr_scan_expect(kspace, traj, "faults of samples"));
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t readouts = shape.dim[1], points = shape.dim[0] * readouts, coils = shape.dim[2];
    LMR_HEAP LMR_NEW(float, radius, points);
    LMR_HEAP LMR_NEW(double, energy, points);
    LMR_HEAP LMR_NEW(unsigned char, repeats, readouts);
    LMR_HEAP LMR_NEW(double, inner, coils);
    LMR_HEAP LMR_NEW(double, outer, coils);
    LMR_HEAP LMR_NEW(double, level, RINGS *coils);
    LMR_HEAP LMR_NEW_ZEROS(float, limit, coils);
    LMR_HEAP LMR_NEW(int64_t, spike, coils);
    LMR_HEAP LMR_NEW(float, peak, readouts);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    memset(repeats, 1, (size_t)readouts);
    if (readouts) repeats[0] = 0;
    view v = {.nd = (int)larmor_array_shape(traj).dim[0],
              .n = shape.dim[0],
              .readouts = readouts,
              .points = points,
              .coils = coils,
              .matrix = matrix,
              .k = k,
              .threads = lmr_device_threads(larmor_array_device(kspace)),
              .radius = radius,
              .energy = energy,
              .repeats = repeats,
              .inner = inner,
              .outer = outer,
              .level = level,
              .limit = limit,
              .spike = spike,
              .peak = peak};
    return find_all(&v, kspace, out);
}
