#!/usr/bin/env bats
# Changes of a store that a running process owns, by way of its control socket.
load helpers

# An owner that hands out nothing, so that the changes of other processes stay. It processes another queue.
start_idle_owner() {
  start idle work -q idle --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
}

# A store with queue q in every state, and an idle queue.
make_store() {
  wqctl init >/dev/null
  wqctl add -q q a b c >/dev/null
  wqctl add -q q --after 3h later delayed >/dev/null
  wqctl pause -q q --yes >/dev/null
  wqctl add -q sick bad worse >/dev/null
  wqctl work -q sick --max-requeues 0 -- sh -c 'echo "no $1" >&2; exit 1' _ 2>/dev/null || true
  wqctl add -q idle x >/dev/null
  wqctl pause -q idle --yes >/dev/null
}

# Every change, with valid and invalid arguments; its output and its exit code.
every_change() {
  local line words code
  while read -r line; do
    read -ra words <<<"$line"
    code=0
    wqctl "${words[@]}" </dev/null 2>&1 || code=$?
    echo "$line: exit $code"
  done <<'END'
add -q q --lane 7 --group g k k a
add -q q --after 2h soon
add -q q -o json --durability power p1 p2
add -q q --durability async p3
add -q new n
add -q no/name n
rm -q q --yes a nothing
rm -q q --yes -o json b
rm -q none --yes x
cancel-delay -q q --yes later a
requeue -q q --yes delayed nothing
requeue -q q --yes --all
forget -q q --yes a
forget -q sick --yes bad
release -q sick --yes bad nothing
drop -q sick --yes --all
pause -q q --for 2h --yes
resume -q q --yes
resume -q q --yes
resume -q none --yes
pause -q none --yes
END
  head -c 5000 /dev/zero | tr '\0' x | wqctl add -q q - 2>&1 || echo "exit $?"
  printf 'n1\n\nn2\n' | wqctl add -q q - 2>&1 || echo "exit $?"
}
# Everything except times.
contents() {
  wqctl ls -o jsonl | jq -c 'del(.added_at, .ready_at, .sequence, .first_failure_at, .last_failure_at, .quarantined_at)'
}

@test "keys are added while work --follow owns the store" {
  store_with
  wqctl add -q q first >/dev/null
  start owner work -q q --follow -- echo
  until_ok grep -qx first owner.out
  until_ok test -S "$WQ_STORE/control.sock"
  run -0 --separate-stderr wqctl add -q q second third
  [ "$output" = 'added 2, deduplicated 0' ]
  [ -z "$stderr" ]
  until_ok grep -qx third owner.out
  run -0 wqctl add -q q -o json --durability power fourth
  [ "$(jq -c . <<<"$output")" = '{"added":1,"deduplicated":0,"held":0,"refused":0}' ]
  until_ok grep -qx fourth owner.out
  kill -TERM "$PID"
  wait "$PID"
  [ ! -e "$WQ_STORE/control.sock" ]
}

@test "every change: the same words, exit codes and outcome as without an owner" {
  make_store
  cp -a "$WQ_STORE" "$DIR/alone"
  WQ_STORE=$DIR/alone every_change >alone.said
  start_idle_owner
  every_change >owned.said
  kill -TERM "$PID"
  wait "$PID"
  diff alone.said owned.said
  grep -q '^removed 1, not found 1$' owned.said
  contents >owned.dump
  WQ_STORE=$DIR/alone contents >alone.dump
  diff alone.dump owned.dump
  [ "$(wc -l <owned.dump)" -gt 6 ]
}

@test "changes acknowledged by the owner survive its kill -9" {
  store_with
  wqctl add -q q x >/dev/null
  wqctl pause -q q --yes >/dev/null
  start owner work -q q --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
  seq 1 5000 | wqctl add -q q - >out
  [ "$(cat out)" = 'added 5000, deduplicated 0' ]
  kill -KILL "$PID"
  wait "$PID" || true
  [ -S "$WQ_STORE/control.sock" ]
  [ "$(queue_count pending)" = 5001 ]
  # The dead owner's socket is no obstacle.
  run -0 wqctl add -q q y
  wqctl resume -q q --yes >/dev/null
  start owner work -q q -j 4 --follow -- echo
  until_ok grep -qx y owner.out
  run -0 wqctl add -q q z
  until_ok grep -qx z owner.out
}

@test "pause and resume reach a worker at work" {
  store_with
  wqctl add -q q a >/dev/null
  start owner work -q q --follow -- echo
  until_ok grep -qx a owner.out
  until_ok test -S "$WQ_STORE/control.sock"
  wqctl pause -q q --yes
  wqctl add -q q b
  [ "$(queue_count paused)$(queue_count pending)" = true1 ]
  run -1 grep -qx b owner.out
  wqctl resume -q q --yes
  until_ok grep -qx b owner.out
}

@test "bulk changes by filter: dry run, the count in the question, and the changed keys" {
  make_store
  wqctl add -q q web-1 web-2 db-1 >/dev/null
  for owner in no yes; do
    [ "$owner" = no ] || start_idle_owner
    run -0 wqctl rm -q q --dry-run --prefix web-
    [ "$output" = $'would remove "web-1"\nwould remove "web-2"\nto be removed 2' ]
    run -1 on_terminal n rm -q q --match '-1$'
    contains "$output" 'Remove 2 pending keys of queue "q" that match? [y/N]'
    run -0 wqctl rm -q q --yes --match '-1$'
    [ "$output" = 'removed 2' ]
    run -0 wqctl rm -q q --yes --prefix web- --limit 1
    [ "$output" = 'removed 1' ]
    run -0 wqctl requeue -q q --yes --due-within 4h --hex --prefix 6c
    [ "$output" = 'requeued 1' ]
    run -0 wqctl cancel-delay -q q --yes --prefix nothing
    [ "$output" = 'cancelled 0' ]
    run -0 wqctl release -q sick --yes --failures-over 0 --limit 1 --sort-by key
    [ "$output" = 'released 1' ]
    run -0 wqctl rm -q q --yes --hex 61
    [ "$output" = 'removed 1' ]
    [ "$owner" = yes ] || {
      wqctl add -q q web-1 web-2 db-1 a >/dev/null
      wqctl rm -q q --yes later >/dev/null
      wqctl add -q q --after 3h later >/dev/null
    }
  done
  [ "$(dumped_keys)" = 'b c delayed ' ] || [ "$(dumped_keys)" = 'b c later delayed ' ]
  run -2 wqctl rm -q q --yes --prefix a b
  run -2 wqctl rm -q q --yes
  run -2 wqctl forget -q q --yes --all b
}

@test "the question is asked with an owner, too" {
  make_store
  start_idle_owner
  run -1 on_terminal n rm -q q a
  contains "$output" 'Remove "a" of queue "q"? [y/N]'
  contains "$output" 'nothing was changed'
  run -0 on_terminal y rm -q q a
  contains "$output" 'removed 1'
  run -2 wqctl rm -q q b
}

@test "--dry-run beside an owner changes nothing" {
  make_store
  start_idle_owner
  before=$(fingerprint)
  run -0 wqctl rm -q q --dry-run a
  contains "$output" 'to be removed 1'
  [ "$(fingerprint)" = "$before" ]
}

@test "metrics and health on loopback" {
  store_with
  wqctl add -q q a >/dev/null
  start owner work -q q --follow --http 127.0.0.1:0 -- echo
  until_ok grep -q 'serving metrics on port' owner.err
  port=$(grep -o 'port [0-9]*' owner.err | tr -dc 0-9)
  wqctl add -q q b >/dev/null
  until_ok grep -qx b owner.out
  run -0 curl -sf "http://localhost:$port/healthz"
  [ "$output" = ok ]
  run -0 curl -sf "http://localhost:$port/readyz"
  [ "$output" = ok ]
  curl -sf "http://localhost:$port/metrics" >metrics
  grep -q '^workqueue_adds_total{controller="q",name="q"} 1$' metrics
  grep -q '^wq_store_healthy' metrics
  promtool check metrics <metrics
  run -22 curl -sf -H 'Host: evil.example' "http://localhost:$port/metrics"
  kill -TERM "$PID"
  wait "$PID"
  run -2 --separate-stderr wqctl work -q q --http 0.0.0.0:80 -- true
  contains "$stderr" 'no address of this machine alone'
}

# The value of a series in /metrics of the owner whose stderr is in owner.err.
metric() { curl -sf "http://localhost:$(owner_port)/metrics" | sed -n "s/^$1 //p"; }
owner_port() { grep -o 'port [0-9]*' owner.err | tr -dc 0-9; }
metric_is() { [ "$(metric "$1")" = "$2" ]; }

@test "work --http has the metrics of a controller" {
  store_with good-1 good-2 bad slow
  start owner work -q q --follow --http 127.0.0.1:0 -j 2 --max-requeues 2 --base-delay 1ms \
    --timeout 300ms -- sh -c '
      case $1 in
        bad) exit 1 ;;
        slow) [ "$WQ_ATTEMPT" -gt 1 ] || exec sleep 60 ;;
      esac' _
  until_ok grep -q 'serving metrics on port' owner.err
  # bad fails three times, and is given up; slow is killed once, and succeeds then.
  # The duration of an attempt is counted last.
  local label='{controller="q"}' total=controller_runtime_reconcile_total
  until_ok metric_is "controller_runtime_reconcile_time_seconds_count$label" 7
  [ "$(metric "$total{controller=\"q\",result=\"success\"}")" = 3 ]
  [ "$(metric "$total{controller=\"q\",result=\"error\"}")" = 4 ]
  [ "$(metric "controller_runtime_reconcile_errors_total$label")" = 4 ]
  [ "$(metric "controller_runtime_terminal_reconcile_errors_total$label")" = 1 ]
  [ "$(metric "controller_runtime_reconcile_timeouts_total$label")" = 1 ]
  [ "$(metric "controller_runtime_reconcile_panics_total$label")" = 0 ]
  # The killed command ran for 0.3 s, all others for less.
  [ "$(metric 'controller_runtime_reconcile_time_seconds_bucket{controller="q",le="0.25"}')" -le 6 ]
  [ "$(metric "controller_runtime_max_concurrent_reconciles$label")" = 2 ]
  [ "$(metric "controller_runtime_active_workers$label")" = 0 ]
  [ "$(queue_count quarantined)" = 1 ]
  kill -TERM "$PID"
  wait "$PID" || [ $? = 1 ]  # A key is in quarantine.
}

@test "work --http shows a command that runs" {
  store_with first
  mkfifo gate
  start owner work -q q --follow --http 127.0.0.1:0 --grace 60s -- sh -c 'echo "$1" && cat gate' _
  until_ok grep -q 'serving metrics on port' owner.err
  until_ok grep -qx first owner.out
  local label='{controller="q"}'
  [ "$(metric "controller_runtime_active_workers$label")" = 1 ]
  [ "$(metric "controller_runtime_reconcile_time_seconds_count$label")" = 0 ]
  echo >gate
  until_ok metric_is "controller_runtime_active_workers$label" 0
  until_ok metric_is 'controller_runtime_reconcile_total{controller="q",result="success"}' 1
  kill -TERM "$PID"
  wait "$PID"
}

@test "metrics on any address, if --http-any-address allows it" {
  store_with a
  start owner work -q q --follow --http 0.0.0.0:0 --http-any-address -- true
  until_ok grep -q 'serving metrics on port' owner.err
  port=$(grep -o 'port [0-9]*' owner.err | tr -dc 0-9)
  run -0 curl -sf -H 'Host: pods.example' "http://localhost:$port/readyz"
  [ "$output" = ok ]
  kill -TERM "$PID"
  wait "$PID"
  run -2 --separate-stderr wqctl work -q q --http-any-address -- true
  contains "$stderr" "--http-any-address goes with --http"
  run -2 --separate-stderr wqctl work -q q --http-any-address --http example.com:80 -- true
  contains "$stderr" '"example.com:80" is no address'
}
