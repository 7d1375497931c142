#!/usr/bin/env bats
load helpers

set_cursor() {
  "${WQ_SET_CURSOR:-$(dirname "$WQCTL")/tests/set_cursor}" "$WQ_STORE" "$@"
}

@test "without cursors: nothing to list, and none to get" {
  store_with a
  run -0 wqctl cursor ls
  [ "${#lines[@]}" = 1 ]
  [[ "$output" =~ ^QUEUE\ +CURSOR\ +BYTES$ ]]
  [ "$(wqctl cursor ls -o json | jq -c .)" = "[]" ]
  [ -z "$(wqctl cursor ls -o jsonl)" ]
  [ "$(wqctl inspect -o json | jq -c '.queues[0].cursors')" = "{}" ]
  run -3 --separate-stderr wqctl cursor get -q q nope
  contains "$stderr" 'queue "q" has no cursor "nope"'
  [ -z "$output" ]
}

@test "a missing queue: exit 3, and no empty table" {
  store_with
  run -3 --separate-stderr wqctl cursor ls -q nope
  contains "$stderr" '"nope"'
  [ -z "$output" ]
  run -3 --separate-stderr wqctl cursor get -q nope c
  contains "$stderr" '"nope"'
}

@test "cursors are listed by queue and name, and got byte for byte" {
  store_with a
  wqctl add -q r b
  set_cursor q offset $'\377\n\001'
  set_cursor q version 42
  set_cursor r version 7
  run -0 wqctl cursor ls
  [[ "$output" =~ $'\n'q\ +offset\ +3$'\n'q\ +version\ +2$'\n'r\ +version\ +1$ ]]
  [ "$(wqctl cursor ls -q q -o jsonl | head -1)" = '{"queue":"q","name":"offset","bytes":3}' ]
  [ "$(wqctl cursor ls -o json | jq length)" = 3 ]
  [ "$(wqctl cursor get -q q offset | od -An -tx1)" = " ff 0a 01" ]
  [ "$(wqctl cursor get -q r version | od -An -tx1)" = " 37" ]
  run -3 wqctl cursor get -q r offset
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0].cursors')" = '{"offset":3,"version":2}' ]
  run -0 wqctl inspect
  contains "$output" "    offset, 3 bytes"
  run -1 --separate-stderr bash -c '"$WQCTL" cursor get -q q version > /dev/full'
  contains "$stderr" "No space left on device"
}

@test "beside a living owner, and changing not one byte" {
  store_with a
  set_cursor q version 42
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  local before
  before=$(fingerprint)
  [ "$(wqctl cursor get -q q version)" = 42 ]
  wqctl cursor ls
  [ "$(fingerprint)" = "$before" ]
  echo > gate
  wait "$PID"
}
