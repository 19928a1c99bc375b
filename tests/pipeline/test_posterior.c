/* noise/posterior.c by whole reconstructions: what the object may be. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/noisy_scan.h"

static void posterior_of(scan *s, larmor_recon_opts opts, int samples, larmor_posterior_maps *maps,
                         larmor_noise_maps *noise, larmor_recon_result *result)
{
    opts.maps = s->maps;
    OWNED(larmor_recon) *recon = recon_of(s, &opts);
    assert_ok(larmor_recon_run(recon, 0, result));
    assert_ok(larmor_recon_noise(recon, 0, result, &(larmor_noise_opts){.samples = samples}, noise));
    assert_ok(larmor_recon_posterior(recon, 0, result, samples, maps));
    assert_int_equal(maps->count, result->count);
}

/* For white noise the deviation of the posterior is sigma / sqrt(E N^2 + w), that of the noise in the image sigma
 * sqrt(E N^2) / (E N^2 + w), E the energy of the maps. */
TEST(the_posterior_of_all_lines_is_that_of_the_formula)
{
    OWNED(scan) s = noisy(all_lines);
    HEAP float *m = host_of(s.maps);
    double energy[N * N] = {0}, expected[N * N];
    for (int64_t i = 0; i < (int64_t)2 * N * N * COILS; i++) energy[i / 2 % (N * N)] += m[i] * m[i];
    OWNED(larmor_posterior_maps) maps;
    OWNED(larmor_noise_maps) noise;
    OWNED(larmor_recon_result) result;
    posterior_of(&s, OPTS(.method = "cg", AT(0.5)), 200, &maps, &noise, &result);
    HEAP float *deviation = host_of(maps.map[0].deviation), *mean = host_of(maps.map[0].mean),
               *image = host_of(result.image[0].data), *of_noise = host_of(noise.map[0].deviation);
    double off = 0;
    for (int64_t v = 0; v < N * N; v++) {
        const double all = energy[v] * N * N;
        expected[v] = of_noise[v] * sqrt((all + result.report.weight) / all);
        off += pow(hypot(mean[2 * v] - image[2 * v], mean[2 * v + 1] - image[2 * v + 1]) / deviation[v], 2) / (N * N);
    }
    const double ratio = median_ratio(result.image[0].data, deviation, expected);
    if (!(fabs(ratio - 1) < 0.03)) fail_msg("the posterior is %g times as wide as it should be", ratio);
    if (!(off < 1.3 * 2 / 200.)) fail_msg("the mean of 200 samples is %g deviations off", sqrt(off));
}

TEST(the_posterior_of_tv_is_narrower_the_more_its_weight_says)
{
    OWNED(scan) s = noisy(spokes);
    double all[2] = {0};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_posterior_maps) maps;
        OWNED(larmor_noise_maps) noise;
        OWNED(larmor_recon_result) result;
        posterior_of(&s, OPTS(.method = "tv", AT(i ? 1e-2 : 1e-3)), 16, &maps, &noise, &result);
        HEAP float *deviation = host_of(maps.map[0].deviation);
        for (int64_t v = 0; v < N * N; v++) all[i] += deviation[v];
    }
    assert_true(all[1] > 0 && all[1] < 0.8 * all[0]);
}

TEST(posteriors_are_refused_where_there_are_none)
{
    OWNED(scan) s = noisy(spokes);
    const larmor_recon_opts grid = OPTS(.maps = s.maps, .method = "grid"),
                            tgv = OPTS(.maps = s.maps, .method = "tgv");
    OWNED(larmor_recon) *a = recon_of(&s, &grid), *b = recon_of(&s, &tgv);
    OWNED(larmor_posterior_maps) maps;
    OWN(larmor_recon_result, first, larmor_recon_run(a, 0, &first));
    OWN(larmor_recon_result, second, larmor_recon_run(b, 0, &second));
    assert_refused(larmor_recon_posterior(a, 0, &first, 0, &maps), LARMOR_ERR_ARG,
                   "posterior: images by gridding, which has no prior, have no samples");
    assert_refused(larmor_recon_posterior(b, 0, &second, 4, &maps), LARMOR_ERR_ARG,
                   "posterior: tgv is no sum of magnitudes");
    assert_refused(larmor_recon_posterior(b, 0, &second, 1, &maps), LARMOR_ERR_ARG,
                   "posterior.samples: 1 is not from 2 to 65536");
}
