#!/bin/sh
# No file is written but the outputs, and these are whole: closed descriptors, inputs by other names, outputs that are
# one file, full disks, two runs at a time, killed runs.
# BENCH names larmor-bench. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
: "${BENCH:?names larmor-bench}"

expect 0 phantom -o scan.h5 --matrix 24 --coils 2 --readouts 20 --maps maps.cfl --truth truth.npy -q
expect 0 traj -o t.cfl --matrix 24 --readouts 20 -q
expect 0 nufft --type 2 --modes 24,24 -t t.cfl truth.npy -o k.npy -q

# ---- descriptors that are closed at the start ----

mkdir without
run() {
    "$LARMOR" recon scan.h5 -o "$1/x.npy" --save-maps "$1/m.cfl"
    "$LARMOR" phantom -o "$1/s.h5" --matrix 16 --truth "$1/t.npy" --noise 1e-3
    "$LARMOR" convert truth.npy "$1/c.nii"
    "$LARMOR" nufft --type 2 --modes 24,24 -t t.cfl truth.npy -o "$1/n.npy"
    "$LARMOR" traj -o "$1/t.cfl" --matrix 16
    ! "$LARMOR" recon scan.h5 -o "$1/none.npy" --maps truth.npy
    "$BENCH" nufft --device cpu:1 --modes 8 --points 10 --repeats 1 --json "$1/b.json" || [ "$1" = with ]
}
run without >/dev/null 2>&1
for closed in '<&-' '2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
    rm -rf with && mkdir with
    eval "run with $closed" >out 2>err || fail "closed $closed: a command failed"
    for file in x.npy m.cfl m.hdr s.h5 t.npy c.nii n.npy t.cfl t.hdr; do
        cmp "with/$file" "without/$file" || fail "closed $closed: $file is another one"
    done
    [ "$(grep -vc '^{ "case".* }$' with/b.json)" -eq 0 ] || fail "closed $closed: b.json has other lines"
    [ "$(ls with | wc -l)" -eq "$(ls without | wc -l)" ] || fail "closed $closed: other files: $(ls with)"
done
# what was to be printed is not taken for printed
code=0
"$LARMOR" info scan.h5 >&- 2>err || code=$?
[ $code -eq 1 ] || fail "info with a closed standard output: exit code $code"
grep -q '^larmor: standard output: cannot be written' err || fail "info with a closed standard output: $(cat err)"

# ---- inputs by whatever name ----

sums() { find . -type f ! -name out ! -name err -exec cksum {} + | sort -k 3; }
mkdir sub
ln -s . again
cp scan.h5 sub/scan.h5
sums >before.sums
# overwrites INPUT COMMAND...: the words OUT stand for the input by other names; each is refused, and nothing changes
overwrites() {
    input=$1
    shift
    suffix=.${input#*.}
    ln -s "$input" "soft$suffix"
    ln "$input" "hard$suffix"
    for name in "$input" "./$input" "$folder//$input" "sub/../$input" "again/$input" "soft$suffix" "hard$suffix"; do
        expect 2 $(echo "$*" | sed "s|OUT|$name|g")
        said_like "^larmor: .*$input: is (also the output|given twice as an output)|^larmor: .*$input: is also the output"
    done
    rm "soft$suffix" "hard$suffix"
    sums >after.sums
    cmp -s before.sums after.sums || fail "$*: a file changed: $(diff before.sums after.sums)"
}
sums() { find . -type f ! -name out ! -name err ! -name '*.sums' -exec cksum {} + | sort -k 3; }
sums >before.sums
overwrites scan.h5 recon scan.h5 -o OUT --force
overwrites scan.h5 recon scan.h5 -o new.npy --save-maps OUT --force
overwrites maps.cfl recon scan.h5 --maps maps.cfl -o OUT --force
overwrites maps.cfl recon scan.h5 --maps maps.cfl --method grid -o new.npy --save-density OUT --force
overwrites truth.npy convert truth.npy OUT --force
overwrites truth.npy convert truth.npy -o OUT --force
overwrites k.npy convert --traj t.cfl --kspace k.npy -o OUT --force
overwrites t.cfl convert --traj t.cfl --kspace k.npy -o OUT --force
overwrites truth.npy nufft --type 2 --modes 24,24 -t t.cfl truth.npy -o OUT --force
overwrites t.cfl nufft --type 2 --modes 24,24 -t t.cfl truth.npy -o OUT --force
overwrites t.cfl nufft --type 3 -t t.cfl --targets t.cfl k.npy -o OUT --force

# the second file of a pair
ln maps.hdr pair.hdr
expect 2 recon scan.h5 --maps maps.cfl -o pair.cfl --force
said 'larmor: maps.cfl: is also the output pair.cfl; choose another name.'
rm pair.hdr
expect 2 convert truth.npy:/ truth.npy:/ --force
expect 2 convert scan.h5:/dataset scan.h5 --force
said 'larmor: scan.h5:/dataset: is also the output scan.h5; choose another name.'

# ---- outputs that are one file, there or not yet ----

twice() {
    expect 2 "$@"
    said_like '^larmor: .*: is given twice as an output'
}
for other in new.npy ./new.npy again/new.npy sub/../new.npy "$folder/new.npy"; do
    twice recon scan.h5 -o new.npy -o "$other"
    twice recon scan.h5 -o new.npy --save-maps "$other"
    twice recon scan.h5 --method grid -o x.npy --save-maps new.npy --save-density "$other"
done
twice phantom -o new.h5 --truth again/new.h5
twice phantom -o x.h5 --truth new.npy --maps again/new.npy
twice phantom -o x.h5 --field-map new.npy --maps ./new.npy
[ ! -e new.npy ] && [ ! -e new.h5 ] || fail "a refused command left a file"

# ---- what is printed goes to a file, too ----

code=0
"$LARMOR" recon scan.h5 -o x.npy --json >>scan.h5 2>err || code=$?
[ $code -eq 2 ] || fail "standard output is the scan: exit code $code"
grep -q '^larmor: scan.h5: is also the output /dev/stdout; ' err || fail "standard output is the scan: $(cat err)"
code=0
"$LARMOR" recon scan.h5 -o x.npy 2>>scan.h5 || code=$?
[ $code -eq 2 ] || fail "standard error is the scan: exit code $code"
code=0
"$LARMOR" recon scan.h5 -o x.npy >>scan.h5 2>&1 || code=$?
[ $code -eq 2 ] || fail "both are the scan: exit code $code"
sums >after.sums
cmp -s before.sums after.sums || fail "what is printed went to a file: $(diff before.sums after.sums)"

# ---- symbolic links ----

echo mine >target.npy
ln -s target.npy link.npy
expect 5 convert truth.npy link.npy --force
said 'larmor: link.npy: is a symbolic link; name the file that it points to.'
[ "$(cat target.npy)" = mine ] && [ -L link.npy ] || fail "--force changed a link or its target"
rm link.npy target.npy

# ---- a folder of the output's name ----

mkdir folder.dcm
for force in '' --force; do
    expect 5 recon scan.h5 -o folder.dcm $force
    said 'larmor: folder.dcm: is a folder; choose another name.'
done
rmdir folder.dcm

# ---- space is reserved before the computation ----

# Files may have 4 blocks of 512 bytes.
for command in "recon scan.h5 -o new.npy" "recon scan.h5 -o new.cfl" "recon scan.h5 -o new.h5" "recon scan.h5 -o new.nii" \
    "phantom -o new.h5" "nufft --type 2 --modes 24,24 -t t.cfl truth.npy -o new.npy"; do
    # shellcheck disable=SC2086 # words are meant
    (ulimit -f 4 && OMP_WAIT_POLICY=passive "$LARMOR" $command >out 2>err) && fail "$command: more than 2 KiB fit"
    grep -q 'new\..*: needs [0-9.]* [KM]iB, files may have [1-4].0 KiB (ulimit -f); nothing written\.$' err ||
        fail "$command: $(cat err)"
    ! grep -q '^image 1 of 1' err || fail "$command: an image was computed first: $(cat err)"
    [ -z "$(ls -A | grep new)" ] || fail "$command: left $(ls -A | grep new)"
done

# What is printed is an output, too; and a checkpoint that cannot be made is no fault of an input.
for command in --help "help recon" version completion "manual recon" "info scan.h5" devices; do
    code=0
    last="larmor $command >/dev/full"
    # shellcheck disable=SC2086 # words are meant
    "$LARMOR" $command >/dev/full 2>err || code=$?
    [ "$code" -eq 1 ] || fail "$last: exit code $code, expected 1"
    said "larmor: standard output: cannot be written; is the disk full?"
done
expect 1 recon scan.h5 -o new.npy --checkpoint nowhere/run.ckp -q
said_like "^larmor: nowhere/run.ckp: no such folder"

# A disk of 1 MB, where that can be had. It holds an image of 0.7 MB: what is reserved is not counted against itself.
cat >disk.sh <<'SH'
mount -t tmpfs -o size=1m none disk || exit 77
cp old.npy disk/full.npy
"$LARMOR" phantom -o disk/scan.h5 --matrix 400 --readouts 200 --force -q && exit 1
[ "$(ls -A disk)" = full.npy ] || exit 2
"$LARMOR" convert large.npy disk/large.npy --force -q && exit 3
"$LARMOR" recon scan.h5 -o disk/full.npy --matrix 400 --oversample 1 --method grid --force -q && exit 4
cmp old.npy disk/full.npy || exit 5
[ "$(ls -A disk)" = full.npy ] || exit 6
"$LARMOR" recon scan.h5 -o disk/fits.npy --matrix 300 --oversample 1 --method grid -q || exit 7
[ "$(stat -c %s disk/fits.npy)" -eq 720128 ] || exit 8
SH
mkdir disk
echo old >old.npy
expect 0 phantom -o large.h5 --matrix 400 --readouts 4 --coils 1 --truth large.npy -q
code=0
LARMOR=$LARMOR unshare -rm sh disk.sh >out 2>err || code=$?
if grep -q '^unshare:\|mount:' err; then
    echo "no disk of its own can be had here: left out"
else
    [ $code -eq 0 ] || fail "a full disk: exit code $code"
    [ "$(grep -c ': no space left (needs [0-9.]* [KM]iB, [0-9.]* [KM]iB free); nothing written\.$' err)" -eq 3 ] ||
        fail "a full disk: $(cat err)"
fi
rm -rf disk disk.sh large.h5 large.npy

# ---- two runs, and killed ones ----

expect 0 phantom -o long.h5 --matrix 128 --coils 8 --noise 1e-3 -q
"$LARMOR" recon long.h5 -o one.npy --method tv --tol 0 --iters 100000 -q 2>first.err &
first=$!
begun() { [ -n "$(find . -name '.one.npy.part.*')" ] || is_gone $first; }
until_true "the output's first part" begun
expect 1 recon scan.h5 -o one.npy
said "larmor: one.npy: output is being written by pid $first; wait for it or choose another name."
kill -9 $first
wait $first 2>/dev/null || true
[ -n "$(find . -name '.one.npy.part.*')" ] || fail "a killed run left nothing, so that nothing is tested"
expect 0 recon scan.h5 -o one.npy -q
[ -z "$(find . -name '.one.npy.part.*')" ] || fail "the next run does not remove what a killed one left"

# ---- values that are not finite ----

expect 0 convert truth.npy bad.npy -q
printf '\000\000\300\177' | dd of=bad.npy bs=1 seek=200 conv=notrunc 2>/dev/null
expect 3 convert bad.npy worse.npy
said_like '^larmor: bad.npy: 1 value is not finite, the first at \[[0-9]+, [0-9]+\].$'
[ ! -e worse.npy ] || fail "a file with values that are not finite was written"
