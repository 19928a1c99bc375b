/* Solvers, and the proximal maps, regularisers and preconditioners that they take; their mathematics and steps are in
 * docs/reference/solvers.md. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_SOLVE_H
#define LARMOR_SOLVE_H

#include "larmor/operators.h"
#include "larmor/prox.h"

LARMOR_C_BEGIN

/* ---- what all solvers share ---- */

/* All that a solver needs to go on after an iteration as if it had not been stopped: its own arrays and numbers. */
typedef struct larmor_solver_state {
    const char *solver;         /* e.g. "cg" */
    larmor_array *const *array; /* [arrays] */
    double *const *number;      /* [numbers] */
    int *const *count;          /* [counts]; at least 0 each */
    int arrays, numbers, counts;
} larmor_solver_state;

typedef struct larmor_progress {
    /* max_iter is 0 while a weight is chosen: then iter counts towards nothing. Of larmor_cg with change it is the
     * iteration that the end is expected at, 0 in the first steps, of which nothing can be expected. */
    int iter, max_iter;
    double residual;  /* relative; each solver says of what */
    double objective; /* of the problem that the solver minimises; NAN where it does not compute it */
    double seconds;
    const larmor_array *x;            /* the iterate; read only */
    const larmor_solver_state *state; /* to be kept for larmor_resume; read only; NULL while a weight is chosen */
} larmor_progress;
typedef int (*larmor_monitor)(void *user, const larmor_progress *p); /* non-zero stops: LARMOR_STOPPED */

/* Called before the first iteration: sets all arrays and numbers to those that a monitor saw in an earlier run
 * with the same problem and options, and *resumed to 1, so that the run goes on after that iteration; or leaves
 * them alone. On a processor it then ends with the image of a run that was not stopped, bit for bit. An error ends
 * the run. */
typedef larmor_status (*larmor_resume)(void *user, const larmor_solver_state *state, int *resumed);

typedef struct larmor_circulant larmor_circulant; /* immutable once made; see preconditioners */

typedef enum larmor_end {                        /* why a run ended without an error */
                          LARMOR_END_TOLERANCE,  /* tol, or larmor_cg's error and change, is reached */
                          LARMOR_END_ITERATIONS, /* max_iter is reached */
                          LARMOR_END_PRECISION,  /* what is left is rounding */
} larmor_end;

typedef struct larmor_solve_opts { /* zero means default */
    int max_iter;                  /* default: the solver's */
    double tol;                    /* stop at this residual; default: the solver's; negative: at rounding */
    double lambda;                 /* Tikhonov weight, absolute; 0 for none */
    larmor_monitor monitor;
    void *user;
    /* larmor_cg, larmor_pdhg: self-adjoint, positive definite and close to the inverse of A^H A + lambda, such as
     * larmor_circulant_inverse makes; larmor_admm: to that of A^H A + lambda + penalty K^H K, where there is no
     * circulant; or NULL */
    larmor_op *precondition;
    const larmor_circulant *circulant; /* larmor_admm: preconditions its inner problem; or NULL */
    const larmor_array *weights;       /* larmor_lsmr: real and > 0, of the leading dimensions of b; or NULL */
    double largest; /* larmor_pdhg: the largest eigenvalue of A^H A; 0: found by the power method */
    double penalty; /* larmor_admm, larmor_pdhg: the first weight of |K x - z|^2, or dual step; 0: chosen */
    int inner;      /* larmor_admm: conjugate gradient steps per iteration; 0: as many as it needs */
    double error;   /* larmor_cg: end when |judge r| is at most this, r the residual; 0: never */
    /* larmor_cg, larmor_admm: end when further steps are expected to change x by no more than the larger of change
     * and relative |x|, by two iterations running; both 0: never. With error, where both say so, error at least
     * relative |x|, too. larmor_admm looks at that from the thirteenth step on, by three running, where K x and z
     * are near each other as well. */
    double change, relative;
    /* larmor_regularised: 1: the penalty of the split stays where rounding in A^H A x moves x by little, and the run
     * ends by LARMOR_END_PRECISION where it asks for far less, as the weight is too small for the type of numbers */
    int resolve;
    /* larmor_cg: |e|, e the noise in b that change is a part of the image of: where |A x - b|^2 + lambda |x|^2 is
     * less than |e|^2 there is less noise, and change counts for as much less; 0: not known */
    double noise;
    larmor_op *judge;        /* larmor_cg: from r to about the error of x; NULL: precondition */
    larmor_resume resume;    /* or NULL: begin at x; with the monitor's user */
    struct larmor_prox *set; /* larmor_choose_weight without a regulariser: the projection on what x is held to */
    int no_momentum;         /* larmor_fista: 1: steps of the proximal gradient alone */
    /* larmor_choose_weight: becomes the image from the samples that are kept which predicts the others best, where
     * an image was judged: a beginning for larmor_cg, or for larmor_regularised where images are a series.
     * Or NULL */
    larmor_array *best;
} larmor_solve_opts;

typedef struct larmor_report { /* of the iterate that is returned, and of the whole run */
    int iters;
    double residual, objective; /* as in larmor_progress */
    double seconds;
    larmor_end end;
    double left; /* larmor_cg, larmor_admm with opts.change or relative: what further steps are expected to change x
               * by, over |x|; else 0 */
} larmor_report;

/* The largest eigenvalue of A^H A, from below, by iters steps (15 if 0) of the power method from a seeded start.
 *
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_NUMERIC if A^H A x is not finite; LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_opnorm(larmor_op *A, int iters, double *largest);

/* ---- least squares ---- */

/* min_x |A x - b|^2 + lambda |x|^2 by conjugate gradients on (A^H A + lambda) x = A^H b, preconditioned where
 * opts.precondition is given.
 *
 * x        start in, solution out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate.
 * opts     12 iterations and tol 1e-4 by default; the residual is |A^H b - (A^H A + lambda) x| / |A^H b|, the
 *          objective that of the problem.
 * report   may be NULL. Residuals go up and down on the way: if the last is more than twice the smallest, x is the
 *          iterate with the smallest.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for non-finite values, a residual a thousand times
 *          that of x = 0, or an A^H A or a preconditioner that is not positive: x is then the iterate with the
 *          smallest residual. LARMOR_STOPPED if the monitor said so.
 * Source   Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952). */
LARMOR_API larmor_status larmor_cg(larmor_op *A, const larmor_array *b, larmor_array *x,
                                   const larmor_solve_opts *opts, larmor_report *report);

/* Bytes of device memory that it takes at most beyond A, b and x, with a preconditioner. Errors: LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_cg_memory(larmor_dtype dtype, larmor_shape x, int64_t *bytes);

/* min_x |A x - b|_W^2 + lambda |x|^2 by LSMR, |.|_W weighted with opts.weights: the Golub-Kahan process in that inner
 * product. It needs A and A^H, no normal map, and its |A^H r| falls in every iteration. Weights such as those of
 * larmor_precondition_kspace make it converge in few iterations; they move the minimiser where data are inconsistent.
 *
 * x, opts, report  as for larmor_cg, but 20 iterations by default; the residual is |A^H W (A x - b) + lambda x|
 *          relative to that of x = 0.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for non-finite values, and if <u, A v> and <A^H u, v>
 *          differ by more than 1 % in the first iteration: x is then the iterate with the smallest objective.
 *          LARMOR_STOPPED if the monitor said so.
 * Memory   6 arrays like x and 2 like b, 4 with opts.weights, on the device.
 * Source   Fong and Saunders, SIAM J. Sci. Comput. 33, 2950 (2011). */
LARMOR_API larmor_status larmor_lsmr(larmor_op *A, const larmor_array *b, larmor_array *x,
                                     const larmor_solve_opts *opts, larmor_report *report);

/* ---- proximal solvers: min_x 1/2 |A x - b|^2 + lambda/2 |x|^2 + g(K x) ----
 *
 * K        from A's domain to that of g; NULL for the identity.
 * x        start in, solution out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate.
 * opts     The residual is the relative change of the iterate, |x - x_before| / |x|. The objective is that of the
 *          problem, at no extra application of A.
 * report   may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for non-finite values, a misfit that comes out
 *          negative, or an objective above ten times the larger of its value at the start and |b|^2 / 2: x is then
 *          the iterate with the smallest objective. LARMOR_STOPPED if the monitor said so.
 *
 * A is used through larmor_op_normal, and its adjoint once, so that a Toeplitz normal map serves. */

/* Alternating directions: x by some conjugate gradient steps on A^H A + lambda + penalty K^H K from where it was, z
 * by the proximal map of g / penalty at a relaxed K x (1.6), and the multipliers. One normal map per step; the
 * penalty is balanced by the relative residuals of K x = z and of stationarity.
 *
 * opts     50 iterations and tol 1e-4 by default; the residual is also at least |K x - z| / max(|K x|, |z|).
 *          opts.inner: by default 3 steps or more, up to 30, until the inner residual is halved.
 * Source   Boyd et al., Found. Trends Mach. Learn. 3, 1 (2011), sections 3.1.1, 3.4, 4.3; relative residuals:
 *          Wohlberg, arXiv:1704.06209 (2017); circulant inner preconditioner: Koolstra et al., Magn. Reson. Med.
 *          81, 670 (2019). */
LARMOR_API larmor_status larmor_admm(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g,
                                     larmor_array *x, const larmor_solve_opts *opts, larmor_report *report);

/* min 1/2 |A x - b|^2 + lambda/2 |x|^2 + g(x) by steps of the gradient and the proximal map from an extrapolated x,
 * whose momentum begins anew where a step goes against it: one normal map and one proximal map per iteration. For a g
 * that is simple in x itself, such as l1 and sets. Steps are of 1 / L, L the largest eigenvalue of A^H A + lambda:
 * opts.largest, or found from below and raised where a step shows that it is larger.
 *
 * opts     200 iterations and tol 1e-4 by default; no preconditioner. no_momentum: y is x in every step, and the
 *          objective does not rise.
 * Memory   8 arrays like x on the device.
 * Source   Beck and Teboulle, SIAM J. Imaging Sci. 2, 183 (2009); O'Donoghue and Candes, Found. Comput. Math. 15,
 *          715 (2015), the gradient scheme. */
LARMOR_API larmor_status larmor_fista(larmor_op *A, const larmor_array *b, larmor_prox *g, larmor_array *x,
                                      const larmor_solve_opts *opts, larmor_report *report);

/* Primal-dual splitting, the data by their gradient: one normal map, one K and one K^H per iteration. The dual step
 * s is balanced against the primal one, t = 0.99 / (L / 2 + s |K|^2), in the norm of the preconditioner's inverse.
 *
 * opts     200 iterations and tol 1e-4 by default.
 * Memory   8 arrays like x and 6 like K x, on the device.
 * Source   Condat, J. Optim. Theory Appl. 158, 460 (2013), algorithm 3.1; Vu, Adv. Comput. Math. 38, 667 (2013);
 *          balance: Goldstein, Li, Yuan, NIPS 2015. */
LARMOR_API larmor_status larmor_pdhg(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g,
                                     larmor_array *x, const larmor_solve_opts *opts, larmor_report *report);

/* ---- preconditioners ---- */

/* The circulant matrix C nearest to A^H A of non-Cartesian SENSE in Frobenius' norm: diagonal in Fourier space, with
 * the eigenvalues sum_r psf(r) conj(a(r)) exp(-2 pi i k r / N) / voxels, a the autocorrelation of the maps.
 *
 * With E one over the root of the coils' energy, which differs over the image, it is E A^H A E that C is nearest to,
 * and E^-1 C E^-1 that stands for A^H A; E is 0 where no coil sees anything, and C the mean over the other voxels.
 *
 * maps     [image..., coils] of this dtype, or NULL for one coil of sensitivity 1. The autocorrelation is found
 *          from at most 64 voxels of them in each dimension: maps are smooth.
 * traj     [nd, samples, readouts], f32 or f64, cycles per field of view.
 * weights  [samples, readouts] real and >= 0, those of A; NULL for 1.
 * Memory   about 4 arrays of the image's size doubled in every dimension: larmor_circulant_memory.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY.
 * Source   T. Chan, SIAM J. Sci. Stat. Comput. 9, 766 (1988), for Toeplitz matrices; for any matrix: Tyrtyshnikov,
 *          SIAM J. Matrix Anal. Appl. 13, 459 (1992). The sum for A^H A is derived in docs/reference/solvers.md. */
LARMOR_API larmor_status larmor_circulant_create(larmor_array *maps, const larmor_array *traj,
                                                 const larmor_array *weights, larmor_shape image, larmor_dtype dtype,
                                                 larmor_circulant **C);
LARMOR_API void larmor_circulant_free(larmor_circulant *C); /* NULL is fine */

/* larmor_circulant_create in two steps, of which the first depends on no maps: images with the same trajectory can
 * share it.
 *
 * traj, weights, image, dtype, maps  as above.
 * spread   becomes the point spread function, [2 image...]; the second step reads it only.
 * Errors   as above. */
LARMOR_API larmor_status larmor_circulant_spread(const larmor_array *traj, const larmor_array *weights,
                                                 larmor_shape image, larmor_dtype dtype, larmor_array **spread);
LARMOR_API larmor_status larmor_circulant_of_spread(larmor_array *maps, const larmor_array *spread,
                                                    larmor_circulant **C);

/* The same of a series: what stands for all its frames, their mean, and with it that of each frame, of which
 * larmor_circulant_inverse_frames makes M where there is a penalty. larmor_regularised then takes fewer normal maps
 * where frames have few samples, each others.
 *
 * traj, weights  of each frame, as above; weights NULL, or NULL for some, for 1.
 * Memory         an array like the series more.
 * Errors         as above. */
LARMOR_API larmor_status larmor_circulant_create_frames(larmor_array *maps, larmor_array *const *traj,
                                                        larmor_array *const *weights, int64_t frames,
                                                        larmor_shape image, larmor_dtype dtype, larmor_circulant **C);

/* M = E (C + e (lambda + penalty C_K) + floor)^-1 E, e the mean of E^2: self-adjoint and positive. C_K stands for
 * K^H K, known from its response to a point in the middle; K NULL: the identity. The floor is 0.1 of C's mean
 * eigenvalue. M gives 0 in voxels that no coil sees: an iteration leaves there what it began with.
 *
 * M       from the image's shape to itself, in C's dtype and on its device. C may be freed.
 * Errors  LARMOR_ERR_ARG for a lambda or a penalty that is not finite and >= 0; LARMOR_ERR_SHAPE;
 *         LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_circulant_inverse(const larmor_circulant *C, double lambda, larmor_op *K,
                                                  double penalty, larmor_op **M);

/* The same for a series, M in each of its frames, with the identity for K.
 *
 * frames  at least 1.
 * M       from [image..., frames] to itself.
 * Errors  as above; LARMOR_ERR_UNSUPPORTED for a circulant in slabs. */
LARMOR_API larmor_status larmor_circulant_inverse_frames(const larmor_circulant *C, double lambda, double penalty,
                                                         int64_t frames, larmor_op **M);

/* About the norm of the noise in the image that minimises |A x - b|^2 + lambda |x|^2: |M A^H e|, M as above but
 * with a floor of 0.01, for noise counts where the samples are thin. Over all slabs of a circulant in slabs.
 *
 * folded  A^H e, e a sample of the noise like b; an image, or a series [image..., frames] each by itself.
 * norm    0.5 to 1.5 times the norm of the noise where lambda is chosen; less where lambda is far below the noise,
 *         and so where a noise that counts for less asks for more steps.
 * Errors  as above. */
LARMOR_API larmor_status larmor_circulant_noise(const larmor_circulant *C, double lambda, const larmor_array *folded,
                                                double *norm);

/* The diagonal P that minimises |P (A A^H + lambda) - I| in Frobenius' norm, A = F S without weights: p_i = (G_ii +
 * lambda) / sum_j |G_ij + lambda delta_ij|^2 with G = A A^H. Weights for larmor_lsmr, and a density compensation that
 * knows the coils.
 *
 * maps     as above; with maps every coil has weights of its own, at coils^2 FFTs on the doubled grid.
 * lambda   >= 0, the Tikhonov weight of the problem.
 * p        [samples, readouts] without maps, [samples, readouts, coils] with maps; real of dtype's precision.
 * Errors   as larmor_circulant_create.
 * Source   Ong, Uecker, Lustig, IEEE Trans. Med. Imaging 39, 1646 (2020), where lambda is 0; docs/solvers.md. */
LARMOR_API larmor_status larmor_precondition_kspace(larmor_array *maps, const larmor_array *traj, larmor_shape image,
                                                    larmor_dtype dtype, double lambda, larmor_array **p);

/* ---- regularisers ---- */

typedef struct larmor_regulariser larmor_regulariser; /* several threads may solve with it at the same time */

typedef struct larmor_regulariser_opts { /* zero means default */
    double lambda;    /* relative: see larmor_regularised; default: the regulariser's own; negative: none */
    int series;       /* tv: 1: the last dimension counts frames, not voxels, as it always does for llr */
    double time;      /* tv: weight of a difference of frames relative to voxels; default 1; negative: none */
    double ratio;     /* tgv: alpha_0 / alpha_1; default 2. lowrank-sparse: that of S; default as below */
    int64_t block[3]; /* llr: voxels; default 8 (clear: 3), and never more than the image */
    double voxel[3];  /* tv, tgv: the sides of a voxel, in any unit; default all alike. Differences along an axis are
                         divided by its side over the shortest one */
    unsigned axes;    /* tv, wavelet, fft: bit d for dimension d of the image or series, which the penalty is taken
                         along; default as below */
    /* A series of frames in up to three dimensions, the first fastest, whose product is its length, and the letters
     * by which a name calls them: t (time), h (the heart, whose last frame is before its first one) and b (the
     * breath), 0 for none; default one dimension t. Penalties without letters take it as one in any case. */
    int64_t frames[3];
    char letter[3];
    larmor_prox *set; /* a projection, of arrays like the image, on what it is held to exactly; or NULL */
} larmor_regulariser_opts;

/* A penalty of images by name, or the sum of up to four with + between; lambda is relative, see larmor_regularised.
 *
 * tv       lambda sum_i |(grad x)_i|, isotropic total variation in 1 to 3 dimensions; of a series also along time.
 * tgv      lambda min_v sum_i |(grad x - v)_i| + ratio |(E v)_i|, second-order total generalised variation, E the
 *          symmetrised gradient.
 * wavelet  lambda / 4 sum_s sum_i |(W_s x)_i|, W_s the orthonormal wavelets of larmor_op_wavelet shifted by s = 0
 *          .. 3 voxels along every axis: a fixed convex function, whereas random shifts leave a jitter. Of a
 *          series each image by itself.
 * llr      lambda / 2 sum_s sum_b (sqrt(voxels of a block) + sqrt(frames)) |X_b|_* of a series, X_b the blocks of
 *          larmor_op_casorati at two shifts s, half a block apart.
 * clear    the same of the images of the coils, [image..., coils], without maps (CLEAR); blocks of 3 by default.
 * l1       lambda sum_i |x_i|.
 * fft      lambda sum_i |(F x)_i|, F the unitary Fourier transform: of a series along time, else of all dimensions.
 * lowrank  lambda (sqrt(voxels) + sqrt(frames)) |X|_*, X the matrix of all voxels by frames of a series.
 * lowrank-sparse  lambda min_(x = L + S) (sqrt(voxels) + sqrt(frames)) |L|_* + ratio sum_i |(F S)_i|, F along time:
 *          L+S. The ratio is by default 2 + 2 sqrt(the smaller of voxels and frames / the larger).
 * lowrank-multiscale  lambda min_(x = sum_i X_i) sum_i ratio_i u_i sum_b |X_ib|_*: X_i in blocks b of 1, 8, 64 voxels
 *          a side, up to half of the image, and as a whole, u_i = sqrt(voxels of a block) + sqrt(frames) +
 *          sqrt(2 log(blocks)), the ratio 1.3 for single voxels, 1.5 for the whole, else 1.
 *
 * Behind tv, wavelet and fft a colon and some of the letters x, y, z, t, h and b are the dimensions that they are
 * taken along: "tv:xy", "fft:t"; t is the last dimension, which is then that of a series, or one of opts.frames, as h
 * and b are. In a sum "=" and a number are the weight of one beside the others', 1 by default: "tv:xy+tv:t=4+l1" is
 * lambda (tv:xy + 4 tv:t + l1). No two are alike, one of them at most is tgv, lowrank-sparse or
 * lowrank-multiscale, and none is clear.
 *
 * shape    of the image, or of the series [image..., frames].
 * Errors   LARMOR_ERR_ARG for an unknown name (the message lists the known ones) or options out of range;
 *          LARMOR_ERR_SHAPE.
 * Source   Rudin, Osher, Fatemi, Physica D 60, 259 (1992); Bredies, Kunisch, Pock, SIAM J. Imaging Sci. 3, 492
 *          (2010); Knoll et al., Magn. Reson. Med. 65, 480 (2011); Lustig, Donoho, Pauly, Magn. Reson. Med. 58,
 *          1182 (2007); Otazo, Candes, Sodickson, Magn. Reson. Med. 73, 1125 (2015); Ong, Lustig, IEEE J. Sel. Top.
 *          Signal Process. 10, 672 (2016); Trzasko, Manduca, Asilomar Conf. Signals Syst. Comput. 45, 656 (2011). */
LARMOR_API larmor_status larmor_regulariser_create(larmor_device *dev, const char *name,
                                                   const larmor_regulariser_opts *opts, larmor_dtype dtype,
                                                   larmor_shape shape, larmor_regulariser **r);
LARMOR_API void larmor_regulariser_free(larmor_regulariser *r); /* NULL is fine */

enum { /* members of larmor_regulariser_opts that count for a regulariser */
       LARMOR_TAKES_SERIES = 1,
       LARMOR_NEEDS_SERIES = 2, /* no single images */
       LARMOR_TAKES_TIME = 4,
       LARMOR_TAKES_BLOCK = 8,
       LARMOR_TAKES_AXES = 32,
       LARMOR_TAKES_IMAGES = 16, /* a series of images that it does not couple, as coefficients of a basis are */
       LARMOR_OF_COILS = 64      /* its series is that of the coils' images; not in a sum */
};

typedef struct larmor_regulariser_info {
    const char *name, *help;
    unsigned takes; /* a sum of those above */
} larmor_regulariser_info;

/* Regulariser i of those that larmor_regulariser_create knows; past the last its name is NULL. */
LARMOR_API larmor_regulariser_info larmor_regulariser_entry(int i);

enum { LARMOR_MOST_PENALTIES = 4 };

typedef struct larmor_penalties {
    int count;
    unsigned takes;                      /* all of them together, as in larmor_regulariser_info */
    unsigned axes;                       /* that it names, x, y, z, t, h and b from bit 0 on */
    double ratio[LARMOR_MOST_PENALTIES]; /* 0 where the name has none */
} larmor_penalties;

/* What a name of larmor_regulariser_create lists, one penalty or several. Errors: LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_regulariser_read(const char *name, larmor_penalties *penalties);

/* The parts of a regulariser, which nothing else gives, for larmor_admm, larmor_pdhg and your own solvers
 * (examples/half.c): the penalty of x is the least of weight g(K z) over all z with
 * E z = x. The parts belong to the regulariser. */
typedef struct larmor_penalty {
    larmor_op *K;   /* NULL: the identity */
    larmor_prox *g; /* at lambda = 1 */
    larmor_op *E;   /* from an extended variable to the image; NULL: there is none, z = x */
    double lambda;  /* relative */
} larmor_penalty;
LARMOR_API larmor_penalty larmor_regulariser_penalty(const larmor_regulariser *r);

/* The absolute weight that a relative lambda of 1 stands for: |r|_4^2 / |r|_2 of r = A^H b, the typical magnitude of
 * the adjoint image where there is signal. It grows with the data's scale and the number of samples, as the data term
 * does with the image's, and does not depend on empty space around the object. 0 if b is 0.
 *
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC if A^H b is not finite. */
LARMOR_API larmor_status larmor_lambda_unit(larmor_op *A, const larmor_array *b, double *unit);

/* min_x 1/2 |A x - b|^2 + weight R(x), R the regulariser at lambda = 1, weight = lambda larmor_lambda_unit(A, b), by
 * the solver that suits the regulariser. The image scales with the data, and does not change if all readouts are
 * measured twice.
 *
 * x        start in, solution out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate.
 * opts     iterations, tolerance and penalty: the regulariser's by default. lambda: Tikhonov, beside the
 *          penalty. circulant: of A^H A, for a series that of one frame; it saves most of the time. The monitor
 *          gets images.
 * report   may be NULL.
 * Errors   those of larmor_admm, which is the solver of all of them so far. */
LARMOR_API larmor_status larmor_regularised(larmor_op *A, const larmor_array *b, larmor_regulariser *r,
                                            larmor_array *x, const larmor_solve_opts *opts, larmor_report *report);

/* Take this absolute weight from now on instead of lambda; 0: lambda again. Errors: LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_regulariser_set_weight(larmor_regulariser *r, double weight);

/* The absolute weight of the last larmor_regularised; 0 before the first. */
LARMOR_API double larmor_regulariser_weight(const larmor_regulariser *r);

/* ---- the weight of the penalty, from the data ---- */

enum { LARMOR_CHOICE_POINTS = 32, LARMOR_CHOICE_PARTS = 64 };

typedef struct larmor_choice {
    double weight; /* absolute */
    int tried;     /* weights that were tried */
    int iters;     /* iterations that it took */
    double seconds;
    double predicted;   /* the part of the samples held out, beyond their noise, that the best image predicts; 1: none
                    * are, or most of them is noise */
    double misfit;      /* |factors (A x - b)|^2 of the best image over that of no image: less is better, whatever the
                 * penalty */
    double time_weight; /* of tv's differences in time, where the pipeline chose it as well; else 0 */
    double intensity; /* of the object, the part that the image has: the projection of A x on the samples held out, of
                         * images that do not know them, without their noise; 0: not measured */
    int points;       /* that the choice was made from: */
    double weights[LARMOR_CHOICE_POINTS], misfits[LARMOR_CHOICE_POINTS]; /* weights in order, and what they leave */
    double ratios[LARMOR_MOST_PENALTIES]; /* of several penalties, where the pipeline chose them; else 0 */
    double parts[LARMOR_CHOICE_PARTS];    /* of misfit, by consecutive samples: how it varies */
} larmor_choice;

/* The samples held out by themselves, times the roots of their factors: images are compared with them in a tenth of
 * the time of all samples. */
typedef struct larmor_held_part {
    larmor_op *A;            /* of them alone; NULL: there are none */
    larmor_array *b, *noise; /* like A's output; noise: NULL where none is known */
    larmor_array *factors;   /* f64, like b without coils: those of larmor_hold_out */
} larmor_held_part;

/* What larmor_choose_weight compares images with. */
typedef struct larmor_held_out {
    larmor_op *A; /* of the data, with weights of 0 for the samples that are held out; NULL: none are */
    const larmor_array
        *factors; /* complex, like b: factors of the residuals, 0 where samples are kept; or real, of the samples
                                    of a coil, their squares, as larmor_hold_out gives them; NULL: 1 */
    const larmor_array *noise; /* like b: noise as strong as that of b, which sets where the search begins and when
                                    solutions are near enough; NULL where it is not known */
    larmor_held_part part;     /* compared in the place of all samples, as larmor_hold_part gives it */
    /* What is known already is not computed again: A^H noise, or NULL; larmor_lambda_unit of A and b, or 0. */
    const larmor_array *folded;
    double unit;
} larmor_held_out;

/* A tenth of the samples, one of each ten in a row: whole readouts where there are 24 of them or more that differ
 * and they are not on the grid, else single samples. Readouts all of whose samples are within 1/4 of each other's
 * are held out together. Neighbours along a readout would tell what a spoke has measured, but not what it lacks.
 *
 * traj     [nd, samples, readouts], f32 or f64, cycles per field of view.
 * weights  [samples, readouts], real and >= 0, those of A; NULL for 1.
 * C        of A^H A: its eigenvalues are the density of samples.
 * kept     f64 [samples, readouts]: the weights, and 0 where a sample is held out; for larmor_op_sense.
 * factors  f64 [samples, readouts]: one over the density where samples are held out, else 0; their roots, for every
 *          coil, are those of larmor_held_out.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_hold_out(const larmor_array *traj, const larmor_array *weights,
                                         const larmor_circulant *C, uint64_t seed, larmor_array **kept,
                                         larmor_array **factors);

/* The weight whose image from the samples that are kept best predicts those that are held out: |factors (A x - b)| is
 * least there. Errors of the model and aliasing count like noise. For larmor_cg, r NULL, as opts.lambda; for
 * larmor_regularised by larmor_regulariser_set_weight.
 *
 * Where no samples are held out, held.A NULL, and held.noise is e, images from b + e/2 are compared with b - 2 e.
 * The two have independent noise, and what no image explains does not matter. This is for data that determine the
 * image.
 *
 * b        the data.
 * C        of A^H A, or of one frame's for a series.
 * opts     as for larmor_cg or larmor_regularised, but only monitor, penalty and inner are used; or NULL.
 * choice   also after an error.
 * Errors   those of larmor_cg or larmor_regularised.
 * Source   Stone, J. R. Stat. Soc. B 36, 111 (1974); of images from few samples: Ward, IEEE Trans. Inf. Theory 55,
 *          5773 (2009); with noise added: Oliveira, Lei, Tibshirani, Unbiased risk estimation in the normal means
 *          problem via coupled bootstrap techniques (2021). docs/records/choosing.md has results. */
LARMOR_API larmor_status larmor_choose_weight(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                                              const larmor_circulant *C, const larmor_regulariser *r,
                                              const larmor_solve_opts *opts, larmor_choice *choice);

/* Bytes of device memory that samples held out and the choice take at most, beyond held.A and what the solver
 * takes at a weight that is given: larmor_hold_out with its results, the factors like b, and larmor_choose_weight.
 *
 * x, kspace  the shapes of A's input and of b.
 * Errors     LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_choose_memory(larmor_dtype dtype, larmor_shape x, larmor_shape kspace,
                                              int64_t *bytes);

/* How much of the noise there is in data of several coils that determine the image x. What no image explains, the
 * residual of least squares, is multiplied by factors, which are not alike in all coils, so that A^H makes an
 * image of it; the median of its magnitudes, where it is not 0, is compared with that of the noise instead of b.
 * Errors of the model are not taken for noise where they are in less than half of the voxels.
 *
 * noise    like b, as strong as the noise is thought to be.
 * factors  like b, such as 1 for every second coil and -1 for the others.
 * factor   at most 1; 1 where the model leaves no noise over.
 * Errors   those of larmor_cg. */
LARMOR_API larmor_status larmor_noise_left(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                           const larmor_array *factors, double *factor);

/* The weight that is expected from the noise, near the best in many scans, from a few steps of conjugate gradients
 * for b and for the noise. For larmor_cg, r NULL: 5 times the power of a sample's noise over that of a voxel of
 * the image, which is what a Gaussian prior with a flat spectrum has. For a regulariser: the power of a sample's
 * noise over the deviation of the noise in a voxel of the image, times a number of its kind. 0 where there is no
 * noise.
 *
 * noise   a sample of noise like b, independent of b's but as strong sample by sample; larmor_noise_fill makes it.
 * Errors  LARMOR_ERR_ARG; those of larmor_cg. */
LARMOR_API larmor_status larmor_weight_of_noise(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                                const larmor_regulariser *r, double *weight);

/* x, complex, <- independent numbers whose real and imaginary parts have mean 0 and this standard deviation; the same
 * seed gives the same numbers on every device. They are uniformly distributed, which larmor's uses of noise allow.
 *
 * Errors  LARMOR_ERR_ARG for a real x, or a deviation that is not finite and >= 0. */
LARMOR_API larmor_status larmor_noise_fill(larmor_array *x, double deviation, uint64_t seed);

/* ---- samples of what the image may be ---- */

typedef struct larmor_posterior larmor_posterior; /* one thread at a time */

typedef struct larmor_posterior_opts {
    double weight;    /* absolute, > 0: of |x|^2 / 2 as lambda of larmor_cg, or of the regulariser */
    double deviation; /* of the noise in the real and in the imaginary part of a number of b, > 0 */
    const larmor_circulant
        *circulant; /* of A^H A, or of a frame's for a series, or NULL; it saves most of the time */
    uint64_t seed;
    int max_iter; /* of conjugate gradients for a sample; default 60 */
} larmor_posterior_opts;

/* Samples x of the posterior distribution exp(-(|A x - b|^2 / 2 + weight R(x)) / deviation^2), whose mode is the
 * image of larmor_cg or larmor_regularised. A Gaussian prior, r NULL with R = |x|^2 / 2: each sample is the
 * solution for data and prior with noise that is added (perturb and optimise), independent of others. tv, wavelet
 * and other sums of magnitudes: a chain of such solutions, each with variances of the differences or coefficients
 * that are drawn given the sample before it (Gibbs); the first dozen samples remember where it began. The mean of
 * samples is not the mode: that of tv is smoother and has no steps.
 *
 * r        belongs to the caller and outlives p; its own weight does not count. NULL: a Gaussian prior.
 * x        of larmor_posterior_next: the sample before it, or where the chain begins, as the image; out: a sample.
 * Errors   LARMOR_ERR_ARG for a regulariser that is no sum of magnitudes, as tgv and llr, and numbers out of range;
 *          LARMOR_ERR_SHAPE; those of larmor_cg.
 * Source   Papandreou and Yuille, Adv. Neural Inf. Process. Syst. 23, 1858 (2010); Park and Casella, J. Am. Stat.
 *          Assoc. 103, 681 (2008); Kyung et al., Bayesian Anal. 5, 369 (2010), of groups. */
LARMOR_API larmor_status larmor_posterior_create(larmor_op *A, const larmor_array *b, const larmor_regulariser *r,
                                                 const larmor_posterior_opts *opts, larmor_posterior **p);
LARMOR_API larmor_status larmor_posterior_next(larmor_posterior *p, larmor_array *x);
LARMOR_API void larmor_posterior_free(larmor_posterior *p); /* NULL is fine */

/* Bytes of device memory that larmor_regularised takes at most with a regulariser of this name, which is among them,
 * beyond A, the image and a circulant. Errors: LARMOR_ERR_ARG for an unknown name; LARMOR_ERR_SHAPE for an image that
 * no memory holds. */
LARMOR_API larmor_status larmor_regularised_memory(const char *name, const larmor_regulariser_opts *opts,
                                                   larmor_dtype dtype, larmor_shape shape, int64_t *bytes);

LARMOR_C_END
#endif
