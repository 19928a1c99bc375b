/* check/misfit_step.c: a step in what an image leaves of its samples. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

enum { ARMS = 8, POINTS = 400 };

typedef struct fault {
    double shift; /* of the object along x and y, in fields of view, from half of the arms on */
    double gain;  /* of coil 2 in the last quarter of the arms */
    double sway;  /* of the object along x and y, in fields of view, another one in each arm */
    double size;  /* a change of the signal, another one in each arm */
    double more;  /* the signal of arm 5, which has 1 + more of it */
    int arms;     /* 0: ARMS */
} fault;

static void spoil(float *z, const double *k, const fault *f, int arm, int coil)
{
    const double sway = sin(2.4 * arm);
    const double shift = (arm >= ARMS / 2 ? f->shift : 0) + f->sway * sway;
    const double turn = -2 * M_PI * shift * (k[0] + k[1]);
    const double gain =
        (coil == 2 && arm >= 3 * ARMS / 4 ? f->gain : 1) * (1 + f->size * sway) * (arm == 5 ? 1 + f->more : 1);
    const double re = z[0], im = z[1];
    z[0] = (float)(gain * (re * cos(turn) - im * sin(turn)));
    z[1] = (float)(gain * (re * sin(turn) + im * cos(turn)));
}

/* The scan by arms one after the other, which pass the same cells of k-space twice near its centre alone. */
static scan arms_with(const fault *f, double noise)
{
    scan s = scan_of(COILS, 1, 0);
    const int arms = f->arms ? f->arms : ARMS;
    larmor_readouts *r = &s.image[0];
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = arms, .samples = POINTS};
    LMR_FREE(r->kspace, r->traj);
    assert_ok(larmor_traj_create(dev, "spiral", &opts, &r->traj));
    assert_ok(larmor_phantom_kspace(s.phantom, r->traj, COILS, LARMOR_C64, &r->kspace));
    HEAP float *x = host_of(r->kspace);
    HEAP double *k = (double *)host_of(r->traj);
    for (int c = 0; c < COILS; c++)
        for (int a = 0; a < arms; a++)
            for (int i = 0; i < POINTS; i++)
                spoil(x + 2 * (i + POINTS * (a + arms * c)), k + 2 * (i + POINTS * a), f, a, c);
    assert_ok(larmor_array_write(r->kspace, x, larmor_array_bytes(r->kspace)));
    assert_ok(larmor_phantom_noise(r->kspace, noise, 1));
    return s;
}

static notes notes_with(const scan *s, larmor_array *maps)
{
    notes n = {.text = ""};
    const larmor_recon_opts opts = OPTS(.listener = take_note, .user = &n, .maps = maps);
    OWNED(larmor_recon_result) result = result_of(s, &opts);
    return n;
}

static notes notes_of(const scan *s)
{
    return notes_with(s, NULL);
}

TEST(an_object_that_rests_has_no_warning)
{
    for (double noise = 1e-5; noise < 1e-2; noise *= 500) {
        OWNED(scan) arms = arms_with(&(fault){.gain = 1}, noise), spokes = scan_of(COILS, 1, noise);
        const notes of_arms = notes_of(&arms), of_spokes = notes_of(&spokes);
        if (strstr(of_arms.text, "W:")) fail_msg("%s", of_arms.text);
        if (strstr(of_spokes.text, "W:")) fail_msg("%s", of_spokes.text);
    }
}

TEST(an_object_that_moves_between_arms_is_named_with_the_time)
{
    OWNED(scan) s = arms_with(&(fault){.gain = 1, .shift = 0.03}, 1e-5);
    const notes n = notes_of(&s);
    assert_noted(n, "W:the samples fit better with an object that moves after 50 % of the scan, by ");
    assert_noted(n, " of what the image leaves of them beyond noise: it moved, or readouts have another phase than "
                    "described. opts.motion_states finds motion of a rigid object.\n");
}

/* Each place of k-space is passed once, but for the centre. */
TEST(an_object_that_is_elsewhere_in_each_arm_is_named)
{
    OWNED(scan) moved = arms_with(&(fault){.gain = 1, .sway = 0.015, .arms = 2 * ARMS}, 1e-5);
    OWNED(scan) changed = arms_with(&(fault){.gain = 1, .size = 0.1, .arms = 2 * ARMS}, 1e-5);
    const notes of_moved = notes_with(&moved, moved.maps), of_changed = notes_with(&changed, changed.maps);
    assert_noted(of_moved, "W:the samples fit better with an object that is elsewhere in each readout, by ");
    assert_noted(of_moved, " of what the image leaves of them beyond noise: it moved during the scan. "
                           "opts.motion_states finds motion of a rigid object.\n");
    assert_null(strstr(of_changed.text, "elsewhere"));
}

TEST(a_coil_that_fails_in_the_last_quarter_of_the_arms_is_named)
{
    for (double noise = 1e-5; noise < 2e-3; noise *= 100) {
        OWNED(scan) s = arms_with(&(fault){.gain = 0}, noise);
        const notes n = notes_of(&s);
        assert_noted(n, "W:the samples fit better where coil 2 (from 0) has about 0 times its gain after 75 % of the "
                        "scan, which explains ");
        assert_noted(n, " % of what the image leaves of them beyond noise. Leave the coil or these readouts out.\n");
    }
}

TEST(one_arm_that_is_louder_is_named)
{
    for (double noise = 1e-5; noise < 2e-3; noise *= 100) {
        OWNED(scan) s = arms_with(&(fault){.gain = 1, .more = -0.5, .arms = 12}, noise);
        const notes n = notes_of(&s);
        const char *line =
            strstr(n.text, "W:the samples fit better where readout 5 (from 0, in the order of the image) "
                           "has about ");
        double gain = 0, percent = 0;
        if (!line) fail_msg("%s", n.text);
        assert_int_equal(sscanf(strstr(line, "about "),
                                "about %lf times the gain of the others, which explains %lf %%", &gain, &percent),
                         2);
        assert_at_most(fabs(gain - 0.5), 0.1);
        assert_at_most(40, percent);
    }
}
