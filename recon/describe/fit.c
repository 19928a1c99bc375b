/* One image for each coil is fitted to the samples in the centre of k-space, by conjugate gradients on a coarse grid.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/fit.h"

#include "core/core.h"

/* Of the region that is compared. Measured with the whole
 * (docs/records/validation.md, "Scans whose description is wrong"), not alone. */
static const double most_reach[4] = {0, 6, 6, 4}; /* 1/FOV, by dimensions */
static const double least_reach = 1.5;            /* 1/FOV: fewer cells than 3 x 3 do not differ */
static const double shrink = 0.92;                /* of the reach, from one trial to the next */
static const double enough_visits = 3;            /* of a cell of 1/FOV by different readouts, on average */
static const double few_visits = 1.5; /* as enough_visits, where the reach of so many as above is below: */
static const double small_reach = 2;  /* 1/FOV: interleaved spirals */
static const double least_step[4] = {0, 0.4, 0.4, 0.6}; /* 1/FOV, between samples of a readout, by dimensions */
static const double outer = 0.9;  /* of samples, by their distance: those beyond tell the noise */
static const double margin = 1.3; /* of the grid over twice the reach */
enum { ITERS = 16, FEW_ITERS = 8 };

/* ---- the scan ---- */

/* The strongest comes first. */
static larmor_status rank_coils(const larmor_array *kspace, int64_t coils, lmr_ranked *order)
{
    for (int64_t c = 0; c < coils; c++) {
        LMR_OWNED(larmor_array) *one = NULL;
        double size;
        LMR_TRY(larmor_array_part(kspace, c, 1, LARMOR_SHAPE(larmor_array_count(kspace) / coils), &one));
        LMR_TRY(larmor_nrm2(one, &size));
        order[c] = (lmr_ranked){-size, c};
    }
    lmr_sort_ranked(order, coils);
    return LARMOR_OK;
}

static larmor_status take_coils(larmor_array *kspace, int64_t coils, lmr_scan *scan)
{
    const int64_t points = scan->n * scan->readouts;
    LMR_HEAP lmr_ranked *order = lmr_new(coils, sizeof *order);
    scan->coils = coils < LMR_FIT_MOST_COILS ? coils : LMR_FIT_MOST_COILS;
    scan->x = lmr_new(2 * points * scan->coils, sizeof *scan->x);
    if (!order || !scan->x) return LMR_NO_MEMORY();
    LMR_TRY(rank_coils(kspace, coils, order));
    for (int64_t c = 0; c < scan->coils; c++) {
        LMR_OWN(larmor_array, one, larmor_array_part(kspace, order[c].index, 1, LARMOR_SHAPE(points), &one));
        LMR_OWN(larmor_array, single, larmor_array_convert(one, LARMOR_C64, &single));
        LMR_TRY(larmor_array_read(single, scan->x + 2 * points * c, larmor_array_bytes(single)));
    }
    return LARMOR_OK;
}

enum { ENOUGH_FOR_NOISE = 1 << 18 }; /* samples, of which a median is known to a few thousandths */

/* From one sample to the next that is looked at, so that they are at all places of the readouts. */
static int64_t stride(int64_t points, int64_t n)
{
    for (int64_t apart = points / ENOUGH_FOR_NOISE | 1;; apart += 2) {
        int64_t a = apart, b = n;
        while (b) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) return apart;
    }
}

/* The median over the samples in the outermost part of k-space, which few large ones do not change. */
static larmor_status find_noise(lmr_scan *scan)
{
    const int64_t points = scan->n * scan->readouts, apart = stride(points, scan->n);
    const int64_t some = (points + apart - 1) / apart;
    LMR_HEAP double *r2 = lmr_new(some, sizeof *r2), *sorted = lmr_new(some, sizeof *sorted);
    if (!r2 || !sorted) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < some; i++) {
        r2[i] = 0;
        for (int d = 0; d < scan->nd; d++) r2[i] += pow(scan->k[scan->nd * apart * i + d], 2);
        sorted[i] = r2[i];
    }
    const double far = lmr_select_f64(sorted, some, (int64_t)((double)(some - 1) * outer));
    for (int64_t c = 0; c < scan->coils; c++) {
        const float *x = scan->x + 2 * points * c;
        int64_t count = 0;
        for (int64_t i = 0; i < some; i++)
            if (r2[i] >= far)
                sorted[count++] = pow((double)x[2 * apart * i], 2) + pow((double)x[2 * apart * i + 1], 2);
        scan->noise[c] = lmr_median_f64(sorted, count) / log(2);
    }
    return LARMOR_OK;
}

/* From the first to the last sample of a readout that is within the widest reach. */
static void find_near(void *self, int64_t r)
{
    lmr_scan *scan = self;
    const double widest = most_reach[scan->nd];
    lmr_range *near = &scan->near[r];
    *near = (lmr_range){scan->n, 0};
    for (int64_t i = 0; i < scan->n; i++) {
        const double *k = scan->k + scan->nd * (i + scan->n * r);
        double r2 = 0;
        for (int d = 0; d < scan->nd; d++) r2 += k[d] * k[d];
        if (!(r2 < widest * widest)) continue;
        if (i < near->first) near->first = i;
        near->end = i + 1;
    }
}

/* The cell of 1/FOV of a place within the reach, of side^nd cells; -1: beyond. */
static int64_t cell_of(int nd, const double *k, double reach, int64_t side)
{
    double r2 = 0;
    int64_t cell = 0;
    for (int d = nd - 1; d >= 0; d--) {
        r2 += k[d] * k[d];
        cell = cell * side + (int64_t)floor(k[d] + 0.5) + side / 2;
    }
    return r2 < reach * reach ? cell : -1;
}

static int64_t power(int64_t side, int nd)
{
    int64_t cells = 1;
    for (int d = 0; d < nd; d++) cells *= side;
    return cells;
}

enum { SHARES = 16 }; /* of readouts, by several threads */

typedef struct visiting {
    const lmr_scan *scan;
    double reach;
    int64_t side, cells;
    int64_t *last; /* [cells, SHARES] the readout that visited a cell last, or -1 */
    int64_t visits[SHARES];
} visiting;

static void visit_share(void *self, int64_t share)
{
    visiting *v = self;
    const lmr_scan *scan = v->scan;
    int64_t *last = v->last + v->cells * share, visits = 0;
    for (int64_t i = 0; i < v->cells; i++) last[i] = -1;
    for (int64_t r = scan->readouts * share / SHARES; r < scan->readouts * (share + 1) / SHARES; r++)
        for (int64_t i = scan->near[r].first; i < scan->near[r].end; i++) {
            const int64_t cell = cell_of(scan->nd, scan->k + scan->nd * (i + scan->n * r), v->reach, v->side);
            if (cell < 0 || last[cell] == r) continue;
            last[cell] = r;
            visits++;
        }
    v->visits[share] = visits;
}

/* 1 if as many readouts visit a cell within the reach, on average over all of its cells. */
static larmor_status has_visits(visiting *v, double reach, double enough, int *has)
{
    const int nd = v->scan->nd;
    const double unit_ball[4] = {0, 2, M_PI, 4 * M_PI / 3};
    const double volume = unit_ball[nd] * pow(reach, nd);
    int64_t visits = 0;
    v->reach = reach;
    LMR_TRY(lmr_parallel(lmr_device_threads(v->scan->dev), SHARES, visit_share, v));
    for (int i = 0; i < SHARES; i++) visits += v->visits[i];
    *has = !((double)visits / volume < enough);
    return LARMOR_OK;
}

/* Shrinks the reach until cells are visited often enough, or it is below the least one. */
static larmor_status shrink_reach(visiting *v, double enough, double *reach)
{
    for (int has = 0; *reach >= least_reach; *reach *= shrink) {
        LMR_TRY(has_visits(v, *reach, enough, &has));
        if (has) return LARMOR_OK;
    }
    return LARMOR_OK;
}

static larmor_status find_reach(lmr_scan *scan)
{
    const int64_t side = 2 * (int64_t)ceil(most_reach[scan->nd]) + 3, cells = power(side, scan->nd);
    const double widest = most_reach[scan->nd];
    const double unknowns[] = {1, 2, pow(LMR_FIT_WIDER, scan->nd)}; /* over those of one image */
    double *const to[] = {&scan->reach, &scan->reach_of_two, &scan->reach_of_wide}, reach = widest;
    LMR_HEAP LMR_NEW(int64_t, last, cells * SHARES);
    visiting v = {.scan = scan, .side = side, .cells = cells, .last = last};
    for (int i = 0; i < 3; i++) {
        LMR_TRY(shrink_reach(&v, unknowns[i] * enough_visits, &reach));
        *to[i] = reach >= least_reach ? reach : 0;
    }
    if (scan->reach >= small_reach) return LARMOR_OK;
    reach = widest;
    LMR_TRY(shrink_reach(&v, few_visits, &reach));
    scan->reach = reach >= least_reach ? reach : 0;
    return LARMOR_OK;
}

larmor_status lmr_scan_expect(const larmor_array *kspace, const larmor_array *traj, const char *what)
{
    const larmor_shape data = larmor_array_shape(kspace), points = larmor_array_shape(traj);
    if (data.ndim == 3 && points.ndim == 3 && points.dim[0] >= 1 && points.dim[0] <= 3 &&
        points.dim[1] == data.dim[0] && points.dim[2] == data.dim[1])
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "%s: kspace is %s and the trajectory %s, expected [samples, readouts, coils] and "
                    "[nd, samples, readouts]",
                    what, lmr_describe(kspace).s, lmr_describe(traj).s);
}

larmor_status lmr_scan_open(const larmor_array *kspace, const larmor_array *traj, lmr_scan *scan)
{
    const larmor_shape data = larmor_array_shape(kspace), points = larmor_array_shape(traj);
    LMR_OWNED(larmor_array) *all = larmor_array_ref(kspace);
    *scan = (lmr_scan){.dev = larmor_array_device(kspace),
                       .nd = (int)points.dim[0],
                       .n = data.dim[0],
                       .readouts = data.dim[1],
                       .spacing = least_step[points.dim[0]]};
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &scan->k));
    LMR_TRY(take_coils(all, data.dim[2], scan));
    LMR_TRY(find_noise(scan));
    LMR_ALLOCATE(scan->near, scan->readouts);
    LMR_TRY(lmr_parallel(lmr_device_threads(scan->dev), scan->readouts, find_near, scan));
    return find_reach(scan);
}

void lmr_scan_close(lmr_scan *scan)
{
    LMR_FREE(scan->k, scan->x, scan->near);
    *scan = (lmr_scan){.nd = 0};
}

/* ---- a fit ---- */

typedef struct centre {
    int64_t count;
    double *k, *w; /* [nd, count] in units of the grid's field of view; roots of the weights */
    int64_t *from; /* the samples' places in the scan */
    int *image;    /* [count] */
} centre;

LMR_FREES(centre_close, centre, k, w, from, image)

/* Weights even out the density of samples, so that a cell counts alike wherever it is. */
static larmor_status weigh(const lmr_scan *scan, double field, centre *c)
{
    const int64_t side = 2 * (int64_t)ceil(most_reach[scan->nd]) + 3, cells = power(side, scan->nd);
    LMR_NEW_ZEROS(int64_t, held, cells);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < c->count; i++) {
            double k[3] = {0};
            for (int d = 0; d < scan->nd; d++) k[d] = c->k[scan->nd * i + d] / field;
            const int64_t cell = cell_of(scan->nd, k, INFINITY, side);
            if (pass)
                c->w[i] = 1 / sqrt((double)held[cell]);
            else
                held[cell]++;
        }
    free(held);
    return LARMOR_OK;
}

/* The samples within the reach, of each readout those that are a step apart. */
static larmor_status take_centre(const lmr_scan *scan, const lmr_candidate *a, centre *c)
{
    const double *all = a->k ? a->k : scan->k;
    const double field = a->field > 0 ? a->field : 1;
    const double reach = a->reach > 0 ? a->reach : scan->reach;
    const int64_t points = scan->n * scan->readouts;
    const int nd = scan->nd;
    *c = (centre){.k = lmr_new(nd * points, sizeof *c->k),
                  .w = lmr_new(points, sizeof *c->w),
                  .from = lmr_new(points, sizeof *c->from),
                  .image = lmr_new(points, sizeof *c->image)};
    if (!c->k || !c->w || !c->from || !c->image) return LMR_NO_MEMORY();
    for (int64_t r = 0; r < scan->readouts; r++) {
        const lmr_range some = a->k || !scan->near ? (lmr_range){0, scan->n} : scan->near[r];
        const double *before = NULL;
        for (int64_t i = some.first; i < some.end; i++) {
            const double *k = all + nd * (i + scan->n * r);
            double r2 = 0, step2 = 0;
            for (int d = 0; d < nd; d++) {
                r2 += k[d] * k[d];
                if (before) step2 += pow(k[d] - before[d], 2);
            }
            if (!(r2 < reach * reach) || (before && step2 < scan->spacing * scan->spacing)) continue;
            before = k;
            for (int d = 0; d < nd; d++) c->k[nd * c->count + d] = k[d] * field;
            c->image[c->count] = a->image ? a->image[r] : 0;
            c->from[c->count++] = i + scan->n * r;
        }
    }
    return weigh(scan, field, c);
}

/* The centre's samples of one image. */
typedef struct part {
    larmor_array *traj, *weights, *kspace;
    larmor_op *A;
    larmor_array *x, *rest;
    int64_t count, *from;
} part;

LMR_FREES(part_close, part, A, traj, weights, kspace, x, rest, from)

static larmor_status make_operator(const lmr_scan *scan, double field, const double *k, const double *w, part *p)
{
    const int64_t side = 2 * (int64_t)ceil(margin * scan->reach * field);
    larmor_shape image = {.ndim = scan->nd};
    for (int d = 0; d < scan->nd; d++) image.dim[d] = side;
    larmor_shape coil = image;
    coil.dim[coil.ndim++] = 1;
    LMR_TRY(larmor_array_upload(scan->dev, LARMOR_F64, LARMOR_SHAPE(scan->nd, p->count, 1), LARMOR_F64, k, &p->traj));
    LMR_TRY(larmor_array_upload(scan->dev, LARMOR_F64, LARMOR_SHAPE(p->count, 1), LARMOR_F64, w, &p->weights));
    LMR_OWN(larmor_array, one, larmor_array_create(scan->dev, LARMOR_C64, coil, &one));
    LMR_TRY(larmor_fill(one, 1));
    const larmor_sense_opts sense = {.traj = p->traj, .weights = p->weights, .nufft_tol = 1e-4, .toeplitz = 1};
    LMR_TRY(larmor_op_sense(one, &sense, &p->A));
    LMR_TRY(larmor_array_create(scan->dev, LARMOR_C64, image, &p->x));
    return larmor_array_create(scan->dev, LARMOR_C64, LARMOR_SHAPE(p->count, 1, 1), &p->rest);
}

static larmor_status part_open(const lmr_scan *scan, const centre *c, double field, int image, part *p)
{
    LMR_HEAP double *k = lmr_new(scan->nd * c->count + 1, sizeof *k), *w = lmr_new(c->count + 1, sizeof *w);
    *p = (part){.from = lmr_new(c->count + 1, sizeof *p->from)};
    if (!k || !w || !p->from) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < c->count; i++) {
        if (c->image[i] != image) continue;
        for (int d = 0; d < scan->nd; d++) k[scan->nd * p->count + d] = c->k[scan->nd * i + d];
        w[p->count] = c->w[i] * c->w[i];
        p->from[p->count++] = c->from[i];
    }
    if (p->count) LMR_TRY(make_operator(scan, field, k, w, p));
    return LARMOR_OK;
}

static larmor_status load(const lmr_scan *scan, const lmr_candidate *a, int64_t coil, part *p)
{
    const float *x = scan->x + 2 * scan->n * scan->readouts * coil;
    LMR_HEAP LMR_NEW(float, y, 2 * p->count);
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t at = p->from[i];
        const double turn = a->cycles ? 2 * M_PI * a->cycles[at] : 0;
        const double re = x[2 * at], im = x[2 * at + 1];
        y[2 * i] = (float)(re * cos(turn) - im * sin(turn));
        y[2 * i + 1] = (float)(re * sin(turn) + im * cos(turn));
    }
    LMR_CLEAR(p->kspace);
    LMR_TRY(larmor_array_upload(scan->dev, LARMOR_C64, LARMOR_SHAPE(p->count, 1, 1), LARMOR_C64, y, &p->kspace));
    return larmor_sense_weigh(p->weights, p->kspace);
}

/* Adds |F x - y|^2 and |y|^2 of the least squares image x. */
static larmor_status solve(part *p, lmr_effort effort, double *left, double *energy)
{
    const larmor_solve_opts opts = {.max_iter = effort == LMR_FIT_FULL ? ITERS : FEW_ITERS, .tol = 1e-3};
    double size, rest;
    LMR_TRY(larmor_nrm2(p->kspace, &size));
    if (!(size > 0)) return LARMOR_OK;
    LMR_TRY(larmor_zero(p->x));
    LMR_TRY(larmor_cg(p->A, p->kspace, p->x, &opts, NULL));
    LMR_TRY(larmor_op_forward(p->A, p->x, p->rest));
    LMR_TRY(larmor_axpby(-1, p->kspace, 1, p->rest));
    LMR_TRY(larmor_nrm2(p->rest, &rest));
    *left += rest * rest;
    *energy += size * size;
    return LARMOR_OK;
}

larmor_status lmr_fit(const lmr_scan *scan, const lmr_candidate *a, lmr_effort effort, lmr_fitted *fitted)
{
    const int images = a->images > 0 ? a->images : 1;
    const int64_t coils = effort == LMR_FIT_FULL ? scan->coils : 1;
    const double field = a->field > 0 ? a->field : 1;
    double left = 0;
    centre c;
    *fitted = (lmr_fitted){.misfit = INFINITY};
    larmor_status st = take_centre(scan, a, &c);
    fitted->samples = c.count;
    for (int64_t i = 0; i < c.count && !st; i++) fitted->cells += c.w[i] * c.w[i];
    for (int m = 0; m < images && !st; m++) {
        LMR_FREED_BY(part_close) part p = {0};
        st = part_open(scan, &c, field, m, &p);
        for (int64_t i = 0; i < coils && !st && p.count; i++) {
            st = load(scan, a, i, &p);
            if (!st) st = solve(&p, effort, &left, &fitted->energy);
        }
    }
    centre_close(&c);
    LMR_TRY(st);
    LMR_REFUSE(!(fitted->energy > 0), LARMOR_ERR_NUMERIC, "descriptions: no energy in the centre of k-space");
    fitted->misfit = sqrt(left / fitted->energy);
    double noise = 0;
    for (int64_t i = 0; i < coils; i++) noise += scan->noise[i] * fitted->cells;
    fitted->beyond_noise = sqrt(fmax(0, left - noise) / fitted->energy);
    return LARMOR_OK;
}

static larmor_status place_samples(const part *p, int64_t points, float *model, float *data)
{
    LMR_OWN_MEMORY(float, y, larmor_array_download(p->kspace, LARMOR_C64, &y));
    LMR_OWN_MEMORY(float, rest, larmor_array_download(p->rest, LARMOR_C64, &rest));
    memset(model, 0, (size_t)(2 * points) * sizeof *model);
    memset(data, 0, (size_t)(2 * points) * sizeof *data);
    for (int64_t i = 0; i < 2 * p->count; i++) {
        const int64_t at = 2 * p->from[i / 2] + i % 2;
        data[at] = y[i];
        model[at] = y[i] + rest[i];
    }
    return LARMOR_OK;
}

larmor_status lmr_fit_model(const lmr_scan *scan, const lmr_candidate *a, float *model, float *data)
{
    double left = 0, energy = 0;
    LMR_FREED_BY(centre_close) centre c = {0};
    LMR_FREED_BY(part_close) part p = {.count = 0};
    LMR_TRY(take_centre(scan, a, &c));
    LMR_TRY(part_open(scan, &c, 1, 0, &p));
    if (p.count) LMR_TRY(load(scan, a, 0, &p));
    if (p.count) LMR_TRY(solve(&p, LMR_FIT_ROUGH, &left, &energy));
    LMR_REFUSE(!(energy > 0), LARMOR_ERR_NUMERIC, "descriptions: no energy in the centre of k-space");
    return place_samples(&p, scan->n * scan->readouts, model, data);
}
