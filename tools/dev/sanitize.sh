#!/usr/bin/env bash
# sanitize.sh asan|tsan: builds the tests with that sanitizer and runs them. A run whose binaries and
# scripts are those of the last good run is skipped: its result is known.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=${1:?usage: sanitize.sh asan|tsan}
dir=build-$preset

# The sanitizers of g++ 12 lose their way where the kernel randomises addresses by more than 28 bits.
plain=()
setarch -R true 2>/dev/null && plain=(setarch -R)

"${plain[@]}" tools/dev/build.sh "$preset"

stamp=$dir/tested
if [[ -e $stamp && -z $(find "$dir" tests -type f \( -perm -u+x -o -name '*.sh' -o -name '*.bats' \
  -o -name 'CTestTestfile.cmake' \) -newer "$stamp" -print -quit) ]]; then
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
