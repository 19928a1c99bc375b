/* Reading ISMRMRD raw data: from a path to checked samples in memory. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"
#include "io/parts.h"
#include "io/process/reader_process.h"

/* ---- from the descriptor into memory ---- */

static larmor_status check_memory(const larmor_raw *raw, int64_t bytes)
{
    if (bytes <= raw->memory) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "samples need %s; limit is %s (opts.memory).", lmr_bytes_text((double)bytes).s,
                    lmr_bytes_text((double)raw->memory).s);
}

static int is_complete(const larmor_encoding *e)
{
    int complete = 1;
    for (int d = 0; d < 3; d++)
        complete &= e->matrix[d] && e->recon_matrix[d] && e->fov_mm[d] > 0 && e->recon_fov_mm[d] > 0;
    return complete;
}

/* A text of the reader's, which must end. */
static int ends(const char *text, size_t room)
{
    return memchr(text, 0, room) != NULL;
}

static int in(int value, int first, int last)
{
    return value >= first && value <= last;
}

static int is_possible_ramp(const larmor_ramp *r)
{
    const double times[] = {r->up_us, r->flat_us, r->down_us, r->dwell_us};
    int good = r->samples >= 0 && r->samples <= LMR_MRD_MAX_MATRIX;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        good &= times[i] >= 0 && times[i] <= LMR_MRD_MAX_RAMP_US;
    return good && r->delay_us >= -1 && r->delay_us <= LMR_MRD_MAX_RAMP_US;
}

/* 1 if an encoding is one that a header can give. */
static int is_possible(const lmr_mrd_encoding *e)
{
    const larmor_encoding *space = &e->space;
    int good = ends(space->trajectory, sizeof space->trajectory) && ends(e->unknown, sizeof e->unknown);
    for (int d = 0; d < 3; d++) {
        good &= space->matrix[d] >= 0 && space->matrix[d] <= LMR_MRD_MAX_MATRIX;
        good &= space->recon_matrix[d] >= 0 && space->recon_matrix[d] <= LMR_MRD_MAX_MATRIX;
        good &= space->fov_mm[d] >= 0 && space->fov_mm[d] <= 1e9;
        good &= space->recon_fov_mm[d] >= 0 && space->recon_fov_mm[d] <= 1e9;
    }
    good &= space->angle_deg >= 0 && space->angle_deg < 360 && is_possible_ramp(&space->ramp);
    good &= in(space->multiband.offsets, 0, LARMOR_MOST_BANDS + 1) &&
            ends(space->multiband.calibration, sizeof space->multiband.calibration);
    for (int c = 0; c < LMR_COUNTERS; c++)
        for (int b = 0; b < LMR_BOUNDS; b++) good &= in(e->limit[c][b], -1, LMR_MRD_MAX_MATRIX);
    return good;
}

static int is_possible_header(const lmr_mrd_header *h)
{
    int good = in(h->echoes, 0, LARMOR_MAX_ECHOES) && in(h->has_readout_start, 0, 1) && in(h->field_by_h1, 0, 1) &&
               isfinite(h->readout_start_ms) && in(h->bits_stored, 0, LMR_MRD_MAX_BITS) &&
               in(h->waveforms, 0, LARMOR_MOST_WAVEFORM_INFOS) && in(h->encodings, 1, LMR_MRD_MAX_ENCODINGS) &&
               in(h->receiver_channels, 0, LMR_MRD_MAX_MATRIX) && isfinite(h->noise_bandwidth) &&
               h->noise_bandwidth > 0 && h->field_tesla >= 0 && h->field_tesla <= LMR_MRD_MAX_TESLA;
    for (int e = 0; good && e < h->echoes; e++) good = isfinite(h->echo_ms[e]);
    for (int i = 0; good && i < h->waveforms; i++)
        good = in((int)h->waveform[i].kind, LARMOR_WAVEFORM_OTHER, LARMOR_WAVEFORM_RESPIRATION);
    return good;
}

static int is_possible_scan(const lmr_reader_scan *s)
{
    return is_possible_header(&s->header) && ends(s->group, sizeof s->group) && ends(s->note, sizeof s->note) &&
           in(s->measurements, 0, 64) && s->xml_bytes >= 0 && s->xml_bytes <= LMR_MRD_MAX_HEADER &&
           s->acquisitions >= 1 && s->acquisitions <= LMR_MRD_MAX_ACQUISITIONS && s->claimed >= s->acquisitions;
}

static larmor_status copy_header(lmr_reader *reader, const lmr_reader_scan *scan, larmor_raw *raw)
{
    int64_t bytes;
    const char *memory = lmr_reader_memory(reader, &bytes);
    if (!is_possible_scan(scan)) return lmr_reader_lies(reader);
    lmr_mrd_header *h = &raw->header;
    const size_t encodings = (size_t)scan->header.encodings * sizeof *h->encoding, text = (size_t)scan->xml_bytes;
    if (!memory || (size_t)bytes != encodings + text) return lmr_reader_lies(reader);
    *h = scan->header;
    h->encoding = malloc(encodings);
    raw->xml = calloc(text + 1, 1);
    if (!h->encoding || !raw->xml) return LMR_NO_MEMORY();
    memcpy(h->encoding, memory, encodings);
    memcpy(raw->xml, memory + encodings, text);
    for (int e = 0; e < h->encodings; e++)
        if (!is_possible(&h->encoding[e])) return lmr_reader_lies(reader);
    return LARMOR_OK;
}

static void describe_header(larmor_raw *raw)
{
    static const int announced[] = {LMR_STEP1, LMR_SLICE, LMR_CONTRAST, LMR_PHASE, LMR_REPETITION};
    raw->info.encodings = raw->header.encodings;
    raw->info.noise_bandwidth = raw->header.noise_bandwidth;
    raw->info.field_tesla = raw->header.field_tesla;
    raw->info.field_by_h1 = raw->header.field_by_h1;
    raw->info.echoes = raw->header.echoes;
    memcpy(raw->info.echo_ms, raw->header.echo_ms, sizeof raw->info.echo_ms);
    raw->info.has_readout_start = raw->header.has_readout_start;
    raw->info.readout_start_ms = raw->header.readout_start_ms;
    raw->info.bits_stored = raw->header.bits_stored;
    for (int i = 0; i < 5; i++) raw->info.announced[i] = raw->header.encoding[0].limit[announced[i]][LMR_MAXIMUM];
}

larmor_status lmr_mrd_take_header(lmr_reader *reader, const lmr_reader_scan *scan, larmor_raw *raw)
{
    LMR_TRY(copy_header(reader, scan, raw));
    raw->info.acquisitions = scan->acquisitions;
    raw->claimed = scan->claimed;
    raw->info.measurements = scan->measurements;
    describe_header(raw);
    return LARMOR_OK;
}

larmor_status lmr_mrd_copy_header(const larmor_raw *from, larmor_raw *raw)
{
    const size_t encodings = (size_t)from->header.encodings * sizeof *from->header.encoding;
    raw->header = from->header;
    raw->header.encoding = malloc(encodings);
    raw->xml = strdup(from->xml);
    if (!raw->header.encoding || !raw->xml) return LMR_NO_MEMORY();
    memcpy(raw->header.encoding, from->header.encoding, encodings);
    describe_header(raw);
    return LARMOR_OK;
}

larmor_status lmr_mrd_check_grids(larmor_raw *raw)
{
    larmor_grid grid;
    lmr_mrd_fov_to_mm(raw);
    for (int e = 0; e < raw->header.encodings; e++)
        if (is_complete(&raw->header.encoding[e].space)) LMR_TRY(lmr_mrd_grid(raw, e, NULL, &grid));
    return LARMOR_OK;
}

/* fastMRI's arrays are padded with zeros until k = 0 is in the middle; the header's limits count from the first
 * line that was acquired. */
static larmor_status centre_array(lmr_reader *reader, const lmr_reader_scan *scan, larmor_raw *raw)
{
    if (scan->lines < 1 || scan->lines > LMR_MRD_MAX_MATRIX || !raw->header.encodings) return lmr_reader_lies(reader);
    lmr_mrd_encoding *e = &raw->header.encoding[0];
    LMR_REFUSE(e->space.matrix[2] > 1, LARMOR_ERR_FORMAT,
               "fastMRI layout of a volume of %lld partitions; slices expected, as fastMRI has them.",
               (long long)e->space.matrix[2]);
    if (e->space.matrix[0] && e->space.matrix[0] != scan->samples)
        LMR_MRD_WARN(raw,
                     "/kspace has %d lines of %d samples, if it is [slices, coils, samples, lines] as in fastMRI; "
                     "encodedSpace is %lld x %lld.",
                     scan->lines, scan->samples, (long long)e->space.matrix[0], (long long)e->space.matrix[1]);
    e->has_limits = 1;
    e->limit[LMR_STEP1][LMR_MINIMUM] = 0;
    e->limit[LMR_STEP1][LMR_MAXIMUM] = scan->lines - 1;
    e->limit[LMR_STEP1][LMR_CENTER] = scan->lines / 2;
    return LARMOR_OK;
}

/* What the reader says to the user, a line each. */
static larmor_status take_note(lmr_reader *reader, const char *note, larmor_raw *raw)
{
    for (const char *p = note; *p; p++)
        if ((*p < ' ' && *p != '\n') || *p > '~') return lmr_reader_lies(reader);
    for (const char *end; (end = strchr(note, '\n')); note = end + 1)
        LMR_MRD_WARN(raw, "%.*s", (int)(end - note), note);
    return LARMOR_OK;
}

static larmor_status read_header(lmr_reader *reader, const char *group, larmor_raw *raw)
{
    const lmr_reader_answer *answer;
    const int64_t most = LMR_MRD_MAX_ENCODINGS * (int64_t)sizeof(lmr_mrd_encoding) + LMR_MRD_MAX_HEADER;
    LMR_TRY(lmr_reader_ask_for(reader, LMR_ASK_SCAN, group, most, &answer));
    LMR_TRY(lmr_mrd_take_header(reader, &answer->scan, raw));
    if (answer->scan.is_array) LMR_TRY(centre_array(reader, &answer->scan, raw));
    if (!group && !answer->scan.is_array && strcmp(answer->scan.group, LMR_MRD_USUAL_GROUP) != 0)
        LMR_MRD_WARN(raw, "no scan in %s: %s is read, the only group that has xml and data.", LMR_MRD_USUAL_GROUP,
                     lmr_printable(answer->scan.group, (int64_t)strlen(answer->scan.group), 160).s);
    LMR_TRY(take_note(reader, answer->scan.note, raw));
    if (answer->scan.is_unclosed)
        LMR_MRD_WARN(raw, "the program that wrote it did not close it: what it had not yet written is missing.");
    return lmr_mrd_check_grids(raw); /* before anything large is read */
}

/* The numbers of a head's acquisition, data and trajectory. */
static int64_t numbers_of(const lmr_mrd_head *h)
{
    return INT64_C(2) * h->samples * h->channels + (int64_t)h->samples * h->traj_dims;
}

/* What a program that was stopped never wrote: at the end it does not count, before that it is left out. Returns 0
 * if there is nothing else. */
static int leave_out_unwritten(larmor_raw *raw)
{
    int64_t n = raw->info.acquisitions, first = -1, missing;
    while (n > 0 && raw->head[n - 1].unwritten) n--;
    raw->info.acquisitions = n;
    missing = raw->claimed - n;
    for (int64_t i = 0; i < n; i++) {
        if (!raw->head[i].unwritten) continue;
        if (first < 0) first = i;
        missing++;
    }
    if (missing)
        LMR_MRD_WARN(raw,
                     "%lld of %lld acquisitions were never written, from number %lld on: the scan may have been "
                     "stopped. The others are read.",
                     (long long)missing, (long long)raw->claimed, (long long)(first < 0 ? n : first));
    return n > 0;
}

/* Heads that claim more numbers than the file can hold are the reader's invention: it has looked. */
static larmor_status read_heads(lmr_reader *reader, const lmr_source *source, larmor_raw *raw)
{
    const lmr_reader_answer *answer;
    const int64_t n = raw->info.acquisitions, bytes = n * (int64_t)sizeof *raw->head;
    int64_t got, numbers = 0;
    LMR_TRY(lmr_reader_ask_for(reader, LMR_ASK_HEADS, NULL, bytes, &answer));
    const void *memory = lmr_reader_memory(reader, &got);
    if (!memory || got != bytes) return lmr_reader_lies(reader);
    memcpy(raw->head, memory, (size_t)bytes);
    for (int64_t i = 0; i < n; i++) {
        raw->head[i].samples = raw->head[i].stored;
        numbers += numbers_of(&raw->head[i]);
        if (numbers > source->size / (int64_t)sizeof(float)) return lmr_reader_lies(reader);
    }
    return leave_out_unwritten(raw) ? LARMOR_OK : lmr_reader_lies(reader);
}

larmor_status lmr_mrd_make_pools(larmor_raw *raw)
{
    int64_t data = 0, traj = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!raw->readout[i].use) continue;
        raw->readout[i].data = data;
        raw->readout[i].traj = traj;
        data += INT64_C(2) * h->samples * h->channels;
        traj += (int64_t)h->samples * h->traj_dims;
    }
    LMR_TRY(check_memory(raw, (data + traj) * (int64_t)sizeof(float)));
    raw->data = malloc((size_t)data * sizeof(float) + 1);
    raw->traj = malloc((size_t)traj * sizeof(float) + 1);
    return raw->data && raw->traj ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- the numbers ---- */

static void mark_wanted(void *memory, int64_t bytes, const void *user)
{
    const larmor_raw *raw = user;
    lmr_reader_place *place = memory;
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *place; i++)
        place[i] = (lmr_reader_place){.data = raw->readout[i].use != 0};
}

/* Where the file has the numbers of the readouts that are used. */
static larmor_status find_places(lmr_reader *reader, larmor_raw *raw, lmr_reader_place **place)
{
    const lmr_reader_answer *answer;
    const int64_t bytes = raw->info.acquisitions * (int64_t)sizeof **place;
    int64_t got;
    lmr_reader_prepare(reader, mark_wanted, raw);
    LMR_TRY(lmr_reader_ask_for(reader, LMR_ASK_PLACES, NULL, bytes, &answer));
    const void *memory = lmr_reader_memory(reader, &got);
    if (!memory || got != bytes) return lmr_reader_lies(reader);
    *place = malloc((size_t)bytes);
    if (!*place) return LMR_NO_MEMORY();
    memcpy(*place, memory, (size_t)bytes);
    return LARMOR_OK;
}

/* Reads pieces of a file that mostly follow each other: small ones through a window. */
typedef struct pieces {
    const lmr_source *source;
    int64_t first, held, after; /* bytes in the window; the end of the last piece */
    char window[65536];
} pieces;

static int read_piece(pieces *p, int64_t at, void *to, int64_t bytes)
{
    if (!bytes) return 1;
    if (at < 0 || bytes > p->source->size || at > p->source->size - bytes) return 0;
    const int near = at >= p->after && at - p->after < (int64_t)sizeof p->window;
    const int kept = at >= p->first && at + bytes <= p->first + p->held;
    if (!kept && near && bytes < (int64_t)sizeof p->window / 2) {
        const int64_t got = lmr_source_get(p->source, at, p->window, sizeof p->window);
        p->first = at;
        p->held = got < 0 ? 0 : got;
        if (p->held < bytes) return 0;
    } else if (!kept) {
        p->after = at + bytes;
        return lmr_source_get(p->source, at, to, (size_t)bytes) == bytes;
    }
    memcpy(to, p->window + (at - p->first), (size_t)bytes);
    p->after = at + bytes;
    return 1;
}

static int alike(const larmor_raw *raw, const lmr_reader_place *place, int64_t i, int64_t j)
{
    return raw->readout[j].use && place[j].data == place[i].data + INT64_C(8) * (j - i) &&
           place[j].sample_step == place[i].sample_step && place[j].channel_step == place[i].channel_step &&
           raw->head[j].samples == raw->head[i].samples && raw->head[j].channels == raw->head[i].channels;
}

/* Lines of an array, whose samples lie beside each other: those from acquisition i on that are adjacent are read
 * together. Returns how many, 0 if the file ends before. */
static int64_t read_lines(pieces *p, const larmor_raw *raw, const lmr_reader_place *place, int64_t i, int64_t end)
{
    const int64_t most = (int64_t)sizeof p->window / 8, size = p->source->size;
    const lmr_reader_place *at = &place[i];
    const lmr_mrd_head *h = &raw->head[i];
    int64_t lines = 1, first, beyond, more;
    while (i + lines < end && lines < most && alike(raw, place, i, i + lines)) lines++;
    if (at->data < 0 || at->sample_step < 0 || at->channel_step < 0) return 0;
    if (!lmr_mul(at->sample_step, h->samples, &beyond) || !lmr_mul(at->channel_step, h->channels, &more)) return 0;
    if (at->data > size || beyond > size || more > size) return 0;
    for (int64_t row = 0; row < (int64_t)h->channels * h->samples; row++) {
        const int64_t channel = row / h->samples, sample = row % h->samples;
        first = at->data + channel * at->channel_step + sample * at->sample_step;
        if (lmr_source_get(p->source, first, p->window, (size_t)(8 * lines)) != 8 * lines) return 0;
        for (int64_t k = 0; k < lines; k++)
            memcpy(raw->data + raw->readout[i + k].data + 2 * row, p->window + 8 * k, 8);
    }
    p->held = 0;
    return lines;
}

/* Channels that are apart, with headers between them. */
static int read_channels(pieces *p, const larmor_raw *raw, const lmr_reader_place *place, int64_t i)
{
    const int64_t samples = raw->head[i].samples;
    float *to = raw->data + raw->readout[i].data;
    int good = place[i].channel_step >= 0 && place[i].channel_step <= p->source->size;
    for (int64_t c = 0; good && c < raw->head[i].channels; c++)
        good = read_piece(p, place[i].data + c * place[i].channel_step, to + 2 * samples * c, 8 * samples);
    return good;
}

/* Trajectories that the file has component after component. */
static int read_components(pieces *p, const larmor_raw *raw, const lmr_reader_place *place, int64_t i)
{
    const int64_t samples = raw->head[i].samples, dims = raw->head[i].traj_dims;
    float *to = raw->traj + raw->readout[i].traj;
    LMR_HEAP float *row = malloc((size_t)samples * sizeof *row + 1);
    int good = row && place[i].traj_step >= 0 && place[i].traj_step <= p->source->size;
    for (int64_t d = 0; good && d < dims; d++) {
        good = read_piece(p, place[i].traj + d * place[i].traj_step, row, 4 * samples);
        for (int64_t n = 0; good && n < samples; n++) to[n * dims + d] = row[n];
    }
    return good;
}

typedef struct filling {
    const larmor_raw *raw;
    const lmr_source *source;
    const lmr_reader_place *place;
} filling;

/* Data and trajectories are read alternately, from different parts of the file; each has its own window. */
static larmor_status fill_part(void *user, int part LMR_UNUSED, int64_t first, int64_t end)
{
    const larmor_raw *raw = ((filling *)user)->raw;
    const lmr_reader_place *place = ((filling *)user)->place;
    pieces *data = calloc(1, sizeof *data), *traj = calloc(1, sizeof *traj);
    int64_t i = first - 1;
    int good = 1, stopped = 0;
    if (data && traj) data->source = traj->source = ((filling *)user)->source;
    while (data && traj && good && ++i < end) {
        const lmr_mrd_head *h = &raw->head[i];
        const lmr_mrd_readout *r = &raw->readout[i];
        if (!r->use) continue;
        stopped = lmr_stop_asked();
        if (stopped) break;
        if (place[i].sample_step) {
            const int64_t lines = read_lines(data, raw, place, i, end);
            good = lines > 0;
            i += good ? lines - 1 : 0;
            continue;
        }
        if (place[i].channel_step) {
            good = read_channels(data, raw, place, i);
            continue;
        }
        if (place[i].traj_step) {
            good = read_piece(data, place[i].data, raw->data + r->data, INT64_C(8) * h->samples * h->channels) &&
                   read_components(traj, raw, place, i);
            continue;
        }
        good = read_piece(data, place[i].data, raw->data + r->data, INT64_C(8) * h->samples * h->channels) &&
               read_piece(traj, place[i].traj, raw->traj + r->traj, INT64_C(4) * h->samples * h->traj_dims);
    }
    const int created = data && traj;
    LMR_FREE(data, traj);
    if (!created) return LMR_NO_MEMORY();
    if (stopped) return lmr_stopped();
    if (good) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "damaged HDF5 structure (acquisition %lld: heap cannot be read). Copy it again.", (long long)i);
}

/* Several threads copy and touch new memory quicker than one, which reads about 1 GB/s. */
static larmor_status fill_pools(const larmor_raw *raw, const lmr_source *source, const lmr_reader_place *place)
{
    filling all = {raw, source, place};
    return lmr_in_parts(raw->info.acquisitions, lmr_parts_for(source->size), fill_part, &all);
}

/* Everything that takes parsing; the reader's process is not needed after that. */
static larmor_status read_structure(lmr_reader *reader, const lmr_source *source, const char *group, int as_stored,
                                    larmor_raw *raw, lmr_reader_place **place)
{
    LMR_TRY(read_header(reader, group, raw));
    const int64_t n = raw->info.acquisitions;
    LMR_TRY(check_memory(raw, n * (int64_t)(sizeof *raw->head + sizeof *raw->readout + sizeof **place)));
    LMR_ALLOCATE_ZEROS(raw->head, n);
    LMR_ALLOCATE_ZEROS(raw->readout, n);
    LMR_TRY(read_heads(reader, source, raw));
    for (int64_t i = 0; as_stored && i < n; i++) raw->readout[i].use = raw->head[i].unwritten ? 0 : LMR_IMAGING;
    if (!as_stored) LMR_TRY(lmr_mrd_route(raw));
    LMR_TRY(lmr_mrd_make_pools(raw));
    LMR_TRY(find_places(reader, raw, place));
    return lmr_mrd_read_waves(reader, source, raw); /* last: a file whose waveforms end the reader is read */
}

static larmor_status check_group(const char *group)
{
    const size_t length = group ? strlen(group + strspn(group, "/")) : 1;
    if (length && length <= LMR_MRD_LONGEST_GROUP) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "group name has %zu characters, 1 to %d expected.", length,
                    LMR_MRD_LONGEST_GROUP);
}

static larmor_status read_samples(const lmr_source *source, const larmor_raw_opts *opts, larmor_raw *raw)
{
    const char *group = opts->group;
    lmr_reader *reader;
    LMR_HEAP lmr_reader_place *place = NULL;
    LMR_TRY(check_group(group));
    LMR_TRY(lmr_reader_start(source, NULL, NULL, NULL, &reader));
    larmor_status st =
        read_structure(reader, source, group ? group + strspn(group, "/") : NULL, opts->as_stored, raw, &place);
    lmr_reader_end(reader);
    if (!st) st = fill_pools(raw, source, place);
    return st;
}

/* A shift along z is for an encoding that has this axis. */
static larmor_status check_shift_axes(const larmor_raw *raw)
{
    int ndim = 2;
    for (int e = 0; e < raw->header.encodings; e++)
        if (raw->header.encoding[e].space.ndim > ndim) ndim = raw->header.encoding[e].space.ndim;
    return lmr_check_axes_given("opts.shift_mm", raw->shift_mm[2], 0, ndim);
}

larmor_status lmr_mrd_understand(const larmor_raw_opts *opts, larmor_raw *raw)
{
    const larmor_trajectory *given = opts->trajectory;
    const char *units = given && *given->units ? given->units : opts->traj_units;
    LMR_TRY(lmr_mrd_take_terms(raw, opts));
    if (raw->info.phase_terms) units = "rad/m";
    LMR_TRY(lmr_mrd_give_trajectory(raw, given));
    LMR_TRY(lmr_mrd_check_samples(raw, opts->drop_nonfinite));
    LMR_TRY(lmr_mrd_complete(raw, units));
    LMR_TRY(lmr_mrd_match_sequence(raw, given));
    LMR_TRY(lmr_mrd_find_trajectory(raw, units));
    LMR_TRY(lmr_mrd_find_ramps(raw, opts->ramp));
    LMR_TRY(lmr_mrd_join(raw, opts->join));
    LMR_TRY(lmr_mrd_complete_images(raw));
    LMR_TRY(lmr_mrd_group(raw));
    LMR_TRY(lmr_mrd_check_centres(raw));
    LMR_TRY(check_shift_axes(raw));
    return lmr_mrd_check_geometry(raw);
}

static larmor_status read_file(const lmr_source *source, const larmor_raw_opts *opts, larmor_raw *raw)
{
    LMR_TRY(read_samples(source, opts, raw));
    return opts->as_stored ? LARMOR_OK : lmr_mrd_understand(opts, raw);
}

static larmor_status check_shift(const double shift_mm[3])
{
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(!isfinite(shift_mm[d]), LARMOR_ERR_ARG, "shift: %g mm, a finite number expected.", shift_mm[d]);
    return LARMOR_OK;
}

larmor_status lmr_mrd_new(const larmor_raw_opts *opts, larmor_raw **out)
{
    LMR_TRY(check_shift(opts->shift_mm));
    LMR_NEW_ZEROS(larmor_raw, raw, 1);
    raw->conjugate = opts->conjugate;
    raw->info.multiband_left_out = opts->multiband_left_out;
    memcpy(raw->shift_mm, opts->shift_mm, sizeof raw->shift_mm);
    raw->memory = opts->memory > 0 ? opts->memory : LMR_MRD_MEMORY;
    *out = raw;
    return LARMOR_OK;
}

larmor_status larmor_raw_open(const char *path, const larmor_raw_opts *opts, larmor_raw **out)
{
    static const larmor_raw_opts defaults;
    larmor_raw *raw;
    if (!opts) opts = &defaults;
    LMR_NEED_OUT(out);
    LMR_TRY(lmr_mrd_new(opts, &raw));
    lmr_source source;
    larmor_status st = lmr_source_open(path, "an MRD file", &source);
    if (!st) {
        st = read_file(&source, opts, raw);
        if (!st) st = lmr_source_unchanged(&source);
        if (st) lmr_fail_in(st, path);
        lmr_source_close(&source);
    }
    return LMR_GIVE(out, raw, larmor_raw_free, st);
}

void larmor_raw_free(larmor_raw *raw)
{
    if (!raw) return;
    LMR_FREE(raw->header.encoding, raw->xml, raw->head, raw->readout, raw->data, raw->traj, raw->phase, raw->time_s);
    LMR_FREE(raw->weight, raw->order, raw->first_in_order, raw->group, raw->wave, raw->wave_data, raw->wave_at, raw);
}
