/* What is said of samples that are clipped, spikes, or in another place than their echo.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "check/sample_faults.h"

typedef long long ll;

void lmr_describe_clipping(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(line, room,
             "%lld values of coil %d are just its largest, %.4g, first in readout %lld, sample %lld: the receiver "
             "was full. Scan again with less amplification.",
             (ll)f->clipped, f->clipped_coil, f->clipped_value, (ll)f->clipped_readout, (ll)f->clipped_sample);
}

void lmr_describe_spikes(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(
        line, room,
        "%lld sample%s far from the centre %d times those around, the largest in readout %lld, sample %lld, coil %d: "
        "spikes make stripes in the image. Leave the readout%s out.",
        (ll)f->spikes, f->spikes == 1 ? " is" : "s are", LARMOR_SPIKE_RATIO, (ll)f->spike_readout,
        (ll)f->spike_sample, f->spike_coil, f->spikes == 1 ? "" : "s");
}

void lmr_describe_echo(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(line, room,
             "the signal of readouts peaks %.3g/FOV away from the centre of k-space: gradients are late, or the "
             "trajectory is not that of these readouts.",
             f->echo_distance);
}

/* Of the distance that another echo has, where it is in proportion to the echo times. */
#define MAX_OFF_PROPORTION 0.25
#define MIN_ECHO_RATIO 1.2
#define LEAST_NAMED 3. /* cycles per field of view; less is 0 in larmor_sample_faults */

void lmr_echo_is_of_field(double first_ms, double first_distance, double echo_ms, larmor_sample_faults *f)
{
    const double expected = f->echo_distance * first_ms / echo_ms;
    if (!(f->echo_distance > 0 && first_ms > 0 && echo_ms > MIN_ECHO_RATIO * first_ms)) return;
    const double off = first_distance > 0 ? fabs(first_distance - expected) : fmax(0, expected - LEAST_NAMED);
    if (off > MAX_OFF_PROPORTION * expected) return;
    f->echo_hz = 1e3 * f->echo_distance / echo_ms;
    f->echo_distance = 0;
}

void lmr_describe_copied(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(line, room,
             "%lld readout%s just the samples of the one before at another place, the first number %lld: what was "
             "there was never written. Leave %s out.",
             (ll)f->copied, f->copied == 1 ? " has" : "s have", (ll)f->copied_readout,
             f->copied == 1 ? "it" : "them");
}

void lmr_describe_zeros(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(line, room,
             "%lld samples near the centre are exactly 0 in all coils between others of their readouts, first in "
             "readout %lld: they were not acquired, but count as measured.",
             (ll)f->zeros, (ll)f->zeros_readout);
}

void lmr_describe_carrier(const larmor_sample_faults *f, char *line, size_t room)
{
    if (f->carrier_frequency == 0) {
        snprintf(line, room,
                 "all samples have a constant in common, with %.2g times the power of what else the outer part of "
                 "k-space has in common: an offset of the receiver, which makes a dot in the middle of the image. "
                 "Subtract it, as noise readouts or the outermost samples have it.",
                 f->carrier);
        return;
    }
    snprintf(line, room,
             "one frequency, %.2f cycles per sample, has %.2g times the power of any other in the outer part of "
             "readouts: interference from outside, which makes a stripe or a ring in the image.",
             f->carrier_frequency, f->carrier);
}

void lmr_describe_noisy(const larmor_sample_faults *f, char *line, size_t room)
{
    snprintf(
        line, room,
        "%d coil%s far more noise than the others, as the edge of k-space shows, the loudest number %d (from 0), "
        "and coils are combined as if they had the same. A noise scan lets recon weigh %s; else leave out what "
        "has hardly any signal.",
        f->noisy, f->noisy == 1 ? " has" : "s have", f->noisy_coil, f->noisy == 1 ? "it" : "them");
}

void lmr_sample_faults_join(const larmor_sample_faults *more, larmor_sample_faults *all)
{
    const larmor_sample_faults before = *all;
    if (!before.clipped) {
        all->clipped_coil = more->clipped_coil;
        all->clipped_value = more->clipped_value;
        all->clipped_readout = more->clipped_readout;
        all->clipped_sample = more->clipped_sample;
    }
    if (!before.spikes) {
        all->spike_coil = more->spike_coil;
        all->spike_readout = more->spike_readout;
        all->spike_sample = more->spike_sample;
    }
    if (!before.copied) all->copied_readout = more->copied_readout;
    if (!before.zeros) all->zeros_readout = more->zeros_readout;
    if (!before.noisy) all->noisy_coil = more->noisy_coil;
    all->noisy = before.noisy > more->noisy ? before.noisy : more->noisy;
    if (more->carrier > before.carrier) {
        all->carrier = more->carrier;
        all->carrier_frequency = more->carrier_frequency;
    }
    all->copied += more->copied;
    all->zeros += more->zeros;
    all->clipped += more->clipped;
    all->spikes += more->spikes;
    all->echo_distance = fmax(before.echo_distance, more->echo_distance);
    all->echo_hz = fmax(before.echo_hz, more->echo_hz);
}
