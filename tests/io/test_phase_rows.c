/* Trajectories whose rows are a field camera's phases: which become k, which are kept, and what is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { SAMPLES = 24, READOUTS = 5, MOST = 16 };

static const larmor_raw_opts as_rows = {.phase_terms = "trajectory"};
static const space cube = {{64, 64, 8}, {64, 64, 8}, {192, 192, 64}, {192, 192, 64}, "other", ""};

static double random_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)*state / 2147483648. - 1;
}

/* Images that are turned about two axes, and rows of any numbers. */
static scan *scan_of(const space *e, int rows, uint32_t seed)
{
    scan *s = empty_scan(e);
    const double c = cos(.7), w = sin(.7), c2 = cos(.4), w2 = sin(.4);
    for (int r = 0; r < READOUTS; r++) {
        const int i = add_readout(s, SAMPLES, 1, rows);
        ISMRMRD_AcquisitionHeader *h = &s->r[i].head;
        const double read[3] = {c, w, 0}, phase[3] = {-w * c2, c * c2, w2}, slice[3] = {w * w2, -c * w2, c2};
        for (int d = 0; d < 3; d++) {
            h->read_dir[d] = (float)read[d];
            h->phase_dir[d] = (float)phase[d];
            h->slice_dir[d] = (float)slice[d];
        }
        for (int n = 0; n < rows * SAMPLES; n++) traj_of(s, i)[n] = (float)(90 * random_number(&seed));
    }
    return s;
}

/* [samples, readouts, rows] of the first image, on the host. */
static larmor_array *phases_of(const larmor_raw *raw)
{
    larmor_grid grid;
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    larmor_array *phases = MADE(larmor_array, larmor_raw_phase_terms(raw, 0, NULL, 0, &grid, dev, &made));
    bring_to_host(&phases);
    return phases;
}

/* Heads are packed. */
static void directions_of(const ISMRMRD_AcquisitionHeader *h, float direction[3][3])
{
    memcpy(direction[0], h->read_dir, sizeof direction[0]);
    memcpy(direction[1], h->phase_dir, sizeof direction[1]);
    memcpy(direction[2], h->slice_dir, sizeof direction[2]);
}

static double along(const float direction[3], const float *row)
{
    double sum = 0;
    for (int a = 0; a < 3; a++) sum += (double)direction[a] * (double)row[a];
    return sum;
}

WITH_SCAN(rows_of_the_first_order_are_the_trajectory_along_the_image_and_what_a_slice_leaves_of_them_is_kept)
{
    for (int nd = 2; nd < 4; nd++) {
        const space *e = nd == 3 ? &cube : &plane64;
        OWNED(scan) *s = scan_of(e, 9, 7);
        write_scan(s);
        OWNED(larmor_raw) *raw = opened_with(&as_rows);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        OWNED(larmor_array) *phases = phases_of(raw);
        const double *p = larmor_array_data(phases);
        assert_shape(phases, LARMOR_SHAPE(SAMPLES, READOUTS, 9));
        assert_int_equal(larmor_array_shape(x.traj).dim[0], nd);
        for (int j = 0; j < SAMPLES * READOUTS; j++) {
            const ISMRMRD_AcquisitionHeader *h = &s->r[j / SAMPLES].head;
            float direction[3][3];
            directions_of(h, direction);
            const float *row = traj_of(s, j / SAMPLES) + 9 * (j % SAMPLES);
            for (int d = 0; d < nd; d++)
                assert_at_most(fabs(traj(&x)[nd * j + d] - along(direction[d], row + 1) * e->fov[d] / 2e3 / M_PI),
                               1e-5);
            for (int l = 0; l < 9; l++) {
                double left = (double)row[l];
                if (l > 0 && l < 4) left = nd == 2 ? (double)direction[2][l - 1] * along(direction[2], row + 1) : 0;
                assert_at_most(fabs(p[j + SAMPLES * READOUTS * l] - left), 1e-3);
            }
        }
    }
}

/* Of x, y, z. */
static double harmonic(int l, const double r[3])
{
    const double x = r[0], y = r[1], z = r[2];
    const double h[MOST] = {1,
                            x,
                            y,
                            z,
                            x * y,
                            z * y,
                            2 * z * z - x * x - y * y,
                            x * z,
                            x * x - y * y,
                            3 * y * x * x - y * y * y,
                            x * y * z,
                            y * (4 * z * z - x * x - y * y),
                            2 * z * z * z - 3 * z * (x * x + y * y),
                            x * (4 * z * z - x * x - y * y),
                            z * (x * x - y * y),
                            x * x * x - 3 * x * y * y};
    return h[l];
}

/* The phase at a place along L, P and S that the rows of a sample mean: axes point to where their letters say. */
static double meant(const char *axes, int fourth, int plus, const float *row, const double place[3])
{
    double own[3], sum = 0;
    for (int a = 0; a < 3; a++) own[a] = axes[a] == "LPS"[a] ? place[a] : -place[a];
    for (int l = 0; l < MOST; l++) {
        int from = l;
        if (fourth && l < 4) from = l ? l - 1 : 3;
        sum += (double)row[from] * harmonic(l, own);
    }
    return plus ? -sum : sum;
}

/* That of k and of the phases that were read. */
static double read_phase(const scan *s, const double *k, const double *p, int j, const double place[3])
{
    const ISMRMRD_AcquisitionHeader *h = &s->r[j / SAMPLES].head;
    float direction[3][3];
    directions_of(h, direction);
    double sum = 0;
    for (int d = 0; d < 3; d++)
        for (int a = 0; a < 3; a++)
            sum += 2e3 * M_PI * k[3 * j + d] / cube.fov[d] * (double)direction[d][a] * place[a];
    for (int l = 0; l < MOST; l++) sum += p[j + SAMPLES * READOUTS * l] * harmonic(l, place);
    return sum;
}

WITH_SCAN(axes_order_and_sign_give_the_phase_that_they_mean_anywhere)
{
    static const char *const axes[] = {"LPS", "RPS", "LAS", "LPI", "RAS", "LAI", "RPI", "RAI"};
    OWNED(scan) *s = scan_of(&cube, MOST, 3);
    write_scan(s);
    uint32_t seed = 5;
    for (int way = 0; way < 32; way++) {
        const int fourth = way / 8 % 2, plus = way / 16;
        char words[64];
        snprintf(words, sizeof words, "trajectory:%s%s%s", axes[way % 8], fourth ? ",fourth" : "",
                 plus ? ",plus" : "");
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.phase_terms = words});
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        OWNED(larmor_array) *phases = phases_of(raw);
        for (int j = 0; j < SAMPLES * READOUTS; j += 7) {
            const float *row = traj_of(s, j / SAMPLES) + MOST * (j % SAMPLES);
            const double place[3] = {random_number(&seed), random_number(&seed), random_number(&seed)};
            const double got = read_phase(s, traj(&x), larmor_array_data(phases), j, place);
            assert_at_most(fabs(got - meant(axes[way % 8], fourth, plus, row, place)), 2e-3);
        }
    }
}

WITH_SCAN(readouts_that_are_chosen_have_their_own_phases)
{
    OWNED(scan) *s = scan_of(&cube, 4, 11);
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(&as_rows);
    OWNED(larmor_array) *some = NULL;
    larmor_grid grid;
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    assert_ok(larmor_raw_phase_terms(raw, 0, (int64_t[]){3, 1}, 2, &grid, dev, &some));
    bring_to_host(&some);
    assert_shape(some, LARMOR_SHAPE(SAMPLES, 2, 4));
    const double *p = larmor_array_data(some);
    for (int n = 0; n < 2 * SAMPLES; n++)
        assert_true(p[n] == (double)traj_of(s, n < SAMPLES ? 3 : 1)[4 * (n % SAMPLES)]);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.phase_terms, 4);
    assert_string_equal(info.traj_units, "rad/m");
    assert_string_equal(info.phase_report,
                        "4 rows of the trajectory, of orders 0 to 1 in rad/m^n, k0, kx, ky, kz, ..., "
                        "along LPS, of signals exp(-i phase)");
}

/* Of a scan with so many rows. */
static void refused_of(int rows, const larmor_raw_opts *opts, larmor_status status, const char *line)
{
    OWNED(scan) *s = scan_of(&plane64, rows, 1);
    write_scan(s);
    refused_with(opts, status, line);
}

WITH_SCAN(rows_without_the_option_and_what_is_no_such_trajectory_are_refused_in_a_line)
{
    refused_of(
        9, NULL, LARMOR_ERR_FORMAT,
        "acquisition 0: trajectory has 9 components, 2 or 3 expected. If they are the phases of a field camera "
        "use opts.phase_terms trajectory; if they are kx, ky, kz and a weight or a time, store kx, ky and kz alone.");
    refused_of(5, NULL, LARMOR_ERR_FORMAT, "acquisition 0: trajectory has 5 components, 2 or 3 expected.");
    for (int rows = 3; rows < 18; rows += 14) {
        char line[160];
        snprintf(line, sizeof line,
                 "acquisition 0: trajectory has %d rows, expected 4, 9 or 16 for opts.phase_terms trajectory.", rows);
        refused_of(rows, &as_rows, LARMOR_ERR_FORMAT, line);
    }
    static const char *const wrong[] = {"trajectories", "trajectory:", "trajectory:LPX", "trajectory:plus,",
                                        "file.npy"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[200];
        snprintf(
            line, sizeof line,
            "opts.phase_terms \"%s\": trajectory expected, and behind a colon plus, fourth and axes such as LAI, "
            "with commas between.",
            wrong[i]);
        refused_of(9, &(larmor_raw_opts){.phase_terms = wrong[i]}, LARMOR_ERR_ARG, line);
    }
    refused_of(9, &(larmor_raw_opts){.phase_terms = "trajectory", .traj_units = "norm"}, LARMOR_ERR_ARG,
               "opts.phase_terms trajectory: its rows are in rad/m; leave opts.traj_units out.");
}

WITH_SCAN(readouts_of_another_count_of_rows_and_without_directions_are_refused)
{
    OWNED(scan) *s = scan_of(&plane64, 9, 1);
    add_readout(s, SAMPLES, 1, 16);
    write_scan(s);
    refused_with(&as_rows, LARMOR_ERR_FORMAT, "acquisition 5: trajectory has 16 rows, the first has 9.");
    OWNED(scan) *lost = scan_of(&plane64, 9, 1);
    memset(lost->r[2].head.read_dir, 0, sizeof lost->r[2].head.read_dir);
    write_scan(lost);
    refused_with(&as_rows, LARMOR_ERR_FORMAT,
                 "acquisition 2: has no directions, along which opts.phase_terms trajectory lies.");
}
