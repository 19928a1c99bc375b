/* Many reconstructions in one process: the same bytes each time, and memory that does not grow.
 * SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "tests/pipeline/scan.h"

enum { ROUNDS = 8, WARM = 4, DEVICES = 3 };

static const char *const methods[] = {"grid", "cg", "tv", "wavelet", "llr"};
enum { METHODS = sizeof methods / sizeof *methods };

/* Bytes that are in memory, from the kernel. */
static int64_t resident(void)
{
    long all, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &here), 2);
    fclose(f);
    return (int64_t)here * 4096;
}

/* Bytes that were allocated and not freed: of these nothing may grow. What is in memory besides is holes between
 * blocks, which the C library of each system keeps in its own way. */
static int64_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    const struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
#else
    return resident();
#endif
}

/* The image of the first series on this device, to be freed. */
static float *image_of(const scan *s, larmor_device *on, const char *method, int64_t *count)
{
    const larmor_recon_opts opts = OPTS(.method = method, .iters = strcmp(method, "grid") ? 4 : 0);
    larmor_scan_arrays arrays = s->arrays;
    arrays.image = s->image;
    larmor_source *source = MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
    OWN(larmor_recon, *recon, larmor_recon_create(source, on, &opts, &recon));
    larmor_source_free(source);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_true(result.count > 0);
    float *values = host_of(result.image[0].data);
    *count = 2 * larmor_array_count(result.image[0].data);
    return values;
}

/* The ways through errors free what they have, too: maps that do not fit, and a listener that stops. */
static void fail_once(const scan *s)
{
    OWNED(larmor_recon) *recon;
    larmor_recon_result result;
    notes n = {.stop_at = "operator"};
    const larmor_recon_opts wrong = OPTS(.method = "grid", .maps = s->truth),
                            stopped = OPTS(.listener = take_note, .user = &n);
    assert_true(try_recon(s, &wrong, &recon) != LARMOR_OK);
    assert_null(recon);
    assert_ok(try_recon(s, &stopped, &recon));
    assert_int_equal(larmor_recon_run(recon, 0, &result), LARMOR_STOPPED);
}

TEST(neither_memory_nor_images_change_over_many_reconstructions)
{
    OWNED(scan) s = scan_of(COILS, 2, 1e-3);
    larmor_device *on[DEVICES];
    float *first[METHODS] = {NULL};
    int64_t count, before = 0, held = 0;
    for (int d = 0; d < DEVICES; d++) {
        char spec[16];
        snprintf(spec, sizeof spec, "cpu:%d", d + 1);
        assert_ok(larmor_device_open(spec, &on[d]));
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (int m = 0; m < METHODS; m++) {
            float *image = image_of(&s, on[i % DEVICES], methods[m], &count);
            if (first[m]) assert_memory_equal(image, first[m], (size_t)count * sizeof *image);
            if (first[m])
                free(image);
            else
                first[m] = image;
        }
        fail_once(&s);
        if (i == WARM) before = resident();
        if (i == WARM) held = allocated();
    }
    const double grown = (double)(resident() - before), leaked = (double)(allocated() - held);
    print_message("%.1f MB in memory, %.2f MB more than after %d rounds, %.3f MB of it allocated\n",
                  (double)before / 1e6, grown / 1e6, WARM, leaked / 1e6);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these keep what is freed */
    assert_at_most(leaked, 3e3 * (ROUNDS - WARM));                  /* the C library keeps freed blocks for threads */
    assert_at_most(grown, 0.2 * (double)before + 5e6);
#endif
    for (int m = 0; m < METHODS; m++) free(first[m]);
    for (int d = 0; d < DEVICES; d++) larmor_device_free(on[d]);
}
