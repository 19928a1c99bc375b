#!/bin/sh
# The binaries that users get, and the bill of what is bundled with them: no part of memory is writable and executable,
# nothing is bound late, overflows of buffers end the program, libraries are found beside those that need them alone.
# Usage: tests/package/hardening.sh BUILD; CMAKE and LIBDIR are heeded. FORTIFIED=0: without checked copies (sanitizers,
# builds without optimisation). SPDX-License-Identifier: Apache-2.0
set -eu
build=$1
CMAKE=${CMAKE:-cmake} LIBDIR=${LIBDIR:-lib}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0
bad() { echo "hardening: $*" >&2; status=1; }
unset LD_LIBRARY_PATH || true

for component in "" "--component bundle"; do
    # shellcheck disable=SC2086 # nothing, or two words
    "$CMAKE" --install "$build" --prefix "$work/installed" --strip $component >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
done
prefix=$work/elsewhere
mv "$work/installed" "$prefix"
lib=$prefix/$LIBDIR
reader=$prefix/libexec/larmor/larmor-reader
own="$prefix/bin/larmor $prefix/bin/larmor-bench $reader $lib/liblarmor.so $lib/liblarmor_finufft.so $lib/liblarmor_cufinufft.so"
[ ! -e "$lib/larmor/larmor_cuda.so" ] || own="$own $lib/larmor/larmor_cuda.so"

# of any ELF file: its path to libraries
run_path() { readelf -dW "$1" | sed -n 's/.*(RUNPATH).*\[\(.*\)\]$/\1/p'; }
old_path() { readelf -dW "$1" | grep '(RPATH)' || true; }
executable_stack() { readelf -lW "$1" | awk '$1 == "GNU_STACK" && $7 ~ /E/'; }

for file in $own; do
    name=${file##*/}
    [ "$(readelf -hW "$file" | awk '$1 == "Type:" {print $2}')" = DYN ] || bad "$name: is at a fixed address"
    readelf -lW "$file" | grep -q ' GNU_RELRO ' || bad "$name: no RELRO"
    readelf -dW "$file" | grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' || bad "$name: is bound late"
    ! readelf -dW "$file" | grep -q TEXTREL || bad "$name: relocations in code"
    readelf -lW "$file" | grep -q ' GNU_STACK ' || bad "$name: says nothing of its stack"
    [ -z "$(executable_stack "$file")" ] || bad "$name: an executable stack"
    ! readelf -lW "$file" | grep -q '^ *LOAD .* RWE ' || bad "$name: memory that is writable and executable"
    [ -z "$(old_path "$file")" ] || bad "$name: RPATH"
    [ -n "$(run_path "$file")" ] || bad "$name: no RUNPATH"
    readelf -W --dyn-syms "$file" | grep -q '__stack_chk_fail' || bad "$name: no stack protector"
    [ "$name" != larmor_cuda.so ] || continue # looks into CUDA's folders, and copies little on the processor
    ! run_path "$file" | tr : '\n' | grep -v '^\$ORIGIN' || bad "$name: looks outside of the installation"
    [ "${FORTIFIED:-1}" = 0 ] || readelf -W --dyn-syms "$file" | grep -qE '__(mem|str|v?s?n?printf|v?fprintf)[a-z]*_chk' ||
        bad "$name: no checked copies"
done
for file in "$prefix/bin/larmor" "$prefix/bin/larmor-bench" "$reader"; do
    readelf -dW "$file" | grep -q 'FLAGS_1.*PIE' || bad "${file##*/}: no PIE"
done

# Control flow: each public function begins with the mark that indirect calls may reach it.
case $(uname -m) in
x86_64)
    functions=$(nm -D --defined-only "$lib/liblarmor.so" | awk '$2 == "T" {print $3}')
    marked=$(objdump -d --no-show-raw-insn "$lib/liblarmor.so" |
        awk '/^[0-9a-f]+ <larmor_/ { name = $2; getline; if (/endbr64/) n++ } END { print n + 0 }')
    [ "$marked" -ge "$(echo "$functions" | wc -l)" ] ||
        bad "$marked of $(echo "$functions" | wc -l) public functions begin with endbr64"
    ;;
esac

# What is bundled: found beside itself alone, and listed with its sum.
for file in "$lib"/*.so*; do
    { [ ! -L "$file" ] && [ "${file##*/liblarmor.so}" = "$file" ]; } || continue
    [ "$(run_path "$file")" = '$ORIGIN' ] || bad "${file##*/}: RUNPATH is \"$(run_path "$file")\""
    [ -z "$(old_path "$file")" ] || bad "${file##*/}: RPATH"
    [ -z "$(executable_stack "$file")" ] || bad "${file##*/}: an executable stack"
    for needed in $(ldd "$file" | awk '$2 == "=>" {print $3}'); do
        case $needed in
        "$lib"/* | */lib?.so.6 | */libc.so.* | */libm.so.* | */libmvec.so.* | */libdl.so.* | */libpthread.so.* | \
            */librt.so.* | */libresolv.so.* | */libgcc_s.so.* | */libstdc++.so.* | */libutil.so.* | */libanl.so.*) ;;
        *) bad "${file##*/} takes $needed" ;;
        esac
    done
done
# HDF5 and expat are larmor-reader's alone.
readelf -d "$prefix"/lib*/liblarmor.so "$prefix"/bin/larmor | grep NEEDED | grep -E 'hdf5|expat' && bad "liblarmor or larmor takes a parser"
nm -D --undefined-only "$prefix"/lib*/liblarmor.so | grep -E ' (H5[A-Z]|XML_)' && bad "liblarmor calls a parser"
"$prefix/bin/larmor" version >/dev/null || bad "larmor does not run"
python3 - "$prefix" <<'P' || status=1
import glob, hashlib, json, os, sys
prefix = sys.argv[1]
[path] = glob.glob(prefix + '/share/doc/*/sbom.cdx.json')
bill = json.load(open(path))
assert (bill['bomFormat'], bill['specVersion']) == ('CycloneDX', '1.5'), 'format'
assert bill['metadata']['component']['name'] == 'larmor', 'metadata'
listed = {}
linked = []
for c in bill['components']:
    [(name, p)] = [(p['name'], p['value']) for p in c['properties']]
    if name == 'larmor:file':
        listed[p] = c['hashes'][0]['content']
    else:
        assert (name, p) == ('larmor:linked-into', 'libexec/larmor/larmor-reader'), c
        linked.append(c['name'])
    assert c['name'] and c['version'] and c['type'] in ('library', 'application'), c
files = [f for d in ('bin', 'lib*', 'lib*/larmor', 'libexec/larmor') for f in glob.glob(f'{prefix}/{d}/*')]
there = {os.path.relpath(f, prefix): hashlib.sha256(open(f, 'rb').read()).hexdigest()
         for f in files if os.path.isfile(f) and not os.path.islink(f)}
assert len(there) > 2
# what is in larmor-reader itself is listed, too
reader = open(prefix + '/libexec/larmor/larmor-reader', 'rb').read()
for mark, name in ((b'H5Fopen', 'hdf5'), (b'unclosed CDATA section', 'expat')):
    if mark in reader and not any(name in n for n in linked) and not any(name in os.path.basename(f) for f in there):
        sys.exit(f'the bill of materials lacks {name}, which is in larmor-reader')
if there != listed:
    print('the bill of materials is wrong of', sorted(set(there.items()) ^ set(listed.items())))
    sys.exit(1)
# and each package of the bill has its statement of copyright
packages = {c['name'] for c in bill['components'] if 'purl' in c}
licences = set(os.listdir(os.path.dirname(path) + '/licences'))
assert packages and packages <= licences, f'no statement of copyright of {sorted(packages - licences)}'
print(f'{len(listed)} files listed, {sum("purl" in c for c in bill["components"])} of them with their package')
P
[ $status -ne 0 ] || echo "hardening: as it should be"
exit $status
