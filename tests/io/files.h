/* A folder of its own for each test of files, and what tests ask about files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[64]; /* of the running test; made and removed by the fixtures */

/* FOLDER/name; valid for eight further calls. */
static inline const char *in_folder(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline int make_folder(void **state LMR_UNUSED)
{
    snprintf(folder, sizeof folder, "/tmp/larmor-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int files_in_folder(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return count;
}

/* A folder of files. */
static inline void empty_folder(const char *path)
{
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
    rmdir(path);
}

static inline int remove_folder(void **state LMR_UNUSED)
{
    chmod(folder, 0700);
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && remove(in_folder(e->d_name)))
            empty_folder(in_folder(e->d_name));
    closedir(d);
    return rmdir(folder);
}

static inline int is_there(const char *path)
{
    struct stat s;
    return !lstat(path, &s);
}

static inline void put_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

/* The whole file, to be freed. */
static inline unsigned char *get_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    unsigned char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, f), *bytes);
    fclose(f);
    return data;
}

/* Files of this process may have so many bytes; RLIM_INFINITY: as many as before. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* An array of random numbers in [-1, 1). */
static inline larmor_array *random_array(larmor_dtype dtype, larmor_shape shape, uint64_t seed)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
    const size_t bytes = larmor_array_bytes(x);
    const int is_double = dtype == LARMOR_F64 || dtype == LARMOR_C128;
    HEAP void *host = malloc(bytes + 1);
    assert_non_null(host);
    for (size_t i = 0; i < bytes / (is_double ? sizeof(double) : sizeof(float)); i++) {
        if (is_double)
            ((double *)host)[i] = test_random(&seed);
        else
            ((float *)host)[i] = (float)test_random(&seed);
    }
    assert_ok(larmor_array_write(x, host, bytes));
    return x;
}

/* Write one image without options. */
static inline larmor_status write_image(const char *path, int force, const larmor_array *x,
                                        const larmor_image_meta *meta)
{
    OWNED(larmor_output) *out;
    const larmor_status opened = larmor_output_open(path, force, &out);
    if (opened) return opened;
    const larmor_image image = {.data = x, .meta = meta ? *meta : (larmor_image_meta){.slice = 0}};
    return larmor_image_write(out, &image, 1, NULL);
}

#define IN_FOLDER(claim) TEST_IN(claim, make_folder, remove_folder)

/* Where an HDF5 file keeps the length of its first chunk: in a leaf of a version 1 B-tree of chunks. */
static inline size_t first_chunk_length(const unsigned char *file, size_t bytes)
{
    for (size_t i = 0; i + 32 < bytes; i++)
        if (!memcmp(file + i, "TREE\1\0", 6)) return i + 24;
    fail_msg("no index of chunks");
    return 0;
}
