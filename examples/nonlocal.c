/* A plugin for larmor recon --prior ./nonlocal.so[:H]: non-local means of complex images and volumes in host memory.
 * Voxels are averaged whose neighbourhoods are alike but for noise; H (default 1.5) times sigma is how unlike they
 * may be. It needs nothing of liblarmor: cc -O2 -shared -fPIC -I../include nonlocal.c -o nonlocal.so -lm
 *
 * Source: Buades, Coll, Morel, Multiscale Model. Simul. 4, 490 (2005). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "larmor/prior.h"

enum { SEARCH = 5, SEARCH_3D = 2, PATCH = 1 }; /* voxels to each side */

typedef struct means {
    double h;
} means;

/* Images of up to three dimensions, the fastest first. */
typedef struct volume {
    int64_t n[3], voxels;
    const float complex *x;
    float *distance, *line, *weight;
    double complex *sum;
} volume;

static int open_means(const char *argument, void **self, char *message, size_t room)
{
    char *end;
    means *m = malloc(sizeof *m);
    if (!m) return snprintf(message, room, "out of memory");
    m->h = *argument ? strtod(argument, &end) : 1.5;
    if (*argument && (*end || !(m->h > 0))) {
        free(m);
        return snprintf(message, room, "H is \"%s\", expected a number above 0", argument);
    }
    *self = m;
    return 0;
}

static int64_t within(int64_t i, int64_t n)
{
    if (i < 0) return 0;
    return i < n ? i : n - 1;
}

static int64_t moved(const volume *v, int64_t i, const int *by)
{
    const int64_t x = i % v->n[0], y = i / v->n[0] % v->n[1], z = i / (v->n[0] * v->n[1]);
    return within(x + by[0], v->n[0]) + v->n[0] * (within(y + by[1], v->n[1]) + v->n[1] * within(z + by[2], v->n[2]));
}

/* distance <- its mean over the patch along axis d. */
static void smooth(volume *v, int d)
{
    float *from = v->distance;
    if (v->n[d] == 1) return;
    for (int64_t i = 0; i < v->voxels; i++) {
        float sum = 0;
        for (int p = -PATCH; p <= PATCH; p++) {
            int by[3] = {0};
            by[d] = p;
            sum += from[moved(v, i, by)];
        }
        v->line[i] = sum / (2 * PATCH + 1);
    }
    v->distance = v->line;
    v->line = from;
}

/* Of unlike neighbourhoods the noise alone makes 4 sigma^2. */
static void add(volume *v, const int *by, double sigma, double h)
{
    for (int64_t i = 0; i < v->voxels; i++) {
        const float complex apart = v->x[i] - v->x[moved(v, i, by)];
        v->distance[i] = crealf(apart) * crealf(apart) + cimagf(apart) * cimagf(apart);
    }
    for (int d = 0; d < 3; d++) smooth(v, d);
    for (int64_t i = 0; i < v->voxels; i++) {
        const double unlike = fmax(0, v->distance[i] - 4 * sigma * sigma) / (h * h * sigma * sigma);
        const float w = (float)exp(-unlike);
        v->weight[i] += w;
        v->sum[i] += w * v->x[moved(v, i, by)];
    }
}

static void average(volume *v, double sigma, double h, float complex *z)
{
    int reach[3];
    for (int d = 0; d < 3; d++) reach[d] = v->n[2] > 1 ? SEARCH_3D : SEARCH;
    for (int d = 0; d < 3; d++) reach[d] = v->n[d] > 1 ? reach[d] : 0;
    int by[3];
    for (by[2] = -reach[2]; by[2] <= reach[2]; by[2]++)
        for (by[1] = -reach[1]; by[1] <= reach[1]; by[1]++)
            for (by[0] = -reach[0]; by[0] <= reach[0]; by[0]++) add(v, by, sigma, h);
    for (int64_t i = 0; i < v->voxels; i++) z[i] = (float complex)(v->sum[i] / v->weight[i]);
}

static int denoise(void *self, double sigma, const larmor_dl_tensor *x, larmor_dl_tensor *z, char *message,
                   size_t room)
{
    const means *m = self;
    volume v = {.n = {1, 1, 1}, .voxels = 1, .x = x->data};
    if (x->device.device_type != 1 || x->dtype.bits != 64 || x->ndim > 3)
        return snprintf(message, room,
                        "complex64 of at most 3 dimensions in host memory expected; take --device cpu");
    for (int d = 0; d < x->ndim; d++) v.n[d] = x->shape[x->ndim - 1 - d];
    for (int d = 0; d < 3; d++) v.voxels *= v.n[d];
    float *numbers = calloc((size_t)v.voxels, 3 * sizeof *numbers);
    v.sum = calloc((size_t)v.voxels, sizeof *v.sum);
    const int has_memory = numbers && v.sum;
    if (has_memory) {
        v.distance = numbers;
        v.line = numbers + v.voxels;
        v.weight = numbers + 2 * v.voxels;
        average(&v, sigma, m->h, z->data);
    }
    free(numbers);
    free(v.sum);
    return has_memory ? 0 : snprintf(message, room, "out of memory");
}

LARMOR_PRIOR_PLUGIN = {.abi = LARMOR_PRIOR_ABI,
                       .size = sizeof(larmor_prior_table),
                       .name = "non-local means",
                       .form = LARMOR_DENOISE_COMPLEX,
                       .open = open_means,
                       .denoise = denoise,
                       .close = free};
