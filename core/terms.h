/* Whose names messages have for what a caller gives. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_TERMS_H
#define LMR_TERMS_H

#include <stddef.h>

/* Messages are written with the program's options, as in "use --traj-units". Unless larmor_name_options asks for those, they
 * become members of the library's structs here: "use traj_units". text has room for `size` bytes. */
void lmr_name_members(char *text, size_t size);

#endif
