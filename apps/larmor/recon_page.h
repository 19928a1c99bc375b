/* The page of HTML about a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Write the images, maps, trajectory, settings and log to r->page_output; an exit code. */
int recon_write_page(const recon_run *r);
