/* larmor-bench scaling: what several devices of a process, or several processes of mpirun, gain over one: weak
 * scaling as in Shih et al., "cuFINUFFT: a load-balanced GPU library for general-purpose nonuniform FFTs", IPDPSW
 * (2021), a NUFFT on each; strong scaling of what a reconstruction shares. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "lines.h"
#include "scaling.h"

typedef struct settings {
    const char *device;
    int64_t threads;
    const char *what;
    app_list modes;
    int64_t points, coils, images, iters, repeats;
    double tol;
    const char *json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    APP_OPTION(settings, APP_TEXT, device, 0, "device", "D",
               "devices with commas between, e.g. cuda:0,1,2,3 or cpu:2,2; of mpirun that of each (default: auto)",
               .reads = app_is_device, .expected = APP_DEVICE_EXPECTED),
    OPTION(APP_INTEGER, threads, 0, "threads", "N", "threads of the processor (default: all cores)", .low = 1,
           .high = 4096),
    OPTION(APP_TEXT, what, 0, "what", "NAME",
           "weak: a NUFFT on each, types 1 and 2; frames, slices: images; coils: those of a volume; slabs, "
           "slab-nufft: a normal map of a volume by Toeplitz, by NUFFTs",
           .preset = "weak", .choices = "weak|frames|slices|coils|slabs|slab-nufft"),
    OPTION(APP_SIZES, modes, 0, "modes", "N[,N[,N]]", "voxels (default: 81 along each axis, of images 256)", .low = 2,
           .high = 1 << 15),
    OPTION(APP_INTEGER, points, 0, "points", "M", "samples of a coil (default: one for each voxel)", .low = 1,
           .high = INT64_C(1) << 40),
    OPTION(APP_INTEGER, coils, 0, "coils", "N", "coils of frames, slices and coils", .preset = "16", .low = 1,
           .high = 1024),
    OPTION(APP_INTEGER, images, 0, "images", "N", "frames or slices", .preset = "64", .low = 1, .high = 1 << 20),
    OPTION(APP_INTEGER, iters, 0, "iters", "N", "steps of conjugate gradients for an image", .preset = "30", .low = 1,
           .high = 100000),
    OPTION(APP_NUMBER, tol, 0, "tol", "X", "relative l2 error of NUFFTs", .preset = "1e-5", .low = 1e-16,
           .high = 0.5),
    OPTION(APP_INTEGER, repeats, 0, "repeats", "N", "runs, after a first one, of which the median counts",
           .preset = "5", .low = 1, .high = 1000),
    OPTION(APP_WRITTEN_FILE, json, 0, "json", "FILE", "add a line of JSON for each number of devices"),
    {0},
};

/* What is timed, with what all have in common. */
typedef struct scaling_run {
    const settings *s;
    scaling_place place;
    bench_lines *lines;
    bench_case c;
    double one; /* seconds of one device; 0: not known */
} scaling_run;

static void free_run(scaling_run *r)
{
    bench_lines_close(r->lines);
    scaling_close(&r->place);
}

static int is_of(const settings *s, const char *what)
{
    return !strcmp(s->what, what);
}

static int is_of_slabs(const settings *s)
{
    return is_of(s, "slabs") || is_of(s, "slab-nufft");
}

static bench_case case_of(const settings *s, int type)
{
    const int is_series = is_of(s, "frames") || is_of(s, "slices");
    bench_case c = {.type = type,
                    .ndim = is_series ? 2 : 3,
                    .modes = {1, 1, 1},
                    .batch = is_of(s, "weak") || is_of_slabs(s) ? 1 : s->coils,
                    .tol = s->tol,
                    .distribution = is_series ? "radial" : "uniform"};
    for (int d = 0; d < c.ndim; d++) {
        c.modes[d] = is_series ? 256 : 81;
        if (s->modes.count) c.modes[d] = (int64_t)s->modes.value[s->modes.count > 1 ? d : 0];
    }
    c.points = s->points ? s->points : bench_case_modes(&c);
    return c;
}

static larmor_status measure(scaling_run *r, scaling_place *place, int count, double *seconds)
{
    const settings *s = r->s;
    if (is_of(s, "weak")) return scaling_weak(place, &r->c, count, seconds);
    if (is_of(s, "coils")) return scaling_coils(place, &r->c, count, seconds);
    if (is_of_slabs(s)) return scaling_slabs(place, &r->c, is_of(s, "slabs"), seconds);
    return scaling_series(place, &r->c, count, (int)s->images, is_of(s, "frames"), (int)s->iters, seconds);
}

/* How much quicker all are than one: of weak scaling they do `count` times as much. */
static double gain_of(const scaling_run *r, int count, double seconds)
{
    return r->one / seconds * (is_of(r->s, "weak") ? count : 1);
}

static larmor_status write_line(scaling_run *r, int count, double seconds)
{
    json *j;
    char text[BENCH_LABEL], label[BENCH_LABEL + 64];
    const char *who = r->place.ranks ? "ranks" : "devices";
    snprintf(label, sizeof label, "scaling %s %s, %d %s", r->s->what, bench_case_label(&r->c, text), count, who);
    printf("%s: %.4g s, %.2f times one\n", label, seconds, gain_of(r, count, seconds));
    if (!r->lines) return LARMOR_OK;
    TRY(bench_line_begin(r->lines, label, &r->c, &j));
    json_text(j, "scaling", r->s->what);
    json_integer(j, who, count);
    json_number(j, "seconds", seconds);
    json_number(j, "seconds_of_one", r->one);
    json_number(j, "gain", gain_of(r, count, seconds));
    if (is_of(r->s, "frames") || is_of(r->s, "slices")) json_integer(j, "images", r->s->images);
    return bench_line_end(r->lines);
}

/* One device alone, while the other ranks wait. */
static larmor_status measure_one(scaling_run *r)
{
    scaling_place alone = r->place;
    larmor_status st = LARMOR_OK;
    alone.ranks = NULL;
    if (scaling_is_first(&r->place)) st = measure(r, &alone, 1, &r->one);
    return r->place.ranks ? larmor_ranks_agree(r->place.ranks, st, NULL) : st;
}

static larmor_status measure_all(scaling_run *r)
{
    const int ranks = larmor_ranks_count(r->place.ranks);
    const int first = scaling_is_first(&r->place);
    larmor_status st = measure_one(r);
    if (!st && first) st = write_line(r, 1, r->one);
    for (int count = 2; count <= r->place.devices && !st; count++) {
        double seconds = 0;
        st = measure(r, &r->place, count, &seconds);
        if (!st) st = write_line(r, count, seconds);
    }
    if (st || ranks < 2) return st;
    double seconds = 0;
    st = measure(r, &r->place, ranks, &seconds);
    if (!st && first) st = write_line(r, ranks, seconds);
    return st;
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const settings *s = given;
    APP_FREED_BY(free_run) scaling_run r = {.s = s};
    const int types = is_of(s, "weak") ? 2 : 1;
    if (is_of_slabs(s) && larmor_ranks_started() < 2)
        return app_refuse(APP_USAGE, "--what %s: is for processes; start it by mpirun -n 2 or more.", s->what);
    APP_TRY(APP_INPUT, scaling_open(s->device, s->threads, (int)s->repeats, &r.place));
    if (s->json && scaling_is_first(&r.place))
        APP_TRY(APP_RUN, bench_lines_open(s->json, r.place.group[r.place.devices - 1], NULL, &r.lines));
    for (int type = 1; type <= types; type++) {
        r.c = case_of(s, type);
        const larmor_status st = measure_all(&r);
        if (st && !scaling_is_first(&r.place)) return APP_DONE; /* rank 0 says it */
        APP_TRY(APP_RUN, st);
    }
    return APP_DONE;
}

const app_command cmd_scaling = {
    .name = "scaling",
    .usage = "[options]",
    .summary = "time what several devices, or the processes of mpirun, gain over one",
    .details =
        "With --device cuda:0,1,2,3 for 1, 2, ... of them; by mpirun -n N for one and for all processes. Times are\n"
        "those of the slowest; a gain is that over one, of weak scaling in NUFFTs a second.",
    .computes = 1,
    APP_OWN_PARTS,
};
