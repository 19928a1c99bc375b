/* NumPy arrays, format versions 1 to 3. dim[0] is NumPy's axis 0, whatever the order of the elements in the file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "core/core.h"
#include "io/reader/parsers.h"

#define MAX_HEADER 65536
#define MAX_AXES LMR_READER_AXES

/* What single precision does not hold becomes double; what NumPy calls f16 is a long double. */
static const struct {
    const char *name;
    larmor_dtype dtype;
    int converted; /* 1: this library has no such numbers */
} types[] = {{"f4", LARMOR_F32, 0}, {"f8", LARMOR_F64, 0}, {"c8", LARMOR_C64, 0}, {"c16", LARMOR_C128, 0},
             {"i8", LARMOR_I64, 0}, {"b1", LARMOR_F32, 1}, {"i1", LARMOR_F32, 1}, {"u1", LARMOR_F32, 1},
             {"i2", LARMOR_F32, 1}, {"u2", LARMOR_F32, 1}, {"f2", LARMOR_F32, 1}, {"i4", LARMOR_F64, 1},
             {"u4", LARMOR_F64, 1}, {"u8", LARMOR_F64, 1}};
#define TYPES (sizeof types / sizeof types[0])

typedef struct npy {
    larmor_dtype dtype;
    char kind;            /* of NumPy: b, i, u, f or c */
    int size, part;       /* bytes of an element, and of its real or imaginary part */
    int converted, swaps; /* 1: the elements are not these of dtype; the bytes of a part are in the other order */
    int fortran, axes;
    int64_t dim[MAX_AXES]; /* NumPy's axis 0 first */
    int64_t data, bytes;   /* where and how many */
} npy;

static larmor_status damaged(const lmr_source *source, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s.", source->path, what);
}

/* What follows 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *dict, const char *key)
{
    const char *p = strstr(dict, key);
    if (!p) return NULL;
    p += strlen(key);
    while (*p == ' ') p++;
    if (*p++ != ':') return NULL;
    while (*p == ' ') p++;
    return p;
}

static larmor_status parse_shape(const lmr_source *source, const char *p, npy *file)
{
    if (!p || *p++ != '(') return damaged(source, "NumPy header without a shape");
    while (1) {
        while (*p == ' ') p++;
        if (*p == ')') break;
        char *end;
        errno = 0;
        const long long size = strtoll(p, &end, 10);
        if (end == p || errno || size < 1)
            return damaged(source, "NumPy header: shape has a size that is not a positive number");
        if (file->axes == MAX_AXES) return damaged(source, "NumPy header: more than 32 axes");
        file->dim[file->axes++] = size;
        p = end;
        while (*p == ' ') p++;
        if (*p == ',')
            p++;
        else if (*p != ')')
            return damaged(source, "NumPy header: shape is damaged");
    }
    if (!file->axes) file->dim[file->axes++] = 1; /* a number has no axes */
    return LARMOR_OK;
}

static larmor_status parse_dictionary(const lmr_source *source, const char *dict, npy *file)
{
    const char *descr = value_of(dict, "'descr'"), *order = value_of(dict, "'fortran_order'");
    if (!descr || *descr++ != '\'') return damaged(source, "NumPy header without a simple type");
    const char *quote = strchr(descr, '\'');
    const size_t length = quote && strchr("<>|", *descr) ? (size_t)(quote - descr) - 1 : 0;
    size_t t = 0;
    while (t < TYPES && !(length == strlen(types[t].name) && !strncmp(descr + 1, types[t].name, length))) t++;
    LMR_REFUSE(t == TYPES, LARMOR_ERR_FORMAT,
               "%s: type '%.*s'; bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128 "
               "expected.",
               source->path, quote && quote - descr < 16 ? (int)(quote - descr) : 0, descr);
    file->dtype = types[t].dtype;
    file->kind = types[t].name[0];
    file->size = atoi(types[t].name + 1);
    file->part = file->kind == 'c' ? file->size / 2 : file->size;
    file->swaps = *descr == '>' && file->part > 1;
    file->converted = types[t].converted;
    if (order && !strncmp(order, "True", 4))
        file->fortran = 1;
    else if (!order || strncmp(order, "False", 5))
        return damaged(source, "NumPy header without an order");
    return parse_shape(source, value_of(dict, "'shape'"), file);
}

static larmor_status check_size(const lmr_source *source, npy *file)
{
    file->bytes = file->size;
    for (int d = 0; d < file->axes; d++)
        if (!lmr_mul(file->bytes, file->dim[d], &file->bytes))
            return damaged(source, "NumPy header: the product of the shape passes 2^63");
    LMR_REFUSE(file->bytes != source->size - file->data, LARMOR_ERR_FORMAT,
               "%s: %" PRId64 " bytes of data, header says %" PRId64 ".", source->path, source->size - file->data,
               file->bytes);
    return LARMOR_OK;
}

static larmor_status read_header(const lmr_source *source, npy *file)
{
    *file = (npy){0};
    unsigned char start[12];
    if (source->size < 16) return damaged(source, "too short for a NumPy file");
    LMR_TRY(lmr_source_read(source, 0, start, sizeof start));
    if (memcmp(start, "\x93NUMPY", 6)) return damaged(source, "not a NumPy file");
    if (start[6] < 1 || start[6] > 3) return damaged(source, "NumPy format version unknown");
    const int64_t at = start[6] > 1 ? 12 : 10;
    const int64_t length = (int64_t)lmr_little_endian(start + 8, (int)at - 8);
    if (length > MAX_HEADER || length > source->size - at) return damaged(source, "NumPy header longer than allowed");
    LMR_HEAP LMR_NEW_ZEROS(char, dict, (size_t)length + 1);
    LMR_TRY(lmr_source_read(source, at, dict, (size_t)length));
    LMR_TRY(parse_dictionary(source, dict, file));
    file->data = at + length;
    return check_size(source, file);
}

/* One half-precision number of IEEE 754: a sign, 5 bits of an exponent, 10 of a fraction. */
static double half_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    if (exponent == 31) value = fraction ? NAN : INFINITY;
    return bits >> 15 ? -value : value;
}

/* Whole and half-precision numbers whose first byte is the lowest, as numbers of dtype; 0 if one cannot be that. */
static int convert(const npy *file, const unsigned char *byte, int64_t count, void *to)
{
    const uint64_t sign = UINT64_C(1) << (8 * file->size - 1);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = lmr_little_endian(byte + i * file->size, file->size);
        double value = (double)bits;
        if (file->kind == 'f')
            value = half_of((uint16_t)bits);
        else if (file->kind == 'i' && bits & sign)
            value = -(double)(sign - (bits - sign));
        else if (value >= 0x1p64 || (uint64_t)value != bits)
            return 0;
        if (file->dtype == LARMOR_F32)
            ((float *)to)[i] = (float)value;
        else
            ((double *)to)[i] = value;
    }
    return 1;
}

static void swap_parts(const npy *file, unsigned char *byte, int64_t bytes)
{
    for (int64_t p = 0; p < bytes; p += file->part)
        for (int64_t i = p, j = p + file->part - 1; i < j; i++, j--) {
            const unsigned char other = byte[i];
            byte[i] = byte[j];
            byte[j] = other;
        }
}

/* Elements that are not in the file as the library has them. */
static larmor_status read_converted(const lmr_input *input, const npy *file, lmr_reader_array *array)
{
    enum { AT_ONCE = 4096 };
    unsigned char byte[AT_ONCE];
    void *room;
    const int64_t element = lmr_element_bytes(file->dtype);
    array->bytes = file->bytes / file->size * element;
    LMR_TRY(input->room(input->user, array->bytes, &room));
    for (int64_t i = 0; i < file->bytes; i += AT_ONCE) {
        const int64_t bytes = file->bytes - i < AT_ONCE ? file->bytes - i : AT_ONCE;
        LMR_TRY(lmr_source_read(&input->source, file->data + i, byte, (size_t)bytes));
        if (file->swaps) swap_parts(file, byte, bytes);
        char *to = (char *)room + i / file->size * element;
        if (!file->converted) memcpy(to, byte, (size_t)bytes);
        LMR_REFUSE(file->converted && !convert(file, byte, bytes / file->size, to), LARMOR_ERR_FORMAT,
                   "%s: has a whole number that double precision does not hold.", input->source.path);
    }
    return LARMOR_OK;
}

static larmor_status read_array(const lmr_input *input, lmr_reader_array *array)
{
    npy file;
    LMR_TRY(read_header(&input->source, &file));
    *array = (lmr_reader_array){.dtype = (int)file.dtype, .axes = file.axes, .bytes = file.bytes};
    array->last_fastest = !file.fortran && file.axes > 1;
    for (int d = 0; d < file.axes; d++) array->dim[d] = file.dim[d];
    if (file.converted || file.swaps) return read_converted(input, &file, array);
    array->in_file = LMR_IN_ONE;
    array->at = file.data;
    return LARMOR_OK;
}

static larmor_status read_meta(const lmr_input *input, larmor_image_meta *meta)
{
    npy file;
    LMR_TRY(read_header(&input->source, &file));
    for (int d = 0; d < 3 && d < file.axes; d++) meta->fov_mm[d] = (double)file.dim[d];
    return LARMOR_OK;
}

const lmr_parser lmr_parser_npy = {.suffix = ".npy", .read = read_array, .read_meta = read_meta};
