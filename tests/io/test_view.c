/* A page is served to this machine until its view is closed. SPDX-License-Identifier: Apache-2.0 */

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test.h"

static int port_of(const larmor_view *view)
{
    int port = 0;
    assert_int_equal(sscanf(larmor_view_address(view), "http://127.0.0.1:%d/", &port), 1);
    return port;
}

/* The whole answer to a request for the page that names a host; 0: nothing listens. */
static int ask(int port, const char *host, char answer[4096])
{
    char request[256];
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    size_t got = 0;
    assert_true(s >= 0);
    const int there = !connect(s, (const struct sockaddr *)&at, sizeof at);
    const int length =
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n", host, port);
    if (there) assert_int_equal(write(s, request, (size_t)length), length);
    for (ssize_t now = 1; there && now > 0; got += now > 0 ? (size_t)now : 0) now = read(s, answer + got, 4095 - got);
    answer[got] = '\0';
    close(s);
    return there;
}

TEST(a_page_is_served_as_it_was_until_its_view_is_closed)
{
    char page[] = "<p>one</p>", answer[4096];
    larmor_view *view = MADE(larmor_view, larmor_view_open(page, strlen(page), NULL, &made));
    page[3] = 'x'; /* it is copied */
    const int port = port_of(view);
    assert_true(ask(port, "localhost", answer));
    assert_true(strstr(answer, " 200 ") && strstr(answer, "\r\n\r\n<p>one</p>"));
    assert_true(ask(port, "evil.example", answer));
    assert_true(strstr(answer, " 403 ") && !strstr(answer, "<p>"));
    larmor_view_close(view);
    assert_false(ask(port, "localhost", answer));
    larmor_view_close(NULL);
}

TEST(views_are_served_beside_each_other_and_a_port_once)
{
    larmor_view *first, *second, *third;
    char answer[4096];
    assert_ok(larmor_view_open("1", 1, NULL, &first));
    assert_ok(larmor_view_open("2", 1, NULL, &second));
    assert_true(ask(port_of(first), "127.0.0.1", answer) && strstr(answer, "\r\n\r\n1"));
    assert_true(ask(port_of(second), "127.0.0.1", answer) && strstr(answer, "\r\n\r\n2"));
    const larmor_view_opts taken = {.port = port_of(first)};
    assert_refused(larmor_view_open("3", 1, &taken, &third), LARMOR_ERR_IO, "cannot be listened on");
    assert_null(third);
    larmor_view_close(first);
    larmor_view_close(second);
}

TEST(what_cannot_be_served_is_refused)
{
    larmor_view *view;
    assert_refused(larmor_view_open(NULL, 1, NULL, &view), LARMOR_ERR_ARG, "view: no page given");
    assert_refused(larmor_view_open("1", 1, &(larmor_view_opts){.port = 65536}, &view), LARMOR_ERR_ARG,
                   "opts.port 65536: a number from 0 to 65535 expected.");
    assert_refused(larmor_view_open("1", 1, &(larmor_view_opts){.address = "nowhere"}, &view), LARMOR_ERR_ARG,
                   "opts.address nowhere: an address such as 127.0.0.1 expected.");
}
