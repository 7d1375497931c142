#!/usr/bin/env bats
# What sync does with its list; tests/engine/queue/sources_test.cc has the rules.
load helpers

sync() { wqctl sync -q q --source s "$@" -; }
# Lines with a tab for each blank.
list() { printf '%s\n' "$@" | tr ' ' '\t'; }

@test "a list enqueues what is new, changed or gone, and nothing else" {
  store_with
  run -0 sync < <(list 'a 1' 'b 1' 'c 1 k1 k2' 'd 1')
  [ "$output" = "changed 4, unchanged 0, deleted 0" ]
  [ "$(dumped_keys)" = "a b k1 k2 d " ]
  run -0 wqctl work -q q -- true
  wqctl add -q q --after 1h a
  run -0 sync -o json < <(list 'a 1' 'b 2' 'new 1')
  [ "$(jq -c . <<<"$output")" = '{"changed":2,"unchanged":1,"deleted":2,"refused":0}' ]
  [ "$(queue_count pending)$(queue_count delayed)" = 51 ]
  [ "$(wqctl ls -q q --state pending -o name | sort | xargs)" = "b d k1 k2 new" ]
  run -0 sync --fingerprint other < <(list 'a 1')
  [ "$output" = "changed 1, unchanged 0, deleted 2" ]
  run -0 sync --fingerprint other --scope other -0 < <(printf 'x\t1\ty\nz\0')
  [ "$output" = "changed 1, unchanged 0, deleted 0" ]
  contains "$(wqctl ls -q q -o jsonl)" 'y\nz'
}

@test "what is not to be had is refused before anything is changed" {
  store_with
  run -2 sync --durability replicated < <(list 'a 1')
  contains "$output" "process or power"
  run -2 wqctl sync -q typo --source a/b - < <(list 'a 1')
  contains "$output" 'no source name'
  [ -z "$(dumped_keys)" ]
  [ -z "$(wqctl inspect -o name)" ]
  run -0 sync < <(list 'a 1')
  [ "$output" = "changed 1, unchanged 0, deleted 0" ]
}

@test "a list with a bad line is not complete" {
  store_with
  sync < <(list 'a 1' 'b 1')
  run -0 wqctl work -q q -- true
  run -1 --separate-stderr sync < <(list 'a 1' 'no-version' ' 1' "b $(printf %200s | tr ' ' v)")
  [ "$output" = "changed 0, unchanged 1, deleted 0, refused 3" ]
  contains "$stderr" 'line 2: "no-version" has no tab'
  contains "$stderr" "line 3: the object is empty"
  contains "$stderr" "line 4: bytes of a version: 200, the limit is 128"
  contains "$stderr" "no object counts as gone"
  [ -z "$(dumped_keys)" ]
  run -1 sync < <(printf 'a\t1\tk\t%s' "$(head -c 80000 /dev/zero | tr '\0' k)")
  contains "$output" "80006 bytes, more than"
}

@test "a killed sync is repeated" {
  store_with
  sync < <(list 'a 1' 'b 1')
  run -0 wqctl work -q q -- true
  mkfifo pipe
  exec 9<> pipe  # Opened both ways it does not wait for the other end.
  start sync sync -q q --source s - <pipe
  list 'a 2' >&9
  until_ok owned
  run -4 sync < <(list 'a 3')
  contains "$output" "sync needs the store for itself"
  kill_owner
  exec 9>&-
  run -0 sync < <(list 'a 2')
  contains "$output" ", deleted 1"
  [ "$(wqctl ls -q q -o name | sort | xargs)" = "a b" ]
}
owned() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = true ]; }
