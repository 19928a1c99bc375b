/* T1 and T2 of one voxel from the signal of a FISP sequence. Usage: fingerprint. SPDX-License-Identifier: Apache-2.0
 *
 * A dictionary of 20 x 20 pairs is made by extended phase graphs; the signal of a pair between its entries is
 * matched, and then fitted between them, with standard deviations for noise of 0.002. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { PULSES = 400, STEPS = 20, ENTRIES = STEPS * STEPS };

int main(void)
{
    static const double truth[] = {1070, 83};
    static double degrees[PULSES], tr[PULSES], pairs[2 * ENTRIES];
    const larmor_fisp fisp = {.pulses = PULSES, .degrees = degrees, .tr_ms = tr, .te_ms = 3, .inversion_ms = 20};
    larmor_device *dev = NULL;
    larmor_array *table = NULL, *voxel = NULL, *signals = NULL, *image = NULL, *entry = NULL, *match = NULL;
    larmor_array *rough = NULL, *m0 = NULL, *value = NULL, *deviation = NULL;
    float *found = NULL, *bars = NULL;
    for (int n = 0; n < PULSES; n++) {
        degrees[n] = 5 + 50 * fabs(sin(n * 3.14159265 / 100));
        tr[n] = 12;
    }
    for (int e = 0; e < ENTRIES; e++) {
        pairs[e] = 300 * pow(10, e % STEPS / (STEPS - 1.));
        pairs[e + ENTRIES] = 20 * pow(15, e / STEPS / (STEPS - 1.));
    }
    larmor_status st = larmor_device_open("cpu", &dev);
    if (!st) st = larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ENTRIES, 2), LARMOR_F64, pairs, &table);
    if (!st) st = larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(1, 2), LARMOR_F64, truth, &voxel);
    if (!st) st = larmor_epg_fisp(table, &fisp, &signals);
    if (!st) st = larmor_epg_fisp(voxel, &fisp, &image);
    if (!st) st = larmor_fit_dictionary(image, signals, NULL, NULL, &entry, &rough, &match);
    if (!st) st = larmor_fit_table(image, signals, NULL, table, entry, 0.002, NULL, &value, &deviation, &m0);
    if (!st) st = larmor_array_download(value, LARMOR_F32, &found);
    if (!st) st = larmor_array_download(deviation, LARMOR_F32, &bars);
    if (st) fprintf(stderr, "fingerprint: %s\n", larmor_last_error());
    for (int c = 0; c < 2 && !st; c++)
        printf("T%d error %.4f, %.1f +- %.1f ms\n", c + 1, fabs(found[c] / truth[c] - 1), found[c], bars[c]);
    larmor_array *const all[] = {table, voxel, signals, image, entry, rough, match, value, deviation, m0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) larmor_array_free(all[i]);
    larmor_device_free(dev);
    free(found);
    free(bars);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
