/* What core/cuda/modes.cuh computes, by the same code on the host, against sums: all factors of sides, odd and even modes in
 * both orders, both signs, both precisions, blocks of many shapes. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/modes.cuh"

#include <complex>
#include <cstdio>
#include <cstdlib>

#include "tests/backend/host_values.h"

namespace
{

const long double pi = 3.14159265358979323846264338327950288L;
using number = std::complex<long double>;

struct sizes {
    int ndim;
    int64_t cells[3], modes[3];
};

/* Which single precision holds, so that both precisions begin with the same. */
std::vector<number> random_numbers(int64_t count)
{
    std::vector<number> x((size_t)count);
    for (number &v : x) {
        const auto re = (float)random_value();
        v = {re, (float)random_value()};
    }
    return x;
}

template <typename T> std::vector<cx<T>> rounded(const std::vector<number> &x)
{
    std::vector<cx<T>> y(x.size());
    for (size_t i = 0; i < x.size(); i++) y[i] = {(T)x[i].real(), (T)x[i].imag()};
    return y;
}

/* ---- by sums ---- */

/* Frequency of the mode at a place, in either order. */
int64_t frequency_at(int64_t place, int64_t modes, int fft_order)
{
    if (!fft_order) return place - modes / 2;
    return place < modes - modes / 2 ? place : place - modes;
}

/* Along axis a of [before, from, after]: y_k = sum_i x_i w(k, i). */
template <typename W> std::vector<number> along(const std::vector<number> &x, int64_t before, int64_t from,
                                                int64_t to, int64_t after, W weight)
{
    std::vector<number> y((size_t)(before * to * after)), w((size_t)(from * to));
    for (int64_t k = 0; k < to; k++)
        for (int64_t i = 0; i < from; i++) w[(size_t)(k * from + i)] = weight(k, i);
    for (int64_t c = 0; c < after; c++)
        for (int64_t k = 0; k < to; k++)
            for (int64_t i = 0; i < from; i++)
                for (int64_t b = 0; b < before; b++)
                    y[(size_t)((c * to + k) * before + b)] +=
                        x[(size_t)((c * from + i) * before + b)] * w[(size_t)(k * from + i)];
    return y;
}

/* Between cells and modes; factors are of centred modes. */
std::vector<number> direct(const sizes &s, int64_t arrays, int to_modes, int sign, int fft_order,
                           const std::vector<long double> factor[3], std::vector<number> x)
{
    int64_t size[3] = {1, 1, 1};
    for (int a = 0; a < s.ndim; a++) size[a] = to_modes ? s.cells[a] : s.modes[a];
    for (int a = 0; a < s.ndim; a++) {
        const int64_t n = s.cells[a], m = s.modes[a], from = size[a], to = to_modes ? m : n;
        int64_t before = 1, after = arrays;
        for (int d = 0; d < a; d++) before *= size[d];
        for (int d = a + 1; d < s.ndim; d++) after *= size[d];
        x = along(x, before, from, to, after, [&](int64_t k, int64_t i) {
            const int64_t f = frequency_at(to_modes ? k : i, m, fft_order), cell = to_modes ? i : k;
            const long double angle = sign * 2 * pi * (long double)(f * cell % n) / (long double)n;
            return factor[a][(size_t)(f + m / 2)] * number(std::cos(angle), std::sin(angle));
        });
        size[a] = to;
    }
    return x;
}

/* ---- by the passes ---- */

template <typename T, int SIGN, bool BACK>
void run_pass(const lmr_cuda_modes_pass &p, const std::vector<T> &factor, int last, cx<T> *cells, cx<T> *modes)
{
    const std::vector<cx<T>> roots = lmr_cuda_line_roots<T>(p.line.n);
    const std::vector<int> order = lmr_cuda_line_order(p.line);
    std::vector<cx<T>> shared((size_t)p.bytes /
                              sizeof(cx<T>)); /* of this size, so that sanitizers see what is beyond */
    cx<T> *const inner = p.axis == last ? modes : cells;
    for (int64_t i = 0; i < p.blocks; i++) {
        const auto block = (unsigned)(p.blocks - 1 - i); /* their order does not matter */
        for (cx<T> &v : shared) v = {NAN, NAN};
        if (!p.axis)
            lmr_cuda_modes_rows<SIGN, BACK>(p, block, roots.data(), order.data(), factor.data(), shared.data(),
                                            cells);
        else if (!BACK)
            lmr_cuda_modes_columns<SIGN, BACK>(p, block, roots.data(), order.data(), factor.data(), shared.data(),
                                               (const cx<T> *)cells, inner);
        else
            lmr_cuda_modes_columns<SIGN, BACK>(p, block, roots.data(), order.data(), factor.data(), shared.data(),
                                               (const cx<T> *)inner, cells);
    }
}

template <typename T> std::vector<cx<T>> by_passes(const lmr_cuda_modes_sizes &v, int64_t arrays, int multiprocessors,
                                                   int to_modes, int sign, const std::vector<long double> factor[3],
                                                   const std::vector<number> &x)
{
    int64_t cell_count = arrays, mode_count = arrays;
    for (int a = 0; a < v.ndim; a++) {
        cell_count *= v.cells[a];
        mode_count *= v.modes[a];
    }
    std::vector<cx<T>> cells((size_t)cell_count, {NAN, NAN}), modes((size_t)mode_count, {NAN, NAN});
    (to_modes ? cells : modes) = rounded<T>(x);
    const int last = v.ndim - 1;
    for (int k = 0; k <= last; k++) {
        const int a = to_modes ? k : last - k;
        const std::vector<T> f(factor[a].begin(), factor[a].end());
        const lmr_cuda_modes_pass p = lmr_cuda_modes_pass_of(v, a, arrays, multiprocessors);
        auto *run = to_modes ? run_pass<T, 1, false> : run_pass<T, 1, true>;
        if (sign < 0) run = to_modes ? run_pass<T, -1, false> : run_pass<T, -1, true>;
        run(p, f, last, cells.data(), modes.data());
    }
    return to_modes ? modes : cells;
}

/* ---- claims ---- */

int failures, checks;

template <typename T>
void check(const sizes &s, int64_t arrays, int multiprocessors, int to_modes, int sign, int fft_order)
{
    lmr_cuda_modes_sizes v;
    int64_t count = arrays;
    std::vector<long double> factor[3];
    for (int a = 0; a < s.ndim; a++) {
        count *= to_modes ? s.cells[a] : s.modes[a];
        for (int64_t i = 0; i < s.modes[a]; i++) factor[a].push_back((T)(1.5 + random_value()));
    }
    checks++;
    if (!lmr_cuda_modes_measure(s.ndim, s.cells, s.modes, fft_order, sizeof(cx<T>), 227 << 10, &v)) {
        printf("%d dimensions, %d x %d x %d cells: no passes\n", s.ndim, (int)s.cells[0], (int)s.cells[1],
               (int)s.cells[2]);
        failures++;
        return;
    }
    const std::vector<number> x = random_numbers(count);
    const std::vector<number> expected = direct(s, arrays, to_modes, sign, fft_order, factor, x);
    const std::vector<cx<T>> got = by_passes<T>(v, arrays, multiprocessors, to_modes, sign, factor, x);
    long double error = 0, norm = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        error += std::norm(expected[i] - number(got[i].re, got[i].im));
        norm += std::norm(expected[i]);
    }
    const double relative = (double)std::sqrt(error / norm), limit = sizeof(T) == 4 ? 4e-7 : 8e-16;
    if (relative <= limit && expected.size() == got.size()) return;
    failures++;
    printf("%d x %d x %d cells, %d x %d x %d modes, %d arrays, sign %d, order %d, %s in %s precision: %.1e\n",
           (int)s.cells[0], (int)s.cells[1], (int)s.cells[2], (int)s.modes[0], (int)s.modes[1], (int)s.modes[2],
           (int)arrays, sign, fft_order, to_modes ? "to modes" : "to cells", sizeof(T) == 4 ? "single" : "double",
           relative);
}

void check_all(const sizes &s, int64_t arrays, int multiprocessors)
{
    for (int i = 0; i < 8; i++) {
        check<float>(s, arrays, multiprocessors, i & 1, i & 2 ? 1 : -1, i / 4);
        check<double>(s, arrays, multiprocessors, i & 1, i & 2 ? 1 : -1, i / 4);
    }
}

/* Every side up to 420 that a grid may have, as the second one of a plane and as the first. */
void sides_of_all_factors()
{
    for (int64_t n = 4; n <= 420; n += n < 16 ? 2 : 4) {
        int64_t rest = n;
        for (int factor : {2, 3, 5, 7})
            while (rest % factor == 0) rest /= factor;
        if (rest > 1) continue;
        const int64_t odd = n / 2 | 1, even = (n * 2 / 3 + 1) / 2 * 2;
        for (int i = 0; i < 2; i++) {
            const int sign = n % 8 ? 1 : -1, order = n / 4 % 2;
            check<float>({2, {12, n, 0}, {5, i ? odd : even, 0}}, 1, 100, i, sign, order);
            check<double>({2, {12, n, 0}, {5, i ? odd : even, 0}}, 1, 1, !i, -sign, order);
            check<double>({2, {n, 12, 0}, {i ? odd : even, 7, 0}}, 1, 100, i, sign, !order);
            check<float>({2, {n, 12, 0}, {i ? odd : even, 7, 0}}, 1, 1, !i, -sign, !order);
        }
    }
}

void grids_of_two_and_three_dimensions()
{
    check_all({2, {8, 6, 0}, {5, 3, 0}}, 3, 1);
    check_all({2, {8, 6, 0}, {8, 6, 0}}, 1, 132);   /* all frequencies are modes */
    check_all({2, {16, 20, 0}, {1, 2, 0}}, 2, 1);   /* one mode and two */
    check_all({2, {80, 72, 0}, {64, 45, 0}}, 5, 1); /* whole blocks */
    check_all({2, {80, 72, 0}, {53, 60, 0}}, 5, 132);
    check_all({3, {6, 10, 4}, {3, 6, 2}}, 2, 1);
    check_all({3, {20, 16, 28}, {17, 9, 22}}, 2, 1);
    check_all({3, {20, 16, 28}, {16, 10, 21}}, 1, 132);
    check_all({3, {36, 40, 24}, {24, 27, 12}}, 2, 2);
    check_all({3, {4, 4, 4}, {1, 4, 3}}, 33, 4);
}

/* Long lines take fewer lanes, and those that do not fit are refused, as are other factors. */
void sides_that_fit_and_others()
{
    check<float>({2, {4, 2000, 0}, {3, 1001, 0}}, 1, 1, 0, 1, 0);
    check<float>({2, {2048, 4, 0}, {1100, 3, 0}}, 1, 1, 1, 1, 0);
    check<double>({2, {12, 1680, 0}, {11, 800, 0}}, 1, 1, 1, -1, 1);
    const struct {
        int ndim;
        int64_t cells[3];
        bool fits;
    } cases[] = {{1, {64, 1, 1}, false},    {2, {64, 64, 1}, true},        {2, {64, 22, 1}, false},
                 {2, {26, 64, 1}, false},   {2, {64, 3584, 1}, true},      {2, {3584, 64, 1}, true},
                 {2, {64, 4096, 1}, false}, {2, {2, 64, 1}, false},        {3, {64, 64, 11}, false},
                 {3, {4, 10, 3}, false},    {3, {1280, 1280, 1280}, true}, {3, {1344, 1280, 1280}, false}};
    for (const auto &c : cases) {
        lmr_cuda_modes_sizes v;
        const int64_t modes[3] = {2, 2, 2};
        checks++;
        if (lmr_cuda_modes_measure(c.ndim, c.cells, modes, 0, 8, 227 << 10, &v) == c.fits) continue;
        failures++;
        printf("%d dimensions, %d x %d x %d cells: expected %s\n", c.ndim, (int)c.cells[0], (int)c.cells[1],
               (int)c.cells[2], c.fits ? "passes" : "none");
    }
}

} // namespace

int main()
{
    sides_of_all_factors();
    grids_of_two_and_three_dimensions();
    sides_that_fit_and_others();
    printf("%d of %d checks failed\n", failures, checks);
    return failures ? 1 : 0;
}
