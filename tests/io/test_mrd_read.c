/* Reading good ISMRMRD files: every sample, counter and flag where it belongs. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

#include <ismrmrd/dataset.h>
#include <pthread.h>

static void assert_shape(const larmor_array *x, larmor_shape shape)
{
    const larmor_shape got = larmor_array_shape(x);
    assert_int_equal(got.ndim, shape.ndim);
    for (int d = 0; d < shape.ndim; d++) assert_int_equal(got.dim[d], shape.dim[d]);
}

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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    unsigned char *a = get_file(path, &before);
    chmod(path, 0400);
    larmor_raw_free(opened_with(NULL));
    refused_with(&(larmor_raw_opts){.group = "datset"}, LARMOR_ERR_FORMAT,
                 "no group /datset; found /dataset. Use opts.group.");
    unsigned char *b = get_file(path, &after);
    assert_int_equal(before, after);
    assert_memory_equal(a, b, before);
    chmod(path, 0600);
    free(a);
    free(b);
}

WITH_SCAN(discards_apply_to_data_and_trajectory_of_each_readout)
{
    OWNED(scan) *s = radial_scan(3, 2);
    s->r[0].head.discard_pre = 4;
    s->r[0].head.discard_post = 2;
    data_of(s, 0)[0] = NAN; /* what is discarded is not looked at */
    traj_of(s, 0)[0] = INFINITY;
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.dropped, 8);
    assert_int_equal(info.noise, 1);
    assert_int_equal(info.calibration, 3);
    assert_int_equal(info.imaging, 7);
    assert_int_equal(info.completing, 1); /* which the image lacks */
    OWNED(larmor_samples) x = samples_of(raw, 0, 0), c = samples_of(raw, 0, 1);
    for (int r = 0; r < 7; r++) assert_int_equal(x.step1[r], 9 + r);
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
    OWNED(larmor_array) *noise;
    assert_ok(larmor_raw_noise(raw, dev, &noise));
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    larmor_group g;
    assert_int_equal(larmor_raw_describe(raw).groups, 3);
    assert_ok(larmor_raw_group(raw, 0, &g));
    assert_true(g.slice == 0 && g.repetition == 0 && g.readouts == 5 && g.averages == 2 && g.regular);
    assert_ok(larmor_raw_group(raw, 1, &g));
    assert_true(g.slice == 0 && g.repetition == 7 && g.readouts == 1 && g.averages == 1);
    assert_ok(larmor_raw_group(raw, 2, &g));
    assert_true(g.slice == 1 && g.readouts == 6 && g.averages == 2);
    larmor_samples x = samples_of(raw, 2, 0);
    for (int r = 0; r < 6; r++) assert_int_equal(x.step1[r], 2 * r); /* in the order of the file */
    larmor_samples_free(&x);
    assert_refused(larmor_raw_group(raw, 3, &g), LARMOR_ERR_ARG, "raw: group 3, the file has 3");
}

WITH_SCAN(readouts_of_different_lengths_are_joined)
{
    OWNED(scan) *s = radial_scan(4, 2);
    add_readout(s, 1, 2, 2); /* at k = 0 */
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    write_scan(s);
    larmor_raw *raw = opened_with(NULL);
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
    larmor_array_free(maps);
    larmor_array_free(noise);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    OWNED(larmor_array) *maps, *kept, *same;
    const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 4), &maps));
    assert_ok(larmor_array_write(maps, values, sizeof values));
    assert_ok(larmor_raw_keep_coils(raw, maps, 1, &kept));
    bring_to_host(&kept);
    assert_shape(kept, LARMOR_SHAPE(2, 3));
    const float *x = larmor_array_data(kept);
    assert_true(x[0] == 1 && x[1] == 2 && x[2] == 5 && x[3] == 6 && x[4] == 7 && x[5] == 8);
    assert_ok(larmor_raw_keep_coils(raw, kept, 1, &same)); /* of the right number already */
    assert_ptr_equal(kept, same);
}

/* Channel 1 of four is left out, of arrays [2, channels, 2] and back. */
WITH_SCAN(coils_are_kept_and_restored_in_any_dimension)
{
    OWNED(scan) *s = radial_scan(4, 4);
    for (int i = 0; i < 4; i++) memset(data_of(s, i) + 2 * 64, 0, 2 * 64 * sizeof(float));
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    larmor_raw *raw = opened_with(&(larmor_raw_opts){.drop_nonfinite = 1});
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.nonfinite == 2 && info.imaging == 3);
    larmor_samples x = samples_of(raw, 0, 0);
    assert_true(x.step1[0] == 0 && x.step1[1] == 2 && x.step1[2] == 4);
    larmor_samples_free(&x);
    larmor_raw_free(raw);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
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
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_shape(x.traj, LARMOR_SHAPE(3, 32, 12));
    assert_true(traj(&x)[0] == -8 && traj(&x)[3] == -7.5); /* 32 samples over 16 cells: twice oversampled */
    for (int r = 0; r < 12; r++)
        assert_true(traj(&x)[3 * 32 * r + 1] == r - 4 && traj(&x)[3 * 32 * r + 2] == r % 3 - 1);
}

WITH_SCAN(a_spiral_without_a_trajectory_has_none)
{
    space e = plane64;
    e.trajectory = "spiral";
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 3; i++) add_readout(s, 100, 1, 0);
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_null(x.traj);
    assert_shape(x.kspace, LARMOR_SHAPE(100, 3, 1));
    assert_int_equal(x.step1[2], 2);
}

/* ---- grid and geometry ---- */

WITH_SCAN(samples_beyond_the_grid_are_left_out_and_counted)
{
    space e = plane64;
    e.recon[0] = e.recon[1] = 32; /* half the resolution on the same field of view */
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 2; i++) set_spoke(s, add_readout(s, 64, 1, 2), M_PI / 2 * i, 32, 32);
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(x.outside, 2 * 31); /* -16 to 16 stay */
    assert_shape(x.kspace, LARMOR_SHAPE(66, 1, 1));
    assert_true(traj(&x)[0] == -16 && traj(&x)[2 * 32] == 16 && kspace(&x)[1] == 16.f / 1024);
}

WITH_SCAN(the_grid_has_the_voxels_of_the_recon_space_on_the_larger_field_of_view)
{
    static const struct {
        int matrix, recon;
        double fov, recon_fov;
        int grid, crop;
        double grid_fov;
    } cases[] = {{512, 256, 512, 256, 512, 256, 512}, {64, 128, 256, 256, 128, 128, 256},
                 {64, 63, 64, 63, 64, 63, 64},        {63, 63, 63, 63, 63, 63, 63},
                 {66, 63, 65, 63, 66, 63, 66},        {100, 120, 100, 120, 120, 120, 120}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const space e = {{cases[i].matrix, 64, 1},
                         {cases[i].recon, 64, 1},
                         {cases[i].fov, 64, 5},
                         {cases[i].recon_fov, 64, 5},
                         "cartesian",
                         ""};
        OWNED(scan) *s = empty_scan(&e);
        add_readout(s, cases[i].matrix, 1, 0);
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(NULL);
        larmor_grid g;
        assert_ok(larmor_raw_grid(raw, 0, NULL, &g));
        assert_int_equal(g.matrix[0], cases[i].grid);
        assert_int_equal(g.crop[0], cases[i].crop);
        assert_at_most(fabs(g.fov_mm[0] - cases[i].grid_fov), 1e-9);
    }
}

WITH_SCAN(geometry_comes_from_the_first_imaging_readout_of_the_group)
{
    OWNED(scan) *s = radial_scan(4, 1);
    s->r[0].head.flags = LARMOR_ACQ_NAVIGATION;
    ISMRMRD_AcquisitionHeader *h = &s->r[1].head;
    h->position[0] = 1.5f;
    h->position[2] = -20;
    h->patient_table_position[1] = 7;
    h->read_dir[0] = 0;
    h->read_dir[1] = 1;
    h->phase_dir[1] = 0;
    h->phase_dir[2] = -1;
    h->slice_dir[2] = 0;
    h->slice_dir[0] = -1;
    h->measurement_uid = 0xfedcba98u;
    h->acquisition_time_stamp = 123456;
    h->physiology_time_stamp[2] = 9;
    for (int i = 1; i < 4; i++) s->r[i].head.idx.slice = 4;
    write_scan(s);
    larmor_raw *raw = opened_with(NULL);
    larmor_image_meta m;
    assert_ok(larmor_raw_image_meta(raw, 0, &m));
    assert_true(m.position_mm[0] == 1.5 && m.position_mm[2] == -20 && m.table_mm[1] == 7 && m.fov_mm[0] == 192);
    assert_true(m.read_dir[1] == 1 && m.phase_dir[2] == -1 && m.slice_dir[0] == -1 && m.slice == 4);
    assert_true(m.measurement_uid == 0xfedcba98u && m.time_stamp == 123456 && m.physiology_stamp[2] == 9);
    larmor_raw_free(raw);
    memset(h->phase_dir, 0, sizeof h->phase_dir); /* as simulators leave it */
    write_scan(s);
    raw = opened_with(NULL);
    assert_ok(larmor_raw_image_meta(raw, 0, &m));
    assert_true(m.read_dir[0] == 1 && m.phase_dir[1] == 1 && m.slice_dir[2] == 1 && m.slice_dir[0] == 0);
    assert_int_equal(m.place_unknown, 1);
    larmor_raw_free(raw);
}

/* Two slices 5 mm apart, then with one thing wrong each. */
WITH_SCAN(a_place_that_the_scan_does_not_say_is_a_warning)
{
    static const char *const said[] = {"",
                                       "2 of 4 readouts have no directions: the images' orientation in the patient "
                                       "is unknown, which is what NIfTI files "
                                       "say (code 0).\n",
                                       "4 of 4 readouts have no position: 0 is taken for it.\n2 of 2 slices are at "
                                       "the same position as another one: "
                                       "where they lie is not known, which is what NIfTI files say (code 0).\n",
                                       "2 of 2 slices are at the same position as another one: where they lie is not "
                                       "known, which is what NIfTI files say "
                                       "(code 0).\n"};
    for (int wrong = 0; wrong < 4; wrong++) {
        OWNED(scan) *s = radial_scan(4, 1);
        for (int i = 0; i < 4; i++) {
            ISMRMRD_AcquisitionHeader *h = &s->r[i].head;
            h->idx.slice = (uint16_t)(i / 2);
            h->position[2] = wrong == 3 ? 5 : 5 * (float)(i / 2);
            if (wrong == 1 && i < 2) h->slice_dir[2] = 0;
            if (wrong == 2) h->position[1] = h->position[2] = (float)NAN;
        }
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.join = "none"});
        larmor_image_meta m;
        assert_string_equal(larmor_raw_describe(raw).warnings, said[wrong]);
        assert_ok(larmor_raw_image_meta(raw, 0, &m));
        assert_int_equal(m.place_unknown, wrong == 1 || wrong == 2);
    }
}

/* The samples get the phase of the shift; the images lie there, once. */
WITH_SCAN(a_shift_moves_the_field_of_view)
{
    enum { N = 4 };
    const double mm[3] = {60, -20, 0};
    for (int way = 0; way < 2;
         way++) { /* samples about the isocentre, whose heads have 0 or the shift for a position */
        OWNED(scan) *s = radial_scan(N, 2);
        for (int i = 0; i < N && way; i++)
            for (int d = 0; d < 2; d++) s->r[i].head.position[d] = (float)mm[d];
        write_scan(s);
        larmor_raw *plain = opened_with(NULL);
        larmor_raw *raw = opened_with(&(larmor_raw_opts){.shift_mm = {60, -20}});
        larmor_samples x = samples_of(plain, 0, 0), y = samples_of(raw, 0, 0);
        for (int64_t i = 0; i < 2 * 64 * N; i++) {
            const double *k = traj(&x) + 2 * (i % (64 * N));
            const double angle = 2 * M_PI * (k[0] * mm[0] + k[1] * mm[1]) / 192;
            const double re = (double)kspace(&x)[2 * i], im = (double)kspace(&x)[2 * i + 1];
            assert_at_most(fabs((double)kspace(&y)[2 * i] - (re * cos(angle) - im * sin(angle))), 1e-5);
            assert_at_most(fabs((double)kspace(&y)[2 * i + 1] - (re * sin(angle) + im * cos(angle))), 1e-5);
        }
        larmor_image_meta m;
        assert_ok(larmor_raw_image_meta(raw, 0, &m));
        for (int d = 0; d < 3; d++) assert_true(m.position_mm[d] == mm[d]);
        assert_true(larmor_raw_fingerprint(raw) != larmor_raw_fingerprint(plain));
        larmor_samples_free(&x);
        larmor_samples_free(&y);
        larmor_raw_free(plain);
        larmor_raw_free(raw);
        assert_int_equal(larmor_raw_open(path, &(larmor_raw_opts){.shift_mm = {NAN}}, &raw), LARMOR_ERR_ARG);
        assert_string_equal(larmor_last_error(), "shift: nan mm, a finite number expected.");
    }
}

/* What asks for nothing along z is taken: a matrix and an oversample of 1, the thickness of the slice. */
WITH_SCAN(values_along_z_of_a_2d_scan_are_refused)
{
    OWNED(scan) *s = radial_scan(4, 2);
    write_scan(s);
    larmor_raw *raw = opened_with(NULL), *shifted;
    larmor_encoding e;
    larmor_grid grid;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    const double thick = e.recon_fov_mm[2];
    const struct {
        larmor_grid_opts opts;
        const char *says;
    } of[] = {{{.matrix = {32, 32, 32}}, "opts.matrix: got 32 along z, but the scan is 2D; leave that number out."},
              {{.fov_mm = {192, 192, thick + 1}}, "opts.fov_mm: got "},
              {{.oversample = {1, 1, 2}}, "opts.oversample: got 2 along z, but the scan is 2D"},
              {{.matrix = {32, 32, 1}, .fov_mm = {192, 192, thick}, .oversample = {1, 1, 1}}, NULL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].says)
            assert_refused(larmor_raw_grid(raw, 0, &of[i].opts, &grid), LARMOR_ERR_ARG, of[i].says);
        else
            assert_ok(larmor_raw_grid(raw, 0, &of[i].opts, &grid));
    }
    larmor_raw_free(raw);
    assert_refused(larmor_raw_open(path, &(larmor_raw_opts){.shift_mm = {1, 2, 3}}, &shifted), LARMOR_ERR_ARG,
                   "opts.shift_mm: got 3 along z, but the scan is 2D");
}
