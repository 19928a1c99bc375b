/* Data sets of BIDS: names against the specification's, folders, what describes a set. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/io/files.h"

#define assert_fails(call, status, line)                                                                             \
    do {                                                                                                             \
        assert_int_equal(call, status);                                                                              \
        assert_string_equal(larmor_last_error(), line);                                                              \
    } while (0)

static void assert_path(const char *name, int echo, const char *expected)
{
    char path[512];
    assert_ok(larmor_bids_path("set", name, echo, path, sizeof path));
    assert_string_equal(path, expected);
}

TEST(entities_are_in_the_order_of_BIDS_whatever_order_they_are_given_in)
{
    assert_path("sub-01_T1w", 0, "set/sub-01/anat/sub-01_T1w.nii.gz");
    assert_path("run-2_echo-3_task-rest_ses-a_sub-01_bold.nii", 0,
                "set/sub-01/ses-a/func/sub-01_ses-a_task-rest_run-2_echo-3_bold.nii");
    assert_path("chunk-1_part-mag_dir-AP_rec-x_ce-y_acq-z_task-t_sub-1_sbref.nii.gz", 0,
                "set/sub-1/func/sub-1_task-t_acq-z_ce-y_rec-x_dir-AP_part-mag_chunk-1_sbref.nii.gz");
    assert_path("mt-on_flip-2_sub-1_MTS", 0, "set/sub-1/anat/sub-1_flip-2_mt-on_MTS.nii.gz");
    assert_path("inv-1_sub-1_MP2RAGE", 0, "set/sub-1/anat/sub-1_inv-1_MP2RAGE.nii.gz");
}

TEST(the_folder_follows_from_the_suffix_and_from_what_the_name_has)
{
    assert_path("sub-1_dwi", 0, "set/sub-1/dwi/sub-1_dwi.nii.gz");
    assert_path("sub-1_sbref", 0, "set/sub-1/dwi/sub-1_sbref.nii.gz");
    assert_path("sub-1_magnitude1", 0, "set/sub-1/fmap/sub-1_magnitude1.nii.gz");
    assert_path("sub-1_asl", 0, "set/sub-1/perf/sub-1_asl.nii.gz");
    assert_path("sub-1_T2starmap", 0, "set/sub-1/anat/sub-1_T2starmap.nii.gz");
}

TEST(an_echo_is_added_to_a_name_without_one)
{
    assert_path("sub-1_part-phase_MEGRE", 2, "set/sub-1/anat/sub-1_echo-2_part-phase_MEGRE.nii.gz");
    char path[64];
    assert_fails(larmor_bids_path("set", "sub-1_echo-1_MEGRE", 2, path, sizeof path), LARMOR_ERR_ARG,
                 "bids name sub-1_echo-1_MEGRE: got echo-1 of several echoes, expected none or one image");
    assert_fails(larmor_bids_path("set", "sub-1_MEGRE", 0, path, sizeof path), LARMOR_ERR_ARG,
                 "bids name sub-1_MEGRE: got no echo-, which MEGRE must have");
}

TEST(names_that_BIDS_forbids_are_refused_in_a_line_that_says_why)
{
    static const struct {
        const char *name, *line;
    } bad[] = {
        {"ses-1_T1w", "bids name ses-1_T1w: got no sub-, which T1w must have"},
        {"sub-1_bold", "bids name sub-1_bold: got no task-, which bold must have"},
        {"sub-1_part-mag_T1map", "bids name sub-1_part-mag_T1map: got part-, which T1map cannot have"},
        {"sub-1_task-x_dwi", "bids name sub-1_task-x_dwi: got task-, which dwi cannot have"},
        {"sub-a.b_T1w", "bids name sub-a.b_T1w: got sub-a.b, expected letters and digits alone"},
        {"sub-_T1w", "bids name sub-_T1w: got sub-, expected letters and digits alone"},
        {"sub-1_run-b_T1w", "bids name sub-1_run-b_T1w: got run-b, expected a number"},
        {"sub-1_mt-1_MTR", "bids name sub-1_mt-1_MTR: got mt-1, expected on or off"},
        {"sub-1_part-abs_T1w", "bids name sub-1_part-abs_T1w: got part-abs, expected mag, phase, real or imag"},
        {"sub-1_run-1_run-2_T1w", "bids name sub-1_run-1_run-2_T1w: got run- twice, expected once"},
        {"sub-1_T1",
         "bids name sub-1_T1: got the suffix \"T1\", expected one of images such as T1w, T2starw, bold, dwi "
         "or magnitude1"},
        {"sub-1/../x_T1w", "bids name sub-1/../x_T1w: got sub-1/../x, expected letters and digits alone"},
        {"sub-1__T1w",
         "bids name sub-1__T1w: got , expected sub-LABEL and others of ses, task, acq, ce, rec, dir, run, "
         "echo, flip, inv, mt, part and chunk"},
    };
    char path[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(larmor_bids_path("set", bad[i].name, 0, path, sizeof path), LARMOR_ERR_ARG, bad[i].line);
    assert_fails(larmor_bids_path("set", "sub-1_T1w", 0, path, 12), LARMOR_ERR_ARG,
                 "bids name sub-1_T1w: the path is longer than 11 bytes");
}

TEST(a_name_says_which_part_of_complex_images_it_has)
{
    static const char *const names[] = {"sub-1_part-mag_bold", "sub-1_part-phase_T1w", "sub-1_part-real_T1w",
                                        "sub-1_part-imag_MEGRE"};
    larmor_part part;
    assert_int_equal(larmor_bids_part(names[0], &part), LARMOR_ERR_ARG);
    for (int i = 1; i < 4; i++) {
        assert_ok(larmor_bids_part(names[i], &part));
        assert_int_equal(part, i);
    }
    assert_ok(larmor_bids_part("sub-1_T1w", &part));
    assert_int_equal(part, LARMOR_PART_MAGNITUDE);
}

static void assert_text(const char *path, const char *expected)
{
    size_t bytes;
    HEAP char *text = (char *)get_file(path, &bytes);
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(text, expected, bytes);
}

static int has(const char *path, const char *part)
{
    size_t bytes;
    HEAP char *text = (char *)get_file(path, &bytes);
    HEAP char *whole = malloc(bytes + 1);
    snprintf(whole, bytes + 1, "%.*s", (int)bytes, text);
    return strstr(whole, part) != NULL;
}

IN_FOLDER(what_describes_a_set_is_written_once_unless_it_is_replaced)
{
    const char *path = in_folder("dataset_description.json");
    const larmor_bids_opts derived = {.title = "A title", .derivative = 1}, again = {.replace = 1};
    assert_ok(larmor_bids_describe(folder, "sub-1_T1w", &derived));
    assert_true(has(path, "\"Name\": \"A title\"") && has(path, "\"DatasetType\": \"derivative\""));
    assert_true(has(path, "\"BIDSVersion\": \"1.") && has(path, "\"Version\": \""));
    assert_ok(larmor_bids_describe(folder, "sub-1_T1w", NULL));
    assert_true(has(path, "\"derivative\""));
    assert_ok(larmor_bids_describe(folder, "sub-1_T1w", &again));
    assert_true(has(path, "\"DatasetType\": \"raw\"") && has(path, "\"Name\": \"larmor-test-"));
}

IN_FOLDER(a_subject_gets_one_row_and_other_rows_and_columns_stay)
{
    const char *path = in_folder("participants.tsv");
    static const char there[] = "participant_id\tage\tsex\nsub-11\t30\tF";
    put_file(path, there, strlen(there));
    for (int i = 0; i < 2; i++) assert_ok(larmor_bids_describe(folder, "sub-1_T1w", NULL));
    assert_text(path, "participant_id\tage\tsex\nsub-11\t30\tF\nsub-1\tn/a\tn/a\n");
    put_file(path, "name\nx\n", 7);
    char line[600];
    snprintf(line, sizeof line, "%s: expected a table that begins with participant_id", path);
    assert_fails(larmor_bids_describe(folder, "sub-1_T1w", NULL), LARMOR_ERR_FORMAT, line);
    assert_text(path, "name\nx\n");
}

IN_FOLDER(an_image_of_phases_is_written_with_its_sidecar)
{
    OWNED(larmor_output) *out = NULL;
    OWNED(larmor_array) *x = NULL;
    static const float values[8] = {1, 0, 0, 2, -3, 0, 0, -4};
    static const float angles[4] = {0, 1.57079633F, 3.14159265F, -1.57079633F};
    const larmor_write_opts opts = {.part = LARMOR_PART_PHASE};
    char path[512];
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2, 2), &x));
    assert_ok(larmor_array_write(x, values, sizeof values));
    const larmor_image image = {x, {.fov_mm = {2, 2, 1}}};
    assert_ok(larmor_bids_open(folder, "sub-1_part-phase_T1w.nii", 0, 0, &out));
    assert_ok(larmor_image_write(out, &image, 1, &opts));
    snprintf(path, sizeof path, "%s/sub-1/anat/sub-1_part-phase_T1w.nii", folder);
    size_t bytes;
    HEAP unsigned char *file = get_file(path, &bytes);
    assert_int_equal(bytes, 352 + sizeof angles);
    assert_memory_equal(file + 352, angles, sizeof angles);
    unlink(path);
    snprintf(path, sizeof path, "%s/sub-1/anat/sub-1_part-phase_T1w.json", folder);
    assert_true(has(path, "\"Units\": \"rad\""));
    unlink(path);
    rmdir(in_folder("sub-1/anat"));
}
