/* Discrete Fourier transforms of 2 to 16 numbers in registers, unscaled. Those of composite numbers are two of
 * their factors each with twiddles in between (Cooley and Tukey 1965); primes use that pairs of roots are each
 * other's conjugates. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <utility>

#include "core/cuda/number.cuh"

namespace dft_detail
{

/* cos and sin of 2 pi k / n for |angle| <= pi / 4 by their series, elsewhere by symmetry: compilers know no
 * constant cos. */
constexpr double series(double x, int first)
{
    double term = first ? x : 1;
    double sum = term;
    for (int i = first + 1; i < 30; i += 2) {
        term *= -x * x / (i * (i + 1));
        sum += term;
    }
    return sum;
}

constexpr double pi = 3.14159265358979323846;

constexpr double cosine(int k, int n) /* 0 <= k < n */
{
    if (2 * k > n) return cosine(n - k, n);
    if (4 * k > n) return -cosine(n - 2 * k, 2 * n);
    if (8 * k > n) return series(2 * pi * (n - 4 * k) / (4 * n), 1);
    return series(2 * pi * k / n, 0);
}

constexpr double sine(int k, int n)
{
    if (2 * k > n) return -sine(n - k, n);
    if (4 * k > n) return sine(n - 2 * k, 2 * n);
    if (8 * k > n) return series(2 * pi * (n - 4 * k) / (4 * n), 0);
    return series(2 * pi * k / n, 1);
}

template <int K, int N> struct root {
    static constexpr double re = cosine(K % N, N), im = sine(K % N, N);
};

/* What std::integral_constant is on the host. */
template <int V> struct constant {
    static constexpr int value = V;
    LMR_BOTH constexpr operator int() const
    {
        return V;
    }
    LMR_BOTH constexpr int operator()() const
    {
        return V;
    }
};

template <int N, typename F, int... I> LMR_BOTH inline void each(F &&f, std::integer_sequence<int, I...>)
{
    (f(constant<I>()), ...);
}

/* f(0) .. f(N - 1), each number a constant. */
template <int N, typename F> LMR_BOTH inline void each(F &&f)
{
    each<N>(f, std::make_integer_sequence<int, N>());
}

template <typename T> LMR_BOTH inline cx<T> times(cx<T> a, cx<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* v times exp(SIGN 2 pi i K / N). */
template <int SIGN, int K, int N, typename T> LMR_BOTH inline cx<T> rotate(cx<T> v)
{
    constexpr int quarters = 4 * (K % N); /* of N */
    if constexpr (quarters == 0) return v;
    if constexpr (quarters == N) return {-SIGN * v.im, SIGN * v.re};
    if constexpr (quarters == 2 * N) return {-v.re, -v.im};
    if constexpr (quarters == 3 * N) return {SIGN * v.im, -SIGN * v.re};
    return times(v, cx<T>{(T)root<K, N>::re, (T)(SIGN * root<K, N>::im)});
}

/* Of n, or n itself. */
LMR_BOTH constexpr int first_factor(int n)
{
    if (n % 4 == 0 && n > 4) return 4;
    if (n % 2 == 0) return 2;
    return n == 9 ? 3 : n;
}

} // namespace dft_detail

/* v_p <- sum_k v_k exp(SIGN 2 pi i k p / N), N = 2 .. 10, 12 or 16. */
template <int N, int SIGN, typename T> LMR_BOTH inline void dft(cx<T> (&v)[N])
{
    using namespace dft_detail;
    constexpr int A = first_factor(N), B = N / A;
    if constexpr (N == 2) {
        const cx<T> a = v[0], b = v[1];
        v[0] = {a.re + b.re, a.im + b.im};
        v[1] = {a.re - b.re, a.im - b.im};
    } else if constexpr (B > 1) {
        cx<T> rows[B][A];
        each<B>([&](auto b) {
            each<A>([&](auto a) { rows[b][a] = v[b + B * a]; });
            dft<A, SIGN>(rows[b]);
        });
        each<A>([&](auto p) {
            cx<T> column[B];
            each<B>([&](auto b) { column[b] = rotate<SIGN, b() * p(), N>(rows[b][p]); });
            dft<B, SIGN>(column);
            each<B>([&](auto s) { v[p + A * s] = column[s]; });
        });
    } else {
        constexpr int H = N / 2;
        cx<T> sum[H], difference[H], first = v[0], all = first;
        each<H>([&](auto k) {
            const cx<T> a = v[k + 1], b = v[N - 1 - k];
            sum[k] = {a.re + b.re, a.im + b.im};
            difference[k] = {a.re - b.re, a.im - b.im};
            all.re += sum[k].re;
            all.im += sum[k].im;
        });
        v[0] = all;
        each<H>([&](auto p) {
            cx<T> even = first, odd = {0, 0};
            each<H>([&](auto k) {
                using w = root<(k() + 1) * (p() + 1), N>;
                even.re += (T)w::re * sum[k].re;
                even.im += (T)w::re * sum[k].im;
                odd.re -= (T)(SIGN * w::im) * difference[k].im;
                odd.im += (T)(SIGN * w::im) * difference[k].re;
            });
            v[p + 1] = {even.re + odd.re, even.im + odd.im};
            v[N - 1 - p] = {even.re - odd.re, even.im - odd.im};
        });
    }
}
