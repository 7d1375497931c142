#!/usr/bin/env bash
# deps.sh build|test|check|package|etcd|coverage|pictures: installs the Debian packages that are
# missing.
#   build     for `make build` and `make demo`
#   test      build, and for `make test`
#   check     test, and for `make check`
#   package   build, and for `make package`
#   etcd      build, and the members of etcd that `make bench` measures
#   coverage  build, and gcovr
#   pictures  graphviz
# If nothing is missing, it only runs dpkg-query once.
set -euo pipefail

# googletest is listed because the one CMake configuration includes the tests.
build=(g++ cmake make ninja-build ccache pkg-config librocksdb-dev libprotobuf-dev protobuf-compiler
  libabsl-dev libxxhash-dev libzstd-dev prometheus-cpp-dev libspdlog-dev libcli11-dev libre2-dev
  nlohmann-json3-dev libboost-dev libgrpc++-dev protobuf-compiler-grpc grpc-proto libgtest-dev
  libgmock-dev jq)
# etcd-server starts a service on the port 2379, which the tests do not use: they start their own.
test=("${build[@]}" bats man-db curl openssl etcd-client etcd-server python3-grpcio python3-protobuf)
command -v go >/dev/null || test+=(golang-go)  # Any of the last years will do.
# prometheus starts a service on the port 9090, which the tests do not use, either. chromium shows the
# page, and nodejs drives it. The tools of file systems make those that
# tests mount, if they may.
check=("${test[@]}" clang clang-tidy clang-format shellcheck golang-go zsh fish groff-base
  lintian chromium nodejs mypy python3-yaml prometheus e2fsprogs xfsprogs btrfs-progs
  dpkg-dev file)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  test) wanted=("${test[@]}") ;;
  check) wanted=("${check[@]}") ;;
  package) wanted=("${build[@]}" dpkg-dev file) ;;
  etcd) wanted=("${build[@]}" etcd-server) ;;
  coverage) wanted=("${build[@]}" gcovr) ;;
  pictures) wanted=(graphviz) ;;
  *) echo "usage: deps.sh build|test|check|package|etcd|coverage|pictures" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "deps: dpkg-query is missing, so nothing is installed. The Debian packages: ${wanted[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "deps: installing ${missing[*]}" >&2
as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "deps: not root, and there is no sudo" >&2; exit 1; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq install --yes --no-install-recommends "${missing[@]}"
