/* The transform of a phantom's density at one place of k-space and at those that coils shift it to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>
#include <stdlib.h>

larmor_status lmr_spectrum_make(const larmor_phantom *phantom, const lmr_coils *coils, lmr_spectrum *s)
{
    s->phantom = phantom;
    s->coils = coils;
    s->blob_waves = NULL;
    for (int i = 0; i < phantom->parts; i++) {
        const lmr_ellipsoid *e = &phantom->part[i];
        s->amplitude[i] = e->density * lmr_ellipsoid_volume(e, phantom->ndim);
        for (int m = 0; m < coils->modes; m++) {
            const double *f = coils->frequency[m];
            const double angle = 2 * M_PI * (f[0] * e->centre[0] + f[1] * e->centre[1] + f[2] * e->centre[2]);
            lmr_ellipsoid_frequency(e, phantom->ndim, f, s->shift[i][m]);
            s->phase[i][m][0] = cos(angle);
            s->phase[i][m][1] = sin(angle);
        }
    }
    return lmr_blob_waves(phantom, coils, &s->blob_waves);
}

void lmr_spectrum_free(lmr_spectrum *s)
{
    free(s->blob_waves);
    s->blob_waves = NULL;
}

void lmr_spectrum_at(const lmr_spectrum *s, const double k[3], double out[LMR_COIL_MODES][2])
{
    const int ndim = s->phantom->ndim, modes = s->coils->modes;
    for (int m = 0; m < modes; m++) out[m][0] = out[m][1] = 0;
    for (int i = 0; i < s->phantom->parts; i++) {
        const lmr_ellipsoid *e = &s->phantom->part[i];
        double q[3];
        lmr_ellipsoid_frequency(e, ndim, k, q);
        const double angle = -2 * M_PI * (k[0] * e->centre[0] + k[1] * e->centre[1] + k[2] * e->centre[2]);
        const double re = s->amplitude[i] * cos(angle), im = s->amplitude[i] * sin(angle);
        for (int m = 0; m < modes; m++) {
            const double *b = s->shift[i][m], *p = s->phase[i][m];
            const double x = q[0] - b[0], y = q[1] - b[1], z = q[2] - b[2];
            const double f = lmr_ball_transform(ndim, 2 * M_PI * sqrt(x * x + y * y + z * z));
            out[m][0] += f * (re * p[0] - im * p[1]);
            out[m][1] += f * (re * p[1] + im * p[0]);
        }
    }
    lmr_blobs_add_transform(s, k, out);
}
