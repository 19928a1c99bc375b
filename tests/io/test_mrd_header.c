/* The XML header of ISMRMRD: what is read, what may be missing, and the exact words for what is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "tests/support/test.h"

#include <locale.h>

#include "io/reader/mrd_header.h"

#define SPACE(matrix, fov) "<matrixSize>" matrix "</matrixSize>\n<fieldOfView_mm>" fov "</fieldOfView_mm>\n"
#define MATRIX "<x>64</x><y>48</y><z>1</z>"
#define FOV "<x>320.0</x><y>240</y><z>5e0</z>"
#define LIMITS "<encodingLimits>\n</encodingLimits>\n"
#define ENCODING(encoded, recon, limits, trajectory)                                                                 \
    "<encoding>\n<encodedSpace>\n" encoded "</encodedSpace>\n<reconSpace>\n" recon                                   \
    "</reconSpace>\n" limits trajectory "</encoding>\n"
#define HEADER(inside)                                                                                               \
    "<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n" inside "</ismrmrdHeader>\n"
#define RADIAL "<trajectory>radial</trajectory>\n"
#define GOOD ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS, RADIAL)

static lmr_mrd_header header;

static larmor_status parse_bytes(const char *text, size_t bytes)
{
    lmr_mrd_header_free(&header);
    return lmr_mrd_header_parse(text, (int64_t)bytes, &header);
}

static larmor_status parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

/* The header is refused with exactly this line. */
static void refused(const char *text, const char *line)
{
    assert_int_equal(parse(text), LARMOR_ERR_FORMAT);
    assert_string_equal(larmor_last_error(), line);
}

TEST(an_encoding_is_read_with_all_its_numbers)
{
    assert_ok(parse(HEADER(
        "<acquisitionSystemInformation><receiverChannels>12</receiverChannels>"
        "<relativeReceiverNoiseBandwidth>0.8</relativeReceiverNoiseBandwidth></"
        "acquisitionSystemInformation>" ENCODING(
            SPACE("<x>512</x><y> 256\n</y><z>16</z>", FOV), SPACE("<x>256</x><y>256</y><z>12</z>", FOV),
            "<encodingLimits><kspace_encoding_step_1><minimum>1</minimum><maximum>78</maximum><center>39</center>"
            "</kspace_encoding_step_1><slice><maximum>3</maximum></slice></encodingLimits>",
            RADIAL))));
    assert_int_equal(header.encodings, 1);
    assert_int_equal(header.receiver_channels, 12);
    assert_true(header.noise_bandwidth == 0.8);
    const lmr_mrd_encoding *e = &header.encoding[0];
    assert_int_equal(e->space.matrix[0], 512);
    assert_int_equal(e->space.matrix[1], 256);
    assert_int_equal(e->space.recon_matrix[2], 12);
    assert_true(e->space.fov_mm[0] == 320 && e->space.fov_mm[1] == 240 && e->space.recon_fov_mm[2] == 5);
    assert_string_equal(e->space.trajectory, "radial");
    assert_int_equal(e->limit[LMR_STEP1][LMR_MINIMUM], 1);
    assert_int_equal(e->limit[LMR_STEP1][LMR_MAXIMUM], 78);
    assert_int_equal(e->limit[LMR_STEP1][LMR_CENTER], 39);
    assert_int_equal(e->limit[LMR_SLICE][LMR_MAXIMUM], 3);
    assert_int_equal(e->limit[LMR_SLICE][LMR_CENTER], -1);
}

TEST(what_larmor_does_not_need_is_skipped_whatever_it_holds)
{
    assert_ok(
        parse(HEADER("<experimentalConditions><H1resonanceFrequency_Hz>140713325569856</H1resonanceFrequency_Hz>"
                     "</experimentalConditions><x>-1</x><trajectory>zigzag</trajectory>" GOOD)));
    assert_true(header.noise_bandwidth == 0.793);
    assert_true(header.field_tesla == 0 && !header.field_by_h1); /* 3.3e6 T are none */
    const size_t length = 200000;                                /* of a user parameter's name */
    HEAP char *text = malloc(length + 4096);
    int n = sprintf(text, "%s", "<ismrmrdHeader><userParameters><userParameterDouble><name>");
    memset(text + n, 'a', length);
    strcpy(text + n + length, "</name></userParameterDouble></userParameters>" GOOD "</ismrmrdHeader>");
    assert_ok(parse(text));
}

#define H1(hz)                                                                                                       \
    "<experimentalConditions><H1resonanceFrequency_Hz>" hz "</H1resonanceFrequency_Hz></experimentalConditions>"
#define TESLA(t)                                                                                                     \
    "<acquisitionSystemInformation><systemFieldStrength_T>" t                                                        \
    "</systemFieldStrength_T></acquisitionSystemInformation>"

TEST(the_field_strength_is_the_stated_one_or_that_of_the_frequency)
{
    assert_ok(parse(HEADER(H1("23417613") GOOD)));
    assert_true(fabs(header.field_tesla - 0.55) < 1e-6 && header.field_by_h1);
    assert_ok(parse(HEADER(H1("23417613") TESLA("1.5") GOOD)));
    assert_true(header.field_tesla == 1.5 && !header.field_by_h1);
    assert_ok(parse(HEADER(TESLA("1.5") H1("23417613") GOOD)));
    assert_true(header.field_tesla == 1.5 && !header.field_by_h1);
    assert_ok(parse(HEADER(H1("0") GOOD)));
    assert_true(header.field_tesla == 0 && !header.field_by_h1);
}

TEST(a_namespace_prefix_and_the_name_custom_are_understood)
{
    assert_ok(parse("<m:ismrmrdHeader xmlns:m=\"u\">" ENCODING(
        SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS, "<m:trajectory>Custom</m:trajectory>") "</m:ismrmrdHeader>"));
    assert_string_equal(header.encoding[0].space.trajectory, "other");
}

TEST(numbers_do_not_depend_on_the_locale)
{
    const char *before = setlocale(LC_NUMERIC, NULL);
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) setlocale(LC_NUMERIC, before);
    assert_ok(
        parse(HEADER(ENCODING(SPACE(MATRIX, "<x>1.5</x><y>1</y><z>1</z>"), SPACE(MATRIX, FOV), LIMITS, RADIAL))));
    assert_true(header.encoding[0].space.fov_mm[0] == 1.5);
    setlocale(LC_NUMERIC, "C");
}

TEST(numbers_that_are_not_whole_in_range_and_finite_are_refused)
{
    static const char *const matrices[] = {"-5",   "65536", "99999999999999", "2147483647", "abc", "1e3",
                                           "12.0", "0x10",  "64 64",          "",           "+",   "nan"};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        char text[2048], line[160];
        snprintf(text, sizeof text,
                 HEADER(ENCODING(SPACE("<x>%s</x><y>4</y><z>1</z>", FOV), SPACE(MATRIX, FOV), LIMITS, RADIAL)),
                 matrices[i]);
        snprintf(line, sizeof line, "header: encoding 1 matrix x = \"%s\"; 1 to 65535 expected.", matrices[i]);
        refused(text, line);
    }
    static const char *const fovs[] = {"nan", "-inf", "-1", "1e-7", "1e999", "1mm", "1,5", "0x1p3"};
    for (size_t i = 0; i < sizeof fovs / sizeof *fovs; i++) {
        char text[2048], line[160];
        snprintf(
            text, sizeof text,
            HEADER(GOOD ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, "<x>1</x><y>%s</y><z>1</z>"), LIMITS, RADIAL)),
            fovs[i]);
        snprintf(line, sizeof line,
                 "header: encoding 2 reconSpace field of view y is %s; a positive number of mm expected.", fovs[i]);
        refused(text, line);
    }
    refused(
        HEADER(ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV),
                        "<encodingLimits><kspace_encoding_step_1><maximum>65599</maximum></kspace_encoding_step_1>"
                        "</encodingLimits>",
                        RADIAL)),
        "header: encoding 1 kspace_encoding_step_1 maximum = \"65599\"; 0 to 65535 expected.");
    refused(HEADER("<acquisitionSystemInformation><receiverChannels>70000</receiverChannels></"
                   "acquisitionSystemInformation>" GOOD),
            "header: receiverChannels = \"70000\"; 0 to 65535 expected.");
    refused(HEADER("<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>0</relativeReceiverNoiseBandwidth>"
                   "</acquisitionSystemInformation>" GOOD),
            "header: relativeReceiverNoiseBandwidth = \"0\"; a positive number expected.");
}

/* Whether they are needed depends on the readouts. */
TEST(what_is_left_out_or_given_as_0_is_0)
{
    static const char *const nothing[] = {
        HEADER(""), HEADER("<encoding></encoding>"),
        HEADER("<encoding><encodedSpace><matrixSize><x>0</x></matrixSize><fieldOfView_mm><x>0.0</x><y>0</y>"
               "</fieldOfView_mm></encodedSpace></encoding>")};
    for (int i = 0; i < 3; i++) {
        assert_ok(parse(nothing[i]));
        assert_int_equal(header.encodings, 1);
        const lmr_mrd_encoding *e = &header.encoding[0];
        for (int d = 0; d < 3; d++) {
            assert_true(e->space.matrix[d] == 0 && e->space.fov_mm[d] == 0);
            assert_true(e->space.recon_matrix[d] == 0 && e->space.recon_fov_mm[d] == 0);
        }
        assert_true(e->has_space[0] == (i == 2) && !e->has_space[1] && !e->has_limits);
        assert_int_equal(e->limit[LMR_STEP1][LMR_CENTER], -1);
        assert_string_equal(e->space.trajectory, "");
    }
    assert_ok(parse(HEADER(ENCODING(SPACE("<x>4</x><y>4</y>", FOV), SPACE(MATRIX, ""), LIMITS, RADIAL))));
    assert_true(header.encoding[0].space.matrix[1] == 4 && header.encoding[0].space.matrix[2] == 0);
    assert_true(header.encoding[0].space.recon_fov_mm[0] == 0 && header.encoding[0].has_limits);
}

TEST(repeated_parts_are_refused)
{
    refused(HEADER(ENCODING(SPACE(MATRIX "<x>4</x>", FOV), SPACE(MATRIX, FOV), LIMITS, RADIAL)),
            "header: encoding 1 matrix x given twice.");
    refused(HEADER(ENCODING(SPACE(MATRIX "<x>0</x>", FOV), SPACE(MATRIX, FOV), LIMITS, RADIAL)),
            "header: encoding 1 matrix x given twice.");
    refused(HEADER(ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS, RADIAL RADIAL)),
            "header: encoding 1 trajectory given twice.");
}

TEST(a_trajectory_of_another_name_is_kept_as_one_printable_line)
{
    assert_ok(
        parse(HEADER(ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS, "<trajectory>zigzag</trajectory>"))));
    assert_string_equal(header.encoding[0].space.trajectory, "");
    assert_string_equal(header.encoding[0].unknown, "zigzag");
    assert_ok(
        parse(HEADER(ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS,
                              "<trajectory>a\nb\xc3\xa4 0123456789012345678901234567890123456789</trajectory>"))));
    assert_string_equal(header.encoding[0].unknown, "a?b?? 0123456789012345678901234567890123...");
}

/* The angle between spokes that a header with these parameters has. */
static double angle_of(const char *of_trajectory, const char *of_scan)
{
    char text[2048];
    snprintf(text, sizeof text,
             "<ismrmrdHeader><userParameters>%s</userParameters><encoding><trajectory>radial</trajectory>"
             "<trajectoryDescription><identifier>x</identifier>%s</trajectoryDescription></encoding></ismrmrdHeader>",
             of_scan, of_trajectory);
    assert_int_equal(parse_bytes(text, strlen(text)), LARMOR_OK);
    return header.encoding[0].space.angle_deg;
}

#define DOUBLE(name, value) "<userParameterDouble><name>" name "</name><value>" value "</value></userParameterDouble>"
#define LONG(name, value) "<userParameterLong><name>" name "</name><value>" value "</value></userParameterLong>"

TEST(parameters_tell_the_angle_between_spokes)
{
    assert_true(angle_of(DOUBLE("angle_increment", "111.25"), "") == 111.25);
    assert_true(angle_of("", DOUBLE("Golden Angle", "68.75")) == 68.75);
    assert_true(angle_of(DOUBLE("spoke_angle", "23.5"), DOUBLE("GoldenAngle", "68.75")) == 23.5);
    assert_true(fabs(angle_of(LONG("tiny_golden_angle", "7"), "") - 23.628144) < 1e-6);
    const char *const nothing[] = {DOUBLE("angle_increment", "400"),
                                   DOUBLE("angle_increment", "much"),
                                   DOUBLE("angle", "30"),
                                   LONG("tiny_golden_angle", "0"),
                                   DOUBLE("spoke_angle", "nan"),
                                   "<userParameterDouble><value>30</value></userParameterDouble>"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) assert_true(angle_of(nothing[i], "") == 0);
}

#define MULTIBAND(inside)                                                                                            \
    HEADER(ENCODING(SPACE(MATRIX, FOV), SPACE(MATRIX, FOV), LIMITS,                                                  \
                    RADIAL "<parallelImaging><accelerationFactor><kspace_encoding_step_1>1</kspace_encoding_step_1>" \
                           "<kspace_encoding_step_2>2</kspace_encoding_step_2></accelerationFactor><multiband>"      \
                           "<spacing>" inside "</multiband></parallelImaging>\n"))

/* Of the header that was parsed last. */
static const larmor_multiband_header *multiband(void)
{
    return &header.encoding[0].space.multiband;
}

TEST(slices_that_were_excited_together_are_read_as_the_schema_has_them)
{
    assert_ok(parse(MULTIBAND("<dZ>0.0</dZ><dZ> 2.5 </dZ></spacing><spacing><dZ>0.0</dZ><dZ>2.5</dZ></spacing>"
                              "<deltaKz>1.0</deltaKz><multiband_factor>2</multiband_factor>"
                              "<calibration>separable2D</calibration>"
                              "<calibration_encoding>1</calibration_encoding>")));
    const larmor_multiband_header *m = multiband();
    assert_true(m->factor == 2 && m->spacings == 2 && m->offsets == 2 && !m->differs);
    assert_true(m->offset_mm[0] == 0 && m->offset_mm[1] == 2.5 && m->delta_kz == 1 && m->calibration_encoding == 1);
    assert_string_equal(m->calibration, "separable2D");
    assert_ok(parse(MULTIBAND("<dZ>0</dZ><dZ>2</dZ></spacing><spacing><dZ>0</dZ><dZ>3</dZ></spacing>")));
    m = multiband();
    assert_true(m->differs && m->factor == -1 && isnan(m->delta_kz));
    assert_ok(parse(MULTIBAND("<dZ>x</dZ></spacing><deltaKz>much</deltaKz><multiband_factor>0</multiband_factor>")));
    m = multiband();
    assert_true(m->factor == -1 && isnan(m->offset_mm[0]) && isnan(m->delta_kz));
    assert_ok(parse(HEADER(GOOD)));
    m = multiband();
    assert_int_equal(m->factor, 0);
}

TEST(broken_xml_is_refused_with_its_line)
{
    refused("", "header is empty.");
    refused(" \n\t ", "header is empty.");
    refused("<html></html>", "header: root is <html>, <ismrmrdHeader> expected.");
    refused("garbage", "header line 1: not XML (syntax error).");
    refused("<ismrmrdHeader>\n<encoding>\n</ismrmrdHeader>\n", "header line 2: tag <encoding> not closed.");
    refused("<ismrmrdHeader>\n\n<encoding>\n<encodedSpace>", "header line 4: tag <encodedSpace> not closed.");
    refused("<?xml version=\"1.0\"?>\n\n<!DOCTYPE a [<!ENTITY b \"c\">]>\n<ismrmrdHeader/>",
            "header line 3: DOCTYPE is not allowed.");
    refused("<ismrmrdHeader>\n&nbsp;</ismrmrdHeader>", "header line 2: not XML (undefined entity).");
    refused("<ismrmrdHeader/><second/>", "header line 1: not XML (junk after document element).");
}

TEST(depth_encodings_and_size_are_limited)
{
    char deep[64 + 70 * 8] = "<ismrmrdHeader>";
    for (int i = 0; i < 64; i++) strcat(deep, "\n<a>");
    refused(deep, "header line 65: more than 64 levels of tags.");

    HEAP char *many = calloc(65, sizeof GOOD + 16);
    strcpy(many, "<ismrmrdHeader>");
    for (int i = 0; i < 65; i++) strcat(many, GOOD);
    strcat(many, "</ismrmrdHeader>");
    refused(many, "header: more than 64 encodings.");

    char small[] = "<ismrmrdHeader/>";
    assert_int_equal(parse_bytes(small, ((size_t)16 << 20) + 1), LARMOR_ERR_FORMAT);
    assert_string_equal(larmor_last_error(), "header is 16777217 bytes, limit 16777216.");
}

TEST(every_cut_of_a_header_is_refused)
{
    const char text[] = HEADER(GOOD);
    const size_t end = strlen(text) - 1; /* the last character is a newline */
    for (size_t n = 0; n < end; n++) {
        HEAP char *cut = calloc(n + 1, 1); /* so that a read past the end is seen */
        memcpy(cut, text, n);
        assert_int_equal(parse_bytes(cut, n), LARMOR_ERR_FORMAT);
    }
}

int main(void)
{
    const int failures = run_claims(NULL, NULL);
    lmr_mrd_header_free(&header);
    return failures ? 1 : 0;
}
