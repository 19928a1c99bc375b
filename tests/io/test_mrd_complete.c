/* What a header leaves out and a stored trajectory does not need: taken from elsewhere and said, all at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

#define MATRIX(n) "<matrixSize>" n "</matrixSize>"
#define FOV(mm) "<fieldOfView_mm>" mm "</fieldOfView_mm>"
#define SPACE64 MATRIX("<x>64</x><y>64</y><z>1</z>") FOV("<x>192</x><y>192</y><z>5</z>")
#define NOTHING_MM FOV("<x>0.0</x><y>0.0</y><z>0.0</z>")
#define LIMITS "<encodingLimits/>"
#define RADIAL "<trajectory>radial</trajectory>"

static void set_header(scan *s, const char *encodings)
{
    snprintf(s->xml, sizeof s->xml, "<?xml version=\"1.0\"?>\n<ismrmrdHeader>%s</ismrmrdHeader>", encodings);
}

/* 12 spokes of 64 samples to the edge `edge`. */
static scan *spokes(double edge)
{
    scan *s = empty_scan(&plane64);
    for (int i = 0; i < 12; i++) set_spoke(s, add_readout(s, 64, 1, 2), M_PI * i / 12, edge, edge);
    return s;
}

static void assert_space(const larmor_raw *raw, int64_t matrix, double fov, int64_t recon, double recon_fov)
{
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    for (int d = 0; d < 2; d++) {
        assert_int_equal(e.matrix[d], matrix);
        assert_int_equal(e.recon_matrix[d], recon);
        assert_at_most(fabs(e.fov_mm[d] - fov), 1e-9);
        assert_at_most(fabs(e.recon_fov_mm[d] - recon_fov), 1e-9);
    }
    assert_int_equal(e.matrix[2], 1);
    assert_int_equal(e.ndim, 2);
}

static const struct {
    const char *encoding; /* of the header */
    double edge;          /* of the trajectory */
    int64_t matrix;
    double fov;
    int64_t recon;
    double recon_fov;
    const char *warnings;
} cases[] = {
    {"<encoding><encodedSpace>" MATRIX("<x>64</x><y>64</y><z>1</z>") NOTHING_MM
     "</encodedSpace><trajectory>Cartesian</trajectory></encoding>",
     .5, 64, 64, 64, 64,
     "field of view missing: 64 x 64 x 1 mm is taken, voxels of 1 mm.\n"
     "reconSpace missing: 64 x 64 x 1 voxels, 64 x 64 x 1 mm are taken from encodedSpace.\n"
     "encodingLimits missing; the counters are taken as they are.\n"},
    {"<encoding><encodedSpace>" SPACE64 "</encodedSpace><reconSpace>" MATRIX("<x>32</x><y>32</y><z>1</z>") NOTHING_MM
     "</reconSpace>" LIMITS RADIAL "</encoding>",
     32, 64, 192, 32, 96, "reconSpace missing: 32 x 32 x 1 voxels, 96 x 96 x 5 mm are taken from encodedSpace.\n"},
    {"<encoding><encodedSpace>" MATRIX("<x>64</x><y>64</y><z>1</z>") "</encodedSpace><reconSpace>" MATRIX(
         "<x>32</x><y>32</y><z>1</z>") FOV("<x>96</x><y>96</y><z>5</z>") "</reconSpace>" LIMITS RADIAL "</encoding>",
     32, 64, 192, 32, 96, "field of view missing: 192 x 192 x 5 mm is taken, voxels as along the other axes.\n"},
    {"<encoding><encodedSpace>" MATRIX("<x>64</x><y>64</y><z>1</z>")
         FOV("<x>192</x><y>192</y><z>0</z>") "</encodedSpace><reconSpace>" SPACE64 "</reconSpace>" LIMITS RADIAL
                                             "</encoding>",
     32, 64, 192, 64, 192, "field of view missing: 192 x 192 x 5 mm is taken, voxels as along the other axes.\n"},
    {"<encoding><reconSpace>" SPACE64 "</reconSpace>" LIMITS RADIAL "</encoding>", 32, 64, 192, 64, 192,
     "encoded matrix missing: 64 x 64 x 1 is taken from the reconSpace.\n"
     "field of view missing: 192 x 192 x 5 mm is taken, voxels as along the other axes.\n"},
    {"<encoding><encodedSpace>" SPACE64 "</encodedSpace><reconSpace>" SPACE64 "</reconSpace>" LIMITS "</encoding>",
     32, 64, 192, 64, 192, "trajectory type missing; the stored trajectory says all.\n"},
    {"<encoding><encodedSpace>" SPACE64 "</encodedSpace><reconSpace>" SPACE64 "</reconSpace>" LIMITS
     "<trajectory>zigzag</trajectory></encoding>",
     32, 64, 192, 64, 192, "trajectory type \"zigzag\" unknown; the stored trajectory says all.\n"},
    {"", 32, 64, 64, 64, 64,
     "trajectory type missing; the stored trajectory says all.\n"
     "encoded matrix missing: 64 x 64 x 1 is taken from the data.\n"
     "field of view missing: 64 x 64 x 1 mm is taken, voxels of 1 mm.\n"
     "reconSpace missing: 64 x 64 x 1 voxels, 64 x 64 x 1 mm are taken from encodedSpace.\n"
     "encodingLimits missing; the counters are taken as they are.\n"},
};

WITH_SCAN(what_a_trajectory_does_not_need_is_taken_from_elsewhere_and_said)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(scan) *s = spokes(cases[i].edge);
        set_header(s, cases[i].encoding);
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, cases[i].warnings);
        assert_space(raw, cases[i].matrix, cases[i].fov, cases[i].recon, cases[i].recon_fov);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        if (cases[i].recon == 64) /* as with a whole header */
            for (int n = 0; n < 64; n++)
                for (int r = 0; r < 12; r++)
                    assert_at_most(fabs(traj(&x)[2 * (n + 64 * r)] - (n - 32) * cos(M_PI * r / 12)), 1e-4);
    }
}

/* Without a matrix the unit is told by where values end, and the matrix by it or by the distance of samples. */
WITH_SCAN(without_a_matrix_each_bounded_unit_and_1_fov_give_it)
{
    static const struct {
        double edge;
        const char *unit;
    } units[] = {{.5, "norm"}, {1, "pm1"}, {M_PI, "rad"}, {24, "1/fov"}};
    for (int u = 0; u < 4; u++) {
        OWNED(scan) *s = empty_scan(&plane64);
        for (int i = 0; i < 60; i++)
            set_spoke(s, add_readout(s, 48, 1, 2), M_PI * i / 60, units[u].edge, units[u].edge);
        set_header(s, "");
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).traj_units, units[u].unit);
        assert_space(raw, 48, 48, 48, 48);
    }
}

WITH_SCAN(a_volume_without_a_matrix_is_one_by_its_trajectory)
{
    OWNED(scan) *s = empty_scan(&plane64);
    for (int i = 0; i < 40; i++) {
        const int r = add_readout(s, 32, 1, 3);
        for (int n = 0; n < 32; n++) {
            const double up = sin(i), along = sqrt(1 - up * up);
            const double direction[3] = {along * cos(2 * i), along * sin(2 * i), .75 * up}, edge[3] = {1, 1, .75};
            for (int d = 0; d < 3; d++) { /* the first three along the axes */
                const double on_axis = d == i ? edge[d] : 0;
                traj_of(s, r)[3 * n + d] = (float)((n - 16) * (i > 2 ? direction[d] : on_axis));
            }
        }
    }
    set_header(s, "");
    OWNED(larmor_raw) *raw = written(s);
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    assert_true(e.ndim == 3 && e.matrix[0] == 32 && e.matrix[1] == 32 && e.matrix[2] == 24);
}

WITH_SCAN(lines_without_a_trajectory_need_more)
{
#define CARTESIAN "<trajectory>cartesian</trajectory>"
    static const char *const refusals[][2] = {
        {"", "header: trajectory missing in encoding 1."},
        {"<encoding>" CARTESIAN "</encoding>", "header: encodedSpace missing in encoding 1."},
        {"<encoding><encodedSpace>" MATRIX("<x>64</x><y>0</y><z>1</z>") NOTHING_MM "</encodedSpace>" CARTESIAN
                                                                                   "</encoding>",
         "header: encoding 1 matrix y missing."},
        {"<encoding><encodedSpace>" SPACE64 "</encodedSpace><trajectory>zigzag</trajectory></encoding>",
         "header: encoding 1 trajectory \"zigzag\" unknown; cartesian, epi, radial, goldenangle, spiral or other."},
    };
    OWNED(scan) *s = cartesian_scan(&plane64, 1);
    for (int i = 0; i < 4; i++) {
        set_header(s, refusals[i][0]);
        write_scan(s);
        refused(refusals[i][1]);
    }
    set_header(s, "<encoding><encodedSpace>" MATRIX("<x>64</x><y>64</y><z>1</z>") "</encodedSpace>" CARTESIAN
                                                                                  "</encoding>");
    OWNED(larmor_raw) *raw = written(s);
    assert_space(raw, 64, 64, 64, 64);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_true(traj(&x)[1] == -32 && traj(&x)[0] == -32);
}

/* ---- metres ---- */

WITH_SCAN(fields_of_view_in_metres_are_recognised_and_said)
{
    static const struct {
        double fov[3], mm[3];
        const char *warning;
    } metres[] = {
        {{.23, .23, 1}, {230, 230, 1}, "field of view 0.23 x 0.23 x 1 is taken to be in metres: 230 x 230 x 1 mm.\n"},
        {{.4, .2, .005},
         {400, 200, 5},
         "field of view 0.4 x 0.2 x 0.005 is taken to be in metres: 400 x 200 x 5 mm.\n"},
        {{2, 2, .1}, {2, 2, .1}, ""},     /* a small sample, in mm */
        {{.5, 192, 5}, {.5, 192, 5}, ""}, /* one of them cannot be in metres */
    };
    for (int i = 0; i < 4; i++) {
        space e = plane64;
        for (int d = 0; d < 3; d++) e.fov[d] = e.recon_fov[d] = metres[i].fov[d];
        OWNED(scan) *s = empty_scan(&e);
        for (int r = 0; r < 4; r++) set_spoke(s, add_readout(s, 64, 1, 2), M_PI * r / 4, .5, .5);
        OWNED(larmor_raw) *raw = written(s);
        larmor_encoding got;
        larmor_image_meta meta;
        assert_string_equal(larmor_raw_describe(raw).warnings, metres[i].warning);
        assert_ok(larmor_raw_encoding(raw, 0, &got));
        assert_ok(larmor_raw_image_meta(raw, 0, &meta));
        for (int d = 0; d < 3; d++) {
            assert_at_most(fabs(got.fov_mm[d] - metres[i].mm[d]), 1e-9);
            assert_at_most(fabs(meta.fov_mm[d] - metres[i].mm[d]), 1e-9);
        }
    }
}

/* One space in metres, the other in mm: the grid is that of equal fields of view. */
WITH_SCAN(metres_in_one_space_alone_are_seen)
{
    for (int recon = 0; recon < 2; recon++) {
        space e = plane64;
        for (int d = 0; d < 2; d++) (recon ? e.recon_fov : e.fov)[d] = .192;
        OWNED(scan) *s = empty_scan(&e);
        set_spoke(s, add_readout(s, 64, 1, 2), 1, 32, 32);
        OWNED(larmor_raw) *raw = written(s);
        larmor_grid grid;
        assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
        assert_true(grid.matrix[0] == 64 && grid.crop[0] == 64);
        assert_at_most(fabs(grid.fov_mm[0] - 192), 1e-9);
    }
}

/* ---- two units ---- */

WITH_SCAN(spaces_in_two_units_are_seen_and_right_ones_are_left)
{
    static const struct {
        int matrix[3], recon_matrix[3];
        double fov[3], recon_fov[3], expected[3], recon_expected[3];
        const char *warning;
    } spaces[] = {
        {{64, 64, 1},
         {64, 64, 1},
         {19.2, 19.2, .5},
         {192, 192, 5},
         {192, 192, 5},
         {192, 192, 5},
         "fields of view of encodedSpace, 19.2 x 19.2 x 0.5 mm, and of reconSpace, 192 x 192 x 5 mm, contradict each "
         "other: encodedSpace is taken to be in another unit, 192 x 192 x 5 mm.\n"},
        {{128, 64, 1},
         {64, 64, 1},
         {384, 192, 5},
         {1920, 1920, 5},
         {384, 192, 5},
         {192, 192, 5},
         "fields of view of encodedSpace, 384 x 192 x 5 mm, and of reconSpace, 1920 x 1920 x 5 mm, contradict each "
         "other: reconSpace is taken to be in another unit, 192 x 192 x 5 mm.\n"},
        {{64, 64, 1},
         {64, 64, 1},
         {1.92, 1.92, 5},
         {192, 192, 5},
         {192, 192, 5},
         {192, 192, 5},
         "fields of view of encodedSpace, 1.92 x 1.92 x 5 mm, and of reconSpace, 192 x 192 x 5 mm, contradict each "
         "other: encodedSpace is taken to be in another unit, 192 x 192 x 5 mm.\n"},
        {{64, 64, 1},
         {64, 64, 1},
         {192, 40, 5},
         {192, 192, 5},
         {192, 40, 5},
         {192, 192, 5},
         "fields of view of encodedSpace, 192 x 40 x 5 mm, and of reconSpace, 192 x 192 x 5 mm, contradict each "
         "other.\n"},
        {{64, 64, 1},
         {64, 64, 1},
         {1920, 1920, 50},
         {1920, 1920, 50},
         {1920, 1920, 50},
         {1920, 1920, 50},
         "reconSpace field of view 1920 x 1920 x 50 mm is more than a scanner sees: in another unit, voxels and "
         "places of the images are wrong by its factor.\n"},
        /* right ones: oversampling, interpolation, both, rectangles, a part of the object, a mouse */
        {{128, 64, 1}, {64, 64, 1}, {384, 192, 5}, {192, 192, 5}, {384, 192, 5}, {192, 192, 5}, ""},
        {{64, 64, 1}, {256, 256, 1}, {192, 192, 5}, {192, 192, 5}, {192, 192, 5}, {192, 192, 5}, ""},
        {{128, 64, 1}, {256, 256, 1}, {384, 192, 5}, {192, 192, 5}, {384, 192, 5}, {192, 192, 5}, ""},
        {{256, 32, 1}, {128, 128, 1}, {512, 64, 5}, {256, 256, 5}, {512, 64, 5}, {256, 256, 5}, ""},
        {{96, 64, 1}, {96, 32, 1}, {288, 192, 5}, {288, 96, 5}, {288, 192, 5}, {288, 96, 5}, ""},
        {{256, 256, 1}, {16, 16, 1}, {192, 192, 5}, {12, 12, 5}, {192, 192, 5}, {12, 12, 5}, ""},
        {{64, 64, 1}, {64, 64, 1}, {20, 20, .5}, {20, 20, .5}, {20, 20, .5}, {20, 20, .5}, ""},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        space e = plane64;
        larmor_encoding got;
        for (int d = 0; d < 3; d++) {
            e.matrix[d] = spaces[i].matrix[d];
            e.recon[d] = spaces[i].recon_matrix[d];
            e.fov[d] = spaces[i].fov[d];
            e.recon_fov[d] = spaces[i].recon_fov[d];
        }
        OWNED(scan) *s = empty_scan(&e);
        set_spoke(s, add_readout(s, 64, 1, 2), 1, 32, 32);
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.traj_units = "1/fov"});
        assert_string_equal(larmor_raw_describe(raw).warnings, spaces[i].warning);
        assert_ok(larmor_raw_encoding(raw, 0, &got));
        for (int d = 0; d < 3; d++) {
            assert_at_most(fabs(got.fov_mm[d] - spaces[i].expected[d]), 1e-9);
            assert_at_most(fabs(got.recon_fov_mm[d] - spaces[i].recon_expected[d]), 1e-9);
        }
    }
}
