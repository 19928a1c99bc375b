/* A backend's linear algebra against naive double loops. SPDX-License-Identifier: Apache-2.0 */
#include "tests/backend/buffers.h"

static cx entry(char op, const cx *a, int64_t lda, int64_t row, int64_t column)
{
    if (op == 'N') return a[row + column * lda];
    return op == 'T' ? a[column + row * lda] : conj(a[column + row * lda]);
}

TEST(gemm_multiplies_with_every_operation_and_leading_dimension)
{
    const char ops[] = "NTC";
    const int64_t shapes[][3] = {{1, 1, 1},    {3, 2, 5},     {7, 4, 1},    {17, 13, 19},   {2, 3, 0},
                                 {700, 9, 12}, {257, 64, 64}, {12, 9, 700}, {64, 64, 1500}, {300, 65, 3}};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < 10 * 9; s++) {
            const char opa = ops[s % 3], opb = ops[s / 3 % 3];
            const int64_t m = shapes[s / 9][0], n = shapes[s / 9][1], k = shapes[s / 9][2], pad = 3;
            const int64_t lda = (opa == 'N' ? m : k) + pad;
            const int64_t ldb = (opb == 'N' ? k : n) + pad;
            const int64_t ldc = m + pad;
            const int64_t na = lda * (opa == 'N' ? k : m);
            const int64_t nb = ldb * (opb == 'N' ? n : k);
            const int64_t nc = ldc * n;
            HEAP cx *a = random_values(na, 18), *b = random_values(nb, 19), *c = random_values(nc, 20);
            OWNED(void) *da = upload(p, a, na), *db = upload(p, b, nb), *dc = upload(p, c, nc);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    cx sum = 0;
                    for (int64_t l = 0; l < k; l++) sum += entry(opa, a, lda, i, l) * entry(opb, b, ldb, l, j);
                    c[i + j * ldc] = sum;
                }
            assert_ok(dev->be->la[p]->gemm(dev->ctx, opa, opb, m, n, k, da, lda, db, ldb, dc, ldc));
            assert_close(p, dc, c, nc, 40); /* the padding must be untouched */
        }
    assert_int_equal(dev->be->la[0]->gemm(dev->ctx, 'X', 'N', 1, 1, 1, NULL, 1, NULL, 1, NULL, 1), LARMOR_ERR_ARG);
}

/* max |A v - w v| and |v^H v' - delta| of one matrix. */
static double eigen_error(int64_t n, const cx *a, const cx *v, const double *w)
{
    double error = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            cx av = 0, vv = 0;
            for (int64_t l = 0; l < n; l++) {
                av += a[i + l * n] * v[l + j * n];
                vv += conj(v[l + i * n]) * v[l + j * n];
            }
            error = fmax(error, cabs(av - w[j] * v[i + j * n]));
            error = fmax(error, cabs(vv - (i == j)));
        }
    return error;
}

/* Hermitian matrices of n rows. rank 0: of full rank; else v v^H of n x rank vectors, whose rows come in equal
 * pairs. */
static cx *hermitian_matrices(int64_t n, int64_t batch, int64_t rank)
{
    cx *a = random_values(n * n * batch, 21);
    for (int64_t m = 0; m < batch; m++) {
        cx *matrix = a + m * n * n;
        HEAP cx *v = random_values(n * (rank + 1), (unsigned)(23 + m));
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; rank && j <= i; j++) {
                cx sum = 0;
                for (int64_t l = 0; l < rank; l++) sum += v[i / 2 + n * l] * conj(v[j / 2 + n * l]);
                matrix[j + i * n] = conj(sum);
            }
            matrix[i + i * n] = creal(matrix[i + i * n]);
            for (int64_t j = 0; j < i; j++) matrix[i + j * n] = conj(matrix[j + i * n]);
        }
    }
    return a;
}

TEST(heev_gives_orthonormal_vectors_with_ascending_values)
{
    enum { SETS = 9 };
    const int64_t orders[SETS] = {1, 2, 5, 16, 16, 8, 40, 64, 130};
    const int64_t batches[SETS] = {1, 3, 700, 2, 300, 300, 30, 20, 2}, ranks[SETS] = {0, 0, 0, 0, 1, 3, 0, 5, 0};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SETS; s++) {
            const int64_t n = orders[s], batch = batches[s], total = n * n * batch;
            HEAP cx *a = hermitian_matrices(n, batch, ranks[s]);
            OWNED(void) *dw = upload(p, a, n * batch);
            HEAP cx *upper = random_values(total, 22);
            for (int64_t i = 0; i < total; i++)
                if (i % n <= i / n % n) upper[i] = a[i];
            OWNED(void) *da = upload(p, upper, total);
            assert_ok(dev->be->la[p]->heev(dev->ctx, n, batch, 1, da, dw));
            HEAP cx *v = download(p, da, total), *raw = download(p, dw, n * batch);
            HEAP NEW(double, w, n *batch);
            for (int64_t i = 0; i < n * batch; i++) /* w is real: two values in each complex number */
                w[i] = i & 1 ? cimag(raw[i / 2]) : creal(raw[i / 2]);
            for (int64_t m = 0; m < batch; m++) {
                for (int64_t i = 1; i < n; i++) assert_true(w[m * n + i] >= w[m * n + i - 1]);
                assert_at_most(eigen_error(n, a + m * n * n, v + m * n * n, w + m * n), 40 * (double)n * epsilon[p]);
            }
        }
    assert_ok(dev->be->la[0]->heev(dev->ctx, 3, 0, 1, NULL, NULL));
}

TEST(heev_gives_the_same_values_without_vectors)
{
    enum { SETS = 5 };
    const int64_t orders[SETS] = {1, 8, 33, 64, 130}, batches[SETS] = {2, 600, 40, 30, 2},
                  ranks[SETS] = {0, 3, 0, 5, 0};
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int s = 0; s < SETS; s++) {
            const int64_t n = orders[s], batch = batches[s];
            cx *a = hermitian_matrices(n, batch, ranks[s]), *w[2];
            for (int vectors = 0; vectors < 2; vectors++) {
                OWNED(void) *dw = upload(p, a, n * batch), *da = upload(p, a, n * n * batch);
                assert_ok(dev->be->la[p]->heev(dev->ctx, n, batch, vectors, da, dw));
                w[vectors] = download(p, dw, n * batch); /* two values in each number of the first half */
            }
            double largest = 0, apart = 0;
            for (int64_t i = 0; i < n * batch; i++) {
                const cx with = w[1][i / 2], without = w[0][i / 2];
                const double value = i & 1 ? cimag(with) : creal(with);
                largest = fmax(largest, fabs(value));
                apart = fmax(apart, fabs(value - (i & 1 ? cimag(without) : creal(without))));
            }
            assert_true(largest > 0);
            assert_at_most(apart / largest, 10 * (double)n * epsilon[p]);
            LMR_FREE(w[0], w[1], a);
        }
}
