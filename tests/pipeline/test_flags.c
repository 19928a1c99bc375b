/* What the heads of readouts say, and what becomes of the image: flags, directions, discards, centres.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "tests/pipeline/scan.h"

enum { PRE = 12, POST = 7, EARLY = 20, LONGEST = SAMPLES + PRE + POST };

/* How the spokes are stored. */
typedef struct store {
    int reversed;     /* 1: every other one from its other end */
    int discards;     /* 1: there are more samples on both sides, which are no signal */
    int early;        /* samples that are missing before the centre */
    int with_traj;    /* 1: the trajectory is stored */
    int unsaid;       /* 1: the heads do not say where the centre is */
    uint64_t foreign; /* a readout of this flag after each, which is no signal of these spokes */
    const char *type; /* of the trajectory; NULL: goldenangle */
} store;

/* Sample i of a readout as it is stored is this one of the whole spoke; past its ends there is none. */
static int sample_of(const store *how, int readout, int stored, int i)
{
    const int place = how->reversed && readout % 2 ? stored - 1 - i : i;
    const int pre = how->discards ? PRE : 0;
    return place - pre + how->early;
}

static void append_spoke(larmor_raw_writer *w, const scan *s, const store *how, int readout, const float *all)
{
    const int stored = SAMPLES - how->early + (how->discards ? PRE + POST : 0);
    const int turned = how->reversed && readout % 2;
    float data[2 * LONGEST * COILS], traj[2 * LONGEST] = {0};
    HEAP double *k = (double *)host_of(s->image[0].traj);
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < stored; i++) {
            const int from = sample_of(how, readout, stored, i), there = from >= how->early && from < SAMPLES;
            for (int part = 0; part < 2; part++)
                data[2 * (i + stored * c) + part] =
                    there ? all[2 * (from + SAMPLES * (readout + SPOKES * c)) + part] : 3.f;
            for (int d = 0; d < 2 && there; d++) traj[2 * i + d] = (float)k[2 * (from + SAMPLES * readout) + d];
        }
    larmor_acquisition a = {.flags = turned ? LARMOR_ACQ_REVERSE : 0,
                            .samples = stored,
                            .coils = COILS,
                            .step1 = readout,
                            .read_dir = {1, 0, 0},
                            .phase_dir = {0, 1, 0},
                            .slice_dir = {0, 0, 1},
                            .data = data};
    if (!how->unsaid) a.center_sample = SAMPLES / 2 - how->early + (how->discards ? PRE : 0);
    if (how->discards) {
        a.discard_pre = turned ? POST : PRE;
        a.discard_post = turned ? PRE : POST;
    }
    if (how->with_traj) {
        a.traj_dims = 2;
        a.traj = traj;
    }
    assert_ok(larmor_raw_append(w, &a));
    if (how->foreign) {
        for (int i = 0; i < 2 * LONGEST * COILS; i++) data[i] = 5;
        a.flags = how->foreign;
        assert_ok(larmor_raw_append(w, &a));
    }
}

static void write_spokes(const scan *s, const store *how, const char *path)
{
    larmor_scan header = {.coils = COILS, .readouts = SPOKES};
    header.encoding = (larmor_encoding){
        .matrix = {N, N, 1}, .recon_matrix = {N, N, 1}, .fov_mm = {N, N, 1}, .recon_fov_mm = {N, N, 1}, .ndim = 2};
    snprintf(header.encoding.trajectory, sizeof header.encoding.trajectory, "%s",
             how->type ? how->type : "goldenangle");
    HEAP float *all = host_of(s->image[0].kspace);
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    OWN(larmor_raw_writer, *w, larmor_raw_create(out, &header, &w));
    for (int r = 0; r < SPOKES; r++) append_spoke(w, s, how, r, all);
    assert_ok(larmor_raw_finish(w));
}

static larmor_raw *stored_scan(const scan *s, const store *how)
{
    char folder[] = "/tmp/larmor-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    write_spokes(s, how, path);
    larmor_raw *raw = MADE(larmor_raw, larmor_raw_open(path, NULL, &made));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    return raw;
}

static larmor_array *image_of(const scan *s, const store *how)
{
    const larmor_recon_opts opts = OPTS(.maps = s->maps, .method = "cg", .iters = 8, .lambda = 1e-3,
                                        .lambda_mode = LARMOR_LAMBDA_RELATIVE, .delays = LARMOR_DELAYS_OFF);
    OWNED(larmor_raw) *raw = stored_scan(s, how);
    OWN(larmor_source, *source, larmor_source_of_raw(raw, "scan", &source));
    OWN(larmor_recon, *recon, larmor_recon_create(source, dev, &opts, &recon));
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    larmor_array *image = larmor_array_ref(result.image[0].data);
    return image;
}

/* How far the image is from that of the same samples of spokes which are stored simply, with their trajectory. */
static double change_of(const store *how)
{
    const store simple = {.with_traj = 1, .early = how->early};
    OWNED(scan) s = scan_of(COILS, 1, 0);
    OWNED(larmor_array) *x = image_of(&s, how), *y = image_of(&s, &simple);
    return difference(x, y);
}

#define SAME 1e-4 /* trajectories are stored in single precision */

TEST(spokes_that_were_acquired_backwards_give_the_same_image)
{
    assert_at_most(change_of(&(store){.reversed = 0}), SAME);
    assert_at_most(change_of(&(store){.reversed = 1}), SAME);
}

TEST(stored_trajectories_are_not_turned)
{
    assert_at_most(change_of(&(store){.reversed = 1, .with_traj = 1}), SAME);
}

TEST(discarded_samples_take_their_places_with_them)
{
    assert_at_most(change_of(&(store){.discards = 1}), SAME);
    assert_at_most(change_of(&(store){.discards = 1, .unsaid = 1}), SAME);
    assert_at_most(change_of(&(store){.discards = 1, .reversed = 1}), SAME);
    assert_at_most(change_of(&(store){.discards = 1, .with_traj = 1}), SAME);
}

TEST(early_echoes_are_where_their_heads_say)
{
    assert_at_most(change_of(&(store){.early = EARLY}), SAME);
    assert_at_most(change_of(&(store){.early = EARLY, .reversed = 1}), SAME);
    assert_at_most(change_of(&(store){.early = EARLY, .discards = 1}), SAME);
    assert_at_most(change_of(&(store){.early = EARLY, .unsaid = 1}), SAME); /* by the echo */
}

static const struct {
    uint64_t flag;
    const char *name;
} kinds[] = {
    {LARMOR_ACQ_NAVIGATION, "navigation"},
    {LARMOR_ACQ_PHASE_CORRECTION, "phase correction"},
    {LARMOR_ACQ_HP_FEEDBACK, "HP feedback"},
    {LARMOR_ACQ_DUMMY, "dummy"},
    {LARMOR_ACQ_RT_FEEDBACK, "RT feedback"},
    {LARMOR_ACQ_SURFACE_COIL_CORRECTION, "surface coil correction"},
    {LARMOR_ACQ_PHASE_STABILISATION_REFERENCE, "phase stabilisation reference"},
    {LARMOR_ACQ_PHASE_STABILISATION, "phase stabilisation"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static larmor_raw_info info_of(const scan *s, const store *how)
{
    OWNED(larmor_raw) *raw = stored_scan(s, how);
    const larmor_raw_info info = larmor_raw_describe(raw);
    return info;
}

TEST(each_kind_of_readout_that_is_no_image_is_left_out_and_said)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    for (int i = 0; i < KINDS; i++) {
        char said[64];
        const store how = {.foreign = kinds[i].flag, .with_traj = i % 2};
        const larmor_raw_info info = info_of(&s, &how);
        snprintf(said, sizeof said, "%d %s", SPOKES, kinds[i].name);
        assert_string_equal(info.dropped_report, said);
        assert_int_equal(info.dropped, SPOKES);
        assert_int_equal(info.imaging, SPOKES);
        assert_int_equal(info.noise, 0);
        assert_at_most(change_of(&how), SAME);
    }
    const larmor_raw_info info = info_of(&s, &(store){.with_traj = 1});
    assert_int_equal(info.dropped, 0);
    assert_string_equal(info.dropped_report, "");
}

TEST(readouts_of_two_kinds_count_once)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const larmor_raw_info info = info_of(&s, &(store){.foreign = LARMOR_ACQ_DUMMY | LARMOR_ACQ_RT_FEEDBACK});
    char said[64];
    snprintf(said, sizeof said, "%d dummy", SPOKES);
    assert_string_equal(info.dropped_report, said);
    assert_int_equal(info.dropped, SPOKES);
    assert_int_equal(info.noise, 0);
}

/* Of spokes in one direction such readouts tell nothing that is missing. */
TEST(phase_corrections_of_lines_in_both_directions_are_missed)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    const uint64_t flag = LARMOR_ACQ_PHASE_CORRECTION;
    const struct {
        store how;
        int warned;
    } cases[] = {{{.foreign = flag}, 0},
                 {{.foreign = flag, .reversed = 1}, 1},
                 {{.foreign = flag, .type = "epi", .with_traj = 1}, 1},
                 {{.foreign = flag | LARMOR_ACQ_NAVIGATION, .reversed = 1}, 1},
                 {{.foreign = LARMOR_ACQ_NAVIGATION, .reversed = 1}, 0},
                 {{.reversed = 1}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const larmor_raw_info info = info_of(&s, &cases[i].how);
        const char *warning =
            strstr(info.warnings, "60 phase correction readouts are left out, as they are no lines");
        assert_int_equal(warning != NULL, cases[i].warned);
    }
}
