#!/usr/bin/env bats
# How every verb ends at SIGINT, SIGTERM and SIGHUP.
load helpers

# The verbs, as wqctl --help lists them: "snapshot create".
all_verbs() { wqctl --help | sed -n '/^Verbs:/,/^$/{s/^  \([a-z][a-z -]*[a-z]\)  .*/\1/p}'; }

# words_of VERB: sets WORDS, a command line of the verb that prints something or waits. A new verb
# needs a line here.
words_of() {
  local log=etcd://127.0.0.1:1/q
  case $1 in
    init) WORDS=(init) ;;
    add) WORDS=(add -q q new) ;;
    sync) WORDS=(sync -q q --source s -) ;;
    work) WORDS=(work -q q --follow -- true) ;;
    serve | ui | watch | inspect | ls | dump | errors | man) WORDS=("$1") ;;
    workers) WORDS=(workers --watch) ;;
    load) WORDS=(load --replace other.jsonl) ;;
    verify) WORDS=(verify -o json) ;;
    repair) WORDS=(repair --into new -o json) ;;
    "snapshot create") WORDS=(snapshot create kept) ;;
    "snapshot ls") WORDS=(snapshot ls snapshots) ;;
    "snapshot restore") WORDS=(snapshot restore snapshots --into new) ;;
    rm | delete | cancel-delay | requeue | forget | release | drop)
      WORDS=("$1" -q q --all --yes) ;;
    pause | resume) WORDS=("$1" -q q --yes) ;;
    "queue delete") WORDS=(queue delete -q q --yes) ;;
    "replication status" | "replication destroy" | "replication forget" | "replication seed" | \
      "replication init" | "replication remove" | promote)
      # shellcheck disable=SC2206
      WORDS=($1 --help $log) ;;
    completion) WORDS=(completion bash) ;;
    *)
      echo "no words for the verb \"$1\"" >&2
      return 1
      ;;
  esac
}

# A store for which each verb has something to do.
some_store() {
  store_with a b
  give_up sick
  wqctl add -q q --after 3h later >/dev/null
  wqctl snapshot create snapshots >/dev/null
  wqctl --store other add -q q b c >/dev/null 2>&1 || {
    wqctl --store other init >/dev/null
    wqctl --store other add -q q b c >/dev/null
  }
  wqctl --store other dump >other.jsonl
}

# A pipe that is full, so that whoever writes to it waits, as for a reader that has stopped.
full_pipe() {
  mkfifo full
  exec 7<>full
  dd if=/dev/zero of=full oflag=nonblock bs=4096 count=1024 2>/dev/null || true
}

# begin ARG...: wqctl in the background, with its stdout to the full pipe. Not as a shell starts a
# background process: SIGINT is not ignored. $PID.
begin() {
  env --default-signal=INT,HUP "$WQCTL" "$@" <&0 >full 2>err 3>&- 7>&- 9>&- &
  PID=$!
  STARTED="${STARTED:-} $PID"
}

# Whether the process waits in a write to its stdout, is one that waits for signals, or has ended.
waits() {
  [ -e "/proc/$PID" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$PID/stat")" != Z ] || return 0
  local call first
  read -r call first _ <"/proc/$PID/syscall" || return 0
  [ "$first" = 0x1 ] && [[ $call == @(1|20) ]] && return 0  # write, writev.
  # SigBlk has SIGTERM: see StopSignals.
  (((0x$(sed -n 's/^SigBlk:\t//p' "/proc/$PID/status") >> 14) & 1)) &&
    [[ $call == @(7|219) ]]  # poll, restart_syscall.
}

# ends SIGNAL: sends it; the process must end in three seconds. $CODE.
ends() {
  kill -s "$1" "$PID" 2>/dev/null || true
  local i
  for ((i = 0; i < 150; i++)); do
    [ "$(sed 's/.*) //; s/ .*//' "/proc/$PID/stat" 2>/dev/null)" != Z ] &&
      [ -e "/proc/$PID" ] || break
    sleep 0.02
  done
  [ "$i" -lt 150 ] || { echo "SIG$1 did not end: $CURRENT" >&2; return 1; }
  CODE=0
  wait "$PID" || CODE=$?
}

# Nothing that was being made is left, and the store is sound.
nothing_half() {
  [ -z "$(find . -name '.creating' -o -name '*.restoring' -o -name '*.repairing' -o -name '.wqctl-*')" ]
  run -0 wqctl verify
}

@test "every verb ends at the first signal, also while its output is not read" {
  exec </dev/null
  some_store
  full_pipe
  local verb signal number
  [ "$(all_verbs | wc -l)" -ge 30 ]
  while read -r verb <&8; do
    for signal in TERM INT HUP; do
      [ "$verb $signal" != "serve HUP" ] || continue  # Reads its configuration.
      CURRENT=$verb
      words_of "$verb"
      rm -rf new kept
      begin "${WORDS[@]}"
      until_ok waits
      ends "$signal"
      number=$(kill -l "$signal")
      case $verb:$CODE in
        *:$((128 + number))) ;;
        work:0 | serve:0 | ui:0 | watch:0 | workers:*) ;;
        # It had ended before.
        *:[0-7]) ;;
        *) echo "SIG$signal: $verb: $CODE: $(cat err)"; return 1 ;;
      esac
      nothing_half
    done
  done 8< <(all_verbs)
}

@test "a repair that is interrupted leaves nothing; a killed one is removed by the next" {
  wqctl init >/dev/null
  seq 200000 | wqctl add -q q - >/dev/null
  CURRENT=repair
  local signal
  for signal in INT TERM KILL; do
    env --default-signal=INT "$WQCTL" repair --into new 2>err 3>&- &
    PID=$!
    STARTED="${STARTED:-} $PID"
    until_ok test -d new.repairing
    ends "$signal"
    [ "$CODE" = $((128 + $(kill -l "$signal"))) ]
    [ ! -e new ]
    [ "$signal" = KILL ] || [ ! -e new.repairing ]
  done
  [ -d new.repairing ]
  run -0 wqctl repair --into new
  [ ! -e new.repairing ] && [ ! -e new/scratch ]
  run -0 wqctl --store new verify
}

@test "an owner that does not answer keeps no verb alive" {
  store_with a
  start serve serve
  until_ok test -S "$WQ_STORE/control.sock"
  local owner=$PID words
  kill -STOP "$owner"
  for words in "watch" "workers --watch" "inspect --history -q q a" "add -q q b" "rm -q q --yes a"; do
    CURRENT=$words
    # shellcheck disable=SC2086
    env --default-signal=INT "$WQCTL" $words >out 2>err 3>&- &
    PID=$!
    STARTED="${STARTED:-} $PID"
    until_ok connected
    ends TERM
  done
  kill -CONT "$owner"
}
connected() { [ ! -e "/proc/$PID" ] || find "/proc/$PID/fd" -lname 'socket:*' | grep -q .; }
