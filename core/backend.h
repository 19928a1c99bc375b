/* What a device must be able to do: one constant table per backend. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "core/conv_shape.h"
#include "larmor/array.h"

/* Grows by one with every change of a struct below. */
#define LMR_BACKEND_ABI 18

enum { LMR_F32, LMR_F64, LMR_PRECISIONS };
typedef enum lmr_copy_dir { LMR_TO_DEVICE, LMR_TO_HOST, LMR_ON_DEVICE } lmr_copy_dir;

/* Vectors of n complex numbers. Outputs may alias an input only where stated. */
typedef struct lmr_vec {
    /* y <- a x + b y; x may be y; b = 0 ignores what y held, NaN included */
    larmor_status (*axpby)(void *ctx, int64_t n, double a, const void *x, double b, void *y);
    /* the same for complex factors {re, im} */
    larmor_status (*axpby_complex)(void *ctx, int64_t n, const double a[2], const void *x, const double b[2],
                                   void *y);
    /* y <- sum factor[i] x[i] of 1 .. LARMOR_MAX_SUM arrays; y may be one of them */
    larmor_status (*sum)(void *ctx, int64_t n, int count, const double *factor, const void *const *x, void *y);
    /* y[i,r] <- d[i] x[i,r] or conj(d[i]) x[i,r] for all r < rows; y may be x */
    larmor_status (*mul)(void *ctx, int64_t n, int64_t rows, const void *d, const void *x, int conj, void *y);
    /* y[i,c] <- d[i,c] x[i] */
    larmor_status (*expand)(void *ctx, int64_t n, int64_t nc, const void *d, const void *x, void *y);
    /* x[i] <- sum_c conj(d[i,c]) y[i,c], the adjoint of expand */
    larmor_status (*combine)(void *ctx, int64_t n, int64_t nc, const void *d, const void *y, void *x);
    /* out <- sum conj(x[i]) y[i], accumulated in double in an order that does not depend on threads; waits */
    larmor_status (*dot)(void *ctx, int64_t n, const void *x, const void *y, double out[2]);
    /* out <- {sum |x[i]|^2, sum |y[i]|^2, sum |x[i] - y[i]|^2}, accumulated as dot is; waits */
    larmor_status (*distance)(void *ctx, int64_t n, const void *x, const void *y, double out[3]);
    /* y <- a x + y; out <- sum conj(x[i]) y[i] of the new y, accumulated as dot is; waits */
    larmor_status (*add_dot)(void *ctx, int64_t n, double a, const void *x, void *y, double out[2]);
    /* A step of conjugate gradients. before <- x, where it is not NULL; x <- x + a p; r <- r - a q;
     * out <- {sum |x[i]|^2, sum |r[i]|^2, sum |p[i]|^2} of the new ones, accumulated as dot is; waits */
    larmor_status (*advance)(void *ctx, int64_t n, double a, const void *p, const void *q, void *x, void *r,
                             void *before, double out[3]);
    /* y <- |x|, y <- Re x, with imaginary parts 0; y may be x */
    larmor_status (*magnitude)(void *ctx, int64_t n, const void *x, void *y);
    larmor_status (*real_part)(void *ctx, int64_t n, const void *x, void *y);
    /* x <- real and imaginary parts 2 lmr_random_uniform(seed, i) - 1, i counting both */
    larmor_status (*random)(void *ctx, int64_t n, uint64_t seed, void *x);
} lmr_vec;

/* Unscaled complex FFT in place over the first ndim dimensions (dim[0] fastest) of batch contiguous arrays. */
typedef struct lmr_fft {
    larmor_status (*plan)(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **plan);
    larmor_status (*exec)(void *ctx, void *plan, int sign, void *data); /* sign -1 or +1 of the exponent */
    /* As exec, where only the band of the lowest keep[d] (1 .. dim[d]) frequencies of each dimension matters: indices
     * 0 .. keep - keep / 2 - 1 and dim - keep / 2 .. dim - 1. inward 0: data is zero beyond the band, and a processor
     * does not read there; inward 1: only the band's numbers come out, anything elsewhere. */
    larmor_status (*band)(void *ctx, void *plan, int sign, int inward, const int64_t keep[3], void *data);
    void (*destroy)(void *ctx, void *plan); /* NULL is fine */
    /* the most bytes of a plan, without the data */
    double (*bytes)(void *ctx, int ndim, const int64_t dim[3], int64_t batch);
} lmr_fft;

/* A grid, and the modes, which are its FFT's lowest modes[d] frequencies of each dimension, from -modes / 2 on. */
typedef struct lmr_modes_shape {
    int ndim;
    int64_t cells[3], modes[3]; /* of ndim dimensions */
    int64_t batch;              /* most arrays at a time */
    int fft_order;              /* 1: the modes' frequency 0 comes first; 0: -modes / 2 does */
} lmr_modes_shape;

/* FFT of a grid, crop and factors in one, where a device has that. */
typedef struct lmr_modes {
    larmor_status (*plan)(void *ctx, const lmr_modes_shape *shape, void **plan);
    /* modes [modes..., batch] <- their frequencies of the unscaled FFT of cells [cells..., batch], each times
     * factor[d][i] of its frequency i - modes / 2 in every dimension, which are real and on the device; leaves
     * anything in cells */
    larmor_status (*crop)(void *ctx, void *plan, int sign, int64_t batch, const void *const factor[3], void *cells,
                          void *modes);
    /* its transpose: cells <- the FFT of the modes, each times its factors, with zeros around them */
    larmor_status (*pad)(void *ctx, void *plan, int sign, int64_t batch, const void *const factor[3],
                         const void *modes, void *cells);
    void (*destroy)(void *ctx, void *plan); /* NULL is fine */
    /* the most bytes of a plan, without the arrays; -1: the FFT of the whole grid is to be taken for this shape */
    double (*bytes)(void *ctx, const lmr_modes_shape *shape);
} lmr_modes;

/* Circular convolution of small arrays on a larger grid: y_k <- the corner of F^H (sum_l s_kl . F x_l), F the
 * unscaled FFT with sign -1 of x_l [keep...] in the corner of a grid [dim...] of zeros, and s_lk = conj(s_kl), one
 * of several s of a plan. What is zero before a transform or dropped after it costs little. */
typedef struct lmr_conv {
    larmor_status (*plan)(void *ctx, const lmr_conv_shape *shape, void **plan);
    /* plane `plane % planes` of s number `plane / planes` <- scale times the real (part 0) or imaginary (part 1)
     * parts of cells [dim...], complex, frequency 0 first; planes: lmr_conv_planes; cells are not changed */
    larmor_status (*set)(void *ctx, void *plan, int plane, double scale, int part, const void *cells);
    /* with s number `which`; x, y: [keep..., batch, mixed]; y may be x */
    larmor_status (*exec)(void *ctx, void *plan, int which, const void *x, void *y);
    void (*destroy)(void *ctx, void *plan); /* NULL is fine */
    /* the most bytes of a plan, with all s */
    double (*bytes)(void *ctx, const lmr_conv_shape *shape);
    /* y [keep...] <- sum_c conj(m_c) .* conv(m_c .* x), the bits of `expand`, `exec` and `combine` one after the
     * other, with fewer numbers on their way to memory and back; of a plan with nothing mixed, with its first s,
     * for count <= batch. m, room: [keep..., count]; room is overwritten. A device may lack it: NULL */
    larmor_status (*coils)(void *ctx, void *plan, int64_t count, const void *m, const void *x, void *room, void *y);
} lmr_conv;

/* Dense linear algebra, column-major, complex. */
typedef struct lmr_la {
    /* C <- op(A) op(B), C is m x n, k is the inner length; op: 'N', 'T', 'C' */
    larmor_status (*gemm)(void *ctx, char opa, char opb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                          const void *b, int64_t ldb, void *c, int64_t ldc);
    /* batch Hermitian n x n matrices, of which the upper triangle is read: eigenvalues ascending into w [n, batch]
     * (real), eigenvectors into a's columns where vectors is 1, else a is spent; LARMOR_ERR_NUMERIC without
     * convergence; waits */
    larmor_status (*heev)(void *ctx, int64_t n, int64_t batch, int vectors, void *a, void *w);
} lmr_la;

/* Marks in the device's queue of work: each notes the time at which all that was queued before it is done. */
typedef struct lmr_mark {
    larmor_status (*create)(void *ctx, void **mark);
    larmor_status (*put)(void *ctx, void *mark); /* at the queue's end; a second call moves the mark there */
    /* from and to were put in this order; waits for to */
    larmor_status (*seconds)(void *ctx, void *from, void *to, double *seconds);
    void (*destroy)(void *ctx, void *mark); /* NULL is fine */
} lmr_mark;

/* Recording of queued work, and its replay by one call. */
typedef struct lmr_graph {
    larmor_status (*begin)(void *ctx); /* from now on record and do not run; nothing may be allocated or waited for */
    /* *graph is NULL on error; in either case the device no longer records */
    larmor_status (*end)(void *ctx, void **graph);
    larmor_status (*launch)(void *ctx, void *graph);
    void (*destroy)(void *ctx, void *graph); /* waits; NULL is fine */
} lmr_graph;

/* A communicator (of NCCL): messages from memory to memory between devices of several processes. Its library is
 * loaded when it is asked for. */
enum { LMR_COMMUNICATOR_NAME = 128 };
typedef struct lmr_communicator {
    /* a name for a group of processes, which one of them makes for all; NULL: only whether there is such a library */
    larmor_status (*name)(void *ctx, unsigned char name[LMR_COMMUNICATOR_NAME]);
    /* waits until all have called it, each with another device */
    larmor_status (*open)(void *ctx, const unsigned char name[LMR_COMMUNICATOR_NAME], int number, int count,
                          void **communicator);
    /* send[i] to process i and receive[i] from there, for all i whose bytes are not 0; queued, and done once all
     * that take part have called it */
    larmor_status (*exchange)(void *ctx, void *communicator, int count, const void *const *send,
                              const int64_t *send_bytes, void *const *receive, const int64_t *receive_bytes);
    /* 1: what is queued will not be done, because another process did not call it */
    void (*close)(void *ctx, void *communicator, int gives_up);
} lmr_communicator;

typedef struct lmr_backend {
    uint32_t abi; /* first in every version, so that it can be checked */
    const char *name;
    /* -1, with the thread's message, if the driver cannot say */
    int (*device_count)(void);
    /* ordinal: which device; threads: for processors, 0 for all */
    larmor_status (*open)(int ordinal, int threads, void **ctx);
    void (*close)(void *ctx);
    const char *(*describe)(void *ctx);                                /* the hardware's name, while ctx lives */
    int (*threads)(void *ctx);                                         /* 0 where it means nothing */
    larmor_status (*memory)(void *ctx, int64_t *free, int64_t *total); /* bytes */
    larmor_status (*alloc)(void *ctx, size_t bytes, void **ptr);       /* zeroed; 64-byte aligned; bytes may be 0 */
    void (*release)(void *ctx, void *ptr);                             /* NULL is fine */
    /* OK if the device's kernels can access the caller's memory; NULL entry: they can access all host memory */
    larmor_status (*reach)(void *ctx, const void *ptr);
    larmor_status (*zero)(void *ctx, void *ptr, size_t bytes);
    /* waits unless both are on the device */
    larmor_status (*copy)(void *ctx, lmr_copy_dir dir, void *dst, const void *src, size_t bytes);
    /* on the device: so many rows of `width` bytes, each one as many bytes after the one before as `step` says */
    larmor_status (*copy_rows)(void *ctx, void *dst, size_t dst_step, const void *src, size_t src_step, size_t width,
                               int64_t rows);
    /* from the memory of one context's device to that of another's, in the order of both queues: it begins after
     * what is queued on either, and what is queued later on either finds it done */
    larmor_status (*pass)(void *ctx, void *dst, void *from, const void *src, size_t bytes);
    larmor_status (*sync)(void *ctx);
    /* y <- x, n numbers from one type to another, to nearest; what becomes complex gets the imaginary part 0; never
     * from complex to real, nor to whole numbers */
    larmor_status (*convert)(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y);
    larmor_status (*fill)(void *ctx, int64_t n, larmor_dtype type, double value, void *x); /* imaginary parts 0 */
    const lmr_vec *vec[LMR_PRECISIONS];
    const lmr_fft *fft[LMR_PRECISIONS];
    const lmr_modes *modes[LMR_PRECISIONS]; /* NULL: has none */
    const lmr_conv *conv[LMR_PRECISIONS];
    const lmr_la *la[LMR_PRECISIONS];
    const lmr_mark *mark;
    const lmr_graph *graph;               /* NULL: cannot */
    const lmr_communicator *communicator; /* NULL: cannot */
    /* a higher layer's kernels, e.g. "nufft"; NULL if the backend has none. NULL entry: they are linked
     * into the layer */
    const void *(*table)(const char *layer, uint32_t abi, int precision);
    /* queue what comes on the caller's stream, after all that was queued before; NULL: the context's own one again.
     * NULL entry: there are no streams */
    larmor_status (*set_stream)(void *ctx, void *stream);
} lmr_backend;

/* The functions of larmor for a plugin, which imports no symbol. */
typedef struct lmr_host {
    uint32_t abi;
    /* lmr_fail: set the thread's message and return status */
    larmor_status (*fail)(larmor_status status, const char *function, int line, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
} lmr_host;

/* The one symbol of a plugin larmor_<name>.so. It always returns its table, which begins with its abi, a uint32_t
 * that the caller checks before it reads on; the plugin keeps host only if abi is its own. */
typedef const void *lmr_plugin_entry(uint32_t abi, const lmr_host *host);
#define LMR_BACKEND_ENTRY "lmr_backend_entry"

/* The table of the plugin larmor_<name>.so, loaded at the first call; or NULL with the thread's message saying where
 * it was looked for or what is wrong with it. name: "cuda". */
const lmr_backend *lmr_backend_find(const char *name);

/* A plugin larmor_<name>.so, a static object: found or not is settled once per process. */
typedef struct lmr_plugin {
    const char *name, *entry; /* of its one function */
    lmr_host host;            /* host.abi: that its table has to have, too */
    pthread_mutex_t lock;
    int is_settled;
    const void *table;
    char reason[1024]; /* why there is none */
} lmr_plugin;
#define LMR_PLUGIN(name_, entry_, abi_)                                                                              \
    {                                                                                                                \
        .name = name_, .entry = entry_, .host = {abi_, lmr_fail}, .lock = PTHREAD_MUTEX_INITIALIZER                  \
    }

/* The plugin's table, loaded at the first call, which stays loaded; or NULL with the thread's message. */
const void *lmr_plugin_table(lmr_plugin *plugin);

/* 1 if there is a file of such a plugin; it is not looked into. */
int lmr_plugin_is_there(const char *name);

/* The processor's backend, which is always available. */
extern const lmr_backend lmr_cpu_backend;
