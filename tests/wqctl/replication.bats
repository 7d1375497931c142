#!/usr/bin/env bats
# The log of a replicated store, its replicas, and wqctl serve as a replica.
load helpers
load etcd

@test "init copies a store to a log, seed makes a replica of it, remove makes that a store again" {
  start_etcd
  store_with a b c
  uuid=$(wqctl inspect -o json | jq -r .store.uuid)
  run -3 --separate-stderr wqctl replication seed "$DIR/two" "$LOG" --replica two
  contains "$stderr" 'has no store yet'
  run -0 wqctl replication init "$WQ_STORE" "$LOG" --replica one
  contains "$output" "uuid $uuid"
  run -0 wqctl replication init "$WQ_STORE" "$LOG" --replica one
  # The status of a log without an owner.
  run -1 --separate-stderr log_status
  [ "$(jq -r .store_uuid <<<"$output")" = "$uuid" ]
  jq -e '.owner == null and .checkpoint.rows > 0 and .members[0].reachable' <<<"$output"
  jq -e '.replicas | map(.name) == ["one"]' <<<"$output"
  run -1 wqctl replication status "$LOG"
  contains "$output" 'owner:       none'
  # Another store cannot use the log.
  run -1 --separate-stderr wqctl replication init "$DIR/other" "$LOG" --replica other
  contains "$stderr" "is the log of store $uuid already; replication seed makes a replica of it"
  wqctl --store "$DIR/plain" init
  run -1 --separate-stderr wqctl replication init "$DIR/plain" "$LOG" --replica other
  contains "$stderr" "$DIR/plain is store"
  [ ! -e "$DIR/other" ]
  run -0 wqctl replication seed "$DIR/two" "$LOG" --replica two
  contains "$output" "uuid $uuid"
  log_status | jq -e '.replicas | map([.name, .lag_entries]) == [["one", 0], ["two", 0]]'
  # What a replica has, and that it is one.
  run -0 --separate-stderr wqctl --store "$DIR/two" ls -q q -o name
  [ "$output" = $'a\nb\nc' ]
  contains "$stderr" "$DIR/two is a replica: entry "
  run -0 wqctl replication remove "$DIR/two"
  run -0 --separate-stderr wqctl --store "$DIR/two" ls -q q -o name
  [ "$output" = $'a\nb\nc' ]
  [ -z "$stderr" ]
  run -0 wqctl --store "$DIR/two" add -q q d
  run -2 wqctl replication remove "$DIR/two"
}

@test "forget and destroy" {
  start_etcd
  wqctl replication init "$WQ_STORE" "$LOG" --replica one
  wqctl replication seed "$DIR/two" "$LOG" --replica two
  run -0 wqctl replication forget "$LOG" two
  log_status | jq -e '.replicas | map(.name) == ["one"]'
  run -3 wqctl replication forget "$LOG" two
  run -4 --separate-stderr wqctl replication destroy "$LOG" --yes
  contains "$stderr" one
  log_status | jq -e '.store_uuid != null'
  run -0 wqctl replication destroy "$LOG" --yes --force
  log_status | jq -e '.store_uuid == null and .replicas == [] and .entries.last == 0'
  # The store is still there.
  run -0 wqctl replication remove "$WQ_STORE"
  run -0 wqctl inspect
}

@test "serve: the owner serves, promote and SIGTERM hand over with all keys" {
  start_etcd
  replica one serve --lease 60
  until_ok test -S "$DIR/one/control.sock"
  one=$PID
  wqctl --store "$DIR/one" add -q q a b
  replica two serve --lease 60  # Longer than until_ok waits: no lease ends by itself.
  two=$PID
  until_ok grep -q 'waiting: owner is one' two.err
  until_ok log_is '.replicas | map(.name) == ["one", "two"]'
  # A replica refuses changes.
  [ ! -S "$DIR/two/control.sock" ]
  run -4 wqctl --store "$DIR/two" add -q q refused
  run -3 --separate-stderr wqctl promote "$LOG" three
  contains "$stderr" 'there is no replica three; the log has one, two'
  run -4 wqctl replication destroy "$LOG" --yes --force
  run -0 wqctl promote "$LOG" two
  contains "$output" 'replica two owns the store'
  run -0 wqctl promote "$LOG" two
  log_is '.owner.name == "two"'
  until_ok grep -q 'waiting: owner is two' one.err
  contains "$(cat one.err)" 'does not own the store any more'
  until_ok test -S "$DIR/two/control.sock"
  wqctl --store "$DIR/two" add -q q c
  [ "$(wqctl --store "$DIR/two" ls -q q -o name)" = $'a\nb\nc' ]

  terminate "$two"
  until_ok log_is '.owner.name == "one"'
  until_ok test -S "$DIR/one/control.sock"
  wqctl --store "$DIR/one" add -q q d
  [ "$(wqctl --store "$DIR/one" ls -q q -o name)" = $'a\nb\nc\nd' ]
  terminate "$one"
}

@test "promote of a replica that does not run is withdrawn" {
  start_etcd
  wqctl replication init "$DIR/one" "$LOG" --replica one
  wqctl replication seed "$DIR/two" "$LOG" --replica two
  run -1 --separate-stderr wqctl promote "$LOG" two --timeout 300ms
  contains "$stderr" 'replica two did not become the owner in time'
  log_status | jq -e '.successor == null'
}

@test "work as an owner without etcd: its commands end, their keys stay, and it goes on with etcd" {
  start_etcd
  store_with key
  wqctl replication init "$WQ_STORE" "$LOG" --replica one
  start one work -q q --replicate "$LOG" --replica one --lease 2 --grace 100ms -- \
    sh -c 'echo "$1" >>ran; exec sleep 100' _
  one=$PID
  until_ok test -s ran
  kill -STOP "$ETCD_PID"
  until_ok grep -q 'does not own the store any more' one.err
  until_ok grep -q 'the grace period is over' one.err
  kill -CONT "$ETCD_PID"
  until_ok ran_again
  [ "$(sort -u ran)" = key ]
  contains "$(cat one.err)" 'this process owns the store now'
  kill -TERM "$one"
  exits 1 "$one"  # A command was killed.
}
ran_again() { [ "$(wc -l <ran)" -ge 2 ]; }
