"""The settings for Sphinx, which scripts/docs.sh calls. Nothing is fetched from the net to build or read the site.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import pathlib
import re
import sys

from bs4 import BeautifulSoup
from sphinx.environment.adapters.toctree import TocTree

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

from plain import to_rst  # noqa: E402

project = "larmor"
author = "the authors of larmor"
release = re.search(r'LARMOR_VERSION "(.*)"', (ROOT / "include/larmor/larmor.h").read_text())[1]  # type: ignore[index]
version = release
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["files/**", "**/*.md5", "**/sg_execution_times.rst"]
highlight_language = "none"
default_role = "literal"  # `code` in the notebooks
smartquotes = False
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_title = f"larmor {release}"
html_static_path = [str(SITE / "site.css")]
html_css_files = ["site.css"]
html_search_scorer = str(SITE / "scorer.js")
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

autodoc_mock_imports = [name for name in ("torch", "deepinv", "jax", "mrinufft", "sigpy", "pylops", "cupy")
                        if not importlib.util.find_spec(name)]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": False}
autodoc_type_aliases = {"Array": "Array"}

# The pages of python/examples are run; those that need PyTorch, where it is.
_torch = importlib.util.find_spec("torch") is not None
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "docs" / "course"), str(ROOT / "python" / "examples")],
    "gallery_dirs": ["course", "notebooks"],
    "filename_pattern": r"/(plot_|torch_|unrolled)" if _torch else r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
}
if sys.version_info:  # newer releases want the class's full name
    from sphinx_gallery.sorting import FileNameSortKey

    sphinx_gallery_conf["within_subsection_order"] = FileNameSortKey


def plain_docstrings(_app, _what, _name, _object, _options, lines):  # type: ignore[no-untyped-def]
    """Docstrings are plain text, as the comments of the headers."""
    text = re.sub(r"\s*SPDX-License-Identifier: \S+", "", "\n".join(lines))
    lines[:] = to_rst(text.split("\n"))


def without_licence(_app, name, source):  # type: ignore[no-untyped-def]
    """The notebooks' first lines, without the line for machines."""
    if name.startswith(("course/", "notebooks/")):
        source[0] = re.sub(r"\s*SPDX-License-Identifier: \S+", "", source[0])


def pairs(_app, doctree, name):  # type: ignore[no-untyped-def]
    """Two blocks of code with nothing between them, another program's and larmor's, stand side by side."""
    from docutils import nodes

    if not name.startswith("from_"):
        return
    for block in list(doctree.findall(nodes.literal_block)):
        after = block.next_node(siblings=True, descend=False)
        if not isinstance(after, nodes.literal_block) or block.get("language") not in ("sh", "python", "c"):
            continue
        if "larmors" in block["classes"] or after.get("language") not in ("sh", "python", "c"):
            continue
        after["classes"].append("larmors")
        beside = nodes.container(classes=["beside"])
        block.replace_self(beside)
        after.parent.remove(after)
        beside += [block, after]


@functools.cache
def whole_tree(builder):  # type: ignore[no-untyped-def]
    """The tree of all pages as the first page shows it."""
    tree = TocTree(builder.env).get_toctree_for(builder.config.root_doc, builder, collapse=False, titles_only=True,
                                                maxdepth=-1, includehidden=True)
    return BeautifulSoup(builder.render_partial(tree)["fragment"], "html.parser")


def one_tree(app, name, _template, context, _doctree):  # type: ignore[no-untyped-def]
    """The sidebar's tree is resolved once for all pages: for each it took half of the time of the site."""
    def of_this_page(**_how: object) -> str:
        tree = copy.copy(whole_tree(app.builder))
        up = "../" * name.count("/")
        for link in tree.find_all("a"):
            here = link["href"] == app.builder.get_target_uri(name)
            if "://" not in link["href"]:
                link["href"] = "#" if here else up + link["href"]
            for element in (link, *link.find_parents(["li", "ul"])) if here else ():
                element["class"] = [*element.get("class", []), "current"]
        return str(tree)
    context["toctree"] = of_this_page


def setup(app):  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-docstring", plain_docstrings)
    app.connect("source-read", without_licence)
    app.connect("doctree-resolved", pairs)
    app.connect("html-page-context", one_tree, priority=400)  # before the theme's own
