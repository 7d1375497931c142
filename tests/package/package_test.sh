#!/usr/bin/env bash
# package_test.sh installed|source|debian BUILD_DIR: builds the programs of the README outside the
# tree, as a user does, and runs them.
#   installed  against the files of `cmake --install` in an empty prefix, by CMake and pkg-config
#   source     with wq's sources in the build of the user
#   debian     against the packages of `make package`, which are installed and removed: in every way
set -euo pipefail

mode=${1:?usage: package_test.sh installed|source|debian BUILD_DIR}
build=$(realpath -- "${2:?usage: package_test.sh installed|source|debian BUILD_DIR}")
here=$(dirname -- "$(realpath -- "$0")")
source=$(realpath -- "$here/../..")
example=$source/examples/readme
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Runs a command whose output matters only if it fails.
quiet() { "$@" >log 2>&1 || { cat log >&2; echo "package_test: failed: $*" >&2; exit 1; }; }

# build_consumer NAME PROJECT CMAKE_OPTION...: builds PROJECT in NAME.
build_consumer() {
  local name=$1 project=$2
  shift 2
  quiet cmake -G Ninja -S "$here/$project" -B "$name" -DCMAKE_BUILD_TYPE=Release -DEXAMPLE="$example" "$@"
  quiet cmake --build "$name" --target consumer
}

# The program does what the README says.
run() { "$example/run.sh" "$1"; }

# needs PROGRAM yes|no: checks whether PROGRAM is linked with libwq.so.
needs() {
  local needed=no
  ! readelf -d "$1" | grep -q 'NEEDED.*libwq\.so\.0' || needed=yes
  [[ $needed == "$2" ]] || { echo "package_test: $1: needs libwq.so: $needed" >&2; exit 1; }
}

# The Go program of the README, which finds wq.pc in $1 and the Go package below $2: as a module of
# its own, and as Debian builds Go packages, without modules.
go_consumer() {
  command -v go >/dev/null || { echo 'package_test: there is no go; on Debian: golang-go' >&2; exit 1; }
  mkdir go_consumer
  cp "$source/bindings/go/examples/readme/main.go" go_consumer
  (
    cd go_consumer
    # A separate cache: that of Go does not depend on the output of pkg-config.
    export GOCACHE=$scratch/go/cache GOPATH=$scratch/go/path GOPROXY=off GOFLAGS=-mod=mod PKG_CONFIG_PATH=$1
    quiet go mod init example.com/consumer
    # bindings/go/README.md, as written; its last build is the static one.
    awk '/^<!-- played by tests\/package/ { on = 1 } /^```/ { inside = on && !inside; on = inside; next } inside' \
      "$source/bindings/go/README.md" | sed "s|PREFIX|$2|g" >page
    quiet bash -e page
    quiet go build -o shared .
    export GO111MODULE=off GOPATH=$2/share/gocode GOFLAGS=
    quiet go build -o gopath main.go
  )
  needs go_consumer/shared yes
  run go_consumer/shared
  needs go_consumer/consumer no
  run go_consumer/consumer
  needs go_consumer/gopath yes
  run go_consumer/gopath
}

# The program that uses wq::server and wq::prometheus, below $1, with the .pc files in $2.
server_consumer() {
  local program
  build_consumer server server_consumer -DCMAKE_PREFIX_PATH="$1"
  needs server/consumer yes
  build_consumer server_static server_consumer -DCMAKE_PREFIX_PATH="$1" -DSTATIC=static
  needs server_static/consumer no
  # shellcheck disable=SC2046
  quiet c++ -std=c++20 "$here/server_consumer/main.cc" -o server/by_pkg_config \
    $(PKG_CONFIG_PATH=$2 pkg-config --cflags --libs wq-server wq-prometheus wq-etcd)
  for program in "$PWD"/server/{consumer,by_pkg_config} "$PWD"/server_static/consumer; do
    mkdir served
    (cd served && printed=$("$program") && [[ $printed == 'pods: 1' ]]) ||
      { echo "package_test: $program: not served" >&2; exit 1; }
    rm -r served
  done
}

# A client in Python, which finds the package below $1. There is no server.
python_consumer() {
  local client='
import wq, wq.aio
try:
    wq.Client(".").add("pods", "default/web-1")
except wq.Unavailable as error:
    print(error.code)'
  [[ $(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$1/lib/python3/dist-packages /usr/bin/python3 -c "$client") == Unavailable ]] ||
    { echo 'package_test: the Python package does not work' >&2; exit 1; }
}

# The C program of the README, which finds wq.pc in $1. The shared library needs no other development
# files, so no other .pc file, either.
c_by_pkg_config() {
  # shellcheck disable=SC2046 # The output of pkg-config is several words.
  quiet cc -std=c99 -Wall -Wextra -Werror "$example/main.c" -o by_pkg_config \
    $(PKG_CONFIG_LIBDIR=$1 pkg-config --cflags --libs wq)
  needs by_pkg_config yes
  run by_pkg_config
}

# Consumers that find wq below $1.
consume() {
  local prefix=$1 pc
  pc=$(dirname -- "$(find "$prefix" -name wq.pc)")
  export LD_LIBRARY_PATH
  LD_LIBRARY_PATH=$(dirname -- "$(find "$prefix" -name libwq.so.0)")

  build_consumer c c_consumer -DCMAKE_PREFIX_PATH="$prefix"
  needs c/consumer yes
  run c/consumer
  build_consumer cxx cxx_consumer -DCMAKE_PREFIX_PATH="$prefix"
  needs cxx/consumer yes
  run cxx/consumer
  build_consumer cxx_static cxx_consumer -DCMAKE_PREFIX_PATH="$prefix" -DSTATIC=ON
  needs cxx_static/consumer no
  run cxx_static/consumer

  c_by_pkg_config "$pc"
  # shellcheck disable=SC2046
  quiet cc -std=c99 "$example/main.c" -o static_by_pkg_config \
    $(PKG_CONFIG_PATH=$pc pkg-config --static --cflags --libs wq-static)
  needs static_by_pkg_config no
  run static_by_pkg_config
  # shellcheck disable=SC2046
  quiet cc -std=c99 -static "$example/main.c" -o fully_static \
    $(PKG_CONFIG_PATH=$pc pkg-config --static --cflags --libs wq-static)
  if readelf -d fully_static | grep NEEDED; then
    echo 'package_test: that is linked dynamically' >&2
    exit 1
  fi
  run fully_static
  server_consumer "$prefix" "$pc"
  go_consumer "$pc" "$prefix"
  python_consumer "$prefix"
}

# Below $1 the man page and the completions are where man and the shells read them, the Go package
# is in the directory of Go's packages, the Python package has all its files, the documents are those
# of the tree, and there are no other files.
shares() {
  local shared=share/bash-completion/completions/wqctl
  shared+=$'\nshare/fish/vendor_completions.d/wqctl.fish\nshare/man/man1/wqctl.1.gz'
  shared+=$'\nshare/wq/grafana/wq.json\nshare/wq/prometheus/wq.rules.yaml\nshare/wq/proto/wq/v1/admin.proto\nshare/wq/proto/wq/v1/browse.proto'
  shared+=$'\nshare/wq/proto/wq/v1/queue.proto\nshare/wq/proto/wq/v1/types.proto\nshare/wq/proto/wq/v1/work.proto\nshare/zsh/vendor-completions/_wqctl'
  diff <(cd "$1" && find share \( -path share/gocode -o -path share/doc \) -prune -o -type f -print | sort) - \
    <<<"$shared"
  diff "$1/share/doc/libwq-dev/README.md" "$source/README.md"
  diff -r -x '*.dot' "$1/share/doc/libwq-dev/docs" "$source/docs"
  diff "$1/share/doc/wqctl/wqctl.md" "$source/docs/wqctl.md"
  diff "$1/share/doc/wqctl/alerts.md" "$source/docs/alerts.md"
  diff "$1/share/wq/prometheus/wq.rules.yaml" "$source/packaging/prometheus/wq.rules.yaml"
  diff "$1/share/wq/grafana/wq.json" "$source/packaging/grafana/wq.json"
  diff <(cd "$1/share/gocode/src/example.org/wq" && find . -type f | sort) \
    <(cd "$source/bindings/go" && find . -type f -not -name '*_test.go' | sort)
  diff -r -x __pycache__ "$1/lib/python3/dist-packages/wq" "$build/python/wq"
  diff <(cd "$source/bindings/python" && find wq -type f -not -path '*/__pycache__/*' | sort) \
    <(cd "$1/lib/python3/dist-packages" && find wq -type f -not -name '*_pb2*' | sort)
  diff <(zcat "$1/share/man/man1/wqctl.1.gz") <("$1/bin/wqctl" man)
  diff "$1/share/zsh/vendor-completions/_wqctl" <("$1/bin/wqctl" completion zsh)
}

installed() {
  local options=(-DCMAKE_PREFIX_PATH="$scratch/prefix")
  quiet cmake --install "$build" --prefix "$scratch/prefix"
  export LD_LIBRARY_PATH
  LD_LIBRARY_PATH=$(dirname -- "$(find "$scratch/prefix" -name libwq.so.0)")
  # A compiler that has not built the library.
  ! command -v clang++ >/dev/null || options+=(-DCMAKE_CXX_COMPILER=clang++)
  build_consumer cxx cxx_consumer "${options[@]}"
  needs cxx/consumer yes
  run cxx/consumer
  c_by_pkg_config "$(dirname -- "$(find "$scratch/prefix" -name wq.pc)")"
  # Nothing else is installed.
  (cd prefix && find . -type f -o -type l) | sort >files
  if grep -vE '^\./(include/wq/|lib[^ ]*/(libwq(_server|_prometheus|_etcd)?\.(a|so)|cmake/wq/|pkgconfig/wq(-[a-z]+)?\.pc|python3/dist-packages/wq/)|lib/systemd/system/wqctl@\.service$|bin/wqctl$|share/)' files; then
    echo 'package_test: that is not to be installed' >&2
    exit 1
  fi
  shares "$scratch/prefix"
}

source_consumer() {
  local options=(-DSOURCE="$source" -DWQ_WERROR=ON)  # The flags of the tree: what it compiled is found.
  ! command -v ccache >/dev/null || options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  build_consumer consumer source_consumer "${options[@]}"
  quiet cmake --build consumer --target c_consumer
  run consumer/consumer
  run consumer/c_consumer
}

debian() {
  local packages root=$scratch/root
  # A separate root, so that the packages of this machine are not touched. It has no shell, and none
  # of the dependencies of the packages.
  local dpkg=(dpkg --root="$root" --force-depends --force-script-chrootless)
  quiet cpack --config "$build/CPackConfig.cmake" -B "$scratch/packages"
  command -v lintian >/dev/null || { echo 'package_test: there is no lintian' >&2; exit 1; }
  lintian --allow-root --fail-on error packages/*.deb >&2
  packages=(packages/libwq0_*.deb packages/libwq-dev_*.deb packages/python3-wq_*_all.deb packages/wqctl_*.deb)
  if ((EUID == 0)); then
    mkdir -p "$root/var/lib/dpkg"/{info,updates,triggers}
    touch "$root/var/lib/dpkg"/{status,available}
    quiet "${dpkg[@]}" -i "${packages[@]}"
  else
    echo 'package_test: not root: the packages are unpacked, not installed' >&2
    for package in "${packages[@]}"; do
      dpkg-deb -x "$package" "$root"
    done
  fi
  consume "$root/usr"
  "$root/usr/bin/wqctl" --version
  shares "$root/usr"
  # A package depends on the libraries that it is linked with.
  dpkg-deb -f packages/libwq0_*.deb Depends | grep -q librocksdb
  # Packages of programs that are linked with libwq.so can determine that they depend on it.
  dpkg-deb -I packages/libwq0_*.deb shlibs | grep -q '^libwq 0 libwq0 '
  if ((EUID == 0)); then
    quiet "${dpkg[@]}" -r python3-wq libwq-dev libwq0 wqctl
    if find "$root" -path "$root/var" -prune -o -type f -print | grep .; then
      echo 'package_test: that is left after the removal' >&2
      exit 1
    fi
  fi
}

case $mode in
  installed) installed ;;
  source) source_consumer ;;
  debian) debian ;;
  *) echo "package_test: $mode?" >&2; exit 2 ;;
esac
