#!/usr/bin/env bats
# Stores of earlier format versions, written by the last wq before the process log
# (stores/v1.tar.gz) and before sources (v2.tar.gz, whose owner was killed): each is read as it is,
# and an owner makes it one of version 3.

load helpers

old_store() {
  cd "$DIR"
  tar -xzf "$BATS_TEST_DIRNAME/stores/$1.tar.gz"
  export WQ_STORE=$DIR/store-$1
}

keys() { "$WQCTL" dump -o json | jq -r '.[] | select(.key) | [.queue, .key, .state] | join(" ")'; }

EXPECTED='errors bad quarantined
pods ns/a pending
pods ns/b pending
pods ns/c pending
pods ns/d delayed'

@test "it is read, verified, copied and repaired without a change" {
  local version
  for version in v1 v2; do
    old_store "$version"
    [ "$(keys)" = "$EXPECTED" ]
    run -0 wqctl verify
    run -0 wqctl snapshot create --name s "snapshots-$version"
    [ "$(WQ_STORE=snapshots-$version/s keys)" = "$EXPECTED" ]
    run -0 wqctl repair --into "repaired-$version"
    [ "$(WQ_STORE=repaired-$version keys)" = "$EXPECTED" ]
    grep -q "^wq-store ${version#v} " "store-$version/FORMAT"
  done
}

@test "an owner opens it, and from then on it is of version 3" {
  local version
  for version in v1 v2; do
    old_store "$version"
    run -0 wqctl add -q pods ns/e
    grep -q '^wq-store 3 ' "store-$version/FORMAT"
    [ "$(keys | sort)" = "$(printf '%s\n' "$EXPECTED" 'pods ns/e pending' | sort)" ]
    run -0 wqctl verify
    # A killed opening may have left the new family in a store of the old version.
    sed -i "s/^wq-store 3 /wq-store ${version#v} /" "store-$version/FORMAT"
    run -0 wqctl rm -q pods --yes ns/e
    [ "$(keys)" = "$EXPECTED" ]
  done
}
