#!/bin/sh
# Julia 1.5.3 of Debian 11 for the tests of julia/, unpacked into a folder beside this system's libraries: Debian 12 and 13 have
# none, and PyPI's installers fetch it from elsewhere. The system's packages stay as they are.
# Usage: scripts/julia.sh FOLDER, which makes FOLDER/julia. Needs Debian's apt, no root. SPDX-License-Identifier: Apache-2.0
set -eu
[ $# = 1 ] || { echo "usage: scripts/julia.sh FOLDER" >&2; exit 2; }
[ ! -x "$1/julia" ] || exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "julia.sh: no apt here." >&2
    exit 1
fi
mkdir -p "$1/apt/lists/partial" "$1/apt/archives/partial"
folder=$(cd "$1" && pwd)
echo "deb ${DEBIAN_MIRROR:-http://deb.debian.org/debian} bullseye main" >"$folder/apt/sources"

old_apt() {
    apt-get -q -o Dir::Etc::sourcelist="$folder/apt/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/apt/lists" \
        -o Dir::Cache="$folder/apt" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@"
}
old_apt update
# What this system lacks; and libunwind, as Julia walks its stacks by the inside of that version.
old_apt install -y --no-install-recommends --download-only --allow-downgrades julia libunwind8/bullseye
for package in "$folder"/apt/archives/*.deb; do dpkg -x "$package" "$folder/root"; done
rm -rf "$folder/apt"

libraries=$folder/root/usr/lib/x86_64-linux-gnu
find "$libraries" -xtype l | while read -r link; do
    ln -sfn "/usr/lib/x86_64-linux-gnu/$(basename "$(readlink "$link")")" "$link"
done
cat >"$folder/julia.new" <<END
#!/bin/sh
LD_LIBRARY_PATH=$libraries:$libraries/julia\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec $folder/root/usr/bin/julia "\$@"
END
chmod +x "$folder/julia.new"
"$folder/julia.new" --startup-file=no -e 'using Libdl, Test; println("Julia ", VERSION)'
mv "$folder/julia.new" "$folder/julia"
