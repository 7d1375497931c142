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
rm -q q --dry-run --prefix a
rm -q q --yes a nothing
rm -q q --yes -o json b
rm -q q --yes --match ^p --limit 1
cancel-delay -q q --yes --hex --prefix 6c
rm -q q --yes --hex 6e6f 6E6F
rm -q none --yes x
cancel-delay -q q --yes later a
requeue -q q --yes delayed nothing
requeue -q q --yes --all
forget -q q --yes a
forget -q sick --yes bad
release -q sick --yes --failures-over 0 --limit 1 --sort-by key
release -q sick --yes bad nothing
delete -q sick --yes --state quarantined
drop -q sick --yes --all
queue delete -q sick --yes
queue delete -q sick --yes
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

@test "every change: the same words, exit codes and outcome as without an owner" {
  make_store
  cp -a "$WQ_STORE" "$DIR/alone"
  WQ_STORE=$DIR/alone every_change >alone.said
  start_idle_owner
  every_change >owned.said
  terminate
  diff alone.said owned.said
  grep -q '^removed 1, not found 1$' owned.said
  contents >owned.dump
  WQ_STORE=$DIR/alone contents >alone.dump
  diff alone.dump owned.dump
  [ "$(wc -l <owned.dump)" -gt 6 ]
}

@test "beside an owner that serves no socket: exit 4 names it, nothing is asked, and nothing changes" {
  store_with a b
  wqctl dump >dump
  mkdir "$WQ_STORE/control.sock"  # So the owner cannot serve it.
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  contains "$(cat work.err)" 'other processes cannot change the store during this run'
  kill -STOP "$PID"  # It would still be writing that the key was handed out.
  until_ok grep -q '^State:.T' "/proc/$PID/status"
  before=$(fingerprint)
  local words
  for words in "add -q q c" "work -q q -- true" "rm -q q --yes b" "pause -q q --yes" "load --replace dump" \
    "queue delete -q q --yes" "repair --into new" workers; do
    # shellcheck disable=SC2086
    run -4 --separate-stderr wqctl $words
    contains "$stderr" "is owned by process $PID"
  done
  run -4 on_terminal y rm -q q b
  [[ "$output" != *"[y/N]"* ]]
  run -1 wqctl init --new
  run -0 wqctl init
  contains "$output" "found store $WQ_STORE"
  run -0 wqctl rm -q q --dry-run b
  [ "$output" = $'would remove "b"\nto be removed 1' ]
  run -0 wqctl load --dry-run --replace dump
  run -0 --separate-stderr wqctl verify
  contains "$stderr" "living owner"
  [ "$(wqctl inspect -o json | jq -c "[.store.owner_pid == $PID, .store.owner_alive]")" = '[true,true]' ]
  [ "$(dumped_keys)" = "a b " ]
  [ "$(fingerprint)" = "$before" ]
}

@test "an owner keeps the queue that it works on from being deleted, and answers questions" {
  store_with a
  wqctl pause -q q --yes >/dev/null
  start owner work -q q --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
  run -4 --separate-stderr wqctl queue delete -q q --yes
  contains "$stderr" "is in use by process"
  run -4 --separate-stderr wqctl load --replace /dev/null
  contains "$stderr" "load does not go through an owner"
  before=$(fingerprint)
  run -1 on_terminal n rm -q q a
  contains "$output" 'Remove "a" of queue "q"? [y/N]'
  contains "$output" 'nothing was changed'
  run -0 wqctl rm -q q --dry-run a
  [ "$(fingerprint)" = "$before" ]
  run -0 on_terminal y rm -q q a
  contains "$output" 'removed 1'
}

# The value of a series in /metrics of the owner whose stderr is in owner.err.
metric() { curl -sf "http://localhost:$(owner_port)/metrics" | sed -n "s/^$1 //p"; }
owner_port() { grep -o 'port [0-9]*' owner.err | tr -dc 0-9; }
metric_is() { [ "$(metric "$1")" = "$2" ]; }

@test "work --http has metrics and health, those of a controller too" {
  store_with good-1 good-2 bad slow
  mkfifo gate
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
  # The killed command ran for 0.3 s, all others for less.
  [ "$(metric 'controller_runtime_reconcile_time_seconds_bucket{controller="q",le="0.25"}')" -le 6 ]
  [ "$(metric "controller_runtime_max_concurrent_reconciles$label")" = 2 ]
  [ "$(metric "controller_runtime_active_workers$label")" = 0 ]
  [ "$(curl -sf "http://localhost:$(owner_port)/readyz")" = ok ]
  curl -sf "http://localhost:$(owner_port)/metrics" | promtool check metrics
  run -22 curl -sf -H 'Host: evil.example' "http://localhost:$(owner_port)/metrics"
  kill -TERM "$PID"
  wait "$PID" || [ $? = 1 ]  # A key is in quarantine.

  wqctl delete -q q --yes bad
  wqctl add -q q first >/dev/null
  start owner work -q q --follow --http 0.0.0.0:0 --http-any-address --grace 60s -- \
    sh -c 'echo "$1" && cat gate' _
  until_ok grep -qx first owner.out
  until_ok metric_is "controller_runtime_active_workers$label" 1
  [ "$(curl -sf -H 'Host: pods.example' "http://localhost:$(owner_port)/readyz")" = ok ]
  echo >gate
  until_ok metric_is "controller_runtime_active_workers$label" 0
}
