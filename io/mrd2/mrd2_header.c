/* The header of MRD version 2, record by record, as ISMRMRD's XML: both have the same elements.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "io/mrd2/mrd2.h"
#include "io/reader/mrd_header.h"

typedef enum kind { TEXT, UNSIGNED, SIGNED, FLOAT, DOUBLE, DAY, TIME, NAMED, RECORD } kind;
typedef enum times { ONE, OPTIONAL, MANY } times;

typedef struct field {
    const char *name; /* in XML; NULL ends a record */
    kind kind;
    times times;
    const struct field *fields; /* of a record */
    const char *const *names;   /* of a number that stands for a name */
} field;

/* The members of a field. */
#define F(name, kind, times) #name, kind, times, NULL, NULL
#define R(name, times, fields) #name, RECORD, times, fields, NULL
#define E(name, times, names) #name, NAMED, times, NULL, names

static const char *const genders[] = {"M", "F", "O", NULL};
static const char *const positions[] = {"HFP", "HFS", "HFDR", "HFDL", "FFP", "FFS", "FFDR", "FFDL", NULL};
static const char *const trajectories[] = {"cartesian", "epi", "radial", "goldenangle", "spiral", "other", NULL};
static const char *const calibrations[] = {"noacceleration", "embedded", "interleaved", "separate",
                                           "external",       "other",    NULL};
static const char *const interleavings[] = {"phase", "repetition", "contrast", "average", "other", NULL};
static const char *const multiband_calibrations[] = {"separable2D", "full3D", "other", NULL};
static const char *const diffusion_dimensions[] = {"average", "contrast", "phase",  "repetition", "set",
                                                   "segment", "user_0",   "user_1", "user_2",     "user_3",
                                                   "user_4",  "user_5",   "user_6", "user_7",     NULL};
static const char *const waveforms[] = {"ecg", "pulse", "respiratory", "trigger", "gradientwaveform", "other", NULL};

static const field subject[] = {{F(patientName, TEXT, OPTIONAL)},
                                {F(patientWeight_kg, FLOAT, OPTIONAL)},
                                {F(patientHeight_m, FLOAT, OPTIONAL)},
                                {F(patientID, TEXT, OPTIONAL)},
                                {F(patientBirthdate, DAY, OPTIONAL)},
                                {E(patientGender, OPTIONAL, genders)},
                                {0}};
static const field study[] = {{F(studyDate, DAY, OPTIONAL)},
                              {F(studyTime, TIME, OPTIONAL)},
                              {F(studyID, TEXT, OPTIONAL)},
                              {F(accessionNumber, SIGNED, OPTIONAL)},
                              {F(referringPhysicianName, TEXT, OPTIONAL)},
                              {F(studyDescription, TEXT, OPTIONAL)},
                              {F(studyInstanceUID, TEXT, OPTIONAL)},
                              {F(bodyPartExamined, TEXT, OPTIONAL)},
                              {0}};
static const field dependency[] = {{F(dependencyType, TEXT, ONE)}, {F(measurementID, TEXT, ONE)}, {0}};
static const field point[] = {{F(x, FLOAT, ONE)}, {F(y, FLOAT, ONE)}, {F(z, FLOAT, ONE)}, {0}};
static const field references[] = {{F(referencedSOPInstanceUID, TEXT, MANY)}, {0}};
static const field measurement[] = {{F(measurementID, TEXT, OPTIONAL)},
                                    {F(seriesDate, DAY, OPTIONAL)},
                                    {F(seriesTime, TIME, OPTIONAL)},
                                    {E(patientPosition, ONE, positions)},
                                    {R(relativeTablePosition, OPTIONAL, point)},
                                    {F(initialSeriesNumber, SIGNED, OPTIONAL)},
                                    {F(protocolName, TEXT, OPTIONAL)},
                                    {F(sequenceName, TEXT, OPTIONAL)},
                                    {F(seriesDescription, TEXT, OPTIONAL)},
                                    {R(measurementDependency, MANY, dependency)},
                                    {F(seriesInstanceUIDRoot, TEXT, OPTIONAL)},
                                    {F(frameOfReferenceUID, TEXT, OPTIONAL)},
                                    {R(referencedImageSequence, OPTIONAL, references)},
                                    {0}};
static const field coil[] = {{F(coilNumber, UNSIGNED, ONE)}, {F(coilName, TEXT, ONE)}, {0}};
static const field scanner[] = {{F(systemVendor, TEXT, OPTIONAL)},
                                {F(systemModel, TEXT, OPTIONAL)},
                                {F(systemFieldStrength_T, FLOAT, OPTIONAL)},
                                {F(relativeReceiverNoiseBandwidth, FLOAT, OPTIONAL)},
                                {F(receiverChannels, UNSIGNED, OPTIONAL)},
                                {R(coilLabel, MANY, coil)},
                                {F(institutionName, TEXT, OPTIONAL)},
                                {F(stationName, TEXT, OPTIONAL)},
                                {F(deviceID, TEXT, OPTIONAL)},
                                {F(deviceSerialNumber, TEXT, OPTIONAL)},
                                {0}};
static const field conditions[] = {{F(H1resonanceFrequency_Hz, SIGNED, ONE)}, {0}};
static const field whole[] = {{F(x, UNSIGNED, ONE)}, {F(y, UNSIGNED, ONE)}, {F(z, UNSIGNED, ONE)}, {0}};
static const field space[] = {{R(matrixSize, ONE, whole)}, {R(fieldOfView_mm, ONE, point)}, {0}};
static const field limit[] = {
    {F(minimum, UNSIGNED, ONE)}, {F(maximum, UNSIGNED, ONE)}, {F(center, UNSIGNED, ONE)}, {0}};
static const field limits[] = {{R(kspace_encoding_step_0, OPTIONAL, limit)},
                               {R(kspace_encoding_step_1, OPTIONAL, limit)},
                               {R(kspace_encoding_step_2, OPTIONAL, limit)},
                               {R(average, OPTIONAL, limit)},
                               {R(slice, OPTIONAL, limit)},
                               {R(contrast, OPTIONAL, limit)},
                               {R(phase, OPTIONAL, limit)},
                               {R(repetition, OPTIONAL, limit)},
                               {R(set, OPTIONAL, limit)},
                               {R(segment, OPTIONAL, limit)},
                               {R(user_0, OPTIONAL, limit)},
                               {R(user_1, OPTIONAL, limit)},
                               {R(user_2, OPTIONAL, limit)},
                               {R(user_3, OPTIONAL, limit)},
                               {R(user_4, OPTIONAL, limit)},
                               {R(user_5, OPTIONAL, limit)},
                               {R(user_6, OPTIONAL, limit)},
                               {R(user_7, OPTIONAL, limit)},
                               {0}};
static const field parameter_long[] = {{F(name, TEXT, ONE)}, {F(value, SIGNED, ONE)}, {0}};
static const field parameter_double[] = {{F(name, TEXT, ONE)}, {F(value, DOUBLE, ONE)}, {0}};
static const field parameter_text[] = {{F(name, TEXT, ONE)}, {F(value, TEXT, ONE)}, {0}};
static const field description[] = {{F(identifier, TEXT, ONE)},
                                    {R(userParameterLong, MANY, parameter_long)},
                                    {R(userParameterDouble, MANY, parameter_double)},
                                    {R(userParameterString, MANY, parameter_text)},
                                    {F(comment, TEXT, OPTIONAL)},
                                    {0}};
static const field acceleration[] = {
    {F(kspace_encoding_step_1, UNSIGNED, ONE)}, {F(kspace_encoding_step_2, UNSIGNED, ONE)}, {0}};
static const field spacing[] = {{F(dZ, FLOAT, MANY)}, {0}};
static const field multiband[] = {{R(spacing, MANY, spacing)},
                                  {F(deltaKz, FLOAT, ONE)},
                                  {F(multiband_factor, UNSIGNED, ONE)},
                                  {E(calibration, ONE, multiband_calibrations)},
                                  {F(calibration_encoding, UNSIGNED, ONE)},
                                  {0}};
static const field parallel[] = {{R(accelerationFactor, ONE, acceleration)},
                                 {E(calibrationMode, OPTIONAL, calibrations)},
                                 {E(interleavingDimension, OPTIONAL, interleavings)},
                                 {R(multiband, OPTIONAL, multiband)},
                                 {0}};
static const field encoding[] = {{R(encodedSpace, ONE, space)},
                                 {R(reconSpace, ONE, space)},
                                 {R(encodingLimits, ONE, limits)},
                                 {E(trajectory, ONE, trajectories)},
                                 {R(trajectoryDescription, OPTIONAL, description)},
                                 {R(parallelImaging, OPTIONAL, parallel)},
                                 {F(echoTrainLength, SIGNED, OPTIONAL)},
                                 {0}};
static const field direction[] = {{F(rl, FLOAT, ONE)}, {F(ap, FLOAT, ONE)}, {F(fh, FLOAT, ONE)}, {0}};
static const field diffusion[] = {{R(gradientDirection, ONE, direction)}, {F(bvalue, FLOAT, ONE)}, {0}};
static const field sequence[] = {{F(TR, FLOAT, MANY)},
                                 {F(TE, FLOAT, MANY)},
                                 {F(TI, FLOAT, MANY)},
                                 {F(flipAngle_deg, FLOAT, MANY)},
                                 {F(sequence_type, TEXT, OPTIONAL)},
                                 {F(echo_spacing, FLOAT, MANY)},
                                 {E(diffusionDimension, OPTIONAL, diffusion_dimensions)},
                                 {R(diffusion, MANY, diffusion)},
                                 {F(diffusionScheme, TEXT, OPTIONAL)},
                                 {0}};
static const field parameters[] = {{R(userParameterLong, MANY, parameter_long)},
                                   {R(userParameterDouble, MANY, parameter_double)},
                                   {R(userParameterString, MANY, parameter_text)},
                                   {R(userParameterBase64, MANY, parameter_text)},
                                   {0}};
static const field waveform[] = {
    {F(waveformName, TEXT, ONE)}, {E(waveformType, ONE, waveforms)}, {R(userParameters, ONE, parameters)}, {0}};
static const field header[] = {{F(version, SIGNED, OPTIONAL)},
                               {R(subjectInformation, OPTIONAL, subject)},
                               {R(studyInformation, OPTIONAL, study)},
                               {R(measurementInformation, OPTIONAL, measurement)},
                               {R(acquisitionSystemInformation, OPTIONAL, scanner)},
                               {R(experimentalConditions, ONE, conditions)},
                               {R(encoding, MANY, encoding)},
                               {R(sequenceParameters, OPTIONAL, sequence)},
                               {R(userParameters, OPTIONAL, parameters)},
                               {R(waveformInformation, MANY, waveform)},
                               {0}};

static void put_text(lmr_mrd2 *m)
{
    const uint64_t bytes = mrd2_unsigned(m);
    if (bytes > (uint64_t)LMR_MRD_MAX_HEADER) m->wrong = "a text that is too long";
    char *text = mrd2_failed(m) ? NULL : calloc((size_t)bytes + 1, 1);
    if (!text) {
        m->xml.failed |= !mrd2_failed(m);
        return;
    }
    mrd2_take(m, text, (int64_t)bytes);
    lmr_bytes_xml(&m->xml, text);
    free(text);
}

/* Days since 1970 in the Gregorian calendar: eras of 400 years, years that begin in March. */
static void put_day(lmr_mrd2 *m)
{
    const int64_t days = mrd2_signed(m) + 719468;
    if (days < 0 || days > 3652424) {
        m->wrong = "a date out of range";
        return;
    }
    const int64_t era = days / 146097, day = days % 146097;
    const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    const int64_t of_year = day - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * of_year + 2) / 153;
    lmr_bytes_print(&m->xml, "%04d-%02d-%02d", (int)(year + 400 * era + (month >= 10)),
                    (int)(month < 10 ? month + 3 : month - 9), (int)(of_year - (153 * month + 2) / 5 + 1));
}

static void put_time(lmr_mrd2 *m)
{
    const int64_t seconds = mrd2_signed(m) / 1000000000;
    if (seconds < 0 || seconds >= 86400) m->wrong = "a time out of range";
    lmr_bytes_print(&m->xml, "%02d:%02d:%02d", (int)(seconds / 3600 % 24), (int)(seconds / 60 % 60),
                    (int)(seconds % 60));
}

static void put_name(lmr_mrd2 *m, const char *const *names)
{
    int64_t value = mrd2_signed(m);
    while (value > 0 && *names) {
        value--;
        names++;
    }
    if (value || !*names)
        m->wrong = "a number that stands for no name";
    else
        lmr_bytes_print(&m->xml, "%s", *names);
}

static void put_value(lmr_mrd2 *m, const field *f)
{
    double number;
    switch (f->kind) {
    case TEXT:
        put_text(m);
        break;
    case UNSIGNED:
        lmr_bytes_print(&m->xml, "%" PRIu64, mrd2_unsigned(m));
        break;
    case SIGNED:
        lmr_bytes_print(&m->xml, "%" PRId64, mrd2_signed(m));
        break;
    case FLOAT:
        lmr_bytes_print(&m->xml, "%.9g", (double)mrd2_float(m));
        break;
    case DOUBLE:
        mrd2_take(m, &number, sizeof number);
        lmr_bytes_print(&m->xml, "%.17g", number);
        break;
    case DAY:
        put_day(m);
        break;
    case TIME:
        put_time(m);
        break;
    default:
        put_name(m, f->names);
    }
}

static void put_record(lmr_mrd2 *m, const field *f)
{
    for (; f->name && !mrd2_failed(m) && !m->xml.failed; f++) {
        uint64_t count = 1;
        if (f->times == OPTIONAL) count = mrd2_byte(m) != 0;
        if (f->times == MANY) count = mrd2_unsigned(m);
        for (uint64_t i = 0; i < count && !mrd2_failed(m) && !m->xml.failed; i++) {
            lmr_bytes_print(&m->xml, "<%s>", f->name);
            if (f->kind == RECORD)
                put_record(m, f->fields);
            else
                put_value(m, f);
            lmr_bytes_print(&m->xml, "</%s>\n", f->name);
            if (m->xml.size > (size_t)LMR_MRD_MAX_HEADER) m->wrong = "a header that is too long";
        }
    }
}

void mrd2_header(lmr_mrd2 *m)
{
    lmr_bytes_print(&m->xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                             "<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n");
    put_record(m, header);
    lmr_bytes_print(&m->xml, "</ismrmrdHeader>\n");
}
