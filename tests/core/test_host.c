/* What a host program does with the library: unload it while its threads are at work, and fork after it has computed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/claims.h"

#include "larmor/array.h"
#include "larmor/device.h"

enum { SIZE = 1 << 18 };

/* Its functions by their names, as an interpreter has them. */
static void *library;

#define TAKE(name) (*(__typeof__(&(name)) *)&(void *){dlsym(library, #name)})

static larmor_status add_up(larmor_device *dev, double sum[2])
{
    larmor_array *x;
    larmor_status st = TAKE(larmor_array_create)(dev, LARMOR_C64, LARMOR_SHAPE(SIZE), &x);
    if (!st) st = TAKE(larmor_fill)(x, 1);
    if (!st) st = TAKE(larmor_dot)(x, x, sum);
    if (!st) TAKE(larmor_array_free)(x);
    return st;
}

TEST(a_library_whose_threads_are_at_work_stays_where_it_is)
{
    larmor_device *dev;
    double sum[2];
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(TAKE(larmor_device_open)("cpu:3", &dev), LARMOR_OK);
    assert_int_equal(add_up(dev, sum), LARMOR_OK);
    TAKE(larmor_device_free)(dev);
    assert_int_equal(dlclose(library), 0);
    void *again = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(again);
    dlclose(again);
}

TEST(a_child_of_fork_computes_as_its_parent_does)
{
    larmor_device *dev;
    double sum[2] = {0, 0};
    int status = 0;
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    assert_int_equal(TAKE(larmor_device_open)("cpu:3", &dev), LARMOR_OK);
    assert_int_equal(add_up(dev, sum), LARMOR_OK);
    const pid_t child = fork();
    if (!child) {
        alarm(900); /* what hung did so for ever */
        _exit(add_up(dev, sum) || sum[0] != SIZE);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(add_up(dev, sum), LARMOR_OK);
    assert_true(sum[0] == SIZE);
    TAKE(larmor_device_free)(dev);
}

int main(void)
{
    return run_claims(NULL, NULL);
}
