#!/usr/bin/env bats
# Deleting keys in whatever state, and queues.
load helpers

# Queue q with a key in each state, a key with two states, a cursor-less queue "other" beside it.
every_state() {
  store_with
  give_up held
  fail_once failing
  wqctl cancel-delay -q q --yes failing >/dev/null
  fail_once delayed
  wqctl add -q q --lane 7 pending both >/dev/null
  wqctl add -q q --after 1h both >/dev/null
  wqctl add -q other a >/dev/null
}

@test "delete removes a key in whatever state, with its failures" {
  every_state
  run -0 --separate-stderr wqctl delete -q q --yes pending delayed failing held both
  [ "$output" = "deleted 5" ]
  [ -z "$stderr" ]
  [ -z "$(wqctl ls -q q -o name)" ]
  [ "$(wqctl ls -o name)" = a ]
  run -0 wqctl verify
}

@test "delete of a key that is unknown: named, exit 3, the others are deleted" {
  store_with a
  run -3 --separate-stderr wqctl delete -q q --yes a $'no\e'
  [ "$output" = "deleted 1, not found 1" ]
  [ "$stderr" = 'wqctl: error: key "no\x1b" is unknown in queue "q"' ]
  run -3 wqctl delete -q q --dry-run a
  run -3 wqctl delete -q nope --yes a
}

@test "delete asks, by filter or for all keys, and --dry-run deletes nothing" {
  every_state
  run -0 wqctl delete -q q --state quarantined --dry-run
  [ "$output" = $'would delete "held"\nto be deleted 1' ]
  run -1 on_terminal n delete -q q --all
  contains "$output" 'Delete all 5 keys of queue "q"? [y/N]'
  run -2 wqctl delete -q q --all
  [ "$(wqctl ls -q q -o name | sort -u | wc -l)" = 5 ]
  run -0 wqctl delete -q q --state delayed --yes -o json
  [ "$(jq -c . <<<"$output")" = '{"deleted":2,"not_found":0,"dry_run":false}' ]
  run -0 wqctl delete -q q --all --yes
  [ "$output" = "deleted 3" ]
  [ -z "$(wqctl ls -q q -o name)" ]
}

@test "delete goes through an owner: a key that its worker holds ends with it" {
  store_with a b
  mkfifo gate
  start work work -q q --follow -- sh -c 'echo > started; read -r _ < gate; exit 0' _
  until_ok test -s started
  wqctl add -q q a >/dev/null  # Again, while it is held.
  run -0 wqctl delete -q q --yes a b
  [ "$output" = "deleted 2" ]
  echo > gate
  until_ok nothing_left
  kill -TERM "$PID"
  wait "$PID"
  contains "$(cat work.err)" "succeeded 1, failed attempts 0"
}
nothing_left() { [ -z "$(wqctl ls -q q -o name)" ]; }

@test "queue delete removes a queue with all that it has, and no other" {
  every_state
  run -0 wqctl pause -q q --yes
  run -0 wqctl queue delete -q q --dry-run
  [ "$output" = 'would delete queue "q": pending 2, delayed 2, failing 2, quarantined 1, cursors 0' ]
  run -1 on_terminal n queue delete -q q
  contains "$output" 'Delete queue "q": pending 2, delayed 2, failing 2, quarantined 1, cursors 0? [y/N]'
  run -2 --separate-stderr wqctl queue delete -q q
  contains "$stderr" "give --yes"
  [ "$(wqctl inspect -o name)" = $'other\nq' ]
  run -0 --separate-stderr wqctl queue delete -q q --yes
  [ "$output" = 'deleted queue "q"' ]
  [ -z "$stderr" ]
  [ "$(wqctl inspect -o name)" = other ]
  [ "$(wqctl ls -o name)" = a ]
  run -0 wqctl verify
  run -0 wqctl repair --into repaired
  [ "$(wqctl --store repaired inspect -o name)" = other ]
  wqctl add -q q new >/dev/null  # A new queue: not paused, without failures.
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0] | [.pending, .failing, .paused]')" = '[1,0,false]' ]
}

@test "queue delete: no such queue, no such store, a bad name, an owner" {
  store_with a
  run -3 --separate-stderr wqctl queue delete -q qq --yes
  [ "$stderr" = 'wqctl: error: no queue "qq"; did you mean "q"?' ]
  run -3 wqctl queue delete -q nope --dry-run
  run -3 wqctl --store nothing queue delete -q q --yes
  [ ! -e nothing ]
  run -2 wqctl queue delete -q 'q q' --yes
  run -2 wqctl queue delete --yes
  start owner work -q q --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
  run -4 --separate-stderr wqctl queue delete -q q --yes
  contains "$stderr" "process $PID"
  contains "$stderr" "is in use by process"
  run -4 on_terminal y queue delete -q q
  run -0 wqctl queue delete -q q --dry-run
  kill -TERM "$PID"
  wait "$PID"
  [ "$(wqctl inspect -o name)" = q ]
}

@test "queue delete goes through an owner that does not use the queue itself" {
  store_with a
  wqctl add -q other x >/dev/null
  start owner work -q other --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
  run -0 wqctl queue delete -q q --yes
  [ "$output" = 'deleted queue "q"' ]
  run -3 --separate-stderr wqctl queue delete -q q --yes
  contains "$stderr" 'no queue "q"'
  run -0 wqctl add -q q b
  start worker work -q q --follow -- true
  local worker=$PID
  until_ok grep -q 'owns the store' worker.err
  run -0 wqctl queue delete -q q --yes  # Opened for a request, and it has a worker.
  kill -TERM "$worker"
  wait "$worker"
}

@test "queue delete killed at any instant: the whole queue or none of it, and both verify" {
  store_with
  wqctl add -q stays a >/dev/null
  seq -f k%.0f 150000 | wqctl add -q q --durability async - >/dev/null
  wqctl dump -q q >q.jsonl
  local whole=0 none=0
  for ms in 010 020 030 040 060 080 120 160 240 400; do
    timeout -s KILL "0.$ms" "$WQCTL" queue delete -q q --yes >/dev/null || true
    run -0 wqctl verify
    if wqctl inspect -o name | grep -qx q; then
      whole=$((whole + 1))
      wqctl dump -q q | cmp - q.jsonl
    else
      none=$((none + 1))
      # What is left of it is no queue: it is not loaded, repaired or handed out, and the next
      # deletion or load removes it.
      run -3 wqctl work -q q -- true
      wqctl load q.jsonl >/dev/null
    fi
    [ "$(wqctl inspect -o name)" = $'q\nstays' ]
  done
  echo "# killed before the deletion $whole times, after it $none times"
  [ "$whole" -gt 0 ]
  wqctl queue delete -q q --yes
  [ "$(wqctl inspect -o name)" = stays ]
  [ "$(wqctl ls -o name)" = a ]
  run -0 wqctl verify
}

@test "a deletion that was killed: the next one removes what it left" {
  store_with
  wqctl add -q stays a >/dev/null
  seq -f k%.0f 1000000 | wqctl add -q q --durability async - >/dev/null
  "$WQCTL" queue delete -q q --yes 3>&- &
  PID=$!
  STARTED="${STARTED:-} $PID"
  # Stopped while it is looked at, so that it has not gone on when it is killed.
  until kill -STOP "$PID" && leftover; do
    kill -CONT "$PID"
    sleep 0.02
  done
  kill -9 "$PID"
  wait "$PID" || true
  [ "$(wqctl inspect -o name)" = $'q~replaced\nstays' ]
  run -0 wqctl verify
  run -0 wqctl repair --into repaired
  [ "$(wqctl --store repaired inspect -o name)" = stays ]
  wqctl add -q q new >/dev/null
  [ "$(wqctl ls -q q -o name)" = new ]
  run -0 wqctl queue delete -q q --yes
  [ "$(wqctl inspect -o name)" = stays ]
  run -0 wqctl verify
}
leftover() { wqctl inspect -o name | grep -qx 'q~replaced'; }
