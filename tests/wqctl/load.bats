#!/usr/bin/env bats
load helpers

# Every kind of record, with keys that are hard to represent in text.
ugly_store() {
  wqctl init >/dev/null
  give_up bad
  fail_once failing
  wqctl add -q q --lane slow s1 >/dev/null
  wqctl add -q q --priority -2147483648 lowest >/dev/null
  wqctl add -q q --group $'ns\377' f1 f2 >/dev/null
  wqctl add -q q --after 2h later >/dev/null
  printf 'a"b\\c\0two\nlines\0\303\050\0\033]0;title\007\0tab\t\0\342\200\250sep\0\357\277\277\0' |
    wqctl add -q keys -0 >/dev/null
  head -c 4096 /dev/zero | tr '\0' '\1' | wqctl add -q keys - >/dev/null
  wqctl add -q empty k >/dev/null
  wqctl rm -q empty --yes k >/dev/null
  "$(dirname "$WQCTL")"/tests/set_cursor "$WQ_STORE" q offset $'4\3771' || return 1
  wqctl pause -q q --for 3h --yes >/dev/null
  wqctl pause -q keys --yes >/dev/null
}

@test "dump, load, dump: the same bytes" {
  ugly_store
  wqctl dump > a.jsonl
  run -0 --separate-stderr wqctl --store B load < a.jsonl
  [ "$output" = "loaded queues 3, entries 15, cursors 1" ]
  [ -z "$stderr" ]
  wqctl --store B dump | cmp - a.jsonl
  local now
  now=$(date -u +%FT%TZ)  # Ages as of one instant.
  wqctl --store B inspect --now "$now" -o json | jq '.queues' > b
  wqctl inspect --now "$now" -o json | jq '.queues' > a
  diff a b
  # The loaded store works.
  wqctl --store B resume -q keys --yes
  wqctl --store B work -q keys -- true
  [ "$(wqctl --store B ls -q keys -o jsonl | wc -l)" = 0 ]
  wqctl --store B add -q q new
}

@test "causes are dumped and loaded" {
  store_with
  wqctl add -q q --reason 'node "a" drained' \
    --traceparent 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 a
  for i in {1..12}; do wqctl add -q q --reason "change $i" a; done
  wqctl add -q q --after 1h --reason later b
  wqctl add -q q --reason - c
  wqctl add -q q --reason '\-' c
  wqctl dump > old
  [ "$(jq -r 'select(.key == "c").causes' old)" = $'- \\-\n- \\\\-' ]
  [ "$(jq -r 'select(.key == "b").causes' old)" = "- later" ]
  [ "$(jq -r 'select(.key == "a").causes' old | grep +)" = +5 ]
  wqctl --store copy load old
  wqctl --store copy dump > new
  diff old new
  sed 's/"- later/"x later/' old > wrong
  run -1 --separate-stderr wqctl --store third load wrong
  [[ $stderr == *'"causes" is not a list of causes'* ]]
}

@test "a debounced delay and a resync stay what they are" {
  store_with
  wqctl add -q q --debounce 10m --max-wait 2h gathered
  wqctl add -q q --after 1h --delay-mode resync again
  wqctl add -q q --after 1h plain
  wqctl dump > old
  [ "$(jq -c 'select(.debounced) | [.key, .resync]' old)" = '["gathered",null]' ]
  [ "$(jq -c 'select(.resync) | [.key, .debounced]' old)" = '["again",null]' ]
  wqctl --store copy load old
  wqctl --store copy dump > new
  diff old new
  # A resync gives way to a later delay, another one does not.
  wqctl --store copy add -q q --after 3h again plain
  wqctl --store copy inspect -q q again | grep -q 'delay  *3h$'
  wqctl --store copy inspect -q q plain | grep -q 'delay  *1h$'
  wqctl --store copy inspect -q q gathered | grep -q 'delay  *10m, debounced$'
  wqctl inspect -q q again | grep -q 'delay .*, until its resync$'
  sed 's/"debounced":true/&,"resync":true/' old > wrong
  run -1 --separate-stderr wqctl --store fourth load wrong
  [[ $stderr == *"it is both debounced and a resync; nothing was loaded" ]]
}

# A dump with limits of two groups and a rate.
limited() {
  local limits='{"record":"limits","queue":"q"'
  wqctl add -q q a >/dev/null
  plain_dump
  echo "$limits,\"group\":\"\",\"max_processing\":0,\"per_second\":0.1,\"burst\":3,\"weight\":1}"
  echo "$limits,\"group\":\"ns\",\"max_processing\":7,\"per_second\":0.0,\"burst\":1,\"weight\":1000}"
  echo "$limits,\"group_base64\":\"AP8=\",\"max_processing\":0,\"per_second\":1e+06,\"burst\":1000000,\"weight\":1}"
}

@test "limits of an earlier dump are left out, with one warning" {
  store_with
  limited > a.jsonl
  run -0 --separate-stderr wqctl --store B load a.jsonl
  [ "$output" = "loaded queues 1, entries 1, cursors 0" ]
  [[ $stderr == *"the dump has limits of groups: they are options of a queue now, and left out" ]]
  [ "$(wc -l <<< "$stderr")" = 1 ]
  [ "$(wqctl --store B dump | jq -r .record | tr '\n' ' ')" = "begin queue null end " ]
}

@test "a part of a dump can be loaded; later keys follow it" {
  store_with a b
  wqctl ls -q q --prefix b -o jsonl | wqctl --store B load
  wqctl --store B add -q q c
  [ "$(wqctl --store B ls -o name | tr '\n' ' ')" = "b c " ]
  echo '{"queue":"q","key":"x","state":"pending"}' | wqctl --store C load
  echo '{"queue":"q","key_hex":"00ff","state":"pending"}' | wqctl --store D load -
  [ "$(wqctl --store D ls --hex -o name)" = 00ff ]
  WQ_STORE=C run -0 wqctl work -q q -- true
}

@test "a dump that was cut short is refused, at whatever line" {
  store_with a b
  "$(dirname "$WQCTL")"/tests/set_cursor "$WQ_STORE" q offset 1
  wqctl dump > whole
  local lines n
  lines=$(wc -l < whole)
  [ "$lines" = 6 ]
  [ "$(tail -1 whole)" = '{"record":"end","records":4}' ]
  for ((n = 1; n < lines; ++n)); do
    head -n "$n" whole > cut
    run -1 --separate-stderr wqctl --store B load cut
    contains "$stderr" "the dump was cut short after $((n - 1)) records: it has no end"
    contains "$stderr" "nothing was loaded"
  done
  [ "$(wqctl --store B inspect -o name 2>/dev/null | wc -l)" = 0 ]
  sed 3d whole > cut
  run -1 --separate-stderr wqctl --store B load cut
  contains "$stderr" "line 5: the dump had 4 records, and here are 3"
  { cat whole; sed -n 3p whole; } > more
  run -1 --separate-stderr wqctl --store B load more
  contains "$stderr" "line 7: it is behind the end of the dump"
  { sed '$d' whole; cat whole; } > nested
  run -1 --separate-stderr wqctl --store B load nested
  contains "$stderr" "line 6: the dump was cut short after 4 records"
  run -1 --separate-stderr wqctl --store B load <(tail -1 whole)
  contains "$stderr" "end of a dump without its begin"
  run -1 --separate-stderr wqctl --store B load <(sed 's/"version":1/"version":2/' whole)
  contains "$stderr" "of version 2"
  # Whole ones one after the other, and one of an earlier version.
  wqctl --store other init
  wqctl --store other add -q r c
  { cat whole; wqctl --store other dump; } > both
  wqctl --store B load both
  [ "$(wqctl --store B ls -o name | tr '\n' ' ')" = "a b c " ]
  sed '1d;$d' whole | wqctl --store C load
  wqctl --store C dump | cmp - whole
}

@test "a dump that a signal or an error ends has no end" {
  wqctl init >/dev/null
  seq 20000 | wqctl add -q q - >/dev/null
  mkfifo pipe
  exec 9<> pipe
  "$WQCTL" dump > pipe 3>&- 9>&- &
  PID=$!
  STARTED="${STARTED:-} $PID"
  read -r first <&9
  [ "$first" = '{"record":"begin","version":1}' ]
  kill -TERM "$PID"
  wait "$PID" || [ $? = 143 ]
  timeout 1 cat <&9 | { ! grep '"record":"end"'; }
  exec 9>&-
}

@test "an existing queue: refused, or replaced" {
  store_with a b
  wqctl dump > a.jsonl
  wqctl add -q q c
  wqctl add -q other d
  run -1 --separate-stderr wqctl load a.jsonl
  contains "$stderr" "line 2: queue \"q\" is there, and is not empty: --replace"
  [ "$(wqctl ls -o name | tr '\n' ' ')" = "d a b c " ]
  wqctl load --replace a.jsonl
  [ "$(wqctl ls -o name | tr '\n' ' ')" = "d a b " ]
  run -0 wqctl load --replace -o json a.jsonl
  [ "$(jq -c . <<< "$output")" = '{"queues":1,"entries":2,"cursors":0,"dry_run":false}' ]
  wqctl dump -q q | cmp - a.jsonl
}

@test "a wrong line: its number, and nothing is loaded" {
  store_with a
  plain_dump > good
  local before
  before=$(wqctl dump)
  bad() { # bad MESSAGE LINE
    { cat good; echo; printf '%s\n' "$2"; } > bad
    run -1 --separate-stderr wqctl load --replace bad
    contains "$stderr" "line 4: "
    contains "$stderr" "$1"
    contains "$stderr" "nothing was loaded"
  }
  bad "not JSON" '{"queue":"q"'
  bad "no JSON object" '7'
  bad "array" '[{"queue":"q"}]'
  bad "array" "$(printf '{"queue":%s' "$(printf '[%.0s' {1..100000})")"
  bad "object" '{"queue":{"queue":1}}'
  bad 'no "queue"' '{"key":"k","state":"pending"}'
  bad 'no "state"' '{"queue":"q","key":"k"}'
  bad '"key"' '{"queue":"q","state":"pending"}'
  bad '"key"' '{"queue":"q","key":"k","key_hex":"6b","state":"pending"}'
  bad 'there twice' '{"queue":"q","queue":"q","key":"k","state":"pending"}'
  bad 'unknown field "x"' '{"queue":"q","key":"k","state":"pending","x":1}'
  bad 'not a state' '{"queue":"q","key":"k","state":"done"}'
  bad 'base64' '{"queue":"q","key_base64":"Zh==","state":"pending"}'
  bad 'whole number' '{"queue":"q","key":"k","state":"pending","sequence":-1}'
  bad 'whole number' '{"queue":"q","key":"k","state":"pending","sequence":18446744073709551616}'
  bad 'a time' '{"queue":"q","key":"k","state":"pending","added_at":"2026-02-30T00:00:00Z"}'
  bad 'ready_at' '{"queue":"q","key":"k","state":"delayed"}'
  bad 'out of range' '{"queue":"q","key":"k","state":"delayed","ready_at":"2026-02-20T00:00:00Z","delay_seconds":9e9}'
  bad 'is ready after its delay has ended' \
    '{"queue":"q","key":"k","state":"delayed","added_at":"2026-02-20T00:00:00Z","ready_at":"2026-02-20T00:01:00Z","delay_seconds":59}'
  bad 'without failures' '{"queue":"q","key":"k","state":"failing"}'
  bad 'key is empty' '{"queue":"q","key":"","state":"pending"}'
  bad 'pending twice' '{"queue":"q","key":"a","state":"pending"}'
  bad 'queue name' '{"queue":"q~loading","key":"a","state":"pending"}'
  bad 'kind of record' '{"record":"store","queue":"q"}'
  bad 'is there twice' '{"record":"queue","queue":"q"}'
  bad 'cursor name' '{"record":"cursor","queue":"q","name":"a b","value":""}'
  bad 'longer than' "$(printf '{"queue":"%s"}' "$(head -c 1100000 /dev/zero | tr '\0' a)")"
  bad 'not JSON' $'{"queue":"q","key":"\377","state":"pending"}'
  [ "$(wqctl dump)" = "$before" ]
  run -1 --separate-stderr wqctl load --replace --dry-run bad
  contains "$stderr" "line 4: it is not JSON at byte"
}

@test "--dry-run writes nothing, beside an owner too" {
  store_with a
  wqctl dump > a.jsonl
  run -0 --separate-stderr wqctl --store new load --dry-run a.jsonl
  [ "$output" = "to be loaded: queues 1, entries 1, cursors 0" ]
  [ ! -e new ]
  start work work -q q --follow -- true
  until_ok owned
  run -0 wqctl load --dry-run --replace a.jsonl
  run -4 --separate-stderr wqctl load --replace a.jsonl
  contains "$stderr" "process $PID"
  contains "$stderr" "load does not go through an owner"
}
owned() { [ "$(wqctl inspect -o json | jq .store.owner_alive)" = true ]; }

@test "killed while it loads: the queues are unchanged, and the next load cleans up" {
  store_with a
  wqctl dump > a.jsonl
  mkfifo pipe
  exec 9<> pipe
  "$WQCTL" load --replace pipe 3>&- 9>&- &
  PID=$!
  STARTED="${STARTED:-} $PID"
  plain_dump >&9
  seq 30000 | sed 's/.*/{"queue":"q","key":"k&","state":"pending"}/' >&9
  until_ok loading
  kill -9 "$PID"
  wait "$PID" || true
  exec 9>&-
  [ "$(wqctl ls -q q -o name)" = a ]
  run -0 wqctl verify
  run -0 wqctl repair --into repaired
  [ "$(wqctl --store repaired inspect -o name)" = q ]
  wqctl work -q q -- true  # It still works.
  [ -z "$(wqctl ls -q q -o name)" ]
  wqctl load --replace a.jsonl
  [ "$(wqctl inspect -o json | jq -c '.queues | map(.name)')" = '["q"]' ]
  wqctl dump | cmp - a.jsonl
}
loading() { wqctl inspect -o json | jq -e '.queues | map(.name) | index("q~loading")'; }

@test "killed at any instant of a replacement: the old queue or the new one, and both verify" {
  store_with
  seq -f old%.0f 20000 | wqctl add -q q - >/dev/null
  wqctl dump >old.jsonl
  seq 20000 | sed 's/.*/{"queue":"q","key":"new&","state":"pending"}/' >new.jsonl
  wqctl --store new load new.jsonl >/dev/null
  local before after
  for ms in 020 040 060 080 120 160 240 320; do
    before=$(wqctl ls -q q -o name | sha256sum)
    # Each time it is the other one that is loaded.
    [ "$(wqctl ls -q q -o name | head -c 3)" = old ] && next=new || next=old
    timeout -s KILL "0.$ms" "$WQCTL" load --replace "$next.jsonl" >/dev/null || true
    run -0 wqctl verify
    after=$(wqctl ls -q q -o name | sha256sum)
    [ "$after" = "$before" ] || [ "$after" = "$(seq -f "$next%.0f" 20000 | sha256sum)" ]
  done
  wqctl load --replace new.jsonl >/dev/null
  [ "$(wqctl inspect -o name)" = q ]
  cmp <(wqctl ls -q q -o name) <(seq -f new%.0f 20000)
}

@test "no such file, a directory, another directory as the store" {
  store_with a
  run -3 --separate-stderr wqctl load nothing
  contains "$stderr" "cannot open nothing: No such file"
  run -1 --separate-stderr wqctl load .
  contains "$stderr" "cannot read: Is a directory"
  mkdir other && touch other/file
  echo '{"queue":"q","key":"k","state":"pending"}' > line
  run -1 wqctl --store other load line
  [ "$(ls other)" = file ]
}
