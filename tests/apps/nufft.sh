#!/bin/sh
# larmor nufft against sums that are known in closed form, and what it refuses. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

# An array in BART's format: cfl NAME "DIMS", complex numbers as "re im" lines on stdin.
cfl() {
    printf '# Dimensions\n%s\n' "$2" >"$1.hdr"
    perl -e 'binmode STDOUT; print pack("f<*", split) while <STDIN>' >"$1.cfl"
}

# The largest distance between two of them, in lines of re im, is at most the limit.
near() {
    perl -e 'my ($a, $b, $limit) = @ARGV; my @x = map { local $/; open my $f, "<:raw", $_ or die; [unpack "f<*", <$f>] }
        ($a, $b); die "sizes" if @{$x[0]} != @{$x[1]}; my $most = 0;
        for my $i (0 .. $#{$x[0]}) { my $d = abs($x[0][$i] - $x[1][$i]); $most = $d if $d > $most; }
        print "$most\n"; exit($most > $limit)' "$1" "$2" "$3" >out || fail "$1 and $2 differ by $(cat out)"
}

# waves SIGN: exp(i SIGN 2 pi (3.5 x / 8 - 1.25 y / 6)) for x = -4 .. 3, y = -3 .. 2
waves() {
    perl -e 'my $t = 2 * atan2(0, -1); for my $y (-3 .. 2) { for my $x (-4 .. 3) {
        my $a = $ARGV[0] * $t * (3.5 * $x / 8 - 1.25 * $y / 6); printf "%.9g %.9g\n", cos $a, sin $a } }' -- "$1"
}

printf '3.5 0\n-1.25 0\n0 0\n' | cfl k "3 1"
printf '1 0\n' | cfl one "1"
waves 1 | cfl plus "8 6"
waves -1 | cfl minus "8 6"

# Type 1 of one point is a plane wave, with either sign; so is the adjoint of type 2.
expect 0 nufft --type 1 -t k.cfl --modes 8,6 one.cfl -o a.cfl -q
[ "$(sed -n 2p a.hdr | awk '{ print $1, $2, $3 }')" = "8 6 1" ] || fail "a.hdr: $(cat a.hdr)"
near a.cfl plus.cfl 2e-5
expect 0 nufft --type 1 --sign -1 -t k.cfl --modes 8,6 one.cfl -o b.cfl -q
near b.cfl minus.cfl 2e-5
expect 0 nufft --type 2 --adjoint -t k.cfl --modes 8,6 one.cfl -o c.cfl
said_like 'wrote c.cfl: type 2 \(adjoint\) on .*, 1 point, grid [0-9]+ x [0-9]+ x 1, window [0-9]+, expected error'
near c.cfl plus.cfl 2e-5

# Type 2 of that wave at its own point: 48 modes in phase.
expect 0 nufft --type 2 -t k.cfl --modes 8,6 plus.cfl -o sum.cfl -q
printf '48 0\n' | cfl full "1"
near sum.cfl full.cfl 1e-3

# Type 3 with the modes as targets, s = r / N.
perl -e 'for my $y (-3 .. 2) { for my $x (-4 .. 3) { printf "%.9g 0\n%.9g 0\n0 0\n", $x / 8, $y / 6 } }' | cfl s "3 8 6"
expect 0 nufft --type 3 -t k.cfl --targets s.cfl one.cfl -o d.cfl -q
[ "$(sed -n 2p d.hdr | awk '{ print $1, $2, $3 }')" = "8 6 1" ] || fail "d.hdr: $(cat d.hdr)"
near d.cfl plus.cfl 2e-5
expect 0 nufft --type 3 --adjoint -t k.cfl --targets s.cfl plus.cfl -o e.cfl -q
near e.cfl full.cfl 1e-3

# Batches come from the size, .npy keeps double precision, the FFT's order begins with 0.
{ waves 1; waves -1; } | cfl two "8 6 2"
expect 0 nufft --type 2 -t k.cfl --modes 8,6 two.cfl -o two_out.npy -q --precision double --tol 1e-9
# The least tolerance is one that the library takes, and nearly the floor of the precision.
expect 0 nufft --type 2 -t k.cfl --modes 8,6 two.cfl -o least.npy --precision double --tol 0
grep -qE 'expected error [0-9.]+e-1[3-6]' err || fail "an error near the floor of double precision expected"
expect 0 compare least.npy two_out.npy --tol 1e-8
expect 0 convert two_out.npy two_out.cfl -q
[ "$(sed -n 2p two_out.hdr | awk '{ print $1 * $2 * $3 }')" = 2 ] || fail "two_out.hdr: $(cat two_out.hdr)"
printf '0 0\n' | cfl zero "1"
expect 0 nufft --type 1 --mode-order fft -t k.cfl --modes 8,6 one.cfl -o f.cfl -q
head -c 8 f.cfl >first.cfl && cp one.hdr first.hdr
near first.cfl one.cfl 2e-5

# Grid, window and tiles are those asked for, whatever is timed.
export XDG_CACHE_HOME="$folder/cache"
for plan in estimate measure; do
    expect 0 nufft --type 1 --plan $plan --grid 20,16 --width 8 --tiles 3 -t k.cfl --modes 8,6 one.cfl -o h.cfl --force
    grep -qE '^plan: .* transforms* per pass, tiles 3, ' err || fail "$last: other tiles: $(cat err)"
    grep -q ' grid 20 x 16 x 1, window 8, ' err || fail "$last: another grid or window: $(cat err)"
    near h.cfl plus.cfl 2e-5
done
rm -r cache

# --plan: what is measured goes into the file of wisdom, and comes from there the next time.
expect 0 nufft --type 1 --plan estimate -t k.cfl --modes 8,6 one.cfl -o g.cfl --force
grep -q '^plan: by the model, 0 timed; 1 transform per pass' err || fail "$last: what was chosen is not said"
[ ! -e cache/larmor/wisdom ] || fail "$last: an estimate left wisdom"
expect 0 nufft --type 1 --plan measure -t k.cfl --modes 8,6 one.cfl -o g.cfl --force
grep -qE '^plan: by timing, [1-9][0-9]* timed; ' err || fail "$last: nothing was timed"
near g.cfl plus.cfl 2e-5
grep -q '^plan ' cache/larmor/wisdom || fail "$last: no wisdom in $(ls cache/larmor)"
expect 0 nufft --type 1 --plan measure -t k.cfl --modes 8,6 one.cfl -o g.cfl --force
grep -q '^plan: by wisdom, 0 timed; ' err || fail "$last: wisdom was not followed"
near g.cfl plus.cfl 2e-5
expect 0 nufft --type 3 --plan measure -t k.cfl --targets s.cfl one.cfl -o g.cfl --force
grep -qE '^plan: by timing, [1-9][0-9]* timed; ' err || fail "$last: nothing was timed"
near g.cfl plus.cfl 2e-5
expect 2 nufft --type 1 --plan best -t k.cfl --modes 8,6 one.cfl -o g.cfl --force

# The modes are the image's own, and not what happens to divide it; points are those of the trajectory, or all in one row.
expect 0 traj -o t.cfl --matrix 8 --readouts 6 -q
expect 0 phantom -o s.h5 --matrix 8,6 --coils 1 --truth i.npy -q
expect 0 nufft --type 2 -t t.cfl --modes 8,6 i.npy -o y.npy -q
for modes in 4,3 8,3 6,8 4,12 2,24 16,3 48; do
    expect 3 nufft --type 2 -t t.cfl --modes $modes i.npy -o none.npy -q
done
said_like '^larmor: (i.npy|t.cfl): '
expect 3 nufft --type 2 -t t.cfl --modes 4,3 i.npy -o none.npy -q
said 'larmor: i.npy: [8, 6] values, expected [4, 3] and the batch.'
expect 3 nufft --type 1 --adjoint -t t.cfl --modes 6,8 i.npy -o none.npy -q
said 'larmor: i.npy: [8, 6] values, expected [6, 8] and the batch.'
expect 0 nufft --type 1 -t t.cfl --modes 8,6 y.npy -o x.npy -q
expect 0 convert y.npy y.cfl -q
for coils in 1 2 4; do
    printf '# Dimensions\n%d %d\n' $((96 / coils)) $coils >y.hdr
    [ $coils -eq 1 ] && wanted=0 || wanted=3
    expect $wanted nufft --type 1 -t t.cfl --modes 8,6 y.cfl -o row.npy -q --force
done
for sign in 0 2 x 1.5 ''; do expect 2 nufft --type 1 --sign "$sign" -t k.cfl --modes 8,6 one.cfl -o none.npy -q; done

# Refusals: one line, and the input's code.
rm -f out err none.cfl
expect 3 nufft --type 2 -t k.cfl --modes 8,7 plus.cfl -o none.cfl
said 'larmor: plus.cfl: 48 values, expected a multiple of the 56 modes.'
expect 3 nufft --type 1 -t k.cfl --modes 8 one.cfl -o none.cfl
said_like '^larmor: k.cfl: coordinate 1 of point 0 is -1.25, but there are 1 modes'
expect 3 nufft --type 1 -t plus.cfl --modes 8,6 one.cfl -o none.cfl
said_like '^larmor: plus.cfl: 8 coordinates of each point, expected 2 to 3'
expect 3 nufft --type 1 -t missing.cfl --modes 8,6 one.cfl -o none.cfl
expect 2 nufft --type 1 -t k.cfl one.cfl -o none.cfl
said_like '^larmor: nufft: types 1 and 2 need --modes'
expect 2 nufft --type 3 -t k.cfl one.cfl -o none.cfl
said_like '^larmor: nufft: type 3 needs --targets'
expect 2 nufft --type 4 -t k.cfl --modes 8 one.cfl -o none.cfl
said 'larmor: --type "4": a whole number from 1 to 3 expected.'
expect 2 nufft --type 1 --width 17 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said 'larmor: --width "17": a whole number from 2 to 16 expected.'
expect 2 nufft --type 1 --tiles 0 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said 'larmor: --tiles "0": a whole number from 1 to 3 expected.'
expect 2 nufft --type 1 --grid 16 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said_like '^larmor: nufft: --grid needs as many sides as --modes'
expect 2 nufft --type 1 --grid 16,x -t k.cfl --modes 8,6 one.cfl -o none.cfl
expect 2 nufft --type 1 --grid 16,16 --upsample 2 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said_like '^larmor: nufft: --grid and --upsample exclude each other'
expect 2 nufft --type 3 --width 8 -t k.cfl --targets s.cfl one.cfl -o none.cfl
said_like '^larmor: nufft: --grid and --width are for types 1 and 2'
expect 2 nufft --type 1 --grid 22,16 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said 'larmor: nufft: grid[0]: got 22, expected a product of 2, 3, 5 and 7 that is a multiple of 4; 24 is the nearest good size'
expect 3 nufft --type 1 --width 3 -t k.cfl --modes 8,6 one.cfl -o none.cfl
said_like '^larmor: nufft: width: got 3, which keeps .* at best, and tol is 1e-05; use [0-9]+, or leave it 0'
expect 2 nufft --type 1 -t k.cfl --modes 8,6 one.cfl -o none.png
said_like '^larmor: nufft: --output FILE must end in'
[ ! -e none.cfl ] || fail "a refused transform left a file"
expect 5 nufft --type 1 -t k.cfl --modes 8,6 one.cfl -o a.cfl
said 'larmor: a.cfl: exists already; --force overwrites it'
