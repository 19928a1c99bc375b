/* The kernels of sparsity, found. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "recon/kernels_sparse.h"

/* The kernels of a device for arrays of this precision. Errors: LARMOR_ERR_UNSUPPORTED if the device has none. */
larmor_status lmr_sparse_kernels_of(const larmor_device *dev, larmor_dtype dtype, const lmr_sparse_kernels **kernels);
