/* The eigenvalues and eigenvectors of one small Hermitian matrix by Jacobi's method, all of it in shared memory
 * and in double precision: Golub and Van Loan, Matrix Computations, 8.5, with the pairs of a round-robin
 * tournament turned at the same time. Compiles for the host, too (tests/backend/eigen_host.cpp).
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cfloat>
#include <cmath>

#include "core/cuda/number.cuh"

namespace lmr_cuda_eigen
{

using number = cx<double>;

enum { SWEEPS = 40 }; /* at most; 14 were seen */

/* What turns columns p and q: p' = c p - s z q, q' = s p + c z q; rows likewise with the conjugate of z. */
struct rotation {
    int p, q;
    double c, s;
    number z;
};

LMR_BOTH inline number times(number a, number b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Pair i of round r among `players`, an even number: the last one stays, the others move on. */
LMR_BOTH inline void pair_of(int players, int round, int i, int *p, int *q)
{
    const int moving = players - 1;
    const int a = i ? (round + i) % moving : moving;
    const int b = (round + moving - i) % moving;
    *p = a < b ? a : b;
    *q = a < b ? b : a;
}

/* A[p, q] becomes 0. */
LMR_BOTH inline rotation rotation_of(const number *A, int side, int n, int p, int q)
{
    rotation r = {p, q, 1, 0, {1, 0}};
    if (q >= n) return r; /* the player that fills up an odd number */
    const number x = A[p + q * side];
    const double size = hypot(x.re, x.im);
    if (size <= DBL_EPSILON / 2) return r; /* rounding, of which turns would make as much again */
    const double tau = (A[q + q * side].re - A[p + p * side].re) / (2 * size);
    const double t = copysign(1.0, tau) / (fabs(tau) + hypot(1.0, tau));
    r.c = 1 / hypot(1.0, t);
    r.s = t * r.c;
    r.z = {x.re / size, -x.im / size};
    return r;
}

LMR_BOTH inline void turn(const rotation &r, number z, number *p, number *q)
{
    const number x = *p, y = times(z, *q);
    *p = {r.c * x.re - r.s * y.re, r.c * x.im - r.s * y.im};
    *q = {r.s * x.re + r.c * y.re, r.s * x.im + r.c * y.im};
}

/* The sum over the block of each thread's number, and the largest; room: [threads]. */
template <typename F> LMR_BOTH double over_block(double mine, double *room, F combine)
{
    const int me = lmr_cuda_thread();
    room[me] = mine;
    lmr_cuda_meet();
    for (int half = lmr_cuda_threads() / 2; half > 0; half /= 2) {
        if (me < half) room[me] = combine(room[me], room[me + half]);
        lmr_cuda_meet();
    }
    const double all = room[0];
    lmr_cuda_meet();
    return all;
}

LMR_BOTH inline double add(double a, double b)
{
    return a + b;
}

/* NaN wins. */
LMR_BOTH inline double larger(double a, double b)
{
    return a > b || a != a ? a : b;
}

/* A, V [side, n] of shared memory, A scaled by its largest number; 1 once all but the diagonal is rounding. Turns
 * round the two halves of A differently, and look at the upper one alone: it becomes both. */
LMR_BOTH inline bool sweep(number *A, number *V, int side, int n, rotation *turns, double *room)
{
    const int me = lmr_cuda_thread(), all = lmr_cuda_threads(), players = n + n % 2, pairs = players / 2;
    double off = 0, whole = 0;
    for (int i = me; i < n * n; i += all) {
        const int row = i % n, column = i / n;
        if (row > column) continue;
        number x = A[row + column * side];
        if (row == column) x.im = 0;
        A[row + column * side] = x;
        A[column + row * side] = {x.re, -x.im};
        const double square = x.re * x.re + x.im * x.im;
        whole += row == column ? square : 2 * square;
        off += row == column ? 0 : 2 * square;
    }
    off = over_block(off, room, add);
    whole = over_block(whole, room, add);
    const double rounding = (2 + n) * DBL_EPSILON; /* which turns leave beside the diagonal */
    if (off <= whole * (rounding * rounding)) return true;
    for (int round = 0; round < players - 1; round++) {
        for (int i = me; i < pairs; i += all) {
            int p, q;
            pair_of(players, round, i, &p, &q);
            turns[i] = rotation_of(A, side, n, p, q);
        }
        lmr_cuda_meet();
        for (int i = me; i < pairs * n; i += all) {
            const rotation r = turns[i / n];
            if (r.s == 0) continue;
            const int row = i % n;
            turn(r, r.z, &A[row + r.p * side], &A[row + r.q * side]);
            turn(r, r.z, &V[row + r.p * side], &V[row + r.q * side]);
        }
        lmr_cuda_meet();
        for (int i = me; i < pairs * n; i += all) {
            const rotation r = turns[i / n];
            if (r.s == 0) continue;
            const int column = i % n;
            turn(r, {r.z.re, -r.z.im}, &A[r.p + column * side], &A[r.q + column * side]);
        }
        lmr_cuda_meet();
    }
    return false;
}

/* What makes the last number of a vector real and positive, or its largest one where that is next to nothing: as
 * LAPACK's are, whose last numbers are real. */
LMR_BOTH inline number phase_of(const number *v, int n)
{
    number x = v[n - 1];
    double size = hypot(x.re, x.im);
    for (int i = 0; i < n && size < 1e-6; i++)
        if (hypot(v[i].re, v[i].im) > 1 / sqrt(2.0 * n)) {
            x = v[i];
            size = hypot(x.re, x.im);
        }
    return size > 0 ? number{x.re / size, -x.im / size} : number{1, 0};
}

/* Where a matrix of n rows lies in shared memory: bytes, for so many threads. */
struct workspace {
    int n, side; /* side: rows are then in different banks */
    number *A, *V;
    rotation *turns;
    double *room;
};

LMR_BOTH inline int64_t bytes_of(int n, int threads)
{
    return (int64_t)sizeof(number) * 2 * n * (n + 1) + (int64_t)sizeof(rotation) * ((n + 1) / 2) +
           (int64_t)sizeof(double) * threads;
}

LMR_BOTH inline workspace workspace_of(int n, number *shared)
{
    workspace w = {n, n + 1, shared, shared + n * (n + 1), nullptr, nullptr};
    w.turns = reinterpret_cast<rotation *>(w.V + n * (n + 1));
    w.room = reinterpret_cast<double *>(w.turns + (n + 1) / 2);
    return w;
}

/* Of a [n, n], whose upper triangle is read: values ascending, and, if asked for, its columns become the vectors.
 * false: it is not finite, or does not converge. */
template <typename T> LMR_BOTH bool solve(const workspace &w, bool vectors, cx<T> *a, T *values)
{
    const int me = lmr_cuda_thread(), all = lmr_cuda_threads(), n = w.n, side = w.side;
    double most = 0;
    for (int i = me; i < n * n; i += all) {
        const int row = i % n, column = i / n;
        const cx<T> x = row <= column ? a[i] : a[column + row * n];
        number y = {(double)x.re, (double)x.im};
        if (row > column) y.im = -y.im;
        if (row == column) y.im = 0;
        w.A[row + column * side] = y;
        w.V[row + column * side] = {row == column ? 1.0 : 0.0, 0};
        most = larger(most, larger(fabs(y.re), fabs(y.im)));
    }
    most = over_block(most, w.room, larger);
    const bool finite = most <= DBL_MAX;
    bool done = !finite || most == 0;
    for (int i = me; i < n * n && !done; i += all) {
        number *x = &w.A[i % n + i / n * side];
        *x = {x->re / most, x->im / most};
    }
    lmr_cuda_meet();
    for (int s = 0; s < SWEEPS && !done; s++) done = sweep(w.A, w.V, side, n, w.turns, w.room);
    for (int i = me; i < n; i += all) {
        const double own = w.A[i + i * side].re;
        int rank = 0;
        for (int j = 0; j < n; j++) {
            const double other = w.A[j + j * side].re;
            rank += other < own || (other == own && j < i);
        }
        values[rank] = (T)(own * most);
        const number phase = phase_of(w.V + i * side, n);
        for (int row = 0; row < n && vectors; row++) {
            const number x = times(phase, w.V[row + i * side]);
            a[row + rank * n] = {(T)x.re, (T)x.im};
        }
    }
    lmr_cuda_meet();
    return finite && done;
}

} // namespace lmr_cuda_eigen
