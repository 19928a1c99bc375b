/* larmor recon --bins: readouts sorted by heart, breath and time. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fit_inputs.h"
#include "recon.h"

enum { MOST_BYTES = 1 << 28, LINE = 512 };

/* ---- what is asked for ---- */

int recon_read_bins(const char *text, larmor_bins_opts *opts)
{
    *opts = (larmor_bins_opts){.heart = 0};
    return larmor_bins_read(text, opts) == LARMOR_OK;
}

int recon_are_bins(const char *text)
{
    larmor_bins_opts opts;
    return recon_read_bins(text, &opts);
}

/* ---- signals of a file ---- */

typedef struct signals { /* one or two numbers a row, [columns][rows] */
    double *number;
    int64_t rows;
    int columns;
} signals;

static void free_signals(signals *s)
{
    free(s->number);
}

static int refuse_signals(const char *path)
{
    return app_refuse(APP_REFUSED,
                      "--gating %s: one or two numbers a line expected, of an array [rows] or [rows, 2].", path);
}

/* Lines of numbers with blanks, tabs or a comma between, and comments behind #. */
static int read_lines(const char *path, signals *s)
{
    char line[256];
    int64_t room = 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return app_refuse(APP_REFUSED,
                          "--gating %s: cannot be read; auto, waveforms, header, self or a file expected.", path);
    int code = APP_DONE;
    while (!code && fgets(line, sizeof line, f)) {
        double value[2] = {0, 0};
        char *at = line, *end;
        int columns = 0;
        line[strcspn(line, "#\r\n")] = 0;
        for (at += strspn(at, " \t"); *at && columns < 3; at = end + strspn(end, " \t,"), columns++) {
            const double number = strtod(at, &end);
            if (end == at) break;
            if (columns < 2) value[columns] = number;
        }
        if (*at || columns > 2 || (columns && s->rows && columns != s->columns)) code = refuse_signals(path);
        if (code || !columns) continue;
        if (s->rows == room) {
            room = room ? 2 * room : 1024;
            double *more = room < MOST_BYTES / 16 ? realloc(s->number, (size_t)room * 2 * sizeof *more) : NULL;
            if (!more) code = app_fail(APP_RUN, NO_MEMORY());
            if (!more) continue;
            s->number = more;
        }
        s->columns = columns;
        memcpy(s->number + 2 * s->rows++, value, sizeof value);
    }
    if (!code && ferror(f)) code = refuse_signals(path);
    fclose(f);
    if (code) return code;
    if (!s->rows) return refuse_signals(path);
    APP_HEAP double *pairs = s->number;
    s->number = calloc(2 * (size_t)s->rows, sizeof *s->number);
    if (!s->number) return app_fail(APP_RUN, NO_MEMORY());
    for (int64_t i = 0; i < 2 * s->rows; i++) s->number[i % 2 * s->rows + i / 2] = pairs[i];
    return APP_DONE;
}

static int read_signals(const char *path, larmor_device *dev, signals *s)
{
    APP_OWNED(larmor_array) *read = NULL;
    if (strcmp(app_suffix(path), ".npy") != 0) return read_lines(path, s);
    APP_TRY(APP_INPUT, app_read_array(path, dev, &read));
    APP_TRY(APP_INPUT, fit_make_real(&read, dev));
    APP_TRY(APP_INPUT, larmor_array_download(read, LARMOR_F64, &s->number));
    const larmor_shape shape = larmor_array_shape(read);
    s->rows = shape.dim[0];
    s->columns = s->rows > 0 ? (int)(larmor_shape_count(shape) / s->rows) : 0;
    if (shape.ndim > 2 || s->columns < 1 || s->columns > 2 || s->rows > MOST_BYTES) return refuse_signals(path);
    return APP_DONE;
}

static larmor_status upload(larmor_device *dev, const double *number, int64_t count, larmor_array **array)
{
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, number, array);
}

/* Two columns are of breath and heart. One is of the breath where it has a number for each readout and there are bins
 * of the breath, or of the heart where there are none; and of times of the heart, or of the breath where there are no
 * bins of the heart. */
static int take_signals(const recon_run *r, larmor_device *dev, larmor_bins_opts *o)
{
    const char *path = r->s->gating;
    APP_FREED_BY(free_signals) signals s = {.number = NULL};
    int64_t readouts = 0;
    APP_DO(read_signals(path, dev, &s));
    for (int i = 0; i < larmor_raw_describe(r->opened).groups; i++) {
        larmor_group g;
        APP_TRY(APP_INPUT, larmor_raw_group(r->opened, i, &g));
        readouts += g.readouts;
    }
    if (s.columns == 2 && s.rows != readouts)
        return app_refuse(APP_REFUSED,
                          "--gating %s: has two columns of %lld numbers, expected one for each of %lld readouts.",
                          path, (long long)s.rows, (long long)readouts);
    if (s.columns == 2) {
        app_log("gating: %s has the breath's signal and the heart's phase of each readout", path);
        APP_TRY(APP_RUN, upload(dev, s.number, s.rows, &o->breath_signal));
        APP_TRY(APP_RUN, upload(dev, s.number + s.rows, s.rows, &o->heart_phase));
        return APP_DONE;
    }
    static const char *const kind[2][2] = {
        {"times of breaths, in s since the first readout", "times of heartbeats, in s since the first readout"},
        {"the breath's signal of each readout", "the heart's phase of each readout, in cycles"}};
    const int is_signal = s.rows == readouts;
    const int is_heart = is_signal ? !o->breath : o->heart > 0;
    larmor_array **const to[2][2] = {{&o->breath_times, &o->heart_times}, {&o->breath_signal, &o->heart_phase}};
    app_log("gating: %s has %s", path, kind[is_signal][is_heart]);
    APP_TRY(APP_RUN, upload(dev, s.number, s.rows, to[is_signal][is_heart]));
    return APP_DONE;
}

/* ---- what comes of it ---- */

static void report_bins(const larmor_bins_found *found)
{
    char line[LINE];
    int is_warning;
    for (int i = 0; larmor_gating_line(found, i, line, sizeof line, &is_warning); i++)
        if (is_warning)
            app_warn("%s", line);
        else
            app_log("%s", line);
}

static void free_given(larmor_bins_opts *o)
{
    larmor_array *const owned[] = {o->heart_times, o->heart_phase, o->breath_times, o->breath_signal};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) larmor_array_free(owned[i]);
}

int recon_gating_way(const char *text, larmor_gating_way *way)
{
    if (larmor_gating_read(text, way) == LARMOR_OK) return 1;
    *way = LARMOR_GATING_AUTO;
    return 0;
}

int recon_sort_bins(recon_run *r)
{
    const char *gating = r->s->gating;
    APP_OWNED(larmor_device) *dev = NULL;
    APP_FREED_BY(free_given) larmor_bins_opts opts = {.heart = 0};
    larmor_source *bins;
    recon_read_bins(r->s->bins, &opts);
    opts.tick_ms = r->s->tick;
    APP_TRY(APP_RUN, larmor_device_open("cpu", &dev));
    opts.waveforms = r->opened;
    opts.trace = &r->gating;
    if (!recon_gating_way(gating, &opts.way)) APP_DO(take_signals(r, dev, &opts));
    APP_TRY(APP_INPUT, larmor_source_of_bins(r->source, dev, &opts, &r->bins, &bins));
    report_bins(&r->bins);
    larmor_source_free(r->source);
    r->source = bins;
    return APP_DONE;
}

int recon_draw_gating(const recon_run *r)
{
    APP_TRY(APP_RUN, larmor_gating_draw(r->gating_output, &r->gating));
    app_log("wrote %s", larmor_output_path(r->gating_output));
    return APP_DONE;
}
