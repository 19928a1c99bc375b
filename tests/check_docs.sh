#!/bin/sh
# The documents name only files that exist, and pages for users are short and have a picture. Usage: tests/check_docs.sh [ROOT]. SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
status=0

# Paths in backticks: what has a slash and no blanks, or a known file name in the root.
for path in $(grep -ohE '`[A-Za-z0-9_.*{},/-]+`' docs/architecture.md docs/reference/architecture.md | tr -d '`' | grep -E '/|^CMake|\.md$' | sort -u); do
    case $path in
    larmor/*) path=include/$path ;; # as it is included
    /* | */larmor/*.so | lib/*) continue ;;
    build/* | demo/*) continue ;; # made, not kept
    esac
    # shellcheck disable=SC2086 # stars in a path are meant
    if ! ls -d $path >/dev/null 2>&1; then
        echo "architecture.md: $path does not exist"
        status=1
    fi
done

# The way of a scan: each function named beside a file is defined there.
awk '/^settings +lmr_/, /^```$/ { for (i = 1; i < NF; i++) if ($i ~ /^lmr_/) print $i, $(i + 1) }
     /^\| question \|/, /^$/ { n = split($0, part, "`"); files = ""
                             for (i = 2; i <= n; i += 2) if (part[i] ~ /\//) files = files " " part[i]
                             for (i = 2; i <= n; i += 2) if (part[i] !~ /\//) print part[i] files }' docs/architecture.md |
    { found=0 bad=0
      while read -r function files; do
          found=$((found + 1))
          # shellcheck disable=SC2086 # several files
          grep -qE "^[a-z].*[ *]$function\(" $files 2>/dev/null && continue
          echo "docs/architecture.md: $function is not a function of $files"
          bad=1
      done
      [ $found -ge 14 ] || { echo "docs/architecture.md: got $found functions on the way of a scan, expected 14 or more"; bad=1; }
      exit $bad; } || status=1

# Relative links of all documents.
for document in README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/records/*.md docs/reference/*.md docs/changes/*.md docs/stories/*.md; do
    folder=$(dirname "$document")
    for link in $(grep -oE '\]\([^)#]+' "$document" | cut -c3- | grep -vE '^(https?|mailto):' | sort -u); do
        if [ ! -e "$folder/$link" ]; then
            echo "$document: link $link leads nowhere"
            status=1
        fi
    done
done

# A page for users, README.md or docs/*.md, has at most 800 words and a picture; all of them have at most 30,000 words.
# docs/records and docs/reference are apart; architecture.md, which is for developers, is left out of the sum.
total=0
for page in README.md docs/*.md; do
    words=$(wc -w <"$page")
    [ "$page" = docs/architecture.md ] || total=$((total + words))
    if [ "$words" -gt 800 ]; then
        echo "$page: got $words words, expected at most 800; move figures to docs/records, details to docs/reference"
        status=1
    fi
    if ! grep -qE '!\[[^]]+\]\([^)]*images/[a-z0-9_]+\.(png|svg)\)' "$page"; then
        echo "$page: no picture of docs/images"
        status=1
    fi
done
for page in docs/stories/*.md; do
    words=$(wc -w <"$page")
    [ "$words" -le 500 ] || { echo "$page: got $words words, expected at most 500 of a story"; status=1; }
done
if [ "$total" -gt 30000 ]; then
    echo "pages for users: got $total words in all, expected at most 30000"
    status=1
fi

[ $status -ne 0 ] || echo "documents: every path exists"
exit $status
