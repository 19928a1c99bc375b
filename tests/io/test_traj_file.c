/* io/trajectory/traj_file.c: trajectories in files. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

enum { SAMPLES = 4, READOUTS = 3, POINTS = SAMPLES * READOUTS };

/* k = point + component / 8, of nd components. */
static larmor_array *numbered(int nd)
{
    double k[3 * POINTS];
    for (int i = 0; i < POINTS; i++)
        for (int d = 0; d < nd; d++) k[i * nd + d] = i + d / 8.;
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, SAMPLES, READOUTS), LARMOR_F64, k, &made));
}

static void save(const char *name, const larmor_array *traj)
{
    OWN(larmor_output, *out, larmor_output_open(in_folder(name), 0, &out));
    assert_ok(larmor_traj_save(out, traj));
}

IN_FOLDER(what_is_saved_is_read_again_with_as_many_components_as_asked_for)
{
    static const char *const suffix[] = {"npy", "cfl"};
    for (int nd = 1; nd <= 3; nd++)
        for (int f = 0; f < 2; f++) {
            char name[16];
            OWNED(larmor_array) *traj = numbered(nd);
            snprintf(name, sizeof name, "t%d.%s", nd, suffix[f]);
            save(name, traj);
            for (int asked = 1; asked <= 3; asked++) {
                OWN(larmor_array, *read, larmor_traj_read(in_folder(name), asked, dev, &read));
                assert_true(larmor_shape_equal(larmor_array_shape(read), LARMOR_SHAPE(asked, SAMPLES, READOUTS)));
                OWN_MEMORY(double, *k, larmor_array_download(read, LARMOR_F64, &k));
                for (int i = 0; i < POINTS; i++)
                    for (int d = 0; d < asked; d++) assert_true(k[i * asked + d] == (d < nd ? i + d / 8. : 0));
            }
        }
}

IN_FOLDER(a_file_has_three_components_whatever_the_trajectory_has)
{
    OWNED(larmor_array) *traj = numbered(2), *x;
    save("t.cfl", traj);
    assert_ok(larmor_image_read(in_folder("t.cfl"), dev, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(3, SAMPLES, READOUTS)));
}

IN_FOLDER(what_is_no_trajectory_is_refused)
{
    larmor_array *x, *traj;
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(4, 2, 2), &x));
    assert_ok(larmor_zero(x));
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("x.npy"), 0, &made));
    assert_refused(larmor_traj_save(out, x), LARMOR_ERR_SHAPE, "expected [1 to 3, samples, readouts]");
    larmor_output_free(out);
    assert_false(is_there(in_folder("x.npy")));
    assert_ok(larmor_output_open(in_folder("x.npy"), 0, &out));
    assert_ok(larmor_array_save(out, x));
    larmor_output_free(out);
    assert_refused(larmor_traj_read(in_folder("x.npy"), 2, dev, &traj), LARMOR_ERR_SHAPE,
                   "x.npy: [2 or 3, samples, readouts] expected, its first dimension is 4");
    assert_null(traj);
    assert_refused(larmor_traj_read(in_folder("x.npy"), 4, dev, &traj), LARMOR_ERR_ARG, "expected 1 to 3");
    larmor_array_free(x);
    x = numbered(2);
    assert_ok(larmor_output_open(in_folder("two.npy"), 0, &out));
    assert_ok(larmor_array_save(out, x));
    larmor_output_free(out);
    assert_refused(larmor_traj_read(in_folder("two.npy"), 3, dev, &traj), LARMOR_ERR_SHAPE,
                   "two.npy: [3, samples, readouts] expected, its first dimension is 2");
    larmor_array_free(x);
}
