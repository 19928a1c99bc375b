#!/bin/sh
# Every document has its place in the site's tables of contents, once, and they name nothing that is not there. Every
# function of the headers is called by the Python package, or docs/reference/python.md says what takes its place. The site itself is
# built by scripts/docs.sh. Usage: tests/check_site.sh [ROOT]. SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The entries of the tables: lines in blocks of {toctree} that are neither options nor empty.
awk '/^```\{toctree\}/ { inside = 1; next } /^```/ { inside = 0 } inside && NF && !/^:/' docs/site/index.md |
    sed 's/.*<\(.*\)>/\1/' | sort >"$work/named"
# What there is: the pages of docs and its folders, what docs/site/stage.py takes from the root and makes, and docs/site's own pages.
{
    for page in docs/*.md docs/records/*.md docs/reference/*.md docs/changes/*.md docs/stories/*.md; do page=${page#docs/}; echo "${page%.*}"; done | grep -v '^index$'
    for page in docs/site/*.rst; do basename "${page%.*}"; done
    grep -oE '"[A-Z]+\.md": "[a-z]+\.md"' docs/site/stage.py | sed 's/.*: "\(.*\)\.md"/\1/'
    printf '%s\n' documents examples c/index commands/index course/index notebooks/index
} | sort >"$work/there"

report() { [ -z "$2" ] || { echo "$1:" $2; status=1; }; } # $2 unquoted: names on one line
report "docs/site/index.md: named twice" "$(uniq -d "$work/named")"
report "docs/site/index.md: not in a table of contents" "$(comm -13 "$work/named" "$work/there")"
report "docs/site/index.md: named, but not there" "$(comm -23 "$work/named" "$work/there")"

# docs/index.md, by which the texts are read without the site, lists them as well.
for page in docs/*.md docs/records/*.md docs/reference/*.md; do
    name=${page#docs/}
    [ "$name" = index.md ] || grep -q "($name)" docs/index.md || { echo "docs/index.md: $name is not listed"; status=1; }
done

# A story is a card of the gallery, with its picture, and says what to read next.
for page in docs/stories/*.md; do
    name=$(basename "$page" .md)
    grep -qF "(images/story_$name.png)](stories/$name.md)" docs/gallery.md ||
        { echo "docs/gallery.md: no card for $page"; status=1; }
    grep -q "^!\[.*\](../images/story_$name.png)$" "$page" || { echo "$page: no picture story_$name.png"; status=1; }
    grep -q "^Read next: \[" "$page" || { echo "$page: no line \"Read next: \""; status=1; }
done

PYTHONDONTWRITEBYTECODE=1 python3 docs/site/left_to_c.py >"$work/left" || { cat "$work/left"; status=1; }

[ $status -ne 0 ] || echo "site: $(wc -l <"$work/named") pages, all in a table of contents"
exit $status
