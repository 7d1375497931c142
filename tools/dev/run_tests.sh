#!/usr/bin/env bash
# run_tests.sh release|asan|tsan: builds that preset and runs its tests. If no binary and no file
# that the tests read has changed since the last run that passed, the tests are skipped: the result
# is known.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: run_tests.sh release|asan|tsan}
dir=build-$preset
watched=(tests examples)
compiled=(-name '*.cc' -o -name '*.c')  # Not watched: their binaries are.
plain=()
targets=()  # All.
# What the tests of this preset's labels need.
[[ $preset != tsan ]] ||
  targets=({engine,replication,c,server,http,history}_binaries c_calls wqctl set_cursor)
if [[ $preset == release ]]; then
  dir=build
  watched=(.)  # The house rules read the whole tree, with base, storage, engine, server and tools.
  compiled=(-false)
else
  # The sanitizers of g++ 12 fail where the kernel randomises addresses by more than 28 bits.
  setarch -R true 2>/dev/null && plain=(setarch -R)
fi

"${plain[@]}" tools/dev/build.sh "$preset" "${targets[@]}"

stamp=$dir/tested
changed() {
  find "$dir" -type f \( -perm -u+x -o -name CTestTestfile.cmake \) -newer "$stamp" -print -quit
  find "${watched[@]}" \( -path ./.git -o -path './build*' \) -prune -o \
    -type f ! \( "${compiled[@]}" \) -newer "$stamp" -print -quit
}
if [[ -e $stamp && -z $(changed) ]]; then
  echo "$preset: nothing changed since the last good run: $(cat "$stamp")"
  exit 0
fi
rm -f "$stamp"
# A file that changes while the tests run must be newer than the stamp.
touch "$dir/started"
log=$dir/tested.log
"${plain[@]}" ctest --preset "$preset" -j "$(nproc)" 2>&1 | tee "$log"
grep 'tests passed' "$log" >"$stamp.new"
touch -r "$dir/started" "$stamp.new"
mv "$stamp.new" "$stamp"
