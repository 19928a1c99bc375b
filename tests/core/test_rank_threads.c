/* core/ranks/rank_threads.c: ranks that are threads, each on a device of its own, against sums and places by hand;
 * who waits for one that has ended is told so. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include "core/array.h"
#include "core/ranks/ranks.h"
#include "tests/support/test.h"

enum { MOST = 5, NUMBERS = 1500001 }; /* complex: more than one piece of the stage */

typedef struct player player;
typedef void (*play)(player *p);

struct player {
    larmor_ranks *ranks;
    int number, count;
    play does;
    int64_t wrong;      /* values or statuses that are not what they should be */
    char message[1024]; /* the thread's last */
    larmor_status status;
};

static void *run_player(void *user)
{
    player *p = user;
    p->does(p);
    snprintf(p->message, sizeof p->message, "%s", larmor_last_error());
    larmor_ranks_free(p->ranks);
    return NULL;
}

/* All ranks do the same at the same time; the players are left as they ended. */
static void play_all(int count, play does, player *p)
{
    larmor_ranks *ranks[MOST];
    pthread_t thread[MOST];
    assert_ok(lmr_ranks_of_threads(count, ranks));
    for (int i = 0; i < count; i++) {
        p[i] = (player){.ranks = ranks[i], .number = i, .count = count, .does = does};
        assert_int_equal(larmor_ranks_number(ranks[i]), i);
        assert_int_equal(larmor_ranks_count(ranks[i]), count);
        assert_int_equal(pthread_create(&thread[i], NULL, run_player, &p[i]), 0);
    }
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}

static void expect_all_well(play does)
{
    for (int count = 1; count <= MOST; count++) {
        player p[MOST];
        play_all(count, does, p);
        for (int i = 0; i < count; i++)
            if (p[i].wrong)
                fail_msg("rank %d of %d: %lld are wrong; %s", i, count, (long long)p[i].wrong, p[i].message);
    }
}

static void note(player *p, int wrong)
{
    p->wrong += wrong;
}

/* ---- arrays ---- */

static float value_of(int rank, int64_t i)
{
    return (float)((rank + 1) * (i % 1000) + 7 * rank);
}

static larmor_array *array_of(larmor_device *on, int rank, int64_t count)
{
    larmor_array *x = NULL;
    HEAP float *values = malloc(2 * sizeof *values * (size_t)count);
    for (int64_t i = 0; i < 2 * count; i++) values[i] = value_of(rank, i);
    if (larmor_array_upload(on, LARMOR_C64, LARMOR_SHAPE(count), LARMOR_C64, values, &x)) x = NULL;
    return x;
}

static larmor_device *open_own(void)
{
    larmor_device *own;
    const char *spec = getenv("LARMOR_TEST_DEVICE");
    return larmor_device_open(spec ? spec : "cpu:1", &own) ? NULL : own;
}

static void move_arrays(player *p)
{
    OWNED(larmor_device) *own = open_own();
    const int last = p->count - 1;
    for (int round = 0; round < 2; round++) {
        larmor_array *x = array_of(own, p->number, NUMBERS);
        HEAP float *all, *passed, *sum;
        note(p, lmr_ranks_sum(p->ranks, last, x) != LARMOR_OK);
        note(p, larmor_array_download(x, LARMOR_C64, &sum) != LARMOR_OK);
        for (int64_t i = 0; i < 2 * NUMBERS && p->number == last; i++) {
            float by_hand = value_of(0, i);
            for (int r = 1; r < p->count; r++) by_hand += value_of(r, i);
            note(p, sum[i] != by_hand);
        }
        larmor_array_free(x);
        x = array_of(own, p->number + 3 * round, NUMBERS);
        note(p, lmr_ranks_broadcast(p->ranks, x) != LARMOR_OK);
        note(p, larmor_array_download(x, LARMOR_C64, &all) != LARMOR_OK);
        for (int64_t i = 0; i < 2 * NUMBERS; i++) note(p, all[i] != value_of(3 * round, i));
        larmor_array_free(x);
        x = array_of(own, p->number, NUMBERS);
        if (p->number == last && last > 0) note(p, lmr_ranks_pass(p->ranks, last, 0, x) != LARMOR_OK);
        if (p->number == 0 && last > 0) note(p, lmr_ranks_pass(p->ranks, last, 0, x) != LARMOR_OK);
        note(p, larmor_array_download(x, LARMOR_C64, &passed) != LARMOR_OK);
        for (int64_t i = 0; i < 2 * NUMBERS; i++) note(p, passed[i] != value_of(p->number ? p->number : last, i));
        larmor_array_free(x);
    }
}

TEST(arrays_are_summed_sent_to_all_and_passed)
{
    expect_all_well(move_arrays);
}

/* Numbers that rank `from` sends to rank `to`; none of some. */
static int64_t part_of(int from, int to)
{
    return (from + to) % 3 ? 1000 * (from + 1) + 300001 * (int64_t)to : 0;
}

static void exchange_arrays(player *p)
{
    int64_t sent[MOST], received[MOST], out = 0, in = 0;
    for (int i = 0; i < p->count; i++) {
        sent[i] = 8 * part_of(p->number, i);
        received[i] = 8 * part_of(i, p->number);
        out += part_of(p->number, i);
        in += part_of(i, p->number);
    }
    OWNED(larmor_device) *own = open_own();
    OWNED(larmor_array) *from = array_of(own, p->number, out + 1), *to = array_of(own, 50, in + 1);
    HEAP float *values;
    for (int round = 0; round < 3; round++)
        note(p, lmr_ranks_exchange(p->ranks, from, sent, to, received) != LARMOR_OK);
    note(p, larmor_array_download(to, LARMOR_C64, &values) != LARMOR_OK);
    int64_t at = 0;
    for (int i = 0; i < p->count; i++) {
        int64_t first = 0;
        for (int k = 0; k < p->number; k++) first += part_of(i, k);
        for (int64_t j = 0; j < 2 * part_of(i, p->number); j++) note(p, values[at++] != value_of(i, 2 * first + j));
    }
}

TEST(each_gets_its_part_of_all)
{
    expect_all_well(exchange_arrays);
}

/* ---- messages ---- */

static int ask_thrice(void *user)
{
    return ++*(int *)user >= 3;
}

static void send_messages(player *p)
{
    const lmr_transport *by = p->ranks->by;
    void *link = p->ranks->link, *data;
    int64_t bytes;
    int asked = 0;
    if (p->number) {
        for (int i = 0; i < 6; i++) note(p, by->send(link, 0, 10 + i % 2, &i, sizeof i) != LARMOR_OK);
        note(p, by->receive(link, 0, 20, NULL, NULL, &data, &bytes) != LARMOR_OK || bytes != 0);
        free(data);
        return;
    }
    for (int r = 1; r < p->count; r++)
        for (int i = 0; i < 6; i++) { /* those of the second tag first */
            const int expected = i < 3 ? 2 * i + 1 : 2 * (i - 3);
            int got = -1;
            note(p, by->receive(link, r, i < 3 ? 11 : 10, NULL, NULL, &data, &bytes) != LARMOR_OK);
            if (bytes == sizeof got) memcpy(&got, data, sizeof got);
            note(p, got != expected);
            free(data);
            note(p, i == 5 && by->is_there(link, r, 10));
        }
    if (p->count > 1)
        note(p, by->receive(link, 1, 30, ask_thrice, &asked, &data, &bytes) != LARMOR_STOPPED || asked != 3);
    for (int r = 1; r < p->count; r++) note(p, by->send(link, r, 20, NULL, 0) != LARMOR_OK);
}

TEST(messages_of_a_tag_keep_their_order_and_who_waits_can_be_stopped)
{
    expect_all_well(send_messages);
}

static void agree_or_not(player *p)
{
    int64_t least = 10 - p->number;
    note(p, larmor_ranks_agree(p->ranks, LARMOR_OK, &least) != LARMOR_OK || least != 11 - p->count);
    const larmor_status own = p->number ? larmor_fail(LARMOR_ERR_NUMERIC, "number %d cannot", p->number) : LARMOR_OK;
    p->status = larmor_ranks_agree(p->ranks, own, NULL);
    if (p->count < 2) return;
    note(p, p->status != (p->number ? LARMOR_STOPPED : LARMOR_ERR_NUMERIC));
    note(p, !strstr(larmor_last_error(), "rank 1: number 1 cannot"));
}

TEST(all_hear_of_the_first_one_that_fails)
{
    expect_all_well(agree_or_not);
}

/* ---- a rank that ends ---- */

static void wait_for_rank_1(player *p, int how)
{
    larmor_device *own;
    const int64_t bytes = 1 << 20;
    HEAP char *room = calloc(MOST, (size_t)bytes);
    const void *send[MOST];
    void *get[MOST], *data;
    int64_t some[MOST], any;
    for (int i = 0; i < MOST; i++) {
        send[i] = room;
        get[i] = room + i * bytes;
        some[i] = bytes;
    }
    if (how == 0) p->status = p->ranks->by->receive(p->ranks->link, 1, 1, NULL, NULL, &data, &any);
    if (how == 1) p->status = p->ranks->by->pass(p->ranks->link, 1, 0, room, bytes);
    if (how == 2) p->status = p->ranks->by->pass(p->ranks->link, 1, 1, room, bytes);
    if (how == 3 && !larmor_device_open("cpu:1", &own)) {
        p->status = p->ranks->by->exchange_on(p->ranks->link, own, send, some, get, some);
        larmor_device_free(own);
    }
}

static int how_to_wait, soon;

static void end_while_others_wait(player *p)
{
    if (p->number != 1)
        wait_for_rank_1(p, how_to_wait);
    else if (!soon)
        usleep(20000); /* until they wait */
}

TEST(who_waits_for_a_rank_that_has_ended_is_told)
{
    for (how_to_wait = 0; how_to_wait < 4; how_to_wait++)
        for (soon = 0; soon < 2; soon++) {
            player p[3];
            play_all(3, end_while_others_wait, p);
            for (int i = 0; i < 3; i += 2) {
                assert_int_equal(p[i].status, LARMOR_ERR_BACKEND);
                if (how_to_wait != 3)
                    assert_string_equal(p[i].message, "rank 1 has ended");
                else
                    assert_non_null(strstr(p[i].message, "has ended"));
            }
        }
}
