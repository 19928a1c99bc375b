/* How large elements of arrays are. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/parsers.h"

int64_t lmr_element_bytes(larmor_dtype dtype)
{
    switch (dtype) {
    case LARMOR_F32:
        return 4;
    case LARMOR_F64:
    case LARMOR_C64:
    case LARMOR_I64:
        return 8;
    case LARMOR_C128:
        return 16;
    }
    return 0;
}
