#!/usr/bin/env bats
load helpers

@test "a store without its manifest: repaired into a new one, the old one untouched, exit 5" {
  store_with a b c
  wqctl add -q q --after 1h later >/dev/null
  rm "$WQ_STORE"/MANIFEST-* "$WQ_STORE/CURRENT"
  before=$(fingerprint)
  run -5 wqctl inspect
  run -5 --separate-stderr wqctl repair --into new -o jsonl
  contains "$(jq -r .lost <<<"$output")" "CURRENT"
  contains "$stderr" "of 1 queues in new"
  [ "$before" = "$(fingerprint)" ]
  run -0 wqctl --store new verify
  [ "$(wqctl --store new ls -q q -o name | sort | tr '\n' ' ')" = "a b c later " ]
  [ "$(stat -c %a new)" = 700 ]
}

@test "a sound store: exit 0, and nothing lost" {
  store_with a b
  run -0 --separate-stderr wqctl repair --into new
  [ -z "$output" ]
  [ "$(wqctl dump -o jsonl | grep -v '"uuid"')" = "$(wqctl --store new dump -o jsonl | grep -v '"uuid"')" ]
}

@test "an existing directory, no store, no --into" {
  store_with a
  mkdir new
  run -1 --separate-stderr wqctl repair --into new
  contains "$stderr" "there is new already"
  run -3 wqctl --store nope repair --into new2
  ln -s "$WQ_STORE" link
  for inside in "$WQ_STORE/new" link/new; do
    run -2 --separate-stderr wqctl repair --into "$inside"
    contains "$stderr" "$inside is inside the store"
  done
  wqctl verify
  run -2 wqctl repair
  [ ! -e new2 ]
}

@test "a living owner: exit 4" {
  store_with a
  start work work -q q -- sleep 1000
  until_ok grep -qx "$PID" "$WQ_STORE/OWNER"
  run -4 wqctl repair --into new
  [ ! -e new ]
}
