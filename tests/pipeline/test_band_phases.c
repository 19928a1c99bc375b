/* check/band_sign.c: which sign the phases of slices have that are excited together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "larmor/larmor.h"
#include "tests/support/test.h"

enum { N = 24, BANDS = 3, COILS = 6 };
static const double offset[BANDS] = {-40, 0, 40};

typedef struct scene {
    larmor_array *kspace, *traj, *maps;
    larmor_source *inner;
} scene;

static void free_scene(scene *s)
{
    larmor_source_free(s->inner);
    larmor_array_free(s->maps);
    larmor_array_free(s->traj);
    larmor_array_free(s->kspace);
}

ENDS_ITSELF_BY(free_scene, scene)

static scene scene_of(const char *trajectory, int readouts, int shifts, double snr, uint64_t seed)
{
    scene s = {.kspace = NULL};
    larmor_simulation *simulation;
    const larmor_simulation_opts opts = {.trajectory = trajectory,
                                         .traj = {.matrix = {N, N}, .readouts = readouts},
                                         .phantom = "texture",
                                         .coils = COILS,
                                         .bands = BANDS,
                                         .band_shifts = shifts,
                                         .snr = snr,
                                         .seed = seed};
    larmor_image_meta meta;
    assert_ok(larmor_simulation_create(dev, &opts, &simulation));
    assert_ok(larmor_simulation_samples(simulation, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_simulation_maps(simulation, NULL, &s.maps, &meta));
    larmor_simulation_free(simulation);
    const larmor_readouts image = {
        .kspace = s.kspace,
        .traj = s.traj,
        .meta = {.read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}, .position_mm = {0, 0, 7}}};
    assert_ok(larmor_source_of_arrays(
        &(larmor_scan_arrays){.matrix = {N, N}, .fov_mm = {256, 256, 5}, .image = &image, .images = 1}, &s.inner));
    return s;
}

typedef struct notes {
    char text[8192];
} notes;

static int take_note(void *user, const larmor_event *event)
{
    notes *n = user;
    const size_t used = strlen(n->text);
    if (event->kind == LARMOR_EVENT_LOG || event->kind == LARMOR_EVENT_WARNING)
        snprintf(n->text + used, sizeof n->text - used, "%c:%s\n", event->kind == LARMOR_EVENT_LOG ? 'L' : 'W',
                 event->text);
    return 0;
}

/* What is said of the image by phases 2 pi turns s j / shifts. */
static notes said_of(const scene *s, int shifts, int turns, larmor_array *maps)
{
    OWNED(larmor_source) *volumes = NULL;
    OWNED(larmor_recon) *recon = NULL;
    OWNED(larmor_recon_result) result = {0};
    notes n = {.text = ""};
    assert_ok(larmor_source_of_multiband(
        s->inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .shifts = shifts, .turns = turns},
        &volumes));
    const larmor_recon_opts opts = {.size = sizeof opts,
                                    .maps = maps,
                                    .method = "cg",
                                    .lambda_mode = LARMOR_LAMBDA_RELATIVE,
                                    .lambda = 1e-2,
                                    .iters = 4,
                                    .delays = LARMOR_DELAYS_OFF,
                                    .listener = take_note,
                                    .user = &n};
    assert_ok(larmor_recon_create(volumes, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    return n;
}

static const char wrong[] = "W:multiband: phases of the other sign explain the samples better: ";

TEST(phases_of_the_wrong_sign_are_a_warning_and_right_ones_are_none)
{
    static const struct {
        const char *trajectory;
        int readouts;
    } scan[] = {{"golden", 30}, {"spiral", 8}, {"cartesian", 0}};
    static const double snr[] = {5, 20, 50};
    for (size_t t = 0; t < sizeof scan / sizeof *scan; t++)
        for (int i = 0; i < 3; i++) {
            const int shifts = i % 2 ? 6 : 3;
            OWNED(scene) s = scene_of(scan[t].trajectory, scan[t].readouts, shifts, snr[i], 1 + (uint64_t)i);
            const notes right = said_of(&s, shifts, 1, s.maps), other = said_of(&s, shifts, -1, s.maps);
            assert_null(strstr(right.text, wrong));
            assert_non_null(strstr(right.text, "L:multiband: the phases leave "));
            /* noise hides it in lines, whose coils alone tell slices apart */
            if (scan[t].readouts || snr[i] > 5) assert_non_null(strstr(other.text, wrong));
        }
}

/* Cycles of two phases have no sign, and maps from the samples fit the slices in either order. */
TEST(a_sign_that_nothing_tells_is_no_warning)
{
    OWNED(scene) s = scene_of("golden", 40, 2, 20, 3), t = scene_of("golden", 40, 3, 20, 3);
    const notes two = said_of(&s, 2, -1, s.maps), own = said_of(&t, 3, -1, NULL);
    assert_null(strstr(two.text, "other sign"));
    assert_null(strstr(own.text, wrong));
    assert_non_null(strstr(own.text, "L:multiband: the sign of the phases is not checked, as coil maps from the "
                                     "samples fit either one\n"));
}
