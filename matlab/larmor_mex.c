/* The gateway from MATLAB and Octave to the library: larmor_mex(COMMAND, ...), which the functions of +larmor call.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrays are in MATLAB's order, which is larmor's: the first axis is fastest. It returns the result, and of what
 * fails the identifier of an error, larmor:STATUS, and the library's line. larmor.private_call raises these, because
 * Octave puts its own words before what a MEX file raises. */
#include <dlfcn.h>
#include <math.h>
#include <mex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/larmor.h"
#include "larmor_mex.h"

#if !MX_HAS_INTERLEAVED_COMPLEX
#error "compile with -R2018a: complex numbers are read where they lie"
#endif

enum { LINE = 1024 };

/* ---- Ctrl-C ---- */

/* Octave counts interrupts in a variable; MATLAB has a function, which it does not document. */
static int interrupted(void *user)
{
    (void)user;
    static int looked;
    static const volatile sig_atomic_t *count;
    static bool (*pending)(void);
    if (!looked) {
        looked = 1;
        count = dlsym(RTLD_DEFAULT, "octave_interrupt_state");
        *(void **)&pending = dlsym(RTLD_DEFAULT, "utIsInterruptPending");
    }
    return (count && *count > 0) || (pending && pending());
}

/* ---- errors ---- */

/* The library's line with options as they are written here: "iters" for "opts.iters". */
void mex_line(const char *text, char *line, size_t room)
{
    size_t used = 0;
    for (; *text && used + 1 < room; text++) {
        if (!strncmp(text, "opts.", 5) && text[5]) text += 5;
        line[used++] = *text;
    }
    line[used] = 0;
}

/* ---- arrays ---- */

int mex_is_text(const mxArray *x)
{
    return x && mxIsChar(x);
}

larmor_status mex_text(const mxArray *x, const char *what, char *text, size_t room)
{
    text[0] = 0;
    if (!mex_is_text(x) || mxGetString(x, text, room))
        return larmor_fail(LARMOR_ERR_ARG, "%s: expected a text of at most %zu characters", what, room - 1);
    return LARMOR_OK;
}

larmor_status mex_pairs(const mxArray *names, const mxArray *values)
{
    if (mxIsCell(names) && mxIsCell(values) && mxGetNumberOfElements(names) == mxGetNumberOfElements(values))
        return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_ARG, "options: expected a cell of names and one of as many values");
}

larmor_shape mex_shape(const mxArray *x)
{
    larmor_shape shape = {.ndim = (int)mxGetNumberOfDimensions(x)};
    if (shape.ndim > LARMOR_MAX_DIMS) return (larmor_shape){.ndim = LARMOR_MAX_DIMS, .dim = {-1}};
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = (int64_t)mxGetDimensions(x)[d];
    return shape;
}

static larmor_status dtype_of(const mxArray *x, const char *what, larmor_dtype *dtype)
{
    const int is_double = mxIsDouble(x);
    if (mxGetNumberOfDimensions(x) > LARMOR_MAX_DIMS)
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: got %zu axes, expected at most %d", what,
                           (size_t)mxGetNumberOfDimensions(x), LARMOR_MAX_DIMS);
    if (mxIsSparse(x) || (!is_double && !mxIsSingle(x)))
        return larmor_fail(LARMOR_ERR_SHAPE, "%s: got %s%s, expected a full array of double or single", what,
                           mxIsSparse(x) ? "sparse " : "", mxGetClassName(x));
    *dtype = is_double ? LARMOR_F64 : LARMOR_F32;
    if (mxIsComplex(x)) *dtype = is_double ? LARMOR_C128 : LARMOR_C64;
    return LARMOR_OK;
}

static int on_processor(const larmor_device *dev)
{
    return !strncmp(larmor_device_spec(dev), "cpu", 3);
}

/* The numbers of x on a device; a processor reads them where they lie. */
larmor_status mex_given(larmor_device *dev, const mxArray *x, larmor_shape shape, const char *what,
                        larmor_array **out)
{
    larmor_dtype dtype = LARMOR_F64;
    const larmor_status st = dtype_of(x, what, &dtype);
    if (st) return st;
    void *data = larmor_shape_count(shape) > 0 ? mxGetData(x) : NULL;
    if (on_processor(dev)) return larmor_array_wrap(dev, dtype, shape, data, NULL, NULL, out);
    return larmor_array_upload(dev, dtype, shape, dtype, data, out);
}

/* Octave 7.3 gives complex arrays of this form half of their memory. */
static void widen(mxArray *x, int is_double)
{
#ifdef OCTINTERP_API
    const size_t count = mxGetNumberOfElements(x);
    void *before = mxGetData(x);
    if (is_double)
        mxSetComplexDoubles(x, mxCalloc(count + 1, sizeof(mxComplexDouble)));
    else
        mxSetComplexSingles(x, mxCalloc(count + 1, sizeof(mxComplexSingle)));
    mxFree(before);
#else
    (void)x;
    (void)is_double;
#endif
}

static mxArray *empty(larmor_dtype dtype, int ndim, const int64_t *dims)
{
    mwSize size[LARMOR_MAX_DIMS + 1] = {0, 1};
    for (int d = 0; d < ndim; d++) size[d] = (mwSize)dims[d];
    const int is_double = dtype == LARMOR_F64 || dtype == LARMOR_C128;
    const int is_complex = dtype == LARMOR_C64 || dtype == LARMOR_C128;
    mxArray *x = mxCreateNumericArray((mwSize)(ndim < 2 ? 2 : ndim), size,
                                      is_double ? mxDOUBLE_CLASS : mxSINGLE_CLASS, is_complex ? mxCOMPLEX : mxREAL);
    if (is_complex) widen(x, is_double);
    return x;
}

/* Arrays of one shape, one behind the other along a new last axis where there are several. */
larmor_status mex_taken(larmor_array *const *x, int count, mxArray **out)
{
    larmor_shape shape = larmor_array_shape(x[0]);
    if (count > 1) shape = larmor_shape_append(shape, count);
    *out = empty(larmor_array_dtype(x[0]), shape.ndim, shape.dim);
    const size_t bytes = larmor_array_bytes(x[0]);
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < count && !st; i++)
        if (bytes) st = larmor_array_read(x[i], (char *)mxGetData(*out) + (size_t)i * bytes, bytes);
    return st;
}

/* ---- names ---- */

/* Insertions, deletions and replacements from one word to the other. */
static int distance(const char *a, const char *b)
{
    int row[64];
    const int n = (int)strlen(b);
    if (n >= 64) return 64;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

void mex_nearer(const char *word, const char *name, const char **nearest)
{
    const int limit = (int)(strlen(word) + 2) / 3;
    const int before = *nearest ? distance(word, *nearest) : limit + 1;
    if (name && distance(word, name) < before) *nearest = name;
}

/* ---- plans of the NUFFT ---- */

typedef struct plan {
    struct plan *next;
    double id;
    int type;
    larmor_nufft *nufft;
    larmor_device *dev;
    larmor_dtype dtype;
    int64_t modes, batch, points, targets;
} plan;
static plan *plans;

static void release(plan *p)
{
    larmor_nufft_free(p->nufft);
    larmor_device_free(p->dev);
    free(p);
}

static void release_all(void)
{
    while (plans) {
        plan *p = plans;
        plans = p->next;
        release(p);
    }
}

static larmor_status find_plan(int nrhs, const mxArray **rhs, plan **found)
{
    *found = NULL;
    if (nrhs > 0 && mxIsDouble(rhs[0]) && mxGetNumberOfElements(rhs[0]) == 1)
        for (plan *p = plans; p && !*found; p = p->next)
            if (p->id == mxGetScalar(rhs[0])) *found = p;
    return *found ? LARMOR_OK : larmor_fail(LARMOR_ERR_ARG, "plan: there is none of this number; it was freed");
}

typedef struct number_option {
    const char *name;
    size_t at;
    enum { INT, INT64, REAL } kind;
} number_option;
#define AT(member, kind)                                                                                             \
    {                                                                                                                \
#member, offsetof(larmor_nufft_opts, member), kind                                                           \
    }
static const number_option numbers[] = {AT(tol, REAL),  AT(sign, INT),    AT(batch, INT64),    AT(upsample, REAL),
                                        AT(width, INT), AT(threads, INT), AT(max_batch, INT64)};

static larmor_status set_number(const number_option *o, const mxArray *value, larmor_nufft_opts *opts)
{
    char *at = (char *)opts + o->at;
    if (!value || !mxIsNumeric(value) || mxGetNumberOfElements(value) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "%s: expected a number", o->name);
    const double number = mxGetScalar(value);
    if (!(fabs(number) < 0x1p31) || (o->kind != REAL && number != floor(number)))
        return larmor_fail(LARMOR_ERR_ARG, "%s: got %g, expected a %snumber", o->name, number,
                           o->kind == REAL ? "" : "whole ");
    if (o->at == offsetof(larmor_nufft_opts, batch) && number < 1)
        return larmor_fail(LARMOR_ERR_ARG, "%s: got %g, expected a whole number above 0", o->name, number);
    if (o->kind == INT) *(int *)(void *)at = (int)number;
    if (o->kind == INT64) *(int64_t *)(void *)at = (int64_t)number;
    if (o->kind == REAL) *(double *)(void *)at = number;
    return LARMOR_OK;
}

/* Texts of a plan: NAME must be one of two or three words. */
static larmor_status set_word(const char *name, const mxArray *value, const char *const *words, int *index)
{
    char text[32];
    larmor_status st = mex_text(value, name, text, sizeof text);
    for (*index = 0; !st && words[*index] && strcmp(words[*index], text) != 0;) ++*index;
    if (!st && !words[*index])
        st = larmor_fail(LARMOR_ERR_ARG, "%s: got \"%s\", expected %s%s%s%s%s", name, text, words[0],
                         words[2] ? ", " : " or ", words[1], words[2] ? " or " : "", words[2] ? words[2] : "");
    return st;
}

static larmor_status set_plan_option(const char *name, const mxArray *value, larmor_nufft_opts *opts, char *spec,
                                     size_t room)
{
    static const char *const precisions[] = {"single", "double", NULL}, *const orders[] = {"centred", "fft", NULL},
                             *const efforts[] = {"estimate", "measure", "exhaustive", NULL};
    const char *nearest = NULL;
    int index = 0;
    larmor_status st;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!strcmp(name, numbers[i].name)) return set_number(&numbers[i], value, opts);
        mex_nearer(name, numbers[i].name, &nearest);
    }
    if (!strcmp(name, "device")) return mex_text(value, name, spec, room);
    if (!strcmp(name, "precision")) {
        st = set_word(name, value, precisions, &index);
        opts->dtype = index ? LARMOR_C128 : LARMOR_C64;
        return st;
    }
    if (!strcmp(name, "mode_order")) {
        st = set_word(name, value, orders, &index);
        opts->mode_order = index ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED;
        return st;
    }
    if (!strcmp(name, "effort")) {
        st = set_word(name, value, efforts, &index);
        opts->effort = (larmor_plan_effort)index;
        return st;
    }
    const char *const rest[] = {"device", "precision", "mode_order", "effort"};
    for (int i = 0; i < 4; i++) mex_nearer(name, rest[i], &nearest);
    return larmor_fail(LARMOR_ERR_UNSUPPORTED, "%s: no option of larmor.Plan%s%s%s", name,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* Type, modes (of type 3 the dimensions), names and values of options. */
static larmor_status read_plan(const mxArray **rhs, larmor_nufft_opts *opts, char *spec, size_t room)
{
    const int dims = (int)mxGetNumberOfElements(rhs[1]);
    const double type = mxIsDouble(rhs[0]) && mxGetNumberOfElements(rhs[0]) == 1 ? mxGetScalar(rhs[0]) : 0;
    if (type != 1 && type != 2 && type != 3) return larmor_fail(LARMOR_ERR_ARG, "type: expected 1, 2 or 3");
    if (!mxIsDouble(rhs[1]) || mxIsComplex(rhs[1]) || dims < 1 || dims > 3 || !(fabs(mxGetScalar(rhs[1])) < 0x1p31) ||
        (type == 3 && (dims != 1 || mxGetScalar(rhs[1]) != floor(mxGetScalar(rhs[1])))))
        return larmor_fail(LARMOR_ERR_ARG,
                           "modes: expected one to three sizes, or of type 3 the number of dimensions");
    const double *modes = mxGetDoubles(rhs[1]);
    opts->type = (int)type;
    opts->ndim = opts->type == 3 ? (int)modes[0] : dims;
    for (int d = 0; d < dims && opts->type != 3; d++) {
        if (!(modes[d] >= 1 && modes[d] < 0x1p31 && modes[d] == floor(modes[d])))
            return larmor_fail(LARMOR_ERR_ARG, "modes: got %g, expected a whole number above 0", modes[d]);
        opts->modes[d] = (int64_t)modes[d];
    }
    const size_t count = mxGetNumberOfElements(rhs[2]);
    char name[64];
    larmor_status st = mex_pairs(rhs[2], rhs[3]);
    for (size_t i = 0; i < count && !st; i++) {
        st = mex_text(mxGetCell(rhs[2], (mwIndex)i), "name of an option", name, sizeof name);
        if (!st) st = set_plan_option(name, mxGetCell(rhs[3], (mwIndex)i), opts, spec, room);
    }
    return st;
}

static larmor_status create_plan(int nrhs, const mxArray **rhs, mxArray **out)
{
    static double last;
    larmor_nufft_opts opts = {.size = sizeof opts, .dtype = LARMOR_C128};
    char spec[128] = "cpu";
    if (nrhs != 4) return larmor_fail(LARMOR_ERR_ARG, "larmor.Plan: expected type, modes, names and values");
    larmor_status st = read_plan(rhs, &opts, spec, sizeof spec);
    plan *p = st ? NULL : calloc(1, sizeof *p);
    if (!p) return st ? st : larmor_fail(LARMOR_ERR_MEMORY, "plan: no memory");
    st = larmor_device_open(spec, &p->dev);
    if (!st) st = larmor_nufft_create(p->dev, &opts, &p->nufft);
    if (st) {
        release(p);
        return st;
    }
    p->type = opts.type;
    p->dtype = opts.dtype;
    p->batch = opts.batch > 0 ? opts.batch : 1;
    p->modes = opts.type == 3 ? 0 : larmor_shape_count(larmor_shape_of(opts.ndim, opts.modes));
    p->points = -1;
    p->id = ++last;
    p->next = plans;
    plans = p;
    *out = mxCreateDoubleScalar(p->id);
    return LARMOR_OK;
}

/* Number of plan, points [ndim, ...], targets [ndim, ...] or []. */
static larmor_status set_points(int nrhs, const mxArray **rhs, mxArray **out)
{
    plan *p;
    larmor_array *points = NULL, *targets = NULL;
    larmor_status st = find_plan(nrhs, rhs, &p);
    if (!st && nrhs != 3) st = larmor_fail(LARMOR_ERR_ARG, "set_points: expected points and targets");
    if (st) return st;
    const int has_targets = !mxIsEmpty(rhs[2]) || p->type == 3;
    st = mex_given(p->dev, rhs[1], mex_shape(rhs[1]), "points", &points);
    if (!st && has_targets) st = mex_given(p->dev, rhs[2], mex_shape(rhs[2]), "targets", &targets);
    if (!st) st = larmor_nufft_set_points(p->nufft, points, targets);
    larmor_array_free(points);
    larmor_array_free(targets);
    if (st) return st;
    p->points = (int64_t)(mxGetNumberOfElements(rhs[1]) / mxGetM(rhs[1]));
    p->targets = has_targets ? (int64_t)(mxGetNumberOfElements(rhs[2]) / mxGetM(rhs[2])) : p->modes;
    *out = mxCreateDoubleScalar((double)p->points);
    return LARMOR_OK;
}

static larmor_status run_plan(plan *p, const mxArray *x, int is_adjoint, mxArray **out)
{
    const int from_points = (p->type == 2) == is_adjoint;
    const int64_t before = (from_points ? p->points : p->targets) * p->batch;
    const int64_t after = (from_points ? p->targets : p->points) * p->batch;
    larmor_array *in = NULL, *given = NULL, *made = NULL;
    if (p->points < 0) return larmor_fail(LARMOR_ERR_ARG, "plan: it has no points; call set_points first");
    if ((int64_t)mxGetNumberOfElements(x) != before)
        return larmor_fail(LARMOR_ERR_SHAPE, "plan: got %zu numbers, expected %lld", mxGetNumberOfElements(x),
                           (long long)before);
    larmor_status st = mex_given(p->dev, x, larmor_shape_of(1, &before), "plan", &given);
    if (!st) st = larmor_array_convert(given, p->dtype, &in);
    if (!st) *out = empty(p->dtype, 1, &after);
    if (!st && on_processor(p->dev))
        st = larmor_array_wrap(p->dev, p->dtype, larmor_shape_of(1, &after), after ? mxGetData(*out) : NULL, NULL,
                               NULL, &made);
    else if (!st)
        st = larmor_array_create(p->dev, p->dtype, larmor_shape_of(1, &after), &made);
    if (!st) st = (is_adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(p->nufft, in, made);
    if (!st && !on_processor(p->dev) && after)
        st = larmor_array_read(made, mxGetData(*out), larmor_array_bytes(made));
    larmor_array_free(made);
    larmor_array_free(in);
    larmor_array_free(given);
    return st;
}

/* Number of plan, values, 1 for the adjoint. */
static larmor_status execute(int nrhs, const mxArray **rhs, mxArray **out)
{
    plan *p;
    const larmor_status st = find_plan(nrhs, rhs, &p);
    if (st) return st;
    if (nrhs != 3) return larmor_fail(LARMOR_ERR_ARG, "execute: expected values");
    const int is_adjoint = mxIsDouble(rhs[2]) && !mxIsEmpty(rhs[2]) && mxGetScalar(rhs[2]) != 0;
    return run_plan(p, rhs[1], is_adjoint, out);
}

/* A number that is no plan's is no error: destructors call this. */
static larmor_status free_plan(int nrhs, const mxArray **rhs, mxArray **out)
{
    plan *p;
    *out = mxCreateLogicalScalar(find_plan(nrhs, rhs, &p) == LARMOR_OK);
    for (plan **at = &plans; p && *at; at = &(*at)->next) {
        if (*at != p) continue;
        *at = p->next;
        release(p);
        break;
    }
    return LARMOR_OK;
}

/* ---- what the library says of itself ---- */

static larmor_status version(int nrhs, const mxArray **rhs, mxArray **out)
{
    (void)nrhs;
    (void)rhs;
    *out = mxCreateString(larmor_version());
    return LARMOR_OK;
}

static larmor_status settings(int nrhs, const mxArray **rhs, mxArray **out)
{
    static const char *const fields[] = {"name", "option", "choices", "expected", "default", "unit", "help"};
    char line[LINE];
    int count = 0;
    (void)nrhs;
    (void)rhs;
    for (int i = 0; larmor_setting_entry(i).name; i++) count += larmor_setting_entry(i).type != LARMOR_SETTING_NONE;
    *out = mxCreateStructMatrix((mwSize)count, 1, 7, (const char **)(uintptr_t)fields);
    for (int i = 0, row = 0; row < count; i++) {
        const larmor_setting s = larmor_setting_entry(i);
        if (s.type == LARMOR_SETTING_NONE) continue;
        const char *const values[] = {s.name, s.option, s.choices, s.expected, s.standard, s.unit, s.help};
        for (int f = 0; f < 7; f++) {
            mex_line(values[f] ? values[f] : "", line, sizeof line);
            mxSetFieldByNumber(*out, (mwIndex)row, f, mxCreateString(line));
        }
        row++;
    }
    return LARMOR_OK;
}

/* ---- commands ---- */

static const struct {
    const char *name;
    larmor_status (*run)(int nrhs, const mxArray **rhs, mxArray **out);
} commands[] = {{"recon", mex_recon},       {"settings", settings}, {"version", version}, {"create", create_plan},
                {"set_points", set_points}, {"execute", execute},   {"free", free_plan}};

static larmor_status dispatch(int nrhs, const mxArray **rhs, mxArray **out)
{
    char name[32] = "";
    if (nrhs > 0) mxGetString(rhs[0], name, sizeof name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name)) return commands[i].run(nrhs - 1, rhs + 1, out);
    return larmor_fail(LARMOR_ERR_ARG, "larmor_mex: got \"%s\"; call the functions of larmor, such as larmor.recon",
                       name);
}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[])
{
    static int is_ready;
    char id[64] = "", line[LINE] = "";
    mxArray *out = NULL;
    if (!is_ready) mexAtExit(release_all);
    is_ready = 1;
    larmor_stop_when(interrupted, NULL);
    const larmor_status st = dispatch(nrhs, prhs, &out);
    larmor_stop_when(NULL, NULL);
    if (st) {
        snprintf(id, sizeof id, "larmor:%s", larmor_status_name(st) + strlen("LARMOR_"));
        mex_line(larmor_last_error(), line, sizeof line);
        out = mxCreateDoubleMatrix(0, 0, mxREAL);
    }
    plhs[0] = out;
    if (nlhs > 1) plhs[1] = mxCreateString(id);
    if (nlhs > 2) plhs[2] = mxCreateString(line);
}
