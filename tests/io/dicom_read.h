/* DICOM files as DCMTK reads them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dicom dicom;

dicom *dicom_open(const char *path); /* NULL: DCMTK cannot read it */
void dicom_close(dicom *d);

/* The value of an attribute as text, valid until the next call; NULL: it is not there. */
const char *dicom_text(dicom *d, uint32_t tag);

/* Value i of an attribute; NAN: it is not there. */
double dicom_number(dicom *d, uint32_t tag, int i);

/* Value i of an attribute of a functional group of a frame, or of all frames where that is -1; NAN: it is not
 * there. */
double dicom_of_frame(dicom *d, int frame, uint32_t group, uint32_t tag, int i);

/* [rows, columns], valid as long as d. */
const uint16_t *dicom_pixels(dicom *d, long *count);

#ifdef __cplusplus
}
#endif
