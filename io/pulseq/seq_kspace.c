/* k-space of a Pulseq sequence at each sample of its ADC events, block by block: the gradients' exact integrals,
 * from 0 at the centre of each excitation, negated at that of each refocusing pulse. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "io/pulseq/seq.h"

#define SLACK 1e-9    /* s by which events may end after their block */
#define TOUCH 1e-10   /* s between gradients that follow each other */
#define LONGEST_S 1e6 /* of a sequence */
#define MOST_K 1e12   /* cycles per metre */
enum { MOST_ADC = 1 << 30 };

typedef struct evaluating {
    seq *s;
    seq_result *out;
    seq_wave *wave[2]; /* of each row of SEQ_GRADIENTS and SEQ_TRAPS, once made */
    double delay[SEQ_HINTS];
    int has_delay[SEQ_HINTS];
    int32_t label[LARMOR_PULSEQ_LABELS];
    double t, k[3];   /* at the beginning of the block */
    double before[3]; /* a gradient that ends with the block before: its last value; NAN: none does */
    double excited;   /* when the last excitation was; NAN: never */
    int64_t block, readout, sample;
} evaluating;

typedef struct block {
    const double *row, *rf, *adc;
    const seq_wave *wave[3];
    double first[3]; /* as seq_moment has it */
    double rotation[3][3], duration, center, pulse_end;
    int is_rotated;
    char use;
    int has_set[LARMOR_PULSEQ_LABELS];
} block;

static larmor_status wrong(const evaluating *e, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: block %lld: %s.", e->s->path, (long long)e->block, what);
}

/* ---- events of a block ---- */

static larmor_status find_event(const evaluating *e, int table, double id, const double **row)
{
    *row = NULL;
    if (id == 0) return LARMOR_OK;
    *row = seq_find(e->s, table, id);
    return *row ? LARMOR_OK : wrong(e, "an event that is not there");
}

/* The gradient of an axis, made when it is first met; *row and *table say which. */
static larmor_status find_wave(evaluating *e, double id, double **row, int *table, seq_wave **wave)
{
    *wave = NULL;
    *table = SEQ_GRADIENTS;
    *row = seq_find(e->s, SEQ_GRADIENTS, id);
    if (!*row) {
        *table = SEQ_TRAPS;
        *row = seq_find(e->s, SEQ_TRAPS, id);
    }
    if (!*row) return wrong(e, "a gradient that is not there");
    *wave = &e->wave[*table == SEQ_TRAPS][seq_index(e->s, *table, *row)];
    return LARMOR_OK;
}

static double end_of(const seq_wave *w)
{
    return w ? w->t[w->count - 1] : 0;
}

static larmor_status rotate(evaluating *e, double id, block *b)
{
    const double *q;
    if (b->is_rotated) return wrong(e, "two rotations");
    LMR_TRY(find_event(e, SEQ_ROTATIONS, id, &q));
    const double length = q ? sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) : 0;
    if (!(length > 1e-3 && length < 1e3)) return wrong(e, "a rotation that is no quaternion");
    const double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
    const double matrix[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                                 {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                                 {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(b->rotation, matrix, sizeof matrix);
    b->is_rotated = 1;
    return LARMOR_OK;
}

/* SET comes before INC. The list has the last extension first, so of two SETs of a label the first met holds. */
static larmor_status set_label(evaluating *e, int table, double ref, block *b)
{
    const double *row;
    LMR_TRY(find_event(e, table, ref, &row));
    if (!row || !(fabs(row[LABEL_VALUE]) < 1e9)) return wrong(e, "a label that is not there");
    if (!(row[LABEL_NAME] >= 0 && row[LABEL_NAME] < LARMOR_PULSEQ_LABELS)) return LARMOR_OK;
    const int label = (int)row[LABEL_NAME];
    if (table == SEQ_SETS && !b->has_set[label]) e->label[label] = (int32_t)row[LABEL_VALUE];
    if (table == SEQ_SETS) b->has_set[label] = 1;
    if (table == SEQ_INCS && fabs((double)e->label[label] + row[LABEL_VALUE]) < 1e9)
        e->label[label] += (int32_t)row[LABEL_VALUE];
    return LARMOR_OK;
}

static larmor_status stretch(evaluating *e, double ref, block *b)
{
    const double *row;
    LMR_TRY(find_event(e, SEQ_SOFT, ref, &row));
    if (!row) return wrong(e, "a soft delay that is not there");
    const int hint = (int)row[SOFT_HINT];
    if (hint < 0 || !e->has_delay[hint]) return LARMOR_OK;
    if (row[SOFT_FACTOR] == 0) return wrong(e, "a soft delay with the factor 0");
    b->duration = e->delay[hint] / row[SOFT_FACTOR] + row[SOFT_OFFSET];
    if (b->duration >= 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: block %lld: with opts.soft_delays %s=%.6g it would take %.6g s.", e->s->path,
                    (long long)e->block, e->s->hint[hint], e->delay[hint], b->duration);
}

static larmor_status take_extension(evaluating *e, const double *row, int pass, block *b)
{
    const seq *s = e->s;
    const int type = (int)row[EXTENSION_TYPE];
    if (type == s->type[SEQ_SETS] && !pass) return set_label(e, SEQ_SETS, row[EXTENSION_REF], b);
    if (type == s->type[SEQ_INCS] && pass) return set_label(e, SEQ_INCS, row[EXTENSION_REF], b);
    if (type == s->type[SEQ_ROTATIONS] && pass) return rotate(e, row[EXTENSION_REF], b);
    if (type == s->type[SEQ_SOFT] && pass) return stretch(e, row[EXTENSION_REF], b);
    return LARMOR_OK;
}

static larmor_status take_extensions(evaluating *e, block *b)
{
    for (int pass = 0; pass < 2; pass++) {
        double id = b->row[BLOCK_EXTENSION];
        for (int64_t steps = 0; id != 0; steps++) {
            const double *row;
            if (steps > e->s->table[SEQ_EXTENSIONS].count) return wrong(e, "extensions that go round in a circle");
            LMR_TRY(find_event(e, SEQ_EXTENSIONS, id, &row));
            if (row[EXTENSION_TYPE] >= 1) LMR_TRY(take_extension(e, row, pass, b));
            id = row[EXTENSION_NEXT];
        }
    }
    return LARMOR_OK;
}

static double adc_end(const double *adc)
{
    return adc ? adc[ADC_DELAY] + adc[ADC_SAMPLES] * adc[ADC_DWELL] : 0;
}

static larmor_status check_adc(const evaluating *e, const double *adc)
{
    const double samples = adc[ADC_SAMPLES];
    if (!(samples >= 1 && samples <= MOST_ADC && samples == floor(samples)))
        return wrong(e, "an ADC event without samples, or with too many");
    if (!(adc[ADC_DWELL] > 0 && adc[ADC_DELAY] >= 0 && adc_end(adc) < LONGEST_S))
        return wrong(e, "an ADC event whose dwell time or delay is none");
    return LARMOR_OK;
}

/* Before 1.4 it is that of the longest event. */
static larmor_status find_duration(const evaluating *e, block *b)
{
    const seq *s = e->s;
    double longest = fmax(b->rf ? b->pulse_end : 0, adc_end(b->adc));
    for (int d = 0; d < 3; d++) longest = fmax(longest, end_of(b->wave[d]));
    b->duration = s->block_raster * b->row[BLOCK_DURATION];
    if (seq_before(s, 4)) {
        const double *delay;
        LMR_TRY(find_event(e, SEQ_DELAYS, b->row[BLOCK_DURATION], &delay));
        b->duration = fmax(longest, delay ? delay[0] : 0);
    }
    return b->duration >= 0 && b->duration < LONGEST_S ? LARMOR_OK : wrong(e, "its duration is none");
}

static larmor_status open_block(evaluating *e, const double *row, block *b)
{
    memset(b, 0, sizeof *b);
    b->row = row;
    LMR_TRY(find_event(e, SEQ_RF, row[BLOCK_RF], &b->rf));
    LMR_TRY(find_event(e, SEQ_ADC, row[BLOCK_ADC], &b->adc));
    for (int d = 0; d < 3; d++) {
        double *gradient;
        int table;
        seq_wave *wave;
        if (row[BLOCK_GX + d] == 0) continue;
        LMR_TRY(find_wave(e, row[BLOCK_GX + d], &gradient, &table, &wave));
        if (!wave->t) LMR_TRY(seq_make_wave(e->s, table, gradient, wave));
        b->wave[d] = wave;
    }
    if (b->rf) LMR_TRY(seq_pulse(e->s, b->rf, &b->center, &b->pulse_end, &b->use));
    if (b->adc) LMR_TRY(check_adc(e, b->adc));
    LMR_TRY(find_duration(e, b));
    return take_extensions(e, b);
}

/* ---- gradients of files before 1.5, which do not state their values at both ends ---- */

/* The first is where the gradient of the block before ended, the last continues the last two samples. */
static larmor_status complete_gradient(evaluating *e, double *row, double before, double *last)
{
    const double *shape;
    int64_t n;
    LMR_TRY(seq_values(e->s, row[GRADIENT_SHAPE], &shape, &n));
    const double end = row[GRADIENT_AMPLITUDE] * shape[n - 1];
    const double second = n > 1 ? row[GRADIENT_AMPLITUDE] * shape[n - 2] : end;
    *last = row[GRADIENT_TIME] > 0 ? end : .5 * (3 * end - second);
    if (isnan(row[GRADIENT_FIRST])) row[GRADIENT_FIRST] = before;
    if (isnan(row[GRADIENT_LAST])) row[GRADIENT_LAST] = *last;
    return LARMOR_OK;
}

static larmor_status complete_gradients(evaluating *e)
{
    const seq_table *blocks = &e->s->table[SEQ_BLOCKS];
    double before[3] = {0};
    for (e->block = 1; e->block <= blocks->count; e->block++) {
        const double *at = blocks->rows + (e->block - 1) * (1 + BLOCK_COLUMNS) + 1;
        block b;
        double last[3] = {0};
        for (int d = 0; d < 3; d++) {
            double *row;
            int table;
            seq_wave *wave;
            if (at[BLOCK_GX + d] == 0) continue;
            LMR_TRY(find_wave(e, at[BLOCK_GX + d], &row, &table, &wave));
            if (table == SEQ_TRAPS) continue;
            LMR_TRY(complete_gradient(e, row, row[GRADIENT_DELAY] > 0 ? 0 : before[d], &last[d]));
        }
        LMR_TRY(open_block(e, at, &b));
        for (int d = 0; d < 3; d++) before[d] = b.wave[d] && end_of(b.wave[d]) + SLACK >= b.duration ? last[d] : 0;
    }
    memset(e->label, 0, sizeof e->label);
    return LARMOR_OK;
}

/* ---- k-space ---- */

static void moments(const block *b, double t, double k[3])
{
    double m[3];
    for (int d = 0; d < 3; d++) m[d] = seq_moment(b->wave[d], b->first[d], t);
    for (int d = 0; d < 3; d++) {
        k[d] = m[d];
        if (b->is_rotated) k[d] = b->rotation[d][0] * m[0] + b->rotation[d][1] * m[1] + b->rotation[d][2] * m[2];
    }
}

/* k at time t of the block. at_pulse: the moments at the pulse's centre. */
static void k_at(const evaluating *e, const block *b, const double at_pulse[3], double t, double k[3])
{
    const int is_after = b->use && t >= b->center;
    moments(b, t, k);
    for (int d = 0; d < 3; d++) {
        if (!is_after)
            k[d] += e->k[d];
        else if (b->use == 'e')
            k[d] -= at_pulse[d];
        else
            k[d] -= e->k[d] + 2 * at_pulse[d];
    }
}

static larmor_status add_phases(evaluating *e, const double *adc, double *shaped, double *received)
{
    const int64_t n = (int64_t)adc[ADC_SAMPLES];
    const double *shape = NULL;
    int64_t count = n;
    if (adc[ADC_SHAPE] > 0) LMR_TRY(seq_values(e->s, adc[ADC_SHAPE], &shape, &count));
    if (count != n) return wrong(e, "an ADC event with phases of another number than its samples");
    for (int64_t i = 0; i < n; i++) {
        const double t = adc[ADC_DWELL] * ((double)i + .5);
        shaped[i] = shape ? shape[i] : 0;
        received[i] = adc[ADC_PHASE] + 2 * M_PI * adc[ADC_FREQUENCY] * t;
    }
    return LARMOR_OK;
}

static larmor_status sample(evaluating *e, const block *b, const double at_pulse[3])
{
    const double *adc = b->adc;
    lmr_reader_sequence *about = &e->out->about;
    const int64_t n = (int64_t)adc[ADC_SAMPLES], all = about->samples;
    double *k = e->out->numbers + 3 * e->sample, *times = e->out->numbers + 3 * all + e->sample;
    const int is_after = b->use == 'e' && adc[ADC_DELAY] >= b->center;
    const double excited = is_after ? e->t + b->center : e->excited;
    const double since = e->t + adc[ADC_DELAY] - (isnan(excited) ? 0 : excited);
    larmor_pulseq_readout *r = &e->out->readout[e->readout++];
    *r = (larmor_pulseq_readout){.block = e->block,
                                 .first = e->sample,
                                 .samples = n,
                                 .start_s = e->t + adc[ADC_DELAY],
                                 .dwell_s = adc[ADC_DWELL],
                                 .since_s = since,
                                 .frequency_hz = adc[ADC_FREQUENCY],
                                 .phase_rad = adc[ADC_PHASE]};
    memcpy(r->label, e->label, sizeof r->label);
    LMR_TRY(add_phases(e, adc, times + all, times + 2 * all));
    for (int64_t i = 0; i < n; i++) {
        const double t = adc[ADC_DWELL] * ((double)i + .5);
        k_at(e, b, at_pulse, adc[ADC_DELAY] + t, k + 3 * i);
        times[i] = since + t;
        for (int d = 0; d < 3; d++)
            if (!(fabs(k[3 * i + d]) < MOST_K)) return wrong(e, "k-space that is not finite");
    }
    e->sample += n;
    return LARMOR_OK;
}

/* Events end with their block, as gradients of the next one begin there. */
static larmor_status check_ends(const evaluating *e, const block *b)
{
    const double most = b->duration + SLACK;
    for (int d = 0; d < 3; d++)
        if (end_of(b->wave[d]) > most) return wrong(e, "a gradient that ends after the block");
    if (adc_end(b->adc) > most) return wrong(e, "an ADC event that ends after the block");
    if (b->rf && b->center > most) return wrong(e, "a pulse whose centre is after the block");
    return LARMOR_OK;
}

/* A gradient that begins where another ended goes on from its value, as pypulseq and Pulseq have it: files round the
 * two values each on its own. */
static void join_gradients(evaluating *e, block *b)
{
    for (int d = 0; d < 3; d++) {
        const seq_wave *w = b->wave[d];
        const int joins = w && w->t[0] < TOUCH && !b->is_rotated;
        const int lasts = w && end_of(w) > b->duration - TOUCH && !b->is_rotated;
        b->first[d] = joins ? e->before[d] : NAN;
        e->before[d] = lasts ? w->g[w->count - 1] : NAN;
    }
}

static larmor_status run_block(evaluating *e, const double *row)
{
    block b;
    double at_pulse[3] = {0}, k[3];
    LMR_TRY(open_block(e, row, &b));
    LMR_TRY(check_ends(e, &b));
    join_gradients(e, &b);
    if (b.use) moments(&b, b.center, at_pulse);
    if (b.adc) LMR_TRY(sample(e, &b, at_pulse));
    k_at(e, &b, at_pulse, INFINITY, k);
    memcpy(e->k, k, sizeof k);
    if (b.use == 'e') e->excited = e->t + b.center;
    e->out->about.excitations += b.use == 'e';
    e->out->about.refocusings += b.use == 'r';
    e->t += b.duration;
    return e->t < LONGEST_S ? LARMOR_OK : wrong(e, "the sequence takes more than 1000000 s");
}

/* ---- all ---- */

/* What the answer has room for (io/process/reader_process.c): small files claim much by repeats. */
#define LEAST_ROOM (INT64_C(60) << 20)
#define ROOM_PER_BYTE 8000

static larmor_status count_samples(evaluating *e)
{
    const seq_table *blocks = &e->s->table[SEQ_BLOCKS];
    lmr_reader_sequence *about = &e->out->about;
    const int64_t most = (LEAST_ROOM + ROOM_PER_BYTE * e->s->size) / (int64_t)sizeof(double);
    about->blocks = blocks->count;
    for (e->block = 1; e->block <= blocks->count; e->block++) {
        const double *row = blocks->rows + (e->block - 1) * (1 + BLOCK_COLUMNS) + 1, *adc;
        LMR_TRY(find_event(e, SEQ_ADC, row[BLOCK_ADC], &adc));
        if (!adc) continue;
        LMR_TRY(check_adc(e, adc));
        about->readouts++;
        about->samples += (int64_t)adc[ADC_SAMPLES];
        if (6 * about->samples + 32 * about->readouts > most)
            return wrong(e, "up to here it has more samples than a file of this size may");
    }
    return LARMOR_OK;
}

/* "TE=0.01,TR=1" */
static larmor_status read_delays(evaluating *e, const char *text)
{
    while (text && *text) {
        const size_t length = strcspn(text, "=,");
        char *end = NULL;
        const double value = text[length] == '=' ? strtod(text + length + 1, &end) : NAN;
        LMR_REFUSE(!end || end == text + length + 1 || (*end && *end != ',') || !(value >= 0 && value < LONGEST_S),
                   LARMOR_ERR_ARG, "opts.soft_delays: names and times in s expected, as TE=0.01,TR=0.5.");
        int hint = 0;
        while (hint < e->s->hints &&
               (strlen(e->s->hint[hint]) != length || strncmp(e->s->hint[hint], text, length) != 0))
            hint++;
        LMR_REFUSE(hint == e->s->hints, LARMOR_ERR_ARG, "%s: opts.soft_delays: it has no soft delay %s.", e->s->path,
                   lmr_printable(text, (int64_t)length, SEQ_HINT).s);
        e->delay[hint] = value;
        e->has_delay[hint] = 1;
        text = *end ? end + 1 : end;
    }
    return LARMOR_OK;
}

static larmor_status evaluate(evaluating *e, const char *delays)
{
    seq *s = e->s;
    const seq_table *blocks = &s->table[SEQ_BLOCKS];
    for (int n = 0; n < 2; n++) {
        const int64_t count = s->table[n ? SEQ_TRAPS : SEQ_GRADIENTS].count;
        LMR_ALLOCATE_ZEROS(e->wave[n], (size_t)count + 1);
    }
    LMR_TRY(read_delays(e, delays));
    LMR_TRY(count_samples(e));
    lmr_reader_sequence *about = &e->out->about;
    LMR_ALLOCATE_ZEROS(e->out->readout, about->readouts + 1);
    LMR_ALLOCATE_ZEROS(e->out->numbers, 6 * (about->samples + 1));
    if (seq_before(s, 5)) LMR_TRY(complete_gradients(e));
    for (e->block = 1; e->block <= blocks->count; e->block++)
        LMR_TRY(run_block(e, blocks->rows + (e->block - 1) * (1 + BLOCK_COLUMNS) + 1));
    about->duration_s = e->t;
    for (int d = 0; d < 3; d++) {
        about->fov_m[d] = s->fov_m[d];
        about->version[d] = s->version[d];
    }
    memcpy(about->name, s->name, sizeof about->name);
    memcpy(about->unknown, s->unknown, sizeof about->unknown);
    return LARMOR_OK;
}

larmor_status seq_evaluate(seq *s, const char *delays, seq_result *out)
{
    evaluating e = {.s = s, .out = out, .excited = NAN, .before = {NAN, NAN, NAN}};
    memset(out, 0, sizeof *out);
    const larmor_status st = evaluate(&e, delays);
    for (int n = 0; n < 2; n++) {
        const int64_t count = s->table[n ? SEQ_TRAPS : SEQ_GRADIENTS].count;
        for (int64_t i = 0; e.wave[n] && i < count; i++) free(e.wave[n][i].t);
        free(e.wave[n]);
    }
    if (!st) return st;
    LMR_FREE(out->readout, out->numbers);
    out->readout = NULL;
    out->numbers = NULL;
    return st;
}
