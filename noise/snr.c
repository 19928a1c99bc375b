/* The signal-to-noise ratio in absolute units. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

larmor_status larmor_snr_map(const larmor_array *image, const larmor_array *deviation, larmor_array **snr)
{
    LMR_NEED(snr);
    *snr = NULL;
    LMR_NEED(image && deviation);
    const larmor_shape shape = larmor_array_shape(image);
    LMR_REFUSE(lmr_is_complex(larmor_array_dtype(deviation)), LARMOR_ERR_ARG,
               "deviation: it is complex, and has to be real");
    LMR_REFUSE(!larmor_shape_equal(shape, larmor_array_shape(deviation)), LARMOR_ERR_SHAPE,
               "deviation: its shape is not that of the image");
    LMR_OWN_MEMORY(float, value, larmor_array_download(image, LARMOR_C64, &value));
    LMR_OWN_MEMORY(double, ratio, larmor_array_download(deviation, LARMOR_F64, &ratio));
    for (int64_t v = 0; v < larmor_shape_count(shape); v++)
        ratio[v] = ratio[v] > 0 ? hypot((double)value[2 * v], (double)value[2 * v + 1]) / ratio[v] : 0;
    return larmor_array_upload(larmor_array_device(image), LARMOR_F32, shape, LARMOR_F64, ratio, snr);
}
