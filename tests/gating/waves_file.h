/* A file of READOUTS readouts of 20 ms, and the waveforms that a test appends. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/io/files.h"

enum { READOUTS = 1500 };

typedef struct waves_file {
    larmor_output *out;
    larmor_raw_writer *writer;
} waves_file;

static inline waves_file waves_file_begun(const char *path, const larmor_waveform_info *info, int waveforms)
{
    const larmor_scan described = {.encoding = {.matrix = {8, 8, 1},
                                                .recon_matrix = {8, 8, 1},
                                                .fov_mm = {256, 256, 5},
                                                .recon_fov_mm = {256, 256, 5},
                                                .trajectory = "radial",
                                                .ndim = 2},
                                   .coils = 1,
                                   .waveform = info,
                                   .waveforms = waveforms};
    waves_file f;
    assert_ok(larmor_output_open(path, 1, &f.out));
    assert_ok(larmor_raw_create(f.out, &described, &f.writer));
    for (int i = 0; i < READOUTS; i++) {
        float data[16] = {0}, traj[16];
        for (int k = 0; k < 8; k++) {
            data[2 * k] = 1;
            traj[2 * k] = (float)((k - 4) * cos(2.4 * i));
            traj[2 * k + 1] = (float)((k - 4) * sin(2.4 * i));
        }
        const larmor_acquisition a = {.samples = 8,
                                      .coils = 1,
                                      .traj_dims = 2,
                                      .center_sample = 4,
                                      .step1 = i,
                                      .read_dir = {1},
                                      .phase_dir = {0, 1},
                                      .slice_dir = {0, 0, 1},
                                      .time_stamp = 40000u + 8u * (unsigned)i,
                                      .data = data,
                                      .traj = traj};
        assert_ok(larmor_raw_append(f.writer, &a));
    }
    return f;
}

static inline larmor_raw *waves_file_read(waves_file f, const char *path)
{
    assert_ok(larmor_raw_finish(f.writer));
    larmor_raw_writer_free(f.writer);
    larmor_output_free(f.out);
    return MADE(larmor_raw, larmor_raw_open(path, NULL, &made));
}
