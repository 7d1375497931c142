#!/usr/bin/env bats
load helpers

@test "ls: by queue and key, with all fields" {
  store_with
  wqctl add -q q --priority 5 --group ns placed
  give_up b a
  wqctl add -q r other
  run -1 wqctl work -q r --max-requeues 1 --base-delay 1ms -- sh -c 'exit 3' _
  [ "$(wqctl ls --state quarantined -o json | jq -c 'map(.queue + "/" + .key)')" = \
    '["q/a","q/b","q/placed","r/other"]' ]
  [ "$(wqctl ls --state quarantined -q r -o jsonl | jq -c '[.state, .lane, .failures, .last_error]')" = \
    '["quarantined","fast",2,"exit status 3"]' ]
}

@test "release: pending again in its lane and group, its failures forgotten" {
  store_with
  wqctl add -q q --priority 5 --group ns k
  give_up other
  run -0 wqctl release -q q --yes k
  [ "$output" = "released 1" ]
  [ "$(wqctl inspect -q q k -o json | jq -c '.entries | map([.state,.lane,.group,.failures])')" = \
    '[["pending","5","ns",0]]' ]
  [ "$(states other)" = "quarantined fast" ]
  run -0 --separate-stderr wqctl work -q q -- echo
  [ "$output" = k ]
}

@test "drop: nothing of the key is left, and it can be added anew" {
  store_with
  give_up k
  run -0 wqctl drop -q q --yes k
  [ "$output" = "dropped 1" ]
  [ -z "$(wqctl ls -o jsonl)" ]
  run -0 wqctl add -q q k
  [ "$output" = "added 1, deduplicated 0" ]
}

@test "--all, and --dry-run of it" {
  store_with pending
  wqctl pause -q q --yes
  wqctl resume -q q --yes
  give_up a b
  run -0 wqctl drop -q q --all --dry-run
  [ "$output" = $'would drop "a"\nwould drop "b"\nwould drop "pending"\nto be dropped 3' ]
  run -0 wqctl release -q q --dry-run a
  [ "$output" = $'would release "a"\nto be released 1' ]
  [ "$(queue_count quarantined)" = 3 ]
  run -0 wqctl release -q q --all --yes
  [ "$output" = "released 3" ]
  [ "$(queue_count quarantined)$(queue_count pending)" = 03 ]
  run -0 wqctl drop -q q --all --yes
  [ "$output" = "dropped 0" ]
}

@test "release at a rate: one after the other, over restarts" {
  store_with
  give_up a b c
  run -2 --separate-stderr wqctl release -q q --all --yes --rate never
  contains "$stderr" "a rate such as 10/s"
  run -2 wqctl drop -q q --all --yes --rate 1/s
  run -0 wqctl release -q q --all --yes --rate 1/h
  [ "$output" = "released 3" ]
  [ "$(queue_count quarantined)$(queue_count pending)$(queue_count delayed)" = 012 ]
  readies=$(wqctl ls -q q --state delayed -o jsonl | jq -r '.ready_at | sub("\\.[0-9]+Z$"; "Z") | fromdate')
  read -r first second < <(echo $(sort <<<"$readies"))
  (( second - first >= 3590 && second - first <= 3610 ))
}

@test "a key that is not in quarantine: named, exit 3, the rest is done" {
  store_with
  give_up a
  wqctl add -q q pending
  run -3 --separate-stderr wqctl release -q q --yes pending a
  [ "$output" = "released 1, not found 1" ]
  contains "$stderr" 'key "pending" is not in quarantine in queue "q"'
  run -3 wqctl drop -q q --yes a
  run -3 wqctl drop -q q --dry-run a
}

@test "a key in quarantine is not pending, delayed or failing for the other verbs" {
  store_with
  give_up k
  for verb in rm cancel-delay forget; do
    run -3 wqctl "$verb" -q q --yes k
    run -3 wqctl "$verb" -q q --dry-run k
  done
  [ "$(states k)" = "quarantined fast" ]
}

@test "quarantine survives kill -9" {
  store_with
  wqctl add -q q bad
  start work work -q q --max-requeues 0 --follow -- sh -c 'echo no >&2; exit 1' _
  until_ok given_up
  kill_owner
  [ "$(wqctl ls --state quarantined -o jsonl | jq -c '[.key, .failures, .last_error]')" = '["bad",1,"no [exit status 1]"]' ]
  run -0 --separate-stderr wqctl work -q q -- echo
  [ -z "$output" ]
}
given_up() { [ "$(queue_count quarantined)" = 1 ]; }

@test "a key in quarantine has no next delay" {
  store_with
  give_up held
  run -0 wqctl inspect held
  contains "$output" "  last error      no held"
  [[ "$output" != *"next delay"* ]]
  [ "$(wqctl inspect held -o json | jq '.entries[0].next_delay_seconds')" = null ]
}
