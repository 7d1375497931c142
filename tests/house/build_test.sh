#!/usr/bin/env bash
# build_test.sh BUILD_SH: tools/dev/build.sh builds a tree that was copied, moved or reached by a
# link after it had been built.
set -euo pipefail

script=$(realpath -- "${1:?usage: build_test.sh BUILD_SH}")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
fail() {
  echo "build_test: $*" >&2
  exit 1
}

# A tree with the presets that the script uses, whose program prints its source directory.
mkdir -p "$scratch/first/tools/dev"
cd "$scratch/first"
cp "$script" tools/dev/
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(copied C)
configure_file(where.h.in where.h @ONLY)
add_executable(where where.c)
target_include_directories(where PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
END
cat >CMakePresets.json <<'END'
{
  "version": 6,
  "configurePresets": [
    { "name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build" }
  ]
}
END
echo '#define WHERE "@CMAKE_CURRENT_SOURCE_DIR@"' >where.h.in
printf '#include <stdio.h>\n#include "where.h"\nint main(void) { return puts(WHERE) < 0; }\n' >where.c

# built DIR: builds in DIR, and prints what the script says about the configuration.
built() {
  local said where
  said=$(cd "$1" && tools/dev/build.sh release 2>&1) || fail "in $1: $said"
  where=$(realpath -- "$("$1/build/where")")
  [[ $where == "$(realpath -- "$1")" ]] || fail "in $1 it built $where"
  grep '^build.sh:' <<<"$said" || true
}

[[ -z $(built "$scratch/first") ]] || fail 'the first build says something'
[[ -z $(built "$scratch/first") ]] || fail 'the second build says something'

cp -r "$scratch/first" "$scratch/copied"
[[ $(built "$scratch/copied") == "build.sh: build is of $scratch/first: it is configured anew" ]] ||
  fail 'the copy does not say that it is configured anew'
[[ -z $(built "$scratch/copied") ]] || fail 'the copy says it again'
[[ $("$scratch/first/build/where") == "$scratch/first" ]] || fail 'the first tree was changed'

mv "$scratch/copied" "$scratch/moved"
[[ $(built "$scratch/moved") == "build.sh: build is of $scratch/copied: it is configured anew" ]] ||
  fail 'the moved tree does not say that it is configured anew'

ln -s "$scratch/moved" "$scratch/link"
[[ -z $(built "$scratch/link") ]] || fail 'a link to the tree counts as another tree'
