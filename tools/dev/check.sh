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

# --- The steps: what each depends on, and what it runs ---

# The deep tests of the suites of the Release build.
deep() { # deep SUITE...
  local suite result=0
  tools/dev/build.sh release all deep || return
  for suite; do
    ctest --test-dir build -L '^deep$' -R "^$suite\\." --no-tests=error --parallel "${JOBS:-1}" \
      --output-on-failure || result=1
  done
  return "$result"
}

# The files that a step depends on: more rather than fewer. Only the pages are left out of some.
files_of() { # files_of STEP
  echo base storage engine include proto server bindings tools packaging tests examples \
    CMakeLists.txt CMakePresets.json .ci .clang-format .clang-tidy
  [[ $1 =~ ^(lint|plain|page|bench|tsan|mutants)$ ]] || echo docs README.md CHANGELOG.md Makefile
}

# A step is the function run_STEP, or else the deep tests of the suite STEP.
steps=(lint plain docs wqctl mirror go controllerruntime page prometheus package engine etcd failover
  server fuzz bench seeds asan tsan mutants)
run_lint() { tools/dev/lint.sh; }
run_plain() { tools/dev/build.sh dev all deep; }
run_seeds() {  # With more of everything than in `make test`.
  export WQ_MODEL_CALLS=1000000 WQ_FAILED_STORE_CALLS=20000 WQ_SIM_SCHEDULES=20000 \
    WQ_KILL_ROUNDS=270 WQ_POWER_CUTS=330 WQ_CORRUPTION_CASES=4500 WQ_FAULT_TRIES=24 WQ_CALL_TRIES=6
  tools/dev/build.sh release && FORCE=1 tools/dev/run_tests.sh
}
run_asan() { tools/dev/sanitize.sh asan; }
run_tsan() { tools/dev/sanitize.sh tsan; }
run_mutants() { tests/mutants/run.sh; }
run_wqctl() { JOBS=2 deep wqctl; }
run_engine() { deep crash engine faults history; }
run_server() { deep server_kill http rpc; }
run_step() { # run_step STEP
  if declare -F "run_$1" >/dev/null; then "run_$1"; else deep "$1"; fi
}

# --- Running them ---

# Prints the hash of the step's files.
hash_of() { # hash_of STEP
  # shellcheck disable=SC2046
  find $(files_of "$1") -name __pycache__ -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

wanted=("$@")
((${#wanted[@]})) || wanted=("${steps[@]}")
for step in "${wanted[@]}"; do
  [[ " ${steps[*]} " == *" $step "* ]] ||
    { echo "check.sh: there is no step $step; the steps are ${steps[*]}" >&2; exit 2; }
done
tools/dev/deps.sh check || { echo '0 passed, 1 failed, 0 skipped'; exit 1; }
# A build that was configured for `make test` finds what was installed only now: build.sh configures
# one again that is older than the presets.
[[ ! -e build/build.ninja ]] || touch -d @0 build/build.ninja

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
  if ! (run_step "$step") >"$kept/$step.log" 2>&1; then
    failed+=("$step")
    result=FAILED
  elif grep -q 'tests did not run:' "$kept/$step.log"; then
    skipped=$((skipped + 1))
    result="skipped in part, as something is missing: $kept/$step.log"
  else
    echo "$hash" >"$kept/$step.passed"
    passed=$((passed + 1))
    result=passed
  fi
  printf '  %-17s %5d s  %s\n' "$step" $((SECONDS - start)) "$result"
done
for step in "${failed[@]}"; do
  echo "failed: $step; its output is $kept/$step.log; alone: WQ_SEED=$WQ_SEED make check STEP=$step"
done
echo "$passed passed, ${#failed[@]} failed, $skipped skipped"
((${#failed[@]} == 0))
