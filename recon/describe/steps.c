/* A step between two lines of a grid: an object that moved, or another gain from there on. Windows of k-space
 * within either part span few dimensions, which those across the step leave. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/steps.h"

#include "core/core.h"
#include "recon/describe/windows.h"

enum { SIDE = LMR_LINES_SIDE, LINES = LMR_LINES_MOST, KERNEL = LMR_LINES_KERNEL };
enum { COLUMNS = KERNEL * KERNEL * LMR_LINES_COILS, PLACES = SIDE - KERNEL + 1 };
enum { WINDOWS = (KERNEL - 1) * PLACES }; /* across a step */

static const double clear_gain = 0.4; /* of the mean logarithm of an eigenvalue */

/* ---- windows ---- */

static double complex sample_of(const lmr_line_block *b, int64_t x, int64_t y, int64_t i)
{
    return b->block[x + i % KERNEL + SIDE * (y + i / KERNEL % KERNEL + b->count * (i / (KERNEL * KERNEL)))];
}

void lmr_steps_add_windows(const lmr_line_block *b, int64_t y, double complex *gram)
{
    const int64_t rows = KERNEL * KERNEL * b->coils;
    double complex row[COLUMNS];
    for (int64_t x = 0; x + KERNEL <= SIDE; x++) {
        for (int64_t i = 0; i < rows; i++) row[i] = sample_of(b, x, y, i);
        for (int64_t j = 0; j < rows; j++)
            for (int64_t i = j; i < rows; i++) gram[i + rows * j] += row[i] * conj(row[j]);
    }
}

typedef struct step {
    const lmr_line_block *b;
    int64_t rows, starts;   /* starts: lines that windows begin at */
    double complex *gram;   /* [rows, rows, starts] of the block's windows */
    double complex *across; /* [rows, WINDOWS] those across a step */
    double complex *L;      /* [rows, rows], lower triangle: of the others' mean Gram matrix L L^H */
} step;

LMR_FREES(free_step, step, L, across, gram)

/* ---- the dimensions that all windows span ---- */

/* Windows with the lines from q on over gain. */
static double spread_with(const step *s, int64_t q, double gain)
{
    const int64_t rows = s->rows;
    double complex sum[COLUMNS * COLUMNS];
    memset(sum, 0, sizeof sum);
    for (int64_t y = 0; y < s->starts; y++) {
        double scale[COLUMNS];
        for (int64_t i = 0; i < rows; i++) scale[i] = y + i / KERNEL % KERNEL < q ? 1 : 1 / gain;
        for (int64_t j = 0; j < rows; j++)
            for (int64_t i = j; i < rows; i++)
                sum[i + rows * j] += scale[i] * scale[j] * s->gram[i + rows * (j + rows * y)];
    }
    return lmr_windows_spread(sum, rows);
}

static void try_gains(const step *s, larmor_description *found)
{
    static const double gain[] = {0.4, 0.5, 0.63, 0.8, 1.25, 1.6, 2, 2.5};
    for (int64_t q = 2; q + 1 < s->b->count; q++)
        for (size_t i = 0; i < sizeof gain / sizeof *gain; i++) {
            const double spread = spread_with(s, q, gain[i]);
            if (!(spread < found->better)) continue;
            found->better = spread;
            snprintf(found->name, sizeof found->name, "%.2f times the signal from the line at %+.0f/FOV on", gain[i],
                     s->b->at[q]);
        }
}

/* ---- windows across a step, by the dimensions that all others span ---- */

/* Noise hides a step among all windows, but not in those across it. Their energy is measured by the inverse of the
 * others' mean Gram matrix, so that it is about 1 where they span the same dimensions. Another shift, which is 0
 * in 84 right scans, lowers it by a factor of at most 1.05 with a coil alone (1.18 in a phantom that fills the
 * field of view), 1.04 with two coils, 1.02 with more, in 64 of objects that fold 1.13 with two coils and 1.06
 * with more, in 108 of moved ones by 1 to 39, the median 1.5. No other windows are like those with the centre of
 * k-space: across lines beside it the factor is up to 1.22 in right scans of several coils, most of which leave .75
 * and more of what others do not have (docs/records/cartesian.md). In 300 of smooth objects it is up to 1.15 of two
 * coils and 1.11 of more, 1.46 at the line before the centre, and more where windows on one side have no signal.
 * Another gain lowers it by 1.19 in right scans, 1.55 in folded ones of two coils, 1.33 of more, and 1.2 to 2000
 * where there is one. */
static const double min_shift_fall[] = {1.35, 1.15, 1.1};   /* of one coil, two, more */
static const double one_sided_fall[] = {1.35, 1.25, 1.2};   /* the same where one side has next to no signal */
static const double centre = 2.5;                           /* 1/FOV, of lines that are beside the centre */
static const double min_shift_fall_there = 1.5;             /* of several coils */
static const double max_left = 0.55;                        /* of what others do not have, or there less */
static const double min_side = 1e-3;                        /* of the signal: the least on one side of a step, or: */
static const double max_one_sided = 3;                      /* of the energy with a shift. Right 10, moved ones 2 */
static const double min_gain_fall[] = {INFINITY, 1.6, 1.4}; /* of one coil, two, more */
/* With a phase over that with a shift, which has one number more. */
static const double max_phase_energy = 1.03;
static const double min_shift_energy = 1; /* over what the others have */
static const double min_gain_energy = 4;  /* over what the others have */
static const double ridge = 1e-5;         /* of the mean eigenvalue, added to all */
static const double widest_shift = 0.09;  /* fields of view */
static const double first_step = 0.045;   /* fields of view, of the search */
static const double last_step = 0.005;    /* fields of view, of the search */
static const double gains[] = {0.4, 0.5, 0.63, 1.6, 2, 2.5};

typedef struct shift {
    double along, across; /* of the lines, fields of view */
    double energy;        /* of the windows across the step with it */
} shift;

/* s->L <- the Cholesky factor of the mean Gram matrix of all windows but those across line q. 0: it has none. */
static int factorise(const step *s, int64_t q)
{
    const int64_t rows = s->rows;
    double complex *a = s->L;
    double trace = 0;
    memset(a, 0, (size_t)(rows * rows) * sizeof *a);
    for (int64_t y = 0; y < s->starts; y++) {
        if (y < q && q < y + KERNEL) continue;
        for (int64_t j = 0; j < rows * rows; j++) a[j] += s->gram[j + rows * rows * y] / (double)PLACES;
    }
    const double others = (double)(s->starts - KERNEL + 1);
    for (int64_t j = 0; j < rows * rows; j++) a[j] /= others;
    for (int64_t j = 0; j < rows; j++) trace += creal(a[j + rows * j]);
    for (int64_t j = 0; j < rows; j++) a[j + rows * j] += ridge * trace / (double)rows;
    return lmr_cholesky(a, rows) > -INFINITY;
}

/* v <- L^-1 v, in real numbers, which compilers make fast. */
static void solve_lower(const step *s, double complex *v)
{
    const int64_t rows = s->rows;
    double *x = (double *)v;
    for (int64_t j = 0; j < rows; j++) {
        const double *column = (const double *)(s->L + rows * j);
        const double re = x[2 * j] / column[2 * j], im = x[2 * j + 1] / column[2 * j];
        x[2 * j] = re;
        x[2 * j + 1] = im;
        for (int64_t i = j + 1; i < rows; i++) {
            x[2 * i] -= column[2 * i] * re - column[2 * i + 1] * im;
            x[2 * i + 1] -= column[2 * i] * im + column[2 * i + 1] * re;
        }
    }
}

/* The windows across line q with the lines from it on shifted back and turned; part: -1 those before it alone, 1
 * those from it on alone. */
static void take_across(const step *s, int64_t q, double along, double across, double complex turn, int part)
{
    const lmr_line_block *b = s->b;
    double complex turn_x[SIDE], turn_y[LINES];
    for (int64_t x = 0; x < SIDE; x++) turn_x[x] = cexp(2 * M_PI * I * along * b->step * (double)(x - SIDE / 2));
    for (int64_t y = 0; y < b->count; y++) turn_y[y] = cexp(2 * M_PI * I * across * b->at[y]);
    double complex *to = s->across;
    for (int64_t y = q - KERNEL + 1; y < q; y++)
        for (int64_t x = 0; x < PLACES; x++)
            for (int64_t i = 0; i < s->rows; i++) {
                const int64_t line = y + i / KERNEL % KERNEL;
                const int late = line >= q;
                const double complex v = late ? turn * turn_x[x + i % KERNEL] * turn_y[line] : 1;
                *to++ = part == (late ? -1 : 1) ? 0 : v * sample_of(b, x, y, i);
            }
}

static double energy_of(const double complex *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    return sum;
}

/* Of a window across line q, on average, over what the others have. */
static double energy_across(const step *s, int64_t q, double along, double across)
{
    take_across(s, q, along, across, 1, 0);
    for (int64_t w = 0; w < WINDOWS; w++) solve_lower(s, s->across + s->rows * w);
    return energy_of(s->across, s->rows * WINDOWS) / (double)(s->rows * WINDOWS);
}

static void try_shift(const step *s, int64_t q, double along, double across, shift *best)
{
    const double energy = energy_across(s, q, along, across);
    if (energy < best->energy) *best = (shift){along, across, energy};
}

/* On a coarse grid, and from the best place on by ever smaller steps. */
static shift find_shift(const step *s, int64_t q)
{
    shift best = {.energy = INFINITY};
    const int n = (int)(widest_shift / first_step + 0.5);
    for (int i = -n; i <= n; i++)
        for (int j = -n; j <= n; j++) try_shift(s, q, i * first_step, j * first_step, &best);
    for (double by = first_step / 2; by > last_step; by /= 2) {
        const shift from = best;
        for (int i = -1; i <= 1; i++)
            for (int j = -1; j <= 1; j++)
                if (i || j) try_shift(s, q, from.along + i * by, from.across + j * by, &best);
    }
    return best;
}

/* The same of those before the line alone, and of those from it on; raw: before L^-1. */
static void split_energy(const step *s, int64_t q, double raw[2], double energy[2])
{
    const int64_t size = s->rows * WINDOWS;
    for (int part = 0; part < 2; part++) {
        take_across(s, q, 0, 0, 1, part ? 1 : -1);
        raw[part] = energy_of(s->across, size);
        for (int64_t w = 0; w < WINDOWS; w++) solve_lower(s, s->across + s->rows * w);
        energy[part] = energy_of(s->across, size) / (double)size;
    }
}

/* The most that another gain lowers the energy of the windows across line q, relative to their own; *gain: that
 * one. */
static double find_gain(const step *s, int64_t q, double own, double *gain)
{
    double raw[2], energy[2], most = 1;
    split_energy(s, q, raw, energy);
    const double both = own - energy[0] - energy[1];
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        const double g = 1 / gains[i];
        const double with = energy[0] + g * both + g * g * energy[1], all = raw[0] + g * g * raw[1];
        const double fall = own / (raw[0] + raw[1]) / (with / all);
        if (fall <= most) continue;
        most = fall;
        *gain = gains[i];
    }
    return most;
}

/* The least energy of the windows across line q with another phase from it on, in degrees. */
static double find_phase(const step *s, int64_t q, double *degrees)
{
    const int64_t size = s->rows * WINDOWS;
    double raw[2], energy[2];
    split_energy(s, q, raw, energy);
    const double cosine = energy_across(s, q, 0, 0) - energy[0] - energy[1];
    take_across(s, q, 0, 0, I, 0);
    for (int64_t w = 0; w < WINDOWS; w++) solve_lower(s, s->across + s->rows * w);
    const double sine = energy_of(s->across, size) / (double)size - energy[0] - energy[1];
    *degrees = atan2(-sine, -cosine) * 180 / M_PI;
    return energy[0] + energy[1] - hypot(cosine, sine);
}

static double energy_of_windows(const step *s, int64_t y)
{
    double sum = 0;
    for (int64_t j = 0; j < s->rows; j++) sum += creal(s->gram[j * (s->rows + 1) + s->rows * s->rows * y]);
    return sum;
}

/* 1 if windows on one side of line q have next to no signal beside those on the other: what is across then has
 * dimensions of its own. */
static int is_one_sided(const step *s, int64_t q)
{
    double before = 0, after = 0;
    for (int64_t y = 0; y + KERNEL <= q; y++) before += energy_of_windows(s, y);
    for (int64_t y = q; y < s->starts; y++) after += energy_of_windows(s, y);
    return fmin(before, after) < min_side * fmax(before, after);
}

/* own: the energy as described, over that of others. */
static int is_shifted(const step *s, int64_t q, double own, const shift *moved)
{
    const double fall = own / moved->energy;
    const int one_sided = is_one_sided(s, q);
    if (one_sided && moved->energy > max_one_sided) return 0;
    const int64_t class = s->b->coils < 3 ? s->b->coils - 1 : 2;
    if (fall < (one_sided ? one_sided_fall : min_shift_fall)[class]) return 0;
    if (fabs(s->b->at[q]) > centre || fall > min_shift_fall_there) return 1;
    return moved->energy - 1 < max_left * (own - 1);
}

/* What explains most of the windows across a line. */
typedef struct explained {
    double by_shift,
        by_gain; /* their energy as described over that with another shift, with another gain; 1: not clear */
    shift moved;
    double gain;
    int64_t shifted_from, louder_from; /* lines */
    double degrees;                    /* of a phase that explains them as well as the shift; 0: none does */
} explained;

static explained look_across(const step *s)
{
    explained most = {.by_shift = 1, .by_gain = 1};
    const int64_t class = s->b->coils < 3 ? s->b->coils - 1 : 2;
    for (int64_t q = KERNEL - 1; q < s->starts; q++) {
        double gain = 1;
        if (!factorise(s, q)) continue;
        const double own = energy_across(s, q, 0, 0);
        if (own < min_shift_energy) continue;
        const shift moved = find_shift(s, q);
        const double by_shift = own / moved.energy;
        if (by_shift > most.by_shift && is_shifted(s, q, own, &moved)) {
            most.by_shift = by_shift;
            most.moved = moved;
            most.shifted_from = q;
        }
        if (s->b->coils < 2 || own < min_gain_energy) continue;
        const double by_gain = find_gain(s, q, own, &gain);
        if (by_gain < min_gain_fall[class] || by_gain < most.by_gain) continue;
        most.by_gain = by_gain;
        most.gain = gain;
        most.louder_from = q;
    }
    if (most.by_shift > 1) {
        double degrees;
        factorise(s, most.shifted_from);
        if (find_phase(s, most.shifted_from, &degrees) < max_phase_energy * most.moved.energy) most.degrees = degrees;
    }
    return most;
}

/* A move explains another gain as well, but not the other way round. */
static void name_explained(const step *s, const explained *most, larmor_description *found)
{
    const double fall = most->by_shift > 1 ? most->by_shift : most->by_gain;
    if (!(fall > 1)) return;
    found->is_clear = 1;
    found->better = found->misfit - log(fall);
    if (most->by_shift > 1 && most->degrees != 0)
        snprintf(found->name, sizeof found->name, "another phase, by %.0f degrees, from the line at %+.0f/FOV on",
                 fabs(most->degrees), s->b->at[most->shifted_from]);
    else if (most->by_shift > 1)
        snprintf(found->name, sizeof found->name,
                 "an object that has moved by %.0f %% of the field of view from the line at %+.0f/FOV on",
                 100 * hypot(most->moved.along, most->moved.across), s->b->at[most->shifted_from]);
    else
        snprintf(found->name, sizeof found->name, "%.2f times the signal from the line at %+.0f/FOV on", most->gain,
                 s->b->at[most->louder_from]);
}

/* ---- all ---- */

int lmr_steps_are_clear(const larmor_description *found)
{
    return found->better < found->misfit - clear_gain;
}

static void try_steps(const step *s, larmor_description *found)
{
    const explained most = look_across(s);
    try_gains(s, found);
    found->is_clear = lmr_steps_are_clear(found);
    if (!found->is_clear || most.by_shift > 1) name_explained(s, &most, found);
}

larmor_status lmr_steps_compare(const lmr_line_block *b, larmor_description *found)
{
    LMR_FREED_BY(free_step) step s = {.b = b, .rows = KERNEL * KERNEL * b->coils, .starts = b->count - KERNEL + 1};
    LMR_ALLOCATE_ZEROS(s.gram, s.rows * s.rows * s.starts);
    LMR_ALLOCATE(s.across, s.rows * WINDOWS);
    LMR_ALLOCATE(s.L, s.rows * s.rows);
    for (int64_t y = 0; y < s.starts; y++) lmr_steps_add_windows(b, y, s.gram + s.rows * s.rows * y);
    found->is_clear = lmr_steps_are_clear(found);
    if (!found->is_clear) try_steps(&s, found);
    return LARMOR_OK;
}
