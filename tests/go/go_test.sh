#!/usr/bin/env bash
# go_test.sh lint|race|static BUILD_DIR: tests the Go package of bindings/go with the libraries of the
# build as `cmake --install` installs them. It uses no network: the package needs only the standard
# library.
#   lint    gofmt and vet
#   race    all tests, with the race detector
#   static  all tests, linked with libwq.a
set -euo pipefail

mode=${1:?usage: go_test.sh lint|race|static BUILD_DIR}
build=$(realpath -- "${2:?usage: go_test.sh lint|race|static BUILD_DIR}")
module=$(realpath -- "$(dirname -- "$0")/../../bindings/go")
command -v go >/dev/null || { echo 'go_test: go is missing; on Debian: golang-go' >&2; exit 1; }

prefix=$build/go/installed
for component in runtime dev; do
  cmake --install "$build" --prefix "$prefix" --component "$component" >/dev/null
done
libraries=$(dirname -- "$(find "$prefix" -name libwq.so.0)")
export LD_LIBRARY_PATH=$libraries PKG_CONFIG_PATH=$libraries/pkgconfig
export GOCACHE=$build/go/cache GOPATH=$build/go/path GOPROXY=off GOFLAGS='-mod=mod -buildvcs=false'
# Go's cache ignores changes of C headers, but not of flags.
headers=$(find "$prefix/include" -type f -name '*.h' -print0 | sort -z | xargs -0 sha256sum | sha256sum)
export CGO_CFLAGS="-O2 -g -DWQ_HEADERS=${headers%% *}"

cd "$module"
case $mode in
  lint)
    unformatted=$(gofmt -l .)
    [[ -z $unformatted ]] || { echo "go_test: gofmt would change: $unformatted" >&2; exit 1; }
    go vet ./...
    ;;
  race) go test -race -count=1 -timeout 120s ./... ;;
  static) go test -tags wq_static -count=1 -timeout 120s ./... ;;
  *) echo "go_test: unknown mode $mode" >&2; exit 2 ;;
esac
