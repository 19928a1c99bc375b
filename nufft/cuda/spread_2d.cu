/* Spreading in 2 dimensions. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cuda/spread.cuh"

template larmor_status lmr_cuda_spread<float, 2>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                 int64_t, const cx<float> *, cx<float> *);
template larmor_status lmr_cuda_spread<double, 2>(lmr_cuda *, const lmr_nufft_geometry *, const lmr_cuda_points *,
                                                  int64_t, const cx<double> *, cx<double> *);
