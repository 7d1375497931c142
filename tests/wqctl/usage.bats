#!/usr/bin/env bats
load helpers

@test "without a verb, with a wrong one, with a wrong option: usage, exit 2" {
  run -2 --separate-stderr wqctl
  [ -z "$output" ]
  [ "${stderr_lines[0]}" = "wqctl: error: which verb?" ]
  contains "$stderr" "$(wqctl --help | sed -n '/^Verbs:/,/^$/p')"
  run -2 --separate-stderr wqctl frobnicate
  [ "${stderr_lines[0]}" = 'wqctl: error: unknown verb "frobnicate"' ]
  contains "$stderr" "  inspect "
  run -2 --separate-stderr wqctl --frobnicate init
  contains "$stderr" 'unknown option "--frobnicate"'
  run -2 --separate-stderr wqctl dump --frobnicate
  contains "$stderr" 'unknown option "--frobnicate"'
  run -2 --separate-stderr wqctl dump --qeue=q
  contains "$stderr" 'unknown option "--qeue=q"; did you mean "--queue"?'
  run -2 wqctl init extra
  run -2 wqctl dump extra
  run -2 wqctl inspect one two
}

@test "--version and --help print to stdout" {
  run -0 --separate-stderr wqctl --version
  [[ "$output" =~ ^wqctl\ [0-9]+\.[0-9]+ ]]
  [ -z "$stderr" ]
  run -0 --separate-stderr wqctl --help
  contains "$output" "inspect"
  contains "$output" "WQ_STORE"
}

@test "help is --help, and help VERB is VERB --help" {
  cmp <(wqctl help) <(wqctl --help)
  cmp <(wqctl help inspect) <(wqctl inspect --help)
  cmp <(wqctl help snapshot) <(wqctl snapshot --help)
  cmp <(wqctl help quarantine ls) <(wqctl quarantine ls --help)
  run -2 wqctl help frobnicate
}

@test "verbs of two words: the message lists them" {
  for family in quarantine cursor; do
    run -2 --separate-stderr wqctl "$family"
    contains "$stderr" "which verb? One of $family ls"
    run -2 --separate-stderr wqctl "$family" frobnicate
    contains "$stderr" "unknown verb \"$family frobnicate\""
    run -0 --separate-stderr wqctl "$family" --help
    contains "$output" "Usage: wqctl [--store DIR] $family VERB"
    contains "$output" "$family ls"
    [[ "$output" != *" dump "* ]]
  done
  run -2 wqctl quarantine ls extra
  run -2 wqctl cursor ls extra
  run -2 wqctl cursor get -q q
  run -2 wqctl cursor get -q q a b
  run -2 wqctl cursor get name
}

@test "descriptions of options are aligned" {
  # Each description begins in column 30, if its option is short enough.
  while read -r verb; do
    # shellcheck disable=SC2086
    run -0 wqctl $verb --help
    if grep -nE '^  --?[a-z].{0,23}[^ ] {2,}[^ ]' <<<"$output" | grep -vE '^[0-9]+:.{28}[^ ]|^[0-9]+:.{29} '; then
      echo "$verb"
      false
    fi
  done < <(wqctl --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\( [a-z]*\)\?\)  .*/\1/p' | sed 's/ *$//')
}

@test "every verb has help with examples, and needs no store for it" {
  unset WQ_STORE
  wqctl --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\( [a-z]*\)\?\)  .*/\1/p' | sed 's/ *$//' >verbs
  [ "$(wc -l <verbs)" -gt 25 ]
  mapfile -t verbs <verbs
  for verb in "${verbs[@]}"; do
    # shellcheck disable=SC2086
    run -0 --separate-stderr wqctl $verb --help
    contains "$output" "Usage: wqctl [--store DIR] $verb"
    contains "$output" "Examples:"
    [ -z "$stderr" ]
  done
}

@test "no store named: exit 2 says how to name one" {
  unset WQ_STORE
  for words in init "add -q q k" "work -q q -- true" inspect ls dump load "quarantine ls" "cursor ls" \
    "rm -q q k" "pause -q q" "cursor get -q q c"; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr wqctl $words
    contains "$stderr" "--store"
    contains "$stderr" "WQ_STORE"
  done
  WQ_STORE='' run -2 wqctl init
}

@test "--store before the verb, behind it, with =, and above WQ_STORE" {
  wqctl --store "$DIR/one" init
  wqctl init --store "$DIR/two"
  wqctl --store="$DIR/three" init
  [ -d one ] && [ -d two ] && [ -d three ] && [ ! -e store ]
  wqctl init
  [ -d store ]
}

@test "a missing store: exit 3, and nothing is made" {
  for words in "add -q q k" "work -q q -- true" inspect ls dump "inspect key" "rm -q q --yes k" \
    "forget -q q --all --dry-run" "quarantine drop -q q --yes --all" "pause -q q --yes" \
    "resume -q q --dry-run" "quarantine ls" "cursor ls" "cursor get -q q c"; do
    # shellcheck disable=SC2086
    run -3 --separate-stderr wqctl $words
    contains "$stderr" "$WQ_STORE"
    [ -z "$output" ]
    [ ! -e "$WQ_STORE" ]
  done
}

@test "bad values of options: exit 2 names them" {
  store_with
  for duration in 5 -5s s 5x 1..5s 1.s 1h30 '5 s' 1e3s 999999999999h 40000d ''; do
    run -2 --separate-stderr wqctl add -q q --after "$duration" k
    contains "$stderr" "duration"
  done
  run -2 wqctl add -q q --lane blue k
  run -2 wqctl add -q q --lane 5x k
  run -2 wqctl add -q q --lane 99999999999 k
  run -2 wqctl add -q q --durability maybe k
  run -2 wqctl add -q q -o xml k
  run -2 wqctl inspect -o xml
  run -2 wqctl dump -o xml
  run -2 wqctl work -q q -j 1025 -- true
  run -2 wqctl work -q q -j x -- true
  run -2 wqctl work -q q --max-requeues -1 -- true
  [ "$(wqctl ls -o jsonl)" = "" ]
}

@test "valid durations" {
  store_with
  for duration in 0 1us 5ms 5400.5s 2m 1h30m 0.25h 36500d; do
    run -0 wqctl add -q q --after "$duration" "k$duration"
  done
  [ "$(wqctl inspect k1h30m -o json | jq '.entries[0].delay_seconds')" = 5400 ]
  [ "$(wqctl inspect k5400.5s -o json | jq '.entries[0].delay_seconds')" = 5400.5 ]
  [ "$(wqctl inspect k0 -o json | jq -r '.entries[0].state')" = pending ]
}

@test "a bad queue name: exit 2 and no queue" {
  store_with
  for name in '' a/b 'a b' "$(printf 'x%.0s' {1..65})"; do
    run -2 wqctl add -q "$name" k
  done
  [ "$(wqctl inspect -o json | jq '.queues | length')" = 0 ]
  run -2 wqctl add k
}

@test "a missing queue: exit 3" {
  store_with
  run -3 wqctl work -q nope -- true
  run -3 --separate-stderr wqctl inspect -q nope
  contains "$stderr" '"nope"'
  run -3 wqctl inspect -q nope key
  run -3 wqctl dump -q nope
  [ "$(wqctl inspect -o json | jq '.queues | length')" = 0 ]
}

@test "did you mean: verbs, options, and queues wherever one is named" {
  store_with a
  run -2 --separate-stderr wqctl inspct
  contains "$stderr" 'unknown verb "inspct"; did you mean "inspect"?'
  run -2 --separate-stderr wqctl snapshot lst
  contains "$stderr" 'did you mean "snapshot ls"?'
  wqctl add -q pods b >/dev/null
  for words in "inspect -q pod" "inspect -q pod k" "ls -q pod" "dump -q pod" "report -q pod -o page" \
    "watch -q pod --count 1" "quarantine ls -q pod" "cursor ls -q pod" "cursor get -q pod c" \
    "diff -q pod store store" "rm -q pod --yes k" "rm -q pod --dry-run k" "forget -q pod --all --yes" \
    "pause -q pod --yes" "resume -q pod --yes" "work -q pod -- true"; do
    # shellcheck disable=SC2086
    run -3 --separate-stderr wqctl $words
    [ "$stderr" = 'wqctl: error: no queue "pod"; did you mean "pods"?' ] || { echo "$words: $stderr"; false; }
  done
  run -3 --separate-stderr wqctl ls -q quite-another
  [ "$stderr" = 'wqctl: error: no queue "quite-another"' ]
}

@test "messages escape the command line" {
  run -2 --separate-stderr wqctl $'\e[31mred'
  contains "$stderr" '\x1b[31mred'
  [[ "$stderr" != *$'\e'* ]]
}

@test "closed standard descriptors do no harm" {
  store_with a
  "$WQCTL" dump -q q <&- >&- 2>&- || true
  "$WQCTL" add -q q b <&- >&- 2>&- || true
  [ "$(dumped_keys)" = "a b " ]
}

@test "a closed standard descriptor is an empty one, also to commands" {
  wqctl init
  run -0 bash -c '"$WQCTL" add -q q b - <&-'
  [ "$output" = "added 1, deduplicated 0" ]
  run -0 --separate-stderr bash -c '"$WQCTL" work -q q --max-requeues 0 -- \
    sh -c "echo said; cat; echo \"\$1\" >>done" _ <&- >&-'
  contains "$stderr" "succeeded 1, failed attempts 0"
  [ "$(cat done)" = b ]
  # The process keeps its name.
  "$WQCTL" work -q q --follow -- true <&- >&- 2>err 3>&- &
  PID=$!
  STARTED=$PID
  until_ok wqctl workers -q q
  [ "$(cat "/proc/$PID/comm")" = "$(basename "$WQCTL")" ]
}

@test "a damaged store: exit 5, and nothing is changed" {
  store_with a b c
  rm "$WQ_STORE"/CURRENT
  local before
  before=$(fingerprint)
  run -5 --separate-stderr wqctl inspect
  contains "$stderr" "$WQ_STORE"
  run -5 wqctl dump
  run -5 wqctl add -q q k
  run -5 wqctl work -q q -- true
  [ "$(fingerprint)" = "$before" ]
}

@test "a store of another format version: exit 1 says so" {
  store_with a
  sed -i 's/^wq-store 2 /wq-store 999 /' "$WQ_STORE/FORMAT"
  run -1 --separate-stderr wqctl inspect
  contains "$stderr" 999
  run -1 wqctl add -q q k
}
