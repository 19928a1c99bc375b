/* larmor version: of the program, and of the libraries that it was built with. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "json.h"

/* The versions are found by CMake, so that the program need not link what only the library uses. */
static const struct {
    const char *name, *version;
} parts[] = {
    {"fftw", APP_FFTW_VERSION},   {"openblas", APP_OPENBLAS_VERSION}, {"hdf5", APP_HDF5_VERSION},
    {"expat", APP_EXPAT_VERSION}, {"libpng", APP_PNG_VERSION},        {"zlib", APP_ZLIB_VERSION},
    {"compiler", APP_COMPILER},
};
enum { PARTS = sizeof parts / sizeof *parts };

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const json_settings *s = given;
    const char *sandbox;
    if (larmor_reader_sandbox(&sandbox)) sandbox = "none: no reader";
    if (!s->json) {
        printf("larmor %s\n", larmor_version());
        for (int i = 0; i < PARTS; i++) printf("%-10s%s\n", parts[i].name, parts[i].version);
        printf("%-10s%s\n", "sandbox", sandbox);
        return APP_DONE;
    }
    json j = json_begin();
    json_text(&j, "larmor", larmor_version());
    for (int i = 0; i < PARTS; i++) json_text(&j, parts[i].name, parts[i].version);
    json_text(&j, "sandbox", sandbox);
    json_close(&j, '}');
    return APP_DONE;
}

const app_command cmd_version = {
    .name = "version",
    .usage = "[--json]",
    .summary = "the version, and those of the libraries it was built with",
    .options = json_options,
    .settings = sizeof(json_settings),
    .run = run,
};
