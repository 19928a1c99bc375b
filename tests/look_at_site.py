"""Looks at every page of the site in Chromium, in windows of two widths, and searches it.

A fault is a line: a page that scrolls sideways, an element that is wider than the window, an image that does not load, code
that scrolls, a table that scrolls in the wider window, or a term whose page is not among the first results.
Usage: tests/look_at_site.py SITE [TERM=PAGE...]    (scripts/docs.sh does it where there is Chromium)
SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any

WIDTHS = (1280, 400)  # of windows, in pixels
FIRST = 5  # among so many results the page has to be
LIMIT_S = 300  # after which Chromium hangs

# Frames show page after page, in each of the widths; what they find is sent back when all are through.
LOOK = """<!doctype html><meta charset="utf-8"><body><script>
const asked = ASKED, faults = [], FRAMES = 3;
const scrolls = (e, view) => {
  for (let up = e.parentElement; up && up.tagName != "BODY"; up = up.parentElement)
    if (/auto|scroll|hidden/.test(view.getComputedStyle(up).overflowX)) return true;
  return false;
};
const called = e => e.tagName.toLowerCase() + (e.className ? "." + String(e.className).split(" ").join(".") : "") + ' "' +
  e.textContent.trim().slice(0, 40).replace(/\\s+/g, " ") + '"';
async function look(page, width, frame) {
  const view = frame.contentWindow, all = view.document;
  const report = text => faults.push(`${page} at ${width}: ${text}`);
  for (const image of all.images) {
    image.loading = "eager";
    await image.decode().catch(() => {});
    if (!image.naturalWidth) report(`image ${image.getAttribute("src")} does not load`);
  }
  const main = all.scrollingElement;
  const slack = width - main.clientWidth;
  if (main.scrollWidth > main.clientWidth + 1) report(`the page scrolls sideways, it is ${main.scrollWidth} wide`);
  for (const e of all.body.querySelectorAll("*"))
    if (e.getBoundingClientRect().width > width - slack + 1 && !scrolls(e, view)) report(`wider than the window: ${called(e)}`);
  for (const e of all.querySelectorAll("pre"))
    if (e.scrollWidth > e.clientWidth + 1) report(`code is cut: ${called(e)}`);
  if (width == asked.widths[0])
    for (const e of all.querySelectorAll(".table-wrapper"))
      if (e.scrollWidth > e.clientWidth + 1) report(`a table is cut: ${called(e)}`);
}
function opened(frame, url) {
  return new Promise(done => { frame.onload = done; frame.src = url; });
}
async function all(pages) {
  const frame = document.createElement("iframe");
  frame.style = "height: 1000px; border: 0; position: absolute";
  document.body.append(frame);
  for (let page; (page = pages.shift()); ) {
    await opened(frame, "/" + page);
    for (const width of asked.widths) {
      frame.style.width = `${width}px`;
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      await look(page, width, frame);
    }
  }
  frame.remove();
}
async function search(term, page) {
  const frame = document.createElement("iframe");
  document.body.append(frame);
  await opened(frame, "/search.html?q=" + encodeURIComponent(term));
  const inside = frame.contentDocument;
  const finished = () => /found|did not match/.test(inside.querySelector("#search-results > p, .search-summary")?.textContent);
  while (!finished()) await new Promise(done => setTimeout(done, 20));
  const links = [...inside.querySelectorAll("#search-results ul.search > li > a")].map(a => a.getAttribute("href"));
  const first = [...new Set(links.map(link => link.replace(/[?#].*/, "")))].slice(0, asked.first);
  if (!first.includes(page)) faults.push(`search for "${term}": ${page} is not among ${first.join(", ") || "no results"}`);
  frame.remove();
}
async function everything() {
  for (const [term, page] of asked.terms) await search(term, page);
  const pages = [...asked.pages];
  await Promise.all(Array.from({length: FRAMES}, () => all(pages)));
}
everything().catch(e => faults.push(String(e))).then(() =>
  fetch("/found", {method: "POST", body: JSON.stringify(faults)}));
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, the page that looks at it, and takes what that found."""

    asked: dict[str, Any] = {}
    found: list[str] | None = None
    done = threading.Event()

    def do_GET(self) -> None:
        if self.path != "/look":
            super().do_GET()
            return
        body = LOOK.replace("ASKED", json.dumps(self.asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        type(self).found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.done.set()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *_words: Any) -> None:
        """Nothing: what is wrong is in the faults."""


def look(site: pathlib.Path, terms: dict[str, str], chromium: str) -> tuple[list[str], int]:
    """The faults of a site, and how many pages it has."""
    pages = sorted(str(path.relative_to(site)) for path in site.glob("**/*.html"))
    Handler.asked = {"pages": pages, "widths": WIDTHS, "terms": sorted(terms.items()), "first": FIRST}
    Handler.done.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    server.handle_error = lambda *_who: None  # type: ignore[method-assign]  # a frame that went on to its next page
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                    f"--user-data-dir={home}", "--remote-debugging-port=0", "--window-size=1400,1100",
                                    f"http://127.0.0.1:{server.server_port}/look"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        came = Handler.done.wait(LIMIT_S)
        browser.terminate()
        browser.wait()
    server.shutdown()
    if not came:
        return [f"{site}: Chromium did not look at all pages within {LIMIT_S} s"], len(pages)
    return Handler.found or [], len(pages)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not chromium:
        print("look_at_site.py: no chromium here: the site was not looked at")
        return
    terms = dict(word.rsplit("=", 1) for word in sys.argv[2:])
    faults, pages = look(pathlib.Path(sys.argv[1]), terms, chromium)
    print("\n".join(sorted(set(faults))) or
          f"site: {pages} pages at {WIDTHS[0]} and {WIDTHS[1]} px, {len(terms)} searches, nothing cut")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
