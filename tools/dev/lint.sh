#!/usr/bin/env bash
# lint.sh [--tests]: formatting, shell scripts, and a build by clang with its thread-safety analysis and
# clang-tidy as errors. Ninja keeps what is clean: only changed files are looked at again. The
# tests take longer than all else, so they are left out unless --tests is given.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/dev/sources.sh | xargs clang-format --dry-run --Werror
find . -path './build*' -prune -o \( -name '*.sh' -o -path './.ci/run' \) -type f -print0 |
  xargs -0 shellcheck
tests=OFF
[[ ${1:-} != --tests ]] || tests=ON
cmake --preset clang-thread-safety -DWQ_TESTS=$tests >/dev/null
tools/dev/build.sh clang-thread-safety
echo "lint: clean"
