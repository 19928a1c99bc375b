/* Plugins: where they are searched for, and their checks. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr, secure_getenv */
#include "core/backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/status.h"

#ifndef LARMOR_PLUGIN_INSTALL_DIR
#define LARMOR_PLUGIN_INSTALL_DIR ""
#endif

enum { MAX_PATH = 1024, MAX_FOLDERS = 5 };

typedef struct folders {
    int count;
    char path[MAX_FOLDERS][MAX_PATH];
    const char *ignored; /* LARMOR_PLUGIN_DIR, if it is not absolute */
} folders;

/* Never a relative path: what lies in the working directory must not be run. */
static void add_folder(folders *f, const char *base, const char *below)
{
    char path[MAX_PATH];
    const int used = snprintf(path, sizeof path, "%s%s", base, below);
    if (path[0] != '/' || used >= (int)sizeof path || f->count == MAX_FOLDERS) return;
    for (int i = 0; i < f->count; i++)
        if (!strcmp(f->path[i], path)) return;
    memcpy(f->path[f->count++], path, (size_t)used + 1);
}

static void cut_last_name(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
}

/* Beside the library that this function is in, or beside the program if that was linked statically. */
static void add_own_folders(folders *f)
{
    static const char here; /* any address of this library */
    Dl_info info;
    char own[MAX_PATH];
    if (!dladdr(&here, &info) || !info.dli_fname || info.dli_fname[0] != '/') return;
    if (snprintf(own, sizeof own, "%s", info.dli_fname) >= (int)sizeof own) return;
    cut_last_name(own);
    add_folder(f, own, "");
    add_folder(f, own, "/larmor");
    cut_last_name(own);
    add_folder(f, own, "/lib/larmor");
}

static void list_folders(folders *f)
{
    const char *asked = secure_getenv("LARMOR_PLUGIN_DIR"); /* NULL in a program with more rights than its user */
    f->count = 0;
    f->ignored = NULL;
    if (asked && *asked) add_folder(f, asked, "");
    if (asked && *asked && asked[0] != '/') f->ignored = asked;
    add_own_folders(f);
    add_folder(f, LARMOR_PLUGIN_INSTALL_DIR, "");
}

static void say_not_found(const folders *f, const char *file)
{
    char list[MAX_PATH] = "";
    size_t used = 0;
    for (int i = 0; i < f->count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", f->path[i]);
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
void *lmr_plugin_entry(const char *name, const char *entry, char *path, size_t room)
{
    folders f;
    char file[64];
    snprintf(file, sizeof file, "larmor_%s.so", name);
    list_folders(&f);
    for (int i = 0; i < f.count; i++) {
        snprintf(path, room, "%s/%s", f.path[i], file);
        if (!access(path, F_OK)) return load(path, entry);
    }
    say_not_found(&f, file);
    return NULL;
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

static const lmr_backend *search(const char *name)
{
    static const lmr_host host = {.abi = LMR_BACKEND_ABI, .fail = lmr_fail};
    char path[MAX_PATH + 72];
    void *symbol = lmr_plugin_entry(name, LMR_BACKEND_ENTRY, path, sizeof path);
    lmr_backend_entry_function entry;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry) return NULL;
    const lmr_backend *backend = entry(LMR_BACKEND_ABI, &host);
    if (backend && backend->abi == LMR_BACKEND_ABI) return backend;
    LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s has ABI %u, expected %u; install plugin and library from one release", path,
             backend ? (unsigned)backend->abi : 0, LMR_BACKEND_ABI);
    return NULL;
}

/* Found or not is settled once per process. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const lmr_backend *cuda;
static char cuda_reason[1024];

static void search_cuda(void)
{
    cuda = search("cuda");
    if (!cuda) snprintf(cuda_reason, sizeof cuda_reason, "%s", larmor_last_error());
}

const lmr_backend *lmr_backend_find(const char *name)
{
    if (strcmp(name, "cuda") != 0) {
        LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "no backend is called %s", name);
        return NULL;
    }
    pthread_once(&once, search_cuda);
    if (!cuda) larmor_fail(LARMOR_ERR_UNSUPPORTED, "%s", cuda_reason);
    return cuda;
}
