/* Eigenvalues and eigenvectors of many small Hermitian matrices by Jacobi's method, a block of threads for each matrix, all of it in
 * shared memory and double precision: Golub and Van Loan, Matrix Computations, 8.5, with the pairs of a round-robin
 * tournament turned at the same time. Matrices of any rank are fine, and no library is needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cfloat>

#include "core/cuda/tables.cuh"

namespace
{

enum { MOST = 64, SWEEPS = 40 };

using number = cx<double>;

/* What turns columns p and q: p' = c p - s z q, q' = s p + c z q; rows likewise with the conjugate of z. */
struct rotation {
    int p, q;
    double c, s;
    number z;
};

__device__ number times(number a, number b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Pair i of round r among `players`, an even number: the last one stays, the others move on. */
__device__ void pair_of(int players, int round, int i, int *p, int *q)
{
    const int moving = players - 1;
    const int a = i ? (round + i) % moving : moving, b = (round + moving - i) % moving;
    *p = min(a, b);
    *q = max(a, b);
}

/* A[p, q] becomes 0. */
__device__ rotation rotation_of(const number *A, int side, int n, int p, int q)
{
    rotation r = {p, q, 1, 0, {1, 0}};
    if (q >= n) return r; /* the player that fills up an odd number */
    const number x = A[p + q * side];
    const double size = hypot(x.re, x.im);
    if (size == 0) return r;
    const double tau = (A[q + q * side].re - A[p + p * side].re) / (2 * size);
    const double t = copysign(1.0, tau) / (fabs(tau) + hypot(1.0, tau));
    r.c = 1 / hypot(1.0, t);
    r.s = t * r.c;
    r.z = {x.re / size, -x.im / size};
    return r;
}

__device__ void turn(const rotation &r, number z, number *p, number *q)
{
    const number x = *p, y = times(z, *q);
    *p = {r.c * x.re - r.s * y.re, r.c * x.im - r.s * y.im};
    *q = {r.s * x.re + r.c * y.re, r.s * x.im + r.c * y.im};
}

/* The sum over the block of each thread's number, and the largest; room: [threads]. */
template <typename F> __device__ double over_block(double mine, double *room, F combine)
{
    const int me = (int)threadIdx.x;
    room[me] = mine;
    __syncthreads();
    for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
        if (me < half) room[me] = combine(room[me], room[me + half]);
        __syncthreads();
    }
    const double all = room[0];
    __syncthreads();
    return all;
}

__device__ double add(double a, double b)
{
    return a + b;
}

/* NaN wins. */
__device__ double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* A, V [side, n] of shared memory, A scaled by its largest number; 1 once all but the diagonal is rounding. */
__device__ bool sweep(number *A, number *V, int side, int n, rotation *turns, double *room)
{
    const int me = (int)threadIdx.x, all = (int)blockDim.x, players = n + n % 2, pairs = players / 2;
    double off = 0, whole = 0;
    for (int i = me; i < n * n; i += all) {
        const number x = A[i % n + i / n * side];
        const double square = x.re * x.re + x.im * x.im;
        whole += square;
        off += i % n == i / n ? 0 : square;
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
        __syncthreads();
        for (int i = me; i < pairs * n; i += all) {
            const rotation r = turns[i / n];
            if (r.s == 0) continue;
            const int row = i % n;
            turn(r, r.z, &A[row + r.p * side], &A[row + r.q * side]);
            turn(r, r.z, &V[row + r.p * side], &V[row + r.q * side]);
        }
        __syncthreads();
        for (int i = me; i < pairs * n; i += all) {
            const rotation r = turns[i / n];
            if (r.s == 0) continue;
            const int column = i % n;
            turn(r, {r.z.re, -r.z.im}, &A[r.p + column * side], &A[r.q + column * side]);
        }
        __syncthreads();
    }
    return false;
}

/* *failed <- 1 where a matrix is not finite or does not converge. */
template <typename T>
__global__ void eigen_kernel(int n, int64_t batch, bool vectors, cx<T> *matrices, T *values, int *failed)
{
    extern __shared__ number shared[];
    const int me = (int)threadIdx.x, all = (int)blockDim.x, side = n + 1; /* so that rows are in different banks */
    number *A = shared, *V = A + side * n;
    auto *turns = reinterpret_cast<rotation *>(V + side * n);
    auto *room = reinterpret_cast<double *>(turns + (n + 1) / 2);
    for (int64_t m = blockIdx.x; m < batch; m += gridDim.x) {
        cx<T> *a = matrices + m * n * n;
        double most = 0;
        for (int i = me; i < n * n; i += all) {
            const int row = i % n, column = i / n;
            const cx<T> x = row <= column ? a[i] : a[column + row * n]; /* of the upper triangle */
            const number y = {(double)x.re, row == column ? 0 : row < column ? (double)x.im : -(double)x.im};
            A[row + column * side] = y;
            V[row + column * side] = {row == column ? 1.0 : 0.0, 0};
            most = larger(most, larger(fabs(y.re), fabs(y.im)));
        }
        most = over_block(most, room, larger);
        const bool finite = most <= DBL_MAX;
        bool done = !finite || most == 0;
        for (int i = me; i < n * n && !done; i += all) {
            number *x = &A[i % n + i / n * side];
            *x = {x->re / most, x->im / most};
        }
        __syncthreads();
        for (int s = 0; s < SWEEPS && !done; s++) done = sweep(A, V, side, n, turns, room);
        if (me == 0 && (!done || !finite)) *failed = 1;
        for (int i = me; i < n; i += all) {
            const double own = A[i + i * side].re;
            int rank = 0;
            for (int j = 0; j < n; j++) {
                const double other = A[j + j * side].re;
                rank += other < own || (other == own && j < i);
            }
            values[rank + m * n] = (T)(own * most);
            for (int row = 0; row < n && vectors; row++) {
                const number x = V[row + i * side];
                a[row + rank * n] = {(T)x.re, (T)x.im};
            }
        }
        __syncthreads();
    }
}

} // namespace

template <typename T>
larmor_status lmr_cuda_small_eigen(lmr_cuda *c, int64_t n, int64_t batch, bool vectors, cx<T> *a, T *w, bool *done)
{
    int failed = 0;
    *done = n <= MOST;
    if (!*done) return LARMOR_OK;
    const int threads = n <= 8 ? 32 : n <= 16 ? 64 : n <= 32 ? 128 : 256;
    const size_t bytes = (size_t)(2 * (n + 1) * n) * sizeof(number) + (size_t)((n + 1) / 2) * sizeof(rotation) +
                         (size_t)threads * sizeof(double);
    lmr_cuda_scratch<int> flag;
    LMR_TRY(flag.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(flag.get(), 0, sizeof(int), c->stream));
    if (bytes > 48 * 1024)
        CUDA_TRY(cudaFuncSetAttribute(eigen_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    eigen_kernel<T><<<(unsigned)std::min<int64_t>(batch, INT_MAX), threads, bytes, c->stream>>>(
        (int)n, batch, vectors, a, w, flag.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(&failed, flag.get(), sizeof failed, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    if (!failed) return LARMOR_OK;
    return LMR_CUDA_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix");
}

template larmor_status lmr_cuda_small_eigen<float>(lmr_cuda *, int64_t, int64_t, bool, cx<float> *, float *, bool *);
template larmor_status lmr_cuda_small_eigen<double>(lmr_cuda *, int64_t, int64_t, bool, cx<double> *, double *, bool *);
