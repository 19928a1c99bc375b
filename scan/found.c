/* What an image found, for the images that follow. SPDX-License-Identifier: Apache-2.0 */
#include "scan/found.h"

#include "core/status.h"

lmr_found lmr_found_ref(const lmr_found *found)
{
    larmor_array_ref(found->maps.array);
    larmor_array_ref(found->maps.eigenvalues);
    larmor_array_ref(found->density.weights);
    larmor_array_ref(found->follow.image);
    return *found;
}

lmr_found lmr_found_without_arrays(const lmr_found *found)
{
    lmr_found without = *found;
    without.maps.array = without.maps.eigenvalues = without.density.weights = without.follow.image = NULL;
    return without;
}

larmor_status lmr_found_copy(const lmr_found *found, larmor_device *dev, lmr_found *copy)
{
    const lmr_found_maps *maps = &found->maps;
    *copy = lmr_found_without_arrays(found);
    if (maps->array) LMR_TRY(larmor_array_to(maps->array, dev, &copy->maps.array));
    return maps->eigenvalues ? larmor_array_to(maps->eigenvalues, dev, &copy->maps.eigenvalues) : LARMOR_OK;
}

void lmr_found_free(lmr_found *found)
{
    larmor_array_free(found->maps.array);
    larmor_array_free(found->maps.eigenvalues);
    larmor_array_free(found->density.weights);
    larmor_array_free(found->follow.image);
    *found = (lmr_found){.weight_conditions = {.known = 0}};
}
