/* What a process does before it waits for a command. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "common.h"
#include "serve_commands.h"

enum { SIDE = 16, SAMPLES = 2 * SIDE, READOUTS = 48, COILS = 4 };

/* A blob that each coil sees elsewhere, by spokes at golden angles; in space turned out of their plane as well. */
static larmor_status make_samples(larmor_device *dev, int nd, larmor_readouts *to)
{
    static double k[READOUTS * SAMPLES * 3];
    static double complex y[COILS * READOUTS * SAMPLES];
    const double golden = M_PI * (sqrt(5) - 1) / 2;
    for (int i = 0; i < READOUTS * SAMPLES; i++) {
        const int readout = i / SAMPLES;
        const double along = (i % SAMPLES - SAMPLES / 2) * 0.5;
        const double z = nd > 2 ? 2 * (readout + 0.5) / READOUTS - 1 : 0;
        const double flat = sqrt(1 - z * z);
        const double at[3] = {along * flat * cos(golden * readout), along * flat * sin(golden * readout), along * z};
        for (int d = 0; d < nd; d++) k[nd * i + d] = at[d];
        for (int c = 0; c < COILS; c++)
            y[c * READOUTS * SAMPLES + i] =
                exp(-along * along / 32) * cexp(I * (0.1 * (c - 1.5) * at[c % nd] + 0.05 * c));
    }
    TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, SAMPLES, READOUTS), LARMOR_F64, k, &to->traj));
    return larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, READOUTS, COILS), LARMOR_C128, y, &to->kspace);
}

static larmor_status reconstruct(larmor_device *dev, larmor_source *source)
{
    const larmor_recon_opts opts = {.size = sizeof opts};
    larmor_recon_result result;
    APP_OWN(larmor_recon, recon, larmor_recon_create(source, dev, &opts, &recon));
    return larmor_recon_run(recon, 0, &result);
}

static void free_samples(larmor_readouts *image)
{
    larmor_array_free(image->kspace);
    larmor_array_free(image->traj);
}

static larmor_status try_one(larmor_device *dev, int nd)
{
    APP_FREED_BY(free_samples) larmor_readouts image = {0};
    const larmor_scan_arrays scan = {.matrix = {SIDE, SIDE, nd > 2 ? SIDE : 1}, .image = &image, .images = 1};
    TRY(make_samples(dev, nd, &image));
    APP_OWN(larmor_source, source, larmor_source_of_arrays(&scan, &source));
    return reconstruct(dev, source);
}

int serve_make_ready(const char *device)
{
    char own[32];
    larmor_device *dev = NULL; /* stays open as long as the process is there, and its commands may want any GPU */
    larmor_status st = larmor_device_open(app_device_name(*device ? device : NULL, 0, own), &dev);
    if (!st && !larmor_device_members(dev) && strncmp(larmor_device_spec(dev), "cpu", 3) != 0) {
        st = try_one(dev, 2);
        if (!st) st = try_one(dev, 3);
    }
    return st ? app_fail(APP_RUN, st) : APP_DONE;
}
