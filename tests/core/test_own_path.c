/* Paths from the library's own folder, which are those of plugins and of larmor-reader: never one where another user
 * may put a file. The program is copied to where it shall lie and asked there. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "core/own_path.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { PLACES = 16 };

static char root[] = "/tmp/larmor_own_path_XXXXXX";

static const char *in_root(const char *below)
{
    static char path[PLACES][PATH_MAX]; /* of the last calls */
    static int next;
    next = (next + 1) % PLACES;
    snprintf(path[next], PATH_MAX, "%s/%s", root, below);
    return path[next];
}

/* What the program at that path, which its caller calls by that name, has for the way to below; "" for none. */
static const char *asked_at(const char *program, const char *name, const char *which, const char *below)
{
    static char answer[PATH_MAX];
    int ends[2], how = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program, name, which, below, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got = 0;
    while ((got = read(ends[0], answer + length, sizeof answer - 1 - length)) > 0) length += (size_t)got;
    answer[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    return answer;
}

static const char *asked(const char *program, const char *below)
{
    return asked_at(program, program, "0", below);
}

static void copy_program(const char *to)
{
    static char bytes[1 << 16];
    FILE *from = fopen("/proc/self/exe", "rb"), *copy = fopen(to, "wb");
    size_t length = 0;
    assert_true(from && copy);
    while ((length = fread(bytes, 1, sizeof bytes, from)) > 0)
        assert_int_equal(fwrite(bytes, 1, length, copy), length);
    fclose(from);
    assert_int_equal(fclose(copy), 0);
    assert_int_equal(chmod(to, 0755), 0);
}

static int make_places(void **state LMR_UNUSED)
{
    assert_non_null(mkdtemp(root));
    assert_int_equal(mkdir(in_root("lib"), 0755), 0);
    copy_program(in_root("lib/program"));
    return 0;
}

static int remove_places(void **state LMR_UNUSED)
{
    unlink(in_root("link"));
    unlink(in_root("lib/program"));
    rmdir(in_root("lib"));
    rmdir(root);
    return 0;
}

TEST(a_path_begins_at_the_folder_of_the_file)
{
    const char *program = in_root("lib/program");
    assert_string_equal(asked(program, ""), in_root("lib"));
    assert_string_equal(asked(program, "larmor"), in_root("lib/larmor"));
    assert_string_equal(asked(program, "../libexec/reader"), in_root("lib/../libexec/reader"));
}

TEST(a_program_is_found_by_its_file_and_not_by_the_name_that_its_caller_gives)
{
    assert_string_equal(asked_at(in_root("lib/program"), "/elsewhere/bin/program", "0", "larmor"),
                        in_root("lib/larmor"));
}

TEST(links_are_resolved)
{
    assert_int_equal(symlink(in_root("lib/program"), in_root("link")), 0);
    assert_string_equal(asked_at(in_root("link"), "link", "1", "larmor"), in_root("lib/larmor"));
}

TEST(nothing_is_taken_from_a_folder_where_any_user_may_put_files)
{
    const char *program = in_root("lib/program");
    assert_int_equal(chmod(in_root("lib"), 01777), 0);
    assert_string_equal(asked(program, ""), "");
    assert_string_equal(asked(program, "larmor"), "");
    assert_string_equal(asked(program, "../libexec/reader"), "");
    assert_int_equal(chmod(in_root("lib"), 0755), 0);
    assert_int_equal(chmod(root, 01777), 0);
    assert_string_equal(asked(program, "larmor"), in_root("lib/larmor"));
    assert_string_equal(asked(program, "../libexec/reader"), "");
    assert_int_equal(chmod(root, 0755), 0);
    assert_string_equal(asked(program, "../libexec/reader"), in_root("lib/../libexec/reader"));
}

TEST(a_path_without_room_is_none)
{
    char path[PATH_MAX];
    assert_true(lmr_own_path(LMR_FOLDER_AS_LOADED, "below", path, sizeof path));
    const size_t length = strlen(path);
    HEAP char *exact = malloc(length + 1);
    assert_non_null(exact);
    assert_true(lmr_own_path(LMR_FOLDER_AS_LOADED, "below", exact, length + 1));
    assert_string_equal(exact, path);
    for (size_t room = 0; room <= length; room++)
        assert_false(lmr_own_path(LMR_FOLDER_AS_LOADED, "below", exact, room));
}

static int answer(const char *which, const char *below)
{
    char path[PATH_MAX];
    if (lmr_own_path(atoi(which), below, path, sizeof path)) fputs(path, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3) return answer(argv[1], argv[2]);
    return run_claims(make_places, remove_places) ? 1 : 0;
}
