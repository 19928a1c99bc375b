/* The parsers of images and arrays, which run in the reader: one of each format by its suffix.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/reader/protocol.h"
#include "io/reader/source.h"

typedef struct lmr_input { /* what a parser has */
    lmr_source source;
    const lmr_source *second; /* a file that belongs to it, or NULL */
    /* Memory for `bytes` of results, undefined; what it returned before is freed. */
    larmor_status (*room)(void *user, int64_t bytes, void **memory);
    void *user;
} lmr_input;

typedef struct lmr_parser {
    const char *suffix;
    /* The elements go to one piece of input->room, or stay in the file. */
    larmor_status (*read)(const lmr_input *input, lmr_reader_array *array);
    larmor_status (*read_meta)(const lmr_input *input, larmor_image_meta *meta);
    /* The larmor_image_meta of each image goes to one piece of input->room. */
    larmor_status (*read_list)(const lmr_input *input, lmr_reader_list *list);
    /* The XML header of the scan goes to one piece of input->room; none is no error. */
    larmor_status (*read_xml)(const lmr_input *input);
    larmor_status (*describe)(const lmr_input *input, larmor_image_info *info);
} lmr_parser; /* a NULL: that is not in the format */

/* NULL if no parser has this suffix. */
const lmr_parser *lmr_parser_of(const char *suffix);

/* Bytes of an element. */
int64_t lmr_element_bytes(larmor_dtype dtype);
