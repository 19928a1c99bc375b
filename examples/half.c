/* Half of k-space: a penalty by name with a constraint and a phase of one's own.
 * Usage: half. SPDX-License-Identifier: Apache-2.0
 *
 * The magnetisation x is real, and the field has turned it by a phase p(r) that is known, from a field map for
 * example:
 *   y = P F S D x,   D = diag(p),   P: 9/16 of the lines of k-space.
 * A real image has a k-space that its one half determines, which is of no use for D x. With D in the operator, and
 * x held real, it is (Noll, Nishimura and Macovski, IEEE Trans. Med. Imaging 10, 154 (1991), with homodyne
 * detection; as least squares: Bydder and Robson, Magn. Reson. Med. 53, 1393 (2005)). The penalty is the library's
 * total variation, taken apart: a real gradient is that of a real image. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 96, COILS = 4, ITERATIONS = 60 };

static const double echo_s = 5e-3;
static const larmor_phantom_field field = {.hz = 40, .gradient = {150, -260, 0}};

typedef struct scan {
    larmor_array *kspace, *truth;
    larmor_op *D, *A; /* A: without D */
} scan;

/* ---- exact k-space at the echo time: nothing here was computed by the operators ---- */

static larmor_status make_phase(larmor_device *dev, larmor_op **D)
{
    static double hz[N * N], phase[2 * N * N];
    larmor_array *map = NULL, *turned = NULL;
    larmor_status st = larmor_phantom_field_map(&field, dev, LARMOR_F64, LARMOR_SHAPE(N, N), &map);
    if (!st) st = larmor_array_read(map, hz, sizeof hz);
    for (int i = 0; i < N * N; i++) {
        const double angle = 2 * 3.14159265358979323846 * hz[i] * echo_s;
        phase[2 * i] = cos(angle);
        phase[2 * i + 1] = sin(angle);
    }
    if (!st) st = larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N), LARMOR_C128, phase, &turned);
    if (!st) st = larmor_op_diag(turned, D);
    larmor_array_free(turned);
    larmor_array_free(map);
    return st;
}

static larmor_status simulate(larmor_device *dev, scan *s)
{
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    const larmor_traj_opts lines = {.matrix = {N, N}, .partial_fourier = 9.0 / 16};
    larmor_phantom *phantom = NULL;
    larmor_array *traj = NULL, *maps = NULL, *times = NULL;
    larmor_status st = larmor_phantom_create("shepp-logan", 2, &phantom);
    if (!st) st = larmor_traj_create(dev, "cartesian", &lines, &traj);
    if (!st) st = larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(larmor_array_shape(traj).dim[1]), &times);
    if (!st) st = larmor_fill(times, echo_s);
    if (!st) st = larmor_phantom_kspace_off_resonance(phantom, traj, &field, times, COILS, LARMOR_C64, &s->kspace);
    /* k-space of a phantom is an integral, the operators are sums over N^2 voxels */
    if (!st) st = larmor_axpby((double)N * N, s->kspace, 0, s->kspace);
    if (!st) st = larmor_phantom_noise(s->kspace, 0.5, 1);
    if (!st) st = larmor_phantom_bandlimited(phantom, dev, LARMOR_C64, shape, &s->truth);
    if (!st) st = larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, COILS, &maps);
    if (!st) st = larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj}, &s->A);
    if (!st) st = make_phase(dev, &s->D);
    larmor_array_free(times);
    larmor_array_free(maps);
    larmor_array_free(traj);
    larmor_phantom_free(phantom);
    return st;
}

/* ---- weight g(Re v) where v is real ---- */

typedef struct real_part {
    larmor_prox *g;
    double weight;
} real_part;

static larmor_status apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const real_part *r = self;
    const larmor_status st = larmor_real(x, z);
    return st ? st : larmor_prox_apply(r->g, t * r->weight, z, z);
}

static larmor_status value(void *self, const larmor_array *x, double *g)
{
    const real_part *r = self;
    const larmor_status st = larmor_prox_value(r->g, x, g); /* real at last, as the solver's iterates become */
    *g *= r->weight;
    return st;
}

static larmor_status solve(const scan *s, larmor_op *A, larmor_array *x)
{
    static const larmor_prox_impl impl = {"real", apply, value, NULL};
    const larmor_solve_opts opts = {.max_iter = ITERATIONS, .tol = -1};
    larmor_device *dev = larmor_array_device(x);
    larmor_regulariser *tv = NULL;
    larmor_prox *g = NULL;
    larmor_penalty parts = {0};
    real_part self = {0};
    double unit = 0;
    larmor_status st = larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, larmor_op_in_shape(A), &tv);
    if (!st) st = larmor_lambda_unit(A, s->kspace, &unit);
    if (!st) parts = larmor_regulariser_penalty(tv);
    self.g = parts.g;
    self.weight = 1e-3 * unit;
    if (!st) st = larmor_prox_create(dev, &impl, &self, LARMOR_C64, larmor_prox_shape(parts.g), &g);
    if (!st) st = larmor_admm(A, s->kspace, parts.K, g, x, &opts, NULL);
    larmor_prox_free(g);
    larmor_regulariser_free(tv);
    return st;
}

/* |a x - truth| / |truth| with the complex factor a that makes it least: <x, truth> / <x, x>. */
static larmor_status compare(const char *name, const larmor_array *x, const larmor_array *truth)
{
    double product[2] = {0, 0}, size = 1, whole = 0, off = 0;
    const double minus_one[2] = {-1, 0};
    larmor_array *difference = NULL;
    larmor_status st = larmor_array_create(larmor_array_device(x), LARMOR_C64, larmor_array_shape(x), &difference);
    if (!st) st = larmor_copy(truth, difference);
    if (!st) st = larmor_dot(x, truth, product);
    if (!st) st = larmor_nrm2(x, &size);
    const double factor[2] = {product[0] / (size * size), product[1] / (size * size)};
    if (!st) st = larmor_axpby_complex(factor, x, minus_one, difference);
    if (!st) st = larmor_nrm2(difference, &off);
    if (!st) st = larmor_nrm2(truth, &whole);
    if (!st) printf("%s NRMSE %.4f\n", name, off / whole);
    larmor_array_free(difference);
    return st;
}

int main(void)
{
    larmor_device *dev = NULL;
    larmor_array *x = NULL, *turned = NULL;
    larmor_op *AD = NULL;
    scan s = {0};
    larmor_status st = larmor_device_open("auto", &dev);
    if (!st) st = simulate(dev, &s);
    if (!st) st = larmor_op_chain(s.A, s.D, &AD);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N), &x);
    if (!st) st = larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N), &turned);
    if (!st) st = larmor_cg(s.A, s.kspace, turned, NULL, NULL);
    if (!st) st = larmor_op_adjoint(s.D, turned, x);
    if (!st) st = compare("half of k-space, without the phase", x, s.truth);
    if (!st) st = larmor_zero(x);
    if (!st) st = solve(&s, AD, x);
    if (!st) st = compare("half of k-space, with the phase", x, s.truth);
    if (st) fprintf(stderr, "half: %s\n", larmor_last_error());
    larmor_array_free(x);
    larmor_array_free(turned);
    larmor_op_free(AD);
    larmor_op_free(s.A);
    larmor_op_free(s.D);
    larmor_array_free(s.kspace);
    larmor_array_free(s.truth);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
