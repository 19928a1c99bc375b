#!/bin/sh
# Helps, and mistakes on the command line: exact words, exit code 2. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

expect 0 --help
for command in recon phantom traj info compare convert nufft devices bench version; do
    printed "^  $command "
done
for command in recon phantom traj info compare convert nufft devices bench version; do
    expect 0 "$command" --help
    printed "^usage: larmor $command "
    printed '^  -q, --quiet '
    expect 0 "$command" -h
done
expect 0 phantom --help
printed '--coils C .*\(default: 8\)$'
printed '-o, --output SCAN.h5 .*\(needed\)$'

expect 2
expect 2 recno
said "larmor: unknown command \"recno\", did you mean recon; 'larmor --help' lists them."
expect 2 entirely-else
said "larmor: unknown command \"entirely-else\"; 'larmor --help' lists them."

expect 2 phantom --raedouts 3
said "larmor: phantom: unknown option --raedouts, did you mean --readouts; 'larmor phantom --help' lists them."
expect 2 phantom -x
said "larmor: phantom: unknown option -x; 'larmor phantom --help' lists them."
expect 2 phantom --force=1 -o x.h5
said 'larmor: --force takes no value.'
expect 2 phantom
said "larmor: phantom: --output SCAN.h5 is needed; 'larmor phantom --help' says more."
expect 2 phantom -o x.h5 y.h5
said 'larmor: phantom: unexpected argument "y.h5"; usage: larmor phantom -o SCAN.h5 [options]'
expect 2 compare a.h5
said 'larmor: compare: 2 file names expected, got 1; usage: larmor compare A B [options]'

expect 2 recon x.h5 -o y.h5 --lambda abc
said 'larmor: --lambda "abc": a number >= 0 expected.'
expect 2 recon x.h5 -o y.h5 --lambda=-1
said 'larmor: --lambda "-1": a number >= 0 expected.'
for wrong in '' ' 1' 1x 0x10 nan inf 1e999 1,5; do
    expect 2 phantom -o x.h5 --noise "$wrong"
    said "larmor: --noise \"$wrong\": a number >= 0 expected."
done
for wrong in '' 1.5 0 -3 65536 99999999999999999999 5x; do
    expect 2 phantom -o x.h5 --samples "$wrong"
    said "larmor: --samples \"$wrong\": a whole number from 1 to 65535 expected."
done
for wrong in '' ',' '8,' ',8' 8,8,8,8 8x8 8,0 8,-8 8.5; do
    expect 2 phantom -o x.h5 --matrix "$wrong"
    said "larmor: --matrix \"$wrong\": X[,Y[,Z]] of whole numbers from 1 to 65535 expected."
done
expect 2 phantom -o x.h5 --traj raidal
said 'larmor: --traj "raidal": radial, golden, spiral, stars, koosh or cartesian expected.'
expect 2 phantom -o x.h5 --noise
said 'larmor: --noise: a number >= 0 expected.'
expect 2 phantom -o --force
said 'larmor: --output: a value expected.'
expect 2 phantom -o x.h5 --device gpu
said_like '^larmor: device "gpu": expected auto, cpu or cpu:THREADS'
expect 4 phantom -o x.h5 --device cuda
said_like '^larmor: device cuda: '
expect 2 phantom -o x.xyz
said_like '^larmor: x.xyz: .*\.h5'
expect 2 phantom -o x.h5 --truth x.h5
said 'larmor: x.h5: is also the scan; choose another name.'
expect 2 convert a.npy
said_like '^larmor: convert: either FROM and TO, or --traj T.cfl'
expect 2 convert a.npy a.npy
said 'larmor: a.npy: is also the output; choose another name.'
expect 2 traj
said_like '^larmor: traj: --output FILE is needed'
only

expect 0 version
printed '^larmor [0-9]+\.[0-9]+\.[0-9]+$'
printed '^hdf5 +[0-9]'
expect 0 --version
expect 0 version --json
printed '"larmor": "[0-9.]+"'
expect 0 devices
printed '^cpu +.*thread'
expect 0 devices --json
printed '"spec": "cpu"'
