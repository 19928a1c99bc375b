#!/bin/sh
# Options from a file, and a run that is repeated from what its image says of it. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 phantom -o scan.h5 --matrix 32 --coils 3 --snr 30 -q
expect 0 recon scan.h5 -o once.h5 --method tv --iters 12 --fov 200,220 --lambda noise:2 --weighted --oversample 1.25 \
    --delays 0.1,0.2 --slice 0 -q

# The image repeats its run, bit for bit.
"$LARMOR" info once.h5 | sed -n 's/^LarmorSettings: //p' >again.toml
"$LARMOR" info once.h5 --json | sed -n 's/^.*"LarmorSettings: \(.*\)".*$/\1/p' | head -1 | sed 's/\\"/"/g' >json.toml
cmp again.toml json.toml || fail "info and info --json give other settings"
expect 0 recon scan.h5 -o again.h5 --config again.toml -q
expect 0 compare once.h5 again.h5 --tol 0
[ "$("$LARMOR" info again.h5 | grep LarmorSettings)" = "LarmorSettings: $(cat again.toml)" ] ||
    fail "the repeated run has other settings"

# Lines, a table, comments, lists and quotes are the same settings; the command line wins.
cat >lines.toml <<'END'
# how this scan is reconstructed
[recon]
method = 'tv'   # a penalty
iters=12
fov = [ 200, 220 ]
lambda = "noise:2"
weighted = true
oversample = 1.25
delays = "0.1,0.2"
slice = 0
output = ["lines.h5", "lines.npy"]
END
expect 0 recon scan.h5 --config lines.toml -q
expect 0 compare once.h5 lines.h5 --tol 0
[ -f lines.npy ] || fail "one of two outputs is missing"
printf 'method = "cg"\nlambda = 0.5\ndelays = 0\noutput = "other.h5"' >wins.toml # the last line has no end
expect 2 recon scan.h5 --config wins.toml -q
said 'larmor: wins.toml:3: delays "0": auto, off or X,Y[,XY], in 3D X,Y,Z[,XY,XZ,YZ], of numbers from -1000 to 1000, expected.'
printf 'method = "grid"\r\niters = 12\r\noutput = "other.h5"\r\nlambda = 0.5\r\n' >wins.toml
expect 0 recon scan.h5 -o grid.h5 --method cg --lambda 1e-3 --config wins.toml -q
expect 0 recon scan.h5 -o alone.h5 --method cg --lambda 1e-3 --iters 12 -q
expect 0 compare grid.h5 alone.h5 --tol 0
[ ! -e other.h5 ] || fail "the file's output was written, too"

# What is wrong is said in one line, with its place.
refused() {
    printf '%b' "$1" >bad.toml
    expect 2 recon scan.h5 -o bad.h5 --config bad.toml -q
    said "larmor: bad.toml:$2"
}
refused 'iter = 5' '1: iter is no option of recon, did you mean iters.'
refused '\n\niters = 0\n' '3: iters "0": a whole number from 1 to 1e+09 expected.'
refused 'iters = 5\nmethod = "cg"\niters = 6\n' '3: iters is given twice, first in line 1.'
refused 'iters 5' '1: name = value expected.'
refused '= 5' '1: name = value expected.'
refused 'iters' '1: name = value expected.'
refused 'iters =' '1: a string in quotes, a number, true, false or a list of them expected behind =.'
refused 'method = cg' '1: a string in quotes, a number, true, false or a list of them expected behind =.'
refused 'method = "cg' '1: a string has no end in its line.'
refused 'method = "cg\n"' '1: a string has no end in its line.'
refused 'method = "c\\qg"' '1: an escape in a string is none of \" \\ \n \t.'
refused 'method = "cg" iters = 5' '1: the end of the line expected behind a value.'
refused 'fov = [200, 220' '1: a list has no end in its line.'
refused 'fov = [200 220]' '1: a list has no end in its line.'
refused 'fov = []' '1: a string in quotes, a number, true, false or a list of them expected behind =.'
refused 'fov = [[1]]' '1: a string in quotes, a number, true, false or a list of them expected behind =.'
refused 'weighted = 2' '1: weighted "2": true or false expected.'
refused '[maps]' '1: one table [recon] expected.'
refused '[recon]\n[recon]' '2: one table [recon] expected.'
refused '[recon' '1: [name] expected.'
refused 'config = "bad.toml"' '1: a file names no other file of options.'
refused 'maps = "-"' '1: "-" is for the command line.'
refused 'recon = {iters = 5' '1: , or } expected behind a value.'
refused 'recon = {iters = 5} 6' '1: the end of the line expected behind a value.'
refused '\0377\0376\0001' '1: name = value expected.'
printf 'iters = 5\0\n' >nul.toml
expect 3 recon scan.h5 -o bad.h5 --config nul.toml -q
said 'larmor: nul.toml: has a byte 0; a file of text expected.'
head -c 1100000 /dev/zero | tr '\0' '#' >long.toml
expect 3 recon scan.h5 -o bad.h5 --config long.toml -q
said 'larmor: long.toml: is longer than 1048576 bytes, which no file of options is.'
expect 3 recon scan.h5 -o bad.h5 --config none.toml -q
said 'larmor: none.toml: cannot be read: No such file or directory.'
[ ! -e bad.h5 ] || fail "an image was written by options that were refused"
