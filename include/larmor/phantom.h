/* Phantoms whose k-space is known exactly. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_PHANTOM_H
#define LARMOR_PHANTOM_H

#include "larmor/array.h"

LARMOR_C_BEGIN

typedef struct larmor_phantom larmor_phantom; /* immutable once made */

typedef struct larmor_phantom_info {
    const char *name, *help;
} larmor_phantom_info;

/* Phantom i of those that larmor_phantom_create knows; past the last its name is NULL. */
LARMOR_API larmor_phantom_info larmor_phantom_entry(int i);

/* A phantom by name, one of larmor_phantom_entry, for ndim 2 or 3.
 *
 * Space is in units of the field of view, [-1/2, 1/2) in each direction; voxel i of N sits at (i - floor(N/2)) / N.
 * Errors  LARMOR_ERR_ARG for an unknown name (the message lists the known ones) or ndim.
 * Source  Shepp and Logan, IEEE Trans. Nucl. Sci. 21, 21 (1974); Toft, PhD thesis, DTU (1996); 3D: Koay, Sarlls,
 *         Ozarslan, Magn. Reson. Med. 58, 430 (2007). */
LARMOR_API larmor_status larmor_phantom_create(const char *name, int ndim, larmor_phantom **phantom);
LARMOR_API void larmor_phantom_free(larmor_phantom *phantom); /* NULL is fine */

/* ---- tissues ---- */

enum { LARMOR_TISSUES = 6 };
typedef struct larmor_tissue {
    const char *name;
    double density, fat; /* of all protons, and the part of fat */
    double t1_ms, t2_ms;
} larmor_tissue;

/* Tissue i of the phantom "tissues", ellipses of one tissue each that lie in one another; past the last its name is
 * NULL. */
LARMOR_API larmor_tissue larmor_phantom_tissue(int i);

/* That phantom with other densities, as of the signals that its tissues have.
 *
 * density  [LARMOR_TISSUES]. Errors: LARMOR_ERR_ARG for ndim and densities that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_phantom_of_tissues(int ndim, const double *density, larmor_phantom **phantom);

/* ---- objects that are larger, that move, that change ---- */

typedef struct larmor_phantom_state { /* zero means as it was made */
    double size;                      /* factor about the centre of the field of view; default 1 */
    double degrees;                   /* rotation about z from x to y, in units of the field of view; after size */
    double shift[3];                  /* translation, in units of the field of view; last */
    double contrast;                  /* density that the part with contrast agent gains */
    double pulse;                     /* by which that part's axes grow, relative to them; above -1 */
} larmor_phantom_state;

/* A phantom in another state. Of "shepp-logan" the large ellipse above the middle takes up contrast agent, of
 * "texture" the bright one, of "disc" the disc.
 *
 * size    0 < size <= 10. Above 1 the coils stand further away in proportion; motion leaves them where they are.
 * Errors  LARMOR_ERR_ARG for values that are out of range or not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_phantom_change(const larmor_phantom *phantom, const larmor_phantom_state *state,
                                               larmor_phantom **changed);

/* A plane of a 3D phantom across z, as a 2D phantom: what lies in an infinitely thin slice, seen by the sensitivities
 * that the coils around the solid phantom have there.
 *
 * z       of the plane, in units of the field of view; beyond the object it is empty.
 * Errors  LARMOR_ERR_ARG for a phantom in 2D or a z that is no number; LARMOR_ERR_MEMORY. A field
 *         (larmor_phantom_kspace_off_resonance) with shims or dipoles is not for it. */
LARMOR_API larmor_status larmor_phantom_plane(const larmor_phantom *phantom, double z, larmor_phantom **plane);

typedef struct larmor_phantom_course { /* how an object changes over a series; zero means that it does not */
    double drift[3], degrees;          /* shift and rotation from the beginning to the end */
    double breathing[3];               /* shift at the end of a breath in */
    double breaths;                    /* over the series */
    double contrast;                   /* density gained at the peak */
} larmor_phantom_course;

/* What a course makes of a state at a time from 0, the beginning of the series, to 1, its end.
 *
 * drift and degrees go on evenly; breathing is sin^4(pi breaths time), which stays near 0 for longer than near 1;
 * contrast is a gamma variate that arrives at 0.1 and peaks at 0.4, (x exp(1 - x))^2 with x = (time - 0.1) / 0.3.
 *
 * state   gets shift, degrees and contrast added; its size stays.
 * Source  Lujan et al., Med. Phys. 26, 715 (1999) for breathing; Thompson et al., Circ. Res. 14, 502 (1964) for the
 *         gamma variate. */
LARMOR_API void larmor_phantom_at(const larmor_phantom_course *course, double time, larmor_phantom_state *state);

typedef struct larmor_phantom_cycle { /* breath or heartbeat; zero means that there is none */
    double rate;                      /* cycles a minute */
    double size;      /* of breath a shift along y, in units of the field of view; of the heart a pulse */
    double variation; /* standard deviation of the rate over time, relative to it */
    uint64_t seed;    /* of the variation */
} larmor_phantom_cycle;

/* Cycles since the beginning, of a rate that varies by three slow waves of random phase; 0 of NULL. */
LARMOR_API double larmor_phantom_cycles(const larmor_phantom_cycle *cycle, double seconds);

/* What breath and heart, either of which may be NULL, add to a state: a shift of sin^4(pi cycles) along y, and a
 * pulse of -sin^2(pi cycles), by which the part that takes up contrast agent becomes smaller. */
LARMOR_API void larmor_phantom_beat(const larmor_phantom_cycle *breath, const larmor_phantom_cycle *heart,
                                    double seconds, larmor_phantom_state *state);

/* ---- pictures, k-space, coils ---- */

/* The phantom's density at voxel resolution, averaged over each voxel by 4 sub-samples per direction.
 *
 * shape   [nx, ny] or [nx, ny, nz], with as many dimensions as the phantom, else LARMOR_ERR_SHAPE. dtype is
 *         complex. */
LARMOR_API larmor_status larmor_phantom_image(const larmor_phantom *phantom, larmor_device *dev, larmor_dtype dtype,
                                              larmor_shape shape, larmor_array **image);

/* Exact k-space, y_c(k) = integral rho(r) s_c(r) exp(-2 pi i k . r) dr over the whole object; nothing is rasterised.
 *
 * traj    [nd, samples, readouts] real, cycles per field of view.
 * coils   0: no coils, kspace is [samples, readouts]; C > 0: the sensitivities of larmor_phantom_coils_around, kspace
 *         is [samples, readouts, C].
 * Errors  LARMOR_ERR_SHAPE if traj's nd is not the phantom's; LARMOR_ERR_ARG for coils out of 0..1024;
 *         LARMOR_ERR_MEMORY.
 * Source  the Fourier transform of the unit disc is J1(2 pi k)/k, of the unit ball (sin u - u cos u)/(2 pi^2 k^3). */
LARMOR_API larmor_status larmor_phantom_kspace(const larmor_phantom *phantom, const larmor_array *traj, int coils,
                                               larmor_dtype dtype, larmor_array **kspace);

typedef struct larmor_phantom_field { /* off-resonance; zero means that there is none */
    double hz;                        /* in the centre of the field of view, of what is linear in space */
    double gradient[3]; /* by how much it rises from one edge of the field of view to the other, in Hz */
    /* Of x^2 - y^2, of 2 x y and of z^2 - (x^2 + y^2) / 2, as second-order shims make them, in Hz where these are
     * 1/4, their value at the edge of the field of view; z is 0 in 2D. They repeat after two fields of view: x
     * stands for the first three terms of a sawtooth's series, which differs from it by 4 % at the object's rim. */
    double shim[3];
    /* A magnetised region around dipole_at, a Gaussian of standard deviation 0.08: its field in Hz at the two
     * poles, where it is highest. The main field is along z, of 2D phantoms along y. It repeats after two fields
     * of view. */
    double dipole, dipole_at[3];
} larmor_phantom_field;

/* K-space with off-resonance: y_c(k_j) = integral rho s_c exp(-2 pi i k_j . r) exp(+2 pi i f(r) t_j) dr. What is
 * linear in f moves k_j to k_j - gradient t_j and adds hz t_j cycles to the sample's phase, exactly. The rest is a
 * Fourier series for each time, whose waves shift k-space; it is cut where that costs 1e-5 of the largest sample.
 *
 * times   [samples] or [samples, readouts] real, in seconds; 0 is where the phase of the image is meant.
 * other arguments and errors as in larmor_phantom_kspace; LARMOR_ERR_SHAPE for other times; LARMOR_ERR_ARG for a
 * field that varies too much, and for shims and dipoles beside an object that larmor_phantom_change has enlarged. */
LARMOR_API larmor_status larmor_phantom_kspace_off_resonance(const larmor_phantom *phantom, const larmor_array *traj,
                                                             const larmor_phantom_field *field,
                                                             const larmor_array *times, int coils, larmor_dtype dtype,
                                                             larmor_array **kspace);

/* That field in Hz at the voxels of an image, dtype f32 or f64: what larmor_op_off_resonance takes. Errors:
 * LARMOR_ERR_SHAPE, LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_phantom_field_map(const larmor_phantom_field *field, larmor_device *dev,
                                                  larmor_dtype dtype, larmor_shape shape, larmor_array **map);

typedef struct larmor_phantom_phase { /* of an image, smooth: radians sin(2 pi cycles . r) */
    double radians;                   /* from -20 to 20 */
    double cycles[3];                 /* across the field of view */
} larmor_phantom_phase;

/* Exact k-space of the phantom times exp(i phase): a sum of the k-space of plane waves, about 2 |radians| + 15 of
 * them.
 *
 * other arguments and errors as in larmor_phantom_kspace; LARMOR_ERR_ARG for a phase that is out of range.
 * Source  exp(i a sin t) = sum_n J_n(a) exp(i n t), the expansion of Jacobi and Anger. */
LARMOR_API larmor_status larmor_phantom_kspace_phase(const larmor_phantom *phantom, const larmor_array *traj,
                                                     const larmor_phantom_phase *phase, int coils, larmor_dtype dtype,
                                                     larmor_array **kspace);

/* Smooth complex sensitivities of C coils around the object, low-order trigonometric polynomials in space, so that
 * their products with the phantom have an exact Fourier transform: a few shifted copies. larmor_phantom_kspace uses
 * them.
 *
 * phantom further away from one that larmor_phantom_change has enlarged, by the same factor. NULL: of one within the
 *         field of view.
 * coils   C, 1 .. 1024, else LARMOR_ERR_ARG.
 * maps    [image..., C]; shape is that of the image, without coils. Not normalised: 0.2 <= sum |s_c|^2 in the object.
 * extent  what the maps cover in each direction, in units of the field of view, > 0: voxel i of n sits at
 *         extent (i - floor(n/2)) / n. NULL: 1, the field of view itself. LARMOR_ERR_ARG for anything else. */
LARMOR_API larmor_status larmor_phantom_coils_around(const larmor_phantom *phantom, larmor_device *dev,
                                                     larmor_dtype dtype, larmor_shape shape, const double *extent,
                                                     int coils, larmor_array **maps);

/* The phantom as the best image that k-space up to the matrix can give: exact coefficients on the Cartesian grid of
 * the matrix, transformed. In units of the density, like larmor_phantom_image, but with the ringing of a finite
 * k-space. Parts beyond the field of view are cut off and do not fold. */
LARMOR_API larmor_status larmor_phantom_bandlimited(const larmor_phantom *phantom, larmor_device *dev,
                                                    larmor_dtype dtype, larmor_shape shape, larmor_array **image);

/* The same of the phantom times exp(i phase), whose coefficients are those of larmor_phantom_kspace_phase; its
 * errors. */
LARMOR_API larmor_status larmor_phantom_bandlimited_phase(const larmor_phantom *phantom,
                                                          const larmor_phantom_phase *phase, larmor_device *dev,
                                                          larmor_dtype dtype, larmor_shape shape,
                                                          larmor_array **image);

/* The noise of a scan by the signal-to-noise ratio of its image:
 *
 *   sigma = mean of rho sqrt(sum_c |s_c|^2) over the object / (snr sqrt(prod N)).
 *
 * An image of fully sampled Cartesian k-space, combined with the true sensitivities, has noise of standard deviation
 * sigma sqrt(prod N / sum_c |s_c|^2) in its real part; snr is the mean over the object of the density over that. The
 * object is where the density is above 5 % of its largest.
 *
 * shape   of the image, as in larmor_phantom_image; coils as in larmor_phantom_kspace; snr > 0.
 * sigma   for larmor_phantom_noise on the k-space of larmor_phantom_kspace, of any trajectory for that image.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_phantom_noise_level(const larmor_phantom *phantom, larmor_device *dev,
                                                    larmor_shape shape, int coils, double snr, double *sigma);

/* x <- x + complex Gaussian noise with standard deviation sigma in the real and in the imaginary part; the same seed
 * gives the same noise on every device and for every number of threads.
 *
 * Errors  LARMOR_ERR_ARG for a real x or a sigma below 0. */
LARMOR_API larmor_status larmor_phantom_noise(larmor_array *x, double sigma, uint64_t seed);

LARMOR_C_END
#endif
