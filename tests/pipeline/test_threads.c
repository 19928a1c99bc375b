/* Whole reconstructions in several threads at the same time, each with handles of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include <pthread.h>
#include <unistd.h>

#include "tests/pipeline/scan.h"

enum { JOBS = 5, ROUNDS = 2, VOXELS = N * N };

static char folder[] = "/tmp/larmor-test-XXXXXX", scan_file[64];

/* What one thread does: a file in, an image out and into a file, from which it is read again. */
typedef struct job {
    const char *device, *method, *suffix;
    double eps;
    int written_as; /* the number in the name of its file */
    larmor_status st;
    char message[256];
    float image[2 * VOXELS], again[2 * VOXELS];
} job;

static const job kinds[JOBS] = {
    {.device = "cpu:2", .method = "cg", .suffix = "h5"},
    {.device = "cpu:1", .method = "grid", .suffix = "npy"},
    {.device = "cpu:3", .method = "tv", .suffix = "cfl"},
    {.device = "cpu:2", .method = "wavelet", .suffix = "nii"},
    {.device = "cpu:2", .method = "cg", .suffix = "npy", .eps = 1e-7},
};

static larmor_status save_and_read(const larmor_recon_image *made, larmor_device *on, job *j)
{
    const larmor_image image = {.data = made->data, .meta = made->meta};
    char path[128];
    larmor_output *out = NULL;
    OWNED(larmor_array) *x = NULL;
    snprintf(path, sizeof path, "%s/image%d.%s", folder, j->written_as, j->suffix);
    larmor_status st = larmor_output_open(path, 1, &out);
    if (!st) st = larmor_image_write(out, &image, 1, NULL);
    larmor_output_free(out);
    if (!st) st = larmor_image_read(path, on, &x);
    if (!st)
        st = larmor_array_read(x, j->again,
                               larmor_array_bytes(x) < sizeof j->again ? larmor_array_bytes(x) : sizeof j->again);
    return st;
}

static larmor_status reconstruct(larmor_device *on, job *j)
{
    OWNED(larmor_raw) *raw = NULL;
    OWNED(larmor_source) *source = NULL;
    OWNED(larmor_recon) *recon = NULL;
    OWNED(larmor_recon_result) result = {0};
    const larmor_recon_opts opts =
        OPTS(.method = j->method, .iters = strcmp(j->method, "grid") ? 8 : 0, .eps = j->eps);
    larmor_status st = larmor_raw_open(scan_file, NULL, &raw);
    if (!st) st = larmor_source_of_raw(raw, scan_file, &source);
    if (!st) st = larmor_recon_create(source, on, &opts, &recon);
    if (!st) st = larmor_recon_run(recon, 0, &result);
    if (!st) st = result.report.status;
    if (!st) st = larmor_array_read(result.image[0].data, j->image, sizeof j->image);
    if (!st) st = save_and_read(&result.image[0], on, j);
    return st;
}

static void *run(void *arg)
{
    job *j = arg;
    larmor_device *on = NULL;
    larmor_raw *none;
    j->st = larmor_device_open(j->device, &on);
    for (int i = 0; i < ROUNDS && !j->st; i++) j->st = reconstruct(on, j);
    larmor_device_free(on);
    if (j->st) {
        snprintf(j->message, sizeof j->message, "%s", larmor_last_error());
        return NULL;
    }
    char missing[64];
    snprintf(missing, sizeof missing, "/nowhere/scan%d.h5", j->written_as);
    if (!larmor_raw_open(missing, NULL, &none)) j->st = LARMOR_ERR_IO;
    for (int i = 0; i < 100; i++) sched_yield();
    if (!strstr(larmor_last_error(), missing)) { /* another thread's message */
        j->st = LARMOR_ERR_IO;
        snprintf(j->message, sizeof j->message, "%s", larmor_last_error());
    }
    return NULL;
}

TEST(images_are_those_of_a_thread_alone)
{
    static job alone[JOBS], together[JOBS];
    pthread_t thread[JOBS];
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    write_file(&s, scan_file);
    for (int i = 0; i < JOBS; i++) {
        alone[i] = kinds[i];
        together[i] = kinds[i];
        alone[i].written_as = i;
        together[i].written_as = JOBS + i;
        run(&alone[i]);
        if (alone[i].st) fail_msg("%s: %s", kinds[i].method, alone[i].message);
    }
    for (int i = 0; i < JOBS; i++) assert_int_equal(pthread_create(&thread[i], NULL, run, &together[i]), 0);
    for (int i = 0; i < JOBS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < JOBS; i++) {
        if (together[i].st) fail_msg("%s: %s", kinds[i].method, together[i].message);
        assert_memory_equal(together[i].image, alone[i].image, sizeof alone[i].image);
        assert_memory_equal(together[i].again, alone[i].again, sizeof alone[i].again);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(scan_file, sizeof scan_file, "%s/scan.h5", folder);
    const int failed = run_on_device();
    for (int i = 0; i < 2 * JOBS; i++)
        for (int s = 0; s < 2; s++) {
            char path[128];
            snprintf(path, sizeof path, "%s/image%d.%s", folder, i, s ? "hdr" : kinds[i % JOBS].suffix);
            unlink(path);
        }
    unlink(scan_file);
    rmdir(folder);
    return failed;
}
