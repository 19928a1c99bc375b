/* What a page shows beside images: figures and curves of each, coil maps, the trajectory. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/images/picture.h"
#include "io/page/parts.h"

enum { MOST_COILS = 64, MAP_SIDE = 64 };                         /* of a page; voxels of a map along each axis */
enum { MOST_POINTS = 20000, MOST_OF_READOUT = 400, RINGS = 24 }; /* of the trajectory; of the radius of k-space */
enum { MAPS_ROOM = 1 << 20 };                                    /* characters */

/* ---- how images came about ---- */

static void add_figure(lmr_bytes *b, const char *name, const char *format, double value)
{
    char text[64];
    const size_t size = b->size;
    snprintf(text, sizeof text, format, value);
    lmr_bytes_print(b, "%s[", size && b->data[size - 1] == ']' ? "," : "");
    lmr_json_string(b, name);
    lmr_bytes_print(b, ",");
    lmr_json_string(b, text);
    lmr_bytes_print(b, "]");
}

static void add_text(lmr_bytes *b, const char *name, const char *text)
{
    lmr_bytes_print(b, "%s[", b->size && b->data[b->size - 1] == ']' ? "," : "");
    lmr_json_string(b, name);
    lmr_bytes_print(b, ",");
    lmr_json_string(b, text);
    lmr_bytes_print(b, "]");
}

static void add_figures(lmr_bytes *b, const larmor_recon_report *r)
{
    char text[96];
    const int iterates = r->solver.iters > 0;
    if (r->method.name[0]) add_text(b, "method", r->method.name);
    for (int i = 0; i < r->method.compared; i++) {
        snprintf(text, sizeof text, "%s leaves of what is held out", r->method.trial[i].name);
        add_figure(b, text, "%.4f", r->method.trial[i].misfit);
    }
    if (r->weight > 0) add_figure(b, "weight of the penalty", "%.3g", r->weight);
    if (r->noise > 0) add_figure(b, "noise of a sample", "%.3g", r->noise);
    if (r->image_noise > 0) add_figure(b, "noise in the image, relative to it", "%.3g", r->image_noise);
    if (r->choice.intensity > 0) add_figure(b, "part of the object's intensity", "%.3f", r->choice.intensity);
    if (iterates) add_figure(b, "iterations", "%.0f", r->solver.iters);
    if (iterates) add_figure(b, "residual", "%.2e", r->solver.residual);
    if (r->misfit.measured) {
        add_figure(b, "misfit, of the samples", "%.4f", r->misfit.relative);
        add_figure(b, "misfit beyond noise", "%.4f", r->misfit.beyond_noise);
        if (r->misfit.chi2 > 0) add_figure(b, "chi squared per degree of freedom", "%.3f", r->misfit.chi2);
    }
    snprintf(text, sizeof text, "%" PRId64 " x %" PRId64 " x %" PRId64, r->grid[0], r->grid[1], r->grid[2]);
    if (r->grid[0] > 0) add_text(b, "grid", text);
    if (r->device[0]) add_text(b, "device", r->device);
    if (r->seconds > 0) add_figure(b, "seconds", "%.2f", r->seconds);
}

static void add_numbers(lmr_bytes *b, const double *value, int count)
{
    lmr_bytes_print(b, "[");
    for (int i = 0; i < count; i++) {
        lmr_bytes_print(b, i ? "," : "");
        lmr_json_number(b, value[i], 5);
    }
    lmr_bytes_print(b, "]");
}

static void add_report(lmr_bytes *b, const larmor_recon_report *r)
{
    lmr_bytes_print(b, "{\"figures\":[");
    add_figures(b, r);
    lmr_bytes_print(b, "],\"rings\":");
    add_numbers(b, r->misfit.by_radius, r->misfit.measured ? LARMOR_MISFIT_RINGS : 0);
    lmr_bytes_print(b, ",\"weights\":");
    add_numbers(b, r->choice.weights, r->choice.points);
    lmr_bytes_print(b, ",\"misfits\":");
    add_numbers(b, r->choice.misfits, r->choice.points);
    lmr_bytes_print(b, ",\"chosen\":");
    lmr_json_number(b, r->choice.weight, 5);
    lmr_bytes_print(b, "}");
}

void lmr_page_reports(lmr_bytes *b, const larmor_recon_report *report, int images)
{
    lmr_bytes_print(b, "[");
    for (int i = 0; report && i < images; i++) {
        lmr_bytes_print(b, i ? ",\n" : "");
        add_report(b, &report[i]);
    }
    lmr_bytes_print(b, "]");
}

/* ---- coil maps ---- */

typedef struct plane { /* the middle of a map, made smaller */
    int64_t nx, ny, nz, step, width, height;
} plane;

static void paint_map(const plane *p, const float *map, double largest, int64_t width, unsigned char *corner)
{
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) {
            const int64_t i = 2 * ((p->nz / 2 * p->ny + y * p->step) * p->nx + x * p->step);
            const int ok = isfinite(map[i]) && isfinite(map[i + 1]);
            const double value = ok && largest > 0 ? fmin(1, hypot((double)map[i], (double)map[i + 1]) / largest) : 0;
            lmr_phase_colour(ok ? atan2((double)map[i + 1], (double)map[i]) : 0, value, corner + 3 * (y * width + x));
        }
}

static larmor_status paint_maps(lmr_bytes *b, const float *values, const plane *p, int64_t coils)
{
    const int64_t columns = coils < 8 ? coils : 8;
    const int64_t rows = (coils + columns - 1) / columns, width = columns * p->width;
    const int64_t voxels = p->nx * p->ny * p->nz;
    double largest = 0;
    for (int64_t i = 0; i < coils * voxels; i++) {
        const double value = hypot((double)values[2 * i], (double)values[2 * i + 1]);
        if (isfinite(value)) largest = fmax(largest, value);
    }
    LMR_HEAP unsigned char *pixel = calloc((size_t)(3 * width), (size_t)(rows * p->height));
    larmor_status st = pixel ? LARMOR_OK : LMR_NO_MEMORY();
    for (int64_t c = 0; c < coils && !st; c++)
        paint_map(p, values + 2 * c * voxels, largest, width,
                  pixel + 3 * (c / columns * p->height * width + c % columns * p->width));
    lmr_bytes_print(b, "{\"coils\":%" PRId64 ",\"columns\":%" PRId64 ",\"n\":[%" PRId64 ",%" PRId64 "],\"picture\":",
                    coils, columns, p->width, p->height);
    const size_t before = b->size;
    if (!st) st = lmr_json_picture(b, pixel, width, rows * p->height, 3, MAPS_ROOM);
    lmr_bytes_print(b, b->size == before ? "null}" : "}");
    return st;
}

larmor_status lmr_page_maps(lmr_bytes *b, const larmor_array *maps)
{
    if (!maps) {
        lmr_bytes_print(b, "null");
        return LARMOR_OK;
    }
    const larmor_shape s = larmor_array_shape(maps);
    LMR_REFUSE(s.ndim < 3 || s.ndim > 5 || larmor_array_count(maps) < 1, LARMOR_ERR_SHAPE,
               "page: maps are %s, expected [nx, ny(, nz), coils(, sets)]", lmr_describe(maps).s);
    const int is_volume = s.ndim > 3;
    plane p = {.nx = s.dim[0], .ny = s.dim[1], .nz = is_volume ? s.dim[2] : 1};
    const int64_t longest = p.nx > p.ny ? p.nx : p.ny;
    const int64_t all = larmor_array_count(maps) / (p.nx * p.ny * p.nz);
    p.step = (longest + MAP_SIDE - 1) / MAP_SIDE;
    p.width = (p.nx + p.step - 1) / p.step;
    p.height = (p.ny + p.step - 1) / p.step;
    LMR_HEAP float *values = malloc(2 * (size_t)larmor_array_count(maps) * sizeof *values);
    if (!values) return LMR_NO_MEMORY();
    LMR_REFUSE(!lmr_is_complex(larmor_array_dtype(maps)), LARMOR_ERR_ARG,
               "page: maps are %s, expected complex numbers", lmr_describe(maps).s);
    LMR_TRY(lmr_values(maps, LMR_AS_COMPLEX, values));
    return paint_maps(b, values, &p, all < MOST_COILS ? all : MOST_COILS);
}

/* ---- the trajectory ---- */

/* Samples of each ring over its area or, in space, volume in (1/FOV)^nd: 1 is what Nyquist asks for. */
static void add_density(lmr_bytes *b, const double *k, int64_t nd, int64_t samples, double most)
{
    double count[RINGS] = {0};
    for (int64_t i = 0; i < samples; i++) {
        double square = 0;
        for (int64_t d = 0; d < nd; d++) square += k[nd * i + d] * k[nd * i + d];
        const double ring = sqrt(square) / most * RINGS;
        if (ring < RINGS) count[(int)ring]++;
    }
    for (int i = 0; i < RINGS; i++) {
        const double low = most * i / RINGS, high = most * (i + 1) / RINGS;
        count[i] /= nd == 2 ? M_PI * (high * high - low * low) : 4 * M_PI / 3 * (pow(high, 3) - pow(low, 3));
    }
    add_numbers(b, count, RINGS);
}

/* Whole readouts, evenly apart, as many as MOST_POINTS allow. */
static void add_points(lmr_bytes *b, const double *k, int64_t nd, int64_t samples, int64_t readouts, double most)
{
    const int64_t each = samples > MOST_OF_READOUT ? (samples + MOST_OF_READOUT - 1) / MOST_OF_READOUT : 1;
    const int64_t points = (samples + each - 1) / each, room = MOST_POINTS / points;
    const int64_t shown = readouts < room ? readouts : room;
    lmr_bytes_print(b, "[");
    for (int64_t r = 0; r < shown; r++) {
        const double *at = k + nd * samples * (r * readouts / shown);
        lmr_bytes_print(b, r ? ",[" : "[");
        for (int64_t i = 0; i < samples; i += each)
            for (int64_t d = 0; d < nd; d++)
                lmr_bytes_print(b, i || d ? ",%ld" : "%ld", lrint(at[nd * i + d] / most * 1000));
        lmr_bytes_print(b, "]");
    }
    lmr_bytes_print(b, "]");
}

larmor_status lmr_page_trajectory(lmr_bytes *b, const larmor_array *traj)
{
    double most = 0;
    const larmor_shape s = traj ? larmor_array_shape(traj) : (larmor_shape){0};
    if (!traj || larmor_array_count(traj) < 1) {
        lmr_bytes_print(b, "null");
        return LARMOR_OK;
    }
    LMR_REFUSE(s.ndim < 2 || s.dim[0] < 1 || s.dim[0] > 3, LARMOR_ERR_SHAPE,
               "page: the trajectory is %s, expected [1 to 3, samples, readouts]", lmr_describe(traj).s);
    LMR_OWN_MEMORY(void, host, larmor_array_download(traj, LARMOR_F64, &host));
    const double *k = host;
    const int64_t nd = s.dim[0], all = larmor_array_count(traj) / nd;
    const int64_t readouts = s.ndim > 2 ? all / s.dim[1] : 1;
    for (int64_t i = 0; i < nd * all; i++)
        if (isfinite(k[i])) most = fmax(most, fabs(k[i]));
    lmr_bytes_print(
        b, "{\"nd\":%" PRId64 ",\"samples\":%" PRId64 ",\"readouts\":%" PRId64 ",\"most\":%.6g,\"density\":", nd,
        all / readouts, readouts, most);
    if (nd > 1 && most > 0)
        add_density(b, k, nd, all, most);
    else
        lmr_bytes_print(b, "[]");
    lmr_bytes_print(b, ",\"lines\":");
    add_points(b, k, nd, all / readouts, readouts, most > 0 ? most : 1);
    lmr_bytes_print(b, "}");
    return LARMOR_OK;
}
