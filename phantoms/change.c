/* Phantoms that are larger, that move and that take up contrast agent: all of it stays a sum of ellipsoids and
 * Gaussians. SPDX-License-Identifier: Apache-2.0 */
#include "phantoms/phantom.h"

#include "core/core.h"

static void move(const larmor_phantom_state *s, int ndim, double size, double centre[3])
{
    const double c = cos(s->degrees * M_PI / 180), d = sin(s->degrees * M_PI / 180);
    const double x = centre[0] * size, y = centre[1] * size;
    centre[0] = c * x - d * y + s->shift[0];
    centre[1] = d * x + c * y + s->shift[1];
    if (ndim == 3) centre[2] = centre[2] * size + s->shift[2];
}

static void rotate(const larmor_phantom_state *s, lmr_ellipsoid *e)
{
    const double c = cos(s->degrees * M_PI / 180), d = sin(s->degrees * M_PI / 180);
    const double cosine = e->cosine, sine = e->sine;
    e->cosine = c * cosine - d * sine;
    e->sine = d * cosine + c * sine;
}

static larmor_status check(const larmor_phantom_state *s, double size)
{
    LMR_REFUSE(!(size > 0 && size <= 10), LARMOR_ERR_ARG,
               "phantom: got a size of %g, expected more than 0, at most 10", size);
    const double values[] = {s->degrees, s->shift[0], s->shift[1], s->shift[2], s->contrast};
    for (int i = 0; i < 5; i++)
        LMR_REFUSE(!isfinite(values[i]) || fabs(values[i]) > 1e6, LARMOR_ERR_ARG,
                   "phantom: got %g degrees, shift %g, %g, %g, contrast %g, expected numbers", s->degrees,
                   s->shift[0], s->shift[1], s->shift[2], s->contrast);
    LMR_REFUSE(!(s->pulse > -1 && s->pulse <= 10), LARMOR_ERR_ARG,
               "phantom: got a pulse of %g, expected more than -1, at most 10", s->pulse);
    return LARMOR_OK;
}

larmor_status larmor_phantom_change(const larmor_phantom *phantom, const larmor_phantom_state *state,
                                    larmor_phantom **changed)
{
    LMR_NEED_OUT(changed, phantom, state);
    const double size = state->size != 0 ? state->size : 1;
    LMR_TRY(check(state, size));
    LMR_NEW(larmor_phantom, p, 1);
    *p = *phantom;
    p->reach *= fmax(1, size);
    p->part[p->enhancing].density += state->contrast;
    for (int d = 0; d < p->ndim; d++) p->part[p->enhancing].half_axis[d] *= 1 + state->pulse;
    for (int i = 0; i < p->parts; i++) {
        for (int d = 0; d < p->ndim; d++) p->part[i].half_axis[d] *= size;
        move(state, p->ndim, size, p->part[i].centre);
        rotate(state, &p->part[i]);
    }
    for (int i = 0; i < p->blobs; i++) {
        p->blob[i].sigma *= size;
        move(state, p->ndim, size, p->blob[i].centre);
    }
    *changed = p;
    return LARMOR_OK;
}

/* The ellipse or circle that a plane cuts out of a part; density 0 where it misses it. */
static lmr_ellipsoid cut_part(const lmr_ellipsoid *e, double z)
{
    lmr_ellipsoid flat = *e;
    const double far = (z - e->centre[2]) / e->half_axis[2], rest = 1 - far * far;
    const double size = rest > 0 ? sqrt(rest) : 1;
    if (!(rest > 0)) flat.density = 0;
    flat.half_axis[0] *= size;
    flat.half_axis[1] *= size;
    flat.half_axis[2] = flat.centre[2] = 0;
    return flat;
}

larmor_status larmor_phantom_plane(const larmor_phantom *phantom, double z, larmor_phantom **plane)
{
    LMR_NEED_OUT(plane, phantom);
    LMR_REFUSE(phantom->ndim != 3 || !(fabs(z) <= 1e6), LARMOR_ERR_ARG,
               "phantom plane: got a phantom in %dD and z %g, expected 3D and a number", phantom->ndim, z);
    LMR_NEW(larmor_phantom, p, 1);
    *p = *phantom;
    p->ndim = 2;
    p->is_plane = 1;
    p->plane = z;
    for (int i = 0; i < p->parts; i++) p->part[i] = cut_part(&phantom->part[i], z);
    for (int i = 0; i < p->blobs; i++) {
        lmr_blob *b = &p->blob[i];
        const double far = (z - b->centre[2]) / b->sigma;
        b->density *= exp(-far * far / 2);
        b->centre[2] = 0;
    }
    *plane = p;
    return LARMOR_OK;
}

void larmor_phantom_at(const larmor_phantom_course *course, double time, larmor_phantom_state *state)
{
    if (!course || !state) return;
    const double breath = pow(sin(M_PI * course->breaths * time), 4), x = fmax(0, (time - 0.1) / 0.3);
    for (int d = 0; d < 3; d++) state->shift[d] += course->drift[d] * time + course->breathing[d] * breath;
    state->degrees += course->degrees * time;
    state->contrast += course->contrast * pow(x * exp(1 - x), 2);
}

double larmor_phantom_cycles(const larmor_phantom_cycle *cycle, double seconds)
{
    static const double wave[] = {0.05, 0.11, 0.17}; /* per cycle */
    if (!cycle) return 0;
    const double even = cycle->rate / 60 * seconds, each = cycle->variation * sqrt(2.0 / 3);
    double cycles = even;
    for (int i = 0; i < 3; i++) {
        const double angle = 2 * M_PI * lmr_random_uniform(cycle->seed, (uint64_t)i), turn = 2 * M_PI * wave[i];
        cycles += each * (sin(turn * even + angle) - sin(angle)) / turn;
    }
    return cycles;
}

void larmor_phantom_beat(const larmor_phantom_cycle *breath, const larmor_phantom_cycle *heart, double seconds,
                         larmor_phantom_state *state)
{
    if (!state) return;
    if (breath) state->shift[1] += breath->size * pow(sin(M_PI * larmor_phantom_cycles(breath, seconds)), 4);
    if (heart) state->pulse -= heart->size * pow(sin(M_PI * larmor_phantom_cycles(heart, seconds)), 2);
}

double lmr_phantom_extent(const larmor_phantom *phantom)
{
    const int ndim = phantom->ndim;
    double extent = 0;
    for (int i = 0; i < phantom->parts; i++) {
        const lmr_ellipsoid *e = &phantom->part[i];
        const double *a = e->half_axis;
        const double half[3] = {hypot(a[0] * e->cosine, a[1] * e->sine), hypot(a[0] * e->sine, a[1] * e->cosine),
                                a[2]};
        for (int d = 0; d < ndim; d++) extent = fmax(extent, fabs(e->centre[d]) + half[d]);
    }
    for (int i = 0; i < phantom->blobs; i++) /* of a Gaussian 3 sigma count, where 1 % is left */
        for (int d = 0; d < ndim; d++)
            extent = fmax(extent, fabs(phantom->blob[i].centre[d]) + 3 * phantom->blob[i].sigma);
    return extent;
}
