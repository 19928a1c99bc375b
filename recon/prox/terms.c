/* The penalties that a regulariser's name lists. SPDX-License-Identifier: Apache-2.0 */
#include "recon/prox/terms.h"

#include "core/core.h"

static const char letters[] = "xyzthb";

static const char *name_at(int i)
{
    return larmor_regulariser_entry(i).name;
}

/* ---- reading ---- */

static larmor_status read_axes(const char *name, const char *text, unsigned *axes)
{
    LMR_REFUSE(!*text, LARMOR_ERR_ARG, "%s: no dimensions behind the colon, expected some of x, y, z, t, h and b",
               name);
    for (const char *c = text; *c; c++) {
        const char *letter = strchr(letters, *c);
        const unsigned bit = letter ? 1u << (letter - letters) : 0;
        LMR_REFUSE(!bit || *axes & bit, LARMOR_ERR_ARG,
                   "%s: dimensions are \"%s\", expected some of x, y, z, t, h and b, each once", name, text);
        *axes |= bit;
    }
    return LARMOR_OK;
}

static larmor_status read_ratio(const char *name, const char *text, double *ratio)
{
    char *end;
    *ratio = strtod(text, &end);
    LMR_REFUSE(end == text || *end || !(*ratio > 0) || isinf(*ratio), LARMOR_ERR_ARG,
               "%s: the ratio is \"%s\", expected a finite number > 0", name, text);
    return LARMOR_OK;
}

/* text: of one term, which is changed. */
static larmor_status read_term(char *text, lmr_term *term)
{
    char *ratio = strchr(text, '='), *axes;
    if (ratio) *ratio++ = 0;
    axes = strchr(text, ':');
    if (axes) *axes++ = 0;
    LMR_TRY(lmr_find_name("regulariser", text, name_at, &term->entry));
    if (axes) LMR_TRY(read_axes(text, axes, &term->axes));
    LMR_REFUSE(axes && !(larmor_regulariser_entry(term->entry).takes & LARMOR_TAKES_AXES), LARMOR_ERR_ARG,
               "%s: got dimensions \"%s\", it takes none", text, axes);
    return ratio ? read_ratio(text, ratio, &term->ratio) : LARMOR_OK;
}

larmor_status lmr_terms_read(const char *text, lmr_terms *terms)
{
    char copy[LMR_TERMS_ROOM];
    *terms = (lmr_terms){.count = 0};
    LMR_REFUSE(!text, LARMOR_ERR_ARG, "regulariser: the name is NULL");
    LMR_REFUSE(strlen(text) >= sizeof copy, LARMOR_ERR_ARG,
               "regulariser: got a name of %zu characters, expected at most %d", strlen(text), LMR_TERMS_ROOM - 1);
    memcpy(copy, text, strlen(text) + 1);
    for (char *at = copy, *next; at; at = next) {
        next = strchr(at, '+');
        if (next) *next++ = 0;
        LMR_REFUSE(terms->count == LMR_MAX_TERMS, LARMOR_ERR_ARG,
                   "regulariser: got \"%s\", expected at most %d penalties", text, LMR_MAX_TERMS);
        lmr_term *term = &terms->term[terms->count];
        LMR_TRY(read_term(at, term));
        for (int i = 0; i < terms->count; i++)
            LMR_REFUSE(terms->term[i].entry == term->entry && terms->term[i].axes == term->axes, LARMOR_ERR_ARG,
                       "regulariser: \"%s\" has %s twice; leave one out", text, at);
        terms->count++;
    }
    for (int i = 0; i < terms->count && terms->count > 1; i++)
        LMR_REFUSE(larmor_regulariser_entry(terms->term[i].entry).takes & LARMOR_OF_COILS, LARMOR_ERR_ARG,
                   "regulariser: \"%s\" has %s in a sum, which is of coil images; leave it out", text,
                   name_at(terms->term[i].entry));
    return LARMOR_OK;
}

/* ---- what they take ---- */

/* As in larmor_regulariser_info. */
static unsigned takes_of(const lmr_term *term)
{
    const unsigned coupled = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES;
    const unsigned takes = larmor_regulariser_entry(term->entry).takes;
    if (!term->axes) return takes;
    if (term->axes >> LMR_TIME_AXIS)
        return term->axes & LMR_SPACE_AXES ? takes | coupled : (takes | coupled) & ~(unsigned)LARMOR_TAKES_TIME;
    return (takes & ~(coupled | LARMOR_TAKES_TIME)) | LARMOR_TAKES_IMAGES;
}

/* All terms together. */
static unsigned takes_of_all(const lmr_terms *terms)
{
    unsigned any = 0, all = LARMOR_TAKES_IMAGES;
    for (int i = 0; i < terms->count; i++) {
        any |= takes_of(&terms->term[i]);
        all &= takes_of(&terms->term[i]);
    }
    return (any & ~(unsigned)LARMOR_TAKES_IMAGES) | all;
}

/* [image..., frames] as [image..., frames in their dimensions]. */
static larmor_status split_series(const char *name, const larmor_regulariser_opts *all, larmor_shape *shape)
{
    int64_t frames = 1;
    const int last = shape->ndim - 1;
    for (int d = 0; d < 3; d++) frames *= all->frames[d];
    LMR_REFUSE(last < 0 || last + 3 > LARMOR_MAX_DIMS || frames != shape->dim[last], LARMOR_ERR_SHAPE,
               "%s: the series has %lld frames, its dimensions have %lld", name,
               (long long)(last < 0 ? 0 : shape->dim[last]), (long long)frames);
    for (int d = 0; d < 3; d++) shape->dim[last + d] = all->frames[d];
    shape->ndim = last + 3;
    return LARMOR_OK;
}

/* The dimension of a letter, -1 if there is none; images have the first `axes`. */
static int dimension_of(const larmor_regulariser_opts *opts, int letter, int axes)
{
    if (letter < LMR_TIME_AXIS) return letter < axes ? letter : -1;
    for (int d = 0; d < 3 && opts->frames[0]; d++)
        if (opts->letter[d] == letters[letter]) return axes + d;
    return letter == LMR_TIME_AXIS && !opts->frames[0] && axes > 0 ? axes : -1;
}

larmor_status lmr_terms_opts(const lmr_terms *terms, int i, const larmor_regulariser_opts *all, larmor_shape shape,
                             larmor_regulariser_opts *opts, larmor_shape *seen)
{
    const lmr_term *term = &terms->term[i];
    const int together = terms->count > 1 || term->axes;
    *opts = *all;
    *seen = shape;
    if (together && takes_of_all(terms) & LARMOR_NEEDS_SERIES) opts->series = 1;
    const int is_split = opts->series && all->frames[0] && term->axes >> LMR_TIME_AXIS;
    for (int d = 0; d < 3 && !is_split; d++) opts->frames[d] = 0;
    if (is_split) LMR_TRY(split_series(name_at(term->entry), all, seen));
    if (!term->axes) return LARMOR_OK;
    const int axes = shape.ndim - (opts->series != 0);
    opts->axes = 0;
    for (int d = 0; letters[d]; d++) {
        if (!(term->axes >> d & 1)) continue;
        const int at = dimension_of(opts, d, axes);
        LMR_REFUSE(at < 0, LARMOR_ERR_ARG, "%s: the image has no dimension %c, but %d of them%s",
                   name_at(term->entry), letters[d], axes, d < LMR_TIME_AXIS ? "" : " and its series others");
        opts->axes |= 1u << at;
    }
    return LARMOR_OK;
}

larmor_status larmor_regulariser_read(const char *name, larmor_penalties *listed)
{
    lmr_terms terms;
    LMR_NEED(listed);
    *listed = (larmor_penalties){.count = 0};
    LMR_TRY(lmr_terms_read(name, &terms));
    listed->count = terms.count;
    listed->takes = takes_of_all(&terms);
    for (int i = 0; i < terms.count; i++) {
        listed->ratio[i] = terms.term[i].ratio;
        listed->axes |= terms.term[i].axes;
    }
    return LARMOR_OK;
}
