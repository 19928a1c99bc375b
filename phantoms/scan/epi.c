/* Echo-planar scans: lines in the order of their shots, in both directions, on the ramps of a gradient, and what
 * makes ghosts. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "phantoms/scan/simulation.h"

enum {
    MAX_NAVIGATORS = 64,   /* of a shot */
    MAX_RAMP_US = 1000000, /* of one part of a gradient, and of a delay */
};

/* Of the samples of a line at the flat top, per sample of the matrix: less of them would be further apart than
 * 1/FOV there. */
static const double samples_of_ramps = 1.5;

/* ---- the gradient ---- */

/* Area of the gradient until a time in us, where its flat top is 1. */
static double area(const larmor_ramp *r, double us)
{
    const double up = fmin(fmax(us, 0), r->up_us), flat = fmin(fmax(us - r->up_us, 0), r->flat_us);
    const double down = fmin(fmax(us - r->up_us - r->flat_us, 0), r->down_us);
    double sum = flat;
    if (r->up_us > 0) sum += up * up / (2 * r->up_us);
    if (r->down_us > 0) sum += down - down * down / (2 * r->down_us);
    return sum;
}

static double whole_us(const larmor_ramp *r)
{
    return r->up_us + r->flat_us + r->down_us;
}

/* When half of the gradient's area is over, by bisection. */
static double middle_us(const larmor_ramp *r)
{
    double low = 0, high = whole_us(r);
    for (int i = 0; i < 60; i++) {
        const double us = (low + high) / 2;
        if (area(r, us) < area(r, high + whole_us(r)) / 2)
            low = us;
        else
            high = us;
    }
    return low;
}

/* Coordinates of the samples of a forward line: k = 0 where half of the area is over, and their whole time covers
 * n/FOV. */
static void fill_ramp(const larmor_ramp *r, int64_t n, int64_t samples, double *k)
{
    const double start = area(r, r->delay_us), end = area(r, r->delay_us + r->dwell_us * (double)samples);
    const double scale = (double)n / (end - start), half = area(r, 2 * whole_us(r)) / 2;
    for (int64_t i = 0; i < samples; i++)
        k[i] = scale * (area(r, r->delay_us + r->dwell_us * ((double)i + .5)) - half);
}

/* ---- options ---- */

int lmr_epi_has_ramps(const larmor_simulation *s)
{
    return s->is_epi && s->epi.ramp.flat_us > 0;
}

static larmor_status check(const larmor_simulation *s)
{
    const larmor_simulation_epi *e = &s->epi;
    const larmor_ramp *r = &e->ramp;
    const double times[] = {r->up_us, r->flat_us, r->down_us};
    LMR_REFUSE(!s->info.is_cartesian || s->info.ndim != 2, LARMOR_ERR_ARG,
               "simulation: got echo-planar lines along the trajectory %s in %dD, expected cartesian in 2D",
               s->info.trajectory, s->info.ndim);
    LMR_REFUSE(e->shots < 1 || e->shots > s->info.readouts, LARMOR_ERR_ARG,
               "simulation: got %lld shots, expected 1 to %lld, the number of lines", (long long)e->shots,
               (long long)s->info.readouts);
    LMR_REFUSE(e->navigators > MAX_NAVIGATORS, LARMOR_ERR_ARG,
               "simulation: got %lld navigators of a shot, expected at most %d", (long long)e->navigators,
               MAX_NAVIGATORS);
    LMR_REFUSE(!isfinite(e->ghost.phase) || !isfinite(e->phase_step) ||
                   !(fabs(e->ghost.shift) <= (double)s->info.matrix[0] / 2),
               LARMOR_ERR_ARG,
               "simulation: got a phase of %g rad, %g more from shot to shot, and a shift of %g/FOV between "
               "the directions, expected finite ones, and a shift of at most half of k-space",
               e->ghost.phase, e->phase_step, e->ghost.shift);
    for (int i = 0; i < 3; i++)
        LMR_REFUSE(!(times[i] >= 0 && times[i] <= MAX_RAMP_US), LARMOR_ERR_ARG,
                   "simulation: got a gradient of %g + %g + %g us, expected 0 to %d each", times[0], times[1],
                   times[2], MAX_RAMP_US);
    LMR_REFUSE((r->up_us > 0 || r->down_us > 0) && !(r->flat_us > 0), LARMOR_ERR_ARG,
               "simulation: got a gradient without a flat top, expected one above 0 us");
    LMR_REFUSE(s->o.field || s->o.separate_calibration, LARMOR_ERR_ARG,
               "simulation: got off-resonance or separate calibration of echo-planar lines, "
               "which are not simulated");
    return LARMOR_OK;
}

/* Delay and samples that are not given: the samples' time is in the middle of the gradient. */
static larmor_status complete_ramp(larmor_simulation *s)
{
    larmor_ramp *r = &s->epi.ramp;
    if (!lmr_epi_has_ramps(s)) return LARMOR_OK;
    r->dwell_us = s->o.dwell_us;
    r->samples = s->info.samples;
    const double read = r->dwell_us * (double)r->samples;
    if (r->delay_us <= 0) r->delay_us = middle_us(r) - read / 2;
    if (r->delay_us >= -1e-9 * read && r->delay_us + read <= whole_us(r) * (1 + 1e-9)) {
        r->delay_us = fmax(0, r->delay_us);
        return LARMOR_OK;
    }
    return LMR_FAIL(
        LARMOR_ERR_ARG,
        "simulation: got %lld samples of %g us from %.4g us on, which do not fit into a gradient of %g us",
        (long long)r->samples, r->dwell_us, r->delay_us, whole_us(r));
}

int64_t lmr_epi_samples(const larmor_simulation_opts *o)
{
    if (!o->epi || !(o->epi->ramp.flat_us > 0) || o->traj.samples) return o->traj.samples;
    return (int64_t)ceil(samples_of_ramps * (double)o->traj.matrix[0]);
}

/* ---- lines ---- */

/* Coordinate x of a line, in the order of time: backward lines have those of forward ones from the other end.
 * Evenly spaced ones stay on the grid; the gradient's area gives the negative ones. */
static void fill_line(const larmor_simulation *s, const double *forward, double ky, int backward, double *line)
{
    const int64_t n = s->info.samples;
    const int ramps = lmr_epi_has_ramps(s);
    for (int64_t i = 0; i < n; i++) {
        double x = forward[i];
        if (backward) x = ramps ? -forward[i] : forward[n - 1 - i];
        line[2 * i] = x;
        line[2 * i + 1] = ky;
    }
}

static larmor_status fill_forward(const larmor_simulation *s, const double *k, double **forward)
{
    LMR_ALLOCATE(*forward, s->info.samples);
    for (int64_t i = 0; i < s->info.samples; i++) (*forward)[i] = k[2 * i];
    if (lmr_epi_has_ramps(s)) fill_ramp(&s->epi.ramp, s->info.matrix[0], s->info.samples, *forward);
    return LARMOR_OK;
}

larmor_status lmr_epi_arrange(larmor_simulation *s)
{
    const int64_t n = s->info.samples, lines = s->info.readouts;
    LMR_HEAP double *k = NULL, *arranged = lmr_new(2 * n * lines, sizeof *arranged), *forward = NULL;
    larmor_array *traj = NULL;
    LMR_TRY(check(s));
    LMR_TRY(complete_ramp(s));
    s->shot = lmr_new(lines, sizeof *s->shot);
    s->backward = lmr_new(lines, sizeof *s->backward);
    if (!arranged || !s->shot || !s->backward) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(s->traj, LARMOR_F64, &k));
    LMR_TRY(fill_forward(s, k, &forward));
    for (int64_t shot = 0, at = 0; shot < s->epi.shots; shot++)
        for (int64_t j = shot, i = 0; j < lines; j += s->epi.shots, i++, at++) {
            s->shot[at] = shot;
            s->backward[at] = i % 2 == 1;
            fill_line(s, forward, k[2 * n * j + 1], i % 2 == 1, arranged + 2 * n * at);
        }
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(2, n, lines), LARMOR_F64, arranged, &traj));
    larmor_array_free(s->traj);
    s->traj = traj;
    return LARMOR_OK;
}

larmor_status lmr_epi_navigator_lines(const larmor_simulation *s, larmor_array **traj)
{
    const int64_t n = s->info.samples, count = s->epi.navigators;
    LMR_HEAP double *k = NULL, *forward = NULL;
    *traj = NULL;
    LMR_HEAP LMR_NEW(double, lines, 2 * n * count);
    LMR_TRY(larmor_array_download(s->traj, LARMOR_F64, &k)); /* the first line is a forward one */
    LMR_TRY(fill_forward(s, k, &forward));
    for (int64_t i = 0; i < count; i++) fill_line(s, forward, 0, i % 2 == 1, lines + 2 * n * i);
    return larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(2, n, count), LARMOR_F64, lines, traj);
}

/* ---- ghosts ---- */

larmor_status lmr_epi_shift(const larmor_simulation *s, const unsigned char *backward, const larmor_array *traj,
                            larmor_array **shifted)
{
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t j = 0; j < shape.dim[2]; j++)
        for (int64_t i = 0; i < shape.dim[1]; i++)
            k[2 * (i + shape.dim[1] * j)] += (backward[j] ? -.5 : .5) * s->epi.ghost.shift;
    return larmor_array_upload(s->dev, LARMOR_F64, shape, LARMOR_F64, k, shifted);
}

larmor_status lmr_epi_turn(const larmor_simulation *s, int64_t image, const int64_t *shot,
                           const unsigned char *backward, larmor_array *kspace)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t n = shape.dim[0], lines = shape.dim[1];
    LMR_OWN_MEMORY(float complex, y, larmor_array_download(kspace, LARMOR_C64, &y));
    for (int64_t l = 0; l < lines * shape.dim[2]; l++) {
        const int64_t j = l % lines;
        const double phase = s->epi.ghost.phase + s->epi.phase_step * (double)(image * s->epi.shots + shot[j]);
        const double angle = (backward[j] ? -.5 : .5) * phase;
        for (int64_t i = 0; i < n; i++) y[l * n + i] *= CMPLXF((float)cos(angle), (float)sin(angle));
    }
    return larmor_array_write(kspace, y, larmor_array_bytes(kspace));
}
