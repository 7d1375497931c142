#!/usr/bin/env bats
load helpers

@test "pause and resume: durable, and shown" {
  store_with a
  run -0 wqctl pause -q q --yes
  [ "$output" = 'paused queue "q"' ]
  [ "$(wqctl inspect -o json | jq -c '.queues[0] | [.paused, .paused_until]')" = '[true,null]' ]
  run -0 wqctl inspect -o table
  [[ "$output" =~ $'\n'q\ .*\ 0\ +yes\ +[0-9]+s\  ]]
  run -0 wqctl resume -q q --yes
  [ "$output" = 'resumed queue "q"' ]
  [ "$(wqctl inspect -o json | jq -c '.queues[0] | [.paused, .paused_until]')" = '[false,null]' ]
  run -0 wqctl resume -q q --yes
  [ "$output" = 'queue "q" is not paused' ]
}

@test "a pause for a time ends by itself" {
  store_with a
  run -0 wqctl pause -q q --for 2h --yes
  [ "$output" = 'paused queue "q" for 2h' ]
  [ "$(queue_count paused)" = true ]
  [[ "$(wqctl inspect -o json | jq -r '.queues[0].paused_until')" =~ ^[0-9]{4}-.*Z$ ]]
  run -0 wqctl inspect -o table
  contains "$output" "for 1h59m"
  wqctl pause -q q --for 1us --yes
  [ "$(queue_count paused)" = false ]
  run -0 --separate-stderr wqctl work -q q -- echo
  [ "$output" = a ]
}

@test "work on a paused queue: says so, leaves every key, exit 0" {
  store_with a b
  wqctl add -q q --after 1h c
  wqctl pause -q q --yes
  run -0 --separate-stderr wqctl work -q q -- touch
  contains "$stderr" 'queue "q" is paused: 3 keys stay in the store'
  [ ! -e a ]
  [ "$(queue_count pending)$(queue_count delayed)" = 21 ]
  wqctl add -q q d
  wqctl cancel-delay -q q --yes c
  wqctl resume -q q --yes
  run -0 --separate-stderr wqctl work -q q -- echo
  [ "$output" = $'a\nb\nd' ]
}

@test "work --follow on a paused queue waits for the end of the pause" {
  store_with a
  wqctl pause -q q --for 1s --yes
  start work work -q q --follow -- touch
  until_ok grep -q 'is paused: waiting' work.err
  until_ok test -e a
  kill -TERM "$PID"
  wait "$PID"
}

@test "--follow on a pause without an end ends on SIGTERM, with every key there" {
  store_with a
  wqctl pause -q q --yes
  start work work -q q --follow -- touch
  until_ok grep -q 'is paused: waiting' work.err
  kill -TERM "$PID"
  wait "$PID"
  [ "$(dumped_keys)" = "a " ]
  [ "$(queue_count paused)" = true ]
}

@test "no change: --dry-run, an owner, a missing queue, bad words" {
  store_with a
  run -0 wqctl pause -q q --for 1h30m --dry-run
  [ "$output" = 'would pause queue "q" for 1h30m' ]
  run -0 wqctl resume -q q --dry-run
  [ "$output" = 'queue "q" is not paused' ]
  run -3 wqctl pause -q nope --yes
  run -3 wqctl resume -q nope --yes
  run -3 wqctl pause -q nope --dry-run
  run -3 wqctl resume -q nope --dry-run
  run -2 wqctl pause --yes
  run -2 wqctl pause -q q --for 0 --yes
  run -2 wqctl pause -q q --for -1s --yes
  run -2 wqctl pause -q q --yes extra
  run -2 wqctl resume -q q --for 1s --yes
  run -2 --separate-stderr wqctl pause -q q < /dev/null
  contains "$stderr" "--yes"
  run -2 wqctl resume -q q < /dev/null
  [ "$(queue_count paused)" = false ]
  wqctl pause -q q --yes
  run -0 wqctl resume -q q --dry-run
  [ "$output" = 'would resume queue "q"' ]
  [ "$(queue_count paused)" = true ]
  [ "$(wqctl inspect -o json | jq '.queues | length')" = 1 ]
}

@test "on a terminal it asks" {
  store_with a
  run -1 on_terminal n pause -q q --for 1h
  contains "$output" 'Pause queue "q" for 1h? [y/N]'
  contains "$output" "nothing was changed"
  [ "$(queue_count paused)" = false ]
  run -0 on_terminal y pause -q q
  [ "$(queue_count paused)" = true ]
  run -0 on_terminal yes resume -q q
  contains "$output" 'Resume queue "q"? [y/N]'
  [ "$(queue_count paused)" = false ]
}

@test "beside a living owner that serves no socket: exit 4 before anything is asked, and --dry-run works" {
  store_with a
  mkdir "$WQ_STORE/control.sock"  # So the owner cannot serve it.
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  run -4 --separate-stderr wqctl pause -q q --yes
  contains "$stderr" "$PID"
  run -4 on_terminal y pause -q q
  contains "$output" "$PID"
  [[ "$output" != *"[y/N]"* ]]
  run -0 wqctl pause -q q --dry-run
  run -0 wqctl resume -q q --dry-run
  echo > gate
  wait "$PID"
}
