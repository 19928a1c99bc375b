/* Inside of a phantom: ellipsoids and Gaussians, their Fourier transforms, and the coils around them.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/phantom.h"

/* ---- shapes ---- */

/* An ellipse (ndim 2: third entries are 0 and unused) or ellipsoid, in units of the field of view. */
typedef struct lmr_ellipsoid {
    double density, centre[3], half_axis[3];
    double cosine, sine; /* of the angle about z from x to the first half axis */
} lmr_ellipsoid;

/* A Gaussian, density exp(-|r - centre|^2 / (2 sigma^2)); blobs of one sigma are neighbours in a phantom. */
typedef struct lmr_blob {
    double density, centre[3], sigma;
} lmr_blob;

enum { LMR_PHANTOM_PARTS = 10, LMR_PHANTOM_BLOBS = 1024 };
struct larmor_phantom {
    int ndim, parts, blobs;
    int enhancing; /* the part that takes up contrast agent */
    double reach;  /* >= 1: what surrounds the object, coils, is that much further away */
    int is_plane;  /* 1: ndim is 2, and the coils are those of a solid phantom, in its plane at: */
    double plane;
    lmr_ellipsoid part[LMR_PHANTOM_PARTS];
    lmr_blob blob[LMR_PHANTOM_BLOBS];
};

typedef struct lmr_phantom_kind { /* a row of the table in phantom.c */
    larmor_phantom_info info;
    void (*fill)(larmor_phantom *phantom); /* the parts and blobs, for phantom->ndim */
} lmr_phantom_kind;

/* v in the coordinates in which e, centred, is the unit ball: for points, and for spatial frequencies. */
void lmr_ellipsoid_point(const lmr_ellipsoid *e, int ndim, const double v[3], double out[3]);
void lmr_ellipsoid_frequency(const lmr_ellipsoid *e, int ndim, const double v[3], double out[3]);

double lmr_ellipsoid_volume(const lmr_ellipsoid *e, int ndim); /* or area */

/* The Fourier transform of the unit disc or ball at |k| = u / (2 pi), divided by its area or volume: 1 at u = 0. */
double lmr_ball_transform(int ndim, double u);

/* ---- phase ---- */

/* exp(i phase) = sum_n part(n + LMR_MOST_WAVES) exp(2 pi i n cycles . r), n from -most to most. */
enum { LMR_MOST_WAVES = 63 };
typedef struct lmr_waves {
    int most;
    double part[2 * LMR_MOST_WAVES + 1], cycles[3];
} lmr_waves;

/* Errors: LARMOR_ERR_ARG for a phase out of range. */
larmor_status lmr_phase_waves(const larmor_phantom_phase *phase, lmr_waves *waves);

/* ---- coils ---- */

/* Sensitivities s_c(r) = sum_m weight(m, c) exp(2 pi i frequency(m) . r) of a set of coils with common frequencies,
 * which form a lattice: frequency(m) = step * (i - order) for i in 0..2 order in each direction, the first fastest.
 */
enum { LMR_COIL_MODES = 28 }; /* 27 are used at most; an even number is quicker */
typedef struct lmr_coils {
    int ndim, order, modes, count;
    double frequency[LMR_COIL_MODES][3];
    double *weight; /* re, im at 2 (m + modes c) */
} lmr_coils;

/* count coils around an object; count 0: one uniform coil of sensitivity 1. reach: the maps are s(r / reach), s those
 * around an object within the field of view. Errors: LARMOR_ERR_ARG, MEMORY. */
larmor_status lmr_coils_create(int ndim, int count, double reach, lmr_coils *coils);

/* Those around a phantom, in the plane of a solid one where it is that. */
larmor_status lmr_coils_around(const larmor_phantom *phantom, int count, lmr_coils *coils);
void lmr_coils_free(lmr_coils *coils);

/* ---- k-space ---- */

/* A phantom's transform, shifted by the frequencies of the coils: all that does not depend on k, worked out. Phantom
 * and coils must outlive it. */
typedef struct lmr_spectrum {
    const larmor_phantom *phantom;
    const lmr_coils *coils;
    double amplitude[LMR_PHANTOM_PARTS];
    double shift[LMR_PHANTOM_PARTS][LMR_COIL_MODES][3], phase[LMR_PHANTOM_PARTS][LMR_COIL_MODES][2];
    double *blob_waves; /* see lmr_blob_waves */
} lmr_spectrum;

/* Errors: LARMOR_ERR_MEMORY. Free in any case. */
larmor_status lmr_spectrum_make(const larmor_phantom *phantom, const lmr_coils *coils, lmr_spectrum *spectrum);
void lmr_spectrum_free(lmr_spectrum *spectrum);

/* out[m] = re, im of the density's transform at k - frequency(m); k [3], its last entry 0 in 2D. */
void lmr_spectrum_at(const lmr_spectrum *spectrum, const double k[3], double out[LMR_COIL_MODES][2]);

/* What is at u, in fields of view, has moved to turn u + shift; turn row by row. */
typedef struct lmr_moved {
    double turn[9], shift[3];
} lmr_moved;

/* larmor_phantom_kspace of an object that has moved between coils that have not. moved: of each readout. */
larmor_status lmr_phantom_kspace_moving(const larmor_phantom *phantom, const larmor_array *traj,
                                        const lmr_moved *moved, int coils, larmor_dtype dtype, larmor_array **kspace);

/* ---- Gaussians ---- */

/* For each blob and mode, area or volume times density times exp(2 pi i frequency . centre): the real parts of a
 * blob's modes, LMR_COIL_MODES apart from its imaginary ones. NULL for no blobs; free() it. Errors: MEMORY. */
larmor_status lmr_blob_waves(const larmor_phantom *phantom, const lmr_coils *coils, double **waves);

/* out[m] += the blobs' transform at k - frequency(m). */
void lmr_blobs_add_transform(const lmr_spectrum *spectrum, const double k[3], double out[LMR_COIL_MODES][2]);

/* line[x] += the blobs along one line of voxels, at y and z, averaged over sub x sub (x sub) points of each voxel. */
void lmr_blobs_add_line(const larmor_phantom *phantom, const int64_t n[3], int64_t y, int64_t z, int sub,
                        double *line);

/* The largest |r| of the object along any direction, in units of the field of view. */
double lmr_phantom_extent(const larmor_phantom *phantom);

/* ---- host memory ---- */

/* OK if shape has ndim sizes, all >= 1, and dtype is complex; else LARMOR_ERR_SHAPE or LARMOR_ERR_ARG. */
larmor_status lmr_image_check(const char *who, int ndim, larmor_dtype dtype, larmor_shape shape);

/* Where voxel i of n is. */
static inline double lmr_voxel(int64_t i, int64_t n)
{
    const int64_t centre = n / 2;
    return (double)(i - centre) / (double)n;
}

/* Element i of a complex array on the host. */
static inline void lmr_put(void *host, larmor_dtype dtype, int64_t i, double re, double im)
{
    if (lmr_precision(dtype) == LMR_F64) {
        ((double *)host)[2 * i] = re;
        ((double *)host)[2 * i + 1] = im;
    } else {
        ((float *)host)[2 * i] = (float)re;
        ((float *)host)[2 * i + 1] = (float)im;
    }
}
