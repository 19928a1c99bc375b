#!/bin/sh
# Which layer may include which: core <- nufft <- recon <- pipeline <- stream <- apps, core <- io <- pipeline,
# where pipeline is scan, pipeline, check, schedule, live and noise, and stream sees them by public headers, and io's records and buffers,
# core <- fit <- apps,
# core <- phantoms <- phantoms/scan <- apps, bench; phantoms/scan sees recon and io, pipeline io, by their public headers alone,
# apps, bench and xla everything by public headers.
# And no files include each other in a circle.
# Usage: tests/check_layers.sh [ROOT]. SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
status=0

# allowed LAYER 'REGEX of project includes'
allowed() {
    for file in $(find "$1" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort); do
        # quoted includes are the project's; a name without a folder is a neighbour
        bad=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file" |
            grep -vE "\"($2)\"|\"[^/\"]+\"" || true)
        [ -z "$bad" ] || { echo "$bad" | sed "s|^|$file:|; s|\$|  (not for layer $1)|"; status=1; }
    done
}

public='larmor/[a-z]+\.h'
allowed core     "core/.*|$public"
allowed nufft    "(core|nufft)/.*|$public"
allowed recon    "(core|nufft|recon)/.*|$public"
allowed fit      "(core|fit)/.*|$public"
allowed io       "(core|io)/.*|$public"
allowed phantoms "(core|phantoms)/.*|$public"
rooms='scan|pipeline|check|schedule|live|noise|gating|physics'
for room in scan pipeline check schedule live noise gating physics; do allowed $room "(core|$rooms)/.*|$public"; done
allowed stream   "(core|stream)/.*|io/bytes\.h|io/reader/mrd_records\.h|$public"
allowed xla      "xla/.*|$public"
allowed apps     "$public"
allowed bench    "$public"
allowed include  "$public"

# The public headers need nothing but the C library, and no header of ours comes in <>.
angled=$(grep -rnE '#[[:space:]]*include[[:space:]]*<(larmor|core|nufft|recon|io|phantoms|scan|pipeline|check|schedule|live|noise|gating|physics|stream)/' \
    include core nufft recon fit io phantoms scan pipeline check schedule live noise gating physics stream apps bench || true)
[ -z "$angled" ] || { echo "$angled  (quotes, not <>)"; status=1; }
outside=$(grep -rnE '#[[:space:]]*include[[:space:]]*<' include | grep -vE '<(stddef|stdint)\.h>' || true)
[ -z "$outside" ] || { echo "$outside  (public headers need only stddef.h and stdint.h)"; status=1; }

# Devices' columns see only tables (headers) of their layer and core.
for file in $(find core/cpu nufft/cpu core/cuda nufft/cuda recon/cpu recon/cuda -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null); do
    bad=$(grep -nE '#[[:space:]]*include[[:space:]]*"(recon|io|phantoms|scan|pipeline|check|schedule|live|noise|gating|physics)/' "$file" |
        grep -vE '^[0-9]+:#include "recon/((cpu|cuda)/.*|(kernels|math)(_[a-z]+)?\.h)"' || true)
    [ -z "$bad" ] || { echo "$file:$bad"; status=1; }
done

# No circles: a source and its header are one, and of two such neither may need the other through whatever is between.
edges() {
    grep -rnoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' "$@" --include='*.[ch]' --include='*.cu' \
        --include='*.cuh' | sed -E 's/:[0-9]+:.*"(.*)"$/ \1/' |
        awk '{ folder = $1; sub(/[^\/]*$/, "", folder); if ($2 !~ /\//) $2 = folder $2
               sub(/\.[a-z]+$/, "", $1); sub(/\.[a-z]+$/, "", $2); if ($1 != $2) print $1, $2 }'
}
for room in core nufft recon fit io phantoms 'scan pipeline check schedule live noise gating physics' stream apps bench; do
    # shellcheck disable=SC2086 # folders are meant
    circle=$(edges $room | tsort 2>&1 >/dev/null | sed 's/^tsort: //' || true)
    [ -z "$circle" ] || { echo "$circle  (a circle of includes in $room)"; status=1; }
done

# Libraries that only core may know: FFTW, BLAS, CUDA's like; that only io may know: HDF5 and the image libraries.
only() {
    found=$(grep -rnE "#[[:space:]]*include[[:space:]]*<($2)>" include core nufft recon fit io phantoms scan pipeline check schedule live noise gating physics stream apps bench |
        grep -vE "^$1[/:]" || true)
    [ -z "$found" ] || { echo "$found  (only for $1)"; status=1; }
}
only core/cpu 'fftw3\.h|cblas\.h'
only core/cuda 'cufft\.h|cublas_v2\.h|cusolverDn\.h'
only nufft/cuda 'cusparse\.h'
only '(core/cpu/la|recon/lapack)\.c' 'lapacke\.h' # what calls it passes the gate of core/cpu/cpu.h
only recon/density 'libqhull.*'
only io 'png\.h|nifti1.*\.h|zlib\.h'
only io/reader 'expat\.h|hdf5\.h|ismrmrd/.*'

# The processor's columns alone know OpenMP's threads; others call lmr_parallel. Hints for the vectoriser are free.
threads=$(grep -rnE '#[[:space:]]*pragma[[:space:]]+omp|<omp\.h>' core nufft recon fit io phantoms --include='*.[ch]' |
    grep -vE '^(core|nufft|recon)/cpu/|pragma omp simd' || true)
[ -z "$threads" ] || { echo "$threads  (OpenMP is for the columns; core/parallel.h elsewhere)"; status=1; }

# Nothing in the library prints or ends the program; larmor-reader is a program of its own.
loud=$(grep -rnE '\b(printf|puts|perror|exit|abort|_exit|assert)[[:space:]]*\(' core nufft recon fit io phantoms scan pipeline check \
    schedule live noise gating physics stream --include='*.c' --include='*.h' --include='*.cu' --include='*.cuh' | grep -vE '^io/reader/(main|memory)\.c:|(sn|vsn|f|v)printf|static_assert|/\*.*(exit|abort)' || true)
[ -z "$loud" ] || { echo "$loud  (the library never prints, exits or aborts)"; status=1; }

# Nothing runs when the library is loaded, where a host program may have no memory to give and no thread may be ready.
early=$(grep -rnE '__attribute__\(\((constructor|init_priority)' core nufft recon fit io phantoms scan pipeline \
    check schedule live noise gating physics stream finufft xla --include='*.c' --include='*.h' --include='*.cu' --include='*.cuh' || true)
[ -z "$early" ] || { echo "$early  (no work in constructors)"; status=1; }

# Files of options are known as such, so that apps/common/files.c compares them, and opened for writing there alone.
for file in $(find apps bench -name '*.[ch]'); do
    plain=$(tr '\n' ' ' <"$file" |
        grep -oE 'APP_TEXTS?, +[a-z_.]+, +[^,]+, +"[^"]*", +"([^"]*FILE[^"]*|[^"]*\.[a-z0-9]+)"' || true)
    [ -z "$plain" ] || { echo "$file: $plain  (APP_READ_FILE or APP_WRITTEN_FILE for a file)"; status=1; }
done
opened=$(grep -rn 'larmor_output_open *(' apps bench --include='*.c' | grep -v '^apps/common/files.c:' || true)
[ -z "$opened" ] || { echo "$opened  (app_output_open in the programs)"; status=1; }

[ $status -ne 0 ] || echo "layers: as they should be"
exit $status
