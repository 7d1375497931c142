#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures if necessary, and builds.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
dir=build-$preset
[[ $preset == release ]] && dir=build

# ninja configures anew after a change of a CMakeLists.txt, but not after a change of the presets.
if [[ ! -e $dir/build.ninja || CMakePresets.json -nt $dir/build.ninja ]]; then
  fresh=()
  [[ -e $dir/build.ninja ]] || fresh=(--fresh)  # Perhaps left by another generator.
  cmake --preset "$preset" "${fresh[@]}"
  touch "$dir/build.ninja"
fi

targets=()
(($#)) && targets=(--target "$@")
cmake --build "$dir" -j "$(nproc)" "${targets[@]}"
