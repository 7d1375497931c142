#!/usr/bin/env bats
# wqctl limits: what bounds the hand-outs of queues and groups.
load helpers

# The rows of limits ls, without padding.
rows() { wqctl limits ls "$@" | tail -n +2 | tr -s ' '; }

@test "limits of a closed store: set, listed, replaced, reset" {
  store_with a
  [ "$(wqctl limits ls -o json)" = '[]' ]
  run -0 wqctl limits set -q q --group t1 --max-processing 2 --rate 10/s --burst 5 --weight 3 --yes
  [ "$output" = 'limited group "t1" of queue "q" to 2 processing, 10/s, burst 5, weight 3' ]
  run -0 wqctl limits set -q q --max-processing 100 --yes
  [ "$output" = 'limited queue "q" to 100 processing' ]
  run -0 wqctl limits ls
  [[ ${lines[0]} =~ ^QUEUE\ +GROUP\ +MAX\ PROCESSING\ +RATE\ +BURST\ +WEIGHT\ +PROCESSING\ +HELD\ BACK\ +NEXT\ IN$ ]]
  [ "$(rows)" = $'q - 100 - - - - - -\nq t1 2 10/s 5 3 - - -' ]
  wqctl limits set -q q --group t1 --rate 30/m --yes
  [ "$(rows -q q | tail -1)" = 'q t1 - 30/m 1 1 - - -' ]
  [ "$(wqctl limits ls -o jsonl | tail -1)" = '{"queue":"q","group":"t1","max_processing":0,"per_second":0.5,"burst":1,"weight":1,"own_limits":true,"processing":null,"held_back":null,"next_in_seconds":null}' ]
  run -0 wqctl limits reset -q q --group t1 --yes
  [ "$output" = 'reset the limits of group "t1" of queue "q"' ]
  run -0 wqctl limits reset -q q --group t1 --yes
  [ "$output" = 'group "t1" of queue "q" has no limits that were set' ]
  run -0 wqctl limits reset -q q --yes
  [ "$output" = 'reset the limits of queue "q"' ]
  [ "$(rows)" = '' ]
}

group_is_held_back() { [ "$(wqctl limits ls -o json | jq '.[0].held_back')" = true ]; }
all_have_begun() { [ "$(sort began | tr -d '\n')" = abcd ]; }

@test "limits bound the commands of wqctl work" {
  store_with
  wqctl add -q q --group g a b c >/dev/null
  wqctl add -q q d >/dev/null
  wqctl limits set -q q --group g --rate 1/h --yes
  mkfifo gate
  exec 9<> gate
  start work work -q q -j 4 -- sh -c 'echo "$1" >> began; read -r _ < gate' _
  until_ok grep -qx d began
  until_ok group_is_held_back
  [ "$(wqctl limits ls -o json | jq -c '.[0] | [.group, .held_back, (.next_in_seconds > 1000)]')" = \
    '["g",true,true]' ]
  [[ "$(rows)" =~ ^q\ g\ -\ 1/h\ 1\ 1\ [0-9]\ yes\ [0-9]+m ]]
  # Through the owner: more of them, at once.
  run -0 wqctl limits reset -q q --group g --yes
  [ "$output" = 'reset the limits of group "g" of queue "q"' ]
  until_ok all_have_begun
  printf '\n\n\n\n' >&9
  wait "$PID"
  [ "$(wqctl limits ls -o json)" = '[]' ]
}

@test "limits of any bytes, and those of the file of serve" {
  store_with
  wqctl add -q q a >/dev/null
  wqctl limits set -q q --group $'g\xff"' --max-processing 1 --yes
  [ "$(wqctl limits ls -o json | jq -r '.[0].group_base64')" = "$(printf 'g\xff"' | base64)" ]
  [ "$(wqctl limits ls -o name)" = 'g\xff"' ]
  printf '%s\n' '[queue r]' 'order = fair' 'max-processing = 3' 'rate = 1000/h' 'burst = 2' \
    'group-max-processing = 1' 'group-rate = 1' 'group-burst = 7' 'group-weight = 2' > config
  start server serve --address 127.0.0.1:0 --config config
  until_ok wqctl workers
  wqctl add -q r --group x a b >/dev/null
  [ "$(rows -q r)" = 'r - 3 1000/h 2 - 0 no -' ]
  [ "$(rows -q q)" = 'q g\xff" 1 - - 1 0 no -' ]
  wqctl limits set -q r --group x --weight 5 --yes
  [ "$(rows -q r | tail -1)" = 'r x - - - 5 0 no -' ]
  kill -TERM "$PID"
  wait "$PID"
}

@test "no change: --dry-run, a missing queue, bad words" {
  store_with a
  run -0 wqctl limits set -q q --rate 5 --dry-run
  [ "$output" = 'would limit queue "q" to 5/s, burst 1' ]
  run -0 wqctl limits reset -q q --group g --dry-run
  [ "$output" = 'group "g" of queue "q" has no limits that were set' ]
  run -3 wqctl limits ls -q nope
  run -3 wqctl limits set -q nope --rate 5 --yes
  run -3 wqctl limits reset -q nope --yes
  run -3 wqctl limits reset -q nope --dry-run
  run -2 wqctl limits set -q q --yes
  run -2 wqctl limits set --rate 5 --yes
  run -2 wqctl limits set -q q --burst 5 --yes
  run -2 wqctl limits set -q q --weight 5 --yes
  run -2 wqctl limits set -q q --group g --weight 1001 --yes
  run -2 wqctl limits set -q q --max-processing 0 --yes
  run -2 wqctl limits set -q q --max-processing many --yes
  run -2 wqctl limits set -q q --rate 2000000 --yes
  run -2 wqctl limits set -q q --rate 5/d --yes
  run -2 wqctl limits set -q q --rate 5 --yes extra
  run -2 wqctl limits reset -q q --rate 5 --yes
  run -2 wqctl limits ls -q q extra
  run -2 --separate-stderr wqctl limits set -q q --rate 5 < /dev/null
  contains "$stderr" "--yes"
  run -2 wqctl limits set -q q --group "$(printf 'g%.0s' {1..1025})" --rate 5 --yes
  contains "$output" 'group'
  [ "$(wqctl limits ls -o json)" = '[]' ]
}

@test "on a terminal it asks" {
  store_with a
  run -1 on_terminal n limits set -q q --group g --max-processing 1
  contains "$output" 'Limit group "g" of queue "q" to 1 processing, weight 1? [y/N]'
  run -0 on_terminal y limits set -q q --max-processing 1
  run -1 on_terminal n limits reset -q q
  contains "$output" 'Reset the limits of queue "q"? [y/N]'
  [ "$(rows)" = 'q - 1 - - - - - -' ]
}
