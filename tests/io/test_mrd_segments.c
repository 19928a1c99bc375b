/* Acquisitions that are the segments of one long readout. SPDX-License-Identifier: Apache-2.0 */
#include "core/mutable.h"
#include "tests/io/mrd_scan.h"

enum { ARMS = 8, WHOLE = 96, COILS = 2, LONG = 40000 };

/* Samples from .. of an arm of a spiral. */
static void set_arm(scan *s, int r, int arm, int from, int whole)
{
    const int n = s->r[r].head.number_of_samples, coils = s->r[r].head.active_channels;
    for (int k = 0; k < n; k++) {
        const double t = (double)(from + k) / whole;
        const double angle = 2 * M_PI * (4 * t + (double)arm / ARMS);
        traj_of(s, r)[2 * k] = (float)(32 * t * cos(angle));
        traj_of(s, r)[2 * k + 1] = (float)(32 * t * sin(angle));
        for (int c = 0; c < coils; c++) {
            data_of(s, r)[2 * (c * n + k)] = (float)(1 + arm) + (float)c / 4;
            data_of(s, r)[2 * (c * n + k) + 1] = (float)(from + k);
        }
    }
    s->r[r].head.idx.kspace_encode_step_1 = (uint16_t)arm;
    s->r[r].head.discard_pre = from ? 0 : 2;
    s->r[r].head.discard_post = from + n < whole ? 0 : 3;
}

/* Arms in so many segments each, which begin so many ticks after each other. */
static scan *spirals(int segments, uint32_t ticks)
{
    space e = plane64;
    e.trajectory = "spiral";
    scan *s = empty_scan(&e);
    for (int i = 0; i < ARMS * segments; i++) {
        const int r = add_readout(s, WHOLE / segments, COILS, 2);
        set_arm(s, r, i / segments, i % segments * (WHOLE / segments), WHOLE);
        s->r[r].head.idx.segment = (uint16_t)(i % segments);
        s->r[r].head.acquisition_time_stamp = 100 + ticks * (uint32_t)i;
    }
    return s;
}

typedef struct content { /* of the only image */
    larmor_raw_info info;
    larmor_group group;
    larmor_samples samples;
    larmor_array *times;
} content;

static content content_of(const scan *s, const char *join)
{
    content c;
    larmor_grid grid;
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.join = join, .traj_units = "1/fov"});
    c.info = larmor_raw_describe(raw);
    assert_int_equal(c.info.groups, 1);
    assert_ok(larmor_raw_group(raw, 0, &c.group));
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    c.samples = samples_of(raw, 0, 0);
    assert_ok(larmor_raw_times(raw, 0, NULL, 0, &grid, dev, &c.times));
    bring_to_host(&c.times);
    return c;
}

static void end_content(content *c)
{
    larmor_samples_free(&c->samples);
    larmor_array_free(c->times);
}

static void assert_same(const larmor_array *a, const larmor_array *b)
{
    assert_true(larmor_shape_equal(larmor_array_shape(a), larmor_array_shape(b)));
    assert_memory_equal(larmor_array_data(lmr_mutable(a)), larmor_array_data(lmr_mutable(b)),
                        (size_t)larmor_array_bytes(a));
}

WITH_SCAN(segments_are_the_readout_that_they_were_cut_from)
{
    OWNED(scan) *uncut = spirals(1, 0), *cut = spirals(3, 0);
    content a = content_of(uncut, NULL), b = content_of(cut, NULL);
    assert_same(a.samples.kspace, b.samples.kspace);
    assert_same(a.samples.traj, b.samples.traj);
    assert_same(a.times, b.times);
    assert_int_equal(b.group.readouts, ARMS);
    assert_int_equal(b.info.imaging, ARMS);
    assert_int_equal(b.info.joined, 2 * ARMS);
    assert_non_null(strstr(b.info.warnings, "24 acquisitions are the segments of 8 readouts and are joined; "
                                            "opts.join none leaves them apart.\n"));
    end_content(&b);
    b = content_of(cut, "none");
    assert_int_equal(b.group.readouts, 3 * ARMS);
    assert_int_equal(b.info.joined, 0);
    end_content(&a);
    end_content(&b);
}

WITH_SCAN(joined_segments_may_have_more_samples_than_an_acquisition)
{
    space e = plane64;
    e.trajectory = "spiral";
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 2; i++) {
        set_arm(s, add_readout(s, LONG, 1, 2), 0, i * LONG, 2 * LONG);
        s->r[i].head.idx.segment = (uint16_t)(5 + i);
    }
    OWNED(content) c = content_of(s, NULL);
    assert_int_equal(c.group.readouts, 1);
    assert_int_equal(c.group.samples, 2 * LONG - 5);
    const float *x = kspace(&c.samples);
    for (int n = 0; n < 2 * LONG - 5; n++) assert_true(x[2 * n + 1] == (float)(n + 2));
}

WITH_SCAN(readouts_whose_k_space_does_not_go_on_stay_apart)
{
    scan *spokes = radial_scan(24, 1), *arms = spirals(1, 0);
    for (int i = 0; i < 24; i++) {
        spokes->r[i].head.idx.kspace_encode_step_1 = 0;
        spokes->r[i].head.idx.segment = (uint16_t)i;
    }
    for (int i = 0; i < ARMS; i++) {
        arms->r[i].head.idx.kspace_encode_step_1 = 0;
        arms->r[i].head.idx.segment = (uint16_t)i;
        arms->r[i].head.discard_pre = arms->r[i].head.discard_post = 0;
    }
    scan *const scans[] = {spokes, arms};
    for (int i = 0; i < 2; i++) {
        content c = content_of(scans[i], NULL);
        assert_int_equal(c.info.joined, 0);
        assert_int_equal(c.group.readouts, scans[i]->count);
        assert_null(strstr(c.info.warnings, "segment"));
        end_content(&c);
        c = content_of(scans[i], "segment");
        assert_int_equal(c.group.readouts, 1);
        assert_int_equal(c.info.joined, scans[i]->count - 1);
        end_content(&c);
        free_scan(scans[i]);
    }
}

WITH_SCAN(samples_that_are_discarded_between_segments_keep_them_apart)
{
    OWNED(scan) *s = spirals(3, 0);
    for (int i = 0; i < s->count; i++) s->r[i].head.discard_post = 1;
    OWNED(content) c = content_of(s, NULL);
    assert_int_equal(c.info.joined, 0);
    assert_int_equal(c.group.readouts, 3 * ARMS);
}

WITH_SCAN(a_clock_that_says_otherwise_keeps_segments_apart)
{
    OWNED(scan) *late = spirals(3, 100), *early = spirals(3, 1);
    content c = content_of(late, NULL);
    assert_int_equal(c.group.readouts, 3 * ARMS);
    assert_non_null(strstr(c.info.warnings, "24 acquisitions look like the segments of 8 readouts, but their time "
                                            "stamps are apart; opts.join segment joins them.\n"));
    end_content(&c);
    c = content_of(late, "segment");
    assert_int_equal(c.group.readouts, ARMS);
    end_content(&c);
    c = content_of(early, "slice");
    assert_int_equal(c.group.readouts, ARMS);
    end_content(&c);
}
