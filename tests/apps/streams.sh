#!/bin/sh
# A scan from standard input and images to standard output, as streams of MRD: the images are those of files.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
relay=$(cd "$(dirname "$0")" && pwd)/relay.py

# sends FILE PROGRAM ARGUMENTS...: what `larmor send` sends of the file goes through the program's pipes and back.
sends() {
    file=$1
    shift
    rm -f port
    timeout 60 python3 "$relay" "$@" >port 2>log &
    until_true "the port of the relay" test -s port
    code=0
    timeout 60 "$LARMOR" send "$file" "127.0.0.1:$(cat port)" -o back.npy --force -q >out 2>err || code=$?
    wait $! || code=$?
}

expect 0 phantom -o scan.h5 --matrix 32 --coils 3 --slices 2 --snr 30 -q
expect 0 recon scan.h5 -o file.npy -o file.h5 --method cg -q

# From the client's side it is a server.
mkfifo fifo
export LARMOR
# shellcheck disable=SC2016 # the inner shell's own
sends scan.h5 sh -c 'exec 3<&0; tee stream.bin <&3 >fifo & exec "$LARMOR" recon - -o - -o too.h5 --method cg -q <fifo 3<&-'
[ $code -eq 0 ] || fail "recon - -o -: exit code $code: $(cat log)"
cmp back.npy file.npy || fail "images by the stream"
expect 0 compare too.h5 file.h5 --tol 0

# The same stream from a file.
expect 0 recon - -o kept.h5 --method cg -q <stream.bin
expect 0 compare kept.h5 file.h5 --tol 0
expect 0 recon - -o - --method cg -q <stream.bin
mv out images.bin
[ "$(wc -c <images.bin)" -gt 16384 ] || fail "two images of 32x32 complex numbers expected"
expect 0 recon scan.h5 -o - --method cg -q
cmp out images.bin || fail "the images of a file, sent"

# What is no scan, or ends too early, is refused.
expect 3 recon - -o no.h5 -q </dev/null
said_like '^larmor: standard input: ended after 0 acquisitions, expected some and CLOSE\.$'
head -c 20000 stream.bin >cut.bin
expect 3 recon - -o no.h5 -q <cut.bin
said_like '^larmor: standard input: '
expect 3 recon - -o no.h5 -q <scan.h5
said_like '^larmor: standard input: '
expect 2 recon scan.h5 -o - --json -q
[ "$(cat err)" = "larmor: --json and --output -: standard output takes one of them." ] || fail "$last: $(cat err)"
expect 2 recon - scan.h5 --out-dir many -q
said 'larmor: recon: "-": standard input has no name for an image in --out-dir; use -o.'
[ ! -e no.h5 ] || fail "an image was made of a stream that was refused"
