#!/bin/sh
# larmor for the scanner: an OpenRecon container and a FIRE chroot image, by this machine's files alone, without a network
# and without a container engine (docs/reference/scanner.md). Usage: scripts/packaging/openrecon.sh BUNDLE OUT
# BUNDLE: what scripts/packaging/packages.sh bundle makes, unpacked or not; OUT: a folder, which is made.
# SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -eq 2 ] && [ -e "$1" ] || { echo "usage: scripts/packaging/openrecon.sh BUNDLE OUT" >&2; exit 2; }
bundle=$1 out=$2
[ "$(uname -m)" = x86_64 ] || { echo "openrecon.sh: a scanner's computer is x86_64." >&2; exit 1; }
mkdir -p "$out"
root=$out/root
[ ! -e "$root" ] || { echo "openrecon.sh: $root exists." >&2; exit 1; }
mkdir -p "$root/opt/larmor" "$root/bin" "$root/etc" "$root/tmp/share" "$root/dev" "$root/proc" "$root/sys" "$root/lib64"
chmod 1777 "$root/tmp"
if [ -d "$bundle" ]; then
    cp -a "$bundle/." "$root/opt/larmor/"
else
    tar -xf "$bundle" -C "$root/opt/larmor" --strip-components=1
fi
rm -rf "$root/opt/larmor/include" "$root/opt/larmor/share/man" "$root"/opt/larmor/lib/cmake "$root"/opt/larmor/lib/pkgconfig \
    "$root"/opt/larmor/lib/larmor
cp "$here/packaging/openrecon/start" "$root/opt/larmor/start"
cp -L /bin/sh "$root/bin/sh"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo '127.0.0.1 localhost' >"$root/etc/hosts"

# What the bundle takes from the machine: the C library and its like, and the loader where programs look for it.
for file in "$root/bin/sh" "$root/opt/larmor/bin/larmor" "$root"/opt/larmor/libexec/larmor/larmor-reader "$root"/opt/larmor/lib/*.so*; do
    ldd "$file" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/lib64\/ld[^ ]*\) .*/\1/p'
done | sort -u | while read -r library; do
    case $library in "$root"/*) continue ;; esac
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done

version=$("$root/opt/larmor/bin/larmor" version | sed -n '1s/^larmor \([0-9.]*\).*/\1/p')
[ -n "$version" ] || { echo "openrecon.sh: the program of $bundle does not say its version." >&2; exit 1; }
"${PYTHON:-python3}" "$here/packaging/openrecon/pack.py" "$root" "$version" "$(date -u +%Y/%m/%d)" "$out"
image=$out/FIRE_larmor_larmor_V$version/Ice/fire/chroot/FIRE_larmor_larmor_V$version.img
size=$(($(du -sk "$root" | cut -f1) * 5 / 4 + 65536))
as_root=$([ "$(id -u)" = 0 ] || echo unshare -r) # so that the files are root's
$as_root mke2fs -q -F -t ext3 -d "$root" "$image" "${size}k"
# Only root makes device files in a folder, anybody in an image of his own.
for device in "null 3" "zero 5" "urandom 9"; do
    printf 'cd dev\nmknod %s c 1 %s\nset_inode_field %s mode 020666\n' "${device% *}" "${device#* }" "${device% *}"
done | debugfs -w -f - "$image" >"$out/debugfs.log" 2>&1
rm "$out/debugfs.log"
ls -l "$out" "$image"
