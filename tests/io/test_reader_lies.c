/* What the process that parses files says is not believed where it cannot be true.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/reader_support.h"

static const char lie[] = "its reader gave an answer that cannot be true: the file is damaged. Copy it again.";

WITH_FAKE(a_reader_that_tells_the_truth_is_believed)
{
    larmor_grid grid;
    float x[2 * 16 * 4];
    OWN(larmor_raw, *raw, larmor_raw_open(file_for("honest", "scan.h5"), NULL, &raw));
    assert_int_equal(larmor_raw_describe(raw).acquisitions, 4);
    assert_string_equal(larmor_raw_xml(raw), "<ismrmrdHeader/>");
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_samples, samples, larmor_raw_samples(raw, 0, &grid, 0, dev, &samples));
    assert_ok(larmor_array_read(samples.kspace, x, sizeof x));
    for (int k = 0; k < 16 * 4; k++) assert_true(x[2 * k] == (float)(1 + k % 16) && x[2 * k + 1] == 0);
}

WITH_FAKE(lies_about_a_scan_are_refused)
{
    static const char *const lies[] = {"other magic",
                                       "short answer",
                                       "short bytes",
                                       "more bytes",
                                       "status 99",
                                       "status -1",
                                       "stopped",
                                       "always wants room",
                                       "huge room",
                                       "2^40 readouts",
                                       "-1 readouts",
                                       "64 encodings",
                                       "-1 encodings",
                                       "long header",
                                       "bandwidth NaN",
                                       "negative matrix",
                                       "field of view NaN",
                                       "limit",
                                       "fewer readouts than it says",
                                       "group without end",
                                       "no head written",
                                       "more heads",
                                       "long readouts",
                                       "trajectory without end"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) scan_refused(lies[i], LARMOR_ERR_FORMAT, lie);
    static const char *const places[] = {"place past the end", "place before the file", "place at 2^63",
                                         "step past the end",  "step before the file",  "steps at 2^62"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        scan_refused(places[i], LARMOR_ERR_FORMAT,
                     "damaged HDF5 structure (acquisition 1: heap cannot be read). Copy it again.");
}

WITH_FAKE(a_text_without_end_is_cut_and_made_printable)
{
    larmor_raw *raw;
    assert_int_equal(larmor_raw_open(file_for("text without end", "scan.h5"), NULL, &raw), LARMOR_ERR_FORMAT);
    const char *text = larmor_last_error();
    assert_true(strlen(text) < 1024);
    for (; *text; text++) assert_true(*text >= ' ');
}

WITH_FAKE(lies_about_a_sequence_are_refused)
{
    static const char *const lies[] = {"seq: readouts at 2^60",
                                       "seq: -1 readouts",
                                       "seq: more samples",
                                       "seq: samples at 2^61",
                                       "seq: name without end",
                                       "seq: field of view NaN",
                                       "seq: readouts overlap",
                                       "seq: readout past the end",
                                       "seq: fewer samples than it says",
                                       "seq: no dwell time",
                                       "seq: k NaN"};
    larmor_pulseq *q = MADE(larmor_pulseq, larmor_pulseq_read(file_for("honest", "a.seq"), NULL, &made));
    assert_int_equal(larmor_pulseq_describe(q).samples, 5);
    larmor_pulseq_free(q);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        const larmor_status st = larmor_pulseq_read(file_for(lies[i], "a.seq"), NULL, &q);
        if (st != LARMOR_ERR_FORMAT) print_error("%s\n", lies[i]);
        assert_int_equal(st, LARMOR_ERR_FORMAT);
        assert_non_null(strstr(larmor_last_error(), lie));
        assert_null(q);
    }
}

static void image_refused(const char *way)
{
    larmor_array *x;
    larmor_image_info info;
    char expected[512];
    const char *file = file_for(way, "lie.nii");
    snprintf(expected, sizeof expected, "%s: %s", file, lie);
    const larmor_status described = larmor_image_describe(file, dev, &info);
    if (described != LARMOR_ERR_FORMAT) print_error("%s\n", way);
    assert_int_equal(described, LARMOR_ERR_FORMAT);
    assert_string_equal(larmor_last_error(), expected);
    const larmor_status st = larmor_image_read(file, dev, &x);
    assert_int_equal(st == LARMOR_OK, x != NULL);
    larmor_array_free(x);
    assert_no_child();
}

WITH_FAKE(lies_about_images_are_refused)
{
    static const char *const lies[] = {"type 77",
                                       "99 axes",
                                       "-1 axes",
                                       "sizes overflow",
                                       "small room",
                                       "negative sizes",
                                       "negative slice",
                                       "negative images",
                                       "huge room",
                                       "short geometry",
                                       "elements past the end",
                                       "elements before the file",
                                       "piece past the end",
                                       "piece before the file",
                                       "piece at 2^63",
                                       "piece of 2^63 bytes",
                                       "piece too short",
                                       "piece without elements",
                                       "pieces of too many",
                                       "pieces of the same",
                                       "pieces of other types",
                                       "pieces without the last",
                                       "piece's checksum past the end"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) image_refused(lies[i]);
    larmor_image_info info;
    assert_ok(larmor_image_describe(file_for("honest", "x.nii"), dev, &info));
    assert_int_equal(info.meta.slice, 3);
    assert_int_equal(strlen(info.type), sizeof info.type - 1);
    assert_int_equal(strspn(info.inside, "?"), sizeof info.inside - 1);
    assert_int_equal(strspn(info.notes, "y"), sizeof info.notes - 1);
}

/* An .h5 of that name, which was there before, of an image of 2 x 2. */
static larmor_status compose(const char *way, char *target, size_t room)
{
    static const float values[4] = {1, 2, 3, 4};
    snprintf(target, room, "%s/%s.h5", folder, way);
    put_file(target, "older", 5);
    OWN(larmor_array, *x, larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(2, 2), LARMOR_F32, values, &x));
    const larmor_image image = {.data = x};
    OWN(larmor_output, *out, larmor_output_open(target, 1, &out));
    return larmor_image_write(out, &image, 1, NULL);
}

WITH_FAKE(a_composer_that_dies_or_lies_leaves_what_was_there)
{
    static const struct {
        const char *way, *text;
        larmor_status status;
    } ends[] = {{"dies", "ended by signal 11 (SIGSEGV), as HDF5 does where it gets no memory", LARMOR_ERR_MEMORY},
                {"fails", "HDF5 could not; nothing written.", LARMOR_ERR_IO},
                {"ends before", "the process that composes it failed", LARMOR_ERR_IO},
                {"begins before", "the process that composes it failed", LARMOR_ERR_IO},
                {"lacks elements", "the process that composes it failed", LARMOR_ERR_IO},
                {"has more", "the process that composes it failed", LARMOR_ERR_IO},
                {"is too short", "the process that composes it failed", LARMOR_ERR_IO},
                {"has 2^62 pieces", "the process that composes it failed", LARMOR_ERR_IO},
                {"has no size", "the process that composes it failed", LARMOR_ERR_IO}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char target[256];
        size_t bytes;
        const int before = open_descriptors();
        const larmor_status st = compose(ends[i].way, target, sizeof target);
        if (st != ends[i].status) print_error("%s\n", ends[i].way);
        assert_int_equal(st, ends[i].status);
        assert_memory_equal(larmor_last_error(), target, strlen(target));
        assert_non_null(strstr(larmor_last_error(), ends[i].text));
        HEAP unsigned char *now = get_file(target, &bytes);
        assert_int_equal(bytes, 5);
        assert_memory_equal(now, "older", 5);
        assert_int_equal(files_in_folder(), (int)i + 1);
        assert_int_equal(open_descriptors(), before);
        assert_no_child();
    }
}
