/* stream/session.c, stream/readouts.c, stream/pixels.c, stream/client.c: a scan that is sent gives the images of its
 * file. SPDX-License-Identifier: Apache-2.0 */
#include "stream/announced.h"
#include "tests/stream/streams.h"

static void request(line *l, const char *parameters, larmor_response *got)
{
    assert_ok(larmor_stream_request(l->client, &(larmor_request){.raw = scan, .parameters = parameters}, dev, got));
}

WITH_SCAN(images_are_those_of_the_file_bit_for_bit)
{
    line l;
    OWNED(larmor_response) got;
    larmor_session_opts opts = quick();
    opts.job.recon.method = "cg";
    opts.job.recon.iters = 4;
    OWNED(images) want = expected(&opts.job.recon);
    begin(&l, opts);
    request(&l, NULL, &got);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(want.count, 4);
    assert_int_equal(got.count, want.count);
    assert_true(got.closed && !got.failed);
    assert_int_equal(l.report.acquisitions, larmor_raw_describe(scan).acquisitions);
    assert_int_equal(l.report.images, 4);
    for (int i = 0; i < want.count; i++) {
        OWN_MEMORY(float, *v, larmor_array_download(got.image[i].data, LARMOR_C64, &v));
        assert_same_bits(want.data[i], v);
        assert_int_equal(got.image[i].meta.slice, i / 2);
        assert_int_equal(got.image[i].meta.repetition, i % 2);
    }
}

static int is_last_of(int64_t i, int by_slice)
{
    const larmor_acquisition a = acquisition(i);
    if (a.flags & LARMOR_ACQ_NOISE) return 0;
    if (i + 1 == larmor_raw_describe(scan).acquisitions) return 1;
    const larmor_acquisition next = acquisition(i + 1);
    return a.repetition != next.repetition || (by_slice && a.slice != next.slice);
}

/* The images of a part of the readouts, with the noise. */
static images images_of(int64_t first, int64_t end_, const larmor_recon_opts *opts)
{
    int64_t n = 0;
    HEAP larmor_acquisition *a = calloc((size_t)end_, sizeof *a);
    for (int64_t i = 0; i < end_; i++) {
        a[n] = acquisition(i);
        n += i >= first || a[n].flags & LARMOR_ACQ_NOISE;
    }
    const char *xml = larmor_raw_xml(scan);
    OWN(larmor_raw, *raw, larmor_raw_of_acquisitions(xml, (int64_t)strlen(xml), a, n, NULL, &raw));
    const images all = reconstruct(raw, opts);
    return all;
}

/* What was sent last completes an image, which comes before anything else is sent. */
static void assert_images_come_while_the_scan_goes_on(int by_slice)
{
    line l;
    int64_t first = 0;
    const larmor_session_opts opts = quick();
    begin(&l, opts);
    send_text(l.client, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_text(l.client, LARMOR_MESSAGE_TEXT,
              by_slice ? "{\"parameters\":{\"images\":\"slice\"}}" : "{\"images\":\"repetition\"}");
    for (int64_t i = 0; i < larmor_raw_describe(scan).acquisitions; i++) {
        larmor_acquisition a = acquisition(i);
        if (a.flags & LARMOR_ACQ_NOISE) a.flags |= LAST_IN_SLICE | LAST_IN_REPETITION; /* as scanners do */
        const int is_last = is_last_of(i, by_slice);
        if (is_last) a.flags |= by_slice ? LAST_IN_SLICE : LAST_IN_REPETITION;
        send_acquisition(l.client, &a);
        if (!is_last) continue;
        images want = images_of(first, i + 1, &opts.job.recon);
        assert_int_equal(want.count, by_slice ? 1 : 2);
        for (int k = 0; k < want.count; k++)
            assert_same_bits(want.data[k], wait_for(l.client, LARMOR_MESSAGE_IMAGE, NULL, NULL).image.data);
        end_images(&want);
        first = i + 1;
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(l.report.images, 4);
}

WITH_SCAN(a_slice_comes_when_its_last_readout_was_sent)
{
    assert_images_come_while_the_scan_goes_on(1);
}

WITH_SCAN(a_repetition_comes_when_its_last_readout_was_sent)
{
    assert_images_come_while_the_scan_goes_on(0);
}

WITH_SCAN(what_no_flag_completes_comes_at_the_end)
{
    line l;
    OWNED(larmor_response) got;
    begin(&l, quick());
    request(&l, "{\"parameters\":{\"images\":\"slice\"}}", &got);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(got.count, 4);
}

/* The attributes have this value, which follows its name. */
static void assert_has(const char *attributes, const char *value)
{
    if (!strstr(attributes, value)) fail_msg("%s\n  expected in\n%s", value, attributes);
}

/* The header, with a parameter that scanners add. */
static void send_header_with_bits(larmor_stream *to, const char *bits)
{
    static char xml[65536];
    const char *plain = larmor_raw_xml(scan), *end_ = strstr(plain, "</ismrmrdHeader>");
    assert_non_null(end_);
    snprintf(xml, sizeof xml,
             "%.*s<userParameters><userParameterLong><name>BitsStored</name><value>%s</value></userParameterLong>"
             "</userParameters>%s",
             (int)(end_ - plain), plain, bits, end_);
    send_text(to, LARMOR_MESSAGE_HEADER, xml);
}

/* config: a text of parameters; bits: of the header, or NULL. */
static void assert_whole_numbers(const char *config, const char *bits, int most)
{
    line l;
    double ratio = 0;
    int count = 0, largest = 0;
    larmor_session_opts opts = quick();
    OWNED(images) want = expected(&opts.job.recon);
    begin(&l, opts);
    char window[2][80];
    snprintf(window[0], sizeof window[0], "<name>WindowCenter</name><value>%d</value>", (most + 1) / 2);
    snprintf(window[1], sizeof window[1], "<name>WindowWidth</name><value>%d</value>", most + 1);
    send_text(l.client, LARMOR_MESSAGE_CONFIG_TEXT, config);
    if (bits)
        send_header_with_bits(l.client, bits);
    else
        send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    for (int64_t i = 0; i < larmor_raw_describe(scan).acquisitions; i++) {
        const larmor_acquisition a = acquisition(i);
        send_acquisition(l.client, &a);
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    for (; count < want.count; count++) {
        const larmor_message m = wait_for(l.client, LARMOR_MESSAGE_IMAGE, NULL, NULL);
        assert_int_equal(m.image.type, LARMOR_PIXEL_INT16);
        assert_int_equal(m.image.kind, 1);
        assert_int_equal(m.image.index, count + 1);
        assert_has(m.image.attributes, "<name>DataRole</name><value>Image</value>");
        assert_has(m.image.attributes, "<name>Keep_image_geometry</name><value>1</value>");
        assert_has(m.image.attributes, window[0]);
        assert_has(m.image.attributes, window[1]);
        assert_has(m.image.attributes, "<name>ImageRowDir</name><value>1.000000000000000000</value>");
        const char *scale = strstr(m.image.attributes, "<name>LarmorScale</name><value>");
        assert_non_null(scale);
        if (!count) ratio = atof(scale + 31);
        assert_true(ratio > 0 && atof(scale + 31) == ratio);
        OWN_MEMORY(float, *v, larmor_array_download(want.data[count], LARMOR_C64, &v));
        const int16_t *pixel = m.image.data;
        for (int64_t i = 0; i < larmor_array_count(want.data[count]); i++) {
            assert_at_most(fabs(pixel[i] - ratio * hypot((double)v[2 * i], (double)v[2 * i + 1])), 0.501);
            if (pixel[i] > largest) largest = pixel[i];
        }
    }
    assert_int_equal(largest, most);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    end(&l);
    assert_ok(l.status);
}

WITH_SCAN(images_in_whole_numbers_have_one_scale_and_what_a_host_needs)
{
    assert_whole_numbers("{\"pixels\":\"int16\"}", NULL, 4095);
    assert_whole_numbers("{\"pixels\":\"int16\",\"bits\":10}", "14", 1023);
    assert_whole_numbers("{\"pixels\":\"int16\"}", "14", 16383);
    assert_whole_numbers("{\"pixels\":\"int16\"}", "16", 32767);
}

/* What comes later may be brighter than the first slice: it is cut off, and that is said. */
WITH_SCAN(what_is_too_bright_for_the_scale_of_the_first_image_is_cut_off_with_a_warning)
{
    line l;
    int largest[2] = {0, 0}, warned = 0, count = 0;
    larmor_session_opts opts = quick();
    opts.job.pixels = LARMOR_PIXELS_INT16;
    opts.job.images = LARMOR_IMAGES_SLICE;
    begin(&l, opts);
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    for (int64_t i = 1; i < 25; i++) {
        float bright[2 * 64 * 2];
        larmor_acquisition a = acquisition(i);
        assert_true(2 * a.samples * a.coils <= (int)(sizeof bright / sizeof *bright));
        for (int k = 0; k < 2 * a.samples * a.coils; k++) bright[k] = a.data[k] * (i > 12 ? 8 : 1);
        a.data = bright;
        if (i == 12 || i == 24) a.flags |= LAST_IN_SLICE;
        send_acquisition(l.client, &a);
    }
    for (; count < 2; count++) {
        const larmor_message m = wait_for(l.client, LARMOR_MESSAGE_IMAGE, NULL, NULL);
        const int16_t *pixel = m.image.data;
        for (int i = 0; i < 256; i++)
            if (pixel[i] > largest[count]) largest[count] = pixel[i];
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, "WRN ", &warned);
    end(&l);
    assert_ok(l.status);
    assert_true(largest[0] == 2048 || largest[0] == 2047);
    assert_int_equal(largest[1], 4095);
    assert_int_equal(warned, 2); /* half of the scan is not sent, too */
}

/* Which of the file's acquisitions are read as they are stored. */
WITH_SCAN(all_acquisitions_of_a_file_are_there_as_it_has_them)
{
    larmor_raw *used, *again;
    larmor_acquisition a[3] = {acquisition(0), acquisition(1), acquisition(2)};
    static float zeros[2 * 64 * 2];
    a[1].flags |= LARMOR_ACQ_DUMMY;
    a[2].data = zeros; /* which is left out otherwise */
    const char *xml = larmor_raw_xml(scan);
    const int64_t bytes = (int64_t)strlen(xml);
    OWN(larmor_raw, *stored,
        larmor_raw_of_acquisitions(xml, bytes, a, 3, &(larmor_raw_opts){.as_stored = 1}, &stored));
    assert_int_equal(larmor_raw_describe(stored).acquisitions, 3);
    assert_int_equal(larmor_raw_describe(stored).groups, 0);
    for (int i = 0; i < 3; i++) {
        larmor_acquisition got;
        assert_ok(larmor_raw_acquisition(stored, i, &got));
        assert_memory_equal(got.data, a[i].data, (size_t)a[i].samples * (size_t)a[i].coils * 2 * sizeof *got.data);
        got.data = a[i].data;
        got.traj = a[i].traj;
        assert_memory_equal(&got, &a[i], sizeof got);
    }
    assert_refused(larmor_raw_of_acquisitions(xml, bytes, a, 3, NULL, &used), LARMOR_ERR_FORMAT, "");
    a[1].samples = 65536;
    assert_refused(larmor_raw_of_acquisitions(xml, bytes, a, 3, NULL, &again), LARMOR_ERR_ARG, "acquisition 1: a");
    a[1] = acquisition(1);
    a[1].traj = NULL;
    assert_refused(larmor_raw_of_acquisitions(xml, bytes, a, 3, NULL, &again), LARMOR_ERR_ARG, "no trajectory given");
    assert_refused(larmor_raw_of_acquisitions(xml, bytes, a, 0, NULL, &again), LARMOR_ERR_FORMAT, "0 acquisitions");
}

/* ---- parameters ---- */

typedef struct known { /* what a caller of the library has */
    char names[256];
} known;

static larmor_status set(void *user, const char *name, const char *value)
{
    known *k = user;
    if (strcmp(name, "mine")) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "%s: unknown", name);
    if (!strcmp(value, "wrong")) return larmor_fail(LARMOR_ERR_ARG, "mine: %s is wrong", value);
    strcat(k->names, value);
    return LARMOR_OK;
}

WITH_SCAN(parameters_are_set_and_unknown_ones_are_a_warning)
{
    line l;
    known k = {""};
    int warned = 0;
    larmor_session_opts opts = quick();
    opts.set = set;
    opts.user = &k;
    begin(&l, opts);
    send_text(l.client, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_text(
        l.client, LARMOR_MESSAGE_TEXT,
        "{\"version\":\"1.1.0\",\"parameters\":{\"config\":\"x\",\"customconfig\":\"\",\"mine\":7,\"other\":1}}");
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, "WRN parameter other is not known; it has no effect.", &warned);
    end(&l);
    assert_ok(l.status);
    assert_string_equal(k.names, "7");
    assert_int_equal(warned, 1);
    assert_int_equal(l.report.warnings, 1);
}

static void assert_cut_is_said(const char *parameters, int warnings)
{
    line l;
    int warned = 0;
    begin(&l, quick());
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_text(l.client, LARMOR_MESSAGE_TEXT, parameters);
    for (int64_t i = 0; i < larmor_raw_describe(scan).acquisitions; i++) {
        const larmor_acquisition a = acquisition(i);
        if (!warnings || !a.repetition) send_acquisition(l.client, &a);
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE,
             "WRN the scan ends before the last readout that its header announces: repetition came to 0 of 1, and no "
             "readout is flagged as the last. Images are made of what came.",
             &warned);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(warned, warnings);
}

WITH_SCAN(a_scan_that_ends_early_is_said_to_and_a_whole_one_is_not)
{
    for (int cut = 0; cut < 2; cut++) {
        assert_cut_is_said("{\"images\":\"measurement\"}", cut);
        assert_cut_is_said("{\"images\":\"slice\"}", cut);
    }
}

/* Of every second line the last one that a header announces need not be there. */
TEST(lines_that_are_left_out_in_turn_end_before_the_last_announced_one)
{
    for (int lines = 128; lines >= 64; lines -= 64) {
        lmr_announced all = {.is_known = 1, .limit = {255, -1, -1, -1, -1}};
        char text[512];
        for (int i = 0; i < lines; i++) lmr_announced_add(&all, NULL, 0, &(larmor_acquisition){.step1 = 2 * i});
        assert_int_equal(lmr_announced_is_cut(&all, text, sizeof text), lines < 128);
    }
}

WITH_SCAN(what_is_announced_is_known_whatever_readout_comes_first)
{
    lmr_announced all = {.is_known = 0};
    larmor_acquisition first = acquisition(0);
    first.flags = LARMOR_ACQ_PHASE_CORRECTION;
    lmr_announced_add(&all, larmor_raw_xml(scan), (int64_t)strlen(larmor_raw_xml(scan)), &first);
    assert_int_equal(all.limit[4], 1); /* repetitions */
}

/* ---- what goes wrong ---- */

/* A session in which these texts are sent ends with this error, which the client is told, and with CLOSE. */
static void assert_ends_with(const char *header, const char *parameters, int readouts, larmor_status status,
                             const char *why, int64_t memory)
{
    line l;
    char told[1100];
    int errors = 0;
    known k = {""};
    larmor_session_opts opts = quick();
    opts.set = set;
    opts.user = &k;
    opts.memory = memory;
    begin(&l, opts);
    send_text(l.client, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    if (header) send_text(l.client, LARMOR_MESSAGE_HEADER, header);
    if (parameters) send_text(l.client, LARMOR_MESSAGE_TEXT, parameters);
    for (int64_t i = 0; i < readouts; i++) {
        larmor_acquisition a = acquisition(i);
        const larmor_message m = {.kind = LARMOR_MESSAGE_ACQUISITION, .acquisition = a};
        if (larmor_stream_send(l.client, &m)) break; /* it has ended */
    }
    larmor_stream_send(l.client, &(larmor_message){.kind = LARMOR_MESSAGE_CLOSE});
    snprintf(told, sizeof told, "ERR %s", why);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, told, &errors);
    end(&l);
    if (l.status != status || !strstr(l.why, why))
        fail_msg("got %d %s\nexpected %d %s", l.status, l.why, status, why);
    assert_int_equal(errors, 1);
}

WITH_SCAN(an_error_is_told_and_then_the_session_is_closed)
{
    const char *xml = larmor_raw_xml(scan);
    assert_ends_with("<nonsense>", NULL, 20, LARMOR_ERR_FORMAT, "header", 0);
    assert_ends_with(NULL, NULL, 1, LARMOR_ERR_FORMAT, "session: an acquisition before the header.", 0);
    assert_ends_with(xml, "{\"parameters\":", 0, LARMOR_ERR_FORMAT, "parameters: a value expected at byte 14", 0);
    assert_ends_with(xml, "{\"mine\":\"wrong\"}", 0, LARMOR_ERR_ARG, "mine: wrong is wrong", 0);
    assert_ends_with(xml, "{\"pixels\":\"uint8\"}", 0, LARMOR_ERR_ARG, "parameter pixels \"uint8\": int16, float or",
                     0);
    assert_ends_with(xml, "{\"bits\":16}", 0, LARMOR_ERR_ARG, "parameter bits \"16\": 8 to 15 expected.", 0);
    assert_ends_with(xml, NULL, 40, LARMOR_ERR_MEMORY, "session: an acquisition of ", 20000);
}

WITH_SCAN(a_scan_of_noise_alone_gives_no_image_and_no_error)
{
    line l;
    begin(&l, quick());
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    const larmor_acquisition a = acquisition(0);
    assert_true(a.flags & LARMOR_ACQ_NOISE);
    send_acquisition(l.client, &a);
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    end(&l);
    assert_ok(l.status);
    assert_int_equal(l.report.images, 0);
}

WITH_SCAN(a_question_for_dependencies_is_answered_by_close)
{
    static const char *const configs[] = {"default_measurement_dependencies.xml", "null"};
    for (int with_scan = 0; with_scan < 2; with_scan++) {
        line l;
        begin(&l, quick());
        send_text(l.client, LARMOR_MESSAGE_CONFIG_FILE, configs[with_scan]);
        if (with_scan) send_text(l.client, LARMOR_MESSAGE_HEADER, "<not even looked at>");
        const larmor_acquisition a = acquisition(10);
        if (with_scan) send_acquisition(l.client, &a);
        send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
        wait_for(l.client, LARMOR_MESSAGE_CLOSE, NULL, NULL);
        end(&l);
        assert_ok(l.status);
        assert_true(l.report.closed && !l.report.images);
    }
}

WITH_SCAN(a_client_that_vanishes_ends_its_session)
{
    line l;
    begin(&l, quick()); /* before it has said anything: a look at whether the port answers */
    end(&l);
    assert_ok(l.status);
    begin(&l, quick());
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    const larmor_acquisition a = acquisition(3);
    send_acquisition(l.client, &a);
    end(&l);
    assert_int_equal(l.status, LARMOR_ERR_IO);
    assert_string_equal(l.why, "session: the client has gone before it said that all was sent.");
}

/* It would take for ever: only its end ends it. */
WITH_SCAN(a_client_that_vanishes_ends_the_reconstruction)
{
    line l;
    int began = 0;
    larmor_session_opts opts = quick();
    opts.job.recon.method = "cg";
    opts.job.recon.iters = 1000000000;
    opts.job.recon.tol = -1;
    opts.job.recon.lambda_mode = LARMOR_LAMBDA_RELATIVE;
    opts.job.recon.lambda = 1e-12;
    opts.job.recon.precondition = -1;
    begin(&l, opts);
    send_text(l.client, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    for (int64_t i = 0; i < larmor_raw_describe(scan).acquisitions; i++) {
        const larmor_acquisition a = acquisition(i);
        send_acquisition(l.client, &a);
    }
    send_text(l.client, LARMOR_MESSAGE_CLOSE, NULL);
    while (!began) {
        larmor_message m;
        assert_ok(larmor_stream_receive(l.client, &m));
        began = m.kind == LARMOR_MESSAGE_TEXT && !strncmp(m.text, "DBG series 1 of 4", 17);
    }
    end(&l);
    assert_int_equal(l.status, LARMOR_ERR_IO);
    assert_string_equal(l.why, "session: the other side has gone.");
}
