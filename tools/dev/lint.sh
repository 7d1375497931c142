#!/usr/bin/env bash
# lint.sh: checks the formatting and the shell scripts, builds with clang, with the
# findings of its thread-safety analysis and of clang-tidy as errors, and checks the types of the
# Python package with mypy. Ninja checks only what has changed since.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/sources.sh | xargs clang-format --dry-run --Werror
find . -path './build*' -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -print0 |
  xargs -0 shellcheck
cmake --preset clang-thread-safety --fresh >/dev/null
cmake --build build-clang-thread-safety -j "$(nproc)" -- -k 0  # All that it finds.
(
  root=$PWD
  cd build-clang-thread-safety/python  # Its cache stays there, too.
  mypy --no-error-summary --config-file "$root/bindings/python/mypy.ini" wq
)
echo "lint: clean"
