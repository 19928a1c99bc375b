/* What the two files of the gateway share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mex.h>

#include "larmor/larmor.h"

/* larmor_mex('recon', path, names, values): the struct that larmor.recon returns. */
larmor_status mex_recon(int nrhs, const mxArray **rhs, mxArray **out);

int mex_is_text(const mxArray *x); /* of NULL 0 */
larmor_status mex_text(const mxArray *x, const char *what, char *text, size_t room);
larmor_status mex_pairs(const mxArray *names, const mxArray *values);
larmor_shape mex_shape(const mxArray *x);
larmor_status mex_given(larmor_device *dev, const mxArray *x, larmor_shape shape, const char *what,
                        larmor_array **out);
larmor_status mex_taken(larmor_array *const *x, int count, mxArray **out);
void mex_nearer(const char *word, const char *name, const char **nearest);
void mex_line(const char *text, char *line, size_t room);
