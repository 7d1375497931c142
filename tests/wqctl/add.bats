#!/usr/bin/env bats
load helpers

@test "keys of the command line are added and deduplicated" {
  store_with
  run -0 --separate-stderr wqctl add -q q a b a
  [ "$output" = "added 2, deduplicated 1" ]
  [ -z "$stderr" ]
  run -0 wqctl add -q q b c
  [ "$output" = "added 1, deduplicated 1" ]
  [ "$(dumped_keys)" = "a b c " ]
}

@test "keys of stdin, the last one without a line end, and both sources together" {
  store_with
  printf 'a\nb\nc' | wqctl add -q q -
  printf 'e\n' | wqctl add -q q d -
  [ "$(dumped_keys)" = "a b c d e " ]
  run -0 wqctl add -q q - < /dev/null
  [ "$output" = "added 0, deduplicated 0" ]
}

@test "words that mean something elsewhere are keys like any other" {
  store_with
  wqctl add -q q '[a,b]' '++' init add '{}' '"x"' '#' 'a=b' '%s' -- --store -q - --
  [ "$(dumped_keys)" = '[a,b] ++ init add {} "x" # a=b %s --store -q - -- ' ]
}

@test "a line of many megabytes is refused with its length" {
  store_with
  { head -c 30000000 /dev/zero | tr '\0' x; echo; echo after; } > keys
  run -1 --separate-stderr wqctl add -q q - < keys
  contains "$stderr" "line 1: the key has 30000000 bytes"
  [ "${#stderr}" -lt 300 ]
  [ "$(dumped_keys)" = "after " ]
}

@test "-0 reads NUL-separated keys, which may hold a newline" {
  store_with
  printf 'two\nlines\0plain\0last' | wqctl add -q q -0
  [ "$(wqctl ls -q q -o jsonl | jq -c .key | tr '\n' ' ')" = '"two\nlines" "plain" "last" ' ]
  printf 'x\0' | wqctl add -q q --null
  printf 'y\0' | wqctl add -q q -0 -
  printf 'a\0\0b\0' > keys
  run -1 --separate-stderr wqctl add -q q -0 < keys
  contains "$stderr" "record 2: the key is empty"
  [ "$(queue_count pending)" = 7 ]
}

@test "lanes: fast before slow, and a second add moves a key" {
  store_with
  wqctl add -q q --lane slow s1 s2
  wqctl add -q q f1
  wqctl add -q q --lane fast s2
  [ "$(dumped_keys)" = "f1 s2 s1 " ]
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0].lanes')" = '{"fast":2,"slow":1}' ]
}

@test "priorities: higher first, any 32-bit integer, and the latest add counts" {
  store_with
  wqctl add -q q --priority -2147483648 last
  wqctl add -q q --priority 2147483647 first
  wqctl add -q q --priority 7 seven
  wqctl add -q q --lane 7 lucky
  wqctl add -q q --lane slow slow
  wqctl add -q q fast moved
  wqctl add -q q --priority -100 moved
  [ "$(dumped_keys)" = "first seven lucky fast slow moved last " ]
  [ "$(wqctl inspect -q q -o json | jq -c '.queues[0].lanes')" = \
    '{"fast":1,"slow":2,"2147483647":1,"7":2,"-2147483648":1}' ]
  run -0 wqctl inspect -q q -o table
  contains "$output" "2147483647=1 7=2 -2147483648=1"
  run -0 --separate-stderr wqctl work -q q -- echo
  [ "$(tr '\n' ' ' <<< "$output")" = "first seven lucky fast slow moved last " ]
}

@test "a requeue keeps its priority" {
  store_with
  wqctl add -q q --priority 5 k
  start work work -q q --base-delay 1h --max-delay 1h -- false
  until_ok delayed_at_priority_5
  kill -TERM "$PID"
  wait "$PID"
}
delayed_at_priority_5() { [ "$(states k)" = "delayed 5" ]; }

@test "--group: kept with the key, through a delay and a crash, and never replaced" {
  store_with
  wqctl add -q q --group ns1 a
  wqctl add -q q --group '[x,y]' --after 1h b
  wqctl add -q q c
  wqctl add -q q --group other a
  [ "$(wqctl ls -q q -o jsonl | jq -r '.key + "=" + (.group // "none")' | tr '\n' ' ')" = \
    "a=ns1 c=none b=[x,y] " ]
  start work work -q q -- sh -c 'echo > started; read -r _' _
  kill_owner
  [ "$(wqctl inspect a -o json | jq -r '.entries[0].group')" = ns1 ]
  run -0 wqctl dump -o table
  [[ "${lines[1]}" =~ ^q\ +a\ +pending\ +fast\ +ns1\  ]]
}

@test "a key in quarantine is held, with --after too" {
  store_with
  give_up bad
  run -0 --separate-stderr wqctl add -q q bad good
  [ "$output" = "added 1, deduplicated 0, held 1" ]
  run -0 wqctl add -q q --after 1h bad
  [ "$output" = "added 0, deduplicated 0, held 1" ]
  run -1 --separate-stderr wqctl add -q q bad good ''
  [ "$output" = "added 0, deduplicated 1, held 1, refused 1" ]
  [ "$(wqctl add -q q -o json bad | jq -c .)" = \
    '{"added":0,"deduplicated":0,"held":1,"refused":0}' ]
  [ "$(states bad)" = "quarantined fast" ]
}

@test "--after delays, the earlier instant wins, and nothing is pending" {
  store_with
  run -0 wqctl add -q q --after 2h k
  [ "$output" = "added 1, deduplicated 0" ]
  run -0 wqctl add -q q --after 3h k
  [ "$output" = "added 0, deduplicated 1" ]
  [ "$(queue_count pending)" = 0 ]
  [ "$(queue_count delayed)" = 1 ]
  [ "$(wqctl ls -q q -o jsonl | jq -r '.state + " " + .lane')" = "delayed fast" ]
  [ "$(wqctl inspect k -o json | jq '.entries[0].delay_seconds')" = 7200 ]
  run -1 --separate-stderr wqctl add -q q --after 1h ok ''
  contains "$stderr" "key 2: the key is empty"
  [ "$(queue_count delayed)" = 2 ]
}

@test "--delay-mode: the latest add wins, or a resync gives way" {
  wqctl init
  wqctl add -q q --after 1h a >/dev/null
  run -0 wqctl add -q q --after 2h a
  [ "$output" = "added 0, deduplicated 1" ]
  run -0 wqctl add -q q --after 2h --delay-mode replace a
  [ "$output" = "added 1, deduplicated 0" ]
  run -0 wqctl add -q q --after 1m --delay-mode resync a
  [ "$output" = "added 0, deduplicated 1" ]
  run -0 wqctl add -q q --after 1m --delay-mode resync b
  [ "$output" = "added 1, deduplicated 0" ]
}

@test "--debounce: adds are gathered, and bad times are refused" {
  wqctl init
  run -0 wqctl add -q q --debounce 1h --max-wait 2h a
  [ "$output" = "added 1, deduplicated 0" ]
  run -0 wqctl add -q q --debounce 1h --max-wait 2h a
  [ "$output" = "added 0, deduplicated 1" ]
  [ "$(queue_count delayed)" = 1 ]
  [ "$(queue_count pending)" = 0 ]
  run -2 wqctl add -q q --debounce 1h a
  contains "$output" "--debounce and --max-wait need each other"
  run -2 wqctl add -q q --debounce 2h --max-wait 1h a
  contains "$output" "--max-wait is shorter than --debounce"
  run -2 wqctl add -q q --debounce 1h --max-wait 1h --after 1h a
}

@test "every durability" {
  store_with
  for level in async process power; do wqctl add -q q --durability "$level" "$level"; done
  [ "$(dumped_keys)" = "async process power " ]
  run -2 --separate-stderr wqctl add -q q --durability replicated no
  contains "$stderr" 'not replicated'
  [ "$(dumped_keys)" = "async process power " ]
  wqctl add -q q --durability power --after 1h later
  [ "$(queue_count delayed)" = 1 ]
}

@test "the keys of a slow producer are not held back" {
  store_with
  mkfifo pipe
  exec 9<> pipe  # Opened both ways it does not wait for the other end.
  start add add -q q - < pipe
  echo first >&9
  until_ok test_pending 1
  echo second >&9
  until_ok test_pending 2
  exec 9>&-
  wait "$PID"
  [ "$(cat add.out)" = "added 2, deduplicated 0" ]
}
test_pending() { [ "$(queue_count pending)" = "$1" ]; }

@test "acknowledged keys survive kill -9" {
  store_with
  mkfifo pipe
  exec 9<> pipe  # Opened both ways it does not wait for the other end.
  start add add -q q - < pipe
  printf 'a\nb\nincomp' >&9
  until_ok test_pending 2
  kill -9 "$PID"
  exec 9>&-
  [ "$(dumped_keys)" = "a b " ]
  run -0 wqctl add -q q c
  [ "$(dumped_keys)" = "a b c " ]
}

@test "a store that another process owns and does not serve: exit 4 names its pid" {
  store_with a
  mkdir "$WQ_STORE/control.sock"  # So the owner cannot serve it.
  mkfifo gate
  start work work -q q -- sh -c 'echo > started; read -r _ < gate' _
  until_ok test -s started
  contains "$(cat work.err)" 'other processes cannot change the store during this run'
  run -4 --separate-stderr wqctl add -q q b
  contains "$stderr" "is owned by process $PID, which serves no control socket"
  run -4 --separate-stderr wqctl work -q q -- true
  contains "$stderr" "$PID"
  echo > gate
  wait "$PID"
  run -0 wqctl add -q q b
}

@test "a limit on the size of files is an error, not the end of the process" {
  store_with kept
  run -1 bash -c 'ulimit -f 20; seq 10000 | "$WQCTL" add -q q -'
  contains "$output" "File too large"
  [[ $(dumped_keys) == "kept "* ]]
}

@test "a closed standard descriptor is said so, and never a file of the store" {
  store_with a
  "$WQCTL" dump -q q <&- >&- 2>&- || [ $? = 1 ]
  "$WQCTL" add -q q b <&- >&- 2>&- || true
  for words in "dump" "ls" "work -q q -- echo" "work -q q -j 2 -- echo"; do
    # shellcheck disable=SC2086
    run -1 bash -c '"$WQCTL" $1 >&-' _ "$words"
    contains "$output" "cannot write to standard output"
  done
  for words in "add -q q -" "load -"; do
    run -2 bash -c '"$WQCTL" $1 <&-' _ "$words"
    contains "$output" "standard input is closed"
  done
  wqctl add -q q c
  [ "$(dumped_keys)" = "a b c " ]
  # The process is begun anew, and keeps its name.
  "$WQCTL" work -q q --follow -- sh -c 'echo said; cat; echo "$1" >>done' _ <&- >/dev/null 2>err 3>&- &
  PID=$!
  STARTED=$PID
  until_ok grep -qx c done
  [ "$(cat "/proc/$PID/comm")" = "$(basename "$WQCTL")" ]
}
