/* Messages of MRD version 1, received and sent: a number of 16 bits, then what belongs to it, little-endian.
 * SPDX-License-Identifier: Apache-2.0 */
#include "stream/message.h"

#include <unistd.h>

#include "core/core.h"
#include "io/reader/mrd_records.h"

_Static_assert(sizeof(lmr_mrd_readout_head) == 340 && sizeof(lmr_mrd_image) == 198 && sizeof(lmr_mrd_wave_head) == 40,
               "records are as they are sent");

enum { CONFIG_NAME = 1024, MOST_DIMENSIONS = 32 };
enum { MOST_CHANNELS = 1024 };

/* Bytes of a pixel; 0 for a type that is none. */
static int pixel_bytes(int type)
{
    static const int bytes[] = {0, 2, 2, 4, 4, 4, 8, 8, 16};
    return type > 0 && type < (int)(sizeof bytes / sizeof *bytes) ? bytes[type] : 0;
}

larmor_status larmor_stream_create(int in, int out, const larmor_stream_opts *opts, larmor_stream **stream)
{
    static const larmor_stream_opts defaults;
    LMR_NEED_OUT(stream);
    if (!opts) opts = &defaults;
    LMR_REFUSE(in < 0 || out < 0, LARMOR_ERR_ARG, "stream: descriptors %d and %d; open ones expected", in, out);
    LMR_NEW_ZEROS(larmor_stream, s, 1);
    s->memory = opts->memory > 0 ? opts->memory : LMR_STREAM_MEMORY;
    s->keep_open = 1; /* until nothing can fail any more */
    s->name = strdup(opts->name ? opts->name : "stream");
    const larmor_status st = s->name ? lmr_wire_open(in, out, opts->idle_s, s->name, &s->wire) : LMR_NO_MEMORY();
    if (st) {
        larmor_stream_free(s);
        return st;
    }
    s->keep_open = opts->keep_open;
    *stream = s;
    return LARMOR_OK;
}

void larmor_stream_free(larmor_stream *s)
{
    if (!s) return;
    if (!s->keep_open) {
        close(s->wire.in);
        if (s->wire.out != s->wire.in) close(s->wire.out);
    }
    lmr_wire_end(&s->wire);
    lmr_bytes_free(&s->going);
    LMR_FREE(s->payload, s->name, s);
}

void *lmr_stream_take(larmor_stream *s)
{
    void *payload = s->payload;
    s->payload = NULL;
    return payload;
}

/* ---- received ---- */

static larmor_status take(larmor_stream *s, void *to, int64_t bytes)
{
    size_t got;
    LMR_TRY(lmr_wire_read(&s->wire, to, (size_t)bytes, &got));
    if (got == (size_t)bytes) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: ends within a message.", s->name);
}

/* Room for so many bytes, with a 0 behind them. */
static larmor_status make_room(larmor_stream *s, const char *what, int64_t bytes, int64_t most)
{
    if (most > s->memory) most = s->memory;
    LMR_REFUSE(bytes < 0 || bytes > most, LARMOR_ERR_MEMORY,
               "%s: %s of %lld bytes; at most %lld are taken (opts.memory).", s->name, what, (long long)bytes,
               (long long)most);
    s->payload = malloc((size_t)bytes + 1);
    if (!s->payload) return LMR_NO_MEMORY();
    ((char *)s->payload)[bytes] = 0;
    return LARMOR_OK;
}

/* The bytes of a product of sizes; -1 if that is more than fits. */
static int64_t product(const int64_t *factor, int count)
{
    int64_t all = 1;
    for (int i = 0; i < count; i++)
        if (!lmr_mul(all, factor[i], &all)) return -1;
    return all;
}

static larmor_status skip(larmor_stream *s, const char *what, int64_t bytes)
{
    char gone[4096];
    LMR_REFUSE(bytes < 0 || bytes > s->memory, LARMOR_ERR_MEMORY, "%s: %s is larger than %lld bytes (opts.memory).",
               s->name, what, (long long)s->memory);
    for (int64_t left = bytes; left > 0; left -= (int64_t)sizeof gone)
        LMR_TRY(take(s, gone, left < (int64_t)sizeof gone ? left : (int64_t)sizeof gone));
    return LARMOR_OK;
}

static larmor_status take_name(larmor_stream *s, larmor_message *m)
{
    LMR_TRY(make_room(s, "a configuration", CONFIG_NAME, CONFIG_NAME));
    LMR_TRY(take(s, s->payload, CONFIG_NAME));
    m->text = s->payload;
    m->bytes = (int64_t)strlen(m->text);
    return LARMOR_OK;
}

/* Its length counts a 0 at the end where the sender puts one, and what may stand behind that. */
static larmor_status take_text(larmor_stream *s, larmor_message *m)
{
    const int is_header = m->kind == LARMOR_MESSAGE_HEADER;
    uint32_t bytes;
    LMR_TRY(take(s, &bytes, sizeof bytes));
    LMR_TRY(make_room(s, "a text", bytes, is_header ? LMR_STREAM_MOST_HEADER : LMR_STREAM_MOST_TEXT));
    LMR_TRY(take(s, s->payload, bytes));
    m->text = s->payload;
    m->bytes = (int64_t)strlen(m->text);
    return LARMOR_OK;
}

static larmor_acquisition acquisition_of(const lmr_mrd_readout_head *h)
{
    larmor_acquisition a = {.flags = h->flags,
                            .samples = h->number_of_samples,
                            .coils = h->active_channels,
                            .traj_dims = h->trajectory_dimensions,
                            .discard_pre = h->discard_pre,
                            .discard_post = h->discard_post,
                            .center_sample = h->center_sample,
                            .encoding = h->encoding_space_ref,
                            .dwell_us = (double)h->sample_time_us,
                            .step1 = h->idx.kspace_encode_step_1,
                            .step2 = h->idx.kspace_encode_step_2,
                            .average = h->idx.average,
                            .slice = h->idx.slice,
                            .contrast = h->idx.contrast,
                            .phase = h->idx.phase,
                            .repetition = h->idx.repetition,
                            .set = h->idx.set,
                            .segment = h->idx.segment,
                            .time_stamp = h->acquisition_time_stamp,
                            .measurement_uid = h->measurement_uid};
    for (int k = 0; k < 8; k++) a.user[k] = h->idx.user[k];
    memcpy(a.user_int, h->user_int, sizeof a.user_int);
    memcpy(a.user_float, h->user_float, sizeof a.user_float);
    memcpy(a.physiology_stamp, h->physiology_time_stamp, sizeof a.physiology_stamp);
    lmr_mrd_get_floats(a.position_mm, h->position);
    lmr_mrd_get_floats(a.read_dir, h->read_dir);
    lmr_mrd_get_floats(a.phase_dir, h->phase_dir);
    lmr_mrd_get_floats(a.slice_dir, h->slice_dir);
    lmr_mrd_get_floats(a.table_mm, h->patient_table_position);
    return a;
}

static larmor_status take_acquisition(larmor_stream *s, larmor_message *m)
{
    lmr_mrd_readout_head h;
    LMR_TRY(take(s, &h, sizeof h));
    LMR_REFUSE(h.active_channels > MOST_CHANNELS, LARMOR_ERR_FORMAT,
               "%s: an acquisition of %d channels; at most %d expected.", s->name, h.active_channels, MOST_CHANNELS);
    const int64_t points = (int64_t)h.number_of_samples * h.trajectory_dimensions * (int64_t)sizeof(float);
    const int64_t data = INT64_C(2) * h.number_of_samples * h.active_channels * (int64_t)sizeof(float);
    LMR_TRY(make_room(s, "an acquisition", points + data, INT64_MAX));
    LMR_TRY(take(s, s->payload, points + data));
    m->acquisition = acquisition_of(&h);
    m->acquisition.traj = points ? s->payload : NULL;
    m->acquisition.data = data ? (const float *)(const void *)((const char *)s->payload + points) : NULL;
    m->bytes = points + data;
    return LARMOR_OK;
}

static larmor_message_image image_of(const lmr_mrd_image *h)
{
    larmor_message_image image = {.type = (larmor_pixel_type)h->data_type,
                                  .dim = {h->matrix_size[0], h->matrix_size[1], h->matrix_size[2]},
                                  .channels = h->channels,
                                  .kind = h->image_type,
                                  .index = h->image_index,
                                  .series = h->image_series_index,
                                  .meta = lmr_mrd_meta_of(h)};
    larmor_image_meta *m = &image.meta;
    m->place_unknown = 1;
    for (int d = 0; d < 3; d++) m->place_unknown &= m->read_dir[d] == 0 && m->phase_dir[d] == 0;
    return image;
}

/* The attributes and, aligned behind them, the pixels. */
static larmor_status take_image(larmor_stream *s, larmor_message *m)
{
    struct {
        lmr_mrd_image head;
        unsigned char attributes[8];
    } h;
    uint64_t text;
    LMR_TRY(take(s, &h.head, sizeof h.head));
    LMR_TRY(take(s, h.attributes, sizeof h.attributes));
    memcpy(&text, h.attributes, sizeof text);
    const int64_t pixel = pixel_bytes(h.head.data_type);
    const int64_t factors[] = {pixel, h.head.matrix_size[0], h.head.matrix_size[1], h.head.matrix_size[2],
                               h.head.channels};
    const int64_t data = product(factors, 5);
    LMR_REFUSE(!pixel, LARMOR_ERR_FORMAT, "%s: an image of type %d.", s->name, h.head.data_type);
    LMR_REFUSE(!data, LARMOR_ERR_FORMAT, "%s: an image without a size.", s->name);
    LMR_REFUSE(text > (uint64_t)LMR_STREAM_MOST_HEADER, LARMOR_ERR_MEMORY,
               "%s: attributes of an image are larger than %lld bytes.", s->name, (long long)LMR_STREAM_MOST_HEADER);
    const int64_t before = ((int64_t)text + 16) / 16 * 16;
    LMR_REFUSE(data < 0 || data > INT64_MAX - before, LARMOR_ERR_MEMORY, "%s: an image is too large.", s->name);
    LMR_TRY(make_room(s, "an image", before + data, INT64_MAX));
    LMR_TRY(take(s, s->payload, (int64_t)text));
    ((char *)s->payload)[text] = 0;
    LMR_TRY(take(s, (char *)s->payload + before, data));
    m->image = image_of(&h.head);
    m->image.attributes = s->payload;
    m->image.data = (char *)s->payload + before;
    m->bytes = data;
    return LARMOR_OK;
}

static larmor_status take_waveform(larmor_stream *s, larmor_message *m)
{
    lmr_mrd_wave_head h;
    LMR_TRY(take(s, &h, sizeof h));
    m->bytes = INT64_C(4) * h.number_of_samples * h.channels;
    LMR_TRY(make_room(s, "a waveform", m->bytes, INT64_MAX));
    LMR_TRY(take(s, s->payload, m->bytes));
    m->waveform = (larmor_waveform){.id = h.waveform_id,
                                    .trigger = -1,
                                    .channels = h.channels,
                                    .samples = h.number_of_samples,
                                    .time_stamp = h.time_stamp,
                                    .sample_us = (double)h.sample_time_us,
                                    .data = s->payload};
    return LARMOR_OK;
}

static larmor_status take_array(larmor_stream *s, larmor_message *m LMR_UNUSED)
{
    uint16_t head[3]; /* type, version, dimensions */
    uint64_t dim[MOST_DIMENSIONS];
    int64_t factors[MOST_DIMENSIONS + 1];
    LMR_TRY(take(s, head, sizeof head));
    factors[0] = pixel_bytes(head[0]);
    LMR_REFUSE(!factors[0] || head[2] > MOST_DIMENSIONS, LARMOR_ERR_FORMAT,
               "%s: an array of type %d with %d dimensions.", s->name, head[0], head[2]);
    LMR_TRY(take(s, dim, (int64_t)(head[2] * sizeof *dim)));
    for (int d = 0; d < head[2]; d++) factors[d + 1] = dim[d] > INT64_MAX ? -1 : (int64_t)dim[d];
    return skip(s, "an array", product(factors, head[2] + 1));
}

/* ---- sent ---- */

static larmor_status refuse(const larmor_stream *s, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: %s cannot be sent: a number does not fit into a message", s->name, what);
}

static int fits(const int64_t *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (value[i] < 0 || value[i] > UINT16_MAX) return 0;
    return 1;
}

static larmor_status put_text(larmor_stream *s, const larmor_message *m)
{
    const char *text = m->text ? m->text : "";
    const int64_t bytes = m->bytes ? m->bytes : (int64_t)strlen(text);
    if (bytes < 0 || bytes >= UINT32_MAX) return refuse(s, "a text");
    const uint32_t with_end = (uint32_t)bytes + 1;
    lmr_bytes_add(&s->going, &with_end, sizeof with_end);
    lmr_bytes_add(&s->going, text, (size_t)bytes);
    lmr_bytes_add(&s->going, "", 1);
    return LARMOR_OK;
}

static larmor_status put_name(larmor_stream *s, const larmor_message *m)
{
    char name[CONFIG_NAME] = "";
    const size_t bytes = m->text ? strlen(m->text) : 0;
    if (bytes >= sizeof name) return refuse(s, "the name of a configuration");
    memcpy(name, m->text ? m->text : "", bytes);
    lmr_bytes_add(&s->going, name, sizeof name);
    return LARMOR_OK;
}

static larmor_status put_acquisition(larmor_stream *s, const larmor_message *m)
{
    const larmor_acquisition *a = &m->acquisition;
    const int64_t numbers[] = {a->samples,  a->traj_dims, a->discard_pre, a->discard_post, a->center_sample,
                               a->encoding, a->step1,     a->step2,       a->average,      a->slice,
                               a->contrast, a->phase,     a->repetition,  a->set,          a->segment};
    int64_t user[8];
    for (int k = 0; k < 8; k++) user[k] = a->user[k];
    if (!fits(numbers, sizeof numbers / sizeof *numbers) || !fits(user, 8) || a->coils < 0 ||
        a->coils > MOST_CHANNELS)
        return refuse(s, "an acquisition");
    const size_t data = 2 * (size_t)a->samples * (size_t)a->coils, points = (size_t)a->samples * (size_t)a->traj_dims;
    LMR_REFUSE((data && !a->data) || (points && !a->traj), LARMOR_ERR_ARG,
               "%s: an acquisition cannot be sent: it has no %s", s->name, a->data ? "trajectory" : "data");
    const lmr_mrd_readout_head head = lmr_mrd_head_of(a, s->counter++);
    lmr_bytes_add(&s->going, &head, sizeof head);
    if (points) lmr_bytes_add(&s->going, a->traj, points * sizeof *a->traj);
    if (data) lmr_bytes_add(&s->going, a->data, data * sizeof *a->data);
    return LARMOR_OK;
}

static lmr_mrd_image image_head(const larmor_message_image *image, size_t attributes)
{
    lmr_mrd_image h = lmr_mrd_image_of(&image->meta, image->dim, attributes);
    h.data_type = (uint16_t)image->type;
    h.channels = (uint16_t)image->channels;
    h.image_type = (uint16_t)image->kind;
    h.image_index = (uint16_t)image->index;
    h.image_series_index = (uint16_t)image->series;
    return h;
}

static larmor_status put_image(larmor_stream *s, const larmor_message *message)
{
    const larmor_message_image *image = &message->image;
    const larmor_image_meta *m = &image->meta;
    const int64_t numbers[] = {image->dim[0], image->dim[1], image->dim[2], image->channels, image->kind,
                               image->index,  image->series, m->average,    m->slice,        m->contrast,
                               m->phase,      m->repetition, m->set};
    const int64_t pixel = pixel_bytes((int)image->type);
    const int64_t factors[] = {pixel, image->dim[0], image->dim[1], image->dim[2], image->channels};
    const int64_t bytes = product(factors, 5);
    if (!fits(numbers, sizeof numbers / sizeof *numbers) || bytes < 1) return refuse(s, "an image");
    LMR_REFUSE(!image->data, LARMOR_ERR_ARG, "%s: an image cannot be sent: it has no data", s->name);
    const uint64_t attributes = image->attributes ? strlen(image->attributes) : 0;
    if (attributes > (uint64_t)LMR_STREAM_MOST_HEADER) return refuse(s, "an image's attributes");
    const lmr_mrd_image head = image_head(image, attributes);
    lmr_bytes_add(&s->going, &head, sizeof head);
    lmr_bytes_add(&s->going, &attributes, sizeof attributes);
    if (attributes) lmr_bytes_add(&s->going, image->attributes, attributes);
    lmr_bytes_add(&s->going, image->data, (size_t)bytes);
    return LARMOR_OK;
}

static larmor_status put_waveform(larmor_stream *s, const larmor_message *m)
{
    const larmor_waveform *w = &m->waveform;
    const int64_t numbers[] = {w->id, w->samples, w->channels};
    if (!fits(numbers, sizeof numbers / sizeof *numbers)) return refuse(s, "a waveform");
    const size_t data = (size_t)w->samples * (size_t)w->channels;
    LMR_REFUSE(data && !w->data, LARMOR_ERR_ARG, "%s: a waveform cannot be sent: it has no data", s->name);
    lmr_mrd_wave_head head;
    memset(&head, 0, sizeof head); /* and what lies between the numbers */
    head.version = LMR_MRD_VERSION;
    head.scan_counter = s->counter;
    head.time_stamp = w->time_stamp;
    head.number_of_samples = (uint16_t)w->samples;
    head.channels = (uint16_t)w->channels;
    head.sample_time_us = (float)w->sample_us;
    head.waveform_id = (uint16_t)w->id;
    lmr_bytes_add(&s->going, &head, sizeof head);
    if (data) lmr_bytes_add(&s->going, w->data, data * sizeof *w->data);
    return LARMOR_OK;
}

/* ---- messages ---- */

typedef struct content {
    larmor_message_kind kind;
    larmor_status (*take)(larmor_stream *s, larmor_message *m); /* NULL: there is none */
    larmor_status (*put)(larmor_stream *s, const larmor_message *m);
} content;

static larmor_status refuse_to_put(larmor_stream *s, const larmor_message *m)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: messages of kind %d are not sent", s->name, (int)m->kind);
}

static const content *content_of(larmor_message_kind kind)
{
    static const content known[] = {{LARMOR_MESSAGE_CONFIG_FILE, take_name, put_name},
                                    {LARMOR_MESSAGE_CONFIG_TEXT, take_text, put_text},
                                    {LARMOR_MESSAGE_HEADER, take_text, put_text},
                                    {LARMOR_MESSAGE_CLOSE, NULL, NULL},
                                    {LARMOR_MESSAGE_TEXT, take_text, put_text},
                                    {LARMOR_MESSAGE_ACQUISITION, take_acquisition, put_acquisition},
                                    {LARMOR_MESSAGE_IMAGE, take_image, put_image},
                                    {LARMOR_MESSAGE_WAVEFORM, take_waveform, put_waveform},
                                    {LARMOR_MESSAGE_ARRAY, take_array, refuse_to_put}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == kind) return &known[i];
    return NULL;
}

/* The first two bytes of an HDF5 file, "\x89H", as a message's number. */
enum { FIRST_OF_HDF5 = 0x4889 };

larmor_status larmor_stream_receive(larmor_stream *s, larmor_message *message)
{
    uint16_t number;
    size_t got;
    LMR_NEED(s, message);
    *message = (larmor_message){0};
    LMR_CLEAR(s->payload);
    LMR_TRY(lmr_wire_read(&s->wire, &number, sizeof number, &got));
    if (!got) return LARMOR_OK;
    LMR_REFUSE(got < sizeof number, LARMOR_ERR_FORMAT, "%s: ends within a message.", s->name);
    message->kind = (larmor_message_kind)number;
    LMR_REFUSE(!number, LARMOR_ERR_FORMAT, "%s: message 0 is not known; MRD version 1 expected.", s->name);
    LMR_REFUSE(number == FIRST_OF_HDF5, LARMOR_ERR_FORMAT,
               "%s: is an HDF5 file, which is not read as a stream; give it by its name, or its readouts as "
               "messages of MRD version 1 (larmor send).",
               s->name);
    const content *c = content_of(message->kind);
    if (c) return c->take ? c->take(s, message) : LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: message %d is not known; MRD version 1 expected.", s->name, (int)number);
}

larmor_status larmor_stream_send(larmor_stream *s, const larmor_message *message)
{
    LMR_NEED(s, message);
    const uint16_t number = (uint16_t)message->kind;
    s->going.size = 0;
    lmr_bytes_add(&s->going, &number, sizeof number);
    const content *c = content_of(message->kind);
    if (!c) return refuse_to_put(s, message);
    if (c->put) LMR_TRY(c->put(s, message));
    LMR_TRY(lmr_bytes_end(&s->going));
    return lmr_wire_write(&s->wire, s->going.data, s->going.size);
}

larmor_status lmr_stream_text(larmor_stream *s, const char *level, const char *line)
{
    char text[1100];
    snprintf(text, sizeof text, "%s%s", level, line);
    return larmor_stream_send(s, &(larmor_message){.kind = LARMOR_MESSAGE_TEXT, .text = text});
}

void lmr_make_printable(char *line)
{
    for (; *line; line++)
        if (*line < ' ' || *line > '~') *line = '?';
}
