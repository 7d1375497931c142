#!/usr/bin/env bash
# deps.sh build|all|bench|coverage: installs the Debian packages that are missing.
#   build   what `make build` and `make demo` need
#   all     and what the tests and the lint need
#   bench   what is built with, and the peers that `make bench-peers` measures. (As packages they also
#           start as services; the benchmark starts its own, and needs none of those.)
#   coverage  what is built with, and what counts the lines that the tests run
# With nothing missing it is one call of dpkg-query.
set -euo pipefail

# googletest and bats are here because the one CMake configuration covers the tests; they are small.
build=(g++ cmake make ninja-build ccache pkg-config librocksdb-dev libprotobuf-dev protobuf-compiler
  libabsl-dev libxxhash-dev prometheus-cpp-dev libspdlog-dev libcli11-dev libre2-dev nlohmann-json3-dev
  libcpp-httplib-dev libgtest-dev libgmock-dev bats jq curl dpkg-dev file)
# chromium looks at the page of wqctl report; without it that test says that it is skipped.
all=("${build[@]}" clang clang-tidy clang-format shellcheck golang-go zsh fish groff-base less chromium)

case "${1:-}" in
  build) wanted=("${build[@]}") ;;
  all) wanted=("${all[@]}") ;;
  bench) wanted=("${build[@]}" beanstalkd redis-server) ;;
  coverage) wanted=("${build[@]}" gcovr) ;;
  *) echo "usage: deps.sh build|all|bench|coverage" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "deps: this is no Debian; needed here, under its names: ${wanted[*]}" >&2
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
