#!/usr/bin/env bash
# demo.sh WQCTL: reconciles every header of this machine with workers that are killed and restarted.
#
# Each file below /usr/include is a key. A key's reconcile step is reconcile.sh: it computes the
# file's checksum, and fails twice for some files. `wqctl work` is killed with SIGKILL at random
# instants and started again. In the end the checksums must be those of sha256sum, and none is lost.
#
# Environment: WQ_DEMO_SEED   chooses the instants; printed, to repeat a run
#              WQ_DEMO_KILLS  how often to kill (4; at least 3)
#              WQ_DEMO_JOBS   parallel workers (one for each processor)
#              WQ_DEMO_ROOT   the files (/usr/include)
set -euo pipefail

wqctl=$(realpath -- "${1:?usage: demo.sh WQCTL}")
reconcile=$(dirname -- "$(realpath -- "$0")")/reconcile.sh
seed=${WQ_DEMO_SEED:-$((SRANDOM % 100000))}
kills=${WQ_DEMO_KILLS:-4}
jobs=${WQ_DEMO_JOBS:-$(nproc)}
root=${WQ_DEMO_ROOT:-/usr/include}

die() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}
((kills >= 3)) || die 'WQ_DEMO_KILLS must be at least 3'

scratch=$(mktemp -d)
worker=
cleanup() {
  [[ -z $worker ]] || kill -KILL "$worker" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

export LC_ALL=C WQ_STORE=$scratch/store WQ_DEMO_DIR=$scratch WQ_DEMO_RUN
mkdir "$scratch/tries"
touch "$scratch"/{sums,handed-out,failed}
RANDOM=$seed

# --- The runs ---

lines() { wc -l <"$1"; }

progress() {
  [[ -t 2 ]] || return 0
  local done=$(($1 < files ? $1 : files)) bar  # A file that is repeated after a kill counts twice.
  printf -v bar '%*s' $((done * 40 / files)) ''
  printf '\r  [%-40s] %d of %d ' "${bar// /#}" "$done" "$files" >&2
}

clear_progress() {
  [[ ! -t 2 ]] || printf '\r%60s\r' '' >&2
}

# Starts a run in the background; its pid is $worker.
start_work() {
  WQ_DEMO_RUN=$1
  started_us=${EPOCHREALTIME/[.,]/}
  "$wqctl" work -q headers -j "$jobs" --base-delay 5ms -- "$reconcile" '{}' \
    2>>"$scratch/work.log" &
  worker=$!
}

# Waits until $1 files are reconciled, or the run has ended. A run without progress has failed.
wait_for_files() {
  local have before=-1 since=$SECONDS
  while have=$(lines "$scratch/sums"); ((have < $1)) && kill -0 "$worker" 2>/dev/null; do
    ((have == before)) || since=$SECONDS
    before=$have
    if ((SECONDS - since > 30)); then
      "$wqctl" inspect -q headers >&2
      die "no file was reconciled for 30 s; $have were; the store's contents are above"
    fi
    progress "$have"
    sleep 0.02
  done
  clear_progress
}

# Waits for the run's end; its exit code is $code.
reap() {
  code=0
  { wait "$worker"; } 2>/dev/null || code=$?
  worker=
}

# The time from the start of run $1 until its first key was handed out. Empty: killed before that.
note_resume() {
  resumed_us=
  [[ -s $scratch/first.$1 ]] || return 0
  resumed_us=$(($(<"$scratch/first.$1") - started_us))
}

milliseconds() { printf '%d.%d ms' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# Reads the counts of the store, which has no owner now: "pending delayed failing".
in_store() {
  "$wqctl" inspect -q headers -o json | jq -r '
    .queues[] | select(.name == "headers")
    | [.pending, .delayed, .failing] | map(. // 0 | tonumber | tostring) | join(" ")'
}

echo "wq demo: every header below $root, $jobs workers, $kills kills, seed $seed"
find "$root" -type f | sort >"$scratch/files"
files=$(lines "$scratch/files")
((files >= 100)) || die "only $files files below $root"

"$wqctl" init
"$wqctl" add -q headers - <"$scratch/files"

# The instants: one kill is within 30 ms of a restart, when the store is being recovered or the
# first keys are handed out; the others are after random numbers of files, one in each of equal
# stretches.
resumes=()
for ((run = 1; run <= kills; ++run)); do
  start_work "$run"
  if ((run == 2)); then
    printf -v pause '0.%03d' $((RANDOM % 30))
  else
    stretch=$((files / (kills + 1)))
    wait_for_files $((stretch * (run - 1) + RANDOM % stretch + 1))
    printf -v pause '0.%03d' $((RANDOM % 20))
  fi
  sleep "$pause"
  kill -KILL "$worker" 2>/dev/null ||
    die "run $run ended by itself; see: $(tail -n 3 "$scratch/work.log")"
  reap
  ((code == 137)) || die "run $run ended with $code before it was killed"
  note_resume "$run"
  ((run == 1)) || [[ -z $resumed_us ]] || resumes+=("$resumed_us")
  read -r pending delayed failing <<<"$(in_store)"
  echo "kill $run: $(lines "$scratch/sums") checksums so far;" \
    "in the store: $pending pending, $delayed delayed, $failing failing"
done

start_work "$((kills + 1))"
wait_for_files $((files * 2))
reap
((code == 0)) || die "the last run ended with $code; see: $(tail -n 3 "$scratch/work.log")"
note_resume "$((kills + 1))"
[[ -z $resumed_us ]] || resumes+=("$resumed_us")

# --- The results ---

tr '\n' '\0' <"$scratch/files" | xargs -0 sha256sum | sort >"$scratch/wanted"
sort -u "$scratch/sums" >"$scratch/have"
lost=$(comm -23 "$scratch/wanted" "$scratch/have" | wc -l)
wrong=$(comm -13 "$scratch/wanted" "$scratch/have" | wc -l)
reconciled=$(comm -12 "$scratch/wanted" "$scratch/have" | wc -l)
retried=$(sort -u "$scratch/failed" | wc -l)
# A hand-out beyond a file's failures and its success is due to a kill.
again=$(sort "$scratch/handed-out" | uniq -c | sed 's/^ *\([0-9]*\) /\1\t/' |
  awk -F '\t' -v failed="$scratch/failed" '
    BEGIN { while ((getline path <failed) > 0) ++failures[path] }
    $1 > failures[$2] + 1 { ++again }
    END { print again + 0 }')
read -r pending delayed failing <<<"$(in_store)"

resume='not measured'
if ((${#resumes[@]})); then
  mapfile -t sorted < <(printf '%s\n' "${resumes[@]}" | sort -n)
  resume="$(milliseconds "${sorted[0]}") to $(milliseconds "${sorted[-1]}")"
fi

row() { printf '  %-36s %s\n' "$1" "$2"; }
echo
row files "$files"
row reconciled "$reconciled"
row lost "$lost"
row 'wrong checksums' "$wrong"
row 'failed twice, then succeeded' "$retried"
row 'handed out more than once by a kill' "$again"
row 'restarts after SIGKILL' "$kills"
row 'time to resume, start to first key' "$resume"
row 'pending, delayed, failing' "$pending, $delayed, $failing"
row seconds "$SECONDS"
echo

((lost == 0 && reconciled == files)) || die "$lost files were lost"
((wrong == 0)) || die "$wrong checksums are wrong"
((retried > 0)) || die 'no file failed: the demo has not shown a retry'
[[ "$pending $delayed $failing" == '0 0 0' ]] || die 'the store is not empty'
echo 'Nothing was lost.'
