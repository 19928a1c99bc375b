/* Transforms of lines of numbers in shared memory, for convolutions: forward in place by decimation in frequency, which
 * leaves frequencies in the order of their digits, and back by decimation in time, which begins with that order
 * (Gentleman and Sande 1966; Govindaraju et al. 2008). The spectrum is kept in the same order, so that nothing is ever put
 * in order. Zeros behind a line are not read, and what is not wanted of it is not written. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_CUDA_LINES_CUH
#define LMR_CUDA_LINES_CUH

#include "core/cuda/dft.cuh"

enum { LMR_LINES_STAGES = 12 };

/* A length and its radices, the first stage's first. */
struct lmr_cuda_line {
    int n, keep; /* numbers of a line, and those of them that are read and written */
    int stages;
    int radix[LMR_LINES_STAGES];
};

/* Cell of the spectrum's line that has the frequency of position `at` of the transformed line, and the inverse of where
 * it is kept: position q radix + p of the last stage is kept at p n / radix + q, where neighbours are read by neighbours. */
__host__ __device__ inline int lmr_cuda_line_frequency(const lmr_cuda_line &line, int at)
{
    int frequency = 0, step = 1, rest = line.n;
    for (int s = 0; s < line.stages; s++) {
        rest /= line.radix[s];
        frequency += at / rest * step;
        at %= rest;
        step *= line.radix[s];
    }
    return frequency;
}

__host__ __device__ inline int lmr_cuda_line_kept_at(const lmr_cuda_line &line, int at)
{
    const int radix = line.radix[line.stages - 1];
    return at % radix * (line.n / radix) + at / radix;
}

namespace line_detail
{

/* v_p times w^p, p = 0 .. R - 1: few products one after the other, so that their errors stay at rounding. */
template <int R, typename T> __device__ inline void twiddle(cx<T> (&v)[R], cx<T> w)
{
    using namespace dft_detail;
    cx<T> power[R];
    power[1] = w;
    each<R>([&](auto p) {
        if constexpr (p() > 1) power[p] = times(power[p / 2], power[p - p / 2]);
        if constexpr (p() > 0) v[p] = times(v[p], power[p]);
    });
}

/* The part of butterfly `of` of a stage: its first position, the step to the next, and its twiddle. */
struct butterfly {
    int first, step;
    int root; /* w = exp(2 pi i root / n) */
};

__device__ inline butterfly find(int n, int whole, int radix, int of)
{
    const unsigned step = (unsigned)(whole / radix), block = (unsigned)of / step, j = (unsigned)of - block * step;
    return {(int)(block * (unsigned)whole + j), (int)step, (int)(j * (unsigned)(n / whole))};
}

template <typename T> __device__ inline cx<T> load_root(const cx<T> *roots, int k, int sign)
{
    const cx<T> w = roots[k];
    return {w.re, sign < 0 ? -w.im : w.im};
}

/* One stage of the lines of a block. SIGN -1: forward, whose sub-transforms are `whole` long before it; +1: the same stage
 * back. load(position, line) and store(position, line, number) say where numbers are. */
template <int R, int SIGN, typename T, typename Lines, typename Load, typename Store>
__device__ inline void stage(const Lines &lines, int n, int whole, const cx<T> *roots, Load load, Store store)
{
    for (int work = threadIdx.x; work < lines.count * (n / R); work += blockDim.x) {
        int of, line;
        lines.split(work, n / R, &of, &line);
        const butterfly at = find(n, whole, R, of);
        cx<T> v[R];
        dft_detail::each<R>([&](auto p) { v[p] = load(at.first + p * at.step, line); });
        const cx<T> w = load_root(roots, at.root, SIGN);
        if (SIGN > 0) twiddle(v, w);
        dft<R, SIGN>(v);
        if (SIGN < 0) twiddle(v, w);
        dft_detail::each<R>([&](auto p) { store(at.first + p * at.step, line, v[p]); });
    }
}

/* The last stage forward, the product with the spectrum, and that stage back. */
template <int R, typename T, typename Lines, typename Load, typename Store, typename Spectrum>
__device__ inline void turning_stage(const Lines &lines, int n, Load load, Store store, Spectrum spectrum)
{
    for (int work = threadIdx.x; work < lines.count * (n / R); work += blockDim.x) {
        int of, line;
        lines.split(work, n / R, &of, &line);
        cx<T> v[R];
        dft_detail::each<R>([&](auto p) { v[p] = load(of * R + p, line); });
        dft<R, -1>(v);
        dft_detail::each<R>([&](auto p) {
            const T s = spectrum(p * (n / R) + of, line);
            v[p] = {s * v[p].re, s * v[p].im};
        });
        dft<R, 1>(v);
        dft_detail::each<R>([&](auto p) { store(of * R + p, line, v[p]); });
    }
}

/* f(radix), as a constant. */
template <typename F> __device__ inline void with_radix(int radix, F &&f)
{
    switch (radix) {
    case 2: return f(dft_detail::constant<2>());
    case 3: return f(dft_detail::constant<3>());
    case 4: return f(dft_detail::constant<4>());
    case 5: return f(dft_detail::constant<5>());
    case 6: return f(dft_detail::constant<6>());
    case 7: return f(dft_detail::constant<7>());
    case 8: return f(dft_detail::constant<8>());
    case 9: return f(dft_detail::constant<9>());
    case 10: return f(dft_detail::constant<10>());
    case 12: return f(dft_detail::constant<12>());
    case 16: return f(dft_detail::constant<16>());
    }
}

} // namespace line_detail

#endif
