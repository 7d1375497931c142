#!/usr/bin/env bash
# run_tests.sh release|asan|tsan: builds that preset and runs its tests. A run whose binaries and scripts
# are those of the last good run is skipped: its result is known.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: run_tests.sh release|asan|tsan}
dir=build-$preset
looked_at=(tests examples)
plain=()
targets=()  # All.
# What the tests of this preset's labels need.
[[ $preset != tsan ]] || targets=(engine_tests c_tests c_calls server_tests wqctl set_cursor)
if [[ $preset == release ]]; then
  dir=build
  looked_at+=(README.md docs include bindings)  # The house rules and the Go tests look at these.
else
  # The sanitizers of g++ 12 lose their way where the kernel randomises addresses by more than 28 bits.
  setarch -R true 2>/dev/null && plain=(setarch -R)
fi

"${plain[@]}" tools/dev/build.sh "$preset" "${targets[@]}"

stamp=$dir/tested
changed() {
  find "$dir" -type f \( -perm -u+x -o -name CTestTestfile.cmake \) -newer "$stamp" -print -quit
  find "${looked_at[@]}" -type f \( -name '*.sh' -o -name '*.bats' -o -name '*.md' -o -name '*.h' -o -name '*.go' \) \
    -newer "$stamp" -print -quit
}
if [[ -e $stamp && -z $(changed) ]]; then
  echo "$preset: nothing changed since the last good run: $(cat "$stamp")"
  exit 0
fi
rm -f "$stamp"
# Anything changed while the tests run must be newer than the stamp.
touch "$dir/started"
log=$dir/tested.log
"${plain[@]}" ctest --preset "$preset" -j "$(nproc)" 2>&1 | tee "$log"
grep 'tests passed' "$log" >"$stamp.new"
touch -r "$dir/started" "$stamp.new"
mv "$stamp.new" "$stamp"
