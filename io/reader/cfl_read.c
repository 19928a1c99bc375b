/* BART's two files: X.cfl holds complex floats, dim[0] fastest, X.hdr their sizes as text. SPDX-License-Identifier:
 * Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "core/core.h"
#include "io/reader/parsers.h"

#define DIMS 16
#define MAX_HEADER 65536

/* The numbers of the line after "# Dimensions". */
static larmor_status parse_dims(const char *path, const char *text, int *count, int64_t dims[DIMS])
{
    const char *p = strstr(text, "# Dimensions\n");
    if (!p) p = strstr(text, "# Dimensions\r\n");
    LMR_REFUSE(!p, LARMOR_ERR_FORMAT, "%s: no line \"# Dimensions\".", path);
    p = strchr(p, '\n') + 1;
    for (*count = 0;; ++*count) {
        while (*p == ' ' || *p == '\t' || *p == '\r') p++;
        if (!*p || *p == '\n') break;
        char *end;
        errno = 0;
        const long long size = strtoll(p, &end, 10);
        const int length = (int)strcspn(p, " \t\r\n");
        LMR_REFUSE(end != p + length || errno || size < 1, LARMOR_ERR_FORMAT,
                   "%s: dimension %d is \"%s\"; a number of 1 or more expected.", path, *count,
                   lmr_printable(p, length, 32).s);
        LMR_REFUSE(*count == DIMS, LARMOR_ERR_FORMAT, "%s: more than %d dimensions.", path, DIMS);
        dims[*count] = size;
        p = end;
    }
    return *count ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no dimensions.", path);
}

static larmor_status read_header(const lmr_input *input, int *count, int64_t dims[DIMS], int64_t *bytes)
{
    const lmr_source *header = input->second;
    LMR_REFUSE(!header, LARMOR_ERR_ARG, "%s: its .hdr is missing.", input->source.path);
    LMR_REFUSE(header->size > MAX_HEADER, LARMOR_ERR_FORMAT, "%s: larger than 65536 bytes, no header of a .cfl file.",
               header->path);
    LMR_HEAP LMR_NEW_ZEROS(char, text, (size_t)header->size + 1);
    LMR_TRY(lmr_source_read(header, 0, text, (size_t)header->size));
    LMR_TRY(parse_dims(header->path, text, count, dims));
    *bytes = 2 * sizeof(float);
    for (int d = 0; d < *count; d++)
        LMR_REFUSE(!lmr_mul(*bytes, dims[d], bytes), LARMOR_ERR_FORMAT,
                   "%s: the product of the dimensions passes 2^63.", header->path);
    LMR_REFUSE(*bytes != input->source.size, LARMOR_ERR_FORMAT, "%s: %" PRId64 " bytes, header says %" PRId64 ".",
               input->source.path, input->source.size, *bytes);
    return LARMOR_OK;
}

static larmor_status read_array(const lmr_input *input, lmr_reader_array *array)
{
    int count = 0;
    int64_t dims[DIMS], bytes;
    LMR_TRY(read_header(input, &count, dims, &bytes));
    *array = (lmr_reader_array){.dtype = LARMOR_C64, .axes = count, .bytes = bytes, .in_file = LMR_IN_ONE};
    for (int d = 0; d < count; d++) array->dim[d] = dims[d];
    return LARMOR_OK;
}

static larmor_status read_meta(const lmr_input *input, larmor_image_meta *meta)
{
    int count = 0;
    int64_t dims[DIMS], bytes;
    LMR_TRY(read_header(input, &count, dims, &bytes));
    for (int d = 0; d < 3 && d < count; d++) meta->fov_mm[d] = (double)dims[d];
    return LARMOR_OK;
}

const lmr_parser lmr_parser_cfl = {.suffix = ".cfl", .read = read_array, .read_meta = read_meta};
