#!/usr/bin/env bash
# headers_test.sh INCLUDE_DIR: each public header compiles alone, and without a warning under strict
# flags: C headers as C99 and as C++, all headers as C++20, by g++ and by clang. As C++17 the first
# error names C++20.
set -euo pipefail

include=${1:?usage: headers_test.sh INCLUDE_DIR}
# Excluded from -Weverything: compatibility with C++98, and padding.
everything=(-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-padded)
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef)
cxx=(-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wuseless-cast -Wextra-semi
  -Wsuggest-override)

cd "$include"
# check HEADER COMPILER...: compiles an empty source that includes the header.
check() {
  local header=$1
  shift
  "$@" -Werror -fsyntax-only -I. -include "$header" /dev/null ||
    { echo "headers_test: $header: $*" >&2; exit 1; }
}

clang=no
! command -v clang >/dev/null || clang=yes
for header in wq/*.h wq/c/*.h; do
  check "$header" g++ -x c++ -std=c++20 "${strict[@]}" "${cxx[@]}"
done
for header in wq/wq.h wq/c/*.h; do
  check "$header" gcc -x c -std=c99 -pedantic "${strict[@]}" -Wc++-compat
  check "$header" g++ -x c++ -std=c++11 "${strict[@]}" "${cxx[@]}"
done
# That each header compiles alone is known by now, so clang gets all of them at once.
if [[ $clang == yes ]]; then
  all=$(mktemp --suffix=.h)
  trap 'rm -f "$all"' EXIT
  printf '#include "%s"\n' wq/wq.h wq/c/*.h >"$all"
  check "$all" clang -x c -std=c99 "${everything[@]}"
  printf '#include "%s"\n' wq/*.h >>"$all"
  check "$all" clang++ -x c++ -std=c++20 "${everything[@]}"
fi

for header in wq/*.h; do
  [[ $header != wq/wq.h && $header != wq/export.h ]] || continue
  first=$(g++ -x c++ -std=c++17 -fsyntax-only -fmax-errors=1 -I. -include "$header" /dev/null 2>&1 |
    grep -m 1 'error:' || true)
  [[ $first == *'wq needs C++20'* ]] ||
    { echo "headers_test: $header: the first error as C++17: $first" >&2; exit 1; }
done
