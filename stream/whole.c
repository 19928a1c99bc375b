/* A whole scan from a stream, and all images to one, without a session. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "stream/message.h"
#include "stream/pixels.h"
#include "stream/readouts.h"
#include "stream/waves.h"

#define SCAN_MEMORY ((int64_t)4 << 30)

typedef struct whole {
    larmor_stream *stream;
    lmr_readouts readouts;
    lmr_waves waves;
    char *xml;
    int64_t xml_bytes, memory;
    int is_over;
} whole;

static larmor_status take(whole *w, const larmor_message *m)
{
    switch (m->kind) {
    case LARMOR_MESSAGE_END:
    case LARMOR_MESSAGE_CLOSE:
        w->is_over = 1;
        if (m->kind == LARMOR_MESSAGE_CLOSE && w->readouts.count) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: ended after %lld acquisitions, expected some and CLOSE.",
                        w->stream->name, (long long)w->readouts.count);
    case LARMOR_MESSAGE_HEADER:
        LMR_REFUSE(w->xml, LARMOR_ERR_FORMAT, "%s: a second header; one expected.", w->stream->name);
        w->xml = malloc((size_t)m->bytes + 1);
        if (!w->xml) return LMR_NO_MEMORY();
        memcpy(w->xml, m->text, (size_t)m->bytes + 1);
        w->xml_bytes = m->bytes;
        return LARMOR_OK;
    case LARMOR_MESSAGE_ACQUISITION:
        LMR_REFUSE(!w->xml, LARMOR_ERR_FORMAT, "%s: an acquisition before the header.", w->stream->name);
        return lmr_readouts_add(&w->readouts, &m->acquisition, m->bytes, lmr_stream_take(w->stream));
    case LARMOR_MESSAGE_WAVEFORM:
        return lmr_waves_add(&w->waves, &m->waveform, m->bytes, lmr_stream_take(w->stream));
    default:
        return LARMOR_OK; /* a configuration, texts: nothing of the scan */
    }
}

static larmor_status receive(whole *w)
{
    larmor_message m;
    while (!w->is_over) {
        const int64_t left = w->memory - w->readouts.bytes - w->waves.bytes;
        w->stream->memory = left > 0 ? left : 0;
        LMR_TRY(larmor_stream_receive(w->stream, &m));
        LMR_TRY(take(w, &m));
    }
    return LARMOR_OK;
}

static larmor_status give_waves(const whole *w, larmor_raw **raw)
{
    int damaged;
    const larmor_status st = lmr_waves_give(&w->waves, *raw, &damaged);
    if (!st) return st;
    larmor_raw_free(*raw);
    *raw = NULL;
    return st;
}

larmor_status larmor_stream_take_scan(larmor_stream *stream, int64_t memory, const larmor_raw_opts *opts,
                                      larmor_raw **raw)
{
    LMR_NEED_OUT(raw, stream);
    whole w = {.stream = stream, .memory = memory > 0 ? memory : SCAN_MEMORY};
    const int64_t message = stream->memory;
    larmor_status st = receive(&w);
    if (!st) st = larmor_raw_of_acquisitions(w.xml, w.xml_bytes, w.readouts.each, w.readouts.count, opts, raw);
    if (!st) st = give_waves(&w, raw);
    stream->memory = message;
    lmr_readouts_free(&w.readouts);
    lmr_waves_free(&w.waves);
    free(w.xml);
    return st;
}

larmor_status larmor_stream_send_images(larmor_stream *stream, const larmor_recon_image *images, int count)
{
    LMR_NEED(stream);
    lmr_pixels pixels = {.as = LARMOR_PIXELS_COMPLEX, .description = "larmor"};
    if (count > 0) LMR_NEED(images);
    for (int i = 0; i < count; i++) LMR_TRY(lmr_pixels_send(&pixels, stream, &images[i]));
    return larmor_stream_send(stream, &(larmor_message){.kind = LARMOR_MESSAGE_CLOSE});
}
