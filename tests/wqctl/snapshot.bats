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
dump_of() { wqctl --store "$1" dump; }
# A file system of its own, if there is one.
elsewhere() {
  OTHER=$(mktemp -d -p /dev/shm)
  [ "$(stat -c %d "$OTHER")" != "$(stat -c %d "$DIR")" ] || skip "all is one file system here"
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
  contains "$output" ', when it was taken'
  contains "$output" 'snapshot taken'
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
