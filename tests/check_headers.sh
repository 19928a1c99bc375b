#!/bin/sh
# Each public header compiles alone as strict C99 and as C++11, the oldest that it may be compiled as, and LMR_FREE refuses
# what it cannot free, and larmor_array_download what is no address of a pointer.
# Usage: tests/check_headers.sh [ROOT].
# SPDX-License-Identifier: Apache-2.0
set -eu
root=${1:-$(dirname "$0")/..}
cd "$root"
status=0
for header in include/larmor/*.h; do
    name=larmor/$(basename "$header")
    printf '#include "%s"\nextern int one;\n' "$name" |
        ${CC:-cc} -std=c99 -pedantic-errors -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c - || status=1
    command -v "${CXX:-c++}" >/dev/null || continue
    printf '#include "%s"\nextern int one;\n' "$name" |
        ${CXX:-c++} -std=c++11 -pedantic-errors -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || status=1
done
# LMR_FREE takes memory, and no object whose members are not known.
freed() {
    printf '#include "core/owned.h"\n#include "larmor/prox.h"\nvoid f(%s *x);\nvoid f(%s *x)\n{\n    LMR_FREE(x);\n}\n' "$1" "$1" |
        ${CC:-cc} -std=c11 -I. -Iinclude -fsyntax-only -x c - 2>/dev/null
}
{ freed double && freed larmor_array && ! freed larmor_prox; } || { echo "core/owned.h: LMR_FREE takes another type"; status=1; }
downloaded() {
    printf '#include "larmor/array.h"\nvoid f(const larmor_array *x);\nvoid f(const larmor_array *x)\n{\n    %s;\n    larmor_array_download(x, LARMOR_F64, &k);\n}\n' "$1" |
        ${CC:-cc} -std=c99 -Iinclude -fsyntax-only -x c - 2>/dev/null
}
{ downloaded "double *k" && downloaded "void *k" && ! downloaded "double k"; } ||
    { echo "larmor/array.h: larmor_array_download takes another type"; status=1; }
[ $status -ne 0 ] || echo "headers: each compiles alone"
exit $status
