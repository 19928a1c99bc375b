/* Reading the command line by a table of options. SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "setting_value.h"

#define MAX_WORD 64
#define HELP_COLUMN 26
#define HELP_WIDTH 100
#define CHOICE_WIDTH 12

/* Levenshtein's distance; MAX_WORD for words that are too long to be a slip of the finger. */
static int distance(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    if (m >= MAX_WORD || n >= MAX_WORD) return MAX_WORD;
    int row[MAX_WORD + 1];
    for (size_t j = 0; j <= n; j++) row[j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            const int replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const int shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[n];
}

const char *app_nearest(const char *word, const char *const *words)
{
    const char *nearest = NULL;
    int best = 1 + (int)strlen(word) / 3;
    for (; *words; words++) {
        const int d = distance(word, *words);
        if (d < best || (d == best && !nearest)) {
            nearest = *words;
            best = d;
        }
    }
    return nearest;
}

int app_choice_at(const app_option *o, int i, const char **text, const char **help)
{
    *text = o->choices;
    *help = NULL;
    if (o->choice) *text = o->choice(i, help);
    for (; o->choices && i > 0 && *text; i--) *text = strchr(*text, '|') ? strchr(*text, '|') + 1 : NULL;
    return *text ? (int)strcspn(*text, "|") : 0;
}

/* What a value of the option must look like, e.g. "a number >= 0". */
static void describe_value(const app_option *o, char *text, size_t size)
{
    char range[64];
    snprintf(range, sizeof range, " from %.9g to %.9g", o->low, o->high);
    switch (o->type) {
    case APP_INTEGER:
        snprintf(text, size, "a whole number%s", range);
        break;
    case APP_NUMBER:
        snprintf(text, size, "a number%s", range);
        break;
    case APP_BYTES:
        snprintf(text, size, "a number of bytes > 0, with K, M, G or T for thousands, millions ...,");
        break;
    case APP_SIZES:
        snprintf(text, size, "%s of whole numbers%s", o->metavar, range);
        break;
    case APP_NUMBERS:
        snprintf(text, size, "%s of numbers%s", o->metavar, range);
        break;
    default:
        snprintf(text, size, "%s", o->expected ? o->expected : "a value");
    }
    if (o->expected) return;
    const char *name, *next, *help;
    int length = app_choice_at(o, 0, &name, &help);
    size_t used = 0;
    for (int i = 1; length && used + 1 < size; i++) {
        const int after = app_choice_at(o, i, &next, &help);
        const char *comma = after ? ", " : " or ";
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", i > 1 ? comma : "", length, name);
        name = next;
        length = after;
    }
}

static int in_range(const app_option *o, double value)
{
    return value >= o->low && value <= o->high;
}

/* 1 if the decimal number, which ends at `end`, has a digit that is not 0 before its exponent. */
static int has_value(const char *text, const char *end)
{
    const char *first = text + strcspn(text, "123456789eE");
    return first < end && *first != 'e' && *first != 'E';
}

/* A finite decimal number that fills the text up to `end`; whole: an integer. One that is too small for a double
 * is none, because 0 often has a meaning of its own. */
static int read_number(const char *text, const char *end, int whole, double *value)
{
    const size_t length = strspn(text, whole ? "+-0123456789" : "+-.0123456789eE");
    if (!length || text + length != end) return 0;
    char *stop;
    *value = strtod(text, &stop);
    if (*value == 0 && has_value(text, end)) return 0;
    return stop == end && isfinite(*value) && (!whole || fabs(*value) <= 0x1p53);
}

/* "512M": thousands, as memory is printed. There are no parts of a byte. */
static int read_bytes(const char *text, int64_t *bytes)
{
    static const char units[] = "KMGT";
    const size_t length = strlen(text);
    const char *unit = length ? strchr(units, toupper((unsigned char)text[length - 1])) : NULL;
    double value;
    if (!read_number(text, text + length - (unit != NULL), unit == NULL, &value)) return 0;
    if (unit) value *= pow(1000, (double)(unit - units + 1));
    *bytes = value >= 1 && value <= 0x1p53 ? (int64_t)value : 0;
    return *bytes > 0;
}

int app_read_numbers(const char *text, int most, int whole, app_list *list)
{
    list->count = 0;
    for (;;) {
        const char *end = text + strcspn(text, ",");
        if (list->count == most || !read_number(text, end, whole, &list->value[list->count])) return 0;
        list->count++;
        if (!*end) return 1;
        text = end + 1;
    }
}

void app_list_length(const app_option *o, int *least, int *most)
{
    *least = *most = 1;
    int inside = 0;
    for (const char *c = o->metavar; *c; c++) {
        inside |= *c == '[';
        *least += *c == ',' && !inside;
        *most += *c == ',';
    }
    if (o->most) *most = o->most;
}

static int read_list(const app_option *o, const char *text, app_list *list)
{
    int least, most;
    app_list_length(o, &least, &most);
    if (!app_read_numbers(text, most, o->type == APP_SIZES, list)) return 0;
    for (int i = 0; i < list->count; i++)
        if (!in_range(o, list->value[i])) return 0;
    return list->count >= least;
}

int app_names_file(const app_option *o)
{
    return o->type == APP_READ_FILE || o->type == APP_WRITTEN_FILE || o->type == APP_WRITTEN_FILES;
}

static int is_listed(const app_option *o, const char *text)
{
    const char *name, *help;
    int length;
    for (int i = 0; (length = app_choice_at(o, i, &name, &help)); i++)
        if (!strncmp(name, text, (size_t)length) && !text[length]) return 1;
    return 0;
}

static int is_choice(const app_option *o, const char *text)
{
    if (o->reads) return o->reads(text);
    return is_listed(o, text) || app_names_file(o) || (!o->choices && !o->choice);
}

static void warn_of_retired(const app_option *o)
{
    if (!o->retired) return;
    app_warn("--%s: the next version will not have it; use %s.", o->name, o->retired);
}

/* Store the text as the option's value; 0 if it is none. */
static int read_value(const app_option *o, const char *text, void *settings)
{
    void *at = (char *)settings + o->at;
    double number;
    if (o->setting) return app_setting_read(at, o->setting, o->type == APP_FLAG ? "true" : text);
    switch (o->type) {
    case APP_FLAG:
        *(int *)at = 1;
        return 1;
    case APP_INTEGER:
        if (!read_number(text, text + strlen(text), 1, &number) || !in_range(o, number)) return 0;
        if (o->bytes == sizeof(int))
            *(int *)at = (int)number;
        else
            *(int64_t *)at = (int64_t)number;
        return 1;
    case APP_NUMBER:
        if (!read_number(text, text + strlen(text), 0, &number) || !in_range(o, number)) return 0;
        *(double *)at = number;
        return 1;
    case APP_BYTES:
        return read_bytes(text, at);
    case APP_TEXT:
    case APP_READ_FILE:
    case APP_WRITTEN_FILE:
        if (!*text || !is_choice(o, text)) return 0;
        *(const char **)at = text;
        return 1;
    case APP_TEXTS:
    case APP_WRITTEN_FILES: {
        app_texts *texts = at;
        if (!*text) return 0;
        texts->text[texts->count++] = text;
        return 1;
    }
    case APP_SIZES:
    case APP_NUMBERS:
        return read_list(o, text, at);
    }
    return 0;
}

static int refuse_value(const app_option *o, const char *text)
{
    char expected[512];
    describe_value(o, expected, sizeof expected);
    if (text)
        app_error("--%s \"%s\": %s expected.", o->name, text, expected);
    else
        app_error("--%s: %s expected.", o->name, expected);
    return APP_USAGE;
}

void app_defaults(const app_command *command, void *settings)
{
    for (const app_option *o = command->options; o->name; o++) {
        if (o->preset && !o->setting) read_value(o, o->preset, settings);
        if (o->absent) *(double *)((char *)settings + o->at) = NAN;
    }
}

int app_is_word(const app_option *o, const char *text)
{
    const char *word = o->no_file;
    while (text && word) {
        const size_t length = strcspn(word, "|");
        const int begins = length && word[length - 1] == ':';
        if ((begins || strlen(text) == length) && !strncmp(word, text, length)) return 1;
        word = word[length] ? word + length + 1 : NULL;
    }
    return o->type == APP_READ_FILE && text && is_listed(o, text);
}

/* 1 if an option that may be repeated was given as often as it may be. */
static int is_full(const app_option *o, const void *settings)
{
    const int repeats = o->type == APP_TEXTS || o->type == APP_WRITTEN_FILES;
    return repeats && ((const app_texts *)((const char *)settings + o->at))->count == APP_MAX_TEXTS;
}

static int refuse_repetition(const app_option *o, const char *text)
{
    return app_refuse(APP_USAGE, "--%s \"%s\": is given more than %d times; use several calls.", o->name, text,
                      APP_MAX_TEXTS);
}

int app_set(const app_option *o, const char *text, void *settings)
{
    warn_of_retired(o);
    if (o->setting && app_setting_read((char *)settings + o->at, o->setting, text)) return -1;
    if (o->type == APP_FLAG) {
        const int on = !strcmp(text, "true") || !strcmp(text, "1");
        if (!o->setting) *(int *)((char *)settings + o->at) = on;
        if (!o->setting && (on || !strcmp(text, "false") || !strcmp(text, "0"))) return -1;
        return app_refuse(APP_USAGE, "--%s \"%s\": true or false expected.", o->name, text);
    }
    if (is_full(o, settings)) return refuse_repetition(o, text);
    return read_value(o, text, settings) ? -1 : refuse_value(o, text);
}

static size_t count_options(const app_option *options)
{
    size_t n = 0;
    while (options[n].name) n++;
    return n;
}

static int refuse_option(const app_command *command, const char *given)
{
    const size_t own = count_options(command->options), shared = count_options(app_shared_options);
    const char **names = calloc(own + shared + 1, sizeof *names);
    for (size_t i = 0; names && i < shared; i++) names[i] = app_shared_options[i].name;
    for (size_t i = 0; names && i < own; i++) names[shared + i] = command->options[i].name;
    char word[MAX_WORD];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given, "="), given);
    const char *nearest = strncmp(word, "--", 2) || !names ? NULL : app_nearest(word + 2, names);
    app_error("%s: unknown option %s%s%s; '%s %s --help' lists them.", command->name, word,
              nearest ? ", did you mean --" : "", nearest ? nearest : "", app_self.name, command->name);
    free(names);
    return APP_USAGE;
}

/* The option that argument names, and its value if that is in the same argument; NULL if there is none. */
static const app_option *find_option(const app_command *command, const char *argument, const char **value)
{
    const int is_long = argument[1] == '-';
    const size_t length = is_long ? strcspn(argument + 2, "=") : 0;
    *value = NULL;
    for (const app_option *o = command->options; o->name; o++) {
        if (is_long && (strlen(o->name) != length || strncmp(o->name, argument + 2, length))) continue;
        if (!is_long && o->letter != argument[1]) continue;
        const char *rest = argument + 2 + length;
        if (*rest) *value = rest + is_long; /* past the "=" of a long one */
        return o;
    }
    return NULL;
}

/* "-" as a file, of an option or, if that is NULL, as an argument. */
static int refuse_stream(const app_command *command, const app_option *o)
{
    return app_refuse(APP_USAGE, "%s: %s%s%s\"-\": standard input and output are not supported yet; name a file.",
                      command->name, o ? "--" : "", o ? o->name : "", o ? " " : "");
}

/* Keep an argument that is no option: -1, or the exit code of its refusal. */
static int take_file(const app_command *command, const char *argument, app_files *files)
{
    if (!strcmp(argument, "-") && !command->streams) return refuse_stream(command, NULL);
    if (files->count < command->max_files) {
        files->name[files->count++] = argument;
        return -1;
    }
    if (command->surplus)
        app_error("%s: unexpected argument \"%s\": %s.", command->name, argument, command->surplus);
    else
        app_error("%s: unexpected argument \"%s\"; usage: %s %s %s", command->name, argument, app_self.name,
                  command->name, command->usage);
    return APP_USAGE;
}

static int check_completeness(const app_command *command, const app_files *files, const char *const *given)
{
    if (command->lacking && files->count < command->min_files)
        return app_refuse(APP_USAGE, "%s: %s", command->name, command->lacking);
    for (const app_option *o = command->options; o->name; o++) {
        if (!o->needed || given[o - command->options]) continue;
        return app_refuse(APP_USAGE, "%s: --%s %s is needed; '%s %s --help' says more.", command->name, o->name,
                          o->metavar, app_self.name, command->name);
    }
    if (files->count >= command->min_files) return -1;
    return app_refuse(APP_USAGE, "%s: %d file name%s expected, got %d; usage: %s %s %s", command->name,
                      command->min_files, app_s(command->min_files), files->count, app_self.name, command->name,
                      command->usage);
}

/* 1 if the option has one value, and another one was given before: said. */
static int is_second(const app_option *o, const char *before, const char *value)
{
    if (!before || o->adds || o->type == APP_FLAG || o->type == APP_TEXTS || o->type == APP_WRITTEN_FILES) return 0;
    if (!strcmp(before, value)) return 0;
    app_error("--%s: is given twice, as \"%s\" and as \"%s\"; give it once.", o->name, before, value);
    return 1;
}

/* given: [options of the command], becomes the value of those that argv has, of flags "". */
static int parse(const app_command *command, int argc, char **argv, void *settings, app_files *files,
                 const char **given)
{
    app_defaults(command, settings);
    int only_files = 0;
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i], *value;
        if (!only_files && !strcmp(argument, "--")) {
            only_files = 1;
        } else if (only_files || argument[0] != '-' || !argument[1]) {
            const int code = take_file(command, argument, files);
            if (code >= 0) return code;
        } else if (!strcmp(argument, "--help") || !strcmp(argument, "-h")) {
            app_help(command, stdout);
            return APP_DONE;
        } else if (!strcmp(argument, "--quiet") || !strcmp(argument, "-q")) {
            app_set_quiet();
        } else {
            const app_option *o = find_option(command, argument, &value);
            if (!o) return refuse_option(command, argument);
            if (o->type == APP_FLAG && value) return app_refuse(APP_USAGE, "--%s takes no value.", o->name);
            if (o->type != APP_FLAG && !value) {
                if (i + 1 == argc || !strncmp(argv[i + 1], "--", 2)) return refuse_value(o, NULL);
                value = argv[++i];
            }
            if (is_full(o, settings)) return refuse_repetition(o, value);
            if (is_second(o, given[o - command->options], value)) return APP_USAGE;
            if (!read_value(o, value, settings)) return refuse_value(o, value);
            if (app_names_file(o) && !o->streams && !strcmp(value, "-")) return refuse_stream(command, o);
            warn_of_retired(o);
            given[o - command->options] = value ? value : "";
        }
    }
    for (const app_option *o = command->options; command->read_config && o->name; o++) {
        const char *path = given[o - command->options];
        const int code =
            path && !strcmp(o->name, "config") ? command->read_config(command, path, settings, given) : -1;
        if (code >= 0) return code;
    }
    return check_completeness(command, files, given);
}

int app_parse(const app_command *command, int argc, char **argv, void *settings, app_files *files)
{
    const char **given = calloc(count_options(command->options) + 1, sizeof *given);
    if (!given) return app_refuse(APP_LACKING, "out of host memory");
    const int code = parse(command, argc, argv, settings, files, given);
    free(given);
    return code;
}

/* ---- after reading ---- */

int64_t app_integer(const app_option *o, const void *at)
{
    return o->bytes == sizeof(int) ? *(const int *)at : *(const int64_t *)at;
}

static int same_list(const app_list *a, const app_list *b)
{
    int same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++) same = a->value[i] == b->value[i];
    return same;
}

int app_differs(const app_command *command, const void *settings, const char *option)
{
    const app_option *o = command->options;
    while (o->name && strcmp(o->name, option) != 0) o++;
    if (!o->name) return 0;
    if (o->setting) return app_setting_differs((const char *)settings + o->at, o->setting, o->preset);
    union {
        int flag;
        double number;
        const char *text;
        app_texts texts;
        app_list list;
    } preset = {.texts = {0}};
    app_option alone = *o;
    alone.at = 0;
    if (o->preset) read_value(&alone, o->preset, &preset);
    const void *at = (const char *)settings + o->at;
    switch (o->type) {
    case APP_FLAG:
        return *(const int *)at != preset.flag;
    case APP_INTEGER:
    case APP_BYTES:
        return app_integer(o, at) != app_integer(o, &preset);
    case APP_NUMBER:
        return o->absent ? !isnan(*(const double *)at) : *(const double *)at != preset.number;
    case APP_TEXT:
    case APP_READ_FILE:
    case APP_WRITTEN_FILE: {
        const char *text = *(const char *const *)at;
        return text && (!preset.text || strcmp(text, preset.text) != 0);
    }
    case APP_TEXTS:
    case APP_WRITTEN_FILES:
        return ((const app_texts *)at)->count != preset.texts.count;
    case APP_SIZES:
    case APP_NUMBERS:
        return !same_list(at, &preset.list);
    }
    return 0;
}

/* ---- help ---- */

/* Words from a column on, wrapped. */
static void print_wrapped(FILE *out, const char *text, int start)
{
    int column = start;
    for (const char *word = text; *word;) {
        const int length = (int)strcspn(word, " ");
        if (column > start && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", start, "");
            column = start;
        }
        column += fprintf(out, "%s%.*s", column > start ? " " : "", length, word);
        word += length + (word[length] == ' ');
    }
    fputc('\n', out);
}

/* The choices that say what they are, a line or more each. */
static void print_choices(FILE *out, const app_option *o)
{
    const char *name, *help;
    int length;
    for (int i = 0; (length = app_choice_at(o, i, &name, &help)); i++) {
        if (!help) continue;
        fprintf(out, "%*s%-*.*s ", HELP_COLUMN + 2, "", CHOICE_WIDTH - 1, length, name);
        print_wrapped(out, help, HELP_COLUMN + 2 + CHOICE_WIDTH);
    }
}

const app_option app_shared_options[] = {
    {.letter = 'q',
     .name = "quiet",
     .metavar = "",
     .help = "no log and no progress, only results, warnings that an image cannot be trusted, and errors"},
    {.letter = 'h', .name = "help", .metavar = "", .help = "print this"},
    {0},
};

void app_describe_option(const app_option *o, char *text, size_t size)
{
    char choices[512] = "";
    if (o->choices || o->choice) describe_value(o, choices, sizeof choices);
    snprintf(text, size, "%s%s%s%s%s%s%s", o->help, *choices ? ": " : "", choices, o->preset ? " (default: " : "",
             o->preset ? o->preset : "", o->preset ? ")" : "", o->needed ? " (needed)" : "");
}

static void print_option(FILE *out, const app_option *o)
{
    char left[128], help[1024];
    if (o->retired) return;
    if (o->heading) fprintf(out, "\n%s:\n", o->heading);
    if (o->letter)
        snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name);
    else
        snprintf(left, sizeof left, "      --%s", o->name);
    app_describe_option(o, help, sizeof help);
    const int used = fprintf(out, "%s %s", left, o->type == APP_FLAG ? "" : o->metavar);
    if (used > HELP_COLUMN - 2)
        fprintf(out, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(out, "%*s", HELP_COLUMN - used, "");
    print_wrapped(out, help, HELP_COLUMN);
    print_choices(out, o);
}

static int has_headings(const app_command *command)
{
    for (const app_option *o = command->options; o->name; o++)
        if (o->heading) return 1;
    return 0;
}

void app_help(const app_command *command, FILE *out)
{
    fprintf(out, "usage: %s %s %s\n\n%c%s.\n\n", app_self.name, command->name, command->usage,
            toupper(command->summary[0]), command->summary + 1);
    for (const app_option *o = command->options; o->name; o++) print_option(out, o);
    fputs(has_headings(command) ? "\nElse:\n" : "", out);
    for (const app_option *o = app_shared_options; o->name; o++) print_option(out, o);
    if (command->details) fprintf(out, "\n%s\n", command->details);
}
