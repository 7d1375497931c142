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

@test "an existing store: init prints it, exit 0, nothing changed" {
  wqctl init >created
  wqctl add -q q a >/dev/null
  local before
  before=$(fingerprint)
  run -0 --separate-stderr wqctl init
  [ "$output" = "$(sed 's/^created/found/' created)" ]
  [ -z "$stderr" ]
  [ "$(fingerprint)" = "$before" ]
}

@test "an existing store that is in use: init prints it, too" {
  store_with a
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  run -0 wqctl init
  contains "$output" "found store $WQ_STORE"
  echo > gate
  wait "$PID"
}

@test "init of a damaged store, of another format version, of a snapshot: an error, nothing changed" {
  store_with a
  wqctl snapshot create --name s snapshots >/dev/null
  run -1 --separate-stderr wqctl --store snapshots/s init
  contains "$stderr" "snapshot"
  sed -i 's/^wq-store 2 /wq-store 999 /' "$WQ_STORE/FORMAT"
  run -1 --separate-stderr wqctl init
  contains "$stderr" 999
  sed -i 's/^wq-store 999 /wq-store 2 /' "$WQ_STORE/FORMAT"
  rm "$WQ_STORE/CURRENT"
  local before
  before=$(fingerprint)
  run -5 --separate-stderr wqctl init
  contains "$stderr" CURRENT
  [ "$(fingerprint)" = "$before" ]
}

@test "--new: an existing store is exit 1, nothing changed" {
  store_with a
  local before
  before=$(fingerprint)
  run -1 --separate-stderr wqctl init --new
  contains "$stderr" "already"
  [ -z "$output" ]
  [ "$(fingerprint)" = "$before" ]
}

@test "--new: an existing store that is in use is exit 1 too" {
  store_with a
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  run -1 wqctl init --new
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
