/* Options that are settings of the library: its table says what they are and sets them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "option_settings.h"

#include <string.h>

#include "in_options.h"
#include "larmor/larmor.h"

static larmor_setting find(const char *name)
{
    larmor_setting s;
    for (int i = 0; (s = larmor_setting_entry(i)).name && strcmp(s.name, name) != 0;) i++;
    return s;
}

/* What a row says itself stays. */
static void complete(app_option *o, const larmor_setting *s)
{
    static const app_type types[] = {[LARMOR_SETTING_FLAG] = APP_FLAG,     [LARMOR_SETTING_CHOICE] = APP_TEXT,
                                     [LARMOR_SETTING_FORM] = APP_TEXT,     [LARMOR_SETTING_INTEGER] = APP_INTEGER,
                                     [LARMOR_SETTING_NUMBER] = APP_NUMBER, [LARMOR_SETTING_BYTES] = APP_BYTES,
                                     [LARMOR_SETTING_SIZES] = APP_SIZES,   [LARMOR_SETTING_NUMBERS] = APP_NUMBERS,
                                     [LARMOR_SETTING_LIST] = APP_TEXT};
    o->type = types[s->type];
    if (!o->name) o->name = s->option;
    if (!o->metavar) o->metavar = s->metavar;
    if (!o->help) o->help = s->help;
    if (!o->preset) o->preset = s->standard;
    if (!o->choice) o->choices = s->choices;
    if (!o->choice) o->expected = s->expected;
    if (!o->member) o->member = s->name;
    o->adds = s->type == LARMOR_SETTING_LIST;
    o->low = s->low;
    o->high = s->high;
}

/* The library's lines name members; without memory they do here, too. */
static void word(app_option *o)
{
    const app_line own = app_line_in_options(o->help);
    const char *copy = strcmp(own.s, o->help) ? strdup(own.s) : NULL;
    if (copy) o->help = copy;
}

void app_complete_options(const app_program *program)
{
    static int is_done;
    if (is_done++) return;
    for (const app_command *const *c = program->commands; *c; c++)
        for (app_option *o = (*c)->own; o && (o->name || o->setting); o++) {
            const larmor_setting s = o->setting ? find(o->setting) : (larmor_setting){.name = NULL};
            if (s.name) complete(o, &s);
        }
    app_set_options(program, NULL);
    for (const app_command *const *c = program->commands; *c; c++) {
        app_set_options(program, *c);
        for (app_option *o = (*c)->own; o && o->name; o++)
            if (o->setting) word(o);
    }
    app_set_options(program, NULL);
}
