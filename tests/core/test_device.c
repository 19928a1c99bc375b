/* Devices by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/cpu/cpu.h"

#include "tests/support/test.h"

TEST(a_processor_takes_32_threads_at_most_unless_someone_says_how_many)
{
    assert_int_equal(lmr_cpu_usual_threads(2, 2, INFINITY, 0), 2);
    assert_int_equal(lmr_cpu_usual_threads(32, 32, INFINITY, 0), 32);
    assert_int_equal(lmr_cpu_usual_threads(64, 64, INFINITY, 0), 32);
    assert_int_equal(lmr_cpu_usual_threads(64, 64, INFINITY, 1), 64); /* OMP_NUM_THREADS=64 */
    assert_int_equal(lmr_cpu_usual_threads(48, 64, INFINITY, 0), 48); /* omp_set_num_threads(48) */
}

TEST(a_processor_takes_as_many_threads_as_its_control_groups_allow_cores)
{
    assert_int_equal(lmr_cpu_usual_threads(64, 64, 4, 0), 4);
    assert_int_equal(lmr_cpu_usual_threads(64, 64, 1.5, 0), 2);
    assert_int_equal(lmr_cpu_usual_threads(64, 64, .1, 0), 1);
    assert_int_equal(lmr_cpu_usual_threads(2, 2, 4, 0), 2);
    assert_int_equal(lmr_cpu_usual_threads(64, 64, 4, 1), 64);
}

static void write_text(const char *folder, const char *file, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

TEST(the_least_limit_of_control_groups_counts)
{
    char root[] = "groups-XXXXXX", group[40], v1[40], list[40];
    assert_non_null(mkdtemp(root));
    snprintf(group, sizeof group, "%s/a", root);
    snprintf(v1, sizeof v1, "%s/cpu", root);
    snprintf(list, sizeof list, "%s/list", root);
    assert_int_equal(mkdir(group, 0700) | mkdir(v1, 0700), 0);
    write_text(root, "list", "3:cpuset:/\n0::/a\n");
    assert_true(lmr_cpu_cores_of_groups(list, root) == INFINITY);
    write_text(root, "cpu.max", "800000 100000\n");
    write_text(group, "cpu.max", "max 100000\n");
    assert_true(lmr_cpu_cores_of_groups(list, root) == 8);
    write_text(group, "cpu.max", "50000 20000\n");
    assert_true(lmr_cpu_cores_of_groups(list, root) == 2.5);
    write_text(root, "list", "2:cpu,cpuacct:/\n");
    write_text(root, "cpu.max", "max 100000\n");
    write_text(v1, "cpu.cfs_quota_us", "-1\n");
    write_text(v1, "cpu.cfs_period_us", "100000\n");
    assert_true(lmr_cpu_cores_of_groups(list, root) == INFINITY);
    write_text(v1, "cpu.cfs_quota_us", "300000\n");
    assert_true(lmr_cpu_cores_of_groups(list, root) == 3);
    static const char *const made[] = {
        "list", "cpu.max", "a/cpu.max", "a", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "cpu"};
    assert_int_equal(chdir(root), 0);
    for (int i = 0; i < 7; i++) assert_int_equal(remove(made[i]), 0);
    assert_int_equal(chdir("..") | rmdir(root), 0);
}

TEST(a_processor_opens_with_the_asked_threads)
{
    OWN(larmor_device, *d, larmor_device_open("cpu:3", &d));
    assert_string_equal(larmor_device_spec(d), "cpu:3");
    assert_int_equal(lmr_device_threads(d), 3);
    assert_ok(larmor_device_sync(d));
}

TEST(auto_and_null_resolve_to_a_name_that_opens_again)
{
    const char *const specs[] = {"auto", NULL, "cpu"};
    for (int i = 0; i < 3; i++) {
        OWN(larmor_device, *d, larmor_device_open(specs[i], &d));
        OWN(larmor_device, *again, larmor_device_open(larmor_device_spec(d), &again));
        assert_string_equal(larmor_device_spec(d), larmor_device_spec(again));
        assert_true(lmr_device_threads(d) >= 1);
    }
}

TEST(a_device_says_what_it_is)
{
    larmor_device *d = MADE(larmor_device, larmor_device_open("cpu:3", &made));
    assert_int_equal(strncmp(larmor_device_reason(d), "cpu:3 (", 7), 0);
    larmor_device_free(d);
    assert_ok(larmor_device_open("auto", &d));
    assert_int_equal(strncmp(larmor_device_reason(d), "auto: ", 6), 0);
    assert_int_equal(strncmp(larmor_device_reason(d) + 6, larmor_device_spec(d), strlen(larmor_device_spec(d))), 0);
    larmor_device_free(d);
}

TEST(names_that_are_none_are_refused_with_the_choices)
{
    const char *const wrong[] = {
        "",    "cp",    "cpux",  "cpu:",    "cpu:0",  "cpu:-1",   "cpu:4x", "cpu: 4", "cpu:99999999999999",
        "gpu", "cuda0", "cuda:", "cuda:-1", "cuda:x", "cuda:4096"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_none_made(larmor_device, larmor_device_open(wrong[i], &made), LARMOR_ERR_ARG,
                         "expected auto, cpu or cpu:THREADS");
    }
    assert_refused(larmor_device_open("cpu", NULL), LARMOR_ERR_ARG, "out is NULL");
}

TEST(a_backend_that_is_not_there_is_unsupported_and_says_why)
{
    assert_none_made(larmor_device, larmor_device_open("cuda:1023", &made), LARMOR_ERR_UNSUPPORTED,
                     "device cuda:1023: cuda unavailable: ");
}

TEST(the_list_names_every_backend_with_a_reason_where_it_cannot_be_had)
{
    larmor_device_info infos[8];
    int count = 0, alone = 0;
    assert_ok(larmor_device_list(infos, 8, &count));
    assert_in_range(count, 2, 8);
    for (int i = 0; i < count; i++) {
        OWNED(larmor_device) *d;
        assert_int_equal(infos[i].available, !infos[i].reason[0]);
        assert_int_equal(infos[i].available, !larmor_device_open(infos[i].spec, &d));
    }
    assert_string_equal(infos[0].spec, "cpu");
    assert_true(infos[0].threads >= 1 && infos[0].memory > 0 && infos[0].name[0]);
    assert_ok(larmor_device_list(NULL, 0, &alone));
    assert_int_equal(alone, count);
}

TEST(the_list_fills_no_more_than_there_is_room_for)
{
    larmor_device_info infos[2];
    int count;
    memset(&infos[1], 0x5a, sizeof infos[1]);
    assert_ok(larmor_device_list(infos, 1, &count));
    assert_string_equal(infos[0].spec, "cpu");
    assert_int_equal(infos[1].spec[0], 0x5a);
    assert_int_equal(larmor_device_list(infos, -1, &count), LARMOR_ERR_ARG);
    assert_int_equal(larmor_device_list(infos, 1, NULL), LARMOR_ERR_ARG);
    assert_int_equal(larmor_device_list(NULL, 1, &count), LARMOR_ERR_ARG);
}

TEST(a_device_lives_until_its_last_user_is_gone)
{
    double v[2] = {1, 2}, back[2] = {0};
    larmor_device *d = MADE(larmor_device, larmor_device_open("cpu:2", &made));
    OWN(larmor_array, *x, larmor_array_create(d, LARMOR_F64, LARMOR_SHAPE(2), &x));
    larmor_device_free(d);
    assert_ok(larmor_array_write(x, v, sizeof v));
    assert_ok(larmor_array_read(x, back, sizeof back));
    assert_memory_equal(v, back, sizeof v);
    assert_string_equal(larmor_device_spec(larmor_array_device(x)), "cpu:2");
    larmor_device_free(NULL);
}

TEST(several_names_open_a_group_in_their_order)
{
    static const struct {
        const char *asked, *spec;
        int threads[3], all;
    } groups[] = {{"cpu:1,cpu:2", "cpu:1,2", {1, 2}, 3},
                  {"cpu:1,2,1", "cpu:1,2,1", {1, 2, 1}, 4},
                  {"cpu:2,cpu:2", "cpu:2,2", {2, 2}, 4}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        OWN(larmor_device, *d, larmor_device_open(groups[g].asked, &d));
        assert_string_equal(larmor_device_spec(d), groups[g].spec);
        assert_int_equal(lmr_device_threads(d), groups[g].all);
        OWN(larmor_device, *again, larmor_device_open(larmor_device_spec(d), &again));
        assert_int_equal(larmor_device_members(again), larmor_device_members(d));
        for (int i = 0; i < larmor_device_members(d); i++)
            assert_int_equal(lmr_device_threads(larmor_device_member(d, i)), groups[g].threads[i]);
        assert_null(larmor_device_member(d, larmor_device_members(d)));
        assert_null(larmor_device_member(d, -1));
        assert_int_equal(lmr_device_sharers(d), larmor_device_members(d));
    }
}

TEST(processors_without_a_number_share_the_cores)
{
    OWN(larmor_device, *one, larmor_device_open("cpu", &one));
    OWN(larmor_device, *two, larmor_device_open("cpu,cpu", &two));
    const int cores = lmr_device_threads(one);
    assert_int_equal(lmr_device_threads(two), cores);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lmr_device_threads(larmor_device_member(two, i)), cores > 1 ? cores / 2 : 1);
    assert_int_equal(larmor_device_members(one), 0);
    assert_null(larmor_device_member(one, 0));
}

/* Loops of the host are on all of its cores, whatever the device computes with. */
TEST(a_gpu_has_the_cores_for_loops_on_the_host)
{
    OWN(larmor_device, *cpu, larmor_device_open("cpu", &cpu));
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    OWN(larmor_device, *tried, larmor_device_open(spec ? spec : "cpu:2", &tried));
    assert_int_equal(lmr_device_is_processor(cpu), 1);
    assert_int_equal(lmr_device_is_processor(tried), !strncmp(larmor_device_spec(tried), "cpu", 3));
    if (!lmr_device_is_processor(tried)) assert_int_equal(lmr_device_threads(tried), lmr_device_threads(cpu));
    const int threads = lmr_device_threads(cpu);
    lmr_device_share_threads(cpu, 2);
    assert_int_equal(lmr_device_threads(cpu), threads > 1 ? threads / 2 : 1);
    lmr_device_share_threads(cpu, INT32_MAX);
    assert_int_equal(lmr_device_threads(cpu), 1);
}

TEST(a_group_computes_as_one_device)
{
    double v[2] = {1, 2}, back[2] = {0};
    larmor_device *d = MADE(larmor_device, larmor_device_open("cpu:1,1", &made));
    OWN(larmor_array, *x, larmor_array_upload(d, LARMOR_F64, LARMOR_SHAPE(2), LARMOR_F64, v, &x));
    larmor_device_free(d);
    assert_ok(larmor_array_read(x, back, sizeof back));
    assert_memory_equal(v, back, sizeof v);
}

TEST(groups_that_make_no_sense_are_refused)
{
    const char *const wrong[] = {",",       "cpu:1,",   ",cpu:1",     "cpu:1,,cpu:1",
                                 "1,cpu:1", "auto,cpu", "cpu:1,auto", "cuda:all,cuda:0"};
    const char *const mixed[] = {"cpu+cuda", "cuda+cpu", "cpu,cuda", "cuda:0,1,cpu:2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        larmor_device *d = (larmor_device *)&d;
        assert_refused(larmor_device_open(wrong[i], &d), LARMOR_ERR_ARG, "expected auto, cpu or cpu:THREADS");
        assert_null(d);
    }
    for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++) {
        larmor_device *d = (larmor_device *)&d;
        assert_refused(larmor_device_open(mixed[i], &d), LARMOR_ERR_ARG, "images would depend on which of them");
        assert_null(d);
    }
}

TEST(a_group_with_a_gpu_that_is_not_there_is_refused)
{
    assert_none_made(larmor_device, larmor_device_open("cuda:0,1023", &made), LARMOR_ERR_UNSUPPORTED,
                     "device cuda:0,1023: cuda unavailable: ");
}

TEST(a_device_that_is_opened_meanwhile_is_the_one_asked_for)
{
    const char *const specs[] = {"cpu:3", "cpu:1,2", "auto", NULL};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        larmor_opening *opening = MADE(larmor_opening, larmor_device_open_begin(specs[i], &made));
        OWN(larmor_device, *alone, larmor_device_open(specs[i], &alone));
        OWN(larmor_device, *d, larmor_device_open_end(opening, &d));
        assert_string_equal(larmor_device_spec(d), larmor_device_spec(alone));
        assert_string_equal(larmor_device_reason(d), larmor_device_reason(alone));
    }
}

TEST(what_cannot_be_opened_is_said_when_it_is_waited_for)
{
    const char *const specs[] = {"cpu:0", "nothing", "cuda:1023"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char expected[1024];
        larmor_opening *opening;
        larmor_device *d = (larmor_device *)&d;
        const larmor_status st = larmor_device_open(specs[i], &d);
        snprintf(expected, sizeof expected, "%s", larmor_last_error());
        assert_ok(larmor_device_open_begin(specs[i], &opening));
        d = (larmor_device *)&d;
        assert_refused(larmor_device_open_end(opening, &d), st, expected);
        assert_null(d);
    }
}

TEST(an_opening_can_be_given_up)
{
    larmor_opening *opening = MADE(larmor_opening, larmor_device_open_begin(NULL, &made));
    assert_ok(larmor_device_open_end(opening, NULL));
    assert_ok(larmor_device_open_begin("nothing", &opening));
    assert_ok(larmor_device_open_end(opening, NULL));
    assert_refused(larmor_device_open_begin("cpu", NULL), LARMOR_ERR_ARG, "opening is NULL");
    assert_none_made(larmor_device, larmor_device_open_end(NULL, &made), LARMOR_ERR_ARG, "opening is NULL");
}
