/* Paths that begin at the folder of the library itself. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

typedef enum lmr_own_folder {
    LMR_FOLDER_AS_LOADED, /* that the library was loaded from */
    LMR_FOLDER_RESOLVED,  /* of the file itself, where a symbolic link was loaded */
    LMR_OWN_FOLDERS       /* how many there are */
} lmr_own_folder;

/* The folder of the library that this function is in, or of the program that was linked statically with it, and
 * what is below it: "", "larmor" or "../libexec/larmor/larmor-reader". No such file needs to exist; the folder's
 * own path is without links and dots.
 *
 * Returns 0, and path is not to be used, if the path has no room, if the library was loaded by a relative path, or if
 * the folder or one that ".." leads to is one for temporary files, where any user may put what would then be run. */
int lmr_own_path(lmr_own_folder which, const char *below, char *path, size_t room);
