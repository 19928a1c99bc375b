/* Density compensation by Voronoi cells: a sample's weight is the area of k-space that is nearer to it than to
 * others.
 *
 * Samples that coincide share a cell. Cells at the rim, which have no end outwards, end there as they do inwards: the
 * neighbours are reflected at the sample, and the reflections that lie beyond the sampled region become points whose
 * cells do not count. So the outermost samples of a spoke have the length of its other cells, those of a spiral the
 * width of a turn, and the edge of a Cartesian grid half a cell beyond its last line.
 * A cell is cut from a square by the bisectors between its sample and its neighbours of the Delaunay triangulation,
 * which needs no circumcentres and so does not mind points on circles and lines.
 *
 * Source: Rasche, Proksa, Sinkus, Boernert, Eggers, IEEE Trans. Med. Imaging 18, 385 (1999), who extrapolate the
 * cells of the rim from their neighbours. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/density/delaunay.h"
#include "recon/density/density.h"

#define MAX_SAME_DISTANCE 1e-3 /* 1/FOV: samples that are so near to each other are one */
#define MIN_OUTWARD_COSINE 0.6 /* cosine between a reflection's direction and outwards, at least; not measured */

typedef struct point {
    double x, y;
} point;

/* ---- different points ---- */

typedef struct placed { /* a sample's place on a lattice of MAX_SAME_DISTANCE */
    int64_t x, y, sample;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->sample > q->sample) - (p->sample < q->sample);
}

typedef struct cells { /* of different points */
    int64_t count;
    point *at;
    double *area;
    int64_t *shared; /* how many samples a point stands for */
} cells;

LMR_FREES(cells_free, cells, at, area, shared)

/* The different points of samples; owner[i]: the point of sample i. */
static larmor_status find_different(int64_t samples, const point *k, cells *c, int64_t *owner)
{
    LMR_HEAP LMR_NEW(placed, order, samples);
    LMR_ALLOCATE(c->at, samples);
    LMR_ALLOCATE(c->area, samples);
    LMR_ALLOCATE(c->shared, samples);
    for (int64_t i = 0; i < samples; i++)
        order[i] = (placed){llround(k[i].x / MAX_SAME_DISTANCE), llround(k[i].y / MAX_SAME_DISTANCE), i};
    qsort(order, (size_t)samples, sizeof *order, by_place);
    for (int64_t i = 0; i < samples; i++) {
        const int known = i && order[i].x == order[i - 1].x && order[i].y == order[i - 1].y;
        if (!known) {
            c->at[c->count] = k[order[i].sample];
            c->shared[c->count++] = 0;
        }
        c->shared[c->count - 1]++;
        owner[order[i].sample] = c->count - 1;
    }
    return LARMOR_OK;
}

/* ---- the sampled region: the convex hull ---- */

typedef struct hull {
    point centre;    /* within */
    int64_t *corner; /* [count] points, anticlockwise from the lowest angle about the centre */
    double *angle;   /* [count] of the corners */
    int64_t count;
} hull;

static double cross(point a, point b, point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

LMR_FREES(hull_free, hull, corner, angle)

typedef struct candidate {
    point at;
    int64_t i;
} candidate;

static int from_left(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->at.x != q->at.x) return p->at.x < q->at.x ? -1 : 1;
    return (p->at.y > q->at.y) - (p->at.y < q->at.y);
}

/* One side of the hull, of points sorted from the left or, by step -1, from the right: Andrew, Inf. Process. Lett. 9,
 * 216 (1979). Returns where the other side goes on. */
static int64_t add_side(const cells *c, const candidate *sorted, int step, int64_t *corner, int64_t from)
{
    int64_t count = from;
    for (int64_t n = 0; n < c->count; n++) {
        const int64_t i = sorted[step > 0 ? n : c->count - 1 - n].i;
        while (count - from >= 2 && cross(c->at[corner[count - 2]], c->at[corner[count - 1]], c->at[i]) <= 0) count--;
        corner[count++] = i;
    }
    return count - 1;
}

static double angle_about(const hull *h, point p)
{
    return atan2(p.y - h->centre.y, p.x - h->centre.x);
}

/* The corners of the hull, from any of them on. */
static larmor_status find_corners(const cells *c, int64_t *corner, int64_t *count)
{
    LMR_NEW(candidate, sorted, c->count);
    for (int64_t i = 0; i < c->count; i++) sorted[i] = (candidate){c->at[i], i};
    qsort(sorted, (size_t)c->count, sizeof *sorted, from_left);
    *count = add_side(c, sorted, 1, corner, 0);
    *count = add_side(c, sorted, -1, corner, *count);
    free(sorted);
    return LARMOR_OK;
}

static larmor_status make_hull(const cells *c, hull *h)
{
    LMR_HEAP int64_t *corner = lmr_new(2 * c->count + 2, sizeof *corner);
    int64_t first = 0;
    if (!corner) return LMR_NO_MEMORY();
    LMR_TRY(find_corners(c, corner, &h->count));
    LMR_ALLOCATE(h->corner, h->count);
    LMR_ALLOCATE(h->angle, h->count);
    for (int64_t i = 0; i < h->count; i++) {
        h->centre.x += c->at[corner[i]].x / (double)h->count;
        h->centre.y += c->at[corner[i]].y / (double)h->count;
    }
    for (int64_t i = 0; i < h->count; i++)
        if (angle_about(h, c->at[corner[i]]) < angle_about(h, c->at[corner[first]])) first = i;
    for (int64_t i = 0; i < h->count; i++) {
        h->corner[i] = corner[(first + i) % h->count];
        h->angle[i] = angle_about(h, c->at[h->corner[i]]);
    }
    return LARMOR_OK;
}

/* The side of the hull in the direction of p: from corner i to the next. */
static int64_t side_towards(const hull *h, point p)
{
    const double angle = angle_about(h, p);
    int64_t low = -1, high = h->count;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (h->angle[middle] <= angle)
            low = middle;
        else
            high = middle;
    }
    return low < 0 ? h->count - 1 : low;
}

static int is_outside(const cells *c, const hull *h, point p)
{
    const int64_t side = side_towards(h, p);
    const point a = c->at[h->corner[side]], b = c->at[h->corner[(side + 1) % h->count]];
    return cross(a, b, p) < -1e-9 * hypot(b.x - a.x, b.y - a.y);
}

/* The unit vector outwards from side i. */
static point normal_of(const cells *c, const hull *h, int64_t side)
{
    const point a = c->at[h->corner[side]], b = c->at[h->corner[(side + 1) % h->count]];
    const double length = hypot(b.x - a.x, b.y - a.y);
    return (point){(b.y - a.y) / length, (a.x - b.x) / length};
}

/* Outwards at point i: between both sides of a corner. */
static point outwards(const cells *c, const hull *h, int64_t i)
{
    const int64_t side = side_towards(h, c->at[i]);
    const point n = normal_of(c, h, side);
    for (int step = 0; step < 2; step++) {
        const int64_t corner = (side + step) % h->count;
        if (h->corner[corner] != i) continue;
        const point other = normal_of(c, h, step ? corner : (side + h->count - 1) % h->count);
        const double length = hypot(n.x + other.x, n.y + other.y);
        if (length > 1e-6) return (point){(n.x + other.x) / length, (n.y + other.y) / length};
    }
    return n;
}

/* ---- cells ---- */

typedef struct polygon {
    point *corner, *spare; /* each cut adds a corner at most: to 4, one for each neighbour and each reflection */
    int count;
} polygon;

LMR_FREES(polygon_free, polygon, corner, spare)

static larmor_status make_room(polygon *cell, const lmr_neighbours *near, int64_t points)
{
    int64_t most = 0;
    for (int64_t i = 0; i < points; i++)
        if (near->first[i + 1] - near->first[i] > most) most = near->first[i + 1] - near->first[i];
    cell->corner = lmr_new(2 * most + 8, sizeof *cell->corner);
    cell->spare = lmr_new(2 * most + 8, sizeof *cell->spare);
    return cell->corner && cell->spare ? LARMOR_OK : LMR_NO_MEMORY();
}

/* What of the polygon, about 0, is nearer to 0 than to q. */
static void cut(polygon *cell, point q)
{
    const double half = (q.x * q.x + q.y * q.y) / 2;
    int count = 0;
    for (int i = 0; i < cell->count; i++) {
        const point a = cell->corner[i], b = cell->corner[(i + 1) % cell->count];
        const double from = half - a.x * q.x - a.y * q.y, to = half - b.x * q.x - b.y * q.y;
        if (from >= 0) cell->spare[count++] = a;
        if ((from >= 0) == (to >= 0)) continue;
        const double t = from / (from - to);
        cell->spare[count++] = (point){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
    }
    point *const cut_off = cell->corner;
    cell->corner = cell->spare;
    cell->spare = cut_off;
    cell->count = count;
}

/* The cell of point i about that point, within a square of this half side. */
static void make_cell(const point *at, const lmr_neighbours *near, int64_t i, double half, polygon *cell)
{
    const point square[4] = {{-half, -half}, {half, -half}, {half, half}, {-half, half}};
    memcpy(cell->corner, square, sizeof square);
    cell->count = 4;
    for (int64_t n = near->first[i]; n < near->first[i + 1] && cell->count; n++) {
        const point q = at[near->list[n]];
        cut(cell, (point){q.x - at[i].x, q.y - at[i].y});
    }
}

static double area_of(const polygon *cell)
{
    double twice = 0;
    for (int i = 0; i < cell->count; i++) {
        const point a = cell->corner[i], b = cell->corner[(i + 1) % cell->count];
        twice += a.x * b.y - a.y * b.x;
    }
    return fmax(twice / 2, 0);
}

static double farthest_neighbour(const cells *c, const lmr_neighbours *near, int64_t i)
{
    double most = 0;
    for (int64_t n = near->first[i]; n < near->first[i + 1]; n++) {
        const point q = c->at[near->list[n]];
        most = fmax(most, hypot(q.x - c->at[i].x, q.y - c->at[i].y));
    }
    return most;
}

/* ---- the rim ---- */

/* The point that is nearest to p, by steps to nearer neighbours from point i on. */
static int64_t nearest(const cells *c, const lmr_neighbours *near, int64_t i, point p)
{
    double least = hypot(c->at[i].x - p.x, c->at[i].y - p.y);
    for (int64_t n = near->first[i]; n < near->first[i + 1]; n++) {
        const int64_t other = near->list[n];
        const double distance = hypot(c->at[other].x - p.x, c->at[other].y - p.y);
        if (distance >= least * (1 - 1e-9)) continue;
        least = distance;
        i = other;
        n = near->first[i] - 1;
    }
    return i;
}

/* Cut the cell of point i by the reflections of its neighbours that lie outwards and have no other point nearer. */
static void close_cell(const cells *c, const hull *h, const lmr_neighbours *near, int64_t i, polygon *cell)
{
    const point p = c->at[i], out = outwards(c, h, i);
    for (int64_t n = near->first[i]; n < near->first[i + 1] && cell->count; n++) {
        const point q = c->at[near->list[n]], away = {p.x - q.x, p.y - q.y}, mirrored = {p.x + away.x, p.y + away.y};
        if (away.x * out.x + away.y * out.y < MIN_OUTWARD_COSINE * hypot(away.x, away.y)) continue;
        if (is_outside(c, h, mirrored) && nearest(c, near, i, mirrored) == i) cut(cell, away);
    }
}

/* 1 if the cell of point i leaves the hull. */
static int is_open(const cells *c, const hull *h, int64_t i, const polygon *cell)
{
    for (int n = 0; n < cell->count; n++)
        if (is_outside(c, h, (point){c->at[i].x + cell->corner[n].x, c->at[i].y + cell->corner[n].y})) return 1;
    return 0;
}

/* Areas of the cells of different points in the plane. */
static larmor_status measure(cells *c)
{
    LMR_FREED_BY(lmr_neighbours_free) lmr_neighbours near = {NULL, NULL};
    LMR_FREED_BY(hull_free) hull h = {{0, 0}, NULL, NULL, 0};
    LMR_FREED_BY(polygon_free) polygon cell = {NULL, NULL, 0};
    LMR_TRY(lmr_delaunay(c->count, &c->at->x, &near));
    LMR_TRY(make_hull(c, &h));
    LMR_TRY(make_room(&cell, &near, c->count));
    double extent = 0;
    for (int64_t i = 0; i < h.count; i++) {
        const point p = c->at[h.corner[i]];
        extent = fmax(extent, hypot(p.x - h.centre.x, p.y - h.centre.y));
    }
    for (int64_t i = 0; i < c->count; i++) {
        if (i % 4096 == 0) LMR_TRY(lmr_go_on());
        make_cell(c->at, &near, i, 4 * extent, &cell);
        if (is_open(c, &h, i, &cell)) {
            make_cell(c->at, &near, i, farthest_neighbour(c, &near, i), &cell);
            close_cell(c, &h, &near, i, &cell);
        }
        c->area[i] = area_of(&cell);
    }
    return LARMOR_OK;
}

/* Weights w of samples in a plane. */
static larmor_status weigh_plane(int64_t samples, const point *k, double *w)
{
    LMR_FREED_BY(cells_free) cells c = {0, NULL, NULL, NULL};
    LMR_HEAP LMR_NEW(int64_t, owner, samples);
    LMR_TRY(find_different(samples, k, &c, owner));
    LMR_TRY(measure(&c));
    for (int64_t i = 0; i < samples; i++) w[i] = c.area[owner[i]] / (double)c.shared[owner[i]];
    return LARMOR_OK;
}

/* ---- partitions ---- */

/* The length along z of the plane that begins at order[first], the next of which begins at `after`: half the
 * way to each, at the ends as far outwards as inwards, and 1/FOV for a single plane. */
static double length_of(const lmr_ranked *order, int64_t samples, int64_t first, int64_t after)
{
    const double below = first ? (order[first].value - order[first - 1].value) * MAX_SAME_DISTANCE : 0;
    const double above = after < samples ? (order[after].value - order[first].value) * MAX_SAME_DISTANCE : 0;
    if (below > 0 && above > 0) return (below + above) / 2;
    return below + above > 0 ? below + above : 1;
}

/* The weights of the samples order[first .. after - 1], which lie in one plane. */
static larmor_status weigh_partition(const double *k, const lmr_ranked *order, int64_t first, int64_t after,
                                     double length, double *w)
{
    const int64_t count = after - first;
    LMR_HEAP LMR_NEW(point, plane, count);
    LMR_HEAP LMR_NEW(double, area, count);
    for (int64_t i = 0; i < count; i++) {
        const double *sample = k + 3 * order[first + i].index;
        plane[i] = (point){sample[0], sample[1]};
    }
    LMR_TRY(weigh_plane(count, plane, area));
    for (int64_t i = 0; i < count; i++) w[order[first + i].index] = area[i] * length;
    return LARMOR_OK;
}

/* Weights of samples in partitions along z: the area within a partition times the length along z. */
static larmor_status weigh_partitions(int64_t samples, const double *k, double *w)
{
    LMR_HEAP LMR_NEW(lmr_ranked, order, samples);
    int64_t planes = 0;
    for (int64_t i = 0; i < samples; i++) order[i] = (lmr_ranked){round(k[3 * i + 2] / MAX_SAME_DISTANCE), i};
    lmr_sort_ranked(order, samples);
    for (int64_t i = 0; i < samples; i++) planes += !i || order[i].value != order[i - 1].value;
    LMR_REFUSE(samples < 8 * planes, LARMOR_ERR_ARG,
               "%lld samples at %lld different kz, expected a 2D trajectory or partitions; use "
               "larmor_density_pipe",
               (long long)samples, (long long)planes);
    for (int64_t first = 0, after; first < samples; first = after) {
        for (after = first + 1; after < samples && order[after].value == order[first].value;) after++;
        LMR_TRY(weigh_partition(k, order, first, after, length_of(order, samples, first, after), w));
    }
    return LARMOR_OK;
}

static larmor_status weigh_all(larmor_shape image, int64_t n, int64_t readouts, const double *k, double *w)
{
    LMR_REFUSE(image.ndim == 1, LARMOR_ERR_ARG, "density voronoi: image has 1 dimension, expected 2 or 3");
    const int64_t samples = n * readouts;
    const larmor_status st =
        image.ndim == 2 ? weigh_plane(samples, (const point *)k, w) : weigh_partitions(samples, k, w);
    return st == LARMOR_ERR_ARG ? lmr_fail_in(st, "density voronoi") : st;
}

larmor_status larmor_density_voronoi(const larmor_array *traj, larmor_shape image, larmor_array **w)
{
    LMR_NEED(w);
    return lmr_density_by("density voronoi", traj, image, weigh_all, w);
}
