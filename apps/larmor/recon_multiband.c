/* larmor recon --multiband: slices that were excited together. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit_inputs.h"
#include "recon.h"

static const char caipi[] = "caipi:", off[] = "off";

/* The offsets of a text, at most LARMOR_MOST_BANDS; 0 if it is none of them. */
static int read_offsets(const char *text, double offset[LARMOR_MOST_BANDS])
{
    int count = 0;
    for (const char *p = text;; p++) {
        char *end;
        const double value = strtod(p, &end);
        if (end == p || !isfinite(value) || fabs(value) > 1e4 || count == LARMOR_MOST_BANDS) return 0;
        offset[count++] = value;
        p = end;
        if (!*p) return count;
        if (*p != ',') return 0;
    }
}

int recon_are_offsets(const char *text)
{
    double offset[LARMOR_MOST_BANDS];
    if (!strcmp(text, off)) return 1;
    const int count = read_offsets(text, offset);
    for (int s = 1; s < count; s++)
        if (!(offset[s] > offset[s - 1])) return 0;
    return count > 1;
}

/* Phases by "caipi:N", of as many shifts as slices by default, or of a file. */
static int read_phases(const recon_run *r, larmor_multiband_opts *o, larmor_array **phase)
{
    const char *text = r->s->multiband_phase;
    APP_OWNED(larmor_device) *host = NULL;
    char *end = NULL;
    o->shifts = o->bands;
    if (!strcmp(text, "caipi")) return APP_DONE;
    if (!strncmp(text, caipi, strlen(caipi))) {
        const char *number = text + strlen(caipi);
        const char *digits = number + (*number == '-');
        const long value = *digits >= '0' && *digits <= '9' ? strtol(digits, &end, 10) : 0;
        o->shifts = end && !*end && value >= 1 && value <= 1024 ? (int)value : 0;
        o->turns = *number == '-' ? -1 : 1;
        if (o->shifts) return APP_DONE;
        return app_refuse(
            APP_USAGE, "--multiband-phase %s: a number from 1 to 1024, or of the other sign, expected after caipi:.",
            text);
    }
    o->shifts = 0;
    APP_TRY(APP_RUN, larmor_device_open("cpu:1", &host));
    APP_TRY(APP_INPUT, app_read_array(text, host, phase));
    APP_TRY(APP_INPUT, fit_make_real(phase, host));
    o->phase = *phase;
    return APP_DONE;
}

void recon_open_bands(const recon_settings *s, larmor_raw_opts *scan)
{
    if (s->multiband) scan->multiband_left_out = strcmp(s->multiband, off) ? 1 : 2;
}

int recon_take_bands(recon_run *r)
{
    double offset[LARMOR_MOST_BANDS];
    APP_OWNED(larmor_array) *phase = NULL;
    larmor_source *volumes;
    if (!r->s->multiband || !strcmp(r->s->multiband, off)) return APP_DONE;
    larmor_multiband_opts opts = {.offset_mm = offset, .bands = read_offsets(r->s->multiband, offset)};
    const int code = read_phases(r, &opts, &phase);
    if (code) return code;
    APP_TRY(APP_INPUT, larmor_source_of_multiband(r->source, &opts, &volumes));
    larmor_source_free(r->source);
    r->source = volumes;
    return APP_DONE;
}
