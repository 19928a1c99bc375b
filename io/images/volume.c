/* Geometry of ISMRMRD images (LPS, mm) and how single slices become volumes. SPDX-License-Identifier: Apache-2.0 */
#include "io/images/volume.h"

#include "core/core.h"

#define COUNTERS 6
#define SAME_DIRECTION 1e-4 /* of unit vectors */
#define SAME_PLACE 1e-3     /* mm: positions are stored as float */
#define UNEVEN 0.01         /* of the step */
#define MOST_UNEVEN 1.5     /* of steps between volumes; triggers vary less, a volume that is missing makes it 2 */
#define SHIFTED 0.02        /* of a voxel */
#define SAME_SIZE 1e-3      /* of a voxel's side */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

static void unit_or(const double v[3], const double otherwise[3], double out[3])
{
    const double length = sqrt(dot(v, v));
    for (int k = 0; k < 3; k++) out[k] = length > 0 && isfinite(length) ? v[k] / length : otherwise[k];
}

typedef struct frame { /* where one image lies: unit vectors, voxel sizes, position */
    double read[3], phase[3], slice[3], voxel[3], position[3];
} frame;

static frame frame_of(const larmor_image_meta *meta, const int64_t dim[3])
{
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    frame f;
    unit_or(meta->read_dir, x, f.read);
    unit_or(meta->phase_dir, y, f.phase);
    const double normal[3] = {f.read[1] * f.phase[2] - f.read[2] * f.phase[1],
                              f.read[2] * f.phase[0] - f.read[0] * f.phase[2],
                              f.read[0] * f.phase[1] - f.read[1] * f.phase[0]};
    unit_or(meta->slice_dir, normal, f.slice);
    for (int k = 0; k < 3; k++) {
        const double size = meta->fov_mm[k] / (double)dim[k];
        f.voxel[k] = size > 0 && isfinite(size) ? size : 1;
        f.position[k] = isfinite(meta->position_mm[k]) ? meta->position_mm[k] : 0;
    }
    return f;
}

static void set_affine(const frame *f, const int64_t dim[3], double step, double affine[3][4])
{
    for (int k = 0; k < 3; k++) {
        affine[k][0] = f->voxel[0] * f->read[k];
        affine[k][1] = f->voxel[1] * f->phase[k];
        affine[k][2] = step * f->slice[k];
        affine[k][3] = f->position[k];
        for (int d = 0; d < 3; d++) affine[k][3] -= (double)(dim[d] / 2) * affine[k][d];
    }
}

void lmr_image_affine(const larmor_image_meta *meta, const int64_t dim[3], double affine[3][4])
{
    const frame f = frame_of(meta, dim);
    set_affine(&f, dim, f.voxel[2], affine);
}

typedef struct item {
    int counter[COUNTERS], place, slice, index;
    double along; /* position along the slice direction; neighbours that are not apart have one place */
    frame f;
} item;

static int compare_counters(const item *a, const item *b)
{
    for (int k = 0; k < COUNTERS; k++)
        if (a->counter[k] != b->counter[k]) return a->counter[k] < b->counter[k] ? -1 : 1;
    return 0;
}

static int compare_along(const void *left, const void *right)
{
    const item *a = left, *b = right;
    return (a->along > b->along) - (a->along < b->along);
}

static int compare(const void *left, const void *right)
{
    const item *a = left, *b = right;
    const int counters = compare_counters(a, b);
    if (counters) return counters;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    if (a->slice != b->slice) return a->slice < b->slice ? -1 : 1;
    return a->index - b->index;
}

/* Two steps, because "equal but for a tolerance" is no order: places are numbered first. */
static void sort_items(item *items, int count)
{
    qsort(items, (size_t)count, sizeof *items, compare_along);
    for (int i = 1; i < count; i++)
        items[i].place = items[i - 1].place + (items[i].along - items[i - 1].along > SAME_PLACE);
    qsort(items, (size_t)count, sizeof *items, compare);
}

static int is_parallel(const frame *a, const frame *b)
{
    return distance(a->read, b->read) <= SAME_DIRECTION && distance(a->phase, b->phase) <= SAME_DIRECTION &&
           distance(a->slice, b->slice) <= SAME_DIRECTION;
}

static int has_same_voxels(const frame *a, const frame *b)
{
    for (int k = 0; k < 3; k++)
        if (fabs(a->voxel[k] - b->voxel[k]) > SAME_SIZE * b->voxel[k]) return 0;
    return 1;
}

static item item_of(const lmr_images *images, int i)
{
    const larmor_image_meta *m = &images->image[i].meta;
    return (item){.counter = {m->encoding, m->contrast, m->phase, m->repetition, m->set, m->average},
                  .slice = m->slice,
                  .index = i,
                  .f = frame_of(m, images->dim)};
}

/* Items in the order of the file, with `along` measured on the first image's slice direction. Returns the first
 * that is not parallel to it, or the count. */
static int collect(const lmr_images *images, item *items, int *one_place, int *one_slice)
{
    int askew = images->count;
    *one_place = *one_slice = 1;
    for (int i = 0; i < images->count; i++) {
        const larmor_image_meta *m = &images->image[i].meta;
        items[i] = item_of(images, i);
        const frame f = items[i].f, *first = &items[0].f;
        items[i].along = dot(f.position, first->slice);
        if (!is_parallel(&f, first) && i < askew) askew = i;
        if (distance(f.position, first->position) > SAME_PLACE) *one_place = 0;
        if (m->slice != images->image[0].meta.slice) *one_slice = 0;
    }
    return askew;
}

/* Volumes must have as many slices as the first, at the same places. Returns the first item where they have not,
 * or the count. */
static int find_odd(const item *items, int count, lmr_volumes *v)
{
    v->slices = 1;
    while (v->slices < count && !compare_counters(&items[0], &items[v->slices])) v->slices++;
    v->volumes = count / v->slices;
    for (int i = 0; i < count; i++) {
        const item *same = &items[i % v->slices], *start = &items[i - i % v->slices];
        if (v->volumes * v->slices != count || compare_counters(&items[i], start) ||
            (i >= v->slices && i % v->slices == 0 && !compare_counters(&items[i], &items[i - 1])) ||
            distance(items[i].f.position, same->f.position) > SAME_PLACE)
            return i;
    }
    return count;
}

static larmor_status check_volumes(const char *path, const item *items, int count, lmr_volumes *v)
{
    const int odd = find_odd(items, count, v);
    if (odd == count) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "%s: repetitions or contrasts have different slices (image %d); NIfTI cannot hold that, use .h5",
                    path, items[odd].index + 1);
}

/* Images of three dimensions are volumes already, which must be at one place; and all have one size of voxels. */
static larmor_status check_places(const char *path, const lmr_images *images, const item *items)
{
    const frame *first = &items[0].f;
    for (int i = 0; i < images->count; i++) {
        const frame *f = &items[i].f;
        LMR_REFUSE(!has_same_voxels(f, first), LARMOR_ERR_ARG,
                   "%s: image %d has voxels of %.4g x %.4g x %.4g mm, the first of %.4g x %.4g x %.4g mm; NIfTI "
                   "holds one size, use .h5",
                   path, i + 1, f->voxel[0], f->voxel[1], f->voxel[2], first->voxel[0], first->voxel[1],
                   first->voxel[2]);
        const double apart = distance(f->position, first->position);
        LMR_REFUSE(images->dim[2] > 1 && apart > SAME_PLACE, LARMOR_ERR_ARG,
                   "%s: volume %d is %.3f mm from the first; NIfTI holds one place, use .h5", path, i + 1, apart);
    }
    return LARMOR_OK;
}

/* The distance between neighbours, which must be the same for all slices. */
static larmor_status find_step(const char *path, const item *items, int slices, double *step)
{
    const frame *first = &items[0].f;
    *step = (items[slices - 1].along - items[0].along) / (slices - 1);
    for (int s = 1; s < slices; s++) {
        const double here = items[s].along - items[s - 1].along;
        LMR_REFUSE(!(fabs(here - *step) <= UNEVEN * *step), LARMOR_ERR_ARG,
                   "%s: slices are unevenly spaced (%.3f mm on average, %.3f mm before slice "
                   "%d); NIfTI cannot hold that, use .h5",
                   path, *step, here, s + 1);
        double straight[3];
        for (int k = 0; k < 3; k++) straight[k] = first->position[k] + s * *step * first->slice[k];
        const double shift = sqrt(fmax(0, pow(distance(items[s].f.position, straight), 2) -
                                              pow(items[s].along - items[0].along - s * *step, 2)));
        LMR_REFUSE(shift > SHIFTED * fmin(first->voxel[0], first->voxel[1]) + SAME_PLACE, LARMOR_ERR_ARG,
                   "%s: slice %d is shifted by %.3f mm in its plane; NIfTI cannot hold that, use .h5", path, s + 1,
                   shift);
    }
    return LARMOR_OK;
}

static int has_directions(const larmor_image_meta *m)
{
    return dot(m->read_dir, m->read_dir) > 0 && dot(m->phase_dir, m->phase_dir) > 0 &&
           dot(m->slice_dir, m->slice_dir) > 0;
}

/* Times of volumes whose repetition alone differs and whose stamps rise. */
static void find_times(const lmr_images *images, lmr_volumes *v)
{
    double least = INFINITY, most = 0, sum = 0;
    for (int i = 1; i < v->volumes; i++) {
        const larmor_image_meta *a = &images->image[v->order[(i - 1) * v->slices]].meta;
        const larmor_image_meta *b = &images->image[v->order[i * v->slices]].meta;
        const int alike = a->encoding == b->encoding && a->contrast == b->contrast && a->phase == b->phase &&
                          a->set == b->set && a->average == b->average;
        if (!alike || a->repetition >= b->repetition || a->time_stamp >= b->time_stamp) return;
        const double step = (b->time_stamp - a->time_stamp) * LMR_TICK_S;
        least = fmin(least, step);
        most = fmax(most, step);
        sum += step;
    }
    if (v->volumes < 2) return;
    if (most < MOST_UNEVEN * least)
        v->step_s = sum / (v->volumes - 1);
    else
        v->least_step_s = least;
}

larmor_status lmr_arrange(const char *path, const lmr_images *images, lmr_volumes *v)
{
    const int count = images->count;
    *v = (lmr_volumes){.slices = 1, .volumes = count};
    LMR_HEAP LMR_NEW_ZEROS(item, items, count);
    LMR_ALLOCATE_ZEROS(v->order, count);
    int one_place = 1, one_slice = 1;
    const int askew = collect(images, items, &one_place, &one_slice);
    LMR_REFUSE(askew < count, LARMOR_ERR_ARG,
               "%s: image %d is not parallel to the first; NIfTI holds one orientation, use .h5", path, askew + 1);
    LMR_TRY(check_places(path, images, items));
    double step = items[0].f.voxel[2];
    sort_items(items, count);
    if (images->dim[2] == 1 && !(one_place && one_slice)) {
        LMR_TRY(check_volumes(path, items, count, v));
        if (v->slices > 1 && !one_place) LMR_TRY(find_step(path, items, v->slices, &step));
    }
    for (int i = 0; i < count; i++) v->order[i] = items[i].index;
    v->place_unknown = v->slices > 1 && one_place;
    for (int i = 0; i < count; i++)
        v->place_unknown |= images->image[i].meta.place_unknown || !has_directions(&images->image[i].meta);
    find_times(images, v);
    set_affine(&items[0].f, images->dim, step, v->affine);
    return LARMOR_OK;
}

larmor_status lmr_order(const lmr_images *images, lmr_volumes *v)
{
    const int count = images->count;
    *v = (lmr_volumes){.slices = 1, .volumes = count};
    LMR_HEAP LMR_NEW_ZEROS(item, items, count);
    LMR_ALLOCATE_ZEROS(v->order, count);
    int one_place = 1, one_slice = 1;
    const int askew = collect(images, items, &one_place, &one_slice) < count;
    for (int i = 0; i < count; i++)
        if (askew) items[i].along = 0;
    sort_items(items, count);
    int odd = 0;
    if (images->dim[2] == 1 && !(one_place && one_slice)) odd = find_odd(items, count, v) < count;
    if (odd) *v = (lmr_volumes){.slices = 1, .volumes = count, .order = v->order};
    for (int i = 0; i < count; i++) v->order[i] = odd ? i : items[i].index;
    if (!odd) find_times(images, v);
    return LARMOR_OK;
}

larmor_status larmor_slices_order(const larmor_image_meta *slice, int count, int *order)
{
    lmr_volumes v;
    LMR_NEED(slice);
    LMR_REFUSE(!order || count < 1, LARMOR_ERR_ARG, "slices: %d of them, and a place for their order expected",
               count);
    LMR_HEAP LMR_NEW_ZEROS(larmor_image, image, count);
    for (int i = 0; i < count; i++) {
        larmor_image_meta *m = &image[i].meta;
        *m = slice[i];
        m->encoding = m->contrast = m->phase = m->repetition = m->set = m->average = 0;
    }
    LMR_TRY(lmr_order(&(lmr_images){.image = image, .count = count, .dim = {1, 1, 1}}, &v));
    memcpy(order, v.order, (size_t)count * sizeof *order);
    free(v.order);
    return LARMOR_OK;
}

/* ---- several files, where one cannot hold all ---- */

/* What divides them: images of one class can be in one file. */
static int find_class(const item *items, const int *class, int i, int (*alike)(const item *a, const item *b))
{
    for (int j = 0; j < i; j++)
        if (alike(&items[i], &items[j])) return class[j];
    return i;
}

static int lie_alike(const item *a, const item *b)
{
    return is_parallel(&a->f, &b->f) && has_same_voxels(&a->f, &b->f);
}

static int are_at_one_place(const item *a, const item *b)
{
    return lie_alike(a, b) && distance(a->f.position, b->f.position) <= SAME_PLACE;
}

/* 1 if slice s goes on where those from `start` on, of which there are two or more, do. Half of the tolerance, as the
 * step of a file is the mean one. */
static int goes_on(const item *slice, int start, int s)
{
    const double step = slice[start + 1].along - slice[start].along, here = slice[s].along - slice[s - 1].along;
    const frame *first = &slice[start].f;
    const double along = slice[s].along - slice[start].along;
    double aside = 0;
    for (int k = 0; k < 3; k++)
        aside += pow(slice[s].f.position[k] - first->position[k] - along * first->slice[k], 2);
    return step > SAME_PLACE && fabs(here - step) <= UNEVEN / 2 * step &&
           sqrt(aside) <= SHIFTED / 2 * fmin(first->voxel[0], first->voxel[1]);
}

/* Volumes have the same slices if these are at the same places. */
static int have_same_slices(const item *a, int m, const item *b, int n)
{
    if (m != n) return 0;
    for (int s = 0; s < n; s++)
        if (distance(a[s].f.position, b[s].f.position) > SAME_PLACE) return 0;
    return 1;
}

/* Of parallel slices, sorted: those of volumes with the same slices, as far as the slices are evenly spaced. The
 * class of a slice is its index in the first such volume where it is the first of its run. */
static void divide_slices(const item *items, int count, int *class)
{
    for (int v = 0, end; v < count; v = end) {
        end = v + 1;
        while (end < count && !compare_counters(&items[v], &items[end])) end++;
        int first = 0, same = v;
        for (int w = 0, last; w < v && same == v; w = last) {
            last = w + 1;
            while (last < v && !compare_counters(&items[w], &items[last])) last++;
            if (have_same_slices(&items[v], end - v, &items[w], last - w)) same = w;
        }
        for (int s = 0; s < end - v; s++) {
            if (s > 0 && !goes_on(&items[v], first, s)) first = s;
            class[items[v + s].index] = items[same + first].index;
        }
    }
}

/* Some of the images, which one file cannot hold: class gets another number for each file. */
static void divide_parallel(const lmr_images *images, item *items, int count, int *class)
{
    const frame first = items[0].f;
    for (int i = 0; i < count; i++) items[i].along = dot(items[i].f.position, first.slice);
    if (images->dim[2] == 1) {
        sort_items(items, count);
        divide_slices(items, count, class);
        return;
    }
    for (int i = 0; i < count; i++) {
        int j = 0;
        while (j < i && !are_at_one_place(&items[i], &items[j])) j++;
        class[items[i].index] = items[j].index;
    }
}

/* 1 if one file holds the images of the class. */
static larmor_status fits(const char *path, const lmr_images *images, const int *class, int which, int *one_file)
{
    lmr_images some = *images;
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    LMR_HEAP LMR_NEW(larmor_image, image, images->count);
    some.image = image;
    some.count = 0;
    for (int i = 0; i < images->count; i++)
        if (class[i] == which) image[some.count++] = images->image[i];
    const larmor_status st = lmr_arrange(path, &some, &v);
    *one_file = !st;
    return st == LARMOR_ERR_MEMORY ? st : LARMOR_OK;
}

larmor_status lmr_divide(const char *path, const lmr_images *images, int *class)
{
    const int count = images->count;
    LMR_HEAP item *all = lmr_new(count, sizeof *all), *some = lmr_new(count, sizeof *some);
    LMR_HEAP int *lying = lmr_new(count, sizeof *lying);
    if (!all || !some || !lying) return LMR_NO_MEMORY();
    for (int i = 0; i < count; i++) {
        all[i] = item_of(images, i);
        class[i] = lying[i] = find_class(all, lying, i, lie_alike);
    }
    for (int c = 0; c < count; c++) {
        int number = 0, one_file = 1;
        if (lying[c] != c) continue;
        LMR_TRY(fits(path, images, lying, c, &one_file));
        if (one_file) continue;
        for (int i = 0; i < count; i++)
            if (lying[i] == c) some[number++] = all[i];
        divide_parallel(images, some, number, class);
    }
    return LARMOR_OK;
}
