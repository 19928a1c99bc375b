/* Transforms of lines of numbers in shared memory, for convolutions: forward in place by decimation in frequency,
 * which leaves frequencies in the order of their digits, and back by decimation in time, which begins with that
 * order (Gentleman and Sande 1966; Govindaraju et al. 2008). The spectrum is kept in the same order, so that
 * nothing is ever put in order. Zeros behind a line are not read, and what is not wanted of it is not written.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cuda/dft.cuh"

enum { LMR_LINES_STAGES = 12 };

/* Quotients of numbers below 2^32 / divisor by a product. */
struct lmr_cuda_divisor {
    unsigned magic; /* 2^32 / divisor, rounded up; 0: the divisor is 1 */
    LMR_BOTH unsigned quotient(unsigned x) const
    {
        return magic ? lmr_cuda_high(x, magic) : x;
    }
};

inline lmr_cuda_divisor lmr_cuda_divide_by(int divisor)
{
    return {divisor == 1 ? 0 : (unsigned)((UINT64_C(0xffffffff) + (unsigned)divisor) / (unsigned)divisor)};
}

/* A stage of the forward transform: sub-transforms of `whole` numbers become radix of `step` each. */
struct lmr_cuda_stage {
    int radix, whole, step;
    int each; /* butterflies of a line */
    lmr_cuda_divisor by_step, by_each;
};

/* A length, and its stages. In shared memory rows have `gap` unused places behind each part that the first stage
 * makes. */
struct lmr_cuda_line {
    int n, keep; /* numbers of a line, and those of them that are read and written */
    int stages, gap;
    lmr_cuda_divisor by_part;
    lmr_cuda_stage stage[LMR_LINES_STAGES];
};

/* Cell of the spectrum's line that has the frequency of position `at` of the transformed line, and where it is kept:
 * position q radix + p of the last stage at p n / radix + q, so that neighbours are read by neighbours. */
LMR_BOTH inline int lmr_cuda_line_frequency(const lmr_cuda_line &line, int at)
{
    int frequency = 0, factor = 1;
    for (int s = 0; s < line.stages; s++) {
        frequency += at / line.stage[s].step * factor;
        at %= line.stage[s].step;
        factor *= line.stage[s].radix;
    }
    return frequency;
}

LMR_BOTH inline int lmr_cuda_line_kept_at(const lmr_cuda_line &line, int at)
{
    const int radix = line.stage[line.stages - 1].radix;
    return at % radix * (line.n / radix) + at / radix;
}

namespace line_detail
{

/* v_p times w^p, p = 0 .. R - 1: few products one after the other, so that their errors stay at rounding. */
template <int R, typename T> LMR_BOTH inline void twiddle(cx<T> (&v)[R], cx<T> w)
{
    using namespace dft_detail;
    cx<T> power[R];
    power[1] = w;
    each<R>([&](auto p) {
        if constexpr (p() > 1) power[p] = times(power[p / 2], power[p - p / 2]);
        if constexpr (p() > 0) v[p] = times(v[p], power[p]);
    });
}

/* The lines of a block: neighbours in memory, a power of two of them, beside each other. */
struct lane_lines {
    int count, log2, width; /* width: lines that there are */
    LMR_BOTH void split(int work, const lmr_cuda_stage &, int *of, int *line) const
    {
        *of = work >> log2;
        *line = work & (count - 1);
    }
};

/* Lines of which each lies in one piece. */
struct row_lines {
    int count, width;
    LMR_BOTH void split(int work, const lmr_cuda_stage &s, int *of, int *line) const
    {
        *line = (int)s.by_each.quotient((unsigned)work);
        *of = work - *line * s.each;
    }
};

/* Where a butterfly's numbers are, p of it `step` apart. */
template <typename T, typename S> struct places {
    T *first;
    S step;
    LMR_BOTH T &operator[](int p) const
    {
        return first[p * step];
    }
};

/* FIRST: no number is before it in the line. LAST: nothing is left to transform, so that there are no twiddles.
 * WHOLE: a first stage of lines that are there to their end. HALF: one of lines the second half of which is zeros
 * that are not there, or is not wanted. */
enum part { FIRST, WHOLE, HALF, MIDDLE, LAST };

/* The sub-transform that a butterfly is part of, and the butterfly's number in it. */
struct butterfly {
    int block, j;
};

template <part PART> LMR_BOTH inline butterfly find(const lmr_cuda_stage &s, int of)
{
    if constexpr (PART == FIRST || PART == WHOLE || PART == HALF) return {0, of};
    if constexpr (PART == LAST) return {of, 0};
    const int block = (int)s.by_step.quotient((unsigned)of);
    return {block, of - block * s.step};
}

/* One stage of the lines of a block, or the same stage back. SIGN: of the exponent. from and to say where a
 * butterfly's numbers are: from(stage, its first position, line). limit: of numbers that are there or wanted, if
 * it is a first stage. */
template <int R, int SIGN, part PART, bool BACK = (SIGN > 0), typename T, typename Lines, typename From, typename To>
LMR_BOTH inline void stage(const Lines &lines, const lmr_cuda_stage &s, int limit, const cx<T> *roots, From from,
                           To to)
{
    const int n = s.each * R;
    for (int work = lmr_cuda_thread(); work < lines.count * s.each; work += lmr_cuda_threads()) {
        int of, line;
        lines.split(work, s, &of, &line);
        if (line >= lines.width) continue;
        const butterfly b = find<PART>(s, of);
        const int first = b.block * s.whole + b.j;
        const auto source = from(s, first, line);
        cx<T> v[R], w = {1, 0};
        dft_detail::each<R>([&](auto p) {
            constexpr bool there = BACK || PART != HALF || 2 * p() < R;
            if constexpr (!there)
                v[p] = {0, 0};
            else if constexpr (!BACK && PART == FIRST)
                v[p] = first + p * s.step < limit ? source[p] : cx<T>{0, 0};
            else
                v[p] = source[p];
        });
        if constexpr (PART != LAST) {
            w = roots[PART == MIDDLE ? b.j * (n / s.whole) : b.j];
            w.im *= SIGN;
            if constexpr (BACK) twiddle(v, w);
        }
        dft<R, SIGN>(v);
        if constexpr (PART != LAST && !BACK) twiddle(v, w);
        const auto target = to(s, first, line);
        dft_detail::each<R>([&](auto p) {
            constexpr bool wanted = !BACK || PART != HALF || 2 * p() < R;
            if constexpr (BACK && PART == FIRST) {
                if (first + p * s.step < limit) target[p] = v[p];
            } else if constexpr (wanted) {
                target[p] = v[p];
            }
        });
    }
}

/* The last stage forward, the product with the spectrum, and that stage back. */
template <int R, typename T, typename Lines, typename Places>
LMR_BOTH inline void turning_stage(const Lines &lines, const lmr_cuda_stage &s, Places places, const T *spectrum)
{
    for (int work = lmr_cuda_thread(); work < lines.count * s.each; work += lmr_cuda_threads()) {
        int of, line;
        lines.split(work, s, &of, &line);
        if (line >= lines.width) continue;
        const auto at = places(s, of * R, line);
        const T *const weight = spectrum + (int64_t)line * (s.each * R) + of;
        cx<T> v[R];
        dft_detail::each<R>([&](auto p) { v[p] = at[p]; });
        dft<R, -1>(v);
        dft_detail::each<R>([&](auto p) {
            const T x = weight[p * s.each];
            v[p] = {x * v[p].re, x * v[p].im};
        });
        dft<R, 1>(v);
        dft_detail::each<R>([&](auto p) { at[p] = v[p]; });
    }
}

/* f(radix), as a constant; MOST: the largest one that there is. */
template <int MOST = 16, typename F> LMR_BOTH inline void with_radix(int radix, F &&f)
{
    switch (radix) {
    case 2:
        return f(dft_detail::constant<2>());
    case 3:
        return f(dft_detail::constant<3>());
    case 4:
        return f(dft_detail::constant<4>());
    case 5:
        return f(dft_detail::constant<5>());
    case 6:
        return f(dft_detail::constant<6>());
    case 7:
        return f(dft_detail::constant<7>());
    case 8:
        return f(dft_detail::constant<8>());
    case 9:
        return f(dft_detail::constant<9>());
    case 10:
        return f(dft_detail::constant<10>());
    case 12:
        return f(dft_detail::constant<12>());
    case 16:
        if constexpr (MOST >= 16) return f(dft_detail::constant<16>());
    }
}

} // namespace line_detail

/* ---- how a line is divided into stages ---- */

/* The radices of n with the least number of stages, at least two, of those the smallest ones, the largest first.
 * In double precision 16 numbers do not fit into the registers. */
struct lmr_cuda_radices {
    int now[LMR_LINES_STAGES], best[LMR_LINES_STAGES], count = 0, sum = 0, stages = 0, least = 0;
    void search(int64_t rest, bool single)
    {
        if (rest == 1 && count > 1 && (!stages || count < stages || (count == stages && sum < least))) {
            std::copy(now, now + count, best);
            stages = count;
            least = sum;
        }
        if (rest == 1 || count == LMR_LINES_STAGES) return;
        for (int radix : {16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2}) {
            if (rest % radix || (radix > 12 && !single) || (count && radix > now[count - 1])) continue;
            now[count++] = radix;
            sum += radix;
            search(rest / radix, single);
            sum -= radix;
            count--;
        }
    }
};

/* The first position of the last stage's butterflies, in the order of the frequency that is there: that of the p-th
 * position is by p n / radix more. */
inline std::vector<int> lmr_cuda_line_order(const lmr_cuda_line &line)
{
    const lmr_cuda_stage &last = line.stage[line.stages - 1];
    std::vector<int> order((size_t)last.each);
    for (int of = 0; of < last.each; of++)
        order[(size_t)lmr_cuda_line_frequency(line, of * last.radix)] = of * last.radix;
    return order;
}

/* How often threads of a row's stages wait for each other in shared memory, with so large a gap: groups of 16
 * threads read
 * 16 numbers in 16 banks of 8 bytes, where numbers of 16 bytes take two. order: of the last stage's butterflies. */
inline int lmr_cuda_line_conflicts(const lmr_cuda_line &line, int gap, int number, const std::vector<int> &order)
{
    const int threads = 128 / number, part = line.stage[0].step;
    int total = 0;
    for (int i = 1; i < line.stages; i++) {
        const lmr_cuda_stage &s = line.stage[i];
        const bool last = i == line.stages - 1;
        for (int first = 0; first + threads <= s.each; first += threads) {
            int uses[16] = {0}, most = 0;
            for (int t = first; t < first + threads; t++) {
                const int at = last ? order[(size_t)t] : t / s.step * s.whole + t % s.step;
                int &bank = uses[(at + at / part * gap) % threads];
                most = std::max(most, ++bank);
            }
            total += (most - 1) * s.radix * 128 / threads;
        }
    }
    return total;
}

/* number: bytes of one; ordered: the last stage's butterflies are taken in the order of their frequencies. false:
 * n is 1, a prime, or has other factors than 2, 3, 5 and 7. */
inline bool lmr_cuda_make_line(int64_t n, int64_t keep, int number, bool ordered, lmr_cuda_line *line)
{
    lmr_cuda_radices found;
    found.search(n, number == 8);
    *line = {};
    line->n = (int)n;
    line->keep = (int)keep;
    line->stages = found.stages;
    int whole = (int)n;
    for (int i = 0; i < found.stages; i++) {
        const int radix = found.best[i], step = whole / radix, each = (int)n / radix;
        line->stage[i] = {radix, whole, step, each, lmr_cuda_divide_by(step), lmr_cuda_divide_by(each)};
        whole = step;
    }
    if (!found.stages) return false;
    line->by_part = lmr_cuda_divide_by(line->stage[0].step);
    std::vector<int> order = lmr_cuda_line_order(*line);
    if (!ordered) std::sort(order.begin(), order.end());
    int least = lmr_cuda_line_conflicts(*line, 0, number, order);
    for (int gap = 1; gap < 16; gap++) {
        const int now = lmr_cuda_line_conflicts(*line, gap, number, order);
        if (now >= least) continue;
        line->gap = gap;
        least = now;
    }
    return true;
}

/* Numbers from one line to the next in shared memory. */
inline int lmr_cuda_line_pitch(const lmr_cuda_line &line)
{
    return line.n + line.stage[0].radix * line.gap;
}

/* exp(2 pi i k / n). */
template <typename T> std::vector<cx<T>> lmr_cuda_line_roots(int n)
{
    std::vector<cx<T>> roots((size_t)n);
    for (int k = 0; k < n; k++) {
        const double angle = 2 * M_PI * k / n;
        roots[(size_t)k] = {(T)cos(angle), (T)sin(angle)};
    }
    return roots;
}
