#!/usr/bin/env bash
# screenshots.sh WQCTL: takes the pictures of docs/ui.md anew. It needs chromium and node, and takes
# about two minutes, as the charts need points.
set -euo pipefail

WQCTL=$(realpath -- "${1:?usage: screenshots.sh WQCTL}")
export WQCTL
unset WQ_CONFIG WQ_OUTPUT WQ_TIMES WQ_COLOR WQ_PROGRESS WQ_STORE
here=$(dirname -- "$(realpath -- "$0")")
mkdir -p "$here/../../docs/ui"
node "$here/pictures.mjs" "$here/../../docs/ui"
