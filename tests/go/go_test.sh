#!/usr/bin/env bash
# go_test.sh MODE BUILD_DIR: tests the Go package of bindings/go with the libraries of the build as
# `cmake --install` installs them. It uses no network, but for the modules of controllerruntime: the
# package needs only the standard library.
#   test        gofmt, vet and the tests, without the deep ones: those that -short leaves out
#   race        all tests, with the race detector
#   static      all tests, statically linked
#   without-cgo vet and the tests of remote queues, without cgo and without libwq
#   bench       the benchmarks, as tools/bench/go_bench.sh runs them, with few keys
#   controllerruntime  vet and all tests of the module in controllerruntime, with the real
#               controller-runtime and client-go, and vet of examples/kubernetes
# Exit status 77: skipped; the output says why.
set -euo pipefail

mode=${1:?usage: go_test.sh MODE BUILD_DIR}
build=$(realpath -- "${2:?usage: go_test.sh MODE BUILD_DIR}")
here=$(realpath -- "$(dirname -- "$0")")
module=$(realpath -- "$here/../../bindings/go")
proxy=$(go env GOPROXY 2>/dev/null || true)
# shellcheck source=tests/go/environment.sh
source "$here/environment.sh" "$build"

# The tests of remote queues run against `wqctl serve`.
[[ ! -x $build/wqctl ]] || export WQ_SERVE=$build/wqctl

fail() {
  echo "go_test: $*" >&2
  exit 1
}

# Neither a C compiler nor libwq is needed, and a linked store is an error that names the way out.
without_cgo() {
  local said scratch
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064  # The directory of now.
  trap "rm -rf -- '$scratch'" EXIT
  export CGO_ENABLED=0 CC=false PKG_CONFIG=false
  unset PKG_CONFIG_PATH LD_LIBRARY_PATH
  go vet ./...
  go test -count=1 -timeout 1200s ./...
  go build -o "$scratch/readme" ./examples/readme
  ! said=$(cd "$scratch" && ./readme 2>&1) || fail 'a store was opened'
  grep -q 'built without cgo: use wq.Dial' <<<"$said" || fail "it says: $said"
}

# The benchmarks must find their own results right, and the report must have their rows.
bench() {
  local scratch rows
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064  # The directory of now.
  trap "rm -rf -- '$scratch'" EXIT
  "$here/../../tools/bench/go_bench.sh" "$build" --scenario bindings --keys 1000 --rounds 1 \
    --dir "$scratch" -o json >"$scratch.json"
  rows=$(jq '[.scenarios[].rows[] | select(.what | contains("through Go"))] | length' "$scratch.json")
  rm -- "$scratch.json"
  [[ $rows == 2 ]] || fail "$rows rows of Go"
  [[ -z $(ls "$scratch") ]] || fail "left behind: $(ls "$scratch")"
}

# In the user's cache of modules. Compiling what it imports takes minutes.
controllerruntime() {
  unset GOPATH
  export GOPROXY=$proxy GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
  cd controllerruntime
  go mod download || { echo 'go_test: skipped: the modules cannot be downloaded' >&2; exit 77; }
  go test -race -vet=all -count=1 -timeout 3600s ./...
  cd ../../../examples/kubernetes
  go mod download || { echo 'go_test: skipped: the modules cannot be downloaded' >&2; exit 77; }
  go vet ./...
}

cd "$module"
case $mode in
  test)
    unformatted=$(gofmt -l .)
    [[ -z $unformatted ]] || { echo "go_test: gofmt would change: $unformatted" >&2; exit 1; }
    go vet ./...
    go test -short -count=1 -timeout 1200s ./...
    go test -tags wq_etcd -count=1 -timeout 1200s ./internal/etcd
    ;;
  race) go test -race -count=1 -timeout 1200s ./... ;;
  static) go test -tags wq_static,netgo,osusergo -count=1 -timeout 1200s ./... ;;
  without-cgo) without_cgo ;;
  bench) bench ;;
  controllerruntime) controllerruntime ;;
  *) echo "go_test: unknown mode $mode" >&2; exit 2 ;;
esac
