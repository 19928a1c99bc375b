/* Where the program larmor-reader is. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* secure_getenv */
#include "io/process/reader_path.h"

#include <unistd.h>

#include "core/core.h"
#include "core/own_path.h"

/* From the library's folder to the reader. */
#ifndef LARMOR_READER_FROM_LIBRARY
#define LARMOR_READER_FROM_LIBRARY "../libexec/larmor/larmor-reader"
#endif

enum { PLACES = 2 * LMR_OWN_FOLDERS };

static int add(char place[PLACES][LMR_READER_PATH], int count, lmr_own_folder which, const char *below)
{
    if (!lmr_own_path(which, below, place[count], LMR_READER_PATH)) return count;
    for (int i = 0; i < count; i++)
        if (!strcmp(place[i], place[count])) return count;
    return count + 1;
}

static int list(char place[PLACES][LMR_READER_PATH])
{
    int count = 0;
    for (lmr_own_folder which = 0; which < LMR_OWN_FOLDERS; which++) {
        count = add(place, count, which, LARMOR_READER_FROM_LIBRARY);
        count = add(place, count, which, "larmor-reader");
    }
    return count;
}

larmor_status lmr_reader_path(char path[LMR_READER_PATH])
{
    char place[PLACES][LMR_READER_PATH], text[PLACES * (LMR_READER_PATH + 2)] = "";
    const char *asked = secure_getenv("LARMOR_READER"); /* NULL in a program with more rights than its user */
    if (asked && *asked) {
        LMR_REFUSE(*asked != '/' || strlen(asked) >= LMR_READER_PATH, LARMOR_ERR_UNSUPPORTED,
                   "LARMOR_READER=%s is not an absolute path.", asked);
        LMR_REFUSE(access(asked, X_OK), LARMOR_ERR_UNSUPPORTED,
                   "LARMOR_READER=%s cannot be run. Correct or unset it.", asked);
        snprintf(path, LMR_READER_PATH, "%s", asked);
        return LARMOR_OK;
    }
    const int count = list(place);
    LMR_REFUSE(!count, LARMOR_ERR_UNSUPPORTED,
               "the program larmor-reader is looked for nowhere, because liblarmor was loaded by a relative path "
               "or lies where any user may put files. Move liblarmor or set LARMOR_READER.");
    for (int i = 0; i < count; i++) {
        if (!access(place[i], X_OK)) {
            memcpy(path, place[i], LMR_READER_PATH);
            return LARMOR_OK;
        }
        lmr_append(text, sizeof text, "%s%s", i ? ", " : "", place[i]);
    }
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "the program larmor-reader is not installed (looked for %s). Install it or set LARMOR_READER.",
                    text);
}
