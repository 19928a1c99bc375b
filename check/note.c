/* A list of findings that grows. SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "check/check.h"
#include "core/core.h"

const char *larmor_severity_name(larmor_severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};
    return severity >= LARMOR_NOTE && severity <= LARMOR_ERROR ? names[severity] : "";
}

void larmor_findings_free(larmor_findings *findings)
{
    if (!findings) return;
    free(findings->list);
    *findings = (larmor_findings){.count = 0};
}

void lmr_note(lmr_findings *f, larmor_severity severity, const char *code, const char *format, ...)
{
    const larmor_status st = lmr_grow(&f->out.list, f->out.count, &f->room, sizeof *f->out.list);
    if (st) {
        f->st = st;
        return;
    }
    larmor_finding *one = &f->out.list[f->out.count++];
    va_list arguments;
    one->severity = severity;
    snprintf(one->code, sizeof one->code, "%s", code);
    va_start(arguments, format);
    vsnprintf(one->text, sizeof one->text, format, arguments);
    va_end(arguments);
    f->out.errors += severity == LARMOR_ERROR;
    f->out.warnings += severity == LARMOR_WARNING;
}
