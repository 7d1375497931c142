#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures if necessary, and builds.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
dir=build-$preset
[[ $preset == release ]] && dir=build

# A build directory that was copied or moved with its tree has the paths of the former place.
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null || true)
if [[ -n $source && ! $source -ef . ]]; then
  echo "build.sh: $dir is of $source: it is configured anew" >&2
  rm -f -- "$dir/build.ninja"
fi

# ninja configures anew after a change of a CMakeLists.txt, but not after a change of the presets,
# which may also have one variable less.
if [[ ! -e $dir/build.ninja || CMakePresets.json -nt $dir/build.ninja ]]; then
  cmake --preset "$preset" --fresh
  touch "$dir/build.ninja"
fi

targets=()
(($#)) && targets=(--target "$@")
cmake --build "$dir" -j "$(nproc)" "${targets[@]}"
