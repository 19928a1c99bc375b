/* How far delays move spokes. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/gradients/delay.h"
#include "recon/gradients/spokes.h"

double lmr_farthest_shift(const lmr_spokes *s, const double delay[LMR_DELAYS], const double from[LMR_DELAYS])
{
    static const double none[LMR_DELAYS] = {0};
    double most = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const lmr_spoke *p = &s->spoke[i];
        const double *k = s->k + s->nd * s->samples * p->readout;
        const int64_t middle = p->first + s->stride * (p->count / 2);
        double place[3], before[3], square = 0;
        lmr_delay_place(k, s->nd, s->samples, middle, delay, s->fov, place, NULL);
        lmr_delay_place(k, s->nd, s->samples, middle, from ? from : none, s->fov, before, NULL);
        for (int d = 0; d < s->nd; d++) square += pow(place[d] - before[d], 2);
        most = fmax(most, sqrt(square));
    }
    return most;
}
