/* The memory of precomputed forms: what is said of it is so, and limits hold. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "tests/nufft/precompute.h"

/* Every allocation of larmor's own in this program that is not to be zero passes through the functions below (the
 * linker's --wrap): the bytes that were asked for. */
static atomic_llong asked;

/* Names that the linker gives. NOLINTBEGIN */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&asked, (long long)size);
    return __real_aligned_alloc(alignment, size);
}
void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&asked, (long long)size);
    return __real_malloc(size);
}
/* NOLINTEND */

/* By the definition of the forms; what cuSPARSE adds is not known. */
static int64_t least_bytes(const larmor_nufft_info *info, const larmor_nufft_opts *o, larmor_precompute form)
{
    const int64_t real = o->dtype == LARMOR_C64 ? 4 : 8;
    int64_t entries = POINTS, cells = 1;
    for (int d = 0; d < o->ndim; d++) {
        entries *= info->width;
        cells *= info->grid[d];
    }
    if (form == LARMOR_PRECOMPUTE_PARTIAL) /* a GPU stores whole groups of 32 points */
        return (is_processor() ? POINTS : (POINTS + 31) / 32 * 32) * o->ndim * info->width * real +
               (is_processor() ? 64 : 0);
    const int64_t work = 2 * real * info->per_pass * (POINTS + (info->per_pass > 1 ? cells : 0));
    return 2 * entries * (real + 4) + 4 * (POINTS + 1 + cells + 1) + work;
}

TEST(described_bytes_are_those_of_the_forms)
{
    uint64_t seed = 11;
    for (int i = 0; i < 2; i++)
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int is_double = 0; is_double < 2; is_double++)
                for (int64_t batch = 1; batch < 5; batch += 3) {
                    larmor_nufft_opts o = options(1, ndim, is_double ? LARMOR_C128 : LARMOR_C64);
                    o.batch = batch;
                    o.tol = 1e-3;
                    OWNED(larmor_array) *k = make_points(ndim, o.modes, POINTS, &seed);
                    OWNED(larmor_nufft) *none = make_plan(o, LARMOR_PRECOMPUTE_NONE, k);
                    assert_int_equal(larmor_nufft_describe(none).precompute_bytes, 0);
                    OWNED(larmor_nufft) *plan = make_plan(o, forms[i], k);
                    const larmor_nufft_info info = larmor_nufft_describe(plan);
                    const int64_t least = least_bytes(&info, &o, forms[i]);
                    assert_true(info.precompute_bytes >= least);
                    if (is_processor() || forms[i] == LARMOR_PRECOMPUTE_PARTIAL)
                        assert_true(info.precompute_bytes <= least + 16);
                }
}

/* Between set_points of a plan with and one without; blocks are rounded up to 64 bytes. */
TEST(described_bytes_are_allocated)
{
    uint64_t seed = 12;
    if (!is_processor()) skip(); /* a GPU's memory is not the host's */
    for (int i = 0; i < 2; i++) {
        larmor_nufft_opts o = options(1, 2, LARMOR_C64);
        long long took[2];
        int64_t bytes = 0;
        o.batch = 4;
        OWNED(larmor_array) *k = make_points(2, o.modes, 4000, &seed);
        for (int made = 0; made < 2; made++) {
            o.precompute = made ? forms[i] : LARMOR_PRECOMPUTE_NONE;
            OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
            const long long before = atomic_load(&asked);
            assert_ok(larmor_nufft_set_points(plan, k, NULL));
            took[made] = atomic_load(&asked) - before;
            bytes = larmor_nufft_describe(plan).precompute_bytes;
        }
        assert_true(took[1] - took[0] >= bytes);
        assert_at_most((double)(took[1] - took[0]), (double)bytes + 8 * 64);
    }
}

TEST(the_estimate_of_memory_counts_them)
{
    uint64_t seed = 13;
    for (int i = 0; i < 2; i++) {
        larmor_nufft_opts o = options(2, 3, LARMOR_C64);
        int64_t without, with;
        o.batch = 4;
        o.tol = 1e-3;
        OWNED(larmor_array) *k = make_points(3, o.modes, 4000, &seed);
        assert_ok(larmor_nufft_memory(dev, &o, 4000, &without));
        o.precompute = forms[i];
        assert_ok(larmor_nufft_memory(dev, &o, 4000, &with));
        OWNED(larmor_nufft) *plan = make_plan(o, forms[i], k);
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        const int64_t bytes = info.precompute_bytes;
        const double wider = (info.width + 1.0) / info.width;
        const double most = (double)bytes * (forms[i] == LARMOR_PRECOMPUTE_FULL ? wider * wider * wider : wider);
        assert_true(with - without >= bytes);
        if (is_processor() || forms[i] == LARMOR_PRECOMPUTE_PARTIAL)
            assert_at_most((double)(with - without), most + 64);
    }
}

TEST(a_form_beyond_the_limit_is_refused_with_its_bytes)
{
    static const char *const names[] = {"partial", "full"}, *const instead[] = {"none", "partial or none"};
    uint64_t seed = 14;
    for (int i = 0; i < 2; i++) {
        larmor_nufft_opts o = options(1, 2, LARMOR_C64);
        OWNED(larmor_array) *k = make_points(2, o.modes, POINTS, &seed);
        o.precompute = forms[i];
        o.precompute_memory = 5000;
        OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
        const larmor_nufft_info info = larmor_nufft_describe(plan);
        const larmor_status st = larmor_nufft_set_points(plan, k, NULL);
        assert_int_equal(st, LARMOR_ERR_MEMORY);
        char text[400];
        snprintf(text, sizeof text,
                 "nufft: precompute: %s takes %lld bytes for 200 points with a window of %d cells in 2D, expected at "
                 "most 5000, precompute_memory; allow more by precompute_memory, or use %s",
                 names[i], (long long)(least_bytes(&info, &o, forms[i]) + (i ? 8 : 0)), info.width, instead[i]);
        const char *said = strstr(larmor_last_error(), "nufft: precompute");
        assert_non_null(said);
        assert_int_equal(strncmp(said, text, strlen(text)), 0);
    }
}

/* Sizes that no machine has: refused before anything is allocated, and without overflow. */
TEST(sizes_are_checked_before_they_are_multiplied)
{
    OWNED(open_plan) plan;
    make_open_plan(options(1, 3, LARMOR_C64), LARMOR_PRECOMPUTE_FULL, &plan);
    lmr_precompute_job job = {.on = &plan.on, .geometry = &plan.plan->geometry, .batch = 1};
    job.points = INT64_C(1) << 40;
    assert_refused(lmr_precompute_check(&job, LARMOR_PRECOMPUTE_FULL), LARMOR_ERR_MEMORY, "half of what is free");
    job.points = INT64_MAX;
    assert_refused(lmr_precompute_check(&job, LARMOR_PRECOMPUTE_FULL), LARMOR_ERR_MEMORY, "full takes");
    assert_refused(lmr_precompute_check(&job, LARMOR_PRECOMPUTE_PARTIAL), LARMOR_ERR_MEMORY,
                   "partial takes 9223372036854775807 bytes");
    assert_ok(lmr_precompute_check(&job, LARMOR_PRECOMPUTE_NONE));
    const lmr_precompute_size short_index = {.ndim = 3, .width = 8, .real = 4, .points = 4000000, .cells = 1 << 20},
                              long_index = {.ndim = 3, .width = 8, .real = 4, .points = 5000000, .cells = 1 << 20};
    assert_false(lmr_precompute_needs_64_bits(&short_index));
    assert_true(lmr_precompute_needs_64_bits(&long_index));
    const lmr_precompute_kernels groups = {.group = 32, .margin = 8};
    const lmr_precompute_size size = {.ndim = 2, .width = 5, .real = 4, .points = 33};
    assert_int_equal(lmr_precompute_bytes(&groups, &size, LARMOR_PRECOMPUTE_PARTIAL), 64 * 2 * 5 * 4 + 8);
}
