/* The options of recon: which exclude each other, and their translation to those of the library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon_options.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "map_options.h"
#include "scan.h"

const char *recon_method(const recon_settings *s)
{
    return s->opts.method ? s->opts.method : "auto";
}

static int is_method(const recon_settings *s, const char *name)
{
    return !strcmp(recon_method(s), name);
}

static int iterates(const recon_settings *s)
{
    return !is_method(s, "grid");
}

/* Gridding has neither, so to ask for none is no mistake. */
static int has_toeplitz(const recon_settings *s)
{
    return iterates(s) || s->opts.toeplitz < 0;
}

static int has_partial(const recon_settings *s)
{
    return iterates(s) || s->opts.partial_fourier == LARMOR_PARTIAL_ZERO;
}

static int has_precond(const recon_settings *s)
{
    return iterates(s) || s->opts.precondition < 0;
}

static int method_takes(const recon_settings *s, unsigned what)
{
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name; i++)
        if (is_method(s, info.name)) return (info.takes & what) == what;
    return 0;
}

static int has_frames(const recon_settings *s)
{
    return is_method(s, "auto") || method_takes(s, LARMOR_TAKES_SERIES);
}

static int has_time(const recon_settings *s)
{
    return (is_method(s, "auto") || method_takes(s, LARMOR_TAKES_TIME)) && s->opts.joint;
}

static int has_blocks(const recon_settings *s)
{
    return method_takes(s, LARMOR_TAKES_BLOCK);
}

static int has_density(const recon_settings *s)
{
    return !iterates(s) || s->opts.weighted || s->opts.density == LARMOR_DENSITY_NONE;
}

static int estimates_maps(const recon_settings *s)
{
    return strcmp(s->maps, "none") != 0 && !recon_maps_from_file(s->maps);
}

static int finds_eigenvalues(const recon_settings *s)
{
    return !strcmp(s->maps, "espirit") || !strcmp(s->maps, "auto");
}

static int finds_sets(const recon_settings *s)
{
    return finds_eigenvalues(s) || !strcmp(s->maps, "nlinv");
}

static int reads_maps(const recon_settings *s)
{
    return recon_maps_from_file(s->maps);
}

static int looks_at_centre(const recon_settings *s)
{
    return estimates_maps(s) && strcmp(s->maps, "nlinv") != 0;
}

static int has_window(const recon_settings *s)
{
    int pictures = 0;
    for (int i = 0; i < s->outputs.count; i++) pictures += app_has_window(s->outputs.text[i]);
    return pictures > 0;
}

static int has_picture(const recon_settings *s)
{
    int pictures = 0;
    for (int i = 0; i < s->outputs.count; i++) pictures += larmor_format_of(s->outputs.text[i]).is_picture;
    return pictures > 0;
}

static int has_film(const recon_settings *s)
{
    int films = 0;
    for (int i = 0; i < s->outputs.count; i++) films += app_is_film(s->outputs.text[i]);
    return films > 0;
}

static int has_dicom(const recon_settings *s)
{
    int files = 0;
    for (int i = 0; i < s->outputs.count; i++) files += app_is_dicom(s->outputs.text[i]);
    return files > 0;
}

static int has_sidecar(const recon_settings *s)
{
    int files = 0;
    for (int i = 0; i < s->outputs.count; i++) files += larmor_format_of(s->outputs.text[i]).has_sidecar;
    return files > 0;
}

static int makes_density(const recon_settings *s)
{
    return (!iterates(s) || s->opts.weighted) && s->opts.density != LARMOR_DENSITY_NONE;
}

static int has_windows(const recon_settings *s)
{
    return s->spokes_per_frame || s->frame_time > 0;
}

static int has_stamps(const recon_settings *s)
{
    return s->cardiac_phases || s->frame_time > 0;
}

static int has_basis(const recon_settings *s)
{
    return s->basis || s->dictionary;
}

static int has_gate(const recon_settings *s)
{
    return s->cardiac_phases != 0;
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

/* An option that is of some choices of another one alone. */
typedef struct rule {
    const char *option;
    int (*used)(const recon_settings *s);
    const char *with, *of; /* the other one, and its choices that use the option; METHODS: those that take it */
    unsigned takes;        /* as in larmor_regulariser_info; 0: all that iterate */
} rule;

#define METHODS "--method"
static const rule rules[] = {
    {"iters", iterates, "method", METHODS, 0},
    {"tol", iterates, "method", METHODS, 0},
    {"lambda", iterates, "method", METHODS, 0},
    {"toeplitz", has_toeplitz, "method", METHODS, 0},
    {"partial-fourier", has_partial, "method", METHODS, 0},
    {"precond", has_precond, "method", METHODS, 0},
    {"joint", has_frames, "method", METHODS, LARMOR_TAKES_SERIES},
    {"time-weight", has_time, "method", METHODS, LARMOR_TAKES_TIME},
    {"block", has_blocks, "method", METHODS, LARMOR_TAKES_BLOCK},
    {"dcf", has_density, "method", "--method grid and of --weighted", 0},
    {"calibration", looks_at_centre, "maps", "maps from the data", 0},
    {"save-maps", estimates_maps, "maps", "maps from the data", 0},
    {"maps-fov", reads_maps, "maps", "--maps FILE", 0},
    {"normalise", estimates_maps, "maps", "maps from the data", 0},
    {"map-sets", finds_sets, "maps", "--maps espirit and nlinv", 0},
    {"crop", finds_eigenvalues, "maps", "--maps espirit", 0},
    {"save-density", makes_density, "method", "--method grid and of --weighted, without --dcf none", 0},
    {"window", has_window, "output", "a .png, a .gif, a .dcm or a .dcm/", 0},
    {"planes", has_picture, "output", "a .png or a .gif", 0},
    {"color", has_picture, "output", "a .png or a .gif", 0},
    {"fps", has_film, "output", "a .gif", 0},
    {"dicom-phase", has_dicom, "output", "a .dcm or a .dcm/", 0},
    {"anonymous", has_dicom, "output", "a .dcm or a .dcm/", 0},
    {"bids", has_sidecar, "output", "a .nii or a .nii.gz", 0},
};

/* An option that says more about another one. */
static const struct {
    const char *option;
    int (*used)(const recon_settings *s);
    const char *with;
} needs[] = {
    {"frame-step", has_windows, "--spokes-per-frame or --frame-time"},
    {"frame-rest", has_windows, "--spokes-per-frame or --frame-time"},
    {"rank", has_basis, "--basis or --dictionary"},
    {"basis-images", has_basis, "--basis or --dictionary"},
    {"gate", has_gate, "--cardiac-phases"},
    {"tick", has_stamps, "--frame-time or --cardiac-phases"},
};

/* "--method cg, tv and llr" */
static void name_methods(const rule *r, char *text, size_t size)
{
    const char *names[32] = {"auto", "cg"};
    int count = r->takes ? 0 : 2;
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name && count < 32; i++)
        if ((info.takes & r->takes) == r->takes) names[count++] = info.name;
    size_t used = (size_t)snprintf(text, size, METHODS);
    for (int i = 0; i < count && used < size; i++) {
        const char *comma = i + 1 < count ? ", " : " and ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? comma : " ", names[i]);
    }
    if (r->takes == LARMOR_TAKES_TIME && used < size) snprintf(text + used, size - used, " --joint");
}

static int ends_in(const char *path, const char *suffix)
{
    return !strcasecmp(app_suffix(path), suffix);
}

static int is_array(const char *path)
{
    return larmor_format_of(path).saves;
}

int recon_check_options(const app_command *command, const recon_settings *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if (r->used(s) || !app_differs(command, s, r->option)) continue;
        const char *choice = s->outputs.count ? s->outputs.text[0] : "-";
        if (!strcmp(r->with, "method")) choice = recon_method(s);
        if (!strcmp(r->with, "maps")) choice = s->maps;
        char of[256];
        snprintf(of, sizeof of, "%s", r->of);
        if (!strcmp(of, METHODS)) name_methods(r, of, sizeof of);
        app_error("--%s: has no effect with --%s %s; it is an option of %s.", r->option, r->with, choice, of);
        return APP_USAGE;
    }
    if ((s->spokes_per_frame != 0) + (s->frame_time > 0) + (s->cardiac_phases != 0) > 1) {
        app_error("--spokes-per-frame, --frame-time and --cardiac-phases exclude each other; give one of them.");
        return APP_USAGE;
    }
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].used(s) || !app_differs(command, s, needs[i].option)) continue;
        app_error("--%s: has no effect without %s.", needs[i].option, needs[i].with);
        return APP_USAGE;
    }
    if (s->basis && s->dictionary) {
        app_error("--basis and --dictionary exclude each other; give one of them.");
        return APP_USAGE;
    }
    if (s->spokes_per_frame && s->frame_step != floor(s->frame_step)) {
        app_error("--frame-step %g: a whole number of readouts expected, as for --spokes-per-frame.", s->frame_step);
        return APP_USAGE;
    }
    if (!s->checkpoint && app_differs(command, s, "checkpoint-every")) {
        app_error("--checkpoint-every: has no effect without --checkpoint.");
        return APP_USAGE;
    }
    if (!s->girf != !(s->opts.girf_spacing_hz > 0)) {
        app_error("--girf and --girf-spacing: give both or neither.");
        return APP_USAGE;
    }
    static const char *const of_b0[] = {"b0-error", "segments", "readout-start"};
    for (size_t i = 0; !s->b0 && i < sizeof of_b0 / sizeof *of_b0; i++)
        if (app_differs(command, s, of_b0[i])) {
            app_error("--%s: has no effect without --b0.", of_b0[i]);
            return APP_USAGE;
        }
    if (!strcmp(s->maps, "none") && s->b0) {
        app_error("--maps none: --b0 needs coil maps; use --maps auto or a file.");
        return APP_USAGE;
    }
    if (!strcmp(s->maps, "none") && iterates(s)) {
        app_error("--maps none: only --method grid works without coil maps.");
        return APP_USAGE;
    }
    if (s->save_maps && !is_array(s->save_maps) && !ends_in(s->save_maps, ".h5") && !ends_in(s->save_maps, ".png")) {
        app_error("--save-maps %s: a name that ends in .cfl, .npy, .h5 or .png expected.", s->save_maps);
        return APP_USAGE;
    }
    for (int i = 0; s->bids_dir && i < s->outputs.count; i++) {
        const char *name = s->outputs.text[i];
        larmor_part part;
        if (larmor_format_of(name).has_sidecar && !larmor_bids_part(name, &part)) continue;
        app_error("--bids-dir: --output %s: %s.", name,
                  larmor_format_of(name).has_sidecar ? larmor_last_error() : "a .nii or a .nii.gz expected");
        return APP_USAGE;
    }
    if (s->bids_anew && !s->bids_dir) {
        app_error("--bids-anew: has no effect without --bids-dir.");
        return APP_USAGE;
    }
    if (s->report && !ends_in(s->report, ".html")) {
        app_error("--report %s: a name that ends in .html expected.", s->report);
        return APP_USAGE;
    }
    if (s->save_density && !is_array(s->save_density)) {
        app_error("--save-density %s: a name that ends in .cfl or .npy expected.", s->save_density);
        return APP_USAGE;
    }
    return app_check_window(&s->window);
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
    app_error("--delays \"%s\": auto, off or numbers; %s.", s->delays, scan_delays_expected(encoding.ndim));
    return APP_USAGE;
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
    if (!s->b0) opts->b0_error = 0;
    opts->keep_density = s->save_density != NULL;
    if (!isnan(s->readout_start)) opts->readout_start_ms = &s->readout_start;
}
