/* The term of slices that were excited together: exp(i phase_s(j)) of the voxels of slice s in readout j, of what kz
 * does not have. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/multiband_phases.h"
#include "physics/terms.h"
#include "scan/source.h"

static int is_none(const lmr_band_phases *p, int64_t first, int64_t readouts, int slice)
{
    double most = 0;
    for (int64_t j = 0; j < readouts; j++) most = fmax(most, fabs(p->rest[slice + p->bands * (first + j)]));
    return most == 0;
}

larmor_status lmr_add_bands(const lmr_scene *scene, lmr_term_list *list)
{
    const lmr_scan_facts *facts = scene->job->facts;
    const int64_t n = scene->samples.dim[0], readouts = scene->samples.dim[1];
    lmr_band_phases p;
    larmor_group g;
    int64_t first;
    if (!facts->physics->bands) return LARMOR_OK;
    LMR_TRY(lmr_multiband_phases(facts->source, scene->index, &p, &first));
    LMR_TRY(lmr_source_group(facts->source, scene->index, &g));
    LMR_REFUSE(g.readouts != readouts, LARMOR_ERR_UNSUPPORTED,
               "multiband: image %d has readouts of several lengths, or images are solved for together: "
               "phases that grow unevenly from slice to slice are not for these",
               scene->index + 1);
    const int64_t voxels = scene->voxels / p.bands;
    for (int s = 0; s < p.bands; s++) {
        double *space, *time;
        if (is_none(&p, first, readouts, s)) continue;
        LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
        for (int64_t i = 0; i < voxels; i++) space[i + voxels * s] = 1;
        for (int64_t i = 0; i < n * readouts; i++) time[i] = p.rest[s + p.bands * (first + i / n)];
    }
    return LARMOR_OK;
}
