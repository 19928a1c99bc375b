/* pipeline/options.c. SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>

#include "scan/setting_table.h"
#include "tests/pipeline/scan.h"

TEST(options_that_make_no_sense_are_refused)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    const struct {
        larmor_recon_opts opts;
        const char *text;
    } wrong[] = {
        {OPTS(.method = "sense"),
         "opts.method: got \"sense\", expected auto, cg, grid, nlinv or the name of a regulariser"},
        {OPTS(.maps_method = "espirt"), "opts.maps_method: got \"espirt\", expected auto, walsh, espirit or nlinv"},
        {OPTS(.no_maps = 1), "opts.no_maps: only opts.method grid and clear work without coil maps."},
        {OPTS(.method = "grid", .no_maps = 1, .maps = s.maps),
         "opts.no_maps: is not for opts.maps; leave one of them out."},
        {OPTS(.method = "cg", .joint = 1),
         "opts.joint: has no effect with opts.method cg; it is an option of "
         "opts.method tv, llr, fft, lowrank, lowrank-sparse and lowrank-multiscale."},
        {OPTS(.iters = -1), "opts.iters: got -1, expected 0 to 1e+09"},
        {OPTS(.tol = NAN), "opts.tol: got nan"},
        {OPTS(.lambda = -1), "opts.lambda: got -1"},
        {OPTS(.lambda_mode = (larmor_lambda)7), "opts.lambda_mode: got 7"},
        {OPTS(.time_weight = NAN), "opts.time_weight: got nan"},
        {OPTS(.llr_block = -1), "opts.llr_block: got -1"},
        {OPTS(.calibration = 5000), "opts.calibration: got 5000"},
        {OPTS(.density = (larmor_density)9), "opts.density: got 9"},
        {OPTS(.eps = 0.5), "opts.eps: got 0.5"},
        {OPTS(.effort = (larmor_plan_effort)8), "opts.effort: got 8"},
        {OPTS(.toeplitz = 2), "opts.toeplitz: got 2"},
        {OPTS(.precondition = -2), "opts.precondition: got -2"},
        {OPTS(.memory = -1), "opts.memory: got -1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_none_made(larmor_recon, try_recon(&s, &wrong[i].opts, &made), LARMOR_ERR_ARG, wrong[i].text);
    }
}

TEST(an_option_that_has_no_effect_with_the_others_is_refused_before_anything_is_read)
{
    const double start = 1;
    const struct {
        larmor_recon_opts opts;
        const char *later, *text;
    } wrong[] = {
        {OPTS(.method = "grid", .iters = 5), NULL,
         "opts.iters: has no effect with opts.method grid; it is an option of opts.method auto, cg, nlinv, tv, tgv, "
         "wavelet, llr, l1, fft, lowrank, lowrank-sparse, lowrank-multiscale and clear."},
        {OPTS(.method = "grid", .lambda_mode = LARMOR_LAMBDA_NOISE), NULL, "opts.lambda: has no effect"},
        {OPTS(.method = "grid", .weighted = 1), NULL, "opts.weighted: has no effect with opts.method grid"},
        {OPTS(.method = "nlinv", .normalise = LARMOR_NORMALISE_BODY), NULL,
         "opts.normalise: has no effect with opts.method nlinv"},
        {OPTS(.method = "nlinv", .crop = LARMOR_CROP_HARD), NULL, "opts.crop: has no effect"},
        {OPTS(.method = "nlinv", .calibration = 12), NULL, "opts.calibration: has no effect"},
        {OPTS(.method = "grid", .toeplitz = 1), NULL, "opts.toeplitz on: has no effect"},
        {OPTS(.method = "tgv", .partial_fourier = LARMOR_PARTIAL_POCS), NULL,
         "it is an option of opts.method auto and cg."},
        {OPTS(.method = "wavelet", .time_weight = 1), NULL, "it is an option of opts.method tv."},
        {OPTS(.method = "tv", .time_weight = 1), NULL, "opts.time_weight: has no effect without opts.joint."},
        {OPTS(.method = "tv", .llr_block = 4), NULL, "it is an option of opts.method llr and clear."},
        {OPTS(.density = LARMOR_DENSITY_PIPE), NULL,
         "opts.density: has no effect with opts.method auto; it is an option of opts.method grid and of "
         "opts.weighted."},
        {OPTS(.segments = 3), "b0x xb0", "opts.segments: has no effect without opts.b0."},
        {OPTS(.readout_start_ms = &start), NULL, "has no effect without opts.b0."},
        {OPTS(.method = "grid", .no_maps = 1), "girf girf_spacing_hz  b0",
         "opts.no_maps: is not for opts.b0; it needs coil maps"},
        {OPTS(.girf_spacing_hz = 5), NULL, "opts.girf_spacing_hz: has no effect without opts.girf."},
        {OPTS(.method = "tv"), "girf", "opts.girf: has no effect without opts.girf_spacing_hz."},
        {OPTS(.method = "tv"), "girf_b0", "opts.girf_b0: has no effect without opts.girf."},
        {OPTS(.method = "grid"), "basis", "opts.basis: has no effect with opts.method grid"},
        {OPTS(.repeatable = 1, .effort = LARMOR_PLAN_MEASURE), NULL,
         "opts.repeatable: is not for opts.effort; grids"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(larmor_settings_check(&wrong[i].opts, wrong[i].later), LARMOR_ERR_ARG, wrong[i].text);
    const larmor_recon_opts right[] = {
        OPTS(.method = "grid", .toeplitz = -1, .precondition = -1, .partial_fourier = LARMOR_PARTIAL_ZERO),
        OPTS(.method = "grid", .no_maps = 1, .density = LARMOR_DENSITY_PIPE),
        OPTS(.density = LARMOR_DENSITY_NONE),
        OPTS(.weighted = 1, .density = LARMOR_DENSITY_PIPE),
        OPTS(.joint = 1, .time_weight = 1),
        OPTS(.lambda = 1, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .partial_fourier = LARMOR_PARTIAL_POCS)};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) assert_ok(larmor_settings_check(&right[i], NULL));
    const larmor_recon_opts files = OPTS(.segments = 3, .b0_error = 0.1, .girf_spacing_hz = 5, .basis_frames = 1);
    assert_ok(larmor_settings_check(&files, "basis girf b0"));
    assert_ok(larmor_settings_check(NULL, NULL));
}

TEST(a_reconstruction_warns_of_options_without_effect_and_has_the_image_without_them)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    notes n = {.text = ""};
    const larmor_recon_opts plain = OPTS(.method = "grid", .maps = s.maps),
                            idle = OPTS(.method = "grid", .maps = s.maps, .iters = 5, .time_weight = 1,
                                        .listener = take_note, .user = &n);
    assert_at_most(apart(&s, &idle, &s, &plain), is_cpu() ? 0 : 1e-5);
    assert_noted(n, "W:opts.iters: has no effect with opts.method grid; it is an option of opts.method auto, cg, ");
    assert_noted(n, "W:opts.time_weight: has no effect with opts.method grid; it is an option of opts.method tv.");
}

TEST(a_bound_is_inside_and_what_is_beyond_it_is_named_with_both)
{
    int bounds = 0;
    for (int i = 0; lmr_setting_at(i); i++) {
        const lmr_setting *s = lmr_setting_at(i);
        if (s->type != LMR_SETTING_INT || !(s->high < INFINITY)) continue;
        for (int beyond = 0; beyond < 2; beyond++) {
            larmor_recon_opts opts = OPTS(.method = "cg");
            char text[128];
            const int value = (int)s->high + beyond;
            memcpy((char *)&opts + s->at, &value, sizeof value);
            snprintf(text, sizeof text, "opts.%s: got %g, expected %g to %g", s->name, (double)value, s->low,
                     s->high);
            if (beyond)
                assert_refused(lmr_settings_check_bounds(&opts), LARMOR_ERR_ARG, text);
            else
                assert_ok(lmr_settings_check_bounds(&opts));
        }
        bounds++;
    }
    assert_true(bounds > 10);
}

TEST(a_wrong_method_of_maps_is_told_of_all_there_are)
{
    larmor_recon_opts opts = OPTS(.method = "cg");
    assert_int_equal(larmor_setting_set(&opts, "maps_method", "espirt"), LARMOR_ERR_ARG);
    for (int i = 0; larmor_maps_method_entry(i).name; i++)
        assert_non_null(strstr(larmor_last_error(), larmor_maps_method_entry(i).name));
}

/* Of the options as lmr_settings has them. */
static uint64_t hash_with(const lmr_setting *s, const void *value, size_t bytes)
{
    static const larmor_counters all = {-1, -1, -1, -1, -1, 0};
    larmor_recon_opts opts = OPTS(.method = "auto", .maps_method = "auto", .only = &all);
    uint64_t hash = 0;
    if (s) memcpy((char *)&opts + s->at, value, bytes);
    lmr_settings_hash(&opts, &hash);
    return hash;
}

TEST(each_setting_that_images_depend_on_changes_the_fingerprint_and_no_other_does)
{
    const uint64_t plain = hash_with(NULL, NULL, 0);
    const int whole = 1;
    const int64_t wide = 1;
    const double real = 0.5;
    const double *const real_at = &real;
    const char *const text = "walsh";
    const larmor_image_meta place = {.fov_mm = {1}};
    const larmor_image_meta *const place_at = &place;
    const larmor_counters third = {2, -1, -1, -1, -1, 0};
    const larmor_counters *const only = &third;
    const struct {
        const void *value;
        size_t bytes; /* 0: not hashed here */
    } other[] = {[LMR_SETTING_INT] = {&whole, sizeof whole},
                 [LMR_SETTING_INT64] = {&wide, sizeof wide},
                 [LMR_SETTING_REAL] = {&real, sizeof real},
                 [LMR_SETTING_REAL_AT] = {&real_at, sizeof real_at},
                 [LMR_SETTING_TEXT] = {&text, sizeof text},
                 [LMR_SETTING_PLACE] = {&place, sizeof place},
                 [LMR_SETTING_PLACE_AT] = {&place_at, sizeof place_at},
                 [LMR_SETTING_COUNTERS] = {&only, sizeof only},
                 [LMR_SETTING_ARRAY] = {NULL, 0},
                 [LMR_SETTING_OTHER] = {NULL, 0}};
    for (int i = 0; lmr_setting_at(i); i++) {
        const lmr_setting *s = lmr_setting_at(i);
        const int is_limit = !strcmp(s->name, "memory") || !strcmp(s->name, "at_once") ||
                             !strcmp(s->name, "repeatable") || !strcmp(s->name, "checkpoint_every");
        if (!other[s->type].bytes) continue;
        const uint64_t hash = hash_with(s, other[s->type].value, other[s->type].bytes);
        if ((hash == plain) != is_limit) fail_msg("%s", s->name);
    }
}

/* Text i of what a setting takes. */
static int text_of(const larmor_setting *s, int i, char *text, size_t size)
{
    static const char *const forms[][4] = {{"auto", "0", "0.1", "noise:2.5"}, {"auto", "off", "0.25", "12"}};
    const char *choice = s->choices;
    switch (s->type) {
    case LARMOR_SETTING_FLAG:
        snprintf(text, size, "%s", i ? "true" : "false");
        return i < 2;
    case LARMOR_SETTING_CHOICE:
        if (!choice) choice = "auto|grid|tv";
        if (!strcmp(s->name, "maps_method")) choice = "auto|walsh|nlinv";
        for (int c = 0; c < i && choice; c++) choice = strchr(choice, '|') ? strchr(choice, '|') + 1 : NULL;
        snprintf(text, size, "%.*s", choice ? (int)strcspn(choice, "|") : 0, choice ? choice : "");
        return choice != NULL;
    case LARMOR_SETTING_FORM:
        snprintf(text, size, "%s", i < 4 ? forms[!strcmp(s->name, "compress")][i] : "");
        return i < 4;
    case LARMOR_SETTING_LIST:
        choice = !strcmp(s->name, "reg") ? "tv:xy+tv:t=4|l1" : "nonnegative+support:a.npy|box:-1,2";
        if (i) choice = strchr(choice, '|') + 1;
        snprintf(text, size, "%.*s", (int)strcspn(choice, "|"), choice);
        return i < 2;
    case LARMOR_SETTING_BYTES:
        snprintf(text, size, "%d", i ? 512000000 : 1);
        return i < 2;
    case LARMOR_SETTING_SIZES:
    case LARMOR_SETTING_NUMBERS:
        snprintf(text, size, i < 2 ? "%.15g,%.15g" : "%.15g", i ? s->low : s->high, s->low);
        return i < 3;
    default:
        snprintf(text, size, "%.15g", i ? s->low : s->high);
        return i < 2;
    }
}

TEST(a_setting_that_is_set_from_text_is_written_as_that_text)
{
    larmor_setting s;
    int settings = 0;
    for (int e = 0; (s = larmor_setting_entry(e)).name; e++) {
        char text[64], written[128];
        for (int i = 0; s.type && text_of(&s, i, text, sizeof text); i++) {
            larmor_recon_opts opts = OPTS(.method = NULL);
            assert_ok(larmor_setting_set(&opts, s.option ? s.option : s.name, text));
            assert_ok(larmor_setting_text(&opts, s.name, written, sizeof written));
            if (strcmp(written, text) != 0) fail_msg("%s: %s became %s", s.name, text, written);
            assert_ok(lmr_settings_check_bounds(&opts));
            settings += !i;
        }
    }
    assert_true(settings > 30);
}

TEST(numbers_of_settings_have_a_point_in_locales_that_have_a_comma)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "pt_BR.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const locale_t comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
        if (!comma) continue;
        const locale_t before = uselocale(comma);
        larmor_recon_opts opts = OPTS(.iters = 0);
        char text[128];
        assert_ok(larmor_setting_set(&opts, "oversample", "1.5,2"));
        assert_true(opts.oversample[0] == 1.5 && opts.oversample[1] == 2);
        assert_ok(larmor_setting_text(&opts, "oversample", text, sizeof text));
        assert_string_equal(text, "1.5,2");
        assert_true(uselocale(before) == comma);
        freelocale(comma);
    }
}

TEST(the_default_of_a_setting_is_written_as_the_table_says_and_changes_nothing)
{
    larmor_setting s;
    for (int e = 0; (s = larmor_setting_entry(e)).name; e++) {
        const larmor_recon_opts plain = OPTS(.method = NULL);
        larmor_recon_opts same = plain;
        char text[128], standard[128];
        if (!s.type) continue;
        assert_ok(larmor_setting_text(&plain, s.name, text, sizeof text));
        if (s.type == LARMOR_SETTING_FLAG) s.standard = "false";
        assert_string_equal(text, s.standard ? s.standard : "");
        if (!s.standard) continue;
        assert_ok(larmor_setting_set(&same, s.name, s.standard));
        assert_ok(larmor_setting_text(&same, s.name, standard, sizeof standard));
        if (s.type == LARMOR_SETTING_NUMBER)
            assert_true(atof(standard) == atof(text));
        else
            assert_string_equal(standard, text);
    }
}

TEST(choices_are_the_constants_of_their_names)
{
    larmor_recon_opts opts = OPTS(.method = NULL);
    assert_ok(larmor_setting_set(&opts, "dcf", "spiral"));
    assert_int_equal(opts.density, LARMOR_DENSITY_SPIRAL);
    assert_ok(larmor_setting_set(&opts, "dcf", "file"));
    assert_int_equal(opts.density, LARMOR_DENSITY_STORED);
    assert_ok(larmor_setting_set(&opts, "partial-fourier", "pocs"));
    assert_int_equal(opts.partial_fourier, LARMOR_PARTIAL_POCS);
    assert_ok(larmor_setting_set(&opts, "crop", "hard"));
    assert_int_equal(opts.crop, LARMOR_CROP_HARD);
    assert_ok(larmor_setting_set(&opts, "normalise", "body"));
    assert_int_equal(opts.normalise, LARMOR_NORMALISE_BODY);
    assert_ok(larmor_setting_set(&opts, "compress_method", "geometric"));
    assert_int_equal(opts.compress_method, LARMOR_COMPRESS_GEOMETRIC);
    assert_ok(larmor_setting_set(&opts, "scale", "sum"));
    assert_int_equal(opts.scale, LARMOR_SCALE_SUM);
    assert_ok(larmor_setting_set(&opts, "precond", "none"));
    assert_int_equal(opts.precondition, -1);
    assert_ok(larmor_setting_set(&opts, "whiten", "off"));
    assert_int_equal(opts.no_whitening, 1);
    assert_ok(larmor_setting_set(&opts, "lambda", "noise:2"));
    assert_int_equal(opts.lambda_mode, LARMOR_LAMBDA_NOISE);
    assert_true(opts.lambda == 2);
    assert_ok(larmor_setting_set(&opts, "memory", "8G"));
    assert_int_equal(opts.memory, 8000000000);
    assert_ok(larmor_setting_set(&opts, "tol", "0")); /* where 0 is the default */
    assert_true(opts.tol == -1);
}

TEST(a_text_that_is_no_value_is_refused_with_what_may_be_and_changes_nothing)
{
    const struct {
        const char *name, *text, *line;
    } wrong[] = {
        {"toeplitz", "of", "opts.toeplitz: got \"of\", expected auto, on or off"},
        {"toeplitz", "", "opts.toeplitz: got \"\", expected auto, on or off"},
        {"iters", "0", "opts.iters: got \"0\", expected a whole number from 1 to 1e+09"},
        {"iters", "1.5", "opts.iters: got \"1.5\", expected a whole number from 1 to 1e+09"},
        {"eps", "1e-400", "opts.eps: got \"1e-400\", expected a number from 1e-13 to 0.1"},
        {"matrix", "4,4,4,4", "opts.matrix: got \"4,4,4,4\", expected up to 3 whole numbers from 1 to 65535"},
        {"matrix", "4,", "opts.matrix: got \"4,\", expected up to 3 whole numbers from 1 to 65535"},
        {"compress", "1.5",
         "opts.compress: got \"1.5\", expected auto, off, a whole number of virtual coils from 1 to 65535, or a part "
         "of "
         "the energy below 1"},
        {"joint", "yes", "opts.joint: got \"yes\", expected true or false"},
        {"b0", "x", "recon: options: b0 has no text; set the member"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        larmor_recon_opts opts = OPTS(.method = NULL);
        const larmor_recon_opts before = opts;
        assert_int_equal(larmor_setting_set(&opts, wrong[i].name, wrong[i].text), LARMOR_ERR_ARG);
        assert_string_equal(larmor_last_error(), wrong[i].line);
        assert_memory_equal(&opts, &before, sizeof opts);
    }
    larmor_recon_opts early = OPTS(.method = NULL);
    assert_refused(larmor_setting_set(&early, "iter", "5"), LARMOR_ERR_UNSUPPORTED, "got \"iter\"");
    early.size = offsetof(larmor_recon_opts, repeatable);
    assert_refused(larmor_setting_set(&early, "repeatable", "true"), LARMOR_ERR_ARG, "which has no repeatable");
}

TEST(the_fingerprint_is_of_the_arrays_and_with_a_checkpoint_as_they_were_at_the_creation)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    uint64_t at_once, later, of_others, without;
    larmor_checkpoint *kept =
        MADE(larmor_checkpoint, larmor_checkpoint_file("/tmp/larmor-no-such-checkpoint", &made));
    larmor_recon_opts opts = OPTS(.method = "grid", .maps = s.maps, .checkpoint = kept);
    larmor_recon *recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_fingerprint(recon, &at_once));
    assert_ok(larmor_axpby(2, s.maps, 0, s.maps));
    assert_ok(larmor_recon_fingerprint(recon, &later));
    larmor_recon_free(recon);
    opts.checkpoint = NULL;
    recon = recon_of(&s, &opts);
    assert_ok(larmor_recon_fingerprint(recon, &of_others));
    assert_ok(larmor_axpby(0.5, s.maps, 0, s.maps));
    assert_ok(larmor_recon_fingerprint(recon, &without));
    larmor_recon_free(recon);
    larmor_checkpoint_free(kept);
    assert_true(at_once == later);
    assert_true(at_once != of_others);
    assert_true(at_once == without);
}

/* Before anything is computed, and by the member's name, or by the name that the caller gave. */
TEST(arrays_that_are_not_finite_are_refused_by_name)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    double _Complex wrong[8] = {1, 1, 1, INFINITY};
    OWN(larmor_array, *array, larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(4, 2), LARMOR_C128, wrong, &array));
    const struct {
        larmor_recon_opts opts;
        const char *line;
    } given[] = {
        {OPTS(.maps = array), "maps: 1 value is not finite, the first at [3, 0]."},
        {OPTS(.maps = array, .maps_name = "m.npy"), "m.npy: 1 value is not finite, the first at [3, 0]."},
        {OPTS(.b0 = array), "map: 1 value is not finite, the first at [3, 0]."},
        {OPTS(.b0 = array, .b0_name = "f.nii"), "f.nii: 1 value is not finite, the first at [3, 0]."},
        {OPTS(.basis = array), "basis: 1 value is not finite, the first at [3, 0]."},
        {OPTS(.girf = array, .girf_spacing_hz = 100), "girf: 1 value is not finite, the first at [3, 0]."},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        larmor_recon *recon;
        assert_int_equal(try_recon(&s, &given[i].opts, &recon), LARMOR_ERR_NUMERIC);
        assert_string_equal(larmor_last_error(), given[i].line);
        assert_null(recon);
    }
}

/* A caller that was compiled before most options were there, and one that was compiled after some were added. */
TEST(callers_of_other_versions_are_understood)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    larmor_recon_plan plan;
    larmor_recon_opts early = OPTS(.method = "grid", .weighted = 1, .lambda = -5);
    early.size = offsetof(larmor_recon_opts, lambda);
    larmor_recon *recon = recon_of(&s, &early);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    assert_string_equal(plan.method, "grid");
    larmor_recon_free(recon);

    struct {
        larmor_recon_opts opts;
        int64_t added;
    } late = {OPTS(.method = "tv"), 0};
    late.opts.size = sizeof late;
    recon = recon_of(&s, &late.opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    assert_string_equal(plan.method, "tv");
    larmor_recon_free(recon);
    late.added = 1;
    assert_refused(try_recon(&s, &late.opts, &recon), LARMOR_ERR_UNSUPPORTED, "an option of a later version");

    larmor_recon_opts none = {.method = "cg"};
    assert_refused(try_recon(&s, &none, &recon), LARMOR_ERR_ARG, "size is 0, expected sizeof(larmor_recon_opts)");
    none.size = SIZE_MAX;
    assert_refused(try_recon(&s, &none, &recon), LARMOR_ERR_ARG, "expected sizeof(larmor_recon_opts)");
}

TEST(without_options_method_and_lambda_are_from_the_data_and_there_are_maps)
{
    OWNED(scan) s = scan_of(2, 1, 0);
    larmor_recon_plan plan;
    OWNED(larmor_recon) *recon = recon_of(&s, NULL);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    assert_string_equal(plan.method, "auto");
    assert_true(plan.maps && !plan.given && plan.chooses && !plan.whitened && !plan.weighted);
    assert_int_equal(plan.coils, 2);
    assert_int_equal(plan.block, 2);
    assert_int_equal(plan.grid.matrix[0], N);
}
