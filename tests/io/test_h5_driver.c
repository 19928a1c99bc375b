/* HDF5's driver for files that larmor has opened. SPDX-License-Identifier: Apache-2.0 */
#include "io/h5_driver.h"

#include "io/source.h"
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
static void a_driver_lives_until_its_file_is_closed(void **state)
{
    (void)state;
    lmr_source source;
    scan *s = radial_scan(4, 2);
    write_scan(s);
    free_scan(s);
    assert_ok(lmr_source_open(path, "a file", &source));
    const hid_t file = lmr_h5_open_descriptor(source.fd, 1);
    const hid_t other = lmr_h5_open_descriptor(source.fd, 1);
    assert_true(file > 0 && other > 0);
    const hid_t driver = driver_of(file);
    assert_int_equal(H5Iis_valid(driver), 1);
    lmr_h5_close_descriptor(other);
    assert_int_equal(H5Iis_valid(driver), 1);
    lmr_h5_close_descriptor(file);
    assert_int_equal(H5Iis_valid(driver), 0);
    lmr_source_close(&source);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_SCAN(a_driver_lives_until_its_file_is_closed),
    };
    RUN_TESTS(tests);
}
