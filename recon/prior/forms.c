/* Complex numbers as two channels, or as magnitude and phase; and as tensors of DLPack. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "recon/prior/prior.h"

LMR_OWNS(larmor_prox, larmor_prox_free)

/* ---- forms ---- */

/* The numbers of x as real ones [2, image...], in x's memory. */
static larmor_status channels(const larmor_array *x, larmor_array **view)
{
    larmor_shape shape = {.ndim = x->shape.ndim + 1, .dim = {2}};
    LMR_REFUSE(shape.ndim > LARMOR_MAX_DIMS, LARMOR_ERR_SHAPE, "channels: x is %s, expected at most %d dimensions",
               lmr_describe(x).s, LARMOR_MAX_DIMS - 1);
    memcpy(shape.dim + 1, x->shape.dim, sizeof *shape.dim * (size_t)x->shape.ndim);
    void *data = larmor_array_count(x) ? x->data : NULL;
    return larmor_array_wrap(x->dev, lmr_real_of(x->dtype), shape, data, NULL, NULL, view);
}

static larmor_status by_channels(const larmor_denoiser_impl *impl, void *self, double sigma, const larmor_array *x,
                                 larmor_array *z)
{
    LMR_OWN(larmor_array, in, channels(x, &in));
    LMR_OWN(larmor_array, out, channels(z, &out));
    return impl->apply(self, sigma, in, out);
}

/* The real part of a difference from the soft threshold is x min(1, t / |x|): each pass, 100 times lower than the one
 * before, loses two digits of the numbers it cuts, and all together leave numbers of one magnitude. */
#define LESS_BY_PASS 100.
enum { PASSES = 4 };

/* x <- exp(i arg x), where |x| is more than 1e-8 of the norm; less below. */
static larmor_status keep_phase(larmor_array *x)
{
    double norm;
    LMR_TRY(larmor_nrm2(x, &norm));
    if (norm == 0) return LARMOR_OK;
    LMR_OWN(larmor_array, rest, larmor_array_create(x->dev, x->dtype, x->shape, &rest));
    LMR_OWN(larmor_prox, l1, larmor_prox_l1(x->dev, 1, x->dtype, x->shape, &l1));
    LMR_TRY(larmor_axpby(1 / norm, x, 0, x));
    for (int i = 0; i < PASSES; i++) {
        LMR_TRY(larmor_prox_apply(l1, 1 / LESS_BY_PASS, x, rest));
        LMR_TRY(larmor_axpby(-LESS_BY_PASS, rest, LESS_BY_PASS, x));
    }
    return LARMOR_OK;
}

static larmor_status by_magnitude(const larmor_denoiser_impl *impl, void *self, double sigma, const larmor_array *x,
                                  larmor_array *z)
{
    LMR_OWN(larmor_array, magnitude, larmor_array_create(x->dev, x->dtype, x->shape, &magnitude));
    LMR_OWN(larmor_array, phase, larmor_array_create(x->dev, x->dtype, x->shape, &phase));
    LMR_TRY(larmor_abs(x, magnitude));
    LMR_TRY(larmor_zero(z));
    LMR_TRY(impl->apply(self, sigma, magnitude, z));
    LMR_TRY(larmor_real(z, z));
    LMR_TRY(larmor_copy(x, phase));
    LMR_TRY(keep_phase(phase));
    return larmor_mul(phase, 0, z);
}

larmor_status lmr_denoise_in_form(const larmor_denoiser_impl *impl, void *self, double sigma, const larmor_array *x,
                                  larmor_array *z)
{
    if (impl->form == LARMOR_DENOISE_CHANNELS) return by_channels(impl, self, sigma, x, z);
    if (impl->form == LARMOR_DENOISE_MAGNITUDE) return by_magnitude(impl, self, sigma, x, z);
    return impl->apply(self, sigma, x, z);
}

/* ---- tensors ---- */

enum { DL_CPU = 1, DL_CUDA = 2, DL_FLOAT = 2, DL_COMPLEX = 5 };

static larmor_dl_device device_of(const larmor_array *x)
{
    larmor_dl_device dev = {DL_CPU, 0};
    int id = 0;
    if (sscanf(larmor_device_spec(x->dev), "cuda:%d", &id) == 1) dev = (larmor_dl_device){DL_CUDA, id};
    return dev;
}

/* Dimensions in the opposite order, a number being `width` of the tensor's. */
static void fill_dims(const larmor_array *x, int64_t width, larmor_dl_tensor *t)
{
    int64_t step = width;
    t->ndim = x->shape.ndim;
    for (int d = 0; d < t->ndim; d++) {
        t->shape[t->ndim - 1 - d] = x->shape.dim[d];
        t->strides[t->ndim - 1 - d] = step;
        step *= x->shape.dim[d];
    }
}

/* The last dimension becomes the first. */
static void put_channels_first(larmor_dl_tensor *t)
{
    const int last = t->ndim - 1;
    const int64_t size = t->shape[last], step = t->strides[last];
    memmove(t->shape + 1, t->shape, sizeof *t->shape * (size_t)last);
    memmove(t->strides + 1, t->strides, sizeof *t->strides * (size_t)last);
    t->shape[0] = size;
    t->strides[0] = step;
}

larmor_status larmor_array_tensor(const larmor_array *x, larmor_denoiser_form form, int64_t *shape, int64_t *strides,
                                  larmor_dl_tensor *t)
{
    LMR_REFUSE(!x || !shape || !strides || !t, LARMOR_ERR_ARG,
               "larmor_array_tensor: x, shape, strides and tensor are needed");
    const int is_complex = lmr_is_complex(x->dtype);
    const int is_channels = form == LARMOR_DENOISE_CHANNELS, is_real_part = form == LARMOR_DENOISE_MAGNITUDE;
    const int has_channels = !is_complex && x->shape.ndim > 0 && x->shape.dim[0] == 2;
    LMR_REFUSE(x->dtype == LARMOR_I64 || (is_channels && !has_channels) || (is_real_part && !is_complex),
               LARMOR_ERR_SHAPE, "larmor_array_tensor: x is %s, expected %s", lmr_describe(x).s,
               is_channels ? "real numbers [2, image...]" : "complex numbers");
    const size_t bytes = larmor_dtype_size(x->dtype) / (is_real_part ? 2 : 1);
    *t = (larmor_dl_tensor){.data = x->data, .device = device_of(x), .shape = shape, .strides = strides};
    t->dtype = (larmor_dl_type){
        .code = is_complex && !is_real_part ? DL_COMPLEX : DL_FLOAT, .bits = (uint8_t)(8 * bytes), .lanes = 1};
    fill_dims(x, is_real_part ? 2 : 1, t);
    if (is_channels) put_channels_first(t);
    return LARMOR_OK;
}
