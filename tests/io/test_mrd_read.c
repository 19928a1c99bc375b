/* Reading good ISMRMRD files: every sample, counter and flag where it belongs. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

#include <ismrmrd/dataset.h>
#include <pthread.h>

/* 8 spokes of 64 samples and 3 coils arrive exactly. */
static void assert_the_radial_scan(const larmor_raw *raw)
{
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.acquisitions, 8);
    assert_int_equal(info.imaging, 8);
    assert_int_equal(info.coils, 3);
    assert_int_equal(info.groups, 1);
    assert_string_equal(info.traj_report, "1/FOV (kmax 32.0 of 32), confidence high");
    assert_string_equal(info.warnings, "");
    OWNED(larmor_samples) s = samples_of(raw, 0, 0);
    assert_shape(s.kspace, LARMOR_SHAPE(64, 8, 3));
    assert_shape(s.traj, LARMOR_SHAPE(2, 64, 8));
    assert_null(s.density);
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 8; r++)
            for (int n = 0; n < 64; n++) {
                const int at = n + 64 * (r + 8 * c);
                assert_true(kspace(&s)[2 * at] == (float)(1 + r) + (float)c / 8);
                assert_true(kspace(&s)[2 * at + 1] == (float)n / 1024);
                const double k = n - 32;
                assert_at_most(fabs(traj(&s)[2 * (n + 64 * r)] - k * cos(M_PI * r / 8)), 1e-5);
                assert_at_most(fabs(traj(&s)[2 * (n + 64 * r) + 1] - k * sin(M_PI * r / 8)), 1e-5);
            }
    assert_int_equal(s.step1[7], 7);
}

WITH_SCAN(all_layouts_of_a_file_give_the_same_samples)
{
    static const layout layouts[] = {{0},
                                     {.utf8 = 1},
                                     {.fixed_length = 1},
                                     {.fixed_length = 1, .utf8 = 1, .xml_chunked = 1},
                                     {.xml_chunked = 1},
                                     {.chunk = 3},
                                     {.chunk = 100},
                                     {.contiguous = 1},
                                     {.filters = 1},
                                     {.filters = 1, .chunk = 5}};
    OWNED(scan) *s = radial_scan(8, 3);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        write_scan_as(s, &layouts[i]);
        OWNED(larmor_raw) *raw = opened_with(NULL);
        assert_string_equal(larmor_raw_xml(raw), s->xml);
        assert_the_radial_scan(raw);
    }
}

WITH_SCAN(a_file_of_the_reference_library_is_read)
{
    OWNED(scan) *s = radial_scan(8, 3);
    unlink(path);
    ISMRMRD_Dataset set;
    ismrmrd_init_dataset(&set, path, "dataset");
    ismrmrd_open_dataset(&set, true);
    ismrmrd_write_header(&set, s->xml);
    for (int i = 0; i < s->count; i++) {
        ISMRMRD_Acquisition a = {s->r[i].head, s->r[i].traj.p, s->r[i].data.p};
        assert_int_equal(ismrmrd_append_acquisition(&set, &a), ISMRMRD_NOERROR);
    }
    ismrmrd_close_dataset(&set);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    assert_the_radial_scan(raw);
}

enum { READERS = 4, ROUNDS = 50 };

typedef struct reader {
    const larmor_raw *raw;
    larmor_device *dev;
    const larmor_samples *expected;
    int wrong;
} reader;

static void *read_again(void *user)
{
    reader *r = user;
    for (int i = 0; i < ROUNDS; i++) {
        larmor_encoding enc;
        larmor_group group;
        larmor_image_meta meta;
        OWNED(larmor_samples) s = {0};
        larmor_grid grid;
        r->wrong += larmor_raw_encoding(r->raw, 0, &enc) || larmor_encoding_grid(&enc, NULL, &grid) ||
                    larmor_raw_group(r->raw, 0, &group) || larmor_raw_image_meta(r->raw, 0, &meta) ||
                    larmor_raw_samples(r->raw, 0, &grid, 0, r->dev, &s);
        if (s.kspace) {
            r->wrong += memcmp(kspace(&s), kspace(r->expected), 8 * (size_t)larmor_array_count(s.kspace)) != 0;
            r->wrong += memcmp(traj(&s), traj(r->expected), 8 * (size_t)larmor_array_count(s.traj)) != 0;
        }
    }
    return NULL;
}

/* As the devices of a group take them. */
WITH_SCAN(several_threads_read_samples_at_the_same_time)
{
    OWNED(scan) *s = radial_scan(60, 3);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) expected = samples_of(raw, 0, 0);
    reader readers[READERS];
    pthread_t thread[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.raw = raw, .expected = &expected};
        assert_ok(larmor_device_open("cpu:1", &readers[i].dev));
        assert_int_equal(pthread_create(&thread[i], NULL, read_again, &readers[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(readers[i].wrong, 0);
        larmor_device_free(readers[i].dev);
    }
}

WITH_SCAN(reading_leaves_the_file_as_it_was)
{
    OWNED(scan) *s = radial_scan(4, 1);
    write_scan(s);
    size_t before, after;
    HEAP unsigned char *a = get_file(path, &before);
    chmod(path, 0400);
    larmor_raw_free(opened_with(NULL));
    refused_with(&(larmor_raw_opts){.group = "datset"}, LARMOR_ERR_FORMAT,
                 "no group /datset; found /dataset. Use opts.group.");
    HEAP unsigned char *b = get_file(path, &after);
    assert_int_equal(before, after);
    assert_memory_equal(a, b, before);
    chmod(path, 0600);
}

WITH_SCAN(discards_apply_to_data_and_trajectory_of_each_readout)
{
    OWNED(scan) *s = radial_scan(3, 2);
    s->r[0].head.discard_pre = 4;
    s->r[0].head.discard_post = 2;
    data_of(s, 0)[0] = NAN; /* what is discarded is not looked at */
    traj_of(s, 0)[0] = INFINITY;
    OWNED(larmor_raw) *raw = written(s);
    larmor_group g;
    assert_ok(larmor_raw_group(raw, 0, &g));
    assert_int_equal(g.regular, 0);
    assert_int_equal(g.samples, 64);
    assert_int_equal(g.total, 58 + 64 + 64);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.kspace, LARMOR_SHAPE(186, 1, 2));
    assert_shape(x.traj, LARMOR_SHAPE(2, 186, 1));
    assert_true(kspace(&x)[1] == 4.f / 1024 && kspace(&x)[2 * 57 + 1] == 61.f / 1024);
    assert_true(kspace(&x)[2 * 58] == 2 && kspace(&x)[2 * 58 + 1] == 0);
    assert_true(traj(&x)[0] == -28 && traj(&x)[2 * 57] == 29);
}

WITH_SCAN(flags_send_readouts_where_they_belong)
{
    OWNED(scan) *s = radial_scan(16, 2);
    static const int left_out[] = {23, 24, 26, 27, 28, 29, 30, 31};
    for (int i = 0; i < 8; i++) s->r[i].head.flags = LARMOR_ACQ_FLAG(left_out[i]);
    s->r[8].head.flags = LARMOR_ACQ_NOISE;
    s->r[9].head.flags = LARMOR_ACQ_CALIBRATION;
    s->r[10].head.flags = LARMOR_ACQ_CALIBRATION_AND_IMAGING;
    s->r[11].head.flags = LARMOR_ACQ_CALIBRATION | LARMOR_ACQ_CALIBRATION_AND_IMAGING;
    for (int bit = 1; bit <= 18; bit++)
        s->r[12].head.flags |= LARMOR_ACQ_FLAG(bit); /* first and last of everything */
    s->r[13].head.flags = LARMOR_ACQ_FLAG(25) | LARMOR_ACQ_FLAG(22) | LARMOR_ACQ_FLAG(53) | LARMOR_ACQ_FLAG(64);
    s->r[15].head.number_of_samples = 0;
    s->r[15].data.len = s->r[15].traj.len = 0;
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.dropped, 9);
    assert_non_null(strstr(info.dropped_report, "1 without samples"));
    assert_int_equal(info.noise, 1);
    assert_int_equal(info.calibration, 3);
    assert_int_equal(info.imaging, 6);
    assert_int_equal(info.completing, 1); /* which the image lacks */
    OWNED(larmor_samples) x = samples_of(raw, 0, 0), c = samples_of(raw, 0, 1);
    for (int r = 0; r < 6; r++) assert_int_equal(x.step1[r], 9 + r);
    assert_true(kspace(&x)[2 * 64 * 4] == 14);
    assert_at_most(fabs(traj(&x)[2 * 64 * 4] + 32 * cos(M_PI * 13 / 16)),
                   1e-5); /* REVERSE does not touch a stored one */
    for (int r = 0; r < 3; r++) assert_int_equal(c.step1[r], 9 + r);
    assert_shape(c.kspace, LARMOR_SHAPE(64, 3, 2));
}

WITH_SCAN(noise_scans_of_any_length_come_as_one_matrix)
{
    OWNED(scan) *s = radial_scan(4, 2);
    const int lengths[] = {10, 6};
    for (int i = 0; i < 2; i++) {
        const int r = add_readout(s, lengths[i], 2, 0);
        s->r[r].head.flags = LARMOR_ACQ_NOISE;
        s->r[r].head.sample_time_us = 20;
        s->r[r].head.encoding_space_ref = 3; /* means nothing here */
    }
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.conjugate = 1});
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.noise_samples, 16);
    assert_true(info.noise_dwell_us == 20 && info.dwell_us == 4 && info.noise_bandwidth == 0.793);
    OWN(larmor_array, *noise, larmor_raw_noise(raw, dev, &noise));
    assert_shape(noise, LARMOR_SHAPE(16, 2));
    bring_to_host(&noise);
    const float *x = larmor_array_data(noise);
    assert_true(x[0] == 5 && x[2 * 10] == 6 && x[2 * 16] == 5.125f);
    assert_true(x[2 * 9 + 1] == -9.f / 1024); /* conjugated like all data */
}

WITH_SCAN(groups_are_sorted_and_averages_add_readouts)
{
    OWNED(scan) *s = radial_scan(12, 1);
    for (int i = 0; i < 12; i++) {
        s->r[i].head.idx.slice = (uint16_t)(1 - i % 2);
        s->r[i].head.idx.average = (uint16_t)(i / 6);
        s->r[i].head.idx.segment = (uint16_t)i;
    }
    s->r[3].head.idx.repetition = 7;
    OWNED(larmor_raw) *raw = written(s);
    larmor_group g;
    assert_int_equal(larmor_raw_describe(raw).groups, 3);
    assert_ok(larmor_raw_group(raw, 0, &g));
    assert_true(g.slice == 0 && g.repetition == 0 && g.readouts == 5 && g.averages == 2 && g.regular);
    assert_ok(larmor_raw_group(raw, 1, &g));
    assert_true(g.slice == 0 && g.repetition == 7 && g.readouts == 1 && g.averages == 1);
    assert_ok(larmor_raw_group(raw, 2, &g));
    assert_true(g.slice == 1 && g.readouts == 6 && g.averages == 2);
    OWNED(larmor_samples) x = samples_of(raw, 2, 0);
    for (int r = 0; r < 6; r++) assert_int_equal(x.step1[r], 2 * r); /* in the order of the file */
    assert_refused(larmor_raw_group(raw, 3, &g), LARMOR_ERR_ARG, "raw: group 3, the file has 3");
}

WITH_SCAN(readouts_of_different_lengths_are_joined)
{
    OWNED(scan) *s = radial_scan(4, 2);
    add_readout(s, 1, 2, 2); /* at k = 0 */
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.kspace, LARMOR_SHAPE(257, 1, 2));
    assert_true(kspace(&x)[2 * 256] == 5 && kspace(&x)[2 * (257 + 256)] == 5.125f);
    assert_true(traj(&x)[2 * 256] == 0 && traj(&x)[2 * 256 + 1] == 0);
    assert_int_equal(x.outside, 0);
}

WITH_SCAN(a_coil_without_signal_is_left_out_with_a_warning)
{
    OWNED(scan) *s = radial_scan(4, 3);
    for (int i = 0; i < 4; i++) memset(data_of(s, i) + 2 * 64, 0, 2 * 64 * sizeof(float));
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.coils == 2 && info.dead_coils == 1);
    assert_string_equal(info.warnings, "channel 1 has no signal; left out.\n");
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.kspace, LARMOR_SHAPE(64, 4, 2));
    assert_true(kspace(&x)[2 * 64 * 4] == 1.25f);
}

/* A scan of four channels: 0 is good, 1 has no signal, 2 no noise, 3 next to no noise. */
static scan *scan_with_bad_coils(double noise)
{
    scan *s = radial_scan(4, 4);
    for (int i = 0; i < 4; i++) memset(data_of(s, i) + 2 * 64, 0, 2 * 64 * sizeof(float));
    const int n = add_readout(s, 64, 4, 0);
    s->r[n].head.flags = LARMOR_ACQ_NOISE;
    const double scale[] = {1, 1, 0, 1e-9};
    for (int k = 0; k < 2 * 64 * 4; k++) data_of(s, n)[k] = (float)(noise * scale[k / 128] * sin(k));
    return s;
}

WITH_SCAN(a_coil_without_noise_is_left_out_with_a_warning)
{
    scan *s = scan_with_bad_coils(1e-3);
    larmor_raw *raw = written(s);
    larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.coils == 1 && info.dead_coils == 3 && info.noise == 1);
    assert_string_equal(info.warnings, "channel 1 has no signal; left out.\nchannel 2 has no noise; left out.\n"
                                       "channel 3 has no noise; left out.\n");
    larmor_array *noise, *maps, *kept;
    assert_ok(larmor_raw_noise(raw, dev, &noise));
    assert_shape(noise, LARMOR_SHAPE(64, 1));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(5, 3), &maps));
    assert_int_equal(larmor_raw_keep_coils(raw, maps, 1, &kept), LARMOR_ERR_SHAPE);
    assert_null(kept);
    LMR_FREE(maps, noise);
    larmor_raw_free(raw);
    free_scan(s);
    s = scan_with_bad_coils(0);
    write_scan(s);
    raw = opened_with(NULL);
    info = larmor_raw_describe(raw);
    assert_true(info.coils == 3 && info.dead_coils == 1 && info.noise == 0 && info.noise_samples == 0);
    assert_string_equal(info.warnings,
                        "the noise scan holds no noise; it is not used.\nchannel 1 has no signal; left out.\n");
    assert_ok(larmor_raw_noise(raw, dev, &noise));
    assert_null(noise);
    larmor_raw_free(raw);
    free_scan(s);
}

WITH_SCAN(of_all_channels_those_that_are_kept_are_chosen)
{
    OWNED(scan) *s = radial_scan(4, 4);
    for (int i = 0; i < 4; i++) memset(data_of(s, i) + 2 * 64, 0, 2 * 64 * sizeof(float));
    OWNED(larmor_raw) *raw = written(s);
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    OWN(larmor_array, *maps, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 4), &maps));
    assert_ok(larmor_array_write(maps, values, sizeof values));
    OWN(larmor_array, *kept, larmor_raw_keep_coils(raw, maps, 1, &kept));
    bring_to_host(&kept);
    assert_shape(kept, LARMOR_SHAPE(2, 3));
    const float *x = larmor_array_data(kept);
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 5 && x[3] == 6 && x[4] == 7 && x[5] == 8);
    OWN(larmor_array, *same, larmor_raw_keep_coils(raw, kept, 1, &same)); /* of the right number already */
    assert_ptr_equal(kept, same);
}

/* Channel 1 of four is left out, of arrays [2, channels, 2] and back. */
WITH_SCAN(coils_are_kept_and_restored_in_any_dimension)
{
    OWNED(scan) *s = radial_scan(4, 4);
    for (int i = 0; i < 4; i++) memset(data_of(s, i) + 2 * 64, 0, 2 * 64 * sizeof(float));
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_array) *maps, *kept, *back;
    float values[16];
    for (int i = 0; i < 16; i++) values[i] = (float)(i + 1);
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 4, 2), &maps));
    assert_ok(larmor_array_write(maps, values, sizeof values));
    assert_int_equal(larmor_raw_keep_coils(raw, maps, 2, &kept), LARMOR_ERR_SHAPE);
    assert_int_equal(larmor_raw_keep_coils(raw, maps, 3, &kept), LARMOR_ERR_SHAPE);
    assert_ok(larmor_raw_keep_coils(raw, maps, 1, &kept));
    assert_shape(kept, LARMOR_SHAPE(2, 3, 2));
    assert_ok(larmor_raw_restore_coils(raw, kept, 1, &back));
    bring_to_host(&kept);
    bring_to_host(&back);
    assert_shape(back, LARMOR_SHAPE(2, 4, 2));
    const float *x = larmor_array_data(kept), *y = larmor_array_data(back);
    for (int i = 0; i < 16; i++) {
        const int channel = i / 2 % 4;
        const int coil = channel ? channel - 1 : 0;
        const float expected = channel == 1 ? 0 : values[i];
        assert_true(y[i] == expected);
        if (channel != 1) assert_true(x[i % 2 + 2 * (coil + 3 * (i / 8))] == expected);
    }
}

WITH_SCAN(nonfinite_acquisitions_are_left_out_on_demand)
{
    OWNED(scan) *s = radial_scan(5, 2);
    s->r[1].head.discard_pre = 3;
    data_of(s, 1)[2 * 64 + 2 * 7] = NAN;
    data_of(s, 1)[2 * 64 + 2 * 7 + 1] = INFINITY;
    data_of(s, 3)[5] = -INFINITY;
    write_scan(s);
    refused(
        "3 non-finite values, first in acquisition 1, channel 1, sample 7. Use opts.drop_nonfinite to leave those "
        "acquisitions out.");
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.drop_nonfinite = 1});
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.nonfinite == 2 && info.imaging == 3);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_true(x.step1[0] == 0 && x.step1[1] == 2 && x.step1[2] == 4);
    data_of(s, 1)[2 * 64 + 2 * 7] = data_of(s, 1)[2 * 64 + 2 * 7 + 1] = data_of(s, 3)[5] = 0;
    traj_of(s, 2)[11] = NAN;
    write_scan(s);
    refused(
        "1 non-finite trajectory values, first in acquisition 2, component 1, sample 5. Use opts.drop_nonfinite to "
        "leave "
        "those acquisitions out.");
}

WITH_SCAN(counters_beyond_the_limits_are_warned_of)
{
    space e = plane64;
    e.limits =
        "<kspace_encoding_step_1><minimum>0</minimum><maximum>2</maximum><center>1</center></kspace_encoding_step_1>";
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 5; i++) set_spoke(s, add_readout(s, 64, 1, 2), i, 32, 32);
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_string_equal(info.warnings,
                        "counter kspace_encode_step_1 reaches 4, encodingLimits end at 2; all readouts are used.\n");
    assert_int_equal(info.imaging, 5);
}

/* ---- Cartesian: the trajectory comes from the counters ---- */

WITH_SCAN(cartesian_lines_are_placed_by_their_counters)
{
    const space e = {{16, 8, 1}, {8, 8, 1}, {320, 160, 4}, {160, 160, 4}, "cartesian", ""};
    OWNED(scan) *s = cartesian_scan(&e, 1);
    s->r[2].head.flags = LARMOR_ACQ_REVERSE;
    for (int i = 0; i < 8; i++) s->r[i].head.discard_pre = 1;
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.traj_stored, 0);
    assert_string_equal(info.traj_units, "");
    larmor_grid grid;
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    assert_true(grid.ndim == 2 && grid.matrix[0] == 16 && grid.matrix[1] == 8 && grid.crop[0] == 8 &&
                grid.crop[1] == 8);
    assert_true(grid.fov_mm[0] == 320 && grid.fov_mm[1] == 160);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.traj, LARMOR_SHAPE(2, 15, 8));
    for (int r = 0; r < 8; r++)
        for (int n = 0; n < 15; n++) {
            const double *k = traj(&x) + 2 * (n + 15 * r);
            const double forward = n + 1 - 8, backward = 15 - (n + 1) - 8;
            assert_true(k[0] == (r == 2 ? backward : forward) && k[1] == r - 4);
            assert_true(kspace(&x)[2 * (n + 15 * r) + 1] == (float)(n + 1) / 1024); /* data stay in time order */
        }
}

WITH_SCAN(partial_fourier_lines_take_the_center_of_the_limits)
{
    const space e = {{16, 16, 4},
                     {16, 16, 4},
                     {160, 160, 40},
                     {160, 160, 40},
                     "cartesian",
                     "<kspace_encoding_step_1><minimum>0</minimum><maximum>11</maximum><center>4</center>"
                     "</kspace_encoding_step_1><kspace_encoding_step_2><maximum>3</maximum><center>1</center>"
                     "</kspace_encoding_step_2>"};
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 12; i++) s->r[add_readout(s, 32, 1, 0)].head.idx.kspace_encode_step_2 = (uint16_t)(i % 3);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.traj, LARMOR_SHAPE(3, 32, 12));
    assert_true(traj(&x)[0] == -16 && traj(&x)[3] == -15);
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "lines have 32 samples where encodedSpace has 16: it is taken to be without their "
                        "oversampling, which makes it 32 samples over 320 mm.\n");
    for (int r = 0; r < 12; r++)
        assert_true(traj(&x)[3 * 32 * r + 1] == r - 4 && traj(&x)[3 * 32 * r + 2] == r % 3 - 1);
}

WITH_SCAN(a_spiral_without_a_trajectory_has_none)
{
    space e = plane64;
    e.trajectory = "spiral";
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 3; i++) add_readout(s, 100, 1, 0);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_null(x.traj);
    assert_shape(x.kspace, LARMOR_SHAPE(100, 3, 1));
    assert_int_equal(x.step1[2], 2);
}

/* A scan of three channels, of which the last is made like the first, or all have no imaginary part. */
WITH_SCAN(channels_that_are_copies_or_real_are_warned_of)
{
    static const char *const warning[] = {
        "",
        "1 of 3 channels have the samples of another one, channel 2 those of channel 0: they are no coils of their "
        "own.\n",
        "all samples of 3 channels are real numbers, which no receiver gives: the imaginary parts, or the phase, are "
        "lost, and so is the image.\n",
    };
    for (int way = 0; way < 3; way++) {
        OWNED(scan) *s = empty_scan(&plane64);
        for (int r = 0; r < 4; r++) {
            add_readout(s, 64, 3, 2);
            set_spoke(s, r, M_PI * r / 4, 32, 32);
            float *x = data_of(s, r);
            if (way == 1) memcpy(x + 2 * 64 * 2, x, 2 * 64 * sizeof *x);
            for (int n = 0; n < 3 * 64 && way == 2; n++) x[2 * n + 1] = 0;
        }
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, warning[way]);
    }
}
