/* Damaged ISMRMRD files: cut, with flipped bits, with forged references; refused or read, never a crash.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "tests/io/mrd_scan.h"

/* HDF5 loses memory of its own over damaged files; what larmor opens is counted below. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* OK or one line that names the file; a result that is OK can be used. */
static int survives(void)
{
    OWNED(larmor_raw) *raw;
    larmor_samples s;
    larmor_grid grid;
    const int64_t before = open_objects();
    const larmor_status st = larmor_raw_open(path, &(larmor_raw_opts){.memory = 1 << 28}, &raw);
    assert_int_equal(open_objects(), before);
    if (st) {
        assert_null(raw);
        assert_ptr_equal(strstr(larmor_last_error(), path), larmor_last_error());
        assert_null(strchr(larmor_last_error(), '\n'));
        return 0;
    }
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    if (!larmor_raw_samples(raw, 0, &grid, 0, dev, &s)) larmor_samples_free(&s);
    return 1;
}

WITH_SCAN(every_cut_is_refused_as_cut)
{
    static const layout layouts[] = {{0}, {.filters = 1, .chunk = 3}};
    for (int l = 0; l < 2; l++) {
        scan *s = radial_scan(4, 2);
        write_scan_as(s, &layouts[l]);
        free_scan(s);
        size_t bytes;
        HEAP unsigned char *all = get_file(path, &bytes);
        for (size_t n = 48; n < bytes; n += n < 128 ? 1 : 157) {
            char line[96];
            put_file(path, all, n);
            snprintf(line, sizeof line, "file cut short: %zu of %zu bytes. Copy it again.", n, bytes);
            refused(line);
        }
        for (size_t n = 0; n < 48; n++) {
            put_file(path, all, n);
            assert_int_equal(survives(), 0);
        }
    }
}

WITH_SCAN(flipped_bits_never_crash)
{
    static const layout layouts[] = {{0}, {.fixed_length = 1, .filters = 1, .chunk = 4}, {.contiguous = 1}};
    uint64_t seed = 20240607;
    int refused_count = 0, total = 0;
    for (int l = 0; l < 3; l++) {
        scan *s = radial_scan(6, 1);
        write_scan_as(s, &layouts[l]);
        free_scan(s);
        size_t bytes;
        unsigned char *good = get_file(path, &bytes), *bad = malloc(bytes);
        for (int round = 0; round < 150; round++, total++) {
            memcpy(bad, good, bytes);
            const int flips = 1 + round % 3;
            for (int k = 0; k < flips; k++) {
                /* half of them in the first 4 kB, where the structure is */
                const double where = (test_random(&seed) + 1) / 2 * (double)(round % 2 ? bytes : 4096);
                bad[(size_t)where % bytes] ^= (unsigned char)(1 << (int)((test_random(&seed) + 1) * 4));
            }
            put_file(path, bad, bytes);
            refused_count += !survives();
            size_t after;
            HEAP unsigned char *left = get_file(path, &after);
            assert_int_equal(after, bytes);
            assert_memory_equal(left, bad, bytes);
        }
        LMR_FREE(good, bad);
    }
    assert_in_range(refused_count, total / 20, total);
}

/* References into the heap that lead elsewhere: the bytes of an element are found by their length and index. */
WITH_SCAN(forged_references_are_refused)
{
    scan *s = radial_scan(4, 2);
    write_scan_as(s, &(layout){.fixed_length = 1}); /* the header is not in the heap */
    free_scan(s);
    size_t bytes;
    unsigned char *good = get_file(path, &bytes), *bad = malloc(bytes);
    size_t at = 0; /* of the reference to the first data: 256 numbers, a heap's address, an index */
    for (size_t i = 0; !at && i + 16 <= bytes; i++) {
        uint32_t length, index;
        uint64_t address;
        memcpy(&length, good + i, 4);
        memcpy(&address, good + i + 4, 8);
        memcpy(&index, good + i + 12, 4);
        if (length == 256 && address + 16 < bytes && index && index < 100 && !memcmp(good + address, "GCOL", 4))
            at = i;
    }
    assert_true(at > 0);
    static const struct {
        int64_t address; /* 0: leave */
        uint32_t index;
        const char *line;
    } forged[] = {{0, 9999, "heap object missing"},
                  {0, 0, "heap object missing"},
                  {0, 0xffffffffu, "heap object missing"},
                  {-1, 1, "heap address beyond the file"},
                  {INT64_MAX, 1, "heap address beyond the file"},
                  {8, 1, "no heap where the file says"}};
    for (size_t k = 0; k < sizeof forged / sizeof *forged; k++) {
        char line[128];
        memcpy(bad, good, bytes);
        if (forged[k].address) memcpy(bad + at + 4, &forged[k].address, 8);
        memcpy(bad + at + 12, &forged[k].index, 4);
        put_file(path, bad, bytes);
        snprintf(line, sizeof line, "damaged HDF5 structure (acquisition 0: %s). Copy it again.", forged[k].line);
        refused(line);
    }
    uint64_t heap;
    memcpy(&heap, good + at + 4, 8);
    size_t object = heap + 16; /* walk to the one that is meant */
    for (uint64_t size; good[object] != good[at + 12]; object += 16 + (size + 7) / 8 * 8)
        memcpy(&size, good + object + 8, 8);
    const struct { /* the sizes of the collection and of the object */
        size_t at;
        uint64_t size;
        const char *line;
    } sizes[] = {{heap + 8, 1 << 30, "heap leaves the file"},
                 {heap + 8, 15, "heap leaves the file"},
                 {object + 8, 1 << 20, "heap object leaves its collection"},
                 {object + 8, UINT64_MAX, "heap object leaves its collection"},
                 {object + 8, 1016, "heap object of another length"}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char line[128];
        memcpy(bad, good, bytes);
        memcpy(bad + sizes[k].at, &sizes[k].size, 8);
        put_file(path, bad, bytes);
        snprintf(line, sizeof line, "damaged HDF5 structure (acquisition 0: %s). Copy it again.", sizes[k].line);
        refused(line);
    }
    LMR_FREE(good, bad);
}

WITH_SCAN(checksums_are_verified)
{
    scan *s = radial_scan(4, 2);
    write_scan_as(s, &(layout){.filters = 1, .chunk = 4});
    free_scan(s);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t d = H5Dopen2(file, "dataset/data", H5P_DEFAULT);
    hsize_t offset, size;
    unsigned mask;
    haddr_t address;
    const hid_t all = H5Dget_space(d);
    assert_true(H5Dget_chunk_info(d, all, 0, &offset, &mask, &address, &size) >= 0);
    H5Sclose(all);
    H5Dclose(d);
    H5Fclose(file);
    size_t bytes;
    HEAP unsigned char *p = get_file(path, &bytes);
    for (hsize_t i = 0; i < size; i += 7) {
        p[address + i] ^= 0x10;
        put_file(path, p, bytes);
        refused("damaged data (checksum wrong, element 0 of /dataset/data). Copy it again.");
        p[address + i] ^= 0x10;
    }
}

/* A counter's place becomes that of another member: the numbers read there would be something else. */
WITH_SCAN(members_that_share_bytes_are_refused)
{
    static const char name[24] = "kspace_encode_step_1";
    scan *s = radial_scan(4, 2);
    write_scan_as(s, &(layout){.fixed_length = 1});
    free_scan(s);
    size_t bytes;
    HEAP unsigned char *p = get_file(path, &bytes);
    unsigned char *member = memmem(p, bytes, name, sizeof name);
    assert_non_null(member);
    assert_int_equal(member[sizeof name], 0);
    for (unsigned char offset = 1; offset < 33; offset++) {
        member[sizeof name] = offset;
        put_file(path, p, bytes);
        assert_int_equal(survives(), 0);
    }
}

/* Lengths in the index of chunks that are not those of the chunks. Elements without filters have 376 bytes each. */
WITH_SCAN(forged_chunk_lengths_are_refused)
{
    static const layout layouts[] = {{0}, {.chunk = 4}, {.filters = 1, .chunk = 4}};
    static const struct {
        int more[2]; /* for the first two chunks */
        const char *line;
    } forged[] = {{{16000, 0}, "HDF5 structure (chunk index of /dataset/data)"},
                  {{1, 0}, "HDF5 structure (chunk index of /dataset/data)"},
                  {{1 << 30, 0}, "HDF5 structure (chunk index of /dataset/data)"},
                  {{-1, 1}, "data (wrong size, element 0 of /dataset/data)"},
                  {{64, -64}, "HDF5 structure (chunk index of /dataset/data)"}};
    enum { KEY = 32 }; /* bytes: a length, a mask, two offsets, an address */
    for (int l = 0; l < 3; l++) {
        scan *s = radial_scan(60, 2); /* all in one leaf */
        write_scan_as(s, &layouts[l]);
        free_scan(s);
        size_t bytes;
        unsigned char *good = get_file(path, &bytes), *bad = malloc(bytes);
        const size_t at = first_chunk_length(good, bytes);
        for (size_t k = 0; k < sizeof forged / sizeof *forged; k++) {
            char line[128];
            memcpy(bad, good, bytes);
            for (int i = 0; i < 2; i++) {
                uint32_t length;
                memcpy(&length, good + at + i * KEY, 4);
                if (!layouts[l].filters) assert_int_equal(length, layouts[l].chunk ? 4 * 376 : 376);
                length += (uint32_t)forged[k].more[i];
                memcpy(bad + at + i * KEY, &length, 4);
            }
            put_file(path, bad, bytes);
            snprintf(line, sizeof line, "damaged %s. Copy it again.", forged[k].line);
            if (layouts[l].filters)
                assert_int_equal(survives(), 0);
            else
                refused(line);
        }
        LMR_FREE(good, bad);
    }
}
