/* What core/cuda/eigen.cuh computes, by the same code on the host: A v = w v, orthonormal vectors, ascending values, few sweeps
 * for matrices of any rank and magnitude, the phase of vectors, and what is not finite. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/eigen.cuh"

#include <complex>
#include <cstdio>
#include <vector>

#include "tests/backend/host_values.h"

namespace
{

using complex = std::complex<double>;
int checks, failures;

void expect(bool holds, const char *what, int n, int rank, double scale)
{
    checks++;
    if (holds) return;
    failures++;
    printf("%d rows, rank %d, scale %g: %s\n", n, rank, scale, what);
}

/* rank 0: any Hermitian matrix; else that of so many vectors, whose numbers come in equal pairs. */
std::vector<complex> matrix_of(int n, int rank, double scale)
{
    std::vector<complex> v((size_t)(n * rank)), A((size_t)(n * n));
    for (complex &x : v) x = {random_value(), random_value()};
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            complex sum = rank ? complex(0) : complex(random_value(), random_value());
            for (int l = 0; l < rank; l++) sum += v[(size_t)(i / 2 + n * l)] * conj(v[(size_t)(j / 2 + n * l)]);
            if (i == j) sum = sum.real();
            A[(size_t)(i + j * n)] = scale * sum;
            A[(size_t)(j + i * n)] = scale * conj(sum);
        }
    return A;
}

template <typename T> bool solve(int n, std::vector<cx<T>> *a, std::vector<T> *values, bool vectors = true)
{
    std::vector<lmr_cuda_eigen::number> shared(
        (size_t)lmr_cuda_eigen::bytes_of(n, 1) / sizeof(lmr_cuda_eigen::number) + 1);
    values->resize((size_t)n);
    return lmr_cuda_eigen::solve(lmr_cuda_eigen::workspace_of(n, shared.data()), vectors, a->data(), values->data());
}

template <typename T> std::vector<cx<T>> upper_of(const std::vector<complex> &A, int n)
{
    std::vector<cx<T>> a(A.size());
    for (int i = 0; i < n * n; i++) {
        const complex x = i % n <= i / n ? A[(size_t)i] : complex(7, 7); /* which is not read */
        a[(size_t)i] = {(T)x.real(), (T)x.imag()};
    }
    return a;
}

template <typename T> void expect_eigenvectors(int n, int rank, double scale, double epsilon)
{
    const std::vector<complex> A = matrix_of(n, rank, scale);
    std::vector<cx<T>> a = upper_of<T>(A, n), spent = a;
    std::vector<T> values, alone;
    expect(solve<T>(n, &a, &values), "no convergence", n, rank, scale);
    expect(solve<T>(n, &spent, &alone, false) && alone == values, "other values without vectors", n, rank, scale);
    const auto at = [&](int i, int j) { return complex(a[(size_t)(i + j * n)].re, a[(size_t)(i + j * n)].im); };
    double error = 0, most = 0;
    for (const complex &x : A) most = fmax(most, abs(x));
    for (int j = 0; j < n; j++) {
        expect(!j || values[(size_t)j] >= values[(size_t)j - 1], "values that do not ascend", n, rank, scale);
        const complex last = at(n - 1, j);
        expect(abs(last) < 1e-5 || (last.real() > 0 && fabs(last.imag()) <= 4 * epsilon), "another phase", n, rank,
               scale);
        for (int i = 0; i < n; i++) {
            complex product = 0, overlap = 0;
            for (int l = 0; l < n; l++) {
                product += A[(size_t)(i + l * n)] * at(l, j);
                overlap += conj(at(l, i)) * at(l, j);
            }
            error = fmax(error, abs(product - (double)values[(size_t)j] * at(i, j)) / most);
            error = fmax(error, abs(overlap - (i == j ? 1.0 : 0.0)));
        }
    }
    expect(error <= 10 * n * epsilon, "not the eigenvectors", n, rank, scale);
}

} // namespace

int main()
{
    for (int n = 1; n <= 32; n += n < 9 ? 1 : 5)
        for (int rank = 0; rank < 6; rank++)
            for (const double scale : {1.0, 1e-30, 1e30}) {
                expect_eigenvectors<double>(n, rank, scale, 2.3e-16);
                expect_eigenvectors<float>(n, rank, scale, 1.2e-7);
            }
    expect_eigenvectors<double>(8, 2, 1e-300, 2.3e-16);
    expect_eigenvectors<double>(8, 0, 1e300, 2.3e-16);
    std::vector<cx<double>> a(9, {0, 0});
    std::vector<double> values;
    expect(solve(3, &a, &values) && values[0] == 0 && values[2] == 0 && a[4].re == 1, "zeros", 3, 0, 0);
    for (const double bad : {(double)NAN, (double)INFINITY}) {
        a.assign(9, {0, 0});
        a[3] = {1, bad};
        expect(!solve(3, &a, &values), "what is not finite is taken", 3, 0, bad);
    }
    printf("%d of %d checks failed\n", failures, checks);
    return failures ? 1 : 0;
}
