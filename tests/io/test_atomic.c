/* Outputs appear whole or not at all. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "tests/io/files.h"

#include <signal.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "core/atomic.h"

static const char *const suffixes[] = {".h5", ".nii", ".nii.gz", ".png", ".cfl", ".npy"};
#define SUFFIXES (sizeof suffixes / sizeof suffixes[0])

static const char *named(const char *stem, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", stem, suffix);
    return in_folder(name);
}

static void refused(const char *path, int force, larmor_status status, const char *text)
{
    assert_none_made(larmor_output, larmor_output_open(path, force, &made), status, text);
}

IN_FOLDER(unknown_suffix_lists_the_known_ones)
{
    const char *list = "use one of .h5, .nii, .nii.gz, .png, .gif, .cfl, .html, .npy, .dcm/, .dcm";
    refused(in_folder("x.tiff"), 0, LARMOR_ERR_ARG, list);
    refused(in_folder("nosuffix"), 0, LARMOR_ERR_ARG, list);
    refused(in_folder(".h5"), 0, LARMOR_ERR_ARG, list);
    refused("", 0, LARMOR_ERR_ARG, "no path");
    refused(NULL, 0, LARMOR_ERR_ARG, "no path");
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(missing_folder_is_named)
{
    refused(in_folder("none/x.h5"), 0, LARMOR_ERR_IO, "/none; make it first.");
    put_file(in_folder("file"), "x", 1);
    refused(in_folder("file/x.h5"), 0, LARMOR_ERR_IO, "no such folder");
}

IN_FOLDER(read_only_folder_is_refused)
{
    if (geteuid() == 0) { /* permissions do not bind root */
        refused("/proc/x.h5", 0, LARMOR_ERR_IO, "cannot create a file in its folder");
        return;
    }
    assert_int_equal(chmod(folder, 0500), 0);
    refused(in_folder("x.h5"), 0, LARMOR_ERR_IO, "cannot create a file in its folder (Permission denied)");
}

IN_FOLDER(long_name_is_refused)
{
    char name[300];
    memset(name, 'a', sizeof name);
    strcpy(name + 247, ".h5");
    refused(in_folder(name), 0, LARMOR_ERR_IO, "the name has 250 characters, at most ");
    strcpy(name + 200, ".h5");
    OWN(larmor_output, *out, larmor_output_open(in_folder(name), 0, &out));
}

IN_FOLDER(existing_file_needs_force)
{
    const char *path = in_folder("out.h5");
    put_file(path, "old", 3);
    char text[600];
    snprintf(text, sizeof text, "%s: exists already; opts.force overwrites it", path);
    refused(path, 0, LARMOR_ERR_EXISTS, text);
    put_file(in_folder("k.hdr"), "old", 3);
    refused(in_folder("k.cfl"), 0, LARMOR_ERR_EXISTS, "k.cfl: k.hdr exists already; opts.force overwrites it");
    size_t bytes;
    HEAP unsigned char *data = get_file(path, &bytes);
    assert_int_equal(bytes, 3);
    assert_memory_equal(data, "old", 3);
}

IN_FOLDER(symbolic_link_is_neither_followed_nor_replaced)
{
    put_file(in_folder("target.npy"), "old", 3);
    put_file(in_folder("target.hdr"), "old", 3);
    assert_int_equal(symlink("target.npy", in_folder("link.npy")), 0);
    assert_int_equal(symlink("nowhere", in_folder("loose.npy")), 0);
    assert_int_equal(symlink("target.hdr", in_folder("pair.hdr")), 0);
    for (int force = 0; force < 2; force++) {
        const char *text = "link.npy: is a symbolic link; name the file that it points to.";
        refused(in_folder("link.npy"), force, LARMOR_ERR_EXISTS, text);
        refused(in_folder("loose.npy"), force, LARMOR_ERR_EXISTS, "loose.npy: is a symbolic link;");
        refused(in_folder("pair.cfl"), force, LARMOR_ERR_EXISTS, "pair.cfl: pair.hdr is a symbolic link;");
    }
    assert_int_equal(files_in_folder(), 5);
}

IN_FOLDER(what_is_reserved_and_not_written_is_given_back)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1);
    const larmor_shape large = LARMOR_SHAPE(512, 512, 4);
    for (size_t i = 0; i < SUFFIXES; i++) {
        larmor_output *out;
        struct stat s;
        assert_ok(larmor_output_open(named("out", suffixes[i]), 0, &out));
        assert_ok(larmor_output_reserve(out, LARMOR_C64, large, 0));
        assert_ok(fstat(out->part[0].fd, &s));
        const int packed = !strcmp(suffixes[i], ".png") || !strcmp(suffixes[i], ".nii.gz");
        const int64_t voxel = strcmp(suffixes[i], ".nii") ? 8 : 4;
        const int64_t least = packed ? 0 : 512 * 512 * 4 * voxel;
        assert_true(s.st_size >= least && (!packed || !s.st_size));
        const larmor_image image = {
            .data = x, .meta = {.fov_mm = {1, 1, 1}, .read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}}};
        assert_ok(larmor_image_write(out, &image, 1, NULL));
        assert_ok(stat(named("out", suffixes[i]), &s));
        assert_true(s.st_size < 100000 && s.st_blocks * 512 < 200000);
        larmor_output_free(out);
        if (packed && i == 3) continue;
        OWN(larmor_array, *y, larmor_image_read(named("out", suffixes[i]), dev, &y));
    }
}

IN_FOLDER(more_than_the_disk_has_is_refused_with_both_figures)
{
    struct statvfs fs;
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("x.npy"), 0, &made));
    assert_ok(fstatvfs(out->folder, &fs));
    const int64_t room = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
    assert_int_equal(lmr_output_reserve(out, 0, room + (INT64_C(1) << 40)), LARMOR_ERR_IO);
    assert_non_null(strstr(larmor_last_error(), "x.npy: no space left (needs "));
    assert_non_null(strstr(larmor_last_error(), "iB free); nothing written."));
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(space_is_refused_before_anything_is_written)
{
    OWN(larmor_output, *out, larmor_output_open(in_folder("x.h5"), 0, &out));
    limit_files(1 << 20);
    const larmor_status st = larmor_output_reserve(out, LARMOR_C64, LARMOR_SHAPE(1024, 1024), 0);
    limit_files(RLIM_INFINITY);
    assert_refused(st, LARMOR_ERR_IO, "x.h5: needs 8.0 MiB, files may have 1.0 MiB (ulimit -f); nothing written.");
    assert_refused(larmor_output_reserve(out, LARMOR_C64, LARMOR_SHAPE(INT64_C(1) << 60), 0), LARMOR_ERR_SHAPE,
                   "passes 2^62");
}

IN_FOLDER(values_that_are_not_finite_are_refused_by_every_format)
{
    const float spoiled[][2] = {{NAN, 0}, {0, -INFINITY}, {3e38f, 3e38f}};
    for (size_t k = 0; k < sizeof spoiled / sizeof *spoiled; k++) {
        float host[24] = {1};
        host[10] = spoiled[k][0];
        host[11] = spoiled[k][1];
        OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(4, 3), &x));
        assert_ok(larmor_array_write(x, host, sizeof host));
        for (size_t i = 0; i < SUFFIXES; i++) {
            const char *suffix = suffixes[i];
            const int keeps_both = !strcmp(suffix, ".h5") || !strcmp(suffix, ".cfl") || !strcmp(suffix, ".npy");
            if (k == 2 && keeps_both) continue; /* finite parts, whose magnitude is not */
            assert_refused(write_image(named("x", suffix), 0, x, NULL), LARMOR_ERR_NUMERIC, "x");
            assert_non_null(strstr(larmor_last_error(), ": 1 value is not finite; nothing written."));
            assert_int_equal(files_in_folder(), 0);
        }
    }
}

IN_FOLDER(folder_or_pipe_in_the_way_is_refused_also_with_force)
{
    assert_int_equal(mkdir(in_folder("d.png"), 0700), 0);
    refused(in_folder("d.png"), 1, LARMOR_ERR_EXISTS, "d.png: is a folder; choose another name.");
    assert_int_equal(mkfifo(in_folder("p.png"), 0600), 0);
    refused(in_folder("p.png"), 1, LARMOR_ERR_EXISTS, "p.png: is not a regular file");
}

IN_FOLDER(abandoned_output_leaves_nothing_and_the_old_file)
{
    put_file(in_folder("out.npy"), "old", 3);
    larmor_output *out;
    assert_ok(larmor_output_open(in_folder("out.npy"), 1, &out));
    assert_string_equal(larmor_output_path(out), in_folder("out.npy"));
    assert_int_equal(files_in_folder(), 2);
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 1);
    larmor_output_free(NULL);
}

IN_FOLDER(second_writer_is_refused_with_the_pid_of_the_first)
{
    larmor_output *out;
    assert_ok(larmor_output_open(in_folder("out.cfl"), 0, &out));
    char text[64];
    snprintf(text, sizeof text, "output is being written by pid %ld;", (long)getpid());
    refused(in_folder("out.cfl"), 1, LARMOR_ERR_IO, text);
    larmor_output *other; /* another target in the same folder is free */
    assert_ok(larmor_output_open(in_folder("out.npy"), 0, &other));
    larmor_output_free(other);
    larmor_output_free(out);
    assert_ok(larmor_output_open(in_folder("out.cfl"), 0, &out));
    larmor_output_free(out);
}

IN_FOLDER(temporary_files_of_killed_runs_are_removed)
{
    put_file(in_folder("out.npy.part.12.abcdef"), "mine", 4); /* not ours: no leading dot */
    const pid_t child = fork();
    if (!child) {
        larmor_output *out;
        if (larmor_output_open(in_folder("out.npy"), 0, &out)) _exit(1);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(files_in_folder(), 2);
    larmor_output *out;
    assert_ok(larmor_output_open(in_folder("out.npy"), 0, &out));
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 1);
}

IN_FOLDER(finished_file_has_the_mode_of_the_umask_and_a_growing_one_is_private)
{
    const mode_t before = umask(027);
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1);
    larmor_output *out;
    assert_ok(larmor_output_open(in_folder("out.npy"), 0, &out));
    DIR *d = opendir(folder);
    struct stat s;
    for (const struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".out.npy.part.")) {
            assert_int_equal(stat(in_folder(e->d_name), &s), 0);
            assert_int_equal(s.st_mode & 07777, 0600);
        }
    closedir(d);
    assert_ok(larmor_array_save(out, x));
    assert_int_equal(stat(in_folder("out.npy"), &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);
    assert_refused(larmor_array_save(out, x), LARMOR_ERR_ARG, "was written already");
    larmor_output_free(out);
    umask(before);
    assert_int_equal(files_in_folder(), 1);
}

/* A private image stays private, one for all stays so; special bits are not inherited. */
IN_FOLDER(a_file_that_replaces_another_has_the_mode_of_that)
{
    const mode_t before = umask(022), modes[] = {0600, 0664, 0444, 04750};
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1);
    for (int m = 0; m < 4; m++)
        for (int pair = 0; pair < 2; pair++) {
            const char *first = in_folder(pair ? "k.cfl" : "k.npy");
            const char *second = in_folder(pair ? "k.hdr" : "k.npy");
            struct stat s;
            larmor_output *out;
            put_file(first, "old", 3);
            put_file(second, "old", 3);
            assert_int_equal(chmod(first, modes[m]), 0);
            assert_int_equal(chmod(second, pair ? 0640 : modes[m]), 0);
            assert_ok(larmor_output_open(first, 1, &out));
            assert_ok(larmor_array_save(out, x));
            larmor_output_free(out);
            assert_int_equal(stat(first, &s), 0);
            assert_true(s.st_size > 3);
            assert_int_equal(s.st_mode & 07777, modes[m] & 0777);
            assert_int_equal(stat(second, &s), 0);
            assert_int_equal(s.st_mode & 07777, pair ? 0640 : modes[m] & 0777);
            unlink(first);
            unlink(second);
        }
    umask(before);
}

IN_FOLDER(force_replaces_both_files_of_a_pair)
{
    put_file(in_folder("k.cfl"), "old", 3);
    put_file(in_folder("k.hdr"), "old", 3);
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1), *y;
    assert_ok(write_image(in_folder("k.cfl"), 1, x, NULL));
    assert_int_equal(files_in_folder(), 2);
    assert_ok(larmor_image_read(in_folder("k.cfl"), dev, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(4, 3)));
}

IN_FOLDER(target_that_appears_meanwhile_is_kept_and_a_pair_is_taken_back)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1);
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("k.cfl"), 0, &made));
    put_file(in_folder("k.hdr"), "other", 5);
    assert_refused(larmor_array_save(out, x), LARMOR_ERR_EXISTS,
                   "appeared while it was computed; opts.force overwrites it");
    assert_false(is_there(in_folder("k.cfl")));
    assert_int_equal(files_in_folder(), 1);
    larmor_output_free(out);

    put_file(in_folder("k.cfl"), "old", 3); /* and with force: the .hdr cannot be replaced by a file */
    remove(in_folder("k.hdr"));
    assert_ok(larmor_output_open(in_folder("k.cfl"), 1, &out));
    assert_int_equal(mkdir(in_folder("k.hdr"), 0700), 0);
    assert_refused(larmor_array_save(out, x), LARMOR_ERR_IO, "cannot rename");
    size_t bytes;
    HEAP unsigned char *data = get_file(in_folder("k.cfl"), &bytes);
    assert_int_equal(bytes, 3);
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 2);
}

IN_FOLDER(failing_write_keeps_the_old_file_in_every_format)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(128, 128), 1);
    for (size_t i = 0; i < SUFFIXES; i++) {
        const char *path = named("out", suffixes[i]);
        put_file(path, "old", 3);
        limit_files(4096);
        const larmor_status st = write_image(path, 1, x, NULL);
        limit_files(RLIM_INFINITY);
        assert_int_equal(st, LARMOR_ERR_IO);
        assert_non_null(strstr(larmor_last_error(), "nothing written."));
        assert_int_equal(files_in_folder(), 1);
        size_t bytes;
        HEAP unsigned char *data = get_file(path, &bytes);
        assert_int_equal(bytes, 3);
        remove(path);
    }
}

IN_FOLDER(more_than_a_file_may_have_is_refused_with_both_figures)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(1024, 1024), 1);
    limit_files(1 << 20);
    assert_refused(write_image(in_folder("x.npy"), 0, x, NULL), LARMOR_ERR_IO,
                   "x.npy: needs 8.0 MiB, files may have 1.0 MiB (ulimit -f); nothing written.");
    limit_files(RLIM_INFINITY);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(write_that_fails_half_way_is_reported_with_its_reason)
{
    put_file(in_folder("out.npy"), "old", 3);
    larmor_output *out;
    assert_ok(larmor_output_open(in_folder("out.npy"), 1, &out));
    HEAP char *zeros = calloc(1, 1 << 16);
    limit_files(4096);
    const larmor_status st = lmr_output_put(out, 0, zeros, 1 << 16);
    limit_files(RLIM_INFINITY);
    assert_int_equal(st, LARMOR_ERR_IO);
    assert_non_null(strstr(larmor_last_error(), "out.npy: cannot write (File too large); nothing written."));
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 1);
}

/* Kill writers at random moments: the target is the old file or a whole new one, never something else. */
IN_FOLDER(killed_writers_leave_whole_files)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(512, 512), 1);
    const char *path = in_folder("out.npy");
    assert_ok(write_image(path, 0, x, NULL));
    size_t whole;
    free(get_file(path, &whole));
    uint64_t seed = 5;
    for (int i = 0; i < 30; i++) {
        const pid_t child = fork();
        if (!child) {
            while (1)
                if (write_image(path, 1, x, NULL)) _exit(1);
        }
        usleep((useconds_t)(1000 + 9000 * (1 + test_random(&seed))));
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        size_t bytes;
        free(get_file(path, &bytes));
        assert_int_equal(bytes, whole);
        OWN(larmor_array, *y, larmor_image_read(path, dev, &y));
    }
    assert_ok(write_image(path, 1, x, NULL));
    assert_int_equal(files_in_folder(), 1);
}

/* In a process of its own, whose outputs are abandoned for good. */
IN_FOLDER(outputs_that_a_handler_abandons_leave_nothing_and_are_never_complete)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 3), 1);
    put_file(in_folder("old.npy"), "old", 3);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        larmor_output *first, *second, *third;
        if (larmor_output_open(in_folder("new.cfl"), 0, &first) ||
            larmor_output_open(in_folder("old.npy"), 1, &second))
            _exit(1);
        if (files_in_folder() != 4 || !larmor_outputs_abandon() || files_in_folder() != 1) _exit(2);
        if (larmor_array_save(first, x) != LARMOR_STOPPED) _exit(3);
        larmor_output_free(first);
        larmor_output_free(second);
        if (larmor_output_open(in_folder("third.npy"), 0, &third) != LARMOR_STOPPED) _exit(4);
        _exit(larmor_outputs_abandon() ? 0 : 5);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(files_in_folder(), 1);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    return run_on_device();
}
