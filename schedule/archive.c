/* Numbers and arrays to and from a checkpoint. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/archive.h"

#include "core/core.h"

larmor_status lmr_archive_damaged(const lmr_archive *a, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "opts.checkpoint %s: damaged (%s). Delete it to start again.",
                    lmr_checkpoint_name(a->place), what);
}

larmor_status lmr_archive_bytes(lmr_archive *a, void *x, size_t bytes)
{
    const int64_t first = a->at;
    if (a->way == LMR_GET && (int64_t)bytes > a->end - first) return lmr_archive_damaged(a, "it is cut short");
    a->at += (int64_t)bytes;
    if (a->way == LMR_COUNT) return LARMOR_OK;
    return a->way == LMR_PUT ? lmr_checkpoint_put(a->place, x, bytes) : lmr_checkpoint_get(a->place, first, x, bytes);
}

static larmor_status long_within(lmr_archive *a, int64_t *x, int64_t low, int64_t high)
{
    LMR_TRY(lmr_archive_bytes(a, x, sizeof *x));
    return a->way != LMR_GET || (*x >= low && *x <= high) ? LARMOR_OK
                                                          : lmr_archive_damaged(a, "a number is out of range");
}

larmor_status lmr_archive_integer(lmr_archive *a, int *x, int low, int high)
{
    int64_t wide = *x;
    LMR_TRY(long_within(a, &wide, low, high));
    *x = (int)wide;
    return LARMOR_OK;
}

larmor_status lmr_archive_number(lmr_archive *a, double *x)
{
    return lmr_archive_bytes(a, x, sizeof *x);
}

larmor_status lmr_archive_text(lmr_archive *a, char *text, size_t room)
{
    LMR_TRY(lmr_archive_bytes(a, text, room));
    return memchr(text, 0, room) ? LARMOR_OK : lmr_archive_damaged(a, "a text has no end");
}

/* ---- arrays ---- */

enum { AT_A_TIME = 1 << 20 }; /* elements that pass through the host's memory */

typedef larmor_status (*use_part)(void *user, larmor_array *part, void *host, size_t bytes);

static larmor_status use(larmor_array *line, int64_t first, int64_t count, void *host, use_part part, void *user)
{
    LMR_OWN(larmor_array, some, larmor_array_slice(line, first, count, &some));
    return part(user, some, host, larmor_array_bytes(some));
}

static larmor_status in_parts(const larmor_array *x, use_part part, void *user)
{
    const int64_t count = larmor_array_count(x);
    LMR_HEAP void *host = malloc(AT_A_TIME * larmor_dtype_size(larmor_array_dtype(x)));
    if (!host) return LMR_NO_MEMORY();
    LMR_OWN(larmor_array, line, larmor_array_reshape(x, LARMOR_SHAPE(count), &line));
    for (int64_t i = 0; i < count; i += AT_A_TIME)
        LMR_TRY(use(line, i, count - i < AT_A_TIME ? count - i : AT_A_TIME, host, part, user));
    return LARMOR_OK;
}

static larmor_status move_part(void *user, larmor_array *part, void *host, size_t bytes)
{
    lmr_archive *a = user;
    if (a->way == LMR_PUT) LMR_TRY(larmor_array_read(part, host, bytes));
    LMR_TRY(lmr_archive_bytes(a, host, bytes));
    return a->way == LMR_GET ? larmor_array_write(part, host, bytes) : LARMOR_OK;
}

larmor_status lmr_archive_array(lmr_archive *a, larmor_array *x)
{
    const larmor_shape shape = larmor_array_shape(x);
    int dtype = (int)larmor_array_dtype(x), ndim = shape.ndim;
    LMR_TRY(lmr_archive_integer(a, &dtype, dtype, dtype));
    LMR_TRY(lmr_archive_integer(a, &ndim, ndim, ndim));
    for (int d = 0; d < shape.ndim; d++) {
        int64_t side = shape.dim[d];
        LMR_TRY(long_within(a, &side, side, side));
    }
    if (a->way != LMR_COUNT) return in_parts(x, move_part, a);
    a->at += (int64_t)larmor_array_bytes(x);
    return LARMOR_OK;
}

static larmor_status hash_part(void *user, larmor_array *part, void *host, size_t bytes)
{
    uint64_t *hash = user;
    LMR_TRY(larmor_array_read(part, host, bytes));
    *hash = lmr_hash(*hash, host, bytes);
    return LARMOR_OK;
}

larmor_status lmr_hash_array(const larmor_array *x, uint64_t *hash)
{
    const larmor_shape shape = larmor_array_shape(x);
    const int64_t kind[] = {x != NULL, x ? (int64_t)larmor_array_dtype(x) : 0};
    *hash = lmr_hash(*hash, kind, sizeof kind);
    if (!x) return LARMOR_OK;
    *hash = lmr_hash(*hash, shape.dim, (size_t)shape.ndim * sizeof *shape.dim);
    return in_parts(x, hash_part, hash);
}
