#!/bin/sh
# The C of the documents is true: a block after a line `From [file](path)...:` stands in that file word for word, and one
# whose first line is /* path/file.c */ compiles there as it is. There are no others.
# Usage: tests/check_snippets.sh [ROOT]; CC is heeded. SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# Each block to its own file, and a list: number, document, line, file quoted or "-".
awk -v work="$work" '
    FNR == 1 { from = "-" }
    /^From \[[^]]*\]\(/ { from = $0; sub(/^From \[/, "", from); sub(/\].*/, "", from) }
    /^```c$/ { inside = 1; block = sprintf("%s/%03d.c", work, ++count); print block, FILENAME, FNR, from; next }
    /^```/ { if (inside) close(block); inside = 0; from = "-"; next }
    inside { print >block }
' README.md docs/*.md docs/records/*.md docs/reference/*.md docs/stories/*.md docs/site/index.md >"$work/list"

while read -r block document line from; do
    if [ "$from" != - ]; then
        awk 'NR == FNR { quote = quote $0 "\n"; next } { text = text $0 "\n" }
            END { exit index(text, quote) == 0 }' "$block" "$from" ||
            { echo "$document:$line: this is not in $from"; status=1; }
    elif head -n 1 "$block" | grep -qE '^/\* [a-z_/]+\.c \*/$'; then
        ${CC:-cc} -std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Werror \
            -Iinclude -I. -fsyntax-only "$block" || { echo "$document:$line: does not compile"; status=1; }
    else
        echo "$document:$line: from which file is this, or to which does it go?"
        status=1
    fi
done <"$work/list"
[ -s "$work/list" ] || { echo "no C in the documents"; status=1; }

[ $status -ne 0 ] || echo "snippets: $(wc -l <"$work/list") of them, all true"
exit $status
