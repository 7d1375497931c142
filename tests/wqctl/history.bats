#!/usr/bin/env bats
# wqctl history: the last events of a key, after a run, beside its owner, and through one that serves.
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
  run -0 wqctl inspect --history -q q bad -o jsonl
  [ "$(jq -r 'select(.kind == "failed") | .error' <<<"${lines[1]}")" != '' ]
}

@test "through an owner that serves, at once, and after its kill" {
  store_with
  start serve serve
  until_ok test -S "$WQ_STORE/control.sock"
  wqctl add -q q k
  wqctl add -q q k k
  wqctl add -q q --reason 'Pod created' why
  wqctl add -q q --reason 'Node ready' why
  wqctl rm -q q --yes why
  [ "$(kinds k)" = 'added deduplicated ' ]
  [ "$(wqctl inspect --history -q q k -o json | jq '.[1].count')" = 2 ]
  wqctl work -q q -- true
  [ "$(kinds k)" = 'added deduplicated handed_out done ' ]
  [ "$(wqctl inspect --history -q q k -o json | jq -r '.[2].worker' | cut -d, -f1)" = 'wqctl work' ]
  kill -9 "$PID"
  wait "$PID" || true
  [ "$(kinds k)" = 'added deduplicated handed_out done ' ]
  [ "$(wqctl inspect --history -q q why -o json | jq -c 'map(.reason)')" = '["Pod created","Node ready",""]' ]
  wqctl verify
  wqctl snapshot create --name s snapshots
  wqctl snapshot restore snapshots --into restored
  wqctl --store restored verify
}

@test "no history: --history-bytes 0, and a key that has none" {
  store_with a
  wqctl work -q q --history-bytes 0 -- true
  run -3 wqctl inspect --history -q q a
  [ ! -e "$WQ_STORE/history" ]
  wqctl add -q q b
  wqctl work -q q -- true
  run -3 wqctl inspect --history -q q nothing
  contains "$output" 'no event of key'
  run -2 wqctl work -q q --history-bytes 5 -- true
  run -2 wqctl work -q q --history-age 59s -- true
  contains "$output" 'at least a minute'
  run -2 wqctl inspect --history -q q
}
