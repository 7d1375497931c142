#!/usr/bin/env bash
# sanitize.sh asan|tsan: builds that preset, and runs its tests, each binary as one test.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: sanitize.sh asan|tsan}
targets=(all deep)
# What the tests of this preset's labels need.
[[ $preset != tsan ]] ||
  targets=({engine,replication,c,server,http,history}_binaries c_calls wqctl)
# The sanitizers of g++ 12 fail where the kernel randomises addresses by more than 28 bits.
plain=()
setarch -R true 2>/dev/null && plain=(setarch -R)
"${plain[@]}" tools/dev/build.sh "$preset" "${targets[@]}"
"${plain[@]}" ctest --preset "$preset" --parallel "$(nproc)"
