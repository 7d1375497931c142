#!/usr/bin/env bats
# A thousand queues in a store: the verbs that read all of them find each, within seconds.
load helpers

@test "a thousand queues: load, ls, inspect, add, verify" {
  store_with key
  wqctl dump |
    jq -c 'select(.queue) as $row | range(1000) | . as $i | $row | .queue = "q\($i)"
           | if .key then .key = "key of q\($i)" else . end' | sort -u >rows
  head -1 rows | grep -q '"key"'
  { grep '"record"' rows; grep '"key"' rows; } >dump
  run -0 timeout 60 "$WQCTL" --store many load dump
  export WQ_STORE=$DIR/many
  timeout 10 "$WQCTL" ls -o name | sort >listed
  for i in {0..999}; do echo "key of q$i"; done | sort | cmp - listed
  timeout 10 "$WQCTL" inspect -o json >inspected
  [ "$(jq '[.queues[] | select(.pending == 1)] | length' inspected)" = 1000 ]
  timeout 10 "$WQCTL" add -q q500 another
  [ "$(wqctl ls -q q500 -o name)" = $'key of q500\nanother' ]
  run -0 timeout 10 "$WQCTL" verify
}
