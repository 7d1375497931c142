#!/usr/bin/env bash
# torture.sh [HOURS]: long runs of the tests that kill, fail and damage stores, one part after the
# other, each for its share of HOURS (1), with new seeds. Prints a table at the end, and exits with
# 1 if any part failed.
#
# TORTURE_SEED is the first seed, from which the seeds of all runs follow. TORTURE_PARTS="kill
# power" runs these parts only. The output of each part is kept in build/torture/.
set -euo pipefail
cd "$(dirname "$0")/../.."

hours=${1:-1}
if ! awk -v h="$hours" 'BEGIN { exit !(h + 0 > 0) }'; then
  echo "HOURS is '$hours', not a number above 0" >&2
  exit 2
fi
seconds=$(awk -v h="$hours" 'BEGIN { printf "%d", h * 3600 }')
first_seed=${TORTURE_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
logs=build/torture
rm -rf "$logs"
mkdir -p "$logs"

tests=build/tests
gtest() { "$tests/$1" --gtest_brief=1 --gtest_color=no "${@:2}"; }

# upto MOST SECONDS RATE: the number of repetitions in SECONDS at RATE a second, at most MOST.
upto() { echo $(($2 * $3 < $1 ? $2 * $3 : $1)); }

# Part NAME is the function torture_NAME SEED SECONDS. It runs for about SECONDS at most, and is
# repeated until the part's time is over. It prints lines "total: 12 kills, 34 calls". The mutants
# ignore SECONDS.
torture_model() {
  WQ_SEED=$1 WQ_MODEL_CALLS=$(upto 3000000 "$2" 20000) gtest model_tests
}
torture_kill() {
  WQ_SEED=$1 WQ_KILL_ROUNDS=${WQ_KILL_ROUNDS:-$(upto 500 "$2" 5)} gtest crash_tests --gtest_filter=-SoakTest.*
}
torture_server() {
  WQ_SEED=$1 WQ_SERVER_KILLS=${WQ_SERVER_KILLS:-$(upto 2000 "$2" 4)} \
    WQ_PARTITION_EVENTS=200 gtest server_kill_tests
}
torture_power() {
  local every=  # Empty: at random calls.
  if (($1 % 3 == 0)); then every=1; fi
  WQ_SEED=$1 WQ_POWER_CUTS=${WQ_POWER_CUTS:-$(upto 1000 "$2" 15)} WQ_POWER_EVERY=$every \
    gtest power_tests
}
torture_faults() {
  local every=7 tries=60
  if (($2 < 300)); then every=15 tries=4; fi
  if (($2 >= 3000 && $1 % 4 == 0)); then every=1 tries=0; fi  # Every call.
  WQ_SEED=$1 WQ_FAULT_EVERY=$every WQ_CALL_TRIES=$tries gtest faults_tests
}
torture_soak() { WQ_SEED=$1 WQ_SOAK_SECONDS=$((($2 + 1) / 2)) gtest crash_tests --gtest_filter='SoakTest.*'; }
torture_threads() {
  WQ_SEED=$1 WQ_STRESS_ROUNDS=$(upto 300 "$2" 2) \
    gtest engine_tests --gtest_filter='*Concurrency*'
}
torture_corruption() {
  WQ_SEED=$1 WQ_CORRUPTION_CASES=$(upto 20000 "$2" 100) gtest corruption_tests
}
torture_fuzzers() { tools/dev/fuzz.sh $(($2 / $(find tests/fuzz -name '*_fuzz.cc' | wc -l) + 1)); }
torture_mutants() { tests/mutants/run.sh; }

# The parts that end by themselves run once.
once=' fuzzers mutants soak '

# Each part's name and weight: the time is divided in proportion to the weights.
parts=(model 2 kill 4 server 3 power 3 faults 3 threads 1 corruption 2 fuzzers 2 mutants 2 soak 3)
wanted=" ${TORTURE_PARTS:-model kill server power faults threads corruption fuzzers mutants soak} "

names=() weights=() all=0
for ((i = 0; i < ${#parts[@]}; i += 2)); do
  name=${parts[i]}
  [[ $wanted == *" $name "* ]] || continue
  names+=("$name") weights+=("${parts[i + 1]}")
  all=$((all + parts[i + 1]))
done
((all > 0)) || { echo "there is no such part: $wanted" >&2; exit 2; }

# totals LOG: the sums of the numbers in its "total:" lines, by what they count.
totals() {
  sed -n 's/^.*total: //p' "$1" | tr ',' '\n' | awk '
    { n = $1; $1 = ""; sub(/^ +/, "")
      if (n !~ /^[0-9]+$/) next
      if (!($0 in sum)) order[++kinds] = $0
      sum[$0] += n }
    END {
      for (i = 1; i <= kinds; ++i) printf "%s%d %s", (i > 1 ? ", " : ""), sum[order[i]], order[i]
    }'
}

table=() failures=0
for ((i = 0; i < ${#names[@]}; ++i)); do
  name=${names[i]}
  share=$((seconds * weights[i] / all))
  log=$logs/$name.log
  started=$SECONDS runs=0 seed=$first_seed verdict=ok
  printf '=== %s, %d s, seeds from %s\n' "$name" "$share" "$seed"
  while :; do
    runs=$((runs + 1))
    if ! "torture_$name" "$seed" "$share" >>"$log" 2>&1; then
      verdict=VIOLATED
      failures=$((failures + 1))
      tail -n 40 "$log"
      break
    fi
    if [[ $once == *" $name "* ]] || ((SECONDS - started >= share)); then break; fi
    seed=$(((seed * 1103515245 + 12345) % 4294967296))
  done
  table+=("$(printf '%-11s %-9s %6d s %5d runs  seeds %s..%s  %s' "$name" "$verdict" \
    $((SECONDS - started)) "$runs" "$first_seed" "$seed" "$(totals "$log")")")
done

result="nothing was violated"
((failures == 0)) || result="$failures parts VIOLATED"
printf '\n=== torture: %s in %d s\n' "$result" "$SECONDS"
printf '%s\n' "${table[@]}"
((failures == 0))
