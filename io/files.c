/* Whether files that are to be written are others than those that are read, by whatever names they go.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/images/formats.h"

/* A file that is there, or the place where one would be made. */
typedef struct place {
    int known; /* 0: not even its folder is there */
    int there;
    dev_t device;
    ino_t inode;      /* of the file, else of its folder */
    const char *name; /* in that folder */
} place;

static int find_folder(const char *path, struct stat *s)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    const int failed = !folder || stat(folder, s);
    free(folder);
    return !failed;
}

static place place_of(const char *path)
{
    struct stat s;
    const char *slash = strrchr(path, '/');
    place p = {.there = !stat(path, &s), .name = slash ? slash + 1 : path};
    p.known = p.there || find_folder(path, &s);
    if (p.known) {
        p.device = s.st_dev;
        p.inode = s.st_ino;
    }
    return p;
}

static int same_place(const char *a, const char *b)
{
    const place p = place_of(a), q = place_of(b);
    if (!p.known || !q.known) return !strcmp(a, b);
    if (p.there != q.there || p.device != q.device || p.inode != q.inode) return 0;
    return p.there || !strcmp(p.name, q.name);
}

enum { FILES = 2 }; /* of a path: the one that it names, and the one that belongs to it */

static void free_names(char *name[FILES])
{
    for (int i = 0; i < FILES; i++) free(name[i]);
}

/* The files that a path stands for: of FILE.h5:/group the first part, of FILE.cfl also FILE.hdr. 0 without memory. */
static int names_of(const char *path, char *name[FILES])
{
    const char *inside = lmr_inside(path);
    const lmr_format *format = lmr_format_of(path);
    const char *second = format ? format->second : NULL;
    const size_t slash = format && format->inside; /* at the end of a folder's name, which is no part of it */
    const size_t length = inside ? (size_t)(inside - path) : strlen(path) - slash;
    name[0] = strndup(path, length);
    name[1] = NULL;
    if (!name[0] || !second) return name[0] != NULL;
    const size_t stem = strlen(path) - strlen(format->suffix);
    name[1] = malloc(stem + strlen(second) + 1);
    if (!name[1]) return 0;
    memcpy(name[1], path, stem);
    strcpy(name[1] + stem, second);
    return 1;
}

static larmor_status compare(const char *a, const char *b, int *same)
{
    char *of_a[FILES] = {NULL}, *of_b[FILES] = {NULL};
    const int known = names_of(a, of_a) && names_of(b, of_b);
    *same = 0;
    for (int i = 0; known && i < FILES; i++)
        for (int j = 0; j < FILES; j++)
            if (of_a[i] && of_b[j] && same_place(of_a[i], of_b[j])) *same = 1;
    free_names(of_a);
    free_names(of_b);
    return known ? LARMOR_OK : LMR_NO_MEMORY();
}

/* "path: is ROLE; ADVICE", with the other name where that is not the same one. */
static larmor_status refuse(const char *path, const char *role, const char *word, const char *other,
                            const char *advice)
{
    const int alike = !strcmp(path, other);
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: is %s%s%s; %s", path, role, alike ? "" : word, alike ? "" : other, advice);
}

static int some_missing(const char *const *path, int count)
{
    int missing = count < 0 || (count && !path);
    for (int i = 0; !missing && i < count; i++) missing = !path[i];
    return missing;
}

larmor_status larmor_files_check(const char *const *read, int reads, const char *const *written, int writes)
{
    int same;
    LMR_REFUSE(some_missing(read, reads) || some_missing(written, writes), LARMOR_ERR_ARG,
               "files: paths are missing");
    for (int w = 0; w < writes; w++) {
        for (int r = 0; r < reads; r++) {
            LMR_TRY(compare(read[r], written[w], &same));
            if (same) return refuse(read[r], "also the output", " ", written[w], "choose another name.");
        }
        for (int v = 0; v < w; v++) {
            LMR_TRY(compare(written[w], written[v], &same));
            if (same)
                return refuse(written[w], "given twice as an output", ", also as ", written[v], "once is enough.");
        }
    }
    return LARMOR_OK;
}

larmor_status larmor_output_name(const char *folder, const char *scan, const char *suffix, char *name, size_t room)
{
    LMR_NEED(folder, scan, suffix, name);
    const char *slash = strrchr(scan, '/');
    const char *stem = slash ? slash + 1 : scan;
    const char *dot = strrchr(stem, '.');
    const int length = (int)(dot && dot > stem ? (size_t)(dot - stem) : strlen(stem));
    const int written = snprintf(name, room, "%s/%.*s%s", folder, length, stem, suffix);
    return written >= 0 && (size_t)written < room
               ? LARMOR_OK
               : LMR_FAIL(LARMOR_ERR_ARG, "%s: the name of its image is too long.", scan);
}
