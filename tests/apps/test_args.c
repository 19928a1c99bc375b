/* Reading the command line by a table of options. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "apps/common/args.h"

#include "apps/common/messages.h"
#include "tests/support/test.h"

enum { OPTIONS = 200 }; /* more than any command has */

typedef struct settings {
    int flag[OPTIONS];
} settings;

const app_program app_self = {.name = "program"};

static char names[OPTIONS][16];
static app_option table[OPTIONS + 1];
static const app_command command = {.name = "run", .usage = "", .options = table, .settings = sizeof(settings)};

static int make_table(void **state LMR_UNUSED)
{
    for (int i = 0; i < OPTIONS; i++) {
        snprintf(names[i], sizeof names[i], "option-%03d", i);
        table[i] = (app_option){.name = names[i], .type = APP_FLAG, .at = offsetof(settings, flag[i]), .help = ""};
    }
    app_set_silent();
    return 0;
}

static int parse(const char *argument, settings *values)
{
    char text[32];
    char *arguments[] = {text, NULL};
    app_files files = {0};
    snprintf(text, sizeof text, "%s", argument);
    *values = (settings){.flag = {0}};
    return app_parse(&command, 1, arguments, values, &files);
}

TEST(the_last_of_many_options_is_read)
{
    settings values;
    assert_int_equal(parse("--option-199", &values), -1);
    for (int i = 0; i < OPTIONS; i++) assert_int_equal(values.flag[i], i == OPTIONS - 1);
}

TEST(the_last_of_many_options_can_be_needed)
{
    settings values;
    table[OPTIONS - 1].needed = 1;
    table[OPTIONS - 1].metavar = "N";
    assert_int_equal(parse("--option-198", &values), 2);
    assert_string_equal(app_silent_error(), "run: --option-199 N is needed; 'program run --help' says more.");
    assert_int_equal(parse("--option-199", &values), -1);
    table[OPTIONS - 1].needed = 0;
}

TEST(a_slip_in_the_last_of_many_options_is_seen)
{
    settings values;
    table[OPTIONS - 1].name = "zebra";
    assert_int_equal(parse("--zebar", &values), 2);
    assert_string_equal(app_silent_error(),
                        "run: unknown option --zebar, did you mean --zebra; 'program run --help' lists them.");
    table[OPTIONS - 1].name = names[OPTIONS - 1];
}

int main(void)
{
    return run_claims(make_table, NULL);
}
