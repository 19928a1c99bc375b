/* Pulseq sequences as the library has them: what the reader said of a file, checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "larmor/pulseq.h"
#include "core/core.h"
#include "io/process/reader_process.h"
#include "io/pulseq/labels.h"

struct larmor_pulseq {
    larmor_pulseq_info info;
    larmor_pulseq_readout *readout; /* [info.readouts] */
    double *numbers; /* k [3, samples], times [samples], phases of shapes and of frequencies [samples] */
    larmor_pulseq_phases phases;
    char file[128];
};

#define WARN(q, ...) lmr_append_line((q)->info.warnings, sizeof(q)->info.warnings, __VA_ARGS__)

/* ---- what the reader said ---- */

static int is_text(const char *text, size_t room)
{
    const char *end = memchr(text, 0, room);
    for (const char *p = text; end && p < end; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~') return 0;
    return end != NULL;
}

static int is_possible(const lmr_reader_sequence *a, int64_t bytes)
{
    int64_t heads, numbers, all;
    int good = a->blocks >= 0 && a->readouts >= 0 && a->samples >= a->readouts && a->excitations >= 0 &&
               a->refocusings >= 0 && isfinite(a->duration_s) && is_text(a->name, sizeof a->name) &&
               is_text(a->unknown, sizeof a->unknown) && (a->readouts > 0) == (bytes > 0);
    for (int d = 0; d < 3; d++) good &= a->version[d] >= 0 && a->fov_m[d] >= 0 && a->fov_m[d] < 1e3;
    if (!good || !lmr_mul(a->readouts, sizeof(larmor_pulseq_readout), &heads)) return 0;
    if (!lmr_mul(a->samples, 6 * sizeof(double), &numbers)) return 0;
    return !__builtin_add_overflow(heads, numbers, &all) && all == bytes;
}

static int is_possible_readout(const larmor_pulseq_readout *r, int64_t first, int64_t samples)
{
    return r->first == first && r->samples > 0 && r->samples <= samples - first && isfinite(r->start_s) &&
           isfinite(r->since_s) && isfinite(r->dwell_s) && r->dwell_s > 0 && isfinite(r->frequency_hz) &&
           isfinite(r->phase_rad);
}

static larmor_status take(lmr_reader *reader, const lmr_reader_sequence *a, larmor_pulseq *q)
{
    int64_t bytes;
    const char *memory = lmr_reader_memory(reader, &bytes);
    if (!is_possible(a, bytes)) return lmr_reader_lies(reader);
    const size_t heads = (size_t)a->readouts * sizeof *q->readout;
    const size_t numbers = 6 * (size_t)a->samples * sizeof *q->numbers;
    q->readout = malloc(heads + 1);
    q->numbers = malloc(numbers + 1);
    if (!q->readout || !q->numbers) return LMR_NO_MEMORY();
    if (memory) {
        memcpy(q->readout, memory, heads);
        memcpy(q->numbers, memory + heads, numbers);
    }
    int64_t first = 0;
    for (int64_t r = 0; r < a->readouts; r++) {
        if (!is_possible_readout(&q->readout[r], first, a->samples)) return lmr_reader_lies(reader);
        first += q->readout[r].samples;
    }
    if (first != a->samples) return lmr_reader_lies(reader);
    for (int64_t i = 0; i < 6 * a->samples; i++)
        if (!isfinite(q->numbers[i])) return lmr_reader_lies(reader);
    q->info = (larmor_pulseq_info){.blocks = a->blocks,
                                   .readouts = a->readouts,
                                   .samples = a->samples,
                                   .excitations = a->excitations,
                                   .refocusings = a->refocusings,
                                   .duration_s = a->duration_s};
    memcpy(q->info.version, a->version, sizeof q->info.version);
    memcpy(q->info.name, a->name, sizeof q->info.name);
    for (int d = 0; d < 3; d++) q->info.fov_mm[d] = 1e3 * a->fov_m[d];
    if (*a->unknown) WARN(q, "its extension %s is not known and left out.", a->unknown);
    return LARMOR_OK;
}

/* ---- what follows from it ---- */

static void find_kmax(larmor_pulseq *q)
{
    for (int64_t i = 0; i < q->info.samples; i++)
        for (int d = 0; d < 3; d++) q->info.kmax[d] = fmax(q->info.kmax[d], fabs(q->numbers[3 * i + d]));
}

/* The shift d of the field of view by which the frequencies of all readouts are their gradients times d, if there is
 * one: normal equations over the axes that have gradients, by elimination. */
static void find_shift(larmor_pulseq *q)
{
    double a[3][4] = {{0}}, frequencies = 0, left = 0, d[3] = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t r = 0; r < q->info.readouts; r++) {
            const larmor_pulseq_readout *o = &q->readout[r];
            if (o->samples < 2) continue;
            const double *k = q->numbers + 3 * o->first, *end = k + 3 * (o->samples - 1);
            const double time = o->dwell_s * (double)(o->samples - 1);
            double g[3], miss = o->frequency_hz;
            for (int i = 0; i < 3; i++) g[i] = (end[i] - k[i]) / time;
            for (int i = 0; i < 3; i++) miss -= g[i] * d[i];
            if (pass) left += miss * miss;
            if (pass) continue;
            frequencies += o->frequency_hz * o->frequency_hz;
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) a[i][j] += g[i] * g[j];
                a[i][3] += g[i] * o->frequency_hz;
            }
        }
        if (pass || !(frequencies > 0)) break;
        const double least = 1e-6 * (a[0][0] + a[1][1] + a[2][2]);
        for (int i = 0; i < 3; i++) a[i][i] += 1e-6 * least;
        for (int i = 0; i < 3; i++)
            for (int j = i + 1; j < 3 && a[i][i] > least; j++)
                for (int c = 3; c >= i; c--) a[j][c] -= a[i][c] * a[j][i] / a[i][i];
        for (int i = 2; i >= 0; i--) {
            double sum = a[i][3];
            for (int j = i + 1; j < 3; j++) sum -= a[i][j] * d[j];
            d[i] = a[i][i] > least ? sum / a[i][i] : 0;
        }
    }
    if (!(frequencies > 0)) return;
    if (left <= 1e-4 * frequencies)
        for (int i = 0; i < 3; i++) q->info.shift_mm[i] = fabs(d[i]) < 1e-5 ? 0 : 1e3 * d[i];
    else
        WARN(q, "the frequencies of its ADC events are no shift of a field of view.");
}

static void name_after(const char *path, larmor_pulseq *q)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    snprintf(q->file, sizeof q->file, "%.127s", lmr_printable(name, (int64_t)strlen(name), 120).s);
}

static larmor_status read_source(const lmr_source *source, const char *delays, larmor_pulseq *q)
{
    const lmr_reader_answer *answer;
    lmr_reader *reader;
    lmr_reader_request request = {.ask = LMR_ASK_SEQUENCE};
    LMR_REFUSE(delays && strlen(delays) >= sizeof request.text, LARMOR_ERR_ARG,
               "opts.soft_delays: %zu characters, at most %zu expected.", strlen(delays), sizeof request.text - 1);
    LMR_TRY(lmr_reader_start(source, NULL, ".seq", NULL, &reader));
    larmor_status st = lmr_reader_ask_for(reader, LMR_ASK_SEQUENCE, delays, INT64_MAX, &answer);
    if (!st) {
        const lmr_reader_sequence said = answer->sequence;
        st = take(reader, &said, q);
    }
    lmr_reader_end(reader);
    return st;
}

LMR_OWNS(larmor_pulseq, larmor_pulseq_free)

larmor_status larmor_pulseq_read(const char *path, const larmor_pulseq_opts *opts, larmor_pulseq **out)
{
    lmr_source source;
    LMR_NEED_OUT(out, path);
    LMR_OWNED(larmor_pulseq) *q = calloc(1, sizeof *q);
    if (!q) return LMR_NO_MEMORY();
    q->phases = opts ? opts->adc_phases : LARMOR_PHASES_SHAPE;
    name_after(path, q);
    LMR_TRY(lmr_source_open(path, "a Pulseq file", &source));
    const larmor_status st = read_source(&source, opts ? opts->soft_delays : NULL, q);
    lmr_source_close(&source);
    if (st) return st;
    find_kmax(q);
    find_shift(q);
    return LMR_HAND_ON(*out, q);
}

const char *larmor_pulseq_label(int i)
{
    return lmr_pulseq_label(i);
}

void larmor_pulseq_free(larmor_pulseq *q)
{
    if (!q) return;
    LMR_FREE(q->readout, q->numbers, q);
}

larmor_pulseq_info larmor_pulseq_describe(const larmor_pulseq *q)
{
    return q ? q->info : (larmor_pulseq_info){.blocks = 0};
}

larmor_status larmor_pulseq_readout_at(const larmor_pulseq *q, int64_t readout, larmor_pulseq_readout *out)
{
    LMR_NEED(q, out);
    LMR_REFUSE(readout < 0 || readout >= q->info.readouts, LARMOR_ERR_ARG,
               "pulseq: readout %lld, the sequence has %lld", (long long)readout, (long long)q->info.readouts);
    *out = q->readout[readout];
    return LARMOR_OK;
}

#define MAX_REL_KZ_RANGE 1e-3 /* of the largest |k| in the plane: kz that stays so near to one value says nothing */

static int dims_of(const larmor_pulseq *q)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < q->info.samples; i++) {
        low = fmin(low, q->numbers[3 * i + 2]);
        high = fmax(high, q->numbers[3 * i + 2]);
    }
    return high - low <= MAX_REL_KZ_RANGE * fmax(q->info.kmax[0], q->info.kmax[1]) ? 2 : 3;
}

larmor_status larmor_pulseq_trajectory(const larmor_pulseq *q, larmor_trajectory *out)
{
    LMR_NEED(out);
    *out = (larmor_trajectory){0};
    LMR_NEED(q);
    const int64_t n = q->info.samples, readouts = q->info.readouts;
    LMR_REFUSE(!n, LARMOR_ERR_FORMAT, "%s: has no ADC events.", q->file);
    const double *times = q->numbers + 3 * n, *shaped = times + n, *received = shaped + n;
    out->dims = dims_of(q);
    out->readouts = readouts;
    out->first = lmr_new(readouts + 1, sizeof *out->first);
    out->k = lmr_new(out->dims * n, sizeof *out->k);
    out->time_s = lmr_new(n, sizeof *out->time_s);
    if (q->phases != LARMOR_PHASES_NONE) out->phase = lmr_new(n, sizeof *out->phase);
    if (!out->first || !out->k || !out->time_s || (q->phases != LARMOR_PHASES_NONE && !out->phase)) {
        larmor_trajectory_free(out);
        return LMR_NO_MEMORY();
    }
    for (int64_t r = 0; r < readouts; r++) out->first[r] = q->readout[r].first;
    out->first[readouts] = n;
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < out->dims; d++) out->k[i * out->dims + d] = q->numbers[3 * i + d];
        out->time_s[i] = times[i];
        if (out->phase) out->phase[i] = shaped[i] + (q->phases == LARMOR_PHASES_ALL ? received[i] : 0);
    }
    for (int d = 0; d < 3; d++) out->fov_mm[d] = q->info.fov_mm[d];
    snprintf(out->units, sizeof out->units, "1/m");
    out->of_sequence = 1;
    snprintf(out->name, sizeof out->name, "%s", q->file);
    return LARMOR_OK;
}
