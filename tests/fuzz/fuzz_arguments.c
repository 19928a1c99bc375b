/* Command lines of the program, words with a byte 0 between, the first of which names the command. They are parsed
 * and not run. SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "option_settings.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *word[MOST_WORDS + 1];
    FUZZ_CHECK(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    int words = 0;
    app_complete_options(&app_self);
    for (size_t at = 0; at < size && words < MOST_WORDS; at += strlen(text + at) + 1) word[words++] = text + at;
    word[words] = NULL;
    for (const app_command *const *c = app_self.commands; words && *c; c++) {
        if (strcmp((*c)->name, word[0]) != 0) continue;
        app_files files = {0};
        void *settings = calloc(1, (*c)->settings + 1);
        FUZZ_CHECK(settings);
        const int code = app_parse(*c, words - 1, word + 1, settings, &files);
        FUZZ_CHECK(code == -1 || code == APP_DONE || code == APP_USAGE);
        FUZZ_CHECK(files.count <= (*c)->max_files);
        free(settings);
    }
    free(text);
    return 0;
}
