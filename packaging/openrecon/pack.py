"""The root folder of larmor as OpenRecon and FIRE take it. Usage: pack.py ROOT VERSION DATE OUT

OUT gets OpenRecon_larmor_larmor_VVERSION.zip, an image as `docker save` writes it, with the label of schema 1.1.0,
and FIRE_larmor_larmor_VVERSION/, a folder to be copied to the scanner, without its .img. Layouts:
neurodesk/openrecon, README and recipes/build.py; moby, image/spec/v1.2.md. SPDX-License-Identifier: Apache-2.0
"""

import base64
import hashlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
LABEL = "com.siemens-healthineers.magneticresonance.openrecon.metadata:1.1.0"
NAME = "wip_070_fire_larmor"


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return the member as root's, of one time, so that the same files give the same image."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = "root"
    return member


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file of these bytes."""
    member = without_owner(tarfile.TarInfo(name))
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def image_of(root: Path, label: dict, date: str, tag: str) -> bytes:
    """Return the image as `docker save` has it: one layer, a configuration, a manifest."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.iterdir()):
            archive.add(path, path.name, filter=without_owner)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    text = base64.b64encode(json.dumps(label).encode()).decode()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "created": f"{date.replace('/', '-')}T00:00:00Z",
            "config": {
                "Cmd": ["/opt/larmor/start"],
                "ExposedPorts": {"9002/tcp": {}},
                "Labels": {LABEL: text},
                "User": "root",
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created_by": "scripts/packaging/openrecon.sh"}],
        }
    ).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = [{"Config": name, "RepoTags": [tag], "Layers": [f"{digest}/layer.tar"]}]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        add(archive, f"{digest}/layer.tar", layer.getvalue())
        add(archive, name, config)
        add(archive, "manifest.json", json.dumps(manifest).encode())
    return out.getvalue()


def main() -> None:
    """Write both."""
    root, version, date, out = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    text = (HERE / "OpenReconLabel.json").read_text(encoding="utf-8")
    label = json.loads(text.replace("@VERSION@", version).replace("@DATE@", date))
    base = f"larmor_larmor_V{version}"
    image = image_of(root, label, date, f"openrecon_larmor_larmor:v{version}")
    with zipfile.ZipFile(out / f"OpenRecon_{base}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"OpenRecon_{base}.tar", image)

    ice = out / f"FIRE_{base}" / "Ice"
    for folder in ("chroot", "config", "share/log"):
        (ice / "fire" / folder).mkdir(parents=True, exist_ok=True)
    ini = (HERE / "fire.ini").read_text(encoding="utf-8").replace("@IMAGE@", f"FIRE_{base}.img")
    (ice / "fire" / f"{NAME}.ini").write_text(ini, encoding="utf-8")
    (ice / f"{NAME}.xml").write_text((HERE / "fire.xml").read_text(encoding="utf-8").replace("@NAME@", NAME))
    defaults = {p["id"]: p["default"] for p in label["parameters"]}
    config = json.dumps({"version": "1.1.0", "parameters": defaults}, indent=2)
    (ice / "fire" / "config" / f"{NAME}.json").write_text(config + "\n", encoding="utf-8")
    (out / "OpenReconLabel.json").write_text(json.dumps(label, indent=2) + "\n", encoding="utf-8")


main()
