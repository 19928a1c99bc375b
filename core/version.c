/* The library's version. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/larmor.h"

const char *larmor_version(void)
{
    return LARMOR_VERSION;
}
