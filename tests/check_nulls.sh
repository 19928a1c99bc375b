#!/bin/sh
# Every public function, called with NULL, 0 and empty shapes, returns: it says what is wrong or does nothing. So it does
# with memory for its outputs and nothing else, and with numbers of things that are not there. The calls are made from the headers, so that new functions are included.
# Usage: tests/check_nulls.sh LIBRARY [CC [ROOT [FLAGS]]]; FLAGS are those that the library was compiled with.
# SPDX-License-Identifier: Apache-2.0
set -eu
library=$1
cc=${2:-cc}
root=${3:-$(dirname "$0")/..}
flags=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    cat <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <larmor/larmor.h>
static int died;
static union { /* for whatever is put out */
    char bytes[1 << 16];
    double number;
} room[8];
/* In a process of its own, because it may die. */
#define CALL(name, call)                                                          \
    do {                                                                          \
        fflush(stdout);                                                           \
        const pid_t child = fork();                                               \
        int how;                                                                  \
        if (!child) {                                                             \
            call;                                                                 \
            _exit(0);                                                             \
        }                                                                         \
        if (child < 0 || waitpid(child, &how, 0) < 0 || how) puts(name), died++; \
    } while (0)
int main(void)
{
C
    cat "$root"/include/larmor/*.h | sed 's|//.*||' | awk '
        { text = text " " $0 }
        END {
            while ((start = index(text, "/*")) > 0) {
                rest = substr(text, start + 2)
                text = substr(text, 1, start - 1) " " substr(rest, index(rest, "*/") + 2)
            }
            rest = text
            while (match(rest, /typedef struct [a-z0-9_]+ \{/)) { # of all others programs see pointers alone
                complete[substr(rest, RSTART + 15, RLENGTH - 17)] = 1
                rest = substr(rest, RSTART + RLENGTH)
            }
            count = split(text, part, "LARMOR_API")
            for (i = 2; i <= count; i++) {
                declaration = substr(part[i], 1, index(part[i], ";") - 1)
                open = index(declaration, "(")
                name = substr(declaration, 1, open - 1)
                sub(/.*[ *]/, "", name)
                if (name !~ /^larmor_/) continue
                arguments = substr(declaration, open + 1)
                sub(/__attribute__.*/, "", arguments)
                call = given = counted = ""
                rooms = depth = 0
                one = ""
                for (c = 1; c <= length(arguments); c++) {
                    letter = substr(arguments, c, 1)
                    if (letter == "(") depth++
                    if (letter == ")" && depth-- == 0) break
                    if (letter == "," && depth == 0) {
                        call = call value(one) ", "
                        given = given output(one) ", "
                        counted = counted number(one) ", "
                        one = ""
                    } else {
                        one = one letter
                    }
                }
                call = call value(one)
                given = given output(one)
                counted = counted number(one)
                sub(/(, )?\.\.\./, "", call)
                sub(/(, )?\.\.\./, "", given)
                sub(/(, )?\.\.\./, "", counted)
                printf "    CALL(\"%s\", (%s)(%s));\n", name, name, call
                if (given != call) printf "    CALL(\"%s (with room)\", (%s)(%s));\n", name, name, given
                if (counted != call) printf "    CALL(\"%s (with numbers)\", (%s)(%s));\n", name, name, counted
            }
        }
        function output(parameter, type) {
            type = parameter
            sub(/^ +/, "", type)
            sub(/[ *[].*/, "", type)
            if (parameter ~ /const|\(/ || parameter !~ /[*[]/) return value(parameter)
            if (parameter ~ /\*\*/ || type in complete || type ~ /^(double|float|int|int64_t|char|size_t|larmor_shape)$/)
                return "(void *)&room[" rooms++ "]"
            return value(parameter)
        }
        function number(parameter) {
            gsub(/^ +| +$/, "", parameter)
            return parameter ~ /^(int|int64_t|size_t) [a-z0-9_]+$/ ? "3" : value(parameter)
        }
        function value(parameter) {
            gsub(/^ +| +$/, "", parameter)
            if (parameter == "void" || parameter == "") return ""
            if (parameter == "...") return "..."
            return parameter ~ /larmor_shape/ && parameter !~ /[*[]/ ? "(larmor_shape){0}" : "0"
        }' | sort -u
    printf '    return died;\n}\n'
} >"$work/nulls.c"
calls=$(grep -c '^    CALL(' "$work/nulls.c" || true)
declared=$(cat "$root"/include/larmor/*.h | grep -c '^LARMOR_API')
# shellcheck disable=SC2086 # words are meant
"$cc" -std=gnu11 -w $flags -I"$root/include" "$work/nulls.c" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$work/nulls"
died=$("$work/nulls") || { echo "die of NULL:" $died; exit 1; } # $died unquoted: names on one line
[ "$calls" -ge "$declared" ] || { echo "$calls calls of $declared functions"; exit 1; }
echo "nulls: $calls calls of $declared functions, all come back"
