/* io/pulseq: k-space of Pulseq files against integrals by hand, in all versions and in both formats; files that are
 * none. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

enum { TEXT_ROOM = 65536, PULSE_US = 100 };

static char text[TEXT_ROOM];

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
}

static void begin(int minor, int revision)
{
    *text = 0;
    add("# a comment\n[VERSION]\nmajor 1\nminor %d\nrevision %d\n\n[DEFINITIONS]\nFOV 0.2 0.25 0.003\nName %s\n",
        minor, revision, "two words ");
    add("GradientRasterTime 1e-05\nRadiofrequencyRasterTime 1e-06\nAdcRasterTime 1e-07\nBlockDurationRaster "
        "1e-05\n\n");
}

/* A pulse of so many degrees at shapes 1 and 2; RF number 1 excites, 2 refocuses, 3 prepares. */
static void add_pulses(int minor)
{
    add("[RF]\n");
    for (int i = 1; i <= 3; i++) {
        const double amplitude = (i == 2 ? 180 : 30) / 360. / (1e-6 * PULSE_US);
        if (minor == 5) add("%d %.9g 1 2 0 %d 20 0 0 0 0 %c\n", i, amplitude, PULSE_US / 2, "erp"[i - 1]);
        if (minor == 4) add("%d %.9g 1 2 0 20 0 0\n", i, amplitude);
        if (minor < 4) add("%d %.9g 1 2 20 0 0\n", i, amplitude);
    }
    add("\n");
}

static void add_pulse_shapes(void)
{
    add("[SHAPES]\n\nshape_id 1\nnum_samples %d\n1\n0\n0\n%d\n\n", PULSE_US, PULSE_US - 3);
    add("shape_id 2\nnum_samples %d\n0\n0\n%d\n\n", PULSE_US, PULSE_US - 2);
}

static larmor_pulseq *opened_as(const char *name, const void *data, size_t bytes, const larmor_pulseq_opts *opts)
{
    put_file(in_folder(name), data, bytes);
    return MADE(larmor_pulseq, larmor_pulseq_read(in_folder(name), opts, &made));
}

static larmor_pulseq *opened(const larmor_pulseq_opts *opts)
{
    return opened_as("a.seq", text, strlen(text), opts);
}

static larmor_trajectory trajectory(const larmor_pulseq *q)
{
    larmor_trajectory t;
    assert_ok(larmor_pulseq_trajectory(q, &t));
    return t;
}

static void refused(larmor_status status, const char *line)
{
    larmor_pulseq *q = (larmor_pulseq *)text;
    char expected[512];
    put_file(in_folder("a.seq"), text, strlen(text));
    snprintf(expected, sizeof expected, "%s%s", in_folder("a.seq"), line);
    const larmor_status got = larmor_pulseq_read(in_folder("a.seq"), NULL, &q);
    assert_string_equal(larmor_last_error(), expected);
    assert_int_equal(got, status);
    assert_null(q);
}

/* ---- one sequence in all versions ---- */

/* A pulse at 0 to 200 us, whose centre is at 70; in block 2 a trapezoid along y to 400 us; in block 3 one along x
 * of 1000 Hz/m with ADC samples of 10 us from 50 us on. */
static void write_simple(int minor, int revision)
{
    static const char *const blocks[] = {[2] = "1 1 1 0 0 0 0\n2 0 0 0 2 0 0\n3 0 0 1 0 0 1\n",
                                         [3] = "1 1 1 0 0 0 0 0\n2 0 0 0 2 0 0 0\n3 0 0 1 0 0 1 0\n",
                                         [4] = "1 20 1 0 0 0 0 0\n2 40 0 0 2 0 0 0\n3 40 0 1 0 0 1 0\n",
                                         [5] = "1 20 1 0 0 0 0 0\n2 40 0 0 2 0 0 0\n3 40 0 1 0 0 1 0\n"};
    begin(minor, revision);
    add("[BLOCKS]\n%s\n", blocks[minor]);
    add_pulses(minor);
    add("[TRAP]\n1 1000 50 200 50 100\n2 -500 100 200 100 0\n\n");
    add(minor == 5 ? "[ADC]\n1 20 10000 150 0 0 0 0 0\n\n" : "[ADC]\n1 20 10000 150 0 0\n\n");
    if (minor < 4) add("[DELAYS]\n1 200\n\n");
    add_pulse_shapes();
}

static void expect_simple(const larmor_pulseq *q)
{
    OWNED(larmor_trajectory) t = trajectory(q);
    assert_int_equal(t.dims, 2);
    assert_int_equal(t.readouts, 1);
    assert_int_equal(t.first[1], 20);
    assert_string_equal(t.units, "1/m");
    for (int i = 0; i < 20; i++) {
        const double s = 10e-6 * (i + .5);
        assert_at_most(fabs(t.k[2 * i] - 1000 * (25e-6 + s)), 1e-13);
        assert_at_most(fabs(t.k[2 * i + 1] + 500 * 300e-6), 1e-13);
        assert_at_most(fabs(t.time_s[i] - (600e-6 + 150e-6 + s - 70e-6)), 1e-15);
    }
}

IN_FOLDER(every_version_gives_the_same_samples)
{
    static const int version[][2] = {{2, 0}, {2, 1}, {3, 0}, {3, 1}, {4, 0}, {4, 1}, {4, 2}, {5, 0}, {5, 1}, {5, 2}};
    for (size_t v = 0; v < sizeof version / sizeof *version; v++) {
        write_simple(version[v][0], version[v][1]);
        OWNED(larmor_pulseq) *q = opened(NULL);
        const larmor_pulseq_info info = larmor_pulseq_describe(q);
        assert_int_equal(info.version[1], version[v][0]);
        assert_int_equal(info.version[2], version[v][1]);
        assert_string_equal(info.name, "two words");
        assert_string_equal(info.warnings, "");
        assert_at_most(fabs(info.fov_mm[1] - 250), 1e-12);
        assert_at_most(fabs(info.duration_s - 1e-3), 1e-15);
        expect_simple(q);
    }
}

/* ---- binary files ---- */

static unsigned char binary[TEXT_ROOM];
static size_t binary_bytes;

static void put(uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) binary[binary_bytes++] = (unsigned char)(value >> 8 * i);
}
static void put_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 8);
}
static void put_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 4);
}
static void put_section(int code, uint64_t count)
{
    put(UINT64_C(0xffffffff00000000) | (unsigned)code, 8);
    if (count) put(count, 8);
}
static void put_text(const char *word)
{
    memcpy(binary + binary_bytes, word, strlen(word));
    binary_bytes += strlen(word);
}

/* The same as write_simple, with a trigger and a shim that say nothing, and a signature. */
static void write_binary(void)
{
    static const int blocks[3][7] = {{20, 1, 0, 0, 0, 0, 0}, {40, 0, 0, 2, 0, 0, 0}, {40, 0, 1, 0, 0, 1, 0}};
    static const double traps[2][5] = {{1000, 50, 200, 50, 100}, {-500, 100, 200, 100, 0}};
    binary_bytes = 0;
    put_text("\1pulseq\2");
    for (int i = 0; i < 3; i++) put((uint64_t[]){1, 5, 2}[i], 8);
    put_section(1, 2);
    put(3, 4);
    put_text("FOV");
    put(3, 4);
    put_text("f");
    for (int i = 0; i < 3; i++) put_f64((double[]){.2, .25, .003}[i]);
    put(4, 4);
    put_text("Name");
    put(9, 4);
    put_text("ctwo words");
    put_section(2, 3);
    for (int b = 0; b < 3; b++)
        for (int c = 0; c < 7; c++) put((uint64_t)blocks[b][c], c ? 4 : 8);
    put_section(3, 1);
    put(1, 4);
    put_f64(30 / 360. / 1e-4);
    for (int i = 0; i < 3; i++) put((uint64_t[]){1, 2, 0}[i], 4);
    put(50000000, 8);
    put(20000000, 8);
    for (int i = 0; i < 4; i++) put_f64(0);
    put('e', 1);
    put_section(5, 2);
    for (int i = 0; i < 2; i++) {
        put((uint64_t)i + 1, 4);
        put_f64(traps[i][0]);
        for (int c = 1; c < 5; c++) put((uint64_t)(1e6 * traps[i][c]), 8);
    }
    put_section(6, 1);
    put(1, 4);
    put(20, 8);
    put(10000000, 8);
    put(150000000, 8);
    for (int i = 0; i < 4; i++) put_f64(0);
    put(0, 4);
    put_section(8, 2);
    for (int s = 0; s < 2; s++) {
        const float packed[2][4] = {{1, 0, 0, 97}, {0, 0, 98, 0}};
        put((uint64_t)s + 1, 4);
        put(PULSE_US, 8);
        put(s ? 3 : 4, 8);
        for (int i = 0; i < (s ? 3 : 4); i++) put_f32(packed[s][i]);
    }
    put_section(10, 0);
    put(1, 4);
    put(1, 8);
    put(1, 4);
    for (int i = 0; i < 6; i++) put(0, 4);
    put_section(14, 0);
    put(2, 4);
    put(1, 8);
    put(1, 4);
    put(1, 4);
    put_f64(1);
    put_f64(0);
    put(UINT64_C(0xffffffff00ffffff), 8);
    put(3, 4);
    put_text("md5");
    put(2, 4);
    put(0x1234, 2);
    put(99, 8);
}

IN_FOLDER(a_binary_file_gives_the_samples_of_its_text)
{
    write_binary();
    larmor_pulseq *q = opened_as("a.bseq", binary, binary_bytes, NULL);
    const larmor_pulseq_info info = larmor_pulseq_describe(q);
    assert_int_equal(info.version[2], 2);
    assert_string_equal(info.name, "two words");
    assert_at_most(fabs(info.fov_mm[0] - 200), 1e-12);
    expect_simple(q);
    larmor_pulseq_free(q);
    larmor_pulseq *none;
    put_file(in_folder("short.bseq"), binary, binary_bytes - 60);
    assert_refused(larmor_pulseq_read(in_folder("short.bseq"), NULL, &none), LARMOR_ERR_FORMAT,
                   "short.bseq: damaged or cut short: a binary Pulseq file ends in the middle");
}

/* ---- pulses ---- */

/* k along x at one sample of block 4: a gradient of 1000 Hz/m for 100 us before and after a pulse. */
static double k_after(const char *columns)
{
    begin(5, 0);
    add("[BLOCKS]\n1 20 1 0 0 0 0 0\n2 30 0 1 0 0 0 0\n3 20 %s 0 0 0 0 0\n4 30 0 1 0 0 1 0\n\n", columns);
    add_pulses(5);
    add("[TRAP]\n1 1000 100 100 100 0\n\n[ADC]\n1 1 100000 200 0 0 0 0 0\n\n");
    add_pulse_shapes();
    OWNED(larmor_pulseq) *q = opened(NULL);
    OWNED(larmor_trajectory) t = trajectory(q);
    return t.k[0];
}

IN_FOLDER(excitation_begins_and_refocusing_negates)
{
    const double whole = 1000 * 200e-6, part = 1000 * (150e-6 + 50e-6 * .75);
    assert_at_most(fabs(k_after("0") - (whole + part)), 1e-13);
    assert_at_most(fabs(k_after("1") - part), 1e-13);
    assert_at_most(fabs(k_after("2") - (part - whole)), 1e-13);
    assert_at_most(fabs(k_after("3") - (whole + part)), 1e-13);
}

IN_FOLDER(k_counts_from_the_centre_of_a_pulse_within_a_gradient)
{
    for (int pulse = 1; pulse <= 2; pulse++) {
        begin(5, 0);
        add("[BLOCKS]\n1 40 %d 1 0 0 1 0\n\n", pulse);
        add_pulses(5);
        add("[TRAP]\n1 1000 10 380 10 0\n\n[ADC]\n1 30 10000 50 0 0 0 0 0\n\n");
        add_pulse_shapes();
        OWNED(larmor_pulseq) *q = opened(NULL);
        OWNED(larmor_trajectory) t = trajectory(q);
        for (int i = 0; i < 30; i++) {
            const double at = 50e-6 + 10e-6 * (i + .5), k = 1000 * (at - 5e-6), centre = 1000 * 65e-6;
            double expected = k;
            if (at > 70e-6) expected = pulse == 1 ? k - centre : k - 2 * centre;
            assert_at_most(fabs(t.k[2 * i] - expected), 1e-13);
        }
    }
}

/* ---- shapes ---- */

/* Samples every 5 us of a block of 100 us with one gradient along y and these shapes. */
static larmor_trajectory along_y(int minor, const char *gradient, const char *shapes)
{
    begin(minor, 0);
    add("[BLOCKS]\n1 10 0 0 1 0 1 0\n\n[GRADIENTS]\n%s\n\n%s\n\n[SHAPES]\n\n%s\n", gradient,
        minor == 5 ? "[ADC]\n1 20 5000 0 0 0 0 0 0" : "[ADC]\n1 20 5000 0 0 0", shapes);
    OWNED(larmor_pulseq) *q = opened(NULL);
    larmor_trajectory t = trajectory(q);
    return t;
}

IN_FOLDER(shaped_gradients_are_linear_between_centres_and_ends)
{
    /* 2000 (1 - |t - 50| / 50) over 100 us, whose ten samples are at 5, 15, ... us */
    static const char *const shapes[] = {
        "shape_id 1\nnum_samples 10\n0.1\n0.3\n0.5\n0.7\n0.9\n0.9\n0.7\n0.5\n0.3\n0.1\n",
        "shape_id 1\nnum_samples 10\n0.1\n0.2\n0.2\n2\n0\n-0.2\n-0.2\n2\n\n"}; /* and the same, packed */
    for (int packed = 0; packed < 2; packed++) {
        OWNED(larmor_trajectory) t = along_y(5, "1 2000 0 0 1 0 0", shapes[packed]);
        for (int i = 0; i < 20; i++) {
            const double at = 5e-6 * (i + .5), half = 50e-6, rest = 100e-6 - at;
            double expected = at <= half ? 1000 * at * at / half : 2000 * half - 1000 * rest * rest / half;
            /* the tip is cut off: between 45 and 55 us it is 0.9 */
            const double cut = fmin(fmax(at - 45e-6, 0), 5e-6), after = fmin(fmax(at - 50e-6, 0), 5e-6);
            expected -= 2000 * (.5 * cut * cut / half + .1 * after - .5 * after * after / half);
            assert_at_most(fabs(t.k[2 * i + 1] - expected), 1e-9);
        }
    }
}

IN_FOLDER(first_and_last_are_the_ends_and_time_minus_one_halves_the_raster)
{
    larmor_trajectory t = along_y(5, "1 1000 500 250 1 0 0", "shape_id 1\nnum_samples 2\n1\n1\n");
    const double at[] = {2.5e-6, 7.5e-6, 12.5e-6, 17.5e-6, 22.5e-6};
    const double k[] = {500 * 2.5e-6 + .5 * 500 / 5e-6 * 2.5e-6 * 2.5e-6, 750 * 5e-6 + 1000 * 2.5e-6,
                        750 * 5e-6 + 1000 * 7.5e-6, 750 * 5e-6 + 1000 * 10e-6 + 1000 * 2.5e-6 - .5 * 150e6 * 6.25e-12,
                        750 * 5e-6 + 1000 * 10e-6 + 625 * 5e-6};
    for (int i = 0; i < 5; i++) assert_at_most(fabs(t.k[2 * i + 1] - k[i]), at[i] * 1e-9);
    larmor_trajectory_free(&t);
    t = along_y(5, "1 1000 0 0 1 -1 0",
                "shape_id 1\nnum_samples 3\n1\n1\n1\n"); /* points at 5, 10, 15, ends at 0, 20 us */
    assert_at_most(fabs(t.k[1] - .5 * 1000 / 5e-6 * 6.25e-12), 1e-12);
    assert_at_most(fabs(t.k[2 * 4 + 1] - 1000 * 15e-6), 1e-12);
    larmor_trajectory_free(&t);
    t = along_y(5, "1 1000 0 0 1 2 0", "shape_id 1\nnum_samples 3\n0\n1\n0\n\nshape_id 2\nnum_samples 3\n0\n2\n6\n");
    assert_at_most(fabs(t.k[2 * 19 + 1] - .5 * 1000 * 60e-6), 1e-12); /* an extended trapezoid: a triangle of 60 us */
    larmor_trajectory_free(&t);
}

IN_FOLDER(before_1_5_a_gradient_begins_where_the_last_ended_and_is_continued_to_its_end)
{
    larmor_trajectory t = along_y(4, "1 1000 1 0 0", "shape_id 1\nnum_samples 2\n0.5\n0.7\n");
    /* 0 at 0, 500 at 5, 700 at 15, 800 at 20 us */
    assert_at_most(fabs(t.k[2 * 19 + 1] - (250 * 5e-6 + 600 * 10e-6 + 750 * 5e-6)), 1e-12);
    larmor_trajectory_free(&t);
    begin(4, 0);
    add("[BLOCKS]\n1 2 0 0 1 0 0 0\n2 2 0 0 2 0 0 0\n3 1 0 0 0 0 1 0\n\n[GRADIENTS]\n1 1000 1 0 0\n2 1000 2 0 0\n\n"
        "[ADC]\n1 1 1000 0 0 0\n\n[SHAPES]\n\nshape_id 1\nnum_samples 2\n0.5\n0.7\n\nshape_id 2\nnum_samples "
        "2\n0.9\n0.3\n");
    OWNED(larmor_pulseq) *q = opened(NULL);
    t = trajectory(q);
    const double first = 250 * 5e-6 + 600 * 10e-6 + 750 * 5e-6, second = 850 * 5e-6 + 600 * 10e-6 + 150 * 5e-6;
    assert_at_most(fabs(t.k[1] - (first + second)), 1e-12);
    larmor_trajectory_free(&t);
}

/* ---- extensions ---- */

IN_FOLDER(a_rotation_is_that_of_the_blocks_gradients)
{
    const double q[] = {.5, .5, .5, .5}; /* about (1, 1, 1): x to y to z to x */
    const double half = .35, about_z[] = {cos(half), 0, 0, 3 * sin(half)};
    begin(5, 1);
    add("RequiredExtensions ROTATIONS\n\n[BLOCKS]\n1 20 1 0 0 0 0 0\n2 30 0 1 2 3 0 1\n3 30 0 1 0 0 0 2\n"
        "4 30 0 1 2 0 1 0\n\n");
    add_pulses(5);
    add("[TRAP]\n1 1000 100 100 100 0\n2 2000 100 100 100 0\n3 4000 100 100 100 0\n\n[ADC]\n1 1 1000 0 0 0 0 0 "
        "0\n\n");
    add("[EXTENSIONS]\n1 7 1 0\n2 7 2 0\n\nextension ROTATIONS 7\n1 %.12g %.12g %.12g %.12g\n", q[0], q[1], q[2],
        q[3]);
    /* not of length 1, which it is made */
    const double length = sqrt(about_z[0] * about_z[0] + about_z[3] * about_z[3]);
    add("2 %.12g 0 0 %.12g\n\n", about_z[0], about_z[3]);
    add_pulse_shapes();
    OWNED(larmor_pulseq) *s = opened(NULL);
    OWNED(larmor_trajectory) t = trajectory(s);
    const double turned = 2 * atan2(about_z[3] / length, about_z[0] / length), m = 200e-6;
    assert_int_equal(t.dims, 2);             /* one sample */
    const double begun = .5 * 1e7 * .25e-12; /* of block 4, half a us */
    assert_at_most(fabs(t.k[0] - m * (4000 + 1000 * cos(turned)) - begun), 1e-9);
    assert_at_most(fabs(t.k[1] - m * (1000 + 1000 * sin(turned)) - 2 * begun), 1e-9);
    assert_at_most(fabs(larmor_pulseq_describe(s).kmax[2] - m * 2000), 1e-9);
}

static int label_of(const larmor_pulseq *q, int64_t readout, const char *name)
{
    larmor_pulseq_readout r;
    int l = 0;
    while (strcmp(larmor_pulseq_label(l), name) != 0) l++;
    assert_ok(larmor_pulseq_readout_at(q, readout, &r));
    return r.label[l];
}

IN_FOLDER(labels_are_set_then_counted_before_the_samples_take_them)
{
    begin(5, 0);
    add("[BLOCKS]\n1 10 0 0 0 0 1 0\n2 10 0 0 0 0 1 1\n3 10 0 0 0 0 0 3\n4 10 0 0 0 0 1 4\n\n[ADC]\n1 2 1000 0 0 0 0 "
        "0 0\n\n");
    /* the list of block 2: LIN + 1, then LIN = 7 and NAV = 1 */
    add("[EXTENSIONS]\n1 2 1 2\n2 1 1 5\n3 2 2 0\n4 1 3 0\n5 1 2 0\n\nextension LABELSET 1\n1 7 LIN\n2 1 NAV\n3 -3 "
        "PAR\n\n"
        "extension LABELINC 2\n1 1 LIN\n2 5 LIN\n\nextension TRIGGERS 3\n1 1 1 0 10\n");
    OWNED(larmor_pulseq) *q = opened(NULL);
    static const struct {
        const char *name;
        int at[3];
    } expected[] = {{"LIN", {0, 8, 13}}, {"NAV", {0, 1, 1}}, {"PAR", {0, 0, -3}}, {"SLC", {0, 0, 0}}};
    for (size_t l = 0; l < sizeof expected / sizeof *expected; l++)
        for (int r = 0; r < 3; r++) assert_int_equal(label_of(q, r, expected[l].name), expected[l].at[r]);
    assert_null(larmor_pulseq_label(LARMOR_PULSEQ_LABELS));
    larmor_pulseq_readout r;
    assert_refused(larmor_pulseq_readout_at(q, 3, &r), LARMOR_ERR_ARG, "pulseq: readout 3, the sequence has 3");
}

IN_FOLDER(soft_delays_stretch_their_blocks)
{
    begin(5, 0);
    add("[BLOCKS]\n1 20 1 0 0 0 0 0\n2 30 0 0 0 0 0 1\n3 10 0 0 0 0 1 0\n\n");
    add_pulses(5);
    add("[ADC]\n1 1 1000 0 0 0 0 0 0\n\n[EXTENSIONS]\n1 2 1 0\n\nextension DELAYS 2\n1 0 -150 2 TE\n\n");
    add_pulse_shapes();
    larmor_pulseq_opts opts = {.soft_delays = "TE=0.01"};
    larmor_pulseq *q = opened(NULL);
    assert_at_most(fabs(larmor_pulseq_describe(q).duration_s - 600e-6), 1e-12);
    larmor_pulseq_free(q);
    q = opened(&opts);
    assert_at_most(fabs(larmor_pulseq_describe(q).duration_s - (300e-6 + 5e-3 - 150e-6)), 1e-12);
    larmor_pulseq_free(q);
    static const char *const bad[][2] = {{"TR=1", "it has no soft delay TR."},
                                         {"TE=", "opts.soft_delays: names and times in s expected"},
                                         {"TE=1e-5", "with opts.soft_delays TE=1e-05 it would take -0.000145 s."}};
    for (int i = 0; i < 3; i++) {
        opts.soft_delays = bad[i][0];
        assert_refused(larmor_pulseq_read(in_folder("a.seq"), &opts, &q), LARMOR_ERR_ARG, bad[i][1]);
    }
}

IN_FOLDER(phases_of_events_and_the_shift_that_their_frequencies_are)
{
    enum { N = 20 };
    /* 500 and 250 Hz under 1000 Hz/m along x, and along y: a field of view at (0.5, 0.25) m */
    begin(5, 0);
    add("[BLOCKS]\n1 40 0 1 0 0 1 0\n2 40 0 0 1 0 2 0\n\n[TRAP]\n1 1000 100 200 100 0\n\n");
    add("[ADC]\n1 %d 10000 100 0 0 500 0.5 1\n2 %d 10000 100 0 0 250 0 0\n\n", N, N);
    add("[SHAPES]\n\nshape_id 1\nnum_samples %d\n0\n0.01\n0.01\n%d\n", N, N - 3);
    for (int p = 0; p < 3; p++) {
        const larmor_pulseq_opts opts = {.adc_phases = (larmor_pulseq_phases)p};
        OWNED(larmor_pulseq) *q = opened(&opts);
        OWNED(larmor_trajectory) t = trajectory(q);
        const larmor_pulseq_info info = larmor_pulseq_describe(q);
        assert_at_most(fabs(info.shift_mm[0] - 500), 1e-3);
        assert_at_most(fabs(info.shift_mm[1] - 250), 1e-3);
        assert_true(info.shift_mm[2] == 0);
        assert_true(!t.phase == (p == LARMOR_PHASES_NONE));
        for (int i = 0; i < N && t.phase; i++) {
            const double received = .5 + 2 * M_PI * 500 * 10e-6 * (i + .5);
            assert_at_most(fabs(t.phase[i] - (.01 * i + (p == LARMOR_PHASES_ALL ? received : 0))), 1e-12);
        }
    }
}

/* ---- what is refused ---- */

static void replace(const char *from, const char *to)
{
    char *at = strstr(text, from);
    assert_non_null(at);
    char rest[TEXT_ROOM];
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    *at = 0;
    add("%s%s", to, rest);
}

IN_FOLDER(what_is_no_sequence_is_refused_in_one_line)
{
    static const struct {
        const char *from, *to;
        larmor_status status;
        const char *line;
    } cases[] = {
        {"minor 5", "minor 6", LARMOR_ERR_UNSUPPORTED, ": Pulseq version 1.6.0; 1.2 to 1.5 are read."},
        {"[VERSION]\nmajor 1\nminor 5\nrevision 0\n", "", LARMOR_ERR_FORMAT,
         ": no [VERSION] before its tables: no Pulseq sequence."},
        {"[BLOCKS]", "[BLOKS]", LARMOR_ERR_FORMAT, ": line 15: a section that is not known."},
        {"1 20 1 0 0 0 0 0", "1 20 1 0 0 0 0", LARMOR_ERR_FORMAT,
         ": line 16: not as many columns as this version has."},
        {"1 20 1 0 0 0 0 0", "1 20 one 0 0 0 0 0", LARMOR_ERR_FORMAT, ": line 16: a column that is no number."},
        {"1 20 1 0 0 0 0 0", "1 20 nan 0 0 0 0 0", LARMOR_ERR_FORMAT, ": line 16: a column that is no number."},
        {"1 20 1 0 0 0 0 0", "1 20 9 0 0 0 0 0", LARMOR_ERR_FORMAT, ": block 1: an event that is not there."},
        {"2 40 0 0 2", "2 40 0 0 8", LARMOR_ERR_FORMAT, ": block 2: a gradient that is not there."},
        {"2 40 0 0 2", "2 39 0 0 2", LARMOR_ERR_FORMAT, ": block 2: a gradient that ends after the block."},
        {"1 20 10000 150", "1 30 10000 150", LARMOR_ERR_FORMAT, ": block 3: an ADC event that ends after the block."},
        {"1 20 10000 150", "1 2e9 10000 150", LARMOR_ERR_FORMAT,
         ": block 3: an ADC event without samples, or with too many."},
        {"1 20 10000 150", "1 1e8 1e-9 150", LARMOR_ERR_FORMAT,
         ": block 3: up to here it has more samples than a file of this size may."},
        {"2 -500 100", "1 -500 100", LARMOR_ERR_FORMAT, ": TRAP has the number 1 twice."},
        {"2 -500 100", "2.5 -500 100", LARMOR_ERR_FORMAT,
         ": TRAP has the number 2.5, a whole number from 1 to 2147483647 expected."},
        {"1\n0\n0\n97", "1\n0\n0\n98", LARMOR_ERR_FORMAT, ": shape 1 does not unpack to its 100 samples."},
        {"1\n0\n0\n97", "1\n0\n0\n-2", LARMOR_ERR_FORMAT, ": shape 1 does not unpack to its 100 samples."},
        {"num_samples 100", "num_samples 2000000000", LARMOR_ERR_FORMAT,
         ": its shapes have more samples than a file of this size may."},
        {"GradientRasterTime 1e-05", "GradientRasterTime 0", LARMOR_ERR_FORMAT,
         ": GradientRasterTime is no time from 1 ns to 1 s."},
        {"AdcRasterTime 1e-07", "RequiredExtensions ROTATIONS FANCY", LARMOR_ERR_UNSUPPORTED,
         ": needs the extension FANCY, which larmor does not know."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_simple(5, 0);
        replace(cases[i].from, cases[i].to);
        refused(cases[i].status, cases[i].line);
    }
    snprintf(text, sizeof text, "hello\n");
    refused(LARMOR_ERR_FORMAT, ": line 1 is in no section: no Pulseq sequence.");
    snprintf(text, sizeof text, "# nothing\n");
    refused(LARMOR_ERR_FORMAT, ": no [VERSION]: no Pulseq sequence.");
    larmor_pulseq *q;
    assert_refused(larmor_pulseq_read(in_folder("b.seq"), NULL, &q), LARMOR_ERR_IO, "b.seq: no such file.");
}

IN_FOLDER(extensions_that_go_round_end)
{
    write_simple(5, 0);
    replace("3 40 0 1 0 0 1 0", "3 40 0 1 0 0 1 1");
    replace("[TRAP]", "[EXTENSIONS]\n1 1 1 2\n2 1 1 1\n\nextension LABELSET 1\n1 1 SLC\n\n[TRAP]");
    refused(LARMOR_ERR_FORMAT, ": block 3: extensions that go round in a circle.");
    write_simple(5, 0);
    replace("[TRAP]", "extension FANCY 4\n1 2 three\n\n[TRAP]");
    OWNED(larmor_pulseq) *q = opened(NULL);
    assert_string_equal(larmor_pulseq_describe(q).warnings, "its extension FANCY is not known and left out.\n");
    expect_simple(q);
}

/* Mutants end with a sequence whose numbers are finite, or with a line. */
IN_FOLDER(mutants_end_with_a_result_or_a_line)
{
    enum { MUTANTS = 60 };
    static unsigned char seed[2][TEXT_ROOM], mutant[TEXT_ROOM];
    size_t size[2];
    uint64_t random = 20260428;
    write_simple(5, 0);
    size[0] = strlen(text);
    memcpy(seed[0], text, size[0]);
    write_binary();
    size[1] = binary_bytes;
    memcpy(seed[1], binary, size[1]);
    for (int m = 0; m < 2 * MUTANTS; m++) {
        OWNED(larmor_pulseq) *q;
        larmor_trajectory t;
        const size_t bytes = size[m % 2];
        memcpy(mutant, seed[m % 2], bytes);
        for (int change = 0; change < 1 + m % 3; change++) {
            const size_t at = (size_t)((test_random(&random) + 1) / 2 * (double)bytes);
            mutant[at] =
                (unsigned char)(m % 2 ? 128 * (test_random(&random) + 1) : '0' + 5 * (test_random(&random) + 1));
        }
        put_file(in_folder("m.seq"), mutant, m % 7 ? bytes : bytes / 2);
        const larmor_status st = larmor_pulseq_read(in_folder("m.seq"), NULL, &q);
        if (st) {
            assert_true(st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_UNSUPPORTED);
            assert_null(strchr(larmor_last_error(), '\n'));
            assert_null(strstr(larmor_last_error(), "its reader"));
            continue;
        }
        if (!larmor_pulseq_trajectory(q, &t)) {
            for (int64_t i = 0; i < t.dims * t.first[t.readouts]; i++) assert_true(isfinite(t.k[i]));
            larmor_trajectory_free(&t);
        }
    }
}
