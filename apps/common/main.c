/* The main function of every program: finds the command that is named and runs it. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <unistd.h>

#include "common.h"
#include "in_options.h"
#include "json.h"
#include "option_settings.h"
#include "via.h"

static void print_commands(FILE *out)
{
    fprintf(out, "usage: %s COMMAND [options]\n\n%s\n\n", app_self.name, app_self.about);
    for (const app_command *const *c = app_self.commands; *c; c++)
        fprintf(out, "  %-10s%s\n", (*c)->name, (*c)->summary);
    fprintf(out,
            "\n'%1$s help COMMAND' and '%1$s COMMAND --help' list a command's options;\n"
            "'source <(%1$s completion)' lets bash complete them, 'completion zsh' and 'completion fish' others;\n"
            "'%1$s manual COMMAND' is its page for 'man -l -'.\n\n",
            app_self.name);
    static const char *const codes[] = {APP_EXIT_CODES};
    fprintf(out, "exit codes: %s\n            %s\n", codes[0], codes[1]);
}

static const app_command *find_command(const char *name)
{
    enum { MOST_COMMANDS = 32 };
    const char *names[MOST_COMMANDS + 1] = {0};
    for (int i = 0; i < MOST_COMMANDS && app_self.commands[i]; i++) {
        names[i] = app_self.commands[i]->name;
        if (!strcmp(name, names[i])) return app_self.commands[i];
    }
    if (app_self.moved && !strcmp(name, app_self.moved)) {
        app_error("unknown command \"%s\"; it is a program of its own: %s.", name, app_self.moved_to);
        return NULL;
    }
    const char *nearest = app_nearest(name, names);
    app_error("unknown command \"%s\"%s%s; '%s --help' lists them.", name, nearest ? ", did you mean " : "",
              nearest ? nearest : "", app_self.name);
    return NULL;
}

static int manual(const char *name)
{
    const app_command *command = name ? find_command(name) : NULL;
    if (name && !command) return APP_USAGE;
    app_manual(command);
    return APP_DONE;
}

/* "larmor help" and "larmor help COMMAND" */
static int help(const char *name)
{
    const app_command *command = name ? find_command(name) : NULL;
    if (name && !command) return APP_USAGE;
    if (command)
        app_help(command, stdout);
    else
        print_commands(stdout);
    return APP_DONE;
}

/* As by "| head", which has read what it wanted. */
static int nobody_reads(void)
{
    struct pollfd one = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&one, 1, 0) > 0 && one.revents & (POLLERR | POLLHUP);
}

/* What was printed is an output like any other. */
static int end_of_output(int code)
{
    if (!fflush(stdout) && !ferror(stdout)) return code;
    if (nobody_reads()) return code;
    if (code) return code;
    return app_refuse(APP_FAILED, "standard output: cannot be written; is the disk full?");
}

/* 1 if the command is to print an object, also where its other options are refused. */
static int asks_for_json(const app_command *command, int argc, char **argv)
{
    int has = 0;
    for (const app_option *o = command->options; o->name; o++) has |= !strcmp(o->name, "json");
    for (int i = 0; has && i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--json")) return 1;
    return 0;
}

/* Whoever reads an object gets one, whatever became of the command. */
static void report_failure(const app_command *command, int code, int argc, char **argv)
{
    if (!code || json_is_written() || app_is_silent() || !asks_for_json(command, argc, argv)) return;
    json_failure(command->name, code, app_last_error()[0] ? app_last_error() : "stopped by a signal");
}

static int run_program(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return APP_USAGE;
    }
    app_complete_options(&app_self);
    app_set_wording(app_in_options);
    app_ignore_signals_of_writes();
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return end_of_output(help(argc > 2 && argv[2][0] != '-' ? argv[2] : NULL));
    if (!strcmp(argv[1], "completion")) return end_of_output(app_complete(argc - 2, argv + 2));
    if (!strcmp(argv[1], "manual")) return end_of_output(manual(argc > 2 ? argv[2] : NULL));
    const app_command *command = find_command(strcmp(argv[1], "--version") ? argv[1] : "version");
    if (!command) return APP_USAGE;
    app_set_options(&app_self, command);
    void *settings = calloc(1, command->settings + 1); /* + 1, because it may be 0 */
    if (!settings) return app_refuse(APP_LACKING, "out of host memory");
    app_set_command_line(argc, argv);
    app_files files = {0};
    int code = app_parse(command, argc - 2, argv + 2, settings, &files);
    const int refused = code < 0 ? app_check_files(command, settings, &files) : APP_DONE;
    if (refused) code = refused;
    const char *via = code < 0 && command->via ? command->via(settings) : NULL;
    if (via) {
        code = app_via(via, argc, argv);
        free(settings);
        return code;
    }
    if (code < 0 && command->computes) app_sleep_when_idle(argv);
    app_catch_signals(); /* after the program may have started itself anew, which would forget one */
    if (code < 0) code = command->run(settings, &files);
    if (code == APP_AGAIN) code = command->run(settings, &files);
    free(settings);
    report_failure(command, code, argc - 2, argv + 2);
    return app_end_signals(end_of_output(code));
}

int main(int argc, char **argv)
{
    app_libraries_are_loaded();
    if (!app_hold_descriptors()) return APP_FAILED;
    if (!app_hold_stack(argv)) return APP_LACKING;
    app_wait_for_no_memory(argv, environ);
    app_set_program(app_self.name);
    if (argc > 1 && !strcmp(argv[1], APP_WORKER)) {
        const int code = app_await_command(&argc, &argv);
        if (code >= 0) return code;
    }
    return app_answer(run_program(argc, argv));
}
