/* Signals, and libraries that end the program. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "via.h"

/* From a signal to the end of the program, unless a result is kept; and between tries, if outputs get their names. */
static const struct timespec grace = {.tv_nsec = 500000000}, moment = {.tv_nsec = 5000000};

static atomic_int caught, again; /* the first signal; 1: there was a second */
static atomic_int kept;          /* 1: there is a result that Ctrl-C waits for */
static timer_t timer;
static int has_timer, on_terminal;

/* All that follows is safe in a handler of signals. */

static void write_text(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static int waits_for_result(void)
{
    return atomic_load(&caught) == SIGINT && atomic_load(&kept) && !atomic_load(&again);
}

static void wake_after(struct timespec delay)
{
    if (has_timer) timer_settime(timer, 0, &(struct itimerspec){.it_value = delay}, NULL);
}

static void leave(void)
{
    if (larmor_outputs_abandon() || !has_timer) _exit(app_answer(app_stopped()));
    wake_after(moment);
}

static void run_out(int number APP_UNUSED)
{
    const int error = errno;
    if (!waits_for_result()) leave();
    errno = error;
}

/* For what libraries do where they get no memory: they end the program by exit() or abort(). */
static _Noreturn void lack_memory(const char *text)
{
    write_text(app_self.name);
    write_text(text);
    for (int i = 0; i < 100 && !larmor_outputs_abandon(); i++) nanosleep(&moment, NULL);
    _exit(app_answer(APP_LACKING));
}

/* FFTW calls these where an assertion fails, most of all where it gets no memory (kernel/assert.c). Its own print
 * a line and abort; shared libraries take a program's instead. */
#define SHOWN __attribute__((visibility("default")))
SHOWN void fftw_assertion_failed(const char *what, int line, const char *file);
SHOWN void fftwf_assertion_failed(const char *what, int line, const char *file);

void fftw_assertion_failed(const char *what, int line APP_UNUSED, const char *file)
{
    if (larmor_fftw_runs()) lack_memory(": out of host memory: FFTW got none.\n");
    write_text(file);
    write_text(": assertion failed in FFTW: ");
    write_text(what);
    write_text("\n");
    abort();
}

void fftwf_assertion_failed(const char *what, int line, const char *file)
{
    fftw_assertion_failed(what, line, file);
}

/* A static FFTW, or another one, has no such functions. */
static void aborted(int number)
{
    if (larmor_fftw_runs()) lack_memory(": out of host memory: FFTW got none.\n");
    signal(number, SIG_DFL);
    raise(number);
}

/* The echoed ^C and the line of progress are written over. */
static void remember(int number)
{
    const int error = errno;
    int none = 0;
    if (atomic_compare_exchange_strong(&caught, &none, number)) {
        if (on_terminal) write_text("\r\033[K");
        write_text(waits_for_result() ? "stopping after this step; again to end now\n" : "stopping\n");
        if (has_timer)
            wake_after(grace);
        else if (!waits_for_result())
            leave();
    } else {
        atomic_store(&caught, number);
        atomic_store(&again, 1);
        leave();
    }
    errno = error;
}

/* ---- the limit on processor time ---- */

/* What the end takes of it, and what each core uses meanwhile. The system gives no warning where both limits are
 * the same, as after ulimit -t. */
static const double time_to_end = 0.2, time_of_core = 0.05;

/* In the middle of anything, and at once. */
static void use_up_time(int number APP_UNUSED)
{
    static atomic_flag once = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&once)) return;
    write_text(app_self.name);
    write_text(": the processor time that is allowed is used up; 'ulimit -t' sets it.\n");
    for (int i = 0; i < 100 && !larmor_outputs_abandon(); i++) nanosleep(&moment, NULL);
    _exit(app_answer(APP_LACKING));
}

static void watch_time(void)
{
    struct rlimit limit;
    struct sigaction action = {.sa_handler = use_up_time};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
    timer_t spent;
    if (getrlimit(RLIMIT_CPU, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    sigfillset(&action.sa_mask);
    sigaction(SIGXCPU, &action, NULL);
    const double margin = time_to_end + time_of_core * (double)sysconf(_SC_NPROCESSORS_ONLN);
    double end = (double)limit.rlim_cur - margin;
    if (end < 0.1) end = 0.1;
    const struct itimerspec at = {.it_value = {(time_t)end, (long)(1e9 * (end - (double)(time_t)end))}};
    if (!timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &spent)) timer_settime(spent, TIMER_ABSTIME, &at, NULL);
}

/* ---- */

static int ending;

/* OpenMP does so where it gets no thread or no memory. */
static void exited(void)
{
    if (!ending) lack_memory(": out of host memory or threads: a library has ended the program.\n");
}

/* The result that is kept is finished and written first. */
static int is_stopped(void *user APP_UNUSED)
{
    return !waits_for_result() && app_stopped();
}

void app_ignore_signals_of_writes(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void app_catch_signals(void)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART}, before;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    on_terminal = isatty(STDERR_FILENO);
    has_timer = !timer_create(CLOCK_MONOTONIC, &event, &timer);
    larmor_stop_when(is_stopped, NULL);
    sigfillset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
    action.sa_handler = run_out;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = aborted;
    sigaction(SIGABRT, &action, NULL);
    watch_time();
    atexit(exited);
}

static int last_code;

static void end_at_once(int number APP_UNUSED)
{
    _exit(last_code);
}

int app_end_signals(int code)
{
    static const struct timespec patience = {.tv_sec = 10};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGXCPU};
    last_code = code ? code : app_stopped();
    ending = 1;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], end_at_once);
    wake_after(patience);
    return last_code;
}

void app_keep_result(int there_is_one)
{
    atomic_store(&kept, there_is_one);
}

int app_stopped(void)
{
    const int number = atomic_load(&caught);
    return number ? 128 + number : 0;
}
