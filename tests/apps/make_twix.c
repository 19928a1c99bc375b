/* A TWIX file of VD with the readouts of an ISMRMRD scan of lines: make_twix SCAN.h5 MEAS.dat. Its first measurement
 * is one of noise, as a scanner adjusts its coils. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "larmor/larmor.h"
#include "tests/support/twix.h"

static twix_file file;
static larmor_acquisition now;

static void sample(int readout, int c, int n, float x[2])
{
    (void)readout;
    memcpy(x, now.data + 2 * (c * now.samples + n), 2 * sizeof *x);
}

static void check(larmor_status st)
{
    if (!st) return;
    fprintf(stderr, "make_twix: %s\n", larmor_last_error());
    exit(1);
}

static void add(void)
{
    const twix_readout r = {.mask = now.flags & LARMOR_ACQ_NOISE ? UINT64_C(1) << 25 : 0,
                            .counter = {[0] = (uint16_t)now.step1, [2] = (uint16_t)now.slice},
                            .centre = {(uint16_t)now.center_sample, (uint16_t)(now.samples / 2)},
                            .samples = (uint16_t)now.samples,
                            .channels = (uint16_t)now.coils,
                            .quaternion = {.5f, .5f, .5f, .5f}};
    twix_add(&file, &r, sample);
}

int main(int argc, char **argv)
{
    char yaps[1024];
    larmor_raw *raw;
    larmor_encoding e;
    if (argc != 3) return 2;
    check(larmor_raw_open(argv[1], &(larmor_raw_opts){.as_stored = 1}, &raw));
    check(larmor_raw_encoding(raw, 0, &e));
    snprintf(yaps, sizeof yaps,
             "### ASCCONV BEGIN ###\ntProtocolName = \"gre\"\nflReadoutOSFactor = 1\niPEFTLength = %lld\n"
             "sKSpace.lBaseResolution = %lld\nsKSpace.lPhaseEncodingLines = %lld\nsKSpace.ucTrajectory = 0x1\n"
             "sKSpace.ucDimension = 0x2\nsSliceArray.asSlice[0].dReadoutFOV = %g\n"
             "sSliceArray.asSlice[0].dPhaseFOV = %g\nsSliceArray.asSlice[0].dThickness = %g\n"
             "sRXSPEC.alDwellTime[0] = 5000\n### ASCCONV END ###\n",
             (long long)e.matrix[1], (long long)e.matrix[0], (long long)e.matrix[1], e.fov_mm[0], e.fov_mm[1],
             e.fov_mm[2]);
    const int64_t count = larmor_raw_describe(raw).acquisitions;
    for (int measurement = 0; measurement < 2; measurement++) {
        twix_begin(&file, measurement ? "gre" : "AdjCoilSens", yaps);
        for (int64_t i = 0; i < (measurement ? count : 1); i++) {
            check(larmor_raw_acquisition(raw, i, &now));
            if (!measurement) now.flags = LARMOR_ACQ_NOISE;
            add();
        }
        twix_packet(&file, 0, 160);
        twix_end(&file);
    }
    larmor_raw_free(raw);
    FILE *f = fopen(argv[2], "wb");
    return !f || fwrite(file.data, 1, file.bytes, f) != file.bytes || fclose(f);
}
