#!/bin/sh
# Idle threads sleep soon unless the user wants them otherwise. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
unset LARMOR_THREADS OMP_WAIT_POLICY GOMP_SPINCOUNT KMP_BLOCKTIME OPENBLAS_THREAD_TIMEOUT
export OMP_DISPLAY_ENV=verbose

# How long OpenMP says that a thread spins before it sleeps; the last word counts, for the program may have started
# itself anew.
spin() {
    sed -n "s/.*\(GOMP_SPINCOUNT\|KMP_BLOCKTIME\) *= *'\([A-Za-z0-9]*\)'.*/\2/p" err | tail -n 1
}
if [ "$(nproc)" -gt 1 ]; then
    expect 0 phantom -o 'a name.h5' --matrix 16 --coils 2 -q
    case $(spin) in 0 | 3000) ;; *) fail "idle threads spin: $(spin)" ;; esac
    expect 0 recon 'a name.h5' -o image.npy -q
    case $(spin) in 0 | 3000) ;; *) fail "idle threads spin: $(spin)" ;; esac
fi
export OMP_WAIT_POLICY=active
expect 0 phantom -o b.h5 --matrix 16 --coils 2 -q
[ "$(spin)" != 0 ] || fail "the user's own policy was overruled"
unset OMP_WAIT_POLICY
export GOMP_SPINCOUNT=100 KMP_BLOCKTIME=100
expect 0 phantom -o c.h5 --matrix 16 --coils 2 -q
case $(spin) in 100*) ;; *) fail "the user's own spin count was overruled: $(spin)" ;; esac
unset GOMP_SPINCOUNT KMP_BLOCKTIME OPENBLAS_CORETYPE

# OpenBLAS that does not know the processor gets the kernels of one that has its instructions, when the program starts
# itself anew.
told() {
    LD_PRELOAD=$UNKNOWN_PROCESSOR expect 0 phantom -o "$1" --matrix 16 --coils 2 -q
    sed -n 's/^told: //p' err | tr '\n' ' ' >words
}
if [ "$(nproc)" -gt 1 ] && grep -q '\<avx2\>' /proc/cpuinfo && ldd "$LARMOR" | grep -q openblas; then
    told d.h5
    case $(cat words) in "nothing SkylakeX " | "nothing Haswell ") ;; *) fail "of an unknown processor: $(cat words)" ;; esac
    export OPENBLAS_CORETYPE=Prescott
    told e.h5
    [ "$(cat words)" = "Prescott Prescott " ] || fail "the user's own kernels were overruled: $(cat words)"
fi
