/* DICOM folders, read back by DCMTK: values, places, what the header says, UIDs, and all files or none.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "tests/io/dicom_read.h"
#include "tests/io/files.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/atomic.h"

enum { NX = 6, NY = 4, NZ = 3, MOST = 64 };

ENDS_BY(dicom_close, dicom)

#define assert_near(value, expected, limit) assert_at_most(fabs((value) - (expected)), limit)
#define NEAR_MM 1e-4
#define SERIES_UID 0x0020000e
#define IMAGE_UID 0x00080018

/* Turned about two axes, and far from the centre. */
static larmor_image_meta oblique(void)
{
    return (larmor_image_meta){.fov_mm = {240, 200, 15},
                               .position_mm = {-12.3456, 87.654321, -310.25},
                               .read_dir = {0.8, 0.6, 0},
                               .phase_dir = {-0.48, 0.64, 0.6},
                               .slice_dir = {0.36, -0.48, 0.8}};
}

static const char header[] =
    "<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
    "<subjectInformation><patientName> M\xc3\xbcller^\xe6\x9d\xb1 "
    "</patientName><patientWeight_kg>71.5</patientWeight_kg>"
    "<patientID>ID\\77</patientID><patientBirthdate>1970-02-03</patientBirthdate><patientGender>F</patientGender>"
    "</subjectInformation><studyInformation><studyDate>2026-11-27</studyDate><studyTime>10:11:12.25</studyTime>"
    "<studyID>S9</studyID><accessionNumber>A8</accessionNumber>"
    "<referringPhysicianName>Curie^Marie</referringPhysicianName><studyDescription>Knie</studyDescription>"
    "<studyInstanceUID>1.2.3.4</studyInstanceUID></studyInformation>"
    "<measurementInformation><measurementID>MID5</measurementID><seriesDate>1.13</seriesDate>"
    "<patientPosition>HFS</patientPosition><initialSeriesNumber>7</initialSeriesNumber>"
    "<protocolName>stack of stars</protocolName><frameOfReferenceUID>1.2.3.5</frameOfReferenceUID>"
    "</measurementInformation><acquisitionSystemInformation><systemVendor>Vendor</systemVendor>"
    "<systemModel>Model</systemModel><systemFieldStrength_T>2.89</systemFieldStrength_T>"
    "<institutionName>Hospital</institutionName></acquisitionSystemInformation>"
    "<experimentalConditions><H1resonanceFrequency_Hz>123250000</H1resonanceFrequency_Hz></experimentalConditions>"
    "<sequenceParameters><TR>8.5</TR><TE>2.5</TE><TE>5</TE><TI>900</TI><flipAngle_deg>15</flipAngle_deg>"
    "<sequence_type>Flash</sequence_type></sequenceParameters></ismrmrdHeader>";

static larmor_status write_images(const char *name, int force, const larmor_image *images, int count,
                                  const larmor_write_opts *opts)
{
    OWNED(larmor_output) *out;
    const larmor_status opened = larmor_output_open(in_folder(name), force, &out);
    if (opened) return opened;
    return larmor_image_write(out, images, count, opts);
}

static dicom *open_file(const char *folder_name, const char *kind, int number)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s_%06d.dcm", folder_name, kind, number);
    dicom *d = dicom_open(in_folder(name));
    if (!d) fail_msg("%s is missing, or DCMTK cannot read it", name);
    return d;
}

static int files_of(const char *name)
{
    int count = 0;
    DIR *d = opendir(in_folder(name));
    for (const struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

/* First of all, because the plugin is looked for once. */
IN_FOLDER(without_the_plugin_one_line_says_what_is_missing)
{
    int status;
    const pid_t child = fork();
    if (!child) {
        larmor_output *out;
        unsetenv("LARMOR_PLUGIN_DIR");
        const larmor_status st = larmor_output_open("/tmp/x.dcm/", 0, &out);
        const char *said = larmor_last_error();
        _exit(st == LARMOR_ERR_UNSUPPORTED && !out && strstr(said, "larmor_dicom.so") &&
                      strstr(said, "use .nii.gz.") && !strchr(said, '\n')
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static double stored(dicom *d, long i)
{
    long count = 0;
    const uint16_t *pixels = dicom_pixels(d, &count);
    assert_non_null(pixels);
    assert_int_equal(count, dicom_number(d, 0x00280010, 0) * dicom_number(d, 0x00280011, 0));
    const int is_signed = dicom_number(d, 0x00280103, 0) == 1;
    return (is_signed ? (double)(int16_t)pixels[i] : (double)pixels[i]) * dicom_number(d, 0x00281053, 0) +
           dicom_number(d, 0x00281052, 0);
}

IN_FOLDER(values_come_back_within_half_a_step_of_the_slope)
{
    const larmor_dtype types[] = {LARMOR_C64, LARMOR_F32, LARMOR_C128};
    for (int t = 0; t < 3; t++) {
        OWNED(larmor_array) *x = random_array(types[t], LARMOR_SHAPE(NX, NY, NZ), 5);
        const larmor_image image = {.data = x, .meta = oblique()};
        assert_ok(write_images("x.dcm/", 1, &image, 1, NULL));
        assert_int_equal(files_of("x.dcm"), NZ);
        HEAP void *values = host_of(x);
        for (int z = 0; z < NZ; z++) {
            OWNED(dicom) *d = open_file("x.dcm", "IM", z + 1);
            assert_int_equal(dicom_number(d, 0x00280010, 0), NY);
            assert_int_equal(dicom_number(d, 0x00280011, 0), NX);
            const double step = dicom_number(d, 0x00281053, 0);
            assert_true(step > 0 && step < 1e-4);
            for (int i = 0; i < NX * NY; i++) {
                const int v = z * NX * NY + i;
                const float *f = values;
                const double *g = values;
                double expected = (double)f[v];
                if (types[t] == LARMOR_C64) expected = hypot((double)f[2 * v], (double)f[2 * v + 1]);
                if (types[t] == LARMOR_C128) expected = hypot(g[2 * v], g[2 * v + 1]);
                assert_near(stored(d, i), expected, 0.5001 * step);
            }
        }
    }
}

IN_FOLDER(first_voxel_of_each_slice_lies_where_the_image_has_it)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY, NZ), 5);
    const larmor_image image = {.data = x, .meta = oblique()};
    const larmor_image_meta *m = &image.meta;
    assert_ok(write_images("x.dcm/", 0, &image, 1, NULL));
    for (int z = 0; z < NZ; z++) {
        OWNED(dicom) *d = open_file("x.dcm", "IM", z + 1);
        for (int k = 0; k < 3; k++) {
            assert_near(dicom_number(d, 0x00200032, k),
                        m->position_mm[k] - NX / 2 * 40 * m->read_dir[k] - NY / 2 * 50 * m->phase_dir[k] +
                            (z - NZ / 2) * 5 * m->slice_dir[k],
                        NEAR_MM);
            assert_near(dicom_number(d, 0x00200037, k), m->read_dir[k], 1e-9);
            assert_near(dicom_number(d, 0x00200037, 3 + k), m->phase_dir[k], 1e-9);
        }
        assert_near(dicom_number(d, 0x00280030, 0), 50, NEAR_MM); /* from row to row */
        assert_near(dicom_number(d, 0x00280030, 1), 40, NEAR_MM);
        assert_near(dicom_number(d, 0x00180050, 0), 5, NEAR_MM);
        assert_near(dicom_number(d, 0x00180088, 0), 5, NEAR_MM);
        assert_string_equal(dicom_text(d, 0x00180023), "3D");
    }
}

/* Slices of 5 mm that are 7 mm apart, in two echoes and two repetitions, in a muddled order. */
static int make_series(larmor_array *x, larmor_image *images)
{
    int count = 0;
    for (int s = 2; s >= 0; s--)
        for (int r = 0; r < 2; r++)
            for (int c = 1; c >= 0; c--) {
                larmor_image_meta m = oblique();
                m.fov_mm[2] = 5;
                m.slice = s;
                m.contrast = c;
                m.repetition = r;
                for (int k = 0; k < 3; k++) m.position_mm[k] += 7 * s * m.slice_dir[k];
                images[count++] = (larmor_image){.data = x, .meta = m};
            }
    return count;
}

IN_FOLDER(slices_echoes_and_repetitions_are_one_series_in_their_order)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    larmor_image images[MOST];
    const int count = make_series(x, images);
    const larmor_write_opts opts = {.header = header};
    char series[65] = "", uid[MOST][65];
    assert_ok(write_images("x.dcm/", 0, images, count, &opts));
    assert_int_equal(files_of("x.dcm"), count);
    for (int i = 0; i < count; i++) {
        OWNED(dicom) *d = open_file("x.dcm", "IM", i + 1);
        const int echo = i / 6, repetition = i / 3 % 2, slice = i % 3;
        if (!i) snprintf(series, sizeof series, "%s", dicom_text(d, SERIES_UID));
        assert_string_equal(dicom_text(d, SERIES_UID), series);
        snprintf(uid[i], sizeof uid[i], "%s", dicom_text(d, IMAGE_UID));
        for (int j = 0; j < i; j++) assert_string_not_equal(uid[i], uid[j]);
        assert_int_equal(dicom_number(d, 0x00200013, 0), i + 1);
        assert_int_equal(dicom_number(d, 0x00180086, 0), echo + 1);
        assert_near(dicom_number(d, 0x00180081, 0), echo ? 5 : 2.5, 1e-9);
        assert_int_equal(dicom_number(d, 0x00200100, 0), repetition + 1);
        assert_int_equal(dicom_number(d, 0x00200105, 0), 2);
        assert_near(dicom_number(d, 0x00180088, 0), 7, NEAR_MM);
        assert_near(dicom_number(d, 0x00180050, 0), 5, NEAR_MM);
        assert_near(
            dicom_number(d, 0x00201041, 0) - (slice ? 7.0 * slice : 0.0) -
                (oblique().position_mm[0] * 0.36 - oblique().position_mm[1] * 0.48 + oblique().position_mm[2] * 0.8),
            0, NEAR_MM);
    }
}

static void assert_text(dicom *d, uint32_t tag, const char *expected)
{
    const char *text = dicom_text(d, tag);
    if (!text) fail_msg("%08x is missing", (unsigned)tag);
    assert_string_equal(text, expected);
}

IN_FOLDER(the_header_fills_patient_study_scanner_and_sequence)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x, .meta = oblique()};
    const larmor_write_opts opts = {.header = header, .window = {0.25, 1.25}};
    assert_ok(write_images("x.dcm/", 0, &image, 1, &opts));
    OWNED(dicom) *d = open_file("x.dcm", "IM", 1);
    assert_text(d, 0x00080005, "ISO_IR 192");
    assert_text(d, 0x00100010, "M\xc3\xbcller^\xe6\x9d\xb1");
    assert_text(d, 0x00100020, "ID/77");
    assert_text(d, 0x00100030, "19700203");
    assert_text(d, 0x00100040, "F");
    assert_text(d, 0x00101030, "71.5");
    assert_text(d, 0x00080020, "20261127");
    assert_text(d, 0x00080030, "101112.25");
    assert_null(dicom_text(d, 0x00080021)); /* whose date is none */
    assert_text(d, 0x00200010, "S9");
    assert_text(d, 0x00080050, "A8");
    assert_text(d, 0x00080090, "Curie^Marie");
    assert_text(d, 0x0020000d, "1.2.3.4");
    assert_text(d, 0x00200052, "1.2.3.5");
    assert_text(d, 0x00200011, "7");
    assert_text(d, 0x0008103e, "stack of stars, larmor");
    assert_text(d, 0x00080070, "Vendor");
    assert_text(d, 0x00080080, "Hospital");
    assert_text(d, 0x00185100, "HFS");
    assert_text(d, 0x00180020, "GR");
    assert_text(d, 0x00180080, "8.5");
    assert_text(d, 0x00180081, "2.5");
    assert_text(d, 0x00180082, "900");
    assert_text(d, 0x00181314, "15");
    assert_text(d, 0x00180087, "2.89");
    assert_text(d, 0x00180084, "123.25");
    assert_text(d, 0x00281050, "0.75");
    assert_text(d, 0x00281051, "1");
}

static int holds(const char *name, const char *text)
{
    size_t bytes;
    HEAP unsigned char *data = get_file(in_folder(name), &bytes);
    const int found = memmem(data, bytes, text, strlen(text)) != NULL;
    return found;
}

IN_FOLDER(anonymous_files_name_nobody_and_no_day)
{
    static const char *const words[] = {"ller",    "ID/77",   "19700203", "71.5",  "20261127",
                                        "101112",  "S9",      "A8",       "Curie", "Knie",
                                        "1.2.3.4", "1.2.3.5", "MID5",     "stack", "Hospital"};
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x, .meta = oblique()};
    const larmor_write_opts named = {.header = header}, nameless = {.header = header, .anonymous = 1};
    assert_ok(write_images("x.dcm/", 0, &image, 1, &named));
    assert_ok(write_images("y.dcm/", 0, &image, 1, &nameless));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(holds("x.dcm/IM_000001.dcm", words[i]), strcmp(words[i], "MID5") != 0);
        assert_false(holds("y.dcm/IM_000001.dcm", words[i]));
    }
    OWNED(dicom) *d = open_file("y.dcm", "IM", 1);
    assert_text(d, 0x00100010, "");
    assert_text(d, 0x00120062, "YES");
    assert_text(d, 0x00180080, "8.5");
    assert_int_equal(strncmp(dicom_text(d, 0x0020000d), "2.25.", 5), 0);
}

IN_FOLDER(phases_are_a_series_of_their_own)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x, .meta = oblique()};
    const larmor_write_opts opts = {.phase = 1};
    assert_ok(write_images("x.dcm/", 0, &image, 1, &opts));
    assert_int_equal(files_of("x.dcm"), 2);
    OWNED(dicom) *m = open_file("x.dcm", "IM", 1), *p = open_file("x.dcm", "PH", 1);
    HEAP float *values = host_of(x);
    for (int i = 0; i < NX * NY; i++)
        assert_near(stored(p, i), atan2((double)values[2 * i + 1], (double)values[2 * i]), 1e-4);
    char uid[65];
    snprintf(uid, sizeof uid, "%s", dicom_text(m, SERIES_UID));
    assert_string_not_equal(dicom_text(p, SERIES_UID), uid);
    snprintf(uid, sizeof uid, "%s", dicom_text(m, IMAGE_UID));
    assert_string_not_equal(dicom_text(p, IMAGE_UID), uid);
    snprintf(uid, sizeof uid, "%s", dicom_text(m, 0x0020000d));
    assert_string_equal(dicom_text(p, 0x0020000d), uid);
    assert_text(m, 0x00080008, "ORIGINAL\\PRIMARY\\M\\NONE");
    assert_text(p, 0x00080008, "ORIGINAL\\PRIMARY\\P\\NONE");
}

static void take_uid(const char *name, uint32_t tag, char uid[65])
{
    OWNED(dicom) *d = open_file(name, "IM", 1);
    snprintf(uid, 65, "%s", dicom_text(d, tag));
}

/* The same bytes, so that an archive that has them already sees no others. */
IN_FOLDER(a_rerun_writes_the_same_bytes_and_other_options_other_uids)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5),
                        *y = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 6);
    const larmor_image image = {.data = x, .meta = oblique()}, other = {.data = y, .meta = oblique()};
    const larmor_write_opts none = {0}, first = {.identity = 1}, second = {.identity = 2};
    char a[65], b[65];
    size_t bytes, again;
    assert_ok(write_images("a.dcm/", 0, &image, 1, &none));
    assert_ok(write_images("b.dcm/", 0, &image, 1, &none));
    unsigned char *old = get_file(in_folder("a.dcm/IM_000001.dcm"), &bytes),
                  *new = get_file(in_folder("b.dcm/IM_000001.dcm"), &again);
    assert_int_equal(bytes, again);
    assert_memory_equal(old, new, bytes);
    LMR_FREE(old, new);
    assert_ok(write_images("b.dcm/", 1, &other, 1, &none));
    take_uid("a.dcm", IMAGE_UID, a);
    take_uid("b.dcm", IMAGE_UID, b);
    assert_string_not_equal(a, b);
    assert_true(strlen(a) <= 64 && !strncmp(a, "2.25.", 5) && strspn(a + 5, "0123456789") == strlen(a) - 5);
    assert_ok(write_images("a.dcm/", 1, &image, 1, &first)); /* bits that differ by rounding have one identity */
    assert_ok(write_images("b.dcm/", 1, &other, 1, &first));
    take_uid("a.dcm", IMAGE_UID, a);
    take_uid("b.dcm", IMAGE_UID, b);
    assert_string_equal(a, b);
    assert_ok(write_images("b.dcm/", 1, &other, 1, &second));
    take_uid("b.dcm", IMAGE_UID, b);
    assert_string_not_equal(a, b);
}

IN_FOLDER(headers_that_are_damaged_or_hostile_fill_what_they_can)
{
    static const char *const texts[] = {
        "",
        "not XML",
        "<!DOCTYPE x [<!ENTITY e SYSTEM \"/etc/passwd\">]><ismrmrdHeader><subjectInformation><patientName>&e;"
        "</patientName></subjectInformation></ismrmrdHeader>",
        "<ismrmrdHeader><studyInformation><studyInstanceUID>1..2</studyInstanceUID></studyInformation>",
        "<ismrmrdHeader><sequenceParameters><TR>1e999</TR><TE>nan</TE></sequenceParameters></ismrmrdHeader>",
    };
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x, .meta = oblique()};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const larmor_write_opts opts = {.header = texts[i]};
        assert_ok(write_images("x.dcm/", 1, &image, 1, &opts));
        OWNED(dicom) *d = open_file("x.dcm", "IM", 1);
        assert_text(d, 0x00100010, "");
        assert_text(d, 0x00180080, "");
        assert_int_equal(strncmp(dicom_text(d, 0x0020000d), "2.25.", 5), 0);
    }
}

/* Heads with positions and no directions: the slices lie where they say. Without positions they lie side by side. */
IN_FOLDER(slices_without_directions_lie_at_their_positions)
{
    enum { SLICES = 3 };
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(NX, NY), 5);
    for (int placed = 0; placed < 2; placed++) {
        larmor_image images[SLICES];
        for (int s = 0; s < SLICES; s++) {
            larmor_image_meta m = {.fov_mm = {240, 200, 5}, .slice = s, .place_unknown = 1};
            for (int k = 0; k < 3; k++) m.read_dir[k] = k == 0;
            for (int k = 0; k < 3; k++) m.phase_dir[k] = k == 1;
            for (int k = 0; k < 3; k++) m.slice_dir[k] = k == 2;
            for (int k = 0; k < 3 && placed; k++) m.position_mm[k] = (k + 1) * (20 - 7.5 * s);
            images[s] = (larmor_image){.data = x, .meta = m};
        }
        assert_ok(write_images("x.dcm/", 1, images, SLICES, NULL));
        double z[SLICES];
        for (int i = 0; i < SLICES; i++) {
            OWNED(dicom) *d = open_file("x.dcm", "IM", i + 1);
            z[i] = dicom_number(d, 0x00200032, 2);
            if (placed) assert_near(dicom_number(d, 0x00180088, 0), 22.5, NEAR_MM);
        }
        for (int i = 1; i < SLICES; i++) assert_near(z[i] - z[i - 1], placed ? 22.5 : 5, NEAR_MM);
        if (placed) assert_near(z[0], 3 * 5, NEAR_MM);
    }
}

IN_FOLDER(an_uneven_stack_states_no_spacing)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(NX, NY), 5);
    larmor_image images[3];
    for (int s = 0; s < 3; s++) {
        images[s] = (larmor_image){.data = x, .meta = oblique()};
        images[s].meta.slice = s;
        for (int k = 0; k < 3; k++) images[s].meta.position_mm[k] += 5 * s * s * images[s].meta.slice_dir[k];
    }
    assert_ok(write_images("x.dcm/", 0, images, 3, NULL));
    OWNED(dicom) *d = open_file("x.dcm", "IM", 3);
    assert_null(dicom_text(d, 0x00180088));
}

/* ---- all files or none ---- */

IN_FOLDER(an_existing_folder_needs_force_and_keeps_what_is_not_dicom)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY, NZ), 5),
                        *one = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x}, slice = {.data = one};
    assert_ok(write_images("x.dcm/", 0, &image, 1, NULL));
    assert_refused(write_images("x.dcm/", 0, &slice, 1, NULL), LARMOR_ERR_EXISTS,
                   "x.dcm/: exists already; opts.force");
    assert_int_equal(files_of("x.dcm"), NZ);
    put_file(in_folder("x.dcm/notes.txt"), "kept", 4);
    assert_refused(write_images("x.dcm/", 1, &slice, 1, NULL), LARMOR_ERR_EXISTS,
                   "x.dcm/: holds notes.txt, which is no .dcm file; choose another name.");
    assert_int_equal(files_of("x.dcm"), NZ + 1);
    assert_int_equal(unlink(in_folder("x.dcm/notes.txt")), 0);
    assert_ok(write_images("x.dcm/", 1, &slice, 1, NULL));
    assert_int_equal(files_of("x.dcm"), 1);
    put_file(in_folder("y.dcm"), "old", 3);
    assert_refused(write_images("y.dcm/", 1, &slice, 1, NULL), LARMOR_ERR_EXISTS, "a folder is to be written");
    assert_int_equal(files_in_folder(), 2);
}

IN_FOLDER(what_appears_meanwhile_stays)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), 5);
    const larmor_image image = {.data = x};
    larmor_output *out;
    for (int force = 0; force < 2; force++) {
        assert_ok(larmor_output_open(in_folder("x.dcm/"), force, &out));
        assert_int_equal(mkdir(in_folder("x.dcm"), 0777), 0);
        put_file(in_folder("x.dcm/notes.txt"), "kept", 4);
        assert_refused(larmor_image_write(out, &image, 1, NULL), LARMOR_ERR_EXISTS, "x.dcm/: ");
        larmor_output_free(out);
        assert_int_equal(files_of("x.dcm"), 1);
        assert_int_equal(files_in_folder(), 1);
        assert_int_equal(unlink(in_folder("x.dcm/notes.txt")), 0);
        assert_int_equal(rmdir(in_folder("x.dcm")), 0);
    }
}

IN_FOLDER(a_write_that_fails_half_way_leaves_the_old_folder_alone)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(NX, NY, NZ), 5),
                        *y = random_array(LARMOR_F32, LARMOR_SHAPE(NX, NY, NZ), 5);
    const larmor_image image = {.data = x}, bad = {.data = y};
    HEAP float *values = host_of(y);
    values[NX * NY * NZ - 1] = NAN;
    assert_ok(larmor_array_write(y, values, larmor_array_bytes(y)));
    assert_ok(write_images("x.dcm/", 0, &image, 1, NULL));
    assert_refused(write_images("x.dcm/", 1, &bad, 1, NULL), LARMOR_ERR_NUMERIC, "nothing written");
    assert_int_equal(files_of("x.dcm"), NZ);
    assert_int_equal(files_in_folder(), 1);
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("x.dcm/"), 1, &made));
    limit_files(1);
    signal(SIGXFSZ, SIG_IGN);
    const larmor_status st = larmor_image_write(out, &image, 1, NULL);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, LARMOR_ERR_IO);
    larmor_output_free(out);
    assert_int_equal(files_of("x.dcm"), NZ);
    assert_int_equal(files_in_folder(), 1);
}

IN_FOLDER(a_second_writer_is_refused_and_what_a_dead_one_left_is_removed)
{
    larmor_output *out, *second;
    assert_ok(larmor_output_open(in_folder("x.dcm/"), 0, &out));
    assert_refused(larmor_output_open(in_folder("x.dcm/"), 1, &second), LARMOR_ERR_IO, "is being written by pid");
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 0);
    assert_int_equal(mkdir(in_folder(".x.dcm.part.99.abcdef"), 0700), 0);
    put_file(in_folder(".x.dcm.part.99.abcdef/IM_000001.dcm"), "half", 4);
    put_file(in_folder(".x.dcm.part.99.abcdef/notes.txt"), "kept", 4);
    assert_ok(larmor_output_open(in_folder("x.dcm/"), 0, &out));
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 1);
    assert_false(is_there(in_folder(".x.dcm.part.99.abcdef/IM_000001.dcm")));
    assert_int_equal(unlink(in_folder(".x.dcm.part.99.abcdef/notes.txt")), 0); /* whoever put it there */
    assert_ok(larmor_output_open(in_folder("x.dcm/"), 0, &out));
    assert_int_equal(files_in_folder(), 1); /* its own */
    assert_ok(lmr_output_next(out, "IM_000001.dcm"));
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(folders_that_a_handler_abandons_leave_nothing)
{
    int status;
    const pid_t child = fork();
    if (!child) {
        larmor_output *out;
        int fine = !larmor_output_open(in_folder("x.dcm/"), 0, &out);
        for (int i = 0; i < 1000 && fine; i++) {
            char name[32];
            snprintf(name, sizeof name, "IM_%06d.dcm", i);
            fine = !lmr_output_next(out, name) && !lmr_output_put(out, 0, "x", 1);
        }
        _exit(fine && larmor_outputs_abandon() && lmr_output_commit(out) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(one_folder_by_two_names_is_one_output)
{
    char other[600];
    snprintf(other, sizeof other, "%s/./x.dcm/", folder);
    const char *const written[] = {in_folder("x.dcm/"), other};
    assert_refused(larmor_files_check(NULL, 0, written, 2), LARMOR_ERR_ARG, "given twice as an output");
    assert_int_equal(mkdir(in_folder("x.dcm"), 0777), 0);
    assert_refused(larmor_files_check(NULL, 0, written, 2), LARMOR_ERR_ARG, "given twice as an output");
}
