#!/usr/bin/env bash
# promtool.sh FILE: saves the promtool of Debian's prometheus package as FILE, unless FILE exists or
# promtool is on the PATH. The package is not installed: it depends on thirty others, and starts a
# server.
set -euo pipefail

target=$(realpath -m -- "${1:?usage: promtool.sh FILE}")
[[ ! -x $target ]] && ! command -v promtool >/dev/null || exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
# As root, apt-get would drop its privileges, and then could not write to the scratch directory.
if apt-get -qq -o APT::Sandbox::User=root download prometheus &&
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool; then
  mkdir -p "$(dirname "$target")"
  mv usr/bin/promtool "$target"
else
  echo "promtool: cannot be downloaded; the test that needs it will be skipped" >&2
fi
