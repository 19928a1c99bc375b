/* The sidecar of a NIfTI file: what BIDS says of an image (Brain Imaging Data Structure, "Magnetic Resonance
 * Imaging", common metadata), in s, degrees and T. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/bytes.h"
#include "io/dicom/dicom.h"
#include "io/images/volume.h"
#include "io/page/parts.h"

#define MS_PER_S 1e3
#define HZ_PER_MHZ 1e6

enum { DIGITS = 10 };

static void add_text(lmr_bytes *b, const char *name, const char *text)
{
    const lmr_dicom_value clean = lmr_dicom_text(text, 64);
    if (!*clean.s) return;
    lmr_bytes_print(b, ",\n  \"%s\": ", name);
    lmr_json_string(b, clean.s);
}

static void add_number(lmr_bytes *b, const char *name, double value)
{
    if (!(value > 0)) return;
    lmr_bytes_print(b, ",\n  \"%s\": ", name);
    lmr_json_number(b, value, DIGITS);
}

static double echo_of(const lmr_images *images, const lmr_volumes *v, const lmr_study *y, int volume)
{
    const int contrast = images->image[v->order[volume * v->slices]].meta.contrast;
    if (contrast >= 0 && contrast < y->echoes) return y->echo_ms[contrast] / MS_PER_S;
    return y->echoes == 1 ? y->echo_ms[0] / MS_PER_S : 0;
}

/* A number, or where volumes have several one for each. */
static void add_echoes(lmr_bytes *b, const lmr_images *images, const lmr_volumes *v, const lmr_study *y)
{
    int differ = 0, known = 1;
    for (int i = 0; i < v->volumes; i++) {
        differ |= echo_of(images, v, y, i) != echo_of(images, v, y, 0);
        known &= echo_of(images, v, y, i) > 0;
    }
    if (!known) return;
    if (!differ) {
        add_number(b, "EchoTime", echo_of(images, v, y, 0));
        return;
    }
    lmr_bytes_print(b, ",\n  \"EchoTime\": [");
    for (int i = 0; i < v->volumes; i++) {
        if (i) lmr_bytes_print(b, ", ");
        lmr_json_number(b, echo_of(images, v, y, i), DIGITS);
    }
    lmr_bytes_print(b, "]");
}

/* Of volumes: the step between them, or where volumes are missing the time of each and how long one takes at most. */
static void add_times(lmr_bytes *b, const lmr_images *images, const lmr_volumes *v, double tr)
{
    if (!(v->least_step_s > 0)) {
        add_number(b, "RepetitionTime", v->step_s > 0 ? v->step_s : tr);
        return;
    }
    const uint32_t start = images->image[v->order[0]].meta.time_stamp;
    lmr_bytes_print(b, ",\n  \"VolumeTiming\": [");
    for (int i = 0; i < v->volumes; i++) {
        if (i) lmr_bytes_print(b, ", ");
        lmr_json_number(b, (images->image[v->order[i * v->slices]].meta.time_stamp - start) * LMR_TICK_S, DIGITS);
    }
    lmr_bytes_print(b, "]");
    add_number(b, "AcquisitionDuration", v->least_step_s);
}

/* Of a name of BIDS, "sub-01_task-rest_bold.nii". */
static void add_task(lmr_bytes *b, const char *path)
{
    static const char key[] = "_task-";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *task = strncmp(name, "sub-", 4) ? NULL : strstr(name, key);
    char value[64];
    if (!task) return;
    snprintf(value, sizeof value, "%.*s", (int)strcspn(task + strlen(key), "_."), task + strlen(key));
    add_text(b, "TaskName", value);
}

larmor_status lmr_sidecar(larmor_output *out, const lmr_images *images, const lmr_volumes *v)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes b = {0};
    LMR_HEAP LMR_NEW(lmr_study, y, 1);
    LMR_TRY(lmr_study_read(out->path, images->opts->header, y));
    const double tr = y->number[LMR_TR_MS] / MS_PER_S;
    lmr_bytes_print(&b, "{\n  \"Modality\": \"MR\"");
    add_text(&b, "Manufacturer", y->text[LMR_SYSTEM_VENDOR]);
    add_text(&b, "ManufacturersModelName", y->text[LMR_SYSTEM_MODEL]);
    add_number(&b, "MagneticFieldStrength", y->number[LMR_FIELD_TESLA]);
    add_number(&b, "ImagingFrequency", y->number[LMR_H1_HZ] / HZ_PER_MHZ);
    add_text(&b, "PulseSequenceType", y->text[LMR_SEQUENCE_TYPE]);
    add_text(&b, "MRAcquisitionType", images->dim[2] > 1 ? "3D" : "2D");
    add_number(&b, "RepetitionTimeExcitation", tr);
    add_times(&b, images, v, tr);
    add_echoes(&b, images, v, y);
    add_number(&b, "InversionTime", y->number[LMR_TI_MS] / MS_PER_S);
    add_number(&b, "FlipAngle", y->number[LMR_FLIP_DEG]);
    add_text(&b, "Units", images->is_complex && images->opts->part == LARMOR_PART_PHASE ? "rad" : "arbitrary");
    lmr_bytes_print(&b, ",\n  \"SkullStripped\": false");
    add_task(&b, out->path);
    add_text(&b, "ConversionSoftware", "larmor");
    add_text(&b, "ConversionSoftwareVersion", LARMOR_VERSION);
    lmr_bytes_print(&b, "\n}\n");
    LMR_TRY(lmr_bytes_end(&b));
    return lmr_output_put(out, 1, b.data, b.size);
}
