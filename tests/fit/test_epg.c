/* fit/epg.c against spins that are turned one by one. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

enum { PULSES = 60, SPINS = 128, ENTRIES = 3 }; /* so many spins that states of all orders have no alias */

static const double table[] = {300, 1000, 3000, 30, 100, 900}; /* T1, then T2 */
static double degrees[PULSES], tr[PULSES];

static larmor_fisp make_sequence(double inversion)
{
    uint64_t seed = 3;
    for (int n = 0; n < PULSES; n++) {
        degrees[n] = 60 + 60 * test_random(&seed);
        tr[n] = 12 + 2 * test_random(&seed);
    }
    return (larmor_fisp){.pulses = PULSES, .degrees = degrees, .tr_ms = tr, .te_ms = 3, .inversion_ms = inversion};
}

/* The mean of spins, each of which turns by another part of a turn in each repetition. */
static void turn_spins(const larmor_fisp *s, double t1, double t2, double *echo)
{
    double x[SPINS], y[SPINS], z[SPINS];
    for (int i = 0; i < SPINS; i++) {
        x[i] = y[i] = 0;
        z[i] = s->inversion_ms > 0 ? 1 - 2 * exp(-s->inversion_ms / t1) : 1;
    }
    for (int n = 0; n < PULSES; n++) {
        const double a = degrees[n] * M_PI / 180, e1 = exp(-tr[n] / t1), e2 = exp(-tr[n] / t2);
        echo[n] = 0;
        for (int i = 0; i < SPINS; i++) {
            const double u = cos(a) * x[i] + sin(a) * z[i], w = cos(a) * z[i] - sin(a) * x[i], v = y[i];
            const double phase = 2 * M_PI * i / SPINS;
            echo[n] += u * exp(-s->te_ms / t2) / SPINS;
            x[i] = e2 * (cos(phase) * u - sin(phase) * v);
            y[i] = e2 * (sin(phase) * u + cos(phase) * v);
            z[i] = 1 - e1 + e1 * w;
        }
    }
}

static larmor_array *make_table(const double *values)
{
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ENTRIES, 2), LARMOR_F64, values, &made));
}

TEST(signals_are_the_mean_of_spins_with_and_without_an_inversion)
{
    for (int k = 0; k < 2; k++) {
        const larmor_fisp s = make_sequence(k ? 20 : 0);
        OWNED(larmor_array) *rows = make_table(table), *signals = NULL;
        HEAP double *found = NULL;
        assert_ok(larmor_epg_fisp(rows, &s, &signals));
        assert_ok(larmor_array_download(signals, LARMOR_F64, &found));
        for (int e = 0; e < ENTRIES; e++) {
            double echo[PULSES];
            turn_spins(&s, table[e], table[e + ENTRIES], echo);
            for (int n = 0; n < PULSES; n++) assert_at_most(fabs(found[e + ENTRIES * n] - echo[n]), 1e-6);
        }
    }
}

TEST(sequences_and_tables_that_no_scan_has_are_refused)
{
    static const double wrong[] = {300, 1000, 3000, 30, 0, 900};
    larmor_fisp s = make_sequence(0);
    OWNED(larmor_array) *rows = make_table(table), *bad = make_table(wrong);
    larmor_array *signals;
    assert_refused(larmor_epg_fisp(bad, &s, &signals), LARMOR_ERR_ARG, "table: got 0 in entry 1");
    s.te_ms = 50;
    assert_refused(larmor_epg_fisp(rows, &s, &signals), LARMOR_ERR_ARG, "a repetition below the echo time");
    s.pulses = 0;
    assert_refused(larmor_epg_fisp(rows, &s, &signals), LARMOR_ERR_ARG, "sequence.pulses: got 0");
}
