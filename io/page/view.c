/* A page for browsers, by the plugin larmor_http.so. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/view.h"
#include "core/core.h"

#include "io/page/http_plugin.h"

enum { MOST_PORT = 65535 };

struct larmor_view {
    char *page, address[64];
    const lmr_http *plugin;
    void *server;
};

larmor_status larmor_view_open(const void *page, size_t bytes, const larmor_view_opts *opts, larmor_view **view)
{
    static const larmor_view_opts none = {0};
    static lmr_plugin http = LMR_PLUGIN("http", LMR_HTTP_ENTRY, LMR_HTTP_ABI);
    LMR_REFUSE(!view, LARMOR_ERR_ARG, "view: no place for the result");
    *view = NULL;
    LMR_REFUSE(!page || !bytes, LARMOR_ERR_ARG, "view: no page given");
    if (!opts) opts = &none;
    int port = opts->port;
    LMR_REFUSE(port < 0 || port > MOST_PORT, LARMOR_ERR_ARG, "opts.port %d: a number from 0 to %d expected.", port,
               MOST_PORT);
    const lmr_http *plugin = lmr_plugin_table(&http);
    LMR_REFUSE(!plugin, LARMOR_ERR_UNSUPPORTED,
               "view: needs the plugin that is built with libmicrohttpd (%s); open a page in a browser.",
               http.reason);
    const char *address = opts->address ? opts->address : "127.0.0.1";
    larmor_view *v = lmr_new(1, sizeof *v);
    if (v) *v = (larmor_view){.plugin = plugin, .page = lmr_new((int64_t)bytes, 1)};
    larmor_status st = v && v->page ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) {
        memcpy(v->page, page, bytes);
        st = plugin->open(v->page, bytes, address, &port, &v->server);
    }
    if (!st) {
        snprintf(v->address, sizeof v->address, "http://%.32s:%d/", address, port);
        *view = v;
        return LARMOR_OK;
    }
    larmor_view_close(v);
    return st;
}

const char *larmor_view_address(const larmor_view *view)
{
    return view ? view->address : "";
}

void larmor_view_close(larmor_view *view)
{
    if (!view) return;
    if (view->server) view->plugin->close(view->server);
    LMR_FREE(view->page, view);
}
