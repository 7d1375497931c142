# shellcheck shell=bash
# source environment.sh BUILD_DIR: installs the libraries of the build in BUILD_DIR/go, and sets the
# variables by which Go finds them. Go uses no network.
command -v go >/dev/null || { echo "$0: skipped: go is missing; on Debian: golang-go" >&2; exit 77; }

prefix=$1/go/installed
for component in runtime dev; do
  cmake --install "$1" --prefix "$prefix" --component "$component" >/dev/null
done
libraries=$(dirname -- "$(find "$prefix" -name libwq.so.0)")
export LD_LIBRARY_PATH=$libraries PKG_CONFIG_PATH=$libraries/pkgconfig
export CGO_ENABLED=1 GOWORK=off GOPATH=$1/go/path GOPROXY=off GOFLAGS='-mod=mod -buildvcs=false -trimpath'
[[ -n ${HOME:-}${XDG_CACHE_HOME:-}${GOCACHE:-} ]] || export GOCACHE=$1/go/cache
# Go's cache ignores changes of C headers and of what pkg-config says, but not of flags.
headers=$(find "$prefix" -type f \( -name "*.h" -o -name "*.pc" \) -print0 | sort -z |
  xargs -0 sha256sum | sha256sum)
export CGO_CFLAGS="-O2 -g -DWQ_HEADERS=${headers%% *}"
