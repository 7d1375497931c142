#!/usr/bin/env bash
# check.sh [STEP...]: what is deep or slow, and no part of `make test`: all steps, or those named. A
# step that fails does not stop the others. A step that passed is not run again while the files that
# it depends on stay as they were; FORCE=1 runs it all the same. The output of each is kept in
# build-check/, and its last line is "N passed, N failed, N skipped", in steps.
#
# WQ_SEED is drawn and printed, unless it is set.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
export WQ_SEED=${WQ_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}

kept=build-check
mkdir -p "$kept"
library='base storage engine include proto bindings/c server CMakeLists.txt CMakePresets.json tools/dev'
product="$library bindings tools packaging"

# --- The steps: what each depends on, and what it runs ---

# The deep tests of the Release build whose names begin with one of the words and a dot.
deep() {
  tools/dev/build.sh release all deep &&
    ctest --test-dir build -L '^deep$' -R "^($(IFS='|' && echo "$*"))\\." --no-tests=error \
      --parallel "${JOBS:-1}" --output-on-failure
}

# The files of a step. Its command is below; the steps are in the order of their time.
files_of() { # files_of STEP
  case $1 in
    seeds) echo "$product tests examples docs README.md" ;;
    lint | plain) echo "$product tests examples .clang-format .clang-tidy" ;;
    asan | tsan) echo "$library tools tests" ;;
    mutants) echo "$library tools tests" ;;
    packages) echo "$product docs README.md tests/package examples/readme" ;;
    go | controllerruntime) echo "$library tools bindings/go tests/go tools/bench" ;;
    page) echo "$library tools tests/page tests/support" ;;
    prometheus) echo "$library tools packaging tests/prometheus" ;;
    docs) echo "$product README.md docs tests/docs bindings/go/README.md" ;;
    wqctl) echo "$library tools tests/wqctl" ;;
    examples) echo "$library examples tests/mirror tests/support" ;;
    bench) echo "$library tools/bench" ;;
    *) echo "$library tests" ;;
  esac
}
steps=(lint plain docs wqctl examples go controllerruntime page prometheus packages engine etcd failover
  server fuzz bench seeds asan tsan mutants)
run_lint() { tools/dev/lint.sh; }
run_plain() { tools/dev/build.sh dev all deep; }  # Each source by itself, with the library's checks.
run_seeds() {  # With more of everything than in `make test`.
  export WQ_MODEL_CALLS=1000000 WQ_FAILED_STORE_CALLS=20000 WQ_SIM_SCHEDULES=20000 \
    WQ_KILL_ROUNDS=270 WQ_POWER_CUTS=330 WQ_CORRUPTION_CASES=4500 WQ_FAULT_TRIES=24 WQ_CALL_TRIES=6
  tools/dev/build.sh release && FORCE=1 tools/dev/run_tests.sh
}
run_asan() { tools/dev/sanitize.sh asan; }
run_tsan() { tools/dev/sanitize.sh tsan; }
run_mutants() { tests/mutants/run.sh; }
run_wqctl() { JOBS=2 deep wqctl; }
run_packages() { deep package; }
run_engine() { deep crash engine faults history replication storage; }
run_server() { deep server_kill server http rpc; }
run_examples() { deep examples mirror; }
run_step() {  # run_step STEP: the step's own function, or the deep tests of its name
  if declare -F "run_$1" >/dev/null; then "run_$1"; else deep "$1"; fi
}

# --- Running them ---

# Prints the hash of the step's files.
hash_of() { # hash_of STEP
  # shellcheck disable=SC2046
  find $(files_of "$1") -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

wanted=("$@")
((${#wanted[@]})) || wanted=("${steps[@]}")
for step in "${wanted[@]}"; do
  [[ " ${steps[*]} " == *" $step "* ]] ||
    { echo "check.sh: there is no step $step; the steps are ${steps[*]}" >&2; exit 2; }
done
tools/dev/deps.sh check || exit 1
# A build that was configured for `make test` finds what was installed only now.
[[ ! -e build/build.ninja ]] || cmake build >/dev/null || exit 1

echo "WQ_SEED=$WQ_SEED"
passed=0 failed=() skipped=0
for step in "${wanted[@]}"; do
  hash=$(hash_of "$step")
  if [[ -z ${FORCE:-} && -e $kept/$step.passed && $(<"$kept/$step.passed") == "$hash" ]]; then
    printf '  %-17s         passed before, with the same files\n' "$step"
    skipped=$((skipped + 1))
    continue
  fi
  rm -f "$kept/$step.passed"
  start=$SECONDS
  if (run_step "$step") >"$kept/$step.log" 2>&1; then
    echo "$hash" >"$kept/$step.passed"
    passed=$((passed + 1))
    result=passed
  else
    failed+=("$step")
    result=FAILED
  fi
  printf '  %-17s %5d s  %s\n' "$step" $((SECONDS - start)) "$result"
done
for step in "${failed[@]}"; do
  echo "failed: $step; its output is $kept/$step.log; alone: WQ_SEED=$WQ_SEED make check STEP=$step"
done
echo "$passed passed, ${#failed[@]} failed, $skipped skipped"
((${#failed[@]} == 0))
