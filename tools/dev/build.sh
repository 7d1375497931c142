#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures if that is needed, and builds. Quiet when nothing is to do.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
dir=build-$preset
[[ $preset == release ]] && dir=build

# A change of a CMakeLists.txt is ninja's business; a change of the presets is not.
if [[ ! -e $dir/build.ninja || CMakePresets.json -nt $dir/build.ninja ]]; then
  fresh=()
  [[ -e $dir/build.ninja ]] || fresh=(--fresh)  # Perhaps left by another generator.
  cmake --preset "$preset" "${fresh[@]}"
  touch "$dir/build.ninja"
fi

targets=()
(($#)) && targets=(--target "$@")
cmake --build "$dir" -j "$(nproc)" "${targets[@]}"
