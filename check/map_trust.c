/* How far coil maps by nonlinear inversion can be trusted, from where samples are and what the inversion left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/map_trust.h"

#include "core/core.h"

/* There is a warning of maps that explain less than this part of the data's energy, and of those of a centre of
 * k-space that is sampled less than this: with coils on one ring the images of scans with R = 4 were clearly worse
 * than with true maps. Lines at equal distances alias to one place, which smooth maps of another phase explain as
 * well: at R = 2 without calibration lines 0.5 is sampled, and images of 4 and 8 coils had aliases. */
static const double min_explained = 0.2, min_sampled = 0.36, min_sampled_of_lines = 0.53;
static const double most_spacing = 1.75; /* along readouts, in 1/FOV: docs/records/maps.md, "Samples further apart" */

#define ON_LINE 1e-3 /* 1/FOV across a line that is along x */

static larmor_status are_lines(const larmor_array *traj, int *lines)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], points = larmor_array_count(traj) / nd;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    *lines = nd > 1;
    for (int64_t i = 0; i < points && *lines; i++)
        for (int64_t d = 1; d < nd; d++) *lines &= fabs(k[d + nd * i] - k[d + nd * (i / n * n)]) < ON_LINE;
    return LARMOR_OK;
}

enum { CENTRE = 16 }; /* 1/FOV around the centre of k-space, where samples of a readout are looked at */

larmor_status lmr_maps_spacing(const larmor_array *traj, const double encoded[3], double *spacing)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t nd = shape.dim[0], n = shape.dim[1], points = larmor_array_count(traj) / nd;
    int64_t count = 0;
    *spacing = 0;
    if (points == n) return LARMOR_OK; /* all in one, as of arrays, may be in any order */
    LMR_HEAP LMR_NEW(float, step, points);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i + 1 < points; i++) {
        double radius = 0, length = 0;
        for (int64_t d = 0; d < nd; d++) {
            const double at = k[nd * i + d], next = k[nd * (i + 1) + d];
            radius = hypot(radius, at * encoded[d]);
            length = hypot(length, (next - at) * encoded[d]);
        }
        if ((i + 1) % n != 0 && radius <= CENTRE) step[count++] = (float)length;
    }
    *spacing = count ? lmr_median_f32(step, count) : 0;
    return LARMOR_OK;
}

larmor_status lmr_maps_judge_inversion(const larmor_array *traj, larmor_shape image, const double encoded[3],
                                       double residual, larmor_coils_report *report)
{
    double aliasing, spacing;
    int lines = 0;
    LMR_TRY(larmor_calibration_aliasing(traj, image, encoded, &aliasing));
    LMR_TRY(lmr_maps_spacing(traj, encoded, &spacing));
    report->sampled = 1 / (1 + aliasing);
    if (report->sampled < min_sampled_of_lines) LMR_TRY(are_lines(traj, &lines));
    report->dominance = fmax(0, 1 - residual * residual);
    report->warning = LARMOR_MAPS_TRUSTED;
    if (report->sampled < (lines ? min_sampled_of_lines : min_sampled) || spacing > most_spacing)
        report->warning = LARMOR_MAPS_UNDERSAMPLED;
    else if (report->dominance < min_explained)
        report->warning = LARMOR_MAPS_AMBIGUOUS;
    return LARMOR_OK;
}
