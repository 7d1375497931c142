#!/usr/bin/env bats
# What a command of wqctl work has started ends with it when the command is ended: at a timeout, at a
# signal, and when wqctl work itself is killed. Nobody gets the key before all of it has ended.
load helpers

# The command ./family. At first it starts a child, another in a session of its own, and an orphan
# of each kind, which all ignore signals; it writes their pids to `members`, and waits. Once there
# are members it writes to `alive` those that have not ended, and ends.
family() {
  cat > member <<'SH'
#!/bin/sh
trap '' TERM HUP INT
exec >/dev/null 2>&1 3>&-
echo $$ >> members
while [ -e member ]; do sleep 0.1; done  # Or until the test has ended.
SH
  cat > family <<'SH'
#!/bin/bash
if [ -e members ]; then
  for pid in $(cat members); do
    ! grep -q '^State:.*[RSDT] ' "/proc/$pid/status" 2>/dev/null || echo "$pid" >> alive
  done
  touch again
  exit 0
fi
./member &
setsid ./member &
(./member &)
(setsid ./member &)
until [ "$(wc -l < members)" = 4 ]; do sleep 0.01; done 2>/dev/null
touch ready
wait
SH
  chmod +x member family
}
# The second command began, when all members had ended.
ran_again_alone() { [ -e again ] && [ ! -e alive ]; }

# stop_reapers PID: stops the processes between wqctl work and its commands, $REAPERS.
stop_reapers() {
  find_reapers "$1"
  STARTED+=" $REAPERS $(tr '\n' ' ' < members)"
  kill -STOP $REAPERS
}
find_reapers() { REAPERS=$(pgrep -x wq-reaper -P "$(pgrep -x wq-reaper -P "$1")"); }

gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"; }
owned() { [ "$(owner_alive)" = true ]; }
not_owned() { [ "$(owner_alive)" = false ]; }
owner_alive() { wqctl inspect -o json | jq .store.owner_alive; }
log_has() { grep -qF "$2" "$1.err"; }

@test "kill -9 of the owner: the store is locked until all that its command started is dead" {
  store_with k
  family
  start work work -q q -- ./family
  until_ok test -e ready
  stop_reapers "$PID"
  kill -9 "$PID"
  wait "$PID" || true
  owned
  start next work -q q -- ./family
  [ ! -e again ]
  kill -CONT $REAPERS
  wait "$PID"
  ran_again_alone
}

@test "kill -9 of an attached worker: its key is held until all that its command started is dead" {
  store_with k
  family
  wqctl add -q none -- none
  start owner work -q none --follow -- true
  local owner=$PID
  until_ok owned
  start other work -q q -- ./family
  until_ok test -e ready
  stop_reapers "$PID"
  kill -9 "$PID"
  wait "$PID" || true
  start next work -q q -- ./family
  until_ok log_has next 'owns the store: working for it'
  [ "$(wqctl workers -o json | jq '[.[] | select(.held_count > 0)] | length')" = 1 ]
  [ ! -e again ]
  kill -CONT $REAPERS
  wait "$PID"
  ran_again_alone
  kill -TERM "$owner"
  wait "$owner"
}

@test "--timeout ends all that the command started before the key is tried again" {
  store_with k
  family
  touch ready
  run -0 --separate-stderr wqctl work -q q --timeout 1s -- ./family
  contains "$stderr" 'succeeded 1, failed attempts 1'
  ran_again_alone
}

@test "a second signal ends all that the command started before wqctl work ends" {
  store_with k
  family
  start work work -q q -- ./family
  until_ok test -e ready
  kill -TERM "$PID"
  until_ok log_has work SIGTERM
  kill -TERM "$PID"
  wait "$PID" || [ $? = 1 ]
  ./family
  ran_again_alone
}

@test "what a command left behind when it ended is nobody's: it outlives wqctl work" {
  store_with a b
  start work work -q q --follow -- sh -c 'setsid sleep 1000 >/dev/null & echo $! >> left' _
  until_ok test_drained
  STARTED+=" $(tr '\n' ' ' < left)"
  [ "$(wc -l < left)" = 2 ]
  kill -9 "$PID"
  wait "$PID" || true
  until_ok not_owned
  local pid
  for pid in $(cat left); do kill -0 "$pid"; done
}
test_drained() { [ "$(queue_count pending)" = 0 ]; }

@test "a reaper that is killed ends its command, which counts as killed; the run goes on" {
  store_with k
  start work work -q q -- sh -c '[ ! -e first ] || exit 0; echo $$ > first; exec sleep 1000' _
  until_ok test -s first
  find_reapers "$PID"
  kill -9 $REAPERS
  wait "$PID"
  gone "$(cat first)"
  contains "$(cat work.err)" 'succeeded 1, failed attempts 1'
}

@test "without the process that makes reapers the run ends, and no failure is counted" {
  store_with a b
  # A command that leaves a process behind ends its reaper, and so the next one needs another.
  start work work -q q --max-requeues 0 -- \
    sh -c 'kill -9 "$(ps -o ppid= "$PPID")"; sleep 1000 >/dev/null 2>&1 & echo $! > left' _
  wait "$PID" || [ $? = 1 ]
  kill "$(cat left)"
  contains "$(cat work.err)" 'cannot run the command: No such process'
  [ "$(dumped_keys)" = "b " ]
  [ "$(queue_count failing)" = 0 ]
}
