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

# The user's own settings, which name stores, logs and proxies, are none of the tests.
unset WQ_CONFIG WQ_STORE WQ_OUTPUT WQ_TIMES WQ_COLOR WQ_PROGRESS WQ_REPLICATE WQ_REPLICA WQ_LEASE \
  "${!WQ_ETCD_@}" http_proxy https_proxy grpc_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export XDG_CONFIG_HOME=$PWD/build/no-settings

tests=(ctest --test-dir build --label-exclude '^deep$')
known=build/passed  # A file for each suite: the hash of its last good run.
mkdir -p "$known"

# What the tests of a suite read, besides their programs and their own folder.
reads_of() { # reads_of SUITE
  case $1 in
    house) echo . ;;
    docs) echo README.md docs bindings/go/README.md tests/{package,python,wqctl} ;;
    examples) echo examples ;;
    go) echo bindings/go include proto build/packaging build/wqctl ;;
    package) echo include build/packaging ;;
    python) echo build/python examples docs/python.md ;;
    wqctl) echo docs/wqctl.md ;;
  esac
}

# Prints the hash of all that the result of the suite depends on. Stdin: its programs. What a machine
# lacks makes a test skip itself, so a suite with such a test has no good run.
hash_of() { # hash_of SUITE
  local files=()
  mapfile -t files < <(
    cat
    # shellcheck disable=SC2046
    find "tests/$1" build/tests/*_child $(reads_of "$1") -path ./.git -prune -o -path './build*' -prune -o \
      -name __pycache__ -prune -o \
      -type f -print 2>/dev/null
  )
  {
    env | grep '^WQ_' || true
    jq -cS --arg suite "$1" '.tests[] | select(.name | startswith($suite + ".")) | [.name, .command, .properties]' \
      build/tests.json
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
  last=() # The hash of the last good run, and how many tests it had.
  [[ ! -e $known/$suite ]] || read -ra last <"$known/$suite"
  if [[ -z ${CI:-} && -z ${FORCE:-} && ${#last[@]} == 2 && ${last[0]} == "${hashes[$suite]}" ]]; then
    skipped=$((skipped + last[1]))
    echo "$suite: ${last[1]} tests are skipped: all that they depend on is as in their last good run"
  else
    run+=("$suite")
    rm -f "$known/$suite"
  fi
done

export RESULTS=$PWD/build/results  # See gtest.sh.
rm -rf "$RESULTS"
mkdir "$RESULTS"
if ((${#run[@]})); then
  rm -f build/tests.xml
  "${tests[@]}" --tests-regex "^($(IFS='|' && echo "${run[*]}"))\\." --parallel "$(nproc)" --progress \
    --output-on-failure --output-junit "$PWD/build/tests.xml" || true
  [[ -s build/tests.xml ]] || { echo 'run_tests.sh: ctest wrote no results' >&2; exit 2; }
fi

# A line for each test of ctest: its name, and how it ended. ctest writes notrun for a test that says
# that it skips itself, and for one that cannot be started.
results() {
  ((${#run[@]} == 0)) || sed -nE '/<testcase /{
    N
    s/^.*name="([^"]*)" classname.* status="notrun".*<skipped message="SKIP_.*$/\1 skipped/p; t
    s/^.*name="([^"]*)" classname.* status="([a-z]*)".*$/\1 \2/p
  }' build/tests.xml
}
# What the tests were told, for the commands that run one alone.
given=$(env | sed -nE '/^WQ_SEED=1$/d; s/^(WQ_[A-Z_]+=[A-Za-z0-9_.-]+)$/\1 /p' | sort | tr -d '\n')
passed=0 idle=0 failed=()
declare -A counts=() bad=() idles=()
while read -r name status; do
  suite=${name%%.*} of_binary=$RESULTS/${name#*.}
  if [[ -e $of_binary ]]; then
    read -r good _ _ _ idle_here _ <"$of_binary"
    mapfile -t -O "${#failed[@]}" failed < <(tail -n +2 "$of_binary")
  else
    good=0 idle_here=0
    case $status in
      run) good=1 ;;
      skipped) idle_here=1 ;;
      *) failed+=("ctest --preset release -R '^${name//./\\.}\$'") ;;
    esac
  fi
  [[ $status =~ ^(run|skipped)$ ]] || bad[$suite]=1
  passed=$((passed + good)) idle=$((idle + idle_here))
  ((idle_here == 0)) || idles[$suite]=1
  counts[$suite]=$((${counts[$suite]:-0} + good + idle_here))
done < <(results)
for suite in "${run[@]}"; do
  [[ -n ${bad[$suite]:-}${idles[$suite]:-} ]] || echo "${hashes[$suite]} ${counts[$suite]}" >"$known/$suite"
done

if ((${#failed[@]})); then
  printf '\nFailed; each of these commands runs one alone:\n'
  printf '%s\n' "${failed[@]/#/  $given}"
fi
echo "$passed passed, ${#failed[@]} failed, $((skipped + idle)) skipped"
((${#failed[@]} == 0 && ${#bad[@]} == 0 && passed + skipped > 0))
