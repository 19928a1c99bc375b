/* What a file of images holds, before it is taken apart. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/images/formats.h"
#include "io/reader/protocol.h"

typedef struct lmr_image_list {
    larmor_array *all; /* as larmor_image_read gives it */
    const lmr_format *format;
    int is_real;      /* 1: the file has no imaginary parts, though `all` has */
    int has_geometry; /* 1: the file says where its images lie */
    int axes;
    int64_t dim[LMR_READER_AXES]; /* of the file, those of 1 included: x, y, z, then what images there are */
    larmor_image_meta *meta;
    char *header;  /* of the scan; NULL: none */
    int64_t metas; /* 1, or as many as the last of dim */
} lmr_image_list;

/* Free it with lmr_image_list_free. Errors: those of larmor_image_read. */
larmor_status lmr_image_list_read(const char *path, larmor_device *dev, lmr_image_list *list);
void lmr_image_list_free(lmr_image_list *list);
