/* The reader's side of the protocol: requests in, answers out, one file. What it is asked may come in any order, so
 * each request looks at what it needs. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/serve.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/core.h"
#include "io/mrd2/mrd2.h"
#include "io/pulseq/seq_answer.h"
#include "io/reader/compose.h"
#include "io/reader/h5_driver.h"
#include "io/reader/mrd_file.h"
#include "io/reader/mrd_waves.h"
#include "io/reader/parsers.h"
#include "io/twix/twix.h"

volatile int lmr_memory_refused;

typedef struct session {
    lmr_input input;
    lmr_source second;
    const lmr_parser *parser;
    int composes; /* there is no file */
    lmr_composer *composer;
    lmr_mrd_file *scan;
    lmr_mrd_refs *refs;       /* of all acquisitions */
    lmr_twix *twix;           /* in the place of both */
    lmr_mrd2 *mrd2;           /* in the place of all three */
    const lmr_mrd_head *head; /* [count] of one of these, */
    const lmr_reader_place *place;
    int64_t count;
    unsigned char *memory; /* what follows the answer */
    size_t bytes;
    int lost; /* 1: nobody listens any more */
    int filtered;
    lmr_reader_answer answer;
} session;

int64_t lmr_take_packet(void *packet, size_t bytes)
{
    ssize_t got;
    do got = read(LMR_READER_SOCKET, packet, bytes);
    while (got < 0 && errno == EINTR);
    return got < 0 ? 0 : got;
}

int lmr_greet(void)
{
    const lmr_reader_greeting greeting = {LMR_READER_MAGIC, LMR_READER_VERSION};
    ssize_t sent;
    do sent = send(LMR_READER_SOCKET, &greeting, sizeof greeting, MSG_NOSIGNAL); /* never into a file */
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof greeting;
}

static void send_packet(session *s, const void *packet, size_t bytes)
{
    ssize_t sent;
    do sent = write(LMR_READER_SOCKET, packet, bytes);
    while (sent < 0 && errno == EINTR);
    s->lost |= sent != (ssize_t)bytes;
}

static int send_answer(session *s)
{
    s->answer.magic = LMR_READER_MAGIC;
    s->answer.filtered = s->filtered;
    send_packet(s, &s->answer, sizeof s->answer);
    return !s->lost;
}

static size_t next_packet(const session *s, size_t from)
{
    return s->bytes - from < LMR_READER_PACKET ? s->bytes - from : LMR_READER_PACKET;
}

static void send_memory(session *s)
{
    for (size_t from = 0; from < s->bytes && !s->lost; from += next_packet(s, from))
        send_packet(s, s->memory + from, next_packet(s, from));
}

static void take_memory(session *s)
{
    for (size_t from = 0; from < s->bytes && !s->lost; from += next_packet(s, from)) {
        const size_t now = next_packet(s, from);
        s->lost |= lmr_take_packet(s->memory + from, now) != (int64_t)now;
    }
}

static void drop_memory(session *s)
{
    LMR_CLEAR(s->memory);
    s->bytes = 0;
}

static int take_request(session *s, lmr_reader_request *request)
{
    if (s->lost || lmr_take_packet(request, sizeof *request) != (int64_t)sizeof *request ||
        request->magic != LMR_READER_MAGIC)
        s->lost = 1;
    request->text[sizeof request->text - 1] = '\0';
    return !s->lost;
}

static larmor_status room(void *user, int64_t bytes, void **memory)
{
    session *s = user;
    lmr_reader_request grown;
    drop_memory(s);
    *memory = NULL;
    memset(&s->answer, 0, sizeof s->answer);
    s->answer.wants_room = 1;
    s->answer.room = bytes > 0 ? bytes : 1;
    LMR_REFUSE(!send_answer(s) || !take_request(s, &grown) || grown.ask != LMR_ASK_ROOM, LARMOR_ERR_IO,
               "reader: the room was not granted");
    s->memory = malloc((size_t)s->answer.room);
    if (!s->memory) return LMR_NO_MEMORY();
    s->bytes = (size_t)s->answer.room;
    *memory = s->memory;
    return LARMOR_OK;
}

/* Bytes that follow the answer, and more behind them. */
static larmor_status share(session *s, const void *first, size_t bytes, const void *more, size_t of_more)
{
    void *memory;
    LMR_TRY(room(s, (int64_t)(bytes + of_more), &memory));
    memcpy(memory, first, bytes);
    if (of_more) memcpy((char *)memory + bytes, more, of_more);
    return LARMOR_OK;
}

/* ---- scans ---- */

static larmor_status share_header(session *s, const char *xml, int64_t bytes, lmr_reader_scan *out)
{
    LMR_FREED_BY(lmr_mrd_header_free) lmr_mrd_header header = {0};
    LMR_TRY(lmr_mrd_header_parse(xml, bytes, &header));
    const size_t encodings = (size_t)header.encodings * sizeof *header.encoding;
    LMR_TRY(share(s, header.encoding, encodings, xml, (size_t)bytes));
    *out = (lmr_reader_scan){.acquisitions = 1, .claimed = 1, .xml_bytes = bytes, .header = header};
    out->header.encoding = NULL;
    return LARMOR_OK;
}

/* A scan whose heads and places are known by now, with the header that was made of it. */
static larmor_status share_parsed(session *s, const lmr_bytes *xml, const char *note, int measurements,
                                  lmr_reader_scan *out)
{
    LMR_TRY(share_header(s, (const char *)xml->data, (int64_t)xml->size, out));
    out->acquisitions = s->count;
    out->claimed = s->count;
    out->measurements = measurements;
    snprintf(out->group, sizeof out->group, "%s", LMR_MRD_USUAL_GROUP);
    snprintf(out->note, sizeof out->note, "%s", note);
    return LARMOR_OK;
}

static larmor_status open_twix(session *s, const char *measurement, lmr_reader_scan *out)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes xml = {0};
    LMR_TRY(lmr_twix_open(&s->input.source, measurement, &s->twix));
    s->head = s->twix->head;
    s->place = s->twix->place;
    s->count = s->twix->count;
    LMR_TRY(lmr_twix_xml(s->twix, &xml));
    return share_parsed(s, &xml, s->twix->note, s->twix->measurements, out);
}

static larmor_status open_mrd2(session *s, lmr_reader_scan *out)
{
    LMR_TRY(lmr_mrd2_open(&s->input.source, &s->mrd2));
    s->head = s->mrd2->head;
    s->place = s->mrd2->place;
    s->count = s->mrd2->count;
    return share_parsed(s, &s->mrd2->xml, s->mrd2->note, 0, out);
}

static larmor_status open_scan(session *s, const char *group, lmr_reader_scan *out)
{
    LMR_REFUSE(s->scan || s->twix || s->mrd2, LARMOR_ERR_ARG, "reader: the scan is open already");
    if (lmr_twix_is(&s->input.source)) return open_twix(s, group, out);
    if (lmr_mrd2_is(&s->input.source)) return open_mrd2(s, out);
    LMR_TRY(lmr_mrd_file_open(&s->input.source, group, &s->scan));
    LMR_OWN_MEMORY(char, xml, lmr_mrd_file_header(s->scan, &xml));
    LMR_TRY(share_header(s, xml, s->scan->xml_bytes, out));
    const lmr_dataset *d = &s->scan->data;
    out->acquisitions = d->count;
    out->is_unclosed = lmr_h5_is_unclosed(s->scan->id);
    out->claimed = d->claimed;
    out->is_array = s->scan->is_array;
    out->lines = out->is_array ? (int)d->dim[d->rank - 1] : 0;
    out->samples = out->is_array ? (int)d->dim[d->rank - 2] : 0;
    snprintf(out->group, sizeof out->group, "%s", s->scan->group);
    return LARMOR_OK;
}

static larmor_status share_heads(session *s)
{
    void *memory;
    if (s->head) return share(s, s->head, (size_t)s->count * sizeof *s->head, NULL, 0);
    LMR_REFUSE(!s->scan || s->refs, LARMOR_ERR_ARG, "reader: the scan is not open or was read already");
    const int64_t count = s->scan->data.count;
    LMR_ALLOCATE(s->refs, count);
    LMR_TRY(room(s, count * (int64_t)sizeof(lmr_mrd_head), &memory));
    return lmr_mrd_file_heads(s->scan, memory, s->refs);
}

/* The values of wanted acquisitions, data before trajectory, become places; the first that is damaged is told. */
static larmor_status keep_places(lmr_reader_place *place, int64_t count, const lmr_heap_value *values)
{
    for (int64_t i = 0, v = 0; i < count; i++) {
        if (!place[i].data) continue;
        for (int k = 0; k < 2; k++, v++)
            LMR_REFUSE(values[v].wrong, LARMOR_ERR_FORMAT,
                       "damaged HDF5 structure (acquisition %lld: %s). Copy it again.", (long long)i,
                       values[v].wrong);
        place[i] = (lmr_reader_place){.data = values[v - 2].at, .traj = values[v - 1].at};
    }
    return LARMOR_OK;
}

static larmor_status share_places(session *s)
{
    void *memory;
    LMR_REFUSE(!s->head && (!s->scan || !s->refs), LARMOR_ERR_ARG, "reader: the scan is not open");
    const int64_t count = s->head ? s->count : s->scan->data.count;
    LMR_TRY(room(s, count * (int64_t)sizeof(lmr_reader_place), &memory));
    take_memory(s);
    LMR_REFUSE(s->lost, LARMOR_ERR_IO, "reader: nobody says what is wanted");
    lmr_reader_place *place = memory;
    for (int64_t i = 0; s->head && i < count; i++)
        if (place[i].data) place[i] = s->place[i];
    if (s->head) return LARMOR_OK;
    for (int64_t i = 0; s->scan->is_array && i < count; i++)
        if (place[i].data) place[i] = lmr_mrd_file_place(s->scan, i);
    if (s->scan->is_array) return LARMOR_OK;
    int64_t wanted = 0;
    for (int64_t i = 0; i < count; i++) wanted += place[i].data != 0;
    LMR_HEAP LMR_NEW(lmr_heap_value, values, 2 * wanted);
    for (int64_t i = 0, v = 0; i < count; i++) {
        if (!place[i].data) continue;
        values[v++].ref = s->refs[i].data;
        values[v++].ref = s->refs[i].traj;
    }
    LMR_TRY(lmr_heap_find(&s->input.source, values, 2 * wanted, sizeof(float)));
    return keep_places(place, count, values);
}

static larmor_status share_blocks(session *s, const lmr_mrd_wave *wave, int64_t count, const lmr_bytes *data,
                                  lmr_reader_waves *out)
{
    if (!count) return LARMOR_OK;
    out->count = count;
    return share(s, wave, (size_t)count * sizeof *wave, data->data, data->size);
}

static larmor_status share_waves_of_mrd2(session *s, lmr_reader_waves *out)
{
    lmr_mrd2 *m = s->mrd2;
    LMR_FREED_BY(lmr_mrd_header_free) lmr_mrd_header header = {0};
    if (!m->waves) return LARMOR_OK;
    LMR_TRY(lmr_mrd_header_parse((const char *)m->xml.data, (int64_t)m->xml.size, &header));
    for (int64_t i = 0; i < m->waves; i++) lmr_mrd_wave_name(header.waveform, header.waveforms, &m->wave[i]);
    return share_blocks(s, m->wave, m->waves, &m->wave_data, out);
}

static larmor_status share_waves(session *s, lmr_reader_waves *out)
{
    LMR_FREED_BY(lmr_mrd_waves_free) lmr_mrd_waves waves = {.count = 0};
    void *memory;
    if (s->mrd2) return share_waves_of_mrd2(s, out);
    if (s->twix) return share_blocks(s, s->twix->wave, s->twix->waves, &s->twix->wave_data, out);
    if (!s->scan || s->scan->is_array) return LARMOR_OK;
    LMR_TRY(lmr_mrd_waves_find(s->scan, &waves));
    if (!waves.count) return LARMOR_OK;
    const size_t heads = (size_t)waves.count * sizeof *waves.wave;
    LMR_TRY(room(s, (int64_t)heads + waves.bytes, &memory));
    memcpy(memory, waves.wave, heads);
    out->count = waves.count;
    return lmr_mrd_waves_copy(s->scan, &waves, (char *)memory + heads);
}

/* ---- files that are composed ---- */

/* The answer's bytes begin as those of the request. */
static larmor_status take_work(session *s, const lmr_reader_request *request)
{
    void *memory;
    LMR_TRY(room(s, request->bytes, &memory));
    take_memory(s);
    return s->lost ? LMR_FAIL(LARMOR_ERR_IO, "reader: nobody says what is to be composed") : LARMOR_OK;
}

static larmor_status compose(session *s, const lmr_reader_request *request, lmr_reader_composed *composed)
{
    LMR_TRY(take_work(s, request));
    LMR_TRY(lmr_compose(&s->composer, (lmr_reader_ask)request->ask, s->memory, s->bytes, composed));
    drop_memory(s);
    if (!composed->pieces) return LARMOR_OK;
    const size_t bytes = (size_t)composed->pieces * sizeof(lmr_reader_piece);
    return share(s, lmr_composed_pieces(s->composer), bytes, NULL, 0);
}

/* The header of a scan without a file. */
static larmor_status share_text(session *s, const lmr_reader_request *request, lmr_reader_scan *out)
{
    LMR_TRY(take_work(s, request));
    LMR_HEAP char *xml = (char *)s->memory; /* gives way to the encodings */
    const int64_t bytes = (int64_t)s->bytes;
    s->memory = NULL;
    s->bytes = 0;
    return share_header(s, xml, bytes, out);
}

static larmor_status share_bytes(session *s, const lmr_reader_request *request)
{
    void *memory;
    LMR_REFUSE(!s->composer, LARMOR_ERR_ARG, "reader: nothing is composed");
    LMR_TRY(room(s, request->bytes, &memory));
    return lmr_composed_bytes(s->composer, request->at, request->bytes, memory);
}

static larmor_status share_study(session *s, const lmr_reader_request *request, lmr_study *study)
{
    LMR_TRY(take_work(s, request));
    const larmor_status st = lmr_mrd_study((const char *)s->memory, s->bytes, study);
    drop_memory(s);
    return st;
}

static larmor_status answer_to_writer(session *s, const lmr_reader_request *request, lmr_reader_answer *out)
{
    switch (request->ask) {
    case LMR_ASK_IMAGES:
    case LMR_ASK_SAMPLES:
    case LMR_ASK_BLOCKS:
    case LMR_ASK_HEADER:
        return compose(s, request, &out->composed);
    case LMR_ASK_BYTES:
        return share_bytes(s, request);
    case LMR_ASK_XML:
        return share_text(s, request, &out->scan);
    case LMR_ASK_STUDY:
        return share_study(s, request, &out->study);
    default:
        return LMR_FAIL(LARMOR_ERR_ARG, "reader: request %u is not known", request->ask);
    }
}

/* ---- any file ---- */

static larmor_status cannot(const session *s)
{
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s: its format has no such content", s->input.source.path);
}

static larmor_status answer_to(session *s, const lmr_reader_request *request, lmr_reader_answer *out)
{
    const lmr_parser *p = s->parser;
    if (s->composes) return answer_to_writer(s, request, out);
    switch (request->ask) {
    case LMR_ASK_SCAN:
        return open_scan(s, request->text, &out->scan);
    case LMR_ASK_HEADS:
        return share_heads(s);
    case LMR_ASK_PLACES:
        return share_places(s);
    case LMR_ASK_WAVES:
        return share_waves(s, &out->waves);
    case LMR_ASK_ARRAY:
        return p && p->read ? p->read(&s->input, &out->array) : cannot(s);
    case LMR_ASK_META:
        out->meta =
            (larmor_image_meta){.fov_mm = {1, 1, 1}, .read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}};
        return p && p->read_meta ? p->read_meta(&s->input, &out->meta) : cannot(s);
    case LMR_ASK_LIST:
        return p && p->read_list ? p->read_list(&s->input, &out->list) : cannot(s);
    case LMR_ASK_SEQUENCE:
        return lmr_pulseq_answer(&s->input, request->text, &out->sequence);
    case LMR_ASK_IMAGES_XML:
        return p && p->read_xml ? p->read_xml(&s->input) : LARMOR_OK;
    case LMR_ASK_DESCRIBE:
        return p && p->describe ? p->describe(&s->input, &out->info) : cannot(s);
    default:
        return LMR_FAIL(LARMOR_ERR_ARG, "reader: request %u is not known", request->ask);
    }
}

int lmr_serve(const lmr_reader_setup *setup, int is_written, int is_filtered)
{
    static session s; /* the process serves one file */
    static lmr_reader_answer out;
    lmr_reader_request request;
    char path[PATH_MAX], second[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", PATH_MAX - 1, setup->path);
    snprintf(second, sizeof second, "%.*s", PATH_MAX - 1, setup->second);
    s.input.source = (lmr_source){.path = path, .fd = LMR_READER_FILE, .size = setup->size, .is_written = is_written};
    if (!strcmp(setup->suffix, ".h5") && !setup->composes) lmr_h5_find_base(&s.input.source);
    if (*setup->inside) s.input.source.inside = setup->inside;
    s.second = (lmr_source){.path = second, .fd = LMR_READER_SECOND, .size = setup->second_size};
    s.input.second = setup->has_second ? &s.second : NULL;
    s.input.room = room;
    s.input.user = &s;
    s.parser = lmr_parser_of(setup->suffix);
    s.composes = setup->composes;
    s.filtered = is_filtered;
    while (take_request(&s, &request)) {
        memset(&out, 0, sizeof out);
        larmor_status st = answer_to(&s, &request, &out);
        if (st == LARMOR_ERR_FORMAT && lmr_memory_refused) st = LMR_NO_MEMORY();
        if (s.lost) break;
        s.answer = out;
        s.answer.status = st;
        if (st) snprintf(s.answer.text, sizeof s.answer.text, "%s", larmor_last_error());
        if (send_answer(&s) && !st) send_memory(&s);
        drop_memory(&s);
    }
    return 0;
}
