/* io/reader/h5_heap.c: values of HDF5 that lie in global heaps. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_heap.h"
#include "tests/io/files.h"

static void put_u64(char *to, uint64_t value)
{
    for (int k = 0; k < 8; k++) to[k] = (char)(value >> 8 * k);
}

/* A collection of `bytes` with two objects of 4 bytes: 'a' and 'b' follow each other from `first` on. */
static void put_collection(char *at, uint64_t bytes, char first)
{
    memcpy(at, "GCOL\1\0\0\0", 8);
    put_u64(at + 8, bytes);
    for (int i = 0; i < 2; i++) {
        char *object = at + 16 + 24 * i;
        object[0] = (char)(i + 1);
        put_u64(object + 8, 4);
        memset(object + 16, first + i, 4);
    }
}

IN_FOLDER(values_of_several_collections_are_found_in_any_order)
{
    static char bytes[4096], got[4];
    put_collection(bytes + 512, 512, 'a');
    put_collection(bytes + 1024, 512, 'c');
    put_file(in_folder("heap"), bytes, sizeof bytes);
    lmr_source source;
    lmr_heap_value v[5] = {{.ref = {0, 0, 0}}}, twice[2];
    assert_ok(lmr_source_open(in_folder("heap"), "a file", &source));
    for (int i = 1; i < 5; i++) v[i].ref = (lmr_heap_ref){i % 2 ? 1024 : 512, 4, (uint32_t)(1 + i / 2 % 2)};
    assert_ok(lmr_heap_find(&source, v, 5, 1));
    assert_int_equal(v[0].at, 0);
    assert_null(v[0].wrong);
    for (int i = 1; i < 5; i++) {
        assert_null(v[i].wrong);
        assert_int_equal(lmr_source_get(&source, v[i].at, got, 4), 4);
        assert_int_equal(got[0], (i % 2 ? 'c' : 'a') + i / 2 % 2);
    }
    twice[0].ref = twice[1].ref = v[1].ref; /* HDF5 writes no object for two values */
    assert_ok(lmr_heap_find(&source, twice, 2, 1));
    assert_true(!twice[0].wrong != !twice[1].wrong);
    lmr_source_close(&source);
}

/* Else each of many could reach over the whole file. */
IN_FOLDER(collections_that_overlap_are_refused)
{
    static char bytes[4096];
    put_collection(bytes + 512, 1024, 'a');
    put_collection(bytes + 1024, 512, 'c');
    put_file(in_folder("heap"), bytes, sizeof bytes);
    lmr_source source;
    lmr_heap_value v[2] = {{.ref = {1024, 4, 1}}, {.ref = {512, 4, 1}}};
    assert_ok(lmr_source_open(in_folder("heap"), "a file", &source));
    assert_ok(lmr_heap_find(&source, v, 2, 1));
    assert_string_equal(v[0].wrong, "heaps overlap");
    assert_null(v[1].wrong);
    assert_ok(lmr_heap_find(&source, v, 1, 1));
    assert_null(v[0].wrong);
    lmr_source_close(&source);
}
