/* What a reconstruction takes beside the scan: maps, impulse responses, bases. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "choices.h"
#include "map_options.h"
#include "motion_file.h"
#include "recon.h"
#include "stack.h"

/* ---- arrays with slices ---- */

/* [x, y, slices, ...] -> [x, y, largest counter + 1, ...], zero where the scan has no slice. */
static larmor_status place_slices(const int *slice, int count, larmor_array **x)
{
    larmor_shape shape = larmor_array_shape(*x);
    const size_t bytes = larmor_array_bytes(*x),
                 parts = (size_t)(larmor_shape_count(shape) / shape.dim[0] / shape.dim[1] / count);
    const size_t plane = bytes / parts / (size_t)count;
    const larmor_dtype type = larmor_array_dtype(*x);
    int most = 0;
    for (int i = 0; i < count; i++) most = slice[i] > most ? slice[i] : most;
    const size_t volume = plane * (size_t)(most + 1);
    APP_HEAP unsigned char *from = malloc(bytes), *to = calloc(parts, volume);
    if (!from || !to) return NO_MEMORY();
    TRY(larmor_array_read(*x, from, bytes));
    for (size_t p = 0; p < parts; p++)
        for (int i = 0; i < count; i++)
            memcpy(to + p * volume + plane * (size_t)slice[i], from + plane * (p * (size_t)count + (size_t)i), plane);
    larmor_array *placed;
    shape.dim[2] = most + 1;
    TRY(larmor_array_upload(larmor_array_device(*x), type, shape, type, to, &placed));
    larmor_array_free(*x);
    *x = placed;
    return LARMOR_OK;
}

/* Read an array whose third axis, if it has so many dimensions, is that of slices: files have them in the order of
 * their places, the library in that of their counters. */
static larmor_status read_slices(const recon_run *r, const char *path, int ndim, larmor_device *dev, larmor_array **x)
{
    APP_HEAP int *slice = NULL;
    int count;
    TRY(app_read_in_order(path, dev, x));
    const larmor_shape shape = larmor_array_shape(*x);
    if (shape.ndim != ndim || shape.dim[2] < 2) return LARMOR_OK;
    TRY(larmor_source_slices(r->source, (int)r->s->encoding, &slice, &count));
    if (!count) return LARMOR_OK; /* a volume */
    if (shape.dim[2] != count)
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: %lld slices, expected 1 or %d, as the scan has.", path,
                           (long long)shape.dim[2], count);
    app_log_slices(path, slice, count);
    return place_slices(slice, count, x);
}

/* ---- what has none ---- */

/* On the processor: what a GPU that fails holds is lost. */
static larmor_status read_to_host(const char *path, larmor_array **array)
{
    *array = NULL;
    APP_OWN(larmor_device, host, larmor_device_open("cpu:1", &host));
    return app_read_array(path, host, array);
}

static larmor_status read_maps(const recon_run *r, larmor_recon_opts *opts)
{
    if (!recon_maps_from_file(r->s->maps)) return LARMOR_OK;
    const larmor_status st = read_to_host(r->s->maps, &opts->maps);
    return st ? st : map_place(r->s->maps, &r->s->maps_fov, &opts->maps_place);
}

/* The file that --constraint support:FILE names. */
static larmor_status read_support(const recon_run *r, larmor_recon_opts *opts)
{
    larmor_constraint c;
    char path[PATH_MAX];
    if (!opts->constraint) return LARMOR_OK;
    const larmor_status st = larmor_constraint_read(opts->constraint, &c);
    if (st || !c.support) return st;
    snprintf(path, sizeof path, "%.*s", c.support_length, c.support);
    APP_OWN(larmor_device, host, larmor_device_open("cpu:1", &host));
    return read_slices(r, path, 3, host, &opts->support);
}

/* A path has a slash; what has none is the name of a penalty. */
static larmor_status open_prior(const recon_run *r, larmor_recon_opts *opts)
{
    const char *name = r->s->prior;
    if (!name) return LARMOR_OK;
    return strchr(name, '/') ? larmor_prior_open(name, &opts->prior) : larmor_denoiser_named(name, 0, &opts->prior);
}

/* A matrix [frames, ...] of a file that may have dimensions of 1 around it: BART has time as its 6th, coefficients as
 * its 7th. */
static larmor_status read_matrix(const char *path, larmor_array **matrix)
{
    int64_t dim[2] = {1, 1};
    int used = 0;
    APP_OWN(larmor_array, all, read_to_host(path, &all));
    const larmor_shape shape = larmor_array_shape(all);
    for (int d = 0; d < shape.ndim && used < 3; d++)
        if (shape.dim[d] > 1) {
            if (used < 2) dim[used] = shape.dim[d];
            used++;
        }
    return used > 2 || used < 1 ? larmor_fail(LARMOR_ERR_SHAPE, "%s: frames and one more dimension expected", path)
                                : larmor_array_reshape(all, larmor_shape_of(2, dim), matrix);
}

static int read_response(const char *path, larmor_status (*check)(const larmor_array *response), larmor_array **x)
{
    if (!path) return APP_DONE;
    APP_TRY(APP_INPUT, read_to_host(path, x));
    const larmor_status st = check(*x);
    return st ? app_fail_in(APP_INPUT, st, path) : APP_DONE;
}

static larmor_status read_basis(const recon_run *r, larmor_recon_opts *opts)
{
    const recon_settings *s = r->s;
    double kept;
    if (s->basis) return read_matrix(s->basis, &opts->basis);
    if (!s->dictionary) return LARMOR_OK;
    APP_OWN(larmor_array, curves, read_matrix(s->dictionary, &curves));
    TRY(larmor_basis_of_curves(curves, s->opts.coefficients, 0, &opts->basis, &kept));
    opts->coefficients = 0;
    app_log("basis: %lld coefficients hold %.6g of the energy of %s",
            (long long)larmor_array_shape(opts->basis).dim[1], kept, s->dictionary);
    return LARMOR_OK;
}

/* From all echoes, whichever of them are wanted. */
static larmor_status find_b0(const recon_run *r, larmor_recon_opts *opts)
{
    APP_FREED_BY(larmor_field_maps_free) larmor_field_maps found = {0};
    larmor_counters all = *opts->only;
    larmor_recon_opts own = *opts;
    all.contrast = -1;
    own.only = &all;
    own.b0_error = 0;
    own.segments = 0;
    own.readout_start_ms = NULL;
    TRY(larmor_recon_field_maps(r->source, r->dev, &own, NULL, &found));
    opts->b0 = larmor_array_ref(found.all);
    return LARMOR_OK;
}

/* A map that may say where it lies. */
static larmor_status read_map(const recon_run *r, const char *path, larmor_array **map, larmor_image_meta *place,
                              const larmor_image_meta **placed)
{
    larmor_image_info info;
    TRY(larmor_image_describe(path, r->dev, &info));
    *place = info.meta;
    if (!info.has_geometry || info.images != 1) return read_slices(r, path, 3, r->dev, map);
    *placed = place;
    return app_read_array(path, r->dev, map);
}

static larmor_status read_b0(recon_run *r, larmor_recon_opts *opts)
{
    const char *path = r->s->b0;
    if (!path) return LARMOR_OK;
    if (!strcmp(path, "auto")) return find_b0(r, opts);
    return read_map(r, path, &opts->b0, &r->b0_place, &opts->b0_place);
}

static larmor_status read_t2star(recon_run *r, larmor_recon_opts *opts)
{
    const char *path = r->s->t2star;
    return path ? read_map(r, path, &opts->t2star, &r->t2star_place, &opts->t2star_place) : LARMOR_OK;
}

int recon_read_inputs(recon_run *r, larmor_recon_opts *opts)
{
    int code = APP_DONE;
    APP_TRY(APP_INPUT, read_maps(r, opts));
    code = read_response(r->s->girf, larmor_girf_check, &opts->girf);
    if (!code) code = read_response(r->s->girf_b0, larmor_girf_phase_check, &opts->girf_b0);
    if (code) return code;
    APP_TRY(APP_INPUT, read_basis(r, opts));
    APP_TRY(APP_INPUT, read_t2star(r, opts));
    if (r->s->gradient_field)
        APP_TRY(APP_INPUT, larmor_gradient_field_read(r->s->gradient_field, r->dev, &opts->gradient_field));
    if (r->s->displacement) APP_TRY(APP_INPUT, read_slices(r, r->s->displacement, 4, r->dev, &opts->displacement));
    if (r->s->motion_fields) APP_TRY(APP_INPUT, read_slices(r, r->s->motion_fields, 5, r->dev, &opts->motion_fields));
    if (r->s->phase_terms && !choose_is_rows(r->s->phase_terms))
        APP_TRY(APP_INPUT, app_read_array(r->s->phase_terms, r->dev, &opts->phase_terms));
    if (r->s->motion) APP_DO(motion_read(r->s->motion, &opts->motion));
    APP_TRY(APP_INPUT, read_support(r, opts));
    APP_TRY(APP_INPUT, open_prior(r, opts));
    const larmor_status st = read_b0(r, opts);
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    return APP_DONE;
}

void recon_free_inputs(larmor_recon_opts *o)
{
    larmor_array **const read[] = {&o->maps,           &o->b0,           &o->basis,         &o->girf,
                                   &o->t2star,         &o->phase_terms,  &o->girf_b0,       &o->support,
                                   &o->gradient_field, &o->displacement, &o->motion_fields, &o->motion};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        larmor_array_free(*read[i]);
        *read[i] = NULL;
    }
    larmor_denoiser_free(o->prior);
    o->prior = NULL;
}
