/* Sets that images are held to, by their names. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"

LMR_OWNS(larmor_prox, larmor_prox_free)

/* "LOW,HIGH" */
static larmor_status read_box(const char *text, size_t length, larmor_constraint *c)
{
    char *end = NULL;
    const double low = strtod(text, &end);
    const double high = *end == ',' ? strtod(end + 1, &end) : NAN;
    LMR_REFUSE(end != text + length || !(low <= high), LARMOR_ERR_ARG,
               "constraint: got box:%.*s, expected two numbers in order, box:0,2", (int)length, text);
    c->low = fmax(c->low, low);
    c->high = fmin(c->high, high);
    c->real = 1;
    return LARMOR_OK;
}

static int is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && !strncmp(text, name, length);
}

static larmor_status read_one(const char *text, size_t length, larmor_constraint *c)
{
    enum { BOX = 4, SUPPORT = 7 }; /* the lengths of their names */
    if (is(text, length, "nonnegative")) {
        c->low = fmax(c->low, 0);
        c->real = 1;
    } else if (is(text, length, "real")) {
        c->real = 1;
    } else if (length >= BOX && !strncmp(text, "box:", BOX)) {
        return read_box(text + BOX, length - BOX, c);
    } else if (length >= SUPPORT && !strncmp(text, "support", SUPPORT) &&
               (length == SUPPORT || text[SUPPORT] == ':')) {
        c->support = length > SUPPORT ? text + SUPPORT + 1 : "";
        c->support_length = length > SUPPORT ? (int)(length - SUPPORT - 1) : 0;
    } else {
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "constraint: got \"%.*s\", expected nonnegative, real, box:LOW,HIGH or support", (int)length,
                        text);
    }
    return LARMOR_OK;
}

larmor_status larmor_constraint_read(const char *text, larmor_constraint *c)
{
    LMR_NEED(c);
    *c = (larmor_constraint){.low = -INFINITY, .high = INFINITY};
    LMR_NEED(text);
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, "+");
        LMR_TRY(read_one(at, length, c));
        at += length;
        if (!*at) break;
    }
    LMR_REFUSE(!(c->low <= c->high), LARMOR_ERR_ARG, "constraint: \"%s\" leaves no number, from %g to %g", text,
               c->low, c->high);
    return LARMOR_OK;
}

/* ---- the projection ---- */

typedef struct both {
    larmor_prox *first, *then;
} both;

static larmor_status both_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const both *s = self;
    LMR_TRY(larmor_prox_apply(s->first, t, x, z));
    return larmor_prox_apply(s->then, t, z, z);
}

static void both_destroy(void *self)
{
    both *s = self;
    larmor_prox_free(s->first);
    larmor_prox_free(s->then);
    free(s);
}

/* Outside of the support numbers are 0, within it they are in the box: each by itself, so that one after the other is
 * the projection. */
static larmor_status make_both(larmor_prox *box, const larmor_array *mask, larmor_prox **p)
{
    static const larmor_prox_impl impl = {"constraint", both_apply, lmr_prox_no_value, both_destroy};
    LMR_MAKE(both, s, both_destroy);
    s->first = larmor_prox_ref(box);
    LMR_TRY(larmor_prox_support(mask, larmor_prox_dtype(box), larmor_prox_shape(box), &s->then));
    return lmr_hand_on(&s_made, larmor_prox_create(larmor_prox_device(box), &impl, s, larmor_prox_dtype(box),
                                                   larmor_prox_shape(box), p));
}

larmor_status larmor_prox_constraint(larmor_device *dev, const larmor_constraint *c, const larmor_array *mask,
                                     larmor_dtype dtype, larmor_shape shape, larmor_prox **p)
{
    LMR_TRY(lmr_prox_begin("constraint", dev, 0, dtype, p));
    LMR_NEED(c);
    LMR_REFUSE(!c->real && !mask, LARMOR_ERR_ARG, "constraint: neither real nor a mask");
    if (!c->real) return larmor_prox_support(mask, dtype, shape, p);
    LMR_OWN(larmor_prox, box, larmor_prox_box(dev, c->low, c->high, dtype, shape, &box));
    return mask ? make_both(box, mask, p) : LMR_HAND_ON(*p, box);
}
