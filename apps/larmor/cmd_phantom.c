/* larmor phantom: simulate a scan whose k-space is exact. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "motion_file.h"
#include "phantom_truth.h"
#include "progress.h"
#include "recon.h"
#include "scan.h"

enum { MOST_COILS = 1024 };

typedef struct settings {
    scan_trajectory trajectory;
    const char *output, *truth, *maps, *field_map, *t2star_map, *device, *phase_terms, *gradient_field, *displacement,
        *motion, *motion_fields;
    const char *waveforms, *signal, *truth_maps, *truth_bins, *calibration, *dead_coils, *noiseless_coils;
    larmor_simulation_opts opts; /* those that the library takes as they are typed */
    int64_t threads, shots, navigators;
    double variation, off_resonance, image_phase, readout_start;
    app_list breath, heart, maps_matrix, drift, gradient, shim, dipole, delays, phase_cycles, echo_times, ramp, ghost,
        t2star, position;
    int force;
} settings;

#define COILS_EXPECTED "numbers of coils from 0 to 1023, like 0,2,"

static int are_coils(const char *text)
{
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        const size_t digits = strspn(p, "0123456789");
        if (!digits || digits > 4 || (p[digits] && p[digits] != ',') || strtol(p, NULL, 10) >= MOST_COILS) return 0;
        p += digits;
    }
    return 1;
}

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "SCAN.h5", "the ISMRMRD file to write", .needed = 1),
    OPTION(APP_WRITTEN_FILE, truth, 0, "truth", "FILE",
           "also write the images to expect; the format follows the suffix"),
    OPTION(APP_TEXT, truth_bins, 0, "truth-bins", "heart:N,breath:N",
           "--truth: the images of these bins, as larmor recon --bins takes them, by the true states of the readouts",
           .reads = recon_are_bins, .expected = "heart:N, breath:N or both, like heart:20,breath:4"),
    OPTION(
        APP_TEXT, truth_maps, 0, "truth-maps", "PREFIX",
        "tissues: also write the maps that a fit should find, PREFIX_FF.npy and others as larmor fit names them, and "
        "PREFIX_tissue.npy, the tissue of voxels within it; any format of images"),
    OPTION(APP_WRITTEN_FILE, maps, 0, "maps", "FILE", "also write the coils' sensitivities; .cfl, .npy or .h5"),
    OPTION(APP_SIZES, maps_matrix, 0, "maps-matrix", "X[,Y[,Z]]",
           "voxels of the maps, as large as the image's: more of them reach beyond the field of view (default: the "
           "image's)",
           .low = 1, .high = 65535),
    OPTION(APP_WRITTEN_FILE, field_map, 0, "field-map", "FILE",
           "also write the off-resonance in Hz; any format of images"),
    OPTION(APP_WRITTEN_FILE, t2star_map, 0, "t2star-map", "FILE",
           "also write T2* in ms, as larmor recon --t2star-map takes it; any format of images"),
    SCAN_TRAJECTORY_OPTIONS(settings),
    OPTION(APP_TEXT, calibration, 0, "calibration", "HOW",
           "calibration lines embedded in the others (flags 20 and 21), or separate before them (flag 20)",
           .preset = "embedded", .choices = "embedded|separate"),
    OPTION(APP_INTEGER, opts.coils, 0, "coils", "C", "receive coils; 0: a single one without any profile",
           .preset = "8", .low = 0, .high = MOST_COILS),
    OPTION(APP_TEXT, dead_coils, 0, "dead-coils", "C[,C...]", "coils without signal, counted from 0",
           .reads = are_coils, .expected = COILS_EXPECTED),
    OPTION(APP_TEXT, noiseless_coils, 0, "noiseless-coils", "C[,C...]", "coils without noise, counted from 0",
           .reads = are_coils, .expected = COILS_EXPECTED),
    OPTION(
        APP_NUMBER, opts.noise, 0, "noise", "SIGMA",
        "standard deviation of the real and of the imaginary part of a sample; the sample at the centre of k-space "
        "is the mean density over the field of view, about 0.1",
        .preset = "0", .low = 0, .high = 1e6),
    OPTION(APP_NUMBER, opts.snr, 0, "snr", "X",
           "the noise by the image's signal-to-noise ratio, instead of --noise: mean signal of the object over the "
           "noise of a fully sampled Cartesian image at this matrix, coils combined",
           .low = 1e-6, .high = 1e12),
    OPTION(APP_INTEGER, opts.seed, 0, "seed", "S", "of the noise", .preset = "1", .low = 0, .high = 0x1p53),
    OPTION(APP_INTEGER, opts.noise_samples, 0, "noise-scan", "N", "begin with a noise scan of N samples",
           .preset = "0", .low = 0, .high = 65535),
    OPTION(APP_NUMBER, opts.dwell_us, 0, "dwell", "US", "time per sample of the readouts in us", .preset = "4",
           .low = 1e-3, .high = 1e6),
    OPTION(
        APP_NUMBER, opts.tr_ms, 0, "tr", "MS",
        "time from one readout to the next: they get time stamps, and with --breathing the first physiology stamp, "
        "time since the breath began, in ticks of 2.5 ms (default: no stamps)",
        .low = 1e-3, .high = 1e6),
    OPTION(APP_NUMBER, opts.noise_dwell_us, 0, "noise-dwell", "US", "time per sample of the noise scan in us",
           .preset = "20", .low = 1e-3, .high = 1e6),
    OPTION(APP_TEXT, opts.phantom, 0, "phantom", "NAME", "phantom", .preset = "shepp-logan",
           .choice = choose_phantom),
    OPTION(
        APP_TEXT, signal, 0, "signal", "S",
        "the signals of the phantom tissues: of water and fat at --echo-times, or of the pulses of a FISP sequence "
        "for fingerprinting, one for each of the --repetitions",
        .choices = "water-fat|fisp"),
    OPTION(APP_NUMBER, opts.r2star, 0, "r2star", "R", "water-fat: R2* of all tissues, in 1/s", .preset = "0",
           .low = 0, .high = 1e4),
    OPTION(APP_NUMBERS, t2star, 0, "t2star", "MS[,MS...]",
           "the object decays, exp(-t / T2*), t = 0 in the centre of k-space; of tissues also one for each: fat, "
           "muscle, liver, marrow, fluid, lesion",
           .low = 1e-3, .high = 1e6, .most = LARMOR_TISSUES, .member = "t2star_ms"),
    OPTION(APP_NUMBER, opts.object_size, 0, "object-size", "X",
           "enlarge the object, which fills 9/10 of the field of view, and the ring of coils with it", .preset = "1",
           .low = 0.1, .high = 10),
    OPTION(APP_INTEGER, opts.slices, 0, "slices", "N", "of a 2D scan, 6 mm apart; slice s has density 1 - s / (2 N)",
           .preset = "1", .low = 1, .high = 1000),
    OPTION(APP_INTEGER, opts.bands, 0, "multiband", "N",
           "slices that are excited together, planes of the phantom in 3D; 0: none", .preset = "0", .low = 0,
           .high = LARMOR_MOST_BANDS, .member = "bands"),
    OPTION(APP_NUMBER, opts.band_mm, 0, "multiband-spacing", "MM", "from one of them to the next (default: 40)",
           .low = 1e-3, .high = 1e4, .member = "band_mm"),
    OPTION(APP_INTEGER, opts.band_shifts, 0, "caipi", "N",
           "slice s of readout j has the phase 2 pi s j / N (default: as many as slices)", .low = 1, .high = 1024,
           .member = "band_shifts"),
    OPTION(APP_INTEGER, opts.repetitions, 0, "repetitions", "N",
           "a series: fresh noise, and angles that continue from one repetition to the next", .preset = "1", .low = 1,
           .high = 65536),
    OPTION(APP_FLAG, opts.same_angles, 0, "same-angles", "", "every repetition has the angles of the first"),
    OPTION(APP_NUMBERS, drift, 0, "drift", "X[,Y[,Z]]",
           "the object moves by so many mm from the first repetition to the last", .low = -1e4, .high = 1e4,
           .member = "drift_mm"),
    OPTION(APP_NUMBER, opts.rotation_deg, 0, "rotation", "DEG",
           "the object rotates about z from the first repetition to the last", .preset = "0", .low = -3600,
           .high = 3600),
    OPTION(APP_NUMBER, opts.breathing_mm, 0, "breathing", "MM",
           "the object moves to and fro along y, by so much in a breath", .preset = "0", .low = -1e4, .high = 1e4),
    OPTION(APP_NUMBER, opts.breathing_period, 0, "breathing-period", "N", "repetitions of a breath", .preset = "8",
           .low = 1e-3, .high = 1e6),
    OPTION(APP_NUMBERS, breath, 0, "breath", "RATE[,MM]",
           "the object breathes RATE times a minute by the time of each readout, so many mm along y (default: 10); "
           "--tr says the times",
           .low = 0, .high = 1e3, .most = 2),
    OPTION(APP_NUMBERS, heart, 0, "heart", "RATE[,SIZE]",
           "a part of the object beats RATE times a minute, and becomes smaller by SIZE of its radius (default: 0.2)",
           .low = 0, .high = 1e3, .most = 2),
    OPTION(APP_TEXT, waveforms, 0, "waveforms", "HOW",
           "breath and heart: the file has their ECG and the signal of a belt, too; with a channel of triggers, or "
           "signals alone",
           .choices = "triggers|signals"),
    OPTION(APP_NUMBER, variation, 0, "variation", "X",
           "breath and heart: standard deviation of the rates over time, relative to them", .preset = "0.03",
           .low = 0, .high = 0.3),
    OPTION(APP_NUMBER, opts.contrast, 0, "contrast", "DENSITY",
           "contrast agent: density that a part of the object gains, and loses again, over the series", .preset = "0",
           .low = -1e3, .high = 1e3),
    OPTION(APP_NUMBER, off_resonance, 0, "off-resonance", "HZ",
           "in the centre of the field of view; phase exp(+2 pi i f t), t = 0 in the centre of k-space",
           .preset = "0", .low = -1e6, .high = 1e6),
    OPTION(APP_NUMBERS, gradient, 0, "field-gradient", "X[,Y[,Z]]",
           "by how many Hz the off-resonance rises across the field of view", .low = -1e6, .high = 1e6,
           .member = "field.gradient"),
    OPTION(APP_NUMBERS, shim, 0, "field-shim", "A[,B[,C]]",
           "off-resonance as second-order shims make it: Hz at the edge of the field of view of x^2-y^2, 2xy and "
           "z^2-(x^2+y^2)/2",
           .low = -1e6, .high = 1e6),
    OPTION(
        APP_NUMBERS, dipole, 0, "field-dipole", "HZ,X,Y[,Z]",
        "off-resonance by a magnetised region at X, Y, Z fields of view from the centre: HZ at its poles; the main "
        "field is along z, of 2D scans along y",
        .low = -1e6, .high = 1e6, .member = "field.dipole_at"),
    OPTION(APP_NUMBER, opts.tesla, 0, "field-strength", "T", "of the magnet, which the header states", .preset = "3",
           .low = 1e-4, .high = 100, .member = "tesla"),
    OPTION(APP_FLAG, opts.concomitant, 0, "concomitant", "", "samples see the concomitant fields of the gradients"),
    OPTION(APP_READ_FILE, phase_terms, 0, "phase-terms", "FILE",
           "samples see these phases in rad, as larmor recon --phase-terms takes them"),
    OPTION(APP_FLAG, opts.phase_rows, 0, "phase-rows", "",
           "store the trajectory with the phases of --phase-terms as its rows"),
    OPTION(APP_READ_FILE, gradient_field, 0, "gradient-field", "FILE",
           "gradients have these errors, as larmor recon --gradient-field takes them"),
    OPTION(APP_READ_FILE, displacement, 0, "displacement", "FILE",
           "samples see the object displaced by this, as larmor recon --displacement takes it"),
    OPTION(APP_READ_FILE, motion, 0, "motion", "FILE",
           "the object moves, and the coils stay: a pose for each readout, as larmor recon --motion takes them"),
    OPTION(
        APP_READ_FILE, motion_fields, 0, "motion-fields", "FILE",
        "the object moves by a displacement of its own in each repetition, as larmor recon --motion-fields takes it"),
    OPTION(APP_NUMBERS, position, 0, "position", "X,Y,Z", "of the centre from the isocentre, in mm", .low = -1e4,
           .high = 1e4, .member = "position_mm"),
    OPTION(APP_NUMBER, image_phase, 0, "image-phase", "RAD",
           "the image has a smooth phase, RAD sin(2 pi cycles . r), from -RAD to RAD", .preset = "0", .low = -20,
           .high = 20),
    OPTION(APP_NUMBERS, phase_cycles, 0, "phase-cycles", "X[,Y[,Z]]",
           "its cycles across the field of view (default: 0.5,0.5,0)", .low = -100, .high = 100,
           .member = "phase.cycles"),
    OPTION(APP_NUMBERS, echo_times, 0, "echo-times", "MS[,MS[,MS]]",
           "several echoes, a contrast each: with off-resonance their phases differ", .low = 0, .high = 1e4,
           .most = 6),
    OPTION(APP_NUMBER, readout_start, 0, "readout-start", "MS",
           "time of a readout's first sample after the echo, which the header then states (default: so that the echo "
           "is in the centre of k-space)",
           .low = -1e4, .high = 1e4, .absent = 1),
    OPTION(APP_NUMBERS, delays, 0, "delays", "X,Y[,XY]",
           "gradients are late by so many samples, and leave so much of each other on the axes; 3D: "
           "X,Y,Z[,XY,XZ,YZ]; the stored trajectory is the nominal one",
           .low = -100, .high = 100, .most = 6, .member = "delay"),
    OPTION(APP_INTEGER, shots, 0, "epi", "SHOTS",
           "cartesian: echo-planar lines, in both directions, in so many interleaved shots", .preset = "0", .low = 0,
           .high = 65536),
    OPTION(APP_NUMBERS, ramp, 0, "ramp", "UP,FLAT,DOWN[,DELAY]",
           "epi: the gradient of a line in us, which the header describes, and from its start to the first sample "
           "(default: samples that are equally far apart; DELAY: they are in the middle)",
           .low = 0, .high = 1e6),
    OPTION(
        APP_NUMBERS, ghost, 0, "ghost", "DEG,SHIFT[,STEP]",
        "epi: lines of both directions differ by a phase in degrees and a shift in 1/FOV; STEP: the phase grows by "
        "so many degrees from shot to shot",
        .low = -1e4, .high = 1e4),
    OPTION(APP_INTEGER, navigators, 0, "navigators", "N", "epi: lines for phase correction before each shot",
           .preset = "3", .low = 0, .high = 64),
    OPTION(APP_FLAG, opts.oblique, 0, "oblique", "", "rotate and shift the volume, as in an oblique scan"),
    OPTION(APP_TEXT, opts.units, 0, "units", "U", "units of the stored trajectory", .preset = "1/fov",
           .choice = choose_unit),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace files that exist"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

/* "0,3" to 1 at listed[0] and listed[3]; else says what is wrong. */
static int read_coils(const char *option, const char *text, int64_t coils, unsigned char *listed)
{
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        char *end;
        const long c = strtol(p, &end, 10);
        if (!coils) return app_refuse(APP_USAGE, "--%s \"%s\": --coils 0 has none.", option, text);
        if (c >= coils)
            return app_refuse(APP_USAGE, "--%s \"%s\": numbers of coils from 0 to %lld expected, like 0,2.", option,
                              text, (long long)coils - 1);
        listed[c] = 1;
        p = end;
    }
    return APP_DONE;
}

/* What the library takes for the options. */
typedef struct request {
    larmor_simulation_opts opts;
    larmor_phantom_field field;
    larmor_phantom_phase phase;
    larmor_simulation_epi epi;
    unsigned char dead[MOST_COILS], noiseless[MOST_COILS];
    app_progress progress;
} request;

static void fill(double *to, const app_list *list, int most)
{
    for (int i = 0; i < list->count && i < most; i++) to[i] = list->value[i];
}

static int is_off_resonant(const settings *s)
{
    return s->off_resonance != 0 || s->gradient.count || s->shim.count || s->dipole.count;
}

static int moves(const settings *s)
{
    double drift[APP_MAX_NUMBERS] = {0};
    fill(drift, &s->drift, APP_MAX_NUMBERS);
    return drift[0] != 0 || drift[1] != 0 || drift[2] != 0 || s->opts.rotation_deg != 0 ||
           s->opts.breathing_mm != 0 || s->opts.contrast != 0;
}

static void fill_field(const settings *s, request *r)
{
    if (!is_off_resonant(s)) return;
    r->field.hz = s->off_resonance;
    fill(r->field.gradient, &s->gradient, 3);
    fill(r->field.shim, &s->shim, 3);
    fill(&r->field.dipole, &s->dipole, 1);
    for (int d = 0; d + 1 < s->dipole.count && d < 3; d++) r->field.dipole_at[d] = s->dipole.value[d + 1];
    r->opts.field = &r->field;
}

static void fill_phase(const settings *s, request *r)
{
    if (s->image_phase == 0) return;
    r->phase.radians = s->image_phase;
    if (!s->phase_cycles.count) r->phase.cycles[0] = r->phase.cycles[1] = 0.5;
    fill(r->phase.cycles, &s->phase_cycles, 3);
    r->opts.phase = &r->phase;
}

static void fill_epi(const settings *s, request *r)
{
    const double degree = M_PI / 180;
    double ramp[4] = {0}, ghost[3] = {0};
    if (!s->shots) return;
    fill(ramp, &s->ramp, 4);
    fill(ghost, &s->ghost, 3);
    r->epi = (larmor_simulation_epi){
        .shots = s->shots,
        .navigators = s->navigators ? s->navigators : -1,
        .ramp = {.up_us = ramp[0], .flat_us = ramp[1], .down_us = ramp[2], .delay_us = ramp[3]},
        .ghost = {.phase = ghost[0] * degree, .shift = ghost[1]},
        .phase_step = ghost[2] * degree};
    r->opts.epi = &r->epi;
}

static larmor_phantom_cycle cycle_of(const app_list *given, double size, const settings *s, uint64_t which)
{
    if (!given->count) return (larmor_phantom_cycle){.rate = 0};
    return (larmor_phantom_cycle){.rate = given->value[0],
                                  .size = given->count > 1 ? given->value[1] : size,
                                  .variation = s->variation,
                                  .seed = 2 * (uint64_t)s->opts.seed + which};
}

static void fill_opts(const settings *s, request *r)
{
    r->opts = s->opts;
    r->opts.trajectory = s->trajectory.name;
    r->opts.traj = scan_trajectory_opts(&s->trajectory);
    r->opts.dead = r->dead;
    r->opts.noiseless = r->noiseless;
    r->opts.t2stars = s->t2star.count;
    r->opts.t2star_ms = s->t2star.value;
    r->opts.readout_start_ms = isnan(s->readout_start) ? NULL : &s->readout_start;
    r->opts.echoes = s->echo_times.count;
    r->opts.echo_ms = s->echo_times.value;
    r->opts.separate_calibration = !strcmp(s->calibration, "separate");
    r->opts.monitor = app_monitor;
    r->opts.user = &r->progress;
    fill(r->opts.drift_mm, &s->drift, 3);
    fill(r->opts.position_mm, &s->position, 3);
    r->opts.breath = cycle_of(&s->breath, 10, s, 0);
    r->opts.heart = cycle_of(&s->heart, 0.2, s, 1);
    if (s->waveforms)
        r->opts.waveforms = strcmp(s->waveforms, "triggers") ? LARMOR_WAVEFORMS_SIGNALS : LARMOR_WAVEFORMS_TRIGGERS;
    if (s->signal) {
        r->opts.phantom =
            strcmp(s->opts.phantom, "shepp-logan") ? s->opts.phantom : "tissues"; /* that of the preset */
        r->opts.signal = strcmp(s->signal, "fisp") ? LARMOR_SIGNAL_WATER_FAT : LARMOR_SIGNAL_FISP;
    }
    fill_field(s, r);
    fill_phase(s, r);
    fill_epi(s, r);
}

static int check_coils(const settings *s, request *r)
{
    if (s->maps && !s->opts.coils)
        return app_refuse(APP_USAGE, "--coils \"0\": a whole number >= 1 expected, because --maps asks for maps.");
    int code = read_coils("dead-coils", s->dead_coils, s->opts.coils, r->dead);
    if (!code) code = read_coils("noiseless-coils", s->noiseless_coils, s->opts.coils, r->noiseless);
    if (!code && s->opts.coils && !memchr(r->dead, 0, (size_t)s->opts.coils))
        return app_refuse(APP_USAGE, "--dead-coils \"%s\": these are all coils; leave one of them out.",
                          s->dead_coils);
    return code;
}

static int check_delays(const settings *s, request *r)
{
    const int ndim = scan_trajectory_dimensions(&s->trajectory);
    if (scan_delays(ndim, &s->delays, r->opts.delay)) return APP_DONE;
    return app_refuse(APP_USAGE, "--delays: %d numbers; %s.", s->delays.count, scan_delays_expected(ndim));
}

/* Mistakes that the options' table cannot see. */
static int check(const settings *s, request *r)
{
    if (s->opts.snr > 0 && s->opts.noise > 0)
        return app_refuse(APP_USAGE, "--snr \"%g\": --noise states the noise already; give one of them.",
                          s->opts.snr);
    if (s->opts.noise_samples && !(s->opts.noise > 0 || s->opts.snr > 0))
        return app_refuse(APP_USAGE, "--noise-scan \"%lld\": there is no noise; give --noise SIGMA or --snr X, too.",
                          (long long)s->opts.noise_samples);
    if (!s->shots && (s->ramp.count || s->ghost.count))
        return app_refuse(APP_USAGE, "--%s: has no effect without --epi.", s->ramp.count ? "ramp" : "ghost");
    if (!s->opts.bands && (s->opts.band_mm > 0 || s->opts.band_shifts))
        return app_refuse(APP_USAGE, "--%s: has no effect without --multiband.",
                          s->opts.band_shifts ? "caipi" : "multiband-spacing");
    if (s->image_phase != 0 && is_off_resonant(s))
        return app_refuse(APP_USAGE, "--image-phase \"%g\": is not for a scan with off-resonance.", s->image_phase);
    const int water_fat = s->signal && !strcmp(s->signal, "water-fat");
    const struct {
        int is_wrong;
        const char *line;
    } rules[] = {
        {moves(s) && s->opts.repetitions < 2,
         "--drift, --rotation, --breathing and --contrast change the object from one "
         "repetition to the next; give --repetitions N, too."},
        {water_fat && !s->echo_times.count, "--signal water-fat: needs --echo-times MS,MS,MS, too."},
        {s->opts.r2star > 0 && !water_fat, "--r2star: has no effect without --signal water-fat."},
        {s->t2star_map && !s->t2star.count, "--t2star-map: has no effect without --t2star."},
        {s->opts.phase_rows && !s->phase_terms, "--phase-rows: has no effect without --phase-terms."},
        {s->waveforms && !s->breath.count && !s->heart.count,
         "--waveforms: has no effect without --breath or --heart."},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong) return app_refuse(APP_USAGE, "%s", rules[i].line);
    if ((s->breath.count || s->heart.count) && !(s->opts.tr_ms > 0))
        return app_refuse(APP_USAGE, "--%s: needs the time of each readout; give --tr MS, too.",
                          s->breath.count ? "breath" : "heart");
    if (s->truth_bins && (!s->truth || strstr(s->truth_bins, "time:")))
        return app_refuse(APP_USAGE, "--truth-bins %s: bins of heart and breath of a --truth expected.",
                          s->truth_bins);
    const int code = check_coils(s, r);
    return code ? code : check_delays(s, r);
}

/* ---- the command ---- */

typedef struct outputs {
    larmor_output *scan, *truth, *maps, *field, *t2star;
} outputs;

static void free_outputs(outputs *out)
{
    larmor_output_free(out->t2star);
    larmor_output_free(out->field);
    larmor_output_free(out->maps);
    larmor_output_free(out->truth);
    larmor_output_free(out->scan);
}

static int open_outputs(const settings *s, outputs *out)
{
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out->scan));
    if (s->truth) APP_TRY(APP_RUN, app_output_open(s->truth, s->force, &out->truth));
    if (s->maps) APP_TRY(APP_RUN, app_output_open(s->maps, s->force, &out->maps));
    if (s->field_map) APP_TRY(APP_RUN, app_output_open(s->field_map, s->force, &out->field));
    if (s->t2star_map) APP_TRY(APP_RUN, app_output_open(s->t2star_map, s->force, &out->t2star));
    return APP_DONE;
}

/* Space for the samples of the scan, its images and its maps. */
static larmor_status reserve(const settings *s, const larmor_simulation_info *i, const outputs *out)
{
    const int64_t images = i->slices * i->repetitions;
    const larmor_shape image = larmor_shape_of(i->ndim, i->matrix);
    TRY(larmor_output_reserve(out->scan, LARMOR_C64, LARMOR_SHAPE(i->samples, i->readouts, i->coils, images), 0));
    if (out->truth) TRY(larmor_output_reserve(out->truth, LARMOR_C64, larmor_shape_append(image, images), 0));
    if (out->maps && !s->maps_matrix.count)
        TRY(larmor_output_reserve(out->maps, LARMOR_C64, larmor_shape_append(image, i->coils), 0));
    return LARMOR_OK;
}

static larmor_status write_maps(const settings *s, const larmor_simulation *simulation, larmor_output *out)
{
    int64_t matrix[3] = {0};
    larmor_image_meta meta;
    for (int d = 0; d < s->maps_matrix.count; d++) matrix[d] = (int64_t)s->maps_matrix.value[d];
    APP_OWN(larmor_array, maps, larmor_simulation_maps(simulation, matrix, &maps, &meta));
    return larmor_maps_save(out, maps, &meta);
}

typedef larmor_status map_of(const larmor_simulation *simulation, larmor_array **map, larmor_image_meta *meta);

static larmor_status write_map(const larmor_simulation *simulation, map_of *find, larmor_output *out)
{
    larmor_image_meta meta;
    APP_OWN(larmor_array, map, find(simulation, &map, &meta));
    return larmor_image_write(out, &(larmor_image){map, meta}, 1, NULL);
}

/* What gating should find. */
static void report_cycle(const char *name, const larmor_phantom_cycle *cycle, double seconds)
{
    if (cycle->rate > 0) app_log("%s: %.4g a minute", name, larmor_phantom_cycles(cycle, seconds) / seconds * 60);
}

static int write_all(const settings *s, larmor_simulation *simulation, request *r, const outputs *out)
{
    const larmor_simulation_info i = larmor_simulation_describe(simulation);
    APP_TRY(APP_RUN, reserve(s, &i, out));
    app_progress_begin(&r->progress, "phantom");
    const larmor_status st = larmor_simulation_save(simulation, out->scan);
    app_progress_end(&r->progress);
    APP_TRY(APP_RUN, st);
    app_has_computed();
    app_log("wrote %s: %s, %s, %lld readouts x %lld samples, %d coil%s, %lld x %lld x %lld voxels", s->output,
            i.phantom, i.trajectory, (long long)i.readouts, (long long)i.samples, i.coils, app_s(i.coils),
            (long long)i.matrix[0], (long long)i.matrix[1], (long long)i.matrix[2]);
    if (s->opts.snr > 0) app_log("noise: standard deviation %.4g for an image of SNR %g", i.noise, s->opts.snr);
    const double seconds = 1e-3 * s->opts.tr_ms * (double)(i.readouts * i.repetitions);
    report_cycle("breath", &r->opts.breath, seconds);
    report_cycle("heart", &r->opts.heart, seconds);
    if (out->truth) APP_DO(phantom_write_images(simulation, s->truth_bins, s->truth, out->truth));
    if (out->maps) {
        APP_TRY(APP_RUN, write_maps(s, simulation, out->maps));
        app_log("wrote %s: the sensitivities of %d coil%s", s->maps, i.coils, app_s(i.coils));
    }
    if (s->truth_maps) APP_DO(phantom_write_truth(simulation, s->truth_maps, s->force));
    if (out->field) {
        APP_TRY(APP_RUN, write_map(simulation, larmor_simulation_field, out->field));
        app_log("wrote %s: the off-resonance in Hz", s->field_map);
    }
    if (out->t2star) {
        APP_TRY(APP_RUN, write_map(simulation, larmor_simulation_t2star, out->t2star));
        app_log("wrote %s: T2* in ms", s->t2star_map);
    }
    return APP_DONE;
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    request r = {.opts = {0}};
    APP_FREED_BY(free_outputs) outputs out = {NULL, NULL, NULL, NULL, NULL};
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_simulation) *simulation = NULL;
    APP_OWNED(larmor_array) *phase_terms = NULL, *gradient_field = NULL, *displacement = NULL, *motion = NULL;
    APP_OWNED(larmor_array) *motion_fields = NULL;
    fill_opts(s, &r);
    int code = check(s, &r);
    if (!code) code = open_outputs(s, &out);
    if (code) return code;
    APP_TRY(APP_INPUT, app_open_device(s->device, s->threads, &dev));
    app_may_leave(dev);
    if (s->phase_terms) APP_TRY(APP_INPUT, app_read_array(s->phase_terms, dev, &phase_terms));
    if (s->gradient_field) APP_TRY(APP_INPUT, larmor_gradient_field_read(s->gradient_field, dev, &gradient_field));
    if (s->displacement) APP_TRY(APP_INPUT, app_read_array(s->displacement, dev, &displacement));
    if (s->motion_fields) APP_TRY(APP_INPUT, app_read_array(s->motion_fields, dev, &motion_fields));
    r.opts.motion_fields = motion_fields;
    r.opts.phase_terms = phase_terms;
    r.opts.gradient_field = gradient_field;
    r.opts.displacement = displacement;
    if (s->motion) APP_DO(motion_read(s->motion, &motion));
    r.opts.motion = motion;
    APP_TRY(APP_INPUT, larmor_simulation_create(dev, &r.opts, &simulation));
    return write_all(s, simulation, &r, &out);
}

const app_command cmd_phantom = {
    .name = "phantom",
    .usage = "-o SCAN.h5 [options]",
    .summary = "simulate a scan of a phantom, exactly in k-space",
    .details =
        "The field of view is 256 mm along x, with square voxels; 2D slices are 5 mm thick.\n"
        "Nothing is rasterised: each sample is the phantom's Fourier integral, times the coil's profile. A "
        "Cartesian\n"
        "scan stores counters instead of a trajectory.\n"
        "The truth is the phantom's Fourier series cut at the matrix, one image for each slice and repetition.",
    .computes = 1,
    APP_OWN_PARTS,
};
