/* Bins and where their rhythms come from, as options of the program write them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

enum { MOST_BINS = 65535, NOWHERE = -1, KINDS = 3 };

/* Which of the names, that end in ':', the text begins with. */
static int kind_of(const char *text)
{
    static const char *const names[KINDS] = {"heart:", "breath:", "time:"};
    for (int i = 0; i < KINDS; i++)
        if (!strncmp(text, names[i], strlen(names[i]))) return i;
    return NOWHERE;
}

/* 1 if the text is bins, whose numbers are then set. */
static int read_bins(const char *text, int number[KINDS])
{
    int kinds = 0;
    for (const char *p = text;; p++) {
        const int kind = kind_of(p);
        char *end = NULL;
        if (kind == NOWHERE || number[kind]) return 0;
        p = strchr(p, ':') + 1;
        const long value = *p >= '0' && *p <= '9' ? strtol(p, &end, 10) : 0;
        if (value < 1 || value > MOST_BINS) return 0;
        number[kind] = (int)value;
        kinds++;
        p = end;
        if (!*p) return kinds < KINDS;
        if (*p != ',') return 0;
    }
}

larmor_status larmor_bins_read(const char *text, larmor_bins_opts *opts)
{
    int number[KINDS] = {0};
    LMR_NEED(text, opts);
    LMR_REFUSE(!read_bins(text, number), LARMOR_ERR_ARG,
               "bins: got \"%.60s\", expected one or two of heart:N, breath:N and time:N, like "
               "heart:20,breath:4",
               text);
    opts->heart = number[0];
    opts->breath = number[1];
    opts->time = number[2];
    return LARMOR_OK;
}

larmor_status larmor_gating_read(const char *word, larmor_gating_way *way)
{
    static const char *const words[] = {[LARMOR_GATING_SELF] = "self",
                                        [LARMOR_GATING_HEADER] = "header",
                                        [LARMOR_GATING_AUTO] = "auto",
                                        [LARMOR_GATING_WAVEFORMS] = "waveforms"};
    LMR_NEED(word, way);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) != 0) continue;
        *way = (larmor_gating_way)i;
        return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_ARG, "gating: got \"%.60s\", expected auto, waveforms, header or self", word);
}
