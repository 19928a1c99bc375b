/* A file of options: whatever it says, it is read or refused in one line, and what is set can be written and is read
 * as the same again. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/settings.h"
#include "tests/fuzz/fuzz.h"

static larmor_status other(void *user, const char *name, const char *value, int i)
{
    FUZZ_CHECK(user && *name && value && i >= 0);
    return LARMOR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *path;
    char line[8192], again[sizeof line];
    larmor_recon_opts opts = {.size = sizeof opts}, same = opts;
    if (!path) path = fuzz_path("options.toml");
    fuzz_put(path, data, size);
    if (larmor_settings_read(path, &opts, other, &opts)) {
        FUZZ_CHECK(!strchr(larmor_last_error(), '\n'));
        return 0;
    }
    FUZZ_CHECK(!larmor_settings_write(&opts, NULL, line, sizeof line));
    fuzz_put(path, line, strlen(line));
    FUZZ_CHECK(!larmor_settings_read(path, &same, NULL, NULL));
    FUZZ_CHECK(!larmor_settings_write(&same, NULL, again, sizeof again));
    FUZZ_CHECK(!strcmp(line, again));
    return 0;
}
