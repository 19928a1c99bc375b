/* Raw data that larmor writes: read back by the format's reference library. SPDX-License-Identifier: Apache-2.0 */
#include <ismrmrd/dataset.h>
#include <ismrmrd/ismrmrd.h>

#include "tests/io/files.h"

#include <hdf5.h>
#include <locale.h>

static const larmor_scan scan = {.encoding = {.matrix = {128, 96, 1},
                                              .recon_matrix = {64, 48, 1},
                                              .fov_mm = {400.5, 300, 5},
                                              .recon_fov_mm = {200.25, 150, 5},
                                              .trajectory = "radial",
                                              .ndim = 2},
                                 .coils = 3,
                                 .readouts = 150,
                                 .slices = 2,
                                 .noise_bandwidth = 0.793,
                                 .description = "brain <1> & more",
                                 .acceleration = {3, 0},
                                 .calibration = "embedded"};

#define SAMPLES 20

static float number(int acquisition, int i)
{
    return (float)acquisition + (float)i / 128;
}

static larmor_acquisition acquisition_of(int i, float *data, float *traj)
{
    larmor_acquisition a = {.flags = i == 149 ? LARMOR_ACQ_LAST_IN_MEASUREMENT : LARMOR_ACQ_REVERSE,
                            .samples = i % 2 ? SAMPLES : SAMPLES - 1,
                            .coils = 3,
                            .traj_dims = i == 0 ? 0 : 2,
                            .discard_pre = 2,
                            .discard_post = 3,
                            .center_sample = 10,
                            .dwell_us = 2.5,
                            .step1 = i,
                            .step2 = 1,
                            .average = 2,
                            .slice = i % 2,
                            .contrast = 4,
                            .phase = 5,
                            .repetition = 6,
                            .set = 7,
                            .segment = 65535,
                            .position_mm = {1, 2, 3.5},
                            .read_dir = {1},
                            .phase_dir = {0, 1},
                            .slice_dir = {0, 0, 1},
                            .data = data,
                            .traj = traj};
    for (int k = 0; k < 2 * a.samples * a.coils; k++) data[k] = number(i, k);
    for (int k = 0; k < a.samples * a.traj_dims; k++) traj[k] = -number(i, k);
    return a;
}

static void write_scan(const char *path, int count)
{
    larmor_output *out = MADE(larmor_output, larmor_output_open(path, 0, &made));
    larmor_raw_writer *writer = MADE(larmor_raw_writer, larmor_raw_create(out, &scan, &made));
    for (int i = 0; i < count; i++) {
        float data[2 * SAMPLES * 3], traj[2 * SAMPLES];
        const larmor_acquisition a = acquisition_of(i, data, traj);
        assert_ok(larmor_raw_append(writer, &a));
    }
    assert_false(is_there(path));
    assert_ok(larmor_raw_finish(writer));
    assert_refused(larmor_raw_finish(writer), LARMOR_ERR_ARG, "was written already");
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 1);
}

static void check_head(const ISMRMRD_AcquisitionHeader *h, const larmor_acquisition *a, int i)
{
    assert_int_equal(h->version, 1);
    assert_int_equal(h->flags, a->flags);
    assert_int_equal(h->scan_counter, i);
    assert_int_equal(h->number_of_samples, a->samples);
    assert_int_equal(h->available_channels, 3);
    assert_int_equal(h->active_channels, 3);
    assert_int_equal(h->channel_mask[0], 7);
    assert_int_equal(h->discard_pre, 2);
    assert_int_equal(h->discard_post, 3);
    assert_int_equal(h->center_sample, 10);
    assert_int_equal(h->encoding_space_ref, 0);
    assert_int_equal(h->trajectory_dimensions, a->traj_dims);
    assert_true(h->sample_time_us == 2.5f);
    assert_true(h->position[0] == 1 && h->position[1] == 2 && h->position[2] == 3.5f);
    assert_true(h->read_dir[0] == 1 && h->phase_dir[1] == 1 && h->slice_dir[2] == 1);
    assert_int_equal(h->idx.kspace_encode_step_1, i);
    assert_int_equal(h->idx.kspace_encode_step_2, 1);
    assert_int_equal(h->idx.average, 2);
    assert_int_equal(h->idx.slice, i % 2);
    assert_int_equal(h->idx.contrast, 4);
    assert_int_equal(h->idx.phase, 5);
    assert_int_equal(h->idx.repetition, 6);
    assert_int_equal(h->idx.set, 7);
    assert_int_equal(h->idx.segment, 65535);
}

IN_FOLDER(reference_library_reads_every_acquisition)
{
    const char *path = in_folder("scan.h5");
    write_scan(path, 150); /* two batches and a rest */
    ISMRMRD_Dataset d;
    assert_int_equal(ismrmrd_init_dataset(&d, path, "dataset"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, false), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_get_number_of_acquisitions(&d), 150);
    for (int i = 0; i < 150; i++) {
        float data[2 * SAMPLES * 3], traj[2 * SAMPLES];
        const larmor_acquisition a = acquisition_of(i, data, traj);
        ISMRMRD_Acquisition got;
        ismrmrd_init_acquisition(&got);
        assert_int_equal(ismrmrd_read_acquisition(&d, (uint32_t)i, &got), ISMRMRD_NOERROR);
        check_head(&got.head, &a, i);
        assert_memory_equal(got.data, data, (size_t)(2 * a.samples * a.coils) * sizeof(float));
        if (a.traj_dims) assert_memory_equal(got.traj, traj, (size_t)(a.samples * a.traj_dims) * sizeof(float));
        ismrmrd_cleanup_acquisition(&got);
    }
    ismrmrd_close_dataset(&d);
}

static void assert_within(const char *xml, const char *text)
{
    if (!strstr(xml, text)) fail_msg("%s\nis not in\n%s", text, xml);
}

IN_FOLDER(header_has_what_the_schema_asks_for)
{
    const char *path = in_folder("scan.h5");
    write_scan(path, 1);
    ISMRMRD_Dataset d;
    assert_int_equal(ismrmrd_init_dataset(&d, path, "dataset"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, false), ISMRMRD_NOERROR);
    HEAP char *xml = ismrmrd_read_header(&d);
    assert_non_null(xml);
    assert_within(xml, "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">");
    assert_within(xml, "<patientPosition>HFS</patientPosition>");
    assert_within(xml, "<protocolName>brain &lt;1&gt; &amp; more</protocolName>");
    assert_within(xml, "<systemFieldStrength_T>3</systemFieldStrength_T>");
    assert_within(xml, "<relativeReceiverNoiseBandwidth>0.793</relativeReceiverNoiseBandwidth>");
    assert_within(xml, "<receiverChannels>3</receiverChannels>");
    assert_within(xml, "<H1resonanceFrequency_Hz>127732436</H1resonanceFrequency_Hz>"); /* 3 * 42577478.518 */
    assert_within(xml, "<matrixSize><x>128</x><y>96</y><z>1</z></matrixSize>\n"
                       "      <fieldOfView_mm><x>400.5</x><y>300</y><z>5</z></fieldOfView_mm>\n    </encodedSpace>");
    assert_within(xml, "<matrixSize><x>64</x><y>48</y><z>1</z></matrixSize>\n"
                       "      <fieldOfView_mm><x>200.25</x><y>150</y><z>5</z></fieldOfView_mm>\n    </reconSpace>");
    assert_within(xml, "<kspace_encoding_step_1><minimum>0</minimum><maximum>149</maximum><center>75</center>");
    assert_within(xml, "<kspace_encoding_step_2><minimum>0</minimum><maximum>0</maximum><center>0</center>");
    assert_within(xml, "<slice><minimum>0</minimum><maximum>1</maximum>");
    assert_within(xml, "<repetition><minimum>0</minimum><maximum>0</maximum>");
    assert_within(xml, "<trajectory>radial</trajectory>");
    assert_within(xml, "<accelerationFactor><kspace_encoding_step_1>3</kspace_encoding_step_1>"
                       "<kspace_encoding_step_2>1</kspace_encoding_step_2></accelerationFactor>");
    assert_within(xml, "<calibrationMode>embedded</calibrationMode>");
    ismrmrd_close_dataset(&d);
}

IN_FOLDER(numbers_have_a_point_in_every_locale)
{
    char *const before = strdup(setlocale(LC_ALL, NULL));
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    int found = 0;
    for (size_t i = 0; i < 4 && !found; i++) found = setlocale(LC_ALL, commas[i]) != NULL;
    if (found) header_has_what_the_schema_asks_for(state);
    setlocale(LC_ALL, before);
    free(before);
    if (!found) skip();
}

IN_FOLDER(values_out_of_range_are_refused_by_name)
{
    float data[2 * SAMPLES * 3], traj[2 * SAMPLES];
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("scan.h5"), 0, &made));
    larmor_raw_writer *writer = MADE(larmor_raw_writer, larmor_raw_create(out, &scan, &made));
    const larmor_acquisition good = acquisition_of(1, data, traj);
    larmor_acquisition a = good;
    a.samples = 65536;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG,
                   "scan.h5: acquisition 0: samples: got 65536, expected 1 to 65535");
    a = good;
    a.coils = 0;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "coils: got 0, expected 1 to 1024");
    a = good;
    a.traj_dims = 17;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "traj_dims: got 17, expected 0 to 16");
    a = good;
    a.discard_post = 18;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "discard_post: got 18, expected 0 to 17");
    a = good;
    a.step1 = -1;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "step1: got -1, expected 0 to 65535");
    a = good;
    a.encoding = 1;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "encoding: got 1, expected 0 to 0");
    a = good;
    a.data = NULL;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "no data given");
    a = good;
    a.traj = NULL;
    assert_refused(larmor_raw_append(writer, &a), LARMOR_ERR_ARG, "no trajectory given");
    assert_refused(larmor_raw_finish(writer), LARMOR_ERR_ARG, "no acquisitions to write");
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(scan_that_the_header_cannot_hold_is_refused)
{
    OWN(larmor_output, *out, larmor_output_open(in_folder("scan.h5"), 0, &out));
    larmor_scan s = scan;
    s.encoding.matrix[1] = 0;
    assert_none_made(larmor_raw_writer, larmor_raw_create(out, &s, &made), LARMOR_ERR_ARG,
                     "encoded matrix y: got 0, expected 1 to 65535");
    s = scan;
    s.encoding.recon_fov_mm[2] = 0;
    assert_none_made(larmor_raw_writer, larmor_raw_create(out, &s, &made), LARMOR_ERR_ARG,
                     "recon field of view z: got 0, expected a pos");
    s = scan;
    strcpy(s.encoding.trajectory, "zigzag");
    assert_none_made(larmor_raw_writer, larmor_raw_create(out, &s, &made), LARMOR_ERR_ARG,
                     "trajectory \"zigzag\" unknown; cartesian, epi");
    s = scan;
    s.coils = 1025;
    assert_none_made(larmor_raw_writer, larmor_raw_create(out, &s, &made), LARMOR_ERR_ARG,
                     "coils: got 1025, expected 1 to 1024");
    s = scan;
    s.readouts = 70000;
    assert_none_made(larmor_raw_writer, larmor_raw_create(out, &s, &made), LARMOR_ERR_ARG,
                     "a counter of the scan runs to 70000");
    OWN(larmor_output, *png, larmor_output_open(in_folder("scan.png"), 0, &png));
    assert_none_made(larmor_raw_writer, larmor_raw_create(png, &scan, &made), LARMOR_ERR_ARG,
                     "raw data go to .h5 files, not .png");
}

/* A writer of scan.h5 with a hundred acquisitions, not finished. */
static larmor_raw_writer *begun(int force, larmor_output **out)
{
    float data[2 * SAMPLES * 3], traj[2 * SAMPLES];
    const larmor_acquisition a = acquisition_of(1, data, traj);
    assert_ok(larmor_output_open(in_folder("scan.h5"), force, out));
    larmor_raw_writer *writer = MADE(larmor_raw_writer, larmor_raw_create(*out, &scan, &made));
    for (int i = 0; i < 100; i++) assert_ok(larmor_raw_append(writer, &a));
    return writer;
}

IN_FOLDER(writer_that_is_not_finished_leaves_nothing)
{
    larmor_output *out;
    larmor_raw_writer_free(begun(0, &out));
    larmor_output_free(out);
    larmor_raw_writer_free(NULL);
    assert_int_equal(files_in_folder(), 0);
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE | H5F_OBJ_DATASET | H5F_OBJ_GROUP), 0);
}

IN_FOLDER(failing_disk_keeps_the_old_file_and_leaves_hdf5_clean)
{
    larmor_output *out;
    put_file(in_folder("scan.h5"), "old", 3);
    larmor_raw_writer *writer = begun(1, &out);
    limit_files(8192);
    const larmor_status st = larmor_raw_finish(writer);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, LARMOR_ERR_IO);
    assert_non_null(strstr(larmor_last_error(), "nothing written."));
    assert_int_equal(files_in_folder(), 1);
    assert_refused(larmor_raw_append(writer, &(larmor_acquisition){0}), LARMOR_ERR_ARG, "was written already");
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    size_t bytes;
    free(get_file(in_folder("scan.h5"), &bytes));
    assert_int_equal(bytes, 3);
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE | H5F_OBJ_DATASET | H5F_OBJ_GROUP), 0);
}

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
#define get_object H5Oget_info_by_name3
#else
typedef H5O_info_t object_info;
#define get_object H5Oget_info_by_name2
#endif

/* HDF5 would note the second in which each dataset is made. */
IN_FOLDER(files_do_not_tell_when_they_were_made)
{
    static const char *const made[] = {"scan.h5", "image.h5"};
    static const char *const datasets[2][3] = {
        {"/dataset/xml", "/dataset/data", "/dataset/data"},
        {"/dataset/image_0/header", "/dataset/image_0/data", "/dataset/image_0/attributes"}};
    write_scan(in_folder(made[0]), 1);
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 4), 1);
    assert_ok(write_image(in_folder(made[1]), 0, x, NULL));
    for (int f = 0; f < 2; f++) {
        const hid_t file = H5Fopen(in_folder(made[f]), H5F_ACC_RDONLY, H5P_DEFAULT);
        for (int d = 0; d < 3; d++) {
            object_info info;
            assert_true(get_object(file, datasets[f][d], &info, H5O_INFO_TIME, H5P_DEFAULT) >= 0);
            assert_int_equal(info.ctime, 0);
        }
        H5Fclose(file);
    }
}

/* Written and read by larmor: the same samples and counters, and the trajectory in its own units. */
IN_FOLDER(larmor_reads_what_it_wrote)
{
    enum { READOUTS = 100, LINE = 64 };
    larmor_scan radial = scan;
    for (int d = 0; d < 2; d++) radial.encoding.matrix[d] = radial.encoding.recon_matrix[d] = LINE;
    for (int d = 0; d < 2; d++) radial.encoding.fov_mm[d] = radial.encoding.recon_fov_mm[d] = 200;
    float data[READOUTS][2][LINE][2], traj[READOUTS][LINE][2];
    uint64_t seed = 11;
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("scan.h5"), 0, &made));
    larmor_raw_writer *writer = MADE(larmor_raw_writer, larmor_raw_create(out, &radial, &made));
    for (int r = 0; r < READOUTS; r++) {
        for (int i = 0; i < 4 * LINE; i++) (&data[r][0][0][0])[i] = (float)test_random(&seed);
        for (int k = 0; k < LINE; k++) {
            const double angle = 3.141592653589793 * r / READOUTS;
            traj[r][k][0] = (float)((k - LINE / 2) * cos(angle));
            traj[r][k][1] = (float)((k - LINE / 2) * sin(angle));
        }
        const larmor_acquisition a = {.samples = LINE,
                                      .coils = 2,
                                      .traj_dims = 2,
                                      .center_sample = LINE / 2,
                                      .dwell_us = 2,
                                      .step1 = r,
                                      .read_dir = {1},
                                      .phase_dir = {0, 1},
                                      .slice_dir = {0, 0, 1},
                                      .data = &data[r][0][0][0],
                                      .traj = &traj[r][0][0]};
        assert_ok(larmor_raw_append(writer, &a));
    }
    assert_ok(larmor_raw_finish(writer));
    larmor_raw_writer_free(writer);
    larmor_output_free(out);

    larmor_grid grid;
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    assert_string_equal(larmor_raw_describe(raw).traj_units, "1/fov");
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_samples, samples, larmor_raw_samples(raw, 0, &grid, 0, dev, &samples));
    assert_true(larmor_shape_equal(larmor_array_shape(samples.kspace), LARMOR_SHAPE(LINE, READOUTS, 2)));
    HEAP float *k = host_of(samples.kspace);
    HEAP double *t = host_of(samples.traj);
    for (int r = 0; r < READOUTS; r++) {
        assert_int_equal(samples.step1[r], r);
        for (int coil = 0; coil < 2; coil++)
            assert_memory_equal(k + 2 * LINE * (coil * READOUTS + r), data[r][coil], sizeof data[r][coil]);
        for (int i = 0; i < 2 * LINE; i++)
            assert_at_most(fabs(t[2 * LINE * r + i] - (&traj[r][0][0])[i]), 1e-6 * LINE);
    }
}
