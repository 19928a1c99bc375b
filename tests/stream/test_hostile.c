/* Streams that nobody vouches for: whatever comes, a session ends with CLOSE, and others go on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/stream/streams.h"

enum { MUTANTS = 100, MOST = 1 << 18 };

typedef struct bytes {
    unsigned char at[2 * MOST];
    size_t count;
} bytes;

/* What a client sends, as it is. */
static void record(bytes *b)
{
    FILE *f = fopen(in_folder("stream"), "w+b");
    assert_non_null(f);
    larmor_stream *to =
        MADE(larmor_stream, larmor_stream_create(fileno(f), fileno(f), &(larmor_stream_opts){.keep_open = 1}, &made));
    send_text(to, LARMOR_MESSAGE_CONFIG_FILE, "larmor");
    send_text(to, LARMOR_MESSAGE_HEADER, larmor_raw_xml(scan));
    send_text(to, LARMOR_MESSAGE_TEXT, "{\"parameters\":{\"images\":\"slice\",\"pixels\":\"float\"}}");
    for (int64_t i = 0; i < larmor_raw_describe(scan).acquisitions; i++) {
        larmor_acquisition a = acquisition(i);
        if (i % 13 == 12) a.flags |= LAST_IN_SLICE;
        send_acquisition(to, &a);
    }
    send_text(to, LARMOR_MESSAGE_CLOSE, NULL);
    larmor_stream_free(to);
    rewind(f);
    b->count = fread(b->at, 1, MOST, f);
    assert_true(b->count > 0 && b->count < MOST);
    fclose(f);
}

static size_t below(uint64_t *seed, size_t n)
{
    return (size_t)((test_random(seed) + 1) / 2 * (double)n);
}

/* One of five kinds of damage; the places favour the front, where lengths and texts are. */
static void mutate(bytes *b, uint64_t *seed)
{
    const size_t reach = below(seed, 2) ? b->count : 6000;
    const size_t at = below(seed, reach), length = 1 + below(seed, 300);
    static const unsigned char extremes[][4] = {
        {255, 255, 255, 255}, {0, 0, 0, 0}, {255, 255, 255, 127}, {1, 0, 0, 0}};
    switch (below(seed, 5)) {
    case 0:
        b->at[at] ^= (unsigned char)(1 + below(seed, 255));
        break;
    case 1:
        if (at < b->count) b->count = at;
        break;
    case 2:
        if (at + length > b->count) break;
        memmove(b->at + at, b->at + at + length, b->count - at - length);
        b->count -= length;
        break;
    case 3:
        if (at > b->count || b->count + length > sizeof b->at) break;
        memmove(b->at + at + length, b->at + at, b->count - at);
        b->count += length;
        break;
    default:
        if (at + 4 < b->count) memcpy(b->at + at, extremes[below(seed, 4)], 4);
    }
}

typedef struct sender {
    const bytes *b;
    int fd;
} sender;

static void *send_bytes(void *user)
{
    const sender *s = user;
    for (size_t sent = 0; sent < s->b->count;) {
        const ssize_t n = send(s->fd, s->b->at + sent, s->b->count - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += (size_t)n;
    }
    shutdown(s->fd, SHUT_WR);
    return NULL;
}

/* The last message that comes back is CLOSE; all before it are whole. */
static void assert_closes(const bytes *b, int mutant)
{
    line l;
    pthread_t thread;
    larmor_message m;
    larmor_session_opts opts = quick();
    int last = 0;
    opts.job.recon.no_maps = 1;
    opts.job.raw.memory = opts.memory = 4 << 20;
    opts.job.recon.memory = 64 << 20;
    begin(&l, opts);
    sender s = {b, l.fd};
    assert_int_equal(pthread_create(&thread, NULL, send_bytes, &s), 0);
    while (!larmor_stream_receive(l.client, &m) && m.kind != LARMOR_MESSAGE_END) last = (int)m.kind;
    pthread_join(thread, NULL);
    end(&l);
    if (last != LARMOR_MESSAGE_CLOSE) fail_msg("mutant %d: the last message is %d (%s)", mutant, last, l.why);
}

WITH_SCAN(whatever_comes_a_session_ends_with_close)
{
    static bytes whole, b;
    uint64_t seed = 4711;
    struct rusage before, after;
    int failed = 0;
    record(&whole);
    assert_closes(&whole, -1);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < MUTANTS; i++) {
        b = whole;
        for (size_t k = 1 + below(&seed, 3); k > 0; k--) mutate(&b, &seed);
        assert_closes(&b, i);
        failed++;
    }
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(failed, MUTANTS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_at_most((double)(after.ru_maxrss - before.ru_maxrss) / 1024, 100); /* MiB */
#endif
}
