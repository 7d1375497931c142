#!/usr/bin/env bash
# headers_test.sh INCLUDE_DIR: each public header compiles alone, and without a warning under strict
# flags: C headers as C99 and as C++, all headers as C++20, by g++ and by clang.
set -euo pipefail

include=${1:?usage: headers_test.sh INCLUDE_DIR}
# Excluded from -Weverything: warnings about C++98, about C++ itself, about padding, about
# interfaces.
everything=(-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-padded
  -Wno-weak-vtables -Wno-unknown-warning-option -Wno-pragma-once-outside-header)
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef)
cxx=(-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wuseless-cast -Wextra-semi
  -Wsuggest-override)

cd "$include"
# check COMPILER...: compiles the source on stdin.
check() {
  "$@" -Werror -fsyntax-only -I. - || { echo "headers_test: $*" >&2; exit 1; }
}

# wq/prometheus.h includes headers of another project.
mapfile -t headers < <(printf '%s\n' wq/*.h wq/c/*.h | grep -v prometheus)
for header in "${headers[@]}"; do
  check g++ -x c++ -std=c++20 "${strict[@]}" "${cxx[@]}" <<<"#include \"$header\""
done
for header in wq/wq.h wq/c/*.h; do
  check gcc -x c -std=c99 -pedantic "${strict[@]}" -Wc++-compat <<<"#include \"$header\""
done
if command -v clang >/dev/null; then
  check clang -x c -std=c99 "${everything[@]}" <<<'#include "wq/wq.h"'
  check clang++ -x c++ -std=c++20 "${everything[@]}" < <(printf '#include "%s"\n' "${headers[@]}")
fi
