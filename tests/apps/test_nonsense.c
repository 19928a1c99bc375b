/* Values that no option can have, of every option of every command, by the tables themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/common/args.h"
#include "apps/common/messages.h"
#include "apps/common/option_settings.h"
#include "core/mutable.h"
#include "tests/support/test.h"

extern char **environ;

static int is_numeric(const app_option *o)
{
    return o->type == APP_INTEGER || o->type == APP_NUMBER || o->type == APP_SIZES || o->type == APP_NUMBERS;
}

static int is_list(const app_option *o)
{
    return o->type == APP_SIZES || o->type == APP_NUMBERS;
}

static int is_whole(const app_option *o)
{
    return o->type == APP_INTEGER || o->type == APP_SIZES;
}

/* Of a text that has a name in a file, or words of its own. */
static int is_free(const app_option *o)
{
    static const char *const names[] = {"group",   "join",     "address", "unix",    "config",    "parameters",
                                        "out-dir", "bids-dir", "output",  "columns", "truth-maps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(o->name, names[i])) return 1;
    return 0;
}

/* 1 if the option has values that can be refused by themselves. */
static int can_refuse(const app_option *o)
{
    return is_numeric(o) || o->type == APP_BYTES ||
           (o->type == APP_TEXT && (o->choices || o->choice || o->reads || o->setting));
}

#define FOR_EACH_OPTION(c, o)                                                                                        \
    for (const app_command *const *c = app_self.commands; *c; c++)                                                   \
        for (const app_option *o = (*c)->options; o && o->name; o++)

static void expect_refusal(const app_command *c, const app_option *o, const char *value)
{
    char option[64], begin[64];
    snprintf(option, sizeof option, "--%s", o->name);
    snprintf(begin, sizeof begin, value ? "--%s \"" : "--%s: ", o->name);
    char text[256];
    snprintf(text, sizeof text, "%s", value ? value : "");
    char *arguments[] = {option, text, NULL};
    HEAP void *settings = calloc(1, c->settings + 1);
    assert_non_null(settings);
    app_files files = {0};
    const int code = app_parse(c, value ? 2 : 1, arguments, settings, &files);
    const char *said = app_last_error();
    if (code == APP_USAGE && !strncmp(said, begin, strlen(begin)) && strstr(said, "expected") && !strchr(said, '\n'))
        return;
    fail_msg("%s --%s \"%s\": code %d, said: %s", c->name, o->name, value ? value : "(none)", code, said);
}

static const char *const never[] = {"",      "nan",   "NaN", "inf", "-inf", "infinity", "1e400", "-1e400", "9e18",
                                    "-9e18", "1e308", "x",   "5x",  "5 ",   " 5",       "5;6",   "0x10",   "1e",
                                    "1.2.3", "+-1",   "5,",  ",5",  "5,,5", "1e-400",   "%d",    "1/2"};

static int is_choice(const app_option *o, const char *text)
{
    const char *name, *help;
    int length;
    for (int i = 0; (length = app_choice_at(o, i, &name, &help)); i++)
        if (!strncmp(name, text, (size_t)length) && !text[length]) return 1;
    return 0;
}

/* "V", "V,V", ... of a value within the bounds. */
static const char *repeat(const app_option *o, int count, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", i ? "," : "", o->high < 1e6 ? o->high : o->low);
    return text;
}

TEST(every_number_has_bounds_and_every_text_a_form)
{
    FOR_EACH_OPTION(c, o)
    {
        if (is_numeric(o) && !(o->low < o->high && isfinite(o->low) && o->high < 9e18))
            fail_msg("%s --%s: has no bounds", (*c)->name, o->name);
        if (is_whole(o) && (o->low != floor(o->low) || o->high != floor(o->high)))
            fail_msg("%s --%s: its bounds are not whole", (*c)->name, o->name);
        if (is_whole(o) && o->low < 1 && !o->preset) fail_msg("%s --%s: 0 means nothing", (*c)->name, o->name);
        if (o->type == APP_INTEGER && o->low < 0 && strcmp(o->preset, "-1") != 0)
            fail_msg("%s --%s: is a count, and may be negative", (*c)->name, o->name);
        if (o->type == APP_TEXT && !can_refuse(o) && !is_free(o))
            fail_msg("%s --%s: takes any text", (*c)->name, o->name);
        if (o->reads && !o->expected) fail_msg("%s --%s: does not say what it takes", (*c)->name, o->name);
    }
}

TEST(every_option_refuses_what_it_cannot_be)
{
    char text[256];
    int options = 0;
    FOR_EACH_OPTION(c, o)
    {
        if (!can_refuse(o)) continue;
        options++;
        expect_refusal(*c, o, NULL);
        for (size_t i = 0; i < sizeof never / sizeof *never; i++)
            if (!is_choice(o, never[i])) expect_refusal(*c, o, never[i]);
        if (is_whole(o) || o->type == APP_BYTES) expect_refusal(*c, o, "1.5");
        if (o->type == APP_BYTES) expect_refusal(*c, o, "0");
        if (o->type == APP_BYTES) expect_refusal(*c, o, "-1");
        if (!is_numeric(o)) continue;
        const double step = is_whole(o) ? 1 : 1e-6;
        snprintf(text, sizeof text, "%.17g", o->low - step * fmax(1, fabs(o->low)));
        expect_refusal(*c, o, text);
        snprintf(text, sizeof text, is_whole(o) ? "%.0f" : "%.17g", o->high + step * fmax(1, fabs(o->high)));
        expect_refusal(*c, o, text);
        if (is_whole(o)) expect_refusal(*c, o, "9000000000000000000");
        if (!is_list(o)) {
            expect_refusal(*c, o, repeat(o, 2, text, sizeof text));
            continue;
        }
        int least, most;
        app_list_length(o, &least, &most);
        assert_in_range(most, least, APP_MAX_NUMBERS);
        expect_refusal(*c, o, repeat(o, most + 1, text, sizeof text));
        if (least > 1) expect_refusal(*c, o, repeat(o, least - 1, text, sizeof text));
    }
    assert_true(options > 150);
}

static void expect_taken(const app_command *c, const app_option *o, const char *value)
{
    char option[64], text[256];
    snprintf(option, sizeof option, "--%s", o->name);
    snprintf(text, sizeof text, "%s", value);
    char a[] = "a", b[] = "b";
    char *arguments[] = {option, text, a, b, NULL};
    HEAP void *settings = calloc(1, c->settings + 1);
    assert_non_null(settings);
    app_files files = {0};
    const int code = app_parse(c, 2 + (c->max_files > 2 ? 1 : c->max_files), arguments, settings, &files);
    /* or another option is needed, too */
    if (code < 0 || strncmp(app_last_error(), option, strlen(option)) != 0) return;
    fail_msg("%s --%s \"%s\": code %d, said: %s", c->name, o->name, value, code, app_last_error());
}

TEST(every_number_takes_its_bounds_and_what_is_between)
{
    char text[256];
    FOR_EACH_OPTION(c, o)
    {
        if (!is_numeric(o)) continue;
        const double values[] = {o->low, o->high, fmax(o->low, fmin(o->high, 0)), fmax(o->low, fmin(o->high, 7))};
        int least = 1, most = 1;
        if (is_list(o)) app_list_length(o, &least, &most);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            for (int count = least; count <= most; count++) {
                size_t used = 0;
                for (int k = 0; k < count; k++) /* values that differ from one place to the next */
                    used += (size_t)snprintf(text + used, sizeof text - used, is_whole(o) ? "%s%.0f" : "%s%.17g",
                                             k ? "," : "", values[(i + (size_t)k) % 4]);
                expect_taken(*c, o, text);
            }
    }
}

/* ---- the program ---- */

static int has_one_line(const char *path, char *line, size_t size)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char more[16];
    const int one = fgets(line, (int)size, in) && line[strlen(line) - 1] == '\n' && !fgets(more, sizeof more, in);
    fclose(in);
    return one;
}

static int64_t size_of(const char *path)
{
    struct stat s;
    return stat(path, &s) ? -1 : (int64_t)s.st_size;
}

static int run_program(const char *const *arguments)
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int status = 0;
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    posix_spawn_file_actions_addopen(&files, 1, "out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, "err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&child, arguments[0], &files, NULL, lmr_mutable(arguments), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The input is not there: had it been looked for, the exit code were 3. */
TEST(the_program_refuses_before_it_opens_a_file)
{
    const char *program = getenv("LARMOR");
    char folder[] = "/tmp/nonsense.XXXXXX", option[64], line[1024], begin[80];
    if (!program) skip();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    FOR_EACH_OPTION(c, o)
    {
        if (!can_refuse(o)) continue;
        snprintf(option, sizeof option, "--%s", o->name);
        snprintf(begin, sizeof begin, "larmor: --%s \"nan\": ", o->name);
        const char *const arguments[] = {program, (*c)->name, "absent.h5", option, "nan", NULL};
        const char *const alone[] = {program, (*c)->name, option, "nan", NULL};
        const int code = run_program((*c)->max_files ? arguments : alone);
        const int one = has_one_line("err", line, sizeof line);
        if (code != APP_USAGE || !one || size_of("out") || strncmp(line, begin, strlen(begin)) != 0)
            fail_msg("%s --%s nan: code %d, %s, said: %s", (*c)->name, o->name, code,
                     one ? "one line" : "not one line", line);
    }
    assert_int_equal(unlink("out") | unlink("err"), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
}

int main(void)
{
    app_complete_options(&app_self);
    app_set_silent();
    return run_claims(NULL, NULL);
}
