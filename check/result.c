/* What a series of a reconstruction gives. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "larmor/pipeline.h"

void larmor_recon_result_free(larmor_recon_result *result)
{
    if (!result) return;
    for (int i = 0; i < result->count; i++) larmor_array_free(result->image[i].data);
    free(result->image);
    *result = (larmor_recon_result){.count = 0};
}
