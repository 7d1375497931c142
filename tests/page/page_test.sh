#!/usr/bin/env bash
# page_test.sh WQCTL CACHE_DIR [PATTERN]: tests the live page of wqctl serve in headless Chromium.
# Without chromium or node the test is skipped: exit code 77. axe-core comes from npm, once, into
# CACHE_DIR; where it cannot be fetched, its test alone is skipped.
# WQ_PAGE_KEYS=1000000: the change of all keys that match is one of so many.
set -euo pipefail

WQCTL=$(realpath -- "${1:?usage: page_test.sh WQCTL CACHE_DIR [PATTERN]}")
export WQCTL
cache=${2:?}
pattern=${3:-}
here=$(dirname -- "$(realpath -- "$0")")
unset WQ_CONFIG WQ_OUTPUT WQ_TIMES WQ_COLOR WQ_PROGRESS WQ_STORE

for program in chromium node; do
  command -v "$program" >/dev/null || { echo "skipped: no $program" >&2; exit 77; }
done

# What npm's registry says of axe-core 4.10.3.
version=4.10.3
sum=5e6edba515e70d25f6604d9815f064d859c5d1ea7ab661bbc4f87c88779ef0c2
sum+=1cae0abbeb636471ef39e9d62d2582e4b88a1866f19f4ecfcf6d986275e4dc12

fetch_axe() {
  [[ ! -e $cache/axe-$version.js ]] || return 0
  command -v npm >/dev/null || return 1
  mkdir -p "$cache"
  local folder
  folder=$(mktemp -d "$cache/axe.XXXXXX")
  if (cd "$folder" && timeout 60 npm pack --silent "axe-core@$version" >/dev/null 2>&1 &&
    sha512sum --status -c <<<"$sum  axe-core-$version.tgz" &&
    tar -xzf "axe-core-$version.tgz" package/axe.min.js); then
    mv "$folder/package/axe.min.js" "$cache/axe-$version.js"
  fi
  rm -rf "$folder"
  [[ -e $cache/axe-$version.js ]]
}

WQ_AXE=
if fetch_axe; then WQ_AXE=$(realpath -- "$cache/axe-$version.js"); fi
export WQ_AXE

# 18 is Debian 12's.
timeout 280 node --test-reporter=spec ${pattern:+"--test-name-pattern=$pattern"} \
  "$here/all_test.mjs"
