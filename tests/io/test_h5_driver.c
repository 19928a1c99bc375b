/* HDF5's driver for files that larmor has opened. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_driver.h"

#include "io/reader/source.h"
#include "tests/io/mrd_scan.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

static hid_t driver_of(hid_t file)
{
    void *handle;
    assert_true(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0);
    return ((const H5FD_t *)handle)->driver_id;
}

/* HDF5 1.10 reads the freed class of a driver that only the file held. H5Iis_valid does not count the file. */
WITH_SCAN(a_driver_lives_until_its_file_is_closed)
{
    lmr_source source;
    scan *s = radial_scan(4, 2);
    write_scan(s);
    free_scan(s);
    assert_ok(lmr_source_open(path, "a file", &source));
    const hid_t file = lmr_h5_open_descriptor(&source);
    const hid_t other = lmr_h5_open_descriptor(&source);
    assert_true(file > 0 && other > 0);
    const hid_t driver = driver_of(file);
    assert_int_equal(H5Iis_valid(driver), 1);
    lmr_h5_close_descriptor(other);
    assert_int_equal(H5Iis_valid(driver), 1);
    lmr_h5_close_descriptor(file);
    assert_int_equal(H5Iis_valid(driver), 0);
    lmr_source_close(&source);
}

/* A host program may load filters of its own. */
WITH_SCAN(plugins_are_off_while_a_file_is_open_and_then_as_they_were)
{
    lmr_source source;
    unsigned before, now;
    scan *s = radial_scan(4, 2);
    write_scan(s);
    free_scan(s);
    assert_true(H5PLset_loading_state(H5PL_FILTER_PLUGIN) >= 0 && H5PLget_loading_state(&before) >= 0);
    assert_true(before != 0);
    assert_ok(lmr_source_open(path, "a file", &source));
    const hid_t file = lmr_h5_open_descriptor(&source), other = lmr_h5_open_descriptor(&source);
    lmr_h5_close_descriptor(other);
    assert_true(H5PLget_loading_state(&now) >= 0);
    assert_int_equal(now, 0);
    lmr_h5_close_descriptor(file);
    lmr_source_close(&source);
    assert_true(H5PLget_loading_state(&now) >= 0);
    assert_int_equal(now, before);
    larmor_raw *raw = MADE(larmor_raw, larmor_raw_open(path, &(larmor_raw_opts){0}, &made));
    larmor_raw_free(raw);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++) fputs("no HDF5", f);
    fclose(f);
    assert_true(larmor_raw_open(path, NULL, &raw) != LARMOR_OK);
    assert_true(H5PLget_loading_state(&now) >= 0);
    assert_int_equal(now, before);
}
