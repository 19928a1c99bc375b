/* What the samples of a scan's images say: reach and centre of the trajectory, undersampling, coils and their noise,
 * values that were cut off, spikes, objects beyond the field of view. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "check/sample_faults.h"
#include "core/core.h"
#include "scan/grid.h"
#include "scan/source.h"
#include "scan/trajectory.h"

enum { MOST_LOOKS = 3 };

typedef long long ll;

/* With samples of another coil: those of noise alone have 1 / sqrt(samples) and what the noise of both has in common,
 * which is small beside signal. */
#define MAX_CORRELATION_OF_NOISE 0.3

typedef struct view { /* of one group */
    int group, made;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_samples s;
    int nd;
    int64_t n, readouts, points, coils; /* points = n readouts */
    double *k;                          /* [nd, points], host */
    float *x;                           /* complex [points, coils], host */
    double reach;                       /* the largest of |2 k / N| */
} view;

static double magnitude(const view *v, int64_t point, int64_t coil)
{
    const float *z = v->x + 2 * (coil * v->points + point);
    return hypot((double)z[0], (double)z[1]);
}

/* |2 k / N|, 1 at the edge of the ellipse that the matrix holds. */
static double radius(const view *v, int64_t point)
{
    double square = 0;
    for (int d = 0; d < v->nd; d++) square += pow(2 * v->k[point * v->nd + d] / (double)v->grid.matrix[d], 2);
    return sqrt(square);
}

static double quantile(double *values, int64_t count, double part)
{
    if (!count) return 0;
    lmr_sort_f64(values, count);
    return values[(int64_t)(part * (double)(count - 1))];
}

/* ---- the trajectory ---- */

/* 1 if samples lie on the grid, as the header says. */
static int is_lattice(const view *v)
{
    return !strcmp(v->encoding.trajectory, "cartesian") || !strcmp(v->encoding.trajectory, "epi");
}

static void check_reach(const view *v, lmr_findings *f)
{
    larmor_coverage c;
    const int filled = is_lattice(v);
    if (larmor_traj_coverage(v->s.traj, &c)) return;
    for (int d = 0; d < v->nd; d++) {
        if (v->grid.apart[d]) continue;
        const double edge = (double)v->grid.matrix[d] / 2, reach = fmax(-c.low[d], c.high[d]) / edge;
        if (reach > 0 && reach < .85)
            lmr_note(
                f, reach < .5 ? LARMOR_WARNING : LARMOR_NOTE, "resolution",
                "k-space reaches %.3g of what the matrix has along %c: the image is interpolated, opts.matrix %lld "
                "would show as much.",
                reach, "xyz"[d], (ll)ceil((double)v->grid.crop[d] * reach));
        if (c.partial[d])
            lmr_note(f, filled ? LARMOR_NOTE : LARMOR_WARNING, "partial-fourier",
                     "k-space reaches to %.3g/FOV on one side along %c and to %.3g/FOV on the other%s.",
                     fmax(-c.low[d], c.high[d]), "xyz"[d], fmin(-c.low[d], c.high[d]),
                     filled ? ": recon fills it in (opts.partial_fourier)" : "");
    }
    const double outside = (double)v->s.outside / (double)(v->s.outside + v->points);
    if (v->s.outside)
        lmr_note(f, outside > .3 ? LARMOR_WARNING : LARMOR_NOTE, "outside",
                 "%.3g %% of the samples are beyond the resolution of reconSpace and left out.", 100 * outside);
}

/* Delays of gradients, where readouts tell them. */
static larmor_status check_delays(const view *v, lmr_findings *f)
{
    const larmor_delays_opts opts = lmr_delays_opts(&v->grid);
    larmor_delays found;
    char list[64];
    int length = 0;
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    larmor_status st = larmor_samples_align(&v->s, &kspace, &traj);
    if (!st) st = larmor_delays_estimate(kspace, traj, &opts, &found);
    if (st == LARMOR_STOPPED || st == LARMOR_ERR_MEMORY) return st;
    if (st == LARMOR_ERR_UNSUPPORTED) { /* said as well, so that silence means none */
        const char *why = strstr(larmor_last_error(), ": ");
        lmr_note(f, LARMOR_NOTE, "delays", "not looked for%s.", why ? why : "");
    }
    if (st || !found.significant) return LARMOR_OK;
    for (int d = 0; d < v->nd; d++)
        length += snprintf(list + length, sizeof list - (size_t)length, "%s%.2f along %c", d ? ", " : "",
                           found.delay[d], "xyz"[d]);
    lmr_note(f, LARMOR_NOTE, "delays",
             "gradients are late by samples: %s. recon corrects the trajectory (opts.delays auto).", list);
    return LARMOR_OK;
}

/* Cells of 1/FOV: a header may claim far more of them than memory holds, so that they are counted by the samples. */
typedef struct cells {
    int nd;
    int64_t side[3];
    double edge[3];  /* of the matrix, in cells */
    double reach;    /* of the ellipse within which cells count, in parts of the edge */
    int lattice;     /* 1: those of the whole matrix count, but for its rim */
    double rim;      /* of a lattice, in parts of the edge */
    int64_t within;  /* cells that count, */
    int64_t sampled; /* those of them that hold a sample, */
    int64_t centre;  /* cells of the centre, */
    int64_t centre_sampled;
} cells;

enum { MOST_LINES = 1 << 20 }; /* of cells, that are counted one by one; of more the volume is taken */

static double half_centre(double edge)
{
    return fmin(6, .75 * edge);
}

static void count_sampled(cells *c, int64_t cell)
{
    double square = 0, most = 0;
    int near = 1;
    for (int d = 0; d < c->nd; d++) {
        const double k = (double)(cell % c->side[d] - c->side[d] / 2);
        cell /= c->side[d];
        square += pow(k / c->edge[d], 2);
        most = fmax(most, fabs(k) / c->edge[d]);
        near &= fabs(k) <= half_centre(c->edge[d]);
    }
    c->sampled += c->lattice ? most <= c->rim : sqrt(square) <= c->reach;
    c->centre_sampled += near;
}

/* Whole numbers k of a dimension with |k| <= most. */
static int64_t count_between(const cells *c, int d, double most)
{
    const double low = fmin(floor(most), (double)(c->side[d] / 2));
    const double high = fmin(floor(most), (double)(c->side[d] - 1 - c->side[d] / 2));
    return most < 0 ? 0 : (int64_t)(low + high) + 1;
}

static int64_t count_ellipse(const cells *c)
{
    const double r = c->reach;
    int64_t half[3] = {0}, count = 0, lines = 1;
    double volume = c->nd == 3 ? 4 * acos(-1) / 3 : acos(-1);
    for (int d = 0; d < c->nd; d++) {
        half[d] = d ? (int64_t)(r * c->edge[d]) : 0;
        if (d) lines *= 2 * half[d] + 1;
        volume *= r * c->edge[d];
    }
    if (lines > MOST_LINES) return (int64_t)volume;
    for (int64_t z = -half[2]; z <= half[2]; z++)
        for (int64_t y = -half[1]; y <= half[1]; y++) {
            const double left =
                r * r - pow((double)y / c->edge[1], 2) - (c->nd > 2 ? pow((double)z / c->edge[2], 2) : 0);
            if (left >= 0) count += count_between(c, 0, sqrt(left) * c->edge[0]);
        }
    return count;
}

static int by_cell(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static larmor_status count_cells(const view *v, cells *c)
{
    *c = (cells){.nd = v->nd, .side = {1, 1, 1}, .lattice = is_lattice(v), .reach = .95 * v->reach};
    c->rim = 1 - 2. / (double)v->grid.matrix[0];
    c->within = c->centre = 1;
    for (int d = 0; d < v->nd; d++) {
        c->side[d] = v->grid.matrix[d] + 2;
        c->edge[d] = (double)v->grid.matrix[d] / 2 * v->encoding.fov_mm[d] / v->grid.fov_mm[d];
        c->within *= count_between(c, d, c->rim * c->edge[d]);
        c->centre *= count_between(c, d, half_centre(c->edge[d]));
    }
    if (!c->lattice) c->within = count_ellipse(c);
    LMR_NEW(int64_t, list, v->points);
    for (int64_t i = 0; i < v->points; i++) {
        int64_t stride = 1;
        list[i] = 0;
        for (int d = 0; d < v->nd; d++) {
            const double scale = v->encoding.fov_mm[d] / v->grid.fov_mm[d]; /* cells of the encoded field of view */
            const double place = round(v->k[i * v->nd + d] * scale) + (double)(c->side[d] / 2);
            list[i] += stride * (int64_t)fmax(0, fmin(place, (double)(c->side[d] - 1)));
            stride *= c->side[d];
        }
    }
    qsort(list, (size_t)v->points, sizeof *list, by_cell);
    for (int64_t i = 0; i < v->points; i++)
        if (!i || list[i] != list[i - 1]) count_sampled(c, list[i]);
    free(list);
    return LARMOR_OK;
}

/* Cells within the sampled ellipse, and those that hold a sample; of all, and within the centre. calibrated: other
 * readouts give the maps. */
static larmor_status check_undersampling(const view *v, int calibrated, lmr_findings *f)
{
    cells c;
    LMR_TRY(count_cells(v, &c));
    const int64_t within = c.within, sampled = c.sampled, centre = c.centre, centre_sampled = c.centre_sampled;
    if (!within) return LARMOR_OK;
    const double part = (double)sampled / (double)within, factor = 1 / fmax(part, 1e-6);
    if (factor > 1.15)
        lmr_note(f, factor > .7 * (double)v->coils && factor > 1.5 ? LARMOR_WARNING : LARMOR_NOTE, "undersampling",
                 "samples lie in %.3g %% of the cells of 1/FOV, undersampling %.3g with %lld coil%s%s", 100 * part,
                 factor, (ll)v->coils, v->coils == 1 ? "" : "s",
                 factor > .7 * (double)v->coils && factor > 1.5
                     ? ": more than coils resolve; a penalty is needed (opts.method tv or wavelet)."
                     : ".");
    if (v->coils > 1 && !calibrated && (double)centre_sampled < .9 * (double)centre)
        lmr_note(f, LARMOR_WARNING, "calibration",
                 "the centre of k-space has gaps, samples in %.3g %% of its cells: maps from the data may be wrong. "
                 "Give maps by opts.maps.",
                 100 * (double)centre_sampled / (double)centre);
    return LARMOR_OK;
}

/* ---- coils ---- */

/* The largest correlation of a coil's samples with those of another one. Signal is that of one object, so that coils
 * with some have much, even of points, whose signal is as large at the rim as in the centre and taken for noise. */
static double largest_correlation(const view *v, int64_t coil)
{
    double largest = 0;
    const float *a = v->x + 2 * coil * v->points;
    for (int64_t other = 0; other < v->coils; other++) {
        const float *b = v->x + 2 * other * v->points;
        double re = 0, im = 0, of_a = 0, of_b = 0;
        for (int64_t i = 0; i < 2 * v->points && other != coil; i += 2) {
            const double ar = (double)a[i], ai = (double)a[i + 1], br = (double)b[i], bi = (double)b[i + 1];
            re += ar * br + ai * bi;
            im += ar * bi - ai * br;
            of_a += ar * ar + ai * ai;
            of_b += br * br + bi * bi;
        }
        if (of_a > 0 && of_b > 0) largest = fmax(largest, hypot(re, im) / sqrt(of_a * of_b));
    }
    return largest;
}

/* The level of each coil's noise, from its own samples, and of its signal in the centre. */
static larmor_status check_coils(const view *v, int whitened, lmr_findings *f)
{
    LMR_HEAP LMR_NEW(double, noise, v->coils);
    LMR_HEAP LMR_NEW(double, sorted, v->coils);
    LMR_HEAP LMR_NEW_ZEROS(double, signal, v->coils);
    double all = 0;
    for (int64_t c = 0; c < v->coils; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(v->s.kspace, c, 1, &one));
        LMR_TRY(larmor_noise_level(one, v->s.traj, &noise[c]));
        sorted[c] = noise[c];
        for (int64_t i = 0; i < v->points; i++) signal[c] = fmax(signal[c], magnitude(v, i, c));
        all = fmax(all, signal[c]);
    }
    const double typical = quantile(sorted, v->coils, .5);
    if (!(typical > 0)) return LARMOR_OK;
    for (int64_t c = 0; c < v->coils; c++) {
        if (!whitened && (noise[c] > 10 * typical || noise[c] < .1 * typical))
            lmr_note(f, LARMOR_WARNING, "coil-noise",
                     "noise of coil %lld is %.3g of the others', and no noise scan tells its weight.", (ll)c,
                     noise[c] / typical);
        if (signal[c] < 6 * noise[c] && signal[c] < all &&
            largest_correlation(v, c) < fmax(MAX_CORRELATION_OF_NOISE, 5 / sqrt((double)v->points)))
            lmr_note(f, LARMOR_WARNING, "weak-coil",
                     "coil %lld holds noise alone: its largest sample is %.3g times it.", (ll)c,
                     signal[c] / noise[c]);
    }
    lmr_note(f, all < 20 * typical ? LARMOR_WARNING : LARMOR_NOTE, "noise-level",
             "noise %.3g a sample at the rim of k-space, the largest sample is %.3g times that%s", typical,
             all / typical, all < 20 * typical ? ": there is hardly any signal." : ".");
    return LARMOR_OK;
}

/* Level of the noise after whitening by the noise scan, 1 if that fits the data. */
static larmor_status check_whitening(larmor_source *source, const view *v, const larmor_raw_info *info,
                                     larmor_device *dev, lmr_findings *f)
{
    LMR_OWNED(larmor_array) *noise = NULL, *W = NULL, *copy = NULL;
    double level = 0;
    char line[512];
    LMR_TRY(lmr_source_noise(source, dev, &noise));
    if (!noise) return LARMOR_OK;
    LMR_TRY(lmr_noise_scan_describe(noise, info->noise, line, sizeof line));
    if (*line) lmr_note(f, LARMOR_WARNING, "noise-scan", "%s", line);
    const int timed = info->dwell_us > 0 && info->noise_dwell_us > 0;
    const larmor_status st = larmor_noise_whitening(
        noise, sqrt(timed ? info->dwell_us / info->noise_dwell_us * info->noise_bandwidth : 1), &W);
    if (st == LARMOR_ERR_NUMERIC) {
        lmr_note(f, LARMOR_WARNING, "noise-scan", "the noise scan whitens nothing: %s", larmor_last_error());
        return LARMOR_OK;
    }
    LMR_TRY(st);
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, larmor_array_shape(v->s.kspace), &copy));
    LMR_TRY(larmor_copy(v->s.kspace, copy));
    LMR_TRY(larmor_whiten(W, copy));
    LMR_TRY(larmor_noise_level(copy, v->s.traj, &level));
    if (level > 0 && level < .5)
        lmr_note(f, LARMOR_WARNING, "noise-scan",
                 "noise at the rim of k-space is %.3g of what the noise scan predicts: its time per sample, its "
                 "bandwidth ratio or its amplification differs. opts.no_whitening leaves it out.",
                 level);
    larmor_samples white = v->s;
    white.kspace = copy;
    const larmor_status compared = lmr_noise_scan_at_rim(&white, W, line, sizeof line);
    if (compared == LARMOR_STOPPED) return compared;
    if (!compared && *line) lmr_note(f, LARMOR_WARNING, "noise-scan", "%s", line);
    if (level > 5)
        lmr_note(f, LARMOR_NOTE, "noise-scan",
                 "the rim of k-space has %.3g times the noise that the noise scan predicts: signal, interference, or "
                 "another amplification.",
                 level);
    return LARMOR_OK;
}

/* As recon does before the first image. */
static larmor_status check_shares(const view *v, lmr_findings *f)
{
    lmr_coil_change found;
    char line[512];
    larmor_description lines, step, repeats;
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_TRY(larmor_samples_align(&v->s, &kspace, &traj));
    LMR_TRY(larmor_compare_repeats(kspace, traj, &repeats));
    lmr_describe_repeats(&repeats, line, sizeof line);
    if (repeats.is_clear) lmr_note(f, LARMOR_WARNING, "averages", "%s", line);
    if (is_lattice(v)) {
        LMR_TRY(larmor_compare_lines(kspace, traj, &lines));
        LMR_TRY(lmr_coil_step_find(kspace, traj, &lines, &step));
        lmr_describe_coil_step(&step, line, sizeof line);
        if (step.is_clear) lmr_note(f, LARMOR_WARNING, "coil-shares", "%s", line);
        /* what ghosts make of every second line recon corrects */
        const int is_ghost = !strncmp(lines.name, "every ", 6) && !strstr(lines.name, "reversed");
        if (lines.is_clear && !step.is_clear && !is_ghost)
            lmr_note(f, LARMOR_WARNING, "lines", "the samples fit better with %s.", lines.name);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_coil_change_find(kspace, traj, &found));
    lmr_describe_coil_change(&found, line, sizeof line);
    if (found.change > 0) lmr_note(f, LARMOR_WARNING, "coil-shares", "%s", line);
    lmr_describe_drift(&found, line, sizeof line);
    if (found.drift > 0) lmr_note(f, LARMOR_WARNING, "drift", "%s", line);
    return LARMOR_OK;
}

/* ---- values ---- */

static larmor_status check_values(const view *v, lmr_findings *f)
{
    larmor_sample_faults found;
    char line[512];
    LMR_TRY(larmor_sample_faults_find(v->s.kspace, v->s.traj, v->grid.matrix, &found));
    const struct {
        int is_found;
        const char *kind;
        void (*describe)(const larmor_sample_faults *found, char *line, size_t size);
    } faults[] = {{found.echo_distance > 0, "centre", lmr_describe_echo},
                  {found.clipped != 0, "clipping", lmr_describe_clipping},
                  {found.spikes != 0, "spikes", lmr_describe_spikes},
                  {found.carrier > 0, "carrier", lmr_describe_carrier},
                  {found.copied != 0, "copies", lmr_describe_copied},
                  {found.zeros != 0, "zeros", lmr_describe_zeros},
                  {found.noisy != 0, "noisy-coil", lmr_describe_noisy}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (!faults[i].is_found) continue;
        faults[i].describe(&found, line, sizeof line);
        lmr_note(f, LARMOR_WARNING, faults[i].kind, "%s", line);
    }
    return LARMOR_OK;
}

/* Where samples cannot tell, the extent grows to what predicts samples that are left out, as in recon; what is
 * outside folds exactly onto the inside of a grid. */
static larmor_status predict_extent(const view *v, larmor_extent *e)
{
    larmor_prediction found;
    int predict;
    if (is_lattice(v)) return LARMOR_OK;
    LMR_TRY(lmr_grid_is_to_predict(&v->encoding, &v->grid, &v->s, &predict));
    if (!predict) return LARMOR_OK;
    LMR_TRY(larmor_predict_field_of_view(v->s.kspace, v->s.traj, lmr_grid_shape(&v->grid), &found));
    for (int d = 0; d < v->nd; d++) e->factor[d] = fmax(e->factor[d], found.factor);
    return LARMOR_OK;
}

static larmor_status check_extent(const view *v, lmr_findings *f)
{
    larmor_extent e;
    larmor_status st = larmor_field_of_view_extent(v->s.kspace, v->s.traj, lmr_grid_shape(&v->grid), NULL, &e);
    if (!st) st = predict_extent(v, &e);
    if (st == LARMOR_STOPPED || st == LARMOR_ERR_MEMORY) return st;
    for (int d = 0; d < v->nd && !st; d++)
        if (e.factor[d] > 1)
            lmr_note(f, LARMOR_WARNING, "field-of-view",
                     "the object reaches to %.3g times the field of view along %c: recon takes a larger grid and "
                     "crops, opts.fov_mm shows all of it.",
                     e.factor[d], "xyz"[d]);
    return LARMOR_OK;
}

/* ---- one image after the other ---- */

static void close_view(view *v)
{
    larmor_samples_free(&v->s);
    LMR_FREE(v->k, v->x);
}

static larmor_status open_view(larmor_source *source, int group, larmor_device *dev, view *v)
{
    larmor_group g;
    *v = (view){.group = group};
    LMR_TRY(lmr_source_group(source, group, &g));
    LMR_TRY(lmr_source_encoding(source, g.encoding, &v->encoding));
    LMR_TRY(larmor_source_samples(source, group, NULL, dev, &v->grid, &v->s));
    const larmor_shape shape = larmor_array_shape(v->s.kspace);
    v->nd = v->grid.ndim;
    v->n = shape.dim[0];
    v->readouts = shape.dim[1];
    v->coils = shape.dim[2];
    v->points = v->n * v->readouts;
    LMR_TRY(larmor_array_download(v->s.traj, LARMOR_F64, &v->k));
    LMR_TRY(larmor_array_download(v->s.kspace, LARMOR_C64, &v->x));
    for (int64_t i = 0; i < v->points; i++) v->reach = fmax(v->reach, radius(v, i));
    v->reach = fmin(v->reach, 1);
    return LARMOR_OK;
}

static larmor_status look(larmor_source *source, const view *v, larmor_device *dev, lmr_findings *f)
{
    const larmor_raw_info info = larmor_source_describe(source);
    check_reach(v, f);
    LMR_TRY(check_delays(v, f));
    LMR_TRY(check_undersampling(v, info.calibration > 0, f));
    LMR_TRY(check_coils(v, info.noise > 0, f));
    if (info.noise) LMR_TRY(check_whitening(source, v, &info, dev, f));
    LMR_TRY(check_shares(v, f));
    LMR_TRY(check_values(v, f));
    return check_extent(v, f);
}

/* Findings of a kind that an image before has had are not said again. */
static void forget_repeated(lmr_findings *f, int before, int group)
{
    int kept = before;
    for (int i = before; i < f->out.count; i++) {
        int known = 0;
        larmor_finding *one = &f->out.list[i];
        for (int j = 0; j < before; j++) known |= !strcmp(one->code, f->out.list[j].code);
        if (known) {
            f->out.errors -= one->severity == LARMOR_ERROR;
            f->out.warnings -= one->severity == LARMOR_WARNING;
            continue;
        }
        larmor_finding *to = &f->out.list[kept++];
        char place[24];
        const int length = snprintf(place, sizeof place, "image %d: ", group + 1);
        *to = *one;
        memmove(to->text + length, to->text, sizeof to->text - (size_t)length - 1);
        to->text[sizeof to->text - 1] = '\0';
        memcpy(to->text, place, (size_t)length);
    }
    f->out.count = kept;
}

larmor_status lmr_check_samples(larmor_source *source, larmor_device *dev, lmr_findings *f)
{
    const int groups = larmor_source_describe(source).groups;
    const int looked[MOST_LOOKS] = {0, groups / 2, groups - 1};
    for (int i = 0; i < MOST_LOOKS; i++) {
        view v;
        const int before = f->out.count;
        if (i && looked[i] == looked[i - 1]) continue;
        larmor_status st = open_view(source, looked[i], dev, &v);
        if (st == LARMOR_ERR_FORMAT) {
            lmr_note(f, LARMOR_ERROR, "trajectory", "image %d: %s", looked[i] + 1, larmor_last_error());
            st = LARMOR_OK;
        } else if (!st) {
            st = look(source, &v, dev, f);
            if (i) forget_repeated(f, before, looked[i]);
        }
        close_view(&v);
        if (st) return st;
    }
    return LARMOR_OK;
}
