#!/bin/sh
# Every command ends within a second of processor time after SIGINT, SIGTERM and SIGHUP, whatever it is doing: with the
# signal's exit code, and with a whole output or none; no temporary file is left. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${INTERRUPT:?names the program that sends signals}"
export LARMOR_DEVICE=cpu LARMOR_THREADS=2

expect 0 phantom -o scan.h5 --traj golden --matrix 128 --readouts 100 --coils 6 -q
expect 0 phantom -o wide.h5 --traj golden --matrix 32 --readouts 30 --coils 48 -q
expect 0 phantom -o truth-scan.h5 --truth truth.npy --matrix 1024 --coils 1 --readouts 1 -q
expect 0 traj -o points.npy --traj golden --matrix 512 -q
expect 0 convert truth.npy truth.cfl -q

milliseconds() {
    date +%s%3N
}

# A second of both threads, and what it is worth with this build: starting takes its time, too.
began=$(milliseconds)
expect 0 version
most=$((2000 + 4 * ($(milliseconds) - began)))

# Numbers between 0 and 99 that are the same in every run.
seed=1
random() {
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    number=$((seed / 65536 % 100))
}

# ends WHOLE COMMAND...: at three moments of its run for each signal. WHOLE: a command that fails unless the output x.* is
# whole.
ends() {
    whole=$1 makes=x
    [ "$whole" != true ] || makes=none
    shift
    rm -f x.*
    began=$(milliseconds)
    expect 0 "$@"
    took=$(($(milliseconds) - began))
    for signal in INT TERM HUP; do
        case $signal in INT) wanted=130 ;; TERM) wanted=143 ;; *) wanted=129 ;; esac
        for moment in 1 2 3; do
            random
            last="larmor $*, $signal at $number % of $took ms"
            rm -f x.*
            "$INTERRUPT" "$signal" $((took * number / 100)) "$LARMOR" "$@" >out 2>err || fail "$last"
            code= after=
            read -r code after <<END
$(tail -n 1 out)
END
            # 0: the signal came when all was done
            [ "$code" -eq 0 ] || [ "$code" -eq "$wanted" ] || fail "$last: exit code $code, expected $wanted"
            [ "$code" -ne 0 ] || [ "$makes" = none ] || [ -n "$(ls x.* 2>/dev/null)" ] || fail "$last: no output"
            [ "$after" = over ] || [ "$after" -le "$most" ] || fail "$last: $after ms of processor time, expected at most $most"
            case $(ls -A) in *.part.*) fail "$last: left $(ls -A)" ;; esac
            if [ -n "$(ls x.* 2>/dev/null)" ]; then
                $whole >out 2>err || fail "$last: half an output"
            fi
        done
    done
}
image() {
    "$LARMOR" info "$(ls x.* | tail -n 1)"
}
pair() {
    [ -e x.cfl ] && [ -e x.hdr ] && "$LARMOR" info x.cfl
}

ends image recon scan.h5 -o x.npy -q
ends pair recon scan.h5 -o x.cfl -q --method tv --lambda noise:1 --iters 30
ends image recon scan.h5 -o x.npy -q --method grid --dcf pipe --maps none
ends image recon wide.h5 -o x.npy -q --method grid
ends image recon scan.h5 -o x.npy -q --plan measure --iters 3 --lambda 0
ends image phantom -o x.h5 --traj koosh --matrix 24,24,24 --coils 8 --snr 20 -q
ends pair nufft --type 2 --modes 1024,1024 --traj points.npy truth.npy -o x.cfl --precision double --tol 1e-10 -q
ends pair traj -o x.cfl --traj koosh --matrix 80,80,80 -q
ends pair convert truth.npy x.cfl -q
ends image convert truth.cfl x.png -q
ends true compare truth.cfl truth.npy
ends true info scan.h5
