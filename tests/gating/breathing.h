/* An object that breathes and whose heart beats, seen by the centre of each readout.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/test.h"

typedef struct subject {
    int ndim;
    larmor_phantom_cycle breath, heart; /* rate 0: it stays as it is */
    double seconds, tr;
    double noise; /* of a sample, relative to the signal */
    double delay; /* cycles per field of view by which the centre is missed along the readout */
    uint64_t seed;
} subject;

typedef struct seen {
    int64_t readouts;
    larmor_array *centre;
    double *direction, *when, *breath; /* the true shift */
} seen;

static inline void end_seen(seen *s)
{
    LMR_FREE(s->centre, s->direction, s->when, s->breath);
}

enum { SUBJECT_COILS = 6 };

/* Golden angles in a plane, and in space golden means (Chan et al., Magn. Reson. Med. 61, 354, 2009). */
static inline void aim(int ndim, int64_t i, double *direction)
{
    const double angle = M_PI * 0.6180339887498949 * (double)i;
    const double z = ndim == 3 ? 2 * fmod(0.4655712318767680 * (double)i, 1) - 1 : 0;
    const double turn = ndim == 3 ? 2 * M_PI * fmod(0.6823278038280193 * (double)i, 1) : angle;
    direction[0] = sqrt(1 - z * z) * cos(turn);
    direction[1] = sqrt(1 - z * z) * sin(turn);
    direction[2] = z;
}

static inline seen watch(const subject *u)
{
    seen s = {.readouts = (int64_t)(u->seconds / u->tr)};
    const int64_t n = s.readouts;
    OWNED(larmor_phantom) *still = NULL;
    s.direction = calloc((size_t)(3 * n), sizeof(double));
    s.when = calloc((size_t)n, sizeof(double));
    s.breath = calloc((size_t)n, sizeof(double));
    HEAP float *host = calloc((size_t)(2 * n * SUBJECT_COILS), sizeof *host);
    assert_true(s.direction && s.when && s.breath && host);
    assert_ok(larmor_phantom_create("shepp-logan", u->ndim, &still));
    double level = 0;
    for (int64_t i = 0; i < n; i++) {
        larmor_phantom_state state = {0};
        OWNED(larmor_phantom) *now = NULL;
        OWNED(larmor_array) *traj = NULL, *k = NULL;
        HEAP float *one = NULL;
        double at[3];
        s.when[i] = u->tr * (double)i;
        aim(u->ndim, i, s.direction + 3 * i);
        for (int d = 0; d < 3; d++) at[d] = u->delay * s.direction[3 * i + d];
        larmor_phantom_beat(&u->breath, &u->heart, s.when[i], &state);
        s.breath[i] = state.shift[1];
        assert_ok(larmor_phantom_change(still, &state, &now));
        assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(u->ndim, 1, 1), LARMOR_F64, at, &traj));
        assert_ok(larmor_phantom_kspace(now, traj, SUBJECT_COILS, LARMOR_C64, &k));
        assert_ok(larmor_array_download(k, LARMOR_C64, &one));
        for (int c = 0; c < SUBJECT_COILS; c++) {
            host[2 * (c * n + i)] = one[2 * c];
            host[2 * (c * n + i) + 1] = one[2 * c + 1];
            level = fmax(level, hypot((double)one[2 * c], (double)one[2 * c + 1]));
        }
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(n, SUBJECT_COILS), LARMOR_C64, host, &s.centre));
    if (u->noise > 0) assert_ok(larmor_phantom_noise(s.centre, u->noise * level, u->seed));
    return s;
}

/* Pearson's correlation. */
static inline double correlation(const double *a, const double *b, int64_t n)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; i++) {
        x += a[i] / (double)n;
        y += b[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        xx += (a[i] - x) * (a[i] - x);
        yy += (b[i] - y) * (b[i] - y);
        xy += (a[i] - x) * (b[i] - y);
    }
    return xy / sqrt(xx * yy);
}
