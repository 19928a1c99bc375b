"""The pictures of the stories (docs/stories) and of the site's first page: what their commands make, side by side.

Usage: PATH=FOLDER_OF_LARMOR:$PATH PYTHONPATH=... python3 docs/site/montage.py [PAGE...]
draws docs/images/story_PAGE.png and first.png anew, of all pages where none is named.
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
from collections.abc import Sequence

import blocks

DOCS = pathlib.Path(__file__).resolve().parents[1]
HEIGHT_IN = 2.3  # of a picture in the row
WIDTH_IN = 7.2  # of the row, at most


def head(name: str) -> str:
    """The name of the picture at the head of a page of the site, or nothing for pages that have none."""
    path = pathlib.Path(name)
    return f"story_{path.stem}.png" if path.parent.name == "stories" else "first.png" if name == "index.md" else ""


def in_order(text: str, pictures: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """The pictures in the order in which the text names their files."""
    return sorted(pictures, key=lambda path: max(text.find(path.name), text.find(f'"{path.stem}"')))


def draw(pictures: Sequence[pathlib.Path], target: pathlib.Path) -> None:
    """The pictures in a row, as high as one another, each beneath its name."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    shown = [plt.imread(path) for path in pictures]
    widths = [image.shape[1] / image.shape[0] for image in shown]
    height = min(HEIGHT_IN, WIDTH_IN / sum(widths))
    figure, panels = plt.subplots(1, len(shown), figsize=(height * sum(widths), height + 0.25), squeeze=False,
                                  width_ratios=widths, layout="constrained")
    for panel, image, path in zip(panels[0], shown, pictures):
        panel.imshow(image, cmap="gray", interpolation="nearest")
        panel.set_title(path.stem.replace("_", " "), fontsize=9)
        panel.axis("off")
    figure.savefig(target, dpi=110, facecolor="white", metadata={"Software": None})
    plt.close(figure)


def _on_site(path: pathlib.Path) -> str:
    """The name of a page on the site."""
    return str(path.relative_to(DOCS / "site" if path.parent.name == "site" else DOCS))


def main() -> None:
    for path in (DOCS / "site" / "index.md", *sorted((DOCS / "stories").glob("*.md"))):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        text, target = path.read_text(), DOCS / "images" / head(_on_site(path))
        with tempfile.TemporaryDirectory() as folder:
            made = [picture for _, _, pictures in blocks.run(text, pathlib.Path(folder)) for picture in pictures]
            draw(in_order(text, made), target)
        print(f"docs/images/{target.name}: {len(made)} pictures")


if __name__ == "__main__":
    main()
