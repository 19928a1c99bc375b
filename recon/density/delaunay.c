/* The Delaunay triangulation of points in the plane, by Qhull. Its messages go to memory, and its errors, which it
 * raises by longjmp within its own calls, come back as a number. SPDX-License-Identifier: Apache-2.0 */
#include "recon/density/delaunay.h"

#include <libqhull_r/qhull_ra.h>

#include "core/core.h"

enum { MOST_POINTS = 1 << 28 }; /* Qhull counts facets, two for each point, by int */

#define LINE_TOLERANCE 1e-9 /* of the extent: what is nearer to a line is on it */

/* Of the extent: so much Qhull sees each point moved. On circles and lattices, of which trajectories are made, it
 * would merge facets that are as good as each other, which takes three times as long. */
#define POINT_SHIFT 1e-8
enum { SEED = 1 };

void lmr_neighbours_free(lmr_neighbours *neighbours)
{
    LMR_FREE(neighbours->first, neighbours->list);
    *neighbours = (lmr_neighbours){NULL, NULL};
}

/* 1 if some point is off the line through the first one and the one that is farthest from it, at the distance
 *   *far. */
static int spans_a_plane(int64_t count, const double *points, double *far)
{
    int64_t farthest = 0;
    double extent = 0;
    for (int64_t i = 1; i < count; i++) {
        const double distance = hypot(points[2 * i] - points[0], points[2 * i + 1] - points[1]);
        if (distance <= extent) continue;
        extent = distance;
        farthest = i;
    }
    *far = extent;
    const double u[2] = {points[2 * farthest] - points[0], points[2 * farthest + 1] - points[1]};
    for (int64_t i = 1; i < count; i++) {
        const double v[2] = {points[2 * i] - points[0], points[2 * i + 1] - points[1]};
        if (fabs(u[0] * v[1] - u[1] * v[0]) > LINE_TOLERANCE * extent * extent) return 1;
    }
    return 0;
}

/* The corners of a facet, without the point at infinity; their count, at most `room`. */
static int corners_of(qhT *qh, facetT *facet, int64_t points, int *corner, int room)
{
    vertexT *vertex, **vertexp;
    int count = 0;
    FOREACHvertex_(facet->vertices)
    {
        const int id = qh_pointid(qh, vertex->point);
        if (id >= 0 && id < points && count < room) corner[count++] = id;
    }
    return count;
}

/* All pairs of corners of all triangles: first counted, then, with a list, written. */
static void collect(qhT *qh, int64_t points, int64_t *first, int *list)
{
    facetT *facet;
    int corner[3];
    FORALLfacets
    {
        if (facet->upperdelaunay) continue;
        const int count = corners_of(qh, facet, points, corner, 3);
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++) {
                if (a == b) continue;
                if (list)
                    list[first[corner[a]]++] = corner[b];
                else
                    first[corner[a] + 1]++;
            }
    }
}

static larmor_status make_lists(qhT *qh, int64_t points, lmr_neighbours *out)
{
    LMR_ALLOCATE_ZEROS(out->first, (size_t)points + 2);
    collect(qh, points, out->first, NULL);
    for (int64_t i = 0; i < points; i++) out->first[i + 1] += out->first[i];
    LMR_ALLOCATE(out->list, out->first[points]);
    collect(qh, points, out->first, out->list); /* each first becomes the next one's */
    memmove(out->first + 1, out->first, (size_t)points * sizeof *out->first);
    out->first[0] = 0;
    return LARMOR_OK;
}

/* One run of Qhull; *fault is its exit code. */
static larmor_status triangulate(int64_t count, const double *points, double moved, char *options, int *fault,
                                 lmr_neighbours *out)
{
    LMR_HEAP char *said = NULL;
    size_t length = 0;
    larmor_status st = LARMOR_OK;
    LMR_HEAP qhT *qh = calloc(1, sizeof *qh);
    FILE *messages = open_memstream(&said, &length);
    LMR_HEAP double *copy = lmr_new(2 * count, sizeof *copy);
    if (!qh || !messages || !copy) LMR_OR(done, LMR_NO_MEMORY());
    for (int64_t i = 0; i < 2 * count; i++)
        copy[i] = points[i] + moved * (2 * lmr_random_uniform(SEED, (uint64_t)i) - 1);
    qh_zero(qh, messages);
    *fault = qh_new_qhull(qh, 2, (int)count, copy, False, options, messages, messages);
    if (!*fault) st = make_lists(qh, count, out);
    if (*fault == qh_ERRmem) st = LMR_NO_MEMORY();
    int kept, bytes;
    qh_freeqhull(qh, !qh_ALL);
    qh_memfreeshort(qh, &kept, &bytes);
done:
    if (messages) fclose(messages);
    return st;
}

larmor_status lmr_delaunay(int64_t count, const double *points, lmr_neighbours *out)
{
    char options[2][40] = {"qhull d Qbb Qc Qt Q12 Pp", "qhull d Qbb QJ Pp"}; /* QJ moves the points itself */
    int fault = 0;
    double extent;
    *out = (lmr_neighbours){NULL, NULL};
    LMR_REFUSE(count < 3 || count > MOST_POINTS, LARMOR_ERR_ARG,
               "triangulation: %lld different points, expected 3 to %d", (long long)count, MOST_POINTS);
    LMR_REFUSE(!spans_a_plane(count, points, &extent), LARMOR_ERR_ARG,
               "triangulation: all %lld points are on one line", (long long)count);
    for (int i = 0; i < 2; i++) {
        LMR_TRY(triangulate(count, points, POINT_SHIFT * extent, options[i], &fault, out));
        if (!fault) return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "triangulation: Qhull failed with code %d on %lld points", fault,
                    (long long)count);
}
