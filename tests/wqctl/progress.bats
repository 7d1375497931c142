#!/usr/bin/env bats
# The line about progress, and colours: where they appear, and where nothing does.
load helpers

# The program, for at_screen.
printf -v W %q "${WQCTL:-}"

# at_screen COMMAND...: runs a shell command at a terminal of 100 columns. What is shown is on stdout.
at_screen() {
  SHELL=/bin/bash script -qec "stty cols 100 rows 24; $*" /dev/null </dev/null
}

# A store with 3000 keys, and its dump in d.jsonl.
many() {
  store_with
  seq -f 'k%.0f' 1 3000 >keys
  wqctl add -q q - <keys >/dev/null
  wqctl dump >d.jsonl
}

# shows TEXT: $output has it on a line of progress, which is erased afterwards.
shows() {
  contains "$output" $'\r\033[K'"$1"
  local behind=${output##*"$1"}
  contains "$behind" $'\r\033[K'
}

lacks() { [[ "$1" != *"$2"* ]] || { echo "\"$2\" is in: $1" >&2; return 1; }; }

@test "every slow verb shows its steps at a terminal, and erases the line" {
  many
  run -0 at_screen "$W --progress=always --store l load d.jsonl"
  shows 'load: 0 keys'
  shows 'load: finishing'
  contains "${output##*finishing}" 'loaded queues 1, entries 3000'
  run -0 at_screen "$W --progress=always --store l add -q r - <keys"
  shows 'add: 0 keys'
  run -0 at_screen "$W --progress=always dump >d2.jsonl"
  shows 'dump: 0 of 3 000 keys (0 %)'
  run -0 at_screen "$W --progress=always verify"
  shows 'verify: checking files: 0 B of '
  shows 'verify: checking rows: 0 of '
  run -0 at_screen "$W --progress=always repair --into new"
  shows 'repair: reading files: 0 B of '
  shows 'repair: comparing records'
  shows 'repair: writing records: 0 of '
  run -0 at_screen "$W --progress=always snapshot create --name s snaps"
  shows 'snapshot create: copying files: 0 B of '
  shows 'snapshot create: checking files: 0 B of '
  run -0 at_screen "$W --progress=always snapshot restore snaps --into restored"
  shows 'snapshot restore: copying files: 0 B of '
  run -0 at_screen "$W --progress=always rm -q q --prefix k1 --yes"
  shows 'rm: selecting: 0 keys'
  shows 'rm: changing: 0 of 1 111 keys (0 %)'
  contains "${output##*changing}" 'removed 1111'
}

@test "a line that is due by itself: after a second, with the count and the rate" {
  store_with
  mkfifo pipe
  printf -v words ' %q' "$WQCTL" add -q q -
  SHELL=/bin/bash script -qec "stty cols 100; $words <pipe" /dev/null </dev/null >screen 2>&1 3>&- &
  STARTED=$!
  exec 9>pipe
  grow() { seq -f "$((SECONDS))-%.0f" 1 500 >&9 && grep -qE 'add: [0-9 ]+ keys, [0-9.]+( [kM])?/s' screen; }
  until_ok grow
  exec 9>&-
  wait "$STARTED"
  run -0 cat screen
  contains "${output##*keys,}" 'added '
  lacks "$output" '%'  # A pipe has no total.
}

@test "a file of keys has a share and a time that is left" {
  store_with
  seq 2000000 >keys  # Far more than are added until the second line, 0.2 s later.
  run -0 at_screen "$W --progress=always add -q q - <keys"
  contains "$output" 'added 2000000, deduplicated 0'
  run -0 grep -oaE $'\033\\[Kadd: [0-9 ]+ keys \\([0-9]+ %\\), [0-9.]+ [kM]/s, [0-9]+s left' <<<"$output"
}

@test "nothing is written to a pipe, to a dumb terminal, or with never" {
  many
  run -0 --separate-stderr wqctl --store l load d.jsonl
  [ -z "$stderr" ]
  run -0 --separate-stderr wqctl dump
  [ -z "$stderr" ]
  for words in "TERM=dumb $W" "env -u TERM $W" "$W --progress=never" "WQ_PROGRESS=never $W"; do
    run -0 at_screen "export WQ_COLOR=never; $words verify"
    lacks "$output" 'checking'
    lacks "$output" $'\033'
  done
  WQ_PROGRESS=always run -0 --separate-stderr wqctl verify
  contains "$stderr" 'verify: checking rows'
  WQ_PROGRESS=always run -0 --separate-stderr wqctl --progress=never verify
  lacks "$stderr" 'verify: checking rows'
}

@test "a message stands alone on its line" {
  many
  printf '{"wrong"\n' >>d.jsonl
  run -1 at_screen "$W --color=never --progress=always --store l load d.jsonl"
  contains "$output" $'\r\033[Kwqctl: error: line 3004'
}

@test "colours: on a terminal, not in a pipe, and as --color says" {
  store_with a
  local where code colour words
  while IFS='|' read -r where code colour words; do
    words=${words/wqctl/$W}
    case $where in
      screen) run "-$code" at_screen "$words" ;;
      pipe) run "-$code" bash -c "$words" </dev/null ;;
    esac
    case $colour in
      plain) lacks "$output" $'\033' ;;
      bold) contains "$output" $'\033[1mQUEUE' ;;
      red) contains "$output" $'\033[31merror' ;;
    esac
  done <<'END'
screen|0|bold|wqctl ls -o table
screen|0|plain|wqctl --color=never ls -o table
screen|0|plain|NO_COLOR=1 wqctl ls -o table
screen|0|plain|TERM=dumb wqctl ls -o table
screen|0|plain|wqctl ls -o json
screen|0|plain|wqctl ls -o table | cat
screen|3|red|wqctl ls -q none
screen|3|plain|wqctl ls -q none 2>&1 | cat; exit 3
pipe|0|plain|wqctl ls -o table
pipe|0|bold|wqctl --color=always ls -o table
pipe|0|bold|NO_COLOR=1 wqctl --color always ls -o table
pipe|0|bold|WQ_COLOR=always wqctl ls -o table
pipe|0|plain|WQ_COLOR=always wqctl --color=auto ls -o table
pipe|0|plain|WQ_COLOR=always wqctl ls -o jsonl
pipe|3|red|wqctl --color=always ls -q none
pipe|0|bold|WQ_COLOR=always wqctl watch --count 1 -o table
END
}
