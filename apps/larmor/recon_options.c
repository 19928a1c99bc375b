/* Options of recon that do not go together. SPDX-License-Identifier: Apache-2.0 */
#include "recon_options.h"

#include <string.h>
#include <strings.h>

static int is_method(const recon_settings *s, const char *name)
{
    return !strcmp(s->method, name);
}

static int iterates(const recon_settings *s)
{
    return !is_method(s, "grid");
}

/* Gridding has neither, so to ask for none is no mistake. */
static int has_toeplitz(const recon_settings *s)
{
    return iterates(s) || !strcmp(s->toeplitz, "off");
}

static int has_precond(const recon_settings *s)
{
    return iterates(s) || !strcmp(s->precond, "none");
}

static int has_frames(const recon_settings *s)
{
    return is_method(s, "tv") || is_method(s, "llr");
}

static int has_time(const recon_settings *s)
{
    return is_method(s, "tv") && s->joint;
}

static int has_blocks(const recon_settings *s)
{
    return is_method(s, "llr");
}

static int has_density(const recon_settings *s)
{
    return !iterates(s) || s->weighted || !strcmp(s->dcf, "none");
}

static int estimates_maps(const recon_settings *s)
{
    return !strcmp(s->maps, "auto");
}

static int has_picture(const recon_settings *s)
{
    int pictures = 0;
    for (int i = 0; i < s->outputs.count; i++) pictures += app_is_picture(s->outputs.text[i]);
    return pictures > 0;
}

static int makes_density(const recon_settings *s)
{
    return (!iterates(s) || s->weighted) && strcmp(s->dcf, "none") != 0;
}

/* An option that is of some choices of another one alone. */
typedef struct rule {
    const char *option;
    int (*used)(const recon_settings *s);
    const char *with, *of; /* the other one, and its choices that use the option */
} rule;

#define ITERATIVE "--method cg, tv, tgv, wavelet and llr"
static const rule rules[] = {
    {"iters", iterates, "method", ITERATIVE},
    {"tol", iterates, "method", ITERATIVE},
    {"lambda", iterates, "method", ITERATIVE},
    {"toeplitz", has_toeplitz, "method", ITERATIVE},
    {"precond", has_precond, "method", ITERATIVE},
    {"joint", has_frames, "method", "--method tv and llr"},
    {"time-weight", has_time, "method", "--method tv --joint"},
    {"block", has_blocks, "method", "--method llr"},
    {"dcf", has_density, "method", "--method grid and of --weighted"},
    {"calibration", estimates_maps, "maps", "--maps auto"},
    {"save-maps", estimates_maps, "maps", "--maps auto"},
    {"save-density", makes_density, "method", "--method grid and of --weighted, without --dcf none"},
    {"window", has_picture, "output", "a .png"},
};

static int ends_in(const char *path, const char *suffix)
{
    return !strcasecmp(app_suffix(path), suffix);
}

static int is_array(const char *path)
{
    return ends_in(path, ".cfl") || ends_in(path, ".npy");
}

int recon_check_options(const app_command *command, const recon_settings *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if (r->used(s) || !app_differs(command, s, r->option)) continue;
        const char *choice = !strcmp(r->with, "method") ? s->method
                             : !strcmp(r->with, "maps") ? s->maps
                                                        : s->outputs.text[0];
        app_error("--%s: has no effect with --%s %s; it is an option of %s.", r->option, r->with, choice, r->of);
        return APP_USAGE;
    }
    if (!strcmp(s->maps, "none") && iterates(s)) {
        app_error("--maps none: only --method grid works without coil maps.");
        return APP_USAGE;
    }
    if (s->save_maps && !is_array(s->save_maps) && !ends_in(s->save_maps, ".h5")) {
        app_error("--save-maps %s: a name that ends in .cfl, .npy or .h5 expected.", s->save_maps);
        return APP_USAGE;
    }
    if (s->save_density && !is_array(s->save_density)) {
        app_error("--save-density %s: a name that ends in .cfl or .npy expected.", s->save_density);
        return APP_USAGE;
    }
    return app_check_window(&s->window);
}
