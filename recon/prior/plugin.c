/* Denoisers from shared objects, which get tensors of DLPack. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "core/core.h"
#include "recon/prior/prior.h"

#define SYMBOL "larmor_prior_plugin"
enum { MOST_MESSAGE = 400 };

typedef struct plugin {
    const larmor_prior_table *table;
    void *self;
    char path[PATH_MAX], said[PATH_MAX + 64]; /* said: its name and path, for logs */
} plugin;

/* ---- calls ---- */

/* One line, without its end. */
static void cut(char *message)
{
    message[MOST_MESSAGE - 1] = 0;
    message[strcspn(message, "\r\n")] = 0;
}

/* What is left of a tensor after a call; numbers that moved are not looked at. */
static int is_kept(const larmor_dl_tensor *after, const larmor_dl_tensor *before, const int64_t *shape)
{
    return after->data == before->data && after->ndim == before->ndim && after->shape == before->shape &&
           after->byte_offset == before->byte_offset &&
           !memcmp(after->shape, shape, sizeof *shape * (size_t)before->ndim);
}

static larmor_status denoise(void *self, double sigma, const larmor_array *x, larmor_array *z)
{
    const plugin *p = self;
    const larmor_denoiser_form form = (larmor_denoiser_form)p->table->form;
    int64_t shape[3][LARMOR_MAX_DIMS], strides[2][LARMOR_MAX_DIMS];
    larmor_dl_tensor in, out;
    char message[MOST_MESSAGE] = "";
    LMR_TRY(larmor_array_tensor(x, form, shape[0], strides[0], &in));
    LMR_TRY(larmor_array_tensor(z, form, shape[1], strides[1], &out));
    memcpy(shape[2], shape[1], sizeof shape[1]);
    const larmor_dl_tensor before = out;
    LMR_TRY(larmor_device_sync(x->dev));
    const int failed = p->table->denoise(p->self, sigma, &in, &out, message, sizeof message);
    cut(message);
    LMR_REFUSE(failed, LARMOR_ERR_BACKEND, "prior %s: %s", p->path,
               *message ? message : "it failed without a message");
    if (is_kept(&out, &before, shape[2])) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "prior %s: its result has another shape or memory, expected that of z as given",
                    p->path);
}

static void close_plugin(void *self)
{
    plugin *p = self;
    if (p->table->close) p->table->close(p->self);
    free(p);
}

/* ---- loading ---- */

/* Where the argument begins: behind the first ':' that follows ".so". NULL: there is none. */
static const char *argument_of(const char *text)
{
    const char *suffix = strstr(text, ".so:");
    return suffix ? suffix + 4 : NULL;
}

static larmor_status find(const char *text, char *path)
{
    struct stat info;
    char given[PATH_MAX];
    const char *argument = argument_of(text);
    const int length = argument ? (int)(argument - 1 - text) : (int)strlen(text);
    LMR_REFUSE(length >= PATH_MAX, LARMOR_ERR_ARG, "prior: its path has %d characters", length);
    snprintf(given, sizeof given, "%.*s", length, text);
    LMR_REFUSE(!realpath(given, path) || stat(path, &info), LARMOR_ERR_IO,
               "prior %s: %s; give the path of a shared object", given, lmr_system_text(errno));
    LMR_REFUSE(!S_ISREG(info.st_mode), LARMOR_ERR_IO,
               "prior %s: it is no regular file; give the path of a shared object", given);
    return LARMOR_OK;
}

static larmor_status check_table(const larmor_prior_table *table, const char *path)
{
    LMR_REFUSE(table->abi != LARMOR_PRIOR_ABI || table->size < sizeof *table, LARMOR_ERR_UNSUPPORTED,
               "prior %s: it has ABI %u and a table of %u bytes, expected %u and %zu; build it with this "
               "larmor's larmor/prior.h",
               path, (unsigned)table->abi, (unsigned)table->size, LARMOR_PRIOR_ABI, sizeof *table);
    LMR_REFUSE(!table->name || !table->open || !table->denoise, LARMOR_ERR_UNSUPPORTED,
               "prior %s: its table lacks a name, open or denoise", path);
    return LARMOR_OK;
}

/* It stays loaded: its threads may outlive any close. */
static larmor_status load(const char *path, const larmor_prior_table **table)
{
    LMR_REFUSE(getauxval(AT_SECURE), LARMOR_ERR_UNSUPPORTED,
               "prior %s: a program with more rights than its user loads no plugins", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "prior: cannot load %s", reason ? reason : path);
    }
    *table = dlsym(library, SYMBOL);
    LMR_REFUSE(!*table, LARMOR_ERR_UNSUPPORTED, "prior %s: it is no plugin of larmor, as it has no " SYMBOL, path);
    return check_table(*table, path);
}

larmor_status larmor_prior_open(const char *text, larmor_denoiser **d)
{
    LMR_NEED_OUT(d, text);
    char message[MOST_MESSAGE] = "";
    LMR_HEAP LMR_NEW_ZEROS(plugin, p, 1);
    LMR_TRY(find(text, p->path));
    LMR_TRY(load(p->path, &p->table));
    const char *argument = argument_of(text);
    const int failed = p->table->open(argument ? argument : "", &p->self, message, sizeof message);
    cut(message);
    LMR_REFUSE(failed, LARMOR_ERR_ARG, "prior %s: %s", p->path, *message ? message : "open failed without a message");
    snprintf(p->said, sizeof p->said, "%.60s (%s)", p->table->name, p->path);
    const larmor_denoiser_impl impl = {.name = p->said,
                                       .apply = denoise,
                                       .destroy = close_plugin,
                                       .form = (larmor_denoiser_form)p->table->form,
                                       .is_residual = p->table->is_residual};
    const larmor_status st = larmor_denoiser_create(&impl, p, d);
    if (st && p->table->close) p->table->close(p->self);
    if (!st) p = NULL;
    return st;
}
