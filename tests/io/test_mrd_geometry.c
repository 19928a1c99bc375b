/* The grid of ISMRMRD files, and where images lie. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

WITH_SCAN(samples_beyond_the_grid_are_left_out_and_counted)
{
    space e = plane64;
    e.recon[0] = e.recon[1] = 32; /* half the resolution on the same field of view */
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 2; i++) set_spoke(s, add_readout(s, 64, 1, 2), M_PI / 2 * i, 32, 32);
    OWNED(larmor_raw) *raw = written(s);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(x.outside, 2 * 31); /* -16 to 16 stay */
    assert_shape(x.kspace, LARMOR_SHAPE(66, 1, 1));
    assert_true(traj(&x)[0] == -16 && traj(&x)[2 * 32] == 16 && kspace(&x)[1] == 16.f / 1024);
}

WITH_SCAN(the_grid_has_the_voxels_of_the_recon_space_on_the_larger_field_of_view)
{
    static const struct {
        int matrix, recon;
        double fov, recon_fov;
        int grid, crop;
        double grid_fov;
    } cases[] = {{512, 256, 512, 256, 512, 256, 512}, {64, 128, 256, 256, 128, 128, 256},
                 {64, 63, 64, 63, 64, 63, 64},        {63, 63, 63, 63, 63, 63, 63},
                 {66, 63, 65, 63, 66, 63, 66},        {100, 120, 100, 120, 120, 120, 120}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const space e = {{cases[i].matrix, 64, 1},
                         {cases[i].recon, 64, 1},
                         {cases[i].fov, 64, 5},
                         {cases[i].recon_fov, 64, 5},
                         "cartesian",
                         ""};
        OWNED(scan) *s = empty_scan(&e);
        add_readout(s, cases[i].matrix, 1, 0);
        OWNED(larmor_raw) *raw = written(s);
        larmor_grid g;
        assert_ok(larmor_raw_grid(raw, 0, NULL, &g));
        assert_int_equal(g.matrix[0], cases[i].grid);
        assert_int_equal(g.crop[0], cases[i].crop);
        assert_at_most(fabs(g.fov_mm[0] - cases[i].grid_fov), 1e-9);
    }
}

WITH_SCAN(geometry_comes_from_the_first_imaging_readout_of_the_group)
{
    OWNED(scan) *s = radial_scan(4, 1);
    s->r[0].head.flags = LARMOR_ACQ_NAVIGATION;
    ISMRMRD_AcquisitionHeader *h = &s->r[1].head;
    h->position[0] = 1.5f;
    h->position[2] = -20;
    h->patient_table_position[1] = 7;
    h->read_dir[0] = 0;
    h->read_dir[1] = 1;
    h->phase_dir[1] = 0;
    h->phase_dir[2] = -1;
    h->slice_dir[2] = 0;
    h->slice_dir[0] = -1;
    h->measurement_uid = 0xfedcba98u;
    h->acquisition_time_stamp = 123456;
    h->physiology_time_stamp[2] = 9;
    for (int i = 1; i < 4; i++) s->r[i].head.idx.slice = 4;
    larmor_raw *raw = written(s);
    larmor_image_meta m;
    assert_ok(larmor_raw_image_meta(raw, 0, &m));
    assert_true(m.position_mm[0] == 1.5 && m.position_mm[2] == -20 && m.table_mm[1] == 7 && m.fov_mm[0] == 192);
    assert_true(m.read_dir[1] == 1 && m.phase_dir[2] == -1 && m.slice_dir[0] == -1 && m.slice == 4);
    assert_true(m.measurement_uid == 0xfedcba98u && m.time_stamp == 123456 && m.physiology_stamp[2] == 9);
    larmor_raw_free(raw);
    memset(h->phase_dir, 0, sizeof h->phase_dir); /* as simulators leave it */
    write_scan(s);
    raw = opened_with(NULL);
    assert_ok(larmor_raw_image_meta(raw, 0, &m));
    assert_true(m.read_dir[0] == 1 && m.phase_dir[1] == 1 && m.slice_dir[2] == 1 && m.slice_dir[0] == 0);
    assert_int_equal(m.place_unknown, 1);
    larmor_raw_free(raw);
}

/* A localizer has slices of three orientations through one point; of them the last two are one. */
WITH_SCAN(slices_through_one_point_that_are_turned_lie_elsewhere)
{
    for (int same = 0; same < 2; same++) {
        OWNED(scan) *s = radial_scan(4, 1);
        for (int i = 0; i < 4; i++) {
            ISMRMRD_AcquisitionHeader *h = &s->r[i].head;
            const int along = same && i == 3 ? 1 : i % 3; /* of the slice's direction */
            h->idx.slice = (uint16_t)i;
            h->position[2] = i == 3 && !same ? 10 : 0;
            for (int d = 0; d < 3; d++) {
                h->read_dir[d] = d == (along + 1) % 3;
                h->phase_dir[d] = d == (along + 2) % 3;
                h->slice_dir[d] = d == along;
            }
        }
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.join = "none"});
        assert_string_equal(larmor_raw_describe(raw).warnings,
                            same ? "2 of 4 slices are at the same position as another one: where they lie is not "
                                   "known, which is what NIfTI files say (code 0).\n"
                                 : "");
    }
}

/* Two slices 5 mm apart, then with one thing wrong each. */
WITH_SCAN(a_place_that_the_scan_does_not_say_is_a_warning)
{
    static const char *const said[] = {
        "",
        "2 of 4 readouts lack one of three perpendicular directions of length 1: "
        "the images' orientation in the patient is unknown, which is what NIfTI files say (code "
        "0), and x, y and z stand for it.\n",
        "4 of 4 readouts have no position: 0 is taken for it.\n2 of 2 slices are at "
        "the same position as another one: "
        "where they lie is not known, which is what NIfTI files say (code 0).\n",
        "2 of 2 slices are at the same position as another one: where they lie is not "
        "known, which is what NIfTI files say "
        "(code 0).\n"};
    for (int wrong = 0; wrong < 4; wrong++) {
        OWNED(scan) *s = radial_scan(4, 1);
        for (int i = 0; i < 4; i++) {
            ISMRMRD_AcquisitionHeader *h = &s->r[i].head;
            h->idx.slice = (uint16_t)(i / 2);
            h->position[2] = wrong == 3 ? 5 : 5 * (float)(i / 2);
            if (wrong == 1 && i < 2) h->slice_dir[2] = 0;
            if (wrong == 2) h->position[1] = h->position[2] = (float)NAN;
        }
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.join = "none"});
        larmor_image_meta m;
        assert_string_equal(larmor_raw_describe(raw).warnings, said[wrong]);
        assert_ok(larmor_raw_image_meta(raw, 0, &m));
        assert_int_equal(m.place_unknown, wrong == 1 || wrong == 2);
    }
}

/* Directions 60 degrees apart, or alike, would be a matrix that is none of an image. */
WITH_SCAN(directions_that_are_not_perpendicular_are_none)
{
    const float phase_dir[][3] = {{0, 1, 0}, {1, 0, 0}, {0.5f, 0.8660254f, 0}, {0.001f, 0.9999995f, 0}};
    for (int i = 0; i < 4; i++) {
        OWNED(scan) *s = radial_scan(4, 1);
        for (int r = 0; r < 4; r++)
            for (int d = 0; d < 3; d++) {
                ISMRMRD_AcquisitionHeader *h = &s->r[r].head;
                h->read_dir[d] = (float)(d == 0);
                h->phase_dir[d] = phase_dir[i][d];
                h->slice_dir[d] = (float)(d == 2);
            }
        OWNED(larmor_raw) *raw = written(s);
        const int wrong = i == 1 || i == 2;
        larmor_image_meta m;
        assert_int_equal(strstr(larmor_raw_describe(raw).warnings,
                                "4 of 4 readouts lack one of three perpendicular directions of length 1") != NULL,
                         wrong);
        assert_ok(larmor_raw_image_meta(raw, 0, &m));
        assert_int_equal(m.place_unknown, wrong);
        assert_true(m.phase_dir[1] > 0.99);
    }
}

/* Three slices under one number; and directions that turn half way. */
WITH_SCAN(readouts_of_one_image_at_several_places_are_a_warning)
{
    static const char *const said[] = {
        "",
        "4 readouts are up to 16 mm away from the first of their image, where all of it is taken to lie. Slices need "
        "a "
        "number each in the counter of slices.\n",
        "3 readouts have other directions than the first of their image, which all of it is taken to have. "
        "Trajectories are in the axes of the directions of the head.\n"};
    for (int wrong = 0; wrong < 3; wrong++) {
        OWNED(scan) *s = radial_scan(6, 1);
        for (int r = 0; r < 6; r++) {
            ISMRMRD_AcquisitionHeader *h = &s->r[r].head;
            const int turned = wrong == 2 && r > 2;
            h->position[2] = wrong == 1 ? 8 * (float)(r % 3) : 0.3f * (float)(r % 2);
            h->read_dir[0] = (float)!turned;
            h->read_dir[1] = (float)turned;
            h->phase_dir[0] = (float)-turned;
            h->phase_dir[1] = (float)!turned;
            h->slice_dir[2] = 1;
        }
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, said[wrong]);
    }
}

/* The samples get the phase of the shift; the images lie there, once. */
WITH_SCAN(a_shift_moves_the_field_of_view)
{
    enum { N = 4 };
    const double mm[3] = {60, -20, 0};
    for (int way = 0; way < 2;
         way++) { /* samples about the isocentre, whose heads have 0 or the shift for a position */
        OWNED(scan) *s = radial_scan(N, 2);
        for (int i = 0; i < N && way; i++)
            for (int d = 0; d < 2; d++) s->r[i].head.position[d] = (float)mm[d];
        write_scan(s);
        OWNED(larmor_raw) *plain = opened_with(NULL);
        larmor_raw *raw = opened_with(&(larmor_raw_opts){.shift_mm = {60, -20}});
        larmor_samples x = samples_of(plain, 0, 0), y = samples_of(raw, 0, 0);
        for (int64_t i = 0; i < 2 * 64 * N; i++) {
            const double *k = traj(&x) + 2 * (i % (64 * N));
            const double angle = 2 * M_PI * (k[0] * mm[0] + k[1] * mm[1]) / 192;
            const double re = (double)kspace(&x)[2 * i], im = (double)kspace(&x)[2 * i + 1];
            assert_at_most(fabs((double)kspace(&y)[2 * i] - (re * cos(angle) - im * sin(angle))), 1e-5);
            assert_at_most(fabs((double)kspace(&y)[2 * i + 1] - (re * sin(angle) + im * cos(angle))), 1e-5);
        }
        larmor_image_meta m;
        assert_ok(larmor_raw_image_meta(raw, 0, &m));
        for (int d = 0; d < 3; d++) assert_true(m.position_mm[d] == mm[d]);
        assert_true(larmor_raw_fingerprint(raw) != larmor_raw_fingerprint(plain));
        larmor_samples_free(&x);
        larmor_samples_free(&y);
        larmor_raw_free(raw);
        assert_int_equal(larmor_raw_open(path, &(larmor_raw_opts){.shift_mm = {NAN}}, &raw), LARMOR_ERR_ARG);
        assert_string_equal(larmor_last_error(), "shift: nan mm, a finite number expected.");
    }
}

/* What asks for nothing along z is taken: a matrix and an oversample of 1, the thickness of the slice. */
WITH_SCAN(values_along_z_of_a_2d_scan_are_refused)
{
    OWNED(scan) *s = radial_scan(4, 2);
    write_scan(s);
    larmor_raw *raw = opened_with(NULL), *shifted;
    larmor_encoding e;
    larmor_grid grid;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    const double thick = e.recon_fov_mm[2];
    const struct {
        larmor_grid_opts opts;
        const char *says;
    } of[] = {{{.matrix = {32, 32, 32}}, "opts.matrix: got 32 along z, but the scan is 2D; leave that number out."},
              {{.fov_mm = {192, 192, thick + 1}}, "opts.fov_mm: got "},
              {{.oversample = {1, 1, 2}}, "opts.oversample: got 2 along z, but the scan is 2D"},
              {{.matrix = {32, 32, 1}, .fov_mm = {192, 192, thick}, .oversample = {1, 1, 1}}, NULL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].says)
            assert_refused(larmor_raw_grid(raw, 0, &of[i].opts, &grid), LARMOR_ERR_ARG, of[i].says);
        else
            assert_ok(larmor_raw_grid(raw, 0, &of[i].opts, &grid));
    }
    larmor_raw_free(raw);
    assert_refused(larmor_raw_open(path, &(larmor_raw_opts){.shift_mm = {1, 2, 3}}, &shifted), LARMOR_ERR_ARG,
                   "opts.shift_mm: got 3 along z, but the scan is 2D");
}
