#!/usr/bin/env bats
load helpers

@test "keys reach the command byte for byte, without a shell" {
  wqctl init
  printf 'two\nlines\0$(touch evil)\0a  b\0"\047\0-n\0\377\0' | wqctl add -q q -0
  wqctl work -q q -- printf '%s\0' > got
  [ "$(od -An -tx1 < got)" = "$(printf 'two\nlines\0$(touch evil)\0a  b\0"\047\0-n\0\377\0' | od -An -tx1)" ]
  [ ! -e evil ]
}

@test "a failed key is tried again until it succeeds" {
  store_with k
  run -0 --separate-stderr wqctl work -q q --base-delay 1ms -- \
    sh -c 'echo x >> tries; [ "$(wc -l < tries)" -ge 3 ]' _
  [ "$(wc -l < tries)" = 3 ]
  contains "$stderr" "succeeded 1, failed attempts 2, quarantined 0, remaining 0"
  [ "$(queue_count failing)" = 0 ]
}

@test "--max-requeues gives a key up: named, quarantined, exit 1; the others are done" {
  wqctl init
  printf 'good\nb\033[31mad\n' | wqctl add -q q -
  run -1 --separate-stderr wqctl work -q q --max-requeues 2 --base-delay 1ms -- \
    sh -c 'echo x >> "tries"; case $1 in good) ;; *) echo "why: $1" >&2; exit 9;; esac' _
  [ "$(wc -l < tries)" = 4 ]
  contains "$stderr" 'quarantined "b\x1b[31mad" after 3 failures: why: b\x1b[31mad'
  contains "$stderr" "succeeded 1, failed attempts 3, quarantined 1, remaining 0"
  contains "$stderr" "in quarantine"
  [ "$(queue_count pending)$(queue_count delayed)$(queue_count failing)" = 000 ]
  [ "$(wqctl ls --state quarantined -o jsonl | jq -c '[.failures, .last_error]')" = \
    '[3,"why: b\u001b[31mad [exit status 9]"]' ]
  run -0 wqctl work -q q -- touch never
  [ ! -e never ]
}

@test "the last error: stderr's last line that is not blank, and the exit status or the signal" {
  store_with k
  work_once 'echo first >&2; printf "last\n \n\n" >&2; exit 1'
  [ "$(last_error)" = "last [exit status 1]" ]
  work_once 'exit 42'
  [ "$(last_error)" = "exit status 42" ]
  work_once 'kill -KILL $$'
  [ "$(last_error)" = "killed by signal 9 (SIGKILL)" ]
  work_once 'head -c 5000 /dev/zero | tr "\0" e >&2; exit 1'
  [ "$(last_error | tr -d '\n' | wc -c)" = 1024 ]
  [[ "$(last_error)" == eee*'e [exit status 1]' ]]
  work_once 'printf "\377" >&2; exit 1'
  [ "$(wqctl inspect k -o json | jq -r '.entries[0].last_error_base64' | base64 -d | od -An -c)" = \
    "$(printf '\377 [exit status 1]' | od -An -c)" ]
  work_once 'head -c 1009 /dev/zero | tr "\0" e >&2; printf "\303\244" >&2; kill -KILL $$'
  [[ "$(last_error)" == *'e [killed by signal 9 (SIGKILL)]' ]]
}
last_error() { wqctl inspect k -o json | jq -r '.entries[0].last_error'; }
# Runs the shell text for key k, which fails once more than before; then stops.
work_once() {
  local before
  before=$(wqctl inspect k -o json | jq '.entries[0].failures')
  start once work -q q --base-delay 200ms --max-delay 200ms -- sh -c "$1" _
  until_ok more_failures_than "$before"
  terminate
}
more_failures_than() {
  [ "$(wqctl inspect k -o json | jq '.entries[0].failures')" -gt "$1" ]
}

@test "the command gets the user's umask and a normal SIGPIPE" {
  store_with k
  umask 027
  wqctl work -q q -- sh -c 'touch made; yes | head -1 >/dev/null; grep SigIgn /proc/self/status > ignored' _
  [ "$(stat -c %a made)" = 640 ]
  grep -qE '[02468ace][0-9a-f]{3}$' ignored  # SIGPIPE's bit; other signals may be ignored.
  [ -z "$(find "$WQ_STORE" -type f -perm /077)" ]
}

@test "a command that is missing or not executable: exit 1, every key stays, no failure is counted" {
  store_with a b
  run -1 --separate-stderr wqctl work -q q -- no-such-command
  contains "$stderr" 'cannot run "no-such-command": No such file or directory'
  touch script
  run -1 --separate-stderr wqctl work -q q -- ./script
  contains "$stderr" "Permission denied"
  run -1 wqctl work -q q -- ./nothing
  run -1 wqctl work -q q -- /
  echo '#!/no/such/interpreter' > script
  chmod +x script
  run -1 --separate-stderr wqctl work -q q -j 2 -- ./script
  contains "$stderr" "cannot run the command: No such file or directory"
  [ "$(dumped_keys)" = "a b " ]
  [ "$(queue_count failing)" = 0 ]
}

@test "a program that is named by the key fails for that key only" {
  store_with true no-such-command
  run -1 --separate-stderr wqctl work -q q --max-requeues 0 -- '{}'
  contains "$stderr" 'quarantined "no-such-command" after 1 failure: cannot run the command'
  contains "$stderr" "succeeded 1"
}

@test "-j runs so many at once, 0 as many as possible, and never one key twice" {
  store_with a b c
  blocking
  exec 9<> gate
  start work work -q q -j 2 -- ./block
  until_ok lines 2 started
  [ "$(queue_count pending)" = 3 ]
  printf 'x\nx\nx\n' >&9
  wait "$PID"
  [ "$(sort started | tr -d '\n')" = abc ]
  wqctl add -q q d e f
  start work work -q q -j 0 -- ./block
  until_ok lines 6 started
  printf 'x\nx\nx\n' >&9
  wait "$PID"
  exec 9>&-
}

@test "started with SIGCHLD ignored: a failing command still counts as failed" {
  store_with k
  run -1 --separate-stderr perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$WQCTL" work -q q --max-requeues 0 -- false
  contains "$stderr" "succeeded 0, failed attempts 1"
}

@test "a command that turns to the terminal is not stopped, and so holds nothing up" {
  store_with k
  printf -v words '%q ' "$WQCTL" work -q q --max-requeues 0 -- sh -c 'echo said; read -r _ </dev/tty' _
  run -1 timeout -s KILL 30 env SHELL=/bin/bash script -qec "stty tostop; $words" /dev/null </dev/null
  contains "$output" said
  contains "$(wqctl ls --state quarantined -o jsonl | jq -r .last_error)" /dev/tty
}

@test "SIGTERM: the running command finishes and counts, the rest stays, exit 0" {
  store_with a b c
  blocking
  start work work -q q -- ./block
  until_ok lines 1 started
  kill -TERM "$PID"
  until_ok grep -q SIGTERM work.err
  echo > gate
  wait "$PID"
  [ "$(cat finished)" = a ]
  contains "$(cat work.err)" "succeeded 1, failed attempts 0, quarantined 0, remaining 2"
  [ "$(dumped_keys)" = "b c " ]
}

@test "a run that only waits for delayed keys reports it once, and ends at SIGTERM" {
  store_with
  wqctl add -q q --after 4s soon >/dev/null
  wqctl add -q r --after 1h later >/dev/null
  start work work -q q -q r -j 3 -- true
  until_ok grep -q "waiting for 1 delayed key;" work.err
  terminate
  grep -qE 'waiting for 2 delayed keys; the next one is due in [0-3]s$' work.err
  grep -qE 'waiting for 1 delayed key; the next one is due in 59m[0-9]+s$' work.err
  [ "$(grep -c waiting work.err)" = 2 ]
  [ "$(wqctl inspect -q r -o json | jq '.queues[0].delayed')" = 1 ]
}

@test "--grace over: the command is killed, its key stays pending, exit 1" {
  store_with a
  blocking
  start work work -q q --grace 50ms -- ./block
  until_ok lines 1 started
  kill -TERM "$PID"
  exits 1
  contains "$(cat work.err)" "grace period"
  [ ! -e finished ]
  [ "$(dumped_keys)" = "a " ]
  [ "$(queue_count failing)" = 0 ]
}

@test "a paused queue: its keys stay, and --follow waits for the end of the pause, or for SIGTERM" {
  store_with a
  wqctl add -q q --after 1h c
  wqctl pause -q q --yes
  run -0 --separate-stderr wqctl work -q q -- touch
  contains "$stderr" 'queue "q" is paused: 2 keys stay in the store'
  start work work -q q --follow -- touch
  until_ok grep -q 'is paused: waiting' work.err
  kill -TERM "$PID"
  wait "$PID" || [ $? = 143 ]  # By the signal, while it opened the store.
  [ "$(dumped_keys)" = "a c " ]
  wqctl pause -q q --for 1s --yes
  start work work -q q --follow -- touch
  until_ok grep -q 'is paused: waiting' work.err
  until_ok test -e a
  terminate
}
