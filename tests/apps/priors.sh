#!/bin/sh
# recon --prior: images by a denoiser are nearer to the truth than those by cg; plugins are said in the log, are never
# loaded because of a file of options, and what they do wrong leaves no image. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${PRIORS:?names the folder of plugins}"

# error IMAGE
error() {
    expect 0 compare "$1" truth.cfl
    cut -d' ' -f2 out
}

# nearer PART OPTIONS...: than an image by cg, by this part of its error at most
nearer() {
    part=$1
    shift
    # shellcheck disable=SC2086 # options
    expect 0 recon scan.h5 -o x.cfl --force --maps maps.cfl "$@"
    awk -v a="$(error plain.cfl)" -v b="$(error x.cfl)" -v p="$part" 'BEGIN { exit !(b < p * a) }' ||
        fail "$traj, SNR $snr: cg $(error plain.cfl), $* $(error x.cfl)"
}

for traj in "golden --matrix 32 --readouts 13" "spiral --matrix 32 --undersampling 3" "koosh --matrix 14 --readouts 120"; do
    for snr in 10 30; do
        case $traj$snr in golden*10 | koosh*30) ;; *) [ -n "$every" ] || continue ;; esac
        # shellcheck disable=SC2086
        expect 0 phantom -o scan.h5 --force --truth truth.cfl --maps maps.cfl --traj $traj --snr $snr --seed $snr --coils 4 -q
        expect 0 recon scan.h5 -o plain.cfl --force --maps maps.cfl -m cg -q
        case $traj in koosh*) part=0.99 ;; *) part=0.8 ;; esac
        nearer $part --prior tv -q
        nearer $part --prior "$PRIORS/nonlocal.so" -q
    done
done

# The three methods, and what the log says.
expect 0 phantom -o scan.h5 --force --truth truth.cfl --maps maps.cfl --traj golden --matrix 32 --readouts 15 --snr 10 --coils 4 -q
expect 0 recon scan.h5 -o plain.cfl --force --maps maps.cfl -m cg -q
for method in admm red; do
    expect 0 recon scan.h5 -o x.cfl --force --maps maps.cfl --prior "$PRIORS/nonlocal.so:2" --prior-method $method
    grep -qE "prior non-local means \($PRIORS/nonlocal.so\): [0-9]+ iterations of $method, sigma " err ||
        fail "$last: the log does not say which plugin it was"
    awk -v a="$(error plain.cfl)" -v b="$(error x.cfl)" 'BEGIN { exit !(b < a) }' || fail "$method: not nearer than cg"
done

# fails MESSAGE CODE OPTIONS...: in one line, without an image
fails() {
    message=$1 wanted=$2
    shift 2
    expect "$wanted" recon scan.h5 -o none.cfl --maps maps.cfl -q "$@"
    said_like "$message"
    [ ! -e none.cfl ] || fail "$last: none.cfl is there"
}
fails "half.so: the network has no weights" 1 --prior "$PRIORS/half.so:fails"
fails "half.so.*: 1 value is not finite, the first at \[1, 0\]" 1 --prior "$PRIORS/half.so:nan"
fails "half.so: its result has another shape or memory" 1 --prior "$PRIORS/half.so:shape"
fails "wrong_abi.so: it has ABI 999" 4 --prior "$PRIORS/wrong_abi.so"
fails "no_table.so: it is no plugin of larmor" 4 --prior "$PRIORS/no_table.so"
fails "nothing.so: No such file or directory; give the path of a shared object" 3 --prior ./nothing.so
fails "H is \"wide\", expected a number above 0" 2 --prior "$PRIORS/nonlocal.so:wide"
fails "the path of a plugin, ./NAME.so, or the name of a penalty expected" 2 --prior median
fails "prior: has no effect with --method tv; it is an option of --method auto and cg" 2 --prior tv -m tv
fails "prior: is not for --constraint; leave one of them out" 2 --prior tv --constraint real
fails "prior: is not for --lambda; --prior-sigma says how strong it is" 2 --prior tv --lambda 1
fails "prior-method: has no effect without --prior" 2 --prior-method red
fails "there are none with --prior" 2 --prior tv --noise-map n.nii

# A file of options loads nothing.
echo 'prior = "./plugin.so"' >options
fails "prior: a file of options loads no code; give it on the command line" 2 --config options
