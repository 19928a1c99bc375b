/* Maps of tissue properties from finished images: relaxation times, water and fat, matches of a dictionary.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_FIT_H
#define LARMOR_FIT_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* What is fitted to the images y of a voxel at the times t. */
typedef enum larmor_fit_model {
    LARMOR_FIT_T2,      /* "t2": |y| = M0 exp(-t / T2); maps T2 and M0 */
    LARMOR_FIT_T2_STAR, /* "t2star": the same with T2star; of complex images y = M0 exp(2 pi i f t - t / T2star), with
                          * a frequency f and a phase of M0 of each voxel's own */
    LARMOR_FIT_T1_IR,   /* "t1-ir": y = M0 (1 - INV exp(-t / T1)), INV 2 of a perfect inversion; maps T1, M0, INV */
    LARMOR_FIT_T1_LL,   /* "t1-ll": y = a - b exp(-t / T1star), T1 = T1star (b / a - 1), M0 = a T1 / T1star; maps T1,
                         * M0, T1star */
    LARMOR_FIT_WATER_FAT /* "water-fat": y = (W + F c(t)) exp(i phase + 2 pi i field t - R2star t), c(t): the peaks of
                          * fat; maps water, fat, FF = F / (W + F), R2star in 1/s, field in Hz */
} larmor_fit_model;

/* The model's name; NULL past the last. help: what it is in a few words; may be NULL. */
LARMOR_API const char *larmor_fit_model_name(int model, const char **help);

/* The name of map m of a model, "T2", as larmor_fit_map has it; NULL past the last. */
LARMOR_API const char *larmor_fit_map_name(int model, int m);

typedef struct larmor_fit_opts { /* zero means default */
    double noise; /* standard deviation of the real and of the imaginary part, in the images' unit; 0: that of each
                   * voxel's residual, where there are more numbers than parameters */
    const larmor_array *noise_map; /* real [voxels]: the same for each voxel, in place of noise; or NULL */
    const larmor_array *mask;      /* real [voxels]: voxels other than 0 are fitted; NULL: by threshold */
    double
        threshold; /* without a mask: the part of the brightest 2 % of root mean squares over the images above which
                       * voxels are fitted; default 0.1 */
    /* of water-fat alone: */
    double field_strength;         /* of the magnet, in T; needed */
    const larmor_array *field_map; /* real [voxels], Hz: where the field is looked for first; NULL: anywhere within 6
                                    * ppm */
    int fat_above; /* 1: the phases of the images turn the other way, so that fat's frequency is above water's */
} larmor_fit_opts;

enum { LARMOR_FIT_MAX_MAPS = 5 };
typedef struct larmor_fit_map {
    const char *name, *unit;         /* "T2", "ms"; "" for the unit of the images, and for none */
    larmor_array *value, *deviation; /* f32 [voxels]; 0 where nothing was fitted; deviation NULL: it is not known */
} larmor_fit_map;

typedef struct larmor_fit_maps { /* free with larmor_fit_maps_free */
    int count;
    larmor_fit_map map[LARMOR_FIT_MAX_MAPS];
    larmor_array *residual; /* f32 [voxels]: root mean square of measured minus fitted, of each number */
    int64_t inside, failed; /* voxels in the mask; of those the ones without a fit, whose maps are 0 */
    double threshold;       /* root mean square above which voxels were fitted; 0 with a mask */
    int polarity;           /* 1: the signs of magnitudes were restored */
    int lowered;            /* of magnitudes: what noise lifts them by was taken away, 1: of the noise that is given,
                             * 2: of each voxel's residual; 3: it was not, as two times leave none; 0: of others */
    double other_sign;      /* water-fat of four or more echoes: squares of the residual with fat on the other side of
                        * water, over those of this one; clearly below 1: opts.fat_above is wrong */
} larmor_fit_maps;

/* Fit each voxel by variable projection: the least residual over a grid of time constants, refined by Gauss-Newton in
 * the logarithm of the constant, in double precision. Water and fat: the minima of the residual over the field, of
 * which neighbours choose those that make a smooth field (sequential tree-reweighted messages); then Gauss-Newton in
 * all parameters. Water and fat have one phase at time 0.
 *
 * images  real or complex [..., T], T up to 256; of complex ones t2 fits the magnitudes. Of real images without a
 *         negative value t1-ir and t1-ll restore the signs; t2 and t2star fit the mean of the Rician distribution,
 *         without a noise that is given by that of the residual, which three times or more have.
 * ms      [T] echo or inversion times, in any order; at least two that differ, three for t1-ir, t1-ll and
 *         water-fat.
 * opts    may be NULL.
 * maps    on the images' device, in their shape without the last dimension. Deviations are those of the linearised
 *         fit. A fit fails where its time constant is outside of a fifth of the smallest distance of the times from
 *         each other or from 0, to twenty times the largest time; that of water and fat where R2star is outside of
 *         -200 to 2000 / s.
 * Errors  LARMOR_ERR_ARG for times and options; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite,
 *         and where no voxel is inside; LARMOR_ERR_MEMORY; LARMOR_STOPPED.
 * Source  Golub and Pereyra, SIAM J. Numer. Anal. 10, 413 (1973); Barral et al., Magn. Reson. Med. 64, 1057 (2010);
 *         Deichmann and Haase, J. Magn. Reson. 96, 608 (1992); Reeder et al., Magn. Reson. Med. 54, 636 (2005);
 *         Bydder et al., Magn. Reson. Imaging 29, 216 (2011); Hernando et al., Magn. Reson. Med. 63, 79 (2010). */
LARMOR_API larmor_status larmor_fit(const larmor_array *images, larmor_fit_model model, const double *ms,
                                    const larmor_fit_opts *opts, larmor_fit_maps *maps);
LARMOR_API void larmor_fit_maps_free(larmor_fit_maps *maps); /* also sets all to NULL */

/* What a unit of fat is at a time after the excitation, [re, im], 1 at time 0: the six peaks of water-fat. Errors:
 * LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_fat_signal(double tesla, double ms, double signal[2]);

/* Match each voxel's series to a dictionary, as of fingerprinting: the entry d with the largest |<d, x>| / |d|.
 *
 * images      complex or real [..., T], or the K coefficients of a basis; on a processor.
 * dictionary  complex or real [entries, T], signals of M0 = 1, as the table has them; all of it finite.
 * basis       [T, K] with orthonormal columns as larmor_basis_of_curves makes it, for images that are coefficients:
 *             the dictionary is compressed to them. NULL: images and dictionary have the same T.
 * mask        real [voxels]: voxels other than 0 are matched; NULL: those with a value other than 0.
 * entry       i64 [voxels], from 0; -1 where nothing was matched.
 * m0          c64 [voxels], <d, x> / |d|^2; 0 where nothing was matched.
 * match       f32 [voxels], |<d, x>| / (|d| |x|), from 0 to 1.
 * Errors      LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite and entries that are 0;
 *             LARMOR_ERR_UNSUPPORTED on a GPU; LARMOR_ERR_MEMORY; LARMOR_STOPPED.
 * Source      Ma et al., Nature 495, 187 (2013); McGivney et al., IEEE Trans. Med. Imaging 33, 2311 (2014). */
LARMOR_API larmor_status larmor_fit_dictionary(const larmor_array *images, const larmor_array *dictionary,
                                               const larmor_array *basis, const larmor_array *mask,
                                               larmor_array **entry, larmor_array **m0, larmor_array **match);

/* The columns of a dictionary's table at each voxel, between its entries: Gauss-Newton in the columns and M0 over the
 * signals' expansion to second order from an entry and those beside it, which differ in one column, or in two.
 *
 * images, dictionary, basis  as of larmor_fit_dictionary; entry: what that found.
 * table       real [entries, columns], 1 to 8 columns. Along a column without entries beside an entry the value is
 *             the entry's, with a deviation of 0; values stay within the table.
 * noise       the standard deviation of real and imaginary part of the images or coefficients; 0: that of each
 *             voxel's residual. noise_map: real [voxels], in its place, or NULL.
 * value       f32 [voxels, columns], 0 where nothing was matched.
 * deviation   the same, of the linearised fit; 0 where it is not known. NULL if there are no more numbers than
 *             parameters and no noise is given.
 * m0          c64 [voxels].
 * Errors      as of larmor_fit_dictionary. */
LARMOR_API larmor_status larmor_fit_table(const larmor_array *images, const larmor_array *dictionary,
                                          const larmor_array *basis, const larmor_array *table,
                                          const larmor_array *entry, double noise, const larmor_array *noise_map,
                                          larmor_array **value, larmor_array **deviation, larmor_array **m0);

/* What neighbours differ by beyond their noise: at edges images are blurred and ring, and voxels hold two tissues,
 * which the deviations of fits do not have. sqrt(deviation^2 + spread^2) is a deviation with both.
 *
 * value, deviation  real [voxels], one to three dimensions: a map of larmor_fit or a column of larmor_fit_table.
 *                   Voxels whose deviation is 0 do not count.
 * spread            f32 [voxels]: the root of the mean, over the next voxels along each of the first three
 *                   dimensions, of difference^2 minus both deviations^2; 0 where that is negative and without
 *                   neighbours.
 * over_deviation    the median of spread / deviation over the voxels that count; may be NULL.
 * Errors            LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_fit_spread(const larmor_array *value, const larmor_array *deviation,
                                           larmor_array **spread, double *over_deviation);

/* A FISP sequence, whose gradient dephases spins by whole turns over a voxel in each repetition. */
typedef struct larmor_fisp {
    int64_t pulses;
    const double *degrees, *tr_ms; /* [pulses]: flip angles, and the times to the next pulse */
    double te_ms;                  /* from each pulse to its echo */
    double inversion_ms;           /* from an inversion before the first pulse to that; 0: there is none */
} larmor_fisp;

/* The signals of a FISP sequence, by extended phase graphs with all states that return to an echo: a dictionary of
 * fingerprinting.
 *
 * table    real [entries, 2]: T1 and T2 in ms.
 * signals  f32 [entries, pulses] of M0 = 1, at each echo; positive after a first pulse without inversion.
 * Errors   LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY, LARMOR_STOPPED.
 * Source   Weigel, J. Magn. Reson. Imaging 41, 266 (2015); Jiang et al., Magn. Reson. Med. 74, 1621 (2015). */
LARMOR_API larmor_status larmor_epg_fisp(const larmor_array *table, const larmor_fisp *sequence,
                                         larmor_array **signals);

LARMOR_C_END
#endif
