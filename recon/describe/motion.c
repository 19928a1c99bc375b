/* Motions are searched for from a smaller centre of k-space to the whole one, as a shift d turns samples by k d
 * cycles: with more than half of a cycle nothing leads to the right one. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/motion.h"

#include "core/core.h"

enum { SHIFT = 0, TURN = 3, BEGIN = 6, NUMBERS };
typedef struct motion {
    double by[NUMBERS]; /* shifts in fields of view, turns about axes in radians, the part of the scan before it */
} motion;

typedef struct search {
    const lmr_scan *scan;
    lmr_scan centre; /* its samples in the centre */
    lmr_motion_kind kind;
    double *k, *cycles; /* of the centre's samples */
    motion best;
    double still, least; /* misfit, of an object that rests and of the best motion */
} search;

LMR_FREES(free_search, search, cycles, k, centre.k, centre.x)

/* Of a search: where it begins, and how fine it is. Not measured alone, but in what it finds
 * (scripts/measure/wrong_scans.py). */
static const double small_reach = 3;     /* 1/FOV: shifts of a sixth of the field of view are half a cycle */
static const double far_away = 1e9;      /* 1/FOV: of places that hold no sample */
static const double first_shift = 0.06;  /* fields of view */
static const double first_turn = 0.12;   /* radians */
static const double first_begin = 0.125; /* of the scan */
static const double promising = 0.95;    /* of the misfit without motion, of one to begin from */
static const double most_away = 0.5;     /* 1/FOV: of the samples of a straight readout from it */
static const double first_reach = 2;     /* 1/FOV: where an object that moves to and fro is looked at first */
static const double shift_step = 0.01;   /* fields of view */
enum { HALVINGS = 3, MOST_PASSES = 24, SHIFTS = 8, ROUNDS = 9 };

/* ---- the centre ---- */

/* Samples within the reach, of each readout those that are a step apart: motions leave their distances as they
 * are. */
static larmor_status take_centre(const lmr_scan *scan, lmr_scan *centre)
{
    const int nd = scan->nd;
    const int64_t points = scan->n * scan->readouts;
    int64_t most = 1;
    LMR_HEAP LMR_NEW(int64_t, from, points);
    LMR_HEAP LMR_NEW(int64_t, count, scan->readouts);
    for (int64_t r = 0; r < scan->readouts; r++) {
        const double *before = NULL;
        count[r] = 0;
        for (int64_t i = 0; i < scan->n; i++) {
            const double *k = scan->k + nd * (i + scan->n * r);
            double r2 = 0, step2 = 0;
            for (int d = 0; d < nd; d++) {
                r2 += k[d] * k[d];
                if (before) step2 += pow(k[d] - before[d], 2);
            }
            if (!(r2 < scan->reach * scan->reach) || (before && step2 < scan->spacing * scan->spacing)) continue;
            before = k;
            from[scan->n * r + count[r]++] = i;
        }
        if (count[r] > most) most = count[r];
    }
    *centre = *scan;
    centre->n = most;
    centre->near = NULL;
    centre->spacing = 0;
    centre->k = lmr_new(nd * most * scan->readouts, sizeof *centre->k);
    centre->x = calloc((size_t)(2 * most * scan->readouts * scan->coils), sizeof *centre->x);
    if (!centre->k || !centre->x) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < nd * most * scan->readouts; i++) centre->k[i] = far_away;
    for (int64_t r = 0; r < scan->readouts; r++)
        for (int64_t j = 0; j < count[r]; j++) {
            const int64_t i = from[scan->n * r + j] + scan->n * r, to = j + most * r;
            memcpy(centre->k + nd * to, scan->k + nd * i, (size_t)nd * sizeof *centre->k);
            for (int64_t c = 0; c < scan->coils; c++)
                memcpy(centre->x + 2 * (to + most * scan->readouts * c), scan->x + 2 * (i + points * c),
                       2 * sizeof *centre->x);
        }
    return LARMOR_OK;
}

/* ---- a motion ---- */

/* Turned about z, then y, then x. */
static void turn(int nd, const double by[3], const double *k, double *to)
{
    double v[3] = {k[0], nd > 1 ? k[1] : 0, nd > 2 ? k[2] : 0};
    for (int axis = 2; axis >= 0; axis--) {
        const int a = (axis + 1) % 3, b = (axis + 2) % 3;
        const double c = cos(by[axis]), s = sin(by[axis]), old = v[a];
        v[a] = c * old - s * v[b];
        v[b] = s * old + c * v[b];
    }
    for (int d = 0; d < nd; d++) to[d] = v[d];
}

/* Samples of the object where it is first: those of one that is turned and shifted are elsewhere in k-space and
 * turned by k d cycles. */
static void undo(const lmr_scan *scan, lmr_motion_kind kind, const motion *m, double *k, double *cycles)
{
    for (int64_t r = 0; r < scan->readouts; r++) {
        const double t = ((double)r + 0.5) / (double)scan->readouts;
        const double part = kind == LMR_MOTION_DRIFT ? t : t > m->by[BEGIN];
        const double angle[3] = {part * m->by[TURN], part * m->by[TURN + 1], part * m->by[TURN + 2]};
        for (int64_t i = 0; i < scan->n; i++) {
            const int64_t at = i + scan->n * r;
            cycles[at] = 0;
            for (int d = 0; d < scan->nd; d++) cycles[at] += part * m->by[SHIFT + d] * scan->k[scan->nd * at + d];
            turn(scan->nd, angle, scan->k + scan->nd * at, k + scan->nd * at);
        }
    }
}

static larmor_status consider(search *s, const motion *m, double reach)
{
    lmr_fitted fitted;
    undo(&s->centre, s->kind, m, s->k, s->cycles);
    LMR_TRY(lmr_fit(&s->centre, &(lmr_candidate){.k = s->k, .cycles = s->cycles, .reach = reach}, LMR_FIT_ROUGH,
                    &fitted));
    if (!(fitted.misfit < s->least)) return LARMOR_OK;
    s->least = fitted.misfit;
    s->best = *m;
    return LARMOR_OK;
}

/* The numbers of the motion that there are, with a first step of each. */
static int numbers_of(const search *s, int number[NUMBERS], double step[NUMBERS])
{
    int count = 0;
    for (int d = 0; d < s->scan->nd; d++) {
        number[count] = SHIFT + d;
        step[count++] = first_shift;
    }
    for (int d = 0; d < 3; d++) {
        if (s->scan->nd < 2 || (s->scan->nd == 2 && d < 2)) continue;
        number[count] = TURN + d;
        step[count++] = first_turn;
    }
    if (s->kind != LMR_MOTION_STEP) return count;
    number[count] = BEGIN;
    step[count++] = first_begin;
    return count;
}

/* From the best on, in smaller steps where none of these is better. */
static larmor_status descend(search *s, double scale, double reach)
{
    int number[NUMBERS], halved = 0;
    double step[NUMBERS];
    const int count = numbers_of(s, number, step);
    for (int pass = 0; pass < MOST_PASSES && halved < HALVINGS; pass++) {
        const double before = s->least;
        for (int j = 0; j < count; j++) {
            const motion from = s->best;
            for (int side = -1; side <= 1; side += 2) {
                motion m = from;
                m.by[number[j]] += side * scale * step[j];
                if (m.by[BEGIN] < 0.1 || m.by[BEGIN] > 0.9) continue;
                LMR_TRY(consider(s, &m, reach));
            }
        }
        if (s->least < before) continue;
        scale /= 2;
        halved++;
    }
    return LARMOR_OK;
}

/* Motions to begin from: none, and each of its numbers alone. */
static larmor_status begin(search *s, double reach)
{
    static const double first[] = {0.5, 0.35, 0.65};
    const int steps = s->kind == LMR_MOTION_STEP ? 3 : 1;
    int number[NUMBERS];
    double step[NUMBERS];
    const int count = numbers_of(s, number, step);
    LMR_TRY(consider(s, &(motion){.by = {[BEGIN] = first[0]}}, reach));
    s->still = s->least;
    for (int i = 0; i < steps; i++)
        for (int j = 0; j < count && number[j] != BEGIN; j++)
            for (int way = 0; way < 4; way++) {
                motion m = {.by = {[BEGIN] = first[i]}};
                m.by[number[j]] = (way % 2 ? -1 : 1) * (way / 2 + 1) * step[j];
                if (way / 2 == 0 || number[j] >= TURN) LMR_TRY(consider(s, &m, reach));
            }
    return LARMOR_OK;
}

static void describe(const search *s, char name[LMR_MOTION_NAME])
{
    const motion *m = &s->best;
    double shift = 0, angle = 0;
    for (int d = 0; d < 3; d++) {
        shift += m->by[SHIFT + d] * m->by[SHIFT + d];
        angle += m->by[TURN + d] * m->by[TURN + d];
    }
    shift = 100 * sqrt(shift);
    angle = sqrt(angle) * 180 / M_PI;
    if (s->kind == LMR_MOTION_STEP)
        snprintf(name, LMR_MOTION_NAME,
                 "a move by %.1f %% of the field of view and %.1f degrees after %.0f %% of the scan", shift, angle,
                 100 * m->by[BEGIN]);
    else
        snprintf(name, LMR_MOTION_NAME, "an object that drifts by %.1f %% of the field of view and %.1f degrees",
                 shift, angle);
}

static larmor_status find_rigid(search *s, double *k, double *cycles, char name[LMR_MOTION_NAME])
{
    const double whole = s->scan->reach, inner = fmin(small_reach, whole);
    s->least = INFINITY;
    LMR_TRY(begin(s, inner));
    if (s->least < promising * s->still) LMR_TRY(descend(s, 1, inner));
    if (whole > inner && (s->scan->nd < 3 || s->least < promising * s->still)) {
        const motion best = s->best;
        s->least = INFINITY;
        LMR_TRY(begin(s, whole));
        LMR_TRY(consider(s, &best, whole));
        if (s->least < promising * s->still) LMR_TRY(descend(s, 0.5, whole));
    }
    undo(s->scan, s->kind, &s->best, k, cycles);
    describe(s, name);
    return LARMOR_OK;
}

/* ---- to and fro ---- */

/* Cycles of a readout of the whole scan that is shifted along itself. */
static void spread_shift(const search *s, int64_t r, double shift, double *cycles)
{
    const lmr_scan *scan = s->scan;
    const double *k = scan->k + scan->nd * scan->n * r, *end = k + scan->nd * (scan->n - 1);
    double length = 0;
    for (int d = 0; d < scan->nd; d++) length += pow(end[d] - k[d], 2);
    for (int64_t i = 0; i < scan->n; i++) {
        double at = 0;
        for (int d = 0; d < scan->nd && length > 0; d++) at += k[scan->nd * i + d] * (end[d] - k[d]) / sqrt(length);
        cycles[i + scan->n * r] = shift * at;
    }
}

/* Distances of the centre's samples from k = 0 along their readouts; 0 if a readout is not straight. */
static int find_along(const lmr_scan *centre, double *along)
{
    const int nd = centre->nd;
    for (int64_t r = 0; r < centre->readouts; r++) {
        const double *k = centre->k + nd * centre->n * r, *end = k;
        double way[3] = {0}, length = 0;
        int64_t count = 0;
        while (count < centre->n && k[nd * count] < far_away) count++;
        if (count > 1) end = k + nd * (count - 1);
        for (int d = 0; d < nd; d++) way[d] = end[d] - k[d];
        for (int d = 0; d < nd; d++) length += way[d] * way[d];
        for (int64_t i = 0; i < centre->n; i++) {
            double at = 0, away = 0;
            along[i + centre->n * r] = 0;
            if (i >= count || !(length > 0)) continue;
            for (int d = 0; d < nd; d++) at += k[nd * i + d] * way[d] / sqrt(length);
            for (int d = 0; d < nd; d++) away += pow(k[nd * i + d] - at * way[d] / sqrt(length), 2);
            if (away > most_away * most_away) return 0;
            along[i + centre->n * r] = at;
        }
    }
    return 1;
}

/* The shift along readout r, in fields of view, by which its samples are most like the model's. */
static double shift_of(const lmr_scan *centre, const double *along, const float *model, const float *data, int64_t r)
{
    double like[2 * SHIFTS + 1], best = 0;
    int most = 0;
    for (int j = -SHIFTS; j <= SHIFTS; j++) {
        like[j + SHIFTS] = 0;
        for (int64_t i = centre->n * r; i < centre->n * (r + 1); i++) {
            const double angle = 2 * M_PI * along[i] * j * shift_step, c = cos(angle), w = sin(angle);
            const double re = data[2 * i] * c - data[2 * i + 1] * w, im = data[2 * i] * w + data[2 * i + 1] * c;
            like[j + SHIFTS] += re * model[2 * i] + im * model[2 * i + 1];
        }
        if (like[j + SHIFTS] > like[most + SHIFTS]) most = j;
    }
    best = most;
    if (abs(most) < SHIFTS) {
        const double *at = like + most + SHIFTS, bend = at[-1] - 2 * at[0] + at[1];
        if (bend < 0) best += 0.5 * (at[-1] - at[1]) / bend;
    }
    return best * shift_step;
}

/* Image and shifts in turn, from a small centre to the whole one. */
static larmor_status find_shifts(search *s, const double *along, float *model, float *data, double *shift)
{
    const lmr_scan *c = &s->centre;
    for (int i = 0; i < ROUNDS; i++) {
        const double reach = fmin(c->reach, first_reach + (c->reach - first_reach) * i / (ROUNDS - 3));
        LMR_TRY(lmr_fit_model(c, &(lmr_candidate){.cycles = s->cycles, .reach = reach}, model, data));
        for (int64_t r = 0; r < c->readouts; r++) {
            shift[r] += shift_of(c, along, model, data, r);
            for (int64_t j = c->n * r; j < c->n * (r + 1); j++) s->cycles[j] = shift[r] * along[j];
        }
    }
    return LARMOR_OK;
}

static larmor_status find_to_and_fro(search *s, double *k, double *cycles, char name[LMR_MOTION_NAME])
{
    const lmr_scan *c = &s->centre;
    const int64_t points = c->n * c->readouts;
    LMR_HEAP double *along = lmr_new(points, sizeof *along), *shift = calloc((size_t)c->readouts, sizeof *shift);
    double mean = 0;
    LMR_HEAP float *model = lmr_new(2 * points, sizeof *model), *data = lmr_new(2 * points, sizeof *data);
    if (!along || !shift || !model || !data) return LMR_NO_MEMORY();
    memset(s->cycles, 0, (size_t)points * sizeof *s->cycles);
    if (find_along(c, along)) LMR_TRY(find_shifts(s, along, model, data, shift));
    memcpy(k, s->scan->k, (size_t)(c->nd * s->scan->n * c->readouts) * sizeof *k);
    for (int64_t r = 0; r < c->readouts; r++) {
        mean += shift[r] * shift[r] / (double)c->readouts;
        spread_shift(s, r, shift[r], cycles);
    }
    snprintf(name, LMR_MOTION_NAME, "an object that moves to and fro, along readouts by %.1f %% of the field of view",
             100 * sqrt(mean));
    return LARMOR_OK;
}

larmor_status lmr_motion_find(const lmr_scan *scan, lmr_motion_kind kind, double *k, double *cycles,
                              char name[LMR_MOTION_NAME])
{
    LMR_FREED_BY(free_search) search s = {.scan = scan, .kind = kind};
    LMR_TRY(take_centre(scan, &s.centre));
    LMR_ALLOCATE(s.k, scan->nd * s.centre.n * scan->readouts);
    LMR_ALLOCATE(s.cycles, s.centre.n * scan->readouts);
    return kind == LMR_MOTION_TO_AND_FRO ? find_to_and_fro(&s, k, cycles, name) : find_rigid(&s, k, cycles, name);
}
