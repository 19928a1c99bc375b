/* Echo-planar scans from a simulated file to the image: what differs between the directions leaves no ghost.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { MATRIX = 48, RECEIVERS = 6 };

static const double degree = M_PI / 180;

/* A gradient of ramps that take as long as its flat top. */
#define RAMPS .ramp = {.up_us = 100, .flat_us = 110, .down_us = 100}
#define GHOST .ghost = {.phase = 0.7, .shift = 0.8}

typedef struct stored {
    char folder[32], path[64];
    larmor_raw *raw;
    larmor_source *source;
    larmor_array *maps, *truth;
} stored;

static stored stored_scan(const larmor_simulation_opts *opts)
{
    stored s = {.folder = "/tmp/larmor-test-XXXXXX"};
    larmor_image_meta meta;
    assert_non_null(mkdtemp(s.folder));
    snprintf(s.path, sizeof s.path, "%s/scan.h5", s.folder);
    OWN(larmor_simulation, *simulation, larmor_simulation_create(dev, opts, &simulation));
    larmor_output *out = MADE(larmor_output, larmor_output_open(s.path, 1, &made));
    assert_ok(larmor_simulation_save(simulation, out));
    assert_ok(larmor_simulation_maps(simulation, NULL, &s.maps, &meta));
    OWN(larmor_expected, expected, larmor_simulation_expect(simulation, &expected));
    s.truth = larmor_array_ref(expected.image[0].data);
    larmor_output_free(out);
    assert_ok(larmor_raw_open(s.path, NULL, &s.raw));
    assert_ok(larmor_source_of_raw(s.raw, "scan", &s.source));
    return s;
}

static void end_stored(stored *s)
{
    larmor_source_free(s->source);
    larmor_raw_free(s->raw);
    LMR_FREE(s->truth, s->maps);
    assert_int_equal(unlink(s->path), 0);
    assert_int_equal(rmdir(s->folder), 0);
}

/* The image of a series by some options. */
static float complex *image_by(const stored *s, int series, larmor_recon_opts opts)
{
    float complex *image;
    opts.size = sizeof opts;
    opts.method = "cg";
    opts.delays = LARMOR_DELAYS_OFF;
    opts.memory = INT64_C(1) << 30; /* no other descriptions of the scan are tried */
    OWN(larmor_recon, *recon, larmor_recon_create(s->source, dev, &opts, &recon));
    OWN(larmor_recon_result, result, larmor_recon_run(recon, series, &result));
    assert_int_equal(result.count, 1);
    assert_ok(larmor_array_download(result.image[0].data, LARMOR_C64, &image));
    return image;
}

static float complex *image_of(const stored *s, int series, int no_ghost)
{
    return image_by(s, series, (larmor_recon_opts){.maps = s->maps, .no_ghost = no_ghost});
}

/* What the image has beside the truth, along the truth `moved` lines away, relative to the object. */
static double ghost_of(const float complex *image, const larmor_array *truth, int moved)
{
    double complex along = 0, apart = 0;
    double power = 0;
    OWN_MEMORY(float complex, *t, larmor_array_download(truth, LARMOR_C64, &t));
    for (int i = 0; i < MATRIX * MATRIX; i++) {
        along += conj((double complex)t[i]) * (double complex)image[i];
        power += cabs((double complex)t[i]) * cabs((double complex)t[i]);
    }
    along /= power;
    for (int y = 0; y < MATRIX; y++)
        for (int x = 0; x < MATRIX; x++) {
            const double complex left =
                (double complex)image[x + MATRIX * y] - along * (double complex)t[x + MATRIX * y];
            apart += conj((double complex)t[x + MATRIX * ((y + moved) % MATRIX)]) * left;
        }
    return cabs(apart) / power / cabs(along);
}

static const larmor_simulation_opts plain = {
    .trajectory = "cartesian", .traj = {.matrix = {MATRIX}}, .coils = RECEIVERS, .same_angles = 1};

/* 1 % is what docs/epi.md promises; without the correction there are 5 % and more. A ghost is half of the distance
 *   between the
 * images of lines as far apart as those of a shot away. */
TEST(no_ghost_is_left_of_any_kind_of_shots)
{
    static const double two_echoes[] = {10, 20};
    static const struct {
        larmor_simulation_epi epi;
        int64_t R, middle, samples;
        double part;
        int echoes;
    } cases[] = {
        {{RAMPS, GHOST}, 1, 0, 0, 1, 0},
        {{GHOST}, 1, 0, 2 * MATRIX, 1, 0},
        {{RAMPS, GHOST, .shots = 2, .phase_step = 0.5}, 1, 0, 0, 1, 0},
        {{RAMPS, GHOST, .navigators = -1}, 1, 0, 0, 1, 0},
        {{RAMPS, GHOST}, 2, 0, 0, 1, 0},
        {{RAMPS, GHOST}, 3, 12, 0, 1, 0},
        {{RAMPS, GHOST}, 1, 0, 0, .7, 0},
        {{RAMPS, GHOST, .phase_step = 0.4}, 1, 0, 0, 1, 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        larmor_simulation_opts opts = plain;
        opts.epi = &cases[c].epi;
        opts.traj.acceleration[0] = cases[c].R > 1 ? cases[c].R : 0;
        opts.traj.calibration[0] = cases[c].middle;
        opts.traj.samples = cases[c].samples;
        opts.traj.partial_fourier = cases[c].part;
        opts.echoes = cases[c].echoes;
        opts.echo_ms = two_echoes;
        const int shots = cases[c].epi.shots ? (int)cases[c].epi.shots : 1;
        const int images = cases[c].echoes ? 2 : 1;
        OWNED(stored) s = stored_scan(&opts);
        for (int i = 0; i < images; i++) {
            const int moved = MATRIX / (2 * shots * (int)cases[c].R);
            HEAP float complex *corrected = image_of(&s, i, 0);
            assert_at_most(ghost_of(corrected, s.truth, moved), 0.01);
            if (c) continue;
            HEAP float complex *as_given = image_of(&s, i, 1);
            assert_true(ghost_of(as_given, s.truth, moved) > 0.05);
        }
    }
}

/* The gradient says where k = 0 is, which the echoes of a ghost are beside. */
TEST(a_ghost_on_ramps_is_no_other_way_to_count_samples)
{
    static const larmor_simulation_epi epi = {RAMPS, GHOST};
    larmor_simulation_opts opts = plain;
    opts.epi = &epi;
    OWNED(stored) s = stored_scan(&opts);
    const larmor_raw_info info = larmor_raw_describe(s.raw);
    assert_null(strstr(info.warnings, "counts samples"));
    assert_non_null(strstr(info.traj_report, "by a gradient of 100 + 110 + 100 us"));
    assert_int_equal(info.navigators, 3);
}

/* Both directions are read with the same delay: the sample at the centre is the same in time, in front or behind. */
TEST(lines_of_both_directions_that_are_late_have_the_same_center_sample)
{
    static const double flat_us[] = {150, 150, 300}, delay_us[] = {13, 61, 8};
    static const int centre[] = {40, 28, 60};
    for (int i = 0; i < 3; i++) {
        const larmor_simulation_epi epi = {
            .ramp = {.up_us = 100, .flat_us = flat_us[i], .down_us = 100, .delay_us = delay_us[i]}};
        larmor_simulation_opts opts = plain;
        opts.epi = &epi;
        OWNED(stored) s = stored_scan(&opts);
        for (int l = 0; l < 8; l++) {
            larmor_acquisition line;
            assert_ok(larmor_raw_acquisition(s.raw, l, &line));
            assert_int_equal(line.center_sample, centre[i]);
        }
        assert_null(strstr(larmor_raw_describe(s.raw).warnings, "center_sample"));
    }
}

/* Lines for calibration, of either direction, complete the image. */
TEST(calibration_lines_of_both_directions_are_lines_of_the_image)
{
    static const larmor_simulation_epi epi = {RAMPS};
    larmor_simulation_opts opts = plain;
    opts.epi = &epi;
    opts.traj.acceleration[0] = 3;
    opts.traj.calibration[0] = 12;
    OWNED(stored) s = stored_scan(&opts);
    larmor_group group;
    assert_ok(larmor_raw_group(s.raw, 0, &group));
    assert_int_equal(group.readouts, MATRIX / 3 + 8);
}

TEST(the_phase_of_a_shot_is_that_of_its_navigators)
{
    static const larmor_simulation_epi epi = {RAMPS, .ghost = {.phase = 0.2, .shift = -0.4}, .shots = 3,
                                              .phase_step = 0.3};
    larmor_simulation_opts opts = plain;
    opts.epi = &epi;
    OWNED(stored) s = stored_scan(&opts);
    larmor_encoding encoding;
    larmor_grid grid;
    assert_ok(larmor_raw_encoding(s.raw, 0, &encoding));
    assert_ok(larmor_encoding_grid(&encoding, NULL, &grid));
    OWN(larmor_navigators, lines, larmor_raw_navigators(s.raw, 0, &grid, dev, &lines));
    assert_int_equal(lines.shots, 3);
    for (int i = 0; i < 3; i++) {
        larmor_ghost found;
        assert_ok(larmor_ghost_navigators(lines.kspace, lines.traj, lines.first[i], lines.first[i + 1], &found));
        assert_at_most(fabs(found.phase - .2 - .3 * i), 0.5 * degree);
        assert_at_most(fabs(found.shift + .4), 0.005);
    }
}

/* NRMSE after the best complex scale. */
static double error_of(const float complex *image, const larmor_array *truth)
{
    double complex along = 0;
    double power = 0, of_truth = 0;
    OWN_MEMORY(float complex, *t, larmor_array_download(truth, LARMOR_C64, &t));
    for (int i = 0; i < MATRIX * MATRIX; i++) {
        along += conj((double complex)image[i]) * (double complex)t[i];
        power += cabs((double complex)image[i]) * cabs((double complex)image[i]);
        of_truth += cabs((double complex)t[i]) * cabs((double complex)t[i]);
    }
    return sqrt(fmax(0, 1 - cabs(along) * cabs(along) / power / of_truth));
}

/* An image of so many voxels relative to one of the same scan without a ghost: NRMSE of magnitudes. */
static double difference_of(const float complex *image, const float complex *clean, int64_t voxels)
{
    double apart = 0, all = 0;
    for (int64_t i = 0; i < voxels; i++) {
        const double a = cabs((double complex)image[i]), b = cabs((double complex)clean[i]);
        apart += (a - b) * (a - b);
        all += b * b;
    }
    return sqrt(apart / all);
}

/* Lines are corrected before they are cut to the image's k-space, whichever samples are left. */
TEST(a_coarser_image_has_no_ghost_either)
{
    static const larmor_ramp ramps[] = {{0},
                                        {.up_us = 100, .flat_us = 110, .down_us = 100},
                                        {.up_us = 100, .flat_us = 150, .down_us = 100, .delay_us = 15}};
    static const int64_t matrix[][2] = {{40, 40}, {44, 48}, {48, 40}, {32, 36}, {48, 48}};
    for (int r = 0; r < 3; r++) {
        larmor_simulation_epi epi = {.ramp = ramps[r], .shots = 1 + r % 2};
        larmor_simulation_opts opts = plain;
        opts.epi = &epi;
        opts.coils = 2;
        OWNED(stored) clean = stored_scan(&opts);
        epi.ghost = (larmor_ghost){.phase = 1 - .6 * r, .shift = .2 + .3 * r};
        OWNED(stored) s = stored_scan(&opts);
        for (int i = of_all(r, 0); i < of_all(r + 2, 5); i++) {
            const larmor_recon_opts cut = {.matrix = {matrix[i][0], matrix[i][1]}};
            larmor_recon_opts off = cut;
            off.no_ghost = 1;
            const int64_t voxels = matrix[i][0] * matrix[i][1];
            HEAP float complex *image = image_by(&s, 0, cut), *ghost = image_by(&s, 0, off);
            HEAP float complex *right = image_by(&clean, 0, cut);
            const double left = difference_of(image, right, voxels), whole = difference_of(ghost, right, voxels);
            assert_at_most(left, 0.02);
            assert_true(whole > 5 * left);
        }
    }
}

/* The middle of the gradient lies between two samples of 48 and 72, and at one of 49. */
TEST(lines_on_the_flat_top_leave_no_phase_across_the_image)
{
    static const int64_t samples[] = {MATRIX, 0, MATRIX + 1};
    for (int i = 0; i < 3; i++) {
        const larmor_simulation_epi epi = {.ramp = {.up_us = 100, .flat_us = 300, .down_us = 100}, GHOST};
        larmor_simulation_opts opts = plain;
        opts.epi = &epi;
        opts.traj.samples = samples[i];
        OWNED(stored) s = stored_scan(&opts);
        HEAP float complex *image = image_of(&s, 0, 0);
        assert_at_most(error_of(image, s.truth), 0.1);
    }
}

enum { SAMPLES = 2 * MATRIX }; /* of oversampled lines, which the header calls Cartesian */

typedef struct readout {
    int ky;
    int back;   /* 1: acquired in reverse, and flagged; 2: so, and turned without a flag;
                  3: so, without a flag; 4: flagged alone */
    int missed; /* samples at the end that are discarded */
    larmor_ghost ghost;
    uint64_t flags;
    float dwell_us;
} readout;

static void place_samples(const readout *list, int count, double *k)
{
    for (int i = 0; i < SAMPLES * count; i++) {
        const readout *of = &list[i / SAMPLES];
        const int sample = of->back == 2 ? SAMPLES - 1 - i % SAMPLES : i % SAMPLES;
        const int is_back = of->back && of->back != 4;
        const double sign = is_back ? -1 : 1;
        k[2 * i] = sign * ((sample - SAMPLES / 2 + is_back) / 2. + of->ghost.shift / 2);
        k[2 * i + 1] = of->ky - MATRIX / 2;
    }
}

static void append(larmor_raw_writer *writer, const readout *of, int coils, float *samples)
{
    const larmor_acquisition head = {.samples = SAMPLES,
                                     .coils = coils,
                                     .center_sample = SAMPLES / 2 - (of->back == 1 || of->back == 3),
                                     .discard_post = of->missed,
                                     .flags = of->flags | (of->back % 3 == 1 ? LARMOR_ACQ_REVERSE : 0),
                                     .step1 = of->ky,
                                     .dwell_us = of->dwell_us > 0 ? of->dwell_us : 4,
                                     .read_dir = {1},
                                     .phase_dir = {0, 1},
                                     .slice_dir = {0, 0, 1},
                                     .data = samples};
    assert_ok(larmor_raw_append(writer, &head));
}

/* Readouts of the texture, in the order of time. coils: 0: one that sees all alike. */
static stored stored_readouts(const readout *list, int count, int coils)
{
    stored s = {.folder = "/tmp/larmor-test-XXXXXX"};
    const int receivers = coils ? coils : 1;
    const larmor_scan scan = {.encoding = {.matrix = {SAMPLES, MATRIX, 1},
                                           .recon_matrix = {MATRIX, MATRIX, 1},
                                           .fov_mm = {SAMPLES, MATRIX, 5},
                                           .recon_fov_mm = {MATRIX, MATRIX, 5},
                                           .ndim = 2,
                                           .trajectory = "cartesian"},
                              .coils = receivers,
                              .readouts = count,
                              .slices = 1,
                              .repetitions = 1};
    OWNED(larmor_array) *traj, *kspace;
    HEAP double *k = malloc(sizeof *k * 2 * SAMPLES * (size_t)count);
    HEAP float *samples = malloc(sizeof *samples * 2 * SAMPLES * (size_t)receivers);
    assert_true(k && samples);
    place_samples(list, count, k);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, count), LARMOR_F64, k, &traj));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("texture", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, LARMOR_SHAPE(MATRIX, MATRIX), &s.truth));
    OWN_MEMORY(float complex, *y, larmor_array_download(kspace, LARMOR_C64, &y));
    assert_non_null(mkdtemp(s.folder));
    snprintf(s.path, sizeof s.path, "%s/scan.h5", s.folder);
    larmor_output *out = MADE(larmor_output, larmor_output_open(s.path, 1, &made));
    larmor_raw_writer *writer = MADE(larmor_raw_writer, larmor_raw_create(out, &scan, &made));
    for (int r = 0; r < count; r++) {
        const float complex turn = (float complex)cexp(I * (list[r].back ? -.5 : .5) * list[r].ghost.phase);
        for (int i = 0; i < SAMPLES * receivers; i++) {
            const float complex value = turn * y[i % SAMPLES + SAMPLES * (r + (int64_t)count * (i / SAMPLES))];
            samples[2 * i] = crealf(value);
            samples[2 * i + 1] = cimagf(value);
        }
        append(writer, &list[r], receivers, samples);
    }
    assert_ok(larmor_raw_finish(writer));
    larmor_raw_writer_free(writer);
    larmor_output_free(out);
    assert_ok(larmor_raw_open(s.path, NULL, &s.raw));
    assert_ok(larmor_source_of_raw(s.raw, "scan", &s.source));
    return s;
}

/* Every second line in reverse, late by so many samples each, of which the last ones of every third are discarded;
 * stored as acquired and flagged, or turned without a flag. */
static stored lines_of(double late, int discarded, int turned, int shots)
{
    const int of_shot = MATRIX / shots;
    readout list[MATRIX];
    for (int i = 0; i < MATRIX; i++)
        list[i] = (readout){.ky = i / of_shot + shots * (i % of_shot),
                            .back = i % 2 * (1 + turned),
                            .missed = i % 3 ? 0 : discarded,
                            .ghost = {0, -late}};
    return stored_readouts(list, MATRIX, 0);
}

static stored stored_lines(double late, int discarded)
{
    return lines_of(late, discarded, 0, 1);
}

/* The shift is found in the image's field of view, and the lines are corrected in that which was encoded. */
TEST(oversampled_lines_in_both_directions_leave_no_ghost)
{
    static const double late[] = {1, 2, 1.5, 1.5};
    static const int discarded[] = {0, 0, 1, 9};
    for (int i = 0; i < 4; i++) {
        OWNED(stored) s = stored_lines(late[i], discarded[i]);
        HEAP float complex *image = image_of(&s, 0, 0), *ghost = image_of(&s, 0, 1);
        assert_at_most(error_of(image, s.truth), 0.05);
        assert_true(error_of(ghost, s.truth) > 4 * error_of(image, s.truth));
    }
}

static int count_echoes(void *user, const larmor_event *e)
{
    int *said = user;
    *said += e->kind == LARMOR_EVENT_WARNING && strstr(e->text, "echoes of lines in reverse are") != NULL;
    return 0;
}

/* The file's reader warns of what becomes a ghost. */
TEST(a_delay_between_directions_is_a_warning_where_it_is_not_corrected)
{
    OWNED(stored) s = stored_lines(2, 0);
    assert_non_null(strstr(larmor_raw_describe(s.raw).warnings, "echoes of lines in reverse are"));
    for (int no_ghost = 0; no_ghost < 2; no_ghost++) {
        int said = 0;
        const larmor_recon_opts opts = OPTS(.no_ghost = no_ghost, .method = "cg", .delays = LARMOR_DELAYS_OFF,
                                            .listener = count_echoes, .user = &said);
        larmor_recon *recon = MADE(larmor_recon, larmor_recon_create(s.source, dev, &opts, &made));
        larmor_recon_free(recon);
        assert_int_equal(said, no_ghost);
    }
}

static int count_turned(void *user, const larmor_event *e)
{
    int *said = user;
    *said += e->kind == LARMOR_EVENT_WARNING && strstr(e->text, "ghost: no line of 1 image goes in reverse") != NULL;
    return 0;
}

/* Beside the truth: without the correction the ghost is .2 of the object and more. */
TEST(lines_that_a_file_has_turned_without_a_flag_leave_no_ghost)
{
    for (int shots = 1; shots < 4; shots++) {
        OWNED(stored) s = lines_of(1.5, 0, 1, shots);
        int said = 0;
        const larmor_recon_opts by = {.maps = s.maps, .listener = count_turned, .user = &said};
        HEAP float complex *image = image_by(&s, 0, by), *ghost = image_of(&s, 0, 1);
        assert_at_most(error_of(image, s.truth), 0.05);
        assert_true(error_of(ghost, s.truth) > 4 * error_of(image, s.truth));
        assert_int_equal(said, 1);
    }
}

/* Of lines without a ghost nothing is said and nothing is changed, whatever their order. */
TEST(cartesian_lines_in_one_direction_stay_as_they_are)
{
    for (int shots = 1; shots < 4; shots++) {
        OWNED(stored) s = lines_of(0, 0, 1, shots);
        int said = 0;
        const larmor_recon_opts by = {.maps = s.maps, .listener = count_turned, .user = &said};
        HEAP float complex *image = image_by(&s, 0, by), *as_given = image_of(&s, 0, 1);
        assert_int_equal(said, 0);
        assert_memory_equal(image, as_given, sizeof *image * MATRIX * MATRIX);
    }
}

static int count_reversed(void *user, const larmor_event *e)
{
    int *said = user;
    *said += e->kind == LARMOR_EVENT_WARNING && strstr(e->text, "fit better with every second line reversed") != NULL;
    return 0;
}

/* Samples without a flag that are acquired in reverse, and flagged ones that are not, are off the grid by one sample
 * of each second line, and what corrects ghosts and delays moves them on. */
TEST(flags_of_lines_in_reverse_that_are_wrong_are_named)
{
    for (int back = 1; back <= 4; back++)
        for (int no_ghost = 0; no_ghost < 2; no_ghost++) {
            readout list[MATRIX];
            int said = 0;
            for (int i = 0; i < MATRIX; i++) list[i] = (readout){.ky = i, .back = i % 2 * back};
            OWNED(stored) s = stored_readouts(list, MATRIX, RECEIVERS);
            const larmor_recon_opts opts =
                OPTS(.no_ghost = no_ghost, .method = "cg", .listener = count_reversed, .user = &said);
            OWN(larmor_recon, *recon, larmor_recon_create(s.source, dev, &opts, &recon));
            assert_int_equal(said, back > 2);
        }
}

/* Of a shot: its navigators, and lines first, first + step, ... */
static int add_shot(readout *list, int count, int first, int step, int lines, const readout *like)
{
    enum { NAVIGATORS = 3 };
    for (int i = 0; i < NAVIGATORS + lines; i++) {
        readout *of = &list[count + i];
        const int line = i - NAVIGATORS;
        *of = *like;
        of->back = i % 2;
        of->ky = line < 0 ? MATRIX / 2 : first + step * line;
        of->flags = line < 0 ? LARMOR_ACQ_PHASE_CORRECTION : like->flags;
    }
    return count + NAVIGATORS + lines;
}

/* Magnitudes beside those of the truth as the coils see it. */
static double error_of_magnitudes(float complex *image, const stored *s)
{
    OWNED(larmor_array) *maps, *truth;
    assert_ok(
        larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(MATRIX, MATRIX), NULL, RECEIVERS, &maps));
    OWN_MEMORY(float complex, *m, larmor_array_download(maps, LARMOR_C64, &m));
    OWN_MEMORY(float complex, *t, larmor_array_download(s->truth, LARMOR_C64, &t));
    for (int i = 0; i < MATRIX * MATRIX; i++) {
        double power = 0;
        for (int c = 0; c < RECEIVERS; c++) power += pow(cabs((double complex)m[i + MATRIX * MATRIX * c]), 2);
        t[i] = (float)(sqrt(power) * cabs((double complex)t[i]));
        image[i] = cabsf(image[i]);
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(MATRIX, MATRIX), LARMOR_C64, t, &truth));
    return error_of(image, truth);
}

/* Every second line, and a reference of lines in the middle by navigators of its own, before or after the image. */
TEST(a_reference_of_another_ghost_dwell_time_or_number_of_shots_leaves_no_ghost)
{
    static const struct {
        larmor_ghost ghost; /* of the reference */
        int shots, is_last;
        float dwell_us;
    } of[] = {{{.9, .45}, 1, 0, 4}, {{.9, .45}, 2, 0, 4}, {{-.5, .2}, 2, 0, 4}, {{-.5, .2}, 2, 1, 4},
              {{-.5, .2}, 2, 0, 8}, {{-.5, .2}, 1, 0, 8}, {{0, 0}, 2, 0, 4}};
    enum { CALIBRATION = 24 };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        readout list[2 * MATRIX];
        const readout image_like = {.ghost = {.9, .45}};
        const readout like = {.ghost = of[i].ghost, .flags = LARMOR_ACQ_CALIBRATION, .dwell_us = of[i].dwell_us};
        int count = of[i].is_last ? add_shot(list, 0, 0, 2, MATRIX / 2, &image_like) : 0;
        for (int shot = 0; shot < of[i].shots; shot++)
            count = add_shot(list, count, (MATRIX - CALIBRATION) / 2 + shot, of[i].shots, CALIBRATION / of[i].shots,
                             &like);
        if (!of[i].is_last) count = add_shot(list, count, 0, 2, MATRIX / 2, &image_like);
        OWNED(stored) s = stored_readouts(list, count, RECEIVERS);
        HEAP float complex *image = image_of(&s, 0, 0);
        HEAP float complex *as_given = image_of(&s, 0, 1);
        const double left = error_of_magnitudes(image, &s), whole = error_of_magnitudes(as_given, &s);
        assert_at_most(left, 0.03);
        assert_true(whole > 4 * left);
    }
}

enum { REFERENCE = 24 }; /* lines for calibration */

/* The image by default, and `as_given` without a correction. */
static void compare_images(const readout *list, int count, float complex *image, float complex *as_given,
                           double error[2])
{
    OWNED(stored) s = stored_readouts(list, count, RECEIVERS);
    HEAP float complex *by_default = image_of(&s, 0, 0), *without = image_of(&s, 0, 1);
    memcpy(image, by_default, sizeof *image * MATRIX * MATRIX);
    memcpy(as_given, without, sizeof *image * MATRIX * MATRIX);
    error[0] = error_of_magnitudes(by_default, &s);
    error[1] = error_of_magnitudes(without, &s);
}

/* Lines two and three apart, whose image folds onto its ghost, without navigators, and a reference of one direction
 * or of both: whichever ghost there is leaves none, and where there is none nothing changes. */
TEST(coils_say_what_the_ghost_is_of_lines_too_far_apart_for_their_image_to_say)
{
    static const larmor_ghost ghosts[2][2] = {{{0, 0}, {-2.2, .3}}, {{0, 0}, {.9, .45}}}; /* by `both` */
    static float complex image[MATRIX * MATRIX], as_given[MATRIX * MATRIX];
    for (int both = 0; both < 2; both++)
        for (int i = 0; i < 2; i++) {
            readout list[2 * MATRIX];
            int count = 0;
            double error[2];
            for (int l = 0; l < REFERENCE; l++)
                list[count++] = (readout){.ky = (MATRIX - REFERENCE) / 2 + l,
                                          .back = both && l % 2,
                                          .ghost = ghosts[both][i],
                                          .flags = LARMOR_ACQ_CALIBRATION,
                                          .dwell_us = 8};
            for (int l = 0; l < MATRIX / (2 + both); l++)
                list[count++] = (readout){.ky = (2 + both) * l, .back = l % 2, .ghost = ghosts[both][i]};
            compare_images(list, count, image, as_given, error);
            if (i) assert_at_most(error[0], both ? .05 : .03);
            if (i) assert_true(error[1] > 4 * error[0]);
            if (!i) assert_memory_equal(image, as_given, sizeof image);
        }
}

/* Without a reference nothing tells; of lines that were acquired in both directions each pair does, where the sum of
 * magnitudes is least once they cancel. */
TEST(lines_of_both_directions_at_each_place_say_what_their_ghost_is)
{
    static const larmor_ghost ghosts[] = {{0, 0}, {-2.2, .3}};
    static float complex image[MATRIX * MATRIX], as_given[MATRIX * MATRIX];
    for (int i = 0; i < 2; i++) {
        readout list[2 * MATRIX];
        double error[2];
        for (int l = 0; l < 2 * MATRIX; l++) list[l] = (readout){.ky = l / 2, .back = l % 2, .ghost = ghosts[i]};
        compare_images(list, 2 * MATRIX, image, as_given, error);
        if (i) assert_at_most(error[0], .03);
        if (i) assert_true(error[1] > 4 * error[0]);
        if (!i) assert_memory_equal(image, as_given, sizeof image);
    }
}

TEST(lines_too_far_apart_without_a_reference_stay_as_they_are)
{
    static float complex image[MATRIX * MATRIX], as_given[MATRIX * MATRIX];
    readout list[MATRIX];
    double error[2];
    for (int l = 0; l < MATRIX / 2; l++) list[l] = (readout){.ky = 2 * l, .back = l % 2, .ghost = {.9, .45}};
    compare_images(list, MATRIX / 2, image, as_given, error);
    assert_memory_equal(image, as_given, sizeof image);
}
