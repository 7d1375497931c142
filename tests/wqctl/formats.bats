#!/usr/bin/env bats
# -o: every verb that lists knows every format, every verb that reports an outcome those of outcomes.
load helpers

LISTING="text table wide json jsonl yaml name"
OUTCOME="text json jsonl yaml"

# verbs_with TYPE: the verbs whose help has -o of that type, one a line.
verbs_with() {
  local verb
  wqctl --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\( [a-z]*\)\?\)  .*/\1/p' | sed 's/ *$//' |
    while read -r verb; do
      # shellcheck disable=SC2086
      if wqctl $verb --help | grep -qF -- "-o,--output $1"; then echo "$verb"; fi
    done
}

# A store with a key in each state and a cursor, a damaged copy of it, an older dump, and snapshots.
everything() {
  store_with
  wqctl dump >before.jsonl
  give_up held
  wqctl add -q q a b >/dev/null
  wqctl add -q q --after 1h later >/dev/null
  plain_dump >dump.jsonl
  echo '{"record":"cursor","queue":"q","name":"c","value":"v"}' >>dump.jsonl
  wqctl load --replace dump.jsonl >/dev/null
  wqctl limits set -q q --group g --rate 5 --yes >/dev/null
  wqctl add -q q a >/dev/null
  wqctl snapshot create --name s snapshots >/dev/null
  wqctl snapshot create --copy --name t others >/dev/null  # Shares no table.
  cp -r "$WQ_STORE" damaged
  local table
  for table in damaged/*.sst others/t/*.sst; do
    printf 'damage' | dd of="$table" bs=1 seek=10 conv=notrunc status=none
  done
}

# check FORMAT TEXT: whether the text has the format.
check() {
  case $1 in
    json) jq -e . <<<"$2" ;;
    jsonl) jq -ce . <<<"$2" >lines && [ "$(wc -l <lines)" = "$(wc -l <<<"$2")" ] ;;
    yaml) ! grep -q '^[[{]' <<<"$2" && ! grep -qvE '^(---|- |[a-z_]+:| +)' <<<"$2" ;;
    name) ! grep -q '[{}]\|  ' <<<"$2" ;;
    *) ! grep -q '^[[{]' <<<"$2" ;;
  esac >/dev/null || { echo "no $1: $2"; return 1; }
}

@test "-o has two sets of formats, and no verb has another" {
  [ "$(verbs_with "${LISTING// /|}" | tr '\n' ' ')" = \
    'workers inspect history ls errors dump diff watch top verify repair snapshot ls snapshot verify quarantine ls limits ls cursor ls ' ]
  [ "$(verbs_with "${OUTCOME// /|}" | tr '\n' ' ')" = "add load snapshot create snapshot restore rm delete \
cancel-delay requeue forget quarantine release quarantine drop " ]
  [ "$(verbs_with 'FILE REQUIRED' | tr '\n' ' ')" = 'report ' ]
  [ "$(wqctl man | grep -c -F -e '\-\-output')" -ge 23 ]
}

@test "every verb that lists, in every format" {
  everything
  local format words status
  for format in $LISTING; do
    while read -r status words; do
      rm -rf repaired
      # shellcheck disable=SC2086
      run "-$status" --separate-stderr wqctl $words -o "$format"
      [ -n "$output" ] || { echo "$words -o $format: no output"; false; }
      check "$format" "$output" || { echo "$words -o $format"; false; }
    done <<'END'
0 inspect
0 inspect a
0 inspect -q q held
0 history -q q held
0 ls
0 errors
0 dump
1 diff before.jsonl dump.jsonl
0 watch --count 1
0 top --count 1
5 --store damaged verify
5 --store damaged repair --into repaired
0 snapshot ls snapshots
5 snapshot verify others
0 quarantine ls
0 limits ls
0 cursor ls
END
  done
}

@test "every verb that reports an outcome, in every format" {
  everything
  local format words
  for format in $OUTCOME; do
    while read -r words; do
      rm -rf restored copy snapshots/n
      # shellcheck disable=SC2086
      run -0 --separate-stderr wqctl $words -o "$format"
      [ -n "$output" ] || { echo "$words -o $format: no output"; false; }
      check "$format" "$output" || { echo "$words -o $format"; false; }
    done <<'END'
add -q q k
--store copy load before.jsonl
snapshot create --name n snapshots
snapshot restore snapshots/s --into restored
rm -q q --yes k
delete -q q --all --dry-run
cancel-delay -q q --all --dry-run
requeue -q q --all --dry-run
forget -q q --all --dry-run
quarantine release -q q --all --dry-run
quarantine drop -q q --all --dry-run
END
  done
  for format in table wide name; do run -2 wqctl add -q q -o "$format" k; done
}

@test "-o=FORMAT and -q=NAME are read as --output=FORMAT and --queue=NAME" {
  store_with a
  [ "$(wqctl ls -q=q -o=name)" = a ]
  [ "$(wqctl inspect a -o=json | jq -r .key)" = a ]
  [ "$(wqctl add -q=q -o=jsonl -- -o=json)" = '{"added":1,"deduplicated":0,"held":0,"refused":0}' ]
  [ "$(wqctl ls -q=q -o=name | tail -1)" = '-o=json' ]
  run -2 --separate-stderr wqctl ls -o=xml
  contains "$stderr" '"xml" is not an output format: text, table, wide, json, jsonl, yaml or name'
  run -2 wqctl ls -0=name
}

@test "inspect KEY as a table, as lines, as names" {
  store_with a b
  wqctl add -q r --after 1h b >/dev/null
  run -0 wqctl inspect b -o table
  [ "$(tr -s ' ' <<<"${lines[0]}")" = 'QUEUE KEY STATE LANE GROUP AGE DUE FAILURES POSITION NEXT DELAY LAST ERROR' ]
  [ "${#lines[@]}" = 3 ]
  contains "${lines[1]}" 'q       b     pending   fast'
  contains "$(wqctl inspect b -o wide | head -1)" 'SEQUENCE   DELAY   POSITION   NEXT DELAY   LAST ERROR'
  [ "$(wqctl inspect b -o jsonl | jq -c '[.queue, .key, .state, .position]')" = \
    $'["q","b","pending",1]\n["r","b","delayed",null]' ]
  [ "$(wqctl inspect -o jsonl | jq -c '[.name, .pending, .delayed]')" = $'["q",2,0]\n["r",0,1]' ]
  [ "$(wqctl dump -o name)" = $'a\nb\nb' ]
  [ "$(wqctl watch --count 2 --interval 100ms -o name)" = $'q\nr\nq\nr' ]
}
