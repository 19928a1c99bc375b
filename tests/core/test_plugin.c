/* Plugins: where they are found, what is reported of those that are missing or wrong. A process looks for a plugin
 * once, so each case is a child of its own. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/backend.h"
#include "tests/support/test.h"

typedef struct outcome {
    larmor_status status;
    char message[1024], spec[32], reason[1024];
    int count;
    larmor_device_info infos[8];
} outcome;

static outcome *seen; /* shared with the children */

typedef struct surroundings {
    const char *plugin_dir, *gpus, *folder; /* LARMOR_PLUGIN_DIR, FAKE_GPUS, working directory; NULL: none */
} surroundings;

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* What a process there prints when it opens spec and lists the devices. */
static const outcome *look(surroundings s, const char *spec)
{
    memset(seen, 0, sizeof *seen);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        larmor_device *d;
        set("LARMOR_PLUGIN_DIR", s.plugin_dir);
        set("FAKE_GPUS", s.gpus);
        set("LARMOR_DEBUG", NULL);
        if (s.folder && chdir(s.folder)) _exit(1);
        seen->status = larmor_device_open(spec, &d);
        snprintf(seen->message, sizeof seen->message, "%s", larmor_last_error());
        if (!seen->status) {
            snprintf(seen->spec, sizeof seen->spec, "%s", larmor_device_spec(d));
            snprintf(seen->reason, sizeof seen->reason, "%s", larmor_device_reason(d));
        }
        larmor_device_free(d);
        _exit(larmor_device_list(seen->infos, 8, &seen->count) ? 1 : 0);
    }
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    return seen;
}

static void assert_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0) fail_msg("got\n  %s\nexpected it to begin\n  %s", text, start);
}

/* ---- none ---- */

TEST(without_a_plugin_the_folders_searched_are_named)
{
    const outcome *o = look((surroundings){.plugin_dir = "/nowhere"}, "cuda:0");
    if (!o->status || !strstr(o->message, "no plugin")) skip(); /* one is installed on this machine */
    assert_int_equal(o->status, LARMOR_ERR_UNSUPPORTED);
    assert_starts(o->message, "device cuda:0: cuda unavailable: no plugin larmor_cuda.so in /nowhere, /");
    assert_int_equal(o->count, 2);
    assert_int_equal(o->infos[1].available, 0);
    assert_string_equal(o->infos[1].spec, "cuda");
    assert_starts(o->infos[1].reason, "no plugin larmor_cuda.so in /nowhere, /");
}

TEST(the_working_directory_is_never_searched)
{
    const char *const relative[] = {NULL, "", ".", "works"};
    for (int i = 0; i < 4; i++) {
        surroundings s = {.plugin_dir = relative[i], .folder = i < 3 ? PLUGINS "/works" : PLUGINS};
        const outcome *o = look(s, "cuda:1");
        if (!strstr(o->message, "no plugin"))
            assert_null(strstr(o->reason, "Fake GPU"));
        else if (i >= 2)
            assert_non_null(strstr(o->message, " is not absolute and was ignored)"));
    }
}

/* ---- wrong ---- */

TEST(a_plugin_of_another_abi_is_refused_by_both_numbers)
{
    char expected[1024];
    snprintf(expected, sizeof expected,
             "device cuda: cuda unavailable: " PLUGINS "/wrong_abi/larmor_cuda.so has ABI 999, expected %d; "
             "install plugin and library from one release",
             LMR_BACKEND_ABI);
    const outcome *o = look((surroundings){.plugin_dir = PLUGINS "/wrong_abi"}, "cuda");
    assert_int_equal(o->status, LARMOR_ERR_UNSUPPORTED);
    assert_string_equal(o->message, expected);
    assert_string_equal(o->infos[1].reason, expected + strlen("device cuda: cuda unavailable: "));
}

TEST(a_library_that_is_no_plugin_is_refused)
{
    const outcome *o = look((surroundings){.plugin_dir = PLUGINS "/no_entry"}, "cuda:0");
    assert_int_equal(o->status, LARMOR_ERR_UNSUPPORTED);
    assert_string_equal(o->message, "device cuda:0: cuda unavailable: " PLUGINS "/no_entry/larmor_cuda.so is not a "
                                    "plugin of larmor: it has no lmr_backend_entry");
}

TEST(a_file_that_is_no_library_is_refused_in_the_loaders_words)
{
    char folder[] = "/tmp/larmor_plugin_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/larmor_cuda.so", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("not a library, though long enough to be looked at as if it were one ..................", f);
    fclose(f);
    const outcome *o = look((surroundings){.plugin_dir = folder}, "cuda:0");
    unlink(path);
    rmdir(folder);
    char expected[128];
    snprintf(expected, sizeof expected, "device cuda:0: cuda unavailable: cannot load %s: ", path);
    assert_int_equal(o->status, LARMOR_ERR_UNSUPPORTED);
    assert_starts(o->message, expected);
    assert_non_null(strstr(o->message, "invalid ELF header"));
}

/* ---- right ---- */

TEST(auto_and_cuda_take_the_first_gpu_that_opens)
{
    const surroundings s = {.plugin_dir = PLUGINS "/works", .gpus = "3"};
    const outcome *o = look(s, "auto");
    assert_int_equal(o->status, LARMOR_OK);
    assert_string_equal(o->spec, "cuda:1");
    assert_string_equal(o->reason, "auto: cuda:1 (Fake GPU)");
    assert_string_equal(look(s, "cuda")->reason, "cuda: cuda:1 (Fake GPU)");
    assert_string_equal(look(s, "cuda:2")->reason, "cuda:2 (Fake GPU)");
}

TEST(a_gpu_asked_for_by_number_is_that_one_or_none)
{
    const surroundings s = {.plugin_dir = PLUGINS "/works"};
    const outcome *o = look(s, "cuda:0");
    assert_int_equal(o->status, LARMOR_ERR_BACKEND);
    assert_string_equal(o->message, "device cuda:0: cuda unavailable: GPU 0 is lost");
    o = look(s, "cuda:7");
    assert_int_equal(o->status, LARMOR_ERR_UNSUPPORTED);
    assert_string_equal(o->message, "device cuda:7: cuda unavailable: no such GPU");
}

TEST(the_list_has_every_gpu_with_a_reason_for_each_that_does_not_open)
{
    const outcome *o = look((surroundings){.plugin_dir = PLUGINS "/works"}, "cpu");
    assert_int_equal(o->count, 3);
    assert_string_equal(o->infos[0].spec, "cpu");
    assert_string_equal(o->infos[1].spec, "cuda:0");
    assert_string_equal(o->infos[1].reason, "GPU 0 is lost");
    assert_int_equal(o->infos[1].available, 0);
    assert_string_equal(o->infos[2].spec, "cuda:1");
    assert_string_equal(o->infos[2].name, "Fake GPU");
    assert_int_equal(o->infos[2].available, 1);
    assert_int_equal(o->infos[2].memory, 3000);
}

TEST(auto_falls_back_to_the_processor_and_says_why)
{
    static const struct {
        const char *folder, *gpus, *reason;
    } cases[] = {
        {PLUGINS "/no_entry", NULL, PLUGINS "/no_entry/larmor_cuda.so is not a plugin of larmor: it has no "},
        {PLUGINS "/works", "0", "this machine has no NVIDIA GPU"},
        {PLUGINS "/works", "1", "GPU 0 is lost"},
        {PLUGINS "/works", "-2", "the driver is 2 versions too old"},
    };
    for (int i = 0; i < 4; i++) {
        const outcome *o = look((surroundings){.plugin_dir = cases[i].folder, .gpus = cases[i].gpus}, "auto");
        char expected[512];
        assert_int_equal(o->status, LARMOR_OK);
        assert_starts(o->spec, "cpu:");
        snprintf(expected, sizeof expected, "auto: %s, because cuda unavailable: %s", o->spec, cases[i].reason);
        assert_starts(o->reason, expected);
        assert_starts(o->infos[1].reason, cases[i].reason);
    }
}

enum { ASKING = 8 };

static void *ask_for_a_gpu(void *arg)
{
    int *right = arg;
    OWNED(larmor_device) *d;
    if (larmor_device_open("cuda", &d)) return NULL;
    *right = !strcmp(larmor_device_spec(d), "cuda:1");
    return NULL;
}

/* The search is a process's first, so a child makes it. */
TEST(threads_that_ask_for_the_plugin_at_the_same_time_all_get_it)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        pthread_t thread[ASKING];
        int right[ASKING] = {0}, wrong = 0;
        set("LARMOR_PLUGIN_DIR", PLUGINS "/works");
        set("FAKE_GPUS", NULL);
        for (int i = 0; i < ASKING; i++) wrong += pthread_create(&thread[i], NULL, ask_for_a_gpu, &right[i]) != 0;
        for (int i = 0; i < ASKING; i++) {
            pthread_join(thread[i], NULL);
            wrong += !right[i];
        }
        _exit(wrong);
    }
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

int main(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) return 1;
    return run_on_device();
}
