#!/usr/bin/env bats
# watch: in a pipe, at a terminal, beside an owner and without one.
load helpers

# watch_on_terminal COLUMNS ROWS SECONDS ARG...: what wqctl writes to a terminal of that size.
watch_on_terminal() {
  local columns=$1 rows=$2 words
  shift 2
  printf -v words ' %q' "$WQCTL" "$@"
  SHELL=/bin/bash TERM=xterm script -qec "stty cols $columns rows $rows; $words" /dev/null </dev/null
}

@test "the owner's own numbers and rates, and after its end the change of those on disk" {
  store_with
  wqctl add -q q a >/dev/null
  mkfifo gate
  start owner work -q q --follow -- sh -c 'echo > started; [ "$1" != a ] || read -r _ < gate; [ "$1" != bad ]' _ {}
  local owner=$PID
  until_ok test -s started
  until_ok test -S "$WQ_STORE/control.sock"
  start watch watch -q q --interval 100ms
  until_ok jq -es --argjson pid "$owner" 'any(.live and .healthy and .owner_pid == $pid and .processing == 1 and .pending == 1)' watch.out
  wqctl add -q q b bad >/dev/null
  echo > gate
  until_ok jq -es 'any(.added_per_second > 0) and any(.done_per_second > 0) and any(.failed_per_second > 0)' watch.out
  # After the end of the owner the numbers on disk are shown.
  terminate "$owner"
  until_ok jq -es '.[-1] | .live == false and .owner_pid == null' watch.out
  wqctl add -q q c d >/dev/null
  until_ok jq -es '.[-1] | .live == false and .pending + .delayed == 3' watch.out
  jq -es 'any((.live | not) and .pending_change_per_second // 0 > 0)' watch.out
  kill -INT "$PID" || true
  terminate
}

@test "on a terminal: in place, with a sparkline, and no colour if NO_COLOR says so" {
  store_with a b
  run -0 watch_on_terminal 100 24 watch --count 3 --interval 100ms
  contains "$output" 'PENDING'
  contains "$output" '███'
  contains "$output" $'\x1b[3F\x1b[J'
  contains "$output" $'\x1b[1m'
  WQ_COLOR=never run -0 watch_on_terminal 100 24 watch --count 1
  ! grep -qE $'\x1b\\[[0-9;]*m' <<<"$output"
  export NO_COLOR=1
  run -0 watch_on_terminal 100 24 watch --count 2 --interval 100ms
  contains "$output" $'\x1b[3F\x1b[J'
  ! grep -qE $'\x1b\\[[0-9;]*m' <<<"$output"
}

@test "at any size: nothing is wider or higher than the terminal" {
  store_with a
  wqctl add -q a-queue-of-a-very-long-name-and-more-of-that-name k >/dev/null
  fail_once "$(printf 'k%.0s' {1..300})"
  fail_once "$(printf 'bad \033[31m\303\244%.0s' {1..20})"
  export NO_COLOR=1
  local columns
  for columns in 1 10 40 80 200; do
    run -0 watch_on_terminal "$columns" 8 watch --keys 20 --count 1
    [ "${#lines[@]}" -le 7 ]
    [[ "$output" != *$'\x1b[31m'* ]]
    run -1 env LC_ALL=C.UTF-8 grep -E ".{$((columns + 1)),}" < <(tr -d '\r' <<<"$output")
  done
  run -0 watch_on_terminal 200 8 watch --keys 20 --count 1
  contains "$output" 'a-queue-of-a-very-long-…'
  run -0 watch_on_terminal 40 24 watch --count 1
  contains "$output" PENDING
}
