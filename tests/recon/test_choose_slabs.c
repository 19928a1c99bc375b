/* recon/slabs/circulant_slabs.c, samples held out and the choice of the weight where each rank has a slab, by
 * mpirun: against the whole on one. SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/device.h"
#include "core/random.h"
#include "core/ranks/ranks.h"
#include "tests/support/ranks.h"

enum { NX = 12, NY = 13, NZ = 14, COILS = 5, SAMPLES = 24, MOST = 130 };

/* The whole on a device of its own, and this rank's part on dev. */
typedef struct scene {
    larmor_device *alone;
    int64_t readouts, first, planes, readout, own;     /* of this rank */
    larmor_array *traj[2], *maps[2], *b[2], *noise[2]; /* 0: whole */
    larmor_circulant *C[2];
    larmor_op *A[2];
} scene;

/* first .. first + count - 1 of dimension d of x, on dev. */
static larmor_array *part_of(const larmor_array *x, int d, int64_t first, int64_t count)
{
    larmor_shape shape = larmor_array_shape(x);
    const int64_t all = shape.dim[d];
    int64_t before = 1, after = 1;
    HEAP double *values, *part;
    const larmor_dtype from = larmor_array_dtype(x) == LARMOR_F64 ? LARMOR_F64 : LARMOR_C128;
    for (int e = 0; e < shape.ndim; e++) *(e < d ? &before : &after) *= e == d ? 1 : shape.dim[e];
    before *= from == LARMOR_F64 ? 1 : 2;
    shape.dim[d] = count;
    assert_ok(larmor_array_download(x, from, &values));
    part = malloc((size_t)(before * count * after + 1) * sizeof *part);
    assert_non_null(part);
    for (int64_t i = 0; i < after; i++)
        memcpy(part + i * before * count, values + before * (i * all + first),
               (size_t)(before * count) * sizeof *part);
    return MADE(larmor_array, larmor_array_upload(dev, larmor_array_dtype(x), shape, from, part, &made));
}

/* Smooth maps of an object that fills most of the volume, and no coil sees its corner. */
static larmor_array *make_maps(larmor_device *on)
{
    static double maps[2 * NX * NY * NZ * COILS];
    int64_t i = 0;
    for (int c = 0; c < COILS; c++)
        for (int z = 0; z < NZ; z++)
            for (int y = 0; y < NY; y++)
                for (int x = 0; x < NX; x++, i++) {
                    const double at =
                        cos(2 * M_PI * c / COILS) * (x - NX / 2) / NX + sin(2 * M_PI * c / COILS) * (y - NY / 2) / NY;
                    const double size = x + y + z < 6 ? 0 : exp(at + 0.4 * c * (z - NZ / 2) / NZ / COILS);
                    maps[2 * i] = size * cos(3 * at);
                    maps[2 * i + 1] = size * sin(3 * at);
                }
    return MADE(larmor_array,
                larmor_array_upload(on, LARMOR_C128, LARMOR_SHAPE(NX, NY, NZ, COILS), LARMOR_C128, maps, &made));
}

/* Spokes through the centre, as many random directions. */
static larmor_array *make_traj(larmor_device *on, int64_t readouts)
{
    static double k[3 * SAMPLES * MOST];
    const double n[3] = {NX, NY, NZ};
    uint64_t seed = 7;
    for (int64_t r = 0; r < readouts; r++) {
        double e[3], size = 0;
        for (int d = 0; d < 3; d++) e[d] = test_random(&seed);
        for (int d = 0; d < 3; d++) size += e[d] * e[d];
        for (int s = 0; s < SAMPLES; s++)
            for (int d = 0; d < 3; d++)
                k[3 * (r * SAMPLES + s) + d] = e[d] / sqrt(size) * n[d] * (s - SAMPLES / 2 + 0.3) / SAMPLES;
    }
    return MADE(larmor_array,
                larmor_array_upload(on, LARMOR_F64, LARMOR_SHAPE(3, SAMPLES, readouts), LARMOR_F64, k, &made));
}

static larmor_array *random_array(larmor_device *on, larmor_shape shape, uint64_t seed, double size)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(on, LARMOR_C128, shape, &made));
    assert_ok(lmr_random_fill(x, seed));
    assert_ok(larmor_axpby(size, x, 0, x));
    return x;
}

static larmor_op *sense_of(const scene *s, int i, const larmor_array *weights)
{
    const larmor_sense_opts opts = {.traj = s->traj[i], .weights = weights, .nufft_tol = 1e-9, .toeplitz = 1};
    larmor_op *A;
    assert_ok(i ? larmor_op_sense_slabs(ranks, s->maps[1], NZ, &opts, &A) : larmor_op_sense(s->maps[0], &opts, &A));
    return A;
}

/* A few large voxels and noise. */
static void make_data(scene *s)
{
    const larmor_shape samples = LARMOR_SHAPE(SAMPLES, s->readouts, COILS);
    OWNED(larmor_array) *x = random_array(s->alone, LARMOR_SHAPE(NX, NY, NZ), 3, 0.05), *line, *some;
    assert_ok(larmor_array_reshape(x, LARMOR_SHAPE(NX * NY * NZ), &line));
    assert_ok(larmor_array_slice(line, NX * NY * NZ / 2 - 50, 120, &some));
    assert_ok(larmor_fill(some, 1));
    assert_ok(larmor_array_create(s->alone, LARMOR_C128, samples, &s->b[0]));
    assert_ok(larmor_op_forward(s->A[0], x, s->b[0]));
    s->noise[0] = random_array(s->alone, samples, 4, 2);
    assert_ok(larmor_axpby(1, s->noise[0], 1, s->b[0]));
    s->b[1] = part_of(s->b[0], 1, s->readout, s->own);
    s->noise[1] = part_of(s->noise[0], 1, s->readout, s->own);
}

static scene make_scene(int64_t readouts)
{
    scene s = {.readouts = readouts};
    assert_ok(larmor_device_open("cpu:1", &s.alone));
    assert_ok(larmor_ranks_part(ranks, NZ, &s.first, &s.planes));
    assert_ok(larmor_ranks_part(ranks, readouts, &s.readout, &s.own));
    s.maps[0] = make_maps(s.alone);
    s.traj[0] = make_traj(s.alone, readouts);
    s.maps[1] = part_of(s.maps[0], 2, s.first, s.planes);
    s.traj[1] = part_of(s.traj[0], 2, s.readout, s.own);
    for (int i = 0; i < 2; i++) s.A[i] = sense_of(&s, i, NULL);
    make_data(&s);
    assert_ok(larmor_circulant_create(s.maps[0], s.traj[0], NULL, LARMOR_SHAPE(NX, NY, NZ), LARMOR_C128, &s.C[0]));
    assert_ok(larmor_ranks_sum_over(dev, ranks));
    assert_ok(larmor_circulant_slabs(ranks, s.maps[1], NZ, s.traj[1], &s.C[1]));
    assert_ok(larmor_ranks_sum_over(dev, NULL));
    return s;
}

static void end_scene(scene *s)
{
    for (int i = 0; i < 2; i++) {
        LMR_FREE(s->traj[i], s->maps[i], s->b[i], s->noise[i]);
        larmor_circulant_free(s->C[i]);
        larmor_op_free(s->A[i]);
    }
    larmor_device_free(s->alone);
}

/* got is this rank's part of expected, to a tolerance relative to the whole. */
static void expect_part(const larmor_array *expected, int d, int64_t first, const larmor_array *got, double tol)
{
    double size, error;
    OWNED(larmor_array) *part = part_of(expected, d, first, larmor_array_shape(got).dim[d]);
    assert_ok(larmor_nrm2(expected, &size));
    assert_ok(larmor_axpby(-1, got, 1, part));
    assert_ok(larmor_nrm2(part, &error));
    assert_true(size > 0);
    assert_at_most(error, tol * size);
}

TEST(the_circulant_of_slabs_is_that_of_the_whole)
{
    OWNED(scene) s = make_scene(MOST);
    OWNED(larmor_array) *x = random_array(s.alone, LARMOR_SHAPE(NX, NY, NZ), 9, 1),
                        *own = part_of(x, 2, s.first, s.planes);
    for (double lambda = 0; lambda < 2000; lambda += 1000) {
        larmor_op *M[2];
        larmor_array *y[2];
        for (int i = 0; i < 2; i++) {
            assert_ok(larmor_circulant_inverse(s.C[i], lambda, NULL, 0, &M[i]));
            assert_ok(larmor_array_create(i ? dev : s.alone, LARMOR_C128, larmor_array_shape(i ? own : x), &y[i]));
            assert_ok(larmor_op_forward(M[i], i ? own : x, y[i]));
        }
        expect_part(y[0], 2, s.first, y[1], 2e-4); /* of lags that are found to 1e-4 */
        for (int i = 0; i < 2; i++) LMR_FREE(M[i], y[i]);
    }
    larmor_op *M;
    assert_refused(larmor_circulant_inverse(s.C[1], 1, NULL, 1, &M), LARMOR_ERR_UNSUPPORTED, "no penalty in slabs");
}

static void hold_out(const scene *s, int i, larmor_array **kept, larmor_array **factors)
{
    if (i) assert_ok(larmor_ranks_sum_over(dev, ranks));
    assert_ok(larmor_hold_out(s->traj[i], NULL, s->C[i], 3, kept, factors));
    if (i) assert_ok(larmor_ranks_sum_over(dev, NULL));
}

static void make_complex(larmor_array **x)
{
    larmor_array *y = MADE(larmor_array, larmor_array_convert(*x, LARMOR_C128, &made));
    larmor_array_free(*x);
    *x = y;
}

/* Whole readouts, and with fewer of them parts of readouts. */
TEST(the_same_samples_are_held_out)
{
    static const int64_t readouts[] = {MOST, 23};
    for (int r = 0; r < 2; r++) {
        OWNED(scene) s = make_scene(readouts[r]);
        larmor_array *kept[2], *factors[2];
        for (int i = 0; i < 2; i++) hold_out(&s, i, &kept[i], &factors[i]);
        for (int i = 0; i < 2; i++) make_complex(&kept[i]);
        for (int i = 0; i < 2; i++) make_complex(&factors[i]);
        expect_part(kept[0], 1, s.readout, kept[1], 0);
        expect_part(factors[0], 1, s.readout, factors[1], 1e-3);
        for (int i = 0; i < 2; i++) LMR_FREE(kept[i], factors[i]);
    }
}

static larmor_choice choose(const scene *s, int i)
{
    OWNED(larmor_array) *kept, *factors;
    larmor_choice choice;
    hold_out(s, i, &kept, &factors);
    OWNED(larmor_op) *K = sense_of(s, i, kept);
    const larmor_held_out held = {.A = K, .factors = factors, .noise = s->noise[i]};
    if (i) assert_ok(larmor_ranks_sum_over(dev, ranks));
    assert_ok(larmor_choose_weight(s->A[i], s->b[i], &held, s->C[i], NULL, NULL, &choice));
    if (i) assert_ok(larmor_ranks_sum_over(dev, NULL));
    return choice;
}

TEST(the_weight_that_slabs_choose_is_that_of_the_whole)
{
    OWNED(scene) s = make_scene(MOST);
    const larmor_choice whole = choose(&s, 0), slabs = choose(&s, 1), again = choose(&s, 1);
    assert_true(whole.weight > 0);
    assert_int_equal(slabs.tried, whole.tried);
    assert_at_most(fabs(slabs.weight - whole.weight), 1e-3 * whole.weight);
    assert_true(again.weight == slabs.weight);
    double first = slabs.weight;
    assert_ok(lmr_ranks_lead(ranks, &first));
    assert_true(first == slabs.weight); /* all ranks have the same */
}

/* Of the last rank alone, but all are told. */
TEST(what_one_rank_cannot_do_all_refuse_with_its_message)
{
    OWNED(scene) s = make_scene(MOST);
    const int n = larmor_ranks_count(ranks), i = larmor_ranks_number(ranks);
    char message[64];
    snprintf(message, sizeof message, "rank %d: circulant: slabs: maps are", n - 1);
    assert_none_made(larmor_circulant,
                     larmor_circulant_slabs(ranks, i == n - 1 ? s.b[1] : s.maps[1], NZ, s.traj[1], &made),
                     i ? LARMOR_STOPPED : LARMOR_ERR_SHAPE, message);
}

int main(void)
{
    if (open_ranks()) return 1;
    return close_ranks(run_claims(NULL, NULL));
}
