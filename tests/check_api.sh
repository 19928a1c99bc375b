#!/bin/sh
# The library shows exactly the functions that the public headers declare. Each has a user, and is documented: by a
# comment above it or above its group (lines without a blank one between them), or behind it.
# Usage: tests/check_api.sh LIBRARY [ROOT].
# SPDX-License-Identifier: Apache-2.0
set -eu
library=$1
root=${2:-$(dirname "$0")/..}
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "name documented|bare header" of every declaration
cat "$root"/include/larmor/*.h | awk '
    /^[[:space:]]*$/ { comment = 0; next }
    /^#/ { next }
    /LARMOR_API/ { text = ""; open = 1 }
    open { text = text " " $0 }
    index($0, "/*") { comment = 1 }
    open && /;/ {
        sub(/.*LARMOR_API/, "", text)
        name = substr(text, 1, index(text, "(") - 1)
        sub(/.*[ *]/, "", name)
        print name, comment ? "documented" : "bare"
        open = 0
    }' | sort >"$work/declared"
nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u >"$work/shown"
cut -d' ' -f1 "$work/declared" | sort -u >"$work/names"

report() { [ -z "$2" ] || { echo "$1:" $2; status=1; }; } # $2 unquoted: names on one line
report "declared twice" "$(cut -d' ' -f1 "$work/declared" | uniq -d)"
report "declared but not in $library" "$(comm -23 "$work/names" "$work/shown")"
report "in $library but not declared in include/larmor" "$(comm -13 "$work/names" "$work/shown")"
report "without a comment in include/larmor" "$(awk '$2 == "bare" {print $1}' "$work/declared")"

# Every function has a user that calls it or hands it on: the program, an example, the Python package, or a file of the
# library other than its own.
(cd "$root" && find apps bench examples finufft stream scan pipeline check schedule live noise gating physics core nufft recon fit io phantoms python/larmor \
    -name '*.[ch]' -o -name '*.cu' -o -name '*.py' |
    xargs awk '{ while (match($0, /larmor_[a-z0-9_]+[(),]/)) {
            name = substr($0, RSTART, RLENGTH - 1); $0 = substr($0, RSTART + RLENGTH)
            if (FILENAME ~ /^(apps|bench|examples|python)/) files[name] = 2
            else if (!((FILENAME, name) in seen)) files[name]++
            seen[FILENAME, name] = 1 } }
        END { for (name in files) if (files[name] > 1) print name }') | sort >"$work/used"
report "without a user" "$(comm -23 "$work/names" "$work/used")"
[ -s "$work/names" ] || { echo "no declarations found in $root/include/larmor"; status=1; }

[ $status -ne 0 ] || echo "api: $(wc -l <"$work/names") functions, all shown and documented"
exit $status
