#!/bin/sh
# Helps, and mistakes on the command line: exact words, exit code 2. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 --help
for command in recon phantom traj info compare convert nufft devices version; do
    printed "^  $command "
done
for command in recon phantom traj info compare convert nufft devices version; do
    expect 0 "$command" --help
    printed "^usage: larmor $command "
    printed '^  -q, --quiet '
    expect 0 "$command" -h
    # A default is printed once.
    awk '/^ *--?[a-z]/ { n = 0 } { n += gsub(/\(default: /, "") } n > 1 { exit 1 }' out ||
        fail "larmor $command --help says a default twice"
    mv out asked
    expect 0 help "$command"
    cmp -s out asked || fail "larmor help $command differs from larmor $command --help"
    rm asked
done
expect 0 help
printed '^  recon '
expect 2 help recno
said "larmor: unknown command \"recno\", did you mean recon; 'larmor --help' lists them."
expect 2 manual recno
said "larmor: unknown command \"recno\", did you mean recon; 'larmor --help' lists them."
expect 0 manual recon
printed '^\.TH LARMOR-RECON 1 '
expect 2 completion tcsh
said 'larmor: completion: "tcsh": bash, zsh or fish expected.'
for shell in bash zsh fish; do
    expect 0 completion $shell
    printed 'larmor completion --'
done
expect 0 phantom --help
printed '--coils C .*\(default: 8\)$'
printed '-o, --output SCAN.h5 .*\(needed\)$'

expect 2
expect 2 recno
said "larmor: unknown command \"recno\", did you mean recon; 'larmor --help' lists them."
expect 2 entirely-else
said "larmor: unknown command \"entirely-else\"; 'larmor --help' lists them."
expect 2 bench nufft
said 'larmor: unknown command "bench"; it is a program of its own: larmor-bench.'

expect 2 phantom --raedouts 3
said "larmor: phantom: unknown option --raedouts, did you mean --readouts; 'larmor phantom --help' lists them."
expect 2 phantom -x
said "larmor: phantom: unknown option -x; 'larmor phantom --help' lists them."
expect 2 phantom --force=1 -o x.h5
said 'larmor: --force takes no value.'
expect 2 phantom
said "larmor: phantom: --output SCAN.h5 is needed; 'larmor phantom --help' says more."
expect 2 phantom -o x.h5 y.h5
said 'larmor: phantom: unexpected argument "y.h5"; usage: larmor phantom -o SCAN.h5 [options]'
expect 2 compare a.h5
said 'larmor: compare: 2 file names expected, got 1; usage: larmor compare A B [options]'

# recon asks for its scan, takes one, and reads and writes files alone.
expect 2 recon
said 'larmor: recon: a scan is needed; for example: larmor recon scan.h5 -o image.nii'
expect 2 recon -o y.h5
said 'larmor: recon: a scan is needed; for example: larmor recon scan.h5 -o image.nii'
expect 2 recon x.h5
said "larmor: recon: --output FILE is needed; 'larmor recon --help' says more."
expect 2 recon x.h5 y.h5 -o z.h5
said 'larmor: recon: unexpected argument "y.h5": several scans in one call need --out-dir DIR; an image is named by -o.'
expect 2 recon x.h5 -o y.h5 --maps -
said 'larmor: recon: --maps "-": standard input and output are not supported yet; name a file.'
expect 2 convert - y.npy
said 'larmor: convert: "-": standard input and output are not supported yet; name a file.'
mkdir here
for again in y.h5 ./y.h5 here/../y.h5 "$folder/y.h5"; do
    expect 2 recon x.h5 -o y.h5 -o "$again"
    also=", also as y.h5"
    [ "$again" != y.h5 ] || also=
    said "larmor: $again: is given twice as an output$also; once is enough."
done
rmdir here

# What the method would ignore is refused, and named with what it is for; what has its default is not.
ignored() {
    option=$1 with=$2 of=$3
    shift 3
    expect 2 recon x.h5 -o y.h5 "$@"
    said "larmor: --$option: has no effect with $with; it is an option of $of."
}
iterative='--method auto, cg, tv, tgv, wavelet, llr, l1, fft, lowrank, lowrank-sparse, lowrank-multiscale and clear'
for option in "tol 1e-3" "lambda 0" "toeplitz on" "precond circulant"; do
    # shellcheck disable=SC2086 # words are meant
    expect 2 recon x.h5 -o y.h5 --method grid --$option
    said_like "^larmor: --${option% *}.*: has no effect with --method grid; it is an option of ${iterative}[.]$"
done
ignored iters "--method grid" "--method auto, cg, nlinv, tv, tgv, wavelet, llr, l1, fft, lowrank, lowrank-sparse, lowrank-multiscale and clear" --method grid --iters 20
ignored median "--method cg" "--method nlinv" --method cg --median 3
ignored damping "--method tv" "--method nlinv" --method tv --damping 0.5
ignored lambda "--method nlinv" "$iterative" --method nlinv --lambda 0
ignored joint "--method wavelet" "--method tv, llr, fft, lowrank, lowrank-sparse and lowrank-multiscale" --method wavelet --joint
expect 2 recon x.h5 -o y.h5 --method tv --time-weight 2
said "larmor: --time-weight: has no effect without --joint."
ignored time-weight "--method auto" "--method tv" --time-weight 2
ignored block "--method tv" "--method llr and clear" --method tv --block 4
for method in cg tv tgv wavelet llr; do
    ignored dcf "--method $method" "--method grid and of --weighted" --method $method --dcf pipe
done
of_maps="--method auto, cg, grid, tv, tgv, wavelet, llr, l1, fft, lowrank, lowrank-sparse and lowrank-multiscale"
ignored crop "--method nlinv" "$of_maps" --method nlinv --crop hard
ignored normalise "--method clear" "$of_maps" --method clear --normalise body
ignored calibration "--maps m.cfl" "maps from the data" --maps m.cfl --calibration 24
ignored calibration "--maps none" "maps from the data" --method grid --maps none --calibration 24
expect 2 recon x.h5 -o y.h5 --maps none
said 'larmor: --maps none: only --method grid and clear work without coil maps.'
expect 2 recon x.h5 -o y.h5 --method clear --save-maps m.npy
said 'larmor: --save-maps: has no effect with --method clear; it is an option of maps from the data.'
expect 2 recon x.h5 -o y.h5 --method clear --maps espirit
said 'larmor: --method clear: needs no coil maps; leave out those by espirit.'
expect 2 recon x.h5 -o y.h5 --method nlinv --maps espirit
said 'larmor: --method nlinv: finds its own coil maps; leave out those by espirit.'
expect 2 recon x.h5 -o y.h5 --method cg --tol 1 # with which an image of zeros would do
said 'larmor: --tol "1": a number from 0 to 0.99 expected.'
expect 2 convert x.h5 --save-traj k.txt
said 'larmor: --save-traj "k.txt": a name that ends in .npy or .cfl expected.'
expect 2 recon x.h5 -o y.h5 --method clear --snr-map s.npy
said 'larmor: --noise-map, --snr-map and --g-map: there are none with --method clear.'
for fine in "--method grid --toeplitz off --precond none --dcf pipe" "--dcf auto" "--dcf none" \
    "--weighted --dcf pipe" "--method llr --joint --block 4" "--method tv --joint --time-weight 2" "--precond auto" \
    "--method nlinv --iters 4 --median 3 --damping 0.8"; do
    # shellcheck disable=SC2086 # words are meant
    expect 3 recon x.h5 -o y.h5 $fine
    said 'larmor: x.h5: no such file.'
done

expect 2 recon x.h5 -o y.h5 --lambda abc
said 'larmor: --lambda "abc": auto, a number from 0 to 1000000, or noise: and such a number expected.'
expect 2 recon x.h5 -o y.h5 --lambda=-1
said 'larmor: --lambda "-1": auto, a number from 0 to 1000000, or noise: and such a number expected.'
for wrong in '' ' 1' 1x 0x10 nan inf 1e999 1,5; do
    expect 2 phantom -o x.h5 --noise "$wrong"
    said "larmor: --noise \"$wrong\": a number from 0 to 1000000 expected."
done
for wrong in '' 1.5 0 -3 65536 99999999999999999999 5x; do
    expect 2 phantom -o x.h5 --samples "$wrong"
    said "larmor: --samples \"$wrong\": a whole number from 1 to 65535 expected."
done
for wrong in '' ',' '8,' ',8' 8,8,8,8 8x8 8,0 8,-8 8.5; do
    expect 2 phantom -o x.h5 --matrix "$wrong"
    said "larmor: --matrix \"$wrong\": X[,Y[,Z]] of whole numbers from 1 to 65535 expected."
done
expect 2 phantom -o x.h5 --traj raidal
said 'larmor: --traj "raidal": radial, golden, spiral, stars, koosh, phyllotaxis or cartesian expected.'
expect 2 phantom -o x.h5 --noise
said 'larmor: --noise: a number from 0 to 1000000 expected.'
expect 2 phantom -o --force
said 'larmor: --output: a value expected.'
expect 2 phantom -o x.h5 --device gpu
said_like '^larmor: --device "gpu": auto, cpu, cpu:THREADS \(1 to 4096\), .* expected.$'
expect 4 phantom -o x.h5 --device cuda
said_like '^larmor: device cuda: '
expect 2 phantom -o x.xyz
said_like '^larmor: x.xyz: .*\.h5'
expect 2 phantom -o x.h5 --truth x.h5
said 'larmor: x.h5: is given twice as an output; once is enough.'
expect 2 convert a.npy
said "larmor: convert: FROM and TO, SCAN --save-kspace K.npy, or --traj T.cfl --kspace K.cfl -o SCAN.h5 expected; 'larmor convert --help' says more."
expect 2 convert a.npy a.npy
said 'larmor: a.npy: is also the output; choose another name.'
expect 2 traj
said_like '^larmor: traj: --output FILE is needed'
only

# A switch against reading without the filter of system calls, and what is no such switch.
expect 0 phantom -o small.h5 --traj radial --matrix 16 --coils 2 -q
expect 0 version
code=0
LARMOR_SANDBOX=require "$LARMOR" info small.h5 >seen 2>err || code=$?
if grep -q '^sandbox   seccomp$' out; then
    [ $code = 0 ] || fail "LARMOR_SANDBOX=require: exit code $code with a filter, expected 0"
else
    [ $code = 4 ] || fail "LARMOR_SANDBOX=require: exit code $code without a filter, expected 4"
fi
expect 0 info small.h5 --json
grep -qE '"sandbox": "(seccomp|limits)"' out || fail "a member sandbox expected of info --json"
limits='^sandbox: limits; the file was read without a filter of system calls, which this system does not have$'
code=0
"$NO_SECCOMP" "$LARMOR" info small.h5 >seen 2>err || code=$?
if [ $code != 77 ]; then # a system where the helper itself may set a filter
    grep -q "$limits" seen || fail "no seccomp: the line of the sandbox is missing: $(cat seen)"
    "$NO_SECCOMP" "$LARMOR" info small.h5 --json >seen 2>err
    grep -q '"sandbox": "limits"' seen || fail "no seccomp: info --json does not say so"
fi
code=0
LARMOR_SANDBOX=on "$LARMOR" info small.h5 >seen 2>err || code=$?
[ $code = 2 ] || fail "LARMOR_SANDBOX=on: exit code $code, expected 2"
said 'larmor: small.h5: LARMOR_SANDBOX=on: require expected, or nothing.'
rm small.h5 seen

# An option that the next version will not have is listed nowhere.
for listing in "recon --help" "manual recon" "completion --words recon --seg"; do
    # shellcheck disable=SC2086 # words are meant
    "$LARMOR" $listing | grep -q -e '-segments' && fail "$listing: --segments is listed"
done

# A reader that has seen enough: no full disk, and no word of it.
# The options that a first reconstruction needs come first, then the others by subject; the manual page has the same subjects.
first=$("$LARMOR" recon --help | awk '/^[A-Z].*:$/ { exit } match($0, /^  (-., |    )--[a-z-]+/) { sub(/^[^-]*(-., )?--/, ""); print $1 }' | tr '\n' ' ')
[ "$first" = "output method lambda maps matrix fov device threads force json " ] || fail "the first options of recon: $first"
"$LARMOR" recon --help | sed -n 's/^\([A-Z].*\):$/\1/p' | grep -v '^Else$' >subjects
"$LARMOR" manual recon | sed -n 's/^\.SS //p' | sed 's/\\-/-/g' >manual_subjects
cmp subjects manual_subjects || fail "the subjects of the help and of the manual page differ"
[ "$(wc -l <subjects)" = 10 ] || fail "got $(wc -l <subjects) subjects of options, expected 10"

for command in "--help" "help recon" "recon --help" "version --json"; do
    rm -f gone code
    # shellcheck disable=SC2086 # words are meant
    { until [ -e gone ]; do sleep 0.02; done
      "$LARMOR" $command 2>err; echo $? >code; } | { exec <&-; : >gone; until [ -s code ]; do sleep 0.02; done; }
    [ "$(cat code)" = 0 ] || fail "$command | head: exit code $(cat code), expected 0"
    [ ! -s err ] || fail "$command | head: said something"
done
if [ -e /dev/full ]; then
    code=0
    "$LARMOR" recon --help >/dev/full 2>err || code=$?
    [ $code = 1 ] || fail "a full disk: exit code $code, expected 1"
    said 'larmor: standard output: cannot be written; is the disk full?'
fi
rm -f gone code

# Outputs beyond those that a call can write.
outputs=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do outputs="$outputs -o p$i.npy"; done
# shellcheck disable=SC2086
expect 2 recon scan.h5 $outputs
said 'larmor: --output "p17.npy": is given more than 16 times; use several calls.'
# One value of an option that has one; the same again, flags and outputs are no mistake.
for pair in '--method tv --method wavelet' '--iters 3 --iters=4' '-m tv -m grid' '--maps auto --maps walsh' '--matrix 8 --matrix 8,8'; do
    # shellcheck disable=SC2086 # words are meant
    expect 2 recon missing.h5 -o x.npy $pair
    said_like 'is given twice, as "[^"]*" and as "[^"]*"; give it once\.$'
done
expect 2 recon missing.h5 -o x.npy --method tv --method wavelet
said 'larmor: --method: is given twice, as "tv" and as "wavelet"; give it once.'
expect 3 recon missing.h5 -o x.npy -o y.npy --method tv --method tv --force --force

expect 0 version
printed '^larmor [0-9]+\.[0-9]+\.[0-9]+$'
printed '^hdf5 +[0-9]'
printed '^sandbox   (seccomp|limits)$'
expect 0 --version
expect 0 version --json
printed '"larmor": "[0-9.]+"'
expect 0 devices
printed '^cpu +.*thread'
expect 0 devices --json
printed '"spec": "cpu"'

# Numbers for axes that a scan has not.
expect 0 phantom -o flat.h5 --traj cartesian --matrix 16 --coils 2 -q
for option in '--matrix 16,16,16' '--fov 256,256,256' '--oversample 1,1,2' '--shift 1,2,3'; do
    # shellcheck disable=SC2086 # words are meant
    expect 2 recon flat.h5 -o x.npy -q $option
    said_like 'along z, but the scan is 2D; leave that number out\.$'
done
expect 2 phantom -o y.h5 -q --matrix 16 --drift 1,2,3 --repetitions 2
said 'larmor: --drift: got 3 along z, but the scan is 2D; leave that number out.'
expect 2 phantom -o y.h5 -q --matrix 16 --traj cartesian --ghost 40,0.5
said 'larmor: --ghost: has no effect without --epi.'
expect 0 phantom -o epi.h5 -q --matrix 32 --traj cartesian --coils 4 --epi 1 --ramp 60,80,60 --ghost 40,0.5
expect 0 recon epi.h5 -o epi.npy
grep -q '^ghost: lines of both directions differ by 40 degrees and 0.5/FOV, by 3 navigators of 1 shot;' err ||
    fail "a ghost of 40 degrees and 0.5/FOV expected"
