#!/bin/sh
# scripts/measure/bench_report.py: the ratios of files whose times are known. SPDX-License-Identifier: Apache-2.0
LARMOR=${REPORT:?names the script to test}
. "$(dirname "$0")/support.sh"

# line DESCRIPTION FACTOR SECONDS [PEER...]: a case with seconds of execute, a quarter of which its points take.
line() {
    python3 - "$@" <<'END'
import json, sys
def timing(seconds):
    if seconds == "failed":
        return {"name": "default", "failure": "refused"}
    times = lambda s: {"median": s, "minimum": s / 2, "repeats": 1, "calls": 1}
    return {"name": "", "set_points": times(float(seconds) / 4), "execute": times(float(seconds)), "error": 0}
name, factor, ours, *peers = sys.argv[1:]
print(json.dumps({"case": name, "type": 1, "modes": [8, 8], "points": 100, "batch": 1, "distribution": "uniform",
                  "precision": "single", "tol": 1e-3, "upsample_asked": float(factor) or None, "upsample": 1.5,
                  "device_reason": "here", "larmor": timing(ours), "peer": [timing(p) for p in peers]}))
END
}

# The peer takes 2 and 8 times as long, its best method 0.5 and 8; what it refused does not count.
{ line a 0 1 2 0.5; line b 0 1 8; line c 0 1 failed; } >peers.jsonl
expect 0 peers.jsonl
printed "^peer's default / larmor, execute, median: geometric mean 4.000, least 2.000 \(a\), most 8.000, cases 2$"
printed "^peer's default / larmor, set_points and execute, minimum: geometric mean 4.000, least 2.000 .* cases 2$"
printed "^peer's best / larmor, execute, median: geometric mean 2.000, least 0.500 \(a\), most 8.000, cases 2$"
expect 0 peers.jsonl --only 'b|c'
printed "^peer's default / larmor, execute, median: geometric mean 8.000, least 8.000 \(b\), most 8.000, cases 1$"

# The same problem at three tolerances. At an error of 1e-4 larmor takes 2 s; the peer, whose errors are ten times larger at the same
# tolerance, takes 8 s there. At 1e-3, the only other error that both have, it is 4 s for 1 s.
at_tolerance() { # TOLERANCE ERROR SECONDS PEER-ERROR PEER-SECONDS
    line "equal $1" 0 "$3" "$5" | python3 -c 'import json, sys
c = json.load(sys.stdin)
c["tol"], c["larmor"]["error"], c["peer"][0]["error"] = map(float, sys.argv[1:])
print(json.dumps(c))' "$1" "$2" "$4"
}
{ at_tolerance 1e-3 1e-3 1 1e-2 2; at_tolerance 1e-4 1e-4 2 1e-3 4; at_tolerance 1e-5 1e-5 4 1e-4 8; } >equal.jsonl
expect 0 equal.jsonl
printed "^peer's default / larmor, execute, median: geometric mean 2.000, "
printed "^peer's default / larmor at the same error, execute, median: geometric mean 4.000, least 4.000 \\(8x8 uniform M=100 type 1 single at .*\\), most 4.000, cases 3$"
printed "^peer's default / larmor at the same error, set_points and execute, median: geometric mean 4.000, .* cases 3$"

# Fixed factors beside the chosen one.
{ line chosen 0 2; line "at 1.25" 1.25 3; line "at 2" 2 1; } >factors.jsonl
expect 0 factors.jsonl
printed '^1.25 / chosen factor, execute, minimum: geometric mean 1.500, .* cases 1$'
printed '^2 / chosen factor, execute, minimum: geometric mean 0.500, .* cases 1$'
printed '^best fixed factor / chosen factor, execute, minimum: geometric mean 0.500, .* cases 1$'

# A file beside an earlier one: the cases that both have.
{ line a 0 3; line other 0 5; } >before.jsonl
expect 0 peers.jsonl --before before.jsonl
printed '^before / now, execute, median: geometric mean 3.000, least 3.000 \(a\), most 3.000, cases 1$'

# The planner's efforts.
tr -d '\n' >planner.jsonl <<'END'
{ "case": "planner p", "modes": [8], "points": 9, "tol": 1e-3, "precision": "single", "device_reason": "here",
 "estimate": { "seconds": 3 }, "measure": { "seconds": 2, "upsample": 1.5 }, "exhaustive": { "seconds": 1 },
 "factors": [1.25, 2], "fixed_seconds": [4, 0] }
END
expect 0 planner.jsonl
printed '^estimate / exhaustive: geometric mean 3.000, '
printed '^measure / exhaustive: geometric mean 2.000, '
printed '^1.25 / measure: geometric mean 2.000, '
[ "$(wc -l <out)" -eq 3 ] || fail "$last: no ratio of a factor that was out of reach expected"

# Several devices, in any order, and as many ranks.
scaled() {
    printf '{ "case": "scaling %s, %d %s", "scaling": "weak", "%s": %d, "gain": %s, "device_reason": "here" }\n' \
        "$1" "$2" "$3" "$3" "$2" "$4"
}
{ scaled "weak a" 4 devices 3; scaled "weak a" 1 devices 1; scaled "weak a" 2 devices 1.9; scaled "weak a" 2 ranks 1.5; } >scaling.jsonl
expect 0 scaling.jsonl
printed '^weak a, devices: times one by number, 2: 1.90 \(95 %\), 4: 3.00 \(75 %\)$'
printed '^weak a, ranks: times one by number, 2: 1.50 \(75 %\)$'

# Plots, or the word that what draws them is missing.
for file in peers factors planner scaling equal; do
    if python3 -c 'import matplotlib' 2>/dev/null; then
        expect 0 $file.jsonl -o $file.png
        [ "$(head -c 4 $file.png | tail -c 3)" = PNG ] || fail "$last: $file.png is no PNG"
        rm $file.png
    else
        expect 1 $file.jsonl -o $file.png
        said 'bench_report.py: -o needs matplotlib (Debian: python3-matplotlib)'
    fi
done

echo '{ "case": ' >>before.jsonl
expect 1 before.jsonl
said 'before.jsonl: line 3 is no result of larmor-bench'
expect 1 peers.jsonl --only nothing
said 'peers.jsonl: no case in it fits'
expect 1 none.jsonl
said 'none.jsonl: No such file or directory'
only before.jsonl equal.jsonl factors.jsonl peers.jsonl planner.jsonl scaling.jsonl
