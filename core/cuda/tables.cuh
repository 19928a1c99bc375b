/* The CUDA backend's own tables, for plugin.cu. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/cuda/cuda.cuh"

extern const lmr_vec lmr_cuda_vec_f32, lmr_cuda_vec_f64;
extern const lmr_fft lmr_cuda_fft_f32, lmr_cuda_fft_f64;
extern const lmr_modes lmr_cuda_modes_f32, lmr_cuda_modes_f64;
extern const lmr_conv lmr_cuda_conv_f32, lmr_cuda_conv_f64;
/* Of arrays that are not mixed, with sides that fit into shared memory; bytes is -1 for others. */
extern const lmr_conv lmr_cuda_lines_f32, lmr_cuda_lines_f64;
extern const lmr_la lmr_cuda_la_f32, lmr_cuda_la_f64;
extern const lmr_mark lmr_cuda_mark;
extern const lmr_graph lmr_cuda_graph;
extern const lmr_communicator lmr_cuda_communicator;

/* The entry copy. */
larmor_status lmr_cuda_copy(void *ctx, lmr_copy_dir dir, void *dst, const void *src, size_t bytes);

/* The entries convert and fill. */
larmor_status lmr_cuda_convert(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y);
larmor_status lmr_cuda_fill(void *ctx, int64_t n, larmor_dtype type, double value, void *x);

/* A plan for the exec and destroy of lmr_cuda_fft_*: along the second dimension of one array [columns, n]. */
template <typename T> larmor_status lmr_cuda_fft_columns(lmr_cuda *c, int64_t columns, int64_t n, void **plan);

/* As gemm where one or two of the sides are small, without any library: *done is 0 for other products, of which
 * nothing is computed. */
template <typename T> larmor_status lmr_cuda_small_product(lmr_cuda *c, char opa, char opb, int64_t m, int64_t n,
                                                           int64_t k, const void *a, int64_t lda, const void *b,
                                                           int64_t ldb, void *result, int64_t ldc, bool *done);

/* As heev for small matrices, likewise; waits. */
template <typename T>
larmor_status lmr_cuda_small_eigen(lmr_cuda *c, int64_t n, int64_t batch, bool vectors, cx<T> *a, T *w, bool *done);

/* Leave off recording and keep nothing; the device is current. */
void lmr_cuda_stop_recording(lmr_cuda *c);

/* Whether the device's stream is recorded as a graph, by larmor or by another library. */
bool lmr_cuda_is_recording(const lmr_cuda *c);

/* The entry set_stream. */
larmor_status lmr_cuda_set_stream(void *ctx, void *stream);

/* Give up what large copies go through, the handles that linear algebra made, and those of FFTs that no plan has; the
 * device is current. */
void lmr_cuda_close_lanes(lmr_cuda *c);
void lmr_cuda_close_la(lmr_cuda *c);
void lmr_cuda_close_fft(lmr_cuda *c);
