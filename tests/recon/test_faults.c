/* Every device's kernels for samples that are spoiled, against naive loops, in both precisions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/inputs.h"
#include "tests/recon/support.h"

enum { N = 150, READOUTS = 40, COILS = 3, POINTS = N * READOUTS, RINGS = 8 };

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};

static const lmr_recon_kernels *table(int p)
{
    const lmr_recon_kernels *kernels;
    assert_ok(lmr_recon_kernels_of(dev, type[p], &kernels));
    return kernels;
}

/* Noise of size 1 with these spikes, two of them in coil 1, and readouts 7 and 8 the same. */
static const int64_t spike[] = {20 * N + 70, 31 * N + 2, 0 * N + 140};
static const int spike_coil[] = {1, 1, 2};

static cplx *noise_with_spikes(void)
{
    cplx *x = random_values(POINTS * COILS, 5);
    for (int i = 0; i < 3; i++) x[spike[i] + POINTS * spike_coil[i]] = 40 + i;
    for (int c = 0; c < COILS; c++)
        for (int i = 0; i < N; i++) x[8 * N + i + POINTS * c] = x[7 * N + i + POINTS * c];
    return x;
}

static cplx single(cplx x)
{
    return (cplx)(float complex)x;
}

/* A spike that is alike in the next readout, or a little beside it in its own, is none. */
TEST(a_survey_finds_spikes_the_largest_parts_the_energies_and_readouts_that_repeat)
{
    for (int c = 0; c < 4; c++) {
        const int p = c % 2, in_parts = c / 2;
        HEAP cplx *x = noise_with_spikes();
        float radius[POINTS];
        double level[RINGS * COILS], energy[POINTS];
        unsigned char repeats[READOUTS];
        lmr_survey found[COILS], all[COILS] = {{0}};
        for (int i = 0; i < POINTS; i++) radius[i] = 0.99F;
        for (int i = 0; i < RINGS * COILS; i++) level[i] = 1;
        memset(repeats, 1, sizeof repeats);
        x[10 * N + 50] = x[11 * N + 51] = 40;
        x[13 * N + 50] = x[13 * N + 54] = 40;
        x[15 * N + 60] = 50;
        radius[15 * N + 60] = 0.2F; /* of ring 1 */
        OWNED(larmor_array) *a = complex_array(type[p], LARMOR_SHAPE(N, READOUTS, COILS), x);
        lmr_survey_of of = {.n = N,
                            .readouts = READOUTS,
                            .coils = COILS,
                            .rings = RINGS,
                            .from = 2,
                            .ratio = 8,
                            .beside = 4,
                            .level = level};
        for (of.count = in_parts ? 15 : READOUTS; of.first < READOUTS; of.first += of.count) {
            if (of.first + of.count > READOUTS) of.count = READOUTS - of.first;
            of.radius = radius + N * of.first;
            assert_ok(table(p)->survey(dev->ctx, &of, a->data, energy + N * of.first, repeats, found));
            for (int i = 0; i < COILS; i++) {
                all[i].most = fmax(all[i].most, found[i].most);
                all[i].spikes += found[i].spikes;
                if (found[i].largest > all[i].largest) {
                    all[i].largest = found[i].largest;
                    all[i].at = found[i].at;
                }
            }
        }
        for (int i = 0; i < POINTS; i++) {
            double sum = 0;
            for (int j = 0; j < COILS; j++) sum += pow(cabs(single(x[i + POINTS * j])), 2);
            assert_at_most(fabs(energy[i] - sum), 1e-12 * sum);
        }
        for (int r = 0; r < READOUTS; r++) assert_int_equal(repeats[r], r == 8);
        assert_true(all[0].spikes == 0 && all[1].spikes == 2 && all[2].spikes == 1);
        assert_true(all[1].largest == 41 && all[1].at == (double)spike[1]);
        assert_true(all[2].largest == 42 && all[2].at == (double)spike[2]);
        assert_true(all[0].most == 50 && all[1].most == 41 && all[2].most == 42);
    }
}

TEST(parts_at_the_ceiling_are_listed_in_order_and_only_counted_where_there_is_no_room)
{
    enum { ROOM = 6 };
    const int64_t at[] = {3, 2 * POINTS - 1, 401, 400, 7000};
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(POINTS * COILS, 6);
        const float limit[COILS] = {10, 10, INFINITY};
        lmr_part part[ROOM * COILS];
        int64_t count[COILS];
        for (int i = 0; i < 5; i++) ((double *)x)[at[i]] = i % 2 ? -10 : 11;
        for (int i = 0; i < ROOM + 1; i++) x[POINTS + 11 * i] = 10.5;
        OWNED(larmor_array) *a = complex_array(type[p], LARMOR_SHAPE(POINTS, COILS), x);
        assert_ok(table(p)->ceiling(dev->ctx, POINTS, COILS, ROOM, limit, a->data, part, count));
        assert_true(count[0] == 5 && count[1] == ROOM + 1 && count[2] == 0);
        const int64_t sorted[] = {3, 400, 401, 7000, 2 * POINTS - 1};
        for (int i = 0; i < 5; i++) {
            const double *value = (double *)x + sorted[i], *other = (double *)x + (sorted[i] ^ 1);
            assert_true(part[i].at == (double)sorted[i]);
            assert_true(part[i].own == (double)(float)*value && part[i].other == (double)(float)*other);
        }
    }
}

TEST(energies_are_summed_by_ring_readout_and_coil)
{
    for (int p = 0; p < 2; p++) {
        HEAP cplx *x = random_values(POINTS * COILS, 7);
        unsigned char ring[POINTS];
        double sum[RINGS * READOUTS * COILS], expected[RINGS * READOUTS * COILS] = {0};
        for (int i = 0; i < POINTS; i++) ring[i] = (unsigned char)(i * 7 % N * RINGS / N);
        for (int64_t i = 0; i < POINTS * COILS; i++)
            expected[ring[i % POINTS] + RINGS * (i / N)] += pow(cabs(single(x[i])), 2);
        OWNED(larmor_array) *a = complex_array(type[p], LARMOR_SHAPE(N, READOUTS, COILS), x);
        assert_ok(table(p)->energies(dev->ctx, N, READOUTS, COILS, RINGS, ring, a->data, sum));
        for (int i = 0; i < RINGS * READOUTS * COILS; i++)
            assert_at_most(fabs(sum[i] - expected[i]), 1e-12 * (expected[i] + 1));
    }
}
