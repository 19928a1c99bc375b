/* Counts what is allocated: see allocated.h. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/allocated.h"

#include <malloc.h>
#include <stdatomic.h>

#define OWN_MAIN /* the test has it */
#include "tests/support/test.h"

static atomic_llong held, peak;
static long long before;

static void *add(void *ptr)
{
    if (!ptr) return NULL;
    const long long bytes = (long long)malloc_usable_size(ptr);
    const long long now = atomic_fetch_add(&held, bytes) + bytes;
    long long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) continue;
    return ptr;
}

static void subtract(void *ptr)
{
    if (ptr) atomic_fetch_sub(&held, (long long)malloc_usable_size(ptr));
}

/* Names that the linker gives. NOLINTBEGIN */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *ptr);

void *__wrap_malloc(size_t size)
{
    return add(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size)
{
    return add(__real_calloc(count, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return add(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *ptr)
{
    subtract(ptr);
    __real_free(ptr);
}
/* NOLINTEND */

void begin(void)
{
    before = atomic_load(&held);
    atomic_store(&peak, before);
}

int64_t peak_since_begin(void)
{
    return (int64_t)(atomic_load(&peak) - before);
}

int64_t held_since_begin(void)
{
    return (int64_t)(atomic_load(&held) - before);
}

void expect_estimate(const char *what, int64_t estimate, int64_t result, double factor)
{
    const int64_t really = peak_since_begin() - result;
    print_message("%s: %lld bytes at most, %lld allocated\n", what, (long long)estimate, (long long)really);
    if (really > estimate)
        fail_msg("%s: %lld bytes were allocated, the estimate is %lld", what, (long long)really, (long long)estimate);
    assert_at_most((double)estimate, factor * (double)really);
}
