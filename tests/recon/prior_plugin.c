/* A plugin that halves, and by its argument or another build all that can be wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/prior.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI LARMOR_PRIOR_ABI
#endif

static int open_test(const char *argument, void **self, char *message, size_t room)
{
    *self = NULL;
    if (!strcmp(argument, "refused")) return snprintf(message, room, "no \"refused\"\nand a second line");
    if (!strcmp(argument, "silent")) return 1;
    *self = strdup(argument);
    return *self ? 0 : 1;
}

static int denoise(void *self, double sigma, const larmor_dl_tensor *x, larmor_dl_tensor *z, char *message,
                   size_t room)
{
    float *to = z->data;
    int64_t count = 2;
    (void)sigma;
    if (!strcmp(self, "fails")) return snprintf(message, room, "the network has no weights");
    if (!strcmp(self, "shape")) z->shape[0]++;
    if (!strcmp(self, "memory")) z->data = to + 1;
    for (int d = 0; d < x->ndim; d++) count *= x->shape[d];
    for (int64_t i = 0; i < count; i++) to[i] = ((const float *)x->data)[i] / 2;
    if (!strcmp(self, "nan")) to[3] = NAN;
    return 0;
}

LARMOR_PRIOR_PLUGIN = {.abi = PLUGIN_ABI,
                       .size = sizeof(larmor_prior_table),
                       .name = "half",
                       .form = LARMOR_DENOISE_COMPLEX,
                       .open = open_test,
                       .denoise = denoise,
                       .close = free};
