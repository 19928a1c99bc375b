#!/bin/sh
# larmor recon and warp where voxels are displaced: images of gradients that are not linear are as near to the truth as
# those of linear ones, in the model and after, over trajectories and noise levels. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"

cat >bent.grad <<'X'
#*[ a gradient system that was made up *
#*] END:
 0.250 m = R0
 NO. TYPE SPECTRUM AXIS
  1   A( 3, 0)   -0.20000  z
  2   A( 3, 1)   -0.18000  x
  3   B( 3, 1)   -0.22000  y
  4   A( 5, 1)    0.02000  x
X
{
    echo "radius 0.25"
    echo "axes LAI"
    printf '%s\n' "Alpha_z 3 0 -0.2" "Alpha_x 3 1 -0.18" "Beta_y 3 1 -0.22" "Alpha_x 5 1 0.02"
} >bent.txt

recon_options="--delays off --memory 1G"

# scene SNR FAR OPTION...
scene() {
    snr=$1
    worse=$2
    shift 2
    expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --snr "$snr" --coils 3 --phantom texture "$@"
    expect 0 phantom -q --force -o bent.h5 --snr "$snr" --coils 3 --phantom texture --gradient-field bent.grad "$@"
    best=$(nrmse plain.h5)
    at_least "$(nrmse bent.h5)" "$best" "$worse" "$*, without the model"
    at_most "$(nrmse bent.h5 --gradient-field bent.txt)" "$best" 1.1 "$*, with it"
}
scene 30 1.9 --traj golden --matrix 40 --readouts 60
grep -q '^displacement: voxels are up to [0-9.]* mm from where images show them, by the gradients' log || fail "$(cat log)"
reconstruct bent.h5 -o raw.h5 --maps maps.cfl --method cg
expect 0 warp raw.h5 -o warped.h5 --gradient-field bent.grad
at_least "$(distance raw.h5)" "$best" 1.9 "finished, without a warp"
at_most "$(distance warped.h5)" "$best" 1.15 "finished, with a warp"
expect 0 warp warped.h5 -o again.h5 --gradient-field bent.grad --distort --cubic
at_least "$(distance again.h5)" "$best" 1.7 "distorted again"
method=grid
at_most "$(nrmse bent.h5 --gradient-field bent.grad)" "$(nrmse plain.h5)" 1.1 "gridding"
method=cg
in_all scene 10 1.2 --traj spiral --matrix 32 --readouts 6 --oblique
in_all scene 30 1.3 --traj spiral --matrix 32 --readouts 6 --position 0,0,40
scene 30 1.3 --traj koosh --matrix 12,12,12

# Maps from the data belong to where images show the coils; they are moved.
expect 0 phantom -q --force -o plain.h5 --truth truth.h5 --maps maps.cfl --snr 30 --coils 6 --phantom texture --traj golden \
    --matrix 40 --readouts 60
expect 0 phantom -q --force -o bent.h5 --snr 30 --coils 6 --phantom texture --gradient-field bent.grad --traj golden --matrix 40 \
    --readouts 60
reconstruct plain.h5 -o truth.h5 --force --method cg
reconstruct bent.h5 -o image.h5 --force --method cg --gradient-field bent.grad
at_most "$(distance image.h5)" 0.1 1 "maps from the data"

# Off-resonance, coils and displacement at once, of an image that could not be warped after.
field="--off-resonance 60 --field-shim 80,40,0 --dwell 8"
# shellcheck disable=SC2086
expect 0 phantom -q --force -o both.h5 --field-map field.nii --truth truth.h5 --maps maps.cfl --snr 30 --coils 3 --phantom texture \
    --gradient-field bent.grad --traj spiral --matrix 32 --readouts 6 $field
expect 0 phantom -q --force -o plain.h5 --snr 30 --coils 3 --phantom texture --traj spiral --matrix 32 --readouts 6
best=$(nrmse plain.h5)
at_least "$(nrmse both.h5 --b0 field.nii)" "$best" 1.5 "field alone"
at_least "$(nrmse both.h5 --gradient-field bent.grad)" "$best" 1.2 "displacement alone"
at_most "$(nrmse both.h5 --gradient-field bent.grad --b0 field.nii)" "$best" 1.1 "both"

# What does not fit is refused in a line, and nothing is written.
rm -f image.h5 warped.h5
echo "radius 0.25" >empty.txt
expect 3 recon both.h5 -o image.h5 --gradient-field empty.txt
said 'larmor: empty.txt: has no coefficient; lines `Alpha_x 3 1 -0.05` expected.'
expect 3 recon both.h5 -o image.h5 --displacement field.nii
said_like '--displacement: the array is .*, expected \[x, y, 2 or 3\] or \[x, y, z, 3\], in mm along the image.s axes\.'
expect 2 recon both.h5 -o image.h5 --displacement field.nii --gradient-field bent.grad
said_like '--displacement: is not for --gradient-field; each says where voxels are; leave one of them out\.'
printf '%s\n' 'radius 0.25' 'Alpha_x 3 1 -30123' >far.txt
expect 2 recon both.h5 -o image.h5 --gradient-field far.txt -q
said_like 'displacement: voxel .* is moved by .* voxels along axis 0, farther than the image of 32; check coefficients and units\.'
expect 2 phantom -o image.h5 --matrix 32 --gradient-field far.txt -q
expect 2 warp raw.h5 -o warped.h5
said_like 'warp: either --gradient-field FILE or --displacement FILE expected\.'
expect 3 warp maps.cfl -o warped.h5 --gradient-field bent.grad
said_like 'maps.cfl: does not say where its images lie, which the harmonics of gradients need; take a .nii or an .h5\.'
[ ! -e image.h5 ] && [ ! -e warped.h5 ] || fail "an image was written"
