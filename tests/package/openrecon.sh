#!/bin/sh
# The image for scanners: its label is one that OpenRecon takes, its parameters are ones that the server knows, the chroot
# image is sound, and the server within, which sees nothing of this machine but /dev/null and the network, gives the images
# of larmor recon. Usage: tests/package/openrecon.sh SOURCE BUILD; CMAKE is heeded. SPDX-License-Identifier: Apache-2.0
set -eu
source=$1 build=$2
CMAKE=${CMAKE:-cmake}
PATH=$PATH:/usr/sbin:/sbin
unset LD_LIBRARY_PATH LARMOR_READER LARMOR_PLUGIN_DIR || true
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() { echo "openrecon: $*" >&2; exit 1; }
quiet() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$* failed"; }; }
mkdir "$work/try"
unshare -rm true 2>/dev/null || { echo "openrecon: no namespaces here: skipped"; exit 77; }

for component in library program bundle; do
    quiet "$CMAKE" --install "$build" --prefix "$work/bundle" --strip --component $component
done
quiet "$source/scripts/packaging/openrecon.sh" "$work/bundle" "$work/out"
out=$work/out root=$work/out/root
larmor=$work/bundle/bin/larmor
base=$(cd "$out" && echo FIRE_*)
image=$out/$base/Ice/fire/chroot/$base.img

# Rules of recipes/OpenReconSchema_1.1.0.json and of recipes/build.py (neurodesk/openrecon) that a change may break, of the
# label as the container has it.
python3 - "$out" >"$work/set" <<'PY' || fail "the label is not one that OpenRecon takes"
import base64, io, json, pathlib, re, sys, tarfile, zipfile
out = pathlib.Path(sys.argv[1])
archive = zipfile.ZipFile(next(out.glob("OpenRecon_*.zip")))
assert len(archive.namelist()) == 1
image = tarfile.open(fileobj=io.BytesIO(archive.read(archive.namelist()[0])))
manifest = json.load(image.extractfile("manifest.json"))[0]
config = json.load(image.extractfile(manifest["Config"]))
name = "com.siemens-healthineers.magneticresonance.openrecon.metadata:1.1.0"
label = json.loads(base64.b64decode(config["config"]["Labels"][name]))
layer = tarfile.open(fileobj=image.extractfile(manifest["Layers"][0]))
assert config["config"]["Cmd"][0].lstrip("/") in layer.getnames()
assert sorted(label) == ["general", "parameters", "reconstruction"]
assert re.fullmatch(r"\d+\.\d+\.\d+", label["general"]["version"]), label["general"]["version"]
assert len(label["general"]["regulatory_information"]) == 11
assert label["reconstruction"]["transfer_protocol"] == {"protocol": "ISMRMRD", "version": "1.4.1"}
parameters = label["parameters"]
assert 0 < len(parameters) <= 14
assert [p["type"] for p in parameters if p["id"] == "config"] == ["choice"]
for p in parameters:
    assert re.fullmatch("[A-Za-z0-9]+", p["id"]), p
    assert p["label"]["en"] and p["information"]["en"], p
    values = [v["id"] for v in p.get("values", [])]
    assert p["type"] != "choice" or p["default"] in values and len(set(values)) == len(values), p
fire = json.loads(next(out.glob("FIRE_*/Ice/fire/config/*.json")).read_text())["parameters"]
assert fire == {p["id"]: p["default"] for p in parameters}
for p in parameters:
    if p["id"] != "config":
        for value in [v["id"] for v in p["values"]] if "values" in p else [p["default"]]:
            print(p["id"] + "=" + (json.dumps(value) if isinstance(value, bool) else value))
PY
ini=$(echo "$out/$base"/Ice/fire/*.ini)
grep -q "^chroot_image_name=$base.img\$" "$ini" || fail "the .ini names another image"
quiet python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$out/$base"/Ice/*.xml
quiet e2fsck -fn "$image"
debugfs -R 'stat dev/null' "$image" 2>/dev/null | grep -q 'Type: character' || fail "the chroot image has no /dev/null"
debugfs -R 'stat opt/larmor/start' "$image" 2>/dev/null | grep -q 'User: *0' || fail "the chroot image is not root's"

# The server in its root, as the scanner starts it.
: >"$root/dev/null"
unshare -rm sh -c 'mount --bind /dev/null "$1/dev/null" && exec env -i LARMOR_PORT=0 "$2" "$1" \
    /opt/larmor/start /tmp/log' sh "$root" "$(command -v chroot)" &
server=$!
until grep -q '^listening on ' "$root/tmp/log" 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || { cat "$root/tmp/log" >&2; fail "the server does not start"; }
    sleep 0.05
done
port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$root/tmp/log" | head -n 1)
cd "$work"
quiet "$larmor" phantom -o scan.h5 --matrix 48 --coils 4 --readouts 120 --snr 30
quiet "$larmor" recon scan.h5 -o image.h5
# all defaults at once are what recon does without them
defaults=$(sed -n -e '/=auto$/p' -e '/=false$/p' -e '/=rss$/p' -e '/=measurement$/p' set | sed 's/^/--set /')
[ "$(echo "$defaults" | wc -l)" -ge 10 ] || fail "the label's defaults are not those of recon"
# shellcheck disable=SC2086 # options
quiet "$larmor" send scan.h5 "127.0.0.1:$port" -o sent.h5 $defaults
! grep "no option" log || fail "the server does not know a parameter"
quiet "$larmor" compare sent.h5 image.h5 --tol 0
# and every other choice is known
grep -v -e '=auto$' -e '=false$' -e '=rss$' -e '=measurement$' set | while read -r set; do
    "$larmor" send scan.h5 "127.0.0.1:$port" -o sent.h5 -f --set "$set" >log 2>&1 ||
        grep -q 'llr needs several' log || { cat log >&2; fail "$set is refused"; }
    ! grep "no option" log || fail "the server does not know $set"
done
