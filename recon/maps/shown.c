/* Where the images of a calibration region show more than noise. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/maps/maps.h"

/* Standard deviations of the energy that noise alone has, of which a place of one coil has more by exp(-5), of eight
 * coils by 3e-4. */
static const double max_deviations = 4;

/* One axis: Hann's window, and its transform, [side, places]. */
typedef struct axis {
    int64_t side, places;
    double complex *wave;
    double energy; /* of the window */
} axis;

typedef struct axes {
    axis along[3];
} axes;

static void free_axes(axes *a)
{
    for (int d = 0; d < 3; d++) free(a->along[d].wave);
}

static larmor_status make_axis(int64_t side, int64_t places, double fov, axis *a)
{
    *a = (axis){.side = side, .places = places};
    LMR_ALLOCATE(a->wave, side * places);
    for (int64_t k = 0; k < side; k++) {
        const double window = pow(sin(M_PI * (double)(k + 1) / (double)(side + 1)), 2);
        a->energy += window * window;
        for (int64_t i = 0; i < places; i++) {
            const double at = (double)(i - places / 2) / (double)places / (fov > 0 ? fov : 1);
            a->wave[k + side * i] = window * cexp(2 * M_PI * I * (double)(k - side / 2) * at);
        }
    }
    return LARMOR_OK;
}

/* to [places, others] <- from [side, others], the transformed axis becomes the last one: [others, places]. */
static void transform(const axis *a, int64_t others, const double complex *from, double complex *to)
{
    for (int64_t i = 0; i < a->places; i++)
        for (int64_t j = 0; j < others; j++) {
            double complex sum = 0;
            for (int64_t k = 0; k < a->side; k++) sum += a->wave[k + a->side * i] * from[k + a->side * j];
            to[j + others * i] = sum;
        }
}

/* Adds the energy of one coil's image; work: room for two arrays. */
static void add_coil(const axis a[3], const double complex *data, double complex *work[2], double *energy)
{
    int64_t all = a[0].side * a[1].side * a[2].side;
    for (int d = 0; d < 3; d++) {
        transform(&a[d], all / a[d].side, d ? work[(d - 1) % 2] : data, work[d % 2]);
        all = all / a[d].side * a[d].places;
    }
    for (int64_t i = 0; i < all; i++) energy[i] += creal(work[0][i] * conj(work[0][i]));
}

larmor_status lmr_region_shown(const lmr_windows *w, double noise, const double fov[3], const int64_t grid[3],
                               unsigned char *shown)
{
    LMR_FREED_BY(free_axes) axes a = {.along = {{0}}};
    int64_t room = 1, places = 1, samples = 1;
    double expected = noise * (double)w->coils;
    for (int d = 0; d < 3; d++) {
        LMR_TRY(make_axis(w->side[d], grid[d], fov[d], &a.along[d]));
        room *= w->side[d] > grid[d] ? w->side[d] : grid[d];
        places *= grid[d];
        samples *= w->side[d];
        expected *= a.along[d].energy;
    }
    LMR_HEAP LMR_NEW(double complex, work, 2 * room);
    LMR_HEAP LMR_NEW_ZEROS(double, energy, places);
    for (int64_t c = 0; c < w->coils; c++)
        add_coil(a.along, w->data + samples * c, (double complex *[2]){work, work + room}, energy);
    const double least = expected * (1 + max_deviations / sqrt((double)w->coils));
    for (int64_t i = 0; i < places; i++) shown[i] = energy[i] > least;
    return LARMOR_OK;
}
