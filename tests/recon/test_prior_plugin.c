/* recon/prior/plugin.c: denoisers from shared objects, and those that are refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { COUNT = 6 };

static larmor_status halved(const char *argument, larmor_array *x, larmor_array *z)
{
    char path[512];
    OWNED(larmor_denoiser) *d = NULL;
    snprintf(path, sizeof path, "%s/half.so%s%s", PLUGINS, *argument ? ":" : "", argument);
    assert_ok(larmor_prior_open(path, &d));
    assert_true(strstr(larmor_denoiser_name(d), "half (/") && strstr(larmor_denoiser_name(d), "half.so)"));
    return larmor_denoiser_apply(d, 1, x, z);
}

TEST(a_plugin_gets_the_array_and_its_result_is_the_image)
{
    HEAP cplx *values = random_values(COUNT, 1);
    OWNED(larmor_array) *x = complex_array(LARMOR_C64, LARMOR_SHAPE(3, 2), values);
    OWNED(larmor_array) *z = zeros(LARMOR_C64, LARMOR_SHAPE(3, 2));
    assert_ok(halved("", x, z));
    HEAP cplx *got = values_of(z);
    for (int i = 0; i < COUNT; i++) assert_at_most(cabs(got[i] - values[i] / 2), 1e-7);
}

TEST(what_a_plugin_does_wrong_is_an_error_in_one_line)
{
    OWNED(larmor_array) *x = drawn(LARMOR_C64, LARMOR_SHAPE(3, 2), 1);
    OWNED(larmor_array) *z = zeros(LARMOR_C64, LARMOR_SHAPE(3, 2));
    assert_refused(halved("fails", x, z), LARMOR_ERR_BACKEND, "half.so: the network has no weights");
    assert_refused(halved("nan", x, z), LARMOR_ERR_NUMERIC, ": 1 value is not finite, the first at [1, 0]");
    assert_refused(halved("shape", x, z), LARMOR_ERR_SHAPE,
                   "half.so: its result has another shape or memory, expected that of z as given");
    assert_refused(halved("memory", x, z), LARMOR_ERR_SHAPE, "half.so: its result has another shape or memory");
}

TEST(what_is_no_plugin_of_this_larmor_is_refused_in_one_line)
{
    const struct {
        const char *path;
        larmor_status status;
        const char *said;
    } wrong[] = {
        {PLUGINS "/nothing.so", LARMOR_ERR_IO,
         "nothing.so: No such file or directory; give the path of a shared object"},
        {PLUGINS, LARMOR_ERR_IO, "it is no regular file; give the path of a shared object"},
        {PLUGINS "/half.so:refused", LARMOR_ERR_ARG, "half.so: no \"refused\""},
        {PLUGINS "/half.so:silent", LARMOR_ERR_ARG, "half.so: open failed without a message"},
        {PLUGINS "/wrong_abi.so", LARMOR_ERR_UNSUPPORTED, "wrong_abi.so: it has ABI 999 and a table of"},
        {PLUGINS "/no_table.so", LARMOR_ERR_UNSUPPORTED,
         "no_table.so: it is no plugin of larmor, as it has no larmor_prior_plugin"},
        {PLUGINS "/../CTestTestfile.cmake", LARMOR_ERR_UNSUPPORTED, "prior: cannot load "},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        larmor_denoiser *d = NULL;
        assert_refused(larmor_prior_open(wrong[i].path, &d), wrong[i].status, wrong[i].said);
        assert_true(!strchr(larmor_last_error(), '\n'));
        assert_null(d);
    }
}
