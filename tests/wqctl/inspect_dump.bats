#!/usr/bin/env bats
load helpers

# A store with a bit of everything in queues q and r.
varied_store() {
  wqctl init >/dev/null
  wqctl add -q q --lane slow s1 >/dev/null
  wqctl add -q q f1 f2 >/dev/null
  wqctl add -q q --after 2h later >/dev/null
  wqctl add -q q --after 1h soon >/dev/null
  wqctl add -q r other >/dev/null
  wqctl add -q f bad >/dev/null
  start fail work -q f --base-delay 3h --max-delay 3h -- sh -c 'echo broken >&2; exit 1' _
  until_ok failure_recorded
  kill_owner
}
# Done is on disk, too: without it the key would also be pending after a kill.
failure_recorded() {
  [ "$(wqctl inspect -q f -o json | jq -c '.queues[0] | [.failing, .pending]')" = "[1,0]" ]
}

@test "inspect -o json has the names of the contract" {
  varied_store
  run -0 --separate-stderr wqctl inspect -o json
  [ -z "$stderr" ]
  [ "$(jq -c '.queues | map(.name)' <<< "$output")" = '["f","q","r"]' ]
  [ "$(jq -c '.queues[1] | [.pending, .delayed, .failing, .lanes]' <<< "$output")" = \
    '[3,2,0,{"fast":2,"slow":1}]' ]
  [ "$(jq -c '.queues[0].top_failing[0] | [.key, .count, .last_error]' <<< "$output")" = \
    '["bad",1,"broken [exit status 1]"]' ]
  jq -e '.queues[1] | .oldest_age_seconds >= 0 and .oldest_age_seconds < 60' <<< "$output"
  jq -e '.store | .dir and .uuid and .format_version == 2 and .owner_pid > 0' <<< "$output"
  local time='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$'
  [[ "$(jq -r '.queues[1].oldest_added_at' <<< "$output")" =~ $time ]]
  [[ "$(jq -r '.queues[1].next_ready_at' <<< "$output")" =~ $time ]]
  [[ "$(jq -r '.queues[0].top_failing[0].last_at' <<< "$output")" =~ $time ]]
  [ "$(jq -r '.queues[2].next_ready_at' <<< "$output")" = null ]
}

@test "inspect as a table" {
  varied_store
  run -0 wqctl inspect -o table
  [[ "${lines[0]}" =~ ^STORE\ +UUID\ +FORMAT\ +OWNER$ ]]
  contains "$output" "(gone)"
  [[ "$output" =~ $'\n'q\ +3\ +2\ +1\ +-\ +0\ +-\ +2\ +0\ +0\ +-\ +[0-9]+s\ +in\ 59m ]]
  run -0 wqctl inspect -q r -o table
  [[ "$output" != *$'\n'q\ * ]]
  contains "$(wqctl inspect -o wide)" NAMESPACES
  [ "$(wqctl inspect -o name | tr '\n' ' ')" = "f q r " ]
}

@test "inspect of an empty store" {
  store_with
  run -0 wqctl inspect
  [ "$(wqctl inspect -o json | jq -c .queues)" = "[]" ]
  run -0 wqctl dump
  [ "$(jq -r .record <<< "$output" | tr '\n' ' ')" = "begin end " ]
  [ "$(wqctl dump -o json | jq -c 'map(.records)')" = "[null,0]" ]
}

@test "inspect KEY shows everything known, in every queue or in one" {
  varied_store
  wqctl add -q r f1
  [ "$(wqctl inspect f1 -o json | jq -c '[.key, (.entries | map(.queue))]')" = '["f1",["q","r"]]' ]
  [ "$(wqctl inspect -q r f1 -o json | jq -c '.entries | map([.queue,.state,.lane])')" = \
    '[["r","pending","fast"]]' ]
  [ "$(wqctl inspect bad -o json | jq -c '.entries[0] |
      [.state, .delay_seconds, .failures, .last_error, .ready_at > .added_at,
       .first_failure_at == .last_failure_at]')" = '["delayed",10800,1,"broken [exit status 1]",true,true]' ]
  run -0 wqctl inspect bad
  contains "$output" $'queue f: delayed\n  lane            fast\n'
  contains "$output" $'  delay           3h\n  failures        1\n'
  contains "$output" $'  last error      broken [exit status 1]\n  next delay      10ms, if it fails now'
  [ "$(wqctl inspect bad --base-delay 1m -o json | jq '.entries[0].next_delay_seconds')" = 120 ]
  run -3 --separate-stderr wqctl inspect $'no\e'
  contains "$stderr" 'no\x1b'
  run -3 wqctl inspect -q r f2
  wqctl add -q q -- -dash
  run -0 wqctl inspect -- -dash
}

@test "entries: fields, order, all queues" {
  varied_store
  run -0 --separate-stderr wqctl ls -o jsonl
  [ "$(jq -r '.queue + "/" + .key' <<< "$output" | tr '\n' ' ')" = \
    "f/bad q/f1 q/f2 q/s1 q/soon q/later r/other " ]
  [ "$(jq -c 'select(.key == "s1") | keys_unsorted' <<< "$output")" = \
    '["queue","key","state","lane","sequence","added_at","failures"]' ]
  [ "$(jq -c 'select(.key == "bad") | keys_unsorted' <<< "$output")" = \
    '["queue","key","state","lane","added_at","ready_at","delay_seconds","failures","last_error","first_failure_at","last_failure_at"]' ]
  [ "$(jq -c 'select(.key == "bad") | [.state, .lane, .failures, .last_error]' <<< "$output")" = \
    '["delayed","fast",1,"broken [exit status 1]"]' ]
  [ "$(wqctl ls -o json | jq -c '.[]')" = "$(jq -c . <<< "$output")" ]
  [ "$(wqctl ls -q q -o jsonl | wc -l)" = 5 ]
}

@test "the position of a key: over lanes, and among its neighbours" {
  wqctl init
  wqctl add -q q a b c
  wqctl add -q q --priority 5 first
  wqctl add -q q --lane slow last
  local key
  for key in first:0 a:1 c:3 last:4; do
    [ "$(wqctl inspect "${key%:*}" -o json | jq -c '.entries[0] | [.position, .position_at_most]')" = \
      "[${key#*:},${key#*:}]" ]
  done
  seq 70000 | wqctl add -q q -
  [ "$(wqctl inspect 70000 -o json | jq -c '.entries[0] | .position < 70003 and .position_at_most >= 70003')" = true ]
  [ "$(wqctl inspect 70000 --exact -o json | jq -c '.entries[0] | [.position, .position_at_most]')" = '[70003,70003]' ]
}

@test "the text for a store whose owner was killed, as of a time" {
  cat > lines <<'END'
{"record":"queue","queue":"pods","created_at":"2026-01-31T10:00:00Z","sequence_high_water":9,"paused":true,"shards":0}
{"queue":"pods","key":"default/web-1","state":"pending","sequence":1,"added_at":"2026-01-31T11:00:00Z","group":"default"}
{"queue":"pods","key":"default/web-2","state":"pending","sequence":2,"added_at":"2026-01-31T11:59:57Z","group":"default"}
{"queue":"pods","key":"kube-system/dns","state":"pending","lane":"slow","sequence":3,"added_at":"2026-01-31T11:59:58Z"}
{"queue":"pods","key":"default/db","state":"delayed","added_at":"2026-01-31T11:59:00Z","ready_at":"2026-01-31T12:00:30Z","delay_seconds":90,"failures":4,"last_error":"no route to host","first_failure_at":"2026-01-31T11:00:00Z","last_failure_at":"2026-01-31T11:59:00Z"}
END
  wqctl load lines
  run -0 wqctl inspect --now 2026-01-31T12:00:00Z
  diff - <(sed '1,/^$/d' <<< "$output") <<'END'
queue pods
  pending       3         fast 2, slow 1
  delayed       1         next in 30s
  failing       1
  quarantined   0
  paused        yes, until resume
  oldest        1h pending

  pending for
    up to 10s              2  ########################################
    up to 1m               0
    up to 10m              0
    up to 1h               1  ####################

  due
    within 1m              1  ########################################

  delayed by
    up to 10m              1  ########################################

  failures of a key
    3 to 5                 1  ########################################

  most failures, and the last error
    4x    default/db, 1m ago
          no route to host

  pending by group, the deepest of 1
    2         default

  pending by namespace, the deepest of 2
    2         default
    1         kube-system
END
  contains "$output" "closed it cleanly"
  COLUMNS=40 run -0 wqctl inspect --now 2026-01-31T12:00:00Z -q pods
  [ "$(tail -n +9 <<< "$output" | awk '{ if (length > most) most = length } END { print most }')" -le 40 ]
  start work work -q pods --follow -- true
  until_ok has_owner
  contains "$(wqctl inspect)" "pid $PID, running"
  wqctl add -q pods k || true
  kill_owner
  [ "$(wqctl inspect -o json --now 2026-01-31T12:00:00Z | jq '.queues[0].ages[1].count')" = 2 ]
}
has_owner() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = true ]; }
has_process_log() { contains "$(wqctl inspect)" "process log 8.0 MiB"; }

@test "an owner that was killed did not close the store" {
  store_with
  contains "$(wqctl inspect)" "closed it cleanly"
  [ "$(wqctl inspect -o json | jq .store.owner_closed)" = true ]
  [ "$(wqctl inspect -o json | jq .store.process_log_bytes)" = 0 ]
  [[ "$(wqctl inspect)" != *"process log"* ]]
  echo '{"queue":"q","key":"k","state":"pending"}' | wqctl load
  start work work -q q --follow -- sleep 1000
  until_ok has_owner
  [ "$(wqctl inspect -o json | jq .store.owner_closed)" = false ]
  until_ok has_process_log  # The owner makes it once the store is open.
  kill_owner
  contains "$(wqctl inspect)" "process log 8.0 MiB"
  [ "$(wqctl inspect -o json | jq '.store.process_log_bytes >= 8388608')" = true ]
  contains "$(wqctl inspect)" "is gone and did not close it"
}

@test "dump as a table" {
  varied_store
  run -0 wqctl dump -o table
  [[ "${lines[0]}" =~ ^QUEUE\ +KEY\ +STATE\ +LANE ]]
  [[ "${lines[1]}" =~ ^f\ +bad\ +delayed\ +fast\ +-\ +-\ .*\ 1\ +broken\ \[exit\ status\ 1\]$ ]]
  [ "${#lines[@]}" = 8 ]
}

@test "a long table: rows beyond the first thousand are there too" {
  store_with
  seq 2500 | wqctl add -q q -
  [ "$(wqctl dump -o table | wc -l)" = 2501 ]
  [ "$(wqctl dump -o table | tail -n +2 | awk '{print $2}')" = "$(seq 2500)" ]
}

@test "groups: how many, and the deepest" {
  store_with
  wqctl add -q q --group ns2 a b
  wqctl add -q q --group ns1 c
  wqctl add -q q --group $'\377' d
  wqctl add -q q --group later --after 1h e
  wqctl add -q q none
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0].groups')" = \
    '{"count":3,"max_error":0,"top":[{"group":"ns2","pending":2},{"group":"ns1","pending":1},{"group_base64":"/w==","pending":1}]}' ]
  run -0 wqctl inspect
  contains "$output" $'pending by group, the deepest of 3\n    2         ns2\n    1         ns1\n'
  contains "$output" '\xff'
  [ "$(wqctl ls -q q -o jsonl | jq -r '.group_base64 | select(.)')" = "/w==" ]
}

@test "many lanes and groups: the tables stay narrow, the JSON has them all" {
  store_with
  for priority in {1..12}; do wqctl add -q q --priority "$priority" --group "g$priority" "k$priority"; done
  run -0 wqctl inspect -o table
  contains "$output" "12=1 11=1 10=1 9=1 8=1 7=1 6=1 5=1 others=4"
  [ "$(wqctl inspect | grep -c '^    1  *g')" = 10 ]
  [ "$(wqctl inspect -o json | jq '.queues[0].lanes | length')" = 14 ]
  [ "$(wqctl inspect -o json | jq '.queues[0].groups.count')" = 12 ]
}

@test "quarantine is shown: apart from what is failing, last in dump" {
  store_with
  give_up bad worse
  wqctl add -q q --group ns good
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0] | [.pending, .failing, .quarantined]')" = \
    "[1,0,2]" ]
  [ "$(dumped_keys)" = "good bad worse " ]
  [ "$(wqctl ls -q q -o jsonl | jq -c 'select(.key == "bad") | keys_unsorted')" = \
    '["queue","key","state","lane","quarantined_at","failures","last_error","first_failure_at","last_failure_at"]' ]
  [ "$(wqctl inspect bad -o json | jq -c '.entries[0] | [.state, .failures, .last_error,
      .first_failure_at <= .quarantined_at]')" = '["quarantined",1,"no bad [exit status 1]",true]' ]
  run -0 wqctl inspect -o table
  [[ "$output" =~ $'\n'q\ +1\ +1\ +0\ +-\ +1\ +-\ +0\ +0\ +2\ +-\  ]]
  run -0 wqctl dump -o table
  [[ "${lines[2]}" =~ ^q\ +bad\ +quarantined\ +fast\ +.*\ 1\ +no\ bad\ \[exit\ status\ 1\]$ ]]
}

@test "inspect and dump beside a living owner: right, and not one byte changes" {
  store_with a b
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  kill -STOP "$PID"  # It would still be writing that the key was handed out.
  until_ok grep -q '^State:.T' "/proc/$PID/status"
  local before
  before=$(fingerprint)
  [ "$(wqctl inspect -o json | jq -c "[.store.owner_pid == $PID, .store.owner_alive]")" = '[true,true]' ]
  [ "$(queue_count pending)" = 2 ]
  [ "$(dumped_keys)" = "a b " ]
  wqctl inspect a
  [ "$(fingerprint)" = "$before" ]
  kill -CONT "$PID"
  printf 'x\nx\n' > gate &
  local feeder=$!
  STARTED="$STARTED $feeder"
  until_ok lines_done
  kill -TERM "$PID" 2>/dev/null || true  # It ends by itself after the second key.
  kill "$feeder" 2>/dev/null || true
}
lines_done() { [ "$(queue_count pending)" -lt 2 ]; }

@test "a store that may not be written can be inspected" {
  store_with a
  chmod -R a-w "$WQ_STORE"
  run -0 wqctl dump -q q
  chmod -R u+w "$WQ_STORE"
}

@test "no scratch files are left behind, also by a closed pipe and a signal" {
  store_with
  seq 200000 | wqctl add -q q -
  mkdir tmp
  export TMPDIR=$DIR/tmp
  wqctl inspect
  wqctl ls -o jsonl | head -1
  mkfifo pipe
  exec 9<> pipe
  "$WQCTL" dump > pipe 3>&- 9>&- &
  PID=$!
  STARTED=$PID
  read -r -u 9 _
  kill -TERM "$PID"
  local code=0
  wait "$PID" || code=$?
  exec 9>&-
  [ "$code" = 143 ]
  [ -z "$(ls tmp)" ]
}
