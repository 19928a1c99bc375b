/* Readouts on a part of their field of view: oversampling that is removed. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

#define POSITION_TOLERANCE 1e-3 /* of a sample's distance from the next; not measured */
enum { MOST_TRIES = 256 };

/* Where the samples of every readout are: number first .. first + count - 1 in steps of `step` from the centre. */
typedef struct places {
    double step;
    int64_t first, count;
    int64_t from, to; /* samples of a readout on its own field of view, and on the part of it */
} places;

static larmor_status refuse(int64_t readout, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "crop readouts: readout %lld %s", (long long)readout, what);
}

/* place [samples, readouts] <- the number of each sample; all readouts have the same, in either direction. */
static larmor_status find_places(const double *k, const larmor_shape *traj, int64_t *place, places *p)
{
    const int64_t nd = traj->dim[0], samples = traj->dim[1], readouts = traj->dim[2];
    if (samples < 2 || readouts < 1) return refuse(0, "has less than two samples");
    p->count = samples;
    p->step = fabs(k[nd] - k[0]);
    if (!(p->step > 0 && fabs(k[0]) / p->step < 0x1p40)) return refuse(0, "does not run along x");
    for (int64_t r = 0; r < readouts; r++) {
        const double *x = k + r * samples * nd;
        const double begin = x[0] / p->step;
        const int64_t turn = x[nd] > x[0] ? 1 : -1;
        const int64_t first = llround(begin);
        const int64_t lowest = turn > 0 ? first : first + 1 - samples;
        if (!r) p->first = lowest;
        if (lowest != p->first) return refuse(r, "begins or ends elsewhere than the others");
        for (int64_t i = 0; i < samples; i++) {
            place[r * samples + i] = first + turn * i;
            if (!(fabs(x[i * nd] / p->step - (double)place[r * samples + i]) <= POSITION_TOLERANCE))
                return refuse(r, "is not evenly sampled through the centre");
            for (int64_t d = 1; d < nd; d++)
                if (!(fabs(x[i * nd + d] - x[d]) <= POSITION_TOLERANCE)) return refuse(r, "does not run along x");
        }
    }
    return LARMOR_OK;
}

/* The least samples that hold the readout and whose part is a whole number. */
static larmor_status find_sizes(double part, places *p)
{
    const int64_t low = -p->first, high = p->first + p->count; /* on either side of the centre */
    int64_t least = low > high ? 2 * low : 2 * high;
    if (low == high - 1) least = p->count;
    for (int64_t n = least < 1 ? 1 : least; n < least + MOST_TRIES; n++) {
        const double m = (double)n * part * p->step;
        if (n - n / 2 < high || fabs(m - nearbyint(m)) > POSITION_TOLERANCE * fmax(1, m / 64) || m < 1) continue;
        p->from = n;
        p->to = (int64_t)nearbyint(m);
        return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_ARG, "crop readouts: %g of the field of view of %lld samples is no number of voxels",
                    part * p->step, (long long)least);
}

/* ---- samples ---- */

typedef struct mover { /* picks numbers of one coil */
    larmor_array *index, *factor;
} mover;

LMR_FREES(mover_free, mover, index, factor)

/* to [n, readouts] <- factor times number index[i, r] of each readout, or 0 where that is negative. */
static larmor_status mover_create(larmor_device *dev, const int64_t *index, int64_t n, int64_t readouts,
                                  double factor, mover *m)
{
    const int64_t count = n * readouts;
    LMR_HEAP LMR_NEW(int64_t, from, count);
    LMR_HEAP LMR_NEW(double, w, count);
    for (int64_t i = 0; i < count; i++) {
        from[i] = index[i] < 0 ? 0 : index[i];
        w[i] = index[i] < 0 ? 0 : factor;
    }
    LMR_TRY(larmor_array_upload(dev, LARMOR_I64, LARMOR_SHAPE(count), LARMOR_I64, from, &m->index));
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, w, &m->factor);
}

static larmor_status move(const mover *m, const larmor_array *from, larmor_array *to)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(from->dev, from->dtype, &kernels));
    return kernels->gather(from->dev->ctx, larmor_array_count(from), larmor_array_count(to), 1, m->index->data,
                           m->factor->data, from->data, to->data);
}

/* Which numbers go where, and the transforms of one coil between. */
typedef struct cutter {
    mover in, out;
    larmor_op *long_fft, *short_fft;
    larmor_array *spectrum, *line, *part;
} cutter;

static void cutter_free(cutter *c)
{
    mover_free(&c->in);
    mover_free(&c->out);
    LMR_FREE(c->long_fft, c->short_fft, c->spectrum, c->line, c->part);
}

static larmor_status cutter_create(const larmor_array *kspace, const places *p, const int64_t *place, int64_t first,
                                   int64_t count, cutter *c)
{
    const int64_t readouts = kspace->shape.dim[1], whole = p->from * readouts, kept = count * readouts;
    const larmor_shape wide = LARMOR_SHAPE(p->from, readouts), narrow = LARMOR_SHAPE(p->to, readouts);
    const larmor_fft_opts centred = {.centred = 1};
    larmor_device *dev = kspace->dev;
    LMR_HEAP LMR_NEW(int64_t, index, whole > kept ? whole : kept);
    for (int64_t i = 0; i < whole; i++) index[i] = -1;
    for (int64_t i = 0; i < p->count * readouts; i++) index[i / p->count * p->from + place[i] + p->from / 2] = i;
    LMR_TRY(mover_create(dev, index, p->from, readouts, 1 / (double)p->from, &c->in));
    for (int64_t i = 0; i < kept; i++) index[i] = i / count * p->to + i % count + first + p->to / 2;
    LMR_TRY(mover_create(dev, index, count, readouts, 1, &c->out));
    LMR_TRY(larmor_op_fft(dev, kspace->dtype, wide, 1, &centred, &c->long_fft));
    LMR_TRY(larmor_op_fft(dev, kspace->dtype, narrow, 1, &centred, &c->short_fft));
    LMR_TRY(larmor_array_create(dev, kspace->dtype, wide, &c->spectrum));
    LMR_TRY(larmor_array_create(dev, kspace->dtype, wide, &c->line));
    return larmor_array_create(dev, kspace->dtype, narrow, &c->part);
}

/* One coil: [samples, readouts] to [kept, readouts]. */
static larmor_status cut(const cutter *c, const larmor_array *from, larmor_array *to)
{
    LMR_TRY(move(&c->in, from, c->spectrum));
    LMR_TRY(larmor_op_adjoint(c->long_fft, c->spectrum, c->line));
    LMR_OWN(larmor_array, cropped, larmor_crop(c->line, c->part->shape, 1, &cropped));
    larmor_status st = larmor_op_forward(c->short_fft, cropped, c->part);
    return st ? st : move(&c->out, c->part, to);
}

static larmor_status cut_coils(const larmor_array *kspace, const places *p, const int64_t *place, int64_t first,
                               int64_t count, larmor_array *out)
{
    LMR_FREED_BY(cutter_free) cutter c = {.line = NULL};
    LMR_OWNED(larmor_array) *from = NULL, *to = NULL;
    const larmor_shape given = larmor_shape_of(2, kspace->shape.dim), kept = larmor_shape_of(2, out->shape.dim);
    LMR_TRY(cutter_create(kspace, p, place, first, count, &c));
    for (int64_t i = 0; i < kspace->shape.dim[2]; i++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(larmor_array_part(kspace, i, 1, given, &from));
        LMR_TRY(larmor_array_part(out, i, 1, kept, &to));
        LMR_TRY(cut(&c, from, to));
        LMR_FREE(from, to);
        from = to = NULL;
    }
    return LARMOR_OK;
}

/* ---- trajectory ---- */

static larmor_status cut_traj(const larmor_array *traj, const double *k, int64_t first, int64_t count,
                              larmor_array **out)
{
    const int64_t nd = traj->shape.dim[0], samples = traj->shape.dim[1], readouts = traj->shape.dim[2];
    LMR_HEAP LMR_NEW(double, to, nd *count *readouts);
    for (int64_t i = 0; i < count * readouts; i++) {
        to[i * nd] = (double)(first + i % count);
        for (int64_t d = 1; d < nd; d++) to[i * nd + d] = k[i / count * samples * nd + d];
    }
    return larmor_array_upload(traj->dev, traj->dtype, LARMOR_SHAPE(nd, count, readouts), LARMOR_F64, to, out);
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, double part)
{
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "crop readouts: k-space is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    LMR_REFUSE(!traj || !lmr_is_real(traj->dtype) || traj->shape.ndim != 3 || traj->dev != kspace->dev ||
                   traj->shape.dim[0] > 3 || traj->shape.dim[1] != kspace->shape.dim[0] ||
                   traj->shape.dim[2] != kspace->shape.dim[1],
               LARMOR_ERR_SHAPE, "crop readouts: trajectory is %s, expected real [nd, samples, readouts]",
               traj ? lmr_describe(traj).s : "missing");
    LMR_REFUSE(!(part > 0 && part < 1e6), LARMOR_ERR_ARG, "crop readouts: part is %g, expected a positive number",
               part);
    return LARMOR_OK;
}

larmor_status larmor_crop_readouts(const larmor_array *kspace, const larmor_array *traj, double part,
                                   larmor_array **cropped, larmor_array **cropped_traj, double *noise)
{
    LMR_NEED(cropped, cropped_traj);
    *cropped = *cropped_traj = NULL;
    LMR_TRY(check(kspace, traj, part));
    places p = {0};
    LMR_OWN(larmor_array, real, lmr_input_real("crop readouts", "trajectory", traj, &real));
    LMR_OWN_MEMORY(double, k, larmor_array_download(real, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW(int64_t, place, traj->shape.dim[1] * traj->shape.dim[2]);
    LMR_TRY(find_places(k, &traj->shape, place, &p));
    LMR_TRY(find_sizes(part, &p));
    const double of = (double)p.to / (double)p.from;
    const int64_t first = (int64_t)ceil((double)p.first * of - POSITION_TOLERANCE);
    const int64_t count = (int64_t)floor((double)(p.first + p.count - 1) * of + POSITION_TOLERANCE) - first + 1;
    if (count < 1) LMR_TRY(refuse(0, "has no sample on the part of its field of view"));
    const larmor_shape shape = LARMOR_SHAPE(count, kspace->shape.dim[1], kspace->shape.dim[2]);
    LMR_OWN(larmor_array, out, larmor_array_create(kspace->dev, kspace->dtype, shape, &out));
    LMR_TRY(cut_coils(kspace, &p, place, first, count, out));
    LMR_TRY(cut_traj(traj, k, first, count, cropped_traj));
    if (noise) *noise = sqrt(of);
    return LMR_HAND_ON(*cropped, out);
}
