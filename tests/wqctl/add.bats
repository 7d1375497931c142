#!/usr/bin/env bats
# What add and init are as processes: unit/changes_test.cc has what they do.
load helpers

@test "init makes a private store, whatever the umask is" {
  umask 022
  run -0 wqctl init
  [ "$(stat -c %a "$WQ_STORE")" = 700 ]
  [ -z "$(find "$WQ_STORE" -type f -perm /077)" ]
}

@test "the keys of a slow producer are not held back, and survive kill -9" {
  store_with
  mkfifo pipe
  exec 9<> pipe  # Opened both ways it does not wait for the other end.
  start add add -q q - < pipe
  echo a >&9
  until_ok test_pending 1
  printf 'b\nincomp' >&9
  until_ok test_pending 2
  kill -9 "$PID"
  exec 9>&-
  [ "$(dumped_keys)" = "a b " ]
  run -0 wqctl add -q q c
  [ "$(dumped_keys)" = "a b c " ]
}
test_pending() { [ "$(queue_count pending)" = "$1" ]; }

@test "a limit on the size of files, as a full disk: an error, and the acknowledged keys are there" {
  store_with
  run -1 --separate-stderr bash -c 'ulimit -f 20; seq 10000 | "$WQCTL" add -q q -'
  contains "$stderr" "File too large"
  [[ "$output" =~ ^added\ ([0-9]+), ]]
  # Keys that were not acknowledged may be there, too; never with a gap.
  wqctl ls -q q -o name >names
  [ "$(wc -l <names)" -ge "${BASH_REMATCH[1]}" ]
  cmp names <(seq "$(wc -l <names)")
  run -0 wqctl verify
}

@test "a closed standard descriptor is said so, and never a file of the store" {
  store_with a
  "$WQCTL" dump -q q <&- >&- 2>&- || [ $? = 1 ]
  "$WQCTL" add -q q b <&- >&- 2>&- || true
  run -1 bash -c '"$WQCTL" work -q q -- echo >&-'
  contains "$output" "cannot write to standard output"
  run -2 bash -c '"$WQCTL" add -q q - <&-'
  contains "$output" "standard input is closed"
  wqctl add -q q c
  [ "$(dumped_keys)" = "a b c " ]
  # The process is begun anew, and keeps its name.
  "$WQCTL" work -q q --follow -- sh -c 'echo said; cat; echo "$1" >>done' _ <&- >/dev/null 2>err 3>&- &
  PID=$!
  STARTED=$PID
  until_ok grep -qx c done
  [ "$(cat "/proc/$PID/comm")" = "$(basename "$WQCTL")" ]
}

@test "an empty --store is no other store" {
  store_with a
  run -2 wqctl --store "" add -q q b
  contains "$output" "--store"
  [ "$(dumped_keys)" = "a " ]
}
