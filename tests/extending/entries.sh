#!/bin/sh
# Every entry of a table is in the help, in what a shell completes, in the documents, and does what it is there for. ADDED
# lists entries that must be among them. SPDX-License-Identifier: Apache-2.0
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/apps/support.sh"

cat "$root"/README.md "$root"/docs/*.md "$root"/docs/records/*.md "$root"/docs/reference/*.md >texts

# choices COMMAND OPTION: $names are the choices that a shell is offered, which the help and the documents must have, too
choices() {
    expect 0 completion --words "$1" "$2" ''
    mv out offered
    [ -s offered ] || fail "$1 $2: nothing is offered"
    expect 0 "$1" --help
    while read -r name; do
        grep -qwF -e "$name" out || fail "$1 --help does not name $name"
        grep -qF -e "\`$name\`" texts || fail "no document speaks of $name"
    done <offered
    cat offered >>all
    names=$(cat offered)
}

expect 0 phantom -o scan.h5 --matrix 16 --readouts 24 --coils 3 --repetitions 2 --maps maps.cfl --noise 1e-4 -q
choices recon --method
for method in $names; do
    case $method in
    nlinv | clear) maps= ;; # its own, or none
    *) maps="--maps maps.cfl" ;;
    esac
    # shellcheck disable=SC2086 # words are meant
    if "$LARMOR" recon scan.h5 -o "$method.h5" $maps --method "$method" -q --delays off --memory 1G 2>err; then
        expect 0 compare "$method.h5" "$method.h5"
    else
        fail "recon --method $method: $(cat err)"
    fi
done
choices traj --traj
for traj in $names; do
    expect 0 traj -o traj.npy --traj "$traj" --matrix 16 --force -q
    expect 0 phantom -o one.h5 --truth truth.h5 --maps one.cfl --traj "$traj" --matrix 16 --coils 3 --force -q
    reconstruct one.h5 -o one-image.h5 --maps one.cfl --force -q
    expect 0 compare one-image.h5 truth.h5 --magnitude --tol 0.4
done
expect 0 phantom -o one.h5 --truth truth.h5 --matrix 16 --coils 4 --force -q
choices maps --method
choices recon --maps
for method in $names; do
    reconstruct one.h5 -o one-image.h5 --maps "$method" --force -q
    expect 0 compare one-image.h5 truth.h5 --magnitude --tol 0.4
done
choices phantom --phantom
for phantom in $names; do
    expect 0 phantom -o one.h5 --phantom "$phantom" --matrix 16 --coils 2 --force -q
done
reconstruct one.h5 -o one-image.h5 --maps none --method grid --force -q
choices phantom --units
for unit in $names; do
    expect 0 phantom -o unit.h5 --matrix 16 --coils 2 --phantom disc --units "$unit" --force -q
    reconstruct unit.h5 -o unit-image.h5 --maps none --method grid --traj-units "$unit" --force -q
    expect 0 compare unit-image.h5 one-image.h5 --tol 1e-3
done
choices recon --output
for suffix in $names; do
    case $suffix in
    */ | .dcm | .gif) # by a plugin or a library that is not everywhere
        name=image
        [ "$suffix" = "${suffix%/}" ] || name=folder
        "$LARMOR" recon scan.h5 -o "$name$suffix" --maps maps.cfl --method grid --force -q 2>err ||
            grep -qE 'needs the plugin|was built without' err || fail "$name$suffix: $(cat err)"
        continue
        ;;
    esac
    reconstruct scan.h5 -o "image$suffix" --maps maps.cfl --method grid --force -q
    [ -s "image$suffix" ] || fail "no image$suffix"
    "$LARMOR" info "image$suffix" >out 2>err || # what is written only is not described
        grep -q 'the suffix names no format that can be read' err || fail "info image$suffix: $(cat err)"
done
for name in ${ADDED:-}; do
    grep -qxF -e "$name" all || fail "$name is not offered"
done

# ---- the rest of what a shell is offered ----

expect 0 completion --words re
[ "$(cat out)" = recon ] || fail "re is not completed to recon"
expect 0 completion --words recon --traj-un
[ "$(cat out)" = --traj-units ] || fail "--traj-un is not completed"
expect 0 completion --words recon -m w
[ "$(cat out)" = wavelet ] || fail "-m w is not completed to wavelet"
expect 0 completion --words recon scan.h
[ ! -s out ] || fail "names of files are the shell's"
expect 0 completion
grep -q '^complete .* larmor$' out || fail "bash gets nothing"
if command -v bash >/dev/null; then
    mkdir bin
    ln -s "$LARMOR" bin/larmor
    PATH=$PWD/bin:$PATH bash -c 'source <(larmor completion); COMP_WORDS=(larmor recon --method t); COMP_CWORD=3
        _larmor; echo "${COMPREPLY[*]}"' >out
    [ "$(cat out)" = "tv tgv" ] || fail "bash completes --method t to $(cat out)"
fi
