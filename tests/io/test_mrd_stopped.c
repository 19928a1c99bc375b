/* Scans that were stopped: what was written is read, and what was not is named. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include "tests/io/mrd_scan.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { READOUTS = 20, CHUNK = 4 };

static uint64_t first(int n)
{
    return (UINT64_C(1) << n) - 1;
}

/* Readouts of the file are those of the scan whose bits are set, in their places; warnings as expected. */
static void holds(const scan *s, uint64_t only, int acquisitions, const char *warnings)
{
    OWNED(larmor_raw) *raw = opened_with(NULL);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.acquisitions, acquisitions);
    assert_int_equal(info.imaging, __builtin_popcountll(only));
    assert_string_equal(info.warnings, warnings);
    for (int i = 0; i < acquisitions; i++) {
        larmor_acquisition a;
        assert_ok(larmor_raw_acquisition(raw, i, &a));
        assert_int_equal(a.data != NULL, only >> i & 1);
        if (a.data) assert_memory_equal(a.data, s->r[i].data.p, s->r[i].data.len * sizeof(float));
    }
}

static const char *const said[] = {"2 of 20 acquisitions were never written, from number 18 on: the scan may have "
                                   "been stopped. The others are read.\n",
                                   "12 of 20 acquisitions were never written, from number 8 on: the scan may have "
                                   "been stopped. The others are read.\n",
                                   "4 of 20 acquisitions were never written, from number 8 on: the scan may have "
                                   "been stopped. The others are read.\n"};

WITH_SCAN(what_was_written_before_a_stop_is_read_and_the_rest_is_named)
{
    static const layout layouts[] = {{.chunk = CHUNK},
                                     {.chunk = CHUNK, .filters = 1},
                                     {.chunk = CHUNK, .libver = 1},
                                     {.chunk = CHUNK, .libver = 1, .filters = 1},
                                     {.chunk = CHUNK, .user_block = 512},
                                     {.chunk = 1},
                                     {.chunk = 1000},
                                     {.contiguous = 1}};
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        layout how = layouts[l];
        how.claim = READOUTS;
        how.only = first(18); /* the last chunk in part */
        write_scan_as(s, &how);
        holds(s, first(18), 18, said[0]);
        how.only = first(8); /* the last chunks not at all */
        write_scan_as(s, &how);
        holds(s, first(8), 8, said[1]);
    }
}

WITH_SCAN(chunks_that_are_missing_between_others_are_left_out)
{
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    const uint64_t only = first(READOUTS) & ~(first(12) & ~first(8));
    write_scan_as(s, &(layout){.chunk = CHUNK, .claim = READOUTS, .only = only});
    holds(s, only, READOUTS, said[2]);
}

/* Room for more than memory holds costs nothing. */
WITH_SCAN(room_that_was_never_used_has_no_price)
{
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    write_scan_as(s, &(layout){.chunk = CHUNK, .claim = INT64_C(1) << 40, .only = first(READOUTS)});
    holds(s, first(READOUTS), READOUTS,
          "1099511627756 of 1099511627776 acquisitions were never written, from number 20 on: the scan may have been "
          "stopped. The others are read.\n");
}

WITH_SCAN(a_scan_of_which_nothing_was_written_is_refused)
{
    static const layout layouts[] = {
        {.chunk = CHUNK, .claim = READOUTS},
        {.contiguous = 1, .claim = READOUTS},
        {.chunk = CHUNK, .claim = READOUTS, .filters = 1},
    };
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        write_scan_as(s, &layouts[l]);
        refused("has room for 20 acquisitions, none of which was written.");
    }
    write_scan_as(s, &(layout){.chunk = CHUNK, .claim = INT64_MAX / 400});
    refused("has room for 23058430092136939 acquisitions, none of which was written.");
}

/* Between others of one chunk no program leaves any out. */
WITH_SCAN(a_readout_of_zeros_between_others_is_refused)
{
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    write_scan_as(s, &(layout){.chunk = CHUNK, .claim = READOUTS, .only = first(READOUTS) & ~(UINT64_C(1) << 9)});
    refused("acquisition 9: 0 samples.");
}

/* The tree of chunks, with the key of the second chunk changed to that of another. */
WITH_SCAN(a_damaged_index_is_no_stopped_scan)
{
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    write_scan_as(s, &(layout){.chunk = CHUNK});
    size_t bytes;
    unsigned char *all = get_file(path, &bytes), *tree = NULL;
    for (size_t i = 0; i + 64 < bytes; i++)
        if (!memcmp(all + i, "TREE\1\0", 6)) tree = all + i;
    assert_non_null(tree);
    assert_int_equal(tree[6], READOUTS / CHUNK);
    unsigned char *second = tree + 24 + 32; /* a key: bytes, mask, place of the element, 0; then an address */
    assert_int_equal(second[8], CHUNK);
    second[8] = 2 * CHUNK;
    put_file(path, all, bytes);
    refused("damaged HDF5 structure (chunk index of /dataset/data). Copy it again.");
    free(all);
}

/* HDF5 itself opens neither: a program has marked the file as its own and was killed, or still writes. */
WITH_SCAN(a_file_whose_writer_was_killed_is_read_and_one_that_is_being_written_is_not)
{
    OWNED(scan) *s = radial_scan(READOUTS, 2);
    const pid_t child = fork();
    if (!child) {
        const layout how = {.chunk = CHUNK, .claim = READOUTS, .only = first(18), .libver = 1};
        const hid_t file = new_file_as(&how);
        write_xml(file, s, &how);
        write_readouts(file, s, &how);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
    char expected[400];
    snprintf(expected, sizeof expected,
             "the program that wrote it did not close it: what it had not yet written is missing.\n%s", said[0]);
    holds(s, first(18), 18, expected);
    const int writer = open(path, O_RDWR);
    assert_int_equal(flock(writer, LOCK_EX), 0);
    refused_with(NULL, LARMOR_ERR_IO, "is being written by another program. Wait until it is complete.");
    close(writer);
    holds(s, first(18), 18, expected);
}
