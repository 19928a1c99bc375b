/* Numbers of files by their type. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <string.h>

/* from_TYPE(bytes): a number of this type, at any address, as a `result`. */
#define LMR_NUMBER(result, type)                                                                                     \
    static result from_##type(const unsigned char *from)                                                             \
    {                                                                                                                \
        type value;                                                                                                  \
        memcpy(&value, from, sizeof value);                                                                          \
        return (result)value;                                                                                        \
    }

/* Those of the types that every format has. */
#define LMR_NUMBERS(result)                                                                                          \
    LMR_NUMBER(result, float)                                                                                        \
    LMR_NUMBER(result, double)                                                                                       \
    LMR_NUMBER(result, int8_t)                                                                                       \
    LMR_NUMBER(result, int16_t)                                                                                      \
    LMR_NUMBER(result, int32_t)                                                                                      \
    LMR_NUMBER(result, uint8_t)                                                                                      \
    LMR_NUMBER(result, uint16_t)                                                                                     \
    LMR_NUMBER(result, uint32_t)
