#!/usr/bin/env bats
# wqctl workers: who holds which keys.
load helpers

# An owner that holds a key of queue q, and an attached worker that holds another one.
start_holders() {
  store_with a b
  mkfifo gate
  exec 9<> gate
  start owner work -q q --follow -- sh -c 'echo > owner.began; read -r _ < gate' _
  OWNER=$PID
  until_ok test -e owner.began
  start other work -q q --follow -- sh -c 'echo "$WQ_TOKEN" > other.began; read -r _ < gate' _
  OTHER=$PID
  until_ok test -s other.began
}

@test "a worker and the owner, with what they hold, in every format" {
  start_holders
  run -0 wqctl workers
  [[ ${lines[0]} =~ ^QUEUE\ +WORKER\ +PEER\ +HELD\ +OLDEST\ +DONE\ +FAILED$ ]]
  [[ ${lines[1]} =~ ^q\ +wqctl\ work,\ process\ $OTHER\ +unix:[0-9]+\ +1/1\ +[0-9.]+m?s\ ago\ +0\ +0$ ]]
  [[ ${lines[2]} =~ ^q\ +owner,\ process\ $OWNER\ +-\ +1\ +-\ +-\ +-$ ]]
  run -0 wqctl workers -q q -o wide
  [[ ${lines[1]} =~ \ b\ +$(cat other.began)\ +1$ ]]
  run -0 wqctl workers -o json
  [ "$(jq length <<<"$output")" = 2 ]
  [ "$(jq -c '.[0] | [.queue, .capacity, .held_count, .held[0].key, .held[0].token, .done]' <<<"$output")" = \
    "[\"q\",1,1,\"b\",$(cat other.began),0]" ]
  [ "$(jq -c '.[1] | [.peer, .held_count, .held]' <<<"$output")" = '[null,1,[]]' ]
  run -0 wqctl workers -o jsonl
  [ "${#lines[@]}" = 2 ]
  run -0 wqctl workers -o name
  [ "${lines[0]}" = "wqctl work, process $OTHER" ]
}
