/* A backend's memory, and what its table says of itself. SPDX-License-Identifier: Apache-2.0 */
#include "tests/backend/buffers.h"

TEST(memory_is_zeroed_and_aligned)
{
    const size_t bytes[] = {0, 1, 63, 4097};
    unsigned char host[4097];
    for (int i = 0; i < 8; i++) { /* the second time after blocks of that size were dirtied and released */
        const size_t n = bytes[i % 4];
        OWN(void, *ptr, dev->be->alloc(dev->ctx, n, &ptr));
        assert_int_equal((uintptr_t)ptr % 64, 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, n));
        for (size_t b = 0; b < n; b++) assert_int_equal(host[b], 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, n));
    }
    release(NULL);
}

TEST(zero_clears_the_asked_bytes_and_no_more)
{
    unsigned char host[100];
    OWN(void, *ptr, dev->be->alloc(dev->ctx, sizeof host, &ptr));
    memset(host, 0xa5, sizeof host);
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, sizeof host));
    assert_ok(dev->be->zero(dev->ctx, ptr, 37));
    assert_ok(dev->be->zero(dev->ctx, ptr, 0));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, sizeof host));
    for (size_t b = 0; b < sizeof host; b++) assert_int_equal(host[b], b < 37 ? 0 : 0xa5);
}

TEST(copies_go_to_the_device_and_within_it_and_back)
{
    unsigned char there[333], back[333] = {0};
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)(7 * i + 3);
    OWN(void, *a, dev->be->alloc(dev->ctx, sizeof there, &a));
    OWN(void, *b, dev->be->alloc(dev->ctx, sizeof there, &b));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, there, sizeof there));
    assert_ok(dev->be->copy(dev->ctx, LMR_ON_DEVICE, b, a, sizeof there));
    assert_ok(dev->be->sync(dev->ctx));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back, b, sizeof there));
    assert_memory_equal(there, back, sizeof there);
}

/* Large ones go in pieces on a GPU, the last of which is not whole. */
TEST(large_copies_arrive_whole_and_leave_what_is_beside_them)
{
    enum { MIB = 1 << 20, MOST = 37 * MIB + 4 };
    const size_t sizes[] = {8 * MIB - 4, 8 * MIB, 9 * MIB + 12, MOST};
    HEAP uint32_t *there = malloc(MOST), *back = malloc(MOST + 8);
    assert_non_null(there);
    assert_non_null(back);
    for (uint32_t i = 0; i < MOST / 4; i++) there[i] = 2654435761u * i;
    OWN(void, *a, dev->be->alloc(dev->ctx, MOST + 8, &a));
    for (int i = 0; i < 4; i++) {
        memset(back, 0xa5, MOST + 8);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, back, MOST + 8));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, (char *)a + 4, there, sizes[i]));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back + 1, (char *)a + 4, sizes[i]));
        assert_memory_equal(back + 1, there, sizes[i]);
        assert_int_equal(back[0], 0xa5a5a5a5);
        assert_int_equal(back[1 + sizes[i] / 4], 0xa5a5a5a5);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back, a, sizes[i] + 8));
        assert_int_equal(back[0], 0xa5a5a5a5);
        assert_int_equal(back[1 + sizes[i] / 4], 0xa5a5a5a5);
    }
}

/* On another handle of this device, and on every GPU where there are several. */
TEST(a_pass_comes_after_what_both_queues_have_and_before_what_they_get)
{
    enum { N = 1 << 18, ROUNDS = 20 };
    const char *const specs[] = {larmor_device_spec(dev), "cuda:all"};
    const int is_gpu = !strncmp(specs[0], "cuda", 4);
    static float there[2 * N], back[2 * N];
    for (int i = 0; i < 2 * N; i++) there[i] = (float)(i % 1000);
    for (int s = 0; s < 1 + is_gpu; s++) {
        OWN(larmor_device, *all, larmor_device_open(specs[s], &all));
        const int members = larmor_device_members(all);
        for (int m = 0; m < (members ? members : 1); m++) {
            larmor_device *other = members ? larmor_device_member(all, m) : all;
            void *a, *b;
            assert_ok(dev->be->alloc(dev->ctx, sizeof there, &a));
            assert_ok(other->be->alloc(other->ctx, sizeof there, &b));
            assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, there, sizeof there));
            for (int i = 0; i < ROUNDS; i++) { /* doubled here, halved there */
                assert_ok(dev->be->vec[LMR_F32]->axpby(dev->ctx, N, 2, a, 0, a));
                assert_ok(other->be->pass(other->ctx, b, dev->ctx, a, sizeof there));
                assert_ok(dev->be->zero(dev->ctx, a, sizeof there));
                assert_ok(other->be->vec[LMR_F32]->axpby(other->ctx, N, 0.5, b, 0, b));
                assert_ok(dev->be->pass(dev->ctx, a, other->ctx, b, sizeof there));
                assert_ok(other->be->zero(other->ctx, b, sizeof there));
            }
            assert_ok(dev->be->pass(dev->ctx, NULL, other->ctx, NULL, 0));
            assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back, a, sizeof back));
            assert_memory_equal(there, back, sizeof back);
            release(a);
            other->be->release(other->ctx, b);
        }
    }
}

/* Rows of 24 of 40 bytes become rows of 24 of 56; what lies between them stays. */
TEST(rows_are_copied_and_what_is_between_them_stays)
{
    enum { WIDTH = 24, FROM = 40, TO = 56, MOST = 70000 };
    for (int64_t rows = 0; rows <= MOST; rows = 10 * rows + 7) {
        unsigned char *from = malloc((size_t)(FROM * (rows + 1))), *to = malloc((size_t)(TO * (rows + 1)));
        for (int64_t i = 0; i < FROM * (rows + 1); i++) from[i] = (unsigned char)(i % 251);
        memset(to, 255, (size_t)(TO * (rows + 1)));
        OWN(void, *a, dev->be->alloc(dev->ctx, (size_t)(FROM * (rows + 1)), &a));
        OWN(void, *b, dev->be->alloc(dev->ctx, (size_t)(TO * (rows + 1)), &b));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, from, (size_t)(FROM * (rows + 1))));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, b, to, (size_t)(TO * (rows + 1))));
        assert_ok(dev->be->copy_rows(dev->ctx, b, TO, a, FROM, WIDTH, rows));
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, to, b, (size_t)(TO * (rows + 1))));
        int64_t wrong = 0;
        for (int64_t i = 0; i < TO * (rows + 1); i++) {
            const int64_t row = i / TO, at = i % TO;
            wrong += to[i] != (row < rows && at < WIDTH ? from[row * FROM + at] : 255);
        }
        assert_int_equal(wrong, 0);
        LMR_FREE(from, to);
    }
}

TEST(impossible_memory_is_refused_without_a_crash)
{
    void *ptr = &ptr;
    assert_int_equal(dev->be->alloc(dev->ctx, SIZE_MAX - 8, &ptr), LARMOR_ERR_MEMORY);
    assert_null(ptr);
    assert_int_equal(dev->be->alloc(dev->ctx, (size_t)1 << 60, &ptr), LARMOR_ERR_MEMORY);
}

TEST(the_table_says_what_it_is)
{
    int64_t available, total;
    assert_int_equal(dev->be->abi, LMR_BACKEND_ABI);
    assert_true(dev->be->device_count() > 0);
    assert_ok(dev->be->memory(dev->ctx, &available, &total));
    assert_true(available >= 0 && available <= total);
    if (dev->be->table) assert_null(dev->be->table("no such layer", 1, LMR_F32));
}
