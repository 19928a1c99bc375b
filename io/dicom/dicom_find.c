/* The plugin larmor_dicom.so is found. SPDX-License-Identifier: Apache-2.0 */
#include "io/dicom/dicom.h"

larmor_status lmr_dicom_find(const char *path, const lmr_dicom **plugin)
{
    static lmr_plugin dicom = LMR_PLUGIN("dicom", LMR_DICOM_ENTRY, LMR_DICOM_ABI);
    *plugin = lmr_plugin_table(&dicom);
    if (*plugin) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s: DICOM needs the plugin that is built with DCMTK (%s); use .nii.gz.",
                    path, dicom.reason);
}
