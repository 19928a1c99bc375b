/* What serves pages: the plugin larmor_http.so, which alone knows libmicrohttpd.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/backend.h"

/* Grows by one with every change of the struct below. */
#define LMR_HTTP_ABI 1

typedef struct lmr_http {
    uint32_t abi; /* first in every version */
    /* Serve a page, which stays valid, at an IPv4 address; port becomes the one that is listened on. */
    larmor_status (*open)(const char *page, size_t bytes, const char *address, int *port, void **server);
    void (*close)(void *server);
} lmr_http;

/* An lmr_plugin_entry. */
#define LMR_HTTP_ENTRY "lmr_http_entry"
