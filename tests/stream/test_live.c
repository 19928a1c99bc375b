/* live/: images while a scan runs, alone and through a session. SPDX-License-Identifier: Apache-2.0 */
#include "tests/stream/streams.h"

enum { SIDE = 32, COILS = 4, FIRST = 40, EVERY = 8, SCAN_READOUTS = 120 };

static larmor_raw *moving; /* as it is stored: golden-angle spokes of a phantom at rest */
static larmor_expected truth;

static int make_moving(void **state)
{
    const larmor_simulation_opts opts = {.trajectory = "golden",
                                         .traj = {.matrix = {SIDE, SIDE}, .readouts = SCAN_READOUTS},
                                         .coils = COILS,
                                         .snr = 40};
    const int failed = make_folder(state);
    OWN(larmor_simulation, *simulation, larmor_simulation_create(dev, &opts, &simulation));
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("moving.h5"), 1, &made));
    assert_ok(larmor_simulation_save(simulation, out));
    assert_ok(larmor_simulation_expect(simulation, &truth));
    larmor_output_free(out);
    assert_ok(larmor_raw_open(in_folder("moving.h5"), &(larmor_raw_opts){.as_stored = 1}, &moving));
    return failed;
}

static int remove_moving(void **state)
{
    larmor_raw_free(moving);
    larmor_expected_free(&truth);
    return remove_folder(state);
}

#define WITH_MOVING(claim) TEST_IN(claim, make_moving, remove_moving)

static larmor_live *open_live(larmor_live_opts opts)
{
    const char *xml = larmor_raw_xml(moving);
    opts.recon.size = sizeof opts.recon;
    if (!opts.recon.method) opts.recon.maps_method = "walsh";
    opts.recon.delays = LARMOR_DELAYS_OFF;
    return MADE(larmor_live, larmor_live_create(xml, (int64_t)strlen(xml), dev, &opts, &made));
}

static larmor_acquisition readout(int64_t i)
{
    larmor_acquisition a;
    assert_ok(larmor_raw_acquisition(moving, i, &a));
    return a;
}

/* 1 - |<a, b>| / (|a| |b|) of magnitudes, as neither phase nor scale is that of the truth. */
static double from_truth(const larmor_array *image)
{
    HEAP float *x = host_of(image);
    HEAP float *y = host_of(truth.image[0].data);
    double xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double a = hypot(x[2 * i], x[2 * i + 1]), b = hypot(y[2 * i], y[2 * i + 1]);
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    return 1 - xy / sqrt(xx * yy);
}

/* The scan up to a readout, brightened from one on: *x of the images gets the last one. Returns their number. */
static int run(const larmor_live_opts *opts, int64_t end_, int64_t bright_from, larmor_array **x)
{
    larmor_live *live = open_live(*opts);
    int count = 0;
    for (int64_t i = 0; i < end_; i++) {
        larmor_acquisition a = readout(i);
        const int64_t numbers = 2 * (int64_t)a.samples * a.coils;
        HEAP float *data = malloc((size_t)numbers * sizeof *data);
        for (int64_t k = 0; k < numbers; k++) data[k] = a.data[k] * (i >= bright_from ? 2.F : 1.F);
        a.data = data;
        OWN(larmor_recon_result, result, larmor_live_add(live, &a, &result));
        if (result.count) {
            count++;
            assert_int_equal((i + 1 - FIRST) % opts->every, 0);
            larmor_array_free(*x);
            *x = larmor_array_ref(result.image[0].data);
        }
    }
    larmor_live_free(live);
    return count;
}

WITH_MOVING(an_image_comes_with_the_first_readouts_and_then_with_every_so_many)
{
    OWNED(larmor_array) *x = NULL;
    const larmor_live_opts opts = {.window = EVERY, .every = EVERY, .first = FIRST};
    assert_int_equal(run(&opts, FIRST - 1, SCAN_READOUTS, &x), 0);
    assert_int_equal(run(&opts, SCAN_READOUTS, SCAN_READOUTS, &x), 1 + (SCAN_READOUTS - FIRST) / EVERY);
    larmor_array_free(x);
    x = NULL;
    const larmor_live_opts sliding = {.window = 3 * EVERY, .every = EVERY / 2, .first = FIRST};
    assert_int_equal(run(&sliding, SCAN_READOUTS, SCAN_READOUTS, &x), 1 + 2 * (SCAN_READOUTS - FIRST) / EVERY);
}

/* One spoke does not say the units of its trajectory. */
WITH_MOVING(images_of_single_readouts_have_the_units_of_the_first_ones)
{
    OWNED(larmor_array) *x = NULL;
    const larmor_live_opts opts = {.window = 1, .every = 1, .first = FIRST};
    assert_int_equal(run(&opts, FIRST + 4, SCAN_READOUTS, &x), 5);
    assert_at_most(from_truth(x), 0.03);
}

WITH_MOVING(an_object_at_rest_is_as_near_to_the_truth_as_of_many_readouts_by_the_images_before)
{
    OWNED(larmor_array) *one = NULL, *last = NULL;
    const larmor_live_opts opts = {.window = EVERY, .every = EVERY, .first = FIRST};
    run(&opts, FIRST, SCAN_READOUTS, &one);
    run(&opts, SCAN_READOUTS, SCAN_READOUTS, &last);
    assert_at_most(from_truth(one), 0.03);
    assert_at_most(from_truth(last), 1.1 * from_truth(one));
    const larmor_live_opts forgets = {.window = EVERY, .every = EVERY, .first = FIRST, .iters = 40, .hold = 1e-9};
    OWNED(larmor_array) *alone = NULL;
    run(&forgets, SCAN_READOUTS, SCAN_READOUTS, &alone);
    assert_true(from_truth(alone) > from_truth(last));
}

WITH_MOVING(what_changes_is_followed)
{
    OWNED(larmor_array) *before = NULL, *after = NULL;
    double size[2];
    const larmor_live_opts opts = {.window = EVERY, .every = EVERY, .first = FIRST};
    run(&opts, FIRST + 2 * EVERY, FIRST + 2 * EVERY, &before);
    run(&opts, FIRST + 8 * EVERY, FIRST + 2 * EVERY, &after);
    assert_ok(larmor_nrm2(before, &size[0]));
    assert_ok(larmor_nrm2(after, &size[1]));
    assert_at_most(fabs(size[1] / size[0] - 2), 0.1);
}

WITH_MOVING(images_by_nonlinear_inversion_follow_each_other_too)
{
    OWNED(larmor_array) *one = NULL, *last = NULL, *before = NULL, *after = NULL;
    double size[2];
    const larmor_live_opts opts = {.window = EVERY, .every = EVERY, .first = FIRST, .recon = {.method = "nlinv"}};
    assert_int_equal(run(&opts, FIRST, SCAN_READOUTS, &one), 1);
    assert_int_equal(run(&opts, SCAN_READOUTS, SCAN_READOUTS, &last), 1 + (SCAN_READOUTS - FIRST) / EVERY);
    assert_at_most(from_truth(one), 0.03);
    assert_at_most(from_truth(last), 1.5 * from_truth(one));
    run(&opts, FIRST + 2 * EVERY, FIRST + 2 * EVERY, &before);
    run(&opts, FIRST + 8 * EVERY, FIRST + 2 * EVERY, &after);
    assert_ok(larmor_nrm2(before, &size[0]));
    assert_ok(larmor_nrm2(after, &size[1]));
    assert_at_most(fabs(size[1] / size[0] - 2), 0.1);
}

WITH_MOVING(a_session_sends_the_images_of_live_bit_for_bit)
{
    line l;
    OWNED(larmor_array) *want = NULL;
    const larmor_live_opts opts = {.window = EVERY, .every = EVERY, .first = FIRST};
    larmor_session_opts session = {.job = {.recon = {.size = sizeof(larmor_recon_opts)}}};
    session.job.pixels = LARMOR_PIXELS_COMPLEX;
    session.job.recon.maps_method = "walsh";
    session.job.recon.delays = LARMOR_DELAYS_OFF;
    begin(&l, session);
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(moving));
    send_text(l.client, LARMOR_MESSAGE_TEXT,
              "{\"parameters\":{\"images\":\"readouts\",\"window\":8,\"every\":\"8\",\"first\":40}}");
    for (int64_t i = 0; i < FIRST + EVERY; i++) {
        const larmor_acquisition a = readout(i);
        send_acquisition(l.client, &a);
        if (i + 1 != FIRST && i + 1 != FIRST + EVERY) continue;
        run(&opts, i + 1, SCAN_READOUTS, &want);
        assert_same_bits(want, wait_for(l.client, LARMOR_MESSAGE_IMAGE, NULL, NULL).image.data);
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(l.report.images, 2);
}

WITH_MOVING(what_live_images_cannot_be_made_of_is_refused_in_a_line)
{
    larmor_live *live;
    larmor_recon_result result;
    const char *xml = larmor_raw_xml(moving);
    larmor_live_opts opts = {.recon = {.size = sizeof(larmor_recon_opts), .method = "tv"}};
    assert_refused(larmor_live_create(xml, (int64_t)strlen(xml), dev, &opts, &live), LARMOR_ERR_ARG,
                   "live: a method other than cg and nlinv, which live images have not.");
    opts.recon = (larmor_recon_opts){.size = sizeof(larmor_recon_opts), .iters = 3};
    assert_refused(larmor_live_create(xml, (int64_t)strlen(xml), dev, &opts, &live), LARMOR_ERR_ARG,
                   "live: lambda, iters or tol, which live images have not.");
    opts.recon = (larmor_recon_opts){.size = sizeof(larmor_recon_opts), .method = "nlinv"};
    opts.hold = 0.1;
    assert_refused(larmor_live_create(xml, (int64_t)strlen(xml), dev, &opts, &live), LARMOR_ERR_ARG,
                   "live: hold is of cg; nlinv has opts.damping.");
    opts = (larmor_live_opts){.window = -1};
    assert_refused(larmor_live_create(xml, (int64_t)strlen(xml), dev, &opts, &live), LARMOR_ERR_ARG,
                   "live: window, every, first or iters is -1; 0 to 1048576 expected.");
    live = open_live((larmor_live_opts){.window = EVERY});
    larmor_acquisition a = readout(0);
    assert_ok(larmor_live_add(live, &a, &result));
    a.slice = 1;
    assert_refused(larmor_live_add(live, &a, &result), LARMOR_ERR_UNSUPPORTED, "live: a readout of slice 1");
    a.traj_dims = 0;
    assert_refused(larmor_live_add(live, &a, &result), LARMOR_ERR_UNSUPPORTED,
                   "live: a readout without a trajectory.");
    larmor_live_free(live);
}
