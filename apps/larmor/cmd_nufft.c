/* larmor nufft: a non-uniform FFT of arrays in files. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <strings.h>

#include "commands.h"
#include "common.h"
#include "stack.h"

typedef struct settings {
    int64_t type;
    const char *sign, *traj, *targets, *output, *precision, *order, *device, *plan;
    app_list modes, grid;
    double tol, upsample;
    int64_t width, tiles, threads;
    int adjoint, force, repeatable;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the .npy or .cfl file to write", .needed = 1),
    OPTION(APP_INTEGER, type, 0, "type", "T", "1: points to modes, 2: modes to points, 3: points to targets",
           .needed = 1, .low = 1, .high = 3),
    OPTION(APP_READ_FILE, traj, 't', "traj", "FILE", "the points, [nd, ...]", .needed = 1),
    OPTION(APP_READ_FILE, targets, 0, "targets", "FILE", "the targets of type 3, [nd, ...]"),
    OPTION(APP_SIZES, modes, 0, "modes", "X[,Y[,Z]]", "modes of types 1 and 2", .low = 1, .high = 0x1p40),
    OPTION(APP_FLAG, adjoint, 0, "adjoint", "", "the conjugate transpose instead"),
    OPTION(APP_TEXT, sign, 0, "sign", "S", "of the exponent (default: -1 for type 2, else 1)", .choices = "-1|1"),
    OPTION(APP_NUMBER, tol, 0, "tol", "E", "relative error asked for; 0: the least within reach", .preset = "1e-5",
           .low = 0, .high = 1),
    OPTION(APP_NUMBER, upsample, 0, "upsample", "S", "fine grid over modes, 1.15 to 2.5 (default: chosen)",
           .low = 1.15, .high = 2.5),
    OPTION(APP_SIZES, grid, 0, "grid", "X[,Y[,Z]]",
           "the fine grid itself, of sides that are products of 2, 3, 5 and 7 (default: chosen)", .low = 2,
           .high = 0x1p42),
    OPTION(APP_INTEGER, width, 0, "width", "W", "of the window, 2 to 16 cells (default: chosen)", .low = 2,
           .high = 16),
    OPTION(APP_INTEGER, tiles, 0, "tiles", "K",
           "shape of the tiles that points are sorted into, 1 to 3 (default: 1, or timed by --plan)", .low = 1,
           .high = 3),
    OPTION(APP_TEXT, precision, 0, "precision", "P", "single or double (default: the input's)",
           .choices = "single|double"),
    OPTION(APP_TEXT, order, 0, "mode-order", "O", "centred: -N/2 first; fft: 0 first", .preset = "centred",
           .choices = "centred|fft"),
    OPTION(APP_TEXT, plan, 0, "plan", "EFFORT",
           "how the grid is chosen; measurements are remembered in a file (default: estimate, without the file)",
           .choices = "estimate|measure|exhaustive"),
    APP_DEVICE_OPTIONS(settings),
    OPTION(APP_FLAG, repeatable, 0, "repeatable", "",
           "the same bits in every run on a GPU, too, for more memory; not of type 3"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace a file that exists"),
    {0},
};

/* Real coordinates of the first *ndim components of a file's points, on the host; *ndim 0: all of them. Further
 * components must be 0, as BART has them for z in two dimensions. */
static larmor_status read_coordinates(const char *path, int *ndim, larmor_shape *shape, double **out)
{
    *out = NULL;
    APP_OWN(larmor_device, host, larmor_device_open("cpu", &host));
    APP_OWN(larmor_array, x, app_read_array(path, host, &x));
    APP_OWN_MEMORY(double _Complex, values, larmor_array_download(x, LARMOR_C128, &values));
    *shape = larmor_array_shape(x);
    const int64_t rows = shape->ndim ? shape->dim[0] : 1;
    const int64_t count = larmor_array_count(x) / rows;
    if (!*ndim) *ndim = rows < 4 ? (int)rows : 4;
    if (rows > 3 || rows < *ndim)
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: %lld coordinates of each point, expected %d%s.", path,
                           (long long)rows, *ndim > 3 ? 3 : *ndim, *ndim < 3 || *ndim > 3 ? " to 3" : "");
    *out = malloc((size_t)(*ndim * count) * sizeof **out + 1);
    if (!*out) return NO_MEMORY();
    for (int64_t i = 0; i < rows * count; i++) {
        const int64_t d = i % rows;
        const double value = creal(values[i]);
        if (d < *ndim)
            (*out)[i / rows * *ndim + d] = value;
        else if (value != 0)
            return larmor_fail(LARMOR_ERR_SHAPE, "%s: coordinate %lld of point %lld is %g, but there are %d modes.",
                               path, (long long)d, (long long)(i / rows), value, *ndim);
        if (cimag(values[i]) != 0)
            return larmor_fail(LARMOR_ERR_SHAPE, "%s: point %lld is not real.", path, (long long)(i / rows));
    }
    return LARMOR_OK;
}

typedef struct points {
    larmor_array *array;
    larmor_shape shape; /* without the coordinates */
    int64_t count;
} points;

static void free_points(points *p)
{
    larmor_array_free(p->array);
}

static larmor_status read_points(const char *path, larmor_device *dev, int *ndim, points *p)
{
    larmor_shape shape;
    APP_OWN_MEMORY(double, k, read_coordinates(path, ndim, &shape, &k));
    p->shape = larmor_shape_of(shape.ndim - 1, shape.dim + 1);
    p->count = larmor_shape_count(p->shape);
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(*ndim, p->count), LARMOR_F64, k, &p->array);
}

static larmor_status read_values(const settings *s, const char *path, larmor_device *dev, larmor_array **x)
{
    *x = NULL;
    APP_OWN(larmor_array, read, app_read_array(path, dev, &read));
    const larmor_dtype own = larmor_array_dtype(read);
    int is_double = own == LARMOR_F64 || own == LARMOR_C128;
    if (s->precision) is_double = !strcmp(s->precision, "double");
    return larmor_array_convert(read, is_double ? LARMOR_C128 : LARMOR_C64, x);
}

static larmor_shape without_ones(larmor_shape shape)
{
    larmor_shape kept = {.ndim = 0};
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] != 1) kept.dim[kept.ndim++] = shape.dim[d];
    return kept;
}

/* 1 if the array's first dimensions, those of 1 apart, are those of the transform, or one that has them all. */
static int begins_with(const larmor_array *x, larmor_shape from)
{
    const larmor_shape own = without_ones(larmor_array_shape(x)), wanted = without_ones(from);
    if (own.ndim && own.dim[0] == larmor_shape_count(from)) return 1;
    if (own.ndim < wanted.ndim) return 0;
    for (int d = 0; d < wanted.ndim; d++)
        if (own.dim[d] != wanted.dim[d]) return 0;
    return 1;
}

/* The shapes of both sides, the batch from the size of the input; else the exit code. */
static int find_shapes(const settings *s, const char *path, const larmor_array *x, const points *at, const points *to,
                       larmor_nufft_opts *o, larmor_shape *out)
{
    const larmor_shape modes = larmor_shape_of(o->ndim, o->modes);
    const int forward = (s->type == 2) == (s->adjoint != 0); /* from the points' side */
    const larmor_shape other = s->type == 3 ? to->shape : modes;
    const int from_points = s->type == 3 ? !s->adjoint : forward;
    const larmor_shape from = from_points ? at->shape : other;
    const int64_t each = larmor_shape_count(from), count = larmor_array_count(x);
    *out = from_points ? other : at->shape;
    if (each < 1 || count % each) {
        const char *others = s->type == 3 ? "targets" : "modes";
        return app_refuse(APP_REFUSED, "%s: %lld value%s, expected a multiple of the %lld %s.", path,
                          (long long)count, app_s(count), (long long)each, from_points ? "points" : others);
    }
    if (!begins_with(x, from))
        return app_refuse(APP_REFUSED, "%s: [%s] values, expected [%s] and the batch.", path,
                          app_sizes_of(larmor_array_shape(x)).s, app_sizes_of(from).s);
    o->batch = count / each;
    if (o->batch > 1) *out = larmor_shape_append(*out, o->batch);
    if (larmor_shape_count(*out) < 0) return app_refuse(APP_REFUSED, "%s: the result has too many dimensions.", path);
    return APP_DONE;
}

/* A .cfl has the dimensions of BART: modes [x, y, z, batch], points [1, samples, readouts, batch]. */
static larmor_status save(const settings *s, const larmor_nufft_opts *o, larmor_output *out, larmor_array *y)
{
    const larmor_shape shape = larmor_array_shape(y);
    const int modes = s->type == 1 ? !s->adjoint : s->adjoint;
    const int batched = o->batch > 1;
    const int own = shape.ndim - batched; /* dimensions of one transform */
    if (s->type == 3 || strcasecmp(app_suffix(s->output), ".cfl") || own > (modes ? 3 : 2))
        return larmor_array_save(out, y);
    larmor_shape padded = LARMOR_SHAPE(1, 1, 1, o->batch);
    for (int d = 0; d < own; d++) padded.dim[d + !modes] = shape.dim[d];
    APP_OWN(larmor_array, view, larmor_array_reshape(y, padded, &view));
    return larmor_array_save(out, view);
}

static int check_usage(const settings *s)
{
    const char *wrong = NULL;
    if (!larmor_format_of(s->output).saves) wrong = "--output FILE must end in .cfl or .npy";
    if (s->type == 3 && (!s->targets || s->modes.count))
        wrong = "type 3 needs --targets FILE, and no --modes";
    else if (s->type != 3 && (s->targets || !s->modes.count))
        wrong = "types 1 and 2 need --modes X[,Y[,Z]], and no --targets";
    else if (s->type == 3 && (s->grid.count || s->width))
        wrong = "--grid and --width are for types 1 and 2; type 3 has two grids";
    else if (s->grid.count && s->upsample > 0)
        wrong = "--grid and --upsample exclude each other";
    else if (s->grid.count && s->grid.count != s->modes.count)
        wrong = "--grid needs as many sides as --modes";
    if (!wrong) return APP_DONE;
    return app_refuse(APP_USAGE, "nufft: %s; 'larmor nufft --help' says more.", wrong);
}

/* What was done, and with --plan how it was chosen. */
static void report(const settings *s, const larmor_nufft_opts *o, const larmor_device *dev, int64_t count,
                   larmor_nufft_info info)
{
    static const char *const sources[] = {"the model", "timing", "wisdom"};
    if (s->plan)
        app_log("plan: by %s, %d timed; %lld transform%s per pass, tiles %d, about %.3g ms", sources[info.source],
                info.tried, (long long)info.per_pass, app_s(info.per_pass), info.tiles, 1e3 * info.seconds);
    app_log("wrote %s: type %d%s on %s, %lld point%s, grid %lld x %lld x %lld, window %d, expected error %.1e",
            s->output, o->type, s->adjoint ? " (adjoint)" : "", larmor_device_spec(dev), (long long)count,
            app_s(count), (long long)info.grid[0], (long long)info.grid[1], (long long)info.grid[2], info.width,
            info.error);
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_OWNED(larmor_output) *out = NULL;
    APP_OWNED(larmor_array) *x = NULL, *y = NULL;
    APP_OWNED(larmor_nufft) *plan = NULL;
    APP_FREED_BY(free_points) points at = {0}, to = {0};
    larmor_shape shape;
    APP_DO(check_usage(s));
    larmor_nufft_opts o = {.type = (int)s->type,
                           .sign = s->sign ? atoi(s->sign) : 0,
                           .tol = s->tol,
                           .upsample = s->upsample,
                           .width = (int)s->width,
                           .tiles = (int)s->tiles,
                           .ndim = s->modes.count,
                           .mode_order = strcmp(s->order, "fft") ? LARMOR_MODES_CENTRED : LARMOR_MODES_FFT};
    for (int d = 0; d < 3; d++) o.modes[d] = d < s->modes.count ? (int64_t)s->modes.value[d] : 1;
    for (int d = 0; d < s->grid.count; d++) o.grid[d] = (int64_t)s->grid.value[d];
    if (s->type == 3) o.mode_order = LARMOR_MODES_CENTRED;
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    APP_TRY(APP_INPUT, app_open_device(s->device, s->threads, &dev));
    if (s->repeatable) larmor_device_set_repeatable(dev, 1);
    app_may_leave(dev);
    APP_TRY(APP_INPUT, read_points(s->traj, dev, &o.ndim, &at));
    if (s->type == 3) APP_TRY(APP_INPUT, read_points(s->targets, dev, &o.ndim, &to));
    APP_TRY(APP_INPUT, read_values(s, files->name[0], dev, &x));
    o.dtype = larmor_array_dtype(x);
    APP_DO(find_shapes(s, files->name[0], x, &at, &to, &o, &shape));
    APP_TRY(APP_RUN, larmor_output_reserve(out, o.dtype, shape, 0));
    APP_TRY(APP_RUN, app_use_wisdom(dev, s->plan, 0, &o.effort));
    if (s->tol == 0) APP_TRY(APP_INPUT, larmor_nufft_least_tol(dev, &o, &o.tol));
    APP_TRY(APP_INPUT, larmor_nufft_create(dev, &o, &plan));
    APP_TRY(APP_INPUT, larmor_nufft_set_points(plan, at.array, to.array));
    APP_TRY(APP_RUN, larmor_array_create(dev, o.dtype, shape, &y));
    APP_TRY(APP_RUN, (s->adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
    APP_TRY(APP_RUN, save(s, &o, out, y));
    app_has_computed();
    app_keep_wisdom(dev, s->plan, 0);
    report(s, &o, dev, at.count, larmor_nufft_describe(plan));
    return APP_DONE;
}

const app_command cmd_nufft = {
    .name = "nufft",
    .usage = "--type 1|2|3 -t TRAJ [--modes X,Y,Z | --targets S] IN -o OUT",
    .summary = "a bare non-uniform FFT of arrays in .npy or .cfl files",
    .details =
        "type 1  x[r] = sum_j y[j] exp(i sign 2 pi k_j . r / N)    IN [points..., batch], OUT [modes..., batch]\n"
        "type 2  y[j] = sum_r x[r] exp(i sign 2 pi k_j . r / N)    IN [modes..., batch], OUT [points..., batch]\n"
        "type 3  f[k] = sum_j c[j] exp(i sign 2 pi s_k . x_j)      IN [points..., batch], OUT [targets..., batch]\n"
        "\n"
        "r runs from -N/2 up; TRAJ is [nd, points...], k in cycles per field of view (1/FOV, as larmor traj writes\n"
        "it). For type 3 x has any unit and the targets S, [nd, targets...], are in cycles per it. The batch "
        "follows\n"
        "from the size of IN; its dimension is left out if it is 1. A .cfl gets BART's dimensions, [x, y, z, batch]\n"
        "and [1, samples, readouts, batch]. Nothing is scaled.",
    .min_files = 1,
    .max_files = 1,
    .computes = 1,
    APP_OWN_PARTS,
};
