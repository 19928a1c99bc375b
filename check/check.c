/* Checks of scans: opened, looked at, planned. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/check.h"

#include "check/check.h"
#include "core/core.h"

/* Errors first, then warnings, then notes, each in the order in which they were found. */
static larmor_status sort(lmr_findings *f)
{
    larmor_finding *sorted = malloc((size_t)(f->out.count + 1) * sizeof *sorted);
    int count = 0;
    if (!sorted) return LMR_NO_MEMORY();
    for (int severity = LARMOR_ERROR; severity >= LARMOR_NOTE; severity--)
        for (int i = 0; i < f->out.count; i++)
            if ((int)f->out.list[i].severity == severity) sorted[count++] = f->out.list[i];
    free(f->out.list);
    f->out.list = sorted;
    return LARMOR_OK;
}

/* ---- reading ---- */

/* The code of a text that the reader of files warns by. */
static const char *code_of(const char *line)
{
    static const char *const codes[][2] = {
        {"channel ", "dead-coil"},      {"counter ", "limits"},           {"center ", "limits"},
        {"multiband: ", "multiband"},   {"the noise scan", "noise-scan"}, {"trajectory in ", "resolution"},
        {"trajectory units ", "units"}, {"trajectory ", "trajectory"}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strncmp(line, codes[i][0], strlen(codes[i][0]))) return codes[i][1];
    if (strstr(line, "NIfTI files say") || strstr(line, " have no position")) return "geometry";
    return strstr(line, "opts.join") ? "counters" : "header";
}

static void take_warnings(const char *warnings, lmr_findings *f)
{
    for (const char *line = warnings; *line;) {
        const size_t length = strcspn(line, "\n");
        char one[sizeof f->out.list->text];
        snprintf(one, sizeof one, "%.*s", (int)length, line);
        const char *code = code_of(one), *text = one;
        const size_t said = strlen(code); /* what the finding's kind says is not said twice */
        if (!strncmp(text, code, said) && !strncmp(text + said, ": ", 2)) text += said + 2;
        lmr_note(f, LARMOR_WARNING, code, "%s", text);
        line += length + (line[length] == '\n');
    }
}

/* What the file as a whole says. */
static void judge_file(const larmor_raw_info *info, int dropped, lmr_findings *f)
{
    if (info->nonfinite)
        lmr_note(f, dropped ? LARMOR_WARNING : LARMOR_ERROR, "nonfinite",
                 "%lld of %lld acquisitions hold values that are not finite. %s", (long long)info->nonfinite,
                 (long long)info->acquisitions,
                 dropped ? "They are left out." : "opts.drop_nonfinite leaves them out.");
    take_warnings(info->warnings, f);
    if (*info->calibration_report) lmr_note(f, LARMOR_NOTE, "calibration", "%s", info->calibration_report);
    if (info->traj_stored) lmr_note(f, LARMOR_NOTE, "units", "trajectory: %s", info->traj_report);
    if (info->phase_terms) lmr_note(f, LARMOR_NOTE, "phases", "phases: %s", info->phase_report);
}

/* Slices that were excited together, by the header; its warnings follow those of the file. */
static void judge_bands(const larmor_raw *raw, const larmor_source *source, lmr_findings *f)
{
    const larmor_raw_info file = larmor_raw_describe(raw), taken = larmor_source_describe(source);
    if (!taken.bands) return;
    take_warnings(taken.warnings + strlen(file.warnings), f);
    lmr_note(f, LARMOR_NOTE, "multiband", "%s", taken.bands_report);
}

/* ---- what recon would do ---- */

LMR_OWNS(larmor_recon, larmor_recon_free)
LMR_OWNS(larmor_source, larmor_source_free)

static int same_plan(const larmor_recon_plan *a, const larmor_recon_plan *b)
{
    int same = a->first.encoding == b->first.encoding && a->bytes == b->bytes;
    for (int d = 0; d < 3; d++) same &= a->grid.matrix[d] == b->grid.matrix[d];
    return same;
}

static void note_plan(const larmor_recon_plan *plan, int first, int end, lmr_findings *f)
{
    const int64_t *n = plan->grid.matrix;
    char images[48], memory[48] = "";
    if (end - first > 1)
        snprintf(images, sizeof images, "images %d to %d", first + 1, end);
    else
        snprintf(images, sizeof images, "image %d", first + 1);
    if (plan->bytes) snprintf(memory, sizeof memory, ", %.3g MB", (double)plan->bytes / 1e6);
    lmr_note(f, LARMOR_NOTE, "plan", "recon: %s by %s on a grid of %lld x %lld x %lld, %s, %s%s", images,
             plan->method, (long long)n[0], (long long)n[1], (long long)n[2],
             plan->coils > 1 ? "maps from the data" : "one coil", plan->whitened ? "whitened" : "not whitened",
             memory);
}

/* Where maps come from all of k-space by nonlinear inversion, gaps in its centre are no fault. */
static void note_gaps(lmr_findings *f)
{
    for (int i = 0; i < f->out.count; i++) {
        larmor_finding *one = &f->out.list[i];
        if (strcmp(one->code, "calibration") != 0 || one->severity != LARMOR_WARNING) continue;
        one->severity = LARMOR_NOTE;
        snprintf(one->text, sizeof one->text,
                 "the centre of k-space has gaps: recon finds maps by nonlinear inversion, which takes all of the "
                 "samples.");
        f->out.warnings--;
    }
}

static larmor_status plan(larmor_source *source, larmor_device *dev, int64_t memory, lmr_findings *f)
{
    const larmor_recon_opts opts = {.size = sizeof opts,
                                    .memory = memory,
                                    .oversample = {1},
                                    .delays = LARMOR_DELAYS_OFF}; /* both are looked for by themselves */
    LMR_OWNED(larmor_recon) *recon = NULL;
    larmor_recon_plan one, other;
    const larmor_status st = larmor_recon_create(source, dev, &opts, &recon);
    if (st == LARMOR_STOPPED) return st;
    if (st) {
        lmr_note(f, LARMOR_ERROR, "plan", "recon would refuse it: %s", larmor_last_error());
        return LARMOR_OK;
    }
    const int count = larmor_recon_series(recon);
    for (int first = 0, end; first < count; first = end) {
        LMR_TRY(larmor_recon_describe(recon, first, &one));
        for (end = first + 1; end < count; end++) {
            LMR_TRY(larmor_recon_describe(recon, end, &other));
            if (!same_plan(&one, &other)) break;
        }
        note_plan(&one, first, end, f);
        if (!strcmp(one.maps_method, "nlinv")) note_gaps(f);
    }
    return LARMOR_OK;
}

/* ---- all of it ---- */

/* The message without the path that it begins with. */
static const char *without_path(const char *message, const char *path)
{
    const size_t length = strlen(path);
    return !strncmp(message, path, length) && !strncmp(message + length, ": ", 2) ? message + length + 2 : message;
}

static larmor_status look(larmor_raw *raw, const char *path, larmor_device *dev, int64_t memory, lmr_findings *f)
{
    LMR_OWNED(larmor_source) *source = NULL;
    LMR_TRY(lmr_check_heads(raw, f));
    const larmor_status st = larmor_source_of_raw(raw, path, &source);
    if (st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_ARG || st == LARMOR_ERR_UNSUPPORTED) {
        lmr_note(f, LARMOR_ERROR, "multiband", "recon would refuse it: %s", without_path(larmor_last_error(), path));
        return LARMOR_OK;
    }
    LMR_TRY(st);
    judge_bands(raw, source, f);
    LMR_TRY(lmr_check_samples(source, dev, f));
    return plan(source, dev, memory, f);
}

larmor_status larmor_check(const char *path, const larmor_raw_opts *opts, larmor_device *dev, larmor_findings *out)
{
    LMR_NEED(out);
    *out = (larmor_findings){.count = 0};
    LMR_NEED(path, dev);
    larmor_raw_opts open = opts ? *opts : (larmor_raw_opts){0};
    const int dropped = open.drop_nonfinite;
    lmr_findings f = {.room = 0};
    larmor_raw *raw = NULL;
    open.drop_nonfinite = 1;
    larmor_status st = larmor_raw_open(path, &open, &raw);
    if (st == LARMOR_ERR_FORMAT || st == LARMOR_ERR_IO) {
        lmr_note(&f, LARMOR_ERROR, st == LARMOR_ERR_IO ? "file" : "format", "%s",
                 without_path(larmor_last_error(), path));
        st = LARMOR_OK;
    } else if (!st) {
        const larmor_raw_info info = larmor_raw_describe(raw);
        judge_file(&info, dropped, &f);
        st = look(raw, path, dev, open.memory > 0 ? open.memory : 0, &f);
    }
    larmor_raw_free(raw);
    if (!st) st = f.st;
    if (!st) st = sort(&f);
    if (st)
        larmor_findings_free(&f.out);
    else
        *out = f.out;
    return st;
}
