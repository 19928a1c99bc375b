/* A scene whose k-space and coils are known exactly, for tests of coil maps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/recon/support.h"

/* Gaussian objects with a hole between them, seen by coils whose sensitivities are trigonometric polynomials of first
 * order: the product's transform is a sum of shifted Gaussians. */
enum { COILS = 6, WAVES = 5, BLOBS = 3 };
static const double blob[BLOBS][5] = {
    {0.05, -0.18, 0.1, 0.3, 1}, {-0.15, 0.12, -0.1, 0.25, 0.8}, {0.2, 0.2, 0, 0.12, 1}};
static const int wave[WAVES][3] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static inline cplx coefficient(int coil, int w)
{
    uint64_t seed = (uint64_t)(1 + coil * WAVES + w);
    for (int i = 0; i < 8; i++) test_random(&seed);
    const double size = w == 0 ? 0.8 : 0.2;
    const double cycles = test_random(&seed);
    return size * cexp(M_PI * I * cycles);
}

static inline double object(const double *r, int nd)
{
    double sum = 0;
    for (int b = 0; b < BLOBS; b++) {
        double square = 0;
        for (int d = 0; d < nd; d++) square += pow((r[d] - blob[b][d]) / blob[b][3], 2);
        sum += blob[b][4] * exp(-M_PI * square);
    }
    return sum;
}

static inline cplx object_kspace(const double *k, int nd)
{
    cplx sum = 0;
    for (int b = 0; b < BLOBS; b++) {
        double square = 0, cycles = 0;
        for (int d = 0; d < nd; d++) {
            square += pow(blob[b][3] * k[d], 2);
            cycles += k[d] * blob[b][d];
        }
        sum += blob[b][4] * pow(blob[b][3], nd) * exp(-M_PI * square) * cexp(-2 * M_PI * I * cycles);
    }
    return sum;
}

static inline cplx sensitivity(int coil, const double *r, int nd)
{
    cplx sum = 0;
    for (int w = 0; w < WAVES; w++) {
        double cycles = 0;
        for (int d = 0; d < nd; d++) cycles += wave[w][d] * r[d];
        sum += coefficient(coil, w) * cexp(2 * M_PI * I * cycles);
    }
    return sum;
}

static inline cplx *coil_kspace(const double *k, int nd, int64_t m)
{
    NEW_ZEROS(cplx, y, m * COILS);
    for (int c = 0; c < COILS; c++)
        for (int w = 0; w < WAVES; w++)
            for (int64_t j = 0; j < m; j++) {
                double shifted[3] = {0};
                for (int d = 0; d < nd; d++) shifted[d] = k[j * nd + d] - wave[w][d];
                y[j + m * c] += coefficient(c, w) * object_kspace(shifted, nd);
            }
    return y;
}

/* Root mean square of the angle between estimated and true vectors of sensitivities, where the object is brighter
 * than a part of 1. */
static inline double map_error_of(larmor_shape image, const cplx *maps, double brighter)
{
    const int64_t voxels = larmor_shape_count(image);
    double error = 0, count = 0;
    for (int64_t i = 0; i < voxels; i++) {
        double r[3], size = 0, own = 0;
        cplx along = 0;
        for (int d = 0; d < image.ndim; d++) r[d] = position(image, i, d);
        if (object(r, image.ndim) < brighter) continue;
        for (int c = 0; c < COILS; c++) {
            const cplx truth = sensitivity(c, r, image.ndim);
            along += conj(truth) * maps[i + voxels * c];
            size += pow(cabs(truth), 2);
            own += pow(cabs(maps[i + voxels * c]), 2);
        }
        error += own > 0 ? fmax(0, 1 - pow(cabs(along), 2) / size / own) : 1;
        count++;
    }
    assert_true(count > 50);
    return sqrt(error / count);
}
