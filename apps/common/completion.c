/* What a shell offers to complete a command line, by the tables of commands and options.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "common.h"

static void offer(const char *before, const char *word, int length, const char *typed)
{
    const size_t at = strlen(before), n = strlen(typed);
    char text[128];
    snprintf(text, sizeof text, "%s%.*s", before, length, word);
    if (n <= at + (size_t)length && !strncmp(text, typed, n)) puts(text);
}

static void offer_choices(const app_option *o, const char *typed)
{
    const char *name, *help;
    int length;
    for (int i = 0; (length = app_choice_at(o, i, &name, &help)); i++) offer("", name, length, typed);
}

int app_complete(int count, char **words)
{
    if (!count) {
        printf("_%1$s() { mapfile -t COMPREPLY < <(%1$s completion \"${COMP_WORDS[@]:1:COMP_CWORD}\"); }\n"
               "complete -o default -F _%1$s %1$s\n",
               app_self.name);
        return APP_DONE;
    }
    const char *typed = words[count - 1];
    const char *before = count > 2 ? words[count - 2] : "";
    const app_command *command = NULL;
    for (const app_command *const *c = app_self.commands; *c; c++) {
        if (count == 1) offer("", (*c)->name, (int)strlen((*c)->name), typed);
        if (count > 1 && !strcmp((*c)->name, words[0])) command = *c;
    }
    for (const app_option *o = command ? command->options : NULL; o && o->name; o++) {
        const int is_long = !strncmp(before, "--", 2) && !strcmp(before + 2, o->name);
        const int is_short = o->letter && before[0] == '-' && before[1] == o->letter && !before[2];
        if (o->type != APP_FLAG && (is_long || is_short)) {
            offer_choices(o, typed);
            return APP_DONE;
        }
    }
    for (const app_option *o = command ? command->options : NULL; o && o->name && *typed == '-'; o++)
        offer("--", o->name, (int)strlen(o->name), typed);
    return APP_DONE;
}
