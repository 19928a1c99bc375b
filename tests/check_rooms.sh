#!/bin/sh
# A folder is a room of 3 to 20 sources, headers not counted. Usage: tests/check_rooms.sh [ROOT].
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "${1:-$(dirname "$0")/..}"

# Fuller or emptier, each for its reason; one that keeps the rule must go from here.
exceptions='
apps/larmor  a file for each command
core/mpi     a plugin of one file
io/reader    what parses files is one program, behind one sandbox
'

find core nufft recon io phantoms scan pipeline check schedule live noise gating physics fit stream apps bench finufft xla examples python/larmor \
    \( -name '*.c' -o -name '*.cu' -o -path 'python/*.py' \) |
    sed 's|/[^/]*$||' | sort | uniq -c |
    awk -v exceptions="$exceptions" '
        BEGIN { count = split(exceptions, line, "\n")
                for (i = 1; i <= count; i++) if (split(line[i], word, " ")) known[word[1]] = 1 }
        { keeps = $1 >= 3 && $1 <= 20; seen[$2] = 1 }
        !keeps && !($2 in known) { print $2 ": got " $1 " sources, expected 3 to 20; divide it, or join it with another"; bad = 1 }
        keeps && ($2 in known) { print $2 ": " $1 " sources keep the rule; take it off the exceptions"; bad = 1 }
        END { for (room in known) if (!(room in seen)) { print room ": an exception without a folder"; bad = 1 }
              if (!bad) print "rooms: as they should be"
              exit bad }'
