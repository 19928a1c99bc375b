/* A source that corrects the ghosts of another one's echo-planar images. SPDX-License-Identifier: Apache-2.0 */
#include "scan/ghost.h"

#include "core/core.h"
#include "scan/ragged.h"
#include "scan/source.h"

enum {
    SOME = 8,        /* readouts of an image that tell whether it is echo-planar, at least */
    MOST_LOGGED = 4, /* images whose numbers the log has one by one */
    COARSE = 32      /* voxels along a side of the image that first says whether lines were turned */
};

/* In 1/FOV. Where lines are further apart the image folds onto its ghost: navigators or coils say what it is. */
#define MAX_LINE_DISTANCE 1.5
#define DEGREES (180 / M_PI)

/* The same of lines that go one way: of 60 right scans whose lines were 2 to 4 apart three
 * had a ghost of some 80 degrees, all with 3 and 4. */
#define MAX_TURNED_DISTANCE 2.5

/* Of the sum of magnitudes: by less no lines were turned that the header does not call echo-planar. */
#define MIN_GAIN_TURNED .012

/* Of what any phases gain, one for each place along the lines: objects that fold fit these better than one phase and
 * one shift. Scans with a ghost: from .96 on, without one: up to .90. */
#define MIN_PART_OF_ANY .93

/* Of the sum of magnitudes that a phase and a shift leave: with less, lines are read from the wrong end. */
#define MAX_REVERSED .975

typedef struct image { /* of the other source */
    int64_t readouts;
    larmor_ghost *of;         /* [readouts], or NULL: it is not corrected */
    unsigned char *turned;    /* [readouts] as of larmor_ghost_turned, or NULL: lines are stored as acquired */
    larmor_ghost mean, alone; /* of all readouts; of calibration without navigators */
    int64_t calibration;
    larmor_ghost *of_calibration; /* [calibration], or NULL */
    double fov_mm;                /* along lines that are counted, whose fractions shifts are counted in */
} image;

typedef struct ghosts {
    larmor_source *inner;
    int images;
    image *image;
} ghosts;

/* ---- what the source gives ---- */

/* The grid with all of k-space: lines are corrected as they were acquired, and cut afterwards. */
static larmor_grid uncut(const larmor_grid *grid)
{
    larmor_grid all = *grid;
    for (int d = 0; d < 3; d++) all.matrix[d] = all.crop[d] = 1 << 20;
    return all;
}

static int64_t readouts_of_samples(const larmor_samples *x)
{
    return x->first ? x->readouts : larmor_array_shape(x->kspace).dim[1];
}

/* Readouts for calibration of an image whose lines were turned are in shots of their own. */
static larmor_status find_in_calibration(const larmor_array *kspace, const larmor_array *traj,
                                         const larmor_grid *grid, unsigned char *turned, larmor_ghost *found)
{
    int64_t count;
    *found = (larmor_ghost){0, 0};
    LMR_TRY(larmor_ghost_turned(traj, turned, &count));
    if (!count) return LARMOR_OK;
    return larmor_ghost_estimate(kspace, traj, turned, lmr_grid_shape(grid), NULL, found, NULL);
}

/* readout: of the image, NULL: all. Oversampled lines are asked for in the
 * field of view that was encoded, and for the image in its own. Samples are left out by where they were before: those
 * whose times the inner source gives. */
static larmor_status correct(const image *m, const larmor_grid *grid, const int64_t *readout, int calibration,
                             larmor_samples *x)
{
    if (!x->kspace || !x->traj) return LARMOR_OK;
    const int64_t count = readouts_of_samples(x);
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_HEAP LMR_NEW(larmor_ghost, of, count + 1);
    LMR_HEAP LMR_NEW_ZEROS(unsigned char, turned, count + 1);
    LMR_OWN_MEMORY(double, k, larmor_array_download(x->traj, LARMOR_F64, &k));
    LMR_TRY(larmor_samples_align(x, &kspace, &traj));
    larmor_ghost of_turned = {0, 0};
    if (m->turned && calibration) LMR_TRY(find_in_calibration(kspace, traj, grid, turned, &of_turned));
    for (int64_t i = 0; i < count; i++) {
        const int64_t of_image = readout ? readout[i] : i;
        if (calibration)
            of[i] = m->of_calibration && count == m->calibration ? m->of_calibration[i] : m->alone;
        else
            of[i] = m->of[of_image];
        of[i].shift *= grid->fov_mm[0] / m->fov_mm;
        if (m->turned && calibration) of[i] = of_turned;
        if (m->turned && !calibration) turned[i] = m->turned[of_image];
    }
    LMR_TRY(larmor_ghost_correct(kspace, traj, m->turned ? turned : NULL, of));
    LMR_TRY(lmr_samples_unalign(x, kspace, traj));
    return lmr_samples_cut(x, k, grid);
}

static larmor_status samples_of(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *dev,
                                larmor_samples *out)
{
    const ghosts *g = self;
    const image *m = &g->image[group];
    const larmor_grid asked = m->of ? uncut(grid) : *grid;
    const int64_t coils = larmor_source_describe(g->inner).coils;
    LMR_TRY(lmr_source_samples(g->inner, group, &asked, calibration, coils, dev, out));
    if (!m->of) return LARMOR_OK;
    const larmor_status st = correct(m, grid, NULL, calibration, out);
    if (st) larmor_samples_free(out);
    return st;
}

static larmor_status readouts_of(void *self, int group, const int64_t *readout, int64_t count,
                                 const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    const ghosts *g = self;
    const image *m = &g->image[group];
    const larmor_grid asked = m->of ? uncut(grid) : *grid;
    LMR_TRY(lmr_source_readouts(g->inner, group, readout, count, &asked, dev, out));
    if (!m->of) return LARMOR_OK;
    const larmor_status st = correct(m, grid, readout, 0, out);
    if (st) larmor_samples_free(out);
    return st;
}

static void free_image(image *m)
{
    LMR_FREE(m->of, m->turned, m->of_calibration);
    m->of = m->of_calibration = NULL;
    m->turned = NULL;
}

static void destroy(void *self)
{
    ghosts *g = self;
    for (int i = 0; i < g->images; i++) free_image(&g->image[i]);
    free(g->image);
    larmor_source_free(g->inner);
    free(g);
}

/* ---- what is found ---- */

typedef enum kind { OTHERS, ONE_WAY, BOTH_WAYS } kind; /* of readouts: not lines, lines as stored */

/* 1: lines that all go one way may have been turned: those of a plane, and of a volume that the header calls
 * echo-planar. */
static int may_be_turned(const larmor_recon *r, int group, int *is_called_epi)
{
    larmor_group g;
    larmor_encoding e;
    *is_called_epi = 0;
    if (r->facts.info.traj_stored || lmr_source_group(r->facts.source, group, &g)) return 0;
    if (lmr_source_encoding(r->facts.source, g.encoding, &e)) return 0;
    *is_called_epi = !strcmp(e.trajectory, "epi");
    return *is_called_epi || (!strcmp(e.trajectory, "cartesian") && r->facts.grid[group].ndim == 2);
}

/* Neighbours among the readouts, of all parts of the image, are looked at: single shots for calibration fill an image
 * with lines of one direction. */
static larmor_status find_kind(const larmor_recon *r, int group, int64_t readouts, kind *found)
{
    int64_t some[SOME], forward, backward;
    const int64_t count = readouts < SOME ? readouts : SOME;
    LMR_FREED_BY(larmor_samples_free) larmor_samples x = {0};
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    int is_called_epi;
    *found = OTHERS;
    if (!lmr_source_has_readouts(r->facts.source) || count < SOME) return LARMOR_OK;
    const larmor_grid all = uncut(&r->facts.grid[group]);
    for (int64_t i = 0; i < count; i++) some[i] = i / 2 * (readouts - 2) / (SOME / 2 - 1) + i % 2;
    LMR_TRY(lmr_source_readouts(r->facts.source, group, some, count, &all, r->facts.dev, &x));
    if (!x.traj) return LARMOR_OK;
    LMR_TRY(larmor_samples_align(&x, &kspace, &traj));
    LMR_TRY(larmor_ghost_lines(traj, &forward, &backward));
    if (forward + backward == count && forward > 1 && backward > 1) *found = BOTH_WAYS;
    if ((forward == count || backward == count) && may_be_turned(r, group, &is_called_epi)) *found = ONE_WAY;
    return LARMOR_OK;
}

typedef struct found {
    larmor_ghost mean, rest; /* of all readouts; what the image says beyond navigators */
    larmor_ghost_report report;
    int64_t navigators, shots;
    int is_reversed; /* 1: lines of one direction are read from the wrong end, and nothing is corrected */
    int is_asked;    /* 1: lines are too far apart for the image to show its ghost */
    int has_own;     /* 1: calibration lines have a ghost of their own */
    larmor_ghost_of_coils coils;
} found;

static void average(image *m)
{
    m->mean = (larmor_ghost){0, 0};
    for (int64_t i = 0; i < m->readouts; i++) {
        m->mean.phase += m->of[i].phase / (double)m->readouts;
        m->mean.shift += m->of[i].shift / (double)m->readouts;
    }
}

/* Those of readouts for calibration; without navigators before them the image's mean. */
static larmor_status take_calibration(const larmor_navigators *navigators, const larmor_ghost *of_shot, image *m)
{
    average(m);
    m->calibration = navigators->calibration;
    LMR_ALLOCATE(m->of_calibration, m->calibration);
    for (int64_t i = 0; i < m->calibration; i++)
        m->of_calibration[i] =
            navigators->calibration_shot[i] < 0 ? m->mean : of_shot[navigators->calibration_shot[i]];
    return LARMOR_OK;
}

/* The ghost of each readout by the navigators of its shot. */
static larmor_status ask_navigators(const larmor_recon *r, int group, image *m, found *f)
{
    LMR_FREED_BY(larmor_navigators_free) larmor_navigators navigators = {0};
    LMR_TRY(lmr_source_navigators(r->facts.source, group, &r->facts.grid[group], r->facts.dev, &navigators));
    LMR_HEAP LMR_NEW(larmor_ghost, of_shot, navigators.shots + 1);
    for (int64_t s = 0; s < navigators.shots; s++) {
        f->navigators += navigators.first[s + 1] - navigators.first[s];
        LMR_TRY(larmor_ghost_navigators(navigators.kspace, navigators.traj, navigators.first[s],
                                        navigators.first[s + 1], &of_shot[s]));
    }
    for (int64_t i = 0; i < m->readouts && navigators.shots; i++) m->of[i] = of_shot[navigators.shot[i]];
    if (navigators.calibration) LMR_TRY(take_calibration(&navigators, of_shot, m));
    f->shots = navigators.shots;
    return LARMOR_OK;
}

static void add_to(larmor_ghost *of, int64_t count, const larmor_ghost *rest)
{
    for (int64_t i = 0; i < count; i++) {
        of[i].phase += rest->phase;
        of[i].shift += rest->shift;
    }
}

/* Lines too far apart: of m->rest, and of calibration. */
static larmor_status ask_coils(const larmor_recon *r, int group, const larmor_array *kspace, const larmor_array *traj,
                               image *m, found *f)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples x = {0};
    LMR_OWNED(larmor_array) *their_kspace = NULL, *their_traj = NULL;
    const larmor_grid all = uncut(&r->facts.grid[group]);
    f->is_asked = 1;
    LMR_TRY(lmr_source_samples(r->facts.source, group, &all, 1, r->facts.info.coils, r->facts.dev, &x));
    if (x.traj) LMR_TRY(larmor_samples_align(&x, &their_kspace, &their_traj));
    LMR_TRY(larmor_ghost_by_coils(kspace, traj, their_kspace, their_traj, lmr_grid_shape(&r->facts.grid[group]),
                                  &f->coils));
    f->rest = f->coils.ghost;
    m->alone = f->coils.calibration;
    f->has_own = their_kspace && r->facts.info.coils > 1 && (m->alone.phase != 0 || m->alone.shift != 0);
    return LARMOR_OK;
}

static int is_reversed(const larmor_ghost_report *report)
{
    return report->forward && report->reversed < MAX_REVERSED * report->after;
}

/* m->turned of lines that all go one way, if a ghost shows it in a coarse image; else NULL. */
static larmor_status find_turned(const larmor_recon *r, int group, const larmor_array *kspace,
                                 const larmor_array *traj, image *m, found *f)
{
    larmor_shape coarse = lmr_grid_shape(&r->facts.grid[group]);
    larmor_ghost ghost;
    int64_t count;
    int is_called_epi, shows;
    for (int d = 0; d < coarse.ndim; d++)
        if (coarse.dim[d] > COARSE) coarse.dim[d] = COARSE;
    m->turned = lmr_new(larmor_array_shape(traj).dim[2] + 1, 1);
    if (!m->turned) return LMR_NO_MEMORY();
    LMR_TRY(larmor_ghost_turned(traj, m->turned, &count));
    LMR_TRY(larmor_ghost_estimate(kspace, traj, m->turned, coarse, NULL, &ghost, &f->report));
    may_be_turned(r, group, &is_called_epi);
    f->is_reversed = count && is_reversed(&f->report);
    shows = count && f->report.is_clear && !f->is_reversed;
    const double before = f->report.before, gain = before - f->report.after;
    if (!is_called_epi || f->report.gap > MAX_LINE_DISTANCE)
        shows &= f->report.spacing < MAX_TURNED_DISTANCE && gain > MIN_GAIN_TURNED * before &&
                 gain > MIN_PART_OF_ANY * (before - f->report.any);
    if (!shows) free_image(m);
    return LARMOR_OK;
}

static larmor_status find_one(const larmor_recon *r, int group, kind of, image *m, found *f)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples x = {0};
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    const larmor_grid *grid = &r->facts.grid[group], all = uncut(grid);
    *f = (found){.navigators = 0};
    LMR_TRY(lmr_source_samples(r->facts.source, group, &all, 0, r->facts.info.coils, r->facts.dev, &x));
    if (!x.traj) return LARMOR_OK;
    LMR_TRY(larmor_samples_align(&x, &kspace, &traj));
    if (of == ONE_WAY) LMR_TRY(find_turned(r, group, kspace, traj, m, f));
    if (of == ONE_WAY && !m->turned) return LARMOR_OK;
    m->readouts = readouts_of_samples(&x);
    m->fov_mm = grid->fov_mm[0];
    LMR_ALLOCATE_ZEROS(m->of, m->readouts + 1);
    if (!m->turned) LMR_TRY(ask_navigators(r, group, m, f)); /* turned ones do not say which */
    LMR_TRY(larmor_ghost_estimate(kspace, traj, m->turned, lmr_grid_shape(grid), f->navigators ? m->of : NULL,
                                  &f->rest, &f->report));
    f->is_reversed = is_reversed(&f->report);
    if (f->is_reversed) {
        free_image(m);
        return LARMOR_OK;
    }
    const int is_sparse = f->report.gap > MAX_LINE_DISTANCE && !f->report.pairs && !m->turned;
    if (is_sparse) f->rest = (larmor_ghost){0, 0};
    if (is_sparse && !f->navigators) LMR_TRY(ask_coils(r, group, kspace, traj, m, f));
    add_to(m->of, m->readouts, &f->rest);
    if (m->of_calibration) add_to(m->of_calibration, m->calibration, &f->rest);
    average(m);
    f->mean = m->mean;
    if (!f->is_asked) m->alone = m->mean;
    return LARMOR_OK;
}

static void log_sparse(larmor_recon *r, const char *which, const found *f, int is_volume)
{
    const larmor_ghost *own = &f->coils.calibration;
    const char *why = is_volume ? "of volumes it is not looked for by coils"
                                : "no dense lines around the centre (calibration) show it either";
    if (is_volume || !f->coils.is_known)
        lmr_log(
            &r->events,
            "ghost%s: lines are %.3g/FOV apart, so that their image does not show whether both directions differ; "
            "%s, and nothing is corrected",
            which, f->report.gap, why);
    else if (!f->coils.is_clear)
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by nothing that dense lines around the centre show clearly",
                which);
    else if (f->coils.gain > 0)
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by %.3g degrees and %.3g/FOV, by coils, whose misfit is "
                "%.2g times as large without; corrected (opts.no_ghost: not)",
                which, f->mean.phase * DEGREES, f->mean.shift, 1 + f->coils.gain);
    else
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by %.3g degrees and %.3g/FOV, by dense lines around the "
                "centre; corrected (opts.no_ghost: not)",
                which, f->mean.phase * DEGREES, f->mean.shift);
    if (f->has_own)
        lmr_log(&r->events,
                "ghost%s: calibration lines of both directions differ by %.3g degrees and %.3g/FOV; corrected", which,
                own->phase * DEGREES, own->shift);
}

static void log_dense(larmor_recon *r, const char *which, const found *f)
{
    const double less = 100 * (1 - f->report.after / f->report.before);
    if (f->mean.phase == 0 && f->mean.shift == 0)
        lmr_log(&r->events, "ghost%s: lines of both directions differ by nothing that the data show clearly", which);
    else if (f->report.pairs && !f->navigators)
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by %.3g degrees and %.3g/FOV, by %lld pairs at the same "
                "places; "
                "corrected (opts.no_ghost: not)",
                which, f->mean.phase * DEGREES, f->mean.shift, (long long)f->report.pairs);
    else if (f->navigators)
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by %.3g degrees and %.3g/FOV, by %lld navigators of %lld "
                "shot%s%s; of these the image says %.3g degrees and %.3g/FOV; corrected (opts.no_ghost: not)",
                which, f->mean.phase * DEGREES, f->mean.shift, (long long)f->navigators, (long long)f->shots,
                f->shots == 1 ? "" : "s",
                f->rest.phase != 0 || f->rest.shift != 0 ? " and the image with the least ghost" : "",
                f->rest.phase * DEGREES, f->rest.shift);
    else
        lmr_log(&r->events,
                "ghost%s: lines of both directions differ by %.3g degrees and %.3g/FOV, by the image with the least "
                "ghost, whose magnitudes have a sum that is %.2g %% smaller; corrected (opts.no_ghost: not)",
                which, f->mean.phase * DEGREES, f->mean.shift, less);
}

static void log_ghost(larmor_recon *r, const larmor_group *g, const found *f)
{
    char which[96] = "";
    if (r->list.groups > 1)
        snprintf(which, sizeof which, " of slice %d, contrast %d, repetition %d", g->slice, g->contrast,
                 g->repetition);
    if (f->is_asked)
        log_sparse(r, which, f, lmr_grid_shape(&r->facts.grid[0]).ndim > 2);
    else
        log_dense(r, which, f);
}

static void log_ghost_range(larmor_recon *r, const ghosts *g, int64_t count)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < g->images; i++) {
        const double value[2] = {g->image[i].mean.phase * DEGREES, g->image[i].mean.shift};
        for (int d = 0; d < 2 && g->image[i].of; d++) {
            low[d] = fmin(low[d], value[d]);
            high[d] = fmax(high[d], value[d]);
        }
    }
    lmr_log(&r->events,
            "ghost: lines of both directions differ by %.3g to %.3g degrees and %.3g to %.3g/FOV in %lld images",
            low[0], high[0], low[1], high[1], (long long)count);
}

/* Of a contrast of an encoding: after so many that are not echo-planar none of the others is looked at. */
enum { ENOUGH = 8, CONTRASTS = 64 };

static larmor_status find_all(larmor_recon *r, ghosts *g, int64_t *count)
{
    int uncorrected = 0, turned = 0, reversed = 0, others[CONTRASTS] = {0};
    double less = 1;
    for (int i = 0; i < r->list.groups; i++) {
        const int index = r->list.group[i];
        larmor_group group;
        found f;
        kind of = OTHERS;
        LMR_TRY(lmr_source_group(r->facts.source, index, &group));
        int *const of_contrast = &others[(group.contrast + 8 * group.encoding) % CONTRASTS];
        if (*of_contrast >= ENOUGH) continue;
        larmor_status st = find_kind(r, index, group.readouts, &of);
        f.is_reversed = 0;
        if (!st && of != OTHERS) st = find_one(r, index, of, &g->image[index], &f);
        *of_contrast += !st && of != BOTH_WAYS && !g->image[index].of;
        const int is_left = st == LARMOR_ERR_UNSUPPORTED || (!st && of == BOTH_WAYS && !f.report.forward);
        if (is_left || st == LARMOR_ERR_NUMERIC || st == LARMOR_ERR_FORMAT) { /* these fail when it is their turn */
            uncorrected += is_left && of == BOTH_WAYS;
            free_image(&g->image[index]);
            continue;
        }
        LMR_TRY(st);
        if (f.is_reversed) {
            reversed++;
            less = fmin(less, f.report.reversed / f.report.after);
        }
        if (!g->image[index].of) continue;
        turned += of == ONE_WAY;
        if (++*count <= MOST_LOGGED) log_ghost(r, &group, &f);
    }
    if (*count > MOST_LOGGED) log_ghost_range(r, g, *count);
    if (turned)
        lmr_warn(
            &r->events,
            "ghost: no line of %d image%s goes in reverse (flag 22), but every second one of a shot differs from "
            "its neighbours; taken for echo-planar lines that were turned as they were stored, and corrected "
            "(opts.no_ghost: not)",
            turned, turned == 1 ? "" : "s");
    if (reversed) {
        r->events.is_contradicted = 1;
        lmr_warn(&r->events,
                 "the samples of %d image%s fit better with every second line reversed: the sum of the image's "
                 "magnitudes is %.2g %% smaller. Check which lines are flagged as reversed (flag 22).",
                 reversed, reversed == 1 ? "" : "s", 100 * (1 - less));
    }
    if (uncorrected)
        lmr_warn(
            &r->events,
            "ghost: %d image%s lines of both directions that are not corrected, as nearly all go one way, or differ "
            "too much in length",
            uncorrected, uncorrected == 1 ? " has" : "s have");
    return LARMOR_OK;
}

larmor_status lmr_ghosts_find(larmor_recon *r)
{
    static const larmor_source_impl impl = {.samples = samples_of, .readouts = readouts_of, .destroy = destroy};
    larmor_source *corrected = NULL;
    int64_t count = 0;
    if (r->settings.opts.no_ghost || r->settings.opts.delays == LARMOR_DELAYS_GIVEN ||
        lmr_source_is_corrected(r->facts.source))
        return LARMOR_OK;
    LMR_TRY(lmr_enter(&r->events, "ghosts"));
    LMR_NEW_ZEROS(ghosts, g, 1);
    g->images = r->facts.info.groups;
    g->inner = larmor_source_ref(r->facts.source);
    g->image = calloc((size_t)g->images + 1, sizeof *g->image);
    larmor_status st = g->image ? find_all(r, g, &count) : LMR_NO_MEMORY();
    if (!st && count) st = lmr_source_create_before(&g->inner, &impl, g, &corrected);
    if (!corrected) {
        destroy(g);
        return st;
    }
    lmr_source_set_corrected(corrected, g->inner);
    larmor_source_free(r->facts.source);
    r->facts.source = corrected;
    return LARMOR_OK;
}
