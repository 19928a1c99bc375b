/* Coil maps as an object sees them that has moved. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/motion/rigid.h"

/* ---- where there are none ---- */

/* Voxels whose maps are known, and those next to them that are to become known. */
typedef struct growth {
    const int64_t *n;
    int64_t voxels, coils;
    float *maps;
    unsigned char *known; /* 2: in the list */
    int64_t *next;
    int64_t count;
} growth;

enum { UNKNOWN, KNOWN, LISTED };

/* The voxel's neighbours along the axes; their number. */
static int neighbours_of(const int64_t n[3], int64_t voxel, int64_t to[6])
{
    const int64_t at[3] = {voxel % n[0], voxel / n[0] % n[1], voxel / n[0] / n[1]};
    const int64_t step[3] = {1, n[0], n[0] * n[1]};
    int count = 0;
    for (int d = 0; d < 3; d++) {
        if (at[d] > 0) to[count++] = voxel - step[d];
        if (at[d] + 1 < n[d]) to[count++] = voxel + step[d];
    }
    return count;
}

static void list_unknown(growth *g, int64_t voxel)
{
    int64_t to[6];
    const int count = neighbours_of(g->n, voxel, to);
    for (int i = 0; i < count; i++) {
        if (g->known[to[i]] != UNKNOWN) continue;
        g->known[to[i]] = LISTED;
        g->next[g->count++] = to[i];
    }
}

/* The mean of what is known around it. */
static void fill(const growth *g, int64_t voxel)
{
    int64_t to[6];
    const int count = neighbours_of(g->n, voxel, to);
    int used = 0;
    for (int i = 0; i < count; i++) used += g->known[to[i]] == KNOWN;
    for (int64_t c = 0; c < g->coils; c++) {
        float *m = g->maps + 2 * (voxel + g->voxels * c);
        m[0] = m[1] = 0;
        for (int i = 0; i < count; i++) {
            const float *from = g->maps + 2 * (to[i] + g->voxels * c);
            if (g->known[to[i]] != KNOWN) continue;
            m[0] += from[0] / (float)used;
            m[1] += from[1] / (float)used;
        }
    }
}

static int is_zero(const growth *g, int64_t voxel)
{
    for (int64_t c = 0; c < g->coils; c++) {
        const float *m = g->maps + 2 * (voxel + g->voxels * c);
        if (m[0] != 0 || m[1] != 0) return 0;
    }
    return 1;
}

/* Layer after layer around what is known. */
static void grow(growth *g)
{
    for (int64_t i = 0; i < g->voxels; i++)
        if (g->known[i] == KNOWN) list_unknown(g, i);
    for (int64_t first = 0; first < g->count;) {
        const int64_t last = g->count;
        for (int64_t i = first; i < last; i++) fill(g, g->next[i]);
        for (int64_t i = first; i < last; i++) g->known[g->next[i]] = KNOWN;
        for (int64_t i = first; i < last; i++) list_unknown(g, g->next[i]);
        first = last;
    }
}

larmor_status lmr_maps_extend(const int64_t n[3], int64_t coils, float *maps)
{
    growth g = {.n = n, .voxels = n[0] * n[1] * n[2], .coils = coils, .maps = maps};
    LMR_HEAP unsigned char *known = lmr_new(g.voxels, 1);
    LMR_HEAP int64_t *next = lmr_new(g.voxels, sizeof *next);
    int64_t zeros = 0;
    if (!known || !next) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < g.voxels; i++) {
        known[i] = is_zero(&g, i) ? UNKNOWN : KNOWN;
        zeros += known[i] == UNKNOWN;
    }
    LMR_REFUSE(zeros == g.voxels, LARMOR_ERR_NUMERIC, "motion: coil maps are zero at all voxels");
    g.known = known;
    g.next = next;
    if (zeros) grow(&g);
    return LARMOR_OK;
}

/* ---- between voxels ---- */

typedef struct resampling {
    int nd;
    const int64_t *n, *n_to; /* voxels of both */
    int64_t coils;
    const lmr_rigid *map;
    const float *from;
    float *to;
} resampling;

/* Weights of 4 voxels from index on, at x between the second and the third; those beyond the edge are the edge's. */
static void taps_at(double x, int64_t n, int64_t index[4], double weight[4])
{
    const double inside = fmin(fmax(x, 0), (double)(n - 1)), low = floor(inside), f = inside - low;
    weight[0] = f * (-0.5 + f * (1 - 0.5 * f));
    weight[1] = 1 + f * f * (-2.5 + 1.5 * f);
    weight[2] = f * (0.5 + f * (2 - 1.5 * f));
    weight[3] = f * f * (-0.5 + 0.5 * f);
    for (int i = 0; i < 4; i++) {
        const int64_t at = (int64_t)low - 1 + i;
        index[i] = at < 0 ? 0 : at;
        if (index[i] > n - 1) index[i] = n - 1;
    }
}

/* A voxel of all coils. */
static void resample_at(const resampling *r, const int64_t at[3], int64_t voxel)
{
    const int64_t *n = r->n, *own = r->n_to, voxels = n[0] * n[1] * n[2], all_to = own[0] * own[1] * own[2];
    int64_t index[3][4] = {{0}}, place[64];
    double weight[3][4] = {{1}, {1}, {1}}, all[64];
    int taps = 0;
    for (int a = 0; a < r->nd; a++) {
        double u = r->map->shift[a];
        for (int b = 0; b < r->nd; b++) u += r->map->turn[a][b] * (double)(at[b] - own[b] / 2) / (double)own[b];
        taps_at(u * (double)n[a] + (double)(n[a] / 2), n[a], index[a], weight[a]);
    }
    for (int z = 0; z < (r->nd > 2 ? 4 : 1); z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++, taps++) {
                all[taps] = weight[0][x] * weight[1][y] * weight[2][z];
                place[taps] = index[0][x] + n[0] * (index[1][y] + n[1] * index[2][z]);
            }
    for (int64_t c = 0; c < r->coils; c++) {
        const float *from = r->from + 2 * voxels * c;
        double re = 0, im = 0;
        for (int i = 0; i < taps; i++) {
            re += all[i] * from[2 * place[i]];
            im += all[i] * from[2 * place[i] + 1];
        }
        r->to[2 * (voxel + all_to * c)] = (float)re;
        r->to[2 * (voxel + all_to * c) + 1] = (float)im;
    }
}

static void resample_line(void *self, int64_t line)
{
    const resampling *r = self;
    const int64_t *n = r->n_to;
    int64_t at[3] = {0, line % n[1], line / n[1]};
    for (; at[0] < n[0]; at[0]++) resample_at(r, at, at[0] + n[0] * line);
}

larmor_status lmr_maps_resample(int threads, int nd, const int64_t n[3], const int64_t n_to[3], int64_t coils,
                                const lmr_rigid *map, const float *from, float *to)
{
    resampling r = {nd, n, n_to, coils, map, from, to};
    return lmr_parallel(threads, n_to[1] * n_to[2], resample_line, &r);
}

larmor_status larmor_maps_move(const larmor_array *maps, const double *pose, const double *fov_mm,
                               larmor_array **moved)
{
    LMR_NEED_OUT(moved, maps, pose, fov_mm);
    const larmor_shape shape = larmor_array_shape(maps);
    const int nd = shape.ndim - 1;
    LMR_REFUSE(!lmr_is_complex(maps->dtype) || nd < 2 || nd > 3 || larmor_array_count(maps) < 1, LARMOR_ERR_SHAPE,
               "motion: maps are %s, expected complex [x, y, coils] or [x, y, z, coils]", lmr_describe(maps).s);
    double turn[9], shift[3];
    LMR_TRY(larmor_pose_map(pose, nd, fov_mm, turn, shift)); /* which checks it */
    const int64_t n[3] = {shape.dim[0], shape.dim[1], nd > 2 ? shape.dim[2] : 1};
    const int64_t coils = shape.dim[nd];
    LMR_HEAP float *from = NULL, *to = lmr_new(larmor_array_count(maps), 2 * sizeof *to);
    lmr_rigid map;
    if (!to) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(maps, LARMOR_C64, &from));
    lmr_rigid_of(pose, nd, fov_mm, &map);
    LMR_TRY(lmr_maps_extend(n, coils, from));
    LMR_TRY(lmr_maps_resample(lmr_device_threads(maps->dev), nd, n, n, coils, &map, from, to));
    return larmor_array_upload(maps->dev, maps->dtype, shape, LARMOR_C64, to, moved);
}
