/* recon/prior: denoisers, the forms of complex numbers, tensors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { NX = 5, NY = 3, VOXELS = NX * NY };

/* z <- 2 x of real numbers, or of complex ones, whose shape is checked. */
static larmor_status twice(void *self, double sigma, const larmor_array *x, larmor_array *z)
{
    const larmor_denoiser_form form = *(larmor_denoiser_form *)self;
    const larmor_shape shape = larmor_array_shape(x), two = LARMOR_SHAPE(2, NX, NY), one = LARMOR_SHAPE(NX, NY);
    const int is_real = larmor_array_dtype(x) == LARMOR_F64;
    HEAP cplx *values = values_of(x);
    assert_true(sigma == 0.25);
    assert_true(is_real == (form == LARMOR_DENOISE_CHANNELS));
    assert_true(larmor_shape_equal(shape, is_real ? two : one));
    for (int i = 0; i < VOXELS && form == LARMOR_DENOISE_MAGNITUDE; i++)
        assert_true(cimag(values[i]) == 0 && creal(values[i]) >= 0);
    HEAP double *numbers = host_of(x);
    for (int i = 0; i < 2 * VOXELS; i++) numbers[i] *= 2;
    return larmor_array_write(z, numbers, larmor_array_bytes(z));
}

TEST(each_form_gets_its_numbers_and_gives_back_those_of_the_image)
{
    for (larmor_denoiser_form form = LARMOR_DENOISE_COMPLEX; form <= LARMOR_DENOISE_MAGNITUDE; form++)
        for (int is_residual = 0; is_residual < 2; is_residual++) {
            HEAP cplx *values = random_values(VOXELS, 3);
            OWNED(larmor_denoiser) *d = NULL;
            values[4] *= 1e-4; /* dark, but with a phase */
            values[7] = 0;
            OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), values);
            OWNED(larmor_array) *z = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
            const larmor_denoiser_impl impl = {
                .name = "twice", .apply = twice, .form = form, .is_residual = is_residual};
            assert_ok(larmor_denoiser_create(&impl, &form, &d));
            assert_ok(larmor_denoiser_apply(d, 0.25, x, z));
            HEAP cplx *got = values_of(z);
            for (int i = 0; i < VOXELS; i++)
                assert_at_most(cabs(got[i] - (is_residual ? -1 : 2) * values[i]), 1e-9 * cabs(values[i]));
        }
}

static larmor_status halve(void *self LMR_UNUSED, double sigma LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    return larmor_axpby(0.5, x, 0, z);
}

TEST(phases_of_single_precision_are_kept_by_magnitudes)
{
    HEAP cplx *values = random_values(VOXELS, 3);
    OWNED(larmor_denoiser) *d = NULL;
    values[4] *= 1e-3;
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, LARMOR_SHAPE(NX, NY), values);
    OWNED(larmor_array) *z = zeros(LARMOR_C64, LARMOR_SHAPE(NX, NY));
    const larmor_denoiser_impl impl = {.name = "halve", .apply = halve, .form = LARMOR_DENOISE_MAGNITUDE};
    assert_ok(larmor_denoiser_create(&impl, NULL, &d));
    assert_ok(larmor_denoiser_apply(d, 1, x, z));
    HEAP cplx *got = values_of(z);
    for (int i = 0; i < VOXELS; i++) assert_at_most(cabs(got[i] - values[i] / 2), 1e-5);
}

TEST(a_named_denoiser_is_the_proximal_map_of_its_penalty)
{
    OWNED(larmor_array) *x = drawn(LARMOR_C128, LARMOR_SHAPE(NX, NY), 5);
    OWNED(larmor_array) *z = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
    OWNED(larmor_array) *expected = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY));
    OWNED(larmor_denoiser) *d = NULL;
    OWNED(larmor_prox) *l1 = NULL;
    double norm[3];
    assert_ok(larmor_prox_l1(dev, 0.5, LARMOR_C128, LARMOR_SHAPE(NX, NY), &l1));
    assert_ok(larmor_prox_apply(l1, 1, x, expected));
    assert_ok(larmor_denoiser_named("l1", 2, &d));
    assert_ok(larmor_denoiser_apply(d, 0.25, x, z));
    assert_ok(larmor_distance(z, expected, norm));
    assert_at_most(norm[2], 2e-3 * norm[1]);
    assert_ok(larmor_denoiser_apply(d, 0, x, z));
    assert_ok(larmor_distance(z, x, norm));
    assert_true(norm[2] == 0);
    assert_string_equal(larmor_denoiser_name(d), "l1");
}

TEST(what_does_not_fit_is_refused_before_the_denoiser_is_called)
{
    OWNED(larmor_denoiser) *d = NULL;
    OWNED(larmor_array) *x = zeros(LARMOR_C128, LARMOR_SHAPE(NX, NY)), *z = zeros(LARMOR_C128, LARMOR_SHAPE(NY, NX));
    larmor_denoiser_form form = LARMOR_DENOISE_COMPLEX;
    larmor_denoiser_impl impl = {.name = "twice", .apply = twice};
    assert_ok(larmor_denoiser_create(&impl, &form, &d));
    assert_refused(larmor_denoiser_apply(d, 0.25, x, z), LARMOR_ERR_SHAPE, "twice: output");
    assert_refused(larmor_denoiser_apply(d, 0.25, x, x), LARMOR_ERR_ARG,
                   "prior twice: x and z are one array, expected two");
    assert_refused(larmor_denoiser_apply(d, -1, x, z), LARMOR_ERR_ARG,
                   "prior twice: sigma is -1, expected a finite number >= 0");
    impl.form = (larmor_denoiser_form)7;
    assert_none_made(larmor_denoiser, larmor_denoiser_create(&impl, NULL, &made), LARMOR_ERR_ARG,
                     "prior twice: form is 7, expected 0 to 2");
    assert_none_made(larmor_denoiser, larmor_denoiser_named("median", 0, &made), LARMOR_ERR_ARG, "median");
    assert_none_made(larmor_denoiser, larmor_denoiser_named("tv", -1, &made), LARMOR_ERR_ARG,
                     "prior tv: weight is -1, expected a finite number >= 0");
}

/* Element [j, i] of a tensor, the slowest dimension first. */
static double real_at(const larmor_dl_tensor *t, int64_t channel, int64_t j, int64_t i)
{
    const int last = t->ndim - 1;
    int64_t at = j * t->strides[last - 1] + i * t->strides[last];
    if (t->ndim == 3) at += channel * t->strides[0];
    return ((const double *)t->data)[at];
}

TEST(tensors_have_the_numbers_of_the_array_in_numpys_order)
{
    HEAP cplx *values = random_values(VOXELS, 9);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(NX, NY), values);
    OWNED(larmor_array) *channels = NULL;
    int64_t shape[LARMOR_MAX_DIMS], strides[LARMOR_MAX_DIMS];
    larmor_dl_tensor t;
    if (strncmp(larmor_device_spec(dev), "cpu", 3)) return; /* the numbers are read here */
    assert_ok(
        larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(2, NX, NY), larmor_array_data(x), NULL, NULL, &channels));
    assert_ok(larmor_array_tensor(x, LARMOR_DENOISE_COMPLEX, shape, strides, &t));
    assert_true(t.ndim == 2 && shape[0] == NY && shape[1] == NX && strides[0] == NX && strides[1] == 1);
    assert_true(t.dtype.code == 5 && t.dtype.bits == 128 && t.dtype.lanes == 1 && t.device.device_type == 1);
    assert_ok(larmor_array_tensor(channels, LARMOR_DENOISE_CHANNELS, shape, strides, &t));
    assert_true(t.ndim == 3 && shape[0] == 2 && shape[1] == NY && shape[2] == NX);
    assert_true(t.dtype.code == 2 && t.dtype.bits == 64);
    for (int i = 0; i < VOXELS; i++) {
        assert_true(real_at(&t, 0, i / NX, i % NX) == creal(values[i]));
        assert_true(real_at(&t, 1, i / NX, i % NX) == cimag(values[i]));
    }
    assert_ok(larmor_array_tensor(x, LARMOR_DENOISE_MAGNITUDE, shape, strides, &t));
    assert_true(t.ndim == 2 && t.dtype.code == 2 && t.dtype.bits == 64);
    for (int i = 0; i < VOXELS; i++) assert_true(real_at(&t, 0, i / NX, i % NX) == creal(values[i]));
    assert_refused(larmor_array_tensor(x, LARMOR_DENOISE_CHANNELS, shape, strides, &t), LARMOR_ERR_SHAPE,
                   "expected real numbers [2, image...]");
}
