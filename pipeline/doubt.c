/* Reasons why an image may be wrong. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/pipeline.h"

#include <math.h>
#include <stdio.h>

static void describe_maps(const larmor_coils_report *maps, char *line, size_t room)
{
    if (maps->doubt == LARMOR_MAPS_UNDERSAMPLED)
        snprintf(line, room,
                 "coil maps cannot be trusted: only %.0f %% of the centre of k-space that they are made from is "
                 "sampled, so the image may be aliased. Give maps by --maps FILE, or a scan with calibration lines.",
                 100 * maps->sampled);
    else
        snprintf(line, room,
                 "coil maps cannot be trusted: they explain only %.0f %% of the centre of k-space, which is mostly "
                 "noise or has signal folded in. Give maps by --maps FILE, or try a smaller --calibration.",
                 100 * maps->dominance);
}

static void describe_partial(const larmor_coverage *c, int d, char *line, size_t room)
{
    snprintf(
        line, room,
        "partial Fourier along %c: k-space reaches to %.3g/FOV on one side and to %.3g/FOV on the other. What is "
        "missing is not filled in, so the image is less sharp along %c.",
        "xyz"[d], fmax(-c->low[d], c->high[d]), fmin(-c->low[d], c->high[d]), "xyz"[d]);
}

int larmor_recon_doubt(const larmor_recon_report *report, int i, char *line, size_t room)
{
    if (!report || !line || i < 0) return 0;
    if (report->maps.doubt != LARMOR_MAPS_TRUSTED && i-- == 0) {
        describe_maps(&report->maps, line, room);
        return (int)report->maps.doubt;
    }
    const int filled =
        report->partial_fourier == LARMOR_PARTIAL_HOMODYNE || report->partial_fourier == LARMOR_PARTIAL_POCS;
    for (int d = 0; d < 3 && !filled; d++) {
        if (!report->coverage.partial[d] || i-- != 0) continue;
        describe_partial(&report->coverage, d, line, room);
        return LARMOR_MAPS_AMBIGUOUS + 1 + d;
    }
    if (report->lambda_from == LARMOR_LAMBDA_UNPREDICTED && i == 0) {
        snprintf(line, room,
                 "no image predicts samples that were held out better than zeros do: the data are noise, or basis, "
                 "maps or trajectory do not describe them. The weight is the one expected from the noise; "
                 "state another by --lambda.");
        return LARMOR_MAPS_AMBIGUOUS + 4;
    }
    return 0;
}
