#!/usr/bin/env bats
# wqctl work as one of several replicas.
load helpers
load etcd

# work_as NAME ARG... -- CMD...: works on queue q with --follow.
work_as() {
  local name=$1
  shift
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  start "$name" --store "$DIR/$name" work -q q --follow --replicate "$LOG" --replica "$name" \
    "${options[@]}" "$@"
}

lines() { [ "$(wc -l <ran)" -ge "$1" ]; }
distinct() { [ "$(sort -u ran | wc -l)" = "$1" ]; }

# two_replicas KEY...: of a store with these keys.
two_replicas() {
  store_with "$@"
  wqctl replication init "$WQ_STORE" "$LOG" --replica one
  mv "$WQ_STORE" "$DIR/one"
  wqctl replication seed "$DIR/two" "$LOG" --replica two
  : >ran
}

@test "kill -9 of the owner under load: the other one goes on, and no key is lost" {
  start_etcd
  mapfile -t keys < <(seq 1 600)
  two_replicas "${keys[@]}"
  # From 50 keys on its commands hang, so that there is work left.
  work_as one --lease 2 -j 2 -- sh -c \
    'echo "$1" >>ran; [ "$(wc -l <ran)" -lt 50 ] || exec tail --pid=$PPID -f /dev/null' _
  one=$PID
  until_ok lines 1
  work_as two --lease 2 -j 2 -- sh -c 'echo "$1" >>ran' _
  two=$PID
  until_ok grep -q 'waiting: owner is one' two.err
  until_ok lines 50
  before=$(wc -l <ran)
  kill -9 "$one"
  wait "$one" || true
  # The second had part of the work to do.
  [ "$before" -lt 600 ]
  until_ok grep -q 'this process owns the store now' two.err
  until_ok distinct 600
  [ "$(sort -n -u ran)" = "$(printf '%s\n' "${keys[@]}")" ]
  # Only keys of the moment of the kill were run twice.
  [ "$(wc -l <ran)" -lt 700 ]
  kill -TERM "$two"
  wait "$two"
  [ "$(wqctl --store "$DIR/two" ls -q q -o name 2>/dev/null)" = "" ]
}

@test "SIGTERM: the owner records what ran, and hands over before its lease ends" {
  start_etcd
  mapfile -t keys < <(seq 1 300)
  two_replicas "${keys[@]}"
  # Longer than until_ok waits.
  work_as one --lease 60 -- sh -c 'echo "$1" >>ran' _
  one=$PID
  until_ok lines 10
  work_as two --lease 60 -j 2 -- sh -c 'echo "$1" >>ran' _
  two=$PID
  until_ok grep -q 'waiting: owner is one' two.err
  kill -TERM "$one"
  wait "$one"
  until_ok grep -q 'this process owns the store now' two.err
  until_ok distinct 300
  # Every outcome was recorded: no key was run twice.
  [ "$(wc -l <ran)" = 300 ]
  kill -TERM "$two"
  wait "$two"
}

@test "an owner without etcd: its commands end, their keys stay, and it goes on with etcd" {
  start_etcd
  two_replicas key
  work_as one --lease 2 --grace 100ms -- sh -c 'echo "$1" >>ran; exec sleep 100' _
  one=$PID
  until_ok lines 1
  kill -STOP "$ETCD_PID"
  until_ok grep -q 'does not own the store any more' one.err
  until_ok grep -q 'the grace period is over' one.err
  kill -CONT "$ETCD_PID"
  until_ok lines 2
  [ "$(sort -u ran)" = key ]
  contains "$(cat one.err)" 'this process owns the store now'
  kill -TERM "$one"
  code=0
  wait "$one" || code=$?
  [ "$code" = 1 ]  # A command was killed.
}

@test "SIGTERM of a replica that waits: it ends at once, with exit code 0" {
  start_etcd
  two_replicas
  work_as one -- true
  one=$PID
  until_ok log_is '.owner.name == "one"'
  work_as two -- true
  until_ok grep -q 'waiting: owner is one' two.err
  kill -TERM "$PID"
  wait "$PID"
  kill -TERM "$one"
  wait "$one"
}

@test "work without --follow ends when nothing is left, and leaves the log free" {
  start_etcd
  two_replicas a b
  run -0 wqctl --store "$DIR/one" work -q q --replicate "$LOG" --replica one -- \
    sh -c 'echo "$1" >>ran' _
  [ "$(cat ran)" = $'a\nb' ]
  log_status | jq -e '.owner == null'
  run -0 wqctl replication seed "$DIR/two" "$LOG" --replica two
  [ "$(wqctl --store "$DIR/two" ls -q q -o name 2>/dev/null)" = "" ]
}
