/* Options of recon that do not go together. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_OPTIONS_H
#define APP_RECON_OPTIONS_H

#include "run.h"

/* Refuse what the chosen method would ignore; an option that has its default is never refused. Returns an exit code,
 * having said what is wrong. */
int recon_check_options(const app_command *command, const recon_settings *s);

#endif
