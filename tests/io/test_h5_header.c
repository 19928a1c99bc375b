/* Files of newer releases of HDF5, and files with a block of the user's, are read as any other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_header.h"

#include "tests/io/mrd_scan.h"

TEST(the_checksum_is_lookup3)
{
    static const char text[] = "Four score and seven years ago"; /* of lookup3.c, with the value that it states */
    assert_int_equal(lmr_h5_checksum((const unsigned char *)text, 30), 0x17770551);
    assert_int_equal(lmr_h5_checksum(NULL, 0), 0xdeadbeef);
}

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* A type of version 3 as a newer HDF5 writes it: the version of each part is another number. */
static unsigned char *raise_type(unsigned char *p, int version)
{
    static const int properties[] = {4, 12, 2, 0, 4};
    const int class = p[0] & 15, members = (int)number(p + 1, 2);
    unsigned char *next = p + 8;
    p[0] = (unsigned char)(class | version << 4);
    if (class <= 4) return next + properties[class];
    if (class == 10) next += 1 + 4 * next[0];
    if (class == 9 || class == 10) return raise_type(next, version);
    assert_int_equal(class, 6);
    const int width = number(p + 4, 4) < 256 ? 1 : 2;
    for (int i = 0; i < members; i++) next = raise_type(next + strlen((char *)next) + 1 + width, version);
    return next;
}

/* The header of /dataset/data, which is the largest: its messages, to the checksum. */
static unsigned char *find_header(unsigned char *all, size_t bytes, size_t *length)
{
    unsigned char *found = NULL;
    *length = 0;
    for (size_t i = 0; i + 16 < bytes; i++) {
        if (memcmp(all + i, "OHDR\2", 5)) continue;
        const int width = 1 << (all[i + 5] & 3);
        const size_t from = 6 + (all[i + 5] & 32 ? 16 : 0) + (all[i + 5] & 16 ? 4 : 0) + (size_t)width;
        const size_t here = from + number(all + i + from - (size_t)width, width);
        if (here <= *length) continue;
        *length = here;
        found = all + i;
    }
    assert_non_null(found);
    return found;
}

static unsigned char *find_message(unsigned char *header, size_t length, int kind)
{
    const int width = 1 << (header[5] & 3);
    const int head = header[5] & 4 ? 6 : 4;
    size_t i = 6 + (header[5] & 32 ? 16 : 0) + (header[5] & 16 ? 4 : 0) + (size_t)width;
    for (; i + (size_t)head <= length; i += (size_t)head + number(header + i + 1, 2))
        if (header[i] == kind) return header + i + head;
    fail_msg("no message %d", kind);
    return NULL;
}

static void sign(unsigned char *header, size_t length)
{
    const uint32_t sum = lmr_h5_checksum(header, length);
    for (int i = 0; i < 4; i++) header[length + (size_t)i] = (unsigned char)(sum >> 8 * i);
}

/* The file is the scan, number for number. */
static void is_scan(const scan *s)
{
    OWNED(larmor_raw) *raw = opened_with(NULL);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.acquisitions, s->count);
    assert_string_equal(info.warnings, "");
    for (int i = 0; i < s->count; i++) {
        larmor_acquisition a;
        assert_ok(larmor_raw_acquisition(raw, i, &a));
        assert_memory_equal(a.data, s->r[i].data.p, s->r[i].data.len * sizeof(float));
        assert_memory_equal(a.traj, s->r[i].traj.p, s->r[i].traj.len * sizeof(float));
    }
}

/* Writes the scan, raises versions in the header of its acquisitions by libver's numbers and puts that in its
 * place. */
static void write_as_newer(const scan *s, layout l, int type_version, int layout_version)
{
    size_t bytes, length;
    l.libver = 1;
    write_scan_as(s, &l);
    HEAP unsigned char *all = get_file(path, &bytes);
    unsigned char *header = find_header(all, bytes, &length);
    unsigned char *type = find_message(header, length, 3), *storage = find_message(header, length, 8);
    assert_int_equal(lmr_h5_checksum(header, length), number(header + length, 4));
    if (type_version) raise_type(type, type_version);
    if (layout_version) storage[0] = (unsigned char)layout_version;
    sign(header, length);
    put_file(path, all, bytes);
}

/* libver v112 and v114 write types of version 4, v200 and latest of version 5. */
WITH_SCAN(types_of_newer_releases_are_read)
{
    static const layout layouts[] = {
        {.chunk = 4}, {.chunk = 4, .filters = 1}, {.contiguous = 1}, {.chunk = 4, .user_block = 1024}};
    OWNED(scan) *s = radial_scan(11, 2);
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (int version = 3; version <= 5; version++) {
            write_as_newer(s, layouts[l], version, 0);
            is_scan(s);
        }
}

WITH_SCAN(layouts_of_newer_releases_are_read_where_nothing_else_is_new)
{
    OWNED(scan) *s = radial_scan(11, 2);
    write_as_newer(s, (layout){.chunk = 4}, 5, 5);
    is_scan(s);
}

#define UNREAD(version)                                                                                              \
    "/dataset/data was written by a newer HDF5, in a form that HDF5 " version                                        \
    " does not read. Write it with libver \"v114\", or use the h5repack of "                                         \
    "a newer HDF5."

WITH_SCAN(what_is_stored_in_a_new_way_is_refused_as_that_and_not_as_damaged)
{
    char line[256];
    OWNED(scan) *s = radial_scan(11, 2);
    snprintf(line, sizeof line, UNREAD("%d.%d"), H5_VERS_MAJOR, H5_VERS_MINOR);
    write_as_newer(s, (layout){.chunk = 4}, 6, 0);
    refused(line);
    write_as_newer(s, (layout){.chunk = 4}, 0, 6);
    refused(line);
    if (!H5_VERSION_GE(2, 0, 0)) {
        write_as_newer(s, (layout){.chunk = 4, .filters = 1}, 0, 5);
        refused(line);
    }
}

/* Some releases of HDF5 refuse the file for the flags of its superblock, whose other bytes stay. */
WITH_SCAN(a_file_that_was_not_closed_looks_closed_to_hdf5)
{
    for (int flags = 0; flags < 8; flags++) {
        scan *s = radial_scan(4, 1);
        write_scan_as(s, &(layout){.libver = 1});
        free_scan(s);
        size_t bytes;
        unsigned char *all = get_file(path, &bytes), seen[60];
        all[11] = (unsigned char)flags;
        sign(all, 44);
        put_file(path, all, bytes);
        memcpy(seen, all, sizeof seen);
        lmr_source source;
        lmr_h5_headers headers = {.copies = 0};
        assert_ok(lmr_source_open(path, "a file", &source));
        assert_int_equal(lmr_h5_headers_reopen(&headers, &source), 1);
        assert_int_equal(headers.is_unclosed, (flags & 5) != 0);
        lmr_h5_headers_apply(&headers, 0, sizeof seen, seen);
        assert_int_equal(seen[11], headers.is_unclosed ? 0 : flags);
        assert_int_equal(lmr_h5_checksum(seen, 44), number(seen + 44, 4));
        assert_memory_equal(seen, all, 11);
        assert_memory_equal(seen + 12, all + 12, 32);
        assert_memory_equal(seen + 48, all + 48, 12);
        lmr_h5_headers_free(&headers);
        lmr_source_close(&source);
        free(all);
    }
}

/* A header is not signed anew if it was damaged. */
WITH_SCAN(a_damaged_header_of_a_newer_release_stays_damaged)
{
    size_t bytes, length;
    OWNED(scan) *s = radial_scan(4, 1);
    write_as_newer(s, (layout){.chunk = 4}, 4, 0);
    unsigned char *all = get_file(path, &bytes), *header = find_header(all, bytes, &length);
    find_message(header, length, 3)[4] ^= 4;
    put_file(path, all, bytes);
    refused("damaged HDF5 structure (object header of /dataset/data). Copy it again.");
    free(all);
}

WITH_SCAN(a_block_of_the_users_before_the_file_is_passed_over)
{
    static const hsize_t blocks[] = {512, 1024, 8192};
    static const layout layouts[] = {
        {.chunk = 4}, {.filters = 1, .chunk = 4}, {.contiguous = 1}, {.libver = 1, .chunk = 4}};
    OWNED(scan) *s = radial_scan(11, 2);
    for (int b = 0; b < 3; b++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
            layout how = layouts[l];
            how.user_block = blocks[b];
            write_scan_as(s, &how);
            is_scan(s);
            size_t bytes;
            HEAP unsigned char *all = get_file(path, &bytes);
            char line[96];
            put_file(path, all, bytes - 1);
            snprintf(line, sizeof line, "file cut short: %zu of %zu bytes. Copy it again.", bytes - 1, bytes);
            refused(line);
            memset(all, 'u', blocks[b]);
            put_file(path, all, bytes);
            is_scan(s);
        }
}
