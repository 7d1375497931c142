#!/usr/bin/env bats
# A store of format version 1, written by the last wq before the process log
# (stores/v1.tar.gz): it is read as it is, and an owner makes it one of version 2.

load helpers

old_store() {
  cd "$DIR"
  tar -xzf "$BATS_TEST_DIRNAME/stores/v1.tar.gz"
  export WQ_STORE=$DIR/store-v1
}

keys() { "$WQCTL" dump -o json | jq -r '.[] | select(.key) | [.queue, .key, .state] | join(" ")'; }

EXPECTED='errors bad quarantined
pods ns/a pending
pods ns/b pending
pods ns/c pending
pods ns/d delayed'

@test "it is read, verified and copied without a change" {
  old_store
  [ "$(keys)" = "$EXPECTED" ]
  run -0 wqctl verify
  run -0 wqctl snapshot create --name s snapshots
  [ "$(WQ_STORE=snapshots/s keys)" = "$EXPECTED" ]
  grep -q '^wq-store 1 ' store-v1/FORMAT
}

@test "an owner opens it, and from then on it is of version 2" {
  old_store
  run -0 wqctl add -q pods ns/e
  grep -q '^wq-store 2 ' store-v1/FORMAT
  [ "$(keys | sort)" = "$(printf '%s\n' "$EXPECTED" 'pods ns/e pending' | sort)" ]
  run -0 wqctl verify
}
