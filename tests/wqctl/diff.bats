#!/usr/bin/env bats
load helpers

@test "nothing differs: exit 0, and nothing is said; stores, snapshots and dumps" {
  store_with a b
  give_up c
  cp -r store copy
  wqctl dump > dump
  for pair in "store copy" "store dump" "dump store" "dump dump"; do
    # shellcheck disable=SC2086
    run -0 --separate-stderr wqctl diff $pair
    [ -z "$output$stderr" ]
  done
  run -0 wqctl diff - store < dump
  [ "$(wqctl diff dump store -o json)" = "[]" ]
}

@test "the change of each key" {
  store_with
  fail_once failing
  wqctl add -q q gone lane
  wqctl dump > before
  wqctl rm -q q --yes gone
  wqctl add -q q --lane slow lane
  wqctl add -q r new
  wqctl pause -q q --yes
  run -1 --separate-stderr wqctl diff before store
  [ -z "$stderr" ]
  [[ "${lines[0]}" =~ ^CHANGE\ +QUEUE\ +KEY\ +BEFORE\ +AFTER\ +FAILURES\ +LAST\ ERROR$ ]]
  [[ "$output" =~ $'\n'changed\ +q\ +\(queue\) ]]
  [[ "$output" =~ $'\n'added\ +r\ +\(queue\) ]]
  [[ "$output" =~ $'\n'removed\ +q\ +gone\ +pending\ +-\ +0\ +- ]]
  [[ "$output" =~ $'\n'moved\ +q\ +lane\ +pending\ +pending\ slow\ +0\ +- ]]
  [[ "$output" =~ $'\n'added\ +r\ +new\ +-\ +pending\ +0\ +- ]]
  contains "$output" "added 2, changed 1, moved 1, removed 1"
  [ "$(wqctl diff before store -o jsonl -q r | jq -c '[.change, .key, .before, (.after // [] | map(.state))]')" = \
    $'[["added"],null,null,[]]\n[["added"],"new",[],["pending"]]' ]
  [ "$(wqctl diff before store -o name | tr '\n' ' ')" = "gone lane new " ]
  run -1 wqctl diff before store --prefix lane -o name
  [ "$output" = lane ]
  run -0 wqctl diff before store --prefix failing
}

@test "limits that were set" {
  local limits='{"record":"limits","queue":"q","group"'
  store_with a
  plain_dump > none
  { cat none; echo "$limits:\"\",\"per_second\":2}"; echo "$limits:\"ns\",\"weight\":2}"; } > before
  { cat none; echo "$limits:\"b c\"}"; echo "$limits:\"ns\",\"weight\":3}"; } > after
  wqctl --store B load before
  run -0 wqctl diff before B
  for side in before B; do
    run -1 wqctl diff "$side" after
    [[ "$output" =~ $'\n'removed\ +q\ +\(limits\)\ +-\ +-\ +-\ +-$'\n' ]]
    [[ "$output" =~ $'\n'added\ +q\ +\(limits\ of\ b\ c\) ]]
    [[ "$output" =~ $'\n'changed\ +q\ +\(limits\ of\ ns\) ]]
    [ "$(wqctl diff "$side" after -o jsonl | jq -c '[.change[0], .queue, .group]')" = \
      $'["removed","q",""]\n["added","q","b c"]\n["changed","q","ns"]' ]
  done
}

@test "failed since" {
  store_with
  fail_once k
  wqctl dump > after
  jq -c 'if .key then .failures = 0 | del(.last_error, .first_failure_at, .last_failure_at) else . end' \
    after > before
  run -1 wqctl diff before after
  [[ "$output" =~ $'\n'failed\ +q\ +k\ +delayed\ +delayed\ +0\ to\ 1\ +no\ k ]]
}

@test "bad input" {
  store_with a
  run -2 wqctl diff store
  run -2 wqctl diff store store store
  run -2 wqctl diff - -
  run -2 wqctl diff store store --limit 3
  run -3 --separate-stderr wqctl diff store nothing
  contains "$stderr" "nothing: No such file"
  mkdir other && touch other/file
  run -3 wqctl diff store other
  echo '{"queue":' > bad
  run -1 --separate-stderr wqctl diff store bad
  contains "$stderr" "bad: line 1: it is not JSON"
  rm store/CURRENT
  run -5 wqctl diff store bad
}
