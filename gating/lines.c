/* What bins rest on, in lines for a log. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

#define MAX_UNKNOWN 0.01   /* of the readouts, above which a line warns */
#define MOST_OVER_FEWEST 4 /* readouts of the fullest bin over those of the thinnest, above which a line warns */

enum { OF_RHYTHM = 5, ROOM = 512 }; /* lines of heart, and of breath */

typedef struct rhythm_found {
    const char *name, *report, *unused;
    larmor_gating_from from;
    double rate, reliability, late;
    int64_t unknown, readouts;
} rhythm_found;

static int is_found(const rhythm_found *r)
{
    return r->from != LARMOR_GATED_BY_NOTHING && r->from != LARMOR_GATED_BY_CALLER;
}

/* "" where there is nothing to say. */
static void say_rhythm(const rhythm_found *r, int index, char line[ROOM], int *is_warning)
{
    if (index == 0 && *r->unused) {
        *is_warning = 1;
        snprintf(line, ROOM, "%s: waveforms are not used: %s", r->name, r->unused);
    }
    if (index == 1 && is_found(r))
        snprintf(line, ROOM, "%s: %.4g a minute, reliability %.2f, by %s", r->name, r->rate, r->reliability,
                 r->report);
    if (index == 3 && r->unknown) {
        *is_warning = (double)r->unknown > MAX_UNKNOWN * (double)r->readouts;
        snprintf(line, ROOM,
                 "%s: %lld of %lld readouts are left out: triggers or a part of the waveform are missing.", r->name,
                 (long long)r->unknown, (long long)r->readouts);
    }
    if (index == 4 && r->late != 0) {
        *is_warning = 1;
        snprintf(line, ROOM,
                 "%s: the signal fits the samples %.2g s %s, and not as it is: its clock may differ from that of the "
                 "readouts. Move its times by that, or take the breath of the samples by opts.gating self.",
                 r->name, fabs(r->late), r->late > 0 ? "earlier" : "later");
    }
    if (index != 2 || !is_found(r) || r->reliability >= LARMOR_RELIABLE) return;
    *is_warning = 1;
    snprintf(line, ROOM, "%s: the samples show none that is reliable (%.2f, below %g); its bins may mean nothing.",
             r->name, r->reliability, LARMOR_RELIABLE);
}

static void say_bins(const larmor_bins_found *f, int index, char line[ROOM], int *is_warning)
{
    *is_warning = index > 0;
    if (index == 0)
        snprintf(line, ROOM, "bins: %d of %lld to %lld readouts", f->bins - f->empty, (long long)f->fewest,
                 (long long)f->most);
    if (index == 1 && f->empty)
        snprintf(line, ROOM, "bins: %d of %d have no readouts and are left out.", f->empty, f->bins);
    if (index == 2 && MOST_OVER_FEWEST * f->fewest < f->most)
        snprintf(line, ROOM, "bins: the fullest has %lld readouts, the thinnest %lld; its image may be poor.",
                 (long long)f->most, (long long)f->fewest);
}

int larmor_gating_line(const larmor_bins_found *found, int index, char *line, size_t bytes, int *is_warning)
{
    if (!found || index < 0 || !line || !bytes || !is_warning) return 0;
    const larmor_bins_found *f = found;
    const rhythm_found of[] = {{"heart", f->heart_report, f->unused[0], f->heart_from, f->heart_rate,
                                f->heart_reliable, 0, f->heart_unknown, f->readouts},
                               {"breath", f->breath_report, f->unused[1], f->breath_from, f->breath_rate,
                                f->breath_reliable, f->breath_late, f->breath_unknown, f->readouts}};
    for (int i = 0, said = 0; i < 3 * OF_RHYTHM; i++) {
        char text[ROOM] = "";
        *is_warning = 0;
        if (i < 2 * OF_RHYTHM)
            say_rhythm(&of[i / OF_RHYTHM], i % OF_RHYTHM, text, is_warning);
        else
            say_bins(f, i % OF_RHYTHM, text, is_warning);
        if (!*text || said++ < index) continue;
        snprintf(line, bytes, "%s", text);
        return 1;
    }
    return 0;
}
