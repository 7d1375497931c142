#!/usr/bin/env bats
# Several wqctl work on one store: the first owns it and serves it, the others work for it.
load helpers

# A command that writes its key and token to its first argument, and ends when `gate` is written to,
# or at once when `open` exists.
gated() {
  mkfifo gate
  exec 9<> gate  # Opened both ways it does not wait for the other end.
  printf '#!/bin/sh\n%s\n%s\n%s\n' 'echo "$2 $WQ_TOKEN" >> "$1.began"' \
    '[ -e open ] || read -r _ < gate' 'echo "$2" >> "$1.done"' > gated
  chmod +x gated
}
# Lets all commands end, those that run and those that begin later.
open_gate() {
  touch open
  printf '\n\n\n\n\n\n\n\n' >&9
}

# started FILE N: so many commands of FILE have begun.
started() { [ "$(wc -l < "$1.began")" -ge "$2" ]; }
keys_of() { cat "$@" | cut -d' ' -f1 | sort; }

# start_two ARG...: an owner and an attached worker of queue q, with one command each. $OWNER, $OTHER.
start_two() {
  start owner work -q q "$@" -- ./gated owner
  OWNER=$PID
  until_ok started owner 1
  start other work -q q "$@" -- ./gated other
  OTHER=$PID
  until_ok started other 1
}

@test "two wqctl work share the keys of a queue, and each key is processed once" {
  store_with $(seq 100)
  gated
  start_two
  contains "$(cat other.err)" "is owned by process $OWNER: working for it"
  open_gate
  wait "$OWNER"
  wait "$OTHER"
  [ "$(keys_of owner.done other.done)" = "$(seq 100 | sort)" ]
  [ "$(cat owner.began other.began | cut -d' ' -f2 | sort -un | wc -l)" = 100 ]
  contains "$(cat owner.err)" 'failed attempts 0, quarantined 0, remaining 0'
  # If the owner ends first, the other process cannot ask it how many keys remain.
  grep -qE 'failed attempts 0, quarantined 0, remaining (0|unknown)$' other.err
}

@test "a key whose command outlives the owner is not begun a second time before the command ends" {
  store_with a
  gated
  start owner work -q q --follow -- ./gated owner
  local owner=$PID
  until_ok started owner 1
  wqctl add -q q b
  start other work -q q -j 4 --follow -- ./gated other
  local other=$PID
  until_ok started other 1
  kill -9 "$owner"
  until_ok log_has other 'this process owns the store now'
  until_ok started other 2  # a
  wqctl add -q q c
  until_ok started other 3  # c
  [ "$(keys_of other.began | tr '\n' ' ')" = 'a b c ' ]
  open_gate
  until_ok started other 4
  until_ok test_drained
  [ "$(keys_of other.began | tr '\n' ' ')" = 'a b b c ' ]
  log_has other 'the outcome of "b" may be lost'
  terminate "$other"
}

@test "SIGTERM of the owner: its key is finished, and the other process takes over" {
  store_with $(seq 10)
  gated
  start_two --follow
  kill -TERM "$OWNER"
  until_ok log_has owner 'SIGTERM'
  [ "$(wc -l < owner.began)" = 1 ]
  open_gate
  wait "$OWNER"
  until_ok log_has other 'this process owns the store now'
  until_ok test_drained
  [ "$(keys_of owner.done other.done | uniq)" = "$(seq 10 | sort)" ]
  # The next owner serves the store, too.
  wqctl add -q q late
  until_ok grep -qx late other.done
  terminate "$OTHER"
}

@test "an owner that ends by itself waits for the commands of the others, for --grace" {
  store_with a
  wqctl add -q r b
  gated
  start owner work -q q -- ./gated owner
  local owner=$PID
  until_ok started owner 1
  start other work -q r --follow -- ./gated other
  local other=$PID
  until_ok started other 1
  echo >&9  # One of the two ends; the owner does not end before both have.
  echo >&9
  wait "$owner"
  until_ok log_has other 'this process owns the store now'
  wqctl add -q r c
  echo >&9
  until_ok grep -qx c other.done
  terminate "$other"
  [ "$(keys_of owner.done other.done | tr '\n' ' ')" = 'a b c ' ]  # None twice.
}

@test "an attached worker quarantines by its own --max-requeues, and the owner's delays apply" {
  store_with
  start owner work -q q -q idle --follow --base-delay 1ms -- false
  local owner=$PID
  until_ok test -S "$WQ_STORE/control.sock"
  wqctl add -q other bad good
  run -1 --separate-stderr wqctl work -q other --max-requeues 1 --base-delay 2ms -- \
    sh -c 'test "$1" = good' _
  contains "$stderr" '--base-delay and --max-delay have no effect'
  contains "$stderr" 'quarantined "bad" after 2 failures: exit status 1'
  contains "$stderr" 'succeeded 1, failed attempts 2, quarantined 1, remaining 0'
  run -3 --separate-stderr wqctl work -q none -- true
  contains "$stderr" 'no queue "none"'
  terminate "$owner"
}

@test "beside an owner that is stopped, SIGTERM ends a work in bounded time" {
  wqctl init
  start owner serve
  owner=$PID
  until_ok wqctl workers
  wqctl add -q q key
  mkfifo gate
  start helper work -q q --grace 30s -- sh -c 'echo >started; read -r _ <gate' _
  helper=$PID
  until_ok test -s started
  kill -STOP "$owner"
  until_ok grep -q '^State:.T' "/proc/$owner/status"
  echo >gate  # The command succeeds, and nobody acknowledges it.
  kill -TERM "$helper"
  until_ok gone "$helper"
  contains "$(cat helper.err)" 'the outcome of "key" may be lost'
  kill -CONT "$owner"
}
