/* stream/server.c, stream/address.c: sessions side by side, and addresses. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "tests/stream/streams.h"

typedef struct served {
    larmor_server *server;
    pthread_t thread;
    atomic_int stops, ended, refuses;
    larmor_status status;
} served;

static int wants_to_stop(void *user)
{
    return atomic_load(&((served *)user)->stops);
}

static larmor_status begin_session(void *user, int64_t number LMR_UNUSED, larmor_session_opts *session)
{
    served *s = user;
    const larmor_session_opts ours = quick();
    if (atomic_load(&s->refuses)) return larmor_fail(LARMOR_ERR_MEMORY, "no more of them");
    *session = ours;
    return larmor_device_open("cpu:1", &session->job.dev);
}

static void end_session(void *user, int64_t number LMR_UNUSED, larmor_session_opts *session,
                        const larmor_session_report *report LMR_UNUSED, larmor_status status LMR_UNUSED)
{
    served *s = user;
    larmor_device_free(session->job.dev);
    atomic_fetch_add(&s->ended, 1);
}

static void *run_server(void *user)
{
    served *s = user;
    larmor_stop_when(wants_to_stop, s);
    s->status = larmor_server_run(s->server);
    return NULL;
}

static void serve(served *s, const char *address, int sessions)
{
    memset(s, 0, sizeof *s);
    const larmor_server_opts opts = {.sessions = sessions, .begin = begin_session, .end = end_session, .user = s};
    assert_ok(larmor_server_create(address, &opts, &s->server));
    assert_int_equal(pthread_create(&s->thread, NULL, run_server, s), 0);
}

static void stop(served *s)
{
    atomic_store(&s->stops, 1);
    pthread_join(s->thread, NULL);
    assert_int_equal(s->status, LARMOR_STOPPED);
    larmor_server_free(s->server);
}

static void send_half(larmor_stream *to, int half)
{
    const int64_t count = larmor_raw_describe(scan).acquisitions;
    for (int64_t i = half ? count / 2 : 0; i < (half ? count : count / 2); i++) {
        const larmor_acquisition a = acquisition(i);
        send_acquisition(to, &a);
    }
}

WITH_SCAN(sessions_are_side_by_side_and_give_the_same_images)
{
    served s;
    larmor_stream *slow, *fast, *gone;
    const larmor_session_opts ours = quick();
    OWNED(images) want = expected(&ours.job.recon);
    serve(&s, "127.0.0.1:0", 4);
    assert_null(strstr(larmor_server_address(s.server), ":0 "));
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &slow));
    send_text(slow, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    send_text(slow, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_half(slow, 0);
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &gone)); /* in the middle of a message */
    send_text(gone, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_half(gone, 0);
    larmor_stream_free(gone);
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &fast));
    OWN(larmor_response, got, larmor_stream_request(fast, &(larmor_request){.raw = scan}, dev, &got));
    larmor_stream_free(fast);
    assert_int_equal(got.count, 4);
    send_half(slow, 1);
    send_text(slow, LARMOR_MESSAGE_CLOSE, NULL);
    for (int i = 0; i < 4; i++) {
        assert_same_bits(want.data[i], wait_for(slow, LARMOR_MESSAGE_IMAGE, NULL, NULL).image.data);
        OWN_MEMORY(float, *v, larmor_array_download(got.image[i].data, LARMOR_C64, &v));
        assert_same_bits(want.data[i], v);
    }
    wait_for(slow, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    larmor_stream_free(slow);
    stop(&s);
    assert_int_equal(s.ended, 3);
}

WITH_SCAN(more_clients_than_sessions_wait_for_their_turn)
{
    served s;
    larmor_stream *first, *second;
    larmor_response got;
    serve(&s, "127.0.0.1:0", 1);
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &first));
    send_text(first, LARMOR_MESSAGE_CONFIG_FILE, "null");
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &second));
    send_text(second, LARMOR_MESSAGE_CLOSE, NULL);
    assert_int_equal(s.ended, 0); /* the first one goes on */
    larmor_stream_free(first);
    wait_for(second, LARMOR_MESSAGE_CLOSE, NULL, NULL);
    larmor_stream_free(second);
    assert_ok(larmor_stream_connect(larmor_server_address(s.server), NULL, &first));
    assert_ok(larmor_stream_request(first, &(larmor_request){.raw = scan, .config = "null"}, dev, &got));
    assert_true(got.closed && !got.count && !got.failed);
    larmor_response_free(&got);
    larmor_stream_free(first);
    stop(&s);
}

WITH_SCAN(a_session_that_cannot_begin_is_told_and_closed)
{
    served s;
    larmor_response got;
    serve(&s, "127.0.0.1:0", 1);
    atomic_store(&s.refuses, 1);
    larmor_stream *client = MADE(larmor_stream, larmor_stream_connect(larmor_server_address(s.server), NULL, &made));
    assert_ok(larmor_stream_request(client, &(larmor_request){.raw = scan}, dev, &got));
    assert_true(got.failed && got.closed && !got.count);
    larmor_response_free(&got);
    larmor_stream_free(client);
    stop(&s);
}

WITH_SCAN(a_server_that_stops_ends_its_sessions)
{
    served s;
    serve(&s, "127.0.0.1:0", 2);
    OWN(larmor_stream, *client, larmor_stream_connect(larmor_server_address(s.server), NULL, &client));
    send_text(client, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    send_text(client, LARMOR_MESSAGE_HEADER, "<never completed>");
    stop(&s);
}

WITH_SCAN(a_unix_socket_is_for_its_owner_and_goes_with_the_server)
{
    served s;
    struct stat file;
    larmor_response got;
    larmor_server *second;
    const char *path = in_folder("socket");
    serve(&s, path, 2);
    assert_int_equal(stat(path, &file), 0);
    assert_true(S_ISSOCK(file.st_mode) && (file.st_mode & 0777) == 0600);
    assert_refused(larmor_server_create(path, NULL, &second), LARMOR_ERR_IO, "cannot listen there");
    larmor_stream *client = MADE(larmor_stream, larmor_stream_connect(path, NULL, &made));
    assert_ok(larmor_stream_request(client, &(larmor_request){.raw = scan}, dev, &got));
    assert_int_equal(got.count, 4);
    larmor_response_free(&got);
    larmor_stream_free(client);
    stop(&s);
    assert_false(is_there(path));
}

WITH_SCAN(the_socket_of_a_server_that_died_is_replaced_and_a_file_is_not)
{
    const char *path = in_folder("socket"), *file = in_folder("file");
    struct sockaddr_un {
        sa_family_t family;
        char path[108];
    } at = {.family = AF_UNIX};
    snprintf(at.path, sizeof at.path, "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
    close(fd);
    larmor_server *server = MADE(larmor_server, larmor_server_create(path, NULL, &made));
    larmor_server_free(server);
    put_file(file, "x", 1);
    assert_refused(larmor_server_create(file, NULL, &server), LARMOR_ERR_IO, "cannot listen there");
    assert_true(is_there(file));
}

WITH_SCAN(what_is_no_address_is_refused)
{
    static const char *const wrong[] = {"",      "localhost",    "localhost:",   ":9002",
                                        "h:x",   "h:1x",         "h:65536",      "localhost:-1",
                                        "[::1]", "localhost: 1", "localhost:+1", "localhost:99999999999999999999"};
    larmor_server *server;
    larmor_stream *stream;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_refused(larmor_server_create(wrong[i], NULL, &server), LARMOR_ERR_ARG, "HOST:PORT");
        assert_refused(larmor_stream_connect(wrong[i], NULL, &stream), LARMOR_ERR_ARG, "HOST:PORT");
    }
    assert_refused(larmor_stream_connect("localhost:0", NULL, &stream), LARMOR_ERR_ARG, "a port from 1 to 65535");
    assert_refused(larmor_stream_connect("/no/such/socket", NULL, &stream), LARMOR_ERR_IO, "cannot be connected to");
    char longer[200];
    memset(longer, '/', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_refused(larmor_stream_connect(longer, NULL, &stream), LARMOR_ERR_ARG, "at most 107 characters");
}
