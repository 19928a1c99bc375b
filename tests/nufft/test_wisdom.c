/* Wisdom in files: what is saved comes back, and what is not wisdom is left out. SPDX-License-Identifier:
 * Apache-2.0 */
#define OWN_MAIN
#include "nufft/tune/wisdom.h"

#include <dirent.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

static char folder[] = "/tmp/larmor_wisdom_XXXXXX", file[64];

static int set_up(void **state LMR_UNUSED)
{
    larmor_wisdom_forget(dev);
    unlink(file);
    return 0;
}

static lmr_wisdom_key key_of(int n)
{
    return (lmr_wisdom_key){.types = 1,
                            .ndim = 2,
                            .precision = LMR_F64,
                            .threads = 1,
                            .modes = {n, 33, 1},
                            .batch = 8,
                            .max_batch = 4,
                            .tol = 1.234e-7,
                            .grid = {60, 64, 0},
                            .width = 11,
                            .tiles = 2,
                            .sort = 1,
                            .precompute = LARMOR_PRECOMPUTE_AUTO,
                            .precompute_memory = INT64_C(5000000000),
                            .points_log2 = 17,
                            .crowding = 3,
                            .ordered = 1};
}

static const lmr_wisdom_plan found = {.effort = 1,
                                      .cells = {64, 70, 1},
                                      .width = 9,
                                      .tiles = 2,
                                      .precompute = LARMOR_PRECOMPUTE_PARTIAL,
                                      .max_batch = 3,
                                      .seconds = 0.00125};

static void write_text(const char *text, size_t size)
{
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static char *read_text(void)
{
    static char text[1 << 16];
    FILE *f = fopen(file, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static larmor_wisdom_report load(void)
{
    larmor_wisdom_report report;
    assert_ok(larmor_wisdom_load(dev, file, &report));
    return report;
}

/* ---- round trips ---- */

TEST_IN(what_is_saved_comes_back, set_up, NULL)
{
    const lmr_nufft_scales scales = {{{0.5, 1, 2}, {3, 4, 5}}, {0.25, 7, 100}};
    for (int n = 2; n <= 30; n++) {
        const lmr_wisdom_key key = key_of(n);
        lmr_wisdom_add(dev, &key, &found);
    }
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F32, &scales));
    assert_ok(larmor_wisdom_save(dev, file));
    larmor_wisdom_forget(dev);
    assert_null(lmr_wisdom_scales(dev, LMR_F32));
    const larmor_wisdom_report report = load();
    assert_int_equal(report.found, 1);
    assert_int_equal(report.used, 30);
    assert_int_equal(report.corrupt + report.foreign_device + report.foreign_version, 0);
    for (int n = 2; n <= 30; n++) {
        const lmr_wisdom_key key = key_of(n);
        const lmr_wisdom_plan *p = lmr_wisdom_find(dev, &key, 1);
        assert_non_null(p);
        for (int d = 0; d < 3; d++) assert_int_equal(p->cells[d], found.cells[d]);
        assert_int_equal(p->width, 9);
        assert_int_equal(p->tiles, 2);
        assert_int_equal(p->max_batch, 3);
        assert_int_equal(p->precompute, LARMOR_PRECOMPUTE_PARTIAL);
        assert_true(p->seconds == found.seconds);
        assert_null(lmr_wisdom_find(dev, &key, 2));
    }
    const lmr_nufft_scales *s = lmr_wisdom_scales(dev, LMR_F32);
    assert_non_null(s);
    assert_null(lmr_wisdom_scales(dev, LMR_F64));
    assert_true(s->points[1][2] == 5 && s->grid[0] == 0.25 && s->grid[2] == 100);
}

TEST_IN(every_part_of_the_key_tells_plans_apart, set_up, NULL)
{
    const lmr_wisdom_key key = key_of(20);
    lmr_wisdom_add(dev, &key, &found);
    enum { PARTS = 19 };
    lmr_wisdom_key other[PARTS];
    for (int i = 0; i < PARTS; i++) other[i] = key;
    other[0].types = 3;
    other[1].ndim = 3;
    other[2].precision = LMR_F32;
    other[3].threads = 2;
    other[4].modes[1] = 34;
    other[5].batch = 1;
    other[6].max_batch = 0;
    other[7].tol = 1.235e-7;
    other[8].upsample = 1.75;
    other[9].method = 2;
    other[10].points_log2 = 18;
    other[11].sort = 0;
    other[12].precompute = LARMOR_PRECOMPUTE_FULL;
    other[13].precompute_memory = 1;
    other[14].crowding = 2;
    other[15].ordered = 0;
    other[16].grid[1] = 0;
    other[17].width = 12;
    other[18].tiles = 0;
    assert_non_null(lmr_wisdom_find(dev, &key, 1));
    for (int i = 0; i < PARTS; i++) assert_null(lmr_wisdom_find(dev, &other[i], 1));
}

TEST_IN(saving_keeps_what_the_file_has_and_the_handle_does_not, set_up, NULL)
{
    const lmr_wisdom_key first = key_of(2), second = key_of(3);
    const char *foreign = "plan 3 Some_other_processor 64 whatever it says\n"; /* too few words: no wisdom */
    lmr_wisdom_add(dev, &first, &found);
    assert_ok(larmor_wisdom_save(dev, file));
    char *text = read_text(), changed[1 << 17];
    /* the same line for another number of threads, and a line that is none */
    char *line = strstr(text, "plan 3 "), *end = strchr(line, '\n');
    char name[256];
    assert_int_equal(sscanf(line, "plan 3 %255s", name), 1);
    snprintf(changed, sizeof changed, "%splan 3 %s 4000%.*s\n%s", text, name,
             (int)(end - strchr(line + 7 + strlen(name) + 1, ' ')), strchr(line + 7 + strlen(name) + 1, ' '),
             foreign);
    write_text(changed, strlen(changed));
    larmor_wisdom_forget(dev);
    lmr_wisdom_add(dev, &second, &found);
    assert_ok(larmor_wisdom_save(dev, file));
    larmor_wisdom_forget(dev);
    const larmor_wisdom_report report = load();
    assert_int_equal(report.used, 2);
    assert_int_equal(report.foreign_device, 1);
    assert_int_equal(report.corrupt, 0);
    assert_non_null(lmr_wisdom_find(dev, &first, 1));
    assert_non_null(lmr_wisdom_find(dev, &second, 1));
}

TEST_IN(a_more_thorough_search_replaces_a_lesser_one_and_not_the_other_way, set_up, NULL)
{
    const lmr_wisdom_key key = key_of(5);
    lmr_wisdom_plan thorough = found, later = found;
    thorough.effort = 2;
    thorough.width = 11;
    later.width = 7;
    lmr_wisdom_add(dev, &key, &found);
    lmr_wisdom_add(dev, &key, &thorough);
    lmr_wisdom_add(dev, &key, &later);
    assert_int_equal(lmr_wisdom_find(dev, &key, 1)->width, 11);
}

TEST_IN(the_default_path_follows_the_environment, set_up, NULL)
{
    char path[128];
    struct stat info;
    larmor_wisdom_report report;
    const lmr_wisdom_key key = key_of(5);
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_ok(larmor_wisdom_load(dev, NULL, &report));
    assert_int_equal(report.found, 0);
    lmr_wisdom_add(dev, &key, &found);
    assert_ok(larmor_wisdom_save(dev, NULL));
    snprintf(path, sizeof path, "%s/larmor/wisdom", folder);
    assert_int_equal(stat(path, &info), 0);
    assert_ok(larmor_wisdom_load(dev, NULL, &report));
    assert_int_equal(report.used, 1);
    unlink(path);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    assert_ok(larmor_wisdom_save(dev, NULL));
    snprintf(path, sizeof path, "%s/.cache/larmor/wisdom", folder);
    assert_int_equal(stat(path, &info), 0);
    unlink(path);
    unsetenv("HOME");
    assert_refused(larmor_wisdom_save(dev, NULL), LARMOR_ERR_ARG, "XDG_CACHE_HOME");
    assert_ok(larmor_wisdom_load(dev, NULL, &report));
}

/* Numbers have no decimal point, which in some locales is a comma. */
TEST_IN(lines_are_the_same_in_all_locales, set_up, NULL)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "pt_BR.UTF-8"};
    const lmr_nufft_scales scales = {{{0.5, 1, 2}, {3, 4, 5}}, {0.25, 7, 100}};
    const lmr_wisdom_key key = key_of(5);
    lmr_wisdom_add(dev, &key, &found);
    assert_ok(lmr_wisdom_set_scales(dev, LMR_F32, &scales));
    assert_ok(larmor_wisdom_save(dev, file));
    char *const text = strdup(read_text());
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *at = line; /* behind the hardware's name */
        for (int i = 0; i < 3; i++) at = strchr(at, ' ') + 1;
        assert_true(strcspn(at, ".,") >= strcspn(at, "\n"));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const locale_t comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
        if (!comma) continue;
        const locale_t before = uselocale(comma);
        larmor_wisdom_forget(dev);
        assert_int_equal(load().used, 2);
        const lmr_wisdom_plan *p = lmr_wisdom_find(dev, &key, 1);
        assert_non_null(p);
        assert_true(p->seconds == found.seconds);
        unlink(file);
        assert_ok(larmor_wisdom_save(dev, file));
        assert_string_equal(read_text(), text);
        uselocale(before);
        freelocale(comma);
    }
    free(text);
}

/* ---- what is no wisdom ---- */

/* One good line for this device. */
static char *good_line(void)
{
    static char line[600];
    const lmr_wisdom_key key = key_of(5);
    lmr_wisdom_add(dev, &key, &found);
    assert_ok(larmor_wisdom_save(dev, file));
    snprintf(line, sizeof line, "%.590s", read_text());
    larmor_wisdom_forget(dev);
    return line;
}

TEST_IN(a_file_cut_anywhere_is_left_out_or_right, set_up, NULL)
{
    char *line = good_line();
    const size_t size = strlen(line);
    for (size_t n = 0; n <= size; n++) {
        write_text(line, n);
        const larmor_wisdom_report report = load();
        assert_int_equal(report.used, n == size);
        assert_int_equal(report.corrupt, n > 0 && n < size);
    }
}

TEST_IN(other_versions_and_devices_are_counted, set_up, NULL)
{
    char *line = good_line(), text[2000];
    char *rest = strstr(line, "plan 3 ") + 7;
    snprintf(text, sizeof text, "# a remark\n%splan 2 %splan 3 x%s", line, rest, rest);
    write_text(text, strlen(text));
    const larmor_wisdom_report report = load();
    assert_int_equal(report.used, 1);
    assert_int_equal(report.foreign_version, 1);
    assert_int_equal(report.foreign_device, 1);
    assert_int_equal(report.corrupt, 0);
}

TEST_IN(words_that_are_out_of_range_spoil_their_line_alone, set_up, NULL)
{
    static const char *const nonsense[] = {"-1",  "99999999999999999999999", "nan", "inf", "0x10", "1e400", "", "a b",
                                           "%n%s"};
    char *line = good_line(), text[2000];
    int words = 0, accepted = 0;
    for (const char *c = line; *c; c++) words += *c == ' ' || *c == '\n';
    for (int w = 0; w < words; w++)
        for (size_t k = 0; k < sizeof nonsense / sizeof *nonsense; k++) {
            const char *at = line;
            for (int i = 0; i < w; i++) at = strchr(at, ' ') + 1;
            snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - line), line, nonsense[k], at + strcspn(at, " \n"),
                     line);
            write_text(text, strlen(text));
            larmor_wisdom_forget(dev);
            const larmor_wisdom_report report = load();
            assert_int_equal(report.used + report.corrupt + report.foreign_device + report.foreign_version, 2);
            accepted += report.used == 2;
            assert_true(report.used >= 1);
        }
    assert_int_equal(accepted, 0);
}

TEST_IN(binary_and_endless_files_do_no_harm, set_up, NULL)
{
    const size_t size = (size_t)6 << 20;
    uint64_t seed = 3;
    HEAP char *text = malloc(size);
    for (size_t i = 0; i < size; i++) text[i] = (char)(int)(127 * test_random(&seed));
    write_text(text, size);
    larmor_wisdom_report report = load();
    assert_int_equal(report.used, 0);
    assert_true(report.corrupt > 0);
    memset(text, 'x', size);
    write_text(text, size);
    report = load();
    assert_int_equal(report.used, 0);
    assert_true(report.corrupt > 0);
    memset(text, 0, size);
    write_text(text, size);
    assert_int_equal(load().used, 0);
    write_text("", 0);
    report = load();
    assert_int_equal(report.found, 1);
    assert_int_equal(report.corrupt, 0);
}

TEST_IN(more_entries_than_there_is_room_for_are_left_out, set_up, NULL)
{
    lmr_wisdom_key key = key_of(5);
    for (int i = 0; i < 5000; i++) {
        key.modes[0] = 10 + i;
        lmr_wisdom_add(dev, &key, &found);
    }
    key.modes[0] = 10;
    assert_non_null(lmr_wisdom_find(dev, &key, 1));
    key.modes[0] = 10 + 4999;
    assert_null(lmr_wisdom_find(dev, &key, 1));
    assert_ok(larmor_wisdom_save(dev, file));
    larmor_wisdom_forget(dev);
    assert_int_equal(load().used, 4096);
}

enum { WRITERS = 4, ENTRIES = 25 };

typedef struct writer {
    pthread_t thread;
    int first;
    larmor_status st;
} writer;

/* As another process would: a device of its own, and the file alone in common. */
static void *save_some(void *arg)
{
    writer *w = arg;
    OWNED(larmor_device) *own;
    w->st = larmor_device_open("cpu:1", &own);
    for (int i = 0; i < ENTRIES && !w->st; i++) {
        const lmr_wisdom_key key = key_of(w->first + i);
        lmr_wisdom_add(own, &key, &found);
        w->st = larmor_wisdom_save(own, file);
        larmor_wisdom_forget(own);
    }
    return NULL;
}

TEST_IN(nothing_is_lost_where_several_save_at_a_time, set_up, NULL)
{
    writer w[WRITERS];
    larmor_wisdom_report report;
    for (int i = 0; i < WRITERS; i++) {
        w[i].first = 10 + i * ENTRIES;
        assert_int_equal(pthread_create(&w[i].thread, NULL, save_some, &w[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].st, LARMOR_OK);
    }
    OWN(larmor_device, *own, larmor_device_open("cpu:1", &own));
    assert_ok(larmor_wisdom_load(own, file, &report));
    assert_int_equal(report.used, WRITERS * ENTRIES);
}

/* ---- processes ---- */

enum { FIRST_KILLED = 1000, LAST_KILLED = 1300 };

/* A process that saves entries one after the other and exits with 0. */
static pid_t start_writer(int first, int count)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    larmor_device *own;
    if (larmor_device_open("cpu:1", &own)) _exit(1);
    for (int i = 0; i < count; i++) {
        const lmr_wisdom_key key = key_of(first + i);
        lmr_wisdom_add(own, &key, &found);
        if (larmor_wisdom_save(own, file)) _exit(1);
        larmor_wisdom_forget(own);
    }
    _exit(0);
}

static void assert_whole_with(int first, int count)
{
    larmor_wisdom_report report;
    OWN(larmor_device, *own, larmor_device_open("cpu:1", &own));
    assert_ok(larmor_wisdom_load(own, file, &report));
    assert_int_equal(report.corrupt, 0);
    for (int i = 0; i < count; i++) {
        const lmr_wisdom_key key = key_of(first + i);
        if (!lmr_wisdom_find(own, &key, 1)) fail_msg("entry %d is lost", first + i);
    }
}

TEST_IN(nothing_is_lost_where_several_processes_save_at_a_time, set_up, NULL)
{
    pid_t child[WRITERS];
    for (int i = 0; i < WRITERS; i++) child[i] = start_writer(10 + i * ENTRIES, ENTRIES);
    for (int i = 0; i < WRITERS; i++) {
        int how = -1;
        assert_int_equal(waitpid(child[i], &how, 0), child[i]);
        assert_int_equal(how, 0);
    }
    assert_whole_with(10, WRITERS * ENTRIES);
}

/* Whatever moment a writer is killed at, the file is whole and has what others have saved. */
TEST_IN(a_killed_process_neither_damages_the_file_nor_holds_up_the_others, set_up, NULL)
{
    uint64_t seed = 9;
    for (int n = 0; n < 25; n++) {
        int how = -1;
        const pid_t victim = start_writer(FIRST_KILLED, LAST_KILLED - FIRST_KILLED),
                    other = start_writer(10 + 2 * n, 2);
        usleep((useconds_t)(500 + 8000 * (1 + test_random(&seed))));
        kill(victim, SIGKILL);
        assert_int_equal(waitpid(victim, &how, 0), victim);
        assert_true(WIFSIGNALED(how));
        assert_int_equal(waitpid(other, &how, 0), other);
        assert_int_equal(how, 0);
        assert_whole_with(10, 2 * (n + 1));
    }
}

TEST_IN(what_is_no_file_is_refused, set_up, NULL)
{
    char path[128];
    assert_refused(larmor_wisdom_load(dev, folder, NULL), LARMOR_ERR_IO, "no regular file");
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(larmor_wisdom_load(dev, path, NULL), LARMOR_ERR_IO, "no regular file");
    unlink(path);
    assert_refused(larmor_wisdom_load(dev, path, NULL), LARMOR_ERR_IO, "No such file");
    snprintf(path, sizeof path, "%s/no/such/folder", folder);
    assert_refused(larmor_wisdom_save(dev, path), LARMOR_ERR_IO, "no such folder");
    assert_refused(larmor_wisdom_save(dev, folder), LARMOR_ERR_EXISTS, folder);
}

TEST_IN(nothing_is_left_beside_the_file, set_up, NULL)
{
    const lmr_wisdom_key key = key_of(5);
    lmr_wisdom_add(dev, &key, &found);
    assert_ok(larmor_wisdom_save(dev, file));
    assert_int_equal(larmor_wisdom_save(dev, folder), LARMOR_ERR_EXISTS);
    int others = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        others += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && strcmp(e->d_name, "wisdom") &&
                  strcmp(e->d_name, "larmor") && strcmp(e->d_name, ".cache");
    closedir(d);
    assert_int_equal(others, 0);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(file, sizeof file, "%s/wisdom", folder);
    return run_on_device();
}
