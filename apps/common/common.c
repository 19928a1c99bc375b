/* Exit codes, signals and devices of the command line. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static char command_line[4096];

static int exit_code(app_phase phase, larmor_status status)
{
    switch (status) {
    case LARMOR_ERR_ARG:
        return APP_USAGE;
    case LARMOR_ERR_MEMORY:
    case LARMOR_ERR_UNSUPPORTED:
        return APP_LACKING;
    case LARMOR_ERR_FORMAT:
        return APP_REFUSED;
    case LARMOR_ERR_EXISTS:
        return APP_EXISTS;
    case LARMOR_ERR_BACKEND:
        return APP_FAILED;
    case LARMOR_STOPPED:
        return app_stopped() ? app_stopped() : APP_FAILED;
    default:
        return phase == APP_INPUT ? APP_REFUSED : APP_FAILED;
    }
}

int app_fail(app_phase phase, larmor_status status)
{
    if (app_leaves_gpu(status)) return APP_AGAIN;
    app_error("%s", status == LARMOR_STOPPED ? "stopped." : larmor_last_error());
    return exit_code(phase, status);
}

int app_fail_in(app_phase phase, larmor_status status, const char *file)
{
    if (app_leaves_gpu(status)) return APP_AGAIN;
    app_error("%s: %s", file, status == LARMOR_STOPPED ? "stopped." : larmor_last_error());
    return exit_code(phase, status);
}

void app_set_command_line(int argc, char **argv)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof command_line; i++) {
        const int wrote = snprintf(command_line + used, sizeof command_line - used, "%s%s", i ? " " : "", argv[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

const char *app_command_line(void)
{
    return command_line;
}

static int cores(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) ? 2 : CPU_COUNT(&mine);
}

#define LEAST_STACK (208 << 10) /* bytes: recon takes 130 KiB, with room */
#define USUAL_STACK (8 << 20)   /* Linux's */

int app_hold_stack(char **argv)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY) return 1;
    if (limit.rlim_cur < USUAL_STACK) {
        limit.rlim_cur = limit.rlim_max < USUAL_STACK ? limit.rlim_max : USUAL_STACK;
        setrlimit(RLIMIT_STACK, &limit);
        getrlimit(RLIMIT_STACK, &limit);
    }
    /* arguments and environment lie on it, above this frame */
    const char *last = (const char *)&limit;
    for (char *const *word = argv; *word; word++) last = *word > last ? *word : last;
    for (char *const *word = environ; *word; word++) last = *word > last ? *word : last;
    const rlim_t used = (rlim_t)(last + strlen(last) - (const char *)&limit);
    if (limit.rlim_cur >= used + LEAST_STACK) return 1;
    app_error("a stack of %lld KiB is too small, %lld KiB are needed; raise it by 'ulimit -s 8192'.",
              (long long)(limit.rlim_cur >> 10), (long long)((used + LEAST_STACK + 1023) >> 10));
    return 0;
}

/* 1 if at most an eighth as many threads as there are cores, this one included, run on the machine. */
static int is_alone(void)
{
    int running = cores();
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%*f %*f %*f %d/", &running) != 1) running = cores();
    if (f) fclose(f);
    return running - 1 <= cores() / 8;
}

/* OpenBLAS takes kernels without AVX for processors that are newer than itself (driver/others/dynamic.c), 2 to 5
 * times slower than the newest ones that such a processor has the instructions of. */
static void choose_blas_kernels(void)
{
#if defined(__x86_64__)
    const char *(*name)(void);
    *(void **)&name = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    if (!name || strcmp(name(), "Prescott") || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    const int has_512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
    setenv("OPENBLAS_CORETYPE", has_512 ? "SkylakeX" : "Haswell", 0);
#endif
}

/* GNU's threads look a tenth of a millisecond long for new work before they sleep, as waking them takes as long; or
 * ten times that where nobody else wants the cores (docs/records/performance.md). */
void app_sleep_when_idle(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME") || cores() == 1) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1) || setenv("OPENBLAS_THREAD_TIMEOUT", "4", 0)) return;
    if (setenv("GOMP_SPINCOUNT", is_alone() ? "30000" : "3000", 1)) return;
    /* larmor shares the work among threads itself, and each thread of OpenBLAS takes 128 MiB of addresses */
    if (setenv("OPENBLAS_NUM_THREADS", "1", 0)) return;
    choose_blas_kernels();
    app_start_anew(argv, environ);
}

int app_is_device(const char *text)
{
    enum { MOST_THREADS = 4096, MOST_NUMBER = 1023 };
    if (!strcmp(text, "auto") || !strcmp(text, "cuda:all") || !strcmp(text, "cpu+cuda") || !strcmp(text, "cuda+cpu"))
        return 1;
    int kind = 0; /* the letter after the first of "cpu" and "cuda" */
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        const int is_cpu = !strncmp(p, "cpu", 3), is_cuda = !strncmp(p, "cuda", 4);
        const size_t name = 3 * (size_t)is_cpu + 4 * (size_t)is_cuda;
        if (name) kind = (unsigned char)p[1];
        p += name;
        if (name && (!*p || *p == ',')) continue;
        p += name && *p == ':';
        const size_t digits = strspn(p, "0123456789");
        if (!kind || !digits || digits > 4 || (name && p[-1] != ':') || (p[digits] && p[digits] != ',')) return 0;
        const long number = strtol(p, NULL, 10);
        if (kind == 'p' ? number < 1 || number > MOST_THREADS : number > MOST_NUMBER) return 0;
        p += digits;
    }
    return 1;
}

larmor_status app_open_device(const char *device, int64_t threads, larmor_device **dev)
{
    const larmor_status st = app_open_devices(device, threads, dev);
    if (st || !larmor_device_members(*dev)) return st;
    larmor_device_free(*dev);
    *dev = NULL;
    return larmor_fail(LARMOR_ERR_ARG, "--device: this command computes on one device; recon takes several");
}

const char *app_device_name(const char *device, int64_t threads, char own[32])
{
    if (!device) device = getenv("LARMOR_DEVICE");
    if (!device || !*device) device = "auto";
    device = app_device_left(device);
    const char *asked = getenv("LARMOR_THREADS");
    if (!threads && asked) threads = strtoll(asked, NULL, 10);
    if (threads <= 0 || (strcmp(device, "auto") && strcmp(device, "cpu"))) return device;
    const int64_t most = 16 + 4 * (int64_t)cores(); /* more take memory and gain nothing */
    if (threads > most)
        app_log("warning: %lld threads asked for, %lld taken: there are %d cores", (long long)threads,
                (long long)most, cores());
    if (threads > most) threads = most;
    snprintf(own, 32, "cpu:%d", (int)threads);
    return own;
}

larmor_status app_open_devices(const char *device, int64_t threads, larmor_device **dev)
{
    char own[32];
    const char *name = app_device_name(device, threads, own);
    app_see_one_gpu(name);
    return larmor_device_open(name, dev);
}

larmor_status app_begin_devices(const char *device, int64_t threads, larmor_opening **opening)
{
    char own[32];
    const char *name = app_device_name(device, threads, own);
    app_see_one_gpu(name);
    return larmor_device_open_begin(name, opening);
}

larmor_status app_use_wisdom(larmor_device *dev, const char *plan, int calibrate, larmor_plan_effort *effort)
{
    larmor_wisdom_report r;
    *effort = LARMOR_PLAN_ESTIMATE;
    if (!plan && !calibrate) return LARMOR_OK;
    if (plan && !strcmp(plan, "measure")) *effort = LARMOR_PLAN_MEASURE;
    if (plan && !strcmp(plan, "exhaustive")) *effort = LARMOR_PLAN_EXHAUSTIVE;
    if (larmor_wisdom_load(dev, NULL, &r)) {
        app_log("warning: %s", larmor_last_error());
    } else {
        app_log("plan: %s, with %d line%s of wisdom for this device", plan ? plan : "estimate", r.used,
                app_s(r.used));
        if (r.corrupt || r.foreign_version)
            app_log("warning: wisdom: %d damaged line%s and %d of another version are left out", r.corrupt,
                    app_s(r.corrupt), r.foreign_version);
    }
    return calibrate ? larmor_nufft_calibrate(dev) : LARMOR_OK;
}

void app_keep_wisdom(larmor_device *dev, const char *plan, int calibrate)
{
    if (!calibrate && (!plan || !strcmp(plan, "estimate"))) return;
    if (larmor_wisdom_save(dev, NULL)) app_log("warning: %s", larmor_last_error());
}

larmor_status app_read_array(const char *path, larmor_device *dev, larmor_array **x)
{
    *x = NULL;
    APP_OWN(larmor_array, read, larmor_image_read(path, dev, &read));
    TRY(larmor_array_expect_finite(read, path));
    *x = read;
    read = NULL;
    return LARMOR_OK;
}

larmor_status app_read_images(const char *path, larmor_device *dev, larmor_image_set *set)
{
    larmor_status st = larmor_images_read(path, dev, set);
    if (!st) st = larmor_array_expect_finite(set->all, path);
    if (st) larmor_images_free(set);
    return st;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int app_has_window(const char *path)
{
    return larmor_format_of(path).is_picture || app_is_dicom(path);
}

int app_is_dicom(const char *path)
{
    const char *name = larmor_format_of(path).name;
    return name && !strcmp(name, "DICOM");
}

int app_is_film(const char *path)
{
    const char *suffix = larmor_format_of(path).suffix;
    return suffix && !strcmp(suffix, ".gif");
}

int app_check_window(const app_list *window)
{
    if (!window->count || window->value[0] < window->value[1]) return APP_DONE;
    return app_refuse(APP_USAGE, "--window %g,%g: the smaller value first expected.", window->value[0],
                      window->value[1]);
}

app_window_text app_describe_window(const char *path, const larmor_image *images, int count, const app_list *window)
{
    app_window_text text = {""};
    double shown[2] = {window->value[0], window->value[1]};
    if (!app_has_window(path) || (!window->count && larmor_image_window(images, count, shown))) return text;
    snprintf(text.s, sizeof text.s, ", black %.3g, white %.3g", shown[0], shown[1]);
    return text;
}

double app_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *app_suffix(const char *path)
{
    const char *dot = strrchr(name_of(path), '.');
    return dot ? dot : "";
}
