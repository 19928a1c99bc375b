/* Sets of cases. paper: Shih et al., IPDPSW (2021). gnufftw: the sweep of Ou, "gNUFFTW: auto-tuning for
 * high-performance GPU-accelerated non-uniform fast Fourier transforms", UCB/EECS-2017-90 (2017).
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "try.h"

typedef struct case_list {
    const bench_wish *wish;
    bench_case *c;
    int count, room;
    int lacks_memory;
} case_list;

/* Whether the list names the value; an empty one names all. */
static int names(const app_list *list, double value)
{
    for (int i = 0; i < list->count; i++)
        if (fabs(list->value[i] - value) <= 1e-6 * fabs(value)) return 1;
    return !list->count;
}

static int asked_number(double asked, double value)
{
    return !(asked > 0) || fabs(asked - value) <= 1e-3 * value;
}

static int asked_text(const char *asked, const char *value)
{
    return !asked || !strcmp(asked, value);
}

/* As the option gives them: one number is for all dimensions. */
static int asked_modes(const app_list *modes, const bench_case *c)
{
    for (int d = 0; d < c->ndim && modes->count; d++)
        if ((int64_t)modes->value[modes->count > 1 ? d : 0] != c->modes[d]) return 0;
    return modes->count <= 1 || modes->count == c->ndim;
}

static int is_wanted(const bench_wish *w, const bench_case *c)
{
    return names(&w->dims, c->ndim) && asked_text(w->precision, c->is_double ? "double" : "single") &&
           asked_text(w->distribution, c->distribution) && asked_number(w->tol, c->tol) &&
           asked_modes(&w->modes, c) && asked_number((double)w->points, (double)c->points) &&
           asked_number((double)w->batch, (double)c->batch) && (c->upsample == 0 || names(&w->upsample, c->upsample));
}

static void append(case_list *list, bench_case c)
{
    if (list->count == list->room) {
        const int room = list->room ? 2 * list->room : 64;
        bench_case *more = realloc(list->c, (size_t)room * sizeof *more);
        if (!more) {
            list->lacks_memory = 1;
            return;
        }
        list->c = more;
        list->room = room;
    }
    list->c[list->count++] = c;
}

/* The types that are asked for, 1 to `last` if none is, of a case that is wanted. */
static void add_types(case_list *list, bench_case c, int last)
{
    const bench_wish *w = list->wish;
    c.points = (int64_t)fmax(1, rint((double)c.points * w->scale));
    for (c.type = 1; c.type <= 3; c.type++)
        if (w->types.count ? names(&w->types, c.type) : c.type <= last) append(list, c);
}

static void add_wanted(case_list *list, bench_case c, int last)
{
    if (is_wanted(list->wish, &c)) add_types(list, c, last);
}

/* Two sizes, 1e7 points spread out or crowded. */
static void add_paper(case_list *list)
{
    static const struct {
        int is_double;
        double tol;
    } accuracy[] = {{0, 1e-2}, {0, 1e-5}, {1, 1e-5}, {1, 1e-9}, {1, 1e-12}};
    for (int ndim = 2; ndim <= 3; ndim++)
        for (int crowded = 0; crowded < 2; crowded++)
            for (size_t a = 0; a < sizeof accuracy / sizeof *accuracy; a++) {
                const int64_t n = ndim == 2 ? 1000 : 100;
                add_wanted(list,
                           (bench_case){.ndim = ndim,
                                        .modes = {n, n, ndim == 2 ? 1 : n},
                                        .points = 10000000,
                                        .batch = 1,
                                        .distribution = crowded ? "cluster" : "uniform",
                                        .is_double = accuracy[a].is_double,
                                        .tol = accuracy[a].tol},
                           2);
            }
}

/* Coils over spokes: 402 spokes of 512 samples in 2D; in 3D as many spokes of 384 samples as Nyquist asks of a stack.
 */
static void add_mri(case_list *list)
{
    const bench_case geometry[] = {
        {.ndim = 2, .modes = {256, 256, 1}, .points = 402 * 512, .batch = 32, .distribution = "radial"},
        {.ndim = 3, .modes = {192, 192, 192}, .points = 302 * 384 * 192, .batch = 8, .distribution = "stars"},
        {.ndim = 3, .modes = {192, 192, 192}, .points = 302 * 384 * 192, .batch = 8, .distribution = "koosh"},
    };
    for (size_t g = 0; g < sizeof geometry / sizeof *geometry; g++)
        for (int fine = 0; fine < 2; fine++) {
            bench_case c = geometry[g];
            c.tol = fine ? 1e-5 : 1e-3;
            add_wanted(list, c, 2);
        }
}

/* A library of one processor beside another: from few points to many, all types, with and without a batch. */
static void add_cpu(case_list *list)
{
    static const int64_t modes[3][3] = {{10000, 1, 1}, {320, 320, 1}, {100, 100, 100}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int64_t points = 1000000; points <= 10000000; points *= 10)
            for (int is_double = 0; is_double < 2; is_double++)
                for (int64_t batch = 1; batch <= 8; batch *= 8) {
                    const int64_t *n = modes[ndim - 1];
                    add_wanted(list,
                               (bench_case){.ndim = ndim,
                                            .modes = {n[0], n[1], n[2]},
                                            .points = points,
                                            .batch = batch,
                                            .distribution = "uniform",
                                            .is_double = is_double,
                                            .tol = is_double ? 1e-9 : 1e-4},
                               3);
                }
}

/* With the factor that larmor chooses and with fixed ones. */
static void add_factors(case_list *list, bench_case c)
{
    static const double factors[] = {0, 1.15, 1.2, 1.25, 1.35, 1.5, 1.75, 2, 2.25, 2.5};
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        c.upsample = factors[f];
        if (!is_wanted(list->wish, &c)) continue;
        append(list, c);
        list->c[list->count - 1].points = (int64_t)fmax(1, rint((double)c.points * list->wish->scale));
    }
}

/* One trajectory: types, then tolerances, so that neighbours share points and then values. */
static void add_sweep(case_list *list, bench_case c)
{
    const bench_wish *w = list->wish;
    for (c.type = 1; c.type <= 3; c.type++)
        for (int fine = 0; fine < 2; fine++) {
            c.tol = fine ? 1e-3 : 1e-2;
            if (w->types.count ? names(&w->types, c.type) : c.type < 3) add_factors(list, c);
        }
}

/* R = 1: pi N^3 samples on spokes, as Nyquist asks with twofold oversampling along them; else as many as modes. */
static void add_gnufftw(case_list *list)
{
    static const char *const distributions[] = {"koosh", "stars", "cones", "uniform"};
    for (int64_t n = 62; n <= 254; n += 32)
        for (int r = 1; r <= 16; r *= 4)
            for (int i = 0; i < 4; i++) {
                if (!asked_number(list->wish->undersampling, r)) continue;
                const double full = (i < 2 ? M_PI : 1) * (double)(n * n * n);
                add_sweep(list, (bench_case){.ndim = 3,
                                             .modes = {n, n, n},
                                             .points = (int64_t)(full / r),
                                             .batch = 1,
                                             .distribution = distributions[i]});
            }
}

static larmor_status add_single(case_list *list)
{
    static const int64_t usual[4] = {0, 65536, 256, 64};
    const bench_wish *w = list->wish;
    bench_case c = {.modes = {1, 1, 1}, .points = w->points ? w->points : 1000000, .batch = w->batch ? w->batch : 1};
    if (w->dims.count > 1) return larmor_fail(LARMOR_ERR_ARG, "more than one --dims is for --matrix");
    c.ndim = w->modes.count > 1 ? w->modes.count : 2;
    if (w->dims.count) c.ndim = (int)w->dims.value[0];
    if (w->modes.count > 1 && w->modes.count != c.ndim)
        return larmor_fail(LARMOR_ERR_ARG, "--dims %d, but --modes has %d numbers", c.ndim, w->modes.count);
    for (int d = 0; d < c.ndim; d++)
        c.modes[d] = w->modes.count ? (int64_t)w->modes.value[w->modes.count > 1 ? d : 0] : usual[c.ndim];
    c.tol = w->tol > 0 ? w->tol : 1e-5;
    c.is_double = w->precision && !strcmp(w->precision, "double");
    c.distribution = w->distribution ? w->distribution : "uniform";
    for (int f = 0; f < (w->upsample.count ? w->upsample.count : 1); f++) {
        c.upsample = w->upsample.count ? w->upsample.value[f] : 0;
        add_types(list, c, 2);
    }
    return LARMOR_OK;
}

/* All cases in the form that is asked for; type 3 has none and stays only if it was named. */
static void set_precompute(case_list *list)
{
    const bench_wish *w = list->wish;
    const int form = w->precompute ? bench_precompute_named(w->precompute) : 0;
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->c[i].type == 3 && !w->types.count && form > LARMOR_PRECOMPUTE_NONE) continue;
        list->c[kept] = list->c[i];
        list->c[kept++].precompute = (larmor_precompute)form;
    }
    list->count = kept;
}

/* Half a decade from one tolerance to the next, a decade to both sides, of what values of the precision can have. */
static void add_tolerances(case_list *list)
{
    static const double steps[] = {10, 3.1622776601683795, 1, 0.31622776601683795, 0.1};
    case_list all = {.wish = list->wish};
    for (int i = 0; i < list->count; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            bench_case c = list->c[i];
            c.tol *= steps[k];
            if (c.tol <= 0.1 * (1 + 1e-9) && c.tol >= (c.is_double ? 1e-13 : 1e-6) * (1 - 1e-9)) append(&all, c);
        }
    free(list->c);
    all.lacks_memory |= list->lacks_memory;
    *list = all;
}

int bench_is_wanted(const bench_wish *wish, const bench_case *c)
{
    return is_wanted(wish, c) && names(&wish->types, c->type);
}

larmor_status bench_list_cases(const bench_wish *wish, bench_case **cases, int *count)
{
    static const struct {
        const char *name;
        void (*add)(case_list *list);
    } sets[] = {{"paper", add_paper}, {"mri", add_mri}, {"cpu", add_cpu}, {"gnufftw", add_gnufftw}};
    case_list list = {.wish = wish};
    larmor_status st = LARMOR_OK;
    *cases = NULL;
    *count = 0;
    if (!wish->matrix) st = add_single(&list);
    for (size_t i = 0; wish->matrix && i < sizeof sets / sizeof *sets; i++)
        if (!strcmp(wish->matrix, sets[i].name)) sets[i].add(&list);
    set_precompute(&list);
    if (wish->equal_error) add_tolerances(&list);
    if (!st && list.lacks_memory) st = NO_MEMORY();
    if (!st && !list.count)
        st = larmor_fail(LARMOR_ERR_ARG, "%s%s: no case of it fits the other options",
                         wish->matrix ? "--matrix " : "--tol", wish->matrix ? wish->matrix : "");
    if (st) {
        free(list.c);
        return st;
    }
    *cases = list.c;
    *count = list.count;
    return LARMOR_OK;
}
