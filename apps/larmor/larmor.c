/* The program larmor: a table of commands. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"

static const app_command *const commands[] = {
    &cmd_recon,   &cmd_phantom, &cmd_traj,  &cmd_info,  &cmd_compare,
    &cmd_convert, &cmd_devices, &cmd_nufft, &cmd_bench, &cmd_version,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_commands(FILE *out)
{
    fputs("usage: larmor COMMAND [options]\n\nMR images from non-Cartesian k-space.\n\n", out);
    for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'larmor help COMMAND' and 'larmor COMMAND --help' list a command's options.\n\n"
          "exit codes: 0 done, 1 the run failed, 2 usage, 3 input refused, 4 no memory or no such device,\n"
          "            130 after Ctrl-C, 143 after SIGTERM\n",
          out);
}

static const app_command *find_command(const char *name)
{
    const char *names[COMMANDS + 1] = {0};
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i]->name;
        if (!strcmp(name, names[i])) return commands[i];
    }
    const char *nearest = app_nearest(name, names);
    app_error("unknown command \"%s\"%s%s; 'larmor --help' lists them.", name, nearest ? ", did you mean " : "",
              nearest ? nearest : "");
    return NULL;
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

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return APP_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return help(argc > 2 && argv[2][0] != '-' ? argv[2] : NULL);
    const app_command *command = find_command(strcmp(argv[1], "--version") ? argv[1] : "version");
    if (!command) return APP_USAGE;
    void *settings = calloc(1, command->settings + 1); /* + 1: never asked for nothing */
    if (!settings) {
        app_error("out of host memory");
        return APP_LACKING;
    }
    app_set_command_line(argc, argv);
    app_catch_signals();
    app_files files = {0};
    int code = app_parse(command, argc - 2, argv + 2, settings, &files);
    if (code < 0 && command->computes) app_sleep_when_idle(argv);
    if (code < 0) code = command->run(settings, &files);
    free(settings);
    if (!code) code = app_stopped();
    if (!code && fflush(stdout)) {
        app_error("standard output: cannot be written; is the disk full?");
        code = APP_FAILED;
    }
    return code;
}
