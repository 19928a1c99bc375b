/* The output of `larmor info` for an image, as text and as JSON. SPDX-License-Identifier: Apache-2.0 */
#include "info_image.h"

#include "common.h"
#include "json.h"

typedef long long ll;

/* ---- text ---- */

static void print_range(const larmor_image_info *image)
{
    if (!image->has_range && !image->nonfinite) return;
    printf("%s: ", image->is_complex ? "magnitudes" : "values");
    if (image->has_range) printf("%.6g to %.6g", image->lowest, image->highest);
    if (image->nonfinite) printf("%s%lld are not finite", image->has_range ? "; " : "", (ll)image->nonfinite);
    putchar('\n');
}

/* By the normal of the slices: "axial", or "oblique axial". */
static void print_orientation(const double normal[3])
{
    static const char *const names[3] = {"sagittal", "coronal", "axial"};
    int most = 0;
    for (int d = 1; d < 3; d++)
        if (fabs(normal[d]) > fabs(normal[most])) most = d;
    printf("orientation: %s%s\n", fabs(normal[most]) > 0.999 ? "" : "oblique ", names[most]);
}

static void print_geometry(const larmor_image_info *image)
{
    const larmor_image_meta *m = &image->meta;
    const double *axes[3] = {m->read_dir, m->phase_dir, m->slice_dir};
    if (!image->has_geometry) return;
    printf("field of view: %.6g x %.6g x %.6g mm\ncentre: (%.6g, %.6g, %.6g) mm, LPS\naxes:", m->fov_mm[0],
           m->fov_mm[1], m->fov_mm[2], m->position_mm[0], m->position_mm[1], m->position_mm[2]);
    for (int d = 0; d < 3; d++)
        printf("%s %c (%.4g, %.4g, %.4g)", d ? "," : "", "xyz"[d], axes[d][0], axes[d][1], axes[d][2]);
    putchar('\n');
    printf("voxels:");
    /* several images of a series may be the last axis, but of DICOM, and the field of view is that of one */
    const int last = image->shape.ndim - 1;
    const int several =
        image->images > 1 && image->shape.dim[last] == image->images && strcmp(image->format, "DICOM");
    const int own = last + !several;
    for (int d = 0; d < image->shape.ndim && d < 3; d++)
        printf("%s %.6g", d ? " x" : "", m->fov_mm[d] / (double)(d < own ? image->shape.dim[d] : 1));
    printf(" mm\n");
    print_orientation(m->slice_dir);
    if (image->has_counters)
        printf("first image: slice %d, contrast %d, phase %d, repetition %d, set %d, average %d\n", m->slice,
               m->contrast, m->phase, m->repetition, m->set, m->average);
}

void info_image_print(const char *path, const larmor_image_info *image)
{
    printf("%s: %s", path, image->format);
    if (*image->inside) printf(", %lld image%s in %s", (ll)image->images, app_s(image->images), image->inside);
    printf(": ");
    for (int d = 0; d < image->shape.ndim; d++) printf("%s%lld", d ? " x " : "", (ll)image->shape.dim[d]);
    printf(", %s\n", image->type);
    print_range(image);
    print_geometry(image);
    fputs(image->notes, stdout);
}

/* ---- JSON ---- */

static void write_notes(json *j, const larmor_image_info *image)
{
    char line[sizeof image->notes];
    json_open(j, "notes", '[');
    for (const char *at = image->notes; *at;) {
        const size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        json_text(j, NULL, line);
    }
    json_close(j, ']');
}

static void write_geometry(json *j, const larmor_image_meta *m)
{
    json_numbers(j, "fov_mm", m->fov_mm, 3);
    json_numbers(j, "position_mm", m->position_mm, 3);
    json_numbers(j, "read_dir", m->read_dir, 3);
    json_numbers(j, "phase_dir", m->phase_dir, 3);
    json_numbers(j, "slice_dir", m->slice_dir, 3);
}

/* "seccomp" or "limits"; NULL where a reader does not start any more. */
static const char *find_sandbox(void)
{
    const char *sandbox;
    return larmor_reader_sandbox(&sandbox) ? NULL : sandbox;
}

void info_sandbox_json(json *j)
{
    const char *sandbox = find_sandbox();
    if (sandbox) json_text(j, "sandbox", sandbox);
}

void info_sandbox_print(void)
{
    const char *sandbox = find_sandbox();
    if (sandbox && !strcmp(sandbox, "limits"))
        printf(
            "sandbox: limits; the file was read without a filter of system calls, which this system does not have\n");
}

void info_image_json(const char *path, const larmor_image_info *image)
{
    json j = json_begin();
    json_text(&j, "file", path);
    json_text(&j, "format", image->format);
    if (*image->inside) json_text(&j, "inside", image->inside);
    json_integer(&j, "images", image->images);
    json_integers(&j, "shape", image->shape.dim, image->shape.ndim);
    json_text(&j, "type", image->type);
    json_flag(&j, "complex", image->is_complex);
    json_integer(&j, "nonfinite", image->nonfinite);
    if (image->has_range) json_number(&j, "lowest", image->lowest);
    if (image->has_range) json_number(&j, "highest", image->highest);
    if (image->has_geometry) write_geometry(&j, &image->meta);
    if (*image->notes) write_notes(&j, image);
    info_sandbox_json(&j);
    json_close(&j, '}');
}
