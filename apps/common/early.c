/* What has to be done before the constructors of libraries run: OpenBLAS asks for memory and threads in one, and
 * asks for ever where it gets no memory. An executable's .preinit_array comes before them; where there is none,
 * main is what is left. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "common.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define BLAS_THREADS "OPENBLAS_NUM_THREADS="
#define FEW_PROCESSES 4096 /* a limit below it is one that someone has set */
#define PATIENCE 1         /* second of processor time; libraries load in a hundredth of it */

static int is_below(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit limit;
    return !getrlimit(what, &limit) && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < most;
}

static int is_memory_limited(void)
{
    return is_below(RLIMIT_AS, RLIM_INFINITY) || is_below(RLIMIT_DATA, RLIM_INFINITY);
}

/* The environment with one thread for OpenBLAS; NULL if it has that, or there is no memory. */
static char **with_one_thread(char **environment)
{
    static char one[] = BLAS_THREADS "1";
    size_t count = 0, kept = 0;
    for (; environment[count]; count++)
        if (!strcmp(environment[count], one)) return NULL;
    char **changed = calloc(count + 2, sizeof *changed);
    for (size_t i = 0; i < count && changed; i++)
        if (strncmp(environment[i], BLAS_THREADS, strlen(BLAS_THREADS)) != 0) changed[kept++] = environment[i];
    if (changed) changed[kept] = one;
    return changed;
}

void app_start_anew(char **argv, char **environment)
{
    char self[4096]; /* the name, not the link: under valgrind that one is valgrind itself */
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return;
    self[length] = 0;
    execve(self, argv, environment);
}

void app_wait_for_no_memory(char **argv, char **environment)
{
    if (!is_memory_limited() && !is_below(RLIMIT_NPROC, FEW_PROCESSES)) return;
    APP_HEAP char **changed = with_one_thread(environment);
    if (!changed) return;
    app_start_anew(argv, changed);
}

/* ---- a library that asks for ever ---- */

static void wait_for(long seconds)
{
    const struct itimerval once = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &once, NULL);
}

void app_libraries_are_loaded(void)
{
    if (!is_memory_limited()) return;
    wait_for(0);
    signal(SIGPROF, SIG_DFL);
}

/* Sanitizers are not begun yet when this runs. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(IS_SANITIZED)

static void give_up(int number APP_UNUSED)
{
    static const char text[] = ": out of host memory: a library that is loaded gets none, by 'ulimit -v' or '-d'.\n";
    const ssize_t named = write(STDERR_FILENO, app_self.name, strlen(app_self.name));
    const ssize_t said = named < 0 ? named : write(STDERR_FILENO, text, sizeof text - 1);
    _exit(said < 0 ? APP_FAILED : APP_LACKING);
}

static void before_libraries(int argc APP_UNUSED, char **argv, char **environment)
{
    app_wait_for_no_memory(argv, environment);
    if (!is_memory_limited()) return;
    signal(SIGPROF, give_up);
    wait_for(PATIENCE);
}

typedef void (*early)(int argc, char **argv, char **environment);
static const early first __attribute__((section(".preinit_array"), used)) = before_libraries;

#endif
