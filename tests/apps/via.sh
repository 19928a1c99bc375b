#!/bin/sh
# serve --commands and recon --via: a process that waits computes a command as if it had been called; signals, exit
# codes and outputs are those of the command. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

keep() {
    rm -f line
    "$LARMOR" serve --commands "$folder/sock" --device cpu:1 "$@" >line 2>log &
    server=$!
    awaited=$server
    until_true "the line that says where it listens" test -s line
    [ "$(cat line)" = "listening on $folder/sock" ] || fail "serve --commands: says $(cat line)"
}
# The processes that the server has begun.
begun() {
    for stat in /proc/[0-9]*/stat; do
        [ "$(sed -n 's/^[0-9]* (.*) . \([0-9]*\) .*/\1/p' "$stat" 2>/dev/null)" != "$server" ] || echo "${stat%/stat}" | tr -dc 0-9
        echo
    done
}

expect 0 phantom -o scan.h5 --matrix 24 --coils 3 --readouts 30 --snr 30 -q
expect 0 phantom -o long.h5 --traj golden --matrix 128 --readouts 20 --coils 4 --maps maps.cfl -q
expect 0 recon scan.h5 -o image.npy
same_log() {
    sed 's/via.npy/image.npy/; s/done in .*/done/; s/, [0-9.]* s$//; s/of [0-9.]* [MGT]*B free/of what is free/' err
}
same_log >own

# Where nobody waits that is said, and where another one listens.
expect 3 recon scan.h5 -o none.npy --via ./sock
said "larmor: ./sock: no process waits there (No such file or directory); start one: larmor serve --commands ./sock"
keep --ready 2
last="a second serve --commands"
expect 3 serve --commands "$folder/sock" --device cpu:1
said "larmor: $folder/sock: another process listens there; give another path."
expect 2 recon scan.h5 -o none.npy --via sock
said 'larmor: --via "sock": the path of a socket, that begins with /, ./ or ../, expected.'
echo precious >file
expect 3 serve --commands ./file --device cpu:1
said "larmor: ./file: is there already, and is no socket; give another path."
[ "$(cat file)" = precious ] || fail "serve --commands: a file is gone"
code=0
(exec 3<file; LISTEN_FDS=1 exec sh -c 'LISTEN_PID=$$ exec "$0" serve --commands ./sock3' "$LARMOR") >out 2>err || code=$?
[ $code -eq 3 ] || fail "a descriptor that is no socket: exit code $code"
said "larmor: LISTEN_FDS is set, but descriptor 3 is not one Unix socket that listens."
expect 2 serve --commands ./sock2 --pipe
said "larmor: --commands waits for whole commands: --pipe, --unix and --set are not for it."
case $(ls -l sock) in srwx------*) ;; *) fail "the socket is for this user alone: $(ls -l sock)" ;; esac

# The image, the log, the report, the folder and the variables are those of the command.
expect 0 recon scan.h5 -o via.npy --via ./sock
cmp via.npy image.npy || fail "$last: the image is that of recon"
same_log | cmp - own || fail "$last: the log is that of recon"
mkdir other
(cd other && umask 077 && LARMOR_DEVICE=nothing "$LARMOR" recon ../scan.h5 -o x.npy -q --via ../sock 2>err) && fail "LARMOR_DEVICE is not passed on"
grep -q 'nothing' other/err || fail "LARMOR_DEVICE: $(cat other/err)"
(cd other && umask 077 && "$LARMOR" recon ../scan.h5 -o x.npy -q --via=../sock) || fail "in another folder: $(cat other/err)"
cmp other/x.npy image.npy || fail "$last: in another folder"
case $(ls -l other/x.npy) in -rw-------*) ;; *) fail "the mask of permissions is passed on: $(ls -l other/x.npy)" ;; esac
"$LARMOR" recon scan.h5 -o json.npy -q --json --via ./sock | cat >report || fail "--json by way of a pipe"
grep -q '"command": "larmor recon scan.h5 -o json.npy -q --json"' report || grep -q '"input": "scan.h5"' report ||
    fail "--json: $(cat report)"

# Exit codes and refusals.
expect 5 recon scan.h5 -o via.npy --via ./sock
expect 3 recon nowhere.h5 -o new.npy --via ./sock
said "larmor: nowhere.h5: no such file."
expect 2 recon scan.h5 -o new.npy --lambda none --via ./sock
[ ! -e new.npy ] || fail "a refused command has written"

# Several at once, more than wait.
pids=
for i in 1 2 3 4 5; do
    "$LARMOR" recon scan.h5 -o "at$i.npy" -q --via ./sock 2>"err$i" &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "one of five at once: $(cat err[1-5])"; done
for i in 1 2 3 4 5; do cmp "at$i.npy" image.npy || fail "image $i of five at once"; done

# A signal reaches the process that computes; who is killed is not waited for.
begin() {
    : >long
    env --default-signal=INT "$LARMOR" recon long.h5 -o long.npy -f --maps maps.cfl --iters 1000000 --lambda 0 --tol 0 --via ./sock >out 2>long &
    client=$!
    awaited=$client
    until_true "a line of progress" grep -qs "/1000000" long
    awaited=$server
}
begin
kill -s TERM $client
code=0
wait $client || code=$?
[ $code -eq 143 ] || fail "SIGTERM: exit code $code"
[ ! -e long.npy ] || fail "SIGTERM: an output was written"
begin
kill -s INT $client
code=0
wait $client || code=$?
[ $code -eq 130 ] || fail "Ctrl-C: exit code $code: $(cat long)"
[ -e long.npy ] || fail "Ctrl-C: the iterate is not written"
begin
computing=
for pid in $(begun); do
    [ "$(readlink "/proc/$pid/fd/2")" != "$folder/long" ] || computing=$pid
done
[ -n "$computing" ] || fail "no process computes what was asked for"
kill -s KILL $client
wait $client 2>/dev/null || true
until_true "the end of what nobody waits for" is_gone "$computing"

# It ends by a signal, with the processes that wait and the socket; one that was killed leaves a path that is free.
awaited=
kill -s TERM $server
code=0
wait $server || code=$?
[ $code -eq 143 ] || fail "serve --commands: exit code $code after SIGTERM"
[ ! -e sock ] || fail "the socket is left"
keep --ready 1
kept=$(begun)
awaited=
kill -s KILL $server
wait $server 2>/dev/null || true
for pid in $kept; do until_true "the end of those that were kept" is_gone "$pid"; done
[ -S sock ] || fail "killed: the socket is not there"
keep --ready 1
expect 0 recon scan.h5 -o again.npy -q --via ./sock
cmp again.npy image.npy || fail "$last: after a server that was killed"

# A service manager's socket is taken as it is, and stays.
kill -s TERM $server
wait $server 2>/dev/null || true
rm -f line
python3 -c '
import os, socket, sys
at = socket.socket(socket.AF_UNIX)
at.bind("./given")
at.listen()
os.dup2(at.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[1], [sys.argv[1], "serve", "--commands", "./given", "--device", "cpu:1"])' "$LARMOR" >line 2>log &
server=$!
awaited=$server
until_true "the line of a given socket" test -s line
expect 0 recon scan.h5 -o given.npy -q --via ./given
cmp given.npy image.npy || fail "$last: by a given socket"
awaited=
kill -s TERM $server
wait $server 2>/dev/null || true
[ -S given ] || fail "a given socket is not removed"
