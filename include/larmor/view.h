/* A page of HTML served to a browser, by libmicrohttpd in the plugin larmor_http.so. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_VIEW_H
#define LARMOR_VIEW_H

#include <stddef.h>

#include "larmor/status.h"

LARMOR_C_BEGIN

typedef struct larmor_view larmor_view; /* a server in a thread of its own */

typedef struct larmor_view_opts { /* zero means default */
    const char *address;          /* where to listen; NULL: "127.0.0.1", this machine alone */
    int port;                     /* 0: any that is free */
} larmor_view_opts;

/* Serve a page, and nothing else, until larmor_view_close. Requests that name another host than an address or
 * localhost with this port are refused, as a name may be one that a foreign page has pointed here.
 *
 * page    [bytes] HTML as larmor_page_write and larmor_image_write make it; it is copied.
 * opts    may be NULL.
 * Errors  LARMOR_ERR_ARG for an address or a port; LARMOR_ERR_IO where nothing can listen there;
 *         LARMOR_ERR_UNSUPPORTED without the plugin; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_view_open(const void *page, size_t bytes, const larmor_view_opts *opts,
                                          larmor_view **view);

/* "http://127.0.0.1:8000/", valid as long as the view. */
LARMOR_API const char *larmor_view_address(const larmor_view *view);

/* Returns when its thread has ended. NULL is fine. */
LARMOR_API void larmor_view_close(larmor_view *view);

LARMOR_C_END

#endif
