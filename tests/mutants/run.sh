#!/usr/bin/env bash
# run.sh: checks that the tests catch bugs. A build has bugs planted (base/mutant.h), the mutants;
# for each of them the tests run, the fast ones first, until one fails. A mutant that no test
# catches is a failure, and so is a test that fails without a mutant.
#
# MUTANTS="forget_lane starve" runs these only. ALL=1 runs all parts on each mutant, and names all
# parts that catch it. The output is kept in build-mutants/caught/.
set -euo pipefail
cd "$(dirname "$0")/../.."
self=tests/mutants/run.sh

build='build-mutants'
logs=$PWD/$build/caught

# BINARY FILTER [NAME=VALUE...], or a file of tests/wqctl: few rounds and fixed seeds; the fastest
# first.
parts=(
  'wqctl_tests *'
  'c/c_tests *'
  'storage_tests ProcessLog*:SingleStep*:ReplicatedStorage*:LocalReplica*:Checkpoint*'
  'replication_tests SimulationTest* WQ_SEED=1 WQ_SIM_SCHEDULES=4000'
  'model_tests *ModelTest* WQ_SEED=1 WQ_MODEL_CALLS=100000'
  'model_tests *FailedStore* WQ_SEED=1 WQ_FAILED_STORE_CALLS=2000'
  'engine_tests Queue*:*Scenario*:Limits*:Restore*:Journal*:OpenBatch*:FailedStore*:Shard*:Tokens*:LeaseKeeper*:HandOut*:Resync*:Sources*:World*'
  'crash_tests *Kill* WQ_SEED=2 WQ_KILL_ROUNDS=30'
  'power_tests PowerCutTest.WhatWasSyncedSurvives WQ_SEED=3 WQ_POWER_CUTS=200'
  'corruption_tests *Flipped* WQ_SEED=1 WQ_CORRUPTION_CASES=300'
  'faults_tests Kinds/*-*WithoutMemory* WQ_SEED=1 WQ_FAULT_EVERY=18'
  'server_tests WorkTest*:Page*:ViewServer*'
  'server_kill_tests *Kill*:PartitionTest.A* WQ_SEED=1 WQ_SERVER_KILLS=60'
  'work.bats'
  'crash_tests SoakTest.* WQ_SEED=1 WQ_SOAK_SECONDS=2'
)

# run_part PART LOG: runs the part's tests; 0 if they pass.
run_part() {
  local words
  read -ra words <<<"$1"
  if [[ $1 == *.bats ]]; then
    WQCTL=$PWD/$build/wqctl timeout 200 bats "tests/wqctl/$1" >"$2" 2>&1
    return
  fi
  timeout 200 env "${words[@]:2}" "$build/tests/${words[0]}" --gtest_filter="${words[1]}" \
    --gtest_fail_fast --gtest_color=no >"$2" 2>&1
}

# failed_test LOG: the first test that failed, or else the test that was running.
failed_test() {
  local name
  name=$(sed -nE 's/^(\[  FAILED  \]|not ok [0-9]+) (.*)/\2/p' "$1" | head -n 1)
  name=${name%%, where*} name=${name% (*)}
  [[ -n $name ]] ||
    name="$(sed -n 's/^\[ RUN      \] //p' "$1" | tail -n 1), which ended the process"
  printf '%s' "$name"
}

# try MUTANT: prints "MUTANT · caught by BINARY/TEST"; 1 if no part caught it. If MUTANT is empty,
# no bug is active, and 1 is the result if any part fails.
try() {
  local mutant=$1 part log caught=() number=0
  for part in "${parts[@]}"; do
    log=$logs/${mutant:-none}.$((++number)).log
    WQ_MUTANT=$mutant run_part "$part" "$log" && continue
    caught+=("${part%% *}/$(failed_test "$log")")
    [[ -n ${ALL:-} ]] || break
  done
  if [[ -z $mutant ]]; then
    ((${#caught[@]} == 0)) || printf 'no mutant · %s fails\n' "${caught[@]}"
    return $((${#caught[@]} > 0))
  fi
  if ((${#caught[@]} == 0)); then
    printf '%s · NOT CAUGHT\n' "$mutant"
    return 1
  fi
  printf '%s · caught by %s' "$mutant" "${caught[0]}"
  ((${#caught[@]} == 1)) || printf ', %s' "${caught[@]:1}"
  printf '\n'
}

if [[ ${1:-} == --one ]]; then
  try "$2"
  exit
fi

targets=()
for part in "${parts[@]}"; do
  target=${part%% *}
  [[ $target != *.bats ]] || target=wqctl
  target=${target##*/}
  [[ " ${targets[*]-} " == *" $target "* ]] || targets+=("$target")
done
tools/dev/build.sh mutants "${targets[@]}"
rm -rf "$logs"
mkdir -p "$logs"

mapfile -t mutants < <(
  grep -rhoE 'WQ_MUTANT\([a-z_]+\)' engine server storage bindings tools tests/support \
    --include='*.cc' --include='*.h' |
    sed 's/WQ_MUTANT(\(.*\))/\1/' | sort -u
)
[[ -z ${MUTANTS:-} ]] || read -ra mutants <<<"$MUTANTS"

# The empty mutant comes first: if a test failed without a bug, "caught" would mean nothing.
result=0
printf '%s\0' '' "${mutants[@]}" | xargs -0 -n 1 -P "$(nproc)" "$self" --one |
  tee "$logs/table" || result=1
count=$(grep -c ' · caught by ' "$logs/table" || true)
printf 'total: %d mutants, %d mutants caught\n' "${#mutants[@]}" "$count"
exit "$result"
