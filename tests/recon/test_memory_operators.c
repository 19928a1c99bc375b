/* What operators say of their bytes, against what is really allocated. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "core/ranks/ranks.h"
#include "tests/recon/allocated.h"
#include "tests/recon/memory_scan.h"

/* Of an operator that is made after begin: an image, or the images of its sets, before and after the normal map. */
typedef struct images {
    larmor_array *x, *z;
} images;

static images begin_with(larmor_dtype dtype, larmor_shape shape)
{
    const images i = {.x = zeros(dtype, shape), .z = zeros(dtype, shape)};
    begin();
    return i;
}

static void apply(larmor_op *A, const scan *s, const images *i)
{
    assert_ok(larmor_op_adjoint(A, s->kspace, i->x));
    assert_ok(larmor_op_normal(A, i->x, i->z));
}

static void free_applied(larmor_op *A, images *i)
{
    LMR_FREE(A, i->x, i->z);
}

/* A map of `side` x `side` up to about 205 Hz and readouts of 400 samples in 20 ms; by_term: the same field as a term
 * of a model, whose products are of places and times. */
static larmor_segments *segments_of(int side, int by_term)
{
    const int voxels = side * side;
    HEAP NEW(double, map, voxels);
    double t[400];
    larmor_segments *segments;
    for (int i = 0; i < voxels; i++) map[i] = (by_term ? 2 * M_PI : 1) * 204.8 * i / voxels;
    for (int i = 0; i < 400; i++) t[i] = 5e-5 * i;
    OWNED(larmor_array) *field = real_array(LARMOR_SHAPE(side, side), map), *times = real_array(LARMOR_SHAPE(400), t);
    if (by_term)
        assert_ok(larmor_segments_of_terms(&(larmor_model_term){field, times, 0}, 1, NULL, &segments));
    else
        assert_ok(larmor_segments_create(field, times, NULL, &segments));
    return segments;
}

/* Of SENSE by these maps of images of this shape; result and factor: as expect_estimate has them. */
static void expect_of_sense(const char *what, const scan *s, larmor_array *maps, larmor_shape image,
                            const larmor_sense_opts *opts, int64_t result, double factor)
{
    int64_t estimate;
    assert_ok(larmor_sense_memory(dev, &s->problem, opts, &estimate));
    images held = begin_with(s->problem.dtype, image);
    larmor_op *A = MADE(larmor_op, larmor_op_sense(maps, opts, &made));
    apply(A, s, &held);
    expect_estimate(what, estimate, result, factor);
    free_applied(A, &held);
}

enum { RANK = 3 };

/* The same of coefficients of a basis. */
static void expect_of_coefficients(const char *what, const scan *s, int is_complex, const larmor_sense_opts *opts,
                                   int64_t result)
{
    const larmor_shape in = larmor_shape_append(s->problem.image, RANK), k = larmor_array_shape(s->kspace);
    const larmor_dtype real = s->problem.dtype == LARMOR_C128 ? LARMOR_F64 : LARMOR_F32;
    OWNED(larmor_array) *factors =
        zeros(is_complex ? s->problem.dtype : real, LARMOR_SHAPE(k.dim[0], k.dim[1], RANK));
    int64_t estimate;
    assert_ok(larmor_fill(factors, 1));
    assert_ok(larmor_subspace_sense_memory(dev, &s->problem, opts, RANK, is_complex, &estimate));
    images held = begin_with(s->problem.dtype, in);
    larmor_op *A = MADE(larmor_op, larmor_op_subspace_sense(s->maps, factors, opts, &made));
    apply(A, s, &held);
    expect_estimate(what, estimate, result, 2.5);
    free_applied(A, &held);
}

TEST(the_operator_takes_no_more_than_estimated_with_any_block)
{
    only_for_processors();
    for (int c = 0; c < CASES * 12; c += of_all(5, 1)) {
        OWNED(scan) s = scan_case(c / 12);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = c % 2 ? s.weights : NULL,
                                        .block = c / 2 % 2 ? (s.problem.coils + 2) / 3 : 0,
                                        .toeplitz = c / 4 % 3 - 1};
        larmor_op *A;
        int64_t estimate, blind;
        s.problem.weighted = c % 2;
        assert_ok(larmor_sense_memory(dev, &s.problem, &opts, &estimate));
        larmor_sense_opts without = opts; /* before the trajectory is there the estimate is that of the volume */
        without.traj = NULL;
        assert_ok(larmor_sense_memory(dev, &s.problem, &without, &blind));
        images held = begin_with(s.problem.dtype, s.problem.image);
        assert_ok(larmor_op_sense(s.maps, &opts, &A));
        apply(A, &s, &held);
        expect_estimate(cases[c / 12].name, estimate, 0, 2.5);
        expect_estimate(cases[c / 12].name, blind, 0, cases[c / 12].is_stack ? 10 : 2.5);
        free_applied(A, &held);
    }
}

TEST(frames_in_turn_take_no_more_than_estimated_and_less_than_two_by_themselves)
{
    enum { MANY = 5 };
    only_for_processors();
    for (int c = 0; c < 4; c++) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(20, 18, 16), 32, 40, 4, LARMOR_C64, 0);
        larmor_sense_opts opts[MANY];
        int64_t alone, estimate;
        for (int i = 0; i < MANY; i++)
            opts[i] = (larmor_sense_opts){
                .traj = s.traj, .weights = c % 2 ? s.weights : NULL, .block = c / 2 ? 2 : 0, .toeplitz = -1};
        s.problem.weighted = c % 2;
        assert_ok(larmor_sense_memory(dev, &s.problem, opts, &alone));
        assert_ok(larmor_sense_turns_memory(dev, &s.problem, opts, MANY * s.problem.samples, &estimate));
        OWNED(larmor_array) *x = zeros(LARMOR_C64, larmor_shape_append(s.problem.image, MANY)),
                            *z = zeros(LARMOR_C64, larmor_shape_append(s.problem.image, MANY));
        begin();
        OWN(larmor_op, *A, larmor_op_sense_turns(s.maps, opts, MANY, &A));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate("frames in turn", estimate, 0, 3.5);
        assert_true(estimate < 2 * alone);
    }
}

TEST(several_sets_of_maps_are_in_the_estimate)
{
    only_for_processors();
    for (int c = 0; c < CASES * 4; c += of_all(3, 1)) {
        OWNED(scan) s = scan_case(c / 4);
        const larmor_sense_opts opts = {
            .traj = s.traj, .block = c % 2 ? (s.problem.coils + 2) / 3 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        const larmor_shape image = larmor_shape_append(s.problem.image, 2);
        OWNED(larmor_array) *maps = zeros(s.problem.dtype, larmor_shape_append(larmor_array_shape(s.maps), 2));
        s.problem.sets = 2;
        expect_of_sense(cases[c / 4].name, &s, maps, image, &opts, 0, 2.5);
    }
}

TEST(coefficients_take_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES * 8; c += of_all(3, 1)) {
        OWNED(scan) s = scan_case(c / 8);
        const larmor_sense_opts opts = {
            .traj = s.traj, .block = c & 2 ? (s.problem.coils + 2) / 3 : 0, .toeplitz = c & 4 ? 1 : -1};
        expect_of_coefficients(cases[c / 8].name, &s, c & 1, &opts, 0);
    }
}

TEST(coefficients_with_off_resonance_take_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < 8; c += of_all(3, 1)) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(32, 32), 400, 16, 5, c / 4 ? LARMOR_C128 : LARMOR_C64, 0);
        OWNED(larmor_segments) *segments = segments_of(32, 0);
        const larmor_sense_opts opts = {
            .traj = s.traj, .off_resonance = segments, .block = c % 2 ? 2 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        expect_of_coefficients("coefficients with off-resonance", &s, 1, &opts, SMALL);
    }
}

TEST(fewer_coils_at_a_time_need_less)
{
    const larmor_problem p = {.image = LARMOR_SHAPE(128, 128), .samples = 100000, .coils = 16, .dtype = LARMOR_C64};
    int64_t previous = INT64_MAX;
    for (int64_t block = 16; block >= 1; block /= 2) {
        int64_t bytes, most;
        assert_ok(larmor_sense_memory(dev, &p, &(larmor_sense_opts){.block = block, .toeplitz = -1}, &bytes));
        assert_true(bytes < previous);
        previous = bytes;
        /* which of the two it will be depends on what is free then */
        assert_ok(larmor_sense_memory(dev, &p, &(larmor_sense_opts){.block = block}, &most));
        assert_true(most >= bytes);
    }
}

TEST(off_resonance_in_sense_is_in_the_estimate)
{
    only_for_processors();
    for (int c = 0; c < 16; c += of_all(3, 1)) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(64, 64), 400, 16, 5, c / 4 % 2 ? LARMOR_C128 : LARMOR_C64, 0);
        OWNED(larmor_segments) *segments = segments_of(64, c / 8);
        const larmor_sense_opts opts = {
            .traj = s.traj, .off_resonance = segments, .block = c % 2 ? 2 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        expect_of_sense("off-resonance in SENSE", &s, s.maps, s.problem.image, &opts, SMALL, 2.5);
    }
}

TEST(displaced_voxels_in_sense_are_in_the_estimate)
{
    only_for_processors();
    for (int c = 0; c < 4; c++) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(64, 64), 400, 16, 5, c / 2 ? LARMOR_C128 : LARMOR_C64, 0);
        HEAP NEW_ZEROS(double, d, 2 * 64 * 64);
        for (int i = 0; i < 2 * 64 * 64; i++) d[i] = 3 * sin(.01 * i);
        OWNED(larmor_array) *moved = real_array(LARMOR_SHAPE(64, 64, 2), d);
        const larmor_sense_opts opts = {.traj = s.traj, .displacement = moved, .block = c % 2 ? 2 : 0};
        expect_of_sense("displaced voxels in SENSE", &s, s.maps, s.problem.image, &opts, SMALL, 4);
    }
}

TEST(a_stack_of_planes_takes_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        if (!cases[c].is_stack) continue;
        for (int batch = 0; batch < 3; batch += 2) {
            OWNED(scan) s = scan_case(c);
            const int64_t *n = s.problem.image.dim;
            const larmor_nufft_opts opts = {.ndim = 3, .modes = {n[0], n[1], n[2]}, .batch = batch, .tol = 1e-4};
            int64_t estimate;
            assert_ok(larmor_stack_of_stars_memory(dev, &opts, s.traj, &estimate));
            begin();
            OWN(larmor_op, *A, larmor_op_stack_of_stars(dev, &opts, s.traj, &A));
            OWNED(larmor_array) *x = zeros(LARMOR_C64, larmor_op_in_shape(A)),
                                *y = zeros(LARMOR_C64, larmor_op_out_shape(A));
            const int64_t vectors = (int64_t)(larmor_array_bytes(x) + larmor_array_bytes(y));
            assert_ok(larmor_op_adjoint(A, y, x));
            assert_ok(larmor_op_forward(A, x, y));
            expect_estimate(cases[c].name, estimate + vectors, 0, 2.5);
        }
    }
}

/* ---- slabs ---- */

enum { MOST_RANKS = 5, PLANES = 26 };

/* A thread that is a rank, with its samples and its maps' planes, on a device of its own. */
typedef struct member {
    larmor_ranks *ranks;
    larmor_device *dev;
    larmor_sense_opts opts;
    larmor_array *traj, *weights, *maps, *x, *z;
    larmor_op *A;
    larmor_circulant *C;
    larmor_status status;
} member;

static larmor_array *ones_on(larmor_device *on, larmor_dtype dtype, larmor_shape shape)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(on, dtype, shape, &made));
    assert_ok(larmor_fill(x, 1));
    return x;
}

static void open_member(member *m, const scan *s, int toeplitz)
{
    int64_t first, count;
    const larmor_shape points = larmor_array_shape(s->traj);
    HEAP double *k = (double *)host_of(s->traj);
    assert_ok(larmor_ranks_part(m->ranks, PLANES, &first, &count));
    assert_ok(larmor_device_open("cpu:1", &m->dev));
    const larmor_shape slab = LARMOR_SHAPE(s->problem.image.dim[0], s->problem.image.dim[1], count);
    assert_ok(larmor_array_upload(m->dev, LARMOR_F64, points, LARMOR_F64, k, &m->traj));
    m->weights = ones_on(m->dev, LARMOR_F64, LARMOR_SHAPE(points.dim[1], points.dim[2]));
    m->maps = ones_on(m->dev, s->problem.dtype, larmor_shape_append(slab, s->problem.coils));
    m->x = ones_on(m->dev, s->problem.dtype, slab);
    m->z = ones_on(m->dev, s->problem.dtype, slab);
    m->opts = (larmor_sense_opts){
        .traj = m->traj, .weights = s->problem.weighted ? m->weights : NULL, .toeplitz = toeplitz};
}

static void end_member(member *m)
{
    LMR_FREE(m->traj, m->weights, m->maps, m->x, m->z, m->A, m->dev);
    larmor_circulant_free(m->C);
    larmor_ranks_free(m->ranks);
}

static void *make_sense(void *user)
{
    member *m = user;
    m->status = larmor_op_sense_slabs(m->ranks, m->maps, PLANES, &m->opts, &m->A);
    return NULL;
}

static void *apply_normal(void *user)
{
    member *m = user;
    m->status = larmor_op_normal(m->A, m->x, m->z);
    return NULL;
}

static void *make_circulant(void *user)
{
    member *m = user;
    m->status = larmor_circulant_slabs(m->ranks, m->maps, PLANES, m->traj, &m->C);
    return NULL;
}

static void all_do(int count, void *(*what)(void *user), member *m)
{
    pthread_t thread[MOST_RANKS];
    for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&thread[i], NULL, what, &m[i]), 0);
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < count; i++) assert_ok(m[i].status);
}

/* The stage of each rank is the host's memory. Ranks need not have their peaks at the same time. */
static void expect_of_slabs(int count, const scan *s, int toeplitz)
{
    member m[MOST_RANKS] = {0};
    larmor_ranks *ranks[MOST_RANKS];
    int64_t most, held, of_circulant;
    const int64_t stages = count * INT64_C(2) * LMR_STAGE;
    assert_ok(lmr_ranks_of_threads(count, ranks));
    for (int i = 0; i < count; i++) m[i].ranks = ranks[i];
    for (int i = 0; i < count; i++) open_member(&m[i], s, toeplitz);
    assert_ok(larmor_sense_slabs_memory(m->dev, count, &s->problem, &m->opts, &most, &held));
    assert_ok(larmor_circulant_slabs_memory(m->dev, count, &s->problem, &of_circulant));
    begin();
    all_do(count, make_sense, m);
    all_do(count, apply_normal, m);
    expect_estimate("slabs", count * most, stages, 3 * count);
    const int64_t now = held_since_begin() - stages;
    assert_true(now <= count * (held + SMALL));
    assert_at_most((double)(count * held), 1.05 * (double)now);
    begin();
    all_do(count, make_circulant, m);
    expect_estimate("their circulant", count * of_circulant, 0, 3 * count);
    for (int i = 0; i < count; i++) end_member(&m[i]);
}

TEST(slabs_of_several_ranks_take_and_keep_no_more_than_estimated)
{
    only_for_processors();
    for (int c = 0; c < 8; c += of_all(3, 1)) {
        OWNED(scan) s = scan_of(LARMOR_SHAPE(24, 20, PLANES), 32, 200, 2, c % 2 ? LARMOR_C128 : LARMOR_C64, 0);
        s.problem.weighted = c / 2 % 2;
        for (int count = 1; count <= MOST_RANKS; count += of_all(2, 1)) expect_of_slabs(count, &s, c / 4 ? -1 : 0);
    }
}
