/* What a reconstruction knows of its scan. SPDX-License-Identifier: Apache-2.0 */
#include "scan/scan_facts.h"

#include <stdlib.h>

#include "core/device.h"
#include "core/status.h"

static larmor_status copy_to(const larmor_array *from, larmor_device *dev, larmor_array **to)
{
    return from ? larmor_array_to(from, dev, to) : LARMOR_OK;
}

larmor_status lmr_scan_facts_copy(const lmr_scan_facts *facts, larmor_device *dev, lmr_scan_facts *copy)
{
    *copy = *facts;
    copy->is_copy = 1;
    copy->source = larmor_source_ref(facts->source);
    copy->dev = lmr_device_ref(dev);
    copy->field = NULL;
    copy->whitening = copy->compression = copy->given = copy->basis = NULL;
    LMR_TRY(copy_to(facts->whitening, dev, &copy->whitening));
    LMR_TRY(copy_to(facts->compression, dev, &copy->compression));
    LMR_TRY(copy_to(facts->given, dev, &copy->given));
    return copy_to(facts->basis, dev, &copy->basis);
}

void lmr_scan_facts_free(lmr_scan_facts *facts)
{
    larmor_array_free(facts->whitening);
    larmor_array_free(facts->compression);
    larmor_array_free(facts->given);
    larmor_array_free(facts->basis);
    larmor_source_free(facts->source);
    larmor_device_free(facts->dev);
    if (!facts->is_copy) free(facts->grid);
    if (!facts->is_copy) free(facts->delays);
    *facts = (lmr_scan_facts){.source = NULL};
}
