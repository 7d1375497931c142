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
trap '' TERM
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

# stop_reaper PID: stops the process beside wqctl work, $REAPER.
stop_reaper() {
  REAPER=$(pgrep -x wq-reaper -P "$1")
  STARTED+=" $REAPER $(tr '\n' ' ' < members)"
  kill -STOP "$REAPER"
}

owned() { [ "$(owner_alive)" = true ]; }
owner_alive() { wqctl inspect -o json | jq .store.owner_alive; }

@test "kill -9 of the owner: the store is locked until all that its command started is dead" {
  store_with k
  family
  start work work -q q -- ./family
  until_ok test -e ready
  stop_reaper "$PID"
  kill -9 "$PID"
  wait "$PID" || true
  owned
  start next work -q q -- ./family
  [ ! -e again ]
  kill -CONT "$REAPER"
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
  stop_reaper "$PID"
  kill -9 "$PID"
  wait "$PID" || true
  start next work -q q -- ./family
  until_ok log_has next ': working for it'
  [ "$(wqctl workers -o json | jq '[.[] | select(.held_count > 0)] | length')" = 1 ]
  [ ! -e again ]
  kill -CONT "$REAPER"
  wait "$PID"
  ran_again_alone
  terminate "$owner"
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
  until_ok nobodys
  local pid
  for pid in $(cat left); do kill -0 "$pid"; done
}

@test "a timeout ends the daemons of its command only, whatever their session and environment" {
  store_with late done
  cat > daemon <<'SH'
#!/bin/sh
# Starts an orphan in a session of its own, without environment. Its pid is in the first argument.
mkfifo "$1.fifo"
(setsid env -i sh -c 'echo $$ > "$1"; exec sleep 1000' _ "$1.fifo" >/dev/null 2>&1 3>&- &)
cat "$1.fifo" > "$1.pid"
SH
  chmod +x daemon
  run -1 --separate-stderr wqctl work -q q -j 2 --timeout 1s --max-requeues 0 -- \
    sh -c './daemon "$1"; [ "$1" = done ] || while :; do sleep 1000; done' _
  contains "$stderr" 'succeeded 1, failed attempts 1'
  STARTED+=" $(cat late.pid done.pid)"
  gone "$(cat late.pid)"
  kill -0 "$(cat done.pid)"
}

@test "without the reaper the command that runs goes on, no other is begun, and no failure is counted" {
  printf '#!/bin/sh\n%s\n%s\n%s\n' 'reaper=$(pgrep -x wq-reaper -P "$PPID")' 'kill -9 "$reaper"' \
    'until grep -q "^State:.*Z" "/proc/$reaper/status"; do :; done' >end-reaper
  chmod +x end-reaper
  local command
  for command in ./end-reaper '{}'; do  # By itself, and as the program that the key names.
    rm -rf store
    store_with ./end-reaper true
    start work work -q q --max-requeues 0 -- "$command"
    wait "$PID" || [ $? = 1 ]
    contains "$(cat work.err)" 'cannot run the command: No such process'
    contains "$(cat work.err)" 'succeeded 1, failed attempts 0'
    [ "$(dumped_keys)" = "true " ]
    [ "$(queue_count failing)" = 0 ]
  done
}

# first KIND ARG...: wqctl in the background, as process 1 of a container, or as a subreaper that has
# begun as another program, which left a child. $PID; $SHOWN is what can be waited for.
first() {
  if [ "$1" = container ]; then
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "NOT TESTED: no PID namespace here"
    unshare --pid --fork --mount-proc "$WQCTL" "${@:2}" >first.out 2>first.err 3>&- &
    SHOWN=$!
    until_ok pgrep -P "$SHOWN" -x wqctl
    PID=$(pgrep -P "$SHOWN" -x wqctl)
  else
    python3 -c 'import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
left = "(until [ -e go ]; do sleep 0.1; done >/dev/null 2>&1 &)"
subprocess.Popen(["sh", "-c", left]).wait()
subprocess.Popen(["true"])
os.execv(sys.argv[1], sys.argv[1:])' "$WQCTL" "${@:2}" >first.out 2>first.err 3>&- &
    SHOWN=$!
    PID=$SHOWN
  fi
  STARTED+=" $PID"
}
# has_children NAME NUMBER: so many children of the process have such a name.
has_children() { [ "$(ps --ppid "$PID" -o comm= | grep -c "$1")" = "$2" ]; }

@test "process 1 and a subreaper wait for what commands leave, and every outcome counts" {
  for kind in container subreaper; do
    rm -rf store go
    wqctl init
    seq 60 | wqctl add -q q -
    # Each command leaves a process that ends at once, and one that ends later.
    first $kind work -q q -j 4 --follow --max-requeues 0 -- sh -c '
      (true &)
      (until [ -e go ]; do sleep 0.1; done >/dev/null 2>&1 &)
      exit $(($1 % 2))' _
    until_ok grep -q "quarantined.*after 1 failure" first.err
    until_ok test_drained
    until_ok has_children defunct 0
    touch go
    until_ok has_children . 1  # wq-reaper.
    kill -TERM "$PID"
    wait "$SHOWN" || [ $? = 1 ]
    contains "$(cat first.err)" "succeeded 30, failed attempts 30, quarantined 30, remaining 0"
  done
}

@test "serve as a subreaper waits for its orphans" {
  store_with
  first subreaper serve
  until_ok owned
  until_ok has_children . 1
  has_children defunct 0
  touch go
  until_ok has_children . 0
}
