/* What the units of a stored trajectory are inferred from. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>

#include "core/names.h"
#include "io/mrd/mrd.h"

enum {
    LMR_PER_FOV,
    LMR_NORM,
    LMR_PM1,
    LMR_RAD,
    LMR_PER_M,
    LMR_RAD_PER_M,
    LMR_PER_MM,
    LMR_PER_RECON_FOV,
    LMR_USUAL_UNITS,              /* those before it are tried where a unit is not stated */
    LMR_PER_CM = LMR_USUAL_UNITS, /* only where k-space ends exactly at the edge by it, and by no other */
    LMR_UNITS
};

typedef struct lmr_extent { /* of the stored values, by component */
    double low[3], high[3];
    double step2[3]; /* mean square of the step from sample to sample */
    double turn2[3]; /* mean square of the change from one step to the next */
    int64_t samples;
} lmr_extent;

static inline double lmr_largest(const lmr_extent *e, int d)
{
    return fmax(fabs(e->low[d]), fabs(e->high[d]));
}

typedef struct lmr_stored { /* the trajectory of an encoding whose units are asked for */
    int encoding, use, dims;
    int axes; /* the first components, which are coordinates of k-space in some unit */
    lmr_extent e;
} lmr_stored;

typedef struct lmr_reading { /* the stored values in some unit of each axis */
    int unit[3];
    double reach[3]; /* largest |k| over the edge of the encoded k-space; 0 along an axis without extent */
    int axis;        /* of the largest reach */
    double step;     /* root mean square from sample to sample, in 1 / encoded field of view */
} lmr_reading;

/* unit_table.c: a unit's label, the values at which it ends by definition (0: it does not), and cycles per encoded
 * field of view for a stored 1. */
const char *lmr_unit_label(int unit);
double lmr_unit_bound(int unit);
int lmr_unit_is_recon(int unit); /* 1: it is relative to the field of view of reconSpace */
double lmr_unit_scale(int unit, const larmor_encoding *space, int d);
/* The units of the axes by one name for all, or two or three with commas between; the last one holds for what
 * follows. 0 if one of them is none. */
int lmr_units_named(const char *names, int unit[3]);
/* "norm, pm1 or rad" of all. */
lmr_names lmr_unit_names(void);
lmr_reading lmr_read_in(const int unit[3], const larmor_encoding *space, const lmr_stored *s);
/* What --traj-units calls the units of a reading: "norm", or "norm,norm,pm1". */
lmr_text lmr_reading_name(const lmr_reading *r, int axes);

/* mrd_unit_choice.c: the units, and how sure they are: "confidence high", or less with a warning.
 *
 * Errors  LARMOR_ERR_FORMAT: no unit fits, or several do; the message names them. */
larmor_status lmr_mrd_choose_units(larmor_raw *raw, const lmr_stored *s, lmr_reading *out, const char **confidence);
/* 1 if k-space ends along each axis about where the matrix says. */
int lmr_reading_is_full(const lmr_reading *r, const larmor_encoding *space, int axes);
