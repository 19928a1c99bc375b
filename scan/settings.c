/* The options of a reconstruction: checked once, so that what follows can rely on them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "scan/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "scan/setting_table.h"

larmor_status lmr_options_copy(const larmor_recon_opts *given, larmor_recon_opts *opts)
{
    *opts = (larmor_recon_opts){.size = sizeof *opts};
    if (!given) return LARMOR_OK;
    if (given->size < offsetof(larmor_recon_opts, joint) || given->size > 1 << 16)
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: size is %zu, expected sizeof(larmor_recon_opts), here %zu",
                        given->size, sizeof *opts);
    for (size_t i = sizeof *opts; i < given->size; i++)
        if (((const unsigned char *)given)[i])
            return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "recon: options: an option of a later version of larmor is set");
    memcpy(opts, given, given->size < sizeof *opts ? given->size : sizeof *opts);
    opts->size = sizeof *opts;
    return LARMOR_OK;
}

larmor_regulariser_info lmr_regulariser_named(const char *name)
{
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name && strcmp(name, info.name) != 0;) i++;
    return info;
}

static int is_maps_method(const char *name)
{
    larmor_maps_method_info info;
    for (int i = 0; (info = larmor_maps_method_entry(i)).name; i++)
        if (!strcmp(name, info.name)) return 1;
    return 0;
}

static larmor_status check_numbers(const larmor_recon_opts *o)
{
    LMR_TRY(lmr_settings_check_bounds(o));
    if (o->repeatable && o->effort != LARMOR_PLAN_ESTIMATE)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "recon: options: repeatable and an effort that measures: grids that are chosen by "
                        "times may be others in the next run; leave effort at estimate");
    return LARMOR_OK;
}

static larmor_status check(const larmor_recon_opts *o)
{
    LMR_TRY(check_numbers(o));
    for (int e = 0; e < 6; e++)
        if (!(fabs(o->delay[e]) <= 1000))
            return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: a delay is %g, expected -1000 to 1000 samples",
                            o->delay[e]);
    if (o->girf && !(o->girf_spacing_hz > 0 && o->girf_spacing_hz < 1e9))
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.girf: the spacing of its frequencies is %g Hz, expected more than 0.",
                        o->girf_spacing_hz);
    if (strcmp(o->method, "cg") != 0 && strcmp(o->method, "grid") != 0 && !lmr_regulariser_named(o->method).name)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "recon: options: method \"%s\", expected auto, cg, grid or the name of a regulariser",
                        o->method);
    if (o->no_maps && strcmp(o->method, "grid") != 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.no_maps: only opts.method grid works without coil maps.");
    if (o->no_maps && o->b0)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "opts.no_maps: opts.b0 needs coil maps; take those of the data or of a file.");
    if (!o->b0 && (o->b0_place || o->b0_error > 0 || o->segments))
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: b0_place, b0_error and segments are for b0");
    for (int d = 0; d < 3; d++)
        if (!(o->maps_place.fov_mm[d] >= 0) || !isfinite(o->maps_place.fov_mm[d]))
            return LMR_FAIL(LARMOR_ERR_ARG, "opts.maps_place: got %g mm, expected more than 0",
                            o->maps_place.fov_mm[d]);
    if (o->maps_place.fov_mm[0] > 0 && !o->maps)
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.maps_place: has no effect without maps of a file.");
    if (o->no_maps && o->maps)
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: got maps and no_maps; leave one of them out");
    if (o->basis && !strcmp(o->method, "grid"))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "opts.basis: has no effect with opts.method grid, which has no coefficients.");
    if (!o->basis && (o->coefficients || o->basis_frames))
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: coefficients and basis_frames are for a basis");
    if (o->basis && strcmp(o->method, "cg") != 0 &&
        !(lmr_regulariser_named(o->method).takes & (LARMOR_TAKES_SERIES | LARMOR_TAKES_IMAGES)))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "opts.basis: is not for opts.method %s, which takes single images; use cg, tv, tgv, "
                        "wavelet or llr.",
                        o->method);
    if (strcmp(o->maps_method, "auto") != 0 && !is_maps_method(o->maps_method))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "recon: options: maps_method \"%s\", expected auto or a name of larmor_maps_method_entry",
                        o->maps_method);
    if (o->partial_fourier == LARMOR_PARTIAL_POCS && strcmp(o->method, "cg") != 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.partial_fourier pocs: is for opts.method cg, got %s; use homodyne.",
                        o->method);
    if (o->partial_fourier == LARMOR_PARTIAL_HOMODYNE && !strcmp(o->method, "grid"))
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.partial_fourier homodyne: is not for opts.method grid.");
    if (o->joint && !(lmr_regulariser_named(o->method).takes & LARMOR_TAKES_SERIES))
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: joint is for penalties of series, the method is %s",
                        o->method);
    return LARMOR_OK;
}

const char *lmr_settings_method(const larmor_recon_opts *o)
{
    if (strcmp(o->method, LMR_METHOD_AUTO) != 0) return o->method;
    if (o->joint) return "tv";
    const int only_cg = o->lambda_mode != LARMOR_LAMBDA_AUTO || o->tol != 0 || o->precondition || o->basis ||
                        o->partial_fourier == LARMOR_PARTIAL_POCS;
    return only_cg ? "cg" : NULL;
}

/* Of auto, what its options make it. */
static larmor_status check_method(const larmor_recon_opts *o)
{
    larmor_recon_opts taken = *o;
    const char *method = lmr_settings_method(o);
    taken.method = method ? method : "cg";
    return check(&taken);
}

static larmor_status copy_texts(lmr_settings *s)
{
    const larmor_recon_opts *o = &s->opts;
    s->method = strdup(o->method ? o->method : LMR_METHOD_AUTO);
    s->maps_name = strdup(o->maps_name ? o->maps_name : "maps");
    s->maps_method = strdup(o->maps_method ? o->maps_method : "auto");
    s->b0_name = strdup(o->b0_name ? o->b0_name : "map");
    return s->method && s->maps_name && s->maps_method && s->b0_name ? LARMOR_OK : LMR_NO_MEMORY();
}

static void point_to_copies(lmr_settings *s)
{
    larmor_recon_opts *o = &s->opts;
    o->method = s->method;
    o->maps_name = s->maps_name;
    o->maps_method = s->maps_method;
    o->b0_name = s->b0_name;
    o->only = &s->only;
    if (o->b0_place) o->b0_place = &s->b0_place;
    if (o->readout_start_ms) o->readout_start_ms = &s->readout_start_ms;
}

larmor_status lmr_settings_read(const larmor_recon_opts *opts, lmr_settings *s)
{
    larmor_recon_opts *o = &s->opts;
    LMR_TRY(lmr_options_copy(opts, o));
    larmor_array_ref(o->maps);
    larmor_array_ref(o->b0);
    larmor_array_ref(o->basis);
    larmor_array_ref(o->girf);
    if (o->checkpoint) larmor_checkpoint_ref(o->checkpoint);
    LMR_TRY(copy_texts(s));
    s->only = o->only ? *o->only : (larmor_counters){-1, -1, -1, -1, -1, 0};
    if (o->b0_place) s->b0_place = *o->b0_place;
    if (o->readout_start_ms) s->readout_start_ms = *o->readout_start_ms;
    point_to_copies(s);
    LMR_TRY(check_method(o));
    const char *method = lmr_settings_method(o);
    s->joint = o->joint || o->basis || (method && lmr_regulariser_named(method).takes & LARMOR_NEEDS_SERIES);
    s->eps = o->eps > 0 ? o->eps : 1e-5; /* of a penalty far below what it changes */
    return LARMOR_OK;
}

void lmr_settings_free(lmr_settings *s)
{
    free(s->method);
    free(s->maps_name);
    free(s->maps_method);
    free(s->b0_name);
    larmor_array_free(s->opts.maps);
    larmor_array_free(s->opts.b0);
    larmor_array_free(s->opts.basis);
    larmor_array_free(s->opts.girf);
    larmor_checkpoint_free(s->opts.checkpoint);
    *s = (lmr_settings){.method = NULL};
}
