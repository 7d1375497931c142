#!/usr/bin/env bash
# promtool.sh FILE: puts the promtool of Debian's prometheus package there, if it is not on the PATH and not
# there yet. The package itself is not installed: it brings thirty others, and starts a server.
set -euo pipefail

target=$(realpath -m -- "${1:?usage: promtool.sh FILE}")
[[ ! -x $target ]] && ! command -v promtool >/dev/null || exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
# As root, apt-get would give up its rights, and the scratch directory with them.
if apt-get -qq -o APT::Sandbox::User=root download prometheus &&
  dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool; then
  mkdir -p "$(dirname "$target")"
  mv usr/bin/promtool "$target"
else
  echo "promtool: not to be had; the test that needs it will say that it is skipped" >&2
fi
