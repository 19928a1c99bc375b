/* recon/prox/llr.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/prox_support.h"
#include "tests/recon/regulariser_support.h"

enum { NX = 16, NY = 16, FRAMES = 6, N = NX * NY * FRAMES };
#define SERIES LARMOR_SHAPE(NX, NY, FRAMES)

/* One image times one course in time. */
static void rank_1(cplx *x)
{
    for (int i = 0; i < N; i++) {
        const int voxel = i % (NX * NY), t = i / (NX * NY);
        x[i] = (1 + sin(0.3 * voxel)) * cexp(0.5 * I * t) * (1 + 0.1 * t);
    }
}

/* In one block, whose singular values but one are 0, at either shift. */
TEST(a_series_of_rank_1_costs_its_norm)
{
    cplx x[N], zero[N] = {0};
    rank_1(x);
    const double norm = sqrt(distance_squared(x, zero, N));
    const double cost = penalty_of("llr", &(larmor_regulariser_opts){.block = {NX, NY, 1}}, SERIES, x);
    assert_at_most(fabs(cost / ((sqrt(NX * NY) + sqrt(FRAMES)) * norm) - 1), 1e-6);
}

TEST(a_noisy_series_of_rank_1_comes_closer_to_the_truth)
{
    cplx truth[N], *noise = random_values(N, 5), b[N];
    rank_1(truth);
    for (int i = 0; i < N; i++) b[i] = truth[i] + 0.3 * noise[i];
    HEAP cplx *x = denoise("llr", &(larmor_regulariser_opts){.lambda = 0.1}, SERIES, b);
    assert_at_most(difference(x, truth, N), 0.75 * difference(b, truth, N));
    free(noise);
}

/* Pure noise of deviation s is all gone at lambda somewhat above s, whatever the block and the number of frames. */
TEST(lambda_means_the_same_for_all_blocks)
{
    HEAP cplx *noise = random_values(N, 6);
    const double deviation = sqrt(2 / 3.), unit = sqrt(28 / 45. / (2 / 3.)); /* E|b|^4 = 28/45 */
    for (int64_t block = 2; block <= 8; block *= 2) {
        const larmor_regulariser_opts opts = {.lambda = 1.6 * deviation / unit, .block = {block, block, block}};
        cplx *x = denoise("llr", &opts, SERIES, noise), zero[N] = {0};
        assert_at_most(sqrt(distance_squared(x, zero, N) / distance_squared(noise, zero, N)), 0.02);
        free(x);
    }
}

TEST(one_frame_is_refused)
{
    assert_none_made(larmor_regulariser,
                     larmor_regulariser_create(dev, "llr", NULL, LARMOR_C64, LARMOR_SHAPE(8, 8, 1), &made),
                     LARMOR_ERR_SHAPE, "llr: got c64 [8, 8, 1] on");
    assert_none_made(larmor_regulariser,
                     larmor_regulariser_create(dev, "llr", &(larmor_regulariser_opts){.block = {4, -2, 1}},
                                               LARMOR_C64, SERIES, &made),
                     LARMOR_ERR_ARG, "llr: block[1] is -2, expected at least 1, or 0 for the default");
}
