/* Transforms between a grid and those of its frequencies that are wanted, the modes, line by line in shared memory
 * (core/cuda/lines.cuh). Frequencies that are no modes are zeros that are not read, or are not written. From the
 * grid: along x, y and then z, each by decimation in frequency, whose last stage has a frequency in each register.
 * Its butterflies are taken in the order of their frequencies, so that modes are written in their order at once,
 * times the axis's factors. To the grid: the same stages back, z first. All passes between x and the modes' array
 * are in place in the grid, which holds the modes of an axis at its front. The host runs the same code in
 * tests/backend/modes_host.cpp. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <type_traits>

#include "core/cuda/lines.cuh"

/* The modes among the frequencies of an axis: those below `low`, and the negative ones, from `high` on. */
struct lmr_cuda_band {
    int low, high;
    int up, down; /* from either to their places: frequency + up, or - down */
    int half;     /* and to the number of the mode, frequency + half, or - high */
};

inline lmr_cuda_band lmr_cuda_band_of(int64_t cells, int64_t modes, int fft_order)
{
    const int n = (int)cells, half = (int)(modes / 2);
    return {(int)modes - half, n - half, fft_order ? 0 : half, fft_order ? n - (int)modes : n - half, half};
}

/* Numbers from one to the next along a line, from a line to that of the next plane, and from array to array. */
struct lmr_cuda_strides {
    int position;
    int64_t other, array;
};

/* A pass over all lines along one axis. Columns: `width` lines beside each other, for each of `others` and each
 * array; `lanes` of them in a block. Rows: `width` of them one after the other, `lanes` of them in a block. */
struct lmr_cuda_modes_pass {
    lmr_cuda_line line;
    lmr_cuda_band band;
    int axis, pitch; /* pitch: of rows in shared memory */
    int lanes_log2, threads, bytes;
    unsigned tiles, others;
    int64_t width, blocks;
    lmr_cuda_strides cells, modes;
};

namespace line_detail
{

/* The last stage, whose frequencies are the modes', or, BACK, the same stage back, which is the first one then. A
 * line's modes are at modes(line), `apart` numbers from one to the next. */
template <int R, int SIGN, bool BACK, typename T, typename Lines, typename Held, typename Modes, typename Apart>
LMR_BOTH inline void modes_stage(const Lines &lines, const lmr_cuda_stage &s, const lmr_cuda_band &band,
                                 const int *order, const T *factor, Held held, Modes modes, Apart apart)
{
    for (int work = lmr_cuda_thread(); work < lines.count * s.each; work += lmr_cuda_threads()) {
        int of, line;
        lines.split(work, s, &of, &line);
        if (line >= lines.width) continue;
        const auto here = held(s, order[of], line);
        const auto there = modes(line);
        const int up = (of + band.up) * apart, down = (of - band.down) * apart;
        cx<T> v[R];
        if constexpr (!BACK) {
            dft_detail::each<R>([&](auto p) { v[p] = here[p]; });
            dft<R, SIGN>(v);
        }
        dft_detail::each<R>([&](auto p) {
            const int more = p() * s.each;
            const bool is_low = of < band.low - more;
            if constexpr (BACK) v[p] = {0, 0};
            if (is_low || of >= band.high - more) {
                const T f = factor[of + more + (is_low ? band.half : -band.high)];
                auto &mode = there[(is_low ? up : down) + more * apart];
                if constexpr (BACK)
                    v[p] = {f * mode.re, f * mode.im};
                else
                    mode = {f * v[p].re, f * v[p].im};
            }
        });
        if constexpr (BACK) {
            dft<R, SIGN>(v);
            dft_detail::each<R>([&](auto p) { here[p] = v[p]; });
        }
    }
}

/* The stages of some lines: from cells to modes, or back. In shared memory a first stage's numbers are at `begun`,
 * those of others at `held`. */
template <int SIGN, bool BACK, typename T, typename Lines, typename Begun, typename Held, typename Cells,
          typename Modes, typename Apart>
LMR_BOTH inline void modes_lines(const lmr_cuda_line &line, const lmr_cuda_band &band, const Lines &lines,
                                 const cx<T> *roots, const int *order, const T *factor, Begun begun, Held held,
                                 Cells cells, Modes modes, Apart apart)
{
    constexpr int MOST = sizeof(T) == 4 ? 16 : 12;
    const int last = line.stages - 1;
    for (int k = 0; k <= last; k++) {
        const int i = BACK ? last - k : k;
        const lmr_cuda_stage &s = line.stage[i];
        with_radix<MOST>(s.radix, [&](auto r) {
            constexpr int R = decltype(r)::value;
            if (i == last)
                modes_stage<R, SIGN, BACK>(lines, s, band, order, factor, held, modes, apart);
            else if (i)
                stage<R, SIGN, MIDDLE, BACK>(lines, s, 0, roots, held, held);
            else if constexpr (BACK)
                stage<R, SIGN, WHOLE, BACK>(lines, s, 0, roots, begun, cells);
            else
                stage<R, SIGN, WHOLE, BACK>(lines, s, 0, roots, cells, begun);
        });
        if (k < last) lmr_cuda_meet();
    }
}

} // namespace line_detail

/* Block number `block` of a pass over columns from cells to modes, or, BACK, from modes to cells; SIGN: of the
 * exponent. */
template <int SIGN, bool BACK, typename T>
LMR_BOTH inline void lmr_cuda_modes_columns(const lmr_cuda_modes_pass &c, unsigned block, const cx<T> *roots,
                                            const int *order, const T *factor, cx<T> *shared, const cx<T> *from,
                                            cx<T> *to)
{
    using namespace line_detail;
    using cell = std::conditional_t<BACK, cx<T>, const cx<T>>;
    using mode = std::conditional_t<BACK, const cx<T>, cx<T>>;
    const int log2 = c.lanes_log2, apart = c.modes.position;
    const unsigned rest = block / c.tiles, array = rest / c.others, other = rest - array * c.others;
    const int64_t first = (int64_t)(block - rest * c.tiles) << log2, left = c.width - first;
    const lane_lines lines = {1 << log2, log2, left < 1 << log2 ? (int)left : 1 << log2};
    cell *at_cells;
    mode *at_modes;
    if constexpr (BACK) {
        at_cells = to;
        at_modes = from;
    } else {
        at_cells = from;
        at_modes = to;
    }
    at_cells += first + other * c.cells.other + array * c.cells.array;
    at_modes += first + other * c.modes.other + array * c.modes.array;
    auto held = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{shared + (at << log2) + line, s.step << log2};
    };
    auto cells = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cell, int>{at_cells + (at * c.cells.position + line), s.step * c.cells.position};
    };
    auto modes = [&](int line) { return at_modes + line; };
    modes_lines<SIGN, BACK>(c.line, c.band, lines, roots, order, factor, held, held, cells, modes, apart);
}

/* The same for rows, whose modes are where their cells begin. */
template <int SIGN, bool BACK, typename T>
LMR_BOTH inline void lmr_cuda_modes_rows(const lmr_cuda_modes_pass &c, unsigned block, const cx<T> *roots,
                                         const int *order, const T *factor, cx<T> *shared, cx<T> *grid)
{
    using namespace line_detail;
    const int64_t first = (int64_t)block << c.lanes_log2, left = c.width - first;
    const int count = left < 1 << c.lanes_log2 ? (int)left : 1 << c.lanes_log2;
    const int n = c.line.n;
    const row_lines lines = {count, count};
    grid += first * n;
    auto begun = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{shared + line * c.pitch + at, s.step + c.line.gap};
    };
    auto held = [&](const lmr_cuda_stage &s, int at, int line) {
        const int gaps = (int)c.line.by_part.quotient((unsigned)at) * c.line.gap;
        return places<cx<T>, int>{shared + line * c.pitch + at + gaps, s.step};
    };
    auto cells = [&](const lmr_cuda_stage &s, int at, int line) {
        return places<cx<T>, int>{grid + line * n + at, s.step};
    };
    auto modes = [&](int line) { return grid + line * n; };
    modes_lines<SIGN, BACK>(c.line, c.band, lines, roots, order, factor, begun, held, cells, modes,
                            dft_detail::constant<1>());
}

/* ---- sizes ---- */

enum {
    LMR_MODES_COLUMNS =
        64 << 10, /* bytes of shared memory that a block takes if its pieces are not shorter for it, */
    LMR_MODES_ROWS = 48 << 10,
    LMR_MODES_BYTES = 112 << 10, /* and at most: two blocks at a time */
    LMR_MODES_PIECE = 128,       /* bytes of columns' neighbours that are read and written in one piece, */
    LMR_MODES_SECTOR = 32,       /* and at least */
    LMR_MODES_ATOM = 64          /* that memory moves at least */
};

/* A transform's sizes, and its lines. */
struct lmr_cuda_modes_sizes {
    int ndim, number, fft_order; /* number: bytes of one */
    int64_t cells[3], modes[3];
    lmr_cuda_line line[3];
    int lanes_log2[3]; /* at most */
};

/* Lines of so many numbers in a block, as a power of two: as many as fit into `bytes`, in no larger piece than
 * wanted. */
inline int lmr_cuda_modes_lanes(int64_t numbers, int number, int64_t wanted, int64_t bytes)
{
    int log2 = 0;
    while ((INT64_C(2) << log2) <= wanted && (numbers * number) << (log2 + 1) <= bytes) log2++;
    return log2;
}

/* false: a side has other factors than 2, 3, 5 and 7, or is too long for `room` bytes of shared memory, or the
 * grid has more cells than an int counts. */
inline bool lmr_cuda_modes_measure(int ndim, const int64_t cells[3], const int64_t modes[3], int fft_order,
                                   int number, int64_t room, lmr_cuda_modes_sizes *v)
{
    const int64_t most = std::min<int64_t>(room, LMR_MODES_BYTES);
    *v = {};
    v->ndim = ndim;
    v->number = number;
    v->fft_order = fft_order;
    for (int a = 0; a < 3; a++) {
        v->cells[a] = a < ndim ? cells[a] : 1;
        v->modes[a] = a < ndim ? modes[a] : 1;
        if (a >= ndim) continue;
        if (cells[a] * number > most || modes[a] < 1 || modes[a] > cells[a]) return false;
        if (!lmr_cuda_make_line(cells[a], cells[a], number, true, &v->line[a])) return false;
        const int64_t pitch = a ? cells[a] : lmr_cuda_line_pitch(v->line[a]);
        const int64_t piece = LMR_MODES_PIECE / number, least = LMR_MODES_SECTOR / number;
        const int64_t usual = a ? LMR_MODES_COLUMNS : LMR_MODES_ROWS;
        v->lanes_log2[a] = lmr_cuda_modes_lanes(pitch, number, a ? piece : 16, usual);
        if (a && 1 << v->lanes_log2[a] < least) v->lanes_log2[a] = lmr_cuda_modes_lanes(pitch, number, least, most);
        if (a && 1 << v->lanes_log2[a] < least) return false;
        if ((pitch * number) << v->lanes_log2[a] > most) return false;
    }
    const double all = (double)v->cells[0] * (double)v->cells[1] * (double)v->cells[2];
    return ndim > 1 && all < 0x1p31;
}

/* A pass along an axis for so many arrays. Fewer lanes where there would be fewer blocks than two for a
 * multiprocessor. */
inline lmr_cuda_modes_pass lmr_cuda_modes_pass_of(const lmr_cuda_modes_sizes &v, int a, int64_t arrays,
                                                  int multiprocessors)
{
    const int64_t n0 = v.cells[0], n1 = v.cells[1], m0 = v.modes[0], m1 = v.modes[1];
    const bool outer = a == v.ndim - 1; /* whose modes are in their array */
    lmr_cuda_modes_pass p = {};
    p.line = v.line[a];
    p.axis = a;
    p.pitch = lmr_cuda_line_pitch(p.line);
    p.others = 1;
    p.lanes_log2 = v.lanes_log2[a];
    int64_t least = 2;
    if (a == 0) {
        p.width = n1 * v.cells[2] * arrays;
    } else {
        const int64_t cells = n0 * n1 * v.cells[2], modes = m0 * m1 * v.modes[2];
        p.width = m0;
        p.others = (unsigned)(a == 1 ? v.cells[2] : m1);
        p.cells = {(int)n0, n0 * n1, cells};
        if (a == 2) p.cells = {(int)(n0 * n1), n0, cells};
        p.modes = p.cells;
        if (outer) p.modes = {(int)(a == 1 ? m0 : m0 * m1), m0, modes};
        least = LMR_MODES_SECTOR / v.number;
        arrays *= p.others;
    }
    while (true) {
        const int64_t lanes = INT64_C(1) << p.lanes_log2;
        p.blocks = ((p.width - 1) / lanes + 1) * (a ? arrays : 1);
        p.tiles = (unsigned)((p.width - 1) / lanes + 1);
        if (lanes <= least || (p.blocks >= 2 * multiprocessors && (!a || lanes / 2 < p.width))) break;
        p.lanes_log2--;
    }
    p.band = lmr_cuda_band_of(v.cells[a], v.modes[a], v.fft_order);
    const int numbers = a ? p.line.n : p.pitch;
    p.bytes = (numbers * v.number) << p.lanes_log2;
    const int most = p.line.stage[p.line.stages - 1].each << p.lanes_log2;
    p.threads = most >= 256 ? 256 : (most + 31) / 32 * 32;
    return p;
}

/* Bytes that the passes move for an array, where pieces of neighbours count as what memory moves at least; and
 * what the FFT of the whole grid moves with a pass for each axis and one beside it. */
inline double lmr_cuda_modes_moved(const lmr_cuda_modes_sizes &v)
{
    double total = 0, before = v.number;
    for (int a = v.ndim - 1; a >= 0; a--) {
        double short_piece = 1, all = v.number;
        for (int d = 0; d < v.ndim; d++) all *= (double)(d < a ? v.modes[d] : v.cells[d]);
        before = all * (double)v.modes[a] / (double)v.cells[a];
        const int piece = v.number << v.lanes_log2[a];
        if (a && piece < LMR_MODES_ATOM) short_piece = LMR_MODES_ATOM / piece;
        total += short_piece * (before + all);
    }
    return total;
}
inline double lmr_cuda_modes_moved_whole(const lmr_cuda_modes_sizes &v)
{
    double cells = v.number, modes = v.number;
    for (int d = 0; d < v.ndim; d++) {
        cells *= (double)v.cells[d];
        modes *= (double)v.modes[d];
    }
    return modes + cells + 2 * v.ndim * cells;
}
