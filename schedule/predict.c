/* Which device is done first. A GPU takes some tenths of a second before it computes, and at the end of the
 * program, in which a processor is done with a 2D image. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/predict.h"

#include "core/backend.h"
#include "core/core.h"
#include "scan/grid.h"
#include "scan/series.h"
#include "scan/settings.h"
#include "scan/source.h"

/* Seconds of one thread, measured on an Intel Xeon (Sapphire Rapids) with 20 scans of 1 to 16 images in 2D and 3D
 * (docs/records/performance.md): of a normal map for each coil and each cell of its padded grid; of reading, sorting,
 * weighting and gridding for each coil and sample; of an image. */
static const double normal_map_s_per_cell = 4.5e-9, setup_s_per_sample = 2e-7, setup_s_per_image = 0.02;

/* Normal maps of an image, and of the choice of lambda that the first one makes, alone. 3D has more steps: its
 * spectrum is wider. */
static const double steps_2d = 15, steps_3d = 45, choice_steps = 4;

/* Of a penalty: its own steps for a normal map's of cg. */
static const double penalty_steps = 15;

/* Of one image's time, the part that more threads do not shorten. */
static const double serial_part = 0.06;

/* So many coils are left where they are compressed by default, about. */
static const double max_virtual_coils = 12;

/* What a GPU takes to begin and to end, in s: an H200's driver, context and libraries. */
static const double gpu_start_s = 0.35;

/* Images beside each other share the threads. */
static double gain(double images, double threads)
{
    const double each = fmin(images, threads);
    return each / (serial_part + (1 - serial_part) * each / threads);
}

double lmr_predict_seconds(const lmr_workload *w, int threads)
{
    const double coils = w->compresses ? fmin(w->coils, max_virtual_coils) : w->coils;
    const double map = coils * w->cells * (w->on_grid ? 1 : pow(2, w->ndim)) * normal_map_s_per_cell;
    const double steps = w->ndim > 2 ? steps_3d : steps_2d;
    const double maps[] = {[LMR_WORK_GRID] = 0, [LMR_WORK_CG] = steps, [LMR_WORK_PENALTY] = penalty_steps * steps};
    const double image = setup_s_per_image + w->coils * w->samples * setup_s_per_sample + maps[w->kind] * map;
    const double chosen = w->chooses ? choice_steps * steps * map : 0;
    const double rest = w->images - 1;
    const int t = threads < 1 ? 1 : threads;
    double seconds = (image + chosen) / gain(1, t);
    if (rest > 0) seconds += rest * image / gain(rest, t);
    return isfinite(seconds) ? seconds : INFINITY;
}

/* ---- of a scan ---- */

/* What takes other times than these, or was not measured. */
static int is_known(const larmor_recon_opts *o)
{
    const char *maps = o->maps_method ? o->maps_method : "auto";
    return !o->b0 && !o->t2star && !o->phase_terms && !o->gradient_field && !o->displacement && !o->motion &&
           !o->motion_fields && !o->motion_states && !o->basis && o->eps == 0 && !o->effort &&
           (!strcmp(maps, "auto") || !strcmp(maps, "walsh"));
}

static lmr_work_kind kind_of(const larmor_recon_opts *o)
{
    if (o->method && !strcmp(o->method, "cg")) return LMR_WORK_CG;
    return !o->method || strcmp(o->method, "grid") ? LMR_WORK_PENALTY : LMR_WORK_GRID;
}

static larmor_status add_image(larmor_source *source, const larmor_recon_opts *o, int i, lmr_workload *w)
{
    larmor_group g;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_grid_opts opts;
    double cells = 1;
    LMR_TRY(lmr_source_group(source, i, &g));
    if (o->only && !lmr_is_wanted(o->only, &g)) return LARMOR_OK;
    LMR_TRY(lmr_source_encoding(source, g.encoding, &encoding));
    lmr_grid_asked(o, &encoding, &opts);
    LMR_TRY(larmor_encoding_grid(&encoding, &opts, &grid));
    for (int d = 0; d < grid.ndim; d++) cells *= (double)grid.matrix[d];
    w->ndim = grid.ndim > w->ndim ? grid.ndim : w->ndim;
    w->cells = fmax(w->cells, cells);
    w->samples = fmax(w->samples, (double)g.total);
    w->on_grid = !strcmp(encoding.trajectory, "cartesian");
    w->images++;
    return LARMOR_OK;
}

larmor_status lmr_predict_workload(larmor_source *source, const larmor_recon_opts *opts, lmr_workload *work)
{
    const larmor_raw_info info = larmor_source_describe(source);
    if (info.phase_terms) return LARMOR_ERR_UNSUPPORTED;
    *work = (lmr_workload){.kind = kind_of(opts), .coils = info.coils, .compresses = opts->compress >= 0};
    if (!is_known(opts)) return LARMOR_ERR_UNSUPPORTED;
    work->chooses = work->kind != LMR_WORK_GRID && opts->lambda_mode == LARMOR_LAMBDA_AUTO;
    for (int i = 0; i < info.groups; i++) LMR_TRY(add_image(source, opts, i, work));
    return work->images > 0 ? LARMOR_OK : LARMOR_ERR_UNSUPPORTED;
}

/* ---- the choice ---- */

/* LARMOR_GPU_START, for machines whose driver takes another time. */
static double start_of_gpu(void)
{
    const char *text = getenv("LARMOR_GPU_START");
    char *end;
    if (!text || !*text) return gpu_start_s;
    const double seconds = strtod(text, &end);
    return !*end && seconds >= 0 ? seconds : gpu_start_s;
}

larmor_status larmor_recon_open_device(const char *spec, larmor_source *source, const larmor_recon_opts *opts,
                                       larmor_device **dev)
{
    larmor_recon_opts own;
    lmr_workload work;
    LMR_NEED_OUT(dev, source);
    LMR_TRY(lmr_options_copy(opts, &own));
    if ((spec && strcmp(spec, "auto") != 0) || !lmr_plugin_is_there("cuda")) return larmor_device_open(spec, dev);
    const double start = start_of_gpu();
    if (lmr_predict_workload(source, &own, &work)) return larmor_device_open(spec, dev);
    LMR_TRY(larmor_device_open("cpu", dev));
    const double seconds = lmr_predict_seconds(&work, lmr_device_threads(*dev));
    if (seconds < start) {
        snprintf((*dev)->reason, sizeof(*dev)->reason,
                 "auto: %s, expected to take %.2g s, in which a GPU begins and ends (%.2g s); \"cuda\" takes one",
                 (*dev)->spec, seconds, start);
        return LARMOR_OK;
    }
    larmor_device_free(*dev);
    *dev = NULL;
    return larmor_device_open(spec, dev);
}
