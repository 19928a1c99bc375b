/* The table of settings. A new option of the library is a member of larmor_recon_opts and a row here
 * (tests/check_style.sh compares their names). SPDX-License-Identifier: Apache-2.0 */
#include "scan/setting_table.h"

#include <math.h>
#include <string.h>

#include "core/hash.h"
#include "core/status.h"

#define ROW(member, type, low, high, is_of_image)                                                                    \
    {                                                                                                                \
#member, offsetof(larmor_recon_opts, member), sizeof((larmor_recon_opts *)0)->member, LMR_SETTING_##type,    \
            low, high, is_of_image                                                                                   \
    }
#define NUMBER(member, type, low, high) ROW(member, type, low, high, 1)
#define VALUE(member, type) ROW(member, type, -INFINITY, INFINITY, 1)
/* Images do not depend on it. */
#define LIMIT(member, type, low, high) ROW(member, type, low, high, 0)
#define OTHER(member) ROW(member, OTHER, 0, 0, 0)

static const lmr_setting table[] = {
    OTHER(size),
    VALUE(method, TEXT),
    VALUE(joint, INT),
    NUMBER(iters, INT, 0, 1e9),
    NUMBER(tol, REAL, -INFINITY, 1),
    NUMBER(lambda_mode, INT, LARMOR_LAMBDA_AUTO, LARMOR_LAMBDA_NOISE),
    NUMBER(lambda, REAL, 0, 1e300),
    NUMBER(time_weight, REAL, -INFINITY, 1e300),
    NUMBER(llr_block, INT64, 0, 4096),
    VALUE(matrix, INT64),
    VALUE(fov_mm, REAL),
    VALUE(oversample, REAL),
    VALUE(maps, ARRAY),
    OTHER(maps_name),
    VALUE(no_maps, INT),
    VALUE(b0, ARRAY),
    OTHER(b0_name),
    VALUE(b0_place, PLACE_AT),
    NUMBER(b0_error, REAL, 0, 0.5),
    NUMBER(segments, INT, 0, 512),
    NUMBER(readout_start_ms, REAL_AT, -1e6, 1e6),
    NUMBER(calibration, INT64, 0, 1024),
    VALUE(no_whitening, INT),
    NUMBER(compress, REAL, -INFINITY, 1e9),
    NUMBER(delays, INT, LARMOR_DELAYS_AUTO, LARMOR_DELAYS_GIVEN),
    VALUE(delay, REAL),
    VALUE(girf, ARRAY),
    VALUE(girf_spacing_hz, REAL),
    VALUE(basis, ARRAY),
    NUMBER(coefficients, INT64, 0, 0x1p31),
    VALUE(basis_frames, INT),
    NUMBER(density, INT, LARMOR_DENSITY_AUTO, LARMOR_DENSITY_SPIRAL),
    VALUE(weighted, INT),
    OTHER(keep_density),
    NUMBER(eps, REAL, 0, 0.1),
    NUMBER(effort, INT, LARMOR_PLAN_ESTIMATE, LARMOR_PLAN_EXHAUSTIVE),
    NUMBER(toeplitz, INT, -1, 1),
    NUMBER(precondition, INT, -1, 1),
    LIMIT(memory, INT64, 0, 1e300),
    VALUE(only, COUNTERS),
    OTHER(listener),
    OTHER(user),
    OTHER(checkpoint),
    OTHER(checkpoint_every),
    VALUE(maps_method, TEXT),
    NUMBER(map_sets, INT, 0, 2),
    NUMBER(crop, INT, LARMOR_CROP_DEFAULT, LARMOR_CROP_NONE),
    NUMBER(normalise, INT, LARMOR_NORMALISE_RSS, LARMOR_NORMALISE_BODY),
    OTHER(keep_eigenvalues),
    NUMBER(partial_fourier, INT, LARMOR_PARTIAL_AUTO, LARMOR_PARTIAL_ZERO),
    OTHER(ranks),
    LIMIT(at_once, INT, 0, 4096),
    NUMBER(compress_method, INT, LARMOR_COMPRESS_AUTO, LARMOR_COMPRESS_GEOMETRIC),
    NUMBER(scale, INT, LARMOR_SCALE_INTEGRAL, LARMOR_SCALE_SUM),
    VALUE(maps_place, PLACE),
    NUMBER(no_ghost, INT, 0, 1),
    LIMIT(repeatable, INT, 0, 1),
};

const lmr_setting *lmr_setting_at(int i)
{
    return i >= 0 && (size_t)i < sizeof table / sizeof *table ? &table[i] : NULL;
}

/* Number i of a setting of numbers; 0 past the last. */
static int number_of(const lmr_setting *s, const larmor_recon_opts *opts, size_t i, double *number)
{
    const char *at = (const char *)opts + s->at;
    const double *real = NULL;
    const size_t size = s->type == LMR_SETTING_INT ? sizeof(int) : sizeof(double); /* an int64_t's, too */
    if (s->type != LMR_SETTING_REAL_AT && i >= s->bytes / size) return 0;
    switch (s->type) {
    case LMR_SETTING_INT:
        *number = ((const int *)at)[i];
        return 1;
    case LMR_SETTING_INT64:
        *number = (double)((const int64_t *)at)[i];
        return 1;
    case LMR_SETTING_REAL:
        *number = ((const double *)at)[i];
        return 1;
    case LMR_SETTING_REAL_AT:
        memcpy(&real, at, sizeof real);
        if (real) *number = *real;
        return real && !i;
    default:
        return 0;
    }
}

larmor_status lmr_settings_check_bounds(const larmor_recon_opts *opts)
{
    double number;
    for (const lmr_setting *s = table; s < table + sizeof table / sizeof *table; s++)
        for (size_t i = 0; (s->low > -INFINITY || s->high < INFINITY) && number_of(s, opts, i, &number); i++)
            if (!(number >= s->low && number <= s->high))
                return LMR_FAIL(LARMOR_ERR_ARG, "recon: options: %s is %g, expected %g to %g", s->name, number,
                                s->low, s->high);
    return LARMOR_OK;
}

static void hash_place(const larmor_image_meta *m, uint64_t *hash)
{
    *hash = lmr_hash(*hash, m->fov_mm, sizeof m->fov_mm);
    *hash = lmr_hash(*hash, m->position_mm, sizeof m->position_mm);
    *hash = lmr_hash(*hash, m->read_dir, sizeof m->read_dir);
    *hash = lmr_hash(*hash, m->phase_dir, sizeof m->phase_dir);
    *hash = lmr_hash(*hash, m->slice_dir, sizeof m->slice_dir);
}

static void hash_setting(const lmr_setting *s, const larmor_recon_opts *opts, uint64_t *hash)
{
    const char *at = (const char *)opts + s->at;
    const void *to = NULL;
    double number;
    for (size_t i = 0; number_of(s, opts, i, &number); i++) *hash = lmr_hash(*hash, &number, sizeof number);
    if (s->type == LMR_SETTING_PLACE) hash_place((const larmor_image_meta *)(const void *)at, hash);
    if (s->bytes == sizeof to) memcpy(&to, at, sizeof to);
    if (s->type == LMR_SETTING_TEXT && to) *hash = lmr_hash(*hash, to, strlen(to) + 1);
    if (s->type == LMR_SETTING_PLACE_AT && to) hash_place(to, hash);
    if (s->type == LMR_SETTING_COUNTERS && to) {
        larmor_counters only = *(const larmor_counters *)to;
        if (only.encoding < 0) only.encoding = 0; /* all of them, too */
        *hash = lmr_hash(*hash, &only, sizeof only);
    }
}

void lmr_settings_hash(const larmor_recon_opts *opts, uint64_t *hash)
{
    for (const lmr_setting *s = table; s < table + sizeof table / sizeof *table; s++) {
        if (!s->is_of_image) continue;
        *hash = lmr_hash(*hash, s->name, strlen(s->name)); /* two that are absent differ from each other */
        hash_setting(s, opts, hash);
    }
}
