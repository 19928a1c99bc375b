/* Phantoms by name. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void disc(larmor_phantom *phantom)
{
    phantom->parts = 1;
    phantom->part[0] = (lmr_ellipsoid){.density = 1,
                                       .centre = {0.07, -0.05, phantom->ndim == 3 ? 0.04 : 0},
                                       .half_axis = {0.3, 0.22, phantom->ndim == 3 ? 0.26 : 0},
                                       .cosine = cos(M_PI / 6),
                                       .sine = sin(M_PI / 6)};
}

static const struct {
    const char *name;
    void (*fill)(larmor_phantom *phantom);
} kinds[] = {{"shepp-logan", lmr_shepp_logan}, {"texture", lmr_texture}, {"disc", disc}};

larmor_status larmor_phantom_create(const char *name, int ndim, larmor_phantom **phantom)
{
    LMR_NEED(phantom);
    *phantom = NULL;
    if (ndim != 2 && ndim != 3) return LMR_FAIL(LARMOR_ERR_ARG, "phantom: got %d dimensions, expected 2 or 3", ndim);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!name || strcmp(name, kinds[i].name) != 0) continue;
        larmor_phantom *p = calloc(1, sizeof *p);
        if (!p) return LMR_NO_MEMORY();
        p->ndim = ndim, p->reach = 1;
        kinds[i].fill(p);
        *phantom = p;
        return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_ARG, "phantom: got \"%s\", expected shepp-logan, texture or disc",
                    name ? name : "(null)");
}

void larmor_phantom_free(larmor_phantom *phantom)
{
    free(phantom);
}
