/* What a shell offers to complete a command line, by the tables of commands and options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

/* The scripts ask the program itself, so that they need not be written anew for a new option. Names of files are the
 * shell's, where the program offers nothing. */
static const char for_bash[] =
    "_%1$s() { mapfile -t COMPREPLY < <(%1$s completion --words \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null); }\n"
    "complete -o default -F _%1$s %1$s\n";
static const char for_zsh[] =
    "#compdef %1$s\n"
    "_%1$s() {\n"
    "    local -a words_offered lines\n"
    "    lines=(\"${(@f)$(%1$s completion --described \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    [[ -n $lines[1] ]] || { _files; return }\n"
    "    words_offered=(\"${(@)lines//:/\\\\:}\")\n"
    "    words_offered=(\"${(@)words_offered/$'\\t'/:}\")\n"
    "    _describe -V %1$s words_offered\n"
    "}\n"
    "if [[ $funcstack[1] == _%1$s ]]; then _%1$s; else compdef _%1$s %1$s; fi\n";
static const char for_fish[] = "function __%1$s_offers\n"
                               "    set -l words (commandline -opc) (commandline -ct)\n"
                               "    %1$s completion --described $words[2..] 2>/dev/null\n"
                               "end\n"
                               "complete -c %1$s -f -a '(__%1$s_offers)'\n"
                               "complete -c %1$s -n 'test (count (__%1$s_offers)) -eq 0' -F\n";

typedef struct offers {
    const char *typed;
    int described;
} offers;

static void offer(const offers *o, const char *before, const char *word, int length, const char *meaning)
{
    const size_t at = strlen(before), n = strlen(o->typed);
    char text[128];
    snprintf(text, sizeof text, "%s%.*s", before, length, word);
    if (n > at + (size_t)length || strncmp(text, o->typed, n) != 0) return;
    if (o->described && meaning)
        printf("%s\t%s\n", text, meaning);
    else
        puts(text);
}

static void offer_choices(const offers *offered, const app_option *o)
{
    const char *name, *help;
    int length;
    for (int i = 0; (length = app_choice_at(o, i, &name, &help)); i++) offer(offered, "", name, length, help);
}

static int is_asked_for(const app_option *o, const char *word)
{
    const int is_long = !strncmp(word, "--", 2) && !strcmp(word + 2, o->name);
    const int is_short = o->letter && word[0] == '-' && word[1] == o->letter && !word[2];
    return is_long || is_short;
}

static void offer_options(const offers *offered, const app_option *options)
{
    for (const app_option *o = options; o->name; o++)
        if (!o->retired) offer(offered, "--", o->name, (int)strlen(o->name), o->help);
}

static void offer_of_command(const offers *offered, const app_command *command, const char *before)
{
    for (const app_option *o = command->options; o->name; o++) {
        if (o->type != APP_FLAG && is_asked_for(o, before)) {
            offer_choices(offered, o);
            return;
        }
    }
    if (*offered->typed != '-') return;
    offer_options(offered, command->options);
    offer_options(offered, app_shared_options);
}

static void complete(const offers *offered, int count, char **words)
{
    for (const app_command *const *c = app_self.commands; *c; c++) {
        if (count == 1) offer(offered, "", (*c)->name, (int)strlen((*c)->name), (*c)->summary);
        if (count > 1 && !strcmp((*c)->name, words[0])) offer_of_command(offered, *c, words[count - 2]);
    }
}

int app_complete(int count, char **words)
{
    const struct {
        const char *name, *script;
    } shells[] = {{"bash", for_bash}, {"zsh", for_zsh}, {"fish", for_fish}};
    const char *asked = count ? words[0] : "bash";
    const int described = !strcmp(asked, "--described");
    if (described || !strcmp(asked, "--words")) {
        const offers offered = {.typed = count > 1 ? words[count - 1] : "", .described = described};
        complete(&offered, count > 1 ? count - 1 : 1, words + 1);
        return APP_DONE;
    }
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(asked, shells[i].name) != 0) continue;
        printf(shells[i].script, app_self.name);
        return APP_DONE;
    }
    return app_refuse(APP_USAGE, "completion: \"%s\": bash, zsh or fish expected.", asked);
}
