/* The plugin larmor_dicom.so is found. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom.h"

/* Found or not is settled once per process. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const lmr_dicom *found;
static char reason[1024];

static void search(void)
{
    static const lmr_host host = {.abi = LMR_DICOM_ABI, .fail = lmr_fail};
    char path[1200];
    void *symbol = lmr_plugin_entry("dicom", LMR_DICOM_ENTRY, path, sizeof path);
    lmr_dicom_entry_function entry;
    memcpy(&entry, &symbol, sizeof entry);
    const lmr_dicom *plugin = entry ? entry(LMR_DICOM_ABI, &host) : NULL;
    if (plugin && plugin->abi == LMR_DICOM_ABI)
        found = plugin;
    else if (plugin)
        snprintf(reason, sizeof reason, "%.900s has ABI %u, expected %u; install plugin and library from one release",
                 path, (unsigned)plugin->abi, LMR_DICOM_ABI);
    else
        snprintf(reason, sizeof reason, "%s", larmor_last_error());
}

larmor_status lmr_dicom_find(const char *path, const lmr_dicom **plugin)
{
    pthread_once(&once, search);
    *plugin = found;
    if (found) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s: DICOM needs the plugin that is built with DCMTK (%s); use .nii.gz.",
                    path, reason);
}
