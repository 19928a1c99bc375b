/* The kernels of sparsity, found. SPDX-License-Identifier: Apache-2.0 */
#include "recon/sparse.h"

#include <pthread.h>

static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void register_kernels(void)
{
    lmr_cpu_register("sparse", LMR_SPARSE_ABI, &lmr_cpu_sparse_f32, &lmr_cpu_sparse_f64);
}

larmor_status lmr_sparse_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_sparse_kernels **kernels)
{
    pthread_once(&registered, register_kernels);
    *kernels = dev->be->table("sparse", LMR_SPARSE_ABI, lmr_precision(dtype));
    if (*kernels) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "sparse: %s has no kernels for sparsity; use cpu",
                    larmor_device_spec(dev));
}
