/* What objects say of their bytes, against what is really allocated. Every allocation of larmor's own
 * in this program passes through the functions below (the linker's --wrap), so that the peak of a step is known.
 * SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdatomic.h>

#include "core/device.h"
#include "larmor/maps.h"
#include "larmor/nlinv.h"
#include "larmor/operators.h"
#include "larmor/solve.h"
#include "larmor/subspace.h"
#include "tests/recon/support.h"

/* ---- what is allocated ---- */

static atomic_llong held, peak;

static void *add(void *ptr)
{
    if (!ptr) return NULL;
    const long long now =
        atomic_fetch_add(&held, (long long)malloc_usable_size(ptr)) + (long long)malloc_usable_size(ptr);
    long long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) continue;
    return ptr;
}

static void subtract(void *ptr)
{
    if (ptr) atomic_fetch_sub(&held, (long long)malloc_usable_size(ptr));
}

/* Names that the linker gives. NOLINTBEGIN */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *ptr);

void *__wrap_malloc(size_t size)
{
    return add(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size)
{
    return add(__real_calloc(count, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return add(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *ptr)
{
    subtract(ptr);
    __real_free(ptr);
}
/* NOLINTEND */

enum { SMALL = 4096 }; /* bytes of handles and shapes, which are no device memory */

static long long before;

static void begin(void)
{
    before = atomic_load(&held);
    atomic_store(&peak, before);
}

/* The peak since begin is at most the estimate, and the estimate at most `factor` times the peak. result: bytes that
 * the estimate leaves out. */
static void expect_estimate(const char *what, int64_t estimate, int64_t result, double factor)
{
    const long long really = atomic_load(&peak) - before - result;
    print_message("%s: %lld bytes at most, %lld allocated\n", what, (long long)estimate, really);
    if (really > estimate)
        fail_msg("%s: %lld bytes were allocated, the estimate is %lld", what, really, (long long)estimate);
    assert_at_most((double)estimate, factor * (double)really);
}

/* A GPU's memory is not the host's. */
static void only_for_processors(void)
{
    if (!dev->be->threads(dev->ctx)) skip();
}

/* ---- scans ---- */

typedef struct scan {
    larmor_problem problem;
    larmor_array *traj, *weights, *maps, *kspace;
} scan;

/* Spokes through the centre in all directions, [3, n, spokes]: the tiles in the centre of the grid are crowded. */
static double *koosh_points(double extent, int64_t n, int64_t spokes)
{
    double *k = malloc((size_t)(3 * n * spokes) * sizeof *k);
    assert_non_null(k);
    for (int64_t j = 0; j < n * spokes; j++) {
        const double z = ((double)(j / n) + 0.5) / (double)spokes, angle = 2.399963 * (double)(j / n);
        const double t = extent * ((double)(j % n) / (double)n - 0.5), r = sqrt(1 - z * z);
        k[3 * j] = t * r * cos(angle);
        k[3 * j + 1] = t * r * sin(angle);
        k[3 * j + 2] = t * z;
    }
    return k;
}

/* Spokes in partitions along z, which follow each other, [3, n, spokes]. */
static double *stack_points(larmor_shape image, int64_t n, int64_t spokes)
{
    const int64_t nz = image.dim[2];
    double *k = malloc((size_t)(3 * n * spokes) * sizeof *k);
    assert_non_null(k);
    for (int64_t j = 0; j < n * spokes; j++) {
        const double angle = 2.399963 * (double)(j / n / nz),
                     t = (double)image.dim[0] * ((double)(j % n) / (double)n - 0.5);
        k[3 * j] = t * cos(angle);
        k[3 * j + 1] = t * sin(angle);
        k[3 * j + 2] = (double)(j / n % nz - nz / 2);
    }
    return k;
}

static scan scan_of(larmor_shape image, int64_t samples, int64_t readouts, int64_t coils, larmor_dtype dtype,
                    int is_stack)
{
    const int64_t m = samples * readouts;
    scan s = {.problem = {.image = image, .samples = m, .coils = coils, .dtype = dtype}};
    const double extent = (double)image.dim[0];
    double *k;
    if (image.ndim == 2)
        k = radial_points(extent, samples, readouts);
    else
        k = is_stack ? stack_points(image, samples, readouts) : koosh_points(extent, samples, readouts);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, samples, readouts), k);
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(samples, readouts), &s.weights));
    assert_ok(larmor_fill(s.weights, 1));
    s.maps = zeros(dtype, larmor_shape_append(image, coils));
    assert_ok(larmor_fill(s.maps, 1));
    s.kspace = zeros(dtype, LARMOR_SHAPE(samples, readouts, coils));
    assert_ok(larmor_fill(s.kspace, 1));
    free(k);
    return s;
}

static void free_scan(scan *s)
{
    larmor_array_free(s->traj);
    larmor_array_free(s->weights);
    larmor_array_free(s->maps);
    larmor_array_free(s->kspace);
}

static const struct {
    const char *name;
    int ndim;
    int64_t image[3], samples, readouts, coils;
    larmor_dtype dtype;
    int is_stack;
} cases[] = {
    {"2D", 2, {96, 96, 1}, 192, 150, 12, LARMOR_C64, 0},
    {"2D in double", 2, {128, 96, 1}, 256, 100, 5, LARMOR_C128, 0},
    {"2D, one coil", 2, {256, 256, 1}, 512, 402, 1, LARMOR_C64, 0},
    {"2D, few samples", 2, {128, 128, 1}, 128, 4, 4, LARMOR_C64, 0},
    {"3D", 3, {32, 32, 36}, 64, 800, 4, LARMOR_C64, 0},
    {"3D, a stack", 3, {48, 48, 16}, 96, 1200, 4, LARMOR_C64, 1},
    {"3D, a stack of few spokes", 3, {48, 48, 16}, 96, 64, 4, LARMOR_C64, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static scan scan_case(int i)
{
    return scan_of(larmor_shape_of(cases[i].ndim, cases[i].image), cases[i].samples, cases[i].readouts,
                   cases[i].coils, cases[i].dtype, cases[i].is_stack);
}

/* ---- the estimates ---- */

static void the_operator_takes_no_more_than_estimated_with_any_block(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES * 12; c++) {
        scan s = scan_case(c / 12);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = c % 2 ? s.weights : NULL,
                                        .block = c / 2 % 2 ? (s.problem.coils + 2) / 3 : 0,
                                        .toeplitz = c / 4 % 3 - 1};
        larmor_array *x = zeros(s.problem.dtype, s.problem.image), *z = zeros(s.problem.dtype, s.problem.image);
        larmor_op *A;
        int64_t estimate, blind;
        s.problem.weighted = c % 2;
        assert_ok(larmor_sense_memory(dev, &s.problem, &opts, &estimate));
        larmor_sense_opts without = opts; /* before the trajectory is there the estimate is that of the volume */
        without.traj = NULL;
        assert_ok(larmor_sense_memory(dev, &s.problem, &without, &blind));
        begin();
        assert_ok(larmor_op_sense(s.maps, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate(cases[c / 12].name, estimate, 0, 2.5);
        expect_estimate(cases[c / 12].name, blind, 0, cases[c / 12].is_stack ? 10 : 2.5);
        larmor_op_free(A);
        larmor_array_free(x);
        larmor_array_free(z);
        free_scan(&s);
    }
}

static void off_resonance_in_sense_is_in_the_estimate(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < 8; c++) {
        scan s = scan_of(LARMOR_SHAPE(64, 64), 400, 16, 5, c / 4 ? LARMOR_C128 : LARMOR_C64, 0);
        double *map = malloc(4096 * sizeof *map), t[400];
        for (int i = 0; i < 4096; i++) map[i] = 0.05 * i;
        for (int i = 0; i < 400; i++) t[i] = 5e-5 * i;
        larmor_array *field = real_array(LARMOR_SHAPE(64, 64), map), *times = real_array(LARMOR_SHAPE(400), t);
        larmor_segments *segments;
        assert_ok(larmor_segments_create(field, times, NULL, &segments));
        const larmor_sense_opts opts = {
            .traj = s.traj, .off_resonance = segments, .block = c % 2 ? 2 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        larmor_array *x = zeros(s.problem.dtype, s.problem.image), *z = zeros(s.problem.dtype, s.problem.image);
        larmor_op *A;
        int64_t estimate;
        assert_ok(larmor_sense_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_op_sense(s.maps, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate("off-resonance in SENSE", estimate, SMALL, 2.5);
        larmor_op_free(A);
        larmor_segments_free(segments);
        larmor_array_free(z);
        larmor_array_free(x);
        larmor_array_free(times);
        larmor_array_free(field);
        free(map);
        free_scan(&s);
    }
}

static void several_sets_of_maps_are_in_the_estimate(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES * 4; c++) {
        scan s = scan_case(c / 4);
        const larmor_sense_opts opts = {
            .traj = s.traj, .block = c % 2 ? (s.problem.coils + 2) / 3 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        const larmor_shape image = larmor_shape_append(s.problem.image, 2);
        larmor_array *maps = zeros(s.problem.dtype, larmor_shape_append(larmor_array_shape(s.maps), 2));
        larmor_array *x = zeros(s.problem.dtype, image), *z = zeros(s.problem.dtype, image);
        larmor_op *A;
        int64_t estimate;
        s.problem.sets = 2;
        assert_ok(larmor_sense_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_op_sense(maps, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate(cases[c / 4].name, estimate, 0, 2.5);
        larmor_op_free(A);
        larmor_array_free(maps);
        larmor_array_free(x);
        larmor_array_free(z);
        free_scan(&s);
    }
}

static void coefficients_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES * 8; c++) {
        enum { RANK = 3 };
        scan s = scan_case(c / 8);
        const int is_complex = c & 1;
        const larmor_sense_opts opts = {
            .traj = s.traj, .block = c & 2 ? (s.problem.coils + 2) / 3 : 0, .toeplitz = c & 4 ? 1 : -1};
        const larmor_shape images = larmor_shape_append(s.problem.image, RANK);
        const larmor_shape k = larmor_array_shape(s.kspace);
        const int in_double = s.problem.dtype == LARMOR_C128;
        const larmor_dtype real = in_double ? LARMOR_F64 : LARMOR_F32;
        larmor_array *factors = zeros(is_complex ? s.problem.dtype : real, LARMOR_SHAPE(k.dim[0], k.dim[1], RANK));
        larmor_array *x = zeros(s.problem.dtype, images), *z = zeros(s.problem.dtype, images);
        larmor_op *A;
        int64_t estimate;
        assert_ok(larmor_fill(factors, 1));
        assert_ok(larmor_subspace_sense_memory(dev, &s.problem, &opts, RANK, is_complex, &estimate));
        begin();
        assert_ok(larmor_op_subspace_sense(s.maps, factors, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate(cases[c / 8].name, estimate, 0, 2.5);
        larmor_op_free(A);
        larmor_array_free(factors);
        larmor_array_free(x);
        larmor_array_free(z);
        free_scan(&s);
    }
}

static void coefficients_with_off_resonance_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < 8; c++) {
        enum { RANK = 3 };
        scan s = scan_of(LARMOR_SHAPE(32, 32), 400, 16, 5, c / 4 ? LARMOR_C128 : LARMOR_C64, 0);
        double map[1024], t[400];
        for (int i = 0; i < 1024; i++) map[i] = 0.2 * i;
        for (int i = 0; i < 400; i++) t[i] = 5e-5 * i;
        larmor_array *field = real_array(LARMOR_SHAPE(32, 32), map), *times = real_array(LARMOR_SHAPE(400), t);
        larmor_segments *segments;
        assert_ok(larmor_segments_create(field, times, NULL, &segments));
        const larmor_sense_opts opts = {
            .traj = s.traj, .off_resonance = segments, .block = c % 2 ? 2 : 0, .toeplitz = c / 2 % 2 ? 1 : -1};
        const larmor_shape images = larmor_shape_append(s.problem.image, RANK);
        const larmor_shape k = larmor_array_shape(s.kspace);
        larmor_array *factors = zeros(s.problem.dtype, LARMOR_SHAPE(k.dim[0], k.dim[1], RANK));
        larmor_array *x = zeros(s.problem.dtype, images), *z = zeros(s.problem.dtype, images);
        larmor_op *A;
        int64_t estimate;
        assert_ok(larmor_fill(factors, 1));
        assert_ok(larmor_subspace_sense_memory(dev, &s.problem, &opts, RANK, 1, &estimate));
        begin();
        assert_ok(larmor_op_subspace_sense(s.maps, factors, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        assert_ok(larmor_op_normal(A, x, z));
        expect_estimate("coefficients with off-resonance", estimate, SMALL, 2.5);
        larmor_op_free(A);
        larmor_segments_free(segments);
        larmor_array_free(factors);
        larmor_array_free(x);
        larmor_array_free(z);
        larmor_array_free(times);
        larmor_array_free(field);
        free_scan(&s);
    }
}

static void fewer_coils_at_a_time_need_less(void **state)
{
    (void)state;
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

static void density_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        larmor_array *w;
        int64_t estimate;
        assert_ok(larmor_density_memory(dev, &s.problem, &estimate));
        begin();
        assert_ok(larmor_density_pipe(s.traj, s.problem.image, 1, &w));
        expect_estimate(cases[c].name, estimate, (int64_t)larmor_array_bytes(w), 2.5);
        larmor_array_free(w);
        free_scan(&s);
    }
}

static void coil_maps_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        larmor_array *maps;
        int64_t estimate;
        assert_ok(larmor_coils_memory(dev, &s.problem, NULL, &estimate));
        begin();
        assert_ok(larmor_coils_estimate(s.kspace, s.traj, NULL, s.problem.image, NULL, &maps, NULL));
        const long long result = (long long)larmor_array_bytes(maps);
        const long long really = atomic_load(&peak) - before;
        print_message("%s: %lld bytes and the maps' %lld at most, %lld allocated\n", cases[c].name,
                      (long long)estimate, result, really);
        assert_true(really <= estimate + result);
        assert_at_most((double)(estimate + result), 5 * (double)really); /* all samples might be in the centre */
        larmor_array_free(maps);
        free_scan(&s);
    }
}

static void espirit_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        if (cases[c].readouts < 10) continue; /* no region to find maps from */
        scan s = scan_case(c);
        larmor_array *region, *maps;
        larmor_region_report found;
        int64_t estimate;
        assert_ok(larmor_noise_fill(s.kspace, 0.1, 1)); /* a point in the centre, and noise */
        const larmor_espirit_opts opts = {.kernel = {4, 4, 4}};
        assert_ok(larmor_espirit_memory(dev, &s.problem, NULL, &opts, &estimate));
        begin();
        assert_ok(larmor_calibration_region(s.kspace, s.traj, s.problem.image, NULL, &region, &found));
        assert_ok(larmor_fill(region, 1));
        assert_ok(larmor_espirit(region, s.problem.image, &opts, &maps, NULL, NULL));
        expect_estimate(cases[c].name, estimate, (int64_t)larmor_array_bytes(maps), 12); /* the region may be small */
        larmor_array_free(region);
        larmor_array_free(maps);
        free_scan(&s);
    }
}

static void maps_of_a_thousand_channels_take_less_than_half_a_gigabyte(void **state)
{
    (void)state;
    const larmor_problem p = {.image = LARMOR_SHAPE(32, 32), .samples = 160, .coils = 1024, .dtype = LARMOR_C64};
    int64_t estimate;
    assert_ok(larmor_coils_memory(dev, &p, NULL, &estimate));
    assert_in_range(estimate, 64 << 20, 512 << 20);
}

static void maps_of_many_channels_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    scan s = scan_of(LARMOR_SHAPE(12, 12), 24, 16, 200, LARMOR_C64, 0);
    larmor_array *maps;
    int64_t estimate;
    assert_ok(larmor_coils_memory(dev, &s.problem, NULL, &estimate));
    begin();
    assert_ok(larmor_coils_estimate(s.kspace, s.traj, NULL, s.problem.image, NULL, &maps, NULL));
    const long long result = (long long)larmor_array_bytes(maps);
    const long long really = atomic_load(&peak) - before;
    assert_true(really <= estimate + result);
    assert_at_most((double)(estimate + result), 2 * (double)really);
    larmor_array_free(maps);
    free_scan(&s);
}

static void nonlinear_inversion_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < 2 * CASES; c++) {
        scan s = scan_case(c / 2);
        const larmor_nlinv_opts opts = {
            .steps = 1, .inner = 1, .weights = c % 2 ? s.weights : NULL, .sets = 1 + c % 2};
        larmor_array *x, *maps;
        int64_t estimate;
        assert_ok(larmor_nlinv_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_nlinv(s.kspace, s.traj, s.problem.image, &opts, &x, &maps, NULL));
        const int64_t result = (int64_t)(larmor_array_bytes(x) + larmor_array_bytes(maps));
        expect_estimate(cases[c / 2].name, estimate + result, 0, 3);
        larmor_array_free(maps);
        larmor_array_free(x);
        free_scan(&s);
    }
}

static void inversion_of_less_resolution_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        const larmor_nlinv_opts opts = {.steps = 1, .inner = 1, .weights = s.weights, .side = 6};
        larmor_array *maps;
        int64_t estimate;
        assert_ok(larmor_nlinv_memory(dev, &s.problem, &opts, &estimate));
        begin();
        assert_ok(larmor_nlinv(s.kspace, s.traj, s.problem.image, &opts, NULL, &maps, NULL));
        const int64_t result = (int64_t)larmor_array_bytes(maps);
        expect_estimate(cases[c].name, estimate + result, 0, 12); /* all samples might be in the centre */
        larmor_array_free(maps);
        free_scan(&s);
    }
}

static void the_search_beyond_the_field_of_view_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        larmor_extent extent;
        int64_t estimate;
        assert_ok(larmor_extent_memory(dev, &s.problem, NULL, &estimate));
        begin();
        assert_ok(larmor_field_of_view_extent(s.kspace, s.traj, s.problem.image, NULL, &extent));
        expect_estimate(cases[c].name, estimate, 0, 5); /* all samples might be in the centre */
        free_scan(&s);
    }
}

static void the_prediction_of_the_field_of_view_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        larmor_prediction prediction;
        int64_t estimate;
        if (s.problem.image.ndim == 2) {
            assert_ok(larmor_predict_field_of_view_memory(dev, &s.problem, &estimate));
            begin();
            assert_ok(larmor_predict_field_of_view(s.kspace, s.traj, s.problem.image, &prediction));
            expect_estimate(cases[c].name, estimate, 0, 8); /* all samples might be in the centre */
        }
        free_scan(&s);
    }
}

static void the_circulant_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        scan s = scan_case(c);
        larmor_circulant *C;
        int64_t estimate;
        assert_ok(larmor_circulant_memory(dev, &s.problem, &estimate));
        begin();
        assert_ok(larmor_circulant_create(s.maps, s.traj, s.weights, s.problem.image, s.problem.dtype, &C));
        expect_estimate(cases[c].name, estimate, 0, 3);
        larmor_circulant_free(C);
        free_scan(&s);
    }
}

/* An operator that has allocated all that its maps need. */
static larmor_op *warm_operator(larmor_dtype dtype, larmor_shape shape, larmor_array *x, larmor_array *b)
{
    larmor_op *F;
    assert_ok(larmor_op_fft(dev, dtype, shape, 3, NULL, &F));
    assert_ok(larmor_noise_fill(x, 1, 1));
    assert_ok(larmor_op_forward(F, x, b));
    assert_ok(larmor_op_adjoint(F, b, x));
    assert_ok(larmor_op_normal(F, b, x));
    return F;
}

static void each_regulariser_and_its_solver_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    larmor_regulariser_info info;
    for (int i = 0; (info = larmor_regulariser_entry(i)).name; i++)
        for (int c = 0; c < 8; c++) {
            const larmor_dtype dtype = c / 2 % 2 ? LARMOR_C128 : LARMOR_C64;
            const int series = (info.takes & LARMOR_NEEDS_SERIES) != 0;
            const larmor_shape image = c / 4 ? LARMOR_SHAPE(24, 20, 18) : LARMOR_SHAPE(100, 60);
            const larmor_shape shape = series ? larmor_shape_append(image, 5) : image;
            const larmor_regulariser_opts opts = {.series = series};
            larmor_array *x = zeros(dtype, shape), *b = zeros(dtype, shape);
            larmor_op *A = warm_operator(dtype, shape, x, b);
            scan s = scan_of(image, 128, 60, 1, dtype, 0);
            larmor_solve_opts solve = {.max_iter = 4, .tol = -1};
            larmor_circulant *C = NULL;
            larmor_regulariser *r;
            int64_t estimate;
            if (c % 2) assert_ok(larmor_circulant_create(s.maps, s.traj, NULL, image, dtype, &C));
            solve.circulant = C;
            assert_ok(larmor_regularised_memory(info.name, &opts, dtype, shape, &estimate));
            begin();
            assert_ok(larmor_regulariser_create(dev, info.name, &opts, dtype, shape, &r));
            assert_ok(larmor_regularised(A, b, r, x, &solve, NULL));
            expect_estimate(info.name, estimate, 0, 1.5);
            larmor_regulariser_free(r);
            larmor_circulant_free(C);
            larmor_op_free(A);
            larmor_array_free(x);
            larmor_array_free(b);
            free_scan(&s);
        }
}

static void conjugate_gradients_take_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    const larmor_shape shape = LARMOR_SHAPE(300, 200); /* large beside what is no array */
    for (int preconditioned = 0; preconditioned < 2; preconditioned++) {
        larmor_array *x = zeros(LARMOR_C64, shape), *b = zeros(LARMOR_C64, shape), *start = zeros(LARMOR_C64, shape);
        larmor_op *A = warm_operator(LARMOR_C64, shape, x, b), *M;
        assert_ok(larmor_fill(x, 1));
        assert_ok(larmor_op_diag(x, &M));
        const larmor_solve_opts opts = {.max_iter = 3, .tol = -1, .precondition = preconditioned ? M : NULL};
        int64_t estimate;
        assert_ok(larmor_cg_memory(LARMOR_C64, shape, &estimate));
        begin();
        assert_ok(larmor_cg(A, b, start, &opts, NULL));
        expect_estimate("cg", estimate, SMALL, 1.3);
        larmor_op_free(M);
        larmor_op_free(A);
        larmor_array_free(x);
        larmor_array_free(b);
        larmor_array_free(start);
    }
}

static void lsmr_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    const larmor_shape shape = LARMOR_SHAPE(300, 200);
    for (int weighted = 0; weighted < 2; weighted++) {
        larmor_array *x = zeros(LARMOR_C64, shape), *b = zeros(LARMOR_C64, shape), *start = zeros(LARMOR_C64, shape);
        larmor_array *weights = zeros(LARMOR_F64, shape);
        larmor_op *A = warm_operator(LARMOR_C64, shape, x, b);
        assert_ok(larmor_fill(weights, 2));
        const larmor_solve_opts opts = {.max_iter = 3, .tol = -1, .weights = weighted ? weights : NULL};
        int64_t estimate;
        assert_ok(larmor_lsmr_memory(LARMOR_C64, shape, shape, weighted, &estimate));
        begin();
        assert_ok(larmor_lsmr(A, b, start, &opts, NULL));
        expect_estimate("lsmr", estimate, SMALL, 1.1);
        larmor_op_free(A);
        larmor_array_free(weights);
        larmor_array_free(x);
        larmor_array_free(b);
        larmor_array_free(start);
    }
}

static void primal_dual_splitting_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    const larmor_shape shape = LARMOR_SHAPE(300, 200);
    for (int with_K = 0; with_K < 2; with_K++) {
        larmor_array *x = zeros(LARMOR_C64, shape), *b = zeros(LARMOR_C64, shape), *start = zeros(LARMOR_C64, shape);
        larmor_op *A = warm_operator(LARMOR_C64, shape, x, b), *K = NULL;
        larmor_prox *g;
        if (with_K) assert_ok(larmor_op_gradient(dev, LARMOR_C64, shape, 3, NULL, &K));
        const larmor_shape Kx = K ? larmor_op_out_shape(K) : shape;
        assert_ok(larmor_prox_l1(dev, 0.1, LARMOR_C64, Kx, &g));
        const larmor_solve_opts opts = {.max_iter = 3, .tol = -1};
        int64_t estimate;
        assert_ok(larmor_pdhg_memory(LARMOR_C64, shape, Kx, &estimate));
        begin();
        assert_ok(larmor_pdhg(A, b, K, g, start, &opts, NULL));
        expect_estimate("pdhg", estimate, SMALL, 1.3);
        larmor_prox_free(g);
        larmor_op_free(K);
        larmor_op_free(A);
        larmor_array_free(x);
        larmor_array_free(b);
        larmor_array_free(start);
    }
}

static void the_kspace_preconditioner_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < 2 * CASES; c++) {
        scan s = scan_case(c / 2);
        larmor_array *p;
        int64_t estimate;
        if (c % 2) s.problem.coils = 1;
        assert_ok(larmor_precondition_kspace_memory(dev, &s.problem, &estimate));
        begin();
        assert_ok(larmor_precondition_kspace(c % 2 ? NULL : s.maps, s.traj, s.problem.image, s.problem.dtype, 0, &p));
        expect_estimate(cases[c / 2].name, estimate, (int64_t)larmor_array_bytes(p), 2.5);
        larmor_array_free(p);
        free_scan(&s);
    }
}

/* Of readouts that are as long as `seconds`, for a map of `range` Hz. */
static void off_resonance_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    const struct {
        larmor_dtype dtype;
        int64_t samples;
        double seconds, range;
        int segments;
    } spans[] = {{LARMOR_C64, 4000, 0.02, 300, 0},
                 {LARMOR_C128, 4000, 0.02, 300, 0},
                 {LARMOR_C64, 20000, 0.005, 100, 7},
                 {LARMOR_C64, 300, 0.1, 2000, 0}};
    for (int c = 0; c < 4; c++) {
        const larmor_shape image = LARMOR_SHAPE(96, 80);
        const int64_t voxels = larmor_shape_count(image), n = spans[c].samples;
        scan s = scan_of(image, n, 2, 3, spans[c].dtype, 0);
        double *map = malloc((size_t)voxels * sizeof *map), *t = malloc((size_t)n * sizeof *t);
        for (int64_t i = 0; i < voxels; i++) map[i] = spans[c].range * (double)i / (double)voxels;
        for (int64_t i = 0; i < n; i++) t[i] = spans[c].seconds * (double)i / (double)n;
        larmor_array *field = real_array(image, map), *times = real_array(LARMOR_SHAPE(n), t), *narrow;
        assert_ok(larmor_array_convert(field, LARMOR_F32, &narrow));
        const larmor_off_resonance_opts opts = {.segments = spans[c].segments};
        larmor_array *x = zeros(spans[c].dtype, image);
        larmor_op *F, *A;
        int64_t estimate;
        assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj, .toeplitz = -1}, &F));
        assert_ok(larmor_op_adjoint(F, s.kspace, x));
        assert_ok(larmor_off_resonance_memory(F, narrow, times, &opts, &estimate));
        begin();
        assert_ok(larmor_op_off_resonance(F, narrow, times, &opts, &A));
        assert_ok(larmor_op_adjoint(A, s.kspace, x));
        expect_estimate("off-resonance", estimate, SMALL, 2);
        larmor_op_free(A);
        larmor_op_free(F);
        larmor_array_free(x);
        larmor_array_free(narrow);
        larmor_array_free(times);
        larmor_array_free(field);
        free(t);
        free(map);
        free_scan(&s);
    }
}

static void a_stack_of_planes_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < CASES; c++) {
        if (!cases[c].is_stack) continue;
        for (int batch = 0; batch < 3; batch += 2) {
            scan s = scan_case(c);
            const int64_t *n = s.problem.image.dim;
            const larmor_nufft_opts opts = {.ndim = 3, .modes = {n[0], n[1], n[2]}, .batch = batch, .tol = 1e-4};
            larmor_op *A;
            int64_t estimate;
            assert_ok(larmor_stack_of_stars_memory(dev, &opts, s.traj, &estimate));
            begin();
            assert_ok(larmor_op_stack_of_stars(dev, &opts, s.traj, &A));
            larmor_array *x = zeros(LARMOR_C64, larmor_op_in_shape(A)),
                         *y = zeros(LARMOR_C64, larmor_op_out_shape(A));
            const int64_t vectors = (int64_t)(larmor_array_bytes(x) + larmor_array_bytes(y));
            assert_ok(larmor_op_adjoint(A, y, x));
            assert_ok(larmor_op_forward(A, x, y));
            expect_estimate(cases[c].name, estimate + vectors, 0, 2.5);
            larmor_op_free(A);
            larmor_array_free(x);
            larmor_array_free(y);
            free_scan(&s);
        }
    }
}

/* SENSE of the scan with weights or without, whose maps have run. */
static larmor_op *warm_sense(const scan *s, const larmor_array *weights, larmor_array *x)
{
    larmor_op *A;
    assert_ok(larmor_op_sense(s->maps, &(larmor_sense_opts){.traj = s->traj, .weights = weights}, &A));
    larmor_array *b = zeros(s->problem.dtype, larmor_op_out_shape(A)), *z = zeros(s->problem.dtype, s->problem.image);
    assert_ok(larmor_op_forward(A, x, b));
    assert_ok(larmor_op_adjoint(A, b, z));
    assert_ok(larmor_op_normal(A, x, z));
    larmor_array_free(z);
    larmor_array_free(b);
    return A;
}

static void the_choice_of_the_weight_takes_no_more_than_estimated(void **state)
{
    (void)state;
    only_for_processors();
    for (int c = 0; c < 2; c++) {
        scan s = scan_of(LARMOR_SHAPE(64, 48), 128, 60, 4, LARMOR_C64, 0);
        const larmor_shape image = s.problem.image;
        larmor_array *x = zeros(LARMOR_C64, image), *kept, *factors, *all;
        larmor_held_out out = {.noise = zeros(LARMOR_C64, larmor_array_shape(s.kspace))};
        larmor_circulant *C;
        larmor_regulariser *r = NULL;
        larmor_choice choice;
        int64_t solver, beside;
        assert_ok(larmor_noise_fill(x, 1, 1));
        larmor_op *A = warm_sense(&s, NULL, x);
        assert_ok(larmor_op_forward(A, x, s.kspace));
        assert_ok(larmor_noise_fill((larmor_array *)(uintptr_t)out.noise, 0.1, 2));
        assert_ok(larmor_axpby(1, out.noise, 1, s.kspace));
        assert_ok(larmor_circulant_create(s.maps, s.traj, NULL, image, LARMOR_C64, &C));
        assert_ok(larmor_hold_out(s.traj, NULL, C, 3, &kept, &factors));
        out.A = warm_sense(&s, kept, x);
        assert_ok(larmor_choose_memory(LARMOR_C64, image, larmor_array_shape(s.kspace), &beside));
        assert_ok(larmor_cg_memory(LARMOR_C64, image, &solver));
        if (c) {
            assert_ok(larmor_regularised_memory("tv", NULL, LARMOR_C64, image, &solver));
            assert_ok(larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, image, &r));
        }
        begin();
        all = zeros(LARMOR_C64, larmor_array_shape(s.kspace));
        assert_ok(larmor_fill(all, 1));
        assert_ok(larmor_sense_weigh(factors, all));
        out.factors = all;
        assert_ok(larmor_choose_weight(A, s.kspace, &out, C, r, NULL, &choice));
        assert_true(choice.tried > 1);
        expect_estimate(c ? "choice for tv" : "choice for cg", solver + beside,
                        -(int64_t)(larmor_array_bytes(kept) + larmor_array_bytes(factors)), 1.5);
        larmor_regulariser_free(r);
        larmor_circulant_free(C);
        larmor_op_free(A);
        larmor_op_free(out.A);
        larmor_array_free(x);
        larmor_array_free((larmor_array *)(uintptr_t)out.noise);
        larmor_array_free(kept);
        larmor_array_free(factors);
        larmor_array_free(all);
        free_scan(&s);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    int64_t bytes;
    larmor_problem p = {.image = LARMOR_SHAPE(128, 128), .samples = 1000, .dtype = LARMOR_C64};
    assert_refused(larmor_sense_memory(dev, &p, NULL, &bytes), LARMOR_ERR_ARG, "memory: a device, an image");
    p.coils = 1;
    p.samples = INT64_MAX;
    assert_refused(larmor_sense_memory(dev, &p, NULL, &bytes), LARMOR_ERR_ARG, "nufft: the modes are too many");
    assert_int_equal(bytes, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_operator_takes_no_more_than_estimated_with_any_block),
    cmocka_unit_test(several_sets_of_maps_are_in_the_estimate),
    cmocka_unit_test(coefficients_take_no_more_than_estimated),
    cmocka_unit_test(coefficients_with_off_resonance_take_no_more_than_estimated),
    cmocka_unit_test(fewer_coils_at_a_time_need_less),
    cmocka_unit_test(density_takes_no_more_than_estimated),
    cmocka_unit_test(coil_maps_take_no_more_than_estimated),
    cmocka_unit_test(espirit_takes_no_more_than_estimated),
    cmocka_unit_test(maps_of_a_thousand_channels_take_less_than_half_a_gigabyte),
    cmocka_unit_test(maps_of_many_channels_take_no_more_than_estimated),
    cmocka_unit_test(nonlinear_inversion_takes_no_more_than_estimated),
    cmocka_unit_test(inversion_of_less_resolution_takes_no_more_than_estimated),
    cmocka_unit_test(the_search_beyond_the_field_of_view_takes_no_more_than_estimated),
    cmocka_unit_test(the_prediction_of_the_field_of_view_takes_no_more_than_estimated),
    cmocka_unit_test(the_circulant_takes_no_more_than_estimated),
    cmocka_unit_test(each_regulariser_and_its_solver_take_no_more_than_estimated),
    cmocka_unit_test(conjugate_gradients_take_no_more_than_estimated),
    cmocka_unit_test(lsmr_takes_no_more_than_estimated),
    cmocka_unit_test(primal_dual_splitting_takes_no_more_than_estimated),
    cmocka_unit_test(the_kspace_preconditioner_takes_no_more_than_estimated),
    cmocka_unit_test(off_resonance_takes_no_more_than_estimated),
    cmocka_unit_test(off_resonance_in_sense_is_in_the_estimate),
    cmocka_unit_test(a_stack_of_planes_takes_no_more_than_estimated),
    cmocka_unit_test(the_choice_of_the_weight_takes_no_more_than_estimated),
    cmocka_unit_test(impossible_sizes_are_refused),
};

int main(void)
{
    RUN_TESTS(tests);
}
