/* Coils mixed by a matrix for each place along the first dimension. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"

/* y [n, ..., rows] <- M x at each place, M [rows, columns, n], x [n, ..., columns]. */
larmor_status lmr_mix_places(const larmor_array *M, const larmor_array *x, larmor_array **y);
