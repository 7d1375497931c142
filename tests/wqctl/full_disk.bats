#!/usr/bin/env bats
# A file system without room, under everything that wqctl writes.
load helpers

# small SIZE: "full", an empty file system of that size.
small() {
  mkdir -p full
  mount -t tmpfs -o "size=$1,nosuid,nodev" wq-test full 2>/dev/null ||
    skip "NOT TESTED: no small file system can be mounted here"
}
# leave KILOBYTES: so much room is left in it.
leave() {
  rm -f full/ballast
  local room
  room=$(df --output=avail full | tail -1)
  head -c $(((room - $1) * 1024)) /dev/zero >full/ballast
}
teardown() {
  cd / || return
  if mountpoint -q "$DIR/full"; then umount "$DIR/full"; fi
  rm -rf "$DIR"
}

@test "a store on a disk of a few megabytes: opened and closed, and of a full one all is kept" {
  small 4150k
  run -0 wqctl --store full/s init
  run -0 wqctl --store full/s add -q q a b c
  leave 0
  run -1 --separate-stderr wqctl --store full/s add -q q d
  contains "$stderr" "full/s: IO error: No space left on device: "
  contains "$stderr" "; make space on that disk, and try again"
  rm full/ballast
  run -0 wqctl --store full/s add -q q d
  [ "$(wqctl --store full/s ls -q q -o name | wc -l)" = 4 ]
}

# The owner of the store is the run itself, or another process.
@test "work on a disk that is full for a time waits for the store, and then works on" {
  for owner in itself work serve; do
    small 4150k
    rm -f began ended gate
    mkfifo gate
    exec 9<>gate
    export WQ_STORE=full/s
    wqctl init >/dev/null
    wqctl add -q q a b c >/dev/null
    wqctl add -q other k >/dev/null
    case $owner in
      work) start owner work -q other --follow -- true ;;
      serve) start owner serve ;;
    esac
    OWNER=$PID
    [ "$owner" = itself ] || until_ok test -S full/s/control.sock
    # The first key fails once, the others succeed.
    start work work -q q --base-delay 1ms -- \
      sh -c 'touch began; read -r _ <gate; echo "$1" >>ended; [ "$(wc -l <ended)" != 1 ]' _
    until_ok test -e began
    leave 0
    # What is written may have room in the last page of a file.
    until_ok full_store
    echo >&9
    until_ok grep -q "the store has failed; no new key is begun" work.err
    printf '\n\n\n' >&9
    [ "$(cat ended)" = a ]
    rm full/ballast
    wait "$PID"
    [ "$(sort ended | tr '\n' ' ')" = "a a b c " ]
    [ "$(grep -c "the store has failed" work.err)" = 1 ]
    contains "$(cat work.err)" "the store has recovered"
    contains "$(cat work.err)" "succeeded 3, failed attempts 1, quarantined 0, remaining 0"
    if [ "$owner" != itself ]; then
      kill "$OWNER"
      wait "$OWNER"
    fi
    run -0 wqctl verify
    [ "$(queue_count pending)$(queue_count delayed)$(queue_count failing)" = 000 ]
    exec 9>&-
    umount full
  done
}

@test "work that begins while the disk of a server is full waits for the store" {
  small 4150k
  export WQ_STORE=full/s
  wqctl init >/dev/null
  wqctl add -q q a b >/dev/null
  wqctl add -q other k >/dev/null
  start owner serve
  OWNER=$PID
  until_ok test -S full/s/control.sock
  leave 0
  until_ok full_store
  start work work -q q -- true
  until_ok grep -q "the store has failed" work.err
  rm full/ballast
  wait "$PID"
  [ "$(grep -c "the store has failed" work.err)" = 1 ]
  contains "$(cat work.err)" "the store has recovered"
  contains "$(cat work.err)" "succeeded 2, failed attempts 0"
  kill "$OWNER"
  wait "$OWNER"
}

@test "work that takes over a store whose disk is full waits for it, and then works on" {
  small 4150k
  mkfifo gate
  exec 9<>gate
  export WQ_STORE=full/s
  wqctl init >/dev/null
  wqctl add -q q a b c >/dev/null
  wqctl add -q other k >/dev/null
  start owner work -q other --follow -- true
  OWNER=$PID
  until_ok test -S full/s/control.sock
  start work work -q q -- sh -c 'touch began; read -r _ <gate' _
  until_ok test -e began
  leave 0
  until_ok full_store
  kill -9 "$OWNER"
  wait "$OWNER" || true
  printf '\n\n\n\n' >&9
  until_ok grep -q "the store has failed; no new key is begun" work.err
  rm full/ballast
  wait "$PID"
  [ "$(grep -c "the store has failed" work.err)" = 1 ]
  contains "$(cat work.err)" "the store has recovered"
  [ "$(queue_count pending)$(queue_count delayed)$(queue_count failing)" = 000 ]
  run -0 wqctl verify
}
full_store() {
  ADDED=$((ADDED + 1))
  ! seq -f "$(printf '%03000d' "$ADDED") %.0f" 300 | wqctl add -q other -
}

@test "work whose stdout is a file on a full disk ends, and counts no failure" {
  small 1m
  run -0 wqctl init
  run -0 wqctl add -q q a b
  leave 0
  local options
  for options in --ungroup --group; do
    run -1 bash -c "\"\$WQCTL\" work -q q $options --max-requeues 0 -- echo 2>err >full/out"
    contains "$(cat err)" "standard output: No space left on device"
    contains "$(cat err)" "quarantined 0, remaining 2"
  done
}
