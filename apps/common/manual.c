/* Manual pages by the tables of commands and options, in the macros of man(7). SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>

#include "common.h"

/* Text that troff takes as it is: its hyphens are those of command lines, and no line of it begins a request. */
static void print_text(const char *text, int length)
{
    int begins = 1;
    for (int i = 0; i < length && text[i]; i++) {
        if (begins && (text[i] == '.' || text[i] == '\'')) fputs("\\&", stdout);
        begins = text[i] == '\n';
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else
            putchar(text[i]);
    }
}

static void print_all(const char *text)
{
    print_text(text, (int)strlen(text));
}

static void print_sentence(const char *text)
{
    putchar(toupper((unsigned char)text[0]));
    print_all(text + 1);
    fputs(".\n", stdout);
}

/* "larmor-recon", or "larmor" */
static void print_name(const app_command *command)
{
    print_all(app_self.name);
    if (!command) return;
    fputs("\\-", stdout);
    print_all(command->name);
}

static void print_head(const app_command *command)
{
    fputs(".TH ", stdout);
    for (const char *c = app_self.name; *c; c++) putchar(toupper((unsigned char)*c));
    if (command) putchar('-');
    for (const char *c = command ? command->name : ""; *c; c++) putchar(toupper((unsigned char)*c));
    printf(" 1 \"%s\" \"larmor %s\" \"User Commands\"\n.SH NAME\n", APP_DATE, larmor_version());
    print_name(command);
    fputs(" \\- ", stdout);
}

static void print_option(const app_option *o)
{
    char help[1024];
    const char *name, *meaning;
    int length;
    if (o->retired) return;
    if (o->heading) {
        fputs(".SS ", stdout);
        print_all(o->heading);
        putchar('\n');
    }
    fputs(".TP\n", stdout);
    if (o->letter) printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    print_all(o->name);
    fputs("\\fR", stdout);
    if (*o->metavar) {
        fputs(" \\fI", stdout);
        print_all(o->metavar);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    app_describe_option(o, help, sizeof help);
    print_all(help);
    putchar('\n');
    int first = 1;
    for (int i = 0; (length = app_choice_at(o, i, &name, &meaning)); i++) {
        if (!meaning) continue;
        if (first) fputs(".RS\n", stdout);
        first = 0;
        fputs(".TP\n\\fB", stdout);
        print_text(name, length);
        fputs("\\fR\n", stdout);
        print_all(meaning);
        putchar('\n');
    }
    if (!first) fputs(".RE\n", stdout);
}

static void print_end(const app_command *command)
{
    static const char *const codes[] = {APP_EXIT_CODES};
    fputs(".SH EXIT STATUS\n", stdout);
    print_all(codes[0]);
    putchar('\n');
    print_all(codes[1]);
    fputs(".\n.SH SEE ALSO\n", stdout);
    if (command) {
        print_name(NULL);
        fputs("(1)\n", stdout);
        return;
    }
    for (const app_command *const *c = app_self.commands; *c; c++) {
        print_name(*c);
        printf("(1)%s\n", c[1] ? "," : "");
    }
}

static void print_program(void)
{
    print_head(NULL);
    print_text(app_self.about, (int)strlen(app_self.about) - 1);
    fputs("\n.SH SYNOPSIS\n.B ", stdout);
    print_all(app_self.name);
    fputs("\n.I COMMAND\n[options]\n.SH COMMANDS\n", stdout);
    for (const app_command *const *c = app_self.commands; *c; c++) {
        fputs(".TP\n.B ", stdout);
        print_all((*c)->name);
        putchar('\n');
        print_all((*c)->summary);
        putchar('\n');
    }
    fputs(".TP\n.B help\nthe options of a command\n"
          ".TP\n.B completion\nthe script by which bash, zsh or fish complete command lines\n"
          ".TP\n.B manual\nthis page, or that of a command\n",
          stdout);
    print_end(NULL);
}

void app_manual(const app_command *command)
{
    if (!command) {
        print_program();
        return;
    }
    print_head(command);
    print_all(command->summary);
    fputs("\n.SH SYNOPSIS\n.B ", stdout);
    print_all(app_self.name);
    putchar(' ');
    print_all(command->name);
    putchar('\n');
    print_all(command->usage);
    fputs("\n.SH DESCRIPTION\n", stdout);
    print_sentence(command->summary);
    if (command->details) {
        fputs(".PP\n.nf\n", stdout);
        print_all(command->details);
        fputs("\n.fi\n", stdout);
    }
    fputs(".SH OPTIONS\n", stdout);
    for (const app_option *o = command->options; o->name; o++) print_option(o);
    for (const app_option *o = app_shared_options; o->name; o++) print_option(o);
    print_end(command);
}
