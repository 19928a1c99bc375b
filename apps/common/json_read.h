/* Finding values in JSON that this program wrote. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_JSON_READ_H
#define APP_JSON_READ_H

#include <stddef.h>

/* A value is a pointer to where it begins; all functions take NULL for one that is not there, and what is cut off or
 * of another type is not there. */
const char *json_member(const char *object, const char *name);
const char *json_element(const char *array, int i);

double json_as_number(const char *value); /* NaN for none */

/* The text without its quotes, cut to size - 1 bytes; "" for none. Escapes are not resolved. Returns text. */
const char *json_as_text(const char *value, char *text, size_t size);

#endif
