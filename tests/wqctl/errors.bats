#!/usr/bin/env bats
load helpers

# fail_with QUEUE ERROR KEY...: the keys have failed once, and are delayed by three hours.
fail_with() {
  local queue=$1 error=$2
  shift 2
  wqctl add -q "$queue" -- "$@" >/dev/null
  FAILING=("$queue" "$@")
  start failing work -q "$queue" --base-delay 3h --max-delay 3h -- \
    sh -c 'echo "$0" >&2; exit 1' "$error"
  until_ok all_have_failed
  kill -TERM "$PID"
  wait "$PID"
}
all_have_failed() {
  local key
  for key in "${FAILING[@]:1}"; do
    [ "$(wqctl inspect -q "${FAILING[0]}" -o json -- "$key" | jq '.entries[0].failures')" = 1 ] || return 1
  done
}

@test "keys that fail for one cause are one row, most keys first" {
  store_with
  fail_with q 'dial tcp 10.0.0.1:443: timeout after 30s' ns/a-1 ns/a-2 ns/a-3
  fail_with q 'dial tcp 10.0.0.2:443: timeout after 31s' ns/a-4
  fail_with r 'no such object' other
  run -0 --separate-stderr wqctl errors
  [[ "${lines[0]}" =~ ^QUEUE\ +KEYS\ +QUARANTINED\ +FAILURES\ +LAST\ +EXAMPLE\ +ERROR$ ]]
  [[ "${lines[1]}" =~ ^q\ +4\ +0\ +4\ .*ago\ +ns/a-1\ +dial\ tcp\ \<address\>:\ timeout\ after\ \<time\>\ \[exit\ status\ \<n\>\]$ ]]
  [[ "${lines[2]}" =~ ^r\ +1\ +0\ +1\ .*\ other\ +no\ such\ object ]]
  [ "${#lines[@]}" = 3 ]
  [[ "$(wqctl errors -o wide | head -n 1)" =~ LAST\ +FIRST\ +EXAMPLE ]]
}

@test "quarantined keys have their errors, too" {
  store_with
  give_up a b
  fail_with q 'another cause' c
  [ "$(wqctl errors -o json | jq -c 'map([.keys, .quarantined])')" = '[[2,2],[1,0]]' ]
  [ "$(wqctl errors --state failing -o json | jq -c 'map([.keys, .quarantined])')" = '[[1,0]]' ]
  [ "$(wqctl errors --state quarantined -o jsonl | jq -c '[.examples[].key]')" = '["a","b"]' ]
  run -2 wqctl errors --state pending
}

@test "json: the form, the times and examples with their whole errors" {
  store_with
  fail_with q 'pods "a-1" not found' ns/a-1
  run -0 wqctl errors -o json
  [ "$(jq -c '.[0] | [.queue, .error, .keys, .failures]' <<<"$output")" = \
    '["q","pods \"<key>\" not found [exit status <n>]",1,1]' ]
  [ "$(jq -c '.[0].examples' <<<"$output")" = \
    '[{"key":"ns/a-1","error":"pods \"a-1\" not found [exit status 1]"}]' ]
  [ "$(jq -r '.[0].first_at == .[0].last_at' <<<"$output")" = true ]
  [ "$(wqctl errors -o name)" = 'pods "<key>" not found [exit status <n>]' ]
}

@test "the filters of keys and errors, and --limit of groups" {
  store_with
  fail_with q 'first cause' ns/a ns/b
  fail_with q 'second cause' ns/c
  [ "$(wqctl errors --prefix ns/c -o name)" = 'second cause [exit status <n>]' ]
  [ "$(wqctl errors --match 'a$' -o json | jq -c 'map(.keys)')" = '[1]' ]
  [ "$(wqctl errors --error second -o json | jq -c 'map(.keys)')" = '[1]' ]
  [ "$(wqctl errors --failures-over 1 -o json)" = '[]' ]
  [ "$(wqctl errors --limit 1 -o name)" = 'first cause [exit status <n>]' ]
  [ "$(wqctl ls --error 'second cause' -o name)" = ns/c ]
  [ "$(wqctl ls --error 'SECOND Cause' -o name)" = ns/c ]
  run -0 wqctl forget -q q --error 'first cause' --yes
  [ "$(wqctl errors -o json | jq -c 'map(.keys)')" = '[1]' ]
}

@test "no errors, a missing queue, an error of hostile bytes" {
  store_with a
  [ "$(wqctl errors -o json)" = '[]' ]
  run -3 wqctl errors -q nope
  fail_with q $'\e[31mred\u202e<script>' k
  run -0 wqctl errors
  [[ "$output" != *$'\e'* ]]
  [[ "$output" != *$'\u202e'* ]]
  [ "$(wqctl errors -o json | jq -r '.[0].examples[0].error')" = $'\e[31mred\u202e<script> [exit status 1]' ]
}
