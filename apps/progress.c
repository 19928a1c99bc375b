/* Progress on stderr: a bar on a terminal, plain lines elsewhere. SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

#define BAR 24
#define LINE_SECONDS 2.0
#define REDRAW_SECONDS 0.05

void app_progress_begin(app_progress *p, const char *what)
{
    const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    *p = (app_progress){.began = app_now(), .quiet = app_is_quiet()};
    snprintf(p->what, sizeof p->what, "%s", what);
    p->terminal = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");
    p->colour = p->terminal && !(no_colour && *no_colour);
}

static void draw_bar(app_progress *p, int step, int steps, const char *residual, double left)
{
    char bar[BAR + 1];
    const int filled = (int)((int64_t)BAR * step / steps);
    for (int i = 0; i < BAR; i++) bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    fprintf(stderr, "\r\033[K%s [%s%s%s] %d/%d%s, %.1f s left", p->what, p->colour ? "\033[32m" : "", bar,
            p->colour ? "\033[0m" : "", step, steps, residual, left);
    fflush(stderr);
    p->open = 1;
}

void app_progress_step(app_progress *p, int step, int steps, double residual, double objective)
{
    if (p->quiet || steps < 1 || step < 1) return;
    const double time = app_now(), passed = time - p->began, left = passed * (steps - step) / step;
    const int ends = step == 1 || step == steps;
    if (!ends && time - p->printed < (p->terminal ? REDRAW_SECONDS : LINE_SECONDS)) return;
    p->printed = time;
    char text[80] = "";
    int used = 0;
    if (residual >= 0) used = snprintf(text, sizeof text, ", residual %.1e", residual);
    if (!isnan(objective)) snprintf(text + used, sizeof text - (size_t)used, ", objective %.5g", objective);
    if (p->terminal)
        draw_bar(p, step, steps, text, left);
    else
        fprintf(stderr, "%s: %d/%d%s, %.1f s\n", p->what, step, steps, text, passed);
}

void app_progress_end(app_progress *p)
{
    if (p->open) fputc('\n', stderr);
    p->open = 0;
}

int app_monitor(void *user, const larmor_progress *progress)
{
    app_progress_step(user, progress->iter, progress->max_iter, progress->residual, progress->objective);
    return app_stopped() != 0;
}
