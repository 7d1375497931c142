#!/usr/bin/env bats
load helpers

# A store with something of every kind, and a cursor.
make_store() {
  store_with
  give_up sick
  wqctl add -q q a b c >/dev/null
  wqctl add -q q --lane slow --group g d >/dev/null
  wqctl add -q q --after 3h later >/dev/null
}
has_first() { wqctl ls -q q --limit 1 -o name | grep -qx k1; }
# limited ARG...: wqctl with a limit of 0 on the size of files; stdout and stderr go through a pipe.
limited() { (ulimit -f 0; "$WQCTL" "$@") 2>&1 | cat; return "${PIPESTATUS[0]}"; }
dump_of() { wqctl --store "$1" dump; }
# A file system of its own, if there is one.
elsewhere() {
  OTHER=$(mktemp -d -p /dev/shm)
  [ "$(stat -c %d "$OTHER")" != "$(stat -c %d "$DIR")" ] || skip "all is one file system here"
}

@test "create, ls, verify, restore: the same entries in another store" {
  make_store
  before=$(fingerprint)
  run -0 --separate-stderr wqctl snapshot create "$DIR/kept"
  [ -z "$stderr" ]
  one=$output
  [[ "$one" = "$DIR"/kept/20* ]]
  [ "$before" = "$(fingerprint)" ]
  [ "$(stat -c %a "$one")" = 700 ]
  run -0 wqctl snapshot ls kept -o name
  [ "$output" = "kept/${one##*/}" ]
  run -0 wqctl snapshot ls kept -o json
  [ "$(jq -r '.[0].uuid' <<<"$output")" = "$(wqctl inspect -o json | jq -r .store.uuid)" ]
  [ "$(jq '.[0].linked_bytes > 0 and .[0].linked_bytes < .[0].bytes' <<<"$output")" = true ]
  run -0 wqctl --store "$one" verify
  cmp <(dump_of "$WQ_STORE") <(dump_of "$one")
  wqctl add -q q more >/dev/null
  [ "$(comm -13 <(wqctl --store "$one" ls -o name | sort) <(wqctl ls -o name | sort))" = more ]
  run -0 wqctl snapshot restore kept --into new
  [ "$output" = "restored $one into new" ] || [ "$output" = "restored kept/${one##*/} into new" ]
  cmp <(dump_of "$one") <(dump_of new)
  run -0 wqctl --store new verify
  run -0 wqctl --store new add -q q more
  # Another store from now on, and not a link in common.
  [ "$(wqctl --store new inspect -o json | jq -r .store.uuid)" != "$(wqctl inspect -o json | jq -r .store.uuid)" ]
  [ -z "$(find new -type f -links +1)" ]
  run -0 wqctl --store "$one" verify
}

@test "beside a busy owner, without its help: all that was acknowledged, and nothing half" {
  wqctl init >/dev/null
  wqctl add -q other x >/dev/null
  wqctl pause -q other --yes >/dev/null
  (i=0; while [ ! -e stop ]; do i=$((i + 1)); echo "k$i"; done) |
    "$WQCTL" add -q q - >/dev/null 2>&1 3>&- &
  STARTED="${STARTED:-} $!"
  until_ok has_first
  for i in 1 2; do
    seen=$(queue_count pending)
    one=$(wqctl snapshot create kept)
    run -0 wqctl --store "$one" verify
    n=$(wqctl --store "$one" ls -q q -o name | wc -l)
    [ "$n" -ge "$seen" ]
    cmp <(seq -f k%.0f 1 "$n") <(wqctl --store "$one" ls -q q -o name)
  done
  touch stop
}

@test "of a store whose owner was killed, and of one that is stopped" {
  make_store
  start owner work -q q --follow -- true
  until_ok test -S "$WQ_STORE/control.sock"
  wqctl add -q q e f >/dev/null
  kill -STOP "$PID"
  one=$(wqctl snapshot create kept)
  kill -KILL "$PID"
  wait "$PID" || true
  two=$(wqctl snapshot create --copy kept)
  cmp <(dump_of "$one") <(dump_of "$two")
  run -0 wqctl --store "$two" inspect
  contains "$output" 'was the last one when it was taken'
  contains "$output" 'snapshot taken'
}

@test "a snapshot stays unchanged: no verb changes it" {
  make_store
  one=$(wqctl snapshot create kept --name one)
  before=$(WQ_STORE=$one fingerprint)
  for words in "add -q q k" "work -q q -- true" "rm -q q --yes a" "pause -q q --yes" "init"; do
    # shellcheck disable=SC2086
    run -1 --separate-stderr wqctl --store "$one" $words
  done
  run -1 --separate-stderr wqctl --store "$one" add -q q k
  contains "$stderr" 'is a snapshot, which nothing changes'
  [ "$before" = "$(WQ_STORE=$one fingerprint)" ]
}

@test "elsewhere: copied, and the second one shares its tables with the first" {
  elsewhere
  make_store
  one=$(wqctl snapshot create "$OTHER/kept")
  two=$(wqctl snapshot create "$OTHER/kept")
  tables=$(find "$one" -name '*.sst' | wc -l)
  [ "$tables" -gt 0 ]
  [ "$(find "$two" -name '*.sst' -links 2 | wc -l)" = "$tables" ]
  run -0 wqctl --store "$two" verify
  rm -r "$one"
  run -0 wqctl snapshot restore "$OTHER/kept" --into new
  cmp <(dump_of "$WQ_STORE") <(dump_of new)
  rm -r "$OTHER"
}

@test "no byte can be written: exit 1, nothing under the name, and the next one succeeds" {
  make_store
  run -1 limited snapshot create --copy kept
  contains "$output" 'kept/.creating'
  [ -z "$(ls -A kept)" ]
  run -0 wqctl snapshot create kept
  run -1 limited snapshot restore kept --into new
  contains "$output" 'new.restoring'
  [ ! -e new ] && [ ! -e new.restoring ]
  run -0 wqctl snapshot restore kept --into new
}

@test "killed while it copies: no snapshot, and the next create removes the rest" {
  make_store
  mkdir -p kept/.creating new.restoring
  touch {kept/.creating,new.restoring}/UNFINISHED kept/.creating/000012.sst new.restoring/rest
  run -3 wqctl snapshot ls kept
  run -0 wqctl snapshot create kept
  [ "$(find kept -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
  run -0 wqctl snapshot restore kept --into new
  [ ! -e new/rest ] && [ ! -e new.restoring ]
  # A directory that no run has made is kept.
  mkdir other.restoring && touch other.restoring/mine
  run -1 --separate-stderr wqctl snapshot restore kept --into other
  contains "$stderr" 'other.restoring is in the way: it holds mine'
  [ -e other.restoring/mine ] && [ ! -e other ]
  # A directory that a running snapshot has locked is not removed.
  mkdir kept/.creating
  exec 8<kept/.creating
  flock 8
  run -4 --separate-stderr wqctl snapshot create kept
  contains "$stderr" 'at work in kept/.creating'
  [ -d kept/.creating ]
  exec 8<&-
}

@test "a damaged store gives no snapshot; a damaged snapshot gives no store: exit 5" {
  make_store
  wqctl snapshot create --copy kept --name good >/dev/null
  wqctl snapshot create --copy kept --name bad >/dev/null
  table=$(find kept/bad -name '*.sst' | head -1)
  cp "$table" t && rm "$table" && cp t "$table"
  printf X | dd of="$table" bs=1 seek=20 conv=notrunc status=none
  run -5 --separate-stderr wqctl --store kept/bad verify
  contains "$output" "${table##*/}"
  run -0 wqctl --store kept/good verify
  run -5 --separate-stderr wqctl snapshot restore kept --into new
  contains "$stderr" "${table##*/}"
  [ ! -e new ] && [ ! -e new.restoring ]
  run -0 wqctl snapshot restore kept/good --into new
  table=$(find "$WQ_STORE" -name '*.sst' | head -1)
  printf X | dd of="$table" bs=1 seek=20 conv=notrunc status=none
  run -5 --separate-stderr wqctl snapshot create kept2
  contains "$stderr" "${table##*/}"
  [ -z "$(ls -A kept2)" ]
}

@test "an existing name, no store, another format, links, no directory" {
  make_store
  wqctl snapshot create kept --name one >/dev/null
  run -1 --separate-stderr wqctl snapshot create kept --name one
  contains "$stderr" 'there is kept/one already'
  run -2 wqctl snapshot create kept --name ../x
  run -2 wqctl snapshot create kept --name .x
  run -2 wqctl snapshot create
  run -2 wqctl snapshot create "$WQ_STORE/inside"
  run -2 wqctl snapshot create "$WQ_STORE"
  run -2 --separate-stderr wqctl snapshot restore kept --into kept/one/inside
  contains "$stderr" 'kept/one/inside is inside the store'
  run -2 --separate-stderr wqctl snapshot restore kept --into "$WQ_STORE/inside"
  contains "$stderr" 'is inside the store'
  wqctl verify
  wqctl --store kept/one verify
  run -3 wqctl --store nope snapshot create kept
  run -3 wqctl --store . snapshot create kept
  run -3 wqctl snapshot ls nope
  run -3 wqctl snapshot restore nope --into new
  run -3 wqctl snapshot restore "$WQ_STORE" --into new
  mkdir full empty
  touch full/x
  run -1 --separate-stderr wqctl snapshot restore kept --into full
  contains "$stderr" 'full is not empty: it holds x'
  ln -s empty link
  run -1 wqctl snapshot restore kept --into link
  run -1 wqctl snapshot restore kept --into "$WQ_STORE"
  run -0 wqctl snapshot restore kept --into empty/
  run -0 wqctl --store empty inspect
  sed -i 's/wq-store 2/wq-store 3/' kept/one/FORMAT
  run -1 --separate-stderr wqctl snapshot restore kept --into new
  contains "$stderr" 'format version 3'
  sed -i 's/wq-store 2/wq-store 3/' "$WQ_STORE/FORMAT"
  run -1 --separate-stderr wqctl snapshot create kept
  contains "$stderr" 'format version 3'
  [ "$(ls -A kept)" = one ] && [ ! -e new ]
}
