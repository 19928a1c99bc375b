/* Points whose indices do not fit into 32 bits, by a sort that takes 99 for that many.
 * SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#define LMR_REAL 32
#define LMR_MOST_NARROW 99

#include "nufft/cpu/sort.c"
#include "tests/nufft/direct.h"

TEST(an_index_has_64_bits_where_points_are_many)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        const int64_t firsts[] = {0, 17, (INT64_C(1) << 32) - 2, (INT64_C(5) << 40) + 3};
        for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
            lmr_points p = {.point_size = lmr_point_size(ndim, 0, 1), .upper = lmr_point_upper(ndim)};
            HEAP char *room = malloc(8 * p.point_size);
            HEAP lmr_place_job *job = calloc(1, sizeof *job);
            int64_t counts[1] = {1};
            p.points = room;
            job->ndim = ndim;
            job->count = 5;
            for (int k = 0; k < 5; k++) job->t[ndim - 1][k] = (real)k;
            place_points(&p, job, firsts[i], counts);
            assert_int_equal(counts[0], 6);
            for (int k = 0; k < 5; k++) {
                assert_int_equal(lmr_index_of(&p, 1 + k), firsts[i] + k);
                assert_true(lmr_point_of(room, p.point_size, 1 + k)->t[ndim - 1] == (real)k);
            }
        }
    }
}

/* Both directions against direct sums; sorted by this file's table, as it stands before the library's. */
TEST(transforms_of_many_points_are_direct_sums)
{
    enum { M = 700, MOST = 4096 };
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++) {
            const larmor_nufft_opts o = {.size = sizeof o,
                                         .type = type,
                                         .ndim = ndim,
                                         .modes = {ndim == 1 ? MOST : 16, 14, 12},
                                         .tol = 1e-4,
                                         .sign = 1,
                                         .dtype = LARMOR_C64};
            const int64_t side[3] = {o.modes[0], 14, 12};
            int64_t n[3] = {1, 1, 1}, count = 1;
            for (int d = 0; d < ndim; d++) {
                n[d] = side[d];
                count *= n[d];
            }
            double points[3 * M];
            static double _Complex values[MOST], wanted[MOST];
            uint64_t seed = 5;
            for (int j = 0; j < ndim * M; j++) points[j] = test_random(&seed) * (double)n[j % ndim] / 2;
            const int64_t in_count = type == 1 ? M : count;
            const int64_t out_count = type == 1 ? count : M;
            for (int64_t j = 0; j < in_count; j++) values[j] = test_random(&seed) + I * test_random(&seed);
            direct_nufft(type, 1, ndim, n, M, points, values, wanted);
            OWNED(larmor_array) *at, *in, *out;
            assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ndim, M), LARMOR_F64, points, &at));
            assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(in_count), LARMOR_C128, values, &in));
            assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(out_count), &out));
            OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
            assert_ok(larmor_nufft_set_points(plan, at, NULL));
            assert_ok(larmor_nufft_execute(plan, in, out));
            OWN_MEMORY(double, *found, larmor_array_download(out, LARMOR_C128, (void **)&found));
            double off = 0, all = 0;
            for (int64_t j = 0; j < out_count; j++) {
                off += pow(found[2 * j] - creal(wanted[j]), 2) + pow(found[2 * j + 1] - cimag(wanted[j]), 2);
                all += pow(cabs(wanted[j]), 2);
            }
            assert_at_most(sqrt(off / all), 1e-4);
        }
}

int main(void)
{
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    if (spec && strncmp(spec, "cpu", 3) != 0) return 77;
    return run_on_device();
}
