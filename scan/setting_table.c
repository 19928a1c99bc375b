/* The table of settings. A new option of the library is a member of larmor_recon_opts and a row here
 * (tests/check_style.sh compares their names). SPDX-License-Identifier: Apache-2.0 */
#include "scan/setting_table.h"

#include "core/core.h"

#define ROW(member, type, low, high, is_of_image, ...)                                                               \
    {                                                                                                                \
#member, offsetof(larmor_recon_opts, member), sizeof((larmor_recon_opts *)0)->member, LMR_SETTING_##type,    \
            low, high, is_of_image,                                                                                  \
        {                                                                                                            \
            __VA_ARGS__                                                                                              \
        }                                                                                                            \
    }
#define NUMBER(member, type, low, high, ...) ROW(member, type, low, high, 1, __VA_ARGS__)
#define VALUE(member, type, ...) ROW(member, type, -INFINITY, INFINITY, 1, __VA_ARGS__)
/* Images do not depend on it. */
#define LIMIT(member, type, low, high, ...) ROW(member, type, low, high, 0, __VA_ARGS__)
#define OTHER(member) ROW(member, OTHER, 0, 0, 0, .type = LARMOR_SETTING_NONE)
#define NO_TEXT .type = LARMOR_SETTING_NONE

/* Its text: the option, what stands for its value, the page of the documentation, and a line of help. */
#define TEXT(type_, option_, metavar_, page_, ...)                                                                   \
    .type = LARMOR_SETTING_##type_, .option = option_, .metavar = metavar_, .page = page_, __VA_ARGS__
#define FROM_TO(low_, high_) .low = low_, .high = high_
/* Choice i is value i, but beyond the highest value of the member its lowest one. */
#define CHOICES(choices_, standard_) .choices = choices_, .standard = standard_
#define HELP(text) .help = text

static const lmr_setting table[] = {
    OTHER(size),
    VALUE(method, TEXT,
          TEXT(CHOICE, "method", "M", "methods", .standard = "auto",
               .expected = "auto, cg, grid, nlinv or the name of a regulariser",
               HELP("SENSE by conjugate gradients, gridding, image and coil maps at once frame by frame (nlinv), or "
                    "SENSE with a penalty or several, tv:xy+tv:t+l1, along dimensions x, y, z, t (frames), h and b "
                    "(bins of heart and breath), with ratios (=4) or those that the data choose; auto is cg with "
                    "opts.lambda NUMBER, opts.tol, opts.precondition or opts.partial_fourier pocs, tv with "
                    "opts.basis or opts.joint, and tv in space and along bins for bins"))),
    VALUE(
        joint, INT,
        TEXT(FLAG, "joint", "", "dynamics",
             HELP("tv: the repetitions, phases and contrasts of a slice as one series, with differences in time; llr "
                  "always does so"))),
    NUMBER(
        iters, INT, 0, 1e9,
        TEXT(
            INTEGER, "iters", "N", "solvers", FROM_TO(1, 1e9),
            HELP(
                "most iterations (default: of cg 1000, more without a preconditioner; they end earlier, where others "
                "would change the image by little of its noise)"))),
    NUMBER(
        tol, REAL, -INFINITY, 0.99,
        TEXT(
            NUMBER, "tol", "X", "solvers", FROM_TO(0, 0.99),
            HELP("where to stop: for cg the relative residual, else the relative change of the image; 0: at rounding "
                 "(default: where the error is small relative to the noise of the image)"))),
    NUMBER(lambda_mode, INT, LARMOR_LAMBDA_AUTO, LARMOR_LAMBDA_NOISE, NO_TEXT),
    NUMBER(
        lambda, REAL, 0, 1e300,
        TEXT(
            FORM, "lambda", "X", "choosing", .standard = "auto",
            .expected = "auto, a number from 0 to 1000000, or noise: and such a number",
            HELP(
                "weight of the penalty: auto, chosen from the data and their noise; a number, for cg in units of the "
                "largest eigenvalue of A^H A, else of the typical magnitude of A^H b; or noise:NUMBER, in units of "
                "the noise"))),
    NUMBER(
        time_weight, REAL, -INFINITY, 1e300,
        TEXT(NUMBER, "time-weight", "X", "dynamics", FROM_TO(0, 1e6),
             HELP("tv opts.joint: weight of a difference in time relative to one in space (default: chosen from the "
                  "data where lambda is, else 4)"))),
    NUMBER(llr_block, INT64, 0, 4096,
           TEXT(INTEGER, "block", "N", "regularisers", FROM_TO(1, 4096), .unit = "voxels",
                HELP("llr and clear: side of the blocks in voxels (default: 8, of clear 3)"))),
    VALUE(matrix, INT64,
          TEXT(SIZES, "matrix", "X[,Y[,Z]]", "conventions", FROM_TO(1, 65535), .unit = "voxels",
               HELP("voxels of the image; X alone: for all axes that are as long as x in the header (default: the "
                    "header's)"))),
    VALUE(fov_mm, REAL,
          TEXT(NUMBERS, "fov", "X[,Y[,Z]]", "conventions", FROM_TO(1e-3, 1e5), .unit = "mm",
               HELP("field of view of the image in mm; X alone: for all axes that are as long as x in the header "
                    "(default: the header's)"))),
    VALUE(oversample, REAL,
          TEXT(NUMBERS, "oversample", "F[,F[,F]]", "conventions", FROM_TO(1, LARMOR_MAX_OVERSAMPLE),
               HELP("reconstruct on a field of view this many times the encoded one or the image's, then crop; one "
                    "number: for all axes (default: 1, or more if the object is larger)"))),
    VALUE(maps, ARRAY, NO_TEXT),
    OTHER(maps_name),
    VALUE(no_maps, INT, NO_TEXT),
    VALUE(b0, ARRAY, NO_TEXT),
    OTHER(b0_name),
    VALUE(b0_place, PLACE_AT, NO_TEXT),
    NUMBER(b0_error, REAL, 0, 0.5,
           TEXT(NUMBER, "b0-error", "X", "off_resonance", FROM_TO(1e-6, 0.5), .standard = "1e-3",
                HELP("most error of the phases of off-resonance, which sets the number of time segments"))),
    NUMBER(segments, INT, 0, 512,
           TEXT(INTEGER, "segments", "N", "off_resonance", FROM_TO(1, 512),
                HELP("time segments of off-resonance (default: the least that keep opts.b0_error)"))),
    VALUE(t2star, ARRAY, NO_TEXT),
    OTHER(t2star_name),
    VALUE(t2star_place, PLACE_AT, NO_TEXT),
    VALUE(phase_terms, ARRAY, NO_TEXT),
    VALUE(gradient_field, ARRAY, NO_TEXT),
    VALUE(displacement, ARRAY, NO_TEXT),
    VALUE(motion_fields, ARRAY, NO_TEXT),
    NUMBER(concomitant, INT, LARMOR_CONCOMITANT_AUTO, LARMOR_CONCOMITANT_OFF,
           TEXT(CHOICE, "concomitant", "W", "off_resonance", CHOICES("auto|on|off", "auto"),
                HELP("phases of concomitant fields in the model; auto: as the samples decide, where they are above "
                     "0.1 rad, of stored trajectories"))),
    NUMBER(field_tesla, REAL, 0, 100,
           TEXT(NUMBER, "field-strength", "T", "off_resonance", FROM_TO(1e-4, 100), .unit = "T",
                HELP("of the magnet, for opts.concomitant (default: the header's)"))),
    NUMBER(readout_start_ms, REAL_AT, -1e6, 1e6, NO_TEXT),
    NUMBER(calibration, INT64, 0, 1024,
           TEXT(INTEGER, "calibration", "N", "maps", FROM_TO(4, 1024), .unit = "samples of 1/FOV",
                HELP("side of the centre of k-space that gives the maps (default: 32)"))),
    VALUE(no_whitening, INT,
          TEXT(CHOICE, "whiten", "W", "scans_coils", CHOICES("auto|off", "auto"),
               HELP("use the scan's noise readouts to whiten the coils, if it has any"))),
    NUMBER(
        compress, REAL, -INFINITY, 1e9,
        TEXT(FORM, "compress", "C", "compression", .standard = "auto",
             .expected =
                 "auto, off, a whole number of virtual coils from 1 to 65535, or a part of the energy below 1",
             HELP("virtual coils in the place of the coils: their number, or below 1 the part of the signal's energy "
                  "that they keep; auto: above 12 coils, 0.999999; off: none"))),
    NUMBER(delays, INT, LARMOR_DELAYS_AUTO, LARMOR_DELAYS_GIVEN, NO_TEXT),
    VALUE(delay, REAL, NO_TEXT),
    VALUE(girf, ARRAY, NO_TEXT),
    VALUE(girf_spacing_hz, REAL,
          TEXT(NUMBER, "girf-spacing", "HZ", "delays", FROM_TO(1e-6, 1e9), .unit = "Hz",
               HELP("from one frequency of opts.girf to the next"))),
    VALUE(girf_b0, ARRAY, NO_TEXT),
    VALUE(basis, ARRAY, NO_TEXT),
    NUMBER(coefficients, INT64, 0, 0x1p31,
           TEXT(INTEGER, "rank", "K", "dynamics", FROM_TO(1, 32),
                HELP("coefficients: the first ones of opts.basis, or those of a dictionary that hold most of its "
                     "energy (default: all, or as many as hold 0.9999 of it)"))),
    VALUE(basis_frames, INT,
          TEXT(CHOICE, "basis-images", "I", "dynamics", CHOICES("coefficients|frames", "coefficients"),
               HELP("write the coefficients, or the frames that they give"))),
    NUMBER(
        density, INT, LARMOR_DENSITY_AUTO, LARMOR_DENSITY_SPIRAL,
        TEXT(
            CHOICE, "dcf", "D", "density", CHOICES("auto|ramp|pipe|file|none|voronoi|spiral", "auto"),
            HELP(
                "density compensation for grid and opts.weighted; auto: ramp for straight readouts where it is good, "
                "else pipe; larmor dcf says what the others are"))),
    VALUE(weighted, INT,
          TEXT(FLAG, "weighted", "", "density",
               HELP("weight the data by density in the iterative methods, too: fewer iterations, more noise"))),
    OTHER(keep_density),
    NUMBER(eps, REAL, 0, 0.1,
           TEXT(NUMBER, "eps", "X", "nufft", FROM_TO(1e-13, 0.1),
                HELP("accuracy of the NUFFT; below 1e-6 everything is in double precision (default: 1e-5)"))),
    NUMBER(effort, INT, LARMOR_PLAN_ESTIMATE, LARMOR_PLAN_EXHAUSTIVE, NO_TEXT),
    NUMBER(toeplitz, INT, -1, 1,
           TEXT(CHOICE, "toeplitz", "T", "solvers", CHOICES("auto|on|off", "auto"),
                HELP("iterate by FFTs of the doubled grid instead of NUFFTs; auto: where that is quicker and fits"))),
    NUMBER(
        precondition, INT, -1, 1,
        TEXT(CHOICE, "precond", "P", "solvers", CHOICES("auto|circulant|none", "auto"),
             HELP("precondition the iterations: circulant, by the matrix nearest to A^H A that an FFT inverts; auto: "
                  "where it fits"))),
    LIMIT(
        memory, INT64, 0, 1e300,
        TEXT(
            BYTES, "memory", "SIZE", "performance", .unit = "bytes",
            HELP(
                "most memory to use on the device, e.g. 512M or 8G: coils are done in blocks that fit (default: what "
                "is free)"))),
    VALUE(only, COUNTERS, NO_TEXT),
    OTHER(listener),
    OTHER(user),
    OTHER(checkpoint),
    LIMIT(checkpoint_every, REAL, -INFINITY, INFINITY,
          TEXT(NUMBER, "checkpoint-every", "SECONDS", "trust", FROM_TO(0, 1e6), .standard = "60", .unit = "s",
               HELP("from one checkpoint to the next, at least; 0: after each step"))),
    VALUE(maps_method, TEXT,
          TEXT(CHOICE, NULL, "M", "maps", .standard = "auto",
               HELP("how maps are found; auto: by what suits the data"))),
    NUMBER(
        map_sets, INT, 0, 2,
        TEXT(
            CHOICE, "map-sets", "N", "maps", CHOICES("auto|1|2", "auto"),
            HELP(
                "espirit, nlinv: sets of maps; a second one takes what folds within the field of view; auto: 2 if it "
                "folds"))),
    NUMBER(
        crop, INT, LARMOR_CROP_DEFAULT, LARMOR_CROP_NOISE,
        TEXT(CHOICE, "crop", "HOW", "maps", CHOICES("auto|soft|hard|none|noise", "auto"),
             HELP("espirit: maps where the eigenvalue shows no signal: soft (weighted down), hard (zero), none (as "
                  "elsewhere) or noise (zero where the calibration region shows noise alone, too); auto: noise for "
                  "samples on a grid, else none"))),
    NUMBER(
        normalise, INT, LARMOR_NORMALISE_RSS, LARMOR_NORMALISE_BODY,
        TEXT(CHOICE, "normalise", "BY", "maps", CHOICES("rss|sum|body", "rss"),
             HELP("shading that stays in the image: rss (that of the root sum of squares of the coils), sum (that of "
                  "the sum of magnitudes, flatter beside near coils) or body (that of the coils' dominant "
                  "combination)"))),
    OTHER(keep_eigenvalues),
    NUMBER(
        partial_fourier, INT, LARMOR_PARTIAL_AUTO, LARMOR_PARTIAL_ZERO,
        TEXT(
            CHOICE, "partial-fourier", "P", "cartesian", CHOICES("auto|homodyne|pocs|zero", "auto"),
            HELP("Cartesian k-space with less on one side of its centre: homodyne, the image has the centre's phase; "
                 "pocs, what is missing has; zero, nothing is filled in; auto: by how smooth the phase is"))),
    OTHER(ranks),
    LIMIT(at_once, INT, 0, 4096,
          TEXT(INTEGER, "at-once", "N", "performance", FROM_TO(1, 4096),
               HELP("the most images, or series, that a device computes at the same time; 1: one after the other "
                    "(default: as many as keep a processor's threads busy, or 4 on a GPU, and fit into half of the "
                    "memory)"))),
    NUMBER(compress_method, INT, LARMOR_COMPRESS_AUTO, LARMOR_COMPRESS_GEOMETRIC,
           TEXT(CHOICE, "compress-method", "M", "compression", CHOICES("auto|svd|geometric", "auto"),
                HELP("svd, one matrix; geometric, one for each place along fully sampled Cartesian readouts; auto: "
                     "geometric where that needs fewer coils"))),
    NUMBER(
        scale, INT, LARMOR_SCALE_INTEGRAL, LARMOR_SCALE_SUM,
        TEXT(CHOICE, NULL, "S", "conventions", CHOICES("integral|sum", "integral"),
             HELP("k-space of an image is its Fourier integral over the field of view, or the sum over its voxels"))),
    VALUE(maps_place, PLACE, NO_TEXT),
    NUMBER(no_ghost, INT, 0, 1,
           TEXT(CHOICE, "ghost", "G", "epi", CHOICES("auto|off", "auto"),
                HELP("phase and shift between lines of both directions of echo-planar scans: auto (corrected, by "
                     "navigators and by the image with the least ghost), off"))),
    LIMIT(repeatable, INT, 0, 1,
          TEXT(FLAG, "repeatable", "", "performance",
               HELP("the same bits whenever this is run on the same kind of device with the same opts.memory, which "
                    "decides what fits; a GPU takes more time and memory for it"))),
    NUMBER(damping, REAL, 0, 1,
           TEXT(NUMBER, "damping", "X", "nlinv", FROM_TO(1e-6, 1),
                HELP("nlinv: of the frame before, which the next one is held to (default: 0.9)"))),
    NUMBER(median, INT, 0, 64,
           TEXT(INTEGER, "median", "N", "nlinv", FROM_TO(1, 64), .unit = "frames",
                HELP("nlinv: images are the median of so many frames, the last one among them (default: 1)"))),
    VALUE(reg, TEXT,
          TEXT(LIST, "reg", "G", "methods", .expected = "up to four different penalties, like tv:xy, tv:t=4 or l1,",
               HELP("a penalty of the image; given several times, their sum, as opts.method lists it"))),
    VALUE(
        constraint, TEXT,
        TEXT(LIST, "constraint", "C", "reference/constraints",
             .expected = "nonnegative, real, support:FILE or box:LOW,HIGH, which leave a number,",
             HELP("what images are held to, by cg and by penalties: nonnegative; real; support:FILE, zero outside of "
                  "a mask; box:LOW,HIGH, real and between bounds; several times: all of them"))),
    VALUE(support, ARRAY, NO_TEXT),
    VALUE(motion, ARRAY, NO_TEXT),
    OTHER(prior),
    NUMBER(prior_method, INT, LARMOR_PNP_ADMM, LARMOR_PNP_RED,
           TEXT(CHOICE, "prior-method", "M", "reference/priors", CHOICES("admm|red", "admm"),
                HELP("how opts.prior and the samples are brought together"))),
    NUMBER(prior_sigma, REAL, 0, 1e6,
           TEXT(NUMBER, "prior-sigma", "X", "reference/priors", FROM_TO(1e-3, 1e6),
                HELP("what opts.prior is told of the noise: in units of that in the image by cg (default: 1)"))),
    NUMBER(motion_states, INT, 0, LARMOR_MOST_MOTION_STATES,
           TEXT(INTEGER, "motion-states", "N", "reference/motion", FROM_TO(2, LARMOR_MOST_MOTION_STATES),
                HELP("the object moves as a whole, and its poses in N groups of readouts that follow one another are "
                     "found from the samples (default: none)"))),
};

const lmr_setting *lmr_setting_at(int i)
{
    return i >= 0 && (size_t)i < sizeof table / sizeof *table ? &table[i] : NULL;
}

/* Number i of a setting of numbers; 0 past the last. */
static int number_of(const lmr_setting *s, const larmor_recon_opts *opts, size_t i, double *number)
{
    const char *at = (const char *)opts + s->at;
    const double *real = NULL;
    const size_t size = s->type == LMR_SETTING_INT ? sizeof(int) : sizeof(double); /* an int64_t's, too */
    if (s->type != LMR_SETTING_REAL_AT && i >= s->bytes / size) return 0;
    switch (s->type) {
    case LMR_SETTING_INT:
        *number = ((const int *)at)[i];
        return 1;
    case LMR_SETTING_INT64:
        *number = (double)((const int64_t *)at)[i];
        return 1;
    case LMR_SETTING_REAL:
        *number = ((const double *)at)[i];
        return 1;
    case LMR_SETTING_REAL_AT:
        memcpy(&real, at, sizeof real);
        if (real) *number = *real;
        return real && !i;
    default:
        return 0;
    }
}

larmor_status lmr_settings_check_bounds(const larmor_recon_opts *opts)
{
    double number;
    for (const lmr_setting *s = table; s < table + sizeof table / sizeof *table; s++)
        for (size_t i = 0; (s->low > -INFINITY || s->high < INFINITY) && number_of(s, opts, i, &number); i++)
            LMR_REFUSE(!(number >= s->low && number <= s->high), LARMOR_ERR_ARG, "opts.%s: got %g, expected %g to %g",
                       s->name, number, s->low, s->high);
    return LARMOR_OK;
}

static void hash_place(const larmor_image_meta *m, uint64_t *hash)
{
    *hash = lmr_hash(*hash, m->fov_mm, sizeof m->fov_mm);
    *hash = lmr_hash(*hash, m->position_mm, sizeof m->position_mm);
    *hash = lmr_hash(*hash, m->read_dir, sizeof m->read_dir);
    *hash = lmr_hash(*hash, m->phase_dir, sizeof m->phase_dir);
    *hash = lmr_hash(*hash, m->slice_dir, sizeof m->slice_dir);
}

static void hash_setting(const lmr_setting *s, const larmor_recon_opts *opts, uint64_t *hash)
{
    const char *at = (const char *)opts + s->at;
    const void *to = NULL;
    double number;
    for (size_t i = 0; number_of(s, opts, i, &number); i++) *hash = lmr_hash(*hash, &number, sizeof number);
    if (s->type == LMR_SETTING_PLACE) hash_place((const larmor_image_meta *)(const void *)at, hash);
    if (s->bytes == sizeof to) memcpy(&to, at, sizeof to);
    if (s->type == LMR_SETTING_TEXT && to) *hash = lmr_hash(*hash, to, strlen(to) + 1);
    if (s->type == LMR_SETTING_PLACE_AT && to) hash_place(to, hash);
    if (s->type == LMR_SETTING_COUNTERS && to) {
        larmor_counters only = *(const larmor_counters *)to;
        if (only.encoding < 0) only.encoding = 0; /* all of them, too */
        *hash = lmr_hash(*hash, &only, sizeof only);
    }
}

void lmr_settings_hash(const larmor_recon_opts *opts, uint64_t *hash)
{
    for (const lmr_setting *s = table; s < table + sizeof table / sizeof *table; s++) {
        if (!s->is_of_image) continue;
        *hash = lmr_hash(*hash, s->name, strlen(s->name)); /* two that are absent differ from each other */
        hash_setting(s, opts, hash);
    }
}
