#!/bin/sh
# serve and send: images are those of recon, whatever other clients do; and the commands of docs/serve.md.
# SPDX-License-Identifier: Apache-2.0
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/serve.md
relay=$(cd "$(dirname "$0")" && pwd)/relay.py
. "$(dirname "$0")/support.sh"
awaited=
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

# serve OPTIONS...: start it, and wait for its line; its address is in $address.
serve() {
    last="serve $*"
    rm -f line
    "$LARMOR" serve "$@" >line 2>log &
    server=$!
    awaited=$server
    until_true "the line that says where it listens" test -s line
    address=$(sed -n 's/^listening on //p' line)
}

# ended CODE SIGNAL: the server ends so.
ended() {
    awaited=
    kill -s "$2" $server
    code=0
    wait $server || code=$?
    [ $code -eq "$1" ] || fail "$last: exit code $code, expected $1"
}

expect 0 phantom -o scan.h5 --matrix 24 --coils 3 --readouts 30 --snr 30 --slices 2 --repetitions 2 --noise-scan 64 -q
expect 0 recon scan.h5 -o image.npy -q

# The same image, bit for bit; of two clients at once; of a client whose parameters are recon's options.
serve --port 0
expect 0 send scan.h5 "$address" -o one.npy -q
cmp one.npy image.npy || fail "$last: the image is that of recon"
"$LARMOR" send scan.h5 "$address" -o two.npy -q 2>err2 &
second=$!
expect 0 send scan.h5 "$address" -o three.npy -q
wait $second || fail "$last: the second client $(cat err2)"
cmp two.npy image.npy || fail "$last: the first image of two at once"
cmp three.npy image.npy || fail "$last: the second image of two at once"
expect 0 recon scan.h5 -o frames.npy --method grid --spokes-per-frame 10 --slice 1 -q
expect 0 send scan.h5 "$address" -o got.npy --set method=grid --set spokesPerFrame=10 --set slice=1 -q
cmp got.npy frames.npy || fail "$last: frames are those of recon"
expect 0 send scan.h5 "$address" -o got.npy --parameters '{"method":"grid","spokes_per_frame":10,"slice":1,"pixels":"complex"}' -q --force
cmp got.npy frames.npy || fail "$last: frames are those of recon"

# Images of the last readouts, each shown when it comes: on a terminal in the place of the one before.
expect 0 phantom -o moving.h5 --traj golden --matrix 32 --coils 3 --readouts 60 --snr 30 -q
set -- send moving.h5 "$address" -o live.h5 --set images=readouts --set window=5 --set first=30 --show -q --force
expect 0 "$@"
[ "$(grep -c '^image [1-7]: 32 x 32, largest magnitude [0-9.]*$' out)" -eq 7 ] || fail "$last: 7 images: $(cat out)"
if ! without_terminal; then
    "$TERMINAL" 80 "$LARMOR" "$@" >out || fail "$last: in a terminal"
    again=$(tr -cd '\033A\n' <out | grep -c 'A' || true)
    [ "$again" -eq 6 ] || fail "$last: $again images in the place of the one before, 6 expected"
fi

# Whole numbers with their scale, as by default for a scanner.
expect 0 send scan.h5 "$address" -o numbers.h5 --set pixels=int16 --set method=grid -q
expect 0 info numbers.h5
printed '^magnitudes: [0-9]+ to 4095$'

# What a client may not set, and what it sets wrongly: an error that names it; no image; the server goes on.
expect 1 send scan.h5 "$address" -o x.npy --set method=best
said_like '^larmor: server: parameter method "best": auto, '
expect 1 send scan.h5 "$address" -o x.npy --set maps=/etc/passwd
said_like '^larmor: server: parameter maps: files are for whoever starts the server \(--set\)\.$'
for option in constraint=support:maps.npy constraint=nonnegative,support:maps.npy prior=/x/plugin.so; do
    expect 1 send scan.h5 "$address" -o x.npy --set $option
    said_like "^larmor: server: parameter ${option%%=*}: files are for whoever starts the server \(--set\)\.\$"
done
"$LARMOR" recon --help all | sed -nE 's/^ +(-., )?--([a-z0-9-]+) (FILE|PLUGIN|DIR|SOCKET).*/\2/p' | grep -vx config >files
[ "$(wc -l <files)" -gt 30 ] || fail "options that name files: $(cat files)"
while read -r option; do # all but config, whose name is the scanner's for its own settings
    expect 1 send scan.h5 "$address" -o x.npy --set "$option=./plugin.so" </dev/null
    said_like "^larmor: server: parameter $option: (files are|is) for whoever starts the server"
done <files
expect 1 send scan.h5 "$address" -o x.npy --set output=/tmp/x.npy
said_like '^larmor: server: parameter output: is for whoever starts the server\.$'
expect 1 send scan.h5 "$address" -o x.npy --set method=grid --set lambda=0.1
said_like '^larmor: server: parameters: --lambda: has no effect with --method grid'
expect 0 send scan.h5 "$address" -o got.npy --set method=grid --set nothing=1 -q --force
grep -q '^warning: parameter nothing is not known; it has no effect\.$' err || fail "$last: a warning expected"
[ ! -e x.npy ] || fail "$last: wrote a file"

# A client that is killed in the middle harms no other one.
number=$(($(grep -c '^session [0-9]*: begins$' log) + 1))
"$LARMOR" send scan.h5 "$address" -o killed.npy --set method=cg --set lambda=1e-9 --set tol=0 --set iters=1000000000 \
    --set precond=none >/dev/null 2>&1 &
killed=$!
solves() { grep -q "^session $number: memory: " log; }
until_true "the solver of the session whose client is killed" solves
kill -s KILL $killed
wait $killed 2>/dev/null || true
gone() { grep -q "^session $number: failed: session $number: the " log; }
until_true "the end of the session whose client was killed" gone
expect 0 send scan.h5 "$address" -o one.npy -q --force
cmp one.npy image.npy || fail "$last: the image after a client was killed"
ended 143 TERM

# A Unix socket, with what the server sets for all: another default, and maps from a file.
expect 0 recon scan.h5 -o image2.npy --save-maps maps.cfl --method grid --slice 0 -q
expect 0 recon scan.h5 -o image2.npy --maps maps.cfl --method grid --slice 0 -q --force
serve --unix ./socket --set maps=maps.cfl --set method=grid --set slice=0 --sessions 1
[ "$address" = ./socket ] || fail "$last: got $address"
expect 0 send scan.h5 ./socket -o one.npy -q --force
cmp one.npy image2.npy || fail "$last: the image by what the server sets"
ended 130 INT
[ ! -e socket ] || fail "$last: the socket is removed"

# Pipes.
python3 "$relay" "$LARMOR" serve --pipe --set method=grid >port 2>log &
server=$!
until_true "the port of the relay" test -s port
expect 0 send scan.h5 127.0.0.1:"$(cat port)" -o one.npy -q --force
wait $server || fail "$last: serve --pipe: $(cat log)"
expect 0 recon scan.h5 -o image3.npy --method grid -q
cmp one.npy image3.npy || fail "$last: the image by pipes"

# What is wrong is said before anybody connects.
expect 2 serve --port 0 --set method=best
said_like '^larmor: parameter method "best": auto, '
expect 2 serve --port 0 --set method
said_like '^larmor: --set "method": NAME=VALUE expected\.$'
expect 2 serve --unix socket
said_like '^larmor: --unix socket: a path with a'
expect 2 serve --unix ./socket --pipe
said_like '^larmor: --pipe and --unix exclude each other'
expect 3 serve --port 0 --address 192.0.2.1
said_like '^larmor: 192\.0\.2\.1:0: cannot listen there'
expect 1 send scan.h5 ./nobody -o x.npy
said_like '^larmor: \./nobody: cannot be connected to'
expect 2 send scan.h5 nowhere -o x.npy
said_like '^larmor: address "nowhere": HOST:PORT'
expect 3 send nothing.h5 127.0.0.1:1 -o x.npy
said_like '^larmor: nothing\.h5: '

# The page.
mkdir bin page
ln -s "$LARMOR" bin/larmor
PATH=$folder/bin:$PATH
awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' "$page" >commands
[ "$(grep -c '^larmor ' commands)" -ge 5 ] || fail "docs/serve.md has no commands"
last="docs/serve.md"
(cd page && sh -eux ../commands) >out 2>err || fail "the commands of docs/serve.md"
grep -q '^nrmse 0' out || fail "docs/serve.md: the images are the same"
[ "$(wc -w <"$page")" -le 800 ] || fail "docs/serve.md: more than 800 words"
