#!/usr/bin/env bash
# run_tests_test.sh RUN_TESTS_SH: runs RUN_TESTS_SH on a build whose tests end in every way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools/dev" "$work/build"
cp "$1" "$work/tools/dev/run_tests.sh"
unset CI FORCE RESULTS "${!WQ_@}"

cat >"$work/build/CTestTestfile.cmake" <<'TESTS'
add_test(good.Test /bin/true)
add_test(idle.Test sh -c "exit 77")
set_tests_properties(idle.Test PROPERTIES SKIP_RETURN_CODE 77)
add_test(bad.Test /bin/false)
add_test(missing.Test /none/program)
add_test(missing.Other /bin/true)
TESTS

# expect WHAT: it fails, and ends with the lines of stdin.
expect() {
  local code=0
  "$work/tools/dev/run_tests.sh" >"$work/output" 2>&1 || code=$?
  ((code == 1)) || { echo "run_tests_test.sh: $1: exit status $code" >&2; exit 1; }
  sed -n '/^Failed/,$p' "$work/output" >"$work/last"
  diff "$work/last" - || { echo "run_tests_test.sh: $1 differs from what is expected" >&2; exit 1; }
}
expect 'the first run' <<'END'
Failed; each of these commands runs one alone:
  ctest --preset release -R '^bad\.Test$'
  ctest --preset release -R '^missing\.Test$'
2 passed, 2 failed, 1 skipped
END
# Only what was good is not run again.
expect 'the second run' <<'END'
Failed; each of these commands runs one alone:
  ctest --preset release -R '^bad\.Test$'
  ctest --preset release -R '^missing\.Test$'
1 passed, 2 failed, 2 skipped
END
# It is if it is told something else, and the commands say what the tests were told.
sed -i 's|/bin/true|/bin/true more|; /^add_test(missing/d' "$work/build/CTestTestfile.cmake"
export WQ_SEED=7
expect 'the third run' <<'END'
Failed; each of these commands runs one alone:
  WQ_SEED=7 ctest --preset release -R '^bad\.Test$'
1 passed, 1 failed, 1 skipped
END
