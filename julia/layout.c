/* Prints julia/Larmor/src/layout.jl: where members of the library's structs are, and numbers of its enums.
 * Usage: layout > layout.jl
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "larmor/larmor.h"

#define BEGIN(type, name) printf("const %s = (size = %zu", name, sizeof(type))
#define AT(type, member, key) printf(",\n    %s = %zu", key, offsetof(type, member))
#define END() printf(")\n\n")

static void nufft(void)
{
    BEGIN(larmor_nufft_opts, "NUFFT_OPTS");
    AT(larmor_nufft_opts, type, "type");
    AT(larmor_nufft_opts, ndim, "ndim");
    AT(larmor_nufft_opts, modes, "modes");
    AT(larmor_nufft_opts, batch, "batch");
    AT(larmor_nufft_opts, sign, "sign");
    AT(larmor_nufft_opts, tol, "tol");
    AT(larmor_nufft_opts, upsample, "upsample");
    AT(larmor_nufft_opts, width, "width");
    AT(larmor_nufft_opts, dtype, "dtype");
    AT(larmor_nufft_opts, mode_order, "mode_order");
    AT(larmor_nufft_opts, threads, "threads");
    AT(larmor_nufft_opts, effort, "effort");
    AT(larmor_nufft_opts, both_directions, "both_directions");
    END();
}

static void run(void)
{
    BEGIN(larmor_raw_opts, "RAW_OPTS");
    AT(larmor_raw_opts, traj_units, "traj_units");
    END();
    BEGIN(larmor_recon_opts, "RECON_OPTS");
    AT(larmor_recon_opts, listener, "listener");
    AT(larmor_recon_opts, user, "user");
    END();
    BEGIN(larmor_event, "EVENT");
    AT(larmor_event, kind, "kind");
    AT(larmor_event, stage, "stage");
    AT(larmor_event, text, "text");
    AT(larmor_event, step, "step");
    AT(larmor_event, steps, "steps");
    AT(larmor_event, fraction, "fraction");
    END();
    BEGIN(larmor_noise_opts, "NOISE_OPTS");
    AT(larmor_noise_opts, samples, "samples");
    END();
    BEGIN(larmor_noise_maps, "NOISE_MAPS");
    AT(larmor_noise_maps, map, "map");
    AT(larmor_noise_maps, count, "count");
    END();
    BEGIN(larmor_noise_map, "NOISE_MAP");
    AT(larmor_noise_map, deviation, "deviation");
    AT(larmor_noise_map, g, "g");
    END();
}

static void result(void)
{
    BEGIN(larmor_recon_result, "RESULT");
    AT(larmor_recon_result, image, "image");
    AT(larmor_recon_result, count, "count");
    AT(larmor_recon_result, report, "report");
    END();
    BEGIN(larmor_recon_image, "IMAGE");
    AT(larmor_recon_image, data, "data");
    AT(larmor_recon_image, meta, "meta");
    END();
    BEGIN(larmor_image_meta, "META");
    AT(larmor_image_meta, fov_mm, "fov_mm");
    AT(larmor_image_meta, position_mm, "position_mm");
    AT(larmor_image_meta, read_dir, "read_dir");
    AT(larmor_image_meta, phase_dir, "phase_dir");
    AT(larmor_image_meta, slice_dir, "slice_dir");
    AT(larmor_image_meta, slice, "slice");
    AT(larmor_image_meta, contrast, "contrast");
    AT(larmor_image_meta, phase, "phase");
    AT(larmor_image_meta, repetition, "repetition");
    AT(larmor_image_meta, set, "set");
    END();
    BEGIN(larmor_recon_report, "REPORT");
    AT(larmor_recon_report, status, "status");
    AT(larmor_recon_report, message, "message");
    AT(larmor_recon_report, is_suspect, "is_suspect");
    AT(larmor_recon_report, interrupted, "interrupted");
    AT(larmor_recon_report, method.name, "method");
    AT(larmor_recon_report, solver.iters, "iterations");
    AT(larmor_recon_report, lambda, "lambda");
    AT(larmor_recon_report, noise, "noise");
    AT(larmor_recon_report, misfit.relative, "misfit");
    AT(larmor_recon_report, grid, "grid");
    AT(larmor_recon_report, seconds, "seconds");
    AT(larmor_recon_report, device, "device");
    END();
}

static void names(void)
{
    printf("const STATUS = (OK = %d, ERR_UNSUPPORTED = %d)\n\n", LARMOR_OK, LARMOR_ERR_UNSUPPORTED);
    printf("const EVENT_KIND = (log = %d, warning = %d)\n\n", LARMOR_EVENT_LOG, LARMOR_EVENT_WARNING);
    printf("const SETTING_NONE = %d\n\n", LARMOR_SETTING_NONE);
}

int main(void)
{
    printf("# Where members of the library's structs are, in bytes, and numbers of its enums.\n"
           "# Made by julia/layout.c of larmor %s. SPDX-License-Identifier: Apache-2.0\n\n"
           "const VERSION_OF_LAYOUT = \"%s\"\n\n",
           LARMOR_VERSION, LARMOR_VERSION);
    names();
    nufft();
    run();
    result();
    return 0;
}
