/* Other descriptions of a scan whose readouts are off the grid, and how well one image explains its samples with
 * each. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include "recon/describe/fit.h"
#include "recon/describe/motion.h"

/* What is named and what it says of right scans is in docs/records/validation.md, "Scans whose description is
 * wrong". */
static const double noticeable = 0.025; /* misfit beyond noise: below it nothing else is tried */
static const double clear_part = 0.6;   /* of the misfit: what explains the samples to less of it is clearly better */
static const double clear_gain = 0.04;  /* of misfit: what is clearly better lowers it by more */
static const double clear_part_of_one =
    0.5;                              /* of the misfit, as clear_part, of one image in the described field of view */
static const double less_gain = 0.02; /* of misfit, as clear_gain, where clear_part_of_one decides */
/* Of misfit beyond noise, as clear_gain. Right simulated scans have 0.023 at most (docs/records/validation.md, "Scans
 * whose description is wrong"). */
static const double gain_beyond_noise = 0.03;
static const double most_left = 0.35; /* misfit: what leaves more of the samples unexplained explains nothing */

/* Of the misfit of the best candidate: an object beyond the field of view that leaves less is what the samples show.
 * One of 1.42 times the field of view in four trajectories leaves 0.08 to 0.15, faults leave 0.36 and more. */
#define WIDE_EXPLAINS 0.25

#define MOST_APART 1e-3 /* of the largest coordinate: places that are the same but for rounding */

/* These spare time; not measured but in all (docs/records/validation.md, "What comparisons of descriptions take"). */
static const double promising = 0.8; /* of the rough misfit: above it a candidate is not fitted fully */
static const double as_much = 0.7;   /* of the samples and cells in the centre that a candidate keeps at least */

/* Of the search for an offset of the frequency, along the first readout. */
static const double first_shift = 0.01; /* fields of view */
enum { SHIFTS = 8, HALVINGS = 6 };

typedef struct search {
    const lmr_scan *scan;
    larmor_description *found;
    lmr_fitted own, rough; /* as described */
    double *k;             /* [nd, n, readouts], of a candidate */
    double *cycles;        /* [n, readouts], of a candidate */
    double *rank;          /* [readouts], from 0 to 1 */
    double *least;         /* misfit of the best candidate that is one image */
    int *image;
} search;

LMR_FREES(free_search, search, rank, image, cycles, k)

static double *place(const search *s, int64_t i, int64_t r)
{
    return s->k + s->scan->nd * (i + s->scan->n * r);
}

static const double *said(const search *s, int64_t i, int64_t r)
{
    return s->scan->k + s->scan->nd * (i + s->scan->n * r);
}

/* The misfit; infinite where the candidate leaves out much of the centre, which is easily explained then. */
static larmor_status fit(const search *s, const lmr_candidate *a, lmr_effort effort, double *misfit)
{
    const lmr_fitted *own = effort == LMR_FIT_FULL ? &s->own : &s->rough;
    lmr_fitted fitted;
    const larmor_status st = lmr_fit(s->scan, a, effort, &fitted);
    *misfit = fitted.misfit;
    if (a->reach > 0) return st;
    if (st == LARMOR_ERR_NUMERIC || fitted.cells < as_much * own->cells ||
        (double)fitted.samples < as_much * (double)own->samples)
        *misfit = INFINITY;
    return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
}

static larmor_status try_candidate(const search *s, const lmr_candidate *a, const char *name)
{
    double misfit;
    LMR_TRY(fit(s, a, LMR_FIT_ROUGH, &misfit));
    if (misfit > promising * s->rough.misfit) return LARMOR_OK;
    LMR_TRY(fit(s, a, LMR_FIT_FULL, &misfit));
    *s->least = fmin(*s->least, misfit);
    if (misfit >= s->found->better) return LARMOR_OK;
    s->found->better = misfit;
    s->found->frequency = 0;
    snprintf(s->found->name, sizeof s->found->name, "%s", name);
    return LARMOR_OK;
}

/* 1 if the candidate's places are the described ones turned, or mirrored, as a whole in the plane: so is the image
 * then, and explains more where the object lies better in the field of view. */
static int is_moved_as_whole(const search *s, int mirrored)
{
    const lmr_scan *scan = s->scan;
    const double sign = mirrored ? -1 : 1;
    double re = 0, im = 0, most = 0, apart = 0;
    if (scan->nd < 2) return 0;
    for (int64_t i = 0; i < scan->n * scan->readouts; i++) {
        const double *to = s->k + scan->nd * i, *from = scan->k + scan->nd * i;
        re += to[0] * from[0] + sign * to[1] * from[1];
        im += to[1] * from[0] - sign * to[0] * from[1];
        for (int64_t d = 0; d < scan->nd; d++) most = fmax(most, fabs(from[d]));
    }
    const double size = hypot(re, im);
    const int is_turned = sign < 0 || re < 0 || fabs(im) > MOST_APART * size;
    if (!(size > 0) || !is_turned) return 0; /* where it is not, little may be what another description changes */
    for (int64_t i = 0; i < scan->n * scan->readouts; i++) {
        const double *to = s->k + scan->nd * i, *from = scan->k + scan->nd * i;
        apart = fmax(apart, fabs(to[0] - (re * from[0] - sign * im * from[1]) / size));
        apart = fmax(apart, fabs(to[1] - (im * from[0] + sign * re * from[1]) / size));
        if (scan->nd > 2) apart = fmax(apart, fabs(to[2] - from[2]));
    }
    return apart < MOST_APART * most;
}

/* The candidate in s->k, of this name. */
static larmor_status try_places(const search *s, const char *name)
{
    if (is_moved_as_whole(s, 0) || is_moved_as_whole(s, 1)) return LARMOR_OK;
    return try_candidate(s, &(lmr_candidate){.k = s->k}, name);
}

/* ---- places along readouts ---- */

/* The place of sample number `at` of a readout, which need not be whole and goes straight on beyond the ends. */
static void place_at(const search *s, double at, int64_t r, double *k)
{
    const int64_t n = s->scan->n;
    int64_t i = (int64_t)floor(at);
    if (i < 0) i = 0;
    if (i > n - 2) i = n - 2;
    const double *a = said(s, i, r), *b = said(s, i + 1, r);
    for (int d = 0; d < s->scan->nd; d++) k[d] = a[d] + (at - (double)i) * (b[d] - a[d]);
}

/* Readouts first, first + every, ... come `by` samples later than described. */
static void shift_readouts(const search *s, double by, int64_t first, int64_t every)
{
    memcpy(s->k, s->scan->k, (size_t)(s->scan->nd * s->scan->n * s->scan->readouts) * sizeof *s->k);
    for (int64_t r = first; r < s->scan->readouts; r += every)
        for (int64_t i = 0; i < s->scan->n; i++) place_at(s, (double)i - by, r, place(s, i, r));
}

/* Up to a quarter of a readout: further ones leave little of the signal to explain, and their echo is far from where
 * any description has it, which is said where scans are read. */
static larmor_status try_shifts(const search *s)
{
    static const double by[] = {0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 11, 15};
    char name[96];
    for (size_t j = 0; j < 2 * sizeof by / sizeof *by; j++) {
        const double shift = j % 2 ? -by[j / 2] : by[j / 2];
        for (int every = 1; every <= 2; every++) {
            if ((every == 2 && fabs(shift) > 5) || 4 * fabs(shift) > (double)s->scan->n) continue;
            shift_readouts(s, shift, every - 1, every);
            snprintf(name, sizeof name, "%s %g samples %s", every == 2 ? "every second readout" : "all readouts",
                     fabs(shift), shift > 0 ? "later" : "earlier");
            LMR_TRY(try_places(s, name));
        }
    }
    return LARMOR_OK;
}

/* ---- every second readout ---- */

enum { MIRRORED_X, MIRRORED_Y, MIRRORED_Z, REVERSED, REVERSED_BY_ONE, SWAPPED };

/* The middle of an even number of samples from -k to k is sample n / 2: the one opposite of i is n - i. */
static void change_readout(const search *s, int change, int64_t r)
{
    for (int64_t i = 0; i < s->scan->n; i++) {
        double *k = place(s, i, r);
        if (change <= MIRRORED_Z) k[change] = -k[change];
        if (change == REVERSED) memcpy(k, said(s, s->scan->n - 1 - i, r), (size_t)s->scan->nd * sizeof *k);
        if (change == REVERSED_BY_ONE) place_at(s, (double)(s->scan->n - i), r, k);
        if (change != SWAPPED) continue;
        k[0] = said(s, i, r)[1];
        k[1] = said(s, i, r)[0];
    }
}

static larmor_status try_alternating(const search *s)
{
    static const char *const change[] = {"mirrored along x", "mirrored along y", "mirrored along z",
                                         "reversed",         "reversed",         "with x and y swapped"};
    char name[96];
    for (int j = MIRRORED_X; j <= SWAPPED; j++) {
        if ((j == MIRRORED_Z && s->scan->nd < 3) || (j == SWAPPED && s->scan->nd < 2)) continue;
        memcpy(s->k, s->scan->k, (size_t)(s->scan->nd * s->scan->n * s->scan->readouts) * sizeof *s->k);
        for (int64_t r = 0; r < s->scan->readouts; r += 2) change_readout(s, j, r);
        snprintf(name, sizeof name, "every second readout %s", change[j]);
        LMR_TRY(try_places(s, name));
    }
    return LARMOR_OK;
}

/* ---- the order of readouts, and of numbers ---- */

static larmor_status try_orders(const search *s)
{
    const int64_t m = s->scan->readouts, size = s->scan->nd * s->scan->n;
    char name[96];
    for (int by = -2; by <= 2; by++) {
        if (by == 0) continue;
        for (int64_t r = 0; r < m; r++)
            memcpy(place(s, 0, r), said(s, 0, (r + by + m) % m), (size_t)size * sizeof *s->k);
        snprintf(name, sizeof name, "the trajectory of the readout %d %s", abs(by), by > 0 ? "after" : "before");
        LMR_TRY(try_places(s, name));
    }
    for (int64_t r = 0; r < m; r++) memcpy(place(s, 0, r), said(s, 0, m - 1 - r), (size_t)size * sizeof *s->k);
    LMR_TRY(try_places(s, "readouts in the opposite order"));
    for (int64_t r = 0; r < m; r++) memcpy(place(s, 0, r), said(s, 0, (m - r) % m), (size_t)size * sizeof *s->k);
    LMR_TRY(try_places(s, "readouts behind the first in the opposite order"));
    for (int64_t r = 0; r < m; r++)
        for (int64_t i = 0; i < s->scan->n; i++)
            for (int d = 0; d < s->scan->nd; d++) place(s, i, r)[d] = said(s, 0, r)[i + s->scan->n * d];
    return try_places(s, "a trajectory that is stored component by component");
}

/* ---- angles ---- */

static void turn(const search *s, int64_t r, double angle)
{
    const double c = cos(angle), w = sin(angle);
    for (int64_t i = 0; i < s->scan->n; i++) {
        const double *k = said(s, i, r);
        double *to = place(s, i, r);
        to[0] = c * k[0] - w * k[1];
        to[1] = w * k[0] + c * k[1];
    }
}

/* Each readout turned by so many radians more than the one before. */
static void turn_readouts(const search *s, double each)
{
    for (int64_t r = 0; r < s->scan->readouts; r++) turn(s, r, each * (double)r);
}

/* The angle of a readout in the plane from its first to its last sample. */
static double angle_of(const search *s, int64_t r)
{
    const double *a = said(s, 0, r), *b = said(s, s->scan->n - 1, r);
    return atan2(b[1] - a[1], b[0] - a[0]);
}

/* Spokes by another angle from one to the next. */
static void fan_readouts(const search *s, double each)
{
    for (int64_t r = 0; r < s->scan->readouts; r++) turn(s, r, angle_of(s, 0) + each * (double)r - angle_of(s, r));
}

enum { EVEN, EVEN_ALL_ROUND, GOLDEN, TINY = 10, FULL_GOLDEN = GOLDEN + TINY, ANGLES = FULL_GOLDEN + TINY };

/* Usual angle number i in degrees: even ones, golden ones of the half and of the full circle. */
static double usual_angle(int i, int64_t readouts)
{
    const double ratio = (1 + sqrt(5)) / 2;
    if (i == EVEN) return 180 / (double)readouts;
    if (i == EVEN_ALL_ROUND) return 360 / (double)readouts;
    if (i < FULL_GOLDEN) return 180 / (ratio + i - GOLDEN);
    return 360 / (ratio + i - FULL_GOLDEN + 1);
}

static larmor_status try_usual_angles(const search *s)
{
    char name[96];
    for (int i = 0; i < ANGLES; i++) {
        const double each = usual_angle(i, s->scan->readouts);
        fan_readouts(s, each * M_PI / 180);
        snprintf(name, sizeof name, "%.2f degrees from one readout to the next", each);
        LMR_TRY(try_places(s, name));
    }
    return LARMOR_OK;
}

/* Every readout turned by a bit more than the one before. */
static larmor_status try_turns(const search *s)
{
    const double m = fmin(50, (double)s->scan->readouts), step = 0.5 / (s->scan->reach * m), most = 2 * M_PI / 180;
    double best = 0, least = INFINITY, misfit, width = step;
    char name[96];
    for (double each = -most; each <= most; each += step) {
        turn_readouts(s, each);
        LMR_TRY(fit(s, &(lmr_candidate){.k = s->k}, LMR_FIT_ROUGH, &misfit));
        if (misfit >= least) continue;
        least = misfit;
        best = each;
    }
    for (int i = 0; i < 6; i++) {
        width /= 2;
        for (int side = -1; side <= 1; side += 2) {
            turn_readouts(s, best + side * width);
            LMR_TRY(fit(s, &(lmr_candidate){.k = s->k}, LMR_FIT_ROUGH, &misfit));
            if (misfit >= least) continue;
            least = misfit;
            best += side * width;
            break;
        }
    }
    turn_readouts(s, best);
    snprintf(name, sizeof name, "%+.2f degrees more from one readout to the next", best * 180 / M_PI);
    return try_places(s, name);
}

/* ---- images in parts of the scan ---- */

typedef enum division {                 /* of the readouts into those of two images */
                        EARLY_AND_LATE, /* before and after a part of the scan */
                        SPREAD,         /* as many, evenly: of a half every second one */
                        SCATTERED,      /* as many, by chance */
                        BY_SIGNAL       /* by the signal where readouts are nearest to the centre */
} division;

static larmor_status fit_two(const search *s, division by, double part, double reach, double *misfit)
{
    uint32_t chance = 1;
    for (int64_t r = 0; r < s->scan->readouts; r++) {
        chance = 1664525 * chance + 1013904223;
        const double at[] = {[EARLY_AND_LATE] = (double)r / (double)s->scan->readouts,
                             [SPREAD] = fmod((double)r * part, 1),
                             [SCATTERED] = (double)chance / 4294967296.,
                             [BY_SIGNAL] = s->rank[r]};
        s->image[r] = at[by] < part;
    }
    return fit(s, &(lmr_candidate){.image = s->image, .images = 2, .reach = reach}, LMR_FIT_FULL, misfit);
}

/* Two images explain more than one whatever readouts they are of. Only what they explain beyond two images of
 * others counts: *misfit <- that of one image, times their misfit over the least of the others. */
static larmor_status fit_division(const search *s, division by, double part, double reach, double *misfit)
{
    double own, two, least;
    LMR_TRY(fit(s, &(lmr_candidate){.reach = reach}, LMR_FIT_FULL, &own));
    least = own;
    *misfit = INFINITY;
    for (division other = EARLY_AND_LATE; other <= SCATTERED; other++) {
        if (other == by) continue;
        LMR_TRY(fit_two(s, other, part, reach, &two));
        least = fmin(least, two);
    }
    LMR_TRY(fit_two(s, by, part, reach, misfit));
    if (least > 0) *misfit *= s->found->misfit / least;
    return LARMOR_OK;
}

static void take(const search *s, double misfit, const char *name)
{
    if (!(misfit < s->found->better)) return;
    s->found->leaves_out = 1;
    s->found->better = misfit;
    s->found->frequency = 0;
    snprintf(s->found->name, sizeof s->found->name, "%s", name);
}

/* The sample of a readout that is nearest to the centre. */
static int64_t nearest_of(const search *s, int64_t r)
{
    double least = INFINITY;
    int64_t nearest = 0;
    for (int64_t i = 0; i < s->scan->n; i++) {
        double r2 = 0;
        for (int d = 0; d < s->scan->nd; d++) r2 += pow(said(s, i, r)[d], 2);
        if (r2 < least) nearest = i;
        least = fmin(least, r2);
    }
    return nearest;
}

/* Ranks of readouts, from 0 to 1, by the main component of how their coils' signal in the centre differs from the
 * mean: real and imaginary parts, each relative to the coil's mean. */
static larmor_status rank_readouts(const search *s)
{
    enum { MOST = 2 * LMR_FIT_MOST_COILS, STEPS = 30 };
    const int64_t m = s->scan->readouts, points = s->scan->n * m;
    const int parts = 2 * (int)s->scan->coils;
    double mean[MOST] = {0}, way[MOST], size[LMR_FIT_MOST_COILS] = {0};
    LMR_HEAP LMR_NEW(lmr_ranked, order, m);
    LMR_HEAP LMR_NEW(double, y, (m * MOST));
    for (int64_t r = 0; r < m; r++)
        for (int p = 0; p < parts; p++) {
            y[p + MOST * r] = s->scan->x[2 * (nearest_of(s, r) + s->scan->n * r + points * (p / 2)) + p % 2];
            mean[p] += y[p + MOST * r] / (double)m;
        }
    for (int p = 0; p < parts; p++) size[p / 2] += mean[p] * mean[p];
    for (int64_t r = 0; r < m; r++)
        for (int p = 0; p < parts; p++) y[p + MOST * r] = (y[p + MOST * r] - mean[p]) / sqrt(size[p / 2] + 1e-300);
    for (int p = 0; p < parts; p++) way[p] = 1 + 0.1 * p;
    for (int step = 0; step < STEPS; step++) {
        double next[MOST] = {0}, norm = 0;
        for (int64_t r = 0; r < m; r++) {
            double product = 0;
            for (int p = 0; p < parts; p++) product += way[p] * y[p + MOST * r];
            for (int p = 0; p < parts; p++) next[p] += product * y[p + MOST * r];
        }
        for (int p = 0; p < parts; p++) norm += next[p] * next[p];
        for (int p = 0; p < parts && norm > 0; p++) way[p] = next[p] / sqrt(norm);
    }
    for (int64_t r = 0; r < m; r++) {
        order[r] = (lmr_ranked){0, r};
        for (int p = 0; p < parts; p++) order[r].value += way[p] * y[p + MOST * r];
    }
    lmr_sort_ranked(order, m);
    for (int64_t i = 0; i < m; i++) s->rank[order[i].index] = (double)i / (double)m;
    return LARMOR_OK;
}

static larmor_status try_parts(const search *s)
{
    static const double part[] = {0.5, 0.25, 0.375, 0.625, 0.75};
    double misfit;
    char name[96];
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        LMR_TRY(fit_division(s, EARLY_AND_LATE, part[i], s->scan->reach, &misfit));
        snprintf(name, sizeof name, "another image after %.0f %% of the scan", 100 * part[i]);
        take(s, misfit, name);
    }
    if (s->scan->reach_of_two == 0) return LARMOR_OK;
    LMR_TRY(rank_readouts(s));
    LMR_TRY(fit_division(s, BY_SIGNAL, 0.5, s->scan->reach_of_two, &misfit));
    take(s, misfit, "another image where the signal in the centre differs, as of an object that moves to and fro");
    LMR_TRY(fit_division(s, SPREAD, 0.5, s->scan->reach_of_two, &misfit));
    take(s, misfit, "another image in every second readout");
    return LARMOR_OK;
}

/* ---- phases of readouts ---- */

/* Readouts turned so that each has the same phase where it is nearest to the centre, in the coil with most energy. */
static larmor_status try_phases(const search *s)
{
    for (int64_t r = 0; r < s->scan->readouts; r++) {
        double nearest = INFINITY, cycles = 0;
        for (int64_t i = 0; i < s->scan->n; i++) {
            const float *x = s->scan->x + 2 * (i + s->scan->n * r);
            double r2 = 0;
            for (int d = 0; d < s->scan->nd; d++) r2 += pow(said(s, i, r)[d], 2);
            if (r2 >= nearest) continue;
            nearest = r2;
            cycles = -atan2((double)x[1], (double)x[0]) / (2 * M_PI);
        }
        for (int64_t i = 0; i < s->scan->n; i++) s->cycles[i + s->scan->n * r] = nearest < 0.25 ? cycles : 0;
    }
    return try_candidate(s, &(lmr_candidate){.cycles = s->cycles}, "another phase of each readout");
}

/* ---- an offset of the frequency ---- */

/* cycles <- those of an object at -`frequency` cycles per sample. */
static larmor_status fit_frequency(const search *s, double frequency, double *misfit)
{
    for (int64_t r = 0; r < s->scan->readouts; r++)
        for (int64_t i = 0; i < s->scan->n; i++) s->cycles[i + s->scan->n * r] = -frequency * (double)i;
    return fit(s, &(lmr_candidate){.cycles = s->cycles}, LMR_FIT_ROUGH, misfit);
}

/* Along straight readouts it moves the object by a part of the field of view that is the same for all angles. */
static larmor_status try_frequencies(const search *s)
{
    const double *k = said(s, 0, 0), *next = said(s, s->scan->n / 2, 0);
    double square = 0, best = 0, least = INFINITY, misfit;
    char name[96];
    for (int d = 0; d < s->scan->nd; d++) square += pow(next[d] - k[d], 2);
    double width = first_shift * sqrt(square) / (double)(s->scan->n / 2);
    for (int i = -SHIFTS; i <= SHIFTS; i++) {
        LMR_TRY(fit_frequency(s, i * width, &misfit));
        if (misfit >= least) continue;
        least = misfit;
        best = i * width;
    }
    for (int i = 0; i < HALVINGS; i++) {
        width /= 2;
        for (int side = -1; side <= 1; side += 2) {
            LMR_TRY(fit_frequency(s, best + side * width, &misfit));
            if (misfit >= least) continue;
            least = misfit;
            best += side * width;
            break;
        }
    }
    if (best == 0) return LARMOR_OK;
    LMR_TRY(fit_frequency(s, best, &misfit));
    snprintf(name, sizeof name, "a frequency offset of %+.3g cycles per sample", best);
    LMR_TRY(try_candidate(s, &(lmr_candidate){.cycles = s->cycles}, name));
    if (!strcmp(s->found->name, name)) s->found->frequency = best;
    return LARMOR_OK;
}

/* ---- motion ---- */

static larmor_status try_motions(const search *s)
{
    char name[LMR_MOTION_NAME];
    if (s->found->frequency != 0 && s->found->better < clear_part * s->found->misfit) return LARMOR_OK;
    for (lmr_motion_kind kind = LMR_MOTION_STEP; kind <= LMR_MOTION_TO_AND_FRO; kind++) {
        if (kind == LMR_MOTION_TO_AND_FRO && s->found->better < clear_part * s->found->misfit) break;
        LMR_TRY(lmr_motion_find(s->scan, kind, s->k, s->cycles, name));
        LMR_TRY(try_candidate(s, &(lmr_candidate){.k = s->k, .cycles = s->cycles}, name));
    }
    return LARMOR_OK;
}

/* ---- all ---- */

static larmor_status try_all(const search *s)
{
    LMR_TRY(try_shifts(s));
    LMR_TRY(try_alternating(s));
    LMR_TRY(try_orders(s));
    LMR_TRY(try_phases(s));
    if (s->scan->nd == 2) LMR_TRY(try_usual_angles(s));
    if (s->scan->nd == 2) LMR_TRY(try_turns(s));
    LMR_TRY(try_frequencies(s));
    LMR_TRY(try_motions(s));
    return s->found->better < clear_part * s->found->misfit ? LARMOR_OK : try_parts(s);
}

/* A misfit without what noise leaves of the samples as they are described, at most. */
static double without_noise(const search *s, double misfit)
{
    const double noise = pow(s->own.misfit, 2) - pow(s->own.beyond_noise, 2);
    return sqrt(fmax(0, misfit * misfit - noise));
}

/* 1 if the best candidate is one image of the field of view and explains so much more that a wider one, which has
 *   more
 * unknowns, is no explanation. */
static int explains_more_by_less(const search *s)
{
    const larmor_description *f = s->found;
    const double gain = f->misfit - *s->least;
    if (f->better < *s->least || *s->least > most_left) return 0;
    if (*s->least < clear_part_of_one * f->misfit && gain > less_gain) return 1;
    return without_noise(s, *s->least) < clear_part_of_one * s->own.beyond_noise && gain > clear_gain;
}

/* 1 if the best candidate leaves clearly less than `own`, the misfit beyond noise of the scan as described. */
static int explains_more_beyond_noise(const search *s, double own)
{
    const double left = without_noise(s, s->found->better);
    return left < clear_part * own && left < own - gain_beyond_noise && s->found->better < most_left;
}

/* An object that reaches beyond the field of view is another explanation. */
static larmor_status judge(const search *s)
{
    larmor_description *f = s->found;
    const double reach = s->scan->reach_of_wide > 0 ? s->scan->reach_of_wide : s->scan->reach;
    double inside, beyond;
    LMR_TRY(fit(s, &(lmr_candidate){.reach = reach}, LMR_FIT_FULL, &inside));
    LMR_TRY(fit(s, &(lmr_candidate){.field = LMR_FIT_WIDER, .reach = reach}, LMR_FIT_FULL, &beyond));
    const double part = inside > 0 ? fmin(1, beyond / inside) : 1;
    const double own = f->misfit * part;
    f->unexplained = s->own.beyond_noise * part;
    f->is_clear = f->better < clear_part * own && f->better < own - clear_gain && f->better < most_left;
    f->is_clear |= own > WIDE_EXPLAINS * *s->least &&
                   (explains_more_by_less(s) || explains_more_beyond_noise(s, part * s->own.beyond_noise));
    return LARMOR_OK;
}

static larmor_status compare(const lmr_scan *scan, larmor_description *found)
{
    double least = INFINITY;
    LMR_FREED_BY(free_search) search s = {.scan = scan, .found = found, .least = &least};
    LMR_TRY(lmr_fit(scan, &(lmr_candidate){.k = NULL}, LMR_FIT_FULL, &s.own));
    found->better = found->misfit = s.own.misfit;
    if (s.own.beyond_noise < noticeable || scan->n < 2) return LARMOR_OK;
    LMR_ALLOCATE(s.k, scan->nd * scan->n * scan->readouts);
    LMR_ALLOCATE(s.cycles, scan->n * scan->readouts);
    LMR_ALLOCATE(s.image, scan->readouts);
    LMR_ALLOCATE(s.rank, scan->readouts);
    LMR_TRY(lmr_fit(scan, &(lmr_candidate){.k = NULL}, LMR_FIT_ROUGH, &s.rough));
    LMR_TRY(try_all(&s));
    return judge(&s);
}

larmor_status larmor_compare_descriptions(const larmor_array *kspace, const larmor_array *traj,
                                          larmor_description *found)
{
    LMR_NEED(kspace, traj, found);
    *found = (larmor_description){.reach = 0};
    LMR_TRY(lmr_scan_expect(kspace, traj, "descriptions"));
    LMR_FREED_BY(lmr_scan_close) lmr_scan scan = {0};
    LMR_TRY(lmr_scan_open(kspace, traj, &scan));
    found->reach = scan.reach;
    if (scan.reach > 0) LMR_TRY(compare(&scan, found));
    return LARMOR_OK;
}
