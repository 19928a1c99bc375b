/* How center_sample of readouts in reverse is counted, from how well their neighbours in the other direction
 * explain them. A line of k-space is most like a sum of the lines before and behind it where all have the same k
 * along them. A skewed object shifts these two in opposite directions. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

/* Tuned on 170 right scans and 340 wrong ones of five kinds of objects, 1 to 8 coils and SNR 3 to none. */
#define MIN_MEAN_OVER_STD 5.  /* of the gain over the lines, as a logarithm of what is unexplained */
#define MAX_PEAK_SHIFT .35    /* samples from the way of counting to where lines match best */
#define MIN_LOG_GAIN .05      /* in what is unexplained, on average */
#define MIN_UNEXPLAINED 1e-3  /* of the energy of a line; less is as good */
#define MIN_OWN_FRACTION 1e-6 /* of the energy of a neighbour, beyond what the other neighbour explains of it */
#define MIN_OVER_NOISE 9.     /* similarity over that of noise; lines below do not count */
#define AROUND 13             /* samples about the one of a way of counting, which is the middle one */
enum { MIN_LINES = 6, MOST_LINES = 128, MOST_GAP = 4 };

typedef struct row {                     /* of a line in reverse */
    double match[LMR_COUNTINGS][AROUND]; /* from some samples before to some behind */
    double noise;                        /* the similarity that noise has on average */
    int step1;
} row;

typedef struct pairs {
    const larmor_raw *raw;
    const int64_t *line; /* [lines] acquisitions, neighbours in k-space beside each other */
    int64_t lines;
} pairs;

/* The centre of a reversed readout in the order of the line: of the index in the order of time, as ISMRMRD says;
 * of that index plus one, as Siemens' converters and mrpro have it; or of the index in the order of the line. */
int lmr_mrd_counted(int counting, const lmr_mrd_head *h)
{
    const int center[LMR_COUNTINGS] = {h->samples - 1 - h->center_sample, h->samples - h->center_sample,
                                       h->center_sample};
    return center[counting];
}

static int is_reversed(const lmr_mrd_head *h)
{
    return (h->flags & LARMOR_ACQ_REVERSE) != 0;
}

/* ---- neighbours ---- */

typedef struct place { /* of a line, for sorting */
    uint16_t key[LMR_COUNTERS];
    int64_t i;
} place;

/* The counters of which the first PLANES are alike for lines of one plane, and then along it. */
enum { PLANES = 5 };
static const int order[LMR_COUNTERS] = {LMR_SLICE, LMR_STEP2,   LMR_PHASE,    LMR_REPETITION, LMR_SET,
                                        LMR_STEP1, LMR_AVERAGE, LMR_CONTRAST, LMR_SEGMENT};

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    for (int c = 0; c < LMR_COUNTERS; c++)
        if (x->key[c] != y->key[c]) return x->key[c] < y->key[c] ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* The imaging lines of an encoding whose centre is filled in, sorted. *line is to be freed. */
static larmor_status sort_lines(const larmor_raw *raw, int encoding, int64_t **line, int64_t *lines)
{
    const int64_t all = raw->info.acquisitions;
    *lines = 0;
    LMR_ALLOCATE(*line, all);
    LMR_HEAP LMR_NEW(place, at, all);
    for (int64_t i = 0; i < all; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & LMR_IMAGING) || h->encoding != encoding || h->traj_dims) continue;
        if (!h->center_sample || !(raw->readout[i].energy > 0)) continue;
        for (int c = 0; c < LMR_COUNTERS; c++) at[*lines].key[c] = h->counter[order[c]];
        at[(*lines)++].i = i;
    }
    qsort(at, (size_t)*lines, sizeof *at, by_place);
    for (int64_t i = 0; i < *lines; i++) (*line)[i] = at[i].i;
    return LARMOR_OK;
}

/* Lines from one to the other, if they are of one plane and go opposite ways; else -1. */
static int gap_between(const pairs *p, int64_t i, int64_t j)
{
    if (j < 0 || j >= p->lines) return -1;
    const lmr_mrd_head *a = &p->raw->head[p->line[i]], *b = &p->raw->head[p->line[j]];
    for (int c = 0; c < PLANES; c++)
        if (a->counter[order[c]] != b->counter[order[c]]) return -1;
    const int gap = abs((int)a->counter[LMR_STEP1] - (int)b->counter[LMR_STEP1]);
    return is_reversed(a) == is_reversed(b) || a->channels != b->channels || gap > MOST_GAP ? -1 : gap;
}

/* ---- similarity ---- */

typedef struct complex_sum {
    double re, im;
} complex_sum;

/* The sum of conj(x) y over n samples, of which y's go on by `step`. */
static complex_sum product(const float *x, const float *y, int64_t n, int step)
{
    complex_sum sum = {0, 0};
    for (int64_t t = 0; t < n; t++, x += 2, y += 2 * step) {
        sum.re += (double)x[0] * y[0] + (double)x[1] * y[1];
        sum.im += (double)x[0] * y[1] - (double)x[1] * y[0];
    }
    return sum;
}

static double square(complex_sum x)
{
    return x.re * x.re + x.im * x.im;
}

/* One coil's energy in a line in reverse that one or two forward lines explain. Sample t of these meets sample t +
 * shift of the other in the order of the line. */
static double explained(const larmor_raw *raw, const int64_t *forward, int count, int64_t reversed, int64_t c,
                        const int64_t *shift)
{
    const lmr_mrd_head *r = &raw->head[reversed];
    int64_t low = r->discard_post, high = r->samples - r->discard_pre; /* in the order of the line */
    for (int j = 0; j < count; j++) {
        const lmr_mrd_head *f = &raw->head[forward[j]];
        const int64_t first = f->discard_pre + shift[j], end = (int64_t)f->samples - f->discard_post + shift[j];
        if (first > low) low = first;
        if (end < high) high = end;
    }
    if (high <= low) return 0;
    const float *y = raw->data + raw->readout[reversed].data + 2 * (c * r->samples + r->samples - 1 - low);
    const float *x[2] = {NULL, NULL};
    for (int j = 0; j < count; j++)
        x[j] = raw->data + raw->readout[forward[j]].data + 2 * (c * raw->head[forward[j]].samples + low - shift[j]);
    const int64_t n = high - low;
    const double energy = product(x[0], x[0], n, 1).re;
    const complex_sum on_first = product(x[0], y, n, -1);
    if (!(energy > 0)) return 0;
    const double sum = square(on_first) / energy;
    if (count < 2) return sum;
    const complex_sum both = product(x[1], x[0], n, 1);
    const complex_sum on_second = product(x[1], y, n, -1);
    const double second = product(x[1], x[1], n, 1).re, own = second - square(both) / energy;
    if (!(own > MIN_OWN_FRACTION * second)) return sum;
    const complex_sum more = {on_second.re - (both.re * on_first.re - both.im * on_first.im) / energy,
                              on_second.im - (both.re * on_first.im + both.im * on_first.re) / energy};
    return sum + square(more) / own;
}

/* The part of the energy of a line in reverse that its neighbours explain; 0 if it has none. */
static int compare_line(const pairs *p, int64_t i, row *out)
{
    const int gap[2] = {gap_between(p, i, i - 1), gap_between(p, i, i + 1)};
    const int beside = gap[0] == 0 || gap[1] == 0; /* in another contrast or average: the same line is the best one */
    const int64_t reversed = p->line[i];
    const lmr_mrd_head *r = &p->raw->head[reversed];
    int64_t forward[2], shift[2];
    int count = 0;
    for (int side = 0; side < 2; side++)
        if (gap[side] == 0 || (gap[side] > 0 && !beside)) forward[count++] = p->line[side ? i + 1 : i - 1];
    memset(out, 0, sizeof *out);
    out->step1 = r->counter[LMR_STEP1];
    out->noise = count / (double)lmr_head_kept(r);
    for (int k = 0; k < LMR_COUNTINGS && count; k++)
        for (int a = 0; a < AROUND; a++) {
            for (int j = 0; j < count; j++)
                shift[j] = lmr_mrd_counted(k, r) - p->raw->head[forward[j]].center_sample + a - AROUND / 2;
            for (int64_t c = 0; c < r->channels; c++)
                out->match[k][a] += explained(p->raw, forward, count, reversed, c, shift);
            out->match[k][a] /= p->raw->readout[reversed].energy;
        }
    return count;
}

/* ---- the way of counting ---- */

static int by_step1(const void *a, const void *b)
{
    return ((const row *)a)->step1 - ((const row *)b)->step1;
}

/* 1 if the line has a similarity beyond that of noise, in any way of counting or near it. */
static int stands_out(const row *of)
{
    double most = 0;
    for (int k = 0; k < LMR_COUNTINGS; k++)
        for (int a = 0; a < AROUND; a++) most = fmax(most, of->match[k][a]);
    return most > MIN_OVER_NOISE * of->noise;
}

/* One row for each line of k-space: the mean of those of all slices, repetitions and so on. */
static int64_t average_rows(row *all, int64_t rows)
{
    int64_t kept = 0, first = 0;
    qsort(all, (size_t)rows, sizeof *all, by_step1);
    while (first < rows) {
        row mean = all[first];
        int64_t end = first + 1;
        for (; end < rows && all[end].step1 == mean.step1; end++)
            for (int k = 0; k < LMR_COUNTINGS; k++)
                for (int a = 0; a < AROUND; a++) mean.match[k][a] += all[end].match[k][a];
        for (int k = 0; k < LMR_COUNTINGS; k++)
            for (int a = 0; a < AROUND; a++) mean.match[k][a] /= (double)(end - first);
        all[kept++] = mean;
        first = end;
    }
    return kept;
}

/* Samples from the way of counting to the vertex of the parabola through the similarities; INFINITY without a
 * peak. */
static double peak_shift(const double mean[AROUND])
{
    const double *there = mean + AROUND / 2;
    const double bend = 2 * there[0] - there[-1] - there[1];
    return there[0] >= there[-1] && there[0] >= there[1] && bend > 0 ? (there[1] - there[-1]) / (2 * bend) : INFINITY;
}

/* How much less a way of counting leaves unexplained of a line, as a logarithm. */
static double gain_of(const row *of, int best, int preset)
{
    const double before = fmax(1 - of->match[preset][AROUND / 2], 0) + MIN_UNEXPLAINED;
    const double after = fmax(1 - of->match[best][AROUND / 2], 0) + MIN_UNEXPLAINED;
    return log(before / after);
}

/* Of lines in noise, of which nothing explains much, little. */
static double weight_of(const row *of, int best, int preset)
{
    const double most = fmax(of->match[best][AROUND / 2], of->match[preset][AROUND / 2]);
    return most * most;
}

static void choose(const row *all, int64_t rows, lmr_mrd_match *out)
{
    const int preset = out->counting;
    double mean[LMR_COUNTINGS][AROUND] = {{0}};
    int best = preset;
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < LMR_COUNTINGS; k++)
            for (int a = 0; a < AROUND; a++) mean[k][a] += all[i].match[k][a] / (double)rows;
    for (int k = 0; k < LMR_COUNTINGS; k++)
        if (mean[k][AROUND / 2] > mean[best][AROUND / 2]) best = k;
    for (int a = 0; a < AROUND; a++) out->is_apart |= mean[best][a] > mean[best][AROUND / 2];
    out->shows = fabs(peak_shift(mean[best])) <= MAX_PEAK_SHIFT;
    if (best == preset || !out->shows) return;
    double gain = 0, weights = 0, squares = 0;
    for (int64_t i = 0; i < rows; i++) {
        gain += weight_of(&all[i], best, preset) * gain_of(&all[i], best, preset);
        weights += weight_of(&all[i], best, preset);
    }
    gain /= weights;
    for (int64_t i = 0; i < rows; i++) {
        const double off = weight_of(&all[i], best, preset) * (gain_of(&all[i], best, preset) - gain) / weights;
        squares += off * off;
    }
    const double std = sqrt(squares * (double)rows / (double)(rows - 1));
    out->shows = gain > MIN_MEAN_OVER_STD * std && gain > MIN_LOG_GAIN;
    if (out->shows) out->counting = best;
}

larmor_status lmr_mrd_match_directions(const larmor_raw *raw, int encoding, int preset, lmr_mrd_match *out)
{
    int64_t lines, rows = 0, reversed = 0, seen = 0, compared = 0;
    *out = (lmr_mrd_match){.counting = preset};
    LMR_OWN_MEMORY(int64_t, line, sort_lines(raw, encoding, &line, &lines));
    LMR_HEAP LMR_NEW(row, all, MOST_LINES);
    for (int64_t i = 0; i < lines; i++) reversed += is_reversed(&raw->head[line[i]]);
    const pairs p = {raw, line, lines};
    const int64_t stride = (reversed + MOST_LINES - 1) / MOST_LINES;
    for (int64_t i = 0; i < lines; i++) {
        if (!is_reversed(&raw->head[line[i]]) || seen++ % stride) continue;
        LMR_TRY(lmr_go_on());
        if (!compare_line(&p, i, &all[rows])) continue;
        compared++;
        rows += stands_out(&all[rows]);
    }
    rows = average_rows(all, rows);
    out->is_apart = compared < MIN_LINES;
    if (rows >= MIN_LINES) choose(all, rows, out);
    return LARMOR_OK;
}
