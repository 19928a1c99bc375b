/* io/checkpoint.c and core/checkpoint.c: a place for a checkpoint in a file. SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "core/checkpoint.h"
#include "tests/io/files.h"

static const char first_text[] = "what was reached first", second_text[] = "and what was reached then";

static larmor_checkpoint *place_at(const char *path)
{
    return MADE(larmor_checkpoint, larmor_checkpoint_file(path, &made));
}

static larmor_status save(const larmor_checkpoint *c, const char *text)
{
    const size_t bytes = strlen(text), half = bytes / 2;
    larmor_status st = lmr_checkpoint_begin(c, (int64_t)bytes);
    if (!st) st = lmr_checkpoint_put(c, text, half);
    if (!st) st = lmr_checkpoint_put(c, text + half, bytes - half);
    return st ? st : lmr_checkpoint_commit(c);
}

static void holds(const char *path, const char *text)
{
    OWNED(larmor_checkpoint) *c = place_at(path);
    int64_t bytes;
    char got[64] = "";
    assert_ok(lmr_checkpoint_open(c, &bytes));
    assert_int_equal(bytes, strlen(text));
    if (bytes) assert_ok(lmr_checkpoint_get(c, 0, got, (size_t)bytes));
    assert_string_equal(got, text);
    if (bytes > 5) assert_ok(lmr_checkpoint_get(c, 5, got, (size_t)bytes - 5));
    assert_memory_equal(got, text + (bytes > 5 ? 5 : 0), bytes > 5 ? (size_t)bytes - 5 : 0);
}

/* A file with the first text. */
static const char *saved(void)
{
    const char *path = in_folder("run.ckp");
    OWNED(larmor_checkpoint) *c = place_at(path);
    assert_ok(save(c, first_text));
    return path;
}

IN_FOLDER(what_was_saved_is_there_for_the_next)
{
    const char *path = in_folder("run.ckp");
    holds(path, "");
    assert_int_equal(files_in_folder(), 0);
    saved();
    holds(path, first_text);
    assert_int_equal(files_in_folder(), 1);
}

/* Standard input has the number 0, as files that were never opened may seem to have. */
IN_FOLDER(a_checkpoint_that_is_not_there_closes_nothing)
{
    if (fcntl(0, F_GETFD) < 0) assert_int_equal(open("/dev/null", O_RDONLY), 0);
    holds(in_folder("run.ckp"), "");
    assert_true(fcntl(0, F_GETFD) >= 0);
}

IN_FOLDER(the_one_before_is_kept_and_no_more)
{
    const char *path = in_folder("run.ckp");
    larmor_checkpoint *c = place_at(path);
    assert_ok(save(c, "an early one"));
    assert_ok(save(c, first_text));
    assert_ok(save(c, second_text));
    larmor_checkpoint_free(c);
    assert_int_equal(files_in_folder(), 2);
    holds(path, second_text);
    assert_int_equal(rename(in_folder("run.ckp.previous"), path), 0);
    holds(path, first_text);
}

IN_FOLDER(what_was_not_committed_changes_nothing)
{
    const char *path = saved();
    larmor_checkpoint *c = place_at(path);
    assert_ok(lmr_checkpoint_begin(c, 5));
    assert_ok(lmr_checkpoint_put(c, "12345", 5));
    larmor_checkpoint_free(c);
    assert_int_equal(files_in_folder(), 1);
    holds(path, first_text);
}

IN_FOLDER(a_sequence_that_was_left_is_dropped_by_the_next)
{
    const char *path = saved();
    larmor_checkpoint *c = place_at(path);
    assert_ok(lmr_checkpoint_begin(c, 9));
    assert_ok(lmr_checkpoint_put(c, "123", 3));
    assert_ok(save(c, second_text));
    larmor_checkpoint_free(c);
    holds(path, second_text);
}

IN_FOLDER(removed_it_leaves_nothing)
{
    const char *path = saved();
    OWNED(larmor_checkpoint) *c = place_at(path);
    assert_ok(save(c, second_text));
    assert_int_equal(files_in_folder(), 3); /* and the next one */
    assert_ok(larmor_checkpoint_remove(c));
    assert_int_equal(files_in_folder(), 0);
    assert_ok(larmor_checkpoint_remove(c));
}

static larmor_status try_open(const char *path)
{
    OWNED(larmor_checkpoint) *c;
    int64_t bytes = 0;
    larmor_status st = larmor_checkpoint_file(path, &c);
    if (!st) st = lmr_checkpoint_open(c, &bytes);
    return st;
}

IN_FOLDER(any_byte_that_was_changed_is_seen)
{
    const char *path = saved();
    size_t bytes;
    HEAP unsigned char *data = get_file(path, &bytes);
    for (size_t i = 0; i < bytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            data[i] ^= (unsigned char)(1 << bit);
            put_file(path, data, bytes);
            assert_refused(try_open(path), LARMOR_ERR_FORMAT, "elete it");
            assert_non_null(strstr(larmor_last_error(), "opts.checkpoint"));
            assert_non_null(strstr(larmor_last_error(), path));
            data[i] ^= (unsigned char)(1 << bit);
        }
    put_file(path, data, bytes);
    holds(path, first_text);
}

IN_FOLDER(at_any_length_but_its_own_it_is_damaged)
{
    const char *path = saved();
    size_t bytes;
    unsigned char *data = get_file(path, &bytes);
    for (size_t length = 0; length < bytes; length++) {
        put_file(path, data, length);
        assert_refused(try_open(path), LARMOR_ERR_FORMAT, "elete it");
    }
    data = realloc(data, bytes + 1);
    assert_non_null(data);
    data[bytes] = 0;
    put_file(path, data, bytes + 1);
    assert_refused(try_open(path), LARMOR_ERR_FORMAT, "damaged (its checksum is wrong). Delete it to start again");
    free(data);
}

IN_FOLDER(the_message_names_the_one_before)
{
    const char *path = saved();
    larmor_checkpoint *c = place_at(path);
    assert_ok(save(c, second_text));
    larmor_checkpoint_free(c);
    put_file(path, "larmor checkpoint\nbut what is this?", 34);
    assert_refused(try_open(path), LARMOR_ERR_FORMAT, "run.ckp.previous to it to go on from there.");
}

IN_FOLDER(files_that_are_no_checkpoints_are_left_alone)
{
    const char *path = in_folder("run.ckp"), *previous = in_folder("run.ckp.previous");
    const char *const both[] = {path, previous};
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        put_file(both[i], "the only copy of a thesis", 25);
        assert_refused(try_open(path), LARMOR_ERR_FORMAT, "is no checkpoint. Choose another name, or delete it.");
        HEAP unsigned char *data = get_file(both[i], &bytes);
        assert_memory_equal(data, "the only copy of a thesis", 25);
        assert_int_equal(files_in_folder(), 1);
        unlink(both[i]);
    }
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(try_open(path), LARMOR_ERR_EXISTS, "is a folder");
    rmdir(path);
    assert_refused(try_open(in_folder("nowhere/run.ckp")), LARMOR_ERR_IO, "no such folder");
}

IN_FOLDER(of_two_processes_one_has_it)
{
    const char *path = saved();
    larmor_checkpoint *c = place_at(path), *other;
    assert_refused(larmor_checkpoint_file(path, &other), LARMOR_ERR_IO, "is being written by pid");
    assert_ok(save(c, second_text));
    assert_refused(larmor_checkpoint_file(path, &other), LARMOR_ERR_IO, "is being written by pid");
    larmor_checkpoint_free(c);
    holds(path, second_text);
}

IN_FOLDER(a_full_disk_leaves_what_is_there)
{
    const char *path = saved();
    larmor_checkpoint *c = place_at(path);
    assert_refused(lmr_checkpoint_begin(c, INT64_C(1) << 60), LARMOR_ERR_IO, "no space left");
    assert_refused(lmr_checkpoint_put(c, "1", 1), LARMOR_ERR_ARG, "nothing was begun");
    assert_refused(lmr_checkpoint_commit(c), LARMOR_ERR_ARG, "nothing was begun");
    assert_int_equal(files_in_folder(), 1);
    assert_ok(save(c, second_text)); /* there is room again */
    larmor_checkpoint_free(c);
    holds(path, second_text);
}

IN_FOLDER(a_place_of_ones_own_needs_all_functions)
{
    static const larmor_checkpoint_impl none;
    assert_none_made(larmor_checkpoint, larmor_checkpoint_create("x", &none, NULL, &made), LARMOR_ERR_ARG,
                     "open, get, begin, put, commit");
    assert_none_made(larmor_checkpoint, larmor_checkpoint_file("", &made), LARMOR_ERR_ARG, "no path");
}
