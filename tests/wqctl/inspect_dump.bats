#!/usr/bin/env bats
# inspect and dump beside owners, and killed ones. What they show: unit/inspect_test.cc.
load helpers

has_owner() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = true ]; }
has_process_log() { contains "$(wqctl inspect)" "process log 8.0 MiB"; }

@test "an owner that was killed did not close the store" {
  store_with
  contains "$(wqctl inspect)" "closed it cleanly"
  [[ "$(wqctl inspect)" != *"process log"* ]]
  start work work -q q --follow -- sleep 1000
  until_ok has_owner
  contains "$(wqctl inspect)" "process $PID, running"
  [ "$(wqctl inspect -o json | jq .store.owner_closed)" = false ]
  until_ok has_process_log  # The owner makes it once the store is open.
  kill_owner
  [ "$(wqctl inspect -o json | jq '.store.process_log_bytes >= 8388608')" = true ]
  contains "$(wqctl inspect)" "is gone and did not close it"
}

@test "a dump that a signal ends has no end, and leaves no scratch files" {
  store_with
  seq 200000 | wqctl add -q q -
  mkdir tmp
  export TMPDIR=$DIR/tmp
  wqctl inspect
  wqctl ls -o jsonl | head -1
  mkfifo pipe
  exec 9<> pipe
  "$WQCTL" dump > pipe 3>&- 9>&- &
  PID=$!
  STARTED=$PID
  read -r -u 9 first
  [ "$first" = '{"record":"begin","version":1}' ]
  kill -TERM "$PID"
  exits 143
  timeout 1 cat <&9 | { ! grep '"record":"end"'; }
  exec 9>&-
  [ -z "$(ls tmp)" ]
}
