/* The options of a reconstruction: checked once, so that what follows can rely on them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "scan/settings.h"

#include "core/core.h"
#include "scan/setting_table.h"

larmor_status lmr_options_copy(const larmor_recon_opts *given, larmor_recon_opts *opts)
{
    *opts = (larmor_recon_opts){.size = sizeof *opts};
    if (!given) return LARMOR_OK;
    LMR_REFUSE(given->size < offsetof(larmor_recon_opts, joint) || given->size > 1 << 16, LARMOR_ERR_ARG,
               "recon: options: size is %zu, expected sizeof(larmor_recon_opts), here %zu", given->size,
               sizeof *opts);
    for (size_t i = sizeof *opts; i < given->size; i++)
        LMR_REFUSE(((const unsigned char *)given)[i], LARMOR_ERR_UNSUPPORTED,
                   "recon: options: an option of a later version of larmor is set");
    memcpy(opts, given, given->size < sizeof *opts ? given->size : sizeof *opts);
    opts->size = sizeof *opts;
    return LARMOR_OK;
}

larmor_array **lmr_settings_array(larmor_recon_opts *o, int i)
{
    larmor_array **const arrays[] = {&o->maps,           &o->b0,           &o->basis,         &o->girf,
                                     &o->t2star,         &o->phase_terms,  &o->girf_b0,       &o->support,
                                     &o->gradient_field, &o->displacement, &o->motion_fields, &o->motion};
    return i < (int)(sizeof arrays / sizeof *arrays) ? arrays[i] : NULL;
}

larmor_regulariser_info lmr_regulariser_named(const char *name)
{
    larmor_penalties p;
    if (larmor_regulariser_read(name, &p)) return (larmor_regulariser_info){.name = NULL};
    return (larmor_regulariser_info){.name = name, .takes = p.takes};
}

/* What is listed apart is the method from here on. */
static larmor_status take_penalties(larmor_recon_opts *o)
{
    if (!o->reg) return LARMOR_OK;
    LMR_REFUSE(o->method && strcmp(o->method, LMR_METHOD_AUTO) != 0, LARMOR_ERR_ARG,
               "opts.reg: is not for opts.method %s, whose place it takes; leave one out.", o->method);
    o->method = o->reg;
    o->reg = NULL;
    return LARMOR_OK;
}

/* A mask is a constraint. */
static larmor_status take_support(larmor_recon_opts *o)
{
    larmor_constraint c = {.support = NULL};
    if (o->support && !o->constraint) o->constraint = "support";
    if (o->constraint) LMR_TRY(larmor_constraint_read(o->constraint, &c));
    LMR_REFUSE(c.support && !o->support, LARMOR_ERR_ARG,
               "opts.constraint: got \"%s\", expected the array of its mask, too", o->constraint);
    if ((o->constraint || o->prior || o->motion || o->motion_states) && !o->map_sets) o->map_sets = 1;
    return LARMOR_OK;
}

const char *lmr_settings_method(const larmor_recon_opts *o)
{
    if (strcmp(o->method, LMR_METHOD_AUTO) != 0) return o->method;
    if (o->prior) return "cg";
    if (o->joint) return "tv";
    const int only_cg = o->lambda_mode != LARMOR_LAMBDA_AUTO || o->tol != 0 || o->precondition || o->basis ||
                        o->motion_fields || o->partial_fourier == LARMOR_PARTIAL_POCS;
    return only_cg ? "cg" : NULL;
}

/* ---- which options go together ---- */

typedef enum relation { IS_OF_METHODS, NEEDS, EXCLUDES } relation;

/* Beside the bits of larmor_regulariser_info.takes. */
enum {
    CG = 1 << 16,
    PENALTIES = 1 << 17,
    GRID = 1 << 18,
    NLINV = 1 << 19,
    COILS = 1 << 20, /* those that solve for the images of the coils */
    WITH_MAPS = CG | PENALTIES,
    ITERATIVE = WITH_MAPS | COILS,
    OF_MAPS = WITH_MAPS | GRID, /* found before the image, or given */
    OF_PHASES = OF_MAPS | COILS
};

typedef struct rule {
    const char *option; /* a member that is not its default */
    relation is;
    /* NEEDS: a member, or several with blanks between, of which one will do; EXCLUDES: a member; IS_OF_METHODS: one
     * that lifts the rule when it is set, or NULL */
    const char *other;
    const char *reason; /* EXCLUDES: behind the sentence; IS_OF_METHODS: in its place, or NULL */
    int methods;        /* any of these; the regularisers by what they take */
    int value;       /* of the option, for which alone the rule holds; of less than 0 for which it does not; 0: all */
    int is_harmless; /* 1: a reconstruction warns of it and goes on, as it did before there was this rule */
} rule;

/* A row that begins a rule of each kind. */
#define OF(option_, methods_) .option = option_, .is = IS_OF_METHODS, .methods = (methods_)
#define NEED(option_, other_) .option = option_, .is = NEEDS, .other = other_
#define APART(option_, other_, reason_) .option = option_, .is = EXCLUDES, .other = other_, .reason = reason_

static const rule rules[] = {
    {OF("iters", ITERATIVE | NLINV), .is_harmless = 1},
    {OF("damping", NLINV)},
    {OF("median", NLINV)},
    {OF("maps", OF_MAPS)},
    {OF("keep_eigenvalues", OF_MAPS)},
    {OF("b0", OF_PHASES)},
    {OF("t2star", OF_PHASES)},
    {OF("phase_terms", OF_PHASES)},
    {OF("gradient_field", OF_MAPS)},
    {OF("displacement", OF_MAPS)},
    {OF("motion_fields", CG | LARMOR_TAKES_SERIES | LARMOR_TAKES_IMAGES)},
    {APART("motion_fields", "basis", "it makes one image of all frames")},
    {APART("motion_fields", "gradient_field", "add to the fields what the gradients displace")},
    {APART("motion_fields", "motion", "poses and fields are each motion")},
    {APART("motion_fields", "motion_states", "poses and fields are each motion")},
    {APART("motion_fields", "displacement", "add one to the other")},
    {APART("displacement", "gradient_field", "each says where voxels are; leave one of them out")},
    {APART("basis", "gradient_field", "warp the images that come of it")},
    {APART("basis", "displacement", "warp the images that come of it")},
    {APART("no_maps", "gradient_field", "warp the image that comes of it")},
    {APART("no_maps", "displacement", "warp the image that comes of it")},
    {OF("concomitant", OF_PHASES), .value = LARMOR_CONCOMITANT_ON},
    {OF("weighted", OF_MAPS)},
    {OF("weighted", WITH_MAPS), .is_harmless = 1},
    {OF("normalise", OF_MAPS), .is_harmless = 1},
    {OF("crop", OF_MAPS), .is_harmless = 1},
    {OF("calibration", OF_PHASES), .is_harmless = 1},
    {OF("tol", ITERATIVE), .is_harmless = 1},
    {OF("lambda", ITERATIVE), .is_harmless = 1},
    {OF("toeplitz", ITERATIVE), .value = 1, .is_harmless = 1},
    {OF("precondition", ITERATIVE), .value = 1, .is_harmless = 1},
    {OF("partial_fourier", WITH_MAPS), .value = LARMOR_PARTIAL_HOMODYNE},
    {OF("partial_fourier", CG), .value = LARMOR_PARTIAL_POCS},
    {OF("basis", CG | LARMOR_TAKES_SERIES | LARMOR_TAKES_IMAGES)},
    {OF("joint", LARMOR_TAKES_SERIES)},
    {OF("time_weight", LARMOR_TAKES_TIME), .is_harmless = 1},
    {NEED("time_weight", "joint"), .is_harmless = 1},
    {OF("llr_block", LARMOR_TAKES_BLOCK), .is_harmless = 1},
    {OF("density", GRID), .other = "weighted", .value = -LARMOR_DENSITY_NONE, .is_harmless = 1},
    {OF("no_maps", GRID | COILS), .reason = "only opts.method grid and clear work without coil maps"},
    {APART("no_maps", "b0", "it needs coil maps; take those of the data or of a file")},
    {APART("no_maps", "maps", "leave one of them out")},
    {NEED("b0_place", "b0")},
    {NEED("b0_error", "b0 t2star phase_terms concomitant")},
    {NEED("segments", "b0 t2star phase_terms concomitant")},
    {NEED("readout_start_ms", "b0 t2star"), .is_harmless = 1},
    {NEED("t2star_place", "t2star")},
    {NEED("coefficients", "basis")},
    {NEED("basis_frames", "basis")},
    {NEED("girf", "girf_spacing_hz")},
    {NEED("girf_spacing_hz", "girf"), .is_harmless = 1},
    {NEED("girf_b0", "girf")},
    {OF("constraint", WITH_MAPS)},
    {OF("support", WITH_MAPS)},
    {OF("motion", WITH_MAPS)},
    {APART("motion", "gradient_field", "warp the image that comes of it")},
    {APART("motion", "displacement", "warp the image that comes of it")},
    {APART("motion", "basis", "its coefficients are no images")},
    {APART("map_sets", "motion", "two sets of maps do not move"), .value = 2},
    {OF("motion_states", WITH_MAPS)},
    {APART("motion_states", "gradient_field", "warp the image that comes of it")},
    {APART("motion_states", "displacement", "warp the image that comes of it")},
    {APART("motion_states", "basis", "its coefficients are no images")},
    {APART("map_sets", "motion_states", "two sets of maps do not move"), .value = 2},
    {APART("motion_states", "motion", "poses are given")},
    {APART("constraint", "basis", "coefficients are no images")},
    {APART("map_sets", "constraint", "images of two sets of maps are no image of their own"), .value = 2},
    {APART("partial_fourier", "constraint", "what is real fills the other half of k-space by itself"),
     .value = LARMOR_PARTIAL_HOMODYNE},
    {APART("partial_fourier", "constraint", "what is real fills the other half of k-space by itself"),
     .value = LARMOR_PARTIAL_POCS},
    {OF("prior", CG)},
    {APART("prior", "constraint", "leave one of them out")},
    {APART("prior", "basis", "coefficients are no images")},
    {APART("prior", "weighted", "it weighs samples by their noise")},
    {APART("prior", "lambda", "opts.prior_sigma says how strong it is")},
    {APART("prior", "checkpoint", "a plugin's state is not kept")},
    {APART("partial_fourier", "prior", "it fills the other half of k-space by itself"),
     .value = LARMOR_PARTIAL_HOMODYNE},
    {APART("partial_fourier", "prior", "it fills the other half of k-space by itself"), .value = LARMOR_PARTIAL_POCS},
    {APART("map_sets", "prior", "images of two sets of maps are no image of their own"), .value = 2},
    {NEED("prior_method", "prior")},
    {NEED("prior_sigma", "prior")},
    {APART("repeatable", "effort", "grids that are chosen by times may be others in the next run")},
    {OF("map_sets", OF_MAPS)}, /* last, as constraint and others set it */
};

static const lmr_setting *setting_named(const char *member)
{
    const lmr_setting *s;
    for (int i = 0; (s = lmr_setting_at(i)) && strcmp(s->name, member) != 0;) i++;
    return s;
}

/* 1 if the member is not its default, whose bytes are 0, or is to be set later. */
static int is_set(const larmor_recon_opts *o, const char *later, const char *member)
{
    static const char zeros[64];
    const size_t length = strlen(member);
    for (const char *word = later; word && *(word += strspn(word, " ")); word += strcspn(word, " "))
        if (strcspn(word, " ") == length && !strncmp(word, member, length)) return 1;
    const int is_lambda = !strcmp(member, "lambda");
    const lmr_setting *s = setting_named(is_lambda ? "lambda_mode" : member);
    return memcmp((const char *)o + s->at, zeros, s->bytes) != 0;
}

/* 1 if one of the members is set, which have blanks between. */
static int is_one_set(const larmor_recon_opts *o, const char *later, const char *members)
{
    char member[64];
    for (const char *word = members; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
        snprintf(member, sizeof member, "%.*s", (int)strcspn(word, " "), word);
        if (is_set(o, later, member)) return 1;
    }
    return 0;
}

static int has_value(const larmor_recon_opts *o, const rule *r)
{
    const int value = *(const int *)(const void *)((const char *)o + setting_named(r->option)->at);
    return r->value > 0 ? value == r->value : value != -r->value;
}

static int is_of(const char *method, int methods)
{
    if (!strcmp(method, "grid")) return (methods & GRID) != 0;
    if (!strcmp(method, "cg")) return (methods & CG) != 0;
    if (!strcmp(method, LMR_METHOD_NLINV_NAME)) return (methods & NLINV) != 0;
    const int takes = (int)lmr_regulariser_named(method).takes;
    if (takes & LARMOR_OF_COILS) return (methods & (COILS | (takes & LARMOR_TAKES_BLOCK))) != 0;
    return (methods & PENALTIES) || (methods & takes);
}

/* "auto, cg and tv" */
static void name_methods(int methods, char *text, size_t size)
{
    const char *names[24] = {"auto"};
    int count = methods & CG ? 1 : 0;
    if (methods & CG) names[count++] = "cg";
    if (methods & GRID) names[count++] = "grid";
    if (methods & NLINV) names[count++] = LMR_METHOD_NLINV_NAME;
    const char *name;
    for (int i = 0; (name = larmor_regulariser_entry(i).name) && count < 24; i++)
        if (is_of(name, methods)) names[count++] = name;
    text[0] = 0;
    for (int i = 0; i < count; i++) {
        const char *comma = i + 1 < count ? ", " : " and ";
        lmr_append(text, size, "%s%s", i ? comma : "", names[i]);
    }
}

static larmor_status refuse(const larmor_recon_opts *o, const rule *r)
{
    char value[32] = "", methods[128];
    if (r->value > 0) larmor_setting_text(o, r->option, value, sizeof value);
    const char *space = *value ? " " : "";
    LMR_REFUSE(r->is == NEEDS, LARMOR_ERR_ARG, "opts.%s: has no effect without opts.%.*s.", r->option,
               (int)strcspn(r->other, " "), r->other);
    LMR_REFUSE(r->is == EXCLUDES, LARMOR_ERR_ARG, "opts.%s: is not for opts.%s; %s.", r->option, r->other, r->reason);
    LMR_REFUSE(r->reason, LARMOR_ERR_ARG, "opts.%s: %s.", r->option, r->reason);
    name_methods(r->methods, methods, sizeof methods);
    return LMR_FAIL(
        LARMOR_ERR_ARG, "opts.%s%s%s: has no effect with opts.method %s; it is an option of opts.method %s%s%s.",
        r->option, space, value, o->method, methods, r->other ? " and of opts." : "", r->other ? r->other : "");
}

/* method: that of the options, and what they make of auto. idle: gets the lines of what is harmless; NULL: that is
 * refused, too. */
static larmor_status check_rules(const larmor_recon_opts *o, const char *method, const char *later, char *idle,
                                 size_t room)
{
    for (const rule *r = rules; r < rules + sizeof rules / sizeof *rules; r++) {
        if (!is_set(o, later, r->option) || (r->value && !has_value(o, r))) continue;
        const int has_other = r->other && is_one_set(o, later, r->other);
        const int keeps = r->is == EXCLUDES ? !has_other : has_other;
        if (keeps || (r->is == IS_OF_METHODS && is_of(method, r->methods))) continue;
        const larmor_status st = refuse(o, r);
        if (!idle || !r->is_harmless) return st;
        lmr_append_item(idle, room, "\n", "%s", larmor_last_error());
    }
    return LARMOR_OK;
}

static larmor_status check(const larmor_recon_opts *o, const char *later, char *idle, size_t room)
{
    LMR_TRY(lmr_settings_check_bounds(o));
    for (int e = 0; e < 6; e++)
        LMR_REFUSE(!(fabs(o->delay[e]) <= 1000), LARMOR_ERR_ARG, "opts.delay: got %g, expected -1000 to 1000 samples",
                   o->delay[e]);
    LMR_REFUSE(o->girf_spacing_hz < 0 || !(o->girf_spacing_hz < 1e9), LARMOR_ERR_ARG,
               "opts.girf: the spacing of its frequencies is %g Hz, expected more than 0.", o->girf_spacing_hz);
    const char *method = lmr_settings_method(o);
    if (!method) method = "cg";
    const int is_nlinv = !strcmp(method, LMR_METHOD_NLINV_NAME);
    larmor_penalties p;
    if (strpbrk(method, ":+=")) LMR_TRY(larmor_regulariser_read(method, &p));
    LMR_REFUSE(strcmp(method, "cg") != 0 && strcmp(method, "grid") != 0 && !is_nlinv &&
                   !lmr_regulariser_named(method).name,
               LARMOR_ERR_ARG, "opts.method: got \"%s\", expected auto, cg, grid, nlinv or the name of a regulariser",
               method);
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(!(o->maps_place.fov_mm[d] >= 0) || !isfinite(o->maps_place.fov_mm[d]), LARMOR_ERR_ARG,
                   "opts.maps_place: got %g mm, expected more than 0", o->maps_place.fov_mm[d]);
    LMR_REFUSE(o->maps_place.fov_mm[0] > 0 && !o->maps, LARMOR_ERR_ARG,
               "opts.maps_place: has no effect without maps of a file.");
    LMR_TRY(lmr_check_maps_method(o->maps_method));
    LMR_REFUSE(is_nlinv && strcmp(o->maps_method, "auto") != 0, LARMOR_ERR_ARG,
               "opts.method nlinv: finds its own coil maps; leave out those by %s.", o->maps_method);
    LMR_REFUSE(lmr_regulariser_named(method).takes & LARMOR_OF_COILS && strcmp(o->maps_method, "auto") != 0,
               LARMOR_ERR_ARG, "opts.method %s: needs no coil maps; leave out those by %s.", method, o->maps_method);
    larmor_constraint c;
    if (o->constraint) LMR_TRY(larmor_constraint_read(o->constraint, &c));
    return check_rules(o, method, later, idle, room);
}

static larmor_status copy_texts(lmr_settings *s)
{
    const larmor_recon_opts *o = &s->opts;
    s->method = strdup(o->method ? o->method : LMR_METHOD_AUTO);
    s->maps_name = strdup(o->maps_name ? o->maps_name : "maps");
    s->maps_method = strdup(o->maps_method ? o->maps_method : "auto");
    s->b0_name = strdup(o->b0_name ? o->b0_name : "map");
    s->t2star_name = strdup(o->t2star_name ? o->t2star_name : "map");
    if (o->constraint && !(s->constraint = strdup(o->constraint))) return LMR_NO_MEMORY();
    return s->method && s->maps_name && s->maps_method && s->b0_name && s->t2star_name ? LARMOR_OK : LMR_NO_MEMORY();
}

static void point_to_copies(lmr_settings *s)
{
    larmor_recon_opts *o = &s->opts;
    o->method = s->method;
    o->maps_name = s->maps_name;
    o->maps_method = s->maps_method;
    o->b0_name = s->b0_name;
    o->t2star_name = s->t2star_name;
    if (o->t2star_place) o->t2star_place = &s->t2star_place;
    o->constraint = s->constraint;
    o->only = &s->only;
    if (o->b0_place) o->b0_place = &s->b0_place;
    if (o->readout_start_ms) o->readout_start_ms = &s->readout_start_ms;
}

/* One coefficient that is the same in all frames: what is told of a basis holds of an image in several states. */
static larmor_status take_motion(larmor_recon_opts *o)
{
    if (!o->motion_fields) return LARMOR_OK;
    const larmor_shape s = larmor_array_shape(o->motion_fields);
    const int64_t frames = s.ndim > 0 ? s.dim[s.ndim - 1] : 0;
    LMR_REFUSE(s.ndim < 4 || s.ndim > 5 || s.dim[s.ndim - 2] < 2 || s.dim[s.ndim - 2] > 3 || frames < 1,
               LARMOR_ERR_SHAPE,
               "opts.motion_fields: the array is %s, expected [x, y, 2 or 3, frames] or [x, y, z, 3, frames], "
               "in mm along the image's axes.",
               lmr_describe(o->motion_fields).s);
    LMR_TRY(
        larmor_array_create(larmor_array_device(o->motion_fields), LARMOR_C64, LARMOR_SHAPE(frames, 1), &o->basis));
    return larmor_fill(o->basis, 1);
}

larmor_status lmr_settings_read(const larmor_recon_opts *opts, const larmor_raw_info *scan, lmr_settings *s)
{
    larmor_recon_opts *o = &s->opts;
    larmor_array **array;
    LMR_TRY(lmr_options_copy(opts, o));
    LMR_TRY(take_penalties(o));
    for (int i = 0; (array = lmr_settings_array(o, i)); i++) larmor_array_ref(*array);
    if (o->checkpoint) larmor_checkpoint_ref(o->checkpoint);
    larmor_denoiser_ref(o->prior);
    LMR_TRY(take_support(o));
    LMR_TRY(copy_texts(s));
    s->only = o->only ? *o->only : (larmor_counters){-1, -1, -1, -1, -1, 0};
    if (o->b0_place) s->b0_place = *o->b0_place;
    if (o->t2star_place) s->t2star_place = *o->t2star_place;
    if (o->readout_start_ms) s->readout_start_ms = *o->readout_start_ms;
    point_to_copies(s);
    LMR_TRY(check(o, scan->phase_terms ? "phase_terms" : NULL, s->idle, sizeof s->idle));
    LMR_TRY(take_motion(o));
    const char *method = lmr_settings_method(o);
    const int is_nlinv = method && !strcmp(method, LMR_METHOD_NLINV_NAME);
    const unsigned takes = method ? lmr_regulariser_named(method).takes : 0;
    const int of_coils = (takes & LARMOR_OF_COILS) != 0;
    if (is_nlinv || of_coils) o->no_maps = 1; /* none are made before the frames */
    s->joint = o->joint || o->basis || is_nlinv || (takes & LARMOR_NEEDS_SERIES && !of_coils);
    s->eps = o->eps > 0 ? o->eps : 1e-5; /* of a penalty far below what it changes */
    return LARMOR_OK;
}

larmor_status larmor_settings_check(const larmor_recon_opts *opts, const char *later)
{
    larmor_recon_opts o;
    LMR_TRY(lmr_options_copy(opts, &o));
    LMR_TRY(take_penalties(&o));
    if (!o.method) o.method = LMR_METHOD_AUTO;
    if (!o.maps_method) o.maps_method = "auto";
    return check(&o, later, NULL, 0);
}

void lmr_settings_free(lmr_settings *s)
{
    larmor_recon_opts *o = &s->opts;
    larmor_array **array;
    LMR_FREE(s->method, s->maps_name, s->maps_method, s->b0_name, s->t2star_name, s->constraint);
    for (int i = 0; (array = lmr_settings_array(o, i)); i++) larmor_array_free(*array);
    larmor_checkpoint_free(s->opts.checkpoint);
    larmor_denoiser_free(s->opts.prior);
    *s = (lmr_settings){.method = NULL};
}
