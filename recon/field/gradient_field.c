/* The spherical harmonics of a gradient system, and where its images show a place: Janke et al., Magn. Reson. Med.
 * 52, 115 (2004). The layouts and the normalisation are those that gradunwarp reads: Jovicich et al., NeuroImage 30,
 * 436 (2006). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

enum {
    MAX_FILE = 1 << 20 /* bytes */,
    ORDERS = LARMOR_GRADIENT_ORDER + 1,
    COEFFICIENTS = ORDERS * ORDERS * 2 * 3,
    TEXT = 200
};

#define MAX_FIRST_ORDER 0.5 /* a relative error of a gradient; above, the ideal gradient is counted, too */

/* ---- the file ---- */

typedef struct reader {
    const char *path;
    int line, order, coefficients, is_siemens;
    double radius_m;
    int sign[3];   /* of x, y and z in L, P and S */
    double *value; /* [COEFFICIENTS] as in the file, at place() */
} reader;

static int place(int n, int m, int is_sine, int axis)
{
    return n + ORDERS * (m + ORDERS * (is_sine + 2 * axis));
}

static larmor_status take_coefficient(reader *r, int n, int m, int is_sine, char axis, double value)
{
    static const char axes[] = "xyz";
    const char *at = axis ? strchr(axes, axis) : NULL;
    LMR_REFUSE(!at || n < 0 || n > LARMOR_GRADIENT_ORDER || m < 0 || m > n || !isfinite(value), LARMOR_ERR_FORMAT,
               "%s:%d: %c(%d, %d) of %c is %g; an order up to %d, a degree up to that, an axis x, y or z and "
               "a finite number expected.",
               r->path, r->line, is_sine ? 'B' : 'A', n, m, axis ? axis : '?', value, LARMOR_GRADIENT_ORDER);
    LMR_REFUSE(n == 1 && fabs(value) > MAX_FIRST_ORDER, LARMOR_ERR_FORMAT,
               "%s:%d: %c(1, %d) of %c is %g: the ideal gradient is among the coefficients; leave it out.", r->path,
               r->line, is_sine ? 'B' : 'A', m, axis, value);
    r->value[place(n, m, is_sine, (int)(at - axes))] = value;
    if (n > r->order) r->order = n;
    r->coefficients++;
    return LARMOR_OK;
}

/* Of a scanner's file: what is neither the radius nor a coefficient says something else. */
static larmor_status take_siemens(reader *r, const char *line)
{
    int n, m, end = 0;
    char kind, axis;
    double value;
    if (sscanf(line, " %lf m = R0%n", &value, &end) == 1 && end) r->radius_m = value;
    if (sscanf(line, " %*d %c ( %d , %d ) %lf %c", &kind, &n, &m, &value, &axis) != 5 || !strchr("AB", kind))
        return LARMOR_OK;
    return take_coefficient(r, n, m, kind == 'B', axis, value);
}

/* The axes x, y and z by the side of the patient to which they point. */
static int take_axes(reader *r, const char *word)
{
    static const char to[] = "LPS", from[] = "RAI";
    for (int a = 0; a < 3; a++) {
        if (word[a] != to[a] && word[a] != from[a]) return 0;
        r->sign[a] = word[a] == to[a] ? 1 : -1;
    }
    return !word[3];
}

static larmor_status take_plain(reader *r, const char *line)
{
    int n, m, end = 0;
    char name[16] = "", word[16] = "", axis;
    double value;
    if (sscanf(line, " %15s", name) != 1 || *name == '#') return LARMOR_OK;
    if (sscanf(line, " radius %lf %n", &value, &end) == 1 && end && !line[end]) {
        r->radius_m = value;
        return LARMOR_OK;
    }
    if (sscanf(line, " axes %15s %n", word, &end) == 1 && end && !line[end] && take_axes(r, word)) return LARMOR_OK;
    end = 0;
    if (sscanf(line, " Alpha_%c %d %d %lf %n", &axis, &n, &m, &value, &end) == 4 && end && !line[end])
        return take_coefficient(r, n, m, 0, axis, value);
    if (sscanf(line, " Beta_%c %d %d %lf %n", &axis, &n, &m, &value, &end) == 4 && end && !line[end])
        return take_coefficient(r, n, m, 1, axis, value);
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s:%d: neither radius R, axes LPS nor Alpha_x N M VALUE: a line of a gradient's harmonics "
                    "expected.",
                    r->path, r->line);
}

static larmor_status take_lines(reader *r, char *text)
{
    for (char *at = text, *next; at; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = 0;
        const size_t length = strcspn(at, ";\r");
        at[length] = 0;
        r->line++;
        LMR_TRY(r->is_siemens ? take_siemens(r, at) : take_plain(r, at));
    }
    LMR_REFUSE(!(r->radius_m > 1e-3 && r->radius_m < 10), LARMOR_ERR_FORMAT,
               "%s: has no reference radius from 1 mm to 10 m; a line `radius 0.25` expected, in m.", r->path);
    LMR_REFUSE(!r->coefficients, LARMOR_ERR_FORMAT, "%s: has no coefficient; lines `Alpha_x 3 1 -0.05` expected.",
               r->path);
    return LARMOR_OK;
}

/* The file's factor of a harmonic: P_n for m = 0, else P_n^m sqrt((2n + 1) (n - m)! / (2 (n + m)!)). */
static double normalisation(int n, int m)
{
    double ratio = 1;
    for (int i = n - m + 1; i <= n + m; i++) ratio /= i;
    return m ? sqrt((2 * n + 1) / 2.0 * ratio) : 1;
}

/* The coefficient along the patient's axes: axes are turned, or mirrored, one by one. */
static double turned(const reader *r, int n, int m, int is_sine, int axis)
{
    const int *s = r->sign;
    double value = r->value[place(n, m, is_sine, axis)] * s[axis];
    if (s[2] < 0 && (n + m) % 2) value = -value;
    if (s[1] < 0 && is_sine) value = -value;
    if (s[0] < 0 && (m + is_sine) % 2) value = -value;
    return value;
}

larmor_status larmor_gradient_field_read(const char *path, larmor_device *dev, larmor_array **field)
{
    LMR_NEED_OUT(field, path, dev);
    LMR_HEAP LMR_NEW_ZEROS(double, value, COEFFICIENTS);
    LMR_HEAP LMR_NEW_ZEROS(double, out, COEFFICIENTS);
    LMR_OWN_MEMORY(char, text, lmr_text_read(path, MAX_FILE, "file of harmonics", &text));
    reader r = {.path = path, .value = value, .sign = {1, 1, 1}};
    r.is_siemens = strstr(text, "= R0") != NULL;
    if (r.is_siemens) r.sign[1] = r.sign[2] = -1; /* to the left, to the front, to the feet */
    LMR_TRY(take_lines(&r, text));
    const int64_t side = r.order + 1;
    for (int axis = 0; axis < 3; axis++)
        for (int sine = 0; sine < 2; sine++)
            for (int n = 0; n <= r.order; n++)
                for (int m = 0; m <= n; m++)
                    out[n + side * (m + side * (sine + 2 * axis))] =
                        turned(&r, n, m, sine, axis) * normalisation(n, m) * pow(r.radius_m, 1 - n);
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(side, side, 2, 3), LARMOR_F64, out, field);
}

/* ---- harmonics ---- */

/* d <- the sums along three axes of c [side, side, 2, 3] times r^n P_n^m(cos theta) {cos, sin}(m phi). */
static void evaluate(const double *c, int64_t side, const double at[3], double d[3])
{
    const double z = at[2], square = at[0] * at[0] + at[1] * at[1] + z * z;
    double top = 1, cosine = 1, sine = 0; /* P_m^m over (r sin theta)^m; (x + i y)^m */
    for (int a = 0; a < 3; a++) d[a] = 0;
    for (int64_t m = 0; m < side; m++) {
        double below = 0, now = top;
        for (int64_t n = m; n < side; n++) {
            const double *at_n = c + n + side * m;
            for (int a = 0; a < 3; a++)
                d[a] += now * (at_n[side * side * 2 * a] * cosine + at_n[side * side * (2 * a + 1)] * sine);
            const double above =
                ((double)(2 * n + 1) * z * now - (double)(n + m) * square * below) / (double)(n - m + 1);
            below = now;
            now = above;
        }
        const double before = cosine;
        cosine = before * at[0] - sine * at[1];
        sine = before * at[1] + sine * at[0];
        top *= (double)(2 * m + 1);
    }
}

static larmor_status expect_field(const larmor_array *field)
{
    const larmor_shape s = larmor_array_shape(field);
    if (!lmr_is_complex(larmor_array_dtype(field)) && s.ndim == 4 && s.dim[0] == s.dim[1] && s.dim[0] >= 1 &&
        s.dim[0] <= ORDERS && s.dim[2] == 2 && s.dim[3] == 3)
        return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "gradient field: it is %s, expected real [N + 1, N + 1, 2, 3] with N up to %d",
                    lmr_describe(field).s, LARMOR_GRADIENT_ORDER);
}

larmor_status larmor_gradient_displacement(const larmor_array *field, const larmor_image_meta *image,
                                           larmor_shape shape, larmor_array **displacement)
{
    LMR_NEED_OUT(displacement, field, image);
    LMR_TRY(expect_field(field));
    const int nd = shape.ndim;
    LMR_REFUSE(nd < 1 || nd > 3 || larmor_shape_count(shape) < 1, LARMOR_ERR_SHAPE,
               "gradient field: got an image of %d dimensions, expected 1 to 3", nd);
    const double *const along[3] = {image->read_dir, image->phase_dir, image->slice_dir};
    const int64_t voxels = larmor_shape_count(shape), side = larmor_array_shape(field).dim[0];
    double voxel[3];
    for (int d = 0; d < nd; d++) {
        voxel[d] = 1e-3 * image->fov_mm[d] / (double)shape.dim[d];
        LMR_REFUSE(!(voxel[d] > 0), LARMOR_ERR_ARG,
                   "gradient field: the image has a field of view of %g mm, expected more than 0", image->fov_mm[d]);
    }
    LMR_HEAP LMR_NEW(double, out, voxels *nd);
    LMR_OWN_MEMORY(double, c, larmor_array_download(field, LARMOR_F64, &c));
    for (int64_t i = 0; i < voxels; i++) {
        double at[3], moved[3];
        for (int a = 0; a < 3; a++) {
            at[a] = 1e-3 * image->position_mm[a];
            for (int64_t d = 0, rest = i; d < nd; rest /= shape.dim[d++])
                at[a] += along[d][a] * voxel[d] * (double)(rest % shape.dim[d] - shape.dim[d] / 2);
        }
        evaluate(c, side, at, moved);
        for (int d = 0; d < nd; d++)
            out[i + voxels * d] =
                (moved[0] * along[d][0] + moved[1] * along[d][1] + moved[2] * along[d][2]) / voxel[d];
    }
    return larmor_array_upload(larmor_array_device(field), LARMOR_F64, larmor_shape_append(shape, nd), LARMOR_F64,
                               out, displacement);
}
