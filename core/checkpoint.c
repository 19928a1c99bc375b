/* Places for checkpoints behind a table of functions, so that the pipeline need not know where its state is kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "core/owned.h"
#include "core/refs.h"
#include "core/status.h"

struct larmor_checkpoint {
    larmor_checkpoint_impl impl;
    void *self;
    char *name;
    lmr_refs refs;
};

larmor_status larmor_checkpoint_create(const char *name, const larmor_checkpoint_impl *impl, void *self,
                                       larmor_checkpoint **checkpoint)
{
    LMR_NEED_OUT(checkpoint);
    LMR_REFUSE(!name || !impl || !impl->open || !impl->get || !impl->begin || !impl->put || !impl->commit ||
                   !impl->remove,
               LARMOR_ERR_ARG, "checkpoint: a name, open, get, begin, put, commit and remove expected");
    larmor_checkpoint *c = calloc(1, sizeof *c);
    if (c) c->name = strdup(name);
    if (!c || !c->name) {
        free(c);
        return LMR_NO_MEMORY();
    }
    c->impl = *impl;
    c->self = self;
    atomic_init(&c->refs, 1);
    *checkpoint = c;
    return LARMOR_OK;
}

larmor_checkpoint *larmor_checkpoint_ref(larmor_checkpoint *c)
{
    if (c) lmr_refs_add(&c->refs);
    return c;
}

void larmor_checkpoint_free(larmor_checkpoint *c)
{
    if (!c || !lmr_refs_drop(&c->refs)) return;
    if (c->impl.destroy) c->impl.destroy(c->self);
    LMR_FREE(c->name, c);
}

larmor_status larmor_checkpoint_remove(larmor_checkpoint *c)
{
    LMR_NEED(c);
    return c->impl.remove(c->self);
}

const char *lmr_checkpoint_name(const larmor_checkpoint *c)
{
    return c->name;
}

larmor_status lmr_checkpoint_open(const larmor_checkpoint *c, int64_t *bytes)
{
    *bytes = 0;
    return c->impl.open(c->self, bytes);
}

larmor_status lmr_checkpoint_get(const larmor_checkpoint *c, int64_t first, void *to, size_t bytes)
{
    return c->impl.get(c->self, first, to, bytes);
}

larmor_status lmr_checkpoint_begin(const larmor_checkpoint *c, int64_t bytes)
{
    return c->impl.begin(c->self, bytes);
}

larmor_status lmr_checkpoint_put(const larmor_checkpoint *c, const void *from, size_t bytes)
{
    return c->impl.put(c->self, from, bytes);
}

larmor_status lmr_checkpoint_commit(const larmor_checkpoint *c)
{
    return c->impl.commit(c->self);
}
