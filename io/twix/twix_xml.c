/* ISMRMRD's header of a TWIX measurement, from its protocol and the counters of its readouts, with the meanings that
 * siemens_to_ismrmrd gives them. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/twix/twix.h"

enum { CARTESIAN = 1, RADIAL = 2, SPIRAL = 4, IS_VOLUME = 4, MOST_COILS = 128 };

typedef struct space { /* of MeasYaps */
    int kind;          /* ucTrajectory */
    int is_epi;
    double matrix[3], recon[3], fov[3], recon_fov[3];
} space;

/* <name>text</name>, if there is text. */
static void put(lmr_bytes *xml, const char *name, lmr_twix_value value)
{
    if (!*value.s) return;
    lmr_bytes_print(xml, "<%s>", name);
    lmr_bytes_xml(xml, value.s);
    lmr_bytes_print(xml, "</%s>\n", name);
}

static void put_number(lmr_bytes *xml, const char *name, double value)
{
    if (value > 0) lmr_bytes_print(xml, "<%s>%.9g</%s>\n", name, value, name);
}

static double sized(double value)
{
    if (!(value >= 1)) return 1;
    return value > LMR_MRD_MAX_MATRIX ? LMR_MRD_MAX_MATRIX : floor(value);
}

/* Lines are sampled with more samples than the matrix has along them, over a field of view that is as much larger. */
static space find_space(const lmr_twix *t)
{
    const double read = lmr_twix_number(t, "sSliceArray.asSlice[0].dReadoutFOV", 0);
    const double phase = lmr_twix_number(t, "sSliceArray.asSlice[0].dPhaseFOV", read);
    const double thick = lmr_twix_number(t, "sSliceArray.asSlice[0].dThickness", 0);
    const double base = lmr_twix_number(t, "sKSpace.lBaseResolution", 0);
    const double lines = lmr_twix_number(t, "sKSpace.lPhaseEncodingLines", base);
    const double halves = lmr_twix_number(t, "sKSpace.uc2DInterpolation", 0) > 0 ? 2 : 1;
    const double more_phase = 1 + lmr_twix_number(t, "sKSpace.dPhaseOversamplingForDialog", 0);
    const double more_slice = 1 + lmr_twix_number(t, "sKSpace.dSliceOversamplingForDialog", 0);
    const double partitions = lmr_twix_number(t, "sKSpace.lPartitions", 1);
    const int is_volume = (int)lmr_twix_number(t, "sKSpace.ucDimension", 0) == IS_VOLUME;
    space s = {.kind = (int)lmr_twix_number(t, "sKSpace.ucTrajectory", CARTESIAN)};
    const int is_cartesian = s.kind == CARTESIAN;
    const double over = is_cartesian ? lmr_twix_number(t, "flReadoutOSFactor", 2) : 1;
    s.is_epi = is_cartesian && lmr_twix_number(t, "alRegridRampupTime", 0) > 0 &&
               lmr_twix_number(t, "alRegridRampdownTime", 0) > 0;
    s.matrix[0] = base * over;
    s.matrix[1] = is_cartesian ? lmr_twix_number(t, "iPEFTLength", lines * halves) / halves : base;
    s.matrix[2] = is_volume ? lmr_twix_number(t, "i3DFTLength", partitions) : 1;
    s.recon[0] = base;
    s.recon[1] = is_cartesian && read > 0 ? round(base * phase / read) : base;
    s.recon[2] = is_volume ? lmr_twix_number(t, "sKSpace.lImagesPerSlab", partitions) : 1;
    s.fov[0] = read * over;
    s.fov[1] = phase * (is_cartesian ? more_phase : 1);
    s.fov[2] = thick * (is_volume ? more_slice : 1);
    s.recon_fov[0] = read;
    s.recon_fov[1] = phase;
    s.recon_fov[2] = thick;
    for (int d = 0; d < 3; d++) {
        s.matrix[d] = sized(s.matrix[d]);
        s.recon[d] = sized(s.recon[d]);
    }
    return s;
}

static void put_space(lmr_bytes *xml, const char *name, const double n[3], const double fov[3])
{
    lmr_bytes_print(xml, "<%s><matrixSize><x>%.0f</x><y>%.0f</y><z>%.0f</z></matrixSize>\n", name, n[0], n[1], n[2]);
    lmr_bytes_print(xml, "<fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm></%s>\n", fov[0], fov[1],
                    fov[2], name);
}

static void put_limits(const lmr_twix *t, const space *s, lmr_bytes *xml)
{
    static const char *const names[LMR_COUNTERS] = {[LMR_STEP1] = "kspace_encoding_step_1",
                                                    [LMR_STEP2] = "kspace_encoding_step_2",
                                                    [LMR_AVERAGE] = "average",
                                                    [LMR_SLICE] = "slice",
                                                    [LMR_CONTRAST] = "contrast",
                                                    [LMR_PHASE] = "phase",
                                                    [LMR_REPETITION] = "repetition",
                                                    [LMR_SET] = "set",
                                                    [LMR_SEGMENT] = "segment"};
    lmr_bytes_print(xml, "<encodingLimits>\n");
    for (int c = 0; c < LMR_COUNTERS; c++) {
        int centre = 0;
        if (c == LMR_STEP1 && s->kind == CARTESIAN) centre = t->centre_line;
        if (c == LMR_STEP2 && s->matrix[2] > 1) centre = t->centre_partition;
        if (centre > t->range[c].high) centre = t->range[c].high;
        lmr_bytes_print(xml, "<%s><minimum>%d</minimum><maximum>%d</maximum><center>%d</center></%s>\n", names[c],
                        t->range[c].low, t->range[c].high, centre, names[c]);
    }
    lmr_bytes_print(xml, "</encodingLimits>\n");
}

/* The gradient under which lines of EPI are sampled. */
static void put_ramp(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const names[][2] = {
        {"rampUpTime", "alRegridRampupTime"},         {"rampDownTime", "alRegridRampdownTime"},
        {"flatTopTime", "alRegridFlattopTime"},       {"echoSpacing", "lEchoSpacing"},
        {"acqDelayTime", "alRegridDelaySamplesTime"}, {"numSamples", "alRegridDestSamples"}};
    lmr_bytes_print(xml, "<trajectoryDescription><identifier>ConventionalEPI</identifier>\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        lmr_bytes_print(xml, "<userParameterLong><name>%s</name><value>%.0f</value></userParameterLong>\n",
                        names[i][0], lmr_twix_number(t, names[i][1], 0));
    if (t->dwell_us[0] > 0)
        lmr_bytes_print(xml, "<userParameterDouble><name>dwellTime</name><value>%.9g</value></userParameterDouble>\n",
                        t->dwell_us[0]);
    lmr_bytes_print(xml, "</trajectoryDescription>\n");
}

static void put_parallel(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const modes[] = {"other",       "embedded",    "separate",   "separate",
                                        "interleaved", "interleaved", "interleaved"};
    const double factor[2] = {sized(lmr_twix_number(t, "sPat.lAccelFactPE", 1)),
                              sized(lmr_twix_number(t, "sPat.lAccelFact3D", 1))};
    const int mode = (int)lmr_twix_number(t, "sPat.ucRefScanMode", 1);
    size_t i = 0;
    if (factor[0] <= 1 && factor[1] <= 1) return;
    while (i + 1 < sizeof modes / sizeof *modes && mode > 1 << i) i++;
    lmr_bytes_print(xml,
                    "<parallelImaging><accelerationFactor><kspace_encoding_step_1>%.0f</kspace_encoding_step_1>"
                    "<kspace_encoding_step_2>%.0f</kspace_encoding_step_2></accelerationFactor>\n"
                    "<calibrationMode>%s</calibrationMode></parallelImaging>\n",
                    factor[0], factor[1], mode == 1 << i ? modes[i] : "other");
}

static void put_encoding(const lmr_twix *t, lmr_bytes *xml)
{
    const space s = find_space(t);
    const char *kind = "other";
    if (s.kind == CARTESIAN) kind = s.is_epi ? "epi" : "cartesian";
    if (s.kind == RADIAL) kind = "radial";
    if (s.kind == SPIRAL) kind = "spiral";
    lmr_bytes_print(xml, "<encoding>\n");
    put_space(xml, "encodedSpace", s.matrix, s.fov);
    put_space(xml, "reconSpace", s.recon, s.recon_fov);
    put_limits(t, &s, xml);
    lmr_bytes_print(xml, "<trajectory>%s</trajectory>\n", kind);
    if (s.is_epi) put_ramp(t, xml);
    put_parallel(t, xml);
    lmr_bytes_print(xml, "</encoding>\n");
}

/* Only what the file says of the patient. */
static void put_subject(const lmr_twix *t, lmr_bytes *xml)
{
    const lmr_twix_value name = lmr_twix_text(t, "tPatientName"), id = lmr_twix_text(t, "PatientID");
    const lmr_twix_value day = lmr_twix_text(t, "PatientBirthDay");
    const char *born = day.s;
    lmr_twix_value birth = {""};
    const int sex = (int)lmr_twix_number(t, "lPatientSex", 0);
    if (strlen(born) == 8 && strspn(born, "0123456789") == 8)
        snprintf(birth.s, sizeof birth.s, "%.4s-%.2s-%.2s", born, born + 4, born + 6);
    lmr_bytes_print(xml, "<subjectInformation>\n");
    put(xml, "patientName", name);
    put_number(xml, "patientWeight_kg", lmr_twix_number(t, "flUsedPatientWeight", 0));
    put(xml, "patientID", id);
    put(xml, "patientBirthdate", birth);
    if (sex >= 1 && sex <= 3) lmr_bytes_print(xml, "<patientGender>%c</patientGender>\n", "FMO"[sex - 1]);
    lmr_bytes_print(xml, "</subjectInformation>\n");
}

static void put_measurement(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const known[] = {"HFP", "HFS", "HFDR", "HFDL", "FFP", "FFS", "FFDR", "FFDL"};
    lmr_twix_value position = lmr_twix_text(t, "tPatientPosition");
    int is_known = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) is_known |= !strcmp(position.s, known[i]);
    if (!is_known) snprintf(position.s, sizeof position.s, "HFS");
    lmr_bytes_print(xml, "<measurementInformation>\n");
    if (t->id) lmr_bytes_print(xml, "<measurementID>%u</measurementID>\n", t->id);
    put(xml, "patientPosition", position);
    put(xml, "protocolName", lmr_twix_text(t, "tProtocolName"));
    put(xml, "frameOfReferenceUID", lmr_twix_text(t, "tFrameOfReference"));
    lmr_bytes_print(xml, "</measurementInformation>\n");
}

/* Of the first array of coils: VD and later, then VB. */
static void put_coils(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const lists[] = {"sCoilSelectMeas.aRxCoilSelectData[0].asList", "asCoilSelectMeas[0].asList"};
    char name[96];
    for (int l = 0; l < 2; l++)
        for (int i = 0, found = 1; found && i < t->channels && i < MOST_COILS; i++) {
            snprintf(name, sizeof name, "%s[%d].sCoilElementID.tElement", lists[l], i);
            const lmr_twix_value element = lmr_twix_text(t, name);
            snprintf(name, sizeof name, "%s[%d].lADCChannelConnected", lists[l], i);
            const double channel = lmr_twix_number(t, name, i);
            found = *element.s && channel >= 0 && channel <= LMR_MRD_MAX_MATRIX;
            if (!found) break;
            lmr_bytes_print(xml, "<coilLabel><coilNumber>%.0f</coilNumber>", channel);
            put(xml, "coilName", element);
            lmr_bytes_print(xml, "</coilLabel>\n");
        }
}

static void put_system(const lmr_twix *t, lmr_bytes *xml)
{
    double hertz = lmr_twix_number(t, "sTXSPEC.asNucleusInfo[0].lFrequency", 0);
    if (!(hertz > 0)) hertz = lmr_twix_number(t, "lFrequency", 0);
    lmr_bytes_print(xml, "<acquisitionSystemInformation>\n");
    put(xml, "systemVendor", lmr_twix_text(t, "Manufacturer"));
    put(xml, "systemModel", lmr_twix_text(t, "ManufacturersModelName"));
    put_number(xml, "systemFieldStrength_T", lmr_twix_number(t, "flMagneticFieldStrength", 0));
    lmr_bytes_print(xml,
                    "<relativeReceiverNoiseBandwidth>0.793</relativeReceiverNoiseBandwidth>\n"
                    "<receiverChannels>%d</receiverChannels>\n",
                    t->channels);
    put_coils(t, xml);
    put(xml, "institutionName", lmr_twix_text(t, "InstitutionName"));
    put(xml, "deviceID", lmr_twix_text(t, "DeviceSerialNumber"));
    lmr_bytes_print(xml, "</acquisitionSystemInformation>\n<experimentalConditions>\n");
    lmr_bytes_print(xml, "<H1resonanceFrequency_Hz>%.0f</H1resonanceFrequency_Hz>\n</experimentalConditions>\n",
                    hertz > 0 && hertz < 1e10 ? hertz : 0);
}

/* Times are in us in the protocol. */
static void put_sequence(const lmr_twix *t, lmr_bytes *xml)
{
    static const char *const times[][2] = {{"TR", "alTR"}, {"TE", "alTE"}, {"TI", "alTI"}};
    int contrasts = (int)sized(lmr_twix_number(t, "lContrasts", 1));
    char name[32];
    if (contrasts > LARMOR_MAX_ECHOES) contrasts = LARMOR_MAX_ECHOES;
    lmr_bytes_print(xml, "<sequenceParameters>\n");
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < (k == 1 ? contrasts : 1); i++) {
            snprintf(name, sizeof name, "%s[%d]", times[k][1], i);
            put_number(xml, times[k][0], lmr_twix_number(t, name, 0) / 1000);
        }
    put_number(xml, "flipAngle_deg", lmr_twix_number(t, "adFlipAngleDegree[0]", 0));
    lmr_bytes_print(xml, "</sequenceParameters>\n");
}

larmor_status lmr_twix_xml(const lmr_twix *t, lmr_bytes *xml)
{
    lmr_bytes_print(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n");
    put_subject(t, xml);
    put_measurement(t, xml);
    put_system(t, xml);
    put_encoding(t, xml);
    put_sequence(t, xml);
    lmr_twix_put_waveforms(t, xml);
    lmr_bytes_print(xml, "</ismrmrdHeader>\n");
    return lmr_bytes_end(xml);
}
