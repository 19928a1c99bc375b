#!/bin/sh
# What the wheel for old machines links and Debian 11 lacks, built into FOLDER: a small OpenBLAS with LAPACK, expat
# and libmicrohttpd.
# Usage: packaging/manylinux.sh FOLDER [JOBS], in a Debian 11 (scripts/packaging/wheel_old.sh); sources: Debian 13's.
# OpenBLAS has the kernels of four processors, no threads (larmor has its own), and LAPACK's archives from Debian 11
# beside them, so that the linker takes what is used alone. What is unpacked and compiled lies in FOLDER-sources until
# all is done, so that a build that was ended goes on there. SPDX-License-Identifier: Apache-2.0
set -eu
folder=$1
jobs=${2:-$(nproc)}
archive=/usr/lib/x86_64-linux-gnu
work=$folder-sources
made=$(sha256sum <"$0")
[ "$(cat "$work/made" 2>/dev/null)" = "$made" ] || rm -rf "$work"
mkdir -p "$work" "$folder/lib/pkgconfig" "$folder/include" "$folder/share/licenses"
echo "$made" >"$work/made"

# source_of NAME FILE SHA256: unpacks a source of Debian's pool into the folder NAME, keeps its terms
source_of() {
    [ -e "$work/$1.unpacked" ] || unpack "$@"
    for terms in COPYING LICENSE; do
        [ ! -e "$work/$1/$terms" ] || cp "$work/$1/$terms" "$folder/share/licenses/$1"
    done
    cd "$work/$1"
}
unpack() {
    for place in http://deb.debian.org/debian/pool/main \
        https://snapshot.debian.org/archive/debian/20251201T000000Z/pool/main; do
        curl -fsSL --retry 2 -o "$work/$2" "$place/$(first_of "$1")/$1/$2" && break
    done
    echo "$3  $work/$2" | sha256sum -c --quiet
    rm -rf "${work:?}/$1"
    mkdir "$work/$1"
    tar xf "$work/$2" --strip-components=1 -C "$work/$1"
    touch "$work/$1.unpacked"
}
# Debian's folder of a package
first_of() {
    case $1 in
    lib*) echo "$1" | cut -c1-4 ;;
    *) echo "$1" | cut -c1 ;;
    esac
}

source_of expat expat_2.7.1.orig.tar.gz 85372797ff0673a8fc4a6be16466bb5a0ca28c0dcf3c6f7ac1686b4a3ba2aabb
cmake -S expat -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TESTS=OFF \
    -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_DOCS=OFF
cmake --build build -j "$jobs" --target install

# a library of its own, as the LGPL asks
source_of libmicrohttpd libmicrohttpd_1.0.1.orig.tar.gz \
    a89e09fc9b4de34dde19f4fcb4faaa1ce10299b9908db1132bbfa1de47882b94
./configure -q --prefix="$folder" --disable-static --disable-https --disable-doc --disable-examples \
    --disable-tools --disable-curl
make -s -j "$jobs" install

source_of openblas openblas_0.3.29+ds.orig.tar.xz eb691e2cff83799400da22aa6ab93ebaa346ad317fea578b7ae119e226ce1b01
build() {
    make -s MAKE_NB_JOBS="$jobs" DYNAMIC_ARCH=1 "DYNAMIC_LIST=HASWELL ZEN SKYLAKEX" TARGET=GENERIC USE_THREAD=0 \
        USE_LOCKING=1 NUM_THREADS=1 NO_SHARED=1 NO_LAPACK=1 NO_LAPACKE=1 PREFIX="$folder" "$@"
}
build libs
build install
cp /usr/include/lapacke*.h "$folder/include"
cp /usr/share/doc/liblapack-dev/copyright "$folder/share/licenses/lapack"
rm "$folder"/lib/libopenblas*.a
# OpenBLAS has xerbla, too, without Fortran's input and output
cp "$archive/liblapack_pic.a" liblapack.a
ar d liblapack.a xerbla.o
# the one function of libgfortran that LAPACK's routines call here: a and b into a string of a given length
cat >concat.c <<'EOF'
#include <stddef.h>

void _gfortran_concat_string(size_t size, char *out, size_t a_size, const char *a, size_t b_size, const char *b)
{
    for (size_t i = 0; i < size; i++) out[i] = i < a_size ? a[i] : i - a_size < b_size ? b[i - a_size] : ' ';
}
EOF
cc -O2 -fPIC -c concat.c
ar -M <<EOF
create $folder/lib/libopenblas.a
addlib $PWD/libopenblas.a
addlib $PWD/liblapack.a
addlib $archive/liblapacke.a
addmod $PWD/concat.o
save
end
EOF
# for the linker, under the names that CMake looks for
for name in openblas lapacke; do
    echo "GROUP ( $folder/lib/libopenblas.a -lm -lpthread )" >"$folder/lib/lib$name.so"
done
rm -rf "$work"
