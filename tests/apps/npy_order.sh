#!/bin/sh
# A .npy in C order is the array that NumPy loads from it, in every option and argument that takes one: the results are
# those of the same array in Fortran order, which larmor writes. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
export LARMOR_DEVICE=cpu LARMOR_THREADS=1
python=$(command -v python3 || true)
if [ -z "$python" ]; then
    echo "no python3, which writes the files: left out"
    exit 0
fi

# order FROM.npy TO.npy: the same array in C order, by Python's own library alone.
cat >order.py <<'PYTHON'
import ast, itertools, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<H", data[8:10])[0]
head, data = ast.literal_eval(data[10:10 + length].decode()), data[10 + length:]
assert head["fortran_order"] and len(head["shape"]) > 1
size, shape = int(head["descr"][2:]), head["shape"]
strides, step = [], size
for n in shape:
    strides.append(step)
    step *= n
places = (sum(i * s for i, s in zip(index, strides)) for index in itertools.product(*map(range, shape)))
text = repr({"descr": head["descr"], "fortran_order": False, "shape": shape}).encode()
text += b" " * (-(len(text) + 11) % 64) + b"\n"
with open(sys.argv[2], "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    out.write(b"".join(data[p:p + size] for p in places))
PYTHON
order() {
    "$python" order.py "$1" "$2" || fail "$1 cannot be brought into C order"
    ! cmp -s "$1" "$2" || fail "$1 and $2 are one file, so that nothing is tested"
}

# same ARGUMENTS...: FILE@ stands for FILE.npy and for FILE.c.npy; both give the same bytes.
same() {
    rm -f one.npy two.npy
    # shellcheck disable=SC2046 # words are meant
    expect 0 $(echo "$* -q" | sed 's/@/.npy/g; s/OUT/one/g')
    # shellcheck disable=SC2046
    expect 0 $(echo "$* -q" | sed 's/@/.c.npy/g; s/OUT/two/g')
    cmp one.npy two.npy || fail "$*: the order of memory changes the result"
}

# Square arrays, whose transposes have their shapes.
off="--off-resonance 60 --field-gradient 40,-20 --samples 48 --dwell 120"
expect 0 phantom -o scan.h5 --matrix 16 --coils 16 --readouts 24 --snr 30 $off --field-map field.npy --maps maps.npy --truth truth.npy -q
expect 0 traj -o traj.npy --matrix 16 --readouts 3 --samples 3 -q
expect 0 traj -o points.npy --matrix 16 --readouts 24 --samples 40 -q
for array in field maps truth traj points; do order $array.npy $array.c.npy; done
expect 0 info maps.c.npy
printed 'NumPy: 16 x 16 x 16, c64'
expect 0 compare truth.c.npy truth.npy --tol 0
expect 0 compare maps.c.npy maps.npy --tol 0
same convert truth@ OUT.npy
few='--method cg --lambda 1e-3 --iters 4'
same recon scan.h5 --delays off --memory 1G --maps maps@ $few -o OUT.npy
same recon scan.h5 --delays off --memory 1G --maps maps.npy $few --b0 field@ -o OUT.npy
same nufft --type 2 --modes 16,16 -t points@ truth@ -o OUT.npy
expect 0 nufft --type 2 --modes 16,16 -t points.npy truth.npy -o k.npy -q
order k.npy k.c.npy
same nufft --type 1 --modes 16,16 -t points@ k@ -o OUT.npy
same nufft --type 3 -t points@ --targets traj@ k@ -o OUT.npy
same dcf --traj points@ --matrix 16 -o OUT.npy

# A square basis, whose transpose is another one, and an impulse response.
"$python" - <<'PYTHON'
import struct
def save(name, shape, values):
    text = repr({"descr": "<c8", "fortran_order": True, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    numbers = b"".join(struct.pack("<ff", v.real, v.imag) for v in map(complex, values))
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + numbers)
save("basis.npy", (3, 3), [.5, .5, .7, .6, .4, -.7, .6, -.8, .1])
save("girf.npy", (33, 3), [1 - abs(i - 16) / (40 + 20 * axis) + .01j * (i - 16) for axis in range(3) for i in range(33)])
PYTHON
for array in basis girf; do order $array.npy $array.c.npy; done
for option in basis dictionary; do same recon scan.h5 --delays off --memory 1G --maps maps.npy --spokes-per-frame 8 --$option basis@ --lambda 1e-3 -o OUT.npy; done
same recon scan.h5 --delays off --memory 1G --maps maps.npy $few --girf girf@ --girf-spacing 1000 -o OUT.npy

# BART's arrays as a scan.
expect 0 convert --traj points.npy --kspace k.npy -o f.h5 -q
expect 0 convert --traj points.c.npy --kspace k.c.npy -o c.h5 -q
cmp f.h5 c.h5 || fail "$last: the order of memory changes the scan"
