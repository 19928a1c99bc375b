/* A folder of files as an output: what core/atomic.c does with it that differs from a file. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <limits.h>

/* A new folder in `folder`: its descriptor, or -1 with errno. */
int lmr_folder_make(int folder, const char *name);

/* An exclusive lock that ends with the descriptor: 1 if it is ours now, 0 if another holds it, -1 where there are
 * none. */
int lmr_folder_lock(int fd);

/* 1, and the name of something in it that is no regular file with this suffix, or that it cannot be listed. */
int lmr_folder_holds_other(int folder, const char *name, const char *suffix, char other[NAME_MAX + 1]);

/* Sync all files in it, which are closed, and the folder. 0, or -1 with errno. */
int lmr_folder_sync(int fd);

/* Remove the regular files with this suffix that are in it, and then the folder if it is empty. Safe in a handler of
 * signals. */
void lmr_folder_remove(int folder, const char *name, const char *suffix);
