/* A file that is written is no other file of the same command, whatever it is called. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/io/files.h"

static void refused(const char *read, const char *written, const char *text)
{
    assert_refused(larmor_files_check(&read, 1, &written, 1), LARMOR_ERR_ARG, text);
    const char *both[] = {read, written}; /* and as two outputs */
    assert_refused(larmor_files_check(NULL, 0, both, 2), LARMOR_ERR_ARG, "is given twice as an output");
}

static void accepted(const char *read, const char *written)
{
    assert_ok(larmor_files_check(&read, 1, &written, 1));
    const char *both[] = {read, written};
    assert_ok(larmor_files_check(NULL, 0, both, 2));
}

IN_FOLDER(other_spellings_of_a_file_are_the_file)
{
    char text[700];
    put_file(in_folder("in.h5"), "x", 1);
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    snprintf(text, sizeof text, "%s: is also the output; choose another name.", in_folder("in.h5"));
    refused(in_folder("in.h5"), in_folder("in.h5"), text);
    snprintf(text, sizeof text, "%s: is also the output %s; choose another name.", in_folder("in.h5"),
             in_folder("./in.h5"));
    refused(in_folder("in.h5"), in_folder("./in.h5"), text);
    refused(in_folder("in.h5"), in_folder("/in.h5"), "is also the output");
    refused(in_folder("sub/../in.h5"), in_folder("in.h5"), "is also the output");
    accepted(in_folder("in.h5"), in_folder("sub/in.h5"));
    accepted(in_folder("in.h5"), in_folder("out.h5"));
}

TEST(an_image_in_a_folder_has_the_name_of_its_scan_without_its_last_suffix)
{
    const struct {
        const char *scan, *suffix, *name;
    } of[] = {{"in/a.b/scan.x.h5", ".nii.gz", "out/scan.x.nii.gz"},
              {"scan", ".h5", "out/scan.h5"},
              {"/.hidden", ".dcm/", "out/.hidden.dcm/"}};
    char name[32];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const size_t length = strlen(of[i].name);
        assert_ok(larmor_output_name("out", of[i].scan, of[i].suffix, name, length + 1));
        assert_string_equal(name, of[i].name);
        assert_refused(larmor_output_name("out", of[i].scan, of[i].suffix, name, length), LARMOR_ERR_ARG, "too long");
    }
}

IN_FOLDER(links_to_a_file_are_the_file)
{
    put_file(in_folder("in.h5"), "x", 1);
    assert_int_equal(symlink("in.h5", in_folder("soft.h5")), 0);
    assert_int_equal(link(in_folder("in.h5"), in_folder("hard.npy")), 0);
    refused(in_folder("in.h5"), in_folder("soft.h5"), "is also the output");
    refused(in_folder("soft.h5"), in_folder("in.h5"), "is also the output");
    refused(in_folder("in.h5"), in_folder("hard.npy"), "is also the output");
    refused(in_folder("soft.h5"), in_folder("hard.npy"), "is also the output");
}

IN_FOLDER(files_that_are_not_there_yet_are_compared_by_folder_and_name)
{
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    assert_int_equal(symlink("sub", in_folder("alias")), 0);
    refused(in_folder("sub/new.npy"), in_folder("alias/new.npy"), "is also the output");
    refused(in_folder("new.npy"), in_folder("sub/../new.npy"), "is also the output");
    accepted(in_folder("sub/new.npy"), in_folder("new.npy"));
    accepted(in_folder("sub/new.npy"), in_folder("sub/newer.npy"));
    refused(in_folder("nowhere/new.npy"), in_folder("nowhere/new.npy"), "is also the output");
    accepted(in_folder("nowhere/new.npy"), in_folder("nowhere/other.npy"));
}

IN_FOLDER(both_files_of_a_pair_count)
{
    put_file(in_folder("k.cfl"), "x", 1);
    put_file(in_folder("k.hdr"), "x", 1);
    put_file(in_folder("other.cfl"), "x", 1);
    assert_int_equal(link(in_folder("k.hdr"), in_folder("other.hdr")), 0);
    refused(in_folder("k.cfl"), in_folder("k.cfl"), "is also the output");
    refused(in_folder("k.cfl"), in_folder("other.cfl"), "is also the output");
    refused(in_folder("k.hdr"), in_folder("k.cfl"), "is also the output"); /* whatever reads it */
    accepted(in_folder("k.cfl"), in_folder("k.npy"));
}

IN_FOLDER(what_is_inside_an_hdf5_file_is_the_file)
{
    put_file(in_folder("maps.h5"), "x", 1);
    refused(in_folder("maps.h5:/group/maps"), in_folder("maps.h5"), "is also the output");
    put_file(in_folder("odd.h5:"), "x", 1); /* a file of that name is itself */
    accepted(in_folder("odd.h5:"), in_folder("odd.h5"));
}

IN_FOLDER(every_pair_of_many_is_compared)
{
    const char *read[] = {in_folder("a.h5"), in_folder("b.npy"), in_folder("c.npy")},
               *written[] = {in_folder("d.npy"), in_folder("e.npy"), in_folder("f.npy")};
    assert_ok(larmor_files_check(read, 3, written, 3));
    for (int w = 0; w < 3; w++) {
        for (int other = 0; other < 3; other++) {
            const char *changed[] = {written[0], written[1], written[2]};
            changed[w] = read[other];
            assert_int_equal(larmor_files_check(read, 3, changed, 3), LARMOR_ERR_ARG);
            changed[w] = written[other];
            assert_int_equal(larmor_files_check(read, 3, changed, 3), other == w ? LARMOR_OK : LARMOR_ERR_ARG);
        }
    }
    assert_ok(larmor_files_check(read, 3, NULL, 0));
    assert_refused(larmor_files_check(NULL, 1, NULL, 0), LARMOR_ERR_ARG, "paths are missing");
    assert_refused(larmor_files_check((const char *[]){NULL}, 1, NULL, 0), LARMOR_ERR_ARG, "paths are missing");
}
