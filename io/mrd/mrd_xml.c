/* The XML header of an ISMRMRD file that larmor writes. SPDX-License-Identifier: Apache-2.0 */
#include "io/mrd/mrd_xml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "io/bytes.h"

#define MAX_NUMBER 65535
#define PROTON_HZ_PER_TESLA 42.577478518e6 /* CODATA 2018 */

static larmor_status check_space(const char *path, const char *name, const int64_t matrix[3], const double fov[3])
{
    for (int d = 0; d < 3; d++) {
        LMR_REFUSE(matrix[d] < 1 || matrix[d] > MAX_NUMBER, LARMOR_ERR_ARG,
                   "%s: %s matrix %c: got %" PRId64 ", expected 1 to %d", path, name, "xyz"[d], matrix[d],
                   MAX_NUMBER);
        LMR_REFUSE(!(fov[d] > 0 && isfinite(fov[d])), LARMOR_ERR_ARG,
                   "%s: %s field of view %c: got %g, expected a positive number of mm", path, name, "xyz"[d], fov[d]);
    }
    return LARMOR_OK;
}

static larmor_status check_scan(const char *path, const larmor_scan *scan)
{
    static const char *const known[] = {"cartesian", "epi", "radial", "goldenangle", "spiral", "other"};
    const larmor_encoding *e = &scan->encoding;
    LMR_TRY(check_space(path, "encoded", e->matrix, e->fov_mm));
    LMR_TRY(check_space(path, "recon", e->recon_matrix, e->recon_fov_mm));
    int found = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) found |= !strcmp(e->trajectory, known[i]);
    LMR_REFUSE(!found, LARMOR_ERR_ARG,
               "%s: trajectory \"%.16s\" unknown; cartesian, epi, radial, goldenangle, spiral or other", path,
               e->trajectory);
    const int64_t counts[] = {scan->readouts, scan->partitions, scan->slices,
                              scan->averages, scan->contrasts,  scan->repetitions};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        LMR_REFUSE(counts[i] < 0 || counts[i] > MAX_NUMBER + 1, LARMOR_ERR_ARG,
                   "%s: a counter of the scan runs to %" PRId64 ", expected at most %d", path, counts[i],
                   MAX_NUMBER + 1);
    for (int d = 0; d < 2; d++)
        LMR_REFUSE(scan->acceleration[d] < 0 || scan->acceleration[d] > MAX_NUMBER, LARMOR_ERR_ARG,
                   "%s: acceleration: got %" PRId64 ", expected 0 to %d", path, scan->acceleration[d], MAX_NUMBER);
    LMR_REFUSE(!isfinite(scan->field_tesla) || scan->field_tesla < 0 || !isfinite(scan->noise_bandwidth) ||
                   scan->noise_bandwidth < 0,
               LARMOR_ERR_ARG, "%s: field strength or noise bandwidth is not a number >= 0", path);
    for (int i = 0; i < scan->echoes && i < LARMOR_MAX_ECHOES; i++)
        LMR_REFUSE(!isfinite(scan->echo_ms[i]), LARMOR_ERR_ARG, "%s: echo time %d is not finite", path, i);
    LMR_REFUSE(scan->echoes < 0 || scan->echoes > LARMOR_MAX_ECHOES ||
                   (scan->readout_start_ms && !isfinite(*scan->readout_start_ms)),
               LARMOR_ERR_ARG, "%s: %d echo times, expected at most %d, and a finite start of the readout", path,
               scan->echoes, LARMOR_MAX_ECHOES);
    return LARMOR_OK;
}

static larmor_status check_multiband(const char *path, const larmor_multiband_header *m)
{
    int good = m->factor >= 0 && m->factor <= LARMOR_MOST_BANDS && m->calibration_encoding >= 0;
    good &= !m->factor || (m->offsets >= 1 && m->offsets <= LARMOR_MOST_BANDS && isfinite(m->delta_kz));
    for (int i = 0; i < m->offsets && good && m->factor; i++) good &= isfinite(m->offset_mm[i]);
    if (good) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "%s: multiband of %d slices with %d offsets, expected at most %d, finite offsets and deltaKz",
                    path, m->factor, m->offsets, LARMOR_MOST_BANDS);
}

static void print_space(lmr_bytes *b, const char *name, const int64_t matrix[3], const double fov[3])
{
    lmr_bytes_print(b, "    <%s>\n", name);
    lmr_bytes_print(b, "      <matrixSize><x>%" PRId64 "</x><y>%" PRId64 "</y><z>%" PRId64 "</z></matrixSize>\n",
                    matrix[0], matrix[1], matrix[2]);
    lmr_bytes_print(b, "      <fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm>\n", fov[0], fov[1],
                    fov[2]);
    lmr_bytes_print(b, "    </%s>\n", name);
}

/* A counter that runs over `count` values. */
static void print_limit(lmr_bytes *b, const char *name, int64_t count, int64_t center)
{
    lmr_bytes_print(b,
                    "      <%s><minimum>0</minimum><maximum>%" PRId64 "</maximum><center>%" PRId64 "</center></%s>\n",
                    name, count > 1 ? count - 1 : 0, count > 1 ? center : 0, name);
}

static void print_system(lmr_bytes *b, const larmor_scan *scan, double tesla)
{
    lmr_bytes_print(b, "  <measurementInformation>\n    <patientPosition>HFS</patientPosition>\n    <protocolName>");
    lmr_bytes_xml(b, scan->description ? scan->description : "larmor");
    lmr_bytes_print(b, "</protocolName>\n  </measurementInformation>\n");
    lmr_bytes_print(b, "  <acquisitionSystemInformation>\n    <systemVendor>larmor</systemVendor>\n");
    lmr_bytes_print(b, "    <systemFieldStrength_T>%.9g</systemFieldStrength_T>\n", tesla);
    if (scan->noise_bandwidth > 0)
        lmr_bytes_print(b, "    <relativeReceiverNoiseBandwidth>%.9g</relativeReceiverNoiseBandwidth>\n",
                        scan->noise_bandwidth);
    lmr_bytes_print(b, "    <receiverChannels>%d</receiverChannels>\n  </acquisitionSystemInformation>\n",
                    scan->coils);
    lmr_bytes_print(b, "  <experimentalConditions>\n    <H1resonanceFrequency_Hz>%.0f</H1resonanceFrequency_Hz>\n",
                    tesla * PROTON_HZ_PER_TESLA);
    lmr_bytes_print(b, "  </experimentalConditions>\n");
}

/* A whole number is what ISMRMRD's readers look for as a long one. */
static void print_ramp_number(lmr_bytes *b, const char *name, double value, int whole)
{
    const char *type = whole ? "userParameterLong" : "userParameterDouble";
    lmr_bytes_print(b, "      <%s><name>%s</name><value>%.9g</value></%s>\n", type, name, value, type);
}

/* ConventionalEPI, the gradient under which lines are sampled. Long parameters stand before others. */
static void print_ramp(lmr_bytes *b, const larmor_ramp *r)
{
    const struct {
        const char *name;
        double value;
    } of[] = {{"rampUpTime", r->up_us},      {"flatTopTime", r->flat_us},        {"rampDownTime", r->down_us},
              {"acqDelayTime", r->delay_us}, {"numSamples", (double)r->samples}, {"dwellTime", r->dwell_us}};
    if (!(r->flat_us > 0)) return;
    lmr_bytes_print(b, "    <trajectoryDescription>\n      <identifier>ConventionalEPI</identifier>\n");
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            const int is_whole = of[i].value == floor(of[i].value) && strcmp(of[i].name, "dwellTime") != 0;
            if (is_whole == whole) print_ramp_number(b, of[i].name, of[i].value, whole);
        }
    lmr_bytes_print(b, "    </trajectoryDescription>\n");
}

static void print_multiband(lmr_bytes *b, const larmor_multiband_header *m)
{
    if (!m->factor) return;
    lmr_bytes_print(b, "      <multiband>\n        <spacing>\n");
    for (int i = 0; i < m->offsets; i++) lmr_bytes_print(b, "          <dZ>%.9g</dZ>\n", m->offset_mm[i]);
    lmr_bytes_print(b,
                    "        </spacing>\n        <deltaKz>%.9g</deltaKz>\n        <multiband_factor>%d"
                    "</multiband_factor>\n        <calibration>",
                    m->delta_kz, m->factor);
    lmr_bytes_xml(b, *m->calibration ? m->calibration : "other");
    lmr_bytes_print(b,
                    "</calibration>\n        <calibration_encoding>%d</calibration_encoding>\n      </multiband>\n",
                    m->calibration_encoding);
}

static void print_parallel(lmr_bytes *b, const larmor_scan *scan)
{
    const larmor_multiband_header *multiband = &scan->encoding.multiband;
    if (!scan->acceleration[0] && !scan->acceleration[1] && !multiband->factor) return;
    const int64_t y = scan->acceleration[0] ? scan->acceleration[0] : 1;
    const int64_t z = scan->acceleration[1] ? scan->acceleration[1] : 1;
    lmr_bytes_print(b,
                    "    <parallelImaging>\n      <accelerationFactor><kspace_encoding_step_1>%" PRId64
                    "</kspace_encoding_step_1><kspace_encoding_step_2>%" PRId64
                    "</kspace_encoding_step_2></accelerationFactor>\n",
                    y, z);
    if (scan->calibration) {
        lmr_bytes_print(b, "      <calibrationMode>");
        lmr_bytes_xml(b, scan->calibration);
        lmr_bytes_print(b, "</calibrationMode>\n");
    }
    print_multiband(b, multiband);
    lmr_bytes_print(b, "    </parallelImaging>\n");
}

static void print_times(lmr_bytes *b, const larmor_scan *scan)
{
    if (scan->echoes) {
        lmr_bytes_print(b, "  <sequenceParameters>\n");
        for (int e = 0; e < scan->echoes; e++) lmr_bytes_print(b, "    <TE>%.9g</TE>\n", scan->echo_ms[e]);
        lmr_bytes_print(b, "  </sequenceParameters>\n");
    }
    if (scan->readout_start_ms)
        lmr_bytes_print(b,
                        "  <userParameters>\n    <userParameterDouble><name>ReadoutStart_ms</name><value>%.9g</value>"
                        "</userParameterDouble>\n  </userParameters>\n",
                        *scan->readout_start_ms);
}

static void print_waveforms(lmr_bytes *b, const larmor_scan *scan)
{
    static const char *const types[] = {"other", "ecg", "pulse", "respiratory"};
    static const char *const names[] = {"other", "ECG1", "PULS", "RESP"};
    for (int i = 0; i < scan->waveforms; i++) {
        const larmor_waveform_info *w = &scan->waveform[i];
        lmr_bytes_print(b, "  <waveformInformation>\n    <waveformName>%s</waveformName>\n", names[w->kind]);
        lmr_bytes_print(b, "    <waveformType>%s</waveformType>\n    <userParameters>\n", types[w->kind]);
        print_ramp_number(b, "WaveformId", w->id, 1);
        if (w->trigger >= 0) print_ramp_number(b, "TriggerChannel", w->trigger, 1);
        lmr_bytes_print(b, "    </userParameters>\n  </waveformInformation>\n");
    }
}

static larmor_status check_waveforms(const char *path, const larmor_scan *scan)
{
    LMR_REFUSE(scan->waveforms < 0 || scan->waveforms > LARMOR_MOST_WAVEFORM_INFOS ||
                   (scan->waveforms && !scan->waveform),
               LARMOR_ERR_ARG, "%s: %d kinds of waveforms, expected at most %d", path, scan->waveforms,
               LARMOR_MOST_WAVEFORM_INFOS);
    for (int i = 0; i < scan->waveforms; i++)
        LMR_REFUSE(scan->waveform[i].id < 0 || scan->waveform[i].id > MAX_NUMBER ||
                       (int)scan->waveform[i].kind < LARMOR_WAVEFORM_OTHER ||
                       scan->waveform[i].kind > LARMOR_WAVEFORM_RESPIRATION,
                   LARMOR_ERR_ARG, "%s: waveform %d has id %d and kind %d, expected 0 to %d and 0 to %d", path, i,
                   scan->waveform[i].id, (int)scan->waveform[i].kind, MAX_NUMBER, LARMOR_WAVEFORM_RESPIRATION);
    return LARMOR_OK;
}

larmor_status lmr_mrd_make_xml(const char *path, const larmor_scan *scan, char **xml)
{
    *xml = NULL;
    LMR_TRY(check_scan(path, scan));
    LMR_TRY(check_waveforms(path, scan));
    LMR_TRY(check_multiband(path, &scan->encoding.multiband));
    const larmor_encoding *e = &scan->encoding;
    lmr_bytes b = {0};
    lmr_bytes_print(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n");
    print_system(&b, scan, scan->field_tesla > 0 ? scan->field_tesla : 3);
    lmr_bytes_print(&b, "  <encoding>\n");
    print_space(&b, "encodedSpace", e->matrix, e->fov_mm);
    print_space(&b, "reconSpace", e->recon_matrix, e->recon_fov_mm);
    lmr_bytes_print(&b, "    <encodingLimits>\n");
    print_limit(&b, "kspace_encoding_step_0", e->matrix[0], e->matrix[0] / 2);
    print_limit(&b, "kspace_encoding_step_1", scan->readouts, scan->readouts / 2);
    print_limit(&b, "kspace_encoding_step_2", scan->partitions, scan->partitions / 2);
    print_limit(&b, "average", scan->averages, 0);
    print_limit(&b, "slice", scan->slices, 0);
    print_limit(&b, "contrast", scan->contrasts, 0);
    print_limit(&b, "phase", 1, 0);
    print_limit(&b, "repetition", scan->repetitions, 0);
    print_limit(&b, "set", 1, 0);
    print_limit(&b, "segment", 1, 0);
    lmr_bytes_print(&b, "    </encodingLimits>\n    <trajectory>%s</trajectory>\n", e->trajectory);
    print_ramp(&b, &e->ramp);
    print_parallel(&b, scan);
    lmr_bytes_print(&b, "  </encoding>\n");
    print_times(&b, scan);
    print_waveforms(&b, scan);
    lmr_bytes_print(&b, "</ismrmrdHeader>\n");
    const larmor_status st = lmr_bytes_end(&b);
    if (st)
        lmr_bytes_free(&b);
    else
        *xml = (char *)b.data;
    return st;
}

/* From the '<' of an element's tag to behind the '>' of its end; NULL where they are not found. */
static char *end_of_element(char *start, const char *name)
{
    char *close = strchr(start, '>');
    if (close && close[-1] == '/') return close + 1;
    char *end = close ? strstr(close, name) : NULL;
    if (end) end = strchr(end, '>');
    return end ? end + 1 : NULL;
}

larmor_status lmr_mrd_remove_person(char *xml)
{
    static const char *const names[] = {"subjectInformation", "studyInformation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *at;
        while ((at = strstr(xml, names[i]))) {
            while (at > xml && *at != '<') at--;
            char *end = *at == '<' ? end_of_element(at, names[i]) : NULL;
            LMR_REFUSE(!end, LARMOR_ERR_FORMAT, "header: <%s> is not closed.", names[i]);
            memmove(at, end, strlen(end) + 1);
        }
    }
    return LARMOR_OK;
}
