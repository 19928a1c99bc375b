/* Lines of progress: what they say, and that they fit. SPDX-License-Identifier: Apache-2.0 */

#include "tests/support/claims.h"

#include "apps/common/progress.h"

/* 13 of 30 steps, the first after 1 s, one each tenth of a second. */
static const app_progress_state iterating = {.what = "image 2 of 5",
                                             .step = 13,
                                             .steps = 30,
                                             .residual = 1.234e-3,
                                             .objective = 4.5,
                                             .began = 10,
                                             .first = 1,
                                             .first_step = 11,
                                             .last_step = 12.2};

TEST(a_line_says_what_how_far_and_how_long)
{
    char line[APP_LINE];
    app_progress_line(&iterating, 12.2, 200, 0, line);
    assert_string_equal(line,
                        "image 2 of 5 [##########..............] 13/30, residual 1.2e-03, objective 4.5, 1.7 s left");
    app_progress_line(&iterating, 13.2, 200, 0, line); /* a step takes longer than the others */
    assert_non_null(strstr(line, ", 0.7 s left"));
    app_progress_line(&iterating, 20, 200, 0, line);
    assert_non_null(strstr(line, ", 0.0 s left"));
    const app_progress_state preparing = {.what = "image 2 of 5", .stage = "coil maps", .began = 10};
    app_progress_line(&preparing, 13.21, 80, 0, line);
    assert_string_equal(line, "image 2 of 5: coil maps, 3.2 s");
}

TEST(a_line_fits_whatever_the_width)
{
    app_progress_state longest = iterating, preparing = {.what = "image 2 of 5", .stage = "coil maps", .began = 10};
    snprintf(longest.what, sizeof longest.what, "series 123 of 1000, 1000 images, of a scan with a name");
    longest.residual = 1e-100;
    longest.objective = -1.2345e-100;
    longest.step = 123456;
    longest.steps = 1000000;
    const app_progress_state *const states[] = {&iterating, &longest, &preparing};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (int columns = 0; columns <= 200; columns++) {
            char line[APP_LINE];
            app_progress_line(states[i], 1e6, columns, 0, line);
            assert_true((int)strlen(line) <= columns);
        }
}

TEST(what_matters_least_goes_first)
{
    char line[APP_LINE];
    app_progress_line(&iterating, 12.2, 79, 0, line);
    assert_string_equal(line, "image 2 of 5 [#####........] 13/30, residual 1.2e-03, objective 4.5, 1.7 s left");
    app_progress_line(&iterating, 12.2, 65, 0, line);
    assert_null(strstr(line, "objective"));
    assert_non_null(strstr(line, "residual"));
    app_progress_line(&iterating, 12.2, 45, 0, line);
    assert_null(strstr(line, "residual"));
    assert_non_null(strstr(line, "s left"));
    app_progress_line(&iterating, 12.2, 32, 0, line);
    assert_string_equal(line, "image 2 of 5 [####.......] 13/30");
    app_progress_line(&iterating, 12.2, 20, 0, line);
    assert_string_equal(line, "image 2 of 5 13/30");
}

TEST(colours_do_not_count_as_columns)
{
    char plain[APP_LINE], coloured[APP_LINE];
    for (int columns = 30; columns < 120; columns++) {
        app_progress_line(&iterating, 12.2, columns, 0, plain);
        app_progress_line(&iterating, 12.2, columns, 1, coloured);
        if (strchr(plain, '[')) assert_int_equal(strlen(coloured), strlen(plain) + strlen("\033[32m\033[0m"));
    }
}

TEST(a_character_of_several_bytes_is_not_cut)
{
    const app_progress_state s = {.what = "a\xc3\xa4\xc3\xb6", .began = 0};
    char line[APP_LINE];
    app_progress_line(&s, 1, 9, 0, line); /* 2 columns before ", 1.0 s" */
    assert_string_equal(line, "a, 1.0 s");
}

int main(void)
{
    return run_claims(NULL, NULL) ? 1 : 0;
}
