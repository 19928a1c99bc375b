/* Options as tables: one table reads the command line and prints the help. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes. */
/* APP_AGAIN never leaves the program: the command is to be run once more, see app_leaves_gpu. */
enum {
    APP_AGAIN = -2,
    APP_DONE = 0,
    APP_FAILED = 1,
    APP_USAGE = 2,
    APP_REFUSED = 3,
    APP_LACKING = 4,
    APP_EXISTS = 5
};

typedef enum app_type {
    APP_FLAG,          /* int: 1 when given */
    APP_INTEGER,       /* int64_t, or int */
    APP_NUMBER,        /* double */
    APP_BYTES,         /* int64_t: "512M", "8G" */
    APP_TEXT,          /* const char * */
    APP_TEXTS,         /* app_texts: the option may be repeated */
    APP_READ_FILE,     /* const char *: a file that is read */
    APP_WRITTEN_FILE,  /* const char *: a file that is written, or grows */
    APP_WRITTEN_FILES, /* app_texts: the same, and the option may be repeated */
    APP_SIZES,         /* app_list: whole numbers, as many as the metavar has: "X[,Y[,Z]]" */
    APP_NUMBERS        /* app_list: numbers, as many as the metavar has */
} app_type;

#define APP_MAX_TEXTS 16
typedef struct app_texts {
    int count;
    const char *text[APP_MAX_TEXTS];
} app_texts;

#define APP_MAX_NUMBERS 6
typedef struct app_list {
    int count;
    double value[APP_MAX_NUMBERS];
} app_list;

/* Choices that a table of the library has: the name of choice i, or NULL past the last, and in *help what it is,
 * where there is more to say. */
typedef const char *(*app_choice)(int i, const char **help);

typedef struct app_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* the short name, or 0 */
    app_type type;
    size_t at, bytes;    /* offsetof the value in the command's settings, and its size */
    const char *metavar; /* e.g. "N" */
    const char *help;
    const char *preset;  /* the default, read like a value; NULL: zeros */
    const char *choices; /* of a text: "auto|off" */
    /* of a text, instead of choices; of written files suffixes, not checked; of a read one what names no file */
    app_choice choice;
    const char *no_file; /* of APP_READ_FILE: "auto|none", values that name no file; those that end in : with more */
    const char *file_if; /* of a text that may hold the name of a file: what stands in it then */
    int (*reads)(const char *text); /* of a text with a form of its own: 1 if this has it */
    const char *expected;           /* that form in words, e.g. "auto or a number >= 0" */
    double low, high;               /* bounds of numbers, both included, which all have */
    int needed;
    int most;    /* of a list whose metavar does not say how many numbers it has at most */
    int streams; /* of written files: 1: "-" is standard output */
    int absent;  /* of a number: 1 makes it NAN when it is not given */
    /* The member of the library's options that it sets, where that is not its name with _ for -, and behind a
     * blank the value by which it does: "no_ghost off". Messages of the library have members in place of options. */
    const char *member;
    const char *heading; /* in the help, of the options from this one on */
    const char *retired; /* what to use in its place: it is still taken, with a warning, and listed nowhere */
    int adds;            /* 1: of a setting: given again, it gets one value more */
    const char *setting; /* or NULL: the member of the larmor_recon_opts at `at` that the library sets from text */
} app_option;

/* An entry of a table: APP_OPTION(settings, APP_WRITTEN_FILE, output, 'o', "output", "FILE", "where to write",
 * .needed = 1). Commands define a shorter OPTION(...) with their settings. */
#define APP_OPTION(settings_, type_, field_, letter_, name_, metavar_, help_, ...)                                   \
    {                                                                                                                \
        .type = (type_), .at = offsetof(settings_, field_), .bytes = sizeof(((settings_ *)0)->field_),               \
        .letter = (letter_), .name = (name_), .metavar = (metavar_), .help = (help_), ##__VA_ARGS__                  \
    }

/* An entry whose name, type, help, choices, default and bounds the library has: APP_SETTING(settings, opts, iters,
 * .letter = 'i'). Its table is not const, and stands as `own` in the command, too. */
#define APP_SETTING(settings_, field_, member_, ...)                                                                 \
    {                                                                                                                \
        .at = offsetof(settings_, field_) + 0 * sizeof((larmor_recon_opts *)0)->member_, .setting = #member_,        \
        ##__VA_ARGS__                                                                                                \
    }

#define APP_MAX_FILES 200
typedef struct app_files {
    int count;
    const char *name[APP_MAX_FILES];
} app_files;

typedef struct app_command app_command;
struct app_command {
    const char *name, *usage, *summary; /* "phantom", "-o SCAN.h5 [options]", one line without a full stop */
    const char *details;                /* more lines of help, or NULL */
    const char *lacking, *surplus;      /* what to say of too few files and of one too many, or NULL */
    int min_files, max_files;           /* arguments that are no options; at most APP_MAX_FILES */
    unsigned written_files;             /* bit i: argument i is a file that is written; the others are read */
    int streams;                        /* 1: an argument "-" is standard input */
    const app_option *options;
    app_option *own; /* the same, where some are settings of the library */
    int computes;    /* 1: with all cores, whose idle threads should sleep */
    size_t settings; /* bytes of the struct that run gets */
    /* or NULL: reads the file that the option "config" names (app_read_config) */
    int (*read_config)(const app_command *command, const char *path, void *settings, const char **given);
    int (*run)(const void *settings, const app_files *files); /* returns the exit code */
    const char *(*via)(const void *settings); /* or NULL: the socket of a process that is to run it; NULL: this one */
};

/* What the file of a command has by these names. */
#define APP_OWN_PARTS .options = options, .settings = sizeof(settings), .run = run

/* What a program is: each defines app_self, and apps/common/main.c does the rest. */
typedef struct app_program {
    const char *name, *about;              /* "larmor", one line with its full stop */
    const app_command *const *commands;    /* ended by NULL */
    const char *moved, *moved_to;          /* a command that is a program of its own now, and its name; or NULL */
    int (*make_ready)(const char *device); /* of a process that waits for a command (via.h); returns an exit code */
} app_program;
extern const app_program app_self;

/* What the exit codes mean, in two lines. */
#define APP_EXIT_CODES                                                                                               \
    "0 done, 1 the run failed, 2 usage, 3 input refused, 4 no memory or no such device,",                            \
        "5 an output exists already, 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP"

/* Read argv[0..argc) into settings (zeroed by the caller) and files.
 *
 * Returns -1 if the command is to run, else the exit code: 0 after --help, 2 after a mistake (reported in one line on
 * stderr). --quiet and --help belong to every command. */
int app_parse(const app_command *command, int argc, char **argv, void *settings, app_files *files);

/* What is not given on a command line. app_defaults fills settings, zeroed by the caller, with the defaults of a
 * command; app_set stores the text, which must live as long as the settings, as an option's value, "true" or "false"
 * of a flag. Returns -1, or the exit code of a refusal. */
void app_defaults(const app_command *command, void *settings);
int app_set(const app_option *option, const char *text, void *settings);

/* How many numbers a list has at least and at most. */
void app_list_length(const app_option *option, int *least, int *most);

/* 1 if the option's value is a file, or several; if the text is a value of it that names none. */
int app_names_file(const app_option *option);
int app_is_word(const app_option *option, const char *text);

/* Numbers with commas between, at most `most`; 0 if the text is anything else. whole: integers. */
int app_read_numbers(const char *text, int most, int whole, app_list *list);

/* The value of an APP_INTEGER. */
int64_t app_integer(const app_option *option, const void *at);

/* 1 if the settings hold another value of the option than its default. */
int app_differs(const app_command *command, const void *settings, const char *option);

void app_help(const app_command *command, FILE *out);

/* What the help says of an option beside its name: its purpose, choices, default. */
void app_describe_option(const app_option *option, char *text, size_t size);

/* --quiet and --help, which every command has. */
extern const app_option app_shared_options[];

/* Choice i of a text and the length of its name, 0 past the last; *help as in app_choice. */
int app_choice_at(const app_option *option, int i, const char **name, const char **help);

/* What lets a shell complete command lines. "bash", "zsh", "fish" or nothing, which is bash: the script for it.
 * Scripts ask with --words, or with --described, and then the words after the program's name, the last of them
 * unfinished: what that may be, a line each, with --described a tabulator and its meaning behind it. Returns the
 * exit code. */
int app_complete(int count, char **words);

/* Print the manual page of a command, or of the program if that is NULL, for man(1) to format. */
void app_manual(const app_command *command);

/* The word of words (ended by NULL) that the user may have meant, or NULL if none is near. */
const char *app_nearest(const char *word, const char *const *words);
