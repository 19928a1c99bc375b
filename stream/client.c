/* The client's side of a connection: a thread sends the scan while the caller's takes what comes back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/owned.h"
#include "stream/address.h"
#include "stream/message.h"
#include "stream/pixels.h"

larmor_status larmor_stream_connect(const char *address, const larmor_stream_opts *opts, larmor_stream **stream)
{
    int fd;
    LMR_NEED_OUT(stream, address);
    larmor_stream_opts own = opts ? *opts : (larmor_stream_opts){0};
    own.name = address;
    own.keep_open = 0;
    LMR_TRY(lmr_address_connect(address, own.idle_s, &fd));
    const larmor_status st = larmor_stream_create(fd, fd, &own, stream);
    if (st) close(fd);
    return st;
}

typedef struct sender {
    larmor_stream *stream;
    const larmor_request *request;
    atomic_int stops;
    larmor_status status;
    char why[1024];
} sender;

static int is_stopped(void *user)
{
    const sender *s = user;
    return atomic_load(&s->stops);
}

static larmor_status send_text(larmor_stream *stream, larmor_message_kind kind, const char *text)
{
    return larmor_stream_send(stream, &(larmor_message){.kind = kind, .text = text});
}

/* Waveforms up to a block that begins after this time, or all. */
static larmor_status send_waves(const sender *s, const uint32_t *before, int64_t *next)
{
    larmor_message m = {.kind = LARMOR_MESSAGE_WAVEFORM};
    for (; *next < larmor_raw_waveforms(s->request->raw); ++*next) {
        LMR_TRY(larmor_raw_waveform(s->request->raw, *next, &m.waveform));
        if (before && (int32_t)(m.waveform.time_stamp - *before) > 0) break; /* clocks may pass 2^32 */
        LMR_TRY(larmor_stream_send(s->stream, &m));
    }
    return LARMOR_OK;
}

static larmor_status send_all(const sender *s)
{
    const larmor_request *r = s->request;
    int64_t wave = 0;
    const int64_t count = larmor_raw_describe(r->raw).acquisitions;
    larmor_message m = {.kind = LARMOR_MESSAGE_ACQUISITION};
    LMR_TRY(send_text(s->stream, LARMOR_MESSAGE_CONFIG_FILE, r->config ? r->config : "larmor"));
    LMR_TRY(send_text(s->stream, LARMOR_MESSAGE_HEADER, larmor_raw_xml(r->raw)));
    if (r->parameters) LMR_TRY(send_text(s->stream, LARMOR_MESSAGE_TEXT, r->parameters));
    for (int64_t i = 0; i < count; i++) {
        LMR_TRY(larmor_raw_acquisition(r->raw, i, &m.acquisition));
        LMR_TRY(send_waves(s, &m.acquisition.time_stamp, &wave));
        if (m.acquisition.data) LMR_TRY(larmor_stream_send(s->stream, &m));
    }
    LMR_TRY(send_waves(s, NULL, &wave));
    return larmor_stream_send(s->stream, &(larmor_message){.kind = LARMOR_MESSAGE_CLOSE});
}

static void *run_sender(void *user)
{
    sender *s = user;
    larmor_stop_when(is_stopped, s);
    s->status = send_all(s);
    if (s->status) snprintf(s->why, sizeof s->why, "%s", larmor_last_error());
    return NULL;
}

static larmor_status take_image(const larmor_message_image *image, larmor_device *dev, larmor_response *out)
{
    LMR_OWN(larmor_array, data, lmr_pixels_take(image, dev, &data));
    larmor_image *more = realloc(out->image, (size_t)(out->count + 1) * sizeof *more);
    if (!more) return LMR_NO_MEMORY();
    out->image = more;
    more[out->count++] = (larmor_image){data, image->meta};
    data = NULL;
    return LARMOR_OK;
}

static larmor_status take_all(larmor_stream *stream, const larmor_request *request, larmor_device *dev,
                              larmor_response *out)
{
    larmor_message m;
    for (;;) {
        LMR_TRY(larmor_stream_receive(stream, &m));
        switch (m.kind) {
        case LARMOR_MESSAGE_CLOSE:
            out->closed = 1;
            return LARMOR_OK;
        case LARMOR_MESSAGE_END:
            return LARMOR_OK;
        case LARMOR_MESSAGE_TEXT:
            out->failed |= !strncmp(m.text, "ERR", 3);
            if (request->log) request->log(request->user, m.text);
            break;
        case LARMOR_MESSAGE_IMAGE:
            LMR_TRY(take_image(&m.image, dev, out));
            if (request->image) LMR_TRY(request->image(request->user, &out->image[out->count - 1]));
            break;
        default:
            break;
        }
    }
}

larmor_status larmor_stream_request(larmor_stream *stream, const larmor_request *request, larmor_device *dev,
                                    larmor_response *out)
{
    pthread_t thread;
    LMR_NEED(out);
    *out = (larmor_response){0};
    LMR_NEED(stream, request, request->raw, dev);
    sender s = {.stream = stream, .request = request};
    LMR_REFUSE(pthread_create(&thread, NULL, run_sender, &s), LARMOR_ERR_MEMORY, "%s: no thread for what is sent",
               stream->name);
    const larmor_status st = take_all(stream, request, dev, out);
    if (st || out->closed) atomic_store(&s.stops, 1); /* nobody listens any more */
    pthread_join(thread, NULL);
    if (st || !s.status || out->closed || s.status == LARMOR_STOPPED) return st;
    return larmor_fail(s.status, "%s", s.why);
}

void larmor_response_free(larmor_response *response)
{
    if (!response) return;
    for (int i = 0; i < response->count; i++) larmor_array_free(response->image[i].data);
    free(response->image);
    *response = (larmor_response){0};
}
