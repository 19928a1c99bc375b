/* A command that another process of the program computes, which has started already: its libraries are loaded, and a
 * GPU is open. `larmor serve --commands SOCKET` keeps such processes ready, each for one command, which it computes
 * where, and with the files, options and terminal with which the command was called.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* The first argument of a process that waits for a command; next are two descriptors, the socket that it accepts at
 * and the pipe that it reports to, and the device that it opens, or "". */
#define APP_WORKER "await-command"

/* What a process reports: its number, when it has taken a command. */
typedef pid_t app_report;

/* 1 if the text may be the path of a socket, for the tables of options. */
int app_is_socket(const char *text);
#define APP_SOCKET_EXPECTED "the path of a socket, that begins with /, ./ or ../,"

/* A socket at the path, for this user alone, which several processes may accept at; that of the service manager that
 * started the program for it (LISTEN_FDS) in its place: then *given is 1, and the path is not the program's.
 *
 * Returns the descriptor; -1 after an error that was reported. */
int app_listen_at(const char *path, int *given);

/* Let a process that waits at the path compute this command, without the option --via. Signals that come meanwhile
 * are passed on.
 *
 * Returns the command's exit code, or that of a failure that was reported. */
int app_via(const char *path, int argc, char **argv);

/* Make ready, wait for a command, and become it: argc and argv, the folder, standard input, output and error, the
 * mask of permissions, and those variables of the environment that begin with LARMOR_.
 *
 * Returns -1, or the exit code of a failure. */
int app_await_command(int *argc, char ***argv);

/* Tell the process that asked that the command has ended with this code, which is returned. Nothing is done where
 * nobody asked. */
int app_answer(int code);
