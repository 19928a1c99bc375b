/* The kernels of sparsity, found. SPDX-License-Identifier: Apache-2.0 */
#include "recon/sparse.h"

larmor_status lmr_sparse_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_sparse_kernels **kernels)
{
    *kernels = LMR_KERNELS(dev, sparse, LMR_SPARSE_ABI, lmr_precision(dtype));
    if (*kernels) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "sparse: %s has no kernels for sparsity; use cpu",
                    larmor_device_spec(dev));
}
