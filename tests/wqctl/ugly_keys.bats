#!/usr/bin/env bats
# Keys with unusual bytes, through every verb that takes or shows a key: the bytes are preserved,
# and are escaped on a terminal and in a log.
load helpers

# No key has a NUL byte, since no argument can hold it.
UGLY=(
  '-' '--' '-q' '--help' '-rf /' "it's" '"quoted"' 'back\slash' '\n' ' ' 'two  spaces' '*' '$HOME' '{}' '%s%n'
  $'new\nline' $'\n' $'\r\n' $'tab\t' $'\033[31mred\033[0m' $'\a\b\177' $'\302\205' $'\342\200\256gnp.exe' $'\342\201\246x\342\201\251'
  $'\342\200\250' $'\357\273\277' $'\377\376' $'\300\257' $'\355\240\200' $'\364\220\200\200' $'\303' 'é' $'e\314\201' '日本'
)

# The keys of dump as lines of hexadecimal digits, sorted.
dumped_hex() {
  wqctl dump -q q -o jsonl | jq -r 'select(.key != null or .key_base64 != null) |
    if .key_base64 then "b " + .key_base64 else "b " + (.key | @base64) end' |
    while read -r _ text; do base64 -d <<<"$text" | od -An -v -tx1 | tr -d ' \n'; echo; done | sort
}

hex_of() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }

expected_hex() { for key in "${UGLY[@]}"; do hex_of "$key"; echo; done | sort; }

# no_raw_bytes FILE: it has no control character but the line end, no bidirectional override and no
# invalid UTF-8.
no_raw_bytes() {
  if LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' "$1"; then return 1; fi
  if LC_ALL=C grep -nP '\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf|\xc2[\x80-\x9f]' "$1"; then return 1; fi
  iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}

@test "the check for raw bytes finds them" {
  printf 'a\033b\n' >control
  printf 'a\342\200\256b\n' >override
  printf 'a\377b\n' >invalid
  for file in control override invalid; do run ! no_raw_bytes "$file"; done
  echo 'plain é' >plain
  no_raw_bytes plain
}

@test "as arguments: added, dumped, found, removed" {
  store_with "${UGLY[@]}"
  [ "$(dumped_hex)" = "$(expected_hex)" ]
  for key in "${UGLY[@]}"; do
    run -0 wqctl inspect -q q -o json -- "$key"
  done
  for key in "${UGLY[@]}"; do
    wqctl rm -q q --yes -- "$key" >/dev/null
  done
  [ -z "$(dumped_hex)" ]
}

@test "on stdin, with NUL between them: the same" {
  store_with
  printf '%s\0' "${UGLY[@]}" | wqctl add -q q -0 - >/dev/null
  [ "$(dumped_hex)" = "$(expected_hex)" ]
}

@test "tables, messages and logs show none of their bytes as they are" {
  store_with "${UGLY[@]}"
  wqctl ls -q q >table 2>&1
  no_raw_bytes table
  # One row a key, and the header.
  [ "$(wc -l <table)" = $((${#UGLY[@]} + 1)) ]
  for key in "${UGLY[@]}"; do
    wqctl inspect -q q -- "no $key" >>messages 2>&1 || true
  done
  no_raw_bytes messages
  [ "$(grep -c '' messages)" -ge "${#UGLY[@]}" ]
  wqctl work -q q --max-requeues 0 -- sh -c 'printf "%s\n" "$1" >&2; exit 1' _ {} >work 2>&1 || true
  grep -v '^wqctl: ' work >others || true
  grep '^wqctl: ' work >ours
  no_raw_bytes ours
}

@test "load reads the output of dump: byte for byte" {
  store_with "${UGLY[@]}"
  wqctl dump -o jsonl >dump.jsonl
  wqctl --store copy load dump.jsonl >/dev/null
  WQ_STORE=copy
  [ "$(dumped_hex)" = "$(expected_hex)" ]
}

@test "NUL inside: loaded, dumped, found and removed" {
  store_with aXb
  wqctl dump -o jsonl | sed 's/aXb/a\\u0000b/' >dump.jsonl
  export WQ_STORE=$DIR/copy
  wqctl load dump.jsonl >/dev/null
  [ "$(dumped_hex)" = 610062 ]
  [ "$(wqctl ls -q q -o name -0 | od -An -tx1)" = " 61 00 62 00" ]
  contains "$(wqctl ls -q q)" 'a\x00b'
  wqctl rm -q q --hex --yes 610062
  [ -z "$(dumped_hex)" ]
}

@test "long ones: 4096 bytes by default, one byte more is refused before anything is written" {
  store_with
  head -c 4096 /dev/zero | tr '\0' k | wqctl add -q q - >/dev/null
  [ "$(wqctl ls -q q -o name | wc -c)" = 4097 ]
  run -1 --separate-stderr bash -c 'head -c 65536 /dev/zero | tr "\0" k | "$WQCTL" add -q q -'
  contains "$stderr" "65536"
  [ "$(queue_count pending)" = 1 ]
}

@test "an empty key is refused, and nothing is written" {
  store_with a
  before=$(dumped_hex)
  run ! wqctl add -q q -- ""
  [ "$before" = "$(dumped_hex)" ]
}

@test "paths with what a terminal would act on are escaped in errors, and others are as they are" {
  local bad=$'x\e[31mred' words
  wqctl init
  mkdir foreign
  touch "foreign/$bad"
  for words in "--store foreign ls" "--store $bad ls" "snapshot ls $bad" "serve --token-file $bad" \
    "serve --audit-log $bad/log" "--store /proc/$bad init"; do
    # shellcheck disable=SC2086
    run ! --separate-stderr wqctl $words
    contains "$stderr" 'x\x1b[31mred'
    no_raw_bytes <(echo "$stderr")
  done
  run -3 --separate-stderr wqctl --store 'back\slash' ls
  contains "$stderr" 'no store back\slash'
}

@test "reasons with what a terminal would act on are escaped, in inspect and in history" {
  local reason=$'\302\233\063\061mred \342\200\256gnp.exe'  # CSI as one character, and an override.
  wqctl init
  wqctl add -q q --reason "$reason" a
  wqctl inspect -q q a >shown
  grep -q 'cause  *.u{9b}31mred' shown
  no_raw_bytes shown
  wqctl work -q q --history-bytes 1048576 -- true
  wqctl history -q q a >shown
  no_raw_bytes shown
}
