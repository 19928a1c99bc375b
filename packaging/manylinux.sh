#!/bin/sh
# The libraries that larmor needs, built into a folder of a manylinux_2_28 container, whose own are too old or not there.
# Usage: packaging/manylinux.sh FOLDER. Not run yet: where it was written nothing but package registries is reached.
# SPDX-License-Identifier: Apache-2.0
set -eu
folder=$1
jobs=$(nproc)
PATH=/opt/python/cp312-cp312/bin:$PATH
pip install -q 'cmake >= 3.25' ninja
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# source URL: unpacked into the folder `source`
source_of() {
    rm -rf source
    mkdir source
    curl -fsSL "$1" | tar xz --strip-components=1 -C source
}
# by CMake, with these options
by_cmake() {
    cmake -S source -B source/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$folder" \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
    cmake --build source/build -j "$jobs"
    cmake --install source/build
}
source_of https://www.fftw.org/fftw-3.3.10.tar.gz
for precision in --disable-float --enable-float; do
    (cd source && ./configure -q --prefix="$folder" --enable-shared --disable-static --enable-threads --enable-avx2 \
        $precision && make -s -j "$jobs" install && make -s distclean)
done
source_of https://github.com/OpenMathLib/OpenBLAS/archive/refs/tags/v0.3.28.tar.gz
make -s -C source -j "$jobs" DYNAMIC_ARCH=1 USE_OPENMP=0 NUM_THREADS=64 NO_STATIC=1 libs netlib shared
make -s -C source PREFIX="$folder" DYNAMIC_ARCH=1 NO_STATIC=1 install
for name in lapacke cblas blas lapack; do # one library has all four here
    ln -sf libopenblas.so "$folder/lib/lib$name.so"
done
source_of https://github.com/madler/zlib/archive/refs/tags/v1.3.1.tar.gz
by_cmake
source_of https://github.com/libexpat/libexpat/archive/refs/tags/R_2_6_4.tar.gz
mv source/expat source/inner && mv source/inner/* source/ && by_cmake -DEXPAT_BUILD_TESTS=OFF -DEXPAT_SHARED_LIBS=OFF
source_of https://github.com/pnggroup/libpng/archive/refs/tags/v1.6.44.tar.gz
by_cmake -DPNG_TESTS=OFF -DPNG_STATIC=OFF -DCMAKE_PREFIX_PATH="$folder"
source_of https://github.com/HDFGroup/hdf5/archive/refs/tags/hdf5-1_14_3.tar.gz
by_cmake -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF \
    -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DCMAKE_PREFIX_PATH="$folder"
source_of https://github.com/qhull/qhull/archive/refs/tags/2020.2.tar.gz
by_cmake -DBUILD_APPLICATIONS=OFF
source_of https://github.com/NIFTI-Imaging/nifti_clib/archive/refs/tags/v3.0.1.tar.gz
by_cmake -DNIFTI_BUILD_TESTING=OFF -DCMAKE_PREFIX_PATH="$folder"
