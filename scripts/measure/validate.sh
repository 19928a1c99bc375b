#!/bin/sh
# The error of recon's images by default, and by each method at the weight it chooses and at the best of a sweep, over 240 scenes
# a seed: scripts/measure/scenes.py, by two seeds where none is named. docs/validation.md has its results.
# usage: scripts/measure/validate.sh FOLDER [OPTION of scripts/measure/scenes.py...]. SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd)
LARMOR=${LARMOR:-$here/../../build/cpu/apps/larmor}
export LARMOR
case " $* " in
*" --seed"* | *" -h "* | *" --help "*) exec python3 "$here/scenes.py" "$@" ;;
*) exec python3 "$here/scenes.py" --seed 1,2 "$@" ;;
esac
