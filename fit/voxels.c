/* What is read of a voxel and kept of it. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fit/fit.h"

double lmr_fit_at(const lmr_fit_work *w, int64_t voxel, int j, int p)
{
    return w->images[p + w->series.parts * (voxel + w->voxels * w->order[j])];
}

void lmr_fit_read(const lmr_fit_work *w, int64_t voxel, double *y)
{
    for (int p = 0; p < w->series.parts; p++)
        for (int j = 0; j < w->series.times; j++) y[p * w->series.times + j] = lmr_fit_at(w, voxel, j, p);
}

void lmr_fit_keep(lmr_fit_work *w, int64_t i, int maps, int is_fitted, const lmr_fit_voxel *out)
{
    for (int m = 0; m < maps; m++)
        is_fitted = is_fitted && isfinite((float)out->value[m]) && isfinite((float)out->deviation[m]);
    if (!is_fitted) {
        w->state[i] = LMR_FIT_FAILED;
        return;
    }
    w->residual[i] = (float)out->residual;
    for (int m = 0; m < maps; m++) {
        w->value[m][i] = (float)out->value[m];
        w->deviation[m][i] = (float)out->deviation[m];
    }
}
