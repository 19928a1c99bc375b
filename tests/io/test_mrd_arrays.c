/* io/mrd/mrd_arrays.c: arrays become acquisitions and scans. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

enum { SAMPLES = 4, READOUTS = 6, POINTS = SAMPLES * READOUTS, COILS = 2 };

static larmor_array *made(larmor_dtype dtype, larmor_shape shape, const void *host)
{
    return MADE(larmor_array, larmor_array_upload(dev, dtype, shape, dtype, host, &made));
}

/* [nd, SAMPLES, READOUTS] up to `reach` along x and half of that along y, the third components `depth`. */
static larmor_array *trajectory(int nd, double reach, double depth)
{
    double k[3 * POINTS];
    for (int i = 0; i < POINTS; i++)
        for (int d = 0; d < nd; d++) k[i * nd + d] = d == 2 ? depth * (i % 3 - 1) : reach / (d + 1) * (i - 12) / 12.;
    return made(LARMOR_F64, LARMOR_SHAPE(nd, SAMPLES, READOUTS), k);
}

static larmor_array *numbered(larmor_shape shape)
{
    float data[2 * POINTS * COILS];
    for (int i = 0; i < 2 * POINTS * COILS; i++) data[i] = (float)i + 1;
    return made(LARMOR_C64, shape, data);
}

static larmor_status save(const larmor_array *kspace, const larmor_array *traj, const larmor_grid_opts *opts,
                          larmor_encoding *written)
{
    OWN(larmor_output, *out, larmor_output_open(in_folder("scan.h5"), 1, &out));
    return larmor_raw_save(out, kspace, traj, opts, written);
}

/* Of what was saved: all samples and the nd components of the trajectory are those of the arrays. */
static void assert_reads_again(larmor_array *kspace, larmor_array *traj, int nd)
{
    larmor_grid grid;
    HEAP double *k, *points;
    const int64_t given = larmor_array_shape(traj).dim[0];
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_samples, samples, larmor_raw_samples(raw, 0, &grid, 0, dev, &samples));
    assert_true(larmor_shape_equal(larmor_array_shape(samples.traj), LARMOR_SHAPE(nd, SAMPLES, READOUTS)));
    assert_true(larmor_shape_equal(larmor_array_shape(samples.kspace), LARMOR_SHAPE(SAMPLES, READOUTS, COILS)));
    OWN_MEMORY(float, *x, larmor_array_download(kspace, LARMOR_C64, &x));
    OWN_MEMORY(float, *y, larmor_array_download(samples.kspace, LARMOR_C64, &y));
    assert_memory_equal(x, y, 2 * POINTS * COILS * sizeof *x);
    assert_ok(larmor_array_download(traj, LARMOR_F64, &k));
    assert_ok(larmor_array_download(samples.traj, LARMOR_F64, &points));
    for (int i = 0; i < POINTS; i++)
        for (int d = 0; d < nd; d++) assert_at_most(fabs(points[i * nd + d] - k[i * given + d]), 1e-5);
}

IN_FOLDER(a_scan_of_arrays_is_read_again_sample_by_sample)
{
    static const struct {
        int nd, dimensions; /* of the trajectory, of the scan */
        double depth;
        int64_t matrix[3];
    } of[] = {{2, 2, 0, {16, 16, 1}}, {3, 2, 0, {16, 16, 1}}, {3, 3, 3, {16, 16, 6}}};
    for (int i = 0; i < 6; i++) {
        const int c = i % 3;
        OWNED(larmor_array) *traj = trajectory(of[c].nd, 8, of[c].depth);
        OWNED(larmor_array) *kspace =
            numbered(i < 3 ? LARMOR_SHAPE(SAMPLES, READOUTS, COILS) : LARMOR_SHAPE(1, SAMPLES, READOUTS, COILS));
        larmor_encoding written;
        assert_ok(save(kspace, traj, NULL, &written));
        assert_int_equal(written.ndim, of[c].dimensions);
        for (int d = 0; d < 3; d++) {
            assert_int_equal(written.matrix[d], of[c].matrix[d]);
            assert_true(written.fov_mm[d] == (double)of[c].matrix[d]);
        }
        assert_reads_again(kspace, traj, of[c].dimensions);
    }
}

IN_FOLDER(a_matrix_or_field_of_view_goes_on_to_the_axes_that_are_not_given)
{
    static const struct {
        larmor_grid_opts opts;
        int64_t matrix[3];
        double fov_mm[3];
    } of[] = {{{.matrix = {20}}, {20, 20, 20}, {20, 20, 20}},
              {{.matrix = {20, 18}}, {20, 18, 18}, {20, 18, 18}},
              {{.fov_mm = {64}}, {16, 16, 6}, {64, 64, 24}},
              {{.matrix = {32}, .fov_mm = {64, 100}}, {32, 32, 32}, {64, 100, 64}}};
    OWNED(larmor_array) *traj = trajectory(3, 8, 3), *kspace = numbered(LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        larmor_encoding written;
        assert_ok(save(kspace, traj, &of[i].opts, &written));
        for (int d = 0; d < 3; d++) {
            assert_int_equal(written.matrix[d], of[i].matrix[d]);
            assert_at_most(fabs(written.fov_mm[d] - of[i].fov_mm[d]), 1e-12);
        }
    }
}

IN_FOLDER(a_single_readout_of_one_coil_may_leave_its_ones_out)
{
    static const double k[2 * SAMPLES] = {-2, 0, -1, 0, 0, 0, 1, 0};
    static const float data[2 * SAMPLES] = {1, 2, 3, 4, 5, 6, 7, 8};
    OWNED(larmor_array) *traj = made(LARMOR_F64, LARMOR_SHAPE(2, SAMPLES), k);
    OWNED(larmor_array) *kspace = made(LARMOR_C64, LARMOR_SHAPE(SAMPLES), data);
    larmor_acquisition a;
    assert_ok(save(kspace, traj, NULL, NULL));
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    assert_ok(larmor_raw_acquisition(raw, 0, &a));
    assert_true(a.samples == SAMPLES && a.coils == 1 && a.traj_dims == 2);
    assert_memory_equal(a.data, data, sizeof data);
}

IN_FOLDER(what_is_no_scan_is_refused_and_no_file_is_left)
{
    const larmor_grid_opts negative = {.matrix = {-1}}, wide = {.fov_mm = {1e7}};
    OWNED(larmor_array) *traj = trajectory(2, 8, 0), *still = trajectory(2, 0, 0), *far = trajectory(2, 4e4, 0);
    OWNED(larmor_array) *kspace = numbered(LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    OWNED(larmor_array) *turned = numbered(LARMOR_SHAPE(READOUTS, SAMPLES, COILS));
    OWNED(larmor_array) *two = numbered(LARMOR_SHAPE(2, SAMPLES, READOUTS, 1));
    larmor_array *bad;
    OWN(larmor_array, *real, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), &real));
    assert_refused(save(turned, traj, NULL, NULL), LARMOR_ERR_SHAPE, "k-space: [1, 4, 6, coils] expected, as the");
    assert_refused(save(two, traj, NULL, NULL), LARMOR_ERR_SHAPE, "it is c64 [2, 4, 6, 1]");
    assert_refused(save(real, traj, NULL, NULL), LARMOR_ERR_SHAPE, "it is f64 [4, 6, 2]");
    assert_refused(save(kspace, kspace, NULL, NULL), LARMOR_ERR_SHAPE, "expected real [2 or 3, samples, readouts]");
    assert_refused(save(kspace, still, NULL, NULL), LARMOR_ERR_FORMAT, "trajectory: has no extent");
    assert_refused(save(kspace, far, NULL, NULL), LARMOR_ERR_FORMAT, "trajectory: extends to 40000 in direction 0");
    assert_refused(save(kspace, traj, &negative, NULL), LARMOR_ERR_ARG, "scan: got -1 voxels");
    assert_refused(save(kspace, traj, &wide, NULL), LARMOR_ERR_ARG, "scan: got a field of view of 1e+07 mm");
    const float values[] = {NAN, 1e19f};
    static const char *const says[] = {"k-space: 1 value is not finite", "k-space: values up to 1.0e+19"};
    for (int i = 0; i < 2; i++) {
        float data[2 * POINTS] = {0};
        data[5] = values[i];
        bad = made(LARMOR_C64, LARMOR_SHAPE(SAMPLES, READOUTS, 1), data);
        assert_refused(save(bad, traj, NULL, NULL), LARMOR_ERR_FORMAT, says[i]);
        larmor_array_free(bad);
    }
    assert_int_equal(files_in_folder(), 0);
}

/* ---- several readouts ---- */

static larmor_status append(const larmor_acquisitions *all, int finish)
{
    const larmor_scan scan = {.encoding = {.matrix = {8, 8, 1},
                                           .recon_matrix = {8, 8, 1},
                                           .fov_mm = {80, 80, 5},
                                           .recon_fov_mm = {80, 80, 5},
                                           .trajectory = "other",
                                           .ndim = 2},
                              .coils = COILS};
    OWN(larmor_output, *out, larmor_output_open(in_folder("scan.h5"), 1, &out));
    OWN(larmor_raw_writer, *writer, larmor_raw_create(out, &scan, &writer));
    larmor_status st = larmor_raw_append_arrays(writer, all);
    if (!st && finish) st = larmor_raw_finish(writer);
    return st;
}

IN_FOLDER(readouts_have_their_flags_stamps_and_counters_and_the_last_one_ends_the_scan)
{
    const uint64_t flags[READOUTS] = {
        0, LARMOR_ACQ_CALIBRATION_AND_IMAGING, LARMOR_READOUT_LEFT_OUT, 0, 0, LARMOR_READOUT_LEFT_OUT};
    static const int number[] = {0, 1, 3, 4}; /* of those that are written */
    double k[2 * POINTS];
    for (int i = 0; i < POINTS; i++) {
        k[2 * i] = i % SAMPLES - 2;
        k[2 * i + 1] = i / SAMPLES - 3;
    }
    OWNED(larmor_array) *traj = made(LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, READOUTS), k);
    OWNED(larmor_array) *kspace = numbered(LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    for (int lines = 0; lines < 2; lines++) {
        const larmor_acquisitions all = {.kspace = kspace,
                                         .traj = traj,
                                         .units = "1/mm",
                                         .lines = lines,
                                         .flags = flags,
                                         .centre = 2,
                                         .dwell_us = 4,
                                         .start_ms = 100,
                                         .tr_ms = 10,
                                         .cycle_ms = 125,
                                         .meta = {.read_dir = {1, 0, 0},
                                                  .phase_dir = {0, 1, 0},
                                                  .slice_dir = {0, 0, 1},
                                                  .position_mm = {1, 2, 3},
                                                  .slice = 0,
                                                  .repetition = 0},
                                         .last = 1};
        assert_ok(append(&all, 1));
        OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
        assert_int_equal(larmor_raw_describe(raw).acquisitions, 4);
        larmor_stamp stamps[4];
        assert_ok(larmor_raw_stamps(raw, 0, stamps));
        for (int i = 0; i < 4; i++) {
            larmor_acquisition a;
            const int j = number[i];
            assert_ok(larmor_raw_acquisition(raw, i, &a));
            assert_true(a.flags == (flags[j] | (i == 3 ? LARMOR_ACQ_LAST_IN_MEASUREMENT : 0)));
            assert_int_equal(a.step1, lines ? j - 3 + 4 : j); /* the centre of 8 lines is line 4 */
            assert_int_equal(a.center_sample, 2);
            assert_int_equal(stamps[i].time, (12 * 3600 * 1000 + 100 + 10 * j) * 2 / 5);
            assert_int_equal(stamps[i].physiology[0], (100 + 10 * j) % 125 * 2 / 5);
            assert_true(a.position_mm[1] == 2 && a.dwell_us == 4);
            assert_int_equal(a.traj_dims, lines ? 0 : 2);
            for (int s = 0; !lines && s < SAMPLES; s++)
                for (int d = 0; d < 2; d++)
                    assert_true(a.traj[2 * s + d] == (float)(k[2 * (SAMPLES * j + s) + d] / 80));
            for (int c = 0; c < COILS; c++)
                assert_true(a.data[2 * SAMPLES * c] == 2 * SAMPLES * (j + READOUTS * c) + 1);
        }
    }
}

IN_FOLDER(readouts_that_do_not_fit_are_refused)
{
    OWNED(larmor_array) *traj = trajectory(2, 4, 0), *kspace = numbered(LARMOR_SHAPE(SAMPLES, READOUTS, COILS));
    OWNED(larmor_array) *flat = numbered(LARMOR_SHAPE(SAMPLES, READOUTS * COILS)), *long_one, *long_traj;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(65536, 1, 1), &long_one));
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, 65536, 1), &long_traj));
    const struct {
        larmor_acquisitions all;
        larmor_status status;
        const char *says;
    } refused[] = {
        {{.kspace = flat, .traj = traj}, LARMOR_ERR_SHAPE, "expected complex [samples, readouts, coils]"},
        {{.kspace = kspace, .traj = long_traj}, LARMOR_ERR_SHAPE, "readouts: trajectory: got f64 [2, 65536, 1]"},
        {{.kspace = long_one, .traj = long_traj}, LARMOR_ERR_SHAPE, "readouts: got 65536 samples x 1 coils"},
        {{.kspace = kspace, .traj = traj, .units = "rods"}, LARMOR_ERR_ARG, "trajectory units: got \"rods\""},
        {{.kspace = kspace, .traj = traj, .centre = 5}, LARMOR_ERR_ARG, "readouts: centre: got sample 5"},
        {{.traj = traj}, LARMOR_ERR_ARG, "kspace is NULL"},
        {{.kspace = kspace}, LARMOR_ERR_ARG, "traj is NULL"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(append(&refused[i].all, 0), refused[i].status, refused[i].says);
    assert_int_equal(files_in_folder(), 0);
}
