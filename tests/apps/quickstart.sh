#!/bin/sh
# The commands of docs/tutorial.md, as they stand there, from a file to a figure and its error: each must succeed.
# SPDX-License-Identifier: Apache-2.0
tutorial=$(cd "$(dirname "$0")/../.." && pwd)/docs/tutorial.md
. "$(dirname "$0")/support.sh"
mkdir bin
ln -s "$LARMOR" bin/larmor
PATH=$folder/bin:$PATH
awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' "$tutorial" >quickstart
[ "$(grep -c '^larmor ' quickstart)" -ge 3 ] || fail "docs/tutorial.md has fewer commands than its story"
sh -eux ./quickstart >out 2>err || fail "the commands of docs/tutorial.md"
grep -q '^nrmse ' out || fail "the commands print no nrmse"
