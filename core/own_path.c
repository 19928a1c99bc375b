/* Paths that begin at the folder of the library itself. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr */
#include "core/own_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_program(const Dl_info *own)
{
    Dl_info program;
    const void *headers = (const void *)getauxval(AT_PHDR); /* lies in the program */
    return headers && dladdr(headers, &program) && program.dli_fbase == own->dli_fbase;
}

/* The loader calls a program by the name that its caller gave to it, which need not be that of its file. */
static int find_file(char file[PATH_MAX])
{
    static const char here; /* any address of this library */
    Dl_info own;
    if (!dladdr(&here, &own)) return 0;
    if (is_program(&own)) {
        const ssize_t length = readlink("/proc/self/exe", file, PATH_MAX - 1);
        if (length < 0) return 0;
        file[length] = '\0';
    } else if (!own.dli_fname || snprintf(file, PATH_MAX, "%s", own.dli_fname) >= PATH_MAX) {
        return 0;
    }
    return file[0] == '/'; /* a relative path means another file once the working directory has changed */
}

/* The mark of /tmp: all may write, and none may remove the files of others. */
static int is_for_temporary_files(const char *folder)
{
    struct stat found;
    const mode_t mark = S_ISVTX | S_IWOTH;
    return !stat(folder, &found) && (found.st_mode & mark) == mark;
}

/* The path without its last name. */
static void cut_name(char *path)
{
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
}

int lmr_own_path(lmr_own_folder which, const char *below, char *path, size_t room)
{
    char file[PATH_MAX], folder[PATH_MAX];
    if (!find_file(file)) return 0;
    if (which == LMR_FOLDER_AS_LOADED) cut_name(file);
    if (!realpath(file, folder)) return 0;
    if (which == LMR_FOLDER_RESOLVED) cut_name(folder);
    size_t used = strlen(folder);
    if (used >= room) return 0;
    memcpy(path, folder, used + 1);
    while (!is_for_temporary_files(path)) {
        const int up = !strncmp(below, "../", 3);
        const char *slash = path[used - 1] == '/' || !*below ? "" : "/";
        const int added = snprintf(path + used, room - used, "%s%s", slash, up ? ".." : below);
        if (added >= (int)(room - used)) return 0;
        if (!up) return 1;
        used += (size_t)added;
        below += 3;
    }
    return 0;
}
