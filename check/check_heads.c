/* What the heads of a scan's readouts say, beyond what the reader of files has checked. SPDX-License-Identifier:
 * Apache-2.0 */
#include "check/check.h"
#include "core/core.h"

typedef long long ll;

/* Of warnings (docs/reference/findings.md). Not measured. */
#define MIN_READOUTS_PART .95    /* of the readouts of the other images: fewer are not all */
#define MAX_DISCARDED_PART .25   /* of the samples of a readout */
#define DIRECTION_TOLERANCE 1e-2 /* that a direction's length, or the product of two, may be off */
#define MAX_DISTANCE_MM 1e-2     /* of readouts of one image from each other */

/* ---- noise, coils, counts ---- */

static void check_noise(const larmor_raw_info *info, lmr_findings *f)
{
    if (!info->noise && info->coils > 1)
        lmr_note(f, LARMOR_NOTE, "noise-scan",
                 "no noise scan: the %d coils are not whitened. Flag noise readouts as such (bit 19).", info->coils);
    if (info->noise && (info->dwell_us == 0 || info->noise_dwell_us == 0))
        lmr_note(f, LARMOR_WARNING, "noise-scan",
                 "the time per sample is missing in %s: the noise is taken to have the bandwidth of the data.",
                 info->dwell_us == 0 ? "the data" : "the noise scan");
    if (info->dwell_us == 0)
        lmr_note(f, LARMOR_NOTE, "dwell", "the time per sample is not stored: readout times are unknown.");
    if (info->dropped)
        lmr_note(f, LARMOR_NOTE, "left-out", "%lld of %lld acquisitions are left out by their flags: %s.",
                 (ll)info->dropped, (ll)info->acquisitions, info->dropped_report);
    if (info->channels && 2 * info->dead_coils > info->channels)
        lmr_note(f, LARMOR_WARNING, "dead-coil", "%d of %d channels have no signal or no noise.", info->dead_coils,
                 info->channels);
}

static larmor_status check_groups(const larmor_raw *raw, const larmor_raw_info *info, lmr_findings *f)
{
    int64_t most = 0, ragged = 0, lacking = 0, longest = 0;
    larmor_group g, least = {.readouts = INT64_MAX};
    for (int i = 0; i < info->groups; i++) {
        LMR_TRY(larmor_raw_group(raw, i, &g));
        if (g.readouts > most) most = g.readouts;
        if (g.readouts < least.readouts) least = g;
        ragged += !g.regular;
        if (!g.regular && g.samples > longest) longest = g.samples;
    }
    for (int i = 0; i < info->groups; i++) {
        LMR_TRY(larmor_raw_group(raw, i, &g));
        lacking += (double)g.readouts < MIN_READOUTS_PART * (double)most;
    }
    if (lacking)
        lmr_note(f, LARMOR_WARNING, "incomplete",
                 "%lld of %d images have fewer readouts than the others: slice %d, contrast %d, phase %d, "
                 "repetition %d, set %d has %lld of %lld. The scan may have been stopped.",
                 (ll)lacking, info->groups, least.slice, least.contrast, least.phase, least.repetition, least.set,
                 (ll)least.readouts, (ll)most);
    if (ragged)
        lmr_note(f, LARMOR_NOTE, "lengths", "readouts of %lld image%s differ in length, up to %lld samples.",
                 (ll)ragged, ragged == 1 ? "" : "s", (ll)longest);
    return LARMOR_OK;
}

/* ---- readouts ---- */

typedef struct tally { /* of the readouts that are used */
    int64_t samples, discarded, most_discarded;
    int64_t crooked, first_crooked, left_handed, used; /* directions */
    int64_t moved, first_moved;
    double *place; /* [65536] x 3 of the first readout of each slice; NAN: there is none */
} tally;

static double product(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void look_at_directions(const larmor_acquisition *a, int64_t i, tally *t)
{
    const double *const d[3] = {a->read_dir, a->phase_dir, a->slice_dir};
    double off = 0, size = 0;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) off = fmax(off, fabs(product(d[r], d[c]) - (r == c)));
        size += product(d[r], d[r]);
    }
    if (size == 0) return;
    if (!(off <= DIRECTION_TOLERANCE)) {
        if (!t->crooked++) t->first_crooked = i;
        return;
    }
    const double normal[3] = {d[0][1] * d[1][2] - d[0][2] * d[1][1], d[0][2] * d[1][0] - d[0][0] * d[1][2],
                              d[0][0] * d[1][1] - d[0][1] * d[1][0]};
    t->left_handed += product(normal, d[2]) < 0;
}

static void look_at_place(const larmor_acquisition *a, int64_t i, tally *t)
{
    double *first = t->place + 3 * a->slice, away = 0;
    for (int d = 0; d < 3; d++) away = fmax(away, fabs(a->position_mm[d] - first[d]));
    if (isnan(first[0]))
        for (int d = 0; d < 3; d++) first[d] = a->position_mm[d];
    else if (!(away <= MAX_DISTANCE_MM) && !t->moved++)
        t->first_moved = i;
}

static larmor_status take(const larmor_raw *raw, const larmor_raw_info *info, tally *t)
{
    for (int64_t i = 0; i < info->acquisitions; i++) {
        larmor_acquisition a;
        LMR_TRY(larmor_raw_acquisition(raw, i, &a));
        if (!a.data || a.flags & LARMOR_ACQ_NOISE) continue;
        const int64_t discarded = a.discard_pre + a.discard_post;
        t->used++;
        t->samples += a.samples;
        t->discarded += discarded;
        if (discarded > t->most_discarded) t->most_discarded = discarded;
        look_at_directions(&a, i, t);
        if (a.slice < 65536) look_at_place(&a, i, t);
    }
    return LARMOR_OK;
}

static void judge(const tally *t, lmr_findings *f)
{
    if (t->discarded)
        lmr_note(f, (double)t->discarded > MAX_DISCARDED_PART * (double)t->samples ? LARMOR_WARNING : LARMOR_NOTE,
                 "discards", "%.3g %% of the samples are marked as discarded, up to %lld of a readout.",
                 100 * (double)t->discarded / (double)t->samples, (ll)t->most_discarded);
    if (t->crooked)
        lmr_note(f, LARMOR_WARNING, "geometry",
                 "directions of %lld readouts are not perpendicular unit vectors, first in acquisition %lld.",
                 (ll)t->crooked, (ll)t->first_crooked);
    if (t->left_handed)
        lmr_note(f, LARMOR_NOTE, "geometry", "read, phase and slice directions of %lld readouts are left-handed.",
                 (ll)t->left_handed);
    if (t->moved)
        lmr_note(f, LARMOR_WARNING, "geometry",
                 "positions of %lld readouts differ from that of their slice's first, first in acquisition %lld.",
                 (ll)t->moved, (ll)t->first_moved);
}

larmor_status lmr_check_heads(const larmor_raw *raw, lmr_findings *f)
{
    const larmor_raw_info info = larmor_raw_describe(raw);
    LMR_HEAP LMR_NEW(double, place, 3 * 65536);
    tally t = {.place = place};
    for (int i = 0; i < 3 * 65536; i++) t.place[i] = NAN;
    check_noise(&info, f);
    LMR_TRY(check_groups(raw, &info, f));
    LMR_TRY(take(raw, &info, &t));
    judge(&t, f);
    return LARMOR_OK;
}
