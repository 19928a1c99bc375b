/* stream/message.c, stream/wire.c: messages are those of ISMRMRD, byte for byte, and none is taken that is too long.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <ismrmrd/ismrmrd.h>
#include <ismrmrd/waveform.h>

#include "tests/stream/streams.h"

/* Both ends of a connection within one thread: what is sent fits into its buffer. */
static larmor_stream *left, *right;
static int ends[2];

static int make_ends(void **state LMR_UNUSED)
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_ok(larmor_stream_create(ends[0], ends[0], NULL, &left));
    assert_ok(
        larmor_stream_create(ends[1], ends[1], &(larmor_stream_opts){.memory = 100000, .name = "peer"}, &right));
    return 0;
}

static int free_ends(void **state LMR_UNUSED)
{
    larmor_stream_free(left);
    larmor_stream_free(right);
    return 0;
}

#define WITH_ENDS(claim) TEST_IN(claim, make_ends, free_ends)

static const float data[2 * 5 * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
static const float traj[2 * 5] = {0.5f, -1, 2, 3, 4, 5, 6, 7, 8, 9};
static const larmor_acquisition readout = {.flags = LAST_IN_SLICE | LARMOR_ACQ_REVERSE,
                                           .samples = 5,
                                           .coils = 2,
                                           .traj_dims = 2,
                                           .discard_pre = 1,
                                           .discard_post = 2,
                                           .center_sample = 3,
                                           .encoding = 4,
                                           .dwell_us = 2.5,
                                           .step1 = 6,
                                           .step2 = 7,
                                           .average = 8,
                                           .slice = 9,
                                           .contrast = 10,
                                           .phase = 11,
                                           .repetition = 12,
                                           .set = 13,
                                           .segment = 14,
                                           .time_stamp = 15,
                                           .physiology_stamp = {16, 17, 18},
                                           .position_mm = {19, 20, 21},
                                           .read_dir = {1, 0, 0},
                                           .phase_dir = {0, 0.5, 0},
                                           .slice_dir = {0, 0, 0.25},
                                           .data = data,
                                           .traj = traj,
                                           .measurement_uid = 22,
                                           .table_mm = {23, 24, 25},
                                           .user = {26, 27, 28, 29, 30, 31, 32, 65535},
                                           .user_int = {-33, 34, 35, 36, 37, 38, 39, 1 << 30},
                                           .user_float = {-40.5f, 41, 42, 43, 44, 45, 46, 47}};

WITH_ENDS(an_acquisition_has_the_bytes_of_ismrmrd)
{
    ISMRMRD_AcquisitionHeader h;
    uint16_t id;
    float numbers[10 + 20];
    send_acquisition(left, &readout);
    assert_int_equal(read(ends[1], &id, sizeof id), sizeof id);
    assert_int_equal(id, 1008);
    assert_int_equal(sizeof h, 340);
    assert_int_equal(read(ends[1], &h, sizeof h), sizeof h);
    assert_int_equal(h.flags, readout.flags);
    assert_int_equal(h.measurement_uid, 22);
    assert_int_equal(h.acquisition_time_stamp, 15);
    assert_int_equal(h.physiology_time_stamp[2], 18);
    assert_int_equal(h.number_of_samples, 5);
    assert_int_equal(h.active_channels, 2);
    assert_int_equal(h.channel_mask[0], 3);
    assert_int_equal(h.discard_pre, 1);
    assert_int_equal(h.discard_post, 2);
    assert_int_equal(h.center_sample, 3);
    assert_int_equal(h.encoding_space_ref, 4);
    assert_int_equal(h.trajectory_dimensions, 2);
    assert_true(h.sample_time_us == 2.5f && h.position[1] == 20 && h.phase_dir[1] == 0.5f && h.slice_dir[2] == 0.25f);
    assert_true(h.read_dir[0] == 1 && h.patient_table_position[2] == 25);
    const uint16_t *counters = (const uint16_t *)(const void *)&h.idx;
    for (int i = 0; i < 9; i++) assert_int_equal(counters[i], 6 + i);
    for (int i = 0; i < 8; i++) assert_int_equal(h.idx.user[i], readout.user[i]);
    assert_memory_equal(h.user_int, readout.user_int, sizeof h.user_int);
    assert_memory_equal(h.user_float, readout.user_float, sizeof h.user_float);
    assert_int_equal(read(ends[1], numbers, sizeof numbers), sizeof numbers);
    assert_memory_equal(numbers, traj, sizeof traj);
    assert_memory_equal(numbers + 10, data, sizeof data);
}

WITH_ENDS(an_acquisition_is_received_as_it_was_sent)
{
    larmor_message m;
    send_acquisition(left, &readout);
    assert_ok(larmor_stream_receive(right, &m));
    assert_int_equal(m.kind, LARMOR_MESSAGE_ACQUISITION);
    assert_memory_equal(m.acquisition.data, data, sizeof data);
    assert_memory_equal(m.acquisition.traj, traj, sizeof traj);
    m.acquisition.data = data;
    m.acquisition.traj = traj;
    assert_memory_equal(&m.acquisition, &readout, sizeof readout);
}

WITH_ENDS(an_image_has_the_bytes_of_ismrmrd_and_is_received_as_it_was_sent)
{
    larmor_message m = {.kind = LARMOR_MESSAGE_IMAGE,
                        .image = {.type = LARMOR_PIXEL_FLOAT,
                                  .dim = {5, 2, 2},
                                  .channels = 1,
                                  .kind = 1,
                                  .index = 3,
                                  .series = 4,
                                  .data = data,
                                  .attributes = "<ismrmrdMeta/>",
                                  .meta = {.fov_mm = {5, 6, 7},
                                           .position_mm = {1, 2, 3},
                                           .read_dir = {1},
                                           .phase_dir = {0, 1},
                                           .slice_dir = {0, 0, 1},
                                           .slice = 8,
                                           .repetition = 9,
                                           .time_stamp = 10}}};
    ISMRMRD_ImageHeader h;
    unsigned char raw[2 + 198 + 8 + 14 + 80];
    uint64_t attributes;
    assert_int_equal(sizeof h, 198);
    for (int time = 0; time < 2; time++) assert_ok(larmor_stream_send(left, &m));
    assert_int_equal(read(ends[1], raw, sizeof raw), sizeof raw);
    assert_int_equal(raw[0] + 256 * raw[1], 1022);
    memcpy(&h, raw + 2, sizeof h);
    memcpy(&attributes, raw + 200, sizeof attributes);
    assert_int_equal(attributes, 14);
    assert_int_equal(h.data_type, ISMRMRD_FLOAT);
    assert_int_equal(h.matrix_size[2], 2);
    assert_true(h.field_of_view[1] == 6 && h.position[2] == 3);
    assert_int_equal(h.image_type, ISMRMRD_IMTYPE_MAGNITUDE);
    assert_int_equal(h.image_index, 3);
    assert_int_equal(h.image_series_index, 4);
    assert_int_equal(h.attribute_string_len, 14);
    assert_memory_equal(raw + 208, "<ismrmrdMeta/>", 14);
    assert_memory_equal(raw + 222, data, sizeof data);
    const larmor_message sent = m;
    assert_ok(larmor_stream_receive(right, &m));
    assert_memory_equal(m.image.data, data, sizeof data);
    assert_string_equal(m.image.attributes, "<ismrmrdMeta/>");
    m.image.data = sent.image.data;
    m.image.attributes = sent.image.attributes;
    assert_memory_equal(&m.image, &sent.image, sizeof m.image);
}

WITH_ENDS(texts_end_in_a_zero_that_is_counted)
{
    larmor_message m;
    static const struct {
        larmor_message_kind kind;
        const char *text;
    } sent[] = {{LARMOR_MESSAGE_CONFIG_FILE, "larmor"},
                {LARMOR_MESSAGE_CONFIG_TEXT, "<config/>"},
                {LARMOR_MESSAGE_HEADER, "<ismrmrdHeader/>"},
                {LARMOR_MESSAGE_TEXT, ""},
                {LARMOR_MESSAGE_CLOSE, NULL}};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) send_text(left, sent[i].kind, sent[i].text);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        assert_ok(larmor_stream_receive(right, &m));
        assert_int_equal(m.kind, sent[i].kind);
        if (sent[i].text) assert_string_equal(m.text, sent[i].text);
        if (sent[i].text) assert_int_equal(m.bytes, strlen(sent[i].text));
    }
    unsigned char raw[2 + 4 + 3];
    send_text(left, LARMOR_MESSAGE_TEXT, "ab");
    assert_int_equal(read(ends[1], raw, sizeof raw), sizeof raw);
    assert_memory_equal(raw, "\5\0\3\0\0\0ab", 9);
}

WITH_ENDS(a_waveform_is_that_of_ismrmrd_byte_for_byte)
{
    static const uint32_t numbers[] = {1, 2, 3, 4, 5, 0x80000000u};
    const ISMRMRD_WaveformHeader head = {.version = 1,
                                         .time_stamp = 7,
                                         .number_of_samples = 3,
                                         .channels = 2,
                                         .sample_time_us = 2500,
                                         .waveform_id = 1025};
    larmor_message m = {.kind = LARMOR_MESSAGE_WAVEFORM,
                        .waveform = {.id = 1025,
                                     .trigger = -1,
                                     .channels = 2,
                                     .samples = 3,
                                     .time_stamp = 7,
                                     .sample_us = 2500,
                                     .data = numbers}};
    unsigned char raw[2 + sizeof head + sizeof numbers];
    assert_int_equal(sizeof head, 40);
    assert_ok(larmor_stream_send(left, &m));
    assert_int_equal(read(ends[1], raw, sizeof raw), sizeof raw);
    assert_memory_equal(raw, "\2\4", 2);
    ISMRMRD_WaveformHeader got;
    memcpy(&got, raw + 2, sizeof got);
    assert_int_equal(got.version, 1);
    assert_int_equal(got.time_stamp, 7);
    assert_int_equal(got.number_of_samples, 3);
    assert_int_equal(got.channels, 2);
    assert_true(got.sample_time_us == 2500);
    assert_int_equal(got.waveform_id, 1025);
    assert_memory_equal(raw + 42, numbers, sizeof numbers);
    const larmor_waveform sent = m.waveform;
    assert_int_equal(write(ends[0], raw, sizeof raw), sizeof raw);
    assert_ok(larmor_stream_receive(right, &m));
    assert_int_equal(m.kind, LARMOR_MESSAGE_WAVEFORM);
    assert_int_equal(m.bytes, sizeof numbers);
    assert_memory_equal(m.waveform.data, numbers, sizeof numbers);
    m.waveform.data = numbers;
    assert_memory_equal(&m.waveform, &sent, sizeof sent);
    m.waveform.samples = 65536;
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "stream: a waveform cannot be sent: a number");
    m.waveform = sent;
    m.waveform.data = NULL;
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "stream: a waveform cannot be sent: it has no data");
}

WITH_ENDS(arrays_are_passed_over)
{
    static const unsigned char array[2 + 6 + 16 + 12] = {
        [0] = 1030 & 255, 1030 >> 8, 2, 0, 0, 0, 2, 0, [8] = 2, [16] = 3};
    larmor_message m;
    assert_int_equal(write(ends[0], array, sizeof array), sizeof array);
    send_text(left, LARMOR_MESSAGE_CLOSE, NULL);
    for (int i = 0; i < 2; i++) {
        static const int kinds[] = {LARMOR_MESSAGE_ARRAY, LARMOR_MESSAGE_CLOSE};
        assert_ok(larmor_stream_receive(right, &m));
        assert_int_equal(m.kind, kinds[i]);
    }
}

WITH_ENDS(the_end_is_no_error_between_messages_and_one_within)
{
    larmor_message m;
    send_text(left, LARMOR_MESSAGE_CLOSE, NULL);
    assert_int_equal(write(ends[0], "\3\0\7\0", 4), 4);
    shutdown(ends[0], SHUT_WR);
    assert_ok(larmor_stream_receive(right, &m));
    assert_refused(larmor_stream_receive(right, &m), LARMOR_ERR_FORMAT, "peer: ends within a message.");
    assert_ok(larmor_stream_receive(right, &m));
    assert_int_equal(m.kind, LARMOR_MESSAGE_END);
}

/* Nothing follows them, and the sender stays: what waited for their content would wait for ever. */
WITH_ENDS(what_is_longer_than_allowed_is_refused_before_any_of_it_is_awaited)
{
    ISMRMRD_AcquisitionHeader a = {.number_of_samples = 65535, .active_channels = 1000};
    ISMRMRD_AcquisitionHeader with_traj = {
        .number_of_samples = 65535, .trajectory_dimensions = 65535, .active_channels = 0};
    ISMRMRD_ImageHeader i = {.data_type = 8, .matrix_size = {65535, 65535, 65535}, .channels = 65535};
    ISMRMRD_ImageHeader most = {.data_type = 1, .matrix_size = {300, 300, 1}, .channels = 1};
    struct {
        uint16_t id;
        const void *head;
        size_t bytes;
    } sent[] = {
        {2, "\377\377\377\377", 4},
        {3, "\0\0\0\200", 4},
        {5, "\1\0\20\0", 4},
        {1008, &a, sizeof a},
        {1008, &with_traj, sizeof with_traj},
        {1022, &i, sizeof i},
        {1022, &most, sizeof most},
        {1026, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\0\0\0\0\0\0\0\0", 40},
        {1030, "\10\0\0\0\2\0\377\377\377\377\377\377\377\177\377\377\377\377\377\377\377\177", 22}};
    for (size_t k = 0; k < sizeof sent / sizeof *sent; k++) {
        static const unsigned char no_attributes[8];
        larmor_message m;
        assert_int_equal(write(ends[0], &sent[k].id, 2), 2);
        assert_int_equal(write(ends[0], sent[k].head, sent[k].bytes), sent[k].bytes);
        if (sent[k].id == 1022) assert_int_equal(write(ends[0], no_attributes, 8), 8);
        assert_refused(larmor_stream_receive(right, &m), LARMOR_ERR_MEMORY, "peer: ");
    }
}

WITH_ENDS(what_is_no_message_is_refused)
{
    static const struct {
        int bytes;
        unsigned char raw[16];
        const char *why;
    } sent[] = {{2, {0, 0}, "peer: message 0 is not known; MRD version 1 expected."},
                {2, {'G', 'E'}, "peer: message 17735 is not known; MRD version 1 expected."},
                {2,
                 {0x89, 'H'},
                 "peer: is an HDF5 file, which is not read as a stream; give it by its name, or its readouts as "
                 "messages of MRD version 1 (larmor send)."},
                {8, {6, 4, 9, 0, 0, 0, 1, 0}, "peer: an array of type 9 with 1 dimensions."},
                {8, {6, 4, 1, 0, 0, 0, 99, 0}, "peer: an array of type 1 with 99 dimensions."}};
    for (size_t k = 0; k < sizeof sent / sizeof *sent; k++) {
        larmor_message m;
        assert_int_equal(write(ends[0], sent[k].raw, (size_t)sent[k].bytes), sent[k].bytes);
        assert_refused(larmor_stream_receive(right, &m), LARMOR_ERR_FORMAT, sent[k].why);
    }
}

WITH_ENDS(where_nobody_reads_sending_fails_without_a_signal)
{
    int fd[2];
    larmor_stream_free(right);
    right = NULL;
    const larmor_message close_message = {.kind = LARMOR_MESSAGE_CLOSE};
    assert_refused(larmor_stream_send(left, &close_message), LARMOR_ERR_IO, "stream: the other side has gone.");
    assert_int_equal(pipe(fd), 0);
    larmor_stream *pipe_end =
        MADE(larmor_stream, larmor_stream_create(fd[0], fd[1], &(larmor_stream_opts){.keep_open = 1}, &made));
    close(fd[0]);
    assert_refused(larmor_stream_send(pipe_end, &close_message), LARMOR_ERR_IO, "stream: the other side has gone.");
    larmor_stream_free(pipe_end);
    assert_int_equal(close(fd[1]), 0); /* which was left open */
}

static int wants_to_stop(void *user)
{
    return ++*(int *)user > 3;
}

WITH_ENDS(waiting_ends_when_the_caller_asks_and_after_the_time_that_was_allowed)
{
    larmor_message m;
    int asked = 0;
    larmor_stop_when(wants_to_stop, &asked);
    const larmor_status stopped = larmor_stream_receive(right, &m);
    larmor_stop_when(NULL, NULL);
    assert_int_equal(stopped, LARMOR_STOPPED);
    OWN(larmor_stream, *impatient,
        larmor_stream_create(ends[1], ends[1], &(larmor_stream_opts){.idle_s = 1e-3, .keep_open = 1}, &impatient));
    assert_refused(larmor_stream_receive(impatient, &m), LARMOR_ERR_IO,
                   "stream: nothing has come or gone for 0.001 s.");
}

WITH_ENDS(what_does_not_fit_into_a_message_is_not_sent)
{
    larmor_acquisition a = readout;
    a.slice = 65536;
    larmor_message m = {.kind = LARMOR_MESSAGE_ACQUISITION, .acquisition = a};
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "a number does not fit");
    m.acquisition = readout;
    m.acquisition.traj = NULL;
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "it has no trajectory");
    m = (larmor_message){.kind = LARMOR_MESSAGE_IMAGE, .image = {.type = LARMOR_PIXEL_FLOAT, .dim = {1, 0, 1}}};
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "a number does not fit");
    m = (larmor_message){.kind = LARMOR_MESSAGE_ARRAY};
    assert_refused(larmor_stream_send(left, &m), LARMOR_ERR_ARG, "kind 1030 are not sent");
}
