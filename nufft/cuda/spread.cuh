/* Spreading: the method that sort chose, by width. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/spread_gm.cuh"
#include "nufft/cuda/spread_matrix.cuh"
#include "nufft/cuda/spread_owner.cuh"
#include "nufft/cuda/spread_sm.cuh"

template <typename T, int D> larmor_status lmr_cuda_spread(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                           const lmr_cuda_points *p, int64_t batch,
                                                           const cx<T> *values, cx<T> *cells)
{
    return with_width(g->width, [&](auto width) {
        constexpr int W = decltype(width)::value;
        if constexpr (D == 3 && std::is_same_v<T, double> && W >= least_matrix_width && W <= widest_spread)
            if (p->spread == LMR_NUFFT_OWNER && p->spread_matrix)
                return spread_matrix<W>(c, g, p, batch, values, cells);
        switch (p->spread) {
        case LMR_NUFFT_OWNER:
            return spread_owner<T, D, W>(c, g, p, batch, values, cells);
        case LMR_NUFFT_SM:
            return spread_sm<T, D, W>(c, g, p, batch, values, cells);
        default:
            return spread_gm<T, D, W>(c, g, p, batch, values, cells);
        }
    });
}
