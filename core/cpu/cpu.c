/* The processor backend: memory and the table. SPDX-License-Identifier: Apache-2.0 */
#include "core/cpu/cpu.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/status.h"

static int device_count(void)
{
    return 1;
}

/* The processor's name as Linux tells it; "processor" elsewhere. */
static void read_name(char *name, size_t size)
{
    snprintf(name, size, "processor");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value + 1 + strspn(value + 1, " "));
        break;
    }
    fclose(f);
}

/* The number after `key` in a file, or in all of the file for an empty key; -1 if there is none. */
static int64_t number_in(const char *path, const char *key)
{
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    char line[256];
    long long value = -1;
    while (value < 0 && fgets(line, sizeof line, f)) {
        const size_t n = strlen(key);
        if (strncmp(line, key, n) != 0 || sscanf(line + n, "%lld", &value) != 1) value = -1;
    }
    fclose(f);
    return value;
}

/* ---- control groups ---- */

/* The controller's key in /proc/self/cgroup, its folder, and the files of a limit and of what is beside it. */
typedef struct {
    const char *key, *root, *most, *now;
} lmr_cpu_group_kind;

static int64_t number_of_group(const char *folder, const char *file)
{
    char path[4500];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return number_in(path, "");
}

/* look is called for the process's group and those above it. */
static void look_at_groups(const char *list, const lmr_cpu_group_kind *kind,
                           void (*look)(const char *folder, const lmr_cpu_group_kind *kind, void *user), void *user)
{
    char line[4096], folder[4400], group[4096] = "";
    FILE *f = fopen(list, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *found = strstr(line, kind->key);
        if (!found) continue;
        snprintf(group, sizeof group, "%s", found + strlen(kind->key));
        group[strcspn(group, "\n")] = 0;
        break;
    }
    if (f) fclose(f);
    for (;;) { /* a container may not see its own name; the root is then its group */
        snprintf(folder, sizeof folder, "%s%s", kind->root, group);
        look(folder, kind, user);
        char *above = strrchr(group, '/');
        if (!above) break;
        *above = 0;
    }
}

/* v2 has the time and the period in one file, "max 100000" or "150000 100000"; v1 in two, -1 for no limit. */
static void limit_by_time(const char *folder, const lmr_cpu_group_kind *kind, void *user)
{
    double *cores = user, period = -1;
    char path[4500];
    snprintf(path, sizeof path, "%s/%s", folder, kind->most);
    FILE *f = fopen(path, "r");
    double time = -1;
    if (f && fscanf(f, "%lf %lf", &time, &period) == 1) period = (double)number_of_group(folder, kind->now);
    if (f) fclose(f);
    if (time > 0 && period > 0 && time / period < *cores) *cores = time / period;
}

double lmr_cpu_cores_of_groups(const char *list, const char *root)
{
    char v1[4096];
    double cores = INFINITY;
    snprintf(v1, sizeof v1, "%s/cpu", root);
    const lmr_cpu_group_kind kinds[] = {{"0::", root, "cpu.max", ""},
                                        {":cpu,cpuacct:", v1, "cpu.cfs_quota_us", "cpu.cfs_period_us"},
                                        {":cpu:", v1, "cpu.cfs_quota_us", "cpu.cfs_period_us"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) look_at_groups(list, &kinds[i], limit_by_time, &cores);
    return cores;
}

/* ---- threads ---- */

static void *wait_for(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* OpenMP ends the process where it does not get a thread. So as many are begun first, beside the caller's, and
 * only so many as there can be are asked of it. */
static int threads_there_can_be(int wanted)
{
    pthread_t *thread = malloc((size_t)wanted * sizeof *thread);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int count = 0;
    if (!thread) return 1;
    pthread_mutex_lock(&mutex);
    while (count < wanted - 1 && !pthread_create(&thread[count], NULL, wait_for, &mutex)) count++;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    free(thread);
    return count + 1;
}

/* OpenMP keeps the threads of a team for the next one. */
static void begin_team(int threads)
{
#pragma omp parallel num_threads(threads)
    (void)threads;
}

/* A child of fork has the thread that called it and no other, and OpenMP would wait there for those of its team
 * for ever. So at that moment there is none; parent and child begin another when they need it. */
static void end_team(void)
{
    omp_pause_resource_all(omp_pause_soft);
}

static void survive_fork(void)
{
    pthread_atfork(end_team, NULL, NULL);
}

int lmr_cpu_usual_threads(int of_openmp, int cores, double of_groups, int was_set)
{
    if (was_set || of_openmp != cores) return of_openmp;
    return (int)fmin(fmin(cores, LMR_MOST_USUAL_THREADS), fmax(1, ceil(of_groups)));
}

int lmr_cpu_team(int wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const double of_groups = lmr_cpu_cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
    const int usual = lmr_cpu_usual_threads(omp_get_max_threads(), omp_get_num_procs(), of_groups,
                                            getenv("OMP_NUM_THREADS") != NULL);
    const int threads = threads_there_can_be(wanted > 0 ? wanted : usual);
    pthread_once(&once, survive_fork);
    begin_team(threads);
    return threads;
}

static larmor_status open_cpu(int ordinal LMR_UNUSED, int threads, void **ctx)
{
    LMR_TRY(lmr_cpu_fftw_share_f32());
    LMR_TRY(lmr_cpu_fftw_share_f64());
    LMR_NEW_ZEROS(lmr_cpu, c, 1);
    c->threads = lmr_cpu_team(threads);
    read_name(c->name, sizeof c->name);
    *ctx = c;
    return LARMOR_OK;
}

static void close_cpu(void *ctx)
{
    free(ctx);
}

static const char *describe(void *ctx)
{
    return ((lmr_cpu *)ctx)->name;
}

static int threads_of(void *ctx)
{
    return ((lmr_cpu *)ctx)->threads;
}

static void limit_to(int64_t limit, int64_t used, int64_t *available, int64_t *total)
{
    if (limit <= 0 || used < 0) return;
    if (limit < *total) *total = limit;
    if (limit - used < *available) *available = limit > used ? limit - used : 0;
}

static void limit_by_group(const char *folder, const lmr_cpu_group_kind *kind, void *user)
{
    int64_t *const *memory = user; /* what is available, and all of it */
    limit_to(number_of_group(folder, kind->most), number_of_group(folder, kind->now), memory[0], memory[1]);
}

static void limit_by_groups(int64_t *available, int64_t *total)
{
    static const lmr_cpu_group_kind kinds[] = {
        {"0::", "/sys/fs/cgroup", "memory.max", "memory.current"},
        {"memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}};
    int64_t *memory[2] = {available, total};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        look_at_groups("/proc/self/cgroup", &kinds[i], limit_by_group, memory);
}

/* ulimit -v */
static void limit_by_addresses(int64_t *available, int64_t *total)
{
    struct rlimit limit;
    const int64_t pages = number_in("/proc/self/statm", ""), page = sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX) return;
    limit_to((int64_t)limit.rlim_cur, pages * page, available, total);
}

/* What can be had without swapping: the kernel's estimate, or less where a limit is set on the process. */
static larmor_status memory(void *ctx LMR_UNUSED, int64_t *available, int64_t *total)
{
    const int64_t total_kib = number_in("/proc/meminfo", "MemTotal:"),
                  free_kib = number_in("/proc/meminfo", "MemAvailable:");
    *total = total_kib > 0 ? total_kib * 1024 : 0;
    *available = free_kib > 0 ? free_kib * 1024 : 0;
    limit_by_groups(available, total);
    limit_by_addresses(available, total);
    return LARMOR_OK;
}

enum { ALIGNMENT = 64 };

void lmr_cpu_large_pages(void *region, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)1 << 21, first = ((uintptr_t)region + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)region + bytes) / page * page;
    if (region && first < end) madvise((char *)region + (first - (uintptr_t)region), end - first, MADV_HUGEPAGE);
#else
    (void)region;
    (void)bytes;
#endif
}

/* calloc, so that large arrays get the kernel's zero pages at no cost; the region's own address is kept before it. */
static larmor_status allocate(void *ctx LMR_UNUSED, size_t bytes, void **ptr)
{
    *ptr = NULL;
    LMR_REFUSE(bytes > SIZE_MAX / 2, LARMOR_ERR_MEMORY, "out of host memory: %zu bytes asked for", bytes);
    char *region = calloc(1, bytes + ALIGNMENT + sizeof(void *));
    LMR_REFUSE(!region, LARMOR_ERR_MEMORY, "out of host memory: %zu bytes asked for", bytes);
    lmr_cpu_large_pages(region, bytes);
    char *start = region + sizeof(void *);
    start += (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    memcpy(start - sizeof(void *), &region, sizeof(void *));
    *ptr = start;
    return LARMOR_OK;
}

static void release(void *ctx LMR_UNUSED, void *ptr)
{
    if (!ptr) return;
    void *region;
    memcpy(&region, (char *)ptr - sizeof(void *), sizeof region);
    free(region);
}

/* A piece is worth a thread from about so many bytes on: to copy it takes 10 us, to begin a loop 5. */
#define PIECE ((size_t)128 << 10)
#define LEAST_TOUCHED ((size_t)4 << 20) /* less memory gets its pages from whoever writes to it */

static int pieces_of(size_t bytes, int threads)
{
    const size_t pieces = bytes / PIECE;
    return pieces < (size_t)threads ? (int)pieces : threads;
}

void lmr_cpu_touch(void *region, size_t bytes, int threads)
{
    enum { PAGE = 4096 };
    const int64_t pages = (int64_t)(bytes / PAGE);
    lmr_cpu_large_pages(region, bytes);
    if (threads < 2 || bytes < LEAST_TOUCHED) return;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < pages; i++) ((volatile char *)region)[i * PAGE] = 0;
}

static larmor_status zero(void *ctx, void *ptr, size_t bytes)
{
    const int threads = ((const lmr_cpu *)ctx)->threads, pieces = pieces_of(bytes, threads);
    if (pieces < 2) {
        if (bytes) memset(ptr, 0, bytes);
        return LARMOR_OK;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < pieces; i++) {
        const size_t first = bytes / (size_t)pieces * (size_t)i;
        memset((char *)ptr + first, 0, i + 1 < pieces ? bytes / (size_t)pieces : bytes - first);
    }
    return LARMOR_OK;
}

static int overlap(const char *a, const char *b, size_t bytes)
{
    return (uintptr_t)a < (uintptr_t)b + bytes && (uintptr_t)b < (uintptr_t)a + bytes;
}

/* Of new memory the pages are cleared by the threads that write to them first. */
static larmor_status copy(void *ctx, lmr_copy_dir dir LMR_UNUSED, void *dst, const void *src, size_t bytes)
{
    const int threads = ((const lmr_cpu *)ctx)->threads;
    const int pieces = overlap(dst, src, bytes) ? 1 : pieces_of(bytes, threads);
    if (pieces < 2) {
        if (bytes) memmove(dst, src, bytes);
        return LARMOR_OK;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < pieces; i++) {
        const size_t first = bytes / (size_t)pieces * (size_t)i;
        memcpy((char *)dst + first, (const char *)src + first,
               i + 1 < pieces ? bytes / (size_t)pieces : bytes - first);
    }
    return LARMOR_OK;
}

static larmor_status copy_rows(void *ctx, void *dst, size_t dst_step, const void *src, size_t src_step, size_t width,
                               int64_t rows)
{
    const int threads = ((const lmr_cpu *)ctx)->threads;
    const int pieces = rows > 0 ? pieces_of(width * (size_t)rows, threads) : 1;
#pragma omp parallel for num_threads(threads) schedule(static) if (pieces > 1)
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)dst + (size_t)i * dst_step, (const char *)src + (size_t)i * src_step, width);
    return LARMOR_OK;
}

static larmor_status pass(void *ctx, void *dst, void *from LMR_UNUSED, const void *src, size_t bytes)
{
    return copy(ctx, LMR_ON_DEVICE, dst, src, bytes);
}

static larmor_status sync_cpu(void *ctx LMR_UNUSED)
{
    return LARMOR_OK;
}

const lmr_backend lmr_cpu_backend = {
    .abi = LMR_BACKEND_ABI,
    .name = "cpu",
    .device_count = device_count,
    .open = open_cpu,
    .close = close_cpu,
    .describe = describe,
    .threads = threads_of,
    .memory = memory,
    .alloc = allocate,
    .release = release,
    .zero = zero,
    .copy = copy,
    .copy_rows = copy_rows,
    .pass = pass,
    .sync = sync_cpu,
    .convert = lmr_cpu_convert,
    .fill = lmr_cpu_fill,
    .vec = {&lmr_cpu_vec_f32, &lmr_cpu_vec_f64},
    .fft = {&lmr_cpu_fft_f32, &lmr_cpu_fft_f64},
    .conv = {&lmr_cpu_conv_f32, &lmr_cpu_conv_f64},
    .la = {&lmr_cpu_la_f32, &lmr_cpu_la_f64},
    .mark = &lmr_cpu_mark,
};
