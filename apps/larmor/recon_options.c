/* The options of recon: which exclude each other, and their translation to those of the library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "choices.h"
#include "map_options.h"
#include "recon.h"
#include "scan.h"

const char *recon_method(const recon_settings *s)
{
    if (s->opts.reg) return s->opts.reg;
    return s->opts.method ? s->opts.method : "auto";
}

/* Whether the settings are so. */
#define WHETHER(name, condition)                                                                                     \
    static int name(const recon_settings *s)                                                                         \
    {                                                                                                                \
        return condition;                                                                                            \
    }

WHETHER(iterates, strcmp(recon_method(s), "grid") != 0)
/* 1 if the method is one that coil maps have no part in. */
WHETHER(needs_no_maps, !strcmp(recon_method(s), "clear"))
WHETHER(estimates_maps, !needs_no_maps(s) && strcmp(s->maps, "none") != 0 && !recon_maps_from_file(s->maps))
WHETHER(finds_eigenvalues, !strcmp(s->maps, "espirit") || !strcmp(s->maps, "auto"))
WHETHER(finds_sets, finds_eigenvalues(s) || !strcmp(s->maps, "nlinv"))
WHETHER(reads_maps, recon_maps_from_file(s->maps))
WHETHER(looks_at_centre, estimates_maps(s) && strcmp(s->maps, "nlinv") != 0)

/* Whether one of the outputs is so. */
#define SOME_OUTPUT(name, is_so)                                                                                     \
    static int name(const recon_settings *s)                                                                         \
    {                                                                                                                \
        int files = 0;                                                                                               \
        for (int i = 0; i < s->outputs.count; i++) files += is_so(s->outputs.text[i]);                               \
        return files > 0;                                                                                            \
    }
#define IS_PICTURE(path) larmor_format_of(path).is_picture
#define TAKES_SIDECAR(path) larmor_format_of(path).has_sidecar
SOME_OUTPUT(has_window, app_has_window)
SOME_OUTPUT(has_picture, IS_PICTURE)
SOME_OUTPUT(has_film, app_is_film)
SOME_OUTPUT(has_dicom, app_is_dicom)
SOME_OUTPUT(has_sidecar, TAKES_SIDECAR)

WHETHER(makes_density, (!iterates(s) || s->opts.weighted) && s->opts.density != LARMOR_DENSITY_NONE)
WHETHER(has_windows, s->spokes_per_frame || s->frame_time > 0)
WHETHER(has_stamps, s->cardiac_phases || s->frame_time > 0 || s->bins)
WHETHER(has_checkpoint, s->checkpoint != NULL)
WHETHER(has_gate, s->cardiac_phases != 0)
WHETHER(has_bands, (s->multiband) && strcmp(s->multiband, "off") != 0)
WHETHER(has_bins, s->bins != NULL)
WHETHER(has_maps, strcmp(s->maps, "none") != 0)
WHETHER(has_noise_map, s->noise_map || s->snr_map || s->g_map)
WHETHER(has_report, s->report || s->json)
WHETHER(has_point_map, s->height_map || s->width_map)
WHETHER(has_posterior, s->posterior_map || s->posterior_mean)

const char *recon_made_maps(const recon_settings *s)
{
    if (has_noise_map(s)) return "--noise-map, --snr-map and --g-map";
    if (has_point_map(s)) return "--height-map and --width-map";
    return has_posterior(s) ? "--posterior-map and --posterior-mean" : NULL;
}

larmor_frames_opts recon_frames(const recon_settings *s)
{
    return (larmor_frames_opts){.spokes = s->spokes_per_frame,
                                .ms = s->frame_time,
                                .phases = (int)s->cardiac_phases,
                                .step = s->frame_step,
                                .gate = (int)s->gate,
                                .tick_ms = s->tick,
                                .join_rest = !strcmp(s->frame_rest, "join")};
}

/* An option of the program that is of some choices of another one alone. */
static const struct {
    const char *option;
    int (*used)(const recon_settings *s);
    const char *with, *of; /* the other one, and its choices that use the option */
} rules[] = {
    {"calibration", looks_at_centre, "maps", "maps from the data"},
    {"save-maps", estimates_maps, "maps", "maps from the data"},
    {"maps-fov", reads_maps, "maps", "--maps FILE"},
    {"normalise", estimates_maps, "maps", "maps from the data"},
    {"map-sets", finds_sets, "maps", "--maps espirit and nlinv"},
    {"crop", finds_eigenvalues, "maps", "--maps espirit"},
    {"save-density", makes_density, "method", "--method grid and of --weighted, without --dcf none"},
    {"noise-map", has_maps, "maps", "images by coil maps"},
    {"snr-map", has_maps, "maps", "images by coil maps"},
    {"g-map", has_maps, "maps", "images by coil maps"},
    {"height-map", has_maps, "maps", "images by coil maps"},
    {"width-map", has_maps, "maps", "images by coil maps"},
    {"posterior-map", has_maps, "maps", "images by coil maps"},
    {"posterior-mean", has_maps, "maps", "images by coil maps"},
    {"window", has_window, "output", "a .png, a .gif, a .dcm or a .dcm/"},
    {"planes", has_picture, "output", "a .png or a .gif"},
    {"color", has_picture, "output", "a .png or a .gif"},
    {"fps", has_film, "output", "a .gif"},
    {"dicom-phase", has_dicom, "output", "a .dcm or a .dcm/"},
    {"anonymous", has_dicom, "output", "a .dcm or a .dcm/"},
    {"bids", has_sidecar, "output", "a .nii or a .nii.gz"},
};

/* An option that says more about another one. */
static const struct {
    const char *option;
    int (*used)(const recon_settings *s);
    const char *with;
} needs[] = {
    {"frame-step", has_windows, "--spokes-per-frame or --frame-time"},
    {"frame-rest", has_windows, "--spokes-per-frame or --frame-time"},
    {"checkpoint-every", has_checkpoint, "--checkpoint"},
    {"report-noise", has_report, "--report or --json"},
    {"noise-samples", has_noise_map, "--noise-map, --snr-map or --g-map"},
    {"posterior-samples", has_posterior, "--posterior-map or --posterior-mean"},
    {"probes", has_point_map, "--height-map or --width-map"},
    {"point-contrast", has_point_map, "--height-map or --width-map"},
    {"gate", has_gate, "--cardiac-phases"},
    {"gating", has_bins, "--bins"},
    {"gating-plot", has_bins, "--bins"},
    {"multiband-phase", has_bands, "--multiband"},
    {"tick", has_stamps, "--frame-time, --cardiac-phases or --bins"},
};

static int ends_in(const char *path, const char *suffix)
{
    return !strcasecmp(app_suffix(path), suffix);
}

static int is_array(const char *path)
{
    return larmor_format_of(path).saves;
}

/* Those of the library, before the files that they need are read. */
static int check_settings(const recon_settings *s)
{
    larmor_recon_opts opts;
    larmor_counters only;
    char later[160];
    recon_read_options(s, &opts, &only);
    snprintf(later, sizeof later, "%s %s %s %s %s %s %s %s %s %s %s", reads_maps(s) ? "maps" : "", s->b0 ? "b0" : "",
             s->girf ? "girf" : "", s->girf_b0 ? "girf_b0" : "", s->basis || s->dictionary ? "basis" : "",
             s->t2star ? "t2star" : "", s->phase_terms ? "phase_terms" : "",
             s->gradient_field ? "gradient_field" : "", s->displacement ? "displacement" : "",
             s->motion ? "motion" : "", s->motion_fields ? "motion_fields" : "");
    APP_TRY(APP_INPUT, larmor_settings_check(&opts, later));
    return APP_DONE;
}

/* Those that need a prior are checked by themselves: it is loaded later. */
static int check_with_prior(const recon_settings *s)
{
    recon_settings others = *s;
    larmor_recon_opts opts;
    larmor_counters only;
    if (!s->prior) return check_settings(s);
    others.opts.prior_method = LARMOR_PNP_ADMM;
    others.opts.prior_sigma = 0;
    const int code = check_settings(&others);
    recon_read_options(s, &opts, &only);
    if (code) return code;
    APP_TRY(APP_INPUT, larmor_settings_check(&opts, "prior"));
    return APP_DONE;
}

int recon_check_options(const app_command *command, const recon_settings *s)
{
    APP_DO(check_with_prior(s));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].used(s) || !app_differs(command, s, rules[i].option)) continue;
        const char *choice = s->outputs.count ? s->outputs.text[0] : "-";
        if (!strcmp(rules[i].with, "method")) choice = recon_method(s);
        const int is_of_maps = !strcmp(rules[i].with, "maps");
        if (is_of_maps) choice = needs_no_maps(s) ? recon_method(s) : s->maps;
        return app_refuse(APP_USAGE, "--%s: has no effect with --%s %s; it is an option of %s.", rules[i].option,
                          is_of_maps && needs_no_maps(s) ? "method" : rules[i].with, choice, rules[i].of);
    }
    if ((s->spokes_per_frame != 0) + (s->frame_time > 0) + (s->cardiac_phases != 0) + (s->bins != NULL) > 1)
        return app_refuse(
            APP_USAGE,
            "--spokes-per-frame, --frame-time, --cardiac-phases and --bins exclude each other; give one of them.");
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].used(s) || !app_differs(command, s, needs[i].option)) continue;
        return app_refuse(APP_USAGE, "--%s: has no effect without %s.", needs[i].option, needs[i].with);
    }
    const int finds_maps = !strcmp(recon_method(s), "nlinv");
    const char *without = s->checkpoint ? "--checkpoint" : NULL;
    if (s->opts.constraint) without = "--constraint";
    if (s->prior) without = "--prior";
    if (finds_maps) without = "--method nlinv";
    if (needs_no_maps(s)) without = "--method clear";
    if (without && recon_made_maps(s))
        return app_refuse(APP_USAGE, "%s: there are none with %s.", recon_made_maps(s), without);
    if (s->basis && s->dictionary)
        return app_refuse(APP_USAGE, "--basis and --dictionary exclude each other; give one of them.");
    if (s->spokes_per_frame && s->frame_step != floor(s->frame_step))
        return app_refuse(APP_USAGE,
                          "--frame-step %g: a whole number of readouts expected, as for --spokes-per-frame.",
                          s->frame_step);
    if (s->save_maps && !is_array(s->save_maps) && !ends_in(s->save_maps, ".h5") && !ends_in(s->save_maps, ".png"))
        return app_refuse(APP_USAGE, "--save-maps %s: a name that ends in .cfl, .npy, .h5 or .png expected.",
                          s->save_maps);
    for (int i = 0; s->bids_dir && i < s->outputs.count; i++) {
        const char *name = s->outputs.text[i];
        larmor_part part;
        if (larmor_format_of(name).has_sidecar && !larmor_bids_part(name, &part)) continue;
        return app_refuse(APP_USAGE, "--bids-dir: --output %s: %s.", name,
                          larmor_format_of(name).has_sidecar ? larmor_last_error() : "a .nii or a .nii.gz expected");
    }
    if (s->bids_anew && !s->bids_dir) return app_refuse(APP_USAGE, "--bids-anew: has no effect without --bids-dir.");
    if (s->report && !ends_in(s->report, ".html"))
        return app_refuse(APP_USAGE, "--report %s: a name that ends in .html expected.", s->report);
    if (s->save_density && !is_array(s->save_density))
        return app_refuse(APP_USAGE, "--save-density %s: a name that ends in .cfl or .npy expected.",
                          s->save_density);
    if (s->save_motion && !ends_in(s->save_motion, ".npy"))
        return app_refuse(APP_USAGE, "--save-motion %s: a name that ends in .npy expected.", s->save_motion);
    if (s->save_motion && !s->opts.motion_states)
        return app_refuse(APP_USAGE, "--save-motion: has no effect without --motion-states.");
    return app_check_window(&s->window);
}

int recon_is_prior(const char *text)
{
    larmor_penalties p;
    return (strchr(text, '/') && strstr(text, ".so")) || !larmor_regulariser_read(text, &p);
}

int recon_are_delays(const char *text)
{
    enum { MAX_DELAY = 1000 }; /* samples */
    app_list list;
    double delay[6];
    if (!strcmp(text, "auto") || !strcmp(text, "off")) return 1;
    if (!app_read_numbers(text, APP_MAX_NUMBERS, 0, &list)) return 0;
    for (int i = 0; i < list.count; i++)
        if (fabs(list.value[i]) > MAX_DELAY) return 0;
    return scan_delays(2, &list, delay) || scan_delays(3, &list, delay);
}

int recon_read_delays(const recon_settings *s, const larmor_raw *raw, larmor_recon_opts *opts)
{
    larmor_encoding encoding;
    app_list list;
    if (!strcmp(s->delays, "auto")) return APP_DONE;
    opts->delays = LARMOR_DELAYS_OFF;
    if (!strcmp(s->delays, "off")) return APP_DONE;
    const larmor_status st = larmor_raw_encoding(raw, 0, &encoding);
    if (st) return app_fail(APP_INPUT, st);
    opts->delays = LARMOR_DELAYS_GIVEN;
    if (app_read_numbers(s->delays, APP_MAX_NUMBERS, 0, &list) && scan_delays(encoding.ndim, &list, opts->delay))
        return APP_DONE;
    return app_refuse(APP_USAGE, "--delays \"%s\": auto, off or numbers; %s.", s->delays,
                      scan_delays_expected(encoding.ndim));
}

larmor_raw_opts recon_raw(const recon_settings *s)
{
    larmor_raw_opts raw = s->raw;
    for (int d = 0; d < s->shift.count; d++) raw.shift_mm[d] = s->shift.value[d];
    raw.phase_terms = choose_is_rows(s->phase_terms) ? s->phase_terms : NULL;
    return raw;
}

void recon_read_options(const recon_settings *s, larmor_recon_opts *opts, larmor_counters *only)
{
    *only = (larmor_counters){(int)s->slice,      (int)s->contrast, (int)s->phase,
                              (int)s->repetition, (int)s->set,      (int)s->encoding + 1};
    *opts = s->opts;
    opts->size = sizeof *opts;
    opts->only = only;
    opts->no_maps = !strcmp(s->maps, "none");
    opts->maps_name = s->maps;
    if (strcmp(s->maps, "none") != 0 && !recon_maps_from_file(s->maps)) opts->maps_method = s->maps;
    opts->b0_name = s->b0;
    opts->t2star_name = s->t2star;
    opts->keep_density = s->save_density != NULL;
    if (!isnan(s->readout_start)) opts->readout_start_ms = &s->readout_start;
}
