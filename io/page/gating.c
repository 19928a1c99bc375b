/* A drawing of what bins of readouts rest on: signals, triggers, bins. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/images/formats.h"
#include "io/page/parts.h"

enum { WIDTH = 900, LEFT = 50, RIGHT = 15, PANEL = 100, GAP = 44, MOST_SHOWN = 65535 };
#define SHOWN_S 60.0 /* the first minute is drawn */

typedef struct frame {  /* of the time that is shown, and a panel */
    double first, last; /* s */
    double top;         /* pixels */
} frame;

static double x_of(const frame *f, double s)
{
    return LEFT + (s - f->first) / (f->last - f->first) * (WIDTH - LEFT - RIGHT);
}

static void add_title(lmr_bytes *b, const frame *f, const char *text)
{
    lmr_bytes_print(b, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">", LEFT, f->top - 6);
    lmr_bytes_xml(b, text);
    lmr_bytes_print(b, "</text>\n");
    lmr_bytes_print(b, "<rect x=\"%d\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n", LEFT,
                    f->top, WIDTH - LEFT - RIGHT, PANEL);
}

static void add_seconds(lmr_bytes *b, const frame *f)
{
    static const double steps[] = {0.1, 0.5, 2, 10};
    const double span = f->last - f->first;
    double step = steps[0];
    for (int i = 0; i < 4; i++)
        if (span > 3 * steps[i]) step = steps[i];
    for (double s = step * ceil(f->first / step); s <= f->last; s += step)
        lmr_bytes_print(b, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.3g s</text>\n", x_of(f, s),
                        f->top + PANEL + 14, s);
}

/* ---- signals ---- */

/* The least and the largest value that is shown; 0 if none is. */
static int find_range(const larmor_gating_signal *s, const frame *f, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < s->points; i++) {
        if (!(s->at[i] >= f->first && s->at[i] <= f->last)) continue;
        *low = fmin(*low, s->value[i]);
        *high = fmax(*high, s->value[i]);
    }
    return *high > *low;
}

/* Within each column of pixels the least and the largest value. */
static void add_curve(lmr_bytes *b, const larmor_gating_signal *s, const frame *f)
{
    double low, high, least = INFINITY, most = -INFINITY;
    int column = -1;
    if (!find_range(s, f, &low, &high)) return;
    const double scale = (PANEL - 8) / (high - low), bottom = f->top + PANEL - 4;
    lmr_bytes_print(b, "<polyline fill=\"none\" stroke=\"#0b63a5\" points=\"");
    for (int64_t i = 0; i < s->points; i++) {
        if (!(s->at[i] >= f->first && s->at[i] <= f->last)) continue;
        const int now = (int)x_of(f, s->at[i]);
        if (now != column && column >= 0)
            lmr_bytes_print(b, "%d,%.1f %d,%.1f ", column, bottom - scale * (least - low), column,
                            bottom - scale * (most - low));
        if (now != column) {
            least = INFINITY;
            most = -INFINITY;
        }
        column = now;
        least = fmin(least, s->value[i]);
        most = fmax(most, s->value[i]);
    }
    lmr_bytes_print(b, "\"/>\n");
}

static void add_triggers(lmr_bytes *b, const larmor_gating_signal *s, const frame *f)
{
    for (int64_t i = 0; i < s->triggers; i++)
        if (s->trigger[i] >= f->first && s->trigger[i] <= f->last)
            lmr_bytes_print(
                b, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"#c0392b\" opacity=\".6\"/>\n",
                x_of(f, s->trigger[i]), x_of(f, s->trigger[i]), f->top, f->top + PANEL);
}

static void add_signal(lmr_bytes *b, const char *name, const larmor_gating_signal *s, frame *f)
{
    char title[400];
    if (!s->from) return;
    snprintf(title, sizeof title, "%s: %s, %.1f a minute, reliability %.2f", name, s->report, s->rate,
             s->reliability);
    if (!(s->rate > 0)) snprintf(title, sizeof title, "%s: %s", name, s->report);
    add_title(b, f, title);
    add_curve(b, s, f);
    add_triggers(b, s, f);
    add_seconds(b, f);
    f->top += PANEL + GAP;
}

/* ---- bins ---- */

static int inner_bins(const larmor_gating_trace *t)
{
    if (t->heart_bins) return t->heart_bins;
    return t->breath_bins ? t->breath_bins : t->time_bins;
}

static int all_bins(const larmor_gating_trace *t)
{
    const int of[] = {t->heart_bins, t->breath_bins, t->time_bins};
    int all = 1;
    for (int i = 0; i < 3; i++)
        if (of[i]) all *= of[i];
    return all;
}

/* The colour of bin i of n, from blue to red. */
static void add_colour(lmr_bytes *b, int i, int n)
{
    lmr_bytes_print(b, "hsl(%d,70%%,45%%)", n > 1 ? 220 - 220 * i / (n - 1) : 220);
}

static void add_points(lmr_bytes *b, const larmor_gating_trace *t, frame *f)
{
    const int inner = inner_bins(t), outer = all_bins(t) / inner;
    int64_t shown = 0;
    add_title(b, f,
              outer > 1 ? "bin of each readout: its height is the first kind of bins, its colour the second"
                        : "bin of each readout");
    for (int64_t i = 0; i < t->readouts && shown < MOST_SHOWN; i++) {
        if (!(t->seconds[i] >= f->first && t->seconds[i] <= f->last) || t->bin[i] < 0) continue;
        lmr_bytes_print(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.2\" fill=\"", x_of(f, t->seconds[i]),
                        f->top + PANEL - PANEL * (t->bin[i] % inner + .5) / inner);
        add_colour(b, t->bin[i] / inner, outer);
        lmr_bytes_print(b, "\"/>\n");
        shown++;
    }
    add_seconds(b, f);
    f->top += PANEL + GAP;
}

static larmor_status add_counts(lmr_bytes *b, const larmor_gating_trace *t, frame *f)
{
    const int all = all_bins(t), inner = inner_bins(t);
    const double wide = (double)(WIDTH - LEFT - RIGHT) / all;
    int64_t most = 1;
    LMR_HEAP LMR_NEW_ZEROS(int64_t, count, (size_t)all + 1);
    for (int64_t i = 0; i < t->readouts; i++)
        if (t->bin[i] >= 0 && t->bin[i] < all) count[t->bin[i]]++;
    for (int i = 0; i < all; i++) most = count[i] > most ? count[i] : most;
    add_title(b, f, "readouts of each bin");
    for (int i = 0; i < all; i++) {
        const double high = PANEL * (double)count[i] / (double)most;
        lmr_bytes_print(b, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"", LEFT + wide * i,
                        f->top + PANEL - high, .8 * wide, high);
        add_colour(b, i / inner, all / inner);
        lmr_bytes_print(b, "\"><title>%" PRId64 "</title></rect>\n", count[i]);
    }
    lmr_bytes_print(b, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%" PRId64 "</text>\n", LEFT - 4, f->top + 10,
                    most);
    f->top += PANEL + GAP;
    return LARMOR_OK;
}

larmor_status lmr_gating_svg(lmr_bytes *b, const larmor_gating_trace *t)
{
    frame f = {.first = 0, .last = 0, .top = 24};
    LMR_REFUSE(t->readouts < 1 || !t->seconds || !t->bin || all_bins(t) > MOST_SHOWN, LARMOR_ERR_ARG,
               "gating: there are no bins to draw");
    for (int64_t i = 0; i < t->readouts; i++) f.last = fmax(f.last, t->seconds[i]);
    f.last = f.last > 0 ? fmin(f.last, SHOWN_S) : 1;
    const int panels = (t->heart.from != 0) + (t->breath.from != 0) + 2;
    lmr_bytes_print(b,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                    "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" "
                    "fill=\"#fff\"/>\n",
                    WIDTH, 24 + panels * (PANEL + GAP), WIDTH, 24 + panels * (PANEL + GAP));
    add_signal(b, "heart", &t->heart, &f);
    add_signal(b, "breath", &t->breath, &f);
    add_points(b, t, &f);
    LMR_TRY(add_counts(b, t, &f));
    lmr_bytes_print(b, "</svg>\n");
    return LARMOR_OK;
}

/* ---- files ---- */

static larmor_status refuse(larmor_output *out, const lmr_images *images)
{
    (void)images;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: .svg is for drawings, not for images", out->path);
}

static const lmr_format svg = {.suffix = ".svg", .name = "SVG", .write = refuse};

larmor_status larmor_drawing_open(const char *path, int force, larmor_output **out)
{
    LMR_NEED_OUT(out, path);
    const size_t length = strlen(path), suffix = strlen(svg.suffix);
    LMR_REFUSE(length <= suffix || strcmp(path + length - suffix, svg.suffix) != 0, LARMOR_ERR_ARG,
               "%s: a drawing is written to .svg", path);
    LMR_TRY(lmr_output_open(path, svg.suffix, NULL, force, 0, out));
    (*out)->format = &svg;
    return LARMOR_OK;
}

static larmor_status put(larmor_output *out, const larmor_gating_trace *trace)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes b = {0};
    LMR_TRY(lmr_gating_svg(&b, trace));
    LMR_TRY(lmr_bytes_end(&b));
    LMR_TRY(lmr_output_reserve(out, 0, (int64_t)b.size));
    LMR_TRY(lmr_output_put(out, 0, b.data, b.size));
    return lmr_output_commit(out);
}

larmor_status larmor_gating_draw(larmor_output *out, const larmor_gating_trace *trace)
{
    LMR_NEED(trace);
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(out->format != &svg, LARMOR_ERR_ARG, "%s: a drawing is written to .svg", out->path);
    const larmor_status st = put(out, trace);
    lmr_output_give_up(out);
    return st;
}
