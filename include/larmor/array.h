/* Typed, refcounted, contiguous arrays on a device; dim[0] is fastest. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_ARRAY_H
#define LARMOR_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "larmor/device.h"

LARMOR_C_BEGIN

typedef struct larmor_array larmor_array; /* refcounted; one thread at a time */

/* NumPy's names. Whole numbers can be stored, copied and converted. Operators and the algebra take none. */
typedef enum larmor_dtype { LARMOR_F32, LARMOR_F64, LARMOR_C64, LARMOR_C128, LARMOR_I64 } larmor_dtype;

#define LARMOR_MAX_DIMS 8
typedef struct larmor_shape {
    int ndim;
    int64_t dim[LARMOR_MAX_DIMS];
} larmor_shape;

/* LARMOR_SHAPE(256, 256, 8): a compound literal, C only. */
#define LARMOR_SHAPE(...) ((larmor_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})

/* The first ndim of dims as a shape; ndim in 0..LARMOR_MAX_DIMS, else, and where dims is NULL, a shape with ndim
 * 0. */
LARMOR_API larmor_shape larmor_shape_of(int ndim, const int64_t *dims);

/* The shape with one more, last dimension. */
LARMOR_API larmor_shape larmor_shape_append(larmor_shape shape, int64_t last);

/* 1 if both have the same number of dimensions and the same sizes. */
LARMOR_API int larmor_shape_equal(larmor_shape a, larmor_shape b);

/* Product of the dimensions, 1 for ndim 0; -1 if a size is negative or the product passes 2^62. */
LARMOR_API int64_t larmor_shape_count(larmor_shape shape);

/* Bytes of one element: 4, 8, 8, 16, 8. */
LARMOR_API size_t larmor_dtype_size(larmor_dtype dtype);

/* "f32", "f64", "c64", "c128", "i64". */
LARMOR_API const char *larmor_dtype_name(larmor_dtype dtype);

/* A new array of zeros. Sizes of 0 are legal.
 *
 * Errors  LARMOR_ERR_SHAPE for negative sizes, too many dimensions or a product past 2^62; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_array_create(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                             larmor_array **out);

/* An array in the caller's memory, which is neither copied nor cleared: NumPy's, CuPy's, or a program's own.
 *
 * data     on a processor host memory, on a GPU memory that this GPU can access. Aligned to one element. It must stay
 *          until release is called. NULL if the shape holds no element.
 * release  called as release(data, user) when the last array that shares the memory is freed and the device has
 *          done all that was queued, for which larmor_array_free waits. NULL: it does not wait, and the memory
 *          must stay until the device has done what was queued.
 * Errors   LARMOR_ERR_ARG for memory that is NULL, not aligned or not accessible to the device; otherwise those of
 *          larmor_array_create. After an error release is not called. */
LARMOR_API larmor_status larmor_array_wrap(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, void *data,
                                           void (*release)(void *data, void *user), void *user, larmor_array **out);

/* A copy of x on another device; the same device gives x itself with one more reference.
 *
 * Errors  LARMOR_ERR_MEMORY; LARMOR_ERR_BACKEND. */
LARMOR_API larmor_status larmor_array_to(const larmor_array *x, larmor_device *dev, larmor_array **out);

/* A copy of x with another dtype on the same device. Real to complex sets the imaginary part to 0; complex to
 * real, and real or complex to whole numbers, are LARMOR_ERR_ARG. The same dtype gives x itself with one more
 * reference. */
LARMOR_API larmor_status larmor_array_convert(const larmor_array *x, larmor_dtype dtype, larmor_array **out);

/* Views: arrays that share x's storage and keep it alive. Write to one only where x may be written to.
 *
 * slice    indices first .. first+count-1 of the last dimension.
 * reshape  all of x in another shape of the same count.
 * part     the slice, in another shape of the same count.
 * Errors   LARMOR_ERR_SHAPE if the range leaves the array, x has no dimension, or the counts differ. */
LARMOR_API larmor_status larmor_array_slice(const larmor_array *x, int64_t first, int64_t count, larmor_array **out);
LARMOR_API larmor_status larmor_array_reshape(const larmor_array *x, larmor_shape shape, larmor_array **out);
LARMOR_API larmor_status larmor_array_part(const larmor_array *x, int64_t first, int64_t count, larmor_shape shape,
                                           larmor_array **out);

/* One more reference; returns x. Counting references changes nothing that x holds, so x may be const. */
LARMOR_API larmor_array *larmor_array_ref(const larmor_array *x);

/* Give up one reference; NULL is fine. */
LARMOR_API void larmor_array_free(const larmor_array *x);

/* Copy from / to host memory; waits. bytes must equal the array's size, else LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_array_write(larmor_array *x, const void *host, size_t bytes);
LARMOR_API larmor_status larmor_array_read(const larmor_array *x, void *host, size_t bytes);

/* Copy numbers between the host and new memory. Types that differ are converted. Both wait.
 *
 * upload    a new array with the numbers at `host`, which are of type `from`.
 * download  *host becomes x's numbers as type `to` in memory that free() gives back; `host` is the address of a
 *           pointer to such numbers, e.g. of a double * for LARMOR_F64. NULL on error.
 * Errors    those of larmor_array_create, _write, _read and _convert. */
LARMOR_API larmor_status larmor_array_upload(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                             larmor_dtype from, const void *host, larmor_array **out);
LARMOR_API larmor_status larmor_array_download(const larmor_array *x, larmor_dtype to, void *host);

/* Compilers refuse what is no address of a pointer, or warn of it if it is that of an integer. */
#define larmor_array_download(x, to, host)                                                                           \
    larmor_array_download(x, to, ((void)sizeof(*(host) == (void *)0), (void *)(host)))

/* Fails with LARMOR_ERR_NUMERIC if an element is not finite: "NAME: 3 values are not finite, the first at [8, 8,
 * 0]." */
LARMOR_API larmor_status larmor_array_expect_finite(const larmor_array *x, const char *name);

/* What x is; of NULL: no elements, no device. */
LARMOR_API larmor_shape larmor_array_shape(const larmor_array *x);
LARMOR_API int64_t larmor_array_count(const larmor_array *x);
LARMOR_API size_t larmor_array_bytes(const larmor_array *x);
LARMOR_API larmor_dtype larmor_array_dtype(const larmor_array *x);
LARMOR_API larmor_device *larmor_array_device(const larmor_array *x); /* no reference is taken */
LARMOR_API void *larmor_array_data(const larmor_array *x);            /* a device pointer */

/* The algebra. Arrays must agree in dtype, count of elements, shape and device: LARMOR_ERR_SHAPE otherwise. zero,
 * fill and copy take any dtype, the others complex ones; whole numbers are filled with whole numbers. x may be y. */
LARMOR_API larmor_status larmor_zero(larmor_array *x);
LARMOR_API larmor_status larmor_fill(larmor_array *x, double value);          /* all x_i <- value */
LARMOR_API larmor_status larmor_copy(const larmor_array *x, larmor_array *y); /* y <- x */
LARMOR_API larmor_status larmor_axpby(double a, const larmor_array *x, double b,
                                      larmor_array *y); /* y <- a x + b y */
/* y <- sum factor[i] x[i] in one pass over count arrays, 1 to LARMOR_MAX_SUM of them; y may be one of them. */
enum { LARMOR_MAX_SUM = 4 };
LARMOR_API larmor_status larmor_sum(int count, const double *factor, const larmor_array *const *x, larmor_array *y);
/* y <- a x + b y for complex a and b, {re, im} each. */
LARMOR_API larmor_status larmor_axpby_complex(const double a[2], const larmor_array *x, const double b[2],
                                              larmor_array *y);
/* y <- d .* y, or conj(d) .* y; d's shape must equal the leading dimensions of y, and is repeated along the rest. */
LARMOR_API larmor_status larmor_mul(const larmor_array *d, int conj, larmor_array *y);
/* out = {re, im} of sum conj(x_i) y_i, summed in double; waits. */
LARMOR_API larmor_status larmor_dot(const larmor_array *x, const larmor_array *y, double out[2]);
LARMOR_API larmor_status larmor_nrm2(const larmor_array *x, double *out); /* sqrt(sum |x_i|^2); waits */
/* out = {|x|, |y|, |x - y|} in one pass, with the norm of larmor_nrm2; waits. */
LARMOR_API larmor_status larmor_distance(const larmor_array *x, const larmor_array *y, double out[3]);

/* Element by element, for proximal maps and constraints of one's own; x may be y.
 *
 * abs     y_i <- |x_i|, with imaginary part 0.
 * real    y_i <- Re x_i, with imaginary part 0. The projection to non-negative numbers is (real x + abs of it) / 2.
 * The soft threshold is the proximal map of larmor_prox_l1. */
LARMOR_API larmor_status larmor_abs(const larmor_array *x, larmor_array *y);
LARMOR_API larmor_status larmor_real(const larmor_array *x, larmor_array *y);

LARMOR_C_END
#endif
