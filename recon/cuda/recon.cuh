/* What this layer's CUDA files share. Only for .cu files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/cuda/cuda.cuh"
#include "recon/math.h"

/* Their parts of the table; T is float or double. */
larmor_status lmr_cuda_recon_outlier(void *ctx, int64_t n, const double *x, double low, int64_t *index);
larmor_status lmr_cuda_recon_select(void *ctx, int nd, int64_t m, const double *points, const double radius[3],
                                    double limit, int64_t *index, int64_t *count);
larmor_status lmr_cuda_recon_pick(void *ctx, int nd, int64_t m, const int64_t *index, double scale,
                                  const double *from, double *to);
larmor_status lmr_cuda_recon_taper(void *ctx, int nd, int64_t m, const double *points, const double radius[3],
                                   double *w);
larmor_status lmr_cuda_recon_lines(void *ctx, int nd, int64_t n, int64_t readouts, const double *points, double *t,
                                   lmr_line *line);
larmor_status lmr_cuda_recon_ramp(void *ctx, int nd, int64_t n, int64_t readouts, const double *t,
                                  const lmr_line *line, int64_t rays, const double *ray, double *w);

template <typename T> larmor_status lmr_cuda_recon_survey(void *ctx, const lmr_survey_of *of, const void *x,
                                                          double *energy, unsigned char *repeats, lmr_survey *found);
template <typename T> larmor_status lmr_cuda_recon_ceiling(void *ctx, int64_t points, int64_t coils, int64_t room,
                                                           const float *limit, const void *x, lmr_part *part,
                                                           int64_t *count);
template <typename T> larmor_status lmr_cuda_recon_energies(void *ctx, int64_t n, int64_t readouts, int64_t coils,
                                                            int rings, const unsigned char *ring, const void *x,
                                                            double *sum);
template <typename T>
larmor_status lmr_cuda_recon_covariance(void *ctx, int64_t m, int64_t coils, const void *x, void *cov);
template <typename T>
larmor_status lmr_cuda_recon_products(void *ctx, int64_t n, int64_t first, int64_t count, const void *x, void *y);
template <typename T> larmor_status lmr_cuda_recon_filter(void *ctx, const int64_t dim[3], int64_t n, int64_t count,
                                                          const double *taps, int64_t step, int64_t stride,
                                                          int64_t shift, const void *x, void *y);
template <typename T> larmor_status lmr_cuda_recon_scatter(void *ctx, int64_t pixels, int64_t coils, int64_t first,
                                                           int64_t count, const void *sums, void *cov);
template <typename T>
larmor_status lmr_cuda_recon_align(void *ctx, int64_t pixels, int64_t coils, const void *vectors, void *maps);
