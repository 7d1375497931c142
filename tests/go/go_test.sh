#!/usr/bin/env bash
# go_test.sh MODE BUILD_DIR: tests the Go package of bindings/go with the libraries of the build as
# `cmake --install` installs them. It uses no network: the package needs only the standard library.
#   lint        gofmt and vet
#   race        all tests, with the race detector
#   static      all tests, statically linked
#   empty-root  a statically linked program, in a root directory that has nothing else
#   without-cgo the error of a build without cgo
#   pages       the code that README.md and the package's comment show
# Exit status 77: skipped; the output says why.
set -euo pipefail

mode=${1:?usage: go_test.sh MODE BUILD_DIR}
build=$(realpath -- "${2:?usage: go_test.sh MODE BUILD_DIR}")
here=$(realpath -- "$(dirname -- "$0")")
module=$(realpath -- "$here/../../bindings/go")
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

fail() {
  echo "go_test: $*" >&2
  exit 1
}

empty_root() {
  local root as_root=()
  root=$(mktemp -d)
  # shellcheck disable=SC2064  # The directory of now.
  trap "rm -rf -- '$root'" EXIT
  if ((EUID != 0)); then
    as_root=(unshare --map-root-user)
    "${as_root[@]}" true 2>/dev/null || {
      echo 'go_test: skipped: not root, and there are no user namespaces, so no chroot' >&2
      exit 77
    }
  fi
  go build -tags wq_static -o "$root/readme" ./examples/readme
  ! readelf -lW "$root/readme" | grep -q INTERP || fail 'the program has an interpreter'
  # The second run opens the store of the first.
  for _ in 1 2; do
    [[ $("${as_root[@]}" chroot "$root" /readme) == 'reconciling default/pod-1' ]] ||
      fail 'the program does something else in an empty root'
  done
  [[ $(ls "$root") == $'pods.wq\nreadme' ]] || fail "the root has $(ls "$root")"
}

without_cgo() {
  local said
  ! said=$(CGO_ENABLED=0 go build . 2>&1) || fail 'it builds without cgo'
  grep -q 'wq calls a C library: build it with CGO_ENABLED=1' <<<"$said" || fail "it says: $said"
  [[ $(grep -c '^\./' <<<"$said") == 1 ]] || fail "it has other errors, too: $said"
}

cd "$module"
case $mode in
  lint)
    unformatted=$(gofmt -l .)
    [[ -z $unformatted ]] || { echo "go_test: gofmt would change: $unformatted" >&2; exit 1; }
    go vet ./...
    ;;
  race) go test -race -count=1 -timeout 120s ./... ;;
  static) go test -tags wq_static -count=1 -timeout 120s ./... ;;
  empty-root) empty_root ;;
  without-cgo) without_cgo ;;
  pages) "$here/pages/pages.sh" "$module" "$build/go/pages" ;;
  *) echo "go_test: unknown mode $mode" >&2; exit 2 ;;
esac
