/* Wisdom: a list in the device's handle, and a text file with a line for each entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/atomic.h"
#include "core/core.h"
#include "nufft/kernels.h"
#include "nufft/tune/survey.h"
#include "nufft/window.h"

enum { MOST_ENTRIES = 4096, MOST_LINE = 512, MOST_WORDS = 40, MOST_FILE = 4 << 20 };

typedef struct entry {
    lmr_wisdom_key key;
    lmr_wisdom_plan plan;
} entry;

typedef struct wisdom {
    int calibrated[LMR_PRECISIONS];
    lmr_nufft_scales scales[LMR_PRECISIONS];
    int count;
    entry entries[MOST_ENTRIES];
} wisdom;

/* ---- in memory ---- */

static wisdom *wisdom_of(larmor_device *dev)
{
    if (!dev->learnt) {
        dev->learnt = calloc(1, sizeof(wisdom));
        dev->forget = free;
    }
    return dev->learnt;
}

static int same(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static int same_key(const lmr_wisdom_key *a, const lmr_wisdom_key *b)
{
    for (int d = 0; d < 3; d++)
        if (a->modes[d] != b->modes[d] || a->grid[d] != b->grid[d]) return 0;
    return a->types == b->types && a->ndim == b->ndim && a->precision == b->precision && a->threads == b->threads &&
           a->batch == b->batch && a->max_batch == b->max_batch && a->width == b->width && a->tiles == b->tiles &&
           a->method == b->method && a->sort == b->sort && a->precompute == b->precompute &&
           a->precompute_memory == b->precompute_memory && a->points_log2 == b->points_log2 &&
           a->crowding == b->crowding && a->ordered == b->ordered && same(a->tol, b->tol) &&
           same(a->upsample, b->upsample);
}

static entry *find(wisdom *w, const lmr_wisdom_key *key)
{
    for (int i = 0; w && i < w->count; i++)
        if (same_key(&w->entries[i].key, key)) return &w->entries[i];
    return NULL;
}

const lmr_wisdom_plan *lmr_wisdom_find(const larmor_device *dev, const lmr_wisdom_key *key, int effort)
{
    const entry *e = find(dev->learnt, key);
    return e && e->plan.effort >= effort ? &e->plan : NULL;
}

static int add(wisdom *w, const lmr_wisdom_key *key, const lmr_wisdom_plan *plan)
{
    entry *e = find(w, key);
    if (e && e->plan.effort > plan->effort) return 1;
    if (!e && w->count == MOST_ENTRIES) return 0;
    if (!e) e = &w->entries[w->count++];
    *e = (entry){*key, *plan};
    return 1;
}

void lmr_wisdom_add(larmor_device *dev, const lmr_wisdom_key *key, const lmr_wisdom_plan *plan)
{
    wisdom *w = wisdom_of(dev);
    if (w) add(w, key, plan);
}

const lmr_nufft_scales *lmr_wisdom_scales(const larmor_device *dev, int precision)
{
    const wisdom *w = dev->learnt;
    return w && w->calibrated[precision] ? &w->scales[precision] : NULL;
}

lmr_nufft_rates lmr_wisdom_rates(const larmor_device *dev, const lmr_nufft_kernels *kernels, int precision,
                                 int threads)
{
    lmr_nufft_rates rates = lmr_nufft_builtin_rates(kernels->model, precision, threads);
    if (lmr_gate_enter(&dev->gate)) return rates; /* stopped: nothing will be computed by them */
    const lmr_nufft_scales *scales = lmr_wisdom_scales(dev, precision);
    if (scales) lmr_nufft_scale_rates(&rates, scales);
    lmr_gate_leave(&dev->gate);
    return rates;
}

larmor_status lmr_wisdom_set_scales(larmor_device *dev, int precision, const lmr_nufft_scales *scales)
{
    LMR_TRY(lmr_gate_enter(&dev->gate));
    wisdom *w = wisdom_of(dev);
    if (w) {
        w->calibrated[precision] = 1;
        w->scales[precision] = *scales;
    }
    lmr_gate_leave(&dev->gate);
    return w ? LARMOR_OK : LMR_NO_MEMORY();
}

void larmor_wisdom_forget(larmor_device *dev)
{
    if (!dev || lmr_gate_enter(&dev->gate)) return;
    if (dev->learnt) dev->forget(dev->learnt);
    dev->learnt = NULL;
    lmr_gate_leave(&dev->gate);
}

/* ---- lines ----
 *
 * Words between single spaces. Every line starts with its kind, the format's version, the hardware and its threads;
 * then a plan's key and what was found, or a calibration. */

/* The hardware's name as one word. */
static void hardware(const larmor_device *dev, char word[128])
{
    size_t n = 0;
    for (const char *c = dev->be->describe(dev->ctx); *c && n < 120; c++) word[n++] = *c > ' ' && *c < 127 ? *c : '_';
    if (!n) word[n++] = '?';
    word[n] = 0;
}

static int split(char *line, char *words[MOST_WORDS])
{
    int n = 0;
    for (char *at = line, *word; (word = strsep(&at, " "));) {
        if (!*word || n == MOST_WORDS) return 0;
        words[n++] = word;
    }
    return n;
}

/* A whole number, a real one within limits; 0 for anything else. */
static int integer(const char *word, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    if (!(*word >= '0' && *word <= '9')) return 0;
    errno = 0;
    const long long n = strtoll(word, &end, 10);
    *value = n;
    return !*end && !errno && n >= least && n <= most;
}

static int small(const char *word, int least, int most, int *value)
{
    int64_t n;
    const int fine = integer(word, least, most, &n);
    *value = fine ? (int)n : 0;
    return fine;
}

/* Written without a decimal point, which is not the same in all locales. */
static int number(const char *word, double least, double most, double *value)
{
    char *end;
    if (!(*word >= '0' && *word <= '9') || word[strspn(word, "0123456789e-")]) return 0;
    *value = strtod(word, &end);
    return !*end && *value >= least && *value <= most;
}

static int precision_of(const char *word, int *precision)
{
    *precision = !strcmp(word, "double") ? LMR_F64 : LMR_F32;
    return *precision == LMR_F64 || !strcmp(word, "single");
}

enum { HEAD = 4, KEY_WORDS = 23, PLAN_WORDS = HEAD + KEY_WORDS + 10, RATES_WORDS = HEAD + 10 };
static const int64_t most_batch = INT64_C(1) << 40;

static int parse_key(char *const *w, lmr_wisdom_key *k)
{
    int fine = small(w[0], 0, 4096, &k->threads) && small(w[1], 1, 3, &k->types) && small(w[2], 1, 3, &k->ndim) &&
               precision_of(w[3], &k->precision);
    for (int d = 0; d < 3 && fine; d++)
        fine = integer(w[4 + d], 1, INT64_C(1) << 40, &k->modes[d]) && (d < k->ndim || k->modes[d] == 1) &&
               integer(w[18 + d], 0, INT64_C(1) << 42, &k->grid[d]) && (d < k->ndim || k->grid[d] == 0);
    return fine && number(w[7], 0, 1, &k->tol) && integer(w[8], 1, most_batch, &k->batch) &&
           small(w[9], 0, 62, &k->points_log2) && number(w[10], 0, 2.5, &k->upsample) &&
           integer(w[11], 0, most_batch, &k->max_batch) && small(w[12], 0, LARMOR_NUFFT_OWNER, &k->method) &&
           small(w[13], 0, LARMOR_NUFFT_SORT_OFF, &k->sort) &&
           small(w[14], 0, LARMOR_PRECOMPUTE_FULL, &k->precompute) &&
           integer(w[15], 0, INT64_MAX, &k->precompute_memory) && small(w[16], 0, LMR_CROWDING_MOST, &k->crowding) &&
           small(w[17], 0, 1, &k->ordered) && small(w[21], 0, LMR_WINDOW_MAX, &k->width) &&
           small(w[22], 0, LMR_NUFFT_SHAPES, &k->tiles);
}

/* That the grid suits the modes and keeps the tolerance is checked when it is used. */
static int parse_found(char *const *w, int ndim, lmr_wisdom_plan *p)
{
    int fine = small(w[0], LARMOR_PLAN_MEASURE, LARMOR_PLAN_EXHAUSTIVE, &p->effort);
    for (int d = 0; d < 3 && fine; d++)
        fine = integer(w[1 + d], 1, INT64_C(1) << 42, &p->cells[d]) && (d < ndim || p->cells[d] == 1);
    return fine && small(w[4], 2, 16, &p->width) && small(w[5], 0, LARMOR_NUFFT_OWNER, &p->method) &&
           small(w[6], 0, LMR_NUFFT_SHAPES - 1, &p->tiles) && integer(w[7], 0, most_batch, &p->max_batch) &&
           number(w[8], 0, 1e9, &p->seconds) &&
           small(w[9], LARMOR_PRECOMPUTE_NONE, LARMOR_PRECOMPUTE_FULL, &p->precompute);
}

static int parse_plan(char *const *w, wisdom *to)
{
    entry e = {.key.ndim = 0};
    return parse_key(w, &e.key) && parse_found(w + KEY_WORDS, e.key.ndim, &e.plan) && add(to, &e.key, &e.plan);
}

static int parse_rates(char *const *w, wisdom *to)
{
    lmr_nufft_scales s;
    int precision;
    if (!precision_of(w[0], &precision)) return 0;
    for (int i = 0; i < 9; i++) {
        double *value = i < 6 ? &s.points[i / 3][i % 3] : &s.grid[i - 6];
        if (!number(w[1 + i], 1e-3, 1e3, value)) return 0;
    }
    to->calibrated[precision] = 1;
    to->scales[precision] = s;
    return 1;
}

enum { NUMBER = 32 };

/* x >= 0 as digits and an exponent: 0.00125 is 125e-5. */
static const char *format(double x, char text[NUMBER])
{
    char digits[NUMBER], full[NUMBER];
    int n = 0;
    snprintf(full, sizeof full, "%.11e", x);
    const char *e = strchr(full, 'e');
    for (const char *c = full; e && c < e; c++)
        if (*c >= '0' && *c <= '9') digits[n++] = *c;
    int power = (e ? atoi(e + 1) : 0) - (n - 1);
    for (; n > 1 && digits[n - 1] == '0'; n--) power++;
    snprintf(text, NUMBER, x > 0 ? "%.*se%d" : "0", n, digits, power);
    return text;
}

static void print_plan(FILE *f, const char *name, int threads, const entry *e)
{
    const lmr_wisdom_key *k = &e->key;
    const lmr_wisdom_plan *p = &e->plan;
    char text[3][NUMBER];
    fprintf(f, "plan %d %s %d %d %d %d %s %lld %lld %lld %s %lld %d %s %lld %d %d %d %lld %d %d %lld %lld %lld %d %d",
            LMR_WISDOM_VERSION, name, threads, k->threads, k->types, k->ndim,
            k->precision == LMR_F64 ? "double" : "single", (long long)k->modes[0], (long long)k->modes[1],
            (long long)k->modes[2], format(k->tol, text[0]), (long long)k->batch, k->points_log2,
            format(k->upsample, text[1]), (long long)k->max_batch, k->method, k->sort, k->precompute,
            (long long)k->precompute_memory, k->crowding, k->ordered, (long long)k->grid[0], (long long)k->grid[1],
            (long long)k->grid[2], k->width, k->tiles);
    fprintf(f, " %d %lld %lld %lld %d %d %d %lld %s %d\n", p->effort, (long long)p->cells[0], (long long)p->cells[1],
            (long long)p->cells[2], p->width, p->method, p->tiles, (long long)p->max_batch,
            format(p->seconds, text[2]), p->precompute);
}

static void print_rates(FILE *f, const char *name, int threads, int precision, const lmr_nufft_scales *s)
{
    char text[NUMBER];
    fprintf(f, "rates %d %s %d %s", LMR_WISDOM_VERSION, name, threads, precision == LMR_F64 ? "double" : "single");
    for (int i = 0; i < 9; i++) fprintf(f, " %s", format(i < 6 ? s->points[i / 3][i % 3] : s->grid[i - 6], text));
    fprintf(f, "\n");
}

/* ---- files ---- */

/* A file's lines, sorted by what they are good for. */
typedef struct reading {
    wisdom *own;
    larmor_wisdom_report report;
    FILE *foreign; /* NULL, or where lines for other devices go */
} reading;

static void read_line(const char *name, int threads, char *line, reading *r)
{
    char copy[MOST_LINE], *words[MOST_WORDS];
    int64_t version;
    int of_threads;
    snprintf(copy, sizeof copy, "%s", line);
    const int n = split(line, words), plan = n && !strcmp(words[0], "plan");
    if (n < HEAD || !(plan || !strcmp(words[0], "rates")) || !integer(words[1], 0, INT32_MAX, &version)) {
        r->report.corrupt++;
        return;
    }
    if (version != LMR_WISDOM_VERSION) {
        r->report.foreign_version++;
        return;
    }
    if (n != (plan ? PLAN_WORDS : RATES_WORDS) || !small(words[3], 0, 4096, &of_threads)) {
        r->report.corrupt++;
        return;
    }
    if (strcmp(words[2], name) != 0 || of_threads != threads) {
        r->report.foreign_device++;
        if (r->foreign) fprintf(r->foreign, "%s\n", copy);
        return;
    }
    const int fine = plan ? parse_plan(words + HEAD, r->own) : parse_rates(words + HEAD, r->own);
    r->report.used += fine;
    r->report.corrupt += !fine;
}

/* Printable text and short enough, or else it is no wisdom. */
static int is_text(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] < ' ' || line[i] > '~') return 0;
    return length < MOST_LINE;
}

static void read_lines(const larmor_device *dev, const char *text, size_t size, reading *r)
{
    char name[128], line[MOST_LINE];
    hardware(dev, name);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        if (!end || !is_text(text + at, length)) { /* a line without end has been cut off */
            r->report.corrupt++;
        } else if (length && text[at] != '#') {
            memcpy(line, text + at, length);
            line[length] = 0;
            read_line(name, dev->be->threads(dev->ctx), line, r);
        }
        at += length + 1;
    }
}

/* The file whole, or its beginning; *text NULL if there is none. */
static larmor_status slurp(const char *path, char **text, size_t *size)
{
    struct stat info;
    *text = NULL;
    *size = 0;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return LARMOR_OK;
    LMR_REFUSE(fd < 0, lmr_system_status(errno), "wisdom %s: %s", path, lmr_system_text(errno));
    larmor_status st = LARMOR_OK;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        st = LMR_FAIL(LARMOR_ERR_IO, "wisdom %s: no regular file", path);
        goto done;
    }
    *text = malloc(MOST_FILE + 1);
    if (!*text) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    for (ssize_t got = 1; got > 0 && *size <= MOST_FILE; *size += (size_t)(got > 0 ? got : 0)) {
        got = read(fd, *text + *size, MOST_FILE + 1 - *size);
        if (got < 0) st = LMR_FAIL(LARMOR_ERR_IO, "wisdom %s: %s", path, strerror(errno));
    }
done:
    close(fd);
    if (st) LMR_CLEAR(*text);
    return st;
}

static larmor_status read_file(const larmor_device *dev, const char *path, reading *r)
{
    size_t size;
    LMR_OWN_MEMORY(char, text, slurp(path, &text, &size));
    r->report.found = text != NULL;
    if (!text) return LARMOR_OK;
    const int cut = size > MOST_FILE;
    if (cut) {
        while (size && text[size - 1] != '\n') size--;
        r->report.corrupt++;
    }
    read_lines(dev, text, size, r);
    return LARMOR_OK;
}

enum { MOST_PATH = 4096 };

/* The folders below `path`, whose first `given` bytes exist or are the caller's. */
static void make_folders(char *path, size_t given)
{
    for (char *at = path + given; (at = strchr(at + 1, '/'));) {
        *at = 0;
        mkdir(path, 0700);
        *at = '/';
    }
}

static larmor_status default_path(int make, char path[MOST_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && *cache == '/') {
        n = snprintf(path, MOST_PATH, "%s/larmor/wisdom", cache);
    } else if (home && *home == '/') {
        n = snprintf(path, MOST_PATH, "%s/.cache/larmor/wisdom", home);
    } else {
        return LMR_FAIL(LARMOR_ERR_ARG, "wisdom: neither XDG_CACHE_HOME nor HOME is set; give a path");
    }
    LMR_REFUSE(n >= MOST_PATH, LARMOR_ERR_ARG, "wisdom: the path is too long");
    if (make) make_folders(path, 0);
    return LARMOR_OK;
}

larmor_status larmor_wisdom_load(larmor_device *dev, const char *path, larmor_wisdom_report *report)
{
    char standard[MOST_PATH];
    if (report) *report = (larmor_wisdom_report){0};
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_wisdom_load: a device is needed");
    if (!path && default_path(0, standard)) return LARMOR_OK; /* there is none */
    LMR_TRY(lmr_gate_enter(&dev->gate));
    reading r = {.own = wisdom_of(dev)};
    const larmor_status st = r.own ? read_file(dev, path ? path : standard, &r) : LMR_NO_MEMORY();
    lmr_gate_leave(&dev->gate);
    LMR_TRY(st);
    LMR_REFUSE(path && !r.report.found, LARMOR_ERR_IO, "wisdom %s: %s", path, strerror(ENOENT));
    if (report) *report = r.report;
    return LARMOR_OK;
}

/* What the file knew of this device and the handle does not, and the handle's own. */
static void print_all(const larmor_device *dev, const wisdom *own, wisdom *all, FILE *f)
{
    char name[128];
    const int threads = dev->be->threads(dev->ctx);
    hardware(dev, name);
    for (int i = 0; own && i < own->count; i++) add(all, &own->entries[i].key, &own->entries[i].plan);
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        const wisdom *from = own && own->calibrated[p] ? own : all;
        if (from->calibrated[p]) print_rates(f, name, threads, p, &from->scales[p]);
    }
    for (int i = 0; i < all->count; i++) print_plan(f, name, threads, &all->entries[i]);
}

/* Locked from before the file is read until it is replaced, so that no entry of another process is lost. */
static larmor_status write_file(const larmor_device *dev, const char *path, wisdom *all)
{
    enum { PATIENCE = 30 };
    LMR_HEAP char *text = NULL;
    size_t size = 0;
    larmor_output *out;
    larmor_status st = lmr_output_open(path, "", NULL, 1, PATIENCE, &out);
    if (st) return lmr_fail_in(st, "wisdom");
    FILE *f = open_memstream(&text, &size);
    reading r = {.own = all, .foreign = f};
    st = f ? read_file(dev, path, &r) : LMR_NO_MEMORY();
    if (!st) st = lmr_gate_enter(&dev->gate);
    if (!st) {
        print_all(dev, dev->learnt, all, f);
        lmr_gate_leave(&dev->gate);
    }
    if (f && fclose(f) && !st) st = LMR_NO_MEMORY();
    if (!st) st = lmr_output_put(out, 0, text, size);
    if (!st) st = lmr_output_commit(out);
    larmor_output_free(out);
    return st;
}

larmor_status larmor_wisdom_save(larmor_device *dev, const char *path)
{
    char standard[MOST_PATH];
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_wisdom_save: a device is needed");
    if (!path) LMR_TRY(default_path(1, standard));
    LMR_REFUSE(path && strlen(path) >= MOST_PATH, LARMOR_ERR_ARG, "wisdom: the path is too long");
    LMR_HEAP LMR_NEW_ZEROS(wisdom, all, 1);
    return write_file(dev, path ? path : standard, all);
}
