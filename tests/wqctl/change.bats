#!/usr/bin/env bats
load helpers

@test "rm removes pending keys, and nothing else of them" {
  store_with a b c
  wqctl add -q q --after 1h b
  run -0 --separate-stderr wqctl rm -q q --yes a b
  [ "$output" = "removed 2" ]
  [ -z "$stderr" ]
  [ "$(dumped_keys)" = "c b " ]
  [ "$(states b)" = "delayed fast" ]
}

@test "cancel-delay takes the delay back, and nothing else" {
  store_with a
  wqctl add -q q --after 1h a b
  run -0 wqctl cancel-delay -q q --yes a b
  [ "$output" = "cancelled 2" ]
  [ "$(dumped_keys)" = "a " ]
}

@test "forget clears the failures, and nothing else" {
  store_with
  fail_once k
  run -0 wqctl forget -q q --yes k
  [ "$output" = "forgotten 1" ]
  [ "$(queue_count failing)$(queue_count delayed)" = 01 ]
  run -3 wqctl forget -q q --yes k
}

@test "forget --all: every failing key, not those in quarantine" {
  store_with
  give_up given-up
  fail_once k1
  fail_once k2
  wqctl cancel-delay -q q --yes k2
  run -0 wqctl forget -q q --all --dry-run
  [ "$output" = $'would forget the failures of "k1"\nwould forget the failures of "k2"\nto be forgotten 2' ]
  run -3 --separate-stderr wqctl forget -q q --yes given-up
  contains "$stderr" 'key "given-up" is not failing in queue "q"'
  run -3 wqctl forget -q q --dry-run given-up
  run -0 wqctl forget -q q --all --yes
  [ "$output" = "forgotten 2" ]
  [ "$(wqctl ls -q q -o jsonl | jq -c '[.key, .state, .failures]' | tr '\n' ' ')" = \
    '["k1","delayed",0] ["given-up","quarantined",1] ' ]
  run -0 wqctl forget -q q --all --yes
  [ "$output" = "forgotten 0" ]
}

@test "--all: every key that the change is for, and no other" {
  store_with a b
  wqctl add -q q --after 1h b c d >/dev/null
  run -0 wqctl rm -q q --all --dry-run
  [ "$output" = $'would remove "a"\nwould remove "b"\nto be removed 2' ]
  run -1 on_terminal n rm -q q --all
  contains "$output" 'Remove all 2 pending keys of queue "q"? [y/N]'
  run -2 wqctl rm -q q --all
  run -0 wqctl rm -q q --all --yes
  [ "$output" = "removed 2" ]
  [ "$(dumped_keys)" = "b c d " ]
  run -0 wqctl cancel-delay -q q --all --dry-run
  [ "${lines[3]}" = "to be cancelled 3" ]
  run -1 on_terminal n cancel-delay -q q --all
  contains "$output" 'Cancel the delay of all 3 delayed keys of queue "q"? [y/N]'
  run -1 on_terminal n requeue -q q --all
  contains "$output" 'Requeue all 3 delayed keys of queue "q"? [y/N]'
  run -0 wqctl requeue -q q --all --yes --limit 1
  [ "$output" = "requeued 1" ]
  run -0 wqctl cancel-delay -q q --all --yes -o json
  [ "$(jq -c . <<<"$output")" = '{"cancelled":2,"not_found":0,"dry_run":false}' ]
  [ "$(dumped_keys)" = "b " ]
}

@test "a key that is not there: named, exit 3, the rest is done" {
  store_with a b
  wqctl add -q q --after 1h later
  run -3 --separate-stderr wqctl rm -q q --yes a $'no\e' later b
  [ "$output" = "removed 2, not found 2" ]
  contains "$stderr" 'key "no\x1b" is not pending in queue "q"'
  contains "$stderr" 'key "later" is not pending in queue "q"'
  [ "$(wc -l <<< "$stderr")" = 2 ]
  run -3 --separate-stderr wqctl cancel-delay -q q --yes later nope
  [ "$output" = "cancelled 1, not found 1" ]
  contains "$stderr" 'key "nope" is not delayed in queue "q"'
  run -3 --separate-stderr wqctl forget -q q --yes nope
  contains "$stderr" 'key "nope" is not failing in queue "q"'
  [ -z "$(wqctl ls -o jsonl)" ]
}

@test "a key that is given twice is changed once" {
  store_with a
  run -0 wqctl rm -q q --dry-run a a
  [ "$output" = $'would remove "a"\nto be removed 1' ]
  run -0 wqctl rm -q q --yes a a
  [ "$output" = "removed 1" ]
}

@test "--dry-run shows what would be done, and changes not one byte" {
  store_with a b
  wqctl add -q q --after 1h later
  local before
  before=$(fingerprint)
  run -3 --separate-stderr wqctl rm -q q --dry-run a later
  [ "$output" = $'would remove "a"\nto be removed 1, not found 1' ]
  contains "$stderr" 'key "later" is not pending'
  run -0 wqctl cancel-delay -q q --dry-run later
  [ "$output" = $'would cancel the delay of "later"\nto be cancelled 1' ]
  run -0 wqctl rm -q q --dry-run --yes b
  [ "$(fingerprint)" = "$before" ]
}

@test "a delayed key that is due counts as pending" {
  store_with
  wqctl add -q q --after 1us k1 k2
  run -3 wqctl cancel-delay -q q --dry-run k1
  run -3 wqctl cancel-delay -q q --yes k1
  run -0 wqctl rm -q q --dry-run k1
  run -0 wqctl rm -q q --yes k1 k2
  [ -z "$(wqctl ls -o jsonl)" ]
}

@test "on a terminal it asks, and only a yes is a yes" {
  store_with a b c d e f g
  local answer
  for answer in n '' Yup; do
    run -1 on_terminal "$answer" rm -q q a
    contains "$output" 'Remove "a" of queue "q"? [y/N]'
    contains "$output" "nothing was changed"
  done
  [ "$(queue_count pending)" = 7 ]
  run -0 on_terminal y rm -q q a b c d e f g
  contains "$output" 'Remove "a", "b", "c", "d", "e" and 2 more of queue "q"? [y/N]'
  contains "$output" "removed 7"
  give_up x y
  run -0 on_terminal Y release -q q --all
  contains "$output" 'Release all 2 keys in quarantine of queue "q"? [y/N]'
  wqctl rm -q q --yes x y
  fail_once z
  run -0 on_terminal yes forget -q q --all
  contains "$output" 'Forget the failures of all 1 failing keys of queue "q"? [y/N]'
  contains "$output" "forgotten 1"
}

@test "on a terminal, errors are reported before any question" {
  store_with a
  run -3 on_terminal y rm -q nope a
  contains "$output" '"nope"'
  [[ "$output" != *"[y/N]"* ]]
}

@test "beside a living owner that serves no socket: exit 4, --dry-run works and changes not one byte" {
  store_with a b
  mkdir "$WQ_STORE/control.sock"  # So the owner cannot serve it.
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  kill -STOP "$PID"  # It would still be writing that the key was handed out.
  until_ok grep -q '^State:.T' "/proc/$PID/status"
  local before
  before=$(fingerprint)
  run -4 --separate-stderr wqctl rm -q q --yes b
  contains "$stderr" "$PID"
  run -0 wqctl rm -q q --dry-run b
  [ "$output" = $'would remove "b"\nto be removed 1' ]
  run -0 wqctl drop -q q --all --dry-run
  [ "$output" = "to be dropped 0" ]
  [ "$(fingerprint)" = "$before" ]
  kill -CONT "$PID"
  # Each command at the gate gets a line: the second key may be begun when the signal arrives.
  (while echo x > gate; do :; done) 2>/dev/null 3>&- &
  local feeder=$!
  STARTED="$STARTED $feeder"
  kill -TERM "$PID"
  wait "$PID"
  kill "$feeder" 2>/dev/null || true
}
