/* Echo-planar lines that a file has in one direction: which ones were acquired in the other, by their order in time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

enum { MIN_SHOT = 4 }; /* lines of a shot */

static const double same_line = .05; /* cycles per field of view */

/* The side to which a line lies of the one before, 1 or -1; 0: of another partition, or the same line again. */
static int side_of(const double *k, const double *before, int nd, int along)
{
    const int across = along == 0;
    const int third = 3 - along - across;
    const double step = k[across] - before[across];
    if (nd > 2 && fabs(k[third] - before[third]) > same_line) return 0;
    return (step > same_line) - (step < -same_line);
}

/* The axis along which samples follow each other. */
static int find_axis(const double *k, int nd)
{
    int along = 0;
    for (int d = 1; d < nd; d++)
        if (fabs(k[nd + d] - k[d]) > fabs(k[nd + along] - k[along])) along = d;
    return along;
}

larmor_status larmor_ghost_turned(const larmor_array *traj, unsigned char *turned, int64_t *count)
{
    int64_t forward, backward, first = 0;
    LMR_NEED(traj, turned, count);
    *count = 0;
    LMR_TRY(larmor_ghost_lines(traj, &forward, &backward));
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    const larmor_shape shape = larmor_array_shape(traj);
    const int nd = (int)shape.dim[0];
    const int64_t line = nd * shape.dim[1], lines = shape.dim[2];
    int are_shots = nd > 1 && lines > 0 && (forward == lines || backward == lines), way = 0;
    const int along = are_shots ? find_axis(k, nd) : 0;
    for (int64_t i = 0; i < lines; i++) turned[i] = 0;
    for (int64_t i = 1; i <= lines && are_shots; i++) {
        const int side = i < lines ? side_of(k + line * i, k + line * (i - 1), nd, along) : 0;
        const int ends = !side || side == -way;
        if (ends) are_shots = i - first >= MIN_SHOT;
        if (ends) first = i;
        way = ends ? 0 : side;
        if (i < lines) turned[i] = (unsigned char)((i - first) % 2);
    }
    for (int64_t i = 0; i < lines; i++) {
        if (!are_shots) turned[i] = 0;
        *count += turned[i];
    }
    return LARMOR_OK;
}
