/* Arrays that are given as a scan: checked, and what the scan is by them. SPDX-License-Identifier: Apache-2.0 */
#include "scan/arrays_given.h"

#include "core/core.h"
#include "core/hole.h"

enum { MOST_COILS = LMR_MOST_CHANNELS, MOST_SIDE = 65535 };

void lmr_arrays_free(lmr_array_scan *s)
{
    for (int i = 0; s->image && i < s->info.groups; i++) {
        larmor_readouts *image = &s->image[i];
        LMR_FREE(image->kspace, image->traj, image->density, image->times, image->calibration,
                 image->calibration_traj, s->copy[i].step1, s->copy[i].stamps);
    }
    LMR_FREE(s->noise, s->image, s->copy, s->group, s->kept);
}

static larmor_status set_encoding(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    larmor_encoding *e = &s->encoding;
    e->ndim = given->matrix[2] > 1 ? 3 : 2;
    const char *kind = given->trajectory ? given->trajectory : "other";
    LMR_REFUSE(strlen(kind) >= sizeof e->trajectory, LARMOR_ERR_ARG,
               "arrays: trajectory: at most %zu characters expected", sizeof e->trajectory - 1);
    snprintf(e->trajectory, sizeof e->trajectory, "%s", kind);
    for (int d = 0; d < 3; d++) {
        const int64_t n = d < e->ndim ? given->matrix[d] : 1;
        const double fov = given->fov_mm[d] != 0 ? given->fov_mm[d] : (double)n;
        LMR_REFUSE(n < 1 || n > MOST_SIDE || !(fov > 0 && isfinite(fov)), LARMOR_ERR_ARG,
                   "arrays: axis %d has %lld voxels on %g mm, expected 1 to %d on a length > 0", d, (long long)n, fov,
                   MOST_SIDE);
        e->matrix[d] = e->recon_matrix[d] = n;
        e->fov_mm[d] = e->recon_fov_mm[d] = fov;
    }
    return LARMOR_OK;
}

static larmor_status check_type(const larmor_array *x, const char *what, int complex, int ndim)
{
    const larmor_shape shape = larmor_array_shape(x);
    if (lmr_is_complex(larmor_array_dtype(x)) == complex && shape.ndim == ndim && larmor_shape_count(shape) > 0)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "arrays: %s is %s, expected %s numbers in %d dimensions", what,
                    lmr_describe(x).s, complex ? "complex" : "real", ndim);
}

/* x is [before..., samples, readouts] of a k-space of this shape. */
static larmor_status check_like(const larmor_array *x, const char *what, int before, larmor_shape kspace)
{
    const larmor_shape shape = larmor_array_shape(x);
    const int at = before > 0;
    LMR_TRY(check_type(x, what, 0, 2 + at));
    if (shape.dim[at] == kspace.dim[0] && shape.dim[at + 1] == kspace.dim[1] && (!before || shape.dim[0] == before))
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "arrays: %s is %s, expected %lld samples of %lld readouts in %dD", what,
                    lmr_describe(x).s, (long long)kspace.dim[0], (long long)kspace.dim[1], before);
}

static larmor_status check_readouts(const lmr_array_scan *s, const larmor_readouts *image)
{
    const larmor_image_meta *m = &image->meta;
    LMR_REFUSE(!image->kspace, LARMOR_ERR_ARG, "arrays: an image without samples");
    LMR_TRY(check_type(image->kspace, "kspace", 1, 3));
    const larmor_shape shape = larmor_array_shape(image->kspace);
    LMR_REFUSE(shape.dim[2] != s->info.coils, LARMOR_ERR_SHAPE,
               "arrays: kspace is %s, expected %d coils as in the first image", lmr_describe(image->kspace).s,
               s->info.coils);
    if (image->traj) LMR_TRY(check_like(image->traj, "traj", s->encoding.ndim, shape));
    if (image->density) LMR_TRY(check_like(image->density, "density", 0, shape));
    if (image->times) LMR_TRY(check_like(image->times, "times", 0, shape));
    LMR_REFUSE(m->slice < 0 || m->contrast < 0 || m->phase < 0 || m->repetition < 0 || m->set < 0, LARMOR_ERR_ARG,
               "arrays: an image has a counter below 0");
    for (int64_t i = 0; image->step1 && i < shape.dim[1]; i++)
        LMR_REFUSE(image->step1[i] < 0, LARMOR_ERR_ARG, "arrays: step1 is %d, expected at least 0", image->step1[i]);
    if (!image->calibration) return LARMOR_OK;
    LMR_TRY(check_type(image->calibration, "calibration", 1, 3));
    const larmor_shape own = larmor_array_shape(image->calibration);
    LMR_REFUSE(own.dim[2] != s->info.coils || !image->calibration_traj, LARMOR_ERR_SHAPE,
               "arrays: calibration is %s, expected %d coils and a trajectory", lmr_describe(image->calibration).s,
               s->info.coils);
    return check_like(image->calibration_traj, "calibration_traj", s->encoding.ndim, own);
}

static larmor_group group_with(const larmor_readouts *image)
{
    const larmor_shape shape = larmor_array_shape(image->kspace);
    const larmor_image_meta *m = &image->meta;
    return (larmor_group){.slice = m->slice,
                          .contrast = m->contrast,
                          .phase = m->phase,
                          .repetition = m->repetition,
                          .set = m->set,
                          .averages = 1,
                          .samples = shape.dim[0],
                          .readouts = shape.dim[1],
                          .total = shape.dim[0] * shape.dim[1],
                          .regular = 1};
}

/* References to the arrays, copies of counters and stamps, and directions where there are none. */
static larmor_status keep_readouts(const lmr_array_scan *s, larmor_readouts *image, lmr_array_copies *copy)
{
    larmor_image_meta *m = &image->meta;
    const int *step1 = image->step1;
    const larmor_stamp *stamps = image->stamps;
    const size_t readouts = (size_t)larmor_array_shape(image->kspace).dim[1];
    larmor_array_ref(image->kspace);
    larmor_array_ref(image->traj);
    larmor_array_ref(image->density);
    larmor_array_ref(image->times);
    larmor_array_ref(image->calibration);
    larmor_array_ref(image->calibration_traj);
    if (step1) copy->step1 = malloc(sizeof *step1 * readouts);
    if (copy->step1) memcpy(copy->step1, step1, sizeof *step1 * readouts);
    if (stamps) copy->stamps = malloc(sizeof *stamps * readouts);
    if (copy->stamps) memcpy(copy->stamps, stamps, sizeof *stamps * readouts);
    image->step1 = copy->step1;
    image->stamps = copy->stamps;
    m->encoding = 0;
    int oriented = 0;
    for (int d = 0; d < 3; d++) oriented |= m->read_dir[d] != 0 || m->phase_dir[d] != 0 || m->slice_dir[d] != 0;
    m->place_unknown |= !oriented;
    for (int d = 0; d < 3; d++) {
        m->fov_mm[d] = s->encoding.recon_fov_mm[d];
        if (!oriented) {
            m->read_dir[d] = d == 0;
            m->phase_dir[d] = d == 1;
            m->slice_dir[d] = d == 2;
        }
    }
    return (step1 && !copy->step1) || (stamps && !copy->stamps) ? LMR_NO_MEMORY() : LARMOR_OK;
}

static larmor_status set_images(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    larmor_raw_info *info = &s->info;
    LMR_ALLOCATE_ZEROS(s->image, given->images);
    LMR_ALLOCATE_ZEROS(s->copy, given->images);
    LMR_ALLOCATE_ZEROS(s->group, given->images);
    for (int i = 0; i < given->images; i++) {
        const larmor_readouts *image = &given->image[i];
        LMR_TRY(check_readouts(s, image));
        s->image[i] = *image;
        info->groups = i + 1;
        LMR_TRY(keep_readouts(s, &s->image[i], &s->copy[i]));
        s->group[i] = group_with(image);
        info->imaging += s->group[i].readouts;
        if (image->calibration) info->calibration += larmor_array_shape(image->calibration).dim[1];
        info->density_stored |= image->density != NULL;
        info->traj_stored |= image->traj != NULL;
    }
    return LARMOR_OK;
}

static double number_at(const void *numbers, larmor_dtype type, int64_t i)
{
    return type == LARMOR_F64 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

/* Widen the limits of the values along each axis. */
static larmor_status find_limits(const larmor_array *traj, double low[3], double high[3])
{
    const int64_t count = larmor_array_count(traj), axes = larmor_array_shape(traj).dim[0];
    const size_t bytes = larmor_array_bytes(traj);
    LMR_HEAP void *copy = malloc(bytes);
    if (!copy) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_read(traj, copy, bytes));
    for (int64_t i = 0; i < count; i++) {
        const double k = number_at(copy, larmor_array_dtype(traj), i);
        low[i % axes] = fmin(low[i % axes], k);
        high[i % axes] = fmax(high[i % axes], k);
    }
    return LARMOR_OK;
}

static larmor_status check_unit(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    const larmor_array *before = NULL;
    char line[512];
    for (int i = 0; i < given->images; i++) {
        const larmor_array *traj = given->image[i].traj;
        if (traj && traj != before) LMR_TRY(find_limits(traj, low, high));
        before = traj;
    }
    if (!before) return LARMOR_OK;
    const larmor_status st = larmor_traj_check_unit(&s->encoding, low, high, line, sizeof line);
    if (st) return lmr_fail_in(st, "arrays");
    if (*line) snprintf(s->info.warnings, sizeof s->info.warnings, "%s\n", line);
    return LARMOR_OK;
}

/* The smallest radius of the samples of an image, and how many there are up to a radius. */
static larmor_status survey_centre(const larmor_array *traj, double radius, double *least, int64_t *within)
{
    const int64_t axes = larmor_array_shape(traj).dim[0], points = larmor_array_count(traj) / axes;
    const size_t bytes = larmor_array_bytes(traj);
    LMR_HEAP void *copy = malloc(bytes);
    if (!copy) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_read(traj, copy, bytes));
    for (int64_t i = 0; i < points; i++) {
        double sum = 0;
        for (int64_t d = 0; d < axes; d++) sum += pow(number_at(copy, larmor_array_dtype(traj), axes * i + d), 2);
        *least = fmin(*least, sqrt(sum));
        *within += sqrt(sum) <= radius;
    }
    return LARMOR_OK;
}

/* The same of all images, those of one trajectory once. */
static larmor_status survey_centres(const larmor_scan_arrays *given, double radius, double *least, int64_t *within)
{
    *within = 0;
    for (int i = 0; i < given->images; i++)
        if (!i || given->image[i].traj != given->image[i - 1].traj)
            LMR_TRY(survey_centre(given->image[i].traj, radius, least, within));
    return LARMOR_OK;
}

/* Holes of single images, where all together have none. */
static larmor_status check_centres(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    const larmor_group *first = NULL;
    char what[80];
    double widest = 0;
    int holes = 0;
    for (int i = 0; i < given->images; i++) {
        const larmor_array *traj = given->image[i].traj;
        double least = INFINITY;
        int64_t within = 0, unused = 0;
        if (given->image[i].calibration) return LARMOR_OK; /* which has the centre */
        if (i && traj == given->image[i - 1].traj) {
            s->group[i].hole = s->group[i - 1].hole;
        } else {
            LMR_TRY(survey_centre(traj, 0, &least, &unused));
            if (least >= LMR_MIN_HOLE) LMR_TRY(survey_centre(traj, 2 * least, &least, &within));
            if (lmr_is_hole(least, within, (int)larmor_array_shape(traj).dim[0])) s->group[i].hole = least;
        }
        if (!(s->group[i].hole > 0)) continue;
        if (!holes++) first = &s->group[i];
        widest = fmax(widest, s->group[i].hole);
    }
    if (!holes) return LARMOR_OK;
    snprintf(what, sizeof what, LMR_NO_SAMPLE_TEXT, widest);
    lmr_append(s->info.warnings, sizeof s->info.warnings, LMR_HOLES_TEXT "\n", holes, given->images, what,
               first->slice, first->contrast, first->phase, first->repetition, first->set);
    return LARMOR_OK;
}

static larmor_status check_centre(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    double least = INFINITY;
    int64_t within;
    for (int i = 0; i < given->images; i++)
        if (!given->image[i].traj) return LARMOR_OK; /* made from counters, through the centre */
    LMR_TRY(survey_centres(given, 0, &least, &within));
    if (least < LMR_MIN_HOLE) return given->images > 1 ? check_centres(given, s) : LARMOR_OK;
    LMR_TRY(survey_centres(given, 2 * least, &least, &within));
    if (!lmr_is_hole(least, within, (int)larmor_array_shape(given->image[0].traj).dim[0])) return LARMOR_OK;
    s->info.hole = least;
    lmr_append(s->info.warnings, sizeof s->info.warnings, LMR_HOLE_TEXT "\n", least);
    return LARMOR_OK;
}

static larmor_status set_noise(larmor_array *noise, lmr_array_scan *s)
{
    if (!noise) return LARMOR_OK;
    LMR_TRY(check_type(noise, "noise", 1, 2));
    const larmor_shape shape = larmor_array_shape(noise);
    LMR_REFUSE(shape.dim[1] != s->info.coils, LARMOR_ERR_SHAPE, "arrays: noise is %s, expected %d coils",
               lmr_describe(noise).s, s->info.coils);
    LMR_TRY(larmor_array_expect_finite(noise, "arrays: noise"));
    s->info.noise = 1;
    s->info.noise_samples = shape.dim[0];
    s->noise = larmor_array_ref(noise);
    return LARMOR_OK;
}

/* ---- coils ---- */

/* Raise what says of each channel of x that it has signal; its last axis is that of channels. */
static larmor_status find_signal(larmor_array *x, int channels, unsigned char *alive)
{
    for (int c = 0; c < channels; c++) {
        double norm;
        if (alive[c]) continue;
        LMR_OWN(larmor_array, channel, larmor_array_slice(x, c, 1, &channel));
        LMR_TRY(larmor_nrm2(channel, &norm));
        alive[c] = norm != 0; /* what is not finite is refused later */
    }
    return LARMOR_OK;
}

static larmor_status measure_noise(larmor_array *noise, int channels, double *energy)
{
    for (int c = 0; c < channels; c++) {
        double norm;
        LMR_OWN(larmor_array, channel, larmor_array_slice(noise, c, 1, &channel));
        LMR_TRY(larmor_nrm2(channel, &norm));
        energy[c] = norm * norm;
    }
    return LARMOR_OK;
}

static void give_up_noise(lmr_array_scan *s)
{
    LMR_CLEAR(s->noise);
    s->info.noise = s->info.noise_samples = 0;
    lmr_append_line(s->info.warnings, sizeof s->info.warnings, "%s", LMR_NO_NOISE_TEXT);
}

/* As of files: channels without signal or noise are left out. */
static larmor_status choose_coils(lmr_array_scan *s)
{
    larmor_raw_info *info = &s->info;
    unsigned char alive[MOST_COILS] = {0};
    double energy[MOST_COILS];
    for (int i = 0; i < info->groups; i++) LMR_TRY(find_signal(s->image[i].kspace, info->channels, alive));
    LMR_REFUSE(!memchr(alive, 1, sizeof alive), LARMOR_ERR_FORMAT, "arrays: all data is zero.");
    if (s->noise) LMR_TRY(measure_noise(s->noise, info->channels, energy));
    if (s->noise && !lmr_have_noise(info->channels, alive, energy)) give_up_noise(s);
    LMR_ALLOCATE_ZEROS(s->kept, info->channels);
    info->coils = lmr_choose_coils(info->channels, alive, s->noise ? energy : NULL, s->kept, info->warnings,
                                   sizeof info->warnings);
    info->dead_coils = info->channels - info->coils;
    return LARMOR_OK;
}

larmor_status lmr_arrays_take(const larmor_scan_arrays *given, lmr_array_scan *s)
{
    larmor_raw_info *info = &s->info;
    LMR_TRY(set_encoding(given, s));
    const larmor_shape first = given->image[0].kspace ? larmor_array_shape(given->image[0].kspace) : LARMOR_SHAPE(0);
    LMR_REFUSE(first.ndim == 3 && (first.dim[2] < 1 || first.dim[2] > MOST_COILS), LARMOR_ERR_SHAPE,
               "arrays: kspace has %lld coils, expected 1 to %d", (long long)first.dim[2], MOST_COILS);
    info->channels = info->coils = first.ndim == 3 ? (int)first.dim[2] : 1;
    info->encodings = 1;
    snprintf(info->traj_units, sizeof info->traj_units, "1/fov");
    snprintf(info->traj_report, sizeof info->traj_report, "1/FOV, as given");
    LMR_TRY(set_images(given, s));
    LMR_TRY(check_unit(given, s));
    LMR_TRY(check_centre(given, s));
    LMR_TRY(set_noise(given->noise, s));
    LMR_TRY(choose_coils(s));
    info->acquisitions = info->imaging + info->calibration + info->noise;
    return LARMOR_OK;
}
