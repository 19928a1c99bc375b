/* Plugins: where they are searched for, and their checks. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* secure_getenv */
#include "core/backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/own_path.h"
#include "core/status.h"
#include "core/text.h"

enum { MAX_PATH = 1024, MAX_FOLDERS = 1 + 2 * LMR_OWN_FOLDERS };

typedef struct folders {
    int count;
    char path[MAX_FOLDERS][MAX_PATH];
    const char *ignored; /* LARMOR_PLUGIN_DIR, if it is not absolute */
} folders;

/* Never a relative path: what lies in the working directory must not be run. */
static void add_folder(folders *f, const char *path)
{
    if (path[0] != '/' || strlen(path) >= MAX_PATH || f->count == MAX_FOLDERS) return;
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->path[i], path)) return;
    snprintf(f->path[f->count++], MAX_PATH, "%s", path);
}

static void list_folders(folders *f)
{
    const char *asked = secure_getenv("LARMOR_PLUGIN_DIR"); /* NULL in a program with more rights than its user */
    f->count = 0;
    f->ignored = NULL;
    if (asked && *asked) add_folder(f, asked);
    if (asked && *asked && asked[0] != '/') f->ignored = asked;
    for (lmr_own_folder which = 0; which < LMR_OWN_FOLDERS; which++) {
        char path[MAX_PATH];
        if (lmr_own_path(which, "", path, sizeof path)) add_folder(f, path);
        if (lmr_own_path(which, "larmor", path, sizeof path)) add_folder(f, path);
    }
}

static void fail_not_found(const folders *f, const char *file)
{
    char list[MAX_PATH] =
        "any folder, because liblarmor was loaded by a relative path or lies where any user may put files";
    if (f->count) list[0] = 0;
    for (int i = 0; i < f->count; i++) lmr_append(list, sizeof list, "%s%s", i ? ", " : "", f->path[i]);
    if (f->ignored)
        LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "no plugin %s in %s (LARMOR_PLUGIN_DIR=%s is not absolute and was ignored)",
                 file, list, f->ignored);
    else
        LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "no plugin %s in %s", file, list);
}

/* A plugin stays loaded for good: its threads and driver callbacks may outlive any close. */
static void *load(const char *path, const char *entry)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "cannot load %s: %s", path, reason ? reason : "no reason given");
        return NULL;
    }
    void *symbol = dlsym(library, entry);
    if (!symbol) LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s is not a plugin of larmor: it has no %s", path, entry);
    return symbol;
}

/* The first file found is the one, right or wrong: another one further on would hide what is broken. */
static void *find_entry(const lmr_plugin *plugin, char *path, size_t room)
{
    folders f;
    char file[64];
    snprintf(file, sizeof file, "larmor_%s.so", plugin->name);
    list_folders(&f);
    for (int i = 0; i < f.count; i++) {
        snprintf(path, room, "%s/%s", f.path[i], file);
        if (!access(path, F_OK)) return load(path, plugin->entry);
    }
    fail_not_found(&f, file);
    return NULL;
}

static const void *search(const lmr_plugin *plugin)
{
    char path[MAX_PATH + 72];
    void *symbol = find_entry(plugin, path, sizeof path);
    lmr_plugin_entry *entry;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return NULL;
    const void *table = entry(plugin->host.abi, &plugin->host);
    const uint32_t abi = table ? *(const uint32_t *)table : 0;
    if (table && abi == plugin->host.abi) return table;
    LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s has ABI %u, expected %u; install plugin and library from one release", path,
             (unsigned)abi, (unsigned)plugin->host.abi);
    return NULL;
}

const void *lmr_plugin_table(lmr_plugin *plugin)
{
    pthread_mutex_lock(&plugin->lock);
    if (!plugin->is_settled) plugin->table = search(plugin);
    if (!plugin->is_settled && !plugin->table)
        snprintf(plugin->reason, sizeof plugin->reason, "%s", larmor_last_error());
    plugin->is_settled = 1;
    pthread_mutex_unlock(&plugin->lock);
    if (!plugin->table) larmor_fail(LARMOR_ERR_UNSUPPORTED, "%s", plugin->reason);
    return plugin->table;
}

int lmr_plugin_is_there(const char *name)
{
    folders f;
    list_folders(&f);
    for (int i = 0; i < f.count; i++) {
        char path[MAX_PATH + 72];
        snprintf(path, sizeof path, "%s/larmor_%s.so", f.path[i], name);
        if (!access(path, F_OK)) return 1;
    }
    return 0;
}

const lmr_backend *lmr_backend_find(const char *name)
{
    static lmr_plugin cuda = LMR_PLUGIN("cuda", LMR_BACKEND_ENTRY, LMR_BACKEND_ABI);
    if (!strcmp(name, cuda.name)) return lmr_plugin_table(&cuda);
    LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "no backend is called %s", name);
    return NULL;
}
