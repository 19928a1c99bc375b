/* A backend's memory, and what its table says of itself. SPDX-License-Identifier: Apache-2.0 */
#include "tests/backend/buffers.h"

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    const size_t bytes[] = {0, 1, 63, 4097};
    unsigned char host[4097];
    for (int i = 0; i < 8; i++) { /* the second time after blocks of that size were dirtied and released */
        const size_t n = bytes[i % 4];
        void *ptr;
        assert_ok(dev->be->alloc(dev->ctx, n, &ptr));
        assert_int_equal((uintptr_t)ptr % 64, 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, n));
        for (size_t b = 0; b < n; b++) assert_int_equal(host[b], 0);
        memset(host, 0xff, sizeof host);
        assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, n));
        release(ptr);
    }
    release(NULL);
}

static void zero_clears_the_asked_bytes_and_no_more(void **state)
{
    (void)state;
    unsigned char host[100];
    void *ptr;
    assert_ok(dev->be->alloc(dev->ctx, sizeof host, &ptr));
    memset(host, 0xa5, sizeof host);
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, ptr, host, sizeof host));
    assert_ok(dev->be->zero(dev->ctx, ptr, 37));
    assert_ok(dev->be->zero(dev->ctx, ptr, 0));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, host, ptr, sizeof host));
    for (size_t b = 0; b < sizeof host; b++) assert_int_equal(host[b], b < 37 ? 0 : 0xa5);
    release(ptr);
}

static void copies_go_to_the_device_and_within_it_and_back(void **state)
{
    (void)state;
    unsigned char there[333], back[333] = {0};
    void *a, *b;
    for (size_t i = 0; i < sizeof there; i++) there[i] = (unsigned char)(7 * i + 3);
    assert_ok(dev->be->alloc(dev->ctx, sizeof there, &a));
    assert_ok(dev->be->alloc(dev->ctx, sizeof there, &b));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_DEVICE, a, there, sizeof there));
    assert_ok(dev->be->copy(dev->ctx, LMR_ON_DEVICE, b, a, sizeof there));
    assert_ok(dev->be->sync(dev->ctx));
    assert_ok(dev->be->copy(dev->ctx, LMR_TO_HOST, back, b, sizeof there));
    assert_memory_equal(there, back, sizeof there);
    release(a);
    release(b);
}

static void impossible_memory_is_refused_without_a_crash(void **state)
{
    (void)state;
    void *ptr = &ptr;
    assert_int_equal(dev->be->alloc(dev->ctx, SIZE_MAX - 8, &ptr), LARMOR_ERR_MEMORY);
    assert_null(ptr);
    assert_int_equal(dev->be->alloc(dev->ctx, (size_t)1 << 60, &ptr), LARMOR_ERR_MEMORY);
}

static void the_table_says_what_it_is(void **state)
{
    (void)state;
    int64_t available, total;
    assert_int_equal(dev->be->abi, LMR_BACKEND_ABI);
    assert_true(dev->be->device_count() > 0);
    assert_ok(dev->be->memory(dev->ctx, &available, &total));
    assert_true(available >= 0 && available <= total);
    if (dev->be->table) assert_null(dev->be->table("no such layer", 1, LMR_F32));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(zero_clears_the_asked_bytes_and_no_more),
        cmocka_unit_test(copies_go_to_the_device_and_within_it_and_back),
        cmocka_unit_test(impossible_memory_is_refused_without_a_crash),
        cmocka_unit_test(the_table_says_what_it_is),
    };
    RUN_TESTS(tests);
}
