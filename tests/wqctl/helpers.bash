# What the tests of wqctl share. WQCTL is the tool's path, set by ctest.

bats_require_minimum_version 1.5.0

setup() {
  : "${WQCTL:?set WQCTL to the path of wqctl}"
  DIR=$(mktemp -d)
  export WQ_STORE=$DIR/store
  # The user's own settings must not affect the tests.
  unset WQ_CONFIG WQ_OUTPUT WQ_TIMES WQ_COLOR WQ_PROGRESS NO_COLOR
  unset WQ_REPLICATE WQ_REPLICA WQ_LEASE "${!WQ_ETCD_@}"
  export XDG_CONFIG_HOME=$DIR/no-settings TERM=xterm
  cd "$DIR" || exit 1
}

teardown() {
  # Ends only processes that this test started.
  local pid
  for pid in ${STARTED:-}; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in ${STARTED:-}; do wait "$pid" 2>/dev/null || true; done
  cd / || return
  # Children of a killed process may still write for a short time; a browser's do.
  for _ in {1..200}; do
    ! rm -rf "$DIR" 2>/dev/null || return 0
  done
  rm -rf "$DIR"
}

wqctl() { "$WQCTL" "$@"; }

# The store, with the given keys in queue q.
store_with() {
  wqctl init >/dev/null
  [ $# -eq 0 ] || wqctl add -q q -- "$@" >/dev/null
}

# start FILE ARG...: wqctl in the background, its stdout to FILE.out and its stderr to FILE.err. $PID.
# Closed for it: bats's own descriptor 3, and 9, which tests use for a pipe.
start() {
  local file=$1
  shift
  rm -f "$file.out" "$file.err"  # Of an earlier process: nobody is to wait for its words.
  "$WQCTL" "$@" <&0 >"$file.out" 2>"$file.err" 3>&- 9>&- &
  PID=$!
  STARTED="${STARTED:-} $PID"
}

# Waits until the command succeeds; minutes at most.
until_ok() {
  local end=$((SECONDS + 300))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || { echo "timed out: $*" >&2; return 1; }
    sleep 0.02
  done
}

# exits CODE [PID]: waits for the end of the process, $PID.
exits() {
  local code=0
  wait "${2:-$PID}" || code=$?
  [ "$code" = "$1" ]
}
# terminate [PID]: the process, $PID, ends well at SIGTERM.
terminate() {
  kill -TERM "${1:-$PID}"
  exits 0 "${1:-$PID}"
}

# Kills $PID, the owner of the store, and waits until the store is nobody's: what the command of a
# killed `work` started holds its lock for an instant more.
kill_owner() {
  kill -9 "$PID"
  wait "$PID" || true
  until_ok nobodys
}
nobodys() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = false ]; }

# One number out of inspect: queue_count pending.
queue_count() { wqctl inspect -q q -o json | jq ".queues[0].$1"; }

test_drained() { [ "$(queue_count pending)$(queue_count delayed)" = 00 ]; }

# A command that reports that it runs, and continues when the gate is opened.
blocking() {
  mkfifo gate
  printf '#!/bin/sh\necho "$1" >> started\nread -r _ < gate\necho "$1" >> finished\n' > block
  chmod +x block
}
lines() { [ "$(wc -l < "$2")" = "$1" ]; }
# Whether stderr of `start NAME` has the text.
log_has() { grep -qF "$2" "$1.err"; }
# Whether the process has ended.
gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }

# What is on disk, to the byte.
fingerprint() { find "$WQ_STORE" -type f -print0 | sort -z | xargs -0 sha256sum; }

# Keys as dump shows them, on one line.
dumped_keys() { wqctl ls -q q -o jsonl | jq -r .key | tr '\n' ' '; }

contains() { [[ "$1" == *"$2"* ]] || { echo "no \"$2\" in: $1" >&2; return 1; }; }

# give_up KEY...: the keys are in quarantine of queue q, after one failure each.
give_up() {
  wqctl add -q q -- "$@" >/dev/null
  wqctl work -q q --max-requeues 0 -- sh -c 'echo "no $1" >&2; exit 1' _ 2>/dev/null && return 1
  [ $? = 1 ]
}

# fail_once KEY: the key of queue q has failed once and is delayed by three hours.
fail_once() {
  wqctl add -q q -- "$1" >/dev/null
  start failing work -q q --base-delay 3h --max-delay 3h -- sh -c 'echo "no $1" >&2; exit 1' _
  until_ok has_failed "$1"
  kill -TERM "$PID"
  wait "$PID"
}
has_failed() { [ "$(wqctl inspect -q q -o json -- "$1" | jq '.entries[0].failures')" = 1 ]; }

# on_terminal ANSWER ARG...: wqctl at a terminal with the answer as input. What the terminal shows
# is on stdout.
on_terminal() {
  local answer=$1 words
  shift
  printf -v words ' %q' "$WQCTL" "$@"
  printf '%s\n' "$answer" | SHELL=/bin/bash script -qec "$words" /dev/null
}
