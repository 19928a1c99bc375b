/* Images as volumes that a page can show: planes of all frames beside each other in one picture, 8 bits a voxel. The
 * root of a magnitude is stored, so that dark tissue keeps its steps in a narrow window. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/images/formats.h"
#include "io/page/parts.h"

enum { MOST_SIDE = 8192 }; /* of a picture, in pixels, as browsers take it everywhere */
enum { LEAST_SIDE = 48 };  /* of a plane that is made smaller; then frames become fewer */
#define PHASE_PART 0.4     /* of the room */
#define DARK 0.02          /* of the largest magnitude: below, phases are not shown, which are noise */

/* Images of one shape and encoding: planes of 2D slices or of volumes, in frames. */
typedef struct volume {
    int *image; /* [frames * slices] -1: there is none */
    int frames, slices;
    int64_t nx, ny, nz; /* nz: of one image */
    double spacing[3];
} volume;

typedef struct tiles {
    int64_t nx, ny, columns, rows, count;
    unsigned char *pixel;
} tiles;

/* ---- which image goes where ---- */

static larmor_shape shape_of(const larmor_image *image)
{
    return larmor_array_shape(image->data);
}

static int compare_counters(const larmor_image_meta *a, const larmor_image_meta *b, int is_volume)
{
    const int x[] = {a->contrast, a->phase, a->repetition, a->set, a->average, is_volume ? a->slice : 0};
    const int y[] = {b->contrast, b->phase, b->repetition, b->set, b->average, is_volume ? b->slice : 0};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int is_alike(const larmor_image *a, const larmor_image *b)
{
    return a->meta.encoding == b->meta.encoding && larmor_shape_equal(shape_of(a), shape_of(b)) &&
           lmr_is_complex(larmor_array_dtype(a->data)) == lmr_is_complex(larmor_array_dtype(b->data));
}

/* Between the positions of two slices, else the thickness of the first. */
static double distance_of_slices(const larmor_image *image, const volume *v)
{
    const larmor_image_meta *first = &image[v->image[0] < 0 ? 0 : v->image[0]].meta;
    if (v->slices < 2 || v->image[0] < 0 || v->image[1] < 0) return first->fov_mm[2];
    const larmor_image_meta *next = &image[v->image[1]].meta;
    double square = 0;
    for (int d = 0; d < 3; d++) square += pow(next->position_mm[d] - first->position_mm[d], 2);
    return square > 0 ? sqrt(square) : first->fov_mm[2];
}

typedef struct sorted { /* of images that are alike, those that differ in a counter */
    int *first;         /* an image of each, in order */
    int count;
} sorted;

static void insert(sorted *s, const larmor_image *image, int i, int by_slice, int is_volume)
{
    int at = 0, order = 1;
    for (; at < s->count; at++) {
        const larmor_image_meta *a = &image[i].meta, *b = &image[s->first[at]].meta;
        order = by_slice ? (a->slice > b->slice) - (a->slice < b->slice) : compare_counters(a, b, is_volume);
        if (order <= 0) break;
    }
    if (at < s->count && !order) return;
    for (int j = s->count++; j > at; j--) s->first[j] = s->first[j - 1];
    s->first[at] = i;
}

static int place_of(const sorted *s, const larmor_image *image, int i, int by_slice, int is_volume)
{
    for (int at = 0; at < s->count; at++)
        if (by_slice ? image[i].meta.slice == image[s->first[at]].meta.slice
                     : !compare_counters(&image[i].meta, &image[s->first[at]].meta, is_volume))
            return at;
    return 0;
}

/* The volume of image `from`; images that are in it are marked. */
static larmor_status gather(const larmor_image *image, int images, int from, unsigned char *is_taken, volume *v)
{
    const larmor_shape shape = shape_of(&image[from]);
    const int is_volume = shape.ndim > 2 && shape.dim[2] > 1;
    sorted frame = {calloc((size_t)images, sizeof *frame.first), 0};
    sorted slice = {calloc((size_t)images, sizeof *slice.first), 0};
    *v = (volume){.nx = shape.dim[0], .ny = shape.dim[1], .nz = shape.ndim > 2 ? shape.dim[2] : 1};
    larmor_status st = frame.first && slice.first ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = from; i < images && !st; i++) {
        if (is_taken[i] || !is_alike(&image[from], &image[i])) continue;
        insert(&frame, image, i, 0, is_volume);
        if (!is_volume || !slice.count) insert(&slice, image, i, 1, is_volume);
    }
    v->frames = frame.count;
    v->slices = slice.count;
    int64_t all = 0;
    if (!st && lmr_mul(v->frames, v->slices, &all)) v->image = malloc((size_t)all * sizeof *v->image);
    if (!st && !v->image) st = LMR_NO_MEMORY();
    for (int64_t i = 0; i < all && !st; i++) v->image[i] = -1;
    for (int i = from; i < images && !st; i++) {
        if (is_taken[i] || !is_alike(&image[from], &image[i])) continue;
        const int z = is_volume ? 0 : place_of(&slice, image, i, 1, is_volume);
        v->image[place_of(&frame, image, i, 0, is_volume) * v->slices + z] = i;
        is_taken[i] = 1;
    }
    if (!st) {
        const larmor_image_meta *m = &image[from].meta;
        v->spacing[0] = m->fov_mm[0] / (double)v->nx;
        v->spacing[1] = m->fov_mm[1] / (double)v->ny;
        v->spacing[2] = is_volume ? m->fov_mm[2] / (double)v->nz : distance_of_slices(image, v);
        for (int d = 0; d < 3; d++)
            if (!(v->spacing[d] > 0)) v->spacing[d] = 1;
    }
    LMR_FREE(frame.first, slice.first);
    return st;
}

/* ---- pictures ---- */

static int lay_out(const volume *v, int64_t shrink, int stride, tiles *t)
{
    *t = (tiles){.nx = (v->nx + shrink - 1) / shrink,
                 .ny = (v->ny + shrink - 1) / shrink,
                 .count = v->nz * v->slices * ((v->frames + stride - 1) / stride)};
    t->columns = t->count < MOST_SIDE / t->nx ? t->count : MOST_SIDE / t->nx;
    if (t->columns < 1) return 0;
    t->rows = (t->count + t->columns - 1) / t->columns;
    return t->rows <= MOST_SIDE / t->ny;
}

/* The mean of shrink x shrink voxels; of those that are finite. */
static void mean_of(const volume *v, const float *plane, int is_complex, int64_t shrink, int64_t x, int64_t y,
                    double mean[2])
{
    double sum[2] = {0, 0}, magnitude = 0;
    int64_t count = 0;
    for (int64_t j = y * shrink; j < v->ny && j < (y + 1) * shrink; j++)
        for (int64_t i = x * shrink; i < v->nx && i < (x + 1) * shrink; i++) {
            const float *value = plane + (is_complex ? 2 : 1) * (j * v->nx + i);
            const double re = value[0];
            const double im = is_complex ? value[1] : 0;
            if (!isfinite(re) || !isfinite(im)) continue;
            sum[0] += re;
            sum[1] += im;
            magnitude += hypot(re, im);
            count++;
        }
    mean[0] = count ? magnitude / (double)count : 0;
    mean[1] = sum[0] != 0 || sum[1] != 0 ? atan2(sum[1], sum[0]) : 0;
}

static unsigned char grey_of(const double mean[2], double largest, int phase)
{
    if (phase) return mean[0] < DARK * largest ? 0 : (unsigned char)(1 + lrint((mean[1] / (2 * M_PI) + .5) * 254));
    return largest > 0 ? (unsigned char)lrint(255 * sqrt(fmin(1, mean[0] / largest))) : 0;
}

/* One image's planes, from its first tile on. */
static larmor_status paint(const volume *v, const larmor_image *image, int64_t first, int64_t shrink, double largest,
                           int phase, tiles *t)
{
    const int is_complex = lmr_is_complex(larmor_array_dtype(image->data));
    const int64_t numbers = larmor_array_count(image->data) * (is_complex ? 2 : 1);
    LMR_HEAP LMR_NEW(float, values, numbers);
    LMR_TRY(lmr_values(image->data, is_complex ? LMR_AS_COMPLEX : LMR_AS_REAL, values));
    for (int64_t z = 0; z < v->nz; z++) {
        const float *plane = values + z * (numbers / v->nz);
        const int64_t tile = first + z, width = t->columns * t->nx;
        unsigned char *corner = t->pixel + tile / t->columns * t->ny * width + tile % t->columns * t->nx;
        for (int64_t y = 0; y < t->ny; y++)
            for (int64_t x = 0; x < t->nx; x++) {
                double mean[2];
                mean_of(v, plane, is_complex, shrink, x, y, mean);
                corner[y * width + x] = grey_of(mean, largest, phase);
            }
    }
    return LARMOR_OK;
}

/* ,"name":picture, or nothing where it is larger than `most`. */
static larmor_status add_picture(lmr_bytes *b, const char *name, const volume *v, const larmor_image *image,
                                 int64_t shrink, int stride, double largest, int phase, int64_t most)
{
    tiles t;
    if (!lay_out(v, shrink, stride, &t)) return LARMOR_OK;
    const int64_t width = t.columns * t.nx, height = t.rows * t.ny;
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes picture = {0};
    LMR_HEAP LMR_NEW_ZEROS(unsigned char, pixel, width *height);
    t.pixel = pixel;
    int64_t tile = 0;
    for (int f = 0; f < v->frames; f += stride)
        for (int s = 0; s < v->slices; s++, tile += v->nz) {
            const int i = v->image[f * v->slices + s];
            if (i >= 0) LMR_TRY(paint(v, &image[i], tile, shrink, largest, phase, &t));
        }
    LMR_TRY(lmr_json_picture(&picture, pixel, width, height, 1, most));
    if (!picture.size) return LARMOR_OK;
    lmr_bytes_print(b, ",\n\"%s\":", name);
    lmr_bytes_add(b, picture.data, picture.size);
    return LARMOR_OK;
}

/* ---- volumes ---- */

static larmor_status find_largest(const volume *v, const larmor_image *image, double *largest)
{
    const int64_t voxels = v->nx * v->ny * v->nz;
    LMR_HEAP LMR_NEW(float, values, voxels);
    *largest = 0;
    for (int64_t i = 0; i < (int64_t)v->frames * v->slices; i++) {
        if (v->image[i] < 0) continue;
        LMR_TRY(lmr_values(image[v->image[i]].data, LMR_AS_MAGNITUDE, values));
        for (int64_t k = 0; k < voxels; k++)
            if (isfinite(values[k])) *largest = fmax(*largest, values[k]);
    }
    return LARMOR_OK;
}

static larmor_status find_window(const volume *v, const larmor_image *image, double window[2])
{
    LMR_HEAP larmor_image *own = calloc((size_t)v->frames * (size_t)v->slices, sizeof *own);
    int count = 0;
    if (!own) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < (int64_t)v->frames * v->slices; i++)
        if (v->image[i] >= 0) {
            if (count && larmor_array_dtype(own[0].data) != larmor_array_dtype(image[v->image[i]].data)) continue;
            own[count++] = image[v->image[i]];
        }
    return larmor_image_window(own, count, window);
}

static void name_frame(lmr_bytes *b, const volume *v, const larmor_image *image, int f)
{
    static const char *const word[] = {"contrast", "phase", "repetition", "set", "average"};
    char text[128] = "";
    int i = -1;
    for (int s = 0; s < v->slices && i < 0; s++) i = v->image[f * v->slices + s];
    const larmor_image_meta *m = &image[i < 0 ? 0 : i].meta;
    const int counter[] = {m->contrast, m->phase, m->repetition, m->set, m->average};
    for (size_t c = 0; c < sizeof counter / sizeof *counter; c++)
        if (counter[c]) lmr_append_item(text, sizeof text, ", ", "%s %d", word[c], counter[c]);
    lmr_bytes_print(b, "{\"image\":%d,\"name\":", i);
    lmr_json_string(b, text);
    lmr_bytes_print(b, "}");
}

/* The largest pictures that there is room for, then phases where there is room left. */
static larmor_status add_volume(lmr_bytes *b, const char *name, const volume *v, const larmor_image *image,
                                int magnitude, int64_t most)
{
    int any = 0; /* a place with an image */
    double largest = 0, window[2] = {0, 1};
    int64_t shrink = 1;
    int stride = 1;
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes grey = {0}, phase = {0};
    while (v->image[any] < 0) any++;
    const larmor_image *first = &image[v->image[any]];
    const int is_complex = !magnitude && lmr_is_complex(larmor_array_dtype(first->data));
    const int64_t room = is_complex ? (int64_t)((1 - PHASE_PART) * (double)most) : most;
    LMR_TRY(find_largest(v, image, &largest));
    LMR_TRY(find_window(v, image, window));
    for (;;) {
        LMR_TRY(add_picture(&grey, "grey", v, image, shrink, stride, largest, 0, room));
        if (grey.size) break;
        if ((v->nx < v->ny ? v->nx : v->ny) / (2 * shrink) >= LEAST_SIDE || stride >= v->frames)
            shrink *= 2;
        else
            stride *= 2;
        if (shrink > v->nx && shrink > v->ny) break;
    }
    if (is_complex)
        LMR_TRY(add_picture(&phase, "phase", v, image, shrink, stride, largest, 1, most - (int64_t)grey.size));
    lmr_bytes_print(b, "{");
    if (name) lmr_bytes_print(b, "\"name\":\"%s\",", name);
    lmr_bytes_print(b, "\"encoding\":%d,\"n\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"shrink\":%" PRId64 ",",
                    first->meta.encoding, v->nx, v->ny, v->nz * v->slices, shrink);
    lmr_bytes_print(b, "\"spacing\":[%.6g,%.6g,%.6g],\"complex\":%s,\"stride\":%d,\"largest\":", v->spacing[0],
                    v->spacing[1], v->spacing[2], is_complex ? "true" : "false", stride);
    lmr_json_number(b, largest, 6);
    lmr_bytes_print(b, ",\"window\":[%.6g,%.6g],\"frames\":[", window[0], window[1]);
    for (int f = 0; f < v->frames; f += stride) {
        lmr_bytes_print(b, f ? "," : "");
        name_frame(b, v, image, f);
    }
    lmr_bytes_print(b, "]");
    lmr_bytes_add(b, grey.data, grey.size);
    lmr_bytes_add(b, phase.data, phase.size);
    lmr_bytes_print(b, "}");
    return LARMOR_OK;
}

/* Voxels of all of them. */
static double count_voxels(const larmor_image *image, int images)
{
    double all = 0;
    for (int i = 0; i < images; i++) all += (double)larmor_array_count(image[i].data);
    return all;
}

/* name: what they are called, NULL: by their encoding. each: characters for a voxel. */
static larmor_status add_volumes(lmr_bytes *b, const char *name, const larmor_image *image, int images, int magnitude,
                                 double each)
{
    LMR_HEAP unsigned char *is_taken = calloc((size_t)images + 1, 1);
    larmor_status st = is_taken ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < images && !st; i++) {
        volume v;
        if (is_taken[i]) continue;
        lmr_bytes_print(b, i || name ? ",\n" : "");
        st = gather(image, images, i, is_taken, &v);
        const double voxels = (double)(v.nx * v.ny * v.nz) * v.frames * v.slices;
        if (!st) st = add_volume(b, name, &v, image, magnitude, (int64_t)(each * voxels));
        free(v.image);
    }
    return st;
}

larmor_status lmr_page_volumes(lmr_bytes *b, const larmor_page *page, int64_t most)
{
    const double all = count_voxels(page->image, page->images) + count_voxels(page->snr, page->snrs);
    const double each = (double)most / fmax(all, 1);
    lmr_bytes_print(b, "[");
    LMR_TRY(add_volumes(b, NULL, page->image, page->images, page->magnitude, each));
    LMR_TRY(add_volumes(b, "signal-to-noise ratio", page->snr, page->snrs, 1, each));
    lmr_bytes_print(b, "]");
    return LARMOR_OK;
}
