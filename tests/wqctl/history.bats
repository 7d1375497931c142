#!/usr/bin/env bats
# inspect --history: the last events of a key, after a run, and through an owner that serves.
load helpers

kinds() { wqctl inspect --history -q q "$@" -o name | tr '\n' ' '; }

@test "what a run has done is the history of its keys, in every format" {
  store_with good bad
  # shellcheck disable=SC2016
  run wqctl work -q q --max-requeues 1 --base-delay 1ms -- sh -c 'test "$1" = good || { echo "no luck" >&2; exit 3; }' _
  [ "$(kinds good)" = 'handed_out done ' ]
  [ "$(kinds bad)" = 'handed_out failed added handed_out failed quarantined ' ]
  run -0 wqctl inspect --history -q q bad
  [[ ${lines[0]} =~ ^AT\ +EVENT\ +TOOK\ +DELAY\ +WORKER\ +REASON\ +ERROR$ ]]
  contains "$output" 'no luck'
  run -0 wqctl inspect --history -q q bad --limit 2 -o json
  [ "$(jq -c 'map(.kind)' <<<"$output")" = '["failed","quarantined"]' ]
  run -3 wqctl inspect --history -q q nothing
  contains "$output" 'no event of key'
}

@test "through an owner that serves, at once, and after its kill" {
  store_with
  start serve serve
  until_ok test -S "$WQ_STORE/control.sock"
  wqctl add -q q --reason 'Pod created' k
  wqctl add -q q k k
  [ "$(kinds k)" = 'added deduplicated ' ]
  [ "$(wqctl inspect --history -q q k -o json | jq -c '.[1].count, .[0].reason' | tr '\n' ' ')" = '2 "Pod created" ' ]
  wqctl work -q q -- true
  [ "$(wqctl inspect --history -q q k -o json | jq -r '.[2].worker' | cut -d, -f1)" = 'wqctl work' ]
  kill -9 "$PID"
  wait "$PID" || true
  [ "$(kinds k)" = 'added deduplicated handed_out done ' ]
  wqctl verify
}

@test "no history with --history-bytes 0" {
  store_with a
  wqctl work -q q --history-bytes 0 -- true
  run -3 wqctl inspect --history -q q a
  [ ! -e "$WQ_STORE/history" ]
  run -2 wqctl work -q q --history-bytes 5 -- true
  run -2 wqctl work -q q --history-age 59s -- true
  contains "$output" 'at least a minute'
}
