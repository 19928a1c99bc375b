#!/bin/sh
# What cmake --install puts: larmor's own files alone, in components; programs that are built with it by pkg-config start
# as they are, those that link FINUFFT's interface, too. Usage: tests/package/install.sh BUILD; CC, CXX, CMAKE, CFLAGS and
# LIBDIR are heeded. SPDX-License-Identifier: Apache-2.0
set -eu
build=$1
CC=${CC:-cc} CXX=${CXX:-c++} CMAKE=${CMAKE:-cmake} CFLAGS=${CFLAGS:-} LIBDIR=${LIBDIR:-lib}
unset LD_LIBRARY_PATH LARMOR_READER CPATH LIBRARY_PATH C_INCLUDE_PATH || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "install: $*" >&2; exit 1; }
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$* failed"; }; }

quiet "$CMAKE" --install "$build" --prefix "$work/installed"
prefix=$work/elsewhere
mv "$work/installed" "$prefix"
others=$(cd "$prefix" && find . -type f -o -type l | sed 's|^\./||' | grep -vE \
    -e '^bin/larmor(-bench)?$' -e "^$LIBDIR/liblarmor(_(cu)?finufft)?\.so(\.[0-9.]+)?$" \
    -e "^$LIBDIR/larmor/larmor_(cuda|mpi|dicom|http)\.so$" -e '^libexec/larmor/' -e '^include/larmor/[a-z]+\.h$' \
    -e '^include/larmor-finufft/(cu)?finufft(_errors|_functions|_opts)?\.f?h$' -e "^$LIBDIR/cmake/larmor/" -e "^$LIBDIR/pkgconfig/larmor(-(cu)?finufft)?\.pc$" \
    -e '^share/doc/larmor/LICENSE$' -e '^share/man/man1/larmor[a-z0-9-]*\.1(\.gz)?$' \
    -e '^share/bash-completion/completions/larmor(-bench)?$' -e '^share/zsh/site-functions/_larmor(-bench)?$' \
    -e '^share/fish/vendor_completions\.d/larmor(-bench)?\.fish$' \
    -e '^share/larmor/matlab/(\+larmor/)?[a-zA-Z_]+\.[cmh]$' \
    -e '^share/larmor/julia/Larmor/(Project\.toml|(src|ext|test)/[A-Za-z]+\.jl)$' || true)
[ -z "$others" ] || fail "files that are not larmor's: $others"

# each component has its part, and without the others' none of theirs
for component in library program; do
    quiet "$CMAKE" --install "$build" --prefix "$work/users" --component $component
done
"$work/users/bin/larmor" version >/dev/null || fail "larmor does not run from the components library and program"
for part in bin/larmor-bench share/larmor include "$LIBDIR/cmake" "$LIBDIR/pkgconfig" "$LIBDIR/liblarmor.so"; do
    [ ! -e "$work/users/$part" ] || fail "the components library and program have $part"
done
quiet "$CMAKE" --install "$build" --prefix "$work/library" --component library
[ ! -e "$work/library/bin" ] || fail "the component library has programs"

# MATLAB's and Julia's sources are whole: the gateway is compiled by the installed headers, and every file of the module is there
[ -s "$prefix/share/larmor/julia/Larmor/Project.toml" ] || fail "Julia's package is not there"
for part in $(sed -n 's/^include("\(.*\)")$/\1/p' "$prefix/share/larmor/julia/Larmor/src/Larmor.jl"); do
    [ -s "$prefix/share/larmor/julia/Larmor/src/$part" ] || fail "Julia's package lacks $part"
done
if command -v octave-cli >/dev/null && command -v mkoctfile >/dev/null && [ -z "$CFLAGS" ]; then
    cp -R "$prefix/share/larmor/matlab" "$work/gateway"
    octave-cli --no-init-file --no-history --path "$work/gateway" --eval \
        "build('$prefix/$LIBDIR'); disp(larmor.version())" >"$work/octave" 2>&1 ||
        { cat "$work/octave" >&2; fail "build.m of a copy of the installation's folder does not work"; }
    [ "$(tail -n 1 "$work/octave")" = "$("$prefix/bin/larmor" version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')" ] ||
        fail "larmor.version() gives $(cat "$work/octave")"
fi

# one line of pkg-config gives a program that starts
PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig
export PKG_CONFIG_PATH
cat >"$work/version.c" <<'C'
#include <larmor/larmor.h>
#include <stdio.h>
int main(void)
{
    puts(larmor_version());
    return 0;
}
C
# shellcheck disable=SC2046,SC2086 # lists of options
quiet $CC -std=c11 $CFLAGS "$work/version.c" $(pkg-config --cflags --libs larmor) -o "$work/version"
[ "$("$work/version")" = "$(pkg-config --modversion larmor)" ] || fail "a program by pkg-config does not start"

# FINUFFT's interface, in C and in C++: a sum of three points at one mode, and a plan
cat >"$work/one.c" <<'C'
#include <finufft.h>
#include <finufft_errors.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
typedef std::complex<double> number;
typedef std::complex<float> number_of_floats;
#define MAKE(re, im) number(re, im)
#define DISTANCE(a, b) std::abs((a) - (b))
#else
typedef double complex number;
typedef float complex number_of_floats;
#define MAKE(re, im) ((re) + (im) * I)
#define DISTANCE(a, b) cabs((a) - (b))
#endif
int main(void)
{
    const double x[3] = {0.3, -2, 1.25}, y[3] = {0.1, 0.7, -3};
    const float xf[3] = {0.3f, -2, 1.25f};
    const number c[3] = {MAKE(1, 2), MAKE(-0.5, 0.25), MAKE(3, 0)};
    number_of_floats cf[3], ff[5] = {0, 0, 0, 1, 0};
    number f[20], g[20], sum = 0;
    const int64_t modes[3] = {5, 4, 1};
    finufft_plan plan = NULL;
    finufft_opts opts;
    finufft_default_opts(&opts);
    if (opts.fftw != FINUFFT_FFT_DEFAULT) return 1;
    if (finufft2d1(3, x, y, c, 1, 1e-9, 5, 4, f, &opts)) return 2;
    for (int j = 0; j < 3; j++) sum += c[j] * MAKE(cos(2 * x[j] - y[j]), sin(2 * x[j] - y[j]));
    if (DISTANCE(f[1 * 5 + 4], sum) > 1e-7) return 3; /* mode 2, -1 */
    if (finufft_makeplan(1, 2, modes, 1, 1, 1e-9, &plan, &opts)) return 4;
    if (finufft_setpts(plan, 3, x, y, NULL, 0, NULL, NULL, NULL)) return 5;
    if (finufft_execute(plan, (number *)c, g) || finufft_destroy(plan)) return 6;
    for (int i = 0; i < 20; i++)
        if (DISTANCE(f[i], g[i]) > 1e-12) return 7;
    if (finufftf1d2(3, xf, cf, -1, 1e-4f, 5, ff, &opts)) return 8;
    const number first = MAKE(cos(0.3), -sin(0.3));
    if (DISTANCE((number)cf[0], first) > 1e-3) return 9;
    if (finufft2d1(3, x, y, c, 1, 1e-30, 5, 4, f, NULL) != FINUFFT_ERR_EPS_TOO_SMALL) return 10;
    puts("the sums are right");
    return 0;
}
C
# shellcheck disable=SC2046,SC2086 # lists of options
quiet $CC -std=c11 -pedantic-errors -Wall -Wextra -Werror $CFLAGS "$work/one.c" \
    $(pkg-config --cflags --libs larmor-finufft) -lm -o "$work/one"
programs=$work/one
if command -v "$CXX" >/dev/null; then
    # shellcheck disable=SC2046,SC2086 # lists of options
    quiet "$CXX" -std=c++17 -pedantic-errors -Wall -Wextra -Werror $CFLAGS -x c++ "$work/one.c" -x none \
        $(pkg-config --cflags --libs larmor-finufft) -o "$work/one_cxx"
    programs="$programs $work/one_cxx"
fi
# cuFINUFFT's interface: without a GPU the codes of what makes no sense
cat >"$work/none.c" <<'C'
#include <cufinufft.h>
#include <stddef.h>
int main(void)
{
    const int64_t modes[3] = {8, 0, 1};
    cufinufftf_plan plan = NULL;
    cufinufft_opts opts;
    cufinufft_default_opts(&opts);
    if (cufinufftf_makeplan(1, 2, modes, 1, 1, 1e-3f, &plan, &opts) != FINUFFT_ERR_NDATA_NOTVALID) return 1;
    return cufinufft_destroy(NULL) != FINUFFT_ERR_PLAN_NOTVALID;
}
C
# shellcheck disable=SC2046,SC2086 # lists of options
quiet $CC -std=c11 -pedantic-errors -Wall -Wextra -Werror $CFLAGS "$work/none.c" \
    $(pkg-config --cflags --libs larmor-cufinufft) -o "$work/none"
quiet "$work/none"
# Fortran: all arguments by reference. A type of options that ends with the third integer of FFTW's lock, as that of some
# of FINUFFT's releases does, is not written past its end.
if command -v gfortran >/dev/null; then
    cat >"$work/one.f" <<'F'
      program one
      implicit none
      include 'finufft.fh'
      integer ier
      integer*8 M, N
      real*8 x(2), eps
      complex*16 c(2), f(4), expected
      type(finufft_opts) opts
      type(finufft_opts), pointer :: none => null()
      type short
        integer first(10)
        real*8 upsampfac
        integer rest(9)
      end type
      type guarded
        type(short) opts
        integer after
      end type
      type(guarded) g
      M = 2
      N = 4
      eps = 1d-9
      x(1) = 0.5d0
      x(2) = -1.25d0
      c(1) = (1d0, 2d0)
      c(2) = (-3d0, 0.5d0)
      call finufft_default_opts(opts)
      opts%modeord = 1
      call finufft1d1(M, x, c, 1, eps, N, f, opts, ier)
      if (ier .ne. 0) stop 1
      expected = c(1) * exp((0d0, 1d0) * x(1)) + c(2) * exp((0d0, 1d0) * x(2))
      if (abs(f(2) - expected) .gt. 1d-7) stop 2
      call finufft1d1(M, x, c, 1, eps, N, f, none, ier)
      if (ier .ne. 0 .or. abs(f(4) - expected) .gt. 1d-7) stop 3
      g%after = 4711
      call finufft_default_opts(g%opts)
      if (g%after .ne. 4711) stop 4
      print '(a)', 'the sums are right'
      end program
F
    # shellcheck disable=SC2046,SC2086 # lists of options
    quiet gfortran -ffixed-line-length-none -fno-strict-aliasing -std=legacy -w -fallow-argument-mismatch $CFLAGS "$work/one.f" \
        $(pkg-config --cflags --libs larmor-finufft) -o "$work/one_fortran"
    programs="$programs $work/one_fortran"
fi
mkdir "$work/cmake"
cp "$work/one.c" "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.16)
project(one LANGUAGES C)
find_package(larmor $(pkg-config --modversion larmor) REQUIRED)
add_executable(one one.c)
set_target_properties(one PROPERTIES C_STANDARD 11)
target_link_libraries(one PRIVATE larmor::finufft m)
C
quiet "$CMAKE" -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$CFLAGS"
quiet "$CMAKE" --build "$work/cmake/build"
for program in $programs "$work/cmake/build/one"; do
    "$program" >"$work/out" 2>/dev/null || fail "$program ends with $?"
    grep -qx " *the sums are right" "$work/out" || fail "$program prints $(cat "$work/out")"
    ldd "$program" | grep -q "liblarmor_finufft.*$prefix/" || fail "$program takes another library"
done
echo "install: larmor's own files alone, and programs start"
