#!/usr/bin/env bats
load helpers

# flip FILE OFFSET: one bit of one byte.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

@test "a sound store: exit 0, nothing on stdout, what was checked on stderr" {
  store_with a b c
  run -0 --separate-stderr wqctl verify
  [ -z "$output" ]
  contains "$stderr" " rows of 1 queues"
  [ "$(wqctl verify -o json 2>/dev/null | jq -c .)" = "[]" ]
}

@test "a damaged table: exit 5, the file is named, nothing changes" {
  store_with a b c
  local table before
  table=$(find "$WQ_STORE" -name '*.sst' | sort | head -1)
  flip "$table" 20
  before=$(fingerprint)
  run -5 --separate-stderr wqctl verify -o jsonl
  contains "$(jq -r .what <<<"$output")" "$(basename "$table")"
  run -5 --separate-stderr wqctl verify
  contains "$output" "$(basename "$table")"
  [ "$before" = "$(fingerprint)" ]
}

@test "no store: exit 3; a file that is not of a store: exit 5" {
  run -3 wqctl verify
  store_with a
  touch "$WQ_STORE/photo.jpg"
  run -5 --separate-stderr wqctl verify
  contains "$output" "photo.jpg is not a file of a store"
}

@test "beside a living owner: it says so" {
  store_with a b
  start work work -q q -- sleep 1000
  until_ok grep -qx "$PID" "$WQ_STORE/OWNER"
  run -0 --separate-stderr wqctl verify
  contains "$stderr" "living owner"
}
