/* Where the program larmor-reader is. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr, secure_getenv */
#include "io/reader_path.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the library's folder to the reader, and the reader's place by the installation prefix. */
#ifndef LARMOR_READER_FROM_LIBRARY
#define LARMOR_READER_FROM_LIBRARY "../libexec/larmor/larmor-reader"
#endif
#ifndef LARMOR_READER_INSTALLED
#define LARMOR_READER_INSTALLED ""
#endif

enum { PLACES = 3 };

/* Never a relative path: what lies in the working directory must not be run. */
static int add(char place[PLACES][LMR_READER_PATH], int count, const char *folder, const char *below)
{
    if (*folder != '/' && *below != '/') return count;
    const int used = snprintf(place[count], LMR_READER_PATH, "%s%s%s", folder, *folder ? "/" : "", below);
    return used < LMR_READER_PATH ? count + 1 : count;
}

/* Places by the folder of the library that this function is in, or of a program that was linked with it. */
static int list(char place[PLACES][LMR_READER_PATH])
{
    static const char here; /* any address of this library */
    Dl_info info;
    char folder[LMR_READER_PATH] = "";
    int count = 0;
    if (dladdr(&here, &info) && info.dli_fname) snprintf(folder, sizeof folder, "%s", info.dli_fname);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        count = add(place, count, folder, LARMOR_READER_FROM_LIBRARY);
        count = add(place, count, folder, "larmor-reader");
    }
    return add(place, count, "", LARMOR_READER_INSTALLED);
}

larmor_status lmr_reader_path(char path[LMR_READER_PATH])
{
    char place[PLACES][LMR_READER_PATH], text[3 * LMR_READER_PATH] = "";
    const char *asked = secure_getenv("LARMOR_READER"); /* NULL in a program with more rights than its user */
    if (asked && *asked) {
        if (*asked != '/' || strlen(asked) >= LMR_READER_PATH)
            return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "LARMOR_READER=%s is not an absolute path.", asked);
        if (access(asked, X_OK))
            return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "LARMOR_READER=%s cannot be run. Correct or unset it.", asked);
        snprintf(path, LMR_READER_PATH, "%s", asked);
        return LARMOR_OK;
    }
    const int count = list(place);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (!access(place[i], X_OK)) {
            memcpy(path, place[i], LMR_READER_PATH);
            return LARMOR_OK;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "", place[i]);
        if (used >= sizeof text) break;
    }
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "the program larmor-reader is not installed (looked for %s). Install it or set LARMOR_READER.",
                    text);
}
