/* A trajectory that is given in the place of a scan's. SPDX-License-Identifier: Apache-2.0 */
#include "given.h"

#include "common.h"

int given_read(const scan_given *given, larmor_raw_opts *opts, larmor_trajectory *to)
{
    *to = (larmor_trajectory){0};
    if (!given->traj && (given->times || given->weights)) {
        app_error("--traj-%s: has no effect without --traj.", given->times ? "times" : "weights");
        return APP_USAGE;
    }
    if (!given->traj) return APP_DONE;
    const larmor_trajectory_opts how = {given->times, given->weights, opts->traj_units};
    const larmor_status st = larmor_trajectory_read(given->traj, &how, to);
    opts->trajectory = to;
    return st ? app_fail(APP_INPUT, st) : APP_DONE;
}

int given_open(const char *path, const larmor_raw_opts *opts, const scan_given *given, larmor_raw **raw)
{
    larmor_raw_opts all = *opts;
    larmor_trajectory trajectory;
    int code = given_read(given, &all, &trajectory);
    const larmor_status st = code ? LARMOR_OK : larmor_raw_open(path, &all, raw);
    if (st) code = app_fail(APP_INPUT, st);
    larmor_trajectory_free(&trajectory);
    return code;
}
