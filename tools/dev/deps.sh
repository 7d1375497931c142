#!/usr/bin/env bash
# deps.sh build|all|etcd|bench|coverage|arm64|pictures: installs the Debian packages that are missing.
#   build     for `make build` and `make demo`
#   all       build, and for the tests and the lint
#   etcd      build, and the members of etcd that `make bench` measures
#   bench     build, and the peers that `make bench-peers` measures. (The packages also start them
#             as services. The benchmark does not use these: it starts its own.)
#   coverage  build, and gcovr
#   arm64     build, the cross compiler and qemu
#   pictures  graphviz
# If nothing is missing, it only runs dpkg-query once.
set -euo pipefail

# googletest and bats are listed because the one CMake configuration includes the tests; they are
# small.
build=(g++ cmake make ninja-build ccache pkg-config librocksdb-dev libprotobuf-dev protobuf-compiler
  libabsl-dev libxxhash-dev libzstd-dev prometheus-cpp-dev libspdlog-dev libcli11-dev libre2-dev
  nlohmann-json3-dev libboost-dev libcpp-httplib-dev libgrpc++-dev protobuf-compiler-grpc grpc-proto
  golang-etcd-server-dev libgtest-dev libgmock-dev bats jq curl dpkg-dev file)
# chromium shows the page of wqctl report and the live page in tests, and nodejs drives it for the
# latter; without them these tests report that they are skipped. etcd-server and prometheus start
# services, on the ports 2379 and 9090, which the tests do not use: they start their own. The tools
# of file systems make those that a test of the process log mounts, if it may.
all=("${build[@]}" clang clang-tidy clang-format shellcheck golang-go zsh fish groff-base less man-db
  lintian chromium nodejs python3-grpcio python3-protobuf mypy openssl python3-yaml
  etcd-server etcd-client prometheus e2fsprogs xfsprogs btrfs-progs)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  all) wanted=("${all[@]}") ;;
  etcd) wanted=("${build[@]}" etcd-server) ;;
  bench) wanted=("${build[@]}" beanstalkd redis-server) ;;
  coverage) wanted=("${build[@]}" gcovr) ;;
  arm64) wanted=("${build[@]}" crossbuild-essential-arm64 qemu-user-static) ;;
  pictures) wanted=(graphviz) ;;
  *) echo "usage: deps.sh build|all|etcd|bench|coverage|arm64|pictures" >&2; exit 2 ;;
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
