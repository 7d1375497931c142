#!/usr/bin/env bats
# Keys of 4096 bytes, the default limit, through every verb that takes or shows keys: one of text,
# and one of all byte values but NUL, again and again. No byte is lost or changed.
load helpers

# The keys in the files text and binary, and in hexadecimal in $TEXT_HEX and $BINARY_HEX.
make_keys() {
  head -c 4096 /dev/zero | tr '\0' k >text
  perl -e 'print substr(join("", map(chr, 1..255)) x 17, 0, 4096)' >binary
  TEXT_HEX=$(hex_of <text)
  BINARY_HEX=$(hex_of <binary)
  [ "${#TEXT_HEX},${#BINARY_HEX}" = 8192,8192 ]
}
hex_of() { od -An -v -tx1 | tr -d ' \n'; }
both_keys() { cat text <(printf '\0') binary <(printf '\0'); }

# A store with both keys pending.
store_with_both() {
  make_keys
  store_with
  both_keys | wqctl add -q q -0 - >/dev/null
}

# has_both ARG...: ls with these arguments lists exactly the two keys, with every byte.
has_both() {
  wqctl ls "$@" -o name -0 | sort -z >listed
  both_keys | sort -z | cmp - listed
}
has_none() { [ -z "$(wqctl ls "$@" -o name)" ]; }

# expect TEXT VERB...: the verb changes both keys of q and prints TEXT.
expect() {
  local text=$1
  shift
  run -0 wqctl "$@" -q q --yes --hex "$TEXT_HEX" "$BINARY_HEX"
  contains "$output" "$text"
}

@test "add, ls, inspect, rm; one byte more is refused" {
  store_with_both
  has_both -q q --state pending
  [ "$(wqctl ls -q q --hex -o name | sort)" = "$(printf '%s\n' "$TEXT_HEX" "$BINARY_HEX" | sort)" ]
  wqctl inspect -q q -o json --hex "$TEXT_HEX" | jq -j .key | cmp - text
  wqctl inspect -q q -o json --hex "$BINARY_HEX" | jq -r .key_base64 | base64 -d | cmp - binary
  wqctl inspect -q q -o json -- "$(cat text)" | jq -j .key | cmp - text
  run -0 wqctl inspect -q q --hex "$BINARY_HEX"
  contains "$output" "$BINARY_HEX"
  run -1 --separate-stderr wqctl add -q q -- "$(cat text)k"
  contains "$stderr" 4097
  expect "removed 2" rm
  has_none -q q
}

@test "add --after, requeue, cancel-delay, delete" {
  make_keys
  store_with
  both_keys | wqctl add -q q --after 1h -0 - >/dev/null
  has_both -q q --state delayed
  expect "requeued 2" requeue
  has_both -q q --state pending
  both_keys | wqctl add -q q --after 1h -0 - >/dev/null
  expect "cancelled 2" cancel-delay
  has_none -q q --state delayed
  expect "deleted 2" delete
  has_none -q q
}

@test "work, forget, quarantine ls, release and drop" {
  store_with_both
  run -1 wqctl work -q q --max-requeues 0 -- sh -c 'printf "%s\0" "$1" >>seen; exit 1' _
  sort -z seen | cmp - <(both_keys | sort -z)
  has_both -q q --state quarantined
  wqctl quarantine ls -q q -o name -0 | sort -z | cmp - <(both_keys | sort -z)
  expect "released 2" quarantine release
  has_both -q q --state pending
  run -1 wqctl work -q q --max-requeues 0 --stdin -- sh -c 'cat >>seen.stdin; exit 1'
  [ "$(wc -c <seen.stdin)" -ge 8192 ]
  expect "dropped 2" quarantine drop
  has_none -q q

  # One failure each, and then forgotten.
  both_keys | wqctl add -q q -0 - >/dev/null
  start failing work -q q --base-delay 3h --max-delay 3h -- false
  until_ok two_delayed
  kill -TERM "$PID"
  wait "$PID"
  has_both -q q --failures-over 0
  expect "forgotten 2" forget
  has_none -q q --failures-over 0
  has_both -q q --state delayed
}
two_delayed() { [ "$(queue_count delayed)" = 2 ]; }

@test "dump, load, diff" {
  store_with_both
  wqctl dump >dump
  run -0 wqctl --store copy load dump
  run -0 wqctl diff dump copy
  [ -z "$output" ]
  has_both --store copy
  expect "removed 2" rm
  run -1 wqctl diff dump "$WQ_STORE" -o json
  jq -j '.[] | .key // empty' <<<"$output" | cmp - text
  jq -r '.[] | .key_base64 // empty' <<<"$output" | base64 -d | cmp - binary
}

@test "verify, repair, snapshot" {
  store_with_both
  run -0 wqctl verify
  run -0 wqctl snapshot create kept
  run -0 wqctl snapshot restore kept/* --into restored
  has_both --store restored
  run -0 wqctl repair --into repaired
  has_both --store repaired
  run -0 wqctl --store repaired verify
}

@test "report, watch" {
  store_with_both
  run -1 wqctl work -q q --max-requeues 0 -- false
  wqctl report --hex -o page.html
  grep -qF "$TEXT_HEX" page.html
  grep -qF "$BINARY_HEX" page.html
  expect "released 2" quarantine release
  start failing work -q q --base-delay 3h --max-delay 3h -- false
  until_ok two_delayed
  kill -TERM "$PID"
  wait "$PID"
  wqctl watch --count 1 -o json >watched
  jq -j '.. | .key? // empty' watched | cmp - text
  jq -r '.. | .key_base64? // empty' watched | base64 -d | cmp - binary
}
