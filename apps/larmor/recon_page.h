/* The page of HTML about a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_PAGE_H
#define APP_RECON_PAGE_H

#include "recon.h"

/* Write the images, maps, trajectory, settings and log to r->page_output; an exit code. */
int recon_write_page(const recon_run *r);

#endif
