#!/bin/sh
# The quick start of docs/tutorial.md, as it stands there: each line of its first block of commands must succeed.
# SPDX-License-Identifier: Apache-2.0
tutorial=$(cd "$(dirname "$0")/../.." && pwd)/docs/tutorial.md
. "$(dirname "$0")/support.sh"
mkdir bin
ln -s "$LARMOR" bin/larmor
PATH=$folder/bin:$PATH
awk '/^```sh/ && !seen { seen = inside = 1; next } /^```/ { inside = 0 } inside' "$tutorial" >quickstart
[ "$(grep -c '^larmor ' quickstart)" -ge 3 ] || fail "docs/tutorial.md has no quick start"
sh -eux ./quickstart >out 2>err || fail "the quick start of docs/tutorial.md"
grep -q '^nrmse ' out || fail "the quick start prints no nrmse"
