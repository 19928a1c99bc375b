/* What the header says of slices that were excited together, parallelImaging.multiband of ISMRMRD. The schema has no
 * words on its meaning; taken are: dZ in mm from the readouts' position, as many as slices, or the distances between
 * them; deltaKz as the step along kz from one readout to the next, in cycles over the number of slices times their
 * distance. SPDX-License-Identifier: Apache-2.0 */
#include "physics/multiband_header.h"

#include "core/core.h"
#include "scan/source.h"

enum { MOST_SHIFTS = 1024 };
#define MAX_DISTANCE_MM 1e4
#define MAX_UNEVEN_DISTANCE 1e-2   /* of the distance between slices */
#define MAX_OFF_SHIFT 1e-3         /* of a full turn, that N steps of the phase may be off */
#define MAX_OFFSET_DIFFERENCE 0.01 /* of the distance of the slices, of options from the header */

int lmr_multiband_is_even(const double *offset, int bands)
{
    const double step = (offset[bands - 1] - offset[0]) / (bands - 1);
    int even = isfinite(offset[0]) && step > 0 && step < MAX_DISTANCE_MM;
    for (int s = 0; s < bands && even; s++)
        even = fabs(offset[s] - offset[0] - step * s) <= MAX_UNEVEN_DISTANCE * step;
    return even;
}

/* Distances from one slice to the next, or one for all, as offsets from the first. */
static larmor_status sum_distances(const char *name, const larmor_multiband_header *h, double *offset)
{
    LMR_REFUSE(h->offsets != 1 && h->offsets != h->factor - 1, LARMOR_ERR_FORMAT,
               "%s: multiband of the header has %d dZ for a multiband_factor of %d, expected one of each "
               "slice, or the distances between them; give the slices' offsets, or leave the header out.",
               name, h->offsets, h->factor);
    offset[0] = 0;
    for (int s = 1; s < h->factor; s++) offset[s] = offset[s - 1] + h->offset_mm[h->offsets == 1 ? 0 : s - 1];
    return LARMOR_OK;
}

static larmor_status find_offsets(const char *name, const larmor_multiband_header *h, double *offset)
{
    LMR_REFUSE(h->factor < 1 || h->factor > LARMOR_MOST_BANDS, LARMOR_ERR_FORMAT,
               "%s: multiband_factor of the header is no number from 1 to %d; give the slices' offsets, or "
               "leave the header out.",
               name, LARMOR_MOST_BANDS);
    if (h->offsets == h->factor)
        for (int s = 0; s < h->factor; s++) offset[s] = h->offset_mm[s];
    else
        LMR_TRY(sum_distances(name, h, offset));
    for (int s = 0; s < h->factor; s++)
        LMR_REFUSE(!isfinite(offset[s]) || (s && !(offset[s] > offset[s - 1])), LARMOR_ERR_FORMAT,
                   "%s: slices of the header's multiband (dZ) do not ascend: %g mm after %g mm; give the "
                   "slices' offsets, or leave the header out.",
                   name, offset[s], s ? offset[s - 1] : offset[s]);
    if (lmr_multiband_is_even(offset, h->factor)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s: slices of the header's multiband (dZ) from %g to %g mm are not equally far apart; give the "
                    "slices' offsets, or leave the header out.",
                    name, offset[0], offset[h->factor - 1]);
}

/* The least N for which N steps of deltaKz are whole turns of the phase from slice to slice. */
static int find_shifts(const larmor_multiband_header *h, int *turns)
{
    const double turn = -h->delta_kz / h->factor;
    for (int n = 1; n <= MOST_SHIFTS && fabs(turn) < 1e6; n++)
        if (fabs(n * turn - nearbyint(n * turn)) < MAX_OFF_SHIFT * fmin(1, n * fabs(turn) + (turn == 0))) {
            *turns = (int)fmod(nearbyint(n * turn), n);
            if (*turns < 0) *turns += n;
            return n;
        }
    return 0;
}

larmor_status lmr_multiband_find(const larmor_source *inner, larmor_encoding *found)
{
    const larmor_raw_info info = larmor_source_describe(inner);
    found->multiband.factor = 0;
    for (int i = 0; i < info.encodings; i++) {
        larmor_encoding e;
        LMR_TRY(lmr_source_encoding(inner, i, &e));
        if (!e.multiband.factor || e.multiband.factor == 1) continue;
        LMR_REFUSE(found->multiband.factor && found->multiband.factor != e.multiband.factor, LARMOR_ERR_FORMAT,
                   "%s: the header has a multiband_factor of %d and of %d in its encodings, expected one",
                   lmr_source_name(inner), found->multiband.factor, e.multiband.factor);
        if (!found->multiband.factor) *found = e;
    }
    return LARMOR_OK;
}

int lmr_multiband_has_reference(const larmor_source *inner, const larmor_multiband_header *h)
{
    larmor_encoding other;
    const int flat = !strcmp(h->calibration, "separable2D"), solid = !strcmp(h->calibration, "full3D");
    return h->factor && (flat || solid) && h->calibration_encoding >= 0 &&
           h->calibration_encoding < larmor_source_describe(inner).encodings &&
           !lmr_source_encoding(inner, h->calibration_encoding, &other) && !other.multiband.factor &&
           (flat || other.ndim == 3);
}

larmor_status lmr_multiband_of_header(const char *name, const larmor_multiband_header *header, int solid,
                                      double *offset, larmor_multiband_opts *opts)
{
    int turns = 0;
    LMR_TRY(find_offsets(name, header, offset));
    *opts = (larmor_multiband_opts){.offset_mm = offset, .bands = header->factor};
    if (solid) return LARMOR_OK;
    LMR_REFUSE(isnan(header->delta_kz), LARMOR_ERR_FORMAT,
               "%s: deltaKz of the header's multiband is missing or no number; give the phases, or leave "
               "the header out.",
               name);
    opts->shifts = find_shifts(header, &turns);
    opts->turns = turns ? turns : opts->shifts;
    if (opts->shifts) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_FORMAT,
        "%s: deltaKz %g of the header's multiband makes no phases of %d slices that repeat after at most %d "
        "readouts; give the phases, or leave the header out.",
        name, header->delta_kz, header->factor, MOST_SHIFTS);
}

static const char *phases_of(const larmor_multiband_opts *o, int solid, char *text, size_t room)
{
    if (solid) return "kz is the trajectory's";
    if (o->phase) return "whose phases are given";
    if (o->shifts == 1) return "without phases";
    if (o->turns == -1)
        snprintf(text, room, "whose phases are -2 pi s j / %d", o->shifts);
    else if (o->turns && o->turns != 1)
        snprintf(text, room, "whose phases are 2 pi %d s j / %d", o->turns, o->shifts);
    else
        snprintf(text, room, "whose phases are 2 pi s j / %d", o->shifts);
    return text;
}

static int differ(const larmor_multiband_header *h, const double *own, const larmor_multiband_opts *o)
{
    const double step = (own[h->factor - 1] - own[0]) / (h->factor - 1);
    int differs = 0;
    for (int s = 0; s < o->bands; s++) differs |= fabs(own[s] - o->offset_mm[s]) > MAX_OFFSET_DIFFERENCE * step;
    return differs;
}

void lmr_multiband_compare(const larmor_multiband_header *header, const larmor_multiband_opts *opts,
                           const lmr_banded *images, const lmr_band_phases *given, char *line, size_t room)
{
    double own[LARMOR_MOST_BANDS];
    larmor_multiband_opts of_header;
    char phases[64];
    const char *taken = "the options are taken";
    const int64_t turns = opts->turns ? opts->turns : 1;
    *line = '\0';
    if (header->factor < 2 || lmr_multiband_of_header("", header, 0, own, &of_header)) return;
    if (header->factor != opts->bands)
        snprintf(line, room, "multiband: %d slices are asked for, the header has a multiband_factor of %d: %s.\n",
                 opts->bands, header->factor, taken);
    else if (differ(header, own, opts))
        snprintf(line, room, "multiband: the header has slices from %g to %g mm: %s.\n", own[0],
                 own[header->factor - 1], taken);
    else if (opts->shifts && (turns * of_header.shifts - (int64_t)of_header.turns * opts->shifts) %
                                 ((int64_t)opts->shifts * of_header.shifts))
        snprintf(line, room, "multiband: the header has slices %s: %s.\n",
                 phases_of(&of_header, 0, phases, sizeof phases), taken);
    else if (opts->phase && !lmr_band_phases_are(images, given, of_header.turns, of_header.shifts))
        snprintf(line, room, "multiband: the header has slices %s: those of each readout that are given are taken.\n",
                 phases_of(&of_header, 0, phases, sizeof phases));
}

void lmr_multiband_report(const larmor_multiband_opts *opts, int solid, int by_header, int reference,
                          larmor_raw_info *info)
{
    static const char *const references[] = {"", "; each alone for the coil maps",
                                             "; a volume of them for the coil maps"};
    char *text = info->bands_report, phases[64];
    const size_t room = sizeof info->bands_report;
    snprintf(text, room, "%d slices at ", opts->bands);
    for (int s = 0; s < opts->bands; s++) lmr_append(text, room, "%s%.4g", s ? ", " : "", opts->offset_mm[s]);
    lmr_append(text, room, " mm, %s%s%s", phases_of(opts, solid, phases, sizeof phases),
               by_header ? ", by the header" : "", references[reference]);
}
