/* Images as they are sent, for a host that shows them. SPDX-License-Identifier: Apache-2.0 */
#include "stream/pixels.h"

#include "core/core.h"
#include "io/bytes.h"

/* As files of images have it (io/images/values.c), so that both are the same. */
static double magnitude(const float *v)
{
    const double re = v[0], im = v[1];
    return sqrt(re * re + im * im);
}

larmor_status lmr_pixels_peak(const larmor_array *image, double *peak)
{
    LMR_OWN_MEMORY(float, v, larmor_array_download(image, LARMOR_C64, &v));
    *peak = 0;
    for (int64_t i = 0; i < larmor_array_count(image); i++) *peak = fmax(*peak, magnitude(v + 2 * i));
    return LARMOR_OK;
}

/* ---- attributes ---- */

static void open_meta(lmr_bytes *xml, const char *name)
{
    lmr_bytes_print(xml, "<meta><name>%s</name>", name);
}

static void add_value(lmr_bytes *xml, const char *value)
{
    lmr_bytes_print(xml, "<value>");
    lmr_bytes_xml(xml, value);
    lmr_bytes_print(xml, "</value>");
}

static void add_text(lmr_bytes *xml, const char *name, const char *value)
{
    open_meta(xml, name);
    add_value(xml, value);
    lmr_bytes_print(xml, "</meta>\n");
}

static void add_direction(lmr_bytes *xml, const char *name, const double v[3])
{
    open_meta(xml, name);
    for (int d = 0; d < 3; d++) lmr_bytes_print(xml, "<value>%.18f</value>", v[d]);
    lmr_bytes_print(xml, "</meta>\n");
}

static larmor_status make_attributes(const lmr_pixels *p, const larmor_image_meta *meta, lmr_bytes *xml)
{
    lmr_bytes_print(xml, "<?xml version=\"1.0\"?>\n<ismrmrdMeta>\n");
    add_text(xml, "DataRole", "Image");
    open_meta(xml, "ImageProcessingHistory");
    add_value(xml, "larmor");
    lmr_bytes_print(xml, "</meta>\n");
    add_text(xml, "SeriesDescription", p->description);
    add_text(xml, "Keep_image_geometry", "1");
    if (!meta->place_unknown) {
        add_direction(xml, "ImageRowDir", meta->read_dir);
        add_direction(xml, "ImageColumnDir", meta->phase_dir);
    }
    if (p->as == LARMOR_PIXELS_INT16) {
        lmr_bytes_print(xml, "<meta><name>WindowCenter</name><value>%d</value></meta>\n", (p->most + 1) / 2);
        lmr_bytes_print(xml, "<meta><name>WindowWidth</name><value>%d</value></meta>\n", p->most + 1);
        lmr_bytes_print(xml, "<meta><name>LarmorScale</name><value>%.9g</value></meta>\n", p->scale);
    }
    lmr_bytes_print(xml, "</ismrmrdMeta>\n");
    return lmr_bytes_end(xml);
}

/* ---- numbers ---- */

/* In the place of the complex numbers, which are longer. */
static void to_magnitudes(float *v, int64_t count)
{
    for (int64_t i = 0; i < count; i++) v[i] = (float)magnitude(v + 2 * i);
}

static void to_int16(lmr_pixels *p, float *v, int64_t count)
{
    char *to = (char *)v;
    for (int64_t i = 0; i < count; i++) {
        const double value = magnitude(v + 2 * i) * p->scale;
        const int over = !(value < p->most + 0.5);
        const int16_t pixel = (int16_t)(over ? p->most : (int)lrint(value));
        p->cut += over;
        memcpy(to + (size_t)i * sizeof pixel, &pixel, sizeof pixel);
    }
}

larmor_status lmr_pixels_send(lmr_pixels *p, larmor_stream *stream, const larmor_recon_image *image)
{
    static const larmor_pixel_type types[] = {LARMOR_PIXEL_INT16, LARMOR_PIXEL_FLOAT, LARMOR_PIXEL_COMPLEX};
    const larmor_shape shape = larmor_array_shape(image->data);
    const int64_t count = larmor_array_count(image->data);
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes xml = {0};
    LMR_OWN_MEMORY(float, v, larmor_array_download(image->data, LARMOR_C64, &v));
    if (p->as == LARMOR_PIXELS_INT16) to_int16(p, v, count);
    if (p->as == LARMOR_PIXELS_FLOAT) to_magnitudes(v, count);
    LMR_TRY(make_attributes(p, &image->meta, &xml));
    larmor_message m = {.kind = LARMOR_MESSAGE_IMAGE,
                        .image = {.meta = image->meta,
                                  .type = types[p->as],
                                  .dim = {1, 1, 1},
                                  .channels = 1,
                                  .kind = p->as == LARMOR_PIXELS_COMPLEX ? 5 : 1,
                                  .index = ++p->index & UINT16_MAX,
                                  .series = 1,
                                  .data = v,
                                  .attributes = (const char *)xml.data}};
    for (int d = 0; d < shape.ndim && d < 3; d++) m.image.dim[d] = shape.dim[d];
    return larmor_stream_send(stream, &m);
}

/* ---- received ---- */

/* Number i of real ones. */
static double real_number(const larmor_message_image *image, int64_t i)
{
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    float f32;
    double f64;
    const char *data = image->data;
#define NUMBER(type_, to_)                                                                                           \
    case type_:                                                                                                      \
        memcpy(&(to_), data + (size_t)i * sizeof(to_), sizeof(to_));                                                 \
        return (double)(to_);
    switch (image->type) {
        NUMBER(LARMOR_PIXEL_UINT16, u16)
        NUMBER(LARMOR_PIXEL_INT16, i16)
        NUMBER(LARMOR_PIXEL_UINT32, u32)
        NUMBER(LARMOR_PIXEL_INT32, i32)
        NUMBER(LARMOR_PIXEL_FLOAT, f32)
        NUMBER(LARMOR_PIXEL_DOUBLE, f64)
    default:
        return 0;
    }
#undef NUMBER
}

larmor_status lmr_pixels_take(const larmor_message_image *image, larmor_device *dev, larmor_array **out)
{
    const int solid = image->dim[2] > 1 || image->channels > 1;
    const int64_t dim[3] = {image->dim[0], image->dim[1], image->dim[2] * image->channels};
    const larmor_shape shape = larmor_shape_of(solid ? 3 : 2, dim);
    const int64_t count = dim[0] * dim[1] * dim[2];
    if (image->type == LARMOR_PIXEL_COMPLEX)
        return larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, image->data, out);
    if (image->type == LARMOR_PIXEL_COMPLEX_DOUBLE)
        return larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C128, image->data, out);
    LMR_HEAP LMR_NEW(float, v, count);
    for (int64_t i = 0; i < count; i++) v[i] = (float)real_number(image, i);
    return larmor_array_upload(dev, LARMOR_F32, shape, LARMOR_F32, v, out);
}
