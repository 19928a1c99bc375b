/* Phantoms by name. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include "core/core.h"

static void disc(larmor_phantom *phantom)
{
    phantom->parts = 1;
    phantom->part[0] = (lmr_ellipsoid){.density = 1,
                                       .centre = {0.07, -0.05, phantom->ndim == 3 ? 0.04 : 0},
                                       .half_axis = {0.3, 0.22, phantom->ndim == 3 ? 0.26 : 0},
                                       .cosine = cos(M_PI / 6),
                                       .sine = sin(M_PI / 6)};
}

const lmr_phantom_kind lmr_phantom_disc = {
    .info = {"disc", "one ellipse or ellipsoid off the centre"},
    .fill = disc,
};

/* A new phantom is a line here and a file in this folder that defines lmr_phantom_<name>. */
#define PHANTOMS(X)                                                                                                  \
    X(shepp_logan)                                                                                                   \
    X(tissues)                                                                                                       \
    X(texture)                                                                                                       \
    X(disc)

#define DECLARE(name) extern const lmr_phantom_kind lmr_phantom_##name;
#define ROW(name) &lmr_phantom_##name,
PHANTOMS(DECLARE)
static const lmr_phantom_kind *const table[] = {PHANTOMS(ROW)};
enum { COUNT = sizeof table / sizeof *table };

larmor_phantom_info larmor_phantom_entry(int i)
{
    return i >= 0 && i < COUNT ? table[i]->info : (larmor_phantom_info){.name = NULL};
}

static const char *name_at(int i)
{
    return larmor_phantom_entry(i).name;
}

larmor_status larmor_phantom_create(const char *name, int ndim, larmor_phantom **phantom)
{
    int kind;
    LMR_NEED_OUT(phantom);
    LMR_REFUSE(ndim != 2 && ndim != 3, LARMOR_ERR_ARG, "phantom: got %d dimensions, expected 2 or 3", ndim);
    LMR_TRY(lmr_find_name("phantom", name, name_at, &kind));
    LMR_NEW_ZEROS(larmor_phantom, p, 1);
    p->ndim = ndim;
    p->reach = 1;
    table[kind]->fill(p);
    *phantom = p;
    return LARMOR_OK;
}

void larmor_phantom_free(larmor_phantom *phantom)
{
    free(phantom);
}
