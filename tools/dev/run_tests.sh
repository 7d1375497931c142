#!/usr/bin/env bash
# run_tests.sh: runs the tests of `make test` that are built in build/, all of them whatever fails,
# lists those that failed with the command that runs one alone, and ends with the line
# "N passed, N failed, N skipped".
#
# A suite is the tests whose names begin with its name and a dot. If its programs, what they read and
# the variables WQ_* are those of its last good run, its tests are skipped, which is said. With CI=true
# or FORCE=1 all run. Skipped is, too, what needs something that this machine has not.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests=(ctest --test-dir build --label-exclude '^deep$')
known=build/passed  # A file for each suite: the hash of its last good run.
mkdir -p "$known"

# What the tests of a suite read, besides their programs and their own folder.
reads_of() { # reads_of SUITE
  case $1 in
    house) echo . ;;
    docs) echo README.md docs bindings/go/README.md ;;
    examples) echo README.md docs examples ;;
    go) echo bindings/go include build/packaging ;;
    package) echo include build/packaging ;;
    python) echo build/python examples ;;
    history | storage | wqctl) echo tests/wqctl/stores ;;
  esac
}

# Prints the hash of all that the result of the suite depends on. Stdin: its programs.
hash_of() { # hash_of SUITE
  local files=()
  mapfile -t files < <(
    cat
    # shellcheck disable=SC2046
    find "tests/$1" build/tests/*_child $(reads_of "$1") -path ./.git -prune -o -path './build*' -prune -o \
      -path ./tests/mutants -prune -o -type f -print 2>/dev/null
  )
  {
    env | grep '^WQ_' || true
    printf '%s\n' "${files[@]}" | sort -u | xargs -d '\n' sha256sum
  } | sort | sha256sum | cut -d' ' -f1
}

"${tests[@]}" --show-only=json-v1 >build/tests.json
# A line for each program of a test: the suite and the path.
jq -r '.tests[] | (.name | split(".")[0]) as $suite
  | (.command[]?, (.properties[] | select(.name == "ENVIRONMENT") | .value[]? | split("=")[1:] | join("=")))
  | select(startswith("/")) | $suite + "\t" + .' build/tests.json | sort -u >build/programs
mapfile -t suites < <(jq -r '.tests[].name | split(".")[0]' build/tests.json | sort -u)

skipped=0
run=()
declare -A hashes
for suite in "${suites[@]}"; do
  hashes[$suite]=$(while IFS=$'\t' read -r of program; do
    [[ $of != "$suite" || ! -f $program ]] || echo "$program"
  done <build/programs | hash_of "$suite")
  if [[ -z ${CI:-} && -z ${FORCE:-} && -e $known/$suite && $(<"$known/$suite") == "${hashes[$suite]}" ]]; then
    count=$(jq --arg suite "$suite." '[.tests[].name | select(startswith($suite))] | length' build/tests.json)
    skipped=$((skipped + count))
    echo "$suite: $count tests are skipped: all that they depend on is as in their last good run"
  else
    run+=("$suite")
    rm -f "$known/$suite"
  fi
done

results=build/tests.xml
failed=()
if ((${#run[@]})); then
  rm -f build/Testing/Temporary/LastTestsFailed.log "$results"
  "${tests[@]}" --tests-regex "^($(IFS='|' && echo "${run[*]}"))\\." --parallel "$(nproc)" --progress \
    --output-on-failure --output-junit "$PWD/$results" || true
  [[ -s $results ]] || { echo 'run_tests.sh: ctest wrote no results' >&2; exit 2; }
  [[ ! -e build/Testing/Temporary/LastTestsFailed.log ]] ||
    mapfile -t failed < <(cut -d: -f2- build/Testing/Temporary/LastTestsFailed.log)
fi
count() { # count ATTRIBUTE: of the results
  [[ ! -e $results || ${#run[@]} == 0 ]] && { echo 0; return; }
  grep -m 1 -oE "\\b$1=\"[0-9]+\"" "$results" | grep -oE '[0-9]+'
}
idle=$(($(count skipped) + $(count disabled)))
passed=$(($(count tests) - ${#failed[@]} - idle))
for suite in "${run[@]}"; do
  printf '%s\n' "${failed[@]}" | grep -q "^$suite\\." || echo "${hashes[$suite]}" >"$known/$suite"
done

if ((${#failed[@]})); then
  echo
  echo 'Failed; the command behind each runs it alone:'
  for name in "${failed[@]}"; do
    printf '  %s    ctest --preset release -R %q\n' "$name" "^${name//./\\.}\$"
  done
fi
echo "$passed passed, ${#failed[@]} failed, $((skipped + idle)) skipped"
((${#failed[@]} == 0 && passed + skipped > 0))
