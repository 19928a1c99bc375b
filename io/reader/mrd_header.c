/* The XML header of ISMRMRD raw data, by expat: what larmor needs is read strictly, the rest is skipped.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "io/reader/mrd_header.h"

#include <ctype.h>
#include <locale.h>
#include <strings.h>

#include "core/core.h"
#include "io/reader/source.h"
#include "io/reader/xml.h"

#define H1_HZ_PER_TESLA 42577478.518 /* CODATA 2018, of protons */
#define LEAST_TESLA 0.001            /* below, a frequency is none of a magnet */
enum { MAX_DEPTH = 64, MAX_NAME = 40, MAX_TEXT = 64 };

/* The elements that are read; every other one is SKIPPED with all that is in it. */
typedef enum element {
    SKIPPED,
    NOTHING, /* above the root */
    ROOT,
    SYSTEM,
    CHANNELS,
    BANDWIDTH,
    FIELD_STRENGTH,
    CONDITIONS,
    H1_FREQUENCY,
    ENCODING,
    SPACE,
    MATRIX,
    MATRIX_AXIS,
    FOV,
    FOV_AXIS,
    LIMITS,
    LIMIT,
    BOUND,
    TRAJECTORY,
    PARALLEL,
    MULTIBAND,
    MULTIBAND_LEAF,
    SPACING,
    OFFSET,
    PARAMETERS, /* of the trajectory, or of the scan */
    SEQUENCE,
    ECHO_TIME,
    PARAMETER,
    PARAMETER_NAME,
    PARAMETER_VALUE,
    WAVEFORM,
    WAVEFORM_LEAF
} element;

enum { WAVE_TYPE, WAVE_ID, WAVE_TRIGGER };                        /* leaves of a waveform */
enum { BAND_FACTOR, BAND_STEP, BAND_CALIBRATION, BAND_ENCODING }; /* and of multiband */

static const struct rule {
    element parent;
    const char *name;
    element is;
    int index; /* which of its kind: encoded or recon space, axis, counter, bound */
} rules[] = {
    {NOTHING, "ismrmrdHeader", ROOT, 0},
    {ROOT, "acquisitionSystemInformation", SYSTEM, 0},
    {SYSTEM, "receiverChannels", CHANNELS, 0},
    {SYSTEM, "relativeReceiverNoiseBandwidth", BANDWIDTH, 0},
    {SYSTEM, "systemFieldStrength_T", FIELD_STRENGTH, 0},
    {ROOT, "experimentalConditions", CONDITIONS, 0},
    {CONDITIONS, "H1resonanceFrequency_Hz", H1_FREQUENCY, 0},
    {ROOT, "encoding", ENCODING, 0},
    {ROOT, "sequenceParameters", SEQUENCE, 0},
    {SEQUENCE, "TE", ECHO_TIME, 0},
    {ENCODING, "encodedSpace", SPACE, 0},
    {ENCODING, "reconSpace", SPACE, 1},
    {ENCODING, "trajectory", TRAJECTORY, 0},
    {ENCODING, "encodingLimits", LIMITS, 0},
    {ENCODING, "parallelImaging", PARALLEL, 0},
    {PARALLEL, "multiband", MULTIBAND, 0},
    {MULTIBAND, "multiband_factor", MULTIBAND_LEAF, BAND_FACTOR},
    {MULTIBAND, "deltaKz", MULTIBAND_LEAF, BAND_STEP},
    {MULTIBAND, "calibration", MULTIBAND_LEAF, BAND_CALIBRATION},
    {MULTIBAND, "calibration_encoding", MULTIBAND_LEAF, BAND_ENCODING},
    {MULTIBAND, "spacing", SPACING, 0},
    {SPACING, "dZ", OFFSET, 0},
    {ENCODING, "trajectoryDescription", PARAMETERS, 0},
    {ROOT, "userParameters", PARAMETERS, 1},
    {ROOT, "waveformInformation", WAVEFORM, 0},
    {WAVEFORM, "waveformType", WAVEFORM_LEAF, WAVE_TYPE},
    {WAVEFORM, "waveformId", WAVEFORM_LEAF, WAVE_ID},
    {WAVEFORM, "waveformTriggerChannel", WAVEFORM_LEAF, WAVE_TRIGGER},
    {WAVEFORM, "userParameters", PARAMETERS, 2},
    {PARAMETERS, "userParameterLong", PARAMETER, 0},
    {PARAMETERS, "userParameterDouble", PARAMETER, 0},
    {PARAMETER, "name", PARAMETER_NAME, 0},
    {PARAMETER, "value", PARAMETER_VALUE, 0},
    {SPACE, "matrixSize", MATRIX, 0},
    {SPACE, "fieldOfView_mm", FOV, 0},
    {MATRIX, "x", MATRIX_AXIS, 0},
    {MATRIX, "y", MATRIX_AXIS, 1},
    {MATRIX, "z", MATRIX_AXIS, 2},
    {FOV, "x", FOV_AXIS, 0},
    {FOV, "y", FOV_AXIS, 1},
    {FOV, "z", FOV_AXIS, 2},
    {LIMITS, "kspace_encoding_step_1", LIMIT, LMR_STEP1},
    {LIMITS, "kspace_encoding_step_2", LIMIT, LMR_STEP2},
    {LIMITS, "average", LIMIT, LMR_AVERAGE},
    {LIMITS, "slice", LIMIT, LMR_SLICE},
    {LIMITS, "contrast", LIMIT, LMR_CONTRAST},
    {LIMITS, "phase", LIMIT, LMR_PHASE},
    {LIMITS, "repetition", LIMIT, LMR_REPETITION},
    {LIMITS, "set", LIMIT, LMR_SET},
    {LIMITS, "segment", LIMIT, LMR_SEGMENT},
    {LIMIT, "minimum", BOUND, LMR_MINIMUM},
    {LIMIT, "maximum", BOUND, LMR_MAXIMUM},
    {LIMIT, "center", BOUND, LMR_CENTER},
};

typedef struct level { /* an open element */
    element is;
    int index;
    long line;
    char name[MAX_NAME];
} level;

typedef struct parser {
    lmr_xml xml;
    locale_t c;
    lmr_mrd_header *out;
    larmor_status st;
    int depth; /* open elements; level[0] is NOTHING */
    level level[MAX_DEPTH + 1];
    char text[MAX_TEXT + 1]; /* of the leaf that is open */
    int length, overlong;
    int offsets;                                            /* of the list of slices that is open */
    int seen_trajectory, seen_matrix[2][3], seen_fov[2][3]; /* in this encoding */
    char parameter[MAX_TEXT + 1];                           /* the name of the one that is open */
    double value;                                           /* NAN: none, or no number */
    double angle;                                           /* of the parameters of the scan */
    larmor_waveform_info waveform;                          /* that is open; id -1: not given */
} parser;

#define REFUSE(p, ...)                                                                                               \
    do {                                                                                                             \
        if (!(p)->st) (p)->st = LMR_FAIL(LARMOR_ERR_FORMAT, __VA_ARGS__);                                            \
        XML_StopParser((p)->xml.parser, XML_FALSE);                                                                  \
    } while (0)

/* A leaf's text, for messages. */
static lmr_text said(const parser *p)
{
    return lmr_printable(p->text, p->length + p->overlong, MAX_TEXT < 40 ? MAX_TEXT : 40);
}

/* The whole text as a number, 1 if it is one and finite. */
static int number(const parser *p, double *value)
{
    if (p->overlong || !p->length || strspn(p->text, "0123456789+-.eE") != (size_t)p->length) return 0;
    char *end;
    *value = strtod_l(p->text, &end, p->c);
    return end == p->text + p->length && isfinite(*value);
}

/* The whole text as an integer in first..last; -1 if it is not. */
static int integer(const parser *p, int first, int last)
{
    double v;
    if (!number(p, &v) || strspn(p->text, "+0123456789") != (size_t)p->length || v < first || v > last) return -1;
    return (int)v;
}

static const char axis_name[] = "xyz";

static const char *space_name(int recon)
{
    return recon ? "reconSpace " : "";
}

static void once(parser *p, int *seen, const char *what)
{
    if (*seen) REFUSE(p, "header: encoding %d %s given twice.", p->out->encodings, what);
    *seen = 1;
}

/* ---- leaves ---- */

static void matrix_axis(parser *p, lmr_mrd_encoding *e)
{
    const int axis = p->level[p->depth].index, recon = p->level[p->depth - 2].index;
    char what[40];
    snprintf(what, sizeof what, "%smatrix %c", space_name(recon), axis_name[axis]);
    once(p, &p->seen_matrix[recon][axis], what);
    const int n = integer(p, 0, LMR_MRD_MAX_MATRIX);
    if (n < 0)
        REFUSE(p, "header: encoding %d %s = \"%s\"; 1 to %d expected.", p->out->encodings, what, said(p).s,
               LMR_MRD_MAX_MATRIX);
    (recon ? e->space.recon_matrix : e->space.matrix)[axis] = n;
}

static void fov_axis(parser *p, lmr_mrd_encoding *e)
{
    const int axis = p->level[p->depth].index, recon = p->level[p->depth - 2].index;
    char what[40];
    double mm = 0;
    snprintf(what, sizeof what, "%sfield of view %c", space_name(recon), axis_name[axis]);
    once(p, &p->seen_fov[recon][axis], what);
    if (!number(p, &mm) || (mm != 0 && (mm < 1e-6 || mm > 1e9)))
        REFUSE(p, "header: encoding %d %s is %s; a positive number of mm expected.", p->out->encodings, what,
               p->length ? said(p).s : "empty");
    (recon ? e->space.recon_fov_mm : e->space.fov_mm)[axis] = mm;
}

static void bound(parser *p, lmr_mrd_encoding *e)
{
    const level *here = &p->level[p->depth], *counter = here - 1;
    const int n = integer(p, 0, LMR_MRD_MAX_MATRIX);
    if (n < 0)
        REFUSE(p, "header: encoding %d %s %s = \"%s\"; 0 to %d expected.", p->out->encodings, counter->name,
               here->name, said(p).s, LMR_MRD_MAX_MATRIX);
    e->limit[counter->index][here->index] = n;
}

static void trajectory(parser *p, lmr_mrd_encoding *e)
{
    static const char *const names[] = {"cartesian", "epi", "radial", "goldenangle", "spiral", "other"};
    once(p, &p->seen_trajectory, "trajectory");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(p->text, names[i])) snprintf(e->space.trajectory, sizeof e->space.trajectory, "%s", names[i]);
    if (!strcasecmp(p->text, "custom")) snprintf(e->space.trajectory, sizeof e->space.trajectory, "other");
    if (!*e->space.trajectory && p->length) snprintf(e->unknown, sizeof e->unknown, "%.43s", said(p).s);
}

static void system_leaf(parser *p, element is)
{
    if (is == CHANNELS) {
        const int n = integer(p, 0, LMR_MRD_MAX_MATRIX);
        if (n < 0) REFUSE(p, "header: receiverChannels = \"%s\"; 0 to %d expected.", said(p).s, LMR_MRD_MAX_MATRIX);
        p->out->receiver_channels = n;
        return;
    }
    double ratio = 0;
    if (is == FIELD_STRENGTH) { /* what is no number is left out: few reconstructions need it */
        if (!number(p, &ratio) || ratio <= 0 || ratio > LMR_MRD_MAX_TESLA) return;
        p->out->field_tesla = ratio;
        p->out->field_by_h1 = 0;
        return;
    }
    if (is == H1_FREQUENCY) {
        const double tesla = number(p, &ratio) ? ratio / H1_HZ_PER_TESLA : 0;
        if (p->out->field_tesla > 0 || tesla < LEAST_TESLA || tesla > LMR_MRD_MAX_TESLA) return;
        p->out->field_tesla = tesla;
        p->out->field_by_h1 = 1;
        return;
    }
    if (!number(p, &ratio) || ratio <= 0)
        REFUSE(p, "header: relativeReceiverNoiseBandwidth = \"%s\"; a positive number expected.", said(p).s);
    p->out->noise_bandwidth = ratio;
}

/* The name's letters and digits, in lower case. */
static void plain_name(const char *text, char *name, size_t room)
{
    size_t used = 0;
    for (; *text && used + 1 < room; text++)
        if (isalnum((unsigned char)*text)) name[used++] = (char)tolower((unsigned char)*text);
    name[used] = '\0';
}

/* A time or a count of a trapezoidal readout. */
static void take_ramp(const char *name, double value, larmor_ramp *ramp)
{
    const struct {
        const char *name;
        double *value;
    } times[] = {{"rampuptime", &ramp->up_us},
                 {"flattoptime", &ramp->flat_us},
                 {"rampdowntime", &ramp->down_us},
                 {"acqdelaytime", &ramp->delay_us},
                 {"dwelltime", &ramp->dwell_us}};
    if (!(value >= 0 && value <= LMR_MRD_MAX_RAMP_US)) return;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!strcmp(name, times[i].name)) *times[i].value = value;
    if (!strcmp(name, "numsamples") && value <= LMR_MRD_MAX_MATRIX) ramp->samples = (int64_t)value;
}

/* ---- slices that were excited together: what is no number is kept as such, and refused where it is used ---- */

static void multiband_leaf(parser *p, larmor_multiband_header *m)
{
    const int leaf = p->level[p->depth].index;
    if (leaf == BAND_FACTOR) m->factor = integer(p, 1, LMR_MRD_MAX_MATRIX);
    if (leaf == BAND_STEP && !number(p, &m->delta_kz)) m->delta_kz = NAN;
    if (leaf == BAND_ENCODING) m->calibration_encoding = integer(p, 0, LMR_MRD_MAX_ENCODINGS - 1);
    if (leaf == BAND_CALIBRATION) snprintf(m->calibration, sizeof m->calibration, "%.15s", said(p).s);
}

static void take_offset(parser *p, larmor_multiband_header *m)
{
    const int i = p->offsets++;
    double mm;
    if (!number(p, &mm)) mm = NAN;
    if (i >= LARMOR_MOST_BANDS) return;
    if (m->spacings == 1) m->offset_mm[i] = mm;
    m->differs |= fabs(mm - m->offset_mm[i]) > 1e-3;
}

static void end_spacing(const parser *p, larmor_multiband_header *m)
{
    const int count = p->offsets > LARMOR_MOST_BANDS ? LARMOR_MOST_BANDS + 1 : p->offsets;
    if (m->spacings == 1) m->offsets = count;
    m->differs |= count != m->offsets;
}

/* ---- waveforms: what is no number is left out ---- */

#define NO_KIND (-1) /* of a waveform whose type is not given */

static void waveform_leaf(parser *p)
{
    static const char *const types[] = {"other", "ecg", "pulse", "respiratory"};
    larmor_waveform_info *w = &p->waveform;
    const int leaf = p->level[p->depth].index;
    if (leaf == WAVE_TYPE) w->kind = LARMOR_WAVEFORM_OTHER;
    for (int i = 0; leaf == WAVE_TYPE && i < (int)(sizeof types / sizeof *types); i++)
        if (!strcasecmp(p->text, types[i])) w->kind = (larmor_waveform_kind)i;
    if (leaf == WAVE_ID) w->id = integer(p, 0, LMR_MRD_MAX_MATRIX);
    if (leaf == WAVE_TRIGGER) w->trigger = integer(p, 0, LMR_MRD_MAX_MATRIX);
}

/* Converters of before waveformId and waveformTriggerChannel say them by parameters. */
static void take_waveform_parameter(parser *p)
{
    char name[MAX_TEXT + 1];
    plain_name(p->parameter, name, sizeof name);
    if (!(p->value >= 0 && p->value <= LMR_MRD_MAX_MATRIX && p->value == floor(p->value))) return;
    if (!strcmp(name, "triggerchannel")) p->waveform.trigger = (int)p->value;
    if (!strcmp(name, "waveformid")) p->waveform.id = (int)p->value;
}

static void end_waveform(parser *p)
{
    lmr_mrd_header *h = p->out;
    larmor_waveform_info w = p->waveform;
    if (w.id < 0 && (int)w.kind > LARMOR_WAVEFORM_OTHER) w.id = (int)w.kind - LARMOR_WAVEFORM_ECG;
    if ((int)w.kind == NO_KIND) w.kind = lmr_mrd_usual_kind(w.id);
    if (w.id >= 0 && h->waveforms < LARMOR_MOST_WAVEFORM_INFOS) h->waveform[h->waveforms++] = w;
}

/* ---- parameters ---- */

/* A parameter that tells when readouts start, or the angle between spokes, in degrees or as the index of a tiny
 * golden angle. Those that say something else are no concern of this. */
static void take_parameter(parser *p)
{
    static const char *const angles[] = {"angleincrement", "angularincrement", "angleincrementdeg",
                                         "spokeangle",     "goldenangle",      "radialangle"};
    static const char *const indices[] = {"tinygoldenangle", "tinygoldenangleindex", "tinygoldenindex",
                                          "goldenangleindex"};
    char name[MAX_TEXT + 1];
    double angle = 0;
    if (p->level[p->depth - 1].index == 2) {
        take_waveform_parameter(p);
        return;
    }
    plain_name(p->parameter, name, sizeof name);
    if (!strcmp(name, "readoutstartms") && isfinite(p->value)) {
        p->out->has_readout_start = 1;
        p->out->readout_start_ms = p->value;
    }
    if (!strcmp(name, "bitsstored") && p->value >= 1 && p->value <= LMR_MRD_MAX_BITS && p->value == floor(p->value))
        p->out->bits_stored = (int)p->value;
    if (!p->level[p->depth - 1].index) take_ramp(name, p->value, &p->out->encoding[p->out->encodings - 1].space.ramp);
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++)
        if (!strcmp(name, angles[i]) && p->value > 1 && p->value < 360) angle = p->value;
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        if (!strcmp(name, indices[i]) && p->value >= 1 && p->value <= 100 && p->value == floor(p->value))
            angle = 180 / ((1 + sqrt(5)) / 2 + p->value - 1);
    if (!(angle > 0)) return;
    if (p->level[p->depth - 1].index)
        p->angle = angle;
    else
        p->out->encoding[p->out->encodings - 1].space.angle_deg = angle;
}

static void take_parameter_leaf(parser *p, element is)
{
    if (is == PARAMETER_VALUE && !number(p, &p->value)) p->value = NAN;
    if (is == PARAMETER_NAME) memcpy(p->parameter, p->text, sizeof p->parameter);
}

/* What is no number is left out: only some reconstructions need it. */
static void echo_time(parser *p)
{
    lmr_mrd_header *h = p->out;
    double value;
    if (number(p, &value) && h->echoes < LARMOR_MAX_ECHOES) h->echo_ms[h->echoes++] = value;
}

/* ---- encodings ---- */

static void begin_encoding(parser *p)
{
    lmr_mrd_header *h = p->out;
    if (h->encodings == LMR_MRD_MAX_ENCODINGS) {
        REFUSE(p, "header: more than %d encodings.", LMR_MRD_MAX_ENCODINGS);
        return;
    }
    lmr_mrd_encoding *e = &h->encoding[h->encodings++];
    memset(e, 0, sizeof *e);
    memset(e->limit, -1, sizeof e->limit);
    e->space.ramp.delay_us = -1;
    p->seen_trajectory = 0;
    memset(p->seen_matrix, 0, sizeof p->seen_matrix);
    memset(p->seen_fov, 0, sizeof p->seen_fov);
}

/* ---- expat's events ---- */

static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes LMR_UNUSED)
{
    parser *p = self;
    if (p->st) return;
    const long line = lmr_xml_line(&p->xml);
    if (p->depth == MAX_DEPTH) {
        REFUSE(p, "header line %ld: more than %d levels of tags.", line, MAX_DEPTH);
        return;
    }
    const char *colon = strchr(name, ':');
    const char *local = colon ? colon + 1 : name;
    level *l = &p->level[++p->depth];
    *l = (level){.is = SKIPPED, .line = line};
    const lmr_text shown = lmr_printable(local, (int64_t)strlen(local), MAX_NAME - 8);
    memcpy(l->name, shown.s, sizeof l->name - 1);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].parent == l[-1].is && !strcmp(rules[i].name, local)) {
            l->is = rules[i].is;
            l->index = rules[i].index;
        }
    if (p->depth == 1 && l->is != ROOT) REFUSE(p, "header: root is <%s>, <ismrmrdHeader> expected.", l->name);
    if (l->is == ENCODING) begin_encoding(p);
    lmr_mrd_encoding *e = p->out->encodings ? &p->out->encoding[p->out->encodings - 1] : NULL;
    if (l->is == LIMITS) e->has_limits = 1;
    if (l->is == MULTIBAND) e->space.multiband = (larmor_multiband_header){.factor = -1, .delta_kz = NAN};
    if (l->is == SPACING) {
        e->space.multiband.spacings++;
        p->offsets = 0;
    }
    if (l->is == SPACE) once(p, &e->has_space[l->index], l->name);
    if (l->is == PARAMETER) *p->parameter = '\0';
    if (l->is == WAVEFORM) p->waveform = (larmor_waveform_info){-1, (larmor_waveform_kind)NO_KIND, -1};
    if (l->is == PARAMETER) p->value = NAN;
    if (l->is != SKIPPED) p->length = p->overlong = 0;
}

static void XMLCALL on_text(void *self, const XML_Char *text, int bytes)
{
    parser *p = self;
    if (p->level[p->depth].is == SKIPPED) return;
    for (int i = 0; i < bytes; i++) {
        const int space = isspace((unsigned char)text[i]);
        if (space && !p->length) continue;
        if (p->length == MAX_TEXT)
            p->overlong |= !space;
        else
            p->text[p->length++] = text[i];
    }
}

static void XMLCALL on_end(void *self, const XML_Char *name LMR_UNUSED)
{
    parser *p = self;
    if (p->st) return;
    while (p->length && isspace((unsigned char)p->text[p->length - 1])) p->length--;
    p->text[p->length] = '\0';
    const element is = p->level[p->depth].is;
    lmr_mrd_encoding *e = p->out->encodings ? &p->out->encoding[p->out->encodings - 1] : NULL;
    if (is == MATRIX_AXIS) matrix_axis(p, e);
    if (is == FOV_AXIS) fov_axis(p, e);
    if (is == BOUND) bound(p, e);
    if (is == TRAJECTORY) trajectory(p, e);
    if (is == MULTIBAND_LEAF) multiband_leaf(p, &e->space.multiband);
    if (is == OFFSET) take_offset(p, &e->space.multiband);
    if (is == SPACING) end_spacing(p, &e->space.multiband);
    if (is == CHANNELS || is == BANDWIDTH || is == FIELD_STRENGTH || is == H1_FREQUENCY) system_leaf(p, is);
    if (is == PARAMETER_NAME || is == PARAMETER_VALUE) take_parameter_leaf(p, is);
    if (is == PARAMETER) take_parameter(p);
    if (is == ECHO_TIME) echo_time(p);
    if (is == WAVEFORM_LEAF) waveform_leaf(p);
    if (is == WAVEFORM) end_waveform(p);
    p->depth--;
}

static larmor_status explain(const parser *p)
{
    const enum XML_Error error = XML_GetErrorCode(p->xml.parser);
    if (error == XML_ERROR_NO_MEMORY) return LMR_NO_MEMORY();
    const level *open = &p->level[p->depth];
    LMR_REFUSE(p->depth && (error == XML_ERROR_TAG_MISMATCH || error == XML_ERROR_NO_ELEMENTS ||
                            error == XML_ERROR_UNCLOSED_TOKEN),
               LARMOR_ERR_FORMAT, "header line %ld: tag <%s> not closed.", open->line, open->name);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "header line %ld: not XML (%s).", lmr_xml_line(&p->xml),
                    XML_ErrorString(error));
}

static larmor_status parse(parser *p, const char *text, int64_t bytes)
{
    XML_SetUserData(p->xml.parser, p);
    XML_SetElementHandler(p->xml.parser, on_start, on_end);
    XML_SetCharacterDataHandler(p->xml.parser, on_text);
    lmr_xml_forbid_doctype(&p->xml);
    p->level[0].is = NOTHING;
    const enum XML_Status status = XML_Parse(p->xml.parser, text, (int)bytes, 1);
    if (p->st) return p->st;
    LMR_REFUSE(p->xml.doctype, LARMOR_ERR_FORMAT, "header line %ld: DOCTYPE is not allowed.", p->xml.doctype);
    if (status != XML_STATUS_OK) return explain(p);
    if (!p->out->encodings) begin_encoding(p); /* of which everything is left out */
    for (int i = 0; i < p->out->encodings && !p->st; i++) {
        double *angle = &p->out->encoding[i].space.angle_deg;
        if (*angle == 0) *angle = p->angle;
    }
    return p->st;
}

larmor_status lmr_mrd_header_parse(const char *text, int64_t bytes, lmr_mrd_header *out)
{
    *out = (lmr_mrd_header){.noise_bandwidth = 0.793};
    LMR_REFUSE(bytes > LMR_MRD_MAX_HEADER, LARMOR_ERR_FORMAT, "header is %lld bytes, limit %lld.", (long long)bytes,
               (long long)LMR_MRD_MAX_HEADER);
    bytes = (int64_t)strnlen(text, (size_t)bytes);
    int64_t blanks = 0; /* strspn would go on past the text's end, which has no 0 */
    while (blanks < bytes && strchr(" \t\r\n", text[blanks])) blanks++;
    LMR_REFUSE(blanks == bytes, LARMOR_ERR_FORMAT, "header is empty.");
    out->encoding = calloc(LMR_MRD_MAX_ENCODINGS, sizeof *out->encoding);
    LMR_HEAP parser *p = calloc(1, sizeof *p);
    if (p) {
        p->out = out;
        p->xml.parser = XML_ParserCreate(NULL);
        p->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    }
    const int ready = out->encoding && p && p->xml.parser && p->c;
    const larmor_status st = ready ? parse(p, text, bytes) : LMR_NO_MEMORY();
    if (p && p->xml.parser) XML_ParserFree(p->xml.parser);
    if (p && p->c) freelocale(p->c);
    return st;
}

void lmr_mrd_header_free(lmr_mrd_header *header)
{
    LMR_CLEAR(header->encoding);
    header->encodings = 0;
}
