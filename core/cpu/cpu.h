/* What the processor backend's files share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/backend.h"

typedef struct lmr_cpu {
    int threads;
    char name[128];
} lmr_cpu;

extern const lmr_vec lmr_cpu_vec_f32, lmr_cpu_vec_f64;
extern const lmr_fft lmr_cpu_fft_f32, lmr_cpu_fft_f64;
extern const lmr_conv lmr_cpu_conv_f32, lmr_cpu_conv_f64;
extern const lmr_la lmr_cpu_la_f32, lmr_cpu_la_f64;
extern const lmr_mark lmr_cpu_mark;

/* Begins a team of threads for loops on the processor, the usual ones if 0 are wanted: how many there are. */
int lmr_cpu_team(int wanted);

/* Threads that nobody asked for: OpenMP's number where someone has set it, else that of the cores, but at most
 * LMR_MOST_USUAL_THREADS and those of the control groups. On 64 cores 32 threads took 0.47 s for a 2D image and 3.0 s
 * for one in 3D, where 64 took 3.3 and 12 s: a loop waits for its last thread, and loops are some 0.1 ms long
 * (docs/records/performance.md). */
#define LMR_MOST_USUAL_THREADS 32
int lmr_cpu_usual_threads(int of_openmp, int cores, double of_groups, int was_set);

/* Cores whose time the process's control groups allow it, by the list of /proc/self/cgroup and the folder where
 * groups are, of version 2 or 1: what `docker --cpus` and Kubernetes limit, and OpenMP does not know. INFINITY: no
 * limit. */
double lmr_cpu_cores_of_groups(const char *list, const char *root);

/* Threads of a loop over so many pieces: one or all. GCC's OpenMP ends the threads that a smaller team has not, and
 * starts them again for the next loop of all: 300 us for both on 16 cores, where a loop of all begins within 5. */
static inline int lmr_cpu_team_for(int64_t pieces, int threads)
{
    return pieces > 1 ? threads : 1;
}

/* Ask for large pages under a large region that nothing was written to yet: fewer page faults, fewer misses. */
void lmr_cpu_large_pages(void *region, size_t bytes);

/* Touch memory that is new, on several threads if it is large: the kernel clears its pages meanwhile, not under
 * one thread that fills them. */
void lmr_cpu_touch(void *region, size_t bytes, int threads);

/* How many of the wanted threads may call BLAS at the same time, at least 1. Errors: LARMOR_ERR_MEMORY if there is no
 * memory for one. */
larmor_status lmr_cpu_blas_threads(int wanted, int *threads);

/* Let a host program's threads plan FFTs while larmor does: when the first device is opened, and not when the
 * library is loaded, where FFTW would end the program that gives it no memory. Again is fine. Errors:
 * LARMOR_ERR_MEMORY. */
larmor_status lmr_cpu_fftw_share_f32(void);
larmor_status lmr_cpu_fftw_share_f64(void);

/* Around calls of FFTW, so that larmor_fftw_runs knows. */
void lmr_cpu_fftw_enter(void);
void lmr_cpu_fftw_leave(void);

/* Held while FFTW makes or destroys plans. */
void lmr_cpu_fftw_lock(void);
void lmr_cpu_fftw_unlock(void);

/* Around every call of BLAS and LAPACK; who comes when too many threads are inside waits. Inside OpenBLAS uses the
 * calling threads alone. */
void lmr_cpu_blas_enter(void);
void lmr_cpu_blas_leave(void);

/* One FFT of n contiguous numbers by the calling thread alone, from one array to another, both aligned to 64 bytes.
 */
typedef struct lmr_cpu_line {
    larmor_status (*plan)(int64_t n, int sign, void **plan);
    void (*exec)(void *plan, void *in, void *out);
    void (*destroy)(void *plan); /* NULL is fine */
} lmr_cpu_line;
extern const lmr_cpu_line lmr_cpu_line_f32, lmr_cpu_line_f64;

/* The entries convert and fill. */
larmor_status lmr_cpu_convert(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y);
larmor_status lmr_cpu_fill(void *ctx, int64_t n, larmor_dtype type, double value, void *x);
