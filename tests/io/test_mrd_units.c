/* The unit of a trajectory and the meaning of its third component: found, or refused where it is not clear.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

/* Cycles per field of view to each unit. */
static double in_unit(const char *unit, double k, int matrix, double fov_mm)
{
    if (!strcmp(unit, "norm")) return k / matrix;
    if (!strcmp(unit, "pm1")) return k / (matrix / 2.);
    if (!strcmp(unit, "rad")) return k / matrix * 2 * M_PI;
    if (!strcmp(unit, "1/m")) return k / fov_mm * 1000;
    if (!strcmp(unit, "rad/m")) return k / fov_mm * 1000 * 2 * M_PI;
    if (!strcmp(unit, "1/mm")) return k / fov_mm;
    if (!strcmp(unit, "1/cm")) return k / fov_mm * 10;
    return k;
}

static const char *const units[] = {"1/fov", "norm", "pm1", "rad", "1/m", "rad/m", "1/mm"};
static const char *const labels[] = {"1/FOV", "norm", "pm1", "rad", "1/m", "rad/m", "1/mm"};
enum { UNITS = 7, SPOKES = 12 };

/* Spokes through the whole encoded k-space, of reach 1 up to its edge, in some unit. */
static scan *spokes_in(const char *unit, const space *e, int dims, int samples, double reach)
{
    scan *s = empty_scan(e);
    for (int r = 0; r < SPOKES; r++) {
        const int i = add_readout(s, samples, 1, dims);
        const double angle = M_PI * r / SPOKES;
        const double up = dims == 3 ? sin(r) : 0;
        for (int n = 0; n < samples; n++) {
            const double at = reach * (2. * n / samples - 1);
            const double k[3] = {at * cos(angle) * e->matrix[0] / 2, at * sin(angle) * e->matrix[1] / 2,
                                 at * up * e->matrix[2] / 2};
            for (int d = 0; d < dims; d++)
                traj_of(s, i)[n * dims + d] = (float)in_unit(unit, k[d], e->matrix[d], e->fov[d]);
        }
    }
    return s;
}

static void assert_report(const larmor_raw *raw, const char *report)
{
    assert_string_equal(larmor_raw_describe(raw).traj_report, report);
}

WITH_SCAN(seven_units_give_the_same_samples)
{
    const space planes = {{64, 48, 1}, {64, 48, 1}, {240, 160, 5}, {240, 160, 5}, "radial", ""};
    const space volume = {{64, 48, 20}, {32, 48, 20}, {240, 160, 100}, {120, 160, 100}, "other", ""};
    for (int dims = 2; dims <= 3; dims++) {
        const space *e = dims == 2 ? &planes : &volume;
        for (int u = 0; u < UNITS; u++) {
            OWNED(scan) *s = spokes_in(units[u], e, dims, 64, 1);
            write_scan(s);
            for (int given = 0; given < 2; given++) {
                OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.traj_units = given ? units[u] : NULL});
                const larmor_raw_info info = larmor_raw_describe(raw);
                char report[80];
                snprintf(report, sizeof report, "%s (kmax 32.0 of 32), %s", labels[u],
                         given ? "as given" : "confidence high");
                assert_report(raw, report);
                assert_string_equal(info.traj_units, units[u]);
                assert_int_equal(info.traj_stored, 1);
                OWNED(larmor_samples) x = samples_of(raw, 0, 0);
                assert_int_equal(larmor_array_count(x.traj), dims * 64 * SPOKES);
                for (int r = 0; r < SPOKES; r++)
                    for (int n = 0; n < 64; n++) {
                        const double at = 2. * n / 64 - 1, angle = M_PI * r / SPOKES,
                                     *k = traj(&x) + dims * (n + 64 * r);
                        assert_at_most(fabs(k[0] - at * cos(angle) * 32), 1e-5);
                        assert_at_most(fabs(k[1] - at * sin(angle) * 24), 1e-5);
                        if (dims == 3) assert_at_most(fabs(k[2] - at * sin(r) * 10), 1e-5);
                    }
            }
        }
    }
}

WITH_SCAN(trajectories_become_cycles_per_field_of_view_of_the_grid)
{
    const space e = {{64, 64, 1}, {96, 64, 1}, {160, 160, 5}, {240, 160, 5}, "radial", ""};
    OWNED(scan) *s = spokes_in("norm", &e, 2, 64, 1);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_at_most(fabs(traj(&x)[0] + 32 * 1.5), 1e-5); /* 32 cycles in 160 mm are 48 in 240 mm */
}

/* Voxels of 1 mm: 1/mm and norm are the same number. */
WITH_SCAN(units_that_agree_are_not_ambiguous)
{
    const space e = {{64, 64, 1}, {64, 64, 1}, {64, 64, 5}, {64, 64, 5}, "radial", ""};
    OWNED(scan) *s = spokes_in("1/mm", &e, 2, 64, 1);
    OWNED(larmor_raw) *raw = written(s);
    assert_report(raw, "norm (kmax 32.0 of 32), confidence high");
}

WITH_SCAN(of_two_units_the_one_that_ends_at_the_edge_is_taken)
{
    const space e = {{256, 256, 1}, {256, 256, 1}, {240, 240, 5}, {240, 240, 5}, "radial", ""};
    static const char *const names[] = {"norm", "1/mm"};
    for (int u = 0; u < 2; u++) {
        OWNED(scan) *s = spokes_in(names[u], &e, 2, 256, 1);
        write_scan(s);
        if (!u) { /* 1/mm would reach .9375 */
            OWNED(larmor_raw) *raw = opened_with(NULL);
            assert_report(raw, "norm (kmax 128.0 of 128), confidence high");
        } else { /* norm would reach 1.067, beyond the edge */
            OWNED(larmor_raw) *raw = opened_with(NULL);
            assert_report(raw, "1/mm (kmax 128.0 of 128), confidence high");
        }
    }
    OWNED(scan) *s = spokes_in("norm", &e, 2, 256, .97); /* 1/mm would reach .909: both may be */
    write_scan(s);
    refused("trajectory units may be norm or 1/mm: k-space would end at 0.97, 0.97 or 0.909, 0.909 of the edge along "
            "x, y. "
            "Use opts.traj_units.");
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.traj_units = "norm"});
    assert_report(raw, "norm (kmax 124.2 of 128), as given");
}

WITH_SCAN(two_units_that_end_near_the_edge_are_not_told_apart)
{
    const space e = {{256, 256, 1}, {256, 256, 1}, {250, 250, 5}, {250, 250, 5}, "radial", ""};
    OWNED(scan) *s = spokes_in("norm", &e, 2, 256, .985);
    write_scan(s);
    refused("trajectory units may be norm or 1/mm: k-space would end at 0.985, 0.985 or 0.962, 0.962 of the edge "
            "along x, "
            "y. Use opts.traj_units.");
}

static void assert_warned(const larmor_raw *raw, const char *line)
{
    if (!strstr(larmor_raw_describe(raw).warnings, line)) fail_msg("%s", larmor_raw_describe(raw).warnings);
}

/* Values up to 0.9375, which pass for pm1; a scan in pm1 that ends there has no such coincidence at other fields of
 * view, and one that ends at 1 is none in 1/cm. */
WITH_SCAN(cycles_per_centimetre_are_found_where_they_alone_end_at_the_edge)
{
    const space e = {{48, 48, 1}, {48, 48, 1}, {256, 256, 5}, {256, 256, 5}, "radial", ""};
    OWNED(scan) *s = spokes_in("1/cm", &e, 2, 96, 1);
    OWNED(larmor_raw) *raw = written(s);
    assert_report(raw, "1/cm (kmax 24.0 of 24), confidence medium");
    assert_warned(raw,
                  "trajectory units are taken to be 1/cm, which ends nearest to the edge: k-space ends at 1, 1 of "
                  "the edge along x, y. opts.traj_units says it.\n");
    OWNED(scan) *p = spokes_in("pm1", &e, 2, 96, 1);
    write_scan(p);
    OWNED(larmor_raw) *other = opened_with(NULL);
    assert_report(other, "pm1 (kmax 24.0 of 24), confidence high");
    OWNED(scan) *less = spokes_in("pm1", &e, 2, 96, .96);
    write_scan(less);
    OWNED(larmor_raw) *third = opened_with(NULL);
    assert_report(third, "pm1 (kmax 23.0 of 24), confidence high");
}

WITH_SCAN(a_part_of_k_space_is_recognised_by_its_sample_step)
{
    scan *s = spokes_in("1/fov", &plane64, 2, 32, .5); /* a step of 1 / FOV */
    OWNED(larmor_raw) *raw = written(s);
    assert_report(raw, "1/FOV (kmax 16.0 of 32), confidence low");
    assert_warned(
        raw, "trajectory units are taken to be 1/fov, by the distance of samples alone: k-space ends at 0.5, 0.5 of "
             "the edge along x, y. opts.traj_units says it.\n");
    free_scan(s);
    s = spokes_in("1/fov", &plane64, 2, 320, .5); /* steps of .1 / FOV say nothing */
    write_scan(s);
    refused(
        "trajectory units not recognised: values up to 16 do not fit matrix 64 x 64 and field of view 192 x 192 mm. "
        "Use opts.traj_units 1/fov, norm, pm1, rad, 1/m, rad/m, 1/mm, 1/recon-fov or 1/cm.");
    free_scan(s);
}

/* Spokes, and places at random whose steps say nothing. */
WITH_SCAN(readouts_that_end_before_or_behind_the_edge_are_not_refused)
{
    static const double reach[] = {.9, .95, 1.1};
    for (int i = 0; i < 3; i++)
        for (int random = 0; random < 2; random++) {
            OWNED(scan) *s = spokes_in("1/fov", &plane64, 2, 64, reach[i]);
            for (int n = 0; n < 64 && random; n++)
                for (int r = 0; r < SPOKES; r++) {
                    const double at[2] = {2 * fmod(.618034 * (n + 64 * r), 1) - 1,
                                          2 * fmod(.7548777 * (n * r + 1), 1) - 1};
                    for (int d = 0; d < 2; d++) traj_of(s, r)[2 * n + d] = (float)(32 * reach[i] * at[d]);
                }
            OWNED(larmor_raw) *raw = written(s);
            assert_string_equal(larmor_raw_describe(raw).traj_units, "1/fov");
            assert_int_equal(
                strstr(larmor_raw_describe(raw).warnings, "samples beyond the edge are left out") != NULL, i == 2);
        }
}

/* The largest distance of what is read from spokes that end at the edge of the matrix along each axis. */
static double error_of_spokes(const larmor_raw *raw, const space *e, int dims, int samples)
{
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    double most = 0;
    assert_int_equal(larmor_array_count(x.traj), dims * samples * SPOKES);
    for (int r = 0; r < SPOKES; r++)
        for (int n = 0; n < samples; n++) {
            const double at = 2. * n / samples - 1, angle = M_PI * r / SPOKES;
            const double unit[3] = {at * cos(angle), at * sin(angle), at * sin(r)};
            for (int d = 0; d < dims; d++)
                most = fmax(most, fabs(traj(&x)[dims * (n + samples * r) + d] - unit[d] * e->matrix[d] / 2));
        }
    return most;
}

/* Encoded space is twice as long along x as the image, or 1.25 times, or along both axes. */
WITH_SCAN(cycles_per_field_of_view_of_the_image_are_told_from_those_of_the_encoded_space)
{
    static const double factor[3][2] = {{2, 1}, {2, 2}, {1.25, 1}};
    for (int i = 0; i < 3; i++) {
        const space e = {{(int)(64 * factor[i][0]), (int)(64 * factor[i][1]), 1},
                         {64, 64, 1},
                         {256 * factor[i][0], 256 * factor[i][1], 5},
                         {256, 256, 5},
                         "radial",
                         ""};
        OWNED(scan) *s = spokes_in("1/fov", &e, 2, 128, 1);
        larmor_raw *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).traj_units, "1/fov");
        assert_string_equal(larmor_raw_describe(raw).warnings, "");
        larmor_raw_free(raw);
        for (int r = 0; r < SPOKES; r++)
            for (int n = 0; n < 128; n++)
                for (int d = 0; d < 2; d++) traj_of(s, r)[2 * n + d] /= (float)factor[i][d];
        write_scan(s);
        raw = opened_with(NULL);
        assert_string_equal(larmor_raw_describe(raw).traj_units, "1/recon-fov");
        assert_warned(
            raw, "trajectory units are taken to be 1/recon-fov, by reconSpace's field of view: k-space ends at 1, 1 "
                 "of the edge along x, y. opts.traj_units says it.\n");
        if (i < 2) assert_at_most(error_of_spokes(raw, &e, 2, 128), 1e-4);
        larmor_raw_free(raw);
    }
}

/* Every axis in every other unit: read right with a warning, or refused with the options that decide. */
WITH_SCAN(an_axis_in_another_unit_is_read_and_said_or_asked_for)
{
    const space planes = {{64, 48, 1}, {64, 48, 1}, {240, 160, 5}, {240, 160, 5}, "radial", ""};
    const space volume = {{64, 48, 20}, {64, 48, 20}, {240, 160, 100}, {240, 160, 100}, "other", ""};
    int read = 0, asked = 0;
    for (int dims = 2; dims <= 3; dims++)
        for (int u = 0; u < UNITS; u++)
            for (int other = 0; other < UNITS; other++)
                for (int odd = 0; odd < dims; odd++) {
                    if (u == other || (u + 2 * other + odd) % 4) continue;
                    const space *e = dims == 2 ? &planes : &volume;
                    OWNED(scan) *s = spokes_in(units[u], e, dims, 64, 1),
                                *o = spokes_in(units[other], e, dims, 64, 1);
                    for (int r = 0; r < SPOKES; r++)
                        for (int n = 0; n < 64; n++) traj_of(s, r)[dims * n + odd] = traj_of(o, r)[dims * n + odd];
                    write_scan(s);
                    OWNED(larmor_raw) *raw = NULL;
                    if (larmor_raw_open(path, NULL, &raw)) {
                        assert_non_null(strstr(larmor_last_error(), "trajectory units may be "));
                        asked++;
                        char names[64];
                        snprintf(names, sizeof names, "%s,%s,%s", units[odd == 0 ? other : u],
                                 units[odd == 1 ? other : u], units[odd == 2 ? other : u]);
                        raw = opened_with(&(larmor_raw_opts){.traj_units = names});
                    } else {
                        assert_warned(raw, "which differ between axes");
                        read++;
                    }
                    assert_at_most(error_of_spokes(raw, e, dims, 64), 1e-4);
                }
    assert_true(read >= 45);
    assert_at_most(asked, 5);
}

/* Partitions 1/FOV apart that end at half of the matrix: the field of view decides. */
WITH_SCAN(partitions_that_are_spaced_by_the_field_of_view_need_no_warning)
{
    for (int apart = 1; apart <= 2; apart++) { /* 2: twelve partitions in units half as large */
        const int nz = apart == 1 ? 16 : 12;
        const space e = {{64, 64, nz}, {64, 64, nz}, {192, 192, 80}, {192, 192, 80}, "radial", ""};
        OWNED(scan) *s = spokes_in("pm1", &e, 3, 64, 1);
        for (int r = 0; r < SPOKES; r++)
            for (int n = 0; n < 64; n++) traj_of(s, r)[3 * n + 2] = (float)((r % 8 - 4) / 8.);
        if (apart == 2)
            for (int r = 0; r < SPOKES; r++)
                for (int n = 0; n < 64; n++) traj_of(s, r)[3 * n + 2] = (float)((r - 6) / 12.);
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).traj_units, apart == 1 ? "pm1" : "pm1,pm1,norm");
        assert_int_equal(strstr(larmor_raw_describe(raw).warnings, "trajectory units") != NULL, apart == 2);
    }
}

WITH_SCAN(nothing_is_rescaled_to_fit)
{
    OWNED(scan) *s = spokes_in("1/fov", &plane64, 2, 64, 1.02);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(x.outside, 2); /* the first samples of the spokes along x and y, .64 beyond the edge */
    double most = 0;
    for (int64_t i = 0; i < larmor_array_count(x.traj); i++) most = fmax(most, fabs(traj(&x)[i]));
    assert_at_most(fabs(most - 1.02 * 31), .1);
}

WITH_SCAN(given_units_that_cannot_be_are_refused)
{
    scan *s = spokes_in("1/fov", &plane64, 2, 64, 1);
    write_scan(s);
    refused_with(&(larmor_raw_opts){.traj_units = "norm"}, LARMOR_ERR_FORMAT,
                 "trajectory value -32 outside -0.5..0.5. Is the unit 1/FOV? Use opts.traj_units.");
    refused_with(&(larmor_raw_opts){.traj_units = "rad"}, LARMOR_ERR_FORMAT,
                 "trajectory value -32 outside -3.142..3.142. Is the unit 1/FOV? Use opts.traj_units.");
    refused_with(
        &(larmor_raw_opts){.traj_units = "1/fo"}, LARMOR_ERR_ARG,
        "opts.traj_units \"1/fo\": auto, 1/fov, norm, pm1, rad, 1/m, rad/m, 1/mm, 1/recon-fov or 1/cm expected.");
    larmor_raw_free(opened_with(&(larmor_raw_opts){.traj_units = "auto"}));
    larmor_raw *raw =
        opened_with(&(larmor_raw_opts){.traj_units = "1/m"}); /* reaches too little: told, not refused */
    larmor_raw_free(raw);
    free_scan(s);
    s = spokes_in("norm", &plane64, 2, 64, 1);
    write_scan(s);
    raw = opened_with(&(larmor_raw_opts){.traj_units = "1/fov"});
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "trajectory in 1/FOV reaches only 0.016 of the matrix's k-space. Is the unit norm?\n");
    larmor_raw_free(raw);
    raw = opened_with(&(larmor_raw_opts){.traj_units = "1/mm"});
    larmor_raw_free(raw);
    free_scan(s);
}

WITH_SCAN(a_trajectory_without_extent_is_refused)
{
    OWNED(scan) *s = spokes_in("1/fov", &plane64, 2, 64, 0);
    write_scan(s);
    refused("trajectory has no extent (all 768 samples at k = 0, 0). Convert it again.");
}

/* ---- components ---- */

static void set_third(scan *s, double scale, double offset)
{
    for (int i = 0; i < s->count; i++)
        for (int n = 0; n < s->r[i].head.number_of_samples; n++)
            traj_of(s, i)[3 * n + 2] = (float)(offset + scale * abs(n - 32));
}

WITH_SCAN(a_third_component_of_a_plane_is_density_or_nothing)
{
    OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
    set_third(s, 1e-3, 0);
    larmor_raw *raw = written(s);
    assert_int_equal(larmor_raw_describe(raw).density_stored, 1);
    larmor_samples x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.traj).dim[0], 2);
    assert_int_equal(larmor_array_count(x.density), 64 * SPOKES);
    const double *w = larmor_array_data(x.density);
    for (int n = 0; n < 64; n++) assert_true(w[64 + n] == (double)(float)(1e-3 * abs(n - 32)));
    larmor_samples_free(&x);
    larmor_raw_free(raw);
    for (int one = 0; one < 2; one++) { /* all zero, all the same */
        set_third(s, 0, one);
        write_scan(s);
        raw = opened_with(NULL);
        assert_int_equal(larmor_raw_describe(raw).density_stored, 0);
        x = samples_of(raw, 0, 0);
        assert_null(x.density);
        assert_int_equal(larmor_array_shape(x.traj).dim[0], 2);
        larmor_samples_free(&x);
        larmor_raw_free(raw);
    }
    set_third(s, .01, -.1);
    write_scan(s);
    refused("trajectory has a third component (-0.1 to 0.22), but the matrix is 64 x 64 x 1. Correct matrixSize z.");
}

/* Of spokes through the centre; of those from it, where weights grow so as well, in steps of the time per sample. */
WITH_SCAN(a_third_component_that_grows_evenly_is_time_unless_it_may_be_weights)
{
    static const char said[] = "the third component of the trajectory grows evenly along all readouts alike: it is "
                               "taken for the times of samples and not used";
    for (int c = 0; c < 3; c++) {
        OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
        for (int i = 0; i < s->count; i++)
            for (int n = 0; n < 64; n++) {
                float *k = traj_of(s, i) + 3 * n;
                s->r[i].head.sample_time_us = 5;
                k[2] = (c == 1 ? 5e-6f : .25f) * (float)n;
                if (!c) continue;
                k[0] = (float)(cos(i) * n / 128);
                k[1] = (float)(sin(i) * n / 128);
            }
        OWNED(larmor_raw) *raw = written(s);
        assert_int_equal(larmor_raw_describe(raw).density_stored, c == 2);
        assert_int_equal(strstr(larmor_raw_describe(raw).warnings, said) != NULL, c < 2);
    }
}

WITH_SCAN(density_follows_discards_and_ragged_readouts)
{
    OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
    set_third(s, 1, 0);
    s->r[0].head.discard_pre = 30;
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.density).dim[0], 34 + 64 * (SPOKES - 1));
    assert_int_equal(larmor_array_shape(x.density).dim[1], 1);
    const double *w = larmor_array_data(x.density);
    assert_true(w[0] == 2 && w[2] == 0 && w[34] == 32);
}

WITH_SCAN(a_stack_of_planes_takes_its_third_component_from_the_partition)
{
    const space e = {{64, 64, 8}, {64, 64, 8}, {192, 192, 40}, {192, 192, 40}, "radial", ""};
    OWNED(scan) *s = spokes_in("pm1", &e, 2, 64, 1);
    for (int i = 0; i < SPOKES; i++) s->r[i].head.idx.kspace_encode_step_2 = (uint16_t)(i % 8);
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "trajectory has two components; the third is taken from kspace_encode_step_2.\n");
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.traj).dim[0], 3);
    for (int r = 0; r < SPOKES; r++) assert_true(traj(&x)[3 * 64 * r + 2] == r % 8 - 4);
}

/* Readout i's third component is one value. */
static void set_level(scan *s, int i, double value)
{
    for (int n = 0; n < s->r[i].head.number_of_samples; n++) traj_of(s, i)[3 * n + 2] = (float)value;
}

/* The samples of a scan whose readouts have kz i % 4 - 2, and what was said. */
static void expect_partitions(const char *warning)
{
    OWNED(larmor_raw) *raw = opened_with(NULL);
    larmor_encoding e;
    assert_string_equal(larmor_raw_describe(raw).warnings, warning);
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    assert_int_equal(e.matrix[2], 4);
    assert_int_equal(e.ndim, 3);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.traj).dim[0], 3);
    assert_null(x.density);
    for (int r = 0; r < SPOKES; r++) {
        assert_at_most(fabs(traj(&x)[3 * 64 * r + 2] - (r % 4 - 2)), 1e-6);
        assert_at_most(fabs(hypot(traj(&x)[3 * 64 * r], traj(&x)[3 * 64 * r + 1]) - 32), 1e-4);
    }
}

WITH_SCAN(levels_beside_one_partition_are_partitions)
{
    OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
    const char *said =
        "the third component of the trajectory has 4 levels, one for each readout, but the matrix has one "
        "partition: it is kz of 4 partitions, in 5 mm.\n";
    for (int i = 0; i < SPOKES; i++) set_level(s, i, i % 4); /* whole numbers */
    write_scan(s);
    expect_partitions(said);
    for (int i = 0; i < SPOKES; i++) { /* any unit, in step with the counter */
        set_level(s, i, .25 * (i % 4 - 2));
        s->r[i].head.idx.kspace_encode_step_2 = (uint16_t)(i % 4);
    }
    write_scan(s);
    expect_partitions(said);
}

WITH_SCAN(levels_that_number_the_slices_are_nothing)
{
    OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
    for (int i = 0; i < SPOKES; i++) {
        set_level(s, i, i % 4);
        s->r[i].head.idx.slice = (uint16_t)(i % 4);
    }
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_non_null(
        strstr(info.warnings, "the third component of the trajectory numbers the slices; it is not used.\n"));
    assert_int_equal(info.density_stored, 0);
    assert_int_equal(info.groups, 4);
}

WITH_SCAN(weights_of_whole_readouts_are_density)
{
    OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
    for (int i = 0; i < SPOKES; i++) set_level(s, i, .2 + .1 * (i % 3));
    OWNED(larmor_raw) *raw = written(s);
    assert_int_equal(larmor_raw_describe(raw).density_stored, 1);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    const double *w = larmor_array_data(x.density);
    for (int r = 0; r < SPOKES; r++) assert_at_most(fabs(w[64 * r] - (.2 + .1 * (r % 3))), 1e-6);
}

/* A volume whose trajectory has nothing, weights, or the numbers of partitions in its third component. */
WITH_SCAN(a_volume_has_kz_from_where_it_is)
{
    const space e = {{64, 64, 4}, {64, 64, 4}, {192, 192, 20}, {192, 192, 20}, "radial", ""};
    const char *const said[] = {
        "the third component of the trajectory is 0 everywhere; kz is taken from kspace_encode_step_2.\n",
        "the third component of the trajectory is from 0 to 1: density weights; kz is taken from "
        "kspace_encode_step_2.\n",
        "the third component of the trajectory counts partitions from 0 to 3; kz = 0 is taken to be at 2.\n"};
    for (int way = 0; way < 3; way++) {
        OWNED(scan) *s = spokes_in("norm", &plane64, 3, 64, 1);
        *s->xml = '\0';
        add_encoding(s, &e);
        set_third(s, way == 1 ? 1. / 32 : 0, 0);
        for (int i = 0; i < SPOKES; i++) {
            if (way == 2) set_level(s, i, i % 4);
            s->r[i].head.idx.kspace_encode_step_2 = (uint16_t)(i % 4);
        }
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, said[way]);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        for (int r = 0; r < SPOKES; r++) assert_at_most(fabs(traj(&x)[3 * 64 * r + 2] - (r % 4 - 2)), 1e-6);
        assert_int_equal(x.density != NULL, way == 1);
    }
}

WITH_SCAN(components_must_agree)
{
    scan *s = radial_scan(2, 1);
    add_readout(s, 64, 1, 3);
    write_scan(s);
    refused("acquisition 2: trajectory has 3 components, the first has 2.");
    free_scan(s);
    s = empty_scan(&plane64);
    add_readout(s, 64, 1, 1);
    write_scan(s);
    refused("acquisition 0: trajectory has 1 components, 2 or 3 expected.");
    free_scan(s);
    s = radial_scan(2, 1);
    const int i = add_readout(s, 32, 1, 0);
    s->r[i].head.flags = LARMOR_ACQ_CALIBRATION;
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 1);
    assert_int_equal(larmor_array_count(x.kspace), 32);
    assert_null(x.traj);
    free_scan(s);
}
