/* Lines of the library with the program's options. SPDX-License-Identifier: Apache-2.0 */
#include "apps/common/in_options.h"

#include "tests/support/test.h"

static const app_option of_recon[] = {
    {.name = "fov", .member = "fov_mm"},
    {.name = "ghost", .member = "no_ghost off"},
    {.name = "maps", .member = "no_maps none"},
    {.name = "frame-time", .member = "ms"},
    {.name = "phase-cycles", .member = "phase.cycles"},
    {.name = "traj-units"},
    {.name = "density"},
    {0},
};
static const app_option of_dcf[] = {
    {.name = "dcf", .member = "density"}, {.name = "delays", .member = "delay"}, {.name = "b0"}, {0}};
static const app_command recon = {.name = "recon", .options = of_recon}, dcf = {.name = "dcf", .options = of_dcf};
static const app_command *const commands[] = {&recon, &dcf, NULL};
const app_program app_self = {.name = "program", .commands = commands};

static void expect(const char *line, const char *ours)
{
    assert_string_equal(app_line_in_options(line).s, ours);
}

TEST(members_become_the_options_that_set_them)
{
    app_set_options(&app_self, &recon);
    expect("Use opts.traj_units.", "Use --traj-units.");
    expect("opts.traj_units", "--traj-units");
    expect("opts.fov_mm: got 3", "--fov: got 3");
    expect("(opts.ms 5), or \"opts.phase.cycles\"", "(--frame-time 5), or \"--phase-cycles\"");
    expect("two\nopts.ms\n", "two\n--frame-time\n");
}

TEST(members_that_are_a_value_of_an_option_name_that_value)
{
    app_set_options(&app_self, &recon);
    expect("corrected (opts.no_ghost: not)", "corrected (--ghost off: not)");
    expect("opts.no_maps: opts.maps", "--maps none: --maps");
}

TEST(options_of_the_command_that_runs_come_first)
{
    app_set_options(&app_self, &recon);
    expect("opts.density file; opts.delay", "--density file; --delays");
    app_set_options(&app_self, &dcf);
    expect("opts.density file; opts.traj_units", "--dcf file; --traj-units");
    app_set_options(&app_self, NULL);
    expect("opts.b0", "--b0");
    app_set_options(NULL, NULL);
    expect("opts.b0", "opts.b0");
}

TEST(what_is_no_member_stays)
{
    app_set_options(&app_self, &recon);
    static const char *const lines[] = {"opts.fovea",
                                        "opts.maps.h5: exists already",
                                        "/tmp/opts.maps: exists already",
                                        "optsxmaps",
                                        "opts.",
                                        "opts.member of nothing",
                                        "no opts here"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) expect(lines[i], lines[i]);
}

TEST(a_line_is_cut_where_there_is_no_more_room)
{
    char to[12];
    app_set_options(&app_self, &recon);
    for (size_t size = 1; size <= sizeof to; size++) {
        memset(to, 'x', sizeof to);
        assert_ptr_equal(app_in_options("a opts.ms b", to, size), to);
        assert_int_equal(strlen(to), size - 1);
        assert_memory_equal(to, "a --frame-time b", size - 1);
    }
}
