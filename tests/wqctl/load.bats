#!/usr/bin/env bats
# load that is killed. What it loads and refuses: unit/load_test.cc.
load helpers

@test "killed or interrupted while it loads: the queues are unchanged, and the next load cleans up" {
  store_with a
  wqctl dump > a.jsonl
  seq 30000 | sed 's/.*/{"queue":"q","key":"k&","state":"pending"}/' >new.jsonl
  mkfifo pipe
  local signal
  for signal in INT KILL; do
    exec 9<> pipe
    env --default-signal=INT "$WQCTL" load --replace pipe 2>err 3>&- 9>&- &
    PID=$!
    STARTED="${STARTED:-} $PID"
    cat new.jsonl >&9
    until_ok loading
    kill -"$signal" "$PID"
    wait "$PID" || [ $? = $((128 + $(kill -l "$signal"))) ]
    exec 9>&-
    [ "$signal" != INT ] ||
      grep -Eq 'interrupted after [0-9]+ entries; nothing was loaded, .* load the dump again' err
    wqctl dump -q q | cmp - a.jsonl
    run -0 wqctl verify
  done
  run -0 wqctl repair --into repaired
  [ "$(wqctl --store repaired inspect -o name)" = q ]
  wqctl work -q q -- true  # It still works.
  wqctl load --replace a.jsonl
  [ "$(wqctl inspect -o name)" = q ]
  wqctl dump | cmp - a.jsonl
}
loading() { wqctl inspect -o json | jq -e '.queues | map(.name) | index("q~loading")'; }

@test "killed at any instant of a replacement: the old queue or the new one, and both verify" {
  store_with
  seq -f old%.0f 20000 | wqctl add -q q - >/dev/null
  wqctl dump >old.jsonl
  seq 20000 | sed 's/.*/{"queue":"q","key":"new&","state":"pending"}/' >new.jsonl
  local before after
  for ms in 020 040 060 080 120 160 240 320; do
    before=$(wqctl ls -q q -o name | sha256sum)
    # Each time it is the other one that is loaded.
    [ "$(wqctl ls -q q -o name | head -c 3)" = old ] && next=new || next=old
    timeout -s KILL "0.$ms" "$WQCTL" load --replace "$next.jsonl" >/dev/null || true
    run -0 wqctl verify
    after=$(wqctl ls -q q -o name | sha256sum)
    [ "$after" = "$before" ] || [ "$after" = "$(seq -f "$next%.0f" 20000 | sha256sum)" ]
  done
  wqctl load --replace new.jsonl >/dev/null
  [ "$(wqctl inspect -o name)" = q ]
  cmp <(wqctl ls -q q -o name) <(seq -f new%.0f 20000)
}
