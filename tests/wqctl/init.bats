#!/usr/bin/env bats
load helpers

@test "init makes a private store and prints its path and uuid" {
  umask 022
  run -0 --separate-stderr wqctl init
  [[ "$output" =~ ^created\ store\ .*/store,\ uuid\ [0-9a-f-]{36}$ ]]
  contains "$output" "$WQ_STORE"
  [ -z "$stderr" ]
  [ "$(stat -c %a "$WQ_STORE")" = 700 ]
  [ -z "$(find "$WQ_STORE" -type f -perm /077)" ]
  run -0 wqctl ls -o jsonl
  [ -z "$output" ]
}

@test "an existing store: exit 1, nothing changed" {
  store_with a
  local before
  before=$(fingerprint)
  run -1 --separate-stderr wqctl init
  contains "$stderr" "already"
  [ -z "$output" ]
  [ "$(fingerprint)" = "$before" ]
}

@test "an existing store that is in use: exit 1 too" {
  store_with a
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  run -1 wqctl init
  echo > gate
  wait "$PID"
}

@test "a foreign directory that is not empty: exit 1, nothing changed" {
  mkdir "$WQ_STORE"
  echo precious > "$WQ_STORE/thesis.txt"
  local before
  before=$(fingerprint)
  run -1 --separate-stderr wqctl init
  contains "$stderr" "$WQ_STORE"
  [ "$(fingerprint)" = "$before" ]
  [ "$(ls "$WQ_STORE")" = thesis.txt ]
}

@test "a file in the place of the store, a directory that cannot be made: exit 1" {
  echo precious > "$WQ_STORE"
  run -1 wqctl init
  [ "$(cat "$WQ_STORE")" = precious ]
  run -1 wqctl --store "$WQ_STORE/below" init
  run -1 wqctl --store /proc/nothing/store init
}

@test "data that cannot be written is an error" {
  run -1 --separate-stderr bash -c '"$WQCTL" init > /dev/full'
  contains "$stderr" "No space left on device"
}
