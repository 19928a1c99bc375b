/* Waveforms of ISMRMRD files: written, read, beside the format's reference library, and damaged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

#include <ismrmrd/dataset.h>
#include <ismrmrd/waveform.h>

enum { SAMPLES = 50, CHANNELS = 2, BLOCKS = 70 /* more than a chunk */ };

static uint32_t number(int block, int i)
{
    return (uint32_t)(block * 1000 + i) + (i % 7 ? 0 : 0xfffff000u);
}

/* A scan of one readout with blocks of an ECG and of a custom waveform in turn. */
static void write_blocks(const char *to)
{
    static const larmor_waveform_info info[] = {{0, LARMOR_WAVEFORM_ECG, 1}, {1030, LARMOR_WAVEFORM_RESPIRATION, -1}};
    const larmor_scan described = {.encoding = {.matrix = {8, 8, 1},
                                                .recon_matrix = {8, 8, 1},
                                                .fov_mm = {256, 256, 5},
                                                .recon_fov_mm = {256, 256, 5},
                                                .trajectory = "radial",
                                                .ndim = 2},
                                   .coils = 1,
                                   .waveform = info,
                                   .waveforms = 2};
    const float data[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const float traj[16] = {-4, 0, -3, 0, -2, 0, -1, 0, 0, 0, 1, 0, 2, 0, 3, 0};
    const larmor_acquisition a = {.samples = 8,
                                  .coils = 1,
                                  .traj_dims = 2,
                                  .center_sample = 4,
                                  .read_dir = {1},
                                  .phase_dir = {0, 1},
                                  .slice_dir = {0, 0, 1},
                                  .data = data,
                                  .traj = traj};
    OWN(larmor_output, *out, larmor_output_open(to, 0, &out));
    OWN(larmor_raw_writer, *writer, larmor_raw_create(out, &described, &writer));
    assert_ok(larmor_raw_append(writer, &a));
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t values[SAMPLES * CHANNELS];
        for (int i = 0; i < SAMPLES * CHANNELS; i++) values[i] = number(b, i);
        const larmor_waveform w = {.id = b % 2 ? 1030 : 0,
                                   .channels = CHANNELS,
                                   .samples = SAMPLES - b % 3,
                                   .time_stamp = 7u + (unsigned)b,
                                   .sample_us = 2500,
                                   .data = values};
        assert_ok(larmor_raw_append_waveform(writer, &w));
    }
    assert_ok(larmor_raw_finish(writer));
}

static void assert_blocks(const larmor_raw *raw)
{
    larmor_waveform w;
    assert_string_equal(larmor_raw_describe(raw).warnings, "");
    assert_int_equal(larmor_raw_waveforms(raw), BLOCKS);
    for (int b = 0; b < BLOCKS; b++) {
        assert_ok(larmor_raw_waveform(raw, b, &w));
        assert_int_equal(w.id, b % 2 ? 1030 : 0);
        assert_int_equal(w.kind, b % 2 ? LARMOR_WAVEFORM_RESPIRATION : LARMOR_WAVEFORM_ECG);
        assert_int_equal(w.trigger, b % 2 ? -1 : 1);
        assert_true(w.channels == CHANNELS && w.samples == SAMPLES - b % 3 && w.sample_us == 2500);
        assert_int_equal(w.time_stamp, 7 + b);
        for (int i = 0; i < w.samples * CHANNELS; i++) assert_int_equal(w.data[i], number(b, i));
    }
    assert_refused(larmor_raw_waveform(raw, BLOCKS, &w), LARMOR_ERR_ARG, "raw: waveform 70 is not one of 70");
}

WITH_SCAN(waveforms_are_read_as_they_were_written_and_a_copy_has_them)
{
    const char *copied = in_folder("copy.h5");
    write_blocks(path);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    assert_blocks(raw);
    OWNED(larmor_raw) *stored = opened_with(&(larmor_raw_opts){.as_stored = 1});
    larmor_output *out = MADE(larmor_output, larmor_output_open(copied, 0, &made));
    assert_ok(larmor_raw_copy(stored, 0, out));
    larmor_output_free(out);
    snprintf(path, sizeof path, "%s", copied);
    OWNED(larmor_raw) *copy = opened_with(NULL);
    assert_blocks(copy);
    assert_int_equal(larmor_raw_waveforms(NULL), 0);
}

WITH_SCAN(the_reference_library_reads_them)
{
    ISMRMRD_Dataset d;
    write_blocks(path);
    assert_int_equal(ismrmrd_init_dataset(&d, path, "dataset"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, false), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_get_number_of_waveforms(&d), BLOCKS);
    for (int b = 0; b < BLOCKS; b++) {
        ISMRMRD_Waveform got;
        ismrmrd_init_waveform(&got);
        assert_int_equal(ismrmrd_read_waveform(&d, (uint32_t)b, &got), ISMRMRD_NOERROR);
        assert_true(got.head.version == 1 && got.head.waveform_id == (b % 2 ? 1030 : 0));
        assert_true(got.head.number_of_samples == SAMPLES - b % 3 && got.head.channels == CHANNELS);
        assert_true(got.head.time_stamp == 7u + (unsigned)b && got.head.sample_time_us == 2500);
        for (int i = 0; i < got.head.number_of_samples * CHANNELS; i++) assert_int_equal(got.data[i], number(b, i));
        free(got.data);
    }
    ismrmrd_close_dataset(&d);
}

/* A scan by HDF5 alone, with `info` in its header and blocks of the reference library. */
static void add_by_reference(const char *info, int count, uint16_t id)
{
    OWNED(scan) *s = radial_scan(4, 1);
    char *end = strstr(s->xml, "</ismrmrdHeader>");
    sprintf(end, "%s</ismrmrdHeader>\n", info);
    ISMRMRD_Dataset set;
    unlink(path);
    ismrmrd_init_dataset(&set, path, "dataset");
    ismrmrd_open_dataset(&set, true);
    ismrmrd_write_header(&set, s->xml);
    for (int i = 0; i < s->count; i++) {
        ISMRMRD_Acquisition a = {s->r[i].head, s->r[i].traj.p, s->r[i].data.p};
        assert_int_equal(ismrmrd_append_acquisition(&set, &a), ISMRMRD_NOERROR);
    }
    for (int b = 0; b < count; b++) {
        uint32_t values[12];
        for (int i = 0; i < 12; i++) values[i] = number(b, i);
        ISMRMRD_Waveform w;
        ismrmrd_init_waveform(&w);
        w.head.number_of_samples = 4;
        w.head.channels = 3;
        w.head.sample_time_us = b == 9 ? 0 : 1250;
        w.head.time_stamp = 5;
        w.head.waveform_id = id;
        w.data = values;
        assert_int_equal(ismrmrd_append_waveform(&set, &w), ISMRMRD_NOERROR);
    }
    ismrmrd_close_dataset(&set);
}

WITH_SCAN(blocks_of_the_reference_library_are_read_and_their_kind_is_by_the_header_else_by_the_number)
{
    static const struct {
        const char *info;
        uint16_t id;
        larmor_waveform_kind kind;
        int trigger;
    } given[] = {
        {"", 0, LARMOR_WAVEFORM_ECG, -1},
        {"", 1, LARMOR_WAVEFORM_PULSE, -1},
        {"", 2, LARMOR_WAVEFORM_RESPIRATION, -1},
        {"", 3, LARMOR_WAVEFORM_OTHER, -1},
        {"<waveformInformation><waveformName>a</waveformName><waveformType>pulse</waveformType></"
         "waveformInformation>",
         1, LARMOR_WAVEFORM_PULSE, -1},
        {"<waveformInformation><waveformName>a</waveformName><waveformId>1024</waveformId><waveformType>ecg"
         "</waveformType><waveformTriggerChannel>2</waveformTriggerChannel></waveformInformation>",
         1024, LARMOR_WAVEFORM_ECG, 2},
        {"<waveformInformation><waveformName>a</waveformName><waveformType>ecg</waveformType><userParameters>"
         "<userParameterLong><name>TriggerChannel</name><value>1</value></userParameterLong></userParameters>"
         "</waveformInformation>",
         0, LARMOR_WAVEFORM_ECG, 1},
        {"<waveformInformation><waveformName>a</waveformName><waveformType>ecg</waveformType><userParameters>"
         "<userParameterLong><name>TriggerChannel</name><value>7</value></userParameterLong></userParameters>"
         "</waveformInformation>",
         0, LARMOR_WAVEFORM_ECG, -1},
    };
    for (size_t g = 0; g < sizeof given / sizeof *given; g++) {
        larmor_waveform w;
        add_by_reference(given[g].info, 3, given[g].id);
        OWNED(larmor_raw) *raw = opened_with(NULL);
        assert_int_equal(larmor_raw_waveforms(raw), 3);
        for (int b = 0; b < 3; b++) {
            assert_ok(larmor_raw_waveform(raw, b, &w));
            assert_true(w.id == given[g].id && w.kind == given[g].kind && w.trigger == given[g].trigger);
            assert_true(w.samples == 4 && w.channels == 3 && w.sample_us == 1250);
            for (int i = 0; i < 12; i++) assert_int_equal(w.data[i], number(b, i));
        }
    }
}

/* The scan is read without them, and one line of warnings says why. */
static void assert_left_out(const char *line)
{
    OWNED(larmor_raw) *raw = opened_with(NULL);
    assert_int_equal(larmor_raw_waveforms(raw), 0);
    assert_int_equal(larmor_raw_describe(raw).imaging, 4);
    if (!strstr(larmor_raw_describe(raw).warnings, line)) fail_msg("%s", larmor_raw_describe(raw).warnings);
}

/* The element's bytes of head and list are where libismrmrd has them: 40, then 16. */
static void spoil(int64_t in_element, uint32_t old, uint32_t value, int bytes)
{
    size_t size;
    int done = 0;
    HEAP unsigned char *file = get_file(path, &size);
    for (size_t i = 0; i + 64 < size && !done; i++) { /* number_of_samples 4, channels 3, 1250 us */
        const float us = 1250;
        uint16_t head[2];
        memcpy(head, file + i + 28, sizeof head);
        if (head[0] != 4 || head[1] != 3 || memcmp(file + i + 32, &us, sizeof us) != 0) continue;
        if (memcmp(file + i + in_element, &old, (size_t)bytes) != 0) continue;
        memcpy(file + i + in_element, &value, (size_t)bytes);
        done = 1;
    }
    assert_true(done);
    unlink(path);
    put_file(path, file, size);
}

WITH_SCAN(damaged_waveforms_are_left_out_with_a_warning_and_the_scan_is_read)
{
    add_by_reference("", 10, 0);
    assert_left_out("waveforms: block 9: 0 us from sample to sample, expected 1 to 1e7. They are left out.\n");
    add_by_reference("", 2, 0);
    spoil(28, 4, 5, 2);
    assert_left_out(
        "waveforms: block 0: header says 5 samples x 3 channels, 12 numbers stored. They are left out.\n");
    add_by_reference("", 2, 0);
    spoil(40, 12, 1u << 30, 4);
    assert_left_out("waveforms: block 0: header says 4 samples x 3 channels, 1073741824 numbers stored.");
    const float dull = 4;
    OWNED(scan) *s = radial_scan(4, 1);
    write_scan(s);
    const hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hsize_t one = 1;
    const hid_t plain = H5Screate_simple(1, &one, NULL);
    const hid_t d =
        H5Dcreate2(f, "/dataset/waveforms", H5T_NATIVE_FLOAT, plain, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &dull) >= 0);
    H5Dclose(d);
    H5Sclose(plain);
    H5Fclose(f);
    assert_left_out("waveforms: /dataset/waveforms is float[1], not MRD waveforms. They are left out.\n");
}

WITH_SCAN(a_block_of_wrong_sizes_is_refused_and_no_file_is_written)
{
    static const struct {
        larmor_waveform w;
        const char *line;
    } bad[] = {
        {{.channels = 0, .samples = 1, .sample_us = 1}, "waveform: channels: got 0, expected 1 to 65535"},
        {{.channels = 1, .samples = 65536, .sample_us = 1}, "waveform: samples: got 65536, expected 1 to 65535"},
        {{.id = -1, .channels = 1, .samples = 1, .sample_us = 1}, "waveform: id: got -1, expected 0 to 65535"},
        {{.channels = 60000, .samples = 60000, .sample_us = 1},
         "samples x 60000 channels, expected 16777216 numbers"},
        {{.channels = 1, .samples = 1, .sample_us = 0},
         "waveform: got 0 us from sample to sample, expected 1 to 1e7"},
    };
    const uint32_t data[1] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        larmor_output *out;
        larmor_raw_writer *writer;
        larmor_waveform w = bad[i].w;
        const larmor_scan described = {.header = "<ismrmrdHeader/>", .coils = 1};
        w.data = data;
        assert_ok(larmor_output_open(path, 0, &out));
        assert_ok(larmor_raw_create(out, &described, &writer));
        assert_refused(larmor_raw_append_waveform(writer, &w), LARMOR_ERR_ARG, bad[i].line);
        larmor_raw_writer_free(writer);
        larmor_output_free(out);
        assert_false(is_there(path));
    }
}
