#!/usr/bin/env bats
# What wqctl work shares with GNU parallel: -j, several queues, the output of several commands.
load helpers

# --- A stdout that is gone ---

@test "stdout is gone: the run ends, no failure is counted, every key whose output is lost stays" {
  store_with a b c d e
  local options
  for options in --ungroup --group; do
    run -1 bash -o pipefail -c "\"\$WQCTL\" work -q q $options --max-requeues 2 --base-delay 1ms -- \
      sh -c 'yes \"\$1\" | head -100000; exit 1' _ 2>err | head -1"
    [ "$output" = a ]
    contains "$(cat err)" "standard output"
    contains "$(cat err)" "failed attempts 0, quarantined 0, remaining 5"
    [ "$(dumped_keys)" = "a b c d e " ]
  done
}

@test "stdout cannot be written: the run ends, and no failure is counted" {
  store_with a b
  local options
  for options in --ungroup --group; do
    run -1 bash -c "\"\$WQCTL\" work -q q $options --max-requeues 0 -- echo 2>err >/dev/full"
    contains "$(cat err)" "standard output: No space left on device"
    contains "$(cat err)" "failed attempts 0, quarantined 0, remaining 2"
  done
}

@test "stdout is gone while no key is left: --follow ends" {
  store_with a
  mkfifo pipe
  "$WQCTL" work -q q --follow -- echo 2>err >pipe 3>&- &
  PID=$!
  STARTED=$PID
  head -1 <pipe >first
  exits 1
  [ "$(cat first)" = a ]
}

@test "all that a command has written before its end is printed, also from a pipe that it enlarged" {
  store_with a
  mkfifo gate
  cat > fill <<'END'
#!/usr/bin/perl
open my $gate, "<", "gate"; chomp(my $wqctl = <$gate>);
kill STOP => $wqctl;
sub stopped { open my $f, "<", "/proc/$wqctl/status"; join("", <$f>) =~ /^State:\s+T/m }
1 until stopped;  # From here on nobody reads the pipes.
fcntl $_, 1031, 1 << 20 for *STDOUT, *STDERR;  # F_SETPIPE_SZ
syswrite STDOUT, ("o" x 99 . "\n") x 5000;
syswrite STDERR, ("e" x 99 . "\n") x 5000 . "the reason\n";
open my $pid, ">", "pid"; syswrite $pid, $$;
exit 1;
END
  chmod +x fill
  start work work -q q --group --max-requeues 0 -- ./fill
  echo "$PID" > gate
  until_ok test -s pid
  ended() { grep -q '^State:.*Z' "/proc/$(cat pid)/status"; }
  until_ok ended
  kill -CONT "$PID"
  exits 1
  [ "$(wc -c < work.out)" = 500000 ]
  [ "$(grep -c '^e*$' work.err)" = 5000 ]
  wqctl ls --state quarantined -o jsonl | jq -e '.last_error == "the reason [exit status 1]"'
}

# --- A lack of resources ---

@test "out of file descriptors: fewer commands run at once, and no failure is counted" {
  wqctl init
  seq 300 | wqctl add -q q -
  run -0 --separate-stderr bash -c 'ulimit -n 64
    exec "$WQCTL" work -q q -j 100 --max-requeues 0 -- sh -c "echo \$1 >> done" _'
  contains "$stderr" "Too many open files: running fewer commands at once"
  contains "$stderr" "succeeded 300, failed attempts 0, quarantined 0, remaining 0"
  [ "$(sort -n done)" = "$(seq 300)" ]
}

@test "too few descriptors or threads to begin: an error, and an end" {
  [ "$(id -u)" = 0 ] || skip "only root can take another identity"
  store_with a
  local user=$((1000000 + $$)) limit
  chown -R $user "$DIR"
  # Below these limits it fails in one place after the other. 3 is bats's own descriptor.
  for limit in "-n "{6..16} "-u 2" "-u 3"; do
    run -1 --separate-stderr timeout -s KILL 20 setpriv --reuid $user --regid $user --clear-groups \
      bash -c "ulimit $limit; exec \"\$WQCTL\" work -q q -- true 3>&-"
    [[ "$stderr" == *"Too many open files"* || "$stderr" == *"Resource temporarily unavailable"* ]]
    [[ "$stderr" != *terminate* ]]
  done
}

@test "out of processes: fewer commands run at once, and no failure is counted" {
  [ "$(id -u)" = 0 ] || skip "only root can take another identity"
  wqctl init
  seq 40 | wqctl add -q q -
  mkfifo gate
  # The limit counts all processes and threads of the user: this one has no others.
  local user=$((1000000 + $$))
  chown -R $user "$DIR"
  # No command ends before the gate has a writer.
  setpriv --reuid $user --regid $user --clear-groups prlimit --nproc=50 \
    "$WQCTL" work -q q -j 20 --max-requeues 0 -- sh -c ': <gate' _ 2>work.err 3>&- &
  PID=$! STARTED="${STARTED:-} $!"
  until_ok log_has work "running fewer commands at once"
  exec 9<>gate
  wait "$PID"
  contains "$(cat work.err)" "succeeded 40, failed attempts 0, quarantined 0, remaining 0"
}

@test "an environment without room for any key: exit 1; without room for one: its failure" {
  wqctl init
  { seq 10; printf '%04000d\n' 0; } | wqctl add -q q -
  # crowded BYTES: with so large an environment. The first command lowers wqctl's limit for
  # arguments and environment, a quarter of its stack, to 128 KiB.
  crowded() {
    run -1 --separate-stderr env -i "PATH=$PATH" "WQ_STORE=$WQ_STORE" "BIG=$(printf "%0$1d" 0)" \
      "$WQCTL" work -q q --max-requeues 0 -- sh -c 'prlimit --pid $PPID --stack=524288' _
  }
  crowded 131000
  contains "$stderr" "cannot run the command: Argument list too long"
  contains "$stderr" "succeeded 1, failed attempts 0, quarantined 0, remaining 10"
  crowded 124000
  contains "$stderr" "succeeded 9, failed attempts 1, quarantined 1, remaining 0"
}

@test "a lack of processes that does not end: exit 1, and no failure is counted" {
  [ "$(id -u)" = 0 ] || skip "only root can take another identity"
  store_with a b c
  local user=$((1000000 + $$))
  chown -R $user "$DIR"
  # The first command takes wqctl the right to start another one.
  run -1 --separate-stderr setpriv --reuid $user --regid $user --clear-groups \
    "$WQCTL" work -q q --max-requeues 0 -- sh -c 'prlimit --pid $PPID --nproc=1' _
  contains "$stderr" "cannot run the command: Resource temporarily unavailable"
  contains "$stderr" "succeeded 1, failed attempts 0, quarantined 0, remaining 2"
}

# --- A queue that does not exist yet; several queues ---

@test "--follow creates a queue that does not exist yet, and works on what is added" {
  wqctl init
  start work work -q new --follow -- touch
  until_ok grep -q 'queue "new" does not exist yet' work.err
  until_ok wqctl add -q new made
  until_ok test -e made
  terminate
  run -3 wqctl work -q other -- true
}

@test "several queues: their keys in turn, one summary" {
  wqctl init
  wqctl add -q a a1 a2 a3
  wqctl add -q b b1
  run -0 --separate-stderr wqctl work -q a -q b -q a -- sh -c 'echo "$WQ_QUEUE $1"' _
  [ "$output" = $'a a1\nb b1\na a2\na a3' ]
  contains "$stderr" "succeeded 4, failed attempts 0, quarantined 0, remaining 0"
  wqctl add -q b bad
  run -1 --separate-stderr wqctl work -q a -q b --max-requeues 0 -- false
  contains "$stderr" 'quarantined "bad" of queue "b" after 1 failure'
  run -3 --separate-stderr wqctl work -q a -q c -- true
  contains "$stderr" '"c"'
  run -2 wqctl work -- true
}

@test "several queues: a paused one is left alone, and --follow serves both" {
  wqctl init
  wqctl add -q a a1
  wqctl add -q b b1
  wqctl pause -q a --yes
  run -0 --separate-stderr wqctl work -q a -q b -- echo
  [ "$output" = b1 ]
  contains "$stderr" 'queue "a" is paused'
  wqctl resume -q a --yes
  start work work -q a -q b --follow -- touch
  until_ok test -e a1
  wqctl add -q b b2
  until_ok test -e b2
  terminate
}

# --- What the command gets ---

@test "the environment has the key, its queue and attempt, and why it needs work; the retry too" {
  store_with
  trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
  wqctl add -q q --reason 'node drained' k
  wqctl add -q q --reason 'owner changed' --traceparent $trace k other
  wqctl add -q q --reason 'node drained' k
  run -0 wqctl inspect -q q k
  [[ $output == *"cause           node drained"$'\n'*"cause           owner changed, trace $trace"* ]]
  export WQ_REASONS=old TRACEPARENT=old WQ_KEY=old WQ_ATTEMPT=old WQ_QUEUE=old
  run -0 --separate-stderr wqctl work -q q --base-delay 1ms -- \
    sh -c 'echo "$WQ_KEY $WQ_QUEUE $WQ_ATTEMPT: $WQ_REASONS; ${TRACEPARENT-none}"; [ "$WQ_ATTEMPT" = 2 ]' _
  [ "$(grep -A1 '^k ' <<< "$output")" = "k q 1: node drained
owner changed; $trace
--
k q 2: node drained
owner changed; $trace" ]
  wqctl add -q q without
  run -0 --separate-stderr wqctl work -q q -- sh -c 'echo "${WQ_REASONS-none} ${TRACEPARENT-none}"'
  [ "$output" = "none none" ]
}

@test "--stdin: the key is on stdin, byte for byte, and not an argument" {
  wqctl init
  printf 'a\nb\0\377\0' | tr '\0' '\1' | wqctl add -q q -0
  printf 'n\0l\n' | wqctl add -q q -
  export WQ_KEY=outer
  run -0 --separate-stderr wqctl work -q q --stdin -- sh -c 'od -An -tx1; echo "$# ${WQ_KEY+set}"'
  [ "$output" = $' 61 0a 62 01 ff 01\n0 set\n 6e 00 6c\n0 ' ]
  printf 'n\0l\n' | wqctl add -q q -
  run -1 --separate-stderr wqctl work -q q --max-requeues 0 -- true
  contains "$stderr" 'quarantined "n\x00l"'
  contains "$stderr" "NUL byte"
}

# --- The output of several commands ---

# Prints a line in two pieces for each round; another command prints between them.
two_pieces() {
  cat > pieces <<'END'
#!/bin/sh
for i in 1 2 3 4 5; do
  printf '%s-' "$1"
  : > "at-$1-$i"
  other=$(if [ "$1" = a ]; then echo b; else echo a; fi)
  until [ -e "at-$other-$i" ]; do :; done
  echo "$i"
done
END
  chmod +x pieces
}

@test "several commands at once: the output of each is printed as a whole" {
  store_with a b
  two_pieces
  run -0 --separate-stderr wqctl work -q q -j 2 -- ./pieces
  local a=$'a-1\na-2\na-3\na-4\na-5' b=$'b-1\nb-2\nb-3\nb-4\nb-5'
  [ "$output" = "$a"$'\n'"$b" ] || [ "$output" = "$b"$'\n'"$a" ]
  # With -u all have the stdout of wqctl.
  wqctl add -q q c d
  run -0 --separate-stderr wqctl work -q q -j 2 -u -- sh -c "readlink /proc/self/fd/1" _
  [ "$(sort -u <<< "$output" | wc -l)" = 1 ]
}

@test "--tag: each line begins with the key and a tab, stderr's too" {
  store_with 'k 1'
  printf 'x\033y\n' | wqctl add -q q -
  run -0 --separate-stderr wqctl work -q q --tag -- sh -c 'printf "1\n2\n3"; echo; echo e >&2' _
  [ "$output" = $'k 1\t1\nk 1\t2\nk 1\t3\nx\\x1by\t1\nx\\x1by\t2\nx\\x1by\t3' ]
  contains "$stderr" $'k 1\te'
  # Also behind a last line without an end.
  wqctl add -q q a b
  run -0 --separate-stderr wqctl work -q q --tag -- printf 'x %s'
  [ "$output" = $'a\tx a\nb\tx b' ]
  wqctl add -q q a b
  run -0 --separate-stderr wqctl work -q q --tag -- sh -c 'printf "e-$1" >&2' _
  contains "$stderr" $'a\te-a\nb\te-b\n'
}

@test "a large output is grouped as a whole, and is not kept in memory" {
  store_with a b
  wqctl work -q q -j 2 -- sh -c 'yes "$1" | head -c 20000000' _ > out
  [ "$(wc -c < out)" = 40000000 ]
  [ "$(uniq out | tr -d '\n')" = ab ] || [ "$(uniq out | tr -d '\n')" = ba ]
}

@test "a reader that is slow does not keep SIGTERM from ending the run" {
  store_with a
  mkfifo pipe
  exec 8<> pipe
  "$WQCTL" work -q q --group --grace 50ms -- sh -c 'echo > started; head -c 1000000 /dev/zero' _ \
    2>err >pipe 3>&- 8>&- &
  PID=$!
  STARTED=$PID
  until_ok test -e started
  kill -TERM "$PID"
  exits 1
  exec 8>\&-
  [ "$(dumped_keys)" = "a " ]
}

@test "the measurement of docs/wqctl.md runs" {
  run -0 "$BATS_TEST_DIRNAME/../../tools/bench/work_bench.sh" "$WQCTL" 5
  [[ "${lines[0]}" =~ ^wqctl\ work\ .*\ commands/s\ .*\ CPU$ ]]
  [[ "$output" == *$'\nxargs '* ]]
}
