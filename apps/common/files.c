/* Which files a command reads and writes, by its tables: compared before any of them is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

enum { MOST_FILES = APP_MAX_FILES + 64 };

typedef struct file_list {
    const char *path[MOST_FILES];
    int count;
} file_list;

static file_list read_files, written; /* of this call; what app_output_open may open */

int app_hold_descriptors(void)
{
    /* the wrong way round, so that what is written to a closed standard output is not taken for written */
    static const int mode[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int d = 0; d < 3; d++)
        if (fcntl(d, F_GETFD) < 0 && errno == EBADF && open("/dev/null", mode[d]) != d) return 0;
    return 1;
}

static int add(file_list *list, const char *path)
{
    if (!path || !strcmp(path, "-")) return 1; /* standard input or output */
    if (list->count == MOST_FILES) return 0;
    list->path[list->count++] = path;
    return 1;
}

static int add_option(const app_option *o, const void *settings, file_list *read)
{
    const void *at = (const char *)settings + o->at;
    int fits = 1;
    if (o->type == APP_READ_FILE || o->type == APP_WRITTEN_FILE) {
        const char *path = *(const char *const *)at;
        if (!app_is_word(o, path)) fits = add(o->type == APP_READ_FILE ? read : &written, path);
    }
    if (o->type == APP_WRITTEN_FILES) {
        const app_texts *texts = at;
        for (int i = 0; i < texts->count; i++) fits &= add(&written, texts->text[i]);
    }
    return fits;
}

static int is_regular(int descriptor)
{
    struct stat s;
    return !fstat(descriptor, &s) && S_ISREG(s.st_mode);
}

/* What is printed into a file is an output like the others. */
static larmor_status check_with(const file_list *read, int descriptor, const char *name)
{
    file_list all = written;
    if (is_regular(descriptor)) add(&all, name);
    return larmor_files_check(read->path, read->count, all.path, all.count);
}

/* Nothing is printed there from now on. */
static void mute(int descriptor)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, descriptor);
}

int app_check_files(const app_command *command, const void *settings, const app_files *files)
{
    file_list read = {.count = 0};
    int fits = 1;
    read_files.count = written.count = 0;
    for (int i = 0; i < files->count; i++)
        fits &= add(command->written_files >> i & 1 ? &written : &read, files->name[i]);
    for (const app_option *o = command->options; o->name; o++) fits &= add_option(o, settings, &read);
    if (!fits || written.count == MOST_FILES)
        return app_refuse(APP_USAGE, "%s: at most %d files in one call.", command->name, MOST_FILES - 1);
    read_files = read;
    larmor_status st = larmor_files_check(read.path, read.count, written.path, written.count);
    const larmor_status with_stderr = st ? LARMOR_OK : check_with(&read, STDERR_FILENO, "/dev/stderr");
    const larmor_status with_stdout = st ? LARMOR_OK : check_with(&read, STDOUT_FILENO, "/dev/stdout");
    if (with_stdout == LARMOR_ERR_ARG) mute(STDOUT_FILENO);
    if (with_stderr == LARMOR_ERR_ARG) { /* so nothing can be said there */
        mute(STDERR_FILENO);
        return APP_USAGE;
    }
    if (!st) st = with_stderr;
    if (!st) st = with_stdout;
    return st ? app_fail(APP_INPUT, st) : APP_DONE;
}

larmor_status app_output_open(const char *path, int force, larmor_output **out)
{
    for (int i = 0; i < written.count; i++)
        if (!strcmp(written.path[i], path)) return larmor_output_open(path, force, out);
    *out = NULL;
    return larmor_fail(LARMOR_ERR_ARG, "%s: no option or argument of the command's table says that it is written",
                       path);
}

larmor_status app_drawing_open(const char *path, int force, larmor_output **out)
{
    for (int i = 0; i < written.count; i++)
        if (!strcmp(written.path[i], path)) return larmor_drawing_open(path, force, out);
    *out = NULL;
    return larmor_fail(LARMOR_ERR_ARG, "%s: no option or argument of the command's table says that it is written",
                       path);
}

larmor_status app_add_files(int bids, int dicom_phase, larmor_output *out)
{
    if (!out) return LARMOR_OK;
    const larmor_format_info format = larmor_format_of(larmor_output_path(out));
    if (dicom_phase && !format.is_folder && app_is_dicom(larmor_output_path(out)))
        return larmor_output_add_phase(out);
    return bids && format.has_sidecar ? larmor_output_add_sidecar(out) : LARMOR_OK;
}

static larmor_status check_others(const char *const *paths, int count)
{
    const size_t all = (size_t)written.count + (size_t)count;
    const char **path = malloc(all * sizeof *path);
    if (!path) return NO_MEMORY();
    memcpy(path, written.path, (size_t)written.count * sizeof *path);
    memcpy(path + written.count, paths, (size_t)count * sizeof *path);
    const larmor_status st = larmor_files_check(read_files.path, read_files.count, path, (int)all);
    free(path);
    return st;
}

larmor_status app_outputs_open(const char *const *paths, int count, int force, larmor_output **out)
{
    larmor_status st = check_others(paths, count);
    for (int i = 0; i < count && !st; i++) st = larmor_output_open(paths[i], force, &out[i]);
    return st;
}
