/* check/sample_faults.c: what samples say of themselves. SPDX-License-Identifier: Apache-2.0 */
#include "check/sample_faults.h"
#include "tests/pipeline/scan.h"

/* The golden scan of the phantom with its noise, and a wave of this frequency, in cycles per sample, in all readouts
 * and coils, with a phase of its own in each. */
static larmor_sample_faults faults_with(double amplitude, double frequency)
{
    scan s = scan_of(COILS, 1, 1e-4);
    larmor_sample_faults found;
    const int64_t matrix[3] = {N, N, 1};
    const larmor_readouts *r = &s.image[0];
    const larmor_shape shape = larmor_array_shape(r->kspace);
    larmor_array *kspace;
    float *x;
    double size;
    assert_ok(larmor_nrm2(r->kspace, &size));
    size /= sqrt((double)larmor_array_count(r->kspace));
    assert_ok(larmor_array_download(r->kspace, LARMOR_C64, &x));
    for (int64_t i = 0; i < larmor_array_count(r->kspace); i++) {
        const double phase = 2 * M_PI * frequency * (double)(i % shape.dim[0]) + (double)(i / shape.dim[0]);
        x[2 * i] += (float)(amplitude * size * cos(phase));
        x[2 * i + 1] += (float)(amplitude * size * sin(phase));
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, x, &kspace));
    const larmor_samples samples = {.kspace = kspace, .traj = r->traj};
    assert_ok(lmr_sample_faults_find(&samples, matrix, &found));
    larmor_array_free(kspace);
    free(x);
    free_scan(&s);
    return found;
}

TEST(one_frequency_in_all_readouts_is_found_with_its_sign_and_none_in_a_right_scan)
{
    const double frequency[] = {0.25, -0.125, 0.40625}; /* whole numbers of 64ths */
    assert_true(faults_with(0, 0.25).carrier == 0);
    for (int i = 0; i < 3; i++) {
        const larmor_sample_faults found = faults_with(1, frequency[i]);
        assert_true(found.carrier > 0);
        assert_true(fabs(found.carrier_frequency - frequency[i]) < 1. / 128);
    }
}
