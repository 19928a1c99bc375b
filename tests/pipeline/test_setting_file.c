/* scan/setting_file.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

#define IN_FOLDER(claim) TEST_IN(claim, make_folder, remove_folder)

enum { LINE = 8192 };

static const char *file_of(const char *text)
{
    const char *path = in_folder("options.toml");
    put_file(path, text, strlen(text));
    return path;
}

static void write_opts(const larmor_recon_opts *opts, char line[LINE])
{
    assert_ok(larmor_settings_write(opts, NULL, line, LINE));
}

/* What is refused is said in one line. */
static void refused(const char *text, const char *expected)
{
    larmor_recon_opts opts = OPTS(.iters = 0);
    const char *path = file_of(text);
    assert_refused(larmor_settings_read(path, &opts, NULL, NULL), LARMOR_ERR_ARG, expected);
    assert_null(strchr(larmor_last_error(), '\n'));
    assert_int_equal(strncmp(larmor_last_error(), path, strlen(path)), 0);
}

IN_FOLDER(lines_a_table_comments_lists_and_quotes_set_the_same_options)
{
    static const char *const texts[] = {
        "recon = {method = \"tv\", iters = 12, fov = \"200,220\", lambda = \"noise:2\", weighted = true}",
        "# a scan\n[recon]\nmethod = 'tv' # a penalty\niters=12\nfov = [ 200, 220 ]\n\nlambda = \"noise:2\"\n"
        "weighted = true",
        "method=\"tv\"\r\niters = 12\r\nfov_mm = [200,220]\r\nlambda = \"noise:2\"\r\nweighted = \"1\"\r\n"};
    char line[LINE];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        larmor_recon_opts opts = OPTS(.iters = 0);
        assert_ok(larmor_settings_read(file_of(texts[i]), &opts, NULL, NULL));
        assert_string_equal(opts.method, "tv");
        assert_int_equal(opts.iters, 12);
        assert_true(opts.fov_mm[0] == 200 && opts.fov_mm[1] == 220 && opts.fov_mm[2] == 0);
        assert_true(opts.lambda_mode == LARMOR_LAMBDA_NOISE && opts.lambda == 2);
        assert_int_equal(opts.weighted, 1);
        write_opts(&opts, line);
        assert_string_equal(line, "recon = {method = \"tv\", iters = 12, lambda = \"noise:2\", fov = \"200,220\", "
                                  "weighted = true}");
    }
}

IN_FOLDER(a_number_without_quotes_has_up_to_63_characters)
{
    char text[96];
    larmor_recon_opts opts = OPTS(.iters = 0);
    snprintf(text, sizeof text, "tol = 0.25%059d", 0);
    assert_ok(larmor_settings_read(file_of(text), &opts, NULL, NULL));
    assert_true(opts.tol == 0.25);
    strcat(text, "0");
    refused(text, "a string in quotes, a number");
}

IN_FOLDER(options_that_are_the_default_are_not_written)
{
    char line[LINE];
    larmor_recon_opts opts = OPTS(.iters = 0);
    larmor_setting s;
    for (int i = 0; (s = larmor_setting_entry(i)).name; i++)
        if (s.standard) assert_ok(larmor_setting_set(&opts, s.name, s.standard));
    write_opts(&opts, line);
    assert_string_equal(line, "recon = {}");
    assert_ok(larmor_settings_read(file_of(line), &opts, NULL, NULL));
}

IN_FOLDER(a_line_for_which_there_is_no_room_is_refused_and_not_cut)
{
    char line[LINE];
    const larmor_recon_opts opts = OPTS(.iters = 5);
    assert_ok(larmor_settings_write(&opts, NULL, line, sizeof "recon = {iters = 5}"));
    assert_refused(larmor_settings_write(&opts, NULL, line, sizeof "recon = {iters = 5}" - 1), LARMOR_ERR_ARG,
                   "settings: got room for 19 bytes, expected 20");
}

typedef struct kept {
    char text[256];
} kept;

static larmor_status keep(void *user, const char *name, const char *value, int i)
{
    kept *k = user;
    const size_t used = strlen(k->text);
    snprintf(k->text + used, sizeof k->text - used, "%s %d %s;", name, i, value);
    return strcmp(name, "wrong") ? LARMOR_OK : larmor_fail(LARMOR_ERR_ARG, "wrong: is not right.");
}

IN_FOLDER(options_that_are_no_settings_go_to_the_caller_and_are_written_as_they_were)
{
    larmor_recon_opts opts = OPTS(.iters = 0);
    kept own = {""};
    assert_ok(larmor_settings_read(file_of("output = ['a \\\"', \"b\"]\niters = 5\nmaps = \"m.h5\"\nslice = 3"),
                                   &opts, keep, &own));
    assert_string_equal(own.text, "output 0 a \\\";output 1 b;maps 0 m.h5;slice 0 3;");
    assert_int_equal(opts.iters, 5);
    const char *const keys[] = {"maps", "slice", "note"}, *const values[] = {"m\n\"\\.h5", "3", "3 mm"};
    char line[LINE];
    assert_ok(larmor_settings_write(&opts, &(larmor_notes){keys, values, 3}, line, sizeof line));
    assert_string_equal(line, "recon = {iters = 5, maps = \"m\\n\\\"\\\\.h5\", slice = 3, note = \"3 mm\"}");
    own.text[0] = 0;
    assert_ok(larmor_settings_read(file_of(line), NULL, keep, &own));
    assert_string_equal(own.text, "iters 0 5;maps 0 m\n\"\\.h5;slice 0 3;note 0 3 mm;");
    assert_refused(larmor_settings_read(file_of("\nwrong = 1"), &opts, keep, &own), LARMOR_ERR_ARG,
                   "options.toml:2: wrong: is not right.");
}

IN_FOLDER(a_mistake_is_refused_with_its_line)
{
    refused("\n\niters = 0\n", "options.toml:3: opts.iters: got \"0\", expected a whole number from 1 to 1e+09");
    refused("iters = 5\nmethod = 'cg'\niters = 6", ":3: iters is given twice, first in line 1.");
    refused("basis-images = 'frames'\nbasis_images = 'frames'", ":2: basis_images is given twice, first in line 1.");
    refused("fov = ['200', '220']", ":1: fov: a list of strings is none of its values.");
    refused("fov = [200, '220']", ":1: fov: a list is of strings, or of numbers.");
    refused("method = 'cg' iters = 5", ":1: the end of the line expected behind a value.");
    refused("[recon]\n[recon]", ":2: one table [recon] expected.");
    refused("[maps]", ":1: one table [recon] expected.");
    larmor_recon_opts opts = OPTS(.iters = 0);
    assert_refused(larmor_settings_read(file_of("iter = 5"), &opts, NULL, NULL), LARMOR_ERR_UNSUPPORTED,
                   ":1: recon: options: got \"iter\", expected the name of a setting");
    assert_refused(larmor_settings_read(in_folder("none"), &opts, NULL, NULL), LARMOR_ERR_IO, "cannot be read");
    assert_refused(larmor_settings_read(folder, &opts, NULL, NULL), LARMOR_ERR_IO, "cannot be read");
}

IN_FOLDER(a_hostile_file_is_refused_in_one_line)
{
    enum { MANY = 200000 };
    HEAP char *text = calloc(1, MANY + 16);
    assert_non_null(text);
    refused("iters = 999999999999999999999999999999", "expected a whole number from 1 to 1e+09");
    refused("tol = 1e999", "expected a number from 0 to 0.99");
    refused("tol = 1e-999", "expected a number from 0 to 0.99");
    refused("method = \"cg", "a string has no end in its line.");
    refused("method = \"\\", "an escape in a string is none of");
    refused("fov = [", "a string in quotes, a number");
    refused("recon = {recon = {iters = 5}}", "expected behind =.");
    for (const char *deep = "[{=\"-1"; *deep; deep++) {
        memcpy(text, "iters = ", 8);
        memset(text + 8, *deep, MANY);
        refused(text, ":1: ");
        memset(text, *deep, MANY);
        refused(text, ":1: ");
    }
    for (int i = 0, used = 0; i < 300; i++) used += sprintf(text + used, "a%d = 1\n", i);
    kept own = {""};
    assert_refused(larmor_settings_read(file_of(text), NULL, keep, &own), LARMOR_ERR_ARG,
                   ":257: more than 256 options are given.");
}

IN_FOLDER(a_line_of_100_mb_is_refused_by_its_bound)
{
    larmor_recon_opts opts = OPTS(.iters = 0);
    const char *path = file_of("iters = 1");
    assert_int_equal(truncate(path, 100000000), 0);
    assert_refused(larmor_settings_read(path, &opts, NULL, NULL), LARMOR_ERR_FORMAT,
                   "is longer than 1048576 bytes, which no file of options is.");
    assert_int_equal(truncate(path, 1000), 0);
    assert_refused(larmor_settings_read(path, &opts, NULL, NULL), LARMOR_ERR_FORMAT, "has a byte 0");
}

IN_FOLDER(random_bytes_are_no_options)
{
    static const char letters[] = "=[]{},\"'\\#\n\r\t -_.019eitersfovmethodrecon\x01\xff";
    char text[64], line[LINE];
    uint32_t drawn = 1;
    for (int trial = 0; trial < 2000; trial++) {
        size_t length = 0;
        for (; length < 3 + (size_t)trial % 50; length++) {
            drawn = drawn * 1664525 + 1013904223;
            text[length] = letters[(drawn >> 16) % (sizeof letters - 1)];
        }
        text[length] = 0;
        larmor_recon_opts opts = OPTS(.iters = 0);
        if (larmor_settings_read(file_of(text), &opts, NULL, NULL))
            assert_null(strchr(larmor_last_error(), '\n'));
        else
            write_opts(&opts, line);
    }
}
