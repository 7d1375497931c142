#!/usr/bin/env bash
# go_bench.sh BUILD_DIR [OPTION...]: runs wqbench of the build with these options, and with the
# benchmarks of bindings/go, which it builds. Without Go on this machine: wqbench alone.
set -euo pipefail

build=$(realpath -- "${1:?usage: go_bench.sh BUILD_DIR [OPTION...]}")
shift
here=$(realpath -- "$(dirname -- "$0")")
if ! command -v go >/dev/null; then
  exec "$build/wqbench" "$@"
fi
# shellcheck source=tests/go/environment.sh
source "$here/../../tests/go/environment.sh" "$build"
(cd "$here/../../bindings/go" && go test -c -o "$build/go/bench.test" .)
exec "$build/wqbench" --go-bench "$build/go/bench.test" "$@"
