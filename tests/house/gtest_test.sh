#!/usr/bin/env bash
# gtest_test.sh GTEST_SH: runs GTEST_SH on a script that behaves as a binary of GoogleTest with five
# tests: one passes, one fails, one ends the process, one is skipped, and one is behind them all.
set -euo pipefail
gtest=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/fake_tests" <<'FAKE'
#!/usr/bin/env bash
if [[ $1 == --gtest_list_tests ]]; then
  printf 'Fake.  # TypeParam = int\n  Passes\n  Fails\n  Crashes\n  DISABLED_Never\n  Skips/0  # GetParam() = 1\n  Last\n'
  exit
fi
flags=${1#--gtest_flagfile=}
IFS=: read -ra tests < <(sed 's/--gtest_filter=//' "$flags")
code=0
for name in "${tests[@]}"; do
  echo "[ RUN      ] $name"
  case $name in
    *Fails) printf 'it is wrong[  FAILED  ] %s, where GetParam() = 2 (0 ms)\n' "$name"; code=1 ;;
    *Crashes) echo 'it crashes'; kill -SEGV $$ ;;
    *Skips*) echo "[  SKIPPED ] $name (0 ms)" ;;
    *) echo "of a test that passes"; echo "[       OK ] $name (0 ms)" ;;
  esac
done
exit $code
FAKE
chmod +x "$work/fake_tests"

# expect WHAT FILE: the file has the lines of stdin.
expect() { diff "$2" - || { echo "gtest_test.sh: $1 differs from what is expected" >&2; exit 1; }; }

code=0
RESULTS=$work "$gtest" "$work/fake_tests" 1/1 >"$work/output" || code=$?
((code == 1)) || { echo "gtest_test.sh: exit status $code although tests fail" >&2; exit 1; }
expect 'the output' "$work/output" <<END
[ RUN      ] Fake.Fails
it is wrong[  FAILED  ] Fake.Fails, where GetParam() = 2 (0 ms)
[ RUN      ] Fake.Crashes
it crashes
It ended the process, or hung.
$work/fake_tests --gtest_filter=Fake.Fails
$work/fake_tests --gtest_filter=Fake.Crashes
2 passed, 2 failed, 1 skipped
END
expect 'the result' "$work/fake_tests.1" <<END
2 passed, 2 failed, 1 skipped
$work/fake_tests --gtest_filter=Fake.Fails
$work/fake_tests --gtest_filter=Fake.Crashes
END

# The first and the fourth; the second and the last are of the other shard, as is what fails.
"$gtest" "$work/fake_tests" 1/3 >"$work/output"
expect 'the output of a shard' "$work/output" <<<'1 passed, 0 failed, 1 skipped'

# One that runs another test than it is told ends.
sed -i 's/^for name in .*/for name in Fake.Other; do/' "$work/fake_tests"
! "$gtest" "$work/fake_tests" 1/1 >"$work/output" 2>&1 ||
  { echo 'gtest_test.sh: a binary that runs other tests passes' >&2; exit 1; }

printf '#!/bin/sh\n' >"$work/fake_tests"
! "$gtest" "$work/fake_tests" 1/1 None.* 2>/dev/null ||
  { echo 'gtest_test.sh: a filter without a test passes' >&2; exit 1; }
