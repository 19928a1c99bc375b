#!/bin/sh
# The documents name only files that exist. Usage: tests/check_docs.sh [ROOT]. SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
status=0

# Paths in backticks: what has a slash and no blanks, or a known file name in the root.
for path in $(grep -oE '`[A-Za-z0-9_.*{},/-]+`' docs/architecture.md | tr -d '`' | grep -E '/|^CMake|\.md$' | sort -u); do
    case $path in
    larmor/*) path=include/$path ;; # as it is included
    /* | */larmor/*.so | lib/*) continue ;;
    build/* | demo/*) continue ;; # made, not kept
    esac
    # shellcheck disable=SC2086 # stars in a path are meant
    if ! ls -d $path >/dev/null 2>&1; then
        echo "docs/architecture.md: $path does not exist"
        status=1
    fi
done

# Relative links of all documents.
for document in README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/re*/*.md; do
    folder=$(dirname "$document")
    for link in $(grep -oE '\]\([^)#]+' "$document" | cut -c3- | grep -vE '^(https?|mailto):' | sort -u); do
        if [ ! -e "$folder/$link" ]; then
            echo "$document: link $link leads nowhere"
            status=1
        fi
    done
done

[ $status -ne 0 ] || echo "documents: every path exists"
exit $status
