/* The words and the bar of a line of progress. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "progress.h"

enum { BAR = 24, LEAST_BAR = 8, BRACKETS = 3 /* with the blank before them */ };

/* How many bytes of the text fit, without breaking a character of UTF-8. */
static int fitting(const char *text, int columns)
{
    int n = (int)strlen(text);
    if (n <= columns) return n;
    n = columns > 0 ? columns : 0;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    return n;
}

/* Seconds that are left at the pace of the steps so far; negative if unknown. */
static double left(const app_progress_state *s, double now)
{
    if (s->step <= s->first) return -1;
    const double each = (s->last_step - s->first_step) / (s->step - s->first);
    return fmax(0, each * (s->steps - s->step) - (now - s->last_step));
}

typedef struct part {
    char text[48];
} part;

/* " 13/30, residual 1.2e-03, objective 3.1, 0.4 s left"; the higher `less`, the less of it. */
static void describe_steps(const app_progress_state *s, double now, int less, char *text, size_t size)
{
    part residual = {""}, objective = {""}, rest = {""};
    const double seconds = left(s, now);
    if (s->residual >= 0 && less < 2) snprintf(residual.text, sizeof residual.text, ", residual %.1e", s->residual);
    if (!isnan(s->objective) && less < 1)
        snprintf(objective.text, sizeof objective.text, ", objective %.5g", s->objective);
    if (seconds >= 0 && less < 3) snprintf(rest.text, sizeof rest.text, ", %.1f s left", seconds);
    snprintf(text, size, " %d/%d%s%s%s", s->step, s->steps, residual.text, objective.text, rest.text);
}

/* Text, cut where it has to be, and what must stand behind it. */
static void put(const char *text, const char *behind, int columns, char line[APP_LINE])
{
    const int room = columns - (int)strlen(behind);
    snprintf(line, APP_LINE, "%.*s%.*s", fitting(text, room), text, room < 0 ? columns : APP_LINE, behind);
}

void app_progress_line(const app_progress_state *s, double now, int columns, int colour, char line[APP_LINE])
{
    char name[sizeof s->what + sizeof s->stage + 2], behind[192];
    snprintf(name, sizeof name, "%s%s%s", s->what, s->stage[0] ? ": " : "", s->stage);
    if (!s->steps) {
        snprintf(behind, sizeof behind, ", %.1f s", now - s->began);
        put(name, behind, columns, line);
        return;
    }
    int width = 0;
    for (int less = 0; less <= 3 && width < LEAST_BAR; less++) {
        describe_steps(s, now, less, behind, sizeof behind);
        width = columns - (int)strlen(name) - BRACKETS - (int)strlen(behind);
    }
    if (width < LEAST_BAR) {
        put(name, behind, columns, line);
        return;
    }
    char bar[BAR + 1];
    width = width < BAR ? width : BAR;
    const int filled = (int)((int64_t)width * s->step / s->steps);
    for (int i = 0; i < width; i++) bar[i] = i < filled ? '#' : '.';
    bar[width] = 0;
    snprintf(line, APP_LINE, "%s [%s%s%s]%s", name, colour ? "\033[32m" : "", bar, colour ? "\033[0m" : "", behind);
}
