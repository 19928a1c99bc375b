/* A scan from arrays in memory: the whole of `larmor recon` by calls, noise, coil maps and lambda from the data.
 * Usage: arrays [IMAGE.npy [DEVICE]]. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <larmor/larmor.h>

enum { N = 96, COILS = 6, SPOKES = 80 };

/* Golden-angle spokes of the Shepp-Logan phantom; the trajectory in single precision, as a file would have it. */
static larmor_status simulate(larmor_device *dev, larmor_readouts *r)
{
    const larmor_simulation_opts opts = {
        .traj = {.matrix = {N, N}, .readouts = SPOKES}, .coils = COILS, .noise = 2e-4};
    larmor_simulation *simulation = NULL;
    larmor_array *traj = NULL;
    larmor_status st = larmor_simulation_create(dev, &opts, &simulation);
    if (!st) st = larmor_simulation_samples(simulation, 0, 0, 0, &r->kspace, &traj);
    if (!st) st = larmor_array_convert(traj, LARMOR_F32, &r->traj);
    larmor_array_free(traj);
    larmor_simulation_free(simulation);
    return st;
}

static int listen(void *user, const larmor_event *e)
{
    (void)user;
    if (e->kind == LARMOR_EVENT_LOG || e->kind == LARMOR_EVENT_WARNING) printf("%s\n", e->text);
    return 0; /* anything else stops */
}

int main(int argc, char **argv)
{
    const larmor_recon_opts opts = {.size = sizeof opts, .listener = listen};
    larmor_readouts readouts = {0};
    larmor_recon_result result = {0};
    larmor_device *dev = NULL;
    larmor_source *source = NULL;
    larmor_recon *recon = NULL;
    larmor_output *out = NULL;
    const larmor_scan_arrays scan = {.matrix = {N, N}, .image = &readouts, .images = 1};
    larmor_status st = larmor_device_open(argc > 2 ? argv[2] : "auto", &dev);
    if (!st) st = simulate(dev, &readouts);
    if (!st) st = larmor_source_of_arrays(&scan, &source);
    if (!st) st = larmor_recon_create(source, dev, &opts, &recon);
    if (!st) st = larmor_recon_run(recon, 0, &result);
    if (!st && !result.count) st = larmor_fail(result.report.status, "%s", result.report.message);
    if (!st && argc > 1) st = larmor_output_open(argv[1], 1, &out);
    if (out) st = larmor_array_save(out, result.image[0].data);
    if (st) fprintf(stderr, "arrays: %s\n", larmor_last_error());
    larmor_output_free(out);
    larmor_recon_result_free(&result);
    larmor_recon_free(recon);
    larmor_source_free(source);
    larmor_array_free(readouts.kspace);
    larmor_array_free(readouts.traj);
    larmor_device_free(dev);
    return st ? EXIT_FAILURE : EXIT_SUCCESS;
}
