/* Trajectories whose rows are the phases that a field camera has measured: those of x, y and z become the trajectory
 * along the image's axes, the others are kept. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

/* How the rows are read. */
typedef struct layout {
    int fourth;     /* 1: the order is x, y, z, 1 and what follows */
    double sign;    /* of the phase in exp(-i phase) */
    double turn[3]; /* -1 where an axis points against L, P or S */
    char axes[4];
} layout;

enum { LETTERS = 3 };

#define ROUNDING 2e-6 /* of the sizes of k along x, y and z, which single precision leaves along the slice */

static int read_axes(const char *word, size_t length, layout *l)
{
    static const char along[] = "LPS", against[] = "RAI";
    for (int a = 0; a < LETTERS; a++) {
        if (length != LETTERS || (word[a] != along[a] && word[a] != against[a])) return 0;
        l->turn[a] = word[a] == along[a] ? 1 : -1;
        l->axes[a] = word[a];
    }
    return 1;
}

static int read_words(const char *text, layout *l)
{
    static const char name[] = "trajectory";
    *l = (layout){.sign = 1, .turn = {1, 1, 1}, .axes = "LPS"};
    if (strncmp(text, name, strlen(name))) return 0;
    const char *word = text + strlen(name);
    if (!*word) return 1;
    if (*word++ != ':') return 0;
    for (;;) {
        const size_t length = strcspn(word, ",");
        if (length == 4 && !strncmp(word, "plus", length))
            l->sign = -1;
        else if (length == 6 && !strncmp(word, "fourth", length))
            l->fourth = 1;
        else if (!read_axes(word, length, l))
            return 0;
        if (!word[length]) return 1;
        word += length + 1;
    }
}

/* What the coefficient of a harmonic is multiplied by: its sign along turned axes, and that of the phase. */
static double turn_of(const layout *l, int harmonic)
{
    static const char odd[16][4] = {"", "x", "y", "z", "xy", "yz", "", "xz", "", "y", "xyz", "y", "z", "x", "z", "x"};
    double turn = l->sign;
    for (const char *a = odd[harmonic]; *a; a++) turn *= l->turn[*a - 'x'];
    return turn;
}

static int row_of(const layout *l, int harmonic)
{
    if (!l->fourth || harmonic > 3) return harmonic;
    return harmonic ? harmonic - 1 : 3;
}

/* ---- readouts ---- */

static int is_wanted(const larmor_raw *raw, int64_t i)
{
    return (raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION)) != 0;
}

static larmor_status check_readout(const larmor_raw *raw, int64_t i, int rows)
{
    const lmr_mrd_head *h = &raw->head[i];
    if (raw->readout[i].use == LMR_CALIBRATION && !h->traj_dims) return LARMOR_OK;
    LMR_REFUSE(h->traj_dims != 4 && h->traj_dims != 9 && h->traj_dims != 16, LARMOR_ERR_FORMAT,
               "acquisition %lld: trajectory has %d row%s, expected 4, 9 or 16 for opts.phase_terms "
               "trajectory.",
               (long long)i, h->traj_dims, h->traj_dims == 1 ? "" : "s");
    LMR_REFUSE(h->traj_dims != rows, LARMOR_ERR_FORMAT, "acquisition %lld: trajectory has %d rows, the first has %d.",
               (long long)i, h->traj_dims, rows);
    if (lmr_mrd_is_oriented(h)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "acquisition %lld: has no directions, along which opts.phase_terms trajectory lies.",
                    (long long)i);
}

static larmor_status check_readouts(const larmor_raw *raw, int *rows)
{
    *rows = 0;
    for (int64_t i = 0; i < raw->info.acquisitions && !*rows; i++)
        if (is_wanted(raw, i)) *rows = raw->head[i].traj_dims;
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (is_wanted(raw, i)) LMR_TRY(check_readout(raw, i, *rows));
    return LARMOR_OK;
}

/* The rows of a sample become k along the image's axes in rad/m, and phases, of whose first order what k has is taken
 * off. */
static void split(const layout *l, const lmr_mrd_head *h, int dims, const float *row, float *k, float *phase)
{
    const float *const along[3] = {h->read_dir, h->phase_dir, h->slice_dir};
    double linear[3];
    for (int m = 0; m < h->traj_dims; m++) phase[m] = (float)(turn_of(l, m) * (double)row[row_of(l, m)]);
    for (int a = 0; a < 3; a++) linear[a] = (double)phase[1 + a];
    for (int d = 0; d < dims; d++) {
        double sum = 0;
        for (int a = 0; a < 3; a++) sum += (double)along[d][a] * (double)phase[1 + a];
        k[d] = (float)sum;
        for (int a = 0; a < 3; a++) linear[a] -= sum * (double)along[d][a];
    }
    const double rounding = ROUNDING * (fabs((double)phase[1]) + fabs((double)phase[2]) + fabs((double)phase[3]));
    for (int a = 0; a < 3; a++) phase[1 + a] = dims < 3 && fabs(linear[a]) > rounding ? (float)linear[a] : 0;
}

static int dims_of(const larmor_raw *raw, int64_t i)
{
    return raw->header.encoding[raw->head[i].encoding].space.matrix[2] > 1 ? 3 : 2;
}

/* New pools; a sample's phases are where its k is, [rows] each. */
static larmor_status take_rows(larmor_raw *raw, const layout *l, int rows)
{
    int64_t samples = 0, numbers = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const int64_t own = is_wanted(raw, i) && raw->head[i].traj_dims ? raw->head[i].samples : 0;
        samples += own;
        numbers += own * dims_of(raw, i);
    }
    LMR_HEAP LMR_NEW(float, k, numbers + 1);
    LMR_ALLOCATE(raw->phase, samples * rows + 1);
    samples = numbers = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        lmr_mrd_head *h = &raw->head[i];
        const float *from = raw->traj + raw->readout[i].traj;
        const int dims = dims_of(raw, i);
        if (!is_wanted(raw, i) || !h->traj_dims) continue;
        for (int64_t n = 0; n < h->samples; n++)
            split(l, h, dims, from + n * rows, k + numbers + n * dims, raw->phase + (samples + n) * rows);
        h->traj_dims = (uint16_t)dims;
        raw->readout[i].traj = numbers;
        raw->readout[i].phase = samples * rows;
        samples += h->samples;
        numbers += h->samples * dims;
    }
    free(raw->traj);
    return LMR_HAND_ON(raw->traj, k);
}

/* Readouts that are left out have no trajectory any more. */
static void leave_others(larmor_raw *raw)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (is_wanted(raw, i)) continue;
        raw->head[i].traj_dims = 0;
        raw->readout[i].traj = 0;
    }
}

larmor_status lmr_mrd_take_terms(larmor_raw *raw, const larmor_raw_opts *opts)
{
    const char *asked = opts->phase_terms, *units = opts->traj_units;
    layout l;
    int rows;
    if (!asked) return LARMOR_OK;
    LMR_REFUSE(!read_words(asked, &l), LARMOR_ERR_ARG,
               "opts.phase_terms \"%s\": trajectory expected, and behind a colon plus, fourth and axes such "
               "as LAI, with commas between.",
               lmr_printable(asked, (int64_t)strlen(asked), 40).s);
    LMR_REFUSE(opts->trajectory, LARMOR_ERR_ARG, "opts.phase_terms %s: a trajectory is given; leave one of them out.",
               asked);
    LMR_REFUSE(units && strcmp(units, "auto") != 0 && strcmp(units, "rad/m") != 0, LARMOR_ERR_ARG,
               "opts.phase_terms %s: its rows are in rad/m; leave opts.traj_units out.", asked);
    LMR_TRY(check_readouts(raw, &rows));
    LMR_TRY(take_rows(raw, &l, rows));
    leave_others(raw);
    raw->info.phase_terms = rows;
    const int order = (int)lround(sqrt(rows)) - 1;
    snprintf(raw->info.phase_report, sizeof raw->info.phase_report,
             "%d rows of the trajectory, of orders 0 to %d in rad/m^n, %s, along %s, of signals exp(%ci phase)", rows,
             order, l.fourth ? "kx, ky, kz, k0, ..." : "k0, kx, ky, kz, ...", l.axes, l.sign > 0 ? '-' : '+');
    return LARMOR_OK;
}
