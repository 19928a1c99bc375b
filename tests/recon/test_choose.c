/* recon/choose: the weight of the penalty from the data. SPDX-License-Identifier: Apache-2.0 */
#include "recon/choose/choose.h"
#include "tests/recon/support.h"

enum { N = 24, COILS = 3, SPOKES = 30 };

/* ---- the lowest point of a curve ---- */

TEST(the_lowest_point_of_a_parabola_is_exact)
{
    const double at[] = {2, -1, 0.5, 5, -3, 1.25};
    lmr_curve curve = {.count = 0};
    for (int i = 0; i < 6; i++) assert_true(lmr_curve_add(&curve, at[i], 3 + 2 * pow(at[i] - 0.37, 2)));
    assert_at_most(fabs(lmr_curve_lowest(&curve) - 0.37), 1e-12);
    assert_true(curve.at[lmr_curve_index(&curve)] == 0.5);
    for (int i = 1; i < curve.count; i++) assert_true(curve.at[i] > curve.at[i - 1]);
}

TEST(a_curve_that_falls_to_its_end_is_lowest_there)
{
    lmr_curve curve = {.count = 0};
    for (int i = 0; i < 4; i++) assert_true(lmr_curve_add(&curve, i, -i));
    assert_true(lmr_curve_lowest(&curve) == 3);
    assert_false(lmr_curve_add(&curve, 9, NAN));
    assert_false(lmr_curve_add(&curve, INFINITY, 0));
    assert_int_equal(curve.count, 4);
    for (int i = 4; i < 32; i++) assert_true(lmr_curve_add(&curve, i, i));
    assert_false(lmr_curve_add(&curve, 40, 0));
}

TEST(a_rise_that_is_allowed_moves_the_place_up_and_none_leaves_it)
{
    const double value[] = {4, 1, 2, 5};
    lmr_curve curve = {.count = 0};
    for (int i = 0; i < 4; i++) assert_true(lmr_curve_add(&curve, i, value[i]));
    assert_true(lmr_curve_within(&curve, 0) == lmr_curve_lowest(&curve));
    assert_at_most(fabs(lmr_curve_within(&curve, 0.75) - 1.75), 1e-12);
    assert_at_most(fabs(lmr_curve_within(&curve, 2.5) - 2.5), 1e-12);
    assert_true(lmr_curve_within(&curve, 9) == 3);
}

TEST(between_its_points_a_curve_is_straight_and_beyond_them_level)
{
    lmr_curve curve = {.count = 0};
    assert_true(lmr_curve_add(&curve, 2, 5) && lmr_curve_value(&curve, 7) == 5);
    assert_true(lmr_curve_add(&curve, 0, 1) && lmr_curve_add(&curve, 4, 4));
    const double at[] = {-1, 0, 0.5, 2, 3, 4, 9}, value[] = {1, 1, 2, 5, 4.5, 4, 4};
    for (int i = 0; i < 7; i++) assert_at_most(fabs(lmr_curve_value(&curve, at[i]) - value[i]), 1e-12);
}

/* ---- small scans ---- */

typedef struct design {
    const char *traj;
    int64_t matrix[3], readouts;
} design;

static const design radial = {"radial", {N, N, 1}, SPOKES}, spiral = {"spiral", {N, N, 1}, 6},
                    koosh = {"koosh", {12, 12, 12}, 140}, dense = {"radial", {N, N, 1}, 4 * SPOKES},
                    cartesian = {"cartesian", {N, N, 1}, N};

typedef struct scan {
    larmor_shape image;
    int64_t voxels;
    larmor_array *traj, *maps, *b, *noise;
    larmor_op *A;
    larmor_circulant *C;
    larmor_held_out held;
    larmor_array *factors;
    cplx *truth;
    double deviation;
} scan;

/* A tenth of the spokes. */
static void hold_out(scan *s)
{
    OWNED(larmor_array) *kept, *factors;
    assert_ok(larmor_hold_out(s->traj, NULL, s->C, 3, &kept, &factors));
    assert_ok(larmor_op_sense(s->maps, &(larmor_sense_opts){.traj = s->traj, .weights = kept}, &s->held.A));
    s->factors = zeros(LARMOR_C64, s->b->shape);
    assert_ok(larmor_fill(s->factors, 1));
    assert_ok(larmor_sense_weigh(factors, s->factors));
    s->held.factors = s->factors;
    s->held.noise = s->noise;
}

/* Data of two discs or balls, with noise of this deviation relative to the mean sample; `noise` is another sample
 * of it. */
static scan scan_of(const design *d, double relative)
{
    const int ndim = d->matrix[2] > 1 ? 3 : 2;
    const larmor_traj_opts opts = {.matrix = {d->matrix[0], d->matrix[1], d->matrix[2]}, .readouts = d->readouts};
    scan s = {.image = larmor_shape_of(ndim, d->matrix)};
    const int64_t voxels = larmor_shape_count(s.image);
    double size;
    OWNED(cplx) *maps = malloc((size_t)(voxels * COILS) * sizeof *maps);
    s.voxels = voxels;
    s.truth = calloc((size_t)voxels, sizeof *s.truth);
    assert_ok(larmor_traj_create(dev, d->traj, &opts, &s.traj));
    for (int64_t i = 0; i < voxels; i++) {
        const double u = position(s.image, i, 0), v = position(s.image, i, 1);
        const double w = ndim > 2 ? position(s.image, i, 2) : 0;
        s.truth[i] = (hypot(hypot(u, v), w) < 0.4) - 0.5 * (hypot(hypot(u - 0.1, v), w) < 0.12);
        for (int c = 0; c < COILS; c++) {
            const double angle = 2 * M_PI * c / COILS;
            maps[i + c * voxels] =
                exp(-2 * (pow(u - cos(angle) / 2, 2) + pow(v - sin(angle) / 2, 2))) * cexp(I * (u + c));
        }
    }
    s.maps = complex_array(LARMOR_C64, larmor_shape_append(s.image, COILS), maps);
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, s.image, s.truth);
    assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj}, &s.A));
    s.b = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
    s.noise = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
    assert_ok(larmor_op_forward(s.A, x, s.b));
    assert_ok(larmor_nrm2(s.b, &size));
    s.deviation = relative * size / sqrt((double)larmor_array_count(s.b));
    assert_ok(larmor_noise_fill(s.noise, s.deviation, 7));
    assert_ok(larmor_axpby(1, s.noise, 1, s.b));
    assert_ok(larmor_noise_fill(s.noise, s.deviation, 8));
    assert_ok(larmor_circulant_create(s.maps, s.traj, NULL, s.image, LARMOR_C64, &s.C));
    hold_out(&s);
    return s;
}

static scan noisy_scan(double relative)
{
    return scan_of(&radial, relative);
}

static void free_scan(scan *s)
{
    larmor_op_free(s->held.A);
    larmor_array_free(s->factors);
    larmor_array_free(s->traj);
    larmor_array_free(s->maps);
    larmor_array_free(s->b);
    larmor_array_free(s->noise);
    larmor_op_free(s->A);
    larmor_circulant_free(s->C);
    free(s->truth);
}

ENDS_ITSELF_BY(free_scan, scan)

static void scale(larmor_array *x, double factor)
{
    assert_ok(larmor_axpby(factor, x, 0, x));
}

static double error_of(const scan *s, const larmor_array *x)
{
    OWNED(cplx) *got = values_of(x);
    const double error = difference(got, s->truth, s->voxels);
    return error;
}

/* The image at a given weight. */
static larmor_array *image_of(const scan *s, const char *name, double weight)
{
    larmor_array *x = zeros(LARMOR_C64, s->image);
    if (name) {
        OWNED(larmor_regulariser) *r;
        assert_ok(larmor_regulariser_create(dev, name, NULL, LARMOR_C64, s->image, &r));
        assert_ok(larmor_regulariser_set_weight(r, weight));
        assert_ok(larmor_regularised(s->A, s->b, r, x, &(larmor_solve_opts){.circulant = s->C, .tol = 3e-3}, NULL));
    } else {
        assert_ok(larmor_cg(s->A, s->b, x, &(larmor_solve_opts){.max_iter = 60, .lambda = weight}, NULL));
    }
    return x;
}

/* The error at a given weight. */
static double given(const scan *s, const char *name, double weight)
{
    OWNED(larmor_array) *x = image_of(s, name, weight);
    const double error = error_of(s, x);
    return error;
}

/* The image's projection on the truth, relative to it. */
static double intensity_of(const scan *s, const char *name, double weight)
{
    OWNED(larmor_array) *x = image_of(s, name, weight);
    cplx *got = values_of(x), product = 0;
    double square = 0;
    for (int64_t i = 0; i < s->voxels; i++) {
        product += conj(s->truth[i]) * got[i];
        square += pow(cabs(s->truth[i]), 2);
    }
    free(got);
    return creal(product) / square;
}

/* The weight by conjugate gradients, name NULL, or of a regulariser; the image's error is returned. */
static double chosen(const scan *s, const char *name, larmor_choice *choice)
{
    OWNED(larmor_regulariser) *r = NULL;
    if (name) assert_ok(larmor_regulariser_create(dev, name, NULL, LARMOR_C64, s->image, &r));
    assert_ok(larmor_choose_weight(s->A, s->b, &s->held, s->C, r, &(larmor_solve_opts){.circulant = s->C}, choice));
    return given(s, name, choice->weight);
}

static const char *const penalties[] = {NULL, "tv", "wavelet"};

/* The error at the weight that is expected from the noise. */
static double by_noise(const scan *s, const char *name)
{
    OWNED(larmor_regulariser) *r = NULL;
    double weight;
    if (name) assert_ok(larmor_regulariser_create(dev, name, NULL, LARMOR_C64, s->image, &r));
    assert_ok(larmor_weight_of_noise(s->A, s->b, s->noise, r, &weight));
    return given(s, name, weight);
}

/* The error at the weight that is chosen, in units of the least of weights around it and of the one that the noise
 * alone asks for. */
static double above_best(const scan *s, const char *name)
{
    larmor_choice choice;
    const double error = chosen(s, name, &choice);
    double best = fmin(error, by_noise(s, name));
    for (int i = -2; i <= 2; i++) best = fmin(best, given(s, name, choice.weight * pow(10, 0.4 * i)));
    return error / best;
}

TEST(the_image_is_near_the_best_of_all_weights)
{
    OWNED(scan) s = noisy_scan(0.5);
    for (int p = 0; p < 3; p++) assert_at_most(above_best(&s, penalties[p]), 1.15);
}

/* With little noise nearly all of the object is left, with more the penalty takes a part. */
TEST(samples_held_out_tell_how_much_of_the_object_is_left)
{
    const double noise[] = {0.05, 0.1, 0.15};
    double least = 1;
    for (int i = 0; i < 3; i++) {
        OWNED(scan) s = scan_of(&dense, noise[i]);
        for (int p = 0; p < 3; p++) {
            larmor_choice choice;
            chosen(&s, penalties[p], &choice);
            const double left = intensity_of(&s, penalties[p], choice.weight);
            assert_at_most(fabs(choice.intensity - left), 0.03);
            least = fmin(least, left);
        }
    }
    assert_at_most(least, 0.95);
}

/* With three times the weight the worst is 1.5 and more (docs/choosing.md says what holds for images). */
TEST(the_image_of_a_spiral_and_of_spokes_in_3d_is_near_the_best_too)
{
    const struct {
        const design *design;
        double noise;
    } cases[] = {{&spiral, 0.1}, {&spiral, 0.5}, {&koosh, 0.3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(scan) s = scan_of(cases[i].design, cases[i].noise);
        for (int p = 0; p < 2; p++) assert_at_most(above_best(&s, penalties[p]), 1.25);
    }
}

TEST(the_best_image_of_the_search_has_the_misfit_that_is_told)
{
    OWNED(scan) s = noisy_scan(0.5);
    OWNED(larmor_array) *best = NULL, *residual = NULL;
    larmor_choice choice;
    double left, all;
    assert_ok(larmor_array_create(dev, LARMOR_C64, s.image, &best));
    assert_ok(larmor_choose_weight(s.A, s.b, &s.held, s.C, NULL, &(larmor_solve_opts){.best = best}, &choice));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_array_shape(s.b), &residual));
    assert_ok(larmor_op_forward(s.A, best, residual));
    assert_ok(larmor_axpby(-1, s.b, 1, residual));
    assert_ok(larmor_mul(s.held.factors, 0, residual));
    assert_ok(larmor_nrm2(residual, &left));
    assert_ok(larmor_axpby(1, s.b, 0, residual));
    assert_ok(larmor_mul(s.held.factors, 0, residual));
    assert_ok(larmor_nrm2(residual, &all));
    assert_at_most(fabs(left * left / (all * all) - choice.misfit), 1e-4 * choice.misfit);
}

/* What is left is rounding, whose energy may come out negative. */
TEST(a_weight_above_all_bounds_ends_without_alarm)
{
    OWNED(scan) s = noisy_scan(1);
    for (int p = 1; p < 3; p++) {
        larmor_choice choice;
        chosen(&s, penalties[p], &choice);
        for (double factor = 100; factor < 1e7; factor *= 100)
            assert_at_most(given(&s, penalties[p], factor * choice.weight), 1.5);
    }
}

TEST(data_ten_times_as_large_have_the_same_image_ten_times_as_large)
{
    for (int p = 0; p < 3; p++) {
        larmor_choice one, ten;
        OWNED(scan) s = noisy_scan(0.3);
        chosen(&s, penalties[p], &one);
        scale(s.b, 10);
        scale(s.noise, 10);
        chosen(&s, penalties[p], &ten);
        /* |x|^2 beside |A x - b|^2 has no unit of the data, |x| has */
        assert_at_most(fabs(ten.weight / one.weight / (p ? 10 : 1) - 1),
                       3e-2); /* a GPU rounds differently each time */
        assert_int_equal(ten.tried, one.tried);
    }
}

/* The noise says where to begin and when to stop, but the samples that are held out decide. */
TEST(the_choice_hardly_depends_on_what_the_noise_is_taken_for)
{
    const double factor[] = {0.1, 10};
    for (int p = 0; p < 3; p++) {
        larmor_choice choice;
        OWNED(scan) s = noisy_scan(0.3);
        const double right = chosen(&s, penalties[p], &choice);
        for (int f = 0; f < 2; f++) {
            OWNED(scan) t = noisy_scan(0.3);
            scale(t.noise, factor[f]);
            assert_at_most(chosen(&t, penalties[p], &choice), 1.1 * right);
        }
        s.held.noise = NULL;
        assert_at_most(chosen(&s, penalties[p], &choice), 1.1 * right);
    }
}

/* The image of so few spokes is weaker than the truth, and its noise is taken to ask for too much: the weight was
 * half to one decade too large, and the error 1.5 and 1.3 times the least. */
TEST(a_weight_far_below_the_expected_one_is_found_while_the_misfit_falls)
{
    const design sparse[] = {{"koosh", {12, 12, 12}, 14}, {"koosh", {16, 16, 16}, 14}};
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = scan_of(&sparse[i], 0.1);
        assert_at_most(above_best(&s, NULL), 1.15);
    }
}

TEST(without_noise_the_weight_is_smaller_and_the_image_right)
{
    for (int p = 0; p < 3; p++) {
        larmor_choice noisy, still;
        OWNED(scan) s = noisy_scan(0.3), t = noisy_scan(0);
        chosen(&s, penalties[p], &noisy);
        assert_at_most(chosen(&t, penalties[p], &still), 0.1);
        assert_true(still.weight > 0 && still.weight < noisy.weight);
    }
}

/* ---- samples held out ---- */

/* Of ten in a row one is held out: of readouts, or of a few samples that are 1 / FOV long together. */
static void check_held(const double *points, int64_t samples, int64_t readouts, int64_t step)
{
    OWNED(scan) s = noisy_scan(0);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), points), *kept, *factors;
    OWNED(double) *w = malloc((size_t)(samples * readouts) * sizeof *w);
    for (int64_t i = 0; i < samples * readouts; i++) w[i] = 0.5;
    OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(samples, readouts), w);
    assert_ok(larmor_hold_out(traj, weights, s.C, 3, &kept, &factors));
    OWNED(double) *f = malloc((size_t)(samples * readouts) * sizeof *f);
    assert_ok(larmor_array_read(kept, w, larmor_array_bytes(kept)));
    assert_ok(larmor_array_read(factors, f, larmor_array_bytes(factors)));
    const int64_t count = samples * readouts / step;
    for (int64_t first = 0; first + 10 <= count; first += 10) {
        int held = 0;
        for (int64_t i = first; i < first + 10; i++) held += w[i * step] == 0;
        assert_int_equal(held, 1);
    }
    for (int64_t i = 0; i < samples * readouts; i++) {
        assert_true(w[i] == (f[i] > 0 ? 0 : 0.5));
        assert_true((w[i] == 0) == (w[i - i % step] == 0));
    }
}

TEST(of_many_spokes_one_of_ten_is_held_out_of_few_or_of_a_grid_a_tenth_of_the_samples)
{
    double *spokes = radial_points(N, 2 * N, 40), grid[2 * 24 * 24];
    for (int i = 0; i < 24 * 24; i++) {
        grid[2 * i] = i % 24 - 12;
        grid[2 * i + 1] = i / 24 - 12;
    }
    check_held(spokes, 2 * N, 40, 2 * N);
    check_held(spokes, 2 * N, 12, 2); /* half of 1 / FOV apart */
    check_held(grid, 24, 24, 1);
    free(spokes);
}

/* Which samples of spokes [2, samples, readouts] are held out; to be freed. */
static double *held_of(const double *points, int64_t samples, int64_t readouts)
{
    OWNED(scan) s = noisy_scan(0.1);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), points), *kept, *factors;
    double *held = malloc((size_t)(samples * readouts) * sizeof *held);
    assert_ok(larmor_hold_out(traj, NULL, s.C, 3, &kept, &factors));
    assert_ok(larmor_array_read(kept, held, larmor_array_bytes(kept)));
    for (int64_t i = 0; i < samples * readouts; i++) held[i] = held[i] == 0;
    return held;
}

/* How many readouts have samples that are held out and others that are not. */
static int64_t partly_held(const double *held, int64_t samples, int64_t readouts)
{
    int64_t count = 0;
    for (int64_t r = 0; r < readouts; r++) {
        int64_t of_readout = 0;
        for (int64_t i = 0; i < samples; i++) of_readout += held[r * samples + i] > 0;
        count += of_readout > 0 && of_readout < samples;
    }
    return count;
}

/* Each image of few arms that are played again and again has all of them: what is held out would be there still. */
TEST(parts_of_readouts_that_repeat_or_lie_within_a_quarter_of_each_other_are_held_out_together)
{
    enum { SAMPLES = 2 * N, MOST = 40, TIMES = 3 };
    static const int64_t distinct[] = {MOST, 12};
    static const double apart[] = {0, 0.24};
    for (int d = 0; d < 2; d++)
        for (int a = 0; a < 2; a++) {
            const int64_t arms = distinct[d], all = SAMPLES * arms;
            OWNED(double) *one = radial_points(N, SAMPLES, arms);
            OWNED(double) *k = malloc((size_t)(2 * all * TIMES) * sizeof *k);
            for (int64_t i = 0; i < 2 * all * TIMES; i++)
                k[i] = one[i % (2 * all)] + (i % 2 == 0 && i >= 2 * all ? apart[a] : 0);
            OWNED(double) *held = held_of(k, SAMPLES, TIMES * arms);
            int64_t count = 0;
            for (int64_t i = 0; i < all; i++) count += held[i] > 0;
            assert_true(count > all / 20 && count < all / 5);
            assert_true(partly_held(held, SAMPLES, arms) > arms / 2);
            for (int t = 1; t < TIMES; t++) assert_memory_equal(held + t * all, held, (size_t)all * sizeof *held);
        }
}

/* Spokes through the centre with a sample more on one side, and such without: the samples that lie on others are held
 * out with them. */
TEST(readouts_that_repeat_others_in_the_opposite_direction_are_held_out_with_them)
{
    enum { SAMPLES = 2 * N, ARMS = 40 };
    static const double centre[] = {N, N - .5, N - 1};
    for (int c = 0; c < 3; c++) {
        OWNED(double) *k = malloc((size_t)(4 * SAMPLES * ARMS) * sizeof *k);
        for (int64_t i = 0; i < 2 * SAMPLES * ARMS; i++) {
            const double angle = 2.4 * (double)(i / SAMPLES % ARMS);
            const double way = i < SAMPLES * ARMS ? 1 : -1;
            k[2 * i] = way * ((double)(i % SAMPLES) - centre[c]) / 2 * cos(angle);
            k[2 * i + 1] = way * ((double)(i % SAMPLES) - centre[c]) / 2 * sin(angle);
        }
        OWNED(double) *held = held_of(k, SAMPLES, 2 * ARMS);
        int64_t alone = 0, count = 0;
        for (int64_t i = 0; i < SAMPLES * ARMS; i++) {
            const int64_t opposite = (int64_t)(2 * centre[c]) - i % SAMPLES;
            count += held[i] > 0;
            if (opposite < 0 || opposite >= SAMPLES) continue;
            alone += held[i] != held[SAMPLES * ARMS + i / SAMPLES * SAMPLES + opposite];
        }
        assert_true(count > SAMPLES * ARMS / 20 && count < SAMPLES * ARMS / 5);
        assert_true(partly_held(held, SAMPLES, 2 * ARMS) > ARMS);
        assert_int_equal(alone, 0);
    }
}

TEST(whole_readouts_are_held_out_where_fewer_than_half_repeat_others)
{
    enum { SAMPLES = 2 * N, ARMS = 40, AGAIN = 30 };
    OWNED(double) *one = radial_points(N, SAMPLES, ARMS);
    double *k = malloc((size_t)(2 * SAMPLES * (ARMS + AGAIN)) * sizeof *k);
    for (int64_t i = 0; i < 2 * SAMPLES * (ARMS + AGAIN); i++) k[i] = one[i % (2 * SAMPLES * ARMS)];
    OWNED(double) *held = held_of(k, SAMPLES, ARMS + AGAIN);
    assert_int_equal(partly_held(held, SAMPLES, ARMS + AGAIN), 0);
    assert_memory_not_equal(held, held + SAMPLES * ARMS, SAMPLES * AGAIN * sizeof *held);
    free(k);
}

/* Beyond that they are apart: there are twice as many parts, of which a tenth is held out. */
TEST(readouts_further_apart_are_held_out_each_by_itself)
{
    enum { SAMPLES = 2 * N, ARMS = 40 };
    double *one = radial_points(N, SAMPLES, ARMS);
    OWNED(double) *k = malloc((size_t)(4 * SAMPLES * ARMS) * sizeof *k);
    for (int64_t i = 0; i < 4 * SAMPLES * ARMS; i++)
        k[i] = one[i % (2 * SAMPLES * ARMS)] + (i % 2 == 0 && i >= 2 * SAMPLES * ARMS ? 0.26 : 0);
    check_held(k, SAMPLES, 2 * ARMS, SAMPLES);
    OWNED(double) *held = held_of(k, SAMPLES, 2 * ARMS);
    assert_memory_not_equal(held, held + SAMPLES * ARMS, SAMPLES * ARMS * sizeof *held);
    free(one);
}

/* ---- the weight expected from the noise ---- */

/* Of cg, and of total variation. */
static void expected(const scan *s, double weight[2])
{
    OWNED(larmor_regulariser) *tv;
    assert_ok(larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, s->image, &tv));
    for (int p = 0; p < 2; p++) assert_ok(larmor_weight_of_noise(s->A, s->b, s->noise, p ? tv : NULL, &weight[p]));
    assert_refused(larmor_weight_of_noise(s->A, s->b, NULL, tv, &(double){0}), LARMOR_ERR_ARG, "weight of noise: ");
}

TEST(the_weight_of_noise_follows_its_power_and_its_deviation)
{
    OWNED(scan) s = noisy_scan(0.1), t = noisy_scan(0.3);
    double one[2], three[2], scaled[2];
    expected(&s, one);
    expected(&t, three);
    assert_at_most(fabs(three[0] / one[0] / 9 - 1), 0.3); /* the image's power is known but for the noise in it */
    assert_at_most(fabs(three[1] / one[1] / 3 - 1), 0.1);
    /* for data and noise of another unit: none of it, and that of the data */
    scale(s.noise, 10);
    scale(s.b, 10);
    expected(&s, scaled);
    assert_at_most(fabs(scaled[0] / one[0] - 1), 1e-2);
    assert_at_most(fabs(scaled[1] / one[1] / 10 - 1), 1e-2);
    /* noise that the data do not have, as where signal is taken for it */
    scale(t.noise, 3);
    expected(&t, scaled);
    assert_at_most(fabs(scaled[0] / three[0] - 1), 0.2);
    assert_at_most(fabs(scaled[1] / three[1] - 1), 0.1);
}

/* 1.5 here, for so few voxels; docs/choosing.md has the ratios of images. */
TEST(the_weight_of_noise_makes_an_image_nearly_as_good_as_the_chosen_one)
{
    const double noise[] = {0.05, 0.5};
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = noisy_scan(noise[i]);
        double weight[2];
        expected(&s, weight);
        for (int p = 0; p < 2; p++) {
            larmor_choice choice;
            assert_at_most(given(&s, penalties[p], weight[p]), 1.5 * chosen(&s, penalties[p], &choice));
        }
    }
}

TEST(noise_has_the_deviation_asked_for_and_is_the_same_for_a_seed)
{
    enum { MANY = 20000 };
    OWNED(larmor_array) *x = zeros(LARMOR_C64, LARMOR_SHAPE(MANY)), *y = zeros(LARMOR_C128, LARMOR_SHAPE(MANY));
    assert_ok(larmor_noise_fill(x, 0.3, 5));
    assert_ok(larmor_noise_fill(y, 0.3, 5));
    OWNED(cplx) *a = values_of(x), *b = values_of(y);
    assert_at_most(difference(a, b, MANY), 1e-6);
    double re = 0, im = 0, both = 0, mean = 0;
    for (int i = 0; i < MANY; i++) {
        re += pow(creal(a[i]), 2);
        im += pow(cimag(a[i]), 2);
        both += creal(a[i]) * cimag(a[i]);
        mean += creal(a[i]);
    }
    assert_at_most(fabs(sqrt(re / MANY) / 0.3 - 1), 0.02);
    assert_at_most(fabs(sqrt(im / MANY) / 0.3 - 1), 0.02);
    assert_at_most(fabs(both / MANY) / 0.09, 0.03);
    assert_at_most(fabs(mean / MANY) / 0.3, 0.03);
    assert_refused(larmor_noise_fill(x, -1, 1), LARMOR_ERR_ARG, "noise: the deviation is -1");
}

/* ---- data that determine the image ---- */

/* Signal that the maps do not describe, as it folds in from beyond the field of view: at two edges. */
static void add_folded(scan *s, double amplitude)
{
    OWNED(cplx) *maps = values_of(s->maps), *x = calloc((size_t)s->voxels, sizeof *x);
    OWNED(larmor_op) *A;
    for (int64_t i = 0; i < s->voxels * COILS; i++) maps[i] = conj(maps[i]);
    for (int64_t i = 0; i < s->voxels; i++) x[i] = amplitude * (fabs(position(s->image, i, 1)) > 0.44);
    OWNED(larmor_array) *other = complex_array(LARMOR_C64, larmor_shape_append(s->image, COILS), maps);
    OWNED(larmor_array) *outside = complex_array(LARMOR_C64, s->image, x), *folded = zeros(LARMOR_C64, s->b->shape);
    assert_ok(larmor_op_sense(other, &(larmor_sense_opts){.traj = s->traj}, &A));
    assert_ok(larmor_op_forward(A, outside, folded));
    assert_ok(larmor_axpby(1, folded, 1, s->b));
}

static larmor_array *alternating(const larmor_array *b)
{
    larmor_array *factors = zeros(LARMOR_C64, b->shape), *one;
    for (int c = 0; c < COILS; c++) {
        assert_ok(larmor_array_slice(factors, c, 1, &one));
        assert_ok(larmor_fill(one, c % 2 ? -1 : 1));
        larmor_array_free(one);
    }
    return factors;
}

TEST(the_noise_is_measured_beside_a_larger_misfit_of_the_model)
{
    const double taken_for[] = {1, 4};
    for (int folded = 0; folded < 2; folded++)
        for (int i = 0; i < 2; i++) {
            OWNED(scan) s = scan_of(&cartesian, 0.1);
            OWNED(larmor_array) *factors = alternating(s.b);
            double factor;
            if (folded) add_folded(&s, 1);
            scale(s.noise, taken_for[i]);
            assert_ok(larmor_noise_left(s.A, s.b, s.noise, factors, &factor));
            assert_at_most(fabs(factor * taken_for[i] - 1), folded ? 0.25 : 0.1);
            assert_refused(larmor_noise_left(s.A, s.b, s.noise, NULL, &factor), LARMOR_ERR_ARG, "factors are needed");
        }
}

TEST(of_one_coil_all_noise_is_in_the_image_and_none_is_left)
{
    OWNED(scan) s = scan_of(&cartesian, 0.1);
    OWNED(larmor_array) *one, *b, *noise, *factors;
    OWNED(larmor_op) *A;
    double factor;
    assert_ok(larmor_array_slice(s.maps, 0, 1, &one));
    assert_ok(larmor_array_slice(s.b, 0, 1, &b));
    assert_ok(larmor_array_slice(s.noise, 0, 1, &noise));
    factors = zeros(LARMOR_C64, b->shape);
    assert_ok(larmor_fill(factors, 1));
    assert_ok(larmor_op_sense(one, &(larmor_sense_opts){.traj = s.traj}, &A));
    scale(noise, 100);
    assert_ok(larmor_noise_left(A, b, noise, factors, &factor));
    assert_true(factor == 1);
}

/* Samples held out of a grid would make it a problem of its own, in which what folds is the largest error. */
TEST(the_image_of_a_grid_is_near_the_best_also_with_signal_that_folds)
{
    const double noise[] = {0.1, 0.5};
    for (int i = 0; i < 4; i++) {
        OWNED(scan) s = scan_of(&cartesian, noise[i % 2]);
        if (i > 1) add_folded(&s, 0.5);
        larmor_op *held = s.held.A;
        s.held.A = NULL;
        s.held.factors = NULL;
        for (int p = 0; p < 3; p++) assert_at_most(above_best(&s, penalties[p]), 1.15);
        s.held.noise = NULL;
        larmor_choice choice;
        assert_refused(larmor_choose_weight(s.A, s.b, &s.held, s.C, NULL, NULL, &choice), LARMOR_ERR_ARG,
                       "a sample of the noise");
        s.held.A = held;
    }
}
