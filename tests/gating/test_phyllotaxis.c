/* Self-gating of phyllotaxis in space (Piccini et al., Magn. Reson. Med. 66, 1049 (2011)).
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/gating/states.h"

enum { N = 12, COILS = 4, READOUTS = 2200, BREATH = 4 };

static const motion subject = {{14, 40, .03, 5}, {66, .2, .03, 6}, .025};

typedef struct scan {
    larmor_array *kspace, *traj, *maps;
    larmor_source *source;
    larmor_stamp *stamp;
} scan;

static void end_scan(scan *s)
{
    larmor_source_free(s->source);
    LMR_FREE(s->kspace, s->traj, s->maps, s->stamp);
}

static scan scan_of(void)
{
    scan s = {NULL};
    OWNED(larmor_simulation) *made = NULL;
    const larmor_simulation_opts opts = {.trajectory = "phyllotaxis",
                                         .traj = {.matrix = {N, N, N}, .readouts = READOUTS},
                                         .coils = COILS,
                                         .object_size = SIZE,
                                         .snr = 30,
                                         .seed = 3,
                                         .tr_ms = 1e3 * subject.tr,
                                         .breath = subject.breath,
                                         .heart = subject.heart};
    assert_ok(larmor_simulation_create(dev, &opts, &made));
    assert_ok(larmor_simulation_samples(made, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N, N), NULL, COILS, &s.maps));
    s.stamp = calloc(READOUTS, sizeof *s.stamp);
    assert_true(s.stamp);
    for (int i = 0; i < READOUTS; i++) s.stamp[i] = (larmor_stamp){.time = 10 * (uint32_t)i}; /* 2.5 ms */
    const larmor_readouts image = {.kspace = s.kspace, .traj = s.traj, .stamps = s.stamp};
    const larmor_scan_arrays arrays = {
        .matrix = {N, N, N}, .fov_mm = {256, 256, 256}, .trajectory = "radial", .image = &image, .images = 1};
    assert_ok(larmor_source_of_arrays(&arrays, &s.source));
    return s;
}

static larmor_recon_result images_of(larmor_source *source, const scan *s, const char *method)
{
    OWNED(larmor_recon) *recon = NULL;
    larmor_recon_result result;
    const larmor_recon_opts opts =
        OPTS(.method = method, .joint = strcmp(method, "cg") != 0, .maps = s->maps, .delays = LARMOR_DELAYS_OFF,
             .memory = INT64_C(1) << 30); /* no other descriptions of the scan are tried */
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_int_equal(larmor_recon_series(recon), 1);
    assert_ok(larmor_recon_run(recon, 0, &result));
    return result;
}

/* The object on average over some of the readouts of a bin of the true shift. */
static larmor_array *truth_of(int bin)
{
    int members[READOUTS], count = 0;
    double shift[READOUTS];
    for (int i = 0; i < READOUTS; i++) shift[i] = state_at(&subject, i).shift[1];
    for (int i = 0; i < READOUTS; i++) {
        int below = 0;
        for (int j = 0; j < READOUTS; j++) below += shift[j] < shift[i] || (shift[j] == shift[i] && j < i);
        if (below * BREATH / READOUTS == bin) members[count++] = i;
    }
    return object_over(&subject, LARMOR_SHAPE(N, N, N), members, count);
}

TEST(both_rates_are_right_within_a_hundredth_and_each_state_of_the_breath_twice_as_near_as_the_image_of_all_readouts)
{
    OWNED(scan) s = scan_of();
    larmor_bins_found found;
    const double minutes = subject.tr * READOUTS / 60;
    const double breaths = larmor_phantom_cycles(&subject.breath, 60 * minutes) / minutes;
    const double beats = larmor_phantom_cycles(&subject.heart, 60 * minutes) / minutes;
    larmor_source *bins =
        MADE(larmor_source,
             larmor_source_of_bins(s.source, dev, &(larmor_bins_opts){.breath = 2, .heart = 2}, &found, &made));
    larmor_source_free(bins);
    if (getenv("SHOW"))
        printf("breath %g of %g, %.2f; heart %g of %g, %.2f\n", found.breath_rate, breaths, found.breath_reliable,
               found.heart_rate, beats, found.heart_reliable);
    assert_at_most(fabs(found.breath_rate / breaths - 1), .01);
    assert_at_most(fabs(found.heart_rate / beats - 1), .01);
    assert_true(found.breath_reliable > LARMOR_RELIABLE && found.heart_reliable > LARMOR_RELIABLE);
    assert_ok(larmor_source_of_bins(s.source, dev, &(larmor_bins_opts){.breath = BREATH}, &found, &bins));
    OWNED(larmor_recon_result) joint = images_of(bins, &s, "tv:xyz+tv:b"), all = images_of(s.source, &s, "cg");
    larmor_source_free(bins);
    assert_int_equal(joint.count, BREATH);
    for (int i = 0; i < BREATH; i++) {
        OWNED(larmor_array) *truth = truth_of(i);
        const double own = difference(joint.image[i].data, truth), still = difference(all.image[0].data, truth);
        if (getenv("SHOW"))
            printf("breath %d: %.3f; static %.3f\n", i, own, still);
        else if (2 * own > still)
            fail_msg("breath %d: %g, static %g", i, own, still);
    }
}
