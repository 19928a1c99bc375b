/* io/trajectory/traj_given.c and traj_read.c: a trajectory in the place of what acquisitions have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { SPOKES = 12, SAMPLES = 64 };

static larmor_trajectory given; /* of the running test */
static int64_t first[MOST_READOUTS + 1];
static double numbers[3 * MOST_READOUTS * SAMPLES], beside[MOST_READOUTS * SAMPLES];

/* Spokes of `samples`, of which sample s of spoke r is at (s - samples / 2, r / 64). */
static larmor_trajectory *spokes(int readouts, int samples)
{
    memset(&given, 0, sizeof given);
    for (int r = 0; r < readouts; r++)
        for (int s = 0; s < samples; s++) {
            numbers[2 * (r * samples + s)] = s - samples / 2.;
            numbers[2 * (r * samples + s) + 1] = r / 64.;
            beside[r * samples + s] = 100 * r + s;
        }
    for (int r = 0; r <= readouts; r++) first[r] = (int64_t)r * samples;
    given = (larmor_trajectory){.dims = 2, .readouts = readouts, .first = first, .k = numbers, .units = "1/fov"};
    snprintf(given.name, sizeof given.name, "k.npy");
    return &given;
}

static scan *plain_scan(int noise, int readouts)
{
    static const space lines = {{64, 64, 1}, {64, 64, 1}, {192, 192, 5}, {192, 192, 5}, "cartesian", ""};
    scan *s = empty_scan(&lines);
    for (int i = 0; i < noise; i++) s->r[add_readout(s, 200, 1, 0)].head.flags = LARMOR_ACQ_NOISE;
    for (int i = 0; i < readouts; i++) add_readout(s, SAMPLES, 1, 0);
    return s;
}

static larmor_raw *opened_given(const larmor_trajectory *t)
{
    return opened_with(&(larmor_raw_opts){.trajectory = t});
}

/* Readout r of the group is spoke `spoke`, from sample `skipped` on. */
static void expect_spoke(const larmor_raw *raw, int group, int r, int spoke, int skipped)
{
    OWNED(larmor_samples) s = samples_of(raw, group, 0);
    const int64_t n = larmor_array_shape(s.traj).dim[1];
    for (int64_t i = 0; i < n; i++) {
        assert_true(traj(&s)[2 * (r * n + i)] == (double)(i + skipped - SAMPLES / 2));
        assert_true(traj(&s)[2 * (r * n + i) + 1] == spoke / 64.);
    }
}

WITH_SCAN(readouts_are_those_of_acquisitions_or_of_those_without_noise)
{
    OWNED(scan) *s = plain_scan(2, SPOKES);
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_given(spokes(SPOKES, SAMPLES));
    assert_string_equal(larmor_raw_describe(raw).traj_given, "k.npy, 12 readouts of 64 samples, for each but noise");
    assert_string_equal(larmor_raw_describe(raw).traj_report, "1/FOV (kmax 32.0 of 32), as given");
    for (int r = 0; r < SPOKES; r++) expect_spoke(raw, 0, r, r, 0);
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    assert_string_equal(e.trajectory, "other");
}

WITH_SCAN(a_stored_trajectory_gives_way)
{
    OWNED(scan) *s = radial_scan(SPOKES, 1);
    write_scan(s);
    OWNED(larmor_raw) *stored = opened_with(NULL), *raw = opened_given(spokes(SPOKES, SAMPLES));
    assert_true(larmor_raw_fingerprint(stored) != larmor_raw_fingerprint(raw));
    expect_spoke(raw, 0, 3, 3, 0);
}

WITH_SCAN(discarded_samples_may_be_left_out_of_the_trajectory)
{
    OWNED(scan) *s = plain_scan(0, SPOKES);
    for (int i = 0; i < SPOKES; i++) s->r[i].head.discard_pre = 4;
    write_scan(s);
    larmor_raw *raw = opened_given(spokes(SPOKES, SAMPLES));
    expect_spoke(raw, 0, 2, 2, 4);
    larmor_raw_free(raw);
    raw = opened_given(spokes(SPOKES, SAMPLES - 4));
    expect_spoke(raw, 0, 2, 2, 2); /* whose middle is two samples earlier */
    larmor_raw_free(raw);
}

WITH_SCAN(each_image_takes_a_trajectory_of_fewer_readouts)
{
    OWNED(scan) *s = plain_scan(0, 2 * SPOKES);
    for (int i = 0; i < s->count; i++) s->r[i].head.idx.slice = (uint16_t)(i % 2);
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_given(spokes(SPOKES, SAMPLES));
    assert_int_equal(larmor_raw_describe(raw).groups, 2);
    for (int g = 0; g < 2; g++)
        for (int r = 0; r < SPOKES; r++) expect_spoke(raw, g, r, r, 0);
    assert_non_null(strstr(larmor_raw_describe(raw).traj_given, "for each acquisition of 2 images"));
    for (int i = 0; i < s->count; i++) s->r[i].head.idx.slice = (uint16_t)(i > SPOKES);
    write_scan(s);
    refused_with(
        &(larmor_raw_opts){.trajectory = spokes(SPOKES, SAMPLES)}, LARMOR_ERR_SHAPE,
        "trajectory k.npy has 12 readouts of 64 samples, which fit neither all 24 acquisitions of 64 samples nor "
        "the 24 acquisitions of 64 that make images.");
}

/* One of a file that is no sequence may be that of another scan. */
WITH_SCAN(a_scan_that_was_stopped_has_the_first_readouts_of_its_sequence)
{
    OWNED(scan) *s = plain_scan(0, SPOKES - 5);
    write_scan(s);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    refused_with(&(larmor_raw_opts){.trajectory = t}, LARMOR_ERR_SHAPE,
                 "trajectory k.npy has 12 readouts of 64 samples, which fit neither all 7 acquisitions of 64 samples "
                 "nor the 7 acquisitions of 64 that make images.");
    t->of_sequence = 1;
    OWNED(larmor_raw) *raw = opened_given(t);
    for (int r = 0; r < SPOKES - 5; r++) expect_spoke(raw, 0, r, r, 0);
    assert_non_null(strstr(larmor_raw_describe(raw).warnings,
                           "k.npy has 12 readouts of 64 samples, and the scan 7 acquisitions of 64: it may have been "
                           "stopped. What there is is read.\n"));
    s->r[2].head.flags = LARMOR_ACQ_NOISE; /* which may be before the sequence, or of it */
    write_scan(s);
    refused_with(&(larmor_raw_opts){.trajectory = t}, LARMOR_ERR_SHAPE,
                 "trajectory k.npy has 12 readouts of 64 samples, which fit neither all 7 acquisitions of 64 samples "
                 "nor the 6 acquisitions of 64 that make images.");
    t->of_sequence = 0;
}

WITH_SCAN(a_long_readout_is_that_of_consecutive_acquisitions)
{
    OWNED(scan) *s = plain_scan(0, SPOKES);
    write_scan(s);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    t->readouts = SPOKES / 4;
    for (int r = 0; r <= SPOKES / 4; r++) first[r] = (int64_t)4 * r * SAMPLES;
    OWNED(larmor_raw) *raw = opened_given(t);
    for (int r = 0; r < SPOKES; r++) expect_spoke(raw, 0, r, r, 0);
    first[1] += 1; /* within an acquisition */
    larmor_raw *none;
    assert_refused(larmor_raw_open(path, &(larmor_raw_opts){.trajectory = t}, &none), LARMOR_ERR_SHAPE,
                   "3 readouts of 255 to 257 samples");
}

WITH_SCAN(times_and_weights_go_with_the_samples)
{
    OWNED(scan) *s = plain_scan(1, SPOKES);
    for (int i = 0; i <= SPOKES; i++) s->r[i].head.discard_pre = 4;
    write_scan(s);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    t->time_s = t->weight = beside;
    larmor_raw *raw = opened_given(t);
    OWNED(larmor_samples) samples = samples_of(raw, 0, 0);
    larmor_grid grid;
    assert_int_equal(larmor_raw_describe(raw).density_stored, 1);
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_array, *times, larmor_raw_times(raw, 0, NULL, 0, &grid, dev, &times));
    bring_to_host(&times);
    for (int r = 0; r < SPOKES; r++)
        for (int i = 0; i < SAMPLES - 4; i++) {
            const double expected = 100 * r + i + 4;
            assert_true(((const double *)larmor_array_data(times))[r * (SAMPLES - 4) + i] == expected);
            assert_true(((const double *)larmor_array_data(samples.density))[r * (SAMPLES - 4) + i] == expected);
        }
    const uint64_t before = larmor_raw_fingerprint(raw);
    larmor_raw_free(raw);
    beside[70] += 1;
    raw = opened_given(t);
    assert_true(larmor_raw_fingerprint(raw) != before);
    larmor_raw_free(raw);
}

WITH_SCAN(a_sequence_of_another_time_per_sample_is_named)
{
    OWNED(scan) *s = plain_scan(0, SPOKES);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    t->time_s = beside; /* a second from one to the next */
    t->of_sequence = 1;
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < SPOKES; i++) s->r[i].head.sample_time_us = i < 5 || !half ? 1e6f : 5e5f;
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_given(t);
        const larmor_raw_info info = larmor_raw_describe(raw);
        const char *said = strstr(info.warnings, "k.npy has 1e+06 us between the samples of a readout, and "
                                                 "acquisition 5 says 5e+05 us: it may be another sequence");
        assert_int_equal(said != NULL, half);
    }
    t->of_sequence = 0;
}

WITH_SCAN(phases_are_turned_back)
{
    OWNED(scan) *s = plain_scan(0, SPOKES);
    write_scan(s);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    for (int i = 0; i < SPOKES * SAMPLES; i++) beside[i] = .01 * i;
    t->phase = beside;
    for (int conjugate = 0; conjugate < 2; conjugate++) {
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.trajectory = t, .conjugate = conjugate});
        OWNED(larmor_samples) samples = samples_of(raw, 0, 0);
        for (int i = 0; i < SPOKES * SAMPLES; i++) {
            const float *x = data_of(s, i / SAMPLES) + 2 * (i % SAMPLES);
            const double re = (double)x[0];
            const double im = conjugate ? -(double)x[1] : (double)x[1];
            const double c = cos(.01 * i), d = -sin(.01 * i);
            assert_at_most(fabs((double)kspace(&samples)[2 * i] - (c * re - d * im)), 1e-5);
            assert_at_most(fabs((double)kspace(&samples)[2 * i + 1] - (c * im + d * re)), 1e-5);
        }
    }
}

WITH_SCAN(what_is_no_trajectory_of_the_scan_is_refused)
{
    OWNED(scan) *s = plain_scan(0, SPOKES);
    write_scan(s);
    larmor_trajectory *t = spokes(SPOKES, SAMPLES);
    const larmor_raw_opts opts = {.trajectory = t};
    numbers[2 * (3 * SAMPLES + 5)] = NAN;
    refused_with(&opts, LARMOR_ERR_FORMAT,
                 "trajectory k.npy: readout 3, sample 5 is not finite, or its weight is below 0.");
    numbers[2 * (3 * SAMPLES + 5)] = 1e39; /* not in single precision */
    refused_with(&opts, LARMOR_ERR_FORMAT,
                 "trajectory k.npy: readout 3, sample 5 is not finite, or its weight is below 0.");
    spokes(SPOKES, SAMPLES)->dims = 1;
    refused_with(&opts, LARMOR_ERR_SHAPE, "trajectory k.npy has 1 component, expected 2 or 3.");
    spokes(SPOKES, SAMPLES)->first[2] = 0;
    refused_with(&opts, LARMOR_ERR_ARG, "trajectory k.npy: readout 1 has no samples");
    spokes(SPOKES, SAMPLES)->k = NULL;
    refused_with(&opts, LARMOR_ERR_ARG, "trajectory k.npy: no readouts, or the first does not begin at 0");
}

/* ---- files ---- */

static void save(const char *name, int64_t a, int64_t b, int64_t c, const double *values)
{
    OWN(larmor_array, *x,
        larmor_array_upload(dev, LARMOR_F64, c ? LARMOR_SHAPE(a, b, c) : LARMOR_SHAPE(a, b), LARMOR_F64, values, &x));
    OWN(larmor_output, *out, larmor_output_open(in_folder(name), 1, &out));
    assert_ok(larmor_array_save(out, x));
}

WITH_SCAN(a_file_gives_readouts_times_and_weights)
{
    larmor_trajectory t;
    spokes(SPOKES, SAMPLES);
    save("k.npy", 2, SAMPLES, SPOKES, numbers);
    save("w.npy", SAMPLES, SPOKES, 0, beside);
    char w[128];
    snprintf(w, sizeof w, "%s", in_folder("w.npy"));
    assert_ok(larmor_trajectory_read(in_folder("k.npy"), &(larmor_trajectory_opts){.times = w, .weights = w}, &t));
    assert_int_equal(t.dims, 2);
    assert_int_equal(t.readouts, SPOKES);
    assert_string_equal(t.name, "k.npy");
    assert_string_equal(t.units, "");
    assert_int_equal(t.first[SPOKES], SPOKES * SAMPLES);
    for (int i = 0; i < 2 * SPOKES * SAMPLES; i++) assert_true(t.k[i] == numbers[i]);
    for (int i = 0; i < SPOKES * SAMPLES; i++) assert_true(t.time_s[i] == beside[i] && t.weight[i] == beside[i]);
    larmor_trajectory_free(&t);
    beside[3] = -1;
    save("w.npy", SAMPLES, SPOKES, 0, beside);
    assert_refused(larmor_trajectory_read(in_folder("k.npy"), &(larmor_trajectory_opts){.weights = w}, &t),
                   LARMOR_ERR_FORMAT, "w.npy: weight 3 is -1, expected 0 or more.");
    assert_null(t.k);
    save("w.npy", SAMPLES, 2, 0, beside);
    assert_refused(larmor_trajectory_read(in_folder("k.npy"), &(larmor_trajectory_opts){.times = w}, &t),
                   LARMOR_ERR_SHAPE, "w.npy: 128 numbers, expected 768, one for each sample of trajectory k.npy.");
    save("k.npy", 4, SAMPLES, 2, numbers);
    assert_refused(larmor_trajectory_read(in_folder("k.npy"), NULL, &t), LARMOR_ERR_SHAPE,
                   "k.npy: [2 or 3, samples, readouts] expected, its first dimension is 4.");
}

WITH_SCAN(another_scan_gives_its_trajectory_per_metre)
{
    larmor_trajectory t;
    scan *s = radial_scan(SPOKES, 1);
    write_scan(s);
    assert_ok(larmor_trajectory_read(path, NULL, &t));
    assert_string_equal(t.units, "1/m");
    assert_int_equal(t.readouts, SPOKES);
    assert_int_equal(t.dims, 2);
    for (int i = 0; i < 2 * SAMPLES; i++)
        assert_at_most(fabs(t.k[2 * SAMPLES + i] - (double)traj_of(s, 1)[i] / .192), 1e-9);
    OWNED(larmor_raw) *raw = opened_given(&t), *stored = opened_with(NULL);
    larmor_samples a = samples_of(raw, 0, 0), b = samples_of(stored, 0, 0);
    for (int i = 0; i < 2 * SPOKES * SAMPLES; i++) assert_at_most(fabs(traj(&a)[i] - traj(&b)[i]), 1e-5);
    larmor_samples_free(&a);
    larmor_samples_free(&b);
    larmor_trajectory_free(&t);
    free_scan(s);
    s = plain_scan(0, SPOKES);
    write_scan(s);
    assert_refused(larmor_trajectory_read(path, NULL, &t), LARMOR_ERR_FORMAT, "stores no trajectory.");
    free_scan(s);
}

/* ---- the matrix of a sequence ---- */

/* Lines of SAMPLES along x in 1/m, as far as `reach` (1/FOV of 192 mm), every second one backwards and faster in the
 * middle, as on the ramps of echo-planar gradients; the other components of line i are those of `place`. */
static larmor_trajectory *sequence(int dims, int lines, const double (*place)[2], double reach)
{
    const double fov_m = 0.192;
    for (int r = 0; r < lines; r++)
        for (int s = 0; s < SAMPLES; s++) {
            const double at = 2. * s / SAMPLES - 1, along = sin(1.5707963267948966 * at);
            double *k = numbers + dims * (r * SAMPLES + s);
            k[0] = (r % 2 ? -1 : 1) * reach * along / fov_m;
            for (int d = 1; d < dims; d++) k[d] = place[r][d - 1] / (d == 1 ? fov_m : 0.04);
        }
    for (int r = 0; r <= lines; r++) first[r] = (int64_t)r * SAMPLES;
    given = (larmor_trajectory){
        .dims = dims, .readouts = lines, .first = first, .k = numbers, .units = "1/m", .of_sequence = 1};
    snprintf(given.name, sizeof given.name, "scan.seq");
    return &given;
}

static larmor_raw *played(const space *header, const larmor_trajectory *t)
{
    OWNED(scan) *s = empty_scan(header);
    for (int i = 0; i < 2; i++) s->r[add_readout(s, 200, 1, 0)].head.flags = LARMOR_ACQ_NOISE;
    for (int i = 0; i < t->readouts; i++) add_readout(s, SAMPLES, 1, 0);
    write_scan(s);
    larmor_raw *raw = opened_given(t);
    return raw;
}

static void assert_matrix(const larmor_raw *raw, const int64_t matrix[3], const int64_t recon[3])
{
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    for (int d = 0; d < 3; d++) {
        assert_int_equal(e.matrix[d], matrix[d]);
        assert_int_equal(e.recon_matrix[d], recon[d]);
    }
}

WITH_SCAN(an_echo_planar_scan_has_the_matrix_of_its_sequence_over_the_fields_of_view_of_its_header)
{
    static const space header = {{96, 48, 1}, {48, 48, 1}, {384, 192, 5}, {192, 192, 5}, "epi", ""};
    static const double lines[5][2] = {{-32, 0}, {-16, 0}, {0, 0}, {16, 0}, {31, 0}};
    OWNED(larmor_raw) *raw = played(&header, sequence(2, 5, lines, 32));
    assert_matrix(raw, (int64_t[]){128, 64, 1}, (int64_t[]){64, 64, 1});
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.imaging == 5 && info.noise == 2);
    assert_non_null(strstr(info.warnings, "the sequence reaches 64/FOV along x, more than the header's matrix of 96 "
                                          "resolves: 128 is taken."));
    assert_non_null(strstr(info.warnings, "along y, more than the header's matrix of 48 resolves: 64 is taken."));
}

WITH_SCAN(a_volume_has_the_partitions_of_its_sequence)
{
    static const space header = {{48, 64, 6}, {48, 64, 6}, {192, 192, 40}, {192, 192, 40}, "cartesian", ""};
    static const double lines[6][2] = {{-32, -4}, {0, -4}, {31, 0}, {-32, 0}, {0, 3}, {31, 3}};
    OWNED(larmor_raw) *raw = played(&header, sequence(3, 6, lines, 32));
    assert_matrix(raw, (int64_t[]){64, 64, 8}, (int64_t[]){64, 64, 8});
}

WITH_SCAN(a_header_keeps_its_matrix_where_the_sequence_reaches_less_or_far_more)
{
    static const space header = {{48, 48, 1}, {48, 48, 1}, {192, 192, 5}, {192, 192, 5}, "epi", ""};
    static const double near[3][2] = {{-24, 0}, {0, 0}, {23, 0}}, far[3][2] = {{-60, 0}, {0, 0}, {59, 0}};
    larmor_raw *raw = played(&header, sequence(2, 3, near, 25));
    assert_matrix(raw, (int64_t[]){48, 48, 1}, (int64_t[]){48, 48, 1});
    assert_null(strstr(larmor_raw_describe(raw).warnings, "the sequence reaches"));
    larmor_raw_free(raw);
    raw = played(&header, sequence(2, 3, far, 24));
    assert_matrix(raw, (int64_t[]){48, 48, 1}, (int64_t[]){48, 48, 1});
    assert_non_null(strstr(larmor_raw_describe(raw).warnings,
                           "the sequence reaches 60/FOV along y, far more than the header's matrix of 48 resolves"));
    larmor_raw_free(raw);
}
