/* What encodes DICOM files: the plugin larmor_dicom.so, which alone knows DCMTK.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one with every change of the struct below. */
#define LMR_DICOM_ABI 2

/* Where the bytes of a file go, in their order. */
typedef larmor_status (*lmr_dicom_put)(void *user, const void *data, size_t bytes);

typedef struct lmr_dicom {
    uint32_t abi; /* first in every version */
    larmor_status (*begin)(void **file);
    /* Attribute `tag`, group << 16 | element, with its value as DICOM writes it in text, several with backslashes
     * between; what its type cannot hold leaves it empty, and a sequence is empty. path: of the item that it is in,
     * tag and index of each sequence, [2 depth]; NULL: the file's own. */
    larmor_status (*set)(void *file, uint32_t tag, const char *value, const uint32_t *path, int depth);
    larmor_status (*set_pixels)(void *file, const uint16_t *pixels, int64_t count);
    larmor_status (*write)(void *file, lmr_dicom_put put, void *user); /* Explicit VR Little Endian */
    void (*end)(void *file);
} lmr_dicom;

/* An lmr_plugin_entry. */
#define LMR_DICOM_ENTRY "lmr_dicom_entry"

#ifdef __cplusplus
}
#endif
