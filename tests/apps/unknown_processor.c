/* Loaded before OpenBLAS: it says that it does not know the processor, unless it was told which one to take it for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

const char *openblas_get_corename(void);

const char *openblas_get_corename(void)
{
    const char *told = getenv("OPENBLAS_CORETYPE");
    return told ? told : "Prescott";
}
