/* Loaded before OpenBLAS: it says that it does not know the processor, unless it was told which one to take it for,
 * and when a program starts what it was told. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

const char *openblas_get_corename(void);

const char *openblas_get_corename(void)
{
    const char *told = getenv("OPENBLAS_CORETYPE");
    return told ? told : "Prescott";
}

__attribute__((constructor)) static void say(void)
{
    const char *told = getenv("OPENBLAS_CORETYPE");
    fprintf(stderr, "told: %s\n", told ? told : "nothing");
}
