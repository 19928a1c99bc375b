#!/bin/sh
# Which lines the tests run: scripts/coverage.sh [-R PATTERN] [-j JOBS]. Builds in build/coverage with gcov's counters, runs
# the tests (those that match PATTERN) and prints the share of lines for each room and for each file.
# Left out are the tests of sources and of the installation, those of trust, and apps.options, which compares many images.
# Without optimisation and with atomic counters tests take about five times as long: on two cores, over an hour.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/.."
pattern=.
jobs=$(nproc 2>/dev/null || echo 2)
while getopts R:j: option; do
    case $option in
    R) pattern=$OPTARG ;;
    j) jobs=$OPTARG ;;
    *) exit 2 ;;
    esac
done
scripts/deps.sh all
folder=$PWD/build/coverage
mkdir -p "$folder"
# larmor-reader is killed after its answer, and lives within limits that allow no file, so its counters would be lost: in
# this build it writes them before each answer, and lives without those limits but for that of time, which io.sandbox tries
# in a program of its own.
cat >"$folder/keep.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int code);
ssize_t __real_write(int to, const void *from, size_t bytes);
int __real_setrlimit(int what, const struct rlimit *limit);
int __real_prctl(int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
static int is_reader(void)
{
    return !strcmp(program_invocation_short_name, "larmor-reader");
}
_Noreturn void __wrap__exit(int code)
{
    if (is_reader() || !strncmp(program_invocation_short_name, "test_", 5)) __gcov_dump(); /* a test's child, too */
    __real__exit(code);
}
ssize_t __wrap_write(int to, const void *from, size_t bytes)
{
    if (is_reader()) {
        __gcov_dump();
        __gcov_reset();
    }
    return __real_write(to, from, bytes);
}
int __wrap_setrlimit(int what, const struct rlimit *limit)
{
    return is_reader() && what != RLIMIT_CPU ? 0 : __real_setrlimit(what, limit);
}
int __wrap_prctl(int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    return is_reader() && what == PR_SET_SECCOMP ? 0 : __real_prctl(what, a, b, c, d);
}
END
cc -O1 -fPIC -c "$folder/keep.c" -o "$folder/keep.o"
launcher=
! command -v ccache >/dev/null || launcher=-DCMAKE_C_COMPILER_LAUNCHER=ccache
# shellcheck disable=SC2086 # words are meant
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DLARMOR_TESTS=ON -DLARMOR_CUDA=OFF -DLARMOR_PYTHON=OFF $launcher \
    -DCMAKE_C_FLAGS="--coverage -O1 -fprofile-update=atomic" \
    -DCMAKE_EXE_LINKER_FLAGS="$folder/keep.o -Wl,--wrap=_exit,--wrap=write,--wrap=setrlimit,--wrap=prctl" >/dev/null
cmake --build "$folder" -j "$jobs"
find "$folder" -name '*.gcda' -delete
export OMP_WAIT_POLICY=passive
ctest --test-dir "$folder" -j "$jobs" --timeout 900 --output-on-failure -R "$pattern" \
    -E '^(check|package|trust)[.]|^apps[.]options$' || echo "coverage: some tests failed; what follows is without their end"
python3 scripts/coverage_lines.py . "$folder" | tee "$folder/lines.txt"
