#!/usr/bin/env bats
# What wqctl work shares with GNU parallel: -j, --halt, --joblog, the output of several commands.
load helpers

# A command that reports that it runs, and continues when the gate is opened.
blocking() {
  mkfifo gate
  printf '#!/bin/sh\necho "$1" >> started\nread -r _ < gate\necho "$1" >> finished\n' > block
  chmod +x block
}
lines() { [ "$(wc -l < "$2")" = "$1" ]; }

# --- A stdout that is gone ---

@test "stdout is gone: the run ends, no failure is counted, every key whose output is lost stays" {
  store_with a b c d e
  run -1 bash -o pipefail -c '"$WQCTL" work -q q --max-requeues 2 --base-delay 1ms -- \
    sh -c "yes \"\$1\" | head -100000; exit 1" _ 2>err | head -1'
  [ "$output" = a ]
  contains "$(cat err)" "standard output"
  contains "$(cat err)" "quarantined 0"
  [ "$(queue_count quarantined)$(queue_count failing)" = 00 ]
  [ "$(dumped_keys)" = "a b c d e " ]
}

@test "stdout is gone: a command that SIGPIPE kills is not a failure" {
  store_with a b c d e
  run -1 bash -o pipefail -c '"$WQCTL" work -q q --max-requeues 0 -- yes 2>err | head -1'
  contains "$(cat err)" "failed attempts 0, quarantined 0, remaining 5"
}

@test "stdout is gone while outputs are grouped: the keys of lost outputs stay" {
  store_with a b c
  run -1 bash -o pipefail -c '"$WQCTL" work -q q --group -- sh -c "yes \"\$1\" | head -100000" _ \
    2>err | head -1'
  [ "$output" = a ]
  contains "$(cat err)" "failed attempts 0, quarantined 0, remaining 3"
}

@test "stdout is gone while no key is left: --follow ends" {
  store_with a
  mkfifo pipe
  "$WQCTL" work -q q --follow -- echo 2>err >pipe 3>&- &
  PID=$!
  STARTED=$PID
  head -1 <pipe >first
  local code=0
  wait "$PID" || code=$?
  [ "$code" = 1 ]
  [ "$(cat first)" = a ]
}

@test "all that a command has written before its end is printed, also from a pipe that it enlarged" {
  store_with a
  mkfifo gate
  cat > fill <<'END'
#!/usr/bin/perl
open my $gate, "<", "gate"; chomp(my $wqctl = <$gate>);
kill STOP => $wqctl;  # From here on nobody reads the pipes.
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
  ended() { ! kill -0 "$(cat pid)"; }
  until_ok ended
  kill -CONT "$PID"
  local code=0
  wait "$PID" || code=$?
  [ "$code" = 1 ]
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
  # The limit counts all processes and threads of the user: this one has no others.
  local user=$((1000000 + $$))
  chown -R $user "$DIR"
  run -0 --separate-stderr timeout 60 setpriv --reuid $user --regid $user --clear-groups \
    prlimit --nproc=50 "$WQCTL" work -q q -j 20 --max-requeues 0 -- true
  contains "$stderr" "running fewer commands at once"
  contains "$stderr" "succeeded 40, failed attempts 0, quarantined 0, remaining 0"
}

# --- A queue that does not exist yet; several queues ---

@test "--follow creates a queue that does not exist yet, and works on what is added" {
  wqctl init
  start work work -q new --follow -- touch
  until_ok grep -q 'queue "new" does not exist yet' work.err
  until_ok wqctl add -q new made
  until_ok test -e made
  kill -TERM "$PID"
  wait "$PID"
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
  kill -TERM "$PID"
  wait "$PID"
}

# --- What the command gets ---

@test "{#} is the number of the command, {%} its slot; with one of them no key is appended" {
  store_with a b
  run -0 --separate-stderr wqctl work -q q -- echo '{#}' '{%}'
  [ "$output" = $'1 1\n2 1' ]
  wqctl add -q q a b
  run -0 --separate-stderr wqctl work -q q -- echo '{#}-{}-{%}' '{' '}' '{x}'
  [ "$output" = $'1-a-1 { } {x}\n2-b-1 { } {x}' ]
}

@test "slots are distinct among the commands that run at once" {
  store_with a b c
  blocking
  start work work -q q -j 3 -- ./block '{%}'
  until_ok lines 3 started
  [ "$(sort started | tr -d '\n')" = 123 ]
  exec 9<> gate
  printf 'x\nx\nx\n' >&9
  wait "$PID"
  exec 9>&-
}

@test "WQ_REASONS and TRACEPARENT say why the key needs work, and the retry has them too" {
  store_with
  trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
  wqctl add -q q --reason 'node drained' k
  wqctl add -q q --reason 'owner changed' --traceparent $trace k other
  wqctl add -q q --reason 'node drained' k
  run -0 wqctl inspect -q q k
  [[ $output == *"cause           node drained"$'\n'*"cause           owner changed, trace $trace"* ]]
  export WQ_REASONS=old TRACEPARENT=old
  run -0 --separate-stderr wqctl work -q q --base-delay 1ms -- \
    sh -c 'echo "$WQ_KEY $WQ_ATTEMPT: $WQ_REASONS; ${TRACEPARENT-none}"; [ "$WQ_ATTEMPT" = 2 ]' _
  [ "$(grep -A1 '^k ' <<< "$output")" = "k 1: node drained
owner changed; $trace
--
k 2: node drained
owner changed; $trace" ]
  wqctl add -q q without
  run -0 --separate-stderr wqctl work -q q -- sh -c 'echo "${WQ_REASONS-none} ${TRACEPARENT-none}"'
  [ "$output" = "none none" ]
}

@test "WQ_KEY, WQ_QUEUE and WQ_ATTEMPT are in the environment, in place of others" {
  store_with 'k 1'
  export WQ_KEY=old WQ_ATTEMPT=old
  run -0 --separate-stderr wqctl work -q q --base-delay 1ms -- \
    sh -c 'env | grep -E "^WQ_(KEY|ATTEMPT|QUEUE)=" | sort; [ "$WQ_ATTEMPT" = 2 ]' _
  [ "$output" = $'WQ_ATTEMPT=1\nWQ_KEY=k 1\nWQ_QUEUE=q\nWQ_ATTEMPT=2\nWQ_KEY=k 1\nWQ_QUEUE=q' ]
}

@test "a key with a NUL byte leaves WQ_KEY unset, also an inherited one" {
  store_with a
  wqctl dump -q q | sed 's/"key":"a"/"key_base64":"YQBi"/' > dumped
  export WQ_STORE=$DIR/other
  wqctl init
  wqctl load dumped
  run -0 env WQ_KEY=outer "$WQCTL" work -q q --stdin -- sh -c 'echo "${WQ_KEY-unset}"'
  contains "$output" unset
}

@test "--stdin: the key is on stdin, byte for byte, and not an argument" {
  wqctl init
  printf 'a\nb\0\377\0' | tr '\0' '\1' | wqctl add -q q -0
  printf 'n\0l\n' | wqctl add -q q -
  run -0 --separate-stderr wqctl work -q q --stdin -- sh -c 'od -An -tx1; echo $#'
  [ "$output" = $' 61 0a 62 01 ff 01\n0\n 6e 00 6c\n0' ]
}

# --- -j, --rate, --dry-run ---

@test "-j: +N, -N and N% count from the CPUs, 0 is as many as possible" {
  store_with a b c
  blocking
  start work work -q q -j 0 -- ./block
  until_ok lines 3 started
  exec 9<> gate
  printf 'x\nx\nx\n' >&9
  wait "$PID"
  exec 9>&-
  wqctl add -q q a b c
  run -0 wqctl work -q q -j +1 -- true
  wqctl add -q q a b c
  run -0 wqctl work -q q -j -100 -- true
  wqctl add -q q a b c
  run -0 wqctl work -q q -j 50% -- true
  for bad in 1025 x 5x +x % 0% -- ''; do
    run -2 wqctl work -q q -j "$bad" -- true
  done
}

@test "--rate: one command per interval" {
  store_with a b c d e
  run -0 --separate-stderr wqctl work -q q -j 5 --rate 20/s -- sh -c 'date +%s%N' _
  # Four intervals of 50 ms; the first and the last command may begin late, not early.
  local first last
  first=$(sort -n <<< "$output" | head -1)
  last=$(sort -n <<< "$output" | tail -1)
  [ $((last - first)) -ge 150000000 ]
  for bad in 0 -1 x 1/x 1e3 inf nan ''; do
    run -2 wqctl work -q q --rate "$bad" -- true
  done
}

@test "--rate: SIGTERM ends the wait for the next start" {
  store_with a b
  start work work -q q --rate 1/h -- touch
  until_ok test -e a
  kill -TERM "$PID"
  wait "$PID"
  [ "$(dumped_keys)" = "b " ]
}

@test "--rate: the run ends with its last command, not at the next start" {
  store_with a
  run -0 timeout 60 "$WQCTL" work -q q --rate 1/h -- true
}

@test "--dry-run prints the commands in order, quoted, and changes nothing" {
  wqctl init
  printf "a b\nit's\nplain\n" | wqctl add -q q -
  printf 'two\nlines\0' | wqctl add -q q -0
  wqctl add -q q --after 1h later
  wqctl add -q q --lane 5 first
  local before
  before=$(fingerprint)
  run -0 wqctl work -q q --dry-run -- sh -c 'echo "$1" {#}' _ '{}'
  [ "$before" = "$(fingerprint)" ]
  [ "${lines[0]}" = "sh -c 'echo \"\$1\" 1' _ first" ]
  [ "${lines[1]}" = "sh -c 'echo \"\$1\" 2' _ 'a b'" ]
  [ "${lines[2]}" = "sh -c 'echo \"\$1\" 3' _ 'it'\\''s'" ]
  [ "${lines[4]}" = "sh -c 'echo \"\$1\" 5' _ \$'two\\nlines'" ]
  [ "${lines[5]}" = "sh -c 'echo \"\$1\" 6' _ later" ]
  # The printed words are those that a shell would run.
  run -0 bash -c "$(wqctl work -q q --dry-run -- printf '%s.' | head -4)"
  [ "$output" = "first.a b.it's.plain." ]
  run -3 wqctl work -q none --dry-run -- true
}

# --- --halt, --joblog ---

@test "--halt soon,fail=N: no new command, exit 1, the rest stays" {
  store_with a b c
  run -1 --separate-stderr wqctl work -q q --base-delay 1h --max-delay 1h --halt soon,fail=2 -- false
  contains "$stderr" "--halt: no new key is begun"
  contains "$stderr" "failed attempts 2, quarantined 0, remaining 3"
  [ "$(wqctl ls -q q --state pending -o name)" = c ]
}

@test "--halt soon waits for running commands, whatever --grace says" {
  store_with a slow
  mkfifo gate
  start work work -q q -j 2 --grace 0 --halt soon,done=1 -- \
    sh -c 'if [ "$1" = slow ]; then echo > started; read -r _ < gate; echo > finished
           else until [ -e started ]; do :; done; fi' _
  until_ok grep -q -e --halt work.err
  echo > gate
  wait "$PID"
  [ -e finished ]
  contains "$(cat work.err)" "succeeded 2"
}

@test "--halt now kills the running commands; their keys stay pending" {
  store_with a slow
  start work work -q q -j 2 --halt now,success=1 -- \
    sh -c 'if [ "$1" = slow ]; then echo > started; exec sleep 1000
           else until [ -e started ]; do :; done; fi' _
  wait "$PID"
  contains "$(cat work.err)" "succeeded 1"
  [ "$(dumped_keys)" = "slow " ]
  [ "$(queue_count failing)" = 0 ]
}

@test "--halt with a percentage counts from the keys at the start; done without a failure is exit 0" {
  store_with a b c d
  run -0 --separate-stderr wqctl work -q q --halt soon,done=50% -- true
  contains "$stderr" "succeeded 2, failed attempts 0, quarantined 0, remaining 2"
  run -2 --separate-stderr wqctl work -q q --follow --halt soon,done=50% -- true
  contains "$stderr" "not with --follow"
  for bad in soon later,fail=1 soon,fail soon,fail=0 soon,fail=x soon,fail=101% now,lost=1 3; do
    run -2 wqctl work -q q --halt "$bad" -- true
  done
}

@test "--joblog: the columns of GNU parallel, a line for each command" {
  store_with ok 'a b' die slow
  wqctl work -q q --group --max-requeues 0 --timeout 10s --joblog log -- \
    sh -c 'case $1 in ok) echo hello;; "a b") exit 7;; die) kill -KILL $$;; esac' _ || true
  [ "$(head -1 log)" = "$(printf 'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand')" ]
  [ "$(wc -l < log)" = 5 ]
  [ "$(awk -F'\t' 'NR > 1 { print $1 $2, $5, $6, $7, $8 }' log)" = \
    $'1: 0 6 0 0\n2: 0 0 7 0\n3: 0 0 0 9\n4: 0 0 0 0' ]
  [[ "$(sed -n 3p log)" == *" _ 'a b'" ]]
  awk -F'\t' 'NR > 1 && ($3 !~ /^[0-9]+\.[0-9][0-9][0-9]$/ || $4 !~ /^ *[0-9]+\.[0-9][0-9][0-9]$/) { exit 1 }' log
  # A new run replaces the log, and "+" continues it.
  wqctl add -q q x
  wqctl work -q q --joblog log -- true
  [ "$(wc -l < log)" = 2 ]
  wqctl add -q q x
  wqctl work -q q --joblog +log -- true
  [ "$(wc -l < log)" = 3 ]
  [ "$(grep -c ^Seq log)" = 1 ]
}

@test "--joblog: a run that does not begin leaves the log as it is" {
  store_with a
  echo kept > log
  run -3 wqctl work -q typo --joblog log -- true
  [ "$(cat log)" = kept ]
}

@test "--joblog: a command that ends well after its time is -1, since it counts as failed" {
  store_with a
  run -1 wqctl work -q q --max-requeues 0 --timeout 50ms --joblog log -- \
    sh -c 'trap "exit 0" TERM; while :; do sleep 0.01; done'
  [ "$(tail -1 log | cut -f 7)" = -1 ]
}

@test "--halt now prints the outputs of the commands that have ended" {
  store_with a b c
  run -1 --separate-stderr wqctl work -q q -j 3 -k --halt now,fail=1 --max-requeues 0 -- sh -c '
    case $1 in
      a) echo first; touch a_ran; while :; do sleep 0.01; done ;;
      b) echo second; touch b_ran ;;
      c) until [ -e a_ran ] && [ -e b_ran ]; do sleep 0.01; done; echo third; exit 1 ;;
    esac' _
  contains "$output" second
}

@test "--joblog: a file that cannot be written is an error that names it, and no key is begun" {
  store_with a
  run -1 --separate-stderr wqctl work -q q --joblog no/such/log -- touch
  contains "$stderr" 'job log "no/such/log": No such file'
  [ ! -e a ]
  run -1 --separate-stderr wqctl work -q q --joblog /dev/full -- touch
  contains "$stderr" 'job log "/dev/full": No space left'
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
}

@test "--line-buffer: lines arrive while the command runs, and are whole" {
  store_with a b
  two_pieces
  run -0 --separate-stderr wqctl work -q q -j 2 --line-buffer -- ./pieces
  [ "$(sort <<< "$output")" = $'a-1\na-2\na-3\na-4\na-5\nb-1\nb-2\nb-3\nb-4\nb-5' ]
  wqctl add -q q k
  mkfifo gate
  start live work -q q --line-buffer -- sh -c 'echo early; read -r _ < gate; echo late' _
  until_ok grep -q early live.out
  echo > gate
  wait "$PID"
  [ "$(cat live.out)" = $'early\nlate' ]
}

@test "--group: stderr is grouped too, and not lost as the last error" {
  store_with a
  run -1 --separate-stderr wqctl work -q q --group --max-requeues 0 -- \
    sh -c 'echo out; echo err >&2; exit 3' _
  [ "$output" = out ]
  contains "$stderr" $'err\nwqctl: error: quarantined "a" after 1 failure: err [exit status 3]'
}

@test "--keep-order prints in the order of the beginnings, and a command that is killed holds up nothing" {
  store_with a b c
  # The later a command began, the earlier it ends.
  run -0 --separate-stderr wqctl work -q q -j 3 -k -- \
    sh -c 'case $1 in a) n=b;; b) n=c;; c) n=;; esac
           until [ -z "$n" ] || [ -e "ended-$n" ]; do :; done; echo "$1"; : > "ended-$1"' _
  [ "$output" = $'a\nb\nc' ]
  wqctl add -q q a b
  run -0 --separate-stderr wqctl work -q q -j 2 -k --timeout 10ms --base-delay 0 -- \
    sh -c '[ "$WQ_ATTEMPT$1" != 1a ] || exec sleep 1000; echo "$1"' _
  contains "$output" a
  contains "$output" b
}

@test "--tag: each line begins with the key and a tab, stderr's too" {
  store_with 'k 1'
  printf 'x\033y\n' | wqctl add -q q -
  run -0 --separate-stderr wqctl work -q q --tag -- sh -c 'printf "1\n2\n3"; echo; echo e >&2' _
  [ "$output" = $'k 1\t1\nk 1\t2\nk 1\t3\nx\\x1by\t1\nx\\x1by\t2\nx\\x1by\t3' ]
  contains "$stderr" $'k 1\te'
}

@test "--ungroup: commands have the stdout of wqctl; options that exclude each other are exit 2" {
  store_with a b
  run -0 --separate-stderr wqctl work -q q -j 2 -u -- sh -c "readlink /proc/self/fd/1" _
  [ "$(sort -u <<< "$output" | wc -l)" = 1 ]
  run -2 wqctl work -q q -u --tag -- true
  run -2 wqctl work -q q -u -k -- true
  run -2 wqctl work -q q --group --line-buffer -- true
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
  local code=0
  wait "$PID" || code=$?
  exec 8>&-
  [ "$code" = 1 ]
  [ "$(dumped_keys)" = "a " ]
}

@test "the measurement of docs/wqctl.md runs" {
  run -0 "$BATS_TEST_DIRNAME/../bench/work_bench.sh" "$WQCTL" 5
  [[ "${lines[0]}" =~ ^wqctl\ work\ .*\ commands/s\ .*\ CPU$ ]]
  [[ "$output" == *$'\nxargs '* ]]
}
